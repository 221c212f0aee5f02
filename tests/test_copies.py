"""Copies, pickles, files and cuts of simulations with every feature, after a step: the next steps have the same bits."""

import copy
import pickle

import numpy as np
import pytest
import scenes

import pdgpu

BEAM = pdgpu.shapes.beam((0.4, 0.2, 0.2), cells=(2, 1, 1))
STRETCH = np.array([[1.1, 0.05, 0.0], [0.05, 0.9, 0.0], [0.0, 0.0, 1.05]])
MIDDLE = [[2, 7], [7, 12], [12, 17], [17, 22]]


def rise(time, rest):
    return rest + [0.0, 0.02 * time, 0.0]


def turn(time):
    c, s = np.cos(time), np.sin(time)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), np.array([0.0, 0.02 * time, 0.0])


def grow(time):
    return (1.0 + 0.1 * time) * STRETCH


def solid(*materials, **options):
    scene = pdgpu.Scene(gravity=(0.0, -1.0, 0.0))
    return scene, scene.add_solid(BEAM, list(materials), density=500.0, name="solid", **options)


def mixed():
    scene, x = scenes.mixed(damping=1e-3)
    scene.set_world_box((-2.0, -2.0, -2.0), (4.0, 0.9, np.inf), 50.0)
    return scene, scenes.DIRECT, None, lambda sim: sim.set_state(positions=np.concatenate([x, sim.positions[len(x) :]]))


def moved():
    scene, body = solid(pdgpu.ARAP(1e4))
    body.pin([0, 1], motion=rise)
    body.slide([2], line=(1.0, 1.0, 0.0))
    body.slide([3], plane=(0.0, 1.0, 0.0))
    body.attach([4, 5], rise, 100.0)
    body.attach([6], frame=turn, stiffness=50.0)
    return scene, scenes.DIRECT, None, None


def forced():
    scene, body = solid(pdgpu.NeoHookean(1e4, 1e4), velocity=(0.1, 0.0, 0.0))
    body.pin([0])

    def push(sim):
        sim.external_forces = 0.01 * np.random.default_rng(1).normal(size=(3, len(sim.masses))).T

    return scene, scenes.NEWTON, None, push


def shaped(given, after=None):
    def make():
        scene, body = solid(pdgpu.ShapeTarget(1e4, given), pdgpu.Volume(1e3))
        body.pin([0])
        return scene, scenes.DIRECT, None, None if after is None else lambda sim: sim.set_shape_targets("solid", after)

    return make


def two_shaped():
    scene, _ = solid(pdgpu.ShapeTarget(1e4, STRETCH))
    scene.add_solid(
        pdgpu.Mesh(BEAM.points + [0.0, 1.0, 0.0], tets=BEAM.tets), pdgpu.ShapeTarget(1e4, np.eye(3)), density=500.0, name="other"
    )
    return scene, scenes.VBD, None, lambda sim: [sim.set_shape_targets(name, STRETCH.T) for name in ("solid", "other")]


def rod():
    scene = pdgpu.Scene()
    scene.add_rod(pdgpu.shapes.chain(6), pdgpu.Spring(200.0), density=0.05, bending=1e-3, damping=1e-3).pin([0])
    return scene, scenes.NEWTON, None, None


def embedded():
    scene, body = solid(pdgpu.ARAP(1e4))
    body.embed(pdgpu.Mesh(0.5 * BEAM.points + 0.05, triangles=BEAM.surface), name="skin", collides=True)
    scene.add_obstacle(pdgpu.Plane((0.0, -0.01, 0.0), (0.0, 1.0, 0.0)))
    return scene, scenes.NEWTON, pdgpu.BarrierContact(0.02, friction=0.3), None


def proxies():
    scene, body = solid(pdgpu.ARAP(1e4))
    body.embed(BEAM.points * 0.9 + 0.01, name="skin")
    scene.add_obstacle(pdgpu.Sphere((0.2, -0.1, 0.1), 0.15), turn)
    return scene, scenes.DIRECT, pdgpu.ProxyContact("skin", stiffness=100.0), None


def touching(solver, contact, gap=0.004):
    def make():
        scene = pdgpu.Scene(gravity=(0.3, -9.0, 0.0))
        material = pdgpu.ARAP(1e4)
        for k in range(2):
            points = BEAM.points + [0.05 * k, gap + (0.2 + gap) * k, 0.0]
            scene.add_solid(pdgpu.Mesh(points, tets=BEAM.tets), material, density=200.0)
        scene.add_particles([[0.2, 1.0, 0.1]], mass=0.1)
        scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
        scene.add_obstacle(pdgpu.Box((0.1, 0.5, 0.5), (-0.1, 0.2, 0.1), motion=turn), name="box")
        return scene, solver, contact, None

    return make


def rigid(make, contact=None):
    return lambda: (make(), scenes.NEWTON, contact, None)


