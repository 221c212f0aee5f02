"""Pictures show the numbers they are made of."""

import inputs
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot
import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu import plotting


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
        assert triangles.max() < len(points) and len(triangles) >= 12


def test_a_simulation_and_its_contacts():
    """If not, bodies, obstacles or contacts are left out of the picture, or drawn at other places."""
    sim = pdgpu.Simulation(scene_of_everything())
    axes = matplotlib.pyplot.figure().add_subplot(projection="3d")
    plotting.draw_simulation(axes, sim, colours={"solid": "red"}, opacity={"plane": 0.3}, bounds=((-1, -1, -1), (3, 3, 3)))
    assert sorted(type(artist).__name__ for artist in axes.collections) == ["Line3DCollection", "Path3DCollection", "Poly3DCollection"]
    near = sim.contacts(0.3, self_collision=False)
    segments = plotting.draw_contacts(axes, near)
    assert len(near) > 0 and segments.get_array().tolist() == near.distance.tolist() and segments in axes.collections
    assert len(axes.collections) == 4
    plotting.draw_contacts(axes, near[:0])
    matplotlib.pyplot.gcf().canvas.draw()


def fills(axes):
    """Whether what is drawn reaches the sides of the axes, and that it does not leave them: shares of width and height."""
    from mpl_toolkits.mplot3d import proj3d

    axes.figure.canvas.draw()
    corners = np.array([[x, y, z] for x in axes.get_xlim() for y in axes.get_ylim() for z in axes.get_zlim()])
    x, y, _ = proj3d.proj_transform(*corners.T, axes.get_proj())
    seen = axes.transData.transform(np.column_stack([x, y])) / axes.figure.bbox.size
    place = axes.get_position(original=True)
    assert (seen >= [place.x0, place.y0]).all() and (seen <= [place.x1, place.y1]).all()
    return np.ptp(seen, axis=0) / [place.width, place.height]


@pytest.mark.parametrize("size", [(4.0, 0.3, 0.3), (0.3, 4.0, 0.3), (0.3, 0.3, 4.0), (1.0, 1.0, 1.0), (2.0, 0.0, 1.0)])
@pytest.mark.parametrize("place", [(0.0, 0.0, 1.0, 1.0), (0.1, 0.1, 0.8, 0.2), (0.2, 0.05, 0.1, 0.9)])
def test_a_body_fills_the_axes_and_stays_within(size, place):
    """If not, long bodies are cut off at both ends, or small in the middle of nothing."""
    points = pdgpu.shapes.beam((1.0, 1.0, 1.0), cells=(2, 2, 2))
    axes = matplotlib.pyplot.figure(figsize=(6.0, 5.0)).add_axes(place, projection="3d")
    plotting.draw_surface(axes, points.points * size, points.surface)
    assert 0.7 < fills(axes).max() <= 1.0
    matplotlib.pyplot.close(axes.figure)


def test_colours_of_vertices():
    """If not, a picture of stresses shows something else, or those of two bodies on two scales."""
    scene, sheet = pdgpu.Scene(), pdgpu.shapes.grid((1.0, 1.0), cells=(1, 1))
    for name in ("one", "two"):
        scene.add_shell(sheet, pdgpu.Spring(1e3), density=0.1, name=name)
    sim = pdgpu.Simulation(scene)
    axes = matplotlib.pyplot.figure().add_subplot(projection="3d")
    plotting.draw_simulation(axes, sim, colours={"one": np.zeros(4), "two": np.ones(4)}, cmap="gray", boundaries=True)
    faces = next(artist for artist in axes.collections if type(artist).__name__ == "Poly3DCollection").get_facecolor()
    np.testing.assert_allclose(np.sort(faces[:, :3].max(axis=1) > 0.2), [False, False, True, True])
    axes.figure.canvas.draw()
    assert sum(len(artist.get_segments()) for artist in axes.collections if type(artist).__name__ == "Line3DCollection") == 8
    plotting.draw_surface(axes, sheet.points, sheet.triangles, colour=[[1, 0, 0]] * 4)
    assert (axes.collections[-1].get_facecolor()[:, 1:3] == 0).all()
    with pytest.raises(ValueError, match=r"colour: expected shape \(4\), got \(3,\)"):
        plotting.draw_surface(axes, sheet.points, sheet.triangles, colour=np.zeros(3) + 7.0)
    with pytest.raises(ValueError, match=r"one: value nan at"):
        plotting.draw_simulation(axes, sim, colours={"one": [0, 1, 2, np.nan]})
    matplotlib.pyplot.close(axes.figure)


def test_a_surface_without_triangles_leaves_an_empty_panel_of_the_same_scale():
    """If not, a study that leaves out the picture of a state out of bounds ends in a traceback after all its work."""
    mesh = pdgpu.shapes.beam((4.0, 1.0, 1.0), cells=(2, 1, 1))
    bounds = ((0.0, -2.0, 0.0), (4.0, 1.0, 1.0))
    for triangles, n_drawn in ((mesh.surface, 1), ([], 0), (np.zeros((0, 3), int), 0)):
        axes = matplotlib.pyplot.figure().add_subplot(projection="3d")
        plotting.draw_surface(axes, mesh.points, triangles, bounds=bounds)
        assert len(axes.collections) == n_drawn
        np.testing.assert_allclose([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()], [(0, 4), (-1, 0), (-2, 1)])
        axes.figure.canvas.draw()
        matplotlib.pyplot.close(axes.figure)


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
        plotting.draw_surface(matplotlib.pyplot.figure().add_subplot(projection="3d"), points, triangles)
