"""Colliders: planes, spheres, capsules, boxes and triangle meshes, at rest or with a prescribed motion.

Each computes, for a batch of points, the signed distance to its surface, negative inside. They are frozen and printable descriptions, and
picklable if their motions are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import LARGEST, coordinates, number, real_array
from pdgpu._internal.backends import backend, thread_count
from pdgpu._internal.motion_calls import ask
from pdgpu.collision import geometry
from pdgpu.collision.geometry import common_precision
from pdgpu.mesh.mesh import Mesh

if TYPE_CHECKING:
    from typing import Any, Self

    from numpy.typing import ArrayLike

    from pdgpu.types import Floats, Integers, Placement

__all__ = ["Box", "Capsule", "Collider", "Plane", "Sphere", "SurfacePoints", "TriangleMesh", "VertexCollider"]


class SurfacePoints(NamedTuple):
    """The result of a collider's query for n points.

    Attributes
    ----------
    distance : ndarray, shape (n,)
        To the surface, m, negative inside.
    gradient : ndarray, shape (n, 3)
        Derivative of the distance by the point. Equal to `normal`, except for a grid, whose interpolated distance is not exact.
    normal : ndarray, shape (n, 3)
        Unit vector out of the collider.
    closest : ndarray, shape (n, 3)
        The closest point of the surface, m.
    """

    distance: np.ndarray
    gradient: np.ndarray
    normal: np.ndarray
    closest: np.ndarray


class Collider:
    """Base class of all colliders, with their common methods."""

    motion: Placement | None

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        if cls is Collider:
            raise TypeError("Collider: the base of the colliders; take one of them, such as pdgpu.Sphere(centre, radius)")
        return super().__new__(cls)

    def query(self, points: ArrayLike, time: float = 0.0, *, threads: int = 0) -> SurfacePoints:
        """Distance, gradient, normal and closest point of the surface in one call.

        Parameters
        ----------
        points : array_like, shape (n, 3)
            m; computed in float32 if they are, else in float64.
        time : float
            s; the time of the motion.
        threads : int
            0: all cores. The result does not depend on it.

        Returns
        -------
        SurfacePoints

        Raises
        ------
        TypeError, ValueError
            A wrong shape, a coordinate that is not finite; a motion with an invalid result.
        """
        dtype = common_precision(points)
        x = coordinates("points", points, (None, 3), dtype)
        return self._query(x, number("time", time), thread_count(threads))

    def distance(self, points: ArrayLike, time: float = 0.0, *, threads: int = 0) -> Floats:
        """Signed distance of points (n, 3) from the surface, (n,) m, negative inside. Parameters and errors as for `query`.

        It changes by at most the displacement of the points (Lipschitz constant 1), except for `SignedDistanceField`.
        """
        return self.query(points, time, threads=threads).distance

    def gradient(self, points: ArrayLike, time: float = 0.0, *, threads: int = 0) -> Floats:
        """Derivative of `distance` by the points, (n, 3). A fixed unit vector if it does not exist, as in the centre of a sphere.
        Parameters and errors as for `query`.
        """
        return self.query(points, time, threads=threads).gradient

    def normals(self, points: ArrayLike, time: float = 0.0, *, threads: int = 0) -> Floats:
        """Unit vectors out of the collider, (n, 3). Parameters and errors as for `query`."""
        return self.query(points, time, threads=threads).normal

    def closest_points(self, points: ArrayLike, time: float = 0.0, *, threads: int = 0) -> Floats:
        """The closest points of the surface, (n, 3) m. Parameters and errors as for `query`."""
        return self.query(points, time, threads=threads).closest

    def displacement(self, points: ArrayLike, start: float, end: float) -> Any:
        """Displacement of points that are fixed to the collider, from one time to another: (n, 3) m.

        Parameters
        ----------
        points : array_like, shape (n, 3)
            At the time `start`, m. With a triangle mesh each follows the closest point of its surface.
        start, end : float
            s.

        Returns
        -------
        ndarray, shape (n, 3)
        """
        x = real_array("points", points, (None, 3))
        rotation_0, translation_0 = self.placement(number("start", start))
        rotation_1, translation_1 = self.placement(number("end", end))
        turn = rotation_1 @ rotation_0.T
        return (x - translation_0) @ (turn - np.eye(3)).T + (translation_1 - translation_0)

    def placement(self, time: float = 0.0) -> Any:
        """Rotation and translation of the collider at a time: x -> rotation @ x + translation moves it from its description.

        Parameters
        ----------
        time : float
            s.

        Returns
        -------
        (ndarray, shape (3, 3); ndarray, shape (3,))
            The rotation, and the translation, m.

        Raises
        ------
        TypeError, ValueError
            A motion with an invalid result.
        """
        return (np.eye(3), np.zeros(3)) if self.motion is None else rigid_placement("motion", self.motion, time)

    def _query(self, x, time, threads):
        return SurfacePoints(*backend("cpu", x.dtype).collider_query(*placed_collider(self, x.dtype, time), x, threads))


def numbers_of(collider: Any, dtype: Any) -> tuple[Any, ...]:
    """Return the core's description of a collider without motion: shape, rotation, translation, size, spacing, values."""
    return collider._core(dtype)


