"""Certificates of trajectories: intersections of every frame and crossings between frames, verified independently of the solvers."""

from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import flag, having, number, real_array
from pdgpu._internal.backends import thread_count
from pdgpu._internal.counted import counted
from pdgpu._internal.made import made_by
from pdgpu.collision.intersections import PAIR_KINDS, ClosePair, VerifierScene
from pdgpu.mesh.mesh import Mesh
from pdgpu.scene.scene import Scene
from pdgpu.scene.surface import SceneSurface
from pdgpu.verify.rigid_path import RigidPath
from pdgpu.verify.verifier_inside import VerifierInside
from pdgpu.verify.verifier_layers import VerifierLayers
from pdgpu.verify.verifier_shapes import PlacedShapes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import ArrayLike

__all__ = ["Certificate", "Crossing", "WorstPair", "certify"]

Crossing = namedtuple("Crossing", "frame time kind first second")
Crossing.__doc__ = """A contact between `frame` and the next: `time` in [0, 1] of the first touch, or of where the two first are nearer than
the separation; `kind` "vertex-triangle", "edge-edge" or "vertex-edge", `first` and `second` its vertex, triangle or edges. Or `kind`
"vertex-", "edge-" or "triangle-" and "plane", "sphere", "capsule" or "box", and `second` the name of that obstacle."""

WorstPair = namedtuple("WorstPair", "frame kind first second")
WorstPair.__doc__ = """The nearest pair of a trajectory: its `frame`, and `kind`, `first` and `second` as in `Crossing`; where the frame
intersects itself, kind is "edge-triangle" or "edge-edge"."""

GAP_KINDS = (None, *PAIR_KINDS)  # pd_gap_kind of csrc/verify/smallest_gap.h


