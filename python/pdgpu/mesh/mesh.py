"""Meshes: points with tets, triangles or edges, checked on construction, and derived data."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import any_array, choice, having, real_array
from pdgpu._internal.attributes import GuardedAttributes, read_only
from pdgpu._internal.counted import counted
from pdgpu.mesh.conversions import conversion_of, of_pyvista, of_trimesh
from pdgpu.mesh.io.cell_kinds import of_meshio
from pdgpu.mesh.mesh_arrays import as_points, element_rows
from pdgpu.mesh.mesh_groups import cell_data_of, groups_of
from pdgpu.mesh.mesh_order import reordered
from pdgpu.mesh.mesh_quality import quality_of
from pdgpu.mesh.welding import coincident, welded

if TYPE_CHECKING:
    from typing import Any, Literal, Self

    from numpy.typing import ArrayLike

    from pdgpu.mesh.mesh_groups import Group
    from pdgpu.types import Floats, Integers, Path

__all__ = ["Mesh", "read_mesh"]


class Mesh(GuardedAttributes):
    """Points in space and the elements between them.

    All input is checked and copied on construction; the arrays of a mesh are read-only and never change afterwards.

    Parameters
    ----------
    points : array_like, shape (n, 3)
        Coordinates in m, of any real dtype.
    tets, triangles, edges : array_like of int, shape (m, 4), (m, 3), (m, 2), optional
        Elements as rows of indices into `points`, from 0. At least one of the three must have a row.
    strict : bool
        A tet is positive if det(x1 - x0, x2 - x0, x3 - x0) > 0. Negative ones are re-oriented by swapping their last two vertices, with one
        warning that counts them; with ``strict=True`` they raise instead.
    groups : dict, optional
        Name -> dict with some of "points", "tets", "triangles", "edges": indices of points or rows of elements.
    cell_data : dict, optional
        Name -> dict with "tets", "triangles", "edges": numbers of the elements, (m,) or (m, ...), for constants of materials.

    Attributes
    ----------
    points : ndarray, shape (n, 3), float64
        Coordinates in m.
    tets, triangles, edges : ndarray, shape (m, 4), (m, 3), (m, 2), int32
        Elements; of shape (0, k) if none were given.
    groups : mapping of str to Group
        `Body.pin`, `attach` and `slide` take the name of a group for its vertices. `write` lists the files that can store them.
    cell_data : mapping of str to mapping of str to ndarray
        ``mesh.cell_data["young"]["tets"]``. `write` lists the files that can store them.

    Raises
    ------
    TypeError
        Complex, boolean or object arrays; indices given as floats.
    ValueError
        A wrong shape, a coordinate that is not finite, an index out of range, a vertex repeated in a row, a tet of zero volume
        (at most 1e-12 of its longest edge cubed), no points or no elements. The text names argument, row and value.

    Examples
    --------
    >>> mesh = pdgpu.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
    >>> len(mesh.surface)
    4
    """

    groups: Mapping[str, Group]
    cell_data: Mapping[str, Mapping[str, Floats]]

    _instead = "a mesh stays as it is, make another one"

    def __init__(
        self,
        points: ArrayLike,
        tets: ArrayLike | None = None,
        triangles: ArrayLike | None = None,
        edges: ArrayLike | None = None,
        *,
        strict: bool = False,
        groups: Mapping[str, Any] | None = None,
        cell_data: Mapping[str, Any] | None = None,
    ) -> None:
        self._build(points, tets, triangles, edges, strict, source="", stacklevel=3, groups=groups, cell_data=cell_data)

    def _build(self, points, tets, triangles, edges, strict, source, stacklevel, groups=None, cell_data=None):
        """Fill a new mesh. `source` precedes the text of the warning; `stacklevel` makes it point at the user's line."""
        self._points = as_points(points)
        n_points = len(self._points)
        self._elements = {}
        for name, elements, k in (("tets", tets, 4), ("triangles", triangles, 3), ("edges", edges, 2)):
            self._elements[name] = element_rows(name, elements, k, self._points)
        if not any(len(rows) for rows in self._elements.values()):
            raise ValueError(f"mesh: {n_points} points but no tets, triangles or edges")

        tets, n_flipped = _host.orient_tets(self._points, self._elements["tets"])
        if n_flipped:
            volumes = _host.measures(self._points, self._elements["tets"])
            first = int(np.argmax(volumes < 0))
            found = f"tets: {n_flipped} of {len(tets)} are inverted, the first at row {first} (volume {volumes[first]:g})"
            if strict:
                raise ValueError(found)
            warnings.warn(f"{source}{found}; their last two vertices were swapped", stacklevel=stacklevel)
        self._elements["tets"] = tets
        # no later code checks the indices
        self._points, self._elements = read_only(self._points), {name: read_only(rows) for name, rows in self._elements.items()}
        self._derived = {}
        self._keep(groups=groups_of(groups, self._elements, n_points), cell_data=cell_data_of(cell_data, self._elements))

    def __reduce__(self):
        named = {"groups": self._given_groups(), "cell_data": {name: dict(parts) for name, parts in self.cell_data.items()}}
        return partial(Mesh, **named), (self.points, self.tets, self.triangles, self.edges)

    def _given_groups(self):
        return {name: group.given() for name, group in self.groups.items()}

    @classmethod
    def from_meshio(cls, mesh: Any, *, strict: bool = False) -> Self:
        """A mesh from a meshio.Mesh, with its groups and cell data.

        Cells, groups and numbers are converted as in `read_mesh`; errors and warnings are the same, without the path.
        """
        having("mesh", mesh, "cells", "a meshio.Mesh")
        return cls._of(of_meshio(mesh), strict)

    @classmethod
    def from_trimesh(cls, mesh: Any, *, strict: bool = False) -> Self:
        """A mesh of the vertices and faces of a trimesh.Trimesh. Convert a trimesh.Scene by ``scene.to_mesh()``."""
        return cls._of(of_trimesh(mesh), strict)

    @classmethod
    def from_pyvista(cls, mesh: Any, *, strict: bool = False) -> Self:
        """A mesh of a pyvista.PolyData or grid, with its cell data; polygons and strips become triangles.

        Raises
        ------
        ValueError
            Hexahedra and cells of second order: ``mesh.triangulate()`` and ``mesh.linear_copy()`` of pyvista convert them.
        """
        return cls._of(of_pyvista(mesh), strict)

    @classmethod
    def _of(cls, arrays, strict, source="", stacklevel=4):
        points, elements, named = arrays
        self = cls.__new__(cls)
        parts = (elements.get(kind) for kind in ("tets", "triangles", "edges"))
        self._build(points, *parts, strict, source=source, stacklevel=stacklevel, **named)
        return self

    def __repr__(self):
        counts = [counted(len(rows), name.removesuffix("s")) for name, rows in self._elements.items() if len(rows)]
        return f"Mesh({counted(len(self.points), 'point')}, {', '.join(counts)})"

    @property
    def points(self) -> Floats:
        """Coordinates, (n, 3) float64, m."""
        return self._points

    @property
    def tets(self) -> Integers:
        """Tets, (m, 4) int32, all of positive volume."""
        return self._elements["tets"]

    @property
    def triangles(self) -> Integers:
        """Triangles, (m, 3) int32."""
        return self._elements["triangles"]

    @property
    def edges(self) -> Integers:
        """Edges that are elements of their own (rods), (m, 2) int32. `unique_edges` has the edges of all elements."""
        return self._elements["edges"]

    def _derive(self, name, make):
        """The array `make()` returns, computed once and read-only."""
        if name not in self._derived:
            self._derived[name] = read_only(make())
        return self._derived[name]

    @property
    def surface(self) -> Integers:
        """Triangles of the outer surface, (t, 3) int32.

        For a mesh with tets, the triangles of exactly one tet, counter-clockwise seen from outside; otherwise `triangles`. ValueError if
        three tets share a triangle.
        """
        if not len(self.tets):
            return self.triangles
        return self._derive("surface", lambda: _host.surface(self.tets, len(self.points)))

    @property
    def hinges(self) -> Integers:
        """Pairs of `triangles` with a common edge, (h, 4) int32: x0 < x1 the edge, x2 and x3 the wings.

        x2 is in the triangle with the direction x0 -> x1. At an edge of three or more triangles every pair of them is a hinge. ValueError
        if more than 64 triangles share an edge, or two are equal.
        """
        return self._derive("hinges", lambda: _host.hinges(self.triangles, len(self.points)))

    @property
    def joints(self) -> Integers:
        """Pairs of `edges` with a common vertex, (j, 3) int32: this vertex and the other ends, x1 < x2, sorted.

        Repeated edges count once.
        """

        def make():
            edges = np.unique(np.sort(self.edges, axis=1), axis=0).astype(np.int64)
            ends = np.concatenate([edges, edges[:, ::-1]])
            ends = ends[np.lexsort(ends.T[::-1])]
            middles, first, meeting = np.unique(ends[:, 0], return_index=True, return_counts=True)
            found = [np.zeros((0, 3), np.int64)]
            for count in np.unique(meeting[meeting > 1]):
                here = meeting == count
                others = ends[first[here][:, None] + np.arange(count), 1]
                low, high = np.triu_indices(count, 1)
                rows = [np.repeat(middles[here], len(low)), others[:, low].ravel(), others[:, high].ravel()]
                found.append(np.stack(rows, axis=1))
            joints = np.concatenate(found)
            return np.ascontiguousarray(joints[np.lexsort(joints.T[::-1])], dtype=np.int32)

        return self._derive("joints", make)

    def unique_edges(self) -> Integers:
        """Every pair of vertices of an element, once: (e, 2) int32, i < j, sorted."""

        def make():
            n_points = len(self.points)
            parts = [_host.edges(rows, n_points) for rows in self._elements.values() if len(rows)]
            return parts[0] if len(parts) == 1 else _host.edges(np.concatenate(parts), n_points)

        return self._derive("unique_edges", make)

    def colouring(self, method: Literal["balanced", "greedy"] = "balanced") -> Integers:
        """Colour the vertices so that no two of one element have the same colour.

        Parameters
        ----------
        method : {"balanced", "greedy"}
            "greedy": ascending vertices, the smallest colour that no neighbour has. "balanced": the same number of colours, of nearly equal
            size, for parallel work.

        Returns
        -------
        ndarray, shape (n,), int32
            Colours from 0, without gaps.
        """
        choice("method", method, ("balanced", "greedy"))
        return _host.colouring(self.unique_edges(), len(self.points), method)

    def quality(self) -> dict[str, Any]:
        """Sizes and shapes of the elements.

        Returns
        -------
        dict of ndarray
            Only the keys of existing elements:

            - ``"volumes"`` (m,) m³, ``"volume_ratios"`` (m,): 6√2 V / l³ with l the root mean square of the six edges, 1 for the
              regular tet, 0 for a flat one; ``"dihedral_minimum"``, ``"dihedral_maximum"`` (m,): the smallest and the largest
              angle between two faces of each tet, in degrees (regular: 70.53).
            - ``"areas"`` (m,) m², ``"triangle_ratios"`` (m,): 4√3 A / Σ l², 1 for the equilateral triangle.
            - ``"edge_lengths"`` (e,) m, in the order of `unique_edges`.
            - ``"jacobi_eigenvalue"``: the largest eigenvalue lambda of D⁻¹A, A the Projective Dynamics matrix of the mesh, D its
              diagonal, in the limit of a stiff body (ARAP for tets, or triangles, or springs for edges). It depends only on the shape
              of the elements. ``"jacobi_weight"``: 1.8 / lambda. Weighted Jacobi converges for weights below 2 / lambda, so plain
              Jacobi diverges for lambda >= 2. NaN for a flat element, which has no rest shape.
        """
        return quality_of(self)

    def curve_order(self) -> Integers:
        """The vertices along a Morton curve [Morton 1966], so that spatial neighbours are near in the list: (n,) int32."""
        return _host.curve_order(self.points)

    def reordered(self, order: ArrayLike | None = None) -> Mesh:
        """The same mesh with vertex ``order[i]`` at place i, and its elements sorted by their first vertex in the new order.

        Loops over a large mesh wait for memory, less so if neighbours are close together; many mesh generators leave them far apart.
        Convert data per vertex by ``values[order]``; groups and cell data are converted. A step has the same result to rounding; a method
        that visits the vertices in sequence has other iterates.

        Parameters
        ----------
        order : array_like of int, shape (n,), optional
            Each vertex once. By default `curve_order`.

        Returns
        -------
        Mesh

        Raises
        ------
        TypeError
            `order` does not consist of integers.
        ValueError
            `order` has another length, an index out of range or a repeated one.
        """
        return reordered(self, order)

    def without_unused_vertices(self) -> Mesh:
        """A new mesh without the points that belong to no element; the others keep their order."""
        used = np.zeros(len(self.points), dtype=bool)
        for rows in self._elements.values():
            used[rows] = True
        new_index = np.cumsum(used, dtype=np.int32) - np.int32(1)
        groups = self._given_groups()
        for parts in groups.values():
            if "points" in parts:
                parts["points"] = new_index[parts["points"][used[parts["points"]]]]
        elements = (new_index[rows] for rows in self._elements.values())
        return Mesh(self.points[used], *elements, groups=groups, cell_data=self.cell_data)

    def welded(self, tolerance: float = 0.0) -> Mesh:
        """The same mesh with coincident points joined, so that their elements are connected.

        Parameters
        ----------
        tolerance : float
            Points up to this distance are joined, m, also in chains; 0: those with equal coordinates. A set of joined points has the
            position and the place in the order of its first one. Groups and cell data are converted.

        Returns
        -------
        Mesh

        Warns
        -----
        UserWarning
            Elements that became flat or equal to another one were left out; they are counted.
        """
        return welded(self, tolerance)

    def write(self, path: Path, *, fields: Mapping[str, ArrayLike] | None = None) -> None:
        """Write the mesh in the format of the suffix of `path`.

        Parameters
        ----------
        path : str or path-like
            .msh .vtk .vtu .mesh .npz store every element; .obj .ply .stl .off .glb triangles only (.glb by trimesh); .node/.ele (a pair)
            tets only. With a further suffix .gz the file is compressed. STL and glTF store coordinates in float32. Each file is replaced as
            a whole (the two of a pair in sequence); a link is followed; a replaced file keeps its mode. Groups: .npz stores all of them,
            .msh those of one kind (tets, triangles, edges or points) that do not overlap, .glb those of triangles that do not overlap, .obj
            those of triangles. Cell data: .npz stores them unchanged; .vtu, .vtk and .msh may convert them to float64.
        fields : dict, optional
            Name -> real array (n,) or (n, k), numbers of the points for ParaView, such as ``{"contact_force": forces}``; .vtu and .vtk.

        Raises
        ------
        FileNotFoundError
            The folder does not exist.
        ValueError
            An unknown format, or one that cannot store the elements of this mesh.

        Warns
        -----
        UserWarning
            Groups or cell data that the format cannot store; they are named.
        """
        from pdgpu.mesh.io.mesh_writers import write_arrays

        if not isinstance(fields, Mapping | None):
            raise TypeError(f"fields: expected a dict of name -> array, got {fields!r}")
        given, fields = fields or {}, {}
        for name, values in given.items():
            if not isinstance(name, str):
                raise TypeError(f"fields: expected names as keys, got {name!r}")
            array = any_array(f"fields[{name!r}]", values)
            if array.ndim not in (1, 2) or len(array) != len(self.points):
                raise ValueError(f"fields[{name!r}]: expected shape ({len(self.points)},) or ({len(self.points)}, k), got {array.shape}")
            fields[name] = real_array(f"fields[{name!r}]", array, array.shape)
        elements = {name: rows for name, rows in self._elements.items() if len(rows)}
        write_arrays(
            path, self.points, elements, fields, self._given_groups(), {name: dict(parts) for name, parts in self.cell_data.items()}
        )