def placed_collider(collider: Collider, dtype: Any, time: float) -> tuple[Any, ...]:
    """Return the core's description of a collider at a time: shape, frame, size, spacing, values."""
    shape, rotation, translation, size, spacing, values = numbers_of(collider, dtype)
    turn, shift = collider.placement(time)
    frame = np.concatenate([turn @ rotation, [turn @ translation + shift]])
    size = np.concatenate([size, np.zeros(4 - len(size))])
    check_range(collider, np.append(frame, size), time, dtype)
    return shape, frame, size, spacing, values


def check_range(collider, numbers, time, dtype):
    if not (np.abs(numbers) <= LARGEST[dtype]).all():
        raise ValueError(f"time: at {time} s {collider!r} is too large or too far away for {dtype.name}")


def rigid_placement(name: str, motion: Callable, time: float) -> Any:
    """Return the checked result of a callable(time): rotation (3, 3) and translation (3,), m. `name`: of the argument, for errors."""
    moved = ask(motion, time)
    if not isinstance(moved, list | tuple) or len(moved) != 2:
        raise TypeError(f"{name}: expected a rotation (3, 3) and a translation (3,) at time {time}, got {moved!r}")
    rotation = _rotation(f"{name}: rotation at time {time}", moved[0])
    return rotation, real_array(f"{name}: translation at time {time}", moved[1], (3,))


def keep_shape(self, **values):
    """Store checked values in a frozen description."""
    for name, value in values.items():
        object.__setattr__(self, name, value)
    motion = self.motion
    if motion is not None and not callable(motion):
        raise TypeError(f"motion: expected a callable(time), got {motion!r}")


def vector(name, value):
    """Return three finite numbers as a tuple, which prints and compares."""
    return tuple(real_array(name, value, (3,)).tolist())


def _rotation(name, matrix):
    """Return the rotation closest to a matrix (3, 3) that is a rotation to 1e-6."""
    matrix = real_array(name, matrix, (3, 3))
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(matrix.T @ matrix - np.eye(3))
    if not off.max() <= 1e-6:
        index = tuple(int(i) for i in np.unravel_index(np.argmax(off), (3, 3)))
        raise ValueError(f"{name}: not orthogonal, the transpose times itself differs from the identity by {off[index]:.3g} at {index}")
    if np.linalg.det(matrix) < 0.0:
        raise ValueError(f"{name}: a reflection, its determinant is {np.linalg.det(matrix):.3g}")
    if not off.any():
        return matrix
    u, _, v = np.linalg.svd(matrix)
    return u @ v


@dataclass(frozen=True)
class Plane(Collider):
    """The half space below a plane, such as a floor.

    Parameters
    ----------
    point : array_like, shape (3,)
        On the plane, m.
    normal : array_like, shape (3,)
        Out of the half space; any length but zero, stored as a unit vector.
    motion : callable(time) -> (rotation (3, 3), translation (3,)), optional
        The placement of the collider at a time (s): its point x is at rotation @ x + translation.

    Raises
    ------
    TypeError, ValueError
        Numbers of another shape, or not finite; a zero normal; a motion that is not callable.
    """

    point: tuple
    normal: tuple
    _: KW_ONLY
    motion: Callable | None = None

    def __post_init__(self):
        direction = real_array("normal", self.normal, (3,))
        largest = np.abs(direction).max()
        if largest == 0.0:
            raise ValueError(f"normal: expected a direction of non-zero length, got {self.normal!r}")
        direction = direction / largest
        keep_shape(self, point=vector("point", self.point), normal=tuple((direction / np.linalg.norm(direction)).tolist()))

    def _core(self, dtype):
        return 0, np.eye(3), np.array(self.point), np.array(self.normal), 1.0, None


