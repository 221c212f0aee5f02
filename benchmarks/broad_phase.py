"""How long does the search for what may collide take, with each structure, and against ipctk's?

Scenes, each moving by 0.3 of an edge in a step, crumpled by 0.1, with a distance of 0.2: a wavy cloth, at two more sizes for the growth;
twenty layers half an edge apart, where every primitive has many partners; cloth with large triangles through it above two huge ones. Boxes
are those of ipctk with an inflation radius of half the distance; pairs that only one of the two names must be of boxes that touch within
the rounding of float32, in which some of ipctk's structures work.

The time is that of a call from Python with all that it returns, by the wall clock, the least of some rounds in which all programs take
turns: the machine may be shared. ipctk runs on float64. "cores_ms" is the least time of all cores
together, which a busy machine disturbs less. "of_ipctk" is the time of its fastest structure in the same scene on as many threads over
this one. Where a structure of ipctk's took SLOW times as long as its fastest in the first round, it runs no more.

    python benchmarks/broad_phase.py [--out FILE.csv] [--threads 1 2] [--scenes wavy80 layers80 ...] [--tiny]
"""

import argparse
import itertools
import math
import time

import numpy as np
from machine import write_table

import pdgpu
from pdgpu.collision import BroadPhase

ROUNDS, FEWER, LONG = 7, 3, 1.0  # LONG: s of ipctk's fastest, from which on there are FEWER rounds
SLOW = 2.0
METHODS = ("lbvh", "patches", "hash")
PEERS = ("LBVH", "HashGrid", "SpatialHash", "SweepAndPrune")
MOTION, CRUMPLE, DISTANCE, GAP = 0.3, 0.1, 0.2, 0.5  # edges


# ---- scenes: rest positions, start and end of a step, triangles, distance --------------------------------------------------------------


def moving(points, triangles, edge):
    rng = np.random.default_rng(1)
    end = points + MOTION * edge * rng.standard_normal(3) + CRUMPLE * edge * rng.standard_normal(points.shape)
    return points, end, triangles, DISTANCE * edge


def sheets(cells, layers):
    grid = pdgpu.shapes.grid((1, 1), cells=(cells, cells))
    n, edge = len(grid.points), 1.0 / cells
    wave = 0.1 * np.sin(8 * np.pi * grid.points[:, 0]) * np.cos(6 * np.pi * grid.points[:, 1])
    points = np.concatenate([grid.points + np.outer(wave + GAP * edge * k, [0, 0, 1]) for k in range(layers)])
    return points, np.concatenate([grid.triangles + n * k for k in range(layers)]), edge


def mixed(cells, large):
    points, triangles, edge = sheets(cells, 1)
    rng = np.random.default_rng(2)
    corners = rng.random((large, 1, 3)) * [1, 1, 0.2] - [0, 0, 0.1] + 0.1 * rng.standard_normal((large, 3, 3))
    floor = [[-5, -5, -0.1], [6, -5, -0.1], [6, 6, -0.1], [-5, 6, -0.1]]
    rows = len(points) + np.arange(3 * large).reshape(-1, 3)
    under = len(points) + 3 * large + np.array([[0, 1, 2], [0, 2, 3]])
    return np.concatenate([points, corners.reshape(-1, 3), floor]), np.concatenate([triangles, rows, under]), edge


SCENES = {
    "wavy80": lambda: moving(*sheets(200, 1)),
    "layers80": lambda: moving(*sheets(45, 20)),
    "mixed46": lambda: moving(*mixed(151, 100)),
    "wavy100": lambda: moving(*sheets(224, 1)),
    "wavy1000": lambda: moving(*sheets(707, 1)),
}
TINY = {"wavy": lambda: moving(*sheets(8, 1)), "layers": lambda: moving(*sheets(3, 4)), "mixed": lambda: moving(*mixed(6, 3))}
GROWTH = ("wavy100", "wavy1000")


# ---- programs: functions without arguments that search once ----------------------------------------------------------------------------


def our_programs(scene, threads, dtype):
    start, end, triangles, distance = scene
    programs, phases = {}, {}
    for method in METHODS:
        phase = phases[method] = BroadPhase(start, triangles, method=method, dtype=dtype, threads=threads)
        for rebuild in (True, False) if method == "lbvh" else (True,):
            name = method if method != "lbvh" else "lbvh, built" if rebuild else "lbvh, refitted"
            programs[name] = lambda phase=phase, rebuild=rebuild: phase.pairs(start, end, distance=distance, rebuild=rebuild)
    return programs, phases


def peer_programs(scene, threads):
    import ipctk

    start, end, triangles, distance = scene
    ipctk.set_num_threads(threads)
    mesh = ipctk.CollisionMesh(start, ipctk.edges(triangles), triangles)
    x_t0, x_t1 = np.asfortranarray(start), np.asfortranarray(end)

    def program(name):
        def search():
            candidates = ipctk.Candidates()
            candidates.build(mesh, x_t0, x_t1, 0.5 * distance, getattr(ipctk, name)())
            return candidates

        return search

    return {f"ipctk {name}": program(name) for name in PEERS}, mesh


def timed(program):
    """Seconds by the wall clock, and of all cores together."""
    begin = time.perf_counter(), time.process_time()
    program()
    return time.perf_counter() - begin[0], time.process_time() - begin[1]


