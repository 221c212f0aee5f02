"""Continuous collision detection: times of impact of moving vertex-triangle and edge-edge pairs.

All corners move along straight lines, x(t) = x_t0 + t (x_t1 - x_t0), t in [0, 1]. A contact is a distance of at most `separation`; with
0, touching is a contact. Every method returns a safe time: there is no contact up to it, also after the positions at that time are rounded
once more. No contact is missed. A method may report a near miss as a contact, if the distance falls below a tenth of its start value.

Methods differ on such near misses. Edges that end near each other, and would touch only later, are a contact for "certified" and
"additive", which go by the distance. "min_gradient" goes by coplanarity, and reports no contact if the four corners are coplanar only after
the step. Near a coplanarity it may report a near miss that the others do not. So compare times of two methods only where both report a
contact.

    "certified"     conservative advancement by distance and volume, with all rounding counted; the default
    "min_gradient"  the minimum-gradient Newton search for coplanarity [Lan et al. 2022, Projective IPC, Sec. 6], made safe
    "additive"      advancement by distances only [Li et al. 2021, Codimensional IPC, Alg. 1]

Results are computed in float32 if all inputs are float32, otherwise in float64; PDGPU_DTYPE has no effect. In float32, gaps and separations
below about 64 · 6e-8 of the largest coordinate cannot be distinguished from contact, and sometimes those of thin triangles and nearly
parallel edges. Such a start is reported as too close, and a single one makes the result of `earliest` 0. This happens in all three lists
of benchmarks/results/ccd.csv, but not in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import any_array, choice, contiguous, number, real_view
from pdgpu._internal.backends import backend, device_or_default, thread_count
from pdgpu.collision.geometry import PAIRS, common_precision, corners_array

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Device

__all__ = ["Collisions", "Earliest", "Reason", "earliest", "edge_edge", "vertex_triangle"]

METHODS = ("certified", "min_gradient", "additive")  # PD_CCD_... of csrc/geometry/collision.h


class Reason(IntEnum):
    """The end of a query."""

    NO_CONTACT = 0  #: none in the whole step; the time is infinite
    CONTACT = 1  #: no contact up to the returned time; a contact soon after it cannot be excluded
    START_TOO_CLOSE = 2  #: the distance at t = 0 is at most the separation plus rounding; the time is 0
    CUT_SHORT = 3  #: the iterations are used up: the time is as safe as with CONTACT, but earlier


@dataclass(frozen=True, eq=False)
class Collisions:
    """The result of n queries.

    Attributes
    ----------
    toi : ndarray, shape (n,)
        A safe time in [0, 1): no contact up to it. Infinity without a contact in the whole step.
    iterations : ndarray of int32, shape (n,)
        Steps of the method; 0 if the first bounds were sufficient.
    reason : ndarray of uint8, shape (n,)
        Values of `Reason`.
    """

    toi: np.ndarray
    iterations: np.ndarray
    reason: np.ndarray


@dataclass(frozen=True)
class Earliest:
    """The earliest contact of many pairs.

    Attributes
    ----------
    toi : float
        A safe time for all pairs; infinity if no pair has a contact.
    pair : str or None
        "vertex_triangle" or "edge_edge"; None without a contact.
    index : int
        Its place in the list of that kind; -1 without a contact.
    """

    toi: float
    pair: str | None
    index: int


def _separation(value: Any, dtype: Any) -> Any:
    value = number("separation", value, minimum=0.0)
    single = np.nextafter(np.float32(value), np.float32(np.inf)) if np.float32(value) < value else np.float32(value)
    return float(single) if dtype == np.float32 else value


def _times(pair: Any, x_t0: Any, x_t1: Any, separation: Any, method: Any, device: Any, threads: Any) -> Collisions:
    choice("method", method, METHODS)
    dtype = common_precision(x_t0, x_t1)
    x_t0 = corners_array("x_t0", x_t0, 4, dtype)
    x_t1 = corners_array("x_t1", x_t1, 4, dtype)
    if x_t1.shape != x_t0.shape:
        raise ValueError(f"x_t1: expected shape {x_t0.shape} as x_t0, got {x_t1.shape}")
    time, iterations, reason = backend(device_or_default(device), dtype).collision_times(
        PAIRS.index(pair),
        METHODS.index(method),
        x_t0.reshape(-1, 3),
        x_t1.reshape(-1, 3),
        None,
        _separation(separation, dtype),
        thread_count(threads),
    )
    time[reason == Reason.NO_CONTACT] = np.inf
    return Collisions(time, iterations, reason)


def vertex_triangle(
    x_t0: ArrayLike, x_t1: ArrayLike, separation: float = 0.0, method: str = "certified", *, device: Device | None = None, threads: int = 0
) -> Collisions:
    """Times of impact of moving vertices and triangles.

    Parameters
    ----------
    x_t0, x_t1 : array_like, shape (n, 4, 3)
        Rows vertex, triangle 0, 1, 2 at the start and at the end of the step, m.
    separation : float
        The distance that counts as contact, m.
    method : {"certified", "min_gradient", "additive"}
        See the module.
    device : "cpu", "cuda" or one of several GPUs such as "cuda:1"; default: PDGPU_DEVICE, else "cpu"
        The device of the computation; every call transfers the arrays. Two devices round differently: both times are safe, and nearly
        equal.
    threads : int
        0: all cores. The result does not depend on it. Ignored on "cuda".

    Returns
    -------
    Collisions
        A pair that is closer than `separation` at the start has time 0 and the reason START_TOO_CLOSE.

    Raises
    ------
    ValueError
        A wrong shape, a coordinate that is not finite, a negative separation, an unknown method.
    TypeError
        Values that are not real numbers.
    RuntimeError
        A device that does not exist.

    Notes
    -----
    "certified" and "additive" keep a tenth of the gap beyond the separation, to rounding. At the returned time the distance is at least
    separation + 0.0999 (b - separation), with b = `geometry.lower_bound` of the start. That is 0.099 of the distance d₀ itself unless b is
    below 0.991 d₀. b may be smaller for a thin triangle or nearly parallel edges, by some sqrt(64 u) of their size, with u = 6e-8 in
    float32 and 1.1e-16 in float64. benchmarks/results/ccd_queries.csv has the remaining fractions. "min_gradient" keeps a part without a
    bound.

    Examples
    --------
    >>> start = np.array([[[0.2, 0.2, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> end = start - [[[0.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]
    >>> bool(0.4 < pdgpu.ccd.vertex_triangle(start, end).toi[0] < 0.5)
    True
    """
    return _times("vertex_triangle", x_t0, x_t1, separation, method, device, threads)


def edge_edge(
    x_t0: ArrayLike, x_t1: ArrayLike, separation: float = 0.0, method: str = "certified", *, device: Device | None = None, threads: int = 0
) -> Collisions:
    """Times of impact of moving pairs of edges.

    Parameters
    ----------
    x_t0, x_t1 : array_like, shape (n, 4, 3)
        Rows ea0, ea1, eb0, eb1 at the start and at the end of the step, m.
    separation, method, device, threads
        As for `vertex_triangle`, and so are the result and the errors.

    Returns
    -------
    Collisions
    """
    return _times("edge_edge", x_t0, x_t1, separation, method, device, threads)


def _pair_list(name: Any, values: Any, n: Any) -> Any:
    array = any_array(name, values)
    if array.size == 0:
        return np.zeros((0, 4), np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected indices, got dtype {array.dtype}")
    if array.ndim != 2 or array.shape[1] != 4:
        raise ValueError(f"{name}: expected shape (any, 4), got {array.shape}")
    # an index beyond 32 bits must not wrap around; the core checks the others
    if array.dtype != np.int32 and (array.min() < 0 or array.max() >= n):
        row, column = np.argwhere((array < 0) | (array >= n))[0]
        raise ValueError(f"{name}: index {array[row, column]} at ({row}, {column}) is out of range for {n} points")
    return contiguous(array, np.int32)


def earliest(
    points_t0: ArrayLike,
    points_t1: ArrayLike,
    *,
    vertex_triangle: ArrayLike = (),
    edge_edge: ArrayLike = (),
    separation: float = 0.0,
    method: str = "certified",
    device: Device | None = None,
    threads: int = 0,
) -> Earliest:
    """The earliest time of impact of the pairs of two lists: the largest fraction of a step that all pairs can take.

    Pairs that cannot be first are skipped early. So this is faster than the smallest `toi` of all queries, and gives the same number.

    Parameters
    ----------
    points_t0, points_t1 : array_like, shape (n, 3)
        All points at the start and at the end of the step, m.
    vertex_triangle, edge_edge : array_like of int, shape (m, 4)
        Rows of `points_t0`: vertex and triangle corners; ends of edge a and of edge b.
    separation, method, device, threads
        As for `vertex_triangle`.

    Returns
    -------
    Earliest
        At equal times: vertex-triangle pairs before edge-edge pairs, then the smallest index.

    Raises
    ------
    ValueError
        As for `vertex_triangle`, and for an index out of range.
    TypeError
        As for `vertex_triangle`, and for indices that are not integers.
    RuntimeError
        A device that does not exist.
    """
    choice("method", method, METHODS)
    dtype = common_precision(points_t0, points_t1)
    starts, ends = (real_view(name, x, (None, 3), dtype) for name, x in (("points_t0", points_t0), ("points_t1", points_t1)))
    if ends.shape != starts.shape:
        raise ValueError(f"points_t1: expected shape {starts.shape} as points_t0, got {ends.shape}")
    separation, threads, module = _separation(separation, dtype), thread_count(threads), backend(device_or_default(device), dtype)
    pairs, edges = (_pair_list(*given, len(starts)) for given in (("vertex_triangle", vertex_triangle), ("edge_edge", edge_edge)))
    time, index = module.earliest_collision(METHODS.index(method), starts, ends, pairs, edges, separation, threads)
    if index < 0:
        return Earliest(np.inf, None, -1)
    return Earliest(time, "vertex_triangle", index) if index < len(pairs) else Earliest(time, "edge_edge", index - len(pairs))
