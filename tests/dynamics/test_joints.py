"""Joints: pendulums against an ODE solver, what they bear, bodies that move as one, all solvers alike, files, what is refused."""

import numpy as np
import pytest
from same_bits import assert_joints_bear_the_same
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import pdgpu
from pdgpu import shapes

BAR = shapes.box((1.0, 0.1, 0.1))
WEIGHT = 9.81


def chain(n, kind="ball", stiffness=1e6, gap=0.0, contact=None, solver=None, dt=5e-3, **settings):
    """Bars one behind the other in x, the first held at its end."""
    scene = pdgpu.Scene(gravity=(0.0, -WEIGHT, 0.0))
    before = None
    for k in range(n):
        left = k * (1.0 + gap)
        mesh = pdgpu.Mesh(np.array(BAR.points) + [left + 0.5 * gap, -0.05, -0.05], triangles=BAR.triangles)
        body = scene.add_rigid(mesh, density=100.0, name=f"b{k}")
        scene.add_joint(kind, body, before, at=(left, 0.0, 0.0), stiffness=stiffness, **({"axis": (0, 0, 1)} if kind == "hinge" else {}))
        before = body
    return scene, pdgpu.Simulation(scene, solver or pdgpu.Newton(iterations=30), dt=dt, contact=contact, **settings)


def double_pendulum(seconds):
    """Centres of two bars of mass 1 that start level, by Lagrange's equations."""
    half, inertia = 0.5, (1.0 + 0.01) / 12.0

    def change(_, state):
        a, b, u, v = state
        masses = [[inertia + 1.25, half * np.cos(a - b)], [half * np.cos(a - b), inertia + 0.25]]
        s = half * np.sin(a - b)
        return [u, v, *np.linalg.solve(masses, [-s * v**2 - 1.5 * WEIGHT * np.sin(a), s * u**2 - half * WEIGHT * np.sin(b)])]

    start = [0.5 * np.pi, 0.5 * np.pi, 0.0, 0.0]
    a, b, *_ = solve_ivp(change, (0.0, seconds), start, rtol=1e-11, atol=1e-12).y[:, -1]
    first = np.array([np.sin(a), -np.cos(a), 0.0])
    return 0.5 * first, first + 0.5 * np.array([np.sin(b), -np.cos(b), 0.0])


@pytest.mark.parametrize("kind", ["ball", "hinge"])
def test_double_pendulum_is_of_first_order(kind):
    errors = []
    for dt in (4e-3, 2e-3):
        _, sim = chain(2, kind, stiffness=1e7, dt=dt)
        sim.step(round(0.4 / dt))
        errors.append(np.abs(sim.rigid.centres - double_pendulum(0.4)).max())
    assert errors[1] < 4e-3 and 1.9 < errors[0] / errors[1] < 2.1


def test_joints_bear_what_hangs_on_them():
    scene = pdgpu.Scene(gravity=(0.0, -WEIGHT, 0.0))
    before = None
    for k in range(3):
        mesh = pdgpu.Mesh(np.array(shapes.box((0.1, 0.4, 0.1)).points) + [-0.05, -0.4 * (k + 1), -0.05], triangles=BAR.triangles)
        before, above = scene.add_rigid(mesh, density=1000.0, name=f"b{k}"), before
        scene.add_joint("ball", before, above, at=(0.0, -0.4 * k, 0.0), stiffness=1e5, name=f"j{k}")
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=10), dt=1.0)  # so long a step is nearly at rest
    sim.step(30)
    for k in range(3):
        joint = sim.joint_forces()[f"j{k}"]
        np.testing.assert_allclose(joint.force, [0.0, (3 - k) * 4.0 * WEIGHT, 0.0], atol=1e-3)
        assert joint.gap == pytest.approx((3 - k) * 4.0 * WEIGHT / 1e5, rel=1e-4)
    assert scene.joints[1].bodies == ("b1", "b0") and scene.joints[0].bodies == ("b0", None)


def test_fixed_boxes_move_as_one():
    """Two halves and the whole, spun: they part by the braking of the halves on their circles, which halves with the time step."""
    apart = []
    for dt in (5e-3, 2.5e-3):
        motion = {"density": 500.0, "spin": (2.0, 1.0, 3.0)}
        scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
        half = np.array(shapes.box((0.5, 0.3, 0.2)).points)
        whole = scene.add_rigid(shapes.box((1.0, 0.3, 0.2)), name="whole", **motion)
        parts = []
        for name, shift in (("left", 0.0), ("right", 0.5)):
            points = half + [shift, 0.0, 0.0]
            velocity = np.cross(motion["spin"], points.mean(axis=0) - whole.centre)
            parts.append(scene.add_rigid(pdgpu.Mesh(points, triangles=BAR.triangles), name=name, velocity=velocity, **motion))
        scene.add_joint("fixed", *parts, at=(0.5, 0.15, 0.1), stiffness=1e9)
        sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=20), dt=dt)
        sim.step(round(0.3 / dt))
        rigid = sim.rigid
        apart.append(max(Rotation.from_matrix(rigid.rotations[k] @ rigid.rotations[0].T).magnitude() for k in (1, 2)))
        assert Rotation.from_matrix(rigid.rotations[1] @ rigid.rotations[2].T).magnitude() < 1e-6
        np.testing.assert_allclose(rigid.centres[1:].mean(axis=0), rigid.centres[0], atol=1e-5)
    assert apart[1] < 4e-3 and 1.8 < apart[0] / apart[1] < 2.2


