"""Driven contact: an obstacle with a prescribed motion pushes a soft block, or squeezes it against its own pins.

There is no gravity, so contact alone changes the momentum of the block. The obstacle moves along x by `drive(time)` metres. The run is
verified along its whole path, by its momentum, its final velocity and its force. Lengths are metres.
"""

import dataclasses
import functools
import itertools
import math
import time
import warnings
from collections.abc import Callable

import numpy as np
from contact_scenes import NO_GRAVITY, ContactCase, cube
from verified_run import GOES_BACK, Verified, path, verify_descent
from verified_run import faults as faults_of_path

import pdgpu
from pdgpu import shapes

OBSTACLES = ("mesh", "plane", "sphere", "capsule", "pinned body")
# m/s: (dt in s, steps of driven motion, mu of the block in Pa). The obstacle goes 1 mm a step at 0.1 m/s and 10 mm otherwise, five
# activation distances. Elastic waves are faster than the obstacle by a factor of 4 to 100.
SPEEDS = {0.1: (1e-2, 30, 5e4), 1.0: (1e-2, 20, 5e4), 5.0: (2e-3, 20, 1e6), 20.0: (5e-4, 20, 4e6)}
SOLVERS = {
    "Newton": (pdgpu.Newton, {"iterations": 60}),
    "quasi-Newton": (pdgpu.QuasiNewton, {"iterations": 200}),
    "VBD": (pdgpu.VertexBlockDescent, {"iterations": 200}),
    "Block Jacobi": (pdgpu.BlockJacobi, {"iterations": 400}),
    "PD": (pdgpu.ProjectiveDynamics, {"iterations": 200}),
}
DTYPES = ("float32", "float64")
STIFFNESSES = {"auto": "auto", "explicit": 1e6}  # Pa
FACTORS = (OBSTACLES, tuple(SPEEDS), tuple(SOLVERS), DTYPES, tuple(STIFFNESSES))
SLOWEST = "Block Jacobi"  # for `make stress` alone: it takes the most iterations, and test_never_intersects.py runs it in contact

SIDE, DENSITY = 0.2, 1000.0  # of the block
GAP, DISTANCE = 3e-3, 2e-3  # at the start; activation distance
COAST = 6  # steps after the obstacle has stopped
SQUEEZE = 0.1 * SIDE

IMPULSE, VELOCITY, FORCE = 1e-3, 0.02, 0.2  # relative bounds of a right answer
CAPPED = 0.05  # of the impulse, where steps say that they ended at their cap
VERDICTS = ("right", "late and said", "wrong")


@dataclasses.dataclass(frozen=True, kw_only=True)
class DrivenCase:
    """A scene, and the same scene for the verification: its time is the offset of the obstacle, so that a late one is where it is."""

    scene: pdgpu.Scene
    verified: pdgpu.Scene
    drive: Callable
    speed: float
    dt: float
    steps: int
    contact: pdgpu.BarrierContact
    solver: object
    dtype: str

    def simulation(self):
        return pdgpu.Simulation(self.scene, self.solver, dt=self.dt, contact=self.contact, dtype=self.dtype, threads=1)


@dataclasses.dataclass
class Outcome:
    """The result of a run.

    `impulse` is the error of the momentum over all steps, `unstated` over the steps whose status is "converged". Both are relative to the
    largest momentum of the block, at least that at the speed of the obstacle. `velocity` is relative to the speed of the obstacle.
    `statement` is an exception, or the warnings of the last step and its status, unless "converged".
    """

    steps: int = 0
    unconverged: int = 0
    iterations: int = 0
    contacts: int = 0
    intersections: int = 0
    finite: bool = True
    behind: float = math.nan
    impulse: float = math.nan
    unstated: float = math.nan
    velocity: float = math.nan
    force: float = math.nan
    seconds: float = 0.0
    statement: str = ""


def ramp(speed, duration):
    """The drive of an obstacle that moves at a constant speed and then stops."""
    return lambda now: speed * min(now, duration)


def assemble(obstacle, drive, mu, *, hold=None):
    """A scene with the block at 0 < x < SIDE and an obstacle below x = -GAP; `hold`: the motion of the far side of the block."""
    scene = pdgpu.Scene(NO_GRAVITY)
    mesh = cube(SIDE, 2, (0.5 * SIDE, 0.0, 0.0))
    block = scene.add_solid(mesh, pdgpu.ARAP(mu), density=DENSITY, name="block")
    if hold is not None:
        block.pin(mesh.points[:, 0] > SIDE - 1e-9, motion=along(hold))
    add_driver(scene, obstacle, drive, mu)
    return scene


def along(drive):
    return lambda now, rest: rest + [drive(now), 0.0, 0.0]


