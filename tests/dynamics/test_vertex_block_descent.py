"""Vertex Block Descent, Block Jacobi and gradient descent against formulas, other solvers and their own promises."""

import inputs
import numpy as np
import pytest
import scenes
from element_cases import ORTHOTROPIC, WOVEN
from scipy import spatial

import pdgpu

DESCENTS = (pdgpu.VertexBlockDescent, pdgpu.BlockJacobi, pdgpu.GradientDescent)


def soft_bar(mu=2e4, lam=1e5, **options):
    """Scene, body and a state with inverted tets."""
    points, tets = inputs.kuhn_grid(4, 2, 2, 0.1)
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    body = scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.NeoHookean(mu, lam), density=1000.0, **options)
    scrambled = points + 0.08 * np.random.default_rng(3).normal(size=points.shape)
    return scene, body, scrambled


def inverted(points, tets):
    edges = points[tets[:, 1:]] - points[tets[:, :1]]
    return int((np.linalg.det(edges) <= 0).sum())


def test_a_single_vertex_reaches_its_minimum_in_one_step():
    """The 3x3 step would not be the exact minimum of the convex quadratic that G is in one neo-Hookean vertex."""
    _, body, scrambled = soft_bar()
    assert inverted(scrambled, body.mesh.tets) > 5
    for vertex in range(0, len(scrambled), 5):
        scene, alone, _ = soft_bar()
        alone.pin(np.delete(np.arange(len(scrambled)), vertex))
        sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=1, initialization="previous"), dt=1 / 30)
        sim.set_state(positions=scrambled)
        before, first = sim.incremental_potential(), np.linalg.norm(sim.gradient())
        sim.step()
        x = sim.positions
        sim.set_state(positions=scrambled, velocities=np.zeros_like(x))
        assert sim.incremental_potential(x) <= before
        assert np.linalg.norm(sim.gradient(x)) <= 1e-11 * first


@pytest.mark.parametrize("seed", range(5))
def test_every_sweep_lowers_the_potential_from_any_state(seed):
    """Unaccelerated Vertex Block Descent would not be monotone, inverted states included."""
    scene, body, _ = soft_bar(damping=0.01 * seed)
    body.pin([0, 1])
    points = body.points + 0.1 * np.random.default_rng(seed).normal(size=body.points.shape)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=60, initialization="previous"), dt=1 / 30)
    sim.set_state(positions=points)
    sim.step(record=True)
    potential = sim.last_step["incremental_potential"]
    assert (np.diff(potential) <= 1e-10 * abs(potential[0])).all()
    assert potential[-1] < 0.5 * potential[0]


JACOBIS = (pdgpu.BlockJacobi, pdgpu.GradientDescent)


def unstructured_cube():
    """Scene and points of a free cube whose tets differ so much in size that steps of full length end in a cycle of two."""
    rng = np.random.default_rng(4)
    points = np.concatenate([inputs.grid_points(1, 1, 1, 1.0), rng.random((12, 3))])
    tets = spatial.Delaunay(points).simplices.astype(np.int32)
    volumes = np.linalg.det(points[tets[:, 1:]] - points[tets[:, :1]])
    tets[volumes < 0] = tets[volumes < 0][:, [0, 1, 3, 2]]
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points, tets=tets[abs(volumes) > 1e-4]), pdgpu.StVK(1e5, 1e5), density=1000.0)
    return scene, points


@pytest.mark.parametrize("solver", JACOBIS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-8), ("float32", 1e-5)])
def test_a_cycle_is_no_answer(solver, dtype, tolerance):
    """A step that is too long would jump to and fro without end, 3 to 6 mm beside the answer, and pass every test for growth."""
    scene, points = unstructured_cube()
    start = points * [1.3, 1.0, 1.0]
    answers = []
    for chosen in (pdgpu.Newton(iterations=100, initialization="previous"), solver(iterations=2000, initialization="previous")):
        sim = pdgpu.Simulation(scene, chosen, dt=1 / 30, dtype=dtype, threads=1)
        sim.set_state(positions=start)
        sim.step()
        answers.append(sim.positions)
    assert np.abs(answers[1] - answers[0]).max() <= tolerance


