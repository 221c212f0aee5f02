"""What one time step keeps, whatever the solver: the velocity rule, momentum, the descent inequality, first guesses, pins."""

import dataclasses

import inputs
import numpy as np
import pytest
import scenes

import pdgpu

every_solver = pytest.mark.parametrize("solver", scenes.SOLVERS)
GUESSES = ["previous", "inertia", "inertial_target", "adaptive"]


def free_body(gravity=scenes.NO_GRAVITY, shift=0.0, **options):
    points, tets = inputs.B20J()
    scene = pdgpu.Scene(gravity=gravity)
    scene.add_solid(pdgpu.Mesh(points + shift, tets=tets), pdgpu.ARAP(1e5), density=1000.0, **options)
    return scene


@pytest.mark.each_choice
@every_solver
@pytest.mark.parametrize("damping", [0.0, 0.01])
def test_free_fall_at_every_step(solver, damping):
    """If not, a falling body drifts from x_n = x_0 + n h v_0 + h^2 g n (n+1)/2, and nothing else tells."""
    points, tets = inputs.kuhn_grid(2, 1, 1, 0.1)
    scene = pdgpu.Scene(gravity=(1.0, -9.81, 2.0))
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e4), density=1000.0, velocity=(0.5, 1.5, 0.0), damping=damping)
    sim = pdgpu.Simulation(scene, dataclasses.replace(scenes.SOLVERS[solver], iterations=2), dt=0.01)
    for n in range(1, 101):
        sim.step()
        exact = points + n * 0.01 * np.array([0.5, 1.5, 0.0]) + 1e-4 * np.array([1.0, -9.81, 2.0]) * n * (n + 1) / 2
        np.testing.assert_allclose(sim.positions, exact, atol=1e-12 * n, rtol=0)


@pytest.mark.each_choice
@pytest.mark.parametrize("solver", pdgpu.solvers.SOLVERS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-4)])
def test_free_fall_with_the_defaults(solver, dtype, tolerance):
    """If not, a stiff body hangs in the air: elasticity is no force on it as a whole, so only rounding may show, some 100 of positions."""
    scene = pdgpu.Scene()
    if solver is pdgpu.PBD:  # its default relaxation is that of triangle meshes without hinges
        scene.add_shell(pdgpu.shapes.grid((0.3, 0.3), cells=(5, 5)), pdgpu.Spring(1e4), density=0.2)
    else:
        material = pdgpu.NeoHookean(2e6, 1e7) if "NeoHookean" in solver.materials else pdgpu.ARAP(2e6)
        scene.add_solid(pdgpu.shapes.beam((0.3, 0.3, 0.3), cells=(3, 3, 3)), material, density=1000.0)
    sim = pdgpu.Simulation(scene, solver(), dt=1 / 60, dtype=dtype, threads=1)
    sim.step(60)
    fallen = sim.positions - scene.rest_positions()
    assert np.abs(fallen - [0.0, -9.81 * 60 * 61 / 2 / 60**2, 0.0]).max() <= tolerance


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-11), ("float32", 2e-4)])
def test_the_adaptive_guess_learns_of_a_load_that_begins_or_turns(dtype, tolerance):
    """If not, a stiff body that nothing pulled at in the last step does not follow a force, however long it acts."""
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    scene.add_solid(pdgpu.shapes.beam((0.3, 0.3, 0.3), cells=(4, 4, 4)), pdgpu.NeoHookean(2e6, 1e7), density=1000.0)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(), dt=1 / 60, dtype=dtype, threads=1)
    sim.step(2)
    v = np.zeros(3)
    for acceleration in ([0.0, 0.0, 5.0], [-3.0, 0.0, 0.0], [3.0, 0.0, 0.0]):
        sim.external_forces = sim.masses[:, None] * np.array(acceleration)
        sim.step(20)
        v += 20 / 60 * np.array(acceleration)
        assert np.abs(sim.velocities - v).max() <= tolerance


@pytest.mark.parametrize(("height", "tolerance"), [(1.0, 3e-7), (10.0, 6e-7)])
def test_float32_velocity_after_a_long_fall(height, tolerance):
    """If not, velocities come from (x - x_t)/h: 3.0e-5 is lost from 1 m, 4.5e-4 from 10 m; the rule gives 8e-8 and 2.9e-7."""
    points, tets = inputs.kuhn_grid(2, 1, 1, 0.1)
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points + [0.0, height, 0.0], tets=tets), pdgpu.ARAP(1e3), density=1000.0)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=1), dt=0.01, dtype="float32")
    sim.step(100)
    mean = sim.masses @ sim.velocities.astype(np.float64) / sim.masses.sum()
    assert mean[1] == pytest.approx(-9.81, rel=tolerance)


