"""Vertex block descent, block Jacobi and gradient descent in contact find the minimum that Newton's method finds, and go down to it."""

import numpy as np
import pytest
from contact_scenes import SCENES

import pdgpu

CHEBYSHEV = pdgpu.Chebyshev(rho=0.95, start=2)
# scene, steps before the one that is solved, solver, settings, iterations that suffice
CASES = [
    ("cube on floor", 1, pdgpu.VertexBlockDescent, {}, 250),
    ("cube on floor", 1, pdgpu.VertexBlockDescent, {"line_search": True}, 250),
    ("cube on floor", 1, pdgpu.VertexBlockDescent, {"chebyshev": CHEBYSHEV}, 100),
    ("cube on floor", 1, pdgpu.BlockJacobi, {}, 700),
    ("cube on floor", 1, pdgpu.GradientDescent, {}, 1000),
    ("crossing cloths", 3, pdgpu.VertexBlockDescent, {}, 2400),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "steps", "kind", "settings", "most"), CASES)
def test_the_answer_is_that_of_newton(name, steps, kind, settings, most):
    """If it failed, two solvers would minimise two different objectives, or one would stop short of the minimum."""
    case = SCENES[name](False)
    newton = case.simulation(iterations=200, tolerance=1e-10)
    newton.step(steps)
    other = case.simulation(method=kind, iterations=most, tolerance=0.0, initialization="inertial_target", **settings)
    other.set_state(positions=newton.positions, velocities=newton.velocities)
    newton.step()
    other.step(record="positions")
    record, size = other.last_step, np.ptp(newton.positions, axis=0).max()
    away = np.linalg.norm(record.positions - newton.positions, axis=2).max(axis=1) / size
    assert len(newton.contact_forces()) > 0
    assert away[-1] < 1e-4, f"{away[-1]:.1e} after {most} iterations"
    print(name, kind.__name__, settings, "needs", int(np.argmax(away < 1e-4)), "iterations to 1e-4 of the scene")
    if kind is pdgpu.VertexBlockDescent and "chebyshev" not in settings:
        potentials = record["incremental_potential"]
        assert (np.diff(potentials) <= 1e-9 * np.abs(potentials[1:])).all()


def test_what_touches_is_not_extrapolated():
    """If it failed, a vertex would be thrown back into what the iteration before had pushed it out of."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_particles([[0.0, 5e-4, 0.0], [1.0, 0.5, 0.0]], mass=1.0)
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    contact = pdgpu.BarrierContact(1e-3, stiffness=1e6)
    moves = {}
    for chebyshev in (None, pdgpu.Chebyshev(rho=0.9, start=1)):
        solver = pdgpu.VertexBlockDescent(iterations=8, chebyshev=chebyshev, initialization="previous")
        sim = pdgpu.Simulation(scene, solver, dt=1e-2, contact=contact)
        sim.step(record="positions")
        moves[chebyshev is None] = np.diff(sim.last_step.positions, axis=0)
    np.testing.assert_array_equal(moves[True][:, 0], moves[False][:, 0])  # what touches
    assert np.abs(moves[False][2:, 1]).max() > 0.0  # what is free is thrown beyond its target, and comes back
    assert not moves[True][2:, 1].any()


def test_an_extrapolation_begins_anew_after_a_move_that_was_cut():
    """If it failed, weights of moves that were never made would throw what is free beyond its target."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_particles([[0.0, 0.02, 0.0], [1.0, 0.5, 0.0]], mass=1.0)
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    solver = pdgpu.ProjectiveDynamics(iterations=12, chebyshev=pdgpu.Chebyshev(rho=0.9, start=1), initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=0.1, contact=pdgpu.BarrierContact(1e-3, stiffness=1e6))
    sim.step(record="positions")
    record, target = sim.last_step, 0.5 - 9.81 * 0.1**2
    away = record.positions[:, 1, 1] - target
    cut = 2 + int(np.argmax(record["step_limit"][2:] < 1.0))  # after the start
    assert record["step_limit"][cut] < 1.0 == record["step_limit"][cut + 1]
    assert away[cut] > 0.01
    assert abs(away[cut + 1]) < 1e-12  # not extrapolated: one move is all of the way
    assert away[cut + 2] < -0.01  # extrapolated again
