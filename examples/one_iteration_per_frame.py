"""A vertex of a body is pulled far away, with a single iteration of Vertex Block Descent per frame: far from converged, but bounded.

Neo-Hookean, frames of 1/60 s, the soles held, the tip of the nose pulled out within 1.5 s [Chen et al. 2024, Fig. 16]. Bounded it is with
the first guess "previous". With "adaptive" it is so without gravity; under gravity a single iteration cannot take back what the guess
lets fall, and within seconds the motion grows beyond all bounds, which ends the run. Ten iterations are enough for it as well.

python examples/one_iteration_per_frame.py [--out FOLDER] [--quick]
"""

import argparse
import importlib.resources
import os

import numpy as np

import pdgpu
from pdgpu.plotting import save_states

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a thirtieth of the time")
options = parser.parse_args()
out = options.out
os.makedirs(out, exist_ok=True)

mesh = pdgpu.read_mesh(importlib.resources.files("pdgpu") / "data" / "creature.vtu")
nose = int(np.argmax(mesh.points[:, 0]))
FRAMES = (3, 5, 12) if options.quick else (90, 150, 360)  # to 1.5 s, 4 s, 10 s


def pulled(time, rest):
    return rest + min(time / 1.5, 1.0) * np.array([0.9, 0.5, 0.0])


runs = {
    "previous, 1 iteration": ("previous", 1, 9.81),
    "adaptive, 1 iteration, no gravity": ("adaptive", 1, 0.0),
    "adaptive, 1 iteration": ("adaptive", 1, 9.81),
    "adaptive, 10 iterations": ("adaptive", 10, 9.81),
}
states, extents = {}, {}
for name, (guess, iterations, gravity) in runs.items():
    scene = pdgpu.Scene(gravity=(0.0, -gravity, 0.0))
    body = scene.add_solid(mesh, pdgpu.NeoHookean(mu=2e6, lam=1e7), density=1000.0)
    body.pin(lambda points: points[:, 1] < 0.02)
    body.pin([nose], motion=pulled)
    solver = pdgpu.VertexBlockDescent(iterations=iterations, initialization=guess)
    sim = pdgpu.Simulation(scene, solver, dt=1 / 60, threads=1)
    extents[name] = []
    for frames in FRAMES:
        try:
            sim.step(frames)
        except pdgpu.DivergenceError as error:
            print(f"{name}: ends at {sim.time:.1f} s, {error}")
            break
        extents[name].append(np.ptp(sim.positions, axis=0).max())
        if frames == FRAMES[0]:
            states[f"{name}, t = {sim.time:.1f} s"] = sim.positions
    ends = " and ".join(f"{frames / 60:.1f}" for frames in np.cumsum(FRAMES))
    print(f"{name}: extent {', '.join(f'{extent:.3g}' for extent in extents[name])} m, at {ends} s")
if not (len(extents["previous, 1 iteration"]) == 3 and max(extents["previous, 1 iteration"]) < 2.5):
    raise SystemExit("the body is out of bounds")
picture = os.path.join(out, "one_iteration_per_frame.png")
save_states(states, mesh.surface, picture)
print("written:", picture)
