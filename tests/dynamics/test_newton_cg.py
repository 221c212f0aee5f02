"""Newton with conjugate gradients as its inner solver, against textbook PCG and Newton with a factorisation."""

import amg_oracle
import inputs
import multilevel_oracle
import numpy as np
import polynomial_oracle
import pytest
import scenes
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

import pdgpu

every = pytest.mark.parametrize("preconditioner", ["jacobi", "block", "chebyshev", "multilevel", "amg"])


def one_iteration(scene, x, dt=1 / 30, line_search=False, **options):
    """Before a step, and its only move: sim, x_1 - x_0 over the free coordinates."""
    solver = pdgpu.Newton(iterations=1, linear=pdgpu.PCG(**options), line_search=line_search, initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=dt)
    sim.set_state(positions=x)
    free = np.repeat(sim._core.fixed == 0, 3)
    gradient = sim.gradient().ravel()[free]
    hessians = [sim.hessian(psd=psd).tocsr()[free][:, free] for psd in (False, True)]
    sim.step()
    moved = (sim.positions - x).ravel()
    assert not moved[~free].any()
    return gradient, hessians, moved[free]


def pattern_of(sim, free):
    """The vertices in each row of the Hessian, also those of blocks that are zero, by their numbers among the free ones."""
    row_start, columns, _ = sim._core.backend.hessian(None, True, False)
    number = np.cumsum(free[::3]) - 1
    return [[number[j] for j in columns[row_start[i] : row_start[i + 1]] if free[3 * j]] for i in np.flatnonzero(free[::3])]


def on_levels(oracle, H, points, neighbours=None):
    """M^-1 of a preconditioner on several levels for the Hessian H at these points of its vertices."""
    rows = H.tobsr((3, 3))
    rows.sort_indices()
    neighbours = neighbours or [list(rows.indices[rows.indptr[i] : rows.indptr[i + 1]]) for i in range(len(points))]
    return oracle.preconditioner(H.toarray(), neighbours, numbers=3, points=points)


def textbook(H, g, preconditioner, count, free, x, neighbours=None):
    """`count` iterations of PCG for H d = g from d = 0; free [3 vertices]: which coordinates those of g are; x [vertices,3]."""
    n = len(g)
    if preconditioner == "jacobi":
        inverse = scipy.sparse.diags(1 / H.diagonal())
    else:
        blocks = [H[i : i + 3, i : i + 3].toarray() for i in range(0, n, 3)]
        inverse = scipy.sparse.block_diag([np.linalg.inv(block) for block in blocks]).tocsr()
    if preconditioner == "chebyshev":
        dense, blocks = H.toarray(), scipy.linalg.block_diag(*blocks)
        largest = max(4.0, 1.1 * polynomial_oracle.ritz_value(dense, blocks, polynomial_oracle.start(len(free))[free], 12))
        inverse = polynomial_oracle.preconditioner(dense, blocks, largest, 4)
    if preconditioner in ("multilevel", "amg"):
        oracle = {"multilevel": multilevel_oracle, "amg": amg_oracle}[preconditioner]
        inverse = on_levels(oracle, H, x.ravel()[free].reshape(-1, 3), neighbours)
    d, r = np.zeros(n), g.copy()
    z = p = inverse @ r
    for _ in range(count):
        H_p, r_z = H @ p, r @ z
        assert p @ H_p > 0
        d, r = d + r_z / (p @ H_p) * p, r - r_z / (p @ H_p) * H_p
        z = inverse @ r
        p = z + (z @ r) / r_z * p
    return d


@pytest.mark.each_choice
@every
@pytest.mark.parametrize("count", [1, 3, 8])
def test_inner_iterations_are_textbook_pcg(preconditioner, count):
    """If not, product, preconditioner or the treatment of pinned vertices is another one."""
    scene, _ = scenes.mixed(damping=0.01)
    x = scene.rest_positions() * 1.02
    g, (H, _), moved = one_iteration(scene, x, preconditioner=preconditioner, iterations=count, tolerance=1e-14)
    free = np.repeat(pdgpu.Simulation(scene, pdgpu.Newton())._core.fixed == 0, 3)
    bound = 1e-12 if preconditioner != "chebyshev" else 1e-10
    np.testing.assert_allclose(moved, -textbook(H, g, preconditioner, count, free, x), atol=bound)


@every
def test_a_tight_tolerance_solves_the_system(preconditioner):
    """If not, the inner solve ends early, or solves something else than H d = g."""
    scene, _ = scenes.mixed(damping=0.01)
    x = scene.rest_positions() * 1.02
    g, (H, _), moved = one_iteration(scene, x, preconditioner=preconditioner, tolerance=1e-13)
    np.testing.assert_allclose(moved, -scipy.sparse.linalg.spsolve(H.tocsc(), g), atol=1e-9)


@every
def test_negative_curvature_goes_to_the_projected_hessian(preconditioner):
    """If not, crushed springs send Newton uphill."""
    points, triangles = inputs.cloth(4)
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(100.0), density=0.2).pin([0])
    x = points / 3 + 0.01 * np.random.default_rng(0).normal(size=points.shape)
    g, (H, projected), moved = one_iteration(scene, x, preconditioner=preconditioner, tolerance=1e-13)
    assert scipy.linalg.eigvalsh(H.toarray()).min() < 0 < scipy.linalg.eigvalsh(projected.toarray()).min()
    np.testing.assert_allclose(moved, -scipy.sparse.linalg.spsolve(projected.tocsc(), g), atol=1e-9)


