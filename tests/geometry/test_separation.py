"""The verifier of distances: what comes nearer than a separation, in a frame and between two, none missed and none invented."""

import math
from fractions import Fraction

import numpy as np
import pytest
from geometry_exact import squared_distance

import pdgpu
from pdgpu import _host, geometry

pytestmark = pytest.mark.skipif(not _host.HAS_GMP, reason="this build has no GMP")

TRIANGLE = np.array([[0, 0, 0], [8, 0, 0], [0, 8, 0]], dtype=float)
EDGE = np.array([[-4, 0, 0], [4, 0, 0]], dtype=float)


def pair(first_0, second_0, separation, first_1=None, second_1=None, radius=0.0):
    """When two simplices first are too near, -1: never."""
    start = np.concatenate([first_0, second_0]).astype(float)
    end = np.concatenate([first_0 if first_1 is None else first_1, second_0 if second_1 is None else second_1]).astype(float)
    k, n = len(first_0), len(start)
    rows = [np.arange(n, dtype=np.int32)[None, part] for part in (slice(0, k), slice(k, n))]
    _, times, _ = _host.find_approaches(start, end, *rows, np.full(1, radius), separation, np.zeros(n, np.uint8), False, 1)
    return times[0] if len(times) else -1.0


# first, second, and the square of their distance
PLACED = {
    "vertex over a triangle": ([[1, 2, 3]], TRIANGLE, 9),
    "vertex beside a triangle": ([[2, -3, 4]], TRIANGLE, 25),
    "vertex beyond a corner": ([[-1, -1, 1]], TRIANGLE, 3),
    "vertex over a sloping side": ([[5, 5, 0]], TRIANGLE, 2),
    "edges across": ([[1, -2, 3], [1, 2, 3]], EDGE, 9),
    "end and edge": ([[2, 1, 1], [2, 5, 5]], EDGE, 2),
    "ends of edges": ([[5, 1, 1], [9, 5, 5]], EDGE, 3),
    "parallel edges": ([[-1, 3, 4], [1, 3, 4]], EDGE, 25),
    "particle and edge": ([[3, 2, 2], [3, 2, 2]], EDGE, 8),
    "vertex and edge": ([[3, 2, 2]], EDGE, 8),
    "vertex and end": ([[6, 2, 1]], EDGE, 9),
    "vertex and particle": ([[1, 2, 2]], [[0, 0, 0], [0, 0, 0]], 9),
}


def doubles_around(square):
    """The greatest double that is no greater than the root of a whole number, and the next."""
    root = math.sqrt(square)
    low = root if Fraction(root) ** 2 <= square else math.nextafter(root, 0.0)
    return low, math.nextafter(low, math.inf)


@pytest.mark.parametrize("scale", [2.0**-200, 1.0, 2.0**200])
@pytest.mark.parametrize("name", PLACED)
def test_one_bit_decides(name, scale):
    """If not, a resting contact that keeps its separation to the last bit is called broken, or a broken one kept."""
    first, second, square = PLACED[name]
    first, second = scale * np.array(first, float), scale * np.array(second, float)
    enough, too_much = (scale * limit for limit in doubles_around(square))
    assert pair(first, second, enough) == -1.0
    assert pair(first, second, too_much) == 0.0
    # everything travels by one and the same vector, a whole number of the spacing of doubles there
    travel = scale * np.array([32.0, -64.0, 16.0])
    assert pair(first, second, enough, first + travel, second + travel) == -1.0
    assert pair(first, second, too_much, first + travel, second + travel) == 0.0
    # with a radius alone touching counts, and what is exactly as far as the root of a square number touches
    assert pair(first, second, 0.0, radius=too_much) == 0.0
    assert (pair(first, second, 0.0, radius=enough) == 0.0) == (math.isqrt(square) ** 2 == square)
    assert pair(first, second, 0.0, radius=math.nextafter(enough, 0.0)) == -1.0


