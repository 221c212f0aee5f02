"""Contact by a penalty with a mesh that a script moves."""

import numpy as np
import pytest

import pdgpu

WALL = pdgpu.shapes.box((1.0, 1.0, 0.1))
SPEED = np.array([0.1, -0.05, 0.2])  # m/s


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_lift_carries_what_lies_on_it_and_what_falls_on_it(dtype):
    """With its speed, as deep as a standing one: weight/stiffness below the thickness. If not, a mesh would push with where it was."""
    scene = pdgpu.Scene((0.0, 0.0, -10.0))
    scene.add_particles([[0.4, 0.3, 0.1005], [0.62, 0.55, 0.12]], mass=2.0, name="grains")
    mesh = pdgpu.Mesh(WALL.points, triangles=WALL.triangles)
    scene.add_obstacle(pdgpu.TriangleMesh(mesh, motion=lambda time, rest: rest + SPEED * time), name="lift")
    contact = pdgpu.PenaltyContact(1e-3, stiffness=1e5, detection_interval=1, friction=0.5, friction_velocity=1e-3)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=60), dt=0.01, contact=contact, dtype=dtype)
    sim.step(100)
    exact = dtype == "float64"
    np.testing.assert_allclose(sim.velocities, [SPEED, SPEED], atol=1e-6 if exact else 1e-4)
    np.testing.assert_allclose(sim.positions[:, 2], 0.1 + SPEED[2] * sim.time + 1e-3 - 20.0 / 1e5, rtol=1e-9 if exact else 1e-6)
    np.testing.assert_allclose(sim.contact_forces().normal_force, 20.0, rtol=1e-6 if exact else 1e-3)
