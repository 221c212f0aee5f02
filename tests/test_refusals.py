"""What nonsense is told: everything public names what it was given, in words of the guide and not of the inside."""

import enum
import importlib
import inspect
import re
import types
import warnings

import numpy as np
import pytest

import pdgpu

# a name with one underscore before it; two or less letters are indices of formulas
PRIVATE = re.compile(r"(?<!\w)_(?!_)[A-Za-z]\w{2,}")
NONSENSE = [None, "x", np.nan, [[1.0]], object(), np.zeros((2, 2))]
MODULES = [name for name in pdgpu.__all__ if isinstance(getattr(pdgpu, name), types.ModuleType)] + ["plotting"]
# taken apart by pdgpu, which gives them what it made; matplotlib's own arguments
INNER = {"elements_of", "groups_of", "constant", "elements", "kind", "parameters", "rest_shape", "surface", "axes", "drawing", "proximity"}
# classes that only pdgpu makes; numbers with a name
MADE_HERE = (tuple, enum.Enum, Exception, pdgpu.Body, pdgpu.Obstacle, pdgpu.Comparison, pdgpu.Contacts, pdgpu.History, pdgpu.Sweep)
MADE_HERE += (
    pdgpu.StepRecord,
    pdgpu.linear.LinearResult,
    pdgpu.Collider,
    pdgpu.Material,
    pdgpu.contact.ContactPairs,
    pdgpu.surface.SceneSurface,
    pdgpu.RigidState,
)
# of a sequence or a mapping: Python says what is wrong with their arguments
COLLECTION = {"index", "count", "get", "keys", "values", "items"}


def public():
    """Name -> function, class, or method of something of every public class."""
    found = {name: getattr(pdgpu, name) for name in pdgpu.__all__}
    for name in MODULES:
        module = importlib.import_module(f"pdgpu.{name}")
        found |= {f"{name}.{part}": getattr(module, part) for part in getattr(module, "__all__", ())}
    for one in examples():
        for name in dir(one):
            if not name.startswith("_") and callable(value := getattr(one, name, None)):
                found[f"{type(one).__name__}.{name}"] = value
    return {
        name: value
        for name, value in found.items()
        if callable(value) and not {name.split(".")[0], name.split(".")[-1]} & (INNER | COLLECTION)
    }


def examples():
    mesh = pdgpu.shapes.beam((1.0, 0.2, 0.2), cells=(2, 1, 1))
    scene = pdgpu.Scene()
    body = scene.add_solid(mesh, pdgpu.ARAP(1e4), density=1e3)
    body.pin([0, 1, 2])
    floor = scene.add_obstacle(pdgpu.Plane((0.0, -1.0, 0.0), (0.0, 1.0, 0.0)))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=2), contact=pdgpu.BarrierContact(1e-3))
    history = sim.run(0.02)
    comparison = pdgpu.compare(scene, {"n": pdgpu.Newton(iterations=2)}, contact=sim.contact)
    system = pdgpu.linear.System(np.eye(3) * 2.0, pdgpu.PCG())
    yield from (mesh, scene, body, floor, sim, history, comparison, comparison["n"], system, system.solve(np.ones(3)))
    yield from (sim.contacts(1.0), sim.contact_forces(), pdgpu.ARAP(1.0), pdgpu.sweep(dict, {"a": [1]}))
    yield pdgpu.collision.BroadPhase(mesh.points, mesh.surface)
    yield pdgpu.SignedDistanceField.from_mesh(pdgpu.shapes.sphere(1.0, 1), spacing=0.5)


def calls(function, value):
    """Argument lists in which every needed argument is nonsense, and one of the others, in turn, too; and an unknown one."""
    arguments = inspect.signature(function).parameters.values()
    needed = [part.name for part in arguments if part.default is part.empty and part.kind not in (part.VAR_POSITIONAL, part.VAR_KEYWORD)]
    yield dict.fromkeys(needed, value)
    for part in arguments:
        if part.default is not part.empty and part.name not in INNER:
            yield dict.fromkeys([*needed, part.name], value)
    yield {"no_such_argument": value}


def test_nonsense_is_named(tmp_path, monkeypatch):
    """If not, who has made a mistake reads of the inside of pdgpu, or a NumPy error without the argument that it is about."""
    monkeypatch.chdir(tmp_path)
    warnings.simplefilter("ignore")
    wrong, told = [], 0
    for name, function in public().items():
        if isinstance(function, type) and issubclass(function, MADE_HERE):
            continue
        try:
            # or a setting of what was made
            names = [*map(str.lower, inspect.signature(function).parameters), "argument", "solver", "contact"]
        except ValueError:
            continue
        for value in NONSENSE:
            for given in calls(function, value):
                positional = [given.pop(part) for part in list(given) if _by_place(function, part)]
                try:
                    function(*positional, **given)
                except (TypeError, ValueError, FileNotFoundError) as error:
                    told += 1
                    # of a path it is the path that is named
                    if PRIVATE.search(str(error)) or not (
                        any(part in str(error).lower() for part in names)
                        or str(error).startswith("x: ")
                        or str(error).startswith(f"{name}: made by ")
                    ):
                        wrong.append((name, value, str(error)))
                except Exception as error:
                    wrong.append((name, value, f"{type(error).__name__}: {error}"))
    seen = {(name, text): f"{name}({value!r}): {text}" for name, value, text in wrong}
    assert not wrong, "\n".join([*seen.values()][:40])
    assert told > 1000


def _by_place(function, part):
    parameter = inspect.signature(function).parameters.get(part)
    return parameter is not None and parameter.kind is parameter.POSITIONAL_ONLY


@pytest.mark.parametrize("what", ["doc", "signature", "repr"])
def test_nothing_public_speaks_of_the_inside(what):
    """If not, help() and completion show internal names."""
    for name, value in public().items():
        if what == "doc":
            text = inspect.getdoc(value) or ""
        elif what == "signature":
            try:
                text = str(inspect.signature(value))
            except ValueError:
                continue
        else:
            text = repr(value)
        found = PRIVATE.findall(text)
        assert not found, (name, found)
    if what == "repr":
        for one in examples():
            assert not PRIVATE.search(repr(one)), repr(one)
