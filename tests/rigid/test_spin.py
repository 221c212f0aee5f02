"""The free motion of rigid bodies: spins against closed forms and SciPy's solver of Euler's equations, with their orders in h."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import pdgpu
from pdgpu import shapes

BOX = shapes.box((1.0, 0.6, 0.3))
SOLVERS = {"Newton": pdgpu.Newton(iterations=20), "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=10)}


def inertia_of(body):
    return np.trace(body.second_moments) * np.eye(3) - body.second_moments


def turning(inertia, spin, seconds, torque=(0.0, 0.0, 0.0)):
    """The spin in the world and the rotation of a free body after a time, by Euler's equations under a torque of the world, N m."""
    inverse = np.linalg.inv(inertia)

    def change(_, state):
        w, R = state[:3], state[3:].reshape(3, 3)
        return np.r_[inverse @ (R.T @ torque - np.cross(w, inertia @ w)), (R @ np.cross(w, np.eye(3)).T).ravel()]

    end = solve_ivp(change, (0.0, seconds), np.r_[spin, np.eye(3).ravel()], rtol=1e-12, atol=1e-13).y[:, -1]
    R = end[3:].reshape(3, 3)
    return R @ end[:3], R


def free(mesh, dt, spin, solver=SOLVERS["Newton"], gravity=(0.0, 0.0, 0.0), **settings):
    scene = pdgpu.Scene(gravity=gravity)
    body = scene.add_rigid(mesh, density=100.0, velocity=(1.0, 2.0, 3.0), spin=spin)
    return body, pdgpu.Simulation(scene, solver, dt=dt, **settings)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("mesh", [BOX, shapes.box((0.5, 0.5, 0.2))], ids=["asymmetric", "symmetric"])
def test_tops_are_of_second_order(mesh, name):
    """If not, a thrown body would tumble as fast as its step allows and no faster."""
    seconds, spin, errors = 0.5, np.array([0.4, 5.0, 0.8]), []
    for dt in (1e-2, 5e-3):
        body, sim = free(mesh, dt, spin, SOLVERS[name])
        before, kinetic = sim.momentum(about="centre"), sim.energies()["kinetic"]
        sim.step(round(seconds / dt))
        after = sim.momentum(about="centre")
        np.testing.assert_allclose(after.linear, before.linear, rtol=3e-12)
        np.testing.assert_allclose(after.angular, before.angular, atol=1e-11 * np.linalg.norm(before.angular))
        w, R = turning(inertia_of(body), spin, seconds)
        turned = Rotation.from_matrix(sim.rigid.rotations[0] @ R.T).magnitude()
        errors.append([turned, np.abs(sim.rigid.spins[0] - w).max(), abs(sim.energies()["kinetic"] / kinetic - 1.0)])
    ratio = np.array(errors[0][:2]) / errors[1][:2]
    assert ((3.8 < ratio) & (ratio < 4.2)).all()
    assert errors[1][0] < 1e-3 and errors[1][2] < 1e-5


def test_energy_of_a_tumbling_body_has_no_drift():
    """Over 40 s in the unstable middle axis: if it drifted, a satellite would stop or fly apart."""
    _, sim = free(BOX, 0.02, (0.02, 5.0, 0.02))
    start, kinetic = sim.energies()["kinetic"], []
    for _ in range(200):
        sim.step(10)
        kinetic.append(sim.energies()["kinetic"] / start - 1.0)
    assert np.abs(kinetic).max() < 1e-3
    assert abs(np.mean(kinetic[100:]) - np.mean(kinetic[:100])) < 1e-4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_spin_about_an_axis_of_symmetry_is_kept(dtype):
    """At 2.5 rad a step; implicit Euler would leave 0.06 of it after these 100 steps."""
    dt, spin = 0.05, 50.0
    _, sim = free(shapes.box((0.5, 0.5, 0.2)), dt, (0.0, 0.0, spin), dtype=dtype)
    with pytest.warns(RuntimeWarning, match="spin: 'rigid0' turns by 2.5 rad in a step"):
        sim.step(100)
    tolerance = 1e-12 if dtype == "float64" else 2e-5
    np.testing.assert_allclose(sim.rigid.spins[0], [0.0, 0.0, spin], atol=tolerance * spin)
    exact = Rotation.from_rotvec([0.0, 0.0, spin * 100 * dt]).as_matrix()
    np.testing.assert_allclose(sim.rigid.rotations[0], exact, atol=100 * tolerance)


