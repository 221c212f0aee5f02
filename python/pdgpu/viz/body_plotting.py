"""Bodies, obstacles and contacts as shaded pictures on matplotlib's 3D axes, y up; `pdgpu.plotting` shows what is here to users."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import having, real_array
from pdgpu._internal.motion_calls import asking
from pdgpu._internal.parts import core_of
from pdgpu.mesh import shapes
from pdgpu.mesh.mesh_arrays import element_rows
from pdgpu.scene.colliders import Box, Capsule, Plane, Sphere, TriangleMesh

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.scene.colliders import Collider
    from pdgpu.simulation.contacts import Contacts
    from pdgpu.simulation.simulation import Simulation
    from pdgpu.types import Bounds, Options

PALETTE = ("#d98c4a", "#5b8fc7", "#6aa879", "#b07aa8")  # of bodies, in turn
OF_OBSTACLES = "#b9b9b4"


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
    axes : matplotlib 3D axes
    points : array_like, shape (n, 3)
        m.
    triangles : array_like of int, shape (t, 3)
        None at all, `[]`, leaves an empty picture of the same scale.
    colour : str or tuple, or array, shape (n,) or (n, 3)
        One for all, as matplotlib names it; or of each vertex a number, to be looked up in `cmap`, or red, green and blue from 0 to 1.
    limits : (float, float), optional
        Numbers of the first and the last colour of `cmap`; by default those that occur. A colour bar comes from
        `matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(*limits), cmap)`.
    bounds : (low, high), two of shape (3,), optional
        The box to show, so that several pictures have the same scale; by default that of the points. It is as large as the axes allow.

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
    """{name: a colour, or one of each vertex (n, 3)}; numbers of all names share their limits."""
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


SWAP = [0, 2, 1]  # matplotlib's z is up


def turned(points):
    """Points with y up as matplotlib has them."""
    return np.asarray(points, dtype=np.float64)[..., SWAP] * [1.0, -1.0, 1.0]


def draw_surfaces(axes, surfaces, bounds, elevation, azimuth):
    """Surfaces (points, triangles, colour, opacity) together, so that nearer triangles hide farther ones of others too."""
    from matplotlib.colors import to_rgb
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    if bounds is None:
        every = np.concatenate([np.asarray(points, dtype=np.float64) for points, *_ in surfaces])
        bounds = every.min(axis=0), every.max(axis=0)
        shown = turned(every)
    else:
        shown = turned(list(itertools.product(*np.transpose(bounds))))
    low, high = np.asarray(bounds, dtype=np.float64)
    flat = np.maximum(high - low, 1e-3 * (high - low).max())  # a flat body still needs a box with some height
    low, high = 0.5 * (low + high - flat), 0.5 * (low + high + flat)
    corners = np.concatenate([turned(points)[triangles] for points, triangles, *_ in surfaces])
    base = [
        np.tile(to_rgb(colour), (len(triangles), 1)) if np.ndim(colour) < 2 else colour[triangles].mean(axis=1)
        for _, triangles, colour, _ in surfaces
    ]
    opacity = np.concatenate([np.full(len(triangles), opacity) for _, triangles, _, opacity in surfaces])
    base = np.column_stack([np.concatenate(base), opacity])
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
        axes.add_collection3d(_unclipped(Poly3DCollection(corners, facecolors=base, edgecolors=edges, linewidths=0.2)))
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(-high[2], -low[2])
    axes.set_zlim(low[1], high[1])
    axes.view_init(elevation, azimuth)
    axes.set_axis_off()
    _fit(axes, flat[SWAP], shown)
    return axes


def _fit(axes, size, points):
    """Zoom so that the box of this size is as large as these points, as matplotlib has them, let it be without leaving the axes.

    matplotlib scales a box by its diagonal and draws into the largest square of the axes: long bodies leave the square, and much of a wide
    picture stays empty. Nothing is cut off at the square (`_unclipped`), so the whole rectangle is there to be filled.
    """
    from mpl_toolkits.mplot3d import proj3d

    place, whole = axes.get_position(original=True), axes.figure.bbox
    width, height = place.width * whole.width, place.height * whole.height
    room = 0.45 * axes.viewLim.width * np.array([width, height]) / min(width, height)
    zoom = 1.0
    for _ in range(3):  # perspective: what is nearer grows faster
        axes.set_box_aspect(size, zoom=zoom)
        x, y, _ = proj3d.proj_transform(*points.T, axes.get_proj())
        zoom /= max(np.abs(x).max() / room[0], np.abs(y).max() / room[1])
    axes.set_box_aspect(size, zoom=zoom)


def _unclipped(collection):
    collection.set_clip_on(False)
    return collection


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
    elif (own := getattr(collider, "mesh", None)) is not None:
        points, triangles = own.points, own.surface
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
    cmap: str = "viridis",
    limits: tuple[float, float] | None = None,
    boundaries: bool = False,
    bounds: Bounds | None = None,
    elevation: float = 12.0,
    azimuth: float = -68.0,
) -> Any:
    """Draw the bodies of a simulation where they are and its obstacles where they are at its time, y up.

    A solid with embedded surfaces is drawn by these, and its own surface only where `opacity` names the body.

    Parameters
    ----------
    axes : matplotlib 3D axes
    simulation : Simulation
    colours, opacity : dict, optional
        Of a body, an embedding or an obstacle by its name, where it is to differ. Of a solid, a shell or an embedded surface also an
        array, one number or colour for each of its vertices, as `draw_surface` takes them; numbers of all bodies share their limits.
        Opacity from 0 to 1.
    boundaries : bool
        Draw the open sides of sheets as dark lines, so that layers can be told apart.
    bounds : (low, high), two of shape (3,), optional
        The box to show; by default that of the bodies. Planes are drawn as far as it reaches.
    """
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    having("simulation", simulation, "bodies", "a pdgpu.Simulation")
    opacity, x = opacity or {}, np.asarray(simulation.positions, dtype=np.float64)
    counts = {body.name: len(body.points) for body in simulation.bodies if body.type in ("solid", "shell", "rigid")}
    counts |= {part.name: len(part.points) for body in simulation.bodies for part in body.embeddings}
    colours = _vertex_colours(colours or {}, counts, cmap, limits)
    bounds = (x.min(axis=0), x.max(axis=0)) if bounds is None else bounds
    surfaces, lines = [], []
    for k, body in enumerate(simulation.bodies):
        here, colour = x[body.slice], colours.get(body.name, PALETTE[k % len(PALETTE)])
        for part in body.embeddings:
            carried, own = np.asarray(simulation.embedded(part), dtype=np.float64), colours.get(part.name, PALETTE[k % len(PALETTE)])
            if len(part.triangles):
                surfaces.append((carried, part.triangles, own, opacity.get(part.name, 1.0)))
            else:
                axes.scatter(*turned(carried).T, s=6, color=own)
        if body.name not in opacity and any(len(part.triangles) for part in body.embeddings):
            continue
        if body.type in ("solid", "shell", "rigid"):
            triangles = body.mesh.surface if body.type == "solid" else body.mesh.triangles
            surfaces.append((here, triangles, colour, opacity.get(body.name, 1.0)))
            if boundaries:
                lines.append((here[_open_sides(triangles)], "#333333"))
        elif body.type == "rod":
            lines.append((here[body.mesh.edges], colour))
        else:
            axes.scatter(*turned(here).T, s=6, color=colour)
    for obstacle in simulation.obstacles:
        with asking(core_of(simulation)):
            surface = collider_surface(obstacle.collider, simulation.time, bounds)
        if surface is not None:
            surfaces.append((*surface, colours.get(obstacle.name, OF_OBSTACLES), opacity.get(obstacle.name, 1.0)))
    if surfaces:
        draw_surfaces(axes, surfaces, bounds, elevation, azimuth)
    for segments, colour in lines:
        if len(segments) == 0:  # a closed surface has no open side
            continue
        axes.add_collection3d(_unclipped(Line3DCollection(turned(segments), colors=colour, linewidths=1.5)))
    return axes


def _open_sides(triangles):
    """Edges (b, 2) of one triangle only."""
    sides = np.sort(np.asarray(triangles)[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    edges, counts = np.unique(sides, axis=0, return_counts=True)
    return edges[counts == 1]


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

    having("contacts", contacts, "distance", "what Simulation.contacts returned")
    distance = np.asarray(contacts.distance, dtype=np.float64)
    low, high = (distance.min(initial=np.inf), distance.max(initial=-np.inf)) if limits is None else limits
    if not low <= high:
        low, high = 0.0, 1.0
    segments = Line3DCollection(turned(contacts.points), cmap=cmap, norm=Normalize(low, high), linewidths=linewidth)
    segments.set_array(distance)
    axes.computed_zorder = False
    segments.set_zorder(10)
    if len(contacts):  # matplotlib takes no collection of nothing
        axes.add_collection3d(_unclipped(segments))
    return segments


def _unit(*vector):
    vector = np.array(vector)
    return vector / np.linalg.norm(vector)
