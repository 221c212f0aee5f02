"""How a step ends, and what is left of it when it fails."""

import dataclasses

import inputs
import numpy as np
import pytest
import scenes

import pdgpu

MU = 1e5 / 2.6


def test_stops_when_converged_and_at_rounding():
    """If not, a tolerance is ignored or a finished run goes on."""
    scene, _ = scenes.bar(inputs.B20(), MU)
    x = scenes.stretched_and_twisted(inputs.B20()[0])
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=500, tolerance=1e-3), dt=1 / 30)
    sim.set_state(positions=x)
    sim.step(record=True)
    record = sim.last_step
    norms = record["gradient_norm"]
    assert record.status == "converged" and norms[-1] <= 1e-3 * norms[0] < norms[-2] and not record.at_rounding
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=100), dt=1 / 30)
    sim.set_state(positions=x)
    sim.step()
    assert sim.last_step.status == "converged" and sim.last_step.at_rounding and sim.last_step.iteration < 40
    assert "converged at rounding" in repr(sim.last_step)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("stiffness", [1e2, 1e7])
def test_rounding_is_that_of_the_forces_of_the_scene(stiffness, dtype):
    """If not, full success on a stiff body is called a failure, or a run that has not got there a success."""
    scene = pdgpu.Scene()
    cloth = scene.add_shell(pdgpu.shapes.grid((1.0, 1.0), cells=(8, 8)), pdgpu.Spring(stiffness), density=0.2, bending=1e-4)
    cloth.pin([0, 8])
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=50), dtype=dtype)
    sim.step(record=True)
    last = sim.last_step["gradient_norm"][-1]
    assert sim.last_step.status == "converged" and sim.last_step.at_rounding
    # eps |x| |sum_j |K_ij||, the matrix of Projective Dynamics for K
    A, free = sim.system_matrix(), sim._core.fixed == 0
    rows = np.asarray(abs(A).sum(axis=1)).ravel()[free]
    floor = np.finfo(dtype).eps / 2 * np.abs(sim.positions).max() * np.linalg.norm(rows)
    assert 1e-4 * floor <= last <= floor
    assert floor <= sim._core.backend.gradient_rounding() <= 3 * floor


def test_what_rounding_does_not_explain_is_stalled():
    """If not, a fixed point that is no minimum passes as the answer."""
    scene = pdgpu.Scene()
    scene.add_rod(pdgpu.Mesh([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], edges=[[0, 1]]), pdgpu.Spring(1e3), density=1.0).pin([0])
    sim = pdgpu.Simulation(scene, pdgpu.PBD(iterations=200, relaxation=1.0))  # its constraints hold, the forces do not balance
    sim.step()
    assert sim.last_step.status == "stalled" and not sim.last_step.at_rounding
    assert sim.last_step.iteration < 200


@pytest.mark.parametrize("record", [False, True])
def test_divergence_raises_and_keeps_the_state(record):
    """If not, a diverged step leaves NaN behind, silently."""
    points, tets = inputs.J10()
    scene, _ = scenes.bar((points, tets), 1e7 / 2.6)
    solver = pdgpu.ProjectiveDynamics(iterations=4000, linear=pdgpu.Jacobi(weight=1.9))
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
    x = points * [1.5, 1.0, 1.0]
    sim.set_state(positions=x)
    with pytest.raises(pdgpu.DivergenceError, match="ProjectiveDynamics diverged at iteration") as caught:
        sim.step(record=record)
    error = caught.value
    assert error.solver == solver and 0 < error.iteration <= 4000 and 0 <= error.vertex < len(points)
    assert (len(error.records["iteration"]) > 1) if record else len(error.records) == 0
    assert error.records.status == "diverged"
    np.testing.assert_array_equal(sim.positions, x)
    assert sim.time == 0.0 and not sim.velocities.any()


@pytest.mark.each_choice
@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("solver", scenes.MINIMISERS)
def test_tolerance_is_looked_at_every_few_iterations(solver, every):
    """If not, `check_every` or the tolerance is not what the description of the solver says."""
    bar = inputs.kuhn_grid(10, 2, 2, 0.1)
    scene, _ = scenes.bar(bar, MU)
    x = scenes.stretched_and_twisted(bar[0])
    given = dataclasses.replace(scenes.SOLVERS[solver], iterations=3000, tolerance=0.05, check_every=every)
    found = {}
    for record in (False, True):
        sim = pdgpu.Simulation(scene, given, dt=1 / 30)
        sim.set_state(positions=x)
        sim.step(record=record)
        assert sim.last_step.status == "converged" and sim.last_step.iteration % every == 0
        found[record] = sim.positions
    np.testing.assert_array_equal(found[False], found[True])
    relative = sim.last_step["gradient_norm"] / sim.last_step["gradient_norm"][0]
    assert relative[-1] <= 0.05


