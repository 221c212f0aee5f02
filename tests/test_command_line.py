"""The commands a user types."""

import csv
import importlib.metadata
import os
import platform
import re
import subprocess
import sys

import numpy as np
import pytest

import pdgpu
from pdgpu.command_line import SOLVERS, _parser, main, stretched_scene


@pytest.fixture
def mesh(tmp_path):
    path = tmp_path / "bar.vtu"
    pdgpu.shapes.beam((0.2, 1.0, 0.2), cells=(2, 8, 2)).write(path)
    return str(path)


def test_compare_writes_what_it_promises(mesh, tmp_path, capsys):
    """If not, `make demo` ends without its picture."""
    out = tmp_path / "results"
    assert main(["compare", mesh, "--all", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert all(title in printed for title, _ in SOLVERS.values())
    assert {path.name for path in out.iterdir()} == {"convergence.csv", "convergence.png", "scene.png"}
    with open(out / "convergence.csv") as file:
        rows = list(csv.DictReader(file))
    assert {row["solver"] for row in rows} == {title for title, _ in SOLVERS.values()}
    assert all(float(row["relative_loss"]) == 1.0 for row in rows if row["iteration"] == "0")
    best = {title: min(float(row["relative_loss"]) for row in rows if row["solver"] == title) for title, _ in SOLVERS.values()}
    assert best["Newton"] < 1e-10 and best["PD direct"] < 1e-2


def test_compare_shows_eight_solvers_by_default():
    """If not, `make demo` takes longer than anyone waits for a first look."""
    chosen = _parser().parse_args(["compare"]).solvers
    assert len(chosen) == 8 and set(chosen) <= set(SOLVERS)
    assert _parser().parse_args(["compare", "--all"]).solvers == tuple(SOLVERS)
    with pytest.raises(SystemExit):
        _parser().parse_args(["compare", "--all", "--solvers", "pd"])


def test_the_version_is_told_and_shells_are_as_light_as_cloth(capsys):
    """If not, a report cannot say what it was made with, and a sheet weighs a tonne."""
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"pdgpu {pdgpu.__version__}\n"
    sheet, block = pdgpu.shapes.grid((1.0, 1.0), cells=(2, 2)), pdgpu.shapes.beam((1.0, 1.0, 1.0), cells=(1, 1, 1))
    for mesh, density, mass in ((sheet, None, 0.2), (block, None, 1000.0), (sheet, 3.0, 3.0)):
        assert stretched_scene(mesh, 1e3, density, 1.5)[0].masses().sum() == pytest.approx(mass)


def test_compare_takes_shells_and_a_choice_of_solvers(tmp_path, capsys):
    """If not, a triangle mesh cannot be compared at all."""
    path = tmp_path / "sheet.obj"
    pdgpu.shapes.grid((1.0, 1.0), cells=(6, 6)).write(path)
    arguments = [
        "compare",
        str(path),
        "--solvers",
        "pd",
        "newton",
        "--young",
        "100",
        "--density",
        "0.2",
        "--dtype",
        "float32",
        "--out",
        str(tmp_path),
    ]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "Newton" in printed and "Jacobi" not in printed


def test_simulate_writes_a_sequence_for_paraview(mesh, tmp_path, capsys):
    """If not, a simulation cannot be looked at."""
    out = tmp_path / "frames"
    assert main(["simulate", mesh, "--steps", "5", "--out", str(out)]) == 0, capsys.readouterr().err
    import xml.etree.ElementTree as xml

    sets = xml.parse(out / "animation.pvd").getroot().findall(".//DataSet")
    assert len(sets) == 6 and float(sets[-1].get("timestep")) == pytest.approx(5 / 30)
    first, last = (pdgpu.read_mesh(out / entry.get("file")) for entry in (sets[0], sets[-1]))
    assert first.points.shape == last.points.shape and np.abs(first.points - last.points).max() > 1e-3


def test_info_says_what_this_is(capsys):
    """If not, a report of a fault lacks what it needs most."""
    assert main(["info"]) == 0
    printed = capsys.readouterr().out
    for word in (pdgpu.__version__, "_cpu_f64: cpu", "_cuda_f64", "direct solver", "threads"):
        assert word in printed
    lines = dict(line.split(": ", 1) for line in printed.splitlines() if ": " in line)
    assert re.fullmatch(r"[0-9a-f]{12,40}(-changed)?|unknown", lines["commit"])
    assert lines["licence of this build"].startswith("GPL-2.0-or-later" if pdgpu._host.HAS_CHOLMOD else "Apache-2.0")
    assert platform.machine() in lines["system"] and lines["processor"].endswith("logical cores")
    assert f"Python {platform.python_version()}, numpy {np.__version__}, scipy " in printed
    cuda = next(line for line in printed.splitlines() if line.startswith("_cuda_f64: "))
    # where it was built: which runtime, and the GPU or why none can be used
    assert "not available" in cuda or ("CUDA runtime" in cuda and ("no " in cuda or "driver for CUDA" in cuda))
    assert pdgpu.__version__ == importlib.metadata.version("pdgpu")


def test_a_reader_who_has_seen_enough_is_no_error():
    """If not, `python -m pdgpu info | head -3` ends with an error that says nothing of the installation."""
    reads, writes = os.pipe()
    os.close(reads)
    result = subprocess.run([sys.executable, "-m", "pdgpu", "info"], stdout=writes, stderr=subprocess.PIPE, text=True, timeout=300)
    os.close(writes)
    assert result.stderr == "" and result.returncode == 141


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["compare", "nowhere.msh"], "nowhere.msh"),
        (["compare", "--threads", "9999"], "threads"),
        (["simulate", "nowhere.msh"], "nowhere.msh"),
    ],
)
def test_faults_of_the_input_are_one_line(arguments, text, capsys, tmp_path):
    """If not, a typing mistake gets a traceback."""
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("pdgpu: error:") and text in error and error.count("\n") == 1


