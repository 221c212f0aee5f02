"""A simulation that begins at a given time with given positions and velocities."""

import inspect

import numpy as np
import pytest

import pdgpu
from pdgpu import _host

DT = 1 / 64  # a binary fraction: times of steps are exact
NEWTON = pdgpu.Newton(iterations=8, initialization="inertial_target")
SOFT = pdgpu.ARAP.from_young(2e4, 0.3)


def cube(height, cells=2, side=0.1):
    mesh = pdgpu.shapes.beam((side,) * 3, (cells,) * 3)
    return pdgpu.Mesh(mesh.points - mesh.points.mean(0) + [0.0, height, 0.0], tets=mesh.tets)


def floor():
    box = pdgpu.shapes.box((1.0, 0.1, 1.0))
    return pdgpu.Mesh(box.points - box.points.mean(0) - [0.0, 0.05, 0.0], triangles=box.triangles)


def sliding():
    """A block that slides and falls on a mesh floor, with friction."""
    scene = pdgpu.Scene()
    scene.add_solid(cube(0.053), SOFT, density=1000.0, damping=1e-3, velocity=(1.0, -0.3, 0.0))
    scene.add_obstacle(floor(), name="floor")
    return scene, pdgpu.BarrierContact(2e-3, stiffness=1e5, friction=0.4)


def driven():
    """A floor that swings under the block, and a plane that comes down."""
    scene = pdgpu.Scene()
    scene.add_solid(cube(0.053), SOFT, density=1000.0)
    scene.add_obstacle(floor(), lambda time, rest: rest + [0.1 * time, 0.02 * np.sin(9.0 * time), 0.0], name="floor")
    scene.add_obstacle(pdgpu.Plane((0.0, 0.12, 0.0), (0.0, -1.0, 0.0)), lambda time: (np.eye(3), [0.0, -0.05 * time, 0.0]), name="lid")
    return scene, pdgpu.BarrierContact(2e-3, stiffness=1e5, friction=0.4)


def pinned():
    """Scripted pins, attachments and shape targets, without contact."""
    scene = pdgpu.Scene()
    block = scene.add_solid(cube(0.0), pdgpu.ShapeTarget(1e4, lambda time: (1.0 + 0.2 * time) * np.eye(3)), density=1000.0, damping=1e-3)
    block.pin(lambda points: points[:, 0] < -0.049, lambda time, rest: rest + [0.1 * time, 0.02 * np.sin(9.0 * time), 0.0])
    block.attach(lambda points: points[:, 0] > 0.049, frame=lambda time: (np.eye(3), [0.0, 0.1 * time, 0.0]), stiffness=500.0)
    return scene, None


def embedded():
    """A surface embedded in a block collides instead of its tets."""
    scene = pdgpu.Scene()
    mesh = cube(0.06)
    block = scene.add_solid(mesh, SOFT, density=1000.0, velocity=(0.5, -0.5, 0.0))
    ball = pdgpu.shapes.sphere(0.045, 1)
    block.embed(pdgpu.Mesh(ball.points + [0.0, 0.06, 0.0], triangles=ball.triangles), name="skin", collides=True)
    scene.add_obstacle(floor(), name="floor")
    return scene, pdgpu.BarrierContact(2e-3, stiffness=1e5, friction=0.4)


def rigid():
    """A rigid box tumbles onto a soft block."""
    scene = pdgpu.Scene()
    scene.add_solid(cube(0.053), SOFT, density=1000.0)
    box = pdgpu.shapes.box((0.05, 0.05, 0.05))
    box = pdgpu.Mesh(box.points - box.points.mean(0) + [0.0, 0.14, 0.0], triangles=box.triangles)
    scene.add_rigid(box, density=500.0, velocity=(0.0, -0.5, 0.0), spin=(1.0, 2.0, 3.0), name="box")
    scene.add_obstacle(floor(), name="floor")
    return scene, pdgpu.BarrierContact(2e-3, stiffness=1e5)


