"""Are the iterations of a step captured into graphs, and does a replay give bitwise the same positions as the loops?

A step is a few chunks of iterations. A chunk that occurs for the second time is captured into a graph, and from then on each chunk is one
launch. For each method that can be captured, on a small scene with every material:

- "captures": of all steps; "launches", "waits" and "allocations": of the last step, by the counters of the simulation.
- "refused": captures that failed, after which the iterations run as loops.
- "loops": the last step again, from the same state, in a simulation in which each chunk is new, so that nothing is replayed.
- "again": all steps again in another simulation.

In both, "same" means bitwise the same positions and velocities. Otherwise the largest difference of a number stands there, m or m/s.

After a failed capture the step falls back to the loops. So a chunk that is not replayed is an error here, like a refused capture and other
bits. The scene is as small with --tiny as without.

    python benchmarks/gpu_graphs.py [--out FILE.csv] [--tiny] [--device cuda] [--limit S]

On a CPU there are no graphs, and the bits alone are compared.
"""

import dataclasses
import functools
import sys
from pathlib import Path

import numpy as np
from device import options, write_cases

import pdgpu

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import scenes

STEPS = 4
ITERATIONS, CHECK_EVERY = 7, 4  # so the two chunks of a step differ, and the first step replays none
CHUNKS = -(-ITERATIONS // CHECK_EVERY)
# the methods that can be captured; with its default line search gradient descent cannot
SOLVERS = scenes.RESIDENT | {"gradient_descent": dataclasses.replace(scenes.GRADIENT_DESCENT, line_search=False)}
HEADER = ("solver", "dtype", "captures", "launches", "waits", "allocations", "refused", "loops", "again")


def simulation(solver, dtype, device, state=None):
    scene, x = scenes.mixed(damping=0.01)
    # the first guess then follows from positions and velocities alone
    changes = {"iterations": ITERATIONS, "check_every": CHECK_EVERY, "initialization": "inertial_target"}
    sim = pdgpu.Simulation(scene, dataclasses.replace(solver, **changes), dt=1 / 100, device=device, dtype=dtype)
    positions, velocities = (x, None) if state is None else state
    sim.set_state(positions=positions, velocities=velocities)
    return sim


def counted_step(sim):
    """What a step adds to the counters."""
    before = sim._core.backend.counts()
    sim.step()
    after = sim._core.backend.counts()
    return {name: after[name] - before.get(name, 0) for name in after}


def difference(first, second):
    """The word "same", or how far apart positions or velocities are."""
    pairs = [(first.positions, second.positions), (first.velocities, second.velocities)]
    if all(np.array_equal(a, b) for a, b in pairs):
        return "same"
    return f"{max(float(np.abs(a - b).max()) for a, b in pairs):.1e}"


def measure(name, dtype, device):
    """One row, and a RuntimeError that says what is wrong with it."""
    solver = SOLVERS[name]
    graphs, again = (simulation(solver, dtype, device) for _ in range(2))
    steps = []
    for _ in range(STEPS):
        state = graphs.positions, graphs.velocities
        steps.append(counted_step(graphs))
    again.step(STEPS)
    loops = simulation(solver, dtype, device, state)
    loops_launches = counted_step(loops).get("launches", 0)
    captures, refused = (sum(step.get(what, 0) for step in steps) for what in ("captures", "refused"))
    last, apart = steps[-1], (difference(graphs, loops), difference(graphs, again))
    yield name, dtype, captures, *(last.get(what, 0) for what in ("launches", "waits", "allocations")), refused, *apart

    wrong = []
    if not np.isfinite(graphs.positions).all():
        wrong.append("positions are not finite")
    if refused:
        wrong.append(f"{refused} captures were refused")
    if device != "cpu" and (not captures or last["launches"] != CHUNKS):
        wrong.append(f"{captures} captures, and {last['launches']} of {CHUNKS} chunks of the last step are launches of graphs")
    if loops_launches:
        wrong.append(f"the loops launched {loops_launches} graphs")
    wrong += [
        f"{what} comes to other bits" for what, found in zip(("a step of loops", "a second run"), apart, strict=True) if found != "same"
    ]
    if wrong:
        raise RuntimeError("; ".join(wrong))


def main():
    chosen = options(__doc__)
    cases = [
        ((name, dtype), functools.partial(measure, name, dtype, chosen.device)) for dtype in ("float32", "float64") for name in SOLVERS
    ]
    notes = [f"{STEPS} steps of {ITERATIONS} iterations in {CHUNKS} chunks"]
    write_cases(chosen, HEADER, cases, [*chosen.names, *notes])


if __name__ == "__main__":
    main()
