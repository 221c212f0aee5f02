"""Inverted tets: a solid that collapses is told of, counted, and found by certify."""

import copy
import warnings

import numpy as np
import pytest

import pdgpu
from pdgpu import _host
from pdgpu.simulation.inverted_tets import COUNT_EVERY, InvertedTets
from pdgpu.simulation.time_step import take_step

needs_gmp = pytest.mark.skipif(not _host.HAS_GMP, reason="this build has no GMP")


def beam(size, cells, centre):
    mesh = pdgpu.shapes.beam(size, cells)
    return pdgpu.Mesh(mesh.points - mesh.points.mean(0) + centre, tets=mesh.tets)


def too_soft():
    """A block whose weight gives 2 kPa at its bottom, of a Young's modulus of 1 kPa, above a floor."""
    scene = pdgpu.Scene()
    scene.add_shell(pdgpu.shapes.grid((0.1, 0.1), (2, 2)), pdgpu.Spring(10.0), density=0.1, name="cloth", collides=False)
    scene.add_solid(beam((0.4, 0.2, 0.2), (8, 4, 4), [0.0, 0.11, 0.0]), pdgpu.ARAP.from_young(1e3, 0.3), density=1000.0, name="block")
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    solver = pdgpu.Newton(iterations=60, tolerance=1e-6)
    return scene, pdgpu.Simulation(scene, solver, dt=0.01, contact=pdgpu.BarrierContact(2e-3))


def inverted(sim):
    block = sim.bodies[1]
    x = sim.positions[block.slice][block.mesh.tets]
    return np.flatnonzero(np.linalg.det(x[:, 1:] - x[:, :1]) < 0.0)


@needs_gmp
def test_a_collapsed_solid_is_told_of_once_and_found_inside():
    """The surface stays above the floor, so neither contact nor a certificate of surfaces sees it."""
    scene, sim = too_soft()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        history, frames = [], [sim.positions]
        for _ in range(30):
            sim.step(record=True)
            frames.append(sim.positions)
            history.append(len(inverted(sim)))
            assert sim.last_step.inverted_tets == history[-1]
            if history[-1] and not any(history[:-1]):
                first = inverted(sim)[0], history[-1], sim.time
    said = [entry for entry in caught if str(entry.message).startswith("tets: ")]
    assert history[0] == 0 and history[-1] > 50 and len(said) == 1
    number, count, time = first
    assert f"{count} of 768 tets are inverted; the first is tet {number} of 'block', at {time:g} s" in str(said[0].message)
    assert said[0].filename == __file__ and said[0].category is RuntimeWarning
    assert f"{history[-1]} tets inverted" in repr(sim.last_step)
    assert sim.positions[:, 1].min() < -0.05

    assert pdgpu.certify(frames, scene, gap=False)
    found = pdgpu.certify(frames, scene, gap=False, inside=True)
    assert not found and not found.intersections and not found.crossings and "inner vertices at a wrong place" in str(found)
    for k, frame in enumerate(frames):
        block = sim.bodies[1].slice
        below = np.flatnonzero(frame[:, 1] <= 0.0)
        below = below[(below >= block.start) & (below < block.stop)]
        at = found.inner_vertices.get(k, [])
        assert [entry.vertex for entry in at if entry.name == "floor"] == below.tolist()
        assert all(entry.where == "inside" for entry in at if entry.name == "floor")
        outside = {entry.vertex for entry in at if entry.name == "block"}
        assert {entry.where for entry in at if entry.name == "block"} <= {"outside"} and set(below) <= outside
    assert 0 not in found.inner_vertices and 30 in found.inner_vertices


def test_a_history_counts_and_a_copy_says_it_again():
    _, sim = too_soft()
    with pytest.warns(RuntimeWarning, match="tets: "):
        history = sim.run(0.2, every=5)
    assert history["inverted_tets"][0] == 0 and history["inverted_tets"][-1] == len(inverted(sim)) > 0
    sim.step(8)
    assert sim.last_step.inverted_tets is None  # neither recorded nor the first of eight
    with pytest.warns(RuntimeWarning, match="tets: "):
        copy.copy(sim).step(record=True)


def test_without_tets_nothing_is_counted():
    scene = pdgpu.Scene()
    scene.add_shell(pdgpu.shapes.grid((1.0, 1.0), (2, 2)), pdgpu.Spring(10.0), density=0.1)
    scene.add_particles([[0.0, 1.0, 0.0]], mass=1.0)
    sim = pdgpu.Simulation(scene)
    history = sim.run(0.01)
    assert sim.last_step.inverted_tets is None and not history["inverted_tets"].any()


def test_a_diverged_step_of_a_comparison_is_not_counted():
    """Its positions are no state, and need not be finite."""
    scene = pdgpu.Scene()
    scene.add_solid(beam((1.0, 0.3, 0.3), (8, 3, 3), [0.0, 0.0, 0.0]), pdgpu.ARAP(1e4), density=1000.0)
    sim = pdgpu.Simulation(scene, pdgpu.PBD(iterations=500, relaxation=1.0))
    sim.set_state(positions=scene.rest_positions() * [1.5, 1.0, 1.0])
    take_step(sim._core, False, keep_diverged=True)
    assert sim.last_step.status == "diverged" and sim.last_step.inverted_tets is None


