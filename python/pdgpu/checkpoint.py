"""Simulations in files: a NumPy archive with a JSON header that says its format and version.

Nothing is pickled, only the arrays that the header names are read, and what does not make sense is a ValueError that names the path: a
file from a stranger can do no harm. The state is stored in the simulation's own dtype: resuming gives
the same bits as never stopping.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json

import numpy as np

import pdgpu.materials
from pdgpu import (
    colliders,
    contact,
    linear_solvers,
    penalty_contact,
    projective_contact,
    schur,
    signed_distance_field,
    solvers,
    time_step_solver,
    two_way_contact,
)
from pdgpu.arguments import choice, integer, number, per_item, real_array, real_view, vertex_indices
from pdgpu.array_archive import ArrayArchive
from pdgpu.atomic_files import replacing
from pdgpu.attributes import read_only
from pdgpu.automatic import Parameters
from pdgpu.backends import PRECISIONS, device_parts, thread_count
from pdgpu.joints import Joint
from pdgpu.mesh import Mesh
from pdgpu.mesh_files import as_path
from pdgpu.rigid_bodies import CARRIERS, RigidBody
from pdgpu.scene import Scene

FORMAT, VERSION = "pdgpu simulation", 4
# the versions of files without joints, without contact, and without obstacles, which earlier versions of pdgpu read too
WITHOUT_JOINTS, WITHOUT_CONTACT, WITHOUT_OBSTACLES = 3, 2, 1
STATE = ("positions", "velocities", "previous_velocities")


def write(path, simulation):
    """Write a simulation to `path`, as `replacing` does. ValueError where the state is not finite."""
    path = as_path(path)
    scene = simulation._scene
    arrays, bodies = {}, []

    def store(value):
        if not np.ndim(value):
            return float(value)
        name = f"array{len(arrays)}"
        arrays[name] = np.asarray(value)
        return name

    for body in scene.bodies:
        bodies.append(
            {
                "name": body.name,
                "type": body.type,
                "points": store(body.points),
                "tets": store(body.mesh.tets) if body.mesh else None,
                "triangles": store(body.mesh.triangles) if body.mesh else None,
                "edges": store(body.mesh.edges) if body.mesh else None,
                **_named_parts(body.mesh, store),
                "masses": store(body.masses),
                "velocity": store(body.velocity),
                **({"spin": store(body.spin)} if body.type == "rigid" else {}),
                **({"anchors": body.anchors} if body.type == "rigid" and body.anchors else {}),
                "damping": body.damping,
                **({} if body.collides else {"collides": False}),
                **({"thickness": body.thickness} if body.thickness else {}),
                "density": None if body.density is None else store(body.density),
                "parents": None if body.parents is None else store(body.parents),
                "materials": [
                    [type(material).__name__, {name: store(value) for name, value in material._constants.items()}]
                    for material in body.materials
                ],
                "pins": [[store(indices), motion is not None] for indices, motion in body.pins],
                "slides": [[store(part) for part in slide] for slide in body.slides],
                "attachments": [[store(part) for part in attachment] for attachment in body.attachments],
            }
        )
    obstacles = []
    for obstacle in scene.obstacles:
        shape = {key: None if value is None else store(value) for key, value in _numbers(obstacle.collider).items()}
        obstacles.append(
            {
                "name": obstacle.name,
                "type": type(obstacle.collider).__name__,
                "shape": shape,
                "moves": obstacle.collider.motion is not None,
                **({} if obstacle.collides else {"collides": False}),
            }
        )
    for name, state in simulation._backend.state().items():
        if state is not None:  # another library may have written to the memory of the simulation
            arrays[name] = real_view(name, state, state.shape, state.dtype)
    if simulation._colours is not None:  # after a cut they are inherited, not what a colouring of the scene would give
        arrays["colours"] = simulation._colours
    if simulation.contact is not None:
        arrays["driven"] = simulation._backend.driven()
    if simulation._external_forces is not None:
        arrays["external_forces"] = simulation._external_forces
    header = {
        "format": FORMAT,
        "version": _version(scene, simulation.contact),
        "dt": simulation.dt,
        "device": simulation.device,
        "dtype": simulation.dtype.name,
        "start_time": simulation._start_time,
        "steps": simulation._backend.steps(),
        "gravity": list(scene.gravity),
        "world_box": None if scene.world_box is None else {n: store(v) for n, v in scene.world_box._constants.items()},
        "solver": _describe(simulation.solver),
        **({} if simulation.contact is None else {"contact": _describe(simulation.contact)}),
        "rho": simulation._rho,
        "linear_numbers": None if simulation._numbers is None else dataclasses.asdict(simulation._numbers),
        "bodies": bodies,
        "obstacles": obstacles,
        **({"joints": [_joint_entry(joint, store) for joint in scene.joints]} if scene.joints else {}),
    }
    with replacing(path) as unfinished, open(unfinished, "wb") as file:
        np.savez(file, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)


def read(cls, path, motions, device, threads):
    """A simulation like the one that was written to `path`."""
    path = as_path(path)
    if not path.exists():
        raise FileNotFoundError(f"path: {path} does not exist")
    if device is not None:
        device_parts(device)
    thread_count(threads)
    with _named(path, "is not a saved simulation, or is truncated"):
        archive = ArrayArchive(path)
    with archive:
        with _named(path, "is not a saved simulation, or is truncated"):
            header = _header(archive)
        if header.get("version") not in (WITHOUT_OBSTACLES, WITHOUT_CONTACT, WITHOUT_JOINTS, VERSION):
            raise ValueError(f"path: {path} has version {header.get('version')!r}, this pdgpu reads up to version {VERSION}")
        with _named(path, "is damaged"):
            pins = {entry["name"]: sum(_flag(moves) for _, moves in entry["pins"]) for entry in header["bodies"]}
            obstacles = {entry["name"]: int(_flag(entry["moves"])) for entry in header.get("obstacles", ())}
        motions = _check_motions(motions, pins, obstacles)
        with _named(path, "is damaged"):
            saved_device, dtype = header["device"], choice("dtype", header["dtype"], PRECISIONS)
            device_parts(saved_device)
            dt = None if header["dt"] is None else number("dt", header["dt"], above=0.0)
            start_time, steps = number("start_time", header["start_time"]), integer("steps", header["steps"], 0)
            solver = _solver(header["solver"])
            if not isinstance(solver, solvers.SOLVERS):
                raise ValueError(f"solver: {header['solver']!r} is none")
            rho, numbers = _searched(header, solver)
            scene = _scene(header, archive, motions)
            state = {name: _state(name, archive, scene, dtype) for name in STATE}
            colours = _colours(archive.take("colours"), scene) if "colours" in archive.names else None
            forces = archive.take("external_forces") if "external_forces" in archive.names else None
            law, driven = None, None
            if header.get("contact") is not None:
                law, driven = _solver(header["contact"]), archive.take("driven")
                if (
                    type(law).__name__ not in (*contact.LAWS, *penalty_contact.__all__, *time_step_solver.DRIVERS, *time_step_solver.AFTER)
                    or driven.dtype != dtype
                ):
                    raise ValueError(f"contact: {header['contact']!r} is none, or driven of another dtype")
                driven = real_array("driven", driven, (None, 3))
            if archive.names:
                raise ValueError(f"{archive.names[0]} is in it, and its header does not name that")
    with _named(path, "cannot be resumed"):  # not on this device, or not at all: it is the core that knows
        if not hasattr(solver, "colouring"):
            colours = None
        numbers = None if numbers is None else Parameters(**numbers)
        device = device or saved_device
        run = (colours, steps, start_time, state, forces, rho, numbers, driven)
        return cls._resumed(scene, solver, dt, law, device, dtype, threads, *run)


@contextlib.contextmanager
def _named(path, what):
    """What the content of a file leads to, becomes a ValueError that names the file."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"path: {path} {what} ({reason})") from error


