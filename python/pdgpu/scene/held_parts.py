"""Whether a scene holds every part of its bodies, which what stands still has to be."""

from __future__ import annotations

import numpy as np
import scipy.sparse

__all__ = ["check_held"]


def check_held(scene, groups, fixed):
    """Quasistatic: every connected part needs a pin or an attachment, or its position is not determined."""
    held = fixed.astype(bool)
    n = len(fixed)
    rows, columns = [np.arange(n)], [np.arange(n)]
    for kind, (vertices, *_) in groups.items():
        if kind == "attachment":
            held[vertices[:, 0]] = True
        for k in range(1, vertices.shape[1]):
            rows.append(vertices[:, 0])
            columns.append(vertices[:, k])
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    graph = scipy.sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    count, labels = scipy.sparse.csgraph.connected_components(graph, directed=False)
    free = np.ones(count, dtype=bool)
    free[labels[held]] = False
    if free.any():
        vertex = int(np.argmax(free[labels]))
        body = next(body for body in scene.bodies if body.slice.start <= vertex < body.slice.stop)
        raise ValueError(
            f"dt: None (quasistatic), but body {body.name!r} is not held: no pin and no attachment on the part with vertex "
            f"{vertex - body.slice.start}"
        )
