"""Scripted scenes with rollers, drums and twisted bars. Checked by kinematics, Coulomb's law, the capstan equation and torques."""

import numpy as np
from scripted_runs import Measure, ScriptedCase, balanced, carried, course_of, last, ramp, speed, turning
from scripted_shapes import block, cylinder, sheet

import pdgpu

NONE = (0.0, 0.0, 0.0)
SOFT = pdgpu.ARAP.from_young(1e5, 0.3)


def roller(solver, contact, reference):
    """A roller rolls over a soft bed and 3 mm into it: the press is that of a run of `reference`, and the bed springs back."""
    speed_x, radius = 0.5, 0.03

    def case(solver):
        scene = pdgpu.Scene(NONE)
        bed = scene.add_solid(block((0.3, 0.04, 0.06), (8, 2, 1), (0.0, -0.02, 0.0)), SOFT, density=1000.0, damping=2e-2, name="bed")
        bed.pin(lambda p: p[:, 1] < -0.0399)
        turn = turning((0.0, 0.0, 1.0), lambda now: -speed_x * now / radius, (-0.2, radius - 3e-3, 0.0))
        mesh = cylinder(radius, 0.1, 24, (-0.2, radius - 3e-3, 0.0))
        scene.add_obstacle(mesh, lambda now, rest: turn(now, rest) + [speed_x * now, 0.0, 0.0], name="roller")
        return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=90, check=check)

    def check(course):
        right = course_of(case(reference)) if course.case.solver != reference else course
        middle, pressed = slice(30, 50), course.push("bed")
        impulse, wanted = -pressed[middle, 1].sum(), -right.push("bed")[middle, 1].sum()
        off = np.linalg.norm(course.x - right.x, axis=2).max()
        return [
            Measure("impulse of the press/right", float(impulse / wanted), 1.0, 0.05, steps=slice(0, 50)),
            speed(course, off, 0.0, 5e-4, "way from the right course"),
            speed(course, np.abs(course.x[-1] - course.x[0]).max(), 0.0, 5e-4, "way from rest", last(course)),
        ]

    return case(solver)


def drum(solver, contact):
    """Two drums that turn against each other close on a strip and feed it: it moves at omega r."""
    spin, radius = 5.0, 0.04
    scene = pdgpu.Scene(NONE)
    scene.add_solid(block((0.2, 0.02, 0.05), (10, 2, 2)), SOFT, density=1000.0, damping=2e-2, name="strip")
    for side in (-1.0, 1.0):
        centre, close = np.array([-0.04, side * (radius + 0.0115), 0.0]), ramp(-side * 0.02, 0.0, 0.1)
        turn = turning((0.0, 0.0, 1.0), lambda now, side=side: side * spin * now, centre)

        def motion(now, rest, turn=turn, close=close):
            return turn(now, rest) + [0.0, close(now), 0.0]

        scene.add_obstacle(cylinder(radius, 0.08, 48, centre), motion, name=f"drum{side:+.0f}")

    def check(course):
        way = (course.centre()[-1, 0] - course.centre()[-11, 0]) / (10 * course.dt)
        return [
            speed(course, way / (spin * radius), 1.0, 0.06, "speed/omega r"),
            *balanced(course),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=50, check=check)


def spinning(solver, contact, *, mu=0.4):
    """A block that slides on vertical lines rests on a drum that spins: the drum carries it, and drags with mu times its weight."""
    spin, radius = 10.0, 0.1
    scene = pdgpu.Scene()
    body = scene.add_solid(block((0.1, 0.06, 0.06), (4, 2, 2), (0.0, 0.0315, 0.0)), SOFT, density=1000.0, damping=2e-2, name="block")
    body.slide(lambda p: np.ones(len(p), bool), line=(0.0, 1.0, 0.0))  # else the drag tilts it
    mesh = cylinder(radius, 0.1, 64, (0.0, -radius, 0.0))
    scene.add_obstacle(mesh, turning((0.0, 0.0, 1.0), lambda now: -spin * now, (0.0, -radius, 0.0)), name="drum")

    def check(course):
        pushed = course.push("block")[-40:].mean(axis=0)
        return [
            carried(course, "block", 40, 0.05),
            Measure("drag/weight", float(pushed[0] / course.weight()), mu, 0.1 * mu, steps=last(course, 40)),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=100, check=check)


