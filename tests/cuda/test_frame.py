"""The frame of a step on a CUDA device: iterations in graphs, no waits but the looks, its memory in other hands."""

import dataclasses
import time

import inputs
import numpy as np
import pytest
import scenes
from on_host_counts import calls_of_the_runtime

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


def simulation(solver, dtype, state=None, damping=0.01, **options):
    if "cuda" not in solver.devices:
        pytest.skip(f"{type(solver).__name__} does not run on 'cuda'")
    scene, x = scenes.mixed(damping=damping)
    # the first guess must follow from positions and velocities alone
    sim = pdgpu.Simulation(scene, dataclasses.replace(solver, initialization="inertial_target", **options), device="cuda", dtype=dtype)
    sim.set_state(positions=x if state is None else state[0], velocities=None if state is None else state[1])
    return sim


def counts_of(sim, **options):
    before = sim._core.backend.counts()
    sim.step(**options)
    after = sim._core.backend.counts()
    return {name: after[name] - before[name] for name in after}


WHAT = ("launches", "clears", "copies")  # asked of the runtime
KINDS_OF_MIXED = 9  # of elements, a launch each

# linear solvers launch most kernels; their graphs are replayed by other tests here too
LONG = ("jacobi", "jacobi, even", "chebyshev", "gauss-seidel", "symmetric", "pcg", "suppressed")


@pytest.mark.parametrize("solver", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in scenes.RESIDENT])
def test_a_replayed_step_has_the_bits_of_loops(solver, dtype):
    """If not, a graph has other pointers or numbers in it than the iterations it stands for."""
    options = {"iterations": 11, "check_every": 4}
    sim = simulation(scenes.RESIDENT[solver], dtype, **options)
    for step in range(4):
        state = sim.positions, sim.velocities
        launches = counts_of(sim)["launches"]
        assert launches == (0, 3, 3, 3)[step] or (step == 0 and launches <= 1)  # the middle chunk may equal an earlier one
        # a new simulation comes to every chunk for the first time, and runs it as loops; one look at a time
        fresh = simulation(scenes.RESIDENT[solver], dtype, state, **options)
        fresh.step()
        np.testing.assert_array_equal(sim.positions, fresh.positions)
        np.testing.assert_array_equal(sim.velocities, fresh.velocities)
        if step == 3:
            recorded = simulation(scenes.RESIDENT[solver], dtype, state, **options)
            recorded.step(record=True)
            assert len(recorded.last_step["iteration"]) == 12
            np.testing.assert_array_equal(sim.positions, recorded.positions)


@pytest.mark.parametrize(
    ("linear", "way", "launches"),
    [
        (pdgpu.Jacobi(weight=0.3), "launches", 1),
        (pdgpu.Jacobi(weight=0.3, iterations=3), "launches", 3),
        (pdgpu.AJacobi(order=2, weight=0.3), "launches", 2),
        (pdgpu.AJacobi(order=3, weight=0.3), "launches", 3),
        (pdgpu.AJacobi(order=2, weight=0.3, iterations=2), "launches", 3),
        (pdgpu.AJacobi(order=2, weight=0.3, iterations=5), "launches", 6),
        (pdgpu.AJacobi(order=2, weight=0.3, iterations=5, chebyshev=pdgpu.Chebyshev(rho=0.9, start=1)), "launches", 6),
        (pdgpu.Jacobi(weight=0.3), "persistent", 1),
        (pdgpu.Jacobi(weight=0.3, iterations=3), "persistent", 1),
        (pdgpu.Jacobi(weight=0.3, iterations=65), "persistent", 2),
        (pdgpu.AJacobi(order=2, weight=0.3), "persistent", 1),
        (pdgpu.AJacobi(order=2, weight=0.3, iterations=5), "persistent", 2),
    ],
)
@pytest.mark.parametrize("damping", [0.0, 0.01])
def test_an_iteration_is_the_elements_and_the_sweeps(linear, way, launches, damping, dtype, on_host, monkeypatch):
    """If not, the forces on vertices, the move or an iterate that is cleared and copied cost a launch each, for which small meshes wait.

    Damping is a product with a matrix of its own, which no sweep gathers: two launches more, and three where a sweep also moved.
    """
    if not on_host:
        pytest.skip("launches are counted by the stand-in only")
    monkeypatch.setenv("PDGPU_JACOBI", way)
    seen = {}
    for iterations in (4, 9):
        sim = simulation(pdgpu.ProjectiveDynamics(linear=linear, check_every=20), dtype, iterations=iterations, damping=damping)
        before = [calls_of_the_runtime(dtype, what) for what in WHAT]
        sim.step()
        seen[iterations] = [calls_of_the_runtime(dtype, what) - so_far for what, so_far in zip(WHAT, before, strict=True)]
    more = 0 if damping == 0.0 else 3 if (way, launches) == ("launches", 1) else 2
    assert [many - few for many, few in zip(seen[9], seen[4], strict=True)] == [5 * (KINDS_OF_MIXED + launches + more), 0, 0]


