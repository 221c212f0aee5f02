"""The box that vertices are pushed back into, with every solver."""

import numpy as np
import pytest
import scenes

import pdgpu

FLOOR = ((-np.inf, 0.0, -np.inf), (np.inf, np.inf, np.inf))
SOLVERS = {
    **{name: solver for name, solver in scenes.MINIMISERS.items() if name != "jacobi"},  # it stops short of the answer
    "vbd": pdgpu.VertexBlockDescent(),
    "block jacobi": pdgpu.BlockJacobi(line_search=True),
    "gradient descent": pdgpu.GradientDescent(line_search=True),
}


def particle(height, box=FLOOR, stiffness=500.0):
    scene = pdgpu.Scene(gravity=(0.0, -10.0, 0.0))
    scene.add_particles([[3.0, height, -7.0]], mass=2.0)
    scene.set_world_box(*box, stiffness)
    return scene


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_particle_rests_where_the_wall_bears_its_weight(solver):
    """If not, the wall has another stiffness than it was given: depth m g / k."""
    sim = pdgpu.Simulation(particle(-2.0 * 10.0 / 500.0), SOLVERS[solver], dt=1 / 50)
    sim.step(5)
    np.testing.assert_allclose(sim.positions, [[3.0, -0.04, -7.0]], atol=1e-13)
    assert sim.energies()["elastic"] == {"WorldBox": pytest.approx(0.5 * 500.0 * 0.04**2, rel=1e-9)}
    # high above the floor it falls freely
    sim = pdgpu.Simulation(particle(1.0), pdgpu.Newton(), dt=1 / 50)
    sim.step(3)
    assert sim.velocities[0, 1] == pytest.approx(-0.6, rel=1e-12)


def test_what_falls_in_slowly_is_not_stopped_but_reversed():
    """If not, the wall is damping or glue: one step of implicit Euler from the first touch is (x_t + h v)/(1 + h^2 k/m)."""
    h, k, m, v = 1 / 50, 500.0, 2.0, -3.0
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_particles([[0.0, 0.01, 0.0]], mass=m, velocity=(1.0, v, 0.0))
    scene.set_world_box(*FLOOR, k)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=h)
    sim.step()
    depth = (0.01 + h * v) / (1 + h * h * k / m)
    np.testing.assert_allclose(sim.positions, [[h, depth, 0.0]], atol=1e-14)
    sim.step(30)
    assert sim.velocities[0, 1] > 0 and sim.velocities[0, 0] == pytest.approx(1.0, rel=1e-12)


def test_all_six_sides_and_every_body():
    """If not, a side is forgotten, or a body that was added later falls through."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.set_world_box((-1, -1, -1), (1, 1, 1), 1e4)
    scene.add_particles(2.0 * np.concatenate([np.eye(3), -np.eye(3)]), mass=1.0)
    scene.add_rod(pdgpu.shapes.chain(2, length=4.0), pdgpu.Spring(1.0), density=1.0)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=1 / 30)
    assert sim.energies()["elastic"]["WorldBox"] == pytest.approx(0.5e4 * (6 * 1.0 + 1.0 + 9.0), rel=1e-12)
    assert set(sim.energies()["elastic"]) == {"WorldBox", "Spring"}
    gradient = sim.gradient()
    np.testing.assert_allclose(sim.forces(), -gradient, atol=1e-9)
    assert sum(body["total"] for body in sim.body_energies().values()) == pytest.approx(sim.energies()["total"], rel=1e-12)
    np.testing.assert_allclose(gradient[:6], 1e4 * np.concatenate([np.eye(3), -np.eye(3)]), atol=1e-9)
    second = pdgpu.Scene()
    second.add_particles([[0.0, 0.0, 0.0]], mass=1.0)
    second.set_world_box((1, 1, 1), (2, 2, 2), 5.0)
    second.set_world_box((0, 0, 0), (2, 2, 2), 7.0)  # replaces the first
    assert pdgpu.Simulation(second, pdgpu.Newton()).energies()["elastic"] == {"WorldBox": 0.0}


def test_the_system_matrix_holds_the_stiffness_of_the_wall_at_every_vertex():
    """If not, Projective Dynamics raises the potential where a vertex meets the wall."""
    scene, _ = scenes.mixed()
    before = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics()).system_matrix()
    scene.set_world_box((-1, -1, -1), (1, 1, 1), 123.0)
    after = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics()).system_matrix()
    np.testing.assert_allclose((after - before).toarray(), 123.0 * np.eye(before.shape[0]), atol=1e-8)


def test_position_based_dynamics_moves_back_to_the_wall():
    """If not, PBD treats the wall as a spring."""
    sim = pdgpu.Simulation(particle(-0.3), pdgpu.PBD(iterations=60, relaxation=0.5), dt=1 / 50)
    sim.step()
    np.testing.assert_allclose(sim.positions, [[3.0, 0.0, -7.0]], atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("material", [pdgpu.NeoHookean(2e4, 1e5), pdgpu.ARAP(2e4)], ids=repr)
def test_a_body_dropped_on_the_floor_bears_its_weight(material, dtype):
    """If not, the forces of the wall and of the body do not balance."""
    beam = pdgpu.shapes.beam((0.6, 0.3, 0.3), cells=(2, 1, 1))
    scene = pdgpu.Scene(gravity=(0.0, -10.0, 0.0))
    scene.add_solid(beam, material, density=1000.0, damping=0.05)
    scene.set_world_box(*FLOOR, 2e4)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=5), dt=1 / 30, dtype=dtype, threads=1)
    sim.step(120)
    x = sim.positions.astype(np.float64)
    assert np.abs(sim.velocities).max() < 0.02
    assert 2e4 * np.maximum(-x[:, 1], 0.0).sum() == pytest.approx(540.0, rel=0.01)
