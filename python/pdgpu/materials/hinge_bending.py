"""Bending of shells by the signed angles of their hinges, with the flexural rigidity of a plate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu.materials.material import Material

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

__all__ = ["HingeBending"]


class HingeBending(Material):
    """Bending of a shell's hinges by their signed angles: energy D/2 |e|^2/(A0 + A1) (theta - theta_0)^2 per hinge, in J.

    A discrete shell [Grinspun, Hirani, Desbrun, Schroeder 2003]. e is the common edge of two triangles with the areas A0 and A1 at rest.
    theta is the angle between their normals, rad. It is 0 in the plane and positive at a ridge seen from the side of the normals. theta_0
    is the angle at rest. Since it has a sign, a sheet that is bent at rest returns to its own side.

    Parameters
    ----------
    flexural_rigidity : float or array_like, shape (hinges,)
        D, J, at least 0; an array has the order of `mesh.hinges`. For a plate of thickness t, D = young t^3 / (12 (1 - poisson^2)).

    Raises
    ------
    ValueError
        By `Scene.add_shell`: a hinge whose triangles have no area, or are folded onto each other at rest.

    Notes
    -----
    The factor of the literature is 3 k |e|^2/(A0 + A1), with a constant k in J; D = 6 k. It is exact for sheets of equilateral triangles:
    bent to a cylinder of curvature kappa in any direction, they have the energy D/2 kappa^2 per area. On other meshes a hinge method has an
    error that refinement does not remove. docs/limits.md has the figures. Poisson's ratio depends on the mesh: -1/3 for equilateral
    triangles, 0 for squares with alternating diagonals.

    Projective Dynamics, position-based dynamics and nonlinear conjugate gradients need an energy that is a distance to a constraint set.
    For them `Bending(flexural_rigidity=D)` has the same stiffness, but no side for a sheet that is bent at rest.

    In float32 the angle of a flat hinge has a rounding error of about 1e-7 rad. Loads that bend the hinges by less have no effect: a strip
    with 90 cells along its length needs float64, or larger cells.

    The energy jumps when a hinge is folded by half a turn. Only contact prevents its triangles from passing through each other there.
    """

    kinds = {4: "hinge"}
    topologies = {4: "hinge"}
    bodies = ("shell",)
    projective = False

    def __init__(self, flexural_rigidity: ArrayLike) -> None:
        super().__init__(flexural_rigidity=flexural_rigidity)
        self.constant("flexural_rigidity", np.size(flexural_rigidity))

    def rest_shape(self, rest: Any, rows: Any = None) -> Any:
        """Return the rest gradients: F has the edges from the first vertex in its columns."""
        try:
            measure = _host.rest_shape(rest, "hinge", rows)[1]
        except ValueError as error:
            raise ValueError(f"{error}; a row is a hinge, as in mesh.hinges") from None
        return np.tile(np.eye(3), (len(measure), 1, 1)), measure

    needs_positions = True

    def parameters(self, rest: Any, gradients: Any, measure: Any) -> Any:
        try:
            angle, square, height = _host.hinge_rest(rest)
        except ValueError as error:
            raise ValueError(f"{error}; a row is a hinge, as in mesh.hinges") from None
        length = np.linalg.norm(rest[:, 1] - rest[:, 0], axis=1)
        stiffness = self.constant("flexural_rigidity", len(rest)) * (length / measure * length)
        return [stiffness * square, stiffness, angle, height]