def ended(arguments, tmp_path, **options):
    """How a command ended: its exit code and the lines of its standard error."""
    command = [sys.executable, "-m", "pdgpu", *arguments]
    result = subprocess.run(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, timeout=300, **{"stdout": subprocess.DEVNULL} | options
    )
    return result.returncode, result.stderr.splitlines()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["compare", "--dt", "x"], "argument --dt: expected a number greater than 0, got 'x'"),
        (["compare", "--stretch", "nan"], "argument --stretch: expected a number greater than 0, got 'nan'"),
        (["simulate", "--steps", "1e3"], "argument --steps: expected a whole number, at least 1, got '1e3'"),
        (["compare", "--threads", "two"], "argument --threads: expected a whole number, at least 0, got 'two'"),
        (["compare", "--solvers", "newt"], "argument --solvers: invalid choice"),
    ],
)
def test_a_wrong_option_is_one_line(arguments, text, capsys):
    """If not, the names of functions of the program are what a user reads."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    error = capsys.readouterr().err
    assert ended.value.code == 2 and error.startswith("pdgpu: error:") and text in error and error.count("\n") == 1


def test_pictures_are_checked_before_the_work(mesh, tmp_path):
    """If not, a comparison of an hour ends without its picture."""
    code, lines = ended(["compare", mesh], tmp_path, env={**os.environ, "MPLBACKEND": "nonsense"})
    assert code == 2 and len(lines) == 1 and lines[0].startswith("pdgpu: error: MPLBACKEND=nonsense: matplotlib cannot be imported")


def test_the_folder_of_the_results_is_made_before_the_work(mesh, tmp_path):
    """If not, results are computed and cannot be written."""
    (tmp_path / "taken").write_text("")
    for command in ("compare", "simulate"):
        code, lines = ended([command, mesh, "--out", "taken"], tmp_path)
        assert code == 2 and len(lines) == 1 and "taken" in lines[0]


def test_an_output_that_takes_nothing_is_one_line(tmp_path):
    """If not, a full disk ends in a traceback."""
    with open("/dev/full", "w") as full:
        code, lines = ended(["info"], tmp_path, stdout=full)
    assert code == 2 and len(lines) == 1 and "No space left" in lines[0]
    closed = subprocess.run(
        ["/bin/sh", "-c", '"$0" -m pdgpu info >&-', sys.executable], stderr=subprocess.PIPE, text=True, timeout=300, cwd=tmp_path
    )
    assert closed.returncode == 2 and closed.stderr == "pdgpu: error: standard output is closed, and the results are printed there\n"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_comparison_in_which_all_diverge_says_so(mesh, tmp_path, capsys):
    """If not, pictures without a curve are taken for results."""
    arguments = ["compare", mesh, "--solvers", "gradient-descent", "pbd", "--stretch", "1e200", "--out", str(tmp_path / "out")]
    assert main(arguments) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "pdgpu: error: every solver diverged; try a smaller --dt or --stretch"
