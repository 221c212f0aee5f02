"""Materials of bodies, and energies of single elements (`pdgpu.elements`)."""

from pdgpu.materials.materials import *  # noqa: F403  (a new material is named there alone)
from pdgpu.materials.materials import MATERIALS, __all__  # noqa: F401
