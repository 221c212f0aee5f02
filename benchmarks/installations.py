"""Is one installation of pdgpu faster than another: a branch, a compiler, a machine's library?

Five scenes of some 13,000 vertices: VBD, Projective Dynamics with the direct and with the Jacobi solver, Newton with conjugate gradients,
and a broad phase. The two take turns, each run in a process of its own, and who comes first changes from pair to pair: what else the
machine does falls on both alike. A run gives the least time of an iteration (of a search) among a few steps after a first one.

"ratio" is the median over the pairs of the second's time over the first's, below 1 where the second is faster; "low" and "high" are the
quartiles: where 1 lies between them, nothing was seen. The times are medians over the runs.

    python benchmarks/installations.py FIRST_PYTHON SECOND_PYTHON [--pairs 11] [--threads 1] [--dtype float64] [--cases VBD ...]
                                       [--out FILE.csv] [--tiny]
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

CASES = ("VBD", "PD direct", "PD Jacobi", "Newton-CG", "broad phase")
CELLS, TINY = (52, 15, 15), (6, 2, 2)
STEPS = 3


# ---- in the process of one installation: nothing but what both have ---------------------------------------------------


def case_of(name):
    """(material, solver) of a scene in time."""
    import pdgpu

    soft, stiff = pdgpu.ARAP.from_young(3e5, 0.3), pdgpu.NeoHookean.from_young(3e5, 0.4)
    inner = pdgpu.PCG(preconditioner="block", iterations=60)
    return {
        "VBD": (stiff, pdgpu.VertexBlockDescent(iterations=20)),
        "PD direct": (soft, pdgpu.ProjectiveDynamics(iterations=20)),
        "PD Jacobi": (soft, pdgpu.ProjectiveDynamics(iterations=60, linear=pdgpu.Jacobi(weight=0.5))),
        "Newton-CG": (soft, pdgpu.Newton(iterations=3, linear=inner)),
    }[name]


def seconds_of_search(cells, threads):
    from pdgpu import shapes
    from pdgpu.collision import BroadPhase

    side = 113 if cells == CELLS else 8  # 114^2 vertices
    cloth = shapes.grid((1.0, 1.0), cells=(side, side))
    start = cloth.points.copy()
    phase, end, found = BroadPhase(start, cloth.triangles, threads=threads), 0.98 * start, []
    for _ in range(STEPS + 1):
        begin = time.perf_counter()
        phase.pairs(start, end)
        found.append(time.perf_counter() - begin)
    return min(found[1:])


def seconds_of_iteration(name, cells, threads, dtype):
    import pdgpu

    material, solver = case_of(name)
    mesh = pdgpu.shapes.beam((3.5, 1.0, 1.0), cells=cells)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(mesh, material, density=1000.0).pin(mesh.points[:, 0] == mesh.points[:, 0].min())
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30, threads=threads, dtype=dtype)
    found = []
    for _ in range(STEPS + 1):
        sim.set_state(positions=mesh.points * [1.2, 1.0, 1.0], velocities=0.0 * mesh.points)
        sim.step()
        found.append(sim.last_step.solve_seconds / max(1, sim.last_step.iteration))
    return min(found[1:])


def child(name, tiny, threads, dtype):
    warnings.simplefilter("ignore")
    cells = TINY if tiny else CELLS
    found = seconds_of_search(cells, threads) if name == "broad phase" else seconds_of_iteration(name, cells, threads, dtype)
    print(json.dumps(found))


# ---- pairs ------------------------------------------------------------------------------------------------------------


def run(python, name, options):
    command = [python, str(Path(__file__).resolve()), "--child", name, "--threads", str(options.threads)]
    command += ["--dtype", options.dtype, *["--tiny"] * options.tiny]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{name!r} does not run with {python}:\n{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def compare(name, options):
    times = {python: [] for python in ("first", "second")}
    pythons = {"first": options.first, "second": options.second}
    for pair in range(options.pairs):
        for which in ("first", "second") if pair % 2 == 0 else ("second", "first"):
            times[which].append(run(pythons[which], name, options))
    ratios = [b / a for a, b in zip(times["first"], times["second"], strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    first, second = (1e3 * statistics.median(times[which]) for which in ("first", "second"))
    return (
        name,
        options.dtype,
        options.threads,
        options.pairs,
        f"{first:.3f}",
        f"{second:.3f}",
        f"{middle:.3f}",
        f"{low:.3f}",
        f"{high:.3f}",
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", nargs="?", help="the Python executable of an installation")
    parser.add_argument("second", nargs="?")
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float64")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    parser.add_argument("--out")
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    parser.add_argument("--child", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.child, options.tiny, options.threads, options.dtype)
    if not options.second or options.pairs < 1:
        parser.error("two Python executables, and at least one pair")
    from machine import write_table

    header = ("case", "dtype", "threads", "pairs", "first_ms", "second_ms", "ratio", "low", "high")
    write_table(options.out, header, [compare(name, options) for name in options.cases])


if __name__ == "__main__":
    main()
