"""Where a contact may start: a state that is refused is named by its bodies, primitives and distance."""

import math
import time
import warnings

import numpy as np
import pytest

import pdgpu
from pdgpu import _host
from pdgpu.contact.contact_start import check_contact_start

pytestmark = pytest.mark.skipif(not _host.HAS_GMP, reason="this build has no GMP")


def scene_of(*obstacles, height=0.0, cells=4):
    """A cloth of (cells + 1)^2 vertices at a height, and obstacles (name, shape, motion)."""
    scene, grid = pdgpu.Scene(), pdgpu.shapes.grid((1, 1), cells=(cells, cells))
    mesh = pdgpu.Mesh(grid.points + [0, 0, height], triangles=grid.triangles)
    scene.add_shell(mesh, pdgpu.Spring(1e3), density=0.2, name="cloth")
    for name, shape, *motion in obstacles:
        scene.add_obstacle(shape, *motion, name=name)
    return scene


def refusal(scene, separation=0.0, positions=None, **arguments):
    positions = scene.rest_positions() if positions is None else positions
    with pytest.raises(ValueError, match=r"^contact: ") as raised:
        check_contact_start(scene, positions, separation=separation, **arguments)
    return str(raised.value)


def test_the_words():
    """If not, a user is told that something is wrong with a scene of ten bodies, and not what."""
    needle = pdgpu.Mesh([[0.3, 0.1, 0.0004], [0.3, 0.15, 9], [0.35, 0.1, 9]], triangles=[[0, 1, 2]])
    expected = "contact: 'needle' and 'cloth' start closer than the separation 0.001 m: vertex 4 and triangle (0, 1, 3) are 0.0004 m apart"
    assert refusal(scene_of(("needle", needle), cells=1), 0.001) == expected


SHAPES = {
    "plane": (pdgpu.Plane((0, 0, -0.5), (0, 0, 1)), "vertex 0 and the plane"),
    "sphere": (pdgpu.Sphere((0.3, 0.2, -0.75), 0.25), "triangle (0, 1, 3) and the sphere"),
    "capsule": (pdgpu.Capsule((-1, 0.3, -0.75), (2, 0.3, -0.75), 0.25), "and the capsule"),
    "box": (pdgpu.Box((9, 9, 1), (0.3, 0.3, -1)), "and the box"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_is_named(name):
    """If not, what is wrong with a plane or a ball is told of another."""
    shape, primitives = SHAPES[name]
    scene = scene_of((name, shape), cells=1)
    check_contact_start(scene, scene.rest_positions(), separation=0.5)
    text = refusal(scene, 0.625)
    assert text.startswith(f"contact: 'cloth' and '{name}' start closer than the separation 0.625 m: ")
    assert primitives in text and "are 0.5 m apart" in text
    text = refusal(scene, positions=scene.rest_positions() - [0, 0, 0.75])
    assert text.startswith(f"contact: 'cloth' and '{name}' start intersecting: ")
    if name == "plane":
        assert text.endswith("vertex 0 and the plane are -0.25 m apart (3 pairs more)")


def test_meshes_rods_and_particles():
    ball = pdgpu.shapes.sphere(0.2, 2)
    text = refusal(scene_of(("ball", ball, lambda t, rest: rest + [0.5, 0.5, t])), time=0.1)
    assert text.startswith("contact: ") and "'cloth'" in text and "'ball'" in text and "start intersecting: edge (" in text
    scene = scene_of(("ball", ball, lambda t, rest: rest + [0.5, 0.5, t]))
    check_contact_start(scene, scene.rest_positions(), 0.3, 0.05)
    scene = scene_of()
    scene.add_rod(pdgpu.Mesh([[2.0, 0, 0], [3, 0, 0]], edges=[[0, 1]]), pdgpu.Spring(1.0), density=1.0, name="rod")
    scene.add_particles([[2.5, 0, 0.25], [2.5, 0, 0.375]], mass=1.0, name="dust")
    check_contact_start(scene, scene.rest_positions(), separation=0.125)
    text = refusal(scene, 0.1875)
    assert "'dust' and 'dust' start closer than the separation 0.1875 m: vertex 27 and vertex 28 are 0.125 m apart" in text
    close = scene.rest_positions()
    close[28] = [2.75, 0.0, 0.0]
    assert "'rod' and 'dust' start intersecting: edge (25, 26) and vertex 28 are 0 m apart" in refusal(scene, positions=close)
    folded = scene.rest_positions()
    folded[0] = folded[12]
    assert "'cloth' and 'cloth' start intersecting" in refusal(scene, positions=folded)


def test_what_cannot_be_moved_apart_may_touch():
    """If not, a cloth nailed to a wall, or a stair of boxes, cannot be simulated."""
    scene = scene_of(
        ("floor", pdgpu.Plane((0, 0, -1), (0, 0, 1))),
        ("step", pdgpu.Box((1, 1, 1), (0, 0, -1))),
        ("block", pdgpu.Box((1, 1, 1), (0.5, 0, -1))),
    )
    scene.add_obstacle(pdgpu.shapes.sphere(0.4, 1), lambda t, rest: rest - [0, 0, 1], name="stone")
    check_contact_start(scene, scene.rest_positions())
    wall = scene_of(("wall", pdgpu.Plane((0, 0.0, 0), (0, 1, 0))))
    assert "'cloth' and 'wall' start intersecting: vertex 0 and the plane" in refusal(wall)
    wall["cloth"].pin(lambda points: points[:, 1] == 0.0)
    check_contact_start(wall, wall.rest_positions())


def folded(shift=(0.0, 0.0, 0.0)):
    """Two triangles of one mesh, the second of which stands through the first, and a third one far away."""
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, -1], [0.3, 0.2, 1], [0.2, 0.3, 1], [5, 0, 0], [6, 0, 0], [5, 1, 0]]
    return pdgpu.Mesh(np.add(points, shift), triangles=[[0, 1, 2], [3, 4, 5], [6, 7, 8]])


