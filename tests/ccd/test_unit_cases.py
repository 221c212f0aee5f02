"""Collisions that can be worked out by hand, each a trap for root finders."""

import numpy as np
import pytest
from pdgpu.ccd import METHODS, Reason

from pdgpu import ccd

TRIANGLE = [(0.0, 0, 0), (1, 0, 0), (0, 1, 0)]
every_method = pytest.mark.parametrize("method", METHODS)
both_precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def vertex(start, end, triangle=TRIANGLE, triangle_end=None):
    """One vertex-triangle query."""
    return np.array([[start, *triangle]], float), np.array([[end, *(triangle if triangle_end is None else triangle_end)]], float)


def query(function, x, method, dtype=np.float64, **keywords):
    found = function(x[0].astype(dtype), x[1].astype(dtype), method=method, **keywords)
    assert found.toi.dtype == dtype
    assert not np.isnan(found.toi).any()
    return found


@every_method
@both_precisions
def test_vertex_falls_on_a_resting_triangle(method, dtype):
    """The commonest contact of all: the cubic is a line, and a Newton step to zero ends in the contact itself."""
    found = query(ccd.vertex_triangle, vertex((0.25, 0.25, 1), (0.25, 0.25, -1)), method, dtype)
    assert 0.4 < found.toi[0] < 0.5
    assert found.reason[0] == Reason.CONTACT


@every_method
@both_precisions
def test_coplanar_at_the_start_and_a_hit_later(method, dtype):
    """If a coplanar start is taken for the end, the vertex sticks beside the triangle; if the root is divided away, it is missed."""
    inwards = vertex((3, 0.25, 0), (-1, 0.25, 0))  # in the plane all the time: the cubic vanishes; contact at x = 0.75, t = 9/16
    found = query(ccd.vertex_triangle, inwards, method, dtype)
    assert 0.4 < found.toi[0] < 0.5625
    # in the plane only at the start; then the triangle tilts and the vertex slides over it
    start, end = (1.75, 0.25, 0), (-1.25, 0.25, 0)
    found = query(ccd.vertex_triangle, vertex(start, end, TRIANGLE, [(0, 0, 0), (1, 0, -1), (0, 1, 1)]), method, dtype)
    away = query(ccd.vertex_triangle, vertex(start, (1.75, 0.25, 3)), method, dtype)
    assert np.isfinite(found.toi[0]) and 0 < found.toi[0] < 0.6
    assert np.isinf(away.toi[0]) and away.reason[0] == Reason.NO_CONTACT


@every_method
@both_precisions
def test_first_coplanarity_is_outside_and_a_later_one_hits(method, dtype):
    """If only the first root is looked at, a triangle that swings past and comes back is missed."""
    # random queries, of which those are taken whose first sign change of the volume is outside and a later one inside
    found_any = 0
    random = np.random.default_rng(0)
    x0, x1 = random.uniform(-1, 1, (2, 4000, 4, 3))
    t = np.linspace(0, 1, 401)
    e = [x0[:, k] - x0[:, 1] for k in (0, 2, 3)]
    d = [(x1[:, k] - x1[:, 1]) - e_k for k, e_k in zip((0, 2, 3), e, strict=True)]
    at = [e_k[:, None] + t[:, None] * d_k[:, None] for e_k, d_k in zip(e, d, strict=True)]
    volume = np.einsum("nti,nti->nt", at[0], np.cross(at[1], at[2]))
    n = np.cross(at[1], at[2])
    nn = (n * n).sum(axis=-1)
    w1 = np.einsum("nti,nti->nt", np.cross(at[0], at[2]), n) / nn
    w2 = np.einsum("nti,nti->nt", np.cross(at[1], at[0]), n) / nn
    inside = (w1 > 0.01) & (w2 > 0.01) & (w1 + w2 < 0.99)
    crossing = volume[:, :-1] * volume[:, 1:] < 0
    for k in range(len(x0)):
        crossings = np.flatnonzero(crossing[k])
        hits = [c for c in crossings if inside[k, c] and inside[k, c + 1]]
        clear = [c for c in crossings if not (inside[k, c] or inside[k, c + 1])]
        if hits and clear and clear[0] < hits[0]:
            found_any += 1
            found = query(ccd.vertex_triangle, (x0[k : k + 1], x1[k : k + 1]), method, dtype)
            assert found.toi[0] <= t[hits[0] + 1]
    assert found_any > 20


@every_method
@both_precisions
@pytest.mark.parametrize("height", [1e-12, -1e-12, 0.0])
def test_grazing_double_root(method, dtype, height):
    """A vertex that dips to the plane and turns back: a double root that rounding may lose.

    The plane z = (2t - 1) y tilts, the vertex slides along y = 1 - 2t: its height over the plane is (2t - 1)^2 + height.
    """
    start = [(0, 1, height), (-5, 0, 0), (5, 5, -5), (5, -5, 5)]
    end = [(0, -1, height), (-5, 0, 0), (5, 5, 5), (5, -5, -5)]
    found = query(ccd.vertex_triangle, (np.array([start], float), np.array([end], float)), method, dtype)
    missed_rightly = height > 0 and dtype == np.float64 and np.isinf(found.toi[0])
    assert 0 < found.toi[0] <= 0.5 or missed_rightly


@every_method
@both_precisions
def test_clearly_grazing_and_clearly_not(method, dtype):
    """If not, cloth that slides over cloth is stopped."""
    start = [(0, 1, 0.5), (-5, 0, 0), (5, 5, -5), (5, -5, 5)]
    end = [(0, -1, 0.5), (-5, 0, 0), (5, 5, 5), (5, -5, -5)]
    found = query(ccd.vertex_triangle, (np.array([start], float), np.array([end], float)), method, dtype)
    assert np.isinf(found.toi[0])


