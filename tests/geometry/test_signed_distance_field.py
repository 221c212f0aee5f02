"""Distances from triangle meshes, on a grid and point by point, and their signs: against analytic surfaces and brute force."""

import warnings

import numpy as np
import pytest
from inputs import data_file
from scipy.spatial import ConvexHull, QhullError
from surface_oracle import brute_force, winding_number

import pdgpu
from pdgpu import _host

pytestmark = pytest.mark.skipif(not _host.HAS_GMP, reason="this build has no GMP: signed distances of meshes are not checked")

BOX = pdgpu.shapes.box((1.0, 2.0, 0.5))
SPHERE = pdgpu.shapes.sphere(1.0, 3)


def nodes_of(field):
    grid = np.meshgrid(*map(np.arange, field.values.shape), indexing="ij")
    return np.array(field.origin) + field.spacing * np.stack(grid, axis=-1).reshape(-1, 3)


def test_nodes_have_the_distance_of_a_box():
    """If not, a node has the distance of another triangle than the nearest."""
    field = pdgpu.SignedDistanceField.from_mesh(BOX, spacing=0.07, padding=0.3)
    exact = pdgpu.Box((1.0, 2.0, 0.5), (0.5, 1.0, 0.25)).distance(nodes_of(field))
    np.testing.assert_allclose(field.values.ravel(), exact, atol=1e-15)
    assert field.values.shape == (24, 39, 17)  # ceil((size + 0.6) / 0.07) + 1


def test_signs_of_nodes_on_the_surface_and_beside_it():
    """If not, a ray through a vertex, an edge or along a side counts it twice, and a line of nodes is on the wrong side."""
    field = pdgpu.SignedDistanceField.from_mesh(BOX, spacing=0.125, padding=0.25)  # exact in binary: nodes lie on sides, edges, corners
    x = nodes_of(field)
    inside = ((x > 0) & (x < [1.0, 2.0, 0.5])).all(axis=1)
    on = ((x >= 0) & (x <= [1.0, 2.0, 0.5])).all(axis=1) & ~inside
    assert inside.sum() == 7 * 15 * 3 and on.sum() == 9 * 17 * 5 - 7 * 15 * 3
    np.testing.assert_array_equal(field.values.ravel() < 0, inside)
    np.testing.assert_array_equal(field.values.ravel() == 0, on)


@pytest.mark.parametrize("shift", [0.0, 1e-16, 1e-13, -1e-13])
def test_signs_under_edges_that_rays_meet(shift):
    """If not, rounding decides on which side of an edge a ray passes, and parity is wrong: an octahedron, whose vertices and edges lie over
    nodes of the grid, and queries next to those lines."""
    points = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float)
    triangles = [[x, y, z] if (x + y + z) % 2 else [y, x, z] for x in (0, 1) for y in (2, 3) for z in (4, 5)]
    mesh = pdgpu.TriangleMesh(pdgpu.Mesh(points, triangles=triangles))
    assert mesh.closed
    steps = np.arange(-8, 9) / 4
    x = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    x[:, 0] += shift
    size = np.abs(x.astype(np.longdouble)).sum(axis=1)
    off = size != 1
    np.testing.assert_array_equal((mesh.distance(x) < 0)[off], (size < 1)[off])


