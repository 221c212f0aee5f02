"""Newton with the last factor as the preconditioner of conjugate gradients, against Newton with a factor in every iteration."""

import itertools

import inputs
import numpy as np
import pytest
import scenes
from resting_contact import resting

import pdgpu

DIRECT = pdgpu.Direct()


def case(name):
    """A scene and where it starts."""
    if name in ("bar", "inverted"):
        scene, body = scenes.bar(inputs.B20(), 1e5 / 2.6)
        return scene, scenes.stretched_and_twisted(body.points) if name == "bar" else body.points * [1.0, 1.0, -0.5]
    if name == "cloth":
        return scenes.in_tension()
    scene, _ = scenes.mixed(damping=0.01)
    return scene, scene.rest_positions() * 1.02


def iterates(linear, **options):
    """Of a step without a line search from a stretched bar: the simulation before it, and its iterates."""
    scene, body = scenes.bar(inputs.B20(), 1e5 / 2.6)
    solver = pdgpu.Newton(iterations=5, linear=linear, line_search=False, initialization="previous", **options)
    before, sim = (pdgpu.Simulation(scene, solver, dt=1 / 30) for _ in range(2))
    for each in (before, sim):
        each.set_state(positions=body.points * [1.2, 1.0, 1.0])
    sim.step(record="positions")
    return before, sim.last_step.positions


def residuals(before, found):
    """|g + H d| / |g| of every move."""
    result = []
    for x, moved in itertools.pairwise(found):
        gradient = before.gradient(x).ravel()
        result.append(np.linalg.norm(gradient + before.hessian(x) @ (moved - x).ravel()) / np.linalg.norm(gradient))
    return np.array(result)


def test_the_forcing_term_is_that_of_eisenstat_and_walker():
    """If not, the inner solves do more than they need, or the outer iteration is slower than with a factor in every iteration."""
    before, found = iterates("auto")
    norms = np.array([np.linalg.norm(before.gradient(x)) for x in found])
    left = residuals(before, found)
    limits = np.clip(0.9 * (norms[1:-1] / norms[:-2]) ** 2, 1e-3, 0.1)
    resolved = norms[1:-1] > 1e-8 * norms[0]
    assert np.all(left[1:][resolved] <= 1.01 * limits[resolved])
    assert 0.01 < left[0] <= 0.101  # by blocks, the loosest
    assert norms[-1] < 1e-6 * norms[0]


def work(name, linear="auto", **options):
    """Rows of factorizations, products and solves of a step."""
    scene, start = case(name)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=30, linear=linear, tolerance=1e-6), **options)
    sim.set_state(positions=start)
    record = sim.step(record=True)
    assert record.status == "converged"
    return np.stack([record[name] for name in ("factorizations", "products", "solves")], axis=1)


def test_a_short_step_needs_no_factor():
    """If not, a step that blocks precondition well pays for factors all the same."""
    assert work("bar", dt=1 / 1000)[-1, 0] == 0
    assert work("bar", DIRECT, dt=1 / 1000)[-1, 0] > 0


def test_a_factor_takes_over_where_blocks_are_slow():
    """If not, conjugate gradients go on where a factorisation is less work, or the factor is not reused."""
    rows = work("bar", dt=None)
    factors, _, solves = np.diff(rows, axis=0).T
    first = int((factors > 0).argmax())
    assert factors[first] > 0
    assert not solves[:first].any()
    after = slice(first + 1, None)
    assert np.any((factors[after] == 0) & (solves[after] > 0))
    assert np.all(solves[after] > 0)  # blocks are not tried again
    assert rows[-1, 0] < work("bar", DIRECT, dt=None)[-1, 0]


@pytest.mark.parametrize("name", ["bar", "cloth", "mixed", "inverted"])
def test_it_reaches_the_answer_of_the_direct_solver(name):
    """If not, it stops at something that is no minimum of the potential."""
    scene, x = case(name)
    comparison = pdgpu.compare(scene, {"auto": pdgpu.Newton(iterations=60, linear="auto")}, start=(x, None))
    assert comparison["auto"].at_rounding and comparison["auto"]["relative_error"][-1] <= 1e-9


