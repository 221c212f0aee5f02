"""Scripted scenes of bodies that hold each other: hands, nets, chains, seesaws. Checked by weights and by the balance of moments."""

import numpy as np
from contact_scenes import torus
from scripted_runs import Measure, ScriptedCase, along, balanced, carried, last, no_gain, ramp, speed, turning
from scripted_shapes import block, cylinder, moved, sheet, turned

import pdgpu
from pdgpu import shapes

NONE = (0.0, 0.0, 0.0)
SOFT = pdgpu.ARAP.from_young(1e5, 0.3)
FIRM = pdgpu.ARAP.from_young(1e6, 0.3)


def hand(solver, contact):
    """Two soft fingers close on a block, lift it by 0.1 m and hold: it comes along, and friction carries its weight."""
    scene = pdgpu.Scene()
    scene.add_solid(block((0.05,) * 3, (2, 2, 2), (0.0, 0.0262, 0.0)), FIRM, density=1000.0, damping=1e-2, name="load")
    scene.add_obstacle(pdgpu.Plane(NONE, (0.0, 1.0, 0.0)), name="floor")
    close, lift = ramp(0.05, 0.0, 0.1), ramp(0.25, 0.2, 0.6)
    for side in (-1.0, 1.0):
        mesh = block((0.03, 0.04, 0.04), (2, 2, 2), (side * 0.042, 0.03, 0.0))
        finger = scene.add_solid(mesh, SOFT, density=1000.0, damping=1e-2, name=f"finger{side:+.0f}")
        outer = side * mesh.points[:, 0] > 0.0569
        finger.pin(outer, motion=lambda now, rest, side=side: rest + [-side * close(now), lift(now), 0.0])

    def check(course):
        rise = course.centre("load")[-1, 1] - course.centre("load")[0, 1]
        return [speed(course, rise, 0.0988, 4e-3, "rise of the block"), carried(course, "load", bound=0.05), *balanced(course, "load")]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=80, check=check)


def bones(solver, contact):
    """Pinned points in a soft limb bend it onto a floor and hold: bones and floor carry it, and nothing pushes it along."""
    scene = pdgpu.Scene()
    mesh = block((0.24, 0.06, 0.06), (8, 2, 2), (0.0, 0.035, 0.0))
    limb = scene.add_solid(mesh, SOFT, density=1000.0, damping=2e-2, name="limb")
    x, y, z = mesh.points.T
    core = (np.abs(y - 0.035) < 1e-6) & (np.abs(z) < 1e-6) & (np.abs(x) > 0.02) & (np.abs(x) < 0.1)
    for side in (-1.0, 1.0):
        limb.pin(core & (side * x > 0.0), motion=turning((0.0, 0.0, 1.0), ramp(-side * 0.8, 0.0, 0.4), (0.0, 0.035, 0.0)))
    scene.add_obstacle(pdgpu.Plane(NONE, (0.0, 1.0, 0.0)), name="floor")

    def check(course):
        total = (course.hold("limb") + course.push("limb"))[-10:].mean(axis=0) / course.weight()
        return [
            Measure("(bones + floor)/weight", float(total[1]), 1.0, 0.03, steps=last(course)),
            Measure("pushed along/weight", float(np.hypot(total[0], total[2])), 0.0, 0.03, steps=last(course)),
            Measure("floor pushes", float(course.push("limb")[-10:, 1].mean() > 0.0), 1.0, 0.0, steps=last(course)),
            speed(course, course.behind[-1], 0.0, 1e-5, "lag of the bones", last(course)),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=70, check=check)


