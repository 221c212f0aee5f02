"""The Hessian of G in scenes with rigid bodies: six numbers of each body behind the coordinates of the vertices."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pdgpu
from pdgpu import shapes

NEWTON = pdgpu.Newton(iterations=20)


def placed(mesh, shift):
    return pdgpu.Mesh(mesh.points + shift, tets=mesh.tets, triangles=None if len(mesh.tets) else mesh.triangles)


def scene_of():
    """A free box on springs, one on a point, one on an axis, one that is held whole, joined, over a soft bar that a box nearly touches."""
    scene = pdgpu.Scene()
    bar = scene.add_solid(shapes.beam((0.4, 0.1, 0.1), cells=(2, 1, 1)), pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000.0, name="bar")
    bar.pin(lambda points: points[:, 0] == 0.0)
    box = shapes.box((0.1, 0.06, 0.03))
    free = scene.add_rigid(placed(box, [0.2, 0.103, 0.02]), density=500.0, spin=(1.0, 2.0, 3.0), name="free")
    free.attach([0, 5], free.points[[0, 5]] + [0.02, 0.05, 0.0], stiffness=2e3)
    point = scene.add_rigid(placed(box, [0.5, 0.3, 0.0]), density=500.0, spin=(0.0, 2.0, 0.0), name="point")
    point.pin([3])
    axis = scene.add_rigid(placed(box, [0.8, 0.3, 0.0]), density=500.0, name="axis")
    axis.pin([0, 6])
    whole = scene.add_rigid(placed(box, [1.1, 0.3, 0.0]), density=500.0, name="whole")
    whole.pin([0, 1, 2, 5])
    scene.add_joint("ball", "point", "axis", at=(0.7, 0.33, 0.01), stiffness=1e3)
    return scene


def simulated(dtype="float64"):
    sim = pdgpu.Simulation(scene_of(), NEWTON, dt=0.01, contact=pdgpu.BarrierContact(5e-3, stiffness=1e5), dtype=dtype)
    sim.step(2)
    return sim


def moved(sim, x, k, change):
    """Positions at which body k is moved by a translation and a rotation vector."""
    body = sim.bodies[1 + k]
    pinned = body.pins[0][0] if body.pins else []
    about = x[body.slice][pinned[0]] if len(pinned) else sim.rigid.centres[k]
    there = x.copy()
    there[body.slice] = about + change[:3] + (x[body.slice] - about) @ Rotation.from_rotvec(change[3:]).as_matrix().T
    return there


def test_it_has_the_differences_of_the_potential():
    """If not, what a user makes of it, an eigenvalue or a step of Newton's method, is of another function."""
    sim = simulated()
    assert len(sim.contact_forces()) > 0
    x, n, names = sim.positions, len(sim.positions), sim.rigid.names
    H = sim.hessian()
    assert H.shape == (3 * n + 6 * 4,) * 2 and names == ("free", "point", "axis", "whole") and abs(H - H.T).max() < 1e-9 * abs(H).max()
    assert not H[3 * sim.bodies[1].slice.start : 3 * n].nnz
    H = H.toarray()
    held = x[sim.bodies[3].slice]
    axis = held[6] - held[0]
    axis /= np.linalg.norm(axis)
    directions = [(0, row) for row in np.eye(6)] + [(1, row) for row in np.eye(6)[3:]] + [(2, np.r_[0, 0, 0, axis])]

    def at(*moves):
        there = x
        for k, change in moves:
            there = moved(sim, there, k, change)
        return sim.incremental_potential(there)

    def number(k, change):
        row = np.zeros(len(H))
        row[3 * n + 6 * k : 3 * n + 6 * k + 6] = change
        return row

    # second differences by 2 h along u + v and u - v give 4 u H v
    for place, (k, u) in enumerate(directions):
        for other, v in directions[: place + 1]:
            h = 1e-5
            if k == other:
                along = [at((k, h * (a * u + b * v))) for a, b in ((1, 1), (-1, -1), (1, -1), (-1, 1))]
            else:
                along = [at((k, a * h * u), (other, b * h * v)) for a, b in ((1, 1), (-1, -1), (1, -1), (-1, 1))]
            found = (along[0] + along[1] - along[2] - along[3]) / (4.0 * h**2)
            right = number(k, u) @ H @ number(other, v)
            assert right == pytest.approx(found, rel=2e-4, abs=1e-4 * max(abs(H[3 * n :, 3 * n :]).max(), 1.0)), (k, u, other, v)
    vertex = 3 * 7 + 1  # of the bar, under the box
    for k, u in directions[:6]:
        shift, h = np.zeros_like(x), 1e-5
        shift[7, 1] = h
        signs = [(s, t) for s in (1.0, -1.0) for t in (1.0, -1.0)]
        found = sum(s * t * sim.incremental_potential(moved(sim, x, k, s * h * u) + t * shift) for s, t in signs) / (4.0 * h**2)
        assert H[vertex] @ number(k, u) == pytest.approx(found, rel=1e-3, abs=1e-2 + 1e-6 * abs(H).max())


