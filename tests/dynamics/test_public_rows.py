"""Rows of public arrays where rigid bodies stand between others: those of the vertices that were given, and no others.

The compiled model has further rows, of points that carry the mass of a rigid body and of joints (pdgpu/_internal/public_rows.py).
"""

import copy
import lzma
import pickle
import sys
from pathlib import Path

import meshio
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pdgpu
from pdgpu import shapes
from pdgpu._internal.public_rows import PublicRows
from pdgpu.scene.body_masses import shares_of_mass

FILES = Path(__file__).parents[1] / "earlier_version"
NEWTON = pdgpu.Newton(iterations=20)
CONTACT = pdgpu.BarrierContact(5e-3, stiffness=1e5)
PARTS = {"left": 0.0, "box": 0.43, "right": 0.75}  # where each begins, m


def shifted(mesh, by):
    return pdgpu.Mesh(mesh.points + by, tets=mesh.tets, triangles=None if len(mesh.tets) else mesh.triangles)


def scene_of(parts=PARTS, joint=False):
    """A solid, a rigid box and a solid on a floor, side by side."""
    scene = pdgpu.Scene()
    for name in parts:
        place = [PARTS[name], 2e-3, 0.0]
        if name == "box":
            box = scene.add_rigid(shifted(shapes.box((0.3, 0.2, 0.1)), place), density=500.0, spin=(0.0, 0.0, -0.5), name=name)
            continue
        mesh = shifted(shapes.beam((0.4, 0.1, 0.1), cells=(3, 1, 1)), place)
        body = scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000.0, name=name)
        body.pin(mesh.points[:, 0] == mesh.points[:, 0].max())
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    if joint:
        scene.add_joint("ball", box, at=box.centre + [0.0, 0.3, 0.0], name="rope", stiffness=1e3)
    return scene


def simulated(scene, **settings):
    return pdgpu.Simulation(scene, NEWTON, **({"dt": 0.01, "contact": CONTACT} | settings))


def arrays_of(sim, tmp_path):
    """Every public array over the vertices, by a name."""
    record = sim.step(record="positions")
    found = sim.contact_forces()
    near = sim.contacts(0.05)
    sim.write(tmp_path / "all.vtu")
    written = meshio.read(tmp_path / "all.vtu")
    n = len(sim.positions)
    return {
        "positions": sim.positions,
        "velocities": sim.velocities,
        "masses": sim.masses,
        "gradient": sim.gradient(),
        "forces": sim.forces(),
        "iterates": np.moveaxis(record.positions[-2:], 0, 1),
        "contact forces": found.forces,
        "pressure": found.pressure,
        "points in contact": found.positions[:n],
        "points near": near.positions[:n],
        "device": np.from_dlpack(sim.device_positions)[sim.device_rows],
        "external forces": sim.external_forces,
        "snapshot": sim.snapshot(1).iterate,
        "file": written.points,
        **{f"file {name}": values for name, values in written.point_data.items()},
    }


