"""Sliders and limits of joints: closed forms, forces read back, all solvers alike, files, what is refused."""

import numpy as np
import pytest
from same_bits import assert_joints_bear_the_same
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import pdgpu
from pdgpu import shapes

WEIGHT = 9.81
AXIS = np.array([0.8, -0.6, 0.0])
BOX = shapes.box((0.2, 0.2, 0.2))
BAR = shapes.box((1.0, 0.1, 0.1))


def at(mesh, *place):
    return pdgpu.Mesh(np.array(mesh.points) + np.array(place), triangles=mesh.triangles)


def on_a_rail(solver=None, dt=0.01, **settings):
    """A box of 8 kg that slides down an inclined rail of the world."""
    scene = pdgpu.Scene(gravity=(0.0, -WEIGHT, 0.0))
    box = scene.add_rigid(at(BOX, -0.1, -0.1, -0.1), density=1000.0, name="box")
    scene.add_joint("slider", box, at=(0.0, 0.0, 0.0), axis=3.0 * AXIS, name="rail", **settings)
    return pdgpu.Simulation(scene, solver or pdgpu.Newton(iterations=30), dt=dt)


def test_slider_slides_as_on_an_incline():
    """Implicit Euler's sum of g sin(angle) h^2, and nothing across the axis but what the joint yields by."""
    sim = on_a_rail(stiffness=1e8)
    n = 20
    sim.step(n)
    way = 0.6 * WEIGHT * 0.01**2 * n * (n + 1) / 2
    rail = sim.joint_forces()["rail"]
    assert rail.position == pytest.approx(way, rel=1e-5) and rail.beyond == 0.0
    np.testing.assert_allclose(sim.rigid.centres[0], way * AXIS, atol=1e-5)
    assert Rotation.from_matrix(sim.rigid.rotations[0]).magnitude() < 1e-5
    # it bears what is across the axis
    np.testing.assert_allclose(rail.force, 8.0 * WEIGHT * (np.array([0.0, 1.0, 0.0]) + 0.6 * AXIS), rtol=1e-4, atol=1e-3)
    assert rail.gap == pytest.approx(0.8 * 8.0 * WEIGHT / 1e8, rel=1e-2)


def test_slider_rests_at_its_end():
    sim = on_a_rail(dt=1.0, limits=(-0.1, 0.25), limit_stiffness=2e3, stiffness=1e8)
    sim.step(60)
    rail = sim.joint_forces()["rail"]
    beyond = 8.0 * WEIGHT * 0.6 / 2e3
    assert rail.beyond == pytest.approx(beyond, rel=1e-4) and rail.position == pytest.approx(0.25 + beyond, rel=1e-5)
    np.testing.assert_allclose(rail.force, [0.0, 8.0 * WEIGHT, 0.0], atol=1e-2)


