"""The steps of a simulation and their times."""

from __future__ import annotations

import warnings
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import any_array, integer, number, real_array
from pdgpu._internal.counted import counted
from pdgpu._internal.motion_calls import asking
from pdgpu._internal.parts import Part
from pdgpu.contact.contact_start import rounding_of_contact
from pdgpu.scene.described_motions import described_motions
from pdgpu.simulation.resume import moved_with
from pdgpu.simulation.snapshots import Snapshot, snapshot_of
from pdgpu.simulation.time_step import take_step

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal

    from numpy.typing import ArrayLike

    from pdgpu.results.records import StepRecord

__all__ = ["Stepping", "times_of_steps"]

FOLLOWS_EVERY = 32  # steps between two checks whether the scene has left its origin


def times_of_steps(scene: Any, dt: float | None, n: Any, time: Any, name: str = "time") -> Iterable[float | None]:
    """Return the times of n quasistatic steps, s, from an argument of `Simulation.step`; n None: any number. None for each step without a
    given time. Raises as `step`; `name`: of the argument.
    """
    if dt is not None:
        if time is not None:
            raise ValueError(
                f"{name}: the time step dt = {dt:g} s sets the time of each step; only a quasistatic simulation (dt=None) takes it"
            )
        return repeat(None, n)
    if time is None:
        if moving := [words for _, words in described_motions(scene)]:
            raise ValueError(
                f"time: dt=None (quasistatic) has no time of its own, and the scene has {', '.join(moving)}; "
                "give the time of each step, as in step(time=0.1)"
            )
        return repeat(None, n)
    if any_array(name, time).ndim == 0:
        times = [number(name, time)]
    else:
        times = real_array(name, time, (None,)).tolist()
    if len(times) != n and n is not None:
        raise ValueError(f"{name}: expected {counted(n, 'number')}, one for each of n = {counted(n, 'step')}, got {len(times)}")
    return times


class Stepping(Part):
    """The part of `Simulation` for steps."""

    def step(
        self,
        n: int = 1,
        *,
        time: ArrayLike | None = None,
        record: bool | Literal["positions"] = False,
        progress: bool = False,
    ) -> StepRecord | None:
        """Take n time steps, or n quasistatic steps.

        Parameters
        ----------
        n : int
        time : float or array_like, shape (n,), optional
            Only for dt=None, s: the time of each step; a number for n = 1. A quasistatic step solves the static problem with pins,
            obstacles, attachments and shape targets at the positions of their motions at this time, which becomes `time`. Times may also
            decrease. Velocities stay 0. Obstacles and pins move there as in a time step: contact limits them, and `StepRecord.behind` is
            the remaining distance. A further step with the same time continues. By default a scene without motions is solved, and `time` is
            unchanged.
        record : False, True or "positions"
            Fill `last_step` (of the last of the n steps) and return it; "positions" stores the iterates too.
        progress : bool
            Show a bar.

        Returns
        -------
        StepRecord or None
            `last_step` with `record`.

        Raises
        ------
        ValueError
            dt=None and a scene with motions without `time`: the text names them. A `time` with a time step dt, or with another length than
            n. Or two prescribed motions meet in the step: those of two pins, or of a pin and an obstacle, of which at least one moves. The
            text names both, and the state is restored as below. Contact moves neither; obstacles may pass through each other.
        DivergenceError
            The state is restored to the start of the failed step. Every eighth step it is also raised if the kinetic energy exceeds a
            hundred times the bound by the initial state, load and pins (energy.c): a blow-up over many steps, each within its number of
            iterations. Not with PBD, dt=None, or after the first use of `device_positions` or `device_velocities`, since writers may add
            any energy.
        KeyboardInterrupt
            Ctrl-C, between two iterations; the state is restored.
        RuntimeError
            A motion of a pin, an attachment, an obstacle or of shape targets calls this simulation: it may read `time`, and step and read
            other simulations. Any other call that reads or changes the state is an error that names the call and the motion. The state is
            restored to the start of the step. Also raised during another call.

        Warns
        -----
        RuntimeWarning
            A target lag (`StepRecord.behind`) in three consecutive steps. The text names the lagging pinned bodies and obstacles in
            contact. It occurs once, and again only after all of them have arrived. Also once for inverted tets at the end of a step: with
            their number, the first of them and its body. Also for a step in contact that stalls in float32.
        """
        n = integer("n", n, 1)
        if not isinstance(record, bool | np.bool_) and not (isinstance(record, str) and record == "positions"):
            error = ValueError if isinstance(record, str) else TypeError
            raise error(f"record: expected False, True or 'positions', got {record!r}")
        times = times_of_steps(self._core.scene, self._core.dt, n, time)
        steps = range(n)
        if progress:
            from tqdm.auto import tqdm

            steps = tqdm(steps, unit="step")
        for k, end in zip(steps, times, strict=True):
            self._follow_scene()
            take_step(self._core, record if k == n - 1 else False, time=end)
        return self._core.memory.last_step if record else None

    def snapshot(self, iterations: int = 0, *, time: float | None = None) -> Snapshot:
        """The next step after some iterations, as a start for other solvers: an argument `start` of `compare`.

        Parameters
        ----------
        iterations : int
            Of this simulation's solver, fewer than in the whole step; 0: at its first guess. The simulation is unchanged.
        time : float, optional
            Only for dt=None, as for `step`: the time of the step, s.

        Returns
        -------
        Snapshot

        Raises
        ------
        ValueError
            `time` as for `step`. A step that ends before this number of iterations, or with prescribed points that have not arrived after
            them; another contact than BarrierContact, or one with several friction lags: other solvers would have another objective.
        DivergenceError
            The step diverges before.
        """
        (time,) = times_of_steps(self._core.scene, self._core.dt, 1, time)
        self._follow_scene()
        with asking(self._core):
            return snapshot_of(self._core, iterations, time)

    def _follow_scene(self):
        """Move the origin with the scene every 32 steps, and warn once if its precision is insufficient for contact."""
        core = self._core
        steps = core.compiled.steps()
        if steps % FOLLOWS_EVERY or not steps:  # the start sets the origin
            return
        with asking(core):
            positions = core.backend.positions()
            self._core = core = moved_with(core, positions)
            memory = core.memory
            if memory.start_is_checked and not memory.rounding_is_said and (text := rounding_of_contact(core, positions)):
                memory.rounding_is_said = True
                warnings.warn(text, RuntimeWarning, stacklevel=3)
