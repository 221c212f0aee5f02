"""The automatic stiffness of a contact potential in a scene."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pdgpu.contact.contact_pairs import pair_stiffness

__all__ = ["automatic_stiffness"]


def automatic_stiffness(contact, areas, stiffness_of_vertices):
    """`contact` with a stiffness that fits the scene.

    A pair half-way between the separation and its activation distance is then as stiff as a vertex.

    Parameters
    ----------
    contact : BarrierContact
    areas : ndarray, shape (s,)
        m^2, of the points of the contact surface; < 0 for points without an area.
    stiffness_of_vertices : ndarray, shape (s,)
        N/m: a third of the trace of the block of G's Hessian at rest, inertia and elasticity, of these points; of a rigid body the
        effective inertia at the point.

    Returns
    -------
    BarrierContact

    Raises
    ------
    ValueError
        No free point of the contact surface has a mass in a time step or a modulus.

    Notes
    -----
    Medians over the free points of the contact surface, so that a few light or stiff ones have no effect. The result depends on masses,
    time step, moduli and `distance`, not on the state: two runs with the same scene have the same objective.
    """
    stiffness = stiffness_of_vertices[stiffness_of_vertices > 0.0]
    if not len(stiffness):
        raise ValueError(
            "contact: stiffness='auto' needs a free vertex on a contact surface, with a mass in a time step or a modulus; give a number"
        )
    weight = 1.0
    if contact.area_weighted and (areas > 0.0).any():
        weight = float(np.median(areas[areas > 0.0])) / 4.0
    return replace(contact, stiffness=float(np.median(stiffness)) / pair_stiffness(replace(contact, stiffness=1.0), weight))
