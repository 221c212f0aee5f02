"""The global steps that the tables of the linear solvers are quoted for, built with NumPy and SciPy alone.

A solid starts from its rest shape stretched by (1.2, .9, .95) about the vertex mean, a cloth from a sheet stretched by 1.1 with a
bump; neither is held. The step is A x = b with A = M/h^2 + sum of w S^T S and b from the projections at s = x_t + h^2 g; iteration starts
at s, and the error is |x - x*| / |s - x*| in the Frobenius norm. `solid` and `cloth` are cached: do not write into what they return.
"""

from __future__ import annotations

import dataclasses
import functools

import inputs
import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg

import pdgpu

GRAVITY = 9.81
DENSITY = 1000.0  # of solids, kg/m^3
AREAL_DENSITY = 0.2  # of cloth, kg/m^2
MARKS = (1e-2, 1e-4, 1e-6, 1e-8)


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """One global step A x = b; `structural` is A with the zeros of the mesh's pattern kept, `bending` the hinges' share of A."""

    A: sparse.csr_array
    structural: sparse.csr_array
    b: np.ndarray
    start: np.ndarray
    solution: np.ndarray
    bending: sparse.csr_array | None = None

    def error(self, x):
        """|x - x*| / |s - x*|."""
        return np.linalg.norm(x - self.solution) / np.linalg.norm(self.start - self.solution)


def crossings(relative_error, marks=MARKS):
    """The first iteration at which the error is at or below each mark; None where it never is."""
    below = [np.flatnonzero(np.asarray(relative_error) <= mark) for mark in marks]
    return tuple(int(found[0]) if len(found) else None for found in below)


def assembled(n, *terms):
    """The sum of element matrices, each term (elements (m, k), blocks (m, k, k)), as CSR with sorted indices.

    Zeros of the pattern are kept; a sum of two sparse matrices would drop them.
    """
    rows, columns, values = [], [], []
    for elements, blocks in terms:
        k = elements.shape[1]
        rows.append(np.repeat(elements, k, axis=1).reshape(-1))
        columns.append(np.tile(elements, (1, k)).reshape(-1))
        values.append(blocks.reshape(-1))
    A = sparse.coo_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(n, n)).tocsr()
    A.sum_duplicates()
    return A


def diagonal(values):
    """A diagonal matrix as a term of `assembled`."""
    return np.arange(len(values))[:, None], values[:, None, None]


def without_zeros(A):
    """A without the entries that are rounding errors of zero."""
    A = A.copy()
    A.data[np.abs(A.data) < 1e-9] = 0.0
    A.eliminate_zeros()
    return A


def _solved(structural, b, start, bending=None):
    """A Problem whose solution is a sparse direct one, refined once."""
    A = without_zeros(structural)
    factor = scipy.sparse.linalg.splu(A.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    solution = factor.solve(b)
    solution += factor.solve(b - A @ solution)
    return Problem(A, structural, b, start, solution, bending)


def mesh_points_and_tets(name):
    """A grid by the name of its builder in inputs.py, or a mesh of the external collection, scaled to size 1."""
    if name.endswith((".msh", ".gz")):
        mesh = pdgpu.read_mesh(inputs.data_file("tet/" + name))
        return inputs.normalised(mesh.points), mesh.tets
    return getattr(inputs, name)()


def rotations(F):
    """The rotation nearest to each 3x3 matrix of F (m, 3, 3)."""
    U, _, Vt = np.linalg.svd(F)
    U[:, :, 2] *= np.sign(np.linalg.det(U @ Vt))[:, None]
    return U @ Vt


def rest_shapes(points, tets):
    """Volume (m,) and the gradients of the four shape functions (m, 4, 3) of each tet."""
    edges = np.swapaxes(points[tets[:, 1:]] - points[tets[:, :1]], 1, 2)
    inverse = np.linalg.inv(edges)
    return np.linalg.det(edges) / 6.0, np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)


@functools.cache
def solid(name, young, dt):
    """The global step of an ARAP solid of this mesh, Young's modulus (Poisson ratio .3) and time step."""
    points, tets = mesh_points_and_tets(name)
    n = len(points)
    volume, gradients = rest_shapes(points, tets)
    weight = 2.0 * (young / 2.6) * volume
    inertia = np.bincount(tets.reshape(-1), np.repeat(DENSITY * volume / 4.0, 4), minlength=n) / dt**2
    structural = assembled(n, diagonal(inertia), (tets, weight[:, None, None] * gradients @ np.swapaxes(gradients, 1, 2)))

    centre = points.mean(axis=0)
    start = centre + (points - centre) * (1.2, 0.9, 0.95) + dt**2 * np.array([0.0, -GRAVITY, 0.0])
    targets = rotations(np.swapaxes(start[tets], 1, 2) @ gradients)
    b = inertia[:, None] * start
    np.add.at(b, tets, weight[:, None, None] * gradients @ np.swapaxes(targets, 1, 2))
    return _solved(structural, b, start)


