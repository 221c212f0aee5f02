"""What does a step in contact cost on the GPU, and how often does the host wait in it?

Three soft slabs lie on a floor and on each other, each turned against the one below, about 20 thousand vertices in all. They start a
little nearer than the contact distance. After some steps of settling each step is timed. Every solver is measured with every contact that
it takes.

"ms" is the median wall time of a step, "device_ms" the time of its iterations by the device's clock. "iterations", "waits" of the host,
"allocations", "captures" and "launches" of graphs are means over the timed steps, and so are the "contact_steps" of `TwoWayContact`,
whose status stands behind that of the solver. "pairs" are those nearer than the contact distance at the
end and "gap_mm" the smallest distance. "carried" tells whether the contact holds the slabs up: the upward force on them over their weight,
1 + (change of momentum)/(m g dt), as a mean over the timed steps; 0 is free fall, and 1 is rest. A contact that acts after the solver,
or few sweeps, take some ten steps to get there. "built_s" is the host's time for the scene and the simulation.

A case is an error where something is not finite, nothing is in contact, or surfaces meet though the contact does not allow it.

    python benchmarks/gpu_contact_step.py [--out FILE.csv] [--tiny] [--device cuda] [--seconds S] [--limit S]
"""

import functools
import statistics
import time

import numpy as np
from device import options, write_cases

import pdgpu

CELLS = {False: (40, 3, 40), True: (4, 1, 4)}
EDGE, DISTANCE = 0.01, 1e-3  # m, of a cell and at which contact sets in
GAP = 0.95 * DISTANCE  # where they start: nearly at rest with every contact
SLABS, TURN = 3, 0.15  # rad from slab to slab, so that no edges are parallel
DT = 1 / 200
STEPS = {False: (15, 10), True: (2, 2)}  # of settling, and timed
SECONDS = 2.0  # of the steps of a case, half of them to settle; then it ends after the first timed step

SOLVERS = {
    "VBD": pdgpu.VertexBlockDescent(iterations=20),
    "PD, A-Jacobi": pdgpu.ProjectiveDynamics(iterations=40, linear=pdgpu.AJacobi(order=2, weight=0.5)),
    "PD, PCG": pdgpu.ProjectiveDynamics(iterations=40, linear=pdgpu.PCG(iterations=5)),
    "Newton-CG": pdgpu.Newton(iterations=10, tolerance=1e-2, linear=pdgpu.PCG(preconditioner="block")),
}
CONTACTS = {
    "barrier": pdgpu.BarrierContact(DISTANCE),
    "penalty": pdgpu.PenaltyContact(DISTANCE, stiffness=300.0),
    "projective": pdgpu.ProjectiveContact(DISTANCE),
    "two-way": pdgpu.TwoWayContact(DISTANCE, steps=64, passes=1),  # bounds a step, since the sweeps double every 16
}
HEADER = ("solver", "contact", "vertices", "tets", "steps", "ms", "least", "most", "device_ms", "iterations", "contact_steps")
HEADER += ("waits", "allocations", "captures", "launches", "pairs", "gap_mm", "carried", "status", "built_s")


def slabs(tiny):
    """The scene, of materials that Projective Dynamics takes."""
    scene, size = pdgpu.Scene(), np.array(CELLS[tiny]) * EDGE
    mesh = pdgpu.shapes.beam(size, CELLS[tiny], split=5)
    for k in range(SLABS):
        c, s = np.cos(TURN * k), np.sin(TURN * k)
        points = (mesh.points - 0.5 * size) @ np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])
        height = (k + 0.5) * size[1] + (k + 1) * GAP
        scene.add_solid(pdgpu.Mesh(points + [0.0, height, 0.0], tets=mesh.tets), pdgpu.ARAP(2e4), density=1000.0)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    return scene


def measure(solver, contact, device, tiny):
    """One row, and a RuntimeError that says what is wrong with it."""
    begin = time.perf_counter()
    scene = slabs(tiny)
    sim = pdgpu.Simulation(scene, SOLVERS[solver], dt=DT, contact=CONTACTS[contact], device=device, dtype="float32")
    built, masses = time.perf_counter() - begin, scene.masses()
    momentum, steps = [], []

    def take(most, seconds):
        """Steps, at least one, and the momentum before and after them."""
        momentum[:] = [masses @ sim.velocities[:, 1]]
        steps.clear()
        end = time.perf_counter() + seconds
        while len(steps) < most and (not steps or time.perf_counter() < end):
            before = sim._core.backend.counts()
            start = time.perf_counter()
            sim.step()
            taken = time.perf_counter() - start
            after = sim._core.backend.counts()
            steps.append((taken, sim.last_step, {name: after[name] - before.get(name, 0) for name in after}))
        momentum.append(masses @ sim.velocities[:, 1])

    for most in STEPS[tiny]:
        take(most, 0.5 * SECONDS)
    seconds, records, counts = zip(*steps, strict=True)
    updates = [record.update for record in records if record.update]
    near = sim.contacts(DISTANCE)
    carried = 1.0 + (momentum[1] - momentum[0]) / (len(steps) * DT * 9.81 * masses.sum())
    gap = near.distance.min() if len(near) else np.inf

    def mean(values):
        return f"{np.mean(values):g}"

    on_device = statistics.median(record.device_seconds for record in records)
    milliseconds = (f"{1e3 * value:.2f}" for value in (statistics.median(seconds), min(seconds), max(seconds)))
    yield (
        solver,
        contact,
        scene.n_vertices,
        sum(len(body.mesh.tets) for body in scene.bodies),
        len(steps),
        *milliseconds,
        f"{1e3 * on_device:.2f}" if on_device > 1e-5 else "",  # no look at the iterations: they ended before the first
        mean([record.iteration for record in records]),
        mean([update.steps for update in updates]) if updates else "",
        *(mean([count.get(name, 0) for count in counts]) for name in ("waits", "allocations", "captures", "launches")),
        len(near),
        f"{1e3 * gap:.4f}",
        f"{carried:.3f}",
        ", ".join([records[-1].status, *[update.status for update in updates[-1:]]]),
        f"{built:.2f}",
    )

    soft = isinstance(CONTACTS[contact], pdgpu.PenaltyContact)
    if not np.isfinite(sim.positions).all():
        raise RuntimeError("positions are not finite")
    if not len(near):
        raise RuntimeError("nothing is in contact")
    if gap <= 0.0 and not soft:
        raise RuntimeError(f"the smallest distance is {gap:g} m")


def main():
    chosen = options(__doc__)
    cases = [
        ((solver, contact), functools.partial(measure, solver, contact, chosen.device, chosen.tiny))
        for solver in SOLVERS
        for contact in CONTACTS
        if type(CONTACTS[contact]).__name__ in SOLVERS[solver].contacts
    ]
    settling, timed = STEPS[chosen.tiny]
    notes = [f"float32, steps of {DT:g} s; {settling} steps of settling and {timed} timed, or as many as fit into {SECONDS / 2:g} s each"]
    write_cases(chosen, HEADER, cases, [*chosen.names, *notes])


if __name__ == "__main__":
    main()
