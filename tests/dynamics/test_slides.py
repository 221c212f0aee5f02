"""Vertices held on lines and in planes, with every solver [Chen et al. 2024, VBD, Sec. 3.4]."""

import inputs
import numpy as np
import pytest
import scenes

import pdgpu

DIRECTION = np.array([1.0, 2.0, -0.5]) / np.sqrt(5.25)
LINEAR = {
    "jacobi": pdgpu.Jacobi(iterations=20, chebyshev=pdgpu.Chebyshev(rho=0.9, start=2)),
    "gauss-seidel": pdgpu.GaussSeidel(iterations=4),
    "natural": pdgpu.GaussSeidel(iterations=4, order="natural"),
    "symmetric": pdgpu.SymmetricGaussSeidel(iterations=3, chebyshev=pdgpu.Chebyshev(rho=0.6, start=1)),
    "sor": pdgpu.SOR(iterations=4, omega=1.3),
    "pcg": pdgpu.PCG(iterations=8),
    "pcg chebyshev": pdgpu.PCG(iterations=4, preconditioner="chebyshev"),
    "pcg multilevel": pdgpu.PCG(iterations=4, preconditioner="multilevel"),
    "pcg amg": pdgpu.PCG(iterations=4, preconditioner="amg"),
}
MINIMISERS = {
    "direct": pdgpu.ProjectiveDynamics(iterations=200),
    "chebyshev": pdgpu.ProjectiveDynamics(iterations=200, chebyshev=pdgpu.Chebyshev(rho=0.9)),
    **{name: pdgpu.ProjectiveDynamics(iterations=250, linear=linear) for name, linear in LINEAR.items()},
    "Newton, chebyshev": pdgpu.Newton(iterations=40, linear=pdgpu.PCG(preconditioner="chebyshev")),
    "Newton, multilevel": pdgpu.Newton(iterations=40, linear=pdgpu.PCG(preconditioner="multilevel")),
    "Newton, amg": pdgpu.Newton(iterations=40, linear=pdgpu.PCG(preconditioner="amg")),
    "cg": pdgpu.NonlinearCG(iterations=300),
    "cg, direct": pdgpu.NonlinearCG(iterations=300, preconditioner="direct"),
    "quasi-Newton": pdgpu.QuasiNewton(iterations=60),
    "ADMM": pdgpu.ADMM(iterations=300),
}


def held_bar(hold, material=None):
    """A bar that hangs from one vertex, with its end on lines or in planes across the axes, and a stretched start."""
    points, tets = inputs.kuhn_grid(5, 2, 2, 0.1)
    scene = pdgpu.Scene()
    body = scene.add_solid(pdgpu.Mesh(points, tets=tets), material or pdgpu.ARAP(1e4), density=1000.0)
    body.pin([0])
    body.slide(points[:, 0] > 0.45, **{hold: DIRECTION})
    return scene, points * 1.1


def away(moves, hold):
    """How far moves (k, 3) leave the line or plane."""
    along = moves @ DIRECTION
    return np.abs(moves - np.outer(along, DIRECTION) if hold == "line" else along).max()


@pytest.mark.parametrize("hold", ["line", "plane"])
def test_every_minimiser_finds_what_newton_finds(hold):
    """If not, a solver holds the vertices otherwise than the others, or lets them go."""
    scene, start = held_bar(hold)
    cmp = pdgpu.compare(scene, MINIMISERS, dt=1 / 30, start=(start, None), threads=1)
    size = np.abs(cmp.reference - start).max()
    end = start[:, 0] > 0.45 * 1.1
    assert size > 0.01
    assert np.abs((cmp.reference - start)[end]).max() > 1e-3
    for name in MINIMISERS:
        x = cmp.positions[name]
        assert np.abs(x - cmp.reference).max() < 1e-9 * size, name
        assert away((x - start)[end], hold) < 1e-14, name


