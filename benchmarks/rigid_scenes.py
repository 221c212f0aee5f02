"""Rigid scenes with known answers, by pdgpu and by MuJoCo: a double pendulum, a spinning ball on a plank, and 50 dominoes.

bars      two bars on hinges fall from level for 0.5 s. Error: the larger difference of their angles from Lagrange's equations, rad.
plank     a ball of 20 rad/s on a plank that slides freely, friction 0.4, after 0.6 s. Error: of the velocity of the ball, as part of
          the closed form of the impulse of friction.
dominoes  50 of 50 x 24 x 7.5 mm, 20 mm apart, friction 0.3. Value: the speed of the wave from the 13th to the 48th, in units of
          sqrt(g height). There is no closed form; it must not depend on the step.

Columns: scene, engine, dt (s), value, error, seconds of the processor.

    python benchmarks/rigid_scenes.py [--dts 4e-3 2e-3 1e-3] [--dominoes 50] [--tiny] [--out benchmarks/results/rigid_scenes.csv]
                                       (without mujoco: pdgpu alone)
"""

import argparse
import time

import numpy as np
from machine import write_table
from scipy.integrate import solve_ivp

import pdgpu
from pdgpu import shapes

try:
    import mujoco
except ImportError:
    mujoco = None

LENGTH, WIDTH = 0.5, 0.04
RADIUS, SPIN, PLANK = 0.1, 20.0, (4.0, 0.04, 0.4)
HEIGHT, THICK, DEPTH, PITCH = 0.05, 0.0075, 0.024, 0.02
UPRIGHT = 'gravity="0 -9.81 0"'


def placed(mesh, centre):
    points = np.array(mesh.points)
    return pdgpu.Mesh(points - 0.5 * (points.min(axis=0) + points.max(axis=0)) + centre, triangles=mesh.triangles)


class Ours:
    name = f"pdgpu {pdgpu.__version__}"

    def __init__(self, scene, dt, contact=None):
        self.sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=60, tolerance=1e-4), dt=dt, contact=contact)

    def step(self):
        self.sim.step()

    def rotations(self):
        return self.sim.rigid.rotations

    def velocity(self, body):
        return self.sim.rigid.velocities[body, 0]


class MuJoCo:
    name = f"MuJoCo {mujoco.__version__}" if mujoco else "MuJoCo"

    def __init__(self, bodies, dt, options=""):
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><compiler angle="radian"/><option timestep="{dt}" {UPRIGHT} cone="elliptic" {options}/><size memory="500M"/>'
            f"<worldbody>{bodies}</worldbody></mujoco>"
        )
        self.data = mujoco.MjData(self.model)

    def step(self):
        mujoco.mj_step(self.model, self.data)

    def rotations(self):
        return self.data.xmat[1:].reshape(-1, 3, 3)

    def velocity(self, body):
        return self.data.qvel[6 * body]


def floor(friction):
    """Of MuJoCo; y is up."""
    return f'<geom type="plane" size="5 5 1" zaxis="0 1 0" friction="{friction} 0 0"/>'


def bars(engine, dt):
    if engine is Ours:
        scene, before = pdgpu.Scene(), None
        for k in range(2):
            bar = scene.add_rigid(placed(shapes.box((LENGTH, WIDTH, WIDTH)), (LENGTH * (k + 0.5), 0.0, 0.0)), density=1000.0)
            scene.add_joint("hinge", bar, before, at=(LENGTH * k, 0.0, 0.0), axis=(0.0, 0.0, 1.0), stiffness=1e7)
            before = bar
        run = Ours(scene, dt)
    else:
        geom = f'<joint axis="0 0 1"/><geom type="box" density="1000" size="{LENGTH / 2} {WIDTH / 2} {WIDTH / 2}" pos="{LENGTH / 2} 0 0"'
        geom += ' contype="0" conaffinity="0"/>'
        run = MuJoCo(f'<body>{geom}<body pos="{LENGTH} 0 0">{geom}</body></body>', dt)
    for _ in range(round(0.5 / dt)):
        run.step()
    R = run.rotations()
    angle = np.arctan2(R[:, 1, 0], R[:, 0, 0])
    a, own = LENGTH**2, LENGTH**2 / 3.0 + WIDTH**2 / 12.0

    def change(_, state):
        q, w = state[:2], state[2:]
        c, s = 0.5 * a * np.cos(q[0] - q[1]), 0.5 * a * np.sin(q[0] - q[1])
        load = -9.81 * LENGTH * np.array([1.5, 0.5]) * np.cos(q) - s * np.array([w[1] ** 2, -(w[0] ** 2)])
        return np.r_[w, np.linalg.solve([[own + a, c], [c, own]], load)]

    exact = solve_ivp(change, (0.0, 0.5), np.zeros(4), rtol=1e-11, atol=1e-12).y[:2, -1]
    return angle[1], np.abs(angle - exact).max()


