"""Contact by a penalty: pairs that a detection freezes, and a spring for each as long as it is pressed."""

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
FASTEST = 5.0  # distances that an obstacle may move in a step with friction; measured: 3 is right, 10 loses the friction


@settings_by_keyword(
    ("distance", "stiffness", "depth", "detection_interval", "friction", "friction_velocity", "variant"), {"thickness": "distance"}
)
@dataclass(frozen=True)
class PenaltyContact:
    """A quadratic penalty where surfaces are nearer than a thickness, or inside each other [Chen et al. 2024, Sec. 3.5].

    A pair has the energy stiffness/2 max(0, distance - g)^2, with its gap g along a normal that is held, at points that are held, from one
    detection to the next. So it is soft: a weight F sinks in until stiffness x (distance - g) = F. Bodies can pass
    into each other, and through each other where they are fast or pressed hard: `certify` and `pdgpu.geometry.find_intersections` tell.
    `BarrierContact` does not allow it.

    Parameters
    ----------
    distance : float
        The gap below which two surfaces push each other apart, m. Within a body at most 0.9 x the distance at rest.
    stiffness : float
        Of every pair, N/m. The force on a vertex grows with the number of its pairs, and so with how fine the meshes are.
    depth : float
        How far inside a solid, the closed surface of another body or an obstacle mesh vertices are found and pushed out, m; at least twice
        the distance is looked through. Searches take longer with it.
    detection_interval : int
        Iterations from one detection in a step to the next, n_col in the paper; 0: one detection a step, on the way to the first guess,
        and then the incremental potential is the same in all iterations.
    friction : float or dict
        Coefficient of friction mu >= 0 of all pairs, or of pairs of bodies and obstacles by their names: {("cloth", "floor"): 0.3}, in
        whichever order. Pairs that are not named have none.
    friction_velocity : float
        eps_v, m/s: two surfaces that slide slower than this stick, or rather creep, as with BarrierContact.
    variant : "lagged" or "paper"
        Which normal forces friction has: those of the last detection, so that it is a term of the incremental potential; or those of the
        moment, again at every visit of a vertex, as in the paper (Eqs. 13 to 16). With "paper" friction has no potential:
        `VertexBlockDescent` alone takes it, without a line search, and what a record shows as incremental potential has the friction of
        the normal forces there, whose derivative the gradient is not.

    Raises
    ------
    TypeError, ValueError

    Warns
    -----
    RuntimeWarning
        In a step with friction in which an obstacle moves by more than five times `distance`. Friction takes its pairs from the start of
        the step, and the obstacle has left them at its end.

    Notes
    -----
    A detection finds three kinds of pairs, of vertices and triangles, of edges, and of particles, rods, spheres, capsules and planes:

    - what meets between the step's start and the present iterate: points and normal are those at the first time at which its gap is below a
      tenth of the distance;
    - what is nearer than the distance, with the normal on the side where the pair was when the step began;
    - in front of a closed surface of another body or obstacle: on its outer side, from `depth` inside on; also what a first guess has
      deeper inside, if it was no deeper than that when the step began: there on the way out that was the shortest then. Of the points
      of a body that a vertex is inside of the nearest counts, so that bodies may start inside each other. A vertex is inside its own
      solid where a straight way from a point of the surface through the tets ends in a tet that is not the vertex's, and goes out there,
      on the shortest such way [Chen et al. 2023, Shortest Path to Boundary for Self-Intersecting Meshes]. For open surfaces the side is
      where the step began: what starts on the wrong side stays there.

    A vertex and a mesh are a pair wherever their distance has a minimum, once; edges of triangles are pairs where both are met inside.
    The normal of a pair has to lie in the cone that the normals of the triangles next to its points span, so that what slides over a flat
    mesh does not catch on its edges. Surfaces that go deeper into each other in one step than twice the distance are not tested.

    Limits: a vertex that ends a step exactly below the rim of another mesh, to the rounding of a coordinate, can still push along the
    surface. This happens where grids are aligned and a step is a multiple of their spacing. A smaller dt keeps first guesses apart.
    Friction has the normal forces of the step's start: a mesh that moves by one of its edges in a step drags too little or too much.
    Planes push at any depth, spheres and capsules out of their centre and axis. A `SignedDistanceField` pushes vertices alone, at
    any depth, along its gradient, also where they meet it on the way. It may move and turn, by less than half a turn in a step.

    Friction is Coulomb's, smoothed, with "lagged" with the normal forces of the last detection, those of the first in a step at the step's
    start [Li et al. 2020, Incremental Potential Contact, Sec. 5]; Eq. 14 of the paper has one sign too many, with which it would
    accelerate.
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
        """Of a pickle; those of earlier releases call the distance thickness."""
        state = dict(state)
        if "thickness" in state:
            state["distance"] = state.pop("thickness")
        self.__dict__.update(state)

    @property
    def thickness(self) -> float:
        """`distance`, by its name of earlier releases."""
        return self.distance


def rings(triangles, n):
    """The triangles of each of n points: where those of a point begin, (n+1,), and they, ascending."""
    corners = triangles.ravel()
    return np.concatenate([[0], np.cumsum(np.bincount(corners, minlength=n))]), np.argsort(corners, kind="stable") // 3


def outward(triangles, points, parts):
    """Of each triangle 1 or -1 where its part (of each point) is a closed surface and its normal points out of it, or in; 0: open."""
    result = np.zeros(len(triangles), np.int64)
    if not len(triangles):
        return result
    of = parts[triangles[:, 0]]
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]).astype(np.int64)
    n = len(points)
    there, back = np.sort(sides @ [n, 1]), np.sort(sides @ [1, n])
    shared = np.isin(sides @ [n, 1], there[1:][there[1:] == there[:-1]])  # two triangles that go the same way along an edge
    bad = np.bincount(np.tile(of, 3), shared | ~np.isin(sides @ [n, 1], back), parts.max() + 1) > 0
    corners = points[triangles]
    volume = np.bincount(of, np.linalg.det(corners - corners.mean(axis=(0, 1))), parts.max() + 1)
    return np.where(bad[of], 0, np.sign(volume[of]).astype(np.int64))


def warn_of_fast_obstacles(core, before, targets, stacklevel):
    """Warns of an obstacle that leaves the lagged pairs of its friction within a step; targets (m, 3) m of the driven points in the step
    `before` and in this one, or None. Nothing is read from a device."""
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
