"""Powers of two in front of a linear system whose products would leave the range of the dtype.

A x = b is solved as (2^-a A) (2^(a-e) x) = 2^-e b. Products with powers of two are exact, and a is even, so the square roots of a Cholesky
factor are scaled exactly too: the bits are those of the same system with numbers of ordinary size.
"""

from __future__ import annotations

import numpy as np

# binary exponents up to this size are ordinary: squares of such numbers, over a diagonal entry, stay in the range of the dtype
REACH = {np.dtype(np.float32): 30, np.dtype(np.float64): 100}
# lower bounds, as exponents, of a diagonal entry relative to 1 and of a column of the right-hand side relative to the largest
SPREAD = {np.dtype(np.float32): 90, np.dtype(np.float64): 400}


def exponent_of(*arrays):
    """Return e with 2^(e-1) <= largest magnitude < 2^e; None if all numbers are zero."""
    largest = max((float(np.abs(array).max(initial=0.0)) for array in arrays), default=0.0)
    return int(np.frexp(largest)[1]) if largest > 0.0 else None


def to_ordinary(exponent, dtype):
    """Return the exponent of the divisor: 0 for numbers of ordinary size."""
    return 0 if exponent is None or abs(exponent) <= REACH[np.dtype(dtype)] else exponent


def times_power(values, exponent):
    """Return values * 2^exponent for a sparse matrix or an array; the same object for 0. Overflow gives infinity; the caller checks."""
    if exponent == 0:
        return values
    if hasattr(values, "indptr"):
        result = values.copy()
        result.data = times_power(values.data, exponent)
        return result
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(values, exponent)


def ordinary_matrix(name, A, dtype):
    """Return (2^-a A, a) with an even a, 0 for numbers of ordinary size.

    Raises
    ------
    ValueError
        A diagonal entry so small relative to the largest number of the matrix that its inverse leaves the range of the dtype.
    """
    exponent = to_ordinary(exponent_of(A.data), dtype)
    exponent -= exponent % 2
    A = times_power(A, -exponent)
    diagonal = A.diagonal()
    lost = diagonal < 2.0 ** -SPREAD[np.dtype(dtype)]
    if lost.any():
        row = int(np.argmax(lost))
        entry, largest = (float(np.ldexp(value, exponent)) for value in (diagonal[row], np.abs(A.data).max()))
        raise ValueError(
            f"{name}: the diagonal entry {entry:g} at {row} is too small for {np.dtype(dtype)} next to the largest number of the matrix, "
            f"{largest:g}"
        )
    return A, exponent


def check_columns(name, values, dtype):
    """Check that columns solved together differ by less than the range of products of their numbers."""
    largest = np.abs(values).max(axis=0)
    lost = (largest > 0.0) & (largest < largest.max() * 2.0 ** -SPREAD[np.dtype(dtype)])
    if lost.any():
        column = int(np.argmax(lost))
        raise ValueError(
            f"{name}: column {column} leaves a residual {largest[column] / largest.max():.3g} times as large as column "
            f"{int(np.argmax(largest))}: too small for {np.dtype(dtype)} relative to it; solve it separately"
        )
