"""Saved simulations resume with the same bits."""

import dataclasses
import json

import numpy as np
import pytest
import scenes

import pdgpu


def disturbed(solver, dtype, damping=0.01):
    scene, x = scenes.mixed(damping=damping)
    sim = pdgpu.Simulation(scene, solver, dtype=dtype, dt=1 / 60)
    sim.set_state(positions=x)
    sim.external_forces = 0.01 * np.random.default_rng(5).normal(size=x.shape)
    return sim


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("solver", scenes.SOLVERS)
def test_resuming_gives_the_bits_of_never_stopping(solver, dtype, tmp_path):
    """If not, a long experiment that was interrupted is another experiment."""
    description = dataclasses.replace(scenes.SOLVERS[solver], initialization="adaptive", iterations=3)
    through = disturbed(description, dtype)
    through.step(5)
    stopped = disturbed(description, dtype)
    stopped.step(2)
    stopped.save(tmp_path / "half")
    resumed = pdgpu.Simulation.load(tmp_path / "half")
    assert resumed.solver == description and resumed.dtype == np.dtype(dtype) and resumed.time == stopped.time
    resumed.step(3)
    assert resumed.positions.tobytes() == through.positions.tobytes()
    assert resumed.velocities.tobytes() == through.velocities.tobytes()
    assert resumed.time == through.time
    assert resumed.energies() == through.energies()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_resuming_far_from_where_it_started(dtype, tmp_path):
    """If not, what counts as rounding is taken from the first state, and a run that went far resumes as another one."""
    mesh = pdgpu.shapes.beam((0.3, 0.1, 0.1), cells=(3, 1, 1))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP(1e5), density=1000.0, velocity=(1000.0, 0.0, 0.0))
    through = pdgpu.Simulation(scene, pdgpu.Newton(iterations=30), dt=1 / 30, dtype=dtype)
    through.set_state(positions=mesh.points * [1.3, 1.0, 1.0])
    through.step(20)
    through.save(tmp_path / "far")
    resumed = pdgpu.Simulation.load(tmp_path / "far")
    for _ in range(4):
        through.step()
        resumed.step()
        assert resumed.last_step.iteration == through.last_step.iteration
        assert resumed.positions.tobytes() == through.positions.tobytes()
        assert resumed.velocities.tobytes() == through.velocities.tobytes()


def test_quasistatic_and_arrays_of_constants(tmp_path):
    """If not, a heterogeneous body is saved as a uniform one."""
    mesh = pdgpu.shapes.beam((2, 1, 1), cells=(2, 1, 1))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP(np.linspace(1e4, 2e4, 12)), density=np.linspace(1, 2, 12), name="ä").pin([0, 1, 2])
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=None)
    sim.save(tmp_path / "s")
    again = pdgpu.Simulation.load(tmp_path / "s")
    assert again.dt is None
    np.testing.assert_array_equal(again.masses, sim.masses)
    sim.step()
    again.step()
    np.testing.assert_array_equal(again.positions, sim.positions)


def test_scripted_motions_are_asked_for_again(tmp_path):
    """If not, a resumed run lets go of its handle without a word."""
    mesh = pdgpu.shapes.beam((2, 1, 1), cells=(2, 1, 1))

    def motion(time, rest):
        return rest + [0.0, time, 0.0]

    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP(1e4), density=1.0, name="bar").pin([0, 1], motion)
    sim = pdgpu.Simulation(scene)
    sim.step(2)
    sim.save(tmp_path / "s")
    with pytest.raises(ValueError, match="'bar' had 1 scripted pins"):
        pdgpu.Simulation.load(tmp_path / "s")
    again = pdgpu.Simulation.load(tmp_path / "s", motions={"bar": [motion]})
    sim.step(2)
    again.step(2)
    np.testing.assert_array_equal(again.positions, sim.positions)


def drifting(time):
    return np.eye(3), (time, 0.0, 0.0)


def growing(time, rest):
    return (1.0 + time) * rest