@every_solver
def test_velocity_rule(solver):
    """If not, v+ = v + h (g + f/m) + (x - y)/h does not hold, and energy and momentum are those of another motion."""
    scene, x = scenes.mixed(damping=0.01)
    sim = pdgpu.Simulation(scene, scenes.SOLVERS[solver], dt=1 / 60)
    f = np.random.default_rng(1).normal(size=x.shape)
    sim.set_state(positions=x)
    sim.external_forces = f
    for _ in range(3):
        before = sim.positions
        sim.step()
        np.testing.assert_allclose(sim.velocities, (sim.positions - before) * 60.0, atol=1e-11)
    # the diagnostics now belong to the step that comes next
    fresh = pdgpu.Simulation(scene, scenes.SOLVERS[solver], dt=1 / 60)
    fresh.external_forces = f
    fresh.set_state(positions=sim.positions, velocities=sim.velocities)
    assert sim.incremental_potential() == fresh.incremental_potential()
    np.testing.assert_array_equal(sim.gradient(), fresh.gradient())


@pytest.mark.each_choice
@pytest.mark.parametrize("solver", ["direct", "chebyshev", "newton", "cg_direct", "quasi_newton", "pbd", "xpbd"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 2e-5)])
def test_momentum_of_a_free_body(solver, dtype, tolerance):
    """If not, a body that nothing touches starts to move."""
    scene = free_body(damping=0.01)
    sim = pdgpu.Simulation(scene, scenes.SOLVERS[solver], dt=1 / 60, dtype=dtype)
    rng = np.random.default_rng(0)
    x = scene.rest_positions() * [1.2, 0.9, 1.0]
    sim.set_state(positions=x, velocities=rng.normal(size=x.shape))
    before, centre = sim.masses @ sim.velocities, sim.masses @ sim.positions.astype(float)
    scale = sim.masses @ np.abs(sim.velocities)
    sim.step(10)
    assert np.abs(sim.masses @ sim.velocities - before).max() <= tolerance * scale.max()
    assert np.abs(sim.masses @ sim.positions.astype(float) - centre - before * 10 / 60).max() <= tolerance * sim.masses.sum()


@pytest.mark.parametrize("solver", ["direct", "newton", "newton_cg", "quasi_newton", "xpbd"])
def test_mass_on_a_spring_of_some_length(solver):
    """If not, a spring with a rest length loses energy faster or slower than implicit Euler: (1 + h^2 k/m)^-50."""
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    mesh = pdgpu.Mesh([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]], edges=[[0, 1]])
    scene.add_rod(mesh, pdgpu.Spring(100.0), density=1.0).pin([0])  # 1 kg at either end
    sim = pdgpu.Simulation(scene, scenes.SOLVERS[solver], dt=0.01)
    sim.set_state(positions=[[0.0, 0.0, 0.0], [2.3, 0.0, 0.0]])
    assert sim.masses[1] == pytest.approx(1.0, rel=1e-15)
    start = sim.energies()["total"]
    assert start == pytest.approx(0.5 * 100.0 * 0.09, rel=1e-12)
    sim.step(50)
    assert sim.energies()["total"] / start == pytest.approx(0.608038824689, abs=1e-12)


@pytest.mark.each_choice
@pytest.mark.parametrize("guess", ["previous", "inertial_target"])
@pytest.mark.parametrize("solver", ["direct", "newton", "newton_cg", "cg", "cg_direct", "quasi_newton"])
def test_descent_inequality(solver, guess):
    """If not, a step can put energy into a body that nothing drives.

    Started at x_t: |v+|^2/2 - <v+, v> + E(x+) <= E(x_t). Started at y: |v+ - v|^2/2 + E(x+) <= E(y). Mass norm, elastic E, no load.
    """
    scene = free_body()
    for iterations in (1, 3, 10):
        given = dataclasses.replace(scenes.SOLVERS[solver], iterations=iterations, initialization=guess)
        sim = pdgpu.Simulation(scene, given, dt=1 / 30)
        m, x = sim.masses, scenes.stretched_and_twisted(scene.rest_positions())
        sim.set_state(positions=x, velocities=0.5 * np.random.default_rng(1).normal(size=x.shape))

        def product(a, b, m=m):
            return np.einsum("i,ij,ij", m, a, b)

        def elastic(x, v, sim=sim):
            """E at x, from G(x) = |x - x_t - h v|^2_M / (2 h^2) + E(x)."""
            d = x - sim.positions - v / 30
            return sim.incremental_potential(x) - 0.5 * 900.0 * product(d, d)

        for _ in range(4):
            x, v = sim.positions, sim.velocities
            energy = elastic(x if guess == "previous" else x + v / 30, v)
            sim.step()
            w = sim.velocities
            if guess == "previous":
                left = 0.5 * product(w, w) - product(w, v)
            else:
                left = 0.5 * product(w - v, w - v)
            left += sum(sim.energies()["elastic"].values())
            assert left <= energy + 1e-12 * (energy + product(v, v))


