"""A cloth of springs with bending hangs from two corners; a third corner is lifted along a script.

python examples/hanging_cloth.py [--out FOLDER]
"""

import argparse
import os

import numpy as np

import pdgpu
from pdgpu.plotting import save_states

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
out = parser.parse_args().out
os.makedirs(out, exist_ok=True)

mesh = pdgpu.shapes.grid((1.0, 1.0), cells=(40, 40))
flat = pdgpu.Mesh(mesh.points[:, [0, 2, 1]] * [1.0, 1.0, -1.0], triangles=mesh.triangles)  # lying in the x-z plane, y up
scene = pdgpu.Scene()
cloth = scene.add_shell(flat, pdgpu.Spring(1000.0), density=0.2, bending=2e-4, damping=0.002)
cloth.pin([0, 40])  # two corners of one edge
cloth.pin([41 * 41 - 1], motion=lambda time, rest: rest + [0.0, 0.35 * np.sin(np.pi * time), 0.6 * time])

sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=30, chebyshev=pdgpu.Chebyshev(rho=0.9)), dt=1 / 100)
states = {"t = 0": sim.positions}
for steps in (30, 40, 30):
    sim.step(steps)
    stretch = np.linalg.norm(np.diff(sim.positions[flat.unique_edges()], axis=1)[:, 0], axis=1)
    rest = np.linalg.norm(np.diff(flat.points[flat.unique_edges()], axis=1)[:, 0], axis=1)
    print(f"t = {sim.time:.1f} s   longest edge {100 * ((stretch / rest).max() - 1):.1f} % over its rest length")
    states[f"t = {sim.time:.1f} s"] = sim.positions
save_states(states, flat.triangles, os.path.join(out, "hanging_cloth.png"), azimuth=-55.0)
print("written:", os.path.join(out, "hanging_cloth.png"))
