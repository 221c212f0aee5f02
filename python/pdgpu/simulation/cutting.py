"""Cutting: a shell cut along edges, as a new scene, and a simulation that continues with it.

Around each vertex of a cut edge the triangles form fans, connected by uncut edges. The first fan keeps the vertex and every further one
gets a copy of it. So triangles keep their rest shape, their constants and their index in every array. Copies share no element with their
original: colours and velocities are inherited [Chen et al. 2024, VBD, Sec. 4].
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import index_rows
from pdgpu._internal.attributes import keep_attributes, read_only
from pdgpu._internal.made import made_by
from pdgpu._internal.motion_calls import asking
from pdgpu._internal.parts import Part
from pdgpu.contact.proxy_contact import ProxyContact, carried_proxies
from pdgpu.linear.schur import SchurDirect, carried_region
from pdgpu.materials.material import constants_of, with_constants
from pdgpu.materials.materials import Bending, HingeBending, Spring
from pdgpu.mesh.mesh import Mesh
from pdgpu.scene.bodies import Body, shown
from pdgpu.simulation.automatic_rho import keep_searched
from pdgpu.simulation.resume import HISTORY, resumed

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import BodyName

__all__ = ["Cut", "Cutting"]


@made_by("Simulation.cut")
class Cut(NamedTuple):
    """The result of `Simulation.cut`.

    Attributes
    ----------
    body : Body
        The body after the cut, as in `Simulation.bodies`.
    new_vertices : ndarray of int32, shape (d,)
        New vertices of the body, after the old ones.
    parents : ndarray of int32, shape (d,)
        The original of each copy.
    joined : int
        The number of given edges that still connect their triangles, since neither end was copied.
    """

    body: Body
    new_vertices: np.ndarray
    parents: np.ndarray
    joined: int


class Origin(NamedTuple):
    """The relation of the vertices of a scene to those before the cut: copies of `rows`, with their share of divided quantities."""

    rows: np.ndarray  # (n,) vertex before
    share: np.ndarray  # (n,) by mass; 1 for undivided vertices


def cut_scene(scene, body, edges):
    """Return (scene, Cut, Origin) of cutting a body of a scene; the given scene is unchanged. Errors as of `Simulation.cut`."""
    body = scene.find(body)
    if body.type != "shell":
        raise ValueError(f"body: only a shell can be cut, and {body.name!r} is a {body.type}")
    if len(body.mesh.tets) or len(body.mesh.edges):
        raise ValueError(f"body: {body.name!r} has tets or edges in addition to its triangles; only a mesh of triangles can be cut")
    if body.density is None:
        raise ValueError(f"body: the file that {body.name!r} was loaded from does not hold its density, so it cannot be cut")
    n = len(body.points)
    sides = _Sides(body.mesh.triangles, n)
    edges = _checked(edges, sides, body.name)
    triangles, parents, joined = _separated(sides, edges)
    new_vertices = np.arange(n, n + len(parents), dtype=np.int32)

    after, place = scene.copy(), scene.bodies.index(body)
    if len(parents):
        rows = np.concatenate([np.arange(n, dtype=np.int32), parents])
        torn, share = _torn(after.bodies[place], triangles, rows)
        keep_attributes(after, bodies=(*after.bodies[:place], torn, *after.bodies[place + 1 :]))
        for later in after.bodies[place + 1 :]:
            keep_attributes(later, slice=slice(later.slice.start + len(parents), later.slice.stop + len(parents)))
    else:
        rows, share = np.arange(n), np.ones(n)
    first, last = body.slice.start, body.slice.stop
    everything = np.arange(scene.n_vertices)
    origin = Origin(
        np.concatenate([everything[:first], first + rows, everything[last:]]),
        np.concatenate([np.ones(first), share, np.ones(scene.n_vertices - last)]),
    )
    return after, Cut(shown(after.bodies[place]), new_vertices, parents, joined), origin


class _Sides:
    """The 3 m sides of triangles, each with the two corners (3 t + c) at its ends; sides of one edge have the same key."""

    def __init__(self, triangles, n_vertices):
        self.triangles, self.n_vertices = triangles, n_vertices
        corner = np.arange(triangles.size).reshape(-1, 3)
        start, end = triangles.ravel().astype(np.int64), np.roll(triangles, -1, axis=1).ravel().astype(np.int64)
        ends = np.stack([corner.ravel(), np.roll(corner, -1, axis=1).ravel()])
        self.low = np.where(start < end, *ends)
        self.high = np.where(start < end, *ends[::-1])
        keys = self.key(start, end)
        order = np.argsort(keys, kind="stable")
        self.low, self.high, self.keys = self.low[order], self.high[order], keys[order]

    def key(self, a, b):
        return np.minimum(a, b) * np.int64(self.n_vertices) + np.maximum(a, b)


def _checked(edges, sides, name):
    """Return edges to cut as (m, 2) int64; every error names the row and its vertices."""
    edges = index_rows("edges", edges, 2, sides.n_vertices, "vertices").astype(np.int64)
    keys = sides.key(*edges.T)
    first = np.searchsorted(sides.keys, keys)
    count = np.searchsorted(sides.keys, keys, side="right") - first
    _, once = np.unique(keys, return_index=True)
    again = np.ones(len(keys), dtype=bool)
    again[once] = False
    for bad, text in (
        (count == 0, f"is no edge of {name!r}"),
        (count == 1, f"is on the boundary of {name!r}: only one triangle is there"),
        (again, "is given twice"),
    ):
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(f"edges: ({edges[row, 0]}, {edges[row, 1]}) at row {row} {text}")
    return edges


def _separated(sides, edges):
    """Return (triangles, parents of the new vertices, number of edges that stay connected)."""
    import scipy

    triangles, n = sides.triangles.copy(), sides.n_vertices
    same = sides.keys[1:] == sides.keys[:-1]
    is_cut = np.isin(sides.keys[1:], sides.key(*edges.T))
    a, b = np.flatnonzero(same & ~is_cut), np.flatnonzero(same & ~is_cut) + 1
    rows, columns = np.concatenate([sides.low[a], sides.high[a]]), np.concatenate([sides.low[b], sides.high[b]])
    graph = scipy.sparse.coo_matrix((np.ones(len(rows), dtype=bool), (rows, columns)), shape=(triangles.size,) * 2)
    labels = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]

    # a fan is a connected component of corners around one vertex; fans are numbered by vertex, then by their first triangle
    touched = np.zeros(n, dtype=bool)
    touched[edges] = True
    at = triangles.reshape(-1)
    corners = np.flatnonzero(touched[at])
    _, first, fan = np.unique(labels[corners], return_index=True, return_inverse=True)
    first = corners[first]
    order = np.lexsort((first, at[first]))
    vertex = at[first[order]]
    further = np.zeros(len(order), dtype=bool)
    further[1:] = vertex[1:] == vertex[:-1]
    vertices = np.empty(len(order), dtype=np.int32)
    vertices[order] = np.where(further, n - 1 + np.cumsum(further), vertex)
    at[corners] = vertices[fan]

    a, b = np.flatnonzero(same & is_cut), np.flatnonzero(same & is_cut) + 1
    apart = (at[sides.low[a]] != at[sides.low[b]]) | (at[sides.high[a]] != at[sides.high[b]])
    return triangles, vertex[further].astype(np.int32), len(edges) - len(np.unique(sides.keys[a[apart]]))


def _torn(body, triangles, rows):
    """Return (body, share of its parent's mass per vertex): a copy of `body` with other triangles; vertex i descends from rows[i]."""
    mesh = _torn_mesh(body.mesh, triangles, rows)
    lumped = _host.lumped_masses(mesh.points, mesh.triangles, body.density)
    share = lumped / np.bincount(rows, weights=lumped)[rows]
    torn = body.copy()
    keep_attributes(
        torn,
        mesh=mesh,
        points=mesh.points,
        parents=read_only(rows if body.parents is None else body.parents[rows]),
        slice=slice(body.slice.start, body.slice.start + len(rows)),
        # a copy is held as its original; the springs of an attachment are divided, so that their sum is unchanged
        pins=tuple((_descendants(indices, rows)[0], motion) for indices, motion in body.pins),
        slides=tuple((_descendants(indices, rows)[0], projector) for indices, projector in body.slides),
        attachments=tuple(_shared_out(attachment, rows, share) for attachment in body.attachments),
        materials=tuple(_carried(material, body, mesh, rows) for material in body.materials),
    )
    torn.masses, torn.velocity = share * body.masses[rows], body.velocity[rows]  # masses may have been set
    keep_attributes(torn, groups=tuple(group for material in torn.materials for group in torn.groups_of(material)))
    return torn, share


def _torn_mesh(mesh, triangles, rows):
    """Return a mesh with the same names and numbers: triangles keep their indices, and copies of a vertex are in its groups."""
    groups = {name: group.given() for name, group in mesh.groups.items()}
    for parts in groups.values():
        if "points" in parts:
            parts["points"] = np.flatnonzero(np.isin(rows, parts["points"]))
    return Mesh(mesh.points[rows], triangles=triangles, groups=groups, cell_data=mesh.cell_data)


def _shared_out(attachment, rows, share):
    """Return the attachment of a cut body, with each spring divided by the shares of its vertices."""
    indices, targets, stiffness = attachment
    here, of = _descendants(indices, rows)
    return here, targets[of], stiffness[of] * share[here]


def _descendants(indices, rows):
    """Return vertices that descend from `indices` (ascending), ascending, and the positions of their parents in `indices`."""
    here = np.flatnonzero(np.isin(rows, indices)).astype(np.int32)
    return here, np.searchsorted(indices, rows[here])


def _carried(material, body, mesh, rows):
    """Return a material whose constant arrays follow the elements of the cut body."""
    if isinstance(material, Spring):
        # an edge that became several has the same stiffness, in sum
        old, new = body.mesh.unique_edges(), mesh.unique_edges()
    elif isinstance(material, Bending | HingeBending):
        old, new = body.mesh.hinges[:, :2], mesh.hinges[:, :2]
    else:
        return material  # one constant per triangle, and triangles keep their indices
    n = len(body.points)
    keys = old[:, 0].astype(np.int64) * n + old[:, 1]
    order = np.argsort(keys)
    seam = keys[order][:-1] == keys[order][1:]
    if seam.any():
        edge = old[order[int(np.argmax(seam))]].tolist()
        raise ValueError(f"edges: {body.name!r} has a seam of three triangles at {edge}, where constants of hinges cannot follow a cut")
    parents = np.sort(rows[new].astype(np.int64), axis=1)
    origin = order[np.searchsorted(keys, parents[:, 0] * n + parents[:, 1], sorter=order)]
    ((name, _),) = constants_of(material).items()
    stiffness = material.constant(name, len(old))[origin]
    if isinstance(material, Spring):
        stiffness = stiffness / np.bincount(origin)[origin]
    return with_constants(material, **{name: stiffness})


class Cutting(Part):
    """The part of `Simulation` for cuts of shells."""

    def cut(self, body: BodyName, edges: ArrayLike) -> Cut:
        """Cut a shell along edges, between two steps, and rebuild the model.

        Around each vertex of a cut edge every fan of triangles except the first gets a copy of the vertex, with its position and velocity
        [Chen et al. 2024, VBD, Sec. 4]. Copies are appended to the vertices of the body, so the indices of later bodies increase in all
        arrays: `bodies` has the slices. Masses are lumped again. External forces, attachments and the stiffness of proxies (`ProxyContact`)
        are divided by mass; the springs of a separated edge share its stiffness. So mass, momentum and stretch energy are unchanged. Hinges
        across the cut are removed. Copies of vertices that are pinned or slide do the same. A motion is called as before, for the original
        vertices of the body, and the world box acts on every copy. A rho found by rho="auto" is kept; the original scene is unchanged.

        Parameters
        ----------
        body : Body or str
            A shell, or its name.
        edges : array_like of int, shape (m, 2)
            Inner edges as pairs of vertices of the body, numbered as in `bodies`. The inner edges of a mesh are ``mesh.hinges[:, :2]``. A
            cut that separates no vertex, such as a single edge away from the boundary, changes nothing. Such edges are not stored: give
            them again together with their neighbours.

        Returns
        -------
        Cut
            body, new_vertices, parents, joined (the number of edges that were not separated).

        Raises
        ------
        TypeError
            Indices given as floats.
        ValueError
            A body that is no shell; edges that are not in its mesh, lie on its boundary or are given twice; dt=None and a part that is no
            longer held. The simulation is unchanged.
        RuntimeError
            Called during a step.
        """
        core = self._core
        state, steps = core.backend.state(), core.backend.steps()
        scene, result, origin = cut_scene(core.scene, body, edges)
        if not len(result.new_vertices):
            return self._shown(result)
        solver: Any
        solver, contact, forces, linear = core.solver, core.contact, core.external_forces, getattr(core.solver, "linear", None)
        with asking(core):
            torn = resumed(
                scene,
                replace(solver, linear=carried_region(linear, origin.rows)) if isinstance(linear, SchurDirect) else solver,
                core.dt,
                carried_proxies(contact, origin.rows, origin.share) if isinstance(contact, ProxyContact) else contact,
                core.device,
                core.dtype,
                core.threads,
                None if core.colours is None else core.colours[origin.rows],
                steps,
                core.start_time,
                {name: None if array is None or name in HISTORY else array[origin.rows] for name, array in state.items()},
                None if forces is None else forces[origin.rows] * origin.share[:, None],
                driven=core.backend.driven(),
                doublings=core.backend.doublings(),
                origin=core.origin,
                integrator=core.integrator,
            )
        torn.memory.last_step = core.memory.last_step
        torn.memory.setup_seconds += core.memory.setup_seconds
        keep_searched(torn, core.rho, core.numbers)
        self._core = torn
        return self._shown(result)

    def _shown(self, result):
        """Return the Cut with the body of `bodies`, whose rows are those of the public arrays."""
        return result._replace(body=shown(self._core.public_scene.find(result.body)))
