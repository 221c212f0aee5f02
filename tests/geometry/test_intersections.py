"""The verifier of one frame: every planted intersection, and nothing that is not there."""

import time

import numpy as np
import pytest
from geometry_exact import intersections as brute_force

import pdgpu
from pdgpu import _host
from pdgpu.collision.intersections import VerifierScene, find_intersections

pytestmark = pytest.mark.skipif(not _host.HAS_GMP, reason="this build has no GMP")

TRIANGLE = [[0, 0, 0], [4, 0, 0], [0, 4, 0]]


def found(points, triangles, edges=None, **options):
    result = find_intersections(points, triangles, edges, **options)
    assert len(result) == len(result.edge_triangle) + len(result.edge_edge)
    pairs = {(tuple(result.edges[e].tolist()), t) for e, t in result.edge_triangle.tolist()}
    return pairs | {tuple(map(tuple, result.edges[pair].tolist())) for pair in result.edge_edge.tolist()}


# name: points after TRIANGLE's, triangles, edges, what is found
PLANTED = {
    "edge through face": ([[1, 1, -1], [1, 1, 1]], [[0, 1, 2]], [[3, 4]], {((3, 4), 0)}),
    "edge past the face": ([[3, 3, -1], [3, 3, 1]], [[0, 1, 2]], [[3, 4]], set()),
    "vertex on face": ([[1, 1, 0], [1, 1, 1]], [[0, 1, 2]], [[3, 4]], {((3, 4), 0)}),
    "vertex on side": ([[2, 0, 0], [2, -1, 1]], [[0, 1, 2]], [[3, 4]], {((3, 4), 0)}),
    "vertex on vertex": ([[0, 0, 0], [-1, -1, 1]], [[0, 1, 2]], [[3, 4]], {((3, 4), 0)}),
    "vertex just above": ([[1, 1, 5e-324], [1, 1, 1]], [[0, 1, 2]], [[3, 4]], set()),
    "edge crosses side exactly": ([[2, -1, -1], [2, 1, 1]], [[0, 1, 2]], [[3, 4]], {((3, 4), 0)}),
    "edge in the plane, through": ([[-1, 1, 0], [5, 1, 0]], [[0, 1, 2]], [[3, 4]], {((3, 4), 0)}),
    "edge in the plane, inside": ([[1, 1, 0], [1, 2, 0]], [[0, 1, 2]], [[3, 4]], {((3, 4), 0)}),
    "edge in the plane, outside": ([[3, 3, 0], [5, 1, 0]], [[0, 1, 2]], [[3, 4]], set()),
    "edge along a side": ([[1, 0, 0], [6, 0, 0]], [[0, 1, 2]], [[3, 4]], {((3, 4), 0)}),
    "edge in line with a side": ([[5, 0, 0], [6, 0, 0]], [[0, 1, 2]], [[3, 4]], set()),
    "coplanar overlap": (
        [[1, 1, 0], [6, 1, 0], [1, 6, 0]],
        [[0, 1, 2], [3, 4, 5]],
        None,
        {((1, 2), 1), ((3, 4), 0), ((3, 5), 0)},
    ),
    "coplanar, one in the other": (
        [[1, 1, 0], [2, 1, 0], [1, 2, 0]],
        [[0, 1, 2], [3, 4, 5]],
        None,
        {((3, 4), 0), ((3, 5), 0), ((4, 5), 0)},
    ),
    "shared vertex, apart": ([[-1, 0, 1], [-1, 1, 1]], [[0, 1, 2], [0, 3, 4]], None, set()),
    "shared vertex, edge into the face": ([[1, 1, 0], [-1, 1, 1]], [[0, 1, 2], [0, 3, 4]], None, {((0, 3), 0), ((3, 4), 0)}),
    "shared vertex, edge through the far side": (
        [[4, 4, 0], [-1, 1, 1]],
        [[0, 1, 2], [0, 3, 4]],
        None,
        {((0, 3), 0), ((1, 2), 1)},
    ),
    "shared vertex, piercing": ([[1, 1, 1], [1, 1, -1]], [[0, 1, 2], [0, 3, 4]], None, {((3, 4), 0)}),
    "shared edge, a hinge": ([[0, -4, 1]], [[0, 1, 2], [1, 0, 3]], None, set()),
    "shared edge, flat": ([[0, -4, 0]], [[0, 1, 2], [1, 0, 3]], None, set()),
    "shared edge folded flat": ([[1, 1, 0]], [[0, 1, 2], [1, 0, 3]], None, {((0, 3), 0), ((1, 3), 0)}),
    "shared edge folded flat, crossing": ([[4, 4, 0]], [[0, 1, 2], [1, 0, 3]], None, {((0, 3), 0), ((1, 2), 1)}),
    "the same triangle on other vertices": (TRIANGLE, [[0, 1, 2], [3, 4, 5]], None, None),
    "edges of no triangle cross": ([[9, 0, 0], [9, 2, 2], [9, 2, 0], [9, 0, 2]], [[0, 1, 2]], [[3, 4], [5, 6]], {((3, 4), (5, 6))}),
    "edges of no triangle pass": ([[9, 0, 0], [9, 2, 2], [9.5, 2, 0], [9, 0, 2]], [[0, 1, 2]], [[3, 4], [5, 6]], set()),
    "rod folded onto itself": ([[9, 0, 0], [9, 2, 2], [9, 1, 1]], [[0, 1, 2]], [[3, 4], [4, 5]], {((3, 4), (4, 5))}),
    "straight rod": ([[9, 0, 0], [9, 2, 2], [9, 3, 3]], [[0, 1, 2]], [[3, 4], [4, 5]], set()),
    "rods in line with a gap": ([[9, 0, 0], [9, 1, 1], [9, 2, 2], [9, 3, 3]], [[0, 1, 2]], [[3, 4], [5, 6]], set()),
}


