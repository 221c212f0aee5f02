"""Saved simulations resume with the same bits."""

import dataclasses
import io
import json
import os
import random
import resource
import tracemalloc
import warnings
import zipfile

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
    with pytest.raises(ValueError, match="'bar' had 1 scripted pins, attachments that move and shape targets of time"):
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
    scene.add_obstacle(pdgpu.shapes.chain(3), growing, name="wire")
    scene.add_obstacle(pdgpu.Points(ball.points[:5]), name="tips")
    sim = pdgpu.Simulation(scene)
    sim.step(3)
    sim.save(tmp_path / "s")
    motions = {"ball": [drifting], "field": [drifting], "mesh": [growing], "wire": [growing]}
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


def rich(dtype="float64"):
    """A small simulation with a piece of everything that a file may hold; its motions."""
    scene = pdgpu.Scene(gravity=(0.0, -1.0, 0.0))
    scene.set_world_box((-9, -9, -9), (9, 9, np.inf), 1e3)
    cloth = scene.add_shell(pdgpu.shapes.grid((1, 1), cells=(3, 2)), [pdgpu.Spring(1e3), pdgpu.StVK(10.0, 10.0)], density=1.0, name="cloth")
    cloth.pin([0], growing)
    cloth.pin([3])
    cloth.slide([2, 5], plane=(0.0, 0.0, 1.0))
    cloth.attach([6], (0.0, 0.0, 0.0), 10.0)
    scene.add_obstacle(pdgpu.Sphere((0, 0, -5), 0.3), drifting, name="ball")
    scene.add_obstacle(pdgpu.Box((1, 2, 3), rotation=np.eye(3)[[1, 2, 0]]))
    solver = pdgpu.VertexBlockDescent(iterations=2, chebyshev=pdgpu.Chebyshev(rho=0.5))
    sim = pdgpu.Simulation(scene, solver, dt=0.01, dtype=dtype, threads=1)
    sim.cut("cloth", [[1, 5]])
    sim.external_forces = np.full(sim.positions.shape, 0.01)
    sim.step(2)
    return sim, {"cloth": [growing], "ball": [drifting]}


def load_or_refuse(path, motions):
    """The simulation, or None where the file was refused as it should be."""
    try:
        return pdgpu.Simulation.load(path, motions=motions, threads=1)
    except ValueError as error:
        assert str(path) in str(error) or str(error).startswith("motions: "), error
        return None


def megabytes():
    """The most memory that this process has used so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_flipped_or_truncated_file_is_refused_or_is_the_same(dtype, tmp_path):
    """If not, a bad disk changes an experiment without a word, or ends the program with an undocumented exception."""
    sim, motions = rich(dtype)
    sim.save(tmp_path / "good")
    good = (tmp_path / "good").read_bytes()
    draw = random.Random(7)
    refused, before = 0, megabytes()
    for k in range(500):
        content = bytearray(good)
        if k % 10 == 0:
            del content[draw.randrange(len(good)) :]
        else:
            for _ in range(draw.choice((1, 1, 1, 2, 8))):
                content[draw.randrange(len(good))] ^= 1 << draw.randrange(8)
        (tmp_path / "bad").write_bytes(content)
        again = load_or_refuse(tmp_path / "bad", motions)
        if again is None:
            refused += 1
        else:
            again.save(tmp_path / "again")
            assert (tmp_path / "again").read_bytes() == good
    assert refused > 290 and megabytes() - before < 200


def nodes(tree, place=()):
    """The places of everything inside a JSON tree."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield (*place, key)
        if isinstance(value, dict | list):
            yield from nodes(value, (*place, key))


WRONG = (
    None,
    True,
    -1,
    0,
    2.5,
    10**30,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "array0",
    "array3",
    "positions",
    "PCG",
    [],
    {},
    [[]],
    {"type": 3},
)


