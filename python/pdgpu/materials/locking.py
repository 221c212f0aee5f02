"""Locking of linear tets in nearly incompressible solids: a warning for a high Poisson's ratio.

A linear tet has one deformation gradient for all of its points. If every tet must keep its volume, the mesh has few remaining motions
[Hughes 2000, The Finite Element Method, Ch. 4]. Shells do not lock this way. Their `from_young` is that of plane stress, in which lam is at
most 2 mu, with a ratio of 0.5.
"""

from __future__ import annotations

import warnings

import numpy as np

__all__ = ["HIGHEST_RATIO", "poisson_ratio", "warn_of_locking"]

HIGHEST_RATIO = 0.45  # the warning begins here


def poisson_ratio(mu, lam):
    """Return Poisson's ratio lam / (2 (lam + mu)) of Lame's constants at small strains, Pa; 0 if both are 0."""
    mu, lam = np.asarray(mu, float), np.asarray(lam, float)
    # each relative to the larger one, otherwise their sum may overflow
    largest = np.maximum(np.maximum(mu, np.abs(lam)), np.finfo(float).tiny)
    mu, lam = mu / largest, lam / largest
    total = mu + lam
    return np.divide(0.5 * lam, total, out=np.zeros_like(total), where=total > 0.0)


def warn_of_locking(body, stacklevel):
    """Warn if the sum of the materials of a solid body has, at small strains, a Poisson's ratio of HIGHEST_RATIO or more.

    Energies add up, and so do their Lame constants. Springs, and strain limits beyond the rest shape, have none and are left out. Without a
    shear modulus there is no ratio.
    """
    n = len(body.mesh.tets)
    with np.errstate(all="ignore"):  # the creation of the elements has already warned about constants that overflow
        given = [(material, material.small_strain(n)) for material in body.materials]
        given = [(material, lame) for material, lame in given if lame is not None]
        if not given:
            return
        mu, lam = (sum(np.broadcast_to(lame[k], n) for _, lame in given) for k in range(2))
        finite = np.isfinite(mu) & np.isfinite(lam) & (mu > 0.0)
        ratio = np.where(finite, poisson_ratio(mu, lam), 0.0)
    high = ratio >= HIGHEST_RATIO - 1e-12  # from_young with this ratio is rounded to either side
    if high.any():
        names = " and ".join(type(material).__name__ for material, _ in given)
        some = "" if high.all() else f" in {int(high.sum())} of {n} tets"
        warnings.warn(
            f"material: {names} of body {body.name!r} has a Poisson's ratio of {ratio.max():.6g}{some}; linear tets lock from "
            f"{HIGHEST_RATIO:g} on, and the body is too stiff in bending; take a lower ratio, or a finer mesh",
            stacklevel=stacklevel + 1,
        )
