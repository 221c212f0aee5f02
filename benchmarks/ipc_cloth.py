"""How long does a full IPC step of a cloth on a sphere take, by Newton's method with several linear solvers and by MuJoCo?

A cloth of 41 x 41 vertices falls on a sphere with friction 0.3, in steps of 5 ms. Each program runs in a process of its own, and they take
turns step by step, so that a busy machine disturbs all alike. The columns are of the steps from the 16th on, which are in contact:

milliseconds  the median of the processor time of a step, on one thread
iteration     the sum of that over the sum of the iterations, ms
gradient      the largest gradient norm at the end of a step, N; of MuJoCo the last gradient that its solver reports, in units of its own
relative      the same over the gradient norm at the first guess, or in MuJoCo's first iteration (1 where a step has no second one);
              Newton's method ends at 1e-3 of that or of the forces that contact has to balance, whichever is less
lowest        the lowest height of the cloth in the end, m

    python benchmarks/ipc_cloth.py [--out FILE.csv] [--steps 60] [--before FOLDER] [--mujoco PYTHON] [--profile] [--tiny]

--before   a folder with another version of the package pdgpu, which runs Newton's method with a factor in every iteration
--mujoco   an interpreter that has MuJoCo 4, with its IPC mode
--profile  where the time of an iteration goes instead, by perf, for which the modules of build/make keep their symbols
"""

import argparse
import collections
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

FIRST = 15  # the steps before are free fall
LINEAR = {
    "direct": lambda pdgpu: pdgpu.Direct(),
    "auto": lambda pdgpu: "auto",
    "PCG": lambda pdgpu: pdgpu.PCG(preconditioner="block", tolerance=1e-2, iterations=200),
}
# functions of the core, and what a sample of perf is billed to, by the innermost of them
PARTS = {
    "pd_supernodal_factorise": "factor",
    "pd_factor_analyse": "analysis of the pattern",
    "analyse_by_host": "analysis of the pattern",
    "pd_supernodal_solve": "solves with the factor",
    "upper_triangle": "triangle for the factor",
    "pd_contact_hessians": "Hessians of pairs",
    "pd_contact_add_blocks": "Hessians of pairs",
    "pd_problem_assemble": "one matrix of elements and pairs",
    "pd_hessian": "Hessians of elements",
    "pd_hessian_cg_solve": "conjugate gradients",
    "pd_ccd_limiter_fraction": "step limit (CCD)",
    "pd_contact_find": "pairs",
    "pd_damping_energy": "damping",
    "pd_damping_add_gradient": "damping",
    "pd_damping_prepare": "damping",
    "pd_contact_potential": "potential of contact",
    "pd_contact_friction_potential": "potential of contact",
    "pd_contact_add_gradient": "gradient of contact",
    "pd_potential": "potential of elements",
    "pd_gradient": "gradient of elements",
    "pd_simulation_step": "the rest of a step",
}


def cloth(linear, cells):
    """The simulation before its first step."""
    import pdgpu

    sheet = pdgpu.shapes.grid((1.0, 1.0), cells=(cells, cells))
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    mesh = pdgpu.Mesh(sheet.points - [0.5, 0.5, -0.33], triangles=sheet.triangles)
    scene.add_shell(mesh, pdgpu.StVK.from_young(100.0, 0.3), density=0.2, bending=1e-5, damping=1e-3)
    scene.add_obstacle(pdgpu.Sphere((0.0, 0.0, 0.0), 0.3))
    solver = pdgpu.Newton(iterations=60, tolerance=1e-3, linear=LINEAR[linear](pdgpu))
    return pdgpu.Simulation(scene, solver, dt=0.005, contact=pdgpu.BarrierContact(2e-3, friction=0.3), threads=1)


def steps_of_pdgpu(linear, cells):
    """Seconds, iterations, gradient, the first gradient and the lowest height of each step; a twin records what the clock leaves out."""
    sim, twin = cloth(linear, cells), cloth(linear, cells)
    while True:
        start = time.process_time()
        sim.step()
        seconds = time.process_time() - start
        twin.step(record=True)
        norms = twin.last_step["gradient_norm"]
        yield seconds, sim.last_step.iteration, norms[-1], norms[0], sim.positions[:, 2].min()


def steps_of_mujoco(cells):
    """The same of MuJoCo."""
    import mujoco

    n, side = cells + 1, 1.0 / cells
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><option integrator="discrete" timestep="0.005" gravity="0 0 -9.81">
        <flag ipc="enable"/></option><size memory="2G"/><worldbody><geom type="sphere" size=".3"/>
        <flexcomp type="grid" count="{n} {n} 1" spacing="{side} {side} .01" pos="0 0 0.33" name="cloth" dim="2" mass="0.2" radius="0.002">
        <contact selfcollide="none" friction="0.3"/>
        <elasticity young="1e5" poisson="0.3" thickness="1e-3" elastic2d="both" damping="0.001"/></flexcomp></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    while True:
        start = time.process_time()
        mujoco.mj_step(model, data)
        seconds = time.process_time() - start
        count = max(int(data.solver_niter[0]), 1)
        gradients = data.solver.gradient[:count]
        yield seconds, count, gradients[-1], gradients[0], data.flexvert_xpos.reshape(-1, 3)[:, 2].min()


