"""Quasi-Newton [Liu et al. 2017] against the BFGS formula, Projective Dynamics and Newton."""

import inputs
import numpy as np
import pytest
import scenes

import pdgpu


def test_without_history_and_line_search_it_is_projective_dynamics():
    """If not, its matrix or its signs are others than those of the method it starts from."""
    scene, x = scenes.mixed(damping=0.01)
    runs = []
    for solver in (pdgpu.QuasiNewton(iterations=6, history=0, line_search=False), pdgpu.ProjectiveDynamics(iterations=6)):
        sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
        sim.set_state(positions=x)
        sim.step(2)
        runs.append(sim.positions.tobytes())
    assert runs[0] == runs[1]


def bfgs_iterates(sim, count, history):
    """The iterates of a step with unit steps: the inverse of BFGS as a dense matrix, built up again from the pairs that are kept
    [Nocedal and Wright 2006, Eq. 6.17]."""
    A, free = sim.system_matrix(free=True).toarray(), sim._core.fixed == 0
    x, iterates, pairs, last = sim.positions, [], [], None
    for _ in range(count):
        g = sim.gradient(x)[free].ravel()
        if last is not None:
            s, y = x[free].ravel() - last[0], g - last[1]
            if s @ y > 0:
                pairs = (pairs + [(s, y)])[-history:]
        last = x[free].ravel(), g
        B = np.kron(np.linalg.inv(A), np.eye(3))
        for s, y in pairs:
            V = np.eye(len(s)) - np.outer(y, s) / (s @ y)
            B = V.T @ B @ V + np.outer(s, s) / (s @ y)
        x = x.copy()
        x[free] -= (B @ g).reshape(-1, 3)
        iterates.append(x)
    return iterates


@pytest.mark.parametrize("history", [1, 3, 20])
def test_it_is_the_formula(history):
    """If not, it is some other method with that name; the second step would tell pairs kept from the first."""
    scene, x = scenes.mixed(damping=0.01)
    x = scene.rest_positions() * 1.02
    solver = pdgpu.QuasiNewton(iterations=7, history=history, line_search=False, initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
    sim.set_state(positions=x)
    for _ in range(2):
        expected = bfgs_iterates(sim, 7, history)
        sim.step(record="positions")
        np.testing.assert_allclose(sim.last_step.positions[1:], expected, atol=1e-11)


def test_a_pair_without_positive_curvature_is_left_out():
    """If not, B is no longer positive definite, and the next direction climbs: springs crushed to a third have such pairs."""
    points, triangles = inputs.cloth(4)
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(100.0), density=0.2).pin([0])
    x = points / 3 + 0.01 * np.random.default_rng(0).normal(size=points.shape)
    solver = pdgpu.QuasiNewton(iterations=5, history=5, line_search=False, initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
    sim.set_state(positions=x)
    expected = bfgs_iterates(sim, 5, 5)
    gradients = [sim.gradient(at) for at in [x, *expected]]
    curvatures = [np.sum((b - a) * (h - g)) for a, b, g, h in zip([x, *expected], expected, gradients, gradients[1:], strict=False)]
    assert min(curvatures) < 0 < max(curvatures)
    sim.step(record="positions")
    np.testing.assert_allclose(sim.last_step.positions[1:], expected, atol=1e-9)


@pytest.mark.parametrize("history", [0, 5])
@pytest.mark.parametrize("case", ["bar", "cloth"])
def test_it_reaches_the_answer_of_newton(history, case):
    """If not, it stops at something that is no minimum of the potential."""
    if case == "bar":
        scene, body = scenes.bar(inputs.B20(), 1e5 / 2.6)
        x = scenes.stretched_and_twisted(body.points)
    else:
        scene, x = scenes.in_tension()
    solver = pdgpu.QuasiNewton(iterations=500, history=history, tolerance=1e-9)
    comparison = pdgpu.compare(scene, {"quasi-Newton": solver}, start=(x, None))
    assert comparison["quasi-Newton"].status == "converged"
    assert comparison["quasi-Newton"]["relative_error"][-1] <= 1e-6


def test_history_pays():
    """If not, the pairs are not used: with five of them the bar wants less than half the iterations."""
    scene, body = scenes.bar(inputs.B20(), 1e5 / 2.6)
    counts = []
    for history in (0, 5):
        sim = pdgpu.Simulation(scene, pdgpu.QuasiNewton(iterations=500, history=history, tolerance=1e-8), dt=1 / 30)
        sim.set_state(positions=scenes.stretched_and_twisted(body.points))
        sim.step()
        counts.append(sim.last_step.iteration)
    assert counts[1] < 0.5 * counts[0]


@pytest.mark.parametrize("pose", ["mixed", "stretched", "inverted"])
def test_the_potential_falls_in_every_iteration(pose):
    """If not, the line search takes what it should refuse."""
    if pose == "mixed":
        scene, x = scenes.mixed(damping=0.01)
    else:
        scene, body = scenes.bar(inputs.B20J(), 1e5, gravity=(0.0, -9.81, 0.0))
        x = scenes.stretched_and_twisted(body.points) if pose == "stretched" else body.points * [-1.0, 1.0, 1.0]
    sim = pdgpu.Simulation(scene, pdgpu.QuasiNewton(iterations=40, initialization="previous"), dt=1 / 30)
    sim.set_state(positions=x)
    sim.step(record=True)
    G = sim.last_step["incremental_potential"]
    assert (np.diff(G) <= 1e-12 * np.abs(G[:-1])).all() and G[-1] < G[0]


def test_on_a_quadratic_potential_the_first_step_is_the_answer():
    """If not, history or line search spoil what the matrix alone gets right."""
    points, triangles = inputs.cloth(6)
    scene = pdgpu.Scene()
    shell = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), [], density=0.2, bending=1e-1)
    shell.attach(np.arange(0, 49, 3), points[::3] + [0.0, 0.0, 0.2], stiffness=np.linspace(1.0, 40.0, 17))
    sim = pdgpu.Simulation(scene, pdgpu.QuasiNewton(iterations=10, tolerance=1e-9), dt=1 / 30)
    sim.set_state(positions=points + 0.1 * np.random.default_rng(4).normal(size=points.shape))
    sim.step()
    assert sim.last_step.status == "converged" and sim.last_step.iteration == 1