def net(solver, contact, *, rigid=True):
    """A ball falls into a net of cords whose rim is pinned: the net carries the ball, the rim both."""
    n, size = 7, 0.24
    grid = np.stack(np.meshgrid(np.linspace(-0.5, 0.5, n), np.linspace(-0.5, 0.5, n), indexing="ij"), axis=-1).reshape(-1, 2) * size
    points, k = np.column_stack([grid[:, 0], np.zeros(n * n), grid[:, 1]]), np.arange(n * n).reshape(n, n)
    edges = np.concatenate([np.stack([k[1:], k[:-1]], axis=-1).reshape(-1, 2), np.stack([k[:, 1:], k[:, :-1]], axis=-1).reshape(-1, 2)])
    scene = pdgpu.Scene()
    cords = scene.add_rod(pdgpu.Mesh(points, edges=edges), pdgpu.Spring(50.0), density=0.02, damping=5e-2, name="net")
    cords.pin(np.abs(grid).max(axis=1) > 0.499 * size)
    ball = moved(shapes.sphere(0.05, 2), (0.003, 0.055, 0.002))
    if rigid:
        scene.add_rigid(ball, density=300.0, name="ball")
    else:
        soft = pdgpu.Mesh(
            np.concatenate([ball.points, [[0.003, 0.055, 0.002]]]),
            tets=np.column_stack([ball.triangles[:, ::-1], np.full(len(ball.triangles), len(ball.points))]),
        )
        scene.add_solid(soft, FIRM, density=300.0, damping=1e-2, name="ball")

    def check(course):
        rim = course.hold("net")[-60:, 1].mean()
        found = [carried(course, "ball", 60, 0.05), Measure("rim/weight", float(rim / course.weight()), 1.0, 0.05, steps=last(course, 60))]
        return found + balanced(course, "ball")

    return ScriptedCase(scene=scene, solver=solver, contact=contact, dt=5e-3, steps=200, check=check)


def chain(solver, contact, *, rigid=True):
    """Three links hang in each other, the first of them pinned: each carries those below it."""
    scene = pdgpu.Scene()
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))
    pitch = 2 * (0.03 - 0.006) - 5e-4
    for i in range(3):
        mesh = torus(0.03, 0.006, 12, np.array([0.0, -pitch * i, 0.0]), axes[i % 2])
        body = (
            scene.add_rigid(mesh, density=2000.0, name=f"link{i}")
            if rigid
            else scene.add_solid(mesh, FIRM, density=2000.0, damping=1e-2, name=f"link{i}")
        )
        if i == 0:
            body.pin((lambda p: np.ones(len(p), bool)) if rigid else (lambda p: p[:, 1] > 0.01))

    def check(course):
        found = [carried(course, f"link{i}", 60, 0.05) for i in (1, 2)]
        below = course.weight("link1") + course.weight("link2")
        pulled = -course.push("link0")[-60:, 1].mean() / below
        sunk = course.centre("link2")[:, 1].min() - course.centre("link2")[0, 1]
        return [
            *found,
            Measure("pull on the first/weight below", float(pulled), 1.0, 0.05, steps=last(course, 60)),
            speed(course, sunk, -1e-3, 2e-3, "way of the last link"),
            *balanced(course, "link2"),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, dt=5e-3, steps=150, check=check)


