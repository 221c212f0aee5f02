"""Pairs without length, area or distance, far from the origin, tiny and huge: finite answers, and the right ones."""

from fractions import Fraction

import numpy as np
import pytest

from pdgpu import geometry

CORNERS = {"vertex_vertex": 2, "vertex_edge": 3, "vertex_triangle": 4, "edge_edge": 4}
every_pair = pytest.mark.parametrize("pair", CORNERS)
both_precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def exact_square(pair, x):
    """The squared distance in rational arithmetic: the least over all features."""
    x = [[Fraction(float(value)) for value in corner] for corner in x]

    def minus(a, b):
        return [p - q for p, q in zip(a, b, strict=True)]

    def dot(a, b):
        return sum(p * q for p, q in zip(a, b, strict=True))

    def cross(a, b):
        return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]

    def segment(p, a, b):
        q, e = minus(p, a), minus(b, a)
        ee = dot(e, e)
        t = min(max(dot(q, e) / ee, 0), 1) if ee else 0
        r = minus(q, [t * value for value in e])
        return dot(r, r)

    if pair == "vertex_vertex":
        return segment(x[0], x[1], x[1])
    if pair == "vertex_edge":
        return segment(*x)
    if pair == "vertex_triangle":
        best = min(segment(x[0], x[1], x[2]), segment(x[0], x[2], x[3]), segment(x[0], x[3], x[1]))
        e, f, q = minus(x[2], x[1]), minus(x[3], x[1]), minus(x[0], x[1])
        n = cross(e, f)
        a, b = dot(cross(q, f), n), dot(cross(e, q), n)
        inside = a >= 0 and b >= 0 and a + b <= dot(n, n)
    else:
        best = min(segment(x[0], x[2], x[3]), segment(x[1], x[2], x[3]), segment(x[2], x[0], x[1]), segment(x[3], x[0], x[1]))
        e, f, q = minus(x[1], x[0]), minus(x[3], x[2]), minus(x[2], x[0])
        n = cross(e, f)
        a, b = dot(cross(q, f), n), dot(cross(q, e), n)
        inside = 0 <= a <= dot(n, n) and 0 <= b <= dot(n, n)
    if inside and dot(n, n):
        best = min(best, dot(q, n) ** 2 / dot(n, n))
    return best


def degenerate_pairs(pair, seed=0):
    """Everything that may go wrong, and thin shapes of every thinness."""
    random = np.random.default_rng(seed)
    k, cases = CORNERS[pair], []
    cases.append(np.zeros((k, 3)))
    cases.append(np.ones((k, 3)))
    for _ in range(40):
        x = random.normal(size=(k, 3))
        for j in range(k):
            for other in range(j):  # two corners coincide
                same = x.copy()
                same[j] = same[other]
                cases.append(same)
        line = x.copy()
        line[1:] = x[1] + random.normal(size=(k - 1, 1)) * x[0]  # all but the first on a line
        cases.append(line)
        cases.append(x[:1] * random.normal(size=(k, 1)))  # all on a line
        cases.append(np.round(x))  # on a lattice: exact contacts, coplanar, collinear
        thin = x.copy()
        thin[:, 2] *= 10.0 ** random.uniform(-17, 0)
        thin[-1] = thin[-2] + (thin[1] - thin[0]) + random.normal(size=3) * 10.0 ** random.uniform(-17, 0)
        cases.append(thin)
    return np.array(cases)


@every_pair
@both_precisions
def test_nothing_is_ever_nan(pair, dtype):
    """If not, one bad element of a mesh poisons the whole step."""
    x = degenerate_pairs(pair).astype(dtype)
    for scale in (1e-3, 1.0, 1e3):
        at = x * dtype(scale)
        found = getattr(geometry, pair)(at)
        for array in (found.distance, found.weights, found.gap, found.normal, geometry.lower_bound(pair, at)):
            assert np.isfinite(array).all()
        np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1, atol=1e-5 if dtype == np.float32 else 1e-14)
        for squared in (False, True):
            assert np.isfinite(geometry.gradient(pair, at, squared=squared)).all()
            assert np.isfinite(geometry.hessian(pair, at, squared=squared)).all()
    if pair == "edge_edge":
        assert all(np.isfinite(array).all() for array in geometry.edge_edge_mollifier(x, x, derivatives=True))