def told(scene, **options):
    """The warnings of a simulation with contact that is made, steps, is put back and steps again."""
    options = {"solver": pdgpu.Newton(iterations=2), "contact": pdgpu.BarrierContact(1e-3), **options}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sim = pdgpu.Simulation(scene, options.pop("solver"), dt=0.01, **options)
        sim.step()
        sim.set_state(positions=scene.rest_positions())
        sim.step()
    return caught


def test_an_obstacle_that_intersects_itself_is_told_of():
    """If not, whoever reads the certificate looks for a fault of the bodies, 9 m away from the fault."""
    scene = scene_of(("bowl", folded((9.0, 0.0, 0.0))), ("floor", pdgpu.Plane((0, 0, -9), (0, 0, 1))), cells=1)
    found = "obstacle 'bowl' intersects itself: edge (7, 8) and triangle (4, 5, 6) (1 pairs more)"
    assert check_contact_start(scene, scene.rest_positions()) == [found]
    (warning,) = told(scene)
    assert str(warning.message).startswith(f"contact: {found}; ") and "obstacle_intersections" in str(warning.message)
    assert warning.category is UserWarning and warning.filename == __file__
    # each by its name; a body that meets one is still refused, and what does not collide is not looked at
    scene.add_obstacle(folded((19.0, 0.0, 0.0)), name="cup")
    assert [text.split("'")[1] for text in check_contact_start(scene, scene.rest_positions())] == ["bowl", "cup"]
    assert "'cloth' and 'bowl' start intersecting" in refusal(scene, positions=scene.rest_positions() + [9.0, 0.0, 0.1])
    hidden = scene_of(cells=1)
    hidden.add_obstacle(folded((9.0, 0.0, 0.0)), collides=False)
    assert not told(hidden)


def test_sound_obstacles_say_nothing():
    """Neither do two that stand in each other, nor a mesh that folds later."""
    ball = pdgpu.shapes.sphere(0.4, 1)
    balls = [pdgpu.Mesh(ball.points + [5.0 + 0.3 * k, 0, 0], triangles=ball.triangles) for k in range(2)]
    up = np.repeat([[0, 0, 0], [0, 0, 3], [0, 0, 0]], 3, axis=0)
    open_at_first = pdgpu.Mesh(folded((9.0, 0.0, 0.0)).points + up, triangles=folded().triangles)
    scene = scene_of(("one", balls[0]), ("other", balls[1]), ("bowl", open_at_first, lambda t, rest: rest - 100.0 * t * up))
    assert check_contact_start(scene, scene.rest_positions()) == [] and not told(scene)


def test_a_separation_kept_to_the_last_bit():
    scene = scene_of(
        ("floor", pdgpu.Plane((0, 0, 0), (0, 0, 1))), ("bar", pdgpu.Capsule((-1, 0.5, 0.5), (2, 0.5, 0.5), 0.125)), height=0.25
    )
    check_contact_start(scene, scene.rest_positions(), separation=0.125)
    assert "'bar' start closer" in refusal(scene, math.nextafter(0.125, 1.0))
    check_contact_start(scene, scene.rest_positions() + [0, 0, -0.125], separation=0.125)
    assert "'floor' start closer" in refusal(scene, positions=scene.rest_positions() - [0, 0, math.nextafter(0.125, 1.0)], separation=0.125)


