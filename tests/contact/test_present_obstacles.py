"""Obstacles that contact holds back: where surfaces, contacts and pictures have them."""

import numpy as np
import pytest

import pdgpu
from pdgpu._internal.motion_calls import asking
from pdgpu._internal.parts import core_of
from pdgpu.contact.present_obstacles import present_colliders

PLATE = pdgpu.shapes.box((0.3, 0.04, 0.3))
BELOW = pdgpu.shapes.box((0.3, 0.04, 0.3))
SHAPES = {
    "mesh": lambda motion: pdgpu.TriangleMesh(
        pdgpu.Mesh(PLATE.points + [-0.1, 0.105, -0.1], triangles=PLATE.triangles),
        motion=lambda t, rest: rest @ motion(t)[0].T + motion(t)[1],
    ),
    "box": lambda motion: pdgpu.Box((0.3, 0.04, 0.3), centre=(0.05, 0.125, 0.05), motion=motion),
    "capsule": lambda motion: pdgpu.Capsule((-0.1, 0.135, 0.05), (0.2, 0.135, 0.05), 0.03, motion=motion),
    "sphere": lambda motion: pdgpu.Sphere((0.05, 0.155, 0.05), 0.05, motion=motion),
    "plane": lambda motion: pdgpu.Plane((0.05, 0.105, 0.05), (0.0, -1.0, 0.0), motion=motion),
}


def down(speed, turn=0.0):
    def motion(t):
        c, s = np.cos(turn * t), np.sin(turn * t)
        return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]), np.array([0.0, -speed * t, 0.0])

    return motion


def pressed(shape, dtype="float64", origin=(0.0, 0.0, 0.0), turn=0.0):
    """A block of 0.1 m on a floor under an obstacle that is to go through both."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    block = pdgpu.shapes.beam((0.1, 0.1, 0.1), (2, 2, 2))
    scene.add_solid(pdgpu.Mesh(block.points, tets=block.tets), pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000.0, name="block")
    scene.add_obstacle(pdgpu.Mesh(BELOW.points + [-0.1, -0.045, -0.1], triangles=BELOW.triangles), name="floor")
    scene.add_obstacle(SHAPES[shape](down(2.0, turn)), name="press")
    sim = pdgpu.Simulation(
        scene, pdgpu.Newton(iterations=20, tolerance=1e-6), dt=0.01, contact=pdgpu.BarrierContact(2e-3), dtype=dtype, threads=1
    )
    return sim


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_contacts_and_surfaces_have_a_late_obstacle_where_it_is(shape, dtype):
    """If not, distances and pictures show an obstacle inside a body that it has not entered."""
    sim = pressed(shape, dtype)
    sim.step(10)
    assert sim.last_step.behind > 0.02
    sim.gradient()  # has the obstacles at the end of the next step
    found = sim.contacts(5e-3).of("block", "press")
    assert len(found) and found.distance.min() > 0.0  # at its motion it is 0.1 m inside
    if shape in ("mesh", "box", "plane"):  # of spheres and capsules only vertices are near, but edges and triangles act
        acting = sim.contact_forces().of("block", "press")
        assert found.distance.min() == pytest.approx(acting.distance.min(), rel=1e-2 if dtype == "float32" else 1e-9)
    if shape == "mesh":
        surface = sim.surface(obstacles=True)
        here = surface.points[np.unique(surface.triangles[surface.groups["press"].triangles])]
        lag = np.abs(here - SHAPES[shape](down(2.0)).positions(sim.time)).max()
        assert lag == pytest.approx(sim.last_step.behind, rel=1e-5)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_late_box_that_turns_is_the_nearest_rigid_box():
    """If not, a turning obstacle is shown sheared, or turned as if it were not late."""
    sim = pressed("box", turn=20.0)
    sim.step(10)
    core = core_of(sim)
    with asking(core):
        box = present_colliders(core)[1]
    turn, shift = box.placement(sim.time)
    corners = (PLATE.points - [0.15, 0.02, 0.15] + box.centre) @ turn.T + shift
    here = core.backend.driven()[8:]
    motion_turn, motion_shift = SHAPES["box"](down(2.0, 20.0)).placement(sim.time)
    late = np.abs((PLATE.points - [0.15, 0.02, 0.15] + box.centre) @ motion_turn.T + motion_shift - here).max()
    assert np.abs(corners - here).max() < 0.2 * late
    other, to = corners - corners.mean(axis=0), here - here.mean(axis=0)  # no rotation brings the corners nearer
    np.testing.assert_allclose(other.T @ to, to.T @ other, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("far", [0.0, 1e4])
def test_an_obstacle_that_is_not_late_keeps_its_motion(far, dtype):
    """If not, rounding or a query of the next step moves an obstacle by a step."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    block = pdgpu.shapes.beam((0.1, 0.1, 0.1), (1, 1, 1))
    scene.add_solid(pdgpu.Mesh(block.points + [far, 0.0, 0.0], tets=block.tets), pdgpu.ARAP(mu=1e5), density=1000.0)
    scene.add_obstacle(pdgpu.Box((0.3, 0.04, 0.3), centre=(far + 0.05, 0.225, 0.05), motion=down(0.1)), name="box")
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=5), dt=0.01, contact=pdgpu.BarrierContact(1e-3), dtype=dtype, threads=1)
    sim.step(3)
    sim.gradient()
    core = core_of(sim)
    with asking(core):
        assert present_colliders(core) == [obstacle.collider for obstacle in core.scene.obstacles]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_obstacle_out_of_contact_follows_its_motion():
    """If not, an obstacle that does not collide is shown at rest."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    scene.add_solid(pdgpu.shapes.beam((0.1, 0.1, 0.1), (1, 1, 1)), pdgpu.ARAP(mu=1e5), density=1000.0)
    scene.add_obstacle(SHAPES["mesh"](down(0.1)), name="ghost", collides=False)
    scene.add_obstacle(SHAPES["box"](down(0.1)), name="box")
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=5), dt=0.01, contact=pdgpu.BarrierContact(1e-3), threads=1)
    sim.step(3)
    surface = sim.surface(obstacles=True)
    here = surface.points[np.unique(surface.triangles[surface.groups["ghost"].triangles])]
    np.testing.assert_allclose(here, SHAPES["mesh"](down(0.1)).positions(sim.time), atol=1e-12)
