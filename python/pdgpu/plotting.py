"""Pictures: convergence curves and shaded bodies. matplotlib (extra `viz`) is imported only here, when first used."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from pdgpu import shapes
from pdgpu.arguments import choice, number, real_array
from pdgpu.atomic_files import replacing
from pdgpu.colliders import Box, Capsule, Plane, Sphere, TriangleMesh
from pdgpu.mesh import element_rows
from pdgpu.mesh_files import as_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.colliders import Collider
    from pdgpu.comparison import Comparison
    from pdgpu.contacts import Contacts
    from pdgpu.histories import History
    from pdgpu.simulation import Simulation
    from pdgpu.types import Bounds, Options, Path

__all__ = ["animate", "collider_surface", "draw_contacts", "draw_simulation", "draw_surface", "plot_comparison"]

LABELS = {
    "iterations": "iterations",
    "seconds": "seconds",
    "relative_loss": "relative loss  (G − G*) / (G₀ − G*)",
    "relative_error": "relative error  |x − x*| / |x₀ − x*|",
    "gradient_norm": "gradient norm  [N]",
}


# one for each solver of `make demo`, neighbours in the legend unlike each other; lines beyond them are dashed
CURVES = (
    *("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f"),
    *("#bcbd22", "#17becf", "#0b3c6f", "#f4b183", "#145a32", "#000000"),
)


def _pyplot():
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise RuntimeError("plots need matplotlib: pip install 'pdgpu[viz]'") from None
    return plt


def plot_comparison(comparison: Comparison, x: str = "iterations", y: str = "relative_loss", axes: Any = None) -> Any:
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
        # markers as far apart as can be seen, whatever the axis: enough to tell curves apart in print, not a carpet
        style = {"color": CURVES[k % len(CURVES)], "marker": "osD^vP*X"[k % 8], "markersize": 4.5, "markevery": 0.1, "linewidth": 1.6}
        style["linestyle"] = ("-", "--", ":")[k // len(CURVES) % 3]
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


def draw_surface(
    axes: Any,
    points: ArrayLike,
    triangles: ArrayLike,
    *,
    colour: str = "#d98c4a",
    bounds: Bounds | None = None,
    elevation: float = 12.0,
    azimuth: float = -68.0,
) -> Any:
    """Draw a shaded surface, y up.

    Parameters
    ----------
    axes : matplotlib 3D axes
    points : array_like, shape (n, 3)
        m.
    triangles : array_like of int, shape (t, 3)
        None at all, `[]`, leaves an empty picture of the same scale.
    bounds : (low, high), two of shape (3,), optional
        The box to show, so that several pictures have the same scale; by default that of the points.

    Raises
    ------
    TypeError, ValueError
        A coordinate that is not finite, an index out of range, a vertex repeated in a row.
    """
    points = real_array("points", points, (None, 3))
    triangles = element_rows("triangles", triangles, 3, points)
    return _draw_surfaces(axes, [(points, triangles, colour, 1.0)], bounds, elevation, azimuth)


SWAP = [0, 2, 1]  # matplotlib's z is up


def _turned(points):
    """Points with y up as matplotlib has them."""
    return np.asarray(points, dtype=np.float64)[..., SWAP] * [1.0, -1.0, 1.0]


def _draw_surfaces(axes, surfaces, bounds, elevation, azimuth):
    """Surfaces (points, triangles, colour, opacity) together, so that nearer triangles hide farther ones of others too."""
    from matplotlib.colors import to_rgb
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    if bounds is None:
        every = np.concatenate([np.asarray(points, dtype=np.float64) for points, *_ in surfaces])
        bounds = every.min(axis=0), every.max(axis=0)
    low, high = np.asarray(bounds, dtype=np.float64)
    flat = np.maximum(high - low, 1e-3 * (high - low).max())  # a flat body still needs a box with some height
    low, high = 0.5 * (low + high - flat), 0.5 * (low + high + flat)
    corners = np.concatenate([_turned(points)[triangles] for points, triangles, *_ in surfaces])
    base = np.concatenate([np.tile((*to_rgb(colour), opacity), (len(triangles), 1)) for _, triangles, colour, opacity in surfaces])
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
    base[:, :3] = np.clip(shade[:, None] * base[:, :3], 0.0, 1.0)
    # of a surface that is seen through, lines along the sides would be seen twice
    edges = np.where(base[:, 3:] < 1.0, base * [1.0, 1.0, 1.0, 0.0], base)
    if len(corners):  # matplotlib takes no collection of nothing
        axes.add_collection3d(Poly3DCollection(corners, facecolors=base, edgecolors=edges, linewidths=0.2))
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(-high[2], -low[2])
    axes.set_zlim(low[1], high[1])
    axes.set_box_aspect(flat[SWAP], zoom=1.18)
    axes.view_init(elevation, azimuth)
    axes.set_axis_off()
    return axes


def collider_surface(collider: Collider, time: float = 0.0, extent: Any = ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))) -> Any:
    """Points (n, 3), m, and triangles (t, 3) that show a collider at a time; None for a SignedDistanceField that knows no mesh.

    extent : (low, high), two of shape (3,)
        Of a plane, the part over this box.
    """
    if isinstance(collider, TriangleMesh):
        return collider.positions(time), collider.triangles
    if isinstance(collider, Plane):
        normal = np.array(collider.normal)
        across = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
        across = np.stack([across / np.linalg.norm(across), np.cross(normal, across / np.linalg.norm(across))])
        corners = np.array(list(itertools.product(*np.transpose(extent)))) - collider.point
        low, high = (corners @ across.T).min(axis=0), (corners @ across.T).max(axis=0)
        sheet = shapes.grid(tuple(np.maximum(high - low, 1e-9)), (16, 16))  # squares, since painters sort by their middles
        points, triangles = collider.point + (sheet.points[:, :2] + low) @ across, sheet.triangles
    elif isinstance(collider, Box):
        mesh = shapes.box(collider.size)
        rotation = np.eye(3) if collider.rotation is None else np.array(collider.rotation)
        points, triangles = (mesh.points - 0.5 * np.array(collider.size)) @ rotation.T + collider.centre, mesh.triangles
    elif isinstance(collider, Sphere | Capsule):
        mesh = shapes.sphere(collider.radius, 3)
        points, triangles = mesh.points, mesh.triangles
        if isinstance(collider, Capsule):  # a ball pulled apart along the segment
            axis = np.array(collider.end) - np.array(collider.start)
            points = points + np.where((points @ axis > 0.0)[:, None], collider.end, collider.start)
        else:
            points = points + collider.centre
    elif getattr(collider, "mesh", None) is not None:
        points, triangles = collider.mesh.points, collider.mesh.surface
    else:
        return None
    rotation, translation = collider.placement(time)
    return points @ rotation.T + translation, triangles


def draw_simulation(
    axes: Any,
    simulation: Simulation,
    *,
    colours: Options | None = None,
    opacity: Options | None = None,
    bounds: Bounds | None = None,
    elevation: float = 12.0,
    azimuth: float = -68.0,
) -> Any:
    """Draw the bodies of a simulation where they are and its obstacles where they are at its time, y up.

    Parameters
    ----------
    axes : matplotlib 3D axes
    simulation : Simulation
    colours, opacity : dict, optional
        Of a body or obstacle by its name, where it is to differ: opacity from 0 to 1.
    bounds : (low, high), two of shape (3,), optional
        The box to show; by default that of the bodies. Planes are drawn as far as it reaches.
    """
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    colours, opacity, x = colours or {}, opacity or {}, np.asarray(simulation.positions, dtype=np.float64)
    bounds = (x.min(axis=0), x.max(axis=0)) if bounds is None else bounds
    surfaces, lines = [], []
    for k, body in enumerate(simulation.bodies):
        here, colour = x[body.slice], colours.get(body.name, ("#d98c4a", "#5b8fc7", "#6aa879", "#b07aa8")[k % 4])
        if body.type in ("solid", "shell"):
            triangles = body.mesh.surface if body.type == "solid" else body.mesh.triangles
            surfaces.append((here, triangles, colour, opacity.get(body.name, 1.0)))
        elif body.type == "rod":
            lines.append((here[body.mesh.edges], colour))
        else:
            axes.scatter(*_turned(here).T, s=6, color=colour)
    for obstacle in simulation.obstacles:
        surface = collider_surface(obstacle.collider, simulation.time, bounds)
        if surface is not None:
            surfaces.append((*surface, colours.get(obstacle.name, "#b9b9b4"), opacity.get(obstacle.name, 1.0)))
    if surfaces:
        _draw_surfaces(axes, surfaces, bounds, elevation, azimuth)
    for segments, colour in lines:
        axes.add_collection3d(Line3DCollection(_turned(segments), colors=colour, linewidths=1.5))
    return axes


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
    """Run a simulation and film it as it is drawn by `draw_simulation`, in real time as far as whole steps allow.

    Parameters
    ----------
    simulation : Simulation
        It is where the film ends afterwards.
    path : str or os.PathLike
        Ends in .gif, or in .mp4, which needs the program ffmpeg. Put in place whole.
    seconds : float
    fps : float
        Frames a second, at most one a step.
    size, dpi
        Of a picture, inches and dots in each.
    bounds : (low, high), two of shape (3,), optional
        The box to show; by default that of the bodies as they are now.
    progress : bool
        Show a bar.
    drawing
        Further arguments of `draw_simulation`.

    Returns
    -------
    History
        What `Simulation.run` recorded at the frames.

    Raises
    ------
    ValueError
        Another end of the path, numbers out of range.
    RuntimeError
        No ffmpeg for an .mp4.
    """
    plt = _pyplot()
    from matplotlib.animation import FFMpegWriter, PillowWriter

    path, fps = as_path(path), number("fps", fps, above=0.0)
    writers = {".gif": PillowWriter, ".mp4": FFMpegWriter}
    choice("path", path.suffix.lower(), tuple(writers))
    if path.suffix.lower() == ".mp4" and not FFMpegWriter.isAvailable():
        raise RuntimeError("animate: .mp4 needs the program ffmpeg, which is not there; .gif does not")
    if simulation.dt is None:
        raise ValueError("dt: None (quasistatic): there is no time to film")
    every = max(1, round(1.0 / (fps * simulation.dt)))
    if bounds is None:
        bounds = simulation.positions.min(axis=0), simulation.positions.max(axis=0)
    figure = plt.figure(figsize=size)
    writer = writers[path.suffix.lower()](fps=1.0 / (every * simulation.dt))

    def draw(simulation):
        figure.clear()
        draw_simulation(figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d"), simulation, bounds=bounds, **drawing)
        figure.text(0.03, 0.03, f"{simulation.time:.2f} s")
        writer.grab_frame()

    try:
        with replacing(path) as unfinished, writer.saving(figure, unfinished, dpi):
            return simulation.run(seconds, every=every, callback=draw, progress=progress)
    finally:
        plt.close(figure)


def draw_contacts(axes: Any, contacts: Contacts, *, limits: Any = None, cmap: str = "plasma", linewidth: float = 1.6) -> Any:
    """Draw contacts as segments between their closest points, coloured by distance, in front of everything else.

    Parameters
    ----------
    axes : matplotlib 3D axes
    contacts : Contacts
    limits : (float, float), optional
        Distances of the first and the last colour, m; by default those that occur.

    Returns
    -------
    matplotlib collection
        For `figure.colorbar`.
    """
    from matplotlib.colors import Normalize
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    distance = np.asarray(contacts.distance, dtype=np.float64)
    low, high = (distance.min(initial=np.inf), distance.max(initial=-np.inf)) if limits is None else limits
    if not low <= high:
        low, high = 0.0, 1.0
    segments = Line3DCollection(_turned(contacts.points), cmap=cmap, norm=Normalize(low, high), linewidths=linewidth)
    segments.set_array(distance)
    axes.computed_zorder = False
    segments.set_zorder(10)
    if len(contacts):  # matplotlib takes no collection of nothing
        axes.add_collection3d(segments)
    return segments


def _unit(*vector):
    vector = np.array(vector)
    return vector / np.linalg.norm(vector)


def save_convergence(comparison: Comparison, path: Path) -> None:
    """Relative loss against iterations and against seconds, side by side, as a picture."""
    plt = _pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(12.5, 4.6), sharey=True, layout="constrained")
    for axes, x in zip(panels, ("iterations", "seconds"), strict=True):
        plot_comparison(comparison, x, "relative_loss", axes=axes)
        axes.get_legend().remove()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9)
    panels[0].set_xscale("symlog", linthresh=10)
    panels[0].set_xlim(left=0)
    panels[1].set_xscale("symlog", linthresh=1e-2)
    panels[1].set_xlim(left=0)
    panels[1].set_ylabel("")
    with replacing(path) as unfinished:
        figure.savefig(unfinished, dpi=130)
    plt.close(figure)


def save_states(states: Mapping[str, ArrayLike], triangles: ArrayLike, path: Path, *, azimuth: float = -68.0) -> None:
    """Surfaces side by side at one scale: `states` is a dict of title -> points (n, 3)."""
    plt = _pyplot()
    every = np.concatenate(list(states.values()))
    bounds = every.min(axis=0), every.max(axis=0)
    figure = plt.figure(figsize=(4.6 * len(states), 4.6), layout="constrained")
    for k, (title, points) in enumerate(states.items()):
        axes = figure.add_subplot(1, len(states), k + 1, projection="3d")
        draw_surface(axes, points, triangles, bounds=bounds, azimuth=azimuth)
        axes.set_title(title, fontsize=11)
    with replacing(path) as unfinished:
        figure.savefig(unfinished, dpi=110)
    plt.close(figure)
