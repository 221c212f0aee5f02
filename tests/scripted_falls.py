"""Scripted scenes of free bodies on floors and slopes: falls, rest, slides, impacts. Checked by weight, momentum, energy, closed forms."""

import numpy as np
from scripted_runs import Measure, ScriptedCase, along, balanced, carried, no_gain, speed, still
from scripted_shapes import block, sheet, slab, turned

import pdgpu
from pdgpu import shapes

G = 9.81  # m/s^2
SOFT = pdgpu.ARAP.from_young(1e5, 0.3)
FLOOR = pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def tilted(angle):
    """Gravity in the frame of a slope that goes down along x."""
    return G * np.array([np.sin(angle), -np.cos(angle), 0.0])


def sliding(course, angle, mu):
    """The speed of what slides down a slope: v = g (sin a - mu cos a) t, and up to a step of friction more.

    Friction has its normal force from the start of the step, and bodies start without contact.
    """
    right, lag = G * (np.sin(angle) - mu * np.cos(angle)) * course.times[-1], 0.5 * mu * G * np.cos(angle) * course.dt
    return speed(course, course.velocity()[-1, 0], right + lag, lag + 0.04 * right)


def slope(solver):
    """A soft block slides down 35 degrees with a friction of 0.5."""
    angle, mu = np.radians(35.0), 0.5
    scene = pdgpu.Scene(tilted(angle))
    scene.add_solid(block((0.1, 0.04, 0.1), (2, 2, 2), (0.0, 0.021, 0.0)), SOFT, density=1000.0, damping=1e-2)
    scene.add_obstacle(slab((8.0, 0.1, 1.0), (0.0, -0.05, 0.0)))

    def check(course):
        return [sliding(course, angle, mu), *balanced(course)]

    return ScriptedCase(scene=scene, solver=solver, contact=pdgpu.BarrierContact(1e-3, stiffness=1e5, friction=mu), steps=50, check=check)


def straight_fall(solver, contact, *, steps=60, floor=FLOOR):
    """A soft block falls at 1 m/s without friction: it moves along y alone, gains no energy, and ends on the floor."""
    scene = pdgpu.Scene()
    scene.add_solid(block((0.1, 0.1, 0.1), (2, 2, 2), (0.0, 0.055, 0.0)), SOFT, density=1000.0, velocity=(0.0, -1.0, 0.0))
    scene.add_obstacle(floor)
    forces = not isinstance(contact, pdgpu.TwoWayContact)

    def check(course):
        found = [still(course, 0), still(course, 2), no_gain(course)]
        return found + (balanced(course) if forces else [])

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=steps, check=check, forces=forces)


def oblique_fall(solver, contact):
    """A soft block is thrown at (2, -1, 0) m/s onto a floor without friction: it keeps 2 m/s along x."""
    scene = pdgpu.Scene()
    scene.add_solid(block((0.1, 0.1, 0.1), (2, 2, 2), (0.0, 0.055, 0.0)), SOFT, density=1000.0, velocity=(2.0, -1.0, 0.0))
    scene.add_obstacle(FLOOR)
    forces = not isinstance(contact, pdgpu.TwoWayContact)

    def check(course):
        found = [speed(course, course.velocity()[-1, 0], 2.0, 0.02), still(course, 2, bound=5e-3), no_gain(course)]
        return found + (balanced(course) if forces else [])

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=40, check=check, forces=forces)


def resting(solver, contact, *, young=1e5, floor=FLOOR):
    """A block is put 1 mm above a floor: the floor comes to carry its weight, without friction it does not push along x."""
    scene = pdgpu.Scene()
    material = pdgpu.ARAP.from_young(young, 0.3)
    scene.add_solid(block((0.1, 0.1, 0.1), (2, 2, 2), (0.0, 0.051, 0.0)), material, density=1000.0, damping=2e-2)
    scene.add_obstacle(floor)

    def check(course):
        # of each step a tolerance may leave a part of the weight; on a mesh, edges that a load tilts push along
        drift = max(1e-3, 3.0 * getattr(solver, "tolerance", 0.0) * G * course.times[-1])
        along = [still(course, 0, bound=drift)] * (floor is FLOOR)
        return [carried(course), *along, *balanced(course)]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=60, check=check)


