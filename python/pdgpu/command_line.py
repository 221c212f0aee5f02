"""The command line: compare solvers on a mesh, simulate a mesh, describe the installation."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.resources
import os
import signal
import sys

import numpy as np

import pdgpu
from pdgpu._internal.atomic_files import replacing
from pdgpu._internal.backends import (
    PRECISIONS,
    device_or_default,
    dtype_or_default,
    thread_count,
)
from pdgpu._internal.counted import counted
from pdgpu._internal.installation import described_installation
from pdgpu.linear.linear_solvers import PCG, Chebyshev, Direct, Jacobi
from pdgpu.solvers.solvers import (
    ADMM,
    PBD,
    XPBD,
    BlockJacobi,
    GradientDescent,
    Newton,
    NonlinearCG,
    ProjectiveDynamics,
    QuasiNewton,
    VertexBlockDescent,
)
from pdgpu.viz.plotting import prepare_pictures, save_convergence, save_states

# The solvers of `compare`, by name, in the order of the legend. The number of iterations shows the shape of each curve. rho is useful and
# convergent on organic tet meshes of 1e5 to 1e6 Pa at h = 1/30; it is not tuned to the given mesh. A gradient of TOLERANCE times the first
# one is a loss close to the rounding of G, below which a curve is noise.
TOLERANCE, CHECK_EVERY = 1e-9, 10
ROWS_PER_DECADE = 40
SOLVERS = {
    "pd": ("PD direct", ProjectiveDynamics(iterations=200, linear=Direct())),
    "pd-chebyshev": ("PD direct + Chebyshev", ProjectiveDynamics(iterations=200, linear=Direct(), chebyshev=Chebyshev(rho=0.95))),
    "pd-jacobi": ("PD damped Jacobi", ProjectiveDynamics(iterations=1000, linear=Jacobi())),
    "vbd": ("VBD", VertexBlockDescent(iterations=500)),
    "vbd-chebyshev": ("VBD + Chebyshev", VertexBlockDescent(iterations=500, chebyshev=Chebyshev(rho=0.95))),
    "block-jacobi": ("Block Jacobi", BlockJacobi(iterations=1000)),
    "gradient-descent": ("Gradient descent + Chebyshev", GradientDescent(iterations=1000, chebyshev=Chebyshev(rho=0.95))),
    "newton": ("Newton", Newton(iterations=15)),
    "newton-cg": ("Newton, inner CG", Newton(iterations=15, linear=PCG())),
    "quasi-newton": ("Quasi-Newton", QuasiNewton(iterations=60)),
    "cg": ("Nonlinear CG", NonlinearCG(iterations=400)),
    "admm": ("ADMM", ADMM(iterations=200)),
    "xpbd": ("XPBD", XPBD(iterations=200)),
    "pbd": ("PBD", PBD(iterations=200, relaxation=0.045)),
}

# one of each family: --all runs the others too
EIGHT = ("pd", "pd-chebyshev", "vbd", "vbd-chebyshev", "newton", "quasi-newton", "cg", "xpbd")


def default_mesh():
    """The mesh of the package."""
    return str(importlib.resources.files("pdgpu") / "data" / "creature.vtu")


def _positive(text):
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not (value > 0.0 and np.isfinite(value)):
        raise argparse.ArgumentTypeError(f"expected a number greater than 0, got {text!r}")
    return value


def _whole(text, minimum):
    try:
        value = int(text)
    except ValueError:
        value = minimum - 1
    if value < minimum:
        raise argparse.ArgumentTypeError(f"expected a whole number, at least {minimum}, got {text!r}")
    return value


def _count(text):
    return _whole(text, 1)


def _threads(text):
    return _whole(text, 0)


class _Parser(argparse.ArgumentParser):
    """A parser with errors in one line, as those of the commands; subcommands inherit it."""

    def error(self, message):
        self.exit(2, f"pdgpu: error: {message}; see {self.prog} --help\n")


def _parser():
    parser = _Parser(prog="pdgpu", description="Projective Dynamics and its rivals, compared on equal terms.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {pdgpu.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    def body(command):
        command.add_argument(
            "mesh", nargs="?", help="any file pdgpu.read_mesh reads, with tets or triangles; by default the one that ships with pdgpu"
        )
        command.add_argument("--dt", type=_positive, default=1 / 30, help="time step, s (1/30)")
        command.add_argument("--young", type=_positive, default=3e5, help="Young's modulus, Pa; shells: N/m (3e5)")
        command.add_argument("--density", type=_positive, help="kg/m^3 (1000); shells: kg/m^2 (0.2, a cloth)")
        command.add_argument("--device", help="cpu, cuda, or one of several GPUs such as cuda:1 (PDGPU_DEVICE, else cpu)")
        command.add_argument("--dtype", choices=PRECISIONS, help="(PDGPU_DTYPE, else float64)")
        command.add_argument("--threads", type=_threads, default=0, help="0: all cores")
        command.add_argument("--out", default="out", metavar="DIR", help="folder for what is written (out)")

    compare = commands.add_parser("compare", help="solve one step from a stretched pose with every solver; plot, CSV, table, picture")
    body(compare)
    which = compare.add_mutually_exclusive_group()
    which.add_argument(
        "--solvers", nargs="+", choices=SOLVERS, default=EIGHT, metavar="NAME", help=f"of {', '.join(SOLVERS)} ({' '.join(EIGHT)})"
    )
    which.add_argument("--all", dest="solvers", action="store_const", const=tuple(SOLVERS), help="all solvers")
    compare.add_argument("--stretch", type=_positive, default=1.5, help="how far the pose is stretched (1.5)")
    simulate = commands.add_parser(
        "simulate", help="let the stretched body go under gravity; a sequence of .vtu files with a .pvd for ParaView"
    )
    body(simulate)
    simulate.add_argument("--steps", type=_count, default=60, help="time steps (60)")
    simulate.add_argument("--iterations", type=_count, default=20, help="iterations of Projective Dynamics per step (20)")
    simulate.add_argument("--stretch", type=_positive, default=1.2, help="how far the start is stretched (1.2)")
    commands.add_parser("info", help="commit, licence, system, versions, modules, devices, BLAS, threads")
    return parser


def main(arguments=None):
    """Run a command; returns the exit code. An error of the input is one line on standard error, with exit code 2."""
    options = _parser().parse_args(arguments)
    if sys.stdout is None:
        print("pdgpu: error: standard output is closed, and the results are printed there", file=sys.stderr)
        return 2
    try:
        {"compare": _compare, "simulate": _simulate, "info": _info}[options.command](options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has closed it; the flush at the end of the process must not fail too
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        print("pdgpu: interrupted", file=sys.stderr)
        return 130
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        print(f"pdgpu: error: {error}", file=sys.stderr)
        _drop_unwritten()
        return 2
    return 0


def _drop_unwritten():
    """Redirect standard output if it accepts no more data, as on a full disk, so that the flush at the end of the process does not fail
    too.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _writable_folder(path):
    """Make the folder of the results, before any computation."""
    os.makedirs(path, exist_ok=True)
    if not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(f"--out: cannot write into {path!r}")


