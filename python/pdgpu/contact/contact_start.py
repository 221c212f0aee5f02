"""Checks of the start of a simulation with contact: no intersections, and no distance below the separation."""

from __future__ import annotations

import numpy as np

from pdgpu._internal.arguments import number, real_array
from pdgpu._internal.backends import thread_count
from pdgpu.collision.intersections import ClosePair
from pdgpu.contact.barrier_contact import BarrierContact
from pdgpu.contact.projective_contact import ProjectiveContact
from pdgpu.mesh.welding import coincident
from pdgpu.verify.certificate import close_pairs, verifier_parts
from pdgpu.verify.verifier_inside import VerifierInside

__all__ = ["check_contact_start", "rounding_of_contact"]

# The minimum activation distance in roundings of the largest coordinate. With a smaller one, a block that slides in float32 may stop at an
# impact (Newton, L-BFGS, VBD).
ROUNDINGS = 32.0


def check_contact_start(scene, positions, time=0.0, separation=0.0, *, threads=0):
    """Reject a state with intersections, or with distances below the separation.

    Exact, by the verification of `pdgpu.certify`: every intersection, every vertex below a plane or inside a box, every primitive in
    contact with a sphere or capsule, every vertex of `Segments` and `Points` inside a body, and every pair nearer than the separation.
    Primitives with a common vertex are never too near each other, but they intersect if they share more than that. Parts with
    `collides=False` are skipped, and so are pairs that nothing can separate: of obstacles, of pinned vertices. `SignedDistanceField` is not
    checked. An obstacle mesh that intersects itself is reported, not rejected.

    Parameters
    ----------
    scene : Scene
    positions : array_like, shape (n, 3)
        Of the bodies' vertices, m.
    time : float
        s; determines the positions of moving obstacles.
    separation : float
        m, >= 0. A distance equal to it is valid; with 0 touching is not.
    threads : int
        0: all cores. The result does not depend on it.

    Returns
    -------
    list of str
        For every obstacle mesh that intersects itself: its name, the first two primitives, numbered as below, and the number of further
        pairs.

    Raises
    ------
    ValueError
        There is such a pair: with the names of both, their vertices (numbered through the bodies and then the obstacle meshes) and their
        distance. The nearest of several is named. Also for arguments out of range.
    TypeError
        Arguments of another type.
    RuntimeError
        A build without GMP.
    """
    positions = real_array("positions", positions, (scene.n_vertices, 3))
    separation, threads = number("separation", separation, minimum=0.0), thread_count(threads)
    time = number("time", time)
    verifier, shapes, surface = verifier_parts(scene, scene.fixed())
    points, placed = surface.positions(positions, time), shapes.placed(time)
    found = verifier.intersections(points, threads)
    pairs = [*_of_free(verifier, found), *close_pairs(verifier, shapes, points, placed, separation, threads)]
    if not pairs:
        _check_enclosed(scene, surface, points, placed, threads)
        return list(_folded_obstacles(verifier, surface, found))
    kind, *parts, distance = min(pairs, key=lambda pair: pair.distance)
    how = "start intersecting" if distance <= 0.0 else f"start closer than the separation {separation:g} m"
    more = f" ({len(pairs) - 1} pairs more)" if len(pairs) > 1 else ""
    (name, primitive), (other_name, other) = (
        _words(verifier, surface, what, part) for what, part in zip(kind.split("-"), parts, strict=True)
    )
    cure = ""
    if name == other_name and name in surface.names:
        n, _ = coincident(surface.rest[surface.owner == surface.names.index(name)])
        cure = f"; {n} of its points coincide with others; join them by mesh.welded()" if n else ""
    raise ValueError(f"contact: {name!r} and {other_name!r} {how}: {primitive} and {other} are {distance:.6g} m apart{more}{cure}")


def _check_enclosed(scene, surface, points, placed, threads):
    """ValueError for a vertex of segments or points inside a closed surface, which no pair of their features shows."""
    fixed = scene.fixed()
    for vertex, _, name in VerifierInside(scene, surface, inner=False).at(points, placed, threads):
        if not fixed[scene[name].slice].all():
            owner = surface.names[surface.owner[vertex]]
            raise ValueError(
                f"contact: {owner!r} starts inside {name!r}, at vertex {vertex}; move one of the two, or give it collides=False"
            )


def _of_free(verifier, found):
    """The intersections of one frame, except those of fixed vertices only."""
    for kind, pairs, rows in (("edge-triangle", found.edge_triangle, verifier.triangles), ("edge-edge", found.edge_edge, verifier.edges)):
        fixed = verifier.fixed[verifier.edges[pairs[:, 0]]].all(axis=1) & verifier.fixed[rows[pairs[:, 1]]].all(axis=1)
        yield from (ClosePair(kind, *pair, 0.0) for pair in pairs[~fixed].tolist())


def _folded_obstacles(verifier, surface, found):
    """A text for every obstacle mesh that intersects itself. Two obstacles that intersect each other, as the steps of a stair, may be
    intended.
    """
    pairs = verifier.parted(found)[1].edge_triangle  # segments have no triangles
    owner, other = surface.owner[verifier.edges[pairs[:, 0], 0]], surface.owner[verifier.triangles[pairs[:, 1], 0]]
    for place in np.unique(owner[owner == other]):
        of_this = pairs[(owner == place) & (other == place)]
        first, second = (_words(verifier, surface, what, part)[1] for what, part in zip(("edge", "triangle"), of_this[0], strict=True))
        more = f" ({len(of_this) - 1} pairs more)" if len(of_this) > 1 else ""
        yield f"obstacle {surface.names[place]!r} intersects itself: {first} and {second}{more}"


def _words(verifier, surface, what, part):
    """The name of a primitive's body or obstacle, and a text for the primitive."""
    if isinstance(part, str):
        return part, f"the {what}"
    rows = {"vertex": np.arange(verifier.n_points)[:, None], "edge": verifier.edges, "triangle": verifier.triangles}[what]
    corners = tuple(dict.fromkeys(rows[part].tolist()))  # an edge with the same vertex twice is a particle
    name = surface.names[surface.owner[corners[0]]]
    return name, f"vertex {corners[0]}" if len(corners) == 1 else f"{what} {corners}"


def rounding_of_contact(core, positions):
    """A warning text if rounding at positions (n, 3) m is not small compared with the activation distance, or None."""
    contact = core.contact
    if not isinstance(contact, BarrierContact | ProjectiveContact):
        return None
    farthest = float(np.abs(np.asarray(positions, np.float64) - core.origin).max())
    least = ROUNDINGS * float(np.finfo(core.dtype).eps) * farthest
    if contact.distance >= least:
        return None
    return (
        f"distance: {contact.distance:g} m is too small for {core.dtype.name} and vertices up to {farthest:g} m from the origin of "
        f"the scene, {core.origin.tolist()}; give at least {least:.3g}, move the scene, or take dtype='float64'"
    )
