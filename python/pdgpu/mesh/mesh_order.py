"""A mesh with its vertices and elements in another order."""

from __future__ import annotations

import numpy as np

from pdgpu._internal.arguments import any_array, in_range, whole_numbers

__all__ = ["reordered"]


def reordered(mesh, order):
    """See `Mesh.reordered`."""
    n = len(mesh.points)
    order = mesh.curve_order() if order is None else _permutation(order, n)
    new_index = np.empty(n, dtype=np.int32)
    new_index[order] = np.arange(n, dtype=np.int32)
    elements = {kind: new_index[getattr(mesh, kind)] for kind in ("tets", "triangles", "edges")}
    # the old row of each new one, and the new row of each old one
    rows_of = {kind: np.argsort(rows.min(axis=1), kind="stable") for kind, rows in elements.items()}
    went = {"points": new_index} | {kind: np.argsort(rows) for kind, rows in rows_of.items()}
    groups = {name: {kind: went[kind][rows] for kind, rows in group.given().items()} for name, group in mesh.groups.items()}
    cell_data = {name: {kind: values[rows_of[kind]] for kind, values in parts.items()} for name, parts in mesh.cell_data.items()}
    sorted_elements = {kind: rows[rows_of[kind]] for kind, rows in elements.items()}
    return type(mesh)(mesh.points[order], **sorted_elements, groups=groups, cell_data=cell_data)


def _permutation(order, n):
    array = whole_numbers("order", any_array("order", order))
    if array.shape != (n,):
        raise ValueError(f"order: expected shape ({n},), got {array.shape}")
    in_range("order", array, n, "vertices")
    times = np.bincount(array.astype(np.intp), minlength=n)
    if (times > 1).any():
        first = int(np.argmax(times > 1))
        raise ValueError(f"order: vertex {first} occurs {times[first]} times, expected once")
    return array