@made_by("certify")
@dataclass(frozen=True, eq=False)
class Certificate:
    """The result of `certify`.

    Attributes
    ----------
    frames : int
        Number of verified frames.
    smallest_gap : float
        Smallest distance between pairs without a common vertex in any frame, m; 0 with `intersections`, infinite without pairs; NaN if it
        was not requested. Only obstacles that are meshes take part, also with the distances within each of them.
    worst_pair : WorstPair or None
        The pair at this distance.
    intersections : dict of int to Intersections
        The frames with intersections of bodies with themselves or obstacles, or with distances below the separation.
    crossings : list of Crossing
        Every pair that touches, or comes closer than the separation, while all vertices move straight from one frame to the next, by frame,
        then kind, then indices; in each frame those with obstacles that are no meshes last.
    edges : ndarray, shape (e, 2), int32
        The edges for the edge numbers of intersections, crossings and the worst pair.
    separation : float
        The argument, m.
    pieces : int
        The largest number of straight pieces of the path between two frames, for rotating rigid bodies; 1 without.
    obstacle_intersections : dict of int to Intersections
        As `intersections`, for two primitives of obstacle meshes: of one that intersects itself, or of two. They involve no body, and
        `clean` ignores them.
    obstacle_crossings : list of Crossing
        As `crossings`, of such pairs.
    inner_vertices : dict of int to list of InnerVertex
        With ``inside=True``, of each frame with some: inner vertices of solids that are inside another body or an obstacle, or outside
        their own surface, and vertices of `Segments` and `Points` inside a body, as (vertex, "inside" or "outside", name).
    clean : bool
        No `intersections`, no `crossings` and no `inner_vertices`.
    """

    frames: int
    smallest_gap: float
    worst_pair: WorstPair | None
    intersections: dict
    crossings: list
    edges: np.ndarray
    separation: float = 0.0
    pieces: int = 1
    obstacle_intersections: dict = field(default_factory=dict)
    obstacle_crossings: list = field(default_factory=list)
    inner_vertices: dict = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Return whether there is no intersection, no crossing and no vertex inside a closed surface. `bool(certificate)` is the same."""
        return not self.intersections and not self.crossings and not self.inner_vertices

    def __bool__(self):
        return self.clean

    def __str__(self):
        gap = "" if math.isnan(self.smallest_gap) else f", smallest gap {self.smallest_gap:.6g} m"
        if self.worst_pair:
            gap += f" (frame {self.worst_pair.frame}, {self.worst_pair.kind} {self.worst_pair.first} and {self.worst_pair.second})"
        if self.obstacle_intersections or self.obstacle_crossings:
            gap += f"; of obstacles alone {_counts(self.obstacle_intersections, self.obstacle_crossings)}"
        if self.clean:
            near = f", nothing nearer than {self.separation:.6g} m" if self.separation else ""
            return f"{counted(self.frames, 'frame')} without intersections or crossings{near}{gap}"
        text = f"{counted(self.frames, 'frame')}: {_counts(self.intersections, self.crossings)}"
        if self.intersections:
            text += f"; first intersecting frame {min(self.intersections)}"
        if self.crossings:
            first = self.crossings[0]
            text += f"; first crossing after frame {first.frame}: {first.kind} {first.first} and {first.second} at {first.time:.6g}"
        if self.inner_vertices:
            frame, (first, *_) = next(iter(self.inner_vertices.items()))
            n = sum(map(len, self.inner_vertices.values()))
            places = f"{counted(n, 'inner vertex', 'inner vertices')} at a wrong place in {counted(len(self.inner_vertices), 'frame')}"
            text += f"; {places}, the first in frame {frame}: vertex {first.vertex} {first.where} {first.name!r}"
        return text + gap


def _counts(intersections, crossings):
    pairs = sum(len(found) for found in intersections.values())
    return f"{counted(pairs, 'intersection')} in {len(intersections)} of them, {counted(len(crossings), 'crossing')}"


def certify(
    trajectory: Iterable[ArrayLike | Mesh],
    triangles: ArrayLike | Scene | None = None,
    edges: ArrayLike | None = None,
    *,
    particles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    separation: float = 0.0,
    gap: bool = True,
    inside: bool = False,
    threads: int = 0,
) -> Certificate:
    """Verify exactly whether a trajectory is free of intersections, in its frames and between them.

    In each frame, every intersection is found as by `pdgpu.geometry.find_intersections`. Between two frames all vertices move straight and
    at constant speed. The first time of contact is computed for every pair of vertex and triangle, of two edges, and of a vertex and an
    edge of no triangle, without a common vertex. It is a root of polynomials with exact integer coefficients, and the signs of others at it
    decide it [Basu, Pollack, Roy 2006, Tarski queries]: no contact is missed, and none is reported wrongly. Touching counts, and so do
    contacts at the frames themselves.

    For a Scene, planes, spheres, capsules and boxes are included, at rest or moving. They are solid, so a vertex below a plane, or a body
    inside one of the others, counts in every frame. Between two frames their points too move straight: centres, ends of axes, corners, for
    a plane its point and its normal. With a `separation`, each of these pairs must also keep at least that distance, and always half of the
    `thickness` of their bodies in addition. Two obstacles are only tested for contact, and only meshes. Contacts of obstacle meshes, with
    themselves and with each other, are reported separately: a certificate of the bodies does not fail because of them.

    The rigid bodies of a Scene rotate, and their vertices move on arcs. The path between two frames is cut into pieces, 1, 2, 4, .. 64 of
    them until no contact is found. On each piece vertices move straight, and must keep, in addition to the separation, the deviation of the
    arcs, (distance from the centre) (rotation)^2/8 for each of two: a clean result holds for the arcs. `pieces` is the largest number of
    pieces. After 64 pieces the remaining pairs are reported.

    All results for frames are exact; without a separation also those between frames, except for spheres and capsules. Distances between
    frames are decided by bounds of polynomials with exact integer coefficients, on intervals of time that are halved down to 2^-40 [Basu,
    Pollack, Roy 2006, Sec. 10.2], and times are early by at most that. No pair is missed. Undecided pairs are reported as too close: some
    pairs at the required distance, to rounding, at the time of their smallest distance, with parallel edges or a triangle without area. A
    rotating plane is exact without a separation; with one its distance may be underestimated by the separation times 1 - cos of half the
    rotation.

    Parameters
    ----------
    trajectory : iterable of array_like of shape (n, 3), or of Mesh
        The frames, m; at most two are held at a time. The first of several meshes gives triangles (`surface`) and edges.
    triangles, edges, particles : array_like of int, optional
        As for `find_intersections`. Or a Scene instead of triangles: its surfaces, rods and particles; its obstacle meshes, whose vertices
        are numbered after those of the bodies (`SceneSurface`); and its other obstacles, by name. `SignedDistanceField` is not verified. A
        surface embedded in a solid with `collides` replaces that of the solid; its points are numbered between the bodies' vertices and
        those of the obstacle meshes.
    times : array_like, shape (frames,), optional
        s; the time of each frame, for moving obstacles. Required with a moving obstacle.
    separation : float
        m, at least 0. If greater, a distance of exactly this value is accepted.
    gap : bool
        Also compute the smallest distance in each frame, in double: with an error of about 1e-15 of the size of the pair.
    inside : bool
        For a Scene also verify the inner vertices of its solids, frame by frame: none may be inside another solid or rigid body, inside an
        obstacle (a closed mesh, plane, sphere, capsule or box), or outside the surface of its own solid. Vertices of `Segments` and
        `Points` must not be inside a solid or rigid body. Contact involves only surfaces, so a solid with inverted tets can hang through a
        floor without contact of its surface. Exact. Excluded are surfaces that are not closed, or with more than two triangles at an edge,
        and solids with an embedded surface that collides.
    threads : int
        0: all cores. The result does not depend on it.

    Returns
    -------
    Certificate

    Raises
    ------
    TypeError, ValueError
        Frames of different shapes, no frames, coordinates that are not finite, invalid indices, missing times, a separation that is
        negative or not finite: with argument, row and value.
    RuntimeError
        This build has no GMP.
    """
    threads, separation = thread_count(threads), number("separation", separation, minimum=0.0)
    gap, inside = flag("gap", gap), flag("inside", inside)
    scene = shapes = path = None
    having("trajectory", trajectory, "__iter__", "a list of frames")
    if isinstance(triangles, Scene):
        if edges is not None or particles is not None:
            raise TypeError("triangles: a Scene has its own edges and particles; leave them out")
        scene, shapes, surface = verifier_parts(triangles)
        path = RigidPath(triangles, scene)
        inner: Any = VerifierInside(triangles, surface) if inside else None
        trajectory = _with_obstacles(trajectory, triangles.n_vertices, surface, shapes, times)
    elif times is not None or inside:
        raise TypeError(f"{'inside' if times is None else 'times'}: needs a Scene instead of triangles")
    previous, placed_before, found, of_obstacles, crossings, pieces, misplaced = None, None, {}, {}, [], 1, {}
    smallest, worst, frame = math.inf if gap else math.nan, None, -1
    frames: Any = trajectory
    for frame, entry in enumerate(frames):
        points, placed = entry if shapes is not None else (entry, PlacedShapes(np.zeros((0, 3)), []))
        if isinstance(points, Mesh):
            if frame == 0 and triangles is None and edges is None:
                triangles, edges = points.surface, points.edges
            points = points.points
        points = real_array(f"trajectory[{frame}]", points, (None if scene is None else scene.n_points, 3))
        if scene is None:
            if triangles is None and edges is None:
                raise ValueError("triangles: needed unless the trajectory is of meshes")
            scene = VerifierScene(len(points), triangles, edges, particles)
        here, among_obstacles = scene.parted(scene.intersections(points, threads))
        here.close_pairs.extend(close_pairs(scene, shapes, points, placed, separation, threads))
        if here:
            found[frame] = here
        if among_obstacles:
            of_obstacles[frame] = among_obstacles
        if inside and (wrong := inner.at(points, placed, threads)):
            misplaced[frame] = wrong
        if gap:
            distance, kind, *pair = scene.smallest_gap(points, threads)
            name = GAP_KINDS[kind]
            if len(here.edge_triangle) or len(here.edge_edge):
                distance, name = 0.0, "edge-triangle" if len(here.edge_triangle) else "edge-edge"
                pair = (here.edge_triangle if len(here.edge_triangle) else here.edge_edge)[0].tolist()
            if distance < smallest:
                smallest, worst = distance, WorstPair(frame, name, *pair)
        if previous is not None:
            between = partial(_between, frame - 1, scene, shapes, threads=threads)
            if path is None or not path.bend(previous, points):
                crossings.extend(between((previous, points), (placed_before, placed), separation))
            else:
                more, n = path.crossings(between, (previous, points), (placed_before, placed), separation)
                crossings.extend(more)
                pieces = max(pieces, n)
        previous, placed_before = points, placed
    if scene is None or frame < 0:
        raise ValueError("trajectory: has no frames")
    parted: tuple[list[Any], list[Any]] = [], []
    for crossing in crossings:
        parted[int(scene.of_obstacles(*crossing[2:]))].append(crossing)
    return Certificate(frame + 1, smallest, worst, found, parted[0], scene.edges, separation, pieces, of_obstacles, parted[1], misplaced)


def verifier_parts(scene, fixed=None):
    """Return VerifierScene, VerifierLayers and SceneSurface of the colliding parts.

    `fixed` marks vertices of the bodies; those of obstacles are fixed.
    """
    parts = (*scene.bodies, *scene.obstacles)
    surface = SceneSurface(scene, [place for place, part in enumerate(parts) if part.collides])
    still = surface.held(np.zeros(scene.n_vertices, bool) if fixed is None else fixed).astype(np.uint8)
    obstacles = surface.owner >= len(scene.bodies)
    verifier = VerifierScene(len(still), surface.triangles, surface.edges, surface.particles, still, surface.radii, obstacles)
    return verifier, VerifierLayers(verifier, [(surface.names[place], shape) for place, shape in surface.shapes]), surface


def close_pairs(scene, shapes, points, placed, separation, threads):
    """Return the `ClosePair`s of one frame: those below a separation, then those with shapes."""
    if separation or scene.radii.any():
        for kind, (pairs, _, distances) in zip(PAIR_KINDS, scene.approaches(points, points, separation, threads), strict=True):
            yield from (ClosePair(kind, *pair, distance) for pair, distance in zip(pairs.tolist(), distances.tolist(), strict=True))
    if shapes is not None:
        met = shapes.in_frame(points, placed, separation, threads)
        yield from (ClosePair(*key, met[key]) for key in sorted(met))


def _between(frame, scene, shapes, points, placed, separation, threads):
    """Return the crossings between two frames."""
    lists = scene.crossings(*points, threads)
    lists = list(zip(PAIR_KINDS, lists[::2], lists[1::2], strict=True))
    if separation or scene.radii.any():
        nearer = zip(PAIR_KINDS, scene.approaches(*points, separation, threads), strict=True)
        lists = [_earliest(kind, touching, found[:2]) for (kind, *touching), (_, found) in zip(lists, nearer, strict=True)]
    for kind, pairs, times in lists:
        yield from (Crossing(frame, time, kind, *pair) for time, pair in zip(times.tolist(), pairs.tolist(), strict=True))
    if shapes is not None:
        met = shapes.between(*points, *placed, separation, threads)
        yield from (Crossing(frame, met[key], *key) for key in sorted(met))


def _earliest(kind, *found):
    """Return each pair of some lists once, sorted, with its first time: (kind, pairs, times)."""
    pairs, times = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((times, *pairs.T[::-1]))
    pairs, times = pairs[order], times[order]
    first = np.ones(len(pairs), bool)
    first[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    return kind, pairs[first], times[first]


def _with_obstacles(trajectory, n_vertices, surface, shapes, times):
    """Return the frames of a scene's bodies, each with the vertices of the obstacle meshes, and the other obstacles, at its time."""
    if times is not None:
        times = real_array("times", times, (None,))
    elif shapes.move or any(mesh.motion is not None for _, mesh in surface.meshes):
        raise ValueError("times: needed, because an obstacle of the scene moves")
    frame = -1
    for frame, entry in enumerate(trajectory):
        points = real_array(f"trajectory[{frame}]", entry.points if isinstance(entry, Mesh) else entry, (n_vertices, 3))
        if times is not None and frame == len(times):
            raise ValueError(f"times: expected one for each frame, got {len(times)} for more frames")
        time = 0.0 if times is None else float(times[frame])
        yield surface.positions(points, time), shapes.placed(time)
    if times is not None and frame + 1 != len(times):
        raise ValueError(f"times: expected one for each of {frame + 1} frames, got {len(times)}")
