"""Contact potentials, and their energy, gradient and Hessian on any surface mesh.

A contact potential gives an energy to every pair of primitives nearer than its activation distance. The pairs of a mesh are

    vertex and triangle    of every vertex, also those without triangles (particles, rods)
    edge and edge          of triangles and others
    vertex and edge        of a particle and an edge without a triangle
    vertex and vertex      of two particles

except those with a common vertex: the collision set of Li et al. 2020 in the form of ipctk 1.6. Several pairs may have the same nearest
features; each of them counts, so that the sum does not jump at a change of the nearest feature.

Results are computed in float32 if all inputs are float32, otherwise in float64. The mesh must not intersect itself: a contact potential
depends on distances only, and two intersecting triangles have positive ones.
"""

from pdgpu.contact.barrier_contact import BarrierContact, PairTable  # noqa: F401  (PairTable: its path in earlier pickles)
from pdgpu.contact.contact_pairs import ContactPairs, energy, find_pairs, gradient, hessian
from pdgpu.contact.contact_surface import KINDS  # noqa: F401

__all__ = ["BarrierContact", "ContactPairs", "energy", "find_pairs", "gradient", "hessian"]
