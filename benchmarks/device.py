"""What the benchmarks of the GPU share: their options, the table, the clock, and the yardsticks of the same run.

The clock is the device's: events around the iterations of a step (`last_step.device_seconds`), a step of many iterations less one of few,
over the difference, so what a step costs once drops out. Medians of warm runs, the cases in turn.

The yardsticks come from yardstick.cu, which `make gpu` compiles to build/gpu/yardstick; PDGPU_YARDSTICK names another program. Where
there is none, their columns stay empty and the table says so.
"""

import argparse
import contextlib
import functools
import gc
import json
import os
import statistics
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

from machine import write_table

from pdgpu._internal.backends import DEVICES, backend

PROGRAM = Path(__file__).parent.parent / "build" / "gpu" / "yardstick"
YARDSTICK_SECONDS = 30  # of one measurement; the longest takes a few
REPETITIONS, LEAST_REPETITIONS = 9, 3
MEASURED = "PDGPU_BENCHMARK_MEASURED"  # variable: the rows of the process that this one replaces
_begin, _until = time.time(), float("inf")  # s; from `_until` on, LEAST_REPETITIONS are enough
COPIED_BYTES = {False: 2**32, True: 2**16}  # far more than any cache holds; tiny


def options(document, **more):
    """The options of all of them; `more` {name: help of a switch, or the arguments of `add_argument`} adds further ones."""
    parser = argparse.ArgumentParser(description=document.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table, the GPU, the date and the commit")
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs; the figures mean nothing")
    parser.add_argument("--device", choices=DEVICES, default="cuda", help="cpu: to try the script where there is no GPU (cuda)")
    parser.add_argument("--no-cpu", action="store_true", help="leave out the figures of the CPU")
    text = f"once the script has run for S seconds, repeat measurements {LEAST_REPETITIONS} times instead of {REPETITIONS} (no limit)"
    parser.add_argument("--seconds", type=float, metavar="S", help=text)
    text = "give up a case after S seconds and measure the next one in a new process (no limit)"
    parser.add_argument("--limit", type=float, metavar="S", help=text)
    for name, added in more.items():
        arguments = {"action": "store_true", "help": added} if isinstance(added, str) else added
        parser.add_argument(f"--{name.replace('_', '-')}", **arguments)
    chosen = parser.parse_args()
    _repeat_until(chosen.seconds)
    try:
        chosen.names = [f"device: {name}" for name in backend(chosen.device, "float32").devices()]
    except RuntimeError as error:
        raise SystemExit(f"nothing is measured: {error}") from None
    if chosen.tiny:
        chosen.names.append("tiny sizes: the figures mean nothing")
    return chosen


def _repeat_until(seconds):
    """seconds: since the script began, in whichever process; None: no limit."""
    global _begin, _until
    _begin = json.loads(os.environ.get(MEASURED, "{}")).get("begin", _begin)
    _until = float("inf") if seconds is None else _begin + seconds


def integers(allowed):
    """A type for `add_argument`: integers between commas, each of them in `allowed`."""

    def parse(text):
        values = [int(part) for part in text.split(",")]
        for value in values:
            if value not in allowed:
                raise argparse.ArgumentTypeError(f"expected some of {', '.join(map(str, allowed))} between commas, got {value}")
        return values

    return parse


# ---- the table -----------------------------------------------------------------------------------------------------------------


def write_cases(chosen, header, cases, notes=()):
    """Writes the rows of `cases` to `chosen.out` as they are measured: [(first cells of the row, function that yields rows), ...].

    A case that fails leaves its error in a last column, and the next one is measured. This takes a new process where the device no longer
    works (an illegal address breaks all later calls) or the case exceeded `chosen.limit`. With an error, the exit status is 1 at the end.
    """
    before = json.loads(os.environ.pop(MEASURED, "{}"))
    rows = before.get("rows", [])

    def add(row, error=""):
        rows.append([*map(str, row), *[""] * (len(header) - len(row)), error])
        return rows[-1]

    def replace(number, first, error):
        """Continues with the case after `number` in a new process; the process id stays."""
        if error is not None:
            add(first, error)
        os.environ[MEASURED] = json.dumps({"begin": _begin, "cases": number + 1, "rows": rows})
        sys.stdout.flush()
        os.execv(sys.executable, sys.orig_argv)

    def measured():
        yield from list(rows)
        for number, (first, measure) in enumerate(cases):
            if number < before.get("cases", 0):
                continue
            watch = threading.Timer(chosen.limit or 0.0, replace, [number, first, f"no result within {chosen.limit} s"])
            watch.daemon = True
            if chosen.limit:
                watch.start()
            try:
                for row in measure():
                    yield add(row)
            except Exception as error:
                traceback.print_exc()
                yield add(first, " ".join(f"{type(error).__name__}: {error}".split()))
                if not works(chosen.device):
                    replace(number, first, None)
            finally:
                watch.cancel()
            gc.collect()  # the memory of the device, before the next case

    write_table(chosen.out, (*header, "error"), measured(), notes)
    failed = sum(1 for row in rows if row[-1])
    if failed:
        raise SystemExit(f"{failed} of {len(cases)} cases failed")


def works(device):
    """Whether the device still computes in this process."""
    import numpy as np

    import pdgpu

    one = np.ones((1, 1), dtype=np.float32)
    try:
        pdgpu.linear.solve(one, one[0], pdgpu.Jacobi(weight=1.0, iterations=1), device=device)
    except Exception:
        return False
    return True


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
        if repetition > LEAST_REPETITIONS and time.time() > _until:
            break
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
        try:
            result = subprocess.run([program, measurement], capture_output=True, text=True, timeout=YARDSTICK_SECONDS)
        except subprocess.TimeoutExpired:
            print(f"no yardstick {measurement}: no result within {YARDSTICK_SECONDS} s")
            continue
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
