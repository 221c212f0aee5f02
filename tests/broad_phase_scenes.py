"""Random scenes for broad phases, and a fingerprint of the pairs they find."""

import hashlib

import numpy as np

import pdgpu


def digest(pairs):
    return hashlib.sha256(b"|".join(np.ascontiguousarray(part, np.int32).tobytes() for part in pairs)).hexdigest()


def random_scene(seed):
    """Points at rest and their motion, triangles, rods and options; sizes from none to some hundred, shapes from points to planes."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([3, 4, 12, 60, 200]))
    rest = rng.random((n, 3)) * 10.0 ** rng.integers(-3, 4)
    shape = seed % 6
    if shape == 1:
        rest[:, 2] = 0.5  # flat
    if shape == 2:
        rest = np.round(rest / rest.max() * 4)  # a lattice: touching and degenerate boxes
    if shape == 3:
        rest[: n // 2] = rest[0]  # many in one place
    if shape == 4:
        rest += 1e4 * np.ptp(rest)
    n_triangles, n_rods = int(rng.integers(0, 2 * n)), int(rng.integers(0, n))
    triangles = np.array([rng.choice(n, 3, replace=False) for _ in range(n_triangles)]).reshape(-1, 3)
    rods = np.array([rng.choice(n, 2, replace=False) for _ in range(n_rods)]).reshape(-1, 2)
    if shape == 5:  # one huge and many tiny triangles
        centres = rng.random((n, 1, 3))
        tiny = centres + 0.01 * rng.standard_normal((n, 3, 3))
        rest = np.concatenate([tiny.reshape(-1, 3), [[-9, -9, 0.5], [9, -9, 0.5], [0, 9, 0.5]]])
        triangles = np.arange(len(rest)).reshape(-1, 3)
        rods = np.zeros((0, 2), int)
    size = np.ptp(rest, axis=0).max(initial=0.0)
    end = None if seed % 4 == 0 else rest + (0.0 if shape == 2 else 0.1 * size) * rng.standard_normal(rest.shape)
    distance = 0.0 if shape == 2 or seed % 3 == 0 else 0.03 * size
    options = {}
    if seed % 5 == 1:
        options["fixed"] = rng.random(len(rest)) < 0.5
    return rest, end, triangles, rods, distance, options


def three_spheres(subdivisions):
    """Spheres through each other: points, triangles, and the body of each point."""
    rng = np.random.default_rng(11)
    sphere = pdgpu.shapes.sphere(0.5, subdivisions)
    n = len(sphere.points)
    points = np.concatenate([sphere.points + rng.random(3) * 0.4 for _ in range(3)])
    return points, np.concatenate([sphere.triangles + n * k for k in range(3)]), np.repeat([0, 1, 2], n)