def zipper(solver, contact):
    """A slider goes along two strips that stand apart and closes them: they pass through its throat, and press it from both sides alike."""
    scene, lean = pdgpu.Scene(NONE), 0.15
    for side in (-1.0, 1.0):
        strip = turned(block((0.3, 0.02, 0.05), (10, 1, 2), (0.15, 0.0, 0.0)), (0.0, 0.0, 1.0), side * lean)
        body = scene.add_solid(moved(strip, (0.0, side * 0.012, 0.0)), SOFT, density=500.0, damping=2e-2, name=f"strip{side:+.0f}")
        body.pin(np.abs(strip.points @ [np.cos(lean), side * np.sin(lean), 0.0]) < 1e-6)
        profile = np.array([(-0.03, 0.0232), (0.0, 0.0232), (0.1, 0.0582)])
        points = np.array([(x - 0.02, side * y, z) for x, y in profile for z in (-0.05, 0.05)])
        rows = [(2 * k, 2 * k + 1, 2 * k + 3) for k in range(2)] + [(2 * k, 2 * k + 3, 2 * k + 2) for k in range(2)]
        scene.add_obstacle(pdgpu.Mesh(points, triangles=rows), along("x", ramp(0.5, 0.0, 0.45)), name=f"slider{side:+.0f}")

    def check(course):
        x = course.x[-1]
        throat = (x[:, 0] > 0.175) & (x[:, 0] < 0.205)
        outer = np.abs(x[throat, 1]).max() if throat.any() else np.nan
        top, low = course.push("strip+1")[-10:].mean(axis=0), course.push("strip-1")[-10:].mean(axis=0)
        size = np.abs(course.contact[-10:, course.rows("strip+1"), 1]).sum(axis=1).mean()
        middle = np.abs(course.velocity()[:, 1]).max()
        return [
            speed(course, course.behind[-1], 0.0, 1e-5, "lag of the slider", last(course)),
            speed(course, outer, 0.0226, 7e-4, "half width in the throat"),
            Measure("press of both sides", float((top + low)[1] / max(size, 1e-9)), 0.0, 0.05, steps=last(course)),
            Measure("drift along y", float(middle), 0.0, 0.02),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=80, check=check)


def pulling_pins(solver, contact):
    """Two scripted pins pull a strap down over a pipe: pipe and pins carry it, and the pins pull alike."""
    scene = pdgpu.Scene()
    strap = scene.add_solid(block((0.4, 0.01, 0.04), (14, 1, 1), (0.0, 0.0065, 0.0)), FIRM, density=1000.0, damping=3e-2, name="strap")
    for side in (-1.0, 1.0):
        strap.pin(lambda p, side=side: side * p[:, 0] > 0.199, motion=along("y", ramp(-0.2, 0.0, 0.4)))
    scene.add_obstacle(cylinder(0.05, 0.1, 32, (0.0, -0.05, 0.0)), name="pipe")

    def check(course):
        fixed = course.scene.fixed() == 1
        held = -(course.elastic + course.contact + course.masses[:, None] * course.scene.gravity)[-20:].mean(axis=0)
        right = course.x[0, :, 0] > 0.0
        pull, other = held[fixed & right].sum(axis=0), held[fixed & ~right].sum(axis=0)
        pushed = course.push("strap")[-20:].mean(axis=0)
        left_over = (pushed + pull + other)[1] - course.weight()
        return [
            Measure("(pipe + pins - weight)/pipe", float(left_over / pushed[1]), 0.0, 0.03, steps=last(course, 20)),
            Measure("pulls along y", float(pull[1] / other[1]), 1.0, 0.05, steps=last(course, 20)),
            Measure("net force along x/pipe", float((pull + other + pushed)[0] / pushed[1]), 0.0, 0.02, steps=last(course, 20)),
            speed(course, course.behind[-1], 0.0, 1e-5, "lag of the pins", last(course)),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=80, check=check)