def _header(archive):
    content = archive.take("header")
    if content.dtype != np.uint8 or content.ndim != 1:
        raise ValueError("its header is no text")
    header = json.loads(content.tobytes())
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError("it does not name the format")
    return header


def _flag(value):
    if not isinstance(value, bool):
        raise TypeError(f"expected true or false, got {value!r}")
    return value


def _state(name, archive, scene, dtype):
    """Positions or velocities, in the dtype of the simulation; None for those of the step before where there was none."""
    if name == "previous_velocities" and name not in archive.names:
        return None
    array = archive.take(name)
    if array.dtype != dtype:
        raise ValueError(f"{name}: expected dtype {dtype}, got {array.dtype}")
    return real_array(name, array, (scene.n_vertices, 3))


def _searched(header, solver):
    """rho of the outer iteration and the numbers of the linear solver, checked."""
    rho, numbers = header.get("rho"), header.get("linear_numbers")
    if rho is not None:
        rho = _found("rho", rho, getattr(solver, "chebyshev", None))
    if numbers is None:
        return rho, None
    if not isinstance(numbers, dict) or not isinstance(solver, solvers.ProjectiveDynamics):
        raise ValueError(f"linear_numbers: {numbers!r} are not those of a {type(solver).__name__}")
    limits = {"weight": {"minimum": 0.0}, "omega": {"above": 0.0, "below": 2.0}, "composed_rho": {"above": 0.0, "below": 1.0}}
    checked = {name: number(name, numbers[name], **limit) for name, limit in limits.items()}
    checked["rho"] = numbers["rho"]
    chebyshev = getattr(solver.linear, "chebyshev", None)
    if checked["rho"] is not None:
        checked["rho"] = _found("linear rho", checked["rho"], chebyshev, getattr(chebyshev, "rho", None))
    if getattr(solver.linear, "weight", None) is not None and not checked["weight"] > 0.0:
        raise ValueError("weight: must be positive")
    return rho, checked


