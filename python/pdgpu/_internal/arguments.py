"""Checks of arguments: every error names the argument, the index and the value."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from pdgpu.types import Floats, Integers

TIME_STEP = 1 / 100  # s, the default of dt=


def integer(name: str, value: Any, minimum: int, maximum: int = 2**31 - 1) -> int:
    """Return `value` as an int with minimum <= value <= maximum."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name}: expected an integer, got {value!r}")
    if int(value) < minimum:
        raise ValueError(f"{name}: must be at least {minimum}, got {_shortened(value)}")
    if int(value) > maximum:
        raise ValueError(f"{name}: must be at most {maximum}, got {_shortened(value)}")
    return int(value)


def _shortened(value: Any) -> str:
    """Return repr of a value for a message; Python refuses to print integers of more than 4300 digits."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"an integer of {value.bit_length()} bits"
    return repr(value)


def number(
    name: str, value: Any, *, minimum: float = -math.inf, above: float = -math.inf, below: float = math.inf, maximum: float = math.inf
) -> float:
    """Return `value` as a finite float with minimum <= value <= maximum and above < value < below."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}: expected a number, got {value!r}")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise ValueError(f"{name}: must be finite, got {_shortened(value)}")
    if result < minimum or result <= above or result >= below or result > maximum:
        limits = [
            text
            for limit, text in (
                (minimum, f"at least {minimum:g}"),
                (above, f"greater than {above:g}"),
                (below, f"less than {below:g}"),
                (maximum, f"at most {maximum:g}"),
            )
            if math.isfinite(limit)
        ]
        raise ValueError(f"{name}: must be {' and '.join(limits)}, got {value!r}")
    return result


def flag(name: str, value: Any) -> bool:
    """Return a bool."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}: expected True or False, got {value!r}")
    return bool(value)


def having(name: str, value: Any, attribute: str, expected: str) -> None:
    """Raise TypeError for a `value` without an attribute of the expected type."""
    if not hasattr(value, attribute):
        raise TypeError(f"{name}: expected {expected}, got {value!r}")


def choice(name: str, value: Any, allowed: Collection[str]) -> Any:
    """Return `value` if it is one of the strings `allowed`."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected one of {', '.join(map(repr, allowed))}, got {value!r}")
    if value not in allowed:
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value


def any_array(name: str, values: Any) -> Floats:
    """Return `values` as an array of any dtype; ValueError for ragged or masked ones."""
    if type(values) is np.ndarray:
        return values
    if np.ma.is_masked(values):
        raise ValueError(f"{name}: a masked array with masked entries cannot be used")
    try:
        return np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{name}: cannot be read as an array: {error}") from None


def real_array(name: str, values: Any, shape: tuple[int | None, ...]) -> Floats:
    """Return `values` as a finite float64 array; None in `shape` stands for any length. Always a fresh C-contiguous copy."""
    return finite(name, _copied(_real_of_shape(name, values, shape)))


def real_view(name: str, values: Any, shape: tuple[int | None, ...], dtype: Any) -> Floats:
    """Return `values` as a finite C-contiguous array of a real dtype: the same object if it is one, for read-only use."""
    return finite(name, contiguous(_real_of_shape(name, values, shape), dtype))


def contiguous(array: Floats, dtype: Any) -> Floats:
    """Return `array` in the form of the compiled modules: itself, or a copy if dtype, order or alignment differ."""
    if array.dtype == dtype and array.flags.c_contiguous and array.flags.aligned:
        return array
    with np.errstate(over="ignore"):
        return np.array(array, dtype=dtype, order="C")


def _copied(array: Floats) -> Floats:
    with np.errstate(over="ignore"):  # overflow becomes infinite; the finiteness check of the caller names it
        return np.array(array, dtype=np.float64, order="C")


def real_numbers(name: str, array: Floats) -> Floats:
    """Return `array` if its dtype is real; TypeError otherwise."""
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name}: expected real numbers, got dtype {array.dtype}")
    return array


def whole_numbers(name: str, array: Floats) -> Floats:
    """Return `array` if its dtype is one of integers; TypeError otherwise."""
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected integer indices, got dtype {array.dtype}")
    return array


