"""Closest points of pairs: every feature, against a search over the parameters and against exact answers."""

import numpy as np
import pytest
from inputs import data_file
from pdgpu.geometry import EdgeEdgeFeature, VertexEdgeFeature, VertexTriangleFeature

from pdgpu import geometry

PAIRS = {"vertex_vertex": 2, "vertex_edge": 3, "vertex_triangle": 4, "edge_edge": 4}
FIRST = {"vertex_vertex": 1, "vertex_edge": 1, "vertex_triangle": 1, "edge_edge": 2}
TRIANGLE = np.array([[0, 0, 0], [4, 0, 0], [0, 3, 0]], float)


def random_pairs(pair, n, seed=0):
    """Pairs of any shape, a third of them thin or nearly parallel."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, PAIRS[pair], 3))
    x[::3, :, 2] *= 1e-3
    if PAIRS[pair] == 4:
        x[1::3, 3] = x[1::3, 2] + (x[1::3, 1] - x[1::3, 0]) * random.normal(size=(len(x[1::3]), 1)) + 1e-4 * x[1::3, 3]
    return x


def searched_distance(pair, x, steps=260):
    """The smallest distance over the parameters in 80-bit arithmetic: for each value of the first parameter the best second one, and the
    interval of the first, over which that is convex, is cut by thirds."""
    x = x.astype(np.longdouble)
    x = x - x[:, :1]
    zero = np.zeros_like(x[:, 0])
    if pair == "vertex_vertex":
        gap, first, second = x[:, 0] - x[:, 1], zero, zero
    elif pair == "vertex_edge":
        gap, first, second = x[:, 0] - x[:, 1], x[:, 1] - x[:, 2], zero
    elif pair == "vertex_triangle":
        gap, first, second = x[:, 0] - x[:, 1], x[:, 1] - x[:, 2], x[:, 1] - x[:, 3]
    else:
        gap, first, second = x[:, 0] - x[:, 2], x[:, 1] - x[:, 0], x[:, 2] - x[:, 3]

    def best(a):
        at = gap + a[:, None] * first
        size = (second * second).sum(axis=1)
        b = -(at * second).sum(axis=1) / np.where(size > 0, size, 1)
        b = np.clip(b, 0, 1 - a if pair == "vertex_triangle" else 1)
        at = at + b[:, None] * second
        return (at * at).sum(axis=1)

    low, high = np.zeros(len(x), np.longdouble), np.ones(len(x), np.longdouble)
    for _ in range(steps):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        falls = best(left) > best(right)
        low, high = np.where(falls, left, low), np.where(falls, high, right)
    return np.sqrt(np.minimum(np.minimum(best(low), best(high)), np.minimum(best(np.zeros_like(low)), best(np.ones_like(low)))))


@pytest.mark.parametrize("pair", PAIRS)
def test_no_point_of_the_primitives_is_nearer(pair):
    """If not, a barrier acts on the wrong distance."""
    x = random_pairs(pair, 600)
    found, searched = getattr(geometry, pair)(x), searched_distance(pair, x)
    assert np.abs(found.distance - searched).max() < 3e-15 * np.abs(x).max()


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_gap_and_normal_belong_together(pair, dtype):
    """If not, contact forces do not add up to zero, or push sideways."""
    x = random_pairs(pair, 3000, seed=1).astype(dtype)
    found, first = getattr(geometry, pair)(x), FIRST[pair]
    u = np.finfo(dtype).eps
    assert found.distance.dtype == found.weights.dtype == found.gap.dtype == found.normal.dtype == dtype
    np.testing.assert_allclose(found.weights[:, :first].sum(axis=1), 1, atol=4 * u)
    np.testing.assert_allclose(found.weights[:, first:].sum(axis=1), -1, atol=4 * u)
    assert (found.weights[:, :first] >= 0).all() and (found.weights[:, first:] <= 0).all()
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1, atol=8 * u)
    np.testing.assert_allclose(found.gap, found.distance[:, None] * found.normal, atol=8 * u)
    # in a sliver the places themselves are uncertain, but only along it
    np.testing.assert_allclose(np.einsum("nk,nki->ni", found.weights, x), found.gap, atol=3e3 * u)


def test_every_feature_of_a_triangle():
    """If one is missing, vertices pass through that part of the surface."""
    over = {
        VertexTriangleFeature.VERTEX_0: (-1, -1),
        VertexTriangleFeature.VERTEX_1: (6, 0),
        VertexTriangleFeature.VERTEX_2: (0, 5),
        VertexTriangleFeature.EDGE_01: (2, -1),
        VertexTriangleFeature.EDGE_12: (4, 3),
        VertexTriangleFeature.EDGE_20: (-1, 1),
        VertexTriangleFeature.FACE: (1, 1),
    }
    outside = {0: 2**0.5, 1: 2, 2: 2, 3: 1, 4: 2.4, 5: 1, 6: 0}  # in the plane, by hand; the hypotenuse is 3x + 4y = 12
    for height in (0.0, 2.0, -2.0):
        x = np.array([[(*place, height), *TRIANGLE] for place in over.values()])
        found = geometry.vertex_triangle(x)
        assert list(found.feature) == list(over)
        np.testing.assert_allclose(found.distance, [np.hypot(outside[f], height) for f in over], rtol=1e-15)


def test_every_feature_of_an_edge():
    """If one is missing, codimensional contact loses it."""
    edge = [[0, 0, 0], [2, 0, 0]]
    found = geometry.vertex_edge([[[-3, 4, 0], *edge], [[5, 4, 0], *edge], [[1, 4, 3], *edge]])
    assert list(found.feature) == [VertexEdgeFeature.VERTEX_0, VertexEdgeFeature.VERTEX_1, VertexEdgeFeature.EDGE]
    np.testing.assert_array_equal(found.distance, [5, 5, 5])
    np.testing.assert_array_equal(found.weights, [[1, -1, 0], [1, 0, -1], [1, -0.5, -0.5]])


def test_every_feature_of_two_edges():
    """If one is missing, edges pass through each other there."""
    a = [(0, 0, 0), (2, 0, 0)]
    b = {
        EdgeEdgeFeature.A0_B0: [(-1, 0, 1), (-2, 5, 1)],
        EdgeEdgeFeature.A0_B1: [(-2, 5, 1), (-1, 0, 1)],
        EdgeEdgeFeature.A1_B0: [(3, 0, 1), (4, 5, 1)],
        EdgeEdgeFeature.A1_B1: [(4, 5, 1), (3, 0, 1)],
        EdgeEdgeFeature.A_B0: [(1, 1, 1), (1, 5, 1)],
        EdgeEdgeFeature.A_B1: [(1, 5, 1), (1, 1, 1)],
        EdgeEdgeFeature.A0_B: [(-1, -1, 1), (-1, 1, 1)],
        EdgeEdgeFeature.A1_B: [(3, -1, 1), (3, 1, 1)],
        EdgeEdgeFeature.A_B: [(1, -1, 1), (1, 1, 1)],
    }
    found = geometry.edge_edge([[*a, *other] for other in b.values()])
    assert list(found.feature) == list(b)
    np.testing.assert_allclose(found.distance, [2**0.5] * 8 + [1], rtol=1e-15)


def test_exact_distances_of_the_data():
    """If not, distances differ from rational arithmetic by more than rounding."""
    data = np.load(data_file("reference/distance_exact.npz"))
    for pair, mask in (("vertex_triangle", data["is_ee"] == 0), ("edge_edge", data["is_ee"] == 1)):
        x, region = data["X"][mask], data["region"][mask]
        size = np.abs(x - x[:, :1]).max(axis=(1, 2))
        found = getattr(geometry, pair)(x)
        assert (np.abs(found.distance**2 - data["d2"][mask]) / size**2).max() < 2e-15
        slope = geometry.gradient(pair, x, squared=True)
        known = region >= 0
        assert (np.abs(slope - data["grad"][mask])[known].max(axis=(1, 2)) / size[known]).max() < 1e-9
        # where another feature is named, both are equally near up to rounding
        assert (found.feature != region)[known].mean() < 0.01
        assert (geometry.lower_bound(pair, x) ** 2 <= data["d2"][mask] * (1 + 1e-15)).all()
