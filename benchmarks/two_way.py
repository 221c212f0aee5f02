"""What do lengths without continuous collision detection save in the two-way method?

A cloth falls on a ball and a floor, four updates of 1/100 s after Projective Dynamics, in turn `--rounds` times by each of three lengths
of a forward step; the least of each part is taken:

    by distances                     each vertex by the distances of its pairs
    by the earliest time of impact   all by one length, as far as nothing meets
    by each vertex' times of impact  each by the times of its own pairs, all looked at in full, as Wang et al. 2023 (A Two-Way
                                     Interior Point Method), Sec. 5.1, Fig. 16, compare

The two by collision detection look for all pairs whose boxes meet on the way in every forward step, by a tree of their own: nothing of
that comes from the list that the constraints are made of, which all three keep. In milliseconds of a step "pairs" has that list,
"forward" what lengths and move take beside it. Three ratios say how much dearer a step is by collision detection: of "forward" alone; as
the paper counts, who goes by distances needing the list for it ("scheme", forward / (pairs + forward)); and with the list for all ("with
pairs"). The last is of whole updates.

    python benchmarks/two_way.py [--out FILE.csv] [--cells 20 40] [--rounds 3] [--tiny]
"""

import argparse

import numpy as np
from machine import write_table

import pdgpu

LENGTHS = {
    "distances": "by distances",
    "impact": "by the earliest time of impact",
    "impacts": "by each vertex' times of impact",
}
UPDATES = 4


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


def measure(scene, lengths):
    """Of all updates: steps, how many did not converge, vertices, and seconds: all, of pairs, of forward steps."""
    contact = pdgpu.TwoWayContact(1e-3, lengths=lengths)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=10), dt=1 / 100, contact=contact, threads=1)
    steps, capped, seconds = 0, 0, np.zeros(3)
    for _ in range(UPDATES):
        sim.step()
        update = sim.last_step.update
        steps += update.steps
        capped += update.status != "converged"
        seconds += update.seconds, update.parts["pairs"], update.parts["forward"]
    return steps, capped, len(sim.positions), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--cells", type=int, nargs="+", default=[20, 40])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    chosen = parser.parse_args()
    rows = []
    for cells in [6] if chosen.tiny else chosen.cells:
        scene, found = drape(cells), {}
        for _ in range(1 if chosen.tiny else chosen.rounds):
            for lengths in LENGTHS:
                steps, capped, n, seconds = measure(scene, lengths)
                least = np.minimum(seconds, found[lengths][3]) if lengths in found else seconds
                found[lengths] = steps, capped, n, least
        for lengths, name in LENGTHS.items():
            steps, capped, n, seconds = found[lengths]
            ours, (pairs, forward) = found["distances"], 1e3 * seconds[1:] / steps
            our_pairs, our_forward = 1e3 * ours[3][1:] / ours[0]
            of_scheme = 1.0 if lengths == "distances" else forward / (our_pairs + our_forward)
            ratios = forward / our_forward, of_scheme, (pairs + forward) / (our_pairs + our_forward), seconds[0] / ours[3][0]
            times = [f"{time:.3g}" for time in (pairs, forward)]
            rows.append((n, name, steps, capped, f"{seconds[0]:.3g}", *times, *(f"{ratio:.2f}" for ratio in ratios)))
    header = ("vertices", "lengths", "steps", "unfinished", "seconds", "pairs ms", "forward ms")
    header += ("forward ratio", "scheme ratio", "with pairs ratio", "update ratio")
    write_table(chosen.out, header, rows, ["tiny: the figures mean nothing"] * chosen.tiny)


if __name__ == "__main__":
    main()
