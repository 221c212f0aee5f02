"""Pairs that stay where a broad phase found them: what is asked of them is what `pdgpu.ccd` and `pdgpu.geometry` say of the same pairs."""

import dataclasses
import gc

import numpy as np
import pytest
from broad_phase_scenes import random_scene
from found_pairs_scene import corners, moving_scene, simulated

import pdgpu
from pdgpu.collision.collision import METHODS, BroadPhase


@pytest.fixture(params=["float64", "float32"])
def moving(request):
    """(broad phase, x_t0, x_t1) of two crossing sheets and a rod above them that falls through."""
    return moving_scene(request.param)


def assert_equal(found, expected):
    for field in dataclasses.fields(expected):
        np.testing.assert_array_equal(getattr(found, field.name), getattr(expected, field.name), err_msg=field.name)


def test_the_same_as_by_way_of_the_host(moving):
    """If not, what is computed on the device is of other pairs, or of positions that are not those of the search."""
    phase, start, end = moving
    found, expected = phase.search(start, end, distance=0.02), phase.pairs(start, end, distance=0.02)
    found = phase.search(start, end, distance=0.02)
    for part, wanted in zip(found.pairs(), expected, strict=True):
        np.testing.assert_array_equal(part, wanted)
    assert (found.n_vertex_triangle, found.n_edge_edge) == tuple(map(len, expected)) and min(map(len, expected)) > 50
    rows = corners(phase, expected)
    for separation in (0.0, 1e-3):
        earliest = pdgpu.ccd.earliest(start, end, separation=separation, **rows)
        assert found.earliest(separation=separation) == earliest and earliest.toi < 1.0
        for pair, of_pair in rows.items():
            for method in pdgpu.ccd.METHODS:
                wanted = getattr(pdgpu.ccd, pair)(start[of_pair], end[of_pair], separation, method)
                assert_equal(found.collisions(pair, separation=separation, method=method).numpy(), wanted)
            assert (wanted.reason == pdgpu.ccd.Reason.CONTACT).any()
    for pair, of_pair in rows.items():
        assert_equal(found.closest(pair).numpy(), getattr(pdgpu.geometry, pair)(start[of_pair]))


@pytest.mark.each_choice
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(6))
def test_every_structure(seed, method):
    """If not, a structure numbers its primitives in another way than the batches read them."""
    rest, end, triangles, rods, distance, options = random_scene(seed)
    end = rest if end is None else end
    phase = BroadPhase(rest, triangles, rods, method=method, **options)
    found = phase.search(rest, end, distance=distance)
    rows = corners(phase, found.pairs())
    for pair, of_pair in rows.items():
        assert_equal(found.closest(pair).numpy(), getattr(pdgpu.geometry, pair)(rest[of_pair]))
    assert found.earliest() == pdgpu.ccd.earliest(rest, end, **rows)


def test_nothing_moves(moving):
    """If not, a search of one state finds contacts on a way that is not taken."""
    phase, start, end = moving
    phase.search(start, end, distance=0.02)
    found = phase.search(start, distance=0.3)
    assert found.n_edge_edge > 0 and found.earliest() == pdgpu.ccd.Earliest(np.inf, None, -1)
    assert (found.collisions("edge_edge").numpy().toi == np.inf).all()


def test_a_later_search_ends_them(moving):
    """If not, an answer is of pairs that have gone."""
    phase, start, end = moving
    old = phase.search(start, end, distance=0.02)
    kept = old.closest("edge_edge")
    expected = kept.numpy()
    other = phase.search(end, start, distance=0.1)
    for ask in (old.pairs, old.earliest, lambda: old.closest("edge_edge"), lambda: old.collisions("edge_edge")):
        with pytest.raises(RuntimeError, match="these pairs are no longer valid"):
            ask()
    assert other.earliest().pair and other.closest("edge_edge")
    assert_equal(kept.numpy(), expected)  # its memory is its own
    phase.pairs(start)
    with pytest.raises(RuntimeError, match="these pairs are no longer valid"):
        other.pairs()


def test_results_outlive_what_they_came_from(moving):
    """If not, an array reads memory that was given back."""
    phase, start, end = moving
    times = phase.search(start, end, distance=0.02).collisions("edge_edge")
    expected, array = times.numpy(), np.asarray(times.iterations)
    del phase, moving
    gc.collect()
    assert_equal(times.numpy(), expected)
    np.testing.assert_array_equal(array, expected.iterations)
    assert times.time.shape == (len(array),) and "int32" in repr(times.iterations) and "uint8" in repr(times.reason)
    np.testing.assert_array_equal(np.from_dlpack(times.reason), expected.reason)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("same", [True, False])
def test_positions_of_a_simulation(same, dtype):
    """If not, a search of a simulation's own memory is of another state than the one it is in."""
    found, expected = simulated(same, dtype, "cpu")
    assert found == expected and found.toi < 1.0


def test_what_is_refused(moving):
    """If not, positions of another size or precision are read as if they were these."""
    phase, start, end = moving
    scene = pdgpu.Scene()
    scene.add_particles([[0.0, 0.0, 0.0]], mass=1.0)
    for dtype, error in ((phase.dtype.name, ValueError), ("float32" if phase.dtype == np.float64 else "float64", (TypeError, ValueError))):
        sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(), dt=0.1, dtype=dtype)
        with pytest.raises(error, match="x_t1: "):
            phase.search(start, sim.device_positions)
    with pytest.raises(TypeError, match="x_t0: expected positions, got None"):
        phase.search(None)
    found = phase.search(start, end)
    with pytest.raises(ValueError, match="pair: "):
        found.closest("vertex_edge")
    with pytest.raises(ValueError, match="method: "):
        found.earliest(method="newton")
    with pytest.raises(ValueError, match="separation: "):
        found.collisions("edge_edge", separation=-1.0)
