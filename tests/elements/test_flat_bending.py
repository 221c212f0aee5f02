"""The Hessian of bending that is flat at rest, which the CPU adds without a matrix per element, against that of every other element."""

import numpy as np
import pytest

import pdgpu


def sheet(bend):
    """A square whose corners are lifted by `bend`, m."""
    flat = pdgpu.shapes.grid((1.0, 0.8), cells=(9, 7))
    points = flat.points.copy()
    points[:, 2] = bend * (points[:, 0] - 0.5) ** 2
    return pdgpu.Mesh(points, triangles=flat.triangles)


def hessian(meshes, moved, damping, threads, dtype, psd):
    """Of bending alone at positions `moved` of the first mesh: its rows."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    for mesh in meshes:
        scene.add_shell(mesh, pdgpu.Bending(1e-3), density=0.2, damping=damping)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=0.01, threads=threads, dtype=dtype)
    x = scene.rest_positions()
    x[: len(moved)] = moved
    sim.set_state(positions=x)
    n = 3 * len(moved)
    return sim.hessian(psd=psd).toarray()[:n, :n]


@pytest.mark.parametrize("psd", [False, True])
@pytest.mark.parametrize("damping", [0.0, 0.02])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_flat_bending_has_the_bits_of_the_general_loop(dtype, damping, psd):
    """If not, the short cut for multiples of the identity adds something else, or in another order."""
    flat, curved = sheet(0.0), sheet(0.4)
    moved = flat.points + 0.02 * np.random.default_rng(0).normal(size=flat.points.shape)
    short = hessian([flat], moved, damping, 1, dtype, psd)
    assert np.abs(short - np.diag(np.diag(short))).max() > 0.0
    # one element that is curved at rest sends all of its kind through the general loop
    np.testing.assert_array_equal(hessian([flat, curved], moved, damping, 1, dtype, psd), short)
    np.testing.assert_array_equal(hessian([flat], moved, damping, 3, dtype, psd), short)
