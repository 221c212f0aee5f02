"""Calls of the functions of a user's material by the compiled modules: batch by batch, with checks of each result."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from pdgpu.types import Floats, Integers

__all__ = ["FUNCTIONS", "MaterialCalls", "WeakCalls"]

FUNCTIONS = ("energy", "stress", "hessian")  # in the order of pd_material_quantity of csrc/base/material_functions.h


class MaterialCalls:
    """Functions of deformation gradients for n elements with their parameters.

    Parameters
    ----------
    label : str
        The name of the material in messages.
    functions : tuple of callable or None
        In the order of `FUNCTIONS`.
    parameters : mapping
        Name -> float, or array (n,).
    n : int
        Number of elements.
    """

    def __init__(
        self, label: str, functions: tuple[Callable[..., Any] | None, ...], parameters: Mapping[str, float | Floats], n: int
    ) -> None:
        self.label, self.n, self._functions = label, n, functions
        self._numbers = {name: value for name, value in parameters.items() if not np.ndim(value)}
        self._arrays = {name: np.ascontiguousarray(value) for name, value in parameters.items() if np.ndim(value)}
        # of the elements of a call; grown once, to the size of a batch
        self._taken = {name: np.empty(0) for name in self._arrays}

    def entry(self, callable_: Any) -> tuple[str, int, bool, Any]:
        """Return the functions as an entry for a compiled module (csrc/python/binding/material_functions.h)."""
        return self.label, self.n, self._functions[2] is not None, callable_

    def __call__(self, quantity: int, n: int, F: Floats, elements: Integers, out: Floats) -> None:
        """Fill out[:n] from F[:n] and the numbers of the elements."""
        out[:n] = self.answer(quantity, F[:n], elements[:n], out.shape[1:])

    def answer(self, quantity: int, F: Floats, elements: Integers, shape: tuple[int, ...]) -> Floats:
        """Return the result of a function for F (n, 3, d), an array (n, *shape) of real numbers. TypeError or ValueError for any other
        result.
        """
        name, function = FUNCTIONS[quantity], self._functions[quantity]
        assert function is not None
        n = len(F)
        try:
            found = function(F, **self._numbers, **self._arrays_of(elements))
        except Exception as error:
            error.add_note(f"in {name} of {self.label}, called with F of shape {F.shape}")
            raise
        try:
            array = np.asarray(found)
        except ValueError as error:
            raise ValueError(f"{self.label}: {name} cannot be read as an array: {error}") from None
        if array.dtype.kind not in "fiu":
            raise TypeError(f"{self.label}: {name} must be real numbers, got {type(found).__name__} of dtype {array.dtype}")
        if array.shape != (n, *shape):
            raise ValueError(f"{self.label}: {name} must have shape {(n, *shape)} for F of shape {F.shape}, got {array.shape}")
        return array

    def _arrays_of(self, elements: Integers) -> dict[str, Floats]:
        n, taken = len(elements), {}
        for name, values in self._arrays.items():
            if len(self._taken[name]) < n:
                self._taken[name] = np.empty(n)
            given = self._taken[name][:n]
            np.take(values, elements, out=given, mode="clip")
            taken[name] = given
        return taken


class WeakCalls:
    """The calls by a weak reference: the garbage collector does not traverse a compiled simulation, and a function may refer to its
    simulation.
    """

    def __init__(self, calls: MaterialCalls) -> None:
        self._calls = weakref.ref(calls)

    def __call__(self, quantity: int, n: int, F: Floats, elements: Integers, out: Floats) -> None:
        calls = self._calls()
        if calls is None:
            raise RuntimeError("the simulation of this material no longer exists")
        calls(quantity, n, F, elements, out)
