"""Contact laws, and what they say of any surface mesh: energy, gradient, Hessian.

A law gives every pair of primitives nearer than its activation distance an energy. The pairs of a mesh are

    vertex and triangle    of every vertex, also those of no triangle (particles, rods)
    edge and edge          of triangles and others
    vertex and edge        of a particle and an edge of no triangle
    vertex and vertex      of two particles

without those that share a vertex: the collision set of Li et al. 2020 as ipctk 1.6 has it. The nearest parts of a pair may belong to other
pairs too; each counts, so that the sum does not jump when a nearest part changes.

Everything is computed in float32 if all inputs are float32, else in float64. The mesh must not intersect itself: a law sees distances
alone, and two triangles that pierce each other have some.
"""

from pdgpu.contact.barrier_contact import BarrierContact, PairTable  # noqa: F401  (PairTable: its path in earlier pickles)
from pdgpu.contact.contact_pairs import ContactPairs, energy, find_pairs, gradient, hessian
from pdgpu.contact.contact_surface import KINDS  # noqa: F401

__all__ = ["BarrierContact", "ContactPairs", "energy", "find_pairs", "gradient", "hessian"]