@pytest.mark.parametrize("joint", [False, True])
def test_every_array_has_the_rows_of_the_vertices(tmp_path, joint):
    """If not, `array[body.slice]` is of another body, or a row stands for nothing that the user gave."""
    scene = scene_of(joint=joint)
    sim, alone = simulated(scene), simulated(scene_of(("left", "right")))
    assert scene.n_vertices == 16 + 8 + 16 and [body.slice for body in scene.bodies] == [slice(0, 16), slice(16, 24), slice(24, 40)]
    assert [body.slice for body in sim.bodies] == [body.slice for body in scene.bodies]
    for body in (*scene.bodies, *sim.bodies):
        assert len(body.points) == body.slice.stop - body.slice.start == len(body.masses) == len(body.velocity) == len(body.mesh.points)
    for each in (sim, alone):
        push = np.zeros((len(each.positions), 3))
        push[0] = [0.0, 1.0, 2.0]
        push[-1] = [0.0, 0.5, 0.0]
        each.external_forces = push
        each.step(2)
    found, expected = arrays_of(sim, tmp_path), arrays_of(alone, tmp_path)
    left, box, right = (body.slice for body in scene.bodies)
    for name, array in found.items():
        assert len(array) == 40, name
        assert array[left].shape == expected[name][:16].shape and array[right].shape == expected[name][16:].shape, name
    for name in ("positions", "masses", "external forces", "file", "file displacement", "file mass"):
        np.testing.assert_allclose(found[name][left], expected[name][:16], atol=1e-9, err_msg=name)
        np.testing.assert_allclose(found[name][right], expected[name][16:], atol=1e-9, err_msg=name)
    np.testing.assert_array_equal(found["device"], found["positions"])
    np.testing.assert_array_equal(found["file pinned"], scene.fixed())
    np.testing.assert_array_equal(found["file body"], np.repeat([0, 1, 2], [16, 8, 16]))
    rigid, body = sim.rigid, sim.bodies[1]
    pose = rigid.centres[0] + body.arms @ rigid.rotations[0].T
    for name in ("positions", "file", "points in contact", "points near"):
        np.testing.assert_allclose(found[name][box], pose, atol=1e-12, err_msg=name)
    assert f"{40} vertices" in repr(scene) and f"{40} vertices" in repr(sim) and "8 vertices" in repr(body)
    assert sim.last_step.numbers["vertices"] == 40 and sim.last_step.numbers["pinned"] == scene.fixed().sum()


def test_vertices_of_contacts_and_certificates():
    """If not, a pair names a vertex of another body."""
    scene = scene_of()
    scene.add_obstacle(shifted(shapes.box((0.1, 0.1, 0.1)), [1.158, 0.02, 0.0]), name="wall")
    sim = simulated(scene)
    sim.step(12)
    slices = [body.slice for body in sim.bodies]
    for found in (sim.contacts(0.03), sim.contact_forces()):
        assert len(found.of("box", "floor")) and len(found.of("right", "floor")) and len(found.positions) >= 48
        for pair, owners in zip(found.vertices, found.bodies, strict=True):
            if owners[0] < 3:
                assert slices[owners[0]].start <= pair[0] < slices[owners[0]].stop
        moving = found.of("box", "floor")
        np.testing.assert_allclose(moving.points[:, 0], found.positions[moving.vertices[:, 0]], atol=1e-12)
    near = sim.contacts(0.03).of("right", "wall")
    assert len(near) and (near.vertices >= 40).any()  # obstacle meshes follow the vertices
    corners = near.positions[near.vertices]
    np.testing.assert_allclose(np.einsum("kc,kci->ki", near.weights, corners), near.points[:, 0] - near.points[:, 1], atol=1e-12)
    assert near.jacobian().shape[1] == 3 * len(near.positions)
    frames = [sim.positions, sim.positions - [0.0, 0.1, 0.0]]
    verified = pdgpu.certify(frames, scene, gap=False)
    below = {crossing.first for crossing in verified.crossings if crossing.kind == "vertex-plane"}
    assert below and max(below) < 40 and any(16 <= vertex < 24 for vertex in below)
    lowered = sim.positions
    lowered[slices[1]] -= [0.0, 0.1, 0.0]
    with pytest.raises(ValueError, match=r"'box' and 'floor' start intersecting: .*vertex (1[6-9]|2[0-3])\b"):
        pdgpu.Simulation(scene, NEWTON, dt=0.01, contact=CONTACT, positions=lowered).step()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_state_goes_around(dtype):
    """If not, a state that was read cannot be set, or a body is elsewhere afterwards."""
    scene = scene_of(joint=True)
    sim = simulated(scene, dtype=dtype, contact=None)
    sim.step(3)
    before = sim._core.backend.state()
    x, v = sim.positions, sim.velocities
    sim.set_state(positions=x, velocities=v)
    for name in ("positions", "velocities"):  # hidden rows too: what did not move keeps its bits
        np.testing.assert_array_equal(sim._core.backend.state()[name], before[name])
    turn, shift = Rotation.from_rotvec([0.1, 0.7, 0.2]).as_matrix(), np.array([0.1, 0.3, -0.2])
    rigid, body = sim.rigid, sim.bodies[1]
    x[body.slice] = (rigid.centres[0] + shift) + body.arms @ (turn @ rigid.rotations[0]).T
    w, speed = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.0, 1.0])
    v[body.slice] = speed + np.cross(w, x[body.slice] - rigid.centres[0] - shift)
    sim.set_state(positions=x, velocities=v)
    tolerance = 1e-12 if dtype == "float64" else 3e-6
    np.testing.assert_allclose(sim.rigid.centres[0], rigid.centres[0] + shift, atol=tolerance)
    np.testing.assert_allclose(sim.rigid.rotations[0], turn @ rigid.rotations[0], atol=tolerance)
    np.testing.assert_allclose(sim.rigid.spins[0], w, atol=10 * tolerance)
    np.testing.assert_allclose(sim.rigid.velocities[0], speed, atol=tolerance)
    np.testing.assert_array_equal(sim.positions, x.astype(dtype))
    other = simulated(scene, dtype=dtype, contact=None, positions=x, velocities=v)
    other.step()
    sim.step()
    np.testing.assert_allclose(other.positions, sim.positions, atol=10 * tolerance)
    energy, masses = sim.energies(), sim.masses
    assert masses[body.slice].sum() == pytest.approx(body.mass, rel=1e-12)
    momentum = np.einsum("i,ij->j", masses, sim.velocities)
    np.testing.assert_allclose(momentum, sim.momentum().linear, atol=1e-5 if dtype == "float32" else 1e-12)
    weight = -np.einsum("i,ij,j->", masses, sim.positions.astype(np.float64), scene.gravity)
    assert weight == pytest.approx(energy["gravity"], rel=1e-6 if dtype == "float32" else 1e-12)


