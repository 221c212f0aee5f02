"""Materials in Python in a simulation: the iterates of the built-in ones, contact, damping, and what a function does wrong."""

import copy
import dataclasses
import gc
import importlib.util
import inspect
import os
import pickle
import weakref
from pathlib import Path

import numpy as np
import own_materials
import own_solvers
import pytest

import pdgpu

EXAMPLES = Path(__file__).parents[2] / "examples"
BEAM = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(4, 1, 1))
CLOTH = pdgpu.shapes.grid((1.0, 1.0), cells=(4, 4))
OWN, BUILT_IN = own_materials.own_neo_hookean(1e4, 4e4), pdgpu.NeoHookean(1e4, 4e4)
PAIRS = {
    "solid": (OWN, BUILT_IN),
    "shell": (own_materials.own_stvk(1e3, 2e3, "shell"), pdgpu.StVK(1e3, 2e3)),
}


def scene_of(material, body="solid", damping=0.0):
    """A bar that is held at one end and stretched, or a cloth in a frame, taut and pushed; the scene and where it starts."""
    scene = pdgpu.Scene()
    if body == "solid":
        points = BEAM.points
        scene.add_solid(BEAM, material, density=1000.0, damping=damping).pin(points[:, 0] < 0.01)
        turn = 0.3 * points[:, :1] * np.roll(points, 1, axis=1)
        return scene, points * [1.3, 1.1, 1.05] + turn * (points[:, :1] > 0.01)
    inner = (np.abs(CLOTH.points[:, :2] - 0.5) < 0.49).all(axis=1)
    scene.add_shell(CLOTH, material, density=0.3, damping=damping).pin(~inner)
    pushed = 0.02 * np.random.default_rng(1).normal(size=CLOTH.points.shape)
    return scene, CLOTH.points * [1.4, 1.3, 1.0] + pushed * inner[:, None]


def stepped(material, solver, body="solid", steps=1, damping=0.0, **options):
    scene, x = scene_of(material, body, damping)
    sim = pdgpu.Simulation(scene, solver, **{"dt": 1 / 50, **options})
    sim.set_state(positions=x)
    for _ in range(steps):
        sim.step(record="positions")
    return sim


def same(sims, tolerance):
    """Where a step ends at rounding the last iterations are rounding, and may be one more or less."""
    own, built_in = (sim.last_step for sim in sims)
    assert own.status == built_in.status
    rows = min(len(own.positions), len(built_in.positions))
    assert rows > 3
    np.testing.assert_allclose(own.positions[:rows], built_in.positions[:rows], rtol=0.0, atol=tolerance)
    np.testing.assert_allclose(own["incremental_potential"][:rows], built_in["incremental_potential"][:rows], rtol=1e-9)
    np.testing.assert_allclose(sims[0].positions, sims[1].positions, rtol=0.0, atol=tolerance)


SOLVERS = {
    "newton": pdgpu.Newton(iterations=9),  # ends at rounding before: the last iterations may be one more or less
    "newton by conjugate gradients": pdgpu.Newton(iterations=4, linear=pdgpu.PCG(preconditioner="block")),
    "quasi-newton": pdgpu.QuasiNewton(iterations=8),
    "vbd": pdgpu.VertexBlockDescent(iterations=10),
    "accelerated vbd": pdgpu.VertexBlockDescent(iterations=10, chebyshev=pdgpu.Chebyshev(rho=0.8, start=3)),
    "block jacobi": pdgpu.BlockJacobi(iterations=12),
    "gradient descent": pdgpu.GradientDescent(iterations=12),
    "in python": own_solvers.OwnNewton(iterations=4),
}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("body", PAIRS)
def test_it_has_the_iterates_of_the_built_in_material(name, body):
    """If not, a solver asks for a number of the material before its functions were called there."""
    same([stepped(material, SOLVERS[name], body, steps=2) for material in PAIRS[body]], 1e-10)


