"""Contact potentials of any surface mesh: energy, gradient, Hessian."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import choice, coordinates, flag, number
from pdgpu._internal.attributes import read_only
from pdgpu._internal.backends import backend, thread_count
from pdgpu._internal.counted import counted
from pdgpu.collision.geometry import common_precision
from pdgpu.contact.barrier_contact import POTENTIALS, WEIGHTINGS, BarrierContact
from pdgpu.contact.contact_surface import KINDS, TouchingSurface

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Contact, Floats

__all__ = ["ContactPairs", "energy", "find_pairs", "gradient", "hessian"]

QUANTITIES = ("distance", "threshold", "activation", "energy", "gradient", "hessian", "hessian_psd", "blocks", "blocks_psd")
DISTANCE, THRESHOLD, ACTIVATION, ENERGY, GRADIENT, HESSIAN, HESSIAN_PSD, BLOCKS, BLOCKS_PSD = range(
    9
)  # PD_CONTACT_... of csrc/loops/contact_loops.h

PART = 2**15  # pairs whose derivatives are added up in one call


class ContactPairs:
    """Pairs of a mesh that may act, and their energy at any positions; the result of `find_pairs`. All arrays are read-only.

    The sums are those of the whole mesh while every pair nearer than its activation distance is in the list.

    Attributes
    ----------
    contact : BarrierContact
    n_vertices : int
    dtype : dtype
        float32 only if all inputs of `find_pairs` were. Then a float32 x is evaluated in float32.
    kind : ndarray of int32, shape (k,)
        Places in `pdgpu.contact.KINDS`.
    vertices : ndarray of int32, shape (k, 4)
        Rows of x: (p, a, -1, -1), (p, e0, e1, -1), (p, t0, t1, t2), (a0, a1, b0, b1).
    activation : ndarray, shape (k,)
        Activation distance of each pair, measured from the separation, m.
    weight : ndarray, shape (k,)
        Area, m^2, or 1.
    threshold : ndarray, shape (k,)
        Upper end of the mollifier of two edges, m^4; 0 for other pairs.

    Examples
    --------
    >>> contact = pdgpu.BarrierContact(distance=0.1, stiffness=1e5, area_weighted=False)
    >>> x = np.array([[0.2, 0.2, 0.05], [0, 0, 0], [1, 0, 0], [0, 1, 0]])
    >>> pairs = pdgpu.contact.find_pairs(contact, x, [[1, 2, 3]])
    >>> len(pairs.kind), bool(pairs.energy(x) > 0)
    (1, True)
    """

    def __init__(self, contact, n_vertices, dtype, kind, vertices, activation, weight, threshold):
        self.contact, self.n_vertices, self.dtype = contact, n_vertices, dtype
        self.kind, self.vertices = read_only(kind.astype(np.int32)), read_only(vertices.astype(np.int32))
        self.activation, self.weight, self.threshold = read_only(activation), read_only(weight), read_only(threshold)
        self._limits = {}  # dtype -> the columns of numbers for the compiled modules
        self._pattern = None  # of the Hessian, after its first use: row starts, columns, slots and strides

    def __len__(self):
        return len(self.kind)

    def __repr__(self):
        counts = ", ".join(f"{int((self.kind == i).sum())} {name}" for i, name in enumerate(KINDS) if (self.kind == i).any())
        return f"<ContactPairs: {counted(len(self), 'pair')}{f' ({counts})' if counts else ''}>"

    def distance(self, x: ArrayLike, *, threads: int = 0) -> Floats:
        """The distance of each pair, (k,) m, without subtracting the separation. Arguments and errors as for `energy`."""
        return self._evaluate(DISTANCE, x, threads)

    def energy(self, x: ArrayLike, *, threads: int = 0) -> float:
        """Sum over the pairs, J; infinite if a distance is not above the separation.

        Parameters
        ----------
        x : array_like, shape (n, 3)
            Positions, m.
        threads : int
            0: all cores. The result does not depend on it.

        Returns
        -------
        float

        Raises
        ------
        ValueError, TypeError
            A wrong shape, a coordinate that is not finite.
        """
        return float(self._evaluate(ENERGY, x, threads).sum(dtype=np.float64))

    def gradient(self, x: ArrayLike, *, threads: int = 0) -> Floats:
        """Derivative of `energy` by x, (n, 3) N. ValueError also for a pair whose distance is not above the separation."""
        x = self._positions(x)
        values = np.zeros((self.n_vertices, 3))
        self._add(GRADIENT, values, x, threads)
        return values.astype(x.dtype, copy=False)

    def hessian(self, x: ArrayLike, *, psd: bool = False, threads: int = 0) -> Any:
        """Second derivative of `energy` by x.

        Parameters
        ----------
        x : array_like, shape (n, 3)
            Positions, m.
        psd : bool
            The nearest positive semidefinite matrix of every pair instead of its Hessian.
        threads : int
            0: all cores. The result does not depend on it.

        Returns
        -------
        scipy.sparse.csr_array or csr_matrix, shape (3n, 3n)
            N/m, row 3 i + axis for vertex i.

        Raises
        ------
        ValueError, TypeError
            As for `gradient`.
        """
        import scipy

        if self._pattern is None:
            pattern = _host.pair_pattern(self.vertices, self.n_vertices, thread_count(threads))
            self._pattern = (*pattern, np.diff(pattern[0])[3 * np.maximum(self.vertices, 0)])
        row_start, columns, slots, strides = self._pattern
        x = self._positions(x)
        values = np.zeros(len(columns))
        self._add(HESSIAN_PSD if flag("psd", psd) else HESSIAN, values, x, threads, slots, strides)
        # copies, since the pattern serves again
        parts = (values.astype(x.dtype, copy=False), columns.copy(), row_start.copy())
        return scipy.sparse.csr_matrix(parts, shape=(3 * self.n_vertices,) * 2)

    def _positions(self, x: ArrayLike) -> Floats:
        return coordinates("x", x, (self.n_vertices, 3), common_precision(x, self))

    def _columns(self, dtype, rows=slice(None)):
        """Kind, vertices and limits of some of the pairs."""
        if dtype not in self._limits:
            limits = (self.activation, np.full(len(self), self.contact.separation), self.weight, self.threshold)
            self._limits[dtype] = [np.ascontiguousarray(column, dtype) for column in limits]
        return self.kind[rows], self.vertices[rows], *(column[rows] for column in self._limits[dtype])

    def _evaluate(self, quantity, x, threads):
        x = self._positions(x)
        return _batch(quantity, self.contact, *self._columns(x.dtype), x, threads)

    def _add(self, quantity, values, x, threads, slots=None, strides=None):
        """Adds gradients or Hessians to values, a part of the pairs per call, so that the interpreter can handle signals in between."""
        module = backend("cpu", x.dtype)
        for first in range(0, len(self), PART):
            rows = slice(first, first + PART)
            places = (None, None) if slots is None else (slots[rows], strides[rows])
            call = (*_law(self.contact), quantity, *self._columns(x.dtype, rows), x, values, *places, thread_count(threads))
            touching = module.contact_sum(*call)
            if touching >= 0:
                pair = first + touching
                distance = float(self.distance(x)[pair])
                vertices = [int(i) for i in self.vertices[pair] if i >= 0]
                raise ValueError(
                    f"x: the {KINDS[self.kind[pair]]} pair of vertices {vertices} is {distance:g} m apart, which must be more than the "
                    f"separation {self.contact.separation:g} m; move them apart, or reduce the separation"
                )


def _law(contact):
    """The numbers of a contact potential; an unknown stiffness must not be used."""
    return POTENTIALS.index(type(contact).__name__), int(contact.area_weighted), contact.stiffness if contact.stiffness != "auto" else 0.0


def _batch(quantity, contact, kind, points, activation, separation, weight, threshold, x, threads):
    """One quantity of pairs over points x; the numbers of the pairs are rounded to the precision of x."""
    numbers = [np.ascontiguousarray(column, x.dtype) for column in (activation, separation, weight, threshold)]
    return backend("cpu", x.dtype).contact_batch(*_law(contact), quantity, kind, points, *numbers, x, thread_count(threads))


def pair_stiffness(contact, weight):
    """Second derivative by the distance, N/m, of a pair with a weight, half-way between the separation and its activation distance."""
    distance = contact.separation + 0.5 * contact.distance
    pair = [np.array([0], np.int32), np.array([[0, 1, -1, -1]], np.int32)]
    limits = [np.array([number]) for number in (contact.distance, contact.separation, weight, 0.0)]
    return float(_batch(HESSIAN_PSD, contact, *pair, *limits, np.array([[distance, 0.0, 0.0], [0.0, 0.0, 0.0]]), 1)[0, 0, 0])


def find_pairs(contact, x, triangles, edges=None, rest=None, *, margin=0.0, threads=0, weighting="sum"):
    """The pairs of a surface mesh that act at x, or would act if their distance were less by `margin`.

    Parameters
    ----------
    contact : BarrierContact
    x : array_like, shape (n, 3)
        Positions, m. Vertices without triangles and edges are particles.
    triangles : array_like of int, shape (t, 3)
    edges : array_like of int, shape (r, 2), optional
        Edges in addition to those of the triangles.
    rest : array_like, shape (n, 3), optional
        Positions at rest, m, for areas and the mollifier's threshold. The activation distance of a pair within one connected part of the
        mesh is at most 0.9 x (its rest distance - separation), so that a fine mesh has no energy at rest. Without it areas and threshold
        are those at x, as constants, and no activation distance is reduced.
    margin : float
        m. While no vertex moves by more than half of it, no pair outside the list acts.
    threads : int
        0: all cores. The pairs, sorted by kind and vertices, do not depend on it.
    weighting : "sum" or "harmonic"
        As in `BarrierContact`, whose own value is for simulations; ``weighting=contact.weighting`` gives the weights of a simulation.

    Returns
    -------
    ContactPairs

    Raises
    ------
    TypeError, ValueError
        A wrong shape, a coordinate that is not finite, an index out of range; a pair of one part whose rest distance is not above the
        separation; stiffness="auto".
    """
    if not isinstance(contact, BarrierContact):
        raise TypeError(f"contact: expected a BarrierContact, got {contact!r}")
    if contact.stiffness == "auto":
        raise ValueError("contact: stiffness='auto' is computed from the masses and moduli of a scene; a mesh alone needs a number")
    margin = number("margin", margin, minimum=0.0)
    choice("weighting", weighting, WEIGHTINGS)
    dtype = common_precision(x) if rest is None else common_precision(x, rest)
    x = coordinates("x", x, (None, 3), dtype)
    if rest is not None:
        rest = coordinates("rest", rest, (len(x), 3), dtype)
    surface = TouchingSurface(len(x), triangles, edges)
    reach = contact.separation + contact.distance
    kind, vertices, near = surface.candidates(x.astype(np.float64), reach + margin, threads)
    n = len(kind)
    weight = np.ones(n)
    if contact.area_weighted:
        weight = surface.weights((x if rest is None else rest).astype(np.float64), kind, near, weighting)

    def measured(quantity, rows, at):
        full = [np.full(len(rows), value) for value in (contact.distance, contact.separation, 1.0, 0.0)]
        return _batch(quantity, contact, kind[rows], vertices[rows], *full, at, threads)

    kept = np.flatnonzero(measured(DISTANCE, np.arange(n), x) < reach + margin)
    activation = np.full(len(kept), contact.distance)
    if rest is not None:
        part = surface.parts()[vertices]
        other = np.array([1, 1, 1, 2])[kind[kept]]
        within = np.flatnonzero(part[kept, 0] == part[kept, other])
        activation[within] = measured(ACTIVATION, kept[within], rest)
        if (activation <= 0).any():
            pair = kept[int(np.argmax(activation <= 0))]
            apart = float(measured(DISTANCE, np.array([pair]), rest)[0])
            raise ValueError(
                f"rest: the {KINDS[kind[pair]]} pair of vertices {[int(i) for i in vertices[pair] if i >= 0]} is {apart:g} m apart, which "
                f"must be more than the separation {contact.separation:g} m; reduce the separation, or coarsen the mesh"
            )
        acting = measured(DISTANCE, kept, x) < contact.separation + activation + margin
        kept, activation = kept[acting], activation[acting]
    threshold = measured(THRESHOLD, kept, x if rest is None else rest)
    columns = (kind[kept], vertices[kept], activation, weight[kept], threshold)
    return ContactPairs(contact, len(x), np.dtype(dtype), *columns)


def energy(
    contact: Contact,
    x: ArrayLike,
    triangles: ArrayLike,
    edges: ArrayLike | None = None,
    rest: ArrayLike | None = None,
    *,
    threads: int = 0,
    weighting: str = "sum",
) -> float:
    """Energy of a contact potential on a surface mesh, J; infinite if a distance is not above the separation.

    Arguments and errors as for `find_pairs`. Without `rest` areas and the mollifier's threshold are those at x. The derivatives do not
    contain their dependence on x.
    """
    return find_pairs(contact, x, triangles, edges, rest, threads=threads, weighting=weighting).energy(x, threads=threads)


def gradient(
    contact: Contact,
    x: ArrayLike,
    triangles: ArrayLike,
    edges: ArrayLike | None = None,
    rest: ArrayLike | None = None,
    *,
    threads: int = 0,
    weighting: str = "sum",
) -> Floats:
    """Derivative of `energy` by x, (n, 3) N. Arguments and errors as for `find_pairs`; ValueError also for an infinite energy."""
    return find_pairs(contact, x, triangles, edges, rest, threads=threads, weighting=weighting).gradient(x, threads=threads)


def hessian(
    contact: Contact,
    x: ArrayLike,
    triangles: ArrayLike,
    edges: ArrayLike | None = None,
    rest: ArrayLike | None = None,
    *,
    psd: bool = False,
    threads: int = 0,
    weighting: str = "sum",
) -> Any:
    """Second derivative of `energy` by x, scipy CSR (3n, 3n) N/m, row 3 i + axis for vertex i.

    Arguments and errors as for `gradient`, and ``psd : bool``: the nearest positive semidefinite matrix of every pair instead of its
    Hessian, for descent directions of Newton's method.
    """
    return find_pairs(contact, x, triangles, edges, rest, threads=threads, weighting=weighting).hessian(x, psd=psd, threads=threads)
