"""Warnings of steps with rigid bodies: large rotations, a first guess far from the solution, and an energy that increases."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from pdgpu.scene.described_motions import described_motions
from pdgpu.scene.rigid_bodies import RigidBody

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.simulation.core import SimulationCore

__all__ = ["warn_of_rigid_step"]

# rad per step: of a body on a circle by joints or attachments, which implicit Euler brakes, and of a free one
LED_TURN, FREE_TURN = 0.02, 1.0
WORSE_GUESS = 100.0  # times G at the end
RISE = 1e-3  # of the energy, in a step


def warn_of_rigid_step(core: SimulationCore, outcome: dict[str, Any], stacklevel: int) -> None:
    """Warn of the values in `outcome`, the entry "rigid" of a step; of each once until another state is set."""
    said = core.memory.rigid_is_said
    for name, text in (("turn", _of_turns), ("guess", _of_guess), ("rise", _of_rise)):
        if name not in said and (words := text(core, outcome)):
            said.add(name)
            warnings.warn(words, RuntimeWarning, stacklevel=stacklevel + 1)


def _name_of(core: SimulationCore, number: int) -> str:
    """Return the name of a movable rigid body, by its index in the model."""
    return [body.name for body in core.scene.bodies if isinstance(body, RigidBody) and body.hinges() is not None][number]


def _of_turns(core, outcome):
    (free, led), (of_free, of_led) = outcome["turn"], outcome["turning"]
    if led > LED_TURN:
        loss = 2.0 * led**2 / core.dt
        return (
            f"spin: {_name_of(core, of_led)!r} turns by {led:.3g} rad in a step. Where joints or attachments lead its centre on a circle, "
            f"implicit Euler takes up to {loss:.3g} of the kinetic energy of that motion in a second, 2 dt w^2; above {LED_TURN} rad take "
            "a shorter step, or pin a vertex at the centre of the circle"
        )
    if free > FREE_TURN:
        return (
            f"spin: {_name_of(core, of_free)!r} turns by {free:.3g} rad in a step; its angular momentum is conserved, but contact uses "
            f"the shorter arc from pose to pose; above {FREE_TURN} rad take a shorter step"
        )
    return None


def _of_guess(core, outcome):
    if not outcome["guess"] > WORSE_GUESS * outcome["end"] > 0.0:
        return None
    return (
        f"initialization: a step ran all of its iterations from the first guess {core.solver.initialization or 'None'!r}, where the "
        f"incremental potential was {outcome['guess']:.3g} J, {outcome['guess'] / outcome['end']:.3g} times that at its end; take "
        "initialization='previous', more iterations or a smaller dt"
    )


def _of_rise(core, outcome):
    before, after = outcome["before"], outcome["after"]
    if not after - before > RISE * abs(before) or any(described_motions(core.scene)):
        return None
    return (
        f"energy: without prescribed motions, a step that has not converged raised the energy of bodies from {before:.6g} J, with the "
        f"work of the load, to {after:.6g} J; take more iterations, Newton, or softer joints"
    )
