"""Targets of prescribed motions in the next step: of pins, obstacles, attachments and shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import real_array
from pdgpu._internal.attributes import keep_attributes
from pdgpu._internal.motion_calls import ask, asking
from pdgpu.materials.shape_target import place_of_target
from pdgpu.simulation.rigid_state import follow_pins
from pdgpu.simulation.target_lag import describe_lag

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.materials.shape_target import ShapeTarget
    from pdgpu.scene.bodies import Body
    from pdgpu.simulation.core import SimulationCore
    from pdgpu.types import Floats

__all__ = ["aim", "lagging", "pin_targets", "retarget", "retargeted"]


def pin_targets(core: SimulationCore, end: float) -> Floats | None:
    """Return the targets of the pinned vertices (n, 3) m of a step that ends at a time, s, or None without a pin with a motion."""
    if not core.motions:
        return None
    targets = core.backend.positions()
    for body, indices, motion in core.motions:
        # copies of a vertex, made by a cut, move with it
        vertices, place = np.unique(indices if body.parents is None else body.parents[indices], return_inverse=True)
        moved = real_array(f"motion of {body.name!r}", ask(motion, end, body.points[vertices].copy()), (len(vertices), 3))
        targets[body.slice.start + indices] = core.in_range("motion", moved)[place]
    follow_pins(core.scene, targets, core.dtype)
    return targets


def aim(core: SimulationCore, ahead: bool = True, end: float | None = None) -> None:
    """Pass the targets of obstacles in the next step to the compiled model. Obstacles of proxies have no state: with `ahead` they are at
    the targets, otherwise at the present positions, and so are targets of attachments and of shapes. `end`: the time at the end of the
    step, s.
    """
    end = core.end() if end is None else end
    time = end if ahead else core.time
    driven = placed = None
    with asking(core):  # all motions first: an error of one of them must not leave a partial change
        targets, shapes = core.tethers.targets(core, time), _shapes_at(core, time)
        if core.springs is not None:
            placed = core.springs.placed(core.dtype, time)
        if core.touching is not None and core.touching.n_driven:
            driven = core.cast_positions(core.in_range("motion", core.touching.driven(end)))
    core.tethers.put(core, targets)
    for shape in shapes:
        retarget(core, *shape)
    if core.springs is not None and placed is not None:
        core.springs.place(core.backend, placed)
    if driven is not None:
        core.memory.aimed = core.memory.aimed[0], driven
        core.backend.set_driven(None, driven)


def lagging(core: SimulationCore) -> str:
    """Return the pins and obstacles that lag at the end of a step."""
    return describe_lag(core, *core.memory.aimed)


def _shapes_at(core, time):
    """Return arguments of `retarget` for each body with shape targets that change by a time, s."""
    found = []
    for body in core.scene.bodies:
        place = place_of_target(body.materials)
        material = None if place is None else body.materials[place]
        if material is not None and (now := material.at(time)) is not material:
            found.append(retargeted(core, body, place, now))
    return found


def retargeted(core: SimulationCore, body: Body, place: int, material: ShapeTarget) -> tuple[Body, int, Floats, dict[str, Any]]:
    """Return arguments of `retarget` for another ShapeTarget at this index, with other targets only."""
    kind = material.kinds[4]
    before = core.scene.bodies[: core.scene.bodies.index(body)]
    first = sum(len(group[1]) for other in before for group in other.groups if group[0] == kind)
    changed = [material.retargeted(group) if group[0] == kind else group for group in body.groups]
    parameters = next(group[3] for group in changed if group[0] == kind)
    targets = core.cast(core.in_range("targets", parameters[:, 1:]))
    materials = (*body.materials[:place], material, *body.materials[place + 1 :])
    return body, first, targets, {"materials": materials, "groups": tuple(changed)}


def retarget(core: SimulationCore, body: Body, first: int, targets: Floats, changed: dict[str, Any]) -> None:
    """Pass the targets (m, 6) from the element `first` on to the compiled model, and the dependent data to the body."""
    core.backend.set_targets(first, targets)
    keep_attributes(body, **changed)
