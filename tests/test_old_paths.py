"""Paths and files of an earlier version, whose modules lay in one folder.

`earlier_version/pickles.xz` is a dict of pickles of that version: simulations with every kind of contact, scenes, meshes, results.
`materials.npz` and `contact.npz` were written by its `Simulation.save`.
"""

import importlib
import io
import lzma
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import pdgpu
from pdgpu._internal.old_paths import EARLIER, PUBLIC

FILES = Path(__file__).parent / "earlier_version"
PICKLES = pickle.loads(lzma.decompress((FILES / "pickles.xz").read_bytes()))


def said_by(code):
    """What Python prints about a line of code in a process of its own."""
    command = [sys.executable, "-W", "error::DeprecationWarning", "-c", code]
    found = subprocess.run(command, capture_output=True, text=True)
    return found.stderr.strip().splitlines()[-1] if found.returncode else found.stdout.strip()


@pytest.mark.parametrize("name", sorted(EARLIER))
def test_earlier_paths_are_the_present_modules(name):
    """If not, a script of the earlier version does not run, or runs with a second copy of a class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        earlier = importlib.import_module(f"pdgpu.{name}")
    present = importlib.import_module(f"pdgpu.{EARLIER[name]}")
    assert earlier is present and present.__spec__.name == f"pdgpu.{EARLIER[name]}"


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_paths_do_not_warn(name):
    """If not, a script that follows the documentation prints warnings."""
    assert said_by(f"import pdgpu.{name}; print(pdgpu.{name}.__name__)") == f"pdgpu.{PUBLIC[name]}"
    assert getattr(pdgpu, name) is importlib.import_module(f"pdgpu.{name}")


@pytest.mark.parametrize(
    "code", ["from pdgpu.bodies import Body", "import pdgpu.bodies", "import importlib; importlib.import_module('pdgpu.bodies')"]
)
def test_earlier_paths_warn(code):
    """If not, the earlier paths can never be removed."""
    assert said_by(code) == "DeprecationWarning: pdgpu.bodies has moved to pdgpu.scene.bodies"


def test_earlier_pickles_load_in_a_process_without_pdgpu():
    """If not, results load only where pdgpu happens to be imported, or print warnings."""
    code = "import lzma, pickle, sys; [pickle.loads(one) for one in pickle.loads(lzma.open(sys.argv[1]).read()).values()]"
    command = [sys.executable, "-W", "error::DeprecationWarning", "-c", code, str(FILES / "pickles.xz")]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("name", sorted(PICKLES))
def test_earlier_pickles_load(name):
    """If not, results that were kept are lost."""
    thing, other = pickle.loads(PICKLES[name]), pickle._Unpickler(io.BytesIO(PICKLES[name])).load()
    assert type(thing) is type(other)
    for each in thing if isinstance(thing, list) else [thing]:
        assert (each if isinstance(each, type) or callable(each) else type(each)).__module__.startswith(("pdgpu.", "builtins"))
    again = pickle.loads(pickle.dumps(thing))
    assert type(again) is type(thing)
    if isinstance(thing, pdgpu.Simulation):
        for sim in (thing, again):
            sim.step()
        assert np.array_equal(thing.positions, again.positions)


@pytest.mark.parametrize("name", ["materials", "contact"])
def test_earlier_files_load(name):
    """If not, a run that was saved cannot go on."""
    sim = pdgpu.Simulation.load(FILES / f"{name}.npz")
    with np.load(FILES / f"{name}.npz") as archive:
        assert archive.files
    before = sim.time
    sim.step()
    assert sim.time > before and np.isfinite(sim.positions).all()


def test_dir_shows_the_public_names():
    """If not, an editor offers names that no documentation has."""
    shown = set(dir(pdgpu))
    assert set(pdgpu.__all__) <= shown
    assert all(name.startswith("__") and name.endswith("__") for name in shown - set(pdgpu.__all__))


def test_other_names_are_not_found():
    """If not, a misspelt import passes."""
    with pytest.raises(ModuleNotFoundError, match=r"pdgpu\.nothing"):
        importlib.import_module("pdgpu.nothing")
