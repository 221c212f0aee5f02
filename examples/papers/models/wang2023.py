"""Scenes of Wang et al. 2023 (A Two-Way Interior Point Method), modelled again and as large as one asks for.

Each function gives a Case. The paper names time steps, numbers of vertices and the settings of Table 3, and shows the rest in pictures:
lengths, materials and motions are of our choice. Cloth is a net of springs that bends, y points up.
"""

from dataclasses import dataclass

import numpy as np

import pdgpu
from pdgpu.plotting import draw_simulation

DISTANCE = 1e-3  # delta of Table 3, m
DOWN = (0.0, -0.5, 0.0)  # m/s
TIP = np.array([[0.0, 0.0, 0.0], [0.01, -0.4, 0.0], [-0.005, -0.4, 0.009], [-0.005, -0.4, -0.009]]) + [0.003, 0.0, 0.004]
RIDGE = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [-1.0, -1.3, 0.03], [1.0, -1.3, 0.03], [-1.0, -1.3, -0.03], [1.0, -1.3, -0.03]])


@dataclass(frozen=True)
class Case:
    """A scene, its time step in s, the most steps of an update (L), the whole time in s, and the box (2, 3) to draw."""

    scene: pdgpu.Scene
    dt: float
    most: int
    seconds: float
    bounds: tuple
    settings: dict

    def simulation(self, *, dt=None, solver=None, threads=1, **settings):
        """With one iteration of Newton's method a step, as the paper has it, where nothing else is asked for."""
        contact = pdgpu.TwoWayContact(DISTANCE, **{"steps": self.most, "passes": 1, **self.settings, **settings})
        solver = solver or pdgpu.Newton(iterations=1)
        return pdgpu.Simulation(self.scene, solver, dt=dt or self.dt, contact=contact, threads=threads)


class Tally:
    """What became of the updates of a run; `take` makes a step."""

    def __init__(self, case, **options):
        self.case, self.simulation = case, case.simulation(**options)
        self.steps, self.seconds, self.parts, self.unfinished = [], [], {}, 0
        self.least, self.late, self.pairs, self.colours = np.inf, 0.0, 0, 0

    def take(self, steps=1):
        for _ in range(steps):
            self.simulation.step(record=True)
            record = self.simulation.last_step
            update = record.update
            self.steps.append(update.steps)
            self.seconds.append(sum(update.parts.values()))  # what it took to record is left out
            self.unfinished += update.status != "converged"
            self.least = min(self.least, float(update.columns["smallest_distance"].min()))
            self.late = max(self.late, record.behind)
            self.pairs, self.colours = max(self.pairs, update.rows), max(self.colours, update.colours)
            for name, seconds in update.parts.items():
                self.parts[name] = self.parts.get(name, 0.0) + seconds

    def run(self, shots=(), look=None):
        """All steps of the case; look(k) after each whose number k is in `shots`."""
        for k in range(1, round(self.case.seconds / self.simulation.dt) + 1):
            self.take()
            if k in shots:
                look(k)
        return self

    def said(self):
        """One line of Table 2."""
        return (
            f"{np.mean(self.steps):.1f} ({max(self.steps)}) steps of an update, {1e3 * np.mean(self.seconds):.1f} "
            f"({1e3 * max(self.seconds):.0f}) ms of contact a step, {self.unfinished} of {len(self.steps)} updates unfinished, "
            f"nothing nearer than {1e3 * self.least:.3f} mm"
        )


def intersections(simulation):
    """How many pairs of an edge and a triangle intersect, of all bodies and of obstacles of triangles where they are, exactly."""
    surfaces, points = [], [np.asarray(simulation.positions, np.float64)]
    n = len(points[0])
    for body in simulation.bodies:
        if body.type in ("solid", "shell"):
            surfaces.append((body.mesh.surface if body.type == "solid" else body.mesh.triangles) + body.slice.start)
    for obstacle in simulation.obstacles:
        mesh, motion = getattr(obstacle.collider, "mesh", None), obstacle.collider.motion
        if mesh is not None:
            surfaces.append(mesh.surface + n)
            points.append(mesh.points if motion is None else motion(simulation.time, mesh.points))
            n += len(mesh.points)
    return len(pdgpu.geometry.find_intersections(np.concatenate(points), np.concatenate(surfaces)))


