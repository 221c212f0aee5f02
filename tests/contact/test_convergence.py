"""The measure of convergence in contact: a status of "converged" must not depend on how far the first guess pressed into a barrier."""

import warnings

import numpy as np
import pytest
from scripted_shapes import block, slab

import pdgpu

GRAVITY = 9.81


def sliding(solver, dtype="float64"):
    """A soft block on a slope of 35 degrees with friction 0.5: two triangles whose area makes their pairs stiff."""
    angle = np.radians(35.0)
    scene = pdgpu.Scene(gravity=GRAVITY * np.array([np.sin(angle), -np.cos(angle), 0.0]))
    scene.add_solid(block((0.1, 0.04, 0.1), (2, 2, 2), (0.0, 0.021, 0.0)), pdgpu.ARAP.from_young(1e5, 0.3), density=1000, damping=1e-2)
    scene.add_obstacle(slab((8.0, 0.1, 1.0), (0.0, -0.05, 0.0)))
    contact = pdgpu.BarrierContact(1e-3, stiffness=1e5, friction=0.5)
    return pdgpu.Simulation(scene, solver, dt=0.01, contact=contact, dtype=dtype, threads=1)


def speed(sim):
    return np.average(sim.velocities[:, 0], weights=sim.masses)


SLIDES = {
    "Newton, 1e-3": pdgpu.Newton(iterations=100, tolerance=1e-3),
    "Newton, 1e-5": pdgpu.Newton(iterations=100, tolerance=1e-5),
    "Newton, step": pdgpu.Newton(iterations=100, step_tolerance=1e-3),
    "L-BFGS, 1e-3": pdgpu.QuasiNewton(iterations=300, tolerance=1e-3),
    "VBD, 1e-3": pdgpu.VertexBlockDescent(iterations=400, tolerance=1e-3),
    "VBD, 1e-5": pdgpu.VertexBlockDescent(iterations=400, tolerance=1e-5),
}


@pytest.mark.parametrize("name", SLIDES)
def test_a_block_slides_at_its_speed_whatever_the_tolerance(name):
    """If it failed, steps would end while contact still holds the block back, and say that they had converged."""
    sim = sliding(SLIDES[name])
    for _ in range(50):
        sim.step()
        assert sim.last_step.status == "converged"
    # g (sin a - mu cos a) t, with and without the friction of the first step, which no contact precedes
    right = GRAVITY * (np.sin(np.radians(35)) - 0.5 * np.cos(np.radians(35))) * 0.5
    first = 0.5 * GRAVITY * np.cos(np.radians(35)) * 0.01
    assert 0.98 * right < speed(sim) < 1.02 * (right + first), speed(sim)


def test_a_step_tolerance_ignores_what_a_limit_has_cut():
    """If it failed, a step that a line search or the time of impact shortened to nothing would count as the answer."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(block((0.1, 0.1, 0.1), (1, 1, 1), (0.0, 0.051, 0.0)), pdgpu.ARAP(1e4), density=1000, velocity=(0.0, -3.0, 0.0))
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    found = []
    for settings in ({"step_tolerance": 0.1}, {"tolerance": 1e-10}):
        solver = pdgpu.Newton(iterations=100, initialization="previous", **settings)
        sim = pdgpu.Simulation(scene, solver, dt=0.01, contact=pdgpu.BarrierContact(1e-3, stiffness=1e3))
        sim.step()
        assert sim.last_step.status == "converged"
        found.append(sim.positions)
    assert np.abs(found[0] - found[1]).max() < 0.1 * 0.01


def test_contact_forces_that_do_not_carry_a_body_are_said():
    """If it failed, a plot of forces would show the weight of something that is still being pressed down."""
    sim = sliding(pdgpu.BlockJacobi(iterations=4))
    sim.step(3)
    with pytest.warns(RuntimeWarning, match=r"contact_forces: .*iteration_cap.*'solid0' has \(.*\) N and needs \("):
        sim.contact_forces()
    sim.set_state(velocities=np.zeros_like(sim.velocities))  # no step has ended in this state
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim.contact_forces()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_contact_forces_that_carry_a_body_are_not_warned_of(dtype):
    """If it failed, everybody would learn to ignore the warning."""
    sim = sliding(pdgpu.Newton(iterations=60, tolerance=1e-5 if dtype == "float64" else 1e-3), dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(10):
            sim.step()
            sim.energies()  # asks of the next step, which has another start
            sim.contact_forces()


def test_the_balance_counts_damping_pins_and_joints():
    """If it failed, a held or damped body would be reported as out of balance, or never."""
    scene = pdgpu.Scene()
    beam = scene.add_solid(
        block((0.4, 0.05, 0.05), (3, 3, 3), (0.0, 0.03, 0.0)), pdgpu.NeoHookean.from_young(2e5, 0.3), density=1000, damping=0.05
    )
    beam.pin(lambda p: p[:, 0] < -0.199)
    cube = scene.add_rigid(slab((0.1, 0.1, 0.1), (0.1, 0.11, 0.0)), density=1000)
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    solver = pdgpu.Newton(iterations=100, tolerance=1e-8)
    sim = pdgpu.Simulation(scene, solver, dt=0.01, contact=pdgpu.BarrierContact(2e-3, friction=0.2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            sim.step()
            found = sim.contact_forces()
    needed = sim._core.backend.unbalanced()
    for body in (beam, cube):
        rows = sim._core.scene.find(body).slice  # of the model
        sum_found, sum_needed = found.forces[body.slice].sum(axis=0), needed[rows].sum(axis=0)
        np.testing.assert_allclose(sum_found, sum_needed, atol=1e-3 * cube.mass * GRAVITY)
    assert np.linalg.norm(needed[rows].sum(axis=0)) > 0.1 * cube.mass * GRAVITY


def test_a_history_warns_of_no_forces():
    """If not, a run of few iterations warns in every step of forces that its history does not have, and names a line of the package."""
    scene = pdgpu.Scene()
    scene.add_solid(block((0.1, 0.1, 0.1), (1, 1, 1), (0.0, 0.052, 0.0)), pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000)
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=1), dt=0.01, contact=pdgpu.BarrierContact(2e-3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        history = sim.run(0.1)
    assert history["contacts"].max() > 0
    with pytest.warns(RuntimeWarning, match="contact_forces: the forces do not balance"):
        sim.contact_forces()
