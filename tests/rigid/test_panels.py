"""Panels, the convex parts of plane faces: which they are, that a vertex has one term with each, and what statics gain."""

import warnings

import numpy as np
import pytest
from flat_surfaces import BOX, faces_of
from rigid_scenes import along, box, push, simulated, turn

import pdgpu
from pdgpu import geometry, shapes

DISTANCE, STIFFNESS = 0.02, 1e3


def level(points, triangles):
    """A mesh of a surface in the plane z = 0 as one in y = 0 that looks upwards."""
    points = np.asarray(points, float)
    return pdgpu.Mesh(np.column_stack([points[:, 0], np.zeros(len(points)), -points[:, 1]]), triangles=triangles)


def fan(corners):
    """A convex polygon of triangles about its first corner."""
    return level(np.column_stack([corners, np.zeros(len(corners))]), [[0, i, i + 1] for i in range(1, len(corners) - 1)])


def without(grid, cells):
    """A grid without the triangles in the cells of which this is true, by their middles."""
    middles = np.asarray(grid.points)[grid.triangles].mean(axis=1)
    return pdgpu.Mesh(grid.points, triangles=grid.triangles[~cells(middles[:, 0], middles[:, 1])])


HEPTAGON = fan(np.stack([np.cos([0.1, 0.9, 2.1, 3.0, 4.2, 4.6, 5.9]), np.sin([0.1, 0.9, 2.1, 3.0, 4.2, 4.6, 5.9])], axis=1))


def test_panels_are_convex_and_cover_the_face():
    """If one were not, the potential would have a kink where its nearest point jumps."""
    panels = faces_of(BOX.points, BOX.triangles)[0].panels
    assert np.bincount(panels).tolist() == [2] * 6
    for mesh, at_most in ((shapes.grid((2.0, 1.0), (5, 3)), 1), (HEPTAGON, 1)):
        assert set(faces_of(mesh.points, mesh.triangles)[0].panels) == {0} and at_most == 1
    grid = shapes.grid((6.0, 6.0), (6, 6))
    holed = without(grid, lambda x, y: (abs(x - 3.0) < 1.0) & (abs(y - 3.0) < 1.0))
    corner = without(grid, lambda x, y: (x > 4.0) & (y > 3.0))
    for mesh, at_most in ((holed, 16), (corner, 8)):
        panels = faces_of(mesh.points, mesh.triangles)[0].panels
        points, triangles = np.asarray(mesh.points), np.asarray(mesh.triangles)
        assert len(set(panels)) <= at_most
        for panel in set(panels) - {-1}:
            mine = triangles[panels == panel]
            sides = points[mine[:, [1, 2]]] - points[mine[:, [0]]]
            # the corners of one triangle see all points of the panel: no segment between two of them leaves it
            chance = np.random.default_rng(0)
            a, b = (np.einsum("tkc,tk->tc", points[mine], chance.dirichlet(np.ones(3), len(mine))) for _ in range(2))
            middle = 0.5 * (a[:, None] + b[None]).reshape(-1, 3)
            inside = np.zeros(len(middle), bool)
            for start, (first, second) in zip(points[mine[:, 0]], sides, strict=True):
                u, v = np.linalg.lstsq(np.stack([first, second], axis=1), (middle - start).T, rcond=None)[0]
                inside |= (u > -1e-9) & (v > -1e-9) & (u + v < 1.0 + 1e-9)
            assert inside.all()
    arrow = level([[0, 0, 0], [2, 0, 0], [0.5, 0.5, 0], [0, 2, 0]], [[0, 1, 2], [0, 2, 3]])
    assert (faces_of(arrow.points, arrow.triangles)[0].panels == -1).all()
    assert (faces_of(BOX.points, BOX.triangles, rigid=False)[0].panels == -1).all()


START = np.array([0.0, 4.0, 0.0])


def grain_over(obstacle, dtype="float64", motion=None):
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_particles([START], mass=1.0)
    scene.add_obstacle(obstacle, motion)
    contact = pdgpu.BarrierContact(DISTANCE, stiffness=STIFFNESS, area_weighted=False)
    return pdgpu.Simulation(scene, pdgpu.Newton(), dt=100.0, contact=contact, dtype=dtype)


def potential_along(sim, path):
    """The contact potential and its gradient at points of a path: G without the inertia."""
    away = (path - START) / 100.0**2
    value = np.array([sim.incremental_potential(x[None]) for x in path]) - 0.5 * (away * (path - START)).sum(axis=1)
    return value, np.array([sim.gradient(x[None])[0] for x in path]) - away


PATHS = {
    "along the middle": ([-0.6, 0.01, -0.6], [0.6, 0.01, 0.6]),
    "over the first corner": ([0.96, 0.012, -0.3], [1.0, 0.004, 0.05]),
    "over a corner": ([0.68, 0.012, -0.6], [0.56, 0.005, -0.95]),
    "beyond a corner": ([0.60, 0.005, -0.80], [0.64, 0.005, -0.78]),
    "along the border": ([1.0, 0.01, -0.1], [0.6, 0.01, -0.8]),
}


