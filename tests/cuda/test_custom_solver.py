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
    assert {sim._core.backend.counts()[name] for name in ("captures", "launches", "refused")} == {0}
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


def inverse_of(scene):
    """The inverse of the matrix of a global step over the free vertices, as a function of (n, 3), and as one of (3n,)."""
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(), dt=1 / 60)
    inverse = np.linalg.inv(sim.system_matrix(free=True).toarray())
    free = scene.fixed() == 0

    def function(r):
        z = np.zeros_like(r, float)
        z.reshape(len(free), -1)[free] = inverse @ r.reshape(len(free), -1)[free]
        return z

    return function


@pytest.mark.parametrize("name", ["preconditioner", "linear", "newton"])
def test_functions_of_linear_solvers(name, dtype):
    """If not, a function reads memory of the device, or is captured into a graph that calls it once."""
    scene, x = scenes.mixed(damping=0.0)
    function = inverse_of(scene)
    linear = pdgpu.PCG(preconditioner=function, iterations=4)
    solver = {
        "preconditioner": pdgpu.ProjectiveDynamics(iterations=6, linear=linear),
        "linear": pdgpu.ProjectiveDynamics(iterations=6, linear=function),
        "newton": pdgpu.Newton(iterations=3, linear=linear),
    }[name]
    places = []
    for device, precision in (("cpu", "float64"), ("cuda", dtype)):
        sim = pdgpu.Simulation(scene, solver, dt=1 / 60, device=device, dtype=precision)
        sim.set_state(positions=x)
        sim.step(3)  # graphs are made in the second
        places.append(sim.positions)
    assert {sim._core.backend.counts()[name] for name in ("captures", "launches", "refused")} == {0}
    assert np.abs(places[0] - x).max() > 1e-3
    np.testing.assert_allclose(*places, atol=1e-8 if dtype == "float64" else 5e-3)


def test_a_system_is_solved_by_a_function(dtype):
    """If not, the residual of a solve on the device is that of another vector."""
    A = np.diag(np.arange(1.0, 41.0)) + 0.1
    b = np.ones((40, 3))
    solvers = (
        pdgpu.PCG(preconditioner=lambda r: np.linalg.solve(A, r), tolerance=1e-5),
        pdgpu.LinearFunction(function=lambda r: 0.9 * np.linalg.solve(A, r), iterations=8),
    )
    for solver in solvers:
        result = pdgpu.linear.solve(A.astype(dtype), b.astype(dtype), solver, device="cuda")
        np.testing.assert_allclose(A @ result.x, b, atol=1e-4)
