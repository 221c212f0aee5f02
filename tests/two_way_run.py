"""Runs of any solver with contact by the two-way interior point method, verified along the whole path of every update."""

import dataclasses

import numpy as np
from contact_scenes import SCENES
from resting_contact import projective
from verified_run import Verified, faults

import pdgpu

# solvers of different kinds: what knows of no contact at all has a line here
SOLVERS = {
    "PD": pdgpu.ProjectiveDynamics(iterations=10),
    "Newton": pdgpu.Newton(iterations=5),
    "VBD": pdgpu.VertexBlockDescent(iterations=10),
    "XPBD": pdgpu.XPBD(iterations=10),
}


def two_way_case(name, fine=False, **contact):
    """A scene of contact_scenes.py with materials that all solvers take."""
    case = projective(SCENES[name](fine), moving=True)
    distance = case.contact.separation + case.contact.distance
    contact = {"separation": case.contact.separation or "auto", **contact}
    return dataclasses.replace(case, contact=pdgpu.TwoWayContact(distance, **contact))


def two_way_simulation(case, solver, dtype="float64", *, threads=1):
    sim = pdgpu.Simulation(case.scene, solver, dt=case.dt, contact=case.contact, dtype=dtype, threads=threads)
    if case.positions is not None:
        sim.set_state(positions=case.positions)
    return sim


def times_of(path, n, before, target, start, dt):
    """When obstacles should be where they are in the states of a path: they go straight towards `target` (k, 3), and as one."""
    way = (target - before).ravel()
    if not way.any():
        return np.full(len(path), start + dt)
    part = (path[:, n:] - before).reshape(len(path), -1) @ way / (way @ way)
    return start + part * dt


def verified_two_way_run(case, solver, dtype="float64", *, steps=None, sim=None, seen=None):
    """Takes the steps of a scene; seen(sim): called after each."""
    sim = two_way_simulation(case, solver, dtype) if sim is None else sim
    found, n, late = Verified(), len(sim.positions), 0.0
    for _ in range(case.steps if steps is None else steps):
        driven, positions = sim._core.backend.driven(), sim.positions
        sim.step(record="positions")
        update, touching = sim.last_step.update, sim._core.touching
        target = touching.driven(sim.time).astype(driven.dtype)
        # what came late in the step before starts behind its time
        begin = sim.time - case.dt - late
        times = times_of(update.path, n, driven, target, begin, case.dt + late)
        if len(target) and np.abs(target - driven).max() > 0.0:
            late = sim.time - times[-1]
        assert np.array_equal(update.path[0, :n], positions) and np.array_equal(update.path[-1, :n], sim.positions)
        found.intersections += faults(case, update.path[:, :n].astype(np.float64), times)
        found.steps += 1
        found.iterations += update.steps
        found.contacts = max(found.contacts, update.rows)
        found.smallest_distance = min(found.smallest_distance, float(update.columns["smallest_distance"].min()))
        assert np.isfinite(sim.velocities).all()
        assert update.status != "converged" or update.residual < 0.1 * case.contact.distance
        if seen is not None:
            seen(sim)
    return found
