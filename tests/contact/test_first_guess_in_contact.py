"""Where a step under a barrier begins when no first guess is chosen: at x_t, if G is no larger there than at the inertial target."""

import dataclasses

import numpy as np
import pytest
from contact_scenes import SCENES, meeting

import pdgpu

MINIMISERS = (pdgpu.Newton, pdgpu.QuasiNewton, pdgpu.NonlinearCG)


def landing(solver, friction, dtype="float64", material=pdgpu.NeoHookean.from_young):
    """A block lands on a pinned one at an angle. Cut at the time of impact, the first guess has three times the G of x_t."""
    mesh = pdgpu.shapes.beam((0.3, 0.3, 0.3), cells=(3, 3, 3))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, material(2e5, 0.4), density=1000.0).pin(lambda points: points[:, 1] < 1e-9)
    upper = pdgpu.Mesh(mesh.points * 0.5 + [0.07, 0.3015, 0.06], tets=mesh.tets)
    scene.add_solid(upper, material(1e5, 0.4), density=2000.0, velocity=(0.3, -1.0, 0.0))
    contact = pdgpu.BarrierContact(3e-3, stiffness=1e6, friction=friction)
    return pdgpu.Simulation(scene, solver, dt=0.01, contact=contact, dtype=dtype)


def arap(young, poisson):
    return pdgpu.ARAP(0.5 * young)


def rows_until(record, norm):
    """The first row with a gradient norm of at most `norm`, N."""
    below = record["gradient_norm"] <= norm
    return int(np.argmax(below)) if below.any() else len(below)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("friction", [0.3, 1.0])
def test_newton_takes_few_iterations_on_impact(friction, dtype):
    """If not, an impact with friction costs 58 to 68 iterations instead of a dozen."""
    sim = landing(pdgpu.Newton(iterations=100), friction, dtype)
    sim.step(record="positions")
    assert sim.last_step.status != "iteration_cap" and sim.last_step.iteration <= 15
    explicit = landing(pdgpu.Newton(iterations=100, initialization="inertial_target"), friction, dtype)
    explicit.step(record="positions")
    norm = 1e-3 * explicit.last_step["gradient_norm"][0]  # far above rounding, where the last iterations are decided by chance
    assert rows_until(explicit.last_step, norm) > rows_until(sim.last_step, norm)
    before = landing(pdgpu.Newton(), friction, dtype).positions
    np.testing.assert_array_equal(sim.last_step.positions[0], before)
    assert np.abs(explicit.last_step.positions[0] - before).max() > 1e-4
    if dtype == "float64":
        np.testing.assert_allclose(sim.positions, explicit.positions, atol=1e-6)


@pytest.mark.parametrize("kind", [pdgpu.QuasiNewton, pdgpu.NonlinearCG])
def test_other_minimisers_begin_there_too(kind):
    """If not, they spend most of their iterations on the way back from the impact: quasi-Newton 54, nonlinear CG more than 600."""
    record = []
    for chosen in ({}, {"initialization": "inertial_target"}):
        sim = landing(kind(iterations=120, **chosen), 0.3, material=arap)
        sim.step(record=True)
        record.append(sim.last_step)
    assert rows_until(record[0], 100.0) <= {pdgpu.QuasiNewton: 15, pdgpu.NonlinearCG: 90}[kind]
    assert rows_until(record[1], 100.0) > {pdgpu.QuasiNewton: 40, pdgpu.NonlinearCG: 119}[kind]


def test_the_inertial_target_stays_where_its_potential_is_smaller():
    """If not, a body that falls freely loses its first guess, which is its answer."""
    sim = landing(pdgpu.Newton(), 0.3)
    sim.set_state(positions=sim.positions + np.where(np.arange(len(sim.positions)) < 64, 0.0, 1.0)[:, None] * [0.0, 0.05, 0.0])
    target = sim.positions + 0.01 * sim.velocities + 1e-4 * np.array([0.0, -9.81, 0.0])
    sim.step(record="positions")
    np.testing.assert_allclose(sim.last_step.positions[0, 64:], target[64:], atol=1e-12)


@pytest.mark.parametrize("kind", MINIMISERS)
def test_without_contact_the_choice_is_the_inertial_target(kind):
    """If not, results without contact change."""
    ends = []
    for chosen in ({}, {"initialization": "inertial_target"}):
        scene = pdgpu.Scene()
        body = scene.add_solid(pdgpu.shapes.beam((0.4, 0.1, 0.1), cells=(4, 1, 1)), pdgpu.ARAP(1e4), density=1000.0)
        body.pin(lambda points: points[:, 0] < 1e-9, motion=lambda time, rest: rest + [0.0, time, 0.0])
        sim = pdgpu.Simulation(scene, kind(iterations=5, **chosen), dt=0.01)
        sim.step(5)
        ends.append(sim.positions)
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize("name", ["twisted mat", "squeezed bunny", "squeezed armadillo", "cloth on sphere", "rod round capsule"])
def test_pins_and_obstacles_move_without_intersections(name):
    """If not, a pin or an obstacle goes through a body that stays at x_t, since the step limiter was asked about another path."""
    case = SCENES[name](False)
    sim = dataclasses.replace(case, contact=dataclasses.replace(case.contact, friction=0.3)).simulation()
    for _ in range(min(case.steps, 8)):
        sim.step()
        assert meeting(sim) == 0


@pytest.mark.parametrize("kind", [pdgpu.Newton, pdgpu.QuasiNewton])
def test_rigid_bodies_begin_there_too(kind):
    """If not, a rigid body keeps a first guess that is cut at its impact, or ends elsewhere than from that guess."""
    ends = []
    for chosen in ({}, {"initialization": "inertial_target"}):
        base = pdgpu.shapes.beam((0.3, 0.3, 0.3), cells=(2, 2, 2))
        scene = pdgpu.Scene()
        scene.add_solid(base, pdgpu.NeoHookean.from_young(2e5, 0.4), density=1000.0).pin(lambda points: points[:, 1] < 1e-9)
        box = pdgpu.shapes.box((0.15, 0.15, 0.15))
        box = pdgpu.Mesh(box.points + [0.07, 0.3015, 0.06], triangles=box.triangles)
        body = scene.add_rigid(box, density=2000.0, velocity=(0.3, -1.0, 0.0))
        sim = pdgpu.Simulation(
            scene, kind(iterations=300, **chosen), dt=0.01, contact=pdgpu.BarrierContact(3e-3, stiffness=1e6, friction=0.3)
        )
        before = sim.positions
        sim.step(record="positions")
        assert meeting(sim) == 0
        stays = np.abs(sim.last_step.positions[0] - before).max() == 0.0
        assert stays == (not chosen), body.name
        ends.append(sim.positions)
    np.testing.assert_allclose(*ends, atol=1e-6)


def test_none_is_refused_where_there_is_no_choice():
    """If not, a solver whose own default differs would take None for it in silence."""
    for kind in (pdgpu.VertexBlockDescent, pdgpu.ProjectiveDynamics, pdgpu.ADMM):
        with pytest.raises(TypeError, match=r"initialization.*None"):
            kind(initialization=None)
