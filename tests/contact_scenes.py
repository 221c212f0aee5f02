"""Scenes in which bodies meet: each starts free of intersections and is made to end in as many contacts as it can.

A scene comes in two sizes: for every run of the tests, and `fine` for `make stress`. Lengths are metres and y points up.
"""

import dataclasses

import inputs
import numpy as np
from pdgpu.surface import SceneSurface
from scenes import creature

import pdgpu
from pdgpu import shapes

GRAVITY = (0.0, -9.81, 0.0)
NO_GRAVITY = (0.0, 0.0, 0.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ContactCase:
    """What a run needs. `interrupts`: something in it moves by a script, which may be made to raise."""

    scene: pdgpu.Scene
    contact: pdgpu.BarrierContact
    dt: float = 1 / 100
    steps: int = 6
    iterations: int = 25
    tolerance: float = 1e-3
    positions: np.ndarray | None = None

    def simulation(self, dtype="float64", *, threads=1, method=pdgpu.Newton, **solver):
        settings = {"iterations": self.iterations, "tolerance": self.tolerance, **solver}
        sim = pdgpu.Simulation(self.scene, method(**settings), dt=self.dt, contact=self.contact, dtype=dtype, threads=threads)
        if self.positions is not None:
            sim.set_state(positions=self.positions)
        return sim


def meeting(sim):
    """Pairs of an edge and a triangle that intersect, by the verifier."""
    surface = SceneSurface(sim._core.public_scene)
    return len(pdgpu.collision.intersections.find_intersections(surface.positions(sim.positions, sim.time), surface.triangles))


# ---- meshes ----------------------------------------------------------------------------------------------------------------


def layered(layers, triangles, *, closed=False):
    """Tets between layers (l, n, 3) of the same triangles; `closed`: also between the last layer and the first."""
    layers = np.asarray(layers, dtype=np.float64)
    points, n = layers.reshape(-1, 3), layers.shape[1]
    a, b, c = np.sort(triangles, axis=1).T
    tets = []
    for k in range(len(layers) - (not closed)):
        low, high = k * n, (k + 1) % len(layers) * n
        corners = ((a + low, b + low, c + low, c + high), (a + low, b + low, b + high, c + high), (a + low, a + high, b + high, c + high))
        tets += [np.stack(each, axis=1) for each in corners]
    return positive(points, np.concatenate(tets))


def positive(points, tets):
    """A mesh of tets that are turned over where their volume is negative."""
    edges = points[tets[:, 1:]] - points[tets[:, :1]]
    tets = np.where((np.linalg.det(edges) < 0.0)[:, None], tets[:, [0, 1, 3, 2]], tets)
    return pdgpu.Mesh(points, tets=tets)


def ball(radius, subdivisions, layers, centre=(0.0, 0.0, 0.0)):
    """A ball of tets."""
    skin = shapes.sphere(radius, subdivisions)
    shells = layered([skin.points * (k + 1) / layers for k in range(layers)], skin.triangles) if layers > 1 else None
    points = skin.points if shells is None else shells.points
    core = np.column_stack([skin.triangles, np.full(len(skin.triangles), len(points))])
    tets = core if shells is None else np.concatenate([shells.tets, core])
    return positive(np.concatenate([points, [[0.0, 0.0, 0.0]]]) + centre, tets)


def cube(side, cells, centre):
    """A cube of tets around a centre."""
    mesh = shapes.beam((side,) * 3, (cells,) * 3)
    return moved(mesh, np.asarray(centre) - 0.5 * side)


def torus(radius, thickness, around, centre, axes):
    """A ring of tets; `axes` (2, 3) spans its plane."""
    u, v = np.asarray(axes, dtype=np.float64)
    section = np.concatenate([[[0.0, 0.0]], [[np.cos(t), np.sin(t)] for t in np.arange(6) * np.pi / 3]]) * thickness
    triangles = [(0, 1 + k, 1 + (k + 1) % 6) for k in range(6)]
    layers = []
    for t in np.arange(around) * 2.0 * np.pi / around:
        out = np.cos(t) * u + np.sin(t) * v
        layers.append(centre + (radius + section[:, :1]) * out + section[:, 1:] * np.cross(u, v))
    return layered(layers, triangles, closed=True)


def moved(mesh, by):
    return pdgpu.Mesh(mesh.points + by, tets=mesh.tets, triangles=mesh.triangles, edges=mesh.edges)


def turned(mesh, axis, angle):
    """About the origin."""
    axis = np.asarray(axis, dtype=np.float64) / np.linalg.norm(axis)
    points = rotated(mesh.points, axis, angle)
    return pdgpu.Mesh(points, tets=mesh.tets, triangles=mesh.triangles, edges=mesh.edges)


def rotated(points, axis, angle):
    """Rodrigues' formula."""
    axis = np.asarray(axis)
    along = (points @ axis)[:, None] * axis
    return along + np.cos(angle) * (points - along) + np.sin(angle) * np.cross(axis, points)


def sheet(width, depth, cells, height=0.0):
    """A horizontal rectangle around the y axis; `cells` along each side."""
    flat = shapes.grid((width, depth), (cells, cells))
    points = np.stack([flat.points[:, 0] - 0.5 * width, np.full(len(flat.points), height), 0.5 * depth - flat.points[:, 1]], axis=1)
    return pdgpu.Mesh(points, triangles=flat.triangles)


def border(points):
    """Of a rectangle in the x-y or the x-z plane: the vertices on its four sides."""
    plane = points[:, [0, 1 if np.ptp(points[:, 1]) else 2]]
    return ((plane == plane.min(axis=0)) | (plane == plane.max(axis=0))).any(axis=1)


def string(points, *, closed=False):
    """A mesh of edges from each point to the next."""
    rows = np.column_stack([np.arange(len(points)), np.arange(1, len(points) + 1)])
    rows[-1, 1] = 0
    return pdgpu.Mesh(points, edges=rows if closed else rows[:-1])


def revolved(profile, around):
    """An open surface around the y axis through `profile` (k, 2), radii and heights."""
    angles = np.arange(around) * 2.0 * np.pi / around
    profile = np.asarray(profile, dtype=np.float64)
    reach = profile[:, 0] / np.cos(np.pi / around)  # no side cuts into the round
    points = [
        np.stack([r * np.cos(angles), np.full(around, y), r * np.sin(angles)], axis=1) for r, y in zip(reach, profile[:, 1], strict=True)
    ]
    triangles = []
    for k in range(len(profile) - 1):
        for i in range(around):
            a, b = k * around + i, k * around + (i + 1) % around
            triangles += [(a, b, b + around), (a, b + around, a + around)]
    return pdgpu.Mesh(np.concatenate(points), triangles=triangles)


def plate(width, thickness, lower):
    """A box whose lower side is at a height."""
    return moved(shapes.box((width, thickness, width)), [-0.5 * width, lower, -0.5 * width])


def cloth(scene, mesh, *, cells, **others):
    """A sheet of springs, softer the finer: its modulus is that of a cloth of any fineness."""
    return scene.add_shell(mesh, pdgpu.Spring(400.0), density=0.2, bending=2e-5, damping=1e-3, name=f"cloth{len(scene.bodies)}", **others)


def solid(scene, mesh, young=1e5, density=1000.0, **others):
    return scene.add_solid(mesh, pdgpu.NeoHookean.from_young(young=young, poisson=0.4), density=density, damping=1e-3, **others)


# ---- sharp things -----------------------------------------------------------------------------------------------------------


def needle(fine):
    """A needle falls point first on a cloth that is held along its border."""
    scene = pdgpu.Scene(GRAVITY)
    cells = 40 if fine else 10
    mesh = sheet(0.4, 0.4, cells)
    cloth(scene, mesh, cells=cells).pin(border(mesh.points))
    top = [[0.01 * np.cos(t), 0.1, 0.01 * np.sin(t)] for t in (0.0, 2.1, 4.2)]
    points = np.array([[0.0, 0.0, 0.0], *top]) + [0.011, 0.002, 0.007]
    solid(scene, positive(points, np.array([[0, 1, 2, 3]])), 1e7, 5000.0, velocity=(0.0, -2.0, 0.0))
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(1e-3, stiffness=1e4), steps=40 if fine else 6)


