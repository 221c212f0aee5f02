"""Conversion of a file's cells to the elements of a mesh, with their groups and numbers."""

from __future__ import annotations

import numpy as np

from pdgpu._internal.file_limits import check_growth
from pdgpu.mesh.io.mesh_counts import SPLIT

__all__ = ["Cells", "of_meshio", "split_polygons"]

ELEMENTS = ("tets", "triangles", "edges")
KIND_OF = {"tetra": "tets", "triangle": "triangles", "quad": "triangles", "polygon": "triangles", "line": "edges", "vertex": "points"}
# cells of first order that a mesh cannot have
VOLUMES = ("hexahedron", "wedge", "pyramid", "voxel", "polyhedron")


class Cells:
    """Collects the cells of a file block by block.

    Parameters
    ----------
    size : int or None
        Bytes of the file, which bound the rows of its groups: a file may put every element into every group.
    """

    def __init__(self, size=None):
        self._size, self._entries = size, 0
        self._rows, self._counts = {kind: [] for kind in ELEMENTS}, dict.fromkeys(ELEMENTS, 0)
        self._blocks, self._groups, self._data = [], {}, {}

    def add(self, cell, corners):
        """Adds a block of cells by their name in meshio, corners (k, n). Returns its number."""
        kind = KIND_OF.get("polygon" if cell.startswith("polygon") else cell)
        corners = np.asarray(corners)
        if kind is None:
            raise ValueError(_unusable(cell, len(corners)))
        if kind == "points":
            self._blocks.append((kind, corners.reshape(-1), 1))
            return len(self._blocks) - 1
        split = corners.shape[1] - 2 if kind == "triangles" else 1
        rows = split_polygons(corners) if split > 1 else corners
        self._blocks.append((kind, self._counts[kind] + np.arange(len(rows)), split))
        self._rows[kind].append(rows)
        self._counts[kind] += len(rows)
        return len(self._blocks) - 1

    def choose(self, name, block, chosen):
        """Adds cells of a block, by their rows in it, to a group."""
        kind, rows, split = self._blocks[block]
        chosen = np.asarray(chosen, dtype=np.int64)
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < len(rows) // split:
            raise ValueError(f"the group {name!r} refers to a cell that does not exist")
        self.name(name, kind, rows[(chosen[:, None] * split + np.arange(split)).ravel()])

    def name(self, name, kind, rows):
        """Adds points, or rows of elements, to a group."""
        self._entries += len(rows)
        check_growth(f"groups of {self._entries} rows", 8 * self._entries, self._size)
        self._groups.setdefault(str(name), {}).setdefault(kind, []).append(rows)

    def tag(self, block, tags, names_of):
        """Adds each cell of a block to the groups `names_of(its tag, its kind)`; a tag of 0 has none."""
        order = np.argsort(tags, kind="stable")
        found, first = np.unique(np.asarray(tags)[order], return_index=True)
        for tag, chosen in zip(found.tolist(), np.split(order, first[1:]), strict=True):
            for name in names_of(tag, self._blocks[block][0]) if tag else ():
                self.choose(name, block, chosen)

    def number(self, name, block, values):
        """Numbers of the cells of a block, (k,) or (k, ...)."""
        kind, _, split = self._blocks[block]
        if kind != "points":
            self._data.setdefault(name, {}).setdefault(kind, []).append(np.repeat(np.asarray(values), split, axis=0))

    def arrays(self):
        """Elements, and {"groups": name -> kind -> rows, "cell_data": name -> kind -> numbers}."""
        groups = {name: {kind: np.concatenate(parts) for kind, parts in kinds.items()} for name, kinds in self._groups.items()}
        data = {}
        for name, kinds in self._data.items():
            # all elements of a kind have numbers of one shape; a kind with only NaN is left out
            whole = {kind: parts for kind, parts in kinds.items() if len({part.shape[1:] for part in parts}) == 1}
            joined = {kind: np.concatenate(parts) for kind, parts in whole.items() if sum(map(len, parts)) == self._counts[kind]}
            numbers = {
                kind: values
                for kind, values in joined.items()
                if values.dtype.kind in "iu" or (values.dtype.kind == "f" and not np.isnan(values).all())
            }
            data |= {name: numbers} if numbers else {}
        elements = {kind: np.concatenate(parts) for kind, parts in self._rows.items() if parts}
        return elements, {"groups": groups, "cell_data": data}


def _unusable(cell, n):
    """The reason why cells cannot be used, and the cure."""
    if cell in VOLUMES:
        cure = SPLIT
    elif cell.rstrip("0123456789") != cell:
        cure = "save them with first order, in Gmsh by -order 1: pdgpu.Mesh.from_pyvista(pyvista.read(FILE).linear_copy().triangulate())"
        return f"holds {n} cells of type {cell}, of second order or higher; {cure}"
    else:
        cure = "only tetra, triangle, quad, polygon and line can be used"
    return f"holds {n} cells of type {cell}; {cure}"


def split_polygons(faces):
    """Polygons with k corners, (m, k), as fans of triangles (m (k - 2), 3)."""
    faces = np.asarray(faces)
    fans = [faces[:, [0, i, i + 1]] for i in range(1, faces.shape[1] - 1)]
    return np.stack(fans, axis=1).reshape(-1, 3)


def of_meshio(mesh, size=None):
    """Points, elements, and groups and cell data of a meshio.Mesh. ValueError for cells that cannot be used."""
    points = np.asarray(mesh.points)
    if points.ndim == 2 and points.shape[1] == 2:
        points = np.column_stack([points, np.zeros(len(points))])
    cells = Cells(size)
    for block in mesh.cells:
        cells.add(block.type, block.data)
    physical = mesh.cell_data.get("gmsh:physical")
    if physical is not None:
        dimension = {"points": 0, "edges": 1, "triangles": 2, "tets": 3}
        names = {tuple(int(number) for number in value): name for name, value in mesh.field_data.items() if np.size(value) == 2}
        for k, tags in enumerate(physical):
            cells.tag(k, tags, lambda tag, kind: [names.get((tag, dimension[kind]), f"physical {tag}")])
    named = set(mesh.field_data) if physical is not None else set()
    for name, sets in mesh.cell_sets.items():
        if name.startswith("gmsh:") or name in named:
            continue
        for k, chosen in enumerate(sets):
            if chosen is not None and np.size(chosen):
                cells.choose(name, k, chosen)
    for name, chosen in mesh.point_sets.items():
        cells.name(name, "points", np.asarray(chosen, dtype=np.int64))
    for name, blocks in mesh.cell_data.items():
        for k, values in enumerate(blocks):
            cells.number(name, k, values)
    return points, *cells.arrays()