def _found(name, rho, chebyshev, given=None):
    """A rho that a search or the spectrum found, for an acceleration that leaves it to them."""
    if chebyshev is None:
        raise ValueError(f"{name} without a Chebyshev acceleration")
    if not isinstance(chebyshev.rho, str) and rho != given:
        raise ValueError(f"{name}: {rho!r} for an acceleration with {chebyshev.rho!r}")
    return number(name, rho, minimum=0.0, below=1.0)


def _check_motions(motions, pins, obstacles):
    """Name -> list of motions, of a body as many as it has scripted pins, of an obstacle that moves one; the numbers are given by name."""
    scripted = pins | obstacles
    motions = {} if motions is None else motions
    if not isinstance(motions, dict):
        raise TypeError(f"motions: expected a dict of body name -> list of motions, got {motions!r}")
    for name, given in motions.items():
        if name not in scripted:
            raise ValueError(f"motions: no body or obstacle is named {name!r}; there are {list(scripted)}")
        if not isinstance(given, list | tuple):
            raise TypeError(f"motions: expected a list of motions for {name!r}, got {given!r}")
    for name, count in scripted.items():
        given = motions.get(name, ())
        if len(given) != count:
            what = f"obstacle {name!r} had {count} motions" if name in obstacles else f"body {name!r} had {count} scripted pins"
            raise ValueError(
                f"motions: {what}, and {len(given)} motions were given; functions are not saved: "
                "give them all again, in the order of the pins"
            )
        for motion in given:
            if not callable(motion):
                raise TypeError(f"motions: expected callables for {name!r}, got {motion!r}")
    return motions


def _scene(header, archive, motions):
    def fetch(value):
        """An array by its name in the archive, or a number itself."""
        if isinstance(value, str):
            return archive.take(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"expected an array's name or a number, got {value!r}")
        return value

    scene = Scene(gravity=header["gravity"])
    if header.get("world_box") is not None:
        scene.set_world_box(**{name: fetch(value) for name, value in header["world_box"].items()})
    for entry in header["bodies"]:
        if entry["type"] == "rigid":
            _hold(_rigid(scene, entry, fetch), entry, fetch, motions)
            continue
        materials = [_material(name, {key: fetch(value) for key, value in constants.items()}) for name, constants in entry["materials"]]
        points = real_array("points", fetch(entry["points"]), (None, 3))
        mesh = None
        if entry["type"] in ("solid", "shell", "rod"):
            named = {
                what: {name: {kind: fetch(rows) for kind, rows in parts.items()} for name, parts in entry.get(what, {}).items()}
                for what in ("groups", "cell_data")
            }
            mesh = Mesh(points, *(fetch(entry[name]) for name in ELEMENTS), **named)
        elif entry["type"] != "particles" or materials:
            raise ValueError(f"type {entry['type']!r} with {len(materials)} materials is unknown")
        masses = per_item("masses", fetch(entry["masses"]), len(points), above=0.0)
        density = None
        if mesh is not None and entry.get("density") is not None:  # files of pdgpu 0.1 have none
            rows = {"solid": mesh.tets, "shell": mesh.triangles, "rod": mesh.edges}[entry["type"]]
            density = per_item("density", fetch(entry["density"]), len(rows), above=0.0)
        moving = (fetch(entry["velocity"]), entry["damping"], entry.get("collides", True), entry.get("thickness", 0.0))
        body = scene._add(entry["type"], points, mesh, materials, masses, entry["name"], *moving, density)
        if entry.get("parents") is not None:
            body._keep(parents=read_only(_parents(fetch(entry["parents"]), len(points))))
        _hold(body, entry, fetch, motions)
    for entry in header.get("obstacles", ()):
        shape = {key: None if value is None else fetch(value) for key, value in entry["shape"].items()}
        (motion,) = motions.get(entry["name"], ()) if entry["moves"] else (None,)
        scene.add_obstacle(_collider(entry["type"], shape), motion, name=entry["name"], collides=entry.get("collides", True))
    scene._keep(joints=tuple(_joint(scene, entry, fetch) for entry in header.get("joints", ())))
    return scene


