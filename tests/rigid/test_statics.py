"""Statics of rigid bodies: what each support bears, and both sides of thresholds of friction and of tipping."""

import numpy as np
import pytest
from rigid_scenes import along, ball, box, on_floor, push, simulated, turn
from scipy.integrate import solve_ivp

import pdgpu
from pdgpu import shapes

STIFF = {"stiffness": 1e6, "friction_velocity": 1e-4}


@pytest.mark.parametrize(("share", "slides"), [(0.95, True), (1.05, False)])
def test_a_ladder_on_a_smooth_wall_slides_below_half_the_cotangent(share, slides):
    """At 45 degrees it needs a coefficient of friction of 1/(2 tan 45) on the floor."""
    scene, gap = on_floor(), 1e-3
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)), name="wall")
    mesh = box((1.0, 0.02, 0.2), (0.0, 0.0, 0.0), 0.75 * np.pi)
    points = np.array(mesh.points)
    points[:, :2] += gap - points[:, :2].min(axis=0)
    scene.add_rigid(pdgpu.Mesh(points, triangles=mesh.triangles), density=500.0, name="ladder")
    sim = simulated(scene, 0.005, friction={("ladder", "floor"): 0.5 * share}, **STIFF)
    start = sim.positions
    sim.step(200)
    moved = np.abs(sim.positions - start).max()
    assert moved > 0.2 if slides else moved < 4e-3


@pytest.mark.parametrize("share", [0.97, 1.03])
def test_a_gripper_holds_twice_the_friction_of_a_finger(share):
    """Below, the box falls with the part of gravity that friction leaves."""
    scene, mu, gap = pdgpu.Scene(), 0.5, 1e-3
    held = scene.add_rigid(box((0.1, 0.1, 0.1), (0.0, 1.0, 0.0)), density=1000.0, name="box")
    weight, fingers = 9.81 * held.mass, {}
    for side in (-1.0, 1.0):
        at = (side * (0.06 + gap), 1.0, 0.0)
        finger = scene.add_rigid(box((0.02, 0.06, 0.06), at), density=1000.0)
        scene.add_joint("slider", finger, None, at=at, axis=(1.0, 0.0, 0.0), stiffness=1e7)
        fingers[finger] = (-side * share * weight / (2.0 * mu), 0.0, 0.0)
    sim = simulated(scene, 0.005, friction=mu, **STIFF)
    push(sim, {held: (0.0, weight, 0.0), **fingers})
    sim.step(40)
    height = sim.rigid.centres[0, 1]
    push(sim, fingers)
    sim.step(100)
    fallen = height - sim.rigid.centres[0, 1]
    assert fallen == pytest.approx(0.5 * 9.81 * (1.0 - share) * 0.5**2, rel=0.1) if share < 1.0 else fallen < 1e-4


@pytest.mark.parametrize("share", [0.95, 1.05])
def test_a_seesaw_sinks_on_the_side_of_the_larger_moment(share):
    scene = pdgpu.Scene()
    plank = scene.add_rigid(box((2.0, 0.04, 0.2), (0.0, 0.5, 0.0)), density=500.0)
    scene.add_joint("hinge", plank, None, at=(0.0, 0.5, 0.0), axis=(0.0, 0.0, 1.0), stiffness=1e7)
    scene.add_rigid(box((0.1, 0.1, 0.1), (-0.8, 0.571, 0.0)), density=1000.0)
    scene.add_rigid(box((0.1, 0.1, 0.1), (0.4, 0.571, 0.0)), density=2000.0 * share)
    sim = simulated(scene, 0.005, friction=0.6, stiffness=1e6)
    sim.step(200)
    assert np.sign(1.0 - share) * turn(sim.rigid.rotations[0]) > 0.03


