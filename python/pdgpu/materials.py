"""Materials: plain descriptions of the energies of csrc/elements, and the numbers those take.

A material says which element kind it becomes on a solid, a shell or a rod, and turns its constants and the rest shape into
the parameters of csrc/elements/table.h. The formulas themselves stand in csrc/elements.
"""

from __future__ import annotations

import warnings

import numpy as np

from pdgpu import _host
from pdgpu.arguments import any_array, number, per_item, real_array

__all__ = [
    "ARAP",
    "Area",
    "Attachment",
    "Bending",
    "Corotated",
    "Material",
    "NeoHookean",
    "Spring",
    "StVK",
    "StrainLimit",
    "Volume",
    "WorldBox",
]


class Material:
    """A constant per element, or one for all, by name."""

    kinds = {}  # vertices of an element -> kind of csrc/elements/table.h
    topologies = {}  # vertices of an element -> topology of _host.rest_shape, where it differs from the default
    bodies = ()  # the types of body it can be given to

    def __init__(self, **constants):
        self._constants = {name: _number_or_array(f"{type(self).__name__}.{name}", value) for name, value in constants.items()}

    def __repr__(self):
        inside = ", ".join(
            f"{name}=array of {len(value)}" if np.ndim(value) else f"{name}={value:g}" for name, value in self._constants.items()
        )
        return f"{type(self).__name__}({inside})"

    def __eq__(self, other):
        return type(self) is type(other) and all(
            np.array_equal(value, other._constants.get(name)) for name, value in self._constants.items()
        )

    __hash__ = None

    def constant(self, name, n):
        """A constant as (n,) float64."""
        limit = {"above": 0.0} if name in self.positive else {"minimum": 0.0}
        return per_item(f"{type(self).__name__}.{name}", self._constants[name], n, **limit)

    positive = ()

    def rest_shape(self, rest):
        """(gradients (m,k-1,d), measure (m,)) of rest positions (m,k,3); see _host.rest_shape."""
        k = rest.shape[1]
        topology = self.topologies.get(k, {4: "tet", 3: "triangle", 2: "edge"}[k])
        return _host.rest_shape(rest, topology)

    def kind(self, k):
        """The element kind on elements of k vertices; TypeError where there is none."""
        if k not in self.kinds:
            raise TypeError(f"{type(self).__name__} has no energy on elements of {k} vertices, only of {sorted(self.kinds)}")
        return self.kinds[k]

    def elements(self, rest):
        """(kind, rest (m,r), parameters (m,p)) for rest positions (m,k,3), float64: what csrc/elements/table.h asks for."""
        kind = self.kind(rest.shape[1])
        gradients, measure = self.rest_shape(rest)
        parameters = np.ascontiguousarray(np.column_stack(self.parameters(rest, gradients, measure)))
        return kind, np.ascontiguousarray(gradients.reshape(len(rest), gradients.shape[1] * gradients.shape[2])), parameters

    def parameters(self, rest, gradients, measure):
        raise NotImplementedError


def _number_or_array(name, value):
    """A finite number, or a finite (n,) float64 array."""
    return real_array(name, value, (None,)) if any_array(name, value).ndim else number(name, value)


class ARAP(Material):
    """As-rigid-as-possible: energy mu |F - R|^2 per volume (solids, mu in Pa) or area (shells, N/m), R the nearest rotation.

    [Bouaziz et al. 2014, Sec. 5.1 with weight 2 mu; Chao et al. 2010]. Poisson's ratio is 0.

    Parameters
    ----------
    mu : float or array_like, shape (elements,)
        At least 0.
    """

    kinds = {4: "arap_tet", 3: "arap_triangle"}
    bodies = ("solid", "shell")

    def __init__(self, mu):
        super().__init__(mu=mu)
        self.constant("mu", np.size(mu))

    @classmethod
    def from_young(cls, young, poisson):
        """mu = young / (2 (1 + poisson)); young in Pa (solids) or N/m (shells)."""
        poisson = np.asarray(_number_or_array("poisson", poisson))
        if np.any(~((poisson > -1.0) & (poisson <= 0.5))):
            raise ValueError(f"poisson: must be greater than -1 and at most 0.5, got {poisson}")
        mu = _number_or_array("young", young) / (2.0 * (1.0 + poisson))
        return cls(mu if mu.ndim else float(mu))

    def parameters(self, rest, gradients, measure):
        return [2.0 * self.constant("mu", len(rest)) * measure]


