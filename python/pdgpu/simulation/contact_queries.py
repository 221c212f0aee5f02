"""What a simulation says of what touches: pairs that are near, and forces between them."""

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
    """The part of `Simulation` that looks at what is near what."""

    def contacts(
        self, distance: float | None = None, *, bodies: Sequence[Owner] | None = None, self_collision: bool = True, unique: bool = True
    ) -> Contacts:
        """What is near what at the present positions, obstacles where they are at the present time.

        A query: nothing in a step depends on it.

        Parameters
        ----------
        distance : float, optional
            Pairs that are at most this far from each other, m. Left out: a thousandth of the diagonal of the box around the bodies as they
            were added, where barriers usually set in [Li et al. 2020, IPC].
        bodies : list of Body, Obstacle or str, optional
            Only pairs of two of these, or of one with itself; all bodies and obstacles where it is left out.
        self_collision : bool
            Whether a body is looked at for pairs with itself.
        unique : bool
            Name each pair of nearest features (vertex, edge, triangle) once, though several pairs of a vertex and a triangle, and of two
            edges, have it: a vertex nearest to an edge of two triangles is one contact then [as Wang et al. 2023, two-way interior point
            method, choose their constraints]. False: every pair.

        Returns
        -------
        Contacts

        Raises
        ------
        TypeError, ValueError
            A distance that is negative or not finite, a name that no body and no obstacle has, a motion of an obstacle that returns
            something else than it should.

        Notes
        -----
        Surfaces of solids, or those embedded in them with `collides`, triangles of shells, edges of rods, particles and obstacle meshes are
        tested with each other, vertices with triangles and edges with edges, but for those that share a vertex and for those that are
        pinned throughout. Particles are not tested
        with edges nor with each other, and no distance of two meshes is negative. All vertices are tested with the other obstacles, inside
        which the distance is negative. The pairs come from a broad phase that is kept and refitted from call to call, on the
        simulation's device; the positions go through the host.
        """
        with asking(self._core):
            return with_vertices(find_contacts(self._core, distance, bodies, self_collision, unique), self._core.rows)

    def contact_forces(self) -> ContactForces:
        """The pairs that push each other apart at the present positions, which are those of the end of the last step, and how hard.

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
            After a step, where the sum of the forces on the free vertices of a body differs by more than a tenth from the sum that inertia,
            elasticity, damping and load need there. The step ended before it had converged. The message names the bodies.

        Notes
        -----
        Friction and slip are those of the last step at the present positions: before the first step, and after `set_state`, `load` and
        `cut`, zero.

        With `ProjectiveContact` the pairs, their normals and how stiff they are are those of the last round of the last step, and there are
        none before a step and after `set_state`, `load` and `cut`; "friction_limit" is then mu times the normal force of now.
        """
        contact = self._core.contact
        if contact is None:
            raise ValueError("contact: this simulation has none; give Simulation one, such as pdgpu.BarrierContact(1e-3)")
        if isinstance(contact, TwoWayContact):
            raise ValueError("contact: TwoWayContact moves what the solver came to, by no force; StepRecord.update says how")
        if isinstance(contact, ProxyContact):
            raise ValueError("contact: ProxyContact has springs and no pairs; proxies() has their forces")
        found = forces_of(self._core)
        warn_if_unbalanced(self._core, found, stacklevel=3)
        return with_vertices(found, self._core.rows, PER_POINT)

    def proxies(self) -> Proxies:
        """Where the proxies of `ProxyContact` are at the present positions, which are active, and the forces on them.

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
        With detection="iteration" the springs are those of a detection at the present positions. With detection="step" they are those that
        acted in the last step, stretched as they are now. Before the first step they are those of a detection at the present positions;
        so are they after `set_state` with positions, after `cut`, and in a simulation that was loaded. `gradient`, `energies` and
        `incremental_potential` belong to the step that comes next, and always detect.
        """
        if self._core.springs is None:
            raise ValueError("contact: only ProxyContact has proxies")
        aim(self._core, ahead=False)
        return self._core.springs.read(self._core.backend)
