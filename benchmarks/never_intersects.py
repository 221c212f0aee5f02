"""How near do bodies come to each other, and does anything ever go through anything?

The scenes of tests/contact_scenes.py: fine, and small with what makes them harder, one at a time: one iteration a step, large steps,
barriers a thousand times too soft or too stiff, other units of length. Every step is verified along its whole path in exact arithmetic.
"of_distance" is the smallest distance at the end of a step without the separation, in activation distances; "seconds" are those of the
steps on one thread, with their records and without the verification. Ctrl-C ends it with the table of what is done.

    python benchmarks/never_intersects.py [--out FILE.csv] [--scenes NAME ...] [--sizes small fine] [--tiny]
"""

import argparse
import itertools
import sys
import time
from pathlib import Path

from machine import write_table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from contact_scenes import SCENES
from verified_run import VARIANTS, verified_run

HEADER = (
    "scene", "size", "vertices", "dtype", "variant", "steps", "intersections", "contacts", "of_distance", "iterations", "seconds"
)  # fmt: skip


def cases(name, size):
    """(variant, case, settings of the solver)."""
    case = SCENES[name](size == "fine")
    yield "as it is", case, {}
    if size == "small":
        for variant, change in VARIANTS.items():
            yield variant, *change(case)


def row(name, size, dtype, variant, case, solver):
    found = verified_run(case, dtype, **solver)
    near = (found.smallest_distance - case.contact.separation) / case.contact.distance
    figures = (found.steps, found.intersections, found.contacts, f"{near:.2g}", found.iterations, f"{found.seconds:.2f}")
    return (name, size, case.scene.n_vertices, dtype, variant, *figures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--scenes", nargs="+", choices=list(SCENES), default=list(SCENES))
    parser.add_argument("--sizes", nargs="+", choices=["small", "fine"], default=["small", "fine"])
    parser.add_argument("--tiny", action="store_true", help="one small scene: only that everything runs")
    chosen = parser.parse_args()
    if chosen.tiny:
        chosen.scenes, chosen.sizes = ["thrown ball"], ["small"]
    rows, notes = [], []
    try:
        for size, name, dtype in itertools.product(chosen.sizes, chosen.scenes, ("float32", "float64")):
            for variant, case, solver in cases(name, size):
                start = time.perf_counter()
                rows.append(row(name, size, dtype, variant, case, solver))
                print(*rows[-1], f"({time.perf_counter() - start:.1f} s with the verification)", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        notes.append("stopped before the last scene")
    write_table(chosen.out, HEADER, rows, notes)
    if any(int(each[HEADER.index("intersections")]) for each in rows):
        sys.exit("something went through something")


if __name__ == "__main__":
    main()
