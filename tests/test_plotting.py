"""Pictures show the numbers they are made of."""

import importlib.util
import sys

import inputs
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot
import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu import plotting
from pdgpu.viz import renderer
from pdgpu.viz.camera import HALF_ANGLE, Camera
from pdgpu.viz.depth_buffer import depth_image

rendering = pytest.mark.skipif(importlib.util.find_spec("pyvista") is None, reason="pyvista (the extra viz3d) is not installed")


@pytest.fixture(scope="module")
def comparison():
    points, tets = inputs.kuhn_grid(6, 2, 2, 0.1)
    scene, _ = scenes.bar((points, tets), 1e4)
    solvers = {"direct": scenes.DIRECT, "diverging": pdgpu.ProjectiveDynamics(iterations=600, linear=pdgpu.Jacobi(weight=2.5))}
    return pdgpu.compare(scene, solvers, start=(points * [1.4, 1.0, 1.0], None))


@pytest.mark.parametrize("x", ["iterations", "seconds"])
@pytest.mark.parametrize("y", ["relative_loss", "relative_error", "gradient_norm"])
def test_curves_are_the_records(comparison, x, y):
    """If not, the plot shows something else than the table."""
    axes = comparison.plot(x=x, y=y)
    line = axes.get_lines()[0]
    record = comparison["direct"]
    np.testing.assert_array_equal(line.get_xdata(), record["iteration" if x == "iterations" else "seconds"])
    shown = np.asarray(line.get_ydata())
    np.testing.assert_array_equal(shown[np.isfinite(shown)], record[y][record[y] > 0])
    assert axes.get_yscale() == "log" and [text.get_text() for text in axes.get_legend().get_texts()] == ["direct", "diverging"]
    assert comparison["diverging"].status == "diverged" and axes.get_ylim()[1] <= 1e3 * record[y][0]


def test_unknown_axes_are_refused(comparison):
    """If not, a slip gives an empty plot."""
    with pytest.raises(ValueError, match="y: expected one of"):
        comparison.plot(y="energy")


def scene_of_everything():
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.shapes.beam((1, 1, 1), cells=(1, 1, 1)), pdgpu.ARAP(1.0), density=1.0, name="solid")
    scene.add_shell(pdgpu.shapes.grid((1, 1), (2, 2)), pdgpu.Spring(1.0), density=1.0)
    scene.add_rod(pdgpu.shapes.chain(3), pdgpu.Spring(1.0), density=1.0)
    scene.add_particles([[0.5, 1.5, 0.5]], mass=1.0)
    ball = pdgpu.shapes.sphere(0.5, 2)
    turn = np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1.0]])
    shapes = {
        "plane": pdgpu.Plane((0, -0.2, 0), (0.1, 1, 0)),
        "sphere": pdgpu.Sphere((2, 0, 0), 0.5, motion=lambda time: (turn, (time, 0, 0))),
        "capsule": pdgpu.Capsule((0, 0, 2), (1, 0, 2), 0.3),
        "box": pdgpu.Box((1, 0.5, 0.2), (0, 2, 0), turn),
        "field": pdgpu.SignedDistanceField(np.linalg.norm(np.mgrid[-2:3, -2:3, -2:3], axis=0) - 1, (-2, -2, -2), 1.0, mesh=ball),
        "mesh": pdgpu.TriangleMesh(ball, motion=lambda time, rest: rest + [0, time, 0]),
        "wire": pdgpu.Segments(ball.points[:14], np.arange(14).reshape(7, 2), motion=lambda time, rest: rest + [0, 0, time]),
        "points": pdgpu.Points(ball.points, motion=lambda time, rest: rest + [0, 0, time]),
        "unseen": pdgpu.SignedDistanceField(np.ones((2, 2, 2)), (0, 0, 0), 1.0),
    }
    for name, shape in shapes.items():
        scene.add_obstacle(shape, name=name)
    return scene


@pytest.mark.skipif(not pdgpu._host.HAS_GMP, reason="this build has no GMP: no side of a closed mesh is known")
def test_colliders_are_drawn_where_they_are():
    """If not, the picture shows an obstacle somewhere else than the contacts are."""
    for obstacle in scene_of_everything().obstacles:
        surface = plotting.collider_surface(obstacle.collider, 0.7)
        if obstacle.name == "unseen":
            assert surface is None
            continue
        points, triangles = surface
        if obstacle.name != "field":  # whose mesh and whose grid are two things
            np.testing.assert_allclose(obstacle.collider.distance(points, 0.7), 0, atol=1e-12)
        if obstacle.name == "points":
            assert triangles is None and len(points) == len(obstacle.collider.points)
            continue
        assert triangles.max() < len(points) and len(triangles) >= (7 if obstacle.name == "wire" else 12)