@pytest.mark.parametrize("name", ["quasi-Newton", "ADMM"])
def test_materials_without_a_projection(name):
    """If not, what holds for ARAP alone was taken for the whole."""
    scene, _ = held_bar("plane", pdgpu.NeoHookean(1e4, 5e4))
    solver = pdgpu.QuasiNewton(iterations=200) if name == "quasi-Newton" else pdgpu.ADMM(iterations=600)
    cmp = pdgpu.compare(scene, {"a": solver}, dt=1 / 60)
    assert np.abs(cmp.positions["a"] - cmp.reference).max() < 1e-8 * np.abs(cmp.reference - scene.rest_positions()).max()


def restricted_step(sim, x, subspace):
    """d with P A P d = P g, by a dense solve."""
    free = np.flatnonzero(~sim._core.scene.fixed().astype(bool))
    bases = [np.linalg.svd(subspace[i])[0][:, : round(np.trace(subspace[i]))] for i in free]
    starts = np.cumsum([0, *(basis.shape[1] for basis in bases)])
    basis = np.zeros((3 * len(free), starts[-1]))
    for k, block in enumerate(bases):
        basis[3 * k : 3 * k + 3, starts[k] : starts[k + 1]] = block
    A = np.kron(sim.system_matrix().toarray()[np.ix_(free, free)], np.eye(3))
    d = np.zeros_like(x)
    d[free] = (basis @ np.linalg.solve(basis.T @ A @ basis, basis.T @ sim.gradient(x)[free].ravel())).reshape(-1, 3)
    return d


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["direct", *LINEAR, "pcg to a tolerance"])
def test_a_global_step_is_the_restricted_system(name, dtype):
    """If not, only the limit is right, and each iteration less than an exact global step makes of it."""
    points, tets = inputs.kuhn_grid(3, 2, 1, 0.1)
    scene = pdgpu.Scene()
    body = scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e3), density=1000.0)
    body.pin([4])
    body.slide([0, 1, 4], plane=(1.0, 0.0, 0.0))
    body.slide([6], plane=DIRECTION)
    body.slide([9], line=(0.0, 1.0, 0.0))
    body.slide([13, 14], line=DIRECTION)
    start = points + 0.01 * np.random.default_rng(3).normal(size=points.shape)
    many = {
        "jacobi": pdgpu.Jacobi(iterations=400),
        "pcg": pdgpu.PCG(iterations=60),
        "pcg chebyshev": pdgpu.PCG(iterations=30, preconditioner="chebyshev"),
        "pcg multilevel": pdgpu.PCG(iterations=30, preconditioner="multilevel"),
        "pcg amg": pdgpu.PCG(iterations=30, preconditioner="amg"),
        "symmetric": pdgpu.SymmetricGaussSeidel(iterations=100),
    }
    linear = {
        "direct": pdgpu.Direct(),
        "gauss-seidel": pdgpu.GaussSeidel(iterations=200),
        "natural": pdgpu.GaussSeidel(iterations=200, order="natural"),
        "sor": pdgpu.SOR(iterations=200, omega=1.2),
        "pcg to a tolerance": pdgpu.PCG(iterations=1000, tolerance=1e-13 if dtype == "float64" else 1e-6),
        **many,
    }[name]
    solver = pdgpu.ProjectiveDynamics(iterations=1, linear=linear, initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=1 / 60, dtype=dtype, threads=1)
    sim.set_state(positions=start)
    before = sim.positions.astype(np.float64)
    exact = pdgpu.Simulation(scene, solver, dt=1 / 60)
    exact.set_state(positions=before)
    expected = restricted_step(exact, before, scene.subspace())
    sim.step()
    found = before - sim.positions
    assert np.abs(expected[[6, 9, 13]]).max() > 1e-4
    np.testing.assert_allclose(found, expected, atol=1e-12 if dtype == "float64" else 1e-6)


