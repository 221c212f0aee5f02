"""Every linear solver as the global step of Projective Dynamics: the answer is the same, the way to it differs."""

import dataclasses

import inputs
import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu import linear

DT = 1 / 30


def inner(rho=0.9, **options):
    return pdgpu.Chebyshev(rho=rho, start=2, **options)


LINEAR = {
    "direct": pdgpu.Direct(),
    "jacobi": pdgpu.Jacobi(),
    "jacobi optimal": pdgpu.Jacobi(weight="optimal", iterations=2),
    "jacobi chebyshev": pdgpu.Jacobi(iterations=8, chebyshev=inner()),
    "jacobi lanczos": pdgpu.Jacobi(iterations=12, chebyshev=inner("lanczos")),
    "a-jacobi 1": pdgpu.AJacobi(order=1),
    "a-jacobi 2": pdgpu.AJacobi(order=2),
    "a-jacobi 3": pdgpu.AJacobi(order=3, iterations=2),
    "a-jacobi 4": pdgpu.AJacobi(order=4, weight=0.5),
    "a-jacobi 2 chebyshev": pdgpu.AJacobi(order=2, iterations=6, chebyshev=inner()),
    "a-jacobi 2 positive": pdgpu.AJacobi(order=2, iterations=6, chebyshev=inner(interval="positive")),
    "composed 2": pdgpu.AJacobi(order=2, variant="composed"),
    "composed 3": pdgpu.AJacobi(order=3, variant="composed", iterations=2),
    "composed 4": pdgpu.AJacobi(order=4, variant="composed", iterations=4, chebyshev=inner("lanczos")),
    "suppressed": pdgpu.AJacobi(order=2, suppression=1e-2, iterations=2),
    "gauss-seidel": pdgpu.GaussSeidel(),
    "gauss-seidel natural": pdgpu.GaussSeidel(order="natural", iterations=3),
    "sgs": pdgpu.SymmetricGaussSeidel(),
    "sgs natural": pdgpu.SymmetricGaussSeidel(order="natural", iterations=2),
    "sgs positive": pdgpu.SymmetricGaussSeidel(iterations=6, chebyshev=inner(interval="positive")),
    "sor": pdgpu.SOR(omega=1.3),
    "sor auto": pdgpu.SOR(iterations=3),
    "sor natural": pdgpu.SOR(omega=1.2, order="natural"),
    "pcg 1": pdgpu.PCG(),
    "pcg 4": pdgpu.PCG(iterations=4),
    "pcg block": pdgpu.PCG(iterations=3, preconditioner="block"),
    "pcg tolerance": pdgpu.PCG(iterations=100, tolerance=0.1),
}
# outer acceleration is sound over these: their iteration is one fixed matrix with real eigenvalues
SOUND = [
    *("direct", "jacobi", "jacobi chebyshev", "a-jacobi 1", "a-jacobi 2", "a-jacobi 3", "a-jacobi 4", "a-jacobi 2 chebyshev"),
    *("composed 2", "composed 3", "composed 4", "suppressed", "sgs", "sgs natural", "sgs positive"),
]


def bar():
    scene, body = scenes.bar(inputs.kuhn_grid(8, 3, 3, 0.1), 4e3, gravity=(0.0, -9.81, 0.0))
    return scene, scenes.stretched_and_twisted(body.points)


def free():
    points, tets = inputs.kuhn_grid(4, 3, 3, 0.1)
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(4e3), density=1000.0)
    return scene, points * [1.3, 0.9, 1.0]


SCENES = {"bar": bar, "cloth": scenes.in_tension, "free body": free}
_answers = {}


def answer(name):
    """x* by Newton in float64, and the scene and the state it starts from; cached."""
    if name not in _answers:
        scene, x = SCENES[name]()
        _answers[name] = scene, x, converged(scene, x, pdgpu.Newton(iterations=60))
    return _answers[name]


def converged(scene, x, solver, **options):
    sim = pdgpu.Simulation(scene, solver, dt=DT, **options)
    sim.set_state(positions=x)
    sim.step()
    held = sim._core.fixed == 1
    np.testing.assert_array_equal(sim.positions[held], x[held].astype(sim.dtype))
    return sim.positions


def distance(name, x):
    _, start, star = answer(name)
    return np.linalg.norm(x - star) / np.linalg.norm(start - star)


@pytest.mark.each_choice
@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("kind", LINEAR)
def test_every_linear_solver_reaches_the_answer_of_newton(kind, name):
    """If not, an inexact global step has moved the fixed point: the method solves another problem."""
    scene, x, _ = answer(name)
    solver = pdgpu.ProjectiveDynamics(iterations=20000, linear=LINEAR[kind], tolerance=1e-9)
    assert distance(name, converged(scene, x, solver)) <= 1e-6


