"""An elbow and a mouth made of shapes, with bones that move, for Wang et al. 2021 (Localized collisions).

The paper's meshes are not public. These have its parts: flesh of tets, bones sampled with points that springs of length zero hold to
frames (`Body.attach`), proxies where skin can meet skin, and a collision-prone region around them.
"""

from dataclasses import dataclass

import numpy as np
from models import clock

import pdgpu

RADIUS, LENGTH, BONE = 0.045, 0.2, 0.012  # m: of the arm, of each half of it, of the bones
WIDTH, BEHIND = 0.022, 0.024  # m: of a mouth, from its middle to a corner; how far before the back of the face it ends


@dataclass
class Model:
    """A scene, and what its contact needs; `pose` says where its bones are: of the elbow its angle, of the jaw its angle and its shift."""

    scene: pdgpu.Scene
    proxies: object
    field: pdgpu.RestField
    prone: np.ndarray
    triangles: np.ndarray
    pose: dict

    def simulation(self, linear, iterations, stiffness=None, **options):
        """Quasistatic; without a stiffness nothing collides."""
        solver = pdgpu.ProjectiveDynamics(iterations=iterations, linear=linear, initialization="previous")
        contact = None if stiffness is None else pdgpu.ProxyContact(self.proxies, stiffness=stiffness, field=self.field)
        return pdgpu.Simulation(self.scene, solver, dt=None, contact=contact, **options)

    def prone_region(self, inner, **options):
        return pdgpu.SchurDirect(self.prone, inner=inner, **options)

    def rivals(self, active):
        """Who is to answer contact; `active` is what the second of two matrices has at every prone vertex, N/m."""
        chebyshev = pdgpu.Chebyshev(rho="lanczos", start=1)
        return {
            **{f"Schur, {inner} inner": self.prone_region(inner) for inner in (1, 3, 5, 20)},
            "all anew": pdgpu.Direct(),
            "two factors": self.prone_region(1, active=active),
            "PCG, 50": pdgpu.PCG(iterations=50),
            "Chebyshev-Jacobi, 50": pdgpu.Jacobi(iterations=50, chebyshev=chebyshev),
            "A-Jacobi 2, 25": pdgpu.AJacobi(order=2, iterations=25, chebyshev=chebyshev),
        }


@dataclass
class Untangled:
    """What a solver made of a state whose contact begins, of every iteration, the start first; `churn`: who came and went between them."""

    left: list
    seconds: list
    active: list
    deepest: list
    positions: list
    churn: int


def untangle(model, linear, start, iterations, stiffness, keep=()):
    """Iterations from `start`, one by one, so that their time is known (of one thread, all finding of contact included, what is factorised
    before the first not, as `clock.now` has it); positions of those in `keep`."""
    sim = model.simulation(linear, 1, stiffness, threads=1)
    sim.set_state(positions=start)
    free, found, before = model.scene.fixed() == 0, Untangled([], [0.0], [], [], {}, 0), None
    for k in range(iterations + 1):
        if k:
            begin = clock.now(sim.device)
            sim.step(time=0.0)
            found.seconds.append(found.seconds[-1] + clock.now(sim.device) - begin)
        at = sim.proxies()
        found.left.append(float(np.linalg.norm(sim.gradient()[free])))
        found.active.append(int(at.active.sum()))
        found.deepest.append(float(np.linalg.norm(at.points - at.targets, axis=1).max()))
        found.churn += 0 if before is None else int((at.active != before).sum())
        before = at.active
        if k in keep:
            found.positions[k] = sim.positions
    found.left = [force / found.left[0] for force in found.left]
    return found


def cell_centres(points, tets, side):
    """Of the cube of a grid from the origin that each tet is in, so that cubes are kept or left out whole."""
    return (np.floor(points[tets].mean(axis=1) / side) + 0.5) * side


def still(_time):
    return np.eye(3), np.zeros(3)


def skin_of_arm(around=48):
    """A tube along x that is a little narrower in its middle, closed at both ends."""
    along = round(2 * LENGTH * around / (2 * np.pi * RADIUS)) + 1
    x, angle = np.linspace(-LENGTH, LENGTH, along), np.linspace(0, 2 * np.pi, around, endpoint=False)
    radius = RADIUS * (1.0 - 0.12 * np.exp(-((x / 0.04) ** 2)))
    sides = np.stack([np.repeat(x, around), np.outer(radius, np.cos(angle)).ravel(), np.outer(radius, np.sin(angle)).ravel()], axis=1)
    points = np.concatenate([sides, [[-LENGTH, 0, 0], [LENGTH, 0, 0]]])
    ring, this = np.arange(along - 1)[:, None] * around, np.arange(around)
    a, b = (ring + this).ravel(), (ring + (this + 1) % around).ravel()
    first, last = len(sides), len(sides) + 1
    end, after = len(sides) - around + this, len(sides) - around + (this + 1) % around
    caps = [np.stack([np.full(around, first), (this + 1) % around, this], 1), np.stack([np.full(around, last), end, after], 1)]
    return pdgpu.Mesh(points, triangles=np.concatenate([np.stack([a, b, a + around], 1), np.stack([b, b + around, a + around], 1), *caps]))


def in_fold(points, margin=0.0):
    """Where the skin of the arm meets itself once it is bent: less far along the arm the nearer to its sides. `margin`: m, on all sides."""
    x, y, _ = np.transpose(points)
    return (y > 0.2 * RADIUS - margin) & (np.abs(x) < 0.06 * y / RADIUS + margin)