@pytest.mark.parametrize(
    "linear",
    [
        pdgpu.Jacobi(weight=0.3),
        pdgpu.Jacobi(weight=0.3, iterations=4),
        pdgpu.AJacobi(order=2, weight=0.3),
        pdgpu.AJacobi(order=2, weight=0.3, iterations=4),
    ],
    ids=repr,
)
def test_a_launch_that_stays_gathers_and_moves(linear, dtype, monkeypatch):
    """If not, rows past those that the grid holds, 192 in the stand-in, stay where they are or get the forces of another iterate."""
    points, tets = inputs.kuhn_grid(7, 6, 5, 0.1)
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(2e4), density=1000.0).pin([0, 1, 300])
    moved = []
    for way in ("launches", "persistent"):
        monkeypatch.setenv("PDGPU_JACOBI", way)
        sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(linear=linear, iterations=5), dt=0.01, device="cuda", dtype=dtype)
        for _ in range(2):
            sim.step()
        moved.append(sim.positions - points)
    apart = np.abs(moved[0] - moved[1]).max(axis=1)
    assert (np.linalg.norm(moved[0], axis=1) > 1e-4).sum() == len(points) - 3
    # nvcc may fuse different products in the two kernels; a row that does not move differs by 1e-4
    assert apart.max() <= (1e-12 if dtype == "float64" else 1e-5)
    np.testing.assert_array_equal(moved[1][[0, 1, 300]], 0 if dtype == "float64" else moved[0][[0, 1, 300]])


@pytest.mark.parametrize(("call", "code"), [("cudaStreamBeginCapture", 900), ("cudaStreamEndCapture", 901), ("cudaGraphInstantiate", 2)])
def test_a_capture_that_fails_leaves_the_loops(call, code, dtype, monkeypatch, on_host):
    """If not, a step ends because a graph could not be made, though its loops could run; or it runs them twice."""
    if not on_host:
        pytest.skip("errors are provoked in the stand-in for a device only")
    graphs, loops = (simulation(scenes.RESIDENT["vbd"], dtype, iterations=11, check_every=4) for _ in range(2))
    assert [counts_of(graphs)["captures"] for _ in range(3)][1] > 0
    monkeypatch.setenv("PD_ON_HOST_FAILS", f"{call} {code}")
    with pytest.warns(UserWarning, match="a CUDA graph could not be captured") as warned:
        for refused in (0, 1, 0):  # a chunk is captured when it occurs again; after a refusal no other is
            counts = counts_of(loops)
            assert counts["captures"] == counts["launches"] == counts["allocations"] == 0
            assert counts["refused"] == refused
    assert len(warned) == 1
    assert loops._core.backend.refusal() in str(warned[0].message)
    assert graphs._core.backend.refusal() is None and graphs._core.backend.counts()["refused"] == 0
    np.testing.assert_array_equal(loops.positions, graphs.positions)
    np.testing.assert_array_equal(loops.velocities, graphs.velocities)


