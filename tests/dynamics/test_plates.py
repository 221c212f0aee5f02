"""Shells with a flexural rigidity against the formulas of plates and beams, and the side of a sheet that is bent at rest."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial import Delaunay

import pdgpu

RIGIDITY = 2.0  # J


def equilateral(length, cells, rows):
    """A rectangle of equilateral triangles, cells along x and an even number of rows; halves of triangles make its ends straight."""
    step = length / cells
    even, odd = np.arange(cells + 1) * step, np.concatenate([[0.0], (np.arange(cells) + 0.5) * step, [length]])
    lines = [np.column_stack([x, np.full(len(x), 0.5 * np.sqrt(3.0) * step * k)]) for k in range(rows + 1) for x in [[even, odd][k % 2]]]
    points = np.concatenate(lines)
    triangles = Delaunay(points).simplices
    first, second = points[triangles[:, 1]] - points[triangles[:, 0]], points[triangles[:, 2]] - points[triangles[:, 0]]
    area = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    triangles[area < 0] = triangles[area < 0, ::-1]
    kept = np.abs(area) > 1e-9 * step**2
    return pdgpu.Mesh(np.column_stack([points, np.zeros(len(points))]), triangles=triangles[kept])


def deflected(mesh, pinned, load, material, dtype="float64"):
    """How far down the vertices are at equilibrium, m, under a pressure, N/m^2, that hardly stretches the sheet."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -1.0))
    scene.add_shell(mesh, [pdgpu.StVK.from_young(10.0, 0.3), material], density=load).pin(pinned)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=30, tolerance=1e-8), dt=None, dtype=dtype)
    sim.step()
    assert sim.last_step.status == "converged"
    return -sim.positions[:, 2]


def test_simply_supported_plate_sinks_by_the_formula_of_timoshenko():
    """If not, the constant is not the flexural rigidity: w = 0.00406 q a^4/D in the middle of a square, whatever Poisson's ratio."""
    mesh, load = equilateral(1.0, 24, 28), 1e-2
    side = mesh.points[:, 1].max()  # 1.01 m
    edges = ((mesh.points[:, :2] < 1e-9) | (mesh.points[:, :2] > [1 - 1e-9, side - 1e-9])).any(axis=1)
    down = deflected(mesh, edges, load, pdgpu.HingeBending(RIGIDITY))
    middle = np.argmin(np.linalg.norm(mesh.points[:, :2] - [0.5, 0.5 * side], axis=1))
    assert down[middle] == pytest.approx(0.00406235 * load * side**2 / RIGIDITY, rel=0.02)


@pytest.mark.parametrize("kind", [pdgpu.HingeBending, pdgpu.Bending])
@pytest.mark.parametrize(("rows", "expected", "dtype"), [(70, 1.0, "float64"), (70, 1.0, "float32"), (4, 9.0 / 8.0, "float64")])
def test_cantilever_sinks_by_the_formula_of_a_beam(rows, expected, kind, dtype):
    """If not, a strip bends with another stiffness: w = q L^4/(8 D) where it is wide. Where it is narrow, it is 1/(1 - nu^2) = 9/8 of that,
    with the Poisson's ratio -1/3 of this mesh."""
    cells, load = 30 if rows > 10 else 90, 0.2
    mesh = equilateral(1.0, cells, rows)
    down = deflected(mesh, mesh.points[:, 0] < 1.1 / cells, load, kind(flexural_rigidity=RIGIDITY), dtype)
    length = 1.0 - 0.5 / cells  # the clamp is the middle of the held triangles
    ratio = down[mesh.points[:, 0] == 1.0].mean() / (load * length**4 / (8.0 * RIGIDITY))
    assert ratio == pytest.approx(expected, rel=0.03)


def arch(sign):
    """A sheet that is flat for x < 0 and then bends to a quarter of a cylinder, up (1) or down (-1)."""
    mesh = equilateral(2.0, 20, 4)
    s, y = np.maximum(mesh.points[:, 0] - 0.5, 0.0), mesh.points[:, 1]
    radius = 1.5 / (0.5 * np.pi)
    x = np.minimum(mesh.points[:, 0], 0.5) + radius * np.sin(s / radius)
    return pdgpu.Mesh(np.column_stack([x, y, sign * radius * (1.0 - np.cos(s / radius))]), triangles=mesh.triangles)


def settled(material, sign):
    """How far the sheet ends from its shape at rest and from the mirror image of that, m, after a start in the mirror image."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    rest, mirrored = arch(sign), arch(-sign)
    scene.add_shell(rest, [pdgpu.StVK.from_young(1e3, 0.3), material], density=1.0, damping=0.02).pin(rest.points[:, 0] < 0.4)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=50), dt=0.05)
    sim.set_state(positions=mirrored.points)
    sim.step(140)
    return [np.abs(sim.positions - shape.points).max() for shape in (rest, mirrored)]


@pytest.mark.parametrize("sign", [1, pytest.param(-1, marks=pytest.mark.stress)])
def test_sheet_that_is_bent_at_rest_springs_back_to_its_own_side(sign):
    """If not, the angle at rest has no sign, as with Bending, for which the mirror image is at rest too."""
    assert settled(pdgpu.HingeBending(20.0), sign)[0] < 2e-3
    assert settled(pdgpu.Bending(flexural_rigidity=20.0), sign)[1] < 2e-3


@pytest.mark.parametrize(
    "solver",
    [
        pdgpu.VertexBlockDescent(iterations=300, chebyshev=pdgpu.Chebyshev(rho=0.95)),
        pdgpu.BlockJacobi(iterations=2000, chebyshev=pdgpu.Chebyshev(rho=0.95)),
        pdgpu.GradientDescent(iterations=2000, chebyshev=pdgpu.Chebyshev(rho=0.95)),
        pdgpu.Newton(iterations=60, linear=pdgpu.PCG()),
        pdgpu.ADMM(iterations=200),
        pdgpu.QuasiNewton(iterations=400),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_every_solver_of_hyperelastic_materials_bends_the_sheet_alike(solver):
    """If not, the element is wired into some loops with another formula."""
    mesh = arch(1)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    scene.add_shell(mesh, pdgpu.StVK.from_young(50.0, 0.3), density=0.2, damping=0.01, flexural_rigidity=0.05).pin(mesh.points[:, 0] < 0.4)
    found = []
    for chosen in (pdgpu.Newton(iterations=100), solver):
        sim = pdgpu.Simulation(scene, dataclasses.replace(chosen, initialization="previous", tolerance=1e-10), dt=0.02)
        sim.step()
        found.append(sim.positions)
    assert np.abs(found[0] - mesh.points).max() > 3e-3
    assert np.abs(found[1] - found[0]).max() < 1e-6, sim.last_step