def blade(fine):
    """A blade falls edge first on a cloth that is held along its border."""
    scene = pdgpu.Scene(GRAVITY)
    cells = 40 if fine else 10
    mesh = sheet(0.4, 0.4, cells)
    cloth(scene, mesh, cells=cells).pin(border(mesh.points))
    section = np.array([[0.0, 0.0, 0.0], [0.0, 0.06, -0.003], [0.0, 0.06, 0.003]])
    layers = [section + [x, 0.002, 0.3 * x] for x in np.linspace(-0.1, 0.1, 13 if fine else 5)]
    solid(scene, layered(layers, [(0, 1, 2)]), 1e7, 5000.0, velocity=(0.0, -2.0, 0.0))
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(1e-3, stiffness=1e4), steps=40 if fine else 6)


def spike(fine):
    """A free cloth falls on the point of a pyramid."""
    scene = pdgpu.Scene(GRAVITY)
    cells = 40 if fine else 12
    cloth(scene, sheet(0.4, 0.4, cells, 0.003), cells=cells, velocity=(0.0, -1.5, 0.0))
    points = [[-0.05, -0.3, -0.05], [0.05, -0.3, -0.05], [0.05, -0.3, 0.05], [-0.05, -0.3, 0.05], [0.003, 0.0, 0.002]]
    triangles = [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (0, 2, 1), (0, 3, 2)]
    scene.add_obstacle(pdgpu.Mesh(points, triangles=triangles), name="spike")
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(1e-3, stiffness=1e4), steps=60 if fine else 6)


