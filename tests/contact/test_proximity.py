"""What csrc/contact/detection/proximity.c says is near, against measuring all pairs, for all threads, precisions and sizes of lists."""

import hashlib

import numpy as np
import pytest
from proximity_oracle import find, make, near

from pdgpu import geometry


def digest(columns):
    return hashlib.sha256(b"|".join(columns[name].tobytes() for name in sorted(columns))).hexdigest()


def keys_of(found):
    return list(zip(found["kind"].tolist(), map(tuple, found["vertices"].tolist()), strict=True))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", range(9))
def test_all_pairs(seed, dtype):
    """If not, something is near that no response will ever push."""
    phase, core, x, tested = make(seed, dtype=dtype)
    for distance in (0.0, 0.05, 0.3):
        expected = near(phase, x, tested, distance, seed)
        found = find(core, x, distance)
        tolerance = 0.0 if dtype == "float64" else 1e-6
        sure = {key[:2] for key, d in expected.items() if d <= distance - tolerance}
        possible = {key[:2] for key in near(phase, x, tested, distance + tolerance, seed)}
        keys = keys_of(found)
        assert sure <= set(keys) <= possible
        if dtype == "float64":
            assert keys == [key[:2] for key in expected]  # in order, each once
            np.testing.assert_allclose(found["distance"], list(expected.values()), rtol=0, atol=1e-15)
        assert (found["distance"] <= distance).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_threads_change_nothing(dtype):
    """If not, a run depends on how busy the machine was."""
    for seed, unique in ((0, True), (1, False), (4, True)):
        assert (
            len({digest(find((made := make(seed, dtype=dtype, threads=threads, n=90))[1], made[2], 0.4, unique)) for threads in (1, 2, 3)})
            == 1
        )


def test_the_quick_estimate_agrees_with_the_closest_points():
    """If not, what vector registers decide in haste is not what the closest points say: a pair too many or too few, a wrong feature."""
    random = np.random.default_rng(3)
    for seed, (scale, dtype) in enumerate([(1.0, "float64"), (1e-4, "float64"), (1e3, "float32"), (1e-7, "float64"), (1, "float32")]):
        _, core, x, _ = make(3 * seed, dtype=dtype, colliders=0, n=120)
        x = (scale * (x + 0.3 * random.random(3))).astype(dtype)
        for distance in (0.1 * scale, 0.5 * scale):
            found = find(core, x, distance)
            assert len(found["distance"]) > 500
            for kind, first, measure in ((0, 1, geometry.vertex_triangle), (1, 2, geometry.edge_edge)):
                rows = found["kind"] == kind
                closest = measure(x[found["vertices"][rows]])
                np.testing.assert_array_equal(closest.distance, found["distance"][rows])
                np.testing.assert_array_equal(closest.weights, found["weights"][rows])
                counts = np.abs(closest.weights) > 32 * np.finfo(dtype).eps
                of_first, of_second = counts[:, :first].sum(axis=1), counts[:, first:].sum(axis=1)
                feature = np.where(of_first == 2, np.where(of_second == 2, 3, 1), of_second - 1)
                np.testing.assert_array_equal(feature, found["feature"][rows])


@pytest.mark.parametrize("seed", range(4))
def test_incidence(seed):
    """If not, a vertex does not feel a pair it is a corner of, or feels it twice."""
    _, core, x, _ = make(seed)
    for distance in (0.0, 0.1, 0.5):
        find(core, x, distance, unique=True)
        active, (start, roles) = core.active(), core.incidence()
        assert len(start) == len(x) + 1 and start[0] == 0 and start[-1] == len(roles) == (active["points"] >= 0).sum()
        flat = active["points"].ravel()
        for point in range(len(x)):
            np.testing.assert_array_equal(roles[start[point] : start[point + 1]], np.flatnonzero(flat == point))
        assert (np.diff(active["key"].astype(object)) > 0).all()  # sorted by (kind, first, second), each once
        kinds = np.array([2, 3, 64])  # PD_VERTEX_TRIANGLE, PD_EDGE_EDGE of geometry/pair.h, PD_VERTEX_COLLIDER
        np.testing.assert_array_equal(kinds[active["key"] >> np.uint64(62)], active["kind"])
    everything = find(core, x, 0.5)
    np.testing.assert_array_equal(core.active()["points"], everything["vertices"])


