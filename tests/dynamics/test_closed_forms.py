"""Time steps and equilibria against answers on paper."""

import dataclasses
import itertools

import inputs
import numpy as np
import pytest
import scenes

import pdgpu


@pytest.mark.parametrize("solver", scenes.SOLVERS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 3e-5)])
def test_free_fall(solver, dtype, tolerance):
    """If not, time, gravity or the velocity rule is wrong in everything that moves."""
    scene = pdgpu.Scene()
    scene.add_solid(
        pdgpu.Mesh(*inputs.kuhn_grid(3, 2, 2, 0.1)[:1], tets=inputs.kuhn_grid(3, 2, 2, 0.1)[1]), pdgpu.ARAP(1e5), density=1000.0
    )
    sim = pdgpu.Simulation(scene, dataclasses.replace(scenes.SOLVERS[solver], iterations=2), dt=0.01, dtype=dtype)
    x = sim.positions.astype(np.float64)
    sim.set_state(velocities=np.broadcast_to([0.0, 1.5, 0.0], x.shape))
    sim.step(100)
    fall = sim.positions.astype(np.float64) - x
    np.testing.assert_allclose(fall[:, 1], -3.45405, atol=tolerance)
    np.testing.assert_allclose(fall[:, [0, 2]], 0.0, atol=tolerance)
    np.testing.assert_allclose(sim.velocities[:, 1], 1.5 - 9.81, rtol=tolerance)
    assert sim.time == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("solver", ["direct", "newton"])
def test_linear_spring_loses_energy_as_implicit_euler_says(solver):
    """If not, numerical damping is not that of implicit Euler: E50/E0 = (1 + h^2 k/m)^-50."""
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    scene.add_particles([[0.0, 0.0, 0.0]], mass=1.0).attach([0], (0.0, 0.0, 0.0), stiffness=100.0)
    sim = pdgpu.Simulation(scene, scenes.SOLVERS[solver], dt=0.01)
    sim.set_state(positions=[[0.3, -0.2, 0.1]])
    start = sim.energies()["total"]
    sim.step(50)
    assert sim.energies()["total"] / start == pytest.approx(0.608038824689, abs=1e-12)


@pytest.mark.parametrize("mesh", ["B20", "B20J"])
def test_traction_patch(mesh):
    """If not, stress or surface loads are wrong: x = diag(1 + f/(2 mu A0), 1, 1) X exactly, tip 0.08."""
    points, tets = getattr(inputs, mesh)()
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    body = scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e5), density=1000.0)
    body.pin(points[:, 0] < 1e-9)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=30), dt=None)
    forces = np.zeros_like(points)
    end = body.mesh.surface[(points[body.mesh.surface][:, :, 0] > 1.0 - 1e-9).all(axis=1)]
    corner = points[end]
    areas = 0.5 * np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1)
    np.add.at(forces[:, 0], end.ravel(), np.repeat(areas / 3.0, 3) * 1000.0 / 0.0625)
    sim.external_forces = forces
    sim.step()
    np.testing.assert_allclose(sim.positions, points * [1.08, 1.0, 1.0], atol=1e-12)
    assert not sim.velocities.any()


def hang(solver, lumping):
    """A bar that hangs along +x: (displacement at every iteration, exact u = rho g (L x - x^2/2) / (2 mu), vertices of the tip)."""
    points, tets = inputs.B20()
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e5), density=1000.0).pin(points[:, 0] < 1e-9)
    sim = pdgpu.Simulation(scene, solver, dt=None)
    mass = np.array(sim.masses)
    if lumping == "cells":
        mass[:] = 0.0
        for offset in itertools.product((0, 1), repeat=3):
            cells = np.array(list(itertools.product(range(20), range(5), range(5)))) + offset
            np.add.at(mass, cells @ [1, 21, 21 * 6], 1000.0 * 0.05**3 / 8)
    sim.external_forces = mass[:, None] * [9.81, 0.0, 0.0]
    sim.step(record="positions")
    x = points[:, 0]
    exact = np.zeros_like(points)
    exact[:, 0] = 1000.0 * 9.81 * (x - 0.5 * x**2) / 2e5
    return sim.last_step.positions - points, exact, x > 1 - 1e-9


def test_hanging_bar_by_projective_dynamics():
    """If not, gravity and elasticity do not balance as in the reference run, which is 60 iterations from rest."""
    u, exact, tip = hang(pdgpu.ProjectiveDynamics(iterations=60), "tets")
    assert u[60][tip, 0].mean() == pytest.approx(0.0245246956, abs=1e-10)
    assert np.abs(u[60] - exact).max() == pytest.approx(2.5e-4, rel=0.02)