def picture(axes):
    """What is drawn in the figure of axes, (height, width, 3) of 0 to 1; also where matplotlib finds it, from 0 to 1."""
    axes.figure.canvas.draw()
    image = np.asarray(axes.figure.canvas.buffer_rgba())[..., :3] / 255.0
    matplotlib.pyplot.close(axes.figure)
    return image


def drawn(image):
    return image.min(axis=-1) < 0.97


@rendering
@pytest.mark.parametrize("projection", [None, "3d"])
def test_what_is_in_front_hides_what_is_behind(projection):
    """If not, a body is seen through the cloth that covers it, which looks like a penetration."""
    ball = pdgpu.shapes.sphere(0.3, 3)
    sheet = pdgpu.shapes.grid((1.0, 1.0), cells=(1, 1))
    across = np.array([[np.cos(a), 0.0, -np.sin(a)] for a in np.radians([-68.0])])[0]
    wide = np.column_stack([np.full(4, 0.35), 2.0 * sheet.points[:, 1] - 1.0, 2.0 * sheet.points[:, 0] - 1.0])
    frame = np.stack([across, [0.0, 1.0, 0.0], np.cross(across, [0.0, 1.0, 0.0])])
    bounds = ((-1, -1, -1), (1, 1, 1))
    red = {}
    for name, side in (("covered", 1.0), ("in front", -1.0)):
        axes = matplotlib.pyplot.figure(figsize=(3.0, 3.0)).add_axes((0.0, 0.0, 1.0, 1.0), projection=projection)
        plotting.draw_surface(axes, ball.points, ball.triangles, colour="red", bounds=bounds, elevation=0.0)
        plotting.draw_surface(axes, wide * [side, 1.0, 1.0] @ frame, sheet.triangles, colour="blue", bounds=bounds, elevation=0.0)
        image = picture(axes)
        red[name] = (image[..., 0] > image[..., 2] + 0.2).sum()
    assert red["covered"] == 0 and red["in front"] > 2000


@rendering
def test_a_simulation_and_its_contacts():
    """If not, bodies, obstacles or contacts are left out of the picture, or drawn at other places."""
    sim = pdgpu.Simulation(scene_of_everything())
    axes = matplotlib.pyplot.figure(figsize=(4.0, 4.0)).add_axes((0.0, 0.0, 1.0, 1.0))
    names = [body.name for body in sim.bodies] + [obstacle.name for obstacle in sim.obstacles]
    look = dict(bounds=((-1, -1, -1), (3, 3, 3)), elevation=25.0)
    plotting.draw_simulation(axes, sim, colours=dict.fromkeys(names, "#808080"), opacity={"plane": 0.3}, **look)
    shown = next(artist for artist in axes.get_children() if hasattr(artist, "parts"))
    assert len(shown.parts) == 4 + 8  # all but the field without a mesh
    kinds = sorted(0 if part.rows is None else part.rows.shape[1] for part in shown.parts)
    assert kinds == [0, 0, 2, 2, *[3] * 8] and [part.opacity for part in shown.parts].count(0.3) == 1
    near = sim.contacts(0.3, self_collision=False)
    segments = plotting.draw_contacts(axes, near)
    assert len(near) > 0 and segments.get_array().tolist() == near.distance.tolist() and segments in axes.collections
    plotting.draw_contacts(axes, near[:0])
    image = picture(axes)
    assert drawn(image).mean() > 0.05 and (np.ptp(image, axis=2) > 0.3).sum() > 50  # the segments alone have colours
    with pytest.raises(ValueError, match="axes: there is no picture of bodies in them"):
        plotting.draw_contacts(matplotlib.pyplot.figure().add_subplot(), near)
    matplotlib.pyplot.close("all")


@rendering
def test_segments_lie_where_the_renderer_has_the_points():
    """If not, contacts and forces are drawn beside the bodies."""
    point = np.array([0.4, 0.3, 0.2])
    axes = matplotlib.pyplot.figure(figsize=(4.0, 3.0)).add_axes((0.1, 0.2, 0.7, 0.6))
    plotting.draw_points(axes, [point], colour="red", size=10.0)
    plotting.draw_simulation(axes, pdgpu.Simulation(scene_of_everything()), bounds=((-1, -1, -1), (1, 1, 1)), opacity={})
    shown = next(artist for artist in axes.get_children() if hasattr(artist, "parts"))
    shown.parts = shown.parts[:1]
    image = picture(axes)
    rows, columns = np.nonzero((image[..., 0] > 0.5) & (image[..., 1] < 0.3))
    height, width = image.shape[:2]
    box = np.array([0.1, 0.2, 0.7, 0.6]) * [width, height, width, height]
    x, y, _ = Camera(shown.shown(), *shown.view, box[2] / box[3]).seen(point)
    found = columns.mean() + 0.5, height - rows.mean() - 0.5
    np.testing.assert_allclose(found, [box[0] + x * box[2], box[1] + y * box[3]], atol=1.0)