def hinges(triangles):
    """The hinges (x0, x1, x2, x3) of a triangle mesh: an inner edge x0 x1 and the two vertices across it."""
    across = {}
    for triangle in triangles.tolist():
        for corner in range(3):
            a, b, c = triangle[corner], triangle[(corner + 1) % 3], triangle[(corner + 2) % 3]
            across.setdefault((min(a, b), max(a, b)), []).append(c)
    return np.array([(*edge, *wings) for edge, wings in across.items() if len(wings) == 2])


def bending_term(points, triangles, kb):
    """The Hessian of the quadratic bending energy of a flat sheet [Bergou et al. 2006], kb in J, as a term of `assembled`."""
    x0, x1, x2, x3 = (points[column] for column in hinges(triangles).T)

    def area(a, b, c):
        return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)

    def cotangent(at, a, b):
        u, v = a - at, b - at
        return (u * v).sum(axis=1) / np.linalg.norm(np.cross(u, v), axis=1)

    c01, c02 = cotangent(x0, x1, x2), cotangent(x0, x1, x3)
    c03, c04 = cotangent(x1, x0, x2), cotangent(x1, x0, x3)
    c = np.stack([c03 + c04, c01 + c02, -c01 - c03, -c02 - c04], axis=1)
    scale = kb * 3.0 / (area(x0, x1, x2) + area(x0, x1, x3))
    return hinges(triangles), scale[:, None, None] * c[:, :, None] * c[:, None, :]


@functools.cache
def cloth(n, stiffness, dt, kb=0.0):
    """The global step of a mass-spring cloth of (n + 1)^2 vertices, with quadratic bending where kb is not 0."""
    points, triangles = inputs.cloth(n)
    edges = np.unique(np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    corners = points[triangles]
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    inertia = np.bincount(triangles.reshape(-1), np.repeat(AREAL_DENSITY * area / 3.0, 3), minlength=len(points)) / dt**2
    terms = [diagonal(inertia), (edges, np.broadcast_to(stiffness * np.array([[1.0, -1.0], [-1.0, 1.0]]), (len(edges), 2, 2)))]
    hinged = [bending_term(points, triangles, kb)] if kb else []
    structural = assembled(len(points), *terms, *hinged)
    bending = assembled(len(points), *hinged) if hinged else None

    x, y, _ = points.T
    start = np.stack([1.1 * x, y, 0.05 * np.sin(2 * np.pi * x) * np.sin(2 * np.pi * y)], axis=1) + dt**2 * np.array([0.0, 0.0, -GRAVITY])
    along = start[edges[:, 0]] - start[edges[:, 1]]
    length = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    pulled = stiffness * along * (length / np.linalg.norm(along, axis=1))[:, None]
    b = inertia[:, None] * start
    np.add.at(b, edges[:, 0], pulled)
    np.add.at(b, edges[:, 1], -pulled)
    return _solved(structural, b, start, bending)


def extremes(A):
    """The smallest and the largest eigenvalue of D^-1 A."""
    root = sparse.diags_array(A.diagonal() ** -0.5)
    scaled = (root @ A @ root).tocsc()
    largest = scipy.sparse.linalg.eigsh(scaled, k=1, which="LA", return_eigenvectors=False, tol=1e-11)[0]
    smallest = scipy.sparse.linalg.eigsh(scaled, k=1, sigma=0.0, return_eigenvectors=False, tol=1e-11)[0]
    return float(smallest), float(largest)


@functools.cache
def _extremes(problem):
    return extremes(problem.A)


def jacobi_radius(problem, weight=None):
    """Spectral radius of a weighted Jacobi step; without a weight that of the best one, 2/(lm + lM)."""
    smallest, largest = _extremes(problem)
    weight = 2.0 / (smallest + largest) if weight is None else weight
    return max(abs(1.0 - weight * smallest), abs(1.0 - weight * largest))


def young(problem):
    """Young's omega of SOR: from plain Jacobi where that converges, else from Jacobi with the best weight."""
    plain = jacobi_radius(problem, 1.0)
    rho = plain if plain < 1.0 else jacobi_radius(problem)
    return 2.0 / (1.0 + (1.0 - rho * rho) ** 0.5)


def greedy_colours(A):
    """The smallest colour that no neighbour has, vertex by vertex in ascending order; stored zeros are neighbours too."""
    colours = np.full(A.shape[0], -1)
    for v in range(A.shape[0]):
        used = set(colours[A.indices[A.indptr[v] : A.indptr[v + 1]]].tolist())
        colours[v] = next(c for c in range(len(used) + 1) if c not in used)
    return colours


def chain(n=32, stiffness=100.0, mass=0.01, dt=1 / 30):
    """The matrix of n masses on a line between two fixed ends: spectra in closed form."""
    beside = np.full(n - 1, -stiffness)
    return sparse.diags_array([beside, np.full(n, mass / dt**2 + 2.0 * stiffness), beside], offsets=[-1, 0, 1]).tocsr()
