"""How long does the broad phase take on the GPU, and how much faster is it than the CPU of the same machine?

Layers of cloth close above each other, crumpled, moving by some of their edges' length in the step: the case in which nearly every
primitive has partners. For each method the device's time for boxes and structure, built again and refitted ("hash" is always built,
"patches" never), and for finding, sorting and unpacking the pairs, which is theirs per second in the last columns. The CPU uses all cores.
Every method and device must find as many pairs as the first.

Last, the times of impact of all those pairs, as a batch: without the copies, which a simulation on the device does not need.

With --moving: one step of a million moving triangles, end to end. The positions are in device memory. The trees or the grid are updated,
the pairs are searched, and the earliest time of impact is computed. The wall clock stops when the host has that time. The motion is not
the one that the trees were built for, and no vertex starts in contact, so that the earliest impact lies within the step. Goal: 4 ms.
"search" and "earliest impact" are its two parts; the row of the structure and "pairs after" it are the device's clock within the search.
"all impacts" computes the times of all pairs, none of which is skipped because another one is earlier.

With --no-cpu, no search runs on the CPU. The number of pairs is then compared between methods only.

    python benchmarks/gpu_broad_phase.py [--out FILE.csv] [--tiny] [--device cuda] [--no-cpu] [--seconds S] [--limit S] [--moving]
"""

import functools
import math
import time

import numpy as np
from device import medians, microseconds, options, ratio, write_cases

import pdgpu
from pdgpu._internal.backends import backend
from pdgpu.collision.collision import METHODS, BroadPhase

# triangles and dtype
CASES = {
    False: ((20_000, "float32"), (200_000, "float32"), (200_000, "float64"), (2_000_000, "float32")),
    True: ((40, "float32"), (40, "float64")),
}
LAYERS = 4
MOST_COLLISIONS = 4_000_000
ONCE = 1_000_000  # from as many triangles on, the CPU runs once after a first search, and not ten times
MOVING = {False: 1_000_000, True: 2000}  # with fewer triangles nothing meets
DISTANCES = (0.0, 0.5)  # of the pairs of a moving step, in edges: those that may touch, and a list with a margin
GOAL = 4e-3  # s, of a moving step of a million triangles
STRUCTURES = {"lbvh": ("build", "refit"), "patches": ("refit",), "hash": ("build",)}


def layers(triangles):
    """Rest positions of the layers, their wavy positions, triangles, and the length of an edge."""
    side = max(1, round(math.sqrt(triangles / 2 / LAYERS)))
    edge = 1.0 / side
    grid = pdgpu.shapes.grid((1.0, 1.0), cells=(side, side))
    n = len(grid.points)
    rest = np.concatenate([grid.points + [0.0, 0.0, edge * k] for k in range(LAYERS)])
    rows = np.concatenate([grid.triangles + n * k for k in range(LAYERS)])
    wavy = rest.copy()
    wavy[:, 2] += 0.05 * np.sin(9.0 * rest[:, 0]) * np.cos(7.0 * rest[:, 1])
    return rest, wavy, rows, edge


def crumpled(triangles):
    """Rest positions, start and end of a step, triangles, and a distance of half an edge."""
    rest, wavy, rows, edge = layers(triangles)
    rng = np.random.default_rng(0)
    start = wavy + 0.2 * edge * rng.standard_normal(rest.shape)
    return rest, start, start + 0.2 * edge * rng.standard_normal(rest.shape), rows, 0.5 * edge


def crumpled_apart(triangles):
    """Rest positions, positions at three times, triangles, and the length of an edge. Nothing is in contact at the second time.

    The noise there is below 0.15 of an edge, with which neither two layers nor two triangles of a layer can meet.
    """
    rest, wavy, rows, edge = layers(triangles)
    rng = np.random.default_rng(0)
    noise = [edge * size * rng.uniform(-1.0, 1.0, rest.shape) for size in (0.3, 0.15, 0.3)]
    start = wavy + noise[1]
    return rest, (start - noise[0], start, start + noise[2]), rows, edge


def timers(phase, positions, distance, what):
    """{what is timed: function that returns seconds}; `pairs` reads the clock of the search before it."""

    def structure():
        phase.pairs(*positions, distance=distance, rebuild=what == "build")
        return phase.seconds[0]

    return {what: structure, f"pairs after {what}": lambda: phase.seconds[1]}


def measure(triangles, dtype, chosen):
    rest, start, end, rows, distance = crumpled(triangles)
    devices = dict.fromkeys((chosen.device,) if chosen.no_cpu else (chosen.device, "cpu"))
    found = None
    for method in METHODS:
        phases = {device: BroadPhase(rest, rows, method=method, dtype=dtype, device=device) for device in devices}
        for device, phase in phases.items():  # also the first, cold search
            counted = [len(part) for part in phase.pairs(start, end, distance=distance)]
            found = found or counted
            if counted != found:
                raise ValueError(f"{method} on {device} finds {counted} pairs, and not {found}")
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
            yield len(rows), dtype, method, device, what, *figures(spread, cpu_median(times, what), device, counted)
    batches = collision_timers(next(iter(phases.values())), devices, start, end, distance, dtype)
    times = medians(batches, chosen.tiny or triangles >= ONCE)
    for (device, kind), spread in times.items():
        counted = min(MOST_COLLISIONS, found[kind == "edge-edge"])
        yield len(rows), dtype, "ccd", device, kind, *figures(spread, cpu_median(times, kind), device, counted)


def cpu_median(times, what):
    """The CPU's median, or None where it was not measured."""
    return times["cpu", what][0] if ("cpu", what) in times else None


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


