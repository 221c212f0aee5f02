"""Batches: threads, the earliest of many, precision, bad input."""

import threading
import time

import numpy as np
import pytest
from pdgpu.ccd import METHODS, Reason

from pdgpu import ccd

PAIRS = (("vertex_triangle", ccd.vertex_triangle), ("edge_edge", ccd.edge_edge))


def moving_points(n=400, seed=0):
    random = np.random.default_rng(seed)
    x0 = random.uniform(-1, 1, (n, 3))
    return x0, x0 + 0.3 * random.normal(size=(n, 3)), random.permuted(np.tile(np.arange(n), (3000, 1)), axis=1)[:, :4]


@pytest.mark.parametrize("method", METHODS)
def test_threads_do_not_change_a_bit(method):
    """If they do, a simulation cannot be repeated."""
    x0, x1, rows = moving_points()
    for _, function in PAIRS:
        one, two = (function(x0[rows], x1[rows], method=method, threads=threads) for threads in (1, 2))
        for name in ("toi", "iterations", "reason"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_pair_does_not_depend_on_its_neighbours(method, dtype):
    """If it does, the same contact has another time once a pair elsewhere comes or goes: pairs are computed several at a time."""
    x0, x1, rows = moving_points()
    x0, x1 = x0[rows[:333]].astype(dtype), x1[rows[:333]].astype(dtype)
    x0[::7], x1[::7] = x0[::7] * dtype(1e4), x1[::7] * dtype(1e4)  # these must be scaled, their neighbours not
    order = np.random.default_rng(1).permutation(len(x0))
    for _, function in PAIRS:
        whole, mixed = function(x0, x1, method=method), function(x0[order], x1[order], method=method)
        parts = [slice(0, 1), slice(5, 6), slice(20, 35), slice(40, 57), slice(332, 333)]
        found = [function(x0[part], x1[part], method=method) for part in parts]
        for name in ("toi", "iterations", "reason"):
            values = getattr(whole, name)
            np.testing.assert_array_equal(getattr(mixed, name), values[order])
            for part, alone in zip(parts, found, strict=True):
                np.testing.assert_array_equal(getattr(alone, name), values[part])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_earliest_is_the_smallest_of_all(method, dtype):
    """If leaving pairs early changes the result, a step can depend on the order of its pairs."""
    x0, x1, rows = moving_points()
    x0, x1 = x0.astype(dtype), x1.astype(dtype)
    keep = {}
    for pair, function in PAIRS:
        found = function(x0[rows], x1[rows], method=method)
        keep[pair] = rows[found.reason != Reason.START_TOO_CLOSE]
        toi = found.toi[found.reason != Reason.START_TOO_CLOSE]
        for threads in (1, 2):
            for order in (slice(None), slice(None, None, -1)):
                best = ccd.earliest(x0, x1, **{pair: keep[pair][order]}, method=method, threads=threads)
                assert best.toi == toi.min() and best.pair == pair
                assert best.index == np.flatnonzero(toi[order] == toi.min())[0]
    both = ccd.earliest(x0, x1, **keep, method=method)
    single = [ccd.earliest(x0, x1, **{pair: keep[pair]}, method=method) for pair, _ in PAIRS]
    assert both == min(single, key=lambda found: found.toi)


def test_earliest_of_equal_and_of_none():
    """If ties are decided by chance, so is the contact that a step ends at."""
    x0 = np.array([(0.25, 0.25, 1), (0, 0, 0), (1, 0, 0), (0, 1, 0)], float)
    x1 = x0.copy()
    x1[0, 2] = -1
    row = [[0, 1, 2, 3]]
    found = ccd.earliest(x0, x1, vertex_triangle=row * 2000)
    assert found == ccd.Earliest(ccd.vertex_triangle(x0[None], x1[None]).toi[0], "vertex_triangle", 0)
    assert ccd.earliest(x0, x0, vertex_triangle=row) == ccd.Earliest(np.inf, None, -1)
    assert ccd.earliest(x0, x1) == ccd.Earliest(np.inf, None, -1)
    flat = np.array([(0, 0, 0), (1, 0, 0), (0.5, -1, 0), (0.5, 1, 0), (5, 5, 5), (6, 5, 5), (5, 6, 7), (6, 7, 7)], float)
    crossing, apart = [0, 1, 2, 3], [4, 5, 6, 7]  # edges that cross at the start, and the first vertex in no triangle's way
    assert ccd.earliest(flat, flat, vertex_triangle=[apart], edge_edge=[apart, crossing]) == ccd.Earliest(0.0, "edge_edge", 1)
    touching = [0, 0, 2, 3]
    found = ccd.earliest(flat, flat, vertex_triangle=[apart, touching], edge_edge=[crossing])
    assert found == ccd.Earliest(0.0, "vertex_triangle", 1)  # as early as the crossing edges, and before them in the lists


def test_huge_coordinates_are_safe():
    """If a difference overflows, the answer must be to stop, not NaN."""
    for dtype in (np.float32, np.float64):
        largest = np.finfo(dtype).max
        x0 = np.array([[(0, 0, 1), (-1, -1, 0), (1, -1, 0), (0, 1, 0)]], dtype) * largest
        found = ccd.vertex_triangle(x0, -x0)
        assert found.toi[0] == 0 and found.reason[0] == Reason.CUT_SHORT


def test_tiny_coordinates():
    """If products underflow, small things pass through each other."""
    for dtype, size in ((np.float32, 1e-30), (np.float64, 1e-290)):
        x0 = (np.array([[(0.25, 0.25, 1), (0, 0, 0), (1, 0, 0), (0, 1, 0)]]) * size).astype(dtype)
        x1 = x0.copy()
        x1[0, 0, 2] *= -1
        for method in METHODS:
            assert 0.4 < ccd.vertex_triangle(x0, x1, method=method).toi[0] < 0.5


def test_the_interpreter_runs_meanwhile():
    """If the GIL is held, a user interface freezes during a large batch."""
    x0 = np.random.default_rng(0).uniform(-1, 1, (200_000, 4, 3))
    x1 = np.random.default_rng(1).uniform(-1, 1, (200_000, 4, 3))
    module_call = threading.Thread(target=lambda: ccd.edge_edge(x0, x1, method="additive", threads=1))
    module_call.start()
    longest, last = 0.0, time.perf_counter()
    while module_call.is_alive():
        time.sleep(0.001)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    start = time.perf_counter()
    ccd.edge_edge(x0, x1, method="additive", threads=1)
    assert longest < 0.5 * (time.perf_counter() - start)


def test_bad_input_is_named():
    """If not, a wrong array gives a wrong answer instead of an error."""
    good = np.random.default_rng(0).uniform(size=(2, 4, 3))
    with pytest.raises(ValueError, match=r"x_t0: expected shape \(any, 4, 3\), got \(2, 3, 3\)"):
        ccd.vertex_triangle(good[:, :3], good[:, :3])
    with pytest.raises(ValueError, match=r"x_t1: expected shape \(2, 4, 3\) as x_t0, got \(1, 4, 3\)"):
        ccd.edge_edge(good, good[:1])
    bad = good.copy()
    bad[1, 0, 2] = np.inf
    with pytest.raises(ValueError, match=r"x_t1: value inf at \(1, 0, 2\) is not finite"):
        ccd.edge_edge(good, bad)
    with pytest.raises(ValueError, match="separation: must be at least 0, got -1"):
        ccd.edge_edge(good, good, separation=-1)
    with pytest.raises(ValueError, match="separation: must be finite"):
        ccd.edge_edge(good, good, separation=np.nan)
    with pytest.raises(ValueError, match="method: expected one of 'certified'"):
        ccd.edge_edge(good, good, method="newton")
    points = good[0]
    with pytest.raises(ValueError, match=r"vertex_triangle: index 4 at \(1, 2\) is out of range for 4 points"):
        ccd.earliest(points, points, vertex_triangle=[[0, 1, 2, 3], [0, 1, 4, 3]])
    with pytest.raises(ValueError, match=r"edge_edge: index -1 at \(0, 0\)"):
        ccd.earliest(points, points, edge_edge=[[-1, 1, 2, 3]])
    for dtype in (np.int8, np.int32, np.int64):
        for pair in ("vertex_triangle", "edge_edge"):
            for wrong in (4, -1):
                rows = np.array([[0, 1, 2, 3], [0, 1, 2, wrong], [0, 5, 2, 3]], dtype)
                with pytest.raises(ValueError, match=rf"{pair}: index {wrong} at \(1, 3\) is out of range for 4 points"):
                    ccd.earliest(points, points, **{pair: rows})
    with pytest.raises(ValueError, match=rf"edge_edge: index {2**32} at \(0, 3\)"):
        ccd.earliest(points, points, edge_edge=np.array([[0, 1, 2, 2**32]]))
    with pytest.raises(TypeError, match="edge_edge: expected indices, got dtype float64"):
        ccd.earliest(points, points, edge_edge=[[0.0, 1, 2, 3]])
    with pytest.raises(ValueError, match=r"points_t1: expected shape"):
        ccd.earliest(points, points[:3])
    empty = ccd.vertex_triangle(np.zeros((0, 4, 3), np.float32), np.zeros((0, 4, 3), np.float32))
    assert empty.toi.shape == (0,) and empty.toi.dtype == np.float32
