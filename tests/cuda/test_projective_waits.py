"""Waits of the host in a step with contact by projections: one a round; what ends it runs on the device."""

import dataclasses

import numpy as np
import pytest
from contact_scenes import cube
from projective_run import LINEAR, projective_case

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]

SOLVERS = ["Jacobi", "Chebyshev", "A-Jacobi-2", "A-Jacobi-3", "PCG"]
devices = pytest.mark.parametrize("device", ["cpu", "cuda"])
names = pytest.mark.parametrize("name", SOLVERS)


def waits_of_a_step(sim, *, before):
    """(rounds, stagnations, waits) of a step from the state after so many others, the lists having grown in the same step before."""
    for _ in range(before):
        sim.step()
    x, v = sim.positions, sim.velocities
    for record in (True, False, False):
        waits = sim._core.backend.counts()["waits"]
        sim.step(record=record)
        waits = sim._core.backend.counts()["waits"] - waits
        if record:
            rounds, stagnations = int(sim.last_step["outer"][-1]), int(sim.last_step["stagnations"][-1])
        sim.set_state(positions=x, velocities=v)
    return rounds, stagnations, waits


def steps_of_more_and_more_rounds(scene, contact, name, most, *, inner, device, dtype, before=0, x=None):
    found = []
    for rounds in range(1, most + 1):
        solver = pdgpu.ProjectiveDynamics(iterations=200, linear=LINEAR[name], check_every=1000)
        limited = dataclasses.replace(contact, outer=rounds, inner=inner)
        sim = pdgpu.Simulation(scene, solver, device=device, dt=1 / 24, contact=limited, dtype=dtype)
        if x is not None:
            sim.set_state(positions=x)
        found.append(waits_of_a_step(sim, before=before))
        assert found[-1][0] == rounds
    return np.array(found)


@devices
@names
def test_a_round_in_which_nothing_touches_is_one_wait(name, device, dtype):
    """If not, every round of every step costs round trips without need."""
    scene, mesh = pdgpu.Scene((0.0, -9.8, 0.0)), cube(0.1, 2, (0.0, 1.0, 0.0))
    scene.add_solid(mesh, pdgpu.ARAP.from_young(young=1e5, poisson=0.4), density=1000.0)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    middle = mesh.points.mean(0)
    found = steps_of_more_and_more_rounds(
        scene,
        pdgpu.ProjectiveContact(1e-3),
        name,
        4,
        inner=3,
        device=device,
        dtype=dtype,
        x=middle + (mesh.points - middle) * [1.5, 1.0, 0.7],
    )
    assert np.diff(found[:, 2]).tolist() == [1, 1, 1]


@devices
@names
def test_a_round_in_contact_is_one_wait(name, device, dtype):
    """If not, what is found in contact is asked for in one readback after the other."""
    case = projective_case("sand")
    found = steps_of_more_and_more_rounds(case.scene, case.contact, name, 3, inner=20, device=device, dtype=dtype, before=2)
    assert np.diff(found[:, 2]).tolist() == [1, 1]


@devices
def test_a_round_that_gets_nowhere_is_a_few_waits(device, dtype):
    """If not, the reaches of all vertices are paid for by rounds that do not need them, or with more waits than their lists are long."""
    case = projective_case("thrown ball")
    found = steps_of_more_and_more_rounds(case.scene, case.contact, "Jacobi", 5, inner=5, device=device, dtype=dtype)
    more, slow = np.diff(found[:, 2]), found[1:, 1] >= 2
    assert slow.any()
    assert (more[~slow] == 1).all()
    assert more[slow].max() <= 6