def test_hanging_bar_with_masses_lumped_by_cells():
    """If not, the first global step (all rotations the identity) is not the Laplacian of the grid: its error is 2.0e-5."""
    u, exact, _ = hang(pdgpu.ProjectiveDynamics(iterations=1), "cells")
    assert np.abs(u[1] - exact).max() == pytest.approx(2.0e-5, rel=0.02)


@pytest.mark.parametrize(("lumping", "tolerance"), [("cells", 0.003), ("tets", 0.02)])
def test_hanging_bar_in_balance(lumping, tolerance):
    """If not, the bar hangs too long or too short. Masses lumped by tets load a section unevenly: warped, but right on average."""
    u, exact, tip = hang(pdgpu.Newton(iterations=30), lumping)
    assert np.abs(u[-1] - exact).max() <= tolerance * 0.024525
    assert u[-1][tip, 0].mean() == pytest.approx(0.024525, rel=5e-5)


@pytest.mark.parametrize("guess", ["previous", "inertia", "inertial_target", "adaptive"])
def test_first_guesses(guess):
    """If not, a comparison starts its solvers from another point than it says."""
    scene = pdgpu.Scene()
    body = scene.add_particles([[0.0, 1.0, 0.0], [5.0, 1.0, 0.0]], mass=1.0, velocity=(1.0, 2.0, 3.0))
    body.attach([0], (0.0, 0.0, 0.0), stiffness=40.0)
    h, g = 0.02, np.array([0.0, -9.81, 0.0])
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=4, initialization=guess), dt=h)
    previous = None
    for _ in range(3):
        x, v = sim.positions, sim.velocities
        along = 1.0
        if previous is not None:
            along = np.clip((v - previous) / h @ g / (g @ g), 0.0, 1.0)[:, None]
        expected = {
            "previous": x,
            "inertia": x + h * v,
            "inertial_target": x + h * v + h * h * g,
            "adaptive": x + h * v + h * h * along * g,
        }[guess]
        previous = v
        sim.step(record="positions")
        np.testing.assert_allclose(sim.last_step.positions[0], expected, atol=1e-14)


def test_adaptive_guess_starts_anew_after_set_state():
    """If not, an acceleration across a jump that the user made steers the next step, or the body starts as if nothing pulled at it."""
    scene = pdgpu.Scene()
    scene.add_particles([[0.0, 1.0, 0.0]], mass=1.0)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(initialization="adaptive"), dt=0.1)
    sim.step(2)
    sim.set_state(positions=[[0.0, 0.0, 0.0]], velocities=[[1.0, 0.0, 0.0]])
    sim.step(record="positions")
    np.testing.assert_allclose(sim.last_step.positions[0], [[0.1, -0.0981, 0.0]], atol=1e-15)


def test_scripted_pins_go_where_their_motion_says():
    """If not, a scripted handle drags the body late, or with a wrong velocity."""
    points, tets = inputs.kuhn_grid(3, 1, 1, 0.2)
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    body = scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e4), density=100.0)
    seen = []

    def motion(time, rest):
        seen.append((time, rest.shape))
        return rest + [0.0, 2.0 * time, 0.0]

    body.pin(points[:, 0] < 1e-9, motion)
    sim = pdgpu.Simulation(scene, scenes.DIRECT, dt=0.05)
    sim.step(4)
    held = points[:, 0] < 1e-9
    np.testing.assert_allclose(sim.positions[held], points[held] + [0.0, 0.4, 0.0], atol=1e-14)
    np.testing.assert_allclose(sim.velocities[held], np.broadcast_to([0.0, 2.0, 0.0], (held.sum(), 3)), atol=1e-12)
    assert seen[0] == (0.05, (held.sum(), 3))


def test_fixed_pins_stay_where_set_state_puts_them():
    """If not, a stretched start is undone by its own pins."""
    points, tets = inputs.kuhn_grid(2, 1, 1, 0.2)
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e4), density=100.0).pin([0, 5])
    sim = pdgpu.Simulation(scene, scenes.DIRECT)
    sim.set_state(positions=points + 1.0, velocities=np.ones_like(points))
    sim.step(3)
    np.testing.assert_array_equal(sim.positions[[0, 5]], points[[0, 5]] + 1.0)
    np.testing.assert_array_equal(sim.velocities[[0, 5]], 0.0)
