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

FOLLOWS_EVERY = 32  # steps from one look at whether the scene has left its origin to the next


def times_of_steps(scene: Any, dt: float | None, n: Any, time: Any, name: str = "time") -> Iterable[float | None]:
    """The times of n quasi-static steps, s, as `Simulation.step` takes them; n None: as many as are given. None for each step that keeps
    the time: `time` is None. Raises as `step` says; `name`: of the argument."""
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
    """The part of `Simulation` that takes steps."""

    def step(
        self,
        n: int = 1,
        *,
        time: ArrayLike | None = None,
        record: bool | Literal["positions"] = False,
        progress: bool = False,
    ) -> StepRecord | None:
        """Take n time steps, or n quasi-static steps.

        Parameters
        ----------
        n : int
        time : float or array_like, shape (n,), optional
            For dt=None only, s: the time of each step; a number for n = 1. A quasi-static step solves the static problem with pins,
            obstacles, attachments and shape targets at the places of their motions at this time, and `time` is then this time. Times may
            also decrease. Velocities stay 0. Obstacles and pins move there as in a time step: contact limits them, and
            `StepRecord.behind` is the distance that is left. A further step with the same time continues. Without `time` a scene
            without motions is solved, and `time` stays.
        record : False, True or "positions"
            Fill `last_step` (of the last of the n steps) and return it; "positions" keeps the iterates too.
        progress : bool
            Show a bar.

        Raises
        ------
        ValueError
            dt=None, the scene has motions and `time` is not given: the text names them. A `time` with a time step dt, or with another
            length than n. Or two prescribed motions meet in the step: those of two pins, or of a pin and an obstacle, of which at least one
            moves. The text names both, and the state stays as below. Contact moves neither; obstacles may pass through each other.
        DivergenceError
            The state stays at the start of the step that failed. Every eighth step it is also raised where the kinetic energy has come to
            more than a hundred times what the state that was set, load and pins since then allow (energy.c): a blow-up over
            many steps, each of which kept to its iterations. Not with PBD, dt=None, or once `device_positions` or `device_velocities`
            has been asked for, whose writers may give it any energy.
        KeyboardInterrupt
            Ctrl-C, between two iterations; the state likewise.
        RuntimeError
            A motion of a pin, an attachment, an obstacle or of shape targets calls this simulation: it may read `time`, and step and read
            other simulations. Every other call that reads or changes the state is refused, and the error names the call and the motion.
            The state stays at the start of the step. It is also raised where another call is running.

        Warns
        -----
        RuntimeWarning
            There was a target lag (`StepRecord.behind`) in three consecutive steps. The text names the pinned bodies and obstacles that
            touch something and lag. It comes once, and again only after all of them have arrived. Also where tets are inverted at the end
            of a step, once: with their number, the first of them and its body. Also where a step in contact stalls in float32.
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
        """The step about to be solved as it is after some iterations, for other solvers to go on from: `compare` takes it as `start`.

        Parameters
        ----------
        iterations : int
            Of this simulation's solver, fewer than it takes in the step; 0: at its first guess. The simulation stays where it is.
        time : float, optional
            For dt=None only, as for `step`: the time of the step, s.

        Raises
        ------
        ValueError
            `time` as for `step`. A step that ends before so many iterations, or in which something driven has not arrived after them;
            contact by another law than BarrierContact, or with several lags of friction: no other solver would have the same objective.
        DivergenceError
            The step diverges before.
        """
        (time,) = times_of_steps(self._core.scene, self._core.dt, 1, time)
        self._follow_scene()
        with asking(self._core):
            return snapshot_of(self._core, iterations, time)

    def _follow_scene(self):
        """Every 32 steps moves the origin after the scene, and warns once where that is not enough for contact."""
        core = self._core
        steps = core.compiled.steps()
        if steps % FOLLOWS_EVERY or not steps:  # a start has its origin
            return
        with asking(core):
            positions = core.backend.positions()
            self._core = core = moved_with(core, positions)
            memory = core.memory
            if memory.start_is_checked and not memory.rounding_is_said and (text := rounding_of_contact(core, positions)):
                memory.rounding_is_said = True
                warnings.warn(text, RuntimeWarning, stacklevel=3)