@pytest.mark.parametrize("solver", JACOBIS)
def test_two_masses_on_a_spring_do_not_swap_places_for_ever(solver):
    """The shortest cycle there is: without much inertia either end moves by the whole stretch, so the step is twice too long."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_rod(pdgpu.Mesh([[0.0, 0, 0], [1.0, 0, 0]], edges=[[0, 1]]), pdgpu.Spring(1e6), density=0.02)
    sim = pdgpu.Simulation(scene, solver(iterations=60, initialization="previous"), dt=1 / 30, threads=1)
    sim.set_state(positions=[[0.0, 0, 0], [1.1, 0, 0]])
    sim.step()
    assert np.ptp(sim.positions[:, 0]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("solver", JACOBIS)
@pytest.mark.parametrize("iterations", [1, 3, 5, 7])
def test_few_iterations_end_below_the_first_guess(solver, iterations):
    """A body would fly on as if it were dust, its elastic energy 300 000 times what it was after 20 steps, without a word."""
    scene, points = unstructured_cube()
    sim = pdgpu.Simulation(scene, solver(iterations=iterations), dt=1 / 30, threads=1)
    sim.set_state(positions=points * [1.1, 1.0, 1.0])
    for _ in range(20):
        sim.step(record=True)
        potential = sim.last_step["incremental_potential"]
        assert potential[-1] < potential[0]


def other_materials():
    """Scenes of elements whose blocks are clamped, each with a state that compresses, turns and inverts."""
    rng = np.random.default_rng(0)
    points, tets = inputs.kuhn_grid(3, 2, 2, 0.1)
    for material in (pdgpu.StVK(2e4, 3e4), pdgpu.Corotated(2e4, 3e4), pdgpu.ARAP(2e4), pdgpu.Spring(300.0), pdgpu.Volume(2e4), ORTHOTROPIC):
        scene = pdgpu.Scene()
        scene.add_solid(pdgpu.Mesh(points, tets=tets), material, density=1000.0).pin([0])
        yield scene, points + 0.06 * rng.normal(size=points.shape)
    flat, triangles = inputs.cloth(6)
    for material in (pdgpu.Spring(100.0), pdgpu.StVK(100.0, 50.0), pdgpu.Corotated(100.0, 50.0), pdgpu.StrainLimit(0.9, 1.1, 100.0), WOVEN):
        scene = pdgpu.Scene()
        scene.add_shell(pdgpu.Mesh(flat, triangles=triangles), material, density=0.2, bending=1e-3).pin([0, 6])
        yield scene, 0.95 * flat + 0.03 * rng.normal(size=flat.shape)


@pytest.mark.parametrize("case", range(9))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_with_a_line_search_every_material_is_monotone(case, dtype):
    """The local line search would let the potential grow."""
    scene, start = list(other_materials())[case]
    sim = pdgpu.Simulation(
        scene, pdgpu.VertexBlockDescent(iterations=40, line_search=True, initialization="previous"), dt=1 / 30, dtype=dtype
    )
    sim.set_state(positions=start)
    sim.step(record=True)
    potential = sim.last_step["incremental_potential"]
    rounding = 1e-10 if dtype == "float64" else 2e-6
    assert (np.diff(potential) <= rounding * abs(potential[0])).all()


def distance_to_newton(scene, start, dt, solver):
    """The largest difference of coordinates between a solver's answer and Newton's; no record, since records cost more than steps."""
    answers = []
    for chosen in (solver, pdgpu.Newton(iterations=100, initialization=solver.initialization)):
        sim = pdgpu.Simulation(scene, chosen, dt=dt, threads=1)
        sim.set_state(positions=start)
        sim.step()
        answers.append(sim.positions)
    return np.abs(answers[0] - answers[1]).max()


@pytest.mark.parametrize("solver", DESCENTS)
def test_same_answer_as_newton(solver):
    """Solvers that minimise the same potential would disagree."""
    scene, body, _ = soft_bar(damping=0.01)
    body.pin(body.points[:, 0] == 0)
    iterations = {pdgpu.VertexBlockDescent: 1500, pdgpu.BlockJacobi: 3000, pdgpu.GradientDescent: 5000}[solver]
    start = body.points * (1.3, 0.9, 0.95)
    assert distance_to_newton(scene, start, 1 / 30, solver(iterations=iterations)) < 1e-6 * np.ptp(body.points)


@pytest.mark.parametrize("solver", [DESCENTS[0], *(pytest.param(solver, marks=pytest.mark.stress) for solver in DESCENTS[1:])])
def test_same_answer_on_everything_at_once(solver):
    """Some element, pin, attachment, damping or load would be missing from the sweep."""
    scene, start = scenes.mixed(damping=0.01)
    assert distance_to_newton(scene, start, 1 / 100, solver(iterations=3000, initialization="previous")) < 1e-6


def inner_cg(preconditioner):
    def solver(iterations, initialization):
        linear = pdgpu.PCG(preconditioner=preconditioner, iterations=300, tolerance=1e-6)
        return pdgpu.Newton(iterations=20, tolerance=1e-9, linear=linear, initialization=initialization)

    return solver


@pytest.mark.parametrize("solver", [*DESCENTS, inner_cg("jacobi"), inner_cg("block")])
@pytest.mark.parametrize("hold", ["line", "plane"])
def test_vertices_on_lines_and_in_planes(solver, hold):
    """A held vertex would leave its line or plane, or the solvers find different answers on it."""
    points, tets = inputs.kuhn_grid(5, 2, 2, 0.1)
    scene = pdgpu.Scene()
    body = scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.NeoHookean(1e4, 5e4), density=1000.0)
    body.pin([0])
    end = points[:, 0] > 0.45
    direction = np.array([1.0, 2.0, -0.5])
    body.slide(end, **{hold: direction})
    chosen = solver(iterations=3000, initialization="previous")
    assert distance_to_newton(scene, points * 1.1, 1 / 30, chosen) < 1e-6
    sim = pdgpu.Simulation(scene, chosen, dt=1 / 30, threads=1)
    sim.set_state(positions=points * 1.1)
    sim.step()
    x = sim.positions
    moved = (x - points * 1.1)[end]
    direction /= np.linalg.norm(direction)
    along = moved @ direction
    away = moved - np.outer(along, direction) if hold == "line" else along
    assert np.abs(away).max() < 1e-12
    assert np.abs(moved).max() > 1e-4


def test_gradient_on_a_line_is_the_derivative_along_it():
    """gradient_norm would count forces that a held vertex cannot follow, and never reach zero."""
    scene, body, scrambled = soft_bar()
    body.slide([3], line=(1.0, 1.0, 0.0))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=1 / 30)
    free = pdgpu.Simulation(soft_bar()[0], pdgpu.Newton(), dt=1 / 30)
    ours, whole = sim.gradient(scrambled)[3], free.gradient(scrambled)[3]
    np.testing.assert_allclose(ours, [0.5 * (whole[0] + whole[1])] * 2 + [0.0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("colouring", ["balanced", "greedy"])
def test_numbering_of_vertices_does_not_matter(colouring):
    """Results would not be in the user's numbering: a shuffled mesh gives the shuffled answer at convergence."""
    scene, body, _ = soft_bar()
    body.pin(body.points[:, 0] == 0)
    order = np.random.default_rng(1).permutation(len(body.points))
    rank = np.argsort(order).astype(np.int32)
    shuffled = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    other = shuffled.add_solid(pdgpu.Mesh(body.points[order], tets=rank[body.mesh.tets]), pdgpu.NeoHookean(2e4, 1e5), density=1000.0)
    other.pin(other.points[:, 0] == 0)
    solver = pdgpu.VertexBlockDescent(iterations=800, colouring=colouring)
    a, b = (pdgpu.Simulation(given, solver, dt=1 / 30) for given in (scene, shuffled))
    a.step(2)
    b.step(2)
    np.testing.assert_allclose(b.positions, a.positions[order], atol=1e-9)


