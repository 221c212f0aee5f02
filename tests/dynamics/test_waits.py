"""What an iteration asks of the host: on a GPU every wait costs more than a kernel, and memory is made before the first step."""

import dataclasses

import inputs
import numpy as np
import pytest
import scenes

import pdgpu


def counts_of(sim, steps=1):
    before = sim._core.backend.counts()
    sim.step(steps)
    after = sim._core.backend.counts()
    return {name: after[name] - before[name] for name in after}


def simulation(solver, **options):
    scene, x = scenes.mixed(damping=0.01)
    sim = pdgpu.Simulation(scene, dataclasses.replace(solver, **options))
    sim.step()  # the first of eight steps counts inverted tets, which waits once
    sim.set_state(positions=x)
    return sim


@pytest.mark.parametrize("solver", scenes.RESIDENT)
def test_the_host_waits_only_where_it_looks(solver):
    """If not, a loop that should run on the device alone reads something back in every iteration."""
    for iterations, every, looks in ((40, 8, 5), (41, 8, 6), (12, 1, 12), (5, 100, 1)):
        counts = counts_of(simulation(scenes.RESIDENT[solver], iterations=iterations, check_every=every))
        assert counts["waits"] == looks, (iterations, every)
        assert counts["allocations"] == 0


@pytest.mark.parametrize("solver", scenes.SOLVERS)
def test_a_step_allocates_nothing(solver):
    """If not, a long run slows down or ends where memory runs out."""
    sim = simulation(scenes.SOLVERS[solver])
    sim.step()
    assert counts_of(sim, 2)["allocations"] == 0


def test_what_waits_by_its_nature():
    """If not, the waits of these methods are more than their definition asks for."""
    n = 40
    # a factor on the host: the right-hand side goes there and the answer comes back
    assert counts_of(simulation(scenes.DIRECT, iterations=n, check_every=8))["waits"] == 2 * n + n // 8
    # the potential and the slope at the start, after 1, 2, 4 and every 8 iterations and at the end, and the size of the body for what
    # rounding may do
    counts = counts_of(simulation(scenes.BLOCK_JACOBI, iterations=n, check_every=8))
    assert counts["waits"] <= n // 8 + 2 * (n // 8 + 3) + 6


def test_conjugate_gradients_of_newton_wait_once_an_iteration():
    """If not, the host looks at the curvature and again at the residual, which it could do together."""
    scene, _ = scenes.bar(inputs.B20(), 1e5, gravity=(0.0, 0.0, -9.81))
    waits = []
    for inner in (2, 3, 6):
        solver = pdgpu.Newton(iterations=1, linear=pdgpu.PCG(iterations=inner, tolerance=1e-14), line_search=False)
        sim = pdgpu.Simulation(scene, solver)
        waits.append(counts_of(sim)["waits"])
    assert waits[1] - waits[0] == 1 and waits[2] - waits[1] == 3


@pytest.mark.each_choice
@pytest.mark.parametrize("every", [1, 3, 8, 100])
@pytest.mark.parametrize("solver", [*scenes.RESIDENT, "direct", "quasi_newton", "gradient_descent"])
def test_looking_changes_nothing(solver, every):
    """If not, how often a result is read changes the result."""
    solvers = {**scenes.SOLVERS, **scenes.RESIDENT}
    runs = [simulation(solvers[solver], iterations=21, check_every=k) for k in (7, every)]
    for sim, record in zip(runs, (False, True), strict=True):
        sim.step(record=record)
    np.testing.assert_array_equal(*(sim.positions for sim in runs))
    np.testing.assert_array_equal(*(sim.velocities for sim in runs))
