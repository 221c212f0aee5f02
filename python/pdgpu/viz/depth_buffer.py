"""A surface rendered with a depth buffer in NumPy, for pictures without VTK: those of the command line and `make demo`.

VTK needs 120 MB of memory, 570 MB of disk space, and a library of OpenGL from the system.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.viz.camera import Camera

__all__ = ["depth_image"]

FINER = 2  # samples along each side of a pixel
CHUNK = 1 << 21  # samples at once: bounds the memory
KEY, FILL = (-0.48, 0.56, 0.68), (0.66, -0.25, 0.71)  # directions to two lights: right, up, towards the eye


def depth_image(points: np.ndarray, triangles: np.ndarray, colour: Any, camera: Camera, side: int) -> np.ndarray:
    """Render a surface, in which the nearest triangle of a sample hides all others.

    Parameters
    ----------
    points : array, shape (n, 3)
        m.
    triangles : array of int, shape (t, 3)
    colour : str or tuple
        A matplotlib colour.
    camera : Camera
        Of aspect 1.
    side : int
        Pixels.

    Returns
    -------
    array, shape (side, side, 4)
        Red, green, blue and opacity from 0 to 1, from the top.
    """
    from matplotlib.colors import to_rgb

    n = FINER * side
    seen = camera.seen(points)
    corners = seen[triangles]
    nearest = np.full(n * n, -np.inf)  # 1 / depth, which is linear over a triangle in the picture
    owner = np.full(n * n, -1)
    x, y, near = n * corners[..., 0] - 0.5, n * corners[..., 1] - 0.5, 1.0 / corners[..., 2]
    first = np.clip(np.ceil([x.min(axis=1), y.min(axis=1)]), 0, n).astype(int)
    last = np.clip(np.floor([x.max(axis=1), y.max(axis=1)]), -1, n - 1).astype(int)
    wide, high = np.maximum(last - first + 1, 0)
    area = _twice_area(x[:, 0], y[:, 0], x[:, 1], y[:, 1], x[:, 2], y[:, 2])
    kept = np.flatnonzero((wide * high > 0) & (area != 0.0))
    for part in np.array_split(kept, max(1, int((wide * high)[kept].sum() // CHUNK + 1))):
        owners = np.repeat(part, (wide * high)[part])
        starts = np.cumsum((wide * high)[part]) - (wide * high)[part]
        place = np.arange(len(owners)) - np.repeat(starts, (wide * high)[part])
        column = first[0][owners] + place % wide[owners]
        row = first[1][owners] + place // wide[owners]
        a, b, c = ((x[owners, k], y[owners, k]) for k in range(3))
        weights = [_twice_area(column, row, *u, *v) / area[owners] for u, v in ((b, c), (c, a), (a, b))]
        inside = np.min(weights, axis=0) >= 0.0
        sample, owners = (row * n + column)[inside], owners[inside]
        depth = sum(weight[inside] * near[owners, k] for k, weight in enumerate(weights))
        order = np.lexsort((owners, depth, sample))
        sample, owners, depth = sample[order], owners[order], depth[order]
        best = np.flatnonzero(np.append(sample[1:] != sample[:-1], True))[: len(sample)]
        nearer = best[depth[best] > nearest[sample[best]]]
        nearest[sample[nearer]], owner[sample[nearer]] = depth[nearer], owners[nearer]
    image = np.zeros((n * n, 4))
    image[owner >= 0] = np.append(np.asarray(to_rgb(colour)), 1.0)
    image[owner >= 0, :3] *= _shades(points, triangles, camera)[owner[owner >= 0], None]
    image = image.reshape(side, FINER, side, FINER, 4).mean(axis=(1, 3))[::-1]
    image[..., :3] /= np.maximum(image[..., 3:], 1e-300)
    return np.clip(image, 0.0, 1.0)


def _twice_area(ax, ay, bx, by, cx, cy):
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)


def _shades(points, triangles, camera):
    """Return the brightness of each triangle: both sides of a sheet are lit, as seen from the eye."""
    a, b, c = points[triangles].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    normals = normals @ np.stack([camera.right, camera.up, camera.towards], axis=1)
    normals *= np.where(normals[:, 2:] < 0.0, -1.0, 1.0)
    return 0.32 + 0.62 * np.clip(normals @ KEY, 0.0, 1.0) + 0.12 * np.clip(normals @ FILL, 0.0, 1.0)