def stack(solver, contact):
    """Three blocks are put on each other, 1.1 mm apart: each carries the weight above it."""
    scene = pdgpu.Scene()
    for k in range(3):
        mesh = block((0.1, 0.1, 0.1), (2, 2, 2), (0.0, 0.0511 + 0.1011 * k, 0.0))
        scene.add_solid(mesh, SOFT, density=1000.0, damping=2e-2, name=f"block{k}")
    scene.add_obstacle(slab((1.0, 0.1, 1.0), (0.0, -0.05, 0.0)))

    def check(course):
        found = [carried(course)]  # of all, the forces between blocks cancel
        return found + [carried(course, f"block{k}", bound=0.05) for k in range(3)]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=80, check=check)


def slide(solver, contact, *, gap=5e-4):
    """A soft block glides at 3 m/s close above a plane, without gravity or friction: it keeps its speed."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    scene.add_solid(block((0.1, 0.1, 0.1), (2, 2, 2), (0.0, 0.05 + gap, 0.0)), SOFT, density=1000.0, velocity=(3.0, 0.0, 0.0))
    scene.add_obstacle(FLOOR)
    forces = not isinstance(contact, pdgpu.TwoWayContact)

    def check(course):
        found = [speed(course, course.velocity()[-1, 0], 3.0, 0.03), no_gain(course)]
        return found + (balanced(course) if forces else [])

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=20, check=check, forces=forces)


def slide_on_mesh(solver, contact):
    """A soft block glides at 1 m/s over a flat mesh of many triangles, without friction: edges between them do not stop or turn it."""
    scene = pdgpu.Scene()
    scene.add_solid(block((0.1,) * 3, (2, 2, 2), (0.0, 0.0509, 0.0)), SOFT, density=1000.0, velocity=(1.0, 0.0, 0.0), damping=1e-2)
    scene.add_obstacle(sheet((1.0, 0.5), (40, 20), (0.3, 0.0, 0.0)))
    forces = not isinstance(contact, pdgpu.TwoWayContact)

    def check(course):
        found = [speed(course, course.velocity()[-1, 0], 1.0, 0.03), still(course, 2, bound=0.03), no_gain(course)]
        return found + (balanced(course) if forces else [])

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=40, check=check, forces=forces)


def impact(solver, contact, *, steps=40):
    """Two free blocks, 1 and 2 kg, meet head on at 2 m/s: their momentum stays, energy does not grow, and they part."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    light = block((0.1, 0.1, 0.1), (2, 2, 2), (-0.06, 0.0, 0.0))
    heavy = block((0.2, 0.1, 0.1), (4, 2, 2), (0.11, 0.003, 0.002))
    scene.add_solid(light, SOFT, density=1000.0, velocity=(2.0, 0.0, 0.0), name="light")
    scene.add_solid(heavy, SOFT, density=1000.0, name="heavy")
    forces = not isinstance(contact, pdgpu.TwoWayContact)

    def check(course):
        start = course.mass("light") * 2.0
        momentum = course.mass() * course.velocity()
        drift = np.linalg.norm(momentum - momentum[0], axis=1).max() / start
        apart = course.velocity("heavy")[-1, 0] - course.velocity("light")[-1, 0]
        found = [Measure("momentum gained", float(drift), 0.0, 0.01), no_gain(course)]
        found.append(Measure("speed apart", float(apart), 1.0, 1.0, steps=None))  # from 0, together, to 2, elastic
        return found + (balanced(course, "heavy") if forces else [])

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=steps, dt=5e-3, check=check, forces=forces)


def wind(solver):
    """A wind of 0.8 times the weight blows a block over a floor with a friction of 0.5: v = (F/m - mu g) t."""
    scene = pdgpu.Scene()
    scene.add_solid(block((0.1, 0.04, 0.1), (2, 1, 2), (0.0, 0.0211, 0.0)), SOFT, density=1000.0, damping=1e-2)
    scene.add_obstacle(slab((4.0, 0.1, 1.0), (0.0, -0.05, 0.0)))
    mu, blow = 0.5, 0.8

    def prepare(sim):
        sim.external_forces = sim.masses[:, None] * [blow * G, 0.0, 0.0]

    def check(course):
        right = (blow - mu) * G * course.times[-1]
        load = (blow * course.weight(), 0.0, 0.0)
        return [speed(course, course.velocity()[-1, 0], right, 0.04 * right), *balanced(course, load=load)]

    contact = pdgpu.BarrierContact(1e-3, friction=mu)
    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=50, check=check, prepare=prepare)


