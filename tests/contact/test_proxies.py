"""Contact by proxies: the matrix W^T C W in every linear solver, its gradient, detection, and what is refused."""

import dataclasses
import itertools

import inputs
import numpy as np
import pytest
import scipy.sparse

import pdgpu

C, FLOOR = 2e4, 0.01
LINEAR = {
    "direct": pdgpu.Direct(),
    "schur": pdgpu.SchurDirect(lambda points: points[:, 1] < 0.11, inner=1),
    "pcg": pdgpu.PCG(iterations=30),
    "jacobi": pdgpu.Jacobi(iterations=40),
    "gauss-seidel": pdgpu.GaussSeidel(iterations=10),
    "a-jacobi": pdgpu.AJacobi(order=2, iterations=20),
}


def bar_scene(cells=(8, 3, 3), n=120, extrapolate=False, moving=None):
    """A bar of the tables (numerics: D), held at x = 0, with n proxies near its lower side, which begin a little above a floor."""
    points, tets = inputs.kuhn_grid(*cells, 0.05)
    mesh = pdgpu.Mesh(inputs.jitter(points, cells, 0.05, 0.2), tets=tets)
    scene = pdgpu.Scene()
    bar = scene.add_solid(mesh, pdgpu.ARAP(mu=1e5), density=1000.0, name="bar")
    bar.pin(lambda points: points[:, 0] < 1e-9)
    where = np.random.default_rng(1).uniform((0.05, 0.004, 0.01), (mesh.points[:, 0].max() - 0.01, 0.04, 0.14), size=(n, 3))
    where[:, 1] -= 0.02 * extrapolate
    bar.embed(where, name="under", extrapolate=extrapolate)
    scene.add_obstacle(pdgpu.Plane((0.0, FLOOR, 0.0), (0.0, 1.0, 0.0)), moving, name="floor")
    return scene, bar


def simulate(scene, linear, dt=None, iterations=6, detection="iteration", **options):
    contact = pdgpu.ProxyContact("under", stiffness=C, field="floor", detection=detection)
    solver = pdgpu.ProjectiveDynamics(iterations=iterations, linear=linear, initialization="previous")
    return pdgpu.Simulation(scene, solver, dt=dt, contact=contact, **options)


def active_matrix(sim, scene):
    """W^T C W over the free vertices, from what is said outside."""
    W = sim.embedding_matrix("under")[sim.proxies().active]
    free = np.flatnonzero(scene.fixed() == 0)
    return C * (W.T @ W)[free][:, free], free


def test_the_complement_of_the_matrix_with_contact_is_sigma_and_what_contact_adds():
    """If not, the dense part answers contact with the wrong stiffness [Wang et al. 2021, Sec. 4.4]."""
    scene, _ = bar_scene()
    sim = simulate(scene, pdgpu.Direct())
    K = sim.system_matrix(free=True)
    added, free = active_matrix(sim, scene)
    assert sim.proxies().active.sum() > 10 and added.nnz > 100
    region = np.flatnonzero(scene.rest_positions()[free][:, 1] < 0.11)
    sigma, whole = pdgpu.linear.schur_complement(K, region), pdgpu.linear.schur_complement((K + added).tocsr(), region)
    assert np.abs(sigma + added[region][:, region].toarray() - whole).max() <= 1e-12 * np.abs(whole).max()


@pytest.mark.parametrize("extrapolate", [False, True])
@pytest.mark.parametrize("linear", ["direct", "schur"])
def test_every_iteration_is_a_solve_with_the_matrix_of_what_is_active(linear, extrapolate):
    """The first iterations, not the last: a wrong matrix converges too, only later."""
    scene, _ = bar_scene(extrapolate=extrapolate)
    through = simulate(scene, LINEAR[linear])
    through.step(record="positions")
    x, sets = through.last_step.positions, set()
    for k in range(len(x) - 1):
        sim = simulate(scene, pdgpu.Direct())
        sim.set_state(positions=x[k])
        added, free = active_matrix(sim, scene)
        sets.add(sim.proxies().active.tobytes())
        A = (sim.system_matrix(free=True) + added).tocsc()
        expected = x[k].copy()
        expected[free] -= scipy.sparse.linalg.spsolve(A, sim.gradient()[free])
        assert np.abs(x[k + 1] - expected).max() <= 1e-12 * np.abs(expected).max()
    assert len(sets) > 1  # the matrix was another in between


