"""Scenes of Chen et al. 2024 (Vertex Block Descent) in contact, modelled again and as large as one asks for.

Each function gives a Case. Lengths are of our choice, since the paper names none, and so are the penalty's stiffnesses, which are those
of single pairs: about what an element at the surface has. Materials, time steps and iterations are Table 1's where nothing else is
said. Its damping of 1e-6 s and less, which adds at most 3e-4 of the stiffness, is left out: a vertex with damped tets takes 25 times
as long here.
"""

import importlib.resources
import itertools
import warnings
from dataclasses import dataclass

import numpy as np
from models import clock

import pdgpu

warnings.filterwarnings("ignore", "material: NeoHookean .* Poisson's ratio")  # the paper's is 0.45 and more

RADIUS = 0.05  # of a ball, m


@dataclass(frozen=True)
class Case:
    """A scene with what the paper simulates it with: contact, time step in s, iterations, and the whole time in s."""

    scene: pdgpu.Scene
    contact: pdgpu.PenaltyContact
    dt: float
    iterations: int
    seconds: float

    def simulation(self, solver=None, **options):
        """With one thread and in float32, as the paper's program on the GPU, where nothing else is asked for."""
        solver = solver or pdgpu.VertexBlockDescent(iterations=self.iterations)
        settings = {"dt": self.dt, "contact": self.contact, "threads": 1, "dtype": "float32", **options}
        return pdgpu.Simulation(self.scene, solver, **settings)


def placed(mesh, place, turn=None):
    """The tets of a mesh, turned by a rotation (3, 3) and moved by a vector (3,)."""
    points = mesh.points if turn is None else mesh.points @ np.transpose(turn)
    return pdgpu.Mesh(points + place, tets=mesh.tets)


def prisms(below, above):
    """Three tets for each prism between two triangles (k, 3), cut alike on both sides of a shared face: corners must ascend."""
    (a, b, c), (d, e, f) = below.T, above.T
    return np.concatenate([np.column_stack(part) for part in ((a, b, c, f), (a, b, e, f), (a, d, e, f))])


def squishy_ball(level, radius=RADIUS, length=0.87, roots=None):
    """A thick hollow ball with tentacles of six prisms around an axis, each out of the star of a vertex; `length` in radii.

    The stars of two tentacles share no vertex. Level 5 has 154 thousand vertices and 511 thousand tets, with a length of 1.5 it has 230 and
    707 thousand, about those of the paper; `roots` takes unit directions (n, 3) and says which of them may bear a tentacle.
    """
    skin = pdgpu.shapes.sphere(1.0, level)
    n, triangles = len(skin.points), np.sort(skin.triangles, axis=1)
    edge = np.linalg.norm(skin.points[triangles[:, 0]] - skin.points[triangles[:, 1]], axis=1).mean()
    inner = 4 if level > 3 else 2
    depth = min(edge, 0.6 / inner)
    points = [skin.points * (1.0 - k * depth) for k in range(inner + 1)]
    tets = [prisms(triangles + k * n, triangles + (k + 1) * n) for k in range(inner)]
    allowed = np.ones(n, bool) if roots is None else roots(skin.points)
    star = [[] for _ in range(n)]
    for row, corners in enumerate(triangles):
        for corner in corners:
            star[corner].append(row)
    taken, count, layers = np.zeros(n, bool), (inner + 1) * n, max(round(length / edge), 2)
    for root in np.flatnonzero(allowed):
        around = np.unique(triangles[star[root]])
        if taken[around].any():
            continue
        taken[around] = True
        spread, axis = skin.points[around] - skin.points[root], skin.points[root]
        here = np.searchsorted(around, triangles[star[root]])
        below = around
        for layer in range(1, layers + 1):
            width = 0.8 - 0.4 * layer / layers
            points.append(axis * (1.0 + length * layer / layers) + width * spread)
            above = count + np.arange(len(around))
            tets.append(prisms(below[here], above[here]))
            below, count = above, count + len(around)
    points, tets = radius * np.concatenate(points), np.concatenate(tets)
    negative = np.linalg.det(points[tets[:, 1:]] - points[tets[:, :1]]) < 0.0
    tets[negative] = tets[negative][:, [0, 1, 3, 2]]
    return pdgpu.Mesh(points, tets=tets)


def octopus(level=2):
    """A hollow ball with eight tentacles below its middle."""
    angles = np.arange(8) * np.pi / 4 + 0.2
    ways = np.column_stack([np.cos(angles), np.full(8, -0.55), np.sin(angles)])
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)

    def nearest(directions):
        chosen = np.zeros(len(directions), bool)
        chosen[(directions @ ways.T).argmax(axis=0)] = True
        return chosen

    return squishy_ball(level, length=1.4, roots=nearest)


def rotation(axis, angle):
    """(3, 3), around one of the axes 0 to 2."""
    c, s = np.cos(angle), np.sin(angle)
    j, k = (axis + 1) % 3, (axis + 2) % 3
    turn = np.eye(3)
    turn[[j, k, j, k], [j, k, k, j]] = c, c, -s, s
    return turn


