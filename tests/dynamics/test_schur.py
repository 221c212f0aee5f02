"""SchurDirect: the partition, the three steps of a solve, the nested iteration, and what is refused."""

import inputs
import numpy as np
import pytest
import scipy.sparse
from schur_oracle import algorithm_1

import pdgpu

MU = 1e5


def block(cells=(16, 5, 5), dx=0.05):
    """A bar of the tables (numerics: D), its inner vertices moved."""
    points, tets = inputs.kuhn_grid(*cells, dx)
    return pdgpu.Mesh(inputs.jitter(points, cells, dx, 0.2), tets=tets)


def tip(points):
    return (points[:, 0] > 0.5) & (points[:, 1] < 0.13)


def bar(mesh, copies=1):
    """Bars held at one end; with more, one beside the other, and particles that no element joins to anything."""
    scene = pdgpu.Scene()
    for k in range(copies):
        moved = pdgpu.Mesh(mesh.points + [0, 0, 0.5 * k], tets=mesh.tets)
        scene.add_solid(moved, pdgpu.ARAP(mu=MU), density=1000.0, name=f"bar{k}").pin(lambda points: points[:, 0] < 1e-9)
    return scene


def bent(points):
    return points * [1.2, 1.0, 1.0] + np.stack([0 * points[:, 0], 0.3 * np.sin(3 * points[:, 0]), 0.1 * points[:, 0] ** 2], axis=1)


def simulate(scene, linear, iterations=6, dt=None, **options):
    sim = pdgpu.Simulation(
        scene, pdgpu.ProjectiveDynamics(iterations=iterations, linear=linear, initialization="previous"), dt=dt, **options
    )
    sim.set_state(positions=bent(scene.rest_positions()))
    return sim


def iterates(sim):
    sim.step(record="positions")
    return np.array(sim.last_step.positions, dtype=np.float64)


def distance(first, second):
    return np.abs(first - second).max() / np.abs(second).max()


def test_schur_complement_is_the_one_of_the_matrix():
    """A wrong Sigma answers every contact with the wrong stiffness."""
    scene = bar(block((6, 3, 3)), copies=2)  # two components, one without a row in the region
    scene.add_particles([[5.0, 0.0, 0.0], [5.0, 1.0, 0.0]], mass=0.5)
    A = pdgpu.Simulation(scene, dt=1 / 30).system_matrix(free=True)
    generator = np.random.default_rng(0)
    for region in (generator.permutation(np.arange(20, 70)), np.array([3]), np.arange(A.shape[0] - 60, A.shape[0])):
        rest = np.setdiff1d(np.arange(A.shape[0]), region)
        contact = scipy.sparse.random(5, len(region), 0.2, random_state=1).toarray()
        A22, A21, A11 = (A[rows][:, columns].toarray() for rows, columns in ((region, region), (region, rest), (rest, rest)))
        expected = A22 - A21 @ np.linalg.solve(A11, A21.T)
        sigma = pdgpu.linear.schur_complement(A, region)
        assert np.abs(sigma - expected).max() <= 1e-12 * np.abs(expected).max()
        np.testing.assert_array_equal(sigma, sigma.T)
        # with contact: the complement of K + W^T C W is Sigma + C22 [Wang et al. 2021, Sec. 4.4]
        added = 1e4 * contact.T @ contact
        assert np.abs((A22 + added - A21 @ np.linalg.solve(A11, A21.T)) - (sigma + added)).max() <= 1e-12 * np.abs(expected).max()
        assert np.linalg.eigvalsh(sigma)[0] > 0.0


