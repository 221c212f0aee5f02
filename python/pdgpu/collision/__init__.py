"""Which parts of a scene may collide: broad phases, and proximity sets that live longer than one search.

A broad phase names every pair of a vertex and a triangle, and of two edges, that could come near each other in a step; what they do
exactly is for `pdgpu.ccd` and `pdgpu.geometry` to say.
"""

from pdgpu.collision.collision import BroadPhase, Pairs, ProximitySet

__all__ = ["BroadPhase", "Pairs", "ProximitySet"]
