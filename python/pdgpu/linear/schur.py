"""Schur complements on a small part of a scene's vertices: the direct solver for contact that stays in one place."""

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
    """Direct solver whose matrix changes in a small region only: a sparse factor made once, and a dense one made again [Wang et al. 2021].

    The free vertices of the region are x2, all others x1. The global step's matrix is factorised once with x2 last, which leaves its Schur
    complement Sigma = A22 - A21 A11^-1 A12; what contact adds to A22 is added to Sigma, of which LAPACK (cuSOLVER on CUDA) makes a new
    factor [Sec. 4.3]. So an iteration costs two triangular solves and m^3/3 operations for m vertices of the region, where `Direct`
    factorises everything again. Between the two triangular solves the elements whose free vertices all lie in the region are projected
    again, and the small system is solved again, `inner` times in all [Algorithm 1; its step 5 must subtract what x2 moved by, which is
    not printed]. With inner=1 an iteration is that of `Direct`, to rounding.

    What contact adds must be a diagonal on vertices of the region: BarrierContact and PenaltyContact give an upper bound of their Hessian
    as one, ProjectiveContact its weights; it stays as it is through the inner iterations. ProxyContact gives W^T C W, and its proxies are
    found again before every inner solve, for which the small matrix is factorised again if they changed [Algorithm 1, 4.1 to 4.7], unless
    they are held for a step (`detection="step"`) or `active` is given. Contact of any other vertex raises. x, y and z share one matrix, so
    vertices that slide on lines and planes are refused. A cut keeps the region, and adds the copies of its vertices.

    Parameters
    ----------
    region : array_like, or callable
        Vertices by number (in the scene), a boolean mask over all of them, a callable(rest positions (n, 3)) -> mask; or, with
        `distance`, points (k, 3) in m.
    inner : int
        Solves of the small system in an iteration, at least 1. [Sec. 4.5: 1 to 5.]
    active : float, optional
        N/m. Two dense factors, made once: without contact, and with so much on the diagonal of every vertex of the region, in use as soon
        as one of them is in contact: the two matrices of Komaritzan and Botsch 2018, Projective Skinning, with all collision proxies
        active in the second. An iteration factorises nothing then, and moves what is not in contact less far than it could; the answer is
        the same. At least what contact adds at any vertex. None: the matrix has what contact adds. Not for dt=None: see Notes.
    distance : float, optional
        m. The region is all vertices of the elements that touch a surface vertex which at rest is at most so far from one of the points.

    Raises
    ------
    ValueError
        When a simulation is made: no free vertex is in the region, or all are; vertices slide.
        In a step: contact adds more than `active` at a vertex, which is named.
    MemoryError
        When a simulation is made, before anything is computed: the dense matrices do not fit; the text has the bytes.
    RuntimeError
        On CUDA where cuSOLVER cannot be opened.

    Notes
    -----
    Memory: 32 m^2 bytes while it is prepared (Sigma, its factor, its place in the sparse factor, a copy on the way), 24 m^2 after, with
    `active` 16 m^2 more; `cost` says so before, and how long a dense factor takes. A region that holds all anchors of a body is none the
    worse: A is positive definite where every body is held or dt is given, and so is Sigma.

    With `active` the error along the softest mode falls by a factor of about 1 - s/(s + active) per iteration. s, N/m, is the smallest
    eigenvalue of Sigma. So a factor of e takes about active/s iterations more than without. With dt, s is at least the least m/dt^2 of the
    region. With dt=None it is the stiffness of the body as a whole, which may be a thousandth of `active`: after thousands of iterations
    the positions may still be millimetres off. A simulation that is made so, with contact, warns (UserWarning). Take active=None there, or
    a `tolerance` together with enough iterations.
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
            No free vertex is in the region, or all of them.
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
                f"region: all {len(prone)} free vertices are in it, so nothing is left to eliminate; take linear=pdgpu.Direct()"
            )
        return prone

    def cost(self, scene: Scene) -> dict[str, Any]:
        """What the dense part will take, before anything of it is made.

        Parameters
        ----------
        scene : Scene

        Returns
        -------
        dict
            prone and safe, numbers of vertices; bytes while it is prepared; flops (m^3/3) and seconds of one dense factor on this CPU,
            from the rate at which one of at most 1000 rows is made now.
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
    """Of m vertices: Sigma, its factor (both twice with `active`), its place in the sparse factor, and a copy on the way."""
    return (32 if linear.active is None else 48) * m * m


def resolved_region(linear, scene):
    """A SchurDirect with its region given by its vertices, after a check that they fit into memory."""
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
    """A SchurDirect after a cut: vertex i descends from rows[i]."""
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
        An empty or a whole region, rows that are not there or twice; a matrix that is not symmetric.
    RuntimeError
        A matrix that is not positive definite; the row is named.
    """
    import scipy

    A, region = symmetric_matrix("A", A), any_array("region", region)
    n = A.shape[0]
    rows = vertex_indices("region", region, np.empty((n, 0)))
    if region.dtype == bool:
        region = rows
    if len(rows) != region.size:
        raise ValueError(f"region: {region.size - len(rows)} of its {region.size} rows are there twice")
    if not 0 < len(rows) < n:
        raise ValueError(f"region: expected some of {n} rows and not all, got {len(rows)}")
    order = np.concatenate([np.setdiff1d(np.arange(n), rows), region])
    upper = scipy.sparse.triu(A[order][:, order], format="csc")
    upper.sort_indices()
    parts = upper.indptr.astype(np.int32), upper.indices.astype(np.int32), upper.data.astype(np.float64)
    transposed, _ = _host.schur_complement(*parts, len(region))
    return transposed + np.triu(transposed, 1).T


def _tuple(array):
    """Numbers as a frozen description holds them."""
    return tuple(map(tuple, array.tolist())) if array.ndim == 2 else tuple(array.tolist())


def _near_surface(scene, points, near, distance):
    """Vertices of the elements that touch a surface vertex within `distance` of one of the points `near`."""
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
    """Bytes that can be had without swapping, or else those the machine has."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
