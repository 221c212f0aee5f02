"""A rendered picture within the axes of a matplotlib figure: rendered when the figure is drawn, at its resolution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu.viz.camera import AZIMUTH, ELEVATION, Camera, corners_of
from pdgpu.viz.renderer import imported_pyvista, rendered

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Bounds
    from pdgpu.viz.renderer import Drawable


def draw_parts(
    axes: Any, parts: list[Drawable], bounds: Bounds | None = None, elevation: float | None = None, azimuth: float | None = None
) -> Any:
    """Add parts to the picture of axes, and set its view; omitted arguments leave it unchanged.

    Parameters
    ----------
    axes : matplotlib axes
        Ordinary ones or 3D ones. The picture fills their rectangle.
    parts : list of Drawable
    bounds : (low, high), two of shape (3,), optional
        The box to show, by default that of the parts.
    elevation, azimuth : float, optional
        Degrees, see `Camera`.

    Raises
    ------
    RuntimeError
        pyvista is not installed.
    """
    imported_pyvista()  # here, since matplotlib draws later
    picture = _picture_of(axes)
    if picture is None:
        picture = _picture_class()(axes)
        axes.add_artist(picture)
        axes.set_axis_off()
    # copies, since the arrays may change before the figure is drawn
    picture.parts += [part._replace(points=np.array(part.points), rows=_copied(part.rows), colour=_copied(part.colour)) for part in parts]
    picture.bounds = picture.bounds if bounds is None else np.asarray(bounds, dtype=np.float64)
    picture.view = tuple(old if new is None else new for new, old in zip((elevation, azimuth), picture.view, strict=True))
    picture.stale, picture.latest = True, None
    return axes


def _copied(value):
    return np.array(value) if isinstance(value, np.ndarray) else value


def seen_segments(axes: Any, segments: ArrayLike, **look: Any) -> Any:
    """Return a line collection of segments (n, 2, 3), m, at their positions in the picture of the axes, in front of it.

    Raises
    ------
    ValueError
        The axes have no picture.
    """
    collection = _segments_class()(_required(axes), np.asarray(segments, dtype=np.float64).reshape(-1, 2, 3), **look)
    axes.add_artist(collection)
    return collection


def towards_the_eye(axes: Any) -> np.ndarray:
    """Return the direction, shape (3,), from the centre of the picture of the axes to the eye."""
    elevation, azimuth = _required(axes).view
    return Camera(np.zeros((1, 3)), elevation, azimuth, 1.0).towards


def _required(axes):
    picture = _picture_of(axes)
    if picture is None:
        raise ValueError("axes: there is no picture of bodies in them: call draw_simulation or draw_surface first")
    return picture


def _picture_of(axes):
    return next((artist for artist in axes.get_children() if hasattr(artist, "camera_in")), None)


def _box(axes):
    """Return the rectangle of axes in pixels; 3D axes draw in the largest square within."""
    from matplotlib.transforms import TransformedBbox

    return TransformedBbox(axes.get_position(original=True), axes.figure.transSubfigure)


def _picture_class():
    """Defined here, since matplotlib is imported at first use."""
    from matplotlib.image import BboxImage

    class Picture(BboxImage):
        """The image of all parts, in the size of the drawn figure."""

        def __init__(self, axes):
            super().__init__(lambda renderer: _box(axes).frozen(), interpolation="nearest", origin="upper", clip_on=False)
            self.parts, self.bounds, self.view = [], None, (ELEVATION, AZIMUTH)
            self.latest = None  # ((width, height), image)
            self.set_data(np.zeros((1, 1, 4), np.uint8))

        def shown(self):
            """The points in the picture: corners of the bounds, or all."""
            if self.bounds is not None:
                return corners_of(self.bounds)
            every = [np.asarray(part.points, dtype=np.float64) for part in self.parts if len(part.points)]
            return np.concatenate(every) if every else np.zeros((1, 3))

        def camera_in(self, box):
            """The camera of the picture in a rectangle."""
            return Camera(self.shown(), *self.view, box.width / box.height)

        def make_image(self, renderer, magnification=1.0, unsampled=False):
            box = _box(self.axes)
            size = max(1, round(box.width * magnification)), max(1, round(box.height * magnification))
            if self.latest is None or self.latest[0] != size:
                scale = self.axes.figure.dpi * magnification / 72.0
                self.latest = size, rendered(self.parts, self.camera_in(box), *size, scale)
                self.set_data(self.latest[1])
            return super().make_image(renderer, magnification, unsampled)

    return Picture


def _segments_class():
    from matplotlib.collections import LineCollection
    from matplotlib.transforms import IdentityTransform

    class SeenSegments(LineCollection):
        """Segments in space, projected at the drawing of the figure."""

        def __init__(self, picture, segments, **look):
            super().__init__([], transform=IdentityTransform(), zorder=10, clip_on=False, **look)
            self.picture, self.segments = picture, segments

        def do_3d_projection(self):
            """3D axes query the depth of every collection."""
            return 0.0

        def draw(self, renderer):
            box = _box(self.picture.axes)
            seen = self.picture.camera_in(box).seen(self.segments)[..., :2]
            self.set_segments(seen * [box.width, box.height] + [box.x0, box.y0])
            super().draw(renderer)

    return SeenSegments