def conveyor(solver, contact, *, steps=40):
    """A block is put on a belt that runs at 1 m/s, friction 0.5: it gains mu g t up to the speed of the belt, and keeps that."""
    scene = pdgpu.Scene()
    scene.add_solid(block((0.1, 0.04, 0.1), (2, 1, 2), (0.0, 0.0211, 0.0)), SOFT, density=1000.0, damping=1e-2)
    scene.add_obstacle(slab((6.0, 0.1, 1.0), (0.0, -0.05, 0.0)), along("x", lambda now: now), name="belt")
    mu, half = 0.5, 12

    def check(course):
        v = course.velocity()[:, 0]
        on_the_way = mu * G * course.times[half]
        return [
            speed(course, v[half], on_the_way, 0.15 * on_the_way, "speed in slip", slice(0, half)),
            speed(course, v[-1], 1.0, 0.03, "speed of the belt"),
            carried(course, bound=0.05),
            *balanced(course),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=steps, check=check)


def rolling_ball(solver):
    """A rigid ball rolls down 20 degrees, friction 0.5: v = 5/7 g sin a t to the error of a polyhedron, and v = omega r."""
    angle, radius = np.radians(20.0), 0.05
    mesh = shapes.sphere(radius, 3)
    scene = pdgpu.Scene(tilted(angle))
    ball = pdgpu.Mesh(mesh.points + [0.0, radius + 1.1e-3, 0.0], triangles=mesh.triangles)
    scene.add_rigid(ball, density=1000.0)
    scene.add_obstacle(FLOOR)
    spins = []

    def advance(sim):
        sim.step()
        spins.append(sim.rigid.spins[0].copy())

    def check(course):
        v, right = course.velocity()[-1, 0], 5.0 / 7.0 * G * np.sin(angle) * course.times[-1]
        return [
            speed(course, v, right, 0.08 * right),
            speed(course, -spins[-1][2] * radius / v, 1.0, 0.05, "omega r/v"),
            Measure("drift along z", float(np.abs(course.velocity()[:, 2]).max() / v), 0.0, 0.02),
            no_gain(course),
        ]

    contact = pdgpu.BarrierContact(1e-3, friction=0.5)
    return ScriptedCase(scene=scene, solver=solver, contact=contact, dt=2.5e-3, steps=200, check=check, advance=advance)


def box_on_slope(solver, *, degrees, mu):
    """A rigid box on a slope: below the cone of friction it stays, above it v = g (sin a - mu cos a) t."""
    angle = np.radians(degrees)
    scene = pdgpu.Scene(tilted(angle))
    scene.add_rigid(slab((0.1, 0.04, 0.1), (0.0, 0.0211, 0.0)), density=1000.0)
    scene.add_obstacle(slab((4.0, 0.1, 1.0), (0.0, -0.05, 0.0)))

    def check(course):
        sticks = speed(course, course.velocity()[-1, 0], 0.0, 2e-3)  # it creeps below the friction velocity, 1 mm/s
        return [sticks if np.tan(angle) < mu else sliding(course, angle, mu), *balanced(course)]

    return ScriptedCase(scene=scene, solver=solver, contact=pdgpu.BarrierContact(1e-3, friction=mu), steps=40, check=check)


def card_house(solver, contact):
    """Two rigid cards lean on each other on a floor, friction 0.8: they stand, and the floor carries them."""
    scene, lean = pdgpu.Scene(), np.radians(20.0)
    height, thin = 0.1, 0.01
    for side in (-1.0, 1.0):
        card = turned(slab((thin, height, 0.06)), (0.0, 0.0, 1.0), side * lean)
        lowest, inner = card.points[:, 1].min(), side * (side * card.points[:, 0]).min()
        shift = [-inner + side * 5.5e-4, -lowest + 1.1e-3, 0.0]
        points = card.points + shift
        scene.add_rigid(pdgpu.Mesh(points, triangles=card.triangles), density=500.0, name=f"card{side:+.0f}")
    scene.add_obstacle(slab((1.0, 0.1, 1.0), (0.0, -0.05, 0.0)))

    def check(course):
        fall = course.centre()[0, 1] - course.centre()[-1, 1]
        return [
            speed(course, fall, 0.0, 2e-3, "fall of the cards"),
            carried(course),
            Measure("drift along z", float(np.abs(course.centre()[-1, 2])), 0.0, 1e-3),
        ]

    return ScriptedCase(scene=scene, solver=solver, contact=contact, steps=60, dt=5e-3, check=check)
