"""Does collision detection miss anything? Ten million random and adversarial queries and more, against the truth in 113-bit arithmetic.

The queries are those of tests/collision_queries.py: eleven classes, vertex-triangle and edge-edge, as float64 and rounded to float32. A
run is made of batches; batch b of a class depends on the seed, the class, the kind of pair and b alone. After every batch the counts
are written to the file of results, so that a run that was stopped goes on where it was. With --check nothing is computed: the file must
hold all batches, no miss, and no less of the distance than is promised.

Columns, per precision, method, class and kind of pair:
    contacts    queries that do touch                    missed      contacts that were not reported
    late        reported after the contact               near        reported where there is no contact: the distance fell below a tenth,
                                                                     or at the start it is below what the precision resolves
    kept        the least distance at the time returned, over the distance at the start (starts too close left out)
    kept seen   the same over geometry.lower_bound of the start, which is what "certified" and "additive" promise 0.0999 of
    below       queries with less than 0.099 of the start's distance left
    ratio       mean of the time returned over the time of contact, over `timed` contacts after t = 0
    iterations  in all                                   cut         queries that used up their budget of iterations

    python benchmarks/ccd_queries.py [--queries 10_000_000] [--seed 1] [--minutes 60] [--out benchmarks/results/ccd_queries.csv] [--check]
"""

import argparse
import csv
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from machine import describe

from pdgpu import ccd, geometry

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from collision_queries import CLASSES, Verifier, generate

BATCH = 5000
PAIRS = ("vertex_triangle", "edge_edge")
PRECISIONS = ("float32", "float64")
KEY = ("dtype", "method", "class", "pair")
# how the columns of two batches become those of both
SUMS = ("batches", "queries", "contacts", "missed", "late", "near", "below", "timed", "iterations", "cut")
LEAST = ("kept", "kept seen")
HEADER = [
    *KEY,
    "batches",
    "queries",
    "contacts",
    "missed",
    "late",
    "near",
    "kept",
    "kept seen",
    "below",
    "ratio",
    "timed",
    "iterations",
    "cut",
]
PROMISED = 0.0999


def columns_of(verifier, name, pair, dtype, seed, batch):
    """{method: columns} of one batch."""
    random = np.random.default_rng([seed, CLASSES.index(name), PAIRS.index(pair), batch])
    x0, x1 = (x.astype(dtype) for x in generate(name, BATCH, pair == "edge_edge", random))
    seen = geometry.lower_bound(pair, x0, threads=1).astype(np.float64)
    found = [getattr(ccd, pair)(x0, x1, method=method, threads=1) for method in ccd.METHODS]
    truth = verifier(pair == "edge_edge", x0, x1, [result.toi for result in found])
    contact, columns = ~np.isnan(truth.time), {}
    for method, result, late, after in zip(ccd.METHODS, found, truth.late, truth.after, strict=True):
        reported = np.isfinite(result.toi)
        moved = reported & (result.reason != ccd.Reason.START_TOO_CLOSE)
        timed = contact & reported & (truth.time > 0)
        columns[method] = {
            "batches": 1,
            "queries": BATCH,
            "contacts": contact.sum(),
            "missed": (contact & ~reported).sum(),
            "late": (contact & reported & late).sum(),
            "near": (reported & ~contact).sum(),
            "kept": np.min(after[moved] / truth.before[moved], initial=np.inf),
            "kept seen": np.min(after[moved] / seen[moved], initial=np.inf, where=seen[moved] > 0),
            "below": (after < 0.099 * truth.before)[moved].sum(),
            "ratio": (result.toi[timed].astype(np.float64) / truth.time[timed]).mean() if timed.any() else 0.0,
            "timed": timed.sum(),
            "iterations": result.iterations.sum(),
            "cut": (result.reason == ccd.Reason.CUT_SHORT).sum(),
        }
    return columns


