"""Meshes whose vertices are put in another order: the same mesh, and faster loops."""

import numpy as np
import pytest

import pdgpu

BEAM = pdgpu.shapes.beam((0.4, 0.1, 0.1), cells=(8, 2, 2))


def shuffled(mesh, seed=0):
    return mesh.reordered(np.random.default_rng(seed).permutation(len(mesh.points)))


def mixed():
    """Tets, a sheet and a rod with groups and numbers of their own."""
    n = len(BEAM.points)
    points = np.concatenate([BEAM.points, [[0.5, 0.0, 0.0], [0.5, 0.1, 0.0], [0.5, 0.0, 0.1]]])
    return pdgpu.Mesh(
        points,
        tets=BEAM.tets,
        triangles=[[n, n + 1, n + 2], [n + 2, n + 1, 4]],
        edges=[[3, n], [0, n + 2]],
        groups={"end": {"points": [0, n + 1], "tets": [5, 9], "triangles": [1], "edges": [0]}},
        cell_data={"young": {"tets": np.arange(len(BEAM.tets)) + 0.5, "edges": [[1, 2], [3, 4]]}},
    )


def places(mesh, kind, rows=slice(None)):
    """The elements as coordinates of their corners, sorted: what a mesh is whatever its numbers are."""
    corners = mesh.points[getattr(mesh, kind)[rows]].reshape(-1, 3 * getattr(mesh, kind).shape[1])
    return corners[np.lexsort(corners.T)]


@pytest.mark.parametrize("new", [shuffled, pdgpu.Mesh.reordered])
def test_elements_groups_and_numbers_go_along(new):
    """If not, a clamp or a stiffness is of another place of the body after the mesh was made faster."""
    old = mixed()
    mesh = new(old)
    assert not np.array_equal(mesh.points, old.points)
    for kind in ("tets", "triangles", "edges"):
        np.testing.assert_array_equal(places(mesh, kind), places(old, kind))
        np.testing.assert_array_equal(
            places(mesh, kind, getattr(mesh.groups["end"], kind)), places(old, kind, getattr(old.groups["end"], kind))
        )
        assert (np.diff(getattr(mesh, kind).min(axis=1)) >= 0).all()
    for vertices in ("points", "vertices"):
        one, other = (m.points[getattr(m.groups["end"], vertices)] for m in (mesh, old))
        np.testing.assert_array_equal(one[np.lexsort(one.T)], other[np.lexsort(other.T)])
    for kind, values in old.cell_data["young"].items():
        found = mesh.cell_data["young"][kind]
        by_place = [np.lexsort(m.points[getattr(m, kind)].reshape(len(values), -1).T) for m in (mesh, old)]
        np.testing.assert_array_equal(found[by_place[0]], values[by_place[1]])


def test_an_order_and_back():
    """If not, results cannot be brought back to the numbers of the file."""
    order = np.random.default_rng(1).permutation(len(BEAM.points))
    mesh = BEAM.reordered(order)
    np.testing.assert_array_equal(mesh.points, BEAM.points[order])
    np.testing.assert_array_equal(mesh.reordered(np.argsort(order)).points, BEAM.points)
    np.testing.assert_array_equal(mesh.curve_order().dtype, np.int32)


def test_the_curve_depends_on_places_alone():
    """If not, one mesh from two files runs at two speeds. Of coordinates whose bits interleave to 0, 1, ..., 63 the order is known."""
    np.testing.assert_array_equal(shuffled(BEAM).reordered().points, BEAM.reordered().points)
    codes = np.arange(64)
    points = np.stack([sum(((codes >> (3 * b + axis)) & 1) << b for b in range(2)) for axis in range(3)], axis=1).astype(float)
    mixture = np.random.default_rng(2).permutation(64)
    mesh = pdgpu.Mesh(points[mixture], edges=[[0, 1]])
    np.testing.assert_array_equal(mixture[mesh.curve_order()], codes)


def test_neighbours_lie_side_by_side():
    """If not, the order does not do what it is for: a neighbour's number differs by a third of all vertices in a shuffled mesh."""
    mesh = pdgpu.shapes.beam((1.0, 1.0, 1.0), cells=(20, 20, 20))
    apart = {
        name: np.median(np.diff(m.unique_edges(), axis=1)) / len(m.points)
        for name, m in (("mixed", shuffled(mesh)), ("curve", shuffled(mesh).reordered()))
    }
    assert apart["mixed"] > 0.2
    assert apart["curve"] < 0.01


@pytest.mark.parametrize("solver", [pdgpu.ProjectiveDynamics(iterations=60), pdgpu.Newton(iterations=20)])
def test_a_step_has_the_same_answer(solver):
    """If not, the faster mesh is another body."""
    found = []
    for mesh in (BEAM, shuffled(BEAM), BEAM.reordered()):
        scene = pdgpu.Scene()
        scene.add_solid(mesh, pdgpu.ARAP(1e5), density=1000.0).pin(lambda x: x[:, 0] < 1e-9)
        simulation = pdgpu.Simulation(scene, solver, dt=0.01, dtype="float64")
        for _ in range(3):
            simulation.step()
        found.append(simulation.positions[np.lexsort(mesh.points.T)])
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found[2], found[0], rtol=0, atol=1e-9)


def test_vertices_in_one_place_and_single_points():
    """If not, a mesh whose points coincide, or whose cube has no size, has no order."""
    mesh = pdgpu.Mesh([[1.0, 2.0, 3.0]] * 3, edges=[[0, 1]])
    np.testing.assert_array_equal(mesh.curve_order(), [0, 1, 2])
    huge = pdgpu.Mesh([[1e300, 0.0, 0.0], [-1e300, 0.0, 0.0], [0.0, 0.0, 0.0]], edges=[[0, 1]])
    np.testing.assert_array_equal(huge.curve_order(), [1, 2, 0])


N = len(BEAM.points)


@pytest.mark.parametrize(
    ("order", "kind", "words"),
    [
        (np.arange(N - 1), ValueError, ["order", str(N)]),
        (np.arange(N).astype(float), TypeError, ["order", "float64"]),
        (np.full(N, 3), ValueError, ["order", "vertex 3", f"{N} times"]),
        (np.arange(N) + 1, ValueError, ["order", f"index {N} at {N - 1}"]),
        (np.arange(N) - 1, ValueError, ["order", "index -1 at 0"]),
        ([[0, 1], [2]], ValueError, ["order"]),
        ("curve", TypeError, ["order"]),
    ],
)
def test_refused(order, kind, words):
    """If not, a wrong order makes a wrong mesh in silence."""
    with pytest.raises(kind) as caught:
        BEAM.reordered(order)
    assert all(word in str(caught.value) for word in words)