class Spring(Material):
    """Springs along edges: energy k/2 (l - L)^2 in J, k in N/m. On shells and solids one spring per unique edge.

    Parameters
    ----------
    stiffness : float or array_like, shape (edges,)
        At least 0; an array goes with `mesh.unique_edges()` (rods: `mesh.edges`).
    """

    kinds = {2: "spring"}
    bodies = ("solid", "shell", "rod")

    def __init__(self, stiffness):
        super().__init__(stiffness=stiffness)
        self.constant("stiffness", np.size(stiffness))

    def parameters(self, rest, gradients, measure):
        return [self.constant("stiffness", len(rest)), measure]


class Bending(Material):
    """Quadratic bending of a shell's hinges: energy 3 k_b / (2 (A0 + A1)) |sum c_i x_i|^2, k_b in J [Bergou et al. 2006].

    A hinge that is not flat at rest keeps the length of its mean-curvature vector instead of zero [Bouaziz et al. 2014, Sec. 5.2].

    Parameters
    ----------
    stiffness : float or array_like, shape (hinges,)
        At least 0; an array goes with `mesh.hinges`.
    """

    kinds = {4: "bending"}
    topologies = {4: "hinge"}
    bodies = ("shell",)

    def __init__(self, stiffness):
        super().__init__(stiffness=stiffness)
        self.constant("stiffness", np.size(stiffness))

    def parameters(self, rest, gradients, measure):
        differences = rest[:, 1:] - rest[:, :1]
        curvature = np.linalg.norm(np.einsum("mi,mic->mc", gradients[:, :, 0], differences), axis=1)
        size = np.einsum("mi,mi->m", np.abs(gradients[:, :, 0]), np.linalg.norm(differences, axis=2))
        curvature[curvature <= 1e-9 * size] = 0.0  # flat: exactly the quadratic energy, not rounding of one
        return [3.0 * self.constant("stiffness", len(rest)) / measure, curvature]


class Volume(Material):
    """Volume preservation of tets: energy k/2 |F - P|^2 per volume, P the nearest matrix of determinant 1; k in Pa.

    [Bouaziz et al. 2014, Sec. 5.1]

    Parameters
    ----------
    stiffness : float or array_like, shape (tets,)
    """

    kinds = {4: "volume"}
    bodies = ("solid",)

    def __init__(self, stiffness):
        super().__init__(stiffness=stiffness)
        self.constant("stiffness", np.size(stiffness))

    def parameters(self, rest, gradients, measure):
        return [self.constant("stiffness", len(rest)) * measure]


class Area(Material):
    """Area preservation of triangles: energy k/2 |F - P|^2 per area, P the nearest 3x2 matrix of area 1; k in N/m.

    [Bouaziz et al. 2014, Sec. 5.1]

    Parameters
    ----------
    stiffness : float or array_like, shape (triangles,)
    """

    kinds = {3: "area"}
    bodies = ("shell",)

    def __init__(self, stiffness):
        super().__init__(stiffness=stiffness)
        self.constant("stiffness", np.size(stiffness))

    def parameters(self, rest, gradients, measure):
        return [self.constant("stiffness", len(rest)) * measure]


