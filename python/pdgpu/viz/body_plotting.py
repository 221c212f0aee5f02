"""Bodies, obstacles and contacts as rendered pictures on matplotlib's axes, y up; `pdgpu.plotting` exports the functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import having, real_array
from pdgpu._internal.motion_calls import asking
from pdgpu._internal.parts import core_of
from pdgpu.contact.present_obstacles import present_colliders
from pdgpu.mesh import shapes
from pdgpu.mesh.mesh_arrays import element_rows
from pdgpu.scene.colliders import Box, Capsule, Plane, Sphere, TriangleMesh
from pdgpu.scene.segments import Points, Segments
from pdgpu.viz.camera import corners_of
from pdgpu.viz.picture import draw_parts, seen_segments
from pdgpu.viz.renderer import Drawable

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.scene.colliders import Collider
    from pdgpu.simulation.contacts import Contacts
    from pdgpu.simulation.simulation import Simulation
    from pdgpu.types import Bounds, Options

PALETTE = ("#d98c4a", "#5b8fc7", "#6aa879", "#b07aa8")  # of bodies, in turn
OF_OBSTACLES = "#b9b9b4"
POINT, LINE = 4.0, 1.5  # diameter of a point and width of a line, 1/72 of an inch


def draw_surface(
    axes: Any,
    points: ArrayLike,
    triangles: ArrayLike,
    *,
    colour: Any = PALETTE[0],
    cmap: str = "viridis",
    limits: tuple[float, float] | None = None,
    bounds: Bounds | None = None,
    elevation: float = 12.0,
    azimuth: float = -68.0,
) -> Any:
    """Draw a shaded surface, y up.

    Parameters
    ----------
    axes : matplotlib axes
    points : array_like, shape (n, 3)
        m.
    triangles : array_like of int, shape (t, 3)
        An empty list, `[]`, gives an empty picture of the same scale.
    colour : str or tuple, or array, shape (n,) or (n, 3)
        One matplotlib colour for all; or for each vertex a number, to be looked up in `cmap`, or red, green and blue from 0 to 1.
    limits : (float, float), optional
        Numbers of the first and the last colour of `cmap`; by default the range of the numbers. For a colour bar use
        `matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(*limits), cmap)`.
    bounds : (low, high), two of shape (3,), optional
        The box to show, so that several pictures have the same scale; by default that of the points. It fills the axes.

    Raises
    ------
    TypeError, ValueError
        A coordinate or a colour that is not finite, an index out of range, a vertex repeated in a row.
    """
    points = real_array("points", points, (None, 3))
    triangles = element_rows("triangles", triangles, 3, points)
    colour = _vertex_colours({"colour": colour}, {"colour": len(points)}, cmap, limits)["colour"]
    return draw_surfaces(axes, [(points, triangles, colour, 1.0)], bounds, elevation, azimuth)


def _vertex_colours(colours, counts, cmap, limits):
    """Return {name: a colour, or one for each vertex (n, 3)}; numbers of all names share their limits."""
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    found, numbers = {}, {}
    for name, colour in colours.items():
        if name not in counts or isinstance(colour, str | tuple):
            found[name] = colour
        elif np.ndim(colour) == 1:
            numbers[name] = real_array(name, colour, (counts[name],))
        else:
            found[name] = real_array(name, colour, (counts[name], 3))
    if numbers:
        every = np.concatenate(list(numbers.values()))
        scale = Normalize(*((every.min(), every.max()) if limits is None else limits))
        found.update((name, colormaps[cmap](scale(values))[:, :3]) for name, values in numbers.items())
    return found


def draw_surfaces(axes, surfaces, bounds, elevation, azimuth):
    """Draw surfaces (points, triangles, colour, opacity) together, with correct occlusion between them."""
    return draw_parts(axes, [Drawable(*surface) for surface in surfaces], bounds, elevation, azimuth)


def draw_lines(axes: Any, segments: ArrayLike, *, colour: Any = "#333333", linewidth: float = 1.5) -> Any:
    """Draw segments, y up, among the bodies in the axes, with correct occlusion.

    Parameters
    ----------
    axes : matplotlib axes
    segments : array_like, shape (n, 2, 3)
        m.
    colour : str or tuple
        A matplotlib colour.
    linewidth : float
        1/72 of an inch.
    """
    segments = real_array("segments", segments, (None, 2, 3))
    rows = np.arange(2 * len(segments)).reshape(-1, 2)
    return draw_parts(axes, [Drawable(segments.reshape(-1, 3), rows, colour, 1.0, linewidth)])


def draw_points(axes: Any, points: ArrayLike, *, colour: Any = PALETTE[0], size: float = 4.0) -> Any:
    """Draw points as balls, y up, among the bodies in the axes, with correct occlusion.

    Parameters
    ----------
    axes : matplotlib axes
    points : array_like, shape (n, 3)
        m.
    colour : str or tuple
        A matplotlib colour.
    size : float
        Diameter, 1/72 of an inch.
    """
    return draw_parts(axes, [Drawable(real_array("points", points, (None, 3)), None, colour, 1.0, size)])


def collider_surface(collider: Collider, time: float = 0.0, extent: Any = ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))) -> Any:
    """Return points (n, 3), m, and triangles (t, 3) of a collider at a time; None for a SignedDistanceField without a mesh. `Segments`
    have edges (e, 2) instead of triangles, `Points` None.

    extent : (low, high), two of shape (3,)
        For a plane, the part over this box.
    """
    if isinstance(collider, TriangleMesh):
        return collider.positions(time), collider.triangles
    if isinstance(collider, Segments):
        return collider.positions(time), collider.edges
    if isinstance(collider, Points):
        return collider.positions(time), None
    if isinstance(collider, Plane):
        normal = np.array(collider.normal)
        across = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
        across = np.stack([across / np.linalg.norm(across), np.cross(normal, across / np.linalg.norm(across))])
        corners = corners_of(extent) - collider.point
        low, high = (corners @ across.T).min(axis=0), (corners @ across.T).max(axis=0)
        sheet = shapes.grid(tuple(np.maximum(high - low, 1e-9)), (4, 4))
        points, triangles = collider.point + (sheet.points[:, :2] + low) @ across, sheet.triangles
    elif isinstance(collider, Box):
        mesh = shapes.box(collider.size)
        rotation = np.eye(3) if collider.rotation is None else np.array(collider.rotation)
        points, triangles = (mesh.points - 0.5 * np.array(collider.size)) @ rotation.T + collider.centre, mesh.triangles
    elif isinstance(collider, Sphere | Capsule):
        mesh = shapes.sphere(collider.radius, 3)
        points, triangles = mesh.points, mesh.triangles
        if isinstance(collider, Capsule):  # a ball stretched along the segment
            axis = np.array(collider.end) - np.array(collider.start)
            points = points + np.where((points @ axis > 0.0)[:, None], collider.end, collider.start)
        else:
            points = points + collider.centre
    elif (own := getattr(collider, "mesh", None)) is not None:
        points, triangles = own.points, own.surface
    else:
        return None
    rotation, translation = collider.placement(time)
    return points @ rotation.T + translation, triangles


def obstacle_surfaces(simulation: Simulation, extent: Any) -> Any:
    """Yield each obstacle of a simulation with its `collider_surface` at its present position, unless that is None."""
    core = core_of(simulation)
    with asking(core):
        surfaces = [collider_surface(collider, core.time, extent) for collider in present_colliders(core)]
    for obstacle, surface in zip(simulation.obstacles, surfaces, strict=True):
        if surface is not None:
            yield obstacle, *surface


def draw_simulation(
    axes: Any,
    simulation: Simulation,
    *,
    colours: Options | None = None,
    opacity: Options | None = None,
    cmap: str = "viridis",
    limits: tuple[float, float] | None = None,
    boundaries: bool = False,
    bounds: Bounds | None = None,
    elevation: float = 12.0,
    azimuth: float = -68.0,
) -> Any:
    """Draw the bodies of a simulation at their positions and its obstacles at its time, y up.

    A solid with embedded surfaces is drawn by these, and its own surface only if `opacity` contains the body.

    Parameters
    ----------
    axes : matplotlib axes
    simulation : Simulation
    colours, opacity : dict, optional
        By the name of a body, an embedding or an obstacle. For a solid, a shell or an embedded surface also an array, one number or colour
        for each of its vertices, as in `draw_surface`; numbers of all bodies share their limits. Opacity from 0 to 1.
    boundaries : bool
        Draw the boundary edges of sheets as dark lines, to distinguish layers.
    bounds : (low, high), two of shape (3,), optional
        The box to show; by default that of the bodies. Planes are drawn within it.
    """
    having("simulation", simulation, "bodies", "a pdgpu.Simulation")
    opacity, x = opacity or {}, np.asarray(simulation.positions, dtype=np.float64)
    counts = {body.name: len(body.points) for body in simulation.bodies if body.type in ("solid", "shell", "rigid")}
    counts |= {part.name: len(part.points) for body in simulation.bodies for part in body.embeddings}
    colours = _vertex_colours(colours or {}, counts, cmap, limits)
    bounds = (x.min(axis=0), x.max(axis=0)) if bounds is None else bounds
    parts: list[Drawable] = []
    for k, body in enumerate(simulation.bodies):
        here, colour = x[body.slice], colours.get(body.name, PALETTE[k % len(PALETTE)])
        for part in body.embeddings:
            carried, own = np.asarray(simulation.embedded(part), dtype=np.float64), colours.get(part.name, PALETTE[k % len(PALETTE)])
            if len(part.triangles):
                parts.append(Drawable(carried, part.triangles, own, opacity.get(part.name, 1.0)))
            else:
                parts.append(Drawable(carried, None, own, opacity.get(part.name, 1.0), POINT))
        if body.name not in opacity and any(len(part.triangles) for part in body.embeddings):
            continue
        if body.type in ("solid", "shell", "rigid"):
            triangles = body.mesh.surface if body.type == "solid" else body.mesh.triangles
            parts.append(Drawable(here, triangles, colour, opacity.get(body.name, 1.0)))
            if boundaries:
                parts.append(Drawable(here, _open_sides(triangles), "#333333", 1.0, LINE))
        elif body.type == "rod":
            parts.append(Drawable(here, body.mesh.edges, colour, opacity.get(body.name, 1.0), LINE))
        else:
            parts.append(Drawable(here, None, colour, opacity.get(body.name, 1.0), POINT))
    for obstacle, points, rows in obstacle_surfaces(simulation, bounds):
        size = POINT if rows is None else LINE if rows.shape[1] == 2 else 1.0
        parts.append(Drawable(points, rows, colours.get(obstacle.name, OF_OBSTACLES), opacity.get(obstacle.name, 1.0), size))
    return draw_parts(axes, parts, bounds, elevation, azimuth)


def _open_sides(triangles):
    """Return edges (b, 2) of one triangle only."""
    sides = np.sort(np.asarray(triangles)[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    edges, counts = np.unique(sides, axis=0, return_counts=True)
    return edges[counts == 1]


def draw_contacts(axes: Any, contacts: Contacts, *, limits: Any = None, cmap: str = "plasma", linewidth: float = 1.6) -> Any:
    """Draw contacts as segments between their closest points, coloured by distance, in front of the bodies.

    Parameters
    ----------
    axes : matplotlib axes
    contacts : Contacts
    limits : (float, float), optional
        Distances of the first and the last colour, m; by default the range of the distances.

    Returns
    -------
    matplotlib collection
        For `figure.colorbar`.
    """
    from matplotlib.colors import Normalize

    having("contacts", contacts, "distance", "what Simulation.contacts returned")
    distance = np.asarray(contacts.distance, dtype=np.float64)
    low, high = (distance.min(initial=np.inf), distance.max(initial=-np.inf)) if limits is None else limits
    if not low <= high:
        low, high = 0.0, 1.0
    segments = seen_segments(axes, contacts.points, cmap=cmap, norm=Normalize(low, high), linewidths=linewidth)
    segments.set_array(distance)
    return segments
