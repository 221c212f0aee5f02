"""Runs of the scenes of contact_scenes.py, judged step by step along the whole path by `pdgpu.certify`."""

import dataclasses
import math
import time

import numpy as np
from contact_scenes import in_units

import pdgpu


@dataclasses.dataclass
class Judged:
    """What was found in a run. `contacts`: the most that acted at the end of a step. `smallest_distance`: m, of step ends."""

    steps: int = 0
    intersections: int = 0
    contacts: int = 0
    smallest_distance: float = math.inf
    iterations: int = 0
    seconds: float = 0.0


def judged_run(case, dtype="float64", *, steps=None, sim=None, **solver):
    """Takes the steps of a scene, or some of them with a simulation that is there already.

    Where obstacles move, whose path within a step is not recorded, its end alone is judged, and only if they have
    come as far as they should.
    """
    sim = case.simulation(dtype, **solver) if sim is None else sim
    found, moving = Judged(), any(obstacle.collider.motion is not None for obstacle in case.scene.obstacles)
    for _ in range(case.steps if steps is None else steps):
        before = sim.positions
        start = time.perf_counter()
        sim.step(record="positions")
        found.seconds += time.perf_counter() - start
        after = sim.positions
        if not moving and getattr(sim.solver, "line_search", False) and type(sim.solver) in GOES_BACK:
            judge_descent(case, found, path(before, sim.last_step.positions, case.scene.fixed()), sim.time)
        elif not moving:
            judge(case, found, path(before, sim.last_step.positions, case.scene.fixed()), sim.time)
        elif sim.last_step["behind"][-1] == 0.0:
            judge(case, found, [after], sim.time)
        found.steps += 1
        found.iterations += sim.last_step.iteration
        found.contacts = max(found.contacts, int(sim.last_step["active_contacts"][-1]))
        found.smallest_distance = min(found.smallest_distance, float(sim.last_step["smallest_distance"][-1]))
        assert np.array_equal(after, sim.last_step.positions[-1])
    return found


def path(start, iterates, fixed):
    """The way of a step: every vertex straight to the first guess; before every iteration the pinned ones go on, and in it the others."""
    frames = [start, iterates[0]]
    for iterate in iterates[1:]:
        if not np.array_equal(frames[-1][fixed == 1], iterate[fixed == 1]):
            frames.append(np.where(fixed[:, None] == 1, iterate, frames[-1]))
        frames.append(iterate)
    return frames


def judge(case, found, frames, now):
    """Adds what `certify` says of frames, the last of them at a time."""
    found.intersections += faults(case, frames, now)


def faults(case, frames, now):
    certificate = pdgpu.certify(frames, case.scene, times=[now] * len(frames), separation=case.contact.separation, gap=False)
    return sum(len(rows) for rows in certificate.intersections.values()) + len(certificate.crossings)


def judge_descent(case, found, frames, now):
    """The same of a method that may go back to an earlier iterate, the way it came, and on from there."""
    for k in range(1, len(frames)):
        if all(faults(case, [frames[origin], frames[k]], now) for origin in range(k - 1, -1, -1)):
            found.intersections += faults(case, frames[k - 1 : k + 1], now)


def stiffened(case, factor):
    return dataclasses.replace(case, contact=dataclasses.replace(case.contact, stiffness=case.contact.stiffness * factor))


GOES_BACK = (pdgpu.BlockJacobi, pdgpu.GradientDescent)

# every solver that contact takes beside Newton, and what it is run with: a line each
METHODS = {
    "vertex block descent": (pdgpu.VertexBlockDescent, {"iterations": 10}),
    "vertex block descent with a line search": (pdgpu.VertexBlockDescent, {"iterations": 5, "line_search": True}),
    "vertex block descent, accelerated": (pdgpu.VertexBlockDescent, {"iterations": 20, "chebyshev": pdgpu.Chebyshev(rho=0.95, start=2)}),
    "block Jacobi": (pdgpu.BlockJacobi, {"iterations": 10}),
    "block Jacobi, accelerated": (pdgpu.BlockJacobi, {"iterations": 20, "chebyshev": pdgpu.Chebyshev(rho=0.9, start=2)}),
    "gradient descent": (pdgpu.GradientDescent, {"iterations": 10}),
}
# those with one matrix for all vertices, of which every test of every change sees other scenes
WHOLE_METHODS = {
    "quasi-Newton": (pdgpu.QuasiNewton, {"iterations": 10}),
    "nonlinear CG": (pdgpu.NonlinearCG, {"iterations": 10}),
    "PD, direct": (pdgpu.ProjectiveDynamics, {"iterations": 10}),
    "PD, Jacobi, accelerated": (
        pdgpu.ProjectiveDynamics,
        {"iterations": 20, "linear": pdgpu.Jacobi(), "chebyshev": pdgpu.Chebyshev(rho=0.9, start=2)},
    ),
    "PD, PCG": (pdgpu.ProjectiveDynamics, {"iterations": 10, "linear": pdgpu.PCG(iterations=10)}),
    "ADMM": (pdgpu.ADMM, {"iterations": 10}),
}

# a change of a scene, and the settings of its solver
VARIANTS = {
    "guard by reach": lambda case: (dataclasses.replace(case, contact=dataclasses.replace(case.contact, guard="reach")), {}),
    "with friction": lambda case: (dataclasses.replace(case, contact=dataclasses.replace(case.contact, friction=0.5)), {}),
    "one iteration": lambda case: (case, {"iterations": 1}),
    "24 steps a second": lambda case: (dataclasses.replace(case, dt=1 / 24), {}),
    "a thousandth as stiff": lambda case: (stiffened(case, 1e-3), {}),
    "a thousand times as stiff": lambda case: (stiffened(case, 1e3), {}),
    "in kilometres": lambda case: (in_units(case, 1e-3), {}),
    "in millimetres": lambda case: (in_units(case, 1e3), {}),
}
