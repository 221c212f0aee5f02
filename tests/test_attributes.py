"""What may be set on an object and what may not; copies of what has a state."""

import copy
import gc
import pickle
import warnings

import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu.collision import BroadPhase


def beam(**options):
    scene = pdgpu.Scene()
    body = scene.add_solid(pdgpu.shapes.beam((1, 0.5, 0.5), cells=(3, 2, 2)), pdgpu.ARAP(1e4), density=100.0, name="beam", **options)
    return scene, body


SIMULATION = [
    ("dt", 0.1, "make another Simulation"),
    ("solver", pdgpu.Newton(), "make another Simulation"),
    ("threads", 2, "make another Simulation"),
    ("device", "cuda", "make another Simulation"),
    ("time", 0.0, "cannot be set on a Simulation"),
    ("positions", np.zeros((36, 3)), r"set_state\(positions=...\)"),
    ("velocities", np.zeros((36, 3)), r"set_state\(velocities=...\)"),
    ("masses", 1.0, "cannot be set"),
    ("bodies", (), "cannot be set"),
    ("last_step", None, "cannot be set"),
    ("step", None, "cannot be set"),
    ("external_force", np.zeros((36, 3)), "no attribute of that name; did you mean 'external_forces'"),
    ("contact", None, "cannot be set"),
    ("friction", 1.0, "no attribute of that name"),
]


@pytest.mark.parametrize(("name", "value", "message"), SIMULATION, ids=[name for name, *_ in SIMULATION])
def test_a_simulation_takes_no_attribute_that_it_would_ignore(name, value, message):
    """If it did, a misspelt force acts on nothing, and after `sim.dt = 0.1` the time and every saved file lie."""
    scene, _ = beam()
    sim = pdgpu.Simulation(scene)
    with pytest.raises(AttributeError, match=f"{name}: .*{message}"):
        setattr(sim, name, value)
    with pytest.raises(AttributeError, match=name):
        delattr(sim, name)
    sim.external_forces = np.ones((36, 3))  # what can be set is
    assert (sim.external_forces == 1.0).all() and sim.dt == 0.01


def objects():
    scene, body = beam()
    mesh = body.mesh
    return {
        "scene": (scene, ["n_vertices", "bodies", "obstacles", "world_box", "gravitation"]),
        "body": (
            body,
            ["name", "type", "points", "mesh", "materials", "density", "slice", "pins", "slides", "attachments", "groups", "mass"],
        ),
        "mesh": (mesh, ["points", "tets", "triangles", "edges", "surface", "tetrahedra"]),
        "material": (pdgpu.NeoHookean(1e4, 1e5), ["mu", "lam", "kinds"]),
        "system": (pdgpu.linear.System(np.eye(3), pdgpu.PCG()), ["solver", "columns", "dtype", "parameters", "tolerance"]),
        "broad phase": (BroadPhase(mesh.points, mesh.surface), ["triangles", "edges", "vertices", "method", "threads"]),
    }


@pytest.mark.parametrize("kind", objects())
def test_no_object_takes_an_attribute_that_it_would_ignore(kind):
    """If one did, what a user changed would have no effect, or half of one."""
    thing, names = objects()[kind]
    for name in names:
        with pytest.raises(AttributeError, match=f"^{name}: "):
            setattr(thing, name, 1.0)


def test_the_lists_of_a_scene_cannot_be_reordered():
    """If they could, the slices of all later bodies would name vertices of others."""
    scene, body = beam()
    scene.add_obstacle(pdgpu.Sphere((0, 0, 0), 1.0))
    body.pin([0])
    body.attach([1], (0, 0, 0))
    body.slide([2], line=(1, 0, 0))
    for entries in (scene.bodies, scene.obstacles, body.pins, body.attachments, body.slides, body.materials, body.groups):
        assert type(entries) is tuple and len(entries)
    for array in (body.pins[0][0], body.attachments[0][0], body.attachments[0][1], body.slides[0][1], body.points):
        assert_read_only(array)


