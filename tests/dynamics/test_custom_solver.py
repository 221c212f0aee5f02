"""Solvers in Python: the iterates of the built-in ones, contact, what a step answers, and what a method does wrong."""

import copy
import gc
import inspect
import os
import pickle
import threading

import contact_scenes
import numpy as np
import own_solvers
import pytest
import scenes

import pdgpu

BEAM = pdgpu.shapes.beam((1.0, 0.2, 0.2), cells=(4, 1, 1))


class Function(pdgpu.CustomSolver):
    """An iteration that a test gives."""

    function: object = None

    def iterate(self, step):
        return self.function(step)


def pushed(scene, x, solver, dt=1 / 30, **options):
    """After a recorded step from x."""
    sim = pdgpu.Simulation(scene, solver, dt=dt, **options)
    sim.set_state(positions=x)
    sim.step(record="positions")
    return sim


def asked(function, scene=None, x=None, **options):
    """What a function of the step returned in its first iteration."""
    answers = []
    if scene is None:
        scene, x = scenes.mixed(damping=0.01)

    def once(step):
        answers.append(function(step))

    sim = pdgpu.Simulation(scene, Function(iterations=1, function=once, initialization="previous"), dt=1 / 30, **options)
    if x is not None:
        sim.set_state(positions=x)
    sim.step()
    return answers[0]


def same_record(own, built_in, tolerance):
    assert (own.last_step.status, own.last_step.iteration) == (built_in.last_step.status, built_in.last_step.iteration)
    expected = built_in.last_step.positions
    np.testing.assert_allclose(own.last_step.positions, expected, rtol=0.0, atol=tolerance * np.abs(expected).max())


# ---- the built-in solvers, written again ------------------------------------------------------------------------------------------------

EQUALS = {
    "pd": (own_solvers.OwnProjectiveDynamics, pdgpu.ProjectiveDynamics, {}),
    "chebyshev": (own_solvers.OwnChebyshev, pdgpu.ProjectiveDynamics, {"chebyshev": pdgpu.Chebyshev(rho=0.8, start=3)}),
    "quasi-newton": (own_solvers.OwnQuasiNewton, pdgpu.QuasiNewton, {}),
}


@pytest.mark.parametrize("tolerance", [0.0, 1e-3])
@pytest.mark.parametrize("name", EQUALS)
def test_it_has_the_iterates_of_the_built_in_solver(name, tolerance):
    """If not, a step answers something else than the solvers of pdgpu get, or the frame treats a solver in Python differently."""
    own, built_in, options = EQUALS[name]
    scene, x = scenes.mixed(damping=0.01)
    frame = {"iterations": 30 if tolerance else 12, "tolerance": tolerance}
    sims = [pushed(scene, x, solver) for solver in (own(**frame), built_in(**frame, **options))]
    same_record(*sims, 1e-12)
    assert (sims[0].last_step.status == "converged") == (tolerance > 0.0)
    np.testing.assert_allclose(sims[0].velocities, sims[1].velocities, atol=1e-10)


@pytest.mark.parametrize(
    ("own", "built_in", "dt"),
    [
        (own_solvers.OwnGradientDescent(iterations=300, tolerance=1e-6), pdgpu.GradientDescent(iterations=300, tolerance=1e-6), 1 / 300),
        (own_solvers.OwnNewton(iterations=20, tolerance=1e-6), pdgpu.Newton(iterations=20, tolerance=1e-6), 1 / 30),
    ],
)
def test_gradient_descent_and_newton(own, built_in, dt):
    """If not, the diagonal or the Hessian of a step is another one. The cloth is in tension, where no element is indefinite: elsewhere
    Newton projects and a sweep filters the block of a corner, not the Hessian of an element."""
    scene, x = scenes.in_tension()
    x = 1.05 * scene.rest_positions() + 0.1 * (x - 1.05 * scene.rest_positions())
    if isinstance(built_in, pdgpu.GradientDescent):
        built_in = pdgpu.GradientDescent(iterations=300, tolerance=1e-6, line_search=False)
    sims = [pushed(scene, x, solver, dt=dt) for solver in (own, built_in)]
    same_record(*sims, 1e-9)