def test_one_sweep_of_gauss_seidel_by_hand():
    """If not, a sweep projects at another place than between two rows."""
    scene, start = held_bar("plane")
    solver = pdgpu.ProjectiveDynamics(iterations=1, linear=pdgpu.SOR(iterations=1, omega=1.4, order="natural"), initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
    sim.set_state(positions=start)
    A, g, P, d = sim.system_matrix().toarray(), sim.gradient(), scene.subspace(), np.zeros_like(start)
    for i in range(1, len(start)):
        d[i] += 1.4 * P[i] @ (g[i] - A[i] @ d) / A[i, i]
    sim.step()
    np.testing.assert_allclose(start - sim.positions, d, atol=1e-14)


@pytest.mark.parametrize("linear", [pdgpu.Jacobi, pdgpu.PCG, pdgpu.GaussSeidel])
def test_a_solve_ends_at_its_tolerance(linear):
    """If not, the forces that hold the vertices count as a residual, and no solve ever ends."""
    scene, start = held_bar("line")
    moves = []
    for tolerance in (0.3, 0.0):
        sim = pdgpu.Simulation(
            scene, pdgpu.ProjectiveDynamics(iterations=1, linear=linear(iterations=300, tolerance=tolerance), initialization="previous")
        )
        sim.set_state(positions=start)
        sim.step()
        moves.append(sim.positions - start)
    apart = np.linalg.norm(moves[0] - moves[1])
    assert 1e-3 * np.linalg.norm(moves[1]) < apart < 0.5 * np.linalg.norm(moves[1])


CONTACT = {
    "direct": pdgpu.ProjectiveDynamics(iterations=100),
    "pcg": pdgpu.ProjectiveDynamics(iterations=100, linear=pdgpu.PCG(iterations=10)),
    "cg": pdgpu.NonlinearCG(iterations=600),
    "cg, direct": pdgpu.NonlinearCG(iterations=100, preconditioner="direct"),
    "quasi-Newton": pdgpu.QuasiNewton(iterations=100),
    "ADMM": pdgpu.ADMM(iterations=150),
    "VBD": pdgpu.VertexBlockDescent(iterations=800),
}


def cube_at_a_wall():
    """A cube that slides along a wall onto a floor with friction, one vertex of it on a line."""
    mesh = pdgpu.shapes.beam((0.2, 0.2, 0.2), cells=(2, 2, 2))
    scene = pdgpu.Scene()
    points = mesh.points + [0.0, 0.0006, 0.0]
    body = scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), pdgpu.ARAP(1e4), density=1000.0, velocity=(0.0, -0.5, 0.4))
    body.slide(points[:, 0] == 0.0, plane=(1.0, 0.0, 0.0))
    body.slide([len(points) - 1], line=(1.0, 1.0, 0.0))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    return scene


def test_with_contact_and_friction():
    """If not, contact pushes vertices off what they are held on, or they are not held where it acts."""
    scene = cube_at_a_wall()
    rest = scene.rest_positions()
    cmp = pdgpu.compare(scene, CONTACT, dt=1 / 100, contact=pdgpu.BarrierContact(1e-3, friction=0.3), threads=1)
    size, wall = np.abs(cmp.reference - rest).max(), rest[:, 0] == 0.0
    assert cmp["direct"]["active_contacts"][-1] > 0
    for name in CONTACT:
        moved = cmp.positions[name] - rest
        assert np.abs(cmp.positions[name] - cmp.reference).max() < 1e-8 * size, name
        assert np.abs(moved[wall, 0]).max() < 1e-15, name
        assert max(abs(moved[-1, 0] - moved[-1, 1]), abs(moved[-1, 2])) < 1e-14, name


PENALTY, TWO_WAY = pdgpu.PenaltyContact(1e-3, stiffness=1e4, friction=0.3), pdgpu.TwoWayContact(1e-3)


@pytest.mark.parametrize(
    ("solver", "contact"),
    [
        *((solver, PENALTY) for solver in (CONTACT["direct"], CONTACT["quasi-Newton"], CONTACT["VBD"], pdgpu.XPBD(iterations=30))),
        *((solver, TWO_WAY) for solver in (CONTACT["pcg"], scenes.XPBD)),
    ],
)
def test_with_a_penalty_and_after_the_solver(solver, contact):
    """If not, what a penalty finds on the way, or the two-way method after it, leads out of the plane."""
    scene = cube_at_a_wall()
    sim = pdgpu.Simulation(scene, solver, dt=1 / 100, contact=contact, threads=1)
    sim.step(3)
    moved = sim.positions - scene.rest_positions()
    assert sim.positions[:, 1].min() < 1.0001e-3 < sim.positions[:, 1].max()
    assert np.abs(moved[scene.rest_positions()[:, 0] == 0.0, 0]).max() < 1e-15


