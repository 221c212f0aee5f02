"""Small scenes whose pairs become active only in an extended list of neighbour pairs (csrc/contact/potential/neighbour_list.c).

A body falls for one step onto a box. It begins beyond the distance of neighbour pairs. A list is extended if at most an eighth of all
vertices has left its ball. With 64 distant grains it is extended; without them it is made again in every iteration.
"""

import numpy as np

import pdgpu
from pdgpu import shapes

DISTANCE = 0.02  # m, of activation
HEIGHT = 1.7 * DISTANCE  # m, of the gap: pairs above 1.5 distances are no neighbours
DOWN = np.array([0.0, -0.8, 0.0])  # m/s: 0.8 distances in the step
ACROSS = np.array([0.3, 0.0, -0.3])
FLOATING = 64


def turn(angle):
    """A rotation about the y axis."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def flap(scene):
    """A strip of six vertices that falls across a diagonal of the box: the nearest triangle of the face changes on the way."""
    grid = shapes.grid((0.1, 0.01), (2, 1))
    a, b = (grid.points - grid.points.mean(axis=0)).T[:2]
    h = np.sqrt(0.5)
    points = np.column_stack([h * (a + b), np.full(len(a), HEIGHT), h * (a - b)])
    scene.add_shell(pdgpu.Mesh(points, triangles=grid.triangles), pdgpu.StVK(5.0, 5.0), density=2.0, bending=1e-6, velocity=DOWN + ACROSS)


def pyramid(scene):
    """A rigid pyramid falls onto two grains. Each is near a corner of the base, and at the end nearest to its other triangle."""
    r, level = 0.05, 0.2
    points = np.array([[-r, 0.0, -r], [r, 0.0, -r], [r, 0.0, r], [-r, 0.0, r], [0.0, 0.08, 0.0]])
    triangles = [[0, 1, 2], [0, 2, 3], [1, 0, 4], [2, 1, 4], [3, 2, 4], [0, 3, 4]]
    grains = np.array([[0.041, level + 0.15 * DISTANCE, 0.039], [-0.038, level + 0.12 * DISTANCE, -0.041]])
    mesh = pdgpu.Mesh(points @ turn(0.6).T + [0.0, level + HEIGHT, 0.0], triangles=triangles)
    scene.add_rigid(mesh, density=3000.0, velocity=DOWN + turn(0.6) @ ACROSS, spin=(0.5, 0.0, 0.3))
    scene.add_particles(grains @ turn(0.6).T, mass=1.0)


def embedded(scene):
    """An octahedron that a tet carries."""
    corners = 0.05 * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float)
    corners = corners @ np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    triangles = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]
    tet = 0.16 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)
    up = [0.0, HEIGHT - corners[:, 1].min(), 0.0]
    body = scene.add_solid(pdgpu.Mesh(tet + up, tets=[[0, 2, 1, 3]]), pdgpu.ARAP.from_young(500.0, 0.3), density=300.0, velocity=DOWN)
    body.embed(pdgpu.Mesh(corners + up, triangles=triangles), collides=True)


SCENES = {"panel of an obstacle": flap, "panel of a rigid body": pyramid, "embedded points": embedded}


def falling(name, solver, floating=FLOATING, **settings):
    """One of the scenes, and its simulation."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    SCENES[name](scene)
    scene.add_obstacle(pdgpu.Box(size=(1.0, 1.0, 1.0), centre=(0.0, -0.5, 0.0)))
    k = np.arange(floating)
    if floating:
        scene.add_particles(np.column_stack([0.1 * (k % 8) - 0.35, np.full(floating, 0.5), 0.1 * (k // 8) - 0.35]), mass=1e-3)
    contact = pdgpu.BarrierContact(DISTANCE, stiffness=10.0, guard="reach")
    return scene, pdgpu.Simulation(scene, solver, dt=0.02, contact=contact, **settings)


def descents(name, rounding, most, **settings):
    """The scene, the first positions and the record of a descent with new lists, and of one with an extended list. Asserts that G never
    grows, relative to its first value, and that both end at Newton's minimum, within `most` activation distances.
    """
    _, newton = falling(name, pdgpu.Newton(iterations=100, tolerance=1e-12), floating=0)
    newton.step()
    for floating in (0, FLOATING):
        scene, sim = falling(name, pdgpu.VertexBlockDescent(iterations=400, initialization="previous"), floating, **settings)
        begin = sim.positions
        sim.step(record="positions")
        record, potential = sim.last_step, sim.last_step["incremental_potential"]
        assert record["active_contacts"][0] == 0 and record["active_contacts"][-1] > 0
        assert np.all(np.diff(potential) <= rounding * potential[0])
        assert np.abs(sim.positions[: len(newton.positions)] - newton.positions).max() < most * DISTANCE
        yield scene, begin, record
