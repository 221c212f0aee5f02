"""Contact by a penalty: a spring for each pair in contact, with pairs that are constant between two detections."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from pdgpu._internal.arguments import choice, integer, number
from pdgpu._internal.deprecated import settings_by_keyword
from pdgpu.contact.barrier_contact import PairTable
from pdgpu.linear.linear_solvers import keep

__all__ = ["PenaltyContact"]

VARIANTS = ("lagged", "paper")
FASTEST = 5.0  # distances that an obstacle may move in a step with friction; a faster one loses its lagged pairs


@settings_by_keyword(
    ("distance", "stiffness", "depth", "detection_interval", "friction", "friction_velocity", "variant"), {"thickness": "distance"}
)
@dataclass(frozen=True)
class PenaltyContact:
    """A quadratic penalty for surfaces nearer than a thickness, or inside each other [Chen et al. 2024, Sec. 3.5].

    A pair has the energy stiffness/2 max(0, distance - g)^2. Its gap g is measured along a normal and between points that are constant
    between two detections. So it is soft: a weight F sinks in until stiffness x (distance - g) = F. Fast or strongly pressed bodies can
    penetrate or pass through each other: `certify` and `pdgpu.geometry.find_intersections` detect it. `BarrierContact` prevents it.

    Parameters
    ----------
    distance : float
        The gap below which two surfaces repel each other, m. Within a body at most 0.9 x the rest distance.
    stiffness : float
        Of every pair, N/m. The force on a vertex grows with the number of its pairs, and so with the resolution of the meshes.
    depth : float
        Search depth inside a solid, the closed surface of another body or an obstacle mesh, m, from which vertices are pushed out; at least
        twice the distance is used. A larger depth makes searches slower.
    detection_interval : int
        Iterations between two detections in a step, n_col in the paper. 0: one detection per step, on the path to the first guess; the
        incremental potential is then the same in all iterations.
    friction : float or dict
        Coefficient of friction mu >= 0 of all pairs, or of pairs of bodies and obstacles by their names in any order: {("cloth", "floor"):
        0.3}. Other pairs have no friction.
    friction_velocity : float
        eps_v, m/s: surfaces with a slower slip stick, with a slow creep, as with BarrierContact.
    variant : "lagged" or "paper"
        The normal forces of friction. "lagged": those of the last detection, so that friction is a term of the incremental potential.
        "paper": the present ones at every visit of a vertex (Eqs. 13 to 16). This friction has no potential: only `VertexBlockDescent`
        supports it, without a line search. The incremental potential in a record then has the friction of the normal forces there, and the
        gradient is not its derivative.

    Raises
    ------
    TypeError, ValueError
        An argument of another type or out of range; the message names it.

    Warns
    -----
    RuntimeWarning
        In a step with friction in which an obstacle moves by more than five times `distance`. Friction takes its pairs from the start of
        the step, and the obstacle has left them at its end.

    Notes
    -----
    A detection finds pairs of vertices and triangles, of edges, and of particles, rods, spheres, capsules and planes, in three ways:

    - Pairs that meet between the step's start and the present iterate. Points and normal are those at the first time with a gap below a
      tenth of the distance.
    - Pairs nearer than the distance, with the normal on the side of the pair at the begin of the step.
    - Vertices at a closed surface of another body or obstacle: on its outer side, from a depth of `depth` inside on. A first guess may be
      deeper if the vertex was within that depth at the begin of the step: then it leaves along the shortest path at that time. For a vertex
      inside a body the nearest point counts, so that bodies may start inside each other. A vertex is inside its own solid if a straight
      path from a point of the surface through the tets ends in a tet that is not the vertex's. It leaves there, along the shortest such
      path [Chen et al. 2023, Shortest Path to Boundary for Self-Intersecting Meshes]. For open surfaces the side is that at the begin of
      the step: a vertex that starts on the wrong side stays there.

    A vertex and a mesh are a pair at every local minimum of their distance, once. Edges of triangles are pairs if both closest points are
    interior. The normal of a pair must be in the cone of the normals of the triangles next to its points, so that a body that slides over a
    flat mesh does not catch on its edges. Surfaces that penetrate by more than twice the distance in one step are not tested.

    Limits: a vertex that ends a step exactly below the rim of another mesh, to the rounding of a coordinate, can still push along the
    surface. This happens for aligned grids and a step that is a multiple of their spacing. A smaller dt keeps first guesses apart. Friction
    has the normal forces of the step's start: a mesh that moves by one of its edges in a step has too little or too much friction. Planes
    push out at any depth, spheres and capsules from their centre and axis. A `SignedDistanceField` pushes out vertices only, at any depth,
    along its gradient, also those that meet it on their path. It may move and rotate, by less than half a turn in a step.

    Friction is Coulomb's, smoothed. "lagged" has the normal forces of the last detection; those of the first in a step are at the step's
    start [Li et al. 2020, Incremental Potential Contact, Sec. 5]. Eq. 14 of the paper has a wrong sign, with which friction would
    accelerate.

    Examples
    --------
    >>> contact = pdgpu.PenaltyContact(distance=2e-3, stiffness=1e4)
    >>> contact.depth, contact.variant
    (0.0, 'lagged')
    """

    distance: float = field(metadata={"stored": "thickness"})  # its name in files
    _: KW_ONLY
    stiffness: float
    depth: float = 0.0
    detection_interval: int = 10
    friction: float | Mapping = 0.0
    friction_velocity: float = 1e-3
    variant: str = "lagged"

    def __post_init__(self):
        keep(self, distance=number("distance", self.distance, above=0.0), stiffness=number("stiffness", self.stiffness, above=0.0))
        keep(self, depth=number("depth", self.depth, minimum=0.0))
        keep(self, detection_interval=integer("detection_interval", self.detection_interval, 0, 10**9))
        if isinstance(self.friction, Mapping):
            keep(self, friction=PairTable("friction", self.friction))
        else:
            keep(self, friction=number("friction", self.friction, minimum=0.0))
        keep(self, friction_velocity=number("friction_velocity", self.friction_velocity, above=0.0))
        choice("variant", self.variant, VARIANTS)

    def __setstate__(self, state):
        """From a pickle; in those of earlier releases the distance is called thickness."""
        state = dict(state)
        if "thickness" in state:
            state["distance"] = state.pop("thickness")
        self.__dict__.update(state)

    @property
    def thickness(self) -> float:
        """`distance`, under its name in earlier releases."""
        return self.distance


def rings(triangles, n):
    """The triangles of each of n points, ascending, and the start of each point's, (n+1,)."""
    corners = triangles.ravel()
    return np.concatenate([[0], np.cumsum(np.bincount(corners, minlength=n))]), np.argsort(corners, kind="stable") // 3