@pytest.mark.parametrize("name", ["newton", "vbd", "gradient descent"])
def test_damping_projects_the_given_hessian(name):
    """If not, a damped body is braked by another matrix, or its damping feeds energy."""
    sims = [stepped(material, SOLVERS[name], damping=0.05, steps=3) for material in (OWN, BUILT_IN)]
    same(sims, 1e-9)
    free = stepped(OWN, SOLVERS[name], steps=3)
    assert np.abs(free.positions - sims[0].positions).max() > 1e-4


@pytest.mark.parametrize("name", ["newton", "quasi-newton", "vbd", "block jacobi", "gradient descent"])
def test_single_precision(name):
    """If not, a function in float64 and a simulation in float32 do not go together."""
    sims = [stepped(material, SOLVERS[name], dtype="float32") for material in (OWN, BUILT_IN)]
    assert sims[0].positions.dtype == np.float32
    np.testing.assert_allclose(sims[0].positions, sims[1].positions, rtol=0.0, atol=2e-5)


@pytest.mark.parametrize("name", ["newton", "quasi-newton"])
def test_a_record_and_the_next_iteration_share_an_evaluation(name):
    """If not, each iterate of a recorded run is evaluated twice, and its functions are called twice."""
    calls = []

    def stress(F, mu, lam):
        calls.append(len(F))
        return own_materials.NEO_HOOKEAN[1](F, mu, lam)

    functions = (own_materials.NEO_HOOKEAN[0], stress, own_materials.NEO_HOOKEAN[2])
    material = pdgpu.CustomMaterial(*functions, parameters={"mu": 1e4, "lam": 4e4})
    scene, x = scene_of(material)
    solver = dataclasses.replace(SOLVERS[name], iterations=5)
    sims = [pdgpu.Simulation(scene, solver, dt=1 / 50) for _ in range(2)]
    of_stress = []
    for sim, record in zip(sims, (False, True), strict=True):
        sim.set_state(positions=x)
        calls.clear()
        sim.step(record=record)
        of_stress.append(sum(calls))
    assert np.array_equal(sims[0].positions, sims[1].positions)
    assert of_stress[1] == of_stress[0] + len(BEAM.tets)  # the record has the last iterate, too


@pytest.mark.parametrize("law", ["barrier", "penalty"])
@pytest.mark.parametrize("name", ["newton", "vbd", "gradient descent"])
def test_contact(name, law):
    """If not, a body of a material in Python falls through the floor, or through itself."""
    sims = []
    for material in (OWN, BUILT_IN):
        scene = pdgpu.Scene()
        scene.add_solid(BEAM, material, density=1000.0)
        scene.add_obstacle(pdgpu.Plane((0.0, BEAM.points[:, 1].min() - 0.025, 0.0), (0.0, 1.0, 0.0)))
        contact = pdgpu.BarrierContact(0.02, stiffness=1e6, friction=0.3) if law == "barrier" else pdgpu.PenaltyContact(0.02, stiffness=1e4)
        sim = pdgpu.Simulation(scene, SOLVERS[name], dt=1 / 50, contact=contact)
        sim.step(3)
        sims.append(sim)
    assert sims[0].energies()["contact"] > 0.0
    np.testing.assert_allclose(sims[0].positions, sims[1].positions, rtol=0.0, atol=1e-9)


def test_energies_forces_and_stresses_are_those_of_the_built_in_material():
    """If not, a diagnostic reads what the last iteration has left, at other positions."""
    sims = [stepped(material, SOLVERS["newton"]) for material in (OWN, BUILT_IN)]
    x = sims[0].positions * [1.1, 0.9, 1.0]
    own, built_in = sims
    assert own.energies()["elastic"]["CustomMaterial"] == pytest.approx(built_in.energies()["elastic"]["NeoHookean"], rel=1e-12)
    np.testing.assert_allclose(own.stress("solid0"), built_in.stress("solid0"), rtol=1e-9, atol=1e-6)
    for ask in (lambda sim: sim.gradient(x), lambda sim: sim.incremental_potential(x), lambda sim: sim.hessian(x).toarray()):
        found, expected = map(ask, sims)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_the_gradient_is_the_derivative_of_the_potential():
    """If not, no solver converges, with or without a Hessian."""
    for material in (OWN, own_materials.own_neo_hookean(1e4, 4e4, analytic=False)):
        scene, x = scene_of(material, damping=0.02)
        sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=1 / 50)
        sim.set_state(positions=x)
        rng = np.random.default_rng(0)
        x, d = x + 0.01 * rng.normal(size=x.shape), rng.normal(size=x.shape) * (BEAM.points[:, :1] > 0.01)
        h = 1e-6
        slope = (sim.incremental_potential(x + h * d) - sim.incremental_potential(x - h * d)) / (2.0 * h)
        assert slope == pytest.approx(np.vdot(sim.gradient(x), d), rel=1e-7)
        change = (sim.gradient(x + h * d) - sim.gradient(x - h * d)) / (2.0 * h)
        np.testing.assert_allclose(sim.hessian(x) @ d.ravel(), change.ravel(), atol=1e-6 * np.abs(change).max())


