"""Support of solvers for materials, contacts and slides, checked for a scene; and their settings for the core."""

from __future__ import annotations

import warnings
from dataclasses import fields, replace

import numpy as np

from pdgpu._internal.backends import device_parts
from pdgpu._internal.counted import counted
from pdgpu.contact.barrier_contact import POTENTIALS, BarrierContact
from pdgpu.contact.proxy_contact import ProxyContact
from pdgpu.linear.anderson import anderson_settings
from pdgpu.linear.linear_solvers import AJacobi, Direct, Jacobi, chebyshev_of, chebyshev_settings, check_order, linear_settings
from pdgpu.linear.schur import SchurDirect, resolved_region
from pdgpu.materials.joint_elements import Slide, Swing
from pdgpu.scene.rigid_bodies import RigidBody
from pdgpu.solvers.custom_solver import CustomSolver
from pdgpu.solvers.integrators import INTEGRATORS
from pdgpu.solvers.solvers import PBD, SOLVERS, Newton, ProjectiveDynamics, VertexBlockDescent
from pdgpu.solvers.time_step_solver import AFTER, DRIVERS, FILTERS, INITIALIZATIONS, ORIENTED, PENALTY, PROXIES, TimeStepSolver

__all__ = [
    "KINDS",
    "check_contact",
    "check_embedded",
    "check_rigid",
    "check_slides",
    "check_support",
    "default_solver",
    "method_of",
    "settings_of",
    "warn_idle_acceleration",
    "warn_slow_factors",
    "with_region",
    "with_relaxation",
]


LEFT_OUT = ("acceleration", "colouring", "preconditioner")  # fields that are no setting of the core by their own name
KINDS = (*SOLVERS, CustomSolver)  # of what a simulation takes as a solver


def method_of(solver):
    """Return the name of its method in the core."""
    return CustomSolver.__name__ if isinstance(solver, CustomSolver) else type(solver).__name__


def _linear_of(solver):
    """Return the linear solver of the global step; for nonlinear conjugate gradients that of the preconditioner."""
    if isinstance(solver.linear, str):  # "auto"
        return Direct()
    if solver.linear is not None:
        return solver.linear
    return Direct() if getattr(solver, "preconditioner", None) == "direct" else Jacobi(weight=1.0)


def default_solver(scene, contact, materials):
    """Return ProjectiveDynamics, or Newton if that does not support the materials, the contact or the rigid bodies of a scene."""
    rigid = any(isinstance(body, RigidBody) for body in scene.bodies)
    embedded = any(part.collides for body in scene.bodies if body.collides for part in body.embeddings)
    for solver in (ProjectiveDynamics(), Newton()):
        touches = contact is None or type(contact).__name__ in solver.contacts
        carries = contact is None or isinstance(contact, ProxyContact) or not embedded or solver.embedded
        if materials <= {*solver.materials, *((Slide.__name__, Swing.__name__) if solver.rigid else ())} and touches and carries:
            if solver.rigid or not rigid:
                return solver
    return ProjectiveDynamics()  # its checks then name what is not supported


def with_region(solver, scene):
    """Return the solver, with a region given by its vertices."""
    linear = getattr(solver, "linear", None)
    return replace(solver, linear=resolved_region(linear, scene)) if isinstance(linear, SchurDirect) else solver


def with_relaxation(solver, groups, fixed):
    """Return the solver; PBD without a relaxation gets 1/c, c the largest number of elements of a free vertex."""
    if not isinstance(solver, PBD) or solver.relaxation is not None:
        return solver
    met = sum((np.bincount(rows.ravel(), minlength=len(fixed)) for rows, *_ in groups.values()), np.zeros(len(fixed), int))
    return replace(solver, relaxation=1.0 / max(int(met[fixed == 0].max(initial=1)), 1))


def settings_of(solver, device, n_vertices=0, integrator="implicit_euler"):
    """The solver's settings by name, as the core's method of the name of its class declares them (SOLVERS of the module). The fields of the
    class go over as they stand, but for those that stand for something else there; colours are the simulation's to add."""
    newton = isinstance(solver, Newton)  # its matrix is the Hessian: blocks of three rows, and one iteration would be no solve
    own = isinstance(solver, CustomSolver)  # whose further fields are for its functions
    names = [field.name for field in fields(TimeStepSolver if own else solver) if field.name not in LEFT_OUT]
    settings = {name: getattr(solver, name) for name in names}
    settings.setdefault("step_tolerance", 0.0)
    settings["check_every"] = solver.check_every or (1 if device == "cpu" else 8)
    settings["lower_guess"] = solver.initialization is None
    settings["initialization"] = INITIALIZATIONS.index(solver.initialization or "inertial_target")
    settings["integrator"] = INTEGRATORS.index(integrator)
    settings["chebyshev"] = chebyshev_settings(chebyshev_of(solver))
    settings["anderson"] = anderson_settings(solver.acceleration)
    if "linear" in settings or hasattr(solver, "preconditioner"):
        settings["linear"] = linear_settings(_linear_of(solver), iterations=1000 if newton else 1, device=device, blocks=newton)
    if "hessian" in settings:
        settings["hessian"] = FILTERS.index(settings["hessian"])
    if newton:  # a step tolerance asks how far the exact direction leads
        settings["reuse"] = solver.linear == "auto" and not solver.step_tolerance > 0.0
    if isinstance(solver, ProjectiveDynamics):
        settings |= {
            "in_contact": None,
            "inner": getattr(solver.linear, "inner", 1),
            "active": getattr(solver.linear, "active", None) or 0.0,
        }
        if isinstance(solver.linear, SchurDirect):
            settings["in_contact"] = np.zeros(n_vertices, dtype=np.uint8)
            settings["in_contact"][list(solver.linear.region)] = 1
    return settings


