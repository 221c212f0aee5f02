"""The base of all materials: named constants, each a number or an array with one value per element."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import any_array, number, per_item, real_array
from pdgpu._internal.attributes import GuardedAttributes

if TYPE_CHECKING:
    from typing import Any, Self


__all__ = ["Material"]


class Material(GuardedAttributes):
    """A material with named constants, each a number or an array with one value per element."""

    _instead = "a material stays as it is, make another one"

    kinds: dict[int, str] = {}  # vertices of an element -> kind of csrc/elements/table.h
    topologies: dict[int, Any] = {}  # vertices of an element -> topology of their rest shape, if it differs from the default
    bodies: tuple[str, ...] = ()  # the types of body that may have it
    projective = True  # an energy of the distance to a constraint set, which Projective Dynamics needs
    inverts = True  # its tets may: no step is limited for their sake

    def __new__(cls, *arguments: Any, **constants: Any) -> Self:
        if cls is Material:
            raise TypeError("Material: the base of the materials; take one of them, such as pdgpu.ARAP(mu=1e5)")
        return super().__new__(cls)

    def __init__(self, **constants: Any) -> None:
        self._constants = {name: number_or_array(f"{type(self).__name__}.{name}", value) for name, value in constants.items()}

    def __repr__(self) -> str:
        inside = ", ".join(
            f"{name}=array of {len(value)}" if np.ndim(value) else f"{name}={value:g}" for name, value in self._constants.items()
        )
        return f"{type(self).__name__}({inside})"

    def __eq__(self, other: Any) -> bool:
        if type(self) is not type(other):
            return False
        others: dict[str, Any] = constants_of(other)
        return all(np.array_equal(value, others.get(name, ())) for name, value in self._constants.items())

    __hash__ = None  # type: ignore[assignment]  # as Python does where __eq__ is defined

    def constant(self, name: Any, n: Any) -> Any:
        """Return a constant as (n,) float64."""
        limit = {"above": 0.0} if name in self.positive else {"minimum": 0.0}
        return per_item(f"{type(self).__name__}.{name}", self._constants[name], n, **limit)

    positive: tuple[str, ...] = ()

    def rest_shape(self, rest: Any, rows: Any = None) -> Any:
        """Return (gradients (m,k-1,d), measure (m,)) of rest positions (m,k,3), or of rows (m,k) of points (n,3)."""
        k = rest.shape[1] if rows is None else rows.shape[1]
        usual: Any = {4: "tet", 3: "triangle", 2: "edge"}[k]
        topology = self.topologies.get(k, usual)
        return _host.rest_shape(rest, topology, rows)

    def kind(self, k: Any) -> Any:
        """Return the element kind on elements of k vertices; TypeError without one."""
        if k not in self.kinds:
            raise TypeError(f"{type(self).__name__} has no energy on elements of {k} vertices, only of {sorted(self.kinds)}")
        return self.kinds[k]

    def elements(self, rest: Any, rows: Any = None) -> Any:
        """Return (kind, rest (m,r), parameters (m,p)) of csrc/elements/table.h for rest positions (m,k,3), or for rows (m,k) of points
        (n,3), float64.
        """
        kind = self.kind((rest if rows is None else rows).shape[1])
        gradients, measure = self.rest_shape(rest, rows)
        # the positions of all corners take more memory than all other arrays, and few materials need them
        corners = rest if rows is None else np.take(rest, rows, axis=0) if self.needs_positions else rows
        parameters = self.parameters(corners, gradients, measure)
        together = np.empty((len(measure), len(parameters)))
        for column, values in enumerate(parameters):
            together[:, column] = values
        return kind, gradients.reshape(len(measure), gradients.shape[1] * gradients.shape[2]), together

    needs_positions = False

    def small_strain(self, n: Any) -> Any:
        """Return Lame's constants (mu, lam) at small strains on n tets, Pa, each (n,) or a number; None for a material without them."""
        return None

    def parameters(self, rest: Any, gradients: Any, measure: Any) -> Any:
        """Return the columns of the parameters; `rest` is (m,k,3) for classes with needs_positions, otherwise only its length is used."""
        raise NotImplementedError


def constants_of(material: Material) -> dict[str, Any]:
    """Return the constants of a material by name, each a number or an array."""
    return material._constants


def with_constants(material: Material, **constants: Any) -> Material:
    """Return the material with these constants, already checked."""
    other = copy.copy(material)
    other._constants = constants
    return other


def number_or_array(name: Any, value: Any) -> Any:
    """Return a finite number, or a finite (n,) float64 array."""
    return real_array(name, value, (None,)) if any_array(name, value).ndim else number(name, value)


def with_bending(material: Any, bending: Any, kind: Any, name: Any = "bending") -> Any:
    """Return the materials, with one of this kind unless the argument `name` is 0."""
    materials = list(material) if isinstance(material, list | tuple) else [material]
    if any_array(name, bending).ndim or number(name, bending, minimum=0.0) > 0.0:
        materials.append(kind(bending))
    return materials


def joined(parts: Any) -> Any:
    """Return the arrays of several bodies as one; damping only if one of them has it."""
    vertices, rest, parameters = (np.concatenate([part[k] for part in parts]) for k in range(3))
    damping = None
    if any(part[3] is not None for part in parts):
        damping = np.concatenate([np.zeros(len(part[0])) if part[3] is None else part[3] for part in parts])
    return vertices, rest, parameters, damping
