"""Ten short runs of solvers, three of them in contact: how many iterations each step takes, and how long.

test_iteration_counts.py compares the iterations with iteration_counts.csv, and scripts/compare_speed the processor time of two commits. For
the latter this file needs nothing of the tests, and of pdgpu only its public names.

    python tests/iteration_cases.py [--repeats 3] [NAME ...]     JSON: name -> [seconds of processor time, [iterations of each step]]
"""

import argparse
import json
import time
import warnings

import pdgpu

SIZE, CELLS = (1.0, 0.25, 0.25), (16, 4, 4)
STEPS = 3
SOFT, STIFF = pdgpu.ARAP.from_young(1e5, 0.3), pdgpu.NeoHookean.from_young(1e5, 0.4)


def bar(material, solver):
    """A bar that is held at one end and starts stretched by a fifth."""
    mesh = pdgpu.shapes.beam(SIZE, cells=CELLS)
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_solid(mesh, material, density=1000.0).pin(lambda points: points[:, 0] < 0.01)
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30, threads=1)
    sim.set_state(positions=mesh.points * [1.2, 1.0, 1.0])
    return sim


def sheet(side, cells, height):
    """A horizontal square around the y axis."""
    flat = pdgpu.shapes.grid((side, side), cells=(cells, cells))
    points = flat.points[:, [0, 2, 1]] * [1.0, 1.0, -1.0] + [-0.5 * side, height, 0.5 * side]
    return pdgpu.Mesh(points, triangles=flat.triangles)


def cloth_on_ball(solver):
    """A cloth 2 mm above a ball, with friction."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_shell(sheet(0.6, 14, 0.203), pdgpu.Spring(200.0), density=0.5, bending=1e-4, velocity=(0.2, -0.5, 0.0))
    scene.add_obstacle(pdgpu.Sphere((0.01, 0.0, 0.02), 0.2))
    contact = pdgpu.BarrierContact(4e-3, stiffness=1e5, friction=0.3)
    return pdgpu.Simulation(scene, solver, dt=1 / 100, contact=contact, threads=1)


def block_on_floor(solver, contact):
    """A block that meets a floor at 1 m/s."""
    mesh = pdgpu.shapes.beam((0.2, 0.2, 0.2), cells=(5, 5, 5))
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    block = pdgpu.Mesh(mesh.points + [0.0, 3e-3, 0.0], tets=mesh.tets)
    scene.add_solid(block, SOFT, density=1000.0, velocity=(0.0, -1.0, 0.0))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    return pdgpu.Simulation(scene, solver, dt=1 / 100, contact=contact, threads=1)


def cases(scale=1.0):
    """Name -> a function that makes the simulation; `scale`: a factor of all tolerances."""
    fine, coarse = {"tolerance": scale * 1e-6}, {"tolerance": scale * 1e-3}
    jacobi = pdgpu.Jacobi(weight=0.5, iterations=5)
    chebyshev, block = pdgpu.Chebyshev(rho=0.9), pdgpu.PCG(preconditioner="block")
    barrier = pdgpu.BarrierContact(2e-3, stiffness=1e5)
    return {
        "PD direct, bar": lambda: bar(SOFT, pdgpu.ProjectiveDynamics(iterations=500, **fine)),
        "PD with Jacobi, bar": lambda: bar(SOFT, pdgpu.ProjectiveDynamics(iterations=500, linear=jacobi, **coarse)),
        "VBD with Chebyshev, bar": lambda: bar(STIFF, pdgpu.VertexBlockDescent(iterations=2000, chebyshev=chebyshev, **coarse)),
        "Newton, bar": lambda: bar(STIFF, pdgpu.Newton(iterations=100, **fine)),
        "Newton-CG, bar": lambda: bar(STIFF, pdgpu.Newton(iterations=100, linear=block, **fine)),
        "quasi-Newton, bar": lambda: bar(STIFF, pdgpu.QuasiNewton(iterations=500, **fine)),
        "nonlinear CG, bar": lambda: bar(SOFT, pdgpu.NonlinearCG(iterations=2000, **coarse)),
        "Newton, cloth on ball": lambda: cloth_on_ball(pdgpu.Newton(iterations=200, **fine)),
        "VBD, block on floor": lambda: block_on_floor(pdgpu.VertexBlockDescent(iterations=2000, **coarse), barrier),
        "PD, block on floor": lambda: block_on_floor(pdgpu.ProjectiveDynamics(iterations=1000, **coarse), barrier),
    }


def run(make):
    """(processor seconds of the steps, [iterations of each step])."""
    sim, iterations = make(), []
    begun = time.process_time()
    for _ in range(STEPS):
        sim.step()
        iterations.append(sim.last_step.iteration)
    return time.process_time() - begun, iterations


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each case, of which the shortest counts")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {}
    for name, make in cases().items():
        if options.names and name not in options.names:
            continue
        try:
            runs = [run(make) for _ in range(options.repeats)]
        except (AttributeError, TypeError, ValueError, RuntimeError) as error:  # of a commit that has no such case
            found[name] = f"{type(error).__name__}: {error}"
        else:
            found[name] = min(seconds for seconds, _ in runs), runs[0][1]
    print(json.dumps({"file": pdgpu.__file__, "cases": found}))


if __name__ == "__main__":
    main()