def add_driver(scene, obstacle, drive, mu):
    def placed(now):
        return np.eye(3), np.array([drive(now), 0.0, 0.0])

    half = 0.75 * SIDE
    if obstacle == "mesh":
        corners = [[-GAP, -half, -half], [-GAP, half, -half], [-GAP, half, half], [-GAP, -half, half]]
        scene.add_obstacle(pdgpu.Mesh(corners, triangles=[[0, 1, 2], [0, 2, 3]]), along(drive), name="driver")
    elif obstacle == "plane":
        scene.add_obstacle(pdgpu.Plane((-GAP, 0.0, 0.0), (1.0, 0.0, 0.0), motion=placed), name="driver")
    elif obstacle == "sphere":
        scene.add_obstacle(pdgpu.Sphere((-GAP - SIDE, 0.0, 0.0), SIDE, motion=placed), name="driver")
    elif obstacle == "capsule":
        x = -GAP - 0.5 * SIDE
        scene.add_obstacle(pdgpu.Capsule((x, -half, 0.0), (x, half, 0.0), 0.5 * SIDE, motion=placed), name="driver")
    else:
        thickness = 0.25 * SIDE
        slab = shapes.beam((thickness, 2 * half, 2 * half), (1, 2, 2))
        slab = pdgpu.Mesh(slab.points - [thickness + GAP, half, half], tets=slab.tets)
        body = scene.add_solid(slab, pdgpu.ARAP(10 * mu), density=DENSITY, name="driver")
        body.pin(slab.points[:, 0] < -thickness, motion=along(drive))


def driven_scene(obstacle, speed, solver, dtype, stiffness):
    """A free block that the obstacle pushes for 0.03 or 0.2 m."""
    return case_of(obstacle, speed, *SPEEDS[speed], solver, dtype, stiffness)


def long_step_scene(obstacle, solver, dtype):
    """The same with an obstacle that goes a quarter of the block, 25 activation distances, in a step."""
    return case_of(obstacle, 5.0, 1e-2, 10, 2e5, solver, dtype, "explicit")


def held_scene(obstacle, solver, dtype, stiffness):
    """A block that is pinned on its far side and that the obstacle compresses by a tenth at 0.1 m/s and holds."""
    speed, (dt, _, mu) = 0.1, SPEEDS[0.1]
    steps = round((SQUEEZE + GAP) / speed / dt)
    return case_of(obstacle, speed, dt, steps, mu, solver, dtype, stiffness, hold=lambda now: 0.0)


def case_of(obstacle, speed, dt, steps, mu, solver, dtype, stiffness, hold=None):
    """A case whose obstacle moves for so many steps and then stops."""
    kind, settings = SOLVERS[solver]
    drive = ramp(speed, steps * dt)
    return DrivenCase(
        scene=assemble(obstacle, drive, mu, hold=hold),
        verified=assemble(obstacle, lambda offset: offset, mu, hold=hold),
        drive=drive,
        speed=speed,
        dt=dt,
        steps=steps + COAST,
        contact=pdgpu.BarrierContact(DISTANCE, stiffness=STIFFNESSES[stiffness]),
        solver=kind(**settings),  # to rounding: a tolerance counts from the first guess, which may lie deep in the barrier
        dtype=dtype,
    )


@functools.cache
def static_force(obstacle):
    """The force that compresses the block by a tenth, N: its far side is moved, slowly, towards an obstacle that stands."""
    steps, dt = 24, 10.0
    hold = ramp(-(SQUEEZE + GAP) / (steps * dt), steps * dt)
    scene = assemble(obstacle, lambda now: 0.0, SPEEDS[0.1][2], hold=hold)
    contact = pdgpu.BarrierContact(DISTANCE, stiffness=STIFFNESSES["explicit"])
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=200, tolerance=1e-9), dt=dt, contact=contact, threads=1)
    sim.step(steps)
    assert sim.last_step.status == "converged" and sim.last_step.behind == 0.0
    block = scene.find("block").slice
    pinned = block.start + np.flatnonzero(scene.fixed()[block])
    return float(sim.forces()[pinned].sum(axis=0)[0])  # the load that reaches the pins


def run_driven(case):
    """The outcome of all steps of a case."""
    begun, found, offset = time.process_time(), Outcome(intersections=0), 0.0
    try:
        sim = case.simulation()
        block = sim._core.public_scene.find("block").slice
        masses = sim.masses[block].astype(np.float64)[:, None]
        momentum, largest = np.zeros(3), masses.sum() * case.speed
        errors, stated = [], []
        for _ in range(case.steps):
            before = sim.positions
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                sim.step(record="positions")
            record, target = sim.last_step, case.drive(sim.time)
            found.finite = bool(np.isfinite(record.positions).all())
            if not found.finite:
                break
            offsets = np.append(offset, target - math.copysign(1.0, target - offset) * record["behind"])
            found.intersections += verify_path(case, path(before, record.positions, case.scene.fixed(), offsets))
            offset, last = offsets[-1], momentum
            force = sim.contact_forces().forces[block].sum(axis=0, dtype=np.float64)
            momentum = (masses * sim.velocities[block]).sum(axis=0)
            largest = max(largest, np.linalg.norm(momentum))
            errors.append(case.dt * force - (momentum - last))
            converged = record.status == "converged"
            found.steps += 1
            found.unconverged += not converged
            found.iterations += record.iteration
            found.contacts = max(found.contacts, int(record["active_contacts"][-1]))
            found.behind, found.force = record.behind, float(force[0])
            found.statement = "; ".join([record.status] * (not converged) + [str(each.message) for each in said])
            if not converged:
                stated.append(len(errors) - 1)
        found.impulse = float(np.linalg.norm(np.sum(errors, axis=0)) / largest)
        found.unstated = float(np.linalg.norm(np.sum(np.delete(errors, stated, axis=0), axis=0)) / largest)
        found.velocity = float(momentum[0] / masses.sum() / case.speed)
    except (RuntimeError, pdgpu.DivergenceError) as error:
        found.statement = f"{type(error).__name__}: {error}"
    found.seconds = time.process_time() - begun
    return found


