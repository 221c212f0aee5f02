"""Scenes in files: bodies, obstacles and joints as entries of a header, with the names of their arrays.

Invalid content is a ValueError, a TypeError or a KeyError; `checkpoint` adds the path of the file.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from pdgpu._internal.arguments import number, per_item, real_array, vertex_indices
from pdgpu._internal.attributes import keep_attributes, read_only
from pdgpu.materials import materials
from pdgpu.materials.material import constants_of
from pdgpu.materials.shape_target import place_of_target, script_of, with_script
from pdgpu.mesh.mesh import Mesh
from pdgpu.scene import colliders, embedding, segments, signed_distance_field
from pdgpu.scene.bodies import hold, new_name
from pdgpu.scene.held_parts import CARRIERS, selectable_points
from pdgpu.scene.joints import Joint, check_limits
from pdgpu.scene.rigid_bodies import RigidBody
from pdgpu.scene.scene import Scene, add_body
from pdgpu.scene.tethers import FRAME, TARGETS

ELEMENTS = ("tets", "triangles", "edges")
EMBEDDING_ARRAYS = ("points", "triangles", "tets", "weights")
JOINT_ARRAYS = ("first", "second", "targets", "stiffness", "lengths")
LIMIT_ARRAYS = ("limits", "first_arm", "second_arm", "direction")  # of sliders, and of joints with limits


def describe(scene, store):
    """Return the entries of a scene; `store` stores an array and returns its name."""
    return {
        "gravity": list(scene.gravity),
        "world_box": None if scene.world_box is None else {n: store(v) for n, v in constants_of(scene.world_box).items()},
        "bodies": [_body_entry(body, store) for body in scene.bodies],
        "obstacles": [_obstacle_entry(obstacle, store) for obstacle in scene.obstacles],
        **({"joints": [_joint_entry(joint, store) for joint in scene.joints]} if scene.joints else {}),
    }


def _body_entry(body, store):
    return {
        "name": body.name,
        "type": body.type,
        "points": store(body.points),  # for a rigid body all rows of the model, as in earlier versions
        "tets": store(body.mesh.tets) if body.mesh else None,
        "triangles": store(body.mesh.triangles) if body.mesh else None,
        "edges": store(body.mesh.edges) if body.mesh else None,
        **_named_parts(body.mesh, store),
        "masses": store(body.masses),
        "velocity": store(body.velocity),
        **({"spin": store(body.spin)} if body.type == "rigid" else {}),
        **({"vertex_masses": store(getattr(body, "public", body).masses)} if getattr(body, "has_own_masses", False) else {}),
        **({"anchors": body.anchors} if body.type == "rigid" and body.anchors else {}),
        "damping": body.damping,
        **({} if body.collides else {"collides": False}),
        **({"thickness": body.thickness} if body.thickness else {}),
        "density": None if body.density is None else store(body.density),
        "parents": None if body.parents is None else store(body.parents),
        "materials": [
            [type(material).__name__, {name: store(value) for name, value in constants_of(material).items()}] for material in body.materials
        ],
        **({"shape_script": True} if shape_script(body) else {}),
        "pins": [[store(indices), motion is not None] for indices, motion in body.pins],
        "slides": [[store(part) for part in slide] for slide in body.slides],
        "attachments": [[store(part) for part in attachment] for attachment in body.attachments],
        **({"attachment_motions": [how and how[0] for how in body.attachment_motions]} if any(body.attachment_motions) else {}),
        **({"embeddings": [_embedding_entry(part, store) for part in body.embeddings]} if body.embeddings else {}),
    }


def _embedding_entry(part, store):
    arrays = {name: store(getattr(part, name)) for name in EMBEDDING_ARRAYS}
    return {"name": part.name, **arrays, **({"collides": True} if part.collides else {})}


def _obstacle_entry(obstacle, store):
    return {
        "name": obstacle.name,
        "type": type(obstacle.collider).__name__,
        "shape": {key: _stored(value, store) for key, value in _numbers(obstacle.collider).items()},
        "moves": obstacle.collider.motion is not None,
        **({} if obstacle.collides else {"collides": False}),
    }


def read(header, archive, motions):
    """Return the scene of a header, with its arrays from an archive."""

    def fetch(value):
        """Return an array by its name in the archive, or a number itself."""
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
        if flag(entry.get("shape_script", False)):
            place = place_of_target(materials)
            materials[place] = with_script(materials[place], motions[entry["name"]][-1])
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
        body = add_body(scene, entry["type"], points, mesh, materials, masses, entry["name"], *moving, density)
        if entry.get("parents") is not None:
            keep_attributes(body, parents=read_only(_parents(fetch(entry["parents"]), len(points))))
        _hold(body, entry, fetch, motions)
    for entry in header.get("obstacles", ()):
        shape = {key: value if value is None or isinstance(value, bool) else fetch(value) for key, value in entry["shape"].items()}
        (motion,) = motions.get(entry["name"], ()) if entry["moves"] else (None,)
        scene.add_obstacle(_collider(entry["type"], shape), motion, name=entry["name"], collides=entry.get("collides", True))
    keep_attributes(scene, joints=tuple(_joint(scene, entry, fetch) for entry in header.get("joints", ())))
    return scene


def _joint_entry(joint, store):
    arrays = {name: None if getattr(joint, name) is None else store(getattr(joint, name)) for name in JOINT_ARRAYS}
    if joint.has_limits:
        arrays |= {name: None if getattr(joint, name) is None else store(getattr(joint, name)) for name in LIMIT_ARRAYS}
        arrays["limit_stiffness"] = joint.limit_stiffness
    return {"name": joint.name, "kind": joint.kind, "bodies": list(joint.bodies), **arrays}


def _joint(scene, entry, fetch):
    """Return a stored joint; ValueError for unknown bodies."""
    given = {name: None if entry[name] is None else fetch(entry[name]) for name in JOINT_ARRAYS}
    k = len(given["first"])
    for name, body in zip(("first", "second"), entry["bodies"], strict=True):
        if body is not None:
            rows, n = np.asarray(given[name]), len(_numbered_points(scene.find(body)))
            if rows.dtype.kind != "i" or rows.shape != (k,) or not ((rows >= 0) & (rows < n)).all():
                raise ValueError(f"{name}: {rows} are not {k} of the {n} vertices of {body!r}")
            given[name] = read_only(rows.astype(np.int32))
    if (given["second"] is None) == (given["targets"] is None):
        raise ValueError(f"joint {entry['name']!r} has both a body and targets, or neither")
    if given["targets"] is not None:
        given["targets"] = real_array("targets", given["targets"], (k, 3))
    given["stiffness"] = per_item("stiffness", given["stiffness"], k, above=0.0)
    given["lengths"] = per_item("lengths", given["lengths"], k, minimum=0.0)
    return Joint(str(entry["name"]), str(entry["kind"]), tuple(entry["bodies"]), **given, **_limits(scene, entry, fetch))


def _limits(scene, entry, fetch):
    """Return the additional entries of a slider or a joint with limits."""
    if "limit_stiffness" not in entry:
        return {}
    given = {name: None if entry[name] is None else fetch(entry[name]) for name in LIMIT_ARRAYS}
    for name, body in zip(("first_arm", "second_arm"), entry["bodies"], strict=True):
        if given[name] is not None:
            given[name] = read_only(vertex_indices(name, given[name], _numbered_points(scene.find(body))))
            if len(given[name]) != 2:
                raise ValueError(f"{name}: {given[name]} are not two vertices of {body!r}")
    if (given["second_arm"] is None) == (given["direction"] is None):
        raise ValueError(f"joint {entry['name']!r} has both an arm and a direction, or neither")
    if given["direction"] is not None:
        given["direction"] = read_only(real_array("direction", given["direction"], (3,)))
    if given["limits"] is not None:
        given["limits"] = check_limits(str(entry["kind"]), given["limits"])
    return {**given, "limit_stiffness": number("limit_stiffness", entry["limit_stiffness"], above=0.0)}


def _numbered_points(body):
    """Return the numbers that a joint may use."""
    return body.numbered_points() if isinstance(body, RigidBody) else body.points


def shape_script(body):
    """Return the function of time of the shape targets of a body, or None."""
    place = place_of_target(body.materials)
    return None if place is None else script_of(body.materials[place])


def count_motions(entry):
    """Return the number of functions of a body in a file: pins with motions, then moving attachments, then shape targets of time."""
    words = entry.get("attachment_motions", ())
    if not all(word in (None, FRAME, TARGETS) for word in words) or (words and len(words) != len(entry["attachments"])):
        raise ValueError(f"attachment_motions: {words!r} for {len(entry['attachments'])} attachments")
    scripted = flag(entry.get("shape_script", False))
    if scripted and not any(name == "ShapeTarget" for name, _ in entry["materials"]):
        raise ValueError(f"shape_script: {entry['name']!r} has no ShapeTarget")
    return sum(flag(moves) for _, moves in entry["pins"]) + sum(word is not None for word in words) + scripted


def _hold(body, entry, fetch, motions):
    """Restore pins, slides, attachments and embeddings of a body."""
    given = iter(motions.get(entry["name"], ()))
    for indices, scripted in entry["pins"]:
        rows = vertex_indices("pins", fetch(indices), selectable_points(body))
        hold(body, "pin", "pins", (read_only(rows), next(given) if scripted else None))
    for indices, projector in entry.get("slides", ()):
        rows = vertex_indices("slides", fetch(indices), selectable_points(body))
        hold(body, "slide", "slides", (read_only(rows), read_only(_projector(fetch(projector)))))
    for attachment, word in itertools.zip_longest(entry["attachments"], entry.get("attachment_motions", ())):
        indices, targets, stiffness = map(fetch, attachment)
        if np.size(indices):  # earlier versions accepted, and wrote, empty ones
            body.attach(indices, stiffness=stiffness, **({"targets": targets} if word is None else {word: next(given)}))
    for given in entry.get("embeddings", ()):
        if body.type != "solid":
            raise ValueError(f"embeddings: {body.name!r} is a {body.type}")
        arrays = {name: fetch(given[name]) for name in EMBEDDING_ARRAYS}
        part = embedding.checked(body, given["name"], **arrays, collides=flag(given.get("collides", False)))
        hold(body, "embed", "embeddings", part)


def _rigid(scene, entry, fetch):
    """Return a stored rigid body, with its mass if the file has it."""
    points = real_array("points", fetch(entry["points"]), (None, 3))
    for name in ("tets", "edges", "masses"):
        fetch(entry[name])  # it follows from the rest
    masses = None if entry.get("vertex_masses") is None else fetch(entry["vertex_masses"])
    anchors = int(entry.get("anchors", 0))
    if not 0 <= anchors <= len(points) - CARRIERS:
        raise ValueError(f"anchors: {anchors} of {len(points)} vertices")
    first = len(points) - CARRIERS - anchors
    mesh = Mesh(points[:first], triangles=fetch(entry["triangles"]))
    velocity = real_array("velocity", fetch(entry["velocity"]), points.shape)[-CARRIERS:].mean(axis=0)
    moving = (fetch(entry["density"]), velocity, fetch(entry["spin"]), entry.get("collides", True))
    body = RigidBody(new_name(scene, entry["name"]), mesh, scene.n_vertices, *moving, carriers=points[-CARRIERS:], masses=masses)
    if anchors:
        body.add_anchors(points[first:-CARRIERS])
    keep_attributes(scene, bodies=(*scene.bodies, body))
    return body


def _named_parts(mesh, store):
    """Return groups and cell data of a mesh, if present."""
    if mesh is None:
        return {}
    given = {"groups": {name: group.given() for name, group in mesh.groups.items()}, "cell_data": mesh.cell_data}
    return {
        what: {name: {kind: store(rows) for kind, rows in parts.items()} for name, parts in named.items()}
        for what, named in given.items()
        if named
    }


def _stored(value, store):
    return value if value is None or isinstance(value, bool) else store(value)


def _numbers(collider):
    """Return the fields of a collider except its motion: numbers, arrays, flags and None."""
    given = [field for field in dataclasses.fields(collider) if field.init]
    # a field unknown to earlier versions is written only if it differs from its default
    known = [field for field in given if not field.metadata or getattr(collider, field.name) != field.default]
    parts = {field.name: getattr(collider, field.name) for field in known}
    del parts["motion"]
    mesh = parts.pop("mesh", None)
    return parts if mesh is None else parts | {f"mesh_{name}": getattr(mesh, name) for name in ("points", *ELEMENTS)}


def _collider(name, parts):
    """Return a collider only, as `_material`."""
    module = next((part for part in (signed_distance_field, segments) if name in part.__all__), colliders)
    if name not in module.__all__ or name in ("Collider", "SurfacePoints", "VertexCollider"):
        raise ValueError(f"collider {name!r} is unknown")
    if "mesh_points" in parts:
        parts["mesh"] = Mesh(parts.pop("mesh_points"), *(parts.pop(f"mesh_{name}") for name in ELEMENTS))
    return getattr(module, name)(**parts)


def _parents(rows, n):
    """Return the original of each vertex: an earlier one, or itself for an original vertex of the body."""
    rows = whole("parents", rows, n)
    if (rows < 0).any() or (rows > np.arange(n)).any() or (rows[rows] != rows).any():
        raise ValueError("parents: they are not those of a cut body")
    return rows


def _projector(matrix):
    """The projector on a line or a plane."""
    matrix = real_array("slides", matrix, (3, 3))
    if not (np.allclose(matrix, matrix.T) and np.allclose(matrix @ matrix, matrix)):
        raise ValueError("slides: a matrix is no projector")
    return matrix


def _material(name, constants):
    """Return a material only: a file must not call other names of that module."""
    if name not in materials.__all__:
        raise ValueError(f"material {name!r} is unknown")
    material = getattr(materials, name)
    made = material.from_young if "young" in constants and hasattr(material, "from_young") else material
    return made(**constants)


def flag(value):
    """Return True or False, and reject any other value."""
    if not isinstance(value, bool):
        raise TypeError(f"expected true or false, got {value!r}")
    return value


def whole(name, array, n):
    """Return n integers."""
    if array.shape != (n,) or array.dtype.kind not in "iu" or (array > np.iinfo(np.int32).max).any():
        raise ValueError(f"{name}: expected {n} integers, got {array!r}")
    return array.astype(np.int32)
