"""Pictures: convergence curves and shaded bodies. matplotlib (extra `viz`) is imported only here, when first used."""

from __future__ import annotations

import numpy as np

from pdgpu.arguments import choice

__all__ = ["draw_surface", "plot_comparison"]

LABELS = {
    "iterations": "iterations",
    "seconds": "seconds",
    "relative_loss": "relative loss  (G − G*) / (G₀ − G*)",
    "relative_error": "relative error  |x − x*| / |x₀ − x*|",
    "gradient_norm": "gradient norm  [N]",
}


def _pyplot():
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise RuntimeError("plots need matplotlib: pip install 'pdgpu[viz]'") from None
    return plt


def plot_comparison(comparison, x="iterations", y="relative_loss", axes=None):
    """Draw one curve per solver, logarithmic in y.

    Values that are not positive (a loss at the floor of rounding can be 0 or slightly negative) are not drawn. A solver that
    diverged ends with a cross.

    Parameters
    ----------
    comparison : Comparison
    x : "iterations" or "seconds"
    y : "relative_loss", "relative_error" or "gradient_norm"
    axes : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    choice("x", x, ("iterations", "seconds"))
    choice("y", y, ("relative_loss", "relative_error", "gradient_norm"))
    if axes is None:
        _, axes = _pyplot().subplots(figsize=(6.4, 4.4), layout="constrained")
    drawn = []
    for k, (name, record) in enumerate(comparison.records.items()):
        if y not in record:
            raise ValueError(f"y: {y!r} needs a reference, and this comparison has none")
        abscissa = record["iteration" if x == "iterations" else "seconds"]
        values = np.where(np.isfinite(record[y]) & (record[y] > 0.0), record[y], np.nan)
        # twelve or so markers: enough to tell curves apart in print, not a carpet
        every = max(1, len(values) // 12)
        style = {"color": f"C{k % 10}", "marker": "osD^vP*X"[k % 8], "markersize": 4.5, "markevery": every, "linewidth": 1.6}
        axes.plot(abscissa, values, label=name, **style)
        if record.status == "diverged" and np.isfinite(values).any():
            last = np.flatnonzero(np.isfinite(values))[-1]
            axes.plot(abscissa[last], values[last], "x", color=style["color"], markersize=10, markeredgewidth=2.5)
        drawn.append(values)
    axes.set_yscale("log")
    values = np.concatenate(drawn)
    if np.isfinite(values).any():
        # one diverging solver must not flatten all the others
        axes.set_ylim(
            max(0.3 * np.nanmin(values), 1e-16 if y.startswith("relative") else 0.0), min(5.0 * np.nanmax(values), 1e3 * values[0])
        )
    axes.set_xlabel(LABELS[x])
    axes.set_ylabel(LABELS[y])
    axes.grid(True, which="major", color="0.88")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    return axes


def draw_surface(axes, points, triangles, *, colour="#d98c4a", bounds=None, elevation=12.0, azimuth=-68.0):
    """Draw a shaded surface, y up.

    Parameters
    ----------
    axes : matplotlib 3D axes
    points : array_like, shape (n, 3)
        m.
    triangles : array_like of int, shape (t, 3)
    bounds : (low, high), two of shape (3,), optional
        The box to show, so that several pictures have the same scale; by default that of the points.
    """
    from matplotlib.colors import to_rgb
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    swap = [0, 2, 1]  # matplotlib's z is up
    points = np.asarray(points, dtype=np.float64)
    low, high = (points.min(axis=0), points.max(axis=0)) if bounds is None else np.asarray(bounds, dtype=np.float64)
    corners = (points[:, swap] * [1.0, -1.0, 1.0])[triangles]
    flat = np.maximum(high - low, 1e-3 * (high - low).max())  # a flat body still needs a box with some height
    low, high = 0.5 * (low + high - flat), 0.5 * (low + high + flat)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    # both sides of a sheet are lit: normals face the viewer; of a closed surface the other side is hidden anyway
    e, a = np.radians(elevation), np.radians(azimuth)
    facing = normals @ np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    normals *= np.where(facing < 0.0, -1.0, 1.0)[:, None]
    # a key light from the viewer's upper left, a weak fill from below
    key = np.clip(normals @ _unit(-0.4, -0.7, 0.6), 0.0, 1.0)
    fill = np.clip(normals @ _unit(0.7, -0.2, -0.3), 0.0, 1.0)
    shade = 0.32 + 0.62 * key + 0.12 * fill
    colours = np.clip(shade[:, None] * np.array(to_rgb(colour)), 0.0, 1.0)
    axes.add_collection3d(Poly3DCollection(corners, facecolors=colours, edgecolors=colours, linewidths=0.2))
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(-high[2], -low[2])
    axes.set_zlim(low[1], high[1])
    axes.set_box_aspect(flat[swap], zoom=1.18)
    axes.view_init(elevation, azimuth)
    axes.set_axis_off()
    return axes


def _unit(*vector):
    vector = np.array(vector)
    return vector / np.linalg.norm(vector)


def save_convergence(comparison, path):
    """Relative loss against iterations and against seconds, side by side, as a picture."""
    plt = _pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(11.0, 4.6), sharey=True, layout="constrained")
    for axes, x in zip(panels, ("iterations", "seconds"), strict=True):
        plot_comparison(comparison, x, "relative_loss", axes=axes)
    panels[0].set_xscale("symlog", linthresh=10)
    panels[0].set_xlim(left=0)
    panels[1].set_xscale("symlog", linthresh=1e-2)
    panels[1].set_xlim(left=0)
    panels[1].set_ylabel("")
    panels[1].get_legend().remove()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def save_states(states, triangles, path, *, azimuth=-68.0):
    """Surfaces side by side at one scale: `states` is a dict of title -> points (n, 3)."""
    plt = _pyplot()
    every = np.concatenate(list(states.values()))
    bounds = every.min(axis=0), every.max(axis=0)
    figure = plt.figure(figsize=(4.6 * len(states), 4.6), layout="constrained")
    for k, (title, points) in enumerate(states.items()):
        axes = figure.add_subplot(1, len(states), k + 1, projection="3d")
        draw_surface(axes, points, triangles, bounds=bounds, azimuth=azimuth)
        axes.set_title(title, fontsize=11)
    figure.savefig(path, dpi=110)
    plt.close(figure)
