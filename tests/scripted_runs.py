"""Runs of scenes as a user scripts them, each checked by a law that the solver does not use, and a verdict on its result.

A check is a list of measures: the sum of contact forces against a weight, an impulse against a change of momentum, an energy against its
start, a speed or a position against a closed form. A measure names the steps that it depends on. A failure counts as stated if one of
these steps has another status than "converged", a RuntimeWarning, or a target lag.
"""

import dataclasses
import math
import time
import warnings
from collections.abc import Callable

import numpy as np

import pdgpu

VERDICTS = ("right", "late and said", "refused", "late and unsaid", "wrong and unsaid")
UNSAID = VERDICTS[3:]
FORCE, IMPULSE = 0.1, 0.05  # relative bounds: of the force in one step, of the impulse of all steps
REFUSALS = (ValueError, TypeError, RuntimeError, pdgpu.DivergenceError)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScriptedCase:
    """A scene, its solver, and `check`: callable(Course) -> list of Measure.

    `prepare` changes the simulation before the first step, `advance` takes a step. `forces`: contact_forces() has the forces.
    """

    scene: pdgpu.Scene
    solver: object
    steps: int
    check: Callable
    contact: object = None
    dt: float | None = 1e-2
    dtype: str = "float64"
    forces: bool = True
    prepare: Callable = lambda sim: None
    advance: Callable = lambda sim: sim.step()


@dataclasses.dataclass(frozen=True)
class Measure:
    """A number next to the right one. `late`: it is a motion. `steps`: the steps that it depends on, all without it."""

    name: str
    found: float
    right: float
    bound: float
    late: bool = False
    steps: object = None

    @property
    def holds(self):
        return bool(abs(self.found - self.right) <= self.bound)

    def __str__(self):
        return f"{self.name} {self.found:.4g}, right {self.right:.4g} +- {self.bound:.2g}"


class Course:
    """The states of a run: arrays with a row for the start and for the end of each step.

    `x`, `v`, `contact`: (steps + 1, n, 3) in m, m/s and N. `energies`: J, without friction. `behind`: m. `said`: a text per step, empty for
    a step that states that it converged. `alarms`: the number of steps that converge and warn.
    """

    def __init__(self, case, sim, at_start):
        self.case, self.scene, self.sim = case, sim._core.public_scene, sim
        self.masses = sim.masses.astype(np.float64)
        self.said, self.behind, self._start = [], [0.0], at_start
        self.iterations = self.alarms = 0
        self._rows = [self._state(None)]

    def _contact_forces(self):
        """Forces on the vertices, N, and the number of pairs or springs that push."""
        if isinstance(self.case.contact, pdgpu.ProxyContact):
            found = self.sim.proxies()
            return found.vertex_forces, int(found.active.sum())
        found = self.sim.contact_forces()
        return found.forces, len(found)

    def _state(self, found):
        sim = self.sim
        energies = sim.energies()
        x = sim.positions.astype(np.float64)
        forces, pairs = (np.zeros_like(x), 0) if found is None else found
        stored = energies["total"] - self.work_of_loads(x)
        return (sim.time, x, sim.velocities.astype(np.float64), forces, self._elastic(), stored, energies["kinetic"], pairs)

    def _elastic(self):
        return self.sim.forces() if any(body.pins for body in self.scene.bodies) else np.zeros((len(self.masses), 3))

    def work_of_loads(self, x):
        load = self.sim.external_forces
        return 0.0 if load is None else float((load * (x - self.scene.rest_positions())).sum())

    def advance(self):
        """One step, with all that it says."""
        forces = None
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.case.advance(self.sim)
            if self.case.forces and self.case.contact is not None:
                forces = self._contact_forces()
        record = self.sim.last_step
        texts = [] if record.status == "converged" else [record.status]
        texts += [f"behind {record.behind:.2g} m"] * (record.behind > 0.0)
        texts += [f"held back {record.held_back:.2g} m"] * (record.held_back > 0.0 and record.status != "converged")
        if record.update is not None and record.update.status != "converged":
            texts.append(f"update: {record.update.status}")
        warned = [str(each.message).split(";")[0] for each in said if issubclass(each.category, RuntimeWarning)]
        self.alarms += bool(warned) and not texts
        texts += warned
        self.said.append("; ".join(self._start * (not self.said) + texts))
        self.behind.append(record.behind)
        self.iterations += record.iteration
        self._rows.append(self._state(forces))

    def close(self):
        columns = zip(*self._rows, strict=True)
        columns = [np.array(column) for column in columns]
        self.times, self.x, self.v, self.contact, self.elastic, self.energies, self.kinetic, self.pairs = columns
        return self

    @property
    def dt(self):
        return self.case.dt

    @property
    def silent(self):
        return np.array([not text for text in self.said])

    def rows(self, body):
        return np.arange(len(self.masses)) if body is None else np.arange(len(self.masses))[self.scene.find(body).slice]

    def mass(self, body=None):
        return float(self.masses[self.rows(body)].sum())

    def weight(self, body=None):
        return self.mass(body) * float(np.linalg.norm(self.scene.gravity))

    def mean(self, values, body=None):
        """Weighted by masses."""
        rows = self.rows(body)
        return np.einsum("tik,i->tk", values[:, rows], self.masses[rows]) / self.masses[rows].sum()

    def centre(self, body=None):
        return self.mean(self.x, body)

    def velocity(self, body=None):
        return self.mean(self.v, body)

    def push(self, body=None):
        """The sum of all contact forces on a body, (steps + 1, 3) N."""
        return self.contact[:, self.rows(body)].sum(axis=1)

    def hold(self, body=None):
        """The forces that hold the pinned vertices of a body where they stand, (steps + 1, 3) N: minus elasticity, contact and weight."""
        rows = self.rows(body)
        rows = rows[self.scene.fixed()[rows] == 1]
        return -(self.elastic + self.contact + self.masses[:, None] * self.scene.gravity)[:, rows].sum(axis=1)