BARRIER = pdgpu.BarrierContact(0.02, friction=0.3)
FEATURES = {
    "every material, attachments, world box": mixed,
    "moved pins, slides, attachments": moved,
    "external forces": forced,
    "one shape target": shaped(STRETCH),
    "one shape target, changed": shaped(np.eye(3), STRETCH),
    "a shape target for each tet": shaped(np.tile(STRETCH, (len(BEAM.tets), 1, 1)).transpose(0, 2, 1)),
    "shape targets, from one to each": shaped(np.eye(3), np.tile(STRETCH, (len(BEAM.tets), 1, 1))),
    "shape targets, from each to one": shaped(np.tile(STRETCH, (len(BEAM.tets), 1, 1)), np.eye(3)),
    "shape targets of time": shaped(grow),
    "two bodies of shape targets": two_shaped,
    "rod": rod,
    "strain limit": lambda: (scenes.limited(), scenes.DIRECT, None, None),
    "cloth in tension": lambda: (scenes.in_tension()[0], scenes.VBD, None, None),
    "embedded surface": embedded,
    "proxies": proxies,
    "joints": rigid(scenes.linkage),
    "rigid bodies in contact": rigid(scenes.slope, BARRIER),
    "barrier": touching(scenes.VBD, BARRIER),
    "penalty": touching(scenes.NEWTON, pdgpu.PenaltyContact(0.01, stiffness=100.0, friction=0.3)),
    "projective contact": touching(scenes.DIRECT, pdgpu.ProjectiveContact(0.01, friction=0.3)),
    "two-way contact": touching(scenes.VBD, pdgpu.TwoWayContact(0.01)),
}


def begun(name):
    """A simulation of this feature after a step, with a sheet to cut; the motions by the names of their bodies."""
    scene, solver, contact, change = FEATURES[name]()
    grid = pdgpu.shapes.grid((1.0, 1.0), cells=(4, 4))
    sheet = scene.add_shell(
        pdgpu.Mesh(grid.points + [0.0, 2.0, 9.0], triangles=grid.triangles), pdgpu.Spring(50.0), density=0.2, name="sheet"
    )
    sheet.pin([0, 4])
    sheet.attach([20], grid.points[20] + [0.0, 2.0, 9.0], stiffness=10.0)
    sim = pdgpu.Simulation(scene, solver, dt=0.01, contact=contact, threads=1)
    if change is not None:
        change(sim)
    sim.step()
    return sim


def motions(sim):
    found = {}
    for body in sim.bodies:
        given = [motion for _, motion in body.pins if motion is not None] + [how[1] for how in body.attachment_motions if how is not None]
        given += [material._script for material in body.materials if getattr(material, "_script", None) is not None]
        found |= {body.name: given} if given else {}
    return found | {part.name: [part.collider.motion] for part in sim.obstacles if part.collider.motion is not None}


def saved(sim, path):
    sim.save(path / "saved.npz")
    return pdgpu.Simulation.load(path / "saved.npz", motions=motions(sim))


COPIES = {
    "copy": lambda sim, path: copy.copy(sim),
    "deepcopy": lambda sim, path: copy.deepcopy(sim),
    "pickle": lambda sim, path: pickle.loads(pickle.dumps(sim)),
    "file": saved,
}


def arrays_of(sim):
    """Name and array of everything that the core is given, and of what it is made from."""
    for kind, group in sim._core.scene.element_groups().items():
        yield from ((kind, array) for array in group if array is not None)
    for body in sim._core.scene.bodies:
        kept = {"points": body.points, "masses": body.masses, "velocity": body.velocity}
        for name, array in kept.items():
            yield f"{body.name}.{name}", array
        for group in body.groups:
            yield from ((f"{body.name}.{group[0]}", array) for array in group[1:])
        for held in (*body.pins, *body.slides, *body.attachments):
            yield from ((f"{body.name}, held", array) for array in held if isinstance(array, np.ndarray))
        for material in body.materials:
            yield from ((f"{body.name}.{name}", value) for name, value in material._constants.items() if np.ndim(value))
    for name in ("masses", "fixed", "rest", "external_forces", "colours"):
        if isinstance(array := getattr(sim._core, name), np.ndarray):
            yield name, array


def assert_in_order(sim):
    for name, array in arrays_of(sim):
        assert array.flags.c_contiguous and array.flags.aligned, name


def assert_alike(one, other):
    assert one.positions.tobytes() == other.positions.tobytes() and one.velocities.tobytes() == other.velocities.tobytes()
    assert one.time == other.time


@pytest.mark.each_choice
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", FEATURES)
def test_copies_go_on_with_the_same_bits(name, how, tmp_path):
    """If not, a run that was copied or stored is another run, or cannot be copied at all."""
    sim = begun(name)
    other = COPIES[how](sim, tmp_path)
    assert_alike(sim, other)
    for each in (sim, other):
        assert_in_order(each)
        each.step(2)
    assert_alike(sim, other)
    assert_alike(COPIES[how](other, tmp_path), sim)  # and of a copy


@pytest.mark.each_choice
@pytest.mark.parametrize("how", ["copy", "pickle", "file"])
@pytest.mark.parametrize("name", FEATURES)
def test_cuts_of_copies_go_on_with_the_same_bits(name, how, tmp_path):
    """If not, a cut loses what a body, a law or a joint had become, or a copy cannot be cut."""
    sim = begun(name)
    other = COPIES[how](sim, tmp_path)
    for each in (sim, other):
        assert len(each.cut("sheet", MIDDLE).new_vertices) == 5
        assert_in_order(each)
    assert_alike(sim, other)
    again = COPIES[how](sim, tmp_path)
    for each in (sim, other, again):
        each.step(2)
    assert_alike(sim, other)
    assert_alike(sim, again)