@dataclass(frozen=True)
class Sphere(Collider):
    """A ball.

    Parameters
    ----------
    centre : array_like, shape (3,)
        m. There the normal is the x axis of the collider.
    radius : float
        m, greater than 0.
    motion : as for `Plane`
    """

    centre: tuple
    radius: float
    _: KW_ONLY
    motion: Callable | None = None

    def __post_init__(self):
        keep_shape(self, centre=vector("centre", self.centre), radius=number("radius", self.radius, above=0.0))

    def _core(self, dtype):
        return 1, np.eye(3), np.array(self.centre), np.array([self.radius]), 1.0, None


@dataclass(frozen=True)
class Capsule(Collider):
    """All points within a radius of a segment.

    Parameters
    ----------
    start, end : array_like, shape (3,)
        Of the segment, m; equal ends give a ball. On the segment the normal is a fixed one across it.
    radius : float
        m, greater than 0.
    motion : as for `Plane`
    """

    start: tuple
    end: tuple
    radius: float
    _: KW_ONLY
    motion: Callable | None = None

    def __post_init__(self):
        keep_shape(
            self,
            start=vector("start", self.start),
            end=vector("end", self.end),
            radius=number("radius", self.radius, above=0.0),
        )

    def _core(self, dtype):
        half_start, half_end = 0.5 * np.array(self.start), 0.5 * np.array(self.end)
        return 2, np.eye(3), half_start + half_end, np.append(half_end - half_start, self.radius), 1.0, None


@dataclass(frozen=True)
class Box(Collider):
    """A solid box. `pdgpu.shapes.box` makes a mesh of one.

    Parameters
    ----------
    size : array_like, shape (3,)
        Lengths of its sides, m, greater than 0.
    centre : array_like, shape (3,)
        m.
    rotation : array_like, shape (3, 3), optional
        Its columns are the directions of the sides; by default the axes of space.
    motion : as for `Plane`

    Notes
    -----
    The distance is exact inside and outside. If several sides are equally close, the first of x, y, z gives the normal.
    """

    size: tuple
    centre: tuple = (0.0, 0.0, 0.0)
    rotation: tuple | None = None
    _: KW_ONLY
    motion: Callable | None = None

    def __post_init__(self):
        size = real_array("size", self.size, (3,))
        if (size <= 0.0).any():
            index = int(np.argmax(size <= 0.0))
            raise ValueError(f"size: must be greater than 0, got {size[index]} at {index}")
        rotation = self.rotation
        if rotation is not None:
            rotation = tuple(map(tuple, _rotation("rotation", rotation).tolist()))
        keep_shape(self, size=tuple(size.tolist()), centre=vector("centre", self.centre), rotation=rotation)

    def _core(self, dtype):
        rotation = np.eye(3) if self.rotation is None else np.array(self.rotation)
        return 3, rotation, np.array(self.centre), 0.5 * np.array(self.size), 1.0, None


class VertexCollider(Collider):
    """Base of colliders whose vertices move one by one: TriangleMesh, Segments, Points. Each has `primitives`, and `_nearest`: the
    corners (n, k) of the simplices closest to x, and `Closest` of the two.
    """

    rest: Floats
    primitives: Callable[[], tuple[Integers, Integers, Integers]]
    _nearest: Callable

    def positions(self, time: float = 0.0) -> Floats:
        """Positions of the vertices at a time, (n, 3) m."""
        if self.motion is None:
            return self.rest
        return real_array(f"motion: positions at time {time}", ask(self.motion, time, self.rest.copy()), self.rest.shape)

    def placement(self, time: float = 0.0) -> Any:
        """Not for this collider, which has `positions`: raises TypeError."""
        raise TypeError(f"placement: {type(self).__name__} is moved vertex by vertex; positions(time) has them")

    def displacement(self, points: ArrayLike, start: float, end: float) -> Any:
        x = real_array("points", points, (None, 3))
        at_start, at_end = self.positions(number("start", start)), self.positions(number("end", end))
        corners, found = self._nearest(x, at_start, 0)
        return np.einsum("nk,nki->ni", -found.weights[:, 1:], (at_end - at_start)[corners])


