"""What pairs of contact by projections push with after a step."""

import numpy as np
import pytest
from contact_scenes import cube
from projective_run import G, dropped, incline

import pdgpu


def test_forces_carry_the_weight():
    """If it failed, the forces would be others than those that the step was solved with."""
    sim = dropped(0.01, height=0.004)
    sim.step(40)
    forces = sim.contact_forces()
    assert len(forces) == 1 and forces.normal_force[0] == pytest.approx(2.0 * G, rel=1e-5)
    assert forces.forces[0] == pytest.approx([0.0, 2.0 * G, 0.0], rel=1e-5) and forces.distance[0] == pytest.approx(sim.positions[0, 1])
    sim.set_state(positions=sim.positions)
    assert len(sim.contact_forces()) == 0


def test_the_hessian_is_that_of_the_gradient():
    """If it failed, `hessian` would have a term of contact, which has none in G between steps."""
    sim = dropped(0.01, height=0.004)
    sim.step(40)
    assert len(sim.contact_forces()) == 1
    x, h = sim.positions.copy(), 1e-6
    moves = h * np.eye(3).reshape(3, 1, 3)
    columns = [(sim.gradient(x + move) - sim.gradient(x - move)).ravel() / (2.0 * h) for move in moves]
    assert np.abs(sim.hessian().toarray() - np.transpose(columns)).max() < 1e-6  # of 2e4 N/m


def test_restitution_leaves_the_forces_of_the_step():
    """If it failed, what restitution freezes for its normals would be reported as a force."""
    found = []
    for restitution in (0.0, 0.5):
        sim = dropped(0.01, height=0.004, restitution=restitution)
        sim.step(40)
        found.append(sim.contact_forces().normal_force[0])
    assert found[1] == pytest.approx(found[0], rel=1e-3)


@pytest.mark.parametrize("friction", [0.1, 0.4])
def test_friction_is_coulombs(friction):
    """If it failed, a pair would hold more than mu times what presses it, or a cube that sticks less than its weight along the plane."""
    sim, normal, down = incline(friction)
    sim.step(30)
    forces, weight = sim.contact_forces(), G * sim.masses.sum()
    sine, cosine = -down[1], normal[1]
    sizes = np.linalg.norm(forces.friction_force, axis=1)
    assert len(forces) >= 9 and (sizes <= forces.friction_limit * (1.0 + 1e-9)).all()
    np.testing.assert_allclose(forces.friction_limit, friction * forces.normal_force)
    assert forces.normal_force.sum() == pytest.approx(weight * cosine, rel=1e-2)
    assert -(forces.friction_force.sum(axis=0) @ down) == pytest.approx(weight * min(friction * cosine, sine), rel=1e-2)
    assert np.abs(forces.friction_force @ normal).max() < 1e-9 * weight
    assert (forces.slip @ down > 0.0).all()
    np.testing.assert_allclose(forces.forces.sum(axis=0), forces.normal_force.sum() * normal + forces.friction_force.sum(axis=0), rtol=1e-9)


def test_what_pushes_is_pushed():
    """If it failed, forces of pairs of two bodies would not add up to nothing."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    for x, speed in ((-0.0515, 1.0), (0.0515, -0.2)):
        mesh = cube(0.1, 2, (x, 0.003 * speed, 0.0))
        scene.add_solid(mesh, pdgpu.ARAP.from_young(young=1e4, poisson=0.4), density=1000.0, velocity=(speed, 0.0, 0.0))
    contact = pdgpu.ProjectiveContact(2e-3, friction=0.3, inner=1000, tolerance=1e-6)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=4000), dt=0.01, contact=contact)
    sim.step()
    forces = sim.contact_forces()
    assert len(forces) > 0 and (forces.normal_force > 0.0).all()
    assert np.abs(forces.forces.sum(axis=0)).max() < 1e-9 * np.abs(forces.forces).sum()
    gain = sim.masses[:27] @ (sim.velocities[:27, 0] - 1.0)
    assert forces.forces[:27, 0].sum() * 0.01 == pytest.approx(gain, rel=1e-3)