SCENES = {"sliding": sliding, "driven": driven, "pinned": pinned, "embedded": embedded, "rigid": rigid}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", SCENES)
def test_a_remade_simulation_continues_with_the_same_bits(name, dtype):
    """Rigid bodies to rounding: their poses follow from rounded vertices."""
    scene, contact = SCENES[name]()
    rounding = 0.0 if name != "rigid" else 1e-9 if dtype == "float64" else 2e-5
    options = {"dt": DT, "contact": contact, "dtype": dtype}
    sim = pdgpu.Simulation(scene, NEWTON, **options)
    first, moved = sim.positions, []
    for k in range(12):
        sim.step()
        if k in (2, 8):
            state = {"start_time": sim.time, "positions": sim.positions, "velocities": sim.velocities}
            moved.append(pdgpu.Simulation(scene, NEWTON, **options, **state))
            assert moved[-1].time == sim.time and np.array_equal(moved[-1].positions, sim.positions)
        for other in moved:
            if other.time < sim.time:
                other.step()
            assert other.time == sim.time
            np.testing.assert_allclose(other.positions, sim.positions, rtol=0.0, atol=rounding, err_msg=str(k))
            np.testing.assert_allclose(other.velocities, sim.velocities, rtol=0.0, atol=rounding / DT, err_msg=str(k))
            assert other.last_step is None or other.last_step.behind == sim.last_step.behind == 0.0
    assert np.abs(sim.positions - first).max() > 1e-3
    if contact is not None:
        assert len(sim.contact_forces())  # it does not fall freely


def test_the_precision_may_change():
    scene, contact = sliding()
    sim = pdgpu.Simulation(scene, NEWTON, dt=DT, contact=contact)
    sim.step(3)
    state = {"start_time": sim.time, "positions": sim.positions, "velocities": sim.velocities}
    other = pdgpu.Simulation(scene, NEWTON, dt=DT, contact=contact, dtype="float32", **state)
    assert np.array_equal(other.positions, sim.positions.astype(np.float32))
    assert np.array_equal(other.velocities, sim.velocities.astype(np.float32))


needs_gmp = pytest.mark.skipif(not _host.HAS_GMP, reason="this build has no GMP")


@needs_gmp
def test_the_start_is_checked_at_the_given_positions():
    """Two blocks that intersect at rest are accepted apart, and two that are apart at rest are refused where they intersect."""
    contact = pdgpu.BarrierContact(2e-3, stiffness=1e5, separation=1e-3)
    for together in (True, False):
        scene = pdgpu.Scene()
        scene.add_solid(cube(0.0), SOFT, density=1000.0, name="low")
        high = scene.add_solid(cube(0.05 if together else 0.2), SOFT, density=1000.0, name="high")
        x = scene.rest_positions()
        x[high.slice] += [0.0, 0.15 if together else -0.15, 0.0]
        given = {"positions": x, "contact": contact, "dt": DT}
        right, wrong = ({}, given) if not together else (given, {"contact": contact, "dt": DT})
        with pytest.raises(ValueError, match=r"contact: .*'(low|high)' and '(low|high)' start intersecting"):
            pdgpu.Simulation(scene, NEWTON, **wrong)
        sim = pdgpu.Simulation(scene, NEWTON, **{"contact": contact, "dt": DT, **right})
        sim.step()
        x = sim.positions
        x[high.slice, 1] += x[: high.slice.start, 1].max() + 5e-4 - x[high.slice, 1].min()
        with pytest.raises(ValueError, match="start closer than the separation"):
            pdgpu.Simulation(scene, NEWTON, positions=x, contact=contact, dt=DT)


@needs_gmp
def test_obstacles_start_at_their_place_at_the_start_time():
    """The floor leaves its place at rest; the start and the first step see it where it is at the start time."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(cube(0.053), SOFT, density=1000.0, name="block")
    scene.add_obstacle(floor(), lambda time, rest: rest + [0.0, 0.1 * time, 0.0], name="floor")
    contact = pdgpu.BarrierContact(2e-3, stiffness=1e5)
    with pytest.raises(ValueError, match=r"'block' and 'floor' start intersecting|'floor' and 'block' start intersecting"):
        pdgpu.Simulation(scene, NEWTON, dt=DT, contact=contact, start_time=1.0)
    sim = pdgpu.Simulation(scene, NEWTON, dt=DT, contact=contact, start_time=-4.0)
    np.testing.assert_array_equal(sim._core.backend.driven()[:, 1].max(), -0.4)
    sim.step()
    assert sim.time == -4.0 + DT and sim.last_step.behind == 0.0
    x = scene.rest_positions() + [0.0, 0.1, 0.0]
    raised = pdgpu.Simulation(scene, NEWTON, dt=DT, contact=contact, start_time=1.0, positions=x)
    raised.step()
    assert np.array_equal(raised._core.backend.driven(), scene.obstacles[0].collider.mesh.points + [0.0, 0.1 * (1.0 + DT), 0.0])


def test_pins_start_where_the_positions_put_them():
    """As with set_state: still pins stay there, scripted ones go from there to their targets."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    block = scene.add_solid(cube(0.0), SOFT, density=1000.0)
    still, moving = block.points[:, 0] < -0.049, block.points[:, 0] > 0.049
    block.pin(still)
    block.pin(moving, lambda time, rest: rest + [0.01 * time, 0.0, 0.0])
    x = scene.rest_positions() + [0.0, 0.3, 0.0]
    sim = pdgpu.Simulation(scene, NEWTON, dt=DT, start_time=2.0, positions=x)
    assert np.array_equal(sim.positions, x) and sim.time == 2.0
    sim.step()
    assert np.array_equal(sim.positions[still], x[still])
    assert np.array_equal(sim.positions[moving], block.points[moving] + [0.01 * (2.0 + DT), 0.0, 0.0])


