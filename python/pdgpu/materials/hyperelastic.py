"""Hyperelastic materials of two constants: mu and lam, or Young's modulus and Poisson's ratio."""

from __future__ import annotations

import warnings

import numpy as np

from pdgpu.materials.material import Material

__all__ = ["Corotated", "FixedCorotated", "LogNeoHookean", "NeoHookean", "StVK"]


class Hyperelastic(Material):
    """An energy of two constants mu and lam, or of Young's modulus and Poisson's ratio.

    It is no distance to a constraint set: Newton and the descent methods support it, Projective Dynamics and position-based dynamics do
    not.
    """

    bodies: tuple[str, ...] = ("solid", "shell")
    projective = False

    def __init__(self, mu, lam):
        super().__init__(mu=mu, lam=lam)
        n = max(np.size(mu), np.size(lam))
        self._check(self.constant("mu", n), self.constant("lam", n))

    def __repr__(self):
        shown = super().__repr__()
        return shown.replace("(", ".from_young(", 1) if "young" in self._constants else shown

    def _check(self, mu, lam):
        """Reject invalid constants."""

    @classmethod
    def from_young(cls, young, poisson):
        """The material of a Young's modulus and a Poisson's ratio, each a number or an array with one value per element.

        Both are stored. They are converted for the elements of a body: mu = young / (2 (1 + poisson)), and lam by the class.

        Parameters
        ----------
        young : float or array_like, shape (elements,)
            Pa for solids, N/m (modulus times thickness) for shells; at least 0.
        poisson : float or array_like, shape (elements,)
            At least 0 and less than 0.5; on shells at most 0.5.

        Raises
        ------
        ValueError
            A value out of its range, or not finite.
        """
        self = cls.__new__(cls)
        Material.__init__(self, young=young, poisson=poisson)
        n = max(np.size(young), np.size(poisson))
        self.constant("young", n)
        self._check_poisson(self.constant("poisson", n), solid=cls.bodies == ("solid",))
        return self

    def _check_poisson(self, poisson, solid):
        bad = poisson >= 0.5 if solid else poisson > 0.5
        if bad.any():
            index, limit = int(np.argmax(bad)), "less than 0.5 for a solid" if solid else "at most 0.5"
            raise ValueError(f"{type(self).__name__}.poisson: must be {limit}, got {poisson[index]:g} at {index}")

    def lame(self, n, d):
        """Return (mu, lam), each (n,) float64, on elements whose F has d columns: 3 for tets, 2 for triangles."""
        if "mu" in self._constants:
            return self.constant("mu", n), self.constant("lam", n)
        young, poisson = self.constant("young", n), self.constant("poisson", n)
        self._check_poisson(poisson, solid=d == 3)
        return self._converted(young, poisson, d)

    def _converted(self, young, poisson, d):
        # 3D, and plane stress of a thin sheet
        ratio = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)) if d == 3 else poisson / (1.0 - poisson**2)
        return young / (2.0 * (1.0 + poisson)), young * ratio

    def parameters(self, rest, gradients, measure):
        mu, lam = self.lame(len(rest), gradients.shape[2])
        return [2.0 * mu * measure, lam * measure]

    def small_strain(self, n):
        return self.lame(n, 3)


class NeoHookean(Hyperelastic):
    """Stable neo-Hookean solids: energy mu/2 (|F|^2 - 3) - mu (det F - 1) + lam/2 (det F - 1)^2 per volume.

    [Smith, de Goes, Kim 2018] without the logarithmic term, shifted to be zero at rest. It is defined at every F and restores inverted
    tets; a tet collapsed to a point is an equilibrium. At small strains mu is the shear modulus and lam - mu Lame's second constant:
    Young's modulus is mu (3 lam - mu)/lam, Poisson's ratio (lam - mu)/(2 lam), and `from_young` uses lam = mu / (1 - 2 poisson).

    Parameters
    ----------
    mu, lam : float or array_like, shape (tets,)
        Pa, at least 0. lam <= mu/3 is an error: the bulk modulus lam - mu/3 would not be positive, and the rest shape unstable. mu/3 < lam
        < mu, a negative Poisson's ratio, warns.

    Raises
    ------
    ValueError
        A constant out of its range, or not finite.
    """

    kinds = {4: "neo_hookean_tet"}
    bodies = ("solid",)

    def _check(self, mu, lam):
        unstable = lam <= mu / 3.0
        if unstable.any():
            i = int(np.argmax(unstable))
            raise ValueError(
                f"NeoHookean.lam: must be greater than mu/3, or the rest shape is unstable; got lam = {lam[i]:g} with mu = {mu[i]:g} at {i}"
            )
        if (lam < mu).any():
            i = int(np.argmax(lam < mu))
            text = f"NeoHookean.lam: {lam[i]:g} is less than mu = {mu[i]:g} at {i}: Poisson's ratio (lam - mu)/(2 lam) is negative"
            warnings.warn(text, stacklevel=3)

    def _converted(self, young, poisson, d):
        mu = young / (2.0 * (1.0 + poisson))
        return mu, mu / (1.0 - 2.0 * poisson)

    def small_strain(self, n):
        mu, lam = self.lame(n, 3)
        return mu, lam - mu


