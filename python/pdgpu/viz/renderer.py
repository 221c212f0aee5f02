"""Pictures of bodies by VTK (pyvista, the extra `viz3d`), off-screen; pyvista is imported when first used."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdgpu.viz.camera import HALF_ANGLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pdgpu.viz.camera import Camera

__all__ = ["Drawable", "imported_pyvista", "rendered"]

FINER = 2  # samples along each side of a pixel


class Drawable(NamedTuple):
    """A part of a picture: triangles (rows of 3), segments (rows of 2), or points (no rows)."""

    points: Any  # (n, 3), m
    rows: Any  # (m, 3) or (m, 2) of int, or None
    colour: Any  # a matplotlib colour, or (n, 3) of 0 to 1, of each vertex
    opacity: float = 1.0
    size: float = 1.0  # width of segments, diameter of points; 1/72 of an inch


def imported_pyvista() -> Any:
    """Import pyvista.

    Raises
    ------
    RuntimeError
        It is not installed, or there is no OpenGL without a display.
    """
    try:
        import pyvista
    except ImportError as error:
        missing = "it is not installed" if isinstance(error, ModuleNotFoundError) else f"it cannot be imported: {error}"
        raise RuntimeError(f"pictures of bodies need pyvista, and {missing}: pip install pyvista") from None
    _window()
    return pyvista


# the library of OpenGL without a display, and the window of VTK for it
LIBRARIES = (("libEGL.so.1", "vtkEGLRenderWindow"), ("libOSMesa.so.8", "vtkOSOpenGLRenderWindow"))


def _window() -> str | None:
    """Return the kind of window that renders without a display. Without a library for one, VTK would end the process."""
    if not sys.platform.startswith("linux"):
        return None  # the system has OpenGL
    for library, window in LIBRARIES:
        with contextlib.suppress(OSError):
            ctypes.CDLL(library)
            return window
    raise RuntimeError(
        "pictures of bodies need OpenGL without a display (libEGL.so.1), which is not installed: apt-get install libegl1 libgl1-mesa-dri"
    )


@contextlib.contextmanager
def _chosen_window() -> Iterator[None]:
    """A context in which VTK tries no display, which would cause a warning."""
    variable, window = "VTK_DEFAULT_OPENGL_WINDOW", _window()
    if window is None or variable in os.environ:
        yield
        return
    os.environ[variable] = window
    try:
        yield
    finally:
        os.environ.pop(variable, None)


def rendered(parts: Iterable[Drawable], camera: Camera, width: int, height: int, scale: float = 1.0) -> np.ndarray:
    """Render parts for a camera, with correct occlusion.

    Parameters
    ----------
    parts : list of Drawable
    camera : Camera
        Of the aspect of the picture.
    width, height : int
        Pixels.
    scale : float
        Pixels in 1/72 of an inch, for lines and points.

    Returns
    -------
    array, shape (height, width, 4), uint8
        Red, green, blue and opacity, from the top; transparent without a part.
    """
    from matplotlib.colors import to_rgb

    pyvista = imported_pyvista()
    with _chosen_window():
        plotter = pyvista.Plotter(off_screen=True, window_size=(FINER * width, FINER * height), lighting=None)
    try:
        plotter.disable_anti_aliasing()  # several samples of a pixel together with depth peeling lose transparent parts
        for position, intensity in (((-0.6, 0.7, 1.0), 1.0), ((0.8, -0.3, 0.6), 0.2)):  # upper left of the eye; a weak one from below
            plotter.add_light(pyvista.Light(position=position, light_type="camera light", intensity=intensity))
        parts = list(parts)
        if any(part.opacity < 1.0 for part in parts):
            plotter.enable_depth_peeling(8)
        for part in parts:
            points = np.ascontiguousarray(part.points, dtype=np.float32)
            look: dict[str, Any] = {"opacity": part.opacity, "ambient": 0.3, "diffuse": 0.8, "specular": 0.05, "show_scalar_bar": False}
            if np.ndim(part.colour) == 2:
                look |= {"scalars": (255.0 * np.asarray(part.colour)).round().astype(np.uint8), "rgb": True}
            else:
                look["color"] = to_rgb(part.colour)
            if part.rows is None:
                look |= {"style": "points", "point_size": FINER * part.size * scale, "render_points_as_spheres": True}
                mesh = pyvista.PolyData(points)
            else:
                rows = np.asarray(part.rows, dtype=np.int64)
                if len(rows) == 0:
                    continue
                cells = np.column_stack([np.full(len(rows), rows.shape[1]), rows]).ravel()
                mesh = pyvista.PolyData(points, **{"lines" if rows.shape[1] == 2 else "faces": cells})
                if rows.shape[1] == 2:
                    look |= {"line_width": FINER * part.size * scale, "lighting": False}
            plotter.add_mesh(mesh, **look)
        view = plotter.camera
        view.position, view.focal_point, view.up = camera.eye, camera.centre, camera.up
        view.view_angle = float(np.degrees(2.0 * np.arctan(HALF_ANGLE)))
        plotter.reset_camera_clipping_range()
        fine = np.asarray(plotter.screenshot(None, return_img=True, transparent_background=True), dtype=np.float32)
    finally:
        plotter.close()
    fine = fine.reshape(height, FINER, width, FINER, 4)
    opacity = fine[..., 3:].mean(axis=(1, 3))
    colour = (fine[..., :3] * fine[..., 3:]).mean(axis=(1, 3)) / np.maximum(opacity, 1e-6)
    return np.concatenate([colour, opacity], axis=2).round().astype(np.uint8)
