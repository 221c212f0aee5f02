"""Counts of work against counts by hand, from the formulas of the iterations."""

import dataclasses
import itertools

import numpy as np
import own_solvers
import pytest
import scenes

import pdgpu
from pdgpu._internal.counts import COUNTS, DEVICE_COUNTS

N = 4  # iterations


def bar(solver, stretch=1.1, cells=(4, 1, 1), **options):
    """A simulation of a bar, by default of 24 tets, stretched, with one end pinned."""
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=cells)
    scene, _ = scenes.bar((mesh.points, mesh.tets), 1e5)
    sim = pdgpu.Simulation(scene, dataclasses.replace(solver, initialization="previous"), dt=1 / 30, **options)
    sim.set_state(positions=mesh.points * [stretch, 1.0, 1.0])
    return sim


def counts(record, row=-1):
    """Name -> count of one row, without zeros."""
    return {name: int(record[name][row]) for name in COUNTS if record[name][row]}


def rows(solver, **by_hand):
    """The record of a step whose row k has `by_hand(k)` of each count named, and 0 of the others."""
    record = bar(solver).step(record=True)
    for k in range(N + 1):
        assert counts(record, k) == {name: count(k) for name, count in by_hand.items() if count(k)}, k
    return record


def test_projective_dynamics_with_a_factor():
    """If not, a local step and a solve per iteration are not what a comparison calls the cost of Projective Dynamics."""
    once = {"factorizations": lambda k: 1}  # of the setup
    rows(pdgpu.ProjectiveDynamics(iterations=N), projections=lambda k: k, solves=lambda k: k, **once)
    sim = bar(pdgpu.ProjectiveDynamics(iterations=N))
    sim.step()
    assert counts(sim.step(record=True)) == {"projections": N, "solves": N}  # the factor stays


def test_the_search_for_rho_hides_no_setup():
    """If it did, a solver with rho="auto" would factorise for nothing."""
    record = bar(pdgpu.ProjectiveDynamics(iterations=30, chebyshev=pdgpu.Chebyshev(start=2))).step(record=True)
    assert counts(record) == {"projections": 30, "solves": 30, "factorizations": 1}


def test_chebyshev_and_jacobi():
    """If not, sweeps over the rows of A are called products or are missing."""
    jacobi = pdgpu.Jacobi(weight=0.6, iterations=5)
    rows(
        pdgpu.ProjectiveDynamics(iterations=N, linear=jacobi, chebyshev=pdgpu.Chebyshev(rho=0.9, start=2)),
        projections=lambda k: k,
        sweeps=lambda k: 5 * k,
    )


@pytest.mark.parametrize(
    ("linear", "sweeps", "products"),
    [
        (pdgpu.GaussSeidel(iterations=3), 3, 0),
        (pdgpu.SymmetricGaussSeidel(iterations=3), 6, 0),
        (pdgpu.PCG(iterations=6), 0, 6),
        (pdgpu.PCG(iterations=3, preconditioner="chebyshev", degree=4), 0, 3 + 4 * 3),  # M is applied before the first iteration, too
        (pdgpu.PCG(iterations=6, preconditioner="multilevel"), 0, 6),
        (pdgpu.PCG(iterations=3, preconditioner="amg"), 0, 3),  # the bar is one domain: no cycle
        (pdgpu.AJacobi(order=2, weight=0.6, iterations=3), 2, 2),  # the first iteration is the constant term
        (pdgpu.AJacobi(order=2, weight=0.6, suppression=0.05, iterations=3), 0, 6),
    ],
    ids=["gauss-seidel", "symmetric", "pcg", "pcg chebyshev", "pcg multilevel", "pcg amg", "a-jacobi", "suppressed"],
)
def test_linear_solvers(linear, sweeps, products):
    """If not, two linear solvers of a global step are compared by numbers that mean different work."""
    by_hand = {"projections": lambda k: k, "sweeps": lambda k: sweeps * k, "products": lambda k: products * k}
    rows(pdgpu.ProjectiveDynamics(iterations=N, linear=linear), **by_hand)


def test_newton_with_a_factor():
    """If not, an iteration is not a gradient, a Hessian, a factorisation and a solve."""
    each = dict.fromkeys(("gradients", "hessians", "factorizations", "solves"), lambda k: k)
    rows(pdgpu.Newton(iterations=N, linear=pdgpu.Direct(), line_search=False), **each)
    # a line search that takes the whole step asks for G where it begins and where it ends
    record = bar(pdgpu.Newton(iterations=2, linear=pdgpu.Direct())).step(record=True)
    assert counts(record, 2) == dict.fromkeys(("gradients", "hessians", "factorizations", "solves"), 2) | {"potentials": 4}


