"""The factor of a Hessian on CUDA: by cuDSS where that is installed, on the stand-in by one of cuDSS; against the host's."""

import numpy as np
import pytest
import scenes
from device_parity import assert_counts
from on_host_counts import calls_of_the_runtime

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("resident")]


def both(scene, solver, dtype, start=None, steps=1, dt=1 / 30):
    """The same steps on CUDA and on the CPU, one thread."""
    sims = [pdgpu.Simulation(scene, solver, device=device, dtype=dtype, dt=dt, threads=1) for device in ("cuda", "cpu")]
    for sim in sims:
        if start is not None:
            sim.set_state(positions=start)
        sim.step(steps, record=True)
    return sims


def squeezed():
    """A block that is pressed together so far that its Hessian is indefinite. Returns scene, start."""
    mesh = pdgpu.shapes.beam((0.6, 0.3, 0.3), cells=(4, 2, 2))
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    scene.add_solid(mesh, pdgpu.StVK(1e4, 1e4), density=100.0).pin(mesh.points[:, 0] < 1e-9)
    return scene, mesh.points * [0.5, 1.0, 1.0] + 0.002 * np.random.default_rng(0).normal(size=mesh.points.shape) * (mesh.points[:, :1] > 0)


def test_where_the_hessian_is_indefinite(dtype):
    """If not, Newton goes along a factor of a matrix that has none, and never projects it."""
    scene, start = squeezed()
    sims = both(scene, pdgpu.Newton(iterations=1), dtype, start)
    smallest = np.linalg.eigvalsh(sims[1].hessian(start).toarray()).min()
    assert smallest < -10.0
    moved = np.abs(sims[1].positions - start).max()
    np.testing.assert_allclose(sims[0].positions, sims[1].positions, atol=(1e-10 if dtype == "float64" else 2e-3) * moved)


def test_down_to_the_minimum(dtype):
    """If not, a step on the device ends elsewhere, or takes more iterations for it."""
    scene, start = squeezed()
    cuda, cpu = both(scene, pdgpu.Newton(iterations=30, check_every=1, tolerance=1e-9 if dtype == "float64" else 1e-4), dtype, start)
    assert cpu.last_step.status == cuda.last_step.status == "converged"
    # the last norm may lie within rounding of the tolerance: one iteration more or less
    assert_counts(cuda.last_step["iteration"][-1], cpu.last_step["iteration"][-1], dtype)
    np.testing.assert_allclose(cuda.positions, cpu.positions, atol=1e-9 if dtype == "float64" else 1e-4)


def test_where_even_the_projected_one_is_singular(dtype):
    """If not, a body at rest on no energy at all cannot be solved for, or a step without an answer names no vertex."""
    sim = pdgpu.Simulation(scenes.limited(), pdgpu.Newton(iterations=200), dt=None, device="cuda", dtype=dtype)
    first = np.linalg.norm(sim.gradient())
    sim.step()
    assert np.linalg.norm(sim.gradient()) < (1e-11 if dtype == "float64" else 1e-3) * first
    said = []
    for device in ("cpu", "cuda"):
        with pytest.raises(pdgpu.DivergenceError, match="Newton diverged at iteration 1: the projected Hessian") as caught:
            pdgpu.Simulation(scenes.powerless(), pdgpu.Newton(), dt=None, device=device, dtype=dtype).step()
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_with_rigid_bodies(dtype):
    """If not, the six numbers of a body are read from other rows than they stand in."""
    cuda, cpu = both(scenes.linkage(), pdgpu.Newton(iterations=6), dtype, steps=2)
    # in float32 the backends differ by that much whatever factorises: joints are stiff, and six iterations are too few
    np.testing.assert_allclose(cuda.positions, cpu.positions, atol=1e-9 if dtype == "float64" else 2e-3)


def test_in_contact(dtype):
    """If not, the pattern that pairs in contact add to is not analysed again, or a solver that factorises with them goes elsewhere."""
    ball = pdgpu.shapes.beam((0.3, 0.3, 0.3), cells=(2, 2, 2))
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    for k in range(2):
        points = ball.points + [0.01 * k, 0.002 + 0.304 * k, 0.02 * k]
        scene.add_solid(pdgpu.Mesh(points, tets=ball.tets), pdgpu.ARAP(2e4), density=200.0, velocity=(0.0, -1.0, 0.0))
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    for solver in (pdgpu.Newton(iterations=8), pdgpu.ProjectiveDynamics(iterations=8), pdgpu.QuasiNewton(iterations=8)):
        sims = []
        for device in ("cuda", "cpu"):
            contact = pdgpu.BarrierContact(distance=0.005, stiffness=1e4)
            sim = pdgpu.Simulation(scene, solver, device=device, dtype=dtype, dt=1 / 200, contact=contact, threads=1)
            sim.step(3, record=True)
            sims.append(sim)
        assert sims[1].last_step["active_contacts"][-1] > 4
        size = np.abs(sims[1].positions).max()
        np.testing.assert_allclose(sims[0].positions, sims[1].positions, atol=(1e-8 if dtype == "float64" else 1e-4) * size)


def test_no_vector_goes_by_the_host(dtype, on_host, monkeypatch):
    """If not, the gradient still comes down for every solve."""
    if not on_host:
        pytest.skip("whether there is a library is chosen in the stand-in alone")
    mesh = pdgpu.shapes.beam((0.6, 0.3, 0.3), cells=(4, 2, 2))
    scene, _ = scenes.bar((mesh.points, mesh.tets), 1e4, gravity=(0.0, -9.81, 0.0))
    down, iterations = {}, 2
    for library in ("off", "stand-in"):
        monkeypatch.setenv("PDGPU_CUDSS", library)
        sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=iterations), dt=1 / 30, device="cuda", dtype=dtype)
        sim.step()
        before, made = calls_of_the_runtime(dtype, "bytes to the host"), sim._core.backend.counts()["allocations"]
        sim.step()
        down[library] = calls_of_the_runtime(dtype, "bytes to the host") - before
        assert sim._core.backend.counts()["allocations"] == made
    findings = 3 * np.dtype(np.int32).itemsize  # the signs of the pivots, and whether a trial solve was finite
    assert down["off"] - down["stand-in"] == iterations * (mesh.points.size * np.dtype(dtype).itemsize - findings)
