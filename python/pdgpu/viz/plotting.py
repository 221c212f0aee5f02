"""Pictures: convergence curves and films. matplotlib (extra `viz`) and pyvista (extra `viz3d`) are imported when first used."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import choice, having, number, real_array
from pdgpu._internal.atomic_files import replacing
from pdgpu._internal.counted import counted
from pdgpu._internal.counts import MEASURES, check_measure, costs_of_rows
from pdgpu.mesh.io.mesh_files import as_path
from pdgpu.mesh.mesh_arrays import element_rows
from pdgpu.viz.body_plotting import PALETTE, collider_surface, draw_contacts, draw_simulation, draw_surface
from pdgpu.viz.camera import AZIMUTH, ELEVATION, Camera, corners_of
from pdgpu.viz.curve_styles import curve_styles
from pdgpu.viz.depth_buffer import depth_image
from pdgpu.viz.paper_figures import TEXT_AS_TEXT, label_of, load_pyplot, paper_figure
from pdgpu.viz.renderer import imported_pyvista

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.results.histories import History
    from pdgpu.simulation.simulation import Simulation
    from pdgpu.study.comparison import Comparison
    from pdgpu.types import Bounds, Path

__all__ = ["animate", "collider_surface", "curve_styles", "draw_contacts", "draw_simulation", "draw_surface", "plot_comparison"]

BELOW_ROUNDING = 1e-12  # of G0 - G*: the rounding of G in a loss in float64
BAND_POINTS = 512  # of a band in a plot
STATE_PIXELS = 480  # on each side of a picture of a state

LABELS = {
    "relative_loss": "relative loss  (G − G*) / (G₀ − G*)",
    "relative_error": "relative error  |x − x*| / |x₀ − x*|",
    "gradient_norm": "gradient norm  [N]",
}


def prepare_pictures() -> None:
    """Load matplotlib for pictures that are only saved: without a display, for any MPLBACKEND.

    Raises
    ------
    RuntimeError
        matplotlib is not installed, or MPLBACKEND is no backend of it.
    """
    load_pyplot().switch_backend("Agg")


def plot_comparison(
    comparison: Comparison,
    x: str = "iterations",
    y: str | None = None,
    axes: Any = None,
    band: str | None = None,
    size: tuple[float, float] | None = None,
) -> Any:
    """Draw one curve per solver, logarithmic in y.

    Values that are not positive are not drawn; if such a loss exceeds rounding, a note counts them. A note also states the origin of the
    reference, unless it is Newton's from the first guess. The curve of a solver that diverged ends with a cross. A solver has the same
    colour in all figures.

    Parameters
    ----------
    comparison : Comparison
    x : "iterations", "seconds", "total_seconds" (with those of the setup), or a count of work of `StepRecord`
    y : "relative_loss", "relative_error" or "gradient_norm"
        By default "relative_loss", and "gradient_norm" without a reference.
    axes : matplotlib axes, optional
    band : "quartiles", optional
        Of several comparisons (`Comparison.concat`): the median of each solver, in a band from the lower to the upper quartile. A run that
        ended keeps its last value, and one that diverged is infinite from there on.
    size : (width, height), optional
        Of a figure for a paper, inches, with text of 8 points. By default 6.4 x 4.4 with the sizes of matplotlib.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ValueError
        A column that the records do not have.
    """
    having("comparison", comparison, "records", "what pdgpu.compare returned")
    choice("x", x, MEASURES)
    records = comparison.records
    check_measure(records, x)
    if y is None:
        y = "relative_loss" if all("relative_loss" in record for record in records.values()) else "gradient_norm"
    choice("y", y, ("relative_loss", "relative_error", "gradient_norm"))
    for record in records.values():
        if y not in record:
            raise ValueError(f"y: {y!r} needs a reference, and this comparison has none; compare with reference='newton'")
    if band is not None:
        choice("band", band, ("quartiles",))
    if size is not None:
        with paper_figure(size, axes) as axes:
            return _draw_comparison(comparison, x, y, axes, band, 7)
    if axes is None:
        _, axes = load_pyplot().subplots(figsize=(6.4, 4.4), layout="constrained")
    return _draw_comparison(comparison, x, y, axes, band, 9)


def _draw_comparison(comparison, x, y, axes, band, small):
    """Draw the comparison; `small`: the size of the text of the legend."""
    records = comparison.records
    methods = comparison.methods()
    styles = curve_styles(methods)
    if band is None:
        drawn = [_draw_runs(axes, styles[name], name, runs, x, y) for name, runs in methods.items()]
    else:
        drawn = [_draw_band(axes, styles[name], name, runs, x, y) for name, runs in methods.items()]
    axes.set_yscale("log")
    values = np.concatenate(drawn)
    if np.isfinite(values).any():
        # one diverging solver must not flatten all the others
        firsts = np.array([record[y][0] for record in records.values()])
        highest = 1e3 * np.max(firsts, where=np.isfinite(firsts), initial=np.nanmin(values))
        axes.set_ylim(max(0.3 * np.nanmin(values), 1e-16 if y.startswith("relative") else 0.0), min(5.0 * np.nanmax(values), highest))
    axes.set_xlabel(label_of(x))
    axes.set_ylabel(LABELS[y])
    axes.grid(True, which="major", color="0.88")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=small)
    if notes := _notes(comparison, y):
        axes.text(0.0, 1.01, "\n".join(notes), transform=axes.transAxes, fontsize=small - 1, color="0.3", va="bottom")
    return axes


def _notes(comparison, y):
    """Return the sentences above a plot."""
    notes = []
    if y != "gradient_norm" and comparison.has_unusual_reference():
        notes.append(f"G* and x*: {comparison.reference_source}")
    for name, record in comparison.records.items() if y == "relative_loss" else ():
        below = int((record[y] < -BELOW_ROUNDING).sum())
        if below:
            notes.append(f"{name}: {below} of {counted(len(record[y]), 'point')} below zero, not drawn")
    return notes


def _draw_runs(axes, style, name, runs, x, y):
    """Draw every run of a method; return the drawn values."""
    drawn = []
    for record in runs:
        abscissa = costs_of_rows(record, x)
        values = np.where(np.isfinite(record[y]) & (record[y] > 0.0), record[y], np.nan)
        # markers at visible distances on any axis: enough to distinguish curves in print
        axes.plot(abscissa, values, label=None if drawn else name, markersize=4.5, markevery=0.1, linewidth=1.6, **style)
        if record.status == "diverged" and np.isfinite(values).any():
            last = np.flatnonzero(np.isfinite(values))[-1]
            axes.plot(abscissa[last], values[last], "x", color=style["color"], markersize=10, markeredgewidth=2.5)
        drawn.append(values)
    return np.concatenate(drawn)


def _draw_band(axes, style, name, runs, x, y):
    """Draw the quartiles of a method; return the drawn values."""
    columns = [costs_of_rows(record, x) for record in runs]
    abscissa = np.unique(np.concatenate(columns))
    if len(abscissa) > BAND_POINTS:
        abscissa = abscissa[np.unique(np.linspace(0, len(abscissa) - 1, BAND_POINTS).round().astype(int))]
    values = []
    for record, column in zip(runs, columns, strict=True):
        last = np.searchsorted(column, abscissa, side="right") - 1
        ended = (record.status == "diverged") & (abscissa > column[-1])
        values.append(np.where(ended, np.inf, record[y][last]))
    # a rank, since a mean with an infinite value is not finite
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0, method="nearest")
    low, middle, high = (np.where(np.isfinite(each) & (each > 0.0), each, np.nan) for each in (low, middle, high))
    axes.plot(abscissa, middle, label=name, markersize=4.5, markevery=0.1, linewidth=1.6, **style)
    axes.fill_between(abscissa, low, high, color=style["color"], alpha=0.2, linewidth=0.0)
    return np.concatenate([low, middle, high])


def animate(
    simulation: Simulation,
    path: Path,
    seconds: float,
    *,
    fps: float = 25.0,
    size: tuple[float, float] = (6.4, 4.8),
    dpi: float = 90,
    bounds: Bounds | None = None,
    progress: bool = False,
    **drawing: Any,
) -> History:
    """Run a simulation and film it with `draw_simulation`, in real time up to whole steps.

    Parameters
    ----------
    simulation : Simulation
        Afterwards it is at the end of the film.
    path : str or os.PathLike
        Ends in .gif, or in .mp4, which needs the program ffmpeg: the system's, or that of ``pip install imageio-ffmpeg``. Replaced as a
        whole.
    seconds : float
        Simulated time, s.
    fps : float
        Frames per second, at most one per step.
    size, dpi
        Of a picture, inches and dots in each.
    bounds : (low, high), two of shape (3,), optional
        The box to show; by default that of the bodies at the start.
    progress : bool
        Show a bar.
    drawing
        Further arguments of `draw_simulation`.

    Returns
    -------
    History
        The record of `Simulation.run` at the frames.

    Raises
    ------
    ValueError
        Another end of the path, numbers out of range.
    RuntimeError
        pyvista is not installed, or ffmpeg for an .mp4.
    """
    having("simulation", simulation, "bodies", "a pdgpu.Simulation")
    plt = load_pyplot()
    imported_pyvista()  # before the run
    from matplotlib.animation import FFMpegWriter, PillowWriter

    suffix, fps = as_path(path).suffix.lower(), number("fps", fps, above=0.0)
    writers = {".gif": PillowWriter, ".mp4": FFMpegWriter}
    choice("path", suffix, tuple(writers))
    settings = {"animation.ffmpeg_path": _ffmpeg(FFMpegWriter)} if suffix == ".mp4" else {}
    if simulation.dt is None:
        raise ValueError("dt: None (quasistatic) has no time to film; give dt")
    every = max(1, round(1.0 / (fps * simulation.dt)))
    if bounds is None:
        bounds = simulation.positions.min(axis=0), simulation.positions.max(axis=0)
    figure = plt.figure(figsize=size)
    with plt.rc_context(settings):
        writer = writers[suffix](fps=1.0 / (every * simulation.dt))

    def draw(simulation):
        figure.clear()
        draw_simulation(figure.add_axes((0.0, 0.0, 1.0, 1.0)), simulation, bounds=bounds, **drawing)
        figure.text(0.03, 0.03, f"{simulation.time:.2f} s")
        writer.grab_frame()

    try:
        with plt.rc_context(settings), replacing(path) as unfinished:
            writer.setup(figure, unfinished, dpi)
            try:
                history = simulation.run(seconds, every=every, callback=draw, progress=progress)
            except BaseException:
                with contextlib.suppress(Exception):  # a film without frames cannot be completed; this error would hide the cause
                    writer.finish()
                raise
            writer.finish()
            return history
    finally:
        plt.close(figure)


def _ffmpeg(writer):
    """Return the path of the program: the one in matplotlib's settings, otherwise that of imageio-ffmpeg."""
    if writer.isAvailable():
        return writer.bin_path()
    try:
        import imageio_ffmpeg
    except ImportError:
        raise RuntimeError(
            "animate: .mp4 needs the program ffmpeg, which is not installed: pip install imageio-ffmpeg; .gif does not"
        ) from None
    return imageio_ffmpeg.get_ffmpeg_exe()


