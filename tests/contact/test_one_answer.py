"""Every solver that takes contact finds the minimum that Newton's method finds, and G falls on the way."""

import numpy as np
import pytest
from one_answer import MAY_RISE, PD, SCENES, SOLVERS, answer, away
from scipy.sparse.linalg import splu

import pdgpu


@pytest.mark.parametrize("name", SCENES)
def test_the_answer_is_a_minimum(name):
    """If not, there would be nothing that all solvers must agree on."""
    at, sim = answer(name)
    free = np.flatnonzero(np.repeat(at.scene.fixed() == 0, 3))
    lu = splu(sim.hessian().tocsc()[free][:, free], permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    assert np.array_equal(lu.perm_r, lu.perm_c) and (lu.U.diagonal() > 0.0).all()


def cases():
    """The cloths and the ball take the most iterations: of them every run of the tests sees two solvers by PD and quasi-Newton."""
    for solver in SOLVERS:
        for name in SCENES:
            long = name in ("cloth on sphere", "crossing cloths") and solver not in ("PD by PCG", "quasi-Newton")
            long |= solver == "vertex block descent, Chebyshev" and name != "cube on cube"
            long |= name == "squeezed ball" and solver.startswith("PD by") and solver != "PD by PCG"
            long |= name == "squeezed bunny" and solver != "quasi-Newton"
            yield pytest.param(solver, name, marks=[pytest.mark.stress] if long else [])


@pytest.mark.each_choice
@pytest.mark.parametrize(("solver", "name"), list(cases()))
def test_one_answer(solver, name):
    """If not, a solver leaves out a part of contact, or goes where it may not."""
    make, bar, without = SOLVERS[solver]
    if name in without:
        pytest.skip("SOLVERS says why")
    at, reference = answer(name)
    sim = at.simulation(make(), threads=1)
    sim.step(record=True)
    step = sim.last_step
    error = away(at, reference, sim.positions)
    assert error <= bar, f"{error:.1e} of the size away after {step.iteration} iterations ({step.status})"
    if solver in MAY_RISE:
        return
    potential = step["incremental_potential"]
    assert np.diff(potential).max() <= 1e-12 * np.abs(potential).max()


@pytest.mark.stress
@pytest.mark.parametrize("linear", [pdgpu.Jacobi(iterations=5), pdgpu.AJacobi(order=2, iterations=5), pdgpu.GaussSeidel(iterations=5)])
def test_diagonal_bounds_arrive_late_under_a_heavy_body(linear):
    """If not, it is no matter of patience, as it is documented to be."""
    at, reference = answer("cube on cube")
    sim = at.simulation(PD(iterations=6000, tolerance=1e-6, linear=linear), threads=1)
    sim.step(record="positions")
    error = away(at, reference, sim.last_step.positions)
    print(type(linear).__name__, int(np.flatnonzero(error > 1e-4)[-1]) + 1, "iterations to 1e-4")
    assert error[-1] <= 1e-4


@pytest.mark.parametrize("friction", [0.4, 0.8])
def test_admm_with_friction_does_not_cycle(friction):
    """If it did, G would rise in every second iteration without end: a solve against a barrier may go too far."""
    scene, dt = pdgpu.Scene(), 1 / 200
    mesh = pdgpu.shapes.beam((0.1, 0.1, 0.1), cells=(4, 4, 4))
    lifted = pdgpu.Mesh(mesh.points + [0.0, 0.002, 0.0], tets=mesh.tets)
    scene.add_solid(lifted, pdgpu.ARAP.from_young(1e5, 0.3), density=1000.0, velocity=(0.5, -1.0, 0.0))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    contact = pdgpu.BarrierContact(1e-3, stiffness=1e7, friction=friction)
    fall = pdgpu.Simulation(scene, pdgpu.Newton(iterations=100, tolerance=1e-3), dt=dt, contact=contact, threads=1)
    fall.step(3)
    errors = []
    for solver in (pdgpu.Newton(iterations=100, tolerance=1e-10), pdgpu.ADMM(iterations=200, tolerance=1e-10)):
        sim = pdgpu.Simulation(scene, solver, dt=dt, contact=contact, threads=1)
        sim.set_state(positions=fall.positions, velocities=fall.velocities)
        sim.step(record=True)
        errors.append(sim.positions)
        assert sim.last_step.status == "converged"
    np.testing.assert_allclose(errors[1], errors[0], rtol=0.0, atol=1e-7)