def test_without_a_hessian_newton_converges_as_fast():
    newton = pdgpu.Newton(iterations=20, tolerance=1e-9)
    sims = [stepped(own_materials.own_neo_hookean(1e4, 4e4, analytic), newton) for analytic in (True, False)]
    assert sims[0].last_step.status == sims[1].last_step.status == "converged"
    assert sims[0].last_step.iteration == sims[1].last_step.iteration
    np.testing.assert_allclose(sims[0].positions, sims[1].positions, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("preconditioner", ["jacobi", "direct"])
def test_nonlinear_conjugate_gradients_find_the_answer(preconditioner):
    """If not, its step is too long where no constant bounds the curvature of the material."""
    answer = stepped(OWN, pdgpu.Newton(iterations=30, tolerance=1e-10)).positions
    sim = stepped(OWN, pdgpu.NonlinearCG(iterations=300, tolerance=1e-8, preconditioner=preconditioner))
    assert sim.last_step.status == "converged"
    np.testing.assert_allclose(sim.positions, answer, rtol=0.0, atol=1e-7)
    assert (np.diff(sim.last_step["incremental_potential"]) <= 1e-9).all()


def test_several_materials_with_parameters_of_each_element():
    """If not, a body has the functions or the parameters of another one."""
    rng = np.random.default_rng(2)
    n = len(BEAM.tets)
    mu, lam = rng.uniform(1e4, 3e4, n), rng.uniform(4e4, 8e4, n)
    apart = [BEAM.points + [0.0, 0.0, 2.0 * k] for k in range(3)]
    for solver in (SOLVERS["newton"], SOLVERS["vbd"]):
        ends = []
        for make in (own_materials.own_neo_hookean, pdgpu.NeoHookean):
            scene = pdgpu.Scene()
            materials = (make(mu, lam), pdgpu.Corotated(2e4, 1e4), make(2e4, 5e4))
            for k, material in enumerate(materials):
                body = scene.add_solid(pdgpu.Mesh(apart[k], tets=BEAM.tets), material, density=1000.0)
                body.pin(BEAM.points[:, 0] < 0.01)
            sim = pdgpu.Simulation(scene, solver, dt=1 / 50)
            sim.set_state(positions=np.vstack(apart) * [1.2, 1.0, 1.0])
            sim.step(2)
            ends.append(sim.positions)
        np.testing.assert_allclose(*ends, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("name", ["newton", "vbd", "gradient descent"])
def test_bits_for_any_number_of_threads(name):
    sims = [stepped(OWN, SOLVERS[name], threads=threads, steps=2) for threads in (1, 2)]
    assert sims[0].last_step.positions.tobytes() == sims[1].last_step.positions.tobytes()


def test_compare_sweep_and_a_default_solver_take_it():
    scene, x = scene_of(OWN)
    comparison = pdgpu.compare(scene, {"Newton": pdgpu.Newton(), "VBD": pdgpu.VertexBlockDescent()}, dt=1 / 50, start=(x, None))
    assert comparison["Newton"]["relative_loss"][-1] < 1e-9
    assert isinstance(pdgpu.Simulation(scene, dt=1 / 50).solver, pdgpu.Newton)


# ---- on paper ---------------------------------------------------------------------------------------------------------------------------


def example_of(name):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: the examples plot")
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lines_of(*functions):
    return sum(len(inspect.getsource(function).splitlines()) for function in functions)


def test_a_rubber_in_15_lines_has_the_stresses_on_paper():
    """If not, the example shows an energy whose stress is something else."""
    example = example_of("mooney_rivlin")
    stretches = [0.7, 1.2, 1.8]
    expected = [example.on_paper(stretch, **example.CONSTANTS) for stretch in stretches]
    np.testing.assert_allclose(example.pulled(stretches, 2), expected, rtol=1e-8)
    assert lines_of(example.energy, example.stress) <= 15


@pytest.mark.parametrize(("direction", "along", "across"), [((1.0, 0.0, 0.0), "warp", "weft"), ((0.0, 2.0, 5.0), "weft", "warp")])
def test_a_cloth_in_15_lines_has_the_stresses_on_paper(direction, along, across):
    """If not, the warp of a cloth is another direction in each triangle."""
    example = example_of("woven_cloth")
    constants = [example.CONSTANTS[name] for name in (along, across, "coupling")]
    assert example.pulled(1.1, direction, 2) == pytest.approx(example.on_paper(1.1, *constants), rel=1e-8)
    assert lines_of(example.strain, example.energy, example.stress) <= 15


def test_a_direction_is_that_of_each_triangle():
    """If not, threads that run along a curve are those of one triangle, or a mistake is taken for another cloth."""
    rest = CLOTH.points[CLOTH.triangles]
    angle = np.linspace(0.0, 3.0, len(rest))
    towards = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)

    def energy(F):
        return 0.125 * ((F[:, :, 0] ** 2).sum(1) - 1.0) ** 2

    def stress(F):
        return 0.5 * ((F[:, :, 0] ** 2).sum(1) - 1.0)[:, None, None] * F * [1.0, 0.0]

    threads = pdgpu.CustomMaterial(energy, stress, bodies="shell", direction=towards)
    stretch = np.array([1.3, 0.8, 1.0])
    areas = 0.5 * np.linalg.norm(np.cross(rest[:, 1] - rest[:, 0], rest[:, 2] - rest[:, 0]), axis=1)
    expected = areas * 0.125 * (((towards * stretch) ** 2).sum(1) - 1.0) ** 2
    np.testing.assert_allclose(pdgpu.elements.energy(threads, rest * stretch, rest), expected, rtol=1e-10, atol=1e-15)
    with pytest.raises(ValueError, match=r"direction: \[0\.0, 0\.0, 1\.0\] is normal to triangle 0"):
        pdgpu.elements.energy(pdgpu.CustomMaterial(energy, stress, bodies="shell", direction=(0, 0, 1)), rest, rest)
    with pytest.raises(ValueError, match=r"direction: expected shape \(32, 3\), one for each triangle, or \(3,\), got \(31, 3\)"):
        pdgpu.elements.energy(pdgpu.CustomMaterial(energy, stress, bodies="shell", direction=towards[1:]), rest, rest)
    with pytest.raises(ValueError, match="direction: expected None on a solid, where the columns of F belong to the axes"):
        own_materials.own_stvk(1.0, 1.0, direction=(1, 0, 0))


# ---- what is refused --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [pdgpu.ProjectiveDynamics(), pdgpu.PBD(), pdgpu.XPBD(), pdgpu.ADMM()])
def test_solvers_that_need_more_than_functions_refuse_it_by_name(solver):
    scene, _ = scene_of(OWN)
    words = f"{type(solver).__name__} does not take the material CustomMaterial; .*Newton.*VertexBlockDescent"
    with pytest.raises(TypeError, match=words):
        pdgpu.Simulation(scene, solver, dt=1 / 50)


def test_a_line_search_of_single_vertices_is_refused_by_name():
    scene, _ = scene_of(OWN)
    with pytest.raises(TypeError, match=r"line_search: .*CustomMaterial.*give line_search=False"):
        pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(line_search=True), dt=1 / 50)


