"""The scene with the row numbers of the compiled model: the hidden points of rigid bodies follow their vertices.

`PublicRows` maps its rows to the vertices of the public arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.attributes import keep_attributes
from pdgpu.mesh.mesh import Mesh
from pdgpu.scene.held_parts import CARRIERS
from pdgpu.scene.rigid_bodies import RigidBody, nearest_motion

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["ModelBody", "model_scene", "number_rows", "public_scene"]


class ModelBody(RigidBody):
    """A rigid body with the rows of the compiled model: its massless vertices, its anchors, and four points with a quarter of its mass
    each.

    These have the centre and the second moments of the body, so that momenta and energies are sums over rows as for all bodies.

    Attributes
    ----------
    public : RigidBody
        The body of the user.
    """

    public: RigidBody

    def __init__(self, body: RigidBody) -> None:
        vars(self).update(vars(body))
        hidden = body.hidden_points()
        mesh = Mesh(np.concatenate([body.points, hidden]), triangles=body.mesh.triangles)
        masses = np.zeros(len(mesh.points))
        masses[-CARRIERS:] = body.mass / CARRIERS
        self._masses, self._velocity = masses, np.concatenate([body.velocity, body.hidden_velocities()])
        self._keep(points=mesh.points, mesh=mesh, n_hidden=len(hidden), public=body)

    def hidden_at(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the hidden rows (k, 3) m of the pose closest to vertices at x (n, 3) m, and the vertices of that pose."""
        middle, rest, rotation = nearest_motion(self.public.points, x)
        moved = middle + (self.points - rest) @ rotation.T
        return moved[len(x) :], moved[: len(x)]

    def hidden_velocities_at(self, v: Floats) -> tuple[Floats, Floats]:
        """Return velocities of the hidden rows (k, 3) m/s of the affine motion closest to velocities v (n, 3) of the vertices, and of these
        in it. The time derivative of a rotation over a step, (R - R_t)/h, is such a motion and no spin.
        """
        rest = self.public.points.mean(axis=0)
        change = np.linalg.lstsq(self.public.points - rest, v - v.mean(axis=0), rcond=None)[0]
        moved = v.mean(axis=0) + (self.points - rest) @ change
        return moved[len(v) :], moved[: len(v)]


def number_rows(bodies: Any) -> None:
    """Assign consecutive rows to bodies."""
    first = 0
    for body in bodies:
        keep_attributes(body, slice=slice(first, first + len(body.points)))
        first += len(body.points)


def model_scene(scene: Any) -> Any:
    """Return the copy of a scene for the model; the scene itself if it has no rigid bodies, or is such a copy."""
    if not any(isinstance(body, RigidBody) and not body.n_hidden for body in scene.bodies):
        return scene
    model = scene.copy()
    keep_attributes(model, bodies=tuple(ModelBody(body) if isinstance(body, RigidBody) else body for body in model.bodies))
    number_rows(model.bodies)
    return model


def public_scene(model: Any) -> Any:
    """Return the user's scene of a `model_scene`, in its present state; itself without rigid bodies."""
    if not any(body.n_hidden for body in model.bodies):
        return model
    scene = model.copy()
    keep_attributes(scene, bodies=tuple(body.public.copy() if body.n_hidden else body for body in scene.bodies))
    number_rows(scene.bodies)
    return scene
