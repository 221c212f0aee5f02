"""Distances of pairs and times of impact on a CUDA device, against the CPU, the truth in 113-bit arithmetic, and published answers."""

import subprocess

import numpy as np
import pytest
from collision_queries import CLASSES, Verifier, generate
from device_parity import assert_times
from inputs import data_file
from pdgpu.ccd import METHODS, Reason

from pdgpu import ccd, geometry

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]

MOVING = {"vertex_triangle": ccd.vertex_triangle, "edge_edge": ccd.edge_edge}
QUERIES = 300  # of each class: more than one block


def pairs(kind, dtype, n=700):
    """Random pairs of a kind, the last hundred of them degenerate: points in one place, on one line, in one plane, of integers."""
    k = geometry.CORNERS[geometry.PAIRS.index(kind)]
    x = np.random.default_rng(k).uniform(-1, 1, (n, k, 3))
    x[-100:-75] = x[-100:-75, :1]
    x[-75:-50, :, 1:] = 0
    x[-50:-25, :, 2] = 0
    x[-25:] = np.round(2 * x[-25:])
    return x.astype(dtype)


@pytest.mark.parametrize("kind", geometry.PAIRS)
def test_closest_points(kind, dtype):
    """If not, the formula that compiles for the GPU is not the one that was checked on the CPU."""
    x, near = pairs(kind, dtype), 1e-13 if dtype == "float64" else 3e-6
    gpu, cpu = getattr(geometry, kind)(x, device="cuda"), getattr(geometry, kind)(x.astype(float))
    assert all(getattr(gpu, name).dtype == dtype for name in ("distance", "weights", "gap", "normal"))
    np.testing.assert_allclose(gpu.distance, cpu.distance, rtol=0, atol=near)
    np.testing.assert_allclose(np.einsum("nk,nki->ni", gpu.weights, x), gpu.gap, rtol=0, atol=near)
    np.testing.assert_allclose(np.linalg.norm(gpu.gap, axis=1), gpu.distance, rtol=0, atol=near)
    np.testing.assert_allclose(np.linalg.norm(gpu.normal, axis=1), 1, rtol=0, atol=near)
    general = slice(0, -100)
    np.testing.assert_array_equal(gpu.feature[general], cpu.feature[general])
    np.testing.assert_allclose(gpu.weights[general], cpu.weights[general], rtol=0, atol=1e3 * near)


@pytest.mark.parametrize("kind", geometry.PAIRS)
def test_derivatives_and_lower_bound(kind, dtype):
    """If not, contact forces on the GPU are not those of the CPU."""
    x, near = pairs(kind, dtype), 1e-11 if dtype == "float64" else 1e-3
    general = slice(0, -100)
    for squared in (False, True):
        for function in (geometry.gradient, geometry.hessian):
            gpu, cpu = function(kind, x, squared=squared, device="cuda"), function(kind, x.astype(float), squared=squared)
            assert gpu.dtype == dtype and gpu.shape == cpu.shape and np.isfinite(gpu).all()
            size = np.maximum(np.abs(cpu).max(axis=(1, 2)), 1)
            assert (np.abs(gpu - cpu).max(axis=(1, 2)) / size)[general].max() < near
    bound, distance = geometry.lower_bound(kind, x, device="cuda"), getattr(geometry, kind)(x.astype(float)).distance
    assert (bound <= distance).all()
    np.testing.assert_allclose(bound[general], distance[general], rtol=0, atol=1e-13 if dtype == "float64" else 1e-4)


def test_mollifier(dtype):
    """If not, nearly parallel edges push otherwise on the GPU."""
    x, rest = pairs("edge_edge", dtype), np.roll(pairs("edge_edge", dtype), 1, axis=0)
    x[:200, 3] = x[:200, 2] + (x[:200, 1] - x[:200, 0]) + np.asarray(0.01, dtype) * x[:200, 3]
    gpu = geometry.edge_edge_mollifier(x, rest, derivatives=True, device="cuda")
    cpu = geometry.edge_edge_mollifier(x.astype(float), rest.astype(float), derivatives=True)
    assert (cpu[0][:200] < 0.5).sum() > 20
    for a, b in zip(gpu, cpu, strict=True):
        a, b = a[:-101], b[:-101]  # the rest is degenerate, or is at rest: the threshold is rounding, or zero
        np.testing.assert_allclose(a, b, rtol=0, atol=(1e-11 if dtype == "float64" else 1e-3) * np.abs(b).max())


@pytest.fixture(scope="module")
def verifier(tmp_path_factory):
    try:
        return Verifier(tmp_path_factory.mktemp("truth"))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no C compiler with __float128: collisions on the GPU are not held against the truth ({error})")


@pytest.mark.parametrize("kind", MOVING)
@pytest.mark.parametrize("name", CLASSES)
def test_times_of_impact(verifier, kind, name, dtype):
    """If a contact is missed there, things fall through each other on the GPU."""
    random = np.random.default_rng([3, CLASSES.index(name), len(kind)])
    x0, x1 = (x.astype(dtype) for x in generate(name, QUERIES, kind == "edge_edge", random))
    gpu = [MOVING[kind](x0, x1, method=method, device="cuda") for method in METHODS]
    truth = verifier(kind == "edge_edge", x0, x1, [found.toi for found in gpu])
    hit, seen = ~np.isnan(truth.time), geometry.lower_bound(kind, x0).astype(float)
    for method, found, late, after in zip(METHODS, gpu, truth.late, truth.after, strict=True):
        assert found.toi.dtype == dtype
        assert np.isfinite(found.toi[hit]).all(), method
        assert not late[hit].any(), method
        if method != "min_gradient":
            assert (after >= 0.0999 * seen)[np.isfinite(found.toi)].all(), method
        cpu = MOVING[kind](x0, x1, method=method)
        # in these two classes distances are close to rounding, and more queries differ
        assert_times(found, cpu, dtype, 0.85 if name in ("translation", "slivers and parallel edges") else 0.985)


