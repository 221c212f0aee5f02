"""Materials that forbid inversion: no iterate of any solver has a tet with det F <= 0, and every refusal says why."""

import copy
import pickle
import warnings

import inputs
import numpy as np
import own_solvers
import pytest

import pdgpu

MATERIALS = {"LogNeoHookean": pdgpu.LogNeoHookean.from_young(1e5, 0.4), "FixedCorotated": pdgpu.FixedCorotated.from_young(1e5, 0.4)}
CHEBYSHEV = pdgpu.Chebyshev(rho=0.9, start=2)
SOLVERS = {
    "Newton": pdgpu.Newton(iterations=8),
    "Newton, no line search": pdgpu.Newton(iterations=8, line_search=False),
    "Newton, auto": pdgpu.Newton(iterations=8, linear="auto"),
    "Newton, PCG": pdgpu.Newton(iterations=8, linear=pdgpu.PCG(preconditioner="block")),
    "QuasiNewton": pdgpu.QuasiNewton(iterations=8),
    "QuasiNewton, no line search": pdgpu.QuasiNewton(iterations=8, line_search=False),
    "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=8),
    "VertexBlockDescent, search": pdgpu.VertexBlockDescent(iterations=8, line_search=True),
    "VertexBlockDescent, Chebyshev": pdgpu.VertexBlockDescent(iterations=8, chebyshev=CHEBYSHEV),
    "BlockJacobi": pdgpu.BlockJacobi(iterations=8),
    "BlockJacobi, no line search": pdgpu.BlockJacobi(iterations=8, line_search=False),
    "GradientDescent": pdgpu.GradientDescent(iterations=8, chebyshev=CHEBYSHEV),
    "GradientDescent, no line search": pdgpu.GradientDescent(iterations=8, line_search=False),
    "own": own_solvers.OwnQuasiNewton(iterations=8),
}
CUBES, STEPS = 18, 3


def volume_ratios(scene, positions):
    """det F (m,) of the tets of all solids, in float64."""
    found = []
    for body in scene.bodies:
        if body.type == "solid":
            x, rest = (np.asarray(points, np.float64)[body.mesh.tets] for points in (positions[body.slice], body.points))
            found.append(np.linalg.det(x[:, 1:] - x[:, :1]) / np.linalg.det(rest[:, 1:] - rest[:, :1]))
    return np.concatenate(found)


def squeezes(material, seed):
    """Cubes of 0.2 m with velocities that would carry most vertices through the opposite faces within a step of 1/50 s."""
    rng, scene = np.random.default_rng(seed), pdgpu.Scene()
    points, tets = inputs.five_tet_grid(1, 1, 1, 0.2)
    for k in range(CUBES):
        inwards = -(points - points.mean(axis=0)) * rng.uniform(10.0, 400.0)
        velocity = inwards * rng.uniform(0.0, 2.0, size=3) + rng.normal(size=points.shape) * rng.uniform(0.0, 30.0)
        scene.add_solid(pdgpu.Mesh(points + [k, 0.0, 0.0], tets=tets), material, density=1000.0, velocity=velocity)
    return scene


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_no_iterate_of_a_squeeze_has_an_inverted_tet(solver, material, dtype):
    """18 cubes in each of 56 cases: a thousand squeezes. If not, a scene of another program is crushed here and not there."""
    scene = squeezes(MATERIALS[material], sorted(SOLVERS).index(solver))
    sim = pdgpu.Simulation(scene, SOLVERS[solver], dt=1 / 50, dtype=dtype)
    free = sim.positions + sim.velocities / 50
    assert (volume_ratios(scene, free) < 0.0).mean() > 0.2  # without the limit
    for _ in range(STEPS):
        diverged = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                sim.step(record="positions")
                record = sim.last_step
            except pdgpu.DivergenceError as error:  # steps that are too long, without a line search: G rises, and nothing inverts
                assert "no line search" in solver or solver == "own"
                diverged, record = True, error.records
        for positions in record.positions:
            assert volume_ratios(scene, positions).min() > 0.0
        assert np.isfinite(record["incremental_potential"]).all()
        if diverged:
            break


class Limits(pdgpu.CustomSolver):
    """Asks for the limit of one move, and goes nowhere."""

    def iterate(self, step):
        asked.append(step.limit(asked.pop()))


asked: list = []  # a move, and then its limit