@pytest.mark.parametrize("path", PATHS)
def test_a_vertex_has_one_term_with_a_panel(path):
    """That of its distance to the polygon, with a continuous gradient: two triangles would bear a vertex over their edge twice."""
    sim = grain_over(HEPTAGON)
    start, end = np.array(PATHS[path])
    x = start + np.linspace(0.0, 1.0, 1501)[:, None] * (end - start)
    corners = np.asarray(HEPTAGON.points)[HEPTAGON.triangles]
    rows = np.concatenate([np.repeat(x[:, None], len(corners), axis=1)[:, :, None], np.broadcast_to(corners, (len(x), *corners.shape))], 2)
    distance = geometry.vertex_triangle(rows.reshape(-1, 4, 3)).distance.reshape(len(x), -1).min(axis=1)
    value, slope = potential_along(sim, x)
    order = np.argsort(distance)
    # one function of the distance: that over a single triangle
    alone = grain_over(level([[-9, -9, 0], [9, -9, 0], [0, 9, 0]], [[0, 1, 2]]))
    heights = np.column_stack([0.0 * distance, distance, 0.0 * distance])[order]
    expected, slope_of = potential_along(alone, heights)
    scale = max(expected.max(), 1e-9)
    np.testing.assert_allclose(value[order], expected, atol=1e-9 * scale)
    np.testing.assert_allclose(np.linalg.norm(slope[order], axis=1), np.abs(slope_of[:, 1]), atol=1e-7 * np.abs(slope_of).max() + 1e-12)
    assert expected.max() > 0.0
    # without a jump: the change of a step is of the order of the step
    step = np.linalg.norm(np.diff(slope, axis=0), axis=1)
    assert step.max() < 20.0 * np.abs(slope).max() * np.linalg.norm(end - start) / 1500 / min(distance.min(), DISTANCE)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_on_the_flat_edge_itself_one_triangle_has_the_term(dtype):
    """Also where rounding puts the point beside both triangles, or over both."""
    cube = pdgpu.Box(size=(1.0, 1.0, 1.0), centre=(0.0, -0.5, 0.0), rotation=np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0])
    sim = grain_over(cube, dtype)
    R, centre = np.array(cube.rotation), np.array(cube.centre)
    found = []
    for t in np.linspace(-0.45, 0.45, 19):
        for side in (1.0, -1.0):
            for off in (0.0, 1e-16, -1e-16, 1e-9, -1e-9):
                x = centre + R @ [t, 0.51, side * t + off]
                found.append(x)
    found = potential_along(sim, np.array(found))[0]
    expected = potential_along(sim, (centre + R @ [0.4, 0.51, 0.1])[None])[0]
    assert expected > 0.0
    np.testing.assert_allclose(found, expected[0], rtol=1e-9 if dtype == "float64" else 2e-3)


def test_edges_between_faces_are_unchanged():
    """A vertex beside the edge of a box has the pairs that it has with a mesh whose shape may change."""
    mesh = pdgpu.Mesh(np.asarray(BOX.points), triangles=BOX.triangles)
    sims = grain_over(mesh), grain_over(mesh, motion=lambda _time, points: points)
    rng = np.random.default_rng(4)
    for _ in range(50):
        x = np.array([1.0, 2.0, 0.3 + 0.2 * rng.random()]) + DISTANCE * rng.uniform(0.1, 0.6, 3) * [1.0, 1.0, 0.0]
        one, other = (sim.incremental_potential(x[None]) for sim in sims)
        assert one == pytest.approx(other, rel=1e-12)


