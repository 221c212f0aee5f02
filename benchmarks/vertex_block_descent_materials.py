"""What does an iteration of a sweep over vertices cost on each material, how many does it take, and what does recording one cost?

A mesh of tets, stretched by three tenths in y and let go in one step of a thirtieth of a second, without gravity and contact: the pose of
`projective_dynamics.py`. An iteration's time is that of a step of MANY iterations less that of a step of FEW, over the difference, by the
processor time of the one thread that works; the cases take turns. Iterations are counted on a beam of COUNTED cells in the same pose, until
(G - G*)/(G_0 - G*) is LOSS, with G* that of Newton's method, or COUNTED_MOST where that is not reached. Projective Dynamics with
Jacobi sweeps is there for what recording an iteration costs: its time with records over that without.

    python benchmarks/vertex_block_descent_materials.py [MESH] [--tiny] [--dtype float32] [--out FILE.csv]
"""

import argparse
import importlib.resources
import statistics
import time

import numpy as np
from machine import write_table

import pdgpu

MU, LAM, DENSITY, STEP = 1e6 / 2.6, 1e6 / 1.3, 1000.0, 1 / 30
FEW, MANY, ROUNDS, LOSS = 8, 40, 5, 1e-3
COUNTED, TINY, COUNTED_MOST = (20, 6, 6), (6, 3, 3), 300
STRETCH = (1.0, 1.3, 1.0)
DAMPING = 0.01  # s
MATERIALS = {"NeoHookean": pdgpu.NeoHookean(MU, LAM), "ARAP": pdgpu.ARAP(MU), "Corotated": pdgpu.Corotated(MU, LAM)}
MATERIALS["ShapeTarget"] = pdgpu.ShapeTarget(MU, np.diag([1.0, 0.9, 1.0]))
SOLVERS = {
    "VertexBlockDescent": lambda n: pdgpu.VertexBlockDescent(iterations=n, initialization="previous"),
    "BlockJacobi": lambda n: pdgpu.BlockJacobi(iterations=n, initialization="previous"),
    "ProjectiveDynamics": lambda n: pdgpu.ProjectiveDynamics(iterations=n, initialization="previous", linear=pdgpu.Jacobi(weight=0.5)),
    "Newton": lambda n: pdgpu.Newton(iterations=n, initialization="previous"),
}


def beam(cells):
    return pdgpu.shapes.beam(tuple(n / max(cells) for n in cells), cells=cells)


def simulations(mesh, material, damping, solver, dtype, counts):
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(mesh, material, density=DENSITY, damping=damping)
    return {n: pdgpu.Simulation(scene, SOLVERS[solver](n), dt=STEP, dtype=dtype, threads=1) for n in counts}


def step_seconds(simulation, start, record=False):
    simulation.set_state(positions=start, velocities=np.zeros_like(start))
    begin = time.thread_time()
    simulation.step(record=record)
    return time.thread_time() - begin


def milliseconds(mesh, cases, dtype, record=()):
    """Case (material, damping, solver) -> the median of an iteration's milliseconds; of those in `record` with records too."""
    start = mesh.points * STRETCH
    made = {case: simulations(mesh, MATERIALS[case[0]], *case[1:], dtype, (FEW, MANY)) for case in cases}
    samples = {}
    for _ in range(ROUNDS):
        for case, by_count in made.items():
            for recorded in (False, True) if case in record else (False,):
                few, many = (step_seconds(by_count[n], start, recorded) for n in (FEW, MANY))
                samples.setdefault((case, recorded), []).append(1e3 * (many - few) / (MANY - FEW))
    return {key: statistics.median(values) for key, values in samples.items()}


def recorded_potential(mesh, case, dtype, iterations):
    simulation = simulations(mesh, MATERIALS[case[0]], *case[1:], dtype, (iterations,))[iterations]
    step_seconds(simulation, mesh.points * STRETCH, True)
    return simulation.last_step["incremental_potential"]


def iterations_to_loss(mesh, case, dtype):
    """How many, and whether G ever grew by more than its rounding."""
    potential = recorded_potential(mesh, case, dtype, COUNTED_MOST)
    least = recorded_potential(mesh, (*case[:2], "Newton"), "float64", 60).min()
    reached = np.flatnonzero((potential - least) / (potential[0] - least) <= LOSS)
    grew = np.diff(potential).max() > (1e-6 if dtype == "float32" else 1e-13) * potential[0]
    return int(reached[0]) if len(reached) else COUNTED_MOST, bool(grew)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mesh", nargs="?", default=str(importlib.resources.files("pdgpu") / "data" / "creature.vtu"))
    parser.add_argument("--tiny", action="store_true", help="a size that shows only that everything runs")
    parser.add_argument("--dtype", default="float64", choices=("float32", "float64"))
    parser.add_argument("--out")
    options = parser.parse_args()
    counted = beam(TINY if options.tiny else COUNTED)
    mesh = beam(TINY) if options.tiny else pdgpu.read_mesh(options.mesh)
    mesh = pdgpu.Mesh((mesh.points - mesh.points.min(axis=0)) / np.ptp(mesh.points, axis=0).max(), tets=mesh.tets)

    cases = [(material, 0.0, solver) for solver in ("VertexBlockDescent", "BlockJacobi") for material in MATERIALS]
    cases += [(material, DAMPING, "VertexBlockDescent") for material in MATERIALS] + [("ARAP", 0.0, "ProjectiveDynamics")]
    recorded = [("ARAP", 0.0, "ProjectiveDynamics"), ("ARAP", 0.0, "VertexBlockDescent"), ("NeoHookean", 0.0, "VertexBlockDescent")]
    times = milliseconds(mesh, cases, options.dtype, recorded)
    rows = []
    for case in cases:
        iterations, grew = iterations_to_loss(counted, case, options.dtype)
        neo_hookean = times[("NeoHookean", *case[1:]), False] if case[2] != "ProjectiveDynamics" else float("nan")
        with_record = times.get((case, True), float("nan"))
        rows.append([
            case[2], case[0], case[1], options.dtype, f"{times[case, False]:.3f}", f"{times[case, False] / neo_hookean:.2f}",
            f"{with_record / times[case, False]:.2f}", iterations, int(grew),
        ])  # fmt: skip
        print(*rows[-1], flush=True)
    header = ["solver", "material", "damping s", "dtype", "ms", "of NeoHookean", "recorded", f"iterations to {LOSS:g}", "G grew"]
    notes = [f"{len(mesh.points)} vertices, {len(mesh.tets)} tets"] + ["tiny sizes"] * options.tiny
    if options.out:
        write_table(options.out, header, rows, notes)


if __name__ == "__main__":
    main()
