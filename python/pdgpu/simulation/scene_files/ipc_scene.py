"""A scene from a script of IPC."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdgpu.contact.barrier_contact import BarrierContact
from pdgpu.materials.hyperelastic import FixedCorotated, LogNeoHookean
from pdgpu.mesh.mesh import Mesh
from pdgpu.scene.colliders import Plane
from pdgpu.scene.scene import Scene
from pdgpu.simulation.scene_files.ipc_motions import everything, scripted_motions
from pdgpu.simulation.scene_files.ipc_script import IpcScript, Shape, read_script
from pdgpu.simulation.scene_files.loaded_scene import Load, LoadedScene
from pdgpu.simulation.scene_files.motions import Frames, Sliding, Stepped, Turn, about_direction, centre_of_box
from pdgpu.simulation.scene_files.scene_parts import (
    MeshFiles,
    MeshPart,
    add_obstacle_part,
    integrator_options,
    material_of,
    pair_friction,
    unused_name,
)

if TYPE_CHECKING:
    from pdgpu.simulation.scene_files.notes import SceneNotes
    from pdgpu.types import Floats

__all__ = ["Placed", "ipc_scene"]

GRAVITY = 9.80665  # m/s^2, of IPC
OTHER_SUFFIXES = {".seg": (".obj",), ".pt": (".obj",), "": (".node",)}
ENERGIES = {"NH": LogNeoHookean, "FCR": FixedCorotated}
PASSES = 10  # of friction for a script that asks for convergence


@dataclass(eq=False)
class Placed:
    """A shape at its place: what becomes of its vertices."""

    shape: Shape
    name: str
    part: MeshPart
    rest: Floats  # (n, 3) m, before the rotation of the whole model
    points: Floats  # (n, 3) m, at the start
    moved: bool = False  # as a whole: an obstacle
    motion: Any = None  # of an obstacle
    pins: list[tuple[Any, Any]] = field(default_factory=list)  # rows and motion
    loads: list[tuple[Any, Floats, float, float]] = field(default_factory=list)  # rows, acceleration, begin and end
    velocity: Any = (0.0, 0.0, 0.0)

    @property
    def is_solid(self) -> bool:
        """Whether it deforms."""
        return len(self.part.tets) > 0 and not self.moved


def ipc_scene(text: str, notes: SceneNotes, files: MeshFiles) -> LoadedScene:
    """Build the scene of a script."""
    script = read_script(text, notes)
    if not script.shapes:
        notes.fail(max(script.lines.values(), default=1), "shapes", "the script has no shapes; add a line 'shapes input N'")
    placed = _placed(script, notes, files)
    if script.script == "null":
        for one in placed:
            with notes.naming(one.shape.line, "shapes"):
                _boundary_conditions(one, script, notes, files)
    else:
        for one in placed:
            _note_unused(one, script, notes)
            one.moved = not len(one.part.tets)
        scripted_motions(placed, script, notes)
    if not any(one.is_solid for one in placed):
        notes.fail(script.shapes[0].line, "shapes", "no shape deforms; give a shape with tets and without a prescribed velocity")
    scene, loads, friction = _scene(placed, script, notes, files)
    return LoadedScene(
        path=os.fspath(notes.path),
        format="IPC",
        scene=scene,
        dt=script.dt,
        interval=script.dt,
        duration=script.duration,
        contact=_contact(script, placed, friction, notes),
        options=_integrator(script, notes),
        notes=tuple(notes.found),
        loads=loads,
    )


def _integrator(script, notes):
    names = {"BE": "euler", "NM": "newmark"}
    line = script.lines.get("timeIntegration", 1)
    if script.integrator not in names:
        notes.fail(line, "timeIntegration", f"expected BE or NM, got {script.integrator[:40]!r}")
    return integrator_options(names[script.integrator], notes, line, "timeIntegration")


# ---- shapes at their places ------------------------------------------------------------------------------------------------------


def _placed(script, notes, files):
    """Every shape with its mesh, moved as IPC does: by itself, the whole model turned, scaled to a size."""
    placed, names = [], set[str]()
    for k, shape in enumerate(script.shapes):
        part = _part(shape, notes, files)
        points = (part.points * shape.scale) @ shape.turn.T + shape.shift
        name = unused_name(f"{Path(shape.file).stem}{k}", names)
        names.add(name)
        placed.append(Placed(shape, name, part, points, points))
    if script.model_turn is not None:
        _turn_model(placed, *script.model_turn)
    if script.size > 0.0:
        extent = np.ptp(everything(placed), axis=0).max()
        if not extent > 0.0:
            notes.fail(script.lines["size"], "size", "all vertices coincide, so they cannot be scaled")
        corner = everything(placed).min(axis=0) * (script.size / extent)
        for one in placed:
            one.rest, one.points = (x * (script.size / extent) - corner for x in (one.rest, one.points))
    return placed


def _turn_model(placed, axis, angle):
    """Turn the starting positions about half the extent of the model, which IPC takes for its centre."""
    turn = about_direction(axis, angle)
    centre = 0.5 * np.ptp(everything(placed), axis=0)
    for one in placed:
        one.points = (one.points - centre) @ turn.T + centre


def _part(shape, notes, files):
    suffix = Path(shape.file).suffix.lower()
    if suffix not in ("", ".msh", ".ele", ".node", ".obj", ".seg", ".pt"):
        notes.fail(shape.line, "shapes", f"{shape.file[:200]!r}: the format {suffix[:20]!r} is not one of IPC: .msh .ele .obj .seg .pt")
    part = files.read(files.find(shape.file, shape.line, "shapes", OTHER_SUFFIXES.get(suffix, ())), shape.line, "shapes")
    if suffix in ("", ".msh", ".ele", ".node") and not len(part.tets):
        notes.fail(shape.line, "shapes", f"{shape.file[:200]!r} has no tets")
    if suffix == ".seg" and not len(part.edges):
        sides = np.sort(np.concatenate([part.triangles[:, [0, 1]], part.triangles[:, [1, 2]], part.triangles[:, [2, 0]]]), axis=1)
        return MeshPart(part.points, edges=np.unique(sides, axis=0))
    if suffix == ".pt":
        return MeshPart(part.points)
    return part


# ---- boundary conditions of the script "null" ------------------------------------------------------------------------------------


def _boundary_conditions(one, script, notes, files):
    shape = one.shape
    pinned, loaded = [], []
    for box in shape.boxes:
        (pinned if box.keyword == "DBC" else loaded).append((box, _in_box(one, box)))
    turns = []
    for box, rows in pinned:
        begin, end = max(box.begin, script.pinned_range[0]), min(box.end, script.pinned_range[1])
        if len(rows) and end > begin:
            turns.append(Turn(rows, box.linear, box.angular, begin, end))
    if shape.sequence is not None:
        one.moved, one.motion = True, _frames(one, script, notes, files)
        for keyword, given in (
            ("linearVelocity", shape.linear is not None),
            ("angularVelocity", shape.angular is not None),
            ("DBC", pinned),
        ):
            if given:
                notes.ignore(shape.line, keyword, "the meshes of meshSeq give all positions")
    elif not len(one.part.tets) or shape.linear is not None or shape.angular is not None:
        one.moved = True
        none = np.zeros(3)
        linear = none if shape.linear is None else shape.linear
        angular = none if shape.angular is None else shape.angular
        if angular.any() or turns:
            one.motion = Stepped((Turn(slice(None), linear, angular), *turns), script.dt)
        elif linear.any():
            one.motion = Sliding(linear, script.dt)
    elif turns:
        _pin(one, turns, script, notes)
    if one.moved:
        for keyword, given in (("NBC", loaded), ("initVel", shape.initial is not None)):
            if given:
                notes.ignore(shape.line, keyword, "it has no effect on a shape that is at rest or moves as a whole")
        return
    for box, rows in loaded:
        begin, end = max(box.begin, script.loaded_range[0]), min(box.end, script.loaded_range[1])
        if len(rows) and end > begin:
            one.loads.append((rows, box.linear, begin, end))
            if begin > 0.0 or end < script.duration:
                notes.replace(box.line, "NBC", "its time range needs sim.run(..., callback=loaded.apply_forces)")
    if shape.initial is not None:
        linear, angular = shape.initial
        one.velocity = linear + np.cross(angular, one.points - centre_of_box(one.points))


def _in_box(one, box):
    """Vertices of the surface in a box, relative to the box of the file's points."""
    points = one.part.points
    lower, size = points.min(axis=0), np.ptp(points, axis=0)
    inside = ((points >= lower + size * box.lower) & (points <= lower + size * box.upper)).all(axis=1)
    return np.flatnonzero(inside & one.part.on_surface)