@pytest.mark.parametrize("dt", [None, 1 / 30])
def test_one_inner_iteration_is_the_whole_global_step(dt):
    """Every iteration, not the last: as printed, Algorithm 1 converges too, and its first step is wrong by as much as its size."""
    scene = bar(block(), copies=2)
    scene["bar1"].attach([80, 81], [0.4, 0.3, 0.5], stiffness=300.0)
    region = np.flatnonzero(tip(scene.rest_positions()) | (scene.rest_positions()[:, 0] < 0.06))  # pinned vertices too, in both bodies
    schur, direct = (simulate(scene, linear, dt=dt) for linear in (pdgpu.SchurDirect(region, inner=1), pdgpu.Direct()))
    added = np.zeros(scene.n_vertices)
    added[schur.solver.linear.prone(scene)] = np.random.default_rng(0).uniform(0.0, 2e4, len(schur.solver.linear.region))
    for diagonal in (None, added, None):  # without contact, with what it adds to the diagonal, and when it has gone
        for sim in (schur, direct):
            sim._core.backend.set_diagonal(diagonal)
            sim.set_state(positions=bent(scene.rest_positions()))
        for one, other in zip(iterates(schur), iterates(direct), strict=True):
            assert distance(one, other) <= 1e-12
    assert schur.parameters["schur"]["factorizations"] == 3


@pytest.mark.parametrize("dt", [None, 1 / 30])
def test_a_region_that_cuts_all_anchors_off(dt):
    """It is no error: the safe vertices behind it are held by the region, as A11 has it, and the region by the anchors. If not, a whole
    body would be refused, or its loose half would be a singular matrix."""
    scene = bar(block())
    points, tets = scene.rest_positions(), scene["bar0"].mesh.tets
    cuts = (points[:, 0] > 0.26) & (points[:, 0] < 0.44)  # all the way through, wider than a tet
    next_to = np.isin(np.arange(len(points)), tets[(scene.fixed()[tets] != 0).any(axis=1)])  # every vertex beside an anchor
    for region in (np.flatnonzero(cuts), np.flatnonzero(next_to), np.flatnonzero(cuts | next_to)):
        schur, direct = (simulate(scene, linear, dt=dt) for linear in (pdgpu.SchurDirect(region, inner=1), pdgpu.Direct()))
        free = np.flatnonzero(scene.fixed() == 0)
        sigma = pdgpu.linear.schur_complement(schur.system_matrix(free=True), np.flatnonzero(np.isin(free, region)))
        assert np.linalg.eigvalsh(sigma)[0] > 0.0
        for one, other in zip(iterates(schur), iterates(direct), strict=True):
            assert distance(one, other) <= 1e-12


@pytest.mark.parametrize("inner", [1, 2, 3, 7])
def test_iterates_are_those_of_algorithm_1(inner):
    """The nested iteration as the paper means it, held against a program of its own, with elements between pinned and prone vertices."""
    scene = bar(block((8, 3, 3)), copies=2)
    points = scene.rest_positions()
    region = (points[:, 0] > 0.2) & (points[:, 1] < 0.08) | (points[:, 0] < 0.06)
    linear = pdgpu.SchurDirect(region, inner=inner)
    sim = simulate(scene, linear, iterations=4)
    found = iterates(sim)
    prone = linear.prone(scene)
    expected = algorithm_1(sim, scene, prone, bent(points), 4, inner)
    for one, other in zip(found, expected, strict=True):
        assert distance(one, other) <= 1e-11
    # the reference sees the misprint of step 5: one iteration of it is wrong by as much as it moves
    printed = algorithm_1(sim, scene, prone, bent(points), 1, inner, corrected=False)
    assert distance(printed[1], found[1]) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("contact", ["springs", "floor"])
