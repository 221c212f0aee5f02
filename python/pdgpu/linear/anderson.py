"""Anderson acceleration of a solver or a linear solver: a plain, printable, picklable description."""

from __future__ import annotations

from dataclasses import dataclass

from pdgpu._internal.arguments import choice, integer, number

LARGEST_WINDOW = 30  # PD_ANDERSON_LARGEST_WINDOW of csrc/updates/linear/anderson_update.h
SAFEGUARDS = ("auto", "potential", "residual", None)  # the order of PD_SAFEGUARD_... in csrc/linear/anderson.h


@dataclass(frozen=True, kw_only=True)
class Anderson:
    """Anderson acceleration, type II [Anderson 1965; Walker and Ni 2011; for solvers of time steps Peng et al. 2018, Algorithm 1].

    With g_k = G(x_k), the end of a plain iteration from x_k, and f_k = g_k - x_k the next iterate is g_k - sum_j gamma_j dg_j. dg_j and
    df_j are the differences of g and f over the last `window` iterations, and gamma minimises |f_k - sum_j gamma_j df_j|^2 +
    regularization sum_j |df_j|^2 gamma_j^2. It needs no rho. A step has an own sequence, which begins again where contact has shortened a
    move. It costs 2 `window` + 4 vectors of memory and, per iteration, about 3 `window` passes over such vectors.

    Parameters
    ----------
    window : int
        Differences in memory, 1 to 30.
    regularization : float
        At least 0, relative to the squared length of each difference. 0: columns that depend on newer ones are left out.
    safeguard : "auto", "potential", "residual" or None
        "potential": the combined step is taken if the incremental potential at its end is no higher than the least one of the combined
        steps before; else the plain step is. It costs one potential per iteration, and needs a solver whose plain steps
        lower the potential, without contact. "residual": a combined step after which |f| is more than twice as large is undone by the next
        iteration, which goes to the end of the plain step; the sequence begins again. None: neither. "auto": "potential" where that
        works, else "residual". Linear solvers take "residual".

    Notes
    -----
    ADMM and XPBD combine their duals and multipliers with the same weights as the positions. No safeguard waits for a GPU.
    """

    window: int = 5
    regularization: float = 1e-10
    safeguard: str | None = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "window", integer("window", self.window, 1, LARGEST_WINDOW))
        object.__setattr__(self, "regularization", number("regularization", self.regularization, minimum=0.0))
        if self.safeguard is not None:
            choice("safeguard", self.safeguard, tuple(name for name in SAFEGUARDS if name))


def anderson_settings(acceleration: object) -> dict[str, int | float] | None:
    """What a backend takes: None or a dict by name (``pd_anderson_options``)."""
    if not isinstance(acceleration, Anderson):
        return None
    settings = {"window": acceleration.window, "regularization": acceleration.regularization}
    return {**settings, "safeguard": SAFEGUARDS.index(acceleration.safeguard)}
