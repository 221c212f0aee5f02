"""The steps of a simulation: their times, the targets of prescribed motions, and the records."""

from __future__ import annotations

import warnings
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import any_array, integer, number, real_array
from pdgpu._internal.motion_calls import ask, asking, described_motions
from pdgpu.contact.contact_start import check_contact_start, rounding_of_contact, unbalanced_start
from pdgpu.contact.penalty_contact import PenaltyContact, warn_of_fast_obstacles
from pdgpu.contact.proxy_contact import ProxyContact
from pdgpu.contact.two_way_contact import ContactUpdate, warn_of_energy
from pdgpu.errors import DivergenceError
from pdgpu.results.records import COLUMNS, StepRecord
from pdgpu.simulation.rigid_state import follow_pins
from pdgpu.simulation.snapshots import Snapshot, snapshot_of
from pdgpu.simulation.target_lag import LATE_STEPS, describe_lag

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal

    from numpy.typing import ArrayLike

__all__ = ["Stepping", "times_of_steps"]

FOLLOWS_EVERY = 32  # steps from one look at whether the scene has left its origin to the next


def times_of_steps(scene: Any, dt: float | None, n: int | None, time: Any, name: str = "time") -> Iterable[float | None]:
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
        raise ValueError(f"{name}: expected {n} {'number' if n == 1 else 'numbers'}, one for each of n = {n} steps, got {len(times)}")
    return times


