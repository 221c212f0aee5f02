"""Projective Dynamics in one step: iterations to a relative gradient norm, against those of an independent program.

A bar (or a bunny) clamped at 5 % of its length, stretched 1.5 times and twisted by 1 rad, gravity along -y; a cloth that swings about two
corners of one edge. The first guess is the inertial target. Counts are first crossings of 1e-1, 1e-2, 1e-3 and 1e-4, and may differ by
a tenth or by 3: they were measured on these inputs only. None stands for a count that takes too long to check.
"""

import functools

import inputs
import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu import linear

pytestmark = pytest.mark.slow

LEVELS = (1e-1, 1e-2, 1e-3, 1e-4)


@functools.cache
def mesh_of(name):
    if name == "bunny":
        mesh = pdgpu.read_mesh(inputs.data_file("tet/ipc_bunny.msh"))
        return inputs.normalised(mesh.points), mesh.tets
    return getattr(inputs, name)()


def swing(stiffness):
    """A cloth of 41 x 41 vertices that hangs from two corners of one edge, flat."""
    points, triangles = inputs.cloth(40)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    body = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(stiffness), density=0.2)
    body.pin([0, 40])
    return scene


@functools.cache
def swung(stiffness):
    """Positions and velocities after 15 frames of 60 iterations."""
    sim = pdgpu.Simulation(swing(stiffness), pdgpu.ProjectiveDynamics(iterations=60), dt=1 / 30)
    sim.step(15)
    return {"positions": sim.positions, "velocities": sim.velocities}


def simulation(mesh, stiffness, dt, solver):
    if mesh == "cloth40":
        sim = pdgpu.Simulation(swing(stiffness), solver, dt=dt)
        sim.set_state(**swung(stiffness))
        return sim
    scene, body = scenes.bar(mesh_of(mesh), stiffness / 2.6, gravity=(0.0, -9.81, 0.0))
    sim = pdgpu.Simulation(scene, solver, dt=dt)
    sim.set_state(positions=scenes.stretched_and_twisted(body.points))
    return sim


@functools.cache
def gradient_norms(mesh, stiffness, dt, weight, rho, iterations, start=10):
    """Gradient norms of one step, over the first. weight None: a direct global step, else one Jacobi iteration."""
    chebyshev = None if rho is None else pdgpu.Chebyshev(rho=rho, start=start)
    chosen = pdgpu.Direct() if weight is None else pdgpu.Jacobi(weight=weight)
    sim = simulation(mesh, stiffness, dt, pdgpu.ProjectiveDynamics(iterations=iterations, linear=chosen, chebyshev=chebyshev))
    sim.step(record=True)
    norms = sim.last_step["gradient_norm"]
    return norms / norms[0]


def crossings(norms, count=4):
    return [int(np.argmax(norms <= level)) if (norms <= level).any() else None for level in LEVELS[:count]]


def assert_counts(norms, expected):
    found = crossings(norms, len(expected))
    for ours, theirs in zip(found, expected, strict=True):
        assert theirs is None or (ours is not None and abs(ours - theirs) <= max(3, 0.1 * theirs)), (found, expected)


def enough(counts):
    return int(1.1 * max(count for count in counts if count)) + 4


DIRECT = [
    ("B20", 1e5, 1 / 30, None, (2, 20, 53, 87)),
    ("B20", 1e5, 1 / 30, 0.933, (2, 13, 20, 26)),
    ("B20", 1e6, 1 / 30, None, (2, 89, 262, 436)),
    ("B20", 1e6, 1 / 30, 0.986, (2, 21, 36, 51)),
    ("B20", 1e6, 0.01, None, (1, 19, 49, 80)),
    ("B20", 1e6, 0.01, 0.927, (1, 13, 19, 25)),
    ("B20J", 1e6, 1 / 30, None, (2, 64, 232, 401)),
    ("B20J", 1e6, 1 / 30, 0.986, (2, 19, 33, 49)),
    ("bunny", 1e5, 1 / 30, None, (3, 11, 36, 126)),
    ("bunny", 1e5, 1 / 30, 0.98, (3, 11, 24, 36)),
    ("bunny", 1e6, 1 / 30, None, (3, 19, 86)),
    ("bunny", 1e6, 1 / 30, 0.98, (3, 16, 29, 49)),
    ("cloth40", 1e2, 1 / 30, None, (2, 67)),
    ("cloth40", 1e2, 1 / 30, 0.98, (2, 22)),
    ("cloth40", 1e2, 1 / 30, 0.995, (None, None, 308)),
    ("cloth40", 1e3, 1 / 30, None, (3, 21)),
    ("cloth40", 1e3, 1 / 30, 0.9, (3, 14)),
    ("cloth40", 1e3, 1 / 30, 0.9956, (3, 24, 157)),
]