def test_separation_and_reasons(dtype):
    """If not, thickness is lost on the GPU without a word."""
    triangle = [(0.0, 0, 0), (1, 0, 0), (0, 1, 0)]
    start = np.array([[(0.25, 0.25, h), *triangle] for h in (0.05, 0.5, 1.0, 1.0)]).astype(dtype)
    end = start.copy()
    end[3, 0, 2] = -1
    for method in METHODS:
        found = ccd.vertex_triangle(start, end, separation=0.1, method=method, device="cuda")
        expected = [Reason.START_TOO_CLOSE, Reason.NO_CONTACT, Reason.NO_CONTACT, Reason.CONTACT]
        np.testing.assert_array_equal(found.reason, expected)
        np.testing.assert_array_equal(found.toi[:3], [0, np.inf, np.inf])
        assert 0.85 * 0.45 < found.toi[3] <= 0.45


@pytest.mark.parametrize("method", METHODS)
def test_earliest_is_the_smallest_of_all(method, dtype):
    """If not, a step on the GPU goes too far, or ends at another contact from run to run."""
    random = np.random.default_rng(0)
    x0 = random.uniform(-1, 1, (300, 3)).astype(dtype)
    x1 = x0 + random.normal(size=x0.shape).astype(dtype) * np.asarray(0.3, dtype)
    rows = np.argsort(random.uniform(size=(1500, 300)), axis=1)[:, :4]
    keep = {}
    for kind, function in MOVING.items():
        found = function(x0[rows], x1[rows], method=method, device="cuda")
        free = found.reason != Reason.START_TOO_CLOSE
        keep[kind], toi = np.concatenate([rows[free]] * 2), found.toi[free]
        best = ccd.earliest(x0, x1, **{kind: keep[kind]}, method=method, device="cuda")
        # The first of equal times. It comes from another kernel, in which nvcc may fuse other products.
        rounding = 1e-9 if dtype == "float64" else 1e-3
        assert best.pair == kind and best.index < len(rows[free])
        assert best.toi == pytest.approx(toi.min(), abs=rounding) and toi[best.index] == pytest.approx(toi.min(), abs=rounding)
    both = ccd.earliest(x0, x1, **keep, method=method, device="cuda")
    assert both == min((ccd.earliest(x0, x1, **{k: v}, method=method, device="cuda") for k, v in keep.items()), key=lambda b: b.toi)
    for first, second in ((keep["vertex_triangle"], keep["edge_edge"]), (keep["edge_edge"], keep["vertex_triangle"])):
        lists = {"vertex_triangle": first, "edge_edge": second}
        expected = ccd.earliest(x0, x1, **lists, method=method)
        assert ccd.earliest(x0, x1, **lists, method=method, device="cuda").pair == expected.pair
    assert ccd.earliest(x0, x0, **keep, method=method, device="cuda") == ccd.Earliest(np.inf, None, -1)
    assert ccd.earliest(x0, x1, device="cuda") == ccd.Earliest(np.inf, None, -1)


@pytest.mark.parametrize("method", METHODS)
def test_published_answers(method, dtype):
    """If one is missed, something passes through something."""
    data = np.load(data_file("ccd/queries_handcrafted.npz"))
    for kind, mask in (("vertex_triangle", data["is_ee"] == 0), ("edge_edge", data["is_ee"] == 1)):
        x, hit, toi = data["X"][mask], data["hit"][mask], data["toi"][mask]
        hit = hit & (x.astype(dtype) == x).all(axis=(1, 2))  # rounded to float32 the others are other queries
        found = MOVING[kind](x[:, :4].astype(dtype), x[:, 4:].astype(dtype), method=method, device="cuda")
        assert hit.sum() > 20  # 21 edge-edge hits are exact in float32
        assert (found.toi <= toi)[hit].all()


def test_bad_input_is_refused_as_on_the_cpu(dtype):
    """If not, a wrong array is an error here and a crash there."""
    good = np.random.default_rng(0).uniform(size=(2, 4, 3)).astype(dtype)
    bad = good.copy()
    bad[1, 0, 2] = np.nan
    calls = [
        lambda where: geometry.vertex_triangle(good[:, :3], device=where),
        lambda where: geometry.edge_edge(bad, device=where),
        lambda where: geometry.gradient("face", good, device=where),
        lambda where: geometry.hessian("edge_edge", [["a"]], device=where),
        lambda where: geometry.edge_edge_mollifier(good, good[:1], device=where),
        lambda where: ccd.vertex_triangle(good, bad, device=where),
        lambda where: ccd.edge_edge(good, good[:1], device=where),
        lambda where: ccd.edge_edge(good, good, separation=-1, device=where),
        lambda where: ccd.edge_edge(good, good, method="newton", device=where),
        lambda where: ccd.earliest(good[0], good[0], edge_edge=[[0, 1, 4, 3]], device=where),
        lambda where: ccd.earliest(good[0], good[0], vertex_triangle=[[0.0, 1, 2, 3]], device=where),
        lambda where: ccd.earliest(good[0], bad[1], device=where),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError)) as cpu:
            call("cpu")
        with pytest.raises(cpu.type) as gpu:
            call("cuda")
        assert str(gpu.value) == str(cpu.value)
    nothing = np.zeros((0, 4, 3), dtype)
    assert geometry.vertex_triangle(nothing, device="cuda").distance.shape == (0,)
    assert ccd.edge_edge(nothing, nothing, device="cuda").toi.shape == (0,)