@pytest.mark.parametrize("name", SOLVERS)
def test_constant_torque_spins_a_cube_up(name):
    """To alpha t: implicit Euler stops a cube under 2400 rad/s^2 at 67 rad/s with this step."""
    dt, alpha = 4e-3, 2400.0
    body, sim = free(shapes.box((0.1, 0.1, 0.1)), dt, (0.0, 0.0, 0.0), SOLVERS[name])
    for _ in range(60):
        arms = sim.positions - sim.rigid.centres[0]
        across = np.cross([0.0, 0.0, 1.0], arms)
        sim.external_forces = across * (alpha * inertia_of(body)[2, 2] / np.cross(arms, across)[:, 2].sum())
        sim.step()
    np.testing.assert_allclose(sim.rigid.spins[0], [0.0, 0.0, 60 * alpha * dt], atol=1e-9 * alpha)


def test_torque_of_the_world_on_an_asymmetric_body_is_of_first_order():
    """A constant one across the spin precesses it as SciPy has it."""
    seconds, spin, torque, errors = 0.4, np.array([0.0, 0.0, 8.0]), np.array([3.0, 1.0, -2.0]), []
    for dt in (2e-3, 1e-3):
        body, sim = free(BOX, dt, spin)
        for _ in range(round(seconds / dt)):
            arms = sim.positions - sim.rigid.centres[0]
            spread = np.trace(arms.T @ arms) * np.eye(3) - arms.T @ arms
            sim.external_forces = np.cross(np.linalg.solve(spread, torque), arms)
            sim.step()
        w, R = turning(inertia_of(body), spin, seconds, torque)
        np.testing.assert_allclose(sim.momentum(about="centre").angular, inertia_of(body) @ spin + torque * seconds, rtol=1e-9)
        errors.append([Rotation.from_matrix(sim.rigid.rotations[0] @ R.T).magnitude(), np.abs(sim.rigid.spins[0] - w).max()])
    ratio = np.array(errors[0]) / errors[1]
    assert ((1.9 < ratio) & (ratio < 2.1)).all() and np.max(errors[1]) < 0.05


@pytest.mark.parametrize("name", SOLVERS)
def test_angular_momentum_changes_by_the_torque_of_springs(name):
    """By h times their torque at the end of the step, to what the iterations leave; else spins would follow no law at all."""
    dt, k = 5e-3, 2e3
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    body = scene.add_rigid(BOX, density=100.0, spin=(4.0, 6.0, 3.0))
    held, targets = [0, 5], body.points[[0, 5]] + [[0.2, 0.0, 0.0], [0.0, 0.3, 0.1]]
    body.attach(held, targets, stiffness=k)
    solver = pdgpu.Newton(iterations=30) if name == "Newton" else pdgpu.VertexBlockDescent(iterations=100)
    sim = pdgpu.Simulation(scene, solver, dt=dt)
    for _ in range(10):
        before = sim.momentum(about="centre").angular
        sim.step()
        x, centre = sim.positions, sim.rigid.centres[0]
        torque = np.cross(x[held] - centre, k * (targets - x[held])).sum(axis=0)
        np.testing.assert_allclose(sim.momentum(about="centre").angular - before, dt * torque, atol=1e-8)