def test_it_has_the_differences_of_the_gradients():
    """If not, translation, rotation and vertices have other units than their gradients."""
    sim = simulated()
    x, n = sim.positions, len(sim.positions)
    H = sim.hessian()
    for vertex in (5, 7):
        shift = np.zeros_like(x)
        shift[vertex, 1] = 1e-6
        rows = (sim.gradient(x + shift) - sim.gradient(x - shift)) / 2e-6
        np.testing.assert_allclose(H[: 3 * n, 3 * vertex + 1].toarray().ravel(), rows.ravel(), rtol=1e-5, atol=1e-6 * abs(H).max())
        numbers = []
        for sign in (1.0, -1.0):
            sim.set_state(positions=x + sign * shift)
            # the target of the step goes with the state: it is the same for the difference of the elastic and contact forces alone
            numbers.append(sim.rigid.gradient[0])
        sim.set_state(positions=x)
        found = H[3 * n : 3 * n + 6, 3 * vertex + 1].toarray().ravel()
        np.testing.assert_allclose(found, (numbers[0] - numbers[1]) / 2e-6, rtol=1e-4, atol=1e-6 * abs(H).max())


def test_projected_and_single():
    """If not, it is not what a method with projected elements solves with, or float32 has another one."""
    sim, single = simulated(), simulated("float32")
    projected = sim.hessian(psd=True).toarray()
    assert np.linalg.eigvalsh(projected)[0] > -1e-9 * np.abs(projected).max()
    single.set_state(positions=sim.positions, velocities=sim.velocities)
    H = sim.hessian().toarray()
    np.testing.assert_allclose(single.hessian().toarray(), H, atol=2e-3 * np.abs(H).max())


def test_smallest_eigenvalue():
    """If not, a saddle of a scene with rigid bodies is taken for a minimum. A box that a spring holds upside down."""
    sim = simulated()
    H, n = sim.hessian().toarray(), len(sim.positions)
    free = np.flatnonzero(np.abs(H).sum(axis=1) > 0.0)
    scale = np.ones(len(H))
    for k, body in enumerate(sim.bodies[1:]):
        scale[3 * n + 6 * k + 3 : 3 * n + 6 * k + 6] /= np.sqrt(np.trace(body.second_moments) / body.mass)
    H = (scale[:, None] * H * scale)[free][:, free]
    values = np.linalg.eigvalsh(H)
    values = values[np.abs(values) > 1e-9 * values[-1]]  # across the axis there is nothing
    assert sim.smallest_eigenvalue() == pytest.approx(values[0], rel=1e-5)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    box = scene.add_rigid(shapes.box((0.1, 0.06, 0.03)), density=500.0)
    box.pin([0])
    box.attach([7], box.points[[0]] - 3.0 * (box.points[[7]] - box.points[[0]]), stiffness=1e4)
    head = pdgpu.Simulation(scene, NEWTON, dt=1.0)
    assert np.abs(head.rigid.gradient).max() < 1e-9 and head.smallest_eigenvalue() < 0.0


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_pairs_go_to_the_rows_of_bodies_as_by_the_rows_of_vertices(friction):
    """If not, a pair of two corners is missing in a factor, twice there, or has the friction of another."""
    scene = pdgpu.Scene()
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    soft = shapes.beam((0.2, 0.1, 0.2), cells=(2, 1, 2))
    scene.add_solid(placed(soft, [0.0, 0.003, 0.0]), pdgpu.NeoHookean.from_young(1e6, 0.3), density=1000.0)
    box = shapes.box((0.1, 0.06, 0.08))
    for k, shift in enumerate([(0.02, 0.106, 0.01), (0.125, 0.106, 0.015), (0.06, 0.169, 0.02)]):
        scene.add_rigid(placed(box, np.array(shift)), density=500.0, velocity=(0.1 * k, -0.1 * k, 0.0), name=f"box{k}")
    sim = pdgpu.Simulation(scene, NEWTON, dt=0.01, contact=pdgpu.BarrierContact(5e-3, friction=friction))
    sim.step(3)
    core = sim._core
    x, n = core.backend.positions(), core.rows.n_model
    of_rows, of_bodies = (core.hessian_of_rows(None, True, bodies).toarray() for bodies in (False, True))
    moves, at = np.eye(3 * n), 0
    for _ in range(3):
        last = np.arange(n)[core.rigid_rows][at : at + 12]  # and those that carry its mass
        at += len(last)
        centre = x[last[-4:]].mean(axis=0)
        radius = np.sqrt(((x[last[-4:]] - centre) ** 2).sum(axis=1).mean())
        moves[:, 3 * last[0] : 3 * last[-1] + 3] = 0.0
        for row in last:
            moves[3 * row : 3 * row + 3, 3 * last[-4] : 3 * last[-4] + 3] = np.eye(3)
            moves[3 * row : 3 * row + 3, 3 * last[-3] : 3 * last[-3] + 3] = np.cross(np.eye(3), (x[row] - centre) / radius).T
    expected = moves.T @ of_rows @ moves
    away = np.abs(expected[3 * len(soft.points) :, : 3 * len(soft.points)]).max()
    assert away > 0.0 and len(sim.contact_forces()) > 20
    np.testing.assert_allclose(of_bodies, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