# ---- through and around -----------------------------------------------------------------------------------------------------


def funnel(fine):
    """A soft ball is shot into a funnel that is narrower than it."""
    scene = pdgpu.Scene(GRAVITY)
    solid(scene, ball(0.08, 3 if fine else 2, 4 if fine else 2, (0.0, 0.078, 0.0)), 2e4, velocity=(0.0, -2.0, 0.0))
    profile = [(0.25, 0.2), (0.15, 0.0975), (0.055, 0.0), (0.055, -0.25)]
    scene.add_obstacle(revolved(profile, 48 if fine else 16), name="funnel")
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(1e-3, stiffness=1e5), steps=80 if fine else 6)


def knot(fine):
    """An open trefoil of string is pulled tight by its two ends."""
    count = 160 if fine else 60
    t = np.linspace(1.06 * np.pi, 2.94 * np.pi, count)
    loop = np.stack([np.sin(t) + 2.0 * np.sin(2.0 * t), np.cos(t) - 2.0 * np.cos(2.0 * t), -0.25 * np.sin(3.0 * t)], axis=1) / 60.0
    tail = np.linspace(0.0, 0.1, count // 6 + 1)[1:, None]
    first, last = loop[0] + tail[::-1] * [1.0, -0.3, 0.0], loop[-1] + tail * [-1.0, -0.3, 0.0]
    mesh = string(np.concatenate([first, loop, last]))
    scene = pdgpu.Scene(NO_GRAVITY)
    rope = scene.add_rod(mesh, pdgpu.Spring(50.0), density=0.02, damping=1e-3)
    for end, sign in ((0, 1.0), (len(mesh.points) - 1, -1.0)):
        rope.pin([end], motion=lambda time, rest, sign=sign: rest + [sign * 1.0 * time, 0.0, 0.0])
    contact = pdgpu.BarrierContact(1e-3, stiffness=1e7, separation=1e-3, area_weighted=False)
    return ContactCase(scene=scene, contact=contact, steps=60 if fine else 14)


def rings(fine):
    """Two rings that go through each other: one is held, the other thrown away from it."""
    scene = pdgpu.Scene(GRAVITY)
    around = 48 if fine else 20
    held = torus(0.1, 0.015, around, [0.0, 0.0, 0.0], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    solid(scene, held).pin(held.points[:, 1] > 0.09)
    loose = torus(0.1, 0.015, around, [0.0, -0.163, 0.0], [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    solid(scene, loose, velocity=(0.0, -1.0, 0.0))
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(1e-3, stiffness=1e5), steps=60 if fine else 6)


def rod_round_capsule(fine):
    """A string is wound round a capsule and pulled tight."""
    count, radius = 200 if fine else 60, 0.05
    t = np.linspace(0.0, 4.0 * np.pi, count)
    turns = np.stack([0.002 * t * 4.0, (radius + 0.003) * np.cos(t), (radius + 0.003) * np.sin(t)], axis=1)
    tail = np.linspace(0.0, 0.1, count // 8)[1:, None]
    points = np.concatenate([turns[0] - tail[::-1] * [0.0, 0.0, 1.0], turns, turns[-1] + tail * [0.0, 0.0, 1.0]])
    scene = pdgpu.Scene(NO_GRAVITY)
    rope = scene.add_rod(string(points), pdgpu.Spring(100.0), density=0.02, damping=1e-3)
    for end, sign in ((0, -1.0), (len(points) - 1, 1.0)):
        rope.pin([end], motion=lambda time, rest, sign=sign: rest + [0.0, 0.0, sign * 0.5 * time])
    scene.add_obstacle(pdgpu.Capsule((-0.1, 0.0, 0.0), (0.15, 0.0, 0.0), radius), name="capsule")
    contact = pdgpu.BarrierContact(1e-3, stiffness=1e7, separation=1e-3, area_weighted=False)
    return ContactCase(scene=scene, contact=contact, steps=60 if fine else 6)


def rods_on_capsules(fine):
    """Strings fall across three capsules and on each other."""
    scene = pdgpu.Scene(GRAVITY)
    count = 60 if fine else 20
    for k in range(12 if fine else 6):
        s, angle = np.linspace(-0.2, 0.2, count + 1), 0.4 + 0.9 * k
        points = np.stack([s * np.sin(angle), np.full(count + 1, 0.0 + 0.008 * k), s * np.cos(angle)], axis=1)
        points += [0.02 * np.sin(1.7 * k), 0.035, 0.0]
        scene.add_rod(string(points), pdgpu.Spring(100.0), density=0.02, damping=1e-3, velocity=(0.0, -1.0 - 0.2 * k, 0.0))
    for k, x in enumerate((-0.1, 0.0, 0.1)):
        scene.add_obstacle(pdgpu.Capsule((x, 0.0, -0.3), (x, 0.0, 0.3), 0.03), name=f"capsule{k}")
    contact = pdgpu.BarrierContact(1e-3, stiffness=1e7, separation=1e-3, area_weighted=False)
    return ContactCase(scene=scene, contact=contact, steps=60 if fine else 6)


# ---- folded by scripts ------------------------------------------------------------------------------------------------------


def wrung(body, axis_points, turns_per_second, shortening):
    """Pins both ends along x, which turn against each other and come nearer."""
    x = axis_points[:, 0]
    for end, sign in ((x.min(), -1.0), (x.max(), 1.0)):

        def motion(time, rest, sign=sign):
            towards = [-sign * min(shortening * time, 0.4 * np.ptp(x)), 0.0, 0.0]
            return rotated(rest, [1.0, 0.0, 0.0], sign * 2.0 * np.pi * turns_per_second * time) + towards

        body.pin(np.abs(x - end) < 1e-9, motion=motion)


def twisted_mat(fine):
    """A cloth is wrung by its two ends."""
    cells = 40 if fine else 12
    mesh = sheet(0.4, 0.2, cells)
    scene = pdgpu.Scene(NO_GRAVITY)
    wrung(cloth(scene, mesh, cells=cells), mesh.points, 1.0, 0.05)
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(1e-3, stiffness=1e4), dt=1 / 50, steps=100 if fine else 18)


def twisted_beam(fine):
    """A beam is wrung by its two ends until it coils."""
    cells = (40, 6, 6) if fine else (12, 2, 2)
    mesh = moved(shapes.beam((0.4, 0.06, 0.06), cells), [-0.2, -0.03, -0.03])
    scene = pdgpu.Scene(NO_GRAVITY)
    wrung(solid(scene, mesh), mesh.points, 1.0, 0.1)
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(1e-3, stiffness=1e5), dt=1 / 50, steps=100 if fine else 60)


def squeezed(mesh, height, *, shells, **others):
    """A solid between two plates that close to half its height within a second: obstacles, or shells that are pinned throughout."""
    low, size = mesh.points.min(axis=0), np.ptp(mesh.points, axis=0)
    points = (mesh.points - low - size * [0.5, 0.0, 0.5]) * height / size[1]
    scene = pdgpu.Scene(NO_GRAVITY)
    solid(scene, pdgpu.Mesh(points, tets=mesh.tets))
    width, gap = 1.5 * np.ptp(points[:, [0, 2]], axis=0).max(), 0.01 * height
    for name, lower, speed in (("lower", -0.1 * height - gap, 0.25), ("upper", height + gap, -0.25)):

        def motion(time, rest, speed=speed):
            return rest + [0.0, speed * height * min(time, 1.0), 0.0]

        box = plate(width, 0.1 * height, lower)
        if shells:
            scene.add_shell(box, pdgpu.Spring(1.0), density=1.0, name=name).pin(np.arange(8), motion=motion)
        else:
            scene.add_obstacle(box, name=name, motion=motion)
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(2e-3 * height, stiffness=1e5), **others)


def squeezed_bunny(fine):
    """A bunny between two plates; the small one is a ball."""
    mesh = pdgpu.read_mesh(inputs.data_file("tet/libuipc_bunny0.msh")) if fine else ball(0.1, 2, 2)
    return squeezed(mesh, 0.2, shells=False, dt=1 / 25, steps=25 if fine else 6)


def squeezed_armadillo(fine):
    """An armadillo between two plates; the small one is a ring that stands upright."""
    mesh = pdgpu.read_mesh(inputs.data_file("tet/ipc_Armadillo13K.msh.gz")) if fine else torus(0.1, 0.03, 20, np.zeros(3), np.eye(3)[:2])
    return squeezed(mesh.without_unused_vertices(), 0.2, shells=True, dt=1 / 25, steps=15 if fine else 6)


# ---- cloth on things --------------------------------------------------------------------------------------------------------


def cloth_over_creature(fine):
    """A cloth falls over the creature that ships with pdgpu."""
    mesh = creature()
    surface = pdgpu.Mesh(mesh.points, triangles=mesh.surface).without_unused_vertices()
    low, size = surface.points.min(axis=0), np.ptp(surface.points, axis=0)
    body = pdgpu.Mesh((surface.points - low - size * [0.5, 0.0, 0.5]) * 0.3 / size.max(), triangles=surface.triangles)
    scene = pdgpu.Scene(GRAVITY)
    cells = 60 if fine else 14
    cloth(scene, sheet(0.4, 0.4, cells, body.points[:, 1].max() + 0.003), cells=cells, velocity=(0.0, -1.0, 0.0))
    scene.add_obstacle(body, name="creature")
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(1e-3, stiffness=1e4), steps=60 if fine else 6)