def verify_path(case, frames):
    """The intersections of the way of one step."""
    way = ContactCase(scene=case.verified, contact=case.contact)
    straight = faults_of_way(way, frames)
    if not straight or type(case.solver) not in GOES_BACK or not case.solver.line_search:
        return straight
    verified = Verified()  # it may have gone back to an earlier iterate
    verify_descent(way, verified, frames, case.scene.fixed())
    return verified.intersections


def faults_of_way(way, frames):
    """The intersections of a polyline, by halves.

    If all of a part lies within a radius r of its end, and all gaps at the end are at least 2.5 r, the part has none.
    """
    if len(frames) <= 16:
        return faults_of_path(way, *zip(*frames, strict=True))
    end, there = frames[-1]
    radius = max(np.linalg.norm(x - end, axis=1).max() + abs(offset - there) for x, offset in frames)
    wide = dataclasses.replace(way.contact, separation=2.5 * radius)
    if radius < 0.1 * DISTANCE and not faults_of_path(dataclasses.replace(way, contact=wide), [end], [there]):
        return 0
    half = len(frames) // 2
    return faults_of_way(way, frames[: half + 1]) + faults_of_way(way, frames[half:])


def faults(found, *, static=None, capped=CAPPED):
    """The physical failures of a run as text. An obstacle may be late if the step reports it. `static`: the right force on a held block.

    `capped`: the bound of the impulse where steps say that they ended at their cap.
    """
    if not found.finite:
        return ["positions that are not finite"]
    late, wrong = found.behind > 0.0 and bool(found.statement), []
    if found.intersections:
        wrong.append(f"{found.intersections} intersections on the path")
    if found.behind > 0.0 and not found.statement:
        wrong.append(f"the obstacle is {found.behind:.3g} m behind, and the step says 'converged'")
    if static is not None:
        if not late and not abs(found.force / static - 1.0) <= FORCE:
            wrong.append(f"the force is {found.force / static:.3g} of the quasi-static one")
        return wrong
    if not found.unstated <= IMPULSE or not found.impulse <= (capped if found.unconverged else IMPULSE):
        wrong.append(f"the impulse of contact differs from the change of momentum by {found.impulse:.2g}, {found.unstated:.2g} unsaid")
    if not late and not found.velocity >= 1.0 - VELOCITY:
        wrong.append(f"the block leaves at {found.velocity:.3g} of the speed of the obstacle")
    return wrong


def verdict(found, *, static=None):
    """One of VERDICTS: "late and said" where a status, a warning or an exception reports the failure."""
    if not faults(found, static=static) and found.behind == 0.0:
        return VERDICTS[0]
    stated = found.unconverged > 0 or found.statement
    unsaid = [not found.finite, found.intersections, found.behind > 0.0 and not found.statement]
    unsaid.append(static is None and found.unstated > IMPULSE)
    return VERDICTS[1 if stated and not any(unsaid) else 2]


def product():
    """All combinations of the five factors."""
    return list(itertools.product(*FACTORS))


def array_rows():
    """The combinations of which `covering_array` has all pairs: those of every solver but SLOWEST."""
    return [row for row in product() if row[2] != SLOWEST]


def covering_array(rows=24):
    """Some of the combinations, chosen greedily: all pairs of values of two factors [Cohen et al. 1997, AETG]."""
    left, chosen = {row: (parts(row, 2), parts(row, 3)) for row in array_rows()}, []
    pairs, triples = (set().union(*each) for each in zip(*left.values(), strict=True))
    while len(chosen) < rows:
        chosen.append(max(left, key=lambda row: (len(left[row][0] & pairs), len(left[row][1] & triples))))
        covered = left.pop(chosen[-1])
        pairs, triples = pairs - covered[0], triples - covered[1]
    return chosen


def parts(row, n):
    """All choices of n of the values of a row, with their places."""
    return {tuple((k, row[k]) for k in places) for places in itertools.combinations(range(len(row)), n)}
