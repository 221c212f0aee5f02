"""Solvers in Python on a CUDA device: the questions of a step are copies between the host and the device, and nothing is captured."""

import numpy as np
import own_solvers
import pytest
import scenes

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]

OWN = {
    "pd": own_solvers.OwnProjectiveDynamics(iterations=6),
    "quasi-newton": own_solvers.OwnQuasiNewton(iterations=6),
    "newton": own_solvers.OwnNewton(iterations=3),
}


@pytest.mark.parametrize("name", OWN)
def test_it_is_that_of_the_cpu(name, dtype):
    """If not, a step reads memory of the device on the host, or answers before the device has."""
    scene, x = scenes.mixed(damping=0.01)
    runs = []
    for device, precision in (("cpu", "float64"), ("cuda", dtype)):
        sim = pdgpu.Simulation(scene, OWN[name], dt=1 / 60, device=device, dtype=precision)
        sim.set_state(positions=x)
        sim.step(2)
        runs.append(sim.positions)
    assert sim._core.backend.counts()["launches"] == 0
    np.testing.assert_allclose(*runs, atol=1e-10 if dtype == "float64" else 2e-3)


def test_contact(dtype):
    """If not, the moves of a function are not limited on a device."""
    mesh = pdgpu.shapes.beam((0.2, 0.2, 0.2), cells=(1, 1, 1))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP(1e4), density=1000.0)
    scene.add_obstacle(pdgpu.Plane((0.0, mesh.points[:, 1].min() - 0.005, 0.0), (0.0, 1.0, 0.0)))
    contact = pdgpu.BarrierContact(0.01, friction=0.2)
    sim = pdgpu.Simulation(scene, own_solvers.OwnQuasiNewton(iterations=10), dt=1 / 50, contact=contact, device="cuda", dtype=dtype)
    for _ in range(3):
        sim.step(record=True)
        assert sim.last_step["smallest_distance"].min() > 0.0
    assert sim.last_step["active_contacts"][-1] > 0