def check_support(solver, device, materials, contact=None):
    """TypeError where the solver or the contact cannot treat a material, RuntimeError where it does not run on the device."""
    if not isinstance(solver, KINDS):
        raise TypeError(f"solver: expected a solver such as pdgpu.ProjectiveDynamics(), got {solver!r}")
    materials = materials - {Slide.__name__, Swing.__name__}  # only joints of rigid bodies have these; check_rigid covers them
    for material in sorted(materials):
        if material not in solver.materials:
            able = [kind.__name__ for kind in SOLVERS if materials <= set(kind.materials) and device_parts(device)[0] in kind.devices]
            raise TypeError(
                f"{type(solver).__name__} does not take the material {material}; {', '.join(able)} take all materials of the scene"
            )
    if type(contact).__name__ in AFTER and (oriented := sorted(materials & set(ORIENTED))):
        raise TypeError(
            f"contact: {type(contact).__name__} moves vertices after the solver and may invert tets, which {oriented[0]} forbids; "
            "BarrierContact and PenaltyContact do not"
        )
    if "CustomMaterial" in materials and isinstance(solver, VertexBlockDescent) and solver.line_search:
        raise TypeError(
            "line_search: VertexBlockDescent needs energies of single vertices, which the functions of a CustomMaterial do not provide; "
            "give line_search=False"
        )
    check_order(solver.linear, device)
    if device_parts(device)[0] not in solver.devices:
        raise RuntimeError(f"device: {type(solver).__name__} does not run on {device!r}, only on {', '.join(solver.devices)}")


def check_contact(solver, contact, dt=1.0):
    """TypeError for an object that is no contact, or a contact without support by the solver; ValueError for contact with unsupported
    settings or dt.
    """
    if contact is None:
        return
    law = type(contact).__name__
    if law not in (*POTENTIALS, PENALTY, *DRIVERS, *AFTER, PROXIES):
        raise TypeError(f"contact: expected one such as pdgpu.BarrierContact(1e-3), or None, got {contact!r}")
    if law not in getattr(solver, "contacts", ()):
        able = [kind.__name__ for kind in SOLVERS if law in getattr(kind, "contacts", ())]
        raise TypeError(f"{type(solver).__name__} does not take {law}; {', '.join(able)} {'do' if len(able) > 1 else 'does'}")
    if getattr(contact, "variant", None) == "paper":
        if not isinstance(solver, VertexBlockDescent):
            raise TypeError(f'{type(solver).__name__} does not take {law} with variant="paper"; VertexBlockDescent does')
        if solver.line_search:
            raise ValueError('line_search: with variant="paper" friction has no potential to search along; give line_search=False')
    if law in DRIVERS and dt is None:
        raise ValueError(f"contact: dt=None (quasistatic) with {law}, whose weights are masses over a time step; give dt")
    if getattr(contact, "blocks", False) and isinstance(solver.linear, AJacobi | SchurDirect):
        raise TypeError(
            f"blocks: {type(solver.linear).__name__} has one matrix for x, y and z, which blocks on the diagonal couple; Direct, Jacobi, "
            "the Gauss-Seidel kinds and PCG can"
        )
    if law in DRIVERS and solver.tolerance > 0.0:
        raise ValueError(f"tolerance: {law} has its own stopping rule; give the solver tolerance=0, got {solver.tolerance}")


def check_embedded(solver, scene, contact, device):
    """TypeError for a solver or a contact without support of a surface embedded in a solid with `collides`, RuntimeError for a device
    without it.
    """
    parts = [part for body in scene.bodies if body.collides for part in body.embeddings if part.collides]
    if contact is None or not parts or isinstance(contact, ProxyContact):
        return
    which = f"{parts[0].name!r}, which is embedded in {parts[0].body!r} with collides=True"
    if type(contact).__name__ not in (*POTENTIALS, PENALTY):
        why = "weighs pairs by the masses of their vertices" if type(contact).__name__ in DRIVERS else "moves vertices one by one"
        raise TypeError(
            f"contact: {type(contact).__name__} {why} and does not take {which}; BarrierContact, PenaltyContact and ProxyContact do, and "
            "with collides=False the surface of the tets collides"
        )
    if not getattr(solver, "embedded", ()):
        able = ", ".join(kind.__name__ for kind in SOLVERS if getattr(kind, "embedded", ()))
        raise TypeError(f"contact: {type(solver).__name__} moves the vertices of a pair separately and does not take {which}; {able} do")
    if device_parts(device)[0] not in solver.embedded:
        able = ", ".join(kind.__name__ for kind in SOLVERS if device_parts(device)[0] in getattr(kind, "embedded", ()))
        raise RuntimeError(f"device: {type(solver).__name__} with {which} runs on 'cpu' only, not on {device!r}; {able} do")


