"""Colliders: signed distances against formulas written down a second time, their derivatives, motion, and what is refused."""

import dataclasses
import pickle

import numpy as np
import pytest

import pdgpu


def random_rotation(random):
    q, _ = np.linalg.qr(random.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


RANDOM = np.random.default_rng(5)
TURN = random_rotation(RANDOM)
CENTRE = np.array([0.3, -0.2, 0.5])
SHAPES = {
    "plane": pdgpu.Plane(CENTRE, (1.0, 2.0, -0.5)),
    "sphere": pdgpu.Sphere(CENTRE, 0.7),
    "capsule": pdgpu.Capsule(CENTRE - [0.5, 0.1, 0.2], CENTRE + [0.5, 0.1, 0.2], 0.3),
    "box": pdgpu.Box((0.8, 1.1, 0.5), CENTRE, TURN),
}


def turning(time):
    """A rigid motion: a turn about the y axis and a shift."""
    c, s = np.cos(time), np.sin(time)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]), np.array([0.1 * time, -0.2 * time, time * time])


def written_again(name, x):
    """The signed distance in 80 bits, by other formulas: the sphere by its square, the capsule by a search along its segment."""
    x = x.astype(np.longdouble) - CENTRE.astype(np.longdouble)
    if name == "plane":
        n = np.array([1.0, 2.0, -0.5], np.longdouble)
        return x @ n / np.sqrt((n * n).sum())
    if name == "sphere":
        square = (x * x).sum(axis=1)
        return (square - np.longdouble(0.7) ** 2) / (np.sqrt(square) + np.longdouble(0.7))
    if name == "capsule":
        half = np.array([0.5, 0.1, 0.2], np.longdouble)
        low, high = -np.ones(len(x), np.longdouble), np.ones(len(x), np.longdouble)
        for _ in range(200):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            falls = ((x - left[:, None] * half) ** 2).sum(axis=1) > ((x - right[:, None] * half) ** 2).sum(axis=1)
            low, high = np.where(falls, left, low), np.where(falls, high, right)
        ends = np.minimum(((x - half) ** 2).sum(axis=1), ((x + half) ** 2).sum(axis=1))
        return np.sqrt(np.minimum(((x - low[:, None] * half) ** 2).sum(axis=1), ends)) - np.longdouble(0.3)
    p = x @ TURN.astype(np.longdouble)
    beyond = np.abs(p) - np.array([0.8, 1.1, 0.5], np.longdouble) / 2
    inside = (beyond < 0).all(axis=1)
    return np.where(inside, beyond.max(axis=1), np.sqrt((np.maximum(beyond, 0) ** 2).sum(axis=1)))


def points_around(n, seed=0):
    return CENTRE + np.random.default_rng(seed).normal(size=(n, 3))


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distance(name, dtype):
    """If not, a body rests above its obstacle, or in it."""
    x = points_around(5000).astype(dtype)
    found = SHAPES[name].query(x)
    assert all(part.dtype == dtype for part in found)
    u = np.finfo(dtype).eps
    np.testing.assert_allclose(found.distance, written_again(name, x.astype(np.float64)), rtol=0, atol=16 * u)
    assert (found.distance < 0).sum() > 100  # both sides were tried
    np.testing.assert_array_equal(found.gradient, found.normal)
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1, atol=8 * u)
    np.testing.assert_allclose(found.closest + found.distance[:, None] * found.normal, x, atol=16 * u)
    np.testing.assert_allclose(SHAPES[name].distance(found.closest), 0, atol=16 * u)


@pytest.mark.parametrize("name", SHAPES)
def test_derivative(name):
    """If not, a contact pushes in another direction than its energy falls."""
    x, h = points_around(2000, seed=1), 1e-6
    gradient = SHAPES[name].gradient(x)
    steps = np.eye(3) * h
    slopes = np.stack([SHAPES[name].distance(x + step) - SHAPES[name].distance(x - step) for step in steps], axis=1) / (2 * h)
    smooth = np.linalg.norm(slopes, axis=1) > 1 - 1e-5  # elsewhere the two sides belong to two parts of the surface
    assert smooth.mean() > 0.995
    np.testing.assert_allclose(gradient[smooth], slopes[smooth], atol=1e-6)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0])
