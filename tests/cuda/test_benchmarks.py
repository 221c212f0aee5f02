"""The benchmarks of the GPU run through at tiny sizes: a machine with a GPU is there too seldom to look for typing errors on it."""

import csv
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pdgpu.backends import backend

ROOT = Path(__file__).parent.parent.parent
BENCHMARKS = ROOT / "benchmarks"
# stands in for the yardstick program: a microsecond for everything
YARDSTICK = """#!/bin/sh
for measurement; do echo "$measurement,1e-6,1e-6,1e-6"; done
"""


@pytest.fixture(scope="module")
def yardstick(tmp_path_factory):
    path = tmp_path_factory.mktemp("yardstick") / "yardstick"
    path.write_text(YARDSTICK)
    path.chmod(0o755)
    return path


def run(name, *options, yardstick, out):
    environment = {**os.environ, "PDGPU_YARDSTICK": str(yardstick)}
    command = [sys.executable, str(BENCHMARKS / f"{name}.py"), "--tiny", "--out", str(out), *options]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    lines = out.read_text().splitlines()
    rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    assert any("tiny sizes" in line for line in lines if line.startswith("#"))
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "what"),
    [
        ("gpu_vertex_block_descent", [], {"kernel": "1 thread"}),
        ("gpu_vertex_block_descent", ["--large"], {"colours": "8"}),
        ("gpu_projective_dynamics", [], {"what": "Jacobi-Chebyshev"}),
        ("gpu_broad_phase", [], {"method": "lbvh", "device": "cuda", "what": "refit", "dtype": "float64"}),
        ("gpu_broad_phase", [], {"method": "ccd", "device": "cuda", "what": "edge-edge", "dtype": "float32"}),
        ("gpu_a_jacobi", [], {"what": "A-Jacobi 3, composed", "sweeps": "persistent"}),
        ("gpu_linear_solvers", [], {"what": "cuSPARSE product", "dtype": "float32"}),
    ],
)
def test_benchmarks_run(name, options, what, yardstick, tmp_path):
    """If not, the hour with a GPU ends in a traceback."""
    try:
        backend("cuda", "float32")
    except RuntimeError as error:
        pytest.skip(f"the benchmarks of the GPU are not run: {error}")
    rows = run(name, *options, yardstick=yardstick, out=tmp_path / "table.csv")
    assert any(what.items() <= row.items() for row in rows)


def test_a_row_is_kept_when_the_next_one_fails(tmp_path, monkeypatch):
    """If not, minutes with a GPU leave nothing behind because its last benchmark ran out of memory."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    machine = importlib.import_module("machine")

    def rows():
        yield 1, "a"
        yield 2, "b"
        raise MemoryError

    with pytest.raises(MemoryError):
        machine.write_table(tmp_path / "table.csv", ("number", "letter"), rows(), ["a note"])
    assert (tmp_path / "table.csv").read_text().splitlines()[-4:] == ["# a note", "number,letter", "1,a", "2,b"]


@pytest.mark.slow
@pytest.mark.parametrize("more", [["-DYARDSTICK_CUSPARSE"], pytest.param([], marks=pytest.mark.stress)], ids=["cuSPARSE", "without"])
def test_the_yardstick_program_compiles_without_a_warning(more, tmp_path):
    """If not, there is nothing to hold the figures against."""
    nvcc = shutil.which("nvcc")
    if not nvcc:
        pytest.skip("there is no nvcc: the yardstick program is not compiled")
    warnings = ["-Werror", "all-warnings", "-Xcompiler=-Wall,-Wextra"]
    where = ["-I", ROOT / "csrc", BENCHMARKS / "yardstick.cu", "-o", tmp_path / "yardstick.o"]
    # nvcc does not run with a sanitizer that is preloaded for Python
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    command = [nvcc, "-c", "-O1", "-std=c++17", "-arch=sm_90", *warnings, *more, *where]
    result = subprocess.run(command, capture_output=True, text=True, timeout=500, env=environment)
    assert result.returncode == 0, result.stderr