@pytest.mark.parametrize("guess", GUESSES)
def test_quasistatic_starts_where_the_body_is_and_stops_it(guess):
    """If not, a body without inertia is thrown along its old velocity first."""
    scene = free_body(gravity=(0.0, -9.81, 0.0), velocity=(3.0, 0.0, 0.0))
    scene.bodies[0].attach([0, 21, 700], scene.bodies[0].points[[0, 21, 700]], stiffness=1e5)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=40, initialization=guess), dt=None)
    x = sim.positions
    sim.step(record="positions")
    np.testing.assert_array_equal(sim.last_step.positions[0], x)
    assert not sim.velocities.any() and sim.time == 0.0
    # in balance: the attachments carry the weight
    pull = 1e5 * (x - sim.positions)[[0, 21, 700]].sum(axis=0)
    np.testing.assert_allclose(pull, [0.0, 9.81 * sim.masses.sum(), 0.0], atol=1e-6)


@pytest.mark.parametrize("guess", GUESSES)
@every_solver
def test_scripted_pins_are_where_they_go_from_the_first_guess_on(solver, guess):
    """If not, a handle arrives late, and the solver works against it for nothing."""
    points, tets = inputs.kuhn_grid(3, 1, 1, 0.2)
    scene = pdgpu.Scene()
    body = scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e4), density=100.0)
    held = points[:, 0] < 1e-9
    body.pin(held, lambda time, rest: rest + [0.0, np.sin(time), 0.1 * time])
    body.pin([15])
    sim = pdgpu.Simulation(scene, dataclasses.replace(scenes.SOLVERS[solver], initialization=guess), dt=0.05)
    old = points[held]
    for k in range(1, 4):
        sim.step(record="positions")
        target = points[held] + [0.0, np.sin(0.05 * k), 0.005 * k]
        for iterate in sim.last_step.positions:
            np.testing.assert_allclose(iterate[held], target, atol=1e-15)
            np.testing.assert_array_equal(iterate[15], points[15])
        np.testing.assert_allclose(sim.velocities[held], (target - old) / 0.05, atol=1e-12)
        assert not sim.velocities[15].any()
        old = target


@pytest.mark.each_choice
@pytest.mark.parametrize("solver", ["direct", "chebyshev", "jacobi", "newton", "quasi_newton", "pbd", "xpbd"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-11), ("float32", 1e-3)])
def test_a_body_far_away_changes_nothing(solver, dtype, tolerance):
    """If not, results depend on what else is in the scene."""
    points, tets = inputs.B20J()
    given = scenes.SOLVERS[solver]
    if solver == "jacobi":
        given = dataclasses.replace(given, linear=pdgpu.Jacobi(weight=0.9, iterations=3))  # "auto" looks at all bodies

    def run(extra):
        scene = pdgpu.Scene()
        if extra == "before":
            scene.add_particles([[500.0, 0.0, 0.0]], mass=3.0)
        body = scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e5), density=1000.0)
        body.pin(points[:, 0] < 1e-9)
        if extra:
            scene.add_solid(pdgpu.shapes.beam((1, 1, 1), cells=(2, 2, 2)), pdgpu.ARAP(1e4), density=10.0, velocity=(0, 0, 50.0))
        sim = pdgpu.Simulation(scene, given, dt=1 / 60, dtype=dtype)
        sim.step(4)
        return sim.positions[body.slice] - points

    alone = run(None)
    for extra in ("before", "after"):
        assert np.abs(run(extra) - alone).max() <= tolerance * np.abs(alone).max()


def test_external_forces_are_forces():
    """If not, a load acts as an acceleration, and heavy vertices get too much of it."""
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    scene.add_particles([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], mass=[1.0, 4.0])
    sim = pdgpu.Simulation(scene, scenes.DIRECT, dt=0.1)
    sim.external_forces = [[0.0, 2.0, 0.0], [0.0, 2.0, 0.0]]
    sim.step(3)
    np.testing.assert_allclose(sim.velocities[:, 1], [0.6, 0.15], rtol=1e-14)
    sim.external_forces = None
    assert sim.external_forces is None
    sim.step(3)
    np.testing.assert_allclose(sim.velocities[:, 1], [0.6, 0.15], rtol=1e-14)