def test_quasistatic():
    scene, _ = pinned()
    sim = pdgpu.Simulation(scene, NEWTON, dt=None)
    sim.step(2, time=[0.5, 1.0])
    other = pdgpu.Simulation(scene, NEWTON, dt=None, start_time=1.0, positions=sim.positions)
    assert other.time == 1.0
    for each in (sim, other):
        each.step(time=1.5)
    assert np.array_equal(other.positions, sim.positions)
    with pytest.raises(ValueError, match=r"velocities: dt=None"):
        pdgpu.Simulation(scene, NEWTON, dt=None, velocities=sim.velocities)


def test_velocities_replace_those_of_the_scene():
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(cube(0.0), SOFT, density=1000.0, velocity=(1.0, 0.0, 0.0))
    assert np.array_equal(pdgpu.Simulation(scene, NEWTON, positions=scene.rest_positions() + 1.0).velocities[:, 0], np.ones(27))
    sim = pdgpu.Simulation(scene, NEWTON, velocities=np.full((27, 3), 2.0))
    assert np.array_equal(sim.velocities, np.full((27, 3), 2.0)) and np.array_equal(sim.positions, scene.rest_positions())
    sim.set_state(velocities=np.zeros((27, 3)))
    assert not sim.velocities.any()


def test_the_spin_that_is_warned_of_is_that_of_the_start():
    scene = pdgpu.Scene()
    box = scene.add_rigid(pdgpu.shapes.box((0.1, 0.1, 0.1)), density=500.0, name="box")
    r = box.points - box.points.mean(0)
    sim = pdgpu.Simulation(scene, NEWTON, dt=0.1, velocities=np.cross([0.0, 0.0, 12.0], r))
    with pytest.warns(RuntimeWarning, match="spin: 'box' turns by 1.2 rad in a step"):
        sim.step()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"start_time": np.nan}, ValueError, ["start_time", "finite"]),
        ({"start_time": "now"}, TypeError, ["start_time", "'now'"]),
        ({"start_time": None}, TypeError, ["start_time", "None"]),
        ({"positions": np.zeros((26, 3))}, ValueError, ["positions", "(27, 3)", "(26, 3)"]),
        ({"velocities": np.zeros((27, 2))}, ValueError, ["velocities", "(27, 3)", "(27, 2)"]),
        ({"positions": np.full((27, 3), np.inf)}, ValueError, ["positions", "inf"]),
        ({"velocities": np.full((27, 3), np.nan)}, ValueError, ["velocities", "nan"]),
        ({"positions": np.full((27, 3), 1e39), "dtype": "float32"}, ValueError, ["positions", "float32"]),
        ({"positions": "here"}, (TypeError, ValueError), ["positions"]),
    ],
)
def test_bad_starts(options, error, words):
    scene = pdgpu.Scene()
    scene.add_solid(cube(0.0), SOFT, density=1000.0)
    with pytest.raises(error) as raised:
        pdgpu.Simulation(scene, NEWTON, **options)
    assert all(word in str(raised.value) for word in words), raised.value


def test_a_deformed_rigid_body_is_refused():
    scene = pdgpu.Scene()
    scene.add_rigid(pdgpu.shapes.box((0.1, 0.1, 0.1)), density=500.0, name="box")
    with pytest.raises(ValueError, match=r"positions: .*'box'"):
        pdgpu.Simulation(scene, NEWTON, positions=1.5 * scene.rest_positions())


def test_an_attribute_that_cannot_be_set_names_the_arguments():
    scene = pdgpu.Scene()
    scene.add_solid(cube(0.0), SOFT, density=1000.0)
    with pytest.raises(AttributeError, match="start_time=, positions= and velocities="):
        pdgpu.Simulation(scene, NEWTON).dt = 0.1


