"""What do threads=0, and several runs at a time, cost or bring?

`iterations`: seconds of an iteration with threads=1 and with threads=0, in alternating rounds of one process; the least of the rounds and
their median, since the machine may be shared: the least says what the machine can do, the median what it did. From 289 vertices, where a
second thread can only be in the way, to a solid where it should pay.

`runs`: eight independent runs, each with threads=1: one after the other, and four at a time in threads and in processes.
Factorisations take turns in a process (csrc/sparse/cholesky.c), so a solver that factorises in every iteration gains least from threads.

    python benchmarks/threads.py [iterations|runs] [--out FILE.csv] [--rounds N]
"""

import argparse
import multiprocessing
import statistics
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pdgpu

SIZES = {"289": (16, 0), "1.7K": (40, 0), "0.8K solid": (8, 16), "6K solid": (16, 40)}
SOLVERS = {
    "PD": pdgpu.ProjectiveDynamics(iterations=20),
    "PD A-Jacobi": pdgpu.ProjectiveDynamics(iterations=20, linear=pdgpu.AJacobi(order=2, weight=0.6, iterations=3)),
    "VBD": pdgpu.VertexBlockDescent(iterations=20),
    "L-BFGS": pdgpu.QuasiNewton(iterations=10),
    "Newton": pdgpu.Newton(iterations=3),
}
RUNS_AT_A_TIME = 4
RUNS = {"VBD": SOLVERS["VBD"], "PD": SOLVERS["PD"], "Newton": SOLVERS["Newton"]}


def simulation(size, solver, threads):
    """A cloth of (n+1)^2 vertices that hangs by two corners, or a beam of n x n x length cells held at one end."""
    n, length = SIZES[size]
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    if length:
        mesh = pdgpu.shapes.beam((length / n, 1.0, 1.0), cells=(length, n // 2 + 4, n // 2 + 4))
        scene.add_solid(mesh, pdgpu.ARAP(1e5), density=1000.0).pin(lambda x: x[:, 0] < 1e-9)
    else:
        scene.add_shell(pdgpu.shapes.grid((1.0, 1.0), cells=(n, n)), pdgpu.Spring(100.0), density=0.2).pin([0, n])
    return pdgpu.Simulation(scene, solver, dt=0.01, threads=threads)


def per_iteration(sim, solver):
    start = time.perf_counter()
    sim.step()
    return (time.perf_counter() - start) / solver.iterations


def iterations(rounds):
    rows = []
    for size in SIZES:
        for name, solver in SOLVERS.items():
            pair = [simulation(size, solver, threads) for threads in (1, 0)]
            for sim in pair:
                sim.step()
            samples = [[per_iteration(sim, solver) for sim in pair] for _ in range(rounds)]
            one, all_of_them = zip(*samples, strict=True)
            n = pair[0].positions.shape[0]
            least, median = [min(one), min(all_of_them)], [statistics.median(one), statistics.median(all_of_them)]
            figures = [f"{1e3 * seconds:.3f}" for seconds in (*least, *median)]
            rows.append((name, size, n, *figures, f"{least[1] / least[0]:.2f}", f"{median[1] / median[0]:.2f}"))
    header = ("solver", "scene", "vertices", "1: least ms", "0: least ms", "1: median ms", "0: median ms", "least 0/1", "median 0/1")
    return header, rows


def one_run(name):
    sim = simulation("0.8K solid", RUNS[name], 1)
    sim.step(2)
    return float(sim.positions.sum())


def seconds_of(function, argument):
    start = time.perf_counter()
    function(argument)
    return time.perf_counter() - start


def runs(rounds):
    rows = []
    with (
        ThreadPoolExecutor(RUNS_AT_A_TIME) as threads,
        ProcessPoolExecutor(RUNS_AT_A_TIME, multiprocessing.get_context("fork")) as processes,
    ):
        for name in RUNS:
            jobs = [name] * 2 * RUNS_AT_A_TIME
            maps = (map, threads.map, processes.map)
            samples = [[seconds_of(lambda how, jobs=jobs: list(how(one_run, jobs)), how) for how in maps] for _ in range(rounds)]
            best = [min(column) for column in zip(*samples, strict=True)]
            rows.append((name, len(jobs), *(f"{seconds:.3f}" for seconds in best), *(f"{best[0] / seconds:.2f}" for seconds in best[1:])))
    return ("solver", "runs", "one by one s", "threads s", "processes s", "gain of threads", "gain of processes"), rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("iterations", "runs"), default="iterations")
    parser.add_argument("--out")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    from machine import write_table

    header, rows = {"iterations": iterations, "runs": runs}[options.what](options.rounds)
    write_table(options.out, header, rows, [f"{options.rounds} rounds"])


if __name__ == "__main__":
    main()