BENT = {
    "stretched": lambda x: x * [1.0, 1.001, 1.0],
    "mirrored": lambda x: x * [-1.0, 1.0, 1.0],
    "one vertex": lambda x: x + np.eye(len(x), 3) * 1e-3,
    "flat": lambda x: x * [1.0, 0.0, 1.0],
    "one point": lambda x: x * 0.0,
}


@pytest.mark.parametrize("kind", BENT)
def test_no_body_is_bent(kind):
    """If not, a body is at the pose that is nearest, and nothing says so."""
    scene = scene_of()
    sim = simulated(scene)
    x = sim.positions
    x[16:24] = BENT[kind](x[16:24])
    for ask in (lambda: sim.set_state(positions=x), lambda: pdgpu.Simulation(scene, NEWTON, positions=x)):
        with pytest.raises(ValueError, match=r"positions: vertices of the rigid body 'box' are .* m off its shape, .* are allowed"):
            ask()
    for name, ask in {"incremental_potential": sim.incremental_potential, "gradient": sim.gradient}.items():
        with pytest.raises(ValueError, match="x: vertices of the rigid body 'box' are"):
            ask(x)
            pytest.fail(name)
    v = np.zeros_like(x)
    v[16] = 1.0
    with pytest.raises(ValueError, match="velocities: vertices of the rigid body 'box' are"):
        sim.set_state(velocities=v)
    with pytest.raises(ValueError, match=r"positions: expected shape \(40, 3\)"):
        sim.set_state(positions=sim._core.backend.positions())


