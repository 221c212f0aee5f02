"""Calls of a compiled module in which one or two arguments are nonsense, in a process of their own: a crash then has a name.

    python hostile_calls.py MODULE SEED COUNT

Before each call a line says which it is; the last line is "done". A call must raise one of the exceptions a caller may expect, or return;
and no NaN may be taken.
"""

import importlib
import itertools
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import module_calls as right

from pdgpu.errors import DivergenceError

REFUSALS = (TypeError, ValueError, OverflowError, MemoryError)
SCALARS = (None, -1, 99, 2, 3, -(2**31), 2**40, float("nan"), float("inf"), -1.0, 1e308, 5e-324, "nonsense", (), [])
REALS = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e38, 5e-324, 0.0, -1.0)
INTEGERS = (-1, 6, 12, 99, 2**31 - 1, -(2**31))
# a failure of the numbers, not of the call: a matrix that is not positive definite, a build or a solver without that part
ALSO = (RuntimeError,)
WRITTEN = {"Linear.solve": 3, "contact_sum": 11}  # arguments that a call fills or adds to, whatever they held


def hostile_array(rng, array):
    """The array with a few wrong values, or another shape, dtype or layout."""
    choice = rng.integers(10)
    if choice < 6 and array.size:
        wrong = array.copy()
        values = REALS if array.dtype.kind == "f" else INTEGERS
        for _ in range(1 + rng.integers(3) * rng.integers(2)):
            with np.errstate(all="ignore"):
                value = np.array(values[rng.integers(len(values))]).astype(np.float64 if array.dtype.kind == "f" else np.int64)
                wrong.ravel()[rng.integers(array.size)] = value.astype(array.dtype)
        return wrong
    return (array[:0], array[..., :1], array.astype("f2"), np.zeros((2, 2), array.dtype), array.ravel()[:1].copy())[rng.integers(5)]


def hostile(rng, value):
    """Something wrong in place of `value`; within a tuple, list or dict, of one of its entries."""
    if isinstance(value, dict) and rng.integers(8):
        name = sorted(value)[rng.integers(len(value))]
        return value | {name: hostile(rng, value[name])} if rng.integers(8) else {other: value[other] for other in value if other != name}
    if isinstance(value, tuple | list) and len(value) and rng.integers(4):
        wrong = list(value)
        place = rng.integers(len(wrong))
        wrong[place] = hostile(rng, wrong[place])
        return type(value)(wrong)
    if isinstance(value, np.ndarray) and rng.integers(5):
        return hostile_array(rng, value)
    if isinstance(value, bool):
        return (None, 7, "nonsense")[rng.integers(3)]  # anything has a truth value
    return SCALARS[rng.integers(len(SCALARS))]


def holds_nan(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    if isinstance(value, tuple | list):
        return any(map(holds_nan, value))
    return isinstance(value, float) and value != value


def described(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {described(part)}" for name, part in value.items()) + "}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{np.array2string(value.ravel()[:24], separator=',', max_line_width=10**6)}"
    if isinstance(value, tuple | list):
        return "(" + ", ".join(map(described, value)) + ")"
    return repr(value)


def attempt(name, function, arguments):
    """What the call returned, or None where it was refused."""
    print(f"{name}({', '.join(map(described, arguments))})", flush=True)
    nonsense = any(holds_nan(argument) for k, argument in enumerate(arguments) if k != WRITTEN.get(name))
    try:
        result = function(*arguments)
    except (*REFUSALS, *ALSO, DivergenceError):
        return None
    if nonsense:
        raise AssertionError(f"{name} took a NaN")
    return result


def spoilt(rng, arguments):
    wrong = list(arguments)
    for place in rng.choice(len(wrong), min(len(wrong), 1 + int(rng.integers(4) == 0)), replace=False):
        wrong[place] = hostile(rng, wrong[place])
    return wrong


def change(rng, value):
    """Fills the arrays that a call was given with nonsense."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        for part in value:
            change(rng, part)
    elif isinstance(value, np.ndarray) and value.flags.writeable and value.size:
        value.fill(REALS[rng.integers(5)] if value.dtype.kind == "f" else 99 if value.dtype == np.uint8 else 2**31 - 1)


def functions(rng, module, count):
    host = module.__name__.endswith("_host")
    calls = right.host_calls() if host else right.backend_calls(module)
    names = [name for name in calls if calls[name]]
    for name in itertools.islice(itertools.cycle(names), count):
        attempt(name, getattr(module, name), spoilt(rng, calls[name]))


def objects(rng, module, count):
    """Constructors with nonsense; methods with nonsense of what was constructed right, its arguments changed afterwards."""
    linear = [None, *(getattr(right.pdgpu, name)() for name in ("Direct", "GaussSeidel", "PCG", "AJacobi"))]
    makers = [
        ("Simulation", lambda k: right.simulation_arguments(module, k % right.SOLVERS, "cloth" if k % 3 == 0 and k % 10 != 4 else "beam")),
        ("Linear", lambda k: right.linear_arguments(module, linear[k % len(linear)])),
        ("BroadPhase", lambda k: right.broad_phase_arguments(module, k % 3)),
        ("Proximity", lambda k: right.proximity_arguments(module, k % 2 == 1)),
    ]
    methods = {"Simulation": right.simulation_calls, "Linear": right.linear_calls, "BroadPhase": right.broad_phase_calls}
    methods["Proximity"] = right.proximity_calls
    for k in range(count):
        name, make = makers[k % len(makers)]
        made = attempt(name, getattr(module, name), spoilt(rng, make(k // len(makers))))
        arguments = make(k // len(makers))
        whole = attempt(name, getattr(module, name), arguments)
        change(rng, arguments)
        for item in (whole, made):
            if item is None:
                continue
            calls = methods[name](module, len(item.positions()) if name == "Simulation" else 0)
            for method, given in calls.items():
                attempt(f"{name}.{method}", getattr(item, method), spoilt(rng, given) if given and rng.integers(2) else given)


def main(module_name, seed, count):
    warnings.simplefilter("ignore")
    module, rng = importlib.import_module(f"pdgpu.{module_name}"), np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        functions(rng, module, count)
        if module_name != "_host":
            objects(rng, module, count // 12)
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
