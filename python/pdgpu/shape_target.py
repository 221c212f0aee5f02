"""Tets that seek a shape of their own: muscles, growth, sculpted expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu.arguments import any_array, real_array
from pdgpu.material import Material

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Floats

__all__ = ["ShapeTarget", "stretches"]

UPPER = np.triu_indices(3)


class ShapeTarget(Material):
    """Tets that seek a target instead of their rest shape: energy mu min over R of |F - R F*|^2 per volume, R a rotation.

    Shape targeting [Klar, Moffat, Museth, Sifakis 2020; Wang et al. 2021, Localized collisions, Sec. 5.2]: muscles that contract, tissue
    that grows, expressions that were sculpted. F* is the deformation gradient at which a tet is at rest; of F* = Q S only the stretch S
    counts, since the best R takes up Q. Identities make it ARAP. The matrix of Projective Dynamics has 2 mu volume as ARAP's, whatever
    the target, so `Simulation.set_shape_targets` may give new ones before every step and nothing is factorised anew. A rest shape that
    changes, |F F*^-1 - R|^2, would change the matrix.

    Parameters
    ----------
    mu : float or array_like, shape (tets,)
        Pa, at least 0.
    targets : array_like, shape (3, 3) or (tets, 3, 3)
        F*, no unit, determinant greater than 0. ``1.1 * np.eye(3)`` grows by a tenth; a muscle along the unit vector f that contracts
        to a of its length and keeps its volume has ``a * outer(f, f) + (eye(3) - outer(f, f)) / sqrt(a)``.
    """

    kinds = {4: "shape_target"}
    bodies = ("solid",)

    def __init__(self, mu: ArrayLike, targets: ArrayLike) -> None:
        super().__init__(mu=mu)
        self.constant("mu", np.size(mu))
        matrices = real_array(
            "ShapeTarget.targets", targets, (3, 3) if any_array("ShapeTarget.targets", targets).ndim == 2 else (None, 3, 3)
        )
        self._stretches = stretches("ShapeTarget.targets", matrices)
        self._constants["targets"] = matrices

    def __repr__(self):
        mu, targets = self._constants["mu"], self._constants["targets"]
        given = f"array of {len(targets)}" if targets.ndim == 3 else np.array2string(targets, separator=", ").replace("\n", "")
        return f"ShapeTarget(mu={f'array of {len(mu)}' if np.ndim(mu) else f'{mu:g}'}, targets={given})"

    def parameters(self, rest: Any, gradients: Any, measure: Any) -> Any:
        n = len(rest)
        return [2.0 * self.constant("mu", n) * measure, *self._rows(n).T]

    def retargeted(self, group: Any) -> Any:
        """The group (kind, vertices, rest, parameters) of a body with the targets of this material, and all else as it was."""
        *others, parameters = group
        return (*others, np.column_stack([parameters[:, 0], self._rows(len(parameters))]))

    def _rows(self, n):
        """The stretch of every tet, (n, 6)."""
        if self._stretches.ndim == 2 and len(self._stretches) != n:
            shape = self._constants["targets"].shape
            raise ValueError(f"ShapeTarget.targets: expected shape ({n}, 3, 3), one for each tet, or (3, 3), got {shape}")
        return np.broadcast_to(self._stretches, (n, 6))


def stretches(name: str, targets: Floats) -> Floats:
    """The upper triangles (.., 6) of S with F* = Q S; ValueError names a target whose determinant is not positive."""
    determinants = np.linalg.det(targets)
    if not np.all(determinants > 0.0):
        bad = np.argwhere(~(np.atleast_1d(determinants) > 0.0))[0, 0]
        where = f" at {bad}" if targets.ndim == 3 else ""
        raise ValueError(f"{name}: the determinant must be greater than 0, got {np.atleast_1d(determinants)[bad]:g}{where}")
    _, s, vt = np.linalg.svd(targets)
    whole = np.swapaxes(vt, -1, -2) @ (s[..., :, None] * vt)
    return np.ascontiguousarray(whole[..., UPPER[0], UPPER[1]])
