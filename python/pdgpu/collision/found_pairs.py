"""Pairs of a broad phase that stay on its device, and queries of them there.

On a GPU positions, pairs and results stay in its memory from a search to the queries after it. A result becomes a NumPy array on request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdgpu._internal.arguments import choice
from pdgpu.collision.ccd import METHODS, Collisions, Earliest, Reason, _separation
from pdgpu.collision.geometry import PAIRS, Closest

if TYPE_CHECKING:
    from typing import Any

__all__ = ["DeviceClosest", "DeviceCollisions", "FoundPairs", "Pairs", "named_pairs"]

KINDS = ("vertex_triangle", "edge_edge")


class Pairs(NamedTuple):
    """Candidate pairs.

    Attributes
    ----------
    vertex_triangle : ndarray, shape (k, 2), int32
        A vertex and a row of `BroadPhase.triangles`, sorted.
    edge_edge : ndarray, shape (l, 2), int32
        Two rows of `BroadPhase.edges`, the smaller first, sorted.
    """

    vertex_triangle: np.ndarray
    edge_edge: np.ndarray


@dataclass(frozen=True, eq=False)
class DeviceCollisions:
    """Times of impact of n pairs on their device.

    Attributes
    ----------
    time : DeviceArray, shape (n,)
        A safe time in [0, 1]; 1 also without a contact.
    iterations : DeviceArray of int32, shape (n,)
    reason : DeviceArray of uint8, shape (n,)
        As in `pdgpu.ccd.Collisions`. `np.asarray` copies an array to the host; CuPy, PyTorch and Warp read it in place.
    """

    time: Any
    iterations: Any
    reason: Any

    def numpy(self) -> Collisions:
        """The same on the host, as `pdgpu.ccd.Collisions`: infinite times without a contact."""
        time, iterations, reason = (np.array(part) for part in (self.time, self.iterations, self.reason))
        time[reason == Reason.NO_CONTACT] = np.inf
        return Collisions(time, iterations, reason)


@dataclass(frozen=True, eq=False)
class DeviceClosest:
    """Closest points of n pairs on their device.

    Attributes
    ----------
    distance, weights, gap, normal, feature : DeviceArray
        As in `pdgpu.geometry.Closest`.
    """

    distance: Any
    weights: Any
    gap: Any
    normal: Any
    feature: Any

    def numpy(self) -> Closest:
        """The same on the host."""
        return Closest(*(np.array(part) for part in (self.distance, self.weights, self.gap, self.normal, self.feature)))


def named_pairs(broad_phase: Any, vertex_triangle: Any, edge_edge: Any) -> Pairs:
    """Pairs with the vertex numbers of the caller, from the lists of the core, which numbers only the vertices of its primitives."""
    if len(broad_phase.vertices) < broad_phase.n_points:  # else a vertex has its own number
        vertex_triangle[:, 0] = broad_phase.vertices[vertex_triangle[:, 0]]
    return Pairs(vertex_triangle, edge_edge)


class FoundPairs:
    """The result of `BroadPhase.search`.

    Attributes
    ----------
    n_vertex_triangle, n_edge_edge : int
        Numbers of pairs.

    Raises
    ------
    RuntimeError
        From every method, after another search of the broad phase.
    """

    n_vertex_triangle: int
    n_edge_edge: int

    def __init__(self, broad_phase: Any, core: Any, search: int, n_vertex_triangle: int, n_edge_edge: int) -> None:
        self._phase, self._core, self._search = broad_phase, core, search
        self.n_vertex_triangle, self.n_edge_edge = n_vertex_triangle, n_edge_edge

    def __repr__(self) -> str:
        return f"<FoundPairs: {self.n_vertex_triangle} vertex-triangle, {self.n_edge_edge} edge-edge, on {self._phase.device!r}>"

    def pairs(self) -> Any:
        """The pairs on the host, as `BroadPhase.pairs` returns them."""
        return named_pairs(self._phase, *self._core.pairs(self._search))

    def earliest(self, *, separation: float = 0.0, method: str = "certified") -> Earliest:
        """The earliest time of impact of all pairs, as `pdgpu.ccd.earliest`. Synchronises once.

        Parameters
        ----------
        separation : float
            The distance that counts as contact, m.
        method : {"certified", "min_gradient", "additive"}
            As for `pdgpu.ccd`.
        """
        choice("method", method, METHODS)
        time, index = self._core.earliest(self._search, METHODS.index(method), _separation(separation, self._phase.dtype))
        if index < 0:
            return Earliest(np.inf, None, -1)
        edges = index >= self.n_vertex_triangle
        return Earliest(time, KINDS[edges], index - self.n_vertex_triangle if edges else index)

    def collisions(self, pair: str, *, separation: float = 0.0, method: str = "certified") -> DeviceCollisions:
        """Times of impact of all pairs of a kind, in the order of `pairs`, as `pdgpu.ccd.vertex_triangle`. Does not synchronise.

        Parameters
        ----------
        pair : {"vertex_triangle", "edge_edge"}
        separation, method
            As for `earliest`.
        """
        choice("pair", pair, KINDS)
        choice("method", method, METHODS)
        separation = _separation(separation, self._phase.dtype)
        return DeviceCollisions(*self._core.collisions(self._search, PAIRS.index(pair), METHODS.index(method), separation))

    def closest(self, pair: str) -> DeviceClosest:
        """Closest points of all pairs of a kind at the start of the step, as `pdgpu.geometry.vertex_triangle`. Does not synchronise.

        Parameters
        ----------
        pair : {"vertex_triangle", "edge_edge"}
        """
        choice("pair", pair, KINDS)
        weights, gap, normal, distance, feature = self._core.closest(self._search, PAIRS.index(pair))
        return DeviceClosest(distance, weights, gap, normal, feature)