def test_energy_never_grows_and_inner_iterations_saturate(contact):
    """G falls with contact that stays, and with a floor that pushes whom it finds below it, again in each inner iteration. Those gain what
    numerics (D) says: at most about half, with three nearly all of it; with contact that stays nothing to speak of."""
    mesh = block()
    scene = bar(mesh)
    region = np.flatnonzero((mesh.points[:, 0] > 0.3) & (mesh.points[:, 1] < 0.13))
    if contact == "springs":
        scene["bar0"].attach(region[::3], mesh.points[region[::3]] + [0.0, 0.02, 0.0], stiffness=2e3)
    else:
        scene.set_world_box((-np.inf, 0.0, -np.inf), (np.inf, np.inf, np.inf), 2e3)
    solvers = {
        inner: pdgpu.ProjectiveDynamics(iterations=100, linear=pdgpu.SchurDirect(region, inner), initialization="previous")
        for inner in (1, 3, 5, 20)
    }
    comparison = pdgpu.compare(scene, {str(inner): solver for inner, solver in solvers.items()}, dt=None, start=(mesh.points, None))
    counts = {}
    for inner in solvers:
        record = comparison.records[str(inner)]
        energy = record["incremental_potential"]
        assert (np.diff(energy) <= 1e-12 * np.abs(energy[0])).all()
        counts[inner] = int(np.argmax(record["relative_loss"] <= 1e-4))
    assert counts[1] >= counts[3] >= counts[5] >= counts[20] > 5
    assert counts[1] <= 1.5 * counts[20]
    assert counts[3] <= 1.08 * counts[20]
    assert (counts[1] >= 1.15 * counts[3]) == (contact == "floor")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bits_do_not_depend_on_threads_and_survive_a_file(dtype, tmp_path):
    """The same answer on every machine, and after a stop."""
    scene = bar(block((20, 8, 8)))
    runs = [simulate(scene, pdgpu.SchurDirect(tip, inner=3), dt=1 / 30, dtype=dtype, threads=threads) for threads in (1, 2, 3)]
    for sim in runs:
        sim.step(2)
    runs[0].save(tmp_path / "run.npz")
    resumed = pdgpu.Simulation.load(tmp_path / "run.npz")
    assert resumed.solver == runs[0].solver
    for sim in (*runs, resumed):
        sim.step(2)
    for other in (*runs[1:], resumed):
        np.testing.assert_array_equal(other.positions, runs[0].positions)
    reference = simulate(scene, pdgpu.SchurDirect(tip, inner=3), dt=1 / 30)
    reference.step(4)
    assert distance(runs[0].positions, reference.positions) <= (1e-5 if dtype == "float32" else 0.0)


def test_a_cut_carries_the_region():
    """A torn cloth goes on with the copies of its vertices in the region."""
    mesh = pdgpu.shapes.grid((1, 1), cells=(8, 8))

    def cut(linear):
        scene = pdgpu.Scene()
        scene.add_shell(mesh, pdgpu.Spring(1e3), density=0.2, name="cloth").pin(lambda points: points[:, 1] > 0.99)
        sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=4, linear=linear), dt=1 / 60)
        sim.step(2)
        middle = np.flatnonzero(np.abs(mesh.points[:, 0] - 0.5) < 1e-9)
        middle = middle[np.argsort(mesh.points[middle, 1])][:5]
        new = sim.cut("cloth", np.stack([middle[:-1], middle[1:]], axis=1)).new_vertices
        sim.step(2)
        return sim, new

    schur, new = cut(pdgpu.SchurDirect(lambda points: points[:, 1] < 0.6, inner=1))
    direct, _ = cut(pdgpu.Direct())
    assert len(new) and set(new) <= set(schur.solver.linear.region)
    assert distance(schur.positions, direct.positions) <= 1e-12


def test_region_near_points_is_whole_elements():
    """What is near the points on the surface, and the tets that hold it: as embedded proxies need."""
    mesh = block((6, 4, 4))
    scene = bar(mesh)
    linear = pdgpu.SchurDirect([[0.3, 0.0, 0.1]], distance=0.06)
    prone = linear.prone(scene)
    near = np.linalg.norm(mesh.points - [0.3, 0.0, 0.1], axis=1) <= 0.06
    surface = np.zeros(len(near), dtype=bool)
    surface[np.unique(mesh.surface)] = True
    expected = np.unique(mesh.tets[(near & surface)[mesh.tets].any(axis=1)])
    np.testing.assert_array_equal(prone, expected[scene.fixed()[expected] == 0])