def crossing_cloths(fine):
    """A cloth falls upright on one that is held along its border."""
    scene = pdgpu.Scene(GRAVITY)
    cells = 30 if fine else 10
    lower = sheet(0.4, 0.4, cells)
    cloth(scene, lower, cells=cells).pin(border(lower.points))
    flat = shapes.grid((0.3, 0.2), (cells, cells))
    upright = pdgpu.Mesh(flat.points + [-0.15, 0.002, 0.003] + 0.02 * flat.points[:, :1] * [0.0, 0.0, 1.0], triangles=flat.triangles)
    cloth(scene, upright, cells=cells, velocity=(0.0, -2.0, 0.0))
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(1e-3, stiffness=1e4), steps=60 if fine else 6)


def cloth_on_sphere(fine):
    """A cloth falls on a ball that moves sideways beneath it."""
    scene = pdgpu.Scene(GRAVITY)
    cells = 50 if fine else 14
    cloth(scene, sheet(0.4, 0.4, cells, 0.103), cells=cells, velocity=(0.0, -1.0, 0.0))
    scene.add_obstacle(pdgpu.Sphere((0.0, 0.0, 0.0), 0.1), motion=lambda time: (np.eye(3), [0.3 * time, 0.0, 0.0]), name="ball")
    # pairs with the middle of a ball have no area
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(1e-3, stiffness=1e8, area_weighted=False), steps=60 if fine else 6)