def test_comparisons_and_snapshots():
    """If not, an answer that was found cannot be given to the next comparison, or a solver goes on from another iterate."""
    scene = scene_of(joint=True)
    sim = simulated(scene)
    sim.step(5)
    snapshot = sim.snapshot(2)
    solvers = {"Newton": NEWTON, "VBD": pdgpu.VertexBlockDescent(iterations=5)}
    compared = pdgpu.compare(scene, solvers, dt=0.01, contact=CONTACT, start=snapshot)
    shapes_found = [x.shape for x in (compared.reference, compared.start_positions, *compared.positions.values(), *snapshot[:3])]
    assert set(shapes_found) == {(40, 3)}
    np.testing.assert_array_equal(compared.start_positions, sim.positions)
    assert compared.records["Newton"]["incremental_potential"][0] == pytest.approx(sim.incremental_potential(snapshot.iterate), rel=1e-12)
    again = pdgpu.compare(scene, solvers, dt=0.01, contact=CONTACT, start=snapshot, reference=compared.reference)
    assert again.reference_potential == pytest.approx(compared.reference_potential, rel=1e-12)
    assert again.records["VBD"]["relative_loss"][1:] == pytest.approx(compared.records["VBD"]["relative_loss"][1:], rel=1e-4)
    from_rows = pdgpu.compare(scene, solvers, dt=0.01, contact=CONTACT, start=(sim.positions, sim.velocities))
    assert from_rows.reference == pytest.approx(compared.reference, abs=1e-9)
    assert pickle.loads(pickle.dumps(snapshot)).hidden.shape == (3, 5, 3)
    with pytest.raises(ValueError, match="start: the Snapshot is of 40 vertices, and the scene has 32"):
        pdgpu.compare(scene_of(("left", "right")), solvers, dt=0.01, contact=CONTACT, start=snapshot)


def test_copies_files_and_cuts_keep_the_rows(tmp_path):
    """If not, a run that goes on has other bits, or a cut moves the rows of another body."""
    scene = scene_of(joint=True)
    sheet = shapes.grid((0.2, 0.2), cells=(4, 4))
    cloth = scene.add_shell(shifted(sheet, [0.0, 0.5, 0.0]), pdgpu.Spring(1e3), density=0.2, name="cloth")
    late = scene.add_rigid(shifted(shapes.box((0.1, 0.1, 0.1)), [0.0, 0.9, 0.0]), density=100.0, name="late")
    sim = simulated(scene)
    push = np.zeros((len(sim.positions), 3))
    push[late.slice] = [0.0, 0.0, 0.1]
    sim.external_forces = push
    sim.step(3)
    sim.save(tmp_path / "rigid.npz")
    others = [copy.copy(sim), copy.deepcopy(sim), pickle.loads(pickle.dumps(sim)), pdgpu.Simulation.load(tmp_path / "rigid.npz")]
    for each in (sim, *others):
        np.testing.assert_array_equal(each.external_forces, push)
        np.testing.assert_allclose(each.masses, sim.masses, rtol=1e-12)
        each.step(2)
        np.testing.assert_array_equal(each.positions, sim.positions)
    result = sim.cut("cloth", sheet.hinges[:4, :2])
    made = len(result.new_vertices)
    assert made > 0 and result.body.slice == slice(cloth.slice.start, cloth.slice.stop + made)
    moved = [body.slice for body in sim.bodies]
    assert moved[:3] == [body.slice for body in scene.bodies[:3]] and moved[4] == slice(late.slice.start + made, late.slice.stop + made)
    np.testing.assert_array_equal(sim.positions[moved[4]], others[0].positions[late.slice])
    np.testing.assert_array_equal(sim.external_forces[moved[4]], push[late.slice])
    sim.step()
    assert len(sim.positions) == scene.n_vertices + made