def ball_contact(level, detection_interval, friction=0.1):
    """The thickness is a quarter of an edge, the stiffness that of a few elements."""
    return pdgpu.PenaltyContact(
        0.25 * RADIUS * 1.1 / 2**level, stiffness=500.0, detection_interval=detection_interval, friction=friction, friction_velocity=1e-2
    )


def floor(scene, height=0.0):
    scene.add_obstacle(pdgpu.Plane((0.0, height, 0.0), (0.0, 1.0, 0.0)), name="floor")


def walls(scene, half):
    """Four planes that face the axis of y, `half` away from it."""
    for name, (x, z) in {"left": (1, 0), "right": (-1, 0), "back": (0, 1), "front": (0, -1)}.items():
        scene.add_obstacle(pdgpu.Plane((-half * x, 0.0, -half * z), (float(x), 0.0, float(z))), name=name)


# ---- the figures ------------------------------------------------------------------------------------------------------------------


def twisted_beams(cells=(40, 3, 3), turns=1.5, seconds=0.5):
    """Figure 2: two beams of 2 m beside each other; their ends turn about the line between them, one against the other."""
    scene, thick, gap = pdgpu.Scene((0.0, 0.0, 0.0)), 0.1, 0.02
    mesh = pdgpu.shapes.beam((2.0, thick, thick), cells)
    for side, name in ((-1, "front"), (1, "back")):
        z = 0.5 * gap if side > 0 else -0.5 * gap - thick
        body = scene.add_solid(placed(mesh, (-1.0, -0.5 * thick, z)), pdgpu.NeoHookean(5e4, 1e6), density=1000.0, name=name)
        ends = np.abs(np.abs(body.mesh.points[:, 0]) - 1.0) < 1e-9

        def twisted(t, rest):
            angle = 2.0 * np.pi * turns * min(t / seconds, 1.0)
            right = rest[:, 0] > 0.0
            return np.where(right[:, None], rest @ rotation(0, angle).T, rest @ rotation(0, -angle).T)

        body.pin(ends, motion=twisted)
    contact = pdgpu.PenaltyContact(0.25 * thick / cells[1], stiffness=2e4, detection_interval=5, friction=0.1, friction_velocity=1e-2)
    return Case(scene, contact, 1 / 300, 100, seconds)


def dropped_ball(level=3, detection_interval=0, length=0.87):
    """Figures 7, 9 and 19: a ball with tentacles falls on the ground at 2 m/s, a hundred times as soft as in Table 1."""
    mesh = squishy_ball(level, length=length)
    scene = pdgpu.Scene()
    raised = placed(mesh, (0.0, 0.002 - mesh.points[:, 1].min(), 0.0))
    scene.add_solid(raised, pdgpu.NeoHookean(2e4, 2e5), density=1000.0, name="ball", velocity=(0.0, -2.0, 0.0))
    floor(scene)
    return Case(scene, ball_contact(level, detection_interval), 1 / 120, 120, 0.25)


def balls_in_pot(layers=2, level=2):
    """Figure 11: balls with tentacles, four in each layer, fall into a round pot of triangles, which stands for the teapot."""
    mesh, pitch = squishy_ball(level), 4.1 * RADIUS
    scene = pdgpu.Scene()
    for number, (k, j) in enumerate(itertools.product(range(layers), range(4))):
        angle = 0.5 * np.pi * j + 0.4 * k
        place = np.array([0.72 * pitch * np.cos(angle), 0.13 + pitch * k, 0.72 * pitch * np.sin(angle)])
        turned = placed(mesh, place, rotation(number % 3, 0.7 * number))
        scene.add_solid(turned, pdgpu.NeoHookean(2e4, 2e5), density=1000.0, name=f"ball {number}", velocity=(0.0, -1.0, 0.0))
    scene.add_obstacle(pot(5.0 * RADIUS, 7.0 * RADIUS), name="pot")
    return Case(scene, ball_contact(level, 0), 1 / 240, 40, 0.6)


def pot(radius, height, thick=0.02, sides=48):
    """A round closed surface that is open above: a profile turned about the axis of y."""
    profile = np.array([[0.0, -thick], [0.8 * radius, -thick], [radius + thick, 0.3 * height], [0.9 * radius + thick, height]])
    inside = np.array([[0.9 * radius, height], [radius, 0.3 * height], [0.75 * radius, 0.0], [0.0, 0.0]])
    profile = np.concatenate([profile, inside])
    angles = 2.0 * np.pi * np.arange(sides) / sides
    rings = [np.column_stack([r * np.cos(angles), np.full(sides, y), r * np.sin(angles)]) for r, y in profile[1:-1]]
    points, last = np.concatenate([*rings, [[0.0, -thick, 0.0], [0.0, 0.0, 0.0]]]), len(rings) * sides
    here, after = np.arange(sides), (np.arange(sides) + 1) % sides
    triangles = [np.column_stack([np.full(sides, last), here, after])]
    for k in range(len(rings) - 1):
        a, b, c, d = here + k * sides, after + k * sides, here + (k + 1) * sides, after + (k + 1) * sides
        triangles += [np.column_stack([a, c, b]), np.column_stack([b, c, d])]
    top = (len(rings) - 1) * sides
    triangles.append(np.column_stack([np.full(sides, last + 1), after + top, here + top]))
    return pdgpu.Mesh(points, triangles=np.concatenate(triangles))


