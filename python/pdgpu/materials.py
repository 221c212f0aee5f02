"""Materials: plain descriptions of the energies of csrc/elements, and the numbers those take.

A material says which element kind it becomes on a solid, a shell or a rod, and turns its constants and the rest shape into
the parameters of csrc/elements/table.h. The formulas themselves stand in csrc/elements.
"""

from __future__ import annotations

import numpy as np

from pdgpu import _host
from pdgpu.arguments import any_array, number, per_item, real_array

__all__ = ["ARAP", "Area", "Attachment", "Bending", "Material", "Spring", "StrainLimit", "Volume"]


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


# kind of csrc/elements/table.h -> name of its material, for the energies by material
MATERIAL_OF_KIND = {
    kind: material.__name__
    for material in (ARAP, Spring, Bending, Volume, Area, StrainLimit, Attachment)
    for kind in material.kinds.values()
}