def test_bad_input():
    scene = scene_of()
    x = scene.rest_positions()
    for separation in (-1.0, np.nan):
        with pytest.raises(ValueError, match="separation: must be"):
            check_contact_start(scene, x, separation=separation)
    with pytest.raises(ValueError, match=r"positions: expected shape \(25, 3\)"):
        check_contact_start(scene, x[1:])
    with pytest.raises(ValueError, match=r"positions: value nan at \(0, 0\)"):
        check_contact_start(scene, x * np.nan)
    with pytest.raises(TypeError, match="time: expected a number"):
        check_contact_start(scene, x, None)


def test_tens_of_thousands_of_triangles():
    """If not all pairs were avoided, this would take hours: 10^8 pairs of triangles alone."""
    scene = scene_of(("floor", pdgpu.Plane((0, 0, -1), (0, 0, 1))), ("crate", pdgpu.Box((3, 3, 1), (0, 0, -1))), cells=75)
    scene.add_obstacle(pdgpu.Sphere((0.5, 0.5, 0.3), 0.25))
    start = time.process_time()
    check_contact_start(scene, scene.rest_positions(), separation=1e-3)
    assert time.process_time() - start < 60.0  # a tenth of a second where nothing else runs


# ---- friction of the first step -----------------------------------------------------------------------------------------------------


def block_above(gap, velocity=(0.0, 0.0, 0.0), motion=None):
    """A block of 1 kg, `gap` metres above a floor."""
    mesh = pdgpu.shapes.beam((0.1, 0.1, 0.1), (2, 2, 2))
    scene = pdgpu.Scene()
    scene.add_solid(
        pdgpu.Mesh(mesh.points + [0.0, gap, 0.0], tets=mesh.tets), pdgpu.ARAP(4e4), density=1000.0, velocity=velocity, name="block"
    )
    floor = pdgpu.shapes.box((2.0, 0.1, 1.0))
    scene.add_obstacle(pdgpu.Mesh(floor.points - [1.0, 0.1, 0.5], triangles=floor.triangles), motion, name="floor")
    return scene


def started(scene, friction=0.5, **options):
    contact = pdgpu.BarrierContact(1e-3, stiffness=1e5, friction=friction)
    return pdgpu.Simulation(scene, pdgpu.Newton(iterations=40), dt=0.01, contact=contact, **options)


def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [entry for entry in caught if str(entry.message).startswith("friction: ")]


@pytest.mark.parametrize("gap", [8e-4, 1e-5])
def test_a_placement_that_makes_a_friction_force_is_told(gap):
    """The friction of the first step would be that of a load that is not there."""
    sim, caught = warned(lambda: started(block_above(gap)))
    assert len(caught) == 1 and caught[0].filename == __file__ and caught[0].category is RuntimeWarning
    assert "'block' starts inside the activation distance" in str(caught[0].message) and "balance 9.81 N" in str(caught[0].message)
    assert not warned(sim.step)[1]  # once
    far = started(block_above(2e-3))
    far.set_state(positions=sim._core.scene.rest_positions())
    caught = warned(far.step)[1]
    assert len(caught) == 1 and caught[0].filename == __file__
    assert not warned(far.step)[1]


@pytest.mark.parametrize("gap", [8e-4, 1e-5])
def test_without_friction_nothing_is_told(gap):
    assert not warned(lambda: started(block_above(gap), friction=0.0))[1]


def test_an_impact_balances_contact_forces():
    """The momentum of the block, or of the floor, ends within the step; at rest the same gap is told of."""
    rising = block_above(9e-4, motion=lambda time, rest: rest + [0.0, 2.0 * time, 0.0])
    for scene, expected in ((block_above(9e-4), 1), (block_above(9e-4, (0.0, -2.0, 0.0)), 0), (rising, 0)):
        assert len(warned(lambda scene=scene: started(scene))[1]) == expected


def test_forces_that_are_balanced_are_not_told():
    """At rest, in an impact, squeezed, and pushed by an obstacle: each state of a run may be a start."""
    rising = block_above(2e-3, motion=lambda time, rest: rest + [0.0, 0.2 * time, 0.0])
    squeezed = block_above(2e-3, motion=lambda time, rest: rest + [0.0, min(0.2 * time, 0.01), 0.0])
    squeezed.add_obstacle(pdgpu.Plane((0.0, 0.104, 0.0), (0.0, -1.0, 0.0)), name="lid")
    scenes = {"falling": block_above(2e-3, (1.0, -2.0, 0.0)), "sliding": block_above(2e-3, (1.0, 0.0, 0.0))}
    for name, scene in {**scenes, "rising": rising, "squeezed": squeezed}.items():
        sim, touched = started(scene), 0
        for _ in range(40):
            sim.step()
            state = {"start_time": sim.time, "positions": sim.positions, "velocities": sim.velocities}
            other, caught = warned(lambda scene=scene, state=state: started(scene, **state))
            touched += len(other.contact_forces()) > 0
            assert not caught, (name, sim.time, str(caught[0].message))
        assert touched > 10, name