def free_pair(**settings):
    """A sleeve and what slides in it, off the axis, both spun; nothing from outside."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    sleeve = scene.add_rigid(at(BOX, -0.1, -0.1, -0.1), density=1000.0, name="sleeve", spin=(0.0, 0.0, 2.0))
    slid = scene.add_rigid(at(BAR, 0.2, -0.05, -0.05), density=300.0, name="slid", velocity=(0.3, 0.7 * 2.0, 0.0), spin=(0.0, 0.0, 2.0))
    scene.add_joint("slider", slid, sleeve, at=(0.3, 0.0, 0.0), axis=(1, 0, 0), name="s", **settings)
    return scene


def test_slider_between_bodies_goes_with_them():
    """The pair turns, the one leaves the other along an axis that turns with it; momentum is what it was to
    rounding, and the spin but for what implicit Euler damps."""
    sim = pdgpu.Simulation(free_pair(stiffness=1e8), pdgpu.Newton(iterations=40), dt=0.002)
    before = sim.momentum()
    turned = sim.rigid.rotations[0]
    sim.step(100)
    np.testing.assert_allclose(sim.momentum()[0], before[0], atol=1e-9)
    np.testing.assert_allclose(sim.momentum()[1], before[1], atol=2e-3)
    now = sim.rigid
    turned = now.rotations[0] @ turned.T
    assert Rotation.from_matrix(turned).magnitude() > 0.25
    assert Rotation.from_matrix(now.rotations[1] @ now.rotations[0].T).magnitude() < 1e-5
    between = turned.T @ (now.centres[1] - now.centres[0])
    np.testing.assert_allclose(between[1:], 0.0, atol=1e-5)
    joint = sim.joint_forces()["s"]
    assert joint.position == pytest.approx(between[0] - 0.7, abs=1e-6) and joint.position > 0.05


def pendulum(kind="hinge", density=100.0, dt=1.0, solver=None, **settings):
    """A bar of length 1 level in x, held at its end."""
    scene = pdgpu.Scene(gravity=(0.0, -WEIGHT, 0.0))
    scene.add_rigid(at(BAR, 0.0, -0.05, -0.05), density=density, name="bar")
    scene.add_joint(kind, "bar", at=(0.0, 0.0, 0.0), stiffness=1e8, name="j", **settings)
    return pdgpu.Simulation(scene, solver or pdgpu.Newton(iterations=60), dt=dt)


LIMITED = {
    "hinge": dict(axis=(0, 0, 1), limits=(-0.5, 0.5)),
    "hinge, one side": dict(axis=(0, 0, 1), limits=(-0.5, 1.7)),
    "ball": dict(axis=(1, 0, 0), cone=0.5),
}


@pytest.mark.parametrize("case", LIMITED)
def test_bar_hangs_on_its_limit(case):
    """k (cos w - cos phi) sin phi / sin^2 w = m g/2 cos(angle), phi from the middle of the limits."""
    stiffness = 200.0
    sim = pendulum(case.split(",")[0], limit_stiffness=stiffness, **LIMITED[case])
    sim.step(60)
    lower, upper = LIMITED[case].get("limits", (-0.5, 0.5))
    w, middle = 0.5 * (upper - lower), 0.5 * (lower + upper)

    def torque(angle):
        phi = middle - angle
        return stiffness * (np.cos(w) - np.cos(phi)) * np.sin(phi) / np.sin(w) ** 2 - 0.5 * WEIGHT * np.cos(angle)

    angle = brentq(torque, lower - 0.3, lower)
    turn = Rotation.from_matrix(sim.rigid.rotations[0]).as_rotvec()
    np.testing.assert_allclose(turn, [0.0, 0.0, angle], atol=1e-5)
    joint = sim.joint_forces()["j"]
    assert joint.beyond == pytest.approx(lower - angle, rel=1e-3) and joint.beyond > 0.01
    assert joint.position == pytest.approx(angle if case != "ball" else -angle, rel=1e-5)
    np.testing.assert_allclose(joint.force, [0.0, WEIGHT, 0.0], atol=1e-3)
    np.testing.assert_allclose(joint.torque, [0.0, 0.0, 0.5 * WEIGHT * np.cos(angle)], atol=1e-3)


def test_within_its_limits_a_joint_is_free():
    """The same motion as without, up to how far the points of the arms, which have no mass, round."""
    for kind, settings in (("hinge", LIMITED["hinge"]), ("ball", LIMITED["ball"])):
        free = {name: value for name, value in settings.items() if name == "axis" and kind == "hinge"}
        sims = [pendulum(kind, dt=0.01, **given) for given in (settings, free)]
        for sim in sims:
            sim.step(15)
        np.testing.assert_allclose(sims[0].rigid.centres, sims[1].rigid.centres, atol=1e-9)
        joint = sims[0].joint_forces()["j"]
        assert 0.1 < abs(joint.position) < 0.5 and joint.beyond == 0.0
        assert np.isnan(sims[1].joint_forces()["j"].position)


def machine():
    """All that has limits, between bodies: a flap on a carriage, a tool that slides on the flap, a lamp on that."""
    scene = pdgpu.Scene(gravity=(0.0, -WEIGHT, 0.0))
    carriage = scene.add_rigid(at(BOX, -0.1, -0.1, -0.1), density=1000.0, name="carriage", velocity=(1.0, 0.0, 0.0))
    flap = scene.add_rigid(at(shapes.box((0.5, 0.05, 0.2)), 0.1, -0.025, -0.1), density=500.0, name="flap", spin=(0.0, 0.0, 4.0))
    tool = scene.add_rigid(at(shapes.box((0.1, 0.1, 0.1)), 0.3, 0.05, -0.05), density=500.0, name="tool", velocity=(0.6, 0.8, 0.0))
    lamp = scene.add_rigid(at(shapes.box((0.05, 0.2, 0.05)), 0.325, 0.15, -0.025), density=500.0, name="lamp", spin=(3.0, 0.0, -3.0))
    scene.add_joint("slider", carriage, at=(0.0, 0.0, 0.0), axis=(1, 0, 0), limits=(-np.inf, 0.02), stiffness=1e5)
    scene.add_joint("hinge", flap, carriage, at=(0.1, 0.0, 0.0), axis=(0, 0, 1), limits=(-0.1, 0.02), stiffness=1e5, limit_stiffness=200.0)
    scene.add_joint("slider", tool, flap, at=(0.35, 0.1, 0.0), axis=(1, 0, 0), limits=(-0.002, 0.01), stiffness=1e5)
    scene.add_joint("ball", lamp, tool, at=(0.35, 0.15, 0.0), axis=(0, 1, 0), cone=0.05, stiffness=1e5, limit_stiffness=50.0)
    return scene


TAKERS = {
    "Newton": pdgpu.Newton(iterations=60),
    "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=2000),
    "BlockJacobi": pdgpu.BlockJacobi(iterations=5000),
}


def test_solvers_agree():
    sims = {name: pdgpu.Simulation(machine(), solver, dt=0.01) for name, solver in TAKERS.items()}
    for name, sim in sims.items():
        sim.step(3)
        np.testing.assert_allclose(sim.positions, sims["Newton"].positions, atol=1e-6, err_msg=name)
    joints = sims["Newton"].joint_forces()
    assert all(joint.beyond > 1e-4 for joint in joints.values()), joints


def test_gradient_is_that_of_the_potential():
    """By differences of G along a force and a torque on each body, all limits passed."""
    sim = pdgpu.Simulation(machine(), pdgpu.Newton(iterations=60), dt=0.01)
    sim.step(3)
    x, slices = sim.positions, [body.slice for body in sim.bodies]
    for k, gradient in enumerate(sim.rigid.gradient):
        centre, rows = sim.rigid.centres[k], slices[k]

        def at(move, centre=centre, rows=rows):
            there = x.copy()
            there[rows] = centre + (x[rows] - centre) @ Rotation.from_rotvec(move[3:]).as_matrix().T + move[:3]
            return sim.incremental_potential(there)

        numbers = [(at(step) - at(-step)) / 2e-6 for step in 1e-6 * np.eye(6)]
        np.testing.assert_allclose(gradient, numbers, rtol=1e-5, atol=1e-6 * np.abs(numbers).max())


def test_same_bits_of_threads_and_files(tmp_path):
    for solver in (TAKERS["Newton"], pdgpu.VertexBlockDescent(iterations=20)):
        assert_joints_bear_the_same(machine, solver, tmp_path)


def test_slider_in_contact():
    """A ram on a rail of the world drops on a ball: nothing meets, and the rail bears no weight."""
    scene = pdgpu.Scene(gravity=(0.0, -WEIGHT, 0.0))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    scene.add_rigid(at(shapes.sphere(0.1, 1), 0.0, 0.11, 0.0), density=1000.0, name="ball")
    ram = scene.add_rigid(at(BOX, -0.1, 0.25, -0.1), density=1000.0, name="ram")
    scene.add_joint("slider", ram, at=(0.0, 0.35, 0.0), axis=(0, 1, 0), name="rail")
    contact = pdgpu.BarrierContact(0.005, friction=0.2)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=60, tolerance=1e-7), dt=0.01, contact=contact)
    for _ in range(40):
        before = sim.positions
        sim.step(record="positions")
        assert sim.last_step.status == "converged"
        assert pdgpu.certify([before, *sim.last_step.positions], scene, gap=False).clean
    assert sim.last_step["active_contacts"][-1] > 0
    assert abs(sim.joint_forces()["rail"].force[1]) < 1e-6 and sim.joint_forces()["rail"].gap < 1e-4


AT = {"at": (0.0, 0.0, 0.0)}
HINGE, BALL, SLIDER = {"axis": (0, 0, 1), **AT}, {"axis": (1, 0, 0), **AT}, {"axis": (1, 0, 0), **AT}
REFUSED = {
    "turned round": ("hinge", {"limits": (0.5, -0.5), **HINGE}, r"limits: \(0.5, -0.5\) must ascend"),
    "nothing between": ("slider", {"limits": (0.0, 0.0), **SLIDER}, "must ascend"),
    "beyond at rest": ("slider", {"limits": (0.1, 0.5), **SLIDER}, "must contain 0"),
    "whole turn": ("hinge", {"limits": (-4.0, 4.0), **HINGE}, "whole turn"),
    "infinite angle": ("hinge", {"limits": (-np.inf, 1.0), **HINGE}, "whole turn"),
    "no number": ("slider", {"limits": (np.nan, 1.0), **SLIDER}, "limits: expected two numbers"),
    "one number": ("slider", {"limits": 1.0, **SLIDER}, "limits: expected two numbers"),
    "limits of a ball": ("ball", {"limits": (-1.0, 1.0), **AT}, "limits: a ball joint has none"),
    "cone of a hinge": ("hinge", {"cone": 1.0, **AT}, "cone: a hinge joint has none"),
    "a cone without an axis": ("ball", {"cone": 1.0, **AT}, "axis: a cone needs one"),
    "an axis without a cone": ("ball", {**BALL}, "axis: a ball joint has none"),
    "half a turn": ("ball", {"cone": 3.2, **BALL}, "half a turn"),
    "no cone": ("ball", {"cone": 0.0, **BALL}, "cone"),
    "no rail": ("slider", {**AT}, "axis: a slider needs one"),
    "stiffness of nothing": ("hinge", {"limit_stiffness": 1.0, **HINGE}, "limit_stiffness: a hinge joint has none without limits"),
    "no stiffness": ("hinge", {"limits": (-1, 1), "limit_stiffness": 0.0, **HINGE}, "limit_stiffness"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    kind, settings, message = REFUSED[case]
    scene = pdgpu.Scene()
    scene.add_rigid(BAR, density=1.0, name="a")
    n = scene.n_vertices
    with pytest.raises(ValueError, match=message):
        scene.add_joint(kind, "a", **settings)
    assert scene.n_vertices == n and not scene.joints


def test_cone_and_slider_of_a_vertex_are_refused():
    scene = free_pair()
    scene.add_solid(shapes.beam((1.0, 0.2, 0.2), cells=(2, 1, 1)), pdgpu.ARAP(1e3), density=1.0, name="soft")
    with pytest.raises(ValueError, match="cone: it is between directions of two rigid bodies"):
        scene.add_joint("ball", "slid", ("soft", 1), axis=(1, 0, 0), cone=1.0)
    with pytest.raises(ValueError, match="second: a slider joint holds rotations"):
        scene.add_joint("slider", "slid", ("soft", 1), axis=(1, 0, 0), **AT)


CONTRADICTIONS = {
    "a pinned body slides": ("slider", [0], {"at": (0.5, 0.05, 0.05), "axis": (1, 0, 0)}),
    "two axes": ("hinge", [0, 1], {"at": (0.5, 0.05, 0.05), "axis": (0, 1, 0)}),
    "a point off an axis": ("ball", [0, 1], {"at": (0.5, 0.05, 0.05)}),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_joints_that_contradict_pins_are_refused(case):
    kind, pins, settings = CONTRADICTIONS[case]
    scene = pdgpu.Scene()
    body = scene.add_rigid(BAR, density=1.0, name="a")
    body.pin(pins)
    scene.add_joint(kind, body, name="j", **settings)
    with pytest.raises(ValueError, match="joint 'j': with the pins of 'a' it blocks every rotation and displacement"):
        pdgpu.Simulation(scene, pdgpu.Newton())


def test_joints_that_go_with_pins():
    """A ball joint makes an axis of a pinned point, and a hinge may lie on the axis of the pins."""
    points = np.array(BAR.points)
    edge = np.flatnonzero((points[:, 0] == 0.0) & (points[:, 1] == 0.0))
    for pins, kind, settings in (
        ([int(edge[0])], "ball", {"at": points[edge[1]]}),
        (edge.tolist(), "hinge", {"at": (0.0, 0.0, 0.05), "axis": (0, 0, 1)}),
    ):
        scene = pdgpu.Scene(gravity=(0.0, -WEIGHT, 0.0))
        body = scene.add_rigid(BAR, density=100.0, name="a")
        body.pin(pins)
        scene.add_joint(kind, body, **settings)
        sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=30), dt=0.01)
        sim.step(10)
        turn = Rotation.from_matrix(sim.rigid.rotations[0]).as_rotvec()
        assert turn[2] < -0.05 and np.abs(turn[:2]).max() < 1e-4