class StrainLimit(Material):
    """Strain limiting: energy k/2 |F - P|^2, P = F with its singular values clamped to [minimum, maximum].

    On solids (k in Pa) and shells (k in N/m) [Bouaziz et al. 2014, Sec. 5.1].

    Parameters
    ----------
    minimum, maximum : float or array_like, shape (elements,)
        0 <= minimum <= 1 <= maximum, so that the rest shape has no energy.
    stiffness : float or array_like, shape (elements,)
    """

    kinds = {4: "strain_limit_tet", 3: "strain_limit_triangle"}
    bodies = ("solid", "shell")

    def __init__(self, minimum, maximum, stiffness):
        super().__init__(minimum=minimum, maximum=maximum, stiffness=stiffness)
        for name, value in self._constants.items():
            self.constant(name, np.size(value))
        if np.any(np.asarray(self._constants["minimum"]) > 1.0):
            raise ValueError(f"StrainLimit.minimum: must be at most 1, got {minimum}")
        if np.any(np.asarray(self._constants["maximum"]) < 1.0):
            raise ValueError(f"StrainLimit.maximum: must be at least 1, got {maximum}")

    def parameters(self, rest, gradients, measure):
        n = len(rest)
        return [self.constant("stiffness", n) * measure, self.constant("minimum", n), self.constant("maximum", n)]


class Attachment(Material):
    """A spring of rest length zero to a point in space: energy k/2 |x - target|^2, k in N/m. Bodies get it by `attach`."""

    kinds = {1: "attachment"}

    def __init__(self, stiffness):
        super().__init__(stiffness=stiffness)
        self.constant("stiffness", np.size(stiffness))

    def elements(self, rest):
        """`rest` (m,1,3) are the targets."""
        n = len(rest)
        stiffness = self.constant("stiffness", n)
        return self.kind(rest.shape[1]), np.ascontiguousarray(rest.reshape(n, 3)), np.ascontiguousarray(stiffness[:, None])


class WorldBox(Material):
    """A box that vertices are pushed back into: energy k/2 |x - clamp(x, lower, upper)|^2, k in N/m; scenes get it by `set_world_box`.

    [Chen et al. 2024, VBD, Sec. 3.4]
    """

    kinds = {1: "world_box"}

    def __init__(self, lower, upper, stiffness):
        self._lower, self._upper = (np.asarray(side, dtype=np.float64) for side in (lower, upper))
        super().__init__(stiffness=stiffness)
        self.constant("stiffness", np.size(stiffness))

    def elements(self, rest):
        """`rest` (m,1,3) are the origins that the sides are measured from."""
        n = len(rest)
        stiffness = self.constant("stiffness", n)
        sides = np.broadcast_to(np.concatenate([self._lower, self._upper]), (n, 6))
        return self.kind(rest.shape[1]), np.ascontiguousarray(rest.reshape(n, 3)), np.column_stack([stiffness, sides])


class _Lame(Material):
    """A material of two constants mu and lam, which may also be given as Young's modulus and Poisson's ratio."""

    bodies = ("solid", "shell")

    def __init__(self, mu, lam):
        super().__init__(mu=mu, lam=lam)
        n = max(np.size(mu), np.size(lam))
        self.constant("mu", n)
        self.constant("lam", n)

    @classmethod
    def from_young(cls, young, poisson):
        """The material of a Young's modulus and a Poisson's ratio, either of which may be an array, one per element.

        Parameters
        ----------
        young : float or array_like, shape (elements,)
            Pa for solids, N/m (modulus times thickness) for shells; at least 0.
        poisson : float or array_like, shape (elements,)
            At least 0 and below 0.5 (shells: at most 0.5).

        Both are kept, and converted when the material meets its elements: mu = young/(2 (1 + poisson)), lam =
        young poisson/((1 + poisson)(1 - 2 poisson)) for solids, young poisson/(1 - poisson^2) (plane stress) for shells.
        """
        self = cls.__new__(cls)
        Material.__init__(self, young=young, poisson=poisson)
        n = max(np.size(young), np.size(poisson))
        self.constant("young", n)
        ratio = self.constant("poisson", n)
        limit = 0.5 if "shell" in cls.bodies else np.nextafter(0.5, 0.0)
        if (ratio > limit).any():
            index = int(np.argmax(ratio > limit))
            raise ValueError(f"{cls.__name__}.poisson: must be {'at most' if limit == 0.5 else 'below'} 0.5, got {ratio[index]} at {index}")
        return self

    def lame(self, n, d):
        """(mu, lam), each (n,), of elements whose F has d columns."""
        if "mu" in self._constants:
            return self.constant("mu", n), self.constant("lam", n)
        young, poisson = self.constant("young", n), self.constant("poisson", n)
        return self._converted(young, poisson, d)

    def _converted(self, young, poisson, d):
        if d == 3 and (poisson >= 0.5).any():
            index = int(np.argmax(poisson >= 0.5))
            raise ValueError(f"{type(self).__name__}.poisson: must be below 0.5 for solids, got {poisson[index]} at {index}")
        lam = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)) if d == 3 else young * poisson / (1.0 - poisson**2)
        return young / (2.0 * (1.0 + poisson)), lam

    def parameters(self, rest, gradients, measure):
        mu, lam = self.lame(len(rest), gradients.shape[2])
        return [2.0 * mu * measure, lam * measure]


