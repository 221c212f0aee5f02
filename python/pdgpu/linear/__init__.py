"""Linear systems A x = b with a symmetric positive definite sparse matrix: the solvers of the global step as separate functions."""

from pdgpu.linear.linear import LinearResult, System, extreme_eigenvalues, schur_complement, solve, spectral_radius

__all__ = ["LinearResult", "System", "extreme_eigenvalues", "schur_complement", "solve", "spectral_radius"]