@every_pair
@both_precisions
def test_distance_and_bound_against_rational_arithmetic(pair, dtype):
    """If the bound is above the distance, collision detection misses contacts."""
    x = np.concatenate([degenerate_pairs(pair, seed=1), np.random.default_rng(2).normal(size=(300, CORNERS[pair], 3))]).astype(dtype)
    exact = [exact_square(pair, corner) for corner in x]
    size = np.abs(x - x[:, :1]).max(axis=(1, 2))
    distance, bound = getattr(geometry, pair)(x).distance, geometry.lower_bound(pair, x)
    assert all(Fraction(float(low)) ** 2 <= square for low, square in zip(bound, exact, strict=True))
    u = np.finfo(dtype).eps
    truth = np.sqrt(np.array([float(square) for square in exact]))
    assert (np.abs(distance - truth) <= 40 * u * size).all()
    loss = (truth - bound)[-300:] / size[-300:]  # the random ones, which are well shaped
    assert np.quantile(loss, 0.9) < 100 * u


@every_pair
def test_far_from_the_origin(pair):
    """If not, a scene away from the origin loses its contacts; coordinates are rounded to 2^-20 first, so that moving them is exact."""
    x = np.round(np.random.default_rng(3).normal(size=(500, CORNERS[pair], 3)) * 2**20) / 2**20
    here, far = getattr(geometry, pair)(x), getattr(geometry, pair)(x + 2.0**17)
    np.testing.assert_array_equal(here.distance, far.distance)
    np.testing.assert_array_equal(here.feature, far.feature)
    np.testing.assert_array_equal(here.weights, far.weights)


@every_pair
@both_precisions
@pytest.mark.parametrize("exponent", [-100, -10, 10, 100])
def test_scaling_by_a_power_of_two_scales_the_answer(pair, dtype, exponent):
    """If not, a mesh in millimetres behaves unlike the same in metres."""
    x = np.random.default_rng(4).normal(size=(500, CORNERS[pair], 3)).astype(dtype)
    scale = dtype(2.0**exponent)
    small, large = getattr(geometry, pair)(x), getattr(geometry, pair)(x * scale)
    np.testing.assert_array_equal(small.distance * scale, large.distance)
    np.testing.assert_array_equal(small.feature, large.feature)


def test_parallel_and_identical_edges():
    """If not, edges that lie along each other have no distance."""
    edge = np.array([[0.0, 0, 0], [1, 0, 0]])
    for shift, expected in (((0, 0, 0), 0), ((0.25, 0, 0), 0), ((0.25, 2, 0), 2), ((3, 0, 0), 2), ((-4, 0, 4), 5)):
        for other in (edge, edge[::-1]):
            found = geometry.edge_edge([np.concatenate([edge, other + shift])])
            np.testing.assert_allclose(found.distance, [expected], rtol=1e-15, atol=1e-15)


def test_bad_input_is_named():
    """If not, a wrong array gives a wrong answer instead of an error."""
    good = np.zeros((2, 4, 3))
    with pytest.raises(ValueError, match=r"x: expected shape \(any, 4, 3\), got \(2, 3, 3\)"):
        geometry.vertex_triangle(np.zeros((2, 3, 3)))
    bad = good.copy()
    bad[1, 2, 0] = np.nan
    with pytest.raises(ValueError, match=r"x: value nan at \(1, 2, 0\) is not finite"):
        geometry.edge_edge(bad)
    with pytest.raises(TypeError, match="x: expected real numbers"):
        geometry.edge_edge(good + 1j)
    with pytest.raises(ValueError, match="pair: expected one of 'vertex_vertex'"):
        geometry.gradient("face_face", good)
    with pytest.raises(ValueError, match="rest: expected shape"):
        geometry.edge_edge_mollifier(good, good[:1])
    with pytest.raises(ValueError, match="threads"):
        geometry.vertex_vertex(np.zeros((1, 2, 3)), threads=-1)
    assert geometry.vertex_triangle(np.zeros((0, 4, 3))).distance.shape == (0,)
    assert geometry.hessian("vertex_edge", np.zeros((0, 3, 3), np.float32)).shape == (0, 9, 9)
    assert geometry.gradient("edge_edge", good.tolist()).dtype == np.float64
