"""Materials: plain descriptions of the energies of csrc/elements, and their parameters.

A material has an element kind for solids, shells and rods. It converts its constants and the rest shape to the parameters of
csrc/elements/table.h. csrc/elements has the formulas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import any_array, real_array
from pdgpu.materials.custom_material import CustomMaterial
from pdgpu.materials.hinge_bending import HingeBending
from pdgpu.materials.hyperelastic import Corotated, FixedCorotated, LogNeoHookean, NeoHookean, StVK
from pdgpu.materials.joint_elements import Slide, Swing
from pdgpu.materials.material import Material, number_or_array
from pdgpu.materials.orthotropic import OrthotropicShell, OrthotropicSolid
from pdgpu.materials.shape_target import ShapeTarget

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Floats

__all__ = [
    "ARAP",
    "Area",
    "Attachment",
    "Bending",
    "Corotated",
    "CustomMaterial",
    "FixedCorotated",
    "HingeBending",
    "LogNeoHookean",
    "NeoHookean",
    "OrthotropicShell",
    "OrthotropicSolid",
    "RodBending",
    "ShapeTarget",
    "Spring",
    "StVK",
    "StrainLimit",
    "Volume",
    "WorldBox",
]


class ARAP(Material):
    """As-rigid-as-possible: energy mu |F - R|^2 per volume (solids, mu in Pa) or area (shells, N/m), R the closest rotation.

    [Bouaziz et al. 2014, Sec. 5.1 with weight 2 mu; Chao et al. 2010]. Poisson's ratio is 0.

    Parameters
    ----------
    mu : float or array_like, shape (elements,)
        At least 0.
    """

    kinds = {4: "arap_tet", 3: "arap_triangle"}
    bodies = ("solid", "shell")

    def __init__(self, mu: ArrayLike) -> None:
        super().__init__(mu=mu)
        self.constant("mu", np.size(mu))

    @classmethod
    def from_young(cls, young: ArrayLike, poisson: ArrayLike) -> ARAP:
        """The material with mu = young / (2 (1 + poisson)); young in Pa (solids) or N/m (shells)."""
        poisson = np.asarray(number_or_array("poisson", poisson))
        if np.any(~((poisson > -1.0) & (poisson <= 0.5))):
            raise ValueError(f"poisson: must be greater than -1 and at most 0.5, got {poisson}")
        mu = number_or_array("young", young) / (2.0 * (1.0 + poisson))
        return cls(mu if mu.ndim else float(mu))

    def parameters(self, rest: Any, gradients: Any, measure: Any) -> Any:
        return [2.0 * self.constant("mu", len(rest)) * measure]

    def small_strain(self, n: Any) -> Any:
        return self.constant("mu", n), 0.0


class Spring(Material):
    """Springs along edges: energy k/2 (l - L)^2 in J, k in N/m. On shells and solids one spring per unique edge.

    Parameters
    ----------
    stiffness : float or array_like, shape (edges,)
        k, N/m, at least 0; an array has the order of `mesh.unique_edges()` (rods: `mesh.edges`).
    """

    kinds = {2: "spring"}
    bodies = ("solid", "shell", "rod")

    def __init__(self, stiffness: ArrayLike) -> None:
        super().__init__(stiffness=stiffness)
        self.constant("stiffness", np.size(stiffness))

    def parameters(self, rest: Any, gradients: Any, measure: Any) -> Any:
        return [self.constant("stiffness", len(rest)), measure]


class Bending(Material):
    """Quadratic bending of a shell's hinges: energy 3 k_b / (2 (A0 + A1)) |sum c_i x_i|^2, k_b in J [Bergou et al. 2006].

    A hinge that is not flat at rest keeps the length of its mean-curvature vector at rest [Bouaziz et al. 2014, Sec. 5.2].

    Parameters
    ----------
    stiffness : float or array_like, shape (hinges,), optional
        k_b, J, at least 0; an array has the order of `mesh.hinges`.
    flexural_rigidity : float or array_like, shape (hinges,), optional
        D = 3 k_b, J; exactly one of the two is required.

    Notes
    -----
    k_b is not the flexural rigidity D = E t^3 / (12 (1 - nu^2)) of a plate. A sheet bent to a cylinder of curvature kappa has the energy
    b k_b/2 kappa^2 per area. b depends on the mesh and on the direction of the cylinder, and refinement does not bring it to 1. It is 3 for
    equilateral triangles, and for a grid of squares along its sides. Diagonals that all run in one direction stiffen the sheet across them
    up to b = 9. On unstructured meshes it is 3.3 to 4.1 (docs/limits.md). So a given D is k_b = D/3, best with triangles that are nearly
    equilateral. `HingeBending` has the same stiffness, and a side for sheets that are bent at rest.
    """

    kinds = {4: "bending"}
    topologies = {4: "hinge"}
    bodies = ("shell",)

    def __init__(self, stiffness: ArrayLike | None = None, *, flexural_rigidity: ArrayLike | None = None) -> None:
        if (stiffness is None) == (flexural_rigidity is None):
            raise TypeError(
                f"Bending.stiffness: expected one of stiffness and flexural_rigidity, got {stiffness!r} and {flexural_rigidity!r}"
            )
        given: dict[str, Any] = {"stiffness": stiffness} if flexural_rigidity is None else {"flexural_rigidity": flexural_rigidity}
        super().__init__(**given)
        for name, value in given.items():
            self.constant(name, np.size(value))

    needs_positions = True

    def parameters(self, rest: Any, gradients: Any, measure: Any) -> Any:
        rigid = "flexural_rigidity" in self._constants
        rigidity = self.constant("flexural_rigidity", len(rest)) if rigid else 3.0 * self.constant("stiffness", len(rest))
        return [rigidity / measure, _rest_curvature(rest, gradients)]


def _rest_curvature(rest: Any, gradients: Any) -> Any:
    """Return |F| of bending elements at rest, (m,); exactly 0 for flat or straight ones, so that their energy is quadratic."""
    differences = rest[:, 1:] - rest[:, :1]
    curvature = np.linalg.norm(np.einsum("mi,mic->mc", gradients[:, :, 0], differences), axis=1)
    size = np.einsum("mi,mi->m", np.abs(gradients[:, :, 0]), np.linalg.norm(differences, axis=2))
    curvature[curvature <= 1e-9 * size] = 0.0
    return curvature


class RodBending(Material):
    """Bending of a rod at the common vertex of two edges: energy k_b/(l1 + l2) |e1 + e2|^2 in J, k_b in N m^2.

    e1 and e2 point away from the common vertex along the edges, divided by their rest lengths l1, l2. So |e1 + e2| is the bending angle
    there, for small angles and edges of rest length. The energy is that of a beam of Euler and Bernoulli: k_b/2 times the square of the
    curvature over half of each edge; k_b is Young's modulus times the second moment of area. To first order in the angle it is that of
    Bergou et al. 2008, Discrete Elastic Rods, for rods with round sections; twist has no energy. A joint that is bent at rest keeps its |e1
    + e2|, as `Bending` does, and may rotate about the rod. If more edges meet, each two of them bend.

    Two pinned neighbours clamp a rod. The clamp lies in the middle of the pinned edge, at -dx/2 from the second pinned vertex, dx the
    length of that edge: half of this edge bends. For a cantilever of the length L pin two vertices at -dx/2 and dx/2.

    Parameters
    ----------
    stiffness : float or array_like, shape (joints,)
        k_b, N m^2, at least 0; an array has the order of `mesh.joints`.
    """

    kinds = {3: "rod_bending"}
    topologies = {3: "joint"}
    bodies = ("rod",)

    def __init__(self, stiffness: ArrayLike) -> None:
        super().__init__(stiffness=stiffness)
        self.constant("stiffness", np.size(stiffness))

    needs_positions = True

    def parameters(self, rest: Any, gradients: Any, measure: Any) -> Any:
        return [2.0 * self.constant("stiffness", len(rest)) / measure, _rest_curvature(rest, gradients)]


class Volume(Material):
    """Volume preservation of tets: energy k/2 |F - P|^2 per volume, P the closest matrix of determinant 1; k in Pa.

    [Bouaziz et al. 2014, Sec. 5.1]

    Parameters
    ----------
    stiffness : float or array_like, shape (tets,)
        k, Pa, at least 0.
    """

    kinds = {4: "volume"}
    bodies = ("solid",)

    def __init__(self, stiffness: ArrayLike) -> None:
        super().__init__(stiffness=stiffness)
        self.constant("stiffness", np.size(stiffness))

    def parameters(self, rest: Any, gradients: Any, measure: Any) -> Any:
        return [self.constant("stiffness", len(rest)) * measure]

    def small_strain(self, n: Any) -> Any:
        return 0.0, self.constant("stiffness", n) / 3.0  # the closest matrix of determinant 1 is F - tr(F - I)/3 I


class Area(Material):
    """Area preservation of triangles: energy k/2 |F - P|^2 per area, P the closest 3x2 matrix of area 1; k in N/m.

    [Bouaziz et al. 2014, Sec. 5.1]

    Parameters
    ----------
    stiffness : float or array_like, shape (triangles,)
        k, N/m, at least 0.
    """

    kinds = {3: "area"}
    bodies = ("shell",)

    def __init__(self, stiffness: ArrayLike) -> None:
        super().__init__(stiffness=stiffness)
        self.constant("stiffness", np.size(stiffness))

    def parameters(self, rest: Any, gradients: Any, measure: Any) -> Any:
        return [self.constant("stiffness", len(rest)) * measure]


class StrainLimit(Material):
    """Strain limiting: energy k/2 |F - P|^2, P = F with its singular values clamped to [minimum, maximum].

    On solids (k in Pa) and shells (k in N/m) [Bouaziz et al. 2014, Sec. 5.1].

    Parameters
    ----------
    minimum, maximum : float or array_like, shape (elements,)
        0 <= minimum <= 1 <= maximum, so that the rest shape has no energy.
    stiffness : float or array_like, shape (elements,)
        k, Pa or N/m, at least 0.
    """

    kinds = {4: "strain_limit_tet", 3: "strain_limit_triangle"}
    bodies = ("solid", "shell")

    def __init__(self, minimum: ArrayLike, maximum: ArrayLike, stiffness: ArrayLike) -> None:
        super().__init__(minimum=minimum, maximum=maximum, stiffness=stiffness)
        for name, value in self._constants.items():
            self.constant(name, np.size(value))
        if np.any(np.asarray(self._constants["minimum"]) > 1.0):
            raise ValueError(f"StrainLimit.minimum: must be at most 1, got {minimum!s}")
        if np.any(np.asarray(self._constants["maximum"]) < 1.0):
            raise ValueError(f"StrainLimit.maximum: must be at least 1, got {maximum!s}")

    def parameters(self, rest: Any, gradients: Any, measure: Any) -> Any:
        n = len(rest)
        return [self.constant("stiffness", n) * measure, self.constant("minimum", n), self.constant("maximum", n)]


class Attachment(Material):
    """A spring of rest length zero to a point in space: energy k/2 |x - target|^2, k in N/m. `attach` of a body adds it."""

    kinds = {1: "attachment"}

    def __init__(self, stiffness: ArrayLike) -> None:
        super().__init__(stiffness=stiffness)
        self.constant("stiffness", np.size(stiffness))

    def elements(self, rest: Any, rows: Any = None) -> Any:
        """Return the element arrays; `rest` (m,1,3) are the targets; there are no rows."""
        n = len(rest)
        stiffness = self.constant("stiffness", n)
        return self.kind(rest.shape[1]), np.ascontiguousarray(rest.reshape(n, 3)), np.ascontiguousarray(stiffness[:, None])


class WorldBox(Material):
    """A box with a restoring force on vertices outside: energy k/2 |x - clamp(x, lower, upper)|^2 per vertex, in J.

    A unilateral constraint as a potential energy [Chen et al. 2024, VBD, Sec. 3.4]; `Scene.set_world_box` adds it to a scene. In
    `pdgpu.elements` the sides are relative to `rest`.

    Parameters
    ----------
    lower, upper : array_like, shape (3,)
        Sides, m; lower < upper on every axis. A side may be infinite.
    stiffness : float or array_like, shape (vertices,)
        k, N/m, greater than 0.
    """

    kinds = {1: "world_box"}
    positive = ("stiffness",)

    def __init__(self, lower: ArrayLike, upper: ArrayLike, stiffness: ArrayLike) -> None:
        super().__init__(stiffness=stiffness)
        self.constant("stiffness", np.size(stiffness))
        low, high = _side("WorldBox.lower", lower), _side("WorldBox.upper", upper)
        if not (low < high).all():
            axis = int(np.argmin(low < high))
            raise ValueError(f"WorldBox.lower: must be less than upper on every axis, got {low[axis]:g} and {high[axis]:g} on axis {axis}")
        self._constants = {"lower": low, "upper": high, **self._constants}

    def __repr__(self) -> str:
        lower, upper, stiffness = self._constants.values()
        shown = f"array of {len(stiffness)}" if np.ndim(stiffness) else f"{stiffness:g}"
        return f"WorldBox(lower={lower.tolist()}, upper={upper.tolist()}, stiffness={shown})"

    def elements(self, rest: Any, rows: Any = None) -> Any:
        """Return the element arrays; the sides are relative to `rest` (m,1,3); there are no rows."""
        n = len(rest)
        sides = np.tile(np.concatenate([self._constants["lower"], self._constants["upper"]]), (n, 1))
        return self.kind(rest.shape[1]), np.ascontiguousarray(rest.reshape(n, 3)), np.column_stack([self.constant("stiffness", n), sides])


def _side(name: str, value: Any) -> Floats:
    """Return three numbers, each finite or infinite."""
    array = any_array(name, value)
    infinite = np.isinf(array) if array.dtype.kind == "f" else np.zeros(array.shape, dtype=bool)
    finite = real_array(name, np.where(infinite, 0.0, array) if infinite.any() else array, (3,))
    finite[infinite] = array[infinite]
    return finite


MATERIALS: tuple[type[Material], ...] = tuple(globals()[name] for name in __all__)

JOINT_MATERIALS: tuple[type[Material], ...] = (Slide, Swing)

# kind of csrc/elements/table.h -> name of its material, for the energies by material; only joints use the last two
MATERIAL_OF_KIND = {kind: material.__name__ for material in (*MATERIALS, *JOINT_MATERIALS) for kind in material.kinds.values()}