@pytest.mark.parametrize(("cells", "m"), [((16, 5, 5), 64), ((16, 5, 5), 65), ((16, 5, 5), 300), ((22, 9, 9), 1700)])
def test_blocks_of_the_dense_factor(cells, m):
    """If not, columns beside or between two blocks are factorised wrongly."""
    scene = bar(block(cells))
    region = np.flatnonzero(scene.fixed() == 0)[-m:]
    schur, direct = (simulate(scene, linear, iterations=2) for linear in (pdgpu.SchurDirect(region, inner=1), pdgpu.Direct()))
    added = np.zeros(scene.n_vertices)
    added[region] = np.random.default_rng(0).uniform(0.0, 2e4, m)
    for sim in (schur, direct):
        sim._core.backend.set_diagonal(added)
    for one, other in zip(iterates(schur), iterates(direct), strict=True):
        assert distance(one, other) <= 1e-12


def floor_scene():
    scene = pdgpu.Scene()
    mesh = block((4, 3, 3))
    scene.add_solid(pdgpu.Mesh(mesh.points + [0, 0.004, 0], tets=mesh.tets), pdgpu.ARAP(mu=MU), density=1000.0)
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)), name="floor")
    return scene


@pytest.mark.parametrize(
    "contact",
    [
        pdgpu.BarrierContact(0.01, stiffness=1e4, area_weighted=False),
        pdgpu.PenaltyContact(stiffness=1e4, distance=0.01),
        pdgpu.ProjectiveContact(0.01),
    ],
    ids=lambda contact: type(contact).__name__,
)
def test_contact_on_the_region_and_off_it(contact):
    """The laws that exist act through the diagonal of the region; what would act elsewhere is named and not left out."""
    scene = floor_scene()

    def run(linear):
        solver = pdgpu.ProjectiveDynamics(iterations=150, linear=linear)
        sim = pdgpu.Simulation(scene, solver, dt=1 / 60, contact=contact)
        sim.step(3)
        return sim.positions

    schur = run(pdgpu.SchurDirect(lambda points: points[:, 1] < 0.06, inner=3))
    assert schur[:, 1].min() > -1e-3
    np.testing.assert_allclose(schur, run(pdgpu.Direct()), atol=2e-4)
    with pytest.raises(ValueError, match=r"vertex \d+ is in contact, but not in the region of SchurDirect"):
        run(pdgpu.SchurDirect(lambda points: points[:, 1] > 0.1))


def test_two_factors_with_all_of_the_region_active():
    """If not, a rival with two prefactored matrices [Komaritzan and Botsch 2018] is verified by something else, or finds another answer."""
    scene = bar(block())
    region = np.flatnonzero(tip(scene.rest_positions()))
    two, direct = (simulate(scene, linear) for linear in (pdgpu.SchurDirect(region, inner=1, active=2e4), pdgpu.Direct()))
    some, all_of_it = np.zeros(scene.n_vertices), np.zeros(scene.n_vertices)
    some[two.solver.linear.prone(scene)[:3]] = [2e4, 1.0, 5.0]
    all_of_it[two.solver.linear.prone(scene)] = 2e4
    for given, counted in ((None, None), (some, all_of_it), (np.zeros(scene.n_vertices), None), (all_of_it, all_of_it)):
        for sim, diagonal in ((two, given), (direct, counted)):
            sim._core.backend.set_diagonal(diagonal)
            sim.set_state(positions=bent(scene.rest_positions()))
        for one, other in zip(iterates(two), iterates(direct), strict=True):
            assert distance(one, other) <= 1e-12
    assert two.parameters["schur"]["factorizations"] == 2 and two.parameters["schur"]["bytes"] == 40 * len(two.solver.linear.region) ** 2
    some[two.solver.linear.region[1]] = 2.1e4
    with pytest.raises(ValueError, match=rf"active: contact adds 21000 N/m at vertex {two.solver.linear.region[1]}, .* was given 20000"):
        two._core.backend.set_diagonal(some)
    assert repr(two.solver.linear).endswith("inner=1, active=20000)")


