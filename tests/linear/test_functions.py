"""Functions of the caller as preconditioners of conjugate gradients: SciPy's incomplete factor, operators, and what they do wrong."""

import pickle

import numpy as np
import pytest
import scenes
import scipy.sparse
import scipy.sparse.linalg

import pdgpu


def matrix(n=12):
    """A Laplacian on a grid with weights that vary by 1000."""
    weights = np.logspace(0, 3, n)
    line = scipy.sparse.diags_array([weights[1:] + weights[:-1], -weights[1:-1], -weights[1:-1]], offsets=[0, 1, -1])
    eye = scipy.sparse.eye_array(n - 1)
    return (scipy.sparse.kron(line, eye) + scipy.sparse.kron(eye, line)).tocsr()


class Jacobi:
    """D^-1, in a form that can be pickled."""

    def __init__(self, A):
        self.inverse = 1.0 / A.diagonal()

    def __call__(self, r):
        return (self.inverse * r.T).T


def incomplete(A):
    """SciPy's incomplete factor, made symmetric: of a matrix without fill it is a product with its own transpose."""
    factor = scipy.sparse.linalg.spilu(
        A.tocsc(), drop_tol=1e-3, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    return scipy.sparse.linalg.LinearOperator(A.shape, matvec=factor.solve, dtype=float)


@pytest.mark.parametrize("columns", [1, 3])
def test_the_diagonal_as_a_function_is_the_built_in_one(columns):
    """If not, r or z is another vector than conjugate gradients mean."""
    A = matrix()
    b = np.random.default_rng(0).normal(size=(A.shape[0], columns)).squeeze()
    runs = [pdgpu.linear.solve(A, b, pdgpu.PCG(preconditioner=M, tolerance=1e-10)) for M in ("jacobi", Jacobi(A))]
    assert runs[0].iterations == runs[1].iterations and runs[1].status == "converged"
    np.testing.assert_allclose(runs[0].residual_norm, runs[1].residual_norm, rtol=1e-6)
    np.testing.assert_allclose(runs[0].x, runs[1].x, atol=1e-9 * abs(runs[0].x).max())
    assert np.isnan(runs[1].predicted_rate)


def test_a_multigrid_cycle_needs_a_fraction_of_the_iterations():
    """If not, the operators that a library of multigrid methods makes cannot be compared with ours."""
    pyamg = pytest.importorskip("pyamg")
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.beam((1.0, 0.2, 0.2), cells=(30, 6, 6))
    free = mesh.points[:, 0] > 0.0
    scene.add_solid(mesh, pdgpu.ARAP.from_young(1e7, 0.3), density=1000.0).pin(~free)
    A = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(), dt=1 / 30).system_matrix(free=True)
    b = np.random.default_rng(0).normal(size=(A.shape[0], 3))
    cycle = pyamg.smoothed_aggregation_solver(A.tocsr()).aspreconditioner()
    plain, better = (pdgpu.linear.solve(A, b, pdgpu.PCG(preconditioner=M, tolerance=1e-8)) for M in ("jacobi", cycle))
    assert better.status == "converged" and 4 * better.iterations < plain.iterations
    np.testing.assert_allclose(better.x, plain.x, atol=1e-6 * abs(plain.x).max())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_incomplete_factor_needs_fewer_iterations(dtype):
    A = matrix()
    b = np.ones(A.shape[0])
    A, b = A.astype(dtype), b.astype(dtype)
    plain, better = (pdgpu.linear.solve(A, b, pdgpu.PCG(preconditioner=M, tolerance=1e-5)) for M in ("jacobi", incomplete(A.astype(float))))
    assert better.status == "converged" and 3 * better.iterations < plain.iterations
    assert better.x.dtype == dtype
    np.testing.assert_allclose(A @ better.x.astype(float), b, atol=1e-3)


@pytest.mark.parametrize("solver", ["pd", "newton"])
def test_in_a_simulation_it_is_the_built_in_one(solver):
    """If not, pinned rows leave their places, or a Hessian is seen in another order."""
    scene, x = scenes.mixed(damping=0.01)
    pinned = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(), dt=1 / 30)
    pinned.set_state(positions=x)
    inverse = 1.0 / pinned.system_matrix().diagonal()
    seen = []

    def diagonal(r):
        seen.append(r.shape)
        return inverse[:, None] * r if r.ndim == 2 else np.repeat(inverse, 3) * r

    places = []
    for M in ("jacobi", diagonal):
        linear = pdgpu.PCG(preconditioner=M, iterations=400, tolerance=1e-12)
        kind = pdgpu.ProjectiveDynamics if solver == "pd" else pdgpu.Newton
        sim = pdgpu.Simulation(scene, kind(iterations=6, linear=linear), dt=1 / 30)
        sim.set_state(positions=x)
        sim.step(2)
        places.append(sim.positions)
    np.testing.assert_allclose(*places, atol=1e-9)
    assert set(seen) == {x.shape if solver == "pd" else (x.size,)}
    fixed = pinned._core.fixed == 1
    assert (places[1][fixed] == x[fixed]).all()


