"""Every solver that minimises the incremental potential converges to the same positions; the others are reported by it all the same."""

import dataclasses
import functools

import inputs
import numpy as np
import pytest
import scenes

import pdgpu

pytestmark = pytest.mark.slow

CHEBYSHEV = pdgpu.Chebyshev(rho=0.95)
ANY_MATERIAL = {
    "VBD": pdgpu.VertexBlockDescent(iterations=1500),
    "VBD + Chebyshev": pdgpu.VertexBlockDescent(iterations=400, chebyshev=CHEBYSHEV),
    "Block Jacobi": pdgpu.BlockJacobi(iterations=3000),
    "Block Jacobi + Chebyshev": pdgpu.BlockJacobi(iterations=1500, chebyshev=CHEBYSHEV),
    "gradient descent": pdgpu.GradientDescent(iterations=4000),
    "gradient descent + Chebyshev": pdgpu.GradientDescent(iterations=1500, chebyshev=CHEBYSHEV),
    "Newton, CG": pdgpu.Newton(iterations=60, linear=pdgpu.PCG()),
    "ADMM": pdgpu.ADMM(iterations=3000),
    "quasi-Newton": pdgpu.QuasiNewton(iterations=200),
    "VBD + Anderson": pdgpu.VertexBlockDescent(iterations=400, acceleration=pdgpu.Anderson()),
    "Block Jacobi + Anderson": pdgpu.BlockJacobi(iterations=1500, acceleration=pdgpu.Anderson(window=10)),
    "gradient descent + Anderson": pdgpu.GradientDescent(iterations=2000, acceleration=pdgpu.Anderson(window=10)),
    "ADMM + Anderson": pdgpu.ADMM(iterations=500, acceleration=pdgpu.Anderson()),
    "quasi-Newton, no history": pdgpu.QuasiNewton(iterations=600, history=0),
}
PROJECTIVE = {
    "PD": pdgpu.ProjectiveDynamics(iterations=3000),
    "PD + Anderson": pdgpu.ProjectiveDynamics(iterations=500, acceleration=pdgpu.Anderson()),
    "PD + Jacobi": pdgpu.ProjectiveDynamics(iterations=20000, linear=pdgpu.Jacobi()),
    "nonlinear CG": pdgpu.NonlinearCG(iterations=3000),
    **ANY_MATERIAL,
}
# the bunny's smallest tets are stiff: plain Jacobi methods would take tens of thousands of iterations
BUNNY = {
    "VBD": pdgpu.VertexBlockDescent(iterations=8000),
    "VBD + Chebyshev": pdgpu.VertexBlockDescent(iterations=2000, chebyshev=pdgpu.Chebyshev(rho=0.97)),
    "Block Jacobi + Chebyshev": pdgpu.BlockJacobi(iterations=5000, chebyshev=pdgpu.Chebyshev(rho=0.99)),
    "gradient descent + Chebyshev": pdgpu.GradientDescent(iterations=8000, chebyshev=pdgpu.Chebyshev(rho=0.99)),
    "Newton, CG": ANY_MATERIAL["Newton, CG"],
    "quasi-Newton": ANY_MATERIAL["quasi-Newton"],
    "quasi-Newton, no history": pdgpu.QuasiNewton(iterations=1000, history=0),
}
REPORTED = {"XPBD": pdgpu.XPBD(iterations=100), "PBD": pdgpu.PBD(iterations=100, relaxation=0.1)}


def bar():
    points, tets = inputs.kuhn_grid(10, 2, 2, 0.1)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    body = scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.NeoHookean(2e4, 1e5), density=1000.0)
    body.pin(points[:, 0] == 0)
    return scene, points * (1.5, 1.0, 1.0), 1 / 30


def bunny():
    mesh = pdgpu.read_mesh(inputs.data_file("tet/ipc_bunny.msh"))
    points = inputs.normalised(mesh.points)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    body = scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), pdgpu.NeoHookean(2e4, 1e5), density=1000.0)
    clamped = points[:, 0] < 0.02 * np.ptp(points[:, 0])
    body.pin(clamped)
    return scene, np.where(clamped[:, None], points, points * (1.5, 1.0, 1.0)), 1 / 30


def cloth():
    return (*scenes.in_tension(), 1 / 30)


SCENES = {"bar": (bar, ANY_MATERIAL), "bunny": (bunny, BUNNY), "cloth": (cloth, PROJECTIVE)}


@functools.cache
def newton(name):
    scene, start, dt = SCENES[name][0]()
    return pdgpu.compare(scene, {"Newton": pdgpu.Newton(iterations=100)}, dt=dt, start=(start, None)).reference


def pairs():
    """A real mesh is for `make stress`: it takes methods of first order thousands of iterations, and Newton's method seconds."""
    for name, (_, solvers) in SCENES.items():
        for solver in solvers:
            long = name == "bunny"
            yield pytest.param(name, solver, marks=pytest.mark.stress if long else ())


@pytest.mark.parametrize("name, solver", list(pairs()))
def test_same_answer(name, solver):
    """Two solvers would minimise two potentials, or one of them stop short: no comparison of convergence means anything then."""
    scene, start, dt = SCENES[name][0]()
    reference = newton(name)
    chosen = dataclasses.replace(SCENES[name][1][solver], initialization="previous", tolerance=1e-10)
    sim = pdgpu.Simulation(scene, chosen, dt=dt)
    sim.set_state(positions=start)
    sim.step()
    assert np.abs(sim.positions - reference).max() < 1e-6 * np.ptp(start, axis=0).max(), sim.last_step


@pytest.mark.parametrize("solver", REPORTED)
def test_what_minimises_something_else_is_reported_by_the_same_numbers(solver):
    """PBD or XPBD would be shown by a residual of their own."""
    scene, start, dt = cloth()
    cmp = pdgpu.compare(scene, {"it": REPORTED[solver]}, dt=dt, start=(start, None), initialization="inertial_target", reference=None)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=dt)
    sim.set_state(positions=start)
    last = cmp.positions["it"]
    assert cmp["it"]["incremental_potential"][-1] == sim.incremental_potential(last)
    assert cmp["it"]["gradient_norm"][-1] == pytest.approx(np.linalg.norm(sim.gradient(last)), rel=1e-12)