@dataclass(frozen=True, eq=False)
class TriangleMesh(VertexCollider):
    """The surface of a mesh.

    Parameters
    ----------
    mesh : Mesh
        With triangles, or tets, whose surface is used.
    motion : callable(time, rest_points (n, 3)) -> positions (n, 3), optional
        Positions of the vertices of the mesh at a time (s), m.

    Attributes
    ----------
    triangles : ndarray, shape (t, 3), int32
        The surface.
    closed : bool
        True if every edge has two consistently oriented triangles. Only then there is an inside, decided exactly with GMP; otherwise no
        distance is negative.
    """

    mesh: Mesh
    _: KW_ONLY
    motion: Callable | None = None

    def __post_init__(self):
        if not isinstance(self.mesh, Mesh):
            raise TypeError(f"mesh: expected a pdgpu.Mesh, got {self.mesh!r}")
        if not len(self.mesh.surface):
            raise ValueError(f"mesh: a collider needs triangles or tets, and {self.mesh!r} has none")
        keep_shape(self)
        try:
            _host.check_closed(self.triangles, len(self.mesh.points))
            object.__setattr__(self, "closed", True)
        except ValueError:
            object.__setattr__(self, "closed", False)

    @property
    def rest(self) -> Floats:  # type: ignore[override]  # read only here
        """Positions of the vertices at rest, (n, 3) m."""
        return self.mesh.points

    @property
    def triangles(self) -> Integers:
        """The triangles of the mesh, int32 of shape (n, 3)."""
        return self.mesh.surface

    def primitives(self) -> tuple[Integers, Integers, Integers]:
        """Triangles (t, 3), edges (m, 2) and particles (p,) for contact, int32."""
        return self.triangles, np.zeros((0, 2), np.int32), np.zeros(0, np.int32)

    def _nearest(self, x, positions, threads):
        """Return corners (n, 3) of the triangles closest to x, and `Closest` of the two."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        corners = self.triangles[_host.nearest_triangles(positions, self.triangles, x, thread_count(threads))]
        pairs = np.concatenate([x[:, None], positions[corners]], axis=1)
        return corners, geometry.vertex_triangle(pairs, device="cpu", threads=threads)

    def _query(self, x, time, threads):
        positions = self.positions(time)
        check_range(self, positions, time, x.dtype)
        corners, found = self._nearest(x, positions, threads)
        x64 = np.ascontiguousarray(x, dtype=np.float64)
        side = out = np.ones(len(x))
        if self.closed:
            side = np.where(_host.are_inside(positions, self.triangles, x64, threads), -1.0, 1.0)
            # within rounding of the surface the gap has no direction: the normal is that of the triangle, outwards
            close = found.distance <= 1e-12 * np.abs(positions).max()
            faces = np.einsum("ni,ni->n", self._outwards(positions, corners), found.normal)
            out = np.where(close, np.where(faces < 0.0, -1.0, 1.0), side)
        normal = out[:, None] * found.normal
        distance = side * found.distance + 0.0
        return SurfacePoints(*(np.ascontiguousarray(array, dtype=x.dtype) for array in (distance, normal, normal, x64 - found.gap)))

    def _outwards(self, positions, corners):
        """Return vectors out of the triangles with these corners (n, 3): reversed if the enclosed volume is negative."""
        a, b, c = np.moveaxis(positions[self.triangles] - positions[self.triangles[0, 0]], 1, 0)
        volume = np.einsum("ti,ti->", a, np.cross(b, c))
        a, b, c = np.moveaxis(positions[corners], 1, 0)
        return np.cross(b - a, c - a) * (1.0 if volume >= 0.0 else -1.0)
