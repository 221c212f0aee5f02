"""Skin that stiffens when stretched, from two materials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import any_array, per_item
from pdgpu.materials.materials import ARAP, StrainLimit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pdgpu.materials.material import Material

__all__ = ["biphasic"]


def biphasic(mu: ArrayLike, stiff: ArrayLike, minimum: ArrayLike, maximum: ArrayLike) -> list[Material]:
    """Skin of two slopes, as the materials of a solid or a shell: soft as `ARAP` within the limits, stiffer beyond.

    Energy mu |F - R|^2 + stiff |F - Q|^2 per volume, R the closest rotation, Q = F with its singular values clamped to [minimum, maximum]
    [Wang et al. 2021, Localized collisions, Sec. 5.3]. For a bar under tension the slope of stress over stretch is 2 mu up to `maximum`,
    and 2 (mu + stiff) beyond. They are two materials of one body: all solvers for ARAP and StrainLimit support them, and
    `Simulation.energies` reports them separately.

    Parameters
    ----------
    mu, stiff : float or array_like, shape (elements,)
        Pa (solids) or N/m (shells), at least 0: the stiffness within the limits, and the additional stiffness beyond.
    minimum, maximum : float or array_like, shape (elements,)
        Stretches, 0 <= minimum <= 1 <= maximum.

    Returns
    -------
    list
        ARAP(mu), StrainLimit(minimum, maximum, 2 stiff); for ``material=``, also in a list with others.

    Raises
    ------
    ValueError
        A number out of its range, or not finite.
    """
    doubled = 2.0 * per_item("stiff", stiff, np.size(stiff), minimum=0.0)
    return [ARAP(mu), StrainLimit(minimum, maximum, doubled if any_array("stiff", stiff).ndim else float(doubled[0]))]
