"""What does friction cost beside the barrier?

Two sheets of cloth lie over each other, turned, so that every vertex is near something. G, its gradient and its projected Hessian are asked
for at points close to each other, with friction and without it, in turn; "seconds" is the median processor time of one thread, with the
search for pairs and with what elements and the sparse matrix take, and "share" what friction adds to all three together.

    python benchmarks/contact_friction.py [--out FILE.csv] [--cells 70] [--rounds 9]
"""

import argparse
import time

import numpy as np
from machine import write_table

import pdgpu
from pdgpu import shapes


def simulation(cells, friction):
    """Two sheets of cells x cells squares, a fifth of an edge apart."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    sheet = shapes.grid((1.0, 1.0), (cells, cells))
    points = sheet.points[:, [0, 2, 1]]
    c, s = np.cos(0.3), np.sin(0.3)
    upper = (points - [0.5, 0.0, 0.5]) @ np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]) + [0.5, 0.18 / cells, 0.5]
    for each in (points, upper):
        scene.add_shell(pdgpu.Mesh(each, triangles=sheet.triangles), pdgpu.Spring(10.0), density=0.2)
    contact = pdgpu.BarrierContact(0.3 / cells, stiffness=1e4, friction=friction)
    return pdgpu.Simulation(scene, pdgpu.Newton(), dt=0.01, contact=contact, threads=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--cells", type=int, default=70)
    parser.add_argument("--rounds", type=int, default=9)
    chosen = parser.parse_args()
    sims = {"without": simulation(chosen.cells, 0.0), "with": simulation(chosen.cells, 0.4)}
    x = sims["with"].positions
    near = [x + 1e-6 * np.sin(k * np.arange(x.size)).reshape(x.shape) for k in (1.1, 1.2)]
    pairs = len(sims["with"]._core.backend.contact_columns()["kind"])
    # the core's own functions: a matrix in SciPy's format has a price of its own
    quantities = {
        "energy": lambda core, at: core.energies(at, True),
        "gradient": lambda core, at: core.gradient(at),
        "hessian": lambda core, at: core.hessian(at, True),
    }
    seconds = {}
    for quantity, ask in quantities.items():
        found = {name: [] for name in sims}
        for k in range(chosen.rounds + 1):
            for name, sim in sims.items():
                start = time.thread_time()
                ask(sim._core.backend, near[k % 2])
                found[name].append(time.thread_time() - start)
        seconds[quantity] = {name: float(np.median(each[1:])) for name, each in found.items()}
    total = {name: sum(each[name] for each in seconds.values()) for name in sims}
    rows = [(quantity, pairs, f"{each['without']:.4f}", f"{each['with']:.4f}", "") for quantity, each in seconds.items()]
    rows.append(("all", pairs, f"{total['without']:.4f}", f"{total['with']:.4f}", f"{total['with'] / total['without'] - 1.0:.2f}"))
    write_table(chosen.out, ("quantity", "pairs", "seconds_without", "seconds_with", "share"), rows, [])


if __name__ == "__main__":
    main()
