"""Simulations in files: a NumPy archive with a JSON header that says its format and version.

Nothing is pickled, so a file from a stranger can do no harm. The state is stored in the simulation's own dtype: resuming gives
the same bits as never stopping.
"""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile

import numpy as np

import pdgpu.materials
from pdgpu import solvers
from pdgpu.mesh import Mesh
from pdgpu.scene import Scene

FORMAT, VERSION = "pdgpu simulation", 1


def write(path, simulation):
    """Write a simulation to `path`."""
    description = simulation._description
    arrays, bodies = {}, []

    def store(value):
        if not np.ndim(value):
            return float(value)
        name = f"array{len(arrays)}"
        arrays[name] = np.asarray(value)
        return name

    for body, materials, pins, attachments, damping in description.bodies:
        bodies.append(
            {
                "name": body.name,
                "type": body.type,
                "points": store(body.points),
                "tets": store(body.mesh.tets) if body.mesh else None,
                "triangles": store(body.mesh.triangles) if body.mesh else None,
                "edges": store(body.mesh.edges) if body.mesh else None,
                "masses": store(body.masses),
                "velocity": store(body.velocity),
                "damping": damping,
                "materials": [
                    [type(material).__name__, {name: store(value) for name, value in material._constants.items()}] for material in materials
                ],
                "pins": [[store(indices), motion is not None] for indices, motion in pins],
                "attachments": [[store(part) for part in attachment] for attachment in attachments],
            }
        )
    x, v, previous = simulation._backend.state()
    arrays["positions"], arrays["velocities"] = x, v
    if previous is not None:
        arrays["previous_velocities"] = previous
    if simulation._external_forces is not None:
        arrays["external_forces"] = simulation._external_forces
    header = {
        "format": FORMAT,
        "version": VERSION,
        "dt": simulation.dt,
        "device": simulation.device,
        "dtype": simulation.dtype.name,
        "start_time": simulation._start_time,
        "steps": simulation._steps,
        "gravity": list(description.gravity),
        "solver": _describe(simulation.solver),
        "bodies": bodies,
    }
    with open(path, "wb") as file:
        np.savez(file, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)


def read(cls, path, motions, device, threads):
    """A simulation like the one that was written to `path`."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"path: {os.fspath(path)} does not exist")
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(bytes(arrays.pop("header")))
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise KeyError("format")
    except (KeyError, ValueError, EOFError, OSError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise ValueError(f"path: {os.fspath(path)} is not a saved simulation, or is truncated ({error})") from None
    if header.get("version") != VERSION:
        raise ValueError(f"path: {os.fspath(path)} has version {header.get('version')}, this pdgpu reads version {VERSION}")
    try:
        return _restore(cls, header, arrays, motions, device, threads)
    except (KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"path: {os.fspath(path)} lacks {error}: it is damaged") from None


def _restore(cls, header, arrays, motions, device, threads):
    def fetch(value):
        return arrays[value] if isinstance(value, str) else value

    scene = Scene(gravity=header["gravity"])
    for entry in header["bodies"]:
        materials = [
            getattr(pdgpu.materials, name)(**{key: fetch(value) for key, value in constants.items()})
            for name, constants in entry["materials"]
        ]
        points = fetch(entry["points"])
        mesh = None
        if entry["type"] != "particles":
            mesh = Mesh(points, *(fetch(entry[name]) for name in ("tets", "triangles", "edges")))
        body = scene._add(
            entry["type"], points, mesh, materials, fetch(entry["masses"]), entry["name"], fetch(entry["velocity"]), entry["damping"]
        )
        given = list(motions.get(entry["name"], ()))
        for indices, scripted in entry["pins"]:
            if scripted and not given:
                raise ValueError(f"motions: body {entry['name']!r} had a scripted pin; give its motion again")
            body.pin(fetch(indices), given.pop(0) if scripted else None)
        for indices, targets, stiffness in entry["attachments"]:
            body.attach(fetch(indices), fetch(targets), fetch(stiffness))
    simulation = cls(
        scene,
        _solver(header["solver"]),
        dt=header["dt"],
        device=device or header["device"],
        dtype=header["dtype"],
        threads=threads,
    )
    simulation.external_forces = arrays.get("external_forces")
    simulation._backend.set_state(arrays["positions"], arrays["velocities"], arrays.get("previous_velocities"))
    simulation._start_time, simulation._steps = header["start_time"], header["steps"]
    return simulation


def _describe(value):
    """A solver as nested JSON: {"type": name, option: value}."""
    if dataclasses.is_dataclass(value):
        fields = {field.name: _describe(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    return value


def _solver(value):
    if isinstance(value, dict):
        options = {name: _solver(option) for name, option in value.items() if name != "type"}
        if value["type"] not in solvers.__all__:
            raise ValueError(f"solver: {value['type']!r} is unknown")
        return getattr(solvers, value["type"])(**options)
    return value