def warn_idle_acceleration(solver, stacklevel):
    """Warn of Chebyshev accelerations that never set in: of the outer iteration, and of the linear solver within a global step."""
    levels = [(type(solver).__name__, chebyshev_of(solver), solver.iterations, "a step")]
    if isinstance(solver, ProjectiveDynamics):
        inner = solver.linear
        levels.append((f"linear={type(inner).__name__}", chebyshev_of(inner), getattr(inner, "iterations", 1) or 1, "a global step"))
    for name, chebyshev, iterations, unit in levels:
        if chebyshev is not None and iterations <= chebyshev.start:
            warnings.warn(
                f"{name}: the acceleration starts after {counted(chebyshev.start, 'iteration')}, and {unit} has {iterations}: nothing is "
                "accelerated; give Chebyshev a smaller start, or more iterations",
                stacklevel=stacklevel + 1,
            )


def warn_slow_factors(solver, dt, contact, stacklevel):
    """Warn of two factors without inertia, if the second one hardly moves the soft modes of a body."""
    linear = getattr(solver, "linear", None)
    if dt is None and contact is not None and isinstance(linear, SchurDirect) and linear.active is not None:
        warnings.warn(
            f"linear: SchurDirect(active={linear.active:g}) with dt=None: each iteration reduces the error by a factor of about "
            "1 - s/(s + active) only, with s the smallest eigenvalue of the Schur complement, N/m, and may end far from equilibrium; "
            "leave active out, or give a tolerance and check StepRecord.status",
            stacklevel=stacklevel + 1,
        )


def check_rigid(solver, scene, dt, contact):
    """TypeError for a solver or a contact without support of the rigid bodies of a scene, ValueError for unsupported settings or dt."""
    names = [body.name for body in scene.bodies if isinstance(body, RigidBody)]
    if not names:
        return
    if not getattr(solver, "rigid", False):
        able = ", ".join(kind.__name__ for kind in SOLVERS if getattr(kind, "rigid", False))
        raise TypeError(f"{type(solver).__name__} does not take rigid bodies, and {names[0]!r} is one; {able} do")
    if not isinstance(getattr(solver.linear, "preconditioner", "none"), str):
        raise TypeError(f"preconditioner: a function does not take rigid bodies, and {names[0]!r} is one; give a name such as 'block'")
    if contact is not None:
        _check_rigid_contact(scene, names, contact)
    if dt is None:
        raise ValueError(f"dt: None (quasistatic) with the rigid body {names[0]!r}, whose position nothing determines then; give dt")
    if solver.chebyshev is not None or solver.acceleration is not None:
        name = "acceleration" if solver.chebyshev is None else "chebyshev"
        raise ValueError(f"{name}: rotations are not extrapolated, and {names[0]!r} is a rigid body; give {name}=None")


def _check_rigid_contact(scene, names, contact):
    """TypeError or ValueError for a contact without support of rigid bodies, or of a prescribed motion of them."""
    if not isinstance(contact, BarrierContact):
        raise TypeError(f"contact: {type(contact).__name__} does not take rigid bodies, and {names[0]!r} is one; BarrierContact does")
    for body in scene.bodies:
        if isinstance(body, RigidBody) and body.hinges() is not None and any(motion is not None for _, motion in body.pins):
            raise ValueError(
                f"contact: a pin of {body.name!r} moves, which contact does not take for a rigid body that rotates about its pins; "
                "pin three vertices or more to move all of it"
            )


def check_slides(solver, subspace, contact=None):
    """ValueError for vertices on a line or plane if the solver, or the response of contact, cannot keep them there."""
    if subspace is None:
        return
    if isinstance(solver.linear, SchurDirect):
        raise ValueError(
            f"slide: {solver!r} cannot hold vertices on a line or plane: that couples x, y and z, and its dense matrix is one for all "
            "three; Direct can"
        )
    if isinstance(solver.linear, AJacobi):
        raise ValueError(
            f"slide: {solver!r} cannot hold vertices on a line or plane: a product of AJacobi is several Jacobi steps at once, and "
            "a vertex that slides would have to be put back after each; Jacobi and every other linear solver can"
        )
    if type(contact).__name__ in DRIVERS:
        raise ValueError(
            f"slide: {type(contact).__name__} cannot hold vertices on a line or plane: it weighs a pair by masses that are free in every "
            "direction; BarrierContact, PenaltyContact and TwoWayContact can"
        )
