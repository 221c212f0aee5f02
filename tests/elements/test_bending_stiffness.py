"""Stiffness of a sheet with Bending and HingeBending over its constant: the factors that their docstrings and docs/limits.md name."""

import numpy as np
import pytest
from scipy.spatial import Delaunay

import pdgpu


def square(n):
    line = np.linspace(0.0, 1.0, n + 1)
    return np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)


def grid(n, alternate=False):
    i, j = (part.ravel() for part in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    a = i * (n + 1) + j
    b, c, d = a + n + 1, a + n + 2, a + 1
    turned = ((i + j) % 2 == 1)[:, None] & alternate
    first = np.where(turned, np.stack([a, b, d], axis=1), np.stack([a, b, c], axis=1))
    return square(n), np.concatenate([first, np.where(turned, np.stack([b, c, d], axis=1), np.stack([a, c, d], axis=1))])


def alternating(n):
    return grid(n, True)


def unstructured(n):
    points = square(n)
    inner = ((points > 1e-9) & (points < 1 - 1e-9)).all(axis=1)
    points[inner] += np.random.default_rng(0).uniform(-0.35, 0.35, size=(inner.sum(), 2)) / n
    triangles = Delaunay(points).simplices
    e, f = points[triangles[:, 1]] - points[triangles[:, 0]], points[triangles[:, 2]] - points[triangles[:, 0]]
    area = e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0]
    triangles[area < 0] = triangles[area < 0, ::-1]
    return points, triangles[np.abs(area) > 1e-12]


def equilateral(n):
    rows = int(2 * n / np.sqrt(3))
    i, j = np.meshgrid(np.arange(n + 1), np.arange(rows + 1))
    points = np.stack([(i + 0.5 * (j % 2)) / n, j * np.sqrt(3) / 2 / n], axis=-1).reshape(-1, 2)
    i, j = (part.ravel() for part in np.meshgrid(np.arange(n), np.arange(rows)))
    a, b, c, d, even = j * (n + 1) + i, j * (n + 1) + i + 1, (j + 1) * (n + 1) + i, (j + 1) * (n + 1) + i + 1, (j % 2 == 0)[:, None]
    first = np.where(even, np.stack([a, b, c], axis=1), np.stack([a, b, d], axis=1))
    return points, np.concatenate([first, np.where(even, np.stack([b, d, c], axis=1), np.stack([a, d, c], axis=1))])


def stiffness(points, triangles, angle, kind=pdgpu.Bending, radius=2.0, constant=0.7):
    """Energy of the sheet rolled up onto a cylinder, over constant/2 kappa^2 area."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    mesh = pdgpu.Mesh(np.column_stack([points, np.zeros(len(points))]), triangles=triangles)
    scene.add_shell(mesh, [pdgpu.Spring(1.0), kind(constant)], density=1.0)
    sim = pdgpu.Simulation(scene, pdgpu.Newton())
    u, v = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]) @ points.T
    sim.set_state(positions=np.stack([radius * np.sin(u / radius), v, radius * (1.0 - np.cos(u / radius))], axis=1))
    a, b, c = (points[triangles[:, k]] for k in range(3))
    area = 0.5 * np.abs((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]).sum()
    return sim.energies()["elastic"][kind.__name__] / (0.5 * constant * area / radius**2)


@pytest.mark.parametrize(
    ("made", "expected"),  # 0, 90, 45, -45 degrees, at 32 cells per side
    [
        (grid, (2.91, 2.91, 8.81, 3.00)),
        (alternating, (2.91, 2.91, 4.45, 4.45)),
        (unstructured, (3.24, 3.20, 4.04, 4.03)),
        (equilateral, (2.95, 2.92, 2.95, 2.95)),
    ],
)
def test_the_constant_is_not_the_flexural_rigidity(made, expected):
    """If not, the factors in the documentation are wrong, or the energy is another one."""
    found = [stiffness(*made(32), np.radians(angle)) for angle in (0, 90, 45, -45)]
    tolerance = 0.05 if made is unstructured else 0.006
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    finer = stiffness(*made(64), 0.0)
    assert finer > 2.9  # refinement does not go to 1


@pytest.mark.each_choice
@pytest.mark.parametrize(
    ("made", "expected"),  # 0, 90, 45, -45 degrees, at 64 cells per side
    [
        (grid, (1.0, 1.0, 3.0, 1.0)),
        (alternating, (1.0, 1.0, 1.5, 1.5)),
        (unstructured, (1.09, 1.09, 1.34, 1.34)),
        (equilateral, (1.0, 1.0, 1.0, 1.0)),
    ],
)
@pytest.mark.parametrize("angle", range(4))
def test_cylinder_with_a_flexural_rigidity(made, expected, angle):
    """If not, HingeBending is not D/2 kappa^2 per area where a hinge method can be, or the documented errors elsewhere are others."""
    found = stiffness(*made(64), np.radians((0, 90, 45, -45)[angle]), pdgpu.HingeBending, radius=10.0)
    assert found == pytest.approx(expected[angle], rel=0.02)


@pytest.mark.parametrize(("made", "expected"), [(grid, 0.56), (alternating, 0.74), (unstructured, 0.80)])
def test_plates_of_other_meshes_are_stiffer(made, expected):
    """If not, the documented deflections over the formula of a simply supported plate are others; tests/dynamics/test_plates.py has the
    mesh that follows it."""
    points, triangles = made(32)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -1.0))
    mesh = pdgpu.Mesh(np.column_stack([points, np.zeros(len(points))]), triangles=triangles)
    edges = ((points < 1e-9) | (points > 1 - 1e-9)).any(axis=1)
    scene.add_shell(mesh, pdgpu.StVK.from_young(10.0, 0.3), density=1e-2, flexural_rigidity=2.0).pin(edges)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=30, tolerance=1e-8), dt=None)
    sim.step()
    down = -sim.positions[np.argmin(np.linalg.norm(points - 0.5, axis=1)), 2]
    assert down / (0.00406235 * 1e-2 / 2.0) == pytest.approx(expected, abs=0.015)