def _version(scene, contact):
    """The earliest that says all of it."""
    if scene.joints:
        return VERSION
    return WITHOUT_JOINTS if contact is not None else WITHOUT_CONTACT if scene.obstacles else WITHOUT_OBSTACLES


JOINT_ARRAYS = ("first", "second", "targets", "stiffness", "lengths")


def _joint_entry(joint, store):
    arrays = {name: None if getattr(joint, name) is None else store(getattr(joint, name)) for name in JOINT_ARRAYS}
    return {"name": joint.name, "kind": joint.kind, "bodies": list(joint.bodies), **arrays}


def _joint(scene, entry, fetch):
    """A joint as it was; ValueError where it joins what is not there."""
    given = {name: None if entry[name] is None else fetch(entry[name]) for name in JOINT_ARRAYS}
    k = len(given["first"])
    for name, body in zip(("first", "second"), entry["bodies"], strict=True):
        if body is not None:
            rows, n = np.asarray(given[name]), len(scene.find(body).points)
            if rows.dtype.kind != "i" or rows.shape != (k,) or not ((rows >= 0) & (rows < n)).all():
                raise ValueError(f"{name}: {rows} are not {k} of the {n} vertices of {body!r}")
            given[name] = read_only(rows.astype(np.int32))
    if (given["second"] is None) == (given["targets"] is None):
        raise ValueError(f"joint {entry['name']!r} has both a body and targets, or neither")
    if given["targets"] is not None:
        given["targets"] = real_array("targets", given["targets"], (k, 3))
    given["stiffness"] = per_item("stiffness", given["stiffness"], k, above=0.0)
    given["lengths"] = per_item("lengths", given["lengths"], k, minimum=0.0)
    return Joint(str(entry["name"]), str(entry["kind"]), tuple(entry["bodies"]), **given)


def _hold(body, entry, fetch, motions):
    """Pins, slides and attachments of a body as they were."""
    given = iter(motions.get(entry["name"], ()))
    for indices, scripted in entry["pins"]:
        body._hold("pin", "pins", vertex_indices("pins", fetch(indices), body._selectable()), next(given) if scripted else None)
    for indices, projector in entry.get("slides", ()):
        body._hold("slide", "slides", vertex_indices("slides", fetch(indices), body._selectable()), _projector(fetch(projector)))
    for attachment in entry["attachments"]:
        indices, targets, stiffness = map(fetch, attachment)
        if np.size(indices):  # earlier versions took, and wrote, some that hold nothing
            body.attach(indices, targets, stiffness)


def _rigid(scene, entry, fetch):
    """A rigid body as it was, its mass where the file has it."""
    points = real_array("points", fetch(entry["points"]), (None, 3))
    for name in ("tets", "edges", "masses"):
        fetch(entry[name])  # it follows from the rest
    anchors = int(entry.get("anchors", 0))
    if not 0 <= anchors <= len(points) - CARRIERS:
        raise ValueError(f"anchors: {anchors} of {len(points)} vertices")
    first = len(points) - CARRIERS - anchors
    mesh = Mesh(points[:first], triangles=fetch(entry["triangles"]))
    velocity = real_array("velocity", fetch(entry["velocity"]), points.shape)[-CARRIERS:].mean(axis=0)
    moving = (fetch(entry["density"]), velocity, fetch(entry["spin"]), entry.get("collides", True))
    body = RigidBody(scene._new_name(entry["name"]), mesh, scene.n_vertices, *moving, carriers=points[-CARRIERS:])
    if anchors:
        body.add_anchors(points[first:-CARRIERS])
    scene._keep(bodies=(*scene.bodies, body))
    return body


