"""Nonlinear conjugate gradients [Wang 2015, Algorithm 2] against the formula, linear PCG and Newton."""

import inputs
import numpy as np
import pytest
import scenes
import scipy.sparse.linalg

import pdgpu

both = pytest.mark.parametrize("preconditioner", ["jacobi", "direct"])


def preconditioned(A, preconditioner):
    if preconditioner == "direct":
        return scipy.sparse.linalg.factorized(A.tocsc())
    return lambda r: r / A.diagonal()[:, None]


def iterates_of(sim, count, preconditioner):
    """The iterates of a step from the present positions, in NumPy."""
    A, free = sim.system_matrix(free=True), sim._core.fixed == 0
    solve = preconditioned(A, preconditioner)
    x, iterates, p, last = sim.positions, [], 0.0, None
    for _ in range(count):
        r = -sim.gradient(x)[free]
        z = solve(r)
        product = np.sum(z * r)
        p = z if last is None else z + product / last * p
        last = product
        x = x.copy()
        x[free] += np.sum(p * r) / np.sum(p * (A @ p)) * p
        iterates.append(x)
    return iterates


@both
def test_it_is_the_formula(preconditioner):
    """If not, it is some other method with that name; the second step would tell a beta kept from the first."""
    scene, x = scenes.mixed(damping=0.01)
    solver = pdgpu.NonlinearCG(iterations=12, preconditioner=preconditioner, initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
    sim.set_state(positions=x)
    for _ in range(2):
        expected = iterates_of(sim, 12, preconditioner)
        sim.step(record="positions")
        np.testing.assert_allclose(sim.last_step.positions[1:], expected, atol=1e-11)


@both
@pytest.mark.parametrize("pose", ["mixed", "stretched", "inverted"])
def test_the_potential_falls_as_much_as_the_bound_says(preconditioner, pose):
    """If not, A is no upper bound along p, and the step may climb: G must fall by s.A s / 2 for the step s."""
    if pose == "mixed":
        scene, x = scenes.mixed(damping=0.01)
    else:
        scene, body = scenes.bar(inputs.B20J(), 1e5, gravity=(0.0, -9.81, 0.0))
        x = scenes.stretched_and_twisted(body.points) if pose == "stretched" else body.points * [-1.0, 1.0, 1.0]
    solver = pdgpu.NonlinearCG(iterations=40, preconditioner=preconditioner, initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
    sim.set_state(positions=x)
    A = sim.system_matrix()
    sim.step(record="positions")
    G = sim.last_step["incremental_potential"]
    for k, s in enumerate(np.diff(sim.last_step.positions, axis=0)):
        assert G[k] - G[k + 1] >= 0.5 * np.sum(s * (A @ s)) * (1 - 1e-9) - 1e-12 * abs(G[k])


def quadratic():
    """Particles and a hinged sheet on attachments: G is quadratic with the Hessian A."""
    points, triangles = inputs.cloth(6)
    scene = pdgpu.Scene()
    shell = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), [], density=0.2, bending=1e-1)
    shell.attach(np.arange(0, 49, 3), points[::3] + [0.0, 0.0, 0.2], stiffness=np.linspace(1.0, 40.0, 17))
    shell.pin([48])
    return scene, points + 0.1 * np.random.default_rng(4).normal(size=points.shape) * (np.arange(49) < 48)[:, None]


@both
def test_on_a_quadratic_potential_it_is_linear_pcg(preconditioner):
    """If not, beta or alpha is wrong: linear conjugate gradients end, with A itself as the preconditioner at once."""
    scene, x = quadratic()
    solver = pdgpu.NonlinearCG(iterations=80, preconditioner=preconditioner, initialization="previous", tolerance=1e-10)
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
    sim.set_state(positions=x)
    A, free = sim.system_matrix(free=True), sim._core.fixed == 0
    b = A @ x[free] - sim.gradient(x)[free]
    sim.step(record="positions")
    # textbook PCG, with a residual of its own recurrence
    solve = preconditioned(A, preconditioner)
    y, r = x[free].copy(), b - A @ x[free]
    z = p = solve(r)
    for iterate in sim.last_step.positions[1:21]:  # further on, rounding has made the two differ
        A_p, r_z = A @ p, np.sum(r * z)
        y, r = y + r_z / np.sum(p * A_p) * p, r - r_z / np.sum(p * A_p) * A_p
        np.testing.assert_allclose(iterate[free], y, atol=1e-9)
        z = solve(r)
        p = z + np.sum(z * r) / r_z * p
    assert sim.last_step.status == "converged"
    assert sim.last_step.iteration == 1 if preconditioner == "direct" else sim.last_step.iteration < 60
    np.testing.assert_allclose(sim.positions[free], scipy.sparse.linalg.spsolve(A.tocsc(), b), atol=1e-8)


@both
@pytest.mark.parametrize("case", ["bar", "cloth"])
def test_it_reaches_the_answer_of_newton(preconditioner, case):
    """If not, it stops at something that is no minimum of the potential."""
    if case == "bar":
        scene, body = scenes.bar(inputs.B20(), 1e5 / 2.6)
        x = scenes.stretched_and_twisted(body.points)
    else:
        points, triangles = inputs.cloth(10)
        scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
        shell = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(100.0), density=0.2, bending=1e-3)
        shell.pin((points[:, :2] == 0.0).any(axis=1) | (points[:, :2] > 1 - 1e-9).any(axis=1))
        x = points * 1.05
    answers = []
    for solver in (
        pdgpu.Newton(iterations=60, initialization="previous"),
        pdgpu.NonlinearCG(iterations=3000, preconditioner=preconditioner, tolerance=1e-9, initialization="previous"),
    ):
        sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
        sim.set_state(positions=x)
        sim.step()
        answers.append(sim.positions)
    assert sim.last_step.status == "converged"
    assert np.linalg.norm(answers[1] - answers[0]) <= 1e-6 * np.linalg.norm(answers[0] - x)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"preconditioner": "ilu"}, ValueError, "preconditioner.*'ilu'"),
        ({"preconditioner": None}, (TypeError, ValueError), "preconditioner"),
        ({"iterations": 0}, ValueError, "iterations.*0"),
        ({"initialization": "zero"}, ValueError, "initialization.*zero"),
        ({"linear": pdgpu.Direct()}, TypeError, "linear"),
        ({"chebyshev": None}, TypeError, "chebyshev"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, error, words):
    """If not, a slip of the pen is another experiment."""
    with pytest.raises(error, match=words):
        pdgpu.NonlinearCG(**options)
