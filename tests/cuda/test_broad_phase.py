"""The broad phase on CUDA finds the very pairs of the CPU, whose own are held against brute force."""

import numpy as np
import pytest
from broad_phase_scenes import digest, random_scene, three_spheres

import pdgpu
from pdgpu.collision.collision import METHODS, BroadPhase

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


def both(points, triangles, edges=None, *, dtype, **options):
    return [BroadPhase(points, triangles, edges, dtype=dtype, device=device, **options) for device in ("cpu", "cuda")]


def assert_same(cpu, cuda, *positions, **options):
    """The pairs of both, which are the same and not aliases of each other's memory."""
    expected, found = cpu.pairs(*positions, **options), cuda.pairs(*positions, **options)
    for part, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(part, wanted)
    assert digest(found) == digest(expected)
    return found


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 36))])
def test_the_pairs_of_the_cpu(seed, method, dtype):
    """If not, a pair that touches is never looked at on one of the two."""
    rest, end, triangles, rods, distance, options = random_scene(seed)
    cpu, cuda = both(rest, triangles, rods, method=method, dtype=dtype, **options)
    assert_same(cpu, cuda, rest, end, distance=distance)
    assert_same(cpu, cuda, rest, distance=0.0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("own", [True, False, [True, False, True]])
def test_bodies(method, own, dtype):
    """If not, bodies pass through each other, or are kept from folding onto themselves without being asked to."""
    points, triangles, bodies = three_spheres(1)
    cpu, cuda = both(points, triangles, method=method, bodies=bodies, self_collision=own, fixed=bodies == 2, dtype=dtype)
    found = assert_same(cpu, cuda, points, distance=0.05)
    assert len(found.vertex_triangle) > 0 and len(found.edge_edge) > 0


def geometric(n):
    """Points ever nearer to the origin: a tree as deep as its keys allow."""
    points = np.zeros((n, 3))
    points[:, 0] = 2.0 ** -np.arange(n)
    points[1::2, 1] = 2.0 ** -np.arange(n)[1::2]
    return points


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("points", "triangles", "rods"),
    [
        (np.zeros((0, 3)), [], []),
        (np.eye(3), [[0, 1, 2]], []),
        (np.ones((6, 3)), [[0, 1, 2], [3, 4, 5]], []),
        (np.eye(4, 3), [], [[0, 1], [2, 3]]),
        pytest.param(np.ones((600, 3)), np.arange(600).reshape(-1, 3), [], marks=pytest.mark.slow),
        (geometric(60), np.arange(60).reshape(-1, 3), []),
        (geometric(60), [], np.arange(60).reshape(-1, 2)),
    ],
    ids=["nothing", "one triangle", "two in one place", "rods", "200 in one place", "deep", "deep rods"],
)
def test_extremes(points, triangles, rods, method, dtype):
    """If not, a kernel is started with nothing to do, or relies on keys that differ in more than their last bits."""
    cpu, cuda = both(points, triangles, rods, method=method, dtype=dtype)
    for distance in (0.0, 0.1):
        assert_same(cpu, cuda, points, distance=distance)


@pytest.mark.parametrize("method", METHODS)
def test_more_than_one_block(method, dtype):
    """If not, what blocks add up or join is wrong where there are several."""
    rng = np.random.default_rng(12)
    grid = pdgpu.shapes.grid((1, 1), cells=(23, 23))
    cpu, cuda = both(grid.points, grid.triangles, method=method, dtype=dtype)
    end = grid.points + 0.01 * rng.standard_normal(grid.points.shape)
    found = assert_same(cpu, cuda, grid.points, end, distance=0.01)
    assert len(found.edge_edge) > 3000


def test_refit_and_rebuild(dtype):
    """If not, a tree that has become bad is kept, or a good one is built again and again; the pairs are those of a new one."""
    rng = np.random.default_rng(13)
    grid = pdgpu.shapes.grid((1, 1), cells=(8, 8))
    cpu, cuda = both(grid.points, grid.triangles, dtype=dtype)
    x = grid.points.copy()
    for step in range(5):
        x = x + 0.01 * rng.standard_normal(x.shape)
        assert_same(cpu, cuda, x, distance=0.02, rebuild=step == 3)
    assert cuda.counts["builds"] == 4 and cuda.counts["refits"] == 6
    scrambled = rng.permutation(x)
    assert_same(cpu, cuda, scrambled)
    assert cuda.counts["builds"] == 6 and cuda.counts["refits"] == 8
    assert {key: cuda.counts[key] for key in ("builds", "refits")} == {key: cpu.counts[key] for key in ("builds", "refits")}
    assert_same(cpu, cuda, scrambled)
    assert cuda.counts["builds"] == 6