def test_without_a_tolerance_newton_ends_at_rounding():
    """If not, the counts differ for another reason. The built-in method ends where its line search finds no lower gradient norm; that
    of a step accepts what rounding hides by the slope, so that the iterations go on."""
    scene, x = scenes.in_tension()
    x = 1.05 * scene.rest_positions() + 0.1 * (x - 1.05 * scene.rest_positions())
    built_in, own = (pushed(scene, x, kind(iterations=10)) for kind in (pdgpu.Newton, own_solvers.OwnNewton))
    assert built_in.last_step.at_rounding and own.last_step.iteration >= built_in.last_step.iteration
    np.testing.assert_allclose(own.positions, built_in.positions, atol=1e-12)


def test_each_takes_25_lines_at_most():
    for kind in vars(own_solvers).values():
        if isinstance(kind, type) and issubclass(kind, pdgpu.CustomSolver):
            assert len(inspect.getsource(kind).splitlines()) <= 25, kind


def test_compare_sweep_and_run_take_it():
    """If not, a method of one's own is no curve beside the others."""
    scene, x = scenes.mixed(damping=0.01)
    solvers = {"PD": pdgpu.ProjectiveDynamics(iterations=10), "mine": own_solvers.OwnProjectiveDynamics(iterations=10)}
    found = pdgpu.compare(scene, solvers, dt=1 / 30, start=(x, None))
    np.testing.assert_allclose(found["mine"]["relative_loss"], found["PD"]["relative_loss"], atol=1e-9)
    assert "mine" in found.table() and found["mine"].setup_seconds > 0.0
    assert (np.diff(found["mine"]["seconds"]) > 0.0).all()
    history = pdgpu.Simulation(scene, own_solvers.OwnQuasiNewton(iterations=5), dt=1 / 100).run(4)
    assert len(history) >= 4

    def one(iterations):
        return pdgpu.compare(scene, {"mine": own_solvers.OwnQuasiNewton(iterations=iterations)}, start=(x, None))

    rows = list(pdgpu.sweep(one, {"iterations": [3, 6]}))
    assert [row["iterations"] for row in rows] == [3, 6] and rows[1]["relative_loss"] < rows[0]["relative_loss"]


def test_the_factor_is_setup():
    """If not, a solver in Python pays in its first iteration for what the built-in ones have made before."""
    scene, _ = scenes.mixed(damping=0.01)
    sim = pdgpu.Simulation(scene, own_solvers.OwnProjectiveDynamics(iterations=2), dt=1 / 30)
    before = sim._core.memory.setup_seconds
    sim.step()
    after = sim.last_step.setup_seconds
    sim.step()
    assert after > before and sim.last_step.setup_seconds == after


# ---- contact ----------------------------------------------------------------------------------------------------------------------------


class Projected(pdgpu.CustomSolver):
    """Newton's method with the projected Hessian."""

    def iterate(self, step):
        import scipy.sparse.linalg

        free = np.repeat(~step.fixed, 3)
        d = np.zeros(step.x.size)
        d[free] = -scipy.sparse.linalg.spsolve(step.hessian()[free][:, free].tocsc(), step.gradient().ravel()[free])
        d = d.reshape(-1, 3)
        step.move(d, step.line_search(d))


@pytest.mark.parametrize("name", ["cube on floor", "cube on cube", "rod round capsule", "funnel"])
def test_with_a_barrier_it_finds_the_answer(name):
    """If not, a method in Python lacks a part of G, or its limits: it would end elsewhere, or pass through."""
    case = contact_scenes.SCENES[name](False)
    own, built_in = (case.simulation(method=method, iterations=100, tolerance=1e-7) for method in (Projected, pdgpu.Newton))
    for _ in range(2 if name == "funnel" else 3):  # the third step in the funnel has two minima
        for sim in (own, built_in):
            sim.step(record=True)
        assert own.last_step.status == built_in.last_step.status == "converged"
        assert contact_scenes.meeting(own) == 0
    size = np.ptp(built_in.positions)
    np.testing.assert_allclose(own.positions, built_in.positions, atol=1e-5 * size)