def test_files_copies_and_pickles(tmp_path):
    sim = stepped(OWN, SOLVERS["vbd"])
    with pytest.raises(TypeError, match="a file cannot hold the CustomMaterial of 'solid0', whose energy is Python; pickle"):
        sim.save(tmp_path / "never.npz")
    assert not list(tmp_path.iterdir())
    others = [pickle.loads(pickle.dumps(sim)), copy.deepcopy(sim)]
    for each in (sim, *others):
        each.step()
    assert all(each.positions.tobytes() == sim.positions.tobytes() for each in others)


# ---- what a function does wrong ---------------------------------------------------------------------------------------------------------


class Faulty:
    """A neo-Hookean material one of whose functions does something else in a later call."""

    def __init__(self):
        self.change = None
        functions = [self.wrapped(which) for which in range(3)]
        parameters = {"mu": 1e4, "lam": 4e4, "number": np.arange(len(BEAM.tets))}
        self.material = pdgpu.CustomMaterial(*functions, parameters=parameters, name="mine")

    def wrapped(self, which):
        def function(F, mu, lam, number):
            found = own_materials.NEO_HOOKEAN[which](F, mu, lam)
            if self.change is not None and self.change[0] == which:
                return self.change[1](found, number)
            return found

        return function


def put(value, element, *index):
    """Another value of one element, at any place of its batch."""

    def change(found, number):
        found = found.copy()
        found[(number == element, *index)] = value
        return found

    return change


