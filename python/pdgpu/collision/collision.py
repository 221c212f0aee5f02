"""Which parts of a scene may collide: broad phases, and proximity sets that live longer than one search.

A broad phase names every pair of a vertex and a triangle, and of two edges, that could come near each other in a step; what they do
exactly is for `pdgpu.ccd` and `pdgpu.geometry` to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import LARGEST, any_array, choice, coordinates, number, real_array, vertex_indices
from pdgpu._internal.attributes import GuardedAttributes, read_only
from pdgpu._internal.backends import backend, device_or_default, dtype_or_default, thread_count
from pdgpu._internal.parts import Part, core_of
from pdgpu.collision.found_pairs import FoundPairs, Pairs, named_pairs
from pdgpu.collision.intersections import JudgedScene

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Device, Integers, Precision

__all__ = ["BroadPhase", "Pairs", "ProximitySet"]

METHODS = ("lbvh", "patches", "hash")  # PD_BROAD_PHASE_... of csrc/contact/detection/broad_phase.h

FIXED, SELF, BODY_SHIFT, SIDE = 1, 2, 2, 1 << 30  # PD_TAG_... of csrc/geometry/box.h


def primitive_tags(name: Any, corners: Any, tags: Any) -> Any:
    """Of primitives (m, k) from the tags of their corners, int32: fixed where all corners are. They must not lie across bodies."""
    of_corners = tags[corners]
    mixed = (of_corners >> BODY_SHIFT != of_corners[:, :1] >> BODY_SHIFT).any(axis=1)
    if mixed.any():
        row = int(np.argmax(mixed))
        raise ValueError(f"bodies: row {row} of {name} has vertices of bodies {(of_corners[row] >> BODY_SHIFT).tolist()}")
    fixed = (of_corners & FIXED).all(axis=1)
    return np.ascontiguousarray(of_corners[:, 0] & ~FIXED | fixed, dtype=np.int32)


class BroadPhase(GuardedAttributes):
    """Triangles, edges and their vertices, and a structure that finds which of them are near each other.

    All methods give the same pairs, for any number of threads: those whose boxes overlap, each around its primitive at every time of the
    step, widened by half the distance asked for and rounded outwards. Pairs with a common vertex, and of two primitives whose vertices
    are all fixed, are left out. Lists of pairs have room that doubles when it is too little; no pair is ever lost for want of it.

    Parameters
    ----------
    points : array_like, shape (n, 3)
        Rest positions, m: "patches" forms its patches there; for the others only their number matters.
    triangles : array_like of int, shape (t, 3)
    edges : array_like of int, shape (r, 2), optional
        Edges beside those of the triangles.
    particles : array_like of int, shape (p,), optional
        Vertices to be tested against triangles though no triangle or edge uses them.
    method : {"lbvh", "patches", "hash"}
        "lbvh": trees of boxes along a Morton curve, binary on a GPU [Karras 2012], with eight boxes to a node on the CPU; refitted from
        step to step and built again once refitting has made one 1.5 times as costly. "patches": groups of primitives by voxels at rest, a
        tree above them whose structure never changes, and lists of the pairs inside each [Lan et al. 2022, Projective IPC, Sec. 7.2].
        "hash": a hashed grid [Wang et al. 2023, two-way interior point method, Sec. 3.1] with a level for every size of primitive.
    fixed : indices, mask or callable, optional
        Vertices that never move.
    bodies : array_like of int, shape (n,), optional
        The body of each vertex, from 0; one body where it is left out. A triangle or edge lies in one body.
    self_collision : bool or array_like of bool, one per body
        Whether primitives of the same body are pairs.
    dtype : "float64" or "float32"; default: that of `simulation`, or PDGPU_DTYPE, else "float64"
    device : "cpu", "cuda" or one of several GPUs such as "cuda:1"; default: that of `simulation`, or PDGPU_DEVICE, else "cpu"
        Where the search runs. The pairs are the same.
    threads : int
        0: all cores. On "cuda" nothing depends on it.
    simulation : Simulation, optional
        One of the same device and dtype, in whose memory and with whose threads it searches: one call at a time on both.

    Attributes
    ----------
    edges : ndarray, shape (e, 2), int32
        The edges of the triangles and those given, i < j, sorted.
    triangles : ndarray, shape (t, 3), int32
    vertices : ndarray of int32
        The vertices that take part.

    Raises
    ------
    TypeError, ValueError
        A coordinate that is not finite, an index out of range, a vertex repeated in a row, a triangle or edge across bodies.
    RuntimeError
        A device that is not there.
    """

    method: str
    n_points: int
    dtype: np.dtype[Any]
    device: Device
    triangles: Integers
    vertices: Integers
    edges: Integers

    _instead = "a broad phase stays as it is, make another one"

    def __init__(
        self,
        points: ArrayLike,
        triangles: ArrayLike,
        edges: ArrayLike | None = None,
        *,
        particles: Any = None,
        method: str = "lbvh",
        fixed: Any = None,
        bodies: ArrayLike | None = None,
        self_collision: bool = True,
        dtype: Precision | None = None,
        device: Device | None = None,
        threads: int = 0,
        simulation: Any = None,
    ) -> None:
        choice("method", method, METHODS)
        core = core_of(simulation) if isinstance(simulation, Part) else simulation
        context = getattr(core, "backend", None)
        context = getattr(context, "core", context)  # far from the origin it is behind a RelativeCore
        if context is not None:  # its memory serves no other device and dtype
            device, dtype = simulation.device if device is None else device, simulation.dtype if dtype is None else dtype
        device, dtype = device_or_default(device), dtype_or_default(dtype)
        module = backend(device, dtype)
        if simulation is not None and not isinstance(context, module.Simulation):
            raise TypeError(f"simulation: expected one on {device!r} in {np.dtype(dtype).name}, got {simulation!r}")
        points = real_array("points", points, (None, 3))
        n = len(points)
        rows = JudgedScene(n, triangles, edges, particles)
        edges = rows.edges[rows.edges[:, 0] != rows.edges[:, 1]]
        self._keep(method=method, n_points=n, dtype=np.dtype(dtype), device=str(device))
        self._keep(triangles=read_only(rows.triangles), vertices=read_only(rows.vertices), edges=read_only(edges))
        tags = self._tags(points, fixed, bodies, self_collision)
        corners = (self.vertices.reshape(-1, 1), self.edges, self.triangles)
        per_primitive = [primitive_tags(name, part, tags) for name, part in zip(("vertices", "edges", "triangles"), corners, strict=True)]
        self._core = module.BroadPhase(
            METHODS.index(method), self._positions("points", points), *corners, *per_primitive, thread_count(threads), context
        )

    def _tags(self, points: Any, fixed: Any, bodies: Any, self_collision: Any) -> Any:
        """Of each vertex: whether it is fixed, whether its body collides with itself, and its body."""
        if bodies is None:
            bodies = np.zeros(self.n_points, np.int64)
        bodies = any_array("bodies", bodies)
        if bodies.dtype.kind not in "iu":
            raise TypeError(f"bodies: expected integers, got dtype {bodies.dtype}")
        if bodies.shape != (self.n_points,):
            raise ValueError(f"bodies: expected shape ({self.n_points},), got {bodies.shape}")
        bad = (bodies < 0) | (bodies >= 2**28)
        if bad.any():
            index = int(np.argmax(bad))
            raise ValueError(f"bodies: must be between 0 and {2**28 - 1}, got {bodies[index]} at {index}")
        own = any_array("self_collision", self_collision)
        if own.dtype != bool:
            raise TypeError(f"self_collision: expected booleans, got dtype {own.dtype}")
        n_bodies = int(bodies.max(initial=-1)) + 1
        if own.ndim and own.shape != (n_bodies,):
            raise ValueError(f"self_collision: expected shape ({n_bodies},), one per body, got {own.shape}")
        tags = bodies.astype(np.int32) << BODY_SHIFT | np.where(np.broadcast_to(own, n_bodies)[bodies], SELF, 0).astype(np.int32)
        if fixed is not None:
            tags[vertex_indices("fixed", fixed, points)] |= FIXED
        return tags

    def _positions(self, name: Any, x: Any) -> Any:
        return coordinates(name, x, (self.n_points, 3), self.dtype)

    def pairs(self, x_t0: ArrayLike, x_t1: ArrayLike | None = None, *, distance: float = 0.0, rebuild: bool = False) -> Pairs:
        """Every pair that may come within a distance while all vertices move straight from x_t0 to x_t1.

        Parameters
        ----------
        x_t0, x_t1 : array_like, shape (n, 3)
            Positions at the start and the end of the step, m; without x_t1 nothing moves. float64 is rounded to the dtype first: the
            pairs are those of the rounded positions.
        distance : float
            m; each box is widened by half of it.
        rebuild : bool
            Rebuild the trees of "lbvh" rather than refit them. The pairs are the same.

        Returns
        -------
        Pairs
        """
        return named_pairs(self, *self._core.find(*self._search_arguments(x_t0, x_t1, distance, rebuild)))

    def search(self, x_t0: Any, x_t1: Any = None, *, distance: float = 0.0, rebuild: bool = False) -> FoundPairs:
        """The same pairs, which stay where they were found, with the positions: on a GPU nothing but their number comes to the host.

        What is then asked of them runs there too, and gives the answers of `pdgpu.ccd` and `pdgpu.geometry` for the pairs of this list.

        Parameters
        ----------
        x_t0, x_t1 : array_like or DeviceArray, shape (n, 3)
            As for `pairs`. `Simulation.device_positions` of the same device and dtype is read where it lies, best by a broad phase of this
            `simulation`, which need not wait for it.
        distance, rebuild
            As for `pairs`.

        Returns
        -------
        FoundPairs
            Good until the next search of this broad phase.
        """
        return FoundPairs(self, self._core, *self._core.search(*self._search_arguments(x_t0, x_t1, distance, rebuild)))

    def _search_arguments(self, x_t0: Any, x_t1: Any, distance: Any, rebuild: Any) -> Any:
        distance = number("distance", distance, minimum=0.0, maximum=LARGEST[self.dtype])
        lies_there = backend(self.device, self.dtype).DeviceArray
        start, end = (
            x if x is None or isinstance(x, lies_there) else self._positions(name, x) for name, x in (("x_t0", x_t0), ("x_t1", x_t1))
        )
        if start is None:
            raise TypeError("x_t0: expected positions, got None")
        return start, end, 0.5 * distance, bool(rebuild)

    def proximity(
        self, n_vertices: Any, *, owner: Any = None, asked: Any = (), collider_owner: Any = (), rows: Any = None, weights: Any = None
    ) -> ProximitySet:
        """The core that finds what is near, on the memory of this broad phase.

        Parameters
        ----------
        n_vertices : int
            Whose positions it is given; the points that do not follow them are driven.
        owner : array of int32, shape (n,), optional
            Body or obstacle of each point.
        asked : array of int32, ascending
            The points that colliders are asked about.
        collider_owner : array of int32
            Place of each collider among bodies and obstacles.
        rows, weights : arrays (k, 4), optional
            Point i follows the vertices rows[i], -1 for none, with these weights: an array of int32 and one of this dtype. Left out, the
            first points are the vertices.
        """
        owner = np.zeros(self.n_points, np.int32) if owner is None else owner
        asked, collider_owner = (np.array(part, np.int32) for part in (asked, collider_owner))
        return backend(self.device, self.dtype).Proximity(self._core, n_vertices, owner, asked, collider_owner, rows, weights)

    @property
    def counts(self) -> dict[str, Any]:
        """What was done so far: `builds` and `refits` of trees (grids: builds), `retries` for want of room, `pair_capacity`.

        Also `waits` of the host for the device, copies to and from it among them, and `allocations` of the device's memory.
        """
        return self._core.counts()

    @property
    def seconds(self) -> dict[str, Any]:
        """Of the last search, by the device's clock: (boxes and structure, pairs), s. 0 before the first."""
        return self._core.seconds()