def together(one, other):
    """The columns of two sets of queries."""
    both = {key: int(one[key] + other[key]) for key in SUMS}
    both |= {key: float(min(one[key], other[key])) for key in LEAST}
    both["ratio"] = float(one["ratio"] * one["timed"] + other["ratio"] * other["timed"]) / max(both["timed"], 1)
    return both


NOTHING = dict.fromkeys((*SUMS, "ratio"), 0) | dict.fromkeys(LEAST, np.inf)


def read(path):
    """What is in the file: {(dtype, method, class, pair): columns}, and the lines of its head."""
    if not path.exists():
        return {}, []
    lines = path.read_text().splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    table = {
        tuple(row[key] for key in KEY): {key: (int if key in SUMS else float)(row[key]) for key in (*SUMS, *LEAST, "ratio")} for row in rows
    }
    return table, [line[2:] for line in lines if line.startswith("#")]


def write(path, table, head):
    """In one move, so that a run that is stopped leaves a whole file."""
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        for line in head:
            file.write(f"# {line}\n")
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for key in sorted(table):
            writer.writerow(
                [*key, *(format(table[key][name], ".17g" if name == "ratio" else ".6g" if name in LEAST else "d") for name in HEADER[4:])]
            )
    part.replace(path)


def summary(table):
    """A line for each precision and method."""
    for dtype in PRECISIONS:
        for method in ccd.METHODS:
            total = NOTHING
            for key, columns in table.items():
                if key[:2] == (dtype, method):
                    total = together(total, columns)
            if total["queries"]:
                yield (
                    f"{dtype} {method}: {total['queries']} queries, {total['contacts']} contacts, {total['missed']} missed, "
                    f"{total['late']} late, {total['near']} near misses reported; of the distance at least {total['kept']:.4g} kept "
                    f"({total['kept seen']:.4g} of what is seen of it; {total['below']} times less than 0.099); "
                    f"time {total['ratio']:.3f} of the contact's, {total['iterations'] / total['queries']:.2f} iterations, "
                    f"{total['cut']} cut short"
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=10_000_000, help="in all, over both precisions, classes and kinds of pairs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after so many; a later call goes on")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "ccd_queries.csv")
    parser.add_argument("--check", action="store_true", help="compute nothing, only check the file")
    options = parser.parse_args()
    cases = [(name, pair, dtype) for name in CLASSES for pair in PAIRS for dtype in PRECISIONS]
    wanted = -(-options.queries // (BATCH * len(cases)))
    table, head = read(options.out)
    seed = f"seed {options.seed}, batches of {BATCH}"
    if head and head[-1] != seed:
        raise SystemExit(f"{options.out}: holds {head[-1]}, not {seed}; give another --out")
    head = head or [*describe(), seed]
    begin = time.monotonic()

    def done(case):
        name, pair, dtype = case
        return table.get((dtype, ccd.METHODS[0], name, pair), NOTHING)["batches"]

    with tempfile.TemporaryDirectory() as folder:
        verifier = None if options.check else Verifier(folder)
        for batch in range(0 if options.check else wanted):
            for case in cases:
                name, pair, dtype = case
                if done(case) > batch or time.monotonic() - begin > 60 * options.minutes:
                    continue
                for method, columns in columns_of(verifier, name, pair, np.dtype(dtype), options.seed, batch).items():
                    key = (dtype, method, name, pair)
                    table[key] = together(table.get(key, NOTHING), columns)
                write(options.out, table, head)
    print(*head, *summary(table), sep="\n")
    complete = all(done(case) >= wanted for case in cases)
    wrong = sum(columns["missed"] + columns["late"] for columns in table.values())
    short = [key for key, columns in table.items() if key[1] != "min_gradient" and columns["kept seen"] < PROMISED]
    print("complete" if complete else "not complete: call again", "and nothing missed" if not wrong else f"and {wrong} MISSED OR LATE")
    for key in short:
        print(*key, f"keeps only {table[key]['kept seen']:.6g} of the distance seen, not {PROMISED}")
    if wrong or short or (options.check and not complete):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
