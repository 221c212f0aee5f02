"""The time integrators on CUDA: steps, contact and a continued run."""

import copy

import numpy as np
import pytest
from integrator_cases import SECOND, beam

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]

SOLVERS = {
    "Newton": pdgpu.Newton(iterations=8),
    "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=30),
    "NonlinearCG": pdgpu.NonlinearCG(iterations=30),
}


def on_a_floor(solver, integrator, device, dtype):
    mesh = pdgpu.shapes.beam((0.1, 0.1, 0.1), cells=(2, 2, 2))
    scene = pdgpu.Scene()
    points = mesh.points + [0.0, 0.0, 1.5e-3]
    scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), pdgpu.ARAP(1e4), density=1000.0, velocity=(0.3, 0.0, -0.2), damping=1e-3)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    contact = pdgpu.BarrierContact(2e-3, friction=0.2)
    return pdgpu.Simulation(scene, solver, dt=2e-3, contact=contact, integrator=integrator, device=device, dtype=dtype)


def in_the_air(solver, integrator, device, dtype):
    scene, _ = beam(damping=1e-3)
    scene.bodies[0].slide([19], line=(0.0, 0.0, 1.0))
    if "StVK" not in solver.materials:
        pytest.skip("the solver does not take the material")
    return pdgpu.Simulation(scene, solver, dt=0.01, integrator=integrator, device=device, dtype=dtype)


@pytest.mark.parametrize("make", [in_the_air, on_a_floor])
@pytest.mark.parametrize("integrator", SECOND[:2])
@pytest.mark.parametrize("name", SOLVERS)
def test_steps_are_those_of_the_cpu(name, integrator, make, dtype):
    """If not, the kernels of target, velocity or history differ from the loops of the CPU."""
    sims = [make(SOLVERS[name], integrator, device, dtype) for device in ("cpu", "cuda")]
    for sim in sims:
        sim.step(4)
    close = 1e-9 if dtype == "float64" else 2e-5
    np.testing.assert_allclose(sims[1].positions, sims[0].positions, rtol=0.0, atol=close)
    np.testing.assert_allclose(sims[1].velocities, sims[0].velocities, rtol=0.0, atol=close / 2e-3)
    other = copy.copy(sims[1])
    for sim in (sims[1], other):
        sim.step(2)
    assert np.array_equal(other.positions, sims[1].positions) and np.array_equal(other.velocities, sims[1].velocities)
