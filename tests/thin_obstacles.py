"""Scenes with segments and points as obstacles: a cloth over a wire, a pin cushion and a grid of points, and a swept wire."""

import numpy as np
from contact_scenes import GRAVITY, NO_GRAVITY, ContactCase, cloth, moved, sheet, solid, string

import pdgpu
from pdgpu import shapes

SEPARATION = 2e-3


def grid(width, n):
    """n x n places around the y axis, at height 0."""
    axis = np.linspace(-0.5 * width, 0.5 * width, n)
    return np.stack([each.ravel() for each in np.meshgrid(axis, 0.0, axis)], axis=1)


def needles(tips, length):
    """Segments that stand below their tips."""
    n = len(tips)
    return pdgpu.Segments(np.concatenate([tips, tips - [0.0, length, 0.0]]), np.arange(2 * n).reshape(2, n).T)


def wire(n=1):
    """Along x, of n segments."""
    x = np.linspace(-0.2, 0.2, n + 1)
    return pdgpu.Segments(np.stack([x, 0.0 * x, 0.0 * x], axis=1), np.stack([np.arange(n), np.arange(1, n + 1)], axis=1))


COLLIDERS = {"wire": lambda: wire(3), "pin cushion": lambda: needles(grid(0.24, 5), 0.3), "points": lambda: pdgpu.Points(grid(0.24, 5))}


def draped(name, *, dt=1 / 100, steps=12, contact=None, cells=8, height=0.006, **settings):
    """A cloth 0.3 m wide above one of the colliders; it begins to touch after a few steps."""
    scene = pdgpu.Scene(GRAVITY)
    mesh = moved(sheet(0.3, 0.3, cells, height), [0.003, 0.0, 0.002])
    cloth(scene, mesh, cells=cells, velocity=(0.0, -0.5, 0.0))
    scene.add_obstacle(COLLIDERS[name](), name="thin")
    contact = pdgpu.BarrierContact(2e-3, stiffness=3e4, separation=SEPARATION) if contact is None else contact
    return ContactCase(scene=scene, contact=contact, dt=dt, steps=steps, iterations=10, **settings)


def swept(speed=1.0, *, dt=1 / 100, steps=12, kind="segments", contact=None):
    """A wire, or a row of points, that goes through a soft block's place along z and must push the block ahead."""
    scene = pdgpu.Scene(NO_GRAVITY)
    block = shapes.beam((0.1, 0.1, 0.1), cells=(3, 3, 3))
    solid(scene, moved(block, [-0.05, -0.05, 0.006]), 1e4, 100.0, name="block")
    collider = wire(8) if kind == "segments" else pdgpu.Points(wire(40).points)
    scene.add_obstacle(collider, motion=lambda time, rest: rest + [0.0, 0.0, speed * time], name="thin")
    contact = pdgpu.BarrierContact(2e-3, separation=SEPARATION) if contact is None else contact
    return ContactCase(scene=scene, contact=contact, dt=dt, steps=steps, iterations=30)


def attack(seed):
    """Random needles and points, at rest and moving, and a cloth, a rod, grains and a rigid ball that are thrown at them."""
    rng = np.random.default_rng(seed)
    scene = pdgpu.Scene((0.0, -9.81 * rng.integers(0, 2), 0.0))
    for k in range(3):
        n = int(rng.integers(4, 12))
        velocity = 0.5 * rng.normal(size=3) * [1.0, 0.2, 1.0]
        motion = (lambda time, rest, velocity=velocity: rest + velocity * time) if k == 2 else None
        base = rng.uniform(-0.1, 0.1, size=(n, 3)) * [1.0, 0.3, 1.0]
        ends = base + 0.1 * rng.normal(size=(n, 3)) * [1.0, 0.1, 1.0]
        rows = np.arange(2 * n).reshape(2, n).T
        collider = pdgpu.Points(base) if rng.random() < 0.5 else pdgpu.Segments(np.concatenate([base, ends]), rows)
        scene.add_obstacle(collider, motion=motion, name=f"thin{k}")
    throw = {"velocity": (0.0, -float(rng.uniform(2.0, 5.0)), 0.0)}
    turn, spring = np.linalg.qr(rng.normal(size=(3, 3)))[0], pdgpu.Spring(400.0)
    flat = sheet(0.2, 0.2, 5)
    scene.add_shell(pdgpu.Mesh(flat.points @ turn.T + [0.0, 0.24, 0.0], triangles=flat.triangles), spring, density=0.2, **throw)
    line = np.linspace(-0.1, 0.1, 8)[:, None] * turn[0] + [0.0, 0.5, 0.0]
    scene.add_rod(string(line), spring, density=0.05, bending=1e-4, **throw)  # too stiff to fold onto its own next edge
    scene.add_particles(rng.uniform(-0.05, 0.05, (8, 3)) + [0.0, 0.7, 0.0], mass=1e-3, **throw)
    scene.add_rigid(moved(shapes.sphere(0.04, 1), [0.01, 0.82, 0.02]), density=300.0, **throw)
    contact = pdgpu.BarrierContact(2e-3, separation=float(rng.choice([0.0, 1e-3])), friction=float(rng.choice([0.0, 0.4])))
    return ContactCase(scene=scene, contact=contact, dt=1 / 60, steps=15)
