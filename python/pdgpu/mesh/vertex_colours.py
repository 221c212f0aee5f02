"""Colours of vertices: those of one colour can move at once."""

from __future__ import annotations

import numpy as np

from pdgpu import _host

__all__ = ["vertex_colours"]


def vertex_colours(elements, n, method):
    """(n,) int32 colours for vertices 0 .. n-1: no two of one element have the same; `elements` are arrays (m, k), of any k.

    method : "greedy" (ascending vertices, smallest free colour) or "balanced" (the same number of colours, of nearly equal sizes)
    """
    several = [rows for rows in elements if rows.shape[1] > 1]
    if len(several) == 1:
        return _host.colouring(several[0], n, method)
    # the graph of all elements, as the graph of their edges
    pairs = [rows[:, [a, b]] for rows in several for a in range(rows.shape[1]) for b in range(a + 1, rows.shape[1])]
    edges = np.ascontiguousarray(np.concatenate(pairs)) if pairs else np.zeros((0, 2), dtype=np.int32)
    return _host.colouring(edges, n, method)
