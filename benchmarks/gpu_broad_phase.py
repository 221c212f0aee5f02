"""How long does the broad phase take on the GPU, and how much faster is it than the CPU of the same machine?

Layers of cloth close above each other, crumpled, moving by some of their edges' length in the step: the case in which nearly every
primitive has partners. For each method the device's time for boxes and structure, built anew and refitted ("hash" is always built,
"patches" never), and for finding, sorting and unpacking the pairs, which is theirs per second in the last columns. The CPU uses all cores.
Every method and device must find as many pairs as the first.

Last, the times of impact of all those pairs, as a batch: without the copies, which a simulation on the device does not need.

    python benchmarks/gpu_broad_phase.py [--out FILE.csv] [--tiny] [--device cuda]
"""

import math

import numpy as np
from device import medians, microseconds, options, ratio
from machine import write_table

import pdgpu
from pdgpu.backends import backend
from pdgpu.collision import METHODS, BroadPhase

# triangles and dtype
CASES = {
    False: ((20_000, "float32"), (200_000, "float32"), (200_000, "float64"), (2_000_000, "float32")),
    True: ((40, "float32"), (40, "float64")),
}
LAYERS = 4
MOST_COLLISIONS = 4_000_000
ONCE = 1_000_000  # from as many triangles on, the CPU runs once after a first search, and not ten times
STRUCTURES = {"lbvh": ("build", "refit"), "patches": ("refit",), "hash": ("build",)}


def crumpled(triangles):
    """Rest positions, start and end of a step, triangles, and a distance of half an edge."""
    side = max(1, round(math.sqrt(triangles / 2 / LAYERS)))
    edge = 1.0 / side
    grid = pdgpu.shapes.grid((1.0, 1.0), cells=(side, side))
    n = len(grid.points)
    rest = np.concatenate([grid.points + [0.0, 0.0, edge * k] for k in range(LAYERS)])
    rows = np.concatenate([grid.triangles + n * k for k in range(LAYERS)])
    rng = np.random.default_rng(0)
    start = rest.copy()
    start[:, 2] += 0.05 * np.sin(9.0 * rest[:, 0]) * np.cos(7.0 * rest[:, 1])
    start += 0.2 * edge * rng.standard_normal(rest.shape)
    return rest, start, start + 0.2 * edge * rng.standard_normal(rest.shape), rows, 0.5 * edge


def timers(phase, positions, distance, what):
    """{what is timed: function that returns seconds}; `pairs` reads the clock of the search before it."""

    def structure():
        phase.pairs(*positions, distance=distance, rebuild=what == "build")
        return phase.seconds[0]

    return {what: structure, f"pairs after {what}": lambda: phase.seconds[1]}


def measure(triangles, dtype, chosen):
    rest, start, end, rows, distance = crumpled(triangles)
    devices = dict.fromkeys((chosen.device, "cpu"))
    found = None
    for method in METHODS:
        phases = {device: BroadPhase(rest, rows, method=method, dtype=dtype, device=device) for device in devices}
        for device, phase in phases.items():  # also the first, cold search
            counted = [len(part) for part in phase.pairs(start, end, distance=distance)]
            found = found or counted
            if counted != found:
                raise SystemExit(f"{method} on {device} finds {counted} pairs, and not {found}")
        times = {}
        for once in (False, True):
            chosen_timers = {}
            for device, phase in phases.items():
                if once != (device == "cpu" and triangles >= ONCE):
                    continue
                for what in STRUCTURES[method]:
                    for name, timer in timers(phase, (start, end), distance, what).items():
                        chosen_timers[device, name] = timer
            times.update(medians(chosen_timers, chosen.tiny or once))
        for (device, what), spread in times.items():
            counted = sum(found) if what.startswith("pairs") else None
            yield len(rows), dtype, method, device, what, *figures(spread, times["cpu", what][0], device, counted)
    times = medians(collision_timers(phases["cpu"], devices, start, end, distance, dtype), chosen.tiny or triangles >= ONCE)
    for (device, kind), spread in times.items():
        counted = min(MOST_COLLISIONS, found[kind == "edge-edge"])
        yield len(rows), dtype, "ccd", device, kind, *figures(spread, times["cpu", kind][0], device, counted)


def figures(spread, on_cpu, device, pairs):
    """Median, least and most, how many times the CPU takes as long, pairs, and millions of them per second."""
    against = "" if device == "cpu" else ratio(on_cpu, spread[0])
    return *map(microseconds, spread), against, pairs or "", f"{1e-6 * pairs / spread[0]:.1f}" if pairs and spread[0] > 0 else ""


def collision_timers(phase, devices, start, end, distance, dtype):
    """{(device, kind): function that returns seconds} for the times of impact of the pairs a broad phase finds."""
    pairs = phase.pairs(start, end, distance=distance)
    vertex, triangle = pairs.vertex_triangle[:MOST_COLLISIONS].T
    first, second = pairs.edge_edge[:MOST_COLLISIONS].T
    corners = {
        "vertex-triangle": np.column_stack([vertex, phase.triangles[triangle]]),
        "edge-edge": np.column_stack([phase.edges[first], phase.edges[second]]),
    }
    found = {}
    for kind, rows in corners.items():
        batch = getattr(pdgpu.ccd, kind.replace("-", "_"))
        positions = [x[rows].astype(dtype) for x in (start, end)]
        for device in devices:

            def timer(batch=batch, positions=positions, device=device):
                batch(*positions, device=device)
                return backend(device, dtype).loop_seconds()

            found[device, kind] = timer
    return found


def main():
    chosen = options(__doc__)
    rows = (row for triangles, dtype in CASES[chosen.tiny] for row in measure(triangles, dtype, chosen))
    header = ("triangles", "dtype", "method", "device", "what", "us", "least", "most", "cpu_over_this", "pairs", "Mpairs_per_s")
    once = f"from {ONCE} triangles on the CPU is timed once"
    write_table(chosen.out, header, rows, [*chosen.names, "medians by the device's clock, the cases in turn", once])


if __name__ == "__main__":
    main()
