"""How do solvers converge when bodies touch? One step of four scenes, two stiffnesses of the barrier, without and with friction.

A cube on a floor, a cloth on a ball, two cloths that cross, and a beam that lands on a table with an edge: each falls, with
Newton's method, until it touches, and from there the same step is solved by every solver, from the same first guess, on the same
objective. Loss is G - G* relative to what it was, G* from Newton converged in double precision. Written are two figures, of loss against
iterations and against seconds, and a table with a row for every solver and setting: iterations and milliseconds to a loss of 1e-2 and
1e-6, the smallest distance on the way in activation distances, and how often G grew.

python examples/solvers_in_contact.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os
import warnings

import matplotlib.pyplot as plt
import numpy as np

import pdgpu

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="coarser meshes, two solvers, one setting a scene")
arguments = parser.parse_args()
os.makedirs(arguments.out, exist_ok=True)
QUICK = arguments.quick
DT = 1 / 200

# name: solver, colour, line
SOLVERS = {
    "Newton": (pdgpu.Newton(iterations=100, tolerance=1e-9), "#000000", "-"),
    "Newton-CG": (pdgpu.Newton(iterations=100, tolerance=1e-9, linear=pdgpu.PCG()), "#000000", "--"),
    "quasi-Newton": (pdgpu.QuasiNewton(iterations=200, tolerance=1e-9), "#7a7a7a", "-"),
    "nonlinear CG": (pdgpu.NonlinearCG(iterations=400, tolerance=1e-9), "#7a7a7a", ":"),
    "PD, direct": (pdgpu.ProjectiveDynamics(iterations=200, tolerance=1e-9), "#08519c", "-"),
    "PD, Jacobi": (pdgpu.ProjectiveDynamics(iterations=400, tolerance=1e-9, linear=pdgpu.Jacobi()), "#4292c6", "--"),
    "PD, A-Jacobi": (pdgpu.ProjectiveDynamics(iterations=200, tolerance=1e-9, linear=pdgpu.AJacobi(order=2)), "#4292c6", "-."),
    "PD, PCG": (pdgpu.ProjectiveDynamics(iterations=200, tolerance=1e-9, linear=pdgpu.PCG(iterations=10)), "#4292c6", ":"),
    "ADMM": (pdgpu.ADMM(iterations=200, tolerance=1e-9), "#6a3d9a", "-"),
    "VBD": (pdgpu.VertexBlockDescent(iterations=200, tolerance=1e-9), "#d94801", "-"),
    "Block Jacobi": (pdgpu.BlockJacobi(iterations=400, tolerance=1e-9), "#fd8d3c", "--"),
    "gradient descent": (pdgpu.GradientDescent(iterations=400, tolerance=1e-9), "#238b45", ":"),
}
STIFFNESSES = (1e4, 1e6)  # Pa
FRICTIONS = (0.0, 0.4)
if QUICK:
    SOLVERS = {name: SOLVERS[name] for name in ("Newton", "VBD")}
    STIFFNESSES, FRICTIONS = STIFFNESSES[:1], FRICTIONS[1:]


def sheet(width, depth, cells):
    """A sheet in the plane y = 0."""
    flat = pdgpu.shapes.grid((width, depth), cells=cells)
    points = np.column_stack([flat.points[:, 0] - width / 2, np.zeros(len(flat.points)), flat.points[:, 1] - depth / 2])
    return pdgpu.Mesh(points, triangles=flat.triangles)


def cube_on_floor():
    scene = pdgpu.Scene()
    cells = 3 if QUICK else 8
    mesh = pdgpu.shapes.beam((0.1, 0.1, 0.1), cells=(cells,) * 3)
    points = mesh.points + [0.0, 0.002, 0.0]
    scene.add_solid(
        pdgpu.Mesh(points, tets=mesh.tets), pdgpu.ARAP.from_young(1e5, 0.3), density=1000.0, velocity=(0.5, -1.0, 0.0), name="cube"
    )
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    return scene, ("cube", "floor"), 3


def cloth_on_ball():
    scene = pdgpu.Scene()
    cells = 10 if QUICK else 40
    mesh = sheet(0.4, 0.4, (cells, cells))
    points = mesh.points + [0.0, 0.103, 0.0]
    cloth = pdgpu.Mesh(points, triangles=mesh.triangles)
    scene.add_shell(cloth, pdgpu.Spring(50.0), density=0.3, bending=1e-6, velocity=(0.3, -1.0, 0.0), name="cloth")
    scene.add_obstacle(pdgpu.shapes.sphere(0.1, 3), name="ball")
    return scene, ("cloth", "ball"), 8


def crossing_cloths():
    scene = pdgpu.Scene()
    cells = 8 if QUICK else 30
    lower = sheet(0.4, 0.4, (cells, cells))
    edge = np.abs(lower.points[:, [0, 2]]).max(axis=1) > 0.2 - 1e-9
    scene.add_shell(lower, pdgpu.Spring(50.0), density=0.3, bending=1e-6, name="held").pin(edge)
    flat = pdgpu.shapes.grid((0.3, 0.2), cells=(cells, cells))
    points = np.column_stack([flat.points[:, 0] - 0.15, flat.points[:, 1] + 0.002, 0.003 + 0.02 * flat.points[:, 0]])
    upright = pdgpu.Mesh(points, triangles=flat.triangles)
    scene.add_shell(upright, pdgpu.Spring(50.0), density=0.3, bending=1e-6, velocity=(0.3, -1.0, 0.0), name="upright")
    return scene, ("held", "upright"), 5


def thrown_beam():
    scene = pdgpu.Scene()
    cells = (4, 2, 2) if QUICK else (14, 5, 5)
    mesh = pdgpu.shapes.beam((0.28, 0.1, 0.1), cells=cells)
    cosine, sine = np.cos(0.4), np.sin(0.4)
    x, y, z = mesh.points.T
    points = np.column_stack([cosine * x - sine * y, sine * x + cosine * y + 0.002, z - 0.05])  # one edge comes first
    body = pdgpu.Mesh(points, tets=mesh.tets)
    scene.add_solid(body, pdgpu.ARAP.from_young(1e5, 0.3), density=1000.0, velocity=(0.5, -1.0, 0.0), name="beam")
    scene.add_obstacle(pdgpu.Box((1.0, 0.1, 1.0), (0.0, -0.05, 0.0)), name="table")
    return scene, ("beam", "table"), 4


SCENES = (cube_on_floor, cloth_on_ball, crossing_cloths, thrown_beam)
HEADER = ("scene", "stiffness Pa", "friction", "contacts", "solver", "status", "iterations", "ms an iteration", "iterations to 1e-2",
          "ms to 1e-2", "iterations to 1e-6", "ms to 1e-6", "last loss", "smallest distance", "times G grew")  # fmt: skip


def comparison_of(make, stiffness, friction):
    """The step that begins where the bodies touch."""
    scene, pair, steps = make()
    contact = pdgpu.BarrierContact(1e-3, stiffness=stiffness, friction={pair: friction})
    fall = pdgpu.Simulation(scene, pdgpu.Newton(iterations=100, tolerance=1e-3), dt=DT, contact=contact, threads=1)
    fall.step(steps)
    start = (fall.positions, fall.velocities)
    solvers = {name: solver for name, (solver, _, _) in SOLVERS.items()}
    return pdgpu.compare(make()[0], solvers, dt=DT, start=start, contact=contact, threads=1), contact


def reached(record, loss):
    """Iterations and milliseconds to a relative loss, or dashes."""
    below = np.flatnonzero(record["relative_loss"] <= loss)
    return (int(below[0]), f"{1e3 * record['seconds'][below[0]]:.2f}") if len(below) else ("-", "-")


def rows_of(label, result, contact):
    for name, record in result.records.items():
        growth = np.diff(record["incremental_potential"])
        grew = int((growth > 1e-9 * np.ptp(record["incremental_potential"])).sum())
        near = record["smallest_distance"].min() / contact.distance
        per_iteration = 1e3 * record.solve_seconds / max(record.iteration, 1)
        contacts = int(result.records["Newton"]["active_contacts"][-1])
        yield (*label, contacts, name, record.status, record.iteration, f"{per_iteration:.3f}", *reached(record, 1e-2),
               *reached(record, 1e-6), f"{record['relative_loss'][-1]:.1e}", f"{near:.2g}", grew)  # fmt: skip


def draw(results, abscissa, path):
    columns = len(STIFFNESSES) * len(FRICTIONS)
    figure, panels = plt.subplots(len(SCENES), columns, figsize=(1.5 + 3.3 * columns, 11.5), sharey=True, squeeze=False)
    for panel, ((make, stiffness, friction), result) in zip(panels.flat, results.items(), strict=True):
        for name, record in result.records.items():
            _, colour, line = SOLVERS[name]
            loss = np.maximum(record["relative_loss"], 1e-13)
            x = record["iteration"] if abscissa == "iterations" else record["seconds"]
            panel.loglog(x[1:], loss[1:], line, color=colour, linewidth=1.5, label=name)
        panel.set_ylim(1e-11, 3.0)
        panel.grid(True, which="major", color="0.9")
        panel.spines[["top", "right"]].set_visible(False)
        contacts = int(result.records["Newton"]["active_contacts"][-1])
        panel.set_title(f"{make.__name__.replace('_', ' ')}, {contacts} contacts\n{stiffness:.0e} Pa, friction {friction:g}", fontsize=9)
    for panel in panels[-1]:
        panel.set_xlabel("iterations" if abscissa == "iterations" else "seconds of the solver, one thread")
    for panel in panels[:, 0]:
        panel.set_ylabel("relative loss")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="center right", frameon=False, fontsize=10)
    figure.tight_layout(rect=(0.0, 0.0, 1.0 - 1.7 / figure.get_figwidth(), 1.0))
    figure.savefig(path, dpi=110)
    plt.close(figure)


results, rows = {}, []
for make in SCENES:
    for stiffness in STIFFNESSES:
        for friction in FRICTIONS:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)  # a comparison without its reference is none
                result, contact = comparison_of(make, stiffness, friction)
            results[make, stiffness, friction] = result
            rows += rows_of((make.__name__.replace("_", " "), f"{stiffness:.0e}", f"{friction:g}"), result, contact)
            print(f"{make.__name__.replace('_', ' ')}, {stiffness:.0e} Pa, friction {friction:g}")
            print(result.table(), flush=True)

with open(os.path.join(arguments.out, "solvers_in_contact.csv"), "w", newline="") as file:
    csv.writer(file).writerows([HEADER, *rows])
for abscissa, name in (("iterations", "solvers_in_contact.png"), ("seconds", "solvers_in_contact_seconds.png")):
    path = os.path.join(arguments.out, name)
    draw(results, abscissa, path)
    print("written:", path)