def test_files_of_an_earlier_version_go_on():
    """`rigid.npz` and `rigid_pickles.xz` are of the version whose arrays had all rows of the model: a solid, a box on a hinge, a solid. If
    not, a run that was kept is lost, or goes on elsewhere."""
    kept = pickle.loads(lzma.decompress((FILES / "rigid_pickles.xz").read_bytes()))
    old = {name: pickle.loads(part) for name, part in kept.items()}
    for sim in (pdgpu.Simulation.load(FILES / "rigid.npz"), old["simulation"]):
        assert len(sim.positions) == 40 and sim.external_forces[18, 1] == -3.0 and sim.external_forces[24, 1] == 1.0
        sim.step(3)
        solids = np.r_[:16, 24:40]
        np.testing.assert_allclose(sim.positions[solids], old["positions"][solids], atol=1e-10)
        np.testing.assert_allclose(sim.velocities[solids], old["velocities"][solids], atol=1e-8)
        # that version braked the spin of the box, and gave its vertices the mean velocity of the step
        np.testing.assert_allclose(sim.positions, old["positions"], atol=1e-5)
        np.testing.assert_allclose(sim.velocities, old["velocities"], atol=5e-3)
        np.testing.assert_allclose(sim.momentum().linear, old["momentum"][0], atol=5e-4)
        assert sim.energies()["total"] == pytest.approx(old["energy"], abs=5e-4)
    scene, box = old["scene"], old["body"]
    assert scene.n_vertices == 40 and [body.slice.start for body in scene.bodies] == [0, 16, 24] and len(box.points) == 8
    assert box.masses.sum() == pytest.approx(box.mass) and box.anchors == 2 and len(scene.joints) == 1
    snapshot = old["snapshot"]
    solvers = {"Newton": pdgpu.Newton(iterations=8)}
    compared = pdgpu.compare(scene, solvers, dt=0.01, contact=snapshot.contact, start=snapshot)
    assert compared.reference.shape == (40, 3) and compared["Newton"]["relative_loss"][-1] < 1e-9


def test_messages_name_vertices_and_bodies():
    """If not, a message names a row that no public array has."""
    sim = simulated(scene_of(), contact=None)
    rows, error = sim._core.rows, pdgpu.DivergenceError("Newton diverged at iteration 1: why; worst vertex 30 (2 N)")
    error.vertex = 30
    rows.restate(error)
    assert error.vertex == 26 and str(error).endswith("worst vertex 26 (2 N)")
    assert rows.described("the rigid body of vertices 16 to 27 has been turned") == "the rigid body 'box' has been turned"
    assert rows.described("worst vertex 25") == "worst vertex 16"  # a point of its mass
    vertices = np.array([[0, 15, 16, -1], [23, 28, 43, 44]], np.int32)
    np.testing.assert_array_equal(rows.numbers(vertices), [[0, 15, 16, -1], [23, 24, 39, 40]])
    np.testing.assert_array_equal(rows.in_model(rows.numbers(vertices)), vertices)
    other = pdgpu.Simulation(scene_of(), pdgpu.VertexBlockDescent(iterations=2), dt=0.01)
    assert other.recoloured([[23, 24], [0, 39]]).positions.shape == (40, 3)


def test_scenes_without_rigid_bodies_copy_nothing():
    """If not, stepping and reading cost more than before."""
    rows = simulated(scene_of(("left", "right")))._core.rows
    array = np.zeros((32, 3))
    assert rows.rows is None and rows.of(array) is array and rows.spread(array) is array and rows.numbers(array) is array
    sim = simulated(scene_of(("left", "right")))
    assert sim._core.public_scene is sim._core.scene
    assert sys.getrefcount(sim.positions) == 1 or sim.positions.base is None
    np.testing.assert_array_equal(sim.device_rows, np.arange(32))
    assert isinstance(rows, PublicRows)


@pytest.mark.parametrize("seed", range(4))
def test_shares_of_mass_have_its_centre(seed):
    """If not, the momentum of a body is another one by its vertices. A half moon: its centre lies outside of it."""
    ring = shapes.box((1.0, 1.0, 1.0))
    points, triangles = np.array(ring.points), np.array(ring.triangles)
    if seed:
        ball = shapes.sphere(1.0, 2)
        points, triangles = np.array(ball.points) * np.random.default_rng(seed).uniform(0.02, 5.0, 3), np.array(ball.triangles)
        points[:, 0] -= 0.9 * points[:, 1] ** 2 / np.abs(points[:, 1]).max()
    centre = pdgpu.Scene().add_rigid(pdgpu.Mesh(points, triangles=triangles), density=3.0).centre
    masses = shares_of_mass(points, triangles, 7.0, centre)
    assert (masses > 0.0).all() and masses.sum() == pytest.approx(7.0, rel=1e-14)
    np.testing.assert_allclose(masses @ points / 7.0, centre, atol=1e-13 * np.abs(points).max())