def _pin(one, turns, script, notes):
    """Pin vertices by boxes with velocities; a pin holds at all times, so the time ranges of a vertex must cover the duration."""
    rows = np.unique(np.concatenate([turn.vertices for turn in turns]))
    place = np.full(len(one.points), -1)
    place[rows] = np.arange(len(rows))
    covered = np.ones(len(rows), dtype=bool)
    edges = {0.0, *(turn.begin for turn in turns), *(turn.end for turn in turns)}
    for time in sorted(time for time in edges if 0.0 <= time < script.duration):
        now = np.zeros(len(rows), dtype=bool)
        for turn in turns:
            if turn.begin <= time < turn.end:
                now[place[turn.vertices]] = True
        covered &= now
    if not covered.all():
        line = next(box.line for box in one.shape.boxes if box.keyword == "DBC")
        notes.refuse(line, "DBC", f"its time range frees {int((~covered).sum())} vertices, and pins hold always; cover the duration")
    own = tuple(Turn(place[turn.vertices], turn.linear, turn.angular, turn.begin, turn.end) for turn in turns)
    moving = any(turn.linear.any() or turn.angular.any() for turn in own)
    one.pins.append((rows, Stepped(own, script.dt) if moving else None))


def _frames(one, script, notes, files):
    """The motion of a sequence of meshes: step k ends at the file k - 1."""
    line, suffix = one.shape.line, Path(one.shape.file).suffix.lower()
    folder, frames = files.folder(one.shape.sequence, line, "meshSeq"), []
    last = int(np.ceil(script.duration / script.dt - 1e-6))
    for k in range(last):
        path = next((folder / f"{k}{end}" for end in (suffix, ".obj") if (folder / f"{k}{end}").is_file()), None)
        if path is None:
            break
        part = files.read(path, line, "meshSeq")
        if len(part.points) != len(one.points):
            notes.fail(line, "meshSeq", f"{path} has {len(part.points)} points, and the shape has {len(one.points)}")
        frames.append(part.points)
    if not frames:
        notes.fail(line, "meshSeq", f"there is no file 0{suffix} in {folder}")
    if len(frames) < last:
        notes.replace(line, "meshSeq", f"{last} steps have {len(frames)} meshes; after the last one it is at rest")
    return Frames(np.stack([one.points, *frames]), script.dt)


