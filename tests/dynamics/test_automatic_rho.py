"""rho="auto": the search for the spectral radius before the first step, and what it leaves behind."""

import dataclasses
import json
import warnings

import inputs
import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu import linear
from pdgpu.simulation.automatic_rho import search_rho

DT = 1 / 30
AUTO = pdgpu.Chebyshev(rho="auto", start=10)


def twisted_bar():
    scene, body = scenes.bar(inputs.B20(), 1e5 / 2.6, gravity=(0.0, -9.81, 0.0))
    return scene, scenes.stretched_and_twisted(body.points)


def small_bar():
    scene, body = scenes.bar(inputs.kuhn_grid(6, 2, 2, 0.1), 1e4, gravity=(0.0, -9.81, 0.0))
    return scene, scenes.stretched_and_twisted(body.points)


def hung_cloth():
    """A cloth of 21 x 21 vertices on two corners, disturbed."""
    points, triangles = inputs.cloth(20)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(100.0), density=0.2, bending=1e-3).pin([0, 20])
    return scene, points * [1.1, 1.0, 1.0] + 0.01 * np.random.default_rng(0).normal(size=points.shape)


def simulation(scene, x, solver, **options):
    sim = pdgpu.Simulation(scene, solver, dt=DT, **options)
    sim.set_state(positions=x)
    return sim


def accelerated(linear_solver, iterations, chebyshev=AUTO, **options):
    return pdgpu.ProjectiveDynamics(iterations=iterations, linear=linear_solver, chebyshev=chebyshev, **options)


def iterations_to(sim, level):
    """First iteration of the step at the level, and the number of iterations that were run where it is not reached."""
    sim.step(record=True)
    norms = sim.last_step["gradient_norm"]
    below = np.flatnonzero(norms <= level * norms[0])
    return int(below[0]) if len(below) else len(norms)


@pytest.mark.each_choice
@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("iterations", [120, 400])
def test_outer_search_halves_the_iterations_of_a_bar(iterations, dtype):
    """If not, without a rho supplied by hand the acceleration is worth nothing: by hand it takes 96 iterations instead of 968."""
    scene, x = twisted_bar()
    sim = simulation(scene, x, accelerated(pdgpu.Jacobi(weight=1.0), iterations), dtype=dtype)
    assert sim.parameters["rho"] is None
    assert iterations_to(sim, 1e-3) <= 140
    assert 0.98 < sim.parameters["rho"] < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("iterations", [80, 300])
def test_outer_search_halves_the_iterations_of_direct_steps(iterations):
    """If not, the search finds the rho of another solver: by hand it takes 36 iterations instead of 262."""
    scene, body = scenes.bar(inputs.B20(), 1e6 / 2.6, gravity=(0.0, -9.81, 0.0))
    sim = simulation(scene, scenes.stretched_and_twisted(body.points), accelerated(pdgpu.Direct(), iterations))
    assert iterations_to(sim, 1e-3) <= 131


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pdgpu.Direct(), pdgpu.Jacobi(), pdgpu.SymmetricGaussSeidel()])
def test_outer_search_halves_the_iterations_of_a_cloth(kind):
    """If not, the search works on solids only."""
    scene, x = scenes.in_tension()
    solver = accelerated(kind, 1000, None)
    plain = iterations_to(simulation(scene, x, solver), 1e-3)
    assert 40 < plain <= 1000
    assert iterations_to(simulation(scene, x, dataclasses.replace(solver, chebyshev=AUTO, iterations=plain)), 1e-3) <= plain / 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bar", "cloth"])
@pytest.mark.parametrize("kind", [pdgpu.Jacobi, pdgpu.SymmetricGaussSeidel])
def test_inner_search_halves_the_iterations_of_a_global_step(kind, name):
    """If not, acceleration inside the global step, left to itself, is worth nothing."""
    scene, x = twisted_bar() if name == "bar" else hung_cloth()
    chebyshev = pdgpu.Chebyshev(rho="auto", start=1)
    sim = simulation(scene, x, pdgpu.ProjectiveDynamics(iterations=2, linear=kind(iterations=60, chebyshev=chebyshev)))
    assert sim.parameters["linear"]["rho"] is None
    residual = -sim.gradient()[sim._core.fixed == 0]
    sim.step()
    rho = sim.parameters["linear"]["rho"]
    counts = []
    for given in (None, pdgpu.Chebyshev(rho=rho, start=1)):
        solver = kind(iterations=3000, tolerance=1e-3, chebyshev=given)
        counts.append(linear.solve(sim.system_matrix(free=True), residual, solver).iterations)
    assert 20 < counts[0] < 3000 and counts[1] <= counts[0] / 2
    assert sim.last_step.setup_seconds > 0.0