def conjugate_gradients(H, b, tolerance):
    """Iterations that conjugate gradients with the diagonal blocks as their preconditioner take [Golub and Van Loan 1996, 10.3.1]."""
    blocks = np.linalg.inv([H[i : i + 3, i : i + 3] for i in range(0, len(H), 3)])
    r, p, rz, k = b.copy(), np.zeros_like(b), 0.0, 0
    while np.linalg.norm(r) > tolerance * np.linalg.norm(b):
        z = np.einsum("nij,nj->ni", blocks, r.reshape(-1, 3)).ravel()
        before, rz = rz, r @ z
        p = z + (rz / before if k else 0.0) * p
        q = H @ p
        r = r - rz / (p @ q) * q
        k += 1
    return k


@pytest.mark.parametrize("check_every", [1, 8])
def test_inexact_newton(check_every):
    """If not, iterations between two looks at the end are counted as if they had been run, and CUDA differs from the CPU."""
    solver = pdgpu.Newton(iterations=3, linear=pdgpu.PCG(iterations=200, tolerance=1e-3, preconditioner="block"), line_search=False)
    sim = bar(dataclasses.replace(solver, check_every=check_every))
    start = bar(solver)
    record = sim.step(record="positions")
    free = np.repeat(~np.isclose(start.positions[:, 0], 0.0), 3)
    by_hand = 0
    for k, x in enumerate(record.positions[:-1]):
        H = start.hessian(x, psd=False).toarray()[free][:, free]
        by_hand += conjugate_gradients(H, start.gradient(x).ravel()[free], 1e-3)
        assert counts(record, k + 1) == {"products": by_hand, "gradients": k + 1, "hessians": k + 1}
    assert by_hand > 3 * 5


def test_newton_that_chooses_between_blocks_and_a_factor():
    """If not, solves with the last factor as a preconditioner, or products before there is one, are lost or counted twice."""
    record = bar(pdgpu.Newton(iterations=6, linear="auto"), stretch=1.3, cells=(12, 4, 4)).step(record=True)
    found = [counts(record, k) for k in range(record.iteration + 1)]
    kinds = set()
    for before, after in itertools.pairwise(found):
        factors, solves, products = (after.get(name, 0) - before.get(name, 0) for name in ("factorizations", "solves", "products"))
        kind = "factor" if factors else "by factor" if solves else "by blocks"
        kinds.add(kind)
        if kind == "by factor":  # a solve to begin with, and one after each product but the last
            assert solves == products > 0 and before["factorizations"] > 0
        elif kind == "by blocks":
            assert products > 0 and "factorizations" not in before
        else:
            assert solves >= 1
    assert kinds >= {"factor", "by factor"}


def test_vertex_block_descent_and_its_kin():
    """If not, a sweep over the vertices is counted by vertices or colours."""
    rows(pdgpu.VertexBlockDescent(iterations=N), sweeps=lambda k: k)
    rows(pdgpu.BlockJacobi(iterations=N, line_search=False), sweeps=lambda k: k)
    rows(pdgpu.XPBD(iterations=N), sweeps=lambda k: k)


def test_quasi_newton():
    """If not, L-BFGS has other costs than a gradient, a solve and a line search an iteration."""
    each = {"gradients": lambda k: k, "solves": lambda k: k, "factorizations": lambda k: 1}
    rows(pdgpu.QuasiNewton(iterations=N, line_search=False), **each)
    record = bar(pdgpu.QuasiNewton(iterations=2)).step(record=True)
    assert counts(record) == {"gradients": 2, "solves": 2, "factorizations": 1, "potentials": 4}


def test_nonlinear_conjugate_gradients():
    """If not, the product A p that finds the step length is missing."""
    each = {"gradients": lambda k: k, "products": lambda k: k, "sweeps": lambda k: k}
    rows(pdgpu.NonlinearCG(iterations=N), **each)


@pytest.mark.parametrize(
    ("built_in", "own"),
    [
        (pdgpu.ProjectiveDynamics(iterations=N), own_solvers.OwnProjectiveDynamics(iterations=N)),
        (pdgpu.QuasiNewton(iterations=N), own_solvers.OwnQuasiNewton(iterations=N)),
    ],
    ids=["projective dynamics", "quasi-newton"],
)
def test_an_own_solver_counts_as_the_built_in_one(built_in, own):
    """If not, a method written in Python seems cheaper than the same method in C."""
    built_in, own = (counts(bar(solver).step(record=True)) for solver in (built_in, own))
    assert own == built_in


