"""The points of a body that can be held, and the test that every part of the bodies is held, for quasistatic scenes."""

from __future__ import annotations

import numpy as np

__all__ = ["CARRIERS", "check_held", "selectable_points"]

CARRIERS = 4  # of csrc/dynamics/rigid/rigid.h: the last rows of a rigid body in the compiled model, with its mass


def selectable_points(body):
    """Return the points (k, 3) m that can be held, the first ones of a body: for a rigid body those of its mesh."""
    return body.points[: len(body.points) - body.n_hidden]


def check_held(scene, groups, fixed):
    """Check that every connected part of a quasistatic scene has a pin or an attachment; otherwise its position is undetermined."""
    import scipy

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
