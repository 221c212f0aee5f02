"""What both formats share: finding and reading meshes, and adding them to a scene."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.file_limits import check_regular
from pdgpu.mesh.io import mesh_readers
from pdgpu.mesh.mesh import Mesh, read_mesh
from pdgpu.scene.segments import Points, Segments
from pdgpu.simulation.scene_files.motions import OfRows

if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.scene.bodies import Obstacle
    from pdgpu.scene.scene import Scene
    from pdgpu.simulation.scene_files.notes import SceneNotes
    from pdgpu.types import Floats

__all__ = ["MeshFiles", "MeshPart", "add_obstacle_part", "integrator_options", "material_of", "pair_friction", "unused_name"]


@dataclass(eq=False)
class MeshPart:
    """Points and elements of one file: tets, triangles, edges, or points alone. All points are used."""

    points: Floats
    tets: Any = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    triangles: Any = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    edges: Any = field(default_factory=lambda: np.zeros((0, 2), np.int64))

    @functools.cached_property
    def on_surface(self) -> Any:
        """Which points are on the surface of the tets, (n,) bool; all of them without tets."""
        chosen = np.full(len(self.points), not len(self.tets))
        if len(self.tets):
            chosen[Mesh(self.points, tets=self.tets).surface] = True
        return chosen


class MeshFiles:
    """Reads every mesh of a scene once. Paths are relative to the scene file, then to `root`, then to the folders above the file."""

    def __init__(self, notes: SceneNotes, root: Any):
        self._notes, self._parts = notes, dict[Path, MeshPart]()
        folder = notes.path.resolve().parent
        self._folders = [folder, *([Path(root)] if root is not None else []), *folder.parents]

    def find(self, name: str, line: int, keyword: str, others: tuple[str, ...] = (), source: Path | None = None) -> Path:
        """The path of a file, with another suffix of `others` if it does not exist; an error names the first folders.

        `source` is the file of the line, if it is not the scene file; its folder is searched too.
        """
        folders = self._folders if source is None else [*self._folders[:1], source.resolve().parent, *self._folders[1:]]
        try:
            for suffix in (None, *others):
                for folder in folders:
                    path = folder / name if suffix is None else (folder / name).with_suffix(suffix)
                    if path.is_file():
                        return path
        except (OSError, ValueError) as error:  # a name that the system does not allow
            self._notes.fail(line, keyword, f"{name[:200]!r} is no name of a file ({error})", source)
        where = ", ".join(map(str, folders[:2]))
        self._notes.fail(
            line, keyword, f"there is no file {name[:200]!r} in {where} or above; give root=, the folder of the meshes", source
        )

    def folder(self, name: str, line: int, keyword: str, source: Path | None = None) -> Path:
        """The path of a folder."""
        for folder in self._folders:
            if (folder / name).is_dir():
                return folder / name
        self._notes.fail(line, keyword, f"there is no folder {name[:200]!r}; give root=, the folder of the meshes", source)

    def read(self, path: Path, line: int, keyword: str, source: Path | None = None) -> MeshPart:
        """Read a file; `.pt`, and an `.obj` without faces, have points alone."""
        if path not in self._parts:
            try:
                self._parts[path] = self._read(path)
            except (ArithmeticError, OSError, ValueError) as error:
                text = str(error)
                self._notes.fail(line, keyword, text if str(path) in text else f"{path}: {text}", source)
        return self._parts[path]

    def _read(self, path):
        check_regular(path)
        suffix = path.suffix.lower()
        if suffix == ".pt":
            points, _, _ = mesh_readers.read_obj(path)
            if not len(points):
                raise ValueError("it has no points")
            return MeshPart(points)
        try:
            mesh = read_mesh(path).without_unused_vertices()
        except ValueError:
            points = _points_alone(path) if suffix == ".obj" else None
            if points is None:
                raise
            return MeshPart(points)
        return MeshPart(mesh.points, mesh.tets, mesh.triangles, mesh.edges)


def _points_alone(path):
    """The points of an .obj without elements, which is no mesh; None for another one, and for one that cannot be read."""
    try:
        points, elements, _ = mesh_readers.read_obj(path)
    except (ArithmeticError, ValueError):
        return None
    return points if len(points) and not any(len(rows) for rows in elements.values()) else None


def add_obstacle_part(scene: Scene, part: MeshPart, points: Floats, motion: Any, name: str) -> Obstacle:
    """Add a mesh as an obstacle at the given positions of its points: its surface, else its segments, else its points."""
    if not len(part.tets) and not len(part.triangles):
        collider = Segments(points, part.edges) if len(part.edges) else Points(points)
        return scene.add_obstacle(collider, motion=motion, name=name)
    triangles = Mesh(points, tets=part.tets).surface if len(part.tets) else part.triangles
    used = np.unique(triangles)
    if motion is not None and len(used) < len(points):
        motion = OfRows(motion, points, used)
    mesh = Mesh(points[used], triangles=np.searchsorted(used, triangles))
    return scene.add_obstacle(mesh, motion=motion, name=name)


def integrator_options(name: str, notes: SceneNotes, line: int, keyword: str) -> dict[str, Any]:
    """Arguments of `Simulation` for a time integrator: "euler", "bdf2", "newmark" or another name."""
    if name in ("bdf2", "newmark"):
        return {"integrator": name}
    if name != "euler":
        notes.refuse(line, keyword, f"the time integrator {name} is not supported; take implicit Euler, BDF2 or Newmark")
    return {}


def material_of(
    kind: Any, young: ArrayLike, poisson: ArrayLike, notes: SceneNotes, line: int, keyword: str, path: Path | None = None
) -> Any:
    """A material of a class; SceneFileError names the line of its moduli."""
    try:
        return kind.from_young(young, poisson)
    except ValueError as error:
        notes.fail(line, keyword, str(error), path)


def pair_friction(bodies: list[str], own: float, obstacles: dict[str, float]) -> float | dict[tuple[str, str], float]:
    """The friction of `BarrierContact`: `own` among bodies, a coefficient for each obstacle; one number if all are equal."""
    if all(value == own for value in obstacles.values()):
        return own
    table = {(one, other): own for k, one in enumerate(bodies) for other in bodies[k:] if own > 0.0}
    table |= {(body, name): value for name, value in obstacles.items() for body in bodies if value > 0.0}
    return table


def unused_name(name: str, taken: Container[str]) -> str:
    """The name, with more of a tail if it is taken."""
    while name in taken:
        name += "-"
    return name
