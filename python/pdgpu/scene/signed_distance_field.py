"""Distances on the nodes of a grid as a collider."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import flag, number, real_array
from pdgpu._internal.attributes import read_only
from pdgpu._internal.backends import thread_count
from pdgpu.collision.intersections import find_intersections
from pdgpu.mesh.mesh import Mesh
from pdgpu.scene.colliders import Collider, keep_shape, vector

if TYPE_CHECKING:
    from pdgpu.types import Placement

__all__ = ["SignedDistanceField"]

MOST_NODES = 2**27  # of a grid: 1 GiB of distances


@dataclass(frozen=True, eq=False, repr=False)
class SignedDistanceField(Collider):
    """A signed distance on the nodes of a grid, with trilinear interpolation.

    Parameters
    ----------
    values : array_like, shape (nx, ny, nz)
        Distance at node (i, j, k), negative inside, m; at least 2 nodes along each axis. With `whole` none is negative on the boundary of
        the grid, so that the surface lies inside.
    origin : array_like, shape (3,)
        Position of node (0, 0, 0), m.
    spacing : float
        Between nodes, m.
    mesh : Mesh, optional
        The surface of the distance. Only pictures use it.
    whole : bool
        True if the shape lies in the grid. False: the grid has a part of it, such as a piece of ground, and the surface may leave it. Only
        `ProxyContact` supports a part.
    motion : as for `Plane`

    Notes
    -----
    In a cell where the distance f is smooth, the interpolation error is at most h^2/8 (|f_xx| + |f_yy| + |f_zz|), h the spacing, and at
    most
    sqrt(3)/2 h anywhere; the zero level rounds off edges by as much. `gradient` is the exact derivative of the interpolated distance, which
    jumps between cells; it is no unit vector, of length at most sqrt(3). `normals` are its direction, and closest points lie at distance
    times
    normal, so they are approximate.

    Outside the grid, with q the point of the grid's box closest to p, the distance is sqrt(f(q)^2 + |p - q|^2), which is continuous. If
    f(q) is the distance of q from a surface inside the box, that of p is at least this, and exceeds it by less than f(q).

    For a part, the distance outside the grid is known up to f: if f(q) > |p - q| the point is outside the shape, at least f(q) - |p - q|
    from it, and `distance` returns that. At other points outside the grid it is unknown, and raises ValueError.

    Of the contacts `PenaltyContact` supports it too, for vertices; the others need distances to edges and triangles.
    """

    values: np.ndarray
    origin: tuple
    spacing: float
    _: KW_ONLY
    mesh: Mesh | None = None
    motion: Callable | None = None
    whole: bool = field(default=True, metadata={"since": 1})
    _rounded: dict = field(default_factory=dict, init=False)  # dtype -> the values in it

    def __post_init__(self):
        values = real_array("values", self.values, (None, None, None))
        if min(values.shape) < 2:
            raise ValueError(f"values: expected at least 2 nodes along each axis, got shape {values.shape}")
        inner = values[1:-1, 1:-1, 1:-1].copy()
        values[1:-1, 1:-1, 1:-1] = 0.0
        keep_shape(self, whole=flag("whole", self.whole))
        if self.whole and (values < 0.0).any():
            index = tuple(int(i) for i in np.argwhere(values < 0.0)[0])
            raise ValueError(
                f"values: the surface must lie inside the grid, but {values[index]} at {index}, on its boundary, is negative; "
                "of a part of a shape take whole=False"
            )
        values[1:-1, 1:-1, 1:-1] = inner
        if self.mesh is not None and not isinstance(self.mesh, Mesh):
            raise TypeError(f"mesh: expected a pdgpu.Mesh, got {self.mesh!r}")
        keep_shape(self, values=read_only(values), origin=vector("origin", self.origin), spacing=number("spacing", self.spacing, above=0.0))

    def __repr__(self):
        nodes, part = " x ".join(map(str, self.values.shape)), "" if self.whole else ", whole=False"
        return f"SignedDistanceField({nodes} nodes, origin={self.origin}, spacing={self.spacing:g}, motion={self.motion!r}{part})"

    def __reduce__(self):
        return _field_of, (np.array(self.values), self.origin, self.spacing, self.mesh, self.motion, self.whole)

    @classmethod
    def from_mesh(
        cls, mesh: Mesh, *, spacing: float, padding: float | None = None, motion: Placement | None = None, threads: int = 0
    ) -> SignedDistanceField:
        """The distance from a closed surface on a grid around it.

        Parameters
        ----------
        mesh : Mesh
            Its surface: closed, two consistently oriented triangles at every edge, without self-intersection. Its orientation may be
            outwards or inwards; surfaces inside others enclose holes.
        spacing : float
            m. The grid has ((size + 2 padding) / spacing + 1) nodes along an axis, rounded up, 2^27 in all at most, 8 bytes each.
        padding : float, optional
            From the surface to the boundary of the grid, m, at least (and by default twice) the spacing.
        motion : as for `Plane`
        threads : int
            0: all cores. The result does not depend on it.

        Returns
        -------
        SignedDistanceField

        Raises
        ------
        ValueError
            An open or non-manifold surface, inconsistent orientation, a self-intersection: with the edge or triangle; a spacing that gives
            too many nodes, with their number.
        RuntimeError
            This build has no GMP.

        Notes
        -----
        The distance of every node is that of its closest triangle, found in a tree of boxes. Its sign is exact: the parity of the triangles
        above
        the node, in integer arithmetic where rounding could decide, with ties broken by an infinitesimal shift [Edelsbrunner and Mücke
        1990,
        simulation of simplicity].
        """
        if not isinstance(mesh, Mesh):
            raise TypeError(f"mesh: expected a pdgpu.Mesh, got {mesh!r}")
        triangles = mesh.surface
        try:
            _host.check_closed(triangles, len(mesh.points))
        except ValueError as error:
            raise ValueError(f"mesh: {error}") from None
        found = find_intersections(mesh.points, triangles, threads=threads)
        if found:
            edge, triangle = found.edge_triangle[0]
            others = f", and {len(found) - 1} pairs more" if len(found) > 1 else ""
            raise ValueError(
                f"mesh: its surface intersects itself: edge {tuple(found.edges[edge].tolist())} and triangle {triangle}{others}"
            )
        spacing = number("spacing", spacing, above=0.0)
        padding = 2.0 * spacing if padding is None else number("padding", padding, minimum=spacing)
        used = mesh.points[triangles]
        low, high = used.min(axis=(0, 1)) - padding, used.max(axis=(0, 1)) + padding
        with np.errstate(over="ignore"):
            size = high - low
            counts = np.ceil(size / spacing) + 1.0
            nodes = np.prod(counts)
        if not nodes <= MOST_NODES:
            shape = " x ".join(f"{count:.0f}" for count in counts)
            needed = f"{spacing:g} m with a padding of {padding:g} m would need {shape} = {nodes:.0f} nodes"
            raise ValueError(f"spacing: {needed}, at most {MOST_NODES} are possible; take a larger spacing")
        if spacing < 1e-9 * np.abs([low, high]).max():
            raise ValueError(f"spacing: {spacing:g} m is too fine for coordinates up to {np.abs([low, high]).max():g} m")
        origin, counts = tuple(low.tolist()), tuple(int(count) for count in counts)
        values = _host.distance_grid(mesh.points, triangles, origin, spacing, counts, thread_count(threads))
        return cls(values, origin, spacing, mesh=mesh, motion=motion)

    def _core(self, dtype):
        rounded = self._rounded.setdefault(dtype.name, self.values if dtype == np.float64 else self.values.astype(dtype))
        return 4, np.eye(3), np.array(self.origin), np.array([float(not self.whole)]), self.spacing, rounded

    def _query(self, x, time, threads):
        found = super()._query(x, time, threads)
        silent = np.flatnonzero(np.isnan(found.distance))
        if len(silent):
            raise ValueError(
                f"points: {x[silent[0]].tolist()} at {silent[0]} is outside the grid of {self!r}, which has a part of a shape, and farther "
                f"than its nearest value: the distance there is unknown ({len(silent)} of {len(x)} points); take a larger grid"
            )
        return found


def _field_of(values, origin, spacing, mesh, motion, whole):
    return SignedDistanceField(values, origin, spacing, mesh=mesh, motion=motion, whole=whole)
