"""Impacts of rigid bodies: elastic ones in the limit of small steps, to first order, and what every step keeps."""

import numpy as np
import pytest
from rigid_scenes import ball, box, inertia, rack, simulated
from scipy.spatial.transform import Rotation

import pdgpu
from pdgpu import shapes

SOFT = {"distance": 5e-3, "stiffness": 3e3, "tolerance": 1e-9}  # an impact takes some 10 ms


def at_rest():
    return pdgpu.Scene(gravity=(0.0, 0.0, 0.0))


def collided(ratio, dt):
    """The velocities of two boxes after a central impact, the second `ratio` times as heavy."""
    scene = at_rest()
    scene.add_rigid(box((0.1, 0.1, 0.1), (-0.1, 0.0, 0.0)), density=1000.0, velocity=(2.0, 0.0, 0.0))
    scene.add_rigid(box((0.1, 0.1, 0.1), (0.006, 0.0, 0.0)), density=1000.0 * ratio)
    sim = simulated(scene, dt, **SOFT)
    sim.step(round(0.02 / dt))
    return sim.rigid.velocities[:, 0]


def struck(dt):
    """The velocity of a box that a paddle of 1 m/s strikes."""
    scene = at_rest()
    scene.add_rigid(box((0.1, 0.1, 0.1), (0.006, 0.0, 0.0)), density=1000.0)
    paddle = pdgpu.Box(size=(0.1, 0.2, 0.2), centre=(-0.1, 0.0, 0.0))
    scene.add_obstacle(paddle, motion=lambda time: (np.eye(3), np.array([time, 0.0, 0.0])))
    sim = simulated(scene, dt, **SOFT)
    sim.step(round(0.03 / dt))
    return sim.rigid.velocities[:1, 0]


def bounced(dt):
    """The velocity of a box after its bounce, as part of that before."""
    scene = at_rest()
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    scene.add_rigid(box((0.1, 0.1, 0.1), (0.0, 0.056, 0.0)), density=1000.0, velocity=(0.0, -1.0, 0.0))
    sim = simulated(scene, dt, **SOFT)
    sim.step(round(0.03 / dt))
    return sim.rigid.velocities[:1, 1]


@pytest.mark.parametrize(
    ("run", "elastic"),
    [
        (lambda dt: collided(1.0, dt), [0.0, 2.0]),
        (lambda dt: collided(3.0, dt), [-1.0, 1.0]),
        (struck, [2.0]),
        (bounced, [1.0]),
    ],
    ids=["equal", "heavier", "paddle", "floor"],
)
def test_impacts_become_elastic_to_first_order(run, elastic):
    """The barrier keeps energy; implicit Euler takes a part of an impact that falls with the step."""
    errors = [np.abs(run(dt) - elastic).max() for dt in (2e-4, 1e-4)]
    assert 1.6 < errors[0] / errors[1] < 2.2
    assert errors[1] < 0.25


def test_plates_at_20_meters_a_second_do_not_pass():
    """Two millimetres thin, in steps of 2 ms: a step without contact takes each through the other by ten times its thickness."""
    scene = at_rest()
    for side in (-1.0, 1.0):
        scene.add_rigid(box((0.002, 0.3, 0.3), (side * 0.03, 0.0, 0.0)), density=1000.0, velocity=(-side * 10.0, 0.0, 0.0))
    sim = simulated(scene, 2e-3, tolerance=1e-9)
    path = [sim.positions]
    for _ in range(20):
        sim.step(record="positions")
        path.extend(sim.last_step.positions)
    assert pdgpu.certify(path, scene, gap=False).clean
    np.testing.assert_allclose(sim.momentum().linear, 0.0, atol=1e-12)
    assert sim.rigid.velocities[0, 0] < 0.0 < sim.rigid.velocities[1, 0]


def test_a_break_of_balls_keeps_momentum_and_loses_energy():
    """A glancing step may gain a little: the barrier is not convex."""
    sim = simulated(rack(2e-3), 1e-3, distance=2e-3, stiffness=1e6, tolerance=1e-9)
    before, energy = sim.momentum().linear, sim.energies()["total"]
    sim.step(120)
    np.testing.assert_allclose(sim.momentum().linear, before, atol=1e-12)
    assert sim.energies()["total"] < 0.9 * energy
    assert (np.linalg.norm(sim.rigid.velocities, axis=1) > 0.02).all()


@pytest.mark.stress
def test_friction_of_a_spinning_ball_drives_the_plank_below_it():
    """Both end with one velocity of the contact: closed form of the impulse of friction, whatever its coefficient."""
    scene, gap, spin, radius = pdgpu.Scene(), 1e-3, 20.0, 0.1
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    plank = scene.add_rigid(box((4.0, 0.04, 0.4), (0.0, 0.02 + gap, 0.0)), density=10.0, name="plank")
    wheel = scene.add_rigid(ball(radius, (0.0, 0.14 + 2.0 * gap, 0.0), 4), density=1000.0, spin=(0.0, 0.0, -spin), name="ball")
    sim = simulated(scene, 4e-3, stiffness=1e6, friction={("plank", "ball"): 0.4})
    sim.step(120)
    impulse = spin * radius / (1.0 / wheel.mass + 1.0 / plank.mass + radius**2 / inertia(wheel)[2, 2])
    np.testing.assert_allclose(sim.rigid.velocities[:, 0], [-impulse / plank.mass, impulse / wheel.mass], rtol=0.02)
    assert sim.rigid.spins[1, 2] == pytest.approx(impulse * radius / inertia(wheel)[2, 2] - spin, rel=0.02)


@pytest.mark.filterwarnings("ignore:friction")  # the wheels start pressed together
def test_friction_wheels_end_with_one_speed_of_the_rim():
    """Two equal balls on axes: the impulse of friction has the same moment on both, so that the second takes half of the spin."""
    scene, radius, spin = at_rest(), 0.1, 20.0
    for x, turns in ((0.0, spin), (2.0 * radius + 1e-3, 0.0)):
        mesh = ball(radius, (x, 0.0, 0.0), 3)
        points = np.concatenate([mesh.points, [[x, 0.0, -0.05], [x, 0.0, 0.05]]])
        wheel = scene.add_rigid(pdgpu.Mesh(points, triangles=mesh.triangles), density=1000.0, spin=(0.0, 0.0, turns))
        wheel.pin([len(points) - 2, len(points) - 1])
    sim = simulated(scene, 2e-3, distance=4e-3, stiffness=1e4, friction=0.4)
    sim.step(6)
    first, second = sim.rigid.spins[:, 2]
    assert first > 15.0 and spin - first == pytest.approx(-second, rel=0.1)
    sim.step(40)
    np.testing.assert_allclose(sim.rigid.spins[:, 2], [0.5 * spin, -0.5 * spin], rtol=0.05)


@pytest.mark.parametrize("angle", [3.0, 3.2, 7.0])
def test_a_spin_near_half_a_turn_a_step_is_exact(angle):
    """And beyond it: the rotation of a step is not read off the ends of the step."""
    scene, dt, n = at_rest(), 0.01, 50
    scene.add_rigid(shapes.box((0.5, 0.5, 0.2)), density=100.0, spin=(0.0, 0.0, angle / dt))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=dt)
    sim.step(n)
    away = Rotation.from_matrix(sim.rigid.rotations[0]) * Rotation.from_rotvec([0.0, 0.0, -angle * n])
    assert away.magnitude() < 1e-11
    assert sim.rigid.spins[0, 2] * dt == pytest.approx(angle, rel=1e-12)
