"""The broad phase: three structures, one answer, and that is the one of brute force."""

import itertools

import numpy as np
import pytest
from broad_phase_scenes import digest, random_scene, three_spheres

import pdgpu
from pdgpu.collision.collision import METHODS, BroadPhase, Pairs, ProximitySet


def brute_force(phase, x_t0, x_t1, distance, fixed=None, bodies=None, own=True):
    """All pairs whose widened boxes overlap, by comparing all boxes with all."""
    n = phase.n_points
    fixed = np.zeros(n, bool) if fixed is None else fixed
    bodies = np.zeros(n, int) if bodies is None else np.asarray(bodies)
    own = np.broadcast_to(np.asarray(own), int(bodies.max(initial=0)) + 1)
    x = np.stack([x_t0, x_t0 if x_t1 is None else x_t1]).astype(phase.dtype)

    def boxes(rows):
        corners = x[:, rows].astype(np.float64)
        return corners.min(axis=(0, 2)) - distance / 2, corners.max(axis=(0, 2)) + distance / 2

    def pairs(first, second, upper):
        (low_a, high_a), (low_b, high_b) = boxes(first), boxes(second)
        overlap = (low_a[:, None] <= high_b).all(axis=2) & (low_b <= high_a[:, None]).all(axis=2)
        overlap &= ~(first[:, None, :, None] == second[None, :, None, :]).any(axis=(2, 3))
        overlap &= ~(fixed[first].all(axis=1)[:, None] & fixed[second].all(axis=1))
        body_a, body_b = bodies[first[:, 0]][:, None], bodies[second[:, 0]]
        overlap &= (body_a != body_b) | own[body_a]
        return np.argwhere(np.triu(overlap, 1) if upper else overlap).astype(np.int32)

    vertex_triangle = pairs(phase.vertices[:, None], phase.triangles, False)
    vertex_triangle[:, 0] = phase.vertices[vertex_triangle[:, 0]]
    return Pairs(vertex_triangle, pairs(phase.edges, phase.edges, True))


# 40 scenes have each kind of primitive, fixed points and bodies in both precisions
@pytest.mark.parametrize("seed", [pytest.param(k, marks=[pytest.mark.stress] if k >= 40 else []) for k in range(100)])
def test_brute_force(seed):
    """If it failed, a pair that touches would never be looked at, and a simulation would pass through itself."""
    rest, end, triangles, rods, distance, options = random_scene(seed)
    dtype = "float32" if seed % 2 else "float64"
    expected = None
    for method, threads in itertools.product(METHODS, (1, 2, 3)):
        phase = BroadPhase(rest, triangles, rods, method=method, dtype=dtype, threads=threads, **options)
        found = phase.pairs(rest, end, distance=distance)
        if expected is None:
            expected = brute_force(phase, rest, end, distance, **options)
        for part, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(part, wanted, err_msg=f"{method}, {threads} threads")
        assert digest(found) == digest(expected)


@pytest.mark.each_choice
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("own", [True, False, [True, False, True]])
def test_bodies(method, own):
    """Self-collision body by body, and collisions between bodies in any case."""
    points, triangles, bodies = three_spheres(2)
    fixed = bodies == 2
    phase = BroadPhase(points, triangles, method=method, bodies=bodies, self_collision=own, fixed=fixed)
    found = phase.pairs(points, distance=0.05)
    assert digest(found) == digest(brute_force(phase, points, None, 0.05, fixed, bodies, own))
    assert len(found.vertex_triangle) > 0 and len(found.edge_edge) > 0
    assert not (fixed[found.vertex_triangle[:, 0]] & fixed[phase.triangles[found.vertex_triangle[:, 1], 0]]).any()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.stress)])
