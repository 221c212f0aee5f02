"""Solvers that move the vertices in turn, or all at once, each by its own part of the objective."""

from __future__ import annotations

from dataclasses import dataclass, field

from pdgpu._internal.arguments import choice
from pdgpu.contact.barrier_contact import POTENTIALS
from pdgpu.linear.linear_solvers import WHERE_SET, Anderson, Chebyshev
from pdgpu.solvers.time_step_solver import (
    AFTER,
    COLOURINGS,
    CUSTOM,
    FILTERS,
    HYPERELASTIC,
    ORIENTED,
    PENALTY,
    PROJECTIVE,
    TimeStepSolver,
)

BLOCK_FILTERS = tuple(name for name in FILTERS if name != "adaptive")


def check_block_filter(name: str) -> None:
    """ValueError for a `hessian` that has no meaning for the blocks of vertices."""
    if isinstance(name, str) and name == "adaptive":
        raise ValueError(
            "hessian: 'adaptive' compares the potential with the quadratic model of a whole iteration, and a sweep over vertices has none; "
            "Newton takes it; give 'auto', 'clamp', 'absolute' or 'exact' here"
        )
    choice("hessian", name, BLOCK_FILTERS)


@dataclass(frozen=True, kw_only=True)
class VertexBlockDescent(TimeStepSolver):
    """Vertex Block Descent: Gauss-Seidel over vertices with 3x3 Newton steps, by colours [Chen et al. 2024, Algorithm 1].

    Parameters
    ----------
    iterations : int
        Sweeps over all vertices of a step.
    acceleration : Anderson or Chebyshev, optional
        Acceleration after each full sweep.
    chebyshev : Chebyshev, optional
        An older name of `acceleration` [Chen et al. 2024, Eqs. 18-19]. The iteration is no symmetric one, so a large rho diverges: in one
        step of hundreds of iterations 0.95 is safe on most scenes, 0.99 on few. With few iterations a step, what is left over grows from
        step to step, and less is safe: on bars 0.95 with 10, 0.9 with 5, 0.75 with 3.
    line_search : bool
        Halve a vertex's step until its own part of the incremental potential decreases [Chen et al. 2024, Sec. 3.2].
    colouring : "balanced" or "greedy"
        Vertices of a colour share no element and move in parallel; "balanced" equalises the sizes of the colours.
    hessian : "auto", "clamp", "absolute" or "exact"
        The 3x3 block of a vertex. "auto": a formula for each material, in which parts that may be negative are clamped. The others: the
        vertex's block on the diagonal of the Hessian of `Newton` with the same filter, of elements and contact pairs. "clamp": negative
        eigenvalues of an element become 0. "absolute": they become their absolute values [Chen, Liu, Levin, Zheng, Jacobson 2024, Stabler
        Neo-Hookean Simulation]. "exact": no filter; a vertex whose block is not positive definite does not move, and from inverted starts
        nothing may. Filtered sweeps take 10 to 70 times as long, since they decompose the Hessian of each element for each of its corners.
        docs/theory/solvers.md has the numbers of sweeps. Rigid bodies keep their rule.
    tolerance, check_every
        As for ProjectiveDynamics.
    initialization : str
        As for ProjectiveDynamics; "adaptive" by default [Chen et al. 2024, Eq. 17].

    Raises
    ------
    ValueError
        hessian="adaptive", which compares the potential with the quadratic model of a whole iteration; a sweep has none.

    Examples
    --------
    >>> pdgpu.VertexBlockDescent(iterations=100, hessian="absolute").hessian
    'absolute'
    """

    iterations: int = 20
    chebyshev: Chebyshev | None = None
    acceleration: Anderson | Chebyshev | None = field(default=None, metadata=WHERE_SET)
    line_search: bool = False
    colouring: str = "balanced"
    hessian: str = field(default="auto", metadata=WHERE_SET)
    initialization: str = "adaptive"

    materials = PROJECTIVE + HYPERELASTIC + ORIENTED + CUSTOM
    rigid = True
    contacts = (*POTENTIALS, PENALTY, *AFTER)
    embedded = ("cpu",)

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("colouring", self.colouring, COLOURINGS)
        check_block_filter(self.hessian)


@dataclass(frozen=True, kw_only=True)
class _AllAtOnce(TimeStepSolver):
    """Base of solvers that move all vertices at once, each by its own part of the Hessian."""

    iterations: int = 20
    chebyshev: Chebyshev | None = None
    acceleration: Anderson | Chebyshev | None = field(default=None, metadata=WHERE_SET)
    line_search: bool = True
    hessian: str = field(default="auto", metadata=WHERE_SET)

    materials = PROJECTIVE + HYPERELASTIC + ORIENTED + CUSTOM
    rigid = True
    contacts = (*POTENTIALS, PENALTY, *AFTER)
    embedded = ("cpu",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_block_filter(self.hessian)


@dataclass(frozen=True, kw_only=True)
class BlockJacobi(_AllAtOnce):
    """All vertices at once, each by its own 3x3 block of the Hessian: x <- x - alpha H_ii^-1 g_i [Chen et al. 2024, Sec. 5.4].

    Parameters
    ----------
    iterations : int
    acceleration : Anderson or Chebyshev, optional
    chebyshev : Chebyshev, optional
        An older name of `acceleration`.
    line_search : bool
        Test the incremental potential G after 1, 2, 4 and 8 iterations, then after every 8. If it has not decreased by 0.4 of alpha g.d,
        the prediction in the first of these iterations, restore the last accepted state and multiply alpha by 0.7 [Wang and Yang 2016,
        Algorithm 1, with Armijo's condition]. A step ends with a test. If it fails, a line search from the last accepted state follows: G
        ends below the first guess, unless no direction lowers it. Without this option most scenes diverge.
    hessian : "auto", "clamp", "absolute" or "exact"
        As for VertexBlockDescent.
    tolerance, initialization, check_every
        As for ProjectiveDynamics.
    """


@dataclass(frozen=True, kw_only=True)
class GradientDescent(_AllAtOnce):
    """Gradient descent with the diagonal of the Hessian as preconditioner: x <- x - alpha D^-1 g [Wang and Yang 2016].

    Parameters
    ----------
    iterations, acceleration, chebyshev, line_search, tolerance, initialization, check_every
        As for BlockJacobi.
    hessian : "auto", "clamp", "absolute" or "exact"
        As for VertexBlockDescent; the diagonal of that block.
    """