def seesaw(solver, contact):
    """Blocks of 2 and 1 kg are put on a plank that turns about an axle: it tips, and the moments of all forces on it are in balance."""
    scene = pdgpu.Scene()
    plank = block((0.5, 0.02, 0.1), (4, 1, 1))
    body = scene.add_solid(plank, pdgpu.ARAP.from_young(1e7, 0.3), density=500.0, damping=2e-2, name="plank")
    body.pin(lambda p: (np.abs(p[:, 0]) < 1e-6) & (p[:, 1] < 0.0))
    for side, density in ((-1.0, 2000.0), (1.0, 1000.0)):
        mesh = block((0.1, 0.1, 0.1), (1, 1, 1), (side * 0.15, 0.0615, 0.0))
        scene.add_solid(mesh, FIRM, density=density, damping=2e-2, name=f"load{side:+.0f}")
    scene.add_obstacle(pdgpu.Plane((0.0, -0.05, 0.0), (0.0, 1.0, 0.0)), name="floor")

    def check(course):
        rows = course.rows("plank")
        forces = course.contact[:, rows] + course.masses[rows, None] * course.scene.gravity
        axle = course.x[0, rows[course.scene.fixed()[rows] == 1]].mean(axis=0)
        moments = np.cross(course.x[:, rows] - axle, forces)[:, :, 2].sum(axis=1)[-40:].mean()
        arm = 0.15 * (course.weight("load-1") - course.weight("load+1"))
        return [
            Measure("moment/moment of the loads", float(moments / arm), 0.0, 0.05, steps=last(course, 40)),
            carried(course, "load-1", 40, 0.05),
            carried(course, "load+1", 40, 0.05),
            Measure("tipped", float(course.x[-1, rows, 1].min() < -0.045), 1.0, 0.0),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, dt=5e-3, steps=250, check=check)


def pendulum(solver, contact):
    """A bar on an axle falls against a wall and comes to lean on it: no energy is gained, the wall's moment balances the weight."""
    scene, tilt = pdgpu.Scene(), np.radians(50.0)
    bar = block((0.04, 0.3, 0.04), (2, 6, 2), (0.0, -0.15, 0.0))
    body = scene.add_solid(turned(bar, (0.0, 0.0, 1.0), tilt), FIRM, density=1000.0, damping=2e-2, name="bar")
    body.pin((np.abs(bar.points[:, 0]) < 1e-6) & (bar.points[:, 1] > -1e-6))
    scene.add_obstacle(pdgpu.Plane((-0.03, 0.0, 0.0), (0.3, 0.09, 0.0)), name="wall")
    forces = not isinstance(contact, pdgpu.TwoWayContact)

    def check(course):
        found = [no_gain(course)]
        if forces:
            weights = course.masses[:, None] * course.scene.gravity
            lean = np.cross(course.x, course.contact)[:, :, 2].sum(axis=1)[-100:].mean()
            hang = np.cross(course.x, np.broadcast_to(weights, course.x.shape))[:, :, 2].sum(axis=1)[-100:].mean()
            found.append(Measure("moment of the wall/weight", float(-lean / hang), 1.0, 0.05, steps=last(course, 100)))
        return found

    return ScriptedCase(scene=scene, solver=solver, contact=contact, dt=5e-3, steps=300, check=check, forces=forces)


def folded_cloth(solver, contact):
    """One edge of a cloth on a floor is led over to the other and held: floor and pins carry it, the layers only push each other."""
    scene = pdgpu.Scene()
    size, cells = 0.2, 8
    mesh = sheet((size, 0.1), (cells, 4), (0.0, 2e-3, 0.0))
    cloth = scene.add_shell(mesh, pdgpu.Spring(200.0), density=0.3, bending=2e-5, damping=2e-2, name="cloth")
    fold = turning((0.0, 0.0, -1.0), ramp(np.pi * 0.95, 0.05, 1.05), (0.0, 2e-3, 0.0))
    cloth.pin(mesh.points[:, 0] < -0.499 * size, motion=fold)
    scene.add_obstacle(pdgpu.Plane(NONE, (0.0, 1.0, 0.0)), name="floor")

    def check(course):
        held, pushed = course.hold("cloth")[-20:], course.push("cloth")[-20:]
        edge = course.x[-1, course.scene.fixed() == 1]
        return [
            Measure("(floor + pins)/weight", float((held + pushed)[:, 1].mean() / course.weight()), 1.0, 0.05, steps=last(course, 20)),
            Measure("lowest above the floor", float(min(course.x[..., 1].min(), 0.0)), 0.0, 0.0),
            speed(course, edge[:, 0].mean(), 0.1 * np.cos(0.05 * np.pi), 2e-3, "edge led over", last(course)),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=140, check=check)
