"""What does a step of many layers of cloth cost, and how does it grow with the layers?

Square sheets of 69 x 69 cells lie on each other, each turned a little against the one below, and fall on a sphere of fixed triangles: 50 of
them have 245,000 vertices. Chen et al. 2025, Offset Geometric Contact, report 0.21 s a step for 50 layers of cloth with 246 thousand
vertices on a CPU. Their mesh, materials and processor are not these, so the figures show an order of magnitude.

Vertex Block Descent with `BarrierContact` and friction. The sheets begin inside each other's activation distance. After `fall` steps, by
which the lowest sheets hang over the sphere, `steps` are timed: "s/step" is the median of the clock's seconds, "cpu s/step" that of the
processor's. "pairs" act at the end, "iterations" are those of a step. "intersections" is the judge's count in the last state.

    python benchmarks/layers_of_cloth.py [--out FILE.csv] [--layers 5 50] [--fall 20] [--steps 5] [--iterations 10] [--threads 2]
                                         [--dtype float32] [--tiny]
"""

import argparse
import time

import numpy as np
from machine import write_table

import pdgpu
from pdgpu import shapes

DT = 1 / 100  # s
SIDE, DENSITY, LAME, BENDING, FRICTION = 1.0, 0.2, 1e3, 1e-5, 0.2  # m, kg/m^2, N/m, J
ACTIVATION, GAP = 0.2, 0.9  # activation distance / edge, gap / activation distance
STIFFNESS = 10.0  # N/m: so that some 50 sheets press no gap to nothing
RADIUS, SPEED = 0.25, 0.5  # of the sphere, m, and of the fall, m/s
HEADER = ("layers", "vertices", "triangles", "dtype", "threads", "iterations", "s/step", "cpu s/step", "most s", "pairs", "intersections")


def stack(layers, cells, level):
    """The scene, the sphere and the activation distance, m."""
    distance = ACTIVATION * SIDE / cells
    flat = shapes.grid((SIDE, SIDE), (cells, cells))
    scene = pdgpu.Scene()
    for layer in range(layers):
        c, s = np.cos(0.05 * layer), np.sin(0.05 * layer)
        x, z = flat.points[:, 0] - 0.5 * SIDE, flat.points[:, 1] - 0.5 * SIDE
        height = np.full(len(x), RADIUS + GAP * distance * (layer + 1))
        sheet = pdgpu.Mesh(np.column_stack([c * x + s * z, height, c * z - s * x]), triangles=flat.triangles)
        material = pdgpu.StVK(LAME, LAME)
        scene.add_shell(sheet, material, density=DENSITY, bending=BENDING, velocity=(0.0, -SPEED, 0.0), name=f"sheet {layer}")
    sphere = shapes.sphere(RADIUS, level)
    scene.add_obstacle(pdgpu.Mesh(sphere.points, triangles=sphere.triangles), name="sphere")
    return scene, sphere, distance


def intersections(sim, scene, sphere):
    shift = np.cumsum([0] + [len(body.mesh.points) for body in scene.bodies])
    meshes = [body.mesh.triangles + start for body, start in zip(scene.bodies, shift, strict=False)]
    points = np.concatenate([sim.positions, sphere.points])
    return len(pdgpu.geometry.find_intersections(points, np.concatenate([*meshes, sphere.triangles + shift[-1]])))


def row(layers, chosen):
    scene, sphere, distance = stack(layers, *((6, 1) if chosen.tiny else (69, 4)))
    solver = pdgpu.VertexBlockDescent(iterations=chosen.iterations)
    contact = pdgpu.BarrierContact(distance, stiffness=STIFFNESS, friction=FRICTION)
    sim = pdgpu.Simulation(scene, solver, dt=DT, contact=contact, dtype=chosen.dtype, threads=chosen.threads)
    for _ in range(1 if chosen.tiny else chosen.fall):
        sim.step()
    clock, processor = [], []
    for _ in range(1 if chosen.tiny else chosen.steps):
        begun, spent = time.perf_counter(), time.process_time()
        sim.step()
        clock.append(time.perf_counter() - begun)
        processor.append(time.process_time() - spent)
    triangles = sum(len(body.mesh.triangles) for body in scene.bodies)
    seconds = (f"{np.median(clock):.3f}", f"{np.median(processor):.3f}", f"{max(clock):.3f}")
    judged = intersections(sim, scene, sphere)
    size = (scene.n_vertices, triangles, chosen.dtype, chosen.threads, chosen.iterations)
    return layers, *size, *seconds, len(sim.contact_forces()), judged


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--layers", type=int, nargs="+", default=[5, 50])
    parser.add_argument("--fall", type=int, default=20, help="steps before those that are timed")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", default="float32", choices=("float32", "float64"))
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    chosen = parser.parse_args()
    layers = [2] if chosen.tiny else chosen.layers
    write_table(chosen.out, HEADER, (row(each, chosen) for each in layers), ["tiny: the figures mean nothing"] * chosen.tiny)


if __name__ == "__main__":
    main()
