"""Gradient and Hessian of distances and of the mollifier are the derivatives of what they say."""

import numpy as np
import pytest

from pdgpu import geometry

CORNERS = {"vertex_vertex": 2, "vertex_edge": 3, "vertex_triangle": 4, "edge_edge": 4}
STEP = 1e-6
every_pair = pytest.mark.parametrize("pair", CORNERS)
both = pytest.mark.parametrize("squared", [False, True], ids=["distance", "squared"])


def samples(pair, n=400, seed=0):
    """Random pairs that stay with their feature when a corner moves by STEP, and every feature among them."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, CORNERS[pair], 3))
    found = getattr(geometry, pair)(x)
    nearby = np.ones(n, bool)
    for _ in range(8):
        moved = getattr(geometry, pair)(x + 20 * STEP * random.choice([-1, 1], x.shape))
        nearby &= moved.feature == found.feature
    keep = nearby & (found.distance > 0.05)
    assert set(found.feature[keep]) == set(range({"vertex_vertex": 1, "vertex_edge": 3, "vertex_triangle": 7, "edge_edge": 9}[pair]))
    return x[keep]


def central_differences(function, x):
    columns = []
    for k in range(x.shape[1]):
        for i in range(3):
            shift = np.zeros_like(x)
            shift[:, k, i] = STEP
            columns.append((function(x + shift) - function(x - shift)) / (2 * STEP))
    return np.stack(columns, axis=-1)


@every_pair
@both
def test_gradient(pair, squared):
    """If not, contact forces point the wrong way."""
    x = samples(pair)

    def value(at):
        d = getattr(geometry, pair)(at).distance
        return d * d if squared else d

    numeric = central_differences(value, x).reshape(x.shape)
    assert np.abs(geometry.gradient(pair, x, squared=squared) - numeric).max() < 1e-7


@every_pair
@both
def test_hessian(pair, squared):
    """If not, Newton's method on contacts does not converge quadratically."""
    x = samples(pair, seed=1)
    numeric = central_differences(lambda at: geometry.gradient(pair, at, squared=squared).reshape(len(at), -1), x)
    hessian = geometry.hessian(pair, x, squared=squared)
    np.testing.assert_array_equal(hessian, hessian.transpose(0, 2, 1))
    scale = np.abs(numeric).max(axis=(1, 2))
    assert (np.abs(hessian - numeric).max(axis=(1, 2)) / scale).max() < 1e-5


@every_pair
def test_rigid_motion_changes_nothing(pair):
    """If not, momentum is not conserved."""
    x = samples(pair, seed=2)
    slope, k = geometry.gradient(pair, x), CORNERS[pair]
    np.testing.assert_allclose(slope.sum(axis=1), 0, atol=1e-14)
    np.testing.assert_allclose(np.cross(x, slope).sum(axis=1), 0, atol=1e-12)
    hessian = geometry.hessian(pair, x).reshape(-1, 3 * k, k, 3)
    np.testing.assert_allclose(hessian.sum(axis=2), 0, atol=1e-11 * np.abs(hessian).max())


def test_hessian_is_finite_through_touching():
    """If not, a face contact that closes to nothing stops the solver with NaN."""
    for height in (1e-3, 1e-12, 0.0, -1e-12):
        face = np.array([[[1, 1, height], [0, 0, 0], [4, 0, 0], [0, 3, 0]]])
        crossing = np.array([[[-1, 0, height], [1, 0.5, height], [0, -1, 0], [0, 1, 0]]])
        for pair, x in (("vertex_triangle", face), ("edge_edge", crossing)):
            far = x.copy()
            far[:, : 1 if pair == "vertex_triangle" else 2, 2] = 0.5 if height >= 0 else -0.5
            # the parts that do not depend on the height
            near, other = geometry.hessian(pair, x), geometry.hessian(pair, far)
            assert np.isfinite(near).all() and np.abs(near).max() < 4 * np.abs(other).max() + 4


def mollifier_samples(seed=3):
    random = np.random.default_rng(seed)
    rest = random.normal(size=(60, 4, 3))
    x = rest + 0.1 * random.normal(size=rest.shape)
    # nearly parallel, with sines from 1e-3 to 0.1 around the threshold of 1e-3 in the square
    sine = 10.0 ** random.uniform(-3, -1, (60, 1))
    x[:, 3] = x[:, 2] + (x[:, 1] - x[:, 0]) + sine * random.normal(size=(60, 3))
    return x, rest


def test_mollifier_value_by_hand():
    """If not, parallel edges get another energy than the published one."""
    rest = np.array([[[0, 0, 0], [2, 0, 0], [0, 0, 1], [3, 0, 1]]], float)  # eps = 1e-3 * 4 * 9 = 0.036
    for y, c in ((0.0, 0.0), (0.05, 0.01), (0.09, 0.0324), (1.0, 4.0)):
        x = rest.copy()
        x[0, 3] = (0, y, 1)  # b = (0, y, 0), a = (2, 0, 0): c = (2y)^2
        expected = (2 - c / 0.036) * (c / 0.036) if c < 0.036 else 1.0
        np.testing.assert_allclose(geometry.edge_edge_mollifier(x, rest), [expected], rtol=1e-12, atol=1e-15)


def test_mollifier_derivatives():
    """If not, nearly parallel edges get a force that is not that of their energy."""
    x, rest = mollifier_samples()
    value, gradient, hessian = geometry.edge_edge_mollifier(x, rest, derivatives=True)
    inside = value < 0.999
    assert 20 < inside.sum() < 60 and (value[~inside] == 1).any()
    numeric = central_differences(lambda at: geometry.edge_edge_mollifier(at, rest), x).reshape(x.shape)
    assert (np.abs(gradient - numeric)[inside].max(axis=(1, 2)) / np.abs(numeric)[inside].max(axis=(1, 2))).max() < 1e-5
    numeric = central_differences(lambda at: geometry.edge_edge_mollifier(at, rest, derivatives=True)[1].reshape(len(at), -1), x)
    assert (np.abs(hessian - numeric)[inside].max(axis=(1, 2)) / np.abs(numeric)[inside].max(axis=(1, 2))).max() < 1e-5
    np.testing.assert_allclose(hessian, hessian.transpose(0, 2, 1), rtol=1e-12, atol=1e-12)
    assert not gradient[value == 1].any() and not hessian[value == 1].any()


def test_float32_agrees_with_float64():
    """If not, one precision runs another formula."""
    for pair in CORNERS:
        x = samples(pair, seed=4).astype(np.float32)
        for function in (geometry.gradient, geometry.hessian):
            single, double = function(pair, x), function(pair, x.astype(np.float64))
            assert single.dtype == np.float32 and double.dtype == np.float64
            scale = np.abs(double).max(axis=(1, 2))
            assert np.quantile(np.abs(single - double).max(axis=(1, 2)) / scale, 0.99) < 1e-3