def test_float32_follows_float64():
    """The short form of the neo-Hookean corners would lose its digits in float32."""
    scene, body, _ = soft_bar()
    body.pin(body.points[:, 0] == 0)
    a, b = (pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=50), dt=1 / 60, dtype=dtype) for dtype in ("float64", "float32"))
    a.step(20)
    b.step(20)
    np.testing.assert_allclose(b.positions, a.positions, atol=2e-5)


def test_mixed_damping_takes_the_general_path():
    """A damped body beside an undamped one would be treated as undamped, or the other way round."""
    points, tets = inputs.kuhn_grid(3, 1, 1, 0.1)
    scene = pdgpu.Scene()
    for k, damping in enumerate((0.0, 0.05)):
        body = scene.add_solid(pdgpu.Mesh(points + (0, 0, k), tets=tets), pdgpu.NeoHookean(1e4, 5e4), density=1000.0, damping=damping)
        body.pin(points[:, 0] == 0)
    start = scene.rest_positions() * (1.2, 1.0, 1.0)
    cmp = pdgpu.compare(scene, {"VBD": pdgpu.VertexBlockDescent(iterations=800)}, start=(start, None))
    np.testing.assert_allclose(cmp.positions["VBD"], cmp.reference, atol=1e-9)
    n = len(points)
    assert np.abs(cmp.reference[:n, :2] - cmp.reference[n:, :2]).max() > 1e-3


