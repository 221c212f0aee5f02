"""Schur complements on a small part of a scene's vertices: the direct solver for contact in a fixed region."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import any_array, having, integer, number, real_array, vertex_indices
from pdgpu.linear.linear_arguments import symmetric_matrix
from pdgpu.linear.linear_solvers import keep

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.scene.scene import Scene
    from pdgpu.types import Where

__all__ = ["SchurDirect"]


@dataclass(frozen=True)
class SchurDirect:
    """Direct solver for changes in a small region: a sparse factor made once, and a dense one made in every iteration [Wang et al. 2021].

    The free vertices of the region are x2, all others x1. The global step's matrix is factorised once with x2 last, which gives its Schur
    complement Sigma = A22 - A21 A11^-1 A12. The entries of contact in A22 are added to Sigma, and LAPACK (cuSOLVER on CUDA) factorises the
    sum [Sec. 4.3]. So an iteration costs two triangular solves and m^3/3 operations for m vertices of the region, where `Direct` factorises
    the whole matrix. Between the two triangular solves the elements whose free vertices all lie in the region are projected again, and the
    small system is solved again, `inner` times in all [Algorithm 1; its step 5 must subtract the displacement of x2, which is not printed].
    With inner=1 an iteration equals that of `Direct`, to rounding.

    The entries of contact must be a diagonal on vertices of the region. BarrierContact and PenaltyContact give such an upper bound of their
    Hessian, ProjectiveContact its weights; it is constant during the inner iterations. ProxyContact gives W^T C W, and its proxies are
    detected before every inner solve. If they changed, the small matrix is factorised again [Algorithm 1, 4.1 to 4.7], unless they are held
    for a step (`detection="step"`) or `active` is given. Contact of any other vertex is an error. x, y and z share one matrix, so vertices
    that slide on lines and planes are an error. A cut keeps the region, and adds the copies of its vertices.

    Parameters
    ----------
    region : array_like, or callable
        Vertices by number (in the scene), a boolean mask over all of them, a callable(rest positions (n, 3)) -> mask; or, with `distance`,
        points (k, 3) in m.
    inner : int
        Solves of the small system in an iteration, at least 1. [Sec. 4.5: 1 to 5.]
    active : float, optional
        N/m. Two dense factors, made once: without contact, and with this number on the diagonal of every vertex of the region. The second
        is used if a vertex of the region is in contact. These are the two matrices of Komaritzan and Botsch 2018, Projective Skinning, with
        all collision proxies active in the second. No iteration factorises, and vertices without contact move less than possible; the
        solution is the same. It must be at least the entry of contact at any vertex. None: the matrix has the entries of contact. Not for
        dt=None: see Notes.
    distance : float, optional
        m. The region is all vertices of the elements with a surface vertex at most this far from one of the points, at rest.

    Raises
    ------
    ValueError
        When a simulation is made: the region contains no free vertex, or all of them; vertices slide. In a step: the entry of contact at a
        vertex exceeds `active`; the message names the vertex.
    MemoryError
        When a simulation is made, before any computation: the dense matrices exceed the memory; the message has the bytes.
    RuntimeError
        On CUDA if cuSOLVER cannot be opened.

    Notes
    -----
    Memory: 32 m^2 bytes during the preparation (Sigma, its factor, its part of the sparse factor, a temporary copy), 24 m^2 afterwards,
    with `active` 16 m^2 more; `cost` returns it before, and the time of a dense factor. A region may contain all anchors of a body: A is
    positive definite if every body is held or dt is given, and so is Sigma.

    With `active` the error along the softest mode shrinks by a factor of about 1 - s/(s + active) per iteration. s, N/m, is the smallest
    eigenvalue of Sigma. So a factor of e takes about active/s more iterations. With dt, s is at least the smallest m/dt^2 of the region.
    With dt=None it is the stiffness of the whole body, which may be a thousandth of `active`: after thousands of iterations the positions
    may still have errors of millimetres. Such a simulation with contact warns (UserWarning). Use active=None there, or a `tolerance` with a
    sufficient number of iterations.
    """

    region: Where
    inner: int = 3
    distance: float | None = None
    active: float | None = field(default=None, metadata={"since": 2})

    def __post_init__(self):
        keep(self, inner=integer("inner", self.inner, 1))
        if self.active is not None:
            keep(self, active=number("active", self.active, above=0.0))
        if self.distance is not None:
            keep(self, distance=number("distance", self.distance, above=0.0), region=_tuple(real_array("region", self.region, (None, 3))))
        elif not callable(self.region):
            array = any_array("region", self.region)
            if array.dtype.kind not in "biu" and array.size:
                hint = "; points need a distance" if array.dtype.kind == "f" and array.ndim == 2 else ""
                raise TypeError(f"region: expected vertices, a boolean mask or a callable, got dtype {array.dtype}{hint}")
            if array.ndim != 1:
                raise ValueError(f"region: expected shape (k,), got {array.shape}")
            keep(self, region=_tuple(array))

    def __repr__(self):
        region = self.region if callable(self.region) else f"<{len(self.region)} {'vertices' if self.distance is None else 'points'}>"
        distance = "" if self.distance is None else f", distance={self.distance}"
        active = "" if self.active is None else f", active={self.active:g}"
        return f"SchurDirect({region}, inner={self.inner}{distance}{active})"

    def prone(self, scene: Scene) -> Any:
        """The free vertices of the region in a scene, x2.

        Parameters
        ----------
        scene : Scene

        Returns
        -------
        ndarray of int32, shape (m,)
            Ascending numbers of vertices of the scene.

        Raises
        ------
        ValueError
            The region contains no free vertex, or all of them.
        """
        having("scene", scene, "rest_positions", "a pdgpu.Scene")
        points = scene.rest_positions()
        if self.distance is None:
            chosen = vertex_indices("region", self.region if callable(self.region) else np.array(self.region), points)
        else:
            chosen = _near_surface(scene, points, np.array(self.region).reshape(-1, 3), self.distance)
        free = scene.fixed() == 0
        prone = chosen[free[chosen]]
        if not len(prone):
            what = "it is empty" if not len(chosen) else f"all of its {len(chosen)} vertices are pinned"
            raise ValueError(f"region: {what}; SchurDirect needs vertices that contact can move, Direct needs none")
        if len(prone) == free.sum():
            raise ValueError(
                f"region: all {len(prone)} free vertices are in it, so there is no vertex to eliminate; take linear=pdgpu.Direct()"
            )
        return prone

    def cost(self, scene: Scene) -> dict[str, Any]:
        """The cost of the dense part, before it is made.

        Parameters
        ----------
        scene : Scene

        Returns
        -------
        dict
            prone and safe, the numbers of vertices of the contact region and of the others; bytes during the preparation; flops (m^3/3) and
            seconds of one dense factor on this CPU, from the time of a factor of at most 1000 rows.
        """
        prone = len(self.prone(scene))
        rows = min(prone, 1000)
        flops = prone**3 / 3.0
        return {
            "prone": prone,
            "safe": int((scene.fixed() == 0).sum()) - prone,
            "bytes": bytes_of(self, prone),
            "flops": flops,
            "seconds": flops * _host.dense_factor_seconds(rows) / (rows**3 / 3.0),
        }


def bytes_of(linear, m):
    """Return the bytes for m vertices: Sigma, its factor (both twice with `active`), its part of the sparse factor, a copy."""
    return (32 if linear.active is None else 48) * m * m


def resolved_region(linear, scene):
    """Return a SchurDirect with its region as vertices, after a check that they fit into memory."""
    prone = linear.prone(scene)
    available = _available_memory()
    needed = bytes_of(linear, len(prone))
    if needed > available:
        raise MemoryError(
            f"region: the Schur complement of {len(prone)} vertices needs {needed} bytes, and {available} are available; "
            "take fewer vertices, or linear=pdgpu.Direct()"
        )
    return replace(linear, region=prone, distance=None)


def carried_region(linear, rows):
    """Return a SchurDirect after a cut: vertex i is a copy of vertex rows[i]."""
    return replace(linear, region=np.flatnonzero(np.isin(rows, linear.region)))


def schur_complement(A: Any, region: Any) -> np.ndarray:
    """Schur complement A22 - A21 A11^-1 A12 of a symmetric positive definite sparse matrix, as L22 L22^T of one factorisation.

    Parameters
    ----------
    A : array_like or scipy sparse, shape (n, n)
        Symmetric, with a positive diagonal.
    region : array_like of int, shape (m,)
        Rows of A22, in the order of the result; 0 < m < n.

    Returns
    -------
    ndarray, shape (m, m)
        Symmetric to the bit.

    Raises
    ------
    ValueError
        An empty region, or one of all rows; repeated rows, or rows out of range; a matrix that is not symmetric.
    RuntimeError
        A matrix that is not positive definite; the message names the row.
    """
    import scipy

    A, region = symmetric_matrix("A", A), any_array("region", region)
    n = A.shape[0]
    rows = vertex_indices("region", region, np.empty((n, 0)))
    if region.dtype == bool:
        region = rows
    if len(rows) != region.size:
        raise ValueError(f"region: {region.size - len(rows)} of its {region.size} rows occur twice; give each row once")
    if not 0 < len(rows) < n:
        raise ValueError(f"region: expected 1 to {n - 1} of {n} rows, got {len(rows)}")
    order = np.concatenate([np.setdiff1d(np.arange(n), rows), region])
    upper = scipy.sparse.triu(A[order][:, order], format="csc")
    upper.sort_indices()
    parts = upper.indptr.astype(np.int32), upper.indices.astype(np.int32), upper.data.astype(np.float64)
    transposed, _ = _host.schur_complement(*parts, len(region))
    return transposed + np.triu(transposed, 1).T


def _tuple(array):
    """Return numbers as a tuple, for a frozen description."""
    return tuple(map(tuple, array.tolist())) if array.ndim == 2 else tuple(array.tolist())


def _near_surface(scene, points, near, distance):
    """Return the vertices of the elements with a surface vertex within `distance` of one of the points `near`."""
    import scipy

    if not len(near):
        return np.empty(0, dtype=np.int32)
    chosen = np.zeros(len(points), dtype=bool)
    for body in scene.bodies:
        mesh = body.mesh
        if mesh is None:
            continue
        surface = np.unique(mesh.surface) if len(mesh.tets) else np.arange(len(body.points))
        tree = scipy.spatial.cKDTree(near)
        close = np.zeros(len(body.points), dtype=bool)
        close[surface] = tree.query(body.points[surface], distance_upper_bound=np.nextafter(distance, np.inf))[0] <= distance
        for elements in (mesh.tets, mesh.triangles, mesh.edges):
            if len(elements):
                chosen[body.slice][elements[close[elements].any(axis=1)]] = True
    return np.flatnonzero(chosen).astype(np.int32)


def _available_memory():
    """Return the bytes available without swapping, or else those of the machine."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