def least_times(programs):
    """{name: least (wall, cores) seconds}; a first round is for warming up, and to drop what is slow beyond comparison."""
    times = {name: [timed(program)] for name, program in programs.items()}
    fastest = min(seconds[0][0] for name, seconds in times.items() if name.startswith("ipctk"))
    for _, (name, program) in itertools.product(range(ROUNDS if fastest < LONG else FEWER), programs.items()):
        if not (name.startswith("ipctk") and times[name][0][0] > SLOW * fastest):
            times[name].append(timed(program))
    return {name: tuple(min(part) for part in zip(*seconds, strict=True)) for name, seconds in times.items()}


# ---- the same pairs --------------------------------------------------------------------------------------------------------------------


def only_in_one(phase, scene, candidates, mesh):
    """Pairs that ipctk alone names, those it lacks, and the largest distance of their boxes in units of the largest coordinate."""
    start, end, triangles, distance = scene
    x = np.stack([start, end])
    ours = phase.pairs(start, end, distance=distance)
    theirs = [np.array([[c.vertex_id, c.face_id] for c in candidates.fv_candidates]).reshape(-1, 2)]
    edges = np.sort(mesh.edges, axis=1)
    place = np.lexsort((edges[:, 1], edges[:, 0])).argsort()  # ipctk's edges among ours, which are sorted
    theirs.append(np.sort(place[np.array([[c.edge0_id, c.edge1_id] for c in candidates.ee_candidates]).reshape(-1, 2)], axis=1))
    rows = [(np.arange(len(start)).reshape(-1, 1), triangles), (phase.edges, phase.edges)]
    extra = lacking = 0
    gap = 0.0
    for mine, other, (first, second) in zip(ours, theirs, rows, strict=True):
        mine, other = (part[:, 0].astype(np.int64) << 32 | part[:, 1] for part in (mine, other))
        alone = np.setdiff1d(other, mine), np.setdiff1d(mine, other)
        extra, lacking = extra + len(alone[0]), lacking + len(alone[1])
        keys = np.concatenate(alone)
        a, b = x[:, first[keys >> 32]], x[:, second[keys & 0xFFFFFFFF]]
        apart = np.maximum(a.min(axis=(0, 2)) - b.max(axis=(0, 2)), b.min(axis=(0, 2)) - a.max(axis=(0, 2)))
        gap = max(gap, np.abs(apart.max(axis=1, initial=-np.inf) - distance).max(initial=0.0) / np.abs(x).max())
    return extra, lacking, gap


# ---- the table -------------------------------------------------------------------------------------------------------------------------


def structure_share(phase, scene):
    """Least seconds of boxes and refit, and of boxes, build and pairs, by the phase's own clock."""
    start, end, _, distance = scene
    refit, whole = [], []
    for _ in range(ROUNDS):
        phase.pairs(start, end, distance=distance)
        refit.append(phase.seconds[0])
        phase.pairs(start, end, distance=distance, rebuild=True)
        whole.append(sum(phase.seconds))
    return min(refit), min(whole)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=list(SCENES))
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs; the figures mean nothing")
    chosen = parser.parse_args()
    rows, notes, growth = [], [], {}
    for name, make in TINY.items() if chosen.tiny else ((name, SCENES[name]) for name in chosen.scenes):
        scene = make()
        compared = False
        for threads in chosen.threads:
            peers, mesh = peer_programs(scene, threads)
            programs, phases = {}, {}
            for dtype in ("float64", "float32"):
                mine, phases[dtype] = our_programs(scene, threads, dtype)
                programs |= {f"{program}, {dtype}": search for program, search in mine.items()}
            times = least_times(programs | peers)
            fastest = [min(seconds[i] for program, seconds in times.items() if program.startswith("ipctk")) for i in range(2)]
            counted = sum(len(part) for part in phases["float64"]["lbvh"].pairs(scene[0], scene[1], distance=scene[3]))
            for program, (wall, cores) in times.items():
                figures = [f"{1e3 * wall:.1f}", f"{1e3 * cores:.1f}", f"{1e9 * wall / max(counted, 1):.1f}"]
                figures += [f"{fastest[0] / wall:.2f}", f"{fastest[1] / cores:.2f}"]
                rows.append((name, len(scene[2]), counted, threads, program, *figures))
            growth[name, threads] = (counted, times["lbvh, built, float64"])
            refit, whole = structure_share(phases["float64"]["lbvh"], scene)
            notes.append(
                f"{name}, {threads} threads: boxes and refit {1e3 * refit:.2f} ms, {100 * refit / whole:.1f} % of boxes, build and pairs,"
                f" {100 * refit / fastest[0]:.1f} % of ipctk's fastest"
            )
            if not compared:
                extra, lacking, gap = only_in_one(phases["float64"]["lbvh"], scene, peers["ipctk LBVH"](), mesh)
                notes.append(f"{name}: ipctk LBVH names {extra} pairs more and {lacking} fewer, their boxes within {gap:.0e} of touching")
                if gap > 2.0**-22:
                    raise SystemExit(f"{name}: the pairs differ by more than rounding: {extra}, {lacking}, {gap}")
                compared = True
    for threads in chosen.threads:
        if all((name, threads) in growth for name in GROWTH):
            (few, short), (many, long) = (growth[name, threads] for name in GROWTH)
            wall, cores = (math.log(long[i] / short[i]) / math.log(many / few) for i in range(2))
            notes.append(f"{threads} threads: lbvh, built, float64: time grows as pairs^{wall:.2f}, that of all cores as pairs^{cores:.2f}")
    header = ("scene", "triangles", "pairs", "threads", "program", "ms", "cores_ms", "ns_per_pair", "of_ipctk", "cores_of_ipctk")
    write_table(chosen.out, header, rows, notes)


if __name__ == "__main__":
    main()