@pytest.mark.parametrize(("mesh", "stiffness", "dt", "rho", "counts"), DIRECT)
def test_direct(mesh, stiffness, dt, rho, counts):
    """If not, a local-global iteration, or its acceleration, is another one than the literature's."""
    assert_counts(gradient_norms(mesh, stiffness, dt, None, rho, enough(counts)), counts)


# without acceleration, and the ratio of two successive norms at the iterations 50, 100, 400 and 1000
PLAIN = [
    ("B20", 1e5, 1 / 30, 1.0, 1000, (189, 577, 968), (0.9905, 0.9928, 0.99413, 0.99413)),
    ("B20", 1e6, 1 / 30, 1.0, 1000, (721,), (0.9948, 0.9971, 0.99848, 0.99849)),
    ("B20", 1e6, 0.01, 1.0, 1000, (178, 533, 892), (0.9900, 0.9923, 0.99359, 0.99360)),
    ("B20J", 1e6, 1 / 30, 1.0, 1000, (526,), (0.9946, 0.9968, 0.99850, 0.99852)),
    ("bunny", 1e5, 1 / 30, 0.6, 400, (347,), ()),
    pytest.param("bunny", 1e6, 1 / 30, 0.6, 620, (587,), (), marks=pytest.mark.stress),
    ("cloth40", 1e2, 1 / 30, 1.0, 400, (160,), (0.9888, 0.9942, 0.9988)),
    ("cloth40", 1e3, 1 / 30, 1.0, 400, (85,), (0.9925, 0.9958, 0.9985)),
]


@pytest.mark.parametrize(("mesh", "stiffness", "dt", "weight", "iterations", "counts", "ratios"), PLAIN)
def test_one_jacobi_iteration_per_global_step(mesh, stiffness, dt, weight, iterations, counts, ratios):
    """If not, the cheap global step converges at another rate, or the ratio that rho is estimated from is another one."""
    norms = gradient_norms(mesh, stiffness, dt, weight, None, iterations)
    assert_counts(norms, counts)
    for k, ratio in zip((50, 100, 400, 1000), ratios, strict=False):
        assert norms[k] / norms[k - 1] == pytest.approx(ratio, abs=2e-4)


def test_the_nonlinear_rate_tends_to_the_linear_one():
    """If not, a rho taken from the matrix is no rho for the iteration that is accelerated."""
    norms = gradient_norms("B20", 1e5, 1 / 30, 1.0, None, 1000)
    A = simulation("B20", 1e5, 1 / 30, pdgpu.ProjectiveDynamics()).system_matrix(free=True)
    radius = linear.spectral_radius(A, pdgpu.Jacobi(weight=1.0))
    assert radius == pytest.approx(0.994126, abs=1e-6)
    assert norms[1000] / norms[999] == pytest.approx(radius, abs=1e-5)


ACCELERATED = [
    ("B20", 1e5, 1 / 30, 1.0, 0.997, (34, 63, 96, 121)),
    ("B20", 1e6, 1 / 30, 1.0, 0.999, (43, 111, 154, 210)),
    ("B20", 1e6, 0.01, 1.0, 0.997, (35, 63, 95, 122)),
    ("B20J", 1e6, 1 / 30, 1.0, 0.999, (43, 105, 153, 206)),
    ("B20", 1e5, 1 / 30, 0.7, 0.997, (36, 68, 96, 126)),  # a weight below the best one costs little
    ("bunny", 1e5, 1 / 30, 0.6, 0.997, (39, 89, 201, 376)),
    ("bunny", 1e6, 1 / 30, 0.6, 0.997, (48,)),
    pytest.param("bunny", 1e6, 1 / 30, 0.6, 0.9997, (None, 200, 312, 686), marks=pytest.mark.stress),
    ("cloth40", 1e2, 1 / 30, 1.0, 0.99, (29,)),
    ("cloth40", 1e2, 1 / 30, 1.0, 0.9997, (81, 178, 287, 938)),
    ("cloth40", 1e3, 1 / 30, 1.0, 0.99, (22,)),
    ("cloth40", 1e3, 1 / 30, 1.0, 0.9997, (57, 181, 896)),
]


@pytest.mark.parametrize(("mesh", "stiffness", "dt", "weight", "rho", "counts"), ACCELERATED)
def test_accelerated_jacobi(mesh, stiffness, dt, weight, rho, counts):
    """If not, the solver of Wang 2015, Algorithm 1, the one this package is for, is another one."""
    assert_counts(gradient_norms(mesh, stiffness, dt, weight, rho, enough(counts)), counts)


