"""stiffness="auto": it doubles between steps while a gap is collapsed, and friction has no force of a collapsed gap."""

import copy
import json
import pickle

import numpy as np
import pytest
from pressed_grain import COLLAPSED, DISTANCE, DT, MU, SOLVERS, load_of, pressed, start_stiffness, unit_force

import pdgpu
from pdgpu.simulation.time_step import take_step


def assert_same(sim, other):
    assert np.array_equal(sim.positions, other.positions) and np.array_equal(sim.velocities, other.velocities)
    assert sim.parameters["contact"] == other.parameters["contact"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_it_doubles_until_the_gap_carries_the_load(solver, dtype):
    """If not, a load rests on a gap that is nothing but rounding, and what pushes it is late."""
    doublings, start = 3, start_stiffness()
    sim = pressed(load_of(doublings), solver=solver, dtype=dtype)
    found = []
    for _ in range(10):
        sim.step()
        found.append(sim.last_step.stiffness / start)
        assert sim.parameters["contact"]["stiffness"] in (sim.last_step.stiffness, 2.0 * sim.last_step.stiffness)
    assert found == [1.0, 2.0, 4.0] + 7 * [8.0]
    forces = sim.contact_forces()
    assert forces.distance[0] >= COLLAPSED * DISTANCE
    assert forces.normal_force[0] == pytest.approx(load_of(doublings), rel=1e-6 if dtype == "float64" else 2e-2)


def test_it_ends_at_the_most_and_explicit_numbers_stay():
    """If not, a scene that nothing can help ends in an infinite stiffness, or a number that was given is another one."""
    start = start_stiffness()
    sim, explicit = pressed(load_of(20)), pressed(load_of(20), stiffness=start)
    sim.step(15)
    explicit.step(15)
    assert sim.parameters["contact"]["stiffness"] == sim.last_step.stiffness == 2.0**10 * start
    assert explicit.parameters["contact"]["stiffness"] == explicit.last_step.stiffness == start


def test_without_a_collapsed_gap_nothing_changes():
    """If not, scenes that need no help have other bits than with the same number."""
    load = 0.5 * unit_force(COLLAPSED) * start_stiffness()
    sim, explicit = (pressed(load, push=0.3 * load, stiffness=stiffness) for stiffness in ("auto", start_stiffness()))
    for _ in range(6):
        sim.step(record=True)
        explicit.step(record=True)
        assert_same(sim, explicit)
        for name in ("incremental_potential", "contact_potential", "friction_potential", "smallest_distance"):
            np.testing.assert_array_equal(sim.last_step[name], explicit.last_step[name])
    assert sim.last_step.stiffness == start_stiffness() and len(sim.contact_forces()) == 1


def test_friction_takes_no_force_of_a_collapsed_gap():
    """If not, friction holds with a force that no load has, and what slides sticks."""
    load = load_of(6)
    sim, explicit = (pressed(load, stiffness=stiffness) for stiffness in ("auto", start_stiffness()))
    for sims in (sim, explicit):
        sims.step(2)
    of_auto, of_number = sim.contact_forces(), explicit.contact_forces()
    assert of_auto.distance[0] < COLLAPSED * DISTANCE
    # at the lag the second step still had the start stiffness, doubled once
    assert of_auto.friction_limit[0] == pytest.approx(MU * 2.0 * start_stiffness() * unit_force(COLLAPSED), rel=1e-9)
    assert of_number.friction_limit[0] == pytest.approx(MU * load, rel=1e-2)  # it still moves a little
    sim.step(8)
    assert sim.contact_forces().friction_limit[0] == pytest.approx(MU * load, rel=1e-6)


def test_the_normal_force_of_friction_is_continuous_at_the_cap():
    """If not, friction jumps where a gap crosses a hundredth of the distance."""
    for part, expected in ((0.999 * COLLAPSED, COLLAPSED), (1.001 * COLLAPSED, 1.001 * COLLAPSED)):
        sim = pressed(0.0)
        sim.set_state(positions=[[0.0, part * DISTANCE, 0.0]], velocities=[[0.0, 0.0, 0.0]])
        sim.step()
        assert sim.last_step.stiffness == start_stiffness()
        limit = sim._core.backend.friction_columns()["strength"]
        assert limit[0] == pytest.approx(MU * start_stiffness() * unit_force(expected), rel=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_saved_and_copied_across_a_doubling(dtype, tmp_path):
    """If not, a run that is resumed while the stiffness doubles has other bits than one that never stopped."""
    sim = pressed(load_of(5), push=0.1 * load_of(5), dtype=dtype)
    for step in range(6):
        sim.save(tmp_path / "s")
        others = [pdgpu.Simulation.load(tmp_path / "s"), copy.copy(sim), copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))]
        for other in others:
            assert_same(other, sim)
            assert np.array_equal(other.gradient(), sim.gradient())
        sim.step()
        for other in others:
            other.step()
            assert_same(other, sim)
            assert other.last_step.stiffness == sim.last_step.stiffness == start_stiffness() * 2.0**step or step > 5


