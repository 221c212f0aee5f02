"""The camera of pictures of bodies: y up, in perspective, at the smallest distance for the picture."""

from __future__ import annotations

import itertools

import numpy as np

__all__ = ["AZIMUTH", "ELEVATION", "Camera", "corners_of"]

ELEVATION, AZIMUTH = 12.0, -68.0  # degrees, of the default view
HALF_ANGLE = np.tan(np.radians(12.0))  # of the vertical angle of view: a mild perspective, as of a photograph from a distance
MARGIN = 0.96  # the points extend over this fraction of the distance from the middle to the edge of a picture


def corners_of(box):
    """The corners (8, 3) of a box (low, high)."""
    return np.array(list(itertools.product(*np.transpose(box))))


class Camera:
    """A camera that shows points from a direction.

    Parameters
    ----------
    points : array, shape (n, 3)
        The points in the picture, m.
    elevation, azimuth : float
        Degrees, as of matplotlib's `view_init`: the angle above the floor; -90 looks along -z, and 0 along -x.
    aspect : float
        Width of the picture over its height.
    """

    def __init__(self, points, elevation, azimuth, aspect):
        e, a = np.radians([elevation, azimuth])
        self.aspect = aspect
        self.towards = np.array([np.cos(e) * np.cos(a), np.sin(e), -np.cos(e) * np.sin(a)])  # from the points to the eye
        self.right = np.array([-np.sin(a), 0.0, -np.cos(a)])
        self.up = np.cross(self.towards, self.right)
        points = np.asarray(points, dtype=np.float64)
        self.centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
        across, along, near = self._turned(points)
        # |across| / (distance - near) = MARGIN HALF_ANGLE aspect at the edge of the picture
        widest = np.maximum(np.abs(across) / aspect, np.abs(along)) / (MARGIN * HALF_ANGLE)
        self.distance = float((near + widest).max()) or 1.0
        self.eye = self.centre + self.distance * self.towards

    def _turned(self, points):
        """Return the offsets of points (n, 3) to the right of the centre, above it, and towards the eye: shape (3, n)."""
        return np.stack([self.right, self.up, self.towards]) @ (points - self.centre).T

    def seen(self, points):
        """Return the positions of points (..., 3) in the picture: x and y from 0 to 1, from its lower left corner, and the depth in m,
        shape (..., 3).
        """
        points = np.asarray(points, dtype=np.float64)
        across, along, near = self._turned(points.reshape(-1, 3))
        depth = self.distance - near
        x, y = across / (depth * HALF_ANGLE * self.aspect), along / (depth * HALF_ANGLE)
        return np.column_stack([0.5 * (1.0 + x), 0.5 * (1.0 + y), depth]).reshape(points.shape)
