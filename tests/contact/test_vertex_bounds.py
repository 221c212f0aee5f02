"""The displacement bound of a vertex in contact: its quadratic program against another solver, and bodies that a wall pushes."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import pdgpu

ROOT = Path(__file__).parent.parent.parent
PLANES = 6


@pytest.fixture(scope="module")
def bounded_steps(tmp_path_factory):
    """f(H, g, radius, normals, slacks) of n cases: the steps that the core takes, (n, 3)."""
    program = tmp_path_factory.mktemp("bounds") / "vertex_bound_case"
    flags = ["-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fopenmp", "-Wno-array-bounds", "-DPD_REAL=double", f"-I{ROOT / 'csrc'}"]
    sources = [ROOT / "tests" / "vertex_bound_case.c", ROOT / "csrc" / "cpu" / "contact" / "plane_lanes.c"]
    sources.append(ROOT / "csrc" / "threads" / "team.c")
    subprocess.run([os.environ.get("CC", "cc"), *flags, *map(str, sources), "-o", str(program), "-lm", "-lpthread"], check=True)

    def steps(H, g, radius, normals, slacks):
        upper = H[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
        cases = np.hstack([upper, g, radius[:, None], normals.reshape(len(g), -1), slacks])
        output = subprocess.run(
            [str(program)], input=np.r_[float(len(g)), cases.ravel()].tobytes(), stdout=subprocess.PIPE, check=True
        ).stdout
        return np.frombuffer(output).reshape(-1, 3)

    return steps


def random_cases(n, stiffness, seed):
    """Quadratics that are `stiffness` times stiffer along one direction, and planes of which some lie close."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n, 3, 3))
    stiff = rng.normal(size=(n, 3))
    stiff /= np.linalg.norm(stiff, axis=1, keepdims=True)
    H = factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(3) + stiffness * stiff[:, :, None] * stiff[:, None, :]
    normals = rng.normal(size=(n, PLANES, 3))
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    return H, rng.normal(size=(n, 3)), normals, 10.0 ** rng.uniform(-6, 0, size=(n, PLANES))


def answer(H, g, normals, slacks, radius):
    """The minimum by SLSQP."""
    limits = [{"type": "ineq", "fun": lambda d: slacks - normals @ d, "jac": lambda d: -normals}]
    if np.isfinite(radius):
        limits.append({"type": "ineq", "fun": lambda d: radius**2 - d @ d, "jac": lambda d: -2.0 * d})
    found = minimize(lambda d: 0.5 * d @ H @ d - g @ d, np.zeros(3), jac=lambda d: H @ d - g, constraints=limits, method="SLSQP", tol=1e-14)
    return found.x


@pytest.mark.parametrize("stiffness", [0.0, 1e4])
def test_the_step_is_the_minimum_between_the_planes(bounded_steps, stiffness):
    """If not, a vertex in contact goes through a plane, or stops although its quadratic falls."""
    H, g, normals, slacks = random_cases(300, stiffness, 1)
    d = bounded_steps(H, g, np.full(len(g), np.inf), normals, slacks)
    assert (np.einsum("nkc,nc->nk", normals, d) <= slacks * (1.0 + 1e-9)).all()
    value = 0.5 * np.einsum("ni,nij,nj->n", d, H, d) - (g * d).sum(1)
    for n in range(len(g)):
        other = answer(H[n], g[n], normals[n], slacks[n], np.inf)
        beyond = normals[n] @ other > slacks[n]
        other *= (slacks[n][beyond] / (normals[n] @ other)[beyond]).min() if beyond.any() else 1.0
        least = 0.5 * other @ H[n] @ other - g[n] @ other
        assert value[n] <= least + 1e-6 * abs(least) + 1e-12, n


@pytest.mark.parametrize("stiffness", [0.0, 1e4])
def test_a_ball_does_not_eat_the_normal_part(bounded_steps, stiffness):
    """If not, a long tangential step leaves nothing of the move that opens a gap."""
    H, g, normals, slacks = random_cases(200, stiffness, 2)
    radius = np.full(len(g), 1e-2)
    d = bounded_steps(H, 10.0 * g, radius, normals, slacks)
    assert (np.linalg.norm(d, axis=1) <= radius * (1.0 + 1e-12)).all()
    assert (np.einsum("nkc,nc->nk", normals, d) <= slacks * (1.0 + 1e-9)).all()
    value = 0.5 * np.einsum("ni,nij,nj->n", d, H, d) - 10.0 * (g * d).sum(1)
    least = np.array([answer(H[n], 10.0 * g[n], normals[n], slacks[n], radius[n]) for n in range(len(g))])
    best = 0.5 * np.einsum("ni,nij,nj->n", least, H, least) - 10.0 * (g * least).sum(1)
    assert (value < 0.0).all()
    assert np.median(value / best) > 0.98 and (value / best > 0.8).mean() > 0.97


