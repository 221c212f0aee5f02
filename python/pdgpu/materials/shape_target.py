"""Tets that seek a shape of their own: muscles, growth, sculpted expressions."""

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
    """Tets that seek a target instead of their rest shape: energy mu min over R of |F - R F*|^2 per volume, R a rotation.

    Shape targeting [Klar, Moffat, Museth, Sifakis 2020; Wang et al. 2021, Localized collisions, Sec. 5.2]: muscles that contract, tissue
    that grows, expressions that were sculpted. F* is the deformation gradient at which a tet is at rest; of F* = Q S only the stretch S
    counts, since the best R takes up Q. Identities make it ARAP. The matrix of Projective Dynamics has 2 mu volume as ARAP's, whatever
    the target, so `Simulation.set_shape_targets` may give new ones before every step and nothing is factorised again. A rest shape that
    changes, |F F*^-1 - R|^2, would change the matrix.

    Parameters
    ----------
    mu : float or array_like, shape (tets,)
        Pa, at least 0.
    targets : array_like, shape (3, 3) or (tets, 3, 3), or callable(time) -> one of these
        F*, no unit, determinant greater than 0. ``1.1 * np.eye(3)`` grows by a tenth; a muscle along the unit vector f that contracts
        to a of its length and keeps its volume has ``a * outer(f, f) + (eye(3) - outer(f, f)) / sqrt(a)``. A simulation asks a callable for
        the targets of the end of every step, s; by itself the material has those of 0 s. The callable cannot call the simulation that
        asks it, see `Simulation.step`.

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
        """The material with other targets, those that a callable gives at a time, s."""
        other = type(self).__new__(type(self))
        vars(other).update(vars(self), _constants=dict(self._constants), _script=None)
        other._seek(targets, time)
        return other

    def at(self, time: float) -> Any:
        """The material with the targets of a time, s; itself where they are those it has."""
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
        """The group (kind, vertices, rest, parameters) of a body with the targets of this material, and all else as it was."""
        *others, parameters = group
        changed = parameters.copy()
        changed[:, 1:] = self._rows(len(parameters))
        return (*others, changed)

    def _rows(self, n):
        """The stretch of every tet, (n, 6)."""
        if self._stretches.ndim == 2 and len(self._stretches) != n:
            shape = self._constants["targets"].shape
            raise ValueError(f"ShapeTarget.targets: expected shape ({n}, 3, 3), one for each tet, or (3, 3), got {shape}")
        return np.broadcast_to(self._stretches, (n, 6))


def script_of(material: Any) -> Callable[[float], ArrayLike] | None:
    """The callable that gives the targets, or None."""
    return material._script


def with_script(material: ShapeTarget, script: Callable[[float], ArrayLike]) -> ShapeTarget:
    """The material with its present targets and a callable for those of later times."""
    other = copy.copy(material)
    other._script = script
    return other


def place_of_target(materials: Any) -> int | None:
    """Which of the materials of a body is a ShapeTarget."""
    return next((place for place, material in enumerate(materials) if isinstance(material, ShapeTarget)), None)


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
