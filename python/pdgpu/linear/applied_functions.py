"""Functions of vectors given by the user as a linear solver or a preconditioner: z = f(r)."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["AppliedFunction", "check_function", "is_operator"]


def is_operator(given: Any) -> bool:
    """Return whether the object is a LinearOperator of SciPy, or has its interface."""
    return callable(getattr(given, "matvec", None)) and hasattr(given, "shape")


def check_function(argument: str, given: Any) -> None:
    """Check a function of the user: TypeError unless it is callable or a LinearOperator, ValueError for an operator that is not square."""
    if is_operator(given):
        rows, columns = given.shape
        if rows != columns:
            raise ValueError(f"{argument}: expected a square operator, got shape {given.shape}")
    elif isinstance(given, type) or not callable(given):
        raise TypeError(f"{argument}: expected a name, a callable r -> z or a scipy LinearOperator, got {given!r}")


class AppliedFunction:
    """A function of the user, for calls by the core: each call gets a new array r, and z is checked and cast.

    Parameters
    ----------
    function : callable or LinearOperator
    argument : str
        The name of the function in messages.
    factor : float
        z is multiplied by it.
    """

    def __init__(self, function: Any, argument: str = "preconditioner", factor: float = 1.0) -> None:
        self._function, self._argument, self._factor = function, argument, factor

    def __call__(self, r):
        function, name = self._function, self._argument
        if is_operator(function):
            if function.shape[0] != len(r):
                raise ValueError(f"{name}: expected an operator with {len(r)} rows, got shape {function.shape}")
            z = function.matvec(r) if r.ndim == 1 else function.matmat(r)
        else:
            z = function(r)
        found = np.asarray(z)
        if found.shape != r.shape or found.dtype.kind not in "fiu":
            raise ValueError(f"{name}: expected real numbers of shape {r.shape}, got shape {found.shape} of {found.dtype}")
        if not np.isfinite(found).all():
            row = int(np.argwhere(~np.isfinite(found))[0][0])
            raise ValueError(f"{name}: expected finite numbers, got {found[row]} at row {row}")
        if self._factor != 1.0:
            found = found * self._factor
        return np.ascontiguousarray(found, r.dtype)
