"""Certificates of trajectories: intersections of every frame and crossings between frames, with nothing taken on trust."""

from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import dataclass

import numpy as np

from pdgpu.arguments import real_array
from pdgpu.backends import thread_count
from pdgpu.intersections import JudgedScene
from pdgpu.mesh import Mesh
from pdgpu.scene import Scene
from pdgpu.surface import SceneSurface

__all__ = ["Certificate", "Crossing", "WorstPair", "certify"]

Crossing = namedtuple("Crossing", "frame time kind first second")
Crossing.__doc__ = """A contact between `frame` and the next: `time` in [0, 1] of the first touch; `kind` "vertex-triangle", "edge-edge" or
"vertex-edge", `first` and `second` its vertex, triangle or edges."""

WorstPair = namedtuple("WorstPair", "frame kind first second")
WorstPair.__doc__ = """The nearest pair of a trajectory: its `frame`, and `kind`, `first` and `second` as in `Crossing`; where the frame
intersects itself, kind is "edge-triangle" or "edge-edge"."""

PAIR_KINDS = (None, "vertex-triangle", "edge-edge", "vertex-edge")  # pd_gap_kind of csrc/host/smallest_gap.h


@dataclass(frozen=True, eq=False)
class Certificate:
    """What `certify` found.

    Attributes
    ----------
    frames : int
        Frames looked at.
    smallest_gap : float
        Smallest distance between pairs without a common vertex in any frame, m; 0 where a frame intersects itself, infinite where
        there is no pair; NaN where it was not asked for.
    worst_pair : WorstPair or None
        The pair at this distance.
    intersections : dict of int to Intersections
        The frames that intersect themselves.
    crossings : list of Crossing
        Every pair that touches while all vertices move straight from one frame to the next, by frame, then kind, then indices.
    edges : ndarray, shape (e, 2), int32
        What the edges of intersections, crossings and the worst pair number.
    clean : bool
        No intersections and no crossings.
    """

    frames: int
    smallest_gap: float
    worst_pair: WorstPair | None
    intersections: dict
    crossings: list
    edges: np.ndarray

    @property
    def clean(self):
        return not self.intersections and not self.crossings

    def __bool__(self):
        return self.clean

    def __str__(self):
        gap = "" if math.isnan(self.smallest_gap) else f", smallest gap {self.smallest_gap:.6g} m"
        if self.worst_pair:
            gap += f" (frame {self.worst_pair.frame}, {self.worst_pair.kind} {self.worst_pair.first} and {self.worst_pair.second})"
        if self.clean:
            return f"{self.frames} frames without intersections or crossings{gap}"
        pairs = sum(len(found) for found in self.intersections.values())
        text = f"{self.frames} frames: {pairs} intersections in {len(self.intersections)} of them, {len(self.crossings)} crossings"
        if self.intersections:
            text += f"; first intersecting frame {min(self.intersections)}"
        if self.crossings:
            first = self.crossings[0]
            text += f"; first crossing after frame {first.frame}: {first.kind} {first.first} and {first.second} at {first.time:.6g}"
        return text + gap


