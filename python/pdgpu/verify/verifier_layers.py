"""The verification of planes, spheres, capsules and boxes for bodies with a thickness: one pass for each thickness."""

from __future__ import annotations

import numpy as np

from pdgpu.verify.verifier_shapes import VerifierShapes

__all__ = ["VerifierLayers"]


class VerifierLayers:
    """As VerifierShapes, with its parameters and methods; half the thickness of a body is added to the separation."""

    def __init__(self, scene, shapes):
        self.layers = [
            (radius, VerifierShapes(scene, shapes, scene.radii == radius)) for radius in np.unique(scene.radii).tolist() or [0.0]
        ]

    @property
    def move(self):
        return self.layers[0][1].move

    def placed(self, time):
        return self.layers[0][1].placed(time)

    def in_frame(self, x, placed, separation, threads):
        found = {}
        for radius, shapes in self.layers:
            for key, distance in shapes.in_frame(x, placed, separation + radius, threads).items():
                found[key] = distance - radius
        return found

    def between(self, x_0, x_1, placed_0, placed_1, separation, threads):
        found = {}
        for radius, shapes in self.layers:
            found |= shapes.between(x_0, x_1, placed_0, placed_1, separation + radius, threads)
        return found
