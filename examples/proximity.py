"""A cloth lies just above a ball, a body and a floor: what is near it, found with sim.contacts and drawn as segments.

It is put there without a step: every vertex is lowered until something is nearer than the gap, by steps of
its distance, and no steeper than a tent from vertex to vertex. The steps near the body take a signed distance field of its mesh; the
contacts are those of the mesh itself.

python examples/proximity.py [--out FOLDER] [--mesh FILE]
"""

import argparse
import os
import time
from importlib.resources import as_file, files

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.plotting import draw_contacts, draw_simulation

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--mesh", help="any file meshio reads, with a closed surface; the mesh that ships with pdgpu")
arguments = parser.parse_args()
os.makedirs(arguments.out, exist_ok=True)

GAP, NEAR, STEEPEST, N = 0.02, 0.045, 1.6, 44  # m, m, rise over run, cells along the cloth

if arguments.mesh:
    body = pdgpu.read_mesh(arguments.mesh)
else:
    with as_file(files("pdgpu") / "data" / "creature.vtu") as path:
        body = pdgpu.read_mesh(path)
points = body.points[np.unique(body.surface)]
low, size = points.min(axis=0), np.ptp(points, axis=0)
scale = 0.5 / size.max()
body = pdgpu.Mesh((body.points - low - size * [0.5, 0.0, 0.5]) * scale + [0.27, 0.0, 0.0], tets=body.tets, triangles=body.triangles)

start = time.perf_counter()
field = pdgpu.SignedDistanceField.from_mesh(body, spacing=0.01, padding=0.05)
print(f"{field} in {time.perf_counter() - start:.2f} s")

floor, ball = pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), pdgpu.Sphere((-0.28, 0.17, 0.0), 0.17)
scene = pdgpu.Scene()
for name, obstacle in (("floor", floor), ("ball", ball), ("body", body)):
    scene.add_obstacle(obstacle, name=name)
sheet = pdgpu.shapes.grid((1.2, 0.7), cells=(N, int(N * 0.7 / 1.2)))
flat = sheet.points[:, [0, 2, 1]] * [1.0, 1.0, -1.0] + [-0.6, 0.0, 0.35]
cloth = scene.add_shell(pdgpu.Mesh(flat, triangles=sheet.triangles), pdgpu.Spring(1e3), density=0.2, name="cloth")

# lowered along y until the nearest obstacle is at the gap: a step of the distance cannot go through it
pose = flat + [0.0, 1.0, 0.0]
for _ in range(200):
    nearest = np.min([collider.distance(pose) for collider in (floor, ball, field)], axis=0)
    pose[:, 1] -= np.maximum(nearest - GAP, 0.0)
a, b = cloth.mesh.unique_edges().T
fall = STEEPEST * np.linalg.norm((flat[a] - flat[b])[:, [0, 2]], axis=1)
for _ in range(N):  # a tent: no vertex hangs far below its neighbours
    height = pose[:, 1].copy()
    np.maximum.at(height, a, pose[b, 1] - fall)
    np.maximum.at(height, b, pose[a, 1] - fall)
    pose[:, 1] = height

sim = pdgpu.Simulation(scene)
sim.set_state(positions=pose)
start = time.perf_counter()
near = sim.contacts(NEAR, self_collision=False)
print(f"{near} in {1e3 * (time.perf_counter() - start):.0f} ms")
for name in ("floor", "ball", "body"):
    print(f"  cloth and {name}: {near.of('cloth', name)}")

# for the picture the nearest contact of each vertex of the cloth
of_vertex = near[near.kind != "edge-edge"]
of_vertex = of_vertex[of_vertex.vertices[:, 0] < len(flat)]
of_vertex = of_vertex[np.lexsort((of_vertex.distance, of_vertex.vertices[:, 0]))]
of_vertex = of_vertex[np.unique(of_vertex.vertices[:, 0], return_index=True)[1]]

figure = plt.figure(figsize=(13.0, 4.2))
view = dict(bounds=((-0.62, 0.0, -0.37), (0.62, 0.36, 0.37)), elevation=22.0, azimuth=-74.0)
colours = {"cloth": "#d98c4a", "floor": "#ffffff", "ball": "#a3b1bd", "body": "#a3b1bd"}
panels = [figure.add_axes((left, 0.02, 0.44, 0.88)) for left in (0.01, 0.47)]
draw_simulation(panels[0], sim, colours=colours, **view)
draw_simulation(panels[1], sim, colours=colours, opacity={"cloth": 0.12, "floor": 0.6}, **view)
segments = draw_contacts(panels[1], of_vertex, limits=(0.01, NEAR))
for panel, title in zip(
    panels, ("a cloth, a ball, a body, a floor", f"nearest contacts of its vertices, up to {1e3 * NEAR:.0f} mm"), strict=True
):
    figure.text(panel.get_position(original=True).x0 + 0.22, 0.93, title, ha="center", fontsize=11)
figure.colorbar(segments, cax=figure.add_axes((0.925, 0.2, 0.012, 0.6)), label="distance [m]")
figure.savefig(os.path.join(arguments.out, "proximity.png"), dpi=110)
print("written:", os.path.join(arguments.out, "proximity.png"))