def test_one_step_of_eight_is_counted():
    """If it failed, a count would slow down each step, and read the positions back from a GPU."""
    counts = InvertedTets(too_soft()[0])
    due = [counts.due(step, False) for step in range(1, 17)]
    assert sum(due) == 16 // COUNT_EVERY and counts.due(2, True) and not InvertedTets(pdgpu.Scene()).due(2, True)


# ---- certify(inside=True) -----------------------------------------------------------------------------------------------------------

AWAY = np.array([1.0, 0.0, 0.0])
BOX = pdgpu.shapes.box((0.2, 0.2, 0.2))
AT_AWAY = pdgpu.Mesh(BOX.points - BOX.points.mean(0) + AWAY, triangles=BOX.triangles)


def push(time, rest):
    return rest + [0.0, time, 0.0]


OBSTACLES = {
    "plane": (pdgpu.Plane(0.5 * AWAY, -AWAY), None),
    "sphere": (pdgpu.Sphere(AWAY, 0.1), None),
    "capsule": (pdgpu.Capsule(AWAY, 2.0 * AWAY, 0.1), None),
    "box": (pdgpu.Box((0.2, 0.2, 0.2), AWAY), None),
    "mesh": (AT_AWAY, None),
    "moving mesh": (pdgpu.Mesh(AT_AWAY.points - [0.0, 3.0, 0.0], triangles=AT_AWAY.triangles), push),
}


def a_block(**options):
    scene = pdgpu.Scene()
    block = scene.add_solid(beam((0.2, 0.2, 0.2), (2, 2, 2), [0.0, 0.0, 0.0]), pdgpu.ARAP(1e4), density=1000.0, name="block", **options)
    (inner,) = np.setdiff1d(np.arange(27), block.mesh.surface)
    return scene, int(inner)


@needs_gmp
@pytest.mark.parametrize("name", OBSTACLES)
def test_an_inner_vertex_in_an_obstacle_is_found(name):
    scene, inner = a_block()
    far = beam((0.2, 0.2, 0.2), (2, 2, 2), [-3.0, 0.0, 0.0])
    scene.add_obstacle(pdgpu.Mesh(far.points, triangles=far.surface), name="far")
    shape, motion = OBSTACLES[name]
    scene.add_obstacle(shape, motion, name="it")
    x = scene.rest_positions()
    x[inner] += AWAY + 0.01
    times = {"times": [0.0, 3.0]} if motion else {}
    frames = [scene.rest_positions(), x]
    assert not pdgpu.certify(frames[:1], scene, inside=True, **({"times": [0.0]} if motion else {})).inner_vertices
    found = pdgpu.certify(frames, scene, inside=True, **times)
    assert found.inner_vertices == {1: [(inner, "inside", "it"), (inner, "outside", "block")]} and not found.clean
    assert pdgpu.certify(frames, scene, **times).clean  # of the surface alone
    if motion:  # where it is at the time of the frame
        found = pdgpu.certify(frames, scene, inside=True, times=[0.0, 2.5])
        assert found.inner_vertices == {1: [(inner, "outside", "block")]}


@needs_gmp
@pytest.mark.parametrize("kind", ["solid", "rigid"])
def test_an_inner_vertex_in_another_body_is_found(kind):
    scene, inner = a_block()
    if kind == "solid":
        scene.add_solid(beam((0.2, 0.2, 0.2), (1, 1, 1), AWAY), pdgpu.ARAP(1e4), density=1000.0, name="other")
    else:
        scene.add_rigid(AT_AWAY, density=1000.0, name="other")
    x = scene.rest_positions()
    assert pdgpu.certify([x], scene, inside=True).clean
    x[inner] += AWAY + [0.01, 0.02, 0.03]
    assert pdgpu.certify([x], scene, inside=True).inner_vertices == {0: [(inner, "inside", "other"), (inner, "outside", "block")]}


@needs_gmp
def test_solids_that_do_not_collide_are_not_looked_at():
    scene, inner = a_block(collides=False)
    scene.add_obstacle(AT_AWAY, name="it")
    x = scene.rest_positions()
    x[inner] += AWAY
    assert pdgpu.certify([x], scene, inside=True).clean
    scene, inner = a_block()
    ball = pdgpu.shapes.sphere(0.05, 1)
    scene["block"].embed(ball, name="skin", collides=True)
    scene.add_obstacle(AT_AWAY, name="it")
    assert not pdgpu.certify([scene.rest_positions()], scene, inside=True).inner_vertices


@needs_gmp
def test_inside_wants_a_scene():
    with pytest.raises(TypeError, match="inside: needs a Scene"):
        pdgpu.certify([BOX.points], BOX.triangles, inside=True)
    with pytest.raises(TypeError, match="inside"):
        pdgpu.certify([BOX.points], BOX.triangles, inside=1)