class StVK(Hyperelastic):
    """Saint Venant-Kirchhoff: energy mu |E|^2 + lam/2 tr(E)^2 per volume or area, E = (F^T F - I)/2.

    [Volino, Magnenat-Thalmann, Faure 2009]. mu and lam are the constants of Lame at small strains; `from_young` uses lam = young
    poisson/((1 + poisson)(1 - 2 poisson)) on solids and young poisson/(1 - poisson^2), plane stress, on shells. It softens under
    compression: below 1/sqrt(3) of its length a bar is unstable, and an inverted tet may be at rest as a mirror image.

    Parameters
    ----------
    mu, lam : float or array_like, shape (elements,)
        Pa (solids) or N/m (shells), at least 0.

    Raises
    ------
    ValueError
        A constant out of its range, or not finite.
    """

    kinds = {4: "stvk_tet", 3: "stvk_triangle"}


class Corotated(Hyperelastic):
    """Co-rotated linear elasticity: energy mu |F - R|^2 + lam/2 tr(R^T F - I)^2 per volume or area, R the closest rotation.

    [Müller and Gross 2004; Sifakis and Barbic 2012]: ARAP with a second constant. mu, lam and `from_young` as for StVK. R is the same in
    both terms. [Wang et al. 2021, Localized collisions, Sec. 5.6] uses the rotation that minimises the second term. It differs if the sum
    of the stretches exceeds 3, and makes the term zero. The energy is no distance to a set, and for a sum above 3 no constant bounds its
    curvature. So Projective Dynamics does not support it; combine `Volume` and `ARAP` there.

    Parameters
    ----------
    mu, lam : float or array_like, shape (elements,)
        Pa (solids) or N/m (shells), at least 0.

    Raises
    ------
    ValueError
        A constant out of its range, or not finite.
    """

    kinds = {4: "corotated_tet", 3: "corotated_triangle"}


class LogNeoHookean(Hyperelastic):
    """Neo-Hookean solids: energy mu/2 (|F|^2 - 3) - mu log J + lam/2 (log J)^2 per volume, J = det F, infinite where J <= 0.

    [Bonet and Wood 2008, Nonlinear Continuum Mechanics, Eq. 6.27]. No tet inverts: every method shortens its steps, so that a tet keeps a
    tenth of its volume in a step, and starts from J > 0 only (docs/theory/objective.md). mu, lam and `from_young` as for StVK.

    Parameters
    ----------
    mu, lam : float or array_like, shape (tets,)
        Pa, at least 0.
    """

    kinds = {4: "log_neo_hookean_tet"}
    bodies = ("solid",)
    inverts = False


class FixedCorotated(Hyperelastic):
    """Fixed co-rotated solids: energy mu |F - R|^2 + lam/2 (J - 1)^2 per volume, R the nearest rotation, J = det F.

    [Stomakhin, Howes, Schroeder, Teran 2012, Energetically Consistent Invertible Elasticity]. The volume term is of J, while that of
    `Corotated` is of the trace: at F = I/2 with mu = 1 and lam = 2 Pa they have 1.516 and 3 J per m^3. The energy is finite for inverted
    tets; yet no tet inverts, as for `LogNeoHookean` [Li et al. 2020, Incremental Potential Contact, Sec. 3.1]. mu, lam and `from_young`
    as for StVK.

    Parameters
    ----------
    mu, lam : float or array_like, shape (tets,)
        Pa, at least 0.
    """

    kinds = {4: "fixed_corotated_tet"}
    bodies = ("solid",)
    inverts = False
