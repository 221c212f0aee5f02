"""Pairs of primitives, each with corners of its own, and what a compiled module says of their contact."""

import numpy as np

from pdgpu import contact
from pdgpu.contact import contact_surface

PLANE = contact_surface.VERTEX_PLANE


def evaluate(
    module, quantity, kind, x, *, distance=1.0, separation=0.0, weight=1.0, threshold=0.0, stiffness=1.0, physical=False, threads=1
):
    """A quantity (pdgpu.contact.contact_pairs.QUANTITIES) of n pairs of one kind, x (n, k, 3), by the barrier, without absent parts."""
    dtype = np.float32 if module.__name__.endswith("f32") else np.float64
    n, k = x.shape[:2]
    points = np.full((n, 4), -1, np.int32)
    points[:, :k] = np.arange(n * k).reshape(n, k)
    numbers = [np.array(np.broadcast_to(value, n), dtype) for value in (distance, separation, weight, threshold)]
    at = np.ascontiguousarray(x.reshape(-1, 3), dtype)
    number = contact.contact_pairs.QUANTITIES.index(quantity)
    result = module.contact_batch(0, int(physical), stiffness, number, np.full(n, kind, np.int32), points, *numbers, at, threads)
    if quantity == "gradient":
        return result[:, :k]
    if quantity.startswith("hessian"):
        return result[:, : 3 * k, : 3 * k]
    return result[:, :k] if quantity.startswith("blocks") else result


def thresholds(module, x):
    """Where the mollifier of pairs of edges at rest at x ends, (n,) m^4."""
    return evaluate(module, "threshold", contact_surface.EDGE_EDGE, x)


def random_pairs(module, kind, n, seed, *, reach=1.0, least=0.05, parallel=0.3):
    """About n pairs of a kind of size 1, at distances between least and reach; so many of the pairs of edges are nearly parallel."""
    rng = np.random.default_rng(seed)
    x = 0.6 * rng.normal(size=(4 * n, contact_surface.CORNERS[kind], 3))
    if kind == contact_surface.EDGE_EDGE:
        some = slice(0, int(parallel * len(x)))
        along = (x[some, 1] - x[some, 0]) * rng.uniform(0.3, 1.5, (len(x[some]), 1))
        x[some, 3] = x[some, 2] + along + 0.01 * rng.normal(size=along.shape)
    if kind == PLANE:
        x[:, 2] /= np.linalg.norm(x[:, 2], axis=1, keepdims=True)
    d = evaluate(module, "distance", kind, x)
    near = np.flatnonzero((d > least) & (d < reach))
    return x[np.sort(rng.permutation(near)[:n])]
