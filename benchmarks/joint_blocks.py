"""How fast do sweeps over jointed rigid bodies converge, by the blocks that they solve?

The Hessian of a step at the start, with the inertia of the bodies and their joints, is swept over by Gauss-Seidel with exact solves of its
blocks. The spectral radius of the iteration matrix gives the sweeps that take the error to 1e-6 of itself.

Columns:
    scene, dt, stiffness   s, N/m
    blocks                 "body": 6x6 of each body; "joint": 12x12 of the two bodies of each joint, which overlap; "mechanism": all
                           bodies that joints connect, which is a direct solve
    radius                 spectral radius
    sweeps                 to 1e-6; 1 for a direct solve

    crank   crank, connecting rod and slider, closed by a slider joint to the world
    chain   20 bars on ball joints, the first held

    python benchmarks/joint_blocks.py [--out benchmarks/results/joint_blocks.csv]
"""

import argparse
import csv

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


SCENES = {"crank": crank, "chain": chain}


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
