"""The incremental potential, its gradient and Hessian, and what solvers do to it."""

import itertools

import inputs
import numpy as np
import pytest
import scenes

import pdgpu


@pytest.mark.parametrize(("dt", "damping"), list(itertools.product((1 / 30, None), (0.0, 0.02))))
def test_gradient_and_hessian_are_derivatives(dt, damping):
    """If not, `gradient` belongs to another function than the one that is plotted."""
    if dt is None:
        scene, _ = scenes.bar(inputs.kuhn_grid(3, 2, 2, 0.3), 2e4, gravity=(0.0, -9.81, 0.0))
        x = scene.rest_positions() * 1.05 + 0.02 * np.random.default_rng(3).normal(size=(len(scene.rest_positions()), 3))
        scene.bodies[0].damping = damping
    else:
        scene, x = scenes.mixed(damping=damping)
    sim = pdgpu.Simulation(scene, scenes.DIRECT, dt=dt)
    rng = np.random.default_rng(1)
    sim.set_state(positions=x, velocities=rng.normal(size=x.shape))
    sim.external_forces = rng.normal(size=x.shape)
    at = x + 0.01 * rng.normal(size=x.shape)
    gradient, hessian = sim.gradient(at), sim.hessian(at)
    free = sim._core.fixed == 0
    assert not gradient[~free].any()
    assert abs(hessian - hessian.T).max() <= 1e-9 * abs(hessian).max()
    for _ in range(12):
        direction = rng.normal(size=x.shape) * free[:, None] / np.sqrt(len(x))
        delta = 1e-6
        slope = (sim.incremental_potential(at + delta * direction) - sim.incremental_potential(at - delta * direction)) / (2 * delta)
        assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-5, abs=1e-5 * np.abs(gradient).max())
        change = (sim.gradient(at + delta * direction) - sim.gradient(at - delta * direction)) / (2 * delta)
        product = (hessian @ direction.ravel()).reshape(-1, 3)
        np.testing.assert_allclose(product, change, atol=2e-5 * np.abs(change).max())


def test_incremental_potential_by_its_definition():
    """If not, solvers of other packages cannot be compared with these numbers."""
    scene = pdgpu.Scene()
    body = scene.add_particles([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [2.0, 0.0, 0.0]], mass=[1.0, 2.0, 3.0], velocity=(0.5, 0.0, 0.0))
    body.attach([1], (1.0, 2.0, 0.0), stiffness=7.0)
    body.pin([2])
    h, f = 0.1, np.array([[0.0, 0, 1.0], [0, 0, 0], [9.0, 9, 9]])
    sim = pdgpu.Simulation(scene, scenes.NEWTON, dt=h)
    sim.external_forces = f
    x = sim.positions + 0.3
    y = sim.positions + h * sim.velocities + h * h * (np.array([0.0, -9.81, 0.0]) + f / sim.masses[:, None])
    expected = sum(sim.masses[i] / (2 * h * h) * np.sum((x[i] - y[i]) ** 2) for i in (0, 1)) + 3.5 * np.sum((x[1] - [1, 2, 0]) ** 2)
    assert sim.incremental_potential(x) == pytest.approx(expected, rel=1e-13)
    quasistatic = pdgpu.Scene(gravity=(0.0, -2.0, 0.0))
    quasistatic.add_particles([[0.0, 1.0, 0.0]], mass=3.0).attach([0], (0.0, 0.0, 0.0), stiffness=7.0)
    sim = pdgpu.Simulation(quasistatic, scenes.NEWTON, dt=None)
    assert sim.incremental_potential([[0.0, 0.5, 0.0]]) == pytest.approx(3.0 * 2.0 * 0.5 + 3.5 * 0.25, rel=1e-13)


def test_rigid_motion_is_not_damped():
    """If not, damping acts as drag, and a body in free fall is braked."""
    points, tets = inputs.kuhn_grid(3, 2, 2, 0.1)
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e5), density=1000.0, damping=0.1)
    sim = pdgpu.Simulation(scene, scenes.DIRECT, dt=0.01)
    sim.step(50)
    np.testing.assert_allclose(sim.velocities[:, 1], -9.81 * 0.5, rtol=1e-10)