def test_hinge_turns_about_its_axis_alone():
    _, sim = chain(1, "hinge", stiffness=1e8)
    sim.step(30)
    turn = Rotation.from_matrix(sim.rigid.rotations[0]).as_rotvec()
    assert turn[2] < -0.1 and np.abs(turn[:2]).max() < 1e-9


def test_spring_swings():
    """Two balls on a spring: sqrt(2k/m), damped by the step as k of implicit Euler says."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    ball = shapes.sphere(0.1, 1)
    first = scene.add_rigid(ball, density=1000.0, velocity=(-0.1, 0.0, 0.0))
    second = scene.add_rigid(
        pdgpu.Mesh(np.array(ball.points) + [1.0, 0.0, 0.0], triangles=ball.triangles), density=1000.0, velocity=(0.1, 0.0, 0.0)
    )
    scene.add_joint("spring", first, second, at=(0.0, 0.0, 0.0), to=(1.0, 0.0, 0.0), stiffness=100.0, name="s")
    dt, steps = 1e-3, 200
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=10), dt=dt)
    sim.step(steps)
    stretch, speed, square = 0.0, 0.2, 200.0 / first.mass
    for _ in range(steps):
        speed = (speed - dt * square * stretch) / (1.0 + dt**2 * square)
        stretch += dt * speed
    assert sim.joint_forces()["s"].gap == pytest.approx(abs(stretch), rel=1e-6)
    assert sim.joint_forces()["s"].force[0] == pytest.approx(100.0 * stretch, rel=1e-6)


def mixed():
    """A rigid box on two vertices of a soft bar, and a ball on the box."""
    scene = pdgpu.Scene(gravity=(0.0, -WEIGHT, 0.0))
    beam = shapes.beam((0.6, 0.1, 0.1), cells=(6, 1, 1))
    bar = scene.add_solid(beam, pdgpu.NeoHookean.from_young(1e6, 0.3), density=1000.0, name="bar")
    bar.pin(lambda points: points[:, 0] < 0.01)
    ends = np.flatnonzero((beam.points[:, 0] > 0.59) & (beam.points[:, 1] < 0.01))
    middle = beam.points[ends].mean(axis=0)
    box = scene.add_rigid(
        pdgpu.Mesh(np.array(shapes.box((0.1, 0.2, 0.1)).points) + middle - [0.05, 0.25, 0.05], triangles=BAR.triangles),
        density=500.0,
        name="box",
    )
    for end in ends:
        scene.add_joint("ball", box, ("bar", int(end)), stiffness=2e4)
    ball = shapes.sphere(0.05, 1)
    scene.add_rigid(pdgpu.Mesh(np.array(ball.points) + middle - [0.0, 0.35, 0.0], triangles=ball.triangles), density=500.0, name="ball")
    scene.add_joint("ball", "ball", "box", at=middle - [0.0, 0.28, 0.0], stiffness=2e4)
    return scene


TAKERS = {
    "Newton": pdgpu.Newton(iterations=30),
    "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=600),
    "BlockJacobi": pdgpu.BlockJacobi(iterations=1500),
}


def test_solvers_agree():
    sims = {name: pdgpu.Simulation(mixed(), solver, dt=0.01) for name, solver in TAKERS.items()}
    for name, sim in sims.items():
        sim.step(3)
        np.testing.assert_allclose(sim.positions, sims["Newton"].positions, atol=1e-7, err_msg=name)
    assert sims["Newton"].positions[:, 1].min() < mixed().rest_positions()[:, 1].min() - 1e-4


def test_same_bits_of_threads_copies_and_files(tmp_path):
    for solver in (TAKERS["Newton"], pdgpu.VertexBlockDescent(iterations=20)):
        assert_joints_bear_the_same(mixed, solver, tmp_path)


def test_joined_bodies_touch():
    """A chain with gaps between its links falls on the floor, and nothing meets."""
    scene = pdgpu.Scene(gravity=(0.0, -WEIGHT, 0.0))
    scene.add_obstacle(pdgpu.Plane((0.0, -0.3, 0.0), (0.0, 1.0, 0.0)))
    before = None
    for k in range(3):
        mesh = pdgpu.Mesh(np.array(shapes.box((0.28, 0.1, 0.1)).points) + [0.3 * k + 0.01, -0.05, -0.05], triangles=BAR.triangles)
        before, last = scene.add_rigid(mesh, density=1000.0, name=f"b{k}"), before
        scene.add_joint("ball", before, last, at=(0.3 * k, 0.0, 0.0), stiffness=1e6)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=60, tolerance=1e-7), dt=0.01, contact=pdgpu.BarrierContact(0.005, friction=0.2))
    touched = 0
    for _ in range(35):
        before = sim.positions
        sim.step(record="positions")
        assert sim.last_step.status == "converged"
        assert pdgpu.certify([before, *sim.last_step.positions], scene, gap=False).clean
        touched += int(sim.last_step["active_contacts"][-1] > 0)
    assert touched > 5
    assert max(joint.gap for joint in sim.joint_forces().values()) < 1e-3


def joinable():
    scene = pdgpu.Scene()
    scene.add_rigid(BAR, density=1.0, name="a")
    scene.add_rigid(pdgpu.Mesh(np.array(BAR.points) + 2.0, triangles=BAR.triangles), density=1.0, name="b")
    scene.add_solid(shapes.beam((1.0, 0.2, 0.2), cells=(2, 1, 1)), pdgpu.ARAP(1e3), density=1.0, name="soft")
    return scene


AT = {"at": (0.0, 0.0, 0.0)}
REFUSED = {
    "kind": (("screw", "a", "b"), AT, ValueError, "kind"),
    "itself": (("ball", "a", "a"), AT, ValueError, "second: 'a' is joined to itself"),
    "the same vertex": (("ball", ("soft", 3), ("soft", 3)), {}, ValueError, "second: 'soft' is joined to itself"),
    "nowhere": (("ball", "a", "b"), {}, ValueError, "at: needed"),
    "no axis": (("hinge", "a", "b"), AT, ValueError, "axis: a hinge needs one"),
    "an axis too many": (("ball", "a", "b"), {"axis": (1, 0, 0), **AT}, ValueError, "axis: a ball joint has none"),
    "no direction": (
        ("hinge", "a", "b"),
        {"axis": (0, 0, 0), **AT},
        ValueError,
        "axis: expected a direction of non-zero length, got length 0",
    ),
    "no vertex": (("ball", "a", "soft"), AT, ValueError, "second: 'soft' deforms"),
    "a vertex of a rigid body": (("ball", ("a", 1), "b"), {}, ValueError, "first: 'a' is rigid"),
    "out of range": (("ball", "a", ("soft", 99)), {}, ValueError, "vertex of second.*99"),
    "rotation of a vertex": (("fixed", "a", ("soft", 1)), {}, ValueError, "second: a fixed joint holds rotations"),
    "elsewhere": (("ball", "a", ("soft", 1)), {"at": (9, 9, 9)}, ValueError, "at: vertex 1 of 'soft' is at"),
    "soft": (("ball", "a", "b"), {"stiffness": 0.0, **AT}, ValueError, "stiffness"),
    "a spring in the air": (("spring", "a"), {"to": (0, 1, 0), **AT}, ValueError, "second: a spring of some length"),
    "unknown": (("ball", "a", "c"), AT, ValueError, "second: 'c' is no body of this scene"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    ends, settings, error, message = REFUSED[case]
    scene = joinable()
    n = scene.n_vertices
    with pytest.raises(error, match=message):
        scene.add_joint(*ends, **settings)
    assert scene.n_vertices == n and not scene.joints


def test_joint_of_what_cannot_move_is_refused():
    scene = joinable()
    scene["a"].pin([0, 1, 2, 5])
    scene.add_joint("ball", "a", name="stuck", **AT)
    with pytest.raises(ValueError, match="joint 'stuck': pins hold both of its ends, 'a'; pin less"):
        pdgpu.Simulation(scene, pdgpu.Newton())


def test_points_of_joints_are_not_the_users_to_hold():
    scene = joinable()
    before = {body.name: body.points[:8].copy() for body in scene.bodies}
    scene.add_joint("hinge", "a", "b", axis=(0, 1, 0), **AT)
    assert scene["a"].anchors == scene["b"].anchors == 2
    assert [body.slice.start for body in scene.bodies] == [0, 8, 16] and scene.n_vertices == 16 + len(scene["soft"].points)
    for body in scene.bodies:
        np.testing.assert_array_equal(body.points[:8], before[body.name])
    sim = pdgpu.Simulation(scene, pdgpu.Newton())
    assert sim.positions.shape == (scene.n_vertices, 3) and np.array_equal(sim.positions, scene.rest_positions())
    with pytest.raises(ValueError, match="index 8"):
        scene["a"].pin([8])