def test_nearest_on_the_way():
    """If not, what swings by is not seen, or seen at another time than it came too near."""
    start, end = [[-8.0, 3.0, 0.0]], [[8.0, 3.0, 0.0]]  # past a vertex at distance 3, nearest at time 1/2
    point = [[0.0, 0.0, 0.0]] * 2
    assert pair(start, point, 3.0, end) == -1.0
    assert 0.0 < 0.5 - pair(start, point, math.nextafter(3.0, 4.0), end) < 1e-7
    for separation, exact in ((5.0, Fraction(4, 16)), (math.sqrt(45), Fraction(2, 16))):
        assert 0 <= exact - Fraction(pair(start, point, separation, end)) <= Fraction(1, 2**39)
    falling = pair([[1, 2, 9]], TRIANGLE, 1.0, [[1, 2, -3]])
    assert 0 <= Fraction(2, 3) - Fraction(falling) <= Fraction(1, 2**40)
    assert pair([[1, 2, 9]], TRIANGLE, 1.0, [[1, 2, 1]]) == -1.0  # to exactly there
    assert pair([[1, 2, 1]], TRIANGLE, 1.0, [[7, 7, 1]]) == -1.0  # along it
    assert pair([[1, 2, 1]], TRIANGLE, 1.0, [[1, 2, 9]]) == -1.0


def test_moments_at_which_something_is_degenerate():
    """If not, edges that turn past each other, or a triangle that turns inside out, are called too near while they are far apart."""
    turning_0, turning_1 = [[-1, -2, 1], [1, 2, 1]], [[-1, 3, 1], [1, -3, 1]]  # parallel to EDGE at time 2/5, 1 above it
    assert pair(turning_0, EDGE, 1.0, turning_1) == -1.0
    assert pair(turning_0, EDGE, 0.0, turning_1, radius=1.0 - 2.0**-40) == -1.0
    assert pair(turning_0, EDGE, math.nextafter(1.0, 2.0), turning_1) == 0.0
    flipping = TRIANGLE * [1, -2, 1]  # without area at time 1/3
    assert pair([[2, 0, 1]], TRIANGLE, 1.0, None, flipping) == -1.0
    assert pair([[2, 1, 3]], TRIANGLE, 0.0, None, flipping, radius=2.5) == -1.0
    assert pair([[2, 1, 1]], np.zeros((3, 3)), 2.0) == -1.0  # a point, the root of 6 away
    assert pair([[2, 1, 1]], np.zeros((3, 3)), 2.5) == 0.0


def sampled_distances(x_0, x_1, k, times):
    """Distances of a moving pair at some times, by the other implementation."""
    x = x_0 + times[:, None, None] * (x_1 - x_0)
    if k == 2:
        return geometry.edge_edge(x).distance
    return geometry.vertex_triangle(np.concatenate([x, x[:, -1:]], axis=1) if x.shape[1] == 3 else x).distance


@pytest.mark.parametrize(("k", "n"), [(1, 4), (2, 4), (1, 3)])
def test_random_pairs_against_samples(k, n):
    """If not, a pair is missed, found too late, or found where it never was."""
    rng, times = np.random.default_rng(10 * k + n), np.linspace(0.0, 1.0, 401)
    found = 0
    for trial in range(400):
        whole = trial % 2  # of whole numbers many are degenerate
        x_0, x_1 = rng.integers(-3, 4, (2, n, 3)).astype(float) if whole else rng.normal(size=(2, n, 3))
        separation = float(rng.choice([0.02, 0.5, 1.0]))
        distances = sampled_distances(x_0, x_1, k, times)
        at = pair(x_0[:k], x_0[k:], separation, x_1[:k], x_1[k:])
        near = distances < separation * (1.0 - 1e-12)
        fastest = max(np.linalg.norm((x_1[i] - x_0[i]) - (x_1[j] - x_0[j])) for i in range(k) for j in range(k, n))
        step = fastest * times[1]
        if near.any():
            assert 0.0 <= at <= times[near.argmax()], "missed or late"
        if at >= 0.0:
            here = sampled_distances(x_0, x_1, k, np.array([at]))[0]
            assert here <= separation * (1.0 + 1e-12) + fastest * 2.0**-39 and distances.min() < separation + step, "invented"
            assert not near.any() or at >= times[near.argmax()] - times[1] or distances[near.argmax() - 1] < separation + step
        found += at >= 0.0
    assert 50 < found < 350


