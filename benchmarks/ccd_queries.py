"""Does collision detection miss anything? Ten million random and adversarial queries and more, against the truth in 113-bit arithmetic.

The queries are those of tests/collision_queries.py: eleven classes, vertex-triangle and edge-edge, float32 and float64. A run is made of
batches; batch b of a class depends on the seed, the class and b alone, and after every batch the counts are written to the file of
results, so that a run that was stopped goes on where it was. With --check the file must hold all batches and no miss.

Columns: missed, contacts that were not reported; late, reported after the contact; near, contacts reported where there is none (their
distance fell below a tenth, or their start is below what the precision resolves); kept, the smallest part of the start's distance that
was left at the time returned, measured by the lower bound of that distance (start too close left out); share, the mean of time returned over
time of contact; cut, queries that used up their iterations.

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
from collision_queries import CLASSES, Judge, generate

BATCH = 5000
HEADER = ["dtype", "method", "class", "pair", "batches", "queries", "contacts", "missed", "late", "near", "kept", "share", "iterations", "cut"]
PAIRS = ("vertex_triangle", "edge_edge")


def judged(judge, name, pair, dtype, seed, batch):
    """Counts of one batch for every method: {method: [queries, contacts, missed, late, near, kept, sum of shares, shares, iterations, cut]}."""
    random = np.random.default_rng([seed, CLASSES.index(name), PAIRS.index(pair), batch])
    x0, x1 = (x.astype(dtype) for x in generate(name, BATCH, pair == "edge_edge", random))
    seen, counts = geometry.lower_bound(pair, x0), {}
    for method in ccd.METHODS:
        found = getattr(ccd, pair)(x0, x1, method=method)
        contact_time, late, _, after, _ = judge(pair == "edge_edge", x0, x1, found.toi).T
        contact, reported = ~np.isnan(contact_time), np.isfinite(found.toi)
        moved = reported & (found.reason != ccd.Reason.START_TOO_CLOSE)
        timed = contact & reported & (contact_time > 0)
        counts[method] = [
            BATCH,
            int(contact.sum()),
            int((contact & ~reported).sum()),
            int((contact & (late > 0)).sum()),
            int((reported & ~contact).sum()),
            float(np.min(after[moved] / seen[moved], initial=np.inf)),
            float((found.toi[timed] / contact_time[timed]).sum()),
            int(timed.sum()),
            int(found.iterations.sum()),
            int((found.reason == ccd.Reason.CUT_SHORT).sum()),
        ]
    return counts


def read(path):
    """What is in the file: {(dtype, method, class, pair): [batches, counts ...]}, and its seed."""
    if not path.exists():
        return {}, None
    lines = path.read_text().splitlines()
    seed = next((int(line.split()[-1]) for line in lines if line.startswith("# seed")), None)
    table = {}
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        timed = round(float(row["contacts"])) if row["share"] == "" else int(row["share"].split("/")[1])
        total = 0.0 if row["share"] == "" else float(row["share"].split("/")[0]) * timed
        whole = [int(row[key]) for key in ("batches", "queries", "contacts", "missed", "late", "near")]
        key = (row["dtype"], row["method"], row["class"], row["pair"])
        table[key] = [*whole, float(row["kept"]), total, timed, int(row["iterations"]), int(row["cut"])]
    return table, seed


def write(path, table, seed):
    """The table and its sums over the classes, in one move, so that a run that is stopped leaves a whole file."""
    lines = [*describe(), f"batches of {BATCH}; share: mean / number it is taken over", f"seed {seed}"]
    text = tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, newline="")
    with text:
        for line in lines:
            text.write(f"# {line}\n")
        writer = csv.writer(text)
        writer.writerow(HEADER)
        for key in sorted(table):
            batches, queries, contacts, missed, late, near, kept, total, timed, iterations, cut = table[key]
            share = f"{total / timed:.17g}/{timed}" if timed else ""
            writer.writerow([*key, batches, queries, contacts, missed, late, near, f"{kept:.6g}", share, iterations, cut])
    Path(text.name).replace(path)


def summary(table):
    """Lines with the sums of each dtype and method."""
    for dtype in ("float32", "float64"):
        for method in ccd.METHODS:
            rows = [row for key, row in table.items() if key[:2] == (dtype, method)]
            if not rows:
                continue
            queries, contacts, missed, late, near = (sum(row[k] for row in rows) for k in range(1, 6))
            total, timed, iterations, cut = (sum(row[k] for row in rows) for k in range(7, 11))
            yield (
                f"{dtype} {method}: {queries} queries, {contacts} contacts, {missed} missed, {late} late, {near} near misses reported, "
                f"at least {min(row[6] for row in rows):.4g} of the distance kept, mean time {total / max(timed, 1):.3f} of the contact's, "
                f"{iterations / queries:.2f} iterations, {cut} cut short"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=10_000_000, help="in all, over both precisions, classes and kinds of pairs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after so many; a later call goes on")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "ccd_queries.csv")
    parser.add_argument("--check", action="store_true", help="compute nothing, only judge the file")
    options = parser.parse_args()
    cases = [(name, pair, dtype) for name in CLASSES for pair in PAIRS for dtype in ("float32", "float64")]
    wanted = -(-options.queries // (BATCH * len(cases)))
    table, seed = read(options.out)
    if seed not in (None, options.seed):
        raise SystemExit(f"{options.out}: holds seed {seed}, not {options.seed}; give another --out")
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        judge = None if options.check else Judge(folder)
        for batch in range(0 if options.check else wanted):
            for name, pair, dtype in cases:
                if table.get((dtype, ccd.METHODS[0], name, pair), [0])[0] > batch:
                    continue
                if time.monotonic() - begin > 60 * options.minutes:
                    break
                for method, counts in judged(judge, name, pair, np.dtype(dtype), options.seed, batch).items():
                    row = table.setdefault((dtype, method, name, pair), [0, 0, 0, 0, 0, 0, np.inf, 0.0, 0, 0, 0])
                    kept = min(row[6], counts[5])
                    row[1:] = [old + new for old, new in zip(row[1:], counts, strict=True)]
                    row[0], row[6] = row[0] + 1, kept
                write(options.out, table, options.seed)
    print(*summary(table), sep="\n")
    complete = all(table.get((dtype, m, name, pair), [0])[0] >= wanted for name, pair, dtype in cases for m in ccd.METHODS)
    missed = sum(row[3] + row[4] for row in table.values())
    print("complete" if complete else "not complete: call again", "and nothing missed" if not missed else f"and {missed} MISSED OR LATE")
    if missed or (options.check and not complete):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