def serve(program, cells):
    """In a process of its own: a line for each step that is asked for."""
    steps = steps_of_mujoco(cells) if program == "MuJoCo" else steps_of_pdgpu(program, cells)
    for _ in sys.stdin:
        print("STEP", *next(steps), flush=True)


def start(program, cells, python, folder):
    path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    command = [python, __file__, "--serve", program, "--cells", str(cells)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}, **pipes)


def ask(process):
    process.stdin.write("step\n")
    process.stdin.flush()
    while line := process.stdout.readline():
        if line.startswith("STEP"):
            return [float(number) for number in line.split()[1:]]
    raise RuntimeError(f"{process.args}: ended with {process.wait()}")


def rows_of(chosen):
    """All programs in turns."""
    cells = 6 if chosen.tiny else 40
    running = {f"Newton, {linear}": start(linear, cells, sys.executable, None) for linear in LINEAR}
    if chosen.before:
        running["Newton, direct, before"] = start("direct", cells, sys.executable, chosen.before)
    if chosen.mujoco:
        running["MuJoCo"] = start("MuJoCo", cells, chosen.mujoco, None)
    found = collections.defaultdict(list)
    for step in range(FIRST + 2 if chosen.tiny else chosen.steps):
        for name, process in running.items():
            found[name].append(ask(process))
        print(f"step {step}: " + ", ".join(f"{name} {1e3 * found[name][-1][0]:.0f} ms" for name in running), file=sys.stderr, flush=True)
    for name, process in running.items():
        process.stdin.close()
        process.wait()
        seconds, iterations, last, first, lowest = np.array(found[name][FIRST:]).T
        relative = (last / np.where(first > 0, first, 1.0)).max()
        times = f"{1e3 * np.median(seconds):.1f}", f"{1e3 * seconds.sum() / max(iterations.sum(), 1):.2f}"
        yield name, len(seconds), *times, int(iterations.sum()), f"{last.max():.1e}", f"{relative:.1e}", f"{lowest[-1]:.4f}"


def profile(linear):
    """Where the time of an iteration goes, with symbols and without what comes before the contact."""
    import pdgpu

    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(Path(pdgpu.__file__).parent, Path(folder) / "pdgpu")
        for module in (Path(__file__).parents[1] / "build" / "make").glob("*.so"):
            shutil.copy(module, Path(folder) / "pdgpu")
        data, path = str(Path(folder) / "perf.data"), os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
        command = ["perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-o", data, "--call-graph", "dwarf,8192", "-F", "250"]
        command += [sys.executable, __file__, "--serve-all", linear]
        said = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True).stdout
        begin, end, iterations, seconds = (line := said.split("ALL")[1].split())[0], line[1], int(line[2]), float(line[3])
        command = ["perf", "script", "-i", data, "--time", f"{begin},{end}", "-F", "comm,ip,sym"]
        samples = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n\n")
    counts = collections.Counter()
    for sample in samples:
        names = [line.split(None, 1)[1].split("+")[0].split(".")[0] for line in sample.strip().splitlines()[1:] if " " in line.strip()]
        if names:
            counts[next((PARTS[name] for name in names if name in PARTS), "Python, and stacks that perf cut off")] += 1
    total = sum(counts.values())
    for part, count in counts.most_common():
        yield linear, part, f"{100 * count / total:.1f}", f"{1e3 * seconds / iterations * count / total:.2f}"


def serve_all(linear):
    """60 steps, and when those in contact began and ended."""
    sim, iterations = cloth(linear, 40), 0
    for step in range(60):
        if step == FIRST - 1:
            begin, start = time.clock_gettime(time.CLOCK_MONOTONIC), time.process_time()
        sim.step()
        iterations += sim.last_step.iteration
    print("ALL", begin, time.clock_gettime(time.CLOCK_MONOTONIC), iterations, time.process_time() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--before", help="a folder with another version of the package pdgpu")
    parser.add_argument("--mujoco", help="an interpreter that has MuJoCo")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--serve-all", help=argparse.SUPPRESS)
    parser.add_argument("--cells", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve or chosen.serve_all:
        serve(chosen.serve, chosen.cells) if chosen.serve else serve_all(chosen.serve_all)
        return
    from machine import write_table

    if chosen.profile:
        rows = (row for linear in ("direct", "auto") for row in profile(linear))
        write_table(chosen.out, ("linear", "part", "percent", "milliseconds"), rows)
        return
    columns = ("program", "steps", "milliseconds", "iteration", "iterations", "gradient", "relative", "lowest")
    notes = ("tiny: a cloth of 7 x 7 vertices and two steps",) if chosen.tiny else ()
    write_table(chosen.out, columns, rows_of(chosen), notes)


if __name__ == "__main__":
    main()
