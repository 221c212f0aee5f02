"""The time integrators: order, energy, closed forms, and one answer of all solvers."""

import numpy as np
import pytest
from integrator_cases import EXACT, NAMES, ORDERS, SECOND, beam, effective, oscillator, pendulum

import pdgpu


def reference(scene, acceleration, end, velocities):
    """Positions and velocities at the times `end`, by SciPy to 1e-12."""
    integrate = pytest.importorskip("scipy.integrate")
    x, n = scene.rest_positions(), scene.n_vertices

    def rate(_, state):
        position, velocity = state.reshape(2, n, 3)
        return np.concatenate([velocity.ravel(), acceleration(position, velocity).ravel()])

    start = np.concatenate([x.ravel(), velocities.ravel()])
    found = integrate.solve_ivp(rate, (0.0, end), start, method="DOP853", rtol=1e-12, atol=1e-13)
    assert found.success
    return found.y[:, -1].reshape(2, n, 3)


def errors(scene, integrator, end, steps, exact, velocities):
    found = []
    for n in steps:
        sim = pdgpu.Simulation(scene, EXACT, dt=end / n, integrator=integrator, velocities=velocities)
        sim.step(n)
        free = np.linalg.norm(sim.positions - sim.positions[0], axis=1) > 0.0
        found.append([np.linalg.norm(sim.positions - exact[0]), np.linalg.norm((sim.velocities - exact[1])[free])])
    return np.array(found)


@pytest.mark.parametrize("integrator", NAMES)
@pytest.mark.parametrize(("make", "end", "steps"), [(pendulum, 1.0, (100, 200, 400)), (beam, 0.3, (60, 120, 240))])
def test_order_of_convergence(make, end, steps, integrator):
    """If not, half the time step does not reduce the error by the factor that users choose the integrator for."""
    scene, acceleration = make()
    velocities = np.zeros((scene.n_vertices, 3))
    velocities[:, 1] = 0.5 * scene.rest_positions()[:, 0]
    exact = reference(scene, acceleration, end, velocities)
    found = errors(scene, integrator, end, steps, exact, velocities)
    orders = np.log2(found[:-1] / found[1:])
    assert np.all(np.abs(orders[-1] - ORDERS[integrator]) < 0.25), (orders, found)
    if ORDERS[integrator] == 2:
        assert np.all(found[-1] < 0.1 * errors(scene, "implicit_euler", end, steps[-1:], exact, velocities)[0])


def test_the_equations_of_motion_of_the_references():
    """If not, the orders are those towards another solution."""
    for make in (pendulum, beam):
        scene, acceleration = make()
        rng = np.random.default_rng(3)
        x = scene.rest_positions() + 0.02 * rng.normal(size=(scene.n_vertices, 3))
        sim = pdgpu.Simulation(scene, EXACT, dt=0.1, positions=x)
        free = scene.fixed() == 0
        x = sim.positions
        found = -sim.gradient(x) / sim.masses[:, None]  # at rest y - x = h^2 g: gravity is the inertia of G
        np.testing.assert_allclose(found[free], acceleration(x, 0.0 * x)[free], rtol=1e-10, atol=1e-9)


def recursion(integrator, dt, steps, rate, x, v, load):
    """Positions and velocities of x'' = -rate x + load after every step, by the printed formulas of the integrator."""
    states, h = [(x, v)], effective(integrator, dt)
    for n in range(steps):
        x, v = states[-1]
        if integrator == "implicit_euler":
            left, moved = x, v
        elif integrator == "bdf2" and n > 0:
            left, moved = (4.0 * x - states[-2][0]) / 3.0, (4.0 * v - states[-2][1]) / 3.0
        else:  # the theta method
            left, moved = x + (dt - h) * v, v + (dt - h) * (load - rate * x)
        new = (left + h * moved + h * h * load) / (1.0 + h * h * rate)
        states.append((new, moved + h * (load - rate * new)))
    return np.array(states)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("integrator", NAMES)
