"""What does a time integrator do to energy, and to the rebound of an elastic cube?

Energy: a mass on a spring swings as a pendulum, and a clamped beam of tets falls, without damping, for STEPS steps. The last row of each
run says how much of the largest kinetic energy is lost (negative: gained).
Rebound: an elastic cube without gravity flies at a plane with a barrier at SPEED. The restitution is the speed of the centre of mass
afterwards, divided by SPEED. Vibration of the cube holds a part of the missing energy. The table has this part as well.

    python benchmarks/time_integrators.py [--tiny] [--out FILE.csv] [--picture FILE.png]
"""

import argparse

import numpy as np
from machine import write_table

import pdgpu

INTEGRATORS = ("implicit_euler", "bdf2", "trapezoidal", "newmark")
STEPS = 1000
SPEED = 0.5  # m/s
SOLVER = pdgpu.Newton(iterations=60, tolerance=1e-9, linear=pdgpu.Direct())
HEADER = ("scene", "integrator", "dt s", "steps", "energy lost", "restitution", "vibration", "force peak N")


def pendulum():
    scene = pdgpu.Scene()
    points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    scene.add_rod(pdgpu.Mesh(points, edges=[[0, 1]]), pdgpu.Spring(400.0), density=2.0).pin([0])
    return scene


def beam():
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.beam((0.4, 0.1, 0.1), cells=(8, 2, 2))
    scene.add_solid(mesh, pdgpu.NeoHookean.from_young(5e4, 0.3), density=1000.0).pin(mesh.points[:, 0] == 0.0)
    return scene


SWINGING = {"pendulum": (pendulum, 0.01), "beam": (beam, 0.002)}


def energies(make, dt, integrator, steps):
    """Total energy after every step and the largest kinetic energy, J."""
    sim = pdgpu.Simulation(make(), SOLVER, dt=dt, integrator=integrator, threads=1)
    total, kinetic = [sim.energies()["total"]], 0.0
    for _ in range(steps):
        sim.step()
        now = sim.energies()
        total.append(now["total"])
        kinetic = max(kinetic, now["kinetic"])
    return np.array(total), kinetic


def rebound(integrator, dt, cells):
    """(energy lost, restitution, vibration, largest contact force N) of the cube, as parts of the energy and the speed before."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    mesh = pdgpu.shapes.beam((0.1, 0.1, 0.1), cells=(cells,) * 3)
    mesh = pdgpu.Mesh(mesh.points + [0.0, 0.0, 0.003], tets=mesh.tets)
    scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000.0, velocity=(0.0, 0.0, -SPEED))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    sim = pdgpu.Simulation(scene, SOLVER, dt=dt, contact=pdgpu.BarrierContact(1e-3), integrator=integrator, threads=1)
    mass, peak = sim.masses.sum(), 0.0
    start = sim.energies()["total"]
    before = sim.masses @ sim.velocities[:, 2] / mass
    for _ in range(int(0.08 / dt)):
        sim.step()
        after = sim.masses @ sim.velocities[:, 2] / mass
        peak = max(peak, mass * (after - before) / dt)
        before = after
    end = sim.energies()["total"]
    return 1.0 - end / start, after / SPEED, end / start - (after / SPEED) ** 2, peak


def table(tiny, curves):
    steps, cells, time_steps = (20, 1, (2e-3,)) if tiny else (STEPS, 4, (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4))
    for name, (make, dt) in SWINGING.items():
        for integrator in INTEGRATORS:
            total, kinetic = energies(make, dt, integrator, steps)
            curves[name, integrator] = dt * np.arange(steps + 1), (total - total[0]) / kinetic
            yield name, integrator, dt, steps, f"{(total[0] - total[-1]) / kinetic:.4f}", "", "", ""
    for dt in time_steps:
        for integrator in INTEGRATORS[:3]:
            lost, restitution, vibration, peak = rebound(integrator, dt, cells)
            yield "cube", integrator, dt, int(0.08 / dt), f"{lost:.3f}", f"{restitution:.3f}", f"{vibration:.3f}", f"{peak:.1f}"


def draw(curves, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, name in zip(axes, SWINGING, strict=True):
        for integrator, style in zip(INTEGRATORS, ("-", "-", "-", "--"), strict=True):
            axis.plot(*curves[name, integrator], style, label=integrator.replace("_", " "))
        axis.set(title=f"{name}, dt = {SWINGING[name][1]:g} s", xlabel="time in s", ylabel="change of energy / largest kinetic energy")
        axis.grid(alpha=0.3)
    axes[0].legend()
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="few steps and a small mesh, to see that it runs")
    parser.add_argument("--out", help="write the table as CSV")
    parser.add_argument("--picture", help="draw the energies")
    options = parser.parse_args()
    curves = {}
    write_table(options.out, HEADER, table(options.tiny, curves), notes=["a tiny run, to see that it runs"] if options.tiny else [])
    if options.picture:
        draw(curves, options.picture)


if __name__ == "__main__":
    main()
