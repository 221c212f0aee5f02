"""The time integrators in contact: one answer, no intersection, friction over the whole step, and the rebound of a cube."""

import numpy as np
import pytest
from integrator_cases import EXACT, NAMES, SECOND

import pdgpu

SOLVERS = {
    "PD": pdgpu.ProjectiveDynamics(iterations=3000, tolerance=1e-9),
    "L-BFGS": pdgpu.QuasiNewton(iterations=1000, tolerance=1e-9),
    "nonlinear CG": pdgpu.NonlinearCG(iterations=2000, tolerance=1e-8),
    "VBD": pdgpu.VertexBlockDescent(iterations=1000, tolerance=1e-9),
    "block Jacobi": pdgpu.BlockJacobi(iterations=2000, tolerance=1e-9),
    "ADMM": pdgpu.ADMM(iterations=2000, tolerance=1e-8, weight=2.0),
}
CONTACTS = {
    "barrier": pdgpu.BarrierContact(2e-3, friction=0.2),
    "penalty": pdgpu.PenaltyContact(2e-3, stiffness=2e3, friction=0.2),
}


def thrown(integrator, solver, contact, height=1.5e-3, gravity=9.81, speed=(0.3, 0.0, -0.2), dt=2e-3, young=2e4, **more):
    """A soft cube just above a floor, thrown at it."""
    mesh = pdgpu.shapes.beam((0.1, 0.1, 0.1), cells=(2, 2, 2))
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -gravity))
    material = pdgpu.ARAP(young / 2.6)
    scene.add_solid(pdgpu.Mesh(mesh.points + [0.0, 0.0, height], tets=mesh.tets), material, density=1000.0, velocity=speed, **more)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), name="floor")
    return pdgpu.Simulation(scene, solver, dt=dt, contact=contact, integrator=integrator)


@pytest.mark.parametrize("integrator", SECOND[:2])
@pytest.mark.parametrize("contact", CONTACTS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_minimiser_finds_the_same_steps(solver, contact, integrator):
    """If not, a solver sees another objective than Newton's method where bodies touch."""
    if contact == "penalty" and "PenaltyContact" not in SOLVERS[solver].contacts:
        pytest.skip(f"{solver} takes no penalty")
    exact = thrown(integrator, EXACT, CONTACTS[contact])
    other = thrown(integrator, SOLVERS[solver], CONTACTS[contact])
    touched = 0.0
    for _ in range(3):
        exact.step(record=True)
        other.step()
        touched = max(touched, exact.last_step["active_contacts"][-1])
        np.testing.assert_allclose(other.positions, exact.positions, rtol=0.0, atol=1e-5)
    assert touched > 0.0


@pytest.mark.parametrize("integrator", NAMES)
def test_no_step_ends_in_an_obstacle(integrator):
    """If not, extrapolated targets break the guarantee of the barrier."""
    sim = thrown(integrator, pdgpu.Newton(iterations=30, tolerance=1e-8), pdgpu.BarrierContact(1e-3), speed=(0.0, 0.0, -2.0))
    for _ in range(60):
        sim.step()
        assert sim.positions[:, 2].min() > 0.0


@pytest.mark.parametrize("integrator", NAMES)
def test_friction_brakes_over_the_whole_step(integrator):
    """If not, Coulomb friction has another coefficient under another integrator: the deceleration is mu g."""
    dt, friction = 2e-3, 0.3
    contact = pdgpu.BarrierContact(2e-3, friction=friction)
    sim = thrown(integrator, EXACT, contact, height=1e-3, speed=(0.0, 0.0, 0.0), dt=dt, young=2e5, damping=0.01)
    sim.step(150)  # it settles
    sim.set_state(velocities=sim.velocities + [0.5, 0.0, 0.0])
    sim.step(10)
    speed = np.empty(2)
    for k in range(2):
        speed[k] = sim.masses @ sim.velocities[:, 0] / sim.masses.sum()
        sim.step(40)
    assert np.isclose((speed[0] - speed[1]) / (40 * dt), friction * 9.81, rtol=0.03)


def test_the_rebound_of_a_cube():
    """If not, a method of order 2 damps an impact like implicit Euler: towards small steps all integrators have one rebound."""
    kept = {}
    for integrator in NAMES[:3]:
        for dt in (2e-3, 5e-4):
            sim = thrown(integrator, EXACT, pdgpu.BarrierContact(1e-3), height=3e-3, gravity=0.0, speed=(0.0, 0.0, -0.5), dt=dt, young=1e5)
            sim.step(int(0.07 / dt))
            assert sim.positions[:, 2].min() > 2e-3
            kept[integrator, dt] = sim.masses @ sim.velocities[:, 2] / sim.masses.sum() / 0.5
    for dt in (2e-3, 5e-4):
        assert kept["implicit_euler", dt] < kept["bdf2", dt] < 1.0, kept
    distance = {dt: abs(kept["implicit_euler", dt] - kept["bdf2", dt]) for dt in (2e-3, 5e-4)}
    assert distance[5e-4] < 0.7 * distance[2e-3], kept


@pytest.mark.parametrize("integrator", SECOND)
def test_a_driven_obstacle_and_a_first_step_in_contact(integrator):
    """If not, the first step of a body at rest on a floor begins with a fall: its acceleration there must contain contact."""
    sim = thrown("implicit_euler", EXACT, pdgpu.BarrierContact(2e-3), height=1e-3, speed=(0.0, 0.0, 0.0), young=1e5, damping=0.05)
    sim.step(400)
    assert np.abs(sim.velocities).max() < 1e-4
    other = thrown(integrator, EXACT, pdgpu.BarrierContact(2e-3), height=1e-3, speed=(0.0, 0.0, 0.0), young=1e5, damping=0.05)
    other.set_state(positions=sim.positions, velocities=sim.velocities)
    other.step(5)
    assert np.abs(other.velocities).max() < 1e-3  # m/s; without contact 5 g dt/2 would be 0.05