def test_linear_oscillator_by_hand(integrator, dtype):
    """If not, positions or velocities are not those of the formulas in the docs."""
    sim = pdgpu.Simulation(oscillator(gravity=(0.0, 0.0, -3.0)), EXACT, dt=0.05, integrator=integrator, dtype=dtype)
    sim.set_state(velocities=[[0.3, 0.0, 0.0], [0.0, 0.2, 0.0]])
    x, v = sim.positions.astype(float), sim.velocities.astype(float)
    expected = recursion(integrator, 0.05, 50, 100.0 / 2.0, x, v, np.array([0.0, 0.0, -3.0]))
    for n in range(1, 51):
        sim.step()
        close = 2e-4 if dtype == "float32" else 1e-11
        np.testing.assert_allclose(sim.positions, expected[n, 0], rtol=0.0, atol=close)
        np.testing.assert_allclose(sim.velocities, expected[n, 1], rtol=0.0, atol=10.0 * close)


@pytest.mark.parametrize("integrator", NAMES)
def test_energy_over_a_thousand_steps(integrator):
    """If not, a user gets more numerical damping than the docs say, or growth."""
    sim = pdgpu.Simulation(oscillator(), EXACT, dt=0.01, integrator=integrator)
    before = sim.energies()["total"]
    sim.step(1000)
    kept = sim.energies()["total"] / before
    z = np.sqrt(50.0) * 0.01  # of one step; the factors of the amplitude are closed forms
    if integrator == "implicit_euler":
        assert np.isclose(kept, (1.0 + z * z) ** -1000, rtol=1e-6)
    elif integrator == "bdf2":
        w = 1j * z
        root = (2.0 + np.sqrt(1.0 + 2.0 * w)) / (3.0 - 2.0 * w)
        assert np.isclose(kept, np.abs(root) ** 2000, rtol=1e-2)
        assert 0.95 < kept < 1.0
    else:
        assert np.isclose(kept, 1.0, rtol=1e-10)


def test_energy_of_a_pendulum_and_a_beam():
    """If not, the energy of a nonlinear scene drifts as under implicit Euler."""
    for make, dt in ((pendulum, 0.01), (beam, 0.004)):
        lost = {}
        for integrator in NAMES:
            scene = make()[0]
            scene.gravity = (0.0, 0.0, -9.81 if make is pendulum else -1.0)
            sim = pdgpu.Simulation(scene, EXACT, dt=dt, integrator=integrator)
            start = sim.energies()
            scale = 0.0
            for _ in range(1000):
                sim.step()
                scale = max(scale, sim.energies()["kinetic"])
            lost[integrator] = (sim.energies()["total"] - start["total"]) / scale
        assert lost["implicit_euler"] < -0.1, lost
        assert abs(lost["trapezoidal"]) < 0.02 and lost["newmark"] == lost["trapezoidal"], lost
        assert abs(lost["bdf2"]) < 0.1 * abs(lost["implicit_euler"]), lost


MINIMISERS = {
    "Newton, CG": pdgpu.Newton(iterations=60, tolerance=1e-12, linear=pdgpu.PCG(preconditioner="block")),
    "PD": pdgpu.ProjectiveDynamics(iterations=4000, tolerance=1e-12),
    "PD by Jacobi": pdgpu.ProjectiveDynamics(iterations=4000, tolerance=1e-12, linear=pdgpu.Jacobi(iterations=5)),
    "nonlinear CG": pdgpu.NonlinearCG(iterations=4000, tolerance=1e-11),
    "L-BFGS": pdgpu.QuasiNewton(iterations=2000, tolerance=1e-11),
    "VBD": pdgpu.VertexBlockDescent(iterations=2000, tolerance=1e-11),
    "block Jacobi": pdgpu.BlockJacobi(iterations=4000, tolerance=1e-10),
    "gradient descent": pdgpu.GradientDescent(iterations=20000, tolerance=1e-9),
    "ADMM": pdgpu.ADMM(iterations=4000, tolerance=1e-11),
}


def moving(integrator, solver, damping=2e-3):
    """A clamped ARAP beam with damping and a sliding vertex, stretched and falling."""
    mesh = pdgpu.shapes.beam((0.4, 0.1, 0.1), cells=(4, 1, 1))
    scene = pdgpu.Scene()
    body = scene.add_solid(mesh, pdgpu.ARAP(3e3), density=1000.0, damping=damping)
    body.pin(mesh.points[:, 0] == 0.0, motion=lambda time, rest: rest + [0.0, 0.1 * np.sin(3.0 * time), 0.0])
    sim = pdgpu.Simulation(scene, solver, dt=0.02, integrator=integrator, positions=mesh.points * [1.1, 1.0, 1.0])
    return sim


