"""The stubs name what the extension modules hold."""

import ast
import importlib
from pathlib import Path

import pytest

import pdgpu
from pdgpu import _cpu_f64

STUBS = Path(pdgpu.__file__).parent


def declared(body):
    functions = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return functions | {node.target.id for node in body if isinstance(node, ast.AnnAssign)}


def public(names):
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("name", ["_cpu_f64", "_host"])
def test_stubs_name_everything(name):
    """If not, an editor knows nothing of a function, or of one that is gone."""
    module, body = importlib.import_module(f"pdgpu.{name}"), ast.parse((STUBS / f"{name}.pyi").read_text()).body
    assert public(declared(body)) == public(dir(module))
    for node in body:
        if isinstance(node, ast.ClassDef):
            assert public(declared(node.body)) == public(dir(getattr(module, node.name)))


def test_both_precisions_hold_the_same():
    """If not, the stub that serves for all backend modules is wrong for one."""
    assert public(dir(importlib.import_module("pdgpu._cpu_f32"))) == public(dir(_cpu_f64))
