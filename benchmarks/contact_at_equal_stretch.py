"""What does contact cost, and how right is it, where full IPC, projective IPC and the two-way method stretch a cloth alike?

A cloth of stiff springs falls on a ball. Each method takes all steps with 1, 2, 4, .. iterations of its solver in each, until no edge is
ever longer than `--stretch` times its length at rest; the least iterations with which that holds are those of the table. The limit of
edges of the two-way method is at four fifths of that stretch, as an update ends a tenth of its distance from its target; or there is none.

"iterations" are those of the solver a step, "inner" the steps of the two-way updates in all; "seconds" those of all steps, the least of
`--rounds`, "longest" of them the longest step; "gap mm" the least distance in the states and "intersections" all that
`pdgpu.certify` found in them and on the way from one to the next, through every iterate of it. "error" is that of a single step with
these iterations, from each of the states of full IPC at a tolerance of 1e-8, against its next state: the largest distance of a vertex as
a part of the largest move, median and largest of all steps. Full IPC and the others do not minimise the same, so that this has no limit
of 0 but for full IPC.

    python benchmarks/contact_at_equal_stretch.py [--out FILE.csv] [--cells 16 32] [--stretch 1.05] [--steps 16] [--rounds 3] [--tiny]
"""

import argparse

import numpy as np
from machine import write_table

import pdgpu

DT, DISTANCE, MOST = 1 / 100, 1e-3, 64


def drape(cells):
    scene = pdgpu.Scene()
    flat = pdgpu.shapes.grid((0.4, 0.4), (cells, cells))
    points = np.column_stack([flat.points[:, 0] - 0.2, np.full(len(flat.points), 0.103), 0.2 - flat.points[:, 1]])
    cloth = pdgpu.Mesh(points, triangles=flat.triangles)
    scene.add_shell(cloth, pdgpu.Spring(400.0), density=0.2, bending=2e-5, damping=1e-3, velocity=(0.0, -1.0, 0.0))
    ball = pdgpu.shapes.sphere(0.1, 3)
    scene.add_obstacle(pdgpu.Mesh(ball.points, triangles=ball.triangles), name="ball")
    return scene, cloth


def methods(stretch):
    """Name -> solver of so many iterations, and contact."""
    barrier, limit = pdgpu.BarrierContact(DISTANCE, stiffness=1e4), 1.0 + 0.8 * (stretch - 1.0)
    return {
        "full IPC": (lambda k: pdgpu.Newton(iterations=k), barrier),
        "projective IPC": (lambda k: pdgpu.ProjectiveDynamics(iterations=k), pdgpu.ProjectiveContact(DISTANCE)),
        "two-way after PD": (lambda k: pdgpu.ProjectiveDynamics(iterations=k), pdgpu.TwoWayContact(DISTANCE, edge_limit=limit, passes=1)),
        "two-way after PD, no limit": (
            lambda k: pdgpu.ProjectiveDynamics(iterations=k),
            pdgpu.TwoWayContact(DISTANCE, edge_limit=None, passes=1),
        ),
        "two-way after Newton": (lambda k: pdgpu.Newton(iterations=k), pdgpu.TwoWayContact(DISTANCE, edge_limit=limit, passes=1)),
    }


class Fall:
    """Frames, seconds of each step, and steps of updates."""

    def __init__(self, scene, solver, contact, steps, most=0.0, length=None):
        self.simulation = pdgpu.Simulation(scene, solver, dt=DT, contact=contact, threads=1)
        self.frames, self.seconds, self.inner, self.unfinished = [self.simulation.positions], [], 0, 0
        self.stretch = 0.0
        for _ in range(steps):
            self.take()
            if length is not None:
                self.stretch = max(self.stretch, length(self.frames[-1]))
                if self.stretch > most:
                    return

    def take(self):
        self.simulation.step()
        last = self.simulation.last_step
        update = last.update
        self.seconds.append(last.solve_seconds + (0.0 if update is None else update.seconds))
        if update is not None:
            self.inner += update.steps
            self.unfinished += update.status != "converged"
        self.frames.append(self.simulation.positions)