@pytest.mark.parametrize("solver", ["vbd", "jacobi", "pcg", "gauss-seidel"])
def test_features_that_are_off_change_no_bit(solver, dtype, monkeypatch):
    """If not, a fault on a GPU cannot be traced to graphs or to launches that overlap."""
    options = {"iterations": 6, "check_every": 3}
    found = {}
    for variable in ("", "PDGPU_OVERLAP", "PDGPU_GRAPHS"):
        with monkeypatch.context() as patch:
            if variable:
                patch.setenv(variable, "off")
            sim = simulation(scenes.RESIDENT[solver], dtype, **options)
        sim.step(2)
        found[variable] = sim.positions, counts_of(sim)["launches"]
    assert found[""][1] > 0 and found["PDGPU_OVERLAP"][1] > 0 and found["PDGPU_GRAPHS"][1] == 0
    for positions, _ in found.values():
        np.testing.assert_array_equal(positions, found[""][0])


@pytest.mark.parametrize("variable", ["PDGPU_OVERLAP", "PDGPU_GRAPHS"])
def test_a_feature_is_on_or_off(variable, dtype, monkeypatch):
    """If not, a variable with a wrong value is ignored."""
    monkeypatch.setenv(variable, "no")
    with pytest.raises(ValueError, match=f"{variable}: expected 'on' or 'off', got 'no'"):
        simulation(scenes.RESIDENT["vbd"], dtype)


@pytest.mark.parametrize("solver", scenes.RESIDENT)
def test_the_host_waits_only_where_it_looks(solver, dtype):
    """If not, a loop waits for the device in every iteration, which costs more than its kernel."""
    sim = simulation(scenes.RESIDENT[solver], dtype, iterations=20, check_every=8)
    sim.step(2)
    counts = counts_of(sim)
    assert counts == {"waits": 3, "allocations": 0, "captures": 0, "launches": 3, "refused": 0}


def test_seconds_of_the_device(dtype):
    """If not, a timing of the device has the host's share in it, or is that of another step."""
    sim = simulation(scenes.RESIDENT["jacobi"], dtype, iterations=20)
    sim.step(2)
    start = time.perf_counter()
    sim.step()
    assert 0.0 < sim.last_step.device_seconds < time.perf_counter() - start


def test_one_look_at_the_end(dtype):
    """If not, a graph grows with check_every until it fills the memory, or the host waits in between."""
    sim = simulation(scenes.RESIDENT["jacobi"], dtype, iterations=40, check_every=1000)
    sim.step(2)
    counts = counts_of(sim)
    assert counts == {"waits": 1, "allocations": 0, "captures": 0, "launches": 3, "refused": 0}


def test_settings_that_change_reach_the_graphs(dtype):
    """If not, a graph goes on with the weights of before."""
    solver = pdgpu.ProjectiveDynamics(
        iterations=9, linear=pdgpu.Jacobi(weight=0.6, iterations=2), chebyshev=pdgpu.Chebyshev(rho=0.5, start=2)
    )
    sim = simulation(solver, dtype)
    sim.step(3)
    other = {"rho": 0.8, "start": 2, "under_relaxation": 0.9}
    for change, arguments in (("set_chebyshev", (other,)), ("set_linear", (0.4, 1.0, 0.0, None)), ("set_chebyshev", (None,))):
        getattr(sim._core.backend, change)(*arguments)
        for _ in range(3):
            fresh = simulation(solver, dtype, (sim.positions, sim.velocities))
            fresh._core.backend.set_chebyshev(*((other,) if arguments != (None,) else arguments))
            if change == "set_linear" or arguments == (None,):
                fresh._core.backend.set_linear(0.4, 1.0, 0.0, None)
            fresh.step()
            sim.step()
            np.testing.assert_array_equal(sim.positions, fresh.positions)


