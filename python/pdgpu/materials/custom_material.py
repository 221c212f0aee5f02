"""A material with an energy density in Python, for your own models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import choice, per_item
from pdgpu._internal.backends import backend
from pdgpu.materials.derivative_checks import check_functions
from pdgpu.materials.material import Material
from pdgpu.materials.material_calls import FUNCTIONS, MaterialCalls
from pdgpu.materials.material_frames import directions, in_plane

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal

    from numpy.typing import ArrayLike

    from pdgpu.scene.bodies import Body
    from pdgpu.types import Floats

__all__ = ["CustomMaterial", "calls_of_bodies", "custom_kinds"]

REQUESTS = (1, 2, 4)  # PD_REQUEST_... of csrc/base/material_functions.h
COLUMNS = {"solid": 3, "shell": 2}
# an element with F = 1: corners of a tet and a triangle, and their rest gradients
CORNERS = {3: np.vstack([np.zeros(3), np.eye(3)]), 2: np.vstack([np.zeros(3), np.eye(3)[:2]])}
VALUES = 4  # columns of the parameters before dE/dF: weight, largest eigenvalue, measure, E (csrc/elements/custom.h)


class CustomMaterial(Material):
    """A material of your own: its energy density, stress and Hessian are functions in Python.

    The functions get F, the deformation gradients of a batch of m elements, and the parameters by name. F has the shape (m, 3, 3) on solids
    and (m, 3, 2) on shells, and is read-only float64 in both precisions of a simulation. It is valid during the call.

    >>> def energy(F, mu):
    ...     return 0.5 * mu * ((F**2).sum((1, 2)) - 3.0) - mu * (np.linalg.det(F) - 1.0)

    Newton, QuasiNewton, NonlinearCG, VertexBlockDescent, BlockJacobi, GradientDescent and CustomSolver support it, with contact, friction
    and damping, in float32 and float64. Other solvers reject it. The functions run on the host, on the thread that called the simulation.
    On CUDA each batch is copied to the host and back.

    At construction the stress is compared with central differences of the energy, and the Hessian with those of the stress, at seven
    deformation gradients around the rest shape.

    Parameters
    ----------
    energy : callable
        ``(F, **parameters)`` -> (m,), J/m^3 on solids, J/m^2 on shells. It is 0 at rest. It may be inf for inadmissible F, such as inverted
        elements: a line search then shortens the move.
    stress : callable
        ``(F, **parameters)`` -> (m, 3, 3) or (m, 3, 2), the derivative of the energy by F (first Piola-Kirchhoff), Pa or N/m.
    hessian : callable, optional
        ``(F, **parameters)`` -> (m, 9, 9) or (m, 6, 6), the second derivative. Row 3 a + b (shells: 2 a + b) belongs to entry (a, b) of F.
        Solvers that need a positive semidefinite matrix project it. By default it is computed by central differences of the stress, with
        steps of 6.1e-6 times the larger of 1 and the largest entry of F: 18 or 12 calls of the stress.
    parameters : mapping, optional
        Name -> float, or array (elements,). A function gets a number, or the array (m,) of the elements of its batch.
    bodies : "solid" or "shell"
    direction : array_like, shape (3,) or (elements, 3), optional
        On shells, the direction of the first column of F at rest, such as the warp of a cloth. It is projected into each triangle. The
        second column is at a right angle to it, counterclockwise about the normal. By default it is the first edge of each triangle, which
        has no effect on an isotropic material. On solids the columns of F belong to the axes x, y and z.
    name : str, optional
        The name in messages.

    Raises
    ------
    TypeError
        A function that is not callable, or does not return real numbers.
    ValueError
        A result of another shape, or that is not finite; a stress or Hessian that is no derivative, with the first wrong entry, its value
        and the expected one; an energy that is not 0 at rest.
    """

    kinds = {4: "custom_tet", 3: "custom_triangle"}
    bodies = ("solid", "shell")
    projective = False

    def __init__(
        self,
        energy: Callable[..., Any],
        stress: Callable[..., Any],
        hessian: Callable[..., Any] | None = None,
        *,
        parameters: Mapping[str, ArrayLike] | None = None,
        bodies: Literal["solid", "shell"] = "solid",
        direction: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        functions = (energy, stress, hessian)
        for called, function in zip(FUNCTIONS, functions, strict=True):
            if not callable(function) and not (called == "hessian" and function is None):
                raise TypeError(f"CustomMaterial.{called}: expected a function of F, got {function!r}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"CustomMaterial.name: expected a string, got {name!r}")
        choice("CustomMaterial.bodies", bodies, COLUMNS)
        given = {} if parameters is None else parameters
        if not hasattr(given, "items"):
            raise TypeError(f"CustomMaterial.parameters: expected a dict of name -> number or array, got {parameters!r}")
        for key in given:
            if not isinstance(key, str) or key == "F":
                raise TypeError(f"CustomMaterial.parameters: expected names other than 'F', got {key!r}")
        super().__init__(**dict(given))
        d = COLUMNS[bodies]
        self._functions, self._columns, self._name = functions, d, name
        self._direction = None if direction is None else _directions(direction, bodies)
        self._recipe: tuple[Any, ...] | None = None
        self._keep(kinds={d + 1: self.kinds[d + 1]}, bodies=(bodies,))
        lengths = {key: len(value) for key, value in self._constants.items() if np.ndim(value)}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"CustomMaterial.parameters: arrays need one number per element, got the lengths {lengths}")
        check_functions(self.calls(next(iter(lengths.values()), 1)), d, hessian is not None)

    @classmethod
    def from_sympy(
        cls,
        density: Any,
        symbols: Sequence[Sequence[Any]] | Any,
        *,
        parameters: Mapping[str, ArrayLike] | None = None,
        direction: ArrayLike | None = None,
        name: str | None = None,
    ) -> CustomMaterial:
        """The material of an energy density in SymPy; its stress and Hessian are derived.

        Parameters
        ----------
        density : sympy expression
            In the symbols of F and of the parameters, J/m^3 or J/m^2.
        symbols : sympy Matrix, or nested sequence, shape (3, 3) or (3, 2)
            The symbols of F; the shape selects solids or shells.
        parameters : mapping, optional
            Name of a symbol -> float, or array (elements,).
        direction, name : optional
            As for the class.

        Returns
        -------
        CustomMaterial

        Raises
        ------
        ImportError
            SymPy is missing: `pip install sympy`.
        TypeError, ValueError
            An argument of another type; a symbol that is neither in F nor a parameter.
        """
        from pdgpu.materials.symbolic_density import functions_of

        functions, bodies = functions_of(density, symbols, {} if parameters is None else parameters)
        self = cls(*functions, parameters=parameters, bodies=bodies, direction=direction, name=name)
        self._recipe = (density, symbols)
        return self

    def __reduce__(self) -> Any:
        """Support pickles: functions must be picklable; derived ones are derived again."""
        made, what = (_made, (self._functions, self.bodies[0])) if self._recipe is None else (_derived, self._recipe)
        return made, (*what, self._constants, self._direction, self._name)

    def __eq__(self, other: Any) -> bool:
        if not super().__eq__(other):
            return False
        (made, (*what, _, direction, _)), (of, (*others, _, towards, _)) = self.__reduce__(), other.__reduce__()
        return made is of and what == others and np.array_equal(_or_none(direction), _or_none(towards))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        inside = super().__repr__().partition("(")[2]
        shown = [repr(self._name) if self._name else getattr(self._functions[0], "__name__", "energy"), inside[:-1], f'"{self.bodies[0]}"']
        return f"CustomMaterial({', '.join(part for part in shown if part)})"

    @property
    def label(self) -> str:
        """The name of the material in messages."""
        return f"CustomMaterial {self._name!r}" if self._name else "CustomMaterial"

    def calls(self, n: int) -> MaterialCalls:
        """Return its functions for n elements, for calls by compiled modules."""
        arrays = {name: value for name, value in self._constants.items() if np.ndim(value)}
        checked = {name: per_item(f"CustomMaterial.{name}", value, n) for name, value in arrays.items()}
        return MaterialCalls(self.label, self._functions, self._constants | checked, n)

    def rest_shape(self, rest: Any, rows: Any = None) -> Any:
        gradients, measure = super().rest_shape(rest, rows)
        if self._direction is None:
            return gradients, measure
        corners = rest if rows is None else np.take(rest, rows, axis=0)
        return in_plane("CustomMaterial.direction", gradients, corners, self._direction), measure

    def parameters(self, rest: Any, gradients: Any, measure: Any) -> Any:
        """Return those of csrc/elements/custom.h; the results of the functions are filled in before their use."""
        n, d = len(measure), self._columns
        eigenvalues = np.linalg.eigvalsh(self._stiffness_at_rest(n))
        positive = eigenvalues > 1e-9 * np.abs(eigenvalues).max(axis=1, keepdims=True)
        middle = np.nanmedian(np.where(positive, eigenvalues, np.nan), axis=1) if positive.any(axis=1).all() else np.zeros(len(eigenvalues))
        values = 1 + 3 * d + 3 * d * (3 * d + 1) // 2
        return [middle * measure, np.maximum(eigenvalues[:, -1], 0.0) * measure, measure, *[0.0] * values]

    def _stiffness_at_rest(self, n: int) -> Floats:
        """Return d2Psi/dF2 at F = 1, (n, 3d, 3d), or (1, 3d, 3d) if all elements have the same."""
        d = self._columns
        m = n if any(np.ndim(value) for value in self._constants.values()) else 1
        module = backend("cpu", "float64")
        kind, _, _, count = module.KINDS[self.kinds[d + 1]]
        parameters = np.zeros((m, count))
        parameters[:, 2] = 1.0
        corners = np.ascontiguousarray(np.broadcast_to(CORNERS[d], (m, d + 1, 3)))
        gradients = np.ascontiguousarray(np.broadcast_to(np.eye(d).ravel(), (m, d * d)))
        found = module.material_values(kind, REQUESTS[2], corners, gradients, parameters, self._entries(m))[:, VALUES + 3 * d :]
        rows, columns = np.triu_indices(3 * d)
        stiffness = np.zeros((m, 3 * d, 3 * d))
        stiffness[:, rows, columns] = stiffness[:, columns, rows] = found
        return stiffness

    def _entries(self, n: int) -> list[tuple[str, int, bool, Any]]:
        calls = self.calls(n)
        return [calls.entry(calls)]

    def evaluated(self, quantity: int, kind: str, x: Floats, gradients: Floats, parameters: Floats, dtype: Any) -> Floats:
        """Return the parameters of elements with corners x (m, k, 3), with the results of one function of `FUNCTIONS` there."""
        module = backend("cpu", dtype)
        arrays = (np.ascontiguousarray(array, dtype=dtype) for array in (x, gradients, parameters))
        return module.material_values(module.KINDS[kind][0], REQUESTS[quantity], *arrays, self._entries(len(x)))


def _made(functions, bodies, parameters, direction, name):
    return CustomMaterial(*functions, parameters=parameters, bodies=bodies, direction=direction, name=name)


def _derived(density, symbols, parameters, direction, name):
    return CustomMaterial.from_sympy(density, symbols, parameters=parameters, direction=direction, name=name)


def _directions(direction: Any, bodies: str) -> Floats:
    if bodies != "shell":
        raise ValueError(
            "CustomMaterial.direction: expected None on a solid, where the columns of F belong to the axes; rotate F in the functions"
        )
    return directions("CustomMaterial.direction", direction)


def _or_none(direction: Floats | None) -> Floats:
    return np.zeros(0) if direction is None else direction


def custom_kinds(materials: Sequence[Material]) -> dict[str, CustomMaterial]:
    """Return kind of elements -> the CustomMaterial of a body: at most one per kind, as for all materials."""
    return {kind: material for material in materials if isinstance(material, CustomMaterial) for kind in material.kinds.values()}


def calls_of_bodies(bodies: Sequence[Body], kind: str) -> list[MaterialCalls]:
    """Return the functions of the elements of a kind, in the order of bodies in `Scene.element_groups`."""
    owned = [(custom_kinds(body.materials).get(kind), rows) for body in bodies for of, rows, *_ in body.groups if of == kind]
    return [material.calls(len(rows)) for material, rows in owned if material is not None]