def test_lists_grow_and_stay():
    """If not, pairs beyond the first room are lost, or a list moves away under a graph that was recorded over it."""
    phase, core, x, tested = make(6, n=90)
    few = core.counts()
    found = find(core, x, 0.02)
    assert core.counts()["capacity"] == few["capacity"] == 1024
    everything = find(core, x, 2.0)
    counts = core.counts()
    assert counts["active"] == len(everything["kind"]) == len(near(phase, x, tested, 2.0, 6)) > 4000
    assert counts["active"] <= counts["capacity"] < 2 * counts["active"] and counts["capacity"] % 1024 == 0
    core.incidence()
    revision = core.counts()["revision"]
    again = find(core, x, 2.0)
    core.incidence()
    assert digest(again) == digest(everything) and core.counts()["revision"] == revision
    assert digest(find(core, x, 0.02)) == digest(found) and core.counts()["capacity"] == counts["capacity"]
    fresh = make(6, n=90)
    assert digest(find(fresh[1], x, 2.0)) == digest(everything)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_points_that_follow_vertices(dtype):
    """If not, a surface that hangs on a coarser mesh touches somewhere else than it is."""
    seed, n = 3, 40
    random = np.random.default_rng(7)
    vertices = random.random((12, 3)).astype(dtype)
    rows = np.array([random.choice(12, 4, replace=False) for _ in range(30)], np.int32)
    weights = random.dirichlet(np.ones(4), 30)
    weights[:10, 2:], rows[:10, 2:] = 0.0, -1
    weights = (weights / weights.sum(axis=1, keepdims=True)).astype(dtype)
    _, follows, x, _ = make(seed, dtype=dtype, n_vertices=12, rows=rows, weights=weights)
    _, plain, _, _ = make(seed, dtype=dtype)
    driven = x[30:]
    found = follows.find(vertices, driven, 0.3, True)
    y = found["positions"]
    terms = np.where(rows[:, :, None] >= 0, weights[:, :, None] * vertices[np.maximum(rows, 0)], 0)
    np.testing.assert_allclose(y[:30], terms.sum(axis=1), atol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(y[30:], driven)
    assert y.shape == (n, 3) and len(found["kind"]) > 100
    assert digest(found) == digest(find(plain, y, 0.3, True))
    _, own, _, _ = make(seed, dtype=dtype, n_vertices=25)  # 25 vertices, the rest driven
    assert digest(own.find(x[:25], x[25:], 0.3, False)) == digest(find(plain, x, 0.3))


def test_the_reach():
    """If not, a list is kept that lacks a pair, or searched for again though it is still good."""
    _, core, x, _ = make(0)
    nothing = np.zeros((0, 3))
    reach, lists = core.update(x, nothing, 0.1, 0.2)
    assert reach == 0.2 and lists is not None
    moved = x + [0.0, 0.02, 0.0]
    reach, lists = core.update(moved, nothing, 0.1, 0.2)
    assert lists is None and 0.16 - 1e-12 < reach < 0.16
    reach, lists = core.update(moved, nothing, 0.1, 0.2)
    assert lists is None and 0.16 - 1e-12 < reach < 0.16
    reach, lists = core.update(moved + [0.031, 0.0, 0.0], nothing, 0.1, 0.2)
    assert reach == 0.2 and lists is not None
    find(core, x, 0.05)
    reach, lists = core.update(x, nothing, 0.04, 0.2)
    assert lists is None and 0.05 - 1e-12 < reach <= 0.05  # the bound is that of the last search, which was one of find


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda core, x: find(core, x, -1.0), "distance: value -1"),
        (lambda core, x: find(core, np.where(x > 0.9, np.nan, x), 0.1), "x: value nan at .* is not finite"),
        (lambda core, x: core.find(x, x, 0.1, True), r"driven: expected float64 array of shape \(0, 3\)"),
        (lambda core, x: core.update(x, x[:0], 0.3, 0.2), "minimum: value 0.3 is not between 0 and 0.2"),
        (lambda core, x: core.set_collider(2, 0, np.eye(4, 3), np.ones(4), 1.0, None), "which: 2 is out of range for 2 colliders"),
        (lambda core, x: make(0, n_vertices=41), "n_vertices: 41 vertices are more than 40 points"),
        (
            lambda core, x: make(0, n_vertices=3, rows=np.full((40, 4), 3, np.int32), weights=np.ones((40, 4))),
            r"rows: value 3 at \(0, 0\) is not between -1 and 2",
        ),
        (
            lambda core, x: make(0, n_vertices=4, rows=np.full((40, 4), 3, np.int32), weights=np.full((40, 4), np.inf)),
            r"weights: value inf at \(0, 0\)",
        ),
    ],
)
def test_refusals(call, message):
    """If not, memory is read that was not allocated."""
    _, core, x, _ = make(0)
    with pytest.raises(ValueError, match=message):
        call(core, x)
    assert len(find(core, x, 0.3)["kind"]) > 0


def test_a_search_that_was_never_asked_for():
    """If not, a list that is not there is read."""
    _, core, _, _ = make(0)
    assert len(core.active()["kind"]) == 0 and core.incidence()[0].tolist() == [0] * 41
    _, empty, x, _ = make(0, colliders=0, n=12)
    assert core.counts()["active"] == 0 and len(find(empty, 100.0 * x, 0.0)["kind"]) == 0
