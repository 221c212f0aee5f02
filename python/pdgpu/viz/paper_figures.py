"""Figures for a paper: sizes in inches, text of 8 points, text as text in vector files, curves that differ in grey."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from pdgpu._internal.arguments import number
from pdgpu.viz.curve_styles import MARKERS, curve_styles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

__all__ = ["TEXT_AS_TEXT", "checked_size", "label_of", "load_pyplot", "paper_figure", "printed_styles"]

TEXT_AS_TEXT = {"pdf.fonttype": 42, "svg.fonttype": "none"}
FONTS = {
    "font.size": 8.0,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "mathtext.fontset": "cm",
}
DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
LABELS = {
    "seconds": "seconds",
    "total_seconds": "seconds with setup",
    "potentials": "evaluations of the potential",
    "gradients": "evaluations of the gradient",
    "hessians": "evaluations of the Hessian",
    "products": "products of the matrix with a vector",
    "solves": "solves with a factor",
    "searches": "searches for pairs",
    "ccd_pairs": "pairs with a time of impact",
    "launches": "launches of kernels",
    "waits": "waits for the device",
}


def load_pyplot() -> Any:
    """Return matplotlib.pyplot, imported at first use. RuntimeError if it is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise RuntimeError("plots need matplotlib, which is not installed: pip install matplotlib") from None
    except ValueError as error:  # matplotlib reads the variable at its import
        raise RuntimeError(f"MPLBACKEND={os.environ.get('MPLBACKEND')}: matplotlib cannot be imported: {error}") from None
    return plt


def label_of(measure: str) -> str:
    """Return the label of a measure on an axis."""
    return LABELS.get(measure, measure)


def checked_size(size: Any) -> tuple[float, float]:
    """Return (width, height) in inches, each between 0.5 and 100."""
    if isinstance(size, str) or not hasattr(size, "__len__") or len(size) != 2:
        raise TypeError(f"size: expected (width, height) in inches, got {size!r}")
    width, height = (number(f"size[{k}]", value, minimum=0.5, maximum=100.0) for k, value in enumerate(size))
    return width, height


@contextlib.contextmanager
def paper_figure(size: Any, axes: Any = None) -> Iterator[Any]:
    """Return axes of a figure of this size, or the given ones, with the text style of a paper."""
    plt = load_pyplot()
    size = checked_size(size)
    with plt.rc_context({**FONTS, **TEXT_AS_TEXT}):
        if axes is None:
            _, axes = plt.subplots(figsize=size, layout="constrained")
        yield axes


def printed_styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return name -> "color", "linestyle" and "marker"; no two names share both dashes and marker, so that curves differ in grey.

    The colours are those of `curve_styles`, and so are the markers of the first names.
    """
    styles, taken = curve_styles(names), set()
    for k, style in enumerate(styles.values()):
        marks = (style["marker"], *MARKERS)
        dashes = [DASHES[(k + shift) % len(DASHES)] for shift in range(len(DASHES))]
        free = [(dash, mark) for mark in marks for dash in dashes if (str(dash), mark) not in taken]
        style["linestyle"], style["marker"] = free[0] if free else (dashes[0], marks[0])
        taken.add((str(style["linestyle"]), style["marker"]))
    return styles
