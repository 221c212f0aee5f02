"""How long does `Simulation.contacts` take, beside another installation of pdgpu?

Two crumpled sheets, half an edge apart, and what is at most an edge apart in them: self-contact and each other. Each program is a process
of its own, and they take turns call by call, so that a busy machine disturbs all of them alike. "ms" is the median of the calls by the
wall clock and "least_ms" the least; "cores_ms" is the least time of all cores together. "of_other" is the median of the ratios, call by
call, of the time that the other installation took to ours, "cores_of_other" the same of the cores' time.

    python benchmarks/contacts.py [--other PYTHON] [--out FILE.csv] [--threads 1 2] [--rounds 9] [--tiny]

PYTHON is the interpreter of an environment in which the other pdgpu is installed.
"""

import argparse
import statistics
import subprocess
import sys

from machine import write_table

# What each process runs: builds the scene, then makes a call for each line it reads and says what it took.
CALLS = """
import sys, time, warnings
import numpy as np
import pdgpu
cells, threads, dtype, unique = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4] == "True"
warnings.simplefilter("ignore")
grid, edge = pdgpu.shapes.grid((1, 1), cells=(cells, cells)), 1.0 / cells
scene = pdgpu.Scene()
for k in range(2):
    scene.add_shell(pdgpu.Mesh(grid.points + [0, 0, 0.5 * edge * k], triangles=grid.triangles), pdgpu.Spring(1.0), density=0.1)
sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=1), dt=0.01, threads=threads, dtype=dtype)
x = sim.positions + 0.1 * edge * np.random.default_rng(0).standard_normal(sim.positions.shape)
sim.set_state(positions=x)
print(len(sim.contacts(edge, unique=unique)), 2 * len(grid.triangles), flush=True)
for line in sys.stdin:
    begin = time.perf_counter(), time.process_time()
    sim.contacts(edge, unique=unique)
    print(time.perf_counter() - begin[0], time.process_time() - begin[1], flush=True)
"""


class Program:
    """A process that makes the calls with one installation."""

    def __init__(self, python, *arguments):
        command = [python, "-c", CALLS, *map(str, arguments)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.contacts, self.triangles = map(int, self.process.stdout.readline().split())
        self.times = []

    def call(self):
        self.process.stdin.write("once more\n")
        self.process.stdin.flush()
        self.times.append(tuple(map(float, self.process.stdout.readline().split())))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--other", help="the interpreter of an environment with another pdgpu")
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs; the figures mean nothing")
    chosen = parser.parse_args()
    rows = []
    pythons = {"pdgpu": sys.executable, **({"other": chosen.other} if chosen.other else {})}
    for threads in chosen.threads:
        for dtype, unique in (("float64", True), ("float64", False), ("float32", True)):
            programs = {name: Program(python, 4 if chosen.tiny else 100, threads, dtype, unique) for name, python in pythons.items()}
            for _ in range(2 if chosen.tiny else chosen.rounds):
                for program in programs.values():
                    program.call()
            for program in programs.values():
                program.close()
            for name, program in programs.items():
                wall, cores = zip(*program.times, strict=True)
                ratios = [
                    statistics.median(theirs[k] / ours[k] for ours, theirs in zip(program.times, programs["other"].times, strict=True))
                    if chosen.other
                    else float("nan")
                    for k in range(2)
                ]
                figures = [f"{1e3 * number:.1f}" for number in (statistics.median(wall), min(wall), min(cores))]
                rows.append((name, program.triangles, program.contacts, threads, dtype, unique, *figures, *(f"{r:.2f}" for r in ratios)))
    header = ("program", "triangles", "contacts", "threads", "dtype", "unique", "ms", "least_ms", "cores_ms", "of_other", "cores_of_other")
    write_table(chosen.out, header, rows, ["tiny sizes: the figures mean nothing"] if chosen.tiny else [])


if __name__ == "__main__":
    main()
