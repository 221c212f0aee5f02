"""Scenes that several tests share."""

import dataclasses
import importlib.resources

import inputs
import numpy as np
import pytest

import pdgpu
from pdgpu.linear.linear_solvers import CHECK_EVERY

DIRECT = pdgpu.ProjectiveDynamics(iterations=8)
CHEBYSHEV = pdgpu.ProjectiveDynamics(iterations=8, chebyshev=pdgpu.Chebyshev(rho=0.8, start=3))
JACOBI = pdgpu.ProjectiveDynamics(iterations=8, linear=pdgpu.Jacobi(iterations=3))
NEWTON = pdgpu.Newton(iterations=5, linear=pdgpu.Direct())
NEWTON_AUTO = pdgpu.Newton(iterations=5, linear="auto")
NEWTON_CG = pdgpu.Newton(iterations=5, linear=pdgpu.PCG(preconditioner="block"))
NEWTON_CHEBYSHEV = pdgpu.Newton(iterations=5, linear=pdgpu.PCG(preconditioner="chebyshev"))
NEWTON_MULTILEVEL = pdgpu.Newton(iterations=5, linear=pdgpu.PCG(preconditioner="multilevel"))
NEWTON_AMG = pdgpu.Newton(iterations=5, linear=pdgpu.PCG(preconditioner="amg"))
QUASI_NEWTON = pdgpu.QuasiNewton(iterations=8, history=3)
VBD = pdgpu.VertexBlockDescent(iterations=8, initialization="inertial_target")
VBD_SEARCH = pdgpu.VertexBlockDescent(iterations=8, line_search=True, initialization="inertial_target")
BLOCK_JACOBI = pdgpu.BlockJacobi(iterations=12)
GRADIENT_DESCENT = pdgpu.GradientDescent(iterations=12, chebyshev=pdgpu.Chebyshev(rho=0.8, start=3))
CG = pdgpu.NonlinearCG(iterations=8)
CG_DIRECT = pdgpu.NonlinearCG(iterations=8, preconditioner="direct")
ANDERSON = pdgpu.Anderson(window=3)
PBD = pdgpu.PBD(iterations=8, relaxation=0.03)
XPBD = pdgpu.XPBD(iterations=8)
ADMM = pdgpu.ADMM(iterations=8)
# those that minimise the incremental potential, and all
MINIMISERS = {"direct": DIRECT, "chebyshev": CHEBYSHEV, "jacobi": JACOBI, "newton": NEWTON, "cg": CG, "cg_direct": CG_DIRECT}
MINIMISERS.update(newton_auto=NEWTON_AUTO, newton_cg=NEWTON_CG, newton_chebyshev=NEWTON_CHEBYSHEV, quasi_newton=QUASI_NEWTON)
MINIMISERS.update(newton_multilevel=NEWTON_MULTILEVEL, newton_amg=NEWTON_AMG)
MINIMISERS.update(vbd=VBD, vbd_search=VBD_SEARCH, block_jacobi=BLOCK_JACOBI, gradient_descent=GRADIENT_DESCENT)
SOLVERS = {**MINIMISERS, "pbd": PBD, "xpbd": XPBD, "admm": ADMM}
COMBINED = {
    name: dataclasses.replace(SOLVERS[name], acceleration=ANDERSON) for name in ("direct", "vbd", "block_jacobi", "pbd", "xpbd", "admm")
}
MINIMISERS.update({f"{name} anderson": COMBINED[name] for name in ("direct", "vbd", "block_jacobi")})
SOLVERS.update({f"{name} anderson": solver for name, solver in COMBINED.items()})

# the linear solvers, with numbers that need no look at the spectrum and few iterations
LINEAR_SOLVERS = {
    "jacobi": pdgpu.Jacobi(weight=0.6, iterations=7, chebyshev=pdgpu.Chebyshev(rho=0.9, start=2)),
    "gauss-seidel": pdgpu.GaussSeidel(iterations=3),
    "symmetric": pdgpu.SymmetricGaussSeidel(iterations=3, chebyshev=pdgpu.Chebyshev(rho=0.8, start=1)),
    "sor": pdgpu.SOR(omega=1.3, iterations=3),
    "pcg": pdgpu.PCG(iterations=6),
    "pcg chebyshev": pdgpu.PCG(iterations=3, preconditioner="chebyshev"),
    "pcg multilevel": pdgpu.PCG(iterations=4, preconditioner="multilevel"),
    "pcg amg": pdgpu.PCG(iterations=4, preconditioner="amg"),
    "a-jacobi 2": pdgpu.AJacobi(order=2, weight=0.6, iterations=3),
    "a-jacobi 3": pdgpu.AJacobi(order=3, weight=0.6, variant="composed", iterations=3, chebyshev=pdgpu.Chebyshev(rho=0.9, start=1)),
    "suppressed": pdgpu.AJacobi(order=2, weight=0.6, suppression=0.05, iterations=3),
    "jacobi anderson": pdgpu.Jacobi(weight=0.6, iterations=7, acceleration=ANDERSON),
    "sor anderson": pdgpu.SOR(omega=1.3, iterations=5, acceleration=ANDERSON),
    "a-jacobi anderson": pdgpu.AJacobi(order=2, weight=0.6, iterations=5, acceleration=ANDERSON),
}