@pytest.mark.parametrize(("k", "n"), [(1, 4), (2, 4), (1, 3)])
def test_random_pairs_against_fractions(k, n):
    """If not, a pair one bit nearer than it may be is certified, in a frame or at a moment between two."""
    rng = np.random.default_rng(k + n)
    for trial in range(150):
        whole, t = trial % 2, Fraction(int(rng.integers(17)), 16)
        x_0, x_1 = rng.integers(-3, 4, (2, n, 3)).astype(float) if whole else rng.normal(size=(2, n, 3))
        start, end = ([[Fraction(value) for value in point] for point in x.tolist()] for x in (x_0, x_1))
        at = [[(1 - t) * a + t * b for a, b in zip(p, q, strict=True)] for p, q in zip(start, end, strict=True)]
        square = squared_distance(at[:k], at[k:])
        enough = math.sqrt(square)
        while Fraction(enough) ** 2 > square:
            enough = math.nextafter(enough, 0.0)
        too_much = math.nextafter(enough, math.inf)
        while Fraction(too_much) ** 2 <= square:
            enough, too_much = too_much, math.nextafter(too_much, math.inf)
        if enough == 0.0:
            continue
        assert 0.0 <= pair(x_0[:k], x_0[k:], too_much, x_1[:k], x_1[k:]) <= t
        # and where the moment is a frame, which then has to be made of doubles, exactly there
        if t.denominator == 1:
            x = x_1 if t else x_0
            assert pair(x[:k], x[k:], too_much) == 0.0 and pair(x[:k], x[k:], enough) == -1.0


def two_sheets(gap, n=6):
    grid = pdgpu.shapes.grid((1, 1), cells=(n, n))
    points = np.concatenate([grid.points, grid.points + [0.013, 0.017, gap]])
    return points, np.concatenate([grid.triangles, grid.triangles + len(grid.points)])


def test_certificate_with_a_separation():
    """If not, a trajectory that breaks its separation is certified, or one that keeps it is refused."""
    points, triangles = two_sheets(0.0625)
    upper = np.arange(len(points)) >= len(points) // 2
    slid = points + np.outer(upper, [0.25, 0.125, 0.0])
    kept = pdgpu.certify([points, slid], triangles, separation=0.0625)
    assert kept.clean and kept.separation == 0.0625 and "nothing nearer than 0.0625 m" in str(kept)
    broken = pdgpu.certify([points, slid], triangles, separation=math.nextafter(0.0625, 1.0))
    assert not broken.clean and sorted(broken.intersections) == [0, 1]
    found = broken.intersections[0]
    assert not len(found.edge_triangle) and len(found) == len(found.close_pairs)
    assert {near.kind for near in found.close_pairs} == {"vertex-triangle", "edge-edge"}
    assert all(near.distance == pytest.approx(0.0625, rel=1e-12) for near in found.close_pairs)
    assert {crossing.kind for crossing in broken.crossings} == {"vertex-triangle", "edge-edge"}
    # frames that keep it, and a way between that does not
    turned = points * [1.0, 1.0, np.nan]
    turned[:, 2] = np.where(upper, -0.0625, 0.0)
    for separation in (0.0, 0.03125):
        passed = pdgpu.certify([points, turned], triangles, separation=separation)
        assert not passed.intersections and passed.crossings
    # 0.0625 - 0.125 t = 0.03125; what touches without a separation is among what comes too near, and later
    assert min(crossing.time for crossing in passed.crossings) == pytest.approx(0.25, abs=1e-12)
    touching = {crossing[2:]: crossing.time for crossing in pdgpu.certify([points, turned], triangles).crossings}
    nearer = {crossing[2:]: crossing.time for crossing in passed.crossings}
    assert touching.keys() <= nearer.keys() and all(nearer[key] <= time for key, time in touching.items())
    assert [crossing[2:] for crossing in passed.crossings] == sorted(
        nearer, key=lambda key: (["vertex-triangle", "edge-edge", "vertex-edge"].index(key[0]), *key[1:])
    )


