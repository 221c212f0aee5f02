"""Verification: all intersections of a mesh with itself, in exact arithmetic.

It shares no code with the collision detection of the solvers, so that it can verify their results.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import any_array, real_array, whole_numbers
from pdgpu._internal.backends import thread_count
from pdgpu._internal.counted import counted

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

__all__ = ["ClosePair", "Intersections", "find_intersections"]

ClosePair = namedtuple("ClosePair", "kind first second distance")
ClosePair.__doc__ = """Two primitives too near each other: `kind`, `first` and `second` as in `Crossing`, `distance` in m, to rounding,
negative inside a plane, sphere or capsule, 0 in contact with a box."""


@dataclass(frozen=True, eq=False)
class Intersections:
    """The result of `find_intersections`. Its length is the number of intersecting pairs, its truth value whether there are any.

    Attributes
    ----------
    edges : ndarray, shape (e, 2), int32
        The edges of the triangles and the given ones, i < j, sorted. The pairs below are rows of it.
    edge_triangle : ndarray, shape (k, 2), int32
        An edge (row of `edges`) and a triangle (row of the argument) that share more than a vertex, sorted.
    edge_edge : ndarray, shape (l, 2), int32
        Two edges without a triangle that share more than a vertex, i < j, sorted.
    flat_triangles : ndarray, shape (m,), int32
        Triangles of zero area. They are no intersections, and are tested like all others.
    close_pairs : list of ClosePair
        For `certify`: pairs with an obstacle that is no mesh, and pairs nearer than the separation; by kind, then indices.
    """

    edges: np.ndarray
    edge_triangle: np.ndarray
    edge_edge: np.ndarray
    flat_triangles: np.ndarray
    close_pairs: list[Any] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.edge_triangle) + len(self.edge_edge) + len(self.close_pairs)

    def __str__(self) -> str:
        close = f", {counted(len(self.close_pairs), 'pair')} too near" if self.close_pairs else ""
        return f"{len(self.edge_triangle)} edge-triangle and {len(self.edge_edge)} edge-edge intersections{close}"


def find_intersections(
    points: ArrayLike, triangles: ArrayLike, edges: ArrayLike | None = None, *, particles: Any = None, threads: int = 0
) -> Any:
    """Every intersection of triangles and edges with each other, decided exactly.

    Triangles, edges and vertices are closed sets that may meet in common vertices only. Touching counts, and so do an edge that folds onto
    its neighbour and triangles that overlap in their common plane. Two intersecting triangles do so on an edge of one of them. So all edges
    are tested against all triangles, and edges without a triangle also against each other. Orientation predicates are evaluated in double
    with an error bound, and undecided ones in integers of GMP.

    Parameters
    ----------
    points : array_like, shape (n, 3)
        Coordinates in m, of any real dtype; float32 is exact in float64.
    triangles : array_like of int, shape (t, 3)
        May have no row.
    edges : array_like of int, shape (r, 2), optional
        Edges in addition to those of the triangles, such as rods.
    particles : array_like of int, shape (p,), optional
        Vertices that are bodies of their own: tested against triangles and against edges without a triangle. Other vertices without a
        triangle or an edge, such as the inner ones of a solid, are skipped.
    threads : int
        0: all cores. The result does not depend on it.

    Returns
    -------
    Intersections
        With particles, the last rows of its `edges` are (i, i) for each particle i.

    Raises
    ------
    TypeError, ValueError
        A coordinate that is not finite, an index out of range, a vertex repeated in a row: with argument, row and value.
    RuntimeError
        A build without GMP.

    Examples
    --------
    >>> points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, -1], [0.2, 0.2, 1], [1, 1, 1]]
    >>> len(pdgpu.geometry.find_intersections(points, [[0, 1, 2], [3, 4, 5]]))
    2
    """
    points = real_array("points", points, (None, 3))
    scene = VerifierScene(len(points), triangles, edges, particles)
    return scene.intersections(points, thread_count(threads))


PAIR_KINDS = ("vertex-triangle", "edge-edge", "vertex-edge")


class VerifierScene:
    """Checked triangles, edges and particles over n points, in the form of the functions of `_host`.

    `fixed` (n,) uint8 marks vertices whose mutual distances are not tested; their intersections are. A pair is too near if its distance is
    below the `radii` (n,), m, of both plus a separation; radii are equal at all corners of a triangle and of an edge. `obstacles` (n,) bool
    marks the vertices of obstacles, which share no simplex with a body.
    """

    def __init__(
        self, n_points: Any, triangles: Any, edges: Any, particles: Any, fixed: Any = None, radii: Any = None, obstacles: Any = None
    ) -> None:
        self.n_points = n_points
        self.obstacles = np.zeros(n_points, bool) if obstacles is None else obstacles
        self.radii = np.zeros(n_points) if radii is None else radii
        self.fixed = np.zeros(n_points, np.uint8) if fixed is None else fixed
        self.triangles = _rows("triangles", triangles, 3, n_points)
        others = _rows("edges", edges, 2, n_points)
        own = _host.edges(self.triangles, n_points) if len(self.triangles) else np.zeros((0, 2), np.int32)
        everything = np.concatenate([own, np.sort(others, axis=1)])
        dots = _rows("particles", particles, 1, n_points)
        self.edges = np.unique(everything, axis=0) if len(others) else everything
        self.edges = np.ascontiguousarray(np.concatenate([self.edges, np.repeat(np.unique(dots, axis=0), 2, axis=1)]), dtype=np.int32)
        key = self.edges[:, 0].astype(np.int64) * n_points + self.edges[:, 1]
        self.alone = (~np.isin(key, own[:, 0].astype(np.int64) * n_points + own[:, 1])).astype(np.uint8)
        self.vertices = np.unique(np.concatenate([self.triangles.ravel(), self.edges.ravel()])).astype(np.int32)

    def intersections(self, points: Any, threads: Any) -> Any:
        return Intersections(self.edges, *_host.find_intersections(points, self.triangles, self.edges, self.alone, threads))

    def corners(self, kind: str, rows: Any) -> Any:
        """The first corner of each of some "vertex", "edge" or "triangle"."""
        return rows if kind == "vertex" else {"edge": self.edges, "triangle": self.triangles}[kind][rows, 0]

    def of_obstacles(self, kind: str, first: Any, second: Any) -> Any:
        """Tells which pairs of a kind such as "edge-triangle" have both primitives in obstacle meshes. Other obstacles have names: none of
        these.
        """
        if isinstance(first, str) or isinstance(second, str):
            return False
        return np.logical_and(*(self.obstacles[self.corners(*part)] for part in zip(kind.split("-"), (first, second), strict=True)))

    def parted(self, found: Any) -> Any:
        """Intersections in two parts: those with a body, and those of obstacle meshes only."""
        alone = {name: self.of_obstacles(name.replace("_", "-"), *getattr(found, name).T) for name in ("edge_triangle", "edge_edge")}
        bodies = {name: getattr(found, name)[~chosen] for name, chosen in alone.items()}
        obstacles = {name: getattr(found, name)[chosen] for name, chosen in alone.items()}
        return replace(found, **bodies), replace(found, **obstacles, close_pairs=[])

    def crossings(self, points_0: Any, points_1: Any, threads: Any) -> Any:
        return _host.find_crossings(points_0, points_1, self.vertices, self.triangles, self.edges, self.alone, threads)

    def approaches(self, points_0: Any, points_1: Any, separation: Any, threads: Any) -> Any:
        """The pairs that come nearer than a separation plus both radii between two frames: (pairs, times, distances) for each of
        PAIR_KINDS.

        Distances in m, minus the radii.
        """
        vertices, alone = self.vertices[:, None], np.flatnonzero(self.alone).astype(np.int32)
        numbers = {"triangle": None, "vertex": self.vertices, "edge": None, "alone": alone}
        kinds = (("vertex", vertices, "triangle", self.triangles), ("edge", self.edges, "edge", self.edges))
        for kind, first, other, second in (*kinds, ("vertex", vertices, "alone", self.edges[alone])):
            same = other == "edge"
            parts = [*self._of_thickness(points_0, points_1, first, second, same, separation, threads)]
            found = parts[0]
            if len(parts) > 1:
                pairs, *others = (np.concatenate(columns) for columns in zip(*parts, strict=True))
                order = np.lexsort(pairs.T[::-1])
                found = [pairs[order], *(column[order] for column in others)]
            for column, name in enumerate((kind, other)):
                if (of_rows := numbers[name]) is not None:
                    found[0][:, column] = of_rows[found[0][:, column]]
            yield found

    def _of_thickness(self, points_0: Any, points_1: Any, first: Any, second: Any, same: Any, separation: Any, threads: Any) -> Any:
        """For each thickness of the second simplices: (pairs, times, distances) with the first ones, with `same` only rows i < j."""
        of_first, of_second = self.radii[first[:, 0]], self.radii[second[:, 0]]
        thicknesses = np.unique(of_second)
        if len(thicknesses) == 1 and not of_first.any():  # most scenes
            yield _host.find_approaches(points_0, points_1, first, second, of_first, separation, self.fixed, same, threads)
            return
        yield np.zeros((0, 2), np.int32), np.zeros(0), np.zeros(0)
        for thickness in thicknesses:
            theirs = np.flatnonzero(of_second == thickness).astype(np.int32)
            chosen = ((of_first == thickness, True), (of_first > thickness, False)) if same else ((of_first >= 0.0, False),)
            for mine, alike in chosen:
                # without thickness and separation, crossings find the pairs
                mine = np.flatnonzero(mine & (of_first + (separation + thickness) > 0.0)).astype(np.int32)
                if not len(mine):
                    continue
                rows, others = np.ascontiguousarray(first[mine]), np.ascontiguousarray(second[theirs])
                arguments = (rows, others, of_first[mine], separation + thickness, self.fixed, alike, threads)
                pairs, times, distances = _host.find_approaches(points_0, points_1, *arguments)
                pairs = np.stack([mine[pairs[:, 0]], theirs[pairs[:, 1]]], axis=1)
                yield np.sort(pairs, axis=1) if same else pairs, times, distances - thickness

    def smallest_gap(self, points: Any, threads: Any) -> Any:
        return _host.smallest_gap(points, self.vertices, self.triangles, self.edges, self.alone, threads)


def _rows(name: Any, rows: Any, k: Any, n_points: Any) -> Any:
    """Rows of k indices, (m, k) int32; may be empty."""
    if rows is None:
        return np.zeros((0, k), np.int32)
    array = any_array(name, rows)
    if array.size == 0:
        return np.zeros((0, k), np.int32)
    array = np.array(
        whole_numbers(name, array)
    )  # a copy: the core reads it without the interpreter's lock, when another thread could write to the original
    expected = "(any,)" if k == 1 else f"(any, {k})"
    if array.shape[1:] != (() if k == 1 else (k,)):
        raise ValueError(f"{name}: expected shape {expected}, got {array.shape}")
    array = array.reshape(-1, k)
    bad = (array < 0) | (array >= n_points)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{name}: index {array[row, column]} at row {row} is out of range for {n_points} points")
    for i in range(k):
        repeated = (array[:, i : i + 1] == array[:, i + 1 :]).any(axis=1)
        if repeated.any():
            row = int(np.argmax(repeated))
            raise ValueError(f"{name}: row {row} repeats vertex {array[row, i]}")
    return np.ascontiguousarray(array, dtype=np.int32)
