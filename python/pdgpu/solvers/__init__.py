"""Solvers of the time step: their settings, and the supported materials, contacts and devices of each."""

from pdgpu.solvers.solvers import *  # noqa: F403  (a new solver is named there alone)
from pdgpu.solvers.solvers import SOLVERS, __all__  # noqa: F401