def test_distance_changes_by_no_more_than_the_points_move(name, scale):
    """If not, a step that was found safe goes through the obstacle (Lipschitz constant 1)."""
    random = np.random.default_rng(2)
    x = points_around(3000, seed=3)
    x[:300] = CENTRE + 1e-9 * random.normal(size=(300, 3))  # where the nearest point jumps
    y = x + scale * random.normal(size=x.shape)
    change = np.abs(SHAPES[name].distance(x) - SHAPES[name].distance(y))
    assert (change <= np.linalg.norm(x - y, axis=1) + 4e-15).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_where_no_direction_is_nearest(dtype):
    """If not, a point in the middle of an obstacle makes NaN of a whole simulation."""
    cases = [
        (pdgpu.Sphere((1, 2, 3), 2.0), [[1, 2, 3]], -2.0),
        (pdgpu.Capsule((0, 0, 0), (2, 0, 0), 0.5), [[0, 0, 0], [0.5, 0, 0], [2, 0, 0]], -0.5),
        (pdgpu.Capsule((1, 1, 1), (1, 1, 1), 0.5), [[1, 1, 1]], -0.5),
        (pdgpu.Box((2, 4, 6), (1, 1, 1)), [[1, 1, 1]], -1.0),
        (pdgpu.Box((2, 2, 2)), [[1, 1, 1], [1, 1, 0], [-1, 0.5, 1], [0, 0, -1]], 0.0),  # corner, edge, edge, side
    ]
    for shape, x, distance in cases:
        found = shape.query(np.array(x, dtype))
        np.testing.assert_array_equal(found.distance, np.full(len(x), distance, dtype))
        assert all(np.isfinite(part).all() for part in found)
        np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1, rtol=1e-6)
        np.testing.assert_allclose(shape.distance(found.closest), 0, atol=1e-6)
        # the normal is one of the nearest directions: going out along it changes the distance by as much
        np.testing.assert_allclose(shape.distance(np.array(x, dtype) + dtype(0.25) * found.normal), distance + 0.25, atol=1e-6)
    # in the middle of a box the first axis, upwards
    np.testing.assert_array_equal(pdgpu.Box((1, 1, 1)).normals(np.zeros((1, 3), dtype)), [[1, 0, 0]])


def test_edges_and_corners_of_a_box():
    """If not, the distance past an edge is that of a side."""
    box = pdgpu.Box((2, 4, 6))
    x = [[4, 6, 3 + 12], [1 + 3, 2 + 4, 0], [1 - 0.25, 0, 0], [0, 2 - 0.125, 1], [0, 0, -3 - 7]]
    np.testing.assert_allclose(box.distance(x), [13, 5, -0.25, -0.125, 7], rtol=1e-15)
    np.testing.assert_allclose(box.normals(x)[1], [0.6, 0.8, 0], rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SHAPES)
def test_far_away_and_tiny(name, dtype):
    """If not, a vertex that flew off, or a scene in micrometres, overflows."""
    far = 1e36 if dtype == np.float32 else 1e300
    x = (far * np.random.default_rng(4).normal(size=(200, 3))).astype(dtype)
    found = SHAPES[name].query(x)
    assert all(np.isfinite(part).all() for part in found)
    if name != "plane":
        np.testing.assert_allclose(found.distance, far * np.linalg.norm(x / far, axis=1), rtol=1e-5)
    tiny = pdgpu.Sphere((0, 0, 0), 1e-30).query(np.array([[3e-30, 4e-30, 0]], dtype))
    np.testing.assert_allclose(tiny.distance, 4e-30, rtol=1e-5)
    np.testing.assert_allclose(tiny.normal, [[0.6, 0.8, 0]], rtol=1e-6)


