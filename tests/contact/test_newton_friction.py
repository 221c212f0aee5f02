"""How many iterations Newton's method takes in steps with friction."""

import numpy as np
import pytest

import pdgpu

STEPS, IMPACT = 60, 14  # of 5 ms, and the first in which the cloth touches


def drape(friction, dtype="float64", cells=16, **solver):
    """A cloth falls on a sphere."""
    sheet = pdgpu.shapes.grid((1.0, 1.0), cells=(cells, cells))
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    mesh = pdgpu.Mesh(sheet.points - [0.5, 0.5, -0.33], triangles=sheet.triangles)
    scene.add_shell(mesh, pdgpu.StVK.from_young(100.0, 0.3), density=0.2, bending=1e-5, damping=1e-3)
    scene.add_obstacle(pdgpu.Sphere((0.0, 0.0, 0.0), 0.3))
    contact = pdgpu.BarrierContact(2e-3, friction=friction)
    return pdgpu.Simulation(scene, pdgpu.Newton(iterations=100, **solver), dt=0.005, contact=contact, dtype=dtype, threads=1)


def iterations_until(sim, norm):
    """Of each step in contact, to a gradient norm of `norm`, N."""
    counts = []
    for k in range(STEPS):
        sim.step(record=True)
        norms = sim.last_step["gradient_norm"]
        if k >= IMPACT:
            assert norms.min() <= norm
            counts.append(int(np.argmax(norms <= norm)))
    return np.array(counts)


@pytest.mark.parametrize(("friction", "mean", "most"), [(0.3, 6.8, 11), pytest.param(0.0, 6.4, 10, marks=pytest.mark.stress)])
def test_a_drape_takes_few_iterations(friction, mean, most):
    """If not, each iteration only halves the depth in the barrier, or vertices that slip to and fro hold back all others."""
    counts = iterations_until(drape(friction), 1.5e-3)
    assert counts.mean() <= mean
    assert counts.max() <= most


@pytest.mark.parametrize("steps", [20, 45])
def test_the_answer_does_not_depend_on_the_way(steps):
    """If not, a Hessian that is only an approximation has changed the objective."""
    begun = drape(0.3)
    begun.step(steps)
    sims = [drape(0.3, initialization=guess) for guess in (None, "inertial_target", "previous")]
    for sim in sims:
        sim.set_state(positions=begun.positions, velocities=begun.velocities)
        sim.step(record=True)
        assert sim.last_step["gradient_norm"][-1] < 1e-6
    potentials = [sim.last_step["incremental_potential"][-1] for sim in sims]
    np.testing.assert_allclose(potentials, potentials[0], rtol=1e-9)
    for sim in sims[1:]:
        np.testing.assert_allclose(sim.positions, sims[0].positions, atol=1e-8)


def test_float32_and_threads():
    """If not, the slips of the iterate before are read in another order, or lost in another precision."""
    ends = []
    for threads in (1, 2):
        sim = drape(0.3, "float32", 8)
        sim = pdgpu.Simulation(sim._core.scene, sim.solver, dt=sim.dt, contact=sim.contact, dtype="float32", threads=threads)
        sim.step(30)
        ends.append(sim.positions)
    np.testing.assert_array_equal(*ends)
    exact = drape(0.3, cells=8)
    exact.step(30)
    np.testing.assert_allclose(ends[0], exact.positions, atol=1e-4)
