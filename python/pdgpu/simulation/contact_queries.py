"""Contact queries of a simulation: close pairs, and the forces between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdgpu._internal.motion_calls import asking
from pdgpu._internal.parts import Part
from pdgpu.contact.proxy_contact import Proxies, ProxyContact
from pdgpu.contact.two_way_contact import TwoWayContact
from pdgpu.simulation.contact_balance import warn_if_unbalanced
from pdgpu.simulation.contact_forces import PER_POINT, forces_of
from pdgpu.simulation.contacts import find_contacts, with_vertices
from pdgpu.simulation.targets import aim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdgpu.simulation.contact_forces import ContactForces
    from pdgpu.simulation.contacts import Contacts
    from pdgpu.types import Owner

__all__ = ["ContactQueries"]


class ContactQueries(Part):
    """The part of `Simulation` for contact queries."""

    def contacts(
        self, distance: float | None = None, *, bodies: Sequence[Owner] | None = None, self_collision: bool = True, unique: bool = True
    ) -> Contacts:
        """The pairs within a distance at the present positions, with obstacles at the present time.

        A query: no step depends on it.

        Parameters
        ----------
        distance : float, optional
            The largest distance of a pair, m. By default a thousandth of the diagonal of the box around the bodies at rest, a usual
            activation distance of barriers [Li et al. 2020, IPC].
        bodies : list of Body, Obstacle or str, optional
            Only pairs of two of these, or of one with itself; by default all bodies and obstacles.
        self_collision : bool
            Include pairs of a body with itself.
        unique : bool
            Return each pair of closest features (vertex, edge, triangle) once, although several pairs of a vertex and a triangle, and of
            two edges, share it: a vertex closest to an edge of two triangles is then one contact [as Wang et al. 2023, two-way interior
            point method, choose their constraints]. False: every pair.

        Returns
        -------
        Contacts

        Raises
        ------
        TypeError, ValueError
            A distance that is negative or not finite, an unknown name, a motion of an obstacle with an invalid result.

        Notes
        -----
        Surfaces of solids, or those embedded in them with `collides`, triangles of shells, edges of rods, particles and obstacle meshes are
        tested
        with each other, vertices with triangles and edges with edges. Pairs with a common vertex, and pairs of pinned vertices only, are
        excluded.
        Particles are tested neither with edges nor with each other, and no distance of two meshes is negative. All vertices are tested with
        the other
        obstacles, inside which the distance is negative. The pairs are found by a broad phase that is kept and refitted between calls, on
        the
        simulation's device; the positions are copied through the host.
        """
        with asking(self._core):
            return with_vertices(find_contacts(self._core, distance, bodies, self_collision, unique), self._core.rows)

    def contact_forces(self) -> ContactForces:
        """The active pairs at the present positions, at the end of the last step, with their forces.

        Returns
        -------
        ContactForces

        Raises
        ------
        ValueError
            A simulation without contact, or with TwoWayContact or ProxyContact.

        Warns
        -----
        RuntimeWarning
            After a step, if the sum of the forces on the free vertices of a body differs by more than a tenth from the sum required by
            inertia, elasticity, damping and load. Then the step ended before convergence. The message names the bodies.

        Notes
        -----
        Friction and slip are those of the last step, at the present positions: zero before the first step, and after `set_state`, `load`
        and `cut`.

        With `ProjectiveContact` the pairs, their normals and stiffnesses are those of the last round of the last step, and there are none
        before a step and after `set_state`, `load` and `cut`; "friction_limit" is then mu times the present normal force.
        """
        contact = self._core.contact
        if contact is None:
            raise ValueError("contact: this simulation has none; give Simulation one, such as pdgpu.BarrierContact(1e-3)")
        if isinstance(contact, TwoWayContact):
            raise ValueError("contact: TwoWayContact has no forces; StepRecord.update has its moves")
        if isinstance(contact, ProxyContact):
            raise ValueError("contact: ProxyContact has springs and no pairs; proxies() has their forces")
        found = forces_of(self._core)
        warn_if_unbalanced(self._core, found, stacklevel=3)
        return with_vertices(found, self._core.rows, PER_POINT)

    def proxies(self) -> Proxies:
        """The proxies of `ProxyContact` at the present positions, their activity and forces.

        Returns
        -------
        Proxies
            points, targets, active, forces, vertex_forces, entered, left, carriers, carrier_weights.

        Raises
        ------
        ValueError
            A simulation with another contact, or none.

        Notes
        -----
        With detection="iteration" the springs are those of a detection at the present positions. With detection="step" they are those of
        the last
        step, at their present lengths. Before the first step they are those of a detection at the present positions, also after `set_state`
        with
        positions, after `cut`, and after `load`. `gradient`, `energies` and `incremental_potential` belong to the next step, and always
        detect.
        """
        if self._core.springs is None:
            raise ValueError("contact: only ProxyContact has proxies")
        aim(self._core, ahead=False)
        return self._core.springs.read(self._core.backend)
