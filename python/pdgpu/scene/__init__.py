"""Scenes: bodies, rigid bodies, joints, obstacles, tethers and embedded surfaces."""

from pdgpu.scene.bodies import Body, Obstacle
from pdgpu.scene.scene import Scene

__all__ = ["Body", "Obstacle", "Scene"]
