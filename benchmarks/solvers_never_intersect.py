"""Does any solver ever let anything through anything?

The small scenes of tests/contact_scenes.py with the solvers of tests/verified_run.py, with and without friction, with both guards, in both
precisions: each with one iteration a step, and again with as many as stand there (the two longest scenes end earlier). Every step is
verified along its whole path in exact arithmetic, where obstacles move as well. "steps", "intersections", "iterations" are sums of the two
runs, "contacts" the most and "of_distance" the least of both, as in never_intersects.py. A run that ends with an error has its name in the
place of "intersections".

A row is written as soon as it is known, and rows that the file has are not made again: a run that was stopped goes on. Materials that not
every solver takes stand aside for as-rigid-as-possible ones, but for solvers that work by the vertex.

    python benchmarks/solvers_never_intersect.py --out FILE.csv [--scenes NAME ...] [--solvers NAME ...] [--half] [--tiny]
"""

import argparse
import csv
import itertools
import sys
from pathlib import Path

from machine import describe

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from contact_scenes import SCENES
from verified_run import METHODS, WHOLE_METHODS, solver_case, verified_run

import pdgpu

HEADER = ("solver", "scene", "friction", "guard", "dtype", "steps", "intersections", "contacts", "of_distance", "iterations")
FRICTION = (0.5, 0.0)
DTYPES = ("float32", "float64")


STEPS = {"cloth over creature": 3, "twisted beam": 40}  # the scenes with the longest verification


def row(method, name, friction, guard, dtype):
    runs = []
    for iterations in (1, None):
        case, solver = solver_case(method, name, iterations=iterations, guard=guard, friction=friction)
        try:
            runs.append(verified_run(case, dtype, steps=STEPS.get(name), **solver))
        except (RuntimeError, pdgpu.DivergenceError) as error:
            print(f"{method}, {name}, {friction}, {guard}, {dtype}: {error}", file=sys.stderr)
            return "", type(error).__name__, "", "", ""
    near = (min(run.smallest_distance for run in runs) - case.contact.separation) / case.contact.distance
    steps, found, iterations = (sum(getattr(run, column) for run in runs) for column in ("steps", "intersections", "iterations"))
    return steps, found, max(run.contacts for run in runs), f"{near:.2g}", iterations


def cases(chosen):
    """A part of them has every scene and every solver in it."""
    combinations = list(itertools.product(pdgpu.contact.barrier_contact.LIMITERS, FRICTION, DTYPES))
    if chosen.half:  # each guard with and without friction and in both precisions, and so on
        combinations = [combinations[k] for k in (0, 6, 3, 5)]
    for guard, friction, dtype in combinations:
        for method, name in itertools.product(chosen.solvers, chosen.scenes):
            yield method, name, friction, guard, dtype


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="a CSV file, which is gone on with where it exists")
    parser.add_argument("--scenes", nargs="+", choices=list(SCENES), default=list(SCENES))
    parser.add_argument("--solvers", nargs="+", choices=list(METHODS | WHOLE_METHODS), default=list(METHODS | WHOLE_METHODS))
    parser.add_argument("--half", action="store_true", help="four of the eight combinations of guard, friction and precision")
    parser.add_argument("--tiny", action="store_true", help="one scene: only that everything runs")
    chosen = parser.parse_args()
    if chosen.tiny:
        chosen.scenes, chosen.solvers = ["thrown ball"], ["vertex block descent"]
    out, known = Path(chosen.out), {}
    if out.exists():
        with open(out, newline="") as file:
            known = {tuple(each[:5]): each for each in csv.reader(line for line in file if not line.startswith("#"))}
    with open(out, "a", newline="") as file:
        write = csv.writer(file, lineterminator="\n").writerow
        if not known:
            file.writelines(f"# {line}\n" for line in describe())
            write(HEADER)
        for case in cases(chosen):
            key = tuple(map(str, case))
            if key in known:
                continue
            known[key] = (*key, *map(str, row(*case)))
            write(known[key])
            file.flush()
            print(*known[key], file=sys.stderr)
    known.pop(HEADER[:5], None)
    faults = [", ".join(each[:5]) + ": " + each[6] for each in known.values() if each[6] != "0"]
    print(f"{len(known)} rows, {sum(int(each[5] or 0) for each in known.values())} steps, {len(faults)} with intersections or errors")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
