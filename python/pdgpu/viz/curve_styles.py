"""One colour for each method, in every figure of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["COLOURS", "curve_styles"]

# neighbours in the legend have different colours
COLOURS = (
    *("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f"),
    *("#bcbd22", "#17becf", "#0b3c6f", "#f4b183", "#145a32", "#000000"),
)
DASHES = ("-", "--", ":")
MARKERS = "osD^vP*X"

# Names of usual methods, so that the figures of different scripts agree; other names are added at their first use.
USUAL: dict[str, int] = {
    name: place
    for place, name in enumerate(
        (
            *("PD direct", "PD direct + Chebyshev", "PD damped Jacobi", "VBD", "VBD + Chebyshev", "Block Jacobi"),
            *("Gradient descent + Chebyshev", "Newton", "Newton, inner CG", "Quasi-Newton", "Nonlinear CG", "ADMM", "XPBD", "PBD"),
        )
    )
}
_others: dict[str, int] = {}


def curve_styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return name of a method -> the "color", "linestyle" and "marker" of its curve.

    A name keeps its colour and marker in all figures of a session. A new name takes a colour that no curve of its figure has, and that the
    fewest earlier names have. If two names of a figure share a colour, their dashes differ.
    """
    names = list(dict.fromkeys(names))
    taken = {place for name in names if (place := _place(name)) is not None}
    for name in names:
        if _place(name) is None:
            kept = list(_others.values())
            free = [place for place in range(len(COLOURS)) if place not in taken] or range(len(COLOURS))
            _others[name] = min(free, key=lambda place, kept=kept: (kept.count(place), place))
            taken.add(_others[name])
    styles, drawn = {}, dict.fromkeys(range(len(COLOURS)), 0)
    for name in names:
        place = _place(name)
        styles[name] = {"color": COLOURS[place], "linestyle": DASHES[drawn[place] % len(DASHES)], "marker": MARKERS[place % len(MARKERS)]}
        drawn[place] += 1
    return styles


def _place(name):
    return USUAL.get(name, _others.get(name))