FAULTS = {
    "an energy that is no number": (0, put(np.nan, 7), ValueError, r"CustomMaterial 'mine': energy is nan at element 7"),
    "an energy below all": (0, put(-np.inf, 7), ValueError, r"energy is -inf at element 7"),
    "a stress that is no number": (1, put(np.nan, 5, 2, 1), ValueError, r"stress is nan at element 5, entry \(2, 1\)"),
    "an infinite stress": (1, put(np.inf, 5, 0, 0), ValueError, r"stress is inf at element 5, entry \(0, 0\)"),
    "a hessian that is no number": (2, put(np.nan, 3, 8, 1), ValueError, r"hessian is nan at element 3, entry \(8, 1\)"),
    "a stress of another shape": (1, lambda P, number: P[:-1], ValueError, r"stress must have shape \(\d+, 3, 3\).*got \(\d+, 3, 3\)"),
    "a hessian of words": (2, lambda H, number: "stiff", TypeError, r"hessian must be real numbers, got str"),
    "an exception": (1, lambda P, number: 1 / 0, ZeroDivisionError, "division by zero"),
    "an interruption": (0, lambda E, number: (_ for _ in ()).throw(KeyboardInterrupt), KeyboardInterrupt, None),
}  # fmt: skip


@pytest.mark.parametrize("solver", ["newton", "vbd", "block jacobi", "in python"])
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_a_step_is_named_and_leaves_the_state(name, solver):
    """If not, a function that fails once ruins a run of days, or the message does not say which element it was."""
    which, change, kind, words = FAULTS[name]
    faulty = Faulty()
    scene, x = scene_of(faulty.material)
    sim = pdgpu.Simulation(scene, SOLVERS[solver], dt=1 / 50)
    sim.set_state(positions=x)
    sim.step()
    before = sim.positions.tobytes(), sim.velocities.tobytes(), sim.time
    faulty.change = which, change
    for _ in range(2):
        with pytest.raises(kind, match=words) as raised:
            sim.step(record=True)
        assert (sim.positions.tobytes(), sim.velocities.tobytes(), sim.time) == before
    if kind is ZeroDivisionError:
        assert raised.value.__notes__[0].startswith("in stress of CustomMaterial 'mine', called with F of shape")
    faulty.change = None
    sim.step()
    again = pdgpu.Simulation(scene, SOLVERS[solver], dt=1 / 50)
    again.set_state(positions=x)
    again.step(2)
    assert sim.positions.tobytes() == again.positions.tobytes()


def test_the_simulation_is_busy_while_a_function_runs():
    """If not, a function that asks its own simulation breaks the step that it is part of."""
    faulty = Faulty()
    scene, x = scene_of(faulty.material)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=2), dt=1 / 50)
    calls = (lambda: sim.step(), lambda: sim.positions, lambda: sim.gradient(), lambda: sim.set_state(positions=x))
    for call in calls:
        faulty.change = 1, lambda P, number, call=call: call() and P
        with pytest.raises(RuntimeError, match="the simulation is busy"):
            sim.step()
        with pytest.raises(RuntimeError, match="the simulation is busy"):
            sim.gradient()
    assert sim.time == 0.0