# ---- measures --------------------------------------------------------------------------------------------------------------


def last(course, n=10):
    return slice(max(len(course.said) - n, 0), None)


def speed(course, found, right, bound, name="speed", steps=None):
    """A speed or a length that a motion has reached."""
    return Measure(name, float(found), right, bound, late=True, steps=steps)


def carried(course, body=None, n=10, bound=0.03):
    """At rest the contact forces on a body carry its weight: the mean of the last steps."""
    up = -course.scene.gravity / np.linalg.norm(course.scene.gravity)
    return Measure("carried/weight", float((course.push(body)[-n:] @ up).mean() / course.weight(body)), 1.0, bound, steps=last(course, n))


def balanced(course, body=None, load=(0.0, 0.0, 0.0)):
    """In each step dt (contact force + weight + load) is the change of momentum, in the worst step that states nothing and in their sum.

    The error is relative to the larger of two forces, that of the motion and the sum of the magnitudes of the contact forces. For one step
    it is at least the mean of the run. `load`: N, (3,) or (steps, 3).
    """
    dt, mass = course.dt, course.mass(body)
    pushed = course.push(body)[1:]
    asked = mass * np.diff(course.velocity(body), axis=0) / dt - mass * course.scene.gravity - np.asarray(load)
    opposed = np.linalg.norm(course.contact[1:, course.rows(body)], axis=2).sum(axis=1)
    error, size = pushed - asked, np.maximum(np.linalg.norm(asked, axis=1), opposed)
    silent = course.silent
    scale = max(float(np.sqrt((size**2).mean())), 1e-9)
    worst = float((np.linalg.norm(error, axis=1) / np.maximum(size, scale))[silent].max(initial=0.0))
    total = float(np.linalg.norm(error[silent].sum(axis=0)) / max(size.sum(), 1e-9))
    steps = np.flatnonzero(silent)
    return [Measure("worst force error", worst, 0.0, FORCE, steps=steps), Measure("impulse error", total, 0.0, IMPULSE, steps=steps)]


