"""What a collision keeps."""

import numpy as np
import pytest
from contact_scenes import NO_GRAVITY, ball, cube, solid

import pdgpu


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_collision_keeps_the_momentum(dtype):
    """If it failed, two bodies that meet in empty space would drift off together."""
    scene = pdgpu.Scene(NO_GRAVITY)
    solid(scene, ball(0.05, 1, 2, (-0.051, 0.01, 0.0)), 1e5, 1000.0, velocity=(2.0, 0.0, 0.1))
    solid(scene, cube(0.08, 2, (0.041, 0.0, 0.004)), 2e5, 3000.0, velocity=(-1.0, 0.2, 0.0))
    contact = pdgpu.BarrierContact(1e-3, 1e5)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=60, tolerance=1e-6), dt=0.01, contact=contact, dtype=dtype, threads=1)
    masses = sim.masses[:, None].astype(np.float64)
    before, most = (masses * sim.velocities).sum(axis=0), 0
    scale = (masses * np.abs(sim.velocities)).sum()
    for _ in range(6):
        sim.step(record=True)
        most = max(most, int(sim.last_step["active_contacts"][-1]))
        after = (masses * sim.velocities).sum(axis=0)
        assert np.abs(after - before).max() < (1e-4 if dtype == "float32" else 1e-11) * scale
    assert most > 0
    assert np.linalg.norm(sim.velocities - scene.initial_velocities()) > 0.1 * np.linalg.norm(scene.initial_velocities())
