"""Distances of pairs of primitives in batches: closest points, gradients, Hessians, and a lower bound that includes rounding.

A pair is an array of corner positions (k, 3), m; functions take n of them, (n, k, 3):

    vertex_vertex    k = 2   rows p; a
    vertex_edge      k = 3   rows p; e0, e1
    vertex_triangle  k = 4   rows p; t0, t1, t2
    edge_edge        k = 4   rows a0, a1; b0, b1

Results are computed in float32 if all inputs are float32, otherwise in float64. Segments without length and triangles without area are
valid. `device` is "cpu" or "cuda", by default PDGPU_DEVICE or else "cpu"; every call transfers the arrays. PDGPU_DTYPE has no effect on
the precision, which follows the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import any_array, choice, flag, real_view
from pdgpu._internal.backends import backend, device_or_default, thread_count
from pdgpu.collision.intersections import find_intersections

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Device, Floats

__all__ = [
    "Closest",
    "EdgeEdgeFeature",
    "VertexEdgeFeature",
    "VertexTriangleFeature",
    "edge_edge",
    "edge_edge_mollifier",
    "find_intersections",
    "gradient",
    "hessian",
    "lower_bound",
    "vertex_edge",
    "vertex_triangle",
    "vertex_vertex",
]

PAIRS = ("vertex_vertex", "vertex_edge", "vertex_triangle", "edge_edge")  # PD_VERTEX_VERTEX, .. of csrc/geometry/pair.h
CORNERS = (2, 3, 4, 4)
GRADIENT, GRADIENT_SQUARED, HESSIAN, HESSIAN_SQUARED, BOUND = range(5)  # PD_PAIR_... of csrc/loops/geometry_loops.h


class VertexEdgeFeature(IntEnum):
    """The nearest part of the edge."""

    VERTEX_0 = 0
    VERTEX_1 = 1
    EDGE = 2


class VertexTriangleFeature(IntEnum):
    """The nearest part of the triangle."""

    VERTEX_0 = 0
    VERTEX_1 = 1
    VERTEX_2 = 2
    EDGE_01 = 3
    EDGE_12 = 4
    EDGE_20 = 5
    FACE = 6


class EdgeEdgeFeature(IntEnum):
    """The nearest parts of edges A and B: ends a0, a1, b0, b1, or the interior of A or B."""

    A0_B0 = 0
    A0_B1 = 1
    A1_B0 = 2
    A1_B1 = 3
    A_B0 = 4
    A_B1 = 5
    A0_B = 6
    A1_B = 7
    A_B = 8


@dataclass(frozen=True, eq=False)
class Closest:
    """Closest points of n pairs.

    Attributes
    ----------
    distance : ndarray, shape (n,)
        m.
    weights : ndarray, shape (n, k)
        Signed barycentric weights: those of the first primitive sum to 1, those of the second to -1, and
        ``gap = sum_j weights[j] x[j]``. Vertex-triangle: (1, -w0, -w1, -w2); edge-edge: (1-s, s, -(1-t), -t).
    gap : ndarray, shape (n, 3)
        From the closest point of the second primitive to that of the first, m.
    normal : ndarray, shape (n, 3)
        The unit vector along `gap`. At distance zero: a unit vector perpendicular to the nearest features, of either sign.
    feature : ndarray of int32, shape (n,)
        `VertexEdgeFeature`, `VertexTriangleFeature` or `EdgeEdgeFeature`; 0 for vertex-vertex. One of them at equal distance.
    """

    distance: np.ndarray
    weights: np.ndarray
    gap: np.ndarray
    normal: np.ndarray
    feature: np.ndarray


def common_precision(*arrays: Any) -> Any:
    """float32 if all arrays have it, otherwise float64."""
    return np.float32 if all(getattr(array, "dtype", None) == np.float32 for array in arrays) else np.float64


def corners_array(name: str, x: Any, k: int, dtype: Any, n: int | None = None) -> Floats:
    """`x` as a contiguous (n, k, 3) array of finite numbers of dtype."""
    array = any_array(name, x)
    if array.size == 0 and array.ndim == 1:
        array = np.zeros((0, k, 3))
    return real_view(name, array, (n, k, 3), dtype)


def _closest(pair: Any, x: Any, device: Any, threads: Any) -> Closest:
    kind, dtype = PAIRS.index(pair), common_precision(x)
    x = corners_array("x", x, CORNERS[kind], dtype)
    weights, gap, normal, distance, feature = backend(device_or_default(device), dtype).pair_closest(kind, x, thread_count(threads))
    return Closest(distance, weights, gap, normal, feature)


def vertex_vertex(x: ArrayLike, *, device: Device | None = None, threads: int = 0) -> Closest:
    """Distance of pairs of vertices; see `vertex_triangle`. x: (n, 2, 3), rows p, a."""
    return _closest("vertex_vertex", x, device, threads)


def vertex_edge(x: ArrayLike, *, device: Device | None = None, threads: int = 0) -> Closest:
    """Closest points of vertices and edges; see `vertex_triangle`. x: (n, 3, 3), rows p, e0, e1."""
    return _closest("vertex_edge", x, device, threads)


def vertex_triangle(x: ArrayLike, *, device: Device | None = None, threads: int = 0) -> Closest:
    """Closest points of vertices and triangles.

    Parameters
    ----------
    x : array_like, shape (n, 4, 3)
        Rows p, t0, t1, t2, m.
    device : "cpu", "cuda" or one of several GPUs such as "cuda:1"; default: PDGPU_DEVICE, else "cpu"
    threads : int
        0: all cores. The result does not depend on it. Ignored on "cuda".

    Returns
    -------
    Closest

    Raises
    ------
    ValueError
        A wrong shape, or a coordinate that is not finite.
    TypeError
        Values that are not real numbers.
    RuntimeError
        A device that does not exist.

    Notes
    -----
    A triangle is three segments and, if the vertex projects into it, a plane; the nearest is taken [Ericson 2005, Real-Time Collision
    Detection, Sec. 5.1].

    Examples
    --------
    >>> x = np.array([[[0.2, 0.3, 0.5], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> float(pdgpu.geometry.vertex_triangle(x).distance[0])
    0.5
    """
    return _closest("vertex_triangle", x, device, threads)


def edge_edge(x: ArrayLike, *, device: Device | None = None, threads: int = 0) -> Closest:
    """Closest points of pairs of edges; see `vertex_triangle`. x: (n, 4, 3), rows a0, a1, b0, b1.

    Parallel edges may have an interval of equally near points. Then one of their pairs is returned: an end and a point of the other edge.
    """
    return _closest("edge_edge", x, device, threads)


def _quantity(pair: Any, quantity: Any, x: Any, device: Any, threads: Any) -> Floats:
    choice("pair", pair, PAIRS)
    kind, dtype = PAIRS.index(pair), common_precision(x)
    x = corners_array("x", x, CORNERS[kind], dtype)
    return backend(device_or_default(device), dtype).pair_batch(kind, quantity, x, thread_count(threads))


def gradient(pair: str, x: ArrayLike, *, squared: bool = False, device: Device | None = None, threads: int = 0) -> Any:
    """Derivative of the distance (or of its square) by the corner positions, (n, k, 3).

    Parameters
    ----------
    pair : str
        "vertex_vertex", "vertex_edge", "vertex_triangle" or "edge_edge".
    x : array_like, shape (n, k, 3)
        m.
    squared : bool
        The derivative of the squared distance, m, instead of that of the distance, without unit.
    device, threads
        As for `vertex_triangle`, and so are the errors.

    Returns
    -------
    ndarray, shape (n, k, 3)

    Notes
    -----
    The gradient is weight x normal, or weight x 2 gap: the closest points are a minimum, so their motion has no first-order effect. At
    distance 0 the distance has no derivative; a one-sided one is returned.
    """
    return _quantity(pair, GRADIENT_SQUARED if flag("squared", squared) else GRADIENT, x, device, threads)


def hessian(pair: str, x: ArrayLike, *, squared: bool = False, device: Device | None = None, threads: int = 0) -> Any:
    """Second derivative of the distance, 1/m, or of its square, without unit: (n, 3k, 3k), row 3 i + axis for corner i.

    It is exactly symmetric and in general indefinite. It jumps at a change of the nearest feature. For vertex-vertex and vertex-edge
    features it grows without bound towards distance 0, where that term is left out. It stays finite at distance 0 for face-vertex and
    edge-edge features. Arguments and errors as for `gradient`.
    """
    return _quantity(pair, HESSIAN_SQUARED if flag("squared", squared) else HESSIAN, x, device, threads)


def lower_bound(pair: str, x: ArrayLike, *, device: Device | None = None, threads: int = 0) -> Floats:
    """A lower bound of the exact distance of exactly these coordinates, including rounding, (n,) m.

    For well-shaped pairs it is below the distance by some 1e-15 (float32: 1e-6) of the size of the pair. For slivers and nearly parallel
    edges it is below it by at most the width that rounding leaves undecided. Arguments and errors as for `gradient`.
    """
    return _quantity(pair, BOUND, x, device, threads)


def edge_edge_mollifier(x: ArrayLike, rest: ArrayLike, *, derivatives: bool = False, device: Device | None = None, threads: int = 0) -> Any:
    """The factor that makes an energy of the distance of nearly parallel edges smooth [Li et al. 2020, IPC, Eq. 24].

    m = (2 - c/eps) c/eps for c < eps, else 1, with c = \\|e_a x e_b\\|² and eps = 1e-3 \\|e_a\\|² \\|e_b\\|² at rest.

    Parameters
    ----------
    x, rest : array_like, shape (n, 4, 3)
        Rows a0, a1, b0, b1, now and at rest, m. The factor of an edge without rest length is 1.
    derivatives : bool
        Return also the gradient (n, 4, 3), 1/m, and the Hessian (n, 12, 12), 1/m².

    Returns
    -------
    ndarray, shape (n,), or tuple of three ndarrays with `derivatives`

    Raises
    ------
    ValueError, TypeError, RuntimeError
        As for `vertex_triangle`, and for shapes that differ.
    """
    dtype = common_precision(x, rest)
    x = corners_array("x", x, 4, dtype)
    rest = corners_array("rest", rest, 4, dtype)
    if rest.shape != x.shape:
        raise ValueError(f"rest: expected shape {x.shape} as x, got {rest.shape}")
    return backend(device_or_default(device), dtype).mollifier(x, rest, int(flag("derivatives", derivatives)), thread_count(threads))