@pytest.mark.parametrize("solver", ["pbd", "xpbd", "direct", "cg", "quasi_newton", "admm"])
def test_what_stays_in_its_plane_by_itself_is_not_disturbed(solver):
    """If not, what is held moves otherwise along its plane than what is free and never leaves it."""
    points, triangles = inputs.cloth(4)
    found = []
    for held in (False, True):
        scene = pdgpu.Scene(gravity=(0.3, -9.81, 0.0))
        shell = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(100.0), density=0.2)
        shell.pin([0])
        if held:
            shell.slide(np.arange(len(points)), plane=(0.0, 0.0, 1.0))
        sim = pdgpu.Simulation(scene, scenes.SOLVERS[solver], dt=1 / 60, threads=1)
        sim.step(3)
        found.append(sim.positions)
    assert np.abs(found[0] - points).max() > 1e-3
    np.testing.assert_allclose(found[1], found[0], atol=1e-13)


# ---- constraints ------------------------------------------------------------------------------------------------------------------


def held_tet():
    """A tet with a vertex on a line and one in a plane; masses differ by a second body that shares none of its vertices."""
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0.2, 1, 0], [0, 0.3, 1]])
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    body = scene.add_solid(pdgpu.Mesh(points, tets=[[0, 1, 2, 3]]), pdgpu.ARAP(50.0), density=3.0)
    body.slide([1], line=DIRECTION)
    body.slide([3], plane=DIRECTION)
    return scene, points, points * [1.3, 0.9, 1.1] + 0.05 * np.random.default_rng(4).normal(size=points.shape)


def shape_constraint(points, x):
    """|F - R| and its gradient by the vertices, (4, 3)."""
    g = np.linalg.inv((points[1:] - points[0]).T)
    g = np.concatenate([-g.sum(axis=0, keepdims=True), g])
    F = x.T @ g
    U, _, Vt = np.linalg.svd(F)
    D = F - U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
    size = np.linalg.norm(D)
    return size, g @ D.T / size


def projected(constraint, inverse_masses, subspace, x, scale=1.0, compliance=0.0):
    """x after the constraint scale C with w_i P_i for the inverse masses of its vertices, one iteration."""
    value, gradient = constraint(x)
    along = np.einsum("iab,ib->ia", subspace, scale * gradient)
    multiplier = -scale * value / ((inverse_masses * (along**2).sum(axis=1)).sum() + compliance)
    return x + multiplier * inverse_masses[:, None] * along


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-13), ("float32", 1e-6)])
def test_position_based_constraints_of_held_vertices(dtype, tolerance):
    """If not, PBD and XPBD move what is held by more or less than its constraint asks for."""
    scene, points, start = held_tet()
    w = 1.0 / scene.masses()
    volume, dt = abs(np.linalg.det(points[1:] - points[0])) / 6.0, 0.05

    def moved(solver):
        sim = pdgpu.Simulation(scene, solver, dt=dt, dtype=dtype)
        sim.set_state(positions=start)
        sim.step()
        return sim.positions

    by_hand = projected(lambda x: shape_constraint(points, x), w, scene.subspace(), start)
    np.testing.assert_allclose(moved(pdgpu.PBD(iterations=1, relaxation=1.0)), by_hand, atol=tolerance)
    by_hand = projected(lambda x: shape_constraint(points, x), w, scene.subspace(), start, np.sqrt(2 * 50.0 * volume), 1.0 / dt**2)
    np.testing.assert_allclose(moved(pdgpu.XPBD(iterations=1)), by_hand, atol=tolerance)


def test_position_based_dynamics_restores_what_is_held():
    """If not, the constraints pull against what holds the vertices, and never agree."""
    scene, points, start = held_tet()
    sim = pdgpu.Simulation(scene, pdgpu.PBD(iterations=300, relaxation=1.0), dt=0.1)
    sim.set_state(positions=start)
    sim.step()
    x = sim.positions
    assert shape_constraint(points, x)[0] < 1e-12 * shape_constraint(points, start)[0]
    assert np.abs(np.cross((x - start)[1], DIRECTION)).max() < 1e-14
    assert abs((x - start)[3] @ DIRECTION) < 1e-14