def test_two_factors_answer_contact(tmp_path):
    """If not, what is near contact and not in it is held back for good and not for an iteration, or a file forgets how it was solved."""
    contact, found = pdgpu.PenaltyContact(stiffness=1e4, distance=0.01), []
    for active in (1e5, None):
        linear = pdgpu.SchurDirect(lambda points: points[:, 1] < 0.06, inner=1, active=active)
        sim = pdgpu.Simulation(floor_scene(), pdgpu.ProjectiveDynamics(iterations=400, linear=linear), dt=1 / 60, contact=contact)
        sim.step(2)
        found.append(sim.positions)
        sim.save(tmp_path / "run")
        assert pdgpu.Simulation.load(tmp_path / "run").solver == sim.solver
    np.testing.assert_allclose(*found, atol=1e-4)


def test_what_cannot_be_is_refused_with_its_numbers(monkeypatch):
    """Before anything is computed, and with what to do instead."""
    scene = bar(block((4, 2, 2)))

    def refuse(error, match, region, scene=scene, **options):
        with pytest.raises(error, match=match):
            simulate(scene, pdgpu.SchurDirect(region, **options))

    refuse(ValueError, "region: it is empty", [])
    refuse(ValueError, "region: all of its 9 vertices are pinned", lambda points: points[:, 0] < 1e-9)
    refuse(ValueError, "region: all 36 free vertices are in it", np.ones(45, dtype=bool))
    refuse(ValueError, "region: index 45 at 1 is out of range for 45 vertices", [3, 45])
    refuse(ValueError, r"region: a mask must have shape \(45,\), got \(44,\)", np.ones(44, dtype=bool))
    refuse(TypeError, "region: expected vertices, .* got dtype float64; points need a distance", np.zeros((2, 3)))
    refuse(TypeError, "region: the callable must return a boolean mask", lambda points: points[:, 0])
    refuse(ValueError, "region: it is empty", [[9.0, 9.0, 9.0]], distance=0.1)
    refuse(ValueError, "distance: must be greater than 0", [[9.0, 9.0, 9.0]], distance=0.0)
    refuse(ValueError, "inner: must be at least 1, got 0", [1], inner=0)
    monkeypatch.setattr("pdgpu.linear.schur._available_memory", lambda: 8_000)
    refuse(MemoryError, "the Schur complement of 16 vertices needs 8192 bytes, and 8000 are available", np.arange(20, 40))
    monkeypatch.undo()
    held = bar(block((4, 2, 2)))
    held["bar0"].slide([20], line=(1, 0, 0))
    refuse(ValueError, "slide: .*SchurDirect.* cannot hold vertices on a line or plane", [30, 31], scene=held)
    loose = pdgpu.Scene()
    loose.add_solid(block((4, 2, 2)), pdgpu.ARAP(mu=MU), density=1000.0, name="loose")
    refuse(ValueError, "loose", [30, 31], scene=loose)
    with pytest.raises(TypeError, match="linear: Newton takes"):
        pdgpu.Newton(linear=pdgpu.SchurDirect([1]))
    for region, match in (
        ([1, 1], "1 of its 2 rows occur twice"),
        ([], "expected 1 to 4 of 5 rows, got 0"),
        (range(5), "expected 1 to 4 of 5 rows, got 5"),
    ):
        with pytest.raises(ValueError, match=match):
            pdgpu.linear.schur_complement(scipy.sparse.eye(5, format="csr"), list(region))
    with pytest.raises(RuntimeError, match="not positive definite at row 1 of 3"):
        pdgpu.linear.schur_complement([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [2])


def test_cost_is_said_before():
    """Bytes and time of the dense part, which a region of many vertices makes large."""
    scene = bar(block())
    linear = pdgpu.SchurDirect(tip)
    said = linear.cost(scene)
    sim = simulate(scene, linear)
    done = sim.parameters["schur"]
    assert (said["prone"], said["safe"]) == (done["prone"], done["safe"]) == (110, 466)
    assert said["bytes"] == 32 * 110**2 >= done["bytes"] == 24 * 110**2
    assert said["flops"] == 110**3 / 3 and 0.0 < said["seconds"] < 1.0
    assert repr(sim.solver.linear) == "SchurDirect(<110 vertices>, inner=3)"
