"""Whether the forces of contact balance the motion of each body in the last step."""

from __future__ import annotations

import warnings

import numpy as np

__all__ = ["warn_if_unbalanced"]

# Share of the needed force by which a sum may differ, and share of the sum of all magnitudes: opposite forces of a grip nearly cancel.
TOLERANCE, OF_MAGNITUDES = 0.1, 1e-3
OF_MOMENTUM = 1e-3  # of the momentum and the weight of a body: what a tolerance leaves of the residual of a free body
NAMED = 3


def warn_if_unbalanced(simulation, found, stacklevel):
    """Warns of bodies whose contact forces `found` (ContactForces) do not sum to the forces that the last step needed.

    The needed force is M (x - y)/h^2 plus elastic and damping forces less the load, summed over the free vertices of a body.
    """
    needed = simulation._backend.unbalanced()
    if needed is None:
        return
    free = simulation._fixed == 0
    needed, forces = needed.astype(np.float64), found.forces
    if simulation._subspace is not None:  # reactions of slides are none of contact
        needed, forces = (np.einsum("nij,nj->ni", simulation._subspace, each) for each in (needed, forces))
    rounding = simulation._backend.gradient_rounding()
    rates = np.linalg.norm(simulation._gravity)
    if simulation.dt is not None:
        rates = rates + np.linalg.norm(simulation.velocities, axis=1) / simulation.dt
    momenta = OF_MOMENTUM * simulation._masses * rates
    wrong = []
    for body in simulation._scene.bodies:
        rows = np.arange(body.slice.start, body.slice.stop)
        rows = rows[free[rows]]
        need, found_sum = needed[rows].sum(axis=0), forces[rows].sum(axis=0)
        magnitudes = np.linalg.norm(forces[rows], axis=1).sum()
        allowed = TOLERANCE * np.linalg.norm(need) + OF_MAGNITUDES * magnitudes + 10.0 * rounding + momenta[rows].sum()
        excess = np.linalg.norm(found_sum - need)
        if not excess <= allowed:
            wrong.append((excess, f"{body.name!r} has {_newtons(found_sum)} and needs {_newtons(need)}"))
    if not wrong:
        return
    wrong.sort(key=lambda entry: -entry[0])
    more = f" and {len(wrong) - NAMED} more" if len(wrong) > NAMED else ""
    warnings.warn(
        f"contact_forces: the forces do not balance the motion of the last step ({simulation.last_step.status}): "
        f"{'; '.join(text for _, text in wrong[:NAMED])}{more}; take more iterations or a smaller tolerance",
        RuntimeWarning,
        stacklevel=stacklevel,
    )


def _newtons(force):
    return f"({', '.join(f'{part:.3g}' for part in force)}) N"
