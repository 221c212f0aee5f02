"""Contact by proxies for Projective Dynamics: springs of rest length zero pull points of a body out of obstacles and bodies."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdgpu._internal.arguments import any_array, choice, number, per_item, vertex_indices
from pdgpu._internal.counted import counted
from pdgpu._internal.deprecated import settings_by_keyword
from pdgpu.contact.rest_field import RestField, RestShape, rest_description
from pdgpu.linear.linear_solvers import keep
from pdgpu.linear.schur import SchurDirect
from pdgpu.scene.colliders import Collider, TriangleMesh, VertexCollider, placed_collider
from pdgpu.scene.embedding import Embedding, find_embedding
from pdgpu.scene.signed_distance_field import SignedDistanceField

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["ProxyContact", "RestField"]

DETECTIONS = ("iteration", "step")


@settings_by_keyword(("proxies", "stiffness", "field", "detection"))
@dataclass(frozen=True)
class ProxyContact:
    """Bilateral penalty contact of Projective Dynamics, by proxies [Wang et al. 2021, Localized collisions, Secs. 4.1 to 4.3].

    A proxy is a vertex or an embedded point y = W x. Inside an obstacle or a solid, a spring of rest length zero joins it to the nearest
    point t of the surface, with the energy c/2 |y - t|^2, until the next detection. So the springs add the gradient W^T C (W x - t) and the
    matrix W^T C W, the same for x, y and z, to the global step. The contact is soft: a weight F sinks in by F/c, and fast bodies pass
    through. Only proxies are tested; `certify` detects other intersections. There is no friction, but a spring also holds tangentially
    until the next detection. The target on a solid, also the proxy's own, is t = W_c x (`RestField`), and W - W_c replaces W in both.

    `SchurDirect` adds the matrix to its dense part; its region must contain each proxy and each target on a body. `Direct` factorises again
    if the active proxies have changed; with solids it also orders and analyses again, since other vertices are coupled. The other linear
    solvers, and `SchurDirect` with `active`, use a diagonal upper bound, c |w_a| sum_b |w_b| at corner a. They need more iterations and
    converge to the same state.

    Parameters
    ----------
    proxies : Embedding, str, or sequence of them; or array_like of int
        Embedded surfaces or points (`Body.embed`), also by name; or vertices by number (in the scene).
    stiffness : float or array_like, one for each proxy
        c, N/m, > 0.
    field : str, RestField, or sequence of them, optional
        The colliders by name: obstacles (Plane, Sphere, Capsule, Box, SignedDistanceField), at rest or moving; solids, or closed surfaces
        embedded in them, as a `RestField` with its defaults. By default all obstacles. Of several colliders that contain a proxy, that of
        the largest depth counts.
    detection : "iteration" or "step"
        When C and t are found. "iteration": in every iteration, as in the paper. "step": once per step, at its first guess; the objective
        is then the same in all iterations and no iteration raises it. `Simulation.proxies` has the springs of that step.

    Raises
    ------
    TypeError, ValueError
        An argument of another type or out of range. At the creation of a simulation also: unknown names, a triangle mesh as obstacle (which
        has no level set; use `SignedDistanceField.from_mesh`), `Segments` and `Points` (which have no inside), a field without negative
        values, a surface that is open or intersects itself, a proxy outside of the region of SchurDirect. In a step: a target outside of
        it, and a proxy that has left the grid of a part of a shape.

    Notes
    -----
    A proxy outside the grid of a `SignedDistanceField` is outside its shape, which the grid contains; it is never in contact. The distance
    of a part of a shape (`whole=False`) is known only as far as the nearest value of the grid. Farther away a step raises ValueError with
    the number of the proxy, its position and that of the grid, and restores the simulation: the grid must cover the path. On a GPU each
    such detection synchronises.

    With detection="iteration" the reported energy is that of the active proxies at the evaluated positions, and it may rise when others
    become active. `Simulation.proxies` counts the proxies that became active or inactive between the iterations of a step. There is no line
    search: while pairs of two bodies change all the time, iterations may oscillate.

    Examples
    --------
    >>> contact = pdgpu.ProxyContact([0, 1, 2], stiffness=100.0)
    >>> contact.detection
    'iteration'
    """

    proxies: Any
    _: KW_ONLY
    stiffness: Any
    field: Any = None
    detection: str = "iteration"

    def __post_init__(self):
        keep(self, proxies=_proxies(self.proxies), field=_fields(self.field) if self.field is not None else None)
        stiffness = any_array("stiffness", self.stiffness)
        if stiffness.ndim == 0:
            keep(self, stiffness=number("stiffness", self.stiffness, above=0.0))
        else:
            keep(self, stiffness=tuple(per_item("stiffness", stiffness, len(stiffness), above=0.0).tolist()))
        choice("detection", self.detection, DETECTIONS)

    def __repr__(self):
        proxies = self.proxies if isinstance(self.proxies[0], str) else f"<{counted(len(self.proxies), 'vertex', 'vertices')}>"
        stiffness = self.stiffness if isinstance(self.stiffness, float) else f"<{counted(len(self.stiffness), 'number')}>"
        return f"ProxyContact({proxies}, stiffness={stiffness}, field={self.field}, detection={self.detection!r})"


class Proxies(NamedTuple):
    """The result of `Simulation.proxies`.

    Attributes
    ----------
    points : ndarray, shape (k, 3)
        y, m.
    targets : ndarray, shape (k, 3)
        t of active proxies, m; y of the others.
    active : ndarray of bool, shape (k,)
        With detection="step" the springs of the last step, also those of proxies that are outside now.
    forces : ndarray, shape (k, 3)
        c (t - y) on the points, N.
    vertex_forces : ndarray, shape (n, 3)
        The same forces on the vertices, N.
    entered, left : int
        Numbers of proxies that became active, and inactive, between the iterations of the last step, in total; for SchurDirect between
        inner iterations.
    carriers : ndarray of int32, shape (k, 4)
        The vertices that carry the target; -1 for a target that is not on a body.
    carrier_weights : ndarray, shape (k, 4)
        Their weights.
    """

    points: Floats
    targets: Floats
    active: Any
    forces: Floats
    vertex_forces: Floats
    entered: int
    left: int
    carriers: Any
    carrier_weights: Floats


class ProxyScene:
    """The proxies of a simulation, and their colliders."""

    def __init__(self, scene: Any, contact: ProxyContact, solver: Any, fixed: Any, threads: int) -> None:
        self.contact, self._is_placed, self._scene = contact, False, scene
        if isinstance(contact.proxies[0], str):
            found = [find_embedding(scene, name) for name in contact.proxies]
            self.rows = np.concatenate([part.vertices + body.slice.start for body, part in found]).astype(np.int32)
            self.weights = np.concatenate([part.weights for _, part in found])
        else:
            vertices = vertex_indices("proxies", np.array(contact.proxies), np.empty((scene.n_vertices, 0)))
            self.rows = np.full((len(vertices), 4), -1, np.int32)
            self.rows[:, 0] = vertices
            self.weights = np.tile([1.0, 0.0, 0.0, 0.0], (len(vertices), 1))
        self.n_vertices = scene.n_vertices
        self.stiffness = per_item("stiffness", contact.stiffness, len(self.rows), above=0.0)
        known = {obstacle.name: obstacle for obstacle in scene.obstacles}
        given = [name for name, obstacle in known.items() if obstacle.collides] if contact.field is None else contact.field
        names = [name for name in given if name in known]
        bodies = [RestField(name) if isinstance(name, str) else name for name in given if name not in known]
        self.shapes = [RestShape(scene, field, threads) for field in bodies]
        self.colliders: list[Collider] = [known[name].collider for name in names]
        for name, collider in zip(names, self.colliders, strict=True):
            if isinstance(collider, TriangleMesh):
                raise TypeError(f"field: {name!r} is a triangle mesh, which has no level set; give pdgpu.SignedDistanceField.from_mesh")
            if isinstance(collider, VertexCollider):
                kind = type(collider).__name__
                raise TypeError(f"field: {name!r} is {kind}, which has no inside to leave; take a Capsule or a Sphere, or BarrierContact")
            if isinstance(collider, SignedDistanceField) and collider.whole and not (collider.values < 0.0).any():
                raise ValueError(
                    f"field: the least value of {name!r} is {collider.values.min():g} m, so that nothing is inside of it; "
                    "take a finer spacing, or a grid that holds the shape"
                )
        if not self.colliders and not self.shapes:
            raise ValueError("field: the scene has no obstacle; add one, or give the name of a solid")
        if isinstance(solver.linear, SchurDirect):
            self._check_region(solver.linear.region, fixed)

    def _check_region(self, region, fixed):
        """ValueError unless the region contains every free vertex that carries a proxy."""
        inside = np.array(fixed, dtype=bool)
        inside[list(region)] = True
        missing = (self.rows >= 0) & (self.weights != 0.0) & ~inside[np.maximum(self.rows, 0)]
        if missing.any():
            proxy, corner = (int(i) for i in np.argwhere(missing)[0])
            count = int(missing.any(axis=1).sum())
            raise ValueError(
                f"proxies: {count} of {len(self.rows)} lie outside the region of SchurDirect; the first is {proxy}, which vertex "
                f"{self.rows[proxy, corner]} carries: make the region larger, or take linear=pdgpu.Direct()"
            )

    @property
    def matrix(self) -> Any:
        """W over all vertices, scipy CSR."""
        return self._matrix(self.rows, self.weights)

    def _matrix(self, rows, weights):
        import scipy

        proxy, corner = np.nonzero(rows >= 0)
        columns = rows[proxy, corner]
        return scipy.sparse.csr_matrix((weights[proxy, corner], (proxy, columns)), shape=(len(rows), self.n_vertices))

    def description(self, dtype: Any, origin: Any) -> dict[str, Any]:
        """The description for the core; origin (3,) m: of its positions."""
        return {
            "rows": self.rows,
            "weights": np.ascontiguousarray(self.weights, dtype),
            "stiffness": np.ascontiguousarray(self.stiffness, dtype),
            "n_colliders": len(self.colliders),
            "per_step": int(self.contact.detection == "step"),
            "rest": rest_description(self._scene, self.shapes, self.rows, self.weights, dtype, origin),
        }

    def placed(self, dtype: Any, time: float) -> list[Any]:
        """The poses of the obstacles at a time, s; None for those at rest."""
        known = self._is_placed
        return [None if known and c.motion is None else placed_collider(c, dtype, time) for c in self.colliders]

    def place(self, backend: Any, placed: list[Any]) -> None:
        """Sets the poses from `placed`."""
        backend.set_proxy_colliders(placed)
        self._is_placed = True

    def read(self, backend: Any) -> Proxies:
        """The present poses."""
        columns = backend.proxy_columns()
        points, active = columns["points"].astype(np.float64), columns["active"].astype(bool)
        targets = np.where(active[:, None], columns["targets"].astype(np.float64), points)
        forces = self.stiffness[:, None] * (targets - points)
        entered, left = columns["churn"].tolist()
        carriers, weights = columns["carriers"], columns["carrier_weights"].astype(np.float64)
        pulls = (self.matrix - self._matrix(carriers, weights)).T @ forces
        return Proxies(points, targets, active, forces, pulls, entered, left, carriers, np.where(carriers >= 0, weights, 0.0))


def carried_proxies(contact, rows, share):
    """A ProxyContact after a cut: vertex i descends from rows[i], with its share of the mass. A copy of a proxy is a proxy with that share
    of the stiffness, so that the sum is unchanged.
    """
    if isinstance(contact.proxies[0], str):  # only solids embed points, and solids are not cut
        return contact
    here = np.flatnonzero(np.isin(rows, contact.proxies))
    stiffness = contact.stiffness
    if not isinstance(stiffness, float):
        stiffness = np.array(stiffness)[np.searchsorted(contact.proxies, rows[here])]
    if (share[here] != 1.0).any():
        stiffness = stiffness * share[here]
    return ProxyContact(here, stiffness=stiffness, field=contact.field, detection=contact.detection)


def _proxies(given):
    """Names, or numbers of vertices, as a tuple."""
    if isinstance(given, str | Embedding) or (isinstance(given, list | tuple) and given and isinstance(given[0], str | Embedding)):
        return _names("proxies", given)
    array = any_array("proxies", given)
    if array.dtype.kind not in "iu":
        raise TypeError(f"proxies: expected names of embedded parts, or vertex numbers, got {given!r}")
    if array.ndim != 1 or not len(array) or array.min() < 0:
        raise ValueError(f"proxies: expected vertex numbers of shape (k,), k > 0, got {given!r}")
    if len(np.unique(array)) != len(array) or (np.diff(array) < 0).any():
        raise ValueError(f"proxies: expected ascending vertices, each once, got {given!r}")
    return tuple(array.tolist())


def _fields(given):
    """Names and rest fields as a tuple; no name twice."""
    parts = given if isinstance(given, list | tuple) else [given]
    _names("field", [part.of if isinstance(part, RestField) else part for part in parts])
    return tuple(part.name if isinstance(part, Embedding) else part for part in parts)


def _names(name, given):
    parts = [given] if isinstance(given, str | Embedding) else given
    if not isinstance(parts, list | tuple) or not parts:
        raise TypeError(f"{name}: expected a name or some names, got {given!r}")
    names = tuple(part.name if isinstance(part, Embedding) else part for part in parts)
    for part in names:
        if not isinstance(part, str):
            raise TypeError(f"{name}: expected a name, got {part!r}")
    if len(set(names)) != len(names):
        raise ValueError(f"{name}: a name occurs twice in {names}; give each once")
    return names
