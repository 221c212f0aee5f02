"""What do lengths without continuous collision detection save in the two-way method?

A cloth falls on a ball and a floor, four updates of 1/100 s after Projective Dynamics, in turn `--rounds` times by each of three lengths
of a forward step, each update from the state that the first has come to, and until the state is within a tenth of the distance of its
target. Seconds are the processor's, shared out as the clock has the parts, and the mean of all rounds:

    by distances                     each vertex by the distances of its pairs
    by the earliest time of impact   all by one length, as far as nothing meets
    by each vertex' times of impact  each by the times of its own pairs, all looked at in full, as Wang et al. 2023 (A Two-Way
                                     Interior Point Method), Sec. 5.1, Fig. 16, compare

The two by collision detection look for all pairs whose boxes meet on the way in every forward step, by a tree of their own: nothing of
that comes from the list that the constraints are made of, which all three keep. In milliseconds of a step "pairs" has that list,
"forward" what lengths and move take beside it. Three ratios say how much dearer a step is by collision detection: of "forward" alone; as
the paper counts, who goes by distances needing the list for it ("scheme", forward / (pairs + forward)); and with the list for all ("with
pairs"). Two more are of whole updates, and of one step of them. "apart" is how far from the end by distances a vertex is at the most,
after any of the updates, in parts of the distance.

    python benchmarks/two_way.py [--out FILE.csv] [--cells 20 40] [--rounds 5] [--tiny]
"""

import argparse
import time

import numpy as np
from machine import write_table

import pdgpu

LENGTHS = {
    "distances": "by distances",
    "impact": "by the earliest time of impact",
    "impacts": "by each vertex' times of impact",
}
UPDATES, DISTANCE = 4, 1e-3


def drape(cells):
    scene = pdgpu.Scene()
    flat = pdgpu.shapes.grid((0.4, 0.4), (cells, cells))
    points = np.stack([flat.points[:, 0] - 0.2, np.full(len(flat.points), 0.103), 0.2 - flat.points[:, 1]], axis=1)
    cloth = pdgpu.Mesh(points, triangles=flat.triangles)
    scene.add_shell(cloth, pdgpu.Spring(400.0), density=0.2, bending=2e-5, damping=1e-3, velocity=(0.0, -1.0, 0.0))
    ball = pdgpu.shapes.sphere(0.1, 4)
    scene.add_obstacle(pdgpu.Mesh(ball.points, triangles=ball.triangles), name="ball")
    scene.add_obstacle(pdgpu.Plane((0.0, -0.1, 0.0), (0.0, 1.0, 0.0)), name="floor")
    return scene


class Run:
    """Updates by one way of choosing lengths: steps, how many did not converge, and seconds: all, of pairs, of forward steps."""

    def __init__(self, scene, lengths):
        contact = pdgpu.TwoWayContact(DISTANCE, lengths=lengths, passes=1)
        self.sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=10), dt=1 / 100, contact=contact, threads=1)
        self.steps, self.capped, self.apart, self.seconds = 0, 0, 0.0, np.zeros(3)

    def step(self, start, end):
        """From a state (None: where it is) to one that is compared with `end`."""
        if start is not None:
            self.sim.set_state(positions=start[0], velocities=start[1])
        clock, processor = time.perf_counter(), time.process_time()
        self.sim.step()
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        update = self.sim.last_step.update
        self.steps += update.steps
        self.capped += update.status != "converged"
        self.seconds += processor / clock * np.array([update.seconds, update.parts["pairs"], update.parts["forward"]])
        if end is not None:
            self.apart = max(self.apart, np.linalg.norm(self.sim.positions - end, axis=1).max() / DISTANCE)


def measure(scene):
    """The runs by all lengths, side by side."""
    runs = {lengths: Run(scene, lengths) for lengths in LENGTHS}
    first, *others = runs.values()
    for _ in range(UPDATES):
        start = first.sim.positions, first.sim.velocities
        first.step(None, None)
        for run in others:
            run.step(start, first.sim.positions)
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--cells", type=int, nargs="+", default=[20, 40])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    chosen = parser.parse_args()
    rows = []
    for cells in [6] if chosen.tiny else chosen.cells:
        scene, rounds = drape(cells), 1 if chosen.tiny else chosen.rounds
        measured = [measure(scene) for _ in range(rounds)]
        found = {lengths: (sum(runs[lengths].seconds for runs in measured) / rounds, measured[-1][lengths]) for lengths in LENGTHS}
        all_ours, ours = found["distances"]
        our_pairs, our_forward = 1e3 * all_ours[1:] / ours.steps
        for lengths, name in LENGTHS.items():
            seconds, run = found[lengths]
            pairs, forward = 1e3 * seconds[1:] / run.steps
            of_scheme = 1.0 if run is ours else forward / (our_pairs + our_forward)
            whole = seconds[0] / all_ours[0]
            ratios = forward / our_forward, of_scheme, (pairs + forward) / (our_pairs + our_forward), whole, whole * ours.steps / run.steps
            times = [f"{time:.3g}" for time in (seconds[0], pairs, forward)]
            rows.append((len(run.sim.positions), name, run.steps, run.capped, *times, *(f"{r:.2f}" for r in ratios), f"{run.apart:.2f}"))
    header = ("vertices", "lengths", "steps", "unfinished", "seconds", "pairs ms", "forward ms")
    header += ("forward ratio", "scheme ratio", "with pairs ratio", "update ratio", "step ratio", "apart")
    write_table(chosen.out, header, rows, ["tiny: the figures mean nothing"] * chosen.tiny)


if __name__ == "__main__":
    main()