@pytest.mark.parametrize("integrator", SECOND)
@pytest.mark.parametrize("solver", MINIMISERS)
def test_every_minimiser_finds_the_same_steps(solver, integrator):
    """If not, the objective of a solver has another inertia or damping."""
    exact, other = moving(integrator, EXACT), moving(integrator, MINIMISERS[solver])
    for _ in range(3):
        exact.step(record=True)
        other.step(record=True)
        np.testing.assert_allclose(other.positions, exact.positions, rtol=0.0, atol=2e-6)
        np.testing.assert_allclose(other.velocities, exact.velocities, rtol=0.0, atol=4e-4)
        assert other.last_step["incremental_potential"][0] != 0.0


@pytest.mark.parametrize("integrator", NAMES)
def test_damping_acts_on_the_displacement_of_the_whole_step(integrator):
    """If not, a damping of 1 ms brakes as one of 0.5 ms or 0.67 ms does."""
    stiffness, mass, damping, dt = 100.0, 2.0, 0.05, 0.02
    sim = pdgpu.Simulation(oscillator(damping=damping), EXACT, dt=dt, integrator=integrator)
    x, v, h = sim.positions, sim.velocities, effective(integrator, dt)
    sim.step()
    new = sim.positions
    force = -stiffness * new - damping * stiffness * (new - x) / dt
    left, moved = (x, v) if integrator == "implicit_euler" else (x + (dt - h) * v, v - (dt - h) * stiffness / mass * x)
    np.testing.assert_allclose(new, left + h * (moved + h * force / mass), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(sim.velocities, moved + h * force / mass, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("integrator", NAMES)
def test_a_throw_is_a_parabola(integrator):
    """If not, gravity or a constant force enters with a wrong factor."""
    scene = oscillator(stiffness=0.0, gravity=(0.0, 0.0, -9.81))
    dt, steps = 0.02, 40
    sim = pdgpu.Simulation(scene, EXACT, dt=dt, integrator=integrator, velocities=np.tile([1.0, 0.0, 2.0], (2, 1)))
    sim.external_forces = np.tile([0.0, 4.0, 0.0], (2, 1))
    start, a = sim.positions, np.array([0.0, 2.0, -9.81])
    sim.step(steps)
    t = dt * steps
    moved = start + t * np.array([1.0, 0.0, 2.0]) + 0.5 * t * t * a
    extra = {"implicit_euler": 0.5 * t * dt, "bdf2": dt * dt / 4.0 * (1.0 - 3.0**-steps)}.get(integrator, 0.0)
    np.testing.assert_allclose(sim.positions, moved + extra * a, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(sim.velocities, [1.0, 0.0, 2.0] + t * a + np.zeros((2, 3)), rtol=0.0, atol=1e-10)


def test_newmark_is_the_trapezoidal_rule():
    """If not, two names of one method give two answers."""
    one, other = moving("trapezoidal", EXACT), moving("newmark", EXACT)
    one.step(5)
    other.step(5)
    assert np.array_equal(one.positions, other.positions) and np.array_equal(one.velocities, other.velocities)
    assert other.integrator == "newmark" and "newmark" in repr(other)


@pytest.mark.parametrize("integrator", SECOND)
def test_a_sliding_vertex_stays_on_its_line(integrator):
    """If not, the extrapolation of the integrator moves it across, or its velocity across flips from step to step."""
    scene = oscillator(gravity=(0.0, 0.0, -9.81))
    scene.bodies[0].slide([1], line=(1.0, 1.0, 0.0))
    sim = pdgpu.Simulation(scene, EXACT, dt=0.02, integrator=integrator, velocities=np.tile([1.0, 0.0, 0.5], (2, 1)))
    start = sim.positions[1]
    for _ in range(20):
        sim.step()
        moved = sim.positions[1] - start
        assert abs(moved[2]) < 1e-14 and abs(moved[0] - moved[1]) < 1e-13
        assert np.abs(sim.velocities[1] - sim.velocities[1, 0] * np.array([1.0, 1.0, 0.0])).max() < 1e-12
    assert np.abs(moved[0]) > 1e-3
