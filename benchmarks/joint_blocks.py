"""How fast do sweeps over jointed rigid bodies converge, by the blocks that they solve?

The Hessian of a step at the start, with the inertia of the bodies and their joints, is swept over by Gauss-Seidel with exact solves of its
blocks. The spectral radius of the iteration matrix gives the sweeps that take the error to 1e-6 of itself.

Columns:
    scene, dt, stiffness   s, N/m
    blocks                 "body": 6x6 of each body; "joint": 12x12 of the two bodies of each joint, which overlap; "mechanism": all
                           bodies that joints connect, which is a direct solve
    radius                 spectral radius
    sweeps                 to 1e-6; 1 for a direct solve

    crank     crank, connecting rod and slider, closed by a slider joint to the world
    chain     20 bars on ball joints, the first held
    four_bar  three bars on hinges, closed through the world
    heavy     5 bars on ball joints, the first held, the last 1000 times as heavy
    ragdoll   a tree of 12 bodies on ball joints, free

    python benchmarks/joint_blocks.py [--out benchmarks/results/joint_blocks.csv]
"""

import argparse
import csv
import itertools

import numpy as np

import pdgpu
from pdgpu import shapes

COLUMNS = ("scene", "dt", "stiffness", "blocks", "radius", "sweeps")


def placed(size, centre, angle=0.0):
    box = shapes.box(size)
    c, s = np.cos(angle), np.sin(angle)
    turned = (np.array(box.points) - 0.5 * np.array(size)) @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    return pdgpu.Mesh(turned + centre, triangles=box.triangles)


