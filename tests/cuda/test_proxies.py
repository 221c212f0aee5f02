"""Contact by proxies on a CUDA device, against the CPU: the same points in the same colliders, the same matrix, the same answer."""

import types

import numpy as np
import pytest
import scenes
from device_parity import common_proxies, steps_on_both

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


@pytest.mark.parametrize("linear", ["direct", "schur", "jacobi"])
def test_steps(linear, dtype):
    """If not, a step on the GPU goes somewhere else than on the CPU, or leaves out an obstacle."""
    mesh = pdgpu.shapes.beam((0.8, 0.2, 0.2), cells=(8, 2, 2))
    scene = pdgpu.Scene()
    bar = scene.add_solid(mesh, pdgpu.ARAP(1e5), density=1000.0)
    bar.pin(lambda points: points[:, 0] < 1e-9)
    rng = np.random.default_rng(2)
    bar.embed(rng.uniform((0.2, 0.01, 0.01), (0.79, 0.06, 0.19), size=(90, 3)), name="under")
    scene.add_obstacle(pdgpu.Plane((0.0, 0.01, 0.0), (0.0, 1.0, 0.0)))
    scene.add_obstacle(pdgpu.Sphere((0.7, -0.1, 0.1), 0.13), lambda time: (np.eye(3), np.array([0.0, 0.1 * time, 0.0])))
    block = pdgpu.shapes.box((0.3, 0.2, 0.3))
    block = pdgpu.Mesh(block.points + [0.3, -0.16, 0.0], triangles=block.triangles)
    scene.add_obstacle(pdgpu.SignedDistanceField.from_mesh(block, spacing=0.05))
    solvers = scenes.GLOBAL_STEPS | {"direct": pdgpu.Direct(), "schur": pdgpu.SchurDirect(lambda points: points[:, 1] < 0.11)}
    solver = pdgpu.ProjectiveDynamics(iterations=4, linear=solvers[linear], check_every=1)
    case = types.SimpleNamespace(scene=scene, contact=pdgpu.ProxyContact("under", stiffness=2e4))
    cpu, cuda = steps_on_both(case, solver, dtype)
    found, expected = cuda.proxies(), cpu.proxies()
    assert 5 < expected.active.sum() < 90
    same, scale = common_proxies(found, expected, dtype), 1e-9 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(found.targets[same], expected.targets[same], rtol=0, atol=scale)


@pytest.mark.parametrize("detection", ["iteration", "step"])
@pytest.mark.parametrize("linear", ["direct", "schur", "jacobi"])
def test_steps_in_bodies(linear, detection, dtype):
    """If not, a proxy on the GPU lies in another tet than on the CPU, or what carries its target is not pushed; or of springs held for a
    step others are reported."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    low = scene.add_solid(pdgpu.shapes.beam((0.6, 0.1, 0.2), cells=(6, 2, 2)), pdgpu.ARAP(2e4), density=1000.0, name="low")
    low.pin(lambda points: (points[:, 0] < 1e-9) | (points[:, 0] > 0.6 - 1e-9))
    block = pdgpu.shapes.beam((0.2, 0.1, 0.1), cells=(3, 2, 2))
    high = scene.add_solid(pdgpu.Mesh(block.points + [0.21, 0.08, 0.047], tets=block.tets), pdgpu.ARAP(4e4), density=1000.0, name="high")
    high.pin(lambda points: points[:, 1] > 0.18 - 1e-9)
    high.embed(np.random.default_rng(3).uniform((0.22, 0.082, 0.05), (0.4, 0.09, 0.14), size=(40, 3)), name="sole")
    solvers = scenes.GLOBAL_STEPS | {"direct": pdgpu.Direct(), "schur": pdgpu.SchurDirect(lambda points: np.abs(points[:, 0] - 0.3) < 0.2)}
    solver = pdgpu.ProjectiveDynamics(iterations=4, linear=solvers[linear], check_every=1)
    contact = pdgpu.ProxyContact("sole", stiffness=800.0, field=pdgpu.RestField("low", spacing=0.05), detection=detection)
    case = types.SimpleNamespace(scene=scene, contact=contact)
    cpu, cuda = steps_on_both(case, solver, dtype, steps=2 if detection == "iteration" else 1)
    found, expected = cuda.proxies(), cpu.proxies()
    assert 5 < expected.active.sum()
    same, scale = common_proxies(found, expected, dtype), 1e-9 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(found.targets[same], expected.targets[same], rtol=0, atol=scale)
    np.testing.assert_allclose(found.vertex_forces, expected.vertex_forces, rtol=0, atol=800.0 * scale)


def test_a_part_of_a_shape_that_a_path_leaves(dtype):
    """If not, a proxy beside the grid falls through on a GPU, where what is not known would be in no contact."""
    axis = np.arange(-4.0, 5.0) * 0.05
    values = np.broadcast_to(axis[None, :, None], (9, 9, 9))
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_particles([[0.0, -0.01, 0.0], [0.1, 0.05, 0.0]], mass=1.0, velocity=(1.0, 0.0, 0.0))
    scene.add_obstacle(pdgpu.SignedDistanceField(values, (-0.2, -0.2, -0.2), 0.05, whole=False))
    solver = pdgpu.ProjectiveDynamics(iterations=2, check_every=1)
    sim = pdgpu.Simulation(scene, solver, dt=0.1, contact=pdgpu.ProxyContact([0, 1], stiffness=1e3), dtype=dtype, device="cuda")
    assert sim.proxies().active.tolist() == [True, False]
    with pytest.raises(ValueError, match=r"field: proxy 1 at \(0\.3, 0\.05, 0\) m is 0\.1 m outside the grid of obstacle 0"):
        for _ in range(4):
            good = np.array(sim.positions)
            sim.step()
    np.testing.assert_array_equal(np.array(sim.positions), good)