def test_the_gradient_is_that_of_the_energy_and_of_the_springs():
    """If not, the sign before t is the printed one, and a step goes the other way."""
    scene, _ = bar_scene()
    sim, rng = simulate(scene, pdgpu.Direct()), np.random.default_rng(4)
    free = scene.fixed() == 0
    x = sim.positions + 1e-3 * free[:, None] * rng.normal(size=sim.positions.shape)
    sim.set_state(positions=x)
    alone = pdgpu.Simulation(scene, sim.solver, dt=None, contact=pdgpu.ProxyContact("under", stiffness=1e-30, field="floor"))
    alone.set_state(positions=x)
    springs, proxies = sim.gradient() - alone.gradient(), sim.proxies()
    assert 10 < proxies.active.sum() < len(proxies.active)
    np.testing.assert_allclose(springs[free], -proxies.vertex_forces[free], rtol=0, atol=1e-9)
    np.testing.assert_allclose(proxies.targets[proxies.active][:, 1], FLOOR, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(proxies.active, proxies.points[:, 1] < FLOOR)
    energy = 0.5 * C * ((proxies.points - proxies.targets) ** 2).sum()
    assert sim.energies()["contact"] == pytest.approx(energy, rel=1e-12)
    for _ in range(3):
        d = free[:, None] * rng.normal(size=x.shape)
        slope = (sim.incremental_potential(x + 1e-7 * d) - sim.incremental_potential(x - 1e-7 * d)) / 2e-7
        assert slope == pytest.approx(np.vdot(sim.gradient(), d), rel=1e-5)


@pytest.mark.filterwarnings("ignore:linear. SchurDirect")
@pytest.mark.parametrize("dt", [None, 1 / 60])
@pytest.mark.parametrize("extrapolate", [False, True])
@pytest.mark.parametrize("linear", [*LINEAR, "two factors"])
def test_with_frozen_springs_the_energy_never_grows(linear, extrapolate, dt):
    """If not, the matrix is below the curvature of the springs: for weights of both signs c w_a would be."""
    scene, _ = bar_scene(extrapolate=extrapolate)
    two = dataclasses.replace(LINEAR["schur"], active=1e6)
    sim = simulate(scene, LINEAR.get(linear, two), dt=dt, iterations=30, detection="step")
    for _ in range(3):
        sim.step(record=True)
        energy = sim.last_step["incremental_potential"]
        assert (np.diff(energy) <= 1e-12 * np.abs(energy).max()).all() and energy[-1] < energy[0]


def test_all_solvers_come_to_the_same_state():
    """If not, one of them answers another contact."""
    scene, _ = bar_scene(cells=(5, 3, 3), n=40)
    found = {}
    for name, linear in LINEAR.items():
        region = dataclasses.replace(linear, region=lambda points: points[:, 1] < 0.06, inner=3) if name == "schur" else linear
        sim = simulate(scene, region, iterations=1500)
        sim.step(record=True)
        assert sim.last_step["gradient_norm"][-1] < 1e-6 * sim.last_step["gradient_norm"][0]
        found[name] = sim.positions
        assert 0 < sim.proxies().active.sum() < 40
    sag = np.abs(found["direct"] - scene.rest_positions()).max()
    for name, x in found.items():
        assert np.abs(x - found["direct"]).max() < 1e-5 * sag, name


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_weight_sinks_in_by_its_weight_over_the_stiffness(dtype):
    """A known answer: m g / c, below a plane, beside the normal of a box, and in the grid of a field."""
    block = pdgpu.shapes.box((2.0, 1.0, 2.0))
    block = pdgpu.Mesh(block.points - 0.5 * (block.points.min(axis=0) + block.points.max(axis=0)), triangles=block.triangles)
    field = pdgpu.SignedDistanceField.from_mesh(block, spacing=0.1)
    for obstacle, top in ((pdgpu.Plane((0, 0, 0), (0, 1, 0)), 0.0), (pdgpu.Box((2.0, 1.0, 2.0)), 0.5), (field, 0.5)):
        scene = pdgpu.Scene()
        scene.add_particles([[0.1, 1.2, 0.2]], mass=2.0, name="weight")
        scene.add_obstacle(obstacle, name="ground")
        solver = pdgpu.ProjectiveDynamics(iterations=4, initialization="previous")
        sim = pdgpu.Simulation(scene, solver, dt=1 / 50, contact=pdgpu.ProxyContact([0], stiffness=1e3), dtype=dtype)
        sim.set_state(positions=[[0.1, top - 0.01, 0.2]])
        sim.step(400)
        assert sim.proxies().active.all()
        assert top - sim.positions[0, 1] == pytest.approx(2.0 * 9.81 / 1e3, rel=1e-5 if dtype == "float64" else 1e-3)


@pytest.mark.parametrize("linear", ["direct", "schur", "pcg"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_threads_and_a_stop_change_no_bit(linear, dtype, tmp_path):
    """If not, what a run with contact gives depends on the machine, or on when it was saved."""
    scene, _ = bar_scene(n=300, moving=lambda time: (np.eye(3), np.array([0.0, 0.02 * time, 0.0])))
    ends = []
    for threads in (1, 2):
        sim = simulate(scene, LINEAR[linear], dt=1 / 60, dtype=dtype, threads=threads)
        sim.step(6)
        ends.append((sim.positions.tobytes(), sim.velocities.tobytes()))
    stopped = simulate(scene, LINEAR[linear], dt=1 / 60, dtype=dtype)
    stopped.step(3)
    stopped.save(tmp_path / "half")
    resumed = pdgpu.Simulation.load(tmp_path / "half", motions={"floor": [lambda time: (np.eye(3), np.array([0.0, 0.02 * time, 0.0]))]})
    assert resumed.contact == stopped.contact
    resumed.step(3)
    ends.append((resumed.positions.tobytes(), resumed.velocities.tobytes()))
    assert ends[0] == ends[1] == ends[2]


def test_who_comes_and_goes_between_iterations_is_counted():
    """If not, a matrix that is another in every iteration looks like one that stays."""
    scene, _ = bar_scene()
    sim = simulate(scene, pdgpu.Direct(), iterations=12)
    sim.step(record="positions")
    W = sim.embedding_matrix("under")
    active = [(W @ x)[:, 1] < FLOOR for x in sim.last_step.positions[:-1]]  # what the iterations began with
    entered = sum(int((now & ~before).sum()) for before, now in itertools.pairwise(active))
    left = sum(int((before & ~now).sum()) for before, now in itertools.pairwise(active))
    said = sim.proxies()
    assert (said.entered, said.left) == (entered, left) and entered + left > 0
    held = simulate(scene, pdgpu.Direct(), iterations=12, detection="step")
    held.step()
    assert (held.proxies().entered, held.proxies().left) == (0, 0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_springs_held_for_a_step_are_reported_after_it(dtype):
    """If not, a spring that pushed a proxy out in the last step is missing from the forces. A mass on a spring to a floor: the implicit
    step is known in closed form, and its end lies above the floor."""
    m, h, c, depth = 2.0, 0.1, 1e3, 0.02
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_particles([[0.3, -depth, 0.1], [0.6, 0.5, 0.1]], mass=m, velocity=(0.0, 1.0, 0.0), name="grains")
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    solver = pdgpu.ProjectiveDynamics(iterations=3, initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=h, contact=pdgpu.ProxyContact([0, 1], stiffness=c, detection="step"), dtype=dtype)
    assert sim.proxies().active.tolist() == [True, False]
    sim.step()
    y = m * (h - depth) / (m + c * h * h)
    for _ in range(2):
        found = sim.proxies()
        assert y > 0 and found.active.tolist() == [True, False]
        np.testing.assert_allclose(found.points[0], [0.3, y, 0.1], rtol=1e-6)
        np.testing.assert_allclose(found.targets[0], [0.3, 0.0, 0.1], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found.forces, [[0.0, -c * y, 0.0], [0.0, 0.0, 0.0]], rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(found.vertex_forces, found.forces, rtol=0, atol=1e-12)
        momentum = m * (sim.velocities[0, 1] - 1.0)  # the impulse of the springs of the step
        assert momentum == pytest.approx(h * found.forces[0, 1], rel=1e-5)
        sim.gradient(), sim.energies()  # they detect again, and proxies() is unchanged
    state = sim.positions, sim.velocities
    sim.set_state(velocities=state[1])
    assert sim.proxies().active.tolist() == [True, False]  # the positions are those of the step
    sim.set_state(positions=state[0])
    assert not sim.proxies().active.any()


def test_two_factors_without_inertia_are_as_slow_as_the_docstring_says():
    """If not, a quasistatic step that is far from its end is taken for the answer. The rate of late iterations against the rule."""
    scene, _ = bar_scene(cells=(5, 3, 3), n=40)
    active = 4e5
    with pytest.warns(UserWarning, match=r"linear: SchurDirect\(active=400000\) with dt=None"):
        sim = simulate(scene, dataclasses.replace(LINEAR["schur"], active=active), iterations=2500, detection="step")
    sim.step(record=True)
    norm = sim.last_step["gradient_norm"]
    rate = (norm[-1] / norm[1500]) ** (1 / (len(norm) - 1501))
    free = np.flatnonzero(scene.fixed() == 0)
    region = np.flatnonzero(scene.rest_positions()[free][:, 1] < 0.11)
    softest = np.linalg.eigvalsh(pdgpu.linear.schur_complement(sim.system_matrix(free=True), region))[0]
    assert softest < 2e-3 * active
    assert 0.3 < (1.0 - rate) / (softest / (softest + active)) < 3.0
    exact = simulate(scene, LINEAR["schur"], iterations=800, detection="step")
    exact.step(record=True)
    assert exact.last_step["gradient_norm"][-1] < 1e-3 * norm[-1]


def test_two_factors_warn_without_inertia_and_contact_only(recwarn):
    """If not, every simulation with two factors warns, and the warning is not read."""
    scene, _ = bar_scene()
    two = dataclasses.replace(LINEAR["schur"], active=1e6)
    simulate(scene, two, dt=1 / 60)
    simulate(scene, LINEAR["schur"])
    pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(linear=two), dt=None)
    assert not [each for each in recwarn if "SchurDirect" in str(each.message)]


def test_an_obstacle_that_moves_is_where_it_goes_in_the_step():
    """If not, a body lags behind what pushes it by a step."""
    scene, _ = bar_scene(moving=lambda time: (np.eye(3), np.array([0.0, time, 0.0])))
    sim = simulate(scene, pdgpu.Direct(), dt=0.01)
    for k in range(3):
        proxies = sim.proxies()
        np.testing.assert_allclose(proxies.targets[proxies.active][:, 1], FLOOR + 0.01 * k, rtol=0, atol=1e-12)
        ahead = 0.5 * C * (np.minimum(sim.embedded("under")[:, 1] - FLOOR - 0.01 * (k + 1), 0.0) ** 2).sum()
        still = pdgpu.Simulation(scene, sim.solver, dt=0.01, contact=dataclasses.replace(sim.contact, stiffness=1e-30))
        still.set_state(positions=sim.positions, velocities=sim.velocities)
        assert sim.incremental_potential() - still.incremental_potential() == pytest.approx(ahead, rel=1e-9)
        sim.step()


def test_a_cut_carries_vertices_that_are_proxies():
    """If not, a sheet that is torn collides with other vertices than it did."""
    scene = pdgpu.Scene()
    sheet = scene.add_shell(pdgpu.shapes.grid((1.0, 1.0), cells=(4, 4)), pdgpu.ARAP(100.0), density=0.1, name="sheet")
    scene.add_obstacle(pdgpu.Plane((0.0, -9.0, 0.0), (0.0, 1.0, 0.0)))
    middle = np.flatnonzero(np.isclose(sheet.points[:, 0], sheet.points[:, 0].mean()))
    stiffness = np.arange(1.0, len(middle) + 1.0)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=2), contact=pdgpu.ProxyContact(middle, stiffness=stiffness))
    inner = sheet.mesh.hinges[:, :2]
    cut = sim.cut("sheet", inner[np.isin(inner, middle).all(axis=1)])
    assert len(cut.new_vertices)
    rows = np.concatenate([np.arange(len(sheet.points)), cut.parents])  # and copies share out the stiffness, by mass
    share = sim.masses / np.bincount(rows, weights=sim.masses)[rows]
    expected = np.flatnonzero(np.isin(rows, middle))
    assert sim.contact.proxies == tuple(expected.tolist())
    np.testing.assert_allclose(sim.contact.stiffness, stiffness[np.searchsorted(middle, rows[expected])] * share[expected], rtol=1e-14)
    sim.step()


def test_runs_and_files_say_what_is_active(tmp_path):
    """If not, a run with proxies has no contacts in its table, and no force in its pictures."""
    import meshio

    scene, bar = bar_scene()
    sim = simulate(scene, pdgpu.Direct(), dt=1 / 60)
    history = sim.run(0.1)
    assert history["contacts"][-1] == sim.proxies().active.sum() > 0
    sim.write(tmp_path / "state.vtu")
    written = meshio.read(tmp_path / "state.vtu").point_data["contact_force"][: len(bar.points)]
    np.testing.assert_allclose(written, sim.proxies().vertex_forces, rtol=0, atol=1e-9)


def test_a_step_that_leaves_all_bounds_is_an_error_and_no_crash():
    """If not, a run that blows up ends the process: what is no number is in no cell of a grid."""
    block = pdgpu.SignedDistanceField.from_mesh(pdgpu.shapes.box((1.0, 1.0, 1.0)), spacing=0.25)
    for dtype, far in (("float64", 1e300), ("float32", 1e36)):
        scene, _ = bar_scene()
        scene.add_obstacle(block, name="block")
        contact = pdgpu.ProxyContact("under", stiffness=C, field="block")
        sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=3), contact=contact, dtype=dtype)
        x = sim.positions
        x[30:] = far * np.random.default_rng(0).normal(size=x[30:].shape)
        sim.set_state(positions=x)
        with pytest.raises((pdgpu.DivergenceError, ValueError)):
            sim.step(4)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (("nothing", C), ValueError, "name: no embedding is named 'nothing'"),
        (("under", -1.0), ValueError, "stiffness: must be greater than 0, got -1.0"),
        (("under", [1.0, 2.0]), ValueError, r"stiffness: expected shape \(120\), got \(2,\)"),
        (("under", C, "nobody"), ValueError, r"field: no obstacle, .* is named 'nobody'; there are \['floor', 'mesh'\], \['bar'\], \[\]"),
        (("under", C, "mesh"), TypeError, "field: 'mesh' is a triangle mesh"),
        (("under", C), TypeError, "field: 'mesh' is a triangle mesh"),
        (("under", C, ("floor", "floor")), ValueError, "field: a name occurs twice"),
        (([3, 3], C), ValueError, "proxies: expected ascending vertices, each once"),
        (([10**6], C), ValueError, "proxies: index 1000000 at 0 is out of range"),
        (([0.5], C), TypeError, "proxies: expected names of embedded parts"),
        (([], C), TypeError, "proxies: expected names of embedded parts"),
        (("under", C, "floor", "never"), ValueError, "detection: expected one of 'iteration', 'step', got 'never'"),
    ],
)
def test_nonsense_is_refused(arguments, error, text):
    """If not, what is wrong shows as something else, later."""
    scene, _ = bar_scene()
    scene.add_obstacle(pdgpu.shapes.box((1.0, 1.0, 1.0)), name="mesh")
    with pytest.raises(error, match=text):
        pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(), contact=pdgpu.ProxyContact(*arguments))


def test_a_proxy_outside_the_region_and_solvers_without_a_place_for_it_are_refused():
    """If not, contact of what is not in the small matrix is lost, or a solver that cannot answer it is silent."""
    scene, _ = bar_scene()
    with pytest.raises(
        ValueError, match=r"proxies: \d+ of 120 lie outside the region of SchurDirect; the first is \d+, which vertex \d+ carr"
    ):
        simulate(scene, pdgpu.SchurDirect(lambda points: points[:, 0] > 0.3))
    contact = pdgpu.ProxyContact("under", stiffness=C)
    with pytest.raises(TypeError, match="Newton does not take ProxyContact; ProjectiveDynamics does"):
        pdgpu.Simulation(scene, pdgpu.Newton(), contact=contact)
    sim = simulate(scene, pdgpu.Direct())
    with pytest.raises(ValueError, match="contact: ProxyContact has springs and no pairs"):
        sim.contact_forces()
    with pytest.raises(ValueError, match="hessian: ProxyContact changes it"):
        sim.hessian()
    with pytest.raises(ValueError, match="contact: only ProxyContact has proxies"):
        pdgpu.Simulation(scene, pdgpu.Newton(), contact=pdgpu.PenaltyContact(1e-4, stiffness=1e3)).proxies()
