"""Checks of the arrays of a mesh."""

from __future__ import annotations

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import any_array, index_rows, real_numbers

__all__ = ["as_points", "element_rows"]


def as_points(points):
    """Points as a fresh (n, 3) float64 array, n at least 1; `_host.check_elements` names those that are not finite."""
    array = real_numbers("points", any_array("points", points))
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"points: expected shape (n, 3), got {array.shape}")
    if not len(array):
        raise ValueError("points: there are none; give one or more")
    with np.errstate(over="ignore"):  # an overflow becomes infinite
        return np.array(array, dtype=np.float64, order="C")


def element_rows(name, elements, k, points):
    """`elements`, which may be None or empty, as a fresh (m, k) int32 array of rows of distinct vertices of `points`."""
    rows = index_rows(name, elements, k, len(points), "points")
    _host.check_elements(points, rows, name)
    return rows
