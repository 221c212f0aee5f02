"""Short runs of every solver that together go through the whole of a step: what test_golden.py hashes."""

import dataclasses
import os
import tempfile

import inputs
import numpy as np
import scenes

import pdgpu

# Block Jacobi without its tests diverges, and at which iteration is a matter of rounding. The file has no rows of the polynomial
# preconditioner, and of Anderson acceleration only those that are recorded.
LEFT_OUT = ("block_jacobi, resident", "newton_chebyshev", "pcg chebyshev, resident")
ALL = {**scenes.SOLVERS, **{f"{name}, resident": solver for name, solver in scenes.RESIDENT.items()}}
SOLVERS = {name: solver for name, solver in ALL.items() if name not in LEFT_OUT and not name.endswith("anderson, resident")}
SOLVERS |= {f"vbd, {name}": dataclasses.replace(ALL["vbd"], hessian=name) for name in ("absolute", "exact")}
SOLVERS["block_jacobi, clamp"] = dataclasses.replace(ALL["block_jacobi"], hessian="clamp")
FIBRES = [[0.8, 0.6, 0.0], [-0.6, 0.8, 0.0], [0.0, 0.0, 1.0]]
WOOD = pdgpu.OrthotropicSolid((9e4, 5e4, 2e4), (0.3, 0.5, 0.4), (2e4, 3e4, 8e3), axes=FIBRES)


def small_bar():
    return pdgpu.shapes.beam((0.6, 0.2, 0.2), cells=(6, 2, 2))


def solid(material, damping=0.0):
    """A bar clamped at one end, pulled and sheared."""
    scene = pdgpu.Scene()
    mesh = small_bar()
    body = scene.add_solid(mesh, material, density=1000.0, damping=damping)
    body.pin(mesh.points[:, 0] == 0.0)
    return scene, mesh.points * [1.1, 1.0, 1.0] + 0.05 * mesh.points[:, :1] * [0.0, 0.0, 1.0]


def cloth():
    """Hung up by two corners, falling."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    points, triangles = inputs.cloth(5)
    shell = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(100.0), density=0.2, bending=1e-3)
    shell.pin([30, 35])
    return scene, None


def woven():
    """Hung up by two corners, with a stiff warp on the bias."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    points, triangles = inputs.cloth(5)
    material = pdgpu.OrthotropicShell(300.0, 60.0, 10.0, 0.3, direction=(1.0, 1.0, 0.0))
    shell = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), material, density=0.2, bending=1e-3)
    shell.pin([30, 35])
    return scene, None


def rod():
    """A chain that swings from its first vertex, with a soft hold in the middle."""
    scene = pdgpu.Scene()
    body = scene.add_rod(pdgpu.shapes.chain(12), pdgpu.Spring(500.0), density=0.05, velocity=(0.0, 0.0, 0.3))
    body.pin([0])
    body.attach([6], (6.0, 0.5, 0.0), stiffness=20.0)
    return scene, None


def slides():
    """A bar pulled along a line and in a plane."""
    scene = pdgpu.Scene()
    mesh = small_bar()
    body = scene.add_solid(mesh, pdgpu.ARAP(2e4), density=1000.0)
    body.slide(mesh.points[:, 0] == 0.0, plane=(1.0, 0.0, 0.0))
    body.slide([6], line=(1.0, 1.0, 0.0))
    return scene, mesh.points * [1.1, 1.0, 1.0]


def scripted():
    """A bar carried in a circle by its end."""
    scene = pdgpu.Scene()
    mesh = small_bar()
    body = scene.add_solid(mesh, pdgpu.ARAP(2e4), density=1000.0)
    body.pin(mesh.points[:, 0] == 0.0, motion=lambda time, rest: rest + 0.1 * np.array([np.sin(9.0 * time), 1.0 - np.cos(9.0 * time), 0.0]))
    return scene, None


def boxed():
    """A bar thrown at the corner of a world box."""
    scene = pdgpu.Scene()
    scene.add_solid(small_bar(), pdgpu.ARAP(2e4), density=1000.0, velocity=(-1.0, -2.0, 0.5))
    scene.set_world_box((-0.02, -0.02, -0.02), (1.0, 1.0, 1.0), 1e4)
    return scene, None


SCENES = {
    "tets": lambda: solid(pdgpu.ARAP(2e4)),
    "neo-Hookean": lambda: solid(pdgpu.NeoHookean(2e4, 5e4)),
    "StVK, damped": lambda: solid(pdgpu.StVK(2e4, 3e4), damping=1e-3),
    "co-rotated": lambda: solid(pdgpu.Corotated(2e4, 3e4)),
    "log neo-Hookean": lambda: solid(pdgpu.LogNeoHookean(2e4, 5e4)),
    "fixed co-rotated": lambda: solid(pdgpu.FixedCorotated(2e4, 5e4)),
    "orthotropic, damped": lambda: solid(WOOD, damping=1e-3),
    "woven": woven,
    "cloth": cloth,
    "rod": rod,
    "mixed": scenes.mixed,
    "mixed, damped": lambda: scenes.mixed(damping=1e-3),
    "slides": slides,
    "scripted": scripted,
    "boxed": boxed,
    "pushed": cloth,
    "cut": cloth,
    "resumed": lambda: solid(pdgpu.ARAP(2e4)),
    "BDF2": lambda: solid(pdgpu.ARAP(2e4), damping=1e-3),
    "trapezoidal": slides,
}
INTEGRATORS = {"BDF2": "bdf2", "trapezoidal": "trapezoidal"}


def run(scene_name, solver_name, device, dtype, threads, nudge=0.0):
    """The simulation after ten steps of 1/60 s, the last one recorded. `nudge`: how far the start is moved, relative.

    Raises what a solver raises that cannot treat the scene, or diverges.
    """
    scene, start = SCENES[scene_name]()
    integrator = INTEGRATORS.get(scene_name, "implicit_euler")
    sim = pdgpu.Simulation(scene, SOLVERS[solver_name], dt=1 / 60, device=device, dtype=dtype, threads=threads, integrator=integrator)
    start = sim.positions if start is None else start
    sim.set_state(positions=start * (1.0 + nudge * np.random.default_rng(1).uniform(-1.0, 1.0, start.shape)))
    sim.step(5)
    if scene_name == "pushed":
        sim.external_forces = 0.05 * np.random.default_rng(5).normal(size=sim.positions.shape)
    elif scene_name == "cut":
        sim.cut(scene.bodies[0], [[14, 15], [15, 16], [16, 17]])
    elif scene_name == "resumed":
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.npz")
            sim.save(path)
            sim = pdgpu.Simulation.load(path, threads=threads)
    sim.step(4)
    sim.step(record=True)
    return sim