@pytest.mark.parametrize("seed", range(30))
def test_signs_on_a_lattice(seed):
    """If not, the sign is wrong where everything degenerates: hulls of lattice points, asked about all points of the lattice, so that rays
    meet vertices and edges and run along faces. The truth is in integers."""
    random = np.random.default_rng(seed)
    corners = random.integers(0, 6, size=(int(random.integers(6, 14)), 3))
    try:
        hull = ConvexHull(corners)
    except QhullError:  # all in one plane
        return
    normals = np.round(hull.equations[:, :3] / np.abs(hull.equations[:, :3]).max(axis=1)[:, None], 9)
    triangles = hull.simplices.copy()
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    inwards = np.einsum("ti,ti->t", np.cross(b - a, c - a), normals) < 0
    triangles[inwards] = triangles[inwards][:, [0, 2, 1]]
    x = np.stack(np.meshgrid(*[np.arange(-1, 7)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    side = np.einsum("nti,ti->nt", x[:, None] - a, np.cross(b - a, c - a))
    inside, outside = (side < 0).all(axis=1), (side > 0).any(axis=1)
    mesh = pdgpu.TriangleMesh(pdgpu.Mesh(corners, triangles=triangles))
    assert mesh.closed
    distance = mesh.distance(x)
    np.testing.assert_array_equal(distance[inside | outside] < 0, inside[inside | outside])
    np.testing.assert_allclose(distance[~inside & ~outside], 0, atol=1e-14)
    # the same columns as one row of a grid each
    field = _host.distance_grid(mesh.mesh.points, mesh.triangles, (-1.0, -1.0, -1.0), 1.0, (8, 8, 8), 2).ravel()
    np.testing.assert_array_equal(field[inside | outside] < 0, inside[inside | outside])


def test_second_order():
    """If not, refining the grid does not buy what it costs. The sphere's own triangles are 3e-4 off, well below what is measured."""
    ball = pdgpu.shapes.sphere(1.0, 5)
    random = np.random.default_rng(0)
    x = random.normal(size=(4000, 3))
    x *= (random.uniform(0.7, 1.2, size=(4000, 1))) / np.linalg.norm(x, axis=1)[:, None]
    exact, worst = np.linalg.norm(x, axis=1) - 1, []
    for spacing in (0.3, 0.15, 0.075):
        field = pdgpu.SignedDistanceField.from_mesh(ball, spacing=spacing, padding=0.3)
        worst.append(np.abs(field.distance(x) - exact).max())
        # |f_xx| + |f_yy| + |f_zz| = 2 / r, and a cell reaches sqrt(3) h towards the centre
        assert worst[-1] < spacing**2 / 8 * 2 / (0.7 - np.sqrt(3) * spacing) + 3e-4
        np.testing.assert_allclose(np.einsum("ni,ni->n", field.normals(x), x / np.linalg.norm(x, axis=1)[:, None]), 1, atol=spacing)
    assert worst[0] / worst[1] > 3.0 and worst[1] / worst[2] > 3.0


def test_interpolated_gradient():
    """If not, forces from a field are not those of its energy."""
    field = pdgpu.SignedDistanceField.from_mesh(SPHERE, spacing=0.1)
    x, h = np.random.default_rng(1).uniform(-1.1, 1.1, size=(3000, 3)), 1e-6
    slopes = np.stack([field.distance(x + h * e) - field.distance(x - h * e) for e in np.eye(3)], axis=1) / (2 * h)
    cell = [np.floor((x + sign * h - field.origin) / field.spacing) for sign in (-1, 1)]
    same = (cell[0] == cell[1]).all(axis=1)
    assert same.mean() > 0.99
    np.testing.assert_allclose(field.gradient(x)[same], slopes[same], atol=1e-8)
    # float32: grid, place in a cell and differences of values are rounded
    single = field.query(x.astype(np.float32))
    np.testing.assert_allclose(single.distance, field.distance(x), atol=2e-6)


# the larger ones take seconds each, and differ in their shape alone
LARGE = [pytest.param(name, marks=pytest.mark.stress) for name in ("tet/ipc_bunny.msh", "tri/rigidipc_spot.obj")]
REAL = ["tri/ipc_sphere1K.obj", "tri/itd_bunny.ply", *LARGE]


@pytest.mark.parametrize("name", REAL)
def test_real_meshes(name):
    """If not, a scanned or modelled body is solid where it is hollow."""
    mesh = pdgpu.read_mesh(data_file(name))
    collider = pdgpu.TriangleMesh(mesh)
    if not collider.closed:
        pytest.skip(f"{name} is open: its signed distance is not checked")
    random = np.random.default_rng(2)
    used = mesh.points[np.unique(mesh.surface)]
    size = np.ptp(used, axis=0).max()
    x = np.concatenate(
        [
            used[random.integers(len(used), size=100)] + 0.02 * size * random.normal(size=(100, 3)),
            random.uniform(*[f(axis=0) for f in (used.min, used.max)], size=(100, 3)),
        ]
    )
    found = collider.query(x)
    np.testing.assert_allclose(np.abs(found.distance), brute_force(mesh, x), rtol=1e-9, atol=1e-13 * size)
    winding = np.abs(winding_number(mesh, x))
    np.testing.assert_allclose(winding, np.round(winding), atol=1e-6)
    np.testing.assert_array_equal(found.distance < 0, winding > 0.5)
    np.testing.assert_allclose(found.closest + found.distance[:, None] * found.normal, x, atol=1e-12 * size)
    # the nodes of a grid have the same distances
    field = pdgpu.SignedDistanceField.from_mesh(mesh, spacing=size / 20)
    np.testing.assert_allclose(field.values.ravel(), collider.distance(nodes_of(field)), atol=1e-13 * size)


def test_random_signs():
    """If not, a body turned at random has holes in its sign."""
    random = np.random.default_rng(3)
    for seed in range(20):
        turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
        base = BOX if seed % 2 else pdgpu.shapes.sphere(1.0, 1)
        mesh = pdgpu.Mesh(base.points @ turn.T + random.normal(size=3), triangles=base.triangles)
        x = mesh.points.mean(axis=0) + random.normal(size=(200, 3))
        inside = pdgpu.TriangleMesh(mesh).distance(x) < 0
        np.testing.assert_array_equal(inside, np.abs(winding_number(mesh, x)) > 0.5)
        assert inside.any() and not inside.all()


def test_a_hole_and_a_surface_turned_inwards():
    """If not, a shell of some thickness is filled, or orientation decides what is inside."""
    inner = pdgpu.shapes.sphere(0.5, 3)
    shell = pdgpu.Mesh(
        np.concatenate([SPHERE.points, inner.points]),
        triangles=np.concatenate([SPHERE.triangles, inner.triangles[:, ::-1] + len(SPHERE.points)]),
    )
    field = pdgpu.SignedDistanceField.from_mesh(shell, spacing=0.1)
    r = np.linalg.norm(nodes_of(field), axis=1)
    clear = (np.abs(r - 1) > 0.02) & (np.abs(r - 0.5) > 0.02)
    np.testing.assert_array_equal(field.values.ravel()[clear] < 0, ((r > 0.5) & (r < 1))[clear])
    turned = pdgpu.Mesh(SPHERE.points, triangles=SPHERE.triangles[:, ::-1])
    a, b = (pdgpu.SignedDistanceField.from_mesh(mesh, spacing=0.2) for mesh in (SPHERE, turned))
    np.testing.assert_allclose(a.values, b.values, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(a.values < 0, b.values < 0)
    for mesh in (SPHERE, turned):  # a point of the surface: the normal still leads out
        x = mesh.points[mesh.triangles].mean(axis=1)
        out = pdgpu.TriangleMesh(mesh).normals(mesh.points)
        assert (np.einsum("ni,ni->n", out, mesh.points) > 0).all()
        assert (np.einsum("ni,ni->n", pdgpu.TriangleMesh(mesh).normals(0.9 * x), x) > 0).all()


def test_the_same_for_any_number_of_threads():
    """If not, a scene cannot be built twice."""
    one, three = (pdgpu.SignedDistanceField.from_mesh(SPHERE, spacing=0.11, threads=threads) for threads in (1, 3))
    assert one.values.tobytes() == three.values.tobytes()
    x = np.random.default_rng(0).normal(size=(3000, 3))
    one, three = (pdgpu.TriangleMesh(SPHERE).query(x, threads=threads) for threads in (1, 3))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, three, strict=True))


def test_open_surfaces_have_one_side():
    """If not, a sheet has an inside."""
    sheet = pdgpu.TriangleMesh(pdgpu.shapes.grid((1.0, 1.0), (4, 4)))
    assert not sheet.closed
    np.testing.assert_allclose(sheet.distance([[0.3, 0.4, 0.1], [0.3, 0.4, -0.1], [2.0, 0.5, 0.0]]), [0.1, 0.1, 1.0])
    np.testing.assert_allclose(sheet.normals([[0.3, 0.4, -0.1]]), [[0, 0, -1]], atol=1e-15)


def test_moving_meshes():
    """If not, a scripted mesh stays where it was."""
    grow = pdgpu.TriangleMesh(SPHERE, motion=lambda time, rest: (1.0 + time) * rest)
    x = np.array([[3.0, 0.1, -0.2], [0.0, 0.5, 0.0]])
    np.testing.assert_allclose(grow.distance(x, 1.0), 2.0 * pdgpu.TriangleMesh(SPHERE).distance(x / 2.0), rtol=1e-13)
    moved = x + grow.displacement(x, 0.0, 0.5)
    np.testing.assert_allclose(moved - x, 0.5 * grow.closest_points(x, 0.0), atol=1e-14)
    with pytest.raises(TypeError, match="placement"):
        grow.placement(0.0)
    turn = pdgpu.SignedDistanceField.from_mesh(SPHERE, spacing=0.2, motion=lambda time: (np.eye(3), (time, 0.0, 0.0)))
    np.testing.assert_allclose(turn.distance(x + [0.7, 0, 0], 0.7), turn.distance(x), atol=1e-13)


# ---- what is refused --------------------------------------------------------------------------------------------------------------

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
SIDES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])


