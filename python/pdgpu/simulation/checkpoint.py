"""Simulations in files: a NumPy archive with a JSON header that has its format and version.

The files contain no pickles, only arrays named by the header are read, and invalid content is a ValueError with the path. So files of
unknown origin are harmless. The state is stored in the simulation's dtype: a resumed run has the same bits as an uninterrupted one.
"""

from __future__ import annotations

import contextlib
import dataclasses

import numpy as np

from pdgpu._internal.arguments import choice, integer, number, real_array, real_view
from pdgpu._internal.array_archive import ArrayArchive
from pdgpu._internal.atomic_files import replacing
from pdgpu._internal.backends import PRECISIONS, device_parts, thread_count
from pdgpu.contact import barrier_contact, penalty_contact, projective_contact, proxy_contact, two_way_contact
from pdgpu.linear import linear_solvers, schur
from pdgpu.linear.automatic import Parameters
from pdgpu.materials.custom_material import CustomMaterial
from pdgpu.mesh.io.mesh_files import as_path
from pdgpu.scene.model_scene import model_scene
from pdgpu.simulation import scene_entries
from pdgpu.simulation.resume import HISTORY, resumed
from pdgpu.solvers import solvers, time_step_solver
from pdgpu.solvers.custom_solver import CustomSolver
from pdgpu.solvers.integrators import INTEGRATORS

FORMAT, VERSION = "pdgpu simulation", 11
# the versions of files without an integrator other than implicit Euler, whose origin is 0, without a stiffness of contact that has doubled,
# without shape targets of time, without attachments that move, without limits of joints, without embeddings, without joints, without
# contact, and without obstacles, which earlier versions of pdgpu read too
WITHOUT_INTEGRATOR = 10
WITHOUT_ORIGIN, WITHOUT_DOUBLINGS, WITHOUT_MUSCLES, WITHOUT_BONES, WITHOUT_LIMITS, WITHOUT_EMBEDDINGS = 9, 8, 7, 6, 5, 4
WITHOUT_JOINTS, WITHOUT_CONTACT, WITHOUT_OBSTACLES = 3, 2, 1
STATE = ("positions", "velocities", "previous_velocities", *HISTORY)

# The modules whose dataclasses a file names.
DESCRIBED = (
    *(solvers, linear_solvers, schur),
    *(barrier_contact, penalty_contact, projective_contact, proxy_contact, two_way_contact),
)


def write(path, core):
    """Write a simulation, by its core, to `path`, by `replacing`. ValueError for a state that is not finite."""
    import json

    path = as_path(path)
    if isinstance(core.solver, CustomSolver):
        raise TypeError(
            f"path: a file cannot hold {type(core.solver).__name__}, whose iteration is Python; pickle the simulation instead, with the "
            "class in a module"
        )
    linear = core.solver.linear
    if linear_solvers.calls_function(linear):
        what = "linear solver" if isinstance(linear, linear_solvers.LinearFunction) else "preconditioner"
        raise TypeError(f"path: a file cannot hold a {what} that is a function; pickle the simulation instead, with a picklable function")
    scene = core.scene
    for body in scene.bodies:
        if any(isinstance(material, CustomMaterial) for material in body.materials):
            raise TypeError(
                f"path: a file cannot hold the CustomMaterial of {body.name!r}, whose energy is Python; pickle the simulation instead, "
                "with functions of a module"
            )
    arrays = {}

    def store(value):
        if not np.ndim(value):
            return float(value)
        name = f"array{len(arrays)}"
        arrays[name] = np.asarray(value)
        return name

    for name, state in core.backend.state().items():
        if state is not None:  # another library may have written to the memory of the simulation
            arrays[name] = real_view(name, state, state.shape, state.dtype)
    if core.colours is not None:  # after a cut colours are inherited, and differ from a colouring of the scene
        arrays["colours"] = core.colours
    if core.contact is not None:
        arrays["driven"] = core.backend.driven()
    if core.external_forces is not None:
        arrays["external_forces"] = core.external_forces
    doublings = core.backend.doublings()
    header = {
        "format": FORMAT,
        "version": VERSION if core.integrator != INTEGRATORS[0] else _version(scene, core.contact, doublings, core.origin),
        "dt": core.dt,
        "device": core.device,
        "dtype": core.dtype.name,
        "start_time": core.start_time,
        "steps": core.backend.steps(),
        "solver": _describe(core.solver),
        **({} if core.contact is None else {"contact": _describe(core.contact)}),
        **({"stiffness_doublings": doublings} if any(doublings) else {}),
        **({"origin": core.origin.tolist()} if core.origin.any() else {}),
        **({"integrator": core.integrator} if core.integrator != INTEGRATORS[0] else {}),
        "rho": core.rho,
        "linear_numbers": None if core.numbers is None else dataclasses.asdict(core.numbers),
        **scene_entries.describe(scene, store),
    }
    with replacing(path) as unfinished, open(unfinished, "wb") as file:
        np.savez(file, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)


