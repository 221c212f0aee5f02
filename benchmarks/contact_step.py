"""How long does a step with contact take, beside the same method written with ipctk?

A bunny is squeezed between two plates. Both programs take Newton's method with a barrier from the same states, with the same number of
iterations a step, on one thread: pdgpu its own, the other Li et al. 2020, Algorithm 1, with ipctk's barrier, pairs, Hessians and
additive CCD (tests/ipc_step.py). Elasticity and the sparse Cholesky factorisation are pdgpu's in both. They take turns step by step, so
that a busy machine disturbs both alike. "seconds" is the mean processor time of a step, "contacts" those at the end of the last,
"apart" the largest distance of a vertex in one from the same in the other after a step, in activation distances: as many iterations do
not lead equally far.

    python benchmarks/contact_step.py [--out FILE.csv] [--steps 30] [--iterations 10] [--tiny]

The mesh is that of PDGPU_DATA, tet/libuipc_bunny0.msh.
"""

import argparse
import dataclasses
import sys
import time
from pathlib import Path

import ipctk
import numpy as np
from machine import write_table

import pdgpu

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from contact_scenes import squeezed_bunny
from ipc_step import IpcStep


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--tiny", action="store_true", help="a ball, and sizes that show only that everything runs")
    chosen = parser.parse_args()
    steps, iterations = (2, 3) if chosen.tiny else (chosen.steps, chosen.iterations)
    ipctk.set_num_threads(1)
    case = squeezed_bunny(not chosen.tiny)
    contact = dataclasses.replace(case.contact, weighting="sum")  # as ipctk
    case = dataclasses.replace(case, contact=contact, dt=1 / 100)  # steps in which the plates arrive
    sim = pdgpu.Simulation(case.scene, pdgpu.Newton(iterations=iterations), dt=case.dt, contact=case.contact, threads=1)
    other = IpcStep(case.scene, case.contact, case.dt)
    seconds, apart = {"pdgpu": [], "ipctk": []}, 0.0
    for step in range(steps):
        x, v, now = sim.positions, sim.velocities, sim.time
        start = time.process_time()
        theirs, _ = other.minimise(x, v, now, iterations=iterations, tolerance=0.0)
        seconds["ipctk"].append(time.process_time() - start)
        start = time.process_time()
        sim.step(record=step == steps - 1)
        seconds["pdgpu"].append(time.process_time() - start)
        apart = max(apart, float(np.abs(sim.positions - theirs).max()) / case.contact.distance)
        print(f"step {step}: " + ", ".join(f"{name} {each[-1]:.3f} s" for name, each in seconds.items()), file=sys.stderr, flush=True)
    mean = {name: float(np.mean(each)) for name, each in seconds.items()}
    contacts = {"pdgpu": int(sim.last_step["active_contacts"][-1]), "ipctk": len(other.collisions)}
    rows = [
        (
            name,
            case.scene.n_vertices,
            contacts[name],
            steps,
            iterations,
            f"{mean[name]:.4f}",
            f"{mean['ipctk'] / mean[name]:.2f}",
            f"{apart:.1e}",
        )
        for name in seconds
    ]
    header = ("program", "vertices", "contacts", "steps", "iterations", "seconds", "times_as_fast", "apart")
    write_table(chosen.out, header, rows, [f"ipctk {ipctk.__version__}", *["tiny: the figures mean nothing"] * chosen.tiny])


if __name__ == "__main__":
    main()