# ---- the scene of both commands ----------------------------------------------------------------------------------------------


def stretched_scene(mesh, young, density, stretch, gravity=(0.0, 0.0, 0.0)):
    """A scene with one body pinned at its low end, and the pose stretched away from it.

    Tets become an ARAP solid with Poisson's ratio 0.3, triangles a shell of ARAP triangles. The vertices in the lowest 5 % of the height
    (y) are pinned; flat meshes are pinned along their longest axis instead.

    Returns
    -------
    (scene, body, positions (n, 3))
    """
    scene = pdgpu.Scene(gravity=gravity)
    material = pdgpu.ARAP.from_young(young, 0.3)
    if len(mesh.tets):
        mesh = pdgpu.Mesh(mesh.points, tets=mesh.tets).without_unused_vertices()
        body = scene.add_solid(mesh, material, density=1000.0 if density is None else density)
    elif len(mesh.triangles):
        mesh = pdgpu.Mesh(mesh.points, triangles=mesh.triangles).without_unused_vertices()
        body = scene.add_shell(mesh, material, density=0.2 if density is None else density)
    else:
        raise ValueError(f"mesh: {mesh!r} has neither tets nor triangles")
    points = mesh.points
    size = np.ptp(points, axis=0)
    axis = 1 if size[1] >= 0.2 * size.max() else int(np.argmax(size))
    held = points[:, axis] <= points[:, axis].min() + 0.05 * size[axis]
    body.pin(held)
    level = points[held, axis].max()
    positions = points.copy()
    positions[~held, axis] = level + stretch * (points[~held, axis] - level)
    return scene, body, positions


