"""Steps between two iterations: nothing moves by looking, and every solver goes on from the same bits."""

import inputs
import numpy as np
import pytest
import scenes

import pdgpu


def simulation(solver, dtype="float64", motion=None):
    scene, body = scenes.bar(inputs.K10(), 1e5)
    if motion is not None:
        body.pin([0, 1], motion=motion)
    sim = pdgpu.Simulation(scene, solver, dt=1 / 50, dtype=dtype)
    sim.set_state(positions=scenes.stretched_and_twisted(np.array(body.points)))
    sim.step(2)
    return scene, sim


@pytest.mark.parametrize("name", ["direct", "vbd", "quasi_newton", "cg"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_snapshot_changes_nothing(name, dtype):
    """If not, looking into a step changes the run."""
    (_, sim), (_, twin) = (simulation(scenes.MINIMISERS[name], dtype) for _ in range(2))
    taken = sim.snapshot(4)
    assert taken.time == sim.time and taken.iteration == 4 and taken.iterate.dtype == dtype
    with pytest.raises(ValueError, match=r"the step ends \(iteration_cap\) after 8, so there is none after 9"):
        sim.snapshot(9)
    assert sim.time == twin.time and np.array_equal(sim.velocities, twin.velocities)
    sim.step(2)
    twin.step(record="positions")
    assert np.array_equal(twin.last_step.positions[4], taken.iterate)
    assert np.array_equal(taken.positions + 0.0, simulation(scenes.MINIMISERS[name], dtype)[1].positions)
    twin.step()
    assert np.array_equal(sim.positions, twin.positions) and np.array_equal(sim.velocities, twin.velocities)


@pytest.mark.parametrize("scripted", [False, True])
def test_every_solver_goes_on_from_the_same_iterate(scripted):
    """If not, solvers that are compared from one iterate start at different ones, or on another objective."""
    motion = (lambda time, rest: rest + [0.0, 0.3 * time, 0.0]) if scripted else None
    scene, sim = simulation(scenes.DIRECT, motion=motion)
    taken = sim.snapshot(4)
    solvers = {**scenes.MINIMISERS, "admm": scenes.ADMM, "xpbd": scenes.XPBD}
    comparison = pdgpu.compare(scene, solvers, dt=1 / 50, start=taken)
    whole = simulation(scenes.DIRECT, motion=motion)[1]
    whole.step(record="positions")
    first = sim.incremental_potential(taken.iterate)
    for name, record in comparison.records.items():
        assert record["incremental_potential"][0] == first, name
    again = pdgpu.compare(scene, {"direct": scenes.shortened(scenes.DIRECT, 4)}, dt=1 / 50, start=taken, reference=comparison.reference)
    # projections remember nothing: four and four iterations are eight
    np.testing.assert_allclose(again.positions["direct"], whole.positions, rtol=0.0, atol=1e-12)
    assert np.array_equal(
        again.positions["direct"],
        pdgpu.compare(scene, {"direct": scenes.shortened(scenes.DIRECT, 4)}, dt=1 / 50, start=taken, reference=None, threads=1).positions[
            "direct"
        ],
    )
    rounded = pdgpu.compare(scene, {"vbd": scenes.VBD}, dt=1 / 50, start=taken, reference=None, dtype="float32")
    assert rounded["vbd"]["incremental_potential"][0] == sim.incremental_potential(taken.iterate.astype(np.float32))


def on_a_ball(dtype="float64", **contact):
    """A cloth that lies on a moving ball and slides, after some steps."""
    scene = pdgpu.Scene()
    sheet = pdgpu.shapes.grid((0.4, 0.4), cells=(10, 10))
    flat = pdgpu.Mesh(sheet.points[:, [0, 2, 1]] + [-0.2, 0.103, -0.2], triangles=sheet.triangles[:, ::-1])
    scene.add_shell(flat, pdgpu.Spring(200.0), density=0.3, bending=1e-4, velocity=(0.0, -1.0, 0.0), name="cloth")
    scene.add_obstacle(pdgpu.Sphere((0.0, 0.0, 0.0), 0.1), motion=lambda time: (np.eye(3), [0.3 * time, 0.0, 0.0]), name="ball")
    law = pdgpu.BarrierContact(**{"distance": 2e-3, "stiffness": 1e5, "friction": 0.3, "area_weighted": False, **contact})
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=6, tolerance=1e-3), dt=1 / 100, contact=law, dtype=dtype)
    sim.step(4)
    return scene, sim


def forces_of(sim):
    found = sim.contact_forces()
    return np.concatenate([found.normal_force, found.friction_force.ravel(), found.slip.ravel()])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_snapshot_in_contact_changes_nothing(dtype):
    """If not, looking into a step changes what rubs on what, or forgets how far something had slipped."""
    (_, sim), (_, twin) = on_a_ball(dtype), on_a_ball(dtype)
    before = forces_of(sim)
    taken = sim.snapshot(3)
    assert before.size and before.any() and np.array_equal(forces_of(sim), before) and sim.time == twin.time
    twin.step(record="positions")
    assert np.array_equal(twin.last_step.positions[3], taken.iterate) and twin.last_step.iteration > 3
    sim.step()
    assert np.array_equal(sim.positions, twin.positions) and np.array_equal(sim.velocities, twin.velocities)
    assert np.array_equal(forces_of(sim), forces_of(twin))