def save_convergence(comparison: Comparison, path: Path) -> None:
    """Save relative loss against iterations and against seconds, side by side, as a picture: .png, or .pdf and .svg with text as text.

    Without a reference it is the gradient norm.
    """
    having("comparison", comparison, "records", "a Comparison")
    plt = load_pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(12.5, 4.6), sharey=True, layout="constrained")
    for axes, x in zip(panels, ("iterations", "seconds"), strict=True):
        plot_comparison(comparison, x, axes=axes)
        axes.get_legend().remove()
    for text in [*panels[1].texts]:  # the notes above the first panel
        text.remove()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9)
    panels[0].set_xscale("symlog", linthresh=10)
    panels[0].set_xlim(left=0)
    panels[1].set_xscale("symlog", linthresh=1e-2)
    panels[1].set_xlim(left=0)
    panels[1].set_ylabel("")
    with replacing(path) as unfinished, plt.rc_context(TEXT_AS_TEXT):
        figure.savefig(unfinished, dpi=130)
    plt.close(figure)


def save_states(states: Mapping[str, ArrayLike], triangles: ArrayLike, path: Path, *, azimuth: float = AZIMUTH) -> None:
    """Save surfaces side by side at one scale: `states` is a dict of title -> points (n, 3).

    A depth buffer in NumPy renders them (`pdgpu.viz.depth_buffer`), so that ``make demo`` and the command line need no VTK.
    """
    having("states", states, "values", "a dict of title -> points (n, 3)")
    plt = load_pyplot()
    every = {title: real_array(f"states[{title!r}]", points, (None, 3)) for title, points in states.items()}
    box = np.concatenate(list(every.values()))
    camera = Camera(corners_of((box.min(axis=0), box.max(axis=0))), ELEVATION, azimuth, 1.0)
    figure = plt.figure(figsize=(4.6 * len(states), 4.6), layout="constrained")
    for k, (title, points) in enumerate(every.items()):
        axes = figure.add_subplot(1, len(states), k + 1)
        axes.imshow(depth_image(points, element_rows("triangles", triangles, 3, points), PALETTE[0], camera, STATE_PIXELS))
        axes.set_axis_off()
        axes.set_title(title, fontsize=11)
    with replacing(path) as unfinished, plt.rc_context(TEXT_AS_TEXT):
        figure.savefig(unfinished, dpi=110)
    plt.close(figure)
