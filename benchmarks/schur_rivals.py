"""How do a Schur complement and its rivals converge where contact is found again in every iteration?

A bar of jittered tets, held at one end, sags onto a capsule (quasistatic, springs of PenaltyContact, pairs detected in every iteration of
Projective Dynamics); every row is one step from rest, and its error that of the positions against those of Newton, root of the
mean square over that at the start. Rows:

    all again             Direct: the whole matrix is factorised with the Hessian of the pairs of the moment
    Schur 1, 3, 5, 20    SchurDirect: a dense factor with their bound on the diagonal, and so many inner solves
    two factors 1, 3     SchurDirect(active=...): nothing is factorised; the second matrix has all of the region active
                         [Komaritzan and Botsch 2018]
    PCG 20, Chebyshev-Jacobi 20, A-Jacobi 10 x 2    iterations of the global step

and iterations and seconds (of the solver alone, one thread, the least of ROUNDS runs in turn) to errors of .5, .2 and .1.

With --answers nothing is timed: every rival runs in the six scenes of tests/proxy_scenes.py, three of obstacles and three of bodies, until
1e-10 of the force is left, and "away" is how far it ends from the first, of what the farthest vertex moves by.

    python benchmarks/schur_rivals.py [--tiny | --answers] [--out FILE.csv] [--picture FILE.png]
"""

import argparse
import os
import sys
from pathlib import Path

import numpy as np
from machine import write_table

import pdgpu

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from proxy_scenes import BODIES, OBSTACLES, answers, rivals

ROUNDS = 2
TARGETS = (0.5, 0.2, 0.1)
HEADER = ("solver", "tets", "m", "iterations", *(f"{what} to {target:g}" for target in TARGETS for what in ("iterations", "s")))
HEADER += ("ms an iteration", "error at the end", "pairs at the end")
STIFFNESS, ACTIVE = 2e4, 1.2e5  # N/m of a pair, and what the second of two matrices has at every vertex of the region


def bar(cells):
    """Scene and mesh; the capsule below touches it where it is at rest."""
    size = 0.1 * np.array(cells) / cells[1]
    mesh = pdgpu.shapes.beam(tuple(size), cells=cells)
    inner = ((mesh.points > 1e-9) & (mesh.points < size - 1e-9)).all(axis=1)
    moves = 0.02 / cells[1] * np.random.default_rng(0).uniform(-1.0, 1.0, mesh.points.shape)
    mesh = pdgpu.Mesh(mesh.points + moves * inner[:, None], tets=mesh.tets)
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP(mu=1e6), density=1000.0).pin(lambda points: points[:, 0] < 1e-9)
    x = 0.6 * size[0]
    scene.add_obstacle(pdgpu.Capsule((x, -0.03, -0.1), (x, -0.03, 0.2), 0.03), name="capsule")
    return scene, mesh, np.flatnonzero((mesh.points[:, 1] < 0.03) & (np.abs(mesh.points[:, 0] - x) < 0.12 * size[0]))


def solvers(prone, iterations):
    linear = rivals(prone, ACTIVE, two_factors=(1, 3))
    return {name: pdgpu.ProjectiveDynamics(iterations=iterations, linear=each, initialization="previous") for name, each in linear.items()}


def stepped(scene, solver):
    """The record of one step from rest."""
    contact = pdgpu.PenaltyContact(stiffness=STIFFNESS, distance=2e-3, detection_interval=1)
    simulation = pdgpu.Simulation(scene, solver, dt=None, contact=contact, threads=1)
    simulation.step(record="positions")
    return simulation.last_step


def converged(scene, mesh):
    """Newton's positions; its pairs are found once a step, so steps go on until they stay."""
    contact = pdgpu.PenaltyContact(stiffness=STIFFNESS, distance=2e-3, detection_interval=1)
    simulation = pdgpu.Simulation(scene, pdgpu.Newton(iterations=100), dt=None, contact=contact)
    for _ in range(10):
        before = simulation.positions
        simulation.step()
        if np.abs(simulation.positions - before).max() < 1e-10:
            break
    return simulation.positions


def runs(cells, iterations):
    """(tets, m, name -> (record, errors, seconds of every iteration))."""
    scene, mesh, prone = bar(cells)
    answer = converged(scene, mesh)
    found = {}
    for _ in range(ROUNDS):
        for name, solver in solvers(prone, iterations).items():
            record = stepped(scene, solver)
            errors = np.linalg.norm(record.positions - answer, axis=(1, 2)) / np.linalg.norm(mesh.points - answer)
            if name not in found or record["seconds"][-1] < found[name][2][-1]:
                found[name] = record, errors, record["seconds"]
    return len(mesh.tets), len(prone), found


def rows(tets, m, found):
    for name, (record, errors, seconds) in found.items():
        reached = [np.flatnonzero(errors <= target) for target in TARGETS]
        counts = [(int(hit[0]), f"{seconds[hit[0]]:.3g}") if len(hit) else ("", "") for hit in reached]
        count = len(errors) - 1
        cells = (name, tets, m, count, *(value for pair in counts for value in pair))
        yield *cells, f"{1e3 * seconds[-1] / count:.3g}", f"{errors[-1]:.2g}", int(record["active_contacts"][-1])


ANSWERS = ("scene", "vertices", "solver", "iterations", "force left", "m", "away", "proxies at the end")


def ends():
    """Where the rivals come to, a row each."""
    for scene, make in (OBSTACLES | BODIES).items():
        made, answer = make(), None
        for name, simulation in answers(made):
            force, x = simulation.last_step["gradient_norm"], simulation.positions
            answer = x if answer is None else answer
            moved = np.abs(answer - made[4]).max()
            numbers = f"{force[-1] / force[0]:.1e}", f"{moved:.3g}", f"{np.abs(x - answer).max() / moved:.1e}"
            yield scene, len(x), name, len(force) - 1, *numbers, int(simulation.proxies().active.sum())


def draw(path, found):
    """Errors over iterations and over seconds."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(12.0, 4.6), sharey=True, layout="constrained")
    colours = dict(zip(found, plt.get_cmap("tab10").colors, strict=False))
    for name, (_, errors, seconds) in found.items():
        style = "--" if name.startswith("two") else ":" if name[:2] in ("PC", "Ch", "A-") else "-"
        panels[0].semilogy(np.arange(len(errors)), errors, style, color=colours[name], label=name)
        panels[1].loglog(seconds[1:], errors[1:], style, color=colours[name])
    panels[0].set_xlabel("iterations")
    panels[0].set_ylabel("error of the positions, of that at the start")
    panels[1].set_xlabel("seconds, one thread")
    panels[0].legend(frameon=False, fontsize=9, ncols=2)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out")
    parser.add_argument("--picture")
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    parser.add_argument("--answers", action="store_true", help="whether all end at one place")
    options = parser.parse_args()
    if options.answers:
        write_table(options.out, ANSWERS, ends(), ["all until 1e-10 of the force is left, m: the way of the farthest vertex"])
        return
    notes = ["tiny"] if options.tiny else [f"least of {ROUNDS} runs in turn; load of the machine before: {os.getloadavg()[0]:.1f}"]
    tets, m, found = runs((12, 4, 4), 10) if options.tiny else runs((36, 12, 12), 100)
    write_table(options.out, HEADER, rows(tets, m, found), notes)
    if options.picture:
        draw(options.picture, found)


if __name__ == "__main__":
    main()
