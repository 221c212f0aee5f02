"""Meshes of the scripted scenes, each around its centre. Lengths are metres, y points up."""

import numpy as np

import pdgpu
from pdgpu import shapes


def block(size, cells, centre=(0.0, 0.0, 0.0)):
    """A box of tets."""
    mesh = shapes.beam(size, cells)
    return pdgpu.Mesh(mesh.points - 0.5 * np.asarray(size) + centre, tets=mesh.tets)


def slab(size, centre=(0.0, 0.0, 0.0)):
    """The surface of a box."""
    mesh = shapes.box(size)
    return pdgpu.Mesh(mesh.points - 0.5 * np.asarray(size) + centre, triangles=mesh.triangles)


def cylinder(radius, length, around, centre=(0.0, 0.0, 0.0)):
    """The surface of a cylinder along z."""
    angles = np.arange(around) * 2.0 * np.pi / around
    ring = radius * np.stack([np.cos(angles), np.sin(angles), np.zeros(around)], axis=1)
    shift = np.array([0.0, 0.0, 0.5 * length])
    points = np.concatenate([ring - shift, ring + shift, [-shift, shift]])
    k, n = np.arange(around), (np.arange(around) + 1) % around
    low, high = 2 * around, 2 * around + 1
    rows = [(k, n, n + around), (k, n + around, k + around), (n, k, np.full(around, low)), (k + around, n + around, np.full(around, high))]
    return pdgpu.Mesh(points + centre, triangles=np.concatenate([np.stack(row, axis=1) for row in rows]))


def sheet(size, cells, centre=(0.0, 0.0, 0.0)):
    """A horizontal rectangle of triangles, its normals up."""
    mesh = shapes.grid(size, cells)
    points = np.stack([mesh.points[:, 0] - 0.5 * size[0], np.zeros(len(mesh.points)), 0.5 * size[1] - mesh.points[:, 1]], axis=1)
    return pdgpu.Mesh(points + centre, triangles=mesh.triangles)


def hollow(size, wall, length, cells, centre=(0.0, 0.0, 0.0)):
    """A square tube of tets along z: the cells of a block without those of its inside."""
    mesh = shapes.beam((size, size, length), cells)
    points = mesh.points - [0.5 * size, 0.5 * size, 0.5 * length]
    middle = points[mesh.tets].mean(axis=1)
    kept = np.abs(middle[:, :2]).max(axis=1) > 0.5 * size - wall
    return pdgpu.Mesh(points + centre, tets=mesh.tets[kept]).without_unused_vertices()


def turned(mesh, axis, angle):
    """About the origin, Rodrigues' formula."""
    k, x = np.asarray(axis, dtype=float), mesh.points
    along = (x @ k)[:, None] * k
    points = along + np.cos(angle) * (x - along) + np.sin(angle) * np.cross(k, x)
    return moved(pdgpu.Mesh(points, tets=mesh.tets, triangles=mesh.triangles, edges=mesh.edges), (0.0, 0.0, 0.0))


def moved(mesh, by):
    return pdgpu.Mesh(mesh.points + by, tets=mesh.tets, triangles=mesh.triangles, edges=mesh.edges)
