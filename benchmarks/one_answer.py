"""How many iterations does each solver need to the answer of Newton's method in contact?

One step of 1/100 to 1/500 s in the scenes of tests/one_answer.py, each near to rest, with the solvers of the same file. The bunny is one
of the collection of meshes that PDGPU_DATA names. "away" is the farthest vertex at the end as a part of the size of the scene, "to_1e-4"
and "to_1e-6" the iterations after which it stays below; a dash: it does not get there within the iterations that the solver has, or its
tolerance ends the step before. No friction, float64, one thread.

    python benchmarks/one_answer.py [--out FILE.csv] [--scenes NAME ...] [--solvers NAME ...] [--dt 0.005] [--tiny]
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from machine import write_table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from one_answer import SCENES, SOLVERS, answer, away

HEADER = ("scene", "vertices", "solver", "status", "iterations", "away_at_first", "away", "to_1e-4", "to_1e-6")


def row(name, label, dt):
    at, reference = answer(name, dt)
    sim = at.simulation(SOLVERS[label][0](), threads=1)
    sim.step(record="positions")
    record = sim.last_step
    errors = away(at, reference, record.positions)

    def after(bar):
        above = np.flatnonzero(errors > bar)
        return "-" if errors[-1] > bar else int(above[-1]) + 1 if len(above) else 0

    ends = f"{errors[0]:.1e}", f"{errors[-1]:.1e}"
    scene = f"{name}, 1/{1 / dt:.0f} s" if dt else name
    return (scene, at.scene.n_vertices, label, record.status, record.iteration, *ends, after(1e-4), after(1e-6))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--scenes", nargs="+", choices=list(SCENES), default=list(SCENES))
    parser.add_argument("--solvers", nargs="+", choices=list(SOLVERS), default=list(SOLVERS))
    parser.add_argument("--dt", type=float, help="time step, s, of all scenes; without: those of tests/one_answer.py")
    parser.add_argument("--tiny", action="store_true", help="one scene and one solver: only that everything runs")
    chosen = parser.parse_args()
    if chosen.tiny:
        chosen.scenes, chosen.solvers = ["cube on floor"], ["quasi-Newton"]
    rows = []
    for name in chosen.scenes:
        for label in chosen.solvers:
            rows.append(row(name, label, chosen.dt))
            print(*rows[-1], file=sys.stderr, flush=True)
    write_table(chosen.out, HEADER, rows)


if __name__ == "__main__":
    main()
