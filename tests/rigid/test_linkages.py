"""Bodies on joints against Lagrange's equations, with their order in the step."""

import numpy as np
import pytest
from rigid_scenes import box, inertia, turn
from scipy.integrate import solve_ivp

import pdgpu
from pdgpu import shapes

LENGTH, WIDTH = 0.5, 0.04
NEWTON = pdgpu.Newton(iterations=50, tolerance=1e-10)


def bars(n):
    """n bars on hinges, level, the first on the world."""
    scene = pdgpu.Scene()
    for k in range(n):
        bar = scene.add_rigid(box((LENGTH, WIDTH, WIDTH), (LENGTH * (k + 0.5), 0.0, 0.0)), density=1000.0)
        before = scene.bodies[-2] if k else None
        scene.add_joint("hinge", bar, before, at=(LENGTH * k, 0.0, 0.0), axis=(0.0, 0.0, 1.0), stiffness=1e7)
    return scene


def angles_of_bars(n, seconds):
    """Angles from the x axis of n uniform bars, from rest, level: M(q) q'' = -S(q) q'^2 - b cos q, per mass of a bar."""
    later = n - 0.5 - np.maximum.outer(np.arange(n), np.arange(n))
    couple, weights = later * LENGTH**2, 9.81 * LENGTH * (n - 0.5 - np.arange(n))
    own = (n - 0.75 - np.arange(n)) * LENGTH**2 + (LENGTH**2 + WIDTH**2) / 12.0

    def change(_, state):
        q, speed = state[:n], state[n:]
        apart = q[:, None] - q
        mass, turning = couple * np.cos(apart), couple * np.sin(apart)
        np.fill_diagonal(mass, own)
        return np.r_[speed, np.linalg.solve(mass, -turning @ speed**2 - weights * np.cos(q))]

    return solve_ivp(change, (0.0, seconds), np.zeros(2 * n), rtol=1e-11, atol=1e-12).y[:n, -1]


@pytest.mark.parametrize("n", [1, 2, 4])
def test_chains_of_bars_swing_as_lagrange_says(n):
    """The whip of four bars too. First order, and energy only falls."""
    errors, seconds = [], 0.5
    for dt in (2e-3, 1e-3):
        sim = pdgpu.Simulation(bars(n), NEWTON, dt=dt)
        start = sim.energies()["total"]
        sim.step(round(seconds / dt))
        away = turn(sim.rigid.rotations) - angles_of_bars(n, seconds)
        errors.append([np.abs(np.angle(np.exp(1j * away))).max(), start - sim.energies()["total"]])
    errors = np.array(errors)
    assert errors[1, 0] < 0.02 and errors[1, 1] < 0.07 * sim.energies()["kinetic"]
    ratio = errors[0] / errors[1]
    assert ((1.8 < ratio) & (ratio < 2.2)).all()


def test_a_door_on_a_leaning_axis_falls_open():
    """Gravity leans by 0.2 rad from the axis of the hinge."""
    tilt, length, width, seconds, errors = 0.2, 0.8, 0.04, 1.0, []
    pull = 9.81 * np.sin(tilt)
    moment = (length**2 + width**2) / 12.0 + length**2 / 4.0
    exact = solve_ivp(
        lambda _, s: [s[1], -0.5 * pull * length * np.cos(s[0]) / moment], (0.0, seconds), [0.0, 0.0], rtol=1e-11, atol=1e-12
    ).y[0, -1]
    for dt in (4e-3, 2e-3):
        scene = pdgpu.Scene(gravity=(0.0, -9.81 * np.cos(tilt), pull))
        door = scene.add_rigid(box((length, 2.0, width), (0.5 * length, 0.0, 0.0)), density=500.0)
        scene.add_joint("hinge", door, None, at=(0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0), stiffness=1e8)
        sim = pdgpu.Simulation(scene, NEWTON, dt=dt)
        sim.step(round(seconds / dt))
        R = sim.rigid.rotations[0]
        errors.append(abs(np.arctan2(-R[2, 0], R[0, 0]) - exact))
    assert errors[1] < 5e-3 and 1.7 < errors[0] / errors[1] < 2.3


def test_a_heavy_top_precesses_and_nods():
    """Against L' = r x m g and w = I^-1 L about the pivot."""
    arm, spin, seconds, errors = 0.1, 200.0, 0.5, []
    mesh = shapes.box((0.1, 0.1, 0.04))
    points = (np.array(mesh.points) - [0.05, 0.05, 0.02])[:, [2, 0, 1]] + [arm, 0.0, 0.0]
    for dt in (1e-3, 5e-4):
        scene = pdgpu.Scene()
        body = scene.add_rigid(pdgpu.Mesh(points, triangles=mesh.triangles), density=1000.0, spin=(spin, 0.0, 0.0))
        scene.add_joint("ball", body, None, at=(0.0, 0.0, 0.0), stiffness=1e7)
        sim = pdgpu.Simulation(scene, NEWTON, dt=dt)
        sim.step(round(seconds / dt))
        about = inertia(body) + body.mass * arm**2 * np.diag([0.0, 1.0, 1.0])

        def change(_, state, about=about, mass=body.mass):
            R = state[3:].reshape(3, 3)
            w = R @ np.linalg.solve(about, R.T @ state[:3])
            return np.r_[np.cross(arm * R[:, 0], [0.0, -9.81 * mass, 0.0]), np.cross(w, R.T).T.ravel()]

        start = np.r_[about @ [spin, 0.0, 0.0], np.eye(3).ravel()]
        end = solve_ivp(change, (0.0, seconds), start, rtol=1e-8, atol=1e-10, method="DOP853").y[3:, -1].reshape(3, 3)
        errors.append(np.linalg.norm(sim.rigid.centres[0] - arm * end[:, 0]))
    assert errors[0] < 5e-3 * arm and errors[1] < 1e-3 * arm
