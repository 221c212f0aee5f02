"""Contact laws, and what they say of any surface mesh: energy, gradient, Hessian.

A law gives every pair of primitives nearer than its activation distance an energy. The pairs of a mesh are

    vertex and triangle    of every vertex, also those of no triangle (particles, rods)
    edge and edge          of triangles and others
    vertex and edge        of a particle and an edge of no triangle
    vertex and vertex      of two particles

without those that share a vertex: the collision set of Li et al. 2020 as ipctk 1.6 has it. The nearest parts of a pair may belong to other
pairs too; each counts, so that the sum does not jump when a nearest part changes.

Everything is computed in float32 if all inputs are float32, else in float64. The mesh must not intersect itself: a law sees distances
alone, and two triangles that pierce each other have some.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse

from pdgpu import _host
from pdgpu._internal.arguments import choice, coordinates, flag, integer, number
from pdgpu._internal.attributes import read_only
from pdgpu._internal.backends import backend, thread_count
from pdgpu.contact.contact_surface import KINDS, TouchingSurface
from pdgpu.collision.geometry import common_precision
from pdgpu.linear.linear_solvers import keep

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Contact, Floats

__all__ = ["BarrierContact", "ContactPairs", "energy", "find_pairs", "gradient", "hessian"]

WEIGHTINGS = ("sum", "harmonic")  # PD_WEIGHTING_... of csrc/loops/contact_loops.h
GUARDS = ("impact", "reach")  # PD_GUARD_... of csrc/contact/contact.h
LAWS = ("BarrierContact",)  # PD_BARRIER, .. of csrc/elements/contact/table.h
QUANTITIES = ("distance", "threshold", "activation", "energy", "gradient", "hessian", "hessian_psd", "blocks", "blocks_psd")
DISTANCE, THRESHOLD, ACTIVATION, ENERGY, GRADIENT, HESSIAN, HESSIAN_PSD, BLOCKS, BLOCKS_PSD = range(
    9
)  # PD_CONTACT_... of csrc/loops/contact_loops.h

PART = 2**15  # pairs whose derivatives are added up in one call


class PairTable(Mapping):
    """A number for pairs of names, whichever comes first: {("cloth", "floor"): 0.3}. It is not changed once it is made.

    Raises
    ------
    TypeError, ValueError
        A key that is no pair of two names, a pair that is named twice, a number that is negative or not finite.
    """

    def __init__(self, name, values):
        self._values = {}
        for pair, value in values.items():
            if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
                raise TypeError(f"{name}: expected pairs of names as keys, such as ('cloth', 'floor'), got {pair!r}")
            value = number(f"{name}[{pair!r}]", value, minimum=0.0)
            if tuple(sorted(pair)) in self._values:
                raise ValueError(f"{name}: the pair {pair!r} is given twice, in whichever order")
            self._values[tuple(sorted(pair))] = value

    def __getitem__(self, pair):
        return self._values[tuple(sorted(pair))]

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def __repr__(self):
        return repr(self._values)

    def __hash__(self):
        return hash(frozenset(self._values.items()))


@dataclass(frozen=True)
class BarrierContact:
    """A barrier between all pairs of primitives: nothing can come nearer than `separation` [Li et al. 2020, Incremental Potential Contact].

    b(D) = -(D - s)^2 ln(D/s) for D < s, else 0, with D = d^2 - separation^2 and s = distance (2 separation + distance): infinite at the
    separation, zero from ``separation + distance`` on, with two continuous derivatives. Pairs of edges have it multiplied by a factor
    that vanishes where they are parallel (`pdgpu.geometry.edge_edge_mollifier`).

    Parameters
    ----------
    distance : float
        The activation distance, measured from the separation, m.
    stiffness : float or "auto"
        With `area_weighted` in Pa: a pair has the energy area x stiffness x distance x b/s^2. Without it in J/m^4: a pair has the
        energy stiffness x b. "auto" is computed from masses, time step and moduli and so needs a scene; the functions of this module
        want a number. "auto" adapts between steps, see the notes; a number never changes.
    separation : float
        The least distance there can be (the thickness of the material), m.
    area_weighted : bool
        Weight every pair with the area it stands for, so that a finer mesh is not a stiffer one [Li et al. 2023, Convergent IPC]. Areas
        are those at rest; a vertex or an edge has a third of each of its triangles. `weighting` and the notes have the formulas.
    guard : "impact" or "reach"
        How far an iteration of a solver may move: up to nine tenths of the way to the first touch, or as far as every vertex stays
        within its reach, its share of the distance to what is nearest. VertexBlockDescent, BlockJacobi and GradientDescent, whose
        vertices do not depend on each other's moves, keep each vertex within its own reach with both: under "impact" a vertex that
        nothing is near (two activation distances) goes as far as it likes, and only where one did all are held to the first touch; under
        "reach" no search along the way is made, such a vertex goes 1.8 activation distances an iteration, and pairs are listed up to four.
    friction : float or dict
        Coefficient of friction mu >= 0 of all pairs, or of pairs of bodies and obstacles by their names: {("cloth", "floor"): 0.3}, in
        whichever order, ("cloth", "cloth") for a body with itself. Pairs that are not named have none.
    friction_velocity : float
        eps_v, m/s: two surfaces that slide slower than this stick, or rather creep. What lies below the cone of friction on an incline of
        angle a creeps with eps_v (1 - sqrt(1 - tan a/mu)).
    friction_lags : int
        Passes of a step. After each but the last, friction takes normal forces, tangent planes and closest points from where the pass
        ended, and the solver gets its iterations anew; a record counts them through, and its incremental potential is that of the
        pass [Li et al. 2020, Sec. 5.5]. More of them bring |friction force| = mu x normal force at the step's end.
    weighting : "harmonic" or "sum"
        How `area_weighted` weighs pairs in a simulation. "harmonic": two edges with areas A1 and A2 weigh A1 A2/(A1 + A2), half the
        harmonic mean. It is at most the smaller area, so that a coarse side makes no stiff pairs. "sum": they weigh (A1 + A2)/4, as in
        ipctk. Both are A/2 for A1 = A2 = A. The notes have the other pairs. The functions of this module have their own `weighting`.

    Raises
    ------
    TypeError, ValueError

    Notes
    -----
    The weight of a pair, with the area of each primitive at rest:

    ==============================  ==============================================================================
    vertex and triangle             a quarter of the vertex's area; at most the triangle's area but with "sum"
    edge and edge                   see `weighting`
    vertex and plane                the vertex's area
    sphere and triangle             the triangle's area; 1 m^2 with "sum". The end of a capsule is such a sphere.
    capsule and edge                the edge's area; 1 m^2 with "sum"
    pair with a rod or a particle   1 m^2
    ==============================  ==============================================================================

    A sheet so has about the same stiffness per area before a plane, a large sphere, a large capsule and another mesh: a plane and a sphere
    have one pair per primitive, two meshes have four.

    Friction is Coulomb's, smoothed and lagged [Li et al. 2020, Incremental Potential Contact, Sec. 5]: a term sum mu lambda f0(|u|) of the
    incremental potential, with the normal forces lambda, the tangent planes and the closest points where the step begins, and the slip u
    from there on, less what obstacles move; f0 and its slope, which goes from 0 to 1 within eps_v dt, are those of ipctk. Nearly parallel
    edges have the friction of their mollified force. A sphere or capsule that turns about itself drags nothing: what counts is how its
    centre or axis moves. The functions of this module, which know no step, leave friction out.

    **stiffness="auto"** doubles for the next step if a step ends with a gap below 0.01 of the activation distance of its pair, at most ten
    times [after Li et al. 2020, supplement, adaptive barrier stiffness]. All pairs count. The stiffness never changes inside a step or a
    `compare`, and it never falls. The count of doublings is a part of the state: files, copies, pickles and snapshots keep it, and
    `set_state` with positions sets it to zero. `Simulation.parameters` has the stiffness of the next step, `StepRecord.stiffness` that of
    the last one. A run without such a gap has bitwise the same results as with the number that "auto" starts from.

    With "auto", friction takes the normal force of a gap below 0.01 of the activation distance as that of a gap of 0.01. Thus lambda is at
    most 200.3 x stiffness x area with `area_weighted` and without a separation, or 200.3 x stiffness x distance^3 without weights. Such a
    gap says little of the load, since the force grows as 1/gap. Once the stiffness has doubled often enough for the load, the limit is
    not reached. A number given as stiffness has no such limit: it does not adapt, and a heavy load would lose its friction for good.
    """

    distance: float
    stiffness: float | str = "auto"
    separation: float = 0.0
    area_weighted: bool = True
    guard: str = "impact"
    friction: float | Mapping = field(default=0.0, metadata={"written": "where set"})
    friction_velocity: float = field(default=1e-3, metadata={"written": "where set"})
    friction_lags: int = field(default=1, metadata={"written": "where set"})
    weighting: str = field(default="harmonic", kw_only=True, metadata={"absent": "sum"})  # descriptions stored without it meant "sum"

    def __post_init__(self):
        keep(self, distance=number("distance", self.distance, above=0.0), separation=number("separation", self.separation, minimum=0.0))
        if isinstance(self.stiffness, str):
            if self.stiffness != "auto":
                raise ValueError(f"stiffness: expected a number or 'auto', got {self.stiffness!r}")
        else:
            keep(self, stiffness=number("stiffness", self.stiffness, above=0.0))
        keep(self, area_weighted=flag("area_weighted", self.area_weighted))
        choice("guard", self.guard, GUARDS)
        if isinstance(self.friction, Mapping):
            keep(self, friction=PairTable("friction", self.friction))
        else:
            keep(self, friction=number("friction", self.friction, minimum=0.0))
        keep(self, friction_velocity=number("friction_velocity", self.friction_velocity, above=0.0))
        keep(self, friction_lags=integer("friction_lags", self.friction_lags, 1, 1000))
        choice("weighting", self.weighting, WEIGHTINGS)

    def __setstate__(self, state):
        """Of a pickle; one without `weighting` was made when there was "sum" alone."""
        self.__dict__.update({"weighting": "sum"} | state)


class ContactPairs:
    """Pairs of a mesh that may act, and their energy wherever its vertices are; made by `find_pairs`. All arrays are read-only.

    The sums are those of the whole mesh as long as every pair nearer than its activation distance is in the list.

    Attributes
    ----------
    contact : BarrierContact
    n_vertices : int
    dtype : dtype
        Of what they were found in: float32 only where all inputs were, and then another float32 x is evaluated in float32.
    kind : ndarray of int32, shape (k,)
        Places in `pdgpu.contact.KINDS`.
    vertices : ndarray of int32, shape (k, 4)
        Rows of x: (p, a, -1, -1), (p, e0, e1, -1), (p, t0, t1, t2), (a0, a1, b0, b1).
    activation : ndarray, shape (k,)
        Activation distance of each pair, measured from the separation, m.
    weight : ndarray, shape (k,)
        Area, m^2, or 1.
    threshold : ndarray, shape (k,)
        Where the mollifier of two edges ends, m^4; 0 for other pairs.
    """

    def __init__(self, contact, n_vertices, dtype, kind, vertices, activation, weight, threshold):
        self.contact, self.n_vertices, self.dtype = contact, n_vertices, dtype
        self.kind, self.vertices = read_only(kind.astype(np.int32)), read_only(vertices.astype(np.int32))
        self.activation, self.weight, self.threshold = read_only(activation), read_only(weight), read_only(threshold)
        self._limits = {}  # dtype -> the columns of numbers as the compiled modules take them
        self._pattern = None  # of the Hessian: row starts, columns, slots and strides, once it was asked for

    def __len__(self):
        return len(self.kind)

    def __repr__(self):
        counts = ", ".join(f"{int((self.kind == i).sum())} {name}" for i, name in enumerate(KINDS) if (self.kind == i).any())
        return f"<ContactPairs: {len(self)} pairs{f' ({counts})' if counts else ''}>"

    def distance(self, x: ArrayLike, *, threads: int = 0) -> Floats:
        """Of each pair, (k,) m, separation not subtracted. Arguments and errors as for `energy`."""
        return self._evaluate(DISTANCE, x, threads)

    def energy(self, x: ArrayLike, *, threads: int = 0) -> float:
        """Sum over the pairs, J; infinite where one is not farther apart than the separation.

        Parameters
        ----------
        x : array_like, shape (n, 3)
            Positions, m.
        threads : int
            0: all cores. The result does not depend on it.

        Raises
        ------
        ValueError, TypeError
            A wrong shape, a coordinate that is not finite.
        """
        return float(self._evaluate(ENERGY, x, threads).sum(dtype=np.float64))

    def gradient(self, x: ArrayLike, *, threads: int = 0) -> Floats:
        """Derivative of `energy` by x, (n, 3) N. ValueError also where a pair is not farther apart than the separation."""
        x = self._positions(x)
        values = np.zeros((self.n_vertices, 3))
        self._add(GRADIENT, values, x, threads)
        return values.astype(x.dtype, copy=False)

    def hessian(self, x: ArrayLike, *, psd: bool = False, threads: int = 0) -> Any:
        """Second derivative of `energy` by x, scipy CSR (3n, 3n) N/m, row 3 i + axis for vertex i. Errors as for `gradient`.

        psd : bool
            The nearest positive semidefinite matrix of every pair instead of its Hessian.
        """
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

    def _positions(self, x):
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
        """Adds gradients or Hessians to values, a part of the pairs at a time, between which the interpreter sees to its signals."""
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
                    f"separation {self.contact.separation:g} m"
                )


def _law(contact):
    """The law as numbers; a stiffness that is not known is not asked for."""
    return LAWS.index(type(contact).__name__), int(contact.area_weighted), contact.stiffness if contact.stiffness != "auto" else 0.0


def _batch(quantity, contact, kind, points, activation, separation, weight, threshold, x, threads):
    """One quantity of pairs over points x; the numbers of the pairs are rounded to the precision of x."""
    numbers = [np.ascontiguousarray(column, x.dtype) for column in (activation, separation, weight, threshold)]
    return backend("cpu", x.dtype).contact_batch(*_law(contact), quantity, kind, points, *numbers, x, thread_count(threads))


def pair_stiffness(contact, weight):
    """Second derivative by the distance, N/m, of a pair of a weight half-way between the separation and where it acts."""
    distance = contact.separation + 0.5 * contact.distance
    pair = [np.array([0], np.int32), np.array([[0, 1, -1, -1]], np.int32)]
    limits = [np.array([number]) for number in (contact.distance, contact.separation, weight, 0.0)]
    return float(_batch(HESSIAN_PSD, contact, *pair, *limits, np.array([[distance, 0.0, 0.0], [0.0, 0.0, 0.0]]), 1)[0, 0, 0])


def find_pairs(contact, x, triangles, edges=None, rest=None, *, margin=0.0, threads=0, weighting="sum"):
    """The pairs of a surface mesh that act at x, or would if their distance were less by `margin`.

    Parameters
    ----------
    contact : BarrierContact
    x : array_like, shape (n, 3)
        Positions, m. Vertices of no triangle and no edge take part as particles.
    triangles : array_like of int, shape (t, 3)
    edges : array_like of int, shape (r, 2), optional
        Edges beside those of the triangles.
    rest : array_like, shape (n, 3), optional
        Positions at rest, m: areas and the mollifier's threshold are taken there, and the activation distance of a pair within one
        connected part of the mesh is at most 0.9 x (its distance at rest - separation), so that a fine mesh has no energy at rest.
        Without it areas and threshold are those at x, as constants, and no activation distance is reduced.
    margin : float
        m. While no vertex moves by more than half of it, no pair outside the list acts.
    threads : int
        0: all cores. The pairs, sorted by kind and vertices, do not depend on it.
    weighting : "sum" or "harmonic"
        As in `BarrierContact`, whose own value is for simulations; ``weighting=contact.weighting`` gives the pairs their weights there.

    Returns
    -------
    ContactPairs

    Raises
    ------
    TypeError, ValueError
        A wrong shape, a coordinate that is not finite, an index out of range; a pair of one part that is no farther apart at rest than the
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
                f"must be more than the separation {contact.separation:g} m"
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
    """Energy of a contact law on a surface mesh, J; infinite where a pair is not farther apart than the separation.

    Arguments and errors as for `find_pairs`. Without `rest` areas and the mollifier's threshold are those at x, but their change with x is
    in none of the derivatives.
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
    """Derivative of `energy` by x, (n, 3) N. Arguments and errors as for `find_pairs`; ValueError also where the energy is infinite."""
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
    """Second derivative of `energy` by x, scipy CSR (3n, 3n) N/m, row 3 i + axis for vertex i. Errors as for `gradient`.

    psd : bool
        The nearest positive semidefinite matrix of every pair instead of its Hessian, for Newton steps that go down.
    """
    return find_pairs(contact, x, triangles, edges, rest, threads=threads, weighting=weighting).hessian(x, psd=psd, threads=threads)
