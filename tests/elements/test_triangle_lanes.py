"""Hessians of StVK triangles in vector lanes against those of single elements, which `pdgpu.elements` computes."""

import inputs
import numpy as np
import pytest

import pdgpu
from pdgpu import elements

STVK, H, DAMPING = pdgpu.StVK(20.0, 30.0), 1 / 50, 0.03


def sheet(damping, dtype):
    """A sheet of 50 triangles, so that the last pack of lanes is not full, in a state with all shapes of triangles."""
    points, triangles = inputs.cloth(5)
    scene = pdgpu.Scene()
    scene.add_shell(pdgpu.Mesh(points, triangles=triangles), STVK, density=2.0, damping=damping)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=H, dtype=dtype)
    x = points.copy()
    rng = np.random.default_rng(7)
    x += 0.4 * np.abs(points[1:] - points[:-1]).max() * rng.normal(size=x.shape)  # stretched and compressed
    x[triangles[0]] = x[triangles[0, 0]]  # a point
    a, b, c = triangles[-1]
    x[c] = 0.25 * x[a] + 0.75 * x[b]  # a line
    return sim, points, triangles, x.astype(dtype)


def assembled(sim, triangles, hessians):
    """The sum of element Hessians [m,9,9] over the vertices."""
    total = np.zeros((3 * len(sim.positions),) * 2)
    for corners, K in zip(triangles, hessians, strict=True):
        rows = (3 * corners[:, None] + np.arange(3)).ravel()
        total[np.ix_(rows, rows)] += K
    return total


@pytest.mark.parametrize("psd", [False, True])
@pytest.mark.parametrize(("dtype", "most"), [("float32", 3e-6), ("float64", 1e-13)])
def test_hessian_is_the_sum_of_those_of_single_triangles(dtype, most, psd):
    """If not, Newton's method on the CPU takes other steps than on a GPU, or diverges at a triangle without area."""
    sim, points, triangles, x = sheet(0.0, dtype)
    expected = assembled(sim, triangles, elements.hessian(STVK, x[triangles].astype(np.float64), points[triangles], psd=psd))
    found = sim.hessian(x, psd=psd).toarray() - np.diag(np.repeat(np.asarray(sim.masses, np.float64) / H**2, 3))
    assert np.abs(found - expected).max() <= most * np.abs(expected).max()


@pytest.mark.parametrize(("dtype", "most"), [("float32", 3e-5), ("float64", 1e-12)])
def test_damping_has_the_projected_hessians_of_single_triangles(dtype, most):
    """If not, damping of cloth is another force, or the Hessian of a damped step misses a part of it."""
    sim, points, triangles, x = sheet(DAMPING, dtype)
    sim.set_state(positions=x)
    K = assembled(sim, triangles, elements.hessian(STVK, x[triangles].astype(np.float64), points[triangles], psd=True))
    move = 1e-2 * np.random.default_rng(8).normal(size=x.shape).astype(dtype)
    without = sheet(0.0, dtype)[0]
    without.set_state(positions=x)
    damping = [np.asarray(s.gradient(x + move), np.float64).ravel() for s in (sim, without)]
    expected = DAMPING / H * K @ ((x + move).astype(np.float64) - x).ravel()
    assert np.abs(damping[0] - damping[1] - expected).max() <= most * max(np.abs(damping[1]).max(), np.abs(expected).max())
    difference = sim.hessian(x, psd=True).toarray() - without.hessian(x, psd=True).toarray()
    assert np.abs(difference - DAMPING / H * K).max() <= most * np.abs(DAMPING / H * K).max()