def read(path, motions, device, threads):
    """Return the core of a simulation from a file at `path`."""
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
        if header.get("version") not in range(WITHOUT_OBSTACLES, VERSION + 1):
            raise ValueError(f"path: {path} has version {header.get('version')!r}, this pdgpu reads up to version {VERSION}")
        with _named(path, "is damaged"):
            pins = {entry["name"]: scene_entries.count_motions(entry) for entry in header["bodies"]}
            obstacles = {entry["name"]: int(scene_entries.flag(entry["moves"])) for entry in header.get("obstacles", ())}
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
            integrator = choice("integrator", header.get("integrator", INTEGRATORS[0]), INTEGRATORS)
            scene = model_scene(scene_entries.read(header, archive, motions))  # a file has the rows of the model
            origin = real_array("origin", header.get("origin", (0.0, 0.0, 0.0)), (3,))
            placed = np.dtype(np.float64 if origin.any() else dtype)  # of positions
            state = {name: _state(name, archive, scene, placed if name == "positions" else dtype) for name in STATE}
            colours = _colours(archive.take("colours"), scene) if "colours" in archive.names else None
            forces = archive.take("external_forces") if "external_forces" in archive.names else None
            law, driven = None, None
            if header.get("contact") is not None:
                law, driven = _solver(header["contact"]), archive.take("driven")
                if (
                    type(law).__name__
                    not in (
                        *barrier_contact.POTENTIALS,
                        *penalty_contact.__all__,
                        *time_step_solver.DRIVERS,
                        *time_step_solver.AFTER,
                        *proxy_contact.__all__,
                    )
                    or driven.dtype != placed
                ):
                    raise ValueError(f"contact: {header['contact']!r} is none, or driven of another dtype")
                driven = real_array("driven", driven, (None, 3))
            doublings = _doublings(header.get("stiffness_doublings", (0, 0)))
            if archive.names:
                raise ValueError(f"{archive.names[0]} is in it, and its header does not name that")
    with _named(path, "cannot be resumed"):  # not on this device, or not at all: the core decides
        if not hasattr(solver, "colouring"):
            colours = None
        numbers = None if numbers is None else Parameters(**numbers)
        device = device or saved_device
        run = (colours, steps, start_time, state, forces, rho, numbers, driven, doublings, origin, integrator)
        return resumed(scene, solver, dt, law, device, dtype, threads, *run)


@contextlib.contextmanager
def _named(path, what):
    """A context that turns errors caused by the content of a file into a ValueError with its path."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"path: {path} {what} ({reason})") from error


def _header(archive):
    import json

    content = archive.take("header")
    if content.dtype != np.uint8 or content.ndim != 1:
        raise ValueError("its header is no text")
    header = json.loads(content.tobytes())
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError("it does not name the format")
    return header


def _state(name, archive, scene, dtype):
    """Return positions or velocities, in the dtype of the simulation; None for absent ones of previous steps."""
    if name in ("previous_velocities", *HISTORY) and name not in archive.names:
        return None
    array = archive.take(name)
    if array.dtype != dtype:
        raise ValueError(f"{name}: expected dtype {dtype}, got {array.dtype}")
    return real_array(name, array, (scene.n_vertices, 3))


def _searched(header, solver):
    """Return rho of the outer iteration and the numbers of the linear solver, checked."""
    rho, numbers = header.get("rho"), header.get("linear_numbers")
    if rho is not None:
        rho = _found("rho", rho, linear_solvers.chebyshev_of(solver))
    if numbers is None:
        return rho, None
    if not isinstance(numbers, dict) or not isinstance(solver, solvers.ProjectiveDynamics):
        raise ValueError(f"linear_numbers: {numbers!r} are not those of a {type(solver).__name__}")
    limits = {"weight": {"minimum": 0.0}, "omega": {"above": 0.0, "below": 2.0}, "composed_rho": {"above": 0.0, "below": 1.0}}
    checked = {name: number(name, numbers[name], **limit) for name, limit in limits.items()}
    checked["rho"] = numbers["rho"]
    chebyshev = linear_solvers.chebyshev_of(solver.linear)
    if checked["rho"] is not None:
        checked["rho"] = _found("linear rho", checked["rho"], chebyshev, getattr(chebyshev, "rho", None))
    if getattr(solver.linear, "weight", None) is not None and not checked["weight"] > 0.0:
        raise ValueError("weight: must be positive")
    return rho, checked


def _found(name, rho, chebyshev, given=None):
    """Return a rho found by a search or from the spectrum, for an acceleration without a number."""
    if chebyshev is None:
        raise ValueError(f"{name} without a Chebyshev acceleration")
    if not isinstance(chebyshev.rho, str) and rho != given:
        raise ValueError(f"{name}: {rho!r} for an acceleration with {chebyshev.rho!r}")
    return number(name, rho, minimum=0.0, below=1.0)


def _check_motions(motions, pins, obstacles):
    """Return name -> list of motions: for a body one for each pin with a motion, moving attachment and shape target of time, for an
    obstacle one; `motions` has their numbers by name.
    """
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
            what = (
                f"obstacle {name!r} had {count} motions"
                if name in obstacles
                else f"body {name!r} had {count} scripted pins, attachments that move and shape targets of time"
            )
            raise ValueError(
                f"motions: {what}, and {len(given)} motions were given; functions are not saved: "
                "give them all again, pins first, in their order"
            )
        for motion in given:
            if not callable(motion):
                raise TypeError(f"motions: expected callables for {name!r}, got {motion!r}")
    return motions


def _doublings(value):
    """Return those of the last step and of the next; the core rejects an invalid pair."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"stiffness_doublings: expected two numbers, got {value!r}")
    return tuple(integer("stiffness_doublings", number, 0, 100) for number in value)