class Asking(pdgpu.CustomSolver):
    """Asks for everything once."""

    def iterate(self, step):
        step.potential()
        step.gradient()
        step.gradient()  # of the same iterate: no work
        step.gradient(step.x + 1e-3)
        step.hessian()
        step.hessian_product(np.ones_like(step.x))
        step.diagonal()
        step.local_step(step.x + 1e-3)
        step.global_solve(step.gradient())


def test_each_question_of_an_own_solver():
    """If not, a question of step.* is free of charge."""
    record = bar(Asking(iterations=1)).step(record=True)
    once = dict.fromkeys(("potentials", "products", "projections", "factorizations", "solves"), 1)
    assert counts(record) == once | {"gradients": 2, "hessians": 3}


@pytest.mark.parametrize("solver", ["newton", "newton_cg", "quasi_newton", "vbd", "direct", "cg", "xpbd", "admm"])
def test_neither_threads_nor_records_count(solver):
    """If they did, a cost would depend on the machine, or on who watches."""
    solver = dataclasses.replace(scenes.SOLVERS[solver], iterations=6)
    records = [bar(solver, threads=threads).step(record=True) for threads in (1, 2)]
    for name in COUNTS:
        np.testing.assert_array_equal(records[0][name], records[1][name])
    # a tolerance asks for G and its gradient after every iteration, a sparse record for fewer rows
    strict = bar(dataclasses.replace(solver, tolerance=1e-30)).step(record=True)
    if strict.iteration == records[0].iteration:
        assert counts(strict) == counts(records[0])
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(4, 1, 1))
    scene, _ = scenes.bar((mesh.points, mesh.tets), 1e5)
    start = mesh.points * [1.1, 1.0, 1.0], None
    full, sparse = (
        pdgpu.compare(scene, {"it": solver}, dt=1 / 30, start=start, reference=None, rows_per_decade=rows)["it"] for rows in (None, 1)
    )
    assert len(sparse["iteration"]) < len(full["iteration"]) and counts(sparse) == counts(full) == counts(records[0])
    assert all(np.all(full[name] == 0) for name in DEVICE_COUNTS)


# ---- contact ------------------------------------------------------------------------------------------------------------------------


def falling_points(n=5):
    """Grains a hand's breadth above the floor."""
    scene = pdgpu.Scene()
    points = np.column_stack([0.2 * np.arange(n), np.full(n, 0.1), np.zeros(n)])
    scene.add_particles(points, mass=1e-3)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    return scene


@pytest.mark.parametrize(("speed", "long"), [(0.01, 0), (1.0, 1)])
@pytest.mark.parametrize(
    ("solver", "own"),
    [
        (pdgpu.ProjectiveDynamics(iterations=3), {"projections": 3, "solves": 3, "factorizations": 1}),
        (pdgpu.Newton(iterations=3, linear=pdgpu.Direct()), {"gradients": 3, "hessians": 3, "factorizations": 3, "solves": 3}),
    ],
    ids=["projective dynamics", "newton"],
)
def test_grains_above_a_floor(solver, own, speed, long):
    """If not, times of impact are counted by calls or candidates of a list, or computed for moves that displacement bounds certify."""
    n = 5
    solver = dataclasses.replace(solver, initialization="previous")
    sim = pdgpu.Simulation(falling_points(n), solver, dt=1 / 100, contact=pdgpu.BarrierContact(distance=1e-2))
    sim.set_state(velocities=np.tile([0.0, -speed, 0.0], (n, 1)))
    record = sim.step(record=True)
    # each grain and the floor, for the first guess and for a move of 1 cm; 1.1 mm and the corrections after it are short
    expected = np.full(record.iteration + 1, n * (1 + long))
    expected[0] = n
    np.testing.assert_array_equal(record["ccd_pairs"], expected)
    np.testing.assert_array_equal(record["searches"], expected / n)  # a pair list holds for a short move
    found = counts(record)
    if record.iteration == 3:
        assert {name: found.get(name, 0) for name in own} == own


class Limiting(pdgpu.CustomSolver):
    """Asks how far one move may go."""

    def iterate(self, step):
        self.x, self.d = step.x, np.zeros_like(step.x)
        self.d[:, 1] = -0.3
        step.limit(self.d)


def boxes_that_meet(x, end, triangles, grains, margin):
    """Grain-triangle pairs whose boxes of the whole way meet, each wider by the margin: by brute force."""
    low, high = np.minimum(x, end) - margin, np.maximum(x, end) + margin
    found = 0
    for triangle in triangles:
        below, above = low[triangle].min(axis=0), high[triangle].max(axis=0)
        found += sum(bool((low[g] <= above).all() and (high[g] >= below).all()) for g in grains)
    return found


