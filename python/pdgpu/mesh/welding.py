"""Search for coincident points of a mesh, and their joining."""

from __future__ import annotations

import warnings

import numpy as np

from pdgpu._internal.arguments import number

__all__ = ["coincident", "welded"]


def coincident(points, used=None):
    """The number of points (n, 3), or of those that are `used`, with the position of another one, and the first two of them."""
    rows = np.arange(len(points)) if used is None else np.unique(used)
    order = rows[np.lexsort(points[rows].T)]
    same = (points[order][1:] == points[order][:-1]).all(axis=1)
    if not same.any():
        return 0, None
    first = int(np.argmin(np.where(same, order[:-1], len(points))))
    return int(same.sum()), sorted((int(order[first]), int(order[first + 1])))


def welded(mesh, tolerance):
    """See `Mesh.welded`."""
    import scipy

    tolerance = number("tolerance", tolerance, minimum=0.0)
    n = len(mesh.points)
    if tolerance > 0.0:
        pairs = scipy.spatial.KDTree(mesh.points).query_pairs(tolerance, output_type="ndarray")
        links = scipy.sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
        _, cluster = scipy.sparse.csgraph.connected_components(links, directed=False)
    else:
        _, cluster = np.unique(mesh.points + 0.0, axis=0, return_inverse=True)  # + 0.0: -0 is 0
    # each cluster has the position and the place in the order of its first point
    _, first, inverse = np.unique(cluster, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    new_index = rank[inverse.reshape(-1)]
    elements, went, lost = {}, {"points": new_index}, []
    for kind in ("tets", "triangles", "edges"):
        rows = new_index[getattr(mesh, kind)]
        ordered = np.sort(rows, axis=1)
        flat = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        _, first, inverse = np.unique(ordered, axis=0, return_index=True, return_inverse=True)
        kept = np.zeros(len(rows), bool)
        kept[first] = True
        kept &= ~flat
        went[kind] = np.where(flat, -1, (np.cumsum(kept) - 1)[first[inverse.reshape(-1)]] if len(rows) else 0)
        elements[kind] = rows[kept], kept
        if not kept.all():
            lost.append(f"{len(kept) - int(kept.sum())} of {len(kept)} {kind}")
    if lost:
        warnings.warn(f"welded: {', '.join(lost)} became flat or the same as another one, and were left out", stacklevel=3)
    groups = {}
    for name, group in mesh.groups.items():
        parts = {kind: went[kind][rows] for kind, rows in group.given().items()}
        groups[name] = {kind: rows[rows >= 0] for kind, rows in parts.items()}
    data = {name: {kind: values[elements[kind][1]] for kind, values in parts.items()} for name, parts in mesh.cell_data.items()}
    arrays = {kind: rows for kind, (rows, _) in elements.items()}
    places = np.unique(new_index, return_index=True)[1]
    return type(mesh)(mesh.points[places], **arrays, groups=groups, cell_data=data)
