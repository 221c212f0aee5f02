"""What does contact cost in a step of vertex block descent?

Three scenes in which nearly every vertex of the surfaces touches. "blocks at rest": four blocks of neo-Hookean tets lie on each other,
each turned against the one below, the lowest held, with a stiffness that bears their weight where they lie. "blocks thrown apart": the
same with a stiffness a hundred times as large and more, so that the first step drives them apart and every second iteration has to look
for pairs again. "cloths": two cloths of springs, the lower one held, the upper one pressed on it. The activation distance is a fifth of
an edge, and they begin at six tenths of it.

The same step is taken again and again from where the scene begins, with contact, with contact and friction, and without, in turn. With
friction other pairs are near on the way, more of them as a rule; with a faint one, a coefficient of 1e-7, they are those without, and what
is added is what friction itself takes.
How much of it contact takes depends on how many tets there are behind a pair: with --layers the blocks are as deep as that, and their
surfaces stay what they are. "seconds" is a step's median processor time, without the verification of a state that was set, which no other
step of a run has; "share" the part of it that the same step without contact does not take, "pairs" those that act where it begins and ends,
and "friction" what friction adds to the part of contact. Both are medians of what steps taken in turn differ by.

    python benchmarks/contact_descent.py [--out FILE.csv] [--steps 5] [--iterations 10] [--threads 1] [--layers 10 40 ...]
                                         [--dtype float32] [--tiny]
"""

import argparse
import time

import numpy as np
from machine import write_table

import pdgpu
from pdgpu import shapes

PART = 0.2  # activation distance / edge
BEGIN = 0.6  # gap / activation distance
PRESSED = 1e5  # stiffness of what is thrown apart
FAINT = 1e-7  # a coefficient of friction that moves nothing


def turned(points, angle, height):
    c, s = np.cos(angle), np.sin(angle)
    return points @ np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]) + [0.0, height, 0.0]


def blocks(cells, layers):
    scene = pdgpu.Scene((0.0, -9.81, 0.0))
    edge = 1.0 / cells
    mesh = shapes.beam((1.0, layers * edge, 1.0), cells=(cells, layers, cells))
    for k in range(4):
        points = turned(mesh.points - [0.5, 0.0, 0.5], 0.3 * k, (layers + BEGIN * PART) * edge * k)
        solid = pdgpu.Mesh(points, tets=mesh.tets)
        body = scene.add_solid(solid, pdgpu.NeoHookean.from_young(1e5, 0.4), density=1000.0, name=f"block {k}")
        if k == 0:
            body.pin(points[:, 1] < 1e-9)
    return scene, edge


def cloths(cells, _):
    scene = pdgpu.Scene((0.0, -9.81, 0.0))
    edge = 1.0 / cells
    flat = shapes.grid((1.0, 1.0), (cells, cells))
    for k in range(2):
        points = turned(flat.points[:, [0, 2, 1]] - [0.5, 0.0, 0.5], 0.3 * k, BEGIN * PART * edge * k)
        sheet = pdgpu.Mesh(points, triangles=flat.triangles)
        body = scene.add_shell(sheet, pdgpu.Spring(200.0), density=0.2, bending=1e-6, velocity=(0.0, -0.5 * k, 0.0), name=f"cloth {k}")
        if k == 0:
            body.pin(np.ones(len(points), bool))
    return scene, edge


def stiffness_at_rest(scene, edge):
    """With which the blocks press on each other as much as they weigh, all three gaps together: the force is proportional to it."""
    weights = np.array([body.masses.sum() for body in scene.bodies]) * 9.81
    contact = pdgpu.BarrierContact(PART * edge, stiffness=PRESSED)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=1), dt=1 / 200, contact=contact)
    return PRESSED * np.dot(np.arange(len(weights)), weights) / np.abs(sim.contact_forces().normal_force).sum()


def seconds_of_step(sim, clock):
    """Processor time, s: the part of it that the step's own phases have of the time that went by."""
    begun, start = clock(), time.perf_counter()
    sim.step()
    return (clock() - begun) * sum(sim.last_step.phases.values()) / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--layers", type=int, nargs="+", help="only blocks, of so many layers of cells each")
    parser.add_argument("--dtype", nargs="+", default=["float32", "float64"])
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    chosen = parser.parse_args()
    steps = 1 if chosen.tiny else chosen.steps
    clock = time.thread_time if chosen.threads == 1 else time.process_time  # of a process, what waits for work in a library counts as well
    rows = []
    cases = [(f"blocks at rest, {n} layers", blocks, (48, n), True) for n in chosen.layers or ()]
    always = [
        ("blocks at rest", blocks, (48, 10), True),
        ("blocks thrown apart", blocks, (48, 10), False),
        ("cloths", cloths, (100, 0), False),
    ]
    for name, make, size, at_rest in cases or always:
        scene, edge = make(*((4, 1) if chosen.tiny else size))
        stiffness = stiffness_at_rest(scene, edge) if at_rest else PRESSED
        for dtype in chosen.dtype:
            sims = {}
            for kind, friction in (("without", None), ("contact", 0.0), ("with faint friction", FAINT), ("with friction", 0.4)):
                contact = None if friction is None else pdgpu.BarrierContact(PART * edge, stiffness=stiffness, friction=friction)
                solver = pdgpu.VertexBlockDescent(iterations=chosen.iterations)
                sims[kind] = pdgpu.Simulation(scene, solver, dt=1 / 200, contact=contact, dtype=dtype, threads=chosen.threads)
            found = {kind: [] for kind in sims}
            begins = {kind: (sim.positions, sim.velocities) for kind, sim in sims.items()}
            pairs = {kind: [0, 0] if kind == "without" else [len(sim.contact_forces())] for kind, sim in sims.items()}
            for step in range(steps + 1):  # the first makes room for lists
                for kind, sim in sims.items():
                    sim.set_state(positions=begins[kind][0], velocities=begins[kind][1])
                    spent = seconds_of_step(sim, clock)
                    if step:
                        found[kind].append(spent)
            found = {kind: np.array(each) for kind, each in found.items()}
            touching = np.median(found["contact"] - found["without"])  # of steps taken in turn: what is slow for a while is so for both
            for kind, sim in sims.items():
                if kind != "without":
                    pairs[kind].append(len(sim.contact_forces()))
                more = f"{np.median(found[kind] - found['contact']) / max(touching, 1e-9):.2f}" if "friction" in kind else ""
                share = f"{np.median(1.0 - found['without'] / found[kind]):.2f}"
                seconds = f"{np.median(found[kind]):.6f}"
                rows.append((name, scene.n_vertices, dtype, chosen.threads, kind, *pairs[kind], seconds, share, more))
    header = ("scene", "vertices", "dtype", "threads", "run", "pairs", "pairs at end", "seconds", "share", "friction")
    write_table(chosen.out, header, rows, ["tiny: the figures mean nothing"] * chosen.tiny)


if __name__ == "__main__":
    main()
