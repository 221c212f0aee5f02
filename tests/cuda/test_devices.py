"""Several devices in one process, by their number; and what batches ask of theirs."""

import inputs
import numpy as np
import pytest
import scenes
from on_host_counts import calls_of_the_runtime

import pdgpu
from pdgpu._internal.backends import backend

pytestmark = pytest.mark.gpu


def last_device():
    """The last CUDA device there is: "cuda:1" on the stand-in, "cuda:0" where a machine has one GPU only."""
    return f"cuda:{len(backend('cuda', 'float64').devices()) - 1}"


def simulation(device, dtype, solver):
    scene, _ = scenes.bar(inputs.B20(), 1e5)
    return pdgpu.Simulation(scene, solver, device=device, dtype=dtype)


@pytest.mark.parametrize(
    "solver",
    [
        pdgpu.ProjectiveDynamics(iterations=4, linear=pdgpu.Jacobi(iterations=3)),
        pdgpu.VertexBlockDescent(iterations=3, tolerance=1e-9),
        pdgpu.Newton(iterations=2, linear=pdgpu.PCG(iterations=5)),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_simulations_of_two_devices_in_turns(dtype, solver):
    """If not, a second GPU gives other numbers, or none, once one thread has work on both."""
    first, second = (simulation(device, dtype, solver) for device in ("cuda:0", last_device()))
    for _ in range(2):
        for sim in (first, second):
            sim.step()
    np.testing.assert_array_equal(first.positions, second.positions)
    assert second.device == last_device()
    assert second.device_positions.__dlpack_device__()[1] == int(last_device()[5:])


def test_searches_and_batches_of_two_devices_in_turns(dtype):
    """If not, pairs or times of impact are those of the wrong device's memory."""
    x = np.random.default_rng(1).standard_normal((60, 4, 3)).astype(dtype)
    points, rows = x.reshape(-1, 3), np.arange(240).reshape(-1, 3)
    structures = [pdgpu.collision.BroadPhase(points, rows, device=device, dtype=dtype) for device in ("cuda", last_device())]
    found = []
    for structure in structures:
        pairs = structure.pairs(points, -points)
        collisions = pdgpu.ccd.edge_edge(x, -x, device=structure.device)
        found.append([pairs.vertex_triangle, pairs.edge_edge, collisions.toi, collisions.iterations])
    assert len(found[0][0])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_device_that_is_not_there(dtype):
    """If not, a number that is too high ends in a text of the runtime, or on another device."""
    count = len(backend("cuda", dtype).devices())
    with pytest.raises(RuntimeError, match=rf"device: 'cuda:{count}' is not available: there .* 'cuda:0'"):
        simulation(f"cuda:{count}", dtype, pdgpu.Newton())
    assert backend("cuda:0", dtype) is backend("cuda", dtype)


def test_a_batch_makes_no_stream_and_no_memory_where_one_was_before(dtype, on_host):
    """If not, a search for the first impact pays for a stream, six allocations and their release, each a wait for the whole device."""
    if not on_host:
        pytest.skip("calls of the runtime are counted by its stand-in only")
    words = ("cudaMalloc", "cudaStreamCreate", "copies from the host", "copies to the host", "bytes copied")
    x = np.random.default_rng(2).standard_normal((100, 3)).astype(dtype)
    pairs = np.arange(100, dtype=np.int32).reshape(-1, 4)

    def asked(call):
        before = [calls_of_the_runtime(dtype, word) for word in words]
        call()
        return [calls_of_the_runtime(dtype, word) - count for word, count in zip(words, before, strict=True)]

    def first(n):
        return lambda: pdgpu.ccd.earliest(x, -x, vertex_triangle=pairs[:n], edge_edge=pairs[:n], device="cuda")

    asked(first(25))
    size = np.dtype(dtype).itemsize
    # there: both positions, both lists of pairs; back: the earliest collision, 24 bytes
    assert asked(first(20)) == [0, 0, 4, 1, 2 * x.size * size + 2 * 20 * 4 * 4 + 24]
