"""Where a simulation with contact may start: nothing meets anything, and nothing is nearer than the separation."""

from __future__ import annotations

import numpy as np

from pdgpu._internal.arguments import number, real_array
from pdgpu._internal.backends import thread_count
from pdgpu.collision.intersections import ClosePair
from pdgpu.contact.barrier_contact import BarrierContact
from pdgpu.contact.projective_contact import ProjectiveContact
from pdgpu.verify.certificate import close_pairs, judged_parts

__all__ = ["check_contact_start", "rounding_of_contact", "unbalanced_start"]

# Roundings of the largest coordinate that an activation distance needs at least. Measured with a block that falls and slides on a plane and
# on a mesh in float32 (Newton, L-BFGS, VBD; a stiffness of 1e6 Pa): most impacts stop the block at 28, one of 48 does at 37, none at 50.
ROUNDINGS = 32.0

UNBALANCED = 5.0  # times the forces that can balance contact at the start, above which friction is told of


def check_contact_start(scene, positions, time=0.0, separation=0.0, *, threads=0):
    """Refuse a state from which a contact that keeps bodies apart could not start.

    Exact, by the judge of `pdgpu.certify`: every intersection, every vertex below a plane or inside a box, every primitive that touches a
    sphere or capsule, and every pair nearer than the separation. Primitives with a common vertex are never too near each other, but they
    intersect where they have more in common than that. Parts with `collides=False` do not take part, and neither do pairs that nothing
    can move apart: of obstacles, of pinned vertices. `SignedDistanceField` is not looked at. An obstacle mesh that intersects itself is
    not refused, but told of.

    Parameters
    ----------
    scene : Scene
    positions : array_like, shape (n, 3)
        Of the bodies' vertices, m.
    time : float
        s; where the motions have taken the obstacles.
    separation : float
        m, at least 0. What is exactly as far apart is far enough; with 0 touching is too near.
    threads : int
        0: all cores. The result does not depend on it.

    Returns
    -------
    list of str
        Of every obstacle mesh that intersects itself: its name, the first two primitives, numbered as below, and how many pairs more.

    Raises
    ------
    ValueError
        There is such a pair: with the names of both, their vertices (of the bodies' and then of the obstacle meshes', numbered through) and
        their distance. Of several the nearest is named. Also arguments that are out of range.
    TypeError
        Arguments of a wrong type.
    RuntimeError
        This build has no GMP.
    """
    positions = real_array("positions", positions, (scene.n_vertices, 3))
    separation, threads = number("separation", separation, minimum=0.0), thread_count(threads)
    time = number("time", time)
    judged, shapes, surface = judged_parts(scene, scene.fixed())
    points, placed = surface.positions(positions, time), shapes.placed(time)
    found = judged.intersections(points, threads)
    pairs = [*_of_free(judged, found), *close_pairs(judged, shapes, points, placed, separation, threads)]
    if not pairs:
        return list(_folded_obstacles(judged, surface, found))
    kind, *parts, distance = min(pairs, key=lambda pair: pair.distance)
    how = "start intersecting" if distance <= 0.0 else f"start closer than the separation {separation:g} m"
    more = f" ({len(pairs) - 1} pairs more)" if len(pairs) > 1 else ""
    (name, primitive), (other_name, other) = (
        _words(judged, surface, what, part) for what, part in zip(kind.split("-"), parts, strict=True)
    )
    raise ValueError(f"contact: {name!r} and {other_name!r} {how}: {primitive} and {other} are {distance:.6g} m apart{more}")


def _of_free(judged, found):
    """The intersections of one frame, but those of fixed vertices alone."""
    for kind, pairs, rows in (("edge-triangle", found.edge_triangle, judged.triangles), ("edge-edge", found.edge_edge, judged.edges)):
        fixed = judged.fixed[judged.edges[pairs[:, 0]]].all(axis=1) & judged.fixed[rows[pairs[:, 1]]].all(axis=1)
        yield from (ClosePair(kind, *pair, 0.0) for pair in pairs[~fixed].tolist())