def test_damping_takes_energy_out():
    """If not, the damping time does nothing."""
    points, tets = inputs.kuhn_grid(10, 2, 2, 0.1)
    left = []
    for damping in (0.0, 0.02):
        scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
        body = scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e5), density=1000.0, damping=damping)
        body.pin(points[:, 0] < 1e-9)
        sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=6), dt=1 / 200)
        sim.set_state(positions=points * [1.1, 1.0, 1.0])
        sim.step(20)
        left.append(sim.energies()["total"])
    assert left[1] < 0.9 * left[0]


@pytest.mark.each_choice
@pytest.mark.parametrize("damping", [0.0, 0.05])
@pytest.mark.parametrize("pose", ["mixed", "stretched", "inverted"])
def test_projective_dynamics_never_raises_the_potential(pose, damping):
    """If not, the system matrix is no upper bound of the Hessian and the method may diverge."""
    if pose == "mixed":
        scene, x = scenes.mixed(damping=damping)
    else:
        points, tets = inputs.B20J()
        scene = pdgpu.Scene()
        scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e5), density=1000.0, damping=damping).pin([0, 1, 2])
        x = scenes.stretched_and_twisted(points) if pose == "stretched" else points * [-1.0, 1.0, 1.0]
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=60), dt=1 / 30)
    sim.set_state(positions=x, velocities=np.random.default_rng(2).normal(size=x.shape))
    for _ in range(2):
        sim.step(record=True)
        G = sim.last_step["incremental_potential"]
        assert (np.diff(G) <= 1e-12 * np.abs(G[:-1])).all()


def converge(scene, x, dt, solver, **options):
    sim = pdgpu.Simulation(scene, solver, dt=dt, **options)
    sim.set_state(positions=x)
    sim.step()
    return sim.positions


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        "bar",
        pytest.param("creature", marks=pytest.mark.stress),
        "sphere",
        pytest.param("bunny", marks=pytest.mark.stress),
        "cloth",
        "mixed",
    ],
)
def test_projective_dynamics_and_newton_reach_the_same_answer(case):
    """If not, the two minimise different functions, and comparing them means nothing."""
    if case == "bar":
        scene, body = scenes.bar(inputs.B20(), 1e5 / 2.6)
        x = scenes.stretched_and_twisted(body.points)
    elif case in ("creature", "sphere", "bunny"):
        if case == "creature":
            mesh = scenes.creature()
        else:
            mesh = pdgpu.read_mesh(inputs.data_file({"sphere": "tet/ipc_sphere1K.msh", "bunny": "tet/ipc_bunny.msh"}[case]))
            mesh = pdgpu.Mesh(inputs.normalised(mesh.points), tets=mesh.tets)
        scene = pdgpu.Scene()
        scene.add_solid(mesh, pdgpu.ARAP(2e4), density=1000.0).pin(mesh.points[:, 1] < 0.05)
        x = mesh.points * [1.0, 1.3, 1.0]
    elif case == "cloth":
        scene, x = scenes.in_tension()
    else:
        scene, _ = scenes.mixed(damping=0.01)
        x = scene.rest_positions() * 1.02
    dt = 1 / 30
    newton = converge(scene, x, dt, pdgpu.Newton(iterations=60, initialization="previous"))
    pd = converge(scene, x, dt, pdgpu.ProjectiveDynamics(iterations=5000, tolerance=1e-11, initialization="previous"))
    assert np.linalg.norm(pd - newton) <= 1e-8 * np.linalg.norm(newton - x)


def test_energies_add_up():
    """If not, a plot of energies does not show what the solver minimises."""
    scene, x = scenes.mixed()
    sim = pdgpu.Simulation(scene, scenes.DIRECT)
    sim.set_state(positions=x)
    energies = sim.energies()
    assert set(energies["elastic"]) == {"ARAP", "Volume", "StrainLimit", "Spring", "Area", "Bending", "Attachment"}
    parts = energies["kinetic"] + energies["gravity"] + sum(energies["elastic"].values())
    assert energies["total"] == pytest.approx(parts, rel=1e-14)
    assert energies["gravity"] == pytest.approx(9.81 * sim.masses @ x[:, 1], rel=1e-12)