def test_files_say_how_often_it_doubled(tmp_path):
    """If not, an earlier pdgpu goes on with another stiffness, or a damaged file gives one that is not finite."""
    sim = pressed(load_of(3))
    versions = []
    for _ in range(2):
        sim.save(tmp_path / "s")
        with np.load(tmp_path / "s") as archive:
            arrays = dict(archive)
        header = json.loads(bytes(arrays["header"]))
        versions.append(header["version"])
        sim.step()
    assert versions == [3, 9] and header["stiffness_doublings"] == [0, 1]
    for wrong in ([0, 11], [2, 1], [-1, 0], [0.5, 1], [1], "no", [10**30, 10**30]):
        header["stiffness_doublings"] = wrong
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        with open(tmp_path / "t", "wb") as file:
            np.savez(file, **arrays)
        with pytest.raises(ValueError, match="doublings"):
            pdgpu.Simulation.load(tmp_path / "t")


def test_setting_a_state_resets_the_stiffness():
    """If not, a second run of one simulation depends on the first."""
    sim, twin = pressed(load_of(3)), pressed(load_of(3))
    first = sim.positions
    sim.step(4)
    sim.set_state(velocities=sim.velocities)
    assert sim.parameters["contact"]["stiffness"] == 8.0 * start_stiffness()
    sim.set_state(positions=first, velocities=np.zeros_like(first))
    assert sim.parameters["contact"]["stiffness"] == start_stiffness()
    for _ in range(4):
        sim.step()
        twin.step()
        assert_same(sim, twin)


def test_a_step_that_fails_changes_nothing():
    """If not, a step that is repeated after an interruption has another stiffness than one that was not."""
    sim, twin = pressed(load_of(4)), pressed(load_of(4))
    for one in (sim, twin):
        one.step(2)
    forces = sim.contact_forces().normal_force

    def interrupt(row):
        raise KeyError("interrupted")

    with pytest.raises(KeyError, match="interrupted"):
        take_step(sim._core, False, observer=interrupt)
    assert np.array_equal(sim.contact_forces().normal_force, forces)
    sim.step(2)
    twin.step(2)
    assert_same(sim, twin)


def test_questions_are_about_the_step_about_to_be_solved():
    """If not, G and its gradient between two steps are not those that the next step minimises, or forces are twice the load."""
    sim = pressed(load_of(3))
    sim.step()
    assert sim.parameters["contact"]["stiffness"] == 2.0 * sim.last_step.stiffness
    assert sim.contact_forces().normal_force[0] == pytest.approx(load_of(3), rel=2e-2)
    asked = copy.copy(sim)
    sim.step(record="positions")
    for x, potential in zip(sim.last_step.positions, sim.last_step["incremental_potential"], strict=True):
        assert asked.incremental_potential(x) == pytest.approx(potential, rel=1e-12)
    assert np.abs(asked.gradient(sim.positions)).max() < 1e-6 * load_of(3)


def test_a_comparison_has_one_stiffness():
    """If not, solvers are measured on an objective that another one has changed."""
    sim = pressed(load_of(4))
    sim.step(2)
    scene, taken = sim._core.scene, sim.snapshot()
    assert taken.stiffness_doublings == 2
    for start, expected in ((taken, 4.0), (None, 1.0), ((sim.positions, sim.velocities), 1.0)):
        result = pdgpu.compare(scene, dict(SOLVERS), dt=DT, start=start, contact=sim.contact, reference=None)
        first = {record["incremental_potential"][0] for record in result.records.values()}
        assert {record.stiffness for record in result.records.values()} == {expected * start_stiffness()} and len(first) == 1
    assert sim.parameters["contact"]["stiffness"] == 4.0 * start_stiffness()


def test_a_search_for_rho_keeps_it():
    """If not, a run that is resumed before rho is found has the start stiffness again."""
    solver = pdgpu.VertexBlockDescent(iterations=6, chebyshev=pdgpu.Chebyshev(rho="auto", start=2))
    sim = pressed(load_of(5), solver=solver)
    sim._core.backend.set_doublings(2, 3)
    sim.step()
    assert sim.parameters["rho"] is not None and sim.last_step.stiffness == 8.0 * start_stiffness()


def test_a_cube_rests_well_inside_a_small_activation_distance():
    """If it failed, the start stiffness, which falls with the distance, would leave a heavy body at a gap near rounding."""
    distance, side = 1e-5, 1.0
    box = pdgpu.shapes.beam((side,) * 3, cells=(3, 3, 3))
    scene = pdgpu.Scene()
    mesh = pdgpu.Mesh(box.points + [0, 1.5 * distance, 0], tets=box.tets)
    scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000.0)
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    contact = pdgpu.BarrierContact(distance)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=100, tolerance=1e-6), dt=0.01, contact=contact)
    iterations = 0
    for _ in range(40):
        sim.step()
        iterations += sim.last_step.iteration
        assert sim.last_step.status == "converged"
    assert sim.positions[:, 1].min() > 0.01 * distance
    assert iterations < 40 * 6
