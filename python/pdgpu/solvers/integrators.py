"""The time integrators of a simulation, and what each of them supports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdgpu._internal.arguments import choice
from pdgpu.scene.rigid_bodies import RigidBody
from pdgpu.solvers.solvers import PBD, XPBD
from pdgpu.solvers.time_step_solver import AFTER, DRIVERS

if TYPE_CHECKING:
    from typing import Any

__all__ = ["INTEGRATORS", "check_integrator", "effective_step"]

INTEGRATORS = ("implicit_euler", "bdf2", "trapezoidal", "newmark")  # order of the enumeration in csrc/dynamics/integrator/integrator.h


def effective_step(integrator: str, dt: float) -> float:
    """Return the time step of the inertia in G, s: dt, for BDF2 2 dt/3, for the trapezoidal rule and Newmark's method dt/2."""
    return {"implicit_euler": dt, "bdf2": 2.0 * dt / 3.0}.get(integrator, 0.5 * dt)


def check_integrator(integrator: Any, solver: Any, scene: Any, dt: float | None, contact: Any) -> None:
    """TypeError or ValueError for an integrator that is unknown, or that the solver, the contact, a body or dt=None does not take."""
    choice("integrator", integrator, INTEGRATORS)
    if integrator == "implicit_euler":
        return
    if dt is None:
        raise ValueError(f"integrator: {integrator!r} with dt=None (quasistatic), which has no inertia; give dt, or leave integrator out")
    if isinstance(solver, PBD | XPBD):
        raise TypeError(
            f"integrator: {type(solver).__name__} does not take {integrator!r}: it minimises no incremental potential, so that another "
            "inertial target would be no such step; every other solver does"
        )
    law = type(contact).__name__
    if law in DRIVERS or law in AFTER:
        why = "has weights of masses over dt squared" if law in DRIVERS else "moves vertices after the solver by impulses over dt"
        raise TypeError(
            f"integrator: {law} {why} and does not take {integrator!r}; BarrierContact, PenaltyContact and ProxyContact do, or leave "
            "integrator out"
        )
    rigid = [body.name for body in scene.bodies if isinstance(body, RigidBody)]
    if rigid:
        raise TypeError(
            f"integrator: rigid bodies do not take {integrator!r}, since their target is a free rotation, and {rigid[0]!r} is one; leave "
            "integrator out"
        )
