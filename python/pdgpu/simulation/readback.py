"""Quantities per element, vertex and body of a simulation: energies, forces, stresses.

They are computed in float64 at the present positions, from the element groups of the simulation and by the batch loops of `pdgpu.elements`,
so that each formula exists once. Damping acts only during a step, and is not included.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import choice
from pdgpu._internal.parts import Part
from pdgpu.materials.custom_material import custom_kinds
from pdgpu.materials.elements import ENERGY, GRADIENT, of_kind
from pdgpu.materials.joint_elements import JointForce, joint_forces
from pdgpu.materials.materials import MATERIAL_OF_KIND

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal

    from pdgpu.scene.bodies import Body
    from pdgpu.simulation.core import SimulationCore
    from pdgpu.types import BodyName, Floats

__all__ = ["ReadBack", "elastic_forces", "gravity_energy", "kinetic_energy"]

# a tet whose volume is below this fraction of its rest volume has no meaningful Cauchy stress
FLAT = 1e-9


def kinetic_energy(masses: Floats, velocities: Floats) -> float:
    """Sum of m/2 |v|^2, J."""
    return float(0.5 * np.einsum("i,ij,ij->", masses, velocities, velocities))


def gravity_energy(masses: Floats, positions: Floats, gravity: Floats) -> float:
    """-sum m g . x, J."""
    return float(-np.einsum("i,ij,j->", masses, positions, gravity))


def _quantities(core, quantity, body):
    """Return (rows in the body's vertices (m,k), quantity (m,...)) of every group of elements of a body, as material -> list."""
    x = core.state64()[0][body.slice]
    found = {}
    for kind, rows, rest, parameters, _ in core.scene.elements_of(body):
        own = custom_kinds(body.materials).get(kind)
        values = of_kind(quantity, kind, rest, parameters, x[rows], threads=core.threads, own=own)
        found.setdefault(MATERIAL_OF_KIND[kind], []).append((rows, values))
    return found


def _by_material(core, quantity, bodies):
    """Return material -> quantity (m,...) of all elements of the bodies, in order."""
    found = {}
    for body in bodies:
        for name, groups in _quantities(core, quantity, body).items():
            found.setdefault(name, []).extend(values for _, values in groups)
    return {name: np.concatenate(values) for name, values in found.items()}


def elastic_forces(core: SimulationCore, bodies: Iterable[Body]) -> Floats:
    """`Simulation.forces` of bodies, in order."""
    parts = []
    for body in bodies:
        total = np.zeros_like(body.points)
        for groups in _quantities(core, GRADIENT, body).values():
            for rows, values in groups:
                for axis in range(3):
                    total[:, axis] -= np.bincount(rows.ravel(), weights=values[:, :, axis].ravel(), minlength=len(total))
        parts.append(total)
    return np.concatenate(parts)


class ReadBack(Part):
    """The part of `Simulation` for elements, vertices and bodies."""

    def joint_forces(self) -> dict[str, JointForce]:
        """The force of each joint of the scene on its first body, and its deviations, at the present positions: `JointForce` by the joint's
        name.
        """
        return joint_forces(self._core.scene, self._core.state64()[0])

    def _bodies(self, body):
        """Return the bodies of the simulation for an argument; all for None."""
        return self._core.scene.bodies if body is None else [self._core.scene.find(body)]

    def element_energies(self, body: BodyName | None = None) -> dict[str, Floats]:
        """Elastic energy of every element, J.

        Parameters
        ----------
        body : Body or str, optional
            By default all bodies, in order.

        Returns
        -------
        dict
            Name of a material -> (m,) float64, in the order of `mesh.tets` (solids), `mesh.triangles` (shells), `mesh.edges` (rods); Spring
            on solids and shells: `mesh.unique_edges()`; Bending: `mesh.hinges`; RodBending: `mesh.joints`; Attachment: in the given order;
            WorldBox: every vertex. The mesh is that of `bodies`.

        Raises
        ------
        ValueError
            No body has that name.
        """
        return _by_material(self._core, ENERGY, self._bodies(body))

    def element_forces(self, body: BodyName) -> dict[str, Floats]:
        """Forces of every element on its k corners, minus the derivative of its energy, N.

        Parameters
        ----------
        body : Body or str

        Returns
        -------
        dict
            Name of a material -> (m, k, 3) float64, elements in the order of `element_energies`, corners in the order of their row.

        Raises
        ------
        ValueError
            No body has that name.
        """
        found = _by_material(self._core, GRADIENT, [self._core.scene.find(body)])
        return {name: -gradients for name, gradients in found.items()}

    def forces(self, body: BodyName | None = None) -> Floats:
        """Elastic force on every vertex, (n, 3) float64 N: the sum over all elements, attachments and world box included.

        Pinned vertices are included: in a static state the reaction of a pin is minus this force and minus the weight.

        Parameters
        ----------
        body : Body or str, optional
            Only the vertices of this body; elements never join two bodies.
        """
        core, bodies = self._core, self._bodies(body)
        return np.concatenate([elastic_forces(core, [each])[: len(each.points) - each.n_hidden] for each in bodies])

    def body_energies(self) -> dict[str, Any]:
        """Energies of every body, J; each is `energies` without damping and contact, and they add up to it.

        Returns
        -------
        dict
            Name of a body -> dict with "kinetic", "gravity", "elastic" (a dict by material), "total".
        """
        core = self._core
        positions, velocities = core.state64()
        result = {}
        for body in core.scene.bodies:
            at = body.slice
            energies: dict[str, Any] = {
                "kinetic": kinetic_energy(core.masses[at], velocities[at]),
                "gravity": gravity_energy(core.masses[at], positions[at], core.gravity),
                "elastic": {name: float(values.sum()) for name, values in self.element_energies(body).items()},
            }
            energies["total"] = energies["kinetic"] + energies["gravity"] + sum(energies["elastic"].values())
            result[body.name] = energies
        return result

    def stress(self, body: BodyName, measure: Literal["cauchy", "first_piola"] = "cauchy") -> Floats:
        """Elastic stress in every tet of a solid, Pa: the sum over its materials on tets.

        Springs along edges and attachments are forces on vertices and no stress of a tet; damping is omitted.

        Parameters
        ----------
        body : Body or str
        measure : "cauchy" or "first_piola"
            First Piola-Kirchhoff: P = dPsi/dF, present force per rest area. Cauchy: P F^T / det F, present force per present area.

        Returns
        -------
        ndarray, shape (m, 3, 3), float64
            In the order of `mesh.tets`; row a, column b: component a of the traction on the face with normal b. For an inverted tet the
            Cauchy stress is the formula's value at its negative det F; for a flat one (|det F| below 1e-9) it is NaN, with a warning that
            counts such tets and names the first.

        Raises
        ------
        ValueError
            A body that is not a solid, or without a material on its tets; an unknown measure.
        """
        choice("measure", measure, ("cauchy", "first_piola"))
        body = self._core.scene.find(body)
        if body.type != "solid":
            raise ValueError(f"body: expected a solid, and {body.name!r} is a {body.type}")
        tets = body.mesh.tets
        x = self._core.state64()[0][body.slice]
        own = custom_kinds(body.materials)
        gradients = [
            of_kind(GRADIENT, kind, rest, parameters, x[rows], threads=self._core.threads, own=own.get(kind))
            for kind, rows, rest, parameters in body.groups
            if rows.shape[1] == 4
        ]
        if not gradients:
            raise ValueError(f"body: {body.name!r} has no material on its tets, only {', '.join(map(repr, body.materials)) or 'none'}")
        # the virial: dE/dx_i = V P g_i and sum (X_i - X_0) g_i^T = 1 give V P = sum dE/dx_i (X_i - X_0)^T, and with x_i = F X_i + c
        # V P F^T = sum dE/dx_i (x_i - x_0)^T
        corners = (x if measure == "cauchy" else body.points)[tets]
        virial = np.einsum("mia,mib->mab", np.sum(gradients, axis=0), corners - corners[:, :1])
        volumes = _host.measures(body.points, tets)
        if measure == "cauchy":
            now = _host.measures(x, tets)
            flat = np.abs(now) < FLAT * volumes
            if flat.any():
                warnings.warn(
                    f"stress: {int(flat.sum())} of {len(tets)} tets of {body.name!r} are flat, the first is {int(np.argmax(flat))}; "
                    "their Cauchy stress is NaN",
                    stacklevel=2,
                )
            volumes = np.where(flat, np.nan, now)
        return virial / volumes[:, None, None]