@pytest.mark.parametrize("scale", [1.0, 2.0**-400, 2.0**300])
@pytest.mark.parametrize("name", PLANTED)
def test_planted(name, scale):
    """If it failed, a penetration would be certified as none, or a clean scene refused."""
    points, triangles, edges, expected = PLANTED[name]
    points = np.array(TRIANGLE + points, dtype=float) * scale
    pairs = found(points, triangles, edges)
    if name == "the same triangle on other vertices":
        expected = {(e, t) for t, corners in ((1, [(0, 1), (0, 2), (1, 2)]), (0, [(3, 4), (3, 5), (4, 5)])) for e in corners}
    if scale == 2.0**-400 and name == "vertex just above":
        return  # the height is no double any more
    assert pairs == expected
    # a cyclic change of axes and a mirror image
    assert found(points[:, [1, 2, 0]], triangles, edges) == expected
    assert found(points[:, [1, 0, 2]] * [1, -1, 1], triangles, edges) == expected


def test_offset_of_a_million():
    """If it failed, a scene far from the origin would be verified by rounding errors."""
    spacing = 2.0**-30  # exact beside 1e6
    for height, expected in ((0, 1), (spacing, 0)):
        points = 1e6 + np.array(TRIANGLE + [[1, 1, height], [1, 1, 1]])
        assert len(find_intersections(points, [[0, 1, 2]], [[3, 4]])) == expected


@pytest.mark.parametrize("seed", range(60))
def test_brute_force_on_a_lattice(seed):
    """Small whole coordinates make every degeneracy there is: points on points, zero areas, lines in planes."""
    rng = np.random.default_rng(seed)
    n, size = int(rng.integers(6, 12)), int(rng.integers(2, 5))
    points = rng.integers(0, size, (n, 3)).astype(float)
    triangles = np.array([rng.choice(n, 3, replace=False) for _ in range(rng.integers(0, 8))], dtype=int).reshape(-1, 3)
    rods = np.array([rng.choice(n, 2, replace=False) for _ in range(rng.integers(0, 6))], dtype=int).reshape(-1, 2)
    particles = rng.choice(n, int(rng.integers(0, 3)), replace=False)
    if seed % 3 == 1:  # the same in other directions, where no coordinate is small any more
        points = points @ np.array([[3.0, 5, 7], [-11, 2, 4], [1, 13, -6]]) * 0.1 + 1e3
    if seed % 3 == 2:
        points = np.where(rng.random((n, 3)) < 0.3, np.nextafter(points, 9), points)
    scene = VerifierScene(n, triangles, rods, particles)
    edge_triangle, edge_edge = brute_force(points, scene.triangles, scene.edges, scene.alone)
    result = find_intersections(points, triangles, rods, particles=particles)
    np.testing.assert_array_equal(result.edges, scene.edges)
    assert list(map(tuple, result.edge_triangle.tolist())) == edge_triangle
    assert list(map(tuple, result.edge_edge.tolist())) == edge_edge


