"""What is near what on CUDA: the very lists of the CPU, whose own are held against measuring all pairs."""

import numpy as np
import pytest
from proximity_oracle import find, make

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


def both(seed, dtype, **options):
    (_, cpu, x, _), (phase, cuda, _, _) = (make(seed, dtype=dtype, device=device, **options) for device in ("cpu", "cuda"))
    return cpu, cuda, x, phase


def assert_same(expected, found, dtype):
    """The same lists; numbers to rounding, which may be another one with fused multiply-adds."""
    for name in ("kind", "vertices", "bodies"):
        np.testing.assert_array_equal(found[name], expected[name])
    # two features may be equally near; a real fault changes more than one pair in a hundred
    assert (found["feature"] != expected["feature"]).sum() <= 1 + len(found["kind"]) // 100
    u = np.finfo(dtype).eps
    np.testing.assert_allclose(found["distance"], expected["distance"], atol=200 * u)
    np.testing.assert_allclose(found["points"][:, 0] - found["points"][:, 1], found["distance"][:, None] * found["normal"], atol=200 * u)
    np.testing.assert_array_equal(found["positions"], expected["positions"])


@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("seed", [0, 2, pytest.param(3, marks=pytest.mark.slow), pytest.param(5, marks=pytest.mark.slow)])
def test_the_pairs_of_the_cpu(seed, unique, dtype):
    """If not, a contact pushes on one of the two only."""
    cpu, cuda, x, _ = both(seed, dtype)
    for distance in (0.0, 0.07, 0.33):
        expected, found = (find(core, x, distance, unique) for core in (cpu, cuda))
        assert_same(expected, found, dtype)
        for name, rows in cpu.active().items():
            np.testing.assert_array_equal(cuda.active()[name], rows)
        for mine, wanted in zip(cuda.incidence(), cpu.incidence(), strict=True):
            np.testing.assert_array_equal(mine, wanted)
    assert len(found["kind"]) > 300
    empty, nothing, y, _ = both(seed, dtype, n=12, colliders=0)
    assert len(find(nothing, 100 * y, 0.0)["kind"]) == len(find(empty, 100 * y, 0.0)["kind"]) == 0
    assert nothing.incidence()[0].tolist() == [0] * 13


def test_points_that_follow_vertices(dtype):
    """If not, a surface that hangs on a coarser mesh is somewhere else on the GPU."""
    random = np.random.default_rng(7)
    rows = np.array([random.choice(12, 4, replace=False) for _ in range(30)], np.int32)
    weights = random.dirichlet(np.ones(4), 30).astype(dtype)
    cpu, cuda, x, _ = both(3, dtype, n_vertices=12, rows=rows, weights=weights)
    expected, found = (core.find(x[:12], x[30:], 0.3, True) for core in (cpu, cuda))
    np.testing.assert_allclose(found["positions"], expected["positions"], atol=4 * np.finfo(dtype).eps)
    plain = make(3, dtype=dtype)[1]
    assert_same(find(plain, found["positions"], 0.3, True), found, dtype)


def test_the_reach(dtype):
    """If not, the list on the GPU is kept for longer than it is good."""
    cpu, cuda, x, _ = both(0, dtype)
    nothing = np.zeros((0, 3), dtype)
    random = np.random.default_rng(1)
    searches = 0
    for _ in range(12):
        x = (x + 0.01 * random.normal(size=x.shape)).astype(dtype)
        (a, lists), (b, found) = (core.update(x, nothing, 0.1, 0.3) for core in (cpu, cuda))
        # nvcc may fuse other products of this norm; a missing move changes it by 1e-2
        assert abs(a - b) <= 4 * np.finfo(dtype).eps and (lists is None) == (found is None)
        # the CPU drops plainly far candidates at once, where a device would wait for their number
        for mine, wanted in zip(found or (), lists or (), strict=True):
            assert {tuple(pair) for pair in wanted.tolist()} <= {tuple(pair) for pair in mine.tolist()}
        searches += found is not None
    assert 1 < searches < 12


def test_a_second_search_allocates_nothing(dtype):
    """If not, a step waits for the allocator, and a recorded graph points to memory that is gone."""
    _, cuda, x, phase = both(2, dtype)
    expected = find(cuda, x, 0.33, True)
    cuda.incidence()
    before, revision = phase.counts["allocations"], cuda.counts()["revision"]
    again = find(cuda, x, 0.33, True)
    cuda.incidence()
    assert phase.counts["allocations"] == before and cuda.counts()["revision"] == revision
    assert_same(expected, again, dtype)


def test_out_of_memory(on_host, monkeypatch, dtype):
    """If not, a list for which there is no memory ends in a crash, or takes the list that was there along."""
    if not on_host:
        pytest.skip("errors are provoked in the stand-in for a device only")
    cpu, cuda, x, phase = both(2, dtype, n=90)
    find(cuda, x, 0.02)
    capacity = cuda.counts()["capacity"]
    for what in ("out of device memory", r"no memory for \d\d\d\d+ candidates: out of device memory: \d+ bytes"):
        monkeypatch.setenv("PD_ON_HOST_FAILS", "cudaMalloc 2")
        with pytest.raises(MemoryError, match=what):
            find(cuda, x, 2.0)
        assert cuda.counts() == {"active": 0, "capacity": capacity, "revision": cuda.counts()["revision"]}
        monkeypatch.undo()
        assert_same(find(cpu, x, 0.02), find(cuda, x, 0.02), dtype)
        phase.pairs(x, distance=2.0)  # from here on the broad phase has room
    assert_same(find(cpu, x, 2.0), find(cuda, x, 2.0), dtype)