def _real_of_shape(name: str, values: Any, shape: tuple[int | None, ...]) -> Floats:
    array = real_numbers(name, any_array(name, values))
    if array.ndim != len(shape) or any(length is not None and length != found for length, found in zip(shape, array.shape, strict=True)):
        expected = "(" + ", ".join("any" if length is None else str(length) for length in shape) + ")"
        raise ValueError(f"{name}: expected shape {expected}, got {array.shape}")
    return array


def finite(name: str, array: Floats) -> Floats:
    """Return `array` if all of it is finite; ValueError with the index of the first value that is not."""
    if not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        place = index[0] if len(index) == 1 else index
        raise ValueError(f"{name}: value {array[index]} at {place} is not finite")
    return array


LARGEST = {np.dtype("float32"): 1e37, np.dtype("float64"): 1e307}  # m, largest coordinates whose differences do not overflow


def coordinates(name: str, values: Any, shape: tuple[int | None, ...], dtype: Any) -> Floats:
    """Return `values` as finite C-contiguous coordinates of "float32" or "float64", each small enough for differences of two."""
    array, dtype = _copied(_real_of_shape(name, values, shape)), np.dtype(dtype)
    fits = np.abs(array) <= LARGEST[dtype]
    if not fits.all():
        finite(name, array)
        index = tuple(int(i) for i in np.argwhere(~fits)[0])
        raise ValueError(f"{name}: value {array[index]} at {index} is too large for {dtype.name}")
    return np.ascontiguousarray(array, dtype=dtype)


def per_item(name: str, values: Any, n: int, *, minimum: float = -math.inf, above: float = -math.inf) -> Floats:
    """Return a number, or an array of one number per item, as (n,) float64 with every value in the limits."""
    if any_array(name, values).ndim == 0:
        return np.full(n, number(name, values, minimum=minimum, above=above))
    array = real_array(name, values, (n,))
    for limit, bad, text in ((minimum, array < minimum, "at least"), (above, array <= above, "greater than")):
        if math.isfinite(limit) and bad.any():
            index = int(np.argmax(bad))
            raise ValueError(f"{name}: must be {text} {limit:g}, got {array[index]} at {index}")
    return array


def in_range(name: str, indices: Floats, n: int, things: str) -> None:
    """Raise ValueError for one of the indices (k,) out of range for n things."""
    bad = (indices < 0) | (indices >= n)
    if bad.any():
        place = int(np.argmax(bad))
        raise ValueError(f"{name}: index {indices[place]} at {place} is out of range for {n} {things}")


def index_rows(name: str, values: Any, k: int, n: int, things: str) -> Integers:
    """Return `values` as a fresh (m, k) int32 array of indices of n things; None and an empty array have no rows."""
    array = any_array(name, () if values is None else values)
    if array.size == 0 and array.shape in ((0,), (0, k)):
        return np.empty((0, k), dtype=np.int32)
    whole_numbers(name, array)
    if array.ndim != 2 or array.shape[1] != k:
        raise ValueError(f"{name}: expected shape (m, {k}), got {array.shape}")
    outside = (array < 0) | (array >= n)  # before the cast, which would wrap around
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise ValueError(f"{name}: index {array[row, column]} at row {row} is out of range for {n} {things}")
    return np.array(array, dtype=np.int32, order="C")


def vertex_indices(name: str, where: Any, points: Floats) -> Integers:
    """Return vertices from indices, a boolean mask over the vertices, or a callable(points) -> mask, as sorted unique int32."""
    n = len(points)
    if callable(where):
        where = any_array(name, where(np.array(points)))
        if where.dtype != bool:
            raise TypeError(f"{name}: the callable must return a boolean mask, got dtype {where.dtype}")
    array = any_array(name, where)
    if array.size == 0 and array.dtype.kind != "b":
        array = array.astype(np.int64)
    if array.dtype == bool:
        if array.shape != (n,):
            raise ValueError(f"{name}: a mask must have shape ({n},), got {array.shape}")
        return np.flatnonzero(array).astype(np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected indices, a boolean mask or a callable, got dtype {array.dtype}")
    array = np.atleast_1d(array)
    if array.ndim != 1:
        raise ValueError(f"{name}: indices must have shape (k,), got {array.shape}")
    in_range(name, array, n, "vertices")
    return np.unique(array).astype(np.int32)