def draw(axes, simulation, bounds, colours, **view):
    """Bodies and obstacles in one picture; colours by name."""
    colours = {"hair": "#3d2b1f", "sand": "#d9a441"} | {obstacle.name: "#b9b9b4" for obstacle in simulation.obstacles} | colours
    draw_simulation(axes, simulation, colours=colours, bounds=bounds, **view)


# ---- meshes -----------------------------------------------------------------------------------------------------------------------


def sheet(size, cells, height=0.0, turn=0.0, centre=(0.0, 0.0)):
    """A horizontal square or rectangle, turned about the vertical."""
    size, cells = np.broadcast_to(size, 2), tuple(np.broadcast_to(cells, 2))
    flat = pdgpu.shapes.grid(tuple(size), cells=cells)
    x, z = flat.points[:, 0] - 0.5 * size[0], 0.5 * size[1] - flat.points[:, 1]
    c, s = np.cos(turn), np.sin(turn)
    points = np.column_stack([c * x - s * z + centre[0], np.full(len(x), height), s * x + c * z + centre[1]])
    return pdgpu.Mesh(points, triangles=flat.triangles)


def revolved(profile, around):
    """An open surface about the axis of y through `profile` (k, 2): radii and heights; cut into triangles with diagonals in turn."""
    angles = np.arange(around) * 2.0 * np.pi / around
    points = [np.stack([r * np.cos(angles), np.full(around, y), r * np.sin(angles)], axis=1) for r, y in profile]
    triangles = []
    for k in range(len(profile) - 1):
        for i in range(around):
            a, b = k * around + i, k * around + (i + 1) % around
            c, d = a + around, b + around
            triangles += [(a, d, b), (a, c, d)] if (i + k) % 2 else [(a, c, b), (b, c, d)]
    return pdgpu.Mesh(np.concatenate(points), triangles=triangles)


def about(points, axis, angle):
    """Points turned about one of the axes 0 to 2 through the origin."""
    j, k = (axis + 1) % 3, (axis + 2) % 3
    turned = np.array(points, dtype=np.float64)
    turned[:, j] = np.cos(angle) * points[:, j] - np.sin(angle) * points[:, k]
    turned[:, k] = np.sin(angle) * points[:, j] + np.cos(angle) * points[:, k]
    return turned


def ribbon(centres, width, across):
    """A flat band along a curve (n, 3) that lies about in the plane of x and z: `across` cells wide."""
    ahead = np.gradient(centres, axis=0)[:, [0, 2]]
    ahead /= np.linalg.norm(ahead, axis=1)[:, None]
    side = np.column_stack([-ahead[:, 1], np.zeros(len(ahead)), ahead[:, 0]])
    rows = [centres + width * (k / across - 0.5) * side for k in range(across + 1)]
    points, n = np.concatenate(rows), len(centres)
    triangles = []
    for k in range(across):
        for i in range(n - 1):
            a, b = k * n + i, (k + 1) * n + i
            triangles += [(a, a + 1, b + 1), (a, b + 1, b)] if (i + k) % 2 else [(a, a + 1, b), (a + 1, b + 1, b)]
    return pdgpu.Mesh(points, triangles=triangles)


def cloth(scene, mesh, name, velocity=(0.0, 0.0, 0.0), stiffness=200.0, **others):
    return scene.add_shell(mesh, pdgpu.Spring(stiffness), density=0.2, bending=1e-4, damping=1e-3, name=name, velocity=velocity, **others)


def prism():
    """The triangles of RIDGE."""
    return [(0, 2, 1), (1, 2, 3), (0, 1, 4), (1, 5, 4), (2, 4, 3), (3, 4, 5), (0, 4, 2), (1, 3, 5)]


# ---- the scenes -------------------------------------------------------------------------------------------------------------------


