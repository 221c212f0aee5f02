"""How often the host waits for the device in a solve; the CPU counts the same calls."""

import numpy as np
from scenes import looks_change_nothing

import pdgpu
from pdgpu.linear.linear_solvers import CHECK_EVERY


def waits(iterations):
    """Of one step of Projective Dynamics whose global step is a solve that never gets as far as it is asked to."""
    mesh = pdgpu.shapes.beam((1.0, 0.2, 0.2), cells=(8, 2, 2))
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_solid(mesh, pdgpu.ARAP(1e5), density=1000.0).pin(lambda points: points[:, 0] < 0.01)
    linear = pdgpu.PCG(iterations=iterations, tolerance=1e-30)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=1, linear=linear), dt=1 / 30)
    sim.step()
    before = sim._core.backend.counts()["waits"]
    sim.step()
    return sim._core.backend.counts()["waits"] - before


def test_a_check_of_conjugate_gradients_is_one_wait():
    """If not, the host looks at the curvature and again at the residual, which lie side by side."""
    every = CHECK_EVERY["cpu"]
    checks = np.array([waits(every * n) for n in (2, 3, 5, 8)])
    assert (np.diff(checks) == [1, 2, 3]).all()


def test_conjugate_gradients_end_by_themselves_between_two_looks(monkeypatch):
    """If not, Newton's method waits in every iteration of every solve, or goes on past what it was asked for."""
    looks_change_nothing("cpu", "float64", monkeypatch)
