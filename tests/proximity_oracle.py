"""What is near what by comparing everything with everything, and scenes for it: what the lists of the core are held against."""

import itertools

import numpy as np

import pdgpu
from pdgpu.collision import BroadPhase
from pdgpu.scene.colliders import placed_collider

VERTEX_TRIANGLE, EDGE_EDGE, VERTEX_COLLIDER = range(3)


def crumpled(seed, n=40):
    """Random triangles with common corners, rods and dust over them: points, triangles, rods, dust, fixed, owner."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, 3))
    if seed % 3 == 1:
        points = np.round(4.0 * points) / 4.0  # touching, parallel and degenerate pairs
    third = n // 2
    triangles = np.array([rng.choice(third, 3, replace=False) for _ in range(n)])
    rods = np.array([rng.choice(np.arange(third, n - 4), 2, replace=False) for _ in range(n // 3)])
    owner = np.where(np.arange(n) < third, 0, np.where(np.arange(n) < n - 4, 1, 2)).astype(np.int32)
    return points, triangles, rods, np.arange(n - 4, n), rng.random(n) < 0.2, owner


def make(seed, *, dtype="float64", threads=1, device="cpu", colliders=2, n_vertices=None, n=40, **weights):
    """A broad phase over such a scene and what is near in it, with a sphere and a plane."""
    points, triangles, rods, dust, fixed, owner = crumpled(seed, n)
    options = {"fixed": fixed, "bodies": owner, "self_collision": [True, seed % 2 == 0, True]}
    phase = BroadPhase(points, triangles, rods, particles=dust, dtype=dtype, threads=threads, device=device, **options)
    tested = np.setdiff1d(phase.vertices, np.flatnonzero(fixed))
    core = phase.proximity(
        len(points) if n_vertices is None else n_vertices, owner=owner, asked=tested, collider_owner=np.arange(3, 3 + colliders), **weights
    )
    for which, shape in enumerate(shapes()[:colliders]):
        core.set_collider(which, *placed_collider(shape, np.dtype(dtype), 0.0))
    return phase, core, points.astype(dtype), tested


def shapes():
    return [pdgpu.Sphere((0.5, 0.5, 0.5), 0.2), pdgpu.Plane((0, 0, 0.1), (0, 0, 1))]


def find(core, x, distance, unique=False):
    """Columns of what is near where all points are vertices."""
    return core.find(x, np.zeros((0, 3), x.dtype), distance, unique)


def near(phase, x, tested, distance, seed, colliders=2):
    """{(kind, corners): distance} of every pair that is near, by measuring all pairs in float64, in the order of the lists."""
    *_, fixed, owner = crumpled(seed, len(x))
    alone = np.array([True, seed % 2 == 0, True])
    x = x.astype(np.float64)
    found = {}

    def measured(kind, rows, n_first, measure):
        rows = np.array(rows).reshape(-1, 4)
        rows = rows[~fixed[rows[:, :n_first]].all(axis=1) | ~fixed[rows[:, n_first:]].all(axis=1)]
        body = owner[rows[:, [0, n_first]]]
        rows = rows[(body[:, 0] != body[:, 1]) | alone[body[:, 0]]]
        if len(rows):
            d = measure(x[rows]).distance
            found.update({(kind, tuple(row)): float(value) for row, value in zip(rows.tolist(), d, strict=True) if value <= distance})

    triangles, edges = phase.triangles.tolist(), phase.edges.tolist()
    pairs = [[v, *t] for v in phase.vertices.tolist() for t in triangles if v not in t]
    measured(VERTEX_TRIANGLE, pairs, 1, pdgpu.geometry.vertex_triangle)
    pairs = [[*a, *b] for a, b in itertools.combinations(edges, 2) if not set(a) & set(b)]
    measured(EDGE_EDGE, pairs, 2, pdgpu.geometry.edge_edge)
    for shape in shapes()[:colliders]:
        for v, d in zip(tested.tolist(), shape.distance(x[tested]).tolist(), strict=True):
            if d <= distance:
                found[VERTEX_COLLIDER, (v, -1, -1, -1), shape] = d
    return found