@pytest.mark.parametrize("name", ["cube on cube", "crossing cloths", "cloth on sphere"])
def test_careless_moves_pass_through_nothing(name):
    """If not, what a method forgets to limit ends in an intersection."""
    case = contact_scenes.SCENES[name](False)

    def careless(step):
        for _ in range(3):
            step.move(3.0 * (step.inertial_target - step.x) + 0.01 * step.rng.normal(size=step.x.shape))

    sim = case.simulation(method=Function, function=careless, iterations=5)
    for _ in range(3):
        sim.step()
        assert contact_scenes.meeting(sim) == 0


def test_a_limit_is_that_of_the_move():
    """If not, a method cannot know how far it will go."""
    case = contact_scenes.SCENES["cube on floor"](False)

    def limited(step):
        d = np.zeros_like(step.x)
        d[:, 1] = -1.0
        before, part = step.x, step.limit(d)
        gone = step.move(d, part)
        assert 0.0 < part < 1.0 and gone == part
        np.testing.assert_allclose(step.x, before + part * d, atol=1e-14)
        assert step.move(d) < 1e-2
        assert np.isfinite(step.potential()) and step.potential(step.x + d) > step.potential()
        seen.append(part)

    seen = []
    sim = case.simulation(method=Function, function=limited, iterations=1)
    sim.step(record=True)
    assert sim.last_step["step_limit"][-1] < 1e-2 and seen


def test_with_a_penalty_it_finds_the_answer():
    mesh = pdgpu.shapes.beam((0.2, 0.2, 0.2), cells=(2, 2, 2))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.NeoHookean(1e4, 4e4), density=1000.0)
    scene.add_obstacle(pdgpu.Plane((0.0, -0.001, 0.0), (0.0, 1.0, 0.0)))
    contact = pdgpu.PenaltyContact(distance=0.01, stiffness=1e3, friction=0.2)
    solvers = {"own": Projected(iterations=40, tolerance=1e-8), "newton": pdgpu.Newton(iterations=40, tolerance=1e-8)}
    found = pdgpu.compare(scene, solvers, dt=1 / 100, contact=contact)
    assert {record.status for record in found.records.values()} == {"converged"}
    assert found["own"]["active_contacts"][-1] > 0
    assert found["own"]["relative_error"][-1] < 1e-6


# ---- what a step answers ----------------------------------------------------------------------------------------------------------------