def _read(path):
    mesh = pdgpu.read_mesh(path or default_mesh())
    clean = mesh.without_unused_vertices()
    if n := len(mesh.points) - len(clean.points):
        print(f"{counted(n, 'vertex', 'vertices')} of no element left out")
    print(f"{path or 'the mesh that ships with pdgpu'}: {clean!r}")
    return clean


def _compare(options):
    prepare_pictures()
    _writable_folder(options.out)
    mesh = _read(options.mesh)
    scene, body, positions = stretched_scene(mesh, options.young, options.density, options.stretch)
    chosen = [SOLVERS[key] for key in SOLVERS if key in options.solvers]
    solvers = {title: dataclasses.replace(solver, tolerance=TOLERANCE, check_every=CHECK_EVERY) for title, solver in chosen}
    device, dtype, threads = device_or_default(options.device), dtype_or_default(options.dtype), thread_count(options.threads)
    print(
        f"one step of {options.dt:.4g} s from a pose stretched by {options.stretch:g}, E = {options.young:g}, "
        f"{device}, {dtype}, {counted(threads, 'thread')}"
    )
    comparison = pdgpu.compare(
        scene,
        solvers,
        dt=options.dt,
        start=(positions, None),
        device=device,
        dtype=dtype,
        threads=options.threads,
        rows_per_decade=ROWS_PER_DECADE,
        progress=True,
    )
    print()
    print(comparison.table())
    if all(record.status == "diverged" for record in comparison.records.values()):
        raise RuntimeError("every solver diverged; try a smaller --dt or --stretch")
    paths = [os.path.join(options.out, name) for name in ("convergence.csv", "convergence.png", "scene.png")]
    comparison.to_csv(paths[0])
    save_convergence(comparison, paths[1])
    states = {"at rest": body.points, "before the step": comparison.start_positions, "after the step": comparison.reference}
    save_states(states, body.mesh.surface, paths[2])
    print("\nwritten: " + ", ".join(paths))


def _simulate(options):
    from tqdm.auto import tqdm

    _writable_folder(options.out)
    mesh = _read(options.mesh)
    scene, body, positions = stretched_scene(mesh, options.young, options.density, options.stretch, gravity=(0.0, -9.81, 0.0))
    solver = ProjectiveDynamics(iterations=options.iterations)
    simulation = pdgpu.Simulation(scene, solver, dt=options.dt, device=options.device, dtype=options.dtype, threads=options.threads)
    simulation.set_state(positions=positions)
    frames = []
    for k in tqdm(range(options.steps + 1), unit="frame"):
        if k:
            simulation.step()
        name = f"frame_{k:05d}.vtu"
        frame = pdgpu.Mesh(simulation.positions, triangles=body.mesh.surface)
        frame.write(os.path.join(options.out, name))
        frames.append((simulation.time, name))
    path = os.path.join(options.out, "animation.pvd")
    with replacing(path) as unfinished, open(unfinished, "w") as file:
        file.write('<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1">\n<Collection>\n')
        file.writelines(f'<DataSet timestep="{time:.9g}" file="{name}"/>\n' for time, name in frames)
        file.write("</Collection>\n</VTKFile>\n")
    print(f"written: {path} and {counted(len(frames), 'frame')}; t = {simulation.time:.4g} s")


def _info(options):
    for line in described_installation(pdgpu.__version__, os.path.dirname(pdgpu.__file__)):
        print(line)