# those of a global step: of a Schur complement the scene says which vertices
GLOBAL_STEPS = LINEAR_SOLVERS | {"schur": pdgpu.SchurDirect(lambda points: points[:, 1] >= np.quantile(points[:, 1], 0.85), inner=3)}

NO_GRAVITY = (0.0, 0.0, 0.0)

# those whose iterations need the host for nothing: on a GPU the frame looks at every check_every-th only
RESIDENT = {
    "jacobi": pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(weight=0.6, iterations=3, chebyshev=pdgpu.Chebyshev(rho=0.9, start=2))),
    "jacobi, even": pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(weight=0.6, iterations=2)),
    "chebyshev": pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(weight=0.6), chebyshev=pdgpu.Chebyshev(rho=0.8, start=3)),
    "gauss-seidel": pdgpu.ProjectiveDynamics(linear=pdgpu.GaussSeidel(iterations=2)),
    "symmetric": pdgpu.ProjectiveDynamics(linear=pdgpu.SymmetricGaussSeidel(iterations=3, chebyshev=pdgpu.Chebyshev(rho=0.8, start=1))),
    "pcg": pdgpu.ProjectiveDynamics(linear=pdgpu.PCG(iterations=4)),
    "pcg chebyshev": pdgpu.ProjectiveDynamics(linear=pdgpu.PCG(iterations=2, preconditioner="chebyshev")),
    "pcg multilevel": pdgpu.ProjectiveDynamics(linear=pdgpu.PCG(iterations=3, preconditioner="multilevel")),
    "pcg amg": pdgpu.ProjectiveDynamics(linear=pdgpu.PCG(iterations=3, preconditioner="amg")),
    "a-jacobi": pdgpu.ProjectiveDynamics(linear=pdgpu.AJacobi(order=2, weight=0.6, iterations=3)),
    "suppressed": pdgpu.ProjectiveDynamics(linear=pdgpu.AJacobi(order=2, weight=0.6, suppression=0.05, iterations=2)),
    "vbd": pdgpu.VertexBlockDescent(),
    "vbd_search": pdgpu.VertexBlockDescent(line_search=True),
    "block_jacobi": pdgpu.BlockJacobi(line_search=False),
    "cg": pdgpu.NonlinearCG(),
    "pbd": pdgpu.PBD(relaxation=0.03),
    "xpbd": pdgpu.XPBD(),
    "anderson": pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(weight=0.6), acceleration=ANDERSON),
    "jacobi anderson": pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(weight=0.6, iterations=4, acceleration=ANDERSON)),
    "vbd anderson": pdgpu.VertexBlockDescent(acceleration=ANDERSON),
    "pbd anderson": pdgpu.PBD(relaxation=0.03, acceleration=ANDERSON),
    "xpbd anderson": pdgpu.XPBD(acceleration=ANDERSON),
}


def shortened(solver, iterations):
    return dataclasses.replace(solver, iterations=iterations)


def creature():
    """The mesh that ships with pdgpu."""
    pytest.importorskip("meshio", reason="meshio is not installed: the mesh that ships with pdgpu is not read")
    return pdgpu.read_mesh(str(importlib.resources.files("pdgpu") / "data" / "creature.vtu"))


def bar(points_and_tets, mu, gravity=NO_GRAVITY, clamp=0.05):
    """A bar along x of density 1000, its vertices with x below `clamp` of the length pinned. Returns scene, body."""
    points, tets = points_and_tets
    scene = pdgpu.Scene(gravity=gravity)
    body = scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(mu), density=1000.0)
    x = points[:, 0]
    body.pin(x < x.min() + clamp * np.ptp(x))
    return scene, body