def _note_unused(one, script, notes):
    """Note settings that a named script does not use in IPC either."""
    shape, unused = one.shape, f"IPC uses it only with the script null, not with {script.script[:40]}"
    for keyword, given in (
        ("linearVelocity", shape.linear is not None),
        ("angularVelocity", shape.angular is not None),
        ("initVel", shape.initial is not None),
        ("meshSeq", shape.sequence is not None),
        *((box.keyword, True) for box in shape.boxes),
    ):
        if given:
            notes.ignore(shape.line, keyword, unused)


# ---- the scene -------------------------------------------------------------------------------------------------------------------


def _scene(placed, script, notes, files):
    scene = Scene(gravity=(0.0, -GRAVITY if script.gravity else 0.0, 0.0))
    loads, friction = [], {}
    damping = 0.75 * min(max(script.damping_ratio, 0.0), 1.0) * script.dt
    damping = damping or max(script.damping, 0.0) / script.dt**2
    for one in placed:
        with notes.naming(one.shape.line, "shapes"):
            if one.is_solid:
                loads += _add_solid(scene, one, script, damping, notes)
            else:
                add_obstacle_part(scene, one.part, one.points, one.motion, one.name)
                friction[one.name] = script.friction
    for k, plane in enumerate(script.planes):
        name = unused_name(f"halfspace{k}", scene.names)
        with notes.naming(plane.line, "halfSpace"):
            scene.add_obstacle(Plane(plane.point, plane.normal), name=name)
        friction[name] = plane.friction
    for k, given in enumerate(script.meshes):
        name = unused_name(f"{Path(given.file).stem}-obstacle{k}", scene.names)
        with notes.naming(given.line, "meshCO"):
            part = files.read(files.find(given.file, given.line, "meshCO"), given.line, "meshCO")
            add_obstacle_part(scene, part, _scaled(part.points, given), None, name)
            friction[name] = given.friction
    return scene, tuple(loads), friction


