"""How fast do rigid bodies converge to the motion of rigid bodies? Tops and pendulums against Euler's equations, solved by SciPy to 1e-11.

Columns, per case and time step:
    angle      between the rotation and the exact one at the end, rad
    order      log2 of the angle with twice the step over this one
    spin       the largest component of the angular velocity that is off, over its norm
    linear     what is lost of the linear momentum, over m |v|; of held bodies empty
    angular    what is lost of the angular momentum about the centre, over what there was; of held bodies empty

    asymmetric   a box 1 x 0.6 x 0.3 m about its middle axis, which is unstable, 3 rad/s, 1 s
    symmetric    a box 0.5 x 0.5 x 0.2 m about its axis, 5 rad/s, and across it, 1 rad/s, 1 s
    pendulum     a bar of 1 m about an axis through its end, from the horizontal, 1 s
    heavy top    a disc on a stick of 0.3 m, 60 rad/s, held in a point, 0.2 s

    python benchmarks/rigid_tops.py [--out benchmarks/results/rigid_free_motion.csv]

rigid_tops.csv has the same with the target of Ferguson et al. 2021, of an earlier version.
"""

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

import pdgpu
from pdgpu import shapes

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "dynamics"))
from test_rigid import inertia_of, turned

COLUMNS = ("case", "dt", "angle", "order", "spin", "linear", "angular")
GRAVITY = np.array([0.0, -9.81, 0.0])


def asymmetric():
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_rigid(shapes.box((1.0, 0.6, 0.3)), density=100.0, spin=(0.2, 3.0, 0.3), velocity=(1.0, 2.0, 3.0))
    return scene, 1.0, None, (4e-3, 2e-3, 1e-3, 5e-4)


def symmetric():
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_rigid(shapes.box((0.5, 0.5, 0.2)), density=100.0, spin=(1.0, 0.0, 5.0), velocity=(1.0, 2.0, 3.0))
    return scene, 1.0, None, (4e-3, 2e-3, 1e-3, 5e-4)


def pendulum():
    scene = pdgpu.Scene()
    body = scene.add_rigid(shapes.box((1.0, 0.2, 0.2)), density=100.0)
    pins = [i for i, p in enumerate(body.points) if p[0] == 0.0 and p[1] == 0.2]
    body.pin(pins)
    return scene, 1.0, body.points[pins[0]], (4e-3, 2e-3, 1e-3, 5e-4)


def heavy_top():
    ball = shapes.sphere(0.1, 2)
    disc = np.array(ball.points) * [0.1, 1.0, 1.0] + [0.3, 0.0, 0.0]
    mesh = pdgpu.Mesh(np.concatenate([disc, np.zeros((1, 3))]), triangles=ball.triangles)
    scene = pdgpu.Scene()
    scene.add_rigid(mesh, density=1000.0, spin=(60.0, 0.0, 0.0)).pin([len(disc)])
    return scene, 0.2, np.zeros(3), (8e-4, 4e-4, 2e-4, 1e-4)


CASES = {"asymmetric": asymmetric, "symmetric": symmetric, "pendulum": pendulum, "heavy top": heavy_top}


def exact(body, seconds, about):
    """Spin and rotation at the end."""
    if about is None:
        return turned(inertia_of(body), body.spin, seconds)
    arm, inertia = body.centre - about, inertia_of(body)
    if len(body.pins[0][0]) == 2:  # the axis takes up what turns across it
        arm, inertia = arm * [1.0, 1.0, 0.0], np.diag([1e12, 1e12, inertia[2, 2]])
    inertia = inertia + body.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return turned(inertia, body.spin, seconds, arm, body.mass * GRAVITY)


def rows():
    for name, build in CASES.items():
        scene, seconds, about, steps = build()
        spin, rotation = exact(scene.bodies[0], seconds, about)
        before = None
        for dt in steps:
            sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=20), dt=dt)
            start = sim.momentum(about="centre")
            sim.step(round(seconds / dt))
            end, rigid = sim.momentum(about="centre"), sim.rigid
            angle = Rotation.from_matrix(rigid.rotations[0] @ rotation.T).magnitude()
            lost = ["", ""]
            if about is None:
                lost = [f"{np.linalg.norm(b - a) / np.linalg.norm(a):.3g}" for a, b in zip(start, end, strict=True)]
            off = np.abs(rigid.spins[0] - spin).max() / np.linalg.norm(spin)
            yield [name, f"{dt:g}", f"{angle:.4g}", "" if before is None else f"{np.log2(before / angle):.3f}", f"{off:.3g}", *lost]
            before = angle


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "rigid_free_motion.csv")
    out = parser.parse_args().out
    with open(out, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows():
            writer.writerow(row)
            print("  ".join(f"{entry:>10}" for entry in row), flush=True)


if __name__ == "__main__":
    main()
