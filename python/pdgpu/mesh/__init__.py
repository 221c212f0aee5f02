"""Meshes: points, elements and groups, simple shapes, vertex colours; files in `pdgpu.mesh.io`."""

from pdgpu.mesh.mesh import Mesh, read_mesh

__all__ = ["Mesh", "read_mesh"]