def plank(engine, dt, level=4):
    gap = 1e-3
    masses = 4.0 / 3.0 * np.pi * RADIUS**3 * 1000.0, np.prod(PLANK) * 10.0
    inertia = 0.4 * masses[0] * RADIUS**2
    if engine is Ours:
        scene = pdgpu.Scene()
        scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
        ball = placed(shapes.sphere(RADIUS, level), (0.0, PLANK[1] + 2.0 * gap + RADIUS, 0.0))
        body = scene.add_rigid(ball, density=1000.0, spin=(0.0, 0.0, -SPIN), name="ball")
        below = scene.add_rigid(placed(shapes.box(PLANK), (0.0, 0.5 * PLANK[1] + gap, 0.0)), density=10.0, name="plank")
        masses, inertia = (body.mass, below.mass), (np.trace(body.second_moments) - body.second_moments[2, 2])
        run = Ours(scene, dt, pdgpu.BarrierContact(gap, stiffness=1e6, friction={("plank", "ball"): 0.4}))
    else:
        half = " ".join(str(0.5 * size) for size in PLANK)
        run = MuJoCo(
            f'{floor(0)}<body pos="0 {PLANK[1] + RADIUS} 0"><freejoint/><geom type="sphere" density="1000" size="{RADIUS}"/></body>'
            f'<body pos="0 {0.5 * PLANK[1]} 0"><freejoint/><geom type="box" density="10" size="{half}"/></body>',
            dt,
        )
        # the floor is smooth for the plank: pairs take the larger friction, so both have it by pairs of priority
        run.model.geom_friction[:] = [[0.0, 0.0, 0.0], [0.4, 0.0, 0.0], [0.4, 0.0, 0.0]]
        run.model.geom_priority[:] = [1, 0, 0]
        run.data.qvel[5] = -SPIN
    for _ in range(round(0.6 / dt)):
        run.step()
    impulse = SPIN * RADIUS / (1.0 / masses[0] + 1.0 / masses[1] + RADIUS**2 / inertia)
    return run.velocity(0), abs(run.velocity(0) * masses[0] / impulse - 1.0)


def dominoes(engine, dt, n):
    speed, gap = 6.0, 5e-4
    if engine is Ours:
        scene = pdgpu.Scene()
        scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
        for k in range(n):
            first = {"velocity": (0.5 * speed * HEIGHT, 0.0, 0.0), "spin": (0.0, 0.0, -speed)} if k == 0 else {}
            at = (k * PITCH, 0.5 * HEIGHT + gap, 0.0)
            scene.add_rigid(placed(shapes.box((THICK, HEIGHT, DEPTH)), at), density=600.0, **first)
        run = Ours(scene, dt, pdgpu.BarrierContact(gap, friction=0.3))
    else:
        geom = f'<freejoint/><geom type="box" density="600" size="{THICK / 2} {HEIGHT / 2} {DEPTH / 2}" friction="0.3 0 0"/>'
        run = MuJoCo(floor(0.3) + "".join(f'<body pos="{k * PITCH} {0.5 * HEIGHT} 0">{geom}</body>' for k in range(n)), dt)
        run.data.qvel[[0, 5]] = [0.5 * speed * HEIGHT, -speed]
    when = np.full(n, np.nan)
    for k in range(round(0.1 * n / dt)):
        run.step()
        R = run.rotations()
        when[np.isnan(when) & (-np.arctan2(R[:, 1, 0], R[:, 0, 0]) > 0.05)] = (k + 1) * dt
        if not np.isnan(when).any():
            break
    return (n - 2 - n // 4) * PITCH / (when[n - 2] - when[n // 4]) / np.sqrt(9.81 * HEIGHT), np.nan


def measured(scenes, dts):
    for name, scene in scenes.items():
        for engine in (Ours, MuJoCo) if mujoco else (Ours,):
            for dt in dts:
                start = time.process_time()
                value, error = scene(engine, dt)
                yield name, engine.name, f"{dt:g}", f"{value:.5f}", f"{error:.2g}", f"{time.process_time() - start:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dts", nargs="+", type=float, default=[4e-3, 2e-3, 1e-3])
    parser.add_argument("--dominoes", type=int, default=50)
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    parser.add_argument("--out", help="a CSV file with the table")
    options = parser.parse_args()
    n, level = (8, 2) if options.tiny else (options.dominoes, 4)
    scenes = {"bars": bars, "plank": lambda *args: plank(*args, level), "dominoes": lambda *args: dominoes(*args, n)}
    write_table(
        options.out,
        "scene engine dt value error seconds".split(),
        measured(scenes, options.dts[: 1 if options.tiny else None]),
        ["tiny"] if options.tiny else [],
    )


if __name__ == "__main__":
    main()
