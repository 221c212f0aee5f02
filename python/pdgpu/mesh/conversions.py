"""Meshes of other libraries as points and cells."""

from __future__ import annotations

import numpy as np

from pdgpu._internal.arguments import having
from pdgpu.mesh.io.cell_kinds import Cells

__all__ = ["conversion_of", "of_pyvista", "of_trimesh"]

# cells of VTK by their number, as meshio calls them [vtkCellType.h]
VTK_CELLS = {1: "vertex", 3: "line", 5: "triangle", 9: "quad", 10: "tetra", 11: "voxel", 12: "hexahedron", 13: "wedge", 14: "pyramid"}
VTK_CELLS |= {21: "line3", 22: "triangle6", 23: "quad8", 24: "tetra10", 25: "hexahedron20"}
# first-order cells, from pyvista's linear_copy
CORNERS = {3: 2, 5: 3, 9: 4, 10: 4}
STRIPS_AND_POLYGONS = (4, 6, 7, 8)
# module and class -> how `Mesh` takes an object of it
CONVERSIONS = {"meshio": "from_meshio", "pyvista": "from_pyvista", "trimesh": "from_trimesh"}


def conversion_of(thing):
    """The sentence that names the method for a mesh of another library, or an empty string."""
    library = type(thing).__module__.partition(".")[0]
    return f"; pdgpu.Mesh.{CONVERSIONS[library]}(mesh) takes it" if library in CONVERSIONS else ""


def of_trimesh(mesh):
    """Points and elements of a trimesh.Trimesh."""
    if hasattr(mesh, "geometry") and hasattr(mesh, "to_mesh"):
        raise TypeError("mesh: expected a trimesh.Trimesh, got a scene of several; give scene.to_mesh()")
    having("mesh", mesh, "faces", "a trimesh.Trimesh")
    return np.asarray(mesh.vertices), {"triangles": np.asarray(mesh.faces)}, {}


def of_pyvista(mesh):
    """Points, elements and numbers of elements of a pyvista.PolyData or a grid."""
    having("mesh", mesh, "cast_to_unstructured_grid", "a pyvista.DataSet, not several of them")
    grid = mesh.cast_to_unstructured_grid()
    if np.isin(grid.celltypes, STRIPS_AND_POLYGONS).any():
        grid = grid.triangulate()
    cells = Cells()
    for kind, rows in grid.cells_dict.items():
        block = cells.add(VTK_CELLS.get(int(kind), f"{kind} of VTK"), rows[:, : CORNERS.get(int(kind))])
        for name, values in grid.cell_data.items():
            cells.number(name, block, np.asarray(values)[grid.celltypes == kind])
    return np.asarray(grid.points, dtype=np.float64), *cells.arrays()
