"""Scripted scenes in which obstacles or pins press soft bodies. Checked by the force of a bar, by the balance of forces, by arrival."""

import inspect

import numpy as np
from scripted_runs import Measure, ScriptedCase, along, balanced, carried, last, ramp, speed, still
from scripted_shapes import block, hollow, sheet, slab

import pdgpu

MU = 5e4  # Pa; ARAP has no lateral strain, so that a bar of it has the stiffness 2 mu A/L at every strain
BAR = pdgpu.ARAP(MU)
SIDE = 0.1
NONE = (0.0, 0.0, 0.0)


def bar_force(course, body, bound=0.05, n=5):
    """A block between faces across y has the force 2 mu A u/L of a bar, u by its vertices, in the mean of the last steps."""
    y = course.x[-n:, course.rows(body), 1]
    right = 2.0 * MU * SIDE * (SIDE - np.ptp(y, axis=1).mean())
    force = np.abs(course.contact[-n:, course.rows(body), 1]).sum(axis=1).mean() / 2.0  # both faces
    return Measure("force/bar", float(force / right), 1.0, bound, steps=last(course, n))


def squeeze(solver, contact):
    """Two slabs squeeze a free block by a tenth: it has the force of a bar, in balance, and stays between them."""
    scene = pdgpu.Scene(NONE)
    scene.add_solid(block((SIDE,) * 3, (2, 2, 2)), BAR, density=1000.0, damping=2e-2, name="block")
    drive = ramp(0.05, 0.0, 0.13)  # 6.5 mm each, of which 1.5 mm are gap
    for side in (-1.0, 1.0):
        mesh = slab((0.2, 0.02, 0.2), (0.0, side * 0.0615, 0.0))
        scene.add_obstacle(mesh, along((0.0, -side, 0.0), drive), name=f"plate{side:+.0f}")

    def check(course):
        gap = 0.1 + 3e-3 - 2 * drive(1.0) - np.ptp(course.x[-1, :, 1])
        at_rest = Measure("net force/force", _net(course, "block"), 0.0, 0.03, steps=last(course))
        return [
            bar_force(course, "block"),
            at_rest,
            speed(course, gap / 1e-3, 1.0, 1.0, "gaps/distance"),
            still(course, 1, scale=0.05, bound=0.1),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=40, check=check)


def _net(course, body, n=10):
    pushed = course.contact[-n:, course.rows(body)]
    return float(np.linalg.norm(pushed.sum(axis=1).mean(axis=0)) / max(np.linalg.norm(pushed, axis=2).sum(axis=1).mean(), 1e-9))


def stamp(solver, contact):
    """A stamp is pressed 8 mm into a block on a floor: floor and stamp together carry the weight, the stamp has the force of a bar."""
    scene = pdgpu.Scene()
    scene.add_solid(block((SIDE,) * 3, (2, 2, 2), (0.0, 0.051, 0.0)), BAR, density=1000.0, damping=2e-2, name="block")
    scene.add_obstacle(pdgpu.Plane(NONE, (0.0, 1.0, 0.0)), name="floor")
    scene.add_obstacle(slab((0.2, 0.02, 0.2), (0.0, 0.113, 0.0)), along("y", ramp(-0.05, 0.05, 0.27)), name="stamp")

    def check(course):
        return [carried(course, bound=0.1), bar_force(course, "block", bound=0.08), *balanced(course)]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=50, check=check)


def press_and_hold(solver, contact):
    """A plate presses a block whose far side is pinned by a tenth, and holds: the force is that of a bar, and does not change."""
    scene = pdgpu.Scene(NONE)
    body = scene.add_solid(block((SIDE,) * 3, (2, 2, 2)), BAR, density=1000.0, damping=2e-2, name="block")
    body.pin(lambda p: p[:, 1] < -0.0499)
    scene.add_obstacle(slab((0.2, 0.02, 0.2), (0.0, 0.063, 0.0)), along("y", ramp(-0.1, 0.0, 0.13)), name="plate")

    def check(course):
        pressed = -course.push("block")[:, 1]
        right = 2.0 * MU * SIDE * (SIDE - np.ptp(course.x[-1, :, 1]))
        held = course.hold("block")[-10:, 1].mean()
        spread = np.ptp(pressed[-20:]) / right
        return [
            Measure("force/bar", float(pressed[-5:].mean() / right), 1.0, 0.05, steps=last(course, 5)),
            Measure("pins/bar", float(held / right), 1.0, 0.05, steps=last(course)),
            Measure("spread of the force", float(spread), 0.0, 0.05, steps=last(course, 20)),
            speed(course, np.ptp(course.x[-1, :, 1]), SIDE - 0.0095, 1e-3, "height", None),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=60, check=check)


