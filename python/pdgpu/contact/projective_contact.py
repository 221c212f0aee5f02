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

# target, only pairs hit by a move, cut iterates return to the state, one iteration per round, loop and stopping as printed
VARIANTS = {
    "corrected": ("lifted", 0, 0, 0, 0),
    "printed": ("reflected", 0, 1, 0, 1),
    "vanilla": ("here", 1, 1, 1, 0),
    "barrier": ("away", 0, 1, 1, 0),
    "prune_each": ("lifted", 0, 1, 1, 0),
}


@dataclass(frozen=True)
class ProjectiveContact:
    """Contact of Projective Dynamics that changes only the diagonal of its matrix, without penetrations [Lan et al. 2022, Penetration-free
    Projective Dynamics on the GPU].

    A step consists of rounds of iterations. At the begin of a round every neighbour pair, or one that a move would have brought into
    contact, gets a target distance and its present closest points and normal. In the iterations it is a projection like that of an element.
    At the end of a round the state of the step moves towards the iterate, up to the first contact on the path. The iterate itself continues
    from its own position. So every state is free of intersections, for any iterations.

    Parameters
    ----------
    distance : float
        The activation distance, measured from the separation, m.
    restitution : float
        From 0 to 1: the fraction of its approach speed with which a pair separates at the end of the step, for speeds above 4 h |gravity|.
        It acts on pairs; the elastic rebound of a body comes in addition.
    friction : float or dict
        Coefficient of friction mu >= 0 of all pairs, or of pairs of bodies and obstacles by their names, as in `BarrierContact`. The force
        is at most mu times the normal force; sticking pairs creep by some h g/weight.
    separation : float
        Lower bound of all distances (the thickness of the material), m.
    weight : float
        c: a pair weighs c phi m/h^2 on a vertex of mass m, with phi = (distance/(2 gap))^2 between 1 and 1e4. A larger weight leaves less
        of a violation within a step, and needs more iterations per round: they reduce an error to c/(1 + c) each.
    blocks : bool
        The addition of a pair to the matrix at each of its vertices. False: a number, which resists motion in all directions. True: a 3x3
        block along the normal only, so that sliding needs fewer iterations (pairs with friction add a number in any case). Not with
        `AJacobi` and `SchurDirect`. `Direct` then factorises three times as many rows, and a step takes longer. Both conserve linear
        momentum.
    outer : int
        Maximum of rounds in a step.
    inner : int
        Maximum of iterations in a round, and never more than a quarter of the solver's `iterations`: a contact that limits the last round
        of a step loses that part of the motion. Rounds that end by the tolerance are few, if `tolerance` and iterations are large enough.
    tolerance : float
        A round ends when an iteration moves no vertex farther than this fraction of `distance`. A step ends after a round without contact
        that moved the state at most a hundredth of `distance`.
    variant : str
        "corrected", or one of four for comparison, which have known defects [Lan et al. 2022, Sec. 4, Figs. 2 to 5]. None of them has
        penetrations. All weigh pairs alike. None of the four restores the momentum.

        - "printed": Algorithm 1 and Eq. 6 to the letter. The loop tests the sum of the squared moves against 1e-4 m^2 before a round: a
          body at rest never begins to fall. A target is the place of the pair after a reflection at the surface. With a restitution of 0 it
          is on the surface, where arriving bodies stick. `inner` bounds a round, which ends when its potential changes by less than a
          hundredth; `tolerance` is not used. It starts from x + h v + h^2/4 a for any `initialization`.
        - "vanilla": every iteration is cut back to its contact-free part, and pairs that it would have hit keep their gap ("PD + CCD").
        - "barrier": the same, and neighbour pairs get the activation distance as target ("PD + IPC + CCD").
        - "prune_each": the targets of "corrected", but every iteration is cut back (Fig. 5).

    Raises
    ------
    TypeError, ValueError
        An argument of another type or out of range; the message names it.

    Notes
    -----
    As printed, Algorithm 1 never begins to fall from rest, and its targets on the surface make a body stick. Here the target of a pair with
    a gap d is d + 0.2 (distance - d), the weights are proportional to the masses, which conserves momentum, and the loop ends by the moves.
    At an edge or a tip the normals of successive rounds can move a body back and forth. If a round reverts more than half of the previous
    one, the state moves half as far from then on, down to a sixteenth. The objective changes with every round. A record has that of the
    round, with the pairs' energy as "contact_potential" and the rounds as "outer". Its positions are those of the state, which are free of
    intersections. `Simulation.energies` and similar functions, outside of a step, do not include contact.

    The terms of pairs in the matrix also resist common motions of bodies, unlike the pairs themselves. Iterations that end early would
    leave a wrong momentum. So at the end of a step, bodies without pins, springs and attachments are translated, together with those they
    press on, until the rate of their momentum is the outer force. Linear momentum is then conserved to rounding with every linear solver
    and any number of iterations, also without convergence. A step has not converged if a translation is longer than a hundredth of
    `distance`, or if a contact limits it. Angular momentum is only conserved as far as the iterations converge, and implicit Euler damps
    it. Edges of a mesh that tilt over those of another push along the surface, as under every contact of meshes.

    Examples
    --------
    >>> contact = pdgpu.ProjectiveContact(distance=1e-3, friction=0.3)
    >>> contact.variant
    'corrected'
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
    """The potential that finds the pairs; its energy does not act."""
    return BarrierContact(contact.distance, stiffness=1.0, separation=contact.separation, area_weighted=False)


def projective_description(contact, dt, gravity):
    """The description of this contact for the core's simulation; dt in s, gravity (3,) m/s^2."""
    rest_speed = 4.0 * dt * float(np.linalg.norm(gravity))
    target, hits_alone, cut_back, every, printed = VARIANTS[contact.variant]
    own = {"restitution": contact.restitution, "rest_speed": rest_speed, "tolerance": contact.tolerance}
    rules = {"target": TARGETS.index(target), "hits_alone": hits_alone, "cut_back": cut_back, "printed": printed}
    inner = 1 if every else contact.inner
    return {
        "projective": {"stiffness": contact.weight, "blocks": int(contact.blocks), "outer": contact.outer, "inner": inner, **own, **rules}
    }
