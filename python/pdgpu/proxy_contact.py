"""Contact of proxies: points of a body that springs of length zero keep out of the level sets of obstacles, for Projective Dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse

from pdgpu.arguments import any_array, choice, number, per_item, vertex_indices
from pdgpu.colliders import Collider, TriangleMesh
from pdgpu.embedding import Embedding, find_embedding
from pdgpu.linear_solvers import keep
from pdgpu.schur import SchurDirect

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["ProxyContact"]

DETECTIONS = ("iteration", "step")


@dataclass(frozen=True)
class ProxyContact:
    """Bilateral penalty contact of Projective Dynamics, by proxies [Wang et al. 2021, Localized collisions, Secs. 4.1 to 4.3].

    A proxy is a vertex or an embedded point y = W x. Where it is inside an obstacle, a spring of length zero joins it to the nearest point
    t of the surface, with the energy c/2 |y - t|^2, until the next detection finds it elsewhere. So the springs add the gradient
    W^T C (W x - t) and the matrix W^T C W, the same for x, y and z, to the global step. It is soft: a weight F sinks in by F/c, what is
    fast passes through, and a proxy is all that is looked at; `certify` tells. There is no friction, but a spring holds tangentially too,
    until the next detection.

    `SchurDirect` adds the matrix to its dense part, and each proxy must lie in its region; `Direct` factorises everything anew where the
    active proxies have changed. The other linear solvers, and `SchurDirect` with `active`, have a diagonal above it, c |w_a| sum_b |w_b| at
    corner a: they sweep over the matrix without it, take more iterations, and come to the same state.

    Parameters
    ----------
    proxies : Embedding, str, or sequence of them; or array_like of int
        What is embedded (`Body.embed`), by its name; or vertices by number (in the scene).
    stiffness : float or array_like, one for each proxy
        c, N/m, greater than 0.
    field : str or sequence of str, optional
        The obstacles to keep out of, by name: Plane, Sphere, Capsule, Box, SignedDistanceField, standing still or moving. By default all.
        Of several that a proxy is in, the one it is deepest in counts.
    detection : "iteration" or "step"
        How often C and t are found: in every iteration, as in the paper; or once a step, at its first guess, and then the objective is the
        same in all iterations and none of them raises it.

    Raises
    ------
    TypeError, ValueError
        When a simulation is made, also: names that nothing has, an obstacle that is a triangle mesh (which has no level set, give
        `SignedDistanceField.from_mesh`), a proxy outside of the region of SchurDirect.

    Notes
    -----
    With detection="iteration" the energy that is reported is that of the proxies active at the positions it is asked for, and it may rise
    when others become active; `Simulation.proxies` counts who came and went between the iterations of a step. Collisions of a body with
    itself, or with another body, by the field of a rest shape are not there.
    """

    proxies: Any
    stiffness: Any
    field: Any = None
    detection: str = "iteration"

    def __post_init__(self):
        keep(self, proxies=_proxies(self.proxies), field=_names("field", self.field) if self.field is not None else None)
        stiffness = any_array("stiffness", self.stiffness)
        if stiffness.ndim == 0:
            keep(self, stiffness=number("stiffness", self.stiffness, above=0.0))
        else:
            keep(self, stiffness=tuple(per_item("stiffness", stiffness, len(stiffness), above=0.0).tolist()))
        choice("detection", self.detection, DETECTIONS)

    def __repr__(self):
        proxies = self.proxies if isinstance(self.proxies[0], str) else f"<{len(self.proxies)} vertices>"
        stiffness = self.stiffness if isinstance(self.stiffness, float) else f"<{len(self.stiffness)} numbers>"
        return f"ProxyContact({proxies}, {stiffness}, field={self.field}, detection={self.detection!r})"

    def _carried(self, rows):
        """The same after a cut: vertex i descends from rows[i]; a copy of a proxy is one."""
        if isinstance(self.proxies[0], str):
            return self
        here = np.flatnonzero(np.isin(rows, self.proxies))
        stiffness = self.stiffness
        if not isinstance(stiffness, float):
            stiffness = np.array(stiffness)[np.searchsorted(self.proxies, rows[here])]
        return ProxyContact(here, stiffness, self.field, self.detection)


class Proxies(NamedTuple):
    """What `Simulation.proxies` says.

    Attributes
    ----------
    points : ndarray, shape (k, 3)
        y, m.
    targets : ndarray, shape (k, 3)
        t of the active ones, m; of the others y.
    active : ndarray of bool, shape (k,)
    forces : ndarray, shape (k, 3)
        c (t - y) on the points, N.
    vertex_forces : ndarray, shape (n, 3)
        What they come to on the vertices, N.
    entered, left : int
        How many became active, and how many were no longer, from one iteration of the last step to the next, all together.
    """

    points: Floats
    targets: Floats
    active: Any
    forces: Floats
    vertex_forces: Floats
    entered: int
    left: int


class ProxyScene:
    """The proxies of a simulation, and the obstacles they are kept out of."""

    def __init__(self, scene: Any, contact: ProxyContact, solver: Any, fixed: Any) -> None:
        self.contact, self._is_placed = contact, False
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
        names = [name for name, obstacle in known.items() if obstacle.collides] if contact.field is None else contact.field
        for name in names:
            if name not in known:
                raise ValueError(f"field: no obstacle is named {name!r}; there are {list(known)}")
        self.colliders: list[Collider] = [known[name].collider for name in names]
        for name, collider in zip(names, self.colliders, strict=True):
            if isinstance(collider, TriangleMesh):
                raise TypeError(f"field: {name!r} is a triangle mesh, which has no level set; give pdgpu.SignedDistanceField.from_mesh")
        if not self.colliders:
            raise ValueError("field: the scene has no obstacle that proxies could be kept out of")
        if isinstance(solver.linear, SchurDirect):
            self._check_region(solver.linear.region, fixed)

    def _check_region(self, region, fixed):
        """Every free vertex that carries a proxy must be in the region."""
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
        proxy, corner = np.nonzero(self.rows >= 0)
        columns = self.rows[proxy, corner]
        return scipy.sparse.csr_matrix((self.weights[proxy, corner], (proxy, columns)), shape=(len(self.rows), self.n_vertices))

    def description(self, dtype: Any) -> dict[str, Any]:
        """What the core takes."""
        return {
            "rows": self.rows,
            "weights": np.ascontiguousarray(self.weights, dtype),
            "stiffness": np.ascontiguousarray(self.stiffness, dtype),
            "n_colliders": len(self.colliders),
            "per_step": int(self.contact.detection == "step"),
        }

    def place(self, backend: Any, dtype: Any, time: float) -> None:
        """Puts the obstacles where they are at a time, s."""
        known = self._is_placed
        backend.set_proxy_colliders([None if known and c.motion is None else c._placed(dtype, time) for c in self.colliders])
        self._is_placed = True

    def read(self, backend: Any) -> Proxies:
        """Where they are."""
        columns = backend.proxy_columns()
        points, active = columns["points"].astype(np.float64), columns["active"].astype(bool)
        targets = np.where(active[:, None], columns["targets"].astype(np.float64), points)
        forces = self.stiffness[:, None] * (targets - points)
        entered, left = columns["churn"].tolist()
        return Proxies(points, targets, active, forces, self.matrix.T @ forces, entered, left)


def _proxies(given):
    """Names, or numbers of vertices, as a tuple."""
    if isinstance(given, str | Embedding) or (isinstance(given, list | tuple) and given and isinstance(given[0], str | Embedding)):
        return _names("proxies", given)
    array = any_array("proxies", given)
    if array.dtype.kind not in "iu":
        raise TypeError(f"proxies: expected what is embedded, by its name, or vertices by number, got {given!r}")
    if array.ndim != 1 or not len(array) or array.min() < 0:
        raise ValueError(f"proxies: expected some vertices (k,), got {given!r}")
    if len(np.unique(array)) != len(array) or (np.diff(array) < 0).any():
        raise ValueError("proxies: vertices must ascend, each once")
    return tuple(array.tolist())


def _names(name, given):
    parts = [given] if isinstance(given, str | Embedding) else given
    if not isinstance(parts, list | tuple) or not parts:
        raise TypeError(f"{name}: expected a name or some names, got {given!r}")
    names = tuple(part.name if isinstance(part, Embedding) else part for part in parts)
    for part in names:
        if not isinstance(part, str):
            raise TypeError(f"{name}: expected a name, got {part!r}")
    if len(set(names)) != len(names):
        raise ValueError(f"{name}: a name is there twice, {names}")
    return names
