"""Checks of the matrices and vectors of a linear system. A message names the argument, the index and the value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import any_array, finite, in_range, real_array, real_numbers

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["array_of_shape", "array_or_none", "right_hand_side", "symmetric_matrix"]


def array_or_none(value: Any) -> Floats | None:
    """Return x0, to determine the dtype; its use checks it."""
    return None if value is None else any_array("x0", value)


def cast(name: str, array: Floats, dtype: Any) -> Floats:
    """Cast to the dtype, and check that the result is finite."""
    with np.errstate(over="ignore"):
        return finite(name, array.astype(dtype))


def right_hand_side(name: str, values: Any, n: int | None) -> Floats:
    """Return a checked array (n,) or (n, k) in float32 or float64; n None: any length."""
    array = real_numbers(name, any_array(name, values))
    if array.ndim not in (1, 2) or (array.ndim == 2 and not array.shape[1]) or (n is not None and array.shape[0] != n):
        rows = "n" if n is None else n
        raise ValueError(f"{name}: expected shape ({rows},) or ({rows}, k), got {array.shape}")
    return cast(name, array, np.float32 if array.dtype == np.float32 else np.float64)


def array_of_shape(name: str, values: Any, shape: tuple[int | None, ...]) -> Floats:
    """Return an array of that shape in float64."""
    return real_array(name, values, shape)


def symmetric_matrix(name, A, positive=True):
    """Return A as a checked canonical CSR matrix in float32 or float64. Explicit zeros are kept."""
    import scipy

    if scipy.sparse.issparse(A):
        _check_parts(name, A)
        matrix = A.tocsr()
        if matrix is A or not matrix.has_canonical_format:
            matrix = matrix.copy()
    else:
        matrix = scipy.sparse.csr_matrix(_dense(name, A))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name}: expected a square matrix, got shape {matrix.shape}")
    n = matrix.shape[0]
    if not n:
        raise ValueError(f"{name}: expected one row or more, got an empty matrix")
    real_numbers(name, matrix)
    if matrix.nnz > 2**31 - 1 - n:
        raise ValueError(f"{name}: {matrix.nnz} nonzeros are more than the limit of 2^31 - 1")
    if matrix.dtype != np.float32:
        matrix = matrix.astype(np.float64)
    matrix.sum_duplicates()
    bad = ~np.isfinite(matrix.data)
    if bad.any():
        row, column = _place(matrix, int(np.argmax(bad)))
        raise ValueError(f"{name}: value {matrix.data[np.argmax(bad)]} at ({row}, {column}) is not finite")
    if positive:
        diagonal = matrix.diagonal()
        if (diagonal <= 0.0).any():
            row = int(np.argmax(diagonal <= 0.0))
            raise ValueError(f"{name}: the diagonal must be positive, got {diagonal[row]} at {row}")
    largest = float(np.abs(matrix.data).max()) if matrix.nnz else 0.0
    difference = (matrix - matrix.T).tocoo()
    tolerance = (1e-5 if matrix.dtype == np.float32 else 1e-10) * largest
    if difference.nnz and float(np.abs(difference.data).max()) > tolerance:
        worst = int(np.argmax(np.abs(difference.data)))
        row, column = int(difference.row[worst]), int(difference.col[worst])
        raise ValueError(f"{name}: not symmetric: {matrix[row, column]} at ({row}, {column}), {matrix[column, row]} at ({column}, {row})")
    return _symmetric_pattern(matrix)


def _symmetric_pattern(matrix):
    """Return the same matrix with a symmetric pattern, where added entries are zero: colours and gathers need it."""
    import scipy

    pattern = matrix.copy()
    pattern.data = np.ones_like(pattern.data)
    if (pattern - pattern.T).count_nonzero() == 0:
        return matrix
    coo, transposed = matrix.tocoo(), matrix.T.tocoo()
    rows, columns = np.concatenate([coo.row, transposed.row]), np.concatenate([coo.col, transposed.col])
    data = np.concatenate([coo.data, np.zeros_like(transposed.data)])
    whole = scipy.sparse.coo_matrix((data, (rows, columns)), shape=matrix.shape).tocsr()
    whole.sum_duplicates()
    return whole


def _dense(name, A):
    array = real_numbers(name, any_array(name, A))
    if array.ndim != 2:
        raise ValueError(f"{name}: expected a square matrix, got shape {array.shape}")
    return array


def _place(matrix, entry):
    row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
    return row, int(matrix.indices[entry])


def _check_parts(name, A):
    """Check the arrays of a compressed matrix, which may have been made by hand."""
    for part in ("indices", "indptr", "row", "col"):
        values = getattr(A, part, None)
        if isinstance(values, np.ndarray) and values.dtype.kind not in "iu":
            raise TypeError(f"{name}: {part} must hold integers, got dtype {values.dtype}")
    if A.format in ("csr", "csc", "bsr"):
        limit = A.shape[1 if A.format == "csr" else 0] // (A.blocksize[0] if A.format == "bsr" else 1)
        if A.format == "bsr":
            limit = A.shape[1] // A.blocksize[1]
        in_range(name, np.asarray(A.indices), limit, "columns")
        try:
            A.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"{name}: not a valid sparse matrix: {error}") from None
