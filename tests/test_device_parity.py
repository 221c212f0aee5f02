"""The tolerances between CPU and GPU accept a pair or an iteration at a limit and reject real faults."""

import types

import numpy as np
import pytest
from device_parity import assert_counts, assert_times, common_pairs


def pairs(rows):
    rows = np.asarray(rows)
    return {"key": rows.astype(np.uint64) ** 2, "vertices": np.stack([rows, rows + 1, rows + 5], axis=1)}


def test_counts():
    """If not, a loop with a wrong stopping test passes, or one iteration more counts as a fault."""
    assert_counts([3, 100], [4, 101], "float64")
    assert_counts([3, 100, 100], [3, 100], "float64")
    for found, expected in ((90, 100), ([3, 4, 5], [3]), (7, 5), (0, 3)):
        with pytest.raises(AssertionError):
            assert_counts(found, expected, "float32")


def test_pairs():
    """If not, a list in another order, with other corners or with missing pairs passes."""
    rows = np.arange(100)
    for lost in ([], [0], [99]):
        mine, theirs = common_pairs(pairs(np.delete(rows, lost)), pairs(rows), "float64")
        assert len(mine) == len(theirs) == 100 - len(lost)
        np.testing.assert_array_equal(np.delete(rows, lost)[mine], rows[theirs])
    feature = pairs(rows)
    feature["vertices"][7, 1] = 0
    mine, theirs = common_pairs(feature, pairs(rows), "float64")
    assert 7 not in mine and len(mine) == 99
    other = pairs(rows)
    other["vertices"][::10] += 1
    for found in (pairs(rows[10:]), pairs(rows[::-1]), other):
        with pytest.raises(AssertionError):
            common_pairs(found, pairs(rows), "float32")


def test_times():
    """If not, the times of another pair pass."""
    times = np.where(np.arange(300) % 3 == 0, np.inf, np.linspace(0.0, 1.0, 300))
    expected = types.SimpleNamespace(toi=times, reason=np.isinf(times).astype(int))
    changed = times.copy()
    changed[100] += 0.05
    assert_times(types.SimpleNamespace(toi=changed, reason=expected.reason), expected, "float32")
    for found, reason in ((np.roll(times, 3), expected.reason), (times, np.roll(expected.reason, 1))):
        with pytest.raises(AssertionError):
            assert_times(types.SimpleNamespace(toi=found, reason=reason), expected, "float32")