def removed_platform(layers=3, removed=0.5, seconds=1.0):
    """Figure 12: bodies of three kinds, nine in each layer, fall in a box onto a platform, which is gone at `removed` s."""
    kinds = [octopus(1), squishy_ball(1), pdgpu.shapes.beam((0.09, 0.05, 0.05), (6, 3, 3))]
    kinds = [placed(mesh, -mesh.points.mean(axis=0)) for mesh in kinds]
    scene, pitch, high = pdgpu.Scene(), 0.24, 0.4
    for number, (k, i, j) in enumerate(itertools.product(range(layers), (-1, 0, 1), (-1, 0, 1))):
        turned = placed(kinds[number % 3], (pitch * i, high + 0.14 + pitch * k, pitch * j), rotation(number % 3, 0.9 * number))
        scene.add_solid(turned, pdgpu.NeoHookean(2e4, 2e5), density=1000.0, name=f"body {number}", velocity=(0.0, -1.0, 0.0))
    walls(scene, 0.38)
    floor(scene)
    where = pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    scene.add_obstacle(where, motion=lambda t: (np.eye(3), np.array([0.0, high if t < removed else -1.0, 0.0])), name="platform")
    return Case(scene, ball_contact(1, 0), 1 / 120, 60, seconds)


def stacked_octopi(friction, level=2, seconds=1.0):
    """Figure 14, bottom row: four octopi fall on each other in a box."""
    mesh = octopus(level)
    scene = pdgpu.Scene()
    for k in range(4):
        place = (0.012 * np.cos(1.9 * k), 0.16 + 0.17 * k, 0.012 * np.sin(1.9 * k))
        turned = placed(mesh, place, rotation(1, 0.3 * k))
        scene.add_solid(turned, pdgpu.NeoHookean(2e4, 2e5), density=1000.0, name=f"octopus {k}", velocity=(0.0, -1.0, 0.0))
    floor(scene)
    walls(scene, 0.2)
    return Case(scene, ball_contact(level, 5, friction), 1 / 300, 10, seconds)


def stretched_creature(pull=0.6, reach=0.8, seconds=0.6):
    """Figure 15: a creature of 1 m, ten vertices of which are pulled away from the middle within `pull` s; None: nothing is held."""
    mesh = pdgpu.read_mesh(importlib.resources.files("pdgpu") / "data" / "creature.vtu")
    mesh = pdgpu.Mesh((mesh.points - mesh.points.mean(axis=0)) / np.ptp(mesh.points, axis=0).max(), tets=mesh.tets)
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    body = scene.add_solid(mesh, pdgpu.NeoHookean(2e6, 1e7), density=1000.0, name="creature")
    if pull is not None:
        held = [int(np.argmax(mesh.points[:, 0]))]  # each as far as can be from those before it
        for _ in range(9):
            held.append(int(np.argmax(np.linalg.norm(mesh.points[:, None] - mesh.points[held], axis=2).min(axis=1))))

        def pulled(t, rest):
            return rest + reach * min(t / pull, 1.0) * rest / np.linalg.norm(rest, axis=1, keepdims=True)

        body.pin(held, motion=pulled)
    contact = pdgpu.PenaltyContact(4e-3, stiffness=1e5, detection_interval=0, friction=0.2, friction_velocity=1e-2)
    return Case(scene, contact, 1 / 300, 10, seconds)


# ---- what they are measured by ------------------------------------------------------------------------------------------------------


def steps(case, simulation):
    """Takes all steps of a case; yields the number of steps taken and the seconds of the last, as `clock.now` has them."""
    for k in range(1, round(case.seconds / case.dt) + 1):
        begun = clock.now(simulation.device)
        simulation.step()
        yield k, clock.now(simulation.device) - begun


def tets(simulation):
    return np.concatenate([body.mesh.tets + body.slice.start for body in simulation.bodies])


def inverted(simulation):
    """How many tets are turned inside out."""
    corners = np.asarray(simulation.positions, np.float64)[tets(simulation)]
    return int((np.linalg.det(corners[:, 1:] - corners[:, :1]) <= 0.0).sum())


def intersections(simulation):
    """How many pairs of an edge and a triangle intersect, of the bodies' surfaces and the obstacles of triangles."""
    surfaces = [body.mesh.surface + body.slice.start for body in simulation.bodies]
    points, n = [np.asarray(simulation.positions, np.float64)], len(simulation.positions)
    for obstacle in simulation.obstacles:
        mesh = getattr(obstacle.collider, "mesh", None)
        if mesh is not None:
            surfaces.append(mesh.surface + n)
            points.append(mesh.points)
            n += len(mesh.points)
    return len(pdgpu.geometry.find_intersections(np.concatenate(points), np.concatenate(surfaces)))


def milliseconds(seconds):
    """The mean and the largest of some steps, as Table 1 gives them."""
    return f"{1e3 * np.mean(seconds):.0f} / {1e3 * np.max(seconds):.0f} ms a step"