def stretched_and_twisted(points, clamp=0.05):
    """The state of the nonlinear reference runs: stretched 1.5 times about the clamp and twisted by 1 rad."""
    x = points.copy()
    low, length = x[:, 0].min(), np.ptp(x[:, 0])
    clamped = x[:, 0] < low + clamp * length
    along = np.maximum(0.0, x[:, 0] - x[clamped, 0].max())
    x[:, 0] += 0.5 * along
    centre = points[:, 1:].mean(axis=0)
    c, s = np.cos(along), np.sin(along)
    y, z = (points[:, 1:] - centre).T
    x[:, 1], x[:, 2] = centre[0] + c * y - s * z, centre[1] + s * y + c * z
    return x


def in_tension():
    """A 10 x 10 cloth with bending, stretched by 5 %: slack cloth has no unique answer."""
    points, triangles = inputs.cloth(10)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    shell = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(100.0), density=0.2, bending=1e-3)
    boundary = (points[:, :2] == 0.0).any(axis=1) | (points[:, :2] > 1 - 1e-9).any(axis=1)
    shell.pin(boundary)
    x = points * 1.05
    x[~boundary] += 0.01 * np.random.default_rng(0).normal(size=((~boundary).sum(), 3))
    return scene, x


def mixed(damping=0.0, seed=0):
    """A solid, a shell, a rod and particles, with every material, pins and attachments. Returns scene, a disturbed state."""
    scene = pdgpu.Scene()
    beam = pdgpu.shapes.beam((1.0, 0.5, 0.5), cells=(3, 2, 2), split=5)
    solid = scene.add_solid(beam, [pdgpu.ARAP(2e4), pdgpu.Volume(1e4), pdgpu.StrainLimit(0.95, 1.05, 1e4)], density=500.0, damping=damping)
    solid.pin([0, 1])
    solid.attach([7, 9], beam.points[[7, 9]] + 0.1, stiffness=300.0)
    shell = scene.add_shell(
        pdgpu.Mesh(*inputs.cloth(5)[:1], triangles=inputs.cloth(5)[1]),
        [pdgpu.Spring(100.0), pdgpu.ARAP(50.0), pdgpu.Area(30.0), pdgpu.StrainLimit(0.9, 1.1, 20.0)],
        density=0.2,
        bending=1e-2,
        damping=damping,
        velocity=(0.1, 0.0, 0.2),
    )
    shell.pin([0])
    scene.add_rod(pdgpu.shapes.chain(6), pdgpu.Spring(200.0), density=0.05).attach([0], (0.0, 0.0, 0.0), stiffness=50.0)
    scene.add_particles([[2.0, 0.0, 0.0], [3.0, 0.0, 0.0]], mass=[0.1, 0.2], velocity=(0.0, 1.0, 0.0))
    rest = scene.rest_positions()
    return scene, rest * 1.05 + 0.02 * np.random.default_rng(seed).normal(size=rest.shape)


def heap():
    """Solids, cloth, rod and particles on every kind of obstacle, one of which moves."""
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.beam((0.4, 0.4, 0.4), cells=(2, 2, 2))
    for k in range(2):
        points = mesh.points + [0.05 * k, 0.02 + 0.42 * k, 0.0]
        scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), pdgpu.NeoHookean.from_young(1e4, 0.3), density=200.0)
    grid = pdgpu.shapes.grid((0.6, 0.6), cells=(5, 5))
    cloth = pdgpu.Mesh(grid.points[:, [0, 2, 1]] + [-0.1, 0.86, -0.1], triangles=grid.triangles)
    scene.add_shell(cloth, pdgpu.Spring(1e3), density=3.0, bending=1e-4)
    rod = pdgpu.Mesh([[0.91, 0.23, -0.2], [0.92, 0.23, 0.2], [0.93, 0.23, 0.6]], edges=[[0, 1], [1, 2]])
    scene.add_rod(rod, pdgpu.Spring(1e4), density=10.0)
    scene.add_particles([[0.2, 0.88, 0.2], [0.21, 0.9, 0.2], [0.9, 0.25, 0.21]], mass=1.0)
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    scene.add_obstacle(pdgpu.Capsule((0.7, 0.1, 0.2), (1.1, 0.1, 0.2), 0.12))
    scene.add_obstacle(pdgpu.Sphere((0.86, 0.35, 0.17), 0.08))
    push = lambda time: (np.eye(3), np.array([0.5 * time, 0.0, 0.0]))  # noqa: E731
    scene.add_obstacle(pdgpu.Box((0.1, 0.5, 0.5), (-0.07, 0.3, 0.2), motion=push))
    return scene


def placed(mesh, *shift):
    return pdgpu.Mesh(np.array(mesh.points) + shift, triangles=mesh.triangles)


