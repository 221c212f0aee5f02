"""A run of the tests that goes on where one before it was cut off."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import os, pathlib, pytest

@pytest.mark.parametrize("text", ["a b", "c"])
def test_passes(text): pathlib.Path("entered").open("a").write(text + ";")

def test_is_skipped(): pytest.skip("says why")

def test_fails_at_first(): assert os.environ.get("MENDED")

@pytest.fixture
def broken():
    yield
    assert os.environ.get("MENDED")

def test_cannot_clean_up(broken): pass

def test_is_cut_off():
    if not os.environ.get("MENDED"): raise KeyboardInterrupt
    pathlib.Path("entered").open("a").write("last;")
"""


@pytest.mark.parametrize("options", [pytest.param([], marks=pytest.mark.stress), ["-n", "2"]], ids=["one process", "two processes"])
def test_what_passed_is_not_run_again(options, tmp_path):
    """If not, tests that take longer than a call may take are never all run."""
    if options:
        pytest.importorskip("xdist")
    shutil.copy(Path(__file__).parent / "conftest.py", tmp_path)
    (tmp_path / "test_some.py").write_text(TESTS)

    def run(*more, mended):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue", "passed", *more, "test_some.py"]
        environment = {"MENDED": "1"} if mended else {}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)

    first = run(mended=False)  # processes that share a run hand tests out of their order; only one is cut off at a known place
    assert first.returncode == 2, first.stdout
    passed = (tmp_path / "passed").read_text().splitlines()
    assert passed == ["test_some.py::test_passes[a b]", "test_some.py::test_passes[c]", "test_some.py::test_is_skipped"]

    second = run(*options, mended=True)
    assert second.returncode == 0, second.stdout
    assert "3 tests had passed" in second.stdout
    assert "3 passed" in second.stdout
    assert (tmp_path / "entered").read_text() == "a b;c;last;"
    assert len(set((tmp_path / "passed").read_text().splitlines())) == 6

    third = run(*options, mended=False)
    assert third.returncode == 0, third.stdout
    assert "6 tests had passed" in third.stdout