@pytest.mark.each_choice
@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("kind", SOUND)
def test_outer_acceleration_keeps_the_answer(kind, name):
    """If not, acceleration over an inexact global step ends somewhere else, or diverges where the literature says it is sound."""
    scene, x, _ = answer(name)
    for start, relaxation in ((1, 1.0), (10, 0.9)):
        chebyshev = pdgpu.Chebyshev(rho=0.9, start=start, under_relaxation=relaxation)
        solver = pdgpu.ProjectiveDynamics(iterations=20000, linear=LINEAR[kind], chebyshev=chebyshev, tolerance=1e-9)
        assert distance(name, converged(scene, x, solver)) <= 1e-6


@pytest.mark.each_choice
@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("kind", LINEAR)
def test_float32_reaches_its_floor(kind, name):
    """If not, a global step in single precision solves for positions instead of corrections: its floor is eps |x| / (1 - rho)."""
    scene, x, star = answer(name)
    solver = pdgpu.ProjectiveDynamics(iterations=1600, linear=LINEAR[kind])
    found = converged(scene, x, solver, dtype="float32")
    smallest, _ = linear.extreme_eigenvalues(pdgpu.Simulation(scene, dt=DT).system_matrix(free=True))
    floor = 2.0**-24 * np.linalg.norm(star) / smallest / np.linalg.norm(x - star)
    assert distance(name, found.astype(np.float64)) <= floor


@pytest.mark.each_choice
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", LINEAR)
def test_same_bits_for_any_number_of_threads(kind, dtype):
    """If not, a result cannot be reproduced on another machine, or even twice on this one."""
    scene, x = scenes.mixed(damping=0.01)
    points, tets = inputs.kuhn_grid(6, 6, 6, 0.1)
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e5), density=1000.0).pin(points[:, 1] < 1e-9)
    x = np.concatenate([x, points * [1.0, 1.4, 1.0]])
    chebyshev = pdgpu.Chebyshev(rho=0.8, start=1) if kind in SOUND else None
    solver = pdgpu.ProjectiveDynamics(iterations=4, linear=LINEAR[kind], chebyshev=chebyshev)
    runs = []
    for threads in (1, 2, 3):
        sim = pdgpu.Simulation(scene, solver, dtype=dtype, threads=threads)
        sim.set_state(positions=x)
        sim.step(2, record=True)
        runs.append((sim.positions.tobytes(), sim.velocities.tobytes(), sim.last_step["gradient_norm"].tobytes()))
    assert all(run == runs[0] for run in runs[1:])


@pytest.mark.parametrize("tolerance", [0.5, 0.1, 0.01])
def test_inner_tolerance_ends_a_global_step(tolerance):
    """If not, the tolerance of a global step is ignored, or stops one iteration off."""
    scene, x = bar()
    solver = pdgpu.ProjectiveDynamics(iterations=1, linear=pdgpu.Jacobi(weight=0.9, iterations=1000, tolerance=tolerance))
    solver = dataclasses.replace(solver, initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=DT)
    sim.set_state(positions=x)
    A, free = sim.system_matrix(free=True), sim._core.fixed == 0
    r = -sim.gradient()[free]
    d, count = np.zeros_like(r), 0
    while np.linalg.norm(r - A @ d) > tolerance * np.linalg.norm(r):
        d += 0.9 * (r - A @ d) / A.diagonal()[:, None]
        count += 1
    assert 0 < count < 1000
    sim.step()
    np.testing.assert_allclose((sim.positions - x)[free], d, atol=1e-13)
    # without a tolerance and with as many iterations: the same bits
    linear_solver = dataclasses.replace(solver.linear, iterations=count, tolerance=0.0)
    counted = converged(scene, x, dataclasses.replace(solver, linear=linear_solver))
    np.testing.assert_array_equal(counted, sim.positions)


@pytest.mark.parametrize("order", [2, 3])
def test_suppressed_bending_preconditions_and_moves_no_answer(order):
    """If not, leaving bending out of the product changes the cloth instead of the number of iterations."""
    scene, x, _ = answer("cloth")
    found = {}
    for suppression in (None, "bending"):
        solver = pdgpu.AJacobi(order=order, weight=0.6, suppression=suppression)
        iterations = pdgpu.ProjectiveDynamics(iterations=20000, linear=solver, tolerance=1e-9)
        assert distance("cloth", converged(scene, x, iterations)) <= 1e-6
        found[suppression] = converged(scene, x, pdgpu.ProjectiveDynamics(iterations=1, linear=solver))
    # it does leave something out: the first iterate is another one
    assert np.abs(found[None] - found["bending"]).max() > 1e-9


def test_the_biased_form_is_refused():
    """If not, a simulation converges to a cloth of other stiffness, as the printed formula would have it."""
    for suppression in ("bending", 0.01):
        with pytest.raises(ValueError, match="biased"):
            pdgpu.ProjectiveDynamics(linear=pdgpu.AJacobi(order=2, suppression=suppression, biased=True))