def elbow(spacing, apart=0.012, around=48):
    """A straight arm in a grid of cubes of that side, m, six tets each; its forearm turns about z through the middle of the arm.
    `apart`: what is nearer to each other at rest does not collide, m; `around`: points in a ring of the skin."""
    skin = skin_of_arm(around)
    size = np.array([2 * LENGTH, 2 * RADIUS, 2 * RADIUS]) + 2 * spacing
    cells = np.ceil(size / spacing).astype(int)
    block = pdgpu.shapes.beam(cells * spacing, cells=cells)
    middle = 0.5 * cells * spacing
    centres = cell_centres(block.points, block.tets, spacing) - middle
    inside = np.hypot(centres[:, 1], centres[:, 2]) < RADIUS + 0.8 * spacing
    mesh = pdgpu.Mesh(block.points - middle, tets=block.tets[inside]).without_unused_vertices()

    pose = {"angle": 0.0}

    def forearm(_time):
        c, s = np.cos(pose["angle"]), np.sin(pose["angle"])
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), np.zeros(3)

    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    arm = scene.add_solid(mesh, pdgpu.ARAP(2e4), density=1000.0, name="arm")
    arm.embed(skin, name="skin")
    rng = np.random.default_rng(0)
    for name, low, high, frame in (("humerus", 0.005 - LENGTH, -BONE, still), ("ulna", BONE, LENGTH - 0.005, forearm)):
        turn = rng.uniform(0, 2 * np.pi, 400)
        bone = np.stack([rng.uniform(low, high, 400), BONE * np.cos(turn), BONE * np.sin(turn)], axis=1)
        arm.attach(arm.embed(bone, name=name), frame=frame, stiffness=2e3)
    proxies = arm.embed(skin.points[in_fold(skin.points)] * [1.0, 0.999, 0.999], name="fold")
    x, y, z = mesh.points.T
    under = RADIUS * (1.0 - 0.12 * np.exp(-((x / 0.04) ** 2))) - np.hypot(y, z)  # the skin
    crossed = mesh.tets[(under[mesh.tets].min(axis=1) < 0.1 * spacing) & (under[mesh.tets].max(axis=1) > -0.1 * spacing)]
    near = np.intersect1d(crossed, np.flatnonzero(in_fold(mesh.points, 1.2 * spacing)))
    prone = np.union1d(near, proxies.matrix.indices)
    return Model(scene, "fold", pdgpu.RestField("skin", spacing=0.003, apart=apart), prone, skin.triangles, pose)


def mouth(spacing):
    """Flesh with a slit between two lips that is open at rest, 12 mm high, WIDTH to both sides and from BEHIND to the front; the lower jaw
    turns about a line behind, and slides along it."""
    width, height, depth = 0.08, 0.07, 0.05
    cells = np.round(np.array([width, height, depth]) / spacing).astype(int)
    cells[1] += 1 - cells[1] % 2  # one row of cells in the middle is the slit
    block = pdgpu.shapes.beam((width, height, depth), cells=cells)
    middle, side = np.array([0.5 * width, 0.5 * height, 0.0]), height / cells[1]
    centres = cell_centres(block.points, block.tets, np.array([width, height, depth]) / cells) - middle
    slit = (np.abs(centres[:, 0]) < WIDTH) & (np.abs(centres[:, 1]) < 0.5 * side) & (centres[:, 2] > BEHIND)
    mesh = pdgpu.Mesh(block.points - middle, tets=block.tets[~slit]).without_unused_vertices()
    x, y, z = mesh.points.T
    near = np.abs(y)
    opening = 0.006 * np.clip(1.0 - (x / (WIDTH + 0.002)) ** 2, 0.0, 1.0) * np.clip((z - BEHIND + 0.004) / 0.012, 0.0, 1.0)
    lips = 0.005 * np.exp(-((np.abs(y) - 0.006) ** 2) / 0.006**2 - (x / (WIDTH - 0.002)) ** 2)
    shaped = np.stack(
        [
            x,
            y + np.sign(y) * opening * np.clip(1.0 - (near - 0.5 * side) / 0.028, 0.0, 1.0),
            z * (1.0 - 0.35 * (x / width) ** 2 - 0.5 * (y / height) ** 2) + lips * z / depth,
        ],
        axis=1,
    )
    flesh = pdgpu.Mesh(shaped, tets=mesh.tets)
    pose = {"angle": 0.0, "shift": 0.0}

    def mandible(_time):
        c, s = np.cos(pose["angle"]), np.sin(pose["angle"])
        turn, hinge = np.array([[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]]), np.array([0.0, 0.0, -0.01])
        return turn, hinge - turn @ hinge + [pose["shift"], 0.0, 0.0]

    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    body = scene.add_solid(flesh, pdgpu.ARAP(2e4), density=1000.0, name="flesh")
    rng = np.random.default_rng(0)
    for name, sign, frame in (("maxilla", 1.0, still), ("mandible", -1.0, mandible)):
        bone = rng.uniform((-0.032, 0.019, 0.003), (0.032, 0.029, 0.032), size=(500, 3)) * [1.0, sign, 1.0]
        body.attach(body.embed(bone, name=name), frame=frame, stiffness=2e3)
    inside = (np.abs(x) < WIDTH + 1e-9) & (z > BEHIND - side)
    proxies = np.intersect1d(np.flatnonzero(inside & (near < 0.51 * side)), flesh.surface)
    front = z > depth - 1.5 * spacing  # a lip is pushed out forwards, too
    high = np.where(front, 0.5 * side + max(0.008, 3.1 * spacing), 1.6 * side)
    prone = np.flatnonzero((np.abs(x) < WIDTH + 1.5 * spacing) & (z > BEHIND - 1.5 * spacing) & (near < high))
    return Model(scene, proxies, pdgpu.RestField("flesh", spacing=0.6 * spacing, apart=1.5 * spacing), prone, flesh.surface, pose)
