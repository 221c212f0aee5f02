"""Pins and obstacles whose prescribed motions meet: no force can part them, so that such a step is refused."""

import numpy as np
import pytest
from contact_scenes import NO_GRAVITY, cube

import pdgpu

SOLVERS = {
    "Newton": (pdgpu.Newton(iterations=30), pdgpu.BarrierContact(2e-3, stiffness=1e4)),
    "Vertex Block Descent": (pdgpu.VertexBlockDescent(iterations=30), pdgpu.BarrierContact(2e-3, stiffness=1e4)),
    "Newton, by reach": (pdgpu.Newton(iterations=30), pdgpu.BarrierContact(2e-3, stiffness=1e4, guard="reach")),
    "Projective Dynamics": (pdgpu.ProjectiveDynamics(iterations=30), pdgpu.BarrierContact(2e-3, stiffness=1e4)),
    "projections": (pdgpu.ProjectiveDynamics(iterations=30), pdgpu.ProjectiveContact(2e-3)),
    "two-way": (pdgpu.ProjectiveDynamics(iterations=30), pdgpu.TwoWayContact(2e-3)),
}
SIZE, FIRST, SECOND = 0.1, (-0.06, 0.0, 0.003), (0.06, 0.001, 0.0)  # a gap of 20 mm


def along(speed):
    return lambda time, rest: rest + [speed * time, 0.0, 0.0]


def pinned(scene, centre, speed, where=None):
    body = scene.add_solid(cube(SIZE, 2, centre), pdgpu.ARAP.from_young(1e5, 0.3), density=1000.0)
    body.pin(where or (lambda p: p[:, 0] > -9.0), motion=along(speed) if speed else None)


def rigid(scene, centre, speed):
    scene.add_rigid(cube(SIZE, 2, centre), density=1000.0).pin(lambda p: p[:, 0] > -9.0, motion=along(speed))


def obstacle(scene, centre, speed):
    mesh = pdgpu.shapes.box((SIZE,) * 3)
    mesh = pdgpu.Mesh(mesh.points - mesh.points.mean(axis=0) + centre, triangles=mesh.triangles)
    scene.add_obstacle(mesh, motion=along(speed) if speed else None)


def shape(scene, collider, speed):
    scene.add_obstacle(collider, motion=(lambda time: (np.eye(3), np.array([speed * time, 0.0, 0.0]))) if speed else None)


def two_pins_of_a_body(scene, speed):
    parts = [cube(SIZE, 2, centre) for centre in (FIRST, SECOND)]
    n = len(parts[0].points)
    mesh = pdgpu.Mesh(np.concatenate([part.points for part in parts]), tets=np.concatenate([parts[0].tets, parts[1].tets + n]))
    body = scene.add_solid(mesh, pdgpu.ARAP.from_young(1e5, 0.3), density=1000.0)
    body.pin(np.arange(n), motion=along(speed))
    body.pin(np.arange(n, 2 * n), motion=along(-speed))


def sides(p):
    return np.abs(p[:, 1]) > 0.49 * SIZE


# what meets, by its names
MEETING = {
    "two pinned bodies": (lambda s: (pinned(s, FIRST, 0.4), pinned(s, SECOND, -0.4)), ("solid0", "solid1")),
    "one of them at rest": (lambda s: (pinned(s, FIRST, 0.8), pinned(s, SECOND, 0.0)), ("solid0", "solid1")),
    "two pins of a body": (lambda s: two_pins_of_a_body(s, 0.4), ("solid0", "solid0")),
    "a pinned body and a mesh": (lambda s: (pinned(s, FIRST, 0.4), obstacle(s, SECOND, -0.4)), ("solid0", "obstacle0")),
    "pinned sides and a mesh": (lambda s: (pinned(s, FIRST, 0.4, sides), obstacle(s, SECOND, -0.4)), ("solid0", "obstacle0")),
    "a body at rest and a mesh": (lambda s: (pinned(s, FIRST, 0.0), obstacle(s, SECOND, -0.8)), ("solid0", "obstacle0")),
    "a pinned body and a plane": (
        lambda s: (pinned(s, FIRST, 0.8), shape(s, pdgpu.Plane((0.01, 0.0, 0.0), (-1.0, 0.0, 0.0)), 0.0)),
        ("solid0", "obstacle0"),
    ),
    "a body at rest and a plane": (
        lambda s: (pinned(s, FIRST, 0.0), shape(s, pdgpu.Plane((0.01, 0.0, 0.0), (-1.0, 0.0, 0.0)), -0.8)),
        ("solid0", "obstacle0"),
    ),
    "a pinned body and a sphere": (
        lambda s: (pinned(s, FIRST, 0.8), shape(s, pdgpu.Sphere((0.04, 0.0, 0.0), 0.03), 0.0)),
        ("solid0", "obstacle0"),
    ),
    "a pinned body and a capsule": (
        lambda s: (pinned(s, FIRST, 0.8), shape(s, pdgpu.Capsule((0.04, -0.1, 0.0), (0.04, 0.1, 0.0), 0.03), 0.0)),
        ("solid0", "obstacle0"),
    ),
}
RIGID = {
    "two rigid bodies": (lambda s: (rigid(s, FIRST, 0.4), rigid(s, SECOND, -0.4)), ("rigid0", "rigid1")),
    "a rigid body and a mesh": (lambda s: (rigid(s, FIRST, 0.4), obstacle(s, SECOND, -0.4)), ("rigid0", "obstacle0")),
    "a rigid and a pinned body": (lambda s: (rigid(s, FIRST, 0.4), pinned(s, SECOND, -0.4)), ("rigid0", "solid1")),
}


