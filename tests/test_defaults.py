"""PDGPU_DEVICE and PDGPU_DTYPE, the defaults of device= and dtype=."""

import copy
import importlib
import inspect
import pickle
import sys

import numpy as np
import pytest

import pdgpu
from pdgpu._internal import backends
from pdgpu._internal.backends import device_or_default
from pdgpu.collision import BroadPhase
from pdgpu.command_line import main
from pdgpu.linear.linear_solvers import check_order
from pdgpu.solvers.solver_support import check_support

BEAM = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(4, 1, 1))
PAIRS = np.random.default_rng(0).normal(size=(5, 4, 3))
MATRIX, RIGHT = np.array([[2.0, -1.0], [-1.0, 2.0]]), np.array([1.0, 0.0])
NOWHERE = {"PDGPU_DEVICE": "nowhere", "PDGPU_DTYPE": "nothing"}  # raises where one of them is read


def scene():
    result = pdgpu.Scene()
    body = result.add_solid(BEAM, pdgpu.ARAP.from_young(1e5, 0.3), density=1000.0, name="beam")
    body.pin(lambda points: points[:, 0] < 1e-9)
    return result


def compared(**options):
    found = pdgpu.compare(scene(), {"PD": pdgpu.ProjectiveDynamics(iterations=2)}, reference=None, **options)
    return found.records["PD"].numbers["dtype"]


# every public function with device=, by module and name: what computes with these options, and returns the dtype of the result
ENTRIES = {
    "pdgpu.Simulation": lambda **o: pdgpu.Simulation(scene(), **o).positions.dtype,
    "pdgpu.compare": compared,
    "pdgpu.linear.System": lambda **o: pdgpu.linear.System(MATRIX, pdgpu.Jacobi(), **o).solve(RIGHT).x.dtype,
    "pdgpu.linear.solve": lambda **o: pdgpu.linear.solve(MATRIX, RIGHT, pdgpu.Jacobi(), **o).x.dtype,
    "pdgpu.collision.BroadPhase": lambda **o: BroadPhase(BEAM.points, BEAM.surface, **o).dtype,
    "pdgpu.geometry.vertex_vertex": lambda **o: pdgpu.geometry.vertex_vertex(PAIRS[:, :2], **o).distance.dtype,
    "pdgpu.geometry.vertex_edge": lambda **o: pdgpu.geometry.vertex_edge(PAIRS[:, :3], **o).distance.dtype,
    "pdgpu.geometry.vertex_triangle": lambda **o: pdgpu.geometry.vertex_triangle(PAIRS, **o).distance.dtype,
    "pdgpu.geometry.edge_edge": lambda **o: pdgpu.geometry.edge_edge(PAIRS, **o).distance.dtype,
    "pdgpu.geometry.gradient": lambda **o: pdgpu.geometry.gradient("edge_edge", PAIRS, **o).dtype,
    "pdgpu.geometry.hessian": lambda **o: pdgpu.geometry.hessian("edge_edge", PAIRS, **o).dtype,
    "pdgpu.geometry.lower_bound": lambda **o: pdgpu.geometry.lower_bound("edge_edge", PAIRS, **o).dtype,
    "pdgpu.geometry.edge_edge_mollifier": lambda **o: pdgpu.geometry.edge_edge_mollifier(PAIRS, PAIRS, **o).dtype,
    "pdgpu.ccd.vertex_triangle": lambda **o: pdgpu.ccd.vertex_triangle(PAIRS, PAIRS + 1.0, **o).toi.dtype,
    "pdgpu.ccd.edge_edge": lambda **o: pdgpu.ccd.edge_edge(PAIRS, PAIRS + 1.0, **o).toi.dtype,
    "pdgpu.ccd.earliest": lambda **o: np.result_type(pdgpu.ccd.earliest(PAIRS[0], PAIRS[0] + 1.0, edge_edge=[[0, 1, 2, 3]], **o).toi),
}
WITH_DTYPE = ("pdgpu.Simulation", "pdgpu.compare", "pdgpu.linear.System", "pdgpu.collision.BroadPhase")


