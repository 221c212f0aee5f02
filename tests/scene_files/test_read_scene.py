"""Scenes from files of IPC and polyfem, against the same scenes built by hand."""

import pickle
import warnings

import numpy as np
import pytest
from scene_file_meshes import BLOCK, CLOTH, TILE, quiet_read, written

import pdgpu

NEWTON = pdgpu.Newton(iterations=60, tolerance=1e-6)
GRAVITY = (0.0, -9.80665, 0.0)


def rotation(axis, degrees):
    """About a coordinate axis."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turn = {0: [[1, 0, 0], [0, c, -s], [0, s, c]], 1: [[c, 0, s], [0, 1, 0], [-s, 0, c]], 2: [[c, -s, 0], [s, c, 0], [0, 0, 1]]}
    return np.array(turn[axis])


def middle(points):
    return 0.5 * (points.min(axis=0) + points.max(axis=0))


def same_run(loaded, scene, steps, dt, contact, forces=None, places=None):
    """Asserts that both simulations have the same positions, to the bit or to some decimal places."""
    one = loaded.simulation(NEWTON, threads=1)
    other = pdgpu.Simulation(scene, NEWTON, dt=dt, contact=contact, threads=1)
    if forces is not None:
        other.external_forces = forces
    assert one.dt == dt and one.contact == contact
    start = one.positions.copy()
    for _ in range(steps):
        one.step(time=None if dt else one.time + loaded.interval)
        other.step(time=None if dt else other.time + loaded.interval)
    assert np.abs(one.positions - start).max() > 1e-6
    if places is None:
        assert np.array_equal(one.positions, other.positions)
    else:
        np.testing.assert_allclose(one.positions, other.positions, rtol=0.0, atol=10.0**-places)
    return one


def moved(mesh, points):
    return pdgpu.Mesh(points, tets=mesh.tets, triangles=mesh.triangles if not len(mesh.tets) else None)


def test_blocks_on_the_ground(scenes_folder):
    """If not, materials, velocities, damping, friction or distances of a script are other ones in pdgpu."""
    loaded = quiet_read(scenes_folder / "falls.txt")
    assert (loaded.format, loaded.steps, loaded.duration, loaded.interval) == ("IPC", 5, 0.1, 0.02)
    scene = pdgpu.Scene(gravity=GRAVITY)
    first = (BLOCK.points * [1.0, 1.0, 1.0]) @ np.eye(3) + [0.0, 0.02, 0.0]
    spin = np.cross([0.0, np.radians(90.0), 0.0], first - middle(first))
    damping = 0.75 * 0.2 * 0.02
    one = scene.add_solid(
        moved(BLOCK, first), pdgpu.LogNeoHookean.from_young(2e4, 0.3), density=900.0, velocity=[0.0, -0.5, 0.0] + spin, damping=damping
    )
    second = (BLOCK.points * [0.5, 1.0, 1.2]) @ rotation(1, 30.0).T + [0.1, 0.5, 0.0]
    two = scene.add_solid(moved(BLOCK, second), pdgpu.LogNeoHookean.from_young(4e4, 0.35), density=1100.0, damping=damping)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    names = [body.name for body in loaded.scene.bodies]
    assert names == ["block0", "block1"]
    table = {(a, b): 0.2 for a, b in ((names[0], names[0]), (names[0], names[1]), (names[1], names[1]))}
    table |= {(name, "halfspace0"): 0.4 for name in names}
    assert dict(loaded.contact.friction) == {tuple(sorted(pair)): value for pair, value in table.items()}
    mine = {(a, b): 0.2 for a in (one.name, two.name) for b in (one.name, two.name) if a <= b} | {
        (a.name, "floor"): 0.4 for a in (one, two)
    }
    contact = pdgpu.BarrierContact(2e-3, friction=mine, friction_velocity=1e-3, friction_lags=2)
    other = pdgpu.Simulation(scene, NEWTON, dt=0.02, contact=contact, threads=1)
    sim = loaded.simulation(NEWTON, threads=1)
    for _ in range(5):
        sim.step(), other.step()
    assert np.array_equal(sim.positions, other.positions)
    assert len(sim.contacts(2e-3)) and sim.positions[:, 1].min() > 0.0
    noted = {note.keyword: (note.line, note.status) for note in loaded.notes}
    assert noted == {name: (line, "ignored") for name, line in (("warmStart", 19), ("view", 20), ("section", 21), ("zoom", 25))}


def test_pins_and_loads(scenes_folder):
    """If not, boxes select other vertices, or hold, move or load them otherwise, than in IPC."""
    loaded = quiet_read(scenes_folder / "held.txt")
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    body = scene.add_solid(BLOCK, pdgpu.FixedCorotated.from_young(1e5, 0.4), density=1000.0, damping=4e-6 / 0.02**2)
    held = BLOCK.points[:, 0] == 0.0

    def motion(time, rest):
        # the turn of each step is about the middle at its start; the range of the first box ends within the third step
        x = rest.copy()
        for k in range(round(time / 0.02)):
            if k * 0.02 < 0.05:
                c = middle(x)
                x = x + ((x - c) @ rotation(0, 30.0 * 0.02).T + c + [0.1 * 0.02, 0.0, 0.0] - x)
            else:
                x = x + [0.0, 0.0, -0.2 * 0.02]
        return x

    body.pin(held, motion)
    forces = np.zeros((len(BLOCK.points), 3))
    forces[BLOCK.points[:, 0] == 1.0, 1] = 3.0 * body.masses[BLOCK.points[:, 0] == 1.0]
    sim = same_run(loaded, scene, 5, 0.02, pdgpu.BarrierContact(1e-3), forces=forces, places=12)
    assert np.array_equal(loaded.external_forces(0.0), forces)
    np.testing.assert_allclose(sim.positions[held], motion(sim.time, BLOCK.points[held]), rtol=0.0, atol=1e-12)


def test_obstacles_of_a_turned_and_scaled_model(scenes_folder):
    """If not, moved shapes, surfaces, half-spaces or meshes are at other places than in IPC."""
    loaded = quiet_read(scenes_folder / "moved.txt")
    shapes = [BLOCK.points + [0.0, 0.402, 0.0], BLOCK.points.copy(), CLOTH.points * [3.0, 1.0, 3.0] + [0.0, -1.0, 0.0]]
    everything = np.concatenate(shapes)
    half = 0.5 * np.ptp(everything, axis=0)
    turned = [(x - half) @ rotation(1, 90.0).T + half for x in shapes]
    factor = 2.0 / np.ptp(np.concatenate(turned), axis=0).max()
    corner = np.concatenate(turned).min(axis=0) * factor
    places = [x * factor - corner for x in turned]
    scene = pdgpu.Scene(gravity=GRAVITY)
    scene.add_solid(moved(BLOCK, places[0]), pdgpu.LogNeoHookean.from_young(5e4, 0.4), density=1000.0, name="block0")
    surface = pdgpu.Mesh(places[1], triangles=moved(BLOCK, places[1]).surface)

    def motion(time, rest):
        x = rest.copy()
        for _ in range(round(time / 0.02)):
            c = middle(x)
            x = (x - c) @ (rotation(1, 20.0 * 0.02) @ rotation(2, 40.0 * 0.02)).T + c + [0.0, 0.1 * 0.02, 0.0]
        return x

    scene.add_obstacle(surface, motion=motion)
    scene.add_obstacle(moved(CLOTH, places[2]))
    scene.add_obstacle(pdgpu.Plane((0.0, -2.0, 0.0), (0.0, 1.0, 0.0)), name="halfspace0")
    scene.add_obstacle(moved(TILE, TILE.points @ rotation(1, 90.0).T * 2.0 + [0.0, -1.5, 1.0]), name="tile-obstacle0")
    for mine, read in zip(scene.obstacles, loaded.scene.obstacles, strict=True):
        if hasattr(mine.collider, "positions"):
            np.testing.assert_allclose(read.collider.positions(0.06), mine.collider.positions(0.06), rtol=0.0, atol=1e-12)
    assert loaded.scene.obstacles[2].collider.normal == scene.obstacles[2].collider.normal
    solids = np.concatenate([shapes[0], shapes[1]]) * factor
    diagonal = np.linalg.norm(np.ptp(solids, axis=0))
    assert loaded.contact.distance == pytest.approx(5e-3 * diagonal, rel=1e-12)
    assert loaded.contact.friction_velocity == pytest.approx(1e-3 * diagonal, rel=1e-12)
    friction = {key: value for key, value in loaded.contact.friction.items() if value}
    assert friction == {("block0", "halfspace0"): 0.3, ("block0", "tile-obstacle0"): 0.5}
    sim = loaded.simulation(NEWTON, threads=1)
    other = pdgpu.Simulation(scene, NEWTON, dt=0.02, contact=loaded.contact, threads=1)
    sim.step(3), other.step(3)
    np.testing.assert_allclose(sim.positions, other.positions, rtol=0.0, atol=1e-10)
    assert len(sim.contacts(loaded.contact.distance))


@pytest.mark.parametrize(
    ("script", "rows", "motion"),
    [
        ("twist", [BLOCK.points[:, 0] == 0.0, BLOCK.points[:, 0] == 1.0], [(0, -72.0, 0.0), (0, 72.0, 0.0)]),
        ("twistnstretch", [BLOCK.points[:, 0] == 0.0, BLOCK.points[:, 0] == 1.0], [(0, -18.0, -0.1), (0, 18.0, 0.1)]),
        ("stretch", [BLOCK.points[:, 0] == 0.0, BLOCK.points[:, 0] == 1.0], [(0, 0.0, -0.1), (0, 0.0, 0.1)]),
        ("squash", [BLOCK.points[:, 0] == 0.0, BLOCK.points[:, 0] == 1.0], [(0, 0.0, 0.03), (0, 0.0, -0.03)]),
        ("hangLeft", [BLOCK.points[:, 0] == 0.0], [None]),
        ("fixLowerHalf", [BLOCK.points[:, 1] == 0.0], [None]),
        ("stand", [BLOCK.points[:, 1] == 0.0], [None]),
        ("hang2", [BLOCK.points[:, 1] == 0.4], [None]),
    ],
)
def test_named_scripts(scenes_folder, script, rows, motion):
    """If not, the ends of a rod turn or go elsewhere than those of IPC."""
    path = written(
        scenes_folder, f"{script}.txt", f"script {script}\nenergy FCR\ntime 1 0.02\nshapes input 1\nblock.msh 0 0 0 0 0 0 1 1 1\n"
    )
    loaded = quiet_read(path)
    scene = pdgpu.Scene(gravity=GRAVITY)
    body = scene.add_solid(BLOCK, pdgpu.FixedCorotated.from_young(1e5, 0.4), density=1000.0)
    centre = middle(BLOCK.points)

    def turning(axis, speed, velocity):
        return lambda time, rest: (rest - centre) @ rotation(axis, speed * time).T + centre + np.array([velocity, 0.0, 0.0]) * time

    for where, how in zip(rows, motion, strict=True):
        body.pin(where, None if how is None else turning(*how))
    pins = loaded.scene.bodies[0].pins
    assert [list(pin[0]) for pin in pins] == [list(np.flatnonzero(where)) for where in rows]
    same_run(loaded, scene, 3, 0.02, loaded.contact, places=11)


def test_a_press_turns_back(scenes_folder):
    """If not, the two walls of a press meet, or never come back."""
    press = "script DCOSquash\ntime 2 0.1\nshapes input 3\ntile.obj -0.7 0 0 0 0 90 1 1 1\ntile.obj 0.71 0 0 0 0 90 1 1 1\n"
    path = written(scenes_folder, "press.txt", f"{press}block.msh -0.1 0 0 0 0 0 0.2 1 1\n")
    left = quiet_read(path).scene.obstacles[0].collider
    at = [left.positions(0.1 * k)[0, 0] for k in range(13)]
    # 1.41 m apart: 0.01 m are left after 0.7 s, so the eighth step goes back; in it, the gap is 0.21 m, and it turns again
    assert at == pytest.approx(-0.7 + 0.1 * np.array([0, 1, 2, 3, 4, 5, 6, 7, 6, 5, 4, 3, 2]), abs=1e-12)


def test_blocks_pushed_by_formulas(scenes_folder):
    """If not, transformations, selections, formulas, materials or common files of polyfem mean something else."""
    loaded = quiet_read(scenes_folder / "pushed.json")
    assert (loaded.format, loaded.steps, loaded.dt) == ("polyfem", 4, 0.02) and loaded.duration == pytest.approx(0.08)
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    first = BLOCK.points @ (rotation(1, 30.0) @ np.diag([1.0, 1.0, 0.5])).T + [0.0, 0.01, 0.0]
    one = scene.add_solid(moved(BLOCK, first), pdgpu.LogNeoHookean.from_young(3e4, 0.3), density=1000.0)
    one.pin(BLOCK.points[:, 1] == 0.4, lambda time, rest: rest + [0.1 * time, -min(0.2 * time, 1.0), 0.0])
    size = np.diag([0.3, 0.3 / 0.4, 0.3 / 0.4])
    second = BLOCK.points @ size.T + [0.0, 0.6, 0.0]
    velocity = np.stack([0.0 * second[:, 0], -second[:, 0], 0.5 + 0.0 * second[:, 0]], axis=1)
    scene.add_solid(moved(BLOCK, second), pdgpu.FixedCorotated.from_young(2e4, 0.4), density=800.0, velocity=velocity)
    scene.add_obstacle(moved(TILE, 4.0 * TILE.points), motion=lambda time, rest: rest + [0.0, 0.01 * time, 0.0])
    scene.add_obstacle(pdgpu.Plane((0.0, -1.0, 0.0), (0.0, 1.0, 0.0)))
    sim = same_run(loaded, scene, 4, 0.02, pdgpu.BarrierContact(2e-3, friction=0.5))
    assert {note.keyword for note in loaded.notes if note.status == "ignored"} == {"output", "solver/nonlinear"}
    assert len(sim.contacts(2e-3))


def test_a_static_scene_with_slides(scenes_folder):
    """If not, a static problem is taken for a dynamic one, or single coordinates are held wrongly."""
    loaded = quiet_read(scenes_folder / "still.json")
    assert loaded.dt is None and loaded.contact is None and list(loaded.times) == pytest.approx([0.1, 0.2, 0.3])
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    body = scene.add_solid(BLOCK, pdgpu.LogNeoHookean.from_young(1e4, 0.3), density=500.0)
    body.pin(BLOCK.points[:, 0] == 0.0)
    body.slide((BLOCK.points[:, 2] == 0.0) & (BLOCK.points[:, 0] > 0.0), plane=(0.0, 0.0, 1.0))
    same_run(loaded, scene, 2, None, None)


def test_a_lattice_of_copies(scenes_folder):
    """If not, an array of meshes has its copies at other places."""
    text = '{"geometry": {"type": "mesh_array", "mesh": "block.msh", "array": {"offset": 1.5, "size": [2, 1, 2], "relative": true}}, '
    text += '"materials": {"type": "SaintVenant", "E": 1e4, "nu": 0.2}, "time": {"dt": 0.1, "tend": 1}, "contact": {}}'
    loaded = quiet_read(written(scenes_folder, "lattice.json", text))
    starts = [body.points.min(axis=0) for body in loaded.scene.bodies]
    np.testing.assert_allclose(starts, [[0, 0, 0], [0, 0, 0.6], [1.5, 0, 0], [1.5, 0, 0.6]], atol=1e-12)
    assert [type(body.materials[0]).__name__ for body in loaded.scene.bodies] == ["StVK"] * 4 and loaded.contact is None
    matrix = "shapeMatrix input 2 1 2  0 1 0\nblock.msh 1.5 0 0.6  0 0 0  1 1 1\nturnOffGravity\nselfCollisionOff\n"
    loaded = quiet_read(written(scenes_folder, "matrix.txt", matrix))
    starts = [body.points.min(axis=0) for body in loaded.scene.bodies]
    np.testing.assert_allclose(starts, [[0, 1, 0], [0, 1, 0.6], [1.5, 1, 0], [1.5, 1, 0.6]], atol=1e-12)
    assert loaded.contact is None and not loaded.scene.gravity.any()


def test_sequences_of_meshes(scenes_folder):
    """If not, an obstacle from a sequence is at the place of another frame."""
    folder = scenes_folder / "frames"
    folder.mkdir(exist_ok=True)
    for k in range(4):
        moved(TILE, TILE.points + [0.0, 0.1 * k, 0.0]).write(folder / f"{k}.obj")
    text = "time 0.4 0.1\nshapes input 2\nblock.msh 0 5 0 0 0 0 1 1 1\ntile.obj 0 0 0 0 0 0 1 1 1 meshSeq frames\n"
    tile = quiet_read(written(scenes_folder, "sequence.txt", text)).scene.obstacles[0].collider
    assert [tile.positions(0.1 * k)[0, 1] for k in range(5)] == pytest.approx([0.0, 0.0, 0.1, 0.2, 0.3])
    text = '{"geometry": [{"mesh": "block.msh"}, {"type": "mesh_sequence", "mesh_sequence": "frames", "fps": 10, "is_obstacle": true}], '
    text += '"materials": {"type": "NeoHookean", "E": 1e4, "nu": 0.2}, "time": {"dt": 0.05, "tend": 1}}'
    tile = quiet_read(written(scenes_folder, "sequence.json", text)).scene.obstacles[0].collider
    assert [tile.positions(0.05 * k)[0, 1] for k in (0, 1, 2, 9)] == pytest.approx([0.0, 0.05, 0.1, 0.3])


def test_a_moved_solid_with_inner_vertices(scenes_folder):
    """If not, a motion that needs all vertices of a solid gets those of its surface, and moves others than it should."""
    mesh = pdgpu.shapes.beam((1.0, 1.0, 1.0), cells=(2, 2, 2))
    mesh.write(scenes_folder / "inner.msh")
    text = "time 1 0.1\nshapes input 2\nblock.msh 0 5 0 0 0 0 1 1 1\n"
    text += "inner.msh 0 0 0 0 0 0 1 1 1 angularVelocity 0 0 0 DBC -1 0.9 -1 2 2 2 1 0 0 0 0 0\n"
    collider = quiet_read(written(scenes_folder, "inner.txt", text)).scene.obstacles[0].collider
    change = collider.positions(0.3) - collider.positions(0.0)
    assert len(change) == 26
    np.testing.assert_allclose(change[:, 0], 0.3 * (collider.positions(0.0)[:, 1] == 1.0), atol=1e-12)


def test_forces_with_a_time_range(scenes_folder):
    """If not, a load acts for the whole run."""
    text = "time 1 0.1\nturnOffGravity\nshapes input 1\nblock.msh 0 0 0 0 0 0 1 1 1 NBC 0.9 0 0 1.1 1 1 2 0 0 0.2 0.4\n"
    path = written(scenes_folder, "loads.txt", text)
    with pytest.warns(UserWarning, match=r"loads.txt:4: NBC: replaced: .*apply_forces"):
        loaded = pdgpu.read_scene(path)
    acting = [bool(loaded.external_forces(0.1 * k).any()) for k in range(6)]
    assert acting == [False, False, True, True, False, False]
    sim = loaded.simulation(NEWTON, threads=1)
    seen = []
    sim.run(0.5, callback=lambda sim: (loaded.apply_forces(sim), seen.append(sim.momentum().linear[0]))[0])
    mass = loaded.scene.bodies[0].masses[BLOCK.points[:, 0] == 1.0].sum()
    assert seen == pytest.approx([0.0, 0.0, 0.0, 0.2 * mass, 0.4 * mass, 0.4 * mass], rel=1e-6, abs=1e-9)


def test_copies_of_a_loaded_scene(scenes_folder):
    """If not, motions of a file cannot be sent to another process."""
    loaded = quiet_read(scenes_folder / "moved.txt")
    again = pickle.loads(pickle.dumps(loaded.scene))
    for one, other in zip(loaded.scene.obstacles[:2], again.obstacles[:2], strict=True):
        assert np.array_equal(one.collider.positions(0.05), other.collider.positions(0.05))
    assert "quasistatic" in repr(quiet_read(scenes_folder / "still.json")) and "3 steps" in repr(loaded)


def test_warnings_name_lines(scenes_folder):
    """If not, a scene runs with another solver of contact, and the user learns it from nothing."""
    text = "constraintSolver QP\nshapes input 1\nblock.msh 0 0 0 0 0 0 1 1 1\nmagic 3\n"
    path = written(scenes_folder, "substitute.txt", text)
    with pytest.warns(UserWarning, match=r"(?s)substitute.txt:1: constraintSolver: replaced.*substitute.txt:4: magic: skipped"):
        loaded = pdgpu.read_scene(path, strict=False)
    assert [note.status for note in loaded.notes] == ["replaced", "skipped"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdgpu.read_scene(scenes_folder / "falls.txt")


def noted(loaded, status="ignored"):
    return [note.keyword for note in loaded.notes if note.status == status]


def test_settings_without_effect_are_noted(scenes_folder):
    """If not, a load or a velocity of a script has no effect, and no note says so."""
    loads = "NBC 0 0 0 1 1 1 2 0 0 initVel 1 0 0 0 0 0"
    block = "block.msh 0 5 0 0 0 0 1 1 1"
    text = f"time 0.4 0.1\nshapes input 2\n{block} linearVelocity 1 0 0 {loads}\nblock.msh 0 0 0 0 0 0 1 1 1\n"
    loaded = quiet_read(written(scenes_folder, "slides.txt", text))
    assert noted(loaded) == ["NBC", "initVel"] and {note.line for note in loaded.notes} == {3} and not loaded.loads
    loaded = quiet_read(written(scenes_folder, "named.txt", f"script fall\nshapes input 1\n{block} {loads}\n"))
    assert noted(loaded) == ["initVel", "NBC"]
    (scenes_folder / "one_frame").mkdir(exist_ok=True)
    TILE.write(scenes_folder / "one_frame" / "0.obj")
    tile = "tile.obj 0 0 0 0 0 0 1 1 1 meshSeq one_frame linearVelocity 1 0 0 angularVelocity 1 0 0 DBC 0 0 0 1 1 1 1 0 0 0 0 0"
    loaded = quiet_read(written(scenes_folder, "frame.txt", f"shapes input 2\n{block}\n{tile}\n"))
    assert noted(loaded) == ["linearVelocity", "angularVelocity", "DBC"]


def test_obstacles_that_move_in_some_coordinates(scenes_folder):
    """If not, a motion that a note calls skipped is applied."""
    text = '{"geometry": [{"mesh": "block.msh"}, {"mesh": "tile.obj", "is_obstacle": true, "surface_selection": 9}], '
    text += '"materials": {"type": "NeoHookean", "E": 1e4, "nu": 0.2}, "boundary_conditions": {"obstacle_displacements": '
    text += '{"id": 9, "value": ["t", 0, 0], "dimension": [true, false, true]}}}'
    loaded = quiet_read(written(scenes_folder, "partial.json", text), strict=False)
    assert noted(loaded, "skipped") == ["obstacle_displacements"] and loaded.scene.obstacles[0].collider.motion is None


def test_patches(scenes_folder):
    """If not, an added member takes the place of another one."""
    body = '{{"mesh": "block.msh", "transformation": {{"translation": [{}, 0, 0]}}}}'.format
    first, second, third = body(0), body(2), body(4)
    text = f'{{"geometry": [{first}], "materials": {{"type": "NeoHookean", "E": 1e4, "nu": 0.2}}, "patch": ['
    text += f'{{"op": "add", "path": "/geometry/-", "value": {third}}}, {{"op": "add", "path": "/geometry/1", "value": {second}}}, '
    text += '{"op": "add", "path": "/time", "value": {"tend": 1}}, {"op": "add", "path": "/time/dt", "value": 0.5}, '
    text += '{"op": "replace", "path": "/geometry/0/transformation/translation/1", "value": 3}, '
    text += '{"op": "add", "path": "/materials/E", "value": 2e4}, {"op": "replace", "path": "/time/dt", "value": 0.25}]}'
    loaded = quiet_read(written(scenes_folder, "patch.json", text))
    starts = [body.points.min(axis=0).tolist() for body in loaded.scene.bodies]
    assert starts == [[0.0, 3.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]]
    assert loaded.dt == 0.25 and loaded.scene.bodies[0].materials[0].lame(1, 3)[0] == pytest.approx(2e4 / 2.4)


def polyfem(folder, geometry, more=""):
    """A scene with one mesh, two materials and pins."""
    soft = '{"id": 0, "type": "NeoHookean", "E": 1e4, "nu": 0.2, "rho": 500}'
    stiff = '{"id": [3, 4], "type": "NeoHookean", "mu": 1e4, "lambda": 2e4, "rho": 900}'
    time = '"time": {"tend": 0.1, "time_steps": 5}'
    text = f'{{"geometry": {{"mesh": "block.msh", {geometry}}}, "materials": [{soft}, {stiff}], {time}{more}}}'
    return quiet_read(written(folder, "one.json", text))


def test_materials_by_selections_of_tets(scenes_folder):
    """If not, a part of a mesh has the material of another part."""
    loaded = polyfem(scenes_folder, '"volume_selection": [{"id": 4, "axis": "x", "position": 0.5}]')
    body = loaded.scene.bodies[0]
    stiff = BLOCK.points[BLOCK.tets].mean(axis=1)[:, 0] >= 0.5
    assert 0 < stiff.sum() < len(stiff)
    assert np.array_equal(body.density, np.where(stiff, 900.0, 500.0))
    mu, lam = body.materials[0].lame(len(stiff), 3)
    np.testing.assert_allclose(mu, np.where(stiff, 1e4, 1e4 / 2.4), rtol=1e-12)
    np.testing.assert_allclose(lam, np.where(stiff, 2e4, 1e4 * 0.2 / (1.2 * 0.6)), rtol=1e-12)


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        ('{"id": 1, "center": [0, 0.5, 0.5], "radius": 0.1, "relative": true}', BLOCK.points[:, 0] == 0.0),
        ('{"id": 1, "normal": [1, 0, 0], "offset": 0.99}', BLOCK.points[:, 0] == 1.0),
        ('{"id": 1, "normal": [0, -1, 0], "point": [0, 0.01, 0]}', BLOCK.points[:, 1] == 0.0),
        ('[{"id": 2, "axis": 1, "position": 0.99}, {"id": 1, "box": [[0.9, -1, -1], [2, 2, 2]]}]', None),
        ("1", np.ones(len(BLOCK.points), dtype=bool)),
    ],
)
def test_selections_of_boundaries(scenes_folder, selection, chosen):
    """If not, another part of the boundary is held."""
    held = ', "boundary_conditions": {"dirichlet_boundary": {"id": 1, "value": [0, 0, 0]}}'
    pins = polyfem(scenes_folder, f'"surface_selection": {selection}', held).scene.bodies[0].pins
    assert not pins if chosen is None else list(pins[0][0]) == list(np.flatnonzero(chosen))


@pytest.mark.parametrize(
    ("mode", "numbers", "turn"),
    [
        ("xyz", [10, 20, 30], rotation(2, 30.0) @ rotation(1, 20.0) @ rotation(0, 10.0)),
        ("zyx", [10, 20, 30], rotation(0, 10.0) @ rotation(1, 20.0) @ rotation(2, 30.0)),
        ("axis_angle", [25, 0, 0, 2], rotation(2, 25.0)),
        ("rotation_vector", [0, -40, 0], rotation(1, -40.0)),
        ("y", 15, rotation(1, 15.0)),
    ],
)
def test_modes_of_rotations(scenes_folder, mode, numbers, turn):
    """If not, a body is turned about the wrong axis, or in the wrong order."""
    loaded = polyfem(scenes_folder, f'"transformation": {{"rotation_mode": "{mode}", "rotation": {numbers}}}')
    np.testing.assert_allclose(loaded.scene.bodies[0].points, BLOCK.points @ turn.T, atol=1e-12)


def test_a_simulation_in_single_precision(scenes_folder):
    """If not, options of a simulation do not reach it."""
    sim = quiet_read(scenes_folder / "held.txt").simulation(dtype="float32", threads=1, contact=None)
    sim.step(2)
    assert sim.dtype == np.float32 and sim.contact is None and np.isfinite(sim.positions).all()
