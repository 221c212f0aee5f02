"""A box, and the plane faces of a surface."""

import numpy as np

import pdgpu
from pdgpu import shapes
from pdgpu.contact.contact_surface import SurfaceAreas
from pdgpu.contact.flat_faces import FlatFaces

BOX = shapes.box((1.0, 2.0, 3.0))


def faces_of(points, triangles, rigid=True):
    points, triangles = np.asarray(points, float), np.asarray(triangles)
    edges = pdgpu.Mesh(points, triangles=triangles).edges
    sides = np.unique(np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    assert not len(edges) or len(edges) == len(sides)
    return FlatFaces(SurfaceAreas(len(points), triangles, sides), points, np.full(len(points), rigid)), sides
