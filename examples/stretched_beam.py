"""A soft beam is stretched to one and a half times its length, held at one end, and let go.

python examples/stretched_beam.py [--out FOLDER] [--quick]
"""

import argparse
import os

import pdgpu
from pdgpu.plotting import save_states

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a coarse beam")
options = parser.parse_args()
out = options.out
os.makedirs(out, exist_ok=True)

mesh = pdgpu.shapes.beam((2.0, 0.4, 0.4), cells=(20, 4, 4) if options.quick else (40, 8, 8), split=5)
scene = pdgpu.Scene()
beam = scene.add_solid(mesh, pdgpu.ARAP.from_young(young=5e5, poisson=0.3), density=1000.0, damping=0.01)
beam.pin(lambda points: points[:, 0] < 1e-9)

sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=20), dt=1 / 100)
sim.set_state(positions=mesh.points * [1.5, 1.0, 1.0])

states = {"t = 0": sim.positions}
for _ in range(3):
    sim.step(20)
    energies = sim.energies()
    print(f"t = {sim.time:.1f} s   elastic {energies['elastic']['ARAP']:8.2f} J   kinetic {energies['kinetic']:8.2f} J")
    states[f"t = {sim.time:.1f} s"] = sim.positions
save_states(states, mesh.surface, os.path.join(out, "stretched_beam.png"), azimuth=-75.0)
print("written:", os.path.join(out, "stretched_beam.png"))