def cloth_on_drum(solver, contact, *, mu=0.3):
    """A strip of cloth with a load hangs over a drum that turns towards the load: the pinned end pulls exp(mu pi) times as hard."""
    radius, hang, wide, cells = 0.05, 0.08, 0.02, 30
    length = np.pi * radius + 2 * hang
    grid = sheet((length, wide), (cells, 1))
    s, r = grid.points[:, 0], radius + 1.1e-3
    angle = np.clip(s, -0.5 * np.pi * radius, 0.5 * np.pi * radius) / radius
    below = np.abs(s) - 0.5 * np.pi * radius
    points = np.column_stack([r * np.sin(angle), r * np.cos(angle) - np.maximum(below, 0.0), grid.points[:, 2]])
    scene = pdgpu.Scene()
    cloth = scene.add_shell(
        pdgpu.Mesh(points, triangles=grid.triangles), pdgpu.Spring(2e3), density=0.2, bending=1e-6, damping=2e-2, name="cloth"
    )
    loaded = s > 0.5 * length - 1e-9
    cloth.masses = np.where(loaded, 0.05, cloth.masses)
    cloth.pin(s < -0.5 * length + 1e-9)
    turn = turning((0.0, 0.0, 1.0), lambda now: -5.0 * now)
    scene.add_obstacle(cylinder(radius, 0.06, 48), turn, name="drum")

    def check(course):
        ends = -course.hold("cloth")[-40:, 1].mean()
        load = course.masses[loaded].sum() * 9.81 + 0.5 * (course.mass() - course.masses[loaded].sum()) * 9.81 * hang / length * 2
        return [
            Measure("pull of the pins/load", float(ends / load), float(np.exp(mu * np.pi)), 0.3, steps=last(course, 40)),
            speed(course, course.velocity()[-40:, 1].mean(), 0.0, 1e-2, "speed of the cloth"),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, dt=5e-3, steps=160, check=check)


def twist(solver, contact):
    """Two bars side by side are twisted by 3/4 of a turn against each other: the torques of both ends are opposite, contact cancels."""
    scene = pdgpu.Scene(NONE)
    turn = turning((1.0, 0.0, 0.0), ramp(2.0 * np.pi, 0.0, 0.75))
    for side in (-1.0, 1.0):
        body = scene.add_solid(
            block((0.3, 0.03, 0.03), (9, 1, 1), (0.0, side * 0.0165, 0.0)), SOFT, density=1000.0, damping=3e-2, name=f"bar{side:+.0f}"
        )
        body.pin(lambda p: p[:, 0] < -0.149)
        body.pin(lambda p: p[:, 0] > 0.149, motion=turn)

    def check(course):
        fixed = course.scene.fixed() == 1
        held = -(course.elastic + course.contact)[-10:]
        torques = np.cross(course.x[-10:], held)[:, :, 0].mean(axis=0)
        forces, left = held.mean(axis=0), course.x[0, :, 0] < 0.0
        torque, other = torques[fixed & left].sum(), torques[fixed & ~left].sum()
        pull, back = forces[fixed & left, 0].sum(), forces[fixed & ~left, 0].sum()
        pushed = course.contact[-10:]
        net = np.linalg.norm(pushed.sum(axis=1).mean(axis=0)) / max(np.abs(pushed).sum(axis=(1, 2)).mean(), 1e-9)
        return [
            Measure("torques of the ends", float(-torque / other), 1.0, 0.03, steps=last(course)),
            Measure("pulls of the ends", float(-pull / back), 1.0, 0.03, steps=last(course)),
            Measure("net force of contact", float(net), 0.0, 0.01, steps=last(course)),
            Measure("bars touch", float(course.pairs[-1] > 0), 1.0, 0.0),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=160, check=check)