@pytest.mark.parametrize("angle", [10.0, 30.0])
def test_a_pendulum_leans_on_a_wall_with_the_tangent_of_its_angle(angle):
    """Its force is half its weight times tan(angle) where it touches at its end."""
    scene, a, length = pdgpu.Scene(), np.radians(angle), 1.0
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (-1.0, 0.0, 0.0)), name="wall")
    mesh = box((length, 0.02, 0.1), (0.0, 0.0, 0.0), 0.5 * np.pi + a)
    shift = np.array([-2e-3 - np.array(mesh.points)[:, 0].max(), 0.0, 0.0])
    bar = scene.add_rigid(pdgpu.Mesh(np.array(mesh.points) + shift, triangles=mesh.triangles), density=500.0, name="bar")
    pivot = shift + 0.5 * length * np.array([-np.sin(a), np.cos(a), 0.0])
    scene.add_joint("hinge", bar, None, at=pivot, axis=(0.0, 0.0, 1.0), stiffness=1e8)
    sim = simulated(scene, 0.01)
    push(sim, {bar: (2.0 * 9.81 * bar.mass * np.tan(a), 0.0, 0.0)})  # it would hang straight down
    sim.step(200)
    centre = sim.rigid.centres[0]
    touching = sim.positions[np.argsort(sim.positions[:, 0])[-2:]].mean(axis=0)
    moment = 9.81 * bar.mass * (2.0 * np.tan(a) * (pivot[1] - centre[1]) - (centre[0] - pivot[0]))
    assert along(sim.contact_forces(), 0) == pytest.approx(moment / (pivot[1] - touching[1]), rel=1e-3)


def test_each_box_of_a_stack_bears_those_above_it():
    scene, n, gap = on_floor(), 6, 1e-3
    for k in range(n):
        at = (0.003 * (-1) ** k, 0.05 + gap + k * (0.1 + gap), 0.0)
        scene.add_rigid(box((0.1, 0.1, 0.1), at), density=500.0, name=f"box{k}")
    sim = simulated(scene, 0.01, friction=0.5)
    sim.step(100)
    names, forces = ["floor", *(body.name for body in scene.bodies)], sim.contact_forces()
    borne = [along(forces.of(*names[k : k + 2]), 1) / (9.81 * scene.bodies[0].mass) for k in range(n)]
    np.testing.assert_allclose(borne, np.arange(n, 0, -1), rtol=0.01)


def test_a_held_cloth_bears_a_ball():
    """Normal forces and friction sum to its weight, and it stays in the middle."""
    grid = shapes.grid((1.0, 1.0), cells=(12, 12))
    points = np.array(grid.points)[:, [0, 2, 1]]
    scene, middle = pdgpu.Scene(), points.mean(axis=0)
    cloth = scene.add_shell(pdgpu.Mesh(points, triangles=grid.triangles), pdgpu.Spring(2e3), density=0.3, damping=0.02)
    cloth.pin(np.flatnonzero((np.abs(points[:, [0, 2]] - 0.5) > 0.5 - 1e-9).any(axis=1)))
    body = scene.add_rigid(ball(0.1, middle + [0.0, 0.103, 0.0]), density=300.0)
    sim = simulated(scene, 0.01, distance=2e-3, tolerance=1e-6, friction=0.3)
    sim.step(160)
    np.testing.assert_allclose(sim.contact_forces().forces[body.slice].sum(axis=0), [0.0, 9.81 * body.mass, 0.0], atol=0.02 * body.mass)
    np.testing.assert_allclose(sim.rigid.centres[0, [0, 2]], middle[[0, 2]], atol=1e-9)


@pytest.mark.parametrize("ratio", [1e3, 1e5])
def test_a_light_box_bears_a_heavy_one(ratio):
    scene, gap = on_floor(), 1e-3
    light = scene.add_rigid(box((0.1, 0.1, 0.1), (0.0, 0.05 + gap, 0.0)), density=10.0, name="light")
    heavy = scene.add_rigid(box((0.1, 0.1, 0.1), (0.0, 0.15 + 2.0 * gap, 0.0)), density=10.0 * ratio, name="heavy")
    sim = simulated(scene, 0.01, friction=0.5)
    sim.step(100)
    assert sim.last_step.status == "converged"
    borne = along(sim.contact_forces().of("light", "floor"), 1)
    assert borne == pytest.approx(9.81 * (light.mass + heavy.mass), rel=1e-3)
    assert np.abs(sim.rigid.velocities).max() < 1e-4