def test_collapsed_body_stays_finite():
    """A body collapsed to a point, a stationary point of this energy, would give NaN."""
    scene, body, _ = soft_bar()
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=20), dt=1 / 30)
    sim.set_state(positions=np.zeros_like(body.points))
    sim.step(3)
    assert np.isfinite(sim.positions).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("solver", DESCENTS)
def test_a_singular_block_moves_nothing(solver, axis, dtype):
    """A spring along an axis, without inertia, has a block with one pivot and two zeros: 0/0 would reach the positions."""
    points = np.zeros((4, 3))
    points[:, axis] = np.arange(4.0)
    scene = pdgpu.Scene(gravity=-9.81 * np.eye(3)[axis])
    rod = scene.add_rod(pdgpu.Mesh(points, edges=[[0, 1], [1, 2], [2, 3]]), pdgpu.Spring(1e3), density=1.0)
    rod.pin([3])
    sim = pdgpu.Simulation(scene, solver(iterations=5), dt=None, dtype=dtype)
    sim.step(2)
    others = np.delete(np.arange(3), axis)
    assert np.array_equal(sim.positions[:, others], points[:, others])
    if solver is not pdgpu.GradientDescent:  # its step is along the axis
        assert np.array_equal(sim.positions, points)


@pytest.mark.parametrize("solver", DESCENTS)
def test_a_potential_that_is_not_finite_is_a_divergence(solver):
    """Block Jacobi and gradient descent test G themselves: a first guess that nothing can be compared with would pass as an answer."""
    scene, _, _ = soft_bar()
    sim = pdgpu.Simulation(scene, solver(initialization="inertial_target"), dt=1 / 30)
    start, velocities = sim.positions, sim.velocities
    velocities[4] = 1e200
    sim.set_state(velocities=velocities)
    with pytest.raises(pdgpu.DivergenceError, match=solver.__name__) as caught:
        sim.step()
    assert caught.value.vertex is not None
    assert np.array_equal(sim.positions, start)
    assert np.array_equal(sim.velocities, velocities)