class Stepping:
    """The part of `Simulation` that takes steps."""

    def step(
        self,
        n: int = 1,
        *,
        time: ArrayLike | None = None,
        record: bool | Literal["positions"] = False,
        progress: bool = False,
    ) -> None:
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
            Fill `last_step` (of the last of the n steps); "positions" keeps the iterates too.
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
        times = times_of_steps(self._scene, self.dt, n, time)
        steps = range(n)
        if progress:
            from tqdm.auto import tqdm

            steps = tqdm(steps, unit="step")
        for k, end in zip(steps, times, strict=True):
            self._step(record if k == n - 1 else False, time=end)

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
        (time,) = times_of_steps(self._scene, self.dt, 1, time)
        with asking(self):
            return snapshot_of(self, iterations, time)

    def _end(self, time=None):
        """The time at which the step about to be solved ends, s; `time`: of a quasi-static step, None: the present one."""
        if self.dt is not None:
            return self.time + self.dt
        return self.time if time is None else time

    def _targets(self, end):
        """The targets of the pinned vertices (n, 3) m of a step that ends at a time, s, or None where no pin is scripted."""
        if not self._motions:
            return None
        targets = self.positions
        for body, indices, motion in self._motions:
            # copies of a vertex, made by a cut, go where it goes
            asked, place = np.unique(indices if body.parents is None else body.parents[indices], return_inverse=True)
            moved = real_array(f"motion of {body.name!r}", ask(motion, end, body.points[asked].copy()), (len(asked), 3))
            targets[body.slice.start + indices] = self._in_range("motion", moved)[place]
        follow_pins(self._scene, targets, self.dtype)
        return targets

    def _aim(self, ahead=True, end=None):
        """Tells the core where obstacles go in the step about to be solved. Those of proxies have no state of their own: with `ahead` they
        are there, without where they are now; so are targets of attachments and of shapes. `end`: the time at which the step ends, s."""
        end = self._end() if end is None else end
        time = end if ahead else self.time
        driven = placed = None
        with asking(self):  # all motions first: where one of them raises nothing has changed
            targets, shapes = self._tethers.targets(self, time), self._shapes_at(time)
            if self._springs is not None:
                placed = self._springs.placed(self.dtype, time)
            if self._touching is not None and self._touching.n_driven:
                driven = self._cast_positions(self._in_range("motion", self._touching.driven(end)))
        self._tethers.put(self, targets)
        for shape in shapes:
            self._retarget(*shape)
        if placed is not None:
            self._springs.place(self._backend, placed)
        if driven is not None:
            self._aimed = self._aimed[0], driven
            self._backend.set_driven(None, driven)

    def _lagging(self):
        """Which pins and obstacles lag at the end of a step."""
        return describe_lag(self, *self._aimed)

    def _check_start(self, stacklevel=3):
        """With contact: nothing meets anything, and nothing is nearer than the separation. Once for every state that is set; not once a
        shell is cut, whose copies of a vertex meet. Returns what there is to warn of."""
        soft = isinstance(self.contact, PenaltyContact | ProxyContact)  # which may start anywhere
        if self.contact is None or soft or self._start_is_checked or any(body.parents is not None for body in self._scene.bodies):
            return []
        if text := rounding_of_contact(self, self.positions):
            raise ValueError(text)
        faults = check_contact_start(self._scene, self.positions, self.time, self.contact.separation, threads=self.threads)
        self._start_is_checked = True
        if self._has_law and self._touching.coefficients.any() and (text := unbalanced_start(self)):
            warnings.warn(text, RuntimeWarning, stacklevel=stacklevel)
        return faults

    def _follow_scene(self):
        """Moves the origin after the scene, and warns once where that is not enough for contact."""
        positions = self.positions
        self._follow(positions)
        if self._start_is_checked and not self._rounding_is_said and (text := rounding_of_contact(self, positions)):
            self._rounding_is_said = True
            warnings.warn(text, RuntimeWarning, stacklevel=5)

    def _warn_of_stall(self):
        """Once: a step in contact that ended before its answer, because no move was left that rounding does not hide."""
        if self.dtype == np.float64 or not self._has_law:
            return
        farthest = float(np.abs(self.positions - self._origin).max())
        self._rounding_is_said = True
        warnings.warn(
            f"contact: a step stalled in {self.dtype.name}, with vertices up to {farthest:g} m from the origin of the scene: a gap is "
            "near the rounding of a coordinate and stops every move, or the decrease of the potential is; take a larger distance or "
            "stiffness, or dtype='float64'",
            RuntimeWarning,
            stacklevel=4,
        )

    def _step(self, record, observer=None, keep_diverged=False, guess=None, time=None):
        """One step; `guess` (n, 3): where the iterations begin, but for pinned vertices, which begin at their targets. `time`, s: of a
        quasi-static step; None: the present one."""
        with asking(self):
            if self._core.steps() % FOLLOWS_EVERY == 0 and self._core.steps():  # a start has its origin
                self._follow_scene()
            self._check_start(stacklevel=4)
            end = self._end(time)
            self._search(time)
            most = self.solver.iterations
            if self._touching is not None and self._touching.coefficients.any():
                most *= getattr(self.contact, "friction_lags", 1)
            most *= getattr(self.contact, "_passes", 1)
            rows = np.zeros((most + 1, len(COLUMNS))) if record else None
            iterates = None
            if record == "positions":
                iterates = np.empty((most + 1, len(self._masses), 3), dtype=self.dtype)

            def recorded(count, **state):
                columns = {} if rows is None else dict(zip(COLUMNS, rows[:count].T.copy(), strict=True))
                kept = None if iterates is None else iterates[:count] + self._origin if self._origin.any() else iterates[:count].copy()
                return StepRecord(columns, setup_seconds=self._setup_seconds, positions=kept, numbers=self._said, **state)

            targets = self._targets(end)  # the motions before what they change
            self._aim(end=end)
            self._aimed = targets, self._aimed[1]
            warn_of_fast_obstacles(self, self._driven_before, self._aimed[1], stacklevel=4)
            self._driven_before = self._aimed[1]
            self._turn_forces()
            try:
                if guess is not None:
                    pinned, guess = self._fixed.astype(bool), self._cast_positions(guess).copy()
                    guess[pinned] = (self.positions if targets is None else self._cast_positions(targets))[pinned]
                    if self._touching is not None:
                        check_contact_start(self._scene, guess, end, self.contact.separation, threads=self.threads)
                result = self._backend.step(targets, rows, iterates, observer, keep_diverged, guess)
                if self.dt is None:
                    self._start_time = end
            except DivergenceError as error:
                error.solver = self.solver
                count = getattr(error, "rows", 0)
                seconds = 0.0 if rows is None else float(rows[max(count - 1, 0), COLUMNS.index("seconds")])
                error.records = recorded(count, status="diverged", iteration=error.iteration, solve_seconds=seconds)
                raise
            result["update"] = ContactUpdate._of(result["update"])
            if self._has_law:
                result["stiffness"] = self._stiffness(self._backend.doublings()[0])
            counted = result["status"] != "diverged" and self._inverted.due(self, record)
            inverted = self._inverted.at(self.positions) if counted else None
            result["inverted_tets"] = None if inverted is None else len(inverted)
            self._keep(last_step=recorded(result.pop("rows"), **result))
            if result["update"] is not None and not self._energy_is_said:
                self._energy_is_said = warn_of_energy(self, result["update"], stacklevel=3)
            if self.last_step.status == "stalled" and self._touching is not None and not self._rounding_is_said:
                self._warn_of_stall()
            if result["inverted_tets"] and not self._inverted.is_said:
                self._inverted.is_said = True
                warnings.warn(
                    f"tets: {self._inverted.described(inverted)}, at {self.time:g} s; take a stiffer material, smaller loads, a shorter "
                    "dt or a finer mesh; StepRecord.inverted_tets counts them, and certify(inside=True) finds inner vertices in obstacles",
                    RuntimeWarning,
                    stacklevel=3,
                )
            if self._lag.follow(self.last_step.behind):
                warnings.warn(
                    f"contact: a target lag for {LATE_STEPS} steps: {self._lagging()}, held back by "
                    "what it pushes; take a shorter dt, more iterations, a larger contact distance or a slower motion; "
                    "run(max_behind=...) ends at a lag",
                    RuntimeWarning,
                    stacklevel=3,
                )
            if (refusal := self._backend.refusal()) and not self._refusal_is_said:
                self._refusal_is_said = True
                warnings.warn(
                    f"a CUDA graph could not be captured; iterations run as single launches, which is slower ({refusal})", stacklevel=3
                )
