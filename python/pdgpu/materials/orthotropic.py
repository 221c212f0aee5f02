"""Orthotropic materials: woven cloth with a warp and a weft, solids with three stiffnesses, both of Saint Venant-Kirchhoff's energy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import any_array, per_item, real_array
from pdgpu.materials.material import Material
from pdgpu.materials.material_frames import directions, frames, in_frames, in_plane

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Floats

__all__ = ["OrthotropicShell", "OrthotropicSolid"]

ROUNDING = 1e-9  # a stiffness that is closer to singular loses its digits
PAIRS = ((0, 1), (0, 2), (1, 2))  # the order of Poisson's ratios and shear moduli


class OrthotropicShell(Material):
    """Woven cloth: orthotropic Saint Venant-Kirchhoff membranes with moduli of warp, weft and shear.

    The energy per area is 1/2 (C_11 E_11^2 + 2 C_12 E_11 E_22 + C_22 E_22^2) + 2 G E_12^2 with E = (F^T F - I)/2, axis 1 along the warp and
    axis 2 along the weft [Volino, Magnenat-Thalmann, Faure 2009]. In plane stress, with nu_21 = poisson weft/warp and d = 1 - poisson
    nu_21, C_11 = warp/d, C_22 = weft/d, C_12 = poisson weft/d [Jones 1999, Mechanics of Composite Materials, Sec. 2.5]. With warp = weft =
    young and shear = young/(2 (1 + poisson)) it is `StVK.from_young`.

    Like `StVK` it softens under compression: below 1/sqrt(3) of its length a strip is unstable, and may collapse. Cloth with `bending` or
    `flexural_rigidity` folds before. Projective Dynamics, PBD and nonlinear conjugate gradients do not support it, since the energy is no
    distance to a constraint set.

    Parameters
    ----------
    warp, weft : float or array_like, shape (triangles,)
        Young's moduli times the thickness, N/m, greater than 0.
    shear : float or array_like, shape (triangles,)
        Shear modulus G times the thickness, N/m, greater than 0. Woven cloth has far less than young/(2 (1 + poisson)).
    poisson : float or array_like, shape (triangles,)
        nu_12, the contraction of the weft over the extension of the warp, under a tension along the warp. poisson^2 < warp/weft, so that
        the energy of every strain is positive.
    direction : array_like, shape (3,) or (triangles, 3)
        Of the warp at rest, of any length, projected into each triangle. The weft is at a right angle to it. `warp_directions` computes it
        from coordinates of a texture or a sewing pattern.

    Raises
    ------
    ValueError
        A constant out of its range, or not finite. By `Scene.add_shell`: a direction that is normal to its triangle.

    Examples
    --------
    >>> denim = pdgpu.OrthotropicShell(warp=800.0, weft=400.0, shear=40.0, poisson=0.2, direction=(0.0, 1.0, 0.0))
    """

    kinds = {3: "orthotropic_triangle"}
    bodies = ("shell",)
    projective = False
    positive = ("warp", "weft", "shear")
    needs_positions = True

    def __init__(self, warp: ArrayLike, weft: ArrayLike, shear: ArrayLike, poisson: ArrayLike = 0.0, *, direction: ArrayLike) -> None:
        super().__init__(warp=warp, weft=weft, shear=shear, poisson=poisson)
        n = max(np.size(value) for value in self._constants.values())
        self._stiffness(n)
        self._constants["direction"] = directions("OrthotropicShell.direction", direction)

    def __repr__(self) -> str:
        return f"OrthotropicShell({_shown(self._constants, {'': 0, 'direction': 1})})"

    def _stiffness(self, n: int) -> tuple[Floats, Floats]:
        """Return (C (n, 2, 2), G (n, 1)), N/m."""
        warp, weft, shear = (self.constant(name, n) for name in self.positive)
        poisson = per_item("OrthotropicShell.poisson", self._constants["poisson"], n)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            other = poisson * (weft / warp)
            share = 1.0 - poisson * other
            bad = ~((share > ROUNDING) & (share < np.inf))
        if bad.any():
            i = int(np.argmax(bad))
            raise ValueError(
                f"OrthotropicShell.poisson: its square must be less than warp/weft = {warp[i] / weft[i]:g}, or a strain has "
                f"a negative energy; got {poisson[i]:g} at {i}; the ratio of the weft is poisson weft/warp"
            )
        C = np.empty((n, 2, 2))
        C[:, 0, 0], C[:, 1, 1], C[:, 0, 1] = warp / share, weft / share, poisson * (weft / share)
        C[:, 1, 0] = C[:, 0, 1]
        return C, shear[:, None]

    def rest_shape(self, rest: Any, rows: Any = None) -> Any:
        """Return the rest gradients in the frames of warp and weft, and the areas."""
        gradients, measure = super().rest_shape(rest, rows)
        corners = rest if rows is None else np.take(rest, rows, axis=0)
        return in_plane("OrthotropicShell.direction", gradients, corners, self._constants["direction"]), measure

    def parameters(self, rest: Any, gradients: Any, measure: Any) -> Any:
        uniform = not any(np.ndim(self._constants[name]) for name in (*self.positive, "poisson"))
        return _columns(*self._stiffness(1 if uniform else len(measure)), measure)


class OrthotropicSolid(Material):
    """Solids with three axes of different stiffness: wood, muscle, composites, bone. Orthotropic Saint Venant-Kirchhoff energy.

    The energy per volume is 1/2 E : C : E with E = (F^T F - I)/2 in the axes of the material. C is the inverse of the compliances 1/E_i,
    -nu_ij/E_i and 1/G_ij [Jones 1999, Mechanics of Composite Materials, Sec. 2.3]. With equal moduli, equal ratios and G = young/(2 (1 +
    poisson)) it is `StVK.from_young`.

    Like `StVK` it softens under compression: below 1/sqrt(3) of its length a bar is unstable, and an inverted tet may be at rest as a
    mirror image. Projective Dynamics, PBD and nonlinear conjugate gradients do not support it, since the energy is no distance to a
    constraint set.

    Parameters
    ----------
    young : array_like, shape (3,) or (tets, 3)
        Young's moduli E_1, E_2, E_3 along the axes, Pa, greater than 0.
    poisson : array_like, shape (3,) or (tets, 3)
        nu_12, nu_13, nu_23. nu_ij is the contraction along axis j over the extension along axis i, under a tension along axis i. The other
        three follow: nu_ji = nu_ij E_j/E_i. The stiffness must be positive definite: nu_ij^2 < E_i/E_j for every pair, and 1 - nu_12
        nu_21 - nu_13 nu_31 - nu_23 nu_32 - 2 nu_21 nu_32 nu_13 > 0 [Jones 1999, Sec. 2.4].
    shear : array_like, shape (3,) or (tets, 3)
        Shear moduli G_12, G_13, G_23, Pa, greater than 0.
    axes : array_like, shape (3, 3) or (tets, 3, 3), optional
        Row i is the direction of axis i at rest: unit vectors at right angles. By default x, y and z. The sign of an axis has no effect.

    Raises
    ------
    ValueError
        A constant out of its range, or not finite; rows of `axes` that are not orthonormal; a stiffness that is not positive definite. By
        `Scene.add_solid`: arrays whose length is not the number of tets.

    Examples
    --------
    Spruce with its fibres along x, then a beam whose fibres are turned by 30 degrees about z:

    >>> spruce = dict(young=(11e9, 0.9e9, 0.5e9), poisson=(0.37, 0.42, 0.47), shear=(0.7e9, 0.6e9, 0.04e9))
    >>> straight = pdgpu.OrthotropicSolid(**spruce)
    >>> c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    >>> turned = pdgpu.OrthotropicSolid(**spruce, axes=[[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    """

    kinds = {4: "orthotropic_tet"}
    bodies = ("solid",)
    projective = False
    positive = ("young", "shear")

    def __init__(self, young: ArrayLike, poisson: ArrayLike, shear: ArrayLike, *, axes: ArrayLike | None = None) -> None:
        given = {"young": young, "poisson": poisson, "shear": shear}
        self._constants = {
            name: real_array(
                f"OrthotropicSolid.{name}", value, (3,) if any_array(f"OrthotropicSolid.{name}", value).ndim == 1 else (None, 3)
            )
            for name, value in given.items()
        }
        self._stiffness(max([1, *(len(value) for value in self._constants.values() if value.ndim == 2)]))
        self._constants["axes"] = np.eye(3) if axes is None else frames("OrthotropicSolid.axes", axes)

    def __repr__(self) -> str:
        return f"OrthotropicSolid({_shown(self._constants, {'': 1, 'axes': 2})})"

    def _rows(self, name: str, n: int) -> Floats:
        """Return a constant as (n, 3)."""
        value = self._constants[name]
        if value.ndim == 2 and len(value) != n:
            raise ValueError(f"OrthotropicSolid.{name}: expected shape ({n}, 3), one row for each tet, or (3,), got {value.shape}")
        if name in self.positive and not (value > 0.0).all():
            index = tuple(int(i) for i in np.argwhere(~(value > 0.0))[0])
            raise ValueError(
                f"OrthotropicSolid.{name}: must be greater than 0, got {value[index]:g} at {index[0] if len(index) == 1 else index}"
            )
        return np.broadcast_to(value, (n, 3))

    def _stiffness(self, n: int) -> tuple[Floats, Floats]:
        """Return (C (n, 3, 3), G (n, 3)), Pa."""
        young, poisson, shear = (self._rows(name, n) for name in ("young", "poisson", "shear"))
        # scaled to 1 on the diagonal, E_i and E_j may differ by any factor: -nu_ij sqrt(E_j/E_i)
        scaled = np.broadcast_to(np.eye(3), (n, 3, 3)).copy()
        root = np.sqrt(young)
        for pair, (i, j) in enumerate(PAIRS):
            with np.errstate(over="ignore"):
                part = poisson[:, pair] * (root[:, j] / root[:, i])
            bad = ~(np.abs(part) < 1.0 - ROUNDING)
            if bad.any():
                at = int(np.argmax(bad))
                raise ValueError(
                    f"OrthotropicSolid.poisson: nu_{i + 1}{j + 1}^2 must be less than E_{i + 1}/E_{j + 1} = "
                    f"{young[at, i] / young[at, j]:g}, or the stiffness is not positive definite; "
                    f"got {poisson[at, pair]:g} for element {at}; "
                    f"nu_{j + 1}{i + 1} is nu_{i + 1}{j + 1} E_{j + 1}/E_{i + 1}"
                )
            scaled[:, i, j] = scaled[:, j, i] = -part
        rest = np.linalg.det(scaled)
        if not (rest > ROUNDING).all():
            at = int(np.argmax(~(rest > ROUNDING)))
            raise ValueError(
                f"OrthotropicSolid.poisson: the three ratios together make the stiffness not positive definite: 1 - nu_12 nu_21 - "
                f"nu_13 nu_31 - nu_23 nu_32 - 2 nu_21 nu_32 nu_13 is {rest[at]:g} and must be greater than 0; "
                f"got {poisson[at].tolist()} for element {at}; make them smaller"
            )
        return np.linalg.inv(scaled) * root[:, :, None] * root[:, None, :], shear

    def rest_shape(self, rest: Any, rows: Any = None) -> Any:
        """Return the rest gradients in the frames of the material, and the volumes."""
        gradients, measure = super().rest_shape(rest, rows)
        return in_frames("OrthotropicSolid.axes", gradients, self._constants["axes"]), measure

    def parameters(self, rest: Any, gradients: Any, measure: Any) -> Any:
        uniform = all(self._constants[name].ndim == 1 for name in (*self.positive, "poisson"))
        return _columns(*self._stiffness(1 if uniform else len(measure)), measure)


def _columns(C: Floats, G: Floats, measure: Any) -> list[Any]:
    """Return the parameters of csrc/elements/orthotropic.h."""
    d = C.shape[1]
    # the curvatures at rest over strains of norm 1
    weight = np.median(np.concatenate([np.linalg.eigvalsh(C), 2.0 * G], axis=1), axis=1)
    upper = np.triu_indices(d)
    return [weight * measure, *(C[:, upper[0], upper[1]].T * measure), *(G.T * measure)]


def _shown(constants: dict[str, Any], ranks: dict[str, int]) -> str:
    """Return the constants for a repr; those with a rank above that of one element are arrays over elements."""
    parts = []
    for name, value in constants.items():
        rank = ranks.get(name, ranks[""])
        one = f"{value:g}" if not np.ndim(value) else np.array2string(np.asarray(value), separator=", ").replace("\n", "")
        parts.append(f"{name}={one if np.ndim(value) == rank else f'array of {len(value)}'}")
    return ", ".join(parts)
