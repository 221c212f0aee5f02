"""Every solver, linear solver, broad phase, proximity and contact law once on a device, on scenes so small that
compute-sanitizer needs minutes.

    compute-sanitizer --tool memcheck python tests/sanitizer_case.py [float32 float64] [--part NAME ...] [--list]

The scene has every material, pins, attachments, damping and a world box; the sizes are no multiples of a block or a warp. The result
is only looked at for being finite: the tests compare it.

Each case prints one line with its outcome. A case that fails ends no other, unless the device's context is lost. The exit status is 1 if a
case failed, and 3 if the context was lost.
"""

import argparse
import faulthandler
import sys
import traceback
import warnings
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import scenes
from contact_pairs import evaluate, random_pairs
from module_calls import backend_calls
from proximity_oracle import make

import pdgpu
from pdgpu._internal.backends import backend
from pdgpu.collision.collision import METHODS, BroadPhase

STEPS, ITERATIONS = 2, 4
PRECISIONS = ("float32", "float64")
CONTEXT_LOST = "the device's context is lost"  # of csrc/cuda/device.cu: every later call of the process fails too
FRAMES = 3  # innermost calls of a traceback that are printed


def hyperelastic_scene():
    """Materials that Projective Dynamics does not take, in a world box."""
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.beam((0.6, 0.2, 0.2), cells=(4, 1, 1))
    for k, material in enumerate((pdgpu.NeoHookean(2e4, 5e4), pdgpu.StVK(2e4, 5e4), pdgpu.Corotated(2e4, 5e4))):
        moved = pdgpu.Mesh(mesh.points + [0.0, 0.0, 0.5 * k], tets=mesh.tets)
        damping = 1e-3 if k == 1 else 0.0
        scene.add_solid(moved, material, density=900.0, damping=damping).pin([0, 1])
    rest = scene.rest_positions()
    return scene, rest + 0.01 * np.random.default_rng(0).normal(size=rest.shape)


def oriented_scene():
    """Materials whose tets must not invert, thrown so hard that steps are limited."""
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.beam((0.6, 0.2, 0.2), cells=(4, 1, 1))
    for k, material in enumerate((pdgpu.LogNeoHookean(2e4, 5e4), pdgpu.FixedCorotated(2e4, 5e4))):
        moved = pdgpu.Mesh(mesh.points + [0.0, 0.0, 0.5 * k], tets=mesh.tets)
        velocity = -60.0 * (moved.points - moved.points.mean(axis=0))
        scene.add_solid(moved, material, density=900.0, velocity=velocity, damping=1e-3 * k).pin([0, 1])
    return scene, scene.rest_positions()


def resting_scene(embedded):
    """A solid, one in whose cage a ball is embedded, and a cloth, on a floor and on each other, of materials of Projective Dynamics."""
    scene, cage, ball = pdgpu.Scene(), pdgpu.shapes.beam((0.18,) * 3, cells=(1, 1, 1)), pdgpu.shapes.sphere(0.1, 1)
    middle = np.array([0.03, 0.32, 0.01])
    scene.add_solid(pdgpu.Mesh(cage.points + [-0.09, 0.02, -0.09], tets=cage.tets), pdgpu.ARAP(1e4), density=300.0)
    body = scene.add_solid(pdgpu.Mesh(cage.points - 0.09 + middle, tets=cage.tets), pdgpu.ARAP(1e4), density=300.0)
    body.embed(pdgpu.Mesh(ball.points + middle, triangles=ball.triangles), collides=embedded, extrapolate=True)
    grid = pdgpu.shapes.grid((0.3, 0.3), cells=(3, 3))
    cloth = pdgpu.Mesh(grid.points[:, [0, 2, 1]] + [-0.15, 0.44, -0.15], triangles=grid.triangles)
    scene.add_shell(cloth, pdgpu.Spring(100.0), density=0.5, bending=1e-3)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    return scene


def run(scene, positions, solver, device, dtype, contact=None):
    if device not in solver.devices:
        return f"does not run on {device}"
    simulation = pdgpu.Simulation(scene, solver, dt=1 / 200, contact=contact, device=device, dtype=dtype)
    simulation.set_state(positions=positions)
    simulation.step(STEPS, record=True)
    simulation.energies()
    if not np.isfinite(simulation.positions).all() or not np.isfinite(simulation.gradient()).all():
        raise AssertionError("positions or gradient are not finite")