def assert_read_only(array):
    with pytest.raises(ValueError, match="read-only"):
        array[...] = 0
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True


def test_arrays_that_the_modules_trust_stay_read_only():
    """If not, `mesh.tets.flags.writeable = True` and a write end the process in a segmentation fault."""
    mesh = pdgpu.shapes.beam((1, 1, 1), cells=(2, 2, 2))
    sheet = pdgpu.shapes.grid((1, 1), cells=(2, 2))
    phase = BroadPhase(mesh.points, mesh.surface)
    again = [copy.copy(mesh), copy.deepcopy(mesh), pickle.loads(pickle.dumps(mesh))]
    for each in (mesh, sheet, *again):
        for array in (each.points, each.tets, each.triangles, each.edges, each.surface, each.hinges, each.unique_edges()):
            assert_read_only(array)
    for array in (phase.triangles, phase.edges, phase.vertices, pdgpu.SignedDistanceField(np.ones((2, 2, 2)), (0, 0, 0), 1.0).values):
        assert_read_only(array)
    for each in again:
        assert np.array_equal(each.points, mesh.points) and np.array_equal(each.tets, mesh.tets)


NOTHING = {"indices": [], "mask": np.zeros(36, bool), "callable": lambda points: points[:, 0] < -1.0}


@pytest.mark.parametrize("where", NOTHING.values(), ids=NOTHING)
def test_holding_nothing_is_refused(where):
    """If not, a threshold that misses every vertex lets the body fall without a warning."""
    _, body = beam()
    for hold in (body.pin, lambda w: body.slide(w, line=(1, 0, 0)), lambda w: body.attach(w, (0, 0, 0))):
        with pytest.raises(ValueError, match="where: it selects none of the 36 vertices of 'beam'"):
            hold(where)
    assert (body.pins, body.slides, body.attachments) == ((), (), ())


def test_a_body_says_what_holds_it():
    """If not, a pin that took the wrong vertices is seen in the picture only."""
    _, body = beam()
    assert repr(body) == "<solid 'beam': 36 vertices, ARAP(mu=10000)>"
    body.pin([0, 1, 2])
    body.pin([2, 3], motion=lambda time, rest: rest)
    body.attach([7, 8], (0, 0, 0))
    assert repr(body) == "<solid 'beam': 36 vertices, ARAP(mu=10000), 4 pinned (2 moved by a motion), 2 attached>"
    body.slide([9], plane=(1, 0, 0))
    assert "1 sliding" in repr(body)


def changes(scene, body):
    return {
        "pin": lambda: body.pin([0]),
        "slide": lambda: body.slide([5], line=(1, 0, 0)),
        "attach": lambda: body.attach([1], (0, 0, 0)),
        "masses": lambda: setattr(body, "masses", 0.1),
        "velocity": lambda: setattr(body, "velocity", (0, 1, 0)),
        "damping": lambda: setattr(body, "damping", 0.1),
        "gravity": lambda: setattr(scene, "gravity", (0, 0, -1)),
        "add": lambda: scene.add_particles([[0, 0, 0]], mass=1.0, name="dust"),
        "add 'cloth'": lambda: scene.add_shell(pdgpu.shapes.grid((1, 1), cells=(1, 1)), pdgpu.Spring(1.0), density=1.0, name="cloth"),
        "add_obstacle": lambda: scene.add_obstacle(pdgpu.Sphere((0, 0, 0), 1.0)),
        "set_world_box": lambda: scene.set_world_box((-9, -9, -9), (9, 9, 9), 1.0),
    }