def on_legs(floor, at, **options):
    """A plate on four legs, and the shares of their weight that the legs bear."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_obstacle(floor, name="floor")
    places = [(x + at[0], 0.202, z + at[1]) for x in (0.05, 0.95) for z in (0.05, 0.95)]
    legs = [scene.add_rigid(box((0.1, 0.4, 0.1), place), density=700.0) for place in places]
    plate = scene.add_rigid(box((1.0, 0.05, 1.0), (0.5 + at[0], 0.429, 0.5 + at[1])), density=700.0, name="plate")
    sim = simulated(scene, 0.01, distance=2e-3, tolerance=1e-9, **options)
    sim.step(60)
    weight, forces = 9.81 * sum(body.mass for body in (*legs, plate)), sim.contact_forces()
    return [along(forces.of(leg.name, "floor"), 1) / weight for leg in legs]


GRID = shapes.grid((2.0, 2.0), (7, 7))
FLOORS = {
    "box": pdgpu.Box(size=(2.0, 0.2, 2.0), centre=(0.5, -0.1, 0.5)),
    "mesh": pdgpu.Mesh(np.column_stack([GRID.points[:, 0] - 0.5, np.zeros(64), 1.5 - GRID.points[:, 1]]), triangles=GRID.triangles),
}


@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("at", [(0.0, 0.0), (0.03, 0.0)])
def test_legs_on_a_static_floor_bear_a_quarter_each(floor, at):
    """On its diagonal, and beside it; 0.36 and 0.14 with the pairs of the diagonal, 0.29 and 0.21 with both triangles of a corner."""
    np.testing.assert_allclose(on_legs(FLOORS[floor], at, stiffness="auto", friction=0.3), 0.25, atol=1e-3)


def test_a_box_tips_on_a_box_as_on_a_plane():
    """A floor of two triangles is as stiff as a plane: with a quarter of the weights the box turned by 0.333 and not by 0.293 rad."""
    turns = []
    for floor in (pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), pdgpu.Box(size=(4.0, 0.2, 4.0), centre=(0.0, -0.1, 0.0))):
        angle = 1.1 * np.arctan(0.5)
        scene = pdgpu.Scene(gravity=(0.0, -9.81 * np.cos(angle), 0.0))
        scene.add_obstacle(floor)
        body = scene.add_rigid(box((0.1, 0.2, 0.1), (0.0, 0.101, 0.0)), density=1000.0)
        sim = simulated(scene, 2e-3, friction=1.0, stiffness="auto")
        sim.step(100)
        push(sim, {body: (9.81 * body.mass * np.sin(angle), 0.0, 0.0)})
        sim.step(150)
        turns.append(turn(sim.rigid.rotations[0]))
    assert turns[1] == pytest.approx(turns[0], rel=2e-3) and turns[0] < -0.2


def test_a_box_slides_over_flat_edges_without_a_push():
    """Neither its height nor its velocity changes over the diagonals of a floor of triangles, without friction."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_obstacle(FLOORS["mesh"], name="floor")
    body = scene.add_rigid(box((0.1, 0.1, 0.1), (0.0, 0.0505, 0.313)), density=1000.0)
    sim = simulated(scene, 5e-3, tolerance=1e-10, stiffness=1e5)
    sim.step(80)  # it comes to rest in height
    sim.set_state(velocities=np.tile([1.0, 0.0, 0.43], (len(sim.positions), 1)))
    momentum = sim.momentum().linear
    heights = []
    for _ in range(100):
        sim.step()
        heights.append(sim.rigid.centres[0, 1])
    np.testing.assert_allclose(sim.momentum().linear[[0, 2]], momentum[[0, 2]], rtol=1e-9)
    assert np.ptp(heights) < 1e-8
    assert sim.rigid.centres[0, 0] > 0.49
    assert body.mass == pytest.approx(1.0)


@pytest.mark.parametrize("solver", [pdgpu.VertexBlockDescent, pdgpu.BlockJacobi], ids=["vbd", "block jacobi"])
def test_sweeps_converge_to_the_answer_of_newton(solver):
    """A cloth that slides over the diagonals of a box: the pairs that a sweep reads have the same weights."""
    ends = []
    for method in (pdgpu.Newton(iterations=60, tolerance=1e-9), solver(iterations=4000, tolerance=1e-7)):
        scene = pdgpu.Scene(gravity=(1.0, -9.81, 0.5))
        grid = shapes.grid((0.2, 0.2), (4, 4))
        points = np.column_stack([grid.points[:, 0] - 0.1, np.full(25, 0.0015), 0.1 - grid.points[:, 1]])
        scene.add_shell(pdgpu.Mesh(points, triangles=grid.triangles), pdgpu.Spring(50.0), density=0.5)
        scene.add_obstacle(pdgpu.Box(size=(1.0, 1.0, 1.0), centre=(0.0, -0.5, 0.0)), name="floor")
        contact = pdgpu.BarrierContact(2e-3, stiffness=1e4, friction=0.2)
        sim = pdgpu.Simulation(scene, method, dt=5e-3, contact=contact)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sim.step(6)
        ends.append(sim.positions.copy())
    np.testing.assert_allclose(ends[1], ends[0], atol=2e-7)


def test_friction_of_a_belt_is_that_of_the_weight():
    """A box on a moving box accelerates with mu g, also on the diagonal of the belt."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    belt = pdgpu.Box(size=(4.0, 0.2, 4.0), centre=(0.0, -0.1, 0.0), motion=lambda time: (np.eye(3), np.array([2.0 * time, 0.0, 0.0])))
    scene.add_obstacle(belt, name="belt")
    body = scene.add_rigid(box((0.1, 0.1, 0.1), (0.0, 0.0512, 0.0)), density=1000.0)
    sim = simulated(scene, 4e-3, stiffness=1e6, friction=0.2, tolerance=1e-9)
    sim.step(20)
    before = sim.momentum().linear[0]
    sim.step(50)
    assert (sim.momentum().linear[0] - before) / (0.2 * body.mass) == pytest.approx(0.2 * 9.81, rel=2e-3)