class ProximitySet:
    """Pairs near each other, searched for again only when they may be too few [Wang et al. 2023, two-way interior point method, Eq. 4].

    A search takes every pair that may be within `maximum` and sets D = maximum. While positions move, every distance changes by at most
    twice the largest move, so that all pairs nearer than D - 2 max |Δx| are still in the set; D is lowered by as much at each update, and
    once it is not above `minimum` the set is searched for again.

    Parameters
    ----------
    broad_phase : BroadPhase
    minimum, maximum : float
        m, minimum < maximum. The paper takes 2 mm and 4 mm.

    Attributes
    ----------
    pairs : Pairs
        Contains every pair nearer than `distance`.
    distance : float
        D, m; rounded down.
    searches, updates : int
    """

    def __init__(self, broad_phase: Any, minimum: Any, maximum: Any) -> None:
        if not isinstance(broad_phase, BroadPhase):
            raise TypeError(f"broad_phase: expected a BroadPhase, got {broad_phase!r}")
        self.broad_phase = broad_phase
        self.minimum = number("minimum", minimum, minimum=0.0)
        self.maximum = number("maximum", maximum, above=self.minimum)
        self.pairs, self.distance = Pairs(np.zeros((0, 2), np.int32), np.zeros((0, 2), np.int32)), 0.0
        self.searches = self.updates = 0
        self._core: Any = broad_phase.proximity(broad_phase.n_points)
        self._driven = np.zeros((0, 3), broad_phase.dtype)

    def update(self, x: ArrayLike) -> Any:
        """Take note of new positions, (n, 3) m, and return the pairs: the old ones, or those of a new search."""
        x = coordinates("x", x, (self.broad_phase.n_points, 3), self.broad_phase.dtype)
        self.updates += 1
        self.distance, found = self._core.update(x, self._driven, self.minimum, self.maximum)
        if found is not None:
            self.pairs = named_pairs(self.broad_phase, *found)
            self.searches += 1
        return self.pairs
