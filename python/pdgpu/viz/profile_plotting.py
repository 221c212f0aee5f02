"""The figure of a performance or data profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu.viz.paper_figures import label_of, paper_figure, printed_styles

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.study.profiles import Profile

__all__ = ["plot_profile"]

BEYOND = 1.25  # the end of the curves, in units of the last step


def plot_profile(profile: Profile, axes: Any, size: tuple[float, float], legend: bool) -> Any:
    """Draw one step function per solver; see `Profile.plot`."""
    performance = profile.kind == "performance"
    curves = {name: profile.steps(name) for name in profile.solvers}
    places = np.concatenate([x for x, _ in curves.values()])
    positive = places[places > 0.0]
    first = 1.0 if performance else (positive.min() / BEYOND if len(positive) else 1.0)
    last = BEYOND * max(positive.max(initial=first), first)
    with paper_figure(size, axes) as axes:
        for name, style in printed_styles(profile.solvers).items():
            x, y = curves[name]
            # a cost of 0 is left of the axis; the curve begins at its height
            begin = y[x <= first][-1] if (x <= first).any() else 0.0
            inside = x > first
            x, y = np.r_[first, x[inside], last], np.r_[begin, y[inside], y[-1] if len(y) else 0.0]
            axes.step(x, y, where="post", label=name, linewidth=1.1, markersize=3.2, markevery=0.13, clip_on=False, **style)
        axes.set_xscale("log", base=2 if performance else 10)
        axes.set_xlim(first, last)
        axes.set_ylim(0.0, 1.0)
        unit = " per variable" if profile.per_variable else ""
        axes.set_xlabel(f"{label_of(profile.measure)}, ratio to the best" if performance else f"{label_of(profile.measure)}{unit}")
        axes.set_ylabel("share of problems")
        axes.grid(True, which="major", color="0.88", linewidth=0.5)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if legend:
            axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", frameon=False, handlelength=3.2)
    return axes
