"""Chebyshev's polynomial preconditioner as a dense matrix, from eigenvectors and closed forms."""

import numpy as np
import scipy.linalg
from scipy.special import eval_chebyt


def preconditioner(A, M0, largest, degree):
    """M^-1 [Saad 2003, Section 12.3.2]: error polynomial T_m((theta - x)/delta) / T_m(theta/delta) on the eigenvalues x of M0^-1 A."""
    values, vectors = scipy.linalg.eigh(A, M0)
    low, high = largest / 30, largest
    centre, half = (high + low) / 2, (high - low) / 2
    solved = 1.0 - eval_chebyt(degree, (centre - values) / half) / eval_chebyt(degree, centre / half)
    return (vectors * (solved / values)) @ vectors.T


def start(n):
    """n numbers of the linear congruential generator that begins the estimate."""
    state, out = 12345, np.empty(n)
    for i in range(n):
        state = (state * 1664525 + 1013904223) % 2**32
        out[i] = (state >> 8) / 2**24 - 0.5
    return out


def ritz_value(A, M0, first, steps):
    """The largest eigenvalue of M0^-1 A on the Krylov space of M0^-1 A M0^-1 first, of so many dimensions."""
    root = np.linalg.inv(np.linalg.cholesky(M0))
    B = root @ A @ root.T
    space = [root @ (A @ np.linalg.solve(M0, first))]
    for _ in range(steps):
        basis = np.linalg.qr(np.column_stack(space))[0]
        space = [*basis.T, B @ basis[:, -1]]
    return np.linalg.eigvalsh(basis.T @ B @ basis)[-1]