@every_method
@both_precisions
def test_identical_parallel_edges(method, dtype):
    """The common perpendicular is 0/0; a wrong answer is NaN or a fall through."""
    a = [(0.0, 0, 0), (1, 0, 0)]
    for shift in (0.0, 0.5, -0.25):
        start = np.array([[*a, (shift, 0, 1), (1 + shift, 0, 1)]])
        end = np.array([[*a, (shift, 0, -1), (1 + shift, 0, -1)]])
        found = query(ccd.edge_edge, (start, end), method, dtype)
        assert 0.4 < found.toi[0] < 0.5
    beside = np.array([[*a, (2, 0, 1), (3, 0, 1)]]), np.array([[*a, (2, 0, -1), (3, 0, -1)]])
    assert np.isinf(query(ccd.edge_edge, beside, method, dtype).toi[0])


@every_method
@both_precisions
def test_edge_without_length(method, dtype):
    """0/0 inside the segment's parameter."""
    start = np.array([[(0.0, 0, 0), (1, 0, 0), (0.5, 0, 1), (0.5, 0, 1)]])
    end = start.copy()
    end[0, 2:, 2] = -1
    assert 0.4 < query(ccd.edge_edge, (start, end), method, dtype).toi[0] < 0.5
    end[0, 2:, 2] = 0.5
    assert np.isinf(query(ccd.edge_edge, (start, end), method, dtype).toi[0])


@every_method
@both_precisions
def test_degenerate_triangles(method, dtype):
    """A triangle that is a segment or a point still stops a vertex that meets it."""
    for flat in ([(0.0, 0, 0), (1, 0, 0), (0.5, 0, 0)], [(0.25, 0, 0)] * 3, [(0.0, 0, 0), (1, 0, 0), (1, 0, 0)]):
        assert 0.4 < query(ccd.vertex_triangle, vertex((0.25, 0, 1), (0.25, 0, -1), flat), method, dtype).toi[0] < 0.5
        assert np.isinf(query(ccd.vertex_triangle, vertex((0.25, 0.5, 1), (0.25, 0.5, -1), flat), method, dtype).toi[0])


@every_method
@both_precisions
def test_contact_at_exactly_one(method, dtype):
    """If t = 1 does not count, the next step starts in contact."""
    found = query(ccd.vertex_triangle, vertex((0.25, 0.25, 1), (0.25, 0.25, 0)), method, dtype)
    assert 0.8 < found.toi[0] < 1
    assert np.isinf(query(ccd.vertex_triangle, vertex((0.25, 0.25, 1), (0.25, 0.25, 0.25)), method, dtype).toi[0])


@every_method
@both_precisions
def test_world_offset(method, dtype):
    """If not, a scene away from the origin falls through its floor."""
    for offset in (1e2, 1e5):
        x = tuple(part + offset for part in vertex((0.25, 0.25, 0.5), (0.25, 0.25, -0.5)))
        found = query(ccd.vertex_triangle, x, method, dtype)
        assert 0.2 < found.toi[0] < 0.5
    # in float32 a gap of a millimetre cannot be seen from 1e5 m away: said so, not passed over
    x = tuple(part + 1e5 for part in vertex((0.25, 0.25, 1e-3), (0.25, 0.25, 1e-3)))
    found = query(ccd.vertex_triangle, x, method, dtype)
    assert found.reason[0] == (Reason.START_TOO_CLOSE if dtype == np.float32 else Reason.NO_CONTACT)


@every_method
@both_precisions
@pytest.mark.parametrize("scale", [1e-3, 1e-2, 1e2, 1e3])
def test_scale(method, dtype, scale):
    """If not, millimetres behave unlike metres."""
    random = np.random.default_rng(1)
    x0, x1 = random.uniform(-1, 1, (2, 2000, 4, 3)).astype(dtype)
    for function in (ccd.vertex_triangle, ccd.edge_edge):
        one, other = function(x0, x1, method=method), function(x0 * dtype(scale), x1 * dtype(scale), method=method)
        assert (np.isinf(one.toi) != np.isinf(other.toi)).sum() <= (2 if dtype == np.float32 else 0)
        both = np.isfinite(one.toi) & np.isfinite(other.toi)
        assert np.quantile(np.abs(one.toi[both] - other.toi[both]), 0.98) < (1e-4 if dtype == np.float32 else 1e-12)
        # a power of two changes nothing at all
        exact = function(x0 * dtype(2.0**20), x1 * dtype(2.0**20), method=method)
        np.testing.assert_array_equal(exact.toi, one.toi)


@every_method
def test_touching_and_coincident_starts(method):
    """A start in contact is reported, never silently passed over, and never NaN."""
    touching = vertex((0.25, 0.25, 0), (0.25, 0.25, 1))
    coincident = np.zeros((1, 4, 3)), np.ones((1, 4, 3))
    corner = vertex((0.0, 0, 0), (0, 0, -1))
    for x in (touching, coincident, corner):
        found = query(ccd.vertex_triangle, x, method)
        assert found.toi[0] == 0 and found.reason[0] == Reason.START_TOO_CLOSE


@every_method
def test_no_relative_motion(method):
    """If a common translation counts as approach, fast bodies stop in mid-air."""
    x = np.random.default_rng(2).uniform(-1, 1, (200, 4, 3))
    for shift in (0.0, 1e3):
        found = ccd.edge_edge(x, x + shift, method=method)
        assert (found.reason == Reason.NO_CONTACT).mean() > 0.99