def no_gain(course, work=0.0, bound=0.02, scale=None):
    """No energy is above the start plus `work`, (steps + 1,) J; relative to the largest kinetic energy, or to `scale`."""
    scale = max(float(course.kinetic.max()), 1e-12) if scale is None else scale
    gain = (course.energies - course.energies[0] - work) / scale
    at = int(np.argmax(gain))
    return Measure("energy gained", max(float(gain[at]), 0.0), 0.0, bound, steps=slice(0, max(at, 1)))


def still(course, axis, body=None, bound=1e-3, scale=1.0):
    """No motion along an axis: the largest mean velocity, relative to `scale` m/s."""
    found = course.velocity(body)[:, axis] / scale
    return Measure(f"drift along {'xyz'[axis]}", float(np.abs(found).max()), 0.0, bound)


# ---- runs and verdicts -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Outcome:
    """`verdict`: one of VERDICTS. `failures`, `statements`: texts. `measures`: all of them.

    `unsaid_steps`: those that state nothing. `alarms`: those that converge and warn, false ones in a right run.
    """

    verdict: str = ""
    measures: list = dataclasses.field(default_factory=list)
    failures: list = dataclasses.field(default_factory=list)
    statements: list = dataclasses.field(default_factory=list)
    steps: int = 0
    unsaid_steps: int = 0
    alarms: int = 0
    iterations: int = 0
    pairs: int = 0
    seconds: float = 0.0


def course_of(case):
    """The states of all steps of a case."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        sim = pdgpu.Simulation(case.scene, case.solver, dt=case.dt, contact=case.contact, dtype=case.dtype, threads=1)
        case.prepare(sim)
    course = Course(case, sim, [str(each.message).split(";")[0] for each in said if issubclass(each.category, RuntimeWarning)])
    for _ in range(case.steps):
        course.advance()
    return course.close()


def run_scripted(case):
    """The outcome of a case."""
    begun, found = time.process_time(), Outcome()
    try:
        course = course_of(case)
    except REFUSALS as error:
        found.verdict, found.statements = "refused", [f"{type(error).__name__}: {error}"]
    else:
        found.steps, found.unsaid_steps, found.iterations = len(course.said), int(course.silent.sum()), course.iterations
        found.pairs, found.alarms = int(course.pairs.max()), course.alarms
        found.measures = case.check(course)
        found.verdict = verdict(found.measures, course.said)
        found.failures = [str(each) for each in found.measures if not each.holds]
        found.statements = list(dict.fromkeys(text for text in course.said if text))
    found.seconds = time.process_time() - begun
    return found


def verdict(measures, said):
    """One of VERDICTS of measures, where `said` has a text per step."""
    failed = [each for each in measures if not each.holds]
    if not failed:
        return "right"
    unsaid = [each for each in failed if not any(np.array(said, dtype=object)[slice(None) if each.steps is None else each.steps])]
    if not unsaid:
        return "late and said"
    return "late and unsaid" if all(each.late for each in unsaid) else "wrong and unsaid"


def ramp(speed, *times):
    """A drive that moves at `speed` between times[0] and times[1], then back between times[2] and times[3]."""

    def drive(now):
        forth = np.clip(now - times[0], 0.0, times[1] - times[0])
        back = np.clip(now - times[2], 0.0, times[3] - times[2]) if len(times) > 2 else 0.0
        return speed * float(forth - back)

    return drive


def along(axis, drive):
    """The motion of a mesh or of pins: moved by drive(time) along an axis."""
    direction = np.eye(3)["xyz".index(axis)] if isinstance(axis, str) else np.asarray(axis, dtype=float)
    return lambda now, rest: rest + drive(now) * direction


def turning(axis, angle, centre=(0.0, 0.0, 0.0)):
    """The motion of a mesh or of pins: turned by angle(time) rad about an axis through a centre."""

    def motion(now, rest):
        a, k = angle(now), np.asarray(axis, dtype=float)
        arms = rest - centre
        along = (arms @ k)[:, None] * k
        return centre + along + math.cos(a) * (arms - along) + math.sin(a) * np.cross(k, arms)

    return motion
