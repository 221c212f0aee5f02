"""Single elements in batches: energy, gradient, Hessian, corner blocks and projection of any material.

Everything is computed in float32 if all inputs are float32, else in float64. The kind of element follows from the material and
the number of vertices k: Spring 2; ARAP, StrainLimit, StVK, Corotated 3 or 4; Area, RodBending, OrthotropicShell 3; NeoHookean,
LogNeoHookean, FixedCorotated, OrthotropicSolid, ShapeTarget, Volume, Bending, HingeBending 4; CustomMaterial 4 or 3, as its `bodies`
say; Attachment 1 (`rest` is its target), WorldBox 1 (its sides are measured from `rest`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import flag, real_array
from pdgpu._internal.backends import backend, thread_count
from pdgpu.materials.custom_material import CustomMaterial
from pdgpu.materials.material import Material

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Floats

__all__ = ["blocks", "energy", "gradient", "hessian", "projection"]

ENERGY, GRADIENT, HESSIAN, HESSIAN_PSD, PROJECTION, STRESS, BLOCKS = range(7)  # PD_BATCH_... of csrc/loops/element_loops.h


# the function of a CustomMaterial that each of them needs: energy, stress or Hessian
FOUND = {ENERGY: 0, GRADIENT: 1, STRESS: 1, HESSIAN: 2, HESSIAN_PSD: 2, BLOCKS: 2}


def _batch(quantity: Any, material: Any, x: Any, rest: Any, threads: Any) -> Floats:
    if not isinstance(material, Material):
        raise TypeError(f"material: expected a material such as pdgpu.ARAP, got {material!r}")
    single = all(getattr(array, "dtype", None) == np.float32 for array in (x, rest))
    x = real_array("x", x, (None, None, 3))
    rest = real_array("rest", rest, (None, None, 3))
    if rest.shape != x.shape:
        raise ValueError(f"rest: expected shape {x.shape} as x, got {rest.shape}")
    if quantity == PROJECTION and not material.projective:
        raise TypeError(f"material: {type(material).__name__} has no projection: its energy is no distance to a constraint set")
    kind, shapes, parameters = material.elements(rest)
    own = material if isinstance(material, CustomMaterial) else None
    dtype = np.float32 if single else np.float64
    return of_kind(quantity, kind, shapes, parameters, x, dtype=dtype, threads=threads, own=own)


def of_kind(
    quantity: Any,
    kind: Any,
    gradients: Any,
    parameters: Any,
    x: Any,
    *,
    dtype: Any = np.float64,
    threads: Any = 0,
    own: CustomMaterial | None = None,
) -> Any:
    """Return a quantity of elements with known rest shape and parameters, as returned by `Material.elements`. own: their CustomMaterial, if
    any.
    """
    module = backend("cpu", dtype)
    if own is not None:
        parameters = own.evaluated(FOUND[quantity], kind, x, gradients, parameters, dtype)
    arrays = (np.ascontiguousarray(array, dtype=dtype) for array in (x, gradients, parameters))
    return module.element_batch(module.KINDS[kind][0], quantity, *arrays, thread_count(threads))


def energy(material: Material, x: ArrayLike, rest: ArrayLike, *, threads: int = 0) -> Floats:
    """Energy of each element, (m,) J.

    Parameters
    ----------
    material : Material
        Its constants may be arrays of m numbers.
    x, rest : array_like, shape (m, k, 3)
        Present and rest positions of the corners, m.

    Returns
    -------
    ndarray, shape (m,)

    Raises
    ------
    TypeError
        A material that has no energy on elements of k vertices.
    ValueError
        A wrong shape, a coordinate that is not finite, a rest element without volume, area or length.
    """
    return _batch(ENERGY, material, x, rest, threads)


def gradient(material: Material, x: ArrayLike, rest: ArrayLike, *, threads: int = 0) -> Floats:
    """Derivative of `energy` by the corner positions, (m, k, 3) N. Parameters and errors as for `energy`."""
    return _batch(GRADIENT, material, x, rest, threads)


def hessian(material: Material, x: ArrayLike, rest: ArrayLike, *, psd: bool = False, threads: int = 0) -> Floats:
    """Second derivative of `energy`, (m, 3k, 3k) N/m, row 3 i + axis for corner i. Other parameters and errors as for `energy`.

    Parameters
    ----------
    psd : bool
        Project each element's Hessian by F to the closest positive semidefinite matrix, analytically [Smith, de Goes, Kim 2019].
    """
    return _batch(HESSIAN_PSD if flag("psd", psd) else HESSIAN, material, x, rest, threads)


def blocks(material: Material, x: ArrayLike, rest: ArrayLike, *, threads: int = 0) -> Floats:
    """The terms of each element in the 3x3 blocks of its vertices, (m, k, 3, 3) N/m [Chen et al. 2024, VBD, Eq. 9].

    The diagonal blocks of `hessian`, by formulas without a (3k, 3k) matrix, always positive semidefinite. They are exact for NeoHookean.
    For other materials indefinite terms, usually under compression, are clamped at zero, so that a block is never below the exact one.
    Parameters and errors as for `energy`.
    """
    return _batch(BLOCKS, material, x, rest, threads)


def projection(material: Material, x: ArrayLike, rest: ArrayLike, *, threads: int = 0) -> Floats:
    """The closest point of the constraint set to F of each element, (m, 3, d): the local step of Projective Dynamics.

    d is 3 for tets, 2 for triangles, 1 for springs, hinges and attachments [Bouaziz et al. 2014, Eq. 3]. Arguments and errors as
    for `energy`; TypeError also for NeoHookean, LogNeoHookean, FixedCorotated, StVK, Corotated, HingeBending, CustomMaterial,
    OrthotropicSolid and OrthotropicShell, whose energies are no distance to a set.
    """
    return _batch(PROJECTION, material, x, rest, threads)
