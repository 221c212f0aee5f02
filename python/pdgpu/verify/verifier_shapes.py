"""The verification of planes, spheres, capsules and boxes: contacts with a scene's bodies, and distances below a separation.

A sphere is its centre, a capsule its axis, each with the radius added to the separation. A box is its twelve triangles and their interior.
The code is independent of the colliders' own distances.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdgpu import _host
from pdgpu.scene.colliders import Box, Capsule, Plane, Sphere

__all__ = ["PlacedShapes", "VerifierShapes"]

SIGNS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
# of the corners in the order of SIGNS, outwards
BOX_TRIANGLES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]],
    dtype=np.int32,
)
BOX_EDGES = _host.edges(BOX_TRIANGLES, 8)


class PlacedShapes(NamedTuple):
    """The shapes in one frame: points (m, 3) of spheres, capsules and boxes, m, and a PlacedPlane for each plane."""

    points: np.ndarray
    planes: list


class _Question(NamedTuple):
    """A test of rows of points of shapes against simplices of bodies."""

    shape: str
    own: np.ndarray  # rows of the shapes
    names: list  # of the shape of each row
    radii: np.ndarray  # m, of each row
    simplices: str  # "triangles", "edges", "alone" or "vertices" of VerifierShapes
    is_first: bool  # the rows of the shapes are the first of a pair


class VerifierShapes:
    """The shapes of a scene, for tests against the simplices of its bodies, except fixed vertices.

    Parameters
    ----------
    scene : VerifierScene
        Of bodies and obstacle meshes.
    shapes : list of (str, Collider)
        Each after its name. Other classes than the four are ignored.
    included : ndarray of bool, shape (n,), optional
        Vertices of the bodies in the test; by default all.

    Attributes
    ----------
    move : bool
        True if one of them has a motion.
    fixed : ndarray of uint8, shape (n + m,)
        Of the scene's points, then of those of the shapes, which are fixed.
    """

    def __init__(self, scene, shapes, included=None):
        self.scene = scene
        self.shapes = [(name, shape) for name, shape in shapes if isinstance(shape, Plane | Sphere | Capsule | Box)]
        self.move = any(shape.motion is not None for _, shape in self.shapes)
        free = scene.fixed == 0 if included is None else (scene.fixed == 0) & included
        self.vertices = scene.vertices[free[scene.vertices]]
        self.triangles = np.flatnonzero(free[scene.triangles].any(axis=1))
        self.edges = np.flatnonzero(free[scene.edges].any(axis=1))
        self.alone = self.edges[scene.alone[self.edges] == 1]
        self.questions, self.solids, first = [], [], scene.n_points
        for name, shape in self.shapes:
            first = self._add(name, shape, first)
        self.questions = [self._joined(group) for group in self._grouped()]
        self.fixed = np.concatenate([scene.fixed, np.ones(first - scene.n_points, np.uint8)])

    def _add(self, name, shape, first):
        """Add the tests of one shape, whose points begin at `first`; return the next index."""
        none, kind = np.zeros((0, 3), np.int32), type(shape).__name__.lower()
        if isinstance(shape, Plane):
            return first
        if isinstance(shape, Box):
            rows = [(np.arange(8)[:, None], "triangles", True), (BOX_EDGES, "edges", True), (BOX_TRIANGLES, "vertices", False)]
            self.solids.append((name, kind, first, 8, 0.0, BOX_TRIANGLES + np.int32(first), BOX_EDGES + np.int32(first)))
        elif isinstance(shape, Capsule):
            rows = [([[0], [1]], "triangles", True), ([[0, 1]], "edges", True)]
            self.solids.append((name, kind, first, 2, shape.radius, none, np.array([[first, first + 1]], np.int32)))
        else:
            rows = [([[0]], "triangles", True), ([[0]], "alone", True)]
        for own, simplices, is_first in rows:
            own = np.array(own, np.int32) + np.int32(first)
            radii = np.full(len(own), getattr(shape, "radius", 0.0))
            self.questions.append(_Question(kind, own, [name] * len(own), radii, simplices, is_first))
        return first + len(_points_of(shape))

    def _grouped(self):
        groups = {}
        for question in self.questions:
            groups.setdefault((question.shape, question.simplices), []).append(question)
        return groups.values()

    def _joined(self, group):
        own, radii = (np.concatenate([getattr(part, name) for part in group]) for name in ("own", "radii"))
        return group[0]._replace(own=own, radii=radii, names=[name for part in group for name in part.names])

    def placed(self, time):
        """The shapes at a time, s."""
        from pdgpu.verify.verifier_planes import PlacedPlane

        points, planes = [np.zeros((0, 3))], []
        for _, shape in self.shapes:
            turn, shift = shape.placement(time)
            if isinstance(shape, Plane):
                planes.append(PlacedPlane(turn @ np.array(shape.point) + shift, turn @ np.array(shape.normal)))
            else:
                points.append(_points_of(shape) @ turn.T + shift)
        return PlacedShapes(np.concatenate(points), planes)

    # ---- results ------------------------------------------------------------------------------------------------------

    def in_frame(self, x, placed, separation, threads):
        """Contacts with a shape in a frame, or distances below the separation: {(kind, number, name): distance}.

        Distances in m, negative inside planes, spheres and capsules, 0 for contact with a box.
        """
        points, found = np.concatenate([x, placed.points]), {}
        bounds = self._bounds([points])
        for key, distance in (*self._pierced(points, bounds, threads), *self._enclosed(points, threads)):
            found[key] = min(distance, found.get(key, np.inf))
        for key, _, distance in self._approaches([points, points], bounds, separation, threads):
            found[key] = min(distance, found.get(key, np.inf))
        for name, plane in zip(self._planes(), placed.planes, strict=True):
            near = self.vertices[plane.too_near(points[self.vertices], separation)]
            found.update({("vertex-plane", int(v), name): float(d) for v, d in zip(near, plane.distances(points[near]), strict=True)})
        return found

    def between(self, x_0, x_1, placed_0, placed_1, separation, threads):
        """Contacts with a shape, or distances below the separation, between two frames: {(kind, number, name): first time}."""
        from pdgpu.verify.verifier_planes import first_times

        points, found = [np.concatenate([x_0, placed_0.points]), np.concatenate([x_1, placed_1.points])], {}
        bounds = self._bounds(points)
        crossings = () if separation else self._crossed(points, bounds, threads)
        approaches = self._approaches(points, bounds, separation, threads)
        for key, time, *_ in (*crossings, *approaches):
            found[key] = min(time, found.get(key, np.inf))
        for name, *planes in zip(self._planes(), placed_0.planes, placed_1.planes, strict=True):
            times = first_times(x_0[self.vertices], x_1[self.vertices], *planes, separation)
            near = times >= 0.0
            found.update({("vertex-plane", int(v), name): float(t) for v, t in zip(self.vertices[near], times[near], strict=True)})
        return found

    def _planes(self):
        return [name for name, shape in self.shapes if isinstance(shape, Plane)]

    def _bounds(self, frames):
        """Return lowest and highest corners of the simplices of bodies over some frames, by the names of a test."""
        if not self.questions:
            return {}
        edges = _bounds(frames, self.scene.edges[self.edges])
        lonely = self.scene.alone[self.edges] == 1
        return {
            "triangles": _bounds(frames, self.scene.triangles[self.triangles]),
            "edges": edges,
            "alone": [bound[lonely] for bound in edges],
            "vertices": _bounds(frames, self.vertices[:, None]),
        }

    def _approaches(self, frames, bounds, separation, threads):
        for shape, own, names, radii, simplices, is_first in self.questions:
            if shape == "box" and separation == 0.0:
                continue  # contacts and crossings are decided as between meshes
            margin = np.nextafter(radii.max() + separation, np.inf)
            low, high = (function(bound, axis=0) for function, bound in zip((np.min, np.max), _bounds(frames, own), strict=True))
            near = _overlapping(bounds[simplices], np.nextafter(low - margin, -np.inf), np.nextafter(high + margin, np.inf))
            numbers = getattr(self, simplices)[near]
            if not len(numbers):
                continue
            if simplices == "vertices":
                rows = numbers[:, None].astype(np.int32)
            else:
                rows = (self.scene.triangles if simplices == "triangles" else self.scene.edges)[numbers]
            first, second = (own, rows) if is_first else (rows, own)
            margins = radii if is_first else np.zeros(len(rows))
            pairs, times, distances = _host.find_approaches(*frames, first, second, margins, separation, self.fixed, False, threads)
            for pair, time, distance in zip(pairs.tolist(), times.tolist(), distances.tolist(), strict=True):
                mine, other = pair if is_first else pair[::-1]
                yield self._key(simplices, numbers[other], shape, names[mine]), time, distance

    def _pierced(self, points, bounds, threads):
        """Return edges of bodies and boxes, and axes of capsules, that meet triangles of the others in a frame."""
        for name, kind, _, _, radius, triangles, edges in self._near([points], bounds):
            pairs, _, _ = _host.find_intersections(points, triangles.rows, edges.rows, edges.alone, threads)
            for edge, triangle in pairs.tolist():
                if edge < edges.n and triangle >= triangles.n:
                    yield self._key("edges", edges.numbers[edge], kind, name), 0.0
                elif edge >= edges.n and triangle < triangles.n:
                    yield self._key("triangles", triangles.numbers[triangle], kind, name), -radius

    def _crossed(self, points, bounds, threads):
        """Return contacts with the triangles of a box between two frames."""
        for name, kind, vertices, is_solid, _, triangles, edges in self._near(points, bounds):
            if not is_solid:
                continue
            lists = _host.find_crossings(*points, vertices, triangles.rows, edges.rows, edges.alone, threads)
            n = self.scene.n_points
            for (first, second), time in zip(lists[0].tolist(), lists[1].tolist(), strict=True):
                if first < n and second >= triangles.n:
                    yield self._key("vertices", first, kind, name), time
                elif first >= n and second < triangles.n:
                    yield self._key("triangles", triangles.numbers[second], kind, name), time
            for (first, second), time in zip(lists[2].tolist(), lists[3].tolist(), strict=True):
                if first < edges.n <= second:
                    yield self._key("edges", edges.numbers[first], kind, name), time
            for (first, second), time in zip(lists[4].tolist(), lists[5].tolist(), strict=True):
                if first >= n and second < edges.n:
                    yield self._key("edges", edges.numbers[second], kind, name), time

    def _enclosed(self, points, threads):
        """Return vertices of bodies inside a box."""
        for name, kind, first, size, *_ in self.solids:
            if kind != "box":
                continue
            corners = points[first : first + size]
            x = points[self.vertices]
            near = ((x >= corners.min(axis=0)) & (x <= corners.max(axis=0))).all(axis=1)
            if near.any():
                inside = _host.are_inside(corners, BOX_TRIANGLES, x[near], threads) == 1
                yield from ((self._key("vertices", v, kind, name), 0.0) for v in self.vertices[near][inside])

    def _near(self, frames, bounds):
        """Return each capsule and box with the simplices of bodies whose boxes overlap its own during the motion between frames, and its
        own.
        """
        for name, kind, first, size, radius, own_triangles, own_edges in self.solids:
            box = _bounds(frames, np.arange(first, first + size)[None])
            triangles, edges, vertices = (_overlapping(bounds[simplices], *box) for simplices in ("triangles", "edges", "vertices"))
            if len(edges):
                corners = np.arange(first, first + size if kind == "box" else first, dtype=np.int32)
                vertices = np.concatenate([self.vertices[vertices].astype(np.int32), corners])
                triangles = _Near(self.triangles[triangles], self.scene.triangles, own_triangles)
                edges = _Near(self.edges[edges], self.scene.edges, own_edges, self.scene.alone)
                yield name, kind, vertices, kind == "box", radius, triangles, edges

    def _key(self, simplices, number, shape, name):
        number = int(number)
        if simplices in ("edges", "alone"):
            start, end = self.scene.edges[number].tolist()
            return (f"vertex-{shape}", start, name) if start == end else (f"edge-{shape}", number, name)
        return f"{'triangle' if simplices == 'triangles' else 'vertex'}-{shape}", number, name


class _Near:
    """Simplices of bodies by their numbers, then those of one shape."""

    def __init__(self, numbers, rows, own, alone=None):
        self.numbers, self.n = numbers, len(numbers)
        self.rows = np.ascontiguousarray(np.concatenate([rows[numbers], own]), dtype=np.int32)
        if alone is not None:
            self.alone = np.concatenate([alone[numbers], np.zeros(len(own), np.uint8)])


def _points_of(shape):
    """Return the points (m, 3) of the description of a sphere, capsule or box."""
    if isinstance(shape, Sphere):
        return np.array([shape.centre])
    if isinstance(shape, Capsule):
        return np.array([shape.start, shape.end])
    corners = 0.5 * SIGNS * np.array(shape.size)
    if shape.rotation is not None:
        corners = corners @ np.array(shape.rotation).T
    return corners + np.array(shape.centre)


def _bounds(frames, rows):
    """Return lowest and highest corners (m, 3) of rows (m, k) of points over some frames."""
    corners = [points[column] for points in frames for column in rows.T]
    return [function.reduce(corners) for function in (np.minimum, np.maximum)]


def _overlapping(bounds, low, high):
    """Return a mask of the boxes, given by two arrays of corners (m, 3), that overlap one box."""
    return np.flatnonzero(((bounds[1] >= low) & (bounds[0] <= high)).all(axis=1))
