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


def test_snapshots_that_are_none_are_refused():
    """If not, solvers are compared on a step that is not the one that was looked into."""
    scene, sim = simulation(scenes.DIRECT)
    taken = sim.snapshot()
    with pytest.raises(ValueError, match=r"a step of 0\.02 s, and dt is 0\.1"):
        pdgpu.compare(scene, {"a": scenes.DIRECT}, dt=0.1, start=taken)
    with pytest.raises(ValueError, match="start: a Snapshot has no path"):
        pdgpu.compare(scene, {"a": scenes.NEWTON}, dt=1 / 50, start=taken, contact=pdgpu.BarrierContact(1e-3))
    with pytest.raises(ValueError, match="iterations"):
        sim.snapshot(-1)
    sim.external_forces = np.zeros_like(sim.positions)
    with pytest.raises(ValueError, match="external_forces"):
        sim.snapshot()
    touching = pdgpu.Simulation(scene, scenes.NEWTON, contact=pdgpu.BarrierContact(1e-3))
    with pytest.raises(ValueError, match="contact"):
        touching.snapshot()