def test_pairs_of_a_way_by_brute_force():
    """If not, the pairs of a time of impact are not those whose boxes meet."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    rng = np.random.default_rng(3)
    grains = scene.add_particles(np.column_stack([rng.uniform(0, 1, 30), rng.uniform(0.02, 0.3, 30), rng.uniform(0, 1, 30)]), mass=1e-3)
    flat = pdgpu.shapes.grid((1.0, 1.0), cells=(7, 7))
    points = flat.points[:, [0, 2, 1]]
    scene.add_obstacle(pdgpu.Mesh(points, triangles=flat.triangles), name="sheet")
    contact = pdgpu.BarrierContact(distance=1e-2)
    sim = pdgpu.Simulation(scene, Limiting(iterations=1), dt=1 / 100, contact=contact)
    x = sim.positions
    record = sim.step(record=True)
    x = np.vstack([x, points])
    end = x.copy()
    end[: len(sim.positions), 1] -= 0.3
    margin = 0.5 * contact.separation + contact.distance / 16
    by_hand = boxes_that_meet(x, end, flat.triangles + len(sim.positions), range(grains.slice.start, grains.slice.stop), margin)
    assert np.diff(record["ccd_pairs"]).tolist() == [by_hand] and by_hand > 30


def test_a_record_searches_for_nothing():
    """If it did, a watched step would search more often than an unwatched one."""
    searches = []
    for rows_per_decade in (None, 1):
        scene = falling_points()
        start = None, np.tile([0.0, -3.0, 0.0], (5, 1))
        solver = pdgpu.VertexBlockDescent(iterations=30)
        record = pdgpu.compare(
            scene,
            {"it": solver},
            dt=1 / 20,
            start=start,
            contact=pdgpu.BarrierContact(distance=1e-3),
            reference=None,
            rows_per_decade=rows_per_decade,
        )["it"]
        searches.append([int(record[name][-1]) for name in ("searches", "ccd_pairs", "sweeps")])
    assert searches[0] == searches[1] and searches[0][0] >= 1


# ---- tables -------------------------------------------------------------------------------------------------------------------------


def test_tables_have_the_counts():
    """If not, a study has to read the records for the cost of its solvers."""
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(4, 1, 1))
    scene, _ = scenes.bar((mesh.points, mesh.tets), 1e5)
    solvers = {"PD": pdgpu.ProjectiveDynamics(iterations=3), "VBD": pdgpu.VertexBlockDescent(iterations=3)}
    start = mesh.points * [1.1, 1.0, 1.0], None
    comparison = pdgpu.compare(scene, solvers, dt=1 / 30, start=start)
    _, counted = comparison.table().split("\n\n")
    head, _, first, second = (line.split() for line in counted.splitlines())
    assert head == ["solver", "factorizations", "solves", "projections", "sweeps"]
    assert first == ["PD", "1", "3", "3", "0"] and second == ["VBD", "0", "0", "0", "3"]
    assert "<th" in comparison._repr_html_() and ">factorizations</th>" in comparison._repr_html_()
    pytest.importorskip("pandas", reason="pandas is not installed: no DataFrame is made")
    frame = comparison.to_dataframe()
    assert frame["projections"].tolist() == [0, 1, 2, 3, 0, 0, 0, 0] and frame["sweeps"].dtype == np.int64

    def compared(factor):
        return pdgpu.compare(scene, solvers, dt=1 / 30, start=(mesh.points * [factor, 1.0, 1.0], None))

    assert pdgpu.sweep(compared, {"factor": [1.1, 1.2]}).to_dataframe()["solves"].tolist() == [3, 0, 3, 0]


def test_records_of_an_earlier_version():
    """If not, a pickle without counts cannot be shown any more."""
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(4, 1, 1))
    scene, _ = scenes.bar((mesh.points, mesh.tets), 1e5)
    comparison = pdgpu.compare(scene, {"PD": pdgpu.ProjectiveDynamics(iterations=3)}, dt=1 / 30)
    for name in (*COUNTS, *DEVICE_COUNTS):
        del comparison["PD"]._columns[name]
    assert comparison.table().splitlines()[0].endswith("gradient norm") and "\n\n" not in comparison.table()
    with pytest.raises(ValueError, match="measure: the record of 'PD' has no 'products': an earlier version made it; run it again"):
        comparison.to_reach([1e-2], "products")
    pytest.importorskip("pandas", reason="pandas is not installed: no DataFrame is made")
    assert comparison.to_dataframe()["solves"].isna().all() and len(comparison.to_reach([1e-2])) == 1
