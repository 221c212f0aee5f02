"""The stiffness of a contact law that fits a scene."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pdgpu.contact.contact_pairs import pair_stiffness

__all__ = ["automatic_stiffness"]


def automatic_stiffness(contact, areas, stiffness_of_vertices):
    """`contact` with the stiffness at which a pair half-way between the separation and where it acts is as stiff as a vertex.

    Parameters
    ----------
    contact : BarrierContact
    areas : ndarray, shape (s,)
        m^2, of the points that touch; below 0 where they have none.
    stiffness_of_vertices : ndarray, shape (s,)
        N/m: a third of the trace of the block of G's Hessian at rest, inertia and elasticity, of these points; of a rigid body's the
        inertia that a push there meets.

    Notes
    -----
    Medians over the free points that touch, so that few light or stiff ones do not decide. It depends on masses, time step, moduli and
    `distance`, not on the state: two runs with the same scene have the same objective.
    """
    stiffness = stiffness_of_vertices[stiffness_of_vertices > 0.0]
    if not len(stiffness):
        raise ValueError(
            "contact: stiffness='auto' needs a free vertex that touches, with a mass in a time step or a modulus; give a number"
        )
    weight = 1.0
    if contact.area_weighted and (areas > 0.0).any():
        weight = float(np.median(areas[areas > 0.0])) / 4.0
    return replace(contact, stiffness=float(np.median(stiffness)) / pair_stiffness(replace(contact, stiffness=1.0), weight))