def public_functions():
    """Module and name -> what a user calls."""
    for module in ("pdgpu", "pdgpu.linear", "pdgpu.collision", "pdgpu.geometry", "pdgpu.ccd", "pdgpu.plotting", "pdgpu.elements"):
        try:
            loaded = importlib.import_module(module)
        except ImportError:  # of plotting, without matplotlib
            continue
        for name in getattr(loaded, "__all__", ()):
            if callable(function := getattr(loaded, name)):
                yield f"{module}.{name}", function


def parameters(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def test_every_function_with_a_device_is_tested_here():
    """If not, a new function does not follow the variables, or does so untested."""
    found = {"device": set(), "dtype": set()}
    for name, function in public_functions():
        for option, names in found.items():
            if option in parameters(function):
                names.add(name)
                assert parameters(function)[option].default is None, name
    assert found["device"] == set(ENTRIES)
    assert found["dtype"] == set(WITH_DTYPE)


@pytest.mark.parametrize("name", ENTRIES)
def test_the_device_of_the_environment_is_the_default(name, monkeypatch):
    """If not, a script that leaves device= out stays on the CPU, and its times are reported as those of the GPU."""
    monkeypatch.setenv("PDGPU_DEVICE", "cpu")
    ENTRIES[name]()
    monkeypatch.setenv("PDGPU_DEVICE", "cuda:999")  # the module is missing, or the device
    with pytest.raises(RuntimeError, match=r"^device: 'cuda:999' \(from PDGPU_DEVICE\) is not available: "):
        ENTRIES[name]()
    ENTRIES[name](device="cpu")
    monkeypatch.delenv("PDGPU_DEVICE")
    ENTRIES[name]()


@pytest.mark.parametrize("name", ENTRIES)
def test_the_dtype_of_the_environment_is_the_default(name, monkeypatch):
    """If not, a script runs in float64 on a GPU that is slow in it, or a batch rounds the positions that it is asked about."""
    given = ({}, {"dtype": "float64"}, {"dtype": np.float32}) if name in WITH_DTYPE else ({},)
    for value, default in (("float32", "float32"), ("float64", "float64"), ("", "float64")):
        monkeypatch.setenv("PDGPU_DTYPE", value)
        for options in given:
            wanted = options.get("dtype", default) if name in WITH_DTYPE else "float64"
            assert ENTRIES[name](**options) == np.dtype(wanted)


@pytest.mark.parametrize("name", ENTRIES)
def test_other_values_are_refused_by_the_name_of_the_variable(name, monkeypatch):
    """If not, a slip in a shell's start file is reported as an argument that the script does not have."""
    for value in ("gpu", "CUDA", "cuda:", "cuda:01", "cpu ", "0"):
        monkeypatch.setenv("PDGPU_DEVICE", value)
        with pytest.raises(ValueError, match=f"^PDGPU_DEVICE: expected one of 'cpu', 'cuda' or .* such as 'cuda:1', got {value!r}$"):
            ENTRIES[name]()
        ENTRIES[name](device="cpu")
    monkeypatch.delenv("PDGPU_DEVICE")
    for value in ("single", "f4", "float16", "float32 "):
        monkeypatch.setenv("PDGPU_DTYPE", value)
        if name in WITH_DTYPE:
            with pytest.raises(ValueError, match=f"^PDGPU_DTYPE: expected 'float32' or 'float64', got {value!r}$"):
                ENTRIES[name]()
            ENTRIES[name](dtype="float64")
        else:
            ENTRIES[name]()


def test_messages_say_where_the_device_comes_from(monkeypatch):
    """If not, a user looks for device='cuda' in a script that does not contain it."""
    monkeypatch.setenv("PDGPU_DEVICE", "cuda")
    device = device_or_default(None)

    class OnlyOnCpu(pdgpu.Newton):
        devices = ("cpu",)

    for check in (
        lambda device: check_order(pdgpu.GaussSeidel(order="natural"), device),
        lambda device: check_support(OnlyOnCpu(), device, {"ARAP"}),
    ):
        with pytest.raises(RuntimeError, match=r"^device: .* on 'cuda' \(from PDGPU_DEVICE\)"):
            check(device)
        with pytest.raises(RuntimeError, match=r"^device: .* on 'cuda'(,|$)"):
            check("cuda")
    monkeypatch.setenv("PDGPU_DEVICE", "cpu")
    sim = pdgpu.Simulation(scene())
    assert type(sim.device) is str and repr(sim.device) == "'cpu'"
    assert type(BroadPhase(BEAM.points, BEAM.surface).device) is str


def test_the_record_of_a_run_has_what_the_variables_chose(monkeypatch):
    """If not, a table says float64 of a run in float32."""
    monkeypatch.setenv("PDGPU_DTYPE", "float32")
    monkeypatch.setenv("PDGPU_DEVICE", "cpu")
    sim = pdgpu.Simulation(scene())
    sim.step(record=True)
    assert (sim.last_step.numbers["device"], sim.last_step.numbers["dtype"]) == ("cpu", "float32")
    assert "cpu, float32" in repr(sim)


def test_a_broad_phase_on_a_simulation_has_its_device_and_dtype(monkeypatch):
    """If not, a broad phase without options is refused for a simulation that was given some."""
    sim = pdgpu.Simulation(scene(), device="cpu", dtype="float32")
    for name, value in NOWHERE.items():
        monkeypatch.setenv(name, value)
    phase = BroadPhase(BEAM.points, BEAM.surface, simulation=sim)
    assert (phase.device, phase.dtype) == ("cpu", np.float32)


def test_a_saved_simulation_keeps_its_device_and_dtype(tmp_path, monkeypatch):
    """If not, a run that is resumed in another shell goes on in another precision."""
    path = tmp_path / "saved.npz"
    monkeypatch.setenv("PDGPU_DTYPE", "float32")
    sim = pdgpu.Simulation(scene())
    sim.step(2)
    sim.save(path)
    for variables in ({"PDGPU_DTYPE": "float64", "PDGPU_DEVICE": "cuda:999"}, NOWHERE):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        for again in (
            pdgpu.Simulation.load(path),
            pdgpu.Simulation.load(path, device="cpu"),
            copy.deepcopy(sim),
            pickle.loads(pickle.dumps(sim)),
        ):
            assert (again.device, again.dtype) == ("cpu", np.float32)
            again.step()
    sim.step()
    np.testing.assert_array_equal(again.positions, sim.positions)


def test_a_linear_system_is_copied_where_it_is(monkeypatch):
    """If not, a system that is sent to a worker with other variables solves in another precision."""
    system = pdgpu.linear.System(MATRIX, pdgpu.Jacobi(), dtype="float32", device="cpu")
    for name, value in NOWHERE.items():
        monkeypatch.setenv(name, value)
    assert copy.deepcopy(system).solve(RIGHT).x.dtype == np.float32


def references():
    """What has to be the same whatever the variables say: every call names device and dtype, or takes none."""
    where = {"device": "cpu", "dtype": "float64"}
    found = {}
    solvers = {"PD": pdgpu.ProjectiveDynamics(iterations=3), "VBD": pdgpu.VertexBlockDescent(iterations=3)}
    start = (BEAM.points * [1.2, 1.0, 1.0], None)
    compared = pdgpu.compare(scene(), solvers, start=start, **where)
    found["reference"], found["losses"] = compared.reference, compared.records["VBD"]["relative_loss"]

    # contact: the check of the start, automatic stiffness, near pairs, forces, a penalty whose pairs are those at the answer
    falling = scene()
    ball = pdgpu.shapes.sphere(0.3, 1)
    falling.add_obstacle(pdgpu.TriangleMesh(pdgpu.Mesh(ball.points + [0.5, -0.31, 0.1], triangles=ball.triangles)), name="ball")
    grid = pdgpu.shapes.grid((0.2, 0.2), cells=(2, 2))
    cloth = pdgpu.Mesh(grid.points[:, [0, 2, 1]] + [0.4, 0.2515, 0.0], triangles=grid.triangles)
    falling.add_shell(cloth, pdgpu.ARAP(1e3), density=0.2, name="cloth")
    sim = pdgpu.Simulation(falling, pdgpu.Newton(iterations=5), contact=pdgpu.BarrierContact(3e-3), **where)
    while not sim.contact_forces().forces.any():
        sim.step()
        assert sim.time < 0.5
    found["positions"], found["near"], found["pushes"] = sim.positions, sim.contacts(0.05).distance, sim.contact_forces().forces
    assert len(found["near"])
    penalty = pdgpu.PenaltyContact(1e-3, stiffness=1e4)
    found["penalty"] = pdgpu.compare(falling, {"VBD": pdgpu.VertexBlockDescent(iterations=2)}, contact=penalty, **where).reference
    assert found["penalty"] is not None

    # what is searched or computed beforehand
    chebyshev = pdgpu.Chebyshev(rho="auto")
    inner = pdgpu.ProjectiveDynamics(iterations=5, linear=pdgpu.Jacobi(iterations=20, chebyshev=chebyshev))
    searched = pdgpu.Simulation(scene(), inner, **where)
    searched.set_state(positions=start[0])
    searched.step()
    found["rho"] = searched.positions
    A = searched.system_matrix(free=True)
    found["radius"] = pdgpu.linear.spectral_radius(A, pdgpu.GaussSeidel())
    found["eigenvalues"] = pdgpu.linear.extreme_eigenvalues(A)
    found["composed"] = pdgpu.linear.System(A, pdgpu.AJacobi(order=2, chebyshev=pdgpu.Chebyshev(rho="lanczos")), **where).predicted_rate()
    found["distance"] = pdgpu.TriangleMesh(pdgpu.shapes.sphere(1.0, 1)).distance(BEAM.points + 2.0)

    # points outside of the tets that carry them
    carrier = scene()
    carrier["beam"].embed(pdgpu.Mesh(BEAM.points * 1.01, triangles=BEAM.surface), name="skin", extrapolate=True)
    found["embedded"] = pdgpu.Simulation(carrier, **where).embedded("skin")
    return found


def test_explicit_calls_and_references_do_not_depend_on_the_variables(monkeypatch):
    """If not, the answer that solvers are measured against is found in float32, or on the device that is to be verified."""
    before = references()
    for name, value in NOWHERE.items():
        monkeypatch.setenv(name, value)
    after = references()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)


