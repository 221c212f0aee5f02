"""What the benchmarks of the GPU share: their options, the clock, and the yardsticks of the same run.

The clock is the device's: events around the iterations of a step (`last_step.device_seconds`), a step of many iterations less one of few,
over the difference, so what a step costs once drops out. Medians of warm runs, the cases in turn.

The yardsticks come from yardstick.cu, which `make gpu` compiles to build/gpu/yardstick; PDGPU_YARDSTICK names another program. Where
there is none, their columns stay empty and the table says so.
"""

import argparse
import contextlib
import functools
import os
import statistics
import subprocess
from pathlib import Path

from pdgpu.backends import DEVICES, backend

PROGRAM = Path(__file__).parent.parent / "build" / "gpu" / "yardstick"
REPETITIONS = 9
COPIED_BYTES = {False: 2**32, True: 2**16}  # far more than any cache holds; tiny


def options(document, **more):
    """The options all of them take; `more` {name: help} adds switches of one's own."""
    parser = argparse.ArgumentParser(description=document.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table, the GPU, the date and the commit")
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs; the figures mean nothing")
    parser.add_argument("--device", choices=DEVICES, default="cuda", help="cpu: to try the script where there is no GPU (cuda)")
    for name, text in more.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    chosen = parser.parse_args()
    try:
        chosen.names = [f"device: {name}" for name in backend(chosen.device, "float32").devices()]
    except RuntimeError as error:
        raise SystemExit(f"nothing is measured: {error}") from None
    if chosen.tiny:
        chosen.names.append("tiny sizes: the figures mean nothing")
    return chosen


# ---- the clock -----------------------------------------------------------------------------------------------------------------


def step_timer(simulations, start):
    """A function of the number of iterations: device seconds of those of a step from `start` at rest; simulations {iterations: one}."""
    import numpy as np

    rest = np.zeros_like(start)

    def seconds(iterations):
        simulation = simulations[iterations]
        simulation.set_state(positions=start, velocities=rest)
        simulation.step()
        return simulation.last_step.device_seconds

    return seconds


def seconds_per_iteration(cases, tiny=False):
    """{name: (median, least, greatest)} from {name: (few, many, seconds)}, seconds(iterations) a function; the cases take turns."""

    def timer(few, many, seconds):
        def sample():
            short = seconds(few)
            return (seconds(many) - short) / (many - few)

        return sample

    return medians({name: timer(*case) for name, case in cases.items()}, tiny)


def sweeps_timer(A, b, solver, device, dtype, way=None):
    """Seconds of one iteration of a linear solver: its own clock over all that the solver runs, with one look at the end.

    way: "persistent" or "launches" for the sweeps of Jacobi and A-Jacobi on CUDA, None: as pdgpu chooses.
    """
    import numpy as np

    import pdgpu

    with environment(PDGPU_JACOBI=way):
        system = pdgpu.linear.System(A, solver, columns=b.shape[1], dtype=dtype, device=device)
    residual = np.ascontiguousarray(b, dtype=dtype)

    def seconds():
        found = system._core.solve(residual, None, None, None, solver.iterations, False)
        return found["seconds"] / found["iterations"]

    return seconds


def medians(timers, tiny=False):
    """{name: (median, least, greatest)} from {name: function that returns seconds}; the timers take turns."""
    samples = {name: [] for name in timers}
    for repetition in range(1 if tiny else REPETITIONS + 1):
        for name, timer in timers.items():
            sample = timer()
            if repetition or tiny:  # the first is cold
                samples[name].append(sample)
    return {name: (statistics.median(values), min(values), max(values)) for name, values in samples.items()}


@contextlib.contextmanager
def environment(**variables):
    """Variables of the environment set, or with None removed, for a while."""
    before = {name: os.environ.get(name) for name in variables}

    def put(values):
        for name, value in values.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

    put(variables)
    try:
        yield
    finally:
        put(before)


def microseconds(value):
    return "" if value is None else f"{1e6 * value:.2f}"


def ratio(numerator, denominator):
    """Empty where there is no figure, or none that means anything."""
    return "" if not numerator or not denominator or numerator < 0 or denominator < 0 else f"{numerator / denominator:.2f}"


# ---- the yardsticks ------------------------------------------------------------------------------------------------------------


@functools.cache
def _program():
    path = Path(os.environ.get("PDGPU_YARDSTICK", PROGRAM))
    if path.exists():
        return path
    print(f"no yardsticks: there is no {path}; `make gpu PARTS=build` compiles it")
    return None


def yardstick(*measurements):
    """{measurement: seconds, or None where it was not measured}; measurements as the head of yardstick.cu lists them."""
    program, found = _program(), dict.fromkeys(measurements)
    if not program:
        return found
    for measurement in measurements:  # one process each: a failing one costs only itself
        result = subprocess.run([program, measurement], capture_output=True, text=True)
        fields = result.stdout.strip().removeprefix(measurement).split(",")
        if result.returncode or len(fields) != 4:
            print(f"no yardstick {measurement}: {(result.stderr or result.stdout).strip().removeprefix(measurement)}")
        else:
            found[measurement] = float(fields[1])
    return found


def copy_bandwidth(tiny=False):
    """Bytes per second, those read and those written, of a copy inside the device; None where it was not measured."""
    count = COPIED_BYTES[tiny]
    seconds = yardstick(f"copy:{count}")[f"copy:{count}"]
    return 2 * count / seconds if seconds else None


def write_matrix(path, A):
    """A scipy CSR matrix as yardstick.cu reads it."""
    import numpy as np

    A = A.tocsr()
    with open(path, "wb") as file:
        np.array([A.shape[0], A.nnz], dtype=np.int64).tofile(file)
        A.indptr.astype(np.int32).tofile(file)
        A.indices.astype(np.int32).tofile(file)
        A.data.astype(np.float64).tofile(file)