def test_float32_follows_float64():
    """If not, the inner solve loses what single precision still has."""
    scene, x = case("bar")
    comparison = pdgpu.compare(scene, {"auto": pdgpu.Newton(iterations=20, linear="auto")}, start=(x, None), dtype="float32")
    assert comparison["auto"]["relative_error"][-1] < 5e-6


@pytest.mark.parametrize("name", ["cloth on sphere", "cube on cube"])
def test_converged_in_contact_means_what_it_means_with_a_factor(name):
    """If not, the status says converged where the direct solver goes on."""
    at = resting(name, 1 / 500)
    norms = []
    for linear in (DIRECT, "auto"):
        sim = at.simulation(pdgpu.Newton(iterations=300, tolerance=1e-6, linear=linear), threads=1)
        sim.step(record=True)
        assert sim.last_step.status == "converged"
        norms.append(sim.last_step["gradient_norm"][[0, -1]])
    assert norms[1][0] == norms[0][0]
    assert norms[1][1] <= 1e-6 * norms[1][0]


def test_a_step_tolerance_has_a_factor_in_every_iteration():
    """If not, a step ends where an inexact direction is short, and not where the full step of Newton's method is."""
    found = [iterates(linear, step_tolerance=1e-12)[1] for linear in ("auto", DIRECT)]
    np.testing.assert_array_equal(*found)


def test_the_bits_are_those_of_any_number_of_threads_and_of_a_resumed_run(tmp_path):
    """If not, a factor outlives its step, and a run that is stopped goes another way."""
    scene, x = case("mixed")
    ends = []
    for threads in (1, 2):
        sim = pdgpu.Simulation(scene, pdgpu.Newton(linear="auto"), dt=1 / 60, threads=threads)
        sim.set_state(positions=x)
        sim.step(2)
        sim.save(tmp_path / "run.npz")
        sim.step(2)
        ends.append(sim.positions)
    resumed = pdgpu.Simulation.load(tmp_path / "run.npz", threads=1)
    resumed.step(2)
    for end in (ends[1], resumed.positions):
        np.testing.assert_array_equal(end, ends[0])


def test_quasistatic():
    """If not, a body at rest under its weight is not found without inertia."""
    scene, body = scenes.bar(inputs.B20J(), 1e5, gravity=(9.81, -1.0, 0.0))
    answers = []
    for linear in (DIRECT, "auto"):
        sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=40, linear=linear), dt=None)
        sim.step()
        answers.append(sim.positions - body.points)
    assert np.linalg.norm(answers[1] - answers[0]) <= 1e-8 * np.linalg.norm(answers[0])


def test_everything_pinned_stalls():
    """If not, a scene in which nothing can move has no factor to solve with."""
    scene = pdgpu.Scene()
    body = scene.add_solid(pdgpu.shapes.beam((1, 1, 1), cells=(1, 1, 1)), pdgpu.ARAP(1e5), density=1000.0)
    body.pin(np.arange(8))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(linear="auto"))
    sim.set_state(positions=body.points * 1.1)
    sim.step()
    assert sim.last_step.at_rounding
    np.testing.assert_array_equal(sim.positions, body.points * 1.1)


def test_a_body_without_any_stiffness_diverges():
    """If not, a step raises what its documentation does not know."""
    sim = pdgpu.Simulation(scenes.powerless(), pdgpu.Newton(linear="auto"), dt=None)
    with pytest.raises(pdgpu.DivergenceError, match="Newton diverged at iteration 1: the projected Hessian"):
        sim.step()


@pytest.mark.parametrize("linear", ["direct", "Auto", ""])
def test_other_names_are_refused(linear):
    """If not, a slip of the keyboard runs another solver."""
    with pytest.raises(TypeError, match=r"linear: Newton takes 'auto' or pdgpu.Direct\(\) or pdgpu.PCG\(\), got"):
        pdgpu.Newton(linear=linear)