CASES = {
    "outer": (pdgpu.Jacobi(weight=0.9), AUTO),
    "direct": (pdgpu.Direct(), pdgpu.Chebyshev(start=3, under_relaxation=0.9)),
    "inner": (pdgpu.Jacobi(iterations=6, chebyshev=pdgpu.Chebyshev(start=2)), None),
    "inner sgs": (pdgpu.SymmetricGaussSeidel(iterations=6, chebyshev=pdgpu.Chebyshev(start=1, interval="positive")), None),
    "inner composed": (pdgpu.AJacobi(variant="composed", iterations=6, chebyshev=pdgpu.Chebyshev(start=1)), None),
    "both": (pdgpu.AJacobi(order=2, iterations=4, chebyshev=pdgpu.Chebyshev(start=1)), AUTO),
}


def with_found(solver, parameters):
    """The same solver with the numbers that were found, given."""
    if solver.linear.__class__ is not pdgpu.Direct and solver.linear.chebyshev is not None:
        chebyshev = dataclasses.replace(solver.linear.chebyshev, rho=parameters["linear"]["rho"])
        solver = dataclasses.replace(solver, linear=dataclasses.replace(solver.linear, chebyshev=chebyshev))
    if solver.chebyshev is not None:
        solver = dataclasses.replace(solver, chebyshev=dataclasses.replace(solver.chebyshev, rho=parameters["rho"]))
    return solver


def bits(sim):
    return sim.positions.tobytes(), sim.velocities.tobytes(), sim.time


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("initialization", ["inertial_target", "adaptive"])
@pytest.mark.parametrize("case", CASES)
def test_the_search_leaves_no_trace(case, initialization, dtype):
    """If not, a run that searched is another run than one with the same rho given: state, time or first guess were touched."""
    linear_solver, chebyshev = CASES[case]
    solver = accelerated(linear_solver, 30, chebyshev, initialization=initialization)
    scene, x = small_bar()
    v = np.random.default_rng(4).normal(size=x.shape)
    auto = simulation(scene, x, solver, dtype=dtype)
    auto.set_state(velocities=v)
    auto.external_forces = 0.01 * v
    before = bits(auto)
    search_rho(auto._core, None)
    assert bits(auto) == before
    found = auto.parameters
    auto.step(3)
    assert auto.parameters == found and auto.time == pytest.approx(3 * DT, rel=1e-14)
    given = simulation(scene, x, with_found(solver, found), dtype=dtype)
    given.set_state(velocities=v)
    given.external_forces = 0.01 * v
    given.step(3)
    assert bits(given) == bits(auto)


def test_the_search_runs_once_and_is_setup_time():
    """If not, every step pays for the search, or its time makes the solver look slow."""
    scene, x = twisted_bar()
    auto = simulation(scene, x, accelerated(pdgpu.Jacobi(weight=1.0), 40))
    fixed = simulation(scene, x, accelerated(pdgpu.Jacobi(weight=1.0), 40, pdgpu.Chebyshev(rho=0.9)))
    for sim in (auto, fixed):
        sim.step(record=True)
    first = auto.last_step
    # at least the plain run and two trials
    assert first.setup_seconds >= fixed.last_step.setup_seconds + 1.5 * fixed.last_step["seconds"][-1]
    auto.step()
    assert auto.last_step.setup_seconds == first.setup_seconds


def test_scripted_pins_move_in_a_searched_step():
    """If not, the search runs another step than the one to come, or moves the handle twice."""
    scene, body = scenes.bar(inputs.kuhn_grid(6, 2, 2, 0.1), 1e4)
    times = []

    def motion(time, rest):
        times.append(time)
        return rest + [0.0, 0.0, time]

    held = np.flatnonzero(body.points[:, 0] > 0.59)
    body.pin(held, motion)
    sim = pdgpu.Simulation(scene, accelerated(pdgpu.Jacobi(), 30), dt=DT)
    sim.step(2)
    assert set(times) == {DT, 2 * DT} and sim.parameters["rho"] is not None
    np.testing.assert_allclose(sim.positions[held], body.points[held] + [0.0, 0.0, 2 * DT], atol=1e-14)


