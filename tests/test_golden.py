"""Ten steps of every solver on small scenes: the bits of today, or those of the file beside this test.

golden.csv has a row for each run: a hash of positions, velocities and recorded numbers, a few of these numbers in plain sight, and how
much they may differ, which is a hundred times what a nudge of the start by its rounding, up or down, changes. Bits are compared where the
build rounds every operation by itself (`make golden`, the preset of that name) and the machine is one that the file holds for; numbers
everywhere. A change that moves no arithmetic leaves the file as it is. One that does writes it again, `make golden WRITE=1`, and says why.
"""

import csv
import hashlib
import importlib.util
import multiprocessing
import os
import platform
import re
import shutil
import subprocess
import warnings
from pathlib import Path

import golden_cases
import numpy as np
import pytest

from pdgpu._internal.backends import backend

FILE = Path(__file__).parent / "golden.csv"
EXACT = "PDGPU_GOLDEN" in os.environ  # in a build of the preset "golden"
RUNS = [(scene, device, dtype) for scene in golden_cases.SCENES for device in ("cpu", "cuda") for dtype in ("float32", "float64")]
COLUMNS = ("scene", "solver", "device", "dtype", "hash", "positions", "velocities", "potential", "gradient_norm", "tolerance")
DIGITS = {"float32": 6, "float64": 12}
LEFT_OUT = "left out"


def machine():
    """What bits depend on beside the source: the compiler, the C library's functions, and the kernels that BLAS chooses."""
    compiler = backend("cpu", "float64").versions().strip()
    blas = f"BLAS for {os.environ.get('OPENBLAS_CORETYPE', 'any processor')}"
    return ", ".join((platform.machine(), compiler, " ".join(platform.libc_ver()), blas))


def recorded(sim):
    """The numbers of the last step's record that are no times."""
    return np.stack([sim.last_step[name] for name in ("incremental_potential", "gradient_norm", "step_norm")])


def digest(sim):
    value = hashlib.sha256()
    for array in (sim.positions, sim.velocities, recorded(sim)):
        value.update(np.ascontiguousarray(array).tobytes())
    return value.hexdigest()[:16]


def in_plain_sight(sim):
    """Four numbers in which every position and velocity has a part."""
    x, v = sim.positions.astype(np.float64), sim.velocities.astype(np.float64)
    weights = np.cos(np.arange(x.size)).reshape(x.shape)
    potential, gradient_norm, _ = recorded(sim)[:, -1]
    return np.array([(weights * x).sum() / len(x), (weights * v).sum() / len(x), potential, gradient_norm])


def attempt(scene, solver, device, dtype, threads=1, nudge=0.0):
    """(hash, numbers) of a run, or (the name of what it raised, None), or (LEFT_OUT, None) where the build has no direct solver."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            sim = golden_cases.run(scene, solver, device, dtype, threads, nudge)
        except (TypeError, ValueError, RuntimeError) as error:
            return LEFT_OUT if "PDGPU_CHOLMOD=OFF" in str(error) else type(error).__name__, None
        return digest(sim), in_plain_sight(sim)


def stored():
    """{(scene, solver, device, dtype): row} and what the first line says of the machine."""
    with open(FILE, newline="") as file:
        head = file.readline().removeprefix("# ").strip()
        return {tuple(row[name] for name in COLUMNS[:4]): row for row in csv.DictReader(file)}, head


def allowed(numbers, scene, solver, device, dtype):
    """How much each number may differ: a hundred times what the rounding of the start does to it, up or down, whichever is more: one
    nudge alone may do next to nothing by accident."""
    eps = float(np.finfo(dtype).eps)
    most = 0.0
    for nudge in (eps, -eps):
        _, nudged = attempt(scene, solver, device, dtype, nudge=nudge)
        if nudged is None:
            return np.inf
        most = max(most, float(np.max(100.0 * (np.abs(nudged - numbers) / scale_of(numbers) + eps))))
    return most


def scale_of(numbers):
    """Relative to the number itself, but no less than one: m, m/s, J and N of these scenes."""
    return np.maximum(np.abs(numbers), 1.0)


def device_or_skip(device, dtype):
    try:
        backend(device, dtype)
    except RuntimeError as error:
        pytest.skip(f"{device} is not compared: {error}")


exact_only = pytest.mark.skipif(not EXACT, reason="bits are compared in a build that rounds every operation by itself: make golden")


def stress_unless_exact(run):
    """Numbers of a scene are compared in one precision by `make test`, in turns, and in both by `make golden`, with the bits."""
    scene, device, dtype = run
    other = ("float32", "float64")[list(golden_cases.SCENES).index(scene) % 2]
    return [pytest.mark.stress] if device == "cpu" and dtype == other and not EXACT else []


@exact_only
@pytest.mark.parametrize("module", ["_cpu_f32", "_cpu_f64", "_cuda_f32", "_cuda_f64"])
def test_no_operation_is_fused_with_another(module):
    """If not, the bits of the file are those of one compiler's choice of what to round once."""
    built, objdump = importlib.util.find_spec(f"pdgpu.{module}"), shutil.which("objdump")
    if platform.machine() != "x86_64" or not objdump or not built:
        pytest.skip("the machine code cannot be looked at: another processor, no objdump, or no such module")
    listing = subprocess.run([objdump, "-d", "--no-show-raw-insn", built.origin], capture_output=True, text=True, check=True).stdout
    assert not re.findall(r"\bvfn?m\w+", listing)


