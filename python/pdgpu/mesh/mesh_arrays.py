"""The arrays that a mesh is made of, checked."""

from __future__ import annotations

import numpy as np

from pdgpu import _host

__all__ = ["as_points", "element_rows"]


def _as_array(values, name):
    """`values` as an array, or an exception that names the argument."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name}: a masked array with masked entries cannot be used")
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: cannot be made an array ({error})") from error


def as_points(points):
    array = _as_array(points, "points")
    if array.dtype.kind not in "fiu":
        raise TypeError(f"points: expected real numbers, got dtype {array.dtype}")
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"points: expected shape (n, 3), got {array.shape}")
    if not len(array):
        raise ValueError("points: the mesh is empty")
    with np.errstate(over="ignore"):  # what overflows becomes infinite, and the check for finite values names it
        return np.array(array, dtype=np.float64, order="C")


def element_rows(name, elements, k, points):
    """`elements`, which may be None or empty, as a fresh (m, k) int32 array of rows of distinct vertices of `points`."""
    rows = _as_elements(elements, k, len(points), name)
    _host.check_elements(points, rows, name)
    return rows


def _as_elements(elements, k, n_points, name):
    if elements is None:
        return np.empty((0, k), dtype=np.int32)
    array = _as_array(elements, name)
    if array.size == 0 and array.shape in ((0,), (0, k)):
        return np.empty((0, k), dtype=np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected integer indices, got dtype {array.dtype}")
    if array.ndim != 2 or array.shape[1] != k:
        raise ValueError(f"{name}: expected shape (m, {k}), got {array.shape}")
    if array.dtype != np.int32:  # before the cast, which would wrap around
        outside = (array < 0) | (array >= n_points)
        if outside.any():
            row, column = np.argwhere(outside)[0]
            raise ValueError(f"{name}: index {array[row, column]} at row {row} is out of range for {n_points} points")
    return np.array(array, dtype=np.int32, order="C")
