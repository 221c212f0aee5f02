"""Runs of the scenes of contact_scenes.py, verified step by step along the whole path by `pdgpu.certify`."""

import dataclasses
import math
import time

import numpy as np
from contact_scenes import SCENES, in_units
from resting_contact import projective

import pdgpu
from pdgpu.scene.colliders import VertexCollider


@dataclasses.dataclass
class Verified:
    """What was found in a run. `contacts`: the most that acted at the end of a step. `smallest_distance`: m, of step ends."""

    steps: int = 0
    intersections: int = 0
    contacts: int = 0
    smallest_distance: float = math.inf
    iterations: int = 0
    seconds: float = 0.0


def verified_run(case, dtype="float64", *, steps=None, sim=None, **solver):
    """Takes the steps of a scene, or some of them with a simulation that is there already."""
    sim = case.simulation(dtype, **solver) if sim is None else sim
    found, late = Verified(), 0.0
    for _ in range(case.steps if steps is None else steps):
        before, start = sim.positions, time.perf_counter()
        sim.step(record="positions")
        found.seconds += time.perf_counter() - start
        record, fixed = sim.last_step, case.scene.fixed()
        delays = np.concatenate([[case.dt + late], delay(case, sim.time, record["behind"])])
        frames = path(before, record.positions, fixed, sim.time - delays)
        if getattr(sim.solver, "line_search", False) and type(sim.solver) in GOES_BACK:
            verify_descent(case, found, frames, fixed)
        else:
            verify(case, found, *zip(*frames, strict=True))
        late = delays[-1]
        found.steps += 1
        found.iterations += record.iteration
        found.contacts = max(found.contacts, int(record["active_contacts"][-1]))
        found.smallest_distance = min(found.smallest_distance, float(record["smallest_distance"][-1]))
        assert np.array_equal(sim.positions, record.positions[-1])
    return found


def delay(case, end, behind):
    """How long ago obstacles should have been where they are, s: in a step they go straight, and as one, to where they are at its end."""
    speed = 0.0
    for obstacle in case.scene.obstacles:
        if obstacle.collider.motion is None:
            continue
        there, middle, here = (place(obstacle.collider, now) for now in (end - case.dt, end - 0.5 * case.dt, end))
        np.testing.assert_allclose(middle, 0.5 * (there + here), rtol=0.0, atol=1e-12 * np.abs(here).max())  # or a delay says too little
        speed = max(speed, np.linalg.norm(here - there, axis=-1).max() / case.dt)
    return np.asarray(behind) / speed if speed > 0.0 else np.zeros(len(behind))


def place(collider, now):
    if isinstance(collider, VertexCollider):
        return np.asarray(collider.motion(now, collider.rest))
    rotation, translation = collider.motion(now)
    assert np.array_equal(rotation, np.eye(3))
    return np.asarray(translation)


def path(start, iterates, fixed, times):
    """The way of a step, as pairs of positions and of when obstacles should be where they are.

    Every vertex goes straight to the first guess; before every iteration what is pinned goes on, with the obstacles, and in it the others.
    """
    frames = [(start, times[0]), (iterates[0], times[1])]
    for iterate, now in zip(iterates[1:], times[2:], strict=True):
        last, before = frames[-1]
        if before != now or not np.array_equal(last[fixed == 1], iterate[fixed == 1]):
            frames.append((np.where(fixed[:, None] == 1, iterate, last), now))
        frames.append((iterate, now))
    return frames


def verify(case, found, frames, times):
    """Adds what `certify` says of frames."""
    found.intersections += faults(case, frames, times)


def faults(case, frames, times):
    certificate = pdgpu.certify(frames, case.scene, times=times, separation=case.contact.separation, gap=False)
    return sum(len(rows) for rows in certificate.intersections.values()) + len(certificate.crossings)


def verify_descent(case, found, frames, fixed):
    """The same of a method that may go back to an earlier iterate, the way it came, and on from there."""
    for k in range(1, len(frames)):
        to, now = frames[k]
        ways = [((frames[k - 1][0], to), (frames[k - 1][1], now))]
        ways += [((np.where(fixed[:, None] == 1, to, frames[origin][0]), to), (now, now)) for origin in range(k - 2, -1, -1)]
        if all(faults(case, *way) for way in ways):
            verify(case, found, *ways[0])


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
    "vertex block descent, Anderson": (pdgpu.VertexBlockDescent, {"iterations": 15, "acceleration": pdgpu.Anderson()}),
}
# those with one matrix for all vertices, of which every test of every change sees other scenes
WHOLE_METHODS = {
    "quasi-Newton": (pdgpu.QuasiNewton, {"iterations": 10}),
    "nonlinear CG": (pdgpu.NonlinearCG, {"iterations": 10}),
    "nonlinear CG, direct": (pdgpu.NonlinearCG, {"iterations": 10, "preconditioner": "direct"}),
    "Newton": (pdgpu.Newton, {"iterations": 10}),
    "Newton-CG": (pdgpu.Newton, {"iterations": 10, "linear": pdgpu.PCG(preconditioner="block")}),
    "PD, direct": (pdgpu.ProjectiveDynamics, {"iterations": 10}),
    "PD, Jacobi, accelerated": (
        pdgpu.ProjectiveDynamics,
        {"iterations": 20, "linear": pdgpu.Jacobi(), "chebyshev": pdgpu.Chebyshev(rho=0.9, start=2)},
    ),
    "PD, Anderson": (pdgpu.ProjectiveDynamics, {"iterations": 15, "acceleration": pdgpu.Anderson()}),
    "PD, PCG": (pdgpu.ProjectiveDynamics, {"iterations": 10, "linear": pdgpu.PCG(iterations=10)}),
    "ADMM": (pdgpu.ADMM, {"iterations": 10}),
}


def solver_case(method, name, *, iterations=None, guard="impact", friction=0.5):
    """(scene, what it is run with): one of the methods above, with so many iterations a step or as many as stand there."""
    kind, settings = (METHODS | WHOLE_METHODS)[method]
    settings = {"tolerance": 0.0, **settings}
    if iterations is not None:
        settings = {key: value for key, value in settings.items() if key != "chebyshev"} | {"iterations": iterations}
    case = SCENES[name](False)
    case = dataclasses.replace(case, contact=dataclasses.replace(case.contact, guard=guard, friction=friction))
    if method in WHOLE_METHODS:  # of materials that all of them take
        case = dataclasses.replace(case, scene=projective(case, moving=True).scene)
    return case, {"method": kind, **settings}


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
