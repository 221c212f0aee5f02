"""The smallest eigenvalue of the Hessian of G: whether a state with a zero gradient is a minimum."""

import numpy as np
import pytest

import pdgpu
from pdgpu import shapes

BAR = shapes.beam((1.0, 0.2, 0.2), (8, 2, 2))


def clamped(dt=None):
    """A bar that is held at both ends."""
    scene = pdgpu.Scene(gravity=(0, 0, 0))
    body = scene.add_solid(BAR, pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000.0)
    body.pin(lambda p: (p[:, 0] < 1e-9) | (p[:, 0] > 1 - 1e-9))
    return pdgpu.Simulation(scene, pdgpu.Newton(iterations=200), dt=dt)


@pytest.mark.parametrize("stretch", [1.2, 1.0, 0.9, 0.7])
@pytest.mark.parametrize("dt", [None, 0.01])
def test_it_is_that_of_the_dense_matrix(stretch, dt):
    """If it failed, a saddle would be taken for a minimum."""
    sim = clamped(dt)
    x = BAR.points * [stretch, 1, 1]
    free = np.repeat(sim._core.fixed == 0, 3)
    right = np.linalg.eigvalsh(sim.hessian(x)[free][:, free].toarray())[0]
    assert sim.smallest_eigenvalue(x) == pytest.approx(right, rel=1e-5)
    assert right < 0.0 if stretch == 0.7 and dt is None else right > 0.0 if stretch >= 1.0 else True


def test_a_straight_column_is_a_saddle_and_a_buckled_one_a_minimum():
    """If it failed, a compressed column that stands by symmetry would be shown as an answer."""
    scene = pdgpu.Scene(gravity=(0, 0, 0))
    ends = np.linspace(0.0, 1.0, 11)[:, None] * [1.0, 0, 0]
    rod = scene.add_rod(
        pdgpu.Mesh(ends, edges=np.stack([np.arange(10), np.arange(1, 11)], axis=1)), pdgpu.Spring(1e3), density=0.1, bending=0.1
    )
    rod.pin([0, 10])
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=500), dt=None)
    straight = ends * [0.9, 1, 1]
    assert np.abs(sim.gradient(straight)).max() < 1e-9
    assert sim.smallest_eigenvalue(straight) < 0.0
    sim.set_state(positions=straight + 1e-3 * np.sin(np.pi * ends[:, :1]) * [0, 1, 0])
    sim.step()
    assert sim.positions[5, 1] > 0.05
    assert sim.smallest_eigenvalue() > -1e-6  # a rotation about the axis of the ends costs nothing


def test_a_scene_without_a_free_vertex_is_refused():
    """If it failed, an error of ARPACK would be all there is to read."""
    scene = pdgpu.Scene()
    scene.add_solid(BAR, pdgpu.NeoHookean(1e4, 1e4), density=1000.0).pin(np.arange(len(BAR.points)))
    with pytest.raises(ValueError, match="no free vertex"):
        pdgpu.Simulation(scene, pdgpu.Newton()).smallest_eigenvalue()
