"""Schur complements on CUDA: where there is cuDSS nothing of the safe vertices comes down to the host; on the stand-in by one of cuDSS."""

import types

import numpy as np
import pytest
from device_parity import steps_on_both
from on_host_counts import calls_of_the_runtime

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


def over_a_floor(cells, material=None):
    """A bar that sinks on a floor at one of its ends, the other is held; with proxies in its lower side."""
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.beam((0.8, 0.2, 0.2), cells=cells)
    bar = scene.add_solid(mesh, material or pdgpu.ARAP(1e5), density=1000.0, name="bar")
    bar.pin(lambda points: points[:, 0] < 1e-9)
    bar.embed(np.random.default_rng(2).uniform((0.5, 0.01, 0.01), (0.79, 0.06, 0.19), size=(40, 3)), name="under")
    scene.add_obstacle(pdgpu.Plane((0.0, 0.03, 0.0), (0.0, 1.0, 0.0)))
    return scene


def near(points):
    """The region: with room for the corners of every tet that carries a proxy."""
    return (points[:, 1] < 0.11) & (points[:, 0] > 0.35)


@pytest.mark.parametrize("contact", [None, pdgpu.ProxyContact("under", stiffness=2e4)], ids=["alone", "proxies"])
@pytest.mark.parametrize("inner", [1, 3])
def test_as_the_host(inner, contact, dtype, resident):
    """If not, what couples safe and prone vertices has another sign or place on the device, or what is held moves."""
    solver = pdgpu.ProjectiveDynamics(iterations=4, linear=pdgpu.SchurDirect(near, inner=inner), check_every=1)
    cpu, _ = steps_on_both(types.SimpleNamespace(scene=over_a_floor((8, 2, 2)), contact=contact), solver, dtype)
    assert contact is None or 0 < cpu.proxies().active.sum() < 40


def test_targets_of_time(dtype, resident):
    """If not, a muscle on the device does not follow its script, or the elements between prone vertices keep the targets they had."""
    scene = over_a_floor((8, 2, 2), pdgpu.ShapeTarget(1e5, lambda time: np.diag([1.0 - 5.0 * time, 1.0 + 2.0 * time, 1.0])))
    solver = pdgpu.ProjectiveDynamics(iterations=4, linear=pdgpu.SchurDirect(near, inner=3), check_every=1)
    _, cuda = steps_on_both(types.SimpleNamespace(scene=scene, contact=None), solver, dtype)
    assert cuda.positions[:, 0].max() < 0.79


def copied(dtype, cells, contact):
    """Waits, copies to the host and from it, and bytes to the host, of an iteration."""
    counted = []
    for iterations in (5, 9):
        solver = pdgpu.ProjectiveDynamics(iterations=iterations, linear=pdgpu.SchurDirect(near, inner=3), check_every=100)
        sim = pdgpu.Simulation(over_a_floor(cells), solver, contact=contact, device="cuda", dtype=dtype)
        sim.step(2)
        what = ("copies to the host", "copies from the host", "bytes to the host")
        before = sim._core.backend.counts(), [calls_of_the_runtime(dtype, name) for name in what]
        sim.step()
        after = sim._core.backend.counts(), [calls_of_the_runtime(dtype, name) for name in what]
        assert after[0]["allocations"] == before[0]["allocations"]
        counted.append([after[0]["waits"] - before[0]["waits"], *(b - a for a, b in zip(before[1], after[1], strict=True))])
    return ((np.array(counted[1]) - counted[0]) / 4).tolist()


@pytest.mark.filterwarnings("ignore:obstacles")
def test_nothing_of_the_safe_vertices_comes_down(dtype, on_host, monkeypatch):
    """If not, the residual still goes to the host in every iteration, and the direction back."""
    if not on_host:
        pytest.skip("copies are counted in the stand-in alone")
    cells = (10, 2, 2)
    points = pdgpu.shapes.beam((0.8, 0.2, 0.2), cells=cells).points
    monkeypatch.setenv("PDGPU_CUDSS", "off")
    # residual and d2 down, y2 and direction up
    down = 3 * np.dtype(dtype).itemsize * (len(points) + near(points).sum())
    assert copied(dtype, cells, None) == [4, 2, 2, down]
    monkeypatch.setenv("PDGPU_CUDSS", "stand-in")
    assert copied(dtype, cells, None) == [0, 0, 0, 0]


def test_with_proxies_what_comes_down_is_theirs(dtype, on_host, monkeypatch):
    """If not, contact that changes brings the residual down with it: what is copied grows with the vertices, not with the proxies."""
    if not on_host:
        pytest.skip("copies are counted in the stand-in alone")
    contact = pdgpu.ProxyContact("under", stiffness=2e4)
    monkeypatch.setenv("PDGPU_CUDSS", "stand-in")
    few, many = (copied(dtype, cells, contact) for cells in ((10, 2, 2), (20, 2, 2)))
    assert few[3] == many[3] > 0
    monkeypatch.setenv("PDGPU_CUDSS", "off")
    few, many = (copied(dtype, cells, contact) for cells in ((10, 2, 2), (20, 2, 2)))
    assert many[3] > few[3]