@pytest.mark.slow
def test_compare_searches_for_every_solver():
    """If not, the comparison shows a solver without the acceleration it is named after."""
    scene, x = twisted_bar()
    jacobi = pdgpu.Jacobi(weight=1.0)
    solvers = {
        "plain": accelerated(jacobi, 150, None),
        "auto": accelerated(jacobi, 150),
        "inner": accelerated(pdgpu.Jacobi(weight=1.0, iterations=10, chebyshev=pdgpu.Chebyshev(start=1)), 150, None),
    }
    comparison = pdgpu.compare(scene, solvers, dt=DT, start=(x, None))
    last = {name: comparison[name]["relative_loss"][-1] for name in solvers}
    assert last["auto"] < 0.1 * last["plain"] and last["inner"] < 0.1 * last["plain"]
    assert comparison["auto"].setup_seconds > comparison["plain"].setup_seconds


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", CASES)
def test_a_resumed_run_keeps_what_was_found(case, dtype, tmp_path):
    """If not, a run that is resumed searches again, from another state, and is another run."""
    linear_solver, chebyshev = CASES[case]
    scene, x = small_bar()
    through = simulation(scene, x, accelerated(linear_solver, 30, chebyshev, initialization="adaptive"), dtype=dtype)
    through.step(2)
    through.save(tmp_path / "half")
    resumed = pdgpu.Simulation.load(tmp_path / "half")
    assert resumed.parameters == through.parameters
    for sim in (through, resumed):
        sim.step(2)
    assert bits(resumed) == bits(through)
    # and before anything was searched
    early = simulation(scene, x, through.solver, dtype=dtype)
    early.save(tmp_path / "early")
    resumed = pdgpu.Simulation.load(tmp_path / "early")
    resumed.step(4)
    assert bits(resumed) == bits(through)


BAD = (-0.1, float("nan"), "0.5", [0.5], True, {})
NUMBERS = {"rho": (1.0, 1.5), "linear rho": (1.0, 1.5), "weight": (0.0,), "omega": (0.0, 2.0), "composed_rho": (0.0, 1.0)}


