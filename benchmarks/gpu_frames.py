"""How many frames a second does Projective Dynamics with A-Jacobi reach on the GPU?

The size is that of the falling dinosaur [Lan et al. 2022, Table 1, Fig. 10]: 23 thousand vertices, 103 thousand tets, 40 local-global
iterations a step of 1/100 s. Here it is a beam without contact, held at one end under gravity, float32, with Chebyshev's extrapolation over
the local-global iterations [Wang 2015, Algorithm 1]. A frame is a whole time step. The steps follow each other without a readback of the
state; at the end of each, the host waits for its status. "frames/s" is the number of steps over the seconds of the host's clock.

K is the number of A-Jacobi iterations of a global step; the paper reports 122 in 40 local-global iterations, so about 3. The first iterate
of order l is made by l Jacobi sweeps from zero, each further one is one product with the precomputed matrix of order l. Rows with
"launches" have one launch for each sweep and product; the others as pdgpu chooses.

The floor is the counted bytes of an iteration at the copy bandwidth of this run. They are those of gpu_projective_dynamics.py without the
matrix, and then of each sweep from the second on and of each product: an index and a number of an entry, and 3 vectors, a diagonal and a
start of a row. At this size the data lies in the L2 of a large GPU, so an iteration may take less.

    python benchmarks/gpu_frames.py [--out FILE.csv] [--tiny] [--device cuda]
"""

import functools
import time

import numpy as np
from device import copy_bandwidth, environment, medians, microseconds, options, write_cases
from gpu_projective_dynamics import counted_bytes

import pdgpu

CELLS, CELL = {False: (36, 24, 24), True: (3, 2, 2)}, 0.04  # m
STEPS = {False: 50, True: 2}  # of a sample
ITERATIONS = 40
STEP, STIFFNESS, DENSITY, WEIGHT = 1 / 100, 1e6, 1000.0, 0.5  # s, Pa, kg/m^3
# {what: (order, K, PDGPU_JACOBI)}; order 0 is Jacobi
SOLVERS = {
    **{f"A-Jacobi {order}, K = {k}": (order, k, None) for order in (2, 3, 1) for k in (1, 2, 3)},
    "Jacobi": (0, 1, None),
    **{f"A-Jacobi 2, K = {k}, launches": (2, k, "launches") for k in (1, 2, 3)},
}


def beam(tiny):
    """Tets without right angles: with them the matrix would have fewer entries than edges."""
    mesh = pdgpu.shapes.beam(tuple(CELL * n for n in CELLS[tiny]), cells=CELLS[tiny], split=5)
    moved = 0.1 * CELL * np.random.default_rng(0).uniform(-1.0, 1.0, mesh.points.shape)
    return pdgpu.Mesh(mesh.points + moved, tets=mesh.tets)


def linear_solver(order, k):
    return pdgpu.AJacobi(order=order, weight=WEIGHT, iterations=k) if order else pdgpu.Jacobi(weight=WEIGHT, iterations=k)


def simulation_of(scene, order, k, device):
    solver = pdgpu.ProjectiveDynamics(
        iterations=ITERATIONS,
        linear=linear_solver(order, k),
        chebyshev=pdgpu.Chebyshev(rho=0.9, start=10),
        check_every=ITERATIONS,
    )
    return pdgpu.Simulation(scene, solver, dt=STEP, device=device, dtype="float32")


def bytes_of_iteration(mesh, A, order, k, size=4):
    """A: the matrix of the global step."""
    entries_of_power = A.nnz
    pattern = power = (A != 0).astype(np.int32)
    for _ in range(order - 1):
        power = ((power @ pattern) != 0).astype(np.int32)
        entries_of_power = power.nnz
    row = 10 * size + 4
    sweeps = max(order, 1) - 1
    passes = sweeps * ((A.nnz - A.shape[0]) * (size + 4) + A.shape[0] * row)
    passes += (k - 1) * (entries_of_power * (size + 4) + A.shape[0] * row)
    return counted_bytes(mesh, 0, size) + passes


def measure(scene, mesh, what, bandwidth, chosen):
    order, k, way = SOLVERS[what]
    begin = time.perf_counter()
    with environment(PDGPU_JACOBI=way):
        simulation = simulation_of(scene, order, k, chosen.device)
    built = time.perf_counter() - begin
    steps = STEPS[chosen.tiny]

    def frame():
        begin = time.perf_counter()
        simulation.step(steps)
        return (time.perf_counter() - begin) / steps

    times = medians({"frame": frame, "iteration": lambda: simulation.last_step.device_seconds / ITERATIONS}, chosen.tiny)
    frames = [1 / seconds for seconds in times["frame"]]
    sag = np.ptp(simulation.positions - mesh.points, axis=0)[2]
    if not (np.isfinite(simulation.positions).all() and 0 < sag < CELL * CELLS[chosen.tiny][0]):
        raise ArithmeticError(f"the beam's deflection is {sag:g} m")
    counted = bytes_of_iteration(mesh, simulation.system_matrix(free=True), order, k)
    yield (
        what,
        len(mesh.points),
        len(mesh.tets),
        ITERATIONS,
        f"{frames[0]:.0f}",
        f"{frames[2]:.0f}",
        f"{frames[1]:.0f}",
        f"{1e3 * times['frame'][0]:.3f}",
        *map(microseconds, times["iteration"]),
        f"{counted / 1e6:.1f}",
        microseconds(counted / bandwidth if bandwidth else None),
        f"{built:.1f}",
    )


def main():
    chosen = options(__doc__)
    bandwidth = copy_bandwidth(chosen.tiny)
    mesh = beam(chosen.tiny)
    scene = pdgpu.Scene()
    held = mesh.points[:, 0] < 0.5 * CELL
    scene.add_solid(mesh, pdgpu.ARAP(STIFFNESS), density=DENSITY).pin(held)
    cases = [
        ((what, len(mesh.points), len(mesh.tets), ITERATIONS), functools.partial(measure, scene, mesh, what, bandwidth, chosen))
        for what in SOLVERS
    ]
    header = ("what", "vertices", "tets", "iterations", "frames/s", "least/s", "most/s", "frame ms", "iteration us", "least us", "most us")
    notes = [*chosen.names, f"copy: {bandwidth / 1e9:.0f} GB/s read and written" if bandwidth else "copy: not measured"]
    write_cases(chosen, (*header, "counted MB", "floor us", "build s"), cases, notes)


if __name__ == "__main__":
    main()