@pytest.mark.skipif(not pdgpu._host.HAS_GMP, reason="this build has no GMP: no side of a closed mesh is known")
def test_obstacles_are_saved(tmp_path):
    """If not, a resumed run has lost its floor, or has another one."""
    ball = pdgpu.shapes.sphere(1.0, 1)
    scene = pdgpu.Scene()
    scene.add_particles(np.random.default_rng(0).random((20, 3)), mass=1.0)
    scene.add_obstacle(pdgpu.Plane((0, -1, 0), (0, 1, 0)), name="floor")
    scene.add_obstacle(pdgpu.Sphere((0, 0, 0), 0.3), drifting, name="ball")
    scene.add_obstacle(pdgpu.Capsule((0, 0, 0), (1, 0, 0), 0.1))
    scene.add_obstacle(pdgpu.Box((1, 2, 3), (1, 1, 1), rotation=np.eye(3)[[1, 2, 0]]), name="box")
    scene.add_obstacle(pdgpu.Box((1, 2, 3)))
    scene.add_obstacle(pdgpu.SignedDistanceField.from_mesh(ball, spacing=0.4), drifting, name="field")
    scene.add_obstacle(ball, growing, name="mesh")
    sim = pdgpu.Simulation(scene)
    sim.step(3)
    sim.save(tmp_path / "s")
    motions = {"ball": [drifting], "field": [drifting], "mesh": [growing]}
    again = pdgpu.Simulation.load(tmp_path / "s", motions=motions)
    assert [obstacle.name for obstacle in again.obstacles] == [obstacle.name for obstacle in sim.obstacles]
    x = np.random.default_rng(1).normal(size=(50, 3))
    for a, b in zip(sim.obstacles, again.obstacles, strict=True):
        assert type(a.collider) is type(b.collider) and repr(a.collider).split("motion")[0] == repr(b.collider).split("motion")[0]
        for u, v in zip(a.collider.query(x, 0.3), b.collider.query(x, 0.3), strict=True):
            assert u.tobytes() == v.tobytes()
    found, expected = again.contacts(0.5), sim.contacts(0.5)
    assert len(expected) > 20 and found.distance.tobytes() == expected.distance.tobytes()
    for given, text in (
        (None, "obstacle 'ball' had 1 motions, and 0"),
        ({**motions, "floor": [drifting]}, "obstacle 'floor' had 0 motions, and 1"),
        ({**motions, "tree": [drifting]}, "no body or obstacle is named 'tree'"),
    ):
        with pytest.raises(ValueError, match=text):
            pdgpu.Simulation.load(tmp_path / "s", motions=given)


def test_files_without_obstacles_are_those_of_before(tmp_path):
    """If not, an earlier pdgpu cannot read a file that has nothing new in it, or reads one with obstacles and forgets them."""
    for obstacle, version in ((False, 1), (True, 2)):
        scene = pdgpu.Scene()
        scene.add_particles([[0, 0, 0]], mass=1.0)
        if obstacle:
            scene.add_obstacle(pdgpu.Sphere((0, 0, 0), 1.0))
        pdgpu.Simulation(scene).save(tmp_path / "s")
        with np.load(tmp_path / "s") as archive:
            assert json.loads(bytes(archive["header"]))["version"] == version


def rewritten(path, change):
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(bytes(arrays["header"]))
    change(header)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def test_what_it_does_not_know_is_refused(tmp_path):
    """If not, a file of a later version loads as something it is not."""
    path = tmp_path / "s"
    disturbed(scenes.DIRECT, "float64").save(path)
    content = path.read_bytes()
    with pytest.raises(FileNotFoundError, match="nothing"):
        pdgpu.Simulation.load(tmp_path / "nothing")
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="truncated"):
        pdgpu.Simulation.load(path)
    path.write_bytes(b"not a simulation")
    with pytest.raises(ValueError, match="not a saved simulation"):
        pdgpu.Simulation.load(path)
    for change, text in (
        (lambda h: h.update(version=99), "version 99"),
        (lambda h: h.update(format="other"), "not a saved simulation"),
        (lambda h: h.pop("dt"), "dt"),
        (lambda h: h["solver"].update(type="Magic"), "Magic"),
    ):
        path.write_bytes(content)
        rewritten(path, change)
        with pytest.raises(ValueError, match=text):
            pdgpu.Simulation.load(path)
