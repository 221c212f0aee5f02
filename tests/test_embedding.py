"""Points and surfaces that the tets of a solid carry along."""

import copy
import itertools
import json
import pickle

import numpy as np
import pytest
import scenes

import pdgpu

MESH = pdgpu.shapes.beam((0.4, 0.2, 0.2), cells=(4, 2, 2))
SKIN = pdgpu.shapes.sphere(0.08, 2)
MIDDLE = np.array([0.2, 0.1, 0.1])


def skin():
    return pdgpu.Mesh(SKIN.points + MIDDLE, triangles=SKIN.triangles)


def scene_with(*, surface=None, **options):
    """(scene, bar, embedding): a bar held at one end that hangs, with a sphere of 162 points within."""
    scene = pdgpu.Scene()
    bar = scene.add_solid(MESH, pdgpu.ARAP(1e4), density=1000.0, name="bar")
    bar.pin(lambda points: points[:, 0] < 1e-9)
    return scene, bar, bar.embed(skin() if surface is None else surface, name="skin", **options)


def outside_points():
    """Points around the bar, of every kind: beside a face, an edge and a corner."""
    return np.array(
        [
            [x, y, z]
            for x, y, z in itertools.product((-0.3, 0.17, 0.55), (-0.1, 0.07, 0.4), (-0.2, 0.11, 0.3))
            if (x, y, z) != (0.17, 0.07, 0.11)
        ]
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_affine_motion_carries_every_point(dtype):
    """If not, a fine surface comes away from the body it is in when that only turns and stretches."""
    scene, _bar, part = scene_with()
    sim = pdgpu.Simulation(scene, scenes.DIRECT, dtype=dtype)
    F, c = np.random.default_rng(3).normal(size=(3, 3)), np.array([1.0, -2.0, 0.5])
    sim.set_state(positions=MESH.points @ F.T + c)
    assert sim.embedded("skin").dtype == np.dtype(dtype)
    np.testing.assert_allclose(sim.embedded("skin"), part.points @ F.T + c, rtol=0, atol=20 * np.finfo(dtype).eps)
    np.testing.assert_allclose(part.matrix @ MESH.points, part.points, rtol=0, atol=1e-15)
    assert (part.weights >= -1e-9).all() and (part.vertices == MESH.tets[part.tets]).all()
    np.testing.assert_allclose(part.weights.sum(axis=1), 1.0, rtol=0, atol=1e-15)


def test_a_vertex_and_a_point_of_a_face_are_in_a_tet():
    """If not, the surface of the tets themselves cannot be embedded, for rounding."""
    rng = np.random.default_rng(0)
    corners = MESH.points[MESH.surface]
    shares = rng.dirichlet((1.0, 1.0, 1.0), size=len(corners))
    _scene, _bar, part = scene_with(surface=np.concatenate([MESH.points, np.einsum("kj,kjc->kc", shares, corners)]))
    np.testing.assert_allclose(part.matrix @ MESH.points, part.points, rtol=0, atol=1e-15)
    assert part.matrix.shape == (len(MESH.points) + len(corners), len(MESH.points)) and not len(part.triangles)


def test_graded_tets_are_searched_to_the_end():
    """If not, a point in a large tet beside many small ones counts as outside of all."""
    fine = pdgpu.shapes.beam((0.1, 0.1, 0.1), cells=(10, 10, 10))
    coarse = np.array([[0.0, 0.0, 0.0], [5.0, 0.0, 0.0], [0.0, -5.0, 0.0], [0.0, 0.0, 5.0]]) + [0.2, -0.01, 0.0]
    points = np.concatenate([fine.points, coarse])
    tet = np.array([[0, 2, 1, 3]]) + len(fine.points)
    mesh = pdgpu.Mesh(points, tets=np.concatenate([fine.tets, tet]))
    scene = pdgpu.Scene()
    body = scene.add_solid(mesh, pdgpu.ARAP(1e4), density=1000.0)
    part = body.embed([[0.21, -0.02, 0.01], [0.05, 0.05, 0.051]])
    assert part.tets[0] == len(mesh.tets) - 1 and part.tets[1] < len(fine.tets)


def test_outside_is_refused_by_number_and_place():
    """If not, a surface that sticks out of its tets is computed with, and swings."""
    points = np.concatenate([[MIDDLE], [[0.1, 0.5, 0.25]], [MIDDLE], [[-1.0, 0.0, 0.0]]])
    with pytest.raises(ValueError, match=r"2 of 4 lie outside every tet of 'bar': 1 at \(0\.1, 0\.5, 0\.25\), 3 at \(-1, 0, 0\); extrap"):
        scene_with(surface=points)


def test_outside_the_nearest_tet_carries_on():
    """If not, a point beyond the surface hangs on a tet far away, and goes the way of that."""
    points = outside_points()
    _scene, _bar, part = scene_with(surface=points, extrapolate=True)
    assert (part.weights.min(axis=1) < 0.0).all()
    np.testing.assert_allclose(part.matrix @ MESH.points, points, rtol=0, atol=1e-14)
    triangles = MESH.points[MESH.surface]
    for point, tet in zip(points, part.tets, strict=True):
        found = pdgpu.geometry.vertex_triangle(np.concatenate([np.tile(point, (len(triangles), 1, 1)), triangles], axis=1)).distance
        nearest = found <= found.min() + 1e-12
        assert any(set(row) <= set(MESH.tets[tet]) for row in MESH.surface[nearest])


def test_forces_on_the_points_do_the_same_work_on_the_vertices():
    """If not, what pushes a fine surface pushes the body otherwise: W^T is not the derivative of W."""
    scene, _bar, part = scene_with()
    other = scene.add_solid(MESH, pdgpu.ARAP(1e4), density=1000.0)
    behind = other.embed([MIDDLE], name="behind")
    sim = pdgpu.Simulation(scene, scenes.DIRECT)
    rng = np.random.default_rng(5)
    for name, k in (("skin", len(part.points)), ("behind", 1)):
        W, forces, moves = sim.embedding_matrix(name), rng.normal(size=(k, 3)), 1e-3 * rng.normal(size=(scene.n_vertices, 3))
        before = sim.embedded(name)
        x = sim.positions
        sim.set_state(positions=x + moves)
        work = np.vdot(forces, sim.embedded(name) - before)
        sim.set_state(positions=x)
        assert work == pytest.approx(np.vdot(W.T @ forces, moves), rel=1e-9)
    assert sim.embeddings == (part, behind)


def test_files_copies_and_pickles_keep_it(tmp_path):
    """If not, a long run that is taken up again has lost its surface."""
    scene, bar, _part = scene_with(extrapolate=True, surface=np.concatenate([outside_points(), [MIDDLE]]))
    bar.embed(skin(), name="shown", collides=True)
    sim = pdgpu.Simulation(scene, scenes.DIRECT)
    sim.step(3)
    sim.save(tmp_path / "run")
    with np.load(tmp_path / "run", allow_pickle=False) as archive:
        assert json.loads(bytes(archive["header"]))["version"] == 5
    for other in (pdgpu.Simulation.load(tmp_path / "run"), copy.copy(sim), pickle.loads(pickle.dumps(sim))):
        for name in ("skin", "shown"):
            assert other.embedded(name).tobytes() == sim.embedded(name).tobytes()
        shown = other.embeddings[1]
        assert shown.collides and shown.triangles.tobytes() == skin().triangles.tobytes()
        other.step()
    duplicate = scene.copy()
    duplicate["bar"].embed([MIDDLE])
    assert [len(one["bar"].embeddings) for one in (scene, duplicate)] == [2, 3]


def test_a_cut_beside_it_leaves_it_where_it_is():
    """If not, what is embedded follows other vertices once a sheet before it is torn."""
    scene = pdgpu.Scene()
    sheet = scene.add_shell(pdgpu.shapes.grid((1.0, 1.0), cells=(4, 4)), pdgpu.ARAP(100.0), density=0.1, name="sheet")
    bar = scene.add_solid(MESH, pdgpu.ARAP(1e4), density=1000.0)
    part = bar.embed(skin(), name="skin")
    sim = pdgpu.Simulation(scene, scenes.DIRECT)
    sim.step(2)
    before = sim.embedded("skin")
    inner = sheet.mesh.hinges[:, :2]
    middle = inner[np.isclose(sheet.points[inner][:, :, 0], 0.5).all(axis=1) | np.isclose(sheet.points[inner][:, :, 0], 0.0).all(axis=1)]
    assert len(sim.cut("sheet", middle).new_vertices)
    assert sim.embedded("skin").tobytes() == before.tobytes()
    assert sim.embedding_matrix(part).shape[1] == len(sim.positions)


def test_the_verifier_looks_at_what_collides():
    """If not, a fine surface may be in an obstacle and the verdict is that of the coarse one, or the other way round."""
    ball = pdgpu.Sphere((0.2, 0.1, -0.03), 0.04)  # in the bar, 0.01 m below the skin
    verdicts = {}
    for collides in (False, True):
        scene, _bar, part = scene_with(collides=collides)
        scene.add_obstacle(ball, name="ball")
        x = MESH.points
        verdicts[collides] = [
            bool(pdgpu.certify([x], scene)),
            bool(pdgpu.certify([x + [0.0, 0.0, 0.06], x + [0.0, 0.0, -0.12]], scene)),
        ]
    assert verdicts == {False: [False, False], True: [True, False]}
    numbers = pdgpu.certify([x + [0.0, 0.0, 0.2]], scene, separation=0.1)
    assert not numbers and all(pair.first == "ball" or isinstance(pair.first, int) for pair in numbers.intersections[0].close_pairs)
    surface = pdgpu.surface.SceneSurface(scene)
    assert len(surface.rest) == len(MESH.points) + len(part.points) and surface.triangles.min() == len(MESH.points)


def test_it_is_written_and_drawn(tmp_path, monkeypatch):
    """If not, what a picture shows is the coarse mesh, or nothing."""
    import meshio
    from matplotlib.figure import Figure

    from pdgpu.viz import body_plotting
    from pdgpu.viz.viewers import _shapes

    scene, bar, part = scene_with()
    bar.embed([MIDDLE], name="marker")
    sim = pdgpu.Simulation(scene, scenes.DIRECT)
    sim.step(4)
    sim.write(tmp_path / "state.vtu")
    read, n = meshio.read(tmp_path / "state.vtu"), len(MESH.points)
    k = len(part.points)
    np.testing.assert_allclose(read.points[n : n + k], sim.embedded("skin"), rtol=0, atol=1e-15)
    np.testing.assert_allclose(read.point_data["velocity"][n : n + k], part.matrix @ sim.velocities, rtol=0, atol=1e-15)
    np.testing.assert_allclose(read.point_data["displacement"][-1], sim.embedded("marker")[0] - MIDDLE, rtol=0, atol=1e-15)
    assert [(block.type, len(block.data)) for block in read.cells] == [
        ("tetra", len(MESH.tets)),
        ("triangle", len(part.triangles)),
        ("vertex", 1),
    ]
    assert read.point_data["mass"].sum() == pytest.approx(sim.masses.sum()) and read.cells[1].data.min() == n
    shapes = _shapes(sim)
    assert set(shapes) == {"skin", "marker"} and shapes["marker"][0] == "points" and shapes["skin"][1].shape == (k, 3)
    for options, sizes in (({"colours": {"skin": np.linspace(0.0, 1.0, k)}}, [k]), ({"opacity": {"bar": 0.2}}, [k, n])):
        drawn = []
        monkeypatch.setattr(body_plotting, "draw_parts", lambda axes, parts, *_, drawn=drawn: drawn.extend(parts))
        body_plotting.draw_simulation(Figure().add_subplot(), sim, **options)
        assert sorted(len(part.points) for part in drawn) == sorted([1, *sizes])  # the marker
        assert [part.rows is None for part in drawn].count(True) == 1


@pytest.mark.parametrize(
    ("given", "options", "error", "text"),
    [
        (np.zeros((0, 3)), {}, ValueError, "points: expected one or more, got none"),
        ([[0.1, 0.1, np.nan]], {}, ValueError, r"points: value nan at \(0, 2\) is not finite"),
        ([[0.1, 0.1]], {}, ValueError, "points: expected shape"),
        ("skin", {}, TypeError, "points: expected points"),
        ([MIDDLE], {"name": 3}, TypeError, "name: expected a string, got 3"),
        ([MIDDLE], {"name": "there"}, ValueError, "name: 'there' is embedded in 'bar' already"),
        ([MIDDLE], {"extrapolate": 1}, TypeError, "extrapolate: expected True or False, got 1"),
        ([MIDDLE], {"collides": True}, ValueError, "collides: points without triangles"),
    ],
)
def test_nonsense_is_refused(given, options, error, text):
    """If not, what is wrong shows as something else, later."""
    scene = pdgpu.Scene()
    bar = scene.add_solid(MESH, pdgpu.ARAP(1e4), density=1000.0, name="bar")
    bar.embed([MIDDLE], name="there")
    with pytest.raises(error, match=text):
        bar.embed(given, **options)


def test_bodies_and_simulations_that_do_not_take_it():
    """If not, what is embedded where nothing carries it, or once a simulation has its copy, is lost without a word."""
    scene, _bar, part = scene_with(collides=True)
    sheet = scene.add_shell(pdgpu.shapes.grid((1.0, 1.0), cells=(2, 2)), pdgpu.ARAP(100.0), density=0.1, name="sheet")
    with pytest.raises(TypeError, match="embed: expected a solid, and 'sheet' is a shell"):
        sheet.embed([MIDDLE])
    with pytest.raises(RuntimeError, match="embed: this is a read-only copy"):
        pdgpu.Simulation(scene, scenes.DIRECT).bodies[0].embed([MIDDLE])
    second = scene.add_solid(MESH, pdgpu.ARAP(1e4), density=1000.0, name="second")
    twin = second.embed([MIDDLE], name="skin")
    sim = pdgpu.Simulation(scene, scenes.DIRECT)
    with pytest.raises(ValueError, match=r"name: 'skin' is embedded in \['bar', 'second'\]; give the Embedding"):
        sim.embedded("skin")
    assert sim.embedded(twin).shape == (1, 3) and sim.embedded(part).shape == (len(part.points), 3)
    with pytest.raises(ValueError, match="name: no embedding is named 'none'"):
        sim.embedded("none")
    with pytest.raises(TypeError, match="name: expected an embedding"):
        sim.embedded(3)