@pytest.mark.parametrize("solver", [name for name in ("jacobi", "a-jacobi", "gauss-seidel", "pcg") if name in scenes.RESIDENT])
def test_an_added_diagonal_keeps_the_graphs(solver, dtype):
    """If not, every contact that comes or goes costs a capture, or a graph goes on with the matrix of before."""
    options = {"iterations": 9, "check_every": 4}
    sim = simulation(scenes.RESIDENT[solver], dtype, **options)
    sim.step(3)
    n = len(sim.positions)
    sim._core.backend.set_diagonal(np.zeros(n))  # makes the room
    for last in (10, 1, 0):
        added = np.zeros(n)
        added[:last] = 3.0
        state = sim.positions, sim.velocities
        before = sim._core.backend.counts()
        sim._core.backend.set_diagonal(added)
        assert counts_of(sim)["launches"] == 3
        after = sim._core.backend.counts()
        assert after["captures"] == before["captures"] and after["allocations"] == before["allocations"]
        fresh = simulation(scenes.RESIDENT[solver], dtype, state, **options)
        fresh._core.backend.set_diagonal(added)
        fresh.step()
        np.testing.assert_array_equal(sim.positions, fresh.positions)


def test_more_chunks_than_there_is_room_for(dtype):
    """If not, a step with as many weights as iterations fills the memory with graphs, or runs wrong ones."""
    solver = pdgpu.ProjectiveDynamics(
        iterations=100, check_every=1, linear=pdgpu.Jacobi(weight=0.6), chebyshev=pdgpu.Chebyshev(rho=0.9999, start=1)
    )
    sim = simulation(solver, dtype)
    sim.step()
    state = sim.positions, sim.velocities
    counts = counts_of(sim)
    assert 0 < counts["captures"] <= 64 and counts["launches"] < 100
    fresh = simulation(solver, dtype, state)
    fresh.step()
    np.testing.assert_array_equal(sim.positions, fresh.positions)


@pytest.mark.large
def test_iterations_too_long_for_graphs(dtype):
    """If not, a thousand sweeps an iteration fill the memory with graphs."""
    chebyshev = pdgpu.Chebyshev(rho=0.9999, start=1)
    linear = pdgpu.PCG(iterations=1000)
    sim = simulation(pdgpu.ProjectiveDynamics(iterations=40, check_every=1, linear=linear, chebyshev=chebyshev), dtype)
    sim.step(2)
    counts = counts_of(sim)
    assert 0 < counts["launches"] < 40


def test_memory_in_other_hands(dtype):
    """If not, another library gets an address it cannot use, or one of host memory."""
    sim = simulation(scenes.RESIDENT["jacobi"], dtype, iterations=3)
    array = sim.device_positions
    assert array.__dlpack_device__() == (2, 0)
    assert not hasattr(array, "__array_interface__")
    interface = array.__cuda_array_interface__
    assert interface["version"] == 3 and interface["shape"] == sim.positions.shape and interface["strides"] is None
    assert interface["typestr"] == np.dtype(dtype).str and interface["data"][1] is False
    assert interface["stream"] not in (0, None)
    counts_of(sim)  # the first of eight steps counts inverted tets, which waits once
    waits = counts_of(sim)["waits"]
    assert waits == 2  # the look, and that the step ends with its result
    before = sim._core.backend.counts()["waits"]
    assert "dltensor_versioned" in repr(array.__dlpack__(stream=1, max_version=(1, 0)))
    assert sim._core.backend.counts()["waits"] == before + 1
    assert "dltensor" in repr(array.__dlpack__(stream=-1))
    assert sim._core.backend.counts()["waits"] == before + 1


def test_cupy_shares_the_memory(dtype):
    """If not, what a reader computes with CuPy is of a copy, or comes too early."""
    cupy = pytest.importorskip("cupy", reason="cupy is not installed: its side of the exchange is not checked")
    sim = simulation(scenes.RESIDENT["jacobi"], dtype, iterations=3)
    for take in (cupy.from_dlpack, cupy.asarray):
        x = take(sim.device_positions)
        sim.step()
        np.testing.assert_array_equal(x.get(), sim.positions)
        x[:] = x + 1
        cupy.cuda.get_current_stream().synchronize()
        np.testing.assert_array_equal(x.get(), sim.positions)
