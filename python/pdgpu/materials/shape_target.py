"""Tets with a target shape that differs from their rest shape: muscles, growth, sculpted expressions."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import any_array, real_array
from pdgpu._internal.motion_calls import ask
from pdgpu.materials.material import Material, constants_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Floats

__all__ = ["ShapeTarget", "place_of_target", "stretches"]

UPPER = np.triu_indices(3)


class ShapeTarget(Material):
    """Tets with a target shape: energy mu min over R of |F - R F*|^2 per volume, R a rotation.

    Shape targeting [Klar, Moffat, Museth, Sifakis 2020; Wang et al. 2021, Localized collisions, Sec. 5.2]: muscles that contract, tissue
    that grows, sculpted expressions. F* is the deformation gradient of a tet without energy. Only the stretch S of F* = Q S has an effect,
    since the best R contains Q. With identities the material is ARAP. The matrix of Projective Dynamics has 2 mu volume as for ARAP, for
    any target. So `Simulation.set_shape_targets` may change targets before every step without a new factorisation. A changing rest shape,
    |F F*^-1 - R|^2, would change the matrix.

    Parameters
    ----------
    mu : float or array_like, shape (tets,)
        Pa, at least 0.
    targets : array_like, shape (3, 3) or (tets, 3, 3), or callable(time) -> one of these
        F*, no unit, determinant greater than 0. ``1.1 * np.eye(3)`` grows by a tenth; a muscle along the unit vector f that contracts to a
        of its length and keeps its volume has ``a * outer(f, f) + (eye(3) - outer(f, f)) / sqrt(a)``. A simulation calls a callable for the
        targets at the end of every step, s; the material itself has those of 0 s. The callable must not call its simulation, see
        `Simulation.step`.

    Raises
    ------
    ValueError
        A target that is not finite, or whose determinant is not positive.

    Examples
    --------
    A body that grows by a tenth in a second:

    >>> growth = pdgpu.ShapeTarget(1e4, lambda time: (1.0 + 0.1 * min(time, 1.0)) * np.eye(3))
    """

    kinds = {4: "shape_target"}
    bodies = ("solid",)

    def __init__(self, mu: ArrayLike, targets: ArrayLike | Callable[[float], ArrayLike]) -> None:
        super().__init__(mu=mu)
        self.constant("mu", np.size(mu))
        self._script: Callable[[float], ArrayLike] | None = None
        self._seek(targets, 0.0)

    def _seek(self, targets, time):
        name = "ShapeTarget.targets"
        if callable(targets):
            self._script, name, targets = targets, f"{name} at {time:g} s", ask(targets, time)
        matrices = real_array(name, targets, (3, 3) if any_array(name, targets).ndim == 2 else (None, 3, 3))
        self._stretches = stretches(name, matrices)
        self._constants["targets"] = matrices

    def __eq__(self, other):
        return super().__eq__(other) and self._script == script_of(other)

    __hash__ = None

    def seeking(self, targets: Any, time: float) -> Any:
        """Return the material with other targets, the result of a callable at a time, s."""
        other = type(self).__new__(type(self))
        vars(other).update(vars(self), _constants=dict(self._constants), _script=None)
        other._seek(targets, time)
        return other

    def at(self, time: float) -> Any:
        """Return the material with the targets of a time, s; itself if they are unchanged."""
        other = self if self._script is None else self.seeking(self._script, time)
        return self if np.array_equal(constants_of(other)["targets"], self._constants["targets"]) else other

    def __repr__(self):
        mu, targets = self._constants["mu"], self._constants["targets"]
        given = f"array of {len(targets)}" if targets.ndim == 3 else np.array2string(targets, separator=", ").replace("\n", "")
        given = given if self._script is None else self._script
        return f"ShapeTarget(mu={f'array of {len(mu)}' if np.ndim(mu) else f'{mu:g}'}, targets={given})"

    def parameters(self, rest: Any, gradients: Any, measure: Any) -> Any:
        n = len(rest)
        return [2.0 * self.constant("mu", n) * measure, *self._rows(n).T]

    def small_strain(self, n: Any) -> Any:
        return self.constant("mu", n), 0.0

    def retargeted(self, group: Any) -> Any:
        """Return the group (kind, vertices, rest, parameters) of a body with the targets of this material, otherwise unchanged."""
        *others, parameters = group
        changed = parameters.copy()
        changed[:, 1:] = self._rows(len(parameters))
        return (*others, changed)

    def _rows(self, n):
        """Return the stretch of every tet, (n, 6)."""
        if self._stretches.ndim == 2 and len(self._stretches) != n:
            shape = self._constants["targets"].shape
            raise ValueError(f"ShapeTarget.targets: expected shape ({n}, 3, 3), one for each tet, or (3, 3), got {shape}")
        return np.broadcast_to(self._stretches, (n, 6))


def script_of(material: Any) -> Callable[[float], ArrayLike] | None:
    """Return the callable of the targets, or None."""
    return material._script


def with_script(material: ShapeTarget, script: Callable[[float], ArrayLike]) -> ShapeTarget:
    """Return the material with its present targets and a callable for those of later times."""
    other = copy.copy(material)
    other._script = script
    return other


def place_of_target(materials: Any) -> int | None:
    """Return the index of the ShapeTarget among the materials of a body."""
    return next((place for place, material in enumerate(materials) if isinstance(material, ShapeTarget)), None)


def stretches(name: str, targets: Floats) -> Floats:
    """Return the upper triangles (.., 6) of S with F* = Q S; ValueError for a target whose determinant is not positive."""
    determinants = np.linalg.det(targets)
    if not np.all(determinants > 0.0):
        bad = np.argwhere(~(np.atleast_1d(determinants) > 0.0))[0, 0]
        where = f" at {bad}" if targets.ndim == 3 else ""
        raise ValueError(f"{name}: the determinant must be greater than 0, got {np.atleast_1d(determinants)[bad]:g}{where}")
    _, s, vt = np.linalg.svd(targets)
    whole = np.swapaxes(vt, -1, -2) @ (s[..., :, None] * vt)
    return np.ascontiguousarray(whole[..., UPPER[0], UPPER[1]])