@pytest.mark.parametrize("change", changes(*beam()))
def test_a_change_that_a_simulation_does_not_see_is_said(change):
    """If not, `body.pin` after `Simulation(scene)` holds nothing, in silence."""
    scene, body = beam()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        changes(scene, body)[change]()  # no simulation reads it
    scene, body = beam()
    sim = pdgpu.Simulation(scene)
    with pytest.warns(UserWarning, match=f"^{change}.*: an existing Simulation of this scene does not use the change") as caught:
        changes(scene, body)[change]()
    assert caught[0].filename == __file__ and len(caught) == 1
    sim.step()
    del sim
    gc.collect()
    scene, body = beam()
    pdgpu.compare(scene, {"PD": pdgpu.ProjectiveDynamics()}, reference=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        changes(scene, body)[change]()  # the next comparison will see it


def test_what_is_set_is_checked_and_used():
    """If not, a mass of zero or a velocity of another shape ends in a crash or in NaN far from its cause."""
    scene, body = beam()
    for name, value in (("masses", 0.0), ("masses", np.ones(35)), ("velocity", np.ones((2, 3))), ("damping", -1.0), ("masses", np.nan)):
        with pytest.raises(ValueError, match=f"^{name}: "):
            setattr(body, name, value)
    with pytest.raises(ValueError, match="gravity: "):
        scene.gravity = (0.0, np.inf, 0.0)
    body.masses, body.velocity, scene.gravity = 2.0, (1, 0, 0), (0, 0, -1)
    body.masses[0] = 3.0  # also in place, up to the first simulation
    sim = pdgpu.Simulation(scene, dt=0.5)
    assert sim.masses.tolist() == [3.0] + [2.0] * 35
    sim.step()
    assert np.ptp(sim.velocities - [1.0, 0.0, -0.5]) < 1e-9
    for array in (body.masses, body.velocity, scene.gravity):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7.0
    for spoilt, name in ((lambda b: b.masses, "masses of 'beam'"), (lambda b: b.velocity, "velocity of 'beam'")):
        scene, body = beam()
        spoilt(body)[3] = np.nan
        with pytest.raises(ValueError, match=name):
            pdgpu.Simulation(scene)


def test_masses_that_were_set_survive_a_cut():
    """If not, a torn cloth is suddenly as heavy as its density says."""
    scene = pdgpu.Scene()
    cloth = scene.add_shell(pdgpu.shapes.grid((1, 1), cells=(4, 4)), pdgpu.Spring(10.0), density=0.2)
    cloth.masses = np.arange(1.0, 26.0)
    sim = pdgpu.Simulation(scene)
    cut = sim.cut(cloth, [[2, 7], [7, 12], [12, 17], [17, 22]])
    assert len(cut.new_vertices) == 5
    whole = np.bincount(cut.body.parents, weights=sim.masses)
    np.testing.assert_allclose(whole, np.arange(1.0, 26.0), rtol=1e-14)


RUNS = {
    "direct": scenes.DIRECT,
    "searched": pdgpu.ProjectiveDynamics(iterations=12, linear=pdgpu.Jacobi(weight=0.4), chebyshev=pdgpu.Chebyshev(start=3)),
    "inner": pdgpu.ProjectiveDynamics(iterations=4, linear=pdgpu.Jacobi(iterations=12, chebyshev=pdgpu.Chebyshev(start=2))),
    "vbd": pdgpu.VertexBlockDescent(iterations=4),  # the adaptive first guess has a memory
    "newton": scenes.NEWTON,
    "xpbd": scenes.XPBD,
}
COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda sim: pickle.loads(pickle.dumps(sim))}


def wave(time, rest):
    return rest + [0.0, 0.05 * np.sin(9.0 * time), 0.0]