def test_answers_are_those_of_the_simulation():
    """If not, a method minimises another potential than it is measured by."""
    scene, x = scenes.mixed(damping=0.01)
    v, other = np.random.default_rng(1).normal(size=(2, *x.shape))
    other = x + 1e-3 * other

    def everything(step):
        found = {"x": step.x, "x_t": step.x_t, "y": step.inertial_target, "masses": step.masses, "fixed": step.fixed}
        found |= {"h": step.h, "iteration": step.iteration, "G": (step.potential(), step.potential(other))}
        found |= {"g": (step.gradient(), step.gradient(other))}
        for filter in ("clamp", "exact"):
            found[filter] = step.hessian(filter=filter), step.hessian(other, filter)
            found[f"v {filter}"] = step.hessian_product(v, filter=filter), step.hessian_product(v, other, filter)
            found[f"d {filter}"] = step.diagonal(filter=filter), step.diagonal(other, filter)
        found["b"], found["u"] = step.local_step(), step.global_solve(v)
        return found

    found = asked(everything, scene, x)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(), dt=1 / 30)
    sim.set_state(positions=x)
    assert (found["x"] == x).all() and (found["x_t"] == x).all() and (found["masses"] == sim.masses).all()
    assert found["h"] == 1 / 30 and found["iteration"] == 0
    free, fixed = ~found["fixed"], found["fixed"]
    y = x + sim.velocities / 30 + np.array(scene.gravity) / 900
    np.testing.assert_allclose(found["y"][free], y[free], rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(found["y"][fixed], x[fixed])
    for k, where in enumerate((None, other)):
        assert found["G"][k] == pytest.approx(sim.incremental_potential(where), rel=1e-12)
        np.testing.assert_allclose(found["g"][k], sim.gradient(where), atol=1e-9)
        for filter in ("clamp", "exact"):
            H = sim.hessian(where, psd=filter == "clamp")
            assert abs(found[filter][k] - H).max() < 1e-9 * abs(H).max()
            moved = np.where(free[:, None], v, 0.0)
            scale = abs(H).max()
            np.testing.assert_allclose(found[f"v {filter}"][k], (H @ moved.ravel()).reshape(-1, 3), atol=1e-11 * scale)
            np.testing.assert_allclose(found[f"d {filter}"][k][free], H.diagonal().reshape(-1, 3)[free], atol=1e-12 * scale)
    A = sim.system_matrix()
    np.testing.assert_allclose(found["b"][free], (A @ x - sim.gradient())[free], atol=1e-9 * abs(A).max())
    np.testing.assert_allclose(found["b"][fixed], x[fixed])
    np.testing.assert_allclose((A @ found["u"])[free], v[free], atol=1e-10)
    np.testing.assert_allclose(found["u"][fixed], v[fixed])


def test_products_in_contact_are_those_of_the_hessian():
    """If not, pairs are missing from a product, or are those of another point."""
    case = contact_scenes.SCENES["cube on cube"](False)
    sim = case.simulation(tolerance=1e-7)
    sim.step(2)
    state = sim.positions, sim.velocities
    v = np.random.default_rng(1).normal(size=state[0].shape)

    def product(step):
        H = step.hessian(filter="exact")
        first = step.hessian_product(v, filter="exact")
        step.potential(step.x + 1e-6)  # finds other pairs
        return H, first, step.hessian_product(v, filter="exact"), step.diagonal(filter="exact")

    other = case.simulation(method=Function, function=lambda step: found.append(product(step)), iterations=1)
    found = []
    other.set_state(positions=state[0], velocities=state[1])
    other.step()
    H, *products, diagonal = found[0]
    for q in products:
        np.testing.assert_allclose(q.ravel(), H @ v.ravel(), atol=1e-11 * abs(H).max())
    free = other._core.fixed == 0
    np.testing.assert_allclose(diagonal[free], H.diagonal().reshape(-1, 3)[free], atol=1e-12 * abs(H).max())


def test_moves_of_what_is_held():
    """If not, a method moves pinned vertices, or takes sliding ones off their lines."""
    mesh = BEAM
    scene = pdgpu.Scene()
    body = scene.add_solid(mesh, pdgpu.ARAP(1e4), density=100.0)
    body.pin(mesh.points[:, 0] == mesh.points[:, 0].min())
    end = mesh.points[:, 0] == mesh.points[:, 0].max()
    body.slide(end, plane=(1, 0, 0))
    solver = Function(function=lambda step: step.move(-step.global_solve(step.gradient())) and None, iterations=30, tolerance=1e-6)
    sims = [pdgpu.Simulation(scene, each, dt=1 / 50) for each in (solver, pdgpu.ProjectiveDynamics(iterations=30, tolerance=1e-6))]
    for sim in sims:
        sim.step(3)
        np.testing.assert_allclose(sim.positions[end, 0], mesh.points[end, 0], atol=1e-14)
    assert sims[0].last_step.iteration == sims[1].last_step.iteration
    np.testing.assert_allclose(sims[0].positions, sims[1].positions, atol=1e-12)
    with pytest.raises(TypeError, match=r"Function\.iterate, iteration 0: step\.local_step: vertices slide"):
        asked(lambda step: step.local_step(), scene)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_far_from_the_origin_and_in_both_precisions(dtype):
    """If not, positions of a step are those of another scene."""
    mesh = BEAM
    places = []
    for far in (0.0, 1e5):
        scene = pdgpu.Scene()
        moved = pdgpu.Mesh(mesh.points + (far, 0.0, 0.0), tets=mesh.tets)
        scene.add_solid(moved, pdgpu.ARAP(1e4), density=100.0).pin(mesh.points[:, 0] == mesh.points[:, 0].min())

        def iterate(step, far=far):
            assert step.x.dtype == (np.float64 if far else dtype)
            np.testing.assert_allclose(step.gradient(step.x), step.gradient(), atol=1e-2 if dtype == "float32" else 1e-6)
            d = -step.global_solve(step.gradient())
            step.move(d, step.line_search(d))

        sim = pdgpu.Simulation(scene, Function(iterations=5, function=iterate), dt=1 / 50, dtype=dtype)
        sim.step(3)
        places.append(sim.positions - (far, 0.0, 0.0))
    np.testing.assert_allclose(*places, atol=1e-4 if dtype == "float32" else 1e-9)
    if dtype == "float64":
        return
    with pytest.raises(TypeError, match="local_step: the scene is far from the origin"):
        asked(lambda step: step.local_step(), scene, dtype=dtype)


def test_begin_comes_once_a_step_and_memory_is_the_simulation_s():
    class Counting(pdgpu.CustomSolver):
        first: int = 5

        def begin(self, step):
            self.calls = [*getattr(self, "calls", []), "begin"]

        def iterate(self, step):
            self.calls.append(step.iteration + self.first)
            step.move(-1e-3 * step.gradient() / step.masses[:, None] * step.h**2)

    scene, x = scenes.mixed(damping=0.01)
    solver = Counting(iterations=3, first=7)
    sims = [pdgpu.Simulation(scene, solver, dt=1 / 30) for _ in range(2)]
    for sim in sims:
        sim.set_state(positions=x)
    sims[0].step(2)
    sims[1].step()
    assert sims[0]._core.memory.own_solver.calls == 2 * ["begin", 7, 8, 9]
    assert sims[1]._core.memory.own_solver.calls == ["begin", 7, 8, 9] and not hasattr(solver, "calls")
    assert repr(solver).endswith("Counting(iterations=3, tolerance=0.0, initialization='inertial_target', check_every=None, seed=0, "
                                 "name=None, first=7)")  # fmt: skip
    with pytest.raises(AttributeError, match="first: a setting of Counting cannot be changed"):
        solver.first = 1


def test_random_numbers_follow_the_seed_and_the_step():
    """If not, a run with random numbers cannot be repeated or resumed."""
    scene, _ = scenes.mixed(damping=0.01)
    drawn = []
    for seed in (0, 0, 1):
        numbers = []
        solver = Function(iterations=1, seed=seed, function=lambda step, to=numbers: to.append(step.rng.random()))
        sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
        sim.step(2)
        drawn.append(numbers)
    assert drawn[0] == drawn[1] and not set(drawn[0]) & set(drawn[2]) and drawn[0][0] != drawn[0][1]


def test_pickles_copies_and_files():
    scene, x = scenes.mixed(damping=0.01)
    sim = pushed(scene, x, own_solvers.OwnQuasiNewton(iterations=5))
    others = [pickle.loads(pickle.dumps(sim)), copy.deepcopy(sim)]
    for each in (sim, *others):
        each.step()
    assert all(each.positions.tobytes() == sim.positions.tobytes() for each in others)
    with pytest.raises(TypeError, match="a file cannot hold OwnQuasiNewton"):
        sim.save("never.npz")


@pytest.mark.parametrize("threads", [1, 2])
def test_bits_for_any_number_of_threads(threads):
    scene, x = scenes.mixed(damping=0.01)
    sims = [pushed(scene, x, own_solvers.OwnNewton(iterations=5), threads=each) for each in (1, threads)]
    assert sims[0].last_step.positions.tobytes() == sims[1].last_step.positions.tobytes()


# ---- what a method does wrong -----------------------------------------------------------------------------------------------------------

ROWS = 3
WRONG = {
    "wrong shape": (lambda step: step.move(step.x[:ROWS]), ValueError, r"step\.move: d: expected shape"),
    "a row that is no number": (lambda step: step.move(np.where(np.arange(len(step.x)) == 7, np.nan, 0.0)[:, None] + 0 * step.x),
                                ValueError, r"step\.move: d: .*nan.*7"),
    "infinite": (lambda step: step.gradient(np.inf + step.x), ValueError, r"step\.gradient: x: .*inf"),
    "words": (lambda step: step.potential("here"), (TypeError, ValueError), r"step\.potential: x"),
    "complex": (lambda step: step.line_search(1j * step.x), TypeError, r"step\.line_search: d"),
    "nothing": (lambda step: step.move(None), TypeError, r"step\.move: d"),
    "a filter that there is not": (lambda step: step.hessian(filter="absolute"), ValueError, r"step\.hessian: filter"),
    "ascent": (lambda step: step.line_search(step.gradient()), ValueError, r"step\.line_search: d: not a descent direction"),
    "backwards": (lambda step: step.move(step.x, -1.0), ValueError, r"step\.move: fraction"),
    "a fraction that is no number": (lambda step: step.move(step.x, np.nan), ValueError, r"step\.move: fraction"),
    "an answer": (lambda step: step.x, TypeError, "expected None, got ndarray"),
    "read-only": (lambda step: step.x.__setitem__(0, 0.0), ValueError, "read-only"),
    "an exception": (lambda step: 1 / 0, ZeroDivisionError, "division by zero"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_an_error_names_solver_iteration_and_function(name):
    """If not, a mistake in a method is found by guessing; and the state must be that before the step."""
    function, kind, words = WRONG[name]
    scene, x = scenes.mixed(damping=0.01)

    def second(step):
        if step.iteration == 1:
            return function(step)
        return step.move(-1e-3 * step.gradient() / step.masses[:, None] * step.h**2) and None

    sim = pdgpu.Simulation(scene, Function(function=second, name="mine"), dt=1 / 30)
    sim.set_state(positions=x)
    before = sim.positions.tobytes(), sim.velocities.tobytes(), sim.time
    for _ in range(2):
        with pytest.raises(kind, match=words) as raised:
            sim.step()
        assert "in mine.iterate, iteration 1" in raised.value.__notes__
        assert (sim.positions.tobytes(), sim.velocities.tobytes(), sim.time) == before
    if "step" in words:
        assert str(raised.value).startswith("mine.iterate, iteration 1: step.")


def test_the_simulation_is_busy_while_a_method_runs():
    """If not, a method that steps its own simulation breaks the step that it is part of."""
    scene, x = scenes.mixed(damping=0.01)
    sim = pdgpu.Simulation(scene, Function(function=lambda step: sim.step()), dt=1 / 30)
    for call in (lambda: sim.step(), lambda: sim.positions, lambda: sim.gradient(), lambda: sim.set_state(positions=x)):
        sim._core.memory.own_solver = Function(function=lambda step, call=call: call() and None)
        with pytest.raises(RuntimeError, match="the simulation is busy"):
            sim.step()
    assert sim.time == 0.0


def test_a_step_that_is_over_answers_nothing():
    """If not, a step that is kept reads memory of another one."""
    kept = []
    scene, x = scenes.mixed(damping=0.01)
    sim = pdgpu.Simulation(scene, Function(iterations=2, function=lambda step: kept.append((step, step.x, step.x_t))), dt=1 / 30)
    sim.set_state(positions=x)
    sim.step()
    step, places, start = kept[0]
    copies = places.copy(), start.copy()
    sim.step(3)
    assert (places == copies[0]).all() and (start == copies[1]).all() and not places.flags.writeable
    for ask in (lambda: step.x, lambda: step.gradient(), lambda: step.potential(), lambda: step.move(places), lambda: step.hessian()):
        with pytest.raises(RuntimeError, match=r"no function of a solver is running|the step is over"):
            ask()


def test_another_thread_is_refused():
    """If not, two threads work in the same memory."""
    errors = []

    def elsewhere(step):
        def ask():
            try:
                step.gradient()
            except RuntimeError as error:
                errors.append(str(error))

        other = threading.Thread(target=ask)
        other.start()
        other.join()

    asked(elsewhere)
    assert len(errors) == 1 and "only the thread that solves the step" in errors[0]


def test_what_a_scene_has_not_is_refused_by_name():
    scene, _ = scenes.bar((BEAM.points, BEAM.tets), 1e4)
    soft = pdgpu.Scene()
    soft.add_solid(BEAM, pdgpu.NeoHookean(1e4, 4e4), density=1000.0)
    with pytest.raises(TypeError, match=r"Function\.iterate, iteration 0: step\.local_step: neo_hookean.* has no projection"):
        asked(lambda step: step.local_step(), soft)
    rigid = pdgpu.Scene()
    rigid.add_rigid(pdgpu.shapes.sphere(0.1, 1), density=1000.0)
    with pytest.raises(TypeError, match="Function does not take rigid bodies"):
        pdgpu.Simulation(rigid, Function(function=print))
    with pytest.raises(TypeError, match="Function does not take ProjectiveContact"):
        pdgpu.Simulation(scene, Function(function=print), contact=pdgpu.ProjectiveContact(1e-3))
    with pytest.raises(TypeError, match="iterate: Empty has none"):
        type("Empty", (pdgpu.CustomSolver,), {})()
    with pytest.raises(TypeError, match="solver: expected a solver"):
        pdgpu.Simulation(scene, Function)
    assert asked(lambda step: step.limit(step.x), scene) == 1.0  # nothing touches without contact


def test_a_solver_that_diverges_says_so():
    scene, x = scenes.mixed(damping=0.01)
    solver = Function(function=lambda step: step.move(step.gradient()) and None, name="uphill")
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
    sim.set_state(positions=x)
    with pytest.raises(pdgpu.DivergenceError, match="uphill diverged at iteration"):
        sim.step(record=True)
    assert (sim.positions == x).all()
    found = pdgpu.compare(scene, {"uphill": solver, "PD": pdgpu.ProjectiveDynamics()}, dt=1 / 30, start=(x, None))
    assert found["uphill"].status == "diverged"


def test_nothing_that_moves_is_the_end():
    """If not, a method that does nothing runs all its iterations, or is said to have converged."""
    scene, x = scenes.mixed(damping=0.01)
    sim = pushed(scene, x, Function(function=lambda step: None, iterations=50))
    assert (sim.last_step.status, sim.last_step.iteration) == ("stalled", 1)


def resident():
    """Resident memory of this process, bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif("PDGPU_SANITIZED" in os.environ, reason="the sanitizer keeps freed memory: resident memory says nothing there")
def test_thousands_of_steps_leak_nothing():
    """If not, a long run with a method in Python, or one whose method fails now and then, ends for want of memory."""
    scene, _ = scenes.bar((BEAM.points, BEAM.tets), 1e4)
    count = [0]

    def everything(step):
        count[0] += 1
        d = -step.gradient() / step.diagonal()
        if count[0] % 10 == 0:
            step.move(d[:2])
        step.move(d, step.line_search(d))
        step.move(step.global_solve(step.local_step()) - step.x)
        step.hessian_product(d)
        return step.potential(step.x) and None

    sim = pdgpu.Simulation(scene, Function(iterations=1, function=everything), dt=1 / 100, threads=1)

    def run(steps):
        for _ in range(steps):
            try:
                sim.step()
            except ValueError as error:
                assert "step.move: d: expected shape" in str(error)

    run(500)
    gc.collect()
    before = resident()
    run(2500)
    gc.collect()
    assert resident() - before < 2e6  # an array of the scene is 480 bytes, and a step has ten