def test_bad_input():
    """What cannot be computed would be accepted."""
    scene, body, _ = soft_bar()
    with pytest.raises(ValueError, match="line: expected a direction of non-zero length"):
        body.slide([0], line=(0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="either line"):
        body.slide([0])
    with pytest.raises(ValueError, match="either line"):
        body.slide([0], line=(1, 0, 0), plane=(1, 0, 0))
    body.slide([0, 2], plane=(0, 1, 0))
    with pytest.raises(ValueError, match="where: vertex 2 slides already"):
        body.slide([2], line=(1, 0, 0))
    with pytest.raises(TypeError, match="ProjectiveDynamics does not take the material NeoHookean"):
        pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics())
    with pytest.raises(ValueError, match="rho: must be"):
        pdgpu.VertexBlockDescent(chebyshev=pdgpu.Chebyshev(rho=1.0))
    with pytest.raises(ValueError, match="colouring: "):
        pdgpu.VertexBlockDescent(colouring="rainbow")
    with pytest.raises(TypeError, match="line_search: "):
        pdgpu.BlockJacobi(line_search=1)


def test_a_beam_among_many_moves_as_it_does_alone():
    """If not, the lists of a sweep go wrong where they are written in several pieces, or a sum of sizes does."""
    beam = pdgpu.shapes.beam((3.0, 1.0, 1.0), cells=(30, 2, 3))
    n, count = len(beam.points), 360
    rng = np.random.default_rng(0)
    start = beam.points + 0.01 * rng.normal(size=beam.points.shape)

    def moved(copies):
        points = np.tile(beam.points, (copies, 1))
        tets = (beam.tets[None] + n * np.arange(copies, dtype=np.int32)[:, None, None]).reshape(-1, 4)
        scene = pdgpu.Scene()
        scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.NeoHookean(1e4, 1e5), density=1000.0)
        sim = pdgpu.Simulation(scene, pdgpu.BlockJacobi(iterations=1, line_search=False), dt=1e-3)
        sim.set_state(positions=np.tile(start, (copies, 1)))
        sim.step()
        return sim.positions.reshape(copies, n, 3)

    assert n * count > 2**17  # vertices of a piece
    alone, many = moved(1)[0], moved(count)
    assert np.abs(alone - start).max() > 1e-5
    assert np.array_equal(many, np.broadcast_to(alone, many.shape))


@pytest.mark.stress
def test_acceleration_is_safe_where_the_readme_says_so():
    """If not, a reader who takes rho from the README has a body that flies apart."""
    mesh = pdgpu.shapes.beam((4.0, 1.0, 1.0), cells=(16, 4, 4))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.NeoHookean(1e6, 1e7), density=1000.0, damping=1e-6).pin(lambda points: points[:, 0] < 1e-9)
    for iterations, rho in ((3, 0.75), (10, 0.95)):
        farthest = []
        for chebyshev in (None, pdgpu.Chebyshev(rho=rho, start=1)):
            solver = pdgpu.VertexBlockDescent(iterations=iterations, chebyshev=chebyshev)
            sim, moved = pdgpu.Simulation(scene, solver, dt=1 / 60, threads=1), []
            for _ in range(8):
                sim.step(25)
                moved.append(np.abs(sim.positions - mesh.points).max())
            farthest.append(max(moved))
        assert farthest[1] <= farthest[0]
    one = pdgpu.VertexBlockDescent(iterations=300, chebyshev=pdgpu.Chebyshev(rho=0.98, start=1))
    record = pdgpu.compare(scene, {"VBD": one}, dt=1 / 60, start=(mesh.points * [1.5, 1.0, 1.0], None), threads=1)["VBD"]
    assert record["relative_loss"][-1] < 1e-6