@pytest.mark.parametrize("name", RUNS)
def test_a_copy_of_a_simulation_is_another_that_goes_on_alike(name):
    """If not, a copy and its original are one state: a step of the one moves the other."""
    scene, x = scenes.mixed(damping=0.001)
    scene.bodies[1].pin([3], motion=wave)
    for dtype in ("float64", "float32"):
        sim = pdgpu.Simulation(scene, RUNS[name], dt=1 / 60, dtype=dtype, threads=1)
        sim.set_state(positions=x)
        sim.external_forces = 0.01 * np.random.default_rng(2).normal(size=x.shape)
        sim.step(2)
        before = sim.positions
        others = [make(sim) for make in COPIES.values()]
        for other in others:
            assert (
                other.positions.tobytes() == before.tobytes() and other.time == sim.time and other.last_step.status == sim.last_step.status
            )
            other.step(3)
            assert sim.positions.tobytes() == before.tobytes() and other.parameters == sim.parameters
        sim.step(3)
        for other in others:
            assert other.positions.tobytes() == sim.positions.tobytes() and other.velocities.tobytes() == sim.velocities.tobytes()
            assert other.energies() == sim.energies() and other.time == sim.time


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
def test_a_copy_of_a_linear_system_is_its_own(make):
    """If not, `add_diagonal` on the copy changes what the original solves with, in part."""
    system = pdgpu.linear.System(2.0 * np.eye(3), pdgpu.Direct())
    other = make(system)
    other.add_diagonal(np.full(3, 2.0))
    np.testing.assert_allclose(other.solve(np.ones(3)).x, 0.25, rtol=1e-15)
    np.testing.assert_allclose(system.solve(np.ones(3)).x, 0.5, rtol=1e-15)
    other.parameters["weight"] = 3.0
    assert "weight" not in system.parameters


def test_a_copy_of_a_torn_simulation():
    """If not, what a cut rebuilt, colours among it, is lost in the copy."""
    scene = pdgpu.Scene()
    cloth = scene.add_shell(pdgpu.shapes.grid((1, 1), cells=(4, 4)), pdgpu.Spring(10.0), density=0.2)
    cloth.pin([0, 4])
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=5), threads=1)
    sim.step(2)
    sim.cut(cloth, [[2, 7], [7, 12], [12, 17], [17, 22]])
    sim.step()
    other = copy.copy(sim)
    for each in (sim, other):
        each.step(2)
    assert other.positions.tobytes() == sim.positions.tobytes() and len(other.masses) == 30


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pdgpu.Scene.copy, lambda scene: pickle.loads(pickle.dumps(scene))])
def test_copies_of_scenes_and_bodies_are_their_own(make):
    """If not, a pin on the copy of a scene holds the original too."""
    scene, body = beam()
    body.pin([0])
    sim = pdgpu.Simulation(scene)
    other = make(scene)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no simulation was made of this one
        other["beam"].pin([1])
        other["beam"].masses[0] = 5.0
        other.gravity[0] = 1.0
    assert (len(body.pins), len(sim.bodies[0].pins), len(other["beam"].pins)) == (1, 1, 2)
    assert body.masses[0] != 5.0 and scene.gravity[0] == 0.0
    again = pdgpu.Simulation(other)
    with pytest.warns(UserWarning, match="pin"):
        other["beam"].pin([2])
    assert again.masses[0] == 5.0


MADE = (
    *("Body", "Certificate", "Collider", "Comparison", "ContactUpdate", "Contacts", "Cut", "Embedding", "History", "Joint", "JointForce"),
    *("Material", "Momentum", "Obstacle", "Rate", "RigidBody", "RigidState", "Snapshot", "StepRecord", "Sweep"),
)


@pytest.mark.parametrize("name", MADE)
def test_classes_that_functions_make_say_which(name):
    """If not, who calls one is told of nine positional arguments of which no page speaks."""
    for arguments in ((), (1,)):
        with pytest.raises(TypeError, match=rf"^{name}: (made by .+, not by a call of the class|the base of the .+)$"):
            getattr(pdgpu, name)(*arguments)


def test_classes_that_functions_make_are_pickled_and_copied():
    """If not, a record cannot leave a process."""
    scene = pdgpu.Scene()
    scene.add_particles([[0.0, 1.0, 0.0]], mass=1.0, name="a")
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=2))
    made = [sim.step(record=True), sim.momentum(), sim.run(0.02), sim.snapshot(), scene.bodies[0], sim.contacts(1.0)]
    for each in made:
        assert type(pickle.loads(pickle.dumps(each))) is type(copy.copy(each)) is type(each)
    assert made[1]._replace(linear=made[1].angular)[0] is made[1].angular
