"""Seconds per step of a heap of boxes, beside MuJoCo's and newton's on one thread.

A block of n^3 boxes, 10 x 6 x 8 cm, one centimetre apart and turned a little, falls on a plane, friction 0.4, steps of 5 ms. All run
in turn, a step of the one and a step of the other, and medians are over the steps from 0.1 s on, when boxes touch.

They do not compute the same: MuJoCo makes one convex step of soft contacts, newton's SolverXPBD some iterations of projections (its
contacts by `Model.collide`, on Warp's CPU device, which has one thread), and in both boxes overlap; here G is minimised until its
gradient has fallen to the tolerance, or by as many sweeps as it says, and nothing ever overlaps: `gap` is the least distance of two boxes
in the steps measured, negative where they overlap, of newton's boxes by MuJoCo's collision detection. There is no setting of the one at
which it has the gap of the other.

Columns: bodies, engine, setting; seconds per step (median, least, most); iterations of a step and contacts (medians); gap, m; load of the
machine.

    python benchmarks/rigid_speed.py [--sides 3 5 10] [--steps 40] [--out benchmarks/results/rigid_speed.csv]
                                      (needs mujoco and newton)
"""

import argparse
import csv
import os
import time

import mujoco
import newton
import numpy as np
import warp
from rigid_heap import DT, SETTLED, SIZE, heap, placed, simulation
from scipy.spatial.transform import Rotation

import pdgpu

COLUMNS = "bodies engine setting median least most iterations contacts gap load".split()


class Ours:
    engine = "pdgpu"

    def __init__(self, side, solver, setting):
        self.setting = f"{setting}, barrier 4 mm"
        self.sim = simulation(heap(side), solver)

    def step(self):
        self.sim.step(record=True)

    def row(self):
        record = self.sim.last_step
        return record.iteration, int(record["active_contacts"][-1]), float(record["smallest_distance"][-1])


class MuJoCo:
    engine = f"MuJoCo {mujoco.__version__}"

    def __init__(self, side, solver="Newton"):
        self.setting = f"{solver}, elliptic cones"
        half = f"{SIZE[0] / 2} {SIZE[2] / 2} {SIZE[1] / 2}"
        bodies = "".join(
            f'<body pos="{x} {-z} {y}" euler="{a} {-c} {b}"><freejoint/><geom type="box" density="1000" size="{half}"/></body>'
            for (x, y, z), (a, b, c) in zip(*placed(side), strict=True)
        )
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><compiler angle="radian"/><option timestep="{DT}" cone="elliptic" solver="{solver}"/><size memory="2G"/>'
            f'<default><geom friction="0.4 0 0"/></default><worldbody><geom type="plane" size="5 5 1"/>{bodies}</worldbody></mujoco>'
        )
        self.data = mujoco.MjData(self.model)

    def step(self):
        mujoco.mj_step(self.model, self.data)

    def row(self):
        contacts = self.data.contact.dist
        return int(self.data.solver_niter[0]), len(contacts), float(contacts.min()) if len(contacts) else np.inf


class Newton:
    engine = f"newton {newton.__version__}"

    def __init__(self, side, iterations=10):
        self.setting = f"SolverXPBD, {iterations} iterations"
        self.iterations, self.side = iterations, side
        half = dict(zip(("hx", "hy", "hz"), SIZE / 2, strict=True))
        warp.config.quiet = True
        builder = newton.ModelBuilder(up_axis=newton.Axis.Y, gravity=(0.0, -9.81, 0.0))
        stone = newton.ModelBuilder.ShapeConfig(density=1000.0, mu=0.4)
        for centre, turn in zip(*placed(side), strict=True):
            at = warp.transform(warp.vec3(*centre), warp.quat(*Rotation.from_rotvec(turn).as_quat()))
            builder.add_shape_box(builder.add_body(xform=at), **half, cfg=stone)
        builder.add_ground_plane(cfg=stone)
        self.model = builder.finalize(device="cpu")
        self.solver = newton.solvers.SolverXPBD(self.model, iterations=iterations)
        self.states, self.control = [self.model.state(), self.model.state()], self.model.control()
        self.mujoco = MuJoCo(side)

    def step(self):
        before, after = self.states
        before.clear_forces()
        self.contacts = self.model.collide(before)
        self.solver.step(before, after, self.control, self.contacts, DT)
        self.states = [after, before]

    def row(self):
        poses = self.states[0].body_q.numpy().astype(np.float64)
        upright = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # y is up here, and z in MuJoCo
        turns = upright @ Rotation.from_quat(poses[:, 3:]).as_matrix() @ upright.T
        quaternions = Rotation.from_matrix(turns).as_quat()[:, [3, 0, 1, 2]]
        data = self.mujoco.data
        data.qpos[:] = np.hstack([poses[:, :3] @ upright.T, quaternions]).ravel()
        mujoco.mj_forward(self.mujoco.model, data)
        return self.iterations, int(self.contacts.rigid_contact_count.numpy()[0]), float(min(data.contact.dist, default=np.inf))


def measured(side, steps):
    engines = [
        Ours(side, pdgpu.Newton(iterations=60, tolerance=1e-3), "Newton, tolerance 0.001"),
        Ours(side, pdgpu.VertexBlockDescent(iterations=10), "VertexBlockDescent, 10 iterations"),
        MuJoCo(side),
        Newton(side),
    ]
    seen = [[] for _ in engines]
    for k in range(steps):
        for engine, rows in zip(engines, seen, strict=True):
            start = time.perf_counter()
            engine.step()
            spent = time.perf_counter() - start
            if k >= SETTLED:
                rows.append((spent, *engine.row()))
    for engine, rows in zip(engines, seen, strict=True):
        spent, iterations, contacts, gaps = np.array(rows).T
        yield {
            "bodies": side**3,
            "engine": engine.engine,
            "setting": engine.setting,
            "median": np.median(spent),
            "least": spent.min(),
            "most": spent.max(),
            "iterations": np.median(iterations),
            "contacts": np.median(contacts),
            "gap": gaps.min(),
            "load": os.getloadavg()[0],
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sides", nargs="*", type=int, default=[3, 5, 10])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--out")
    options = parser.parse_args()
    rows = []
    for side in options.sides:
        for row in measured(side, options.steps):
            rows.append({name: f"{value:.4g}" if isinstance(value, float) else value for name, value in row.items()})
            print(rows[-1], flush=True)
    if options.out:
        with open(options.out, "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