def read_mesh(path: Path, *, strict: bool = False) -> Mesh:
    """Read a mesh from a file.

    Parameters
    ----------
    path : str or path-like
        .msh (Gmsh 2, 4.0, 4.1); through meshio .vtk (unstructured grids, polygons, sheets), .vtu and .vtp (one piece), .mesh and .meshb
        (Medit), .inp (Abaqus, one list of nodes, includes are not followed); .ply, .stl (equal points merged), .off, .obj, .node/.ele
        (TetGen; either name), .t (Vertex and Tet lines), .seg (v and s lines), .npz (arrays points, tets, triangles, edges, or V, T). All
        except the TetGen pair may be compressed: .gz. Quadrilaterals and polygons become triangles. Cells of a single point, point data and
        colours are skipped. Physical groups of Gmsh (without a name "physical 7"), sets of Abaqus, groups and objects of .obj become
        `Mesh.groups`, numbers of cells `Mesh.cell_data`.
    strict : bool
        As in `Mesh`: inverted tets raise instead of being re-oriented with a warning.

    Returns
    -------
    Mesh

    Raises
    ------
    FileNotFoundError
        No such file.
    TypeError
        A mesh of another library instead of a path; the text names the method of `Mesh` for it.
    ValueError
        An unknown format, a pipe, a damaged or truncated file, fewer or more elements than the file announces, a file that announces more
        than 100 times its size and 64 MiB, cells that are not tets, triangles, quadrilaterals, polygons or edges (those of second order,
        hexahedra), or a mesh that `Mesh` rejects. The text begins with the path.

    Warns
    -----
    UserWarning
        Points that coincide. Faces of two corners and triangles with a repeated vertex, which are left out. A text file whose last line has
        no end: it may be truncated. (In formats without counts, .obj, .inp, .t and .seg, a truncation at the end of a line cannot be
        detected.) Unknown lines of an .obj.
    """
    from pdgpu.mesh.io.mesh_files import read_arrays

    if conversion := conversion_of(path):
        raise TypeError(f"path: expected a string or a path, got a {type(path).__name__}{conversion}")
    arrays = read_arrays(path)
    try:
        mesh = Mesh._of(arrays, strict, source=f"{os.fspath(path)}: ")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error
    used = np.concatenate([rows.ravel() for rows in (mesh.tets, mesh.triangles, mesh.edges)])
    n, pair = coincident(mesh.points, used)
    if n:
        warnings.warn(
            f"{os.fspath(path)}: {n} points coincide with others, first {pair[0]} and {pair[1]}, so their elements are not connected; "
            "mesh.welded() joins them",
            stacklevel=2,
        )
    return mesh