def test_a_step_of_a_solver_in_python_answers_nothing_within_a_function():
    """If not, a function of a material works in the scratch of the question that it is part of."""
    faulty, kept = Faulty(), []

    class Asks(pdgpu.CustomSolver):
        def iterate(self, step):
            kept.append(step)
            step.gradient()

    scene, _ = scene_of(faulty.material)
    sim = pdgpu.Simulation(scene, Asks(iterations=1), dt=1 / 50)
    faulty.change = 1, lambda P, number: kept[-1].potential() and P
    with pytest.raises(RuntimeError, match="only the thread that solves the step may query it"):
        sim.step()


def test_a_kept_batch_stays_readable():
    """If not, a function that keeps F reads memory that is gone."""
    kept = []

    def energy(F):
        kept.append(F)
        return 0.5e4 * ((F**2).sum((1, 2)) - 3.0)

    scene, _ = scene_of(pdgpu.CustomMaterial(energy, lambda F: 1e4 * F))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=2), dt=1 / 50)
    sim.step()
    del sim, scene
    gc.collect()
    assert np.isfinite(sum(F.sum() for F in kept)) and not kept[-1].flags.writeable


def test_an_infinite_energy_shortens_the_move():
    """If not, a material with log det F ends a step with an error where a first move inverts an element."""

    def energy(F, mu):
        J = own_materials.determinant(F)
        safe = np.where(J > 0.0, J, 1.0)
        return np.where(J > 0.0, 0.5 * mu * ((F**2).sum((1, 2)) - 3.0 - 2.0 * np.log(safe)) + 2.0 * mu * np.log(safe) ** 2, np.inf)

    def stress(F, mu):
        J = own_materials.determinant(F)[:, None, None]
        assert (J > 0.0).all()
        return mu * (F + (4.0 * np.log(J) - 1.0) / J * own_materials.cofactor(F))

    scene, _ = scene_of(pdgpu.CustomMaterial(energy, stress, parameters={"mu": 1e4}))
    crushed = BEAM.points * [0.2, 1.0, 1.0]
    newton = pdgpu.Newton(iterations=100, tolerance=1e-6, initialization="previous")
    sim = pdgpu.Simulation(scene, newton, dt=1 / 10)
    sim.set_state(positions=crushed, velocities=-20.0 * BEAM.points * [1.0, 0.0, 0.0])
    for _ in range(3):
        sim.step(record=True)
        assert sim.last_step.status == "converged"


def test_a_function_may_refer_to_its_simulation():
    """If not, a simulation whose material looks at it is never freed."""
    faulty = Faulty()
    scene, _ = scene_of(faulty.material)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=2), dt=1 / 50)
    faulty.owner = sim
    sim.step()
    gone = weakref.ref(sim)
    del sim, faulty, scene
    gc.collect()
    assert gone() is None


def resident():
    """Resident memory of this process, bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif("PDGPU_SANITIZED" in os.environ, reason="the sanitizer keeps freed memory: resident memory says nothing there")
def test_thousands_of_steps_leak_nothing():
    """If not, a long run with a material in Python, or one whose function fails now and then, ends for want of memory."""
    faulty = Faulty()
    scene, _ = scene_of(faulty.material)
    solvers = pdgpu.Newton(iterations=1), pdgpu.VertexBlockDescent(iterations=1)
    sims = [pdgpu.Simulation(scene, solver, dt=1 / 50, threads=1) for solver in solvers]

    def run(steps):
        for k in range(steps):
            faulty.change = (k % 3, put(np.nan, 0)) if k % 10 == 0 else None
            try:
                sims[k % 2].step()
            except ValueError as error:
                assert "'mine'" in str(error)

    run(200)
    gc.collect()
    before = resident()
    run(600)
    gc.collect()
    assert resident() - before < 2e6  # the batch of a step is 8 kB, and a step has ten: a leak is 5 MB or more
