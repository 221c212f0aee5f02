"""Neighbours of tets across their faces."""

from __future__ import annotations

import numpy as np

__all__ = ["tet_neighbours"]


def tet_neighbours(tets, triangles):
    """For each tet (m, 4) the tets that share its faces, by the opposite corner, (m, 4), and for each triangle the tet with this face; -1:
    none.
    """
    m, faces = len(tets), np.sort(np.concatenate([np.delete(tets, j, axis=1) for j in range(4)] + [triangles]), axis=1)
    order = np.lexsort(faces.T[::-1])
    same = np.flatnonzero((faces[order[1:]] == faces[order[:-1]]).all(axis=1))
    other = np.full(len(faces), -1)
    other[order[same]], other[order[same + 1]] = order[same + 1], order[same]
    of = np.where((other >= 0) & (other < 4 * m), other % max(m, 1), -1)
    return of[: 4 * m].reshape(4, m).T, of[4 * m :]
