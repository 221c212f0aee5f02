"""What does a pair cost in contact by projections?

Sheets of cloth lie one above the other, half of the activation distance apart, and settle on a floor, so that every vertex is in
contact and the pairs grow with the sheets alone. Of each number of sheets: the pairs of a step, its rounds, and the seconds that
detection (culling and times of impact) and projection take of it, on one thread of a processor that others may use. "exponent": of
these seconds by the pairs, from the fewest sheets on.

    python benchmarks/projective_pairs.py [--out FILE.csv] [--tiny]
"""

import argparse
import time

import numpy as np
from machine import write_table

import pdgpu

DISTANCE, DT, STEPS = 2e-3, 1 / 100, 6


def sheets(n, cells):
    mesh, scene = pdgpu.shapes.grid((0.2, 0.2), cells=(cells, cells)), pdgpu.Scene(gravity=(0.0, -9.8, 0.0))
    for k in range(n):
        level = np.full(len(mesh.points), (0.5 + 0.5 * k) * DISTANCE)
        points = np.column_stack([mesh.points[:, 0] + 1e-4 * k, level, -mesh.points[:, 1]])
        scene.add_shell(pdgpu.Mesh(points, triangles=mesh.triangles), pdgpu.Spring(200.0), density=0.2, bending=4e-5, name=f"sheet {k}")
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    return scene


def measured(chosen):
    """The rows, one by one."""
    first = None
    for n in (2, 4) if chosen.tiny else (2, 4, 8, 16):
        solver, contact = pdgpu.ProjectiveDynamics(iterations=40), pdgpu.ProjectiveContact(DISTANCE, inner=10)
        sim = pdgpu.Simulation(sheets(n, 4 if chosen.tiny else 24), solver, dt=DT, contact=contact, threads=1)
        parts, pairs, rounds = [], [], []
        for step in range(STEPS):
            before = time.process_time(), time.perf_counter()
            sim.step(record=True)
            share = (time.process_time() - before[0]) / (time.perf_counter() - before[1])
            record = sim.last_step
            if step < STEPS // 2:  # its memory grows
                continue
            parts.append([share * record[of][-1] for of in ("culling_seconds", "ccd_seconds", "projection_seconds")])
            pairs.append(record["active_contacts"][-1])
            rounds.append(record["outer"][-1])
        spent, n_pairs = np.median(parts, axis=0), float(np.median(pairs))
        first = first or (n_pairs, spent.sum())
        exponent = np.log(spent.sum() / first[1]) / np.log(n_pairs / first[0]) if n_pairs > first[0] else np.nan
        yield n, len(sim.masses), round(n_pairs), float(np.mean(rounds)), *map(float, spent), float(exponent)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    chosen = parser.parse_args()
    names = ("sheets", "vertices", "pairs", "rounds", "culling_s", "impact_s", "projection_s", "exponent")
    write_table(chosen.out, names, ((*(f"{cell:.4g}" if isinstance(cell, float) else cell for cell in row),) for row in measured(chosen)))


if __name__ == "__main__":
    main()