def in_and_out(solver, contact, *, young=1e4):
    """A plate is driven 10 mm into a held block and withdrawn: it arrives where it began, and the block is free of force again."""
    scene = pdgpu.Scene(NONE)
    material = pdgpu.ARAP.from_young(young, 0.3)
    body = scene.add_solid(block((SIDE,) * 3, (2, 2, 2)), material, density=500.0, damping=2e-2, name="block")
    body.pin(lambda p: p[:, 1] < -0.0499)
    drive = ramp(-0.2, 0.0, 0.15, 0.15, 0.3)
    scene.add_obstacle(slab((0.2, 0.02, 0.2), (0.0, 0.08, 0.0)), along("y", drive), name="plate")

    def check(course):
        off = np.abs(course.x[-1] - course.x[0]).max()
        return [
            speed(course, course.behind[-1], 0.0, 1e-4, "lag at the end", last(course)),
            speed(course, course.x[16, :, 1].max(), 0.0395, 1e-3, "height when pressed", slice(0, 16)),
            speed(course, off, 0.0, 2e-3, "way from rest", last(course)),
            Measure("force at the end", float(np.abs(course.push("block")[-1]).max()), 0.0, 0.1, steps=last(course)),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=100, check=check)


def teleport(solver, contact):
    """The script of a plate jumps by 0.15 m, three times the block: the block is in front of it, or the plate says that it lags."""
    scene = pdgpu.Scene(NONE)
    scene.add_solid(block((0.05, 0.1, 0.1), (1, 2, 2), (0.04, 0.0, 0.0)), BAR, density=1000.0, name="block")
    scene.add_obstacle(slab((0.02, 0.2, 0.2)), along("x", lambda now: 0.15 * (now > 0.045)), name="plate")

    def check(course):
        ahead = course.x[-1, :, 0].min() - 0.16
        return [speed(course, min(ahead, 0.0), 0.0, 1e-4, "block in front by"), *balanced(course)]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=12, check=check)


