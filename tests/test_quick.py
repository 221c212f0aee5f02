"""The list of `make quick` names tests that are there."""

import ast
from pathlib import Path

import pytest
import quick

ROOT = Path(__file__).parent.parent


def functions_of(file):
    """The names of the functions of a file."""
    return {node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, ast.FunctionDef)}


def collects_all(config):
    """Whether a run has all tests of the files that it collects."""
    named = config.option.keyword or config.option.markexpr or config.option.deselect or any("::" in argument for argument in config.args)
    return not named and not config.getoption("--each-choice")


@pytest.mark.parametrize("subject", quick.QUICK)
def test_every_entry_selects_tests(subject, request):
    """If not, a test that was renamed is no longer part of `make quick`, and nothing says so."""
    collected = {item.nodeid for item in request.session.items}
    without_parameters = {nodeid.split("[")[0] for nodeid in collected}
    for entry in quick.QUICK[subject]:
        file, *test = entry.split("::")
        assert (ROOT / file).is_file(), f"tests/quick.py names {file}, which is not there"
        functions = functions_of(file)
        assert any(name.startswith("test_") for name in functions), f"tests/quick.py names {file}, which has no test"
        assert not test or test[0].split("[")[0] in functions, f"tests/quick.py names {entry}, which is no test"
        if collects_all(request.config) and entry.split("[")[0] in without_parameters:
            assert any(quick.selects(entry, nodeid) for nodeid in collected), f"tests/quick.py names {entry}, which selects no test"


def test_no_entry_is_named_twice():
    """If not, the list says of a test that it belongs to two subjects, and one of them may have no other."""
    named = quick.entries()
    twice = [a for i, a in enumerate(named) for b in named[:i] if a == b or quick.selects(a, b) or quick.selects(b, a)]
    assert not twice


def test_an_entry_selects_itself_and_its_parameters():
    """If not, `make quick` runs a neighbour whose name begins in the same way."""
    assert (
        quick.selects("a.py", "a.py::test[1]")
        and quick.selects("a.py::test", "a.py::test[1]")
        and quick.selects("a.py::test", "a.py::test")
    )
    assert not quick.selects("a.py::test", "a.py::tests") and not quick.selects("a.py::test[1]", "a.py::test[12]")