def test_nothing_in_clean_scenes():
    """If it failed, clean trajectories would be refused. Each triangle stays in a cell of its own."""
    rng = np.random.default_rng(1)
    for _ in range(1000):
        n = int(rng.integers(2, 20))
        cells = rng.choice(27, n, replace=False)
        corner = np.stack([cells // 9, cells // 3 % 3, cells % 3], axis=1)
        points = corner[:, None] + 0.999 * rng.random((n, 3, 3))
        points = (points @ np.linalg.qr(rng.standard_normal((3, 3)))[0] * 10.0 ** rng.integers(-3, 4)).reshape(-1, 3)
        assert not find_intersections(points, np.arange(3 * n).reshape(n, 3))


def test_clean_surfaces():
    """A closed surface, flat sheets and a folded one meet themselves in shared vertices only."""
    sphere = pdgpu.shapes.sphere(1.0, 3)
    assert not find_intersections(sphere.points, sphere.triangles)
    grid = pdgpu.shapes.grid((1, 1), cells=(20, 20))
    assert not find_intersections(grid.points, grid.triangles)
    box = pdgpu.shapes.box((1, 2, 3))
    assert not find_intersections(box.points, box.triangles)


def test_two_spheres_meet():
    """Every pair found has boxes that touch, and the ring of intersections is there."""
    sphere = pdgpu.shapes.sphere(1.0, 3)
    n = len(sphere.points)
    points = np.concatenate([sphere.points, sphere.points + [1.3, 0.01, 0.02]])
    triangles = np.concatenate([sphere.triangles, sphere.triangles + n])
    result = find_intersections(points, triangles)
    assert len(result.edge_triangle) > 50
    middle = points[result.edges[result.edge_triangle[:, 0]]].mean(axis=1)
    np.testing.assert_allclose(middle[:, 0], 0.65, atol=0.2)
    assert not find_intersections(np.concatenate([sphere.points, sphere.points + [2.01, 0, 0]]), triangles)


def test_flat_triangles_and_duplicate_vertices():
    """A triangle of no area is listed and tested like any other; duplicate vertices make touching neighbours."""
    points = [[0, 0, 0], [2, 0, 0], [1, 0, 0], [1, 0, -1], [1, 0, 1], [5, 5, 5]]
    result = find_intersections(points, [[0, 1, 2]], [[3, 4]])
    assert result.flat_triangles.tolist() == [0]
    assert result.edges[result.edge_triangle[:, 0]].tolist() == [[3, 4]]
    assert find_intersections([[1, 1, 1]] * 3, [[0, 1, 2]]).flat_triangles.tolist() == [0]
    points = TRIANGLE + [[4, 0, 0], [0, 4, 0], [4, 4, 0]]  # a side with two copies of its vertices
    assert len(find_intersections(points, [[0, 1, 2], [3, 5, 4]])) > 0


def test_particles():
    """A vertex that is a body of its own is found on a face, on a rod, and nowhere else."""
    points = TRIANGLE + [[1, 1, 0], [1, 1, 1], [9, 0, 0], [9, 2, 2], [9, 1, 1]]
    result = find_intersections(points, [[0, 1, 2]], [[5, 6]], particles=[3, 4, 7])
    pairs = [result.edges[e].tolist() for e, _ in result.edge_triangle.tolist()]
    assert pairs == [[3, 3]]
    assert [sorted(map(tuple, result.edges[pair].tolist())) for pair in result.edge_edge.tolist()] == [[(5, 6), (7, 7)]]
    assert not find_intersections(points, [[0, 1, 2]], [[5, 6]])


@pytest.mark.slow
def test_threads_and_size():
    """1e5 triangles in seconds, the same for one thread and two; flat sheets are the worst case of the filter."""
    grid = pdgpu.shapes.grid((1, 1), cells=(224, 224))
    rng = np.random.default_rng(3)
    start = time.perf_counter()
    assert len(grid.triangles) > 100_000
    flat = find_intersections(grid.points, grid.triangles)
    rough = grid.points + 2e-3 * rng.standard_normal(grid.points.shape)
    one, two = (find_intersections(rough, grid.triangles, threads=t) for t in (1, 2))
    assert time.perf_counter() - start < 120  # some 3 s on one idle core
    assert not flat and len(one) > 0
    np.testing.assert_array_equal(one.edge_triangle, two.edge_triangle)


def test_float32_is_exact():
    """If it failed, a float32 simulation would be verified at other positions than its own."""
    points = np.array(TRIANGLE + [[0.1, 0.1, 0], [0.1, 0.1, 1]], dtype=np.float32)
    assert len(find_intersections(points, [[0, 1, 2]], [[3, 4]])) == 1


@pytest.mark.parametrize(
    ("arguments", "exception", "message"),
    [
        (([[0, 0, np.nan]], []), ValueError, r"points: value nan at \(0, 2\) is not finite"),
        ((TRIANGLE, [[0, 1, 3]]), ValueError, "triangles: index 3 at row 0 is out of range for 3 points"),
        ((TRIANGLE, [[0, 1, 1]]), ValueError, "triangles: row 0 repeats vertex 1"),
        ((TRIANGLE, [[0, 1]]), ValueError, r"triangles: expected shape \(any, 3\), got \(1, 2\)"),
        ((TRIANGLE, [[0.0, 1, 2]]), TypeError, "triangles: expected integer indices, got dtype float64"),
        ((TRIANGLE, [[0, 1, 2]], [[0, -1]]), ValueError, "edges: index -1 at row 0 is out of range for 3 points"),
        ((TRIANGLE, [[0, 1, 2]], [[2, 2]]), ValueError, "edges: row 0 repeats vertex 2"),
    ],
)
def test_bad_input(arguments, exception, message):
    with pytest.raises(exception, match=message):
        find_intersections(*arguments)


def test_nothing_at_all():
    assert not find_intersections(np.zeros((0, 3)), [])
    assert not find_intersections(TRIANGLE, [[0, 1, 2]])