@pytest.mark.every
@pytest.mark.parametrize(("scene", "device", "dtype"), [pytest.param(*run, marks=stress_unless_exact(run)) for run in RUNS])
def test_ten_steps_are_what_they_were(scene, device, dtype):
    """If not, a change that was to move code has moved the answers with it."""
    device_or_skip(device, dtype)
    rows, head = stored()
    exact = EXACT and head == machine()
    faults = []
    for solver in golden_cases.SOLVERS:
        row = rows[scene, solver, device, dtype]
        found, numbers = attempt(scene, solver, device, dtype)
        if found == LEFT_OUT:
            continue
        if (numbers is None) != (row["positions"] == "") or (numbers is None and found != row["hash"]):
            faults.append(f"{solver}: {found}, stored {row['hash']}")
        elif numbers is not None and exact and found != row["hash"]:
            faults.append(f"{solver}: bits {found}, stored {row['hash']}")
        elif numbers is not None:
            expected = np.array([float(row[name]) for name in COLUMNS[5:9]])
            away = np.abs(numbers - expected) / scale_of(expected)
            if not np.all(away <= float(row["tolerance"])):
                faults.append(f"{solver}: {numbers} is {away.max():.1e} from {expected}, allowed {row['tolerance']}")
    assert not faults, "\n".join(faults)


@exact_only
@pytest.mark.parametrize(("scene", "dtype"), [(scene, dtype) for scene, device, dtype in RUNS if device == "cpu"])
def test_the_bits_are_those_of_any_number_of_threads(scene, dtype):
    """If not, a result depends on the machine it was computed on."""
    for solver in golden_cases.SOLVERS:
        one, *others = (attempt(scene, solver, "cpu", dtype, threads)[0] for threads in (1, 2, 3))
        assert others == [one, one], solver


@exact_only
def test_the_file_holds_for_this_machine():
    """If not, no bits are compared here, unnoticed."""
    _, head = stored()
    if head != machine():
        pytest.skip(f"the hashes are those of {head}; here it is {machine()}: only numbers were compared")


def lines_of(run):
    """The lines of the file for (scene, device, dtype). Where the bits are those of the file, its line stays."""
    scene, device, dtype = run
    backend(device, dtype)
    rows, head = stored()
    lines = []
    for solver in golden_cases.SOLVERS:
        before = rows.get((scene, solver, device, dtype))
        found, numbers = attempt(scene, solver, device, dtype)
        if before and head == machine() and before["hash"] == found:
            lines.append(list(before.values()))
            continue
        cells = [""] * 5
        if numbers is not None:
            digits = DIGITS[dtype] + 3
            cells = [*(f"{number:.{digits}g}" for number in numbers), f"{allowed(numbers, scene, solver, device, dtype):.1e}"]
        lines.append([scene, solver, device, dtype, found, *cells])
    print(f"{scene}, {device}, {dtype}", flush=True)
    return lines


def write():
    """Writes the file, by as many processes as JOBS says; scripts/golden calls it."""
    with multiprocessing.get_context("spawn").Pool(int(os.environ.get("JOBS", "2"))) as pool:
        lines = [line for part in pool.imap(lines_of, RUNS) for line in part]
    with open(FILE, "w", newline="") as file:
        file.write(f"# {machine()}\n")
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *lines])


if __name__ == "__main__":
    write()