def test_vertices_that_slide_stay_in_their_planes():
    """If not, a preconditioner takes them out of the planes that nothing puts them back into."""
    mesh = pdgpu.shapes.beam((1.0, 0.2, 0.2), cells=(4, 1, 1))
    scene = pdgpu.Scene()
    body = scene.add_solid(mesh, pdgpu.ARAP(1e4), density=100.0)
    end = mesh.points[:, 0] == mesh.points[:, 0].max()
    body.pin(mesh.points[:, 0] == mesh.points[:, 0].min())
    body.slide(end, plane=(1, 1, 0))
    A = np.random.default_rng(0).normal(size=2 * (len(mesh.points),))
    M = np.eye(len(A)) + 0.01 * A @ A.T / len(A)
    inverse = np.linalg.inv(pdgpu.Simulation(scene, dt=1 / 50).system_matrix().toarray())
    functions = (
        pdgpu.PCG(preconditioner=lambda r: M @ r, iterations=200, tolerance=1e-10),
        pdgpu.LinearFunction(function=lambda r: 0.9 * inverse @ r, iterations=60),
    )
    for linear in functions:
        sims = [
            pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=20, linear=each), dt=1 / 50) for each in (linear, pdgpu.Direct())
        ]
        for sim in sims:
            sim.step(2)
        np.testing.assert_allclose(sims[0].positions, sims[1].positions, atol=1e-8)


WRONG = {
    "shape": (lambda r: r[:2], ValueError, "preconditioner: expected real numbers of shape"),
    "not finite": (
        lambda r: (np.where(np.arange(len(r)) == 3, np.nan, 1.0) * r.T).T,
        ValueError,
        "preconditioner: expected finite numbers, got .*nan.* at row 3",
    ),
    "complex": (lambda r: 1j * r, ValueError, "preconditioner: expected real numbers"),
    "an exception": (lambda r: 1 / 0, ZeroDivisionError, "division by zero"),
    "negative": (lambda r: -r, ValueError, "the preconditioner 'function' is not positive definite"),
    "nothing": (lambda r: None, ValueError, "preconditioner: expected real numbers"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_error_says_what_was_wrong(name):
    function, kind, words = WRONG[name]
    A = matrix()
    with pytest.raises(kind, match=words):
        pdgpu.linear.solve(A, np.ones(A.shape[0]), pdgpu.PCG(preconditioner=function, tolerance=1e-10))
    if name == "negative":
        return
    scene, x = scenes.in_tension()
    linear = pdgpu.PCG(preconditioner=function, iterations=5)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(linear=linear), dt=1 / 30)
    sim.set_state(positions=x)
    with pytest.raises(kind, match=words):
        sim.step()
    assert (sim.positions == x).all()


def test_what_is_no_function_is_refused():
    A = matrix()
    with pytest.raises(TypeError, match="preconditioner: expected a name, a callable"):
        pdgpu.PCG(preconditioner=3)
    with pytest.raises(ValueError, match=r"preconditioner: .*'function'"):
        pdgpu.PCG(preconditioner="function")
    with pytest.raises(ValueError, match="expected a square operator"):
        pdgpu.PCG(preconditioner=scipy.sparse.linalg.aslinearoperator(np.ones((3, 2))))
    small = pdgpu.PCG(preconditioner=scipy.sparse.linalg.aslinearoperator(np.eye(3)))
    with pytest.raises(ValueError, match="expected an operator with"):
        pdgpu.linear.solve(A, np.ones(A.shape[0]), small)
    scene, _ = scenes.in_tension()
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(linear=pdgpu.PCG(preconditioner=np.copy)))
    with pytest.raises(TypeError, match="a file cannot hold a preconditioner that is a function"):
        sim.save("never.npz")
    other = pickle.loads(pickle.dumps(sim))
    for each in (sim, other):
        each.step()
    assert (sim.positions == other.positions).all()
    rigid = pdgpu.Scene()
    rigid.add_rigid(pdgpu.shapes.sphere(0.1, 1), density=1000.0)
    with pytest.raises(TypeError, match="a function does not take rigid bodies"):
        pdgpu.Simulation(rigid, pdgpu.Newton(linear=pdgpu.PCG(preconditioner=np.copy)))


