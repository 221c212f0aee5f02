"""Polygons as fans of triangles."""

from __future__ import annotations

import numpy as np

__all__ = ["fans"]


def fans(faces):
    """Lists of three or more corners as triangles (m, 3), and remarks: the number of faces of two corners, which are left out."""
    triangles, dropped = [], 0
    for row, face in enumerate(faces):
        if len(face) == 2:
            dropped += 1
        elif len(face) < 2:
            raise ValueError(f"face {row} has {len(face)} corners")
        triangles.extend((face[0], face[i], face[i + 1]) for i in range(1, len(face) - 1))
    remarks = [f"faces of two corners were left out: {dropped}"] if dropped else []
    return np.array(triangles, dtype=np.int64).reshape(-1, 3), remarks