def tipped(share, stiffness, seconds, dt):
    """The angle of a box of 0.1 x 0.2 m that comes to rest, and then feels gravity at `share` of its tipping angle."""
    width, height = 0.1, 0.2
    angle = share * np.arctan(width / height)
    scene = on_floor((0.0, -9.81 * np.cos(angle), 0.0))
    body = scene.add_rigid(box((width, height, 0.1), (0.0, 0.101, 0.0)), density=1000.0)
    sim = simulated(scene, dt, friction=1.0, stiffness=stiffness)
    sim.step(round(0.2 / dt))
    push(sim, {body: (9.81 * body.mass * np.sin(angle), 0.0, 0.0)})
    sim.step(round(seconds / dt))
    radius = 0.5 * np.hypot(width, height)
    inertia = (width**2 + height**2) / 12.0 + radius**2

    def change(_, state):
        return [state[1], 9.81 * radius * np.sin(angle - np.arctan(width / height) + state[0]) / inertia]

    exact = solve_ivp(change, (0.0, seconds), [0.0, 0.0], rtol=1e-10, atol=1e-12).y[0, -1] if share > 1.0 else 0.0
    return -turn(sim.rigid.rotations[0]), exact


def test_a_box_tips_beyond_its_angle_as_a_pendulum_on_its_edge():
    """A soft barrier gives way before the edge bears the load. That turns the box ahead, less so the stiffer it is."""
    stays, _ = tipped(0.97, 1e5, 0.4, 4e-3)
    assert abs(stays) < 2e-3
    ahead = []
    for stiffness in (1e4, 1e5, 1e7):
        angle, exact = tipped(1.1, stiffness, 0.3, 2e-3)
        ahead.append(angle / exact - 1.0)
    assert ahead[0] > ahead[1] > ahead[2] > 0.0
    assert ahead[0] < 0.35 and ahead[1] < 0.2 and ahead[2] < 0.08


def chained(share):
    """How far the loaded end of a chain over half a drum sinks, whose other end bears 10 N; share: of the load of Euler and Eytelwein."""
    mu, n, radius, thick, gap, load = 0.3, 12, 0.1, 0.01, 1e-3, 10.0
    delta = np.pi / n
    middle = radius + gap + 0.5 * thick
    half = middle * np.tan(0.5 * delta)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_obstacle(pdgpu.Capsule((0.0, 0.0, -0.2), (0.0, 0.0, 0.2), radius), name="drum")
    line = radius + gap  # joints on the line of contact, so that friction has no moment about them
    for k in range(-1, n + 1):
        at = (k + 0.5) * delta
        centre = middle * np.array([np.cos(at), np.sin(at), 0.0]) if 0 <= k < n else np.array([middle if k < 0 else -middle, -half, 0.0])
        link = scene.add_rigid(box((1.6 * half, thick, 0.02), centre, at + 0.5 * np.pi if 0 <= k < n else 0.5 * np.pi), density=1000.0)
        if k >= 0:
            place = line / np.cos(0.5 * delta) * np.array([np.cos(k * delta), np.sin(k * delta), 0.0])
            if k in (0, n):
                place = np.array([line if k == 0 else -line, 0.0, 0.0])
            scene.add_joint("ball", link, scene.bodies[-2], at=place, stiffness=1e6)
    # of n flat links; exp(pi mu) for n to infinity
    most = load * ((1.0 + mu * np.tan(0.5 * delta)) / (1.0 - mu * np.tan(0.5 * delta))) ** n
    sim = simulated(scene, 0.004, friction=mu, stiffness=1e7, friction_velocity=1e-4)
    first, last = scene.bodies[0], scene.bodies[-1]
    push(sim, {first: (0.0, -load, 0.0), last: (0.0, -load, 0.0)})
    sim.step(25)
    height = sim.rigid.centres[-1, 1]
    push(sim, {first: (0.0, -load, 0.0), last: (0.0, -share * most, 0.0)})
    sim.step(30)
    return height - sim.rigid.centres[-1, 1]


def test_a_chain_over_a_drum_slips_at_the_load_of_the_capstan():
    assert chained(0.95) < 0.01
    assert chained(1.05) > 0.1
