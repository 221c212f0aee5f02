"""Sparse matrices of 3x3 blocks over the vertices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    import scipy

    from pdgpu.types import Floats, Integers

__all__ = ["csr_of_blocks"]


def csr_of_blocks(row_start: Integers, columns: Integers, blocks: Floats, fixed: Any) -> scipy.sparse.csr_matrix:
    """Return the matrix (3n, 3n) of blocks (nnz, 3, 3), with zeros in the rows and columns of fixed vertices (n,)."""
    import scipy

    n = len(row_start) - 1
    rows = np.repeat(np.arange(n), np.diff(row_start))
    blocks[(fixed[rows] | fixed[columns]).astype(bool)] = 0.0
    matrix = scipy.sparse.bsr_matrix((blocks, columns, row_start), shape=(3 * n, 3 * n)).tocsr()
    matrix.eliminate_zeros()
    return matrix