def certify(trajectory, triangles=None, edges=None, *, particles=None, times=None, gap=True, threads=0):
    """Whether a trajectory keeps a mesh out of itself, decided exactly, frame by frame and between the frames.

    In each frame, every intersection is found as by `pdgpu.geometry.find_intersections`. Between two frames all vertices move straight
    and at constant speed; for every pair of vertex and triangle, of two edges, and of vertex and edge of no triangle that share no
    vertex, the first time at which the two touch is a root of polynomials with exact integer coefficients, and is decided by the
    signs of others at it [Basu, Pollack, Roy 2006, Tarski queries]: nothing is missed and nothing is reported that is not there.
    Touching counts, and so do contacts at the frames themselves.

    Parameters
    ----------
    trajectory : iterable of array_like of shape (n, 3), or of Mesh
        The frames, m; at most two are held at a time. Of meshes the first gives triangles (`surface`) and edges.
    triangles, edges, particles : array_like of int, optional
        As for `find_intersections`. Or a Scene instead of triangles: its surfaces, rods and particles, and its obstacle meshes, whose
        vertices are numbered after those of the bodies (`SceneSurface`). Other obstacles, such as planes, are not looked at.
    times : array_like, shape (frames,), optional
        s; where the obstacle meshes are at each frame. Needed where one of them moves.
    gap : bool
        Also look for the smallest distance in each frame, in double: off by some 1e-15 of the size of the pair.
    threads : int
        0: all cores. The result does not depend on it.

    Returns
    -------
    Certificate

    Raises
    ------
    TypeError, ValueError
        Frames of different shapes, no frames, coordinates that are not finite, bad indices, not a time for each frame where they are
        needed: with argument, row and value.
    RuntimeError
        This build has no GMP.
    """
    threads = thread_count(threads)
    if isinstance(triangles, Scene):
        if edges is not None or particles is not None:
            raise TypeError("triangles: a Scene has edges and particles of its own")
        surface = SceneSurface(triangles)
        trajectory = _with_obstacles(trajectory, triangles.n_vertices, surface, times)
        triangles, edges, particles = surface.triangles, surface.edges, surface.particles
    elif times is not None:
        raise TypeError("times: only a Scene in place of triangles takes them")
    scene, previous, found, crossings = None, None, {}, []
    smallest, worst, frame = math.inf if gap else math.nan, None, -1
    for frame, entry in enumerate(trajectory):
        if isinstance(entry, Mesh):
            if frame == 0 and triangles is None and edges is None:
                triangles, edges = entry.surface, entry.edges
            entry = entry.points
        points = real_array(f"trajectory[{frame}]", entry, (None if scene is None else scene.n_points, 3))
        if scene is None:
            if triangles is None and edges is None:
                raise ValueError("triangles: needed unless the trajectory is of meshes")
            scene = JudgedScene(len(points), triangles, edges, particles)
        here = scene.intersections(points, threads)
        if here:
            found[frame] = here
        if gap:
            distance, kind, *pair = scene.smallest_gap(points, threads)
            name = PAIR_KINDS[kind]
            if here:
                distance, name = 0.0, "edge-triangle" if len(here.edge_triangle) else "edge-edge"
                pair = (here.edge_triangle if len(here.edge_triangle) else here.edge_edge)[0].tolist()
            if distance < smallest:
                smallest, worst = distance, WorstPair(frame, name, *pair)
        if previous is not None:
            lists = scene.crossings(previous, points, threads)
            for name, pairs, times in zip(PAIR_KINDS[1:], lists[::2], lists[1::2], strict=True):
                rows = zip(times.tolist(), pairs.tolist(), strict=True)
                crossings.extend(Crossing(frame - 1, time, name, *pair) for time, pair in rows)
        previous = points
    if scene is None:
        raise ValueError("trajectory: has no frames")
    return Certificate(frame + 1, smallest, worst, found, crossings, scene.edges)


def _with_obstacles(trajectory, n_vertices, surface, times):
    """The frames of a scene's bodies, each with the vertices of the obstacle meshes at its time."""
    if times is not None:
        times = real_array("times", times, (None,))
    elif any(mesh.motion is not None for _, mesh in surface.meshes):
        raise ValueError("times: needed, because an obstacle of the scene moves")
    frame = -1
    for frame, entry in enumerate(trajectory):
        points = real_array(f"trajectory[{frame}]", entry.points if isinstance(entry, Mesh) else entry, (n_vertices, 3))
        if times is not None and frame == len(times):
            raise ValueError(f"times: expected one for each frame, got {len(times)} for more frames")
        yield surface.positions(points, 0.0 if times is None else float(times[frame]))
    if times is not None and frame + 1 != len(times):
        raise ValueError(f"times: expected one for each of {frame + 1} frames, got {len(times)}")