def test_a_header_that_lies_is_refused_by_its_path(tmp_path):
    """If not, an edited file, whose check sums are right, raises an undocumented exception, or crashes the core."""
    sim, motions = rich()
    sim.save(tmp_path / "good")
    good = (tmp_path / "good").read_bytes()
    with np.load(tmp_path / "good") as archive:
        places = list(nodes(json.loads(bytes(archive["header"]))))
    draw, refused, before = random.Random(3), 0, megabytes()
    for k in range(250):

        def change(header, k=k):
            *above, last = places[k * len(places) // 250]  # spread over the tree
            for key in above:
                header = header[key]
            header[last] = draw.choice(WRONG)

        (tmp_path / "bad").write_bytes(good)
        rewritten(tmp_path / "bad", change)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of constants that overflow
            refused += load_or_refuse(tmp_path / "bad", motions) is None
    assert refused > 150 and megabytes() - before < 200


def member(shape, content=b"", dtype="<f8"):
    """An array as a file holds it, whatever it says of itself."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue() + content


@pytest.mark.parametrize(
    ("name", "content", "compression"),
    [
        ("positions.npy", member((10**12, 3)), zipfile.ZIP_STORED),
        ("positions.npy", member((10**30,)), zipfile.ZIP_STORED),
        ("positions.npy", member((-1, -3), b"12345678" * 3), zipfile.ZIP_STORED),
        ("positions.npy", member((10**12,), dtype="|S0"), zipfile.ZIP_STORED),
        ("positions.npy", member((1,), b"cos\nsystem\n(S'exit'\ntR.", dtype="|O"), zipfile.ZIP_STORED),
        ("positions.npy", member((10**9,), bytes(10**7), dtype="|u1"), zipfile.ZIP_DEFLATED),
        ("header.npy", member((10**7,), b"[" * 10**7, dtype="|u1"), zipfile.ZIP_DEFLATED),
        ("header.npy", member((10**5,), b"[" * 10**5, dtype="|u1"), zipfile.ZIP_STORED),
        ("unknown.npy", bytes(10**7), zipfile.ZIP_DEFLATED),
        ("unknown.txt", b"what is this", zipfile.ZIP_STORED),
    ],
)
def test_what_a_file_claims_or_adds_takes_no_memory(name, content, compression, tmp_path):
    """If not, a file of some kilobytes from a stranger takes the machine down, or an unexpected member is read."""
    sim, motions = rich()
    path = tmp_path / "state"
    sim.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    with zipfile.ZipFile(path, "w") as archive:
        for other, array in arrays.items():
            if f"{other}.npy" != name:
                archive.writestr(f"{other}.npy", member(array.shape, array.tobytes(), array.dtype.str))
        archive.writestr(name, content, compression)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="state"):
            pdgpu.Simulation.load(path, motions=motions)
        assert tracemalloc.get_traced_memory()[1] < 2e6
    finally:
        tracemalloc.stop()


def test_a_file_says_how_large_its_members_are_and_is_not_believed(tmp_path):
    """If not, the size in the directory of the archive is allocated before it is read."""
    sim, motions = rich()
    path = tmp_path / "state"
    sim.save(path)
    content = path.read_bytes()
    directory = content.index(b"PK\x01\x02")
    for offset, size in ((20, 2**31), (24, 2**31), (20, 2**32 - 2)):
        for places in ((offset,), (20, 24)):
            changed = bytearray(content)
            for place in places:
                changed[directory + place : directory + place + 4] = size.to_bytes(4, "little")
            path.write_bytes(changed)
            before = megabytes()
            assert load_or_refuse(path, motions) is None
            assert megabytes() - before < 50


def test_what_is_no_file_is_not_waited_for(tmp_path):
    """If not, a path that is a pipe or a folder hangs the program."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(ValueError, match=f"{name} is not a saved simulation"):
            pdgpu.Simulation.load(tmp_path / name)


def test_a_state_of_another_precision_is_refused(tmp_path):
    """If not, a file whose header says float32 of a float64 state resumes with other bits."""
    sim, motions = rich()
    sim.save(tmp_path / "state")
    rewritten(tmp_path / "state", lambda header: header.update(dtype="float32"))
    with pytest.raises(ValueError, match=r"state is damaged \(positions: expected dtype float32, got float64\)"):
        pdgpu.Simulation.load(tmp_path / "state", motions=motions)