def test_a_step_that_is_recorded_returns_its_record():
    """If not, ``record = sim.step(record=True)``, as the docs have it, is None."""
    scene, _ = sliding()
    sim = pdgpu.Simulation(scene, NEWTON)
    record = sim.step(3, record=True)
    assert record is sim.last_step and len(record["gradient_norm"]) == record.iteration + 1
    assert sim.step(record="positions").positions.shape[1:] == sim.positions.shape
    assert sim.step() is None


def test_dt_has_one_default():
    """If not, the step that was compared is not the step that is simulated."""
    defaults = [inspect.signature(each).parameters["dt"].default for each in (pdgpu.Simulation, pdgpu.compare)]
    assert defaults == [1 / 100, 1 / 100]


@pytest.mark.parametrize(
    ("material", "contact", "solver"),
    [
        (SOFT, None, pdgpu.ProjectiveDynamics),
        (pdgpu.NeoHookean.from_young(2e4, 0.3), None, pdgpu.Newton),
        (pdgpu.NeoHookean.from_young(2e4, 0.3), pdgpu.BarrierContact(1e-3), pdgpu.Newton),
        (SOFT, pdgpu.ProjectiveContact(1e-3), pdgpu.ProjectiveDynamics),
        ("rigid", None, pdgpu.Newton),
        ("rigid", pdgpu.BarrierContact(1e-3), pdgpu.Newton),
    ],
)
def test_the_default_solver_takes_the_scene(material, contact, solver):
    """If not, a scene without a solver is refused for what another solver takes."""
    scene = pdgpu.Scene()
    if material == "rigid":
        scene.add_rigid(pdgpu.shapes.box((0.1, 0.1, 0.1)), density=1000.0)
    else:
        scene.add_solid(cube(0.06), material, density=1000.0)
    sim = pdgpu.Simulation(scene, contact=contact)
    assert type(sim.solver) is solver
    sim.step()


def test_materials_that_nothing_takes_with_the_contact_are_named():
    """If not, the default solver fails without a word of the two that do not go together."""
    scene = pdgpu.Scene()
    scene.add_solid(cube(0.06), pdgpu.NeoHookean.from_young(2e4, 0.3), density=1000.0)
    with pytest.raises(TypeError, match="ProjectiveDynamics does not take the material NeoHookean"):
        pdgpu.Simulation(scene, contact=pdgpu.ProjectiveContact(1e-3))


def test_the_time_can_be_set():
    """If not, a simulation that goes on from another program's state has pins and obstacles at the wrong time."""
    scene, contact = pdgpu.Scene(), pdgpu.BarrierContact(2e-3, stiffness=1e5, friction=0.4)
    body = scene.add_solid(cube(0.053), SOFT, density=1000.0)
    body.pin(lambda points: points[:, 1] > 0.1, motion=lambda time, rest: rest + [0.0, 0.0, 0.1 * time])
    scene.add_obstacle(floor(), lambda time, rest: rest + [0.1 * time, -0.01 * np.sin(9.0 * time) ** 2, 0.0], name="floor")
    made = pdgpu.Simulation(scene, NEWTON, dt=DT, contact=contact, start_time=22 * DT)
    later = pdgpu.Simulation(scene, NEWTON, dt=DT, contact=contact)
    later.step(2)
    later.set_state(positions=made.positions, velocities=made.velocities, time=22 * DT)
    assert later.time == 22 * DT
    for _ in range(3):
        made.step()
        later.step()
        assert later.time == made.time and np.array_equal(later.positions, made.positions)
    x, v = later.positions, later.velocities
    later.set_state(time=0.7)  # alone: bodies stay, and any number is the time to the last bit
    assert later.time == 0.7 and np.array_equal(later.positions, x) and np.array_equal(later.velocities, v)
    with pytest.raises(ValueError, match="time: must be finite, got nan"):
        later.set_state(time=float("nan"))


def test_a_motion_that_fails_leaves_the_time():
    """If not, a simulation is left between two times."""
    scene = pdgpu.Scene()
    scene.add_solid(cube(0.3), SOFT, density=1000.0)
    scene.add_obstacle(floor(), lambda time, rest: rest + (np.nan if time > 1.0 else 0.0), name="floor")
    sim = pdgpu.Simulation(scene, NEWTON, dt=DT, contact=pdgpu.BarrierContact(1e-3))
    sim.step()
    with pytest.raises(ValueError, match=r"motion: positions at time 2\.0: value nan"):
        sim.set_state(time=2.0)
    assert sim.time == DT
    sim.step()
