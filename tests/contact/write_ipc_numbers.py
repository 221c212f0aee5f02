"""Writes ipc_numbers.csv: where the vertices of the scenes of ipc_cases.py are after their steps by ipc_step.py.

Needs ipctk, and tests/ in PYTHONPATH.
"""

import csv
from pathlib import Path

import ipctk
from ipc_cases import CASES
from ipc_step import IpcStep


def end(case):
    """Positions (n, 3), m."""
    step = IpcStep(case.scene, case.contact, case.dt)
    x, v = case.scene.rest_positions(), case.scene.initial_velocities()
    for k in range(case.steps):
        end, iterations = step.minimise(x, v, k * case.dt)
        print(f"step {k}: {iterations} iterations, {len(step.collisions)} pairs")
        x, v = end, (end - x) / case.dt
    return x


def main():
    with Path(__file__).with_name("ipc_numbers.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([f"ipctk {ipctk.__version__}", "steps", "vertex", "x", "y", "z"])
        for name, make in CASES.items():
            case = make()
            for vertex, position in enumerate(end(case)):
                writer.writerow([name, case.steps, vertex, *(f"{number:.12g}" for number in position)])


if __name__ == "__main__":
    main()