def needle(cells=14, dt=1 / 20, seconds=0.4):
    """Figures 9, 12 and 17: a cloth falls on the tip of a thin pyramid."""
    scene = pdgpu.Scene()
    scene.add_shell(sheet(0.4, cells, 3e-3), pdgpu.Spring(200.0), density=0.2, bending=1e-4, name="cloth", velocity=DOWN)
    scene.add_obstacle(pdgpu.Mesh(TIP, triangles=[(0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2)]), name="needle")
    return Case(scene, dt, 2048, seconds, ((-0.2, -0.4, -0.2), (0.2, 0.02, 0.2)), {})


def funnel(cells=12, dt=1 / 100, seconds=0.5, around=20, speed=0.35):
    """Figure 19: a square cloth falls into a funnel, and its middle is drawn down through the spout."""
    scene = pdgpu.Scene()
    profile = [(0.25, 0.02), (0.045, -0.13), (0.04, -0.27)]
    scene.add_obstacle(revolved(profile, around), name="funnel")
    mesh = sheet(0.3, cells, 0.01)
    body = cloth(scene, mesh, "cloth", DOWN)
    middle = np.linalg.norm(mesh.points[:, [0, 2]], axis=1)
    body.pin(middle < middle.min() + 1e-6, motion=lambda time, rest: rest - [0.0, speed * time, 0.0])
    return Case(scene, dt, 2048, seconds, ((-0.26, -0.3, -0.26), (0.26, 0.05, 0.26)), {})


def blade(cells=6, patches=5, dt=1 / 20, seconds=0.3):
    """Figure 22: square cloths drop on a sharp blade, one after the other."""
    scene = pdgpu.Scene()
    for k in range(patches):
        mesh = sheet(0.3, cells, 3e-3 + 0.012 * k, 0.35 * k - 0.7, (0.02 * (k - 2), 0.015 * (-1) ** k))
        cloth(scene, mesh, f"cloth{k}", DOWN)
    points = RIDGE * 0.3 + [0.0, 0.0, 3e-3]
    scene.add_obstacle(pdgpu.Mesh(points, triangles=prism()), name="blade")
    return Case(scene, dt, 2048, seconds, ((-0.3, -0.35, -0.2), (0.3, 0.08, 0.2)), {})


def tube(around=20, along=24, dt=1 / 100, seconds=0.8, turns=0.35, left=0.6, begin=0.0):
    """Figure 23: a tube of cloth is twisted by its ends, in the first half of the time, and then squeezed to a part of its length.

    `begin`: of the time in s, for who sets the state.
    """
    scene, length, half = pdgpu.Scene((0.0, 0.0, 0.0)), 0.4, 0.5 * seconds
    profile = [(0.06, y) for y in np.linspace(-0.5 * length, 0.5 * length, along + 1)]
    mesh = revolved(profile, around)
    mesh = pdgpu.Mesh(mesh.points[:, [1, 0, 2]] * [1.0, -1.0, 1.0], triangles=mesh.triangles)
    body = cloth(scene, mesh, "tube")
    for sign in (-1.0, 1.0):

        def motion(time, rest, sign=sign):
            part = (time + begin) / half
            twisted = about(rest, 0, sign * np.pi * turns * min(part, 1.0))
            return twisted - [sign * 0.5 * length * (1.0 - left) * min(max(part - 1.0, 0.0), 1.0), 0.0, 0.0]

        body.pin(np.abs(mesh.points[:, 0] - sign * 0.5 * length) < 1e-9, motion=motion)
    return Case(scene, dt, 512, seconds, ((-0.2, -0.09, -0.09), (0.2, 0.09, 0.09)), {})


