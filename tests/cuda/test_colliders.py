"""Colliders and contacts on the CUDA backend, against the CPU in float64."""

import numpy as np
import pytest

import pdgpu
from pdgpu._internal.backends import backend

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]

TURN = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0], [-0.8, 0.0, 0.6]])
SHAPES = {
    "plane": pdgpu.Plane((0.1, 0.2, 0.3), (1.0, 2.0, -0.5)),
    "sphere": pdgpu.Sphere((0.1, 0.2, 0.3), 0.7),
    "capsule": pdgpu.Capsule((-0.5, 0.0, 0.1), (0.5, 0.2, 0.3), 0.3),
    "box": pdgpu.Box((0.8, 1.1, 0.5), (0.1, 0.2, 0.3), TURN),
    "grid": pdgpu.SignedDistanceField(np.linalg.norm(np.mgrid[-5:6, -5:6, -4:5], axis=0) * 0.25 - 0.6, (-1.25, -1.25, -1.0), 0.25),
}


@pytest.mark.parametrize("name", SHAPES)
def test_queries(name, dtype, on_host):
    """If not, a vertex on the GPU is told of another surface than on the CPU."""
    shape, n = SHAPES[name], 1000 if on_host else 100_000
    x = np.random.default_rng(0).normal(size=(n, 3)).astype(dtype)
    x[:3] = [[0, 0, 0], [0.5, 0.2, 0.3], [50, 0, 0]]
    number, rotation, translation, size, spacing, values = shape._core(np.dtype(dtype))
    frame, numbers = np.concatenate([rotation, [translation]]), np.concatenate([size, np.zeros(4 - len(size))])
    found = backend("cuda", dtype).collider_query(number, frame, numbers, spacing, values, x, 1)
    expected = shape.query(x.astype(np.float64))
    u = np.finfo(dtype).eps
    np.testing.assert_allclose(found[0], expected.distance, rtol=32 * u, atol=32 * u)
    # where the nearest point jumps rounding decides, and near there it is as good as the distance from there: a few points may differ
    for a, b in zip(found[1:], expected[1:], strict=True):
        near = np.abs(a - b).max(axis=1) < 1e3 * u * np.maximum(1, np.abs(b).max(axis=1))
        assert near.mean() > 0.99
    assert backend("cuda", dtype).collider_query(number, frame, numbers, spacing, values, x[:0], 1)[0].shape == (0,)


def test_contacts_of_positions_on_the_device(dtype):
    """If not, what is near on the GPU is asked of a state on the host that is not there any more."""
    scene = pdgpu.Scene()
    scene.add_shell(pdgpu.shapes.grid((1.0, 1.0), (4, 4)), pdgpu.Spring(10.0), density=0.1, name="cloth")
    scene.add_obstacle(pdgpu.Sphere((0.5, 0.5, -0.3), 0.29))
    scene.add_obstacle(pdgpu.shapes.sphere(0.2, 1), lambda time, rest: rest + [0.5, 0.5, 0.22 - time])
    found = []
    for device in ("cuda", "cpu"):
        sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=3), device=device, dtype=dtype)
        sim.step()
        found.append(sim.contacts(0.05))
    assert len(found[0]) > 5
    np.testing.assert_array_equal(found[0].vertices, found[1].vertices)
    np.testing.assert_allclose(found[0].distance, found[1].distance, atol=1e-5)
