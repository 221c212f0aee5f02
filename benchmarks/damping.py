"""What does stiffness damping cost in Vertex Block Descent?

A sweep's time is that of a step of MANY sweeps less that of a step of FEW, over the difference, by the processor time of the one thread
that works; the damped and the undamped case take turns. The rest of a damped step beyond that of an undamped one is the damping matrix,
made once a step, in undamped sweeps. Beams of tets and a grid of triangles, pinned at one end, fall.

    python benchmarks/damping.py [--tiny] [--dtype float32] [--out FILE.csv]
"""

import argparse
import statistics
import time

from machine import write_table

import pdgpu

FEW, MANY, ROUNDS, STEP, DAMPING = 20, 80, 9, 1 / 100, 1e-3
CASES = {
    "NeoHookean": (pdgpu.NeoHookean.from_young(1e5, 0.4), "solid"),
    "ARAP": (pdgpu.ARAP(1e5), "solid"),
    "Corotated": (pdgpu.Corotated.from_young(1e5, 0.3), "solid"),
    "StVK": (pdgpu.StVK.from_young(1e3, 0.3), "shell"),
    "Spring": (pdgpu.Spring(1e3), "shell"),
}
HEADER = ("material", "body", "vertices", "dtype", "sweep ms", "damped ms", "ratio", "matrix in sweeps")


def simulation(material, body, damping, sweeps, tiny, dtype):
    scene = pdgpu.Scene()
    if body == "shell":
        grid = pdgpu.shapes.grid((1, 1), cells=(8, 8) if tiny else (60, 60))
        made = scene.add_shell(grid, material, density=0.2, bending=1e-5, damping=damping)
    else:
        beam = pdgpu.shapes.beam((1, 0.3, 0.3), cells=(6, 2, 2) if tiny else (30, 9, 9))
        made = scene.add_solid(beam, material, density=1000.0, damping=damping)
    made.pin(lambda points: points[:, 0] < 1e-6)
    return pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=sweeps), dt=STEP, threads=1, dtype=dtype)


def seconds(simulation):
    begin = time.thread_time()
    simulation.step()
    return time.thread_time() - begin


def costs(material, body, tiny, dtype):
    """(vertices, undamped sweep s, damped sweep s, damping matrix s): medians."""
    made = {(d, n): simulation(material, body, d, n, tiny, dtype) for d in (0.0, DAMPING) for n in (FEW, MANY)}
    samples = {key: [] for key in made}
    for each in made.values():
        each.step()
    for _ in range(ROUNDS):
        for key, each in made.items():
            samples[key].append(seconds(each))
    step = {key: statistics.median(values) for key, values in samples.items()}
    sweep = {d: (step[d, MANY] - step[d, FEW]) / (MANY - FEW) for d in (0.0, DAMPING)}
    rest = {d: step[d, FEW] - FEW * sweep[d] for d in (0.0, DAMPING)}
    return len(made[0.0, FEW].positions), sweep[0.0], sweep[DAMPING], rest[DAMPING] - rest[0.0]


def table(tiny, dtype):
    for name, (material, body) in CASES.items():
        vertices, plain, damped, matrix = costs(material, body, tiny, dtype)
        yield name, body, vertices, dtype, f"{plain * 1e3:.3f}", f"{damped * 1e3:.3f}", f"{damped / plain:.2f}", f"{matrix / plain:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="a small mesh, to see that it runs")
    parser.add_argument("--dtype", default="float32", choices=("float32", "float64"))
    parser.add_argument("--out", help="write the table as CSV")
    options = parser.parse_args()
    write_table(options.out, HEADER, table(options.tiny, options.dtype), notes=["a tiny run, to see that it runs"] if options.tiny else [])


if __name__ == "__main__":
    main()