def thrown_ball(fine):
    """A ball hits a cloth that is held along its border, so fast that a step takes it ten times its size behind it."""
    scene = pdgpu.Scene(NO_GRAVITY)
    cells = 30 if fine else 10
    flat = shapes.grid((0.4, 0.4), (cells, cells))
    cloth(scene, flat, cells=cells).pin(border(flat.points))
    solid(scene, ball(0.05, 2 if fine else 1, 2, (0.21, 0.19, 0.3)), 1e6, velocity=(0.0, 0.0, -100.0))
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(1e-3, stiffness=1e4), steps=20 if fine else 3)


# ---- many bodies ------------------------------------------------------------------------------------------------------------


def cube_on_floor(fine):
    """A cube falls on a floor, corner first."""
    scene = pdgpu.Scene(GRAVITY)
    mesh = turned(cube(0.1, 8 if fine else 3, (0.0, 0.0, 0.0)), (1.0, 0.0, 1.0), 0.95)
    mesh = moved(mesh, [0.0, 0.003 - mesh.points[:, 1].min(), 0.0])
    solid(scene, mesh, velocity=(0.3, -2.0, 0.0))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(1e-3, stiffness=1e5), steps=60 if fine else 6)


def cube_on_cube(fine):
    """A cube two thousand times as heavy and as stiff falls on another one that is held from below."""
    scene = pdgpu.Scene(GRAVITY)
    lower = cube(0.1, 6 if fine else 3, (0.0, -0.05, 0.0))
    solid(scene, lower, 1e5, 100.0).pin(lower.points[:, 1] < -0.0999)
    upper = turned(cube(0.08, 4 if fine else 2, (0.0, 0.0, 0.0)), (0.0, 1.0, 0.0), 0.4)
    solid(scene, moved(upper, [0.004, 0.042, 0.003]), 2e8, 2e5, velocity=(0.0, -0.5, 0.0))
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(1e-3, stiffness=1e6), steps=40 if fine else 6)