def test_a_large_scene(dtype):
    """Trees of several levels, sorts of long keys and the work of several threads lose nothing, and a refit loses nothing either."""
    rng = np.random.default_rng(16)
    grid = pdgpu.shapes.grid((1.4, 1.2), cells=(120, 100))
    start = grid.points + 0.003 * rng.standard_normal(grid.points.shape)
    end = start + 0.005 * rng.standard_normal(3)
    phases = [
        BroadPhase(grid.points, grid.triangles, method=method, dtype=dtype, threads=threads) for method in METHODS for threads in (1, 3)
    ]
    found = phases[0].pairs(start, end, distance=0.002)
    assert len(found.edge_edge) > 2 * len(phases[0].edges) > 2**16
    for part in found:
        assert (np.diff(part[:, 0].astype(np.int64) << 32 | part[:, 1]) > 0).all()  # sorted, each once
    for phase in phases:
        assert digest(phase.pairs(start, end, distance=0.002)) == digest(found), (phase.method, dtype)
    # the pairs of some hundred edges, against all edges
    edges = phases[0].edges
    x = np.stack([start, end]).astype(dtype).astype(np.float64)
    low, high = (bound(x[:, edges], axis=(0, 2)) for bound in (np.min, np.max))
    for edge in range(0, len(edges), 200):
        touching = (low <= high[edge] + 0.002).all(axis=1) & (low[edge] <= high + 0.002).all(axis=1)
        touching &= ~np.isin(edges, edges[edge]).any(axis=1)
        pairs = found.edge_edge[(found.edge_edge == edge).any(axis=1)]
        assert sorted((pairs.sum(axis=1) - edge).tolist()) == np.flatnonzero(touching).tolist()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", METHODS)
def test_far_away(method, dtype):
    """1e5 m from the origin float32 has steps of 8 mm: what coincides there is still found."""
    rng = np.random.default_rng(17)
    points = (1e5 + rng.integers(0, 8, (60, 3)) / 64.0).astype(dtype).astype(float)
    phase = BroadPhase(points, np.arange(60).reshape(-1, 3), method=method, dtype=dtype)
    assert digest(phase.pairs(points)) == digest(brute_force(phase, points, None, 0.0))


def test_refit_and_rebuild():
    """A refitted tree finds what a new one does, step after step; a scrambled scene makes it build again."""
    rng = np.random.default_rng(12)
    grid = pdgpu.shapes.grid((1, 1), cells=(20, 20))
    phases = {method: BroadPhase(grid.points, grid.triangles, method=method) for method in METHODS}
    built = BroadPhase(grid.points, grid.triangles)
    x = grid.points.copy()
    for _ in range(6):
        x = x + 0.01 * rng.standard_normal(x.shape)
        expected = digest(built.pairs(x, distance=0.02, rebuild=True))
        assert {digest(phase.pairs(x, distance=0.02)) for phase in phases.values()} == {expected}
    assert built.counts["builds"] == 12 and built.counts["refits"] == 0
    counts = phases["lbvh"].counts
    assert counts["builds"] == 2 and counts["refits"] == 10
    scrambled = rng.permutation(x)
    assert digest(phases["lbvh"].pairs(scrambled)) == digest(phases["hash"].pairs(scrambled)) == digest(phases["patches"].pairs(scrambled))
    assert phases["lbvh"].counts["builds"] == 4


@pytest.mark.parametrize("method", METHODS)
def test_room_grows_and_no_pair_is_lost(method):
    """Far more pairs than the first lists hold; the room is at most twice what was needed, and is kept."""
    rng = np.random.default_rng(13)
    points = rng.random((300, 3))
    triangles = np.arange(300).reshape(-1, 3)
    phase = BroadPhase(points, triangles, method=method)
    found = phase.pairs(points, distance=2.0)  # everything is near everything
    assert len(found.vertex_triangle) == 300 * 99 and len(found.edge_edge) == 300 * 297 // 2
    counts = phase.counts
    assert counts["retries"] >= 2
    needed = len(found.vertex_triangle) + len(found.edge_edge)
    assert needed <= counts["pair_capacity"] <= 2 * needed
    assert digest(phase.pairs(points, distance=2.0)) == digest(found)
    assert phase.counts["retries"] == counts["retries"]


