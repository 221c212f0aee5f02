"""Lists of neighbour pairs of vertices that leave their balls: in sheets that a barrier pushes apart, with panels, with embedded points."""

import neighbour_scenes
import numpy as np
import pytest

import pdgpu
from pdgpu import _host

CELLS, LAYERS, RADIUS = 16, 3, 0.25  # m
DISTANCE = 0.2 / CELLS  # m, of activation


def sheets(dtype, **settings):
    """Sheets at half the activation distance of each other fall on a sphere; and all triangles of the scene."""
    flat, scene = pdgpu.shapes.grid((1.0, 1.0), (CELLS, CELLS)), pdgpu.Scene()
    for layer in range(LAYERS):
        c, s = np.cos(0.05 * layer), np.sin(0.05 * layer)
        x, z = flat.points[:, 0] - 0.5, flat.points[:, 1] - 0.5
        points = np.column_stack([c * x + s * z, np.full(len(x), RADIUS + 0.5 * DISTANCE * (layer + 1)), c * z - s * x])
        sheet = pdgpu.Mesh(points, triangles=flat.triangles)
        scene.add_shell(sheet, pdgpu.StVK(1e3, 1e3), density=0.2, bending=1e-5, velocity=(0.0, -0.5, 0.0))
    sphere = pdgpu.shapes.sphere(RADIUS, 2)
    scene.add_obstacle(pdgpu.Mesh(sphere.points, triangles=sphere.triangles))
    contact = pdgpu.BarrierContact(DISTANCE, stiffness=10.0, friction=0.2)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=10), dt=0.01, contact=contact, dtype=dtype, **settings)
    shifts = np.arange(LAYERS) * len(flat.points)
    triangles = np.concatenate([*(flat.triangles + shift for shift in shifts), sphere.triangles + LAYERS * len(flat.points)])
    return sim, sphere.points, triangles


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_vertices_do_not_cause_a_search(dtype):
    """If not, every iteration searches for all pairs again because of a few fast vertices, or the list lacks pairs that act."""
    sim, obstacle, triangles = sheets(dtype)
    sim.step(record="positions")
    record = sim.last_step
    assert record["searches"][-1] <= 4  # six, if every vertex that leaves its ball causes a search
    potential = record["incremental_potential"]  # each from its own search
    assert potential[-1] < 0.5 * potential[0]
    assert np.all(np.diff(potential) <= 1e-6 * potential[0])
    for positions in record.positions:
        assert len(pdgpu.geometry.find_intersections(np.concatenate([positions, obstacle]), triangles)) == 0


def test_bits_do_not_depend_on_threads():
    """If they do, the extended lists have another order of pairs with two threads."""
    runs = []
    for threads in (1, 2):
        sim, *_ = sheets("float32", threads=threads)
        sim.step(2)
        runs.append(sim.positions)
    assert np.array_equal(*runs)


@pytest.mark.skipif(not _host.HAS_GMP, reason="this build has no GMP")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", neighbour_scenes.SCENES)
def test_an_extended_list_has_the_pairs_of_a_new_one(name, dtype):
    """If not, a list without a panel or with a point missing leads the descent to another state than a list made in each iteration."""
    for scene, begin, record in neighbour_scenes.descents(name, 1e-14 if dtype == "float64" else 1e-6, 2e-5, dtype=dtype):
        assert pdgpu.certify([begin, *record.positions[:10]], scene, gap=False).clean  # the other moves are small
