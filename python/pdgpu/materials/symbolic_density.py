"""Energy, stress and Hessian of a density in SymPy, as functions of NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal

__all__ = ["functions_of"]


def functions_of(
    density: Any, symbols: Any, parameters: Mapping[str, Any]
) -> tuple[tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]], Literal["solid", "shell"]]:
    """Return (energy, stress, hessian), and the bodies for the shape of F."""
    sympy = _sympy()
    try:
        matrix = sympy.Matrix(symbols)
    except (TypeError, ValueError) as error:
        raise TypeError(f"symbols: expected a matrix of symbols of shape (3, 3) or (3, 2), got {symbols!r}") from error
    if matrix.shape not in ((3, 3), (3, 2)):
        raise ValueError(f"symbols: expected shape (3, 3) or (3, 2), got {matrix.shape}")
    entries = list(matrix)
    for at, entry in enumerate(entries):
        if not isinstance(entry, sympy.Symbol) or entry in entries[:at]:
            raise TypeError(f"symbols: expected different symbols, got {entry!r} at {divmod(at, matrix.shape[1])}")
    try:
        density = sympy.sympify(density)
    except sympy.SympifyError as error:
        raise TypeError(f"density: expected a SymPy expression, got {density!r}") from error
    if not isinstance(density, sympy.Expr) or density.is_Matrix:
        raise TypeError(f"density: expected a scalar SymPy expression, got {density!r}")
    others = {str(symbol): symbol for symbol in density.free_symbols if symbol not in entries}
    if missing := sorted(set(others) - set(parameters)):
        raise ValueError(f"parameters: the density has the symbol {missing[0]!r}, which is neither in F nor a parameter")
    constants = [others.get(name, sympy.Symbol(name)) for name in parameters]
    stress = [sympy.diff(density, entry) for entry in entries]
    hessian = [sympy.diff(stress[i], entries[j]) for i in range(len(entries)) for j in range(i, len(entries))]
    arguments = [*entries, *constants]
    compiled = [sympy.lambdify(arguments, expressions, "numpy", cse=True) for expressions in ([density], stress, hessian)]
    return (
        (_Energy(compiled[0], tuple(parameters)), _Stress(compiled[1], tuple(parameters)), _Hessian(compiled[2], tuple(parameters))),
        "solid" if matrix.shape[1] == 3 else "shell",
    )


def _sympy() -> Any:
    try:
        import sympy
    except ImportError as error:
        raise ImportError("from_sympy needs SymPy, which is not installed: pip install sympy") from error
    return sympy


class _Compiled:
    """Expressions in the entries of F and in parameters, evaluated for a batch."""

    def __init__(self, compiled: Callable[..., Any], names: tuple[str, ...]) -> None:
        self._compiled, self._names = compiled, names

    def _values(self, F: Any, parameters: dict[str, Any]) -> Any:
        entries = (F[:, a, b] for a in range(3) for b in range(F.shape[2]))
        return self._compiled(*entries, *(parameters[name] for name in self._names))


class _Energy(_Compiled):
    def __call__(self, F: Any, **parameters: Any) -> Any:
        out = np.empty(len(F))
        out[:] = self._values(F, parameters)[0]
        return out


class _Stress(_Compiled):
    def __call__(self, F: Any, **parameters: Any) -> Any:
        out = np.empty(F.shape)
        for at, values in enumerate(self._values(F, parameters)):
            out[:, at // F.shape[2], at % F.shape[2]] = values
        return out


class _Hessian(_Compiled):
    def __call__(self, F: Any, **parameters: Any) -> Any:
        n = F[0].size if len(F) else 3 * F.shape[2]
        out = np.empty((len(F), n, n))
        for i, j, values in zip(*np.triu_indices(n), self._values(F, parameters), strict=True):
            out[:, i, j] = out[:, j, i] = values
        return out
