"""Solvers of the time step: their settings, and the scenes that each of them takes."""

from pdgpu.solvers.solvers import *  # noqa: F403  (a new solver is named there alone)
from pdgpu.solvers.solvers import SOLVERS, __all__  # noqa: F401