def longest_edge(cloth):
    """Function: positions -> length of the edge that is longest, in lengths at rest."""
    t = cloth.triangles
    edges = np.unique(np.sort(np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]]), axis=1), axis=0)
    rest = np.linalg.norm(cloth.points[edges[:, 0]] - cloth.points[edges[:, 1]], axis=1)
    return lambda x: float((np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1) / rest).max())


def errors(scene, truth, solver, contact):
    """Of one step from each state of `truth`, in parts of what it moves."""
    sim, found = pdgpu.Simulation(scene, solver, dt=DT, contact=contact, threads=1), []
    for k in range(1, len(truth) - 1):
        sim.set_state(positions=truth[k], velocities=(truth[k] - truth[k - 1]) / DT)
        sim.step()
        found.append(np.linalg.norm(sim.positions - truth[k + 1], axis=1).max() / np.linalg.norm(truth[k + 1] - truth[k], axis=1).max())
    return np.array(found)


def rows(cells, stretch, steps, rounds):
    scene, cloth = drape(cells)
    length, n = longest_edge(cloth), scene.n_vertices
    reference = pdgpu.Newton(iterations=200, tolerance=1e-8), pdgpu.BarrierContact(DISTANCE, stiffness=1e4)
    exact = Fall(scene, *reference, steps)
    least = max(map(length, exact.frames))
    yield n, "full IPC, to its end", "", f"{least:.3f}", *measured(scene, exact, [exact.seconds], *reference), "0", "0"
    for name, (solver, contact) in methods(stretch).items():
        k = 1
        while (fall := Fall(scene, solver(k), contact, steps, stretch, length)).stretch > stretch and k < MOST:
            k *= 2
        if fall.stretch > stretch:
            yield n, name, f"more than {k}", *[""] * 9
            continue
        seconds = [fall.seconds] + [Fall(scene, solver(k), contact, steps).seconds for _ in range(rounds - 1)]
        wrong = errors(scene, exact.frames, solver(k), contact)
        yield (
            n,
            name,
            k,
            f"{fall.stretch:.3f}",
            *measured(scene, fall, seconds, solver(k), contact),
            f"{np.median(wrong):.2g}",
            f"{wrong.max():.2g}",
        )


def measured(scene, fall, seconds, solver, contact):
    certificate, best = pdgpu.certify(fall.frames, scene), np.min(seconds, axis=0)
    met = way(scene, solver, contact, len(fall.seconds))
    return fall.inner, fall.unfinished, f"{best.sum():.3g}", f"{best.max():.3g}", f"{1e3 * certificate.smallest_gap:.3g}", met


def way(scene, solver, contact, steps):
    """All that met on the way of a run, which goes straight from each iterate to the next."""
    sim, met = pdgpu.Simulation(scene, solver, dt=DT, contact=contact, threads=1), 0
    for _ in range(steps):
        frames = [sim.positions]
        sim.step(record="positions")
        last = sim.last_step
        for frame in last.positions if last.update is None else last.update.path[:, : len(frames[0])]:
            if not np.array_equal(frame, frames[-1]):
                frames.append(frame)
        certificate = pdgpu.certify(frames, scene, gap=False)
        met += sum(len(part) for part in certificate.intersections.values()) + len(certificate.crossings)
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--cells", type=int, nargs="+", default=[16, 32])
    parser.add_argument("--stretch", type=float, default=1.05)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    chosen = parser.parse_args()
    if chosen.tiny:
        chosen.cells, chosen.steps, chosen.rounds = [6], 5, 1
    header = (
        "vertices", "method", "iterations", "stretch", "inner", "unfinished", "seconds", "longest", "gap mm", "intersections",
        "median error", "largest error",
    )  # fmt: skip
    of_all = (row for cells in chosen.cells for row in rows(cells, chosen.stretch, chosen.steps, chosen.rounds))
    write_table(chosen.out, header, of_all, ["tiny: the figures mean nothing"] * chosen.tiny)


if __name__ == "__main__":
    main()
