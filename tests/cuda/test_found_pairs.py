"""A search and the batches after it on CUDA: the pairs of the CPU, and no copy to the host that was not asked for."""

import numpy as np
import pytest
from device_parity import assert_times
from found_pairs_scene import moving_scene, simulated
from on_host_counts import calls_of_the_runtime

import pdgpu

pytestmark = pytest.mark.gpu


def test_as_on_the_cpu(dtype):
    """If not, what stays on the device is another answer than what comes from there."""
    phase, start, end = moving_scene(dtype, "cuda")
    cpu, _, _ = moving_scene(dtype)
    found, expected = (one.search(start, end, distance=0.02) for one in (phase, cpu))
    for part, wanted in zip(found.pairs(), expected.pairs(), strict=True):
        np.testing.assert_array_equal(part, wanted)
    exact = dtype == "float64"
    for pair in ("vertex_triangle", "edge_edge"):
        times, wanted = (one.collisions(pair, separation=1e-3).numpy() for one in (found, expected))
        assert_times(times, wanted, dtype)
        assert np.isfinite(wanted.toi).sum() > 5
        near, wanted = (one.closest(pair).numpy() for one in (found, expected))
        np.testing.assert_allclose(near.distance, wanted.distance, rtol=1e-10 if exact else 1e-4, atol=1e-12 if exact else 1e-6)
    # the least of its own times; it comes from another kernel, in which nvcc may fuse other products
    earliest = found.earliest(separation=1e-3)
    least = min(found.collisions(pair, separation=1e-3).numpy().toi.min() for pair in ("vertex_triangle", "edge_edge"))
    assert earliest.toi == pytest.approx(least, abs=1e-9 if exact else 1e-3)


@pytest.mark.parametrize("same", [True, False])
def test_positions_of_a_simulation(same, dtype):
    """If not, a search of a simulation's own memory is of another state than the one it is in, or comes before its last step is done."""
    found, expected = simulated(same, dtype, "cuda")
    assert found == expected and found.toi < 1.0


def test_nothing_goes_by_way_of_the_host(dtype, on_host):
    """If not, batches after a search cost copies of positions and pairs, memory, and round trips."""
    if not on_host:
        pytest.skip("what is asked of the runtime is counted by its stand-in alone")
    phase, start, end = moving_scene(dtype, "cuda")
    scene = pdgpu.Scene()
    scene.add_particles(start, mass=1.0)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=1), dt=0.1, dtype=dtype, device="cuda")
    own = type(phase)(start, phase.triangles, [[98, 99]], dtype=dtype, device="cuda", simulation=sim)
    whats = ("copies from the host", "copies to the host", "cudaMalloc", "cudaStreamCreate")

    def ask():
        sim.set_state(positions=end)
        before = [calls_of_the_runtime(dtype, what) for what in whats], own.counts["waits"]
        found = own.search(sim.device_positions, distance=0.1)
        kept = [found.closest(pair) for pair in ("vertex_triangle", "edge_edge")]
        kept += [found.collisions(pair) for pair in ("vertex_triangle", "edge_edge")]
        assert found.n_edge_edge > 50
        after = [calls_of_the_runtime(dtype, what) for what in whats], own.counts["waits"]
        return found, kept, [b - a for a, b in zip(before[0], after[0], strict=True)], after[1] - before[1]

    ask()
    found, kept, calls, waits = ask()
    assert waits == 1  # the costs of the trees and how many pairs there are, together
    assert calls == [0, 1, 0, 0]
    before = calls_of_the_runtime(dtype, whats[1]), own.counts["waits"]
    found.earliest()
    kept[2].numpy()
    assert (calls_of_the_runtime(dtype, whats[1]) - before[0], own.counts["waits"] - before[1]) == (1 + 3, 1 + 3)
    # positions of the host: both sent, and not waited for
    phase.search(start, end, distance=0.02)
    before = calls_of_the_runtime(dtype, whats[0]), phase.counts["waits"]
    phase.search(start, end, distance=0.02)
    assert (calls_of_the_runtime(dtype, whats[0]) - before[0], phase.counts["waits"] - before[1]) == (2, 1)
    launches = calls_of_the_runtime(dtype, "launches")
    phase.search(start, end, distance=0.02).earliest()
    assert calls_of_the_runtime(dtype, "launches") - launches == 28  # beside the sorts, which are a library's


def test_a_batch_of_arrays_waits_once(dtype, on_host):
    """If not, every array of a batch is a round trip."""
    x = np.random.default_rng(5).random((40, 4, 3)).astype(dtype)
    pdgpu.geometry.edge_edge(x, device="cuda")
    counts = pdgpu._internal.backends.backend("cuda", dtype).workspace_counts
    before = counts()
    pdgpu.geometry.edge_edge(x, device="cuda")  # one array there, five back
    after = counts()
    assert after["waits"] == before["waits"] + 1 and after["allocations"] == before["allocations"]