def test_the_forcing_term_is_kept():
    """If not, the inner solves do more than they need, or the outer iteration is not superlinear."""
    scene, body = scenes.bar(inputs.B20(), 1e5 / 2.6)
    solver = pdgpu.Newton(iterations=6, linear=pdgpu.PCG(), line_search=False, initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
    x = body.points * [1.2, 1.0, 1.0]
    sim.set_state(positions=x)
    other = pdgpu.Simulation(scene, solver, dt=1 / 30)
    other.set_state(positions=x)
    sim.step(record="positions")
    iterates = sim.last_step.positions
    norms = [np.linalg.norm(other.gradient(at)) for at in iterates]
    for k in range(4):
        g = other.gradient(iterates[k]).ravel()
        residual = np.linalg.norm(g + other.hessian(iterates[k]) @ (iterates[k + 1] - iterates[k]).ravel())
        limit = min(0.01, np.sqrt(norms[k] / norms[0])) * norms[k]
        assert 1e-3 * limit < residual <= 1.01 * limit
    assert norms[5] < 1e-6 * norms[0]


@pytest.mark.each_choice
@every
@pytest.mark.parametrize("case", ["bar", "cloth", "mixed", "inverted"])
def test_it_reaches_the_answer_of_the_direct_solver(preconditioner, case):
    """If not, it stops at something that is no minimum of the potential."""
    if case in ("bar", "inverted"):
        scene, body = scenes.bar(inputs.B20(), 1e5 / 2.6)
        x = scenes.stretched_and_twisted(body.points) if case == "bar" else body.points * [1.0, 1.0, -0.5]
    elif case == "cloth":
        scene, x = scenes.in_tension()
    else:
        scene, _ = scenes.mixed(damping=0.01)
        x = scene.rest_positions() * 1.02
    solvers = {"cg": pdgpu.Newton(iterations=60, linear=pdgpu.PCG(preconditioner=preconditioner))}
    comparison = pdgpu.compare(scene, solvers, start=(x, None))
    assert comparison["cg"].at_rounding and comparison["cg"]["relative_error"][-1] <= 1e-9


def test_a_slack_chain_without_inertia_neither_fails_nor_makes_nan():
    """If not, a singular projected Hessian ends the run: a chain folded together has no stiffness across."""
    chain = pdgpu.shapes.chain(6)
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_rod(chain, pdgpu.Spring(100.0), density=0.1).pin([0])
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=60, linear=pdgpu.PCG()), dt=None)
    sim.set_state(positions=chain.points * 0.2)
    sim.step(record=True)
    assert np.isfinite(sim.positions).all() and sim.last_step["incremental_potential"][-1] < sim.last_step["incremental_potential"][0]


def stacked(gap):
    """A cube above another one that is held below, nearer than the activation distance: scene, contact."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    cube = pdgpu.shapes.beam((0.3, 0.3, 0.3), cells=(4, 4, 4))
    material = pdgpu.NeoHookean.from_young(1e5, 0.4)
    scene.add_solid(cube, material, density=1000.0).pin(lambda points: points[:, 1] < 1e-3)
    above = pdgpu.Mesh(cube.points * [0.8, 0.8, 0.8] + [0.03, 0.3 + gap, 0.03], tets=cube.tets)
    scene.add_solid(above, material, density=1000.0)
    return scene, pdgpu.BarrierContact(0.01)


@pytest.mark.parametrize("preconditioner", ["multilevel", "amg"])
@pytest.mark.parametrize("count", [1, 4])
def test_contact_pairs_are_in_the_coarser_levels(count, preconditioner):
    """If not, the coarser levels see two bodies where contact makes them one, and iterations grow with its stiffness."""
    scene, contact = stacked(0.004)
    solver = pdgpu.Newton(
        iterations=1,
        linear=pdgpu.PCG(preconditioner=preconditioner, iterations=count, tolerance=1e-14),
        line_search=False,
        initialization="previous",
        hessian="clamp",
    )
    sim = pdgpu.Simulation(scene, solver, contact=contact, dt=1 / 100)
    x = sim.positions.copy()
    free = np.repeat(sim._core.fixed == 0, 3)
    g, H = sim.gradient().ravel()[free], sim.hessian(psd=True).tocsr()[free][:, free]
    half = len(x) // 2
    coupling = sim.hessian(psd=True).tocsr()[: 3 * half, 3 * half :]
    assert np.abs(coupling.data).max() > 1.0  # pairs couple the cubes
    neighbours = pattern_of(sim, free)
    sim.step()
    moved = (sim.positions - x).ravel()[free]
    expected = -textbook(H, g, preconditioner, count, free, x, neighbours)
    part = (moved @ expected) / (expected @ expected)  # the step limiter may shorten the move
    assert 0 < part <= 1 + 1e-12
    np.testing.assert_allclose(moved, part * expected, atol=1e-10 * np.abs(moved).max())
