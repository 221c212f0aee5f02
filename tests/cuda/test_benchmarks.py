"""The benchmarks of the GPU run through at tiny sizes: a machine with a GPU is there too seldom to look for typing errors on it."""

import csv
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import cuda_modules
import pytest

import pdgpu

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


def skip_without_float32():
    """The benchmarks begin with it."""
    if reason := cuda_modules.fault("float32"):
        pytest.skip(f"the benchmarks of the GPU are not run: {reason}")


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "what"),
    [
        ("gpu_vertex_block_descent", [], {"kernel": "1 thread"}),
        ("gpu_vertex_block_descent", ["--threads", "16,4"], {"kernel": "16 threads", "error": ""}),
        ("gpu_vertex_block_descent", ["--large"], {"colours": "8"}),
        ("gpu_vertex_block_descent", ["--beams", "3", "--threads", "4"], {"kernel": "4 threads", "vertices": "1116", "error": ""}),
        ("gpu_projective_dynamics", [], {"what": "Jacobi-Chebyshev"}),
        ("gpu_projective_dynamics", ["--no-cpu"], {"what": "a further sweep", "vertices": "float64", "tets": ""}),
        ("gpu_frames", ["--seconds", "60", "--limit", "60"], {"what": "A-Jacobi 2, K = 3", "vertices": "36", "error": ""}),
        ("gpu_broad_phase", [], {"method": "lbvh", "device": "cuda", "what": "refit", "dtype": "float64"}),
        ("gpu_broad_phase", [], {"method": "ccd", "device": "cuda", "what": "edge-edge", "dtype": "float32"}),
        ("gpu_broad_phase", ["--no-cpu"], {"method": "hash", "device": "cuda", "what": "build", "cpu_over_this": "", "error": ""}),
        ("gpu_broad_phase", ["--moving"], {"device": "cuda", "what": "end to end", "distance_in_edges": "0.5", "waits": "2", "error": ""}),
        ("gpu_broad_phase", ["--moving", "--no-cpu"], {"method": "patches", "what": "all impacts", "cpu_over_this": "", "error": ""}),
        ("gpu_contact_step", [], {"solver": "PD, A-Jacobi", "contact": "projective", "vertices": "150", "error": ""}),
        ("gpu_graphs", [], {"solver": "vbd", "dtype": "float64", "launches": "2", "waits": "2", "loops": "same", "again": "same"}),
        ("gpu_a_jacobi", [], {"what": "A-Jacobi 3, composed", "sweeps": "persistent"}),
        ("gpu_linear_solvers", [], {"what": "cuSPARSE product", "dtype": "float32"}),
        ("gpu_linear_solvers", ["--tets", "400"], {"what": "Gauss-Seidel", "unknowns": "1275", "error": ""}),
        ("gpu_linear_solvers", ["--tets", "400"], {"what": "cuSPARSE Jacobi", "unknowns": "1275", "us": "1.00"}),
    ],
)
def test_benchmarks_run(name, options, what, yardstick, tmp_path):
    """If not, the hour with a GPU ends in a traceback."""
    skip_without_float32()
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


@pytest.mark.gpu
@pytest.mark.slow
def test_a_capture_that_is_refused_is_an_error(on_host, tmp_path, monkeypatch):
    """If not, a table says that graphs work where every iteration runs as loops."""
    if not on_host:
        pytest.skip("only the stand-in can refuse a capture")
    skip_without_float32()
    monkeypatch.setenv("PD_ON_HOST_FAILS", "cudaStreamEndCapture 901")
    command = [sys.executable, str(BENCHMARKS / "gpu_graphs.py"), "--tiny", "--out", str(tmp_path / "table.csv")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    rows = list(csv.DictReader(line for line in (tmp_path / "table.csv").read_text().splitlines() if not line.startswith("#")))
    figures, errors = rows[::2], rows[1::2]  # of each case
    assert result.returncode == 1 and f"{len(errors)} of {len(figures)} cases failed" in result.stderr, result.stderr
    assert all(row["captures"] == row["launches"] == "0" and row["loops"] == row["again"] == "same" for row in figures)
    assert all("0 of 2 chunks of the last step" in row["error"] for row in errors)


FAILING = """
import sys, time, types
import device

device.works = lambda name: False
chosen = types.SimpleNamespace(device="cuda", limit=2.0, out=sys.argv[1])

def fails():
    yield 2, "b"
    raise MemoryError("no room,\\nfor this")

cases = [((1,), lambda: [(1, "a")]), ((3,), fails), ((4,), lambda: time.sleep(100)), ((5,), lambda: [(5,)])]
device.write_cases(chosen, ("number", "letter"), cases, ["a note"])
"""


def test_a_case_that_fails_or_hangs_does_not_end_the_others(tmp_path):
    """If not, an illegal address or a deadlock of one kernel costs the figures of all after it."""
    script, out = tmp_path / "script.py", tmp_path / "table.csv"
    script.write_text(FAILING)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(BENCHMARKS), *sys.path])}
    result = subprocess.run([sys.executable, str(script), str(out)], env=environment, capture_output=True, text=True, timeout=100)
    assert result.returncode == 1 and "2 of 4 cases failed" in result.stderr, result.stderr
    rows = list(csv.reader(line for line in out.read_text().splitlines() if not line.startswith("#")))
    assert rows == [
        ["number", "letter", "error"],
        ["1", "a", ""],
        ["2", "b", ""],
        ["3", "", "MemoryError: no room, for this"],
        ["4", "", "no result within 2.0 s"],
        ["5", "", ""],
    ]


def test_repetitions_end_early_once_the_time_is_over(monkeypatch):
    """If not, a benchmark on a leased GPU is stopped before its last rows."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    device = importlib.import_module("device")
    samples = []
    for until, expected in ((float("inf"), device.REPETITIONS), (0.0, device.LEAST_REPETITIONS)):
        samples.clear()
        monkeypatch.setattr(device, "_until", until)
        found = device.medians({"": lambda: samples.append(0) or float(len(samples))})
        assert len(samples) == expected + 1
        assert found[""][1:] == (2.0, expected + 1.0)  # without the cold one


def test_the_matrix_of_cells_is_that_of_the_global_step(monkeypatch):
    """If not, percentages of the copy bandwidth belong to a matrix that no simulation has."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    solvers = importlib.import_module("gpu_linear_solvers")
    mesh = pdgpu.shapes.beam((4.0, 1.0, 1.0), cells=solvers.beam_cells(500))
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(mesh.points @ solvers.SHEAR, tets=mesh.tets), pdgpu.ARAP(solvers.STIFFNESS), density=solvers.DENSITY)
    solver = pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(weight=0.5))
    expected = pdgpu.Simulation(scene, solver, dt=solvers.STEP).system_matrix(free=True)
    found = solvers.tet_matrix(500)
    assert found.nnz == expected.nnz and found.has_sorted_indices
    assert abs(found - expected).max() < 1e-12 * abs(expected).max()


@pytest.mark.stress
@pytest.mark.parametrize("more", [["-DYARDSTICK_CUSPARSE"], []], ids=["cuSPARSE", "without"])
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