# ---- parts: each yields the name of a case and the function that runs it, which may return a remark --------------------------------------


def solve(A, b, solver, device, dtype):
    try:
        system = pdgpu.linear.System(A, solver, columns=3, dtype=dtype, device=device)
    except TypeError as error:
        return f"does not run on {device} ({error})"
    if not np.isfinite(system.solve(b).x).all():
        raise AssertionError("the solution is not finite")


def linear_solvers(device, dtype):
    """On the system matrix of the scene; those that `pdgpu.linear` has on the GPU."""
    scene, _ = scenes.mixed()
    A = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(weight=0.5)), dt=1 / 200).system_matrix(free=True)
    b = np.random.default_rng(0).normal(size=(A.shape[0], 3))
    for name, solver in scenes.LINEAR_SOLVERS.items():
        yield f"linear: {name}", partial(solve, A, b, solver, device, dtype)


def search(method, device, dtype):
    points = np.random.default_rng(0).random((90, 3))
    phase = BroadPhase(points, np.arange(90).reshape(-1, 3), method=method, dtype=dtype, device=device)
    sizes = [[len(part) for part in phase.pairs(points, points + 0.01, distance=distance)] for distance in (0.1, 0.2, 3.0)]
    if sizes[-1] != [90 * 29, 90 * 87 // 2]:
        raise AssertionError(f"finds {sizes[-1]} pairs")


def broad_phases(device, dtype):
    """Built, refitted and searched with too little room at first."""
    for method in METHODS:
        yield f"broad phase: {method}", partial(search, method, device, dtype)


def near_pairs(device, dtype):
    rows, weights = np.tile(np.array([0, 1, 2, -1], np.int32), (8, 1)), np.full((8, 4), 0.25, dtype)
    _, core, x, _ = make(2, dtype=dtype, device=device, n_vertices=12, rows=rows, weights=weights)
    sizes = [len(core.find(x[:12], x[8:], distance, unique)["kind"]) for distance, unique in ((0.1, True), (2.0, False), (2.0, True))]
    start, roles = core.incidence()
    kept = core.update(x[:12], x[8:], 0.5, 1.0)[1] is None
    if not sizes[0] < sizes[2] < sizes[1] or start[-1] != len(roles) or not kept:
        raise AssertionError(f"{sizes} pairs are near, {len(roles)} roles, kept: {kept}")


def proximity(device, dtype):
    """Lists that are too short at first, points that follow others, colliders, incidence, and a list that is kept."""
    yield "proximity", partial(near_pairs, device, dtype)


def quantity_of_pairs(quantity, kind, device, dtype):
    x = random_pairs(backend("cpu", "float64"), kind, 70, 0).astype(dtype)
    if not np.isfinite(evaluate(backend(device, dtype), quantity, kind, x, threshold=1e-3)).all():
        raise AssertionError("is not finite")


def contacts(device, dtype):
    """Every quantity of every kind of pair."""
    for kind, name in enumerate(pdgpu.contact.contact_surface.KINDS):
        for quantity in pdgpu.contact.contact_pairs.QUANTITIES:
            yield f"contact: {name}, {quantity}", partial(quantity_of_pairs, quantity, kind, device, dtype)


def quantity_of_elements(quantity, device, dtype):
    module = backend(device, dtype)
    kind, _, *numbers = backend_calls(module)["element_batch"]
    if not np.isfinite(module.element_batch(kind, quantity, *numbers)).all():
        raise AssertionError("is not finite")


def elements(device, dtype):
    """Every quantity of a batch of elements: energy, gradient, Hessian and projected, projection, stress, blocks."""
    for quantity in range(7):
        yield f"elements: quantity {quantity}", partial(quantity_of_elements, quantity, device, dtype)


def solvers(device, dtype):
    """Every solver, with and without materials that Projective Dynamics takes."""
    for name, solver in scenes.SOLVERS.items():
        scene, positions = scenes.mixed(damping=0.01)
        yield name, partial(run, scene, positions, scenes.shortened(solver, ITERATIONS), device, dtype)
        if "NeoHookean" in solver.materials:
            yield f"{name}, hyperelastic", partial(run, *hyperelastic_scene(), scenes.shortened(solver, ITERATIONS), device, dtype)
        if "LogNeoHookean" in solver.materials:
            yield f"{name}, oriented", partial(run, *oriented_scene(), scenes.shortened(solver, ITERATIONS), device, dtype)


def global_steps(device, dtype):
    """Projective Dynamics with every linear solver."""
    for name, linear in scenes.GLOBAL_STEPS.items():
        solver = pdgpu.ProjectiveDynamics(iterations=2, linear=linear)
        yield f"projective dynamics, {name}", partial(run, *scenes.mixed(), solver, device, dtype)


def barriers(device, dtype):
    """With direct and iterative solvers, and in sweeps."""
    for guard, linear in zip(pdgpu.contact.barrier_contact.LIMITERS, (pdgpu.Direct(), pdgpu.PCG()), strict=True):
        solver, contact = pdgpu.Newton(iterations=2, linear=linear), pdgpu.BarrierContact(0.03, guard=guard, friction=0.3)
        yield f"contact: {guard}, {type(linear).__name__}", partial(run, scenes.heap(), None, solver, device, dtype, contact)
    for name in ("vbd", "vbd_search"):
        solver, contact = scenes.shortened(scenes.SOLVERS[name], 2), pdgpu.BarrierContact(0.03, friction=0.3)
        yield f"contact: descent, {name}", partial(run, scenes.heap(), None, solver, device, dtype, contact)


def rigid_bodies(device, dtype):
    """Joined, and in contact."""
    for name in ("newton", "vbd"):
        yield f"rigid bodies: {name}", partial(run, scenes.linkage(), None, scenes.shortened(scenes.SOLVERS[name], 2), device, dtype)
    for name in ("newton_cg", "block_jacobi"):
        solver, contact = scenes.shortened(scenes.SOLVERS[name], 2), pdgpu.BarrierContact(0.01, friction=0.3)
        yield f"rigid bodies in contact: {name}", partial(run, scenes.slope(), None, solver, device, dtype, contact)


def penalties(device, dtype):
    """On obstacles of every kind."""
    penalty = pdgpu.PenaltyContact(0.03, stiffness=1e3, depth=0.1, detection_interval=1, friction=0.3)
    for solver in (pdgpu.VertexBlockDescent(iterations=2), pdgpu.XPBD(iterations=2)):
        heap = scenes.heap()
        heap.add_obstacle(pdgpu.SignedDistanceField.from_mesh(pdgpu.shapes.sphere(0.1, 1), spacing=0.05))
        yield f"contact: penalty, {type(solver).__name__}", partial(run, heap, None, solver, device, dtype, penalty)


def two_way(device, dtype):
    """Every kind of multiplier and of friction."""
    for settings in (
        {"friction": 0.3},
        {"friction": 0.3, "friction_in": "filter", "repulsion": 10.0},
        {"multipliers": "augmented_lagrangian"},
        {"multipliers": "barrier", "edge_limit": None},
    ):
        law = pdgpu.TwoWayContact(0.03, steps=4, **settings)
        yield f"contact: two-way, {settings}", partial(run, scenes.heap(), None, pdgpu.XPBD(iterations=2), device, dtype, law)


def proxies(device, dtype):
    """On an obstacle, and in a body by the distance of its rest shape."""
    for name, linear in {"direct": pdgpu.Direct(), **{name: scenes.GLOBAL_STEPS[name] for name in ("schur", "jacobi")}}.items():
        scene, positions = scenes.mixed()
        scene.add_obstacle(pdgpu.Sphere(positions.mean(axis=0), 0.2))
        proxies = scenes.GLOBAL_STEPS["schur"].prone(scene)
        solver = pdgpu.ProjectiveDynamics(iterations=2, linear=linear)
        law = pdgpu.ProxyContact(proxies, stiffness=10.0)
        yield f"contact: proxies, {name}", partial(run, scene, positions, solver, device, dtype, law)
        solid, positions = scene.bodies[0], positions.copy()
        guests = np.flatnonzero(np.isin(proxies, np.arange(solid.slice.stop, scene.n_vertices)))[:3]
        positions[np.array(proxies)[guests]] = positions[solid.mesh.tets[0] + solid.slice.start].mean(axis=0)
        inside = pdgpu.ProxyContact(proxies, stiffness=10.0, field=pdgpu.RestField(solid.name, spacing=0.1, apart=0.3))
        wide = pdgpu.SchurDirect(np.union1d(proxies, np.arange(solid.slice.stop)), inner=2) if name == "schur" else linear
        solver = pdgpu.ProjectiveDynamics(iterations=2, linear=wide)
        yield f"contact: proxies in a body, {name}", partial(run, scene, positions, solver, device, dtype, inside)


def embedded_surfaces(device, dtype):
    """By both laws that take them."""
    for law in (pdgpu.BarrierContact(0.03, friction=0.3), pdgpu.PenaltyContact(0.03, stiffness=1e3, friction=0.3)):
        solver = pdgpu.Newton(iterations=2)
        yield f"contact: embedded, {type(law).__name__}", partial(run, resting_scene(True), None, solver, device, dtype, law)


def projections(device, dtype):
    """As a diagonal and as blocks."""
    for blocks, linear in ((False, pdgpu.Jacobi(iterations=2)), (True, pdgpu.GaussSeidel(iterations=2))):
        solver = pdgpu.ProjectiveDynamics(iterations=4, linear=linear)
        contact = pdgpu.ProjectiveContact(0.03, friction=0.3, restitution=0.5, inner=2, blocks=blocks)
        yield f"contact: projections, {type(linear).__name__}", partial(run, resting_scene(False), None, solver, device, dtype, contact)


PARTS = (
    solvers,
    global_steps,
    linear_solvers,
    broad_phases,
    proximity,
    contacts,
    elements,
    barriers,
    rigid_bodies,
    penalties,
    two_way,
    proxies,
    embedded_surfaces,
    projections,
)


# ---- the run -----------------------------------------------------------------------------------------------------------------------------


def fail(error):
    raise error


def cases_of(part, device, dtype):
    """The cases of a part. Where the part itself fails between two of them, the last case raises its exception."""
    try:
        yield from part(device, dtype)
    except Exception as error:
        yield f"{part.__name__}: preparation", partial(fail, error)


def shortened_traceback(error):
    """The innermost calls and the exception, indented."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    calls = [f"      {Path(frame.filename).name}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames]
    return "\n".join([*calls, f"      {type(error).__name__}: {error}"])


def run_parts(parts, device, dtype):
    """Runs every case and prints a line for each; returns the names of those that failed. SystemExit where the context is lost."""
    failed, n_cases = [], 0
    for part in parts:
        for name, case in cases_of(part, device, dtype):
            n_cases += 1
            try:
                remark = case()
            except Exception as error:
                failed.append(name)
                print(f"  {name}: FAILED\n{shortened_traceback(error)}", flush=True)
                if CONTEXT_LOST in str(error):
                    print(f"{dtype}: stopped at '{name}' in part {part.__name__}: {CONTEXT_LOST}", flush=True)
                    raise SystemExit(3) from None
            else:
                print(f"  {name}: {remark or 'passed'}", flush=True)
    print(f"{dtype}: {len(failed)} of {n_cases} cases failed{': ' if failed else ''}{'; '.join(failed)}", flush=True)
    return failed


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Runs every kernel once, on small scenes.")
    parser.add_argument("precisions", nargs="*", metavar="float32|float64", help="both by default")
    names = [part.__name__ for part in PARTS]
    parser.add_argument("--part", nargs="+", action="extend", metavar="NAME", choices=names, help="all by default")
    parser.add_argument("--list", action="store_true", help="print the names of the parts")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(names))
        return 0
    unknown = [name for name in options.precisions if name not in PRECISIONS]
    if unknown:
        parser.error(f"precision: expected float32 or float64, got {unknown[0]!r}")
    warnings.simplefilter("ignore")  # what there is to say of weights and rho does not matter here
    parts = [part for part in PARTS if not options.part or part.__name__ in options.part]
    failed = []
    for dtype in options.precisions or PRECISIONS:
        print(f"{dtype} on {backend(options.device, dtype).devices()[0]}", flush=True)
        failed += run_parts(parts, options.device, dtype)
    return 1 if failed else 0


if __name__ == "__main__":
    faulthandler.enable()
    sys.exit(main())