@pytest.mark.parametrize("solver", scenes.SOLVERS)
def test_every_iteration_runs_without_a_tolerance(solver):
    """If not, timings of a fixed number of iterations compare different amounts of work."""
    scene, _ = scenes.bar(inputs.kuhn_grid(6, 2, 2, 0.1), MU)
    sim = pdgpu.Simulation(scene, dataclasses.replace(scenes.SOLVERS[solver], iterations=3), dt=1 / 30)
    sim.set_state(positions=scenes.stretched_and_twisted(inputs.kuhn_grid(6, 2, 2, 0.1)[0]))
    sim.step()
    assert sim.last_step.status == "iteration_cap" and sim.last_step.iteration == 3


@pytest.mark.parametrize("solver", scenes.SOLVERS)
@pytest.mark.parametrize("tolerance", [0.0, 1e-3])
def test_a_run_where_nothing_moves_is_at_rounding(solver, tolerance):
    """If not, a finished run burns iterations, or 0 <= tolerance x 0 counts as something else."""
    scene = pdgpu.Scene()
    scene.add_particles([[0.0, 1.0, 0.0]], mass=1.0)
    sim = pdgpu.Simulation(scene, dataclasses.replace(scenes.SOLVERS[solver], iterations=50, tolerance=tolerance))
    for record in (False, True):
        sim.step(record=record)
        assert sim.last_step.status == "converged" and sim.last_step.at_rounding
        assert sim.last_step.iteration <= 1


def test_a_recorded_run_that_ends_higher_than_it_began_diverged():
    """If not, a plot shows a solver that climbs, and calls it finished."""
    points, tets = inputs.J10()
    scene, _ = scenes.bar((points, tets), 1e7 / 2.6)
    solver = pdgpu.ProjectiveDynamics(iterations=15, linear=pdgpu.Jacobi(weight=1.9), initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
    sim.set_state(positions=points * [1.5, 1.0, 1.0])
    with pytest.raises(pdgpu.DivergenceError, match="potential") as caught:
        sim.step(record=True)
    records = caught.value.records
    potential, norms = records["incremental_potential"], records["gradient_norm"]
    assert len(potential) == 16 and potential[-1] > potential[0] and norms.max() <= 1e8 * norms[0]


@pytest.mark.parametrize("solver", scenes.SOLVERS)
@pytest.mark.parametrize("record", [False, True])
def test_numbers_that_overflow_diverge(solver, record):
    """If not, infinity spreads through a scene and the step returns as if it had worked."""
    scene, body = scenes.bar(inputs.kuhn_grid(3, 1, 1, 0.1), MU)
    sim = pdgpu.Simulation(scene, scenes.SOLVERS[solver], dt=1 / 30)
    x = body.points * 1e200
    sim.set_state(positions=x)
    with pytest.raises(pdgpu.DivergenceError) as caught:
        sim.step(record=record)
    assert 0 <= caught.value.vertex < len(x)
    np.testing.assert_array_equal(sim.positions, x)
    # the simulation is usable again
    sim.set_state(positions=body.points)
    sim.step()
    np.testing.assert_allclose(sim.positions, body.points, atol=1e-12)


@pytest.mark.each_choice
@pytest.mark.parametrize("solver", scenes.SOLVERS)
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_float32_at_its_floor_does_not_count_as_diverged(solver, shift):
    """If not, a body that hangs still in single precision raises after a while: its potential changes by rounding only."""
    points, tets = inputs.kuhn_grid(6, 3, 3, 0.05)
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points + [shift, 0.0, 0.0], tets=tets), pdgpu.ARAP(1e6), density=1000.0).pin(points[:, 0] < 1e-9)
    sim = pdgpu.Simulation(scene, scenes.SOLVERS[solver], dt=1 / 30, dtype="float32")
    for _ in range(30):
        sim.step(record=True)
