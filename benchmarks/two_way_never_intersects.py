"""Does anything ever go through anything in the two-way method, whatever solver made the target?

The small scenes of tests/contact_scenes.py with an update of the two-way method after each step of Projective Dynamics, Newton's method,
Vertex Block Descent and XPBD. Every state of every update and the straight way to the next is verified in exact arithmetic, where obstacles
move as well. "updates" are those that were verified, "unfinished" of them ended at the cap or stalled, "steps" is the sum of theirs and
"most" that of the longest; "rows" are the most constraints at once, "of_distance" is the least gap above the floor in distances.

A row is written as soon as it is known; no scene is begun after --minutes, and a note says that there were more.

    python benchmarks/two_way_never_intersects.py [--out FILE.csv] [--scenes NAME ...] [--solvers NAME ...] [--dtype float64]
        [--steps N] [--minutes N] [--tiny]
"""

import argparse
import itertools
import sys
import time
from pathlib import Path

from machine import write_table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from contact_scenes import SCENES
from two_way_run import SOLVERS, two_way_case, verified_two_way_run

HEADER = ("scene", "solver", "dtype", "updates", "intersections", "unfinished", "steps", "most", "rows", "of_distance")


def row(name, solver, dtype, most):
    case, updates = two_way_case(name), []
    found = verified_two_way_run(
        case, SOLVERS[solver], dtype, steps=min(most, case.steps), seen=lambda sim: updates.append(sim.last_step.update)
    )
    unfinished, longest = sum(update.status != "converged" for update in updates), max(update.steps for update in updates)
    near = (found.smallest_distance - case.contact.separation) / case.contact.distance
    figures = (found.steps, found.intersections, unfinished, found.iterations, longest, found.contacts, f"{near:.2g}")
    return (name, solver, dtype, *figures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--scenes", nargs="+", choices=list(SCENES), default=list(SCENES))
    parser.add_argument("--solvers", nargs="+", choices=list(SOLVERS), default=list(SOLVERS))
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--steps", type=int, default=10**9, help="of each scene at most")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--tiny", action="store_true", help="one scene: only that everything runs")
    chosen = parser.parse_args()
    if chosen.tiny:
        chosen.scenes, chosen.solvers, chosen.steps = ["cloth on sphere"], ["PD", "Newton"], 2
    cases, begin, kept = list(itertools.product(chosen.solvers, chosen.scenes)), time.monotonic(), []

    def rows():
        for solver, name in cases:
            if time.monotonic() - begin > 60.0 * chosen.minutes:
                return
            kept.append(row(name, solver, chosen.dtype, chosen.steps))
            yield kept[-1]

    write_table(chosen.out, HEADER, rows(), ["tiny: one scene"] * chosen.tiny)
    if len(kept) < len(cases):
        print(f"{len(cases) - len(kept)} of {len(cases)} were not begun: no time was left")
    if any(each[HEADER.index("intersections")] for each in kept):
        sys.exit("something went through something")


if __name__ == "__main__":
    main()
