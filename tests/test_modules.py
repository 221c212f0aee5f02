"""The compiled modules called directly with nonsense: an exception, never a crash, and no NaN taken in silence."""

import importlib
import subprocess
import sys
from pathlib import Path

import module_calls as right
import numpy as np
import pytest

import pdgpu
from pdgpu import _cpu_f32, _cpu_f64, _host
from pdgpu.solvers.solvers import SOLVERS

BACKENDS = [_cpu_f32, _cpu_f64]
NONSENSE = [np.nan, np.inf, -np.inf]
TYPES = {
    "Simulation": (right.simulation_arguments, right.simulation_calls),
    "Linear": (right.linear_arguments, right.linear_calls),
    "BroadPhase": (right.broad_phase_arguments, right.broad_phase_calls),
    "Proximity": (right.proximity_arguments, right.proximity_calls),
}


def public(owner):
    return {name for name in dir(owner) if not name.startswith("_")}


@pytest.mark.each_choice
@pytest.mark.parametrize("module", ["_host", "_cpu_f32", "_cpu_f64"])
@pytest.mark.parametrize("seed", [0, 1])
def test_thousands_of_hostile_calls(module, seed):
    """If not, a slip in a script that calls a module itself ends the process, and everything in the notebook."""
    script = Path(__file__).with_name("hostile_calls.py")
    command = [sys.executable, "-X", "faulthandler", script, module, str(seed), "800"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    calls = result.stdout.splitlines()
    assert calls[-1] == "done", f"ended with {result.returncode} in {calls[-1]}\n{result.stderr}"
    assert len(calls) > 800


def test_every_function_is_among_them():
    """If not, a new function goes untested."""
    found = {name for name in public(_host) if callable(getattr(_host, name))}
    assert found == set(right.host_calls())
    for name, arguments in right.host_calls().items():
        getattr(_host, name)(*arguments)
    for module in BACKENDS:
        values = {name: getattr(module, name) for name in public(module)}
        calls = right.backend_calls(module)
        assert {name for name, value in values.items() if not isinstance(value, type | dict)} == set(calls)
        assert {name for name, value in values.items() if isinstance(value, type)} == {*TYPES, "DeviceArray"}
        for name, arguments in calls.items():
            values[name](*arguments)
        for name, (make, methods) in TYPES.items():
            item, calls = values[name](*make(module)), methods(module, 12)
            answers = right.solved_calls(module, 12) if name == "Simulation" else {}
            assert public(values[name]) == calls.keys() | answers.keys()
            for method, arguments in calls.items():
                getattr(item, method)(*arguments)
            for method, arguments in answers.items():
                with pytest.raises(RuntimeError, match="no function of a solver is running"):
                    getattr(item, method)(*arguments)


@pytest.mark.parametrize("solver", range(right.SOLVERS))
def test_the_right_arguments_are_taken(solver):
    """If not, the hostile calls are refused for another reason than theirs."""
    for module in BACKENDS:
        for body in ("beam", "cloth")[: 1 if solver == 4 else 2]:
            sim = module.Simulation(*right.simulation_arguments(module, solver, body))
            sim.step(None, None, None, None, False)


def made(module, solver, *parts, contact=True):
    """A core simulation of a beam by this solver, told to take what Python would not give it."""
    arguments = right.parts_argument(module, right.simulation_arguments(module, SOLVERS.index(solver), "beam"), *parts)
    if not contact:
        arguments[right.ARGUMENTS.index("contact")] = None
    return module.Simulation(*arguments)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_core_takes_what_its_solver_says(solver):
    """If not, a method reads what only another one has made: a Hessian of pairs, a factor, a linear solver that is none."""
    contacts = getattr(solver, "contacts", ())
    takes = {"rigid": getattr(solver, "rigid", False), "projective": "ProjectiveContact" in contacts, "proxies": "ProxyContact" in contacts}
    for module in BACKENDS:
        for part, taken in takes.items():
            if taken:
                made(module, solver, part, contact=part == "projective")
                continue
            with pytest.raises(TypeError, match=f"{part}: {solver.__name__} does not take it"):
                made(module, solver, part, contact=part == "projective")


TOGETHER = [
    (pdgpu.ProjectiveDynamics, ("proxies",), "contact: .* proxies"),
    (pdgpu.ProjectiveDynamics, ("projective", "two_way"), "projective: .* two_way"),
    (pdgpu.ProjectiveDynamics, ("projective", "penalty"), "penalty: .* projective"),
    (pdgpu.Newton, ("two_way", "penalty"), "penalty: .* two_way"),
    (pdgpu.ProjectiveDynamics, ("carriers", "projective"), "carriers: .* projective"),
    (pdgpu.Newton, ("carriers", "two_way"), "carriers: .* two_way"),
    (pdgpu.Newton, ("rigid", "two_way"), "rigid: .* no law"),
    (pdgpu.Newton, ("rigid", "penalty"), "rigid: .* no law"),
]


@pytest.mark.parametrize(("solver", "parts", "message"), TOGETHER)
def test_what_does_not_go_together(solver, parts, message):
    """If not, one of two answers to the same contact is made and the other one asked."""
    for part in parts:
        made(_cpu_f64, solver, part, contact=part not in ("rigid", "proxies"))
    with pytest.raises(ValueError, match=message):
        made(_cpu_f64, solver, *parts)


def test_rows_of_bodies_want_the_direct_solver():
    """If not, a core that is told to take another one for rigid bodies factorises where no factor is."""
    arguments = right.parts_argument(_cpu_f64, right.simulation_arguments(_cpu_f64, SOLVERS.index(pdgpu.QuasiNewton)), "rigid")
    sim = _cpu_f64.Simulation(*changed(arguments, place_of("linear"), right.linear_of(pdgpu.PCG())))
    with pytest.raises(TypeError, match="linear: with rigid bodies"):
        sim.prepare()


def changed(arguments, place, value):
    """The arguments with another one at a place: a number, or a path into nested tuples, dicts and arrays."""
    first, *rest = place if isinstance(place, tuple) else (place,)
    if isinstance(arguments, np.ndarray):
        arguments = arguments.copy()
        arguments[place] = value
        return arguments
    result = arguments.copy() if isinstance(arguments, dict) else list(arguments)
    result[first] = changed(result[first], tuple(rest), value) if rest else value
    return type(arguments)(result)


def place_of(*path):
    """Of an argument of Simulation, or of one of its settings, in its arguments."""
    name, *rest = path
    inner = name not in right.ARGUMENTS
    return (right.ARGUMENTS.index("settings"), name, *rest) if inner else (right.ARGUMENTS.index(name), *rest)


HOST_NUMBERS = [
    ("find_intersections", (0, 1, 2), "points", r"\(1, 2\)"),
    ("find_crossings", (0, 1, 2), "points", r"\(1, 2\)"),
    ("find_crossings", (1, 0, 1), "points_1", r"\(0, 1\)"),
    ("smallest_gap", (0, 1, 2), "points", r"\(1, 2\)"),
    ("contact_times", (0, 1, 2, 0), "x", r"\(1, 2, 0\)"),
]


@pytest.mark.parametrize("value", NONSENSE)
@pytest.mark.parametrize(("name", "place", "argument", "index"), HOST_NUMBERS)
def test_the_verifier_takes_no_coordinate_that_is_no_number(name, place, argument, index, value):
    """If not, GMP divides by zero and the process ends (SIGFPE)."""
    arguments = changed(right.host_calls()[name], place, value)
    with pytest.raises(ValueError, match=rf"{argument}: value {value:g} at {index} is not finite"):
        getattr(_host, name)(*arguments)


@pytest.mark.parametrize("value", [*NONSENSE, 1e38])
@pytest.mark.parametrize("method", range(3))
def test_a_broad_phase_takes_no_coordinate_that_is_no_number(method, value):
    """If not, a voxel is looked up by it and memory read that is none (SIGSEGV)."""
    for module in BACKENDS if value != 1e38 else [_cpu_f32]:
        arguments, (start, end, margin, rebuild) = right.broad_phase_arguments(module, method), right.broad_phase_calls(module, 0)["find"]
        phase = module.BroadPhase(*arguments)
        with pytest.raises(ValueError, match=r"x_t0: value .* at \(2, 1\) is not"):
            phase.find(changed(start, (2, 1), value), end, margin, rebuild)
        with pytest.raises(ValueError, match=r"x_t1: value .* at \(2, 1\) is not"):
            phase.find(start, changed(end, (2, 1), value), margin, rebuild)
        with pytest.raises(ValueError, match=r"rest: value .* at \(2, 1\) is not"):
            module.BroadPhase(*changed(arguments, (1, 2, 1), value))
        with pytest.raises(ValueError, match="margin: value"):
            phase.find(start, end, abs(value), rebuild)


WRONG_SETTINGS = [
    ("solver", "Newtom", "solver: 'Newtom' is unknown"),
    ("solver", "Newton\0", r"solver: 'Newton\\x00' is unknown"),
    ("solver", "", "solver: '' is unknown"),
    ("initialization", 4, "initialization: value 4 is not between 0 and 3"),
    ("initialization", -1, "initialization: value -1"),
    ("iterations", 0, "iterations: value 0"),
    ("check_every", 0, "check_every: value 0"),
    ("h", np.nan, "h: value nan is not finite"),
    ("h", -1.0, "h: value -1 is below 0"),
    ("tolerance", np.nan, "tolerance: value nan"),
    ("chebyshev", right.CHEBYSHEV | {"rho": np.nan}, "chebyshev: rho: value nan"),
    ("chebyshev", right.CHEBYSHEV | {"rho": 1.0}, "chebyshev: rho: value 1"),
    ("chebyshev", right.CHEBYSHEV | {"start": 0}, "chebyshev: start: value 0"),
    ("chebyshev", right.CHEBYSHEV | {"under_relaxation": np.nan}, "chebyshev: under_relaxation: value nan"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG_SETTINGS)
@pytest.mark.parametrize("solver", [0, 7])
def test_settings_out_of_range(name, value, message, solver):
    """If not, a name of no solver chooses one in silence, and a negative length is a size of memory."""
    for module in BACKENDS:
        arguments = changed(right.simulation_arguments(module, solver), place_of(name), value)
        with pytest.raises(ValueError, match=message):
            module.Simulation(*arguments)


@pytest.mark.parametrize(
    ("solver", "name", "value", "message"),
    [
        (pdgpu.QuasiNewton, "history", -1, "history: value -1 is not between"),
        (pdgpu.QuasiNewton, "history", 2**31, "history: value 2147483648 is not between"),
        (pdgpu.PBD, "relaxation", np.inf, "relaxation: value inf"),
        (pdgpu.ADMM, "weight", -1.0, "weight: value -1"),
    ],
)
def test_settings_of_one_method_out_of_range(solver, name, value, message):
    """If not, the range that a method declares is written down and not looked at."""
    arguments = changed(right.simulation_arguments(_cpu_f64, SOLVERS.index(solver)), place_of(name), value)
    with pytest.raises(ValueError, match=message):
        _cpu_f64.Simulation(*arguments)


WRONG_TYPES = [
    ("iterations", 2.0),
    ("iterations", True),
    ("tolerance", "0"),
    ("line_search", 1),
    ("history", None),
    ("linear", ()),
    ("chebyshev", ()),
]


@pytest.mark.parametrize(("name", "value"), WRONG_TYPES)
def test_settings_of_another_type(name, value):
    """If not, 2.5 iterations are 2, and a misplaced None is a number."""
    arguments = changed(right.simulation_arguments(_cpu_f64, SOLVERS.index(pdgpu.QuasiNewton)), place_of(name), value)
    with pytest.raises(TypeError, match=f"{name}: expected"):
        _cpu_f64.Simulation(*arguments)


@pytest.mark.parametrize("solver", range(right.SOLVERS))
def test_settings_go_by_name(solver):
    """If not, a setting that is misspelt or forgotten has some value in silence."""
    for module in BACKENDS:
        arguments = right.simulation_arguments(module, solver)
        name, settings = SOLVERS[solver].__name__, arguments[right.ARGUMENTS.index("settings")]
        assert set(settings) == set(module.SOLVERS[name])
        for setting in settings:
            without = {other: value for other, value in settings.items() if other != setting}
            with pytest.raises(TypeError, match=f"settings: {name} needs '{setting}'"):
                module.Simulation(*changed(arguments, place_of("settings"), without))
        for unknown in ("histroy", 3, "iteration"):
            with pytest.raises(TypeError, match=f"settings: {name} takes no {unknown!r}"):
                module.Simulation(*changed(arguments, place_of("settings"), settings | {unknown: 1}))
        with pytest.raises(TypeError, match="settings: expected a dict"):
            module.Simulation(*changed(arguments, place_of("settings"), list(settings.items())))


def test_both_languages_know_the_same_solvers():
    """If not, a method of the core cannot be reached, or a solver of Python fails when it is first used."""
    for module in BACKENDS:
        assert sorted(module.SOLVERS) == sorted([*(kind.__name__ for kind in SOLVERS), "CustomSolver"])


LINEAR_RANGES = [
    ("kind", len(pdgpu.linear.linear_solvers.KINDS)),
    ("kind", -1),
    ("iterations", 0),
    ("check_every", 0),
    ("order", 5),
    ("suppression", 3),
    ("preconditioner", len(pdgpu.linear.linear_solvers.PRECONDITIONERS)),
    ("preconditioner", -1),
    ("degree", 0),
    ("degree", 101),
]
LINEAR_RANGES += [(name, value) for name in ("tolerance", "weight", "omega", "rho", "threshold") for value in (np.nan, np.inf, -1.0)]
LINEAR_TYPES = [
    ("kind", 1.0),
    ("kind", True),
    ("composed", 1),
    ("natural", None),
    ("biased", 0),
    ("weight", "auto"),
    ("chebyshev", (0.5, 2, 1.0)),
]


def with_linear_settings(module, settings):
    """The two calls that take a linear solver's settings."""
    yield lambda: module.Linear(*changed(right.linear_arguments(module), 3, settings))
    yield lambda: module.Simulation(*changed(right.simulation_arguments(module), place_of("linear"), settings))


@pytest.mark.parametrize(
    ("name", "value", "error"), [(*case, ValueError) for case in LINEAR_RANGES] + [(*case, TypeError) for case in LINEAR_TYPES]
)
def test_linear_settings_out_of_range_or_of_another_type(name, value, error):
    """If not, an unknown variant computes something else in silence."""
    for module in BACKENDS:
        for call in with_linear_settings(module, right.linear_of() | {name: value}):
            with pytest.raises(error, match=f"{name}: "):
                call()


@pytest.mark.parametrize("argument", ["linear", "chebyshev"])
def test_linear_settings_go_by_name(argument):
    """If not, two numbers that change places, or one that is misspelt or forgotten, are another solver in silence."""
    for module in BACKENDS:
        settings = {"linear": right.linear_of(pdgpu.Jacobi(weight=0.5, chebyshev=pdgpu.Chebyshev(rho=0.5))), "chebyshev": right.CHEBYSHEV}
        whole, part = settings["linear"], settings[argument]
        wrong = [({name: part[name] for name in part if name != left_out}, f"needs '{left_out}'") for left_out in part]
        wrong += [(part | {unknown: 1}, f"takes no {unknown!r}") for unknown in ("wieght", 3, "iteration")]
        wrong += [(tuple(part.values()), "expected a dict")]
        for given, message in wrong:
            for call in with_linear_settings(module, given if argument == "linear" else whole | {"chebyshev": given}):
                with pytest.raises(TypeError, match=f"{argument}: .*{message}"):
                    call()
        for order in (whole, dict(reversed(whole.items()))):
            for call in with_linear_settings(module, order):
                call()


def test_what_comes_back_goes_by_name():
    """If not, whoever reads it has to know the order, and takes velocities for positions."""
    for module in BACKENDS:
        sim, linear = module.Simulation(*right.simulation_arguments(module)), module.Linear(*right.linear_arguments(module))
        x, v = (np.full((12, 3), value, right.real_of(module)) for value in (1.0, 2.0))
        sim.set_state(velocities=v, previous_velocities=None, positions=x)
        state = sim.state()
        assert list(state) == ["positions", "velocities", "previous_velocities", "slopes", "rates"]
        assert state["previous_velocities"] is None and state["rates"] is None
        assert (state["positions"] == 1.0).all() and (state["velocities"] == 2.0).all()
        assert linear.weight() == {"weight": 0.5, "largest_eigenvalue": pytest.approx(1.5, rel=0.1)}
        assert set(sim.linear_weight()) == set(linear.weight())
        counts = module.BroadPhase(*right.broad_phase_arguments(module)).counts()
        assert set(counts) == {"builds", "refits", "retries", "pair_capacity", "waits", "allocations"}
        with pytest.raises(TypeError):
            sim.set_state(position=x, velocities=v, previous_velocities=None)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("colours", 3), 12, "colours: value 12 at 3 is not between 0 and 11"),
        (("colours", 3), -1, "colours: value -1 at 3 is not between"),
        (("masses", 2), np.nan, "masses: value nan at 2 is not finite"),
        (("masses", 2), -1.0, "masses: value -1 at 2 is below 0"),
        (("fixed", 2), 7, "fixed: value 7 at 2 is not between 0 and 1"),
        (("elements", 0, 1, 1, 2), 12, "vertices: index 12 at row 1 is out of range for 12 vertices"),
        (("elements", 0, 2, 1, 2), np.inf, r"rest: value inf at \(1, 2\) is not finite"),
        (("elements", 0, 3, 1, 0), np.nan, r"parameters: value nan at \(1, 0\) is not a number"),
    ],
)
def test_arrays_of_a_model_that_make_no_sense(place, value, message):
    """If not, a colour writes outside an array (SIGSEGV), and a NaN is found when the step is lost."""
    for module in BACKENDS:
        arguments = changed(right.simulation_arguments(module, 4), place_of(*place), value)
        with pytest.raises(ValueError, match=message):
            module.Simulation(*arguments)


