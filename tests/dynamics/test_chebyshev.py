"""Outer Chebyshev: the sequence of omegas, read off the positions."""

import dataclasses

import inputs
import numpy as np
import pytest
import scenes
import scipy.sparse.linalg

import pdgpu

PRINTED = [
    (0.95, (1.0, 1.8223234624, 1.6982591876, 1.6211915130, 1.5767432518), 1.5240999448),
    (0.9992, (1.0, 1.9968063877, 1.9936331089, 1.9904900078), 1.9230917176),
]


def run(rho, start, gamma, iterations):
    """(iterates, function x -> x^ by one plain iteration A (x^ - x) = -dG/dx) of a stretched and twisted bar."""
    scene, body = scenes.bar(inputs.kuhn_grid(6, 2, 2, 0.2), 1e4)
    chebyshev = pdgpu.Chebyshev(rho=rho, start=start, under_relaxation=gamma)
    solver = pdgpu.ProjectiveDynamics(iterations=iterations, chebyshev=chebyshev, initialization="previous")
    x = scenes.stretched_and_twisted(body.points)
    sim, plain = (pdgpu.Simulation(scene, s, dt=1 / 30) for s in (solver, dataclasses.replace(solver, chebyshev=None)))
    for each in (sim, plain):
        each.set_state(positions=x)
    sim.step(record="positions")
    factor, free = scipy.sparse.linalg.splu(plain.system_matrix(free=True).tocsc()), plain._core.fixed == 0

    def hat(x):
        y = x.copy()
        y[free] -= factor.solve(plain.gradient(x)[free])
        return y

    return sim.last_step.positions, hat


@pytest.mark.parametrize(("rho", "omegas", "limit"), PRINTED)
def test_omegas_of_the_tables(rho, omegas, limit):
    """If not, the sequence starts with another omega or at another iteration, which no convergence plot shows."""
    iterates, hat = run(rho, 1, 1.0, 60)
    found = []
    for k in range(40):
        previous = iterates[max(k - 1, 0)]
        step, full = iterates[k + 1] - previous, hat(iterates[k]) - previous
        found.append(np.sum(step * full) / np.sum(full * full))
        np.testing.assert_allclose(step, found[-1] * full, atol=1e-9 * np.abs(iterates[0]).max())
    np.testing.assert_allclose(found[: len(omegas)], omegas, atol=1e-9)
    if rho < 0.99:
        assert found[-1] == pytest.approx(limit, abs=1e-6)
    assert limit == pytest.approx(2 / (1 + np.sqrt(1 - rho**2)), abs=1e-9)


@pytest.mark.parametrize(("start", "gamma"), [(1, 1.0), (3, 0.9), (10, 0.7), (10, 1.0)])
def test_outer_chebyshev_is_the_printed_update(start, gamma):
    """If not, `start` or `under_relaxation` means something else than x_{k+1} = w (g (x^ - x_k) + x_k - x_{k-1}) + x_{k-1}."""
    rho = 0.95
    iterates, hat = run(rho, start, gamma, 14)
    x, previous, omega = iterates[0], iterates[0], 1.0
    for k in range(14):
        if k == start:
            omega = 2 / (2 - rho**2)
        elif k > start:
            omega = 4 / (4 - rho**2 * omega)
        x, previous = omega * (gamma * (hat(x) - x) + x - previous) + previous, x
        np.testing.assert_allclose(iterates[k + 1], x, atol=1e-11)


def test_inner_chebyshev_starts_anew_in_every_global_step():
    """If not, the extrapolation of one right-hand side is carried over to the next."""
    scene, body = scenes.bar(inputs.kuhn_grid(4, 2, 2, 0.2), 1e4)
    linear = pdgpu.Jacobi(weight=0.6, iterations=4, chebyshev=pdgpu.Chebyshev(rho=0.9, start=2))
    solver = pdgpu.ProjectiveDynamics(iterations=3, linear=linear, initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
    sim.set_state(positions=scenes.stretched_and_twisted(body.points))
    plain = pdgpu.Simulation(scene, solver, dt=1 / 30)
    plain.set_state(positions=sim.positions)
    sim.step(record="positions")
    A, free = plain.system_matrix(free=True), plain._core.fixed == 0
    x = plain.positions
    for k in range(3):
        r = -plain.gradient(x)[free]
        d = previous = np.zeros_like(r)
        omega = 1.0
        for sweep in range(4):
            if sweep >= 2:
                omega = 2 / (2 - 0.81) if sweep == 2 else 4 / (4 - 0.81 * omega)
            d, previous = omega * (d + 0.6 * (r - A @ d) / A.diagonal()[:, None] - previous) + previous, d
        x[free] += d
        np.testing.assert_allclose(sim.last_step.positions[k + 1], x, atol=1e-12)


def test_an_acceleration_that_never_sets_in_is_warned_of(recwarn):
    """If not, somebody measures an acceleration that never took place."""
    scene, x = scenes.mixed()
    ten = pdgpu.Chebyshev(rho=0.9, start=10)
    for solver, name in (
        (pdgpu.ProjectiveDynamics(iterations=10, chebyshev=ten), "ProjectiveDynamics"),
        (pdgpu.VertexBlockDescent(iterations=10, chebyshev=ten), "VertexBlockDescent"),
        (pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(weight=0.6, chebyshev=ten)), "linear=Jacobi"),
    ):
        with pytest.warns(UserWarning, match=f"{name}: the acceleration starts after 10 iterations.*nothing is accelerated") as caught:
            pdgpu.Simulation(scene, solver)
        assert caught[0].filename == __file__
    recwarn.clear()
    pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=11, chebyshev=ten))
    pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(weight=0.6, iterations=11, chebyshev=ten)))
    assert not recwarn
    # and eleven are accelerated: the last of them
    ends = []
    for chebyshev in (None, ten):
        sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=11, chebyshev=chebyshev))
        sim.set_state(positions=x)
        sim.step()
        ends.append(sim.positions)
    assert (ends[0] != ends[1]).any()