def refused(make, solver, dtype="float64", steps=20):
    """The simulation and the error of the step that it refuses."""
    scene = pdgpu.Scene(NO_GRAVITY)
    make(scene)
    method, contact = SOLVERS[solver]
    sim = pdgpu.Simulation(scene, method, dt=0.01, contact=contact, dtype=dtype, threads=1)
    for _ in range(steps):
        before, time = sim.positions, sim.time
        try:
            sim.step()
        except ValueError as error:
            assert np.array_equal(sim.positions, before) and sim.time == time
            return sim, str(error)
    return sim, None


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", MEETING)
def test_prescribed_motions_that_meet_are_refused(name, solver):
    """If not, they would pass through each other in steps that say `converged` and `behind` 0."""
    make, names = MEETING[name]
    sim, error = refused(make, solver)
    assert error is not None and all(f"'{each}'" in error for each in names)
    assert sim.time == pytest.approx(0.02)  # a gap of 20 mm, closed at 0.8 m/s


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("solver", ["Newton", "Vertex Block Descent"])
@pytest.mark.parametrize("name", RIGID)
def test_pinned_rigid_bodies_that_meet_are_refused(name, solver, dtype):
    """If not, a scripted machine part would pass through another."""
    make, names = RIGID[name]
    _, error = refused(make, solver, dtype)
    assert error is not None and all(f"'{each}'" in error for each in names)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_fast_motion_is_seen_on_its_way(solver):
    """If not, a motion of many sizes in a step would be on the other side at its end, and nothing would touch there."""
    _, error = refused(lambda s: (pinned(s, FIRST, 100.0), pinned(s, SECOND, 0.0)), solver, steps=1)
    assert error is not None


def approaching(gap):
    """To this gap, in one step."""
    return lambda s: (pinned(s, FIRST, (0.02 - gap) / 0.01, None), pinned(s, SECOND, 0.0))


# what does not meet
APART = {
    "nearly": approaching(1e-4),
    "away": lambda s: (pinned(s, FIRST, -0.4), pinned(s, SECOND, 0.4)),
    "together": lambda s: (pinned(s, FIRST, 0.4), pinned(s, SECOND, 0.4), obstacle(s, (0.0, 0.2, 0.0), 0.4)),
    "sunk in a mesh": lambda s: (pinned(s, FIRST, 0.0), obstacle(s, (-0.1, 0.003, 0.001), 4.0)),
    "sunk in a sphere": lambda s: (pinned(s, FIRST, 0.0), shape(s, pdgpu.Sphere(FIRST, 0.06), 0.2)),
    "sunk in a plane": lambda s: (pinned(s, FIRST, 0.2), shape(s, pdgpu.Plane((-0.06, 0.0, 0.0), (-1.0, 0.0, 0.0)), 0.0)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("solver", ["Newton", "projections", "two-way"])
@pytest.mark.parametrize("name", APART)
def test_what_does_not_meet_is_not_refused(name, solver, dtype):
    """If not, jaws could not close up to a small gap, and a scene could not begin with a pinned body that an obstacle overlaps."""
    _, error = refused(APART[name], solver, dtype, steps=1)
    assert error is None


@pytest.mark.parametrize("solver", ["Newton", "projections", "two-way"])
def test_obstacles_pass_through_each_other(solver):
    """If not, a scene whose obstacles overlap by design would end."""
    _, error = refused(lambda s: (pinned(s, (0.0, 0.5, 0.0), 0.0), obstacle(s, FIRST, 0.4), obstacle(s, SECOND, -0.4)), solver)
    assert error is None