def test_the_limit_of_a_move_is_the_first_root_of_a_cubic_from_below():
    """If not, a step ends beyond an inversion, or so early that nothing moves."""
    rng = np.random.default_rng(4)
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(pdgpu.Mesh(points, tets=[[0, 1, 2, 3]]), pdgpu.LogNeoHookean(1e3, 1e3), density=1.0)
    sim = pdgpu.Simulation(scene, Limits(iterations=1, initialization="previous"), dt=1 / 50)
    shortened, whole = 0, 0
    for case in range(400):
        start = points * rng.uniform(0.2, 2.0, size=3) + 0.05 * rng.normal(size=points.shape)
        move = rng.normal(size=points.shape) * 10.0 ** rng.uniform(-1.5, 3.0 if case % 2 else 0.5)
        e, d, t = start[1:] - start[0], move[1:] - move[0], np.arange(4.0) / 3.0
        if np.linalg.det(e) < 0.01:
            continue
        sim.set_state(positions=start)
        asked[:] = [move]
        sim.step()
        cubic = np.polyfit(t, [np.linalg.det(e + s * d) for s in t], 3) - [0, 0, 0, 0.1 * np.linalg.det(e)]
        first = min((root.real for root in np.roots(cubic) if abs(root.imag) < 1e-9 and 0.0 < root.real <= 1.0), default=1.0)
        assert asked[0] <= first * (1 + 1e-6)
        assert asked[0] >= 0.7 * first
        shortened, whole = shortened + (first < 1.0), whole + (asked[0] == 1.0)
    assert shortened > 100 and whole > 20


@pytest.mark.parametrize("name", MATERIALS)
def test_a_start_with_an_inverted_tet_is_refused_by_name(name):
    """If not, an infinite energy is all that tells a user where to look."""
    scene = pdgpu.Scene()
    scene.add_shell(pdgpu.shapes.grid((0.1, 0.1), (2, 2)), pdgpu.Spring(10.0), density=0.1)
    scene.add_solid(pdgpu.shapes.beam((0.4, 0.2, 0.2), (4, 2, 2)), MATERIALS[name], density=1000.0, name="block")
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=1 / 50)
    bad, body = sim.positions, scene["block"]
    tet = body.mesh.tets[17]
    x = bad[body.slice]
    x[tet[0]] += 2.2 * (x[tet[1:]].mean(axis=0) - x[tet[0]])
    ratios = volume_ratios(scene, bad)
    first = int(np.argmax(ratios <= 0.0))
    assert ratios[17] < 0.0
    words = rf"positions: tet {first} of 'block' is flat or inverted, J = det F = {ratios[first]:.6g}"
    before = sim.positions
    with pytest.raises(ValueError, match=words) as caught:
        sim.set_state(positions=bad)
    assert name in str(caught.value)
    with pytest.raises(ValueError, match=words):
        pdgpu.Simulation(scene, pdgpu.Newton(), positions=bad)
    with pytest.raises(ValueError, match="positions: tet"):
        pdgpu.compare(scene, {"Newton": pdgpu.Newton()}, start=(bad, None))
    np.testing.assert_array_equal(sim.positions, before)
    np.from_dlpack(sim.device_positions)[:] = bad  # past the checks of set_state
    with pytest.raises(ValueError, match=words):
        sim.step()
    np.testing.assert_array_equal(sim.positions, bad)
    flat = before * [1.0, 1.0, 0.0]
    with pytest.raises(ValueError, match="positions: tet 0 of 'block' is flat or inverted, J = det F = "):
        sim.set_state(positions=flat)


def held_block(material, motion=None):
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.beam((0.6, 0.2, 0.2), (6, 2, 2))
    body = scene.add_solid(mesh, material, density=1000.0, name="block")
    body.pin(mesh.points[:, 0] == 0.0)
    if motion is not None:
        body.pin(mesh.points[:, 0] > 0.59, motion=motion)
    return scene


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("solver", ["Newton", "VertexBlockDescent", "QuasiNewton", "BlockJacobi", "own"])
@pytest.mark.parametrize("dt", [1 / 50, None])
def test_pins_that_would_invert_tets_arrive_in_parts(material, solver, dt):
    """If not, a pin that moves by more than an element in a step inverts the tets beside it."""
    scene = held_block(MATERIALS[material], lambda time, rest: rest - [0.3, 0.0, 0.0])
    sim = pdgpu.Simulation(scene, pdgpu.Newton() if solver == "Newton" else SOLVERS[solver], dt=dt)
    behind = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(8):
            sim.step(record="positions", time=None if dt else 0.0)
            behind.append(sim.last_step.behind)
            assert min(volume_ratios(scene, positions).min() for positions in sim.last_step.positions) > 0.0
    at = sim.positions[scene["block"].points[:, 0] > 0.59]
    expected = scene["block"].points[scene["block"].points[:, 0] > 0.59] - [0.3, 0.0, 0.0]
    assert np.abs(at - expected).max() <= behind[-1] + 1e-12
    assert behind[0] > 0.0 or solver == "Newton"
    assert behind[-1] == 0.0 if solver == "Newton" else behind[-1] < behind[0] or behind[0] == 0.0
    for warning in caught:
        text = str(warning.message)
        assert "motion: a target lag" not in text or ("'block' is" in text and "tets that must not invert" in text)


