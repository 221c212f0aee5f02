"""Surface meshes in near contact, for tests and for the stored numbers of ipctk; each (x, triangles, edges, rest, distance)."""

import numpy as np

from pdgpu import shapes


def joined(*meshes):
    """Points and triangles of several meshes, (points, triangles) each."""
    starts = np.cumsum([0, *(len(points) for points, _ in meshes)])
    triangles = [np.asarray(rows) + start for (_, rows), start in zip(meshes, starts, strict=False)]
    return np.concatenate([points for points, _ in meshes]), np.concatenate(triangles)


def layers(cells=12, noise=0.1, seed=0):
    """Two sheets of cloth a little more than half the activation distance apart, aligned but for the noise: many nearly parallel edges."""
    rng, distance = np.random.default_rng(seed), 0.02 * 12 / cells
    sheet = shapes.grid((1, 1), cells=(cells, cells))
    upper = np.array(sheet.points) + [0.003 * 12 / cells, 0.002 * 12 / cells, 0.6 * distance]
    rest, triangles = joined((np.array(sheet.points), sheet.triangles), (upper, sheet.triangles))
    return rest + noise * distance * rng.normal(size=rest.shape), triangles, None, rest, distance


def ball_on_box():
    """A ball whose lowest vertices are just above a box."""
    ball, box = shapes.sphere(0.5, 2), shapes.box((1, 1, 1))
    lowest = float(np.array(ball.points)[:, 2].min())
    top = float(np.array(box.points)[:, 2].max())
    points = np.array(ball.points) + [0.03, 0.02, top - lowest + 0.01]
    rest, triangles = joined((points, ball.triangles), (np.array(box.points), box.triangles))
    return rest, triangles, None, rest, 0.03


def fold():
    """A sheet folded over so that it nearly touches itself."""
    sheet = shapes.grid((1, 0.4), cells=(40, 8))
    rest = np.array(sheet.points)
    s = rest[:, 0] - rest[:, 0].min()
    radius, straight = 0.012, 0.45
    turn = np.clip((s - straight) / radius, 0, np.pi)
    x = rest.copy()
    x[:, 0] = np.minimum(s, straight) + radius * np.sin(turn) - np.maximum(s - straight - np.pi * radius, 0)
    x[:, 2] = radius * (1 - np.cos(turn)) + 0.002 * np.sin(40 * rest[:, 1] + 11 * s)
    return x, sheet.triangles, None, rest, 0.022


def crossing_boxes():
    """Two boxes edge against edge, corner against face and face over face."""
    box, ball = shapes.box((1, 1, 1)), shapes.sphere(0.2, 0)
    points = np.array(box.points) - np.array(box.points).mean(axis=0)
    angle = np.pi / 4
    turned = points @ np.array([[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]])
    third = points + [1.004, 0.1, 0.2]
    top = np.array(ball.points) * 0.3 + [1.2, 0.3, 0.2 + 0.5 + 0.06 + 0.003]
    turned[:, 2] -= 0.5 + np.sqrt(0.5) + 0.006
    rest, triangles = joined((points, box.triangles), (turned, box.triangles), (third, box.triangles), (top, ball.triangles))
    return rest, triangles, None, rest, 0.01


def nested_balls():
    """A ball within a ball, turned a little: faces over faces all around."""
    ball = shapes.sphere(0.5, 3)
    points, angle = np.array(ball.points), 0.05
    inner = 0.985 * points @ np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    rest, triangles = joined((points, ball.triangles), (inner, ball.triangles))
    return rest, triangles, None, rest, 0.008


def rods_and_particles(seed=3):
    """Crossing rods, particles near them and near one another, all above a triangle."""
    rng = np.random.default_rng(seed)
    t = np.linspace(-0.5, 0.5, 9)
    one = np.stack([t, 0 * t, 0.02 + 0.003 * np.sin(9 * t)], axis=1)
    two = np.stack([0.1 + 0 * t, t, 0.028 + 0 * t], axis=1)
    dots = np.stack([rng.uniform(-0.4, 0.4, 30), 0.01 * rng.normal(size=30), 0.03 + 0.004 * rng.normal(size=30)], axis=1)
    face = np.array([[-2.0, -2, 0.008], [2, -2, 0.008], [0, 3, 0.008]])
    x = np.concatenate([one, two, dots, face])
    chain = np.stack([np.arange(8), np.arange(1, 9)], axis=1)
    return x, np.array([[48, 49, 50]]), np.concatenate([chain, chain + 9]), x, 0.015


MESHES = {
    "layers": layers,
    "ball on box": ball_on_box,
    "fold": fold,
    "crossing boxes": crossing_boxes,
    "nested balls": nested_balls,
    "rods and particles": rods_and_particles,
}


def probe(n):
    """A fixed direction (3n,): what gradients and Hessians are measured along."""
    return np.cos(1.0 + 0.7 * np.arange(3 * n))
