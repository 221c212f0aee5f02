"""Whole simulations in files for ParaView: every body with its cells, fields of points and of cells, and films of them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from pdgpu._internal.atomic_files import replacing
from pdgpu._internal.counted import counted
from pdgpu._internal.parts import core_of
from pdgpu.contact.two_way_contact import TwoWayContact
from pdgpu.mesh.io.mesh_files import as_path
from pdgpu.mesh.io.mesh_writers import write_cells
from pdgpu.simulation.surface_files import ObjFilm, UsdFilm

__all__ = ["Film", "film_of", "write_state"]

SUFFIXES = (".vtu", ".vtk")
HEAD = '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1">\n<Collection>\n'
FRAME = re.compile(r'<DataSet timestep="([^"]+)" file="([^"]+)"/>')


def write_state(simulation, path):
    """Write the file of `Simulation.write`."""
    path = as_path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{path}: a simulation is written as {' or '.join(SUFFIXES)}")
    core = core_of(simulation)
    scene, x = core.public_scene, simulation.positions.astype(np.float64)
    n = len(x)
    owner = np.zeros(n, dtype=np.int32)
    cells, of_cells = [], {"body": [], "stress": [], "von_mises": []}
    for k, body in enumerate(scene.bodies):
        owner[body.slice] = k
        kind, elements = _cells(body)
        cells.append((kind, elements + body.slice.start))
        stress = np.full((len(elements), 3, 3), np.nan)
        if body.type == "solid" and any(rows.shape[1] == 4 for _, rows, _, _ in body.groups):
            stress = simulation.stress(body)
        shear = stress - np.trace(stress, axis1=1, axis2=2)[:, None, None] / 3.0 * np.eye(3)
        of_cells["body"].append(np.full(len(elements), k, dtype=np.int32))
        of_cells["stress"].append(stress.reshape(len(elements), 9))
        of_cells["von_mises"].append(np.sqrt(1.5 * np.einsum("mij,mij->m", shear, shear)))
    contact = _contact_forces(simulation, core, n)
    carried = [(k, part, simulation.embedding_matrix(part)) for k, body in enumerate(scene.bodies) for part in body.embeddings]
    velocities, first = simulation.velocities.astype(np.float64), n
    for k, part, _ in carried:
        rows = part.triangles if len(part.triangles) else np.arange(len(part.points))[:, None]
        cells.append(("triangle" if len(part.triangles) else "vertex", rows + first))
        of_cells["body"].append(np.full(len(rows), k, dtype=np.int32))
        of_cells["stress"].append(np.full((len(rows), 9), np.nan))
        of_cells["von_mises"].append(np.full(len(rows), np.nan))
        first += len(part.points)

    def follow(array):
        """Return the same with the embedded points appended, by W."""
        return np.concatenate([array, *(matrix @ array for _, _, matrix in carried)])

    def lack(array):
        """Return the same with zeros for embedded points: forces and masses belong to vertices."""
        return np.concatenate([array, np.zeros((first - n, *array.shape[1:]), array.dtype)])

    moved = follow(x)
    of_points = {
        "velocity": follow(velocities),
        "displacement": moved - np.concatenate([scene.rest_positions(), *(part.points for _, part, _ in carried)]),
        "elastic_force": lack(simulation.forces()),
        "contact_force": lack(contact),
        "mass": lack(simulation.masses),
        "pinned": lack(core.rows.of(core.fixed).astype(np.int32)),
        "body": np.concatenate([owner, *(np.full(len(part.points), k, np.int32) for k, part, _ in carried)]),
    }
    write_cells(path, moved, cells, of_points, of_cells)


def _contact_forces(simulation, core, n):
    """Return forces on each vertex, (n, 3) N; NaN for contact without forces."""
    if core.springs is not None:
        return simulation.proxies().vertex_forces
    if core.touching is None:
        return np.zeros((n, 3))
    if isinstance(core.contact, TwoWayContact):
        return np.full((n, 3), np.nan)
    return simulation.contact_forces().forces


def _cells(body):
    """Return the kind of a body's cells in meshio's names, and their vertices."""
    if body.type == "solid":
        return "tetra", body.mesh.tets
    if body.type in ("shell", "rigid"):
        return "triangle", body.mesh.triangles
    if body.type == "rod":
        return "line", body.mesh.edges
    return "vertex", np.arange(len(body.points))[:, None]


def film_of(simulation, path, append):
    """Return the film of `Simulation.record`."""
    path = as_path(path)
    films = {".obj": ObjFilm, ".usda": UsdFilm, ".usdc": UsdFilm, ".usd": UsdFilm}
    kind = films.get(path.suffix.lower())
    if kind is None:
        return Film(simulation, path, append)
    if append:
        raise ValueError(f"append: expected a .pvd film, got {path}; others cannot be continued")
    return kind(simulation, path)


class Film:
    """Frames of a simulation in one folder, with their list for ParaView; made by `Simulation.record`.

    A call adds a frame; it is also a callback for `Simulation.run`. After every frame the list on the disk is complete.
    """

    def __init__(self, simulation, path, append):
        self.path = as_path(path)
        if self.path.suffix.lower() != ".pvd":
            raise ValueError(f"{self.path}: a film is a .pvd file, with its frames beside it, or .obj, .usda, .usdc or .usd")
        self._simulation, self._frames = simulation, []
        if append and self.path.exists():
            found = FRAME.findall(self.path.read_text())
            # frames after the present time are replaced
            self._frames = [(float(time), name) for time, name in found if float(time) < simulation.time - 1e-9 * abs(simulation.time)]

    def __call__(self, simulation=None):
        """Write a frame of the present state."""
        simulation = self._simulation if simulation is None else simulation
        name = f"{self.path.stem}_{len(self._frames):05d}.vtu"
        write_state(simulation, Path(self.path.parent, name))
        self._frames.append((simulation.time, name))
        from xml.sax.saxutils import quoteattr  # loads the package's network modules, which are slow to import

        with replacing(self.path) as unfinished, open(unfinished, "w") as file:
            file.write(HEAD)
            file.writelines(f'<DataSet timestep="{time:.12g}" file={quoteattr(name)}/>\n' for time, name in self._frames)
            file.write("</Collection>\n</VTKFile>\n")

    def __len__(self):
        return len(self._frames)

    def __repr__(self):
        return f"<Film: {counted(len(self), 'frame')}, {os.fspath(self.path)}>"