@pytest.mark.parametrize("material", MATERIALS)
def test_minimisers_find_the_same_answer(material):
    """If not, the limit of steps is no limit but another objective."""
    scene = held_block(MATERIALS[material])
    start = scene.rest_positions() * [0.6, 1.1, 1.1]
    reference = pdgpu.Simulation(scene, pdgpu.Newton(iterations=100, tolerance=1e-12), dt=1 / 50, positions=start)
    reference.step()
    assert reference.last_step.status == "converged"
    for name, solver, most in (
        ("QuasiNewton", pdgpu.QuasiNewton(iterations=600, tolerance=1e-9), 1e-6),
        ("VertexBlockDescent", pdgpu.VertexBlockDescent(iterations=600, tolerance=1e-9), 1e-6),
        ("BlockJacobi", pdgpu.BlockJacobi(iterations=3000, tolerance=1e-6), 1e-4),
    ):
        sim = pdgpu.Simulation(scene, solver, dt=1 / 50, positions=start)
        sim.step()
        assert np.abs(sim.positions - reference.positions).max() < most, name


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits_of_threads_copies_pickles_and_files(tmp_path, dtype):
    """If not, a run that is stopped and resumed is another one."""
    material = MATERIALS["LogNeoHookean"]
    for solver in ("Newton", "VertexBlockDescent, Chebyshev", "BlockJacobi"):
        ends = []
        for threads in (1, 2, 3):
            scene = squeezes(material, 3)
            sim = pdgpu.Simulation(scene, SOLVERS[solver], dt=1 / 50, dtype=dtype, threads=threads)
            sim.step(2)
            sim.save(tmp_path / "run.npz")
            others = [copy.deepcopy(sim), pickle.loads(pickle.dumps(sim)), pdgpu.Simulation.load(tmp_path / "run.npz", threads=threads)]
            sim.step()
            ends.append(sim.positions)
            for other in others:
                assert other.bodies[0].materials == scene.bodies[0].materials
                other.step()
                np.testing.assert_array_equal(other.positions, sim.positions)
        for end in ends[1:]:
            np.testing.assert_array_equal(end, ends[0])


@pytest.mark.parametrize("material", MATERIALS)
def test_methods_that_may_invert_tets_refuse_by_name(material):
    """If not, a method without a limit of its steps makes the energy infinite."""
    scene = held_block(MATERIALS[material])
    for solver in (pdgpu.ProjectiveDynamics(), pdgpu.NonlinearCG(), pdgpu.PBD(), pdgpu.XPBD(), pdgpu.ADMM()):
        with pytest.raises(TypeError, match=f"{type(solver).__name__} does not take the material {material}; Newton, VertexBlockDescent"):
            pdgpu.Simulation(scene, solver)
    with pytest.raises(TypeError, match=f"contact: TwoWayContact .* {material} forbids"):
        pdgpu.Simulation(scene, pdgpu.Newton(), contact=pdgpu.TwoWayContact(0.01))
    assert isinstance(pdgpu.Simulation(scene).solver, pdgpu.Newton)


@pytest.mark.parametrize("material", MATERIALS)
def test_comparisons_embedded_surfaces_and_rigid_bodies(material):
    """If not, these parts of a scene do not know the material."""
    scene = held_block(MATERIALS[material])
    start = scene.rest_positions() * [0.5, 1.0, 1.0]
    solvers = {"Newton": pdgpu.Newton(iterations=6), "VBD": pdgpu.VertexBlockDescent(iterations=20)}
    comparison = pdgpu.compare(scene, solvers, dt=1 / 50, start=(start, None))
    assert all(np.isfinite(comparison[name]["incremental_potential"]).all() for name in solvers)
    assert comparison["Newton"]["relative_loss"][-1] < 1e-3

    scene = pdgpu.Scene()
    cage = pdgpu.shapes.beam((0.2, 0.2, 0.2), (2, 2, 2))
    body = scene.add_solid(pdgpu.Mesh(cage.points + [0.0, 0.02, 0.0], tets=cage.tets), MATERIALS[material], density=1000.0)
    ball = pdgpu.shapes.sphere(0.08, 1)
    body.embed(pdgpu.Mesh(ball.points + [0.1, 0.12, 0.1], triangles=ball.triangles), collides=True)
    box = pdgpu.shapes.box((0.1, 0.1, 0.1))
    scene.add_rigid(pdgpu.Mesh(box.points - box.points.mean(axis=0) + [0.1, 0.4, 0.1], triangles=box.triangles), density=8000.0)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    for solver in (pdgpu.Newton(), pdgpu.VertexBlockDescent()):
        sim = pdgpu.Simulation(scene, solver, dt=1 / 100, contact=pdgpu.BarrierContact(5e-3))
        for _ in range(12):
            sim.step()
            assert volume_ratios(scene, sim.positions).min() > 0.0
