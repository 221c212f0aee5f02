"""Stress scenes of the paper on Vertex Block Descent: what examples/ shows on a larger body, on one that a test can afford.

[Chen et al. 2024, VBD, Sec. 5.3, Figs. 3, 5, 15, 16].
"""

import numpy as np
import pytest

import pdgpu


def bar(cells=(8, 4, 4)):
    return pdgpu.shapes.beam(tuple(0.05 * n for n in cells), cells=cells, split=5)


def scene_of(mesh, mu=2e6, lam=1e7, gravity=0.0):
    scene = pdgpu.Scene(gravity=(0.0, -gravity, 0.0))
    return scene, scene.add_solid(mesh, pdgpu.NeoHookean(mu, lam), density=1000.0)


def volumes(mesh, positions):
    a, b, c, d = (positions[mesh.tets[:, k]].astype(np.float64) for k in range(4))
    return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0


def check_shape(mesh, positions):
    present = volumes(mesh, positions)
    assert (present > 0.0).all()
    assert present.sum() == pytest.approx(volumes(mesh, mesh.points).sum(), rel=0.01)


def flattened(points):
    return points * [1.0, 0.0, 1.0]


def scrambled(points):
    directions = np.random.default_rng(0).normal(size=points.shape)
    return 0.2 * directions / np.linalg.norm(directions, axis=1, keepdims=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("start", [flattened, scrambled])
def test_a_wrecked_body_recovers(start, dtype):
    """If not, one bad frame ruins a simulation for good."""
    mesh = bar()
    scene, _ = scene_of(mesh)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=100), dt=1 / 60, dtype=dtype, threads=1)
    sim.set_state(positions=start(mesh.points))
    for _ in range(60):
        before = volumes(mesh, sim.positions)
        sim.step()
    assert (before > 0.0).all()  # and stays so
    check_shape(mesh, sim.positions)


def test_a_body_pulled_out_at_some_vertices_recovers():
    """If not, a user who drags a vertex too far loses the body."""
    mesh = bar()
    held = [0, 8, 9 * 5 * 5 - 1, 9 * 5 * 2 + 9 * 2 + 4]

    def pulled(time, rest):
        return rest + 2.0 * min(time / 0.2, 1.0) * (rest - mesh.points.mean(axis=0))

    scene, body = scene_of(mesh)
    body.pin(held, motion=pulled)
    solver = pdgpu.VertexBlockDescent(iterations=10)
    pulling = pdgpu.Simulation(scene, solver, dt=1 / 300, threads=1)
    pulling.step(60)
    assert np.ptp(pulling.positions[:, 0]) > 2.0 * np.ptp(mesh.points[:, 0])
    free = pdgpu.Simulation(scene_of(mesh)[0], solver, dt=1 / 300, threads=1)
    free.set_state(positions=pulling.positions, velocities=pulling.velocities)
    free.step(300)
    check_shape(mesh, free.positions)


@pytest.mark.parametrize("guess, gravity", [("previous", 9.81), ("adaptive", 0.0)])
def test_one_iteration_per_frame_stays_bounded(guess, gravity):
    """If not, a small budget does not mean a rough motion but none at all."""
    mesh = bar()
    scene, body = scene_of(mesh, gravity=gravity)
    body.pin(mesh.points[:, 0] < 1e-9)
    end = int(np.argmax(mesh.points.sum(axis=1)))
    body.pin([end], motion=lambda time, rest: rest + min(time, 1.0) * np.array([0.6, 0.3, 0.0]))
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=1, initialization=guess), dt=1 / 60, threads=1)
    for _ in range(10):
        sim.step(60)
        assert np.ptp(sim.positions, axis=0).max() < 2.0


@pytest.mark.parametrize("mu, lam, rate", [(1e5, 1e6, 60), (1e6, 1e7, 300)])
def test_the_adaptive_guess_is_twice_as_close_as_the_inertial_target(mu, lam, rate):
    """If not, the adaptive first guess is not worth its name."""
    mesh = pdgpu.shapes.beam((0.5, 0.15, 0.15), cells=(10, 3, 3))
    tip = mesh.points[:, 0] > 0.5 - 1e-9

    def swing(solver):
        scene, body = scene_of(mesh, mu, lam, gravity=9.81)
        body.pin(mesh.points[:, 0] < 1e-9)
        sim = pdgpu.Simulation(scene, solver, dt=1 / rate, threads=1)
        tips = []
        for _ in range(round(0.4 * rate)):
            sim.step()
            tips.append(sim.positions[tip].mean(axis=0))
        return np.array(tips)

    reference = swing(pdgpu.Newton(iterations=50, tolerance=1e-10))
    worst = {}
    for guess in ("inertial_target", "adaptive"):
        tips = swing(pdgpu.VertexBlockDescent(iterations=20, initialization=guess))
        worst[guess] = np.linalg.norm(tips - reference, axis=1).max()
    assert 2.0 * worst["adaptive"] <= worst["inertial_target"]


@pytest.mark.parametrize("stiffness, least, most", [(1e6, 0.005, 0.007), (1e4, 0.3, 0.6)])
def test_a_chain_with_a_heavy_end(stiffness, least, most):
    """If not, mass ratios of 1:1000 break the primal solver that should not mind them [Chen et al. 2024, Fig. 21: 0.7 %]; converged it
    is 0.55 % and 56 %."""
    scene = pdgpu.Scene()
    chain = scene.add_rod(pdgpu.shapes.chain(19, 1.0), pdgpu.Spring(stiffness), density=0.2)
    chain.masses[:] = 0.01
    chain.masses[-1] *= 1000.0
    chain.pin([0])
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=100), dt=1 / 300, threads=1)
    largest = 0.0
    for _ in range(200):
        sim.step()
        largest = max(largest, np.linalg.norm(np.diff(sim.positions, axis=0), axis=1).max() * 19 - 1.0)
    assert least < largest <= most
