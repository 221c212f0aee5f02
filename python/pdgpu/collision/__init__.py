"""Candidate pairs of a scene: broad phases, and proximity sets that stay valid for several steps.

A broad phase lists every vertex-triangle pair and every pair of edges that could come near each other in a step. `pdgpu.ccd` and
`pdgpu.geometry` then compute their times of impact and distances.
"""

from pdgpu.collision.collision import BroadPhase, Pairs, ProximitySet

__all__ = ["BroadPhase", "Pairs", "ProximitySet"]
