"""Undamped Jacobi on a mesh where it diverges: one warning, before the run, that says which weights converge."""

import re
import warnings

import inputs
import pytest
import scenes

import pdgpu
from pdgpu import linear

DT = 1 / 30


def jittered():
    """A bar of jittered tets, pinned at one end. Returns scene, state, system matrix, 2 / the largest eigenvalue of D^-1 A."""
    points, tets = inputs.jitter(inputs.kuhn_grid(6, 3, 3, 0.1)[0], (6, 3, 3), 0.1, 0.35), inputs.kuhn_grid(6, 3, 3, 0.1)[1]
    scene, _ = scenes.bar((points, tets), 1e6)
    A = pdgpu.Simulation(scene, dt=DT).system_matrix(free=True)
    return scene, scenes.stretched_and_twisted(points), A, 2.0 / linear.extreme_eigenvalues(A)[1]


def warnings_of(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = action()
    return [str(each.message) for each in caught], result


SOLVERS = [
    lambda weight: pdgpu.Jacobi(weight=weight, iterations=3),
    lambda weight: pdgpu.AJacobi(order=2, weight=weight, iterations=2),
    lambda weight: pdgpu.Jacobi(weight=weight, iterations=3, chebyshev=pdgpu.Chebyshev(rho=0.9, start=1)),
]


@pytest.mark.parametrize("make", SOLVERS)
def test_a_weight_beyond_the_limit_is_warned_of_once(make):
    """If not, divergence is all that a user hears, or the same warning fills the screen at every step."""
    scene, x, A, limit = jittered()
    weight = 1.2
    assert limit < 1.1

    def check(messages, steps):
        assert len(messages) == 1 and steps == []
        text = messages[0]
        assert type(make(weight)).__name__ in text and f"weight={weight:g}" in text and "diverges" in text
        # the limit that is named comes from a lower bound of the eigenvalue, so it is not below the true one, and near it
        named = float(re.search(r"weights below ([0-9.]+),", text).group(1))
        assert limit * 0.999 <= named <= 1.05 * limit

    messages, sim = warnings_of(lambda: pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=2, linear=make(weight)), dt=DT))
    sim.set_state(positions=x)
    check(messages, warnings_of(lambda: sim.step(3))[0])
    messages, system = warnings_of(lambda: linear.System(A, make(weight), columns=3))
    b = -sim.gradient()[sim._core.fixed == 0]
    check(messages, warnings_of(lambda: (system.solve(b), system.solve(b)))[0])
    check(warnings_of(lambda: linear.solve(A, b, make(weight)))[0], [])
    solvers = {"it": pdgpu.ProjectiveDynamics(iterations=2, linear=make(weight))}
    check(warnings_of(lambda: pdgpu.compare(scene, solvers, dt=DT, start=(x, None)))[0], [])


@pytest.mark.parametrize("make", SOLVERS)
@pytest.mark.parametrize("share", [0.5, 0.99, "auto", "optimal"])
def test_a_weight_below_the_limit_is_not_warned_of(make, share):
    """If not, a warning that is wrong teaches users to ignore the one that is right."""
    scene, x, A, limit = jittered()
    weight = share if isinstance(share, str) else share * limit

    def both():
        sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=2, linear=make(weight)), dt=DT)
        sim.set_state(positions=x)
        sim.step(2)
        linear.solve(A, x[: A.shape[0]], make(weight))

    assert warnings_of(both)[0] == []


def test_springs_allow_more_than_weight_one():
    """If not, cloth, where plain Jacobi converges, is warned of, and over-relaxation is refused: the limit there is about 1.3."""
    scene, _ = scenes.in_tension()
    for weight, count in ((1.0, 0), (1.25, 0), (1.7, 1)):
        solver = pdgpu.ProjectiveDynamics(iterations=2, linear=pdgpu.Jacobi(weight=weight))
        assert len(warnings_of(lambda solver=solver: pdgpu.Simulation(scene, solver, dt=DT))[0]) == count


@pytest.mark.parametrize(
    "solver",
    [pdgpu.ProjectiveDynamics(), pdgpu.Newton(), pdgpu.NonlinearCG(), pdgpu.PBD(), pdgpu.ProjectiveDynamics(linear=pdgpu.GaussSeidel())],
)
def test_solvers_without_a_weight_are_silent(solver):
    """If not, a solver warns of a Jacobi iteration that it does not do."""
    assert warnings_of(lambda: pdgpu.Simulation(jittered()[0], solver, dt=DT))[0] == []