def _version(scene, contact, doublings, origin):
    """Return the earliest version that can represent the simulation."""
    if origin.any():
        return WITHOUT_INTEGRATOR
    if any(doublings):
        return WITHOUT_ORIGIN
    if any(scene_entries.shape_script(body) for body in scene.bodies):
        return WITHOUT_DOUBLINGS
    if any(how for body in scene.bodies for how in body.attachment_motions):
        return WITHOUT_MUSCLES
    if any(joint.has_limits for joint in scene.joints):
        return WITHOUT_BONES
    if any(body.embeddings for body in scene.bodies):
        return WITHOUT_LIMITS
    if scene.joints:
        return WITHOUT_EMBEDDINGS
    return WITHOUT_JOINTS if contact is not None else WITHOUT_CONTACT if scene.obstacles else WITHOUT_OBSTACLES


def _colours(colours, scene):
    """Return colours of the vertices; the core rejects equal colours of neighbours."""
    colours = scene_entries.whole("colours", colours, scene.n_vertices)
    if (colours < 0).any() or (colours >= scene.n_vertices).any():
        raise ValueError(f"colours: must be from 0 to {scene.n_vertices - 1}")
    return colours


def _describe(value):
    """Return a solver as nested JSON: {"type": name, option: value}."""
    if dataclasses.is_dataclass(value):
        # a field unknown to earlier versions is written only if it differs from its default
        known = [field for field in dataclasses.fields(value) if not field.metadata or getattr(value, field.name) != _absent(field)]
        fields = {_stored(field): _describe(getattr(value, field.name)) for field in known}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, barrier_contact.PairTable):
        return {"pairs": [[*pair, number] for pair, number in value.items()]}
    if isinstance(value, tuple) and any(map(dataclasses.is_dataclass, value)):
        return [_describe(part) for part in value]
    return value


def _absent(field):
    """Return the value of a field that is absent in a file."""
    return field.metadata.get("absent", field.default)


def _stored(field):
    """Return the name of a field in a file."""
    return field.metadata.get("stored", field.name)


def _solver(value):
    if isinstance(value, dict) and "pairs" in value:
        return {(str(first), str(second)): number for first, second, number in value["pairs"]}
    if isinstance(value, dict):
        options = {name: _solver(option) for name, option in value.items() if name != "type"}
        for module in DESCRIBED:
            kind = getattr(module, value["type"], None) if value["type"] in module.__all__ else None
            if isinstance(kind, type) and dataclasses.is_dataclass(kind):
                names = {_stored(field): field.name for field in dataclasses.fields(kind)}
                absent = {field.name: _absent(field) for field in dataclasses.fields(kind) if "absent" in field.metadata}
                return kind(**absent | {names.get(name, name): option for name, option in options.items()})
        raise ValueError(f"solver: {value['type']!r} is unknown")
    if isinstance(value, list) and any(isinstance(part, dict) for part in value):
        return [_solver(part) for part in value]
    return value