@pytest.mark.parametrize("name", SHAPES)
def test_motion(name):
    """If not, a scripted obstacle is somewhere else than its script says."""
    still, moving = SHAPES[name], dataclasses.replace(SHAPES[name], motion=turning)
    x = points_around(500, seed=6)
    for time in (0.0, 0.7, -2.0):
        rotation, translation = turning(time)
        there, here = moving.query(x @ rotation.T + translation, time), still.query(x)
        np.testing.assert_allclose(there.distance, here.distance, atol=1e-14)
        np.testing.assert_allclose(there.normal, here.normal @ rotation.T, atol=1e-13)
        np.testing.assert_allclose(there.closest, here.closest @ rotation.T + translation, atol=1e-13)
    # points carried along keep their distance
    carried = x + moving.displacement(x, 0.3, 0.9)
    np.testing.assert_allclose(moving.distance(carried, 0.9), moving.distance(x, 0.3), atol=1e-14)
    np.testing.assert_array_equal(still.displacement(x, 0.3, 0.9), 0.0)


def test_the_same_for_any_number_of_threads():
    """If not, a result cannot be repeated."""
    x = points_around(40000)
    for shape in SHAPES.values():
        one, three = shape.query(x, threads=1), shape.query(x, threads=3)
        assert all(a.tobytes() == b.tobytes() for a, b in zip(one, three, strict=True))


@pytest.mark.skipif(not pdgpu._host.HAS_GMP, reason="this build has no GMP: no side of a closed mesh is known")
def test_descriptions():
    """If not, an obstacle cannot be printed, stored or sent to another process, or changes while it is used."""
    grid = pdgpu.SignedDistanceField(np.ones((2, 3, 4)), (0, 0, 0), 0.1)
    mesh = pdgpu.TriangleMesh(pdgpu.shapes.sphere(1.0, 1))
    x = points_around(10)
    for shape in (*SHAPES.values(), pdgpu.Sphere((0, 0, 0), 1.0, motion=turning), grid, mesh):
        again = pickle.loads(pickle.dumps(shape))
        assert repr(again) == repr(shape) or shape is mesh
        assert again.query(x, 0.5).distance.tobytes() == shape.query(x, 0.5).distance.tobytes()
        with pytest.raises(AttributeError):
            shape.motion = None
    assert repr(pdgpu.Sphere([0, 1, 2], 1)) == "Sphere(centre=(0.0, 1.0, 2.0), radius=1.0, motion=None)"
    assert pdgpu.Box((1, 2, 3)) == pdgpu.Box((1, 2, 3)) != pdgpu.Box((1, 2, 4))
    assert repr(grid) == "SignedDistanceField(2 x 3 x 4 nodes, origin=(0.0, 0.0, 0.0), spacing=0.1, motion=None)"
    with pytest.raises(ValueError, match="read-only"):
        grid.values[0, 0, 0] = 2.0


# ---- a distance on a grid ------------------------------------------------------------------------------------------------------


def trilinear(x):
    """A function that interpolation gives back exactly, and its gradient; positive."""
    a, b, c = x.T
    value = 2 + 0.1 * a + 0.2 * b - 0.1 * c + 0.05 * a * b - 0.04 * b * c + 0.03 * a * c + 0.02 * a * b * c
    slope = np.stack(
        [
            0.1 + 0.05 * b + 0.03 * c + 0.02 * b * c,
            0.2 + 0.05 * a - 0.04 * c + 0.02 * a * c,
            -0.1 - 0.04 * b + 0.03 * a + 0.02 * a * b,
        ],
        axis=1,
    )
    return value, slope