@pytest.mark.parametrize(("place", "value"), [(place, value) for place, limits in NUMBERS.items() for value in BAD + limits])
def test_damaged_numbers_in_a_file_are_refused(place, value, tmp_path):
    """If not, a damaged file makes a solver diverge, or stops it from converging, without a word."""
    linear_solver, chebyshev = CASES["both"]
    sim = simulation(*small_bar(), accelerated(linear_solver, 12, chebyshev))
    sim.save(tmp_path / "s")
    with np.load(tmp_path / "s") as archive:
        arrays = dict(archive)
    header = json.loads(bytes(arrays["header"]))
    if place == "rho":
        header["rho"] = value
    else:
        header["linear_numbers"][place.split()[-1]] = value
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with open(tmp_path / "s", "wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ValueError, match="damaged"):
        pdgpu.Simulation.load(tmp_path / "s")


@pytest.mark.parametrize("change", ["outer", "inner", "other solver", "no numbers"])
def test_numbers_that_contradict_the_solver_are_refused(change, tmp_path):
    """If not, a file that says one rho in its solver runs with another."""
    linear_solver, chebyshev = CASES["both"]
    fixed = with_found(accelerated(linear_solver, 12, chebyshev), {"rho": 0.5, "linear": {"rho": 0.5}})
    sim = simulation(*small_bar(), pdgpu.NonlinearCG() if change == "other solver" else fixed)
    sim.save(tmp_path / "s")
    pdgpu.Simulation.load(tmp_path / "s")
    with np.load(tmp_path / "s") as archive:
        arrays = dict(archive)
    header = json.loads(bytes(arrays["header"]))
    if change == "outer":
        header["rho"] = 0.9
    elif change == "inner":
        header["linear_numbers"]["rho"] = 0.9
    elif change == "other solver":
        header["linear_numbers"] = {"weight": 1.0, "omega": 1.0, "rho": None, "composed_rho": 0.5}
    else:
        header["linear_numbers"] = [1.0, 1.0, None, 0.5]
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with open(tmp_path / "s", "wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ValueError, match="damaged"):
        pdgpu.Simulation.load(tmp_path / "s")


def diverging():
    """A bar of jittered tets and so stiff that Jacobi diverges with weight 1.2. Returns scene, state, the largest eigenvalue."""
    points, tets = inputs.jitter(inputs.kuhn_grid(6, 3, 3, 0.1)[0], (6, 3, 3), 0.1, 0.2), inputs.kuhn_grid(6, 3, 3, 0.1)[1]
    scene, _ = scenes.bar((points, tets), 1e6)
    A = pdgpu.Simulation(scene, dt=DT).system_matrix(free=True)
    return scene, scenes.stretched_and_twisted(points), linear.extreme_eigenvalues(A)[1]


@pytest.mark.parametrize("place", ["outer", "inner", "both"])
def test_a_weight_that_diverges_is_replaced_before_the_search(place):
    """If not, the search looks for the rho of an iteration that has none, and the run dies although "auto" was asked for."""
    scene, x, largest = diverging()
    inner = pdgpu.Jacobi(weight=1.2, iterations=1 if place == "outer" else 20, chebyshev=None if place == "outer" else AUTO)
    solver = accelerated(inner, 60, None if place == "inner" else AUTO)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sim = simulation(scene, x, solver)
        assert len(caught) == 1
        sim.step(2, record=True)
    assert len(caught) == 1 and "takes the weight" in str(caught[0].message)
    assert 1.7 / largest < sim.parameters["linear"]["weight"] < 2.0 / largest
    norms = sim.last_step["gradient_norm"]
    assert norms[-1] < 0.1 * norms[0]


@pytest.mark.slow
def test_a_weight_that_diverges_on_a_real_mesh_is_replaced():
    """If not, the automatic solver fails on the first mesh that is not a grid."""
    mesh = pdgpu.read_mesh(inputs.data_file("tet/ipc_bunny.msh"))
    scene, body = scenes.bar((inputs.normalised(mesh.points), mesh.tets), 1e5 / 2.6, gravity=(0.0, -9.81, 0.0))
    with pytest.warns(UserWarning, match="takes the weight 0.65"):
        sim = simulation(scene, scenes.stretched_and_twisted(body.points), accelerated(pdgpu.Jacobi(weight=1.0), 60))
    assert iterations_to(sim, 1e-1) <= 60


@pytest.mark.parametrize("found", [0.0, 0.5])
def test_interrupted_search_leaves_nothing_behind(found, monkeypatch):
    """If not, Ctrl-C during the search leaves a state of a trial, or its acceleration switched on."""
    scene, x = small_bar()
    solver = accelerated(pdgpu.Jacobi(), 30, initialization="adaptive")
    sim, other = simulation(scene, x, solver), simulation(scene, x, solver)
    before, search = bits(sim), pdgpu.simulation.automatic_rho.search

    def interrupted(run, floor):
        run(None)
        if found:
            run(found)
        raise KeyboardInterrupt

    monkeypatch.setattr("pdgpu.simulation.automatic_rho.search", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sim.step()
    assert bits(sim) == before and sim.parameters["rho"] is None
    # a step without any search is then one without acceleration
    monkeypatch.setattr("pdgpu.simulation.time_step.search_rho", lambda core, at: None)
    plain = simulation(scene, x, dataclasses.replace(solver, chebyshev=None))
    for each in (sim, plain):
        each.step()
    assert bits(sim) == bits(plain)
    monkeypatch.undo()
    assert pdgpu.simulation.automatic_rho.search is search
    sim.set_state(positions=x, velocities=np.zeros_like(x))
    sim._core.backend.set_steps(0)
    for each in (sim, other):
        each.step(2)
    assert bits(sim) == bits(other) and sim.parameters == other.parameters


@pytest.mark.parametrize(("start", "longest"), [(10, 100), (70, 140)])
def test_runs_of_the_search_are_short(start, longest, monkeypatch):
    """If not, a solver with many iterations searches for ten times as long as it then solves."""
    scene, x = small_bar()
    chebyshev, search, lengths = pdgpu.Chebyshev(rho="auto", start=start), pdgpu.simulation.automatic_rho.search, []

    def watched(run, floor):
        def counted(rho):
            norms = run(rho)
            lengths.append(len(norms) - 1)
            return norms

        return search(counted, floor)

    monkeypatch.setattr("pdgpu.simulation.automatic_rho.search", watched)
    sim = simulation(scene, x, accelerated(pdgpu.Jacobi(), 400, chebyshev))
    sim.step(record=True)
    assert len(lengths) > 4 and max(lengths) == longest
    assert sim.last_step["gradient_norm"][-1] <= 1e-3 * sim.last_step["gradient_norm"][0]


def test_a_rho_that_short_runs_find_holds_in_a_long_one():
    """If not, what looks best after a hundred iterations blows up after three hundred, in a step with nothing set by hand."""
    gap, tried = 1e-3, []

    def run(rho):
        tried.append(rho)
        k = np.arange(501.0)
        unstable = np.where(k > 300, np.exp((k - 300) * (rho - 0.997) * 1e2), 1.0)  # as a nonlinear iteration with rho too large
        return np.append(0.97**k * unstable, [np.inf] if rho > 0.9985 else [])

    assert pdgpu.linear.chebyshev_search.settle(1.0 - gap, run, 100, 1e-10) == pytest.approx(1.0 - 4.0 * gap)
    assert len(tried) == 3
    assert pdgpu.linear.chebyshev_search.settle(0.9, lambda rho: [1.0] * 200 + [np.inf], 100, 1e-10) == 0.0
    assert pdgpu.linear.chebyshev_search.settle(0.9, lambda rho: np.maximum(0.9 ** np.arange(500), 1e-11), 100, 1e-10) == 0.9


def test_the_search_is_put_off_while_nothing_moves():
    """If not, a body that is dropped after a rest keeps the rho of a step in which there was nothing to solve."""
    for dtype in ("float64", "float32"):
        scene, x = small_bar()
        scene.gravity[:] = 0.0
        sim = pdgpu.Simulation(scene, accelerated(pdgpu.Jacobi(), 30), dt=DT, dtype=dtype)
        sim.step(2)
        assert sim.parameters["rho"] is None
        sim.set_state(positions=x)
        sim.step()
        fresh = simulation(scene, x, sim.solver, dtype=dtype)
        fresh.step()
        assert sim.parameters["rho"] == pytest.approx(fresh.parameters["rho"], rel=1e-3) and fresh.parameters["rho"] > 0.5


def test_free_fall_is_no_occasion_to_search():
    """If not, the rounding errors of a body that falls decide how its landing is computed."""
    points, tets = inputs.kuhn_grid(4, 2, 2, 0.1)
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e4), density=1000.0)
    for dtype in ("float64", "float32"):
        sim = pdgpu.Simulation(scene, accelerated(pdgpu.Jacobi(), 30), dt=0.01, dtype=dtype)
        sim.step(10)
        assert sim.parameters["rho"] is None
        np.testing.assert_allclose(sim.velocities[:, 1], -0.981, rtol=1e-4)


def test_a_first_step_that_ends_early_does_not_count():
    """If not, an easy first step, over before the acceleration sets in, leaves an arbitrary rho for all that follow."""
    scene, x = small_bar()
    solver = accelerated(pdgpu.Jacobi(), 400, tolerance=1e-3)
    sim = pdgpu.Simulation(scene, dataclasses.replace(solver, tolerance=0.9), dt=DT)
    sim.step()
    assert sim.last_step.status == "converged" and sim.last_step.iteration <= 10 and sim.parameters["rho"] is None
    # one that ends early, but later than the start, is verified by how early
    counts = []
    for chebyshev in (None, AUTO):
        sim = simulation(scene, x, dataclasses.replace(solver, chebyshev=chebyshev))
        sim.step()
        assert sim.last_step.status == "converged"
        counts.append(sim.last_step.iteration)
    assert counts[1] <= counts[0] / 2


def test_an_acceleration_that_never_sets_in_says_so():
    """If not, somebody waits for a search whose result is never used, and believes in an acceleration."""
    scene, x = small_bar()
    with pytest.warns(UserWarning, match="nothing is accelerated"):
        sim = simulation(scene, x, accelerated(pdgpu.Jacobi(), 10))
    sim.step()
    assert sim.parameters["rho"] == 0.0
    plain = simulation(scene, x, accelerated(pdgpu.Jacobi(), 10, None))
    plain.step()
    assert bits(sim) == bits(plain)


def test_where_all_accelerated_runs_diverge_the_plain_iteration_goes_on(tmp_path):
    """If not, "auto" breaks a run that works without it, or takes a rho that was never seen to work."""
    tried = []

    def run(rho):
        tried.append(rho)
        return np.array([1.0, 0.9, 0.81, 0.729]) if rho is None else np.array([1.0, 2.0, np.inf])

    with pytest.warns(UserWarning, match="every accelerated run diverged"):
        rho, trials = pdgpu.linear.chebyshev_search.search(run, 1e-10)
    assert rho == 0.0 and len(trials) == len(tried) - 1 and min(tried[1:]) < 0.3
    # rho = 0 is the plain iteration, also after a file
    scene, x = small_bar()
    sim = simulation(scene, x, accelerated(pdgpu.Jacobi(), 30))
    sim._core.set_rho(rho)
    sim.save(tmp_path / "s")
    plain = simulation(scene, x, accelerated(pdgpu.Jacobi(), 30, None))
    for each in (sim, loaded := pdgpu.Simulation.load(tmp_path / "s"), plain):
        each.step()
    assert bits(sim) == bits(plain) == bits(loaded)


def test_gauss_seidel_with_a_searched_rho_does_not_diverge():
    """If not, the one acceleration that is allowed although it is unsound is not even tried before it is used."""
    points, tets = inputs.J10()
    scene, _ = scenes.bar((points, tets), 1e6 / 2.6)
    x = scenes.stretched_and_twisted(points)
    with pytest.warns(UserWarning, match="may diverge"):
        solver = accelerated(pdgpu.GaussSeidel(), 60)
    plain, auto = (simulation(scene, x, each) for each in (accelerated(pdgpu.GaussSeidel(), 60, None), solver))
    for sim in (plain, auto):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sim.step(record=True)
    assert auto.last_step["gradient_norm"][-1] <= plain.last_step["gradient_norm"][-1]


@pytest.mark.each_choice
@pytest.mark.parametrize("floor", [1e-10, 1e-4])
@pytest.mark.parametrize("rho", [0.9, 0.99, 0.999])
@pytest.mark.parametrize("steps", [50, 200, 1000])
def test_the_search_finds_the_rate_of_a_known_spectrum(steps, rho, floor):
    """If not, the search misses the best value of the textbook case: eigenvalues spread over [-rho, rho], noise below the floor."""
    eigenvalues = np.linspace(-rho, rho, 400)
    noise = np.random.default_rng(0).normal(size=400)

    def run(given):
        e, previous, omega, norms = np.ones(400), np.ones(400), 1.0, []
        for k in range(steps + 1):
            norms.append(np.linalg.norm((1 - eigenvalues) * e) + 0.3 * floor * np.linalg.norm(noise) * (1 + 0.5 * np.sin(k)))
            if given is not None and k >= 1:
                omega = 2 / (2 - given**2) if k == 1 else 4 / (4 - given**2 * omega)
            e, previous = omega * (eigenvalues * e - previous) + previous, e
        return np.array(norms)

    found, _ = pdgpu.linear.chebyshev_search.search(run, floor)

    def reached(norms):
        level = max(floor, 30.0 * float(np.min(run(rho)) / norms[0]))
        below = np.flatnonzero(norms <= level * norms[0])
        return below[0] if len(below) else 10**9

    assert reached(run(found)) <= 1.3 * reached(run(rho)) + 3


@pytest.mark.parametrize("contact", [pdgpu.TwoWayContact(5e-3), pdgpu.BarrierContact(5e-3, friction=0.3, friction_lags=2)])
def test_the_search_takes_steps_of_several_passes(contact):
    """If not, rho="auto" fails in a scene whose step repeats the iterations of its solver."""
    scene, x = small_bar()
    scene.add_obstacle(pdgpu.Plane((0.0, x[:, 1].min() - 6e-3, 0.0), (0.0, 1.0, 0.0)))
    solver = pdgpu.VertexBlockDescent(iterations=40, chebyshev=AUTO)
    sim = simulation(scene, x, solver, contact=contact)
    sim.step(3, record=True)
    assert 0.0 < sim.parameters["rho"] < 1.0
    assert np.isfinite(sim.positions).all() and sim.positions[:, 1].min() > x[:, 1].min() - 6e-3