def linkage():
    """Rigid bars held in a point, on a hinge with a limit, about an axis, on a slider with ends and a soft bar behind it, and in a cone."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    bar = pdgpu.shapes.box((0.5, 0.1, 0.1))
    first = scene.add_rigid(placed(bar, 0.0, 0.0, 0.0), density=200.0, name="first")
    first.pin([0])
    second = scene.add_rigid(placed(bar, 0.5, 0.0, 0.0), density=100.0, spin=(0.0, 0.0, 2.0), name="second")
    scene.add_joint("hinge", second, first, at=(0.5, 0.05, 0.05), axis=(0, 0, 1), stiffness=1e5, limits=(-0.01, 0.01))
    door = scene.add_rigid(placed(bar, 0.0, 0.0, 1.0), density=100.0, spin=(0.0, 0.0, -3.0), name="door")
    door.pin(lambda points: points[:, 0] + points[:, 1] < 1e-9)
    drawer = scene.add_rigid(placed(bar, 1.0, 0.0, 1.0), density=100.0, velocity=(3.0, 0.0, 0.0), name="drawer")
    scene.add_joint("slider", drawer, None, at=(1.0, 0.0, 1.0), axis=(1, 0, 0), stiffness=1e5, limits=(-0.02, 0.02))
    soft = pdgpu.shapes.beam((0.4, 0.1, 0.1), cells=(2, 1, 1))
    soft = pdgpu.Mesh(np.array(soft.points) + [0.55, 0.0, 1.0], tets=soft.tets)
    soft = scene.add_solid(soft, pdgpu.ARAP(1e4), density=500.0, name="soft")
    scene.add_joint("ball", drawer, (soft, 2), at=soft.points[2], stiffness=1e3)
    lamp = scene.add_rigid(placed(pdgpu.shapes.box((0.1, 0.5, 0.1)), 0.0, 0.0, 2.0), density=100.0, spin=(2.0, 0.0, 0.0), name="lamp")
    scene.add_joint("ball", lamp, None, at=(0.05, 0.5, 2.05), cone=0.02, axis=(0, 1, 0), stiffness=1e5)
    return scene


def slope():
    """Two rigid boxes on each other, six millimetres above a floor, under a gravity that pulls them along it."""
    scene = pdgpu.Scene(gravity=(4.0, -9.0, 0.0))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    scene.add_rigid(placed(pdgpu.shapes.box((0.4, 0.2, 0.3)), 0.0, 0.006, 0.0), density=500.0, name="lower")
    scene.add_rigid(placed(pdgpu.shapes.box((0.2, 0.2, 0.2)), 0.1, 0.213, 0.05), density=500.0, spin=(0.5, 1.0, 0.0), name="upper")
    return scene


def limited():
    """A cloth whose stiffness sets in at a tenth of stretch, held at two corners: at rest it has no Hessian at all."""
    scene = pdgpu.Scene()
    scene.add_shell(pdgpu.shapes.grid((1, 1), cells=(4, 4)), pdgpu.StrainLimit(0.9, 1.1, 10.0), density=0.1).pin([0, 4])
    return scene


def powerless():
    """A body that nothing but a constant of zero holds together."""
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.shapes.beam((1, 0.5, 0.5), cells=(3, 2, 2)), pdgpu.ARAP(0.0), density=100.0).pin([0, 1, 2])
    return scene


def squashed(device, dtype):
    """Positions after a step of Newton by conjugate gradients, from where curvature is negative too, and the host's waits in it."""
    mesh = pdgpu.shapes.beam((1.0, 0.2, 0.2), cells=(8, 2, 2))
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_solid(mesh, pdgpu.NeoHookean.from_young(young=1e5, poisson=0.4), density=1000.0).pin(lambda points: points[:, 0] < 0.01)
    solver = pdgpu.Newton(iterations=6, linear=pdgpu.PCG(iterations=50, preconditioner="jacobi"))
    sim = pdgpu.Simulation(scene, solver, dt=1 / 10, device=device, dtype=dtype)
    sim.set_state(positions=mesh.points * [1.0, 0.4, 1.0])
    before = sim._core.backend.counts()["waits"]
    sim.step()
    return sim.positions, sim._core.backend.counts()["waits"] - before


def looks_change_nothing(device, dtype, monkeypatch):
    """Asserts that `squashed` comes to the same bits in fewer waits, the fewer iterations of a solve the host looks at."""
    monkeypatch.setitem(CHECK_EVERY, device, 1)
    x, waits = squashed(device, dtype)
    for every in (3, 8, 1000):
        monkeypatch.setitem(CHECK_EVERY, device, every)
        found, fewer = squashed(device, dtype)
        np.testing.assert_array_equal(found, x, f"a look in {every}")
        assert fewer < waits
        waits = fewer
