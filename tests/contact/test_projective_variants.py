"""Contact by projections in the ways that do not work: what each does, beside the one that does."""

import numpy as np
import pytest
from projective_run import G, dropped, needs_gmp, on_spike, projective_case, projective_simulation, verified_projective_run

import pdgpu

VARIANTS = ("printed", "vanilla", "barrier", "prune_each")
DISTANCE = 5e-3


def landed(variant, steps=60, **settings):
    """A vertex that came down at 2 m/s and sideways at 1 m/s."""
    sim = dropped(0.01, velocity=(1.0, -2.0, 0.0), variant=variant, **settings)
    heights = []
    for _ in range(steps):
        sim.step()
        heights.append(sim.positions[0, 1])
    return sim, np.array(heights)


def test_as_printed_a_body_at_rest_never_begins_to_fall():
    """If it failed, "printed" would not be Algorithm 1, which tests before it moves."""
    sim = dropped(0.01, variant="printed")
    sim.step(20)
    assert np.array_equal(sim.positions, [[0.0, 0.5, 0.0]]) and not sim.velocities.any()
    assert (sim.last_step.status, sim.last_step.iteration) == ("converged", 0)
    sim.set_state(velocities=np.array([[0.0, -2.0, 0.0]]))
    sim.step(10)  # what moves fast enough goes on as it should
    assert sim.positions[0, 1] == pytest.approx(0.5 - 2.0 * 0.1 - G * 0.01**2 * 55, abs=1e-12)


@pytest.mark.parametrize("restitution", [0.0, 1.0])
def test_as_printed_a_body_sticks_to_what_it_meets(restitution):
    """If it failed, the targets on the surface would be others than those of Eq. 6."""
    sim, heights = landed("printed", restitution=restitution)
    assert 0.0 < heights.min() < 0.2 * DISTANCE
    assert np.abs(sim.velocities).max() < 1e-12  # neither up nor sideways
    assert heights[np.argmin(heights) :].max() < 0.05 * 0.7  # of the height that it has fallen
    other, heights = landed("corrected", restitution=restitution)
    assert other.velocities[0, 0] == pytest.approx(1.0, rel=1e-9)
    assert heights.min() > 0.2 * DISTANCE and (restitution == 0.0 or heights[np.argmin(heights) :].max() > 0.6)


def test_pruning_alone_lets_a_body_sink_onto_the_surface():
    """If it failed, something would push what pruning alone has stopped, and Fig. 2 would have no sticking to show."""
    _, heights = landed("vanilla", steps=80)
    rest = heights[60:]
    assert (np.diff(rest) < 0.0).all() and 0.0 < rest[-1] < 0.05 * DISTANCE
    _, heights = landed("corrected", steps=80)
    assert heights[-1] == pytest.approx(DISTANCE - 5.0 * G * 0.01**2 / 10.0, rel=1e-4)


@pytest.mark.parametrize("weight", [1.0, 1e4])
def test_with_a_barrier_the_rebound_has_nothing_to_do_with_the_weight(weight):
    """If it failed, a larger weight would throw out what has fallen (Fig. 3: four orders of magnitude change nothing)."""
    sim, heights = landed("barrier", weight=weight)
    assert heights[np.argmin(heights) :].max() < 1.01 * DISTANCE
    assert abs(sim.velocities[0, 1]) < 0.05
    with pytest.raises(ValueError, match="but the variant"):
        pdgpu.ProjectiveContact(DISTANCE, restitution=0.5, variant="barrier")


def test_to_prune_every_iteration_takes_more_detections():
    """If it failed, the nested loop would gain nothing (Fig. 5)."""
    detections, fallen = {}, {}
    for variant in ("corrected", "prune_each"):
        contact = pdgpu.ProjectiveContact(DISTANCE, inner=50, outer=400, variant=variant)
        sim = pdgpu.Simulation(on_spike(6), pdgpu.ProjectiveDynamics(iterations=400), dt=1 / 100, contact=contact)
        sim.set_state(velocities=np.tile([0.0, -1.0, 0.0], (49, 1)))
        detections[variant] = 0
        for _ in range(10):
            sim.step(record=True)
            detections[variant] += sim.last_step["outer"][-1]
        fallen[variant] = -sim.positions[:, 1].min()
    assert detections["prune_each"] > 2 * detections["corrected"]
    assert fallen["prune_each"] < 0.8 * fallen["corrected"]  # it ends where an iteration moves little, far from the answer


@needs_gmp
@pytest.mark.parametrize("variant", VARIANTS)
def test_no_variant_lets_anything_through(variant):
    """If it failed, who compares them would compare states that are none."""
    case = projective_case("crossing cloths", variant=variant)
    found = verified_projective_run(case, steps=4, iterations=40)
    assert found.intersections == 0
    assert found.contacts > 0 or variant == "printed"


@pytest.mark.parametrize("variant", ["printed", "vanilla"])
def test_variants_go_on_from_a_file_with_the_same_bits(variant, tmp_path):
    """If it failed, a variant would keep something that no state has."""
    case = projective_case("crossing cloths", variant=variant)
    whole, first = (projective_simulation(case, iterations=20, threads=threads) for threads in (1, 2))
    whole.step(5)
    first.step(3)
    first.save(tmp_path / "run.pdgpu")
    resumed = pdgpu.Simulation.load(tmp_path / "run.pdgpu")
    resumed.step(2)
    assert np.array_equal(resumed.positions, whole.positions) and np.array_equal(resumed.velocities, whole.velocities)


def test_rounds_over_a_tip_do_not_go_to_and_fro():
    """If it failed, normals of one round would send a cloth to where those of the next send it back, until the iterations are spent."""
    contact = pdgpu.ProjectiveContact(DISTANCE, inner=400, outer=400)
    sim = pdgpu.Simulation(on_spike(8), pdgpu.ProjectiveDynamics(iterations=4000), dt=1 / 100, contact=contact)
    sim.set_state(velocities=np.tile([0.0, -1.0, 0.0], (81, 1)))
    sim.step(3)
    sim.step(record="positions")  # it went to and fro by half of the distance here
    ends = np.flatnonzero(np.diff(sim.last_step["outer"])) + 1
    states = sim.last_step.positions[ends]
    moves = np.linalg.norm(np.diff(states, axis=0), axis=2).max(axis=1)
    assert sim.last_step.status == "converged" and len(ends) < 20
    assert moves[-1] < 0.02 * DISTANCE


def test_a_record_says_where_the_time_went_and_which_rounds_got_nowhere():
    """If it failed, the seconds of detection and of the solver could not be told apart."""
    case = projective_case("crossing cloths")
    sim = projective_simulation(case, iterations=40)
    sim.step(4, record=True)
    record = sim.last_step
    for name in ("culling_seconds", "ccd_seconds", "projection_seconds"):
        assert record[name][0] == 0.0 and (np.diff(record[name]) >= 0.0).all() and record[name][-1] > 0.0
    spent = record["culling_seconds"] + record["ccd_seconds"] + record["projection_seconds"]
    assert (spent[1:] < record["seconds"][1:]).all()
    ends = np.flatnonzero(np.diff(record["outer"])) + 1
    assert record["stagnations"][-1] == (record["step_limit"][ends] < 0.05).sum()
    stuck = projective_simulation(projective_case("crossing cloths", variant="vanilla"), iterations=40)
    stuck.step(4, record=True)
    ends = np.flatnonzero(np.diff(stuck.last_step["outer"])) + 1
    assert stuck.last_step["stagnations"][-1] == (stuck.last_step["step_limit"][ends] < 0.05).sum() > 0