def nodes_of(shape, spacing):
    return spacing * np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1).reshape(-1, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_interpolation(dtype):
    """If not, axes or corners of a cell are mixed up."""
    shape, spacing = (5, 4, 7), 0.25
    values = trilinear(nodes_of(shape, spacing))[0].reshape(shape)
    field = pdgpu.SignedDistanceField(values, (1.0, 2.0, 3.0), spacing)
    inner = np.random.default_rng(0).random((500, 3)) * [1.0, 0.75, 1.5]
    inner[:8] = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]) * [1.0, 0.75, 1.5]
    found = field.query((inner + [1.0, 2.0, 3.0]).astype(dtype))
    value, slope = trilinear(inner)
    np.testing.assert_allclose(found.distance, value, rtol=0, atol=64 * np.finfo(dtype).eps)
    np.testing.assert_allclose(found.gradient, slope, rtol=0, atol=512 * np.finfo(dtype).eps)
    np.testing.assert_allclose(found.normal, slope / np.linalg.norm(slope, axis=1)[:, None], atol=4096 * np.finfo(dtype).eps)


def test_outside_the_grid():
    """If not, a vertex beyond the grid is told of a surface that is not there, or too far."""
    sphere, spacing = pdgpu.Sphere((0, 0, 0), 0.5), 0.125
    shape = (13, 13, 13)
    nodes = nodes_of(shape, spacing) - 0.75
    field = pdgpu.SignedDistanceField(sphere.distance(nodes).reshape(shape), (-0.75,) * 3, spacing)
    random = np.random.default_rng(1)
    x = random.normal(size=(4000, 3)) * random.choice([1.0, 3.0, 50.0], size=(4000, 1))
    x[:100, 0] = 0.75 + 1e-9  # just outside one side
    q = np.clip(x, -0.75, 0.75)
    outside = (x != q).any(axis=1)
    found, at_q = field.query(x), field.distance(q)
    beyond = np.linalg.norm(x - q, axis=1)
    np.testing.assert_allclose(found.distance[outside], np.hypot(at_q, beyond)[outside], rtol=1e-12)
    # never more than the distance, but for the interpolation: cells of the boundary are at least 0.625 from the centre
    error = spacing**2 / 8 * 2 / 0.625
    assert (found.distance <= sphere.distance(x) + error)[outside].all()
    assert (found.distance >= sphere.distance(x) - at_q - error)[outside].all()
    # derivative, where the step does not cross a side of a cell
    h = 1e-6
    slopes = np.stack([field.distance(x + h * e) - field.distance(x - h * e) for e in np.eye(3)], axis=1) / (2 * h)
    cells = (np.floor((x - h + 0.75) / spacing) == np.floor((x + h + 0.75) / spacing)).all(axis=1)
    assert cells.sum() > 3000
    np.testing.assert_allclose(found.gradient[cells], slopes[cells], atol=1e-6)
    assert (np.linalg.norm(found.gradient, axis=1) <= np.sqrt(3) + 1e-12).all()
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1, rtol=1e-12)


def test_a_grid_without_slope():
    """If not, a constant field gives a normal that is NaN."""
    found = pdgpu.SignedDistanceField(np.ones((2, 2, 2)), (0, 0, 0), 1.0).query([[0.5, 0.5, 0.5]])
    np.testing.assert_array_equal(found.gradient, [[0, 0, 0]])
    np.testing.assert_array_equal(found.normal, [[1, 0, 0]])


# ---- bad input ------------------------------------------------------------------------------------------------------------------