def stack(fine):
    """Four cubes fall on each other and on a floor."""
    scene = pdgpu.Scene(GRAVITY)
    for k in range(4):
        mesh = turned(cube(0.1, 5 if fine else 2, (0.0, 0.0, 0.0)), (0.0, 1.0, 0.0), 0.5 * k)
        solid(scene, moved(mesh, [0.01 * (-1) ** k, 0.052 + 0.102 * k, 0.0]), velocity=(0.0, -0.3 * (k + 1), 0.0))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(1e-3, stiffness=1e5), steps=60 if fine else 6)


def bodies_in_a_box(fine):
    """27 cubes are thrown into an open box and at each other."""
    rng = np.random.default_rng(1)
    scene = pdgpu.Scene(GRAVITY)
    side, spacing = 0.05, 0.09
    for place in np.ndindex(3, 3, 3):
        axis = rng.standard_normal(3)
        mesh = turned(cube(side, 2 if fine else 1, (0.0, 0.0, 0.0)), axis, rng.uniform(0.0, 3.0))
        centre = (np.array(place) - 1) * spacing
        velocity = -8.0 * centre + [0.0, -1.5, 0.0] + 0.3 * rng.standard_normal(3)
        solid(scene, moved(mesh, centre + [0.0, 0.15, 0.0]), velocity=velocity)
    half = 0.145
    points = shapes.box((2 * half, 0.4, 2 * half)).points - [half, 0.0, half]
    walls = pdgpu.Mesh(points, triangles=[row for row in shapes.box((1, 1, 1)).triangles if (points[row, 1] < 0.39).any()])
    scene.add_obstacle(walls, name="box")
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(1e-3, stiffness=1e5), steps=80 if fine else 8)


