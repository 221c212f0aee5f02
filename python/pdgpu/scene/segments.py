"""Obstacles without a surface: segments, such as wires and needles, and points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import finite
from pdgpu._internal.attributes import read_only
from pdgpu._internal.backends import thread_count
from pdgpu._internal.counted import counted
from pdgpu.collision import geometry
from pdgpu.mesh.mesh_arrays import as_points, element_rows
from pdgpu.scene.colliders import SurfacePoints, VertexCollider, check_range, keep_shape

if TYPE_CHECKING:
    from pdgpu.types import Floats, Integers

__all__ = ["Points", "Segments"]


class _Thin(VertexCollider):
    """The common part of both: a distance without a sign."""

    points: np.ndarray

    @property
    def rest(self) -> Floats:  # type: ignore[override]  # read only here
        """Positions of the points at rest, (n, 3) m."""
        return self.points

    def _query(self, x, time, threads):
        positions = self.positions(time)
        check_range(self, positions, time, x.dtype)
        _, found = self._nearest(x, positions, threads)
        closest = np.ascontiguousarray(x, dtype=np.float64) - found.gap
        return SurfacePoints(*(np.ascontiguousarray(a, dtype=x.dtype) for a in (found.distance, found.normal, found.normal, closest)))


@dataclass(frozen=True, eq=False, repr=False)
class Segments(_Thin):
    """Straight segments between points: wires, needles, nets. They have no thickness and no inside.

    `BarrierContact` and the other contacts with a `separation` keep all bodies at this distance, the radius of a wire. The contacts of a
    segment are those of a rod: its edges with edges, its points with triangles, its edges with particles.

    Parameters
    ----------
    points : array_like, shape (n, 3)
        m. Each belongs to a segment.
    edges : array_like of int, shape (m, 2)
        The ends of each segment, m > 0, as rows of `points`.
    motion : callable(time, rest_points (n, 3)) -> positions (n, 3), optional
        Positions of the points at a time (s), m.

    Raises
    ------
    TypeError, ValueError
        A coordinate that is not finite; an index out of range; a segment that is given twice, or has no length; a point without a segment;
        no segments.
    """

    points: np.ndarray
    edges: np.ndarray
    _: KW_ONLY
    motion: Callable | None = None

    def __post_init__(self):
        points = as_points(self.points)
        edges = element_rows("edges", self.edges, 2, points)
        if not len(edges):
            raise ValueError("edges: a collider of segments needs one or more; Points takes points alone")
        ordered = np.sort(edges, axis=1)
        first, repeated = _first_repeated(ordered)
        if repeated is not None:
            raise ValueError(f"edges: rows {first} and {repeated} are the same segment {tuple(ordered[first].tolist())}; give it once")
        lengths = np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1)
        if not lengths.all():
            row = int(np.argmin(lengths))
            ends = tuple(edges[row].tolist())
            raise ValueError(f"edges: row {row}, between the points {ends}, has no length; remove it, or move one of the points")
        used = np.zeros(len(points), bool)
        used[edges] = True
        if not used.all():
            raise ValueError(f"points: row {int(np.argmin(used))} belongs to no segment; remove it, or add it as Points")
        keep_shape(self, points=read_only(points), edges=read_only(edges))

    def __repr__(self):
        return f"Segments({counted(len(self.points), 'point')}, {counted(len(self.edges), 'segment')}{_moves(self)})"

    def primitives(self) -> tuple[Integers, Integers, Integers]:
        """Triangles (0, 3), edges (m, 2) and particles (0,) for contact, int32."""
        return np.zeros((0, 3), np.int32), self.edges, np.zeros(0, np.int32)

    def _nearest(self, x, positions, threads):
        # a triangle without area, whose last two corners are copies of one point
        n = len(positions)
        rows = np.ascontiguousarray(np.concatenate([self.edges, self.edges[:, 1:] + np.int32(n)], axis=1))
        corners = self.edges[_nearest_rows(np.tile(positions, (2, 1)), rows, x, threads)]
        pairs = np.concatenate([np.asarray(x, np.float64)[:, None], positions[corners]], axis=1)
        return corners, geometry.vertex_edge(pairs, device="cpu", threads=threads)


@dataclass(frozen=True, eq=False, repr=False)
class Points(_Thin):
    """Points, such as the tips of needles. They have no size; contacts keep bodies at their `separation`.

    The contacts of a point are those of a particle: with triangles, with the edges of rods, and with particles.

    Parameters
    ----------
    points : array_like, shape (n, 3)
        m, n > 0, no two at one place.
    motion : callable(time, rest_points (n, 3)) -> positions (n, 3), optional
        Positions of the points at a time (s), m.

    Raises
    ------
    TypeError, ValueError
        A coordinate that is not finite; two points at one place; no points.
    """

    points: np.ndarray
    _: KW_ONLY
    motion: Callable | None = None

    def __post_init__(self):
        points = finite("points", as_points(self.points))
        first, repeated = _first_repeated(points + 0.0)  # -0 and 0 are one place
        if repeated is not None:
            place = tuple(points[first].tolist())
            raise ValueError(f"points: rows {first} and {repeated} are both at {place}; give each place once")
        keep_shape(self, points=read_only(points))

    def __repr__(self):
        return f"Points({counted(len(self.points), 'point')}{_moves(self)})"

    def primitives(self) -> tuple[Integers, Integers, Integers]:
        """Triangles (0, 3), edges (0, 2) and particles (n,) for contact, int32."""
        return np.zeros((0, 3), np.int32), np.zeros((0, 2), np.int32), np.arange(len(self.points), dtype=np.int32)

    def _nearest(self, x, positions, threads):
        n = len(positions)
        rows = np.ascontiguousarray(np.arange(n)[:, None] + n * np.arange(3), np.int32)
        nearest = _nearest_rows(np.tile(positions, (3, 1)), rows, x, threads)
        pairs = np.stack([np.asarray(x, np.float64), positions[nearest]], axis=1)
        return nearest[:, None], geometry.vertex_vertex(pairs, device="cpu", threads=threads)


def _nearest_rows(positions, rows, x, threads):
    return _host.nearest_triangles(np.ascontiguousarray(positions), rows, np.ascontiguousarray(x, dtype=np.float64), thread_count(threads))


def _first_repeated(rows):
    """Return the numbers of the first two equal rows, or None twice."""
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    earlier = first[which.reshape(-1)]
    repeated = np.flatnonzero(earlier != np.arange(len(rows)))
    return (int(earlier[repeated[0]]), int(repeated[0])) if len(repeated) else (None, None)


def _moves(collider):
    return "" if collider.motion is None else f", motion={collider.motion!r}"