def test_a_large_list_has_little_empty_room():
    """If lists of millions of pairs doubled, layers of cloth would take up to twice the memory of their pairs."""
    rng = np.random.default_rng(17)
    points = rng.random((1950, 3))
    phase = BroadPhase(points, np.arange(1950).reshape(-1, 3))
    found = phase.pairs(points, distance=2.0)
    needed = len(found.vertex_triangle) + len(found.edge_edge)
    assert len(found.vertex_triangle) == 1950 * 649 and len(found.edge_edge) == 1950 * 1947 // 2
    assert needed <= phase.counts["pair_capacity"] <= 1.13 * needed


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_primitives(method, dtype):
    """None, one and two of a kind."""
    nothing = BroadPhase(np.zeros((0, 3)), [], method=method, dtype=dtype).pairs(np.zeros((0, 3)))
    assert [part.shape for part in nothing] == [(0, 2), (0, 2)]
    one = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert [len(part) for part in BroadPhase(one, [[0, 1, 2]], method=method, dtype=dtype).pairs(one)] == [0, 0]
    two = one + [[0, 0, 0.5], [1, 0, 0.5], [0, 1, 0.5]]
    phase = BroadPhase(two, [[0, 1, 2], [3, 4, 5]], method=method, dtype=dtype)
    assert [len(part) for part in phase.pairs(two)] == [0, 0]
    assert [len(part) for part in phase.pairs(two, distance=0.5)] == [6, 9]  # touching boxes overlap
    assert [len(part) for part in phase.pairs(two, distance=0.49)] == [0, 0]
    down = np.array(two) - np.repeat([[0, 0, 0], [0, 0, 1.0]], 3, axis=0)
    assert [len(part) for part in phase.pairs(two, down)] == [6, 9]
    rods = [[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]]
    assert BroadPhase(rods, [], [[0, 1], [2, 3]], method=method, dtype=dtype).pairs(rods).edge_edge.tolist() == [[0, 1]]
    particle = one + [[0.2, 0.2, 0]]
    phase = BroadPhase(particle, [[0, 1, 2]], particles=[3], method=method, dtype=dtype)
    assert phase.pairs(particle).vertex_triangle.tolist() == [[3, 0]]
    same = BroadPhase(np.ones((6, 3)), [[0, 1, 2], [3, 4, 5]], method=method, dtype=dtype)
    assert [len(part) for part in same.pairs(np.ones((6, 3)))] == [6, 9]


def test_every_contact_is_among_the_pairs():
    """What the exact verifier sees in a step has overlapping boxes in float32 too, once distances allow for its rounding."""
    rng = np.random.default_rng(14)
    if not pdgpu._host.HAS_GMP:
        pytest.skip("this build has no GMP")
    points = rng.random((90, 3)).astype(np.float32)
    end = (points + 0.3 * rng.standard_normal(points.shape)).astype(np.float32)
    triangles = np.arange(90).reshape(-1, 3)
    crossings = pdgpu.certify([points, end], triangles, gap=False).crossings
    assert len(crossings) > 20
    for method in METHODS:
        found = BroadPhase(points, triangles, method=method, dtype="float32").pairs(points, end)
        sets = {"vertex-triangle": set(map(tuple, found.vertex_triangle.tolist())), "edge-edge": set(map(tuple, found.edge_edge.tolist()))}
        assert all((crossing.first, crossing.second) in sets[crossing.kind] for crossing in crossings)