def sand(fine):
    """Grains are poured into a bowl."""
    rng = np.random.default_rng(2)
    shape = (8, 16, 8) if fine else (4, 4, 4)
    grid = np.stack(np.meshgrid(*(np.arange(n) - 0.5 * (n - 1) for n in shape), indexing="ij"), axis=-1).reshape(-1, 3)
    points = 0.006 * grid + rng.uniform(-5e-4, 5e-4, grid.shape)
    points[:, 1] += -0.036 - points[:, 1].min()
    scene = pdgpu.Scene(GRAVITY)
    scene.add_particles(points, mass=1e-4, velocity=np.array([0.0, -0.5, 0.0]) + 0.1 * rng.standard_normal(points.shape))
    whole = shapes.sphere(0.05, 3)
    bowl = pdgpu.Mesh(whole.points, triangles=whole.triangles[whole.points[whole.triangles, 1].max(axis=1) < 0.02])
    scene.add_obstacle(bowl.without_unused_vertices(), name="bowl")
    contact = pdgpu.BarrierContact(1e-3, stiffness=1e6, separation=2e-3, area_weighted=False)
    return ContactCase(scene=scene, contact=contact, steps=60 if fine else 6)


def thick_bodies(fine):
    """Grains, hairs, a cloth and a block fall on each other and on a ball, each as thick as it is."""
    rng, scene = np.random.default_rng(3), pdgpu.Scene(GRAVITY)
    half, count, cells = (0.08, 12, 12) if fine else (0.05, 4, 5)
    down = np.array([0.0, -1.0, 0.0])
    cloth(scene, sheet(2.0 * half, 2.0 * half, cells, 0.052), cells=cells, velocity=down, thickness=2e-3)
    for k in range(count):
        z = (k - 0.5 * (count - 1)) * 0.01
        hair = string(np.stack([np.linspace(-half, half, 13), np.full(13, 0.059 + 1e-3 * (k % 2)), np.full(13, z)], axis=1))
        scene.add_rod(hair, pdgpu.Spring(500.0), density=0.01, bending=1e-6, velocity=1.5 * down, thickness=1.5e-3, name=f"hair{k}")
    shape = (10, 8, 10) if fine else (3, 3, 3)
    grid = np.stack(np.meshgrid(*(np.arange(n) - 0.5 * (n - 1) for n in shape), indexing="ij"), axis=-1).reshape(-1, 3)
    points = 0.009 * grid + rng.uniform(-4e-4, 4e-4, grid.shape)
    points[:, 1] += 0.068 - points[:, 1].min()
    mass = np.where(np.arange(len(points)) % 2, 1e-2, 1e-5)  # 1000 : 1
    scene.add_particles(points, mass=mass, velocity=2.0 * down, thickness=7e-3, name="sand")
    block = cube(0.03, 3 if fine else 1, (0.0, points[:, 1].max() + 0.025, 0.0))
    solid(scene, block, velocity=2.5 * down, thickness=1e-3)
    scene.add_obstacle(pdgpu.Sphere((0.0, 0.0, 0.0), 0.05), name="ball")
    scene.add_obstacle(pdgpu.Plane((0.0, -0.06, 0.0), (0.0, 1.0, 0.0)), name="floor")
    contact = pdgpu.BarrierContact(1e-3, stiffness=1e6, area_weighted=False)
    return ContactCase(scene=scene, contact=contact, dt=1 / 200, steps=60 if fine else 5)