@pytest.mark.parametrize("pins", [1, 2])
def test_held_body_keeps_its_spin(pins):
    """About a pin far from the centre, or an axis that is none of its principal ones: 2 rad/s^2 of damping with implicit Euler."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    points = np.concatenate([BOX.points, [[-0.5, 0.0, 0.0], [1.5, 0.6, 0.3]]])
    mesh = pdgpu.Mesh(points, triangles=BOX.triangles)
    body = scene.add_rigid(mesh, density=100.0, spin=(0.0, 0.0, 0.0))
    body.pin([8, 9][:pins])
    pivot, axis = points[8], (points[9] - points[8]) / np.linalg.norm(points[9] - points[8])
    spin = 20.0 * (axis if pins == 2 else np.array([0.2, 0.3, 1.0]))
    sim = pdgpu.Simulation(scene, SOLVERS["Newton"], dt=5e-3)
    sim.set_state(velocities=np.cross(spin, body.points - pivot))
    kinetic, momentum = sim.energies()["kinetic"], sim.momentum(about=pivot).angular
    sim.step(200)
    np.testing.assert_array_equal(sim.positions[8], pivot)
    if pins == 1:
        np.testing.assert_allclose(sim.momentum(about=pivot).angular, momentum, rtol=1e-10, atol=1e-10 * np.linalg.norm(momentum))
        assert sim.energies()["kinetic"] == pytest.approx(kinetic, rel=5e-3)
    else:
        np.testing.assert_allclose(sim.rigid.spins[0], spin, atol=1e-9 * 20.0)
        assert sim.energies()["kinetic"] == pytest.approx(kinetic, rel=1e-9)


def test_body_on_a_driven_pin_is_of_first_order():
    """A bar on a pin that shakes: its centre against the equation of a pendulum with a moving pivot."""
    bar, seconds, errors = shapes.box((1.0, 0.1, 0.1)), 0.4, []
    points = np.concatenate([np.array(bar.points) - [0.0, 0.05, 0.05], [[0.0, 0.0, 0.0]]])
    for dt in (2e-3, 1e-3):
        scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
        body = scene.add_rigid(pdgpu.Mesh(points, triangles=bar.triangles), density=100.0)
        body.pin([8], lambda t, points: points + [0.1 * np.sin(12.0 * t), 0.0, 0.0])
        sim = pdgpu.Simulation(scene, SOLVERS["Newton"], dt=dt)
        sim.step(round(seconds / dt))
        inertia = inertia_of(body)[2, 2] + body.mass * 0.25

        def change(t, state, inertia=inertia, mass=body.mass):
            arm = 0.5 * np.array([np.cos(state[0]), np.sin(state[0])])
            shake = -0.1 * 144.0 * np.sin(12.0 * t)
            return [state[1], mass * (arm[1] * shake - arm[0] * 9.81) / inertia]

        # the pin starts along the bar, which its impulse does not turn
        angle = solve_ivp(change, (0.0, seconds), [0.0, 0.0], rtol=1e-11, atol=1e-12).y[0, -1]
        exact = np.array([0.1 * np.sin(12.0 * seconds) + 0.5 * np.cos(angle), 0.5 * np.sin(angle)])
        errors.append(np.abs(sim.rigid.centres[0, :2] - exact).max())
    assert errors[1] < 0.02 and 1.7 < errors[0] / errors[1] < 2.3


@pytest.mark.stress
def test_backspin_rolls_a_ball_back():
    """It ends at (v - k w R)/(1 + k), k = I/(m R^2), however long the friction takes; implicit Euler has -0.1 to -0.4 m/s."""
    for dt, within in ((4e-3, 0.03), (2e-3, 0.02)):
        scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
        ball = shapes.sphere(0.1, 4)
        points = np.array(ball.points) + [0.0, 0.0012 - np.array(ball.points)[:, 1].min(), 0.0]
        body = scene.add_rigid(
            pdgpu.Mesh(points, triangles=ball.triangles), density=1000.0, velocity=(1.0, 0.0, 0.0), spin=(0.0, 0.0, 60.0)
        )
        scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
        sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=60), dt=dt, contact=pdgpu.BarrierContact(2e-3, friction=0.5))
        sim.step(round(0.5 / dt))
        k = inertia_of(body)[2, 2] / (body.mass * 0.01)
        assert sim.rigid.velocities[0, 0] == pytest.approx((1.0 - 6.0 * k) / (1.0 + k), abs=within)