# ---- a moving step ---------------------------------------------------------------------------------------------------------------


class MovingStep:
    """Searches and earliest impacts from positions in device memory, with a clock on each part."""

    def __init__(self, rest, times, rows, method, device):
        scene = pdgpu.Scene()
        scene.add_particles(rest, mass=1.0)
        # never stepped: its positions and velocities hold the start and the end of the motion in device memory
        self.simulation = pdgpu.Simulation(scene, pdgpu.PBD(iterations=1), dt=0.1, dtype="float32", device=device)
        self.phase = BroadPhase(rest, rows, method=method, dtype="float32", device=device, simulation=self.simulation)
        self.times, self.method = times, method

    def move(self, first):
        """Puts two of the three sets of positions where the searches read them."""
        self.simulation.set_state(positions=self.times[first], velocities=self.times[first + 1])

    def search(self, distance, rebuild=False):
        arrays = self.simulation.device_positions, self.simulation.device_velocities
        return self.phase.search(*arrays, distance=distance, rebuild=rebuild)

    def step(self, distance):
        """Seconds end to end; keeps those of its parts, the pairs and the impact."""
        before = self.phase.counts
        start = time.perf_counter()
        found = self.search(distance)
        searched = time.perf_counter()
        self.impact = found.earliest()
        end = time.perf_counter()
        after = self.phase.counts
        self.found, self.parts = found, (searched - start, end - searched)
        self.waits, self.allocations, builds = (after[name] - before[name] for name in ("waits", "allocations", "builds"))
        if self.method == "lbvh" and builds:
            raise SystemExit("lbvh: a tree was built where it should have been refitted")
        return end - start

    def all_impacts(self):
        """Seconds of the times of impact of all pairs of the last search, with a wait at the end."""
        start = time.perf_counter()
        kept = [self.found.collisions(pair).time for pair in ("vertex_triangle", "edge_edge")]
        for times in kept:
            times.__dlpack__()  # waits for the device
        return time.perf_counter() - start

    def timers(self, distance):
        """{what is timed: function that returns seconds}; the first runs the step and the others read its clocks."""
        structure = STRUCTURES[self.method][-1]
        return {
            "end to end": lambda: self.step(distance),
            "search": lambda: self.parts[0],
            structure: lambda: self.phase.seconds[0],
            f"pairs after {structure}": lambda: self.phase.seconds[1],
            "earliest impact": lambda: self.parts[1],
            "all impacts": self.all_impacts,
        }


@functools.cache
def moving_scene(tiny):
    return crumpled_apart(MOVING[tiny])


def measure_moving(method, chosen, agreed):
    """The rows of a moving step of one method, by distance and device; agreed {distance: (pairs, impact)} of the methods before."""
    rest, times, rows, edge = moving_scene(chosen.tiny)
    devices = dict.fromkeys((chosen.device,) if chosen.no_cpu else (chosen.device, "cpu"))
    steps = {device: MovingStep(rest, times, rows, method, device) for device in devices}
    for step in steps.values():
        step.move(0)
        step.search(max(DISTANCES) * edge, rebuild=True)  # the trees and the lists are made for the motion before
        step.move(1)
    for part in DISTANCES:
        seconds = {}
        for device, step in steps.items():
            step.step(part * edge)  # cold
            found = step.found.n_vertex_triangle, step.found.n_edge_edge
            pairs, impact = agreed.setdefault(part, (found, step.impact.toi))
            if found != pairs:
                raise ValueError(f"{method} on {device} finds {found} pairs, and not {pairs}")
            if not 0.0 < step.impact.toi < 1.0 or abs(step.impact.toi - impact) > 1e-3:
                raise ValueError(f"{method} on {device}: the earliest impact is at {step.impact.toi}, and not at {impact}")
            spreads = medians(step.timers(part * edge), chosen.tiny or device == "cpu")  # the CPU runs once after the first search
            seconds.update({(device, what): spread for what, spread in spreads.items()})
        for (device, what), spread in seconds.items():
            step = steps[device]
            counted = None if what in ("refit", "build", "search") else sum(agreed[part][0])
            more = ()
            if what == "end to end":
                more = (f"{step.impact.toi:.4f}", step.waits, step.allocations, f"{spread[0] / GOAL:.2f}")
            yield len(rows), "float32", method, device, what, *figures(spread, cpu_median(seconds, what), device, counted), part, *more


HEADER = ("triangles", "dtype", "method", "device", "what", "us", "least", "most", "cpu_over_this", "pairs", "Mpairs_per_s")


def main():
    chosen = options(__doc__, moving="a step of a million moving triangles alone, end to end")
    header, alone = HEADER, ["no search on the CPU: the tests alone compare the pairs of CPU and GPU"] * chosen.no_cpu
    if chosen.moving:
        header += ("distance_in_edges", "earliest_impact", "waits", "allocations", "of_goal")
        notes = ["end to end, search and impacts: medians of the wall clock, with a wait at the end; other rows: of the device's clock"]
        notes += [f"of_goal: end to end, over {1e3 * GOAL:g} ms"]
        agreed = {}
        cases = [
            ((MOVING[chosen.tiny], "float32", method), functools.partial(measure_moving, method, chosen, agreed)) for method in METHODS
        ]
    else:
        notes = [
            "medians by the device's clock, the cases in turn",
            *[f"from {ONCE} triangles on the CPU is timed once"] * (not chosen.no_cpu),
        ]
        cases = [(case, functools.partial(measure, *case, chosen)) for case in CASES[chosen.tiny]]
    write_cases(chosen, header, cases, [*chosen.names, *notes, *alone])


if __name__ == "__main__":
    main()
