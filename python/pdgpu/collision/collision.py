"""Candidate pairs of a scene: broad phases, and proximity sets that stay valid for several steps.

A broad phase lists every vertex-triangle pair and every pair of edges that could come near each other in a step. `pdgpu.ccd` and
`pdgpu.geometry` then compute their times of impact and distances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import LARGEST, any_array, choice, coordinates, number, real_array, vertex_indices
from pdgpu._internal.attributes import GuardedAttributes, read_only
from pdgpu._internal.backends import backend, device_or_default, dtype_or_default, thread_count
from pdgpu._internal.parts import Part, core_of
from pdgpu.collision.found_pairs import FoundPairs, Pairs, named_pairs
from pdgpu.collision.intersections import VerifierScene

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Device, Integers, Precision

__all__ = ["BroadPhase", "Pairs", "ProximitySet"]

METHODS = ("lbvh", "patches", "hash")  # PD_BROAD_PHASE_... of csrc/contact/detection/broad_phase.h

FIXED, SELF, BODY_SHIFT, SIDE = 1, 2, 2, 1 << 30  # PD_TAG_... of csrc/geometry/box.h


def primitive_tags(name: Any, corners: Any, tags: Any) -> Any:
    """Tags of primitives (m, k) from those of their corners, int32: fixed if all corners are. ValueError for one that spans two bodies."""
    of_corners = tags[corners]
    mixed = (of_corners >> BODY_SHIFT != of_corners[:, :1] >> BODY_SHIFT).any(axis=1)
    if mixed.any():
        row = int(np.argmax(mixed))
        bodies_of_row = (of_corners[row] >> BODY_SHIFT).tolist()
        raise ValueError(f"bodies: row {row} of {name} has vertices of bodies {bodies_of_row}; expected vertices of one body")
    fixed = (of_corners & FIXED).all(axis=1)
    return np.ascontiguousarray(of_corners[:, 0] & ~FIXED | fixed, dtype=np.int32)


class BroadPhase(GuardedAttributes):
    """A broad phase over vertices, edges and triangles: it finds the pairs that are near each other.

    All methods give the same pairs, for any number of threads: those whose boxes overlap. A box contains its primitive at all times of the
    step, widened by half of the search distance and rounded outwards. Pairs with a common vertex, and pairs of fixed vertices only, are
    left out. Lists of pairs grow when they overflow, so that no pair is lost.

    Parameters
    ----------
    points : array_like, shape (n, 3)
        Rest positions, m. "patches" forms its patches there; the other methods only use their number.
    triangles : array_like of int, shape (t, 3)
    edges : array_like of int, shape (r, 2), optional
        Edges in addition to those of the triangles.
    particles : array_like of int, shape (p,), optional
        Vertices without triangles and edges that are tested against triangles.
    method : {"lbvh", "patches", "hash"}
        "lbvh": trees of boxes along a Morton curve, binary on a GPU [Karras 2012], with eight boxes per node on the CPU. They are refitted
        in each step, and built again when refits have made one 1.5 times as costly. "patches": groups of primitives by voxels at rest, a
        tree of constant structure above them, and lists of the pairs inside each [Lan et al. 2022, Projective IPC, Sec. 7.2]. "hash": a
        hashed grid [Wang et al. 2023, two-way interior point method, Sec. 3.1] with a level for every size of primitive.
    fixed : indices, mask or callable, optional
        Vertices that never move.
    bodies : array_like of int, shape (n,), optional
        The body of each vertex, from 0; by default one body. A triangle or edge belongs to one body.
    self_collision : bool or array_like of bool, one per body
        Whether primitives of the same body are pairs.
    dtype : "float64" or "float32"; default: that of `simulation`, or PDGPU_DTYPE, else "float64"
    device : "cpu", "cuda" or one of several GPUs such as "cuda:1"; default: that of `simulation`, or PDGPU_DEVICE, else "cpu"
        The device of the search. The pairs are the same on each.
    threads : int
        0: all cores. Has no effect on "cuda".
    simulation : Simulation, optional
        A simulation of the same device and dtype, whose memory and threads the search uses. Only one call at a time on both.

    Attributes
    ----------
    edges : ndarray, shape (e, 2), int32
        The edges of the triangles and the given ones, i < j, sorted.
    triangles : ndarray, shape (t, 3), int32
    vertices : ndarray of int32
        The vertices of these primitives, and the particles.

    Raises
    ------
    TypeError, ValueError
        A coordinate that is not finite, an index out of range, a vertex repeated in a row, a triangle or edge across bodies.
    RuntimeError
        A device that does not exist.

    Examples
    --------
    >>> cloth = pdgpu.shapes.grid((1.0, 1.0), (10, 10))
    >>> phase = pdgpu.collision.BroadPhase(cloth.points, cloth.triangles)
    >>> pairs = phase.pairs(cloth.points, distance=0.01)
    >>> pairs.vertex_triangle.shape[1], pairs.edge_edge.shape[1]
    (2, 2)
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
        rows = VerifierScene(n, triangles, edges, particles)
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
        """The tag of each vertex: whether it is fixed, whether its body has self-collision, and its body."""
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
        """All pairs that may come within a distance while all vertices move straight from x_t0 to x_t1.

        Parameters
        ----------
        x_t0, x_t1 : array_like, shape (n, 3)
            Positions at the start and the end of the step, m; without x_t1 there is no motion. float64 is rounded to the dtype first: the
            pairs are those of the rounded positions.
        distance : float
            Search distance, m; each box is widened by half of it.
        rebuild : bool
            Build the trees of "lbvh" again instead of a refit. The pairs are the same.

        Returns
        -------
        Pairs
        """
        return named_pairs(self, *self._core.find(*self._search_arguments(x_t0, x_t1, distance, rebuild)))

    def search(self, x_t0: Any, x_t1: Any = None, *, distance: float = 0.0, rebuild: bool = False) -> FoundPairs:
        """The pairs of `pairs`, kept on the device with the positions: only their number is transferred from a GPU.

        Queries of the result run on the device too, and give the results of `pdgpu.ccd` and `pdgpu.geometry` for the pairs of this list.

        Parameters
        ----------
        x_t0, x_t1 : array_like or DeviceArray, shape (n, 3)
            As for `pairs`. `Simulation.device_positions` of the same device and dtype is read in place. A broad phase with this
            `simulation` need not synchronise for it.
        distance, rebuild
            As for `pairs`.

        Returns
        -------
        FoundPairs
            Valid until the next search of this broad phase.
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
        """The core's proximity set on the memory of this broad phase.

        Parameters
        ----------
        n_vertices : int
            Number of vertices whose positions are given; the other points have prescribed motions.
        owner : array of int32, shape (n,), optional
            Body or obstacle of each point.
        asked : array of int32, ascending
            The points that are tested against colliders.
        collider_owner : array of int32
            Place of each collider among bodies and obstacles.
        rows, weights : arrays (k, 4), optional
            Point i follows the vertices rows[i], -1 for none, with these weights: an array of int32 and one of this dtype. By default the
            first points are the vertices.
        """
        owner = np.zeros(self.n_points, np.int32) if owner is None else owner
        asked, collider_owner = (np.array(part, np.int32) for part in (asked, collider_owner))
        return backend(self.device, self.dtype).Proximity(self._core, n_vertices, owner, asked, collider_owner, rows, weights)

    @property
    def counts(self) -> dict[str, Any]:
        """Counters: `builds` and `refits` of trees (grids: builds), `retries` after an overflow, `pair_capacity`.

        Also `waits`, the synchronisations of the host with the device including copies, and `allocations` of device memory.
        """
        return self._core.counts()

    @property
    def seconds(self) -> dict[str, Any]:
        """Device seconds of the last search: (boxes and structure, pairs). 0 before the first search."""
        return self._core.seconds()


class ProximitySet:
    """Neighbour pairs, with a new search only when they may be incomplete [Wang et al. 2023, two-way interior point method, Eq. 4].

    A search lists every pair that may be within `maximum` and sets D = maximum. A motion changes every distance by at most twice the
    largest displacement. So all pairs nearer than D - 2 max |Δx| are still in the set, and each update lowers D by 2 max |Δx|. When D <=
    `minimum`, the set is searched again.

    Parameters
    ----------
    broad_phase : BroadPhase
    minimum, maximum : float
        m, minimum < maximum. The paper uses 2 mm and 4 mm.

    Attributes
    ----------
    pairs : Pairs
        Contains every pair nearer than `distance`.
    distance : float
        D, m; rounded down.
    searches, updates : int
        Numbers of searches and of updates so far.

    Raises
    ------
    TypeError
        `broad_phase` is no BroadPhase.
    ValueError
        Not 0 <= minimum < maximum, or one of them is not finite.

    Examples
    --------
    >>> cloth = pdgpu.shapes.grid((1.0, 1.0), (10, 10))
    >>> phase = pdgpu.collision.BroadPhase(cloth.points, cloth.triangles)
    >>> near = pdgpu.collision.ProximitySet(phase, minimum=0.002, maximum=0.004)
    >>> pairs = near.update(cloth.points)
    >>> near.searches
    1
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
        """Account for new positions, (n, 3) m, and return the pairs: the same ones, or those of a new search."""
        x = coordinates("x", x, (self.broad_phase.n_points, 3), self.broad_phase.dtype)
        self.updates += 1
        self.distance, found = self._core.update(x, self._driven, self.minimum, self.maximum)
        if found is not None:
            self.pairs = named_pairs(self.broad_phase, *found)
            self.searches += 1
        return self.pairs