def test_rho_follows_the_weight():
    """If not, rho is not that of the weighted iteration, 1 - weight (1 - rho), and a damped solver is tuned wrongly."""
    for weight in (1.0, 0.7):
        A = simulation("B20", 1e5, 1 / 30, pdgpu.ProjectiveDynamics()).system_matrix(free=True)
        radius = linear.spectral_radius(A, pdgpu.Jacobi(weight=weight))
        assert 1.0 - radius == pytest.approx(weight * (1.0 - 0.994126), rel=1e-3)
        # the best rho of weight 1, 0.997, has half the gap 1 - radius; the same share is as good for the other weight
        norms = gradient_norms("B20", 1e5, 1 / 30, weight, 1.0 - 0.51 * (1.0 - radius), 150)
        assert all(ours <= 1.2 * best + 3 for ours, best in zip(crossings(norms), (34, 63, 96, 121), strict=True))


def test_a_delayed_start_helps_at_first_and_hardly_later():
    """If not, the delay S counts from another iteration, or does not delay."""
    found = {start: crossings(gradient_norms("B20", 1e6, 1 / 30, 1.0, 0.999, 200, start), 3) for start in (1, 10, 30)}
    for start, third in ((1, 169), (10, 154), (30, 167)):
        assert abs(found[start][2] - third) <= 0.1 * third
    for start in (1, 30):
        assert 0.55 * found[start][0] <= found[10][0] <= 0.8 * found[start][0]
        assert found[10][2] >= 0.9 * found[start][2] - 3


def test_too_large_a_rho_is_slow_and_does_not_diverge():
    """If not, a guess of rho that is too large costs the run instead of time."""
    slow = crossings(gradient_norms("B20", 1e5, 1 / 30, 1.0, 0.99997, 600), 2)
    best = crossings(gradient_norms("B20", 1e5, 1 / 30, 1.0, 0.997, enough((34, 63, 96, 121))), 2)
    assert all(4 * b <= s <= 10 * b for s, b in zip(slow, best, strict=True))


@pytest.mark.filterwarnings("ignore:Jacobi")
@pytest.mark.parametrize(
    ("stiffness", "weight", "rho", "first", "last"),
    [
        (1e5, 1.0, None, 60, 80),
        (1e6, 1.0, None, 55, 75),
        (1e6, 0.9, 0.999, 11, 60),
        (1e5, 0.8, 0.999, 50, 60),
        (1e6, 0.8, 0.999, 50, 60),
    ],
)
def test_a_weight_beyond_the_limit_diverges(stiffness, weight, rho, first, last):
    """If not, divergence ends in NaN, or its first iteration is not named: the limit of this bunny is 0.7257."""
    chebyshev = None if rho is None else pdgpu.Chebyshev(rho=rho)
    solver = pdgpu.ProjectiveDynamics(iterations=120, linear=pdgpu.Jacobi(weight=weight), chebyshev=chebyshev)
    sim = simulation("bunny", stiffness, 1 / 30, solver)
    with pytest.raises(pdgpu.DivergenceError) as caught:
        sim.step(record=True)
    error = caught.value
    assert first <= error.iteration <= last and 0 <= error.vertex < len(sim.masses)
    assert len(error.records["gradient_norm"]) == error.iteration + 1


@pytest.mark.filterwarnings("ignore:Jacobi")
def test_a_little_beyond_the_limit_the_plain_iteration_survives():
    """If not, the nonlinear iteration is no longer milder than the linear one: its Hessian is at most the matrix."""
    norms = gradient_norms("bunny", 1e6, 1 / 30, 0.9, None, 250)
    assert norms[249] == pytest.approx(0.4, rel=0.1)
    norms = gradient_norms("bunny", 1e6, 1 / 30, 0.8, None, 150)
    assert norms[150] < norms[75] < norms[35]


@pytest.mark.parametrize("weight", [pytest.param(0.6, marks=pytest.mark.stress), 0.7])
def test_a_weight_within_the_limit_converges_with_and_without_chebyshev(weight):
    """If not, the advice of `mesh.quality()` is worth nothing."""
    norms = gradient_norms("bunny", 1e6, 1 / 30, weight, None, 150)
    assert norms[150] < norms[75] < norms[35]
    norms = gradient_norms("bunny", 1e6, 1 / 30, weight, 0.999, 250)
    assert norms[240:].max() < 1e-2