def reef_knot(cells=3, width=0.024, dt=1 / 100, seconds=0.4, pull=0.031, begin=0.0):
    """Figure 1: two bights of ribbon, each drawn through the other, are pulled tight by their four ends; `begin` as for `tube`."""
    bight, narrow, wide, rise, tail = 0.07, 0.018, 0.05, 0.006, 0.22
    # half of a strand: from its end over the other's bight and out to its own; its height alternates under, over, under
    corners = np.array(
        [
            (-tail, narrow),
            (-bight - 0.02, narrow),
            (-bight, narrow),
            (-0.03, narrow + 0.004),
            (0.0, 0.5 * (narrow + wide)),
            (0.035, wide - 0.002),
        ]
    )
    arc = [(bight - wide + 0.03 + wide * np.sin(t), wide * np.cos(t)) for t in np.linspace(0.25, 0.5 * np.pi, 5)]
    plan = smoothed(np.concatenate([corners, arc]))
    plan = np.concatenate([plan, plan[-2::-1] * [1.0, -1.0]])
    steps = np.linalg.norm(np.diff(plan, axis=0), axis=1)
    reached = np.concatenate([[0.0], np.cumsum(steps)])
    n = round(reached[-1] / (width / cells))
    at = np.linspace(0.0, reached[-1], n + 1)
    x, z = (np.interp(at, reached, plan[:, k]) for k in (0, 1))
    height = np.interp(x, [-bight - 0.03, -bight - 0.012, -bight + 0.012, -0.022, 0.022, 0.03 + 0.012], [0.0, -1.0, -1.0, 1.0, 1.0, -1.0])
    first = np.column_stack([x, rise * height, z])
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    for name, centres, sign in (("left", first, -1.0), ("right", first * [-1.0, -1.0, 1.0], 1.0)):
        mesh = ribbon(centres, width, cells)
        body = cloth(scene, mesh, name)

        def motion(time, rest, sign=sign):
            return rest + [sign * pull * min((time + begin) / (0.8 * seconds), 1.0), 0.0, 0.0]

        body.pin(np.abs(mesh.points[:, 0]) > tail - 1e-6, motion=motion)
    return Case(scene, dt, 512, seconds, ((-0.2, -0.05, -0.08), (0.2, 0.05, 0.08)), {})


def smoothed(corners, rounds=3):
    """Chaikin's corner cutting of an open curve (n, 2)."""
    for _ in range(rounds):
        a, b = corners[:-1], corners[1:]
        cut = np.stack([0.75 * a + 0.25 * b, 0.25 * a + 0.75 * b], axis=1).reshape(-1, corners.shape[1])
        corners = np.concatenate([corners[:1], cut, corners[-1:]])
    return corners


def turning_sphere(cells=20, dt=1 / 100, seconds=0.6, friction=0.4, speed=8.0):
    """Figure 18: a square cloth falls on a sphere, which turns about the vertical, and on the ground beside it."""
    scene, ball = pdgpu.Scene(), pdgpu.shapes.sphere(0.1, 3)
    cloth(scene, sheet(0.44, cells, 0.204, 0.3), "cloth", DOWN)
    ball = pdgpu.Mesh(ball.points + [0.0, 0.1, 0.0], triangles=ball.triangles)
    scene.add_obstacle(ball, name="sphere", motion=lambda time, rest: about(rest, 1, speed * time))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="ground")
    return Case(scene, dt, 512, seconds, ((-0.24, 0.0, -0.24), (0.24, 0.22, 0.24)), {"friction": friction})


def dress(around=24, along=12, layers=2, dt=1 / 100, seconds=0.6, swing=0.7):
    """Figure 21: layers of skirt hang from the waist of a figure that sways, turns and kicks."""
    scene = pdgpu.Scene()
    hips = [(0.02, 1.06), (0.12, 1.05), (0.115, 1.0), (0.13, 0.94), (0.135, 0.88), (0.11, 0.8), (0.02, 0.78)]
    body = revolved(hips, 16)

    def pose(time, points, side=0.0):
        """The hips sway and turn; a leg swings about its hip as well."""
        moved = np.array(points, dtype=np.float64)
        if side:
            joint = np.array([side * 0.07, 0.86, 0.0])
            moved = about(moved - joint, 0, side * swing * np.sin(6.0 * time)) + joint
        moved = about(moved, 1, 0.6 * np.sin(5.0 * time))
        return moved + [0.08 * np.sin(4.0 * time), 0.0, 0.0]

    scene.add_obstacle(body, name="hips", motion=pose)
    for side, name in ((-1.0, "left leg"), (1.0, "right leg")):
        leg = revolved([(0.01, 0.02), (0.04, 0.06), (0.05, 0.4), (0.06, 0.72), (0.01, 0.75)], 10)
        leg = pdgpu.Mesh(leg.points + [side * 0.07, 0.0, 0.0], triangles=leg.triangles)
        scene.add_obstacle(leg, name=name, motion=lambda time, rest, side=side: pose(time, rest, side))
    for k in range(layers):
        length = 0.5 - 0.12 * k
        profile = [(0.135 + 0.008 * k + 0.1 * s**0.9, 1.0 + 0.01 * k - length * s) for s in np.linspace(0.0, 1.0, along + 1)]
        mesh = revolved(profile, around)
        skirt = cloth(scene, mesh, f"skirt{k}")
        skirt.pin(mesh.points[:, 1] > 1.0 + 0.01 * k - 1e-6, motion=pose)
    return Case(scene, dt, 512, seconds, ((-0.4, 0.3, -0.35), (0.4, 1.08, 0.35)), {})


