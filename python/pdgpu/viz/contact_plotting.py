"""Pictures of contact: its convergence within a step, and the forces between bodies. matplotlib is the extra `viz`."""

from __future__ import annotations

import numpy as np

from pdgpu._internal.arguments import choice, number
from pdgpu.viz.curve_styles import curve_styles
from pdgpu.viz.paper_figures import label_of, load_pyplot
from pdgpu.viz.picture import seen_segments, towards_the_eye

__all__ = ["draw_forces", "plot_contact"]

PANELS = (
    ("relative loss", ("relative_loss",), ("-",)),
    ("pairs in contact", ("active_contacts", "contacts_entered", "contacts_left"), ("-", "--", ":")),
    ("smallest distance  [m]", ("smallest_distance",), ("-",)),
    ("part of move allowed", ("step_limit",), ("-",)),
    ("friction potential  [J]", ("friction_potential",), ("-",)),
    ("gradient norm  [N]", ("gradient_norm",), ("-",)),
)
HEAD = 0.12  # half the width of the head of an arrow, relative to the arrow
WORDS = {"active_contacts": "acting", "contacts_entered": "entered", "contacts_left": "left"}


def plot_contact(records, *, x="iterations", figure=None):
    """Draw the convergence of contact, in panels.

    The panels are: the relative loss, for a comparison with a reference; active pairs and, for up to three records, new and removed ones;
    the smallest distance; the allowed fraction of each move; the potential of lagged friction, for steps with friction; the gradient norm.

    Parameters
    ----------
    records : StepRecord, Comparison, or dict of name -> StepRecord
        Recorded steps of simulations with contact.
    x : "iterations" or "seconds"
    figure : matplotlib figure, optional

    Returns
    -------
    matplotlib figure

    Raises
    ------
    ValueError
        A record without rows.
    """
    choice("x", x, ("iterations", "seconds"))
    records = getattr(records, "records", records)
    records = {"": records} if hasattr(records, "status") else dict(records)
    for name, record in records.items():
        if "active_contacts" not in record:
            raise ValueError(f"records: {name!r} has no rows; take the step with record=True")
    missing = set() if all("relative_loss" in record for record in records.values()) else {"relative_loss"}
    if not any(np.any(record["friction_potential"]) for record in records.values()):
        missing.add("friction_potential")
    chosen = [panel for panel in PANELS if panel[1][0] not in missing]
    few = len(records) <= 3
    if figure is None:
        figure = load_pyplot().figure(figsize=(6.4 if len(records) < 5 else 8.4, 1.8 * len(chosen)), layout="constrained")
    curves = curve_styles(records)
    panels = figure.subplots(len(chosen), 1, sharex=True)
    for axes, (label, columns, styles) in zip(panels, chosen, strict=True):
        for name, record in records.items():
            abscissa = record["iteration" if x == "iterations" else "seconds"]
            for column, style in zip(columns, styles, strict=True) if few else ((columns[0], curves[name]["linestyle"]),):
                values = np.where(np.isfinite(record[column]), record[column], np.nan)
                look = {"color": curves[name]["color"], "marker": "." if few else None, "markersize": 4}
                axes.plot(abscissa, values, style, label=name, linewidth=1.6, **look)
        if columns[0] in ("relative_loss", "smallest_distance", "gradient_norm"):
            axes.set_yscale("log")
        if columns[0] == "relative_loss":
            axes.set_ylim(bottom=1e-14)
        if columns[0] == "step_limit":
            axes.set_ylim(-0.05, 1.05)
        axes.set_ylabel(label, fontsize=9)
        axes.grid(True, which="major", color="0.88")
        axes.spines[["top", "right"]].set_visible(False)
    pairs = panels[[label for label, _, _ in chosen].index("pairs in contact")]
    if few:  # the legend of that panel
        _, columns, styles = PANELS[1]
        handles = [pairs.plot([], [], style, color="0.3", label=WORDS[column])[0] for column, style in zip(columns, styles, strict=True)]
        pairs.legend(handles=handles, frameon=False, fontsize=8, ncols=3, loc="upper right")
    if len(records) > 4:
        figure.legend(*panels[0].get_legend_handles_labels(), frameon=False, fontsize=9, loc="outside right center")
        panels[-1].set_xscale("symlog", linthresh=10.0 if x == "iterations" else 1e-3)  # from five iterations to five hundred
        panels[-1].set_xlim(left=0.0)
    elif len(records) > 1:
        panels[-1].legend(frameon=False, fontsize=8, loc="lower left")
    panels[-1].set_xlabel(label_of(x))
    return figure


def draw_forces(axes, forces, *, scale=None, colour="#b3122a", linewidth=1.2):
    """Draw the contact force on every vertex as an arrow from it, in front of the bodies, y up as in `draw_simulation`.

    Parameters
    ----------
    axes : matplotlib axes
        Those of `draw_simulation`.
    forces : ContactForces
    scale : float, optional
        m/N: length of an arrow. By default the largest force has a quarter of the width of the bodies in contact.

    Returns
    -------
    float
        The scale, m/N.
    """
    pushed = np.flatnonzero(np.abs(forces.forces).max(axis=1) > 0.0)
    vectors, points = forces.forces[pushed], np.asarray(forces.positions, dtype=np.float64)[pushed]
    if scale is None:
        largest = np.linalg.norm(vectors, axis=1).max(initial=0.0)
        everything = np.asarray(forces.positions, dtype=np.float64)[: len(forces.forces)]
        scale = 0.25 * float(np.linalg.norm(np.ptp(everything, axis=0))) / largest if largest > 0.0 else 1.0
    scale = number("scale", scale, above=0.0)
    arrows = scale * vectors
    side = np.cross(arrows, towards_the_eye(axes))
    side *= (HEAD * np.linalg.norm(arrows, axis=1) / np.maximum(np.linalg.norm(side, axis=1), 1e-300))[:, None]
    tips = points + arrows
    necks = tips - 2.0 * HEAD * arrows
    segments = np.concatenate([np.stack(ends, axis=1) for ends in ((points, tips), (tips, necks + side), (tips, necks - side))])
    seen_segments(axes, segments, colors=colour, linewidths=linewidth)
    return scale