def outward(triangles, points, parts):
    """For each triangle 1 or -1 if its part (of each point) is a closed surface and its normal points outwards or inwards; 0: open."""
    result = np.zeros(len(triangles), np.int64)
    if not len(triangles):
        return result
    of = parts[triangles[:, 0]]
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]).astype(np.int64)
    n = len(points)
    there, back = np.sort(sides @ [n, 1]), np.sort(sides @ [1, n])
    shared = np.isin(sides @ [n, 1], there[1:][there[1:] == there[:-1]])  # two triangles with the same direction along an edge
    bad = np.bincount(np.tile(of, 3), shared | ~np.isin(sides @ [n, 1], back), parts.max() + 1) > 0
    corners = points[triangles]
    volume = np.bincount(of, np.linalg.det(corners - corners.mean(axis=(0, 1))), parts.max() + 1)
    return np.where(bad[of], 0, np.sign(volume[of]).astype(np.int64))


def warn_of_fast_obstacles(core, before, targets, stacklevel):
    """Warns of an obstacle that leaves the lagged pairs of its friction within a step.

    targets: (m, 3) m of the prescribed points in the step `before` and in this one, or None. Does not synchronise.
    """
    contact, touching = core.contact, core.touching
    if before is None or targets is None or not isinstance(contact, PenaltyContact) or not touching.coefficients.any():
        return
    moves = np.linalg.norm(targets - before, axis=1)
    fastest = int(moves.argmax())
    if moves[fastest] <= FASTEST * contact.distance:
        return
    name = touching.names[touching.owner[touching.n_moving + fastest]]
    warnings.warn(
        f"friction: {name!r} moves by {moves[fastest]:.2g} m in a step, more than {FASTEST:g} times the distance of PenaltyContact; "
        "friction takes its pairs from the start of the step and loses them: take a shorter dt, a larger distance, or BarrierContact",
        RuntimeWarning,
        stacklevel=stacklevel + 1,
    )
