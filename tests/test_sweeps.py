"""Parameter sweeps: what they hold, and that they go on where they were stopped."""

import concurrent.futures
import csv
import functools
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scenes

import pdgpu

SCRIPT = Path(__file__).parent / "sweep_case.py"


def lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def table(path):
    with open(path, newline="") as file:
        return [{name: cell for name, cell in row.items() if name != "case_seconds"} for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The table of the sweep that is not killed."""
    folder = tmp_path_factory.mktemp("whole")
    subprocess.run([sys.executable, SCRIPT, folder / "whole", folder / "whole.csv"], check=True, timeout=100)
    return table(folder / "whole.csv")


def launch(pool):
    """How the sweep of the script is started, and what comes after its arguments."""
    if pool == "processes":
        return [sys.executable], [], None
    pytest.importorskip("mpi4py")
    if shutil.which("mpiexec") is None:
        pytest.skip("no mpiexec")
    # as many workers as are asked for, whatever the machine, and whoever runs the tests
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    return ["mpiexec", "-n", "3", sys.executable, "-m", "mpi4py.futures"], ["mpi"], {**os.environ, **allowed}


@pytest.mark.parametrize("pool", ["processes", "mpi"])
def test_a_sweep_that_is_killed_ends_with_the_same_table(pool, whole, tmp_path):
    """If not, a night of computing is lost to a crash, or comes back as other numbers."""
    before, after, environment = launch(pool)
    path = tmp_path / "killed"
    process = subprocess.Popen([*before, SCRIPT, path, tmp_path / "never.csv", *after], start_new_session=True, env=environment)
    deadline = time.monotonic() + 60.0
    while lines(path) < 100 and time.monotonic() < deadline:
        time.sleep(0.001)
    if pool == "mpi":
        os.kill(int(Path(f"{path}.pid").read_text()), signal.SIGKILL)
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = lines(path)
    assert 100 <= done < 200 and not (tmp_path / "never.csv").exists()
    with open(path, "ab") as file:
        file.write(b'{"case": {"n": 4, "wei')  # what a kill in the middle of a line leaves
    subprocess.run([*before, SCRIPT, path, tmp_path / "resumed.csv", *after], check=True, timeout=100, env=environment)
    assert lines(path) == 201  # the heading, and no case twice
    rows = table(tmp_path / "resumed.csv")
    assert rows == whole and len(rows) == 200
    assert sum(row["case_status"] == "failed" for row in rows) == 4
    assert {row["error"] for row in rows if row["case_status"] == "failed"} == {f"RuntimeError: no luck with {n}" for n in (4, 6, 8, 10)}


def test_what_is_done_is_not_done_again(tmp_path):
    """If not, resuming costs as much as starting."""
    asked = []

    def f(a, b):
        asked.append((a, b))
        if b == "y":
            raise ValueError("not y")
        return {"sum": a + 0.5}

    path = tmp_path / "s"
    first = pdgpu.sweep(f, {"a": [1, 2], "b": ["x", "y"]}, path)
    assert len(asked) == 4 and [row["case_status"] for row in first] == ["done", "failed"] * 2
    again = pdgpu.sweep(f, {"a": [0, 1, 2], "b": ["x", "y"]}, path)  # grown, and at the front
    assert asked[4:] == [(0, "x"), (0, "y")] and list(again)[2:] == list(first)
    pdgpu.sweep(f, {"a": [1], "b": ["x", "y"]}, path, retry_failed=True)
    assert asked[6:] == [(1, "y")]
    assert first.columns == ("a", "b", "sum", "case_status", "error", "case_seconds")
    assert first[0]["sum"] == 1.5 and len(first.failures) == 2 and first[1]["error"] == "ValueError: not y"
    assert "2 failed" in repr(first) and "not y" in repr(first)


def solvers_at(dt, scene):
    solvers = {"PD": pdgpu.ProjectiveDynamics(iterations=8), "VBD": pdgpu.VertexBlockDescent(iterations=8)}
    return pdgpu.compare(scene, solvers, dt=dt, threads=1)


def hanging(young):
    mesh = pdgpu.shapes.beam((1.0, 0.4, 0.4), cells=(4, 1, 1))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP.from_young(young, 0.3), density=1000.0).pin(mesh.points[:, 0] == 0.0)
    return scene


def test_a_sweep_of_comparisons_is_a_tidy_table():
    """If not, the numbers of a study are collected by hand."""
    pandas = pytest.importorskip("pandas")
    grid = {"dt": [1 / 30, 1 / 60], "scene": {"soft": hanging(1e5), "stiff": hanging(1e7)}}
    swept = pdgpu.sweep(solvers_at, grid)
    frame = swept.to_dataframe()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 8 and set(frame.scene) == {"soft", "stiff"}
    row = frame[(frame["dt"] == 1 / 60) & (frame.scene == "soft") & (frame.solver == "VBD")].iloc[0]
    alone = solvers_at(1 / 60, grid["scene"]["soft"])["VBD"]
    assert (
        row.relative_error == alone["relative_error"][-1]
        and np.array_equal(row.rate, alone.rate().value, equal_nan=True)
        and row.iterations == 8
    )
    bound = functools.partial(pdgpu.compare, grid["scene"]["soft"], reference=None, threads=1)
    rows = pdgpu.sweep(bound, {"dt": [0.02], "solvers": {"Newton": {"N": pdgpu.Newton(iterations=3)}}})
    assert [row["solver"] for row in rows] == ["N"] and rows[0]["solvers"] == "Newton"


def linear(n):
    return pdgpu.linear.solve(np.diag(np.arange(1.0, n + 1)), np.ones(n), pdgpu.PCG(iterations=n), threads=1)


@pytest.mark.parametrize("pool", [concurrent.futures.ThreadPoolExecutor])
def test_executors_give_what_no_executor_gives(pool):
    """If not, where a sweep runs decides the result."""
    grid = {"n": [9, 3, 5, 7]}
    with pool(2) as executor:
        there = pdgpu.sweep(linear, grid, executor=executor)
    own = ("case_seconds", "seconds", "setup_seconds")
    here = pdgpu.sweep(linear, grid)
    assert [{k: v for k, v in row.items() if k not in own} for row in there] == [
        {k: v for k, v in row.items() if k not in own} for row in here
    ]
    assert [row["n"] for row in there] == [9, 3, 5, 7] and all(row["status"] for row in there)


BROKEN = """
import concurrent.futures, os
import pdgpu

def die(n):
    os._exit(1)

for name, function, grid in (("s", die, [1, 2, 3]), ("t", lambda n: {}, [1])):
    with concurrent.futures.ProcessPoolExecutor(1) as executor:
        try:
            pdgpu.sweep(function, {"n": grid}, name, executor=executor)
        except (RuntimeError, TypeError) as error:
            print(type(error).__name__, error)
"""


def test_a_broken_executor_is_named_and_not_a_result(tmp_path):
    """If not, cases that never ran stand in the table as failures, and are not tried again."""
    # not in this process: a child that dies by itself has ended the process of the tests as well, without a trace
    command = [sys.executable, "-c", BROKEN]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert result.returncode == 0, result.stderr
    broken, refused = result.stdout.splitlines()
    assert re.match(r"RuntimeError executor: it broke, \d cases? (is|are) left", broken), broken
    assert lines(tmp_path / "s") == 1
    assert refused.startswith("TypeError executor: ") and "cannot be sent to it" in refused


@pytest.mark.parametrize(
    ("grid", "error", "said"),
    [
        ({}, TypeError, "grid: expected a dict"),
        ([1], TypeError, "grid: expected a dict"),
        ({1: [2]}, TypeError, "names as keys"),
        ({"a": 3}, TypeError, "expected a list of values .* for 'a'"),
        ({"a": "xyz"}, TypeError, "expected a list of values .* for 'a'"),
        ({"a": []}, ValueError, "no values for 'a'"),
        ({"a": [1, 2, 1]}, ValueError, "value 2 of 'a', 1, occurs twice"),
        ({"a": [1, pdgpu.PCG()]}, TypeError, "'a': value 1 has no form in a table"),
        ({"error": [1]}, ValueError, "'error' is a column of the table"),
    ],
)
def test_grids_that_are_none_are_refused(grid, error, said):
    """If not, a sweep starts that cannot be written down."""
    with pytest.raises(error, match=said):
        pdgpu.sweep(dict, grid)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (3, "to be returned, got int"),
        ([], "got list"),
        ({"a": 2}, "the grid says 1"),
        ({"v": [1]}, "'v'.*has no form"),
        ({"error": 1}, "'error'"),
    ],
)
def test_results_that_are_no_rows_are_failures(result, said):
    """If not, what a function returns is dropped without a word."""
    row = pdgpu.sweep(lambda a: result, {"a": [1]})[0]
    assert row["case_status"] == "failed" and re.search(said, row["error"]), row["error"]


def f(a):
    return {"b": a}


def test_files_of_something_else_are_refused(tmp_path):
    """If not, a sweep writes into a file that is not its own, or two write into one."""
    path = tmp_path / "s"
    pdgpu.sweep(f, {"a": [1]}, path)
    with pytest.raises(ValueError, match=r"begins with .*'function': 'f'"):
        pdgpu.sweep(linear, {"a": [1]}, path)
    with pytest.raises(ValueError, match="begins with"):
        pdgpu.sweep(f, {"b": [1]}, path)
    rows = path.read_text().splitlines()
    for text, said in (
        ("{}", "line 2 .* is not a case"),
        ("{", "line 2 .* is damaged"),
        (rows[1].replace("done", "do"), "line 2 .* is not a case"),
    ):
        (tmp_path / "bad").write_text("\n".join([rows[0], text, rows[1], ""]))
        with pytest.raises(ValueError, match=said):
            pdgpu.sweep(f, {"a": [1]}, tmp_path / "bad")
    (tmp_path / "other").write_text("a table of mine")
    with pytest.raises(ValueError, match="not a file of this kind"):
        pdgpu.sweep(f, {"a": [1]}, tmp_path / "other")
    assert (tmp_path / "other").read_text() == "a table of mine"
    with pytest.raises(FileNotFoundError, match="the folder"):
        pdgpu.sweep(f, {"a": [1]}, tmp_path / "no" / "s")

    def again(a):
        code = "import pdgpu, sys; pdgpu.sweep(lambda a: {}, {'a': [1]}, sys.argv[1])"
        found = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
        assert "is being written by another process" in found.stderr
        with pytest.raises(RuntimeError, match="another sweep of this process"):
            pdgpu.sweep(f, {"a": [1]}, path)
        return {}

    again.__qualname__ = "f"
    assert pdgpu.sweep(again, {"a": [2]}, path)[0]["error"] is None
    assert json.loads(path.read_text().splitlines()[0])["names"] == ["a"]


@pytest.mark.parametrize("name", scenes.LINEAR_SOLVERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_systems_and_results_are_pickled_with_their_bits(name, dtype):
    """If not, a solve cannot go to another process, or answers otherwise there."""
    n = 30
    A = 1e-9 * (np.diag(np.full(n, 2.3)) - np.eye(n, k=1) - np.eye(n, k=-1))
    system = pdgpu.linear.System(A, scenes.LINEAR_SOLVERS[name], bending=None, dtype=dtype)
    system.add_diagonal(np.linspace(0.0, 1e-10, n))
    b = np.random.default_rng(1).normal(size=n)
    result = system.solve(b)
    copy = pickle.loads(pickle.dumps(system))
    assert np.array_equal(copy.solve(b).x, result.x) and copy.parameters == system.parameters
    again = pickle.loads(pickle.dumps(result))
    assert np.array_equal(again.x, result.x) and np.array_equal(again.rate, result.rate, equal_nan=True) and repr(again) == repr(result)
    np.testing.assert_equal(again.predicted_rate, result.predicted_rate)  # NaN with Anderson acceleration


def test_a_rho_that_was_searched_for_is_kept():
    """If not, a copy of a system searches again, from another right-hand side, and finds something else."""
    A = np.diag(np.full(40, 2.1)) - np.eye(40, k=1) - np.eye(40, k=-1)
    system = pdgpu.linear.System(A, pdgpu.Jacobi(iterations=60, chebyshev=pdgpu.Chebyshev(rho="auto")))
    system.solve(np.ones(40))
    copy, b = pickle.loads(pickle.dumps(system)), np.arange(40.0)
    assert copy.parameters["rho"] == system.parameters["rho"] > 0.0 and len(copy.trials) == len(system.trials)
    assert np.array_equal(copy.solve(b).x, system.solve(b).x)