def _add_solid(scene, one, script, damping, notes):
    """Add a solid with its pins, and return its loads."""
    density, young, poisson = one.shape.material or (script.density, script.young, script.poisson)
    line, keyword = (one.shape.line, "material") if one.shape.material else (script.lines.get("stiffness", one.shape.line), "stiffness")
    if script.energy not in ENERGIES:
        notes.fail(script.lines["energy"], "energy", f"expected {' or '.join(ENERGIES)}, got {script.energy[:40]!r}")
    material = material_of(ENERGIES[script.energy], young, poisson, notes, line, keyword)
    mesh = Mesh(one.points, tets=one.part.tets)
    body = scene.add_solid(mesh, material, density=density, name=one.name, velocity=one.velocity, damping=damping)
    for rows, motion in one.pins:
        body.pin(rows, motion)
    return [
        Load(body.slice.start + rows, body.masses[rows, None] * acceleration, begin, end) for rows, acceleration, begin, end in one.loads
    ]


def _scaled(points, given):
    """Points of a mesh obstacle: centred at the mean of its vertices, turned, scaled to its largest extent, and moved."""
    extent = np.ptp(points, axis=0).max()
    if not extent > 0.0:
        raise ValueError("all vertices coincide")
    return ((points - points.mean(axis=0)) @ given.turn.T) * (given.scale / extent) + given.origin


def _contact(script: IpcScript, placed: list[Placed], friction: dict[str, float], notes: SceneNotes) -> BarrierContact | None:
    """The barrier with the distances of the script: relative to the diagonal of the box about all tets, unless they are absolute."""
    solids = [one.rest for one in placed if len(one.part.tets)]
    diagonal = float(np.linalg.norm(np.ptp(np.concatenate(solids), axis=0)))
    scale = 1.0 if script.absolute else diagonal
    bodies = [one.name for one in placed if one.is_solid]
    if not script.self_contact:
        if not friction:
            return None
        notes.refuse(script.lines["selfCollisionOff"], "selfCollisionOff", "contact with obstacles alone is not supported")
    line = script.lines.get("tuning", 1)
    if script.tuning[0] != 0.0:
        notes.replace(line, "tuning", f"the stiffness {script.tuning[0]:g} of the barrier is replaced by stiffness='auto'")
    if script.tuning[1] != script.tuning[2]:
        notes.replace(line, "tuning", "the distance of the barrier is the last one of its sequence from the start")
    if not script.tuning[2] > 0.0:
        notes.fail(line, "tuning", f"the activation distance must be greater than 0, got {script.tuning[2]:g}")
    passes = int(min(script.friction_passes, 1000))
    if passes < 1:
        notes.replace(script.lines["fricIterAmt"], "fricIterAmt", f"friction lags until convergence; here {PASSES} passes")
        passes = PASSES
    with notes.naming(line, "tuning"):
        return BarrierContact(
            script.tuning[2] * scale,
            friction=pair_friction(bodies, max(script.friction, 0.0), friction),
            friction_velocity=max(script.tuning[5] * scale, 1e-12),
            friction_lags=passes,
        )