def mesh_of(points, triangles):
    return pdgpu.Mesh(points, triangles=triangles)


def fan():
    """Two tetrahedra that share an edge, so that four triangles meet there."""
    points = np.concatenate([TETRAHEDRON, [[0, -1, 0], [0, 0, -1]]])
    return mesh_of(points, np.concatenate([SIDES, np.array([0, 1, 4, 5])[SIDES]]))


def crossing():
    points = np.concatenate([BOX.points, BOX.points + [0.5, 0.5, 0.1]])
    return mesh_of(points, np.concatenate([BOX.triangles, BOX.triangles + len(BOX.points)]))


def build(mesh, spacing=0.2, **options):
    return pdgpu.SignedDistanceField.from_mesh(mesh, spacing=spacing, **options)


REFUSED = [
    (lambda: build(mesh_of(TETRAHEDRON, SIDES[:3])), ValueError, ["mesh", "open", "(0, 2)", "triangle 0"]),
    (lambda: build(pdgpu.shapes.grid((1, 1), (2, 2))), ValueError, ["mesh", "open", "(0, 1)"]),
    (lambda: build(fan()), ValueError, ["mesh", "(0, 1)", "4 triangles"]),
    (lambda: build(mesh_of(TETRAHEDRON, [*SIDES[:3], SIDES[3][::-1]])), ValueError, ["mesh", "same way", "(0, 2)", "inconsistent"]),
    (lambda: build(crossing()), ValueError, ["mesh", "intersects itself", "edge", "triangle"]),
    (lambda: build(pdgpu.shapes.chain(3)), ValueError, ["mesh", "none"]),
    (lambda: build("bunny"), TypeError, ["mesh", "bunny"]),
    (lambda: build(BOX, 0.0), ValueError, ["spacing", "0"]),
    (lambda: build(BOX, float("nan")), ValueError, ["spacing", "nan"]),
    (lambda: build(BOX, 1e-3), ValueError, ["spacing", "0.001", "1005 x 2005 x 505", str(1005 * 2005 * 505)]),
    (lambda: build(BOX, 1e-300), ValueError, ["spacing", "1e-300"]),
    (lambda: build(mesh_of(TETRAHEDRON + 1e12, SIDES), 1e-2, padding=1e-2), ValueError, ["spacing", "too fine", "1e+12"]),
    (lambda: build(BOX, 0.2, padding=0.1), ValueError, ["padding", "0.1"]),
    (lambda: build(BOX, 0.2, motion=3), TypeError, ["motion", "3"]),
    (lambda: build(BOX, 0.2, threads=-1), ValueError, ["threads", "-1"]),
    (lambda: pdgpu.TriangleMesh(BOX, motion=lambda t, x: x + 1e38).distance(np.zeros((1, 3), np.float32)), ValueError, ["time", "float32"]),
    (lambda: pdgpu.TriangleMesh(BOX, motion=lambda t, x: x[:2]).distance([[0, 0, 0]]), ValueError, ["motion", "(2, 3)", "0.0"]),
]


@pytest.mark.parametrize("call, error, words", REFUSED)
def test_refusals(call, error, words):
    """If not, a field of a surface that encloses nothing is computed all the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error) as caught:
            call()
    for word in words:
        assert word in str(caught.value), str(caught.value)
