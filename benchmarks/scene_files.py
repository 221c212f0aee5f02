"""Which scenes of other programs can be read, and how do they run?

Reads every script of IPC (.txt) or file of polyfem (.json) in a folder. The outcome is runs, runs with a substitute, or refused, with a
reason. With --steps, scenes up to a size take some steps by Newton's method. The columns of these runs:

iterations    of all steps
clean_on      the part that `certify` verified: the whole path, or with moving obstacles the ends of steps without a target lag
smallest_gap  m
smallest_J    the smallest volume ratio of a tet at the ends of steps
behind        the largest target lag of an obstacle or a pin, m

    python benchmarks/scene_files.py FOLDER [--kind txt|json] [--out FILE.csv] [--steps 0] [--largest 1000] [--only TEXT ...]
"""

import argparse
import collections
import os
import warnings
from pathlib import Path

import numpy as np
from machine import write_table

import pdgpu

HEADER = (
    "file",
    "outcome",
    "reason",
    "vertices",
    "tets",
    "obstacles",
    "steps",
    "iterations",
    "clean_on",
    "smallest_gap",
    "smallest_J",
    "behind",
)
# a part of a message, and the reason that the counts have for it
REASONS = (
    ("there is no file", "a mesh that the folder lacks"),
    ("two-dimensional", "two dimensions"),
    ("of order", "elements of higher order"),
    ("hexahedron", "hexahedra"),
    ("refinements", "refined meshes"),
    ("collision mesh", "a collision mesh"),
    ("the material", "the material"),
    ("time integrator", "the time integrator"),
    ("some coordinates", "motion of single coordinates"),
    ("a vertex needs three coordinates", "vertices of two coordinates"),
    ("no mesh deforms", "no scene, a file for others to include"),
    ("is replaced by BarrierContact", "a barrier for QP or SQP"),
    ("friction", "10 passes of friction"),
    ("stiffness", "stiffness 'auto' of the barrier"),
    ("distance of the barrier", "the last distance of the barrier"),
    ("frees the right end", "the end stays held"),
    ("time range needs", "forces by a callback"),
)


def short(text):
    """The reason in the counts for a message."""
    return next((name for part, name in REASONS if part in text), text[:80])


def smallest_ratio(scene, positions):
    """The smallest J = det F of the tets of all solids."""
    smallest = np.inf
    for body in scene.bodies:
        if len(body.mesh.tets):
            edges = (
                np.diff(x[body.mesh.tets][:, [0, 1, 0, 2, 0, 3]].reshape(-1, 3, 2, 3), axis=2)[:, :, 0]
                for x in (positions[body.slice], body.points)
            )
            now, rest = map(np.linalg.det, edges)
            smallest = min(smallest, float((now / rest).min()))
    return smallest


def run(loaded, steps):
    """Steps, iterations, verdict, gap, volume ratio and target lag of a run."""
    sim, scene = loaded.simulation(threads=1), loaded.scene
    moving = any(obstacle.collider.motion is not None for obstacle in scene.obstacles)
    iterations, ratio, behind, gap, clean, late = 0, np.inf, 0.0, np.inf, True, 0
    taken = min(steps, loaded.steps)
    for _ in range(taken):
        loaded.apply_forces(sim)
        before = sim.positions.copy()
        record = sim.step(record="positions")
        iterations += record.iteration
        behind = max(behind, record.behind)
        ratio = min(ratio, smallest_ratio(scene, sim.positions))
        if not moving:
            verdict = pdgpu.certify([before, *record.positions], scene, threads=1)
        elif record.behind == 0.0:
            verdict = pdgpu.certify([sim.positions], scene, times=[sim.time], threads=1)
        else:  # obstacles are not where their motions say, so that the distance is that of the step
            late, gap = late + 1, min(gap, float(record["smallest_distance"][-1]))
            continue
        clean, gap = clean and bool(verdict), min(gap, verdict.smallest_gap)
    verified = (f"{taken - late} ends" if moving else "path") if clean else "intersects"
    return taken, iterations, verified, f"{gap:.4g}", f"{ratio:.4g}", f"{behind:.3g}"


def row(path, folder, steps, largest):
    """The cells of a file."""
    name, blank = os.path.relpath(path, folder), ("",) * 6
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = pdgpu.read_scene(path)
    except pdgpu.SceneFileError as error:
        return (name, "refused", short(error.text), "", "", "", *blank)
    replaced = [short(note.text) for note in loaded.notes if note.status == "replaced"]
    scene, outcome, reason = loaded.scene, "runs with a substitute" if replaced else "runs", "; ".join(dict.fromkeys(replaced))
    size = (scene.n_vertices, sum(len(body.mesh.tets) for body in scene.bodies), len(scene.obstacles))
    if not steps or scene.n_vertices > largest:
        return (name, outcome, reason, *size, *blank)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return (name, outcome, reason, *size, *run(loaded, steps))
    except (TypeError, ValueError, RuntimeError) as error:
        return (name, "refused at the start", str(error)[:160].replace("\n", " "), *size, *blank)


def main():
    """Read the files of a folder, print and write the table, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kind", default="txt", choices=("txt", "json"))
    parser.add_argument("--out")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--largest", type=int, default=1000, help="vertices of scenes that --steps runs")
    parser.add_argument("--only", nargs="+", default=("",), help="parts of paths")
    options = parser.parse_args()
    paths = sorted(path for path in options.folder.rglob(f"*.{options.kind}") if any(part in str(path) for part in options.only))
    rows = []

    def all_rows():
        for path in paths:
            rows.append(row(path, options.folder, options.steps, options.largest))
            yield rows[-1]

    write_table(options.out, HEADER, all_rows())
    print(f"\n{len(rows)} files")
    for (outcome, reason), count in sorted(collections.Counter(cells[1:3] for cells in rows).items()):
        print(f"{count:4d}  {outcome}{': ' if reason else ''}{reason}")


if __name__ == "__main__":
    main()
