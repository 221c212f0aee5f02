"""Interactive viewers of a simulation: k3d in notebooks and in HTML files, polyscope in a window. Both are extras."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from pdgpu._internal.arguments import choice, having
from pdgpu._internal.atomic_files import replacing
from pdgpu._internal.counted import counted
from pdgpu.viz.body_plotting import obstacle_surfaces

if TYPE_CHECKING:
    from pdgpu.simulation.simulation import Simulation
    from pdgpu.types import Path

__all__ = ["Viewer", "viewer"]

COLOURS = (0xD98C4A, 0x5B8FC7, 0x6AA879, 0xB07AA8)
OBSTACLE = 0xB9B9B4


def viewer(simulation: Simulation, backend: str = "auto") -> Viewer:
    """Open a viewer of a simulation, for its present state and its motion.

    Parameters
    ----------
    simulation : Simulation
    backend : "auto", "k3d" or "polyscope"
        "k3d": in a notebook, which displays the returned object, and in files by `Viewer.write`. "polyscope": a window, opened by
        `Viewer.show`. "auto": "k3d" in a notebook, otherwise "polyscope".

    Returns
    -------
    Viewer
        With one frame, the present state. A call of it, or its use as the callback of `Simulation.run`, adds frames, and it opens at the
        last of them. In a notebook a displayed plot moves with every frame; displayed again it has a slider for the time.

    Raises
    ------
    ImportError
        The backend is not installed: ``pip install k3d`` or ``pip install polyscope``.

    Examples
    --------
    In a notebook: the first cell shows the simulation, which moves while the second runs; the third shows it with a slider.

    >>> view = pdgpu.viewer(sim)  # doctest: +SKIP
    >>> view  # doctest: +SKIP
    >>> sim.run(2.0, every=4, callback=view)  # doctest: +SKIP
    >>> view  # doctest: +SKIP
    """
    having("simulation", simulation, "bodies", "a pdgpu.Simulation")
    choice("backend", backend, ("auto", "k3d", "polyscope"))
    if backend == "auto":
        backend = "k3d" if "ipykernel" in sys.modules else "polyscope"
    return Viewer(simulation, backend)


class Viewer:
    """Frames of a simulation, and their display; made by `pdgpu.viewer`."""

    def __init__(self, simulation, backend):
        self._toolkit = _imported(backend)
        self._simulation, self.backend = simulation, backend
        self.times: list[float] = []
        self._frames: list[dict[str, tuple[str, Any, Any, int]]] = []
        self._seen: Any = None
        self._plot = None  # the last returned plot, and whether it has all frames
        self._is_whole = True
        self(simulation)

    def __call__(self, simulation: Simulation | None = None) -> None:
        """Add a frame of the present state, or replace one of the same time. The last plot in a notebook shows it."""
        simulation = self._simulation if simulation is None else simulation
        if self.times and self.times[-1] == simulation.time:
            self.times.pop()
            self._frames.pop()
        self.times.append(simulation.time)
        self._frames.append(_shapes(simulation))
        if self._plot is not None:
            self._seen = _k3d_show(self._toolkit, self._plot, self._frames[-1], self._seen)
            self._is_whole = False

    def __len__(self):
        return len(self.times)

    def __repr__(self):
        return f"<Viewer: {counted(len(self), 'frame')}, {self.backend}>"

    def _repr_mimebundle_(self, include=None, exclude=None):
        if self.backend != "k3d":
            return {"text/plain": repr(self)}
        plot = self.plot()
        return (plot if len(self) == 1 else _with_slider(plot, self.times))._repr_mimebundle_()

    def plot(self) -> Any:
        """The k3d plot of all frames; its `time` selects one. RuntimeError with another backend.

        It shows further frames as they are added, but does not keep them: another plot does.
        """
        if self._plot is None or not self._is_whole:
            self._plot, self._is_whole, self._seen = self._film(), True, _box(self._frames)
        return self._plot

    def _film(self):
        if self.backend != "k3d":
            raise RuntimeError(f"plot: this viewer uses {self.backend}; make one with backend='k3d'")
        return _k3d_plot(self._toolkit, self.times, self._frames)

    def write(self, path: Path) -> None:
        """Write an HTML file for any browser, without a network, a server or Python; the file is replaced as a whole.

        Raises
        ------
        ValueError
            Another end of the path.
        RuntimeError
            A viewer with another backend than "k3d".
        """
        if not os.fspath(path).lower().endswith((".html", ".htm")):
            raise ValueError(f"path: expected a name that ends in .html, got {os.fspath(path)!r}")
        text = self._film().get_snapshot()
        with replacing(path) as unfinished, open(unfinished, "w", encoding="utf-8") as file:
            file.write(text)

    def show(self) -> Any:
        """With polyscope: open the window, and return when it is closed. With k3d: return the plot."""
        if self.backend == "k3d":
            return self.plot()
        _polyscope_window(self._toolkit, self.times, self._frames)
        return None


def _imported(backend):
    try:
        if backend == "k3d":
            import k3d as toolkit
        else:
            import polyscope as toolkit
    except ImportError:
        raise ImportError(f"viewer: {backend} is not installed: pip install {backend}") from None
    return toolkit


def _shapes(simulation):
    """Return name -> (kind, points (n, 3) float32, elements, colour) of bodies, embedded surfaces and obstacles in the present state."""
    x = np.asarray(simulation.positions, dtype=np.float32)
    shapes = {}
    for k, body in enumerate(simulation.bodies):
        elements = {"solid": "surface", "shell": "triangles", "rigid": "triangles", "rod": "edges"}.get(body.type)
        kind = {"solid": "surface", "shell": "surface", "rigid": "surface", "rod": "lines", "particles": "points"}[body.type]
        rows = None if elements is None else np.asarray(getattr(body.mesh, elements), dtype=np.uint32)
        for part in body.embeddings:
            carried = np.asarray(simulation.embedded(part), dtype=np.float32)
            triangles = np.asarray(part.triangles, dtype=np.uint32) if len(part.triangles) else None
            shapes[part.name] = ("points" if triangles is None else "surface", carried, triangles, COLOURS[k % len(COLOURS)])
        if not any(len(part.triangles) for part in body.embeddings):
            shapes[body.name] = (kind, x[body.slice], rows, COLOURS[k % len(COLOURS)])
    extent = x.min(axis=0), x.max(axis=0)
    for obstacle, points, rows in obstacle_surfaces(simulation, extent):
        kind = "points" if rows is None else "lines" if rows.shape[1] == 2 else "surface"
        rows = None if rows is None else np.asarray(rows, np.uint32)
        shapes[obstacle.name] = (kind, np.asarray(points, np.float32), rows, OBSTACLE)
    return shapes


def _k3d_plot(k3d, times, frames):
    plot = k3d.plot(grid_visible=False, camera_auto_fit=True, colorbar_object_id=0)
    for name, (kind, points, rows, colour) in frames[-1].items():
        # the shape of a plane is cut to the bodies: only parts with constant elements move
        same = [rows is None or np.array_equal(frame[name][2], rows) if name in frame else False for frame in frames]
        moving = all(same) and len(frames) > 1 and any(not np.array_equal(frame[name][1], points) for frame in frames)
        where = {str(time): frame[name][1] for time, frame in zip(times, frames, strict=True)} if moving else points
        plot += _k3d_part(k3d, name, kind, where, rows, colour, frames[-1])
    low, high = _box(frames)
    # from the front and above, y up
    far = 1.25 * float(np.linalg.norm(high - low) or 1.0)
    plot.camera_auto_fit = False
    plot.time = times[-1]  # the present, at which a page opens
    _k3d_look(plot, 0.5 * (low + high), far * np.array([0.35, 0.3, 0.9]), (0.0, 1.0, 0.0))
    return plot


def _with_slider(plot, times):
    """Return a plot above a slider for its time; they are linked in the browser, and work there without Python."""
    import ipywidgets

    first, last = min(times), max(times)
    shown = {"description": "t, s", "readout_format": ".4g", "layout": ipywidgets.Layout(width="80%")}
    slider = ipywidgets.FloatSlider(value=times[-1], min=first, max=last, step=(last - first) / (len(times) - 1), **shown)
    ipywidgets.jslink((slider, "value"), (plot, "time"))
    return ipywidgets.VBox([plot, slider])


def _box(frames):
    """Return the lowest and the highest corner of all objects in frames."""
    points = [shape[1] for frame in frames for shape in frame.values()]
    return np.min([x.min(axis=0) for x in points], axis=0), np.max([x.max(axis=0) for x in points], axis=0)


def _k3d_look(plot, middle, away, up):
    plot.camera = [float(value) for value in (*(middle + away), *middle, *up)]


def _k3d_part(k3d, name, kind, where, rows, colour, frame):
    if kind == "surface":
        return k3d.mesh(where, rows, color=colour, side="double", flat_shading=True, name=name)
    if kind == "lines":
        return k3d.lines(where, rows, indices_type="segment", color=colour, shader="simple", name=name)
    size = 0.02 * float(np.ptp(np.concatenate([shape[1] for shape in frame.values()]), axis=0).max() or 1.0)
    return k3d.points(where, point_size=size, color=colour, name=name)


def _k3d_show(k3d, plot, frame, seen):
    """Move the objects of a plot, in any browser, to a frame. `seen`: the box in the view of the camera. If objects leave it, the camera
    moves back along its present direction. Returns the box in view.
    """
    shown = {part.name: part for part in plot.objects}
    for name, (kind, points, rows, colour) in frame.items():
        if name not in shown:
            plot += _k3d_part(k3d, name, kind, points, rows, colour, frame)
            continue
        part, moved = shown[name], "positions" if kind == "points" else "vertices"
        with part.hold_sync():  # a body after a cut has other elements too: one message
            if not np.array_equal(getattr(part, moved), points):
                setattr(part, moved, points)
            if rows is not None and not np.array_equal(part.indices, rows):
                part.indices = rows
    low, high = _box([frame])
    border = 0.1 * np.linalg.norm(seen[1] - seen[0])
    if (low >= seen[0] - border).all() and (high <= seen[1] + border).all():
        return seen
    room = 0.25 * (high - low)  # a margin, so that the camera does not move with every frame
    low, high = np.minimum(seen[0], low - room * (low < seen[0])), np.maximum(seen[1], high + room * (high > seen[1]))
    camera = np.array(plot.camera)
    larger = np.linalg.norm(high - low) / (np.linalg.norm(seen[1] - seen[0]) or 1.0)
    _k3d_look(plot, camera[3:6] + 0.5 * (low + high - seen[0] - seen[1]), larger * (camera[:3] - camera[3:6]), camera[6:])
    return low, high


def _polyscope_window(polyscope, times, frames):
    """Show all bodies and obstacles, with a slider for the frames."""
    if not polyscope.is_initialized():
        polyscope.set_use_prefs_file(False)  # it would write .polyscope.ini and imgui.ini to the working directory
        polyscope.init()
    polyscope.set_up_dir("y_up")
    shown = {}
    for name, (kind, points, rows, colour) in frames[-1].items():
        colour = tuple((colour >> shift & 255) / 255.0 for shift in (16, 8, 0))
        if kind == "surface":
            shown[name] = polyscope.register_surface_mesh(name, points, rows, color=colour)
        elif kind == "lines":
            shown[name] = polyscope.register_curve_network(name, points, rows, color=colour)
        else:
            shown[name] = polyscope.register_point_cloud(name, points, color=colour)
    state = {"frame": len(frames) - 1}

    def slider():
        changed, frame = polyscope.imgui.SliderInt(f"t = {times[state['frame']]:.4g} s", state["frame"], 0, len(times) - 1)
        if changed:
            state["frame"] = frame
            for name, (kind, points, _, _) in frames[frame].items():
                update = {"surface": "update_vertex_positions", "lines": "update_node_positions", "points": "update_point_positions"}
                if name in shown and len(points) == len(frames[-1][name][1]):
                    getattr(shown[name], update[kind])(points)

    if len(times) > 1:
        polyscope.set_user_callback(slider)
    try:
        polyscope.show()
    finally:
        polyscope.clear_user_callback()
        polyscope.remove_all_structures()
