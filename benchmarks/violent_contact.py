"""How long does a step of vertex block descent take in violent contact?

Three scenes of cloths of springs that meet at 3 to 5 m/s, with a barrier. "cloth on cloth": one falls on another one, which is held at
its border. "cloth on sphere": a finer one falls on a sphere of triangles. "cloths on sphere": three of them fall on the sphere and on each
other. The activation distance is a fifth of an edge. The impact begins within the first steps.

A run takes the steps of a scene from its beginning. "seconds" is the processor time of all steps, of each the least of all runs. Other
programs on the machine disturb it little in this way. "pairs" counts the pairs that act at the end. "sum" is the sum of the absolute
coordinates at the end, m: two builds with the same bits have the same sum. Two builds are compared in turn, run by run:

    python benchmarks/violent_contact.py [--out FILE.csv] [--steps 12] [--iterations 20 50] [--threads 1 2] [--runs 3] [--dtype float64]
                                         [--other PYTHON] [--scenes NAME ...] [--tiny]

PYTHON is the interpreter of an environment with another build. "ratio" is then the time of this build as a part of that of the other one.
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np
from machine import write_table

import pdgpu
from pdgpu import shapes

PART = 0.2  # activation distance / edge
GRAVITY = (0.0, -9.81, 0.0)
SKEW = 0.3  # rad, between one cloth and the next
DT = 1 / 200


def sheet(width, cells, height, angle):
    """A horizontal square around the y axis, turned about it."""
    flat = shapes.grid((width, width), (cells, cells))
    x, z = flat.points[:, 0] - 0.5 * width, 0.5 * width - flat.points[:, 1]
    c, s = np.cos(angle), np.sin(angle)
    points = np.stack([c * x + s * z, np.full(len(x), height), c * z - s * x], axis=1)
    return pdgpu.Mesh(points, triangles=flat.triangles)


def add_cloth(scene, mesh, speed, name):
    return scene.add_shell(mesh, pdgpu.Spring(200.0), density=0.2, bending=1e-6, velocity=(0.0, -speed, 0.0), name=name)


def cloth_on_cloth(cells):
    scene = pdgpu.Scene(GRAVITY)
    edge = 1.0 / cells
    held = sheet(1.0, cells, 0.0, 0.0)
    body = add_cloth(scene, held, 0.0, "held")
    body.pin((np.abs(held.points[:, [0, 2]]) > 0.5 - 1e-9).any(axis=1))
    add_cloth(scene, sheet(0.9, cells, 2.0 * edge, SKEW), 5.0, "falling")
    return scene, edge


def add_sphere(scene, radius, fine):
    scene.add_obstacle(shapes.sphere(radius, fine), name="sphere")


def cloth_on_sphere(cells):
    scene = pdgpu.Scene(GRAVITY)
    edge = 1.0 / cells
    add_sphere(scene, 0.3, 4 if cells > 20 else 2)
    add_cloth(scene, sheet(1.0, cells, 0.3 + 0.5 * edge, SKEW), 4.0, "cloth")
    return scene, edge


def cloths_on_sphere(cells):
    scene = pdgpu.Scene(GRAVITY)
    edge = 1.0 / cells
    add_sphere(scene, 0.3, 4 if cells > 20 else 2)
    for k in range(3):
        add_cloth(scene, sheet(1.0, cells, 0.3 + (0.5 + 0.8 * k) * edge, SKEW * k), 3.0 + k, f"cloth {k}")
    return scene, edge


SCENES = {"cloth on cloth": (cloth_on_cloth, 60), "cloth on sphere": (cloth_on_sphere, 80), "cloths on sphere": (cloths_on_sphere, 50)}


def run(name, iterations, threads, dtype, steps, tiny):
    """Processor time of each step, s, and where they lead."""
    make, cells = SCENES[name]
    scene, edge = make(8 if tiny else cells)
    contact = pdgpu.BarrierContact(PART * edge, stiffness=1e5)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=iterations), dt=DT, contact=contact, dtype=dtype, threads=threads)
    seconds = []
    for _ in range(steps):
        begun = time.process_time()
        sim.step()
        seconds.append(time.process_time() - begun)
    total = repr(float(np.abs(sim.positions).sum()))
    return {"seconds": seconds, "vertices": scene.n_vertices, "pairs": len(sim.contact_forces()), "sum": total}


def in_process(python, case):
    """The same by another interpreter."""
    found = subprocess.run([python, __file__, "--one", json.dumps(case)], capture_output=True, text=True, check=True)
    return json.loads(found.stdout.splitlines()[-1])


def least(runs):
    """Sum over the steps of the least time of each, s."""
    return float(np.min([each["seconds"] for each in runs], axis=0).sum())


def rows(chosen):
    steps, n_runs = (2, 1) if chosen.tiny else (chosen.steps, chosen.runs)
    pythons = [sys.executable, *([chosen.other] if chosen.other else [])]
    for name in chosen.scenes or SCENES:
        for iterations in chosen.iterations:
            for threads in chosen.threads:
                case = (name, iterations, threads, chosen.dtype, steps, chosen.tiny)
                found = [[] for _ in pythons]
                for _ in range(n_runs):
                    for runs, python in zip(found, pythons, strict=True):
                        runs.append(in_process(python, case))
                here = found[0][0]
                ratio = f"{least(found[0]) / least(found[1]):.3f}" if chosen.other else ""
                numbers = (here["vertices"], iterations, threads, steps, here["pairs"], here["sum"])
                yield (name, chosen.dtype, *numbers, f"{least(found[0]):.3f}", found[1][0]["sum"] if chosen.other else "", ratio)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--iterations", type=int, nargs="+", default=[20, 50])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--other", help="the interpreter of an environment with another build")
    parser.add_argument("--scenes", nargs="+", choices=list(SCENES))
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(run(*json.loads(chosen.one))))
        return
    header = ("scene", "dtype", "vertices", "iterations", "threads", "steps", "pairs", "sum", "seconds", "other sum", "ratio")
    write_table(chosen.out, header, rows(chosen), ["tiny: the figures mean nothing"] * chosen.tiny)


if __name__ == "__main__":
    main()