def test_a_function_cannot_solve_with_its_own_system():
    """If not, a solve that is running is entered a second time."""
    A = matrix()
    system = None

    def again(r):
        return system.solve(r).x

    system = pdgpu.linear.System(A, pdgpu.PCG(preconditioner=again))
    with pytest.raises(RuntimeError, match="busy"):
        system.solve(np.ones(A.shape[0]))


# ---- a function as the linear solver ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e20])
def test_a_function_as_the_solver_is_the_stationary_iteration(columns, scale):
    """If not, a cycle of another package is applied to another residual, or to a matrix in another unit."""
    A = matrix() * scale
    b = np.random.default_rng(0).normal(size=(A.shape[0], columns)).squeeze()
    weighted = Jacobi(A / 0.6)
    solvers = pdgpu.Jacobi(weight=0.6, iterations=30), pdgpu.LinearFunction(function=weighted, iterations=30)
    runs = [pdgpu.linear.solve(A, b, solver) for solver in solvers]
    np.testing.assert_allclose(runs[0].x, runs[1].x, rtol=1e-9, atol=1e-9 * abs(runs[0].x).max())
    np.testing.assert_allclose(runs[0].residual_norm, runs[1].residual_norm, rtol=1e-9)
    exact = scipy.sparse.linalg.splu(A.tocsc())
    solved = pdgpu.linear.solve(A, b, exact.solve)
    assert solved.status in ("converged", "stalled", "iteration_cap")
    assert np.linalg.norm(A @ solved.x - b) < 1e-10 * np.linalg.norm(b)


def test_a_function_as_the_global_step():
    """If not, `linear=` of Projective Dynamics means another vector; an exact inverse is Direct."""
    scene, x = scenes.mixed(damping=0.01)
    places = []
    start = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(), dt=1 / 30)
    free = start._core.fixed == 0
    inverse = np.zeros(2 * (len(x),))
    inverse[np.ix_(free, free)] = np.linalg.inv(start.system_matrix(free=True).toarray())
    operator = scipy.sparse.linalg.aslinearoperator(inverse)
    for linear in (pdgpu.Direct(), lambda r: inverse @ r, operator, pdgpu.LinearFunction(function=operator, iterations=3)):
        solver = pdgpu.ProjectiveDynamics(iterations=8, linear=linear)
        sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
        sim.set_state(positions=x)
        sim.step(2)
        places.append(sim.positions)
    for place in places[1:]:
        np.testing.assert_allclose(place, places[0], atol=1e-10)
    assert isinstance(solver.linear, pdgpu.LinearFunction)
    with pytest.raises(TypeError, match="a file cannot hold a linear solver that is a function"):
        sim.save("never.npz")
    with pytest.raises(ValueError, match="linear: expected real numbers of shape"):
        pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(linear=lambda r: r[0])).step()
    with pytest.raises(TypeError, match="linear: Newton takes"):
        pdgpu.Newton(linear=lambda r: r)
    with pytest.raises(TypeError, match="LinearFunction has no iteration matrix"):
        pdgpu.linear.spectral_radius(matrix(), pdgpu.LinearFunction(function=abs))


def test_a_function_as_the_global_step_in_contact():
    """If not, a function that does not know of contact lets things pass through."""
    mesh = pdgpu.shapes.beam((0.2, 0.2, 0.2), cells=(2, 2, 2))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP(1e4), density=1000.0)
    scene.add_obstacle(pdgpu.Plane((0.0, mesh.points[:, 1].min() - 0.005, 0.0), (0.0, 1.0, 0.0)))
    A = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(), dt=1 / 50, contact=pdgpu.BarrierContact(0.01)).system_matrix()
    factor = scipy.sparse.linalg.splu(A.tocsc())
    solver = pdgpu.ProjectiveDynamics(iterations=20, linear=factor.solve)
    sim = pdgpu.Simulation(scene, solver, dt=1 / 50, contact=pdgpu.BarrierContact(0.01))
    for _ in range(4):
        sim.step(record=True)
        assert sim.last_step["smallest_distance"].min() > 0.0
    assert sim.last_step["active_contacts"][-1] > 0