@pytest.mark.parametrize("method", METHODS)
def test_room_grows_and_no_pair_is_lost(method, dtype):
    """If not, pairs beyond the first room are missing, or are asked for in every search."""
    rng = np.random.default_rng(14)
    points = rng.random((90, 3))
    cpu, cuda = both(points, np.arange(90).reshape(-1, 3), method=method, dtype=dtype)
    found = assert_same(cpu, cuda, points, distance=2.0)  # everything is near everything
    assert len(found.vertex_triangle) == 90 * 29 and len(found.edge_edge) == 90 * 87 // 2
    counts = cuda.counts
    assert counts["retries"] == cpu.counts["retries"] >= 2 and counts["pair_capacity"] == cpu.counts["pair_capacity"]
    assert_same(cpu, cuda, points, distance=2.0)
    assert cuda.counts["retries"] == counts["retries"] and cuda.counts["allocations"] == counts["allocations"]


# both lists in one, and looks: at the room for pairs of patches, the bounds and sizes of the grids; and at
# the room for both lists with the costs of the trees
@pytest.mark.parametrize(("method", "looks"), [("lbvh", 1), ("patches", 2), ("hash", 3)])
def test_a_search_allocates_nothing_and_waits_only_where_it_looks(method, looks, dtype):
    """If not, a search costs more in allocations and round trips than in kernels."""
    rng = np.random.default_rng(15)
    points = rng.random((60, 3))
    phase = BroadPhase(points, np.arange(60).reshape(-1, 3), method=method, dtype=dtype, device="cuda")
    end = points + 0.01
    assert min(len(part) for part in phase.pairs(points, end, distance=0.2)) > 0
    before = phase.counts
    phase.pairs(points, end, distance=0.2)
    after = phase.counts
    assert after["allocations"] == before["allocations"] and after["waits"] == before["waits"] + 1 + looks
    phase.pairs(points, end, distance=0.2, rebuild=True)
    assert phase.counts["allocations"] == before["allocations"] and phase.counts["waits"] == after["waits"] + 1 + looks


def test_a_tree_that_a_jump_has_made_costly_is_not_searched(dtype):
    """If not, bodies that change places are looked for in a tree that does not fit them: a hundred times as long, to the same pairs."""
    rng = np.random.default_rng(16)
    corners = np.stack(np.meshgrid(*[np.arange(6.0)] * 3), axis=-1).reshape(-1, 1, 3)
    small = np.array([[0.0, 0.0, 0.0], [0.9, 0.0, 0.0], [0.0, 0.9, 0.2]])
    start, mixed = ((corners[order] + small).reshape(-1, 3) for order in (np.arange(216), rng.permutation(216)))
    cpu, cuda = both(start, np.arange(648).reshape(-1, 3), method="lbvh", dtype=dtype)
    assert_same(cpu, cuda, start, distance=0.2)
    for jump, looks in ((True, 2), (False, 1)):
        before = cuda.counts
        found = assert_same(cpu, cuda, mixed, distance=0.2)
        assert len(found.vertex_triangle) > 500
        after = cuda.counts
        assert after["builds"] - before["builds"] == (2 if jump else 0) and after["refits"] - before["refits"] == 2
        assert after["waits"] - before["waits"] == 1 + looks
        assert (after["builds"], after["refits"]) == (cpu.counts["builds"], cpu.counts["refits"])


@pytest.mark.parametrize("method", METHODS)
def test_seconds_of_the_device(method, dtype):
    """If not, a timing of the device is of another search."""
    points = np.random.default_rng(16).random((30, 3))
    phase = BroadPhase(points, np.arange(30).reshape(-1, 3), method=method, dtype=dtype, device="cuda")
    assert phase.seconds == (0.0, 0.0)
    phase.pairs(points)
    structure, pairs = phase.seconds
    assert structure > 0.0 and pairs > 0.0


def test_out_of_memory(on_host, monkeypatch, dtype):
    """If not, a list for which there is no memory ends in a crash, or the next search finds fewer pairs."""
    if not on_host:
        pytest.skip("errors are provoked in the stand-in for a device only")
    points = np.random.default_rng(17).random((90, 3))
    cpu, cuda = both(points, np.arange(90).reshape(-1, 3), dtype=dtype)
    assert_same(cpu, cuda, points)
    monkeypatch.setenv("PD_ON_HOST_FAILS", "cudaMalloc 2")
    with pytest.raises(MemoryError, match="out of device memory"):
        cuda.pairs(points, distance=2.0)
    monkeypatch.undo()
    assert_same(cpu, cuda, points, distance=2.0)
    assert_same(cpu, cuda, points)


@pytest.mark.large
@pytest.mark.parametrize("method", METHODS)
def test_a_large_scene(method, dtype):
    """If not, sizes beyond those of the other tests break a kernel, or blocks that really run at the same time do."""
    rng = np.random.default_rng(18)
    grid = pdgpu.shapes.grid((1, 1), cells=(300, 300))
    # 540,000 triangles; the distance gives a few million pairs, which the host compares in seconds
    layers = np.concatenate([grid.points + [0, 0, 0.001 * k] for k in range(3)])
    triangles = np.concatenate([grid.triangles + len(grid.points) * k for k in range(3)])
    cpu, cuda = both(layers, triangles, method=method, dtype=dtype)
    x = layers
    for _ in range(3):
        start, x = x, x + 0.0003 * rng.standard_normal(x.shape)
        found = assert_same(cpu, cuda, start, x, distance=0.0003)
    assert len(found.edge_edge) > 1e6