def test_two_vertices_of_an_element_never_share_a_colour():
    """If not, both are moved at once, each from where the other was, and the result depends on the number of threads."""
    arguments = changed(right.simulation_arguments(_cpu_f64, 4), place_of("colours"), np.zeros(12, np.int32))
    message = r"colours: vertices \d+ and \d+ of neo_hookean_tet \d+ have the same colour 0"
    sim = _cpu_f64.Simulation(*arguments)
    for call in (sim.prepare, lambda: sim.step(None, None, None, None, False)):
        with pytest.raises(ValueError, match=message):
            call()
    _cpu_f64.Simulation(*changed(arguments, place_of("fixed"), np.ones(12, np.uint8))).prepare()  # what is held is not moved at all


def test_vertex_block_descent_needs_colours():
    """If not, None is read as an array."""
    arguments = changed(right.simulation_arguments(_cpu_f64, 4), place_of("colours"), None)
    with pytest.raises(TypeError, match="colours: expected"):
        _cpu_f64.Simulation(*arguments)


@pytest.mark.parametrize("solver", range(right.SOLVERS))
def test_arrays_changed_after_construction_change_nothing(solver):
    """If not, whoever uses an array again moves the wrong vertices, or writes past the end of the model (SIGSEGV)."""
    ends = []
    for spoil in (False, True):
        arguments = right.simulation_arguments(_cpu_f64, solver)
        arguments = [value.copy() if isinstance(value, np.ndarray) else value for value in arguments]
        arguments[5] = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments[5].items()}
        sets = [[kind, *(None if part is None else np.array(part) for part in parts)] for kind, *parts in arguments[2]]
        arguments[2] = [tuple(parts) for parts in sets]
        sim = _cpu_f64.Simulation(*arguments)
        if spoil:
            for part in (*arguments, *arguments[5].values(), *(part for parts in sets for part in parts)):
                if isinstance(part, np.ndarray):
                    part.fill(99 if part.dtype == np.uint8 else 2**30)
        sim.set_load(np.full((12, 3), -9.81))
        sim.set_state(np.array(right.BEAM.points), np.zeros((12, 3)), None)
        for _ in range(2):
            sim.step(None, None, None, None, False)
        ends.append((sim.positions().tobytes(), sim.system_matrix()[2].tobytes(), sim.hessian(None, True)[2].tobytes()))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("name", ["_cuda_f32", "_cuda_f64"])
def test_modules_for_a_gpu_check_the_same(name):
    """If not, the checks stand in one backend only."""
    try:
        module = importlib.import_module(f"pdgpu.{name}")
    except ImportError:
        pytest.skip("built without CUDA, or no CUDA libraries here")
    with pytest.raises(ValueError, match="solver: 'Newtom' is unknown"):
        module.Simulation(*changed(right.simulation_arguments(module), place_of("solver"), "Newtom"))