class NeoHookean(_Lame):
    """Stable neo-Hookean solids without the logarithmic term [Smith, de Goes, Kim 2018].

    Energy mu/2 (|F|^2 - 3) - mu (det F - 1) + lam/2 (det F - 1)^2 per volume, zero at rest. At small strains mu is the shear modulus
    and lam - mu Lame's second constant: `from_young` takes mu = young/(2 (1 + poisson)), lam = mu/(1 - 2 poisson).

    Parameters
    ----------
    mu, lam : float or array_like, shape (tets,)
        Pa, at least 0. lam <= mu/3 is refused (the rest shape would be unstable); lam < mu warns (a negative Poisson's ratio).
    """

    kinds = {4: "neo_hookean_tet"}
    bodies = ("solid",)

    def __init__(self, mu, lam):
        super().__init__(mu, lam)
        n = max(np.size(mu), np.size(lam))
        mu, lam = self.constant("mu", n), self.constant("lam", n)
        unstable = lam <= mu / 3.0
        unstable &= (mu > 0.0) | (lam > 0.0)
        if unstable.any():
            index = int(np.argmax(unstable))
            raise ValueError(
                f"NeoHookean.lam: must be greater than mu/3, or the rest shape is unstable; got lam = {lam[index]:g} "
                f"with mu = {mu[index]:g} at index {index}"
            )
        if (lam < mu).any():
            index = int(np.argmax(lam < mu))
            warnings.warn(
                f"NeoHookean.lam: {lam[index]:g} is less than mu = {mu[index]:g} at index {index}: Poisson's ratio is negative",
                stacklevel=2,
            )

    def _converted(self, young, poisson, d):
        mu = young / (2.0 * (1.0 + poisson))
        return mu, mu / (1.0 - 2.0 * poisson)


class StVK(_Lame):
    """Saint Venant-Kirchhoff: energy mu |E|^2 + lam/2 tr(E)^2 per volume or area, E = (F^T F - I)/2 [Volino et al. 2009].

    Weak under compression: a flattened element has no force that pushes it back.

    Parameters
    ----------
    mu, lam : float or array_like, shape (elements,)
        Pa (solids) or N/m (shells), at least 0.
    """

    kinds = {4: "stvk_tet", 3: "stvk_triangle"}


class Corotated(_Lame):
    """Co-rotated linear elasticity: energy mu |F - R|^2 + lam/2 tr(R^T F - I)^2 per volume or area [Müller and Gross 2004].

    Parameters
    ----------
    mu, lam : float or array_like, shape (elements,)
        Pa (solids) or N/m (shells), at least 0.
    """

    kinds = {4: "corotated_tet", 3: "corotated_triangle"}


# kind of csrc/elements/table.h -> name of its material, for the energies by material
MATERIAL_OF_KIND = {
    kind: material.__name__
    for material in (ARAP, Spring, Bending, Volume, Area, StrainLimit, Attachment, WorldBox, NeoHookean, StVK, Corotated)
    for kind in material.kinds.values()
}