def peg_in_hole(solver, contact):
    """A wedge goes through a square tube that is too narrow for it, and back: it widens the tube to its width, which springs back."""
    scene = pdgpu.Scene(NONE)
    tube = hollow(0.1, 0.02, 0.04, (5, 5, 2))  # the hole is 60 mm wide
    body = scene.add_solid(tube, BAR, density=500.0, damping=2e-2, name="tube")
    body.slide(lambda p: np.full(len(p), True), plane=(0.0, 0.0, 1.0))
    x, z = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]), np.array([-0.06, 0.06, 0.2])
    widths = np.array([0.027, 0.033, 0.033])  # half of it
    points = np.concatenate([np.column_stack([w * x, np.full(4, h)]) for w, h in zip(widths, z, strict=True)])
    sides = [(4 * k, i, (i + 1) % 4) for k in (0, 1) for i in range(4)]
    quads = [(0, 3, 2, 1), (8, 9, 10, 11)] + [(k + i, k + n, k + 4 + n, k + 4 + i) for k, i, n in sides]
    peg = pdgpu.Mesh(points - [0.0, 0.0, -0.1], triangles=[t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    drive = ramp(-0.4, 0.0, 0.5, 0.6, 1.1)
    scene.add_obstacle(peg, along("z", drive), name="peg")
    inner = np.flatnonzero(np.abs(tube.points[:, :2]).max(axis=1) < 0.0301)

    def check(course):
        width = np.abs(course.x[:, inner][:, :, :2]).max(axis=2).min(axis=1)
        return [
            speed(course, width[58], 0.0335, 5e-4, "half the hole, peg in", slice(0, 58)),
            speed(course, np.abs(course.x[-1] - course.x[0]).max(), 0.0, 1e-3, "way from rest", last(course)),
            Measure("net force/force", _net_at(course, slice(52, 58)), 0.0, 0.05, steps=slice(51, 57)),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=130, check=check)


def _net_at(course, rows):
    pushed = course.contact[rows][:, :, :2]
    return float(np.linalg.norm(pushed.sum(axis=(0, 1))) / max(np.linalg.norm(pushed, axis=2).sum(), 1e-9))


def meeting_plates(solver, contact):
    """Two bodies, all of whose pins are scripted, are led 10 mm into each other and back: they stop, say so, and arrive in the end."""
    scene = pdgpu.Scene(NONE)
    drive = ramp(0.1, 0.0, 0.15, 0.3, 0.45)
    for side in (-1.0, 1.0):
        mesh = block((0.1, 0.02, 0.1), (2, 1, 2), (0.0, side * 0.02, 0.0))
        body = scene.add_solid(mesh, BAR, density=1000.0, name=f"plate{side:+.0f}")
        body.pin(np.ones(len(mesh.points), bool), motion=along((0.0, -side, 0.0), drive))

    def check(course):
        gap = course.x[:, course.rows("plate+1"), 1].min(axis=1) - course.x[:, course.rows("plate-1"), 1].max(axis=1)
        wanted = 0.02 - 2 * np.array([drive(now) for now in course.times])
        off = np.abs(gap - wanted).max()
        return [
            speed(course, off, 0.0, 1e-4, "off the script"),
            speed(course, gap[-1], 0.02, 1e-4, "gap at the end", last(course)),
            Measure("crossed by", float(min(gap.min(), 0.0)), 0.0, 0.0),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=55, check=check)


def reopening_plates(solver, contact):
    """Two plates clamp a sheet, closer than the activation distance on both sides, and reopen: the sheet stays where it was."""
    scene = pdgpu.Scene(NONE)
    scene.add_shell(sheet((0.1, 0.1), (4, 4)), [pdgpu.StVK.from_young(1e5, 0.3)], density=1.0, bending=1e-3, name="sheet")
    drive = ramp(0.1, 0.0, 0.095, 0.2, 0.295)
    for side in (-1.0, 1.0):
        scene.add_obstacle(slab((0.2, 0.02, 0.2), (0.0, side * 0.02, 0.0)), along((0.0, -side, 0.0), drive), name=f"plate{side:+.0f}")

    def check(course):
        return [
            speed(course, course.behind[-1], 0.0, 1e-5, "lag at the end", last(course)),
            speed(course, course.centre()[-1, 1], 0.0, 1e-3, "way of the sheet"),
            still(course, 1, bound=0.05, scale=0.1),
            Measure("force at the end", float(np.abs(course.contact[-1]).max()), 0.0, 1e-3, steps=last(course, 1)),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=40, check=check)


def quasi_static_pull(*, timed):
    """Scripted pins pull a bar without time (dt=None): it has the length of the script and its force. `timed`: by step(time=)."""
    scene = pdgpu.Scene(NONE)
    body = scene.add_solid(block((0.3, SIDE, SIDE), (3, 2, 2)), BAR, density=1000.0, name="bar")
    body.pin(lambda p: p[:, 0] < -0.149)
    body.pin(lambda p: p[:, 0] > 0.149, motion=lambda now, rest: rest + [0.1 * now, 0.0, 0.0])

    def check(course):
        length = np.ptp(course.x[-1, :, 0])
        force = np.abs(course.hold("bar")[-1, 0])
        right = course.rows("bar")[course.scene.fixed() == 1]
        pull = -course.elastic[-1, right[course.x[0, right, 0] > 0.0], 0].sum()
        wanted = 0.3 + 0.1 * 0.1 * (len(course.said))
        return [
            speed(course, length, wanted, 1e-6, "length"),
            Measure("pull/bar", float(pull / (2.0 * MU * SIDE**2 * (wanted / 0.3 - 1.0))), 1.0, 0.05),
            Measure("net force of pins", float(force), 0.0, 1e-3),
        ]

    return ScriptedCase(scene=scene, solver=pdgpu.Newton(), dt=None, steps=10, check=check, advance=_increment(timed))


def quasi_static_press(solver, *, timed):
    """A plate presses a held block by increments without time (dt=None): each has the force of a bar."""
    scene = pdgpu.Scene(NONE)
    body = scene.add_solid(block((SIDE,) * 3, (2, 2, 2)), BAR, density=1000.0, name="block")
    body.pin(lambda p: p[:, 1] < -0.0499)
    scene.add_obstacle(slab((0.2, 0.02, 0.2), (0.0, 0.061, 0.0)), along("y", lambda now: -0.01 * now), name="plate")

    def check(course):
        height = np.ptp(course.x[-1, :, 1])
        right = 2.0 * MU * SIDE * (SIDE - height)
        pressed = -course.push("block")[-1, 1]
        return [
            speed(course, height, 0.0905, 6e-4, "height"),
            Measure("force/bar", float(pressed / right) if right > 0.0 else 0.0, 1.0, 0.05),
        ]

    contact = pdgpu.BarrierContact(1e-3)
    return ScriptedCase(scene=scene, solver=solver, contact=contact, dt=None, steps=10, check=check, advance=_increment(timed))


def _increment(timed):
    count = []

    def advance(sim):
        count.append(1)
        if timed and "time" not in inspect.signature(sim.step).parameters:
            raise TypeError("step: it takes no time, so that nothing scripted moves with dt=None")
        sim.step(**({"time": 0.1 * len(count)} if timed else {}))

    return advance


def extrusion(solver, contact):
    """A piston pushes a free block through a funnel from 100 to 80 mm: momentum in balance, the piston arrives, the block passes."""
    scene = pdgpu.Scene(NONE)
    scene.add_solid(block((0.1, 0.098, 0.1), (3, 3, 2), (-0.06, 0.0, 0.0)), pdgpu.ARAP(1e4), density=1000.0, damping=1e-2, name="block")
    for side in (-1.0, 1.0):
        profile = np.array([(-0.3, 0.05), (0.0, 0.05), (0.1, 0.04), (0.4, 0.04)])
        points = np.array([(x, side * y, z) for x, y in profile for z in (-0.2, 0.2)])
        rows = [(2 * k, 2 * k + 1, 2 * k + 3) for k in range(3)] + [(2 * k, 2 * k + 3, 2 * k + 2) for k in range(3)]
        scene.add_obstacle(pdgpu.Mesh(points, triangles=rows), name=f"wall{side:+.0f}")
    drive = ramp(0.4, 0.0, 0.6)
    scene.add_obstacle(slab((0.02, 0.07, 0.12), (-0.122, 0.0, 0.0)), along("x", drive), name="piston")

    def check(course):
        rear = course.x[-1, :, 0].min()
        inside = course.x[-1, course.x[-1, :, 0] > 0.11]
        return [
            speed(course, max(0.128 - rear, 0.0), 0.0, 1e-3, "rear behind the piston"),
            Measure("half height outside", float(max(np.abs(inside[:, 1]).max() - 0.04, 0.0)), 0.0, 0.0),
            still(course, 1, bound=0.05, scale=0.4),
            *balanced(course),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=70, check=check)


def buckling(solver, contact):
    """Pins shorten a strip by a tenth next to a plane, which it buckles against: pins and plane are in balance with its weight."""
    scene = pdgpu.Scene()
    strip = block((0.4, 0.008, 0.04), (12, 1, 1), (0.0, 0.0, 0.0))
    points = strip.points - np.outer(4e-3 * np.cos(np.pi * strip.points[:, 0] / 0.4), [0.0, 1.0, 0.0])
    body = scene.add_solid(pdgpu.Mesh(points, tets=strip.tets), pdgpu.ARAP.from_young(1e6, 0.3), density=1000.0, damping=5e-2, name="strip")
    for side in (-1.0, 1.0):
        body.pin(lambda p, side=side: side * p[:, 0] > 0.199, motion=along((-side, 0.0, 0.0), ramp(0.05, 0.0, 0.4)))
    scene.add_obstacle(pdgpu.Plane((0.0, -0.025, 0.0), (0.0, 1.0, 0.0)), name="plane")

    def check(course):
        held, pushed = course.hold("strip"), course.push("strip")
        up, sideways, press = (held + pushed)[-20:, 1].mean(), abs(held[-20:, 0].mean()), pushed[-20:, 1].mean()
        return [
            Measure("(pins + plane)/weight", float(up / course.weight()), 1.0, 0.05, steps=last(course, 20)),
            Measure("pins along x/press", float(sideways / max(press, 1e-9)), 0.0, 0.1, steps=last(course, 20)),
            Measure("lowest above the plane", float(min(course.x[..., 1].min() + 0.025, 0.0)), 0.0, 0.0),
            Measure("pressed against the plane", float(press > 0.0), 1.0, 0.0, steps=last(course, 20)),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=120, check=check)