def mats(cells=5, count=3, dt=1 / 100, seconds=0.3):
    """Figures 7a and 7b: mats of tets fall across a bar and on each other."""
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.beam((0.3, 0.01, 0.3), cells=(cells, 1, cells))
    for k in range(count):
        points = about(mesh.points - [0.15, 0.0, 0.15], 1, 0.5 * k) + [0.01 * k, 0.033 + 0.016 * k, 0.0]
        flesh = pdgpu.Corotated.from_young(young=3e4, poisson=0.3)
        scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), flesh, density=500.0, damping=1e-3, velocity=DOWN, name=f"mat{k}")
    scene.add_obstacle(pdgpu.Capsule((0.0, 0.0, -0.3), (0.0, 0.0, 0.3), 0.03), name="bar")
    return Case(scene, dt, 512, seconds, ((-0.22, -0.15, -0.22), (0.22, 0.1, 0.22)), {})


def hung(scene, cells):
    """A cloth held along its border."""
    mesh = sheet(0.3, cells)
    body = cloth(scene, mesh, "cloth")
    body.pin(np.abs(mesh.points[:, [0, 2]]).max(axis=1) > 0.15 - 1e-9)


def hair(cells=10, strands=10, pieces=16, dt=1 / 100, seconds=0.3):
    """Figures 7c and 7d: strands that bend fall crosswise on a cloth held along its border."""
    scene = pdgpu.Scene()
    hung(scene, cells)
    points, edges = [], []
    for k in range(strands):
        s, turn = np.linspace(-0.13, 0.13, pieces + 1), np.pi * k * 0.382
        offset = 0.05 * (k / strands - 0.5)
        edges += [[len(points) + i, len(points) + i + 1] for i in range(pieces)]
        points += [[s_i * np.cos(turn) - offset * np.sin(turn), 4e-3 + 4e-3 * k, s_i * np.sin(turn) + offset * np.cos(turn)] for s_i in s]
    mesh = pdgpu.Mesh(points, edges=edges)
    scene.add_rod(mesh, pdgpu.Spring(500.0), density=2e-3, bending=2e-6, damping=1e-3, velocity=DOWN, thickness=1e-3, name="hair")
    return Case(scene, dt, 512, seconds, ((-0.16, -0.06, -0.16), (0.16, 0.07, 0.16)), {"friction": 0.3})


def sand(cells=10, grains=(4, 4, 4), dt=1 / 100, seconds=0.3, strands=0):
    """Figures 7e and 7f: grains fall on such a cloth; with `strands`, hairs lie between."""
    case = hair(cells, max(strands, 1), dt=dt, seconds=seconds)
    scene = case.scene
    if not strands:
        scene = pdgpu.Scene()
        hung(scene, cells)
    heap = np.stack(np.meshgrid(*map(np.arange, grains), indexing="ij"), axis=-1).reshape(-1, 3)
    heap = 0.0095 * (heap - 0.5 * (np.array(grains) - 1.0) * [1, 0, 1])
    heap += np.random.default_rng(0).uniform(-5e-4, 5e-4, heap.shape) + [0.0, 0.01 + 4e-3 * strands, 0.0]
    scene.add_particles(heap, mass=4e-4, velocity=DOWN, thickness=8e-3, name="sand")
    return Case(scene, dt, 512, seconds, case.bounds, case.settings)