def test_extended_position_based_dynamics_ends_where_newton_does_for_small_steps():
    """If not, multipliers of held elements do not add up to the material's forces."""
    scene, start = held_bar("plane")
    found = {}
    for solver in (pdgpu.XPBD(iterations=300), pdgpu.Newton()):
        sim = pdgpu.Simulation(scene, solver, dt=1 / 2000, threads=1)
        sim.set_state(positions=start)
        sim.step()
        found[type(solver)] = sim.positions - start
        assert away(found[type(solver)][start[:, 0] > 0.45 * 1.1], "plane") < 1e-14
    assert np.abs(found[pdgpu.XPBD] - found[pdgpu.Newton]).max() < 0.01 * np.abs(found[pdgpu.Newton]).max()


def test_extended_position_based_contact_of_held_particles():
    """If not, a particle on a slanted line is pushed off it by the floor, or by more than the line gives way."""
    thickness, stiffness, mass, dt = 1e-3, 3e4, 2.0, 0.01
    found = {}
    for gravity, steps, iterations in ((0.0, 1, 1), (-10.0, 60, 5)):
        scene = pdgpu.Scene((0.0, gravity, 0.0))
        scene.add_particles([[0.0, 4e-4, 0.0]], mass=mass, name="grain").slide([0], line=DIRECTION)
        scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
        contact = pdgpu.PenaltyContact(thickness, stiffness=stiffness)
        sim = pdgpu.Simulation(scene, pdgpu.XPBD(iterations=iterations), dt=dt, contact=contact)
        start = sim.positions
        sim.step(steps)
        found[gravity] = sim.positions[0]
        assert np.abs(np.cross(sim.positions[0] - start[0], DIRECTION)).max() < 1e-17
    up = DIRECTION[1]
    pushed = 6e-4 / (up**2 / mass + 1.0 / (stiffness * dt**2)) * up / mass * DIRECTION
    np.testing.assert_allclose(found[0.0] - [0.0, 4e-4, 0.0], pushed, rtol=1e-12)
    assert thickness - found[-10.0][1] == pytest.approx(10.0 * mass / stiffness, rel=1e-6)


# ---- what holds for all --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits_do_not_depend_on_threads(dtype):
    """If not, a run could not be repeated."""
    for solver in (
        *(pdgpu.ProjectiveDynamics(iterations=3, linear=linear) for linear in LINEAR.values() if linear.iterations != 20),
        scenes.PBD,
    ):
        results = []
        for threads in (1, 3):
            mesh = pdgpu.shapes.beam((1.0, 0.3, 0.3), cells=(40, 8, 8))
            scene = pdgpu.Scene()
            body = scene.add_solid(mesh, pdgpu.ARAP(1e4), density=1000.0)
            body.slide(mesh.points[:, 0] < 0.3, plane=DIRECTION)
            sim = pdgpu.Simulation(scene, solver, dtype=dtype, threads=threads)
            sim.set_state(positions=mesh.points * 1.05)
            sim.step()
            results.append(sim.positions)
        np.testing.assert_array_equal(results[0], results[1], err_msg=repr(solver))


def test_nothing_moves_where_every_direction_is_held():
    """If not, a body of which every vertex is pinned, and slides besides, has no equations and fails."""
    scene, start = held_bar("plane")
    scene.bodies[0].pin(np.arange(len(start)))
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(), dt=1 / 30)
    sim.step()
    np.testing.assert_array_equal(sim.positions, scene.rest_positions())


def test_what_cannot_hold_them_says_why():
    """If not, vertices leave what they are held on without a word."""
    scene, _ = held_bar("plane")
    with pytest.raises(ValueError, match=r"slide: ProjectiveDynamics.*AJacobi.* several Jacobi steps at once"):
        pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(linear=pdgpu.AJacobi()))
    with pytest.raises(ValueError, match=r"slide: ProjectiveDynamics.*AJacobi"):
        pdgpu.compare(scene, {"a": pdgpu.ProjectiveDynamics(linear=pdgpu.AJacobi())})
    with pytest.raises(ValueError, match="slide: ProjectiveContact cannot hold"):
        pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(), dt=0.01, contact=pdgpu.ProjectiveContact(1e-3))
