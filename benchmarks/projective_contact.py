"""How soon is contact by projections near the answer of full IPC, with which linear solver, and what does a pair cost?

A cloth falls on the creature that ships with pdgpu by Newton's method with the barrier, until it lies on it. From there one step is
solved by Newton's method with the barrier to the end, which is the answer x*; then by the same with few iterations, and by Projective
Dynamics with `ProjectiveContact` and each linear solver in few rounds. "error" is the mass-weighted distance of where the step ended from
x*, of where it began 1: "to_1e-1" and "to_1e-2" are the seconds of the shortest step that ends below, "error" and "seconds" are of the
longest one. The objectives differ, so that the last error is not 0. Seconds are processor time on one thread, of a step in a simulation
that has grown its memory, without the look for intersections that a state set from outside costs; the median of some. "quick": rounds of
8 iterations with a weight of 300, accelerated; what has no such word has the defaults.

Below, the same cloth with more and more cells, "projections": what the fall takes a step, rounds, pairs, and the exponent of the seconds
of detection and projection by the pairs, from the first size to the last.

    python benchmarks/projective_contact.py [--out FILE.csv] [--cells 141] [--tiny]
"""

import argparse
import importlib.resources
import time

import numpy as np
from machine import write_table

import pdgpu

DISTANCE, DT = 2e-3, 1 / 100


def cloth_on_creature(cells):
    creature = pdgpu.read_mesh(importlib.resources.files("pdgpu") / "data" / "creature.vtu")
    skin = pdgpu.Mesh(creature.points, triangles=creature.surface).without_unused_vertices()
    low, size = skin.points.min(axis=0), np.ptp(skin.points, axis=0)
    skin = pdgpu.Mesh((skin.points - low - size * [0.5, 0.0, 0.5]) * 0.5 / size.max(), triangles=skin.triangles)
    sheet, top = pdgpu.shapes.grid((0.4, 0.4), cells=(cells, cells)), skin.points[:, 1].max()
    flat = np.column_stack([sheet.points[:, 0] - 0.2, np.full(len(sheet.points), top + 2.5 * DISTANCE), 0.2 - sheet.points[:, 1]])
    scene = pdgpu.Scene(gravity=(0.0, -9.8, 0.0))
    scene.add_shell(pdgpu.Mesh(flat, triangles=sheet.triangles), pdgpu.Spring(200.0), density=0.2, bending=4e-5, name="cloth")
    scene.add_obstacle(skin, name="creature")
    return scene


def measured_step(make, state, repeats):
    """Seconds of a step from a state, and the simulation after it."""
    sim, seconds = make(), []
    for _ in range(repeats + 1):  # the first makes room for its pairs
        sim.set_state(positions=state[0], velocities=state[1])
        before = time.process_time(), time.perf_counter()
        sim.step()
        spent = time.process_time() - before[0]
        share = sum(sim.last_step.phases.values()) / (time.perf_counter() - before[1])
        seconds.append(spent * share)
    return float(np.median(seconds[1:])), sim