@pytest.mark.parametrize("size", [(4.0, 0.3, 0.3), (0.3, 4.0, 0.3), (0.3, 0.3, 4.0), (1.0, 1.0, 1.0), (2.0, 0.0, 1.0)])
@pytest.mark.parametrize("aspect", [1.2, 5.0, 0.15])
def test_a_body_fills_the_picture_and_stays_within(size, aspect):
    """If not, long bodies are cut off at both ends, or small in the middle of nothing."""
    points = pdgpu.shapes.beam((1.0, 1.0, 1.0), cells=(2, 2, 2)).points * size
    for elevation, azimuth in ((12.0, -68.0), (89.0, 0.0), (-20.0, 130.0)):
        x, y, depth = Camera(points, elevation, azimuth, aspect).seen(points).T
        assert 0.0 <= min(x.min(), y.min()) and max(x.max(), y.max()) <= 1.0 and depth.min() > 0.0
        assert 0.47 < max(np.abs(x - 0.5).max(), np.abs(y - 0.5).max())


@rendering
@pytest.mark.parametrize("opacity", [0.3, 0.7])
def test_what_is_seen_through_has_its_opacity(opacity):
    """If not, a body that is to be seen through is not there at all, or hides what is in it."""
    sheet = pdgpu.shapes.grid((1.0, 1.0), cells=(1, 1))
    camera = Camera(sheet.points, 0.0, -90.0, 1.0)
    behind = renderer.Drawable(sheet.points - [0.5, 0.0, 0.5], sheet.triangles, "blue")
    before = renderer.Drawable(sheet.points, sheet.triangles, "red", opacity)
    image = renderer.rendered([before, behind], camera, 60, 60).astype(float)
    assert image[30, 50, 3] == pytest.approx(255.0 * opacity, abs=3.0)  # nothing behind
    assert image[30, 5, 3] > 250.0
    red, _, blue = image[30, 20, :3]
    assert red / (red + blue) == pytest.approx(opacity, abs=0.05)


@rendering
def test_colours_of_vertices():
    """If not, a picture of stresses shows something else, or those of two bodies on two scales."""
    scene, sheet = pdgpu.Scene(), pdgpu.shapes.grid((1.0, 1.0), cells=(1, 1))
    for name, at in (("one", 0.0), ("two", 2.0)):
        scene.add_shell(pdgpu.Mesh(sheet.points + [at, 0, 0], triangles=sheet.triangles), pdgpu.Spring(1e3), density=0.1, name=name)
    sim = pdgpu.Simulation(scene)
    axes = matplotlib.pyplot.figure(figsize=(6.0, 3.0)).add_axes((0.0, 0.0, 1.0, 1.0))
    plotting.draw_simulation(axes, sim, colours={"one": np.zeros(4), "two": np.ones(4)}, cmap="gray", boundaries=True, azimuth=-90.0)
    shown = next(artist for artist in axes.get_children() if hasattr(artist, "parts"))
    assert [len(part.rows) for part in shown.parts] == [2, 4, 2, 4]  # triangles, open sides
    image = picture(axes)
    left, right = image[130:170, 150], image[130:170, 450]
    assert (left < 0.1).all() and (right > 0.6).all()
    axes = matplotlib.pyplot.figure(figsize=(2.0, 2.0)).add_axes((0.0, 0.0, 1.0, 1.0))
    plotting.draw_surface(axes, sheet.points, sheet.triangles, colour=[[1, 0, 0]] * 4)
    red, green, blue = picture(axes)[100, 100]
    assert red > 0.5 and green == blue == pytest.approx(0.0, abs=0.05)  # specular light is white, and weak
    axes = matplotlib.pyplot.figure().add_subplot()
    with pytest.raises(ValueError, match=r"colour: expected shape \(4\), got \(3,\)"):
        plotting.draw_surface(axes, sheet.points, sheet.triangles, colour=np.zeros(3) + 7.0)
    with pytest.raises(ValueError, match=r"one: value nan at"):
        plotting.draw_simulation(axes, sim, colours={"one": [0, 1, 2, np.nan]})
    matplotlib.pyplot.close("all")


