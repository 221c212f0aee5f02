"""Comparisons of solvers, and sweeps over parameters."""