@pytest.mark.parametrize("command", ["compare", "simulate"])
def test_the_command_line_follows_the_variables(command, tmp_path, monkeypatch, capsys):
    """If not, `python -m pdgpu compare` runs on the CPU where every script runs on the GPU."""
    path = tmp_path / "bar.obj"
    pdgpu.shapes.grid((0.2, 1.0), cells=(1, 4)).write(path)
    more = ["--solvers", "pd"] if command == "compare" else ["--steps", "1"]
    arguments = [command, str(path), *more, "--out", str(tmp_path / "out")]
    monkeypatch.setenv("PDGPU_DEVICE", "cuda:999")
    assert main(arguments) == 2
    assert "device: 'cuda:999' (from PDGPU_DEVICE) is not available" in capsys.readouterr().err
    for name, value in NOWHERE.items():
        monkeypatch.setenv(name, value)
    assert main(arguments) == 2
    assert "PDGPU_DEVICE: expected one of" in capsys.readouterr().err
    monkeypatch.setenv("PDGPU_DEVICE", "cpu")
    assert main(arguments) == 2
    assert "PDGPU_DTYPE: expected 'float32' or 'float64', got 'nothing'" in capsys.readouterr().err


def test_info_prints_the_variables_that_are_set(monkeypatch, capsys):
    """If not, a report of a problem does not say that everything ran in float32."""
    main(["info"])
    assert "PDGPU_D" not in capsys.readouterr().out
    monkeypatch.setenv("PDGPU_DEVICE", "cuda:1")
    monkeypatch.setenv("PDGPU_DTYPE", "float32")
    main(["info"])
    printed = capsys.readouterr().out
    assert "PDGPU_DEVICE: 'cuda:1'\n" in printed and "PDGPU_DTYPE: 'float32'\n" in printed


def test_a_precision_that_the_build_left_out_is_named(monkeypatch):
    """If not, whoever ran `make demo` first and then asks for float32 is told that there is no CPU."""
    backends._loaded.cache_clear()
    monkeypatch.setitem(sys.modules, "pdgpu._cpu_f32", None)  # which makes its import fail
    monkeypatch.setattr(backends.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"dtype: 'float32' is not in this build of pdgpu.*make build"):
        backends.backend("cpu", "float32")
    assert backends.backend("cpu", "float64")
    backends._loaded.cache_clear()