SCENES = {
    "needle": needle,
    "blade": blade,
    "spike": spike,
    "funnel": funnel,
    "knot": knot,
    "rings": rings,
    "rod round capsule": rod_round_capsule,
    "rods on capsules": rods_on_capsules,
    "twisted mat": twisted_mat,
    "twisted beam": twisted_beam,
    "squeezed bunny": squeezed_bunny,
    "squeezed armadillo": squeezed_armadillo,
    "cloth over creature": cloth_over_creature,
    "crossing cloths": crossing_cloths,
    "cloth on sphere": cloth_on_sphere,
    "thrown ball": thrown_ball,
    "cube on floor": cube_on_floor,
    "cube on cube": cube_on_cube,
    "stack": stack,
    "bodies in a box": bodies_in_a_box,
    "sand": sand,
    "thick bodies": thick_bodies,
}
# what every run of the tests does; together they have every kind of body, of obstacle and of pair
QUICK = (
    "needle",
    "blade",
    "spike",
    "funnel",
    "knot",
    "rings",
    "rods on capsules",
    "crossing cloths",
    "cloth on sphere",
    "thrown ball",
    "bodies in a box",
    "sand",
)


# ---- the same scene in another unit of length -------------------------------------------------------------------------------


def in_units(case, length):
    """A scene whose numbers are those of `case` in a unit of which a metre has `length`; seconds and kilograms stay."""
    scene = pdgpu.Scene(case.scene.gravity * length)
    for body in case.scene.bodies:
        others = dict(name=body.name, velocity=body.velocity * length, damping=body.damping, thickness=body.thickness * length)
        if body.type == "particles":
            copy = scene.add_particles(body.points * length, mass=body.masses, **others)
        else:
            mesh = pdgpu.Mesh(body.points * length, tets=body.mesh.tets, triangles=body.mesh.triangles, edges=body.mesh.edges)
            materials = [_material_in_units(material, body.type, length) for material in body.materials]
            dimension = {"solid": 3, "shell": 2, "rod": 1}[body.type]
            copy = getattr(scene, f"add_{body.type}")(mesh, materials, density=body.density / length**dimension, **others)
        for indices, motion in body.pins:
            copy.pin(indices, motion=motion and (lambda time, rest, motion=motion: length * motion(time, rest / length)))
    for obstacle in case.scene.obstacles:
        collider = obstacle.collider
        if isinstance(collider, pdgpu.TriangleMesh):
            mesh = pdgpu.Mesh(collider.mesh.points * length, triangles=collider.triangles)
            motion = collider.motion and (lambda time, rest, motion=collider.motion: length * motion(time, rest / length))
        else:
            lengths = {"point", "centre", "radius", "start", "end", "size"} & {field.name for field in dataclasses.fields(collider)}
            mesh = dataclasses.replace(collider, motion=None, **{name: np.multiply(getattr(collider, name), length) for name in lengths})
            motion = collider.motion and (lambda time, motion=collider.motion: (motion(time)[0], np.multiply(motion(time)[1], length)))
        scene.add_obstacle(mesh, name=obstacle.name, motion=motion)
    contact = dataclasses.replace(
        case.contact,
        distance=case.contact.distance * length,
        separation=case.contact.separation * length,
        stiffness=case.contact.stiffness / (length if case.contact.area_weighted else length**2),
    )
    positions = None if case.positions is None else case.positions * length
    return dataclasses.replace(case, scene=scene, contact=contact, positions=positions)


def _material_in_units(material, body, length):
    """N/m stays, Pa are kg/(m s^2), J are kg m^2/s^2."""
    if isinstance(material, pdgpu.Bending):
        return pdgpu.Bending(material.constant("stiffness", 1)[0] * length**2)
    if isinstance(material, pdgpu.RodBending):
        return pdgpu.RodBending(material.constant("stiffness", 1)[0] * length**3)
    if isinstance(material, pdgpu.Spring):
        return material
    assert body == "solid"
    return type(material).from_young(young=material.constant("young", 1)[0] / length, poisson=material.constant("poisson", 1)[0])
