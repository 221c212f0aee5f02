"""The test whether the forces of contact balance the motion of each body in the last step, and the other forces at the start."""

from __future__ import annotations

import warnings

import numpy as np

from pdgpu.simulation.contact_forces import forces_of
from pdgpu.simulation.readback import elastic_forces

__all__ = ["unbalanced_start", "warn_if_unbalanced"]

# Share of the needed force by which a sum may differ, and share of the sum of all magnitudes: opposite forces of a grip nearly cancel.
TOLERANCE, OF_MAGNITUDES = 0.1, 1e-3
OF_MOMENTUM = 1e-3  # of the momentum and the weight of a body: the residual of a free body within a tolerance
NAMED = 3
UNBALANCED = 5.0  # times the forces that can balance contact at the start, above which a warning about friction is given


def warn_if_unbalanced(core, found, stacklevel):
    """Warn of bodies whose contact forces `found` (ContactForces) do not sum to the forces required by the last step.

    The required force is M (x - y)/h^2 plus elastic and damping forces minus the load, summed over the free vertices of a body.
    """
    needed = core.backend.unbalanced()
    if needed is None:
        return
    free = core.fixed == 0
    needed, forces = needed.astype(np.float64), found.forces
    if core.subspace is not None:  # reactions of slides are not included in contact
        needed, forces = (np.einsum("nij,nj->ni", core.subspace, each) for each in (needed, forces))
    rounding = core.backend.gradient_rounding()
    rates = np.linalg.norm(core.gravity)
    if core.dt is not None:
        rates = rates + np.linalg.norm(core.backend.velocities(), axis=1) / core.dt
    momenta = OF_MOMENTUM * core.masses * rates
    wrong = []
    for body in core.scene.bodies:
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
        f"contact_forces: the forces do not balance the motion of the last step ({core.memory.last_step.status}): "
        f"{'; '.join(text for _, text in wrong[:NAMED])}{more}; take more iterations or a smaller tolerance",
        RuntimeWarning,
        stacklevel=stacklevel,
    )


def _newtons(force):
    return f"({', '.join(f'{part:.3g}' for part in force)}) N"


def unbalanced_start(core):
    """Return a warning about a body inside the activation distance whose contact forces are unbalanced, or None. Friction of the first step
    uses the normal forces at the start, and such a force is an artefact of the placement.

    The forces that can balance contact on a body are its weight, its elastic and external forces, and the change of its momentum if the
    fastest approach of a vertex in contact, or of an obstacle, ends within the step.
    """
    contact = forces_of(core)
    if not len(contact):
        return None
    _, velocities = core.state64()
    free = core.fixed == 0
    pushed = np.linalg.norm(contact.forces, axis=1) * free
    approach = -np.einsum("ij,ij->i", velocities, contact.forces) / np.where(pushed > 0.0, pushed, np.inf)
    now, then = core.backend.driven().astype(np.float64), core.touching.driven(core.end())
    speed = np.linalg.norm(then - now, axis=1).max(initial=0.0) / core.dt
    elastic = np.linalg.norm(elastic_forces(core, core.scene.bodies), axis=1) * free
    if core.external_forces is not None:
        elastic += np.linalg.norm(core.external_forces, axis=1) * free
    found = []
    for body in core.scene.bodies:
        at = body.slice
        rate = float(np.linalg.norm(core.gravity)) + (approach[at].max(initial=0.0) + speed) / core.dt
        balance = float(core.masses[at].sum()) * rate + float(elastic[at].sum())
        if float(pushed[at].sum()) > UNBALANCED * balance:
            found.append((float(pushed[at].sum()), balance, body.name))
    if not found:
        return None
    force, balance, name = max(found)
    more = f" ({len(found) - 1} bodies more)" if len(found) > 1 else ""
    return (
        f"friction: {name!r}{more} starts inside the activation distance with contact forces of {force:.3g} N, and weight, elasticity and "
        f"momentum balance {balance:.3g} N of them; friction of the first step uses these normal forces: start with larger gaps, or reach "
        "the contact by steps without friction"
    )