def measured(chosen):
    """The rows, one by one."""
    cells, steps, repeats = (8, 4, 1) if chosen.tiny else (chosen.cells, 12, 3)
    barrier = pdgpu.BarrierContact(DISTANCE, stiffness=2e4)
    scene = cloth_on_creature(cells)
    fall = pdgpu.Simulation(scene, pdgpu.Newton(iterations=30, tolerance=1e-3), dt=DT, contact=barrier, threads=1)
    fall.step(steps)
    state, masses = (fall.positions, fall.velocities), fall.masses

    def make(solver, contact):
        return lambda: pdgpu.Simulation(scene, solver, dt=DT, contact=contact, threads=1)

    exact = make(pdgpu.Newton(iterations=200, tolerance=1e-9), barrier)()
    exact.set_state(positions=state[0], velocities=state[1])
    exact.step()
    answer = exact.positions

    def errors(positions):
        """Of where the step began 1."""
        squares = ((np.asarray(positions) - answer) ** 2).sum(axis=-1) @ masses
        return np.sqrt(squares / (((state[0] - answer) ** 2).sum(axis=-1) @ masses))

    chebyshev = pdgpu.Chebyshev(rho="auto", start=1)
    linear = {
        "direct": pdgpu.Direct(),
        "PCG": pdgpu.PCG(iterations=10),
        "Jacobi": pdgpu.Jacobi(iterations=4),
        "Chebyshev": pdgpu.Jacobi(iterations=8, chebyshev=chebyshev),
        "A-Jacobi 1": pdgpu.AJacobi(order=1, iterations=4),
        "A-Jacobi 2": pdgpu.AJacobi(order=2, iterations=2),
        "A-Jacobi 3": pdgpu.AJacobi(order=3, iterations=2),
        "A-Jacobi 2 and Chebyshev": pdgpu.AJacobi(order=2, iterations=4, chebyshev=chebyshev),
    }

    def newton(solver):
        return lambda most: make(pdgpu.Newton(iterations=most, tolerance=1e-9, linear=solver), barrier)

    def projections(solver, inner=20, accelerated=None, **settings):
        def with_rounds(most):
            contact = pdgpu.ProjectiveContact(DISTANCE, inner=inner, outer=most, **settings)
            return make(pdgpu.ProjectiveDynamics(iterations=inner * max(most, 4), linear=solver, chebyshev=accelerated), contact)

        return with_rounds

    quick = {"inner": 8, "weight": 300.0, "accelerated": pdgpu.Chebyshev(rho=0.95, start=1)}
    runs = {"full IPC, Newton": newton(pdgpu.Direct()), "full IPC, Newton by conjugate gradients": newton(pdgpu.PCG())}
    runs["projections, direct"] = projections(pdgpu.Direct())
    runs["projections, direct, weight 100"] = projections(pdgpu.Direct(), weight=100.0)
    for name, solver in linear.items():
        runs[f"projections, {name}, quick"] = projections(solver, **quick)
    runs["projections, PCG, blocks, quick"] = projections(pdgpu.PCG(iterations=10), blocks=True, **quick)
    for name, run in runs.items():
        times = [np.nan, np.nan]
        for most in (1, 2) if chosen.tiny else (1, 2, 4, 8):
            seconds, sim = measured_step(run(most), state, repeats)
            error = float(errors(sim.positions))
            times = [seconds if np.isnan(had) and error <= level else had for had, level in zip(times, (1e-1, 1e-2), strict=True)]
            if not np.isnan(times[1]):
                break
        sim.set_state(positions=state[0], velocities=state[1])
        sim.step(record=True)
        pairs, rounds = int(sim.last_step["active_contacts"][-1]), int(sim.last_step["outer"][-1])
        yield (name, len(masses), pairs, 1, sim.last_step.iteration, rounds, seconds, *times, error, np.nan)
    sizes = []
    for size in (4, 8) if chosen.tiny else (cells // 4, cells // 2, cells):
        solver = pdgpu.ProjectiveDynamics(iterations=20 if chosen.tiny else 100)
        sim = pdgpu.Simulation(cloth_on_creature(size), solver, dt=DT, contact=pdgpu.ProjectiveContact(DISTANCE), threads=1)
        spent, pairs, rounds, ran, work = 0.0, 0, 0, 0, 0.0
        for _ in range(steps):
            before = time.process_time()
            sim.step(record=True)
            spent += time.process_time() - before
            record = sim.last_step
            share = sum(record[of][-1] for of in ("culling_seconds", "ccd_seconds", "projection_seconds")) / record["seconds"][-1]
            pairs, rounds, ran = pairs + record["active_contacts"][-1], rounds + record["outer"][-1], ran + record.iteration
            work += share * (time.process_time() - before)
        sizes.append((pairs, work))
        # of all the work of finding pairs
        exponent = np.log(sizes[-1][1] / sizes[0][1]) / np.log(sizes[-1][0] / sizes[0][0]) if len(sizes) > 1 and sizes[0][0] > 0 else np.nan
        per_step = (round(pairs / steps), steps, round(ran / steps), rounds / steps, spent / steps)
        yield ("projections", len(sim.masses), *per_step, np.nan, np.nan, np.nan, float(exponent))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--cells", type=int, default=141, help="along each side of the cloth")
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    chosen = parser.parse_args()
    names = ("method", "vertices", "pairs", "steps", "iterations", "rounds", "seconds", "to_1e-1", "to_1e-2", "error", "exponent")
    write_table(chosen.out, names, ((*(f"{cell:.4g}" if isinstance(cell, float) else cell for cell in row),) for row in measured(chosen)))


if __name__ == "__main__":
    main()