@rendering
def test_a_surface_without_triangles_leaves_an_empty_panel():
    """If not, a study that leaves out the picture of a state out of bounds ends in a traceback after all its work."""
    mesh = pdgpu.shapes.beam((4.0, 1.0, 1.0), cells=(2, 1, 1))
    for triangles, is_drawn in ((mesh.surface, True), ([], False), (np.zeros((0, 3), int), False)):
        axes = matplotlib.pyplot.figure(figsize=(2.0, 2.0)).add_subplot()
        plotting.draw_surface(axes, mesh.points, triangles, bounds=((0.0, -2.0, 0.0), (4.0, 1.0, 1.0)))
        assert drawn(picture(axes)).any() == is_drawn


def test_a_missing_renderer_is_named(monkeypatch, tmp_path):
    """If not, the process ends within VTK, or a film fails after its run."""
    ball = pdgpu.shapes.sphere(0.3, 1)
    sim = pdgpu.Simulation(scene_of_everything(), dt=0.01)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pyvista", None)
        with pytest.raises(RuntimeError, match="pictures of bodies need pyvista, and it is not installed: pip install pyvista"):
            plotting.draw_surface(matplotlib.pyplot.figure().add_subplot(), ball.points, ball.triangles)
        with pytest.raises(RuntimeError, match="pip install pyvista"):
            plotting.animate(sim, tmp_path / "film.gif", 0.1)
    assert sim.time == 0.0 and not list(tmp_path.iterdir())
    pytest.importorskip("pyvista")
    monkeypatch.setattr(renderer, "LIBRARIES", (("libnosuch.so.1", "vtkEGLRenderWindow"),))
    if sys.platform.startswith("linux"):
        with pytest.raises(RuntimeError, match=r"OpenGL without a display .*apt-get install libegl1 libgl1-mesa-dri"):
            plotting.draw_surface(matplotlib.pyplot.figure().add_subplot(), ball.points, ball.triangles)
    matplotlib.pyplot.close("all")


def test_a_depth_buffer_draws_the_nearest_triangle():
    """If not, the picture of the command line shows what is hidden; expected depths are those of a sphere cut by a ray."""
    ball = pdgpu.shapes.sphere(1.0, 5)
    camera = Camera(ball.points, 0.0, -90.0, 1.0)
    image = depth_image(ball.points, ball.triangles, "white", camera, 120)
    share = np.pi * (1.0 / (camera.distance * np.sqrt(1.0 - 1.0 / camera.distance**2)) / (2.0 * HALF_ANGLE)) ** 2  # a cone's circle
    assert image[..., 3].mean() == pytest.approx(share, rel=0.01)
    behind = pdgpu.Mesh(ball.points * 0.9 - 3.0 * camera.towards, triangles=ball.triangles)
    points = np.concatenate([behind.points, ball.points])
    triangles = np.concatenate([behind.triangles, ball.triangles + len(behind.points)])
    np.testing.assert_array_equal(depth_image(points, triangles, "white", camera, 120)[40:80, 40:80], image[40:80, 40:80])
    swapped = np.concatenate([ball.triangles + len(behind.points), behind.triangles])
    np.testing.assert_allclose(depth_image(points, swapped, "white", camera, 120), depth_image(points, triangles, "white", camera, 120))


@rendering
def test_both_renderers_draw_the_same_outline():
    """If not, one of the two has another camera than `Camera`, and contacts are drawn beside bodies."""
    mesh = pdgpu.shapes.beam((1.0, 0.4, 0.3), cells=(4, 2, 2))
    camera = Camera(mesh.points, 20.0, -50.0, 1.0)
    ours = depth_image(mesh.points, mesh.surface, "red", camera, 200)[..., 3] > 0.5
    theirs = renderer.rendered([renderer.Drawable(mesh.points, mesh.surface, "red")], camera, 200, 200)[..., 3] > 127
    assert ours.mean() > 0.2 and (ours != theirs).sum() < 0.03 * ours.sum()
    assert (np.abs(np.diff(np.nonzero(ours.any(axis=0))[0][[0, -1]]) - np.diff(np.nonzero(theirs.any(axis=0))[0][[0, -1]])) <= 2).all()


@pytest.mark.parametrize(
    ("points", "triangles", "message"),
    [
        ([[0, 0, 0], [1, 0, 0], [0, np.nan, 0]], [[0, 1, 2]], r"points: value nan at \(2, 1\)"),
        (np.eye(3), [[0, 1, 3]], "triangles: .*3"),
        (np.eye(3), [[0, 1, -1]], "triangles: .*-1"),
        (np.eye(3), [[0.0, 1.0, 2.0]], "triangles: expected integer indices, got dtype float64"),
    ],
)
def test_surfaces_that_cannot_be_drawn_are_refused(points, triangles, message):
    """If not, another surface than the one given is drawn, or the traceback speaks of the insides of matplotlib."""
    with pytest.raises((TypeError, ValueError), match=message):
        plotting.draw_surface(matplotlib.pyplot.figure().add_subplot(), points, triangles)