def test_rods_and_particles_keep_a_separation():
    """If not, only surfaces keep their distance."""
    points = np.array([[0, 0, 0], [2, 0, 0], [2, 2, 0], [0.5, 0.25, 1], [0.5, 1, 1], [9, 0, 0], [9, 0.5, 0]], dtype=float)
    arguments = {"edges": [[0, 1], [1, 2], [3, 4]], "particles": [5, 6]}
    assert pdgpu.certify([points], separation=0.5, **arguments).clean  # neighbours share a vertex
    found = pdgpu.certify([points], separation=0.75, **arguments).intersections[0]
    assert {near.kind for near in found.close_pairs} == {"edge-edge", "vertex-edge"}
    assert {vertex for near in found.close_pairs for vertex in found.edges[near.second]} == {5, 6}
    found = pdgpu.certify([points], separation=math.nextafter(math.hypot(0.25, 1.0), 2.0), **arguments).intersections[0]
    assert (0, 2) in {(near.first, near.second) for near in found.close_pairs if near.kind == "edge-edge"}
    found = pdgpu.certify([points], separation=2.5, **arguments).intersections[0]  # a vertex and the rod's other edge
    assert (2, 0) in {(near.first, near.second) for near in found.close_pairs if near.kind == "vertex-edge"}
    # towards each other between two frames
    end = points.copy()
    end[5:] = [[9, 2, 0], [9, -1.5, 0]]
    certificate = pdgpu.certify([points, end], separation=0.25, **arguments)
    assert not certificate.intersections
    assert all(0 <= Fraction(1, 16) - Fraction(crossing.time) <= Fraction(1, 2**40) for crossing in certificate.crossings)


def test_obstacles_owe_each_other_no_distance():
    """If not, no scene with a ball of fine triangles, or with one obstacle on another, is ever certified."""
    scene, ball = pdgpu.Scene(), pdgpu.shapes.sphere(0.5, 3)
    scene.add_particles([[0.0, 0.0, 5.0]], mass=1.0)
    for x in (0.0, 1.001):
        scene.add_obstacle(pdgpu.Mesh(ball.points + [x, 0.0, 0.0], triangles=ball.triangles))
    assert pdgpu.certify([[[0.0, 0.0, 5.0]]] * 2, scene, separation=0.1).clean
    found = pdgpu.certify([[[0.0, 0.0, 0.55]]] * 2, scene, separation=0.1)
    assert {near.kind for near in found.intersections[0].close_pairs} == {"vertex-triangle", "edge-edge", "vertex-edge"}


def test_threads_and_bad_input():
    points, triangles = two_sheets(0.05, n=10)
    upper = np.arange(len(points)) >= len(points) // 2
    frames = [points, points - np.outer(upper, [0.0, 0.0, 0.06])]
    one, two = (pdgpu.certify(frames, triangles, separation=0.02, threads=threads) for threads in (1, 2))
    assert one.crossings == two.crossings and len(one.crossings) > 1000
    assert one.intersections[1].close_pairs == two.intersections[1].close_pairs
    for separation, message in ((-1e-9, "at least 0"), (np.nan, "finite"), (np.inf, "finite")):
        with pytest.raises(ValueError, match=f"separation: must be {message}"):
            pdgpu.certify(frames, triangles, separation=separation)
    with pytest.raises(TypeError, match="separation: expected a number"):
        pdgpu.certify(frames, triangles, separation="auto")
    rows = np.zeros((1, 1), np.int32)
    with pytest.raises(ValueError, match="radii: must be finite and at least 0, and greater than 0 where the separation is 0, at row 0"):
        _host.find_approaches(TRIANGLE, TRIANGLE, rows, np.array([[1, 2]], np.int32), np.zeros(1), 0.0, np.zeros(3, np.uint8), False, 1)
    with pytest.raises(ValueError, match="second: expected rows of 2 or 3"):
        _host.find_approaches(TRIANGLE, TRIANGLE, rows, rows, np.zeros(1), 1.0, np.zeros(3, np.uint8), False, 1)
