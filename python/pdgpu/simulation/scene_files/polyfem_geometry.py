"""The geometry of polyfem's JSON: meshes at their places, and the ids of their tets, boundary triangles and vertices."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdgpu.mesh.mesh import Mesh
from pdgpu.simulation.scene_files.json_lines import Node, Section
from pdgpu.simulation.scene_files.motions import Frames, about_axis, about_direction
from pdgpu.simulation.scene_files.scene_parts import MeshFiles, unused_name

if TYPE_CHECKING:
    from pdgpu.types import Floats, Integers

__all__ = ["Geometry", "read_geometry"]

MOST_COPIES = 100_000
NO_ID = -(2**40)


@dataclass(eq=False)
class Geometry:
    """A mesh, or a plane, at its place."""

    node: Node
    where: str
    name: str
    obstacle: bool
    part: Any = None  # a MeshPart; None: a plane
    points: Any = None  # (n, 3) m
    plane: tuple[Floats, Floats] | None = None
    sequence: Frames | None = None
    body_ids: Any = None  # (tets,)
    surface_id: int | None = None  # of an obstacle
    faces: Any = None  # boundary triangles of tets, (f, 3)
    face_ids: Any = None  # (f,)
    vertex_ids: list[tuple[int, Integers]] = field(default_factory=list)

    def vertices(self, wanted: Any) -> Integers:
        """Vertices with a boundary id of a list, or on the whole boundary for "all"."""
        if self.faces is None:
            return np.zeros(0, np.int64)
        chosen = np.ones(len(self.faces), dtype=bool) if wanted == "all" else np.isin(self.face_ids, wanted)
        rows = [self.faces[chosen].ravel(), *(rows for number, rows in self.vertex_ids if wanted != "all" and number in wanted)]
        return np.unique(np.concatenate(rows))


def read_geometry(root: Section, files: MeshFiles) -> list[Geometry]:
    """Read the member "geometry"; SceneFileError names the line of an error."""
    found: list[Geometry] = []
    for section in root.sections("geometry"):
        if not section.flag("enabled", True):
            continue
        obstacle = section.flag("is_obstacle", False)
        kind = section.text("type", "mesh") or "mesh"
        first = len(found)
        geometry = Geometry(section.node, section.where, f"geometry{first}", obstacle)
        if kind in ("plane", "ground"):
            geometry.obstacle = True
            if kind == "ground":
                height = section.number("height", 0.0)
                geometry.plane = (np.array([0.0, height, 0.0]), np.array([0.0, 1.0, 0.0]))
            else:
                geometry.plane = (np.array(section.numbers("point", 3, [0.0] * 3)), np.array(section.numbers("normal", 3, [0.0, 1.0, 0.0])))
            found.append(geometry)
        elif kind in ("mesh", "mesh_array", "mesh_sequence"):
            with section.notes.naming(section.node.line, section.where, section.node.path):
                found += _meshes(section, geometry, kind, files)
        else:
            section.refuse("type", f"the type {kind[:40]!r} is not supported", section.node)
        section.end()
    names: set[str] = set()
    for k, geometry in enumerate(found):
        geometry.name = unused_name(f"{geometry.name}{k}", names)
        names.add(geometry.name)
    return found


def _meshes(section, geometry, kind, files):
    if (extract := section.text("extract", "volume")) not in ("volume", "surface"):
        section.notes.refuse(section.node.line, section.place("extract"), f"extract {extract[:40]!r} is not supported", section.node.path)
    if kind == "mesh_sequence":
        parts, rate = _sequence(section, files)
    else:
        parts = [_part(section, "mesh", section.take("mesh"), files)]
    geometry.name = Path(parts[0][0]).stem
    geometry.part = parts[0][1]
    if not geometry.obstacle and not len(geometry.part.tets):
        what = "two-dimensional bodies and shells" if len(geometry.part.triangles) else "bodies without tets"
        section.notes.fail(section.node.line, section.place("mesh"), f"{what} are not supported; give a mesh of tets", section.node.path)
    if (refinements := section.number("n_refs", 0.0)) > 0:
        section.notes.refuse(
            section.node.line,
            section.place("n_refs"),
            f"{refinements:g} refinements are not supported; refine the mesh file",
            section.node.path,
        )
    section.refuse("advanced", "advanced settings of a mesh are not supported")
    section.refuse("curve_selection", "it is not used by polyfem either")
    turn, shift = _transformation(section.section("transformation"), geometry.part.points)
    places = [part.points @ turn.T + shift for _, part in parts]
    geometry.points = places[0]
    if kind == "mesh_sequence":
        if len({len(x) for x in places}) > 1:
            section.notes.fail(
                section.node.line, section.where, "the meshes of the sequence have different numbers of points", section.node.path
            )
        geometry.sequence = Frames(np.stack(places), 1.0 / rate)
    copies = _copies(section, geometry) if kind == "mesh_array" else [geometry]
    selections = [section.take(key) for key in ("volume_selection", "surface_selection", "point_selection")]
    for copy in copies:
        _ids(section, copy, *selections)
    return copies


def _part(section, key, node, files):
    name = None if node is None else node.value
    if not isinstance(name, str) or not name:
        line, path = (section.node.line, section.node.path) if node is None else (node.line, node.path)
        section.notes.fail(line, section.place(key), "the path of a mesh is missing", path)
    place = section.place(key)
    return name, files.read(files.find(name, node.line, place, source=node.path), node.line, place, node.path)


def _sequence(section, files):
    rate = section.number("fps", 30.0, above=0.0)
    node = section.take("mesh_sequence")
    if node is not None and isinstance(node.value, str):
        folder = files.folder(node.value, node.line, section.place("mesh_sequence"), node.path)
        names = sorted((path for path in folder.iterdir() if path.is_file()), key=_natural)
        items = [Node(str(path), node.line, node.path) for path in names]
    else:
        items = [] if node is None else section.list_of(node, "mesh_sequence")
    if not items:
        section.notes.fail(section.node.line, section.place("mesh_sequence"), "there are no meshes", section.node.path)
    return [_part(section, "mesh_sequence", item, files) for item in items], rate


def _natural(path):
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", path.name)]


def _transformation(section, points):
    """The matrix (3, 3) of scale and rotation, and the translation."""
    scale = np.ones(3)
    size = np.ptp(points, axis=0)
    if (node := section.take("dimensions")) is not None:
        wanted = np.array([section.number_of(item, "dimensions") for item in section.list_of(node, "dimensions", 3)])
        scale = np.where(size == 0.0, 1.0, wanted / np.where(size == 0.0, 1.0, size))
        section.take("scale")
    elif (node := section.take("scale")) is not None:
        if isinstance(node.value, list):
            if node.value:
                scale = np.array([section.number_of(item, "scale") for item in section.list_of(node, "scale", 3)])
        else:
            scale = np.full(3, section.number_of(node, "scale"))
    mode = section.text("rotation_mode", "xyz").lower()
    turn = np.diag(scale)
    if (node := section.take("rotation")) is not None and node.value != []:
        items = node.value if isinstance(node.value, list) else [node]
        turn = _rotation([section.number_of(item, "rotation") for item in items], mode, section, node) @ turn
    shift = np.array(section.numbers("translation", 3, [0.0, 0.0, 0.0]))
    section.end()
    return turn, shift


def _rotation(numbers, mode, section, node):
    """Rotations about the axes of `mode`, one after the other, in degrees; or one about an axis."""
    wrong = None
    if mode in ("axis_angle", "rotation_vector"):
        if len(numbers) != (4 if mode == "axis_angle" else 3):
            wrong = f"rotation_mode {mode} needs {4 if mode == 'axis_angle' else 3} numbers"
        else:
            axis = np.array(numbers[-3:])
            length = np.linalg.norm(axis)
            angle = np.radians(numbers[0] if mode == "axis_angle" else length)
            if length == 0.0:
                return np.eye(3)
            return about_direction(axis, angle)
    elif not mode or set(mode) - set("xyz"):
        wrong = f"rotation_mode {mode[:40]!r} is not supported; give an order of x, y and z"
    elif len(numbers) == 1 and len(mode) == 1:
        return about_axis("xyz".index(mode), np.radians(numbers[0]))
    elif len(numbers) != 3:
        wrong = f"expected 3 angles, got {len(numbers)}"
    if wrong:
        section.notes.fail(node.line, section.place("rotation"), wrong, node.path)
    turn = np.eye(3)
    for letter in mode:
        turn = about_axis("xyz".index(letter), np.radians(numbers["xyz".index(letter)])) @ turn
    return turn


def _copies(section, geometry):
    array = section.section("array")
    node = array.take("offset")
    offset = np.zeros(3)
    if node is not None:
        items = node.value if isinstance(node.value, list) else [node] * 3
        offset = np.array([array.number_of(item, "offset") for item in items])
    if array.flag("relative", False):
        offset = offset * np.ptp(geometry.points, axis=0)
    size = array.numbers("size", 3, [1, 1, 1])
    array.end()
    if len(offset) != 3 or min(size) < 1 or np.prod(size) > MOST_COPIES or any(n != int(n) for n in size):
        section.notes.fail(
            array.node.line, array.where, f"size: expected 3 whole numbers from 1, at most {MOST_COPIES} copies", array.node.path
        )
    copies = []
    for place in np.indices([int(n) for n in size]).reshape(3, -1).T:
        copy = Geometry(geometry.node, geometry.where, geometry.name, geometry.obstacle, geometry.part)
        copy.points = geometry.points + offset * place
        copies.append(copy)
    return copies


# ---- ids -----------------------------------------------------------------------------------------------------------------------


def _ids(section, geometry, volume, surface, points):
    if geometry.obstacle:
        if surface is not None:
            geometry.surface_id = int(section.number_of(surface, "surface_selection"))
        return
    x, tets = geometry.points, geometry.part.tets
    geometry.body_ids = _selected(section, "volume_selection", volume, x, x[tets].mean(axis=1), 0)
    geometry.faces = Mesh(x, tets=tets).surface
    geometry.face_ids = _selected(section, "surface_selection", surface, x, x[geometry.faces].mean(axis=1), NO_ID)
    if points is not None:
        items = [points] if isinstance(points.value, dict) else section.list_of(points, "point_selection")
        for number, inside in (_selection(section, "point_selection", item, x) for item in items):
            geometry.vertex_ids.append((number, np.flatnonzero(inside(x))))


def _selected(section, key, node, points, places, default):
    """The id of each place: a number for all, or that of the first selection that contains it."""
    ids = np.full(len(places), default)
    if node is None:
        return ids
    if isinstance(node.value, str):
        section.notes.refuse(node.line, section.place(key), "ids from a file are not supported; give boxes or planes", node.path)
        return ids
    if not isinstance(node.value, dict | list):
        ids[:] = int(section.number_of(node, key))
        return ids
    free = np.ones(len(places), dtype=bool)
    for item in [node] if isinstance(node.value, dict) else node.value:
        number, inside = _selection(section, key, item, points)
        chosen = free & inside(places)
        ids[chosen], free = number, free & ~chosen
    return ids


def _selection(section, key, node, points):
    """The id of a selection, and whether it contains points."""
    part = Section(node, section.place(key), section.notes)
    number = int(part.number("id", 0.0))
    lower, size = points.min(axis=0), np.ptp(points, axis=0)
    relative = part.flag("relative", False)

    def at(corner):
        return lower + size * corner if relative else corner

    if (box := part.take("box")) is not None:
        corners = part.list_of(box, "box", 2)
        first, last = (at(np.array([part.number_of(item, "box") for item in part.list_of(corner, "box", 3)])) for corner in corners)
        inside = _in_box(first, last)
    elif part.has("center"):
        centre, radius = at(np.array(part.numbers("center", 3))), part.number("radius", 0.0)
        inside = _in_ball(centre, radius * (np.linalg.norm(size) if relative else 1.0))
    elif (axis := part.take("axis")) is not None:
        names = {sign + letter: (k, 1.0 if sign != "-" else -1.0) for sign in ("", "+", "-") for k, letter in enumerate("xyz")}
        names |= {sign * (k + 1): (k, float(sign)) for k in range(3) for sign in (1, -1)}
        if isinstance(axis.value, bool | list | dict) or axis.value not in names:
            section.notes.fail(axis.line, part.place("axis"), "expected an axis such as 'x', '-y' or -3", axis.path)
        k, sign = names[axis.value]
        position = part.number("position", 0.0)
        inside = _on_side(k, sign, lower[k] + size[k] * position if relative else position)
    elif part.has("normal"):
        normal = np.array(part.numbers("normal", 3))
        point = at(np.array(part.numbers("point", 3))) if part.has("point") else normal * part.number("offset", 0.0)
        inside = _above(normal, point)
    else:
        section.notes.fail(node.line, part.where, "expected a box, a center, an axis or a normal", node.path)
    part.end()
    return number, inside


def _in_box(first, last):
    return lambda x: ((x >= first) & (x <= last)).all(axis=1)


def _in_ball(centre, radius):
    return lambda x: ((x - centre) ** 2).sum(axis=1) <= radius**2


def _on_side(k, sign, position):
    return lambda x: sign * x[:, k] >= sign * position


def _above(normal, point):
    return lambda x: (x - point) @ normal >= 0.0