NAN = float("nan")
BALL = pdgpu.Sphere((0, 0, 0), 1.0)
EYE = np.eye(3)
SKEW = EYE + [[0, 1e-3, 0], [0, 0, 0], [0, 0, 0]]
REFUSED = [
    (lambda: pdgpu.Plane((0, 0, NAN), (0, 1, 0)), ValueError, ["point", "nan", "2"]),
    (lambda: pdgpu.Plane((0, 0, 0), (0, 0, 0)), ValueError, ["normal", "zero length", "(0, 0, 0)"]),
    (lambda: pdgpu.Plane((0, 0), (0, 1, 0)), ValueError, ["point", "(2,)"]),
    (lambda: pdgpu.Sphere((0, 0, 0), -1.0), ValueError, ["radius", "-1"]),
    (lambda: pdgpu.Sphere((0, 0, 0), 0.0), ValueError, ["radius", "0"]),
    (lambda: pdgpu.Sphere((0, 0, 0), "big"), TypeError, ["radius", "big"]),
    (lambda: pdgpu.Capsule((0, 0, 0), (0, 0, np.inf), 1.0), ValueError, ["end", "inf", "2"]),
    (lambda: pdgpu.Capsule((0, 0, 0), (0, 0, 1), NAN), ValueError, ["radius", "nan"]),
    (lambda: pdgpu.Box((1, -2, 3)), ValueError, ["size", "-2", "1"]),
    (lambda: pdgpu.Box((1, 2, 3), rotation=SKEW), ValueError, ["rotation", "not orthogonal", "0.001"]),
    (lambda: pdgpu.Box((1, 2, 3), rotation=-EYE), ValueError, ["rotation", "reflection", "-1"]),
    (lambda: pdgpu.Box((1, 2, 3), rotation=EYE[:2]), ValueError, ["rotation", "(2, 3)"]),
    (lambda: pdgpu.Sphere((0, 0, 0), 1.0, motion=3), TypeError, ["motion", "3"]),
    (lambda: BALL.distance([[0, 0, NAN]]), ValueError, ["points", "nan", "(0, 2)"]),
    (lambda: BALL.distance([0, 0, 0]), ValueError, ["points", "(3,)"]),
    (lambda: BALL.distance(np.full((1, 3), 1e38, np.float32)), ValueError, ["points", "e+37", "(0, 0)", "float32"]),
    (lambda: BALL.distance([[0, 0, 0]], "now"), TypeError, ["time", "now"]),
    (lambda: BALL.distance([[0, 0, 0]], threads=-1), ValueError, ["threads", "-1"]),
    (lambda: pdgpu.Sphere((0, 0, 0), 1e300).distance(np.zeros((1, 3), np.float32)), ValueError, ["time", "1e+300", "float32"]),
    (lambda: pdgpu.Sphere((0, 0, 0), 1.0, motion=lambda t: EYE).distance([[0, 0, 0]]), TypeError, ["motion", "translation", "0.0"]),
    (lambda: pdgpu.Sphere((0, 0, 0), 1.0, motion=lambda t: (SKEW, (0, 0, 0))).distance([[0, 0, 0]], 2), ValueError, ["motion", "2.0"]),
    (lambda: pdgpu.Sphere((0, 0, 0), 1.0, motion=lambda t: (EYE, (0, NAN, 0))).distance([[0, 0, 0]]), ValueError, ["motion", "nan", "1"]),
    (lambda: BALL.displacement([[0, 0, 0]], 0.0, NAN), ValueError, ["end", "nan"]),
    (lambda: pdgpu.SignedDistanceField(np.ones((2, 2)), (0, 0, 0), 1.0), ValueError, ["values", "(2, 2)"]),
    (lambda: pdgpu.SignedDistanceField(np.ones((2, 1, 2)), (0, 0, 0), 1.0), ValueError, ["values", "(2, 1, 2)"]),
    (lambda: pdgpu.SignedDistanceField(-np.ones((3, 3, 3)), (0, 0, 0), 1.0), ValueError, ["values", "-1.0", "(0, 0, 0)", "boundary"]),
    (lambda: pdgpu.SignedDistanceField(np.full((2, 2, 2), NAN), (0, 0, 0), 1.0), ValueError, ["values", "nan", "(0, 0, 0)"]),
    (lambda: pdgpu.SignedDistanceField(np.ones((2, 2, 2)), (0, 0, 0), 0.0), ValueError, ["spacing", "0"]),
    (lambda: pdgpu.SignedDistanceField(np.ones((2, 2, 2)), (0, 0, 0), 1.0, mesh=3), TypeError, ["mesh", "3"]),
    (lambda: pdgpu.TriangleMesh("bunny"), TypeError, ["mesh", "bunny"]),
    (lambda: pdgpu.TriangleMesh(pdgpu.shapes.chain(3)), ValueError, ["mesh", "3 edges"]),
]


@pytest.mark.parametrize("call, error, words", REFUSED)
def test_refusals(call, error, words):
    """If not, a slip in a description is found hours later, or never."""
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value), str(caught.value)