def test_every_solver_goes_on_in_contact():
    """If not, solvers that are compared from one iterate have other pairs, other friction or another ball there."""
    scene, sim = on_a_ball()
    taken = sim.snapshot(3)
    first = sim.incremental_potential(taken.iterate)
    solvers = {
        "newton": pdgpu.Newton(iterations=30),
        "pd": scenes.DIRECT,
        "vbd": scenes.VBD,
        "block_jacobi": scenes.BLOCK_JACOBI,
        "cg": scenes.CG,
    }
    given = {"dt": 1 / 100, "start": taken, "contact": sim.contact}
    comparison = pdgpu.compare(scene, solvers, **given)
    for name, record in comparison.records.items():
        assert record["incremental_potential"][0] == first and record["active_contacts"][0] > 0.0, name
        assert record["incremental_potential"][-1] < first and record["smallest_distance"].min() > 0.0, name
    assert abs(comparison["newton"]["relative_loss"][-1]) < 1e-6
    # the answer is that of the step itself
    sim.step()
    whole = pdgpu.compare(scene, {"newton": solvers["newton"]}, **given | {"start": taken._replace(iterate=sim.positions)}, reference=None)
    np.testing.assert_allclose(whole.positions["newton"], comparison.reference, rtol=0.0, atol=1e-8)
    again = pdgpu.compare(scene, solvers, **given, reference=None, threads=1)
    assert all(np.array_equal(again.positions[name], comparison.positions[name]) for name in solvers)
    # Newton's iterations look at the iterate alone: three and two are five
    pieces = pdgpu.compare(scene, {"newton": pdgpu.Newton(iterations=2)}, **given, reference=None).positions["newton"]
    five = on_a_ball()[1].snapshot(5).iterate
    np.testing.assert_allclose(pieces, five, rtol=0.0, atol=1e-12)


def test_every_solver_goes_on_under_the_same_forces():
    """If not, a wind that blows in the run is calm where its solvers are compared."""
    scene, sim = simulation(scenes.DIRECT)
    calm = sim.incremental_potential(sim.positions * 1.01)
    sim.external_forces = np.full(sim.positions.shape, 3.0) * sim.masses[:, None]
    taken = sim.snapshot(4)
    comparison = pdgpu.compare(scene, scenes.MINIMISERS, dt=1 / 50, start=taken)
    first = sim.incremental_potential(taken.iterate)
    assert all(record["incremental_potential"][0] == first for record in comparison.records.values())
    assert sim.incremental_potential(sim.positions * 1.01) != calm
    newton = pdgpu.Simulation(scene, pdgpu.Newton(iterations=40), dt=1 / 50)
    newton.set_state(positions=sim.positions, velocities=sim.velocities)
    newton.external_forces = sim.external_forces
    newton.step()
    np.testing.assert_allclose(newton.positions, comparison.reference, rtol=0.0, atol=1e-9)


def test_snapshots_that_are_none_are_refused():
    """If not, solvers are compared on a step that is not the one that was looked into."""
    scene, sim = simulation(scenes.DIRECT)
    taken = sim.snapshot()
    with pytest.raises(ValueError, match=r"a step of 0\.02 s, and dt is 0\.1"):
        pdgpu.compare(scene, {"a": scenes.DIRECT}, dt=0.1, start=taken)
    with pytest.raises(ValueError, match=r"a step with contact None, and contact is BarrierContact\("):
        pdgpu.compare(scene, {"a": scenes.NEWTON}, dt=1 / 50, start=taken, contact=pdgpu.BarrierContact(1e-3))
    with pytest.raises(ValueError, match="iterations"):
        sim.snapshot(-1)
    soft = pdgpu.Simulation(scene, scenes.NEWTON, contact=pdgpu.PenaltyContact(1e-3, stiffness=1e3))
    with pytest.raises(ValueError, match="contact: PenaltyContact has pairs that depend"):
        soft.snapshot()
    with pytest.raises(ValueError, match="friction_lags must be 1"):
        on_a_ball(friction_lags=2)[1].snapshot()
    touched, sim = on_a_ball()
    given = {"dt": 1 / 100, "contact": sim.contact, "reference": None}
    with pytest.raises(ValueError, match="is of float64, and rounding to float32"):
        pdgpu.compare(touched, {"a": scenes.NEWTON}, start=sim.snapshot(3), dtype="float32", **given)
    below = sim.positions
    below[len(below) // 2, 1] -= 0.15
    with pytest.raises(ValueError, match="'cloth' and 'ball' start intersecting"):
        pdgpu.compare(touched, {"a": scenes.NEWTON}, start=sim.snapshot()._replace(iterate=below), **given)


def test_a_step_that_is_not_where_it_goes_has_no_snapshot():
    """If not, solvers go on with an obstacle somewhere on its way, each with another objective."""
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    scene.add_solid(pdgpu.shapes.beam((0.1, 0.1, 0.1), cells=(2, 2, 2)), pdgpu.ARAP(1e4), density=1000.0)
    lid = pdgpu.Plane((0.0, 0.101, 0.0), (0.0, -1.0, 0.0))
    scene.add_obstacle(lid, motion=lambda time: (np.eye(3), [0.0, -5.0 * time, 0.0]))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=10), dt=1 / 100, contact=pdgpu.BarrierContact(1e-3))
    with pytest.raises(ValueError, match=r"iterations: pins or obstacles have a target lag of 0\.0\d+ m after 1, held back"):
        sim.snapshot(1)


def test_a_refused_snapshot_far_from_the_origin_leaves_the_state():
    """If not, a simulation whose origin moves in the snapshot goes on one step ahead."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(pdgpu.shapes.beam((1, 1, 1), cells=(1, 1, 1)), pdgpu.ARAP(1e4), density=1e3, velocity=(1e4, 0.0, 0.0))
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=2), dt=0.01)
    sim.step(32)
    time, positions = sim.time, sim.positions
    with pytest.raises(ValueError, match="so there is none after 5"):
        sim.snapshot(5)
    assert sim.origin.any() and sim.time == time and np.array_equal(sim.positions, positions)