def crank(stiffness, spin=30.0):
    """Upright crank of 0.1 m, rod of 0.3 m; returns the scene and its joints as pairs of numbers of bodies."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    tip, end = np.array([0.0, 0.1, 0.0]), np.array([np.sqrt(0.08), 0.0, 0.0])
    angle, speed = np.arctan2(-tip[1], end[0]), np.array([-spin * 0.1, 0.0, 0.0])
    motion = {"density": 1000.0, "velocity": speed}
    first = scene.add_rigid(
        placed((0.1, 0.02, 0.02), 0.5 * tip, 0.5 * np.pi), density=1000.0, velocity=0.5 * speed, spin=(0.0, 0.0, spin), name="crank"
    )
    rod = scene.add_rigid(placed((0.3, 0.02, 0.02), 0.5 * (tip + end), angle), name="rod", **motion)
    slider = scene.add_rigid(placed((0.04, 0.04, 0.04), end), name="slider", **motion)
    axis = {"axis": (0.0, 0.0, 1.0), "stiffness": stiffness}
    scene.add_joint("hinge", first, None, at=(0.0, 0.0, 0.0), **axis)
    scene.add_joint("hinge", rod, first, at=tip, **axis)
    scene.add_joint("hinge", slider, rod, at=end, **axis)
    scene.add_joint("slider", slider, None, at=end, axis=(1.0, 0.0, 0.0), stiffness=stiffness)
    return scene, [(0, 1), (1, 2)]


def chain(stiffness, n=20):
    scene, before = pdgpu.Scene(gravity=(0.0, -9.81, 0.0)), None
    for k in range(n):
        body = scene.add_rigid(placed((0.04, 0.01, 0.01), (0.05 * k, 0.0, 0.0)), density=1000.0, name=f"b{k}")
        scene.add_joint("ball", body, before, at=(0.05 * k - 0.025, 0.0, 0.0), stiffness=stiffness)
        before = body
    return scene, [(k, k + 1) for k in range(n - 1)]


def bars(points, stiffness, heavy=None):
    """Bars between points in sequence, on hinges, the first held; one may be 1000 times as dense."""
    scene, before = pdgpu.Scene(gravity=(0.0, -9.81, 0.0)), None
    points = np.array(points)
    for k, (start, end) in enumerate(itertools.pairwise(points)):
        along = end - start
        size = (0.8 * np.linalg.norm(along), 0.02, 0.02)
        placed_bar = placed(size, 0.5 * (start + end), np.arctan2(along[1], along[0]))
        body = scene.add_rigid(placed_bar, density=1e6 if k == heavy else 1e3, name=f"bar{k}")
        scene.add_joint("hinge", body, before, at=start, axis=(0.0, 0.0, 1.0), stiffness=stiffness)
        before = body
    return scene


def four_bar(stiffness):
    points = [(0.0, 0.0, 0.0), (0.0, 0.1, 0.0), (0.3, 0.2, 0.0), (0.3, 0.0, 0.0)]
    scene = bars(points, stiffness)
    scene.add_joint("hinge", scene.bodies[-1], None, at=points[-1], axis=(0.0, 0.0, 1.0), stiffness=stiffness)
    return scene, [(0, 1), (1, 2)]


def heavy(stiffness):
    return bars([(0.1 * k, 0.0, 0.0) for k in range(6)], stiffness, heavy=4), [(k, k + 1) for k in range(4)]


def ragdoll(stiffness):
    """Torso, head, and arms and legs in parts that spin."""
    scene, joints = pdgpu.Scene(gravity=(0.0, 0.0, 0.0)), []

    def add(size, centre, parent, at, spin=(0.0, 0.0, 0.0)):
        name = f"part{len(scene.bodies)}"
        body = scene.add_rigid(placed(size, np.array(centre)), density=1000.0, spin=spin, name=name)
        if parent is not None:
            scene.add_joint("ball", body, parent, at=at, stiffness=stiffness)
            joints.append((int(parent.name[4:]), len(scene.bodies) - 1))
        return body

    torso = add((0.3, 0.5, 0.2), (0.0, 0.0, 0.0), None, None)
    add((0.2, 0.2, 0.2), (0.0, 0.4, 0.0), torso, (0.0, 0.27, 0.0), (0.0, 0.0, 6.0))
    for side in (-1.0, 1.0):
        arm = add((0.3, 0.08, 0.08), (0.35 * side, 0.2, 0.0), torso, (0.17 * side, 0.2, 0.0), (0.0, 0.0, 8.0 * side))
        lower = add((0.3, 0.07, 0.07), (0.68 * side, 0.2, 0.0), arm, (0.515 * side, 0.2, 0.0))
        add((0.1, 0.06, 0.06), (0.9 * side, 0.2, 0.0), lower, (0.84 * side, 0.2, 0.0), (0.0, 20.0, 0.0))
        leg = add((0.12, 0.4, 0.12), (0.1 * side, -0.48, 0.0), torso, (0.1 * side, -0.265, 0.0), (7.0 * side, 0.0, 0.0))
        add((0.1, 0.4, 0.1), (0.1 * side, -0.92, 0.0), leg, (0.1 * side, -0.7, 0.0))
    return scene, joints


SCENES = {"crank": crank, "chain": chain, "four_bar": four_bar, "heavy": heavy, "ragdoll": ragdoll}


def radius(hessian, blocks):
    """Of the iteration matrix of a sweep over blocks, each an array of rows."""
    n = len(hessian)
    error = np.eye(n)
    for rows in blocks:
        error[rows] -= np.linalg.solve(hessian[np.ix_(rows, rows)], hessian[rows] @ error)
    return float(np.abs(np.linalg.eigvals(error)).max())


def rows_of(*bodies):
    return np.concatenate([np.arange(6 * b, 6 * b + 6) for b in bodies])


def measured(name, dt, stiffness):
    scene, joints = SCENES[name](stiffness)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=dt)
    n = len(sim.rigid)
    hessian = sim.hessian(psd=True)[3 * len(sim.masses) :, 3 * len(sim.masses) :].toarray()
    scale = 1.0 / np.sqrt(np.diag(hessian))
    hessian = scale[:, None] * hessian * scale
    cases = {"body": [rows_of(b) for b in range(n)], "joint": [rows_of(*pair) for pair in joints], "mechanism": [rows_of(*range(n))]}
    for blocks, rows in cases.items():
        found = radius(hessian, rows)
        sweeps = 1 if blocks == "mechanism" else int(np.ceil(np.log(1e-6) / np.log(found)))
        yield {
            "scene": name,
            "dt": dt,
            "stiffness": f"{stiffness:g}",
            "blocks": blocks,
            "radius": f"{min(found, 1.0):.6g}",
            "sweeps": sweeps,
        }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="benchmarks/results/joint_blocks.csv")
    options = parser.parse_args(arguments)
    rows = [row for name in SCENES for dt in (1e-3, 4e-3) for k in (1e5, 1e7, 1e9) for row in measured(name, dt, k)]
    with open(options.out, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print(row)


if __name__ == "__main__":
    main()