@pytest.mark.each_choice
@pytest.mark.parametrize("guard", ["impact", "reach"])
@pytest.mark.parametrize("rigid", [False, True])
@pytest.mark.parametrize(
    "solver",
    [
        pdgpu.VertexBlockDescent(iterations=20),
        pdgpu.VertexBlockDescent(iterations=100),
        pdgpu.BlockJacobi(iterations=100),
        pdgpu.GradientDescent(iterations=100),
    ],
    ids=lambda solver: f"{type(solver).__name__}-{solver.iterations}",
)
def test_a_wall_pushes_a_block(solver, rigid, guard):
    """If not, the wall stays behind at a gap that shrinks from iteration to iteration."""
    side = np.array([0.2, 0.2, 0.2])
    wall = pdgpu.Mesh([[-0.3, -0.3, -0.05], [0.5, -0.3, -0.05], [0.5, 0.5, -0.05], [-0.3, 0.5, -0.05]], triangles=[[0, 1, 2], [0, 2, 3]])
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    if rigid:
        scene.add_rigid(pdgpu.shapes.box(side), density=1000.0)
    else:
        scene.add_solid(pdgpu.shapes.beam(side, cells=(2, 2, 2)), pdgpu.ARAP(mu=5e4), density=1000.0)
    scene.add_obstacle(wall, lambda t, p: p + [0.0, 0.0, min(t, 0.5)])
    sim = pdgpu.Simulation(scene, solver, dt=0.01, contact=pdgpu.BarrierContact(2e-3, guard=guard))
    sim.step(50)
    velocity = sim.rigid.velocities[0, 2] if rigid else np.average(sim.velocities[:, 2], weights=sim.masses)
    assert sim.last_step.behind == 0.0 and velocity > 0.99


def test_one_blocked_motion_does_not_hold_another():
    """If not, an obstacle that cannot move stops all the others."""
    side, turn = (0.1, 0.1, 0.1), {"triangles": [[0, 1, 2], [0, 2, 3]]}
    mesh, soft = pdgpu.shapes.beam(side, cells=(2, 2, 2)), pdgpu.ARAP.from_young(1e5, 0.3)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(mesh, soft, density=500).pin(lambda p: (p[:, 0] < 0.02) | (p[:, 0] > 0.08))
    scene.add_solid(pdgpu.Mesh(mesh.points + [1.0, 0.0, 0.0], tets=mesh.tets), soft, density=500)
    plate = np.array([[-0.1, 0.105, -0.1], [0.2, 0.105, -0.1], [0.2, 0.105, 0.2], [-0.1, 0.105, 0.2]])
    scene.add_obstacle(pdgpu.Mesh(plate, **turn), lambda t, p: p - [0.0, t, 0.0])
    scene.add_obstacle(pdgpu.Mesh(plate + [1.0, 0.0, 0.0], **turn), lambda t, p: p - [0.0, t, 0.0])
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=0.01, contact=pdgpu.BarrierContact(2e-3, stiffness=1e4))
    sim.step(20)
    assert sim.last_step.behind > 0.1
    free = slice(len(mesh.points), None)
    assert np.average(sim.velocities[free, 1], weights=sim.masses[free]) < -0.99


def test_a_step_that_bounds_cut_is_not_converged():
    """If not, a step says "converged" although a bound keeps its vertices from going on."""
    mesh = pdgpu.shapes.beam((0.1, 0.1, 0.1), cells=(1, 1, 1))
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    body = pdgpu.Mesh(mesh.points + [0.0, 2e-3, 0.0], tets=mesh.tets)
    scene.add_solid(body, pdgpu.ARAP(mu=1e4), density=500, velocity=(0.0, -3.0, 0.0))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    contact = pdgpu.BarrierContact(1e-3, guard="reach")
    solver = pdgpu.VertexBlockDescent(iterations=20, tolerance=0.99, check_every=1)  # fulfilled by nearly any iteration
    sim = pdgpu.Simulation(scene, solver, dt=0.01, contact=contact)
    sim.step(record=True)
    record = sim.last_step
    late = record["held_back"] > 1e-2 * contact.distance
    assert late.any() and record["held_back"][-1] == record.held_back
    assert (record["gradient_norm"][late] <= 0.99 * record["gradient_norm"][0]).sum() > 1  # it would have ended there
    assert record.status != "converged" or not late[-1]


@pytest.mark.parametrize(
    "solver", [pdgpu.VertexBlockDescent(iterations=20), pdgpu.BlockJacobi(iterations=20)], ids=lambda s: type(s).__name__
)
def test_layers_that_lie_close_fall_together(solver):
    """If not, a folded cloth falls in slow motion: each layer is held back by the one below, which falls as fast."""
    sheet = pdgpu.shapes.grid((0.2, 0.2), cells=(6, 6))
    scene = pdgpu.Scene()
    for k in range(4):
        points = np.column_stack([sheet.points[:, 0], np.full(len(sheet.points), 2.5e-3 * k), sheet.points[:, 1]])
        scene.add_shell(pdgpu.Mesh(points, triangles=sheet.triangles), pdgpu.Spring(100.0), density=0.2)
    sim = pdgpu.Simulation(scene, solver, dt=0.01, contact=pdgpu.BarrierContact(2e-3))
    sim.step(20)
    np.testing.assert_allclose(sim.velocities[:, 1], -9.81 * 0.2, rtol=1e-6)
