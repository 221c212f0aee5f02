"""Contact by projections, for Projective Dynamics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pdgpu._internal.arguments import choice, flag, integer, number
from pdgpu.contact.barrier_contact import BarrierContact, PairTable
from pdgpu.linear.linear_solvers import keep

__all__ = ["ProjectiveContact"]

TARGETS = ("lifted", "away", "here", "reflected")  # PD_TARGET_... of csrc/elements/contact/projection.h

# target, only what a move has hit, a cut iterate goes back, one iteration a round, loop and stopping as printed
VARIANTS = {
    "corrected": ("lifted", 0, 0, 0, 0),
    "printed": ("reflected", 0, 1, 0, 1),
    "vanilla": ("here", 1, 1, 1, 0),
    "barrier": ("away", 0, 1, 1, 0),
    "prune_each": ("lifted", 0, 1, 1, 0),
}


@dataclass(frozen=True)
class ProjectiveContact:
    """Contact of Projective Dynamics that only changes the diagonal of its matrix, and lets nothing pass through anything [Lan et al. 2022,
    Penetration-free Projective Dynamics on the GPU].

    A step is rounds of iterations. At the beginning of a round every pair of primitives that is near, or that a move would have brought
    together, gets a target distance, and closest points and normal as they are there; in the iterations it is a projection like that of an
    element. At its end the state of the step goes towards the iterate as far as nothing touches on the way. The iterate itself goes on from
    where it is. So every state is free of intersections, whatever the iterations did.

    Parameters
    ----------
    distance : float
        The activation distance, measured from the separation, m.
    restitution : float
        From 0 to 1: the part of the speed at which a pair came together that it parts with at the end of the step, where that was more
        than 4 h |gravity|. It acts on the pairs; what a body gets back of its motion by its own elasticity comes on top.
    friction : float or dict
        Coefficient of friction mu >= 0 of all pairs, or of pairs of bodies and obstacles by their names, as in `BarrierContact`. At most
        mu times the normal force; what sticks creeps by some h g/weight.
    separation : float
        The least distance there can be (the thickness of the material), m.
    weight : float
        c: a pair weighs c phi m/h^2 on a vertex of mass m, with phi = (distance/(2 gap))^2 between 1 and 1e4. The larger, the less is
        left of a violation within a step, and the more iterations a round takes: of their own they reduce an error to c/(1 + c).
    blocks : bool
        What a pair adds to the matrix at each of its vertices: a number, which holds it back in all directions, or a 3x3 block along the
        normal alone, so that it slides along what it touches in fewer iterations (pairs with friction add a number all the same). Not
        with `AJacobi` and `SchurDirect`; `Direct` then factorises three times as many rows, and a step takes two to four times as long.
        Both keep the linear momentum.
    outer : int
        Most rounds of a step.
    inner : int
        Most iterations of a round, and never more than a quarter of those of a step, the solver's `iterations`: where the last of a
        step's rounds is cut by a touch, that part of the motion is lost. Rounds that the tolerance ends are few: with 200, a
        `tolerance` of 1e-3 and iterations enough, cloths on each other took 2 to 4 a step, with 50 and 1e-4 9 to 12.
    tolerance : float
        A round ends when an iteration moves no vertex farther than this part of `distance`. A step ends after a round that nothing
        touched in and that moved the state no farther than a hundredth of `distance`.
    variant : str
        "corrected", or one of four that do not work and are here to see why [Lan et al. 2022, Sec. 4, Figs. 2 to 5]; none of them
        lets anything pass through anything either. All weigh pairs alike. None of the four restores the momentum.

        - "printed": Algorithm 1 and Eq. 6 to the letter. The loop tests the sum of the squares of the moves against 1e-4 m^2 before it
          goes round: a body at rest never begins to fall. A target lies where a pair would be after it was reflected at the
          surface; with a restitution of 0 on the surface, where what arrives sticks. `inner` bounds a round, which ends when its
          potential changes by less than a hundredth; `tolerance` is not read. It starts from x + h v + h^2/4 a, whatever
          `initialization` says.
        - "vanilla": every iteration is cut back to where nothing touches, and what it would have hit is held where it is
          ("PD + CCD").
        - "barrier": the same, and whatever is near is to have the activation distance ("PD + IPC + CCD").
        - "prune_each": the targets of "corrected", but every iteration is cut back (Fig. 5).

    Raises
    ------
    TypeError, ValueError

    Notes
    -----
    As printed, Algorithm 1 never begins to fall from rest, and its targets on the surface make a body stick. Here a pair with a gap of d
    is to have one of d + 0.2 (distance - d), the weights are proportional to the masses, which keeps the momentum, and the loop ends by
    what moves. Over an edge or a tip the normals of one round can send a body to where those of the next send it back: where a round goes
    back by more than half of what the one before went, the state goes half as much of its way from there on, down to a sixteenth. The
    objective changes with every round. A record has that of the round, with the pairs' energy as "contact_potential" and
    the rounds as "outer"; its positions are those of the state, which are free of intersections. `Simulation.energies` and its like,
    outside of a step, leave contact out.

    The terms that pairs add to the matrix also resist common motions of bodies, which the pairs do not resist. Iterations that end early
    would leave a false momentum. At the end of a step, bodies that no pin, spring or attachment holds are therefore translated, together
    with those they press on, until the rate of their momentum is the outer force. So linear momentum is kept to rounding with every
    linear solver and any number of iterations, also where the solves have not converged. A step has not converged where a translation is
    longer than a hundredth of `distance`, or where a touch stops it. Angular momentum is kept only as far as the iterations converge, and
    implicit Euler damps it. Edges of a mesh that tilt over those of another push along the surface, as under every contact of meshes.
    """

    distance: float
    restitution: float = field(default=0.0, kw_only=True)
    friction: float | Mapping = field(default=0.0, kw_only=True)
    separation: float = field(default=0.0, kw_only=True)
    weight: float = field(default=10.0, kw_only=True)
    blocks: bool = field(default=False, kw_only=True)
    outer: int = field(default=60, kw_only=True)
    inner: int = field(default=20, kw_only=True)
    tolerance: float = field(default=1e-4, kw_only=True)
    variant: str = field(default="corrected", kw_only=True)

    def __post_init__(self):
        keep(self, distance=number("distance", self.distance, above=0.0), separation=number("separation", self.separation, minimum=0.0))
        keep(self, restitution=number("restitution", self.restitution, minimum=0.0, maximum=1.0))
        if isinstance(self.friction, Mapping):
            keep(self, friction=PairTable("friction", self.friction))
        else:
            keep(self, friction=number("friction", self.friction, minimum=0.0))
        keep(self, weight=number("weight", self.weight, above=0.0))
        keep(self, outer=integer("outer", self.outer, 1, 10**6), inner=integer("inner", self.inner, 1, 10**6))
        keep(self, blocks=flag("blocks", self.blocks))
        keep(self, tolerance=number("tolerance", self.tolerance, minimum=0.0))
        choice("variant", self.variant, tuple(VARIANTS))
        if self.restitution and self.variant in ("vanilla", "barrier"):
            raise ValueError(f'restitution: {self.restitution:g}, but the variant "{self.variant}" has none')


def projective_law(contact):
    """What finds the pairs; its energy does not act."""
    return BarrierContact(contact.distance, stiffness=1.0, separation=contact.separation, area_weighted=False)


def projective_description(contact, dt, gravity):
    """What the core's simulation takes of the contact alone; dt in s, gravity (3,) m/s^2."""
    rest_speed = 4.0 * dt * float(np.linalg.norm(gravity))
    target, hits_alone, cut_back, every, printed = VARIANTS[contact.variant]
    own = {"restitution": contact.restitution, "rest_speed": rest_speed, "tolerance": contact.tolerance}
    rules = {"target": TARGETS.index(target), "hits_alone": hits_alone, "cut_back": cut_back, "printed": printed}
    inner = 1 if every else contact.inner
    return {
        "projective": {"stiffness": contact.weight, "blocks": int(contact.blocks), "outer": contact.outer, "inner": inner, **own, **rules}
    }