@pytest.mark.parametrize("method", METHODS)
def test_proximity_set(method):
    """Every pair nearer than the distance it vouches for is in the set, by measuring all pairs; and it searches only when it must."""
    rng = np.random.default_rng(15)
    points = rng.random((90, 3))
    triangles = np.arange(90).reshape(-1, 3)
    near = ProximitySet(BroadPhase(points, triangles, method=method), 0.02, 0.06)
    edges = near.broad_phase.edges
    vertex_triangle = np.array([(v, t) for v in range(90) for t in range(30) if v // 3 != t])
    edge_edge = np.array([(a, b) for a, b in itertools.combinations(range(90), 2) if not set(edges[a]) & set(edges[b])])
    x = points
    for _ in range(40):
        x = x + 0.003 * (rng.random(x.shape) - 0.5)
        pairs = near.update(x)
        assert near.minimum < near.distance <= near.maximum
        corners = np.concatenate([x[vertex_triangle[:, :1]], x[triangles[vertex_triangle[:, 1]]]], axis=1)
        distances = (
            pdgpu.geometry.vertex_triangle(corners).distance,
            pdgpu.geometry.edge_edge(x[edges[edge_edge]].reshape(-1, 4, 3)).distance,
        )
        for held, all_pairs, distance in zip(pairs, (vertex_triangle, edge_edge), distances, strict=True):
            close = set(map(tuple, all_pairs[distance < near.distance].tolist()))
            assert close and close <= set(map(tuple, held.tolist()))
    assert near.updates == 40 and 1 < near.searches < 30
    searches = near.searches
    near.update(x)
    assert near.searches == searches  # nothing moved
    near.update(x + 1.0)
    assert near.searches == searches + 1


@pytest.mark.parametrize("method", METHODS)
def test_a_proximity_set_leaves_out_what_is_plainly_farther(method):
    """Every later look at the set would measure many times as many pairs as are near."""
    points = np.random.default_rng(15).random((90, 3))
    triangles = np.arange(90).reshape(-1, 3)
    near = ProximitySet(BroadPhase(points, triangles, method=method), 0.02, 0.06)
    vertex_triangle, edge_edge = near.update(points)
    edges = near.broad_phase.edges
    corners = np.concatenate([points[vertex_triangle[:, :1]], points[triangles[vertex_triangle[:, 1]]]], axis=1)
    assert (pdgpu.geometry.vertex_triangle(corners).distance < 1.01 * near.maximum).mean() > 0.9
    assert (pdgpu.geometry.edge_edge(points[edges[edge_edge]].reshape(-1, 4, 3)).distance < 1.01 * near.maximum).mean() > 0.9


POINTS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("change", "exception", "message"),
    [
        ({"method": "octree"}, ValueError, "method: expected one of"),
        ({"triangles": [[0, 1, 4]]}, ValueError, "triangles: index 4 at row 0 is out of range for 4 points"),
        ({"points": [[0, 0, np.nan]] * 4}, ValueError, r"points: value nan at \(0, 2\) is not finite"),
        ({"bodies": [0, 0, 1, 1]}, ValueError, r"bodies: row 1 of edges has vertices of bodies \[0, 1\]"),
        ({"bodies": [0, 0]}, ValueError, r"bodies: expected shape \(4,\)"),
        ({"bodies": [0, 0, 0, -1]}, ValueError, "bodies: must be between 0 and .*, got -1 at 3"),
        ({"self_collision": [True, True]}, ValueError, r"self_collision: expected shape \(1,\)"),
        ({"self_collision": 1}, TypeError, "self_collision: expected booleans"),
        ({"fixed": [7]}, ValueError, "fixed: index 7 at 0 is out of range"),
        ({"dtype": "float16"}, ValueError, "dtype: expected"),
    ],
)
def test_bad_arguments(change, exception, message):
    arguments = {"points": POINTS, "triangles": [[0, 1, 2]], **change}
    with pytest.raises(exception, match=message):
        BroadPhase(**arguments)


@pytest.mark.parametrize(
    ("x_t0", "x_t1", "options", "message"),
    [
        (np.full((4, 3), np.nan), None, {}, r"x_t0: value nan at \(0, 0\) is not finite"),
        (POINTS, np.full((4, 3), np.inf), {}, r"x_t1: value inf at \(0, 0\) is not finite"),
        (POINTS[:3], None, {}, r"x_t0: expected shape \(4, 3\), got \(3, 3\)"),
        (POINTS, None, {"distance": -1}, "distance: must be at least 0"),
        (POINTS, None, {"distance": np.nan}, "distance: must be finite"),
        (np.full((4, 3), 1e38), None, {}, r"x_t0: value 1e\+38 at \(0, 0\) is too large for float32"),
    ],
)
def test_bad_positions(x_t0, x_t1, options, message):
    phase = BroadPhase(POINTS, [[0, 1, 2]], dtype="float32")
    with pytest.raises(ValueError, match=message):
        phase.pairs(x_t0, x_t1, **options)