ELEMENTS = ("tets", "triangles", "edges")


def _named_parts(mesh, store):
    """Groups and cell data of a mesh that has some."""
    if mesh is None:
        return {}
    given = {"groups": {name: group.given() for name, group in mesh.groups.items()}, "cell_data": mesh.cell_data}
    return {
        what: {name: {kind: store(rows) for kind, rows in parts.items()} for name, parts in named.items()}
        for what, named in given.items()
        if named
    }


def _numbers(collider):
    """What a collider is made of, but for its motion: numbers, arrays and None."""
    parts = {field.name: getattr(collider, field.name) for field in dataclasses.fields(collider) if field.init}
    del parts["motion"]
    mesh = parts.pop("mesh", None)
    return parts if mesh is None else parts | {f"mesh_{name}": getattr(mesh, name) for name in ("points", *ELEMENTS)}


def _collider(name, parts):
    """Only a collider, as `_material`."""
    module = signed_distance_field if name in signed_distance_field.__all__ else colliders
    if name not in module.__all__ or name in ("Collider", "SurfacePoints"):
        raise ValueError(f"collider {name!r} is unknown")
    if "mesh_points" in parts:
        parts["mesh"] = Mesh(parts.pop("mesh_points"), *(parts.pop(f"mesh_{name}") for name in ELEMENTS))
    return getattr(module, name)(**parts)


def _parents(rows, n):
    """Which vertex each descends from: an earlier one, or itself where it is one of those the body was added with."""
    rows = _whole("parents", rows, n)
    if (rows < 0).any() or (rows > np.arange(n)).any() or (rows[rows] != rows).any():
        raise ValueError("parents: they are not those of a cut body")
    return rows


def _projector(matrix):
    """The projector on a line or a plane."""
    matrix = real_array("slides", matrix, (3, 3))
    if not (np.allclose(matrix, matrix.T) and np.allclose(matrix @ matrix, matrix)):
        raise ValueError("slides: a matrix is no projector")
    return matrix


def _colours(colours, scene):
    """Colours of the vertices; the core refuses them where two neighbours have the same."""
    colours = _whole("colours", colours, scene.n_vertices)
    if (colours < 0).any() or (colours >= scene.n_vertices).any():
        raise ValueError(f"colours: must be from 0 to {scene.n_vertices - 1}")
    return colours


def _whole(name, array, n):
    """n integers."""
    if array.shape != (n,) or array.dtype.kind not in "iu" or (array > np.iinfo(np.int32).max).any():
        raise ValueError(f"{name}: expected {n} integers, got {array!r}")
    return array.astype(np.int32)


def _material(name, constants):
    """Only a material: whatever else that module holds is not to be called on the word of a file."""
    if name not in pdgpu.materials.__all__:
        raise ValueError(f"material {name!r} is unknown")
    material = getattr(pdgpu.materials, name)
    return material.from_young(**constants) if "young" in constants else material(**constants)


def _describe(value):
    """A solver as nested JSON: {"type": name, option: value}."""
    if dataclasses.is_dataclass(value):
        # a field that earlier versions do not know is written only where it says something
        known = [field for field in dataclasses.fields(value) if not field.metadata or getattr(value, field.name) != field.default]
        fields = {field.name: _describe(getattr(value, field.name)) for field in known}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, contact.PairTable):
        return {"pairs": [[*pair, number] for pair, number in value.items()]}
    return value


def _solver(value):
    if isinstance(value, dict) and "pairs" in value:
        return {(str(first), str(second)): number for first, second, number in value["pairs"]}
    if isinstance(value, dict):
        options = {name: _solver(option) for name, option in value.items() if name != "type"}
        for module in (solvers, linear_solvers, schur, contact, penalty_contact, projective_contact, two_way_contact):
            kind = getattr(module, value["type"], None) if value["type"] in module.__all__ else None
            if isinstance(kind, type) and dataclasses.is_dataclass(kind):
                return kind(**options)
        raise ValueError(f"solver: {value['type']!r} is unknown")
    return value
