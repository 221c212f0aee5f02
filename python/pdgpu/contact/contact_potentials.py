"""The contact potential of each kind of contact, and its description for the core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdgpu.contact.projective_contact import ProjectiveContact, projective_description, projective_law
from pdgpu.contact.two_way_contact import TwoWayContact, two_way_description, two_way_law

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.contact.contact_scene import ContactScene
    from pdgpu.types import Floats

__all__ = ["contact_description", "has_own_potential", "potential_of"]


def has_own_potential(contact: Any) -> bool:
    """Tells whether the contact has a potential of its own."""
    return not isinstance(contact, ProjectiveContact | TwoWayContact)


def potential_of(contact: Any) -> Any:
    """The barrier or penalty that finds the pairs: the contact itself, or one whose energy does not act."""
    if isinstance(contact, ProjectiveContact):
        return projective_law(contact)
    return two_way_law(contact) if isinstance(contact, TwoWayContact) else contact


def contact_description(contact: Any, touching: ContactScene, dtype: Any, dt: float | None, gravity: Floats) -> dict[str, Any]:
    """The description for the core in addition to the potential; dt in s, gravity (3,) m/s^2. Contacts without a potential have their own
    friction.
    """
    if isinstance(contact, ProjectiveContact):
        return projective_description(contact, dt, gravity) | {"slip": 0.0}
    return two_way_description(contact, touching, dtype, dt) | {"slip": 0.0} if isinstance(contact, TwoWayContact) else {}
