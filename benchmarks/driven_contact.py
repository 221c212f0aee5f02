"""Does contact follow a driven obstacle, for every solver?

The scenes of tests/driven_scenes.py: a mesh, a plane, a sphere, a capsule or a body with scripted pins pushes a free soft block at 0.1,
1, 5 or 20 m/s. Five solvers, both precisions, an automatic and an explicit stiffness: 400 runs. At 0.1 m/s the obstacle also compresses a
held block by a tenth, in a second run of the same row.

"verdict" is "right" under five conditions. The whole path is free of intersections. The obstacle arrives. The impulse of contact equals
the change of momentum of the block to 1e-3. The block leaves at 0.98 of the speed of the obstacle or faster. The force on the held block
is within 20 % of the quasi-static one. A run is "late and said" if a condition other than the first fails, and a status, a warning or an
exception reports it. Else it is "wrong".

"impulse" is the relative error of the momentum over all steps, "unstated" over the steps that converged. "behind" is the lag of the
obstacle at the end in m. "velocity" and "force" are relative to the right ones. "steps", "unconverged", "iterations" and the processor
time in "seconds", verification included, are of both runs.

    python benchmarks/driven_contact.py [--out FILE.csv] [--summary FILE.md] [--covering] [--tiny]
"""

import argparse
import collections
import sys
import time
from pathlib import Path

from machine import describe, write_table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from driven_scenes import (
    FACTORS,
    OBSTACLES,
    SOLVERS,
    SPEEDS,
    VERDICTS,
    covering_array,
    driven_scene,
    held_scene,
    product,
    run_driven,
    static_force,
    verdict,
)

HEADER = (
    *("obstacle", "speed", "solver", "dtype", "stiffness", "verdict", "held verdict", "intersections", "behind", "impulse", "unstated"),
    *("velocity", "held behind", "force", "steps", "unconverged", "iterations", "contacts", "seconds", "statement"),
)


def row(obstacle, speed, solver, dtype, stiffness):
    found = run_driven(driven_scene(obstacle, speed, solver, dtype, stiffness))
    runs, of_held = [found], ("", "", "")
    if speed == 0.1:
        static = static_force(obstacle)
        held = run_driven(held_scene(obstacle, solver, dtype, stiffness))
        runs.append(held)
        of_held = (verdict(held, static=static), f"{held.behind:.3g}", f"{held.force / static:.4g}")
    steps, unconverged, iterations, intersections = (
        sum(getattr(run, name) for run in runs) for name in ("steps", "unconverged", "iterations", "intersections")
    )
    return (
        *(obstacle, speed, solver, dtype, stiffness, verdict(found), of_held[0], intersections, f"{found.behind:.3g}"),
        *(f"{found.impulse:.2g}", f"{found.unstated:.2g}", f"{found.velocity:.4g}", *of_held[1:], steps, unconverged, iterations),
        *(max(run.contacts for run in runs), f"{sum(run.seconds for run in runs):.2f}"),
        "; held: ".join(run.statement.splitlines()[0] if run.statement else "" for run in runs).removesuffix("; held: "),
    )


def summary(rows, seconds):
    """Markdown: the counts of the three verdicts by obstacle, solver and speed, and the sums by each value of each factor."""
    lines = [*(f"{line}  " for line in describe()), f"{len(rows)} runs, {seconds:.0f} s", ""]
    lines += ["Verdicts of the runs (right / late and said / wrong); a row at 0.1 m/s has the worse verdict of its two runs.", ""]
    lines += ["| obstacle | solver | " + " | ".join(f"{speed} m/s" for speed in SPEEDS) + " |", "|---|---|" + "---|" * len(SPEEDS)]
    counts = collections.Counter()
    for each in rows:
        worse = max(each[5], each[6] or "right", key=VERDICTS.index)
        counts[each[0], each[2], each[1], worse] += 1
        for place, value in enumerate(each[:5]):
            counts[place, value, worse] += 1
    for obstacle in OBSTACLES:
        for solver in SOLVERS:
            cells = [" / ".join(str(counts[obstacle, solver, speed, name]) for name in VERDICTS) for speed in SPEEDS]
            lines.append(f"| {obstacle} | {solver} | " + " | ".join(cells) + " |")
    lines += ["", "| factor | value | right | late and said | wrong |", "|---|---|---|---|---|"]
    for place, values in enumerate(FACTORS):
        for value in values:
            lines.append(f"| {HEADER[place]} | {value} | " + " | ".join(str(counts[place, value, name]) for name in VERDICTS) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--summary", help="a Markdown file with the counts; they are printed in any case")
    parser.add_argument("--covering", action="store_true", help="the 24 runs of `make test`")
    parser.add_argument("--tiny", action="store_true", help="two runs: only that everything runs")
    chosen = parser.parse_args()
    cases = covering_array() if chosen.covering else product()
    if chosen.tiny:
        cases = [("mesh", 0.1, "Newton", "float64", "explicit"), ("pinned body", 1.0, "PD", "float32", "auto")]
    begun, rows = time.perf_counter(), []

    def measured():
        for case in cases:
            rows.append(row(*case))
            yield rows[-1]

    write_table(chosen.out, HEADER, measured(), ["tiny: two runs"] * chosen.tiny)
    text = summary(rows, time.perf_counter() - begun)
    print(text)
    if chosen.summary:
        Path(chosen.summary).write_text(text)


if __name__ == "__main__":
    main()
