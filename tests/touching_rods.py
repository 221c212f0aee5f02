"""Rods that touch by two ends, by an end and an edge, and by two crossing edges: contact pairs with curvature across their normals."""

import numpy as np

import pdgpu

CONTACT = pdgpu.BarrierContact(2e-3, stiffness=1e3)


def touching_rods(start=0.97):
    """Scene, edges (m, 2), rest positions, and a start in which every spring is compressed."""
    rods = ([0, 0, 0], [0.1, 0, 0]), ([0.1012, 2e-4, 1e-4], [0.2, 0.02, 0]), ([0.04, 1.1e-3, 3e-4], [0.05, 0.1, 0.01])
    rods = (*rods, ([0.07, -0.04, -9e-4], [0.075, 0.05, -1.2e-3]))
    scene, edges, points = pdgpu.Scene(), [], []
    for k, rod in enumerate(np.array(rods)):
        x, middle = rod, rod.mean(axis=0)
        scene.add_rod(pdgpu.Mesh(middle + (x - middle) / start, edges=[[0, 1]]), pdgpu.Spring(2e3), density=0.5)
        edges.append([2 * k, 2 * k + 1])
        points.append(x)
    return scene, np.array(edges), scene.rest_positions(), np.concatenate(points)
