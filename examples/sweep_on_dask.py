"""How do the rates of three solvers depend on stiffness? Four decades of it, on Dask's workers; stopped and started again it goes on.

pip install distributed pandas; python examples/sweep_on_dask.py [--out FOLDER]
The workers are on this machine; with ``Client("tcp://scheduler:8786")`` they are wherever that scheduler has some.
"""

import argparse
import os

import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client

import pdgpu

SOLVERS = {
    "PD direct": pdgpu.ProjectiveDynamics(iterations=60),
    "PD Jacobi": pdgpu.ProjectiveDynamics(iterations=200, linear=pdgpu.Jacobi()),
    "VBD": pdgpu.VertexBlockDescent(iterations=100),
}


def stretched_bar(young, dt):
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(8, 2, 2))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP.from_young(young, 0.3), density=1000.0).pin(mesh.points[:, 0] == 0.0)
    return pdgpu.compare(scene, SOLVERS, dt=dt, start=(mesh.points * [1.3, 1.0, 1.0], None), threads=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="out")
    out = parser.parse_args().out
    os.makedirs(out, exist_ok=True)
    grid = {"young": list(np.logspace(4, 8, 9)), "dt": [1 / 30, 1 / 120]}
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        table = pdgpu.sweep(stretched_bar, grid, os.path.join(out, "sweep_on_dask.jsonl"), executor=client.get_executor(), progress=True)
    print(table)
    frame = table.to_dataframe()
    frame.to_csv(os.path.join(out, "sweep_on_dask.csv"), index=False)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, constrained_layout=True)
    for panel, (dt, part) in zip(axes, frame.groupby("dt"), strict=True):
        for name, rows in part.groupby("solver"):
            panel.errorbar(rows.young, rows.rate, [rows.rate - rows.rate_low, rows.rate_high - rows.rate], label=name, marker="o")
        panel.set(xscale="log", ylim=(0.0, 1.05), xlabel="Young's modulus, Pa", title=f"dt = 1/{1 / dt:.0f} s")
    axes[0].set_ylabel("rate per iteration, gradient norm")
    axes[0].legend()
    figure.savefig(os.path.join(out, "sweep_on_dask.png"), dpi=120)