def _folded_obstacles(judged, surface, found):
    """In words, every obstacle mesh that intersects itself. Two that stand in each other, as the steps of a stair do, may be meant."""
    pairs = judged.parted(found)[1].edge_triangle  # a mesh has no edges without a triangle
    owner, other = surface.owner[judged.edges[pairs[:, 0], 0]], surface.owner[judged.triangles[pairs[:, 1], 0]]
    for place in np.unique(owner[owner == other]):
        of_this = pairs[(owner == place) & (other == place)]
        first, second = (_words(judged, surface, what, part)[1] for what, part in zip(("edge", "triangle"), of_this[0], strict=True))
        more = f" ({len(of_this) - 1} pairs more)" if len(of_this) > 1 else ""
        yield f"obstacle {surface.names[place]!r} intersects itself: {first} and {second}{more}"


def _words(judged, surface, what, part):
    """The name of a primitive's body or obstacle, and the primitive in words."""
    if isinstance(part, str):
        return part, f"the {what}"
    rows = {"vertex": np.arange(judged.n_points)[:, None], "edge": judged.edges, "triangle": judged.triangles}[what]
    corners = tuple(dict.fromkeys(rows[part].tolist()))  # an edge with the same vertex twice is a particle
    name = surface.names[surface.owner[corners[0]]]
    return name, f"vertex {corners[0]}" if len(corners) == 1 else f"{what} {corners}"


def rounding_of_contact(simulation, positions):
    """A sentence where rounding is no small share of the activation distance at positions (n, 3) m, or None."""
    contact = simulation.contact
    if not isinstance(contact, BarrierContact | ProjectiveContact):
        return None
    farthest = float(np.abs(np.asarray(positions, np.float64) - simulation.origin).max())
    least = ROUNDINGS * float(np.finfo(simulation.dtype).eps) * farthest
    if contact.distance >= least:
        return None
    return (
        f"distance: {contact.distance:g} m is too small for {simulation.dtype.name} and vertices up to {farthest:g} m from the origin of "
        f"the scene, {simulation.origin.tolist()}; give at least {least:.3g}, move the scene, or take dtype='float64'"
    )


def unbalanced_start(simulation):
    """A warning about a body inside the activation distance whose contact forces nothing balances, or None. Friction of the first step
    takes its normal forces from the start, and such a force is an artefact of the placement.

    The forces that can balance contact on a body are its weight, its elastic and external forces, and the change of its momentum if the
    fastest approach of a touching vertex, or of an obstacle, ends within the step.
    """
    contact = simulation.contact_forces()
    if not len(contact):
        return None
    _, velocities = simulation._state64()
    free = simulation._fixed == 0
    pushed = np.linalg.norm(contact.forces, axis=1) * free
    approach = -np.einsum("ij,ij->i", velocities, contact.forces) / np.where(pushed > 0.0, pushed, np.inf)
    now, then = simulation._backend.driven().astype(np.float64), simulation._touching.driven(simulation._end())
    speed = np.linalg.norm(then - now, axis=1).max(initial=0.0) / simulation.dt
    elastic = np.linalg.norm(simulation.forces(), axis=1) * free
    if simulation._external_forces is not None:
        elastic += np.linalg.norm(simulation._external_forces, axis=1) * free
    found = []
    for body in simulation.bodies:
        at = body.slice
        rate = float(np.linalg.norm(simulation._gravity)) + (approach[at].max(initial=0.0) + speed) / simulation.dt
        balance = float(simulation._masses[at].sum()) * rate + float(elastic[at].sum())
        if float(pushed[at].sum()) > UNBALANCED * balance:
            found.append((float(pushed[at].sum()), balance, body.name))
    if not found:
        return None
    force, balance, name = max(found)
    more = f" ({len(found) - 1} bodies more)" if len(found) > 1 else ""
    return (
        f"friction: {name!r}{more} starts inside the activation distance with contact forces of {force:.3g} N, and weight, elasticity and "
        f"momentum balance {balance:.3g} N of them; friction of the first step uses these normal forces: start with larger gaps, or reach "
        "the contact by steps without friction"
    )
