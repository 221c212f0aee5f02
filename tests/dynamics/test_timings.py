"""Where the time of a step went: per iteration, per phase."""

import csv
import time

import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu.results.records import PHASES


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("solver", scenes.SOLVERS)
def test_phases_of_iterations_add_up(solver, dtype):
    """If not, seconds are counted twice or lost, and a bottleneck is looked for in the wrong place."""
    scene, x = scenes.mixed(damping=0.01)
    sim = pdgpu.Simulation(scene, scenes.SOLVERS[solver], dtype=dtype)
    sim.set_state(positions=x)
    sim.step(record=True)
    record = sim.last_step
    direction, advance = record["direction_seconds"], record["advance_seconds"]
    assert direction[0] == advance[0] == 0.0 and (direction[1:] > 0.0).all() and (advance[1:] > 0.0).all()
    np.testing.assert_allclose(np.cumsum(direction + advance), record["seconds"], rtol=1e-12)
    assert tuple(record.phases) == PHASES and all(seconds > 0.0 for seconds in record.phases.values())
    assert record.phases["direction"] + record.phases["advance"] == pytest.approx(record.solve_seconds, rel=1e-12)
    # a direction that found no descent ends the run without a row
    assert record.phases["direction"] >= direction.sum() * (1.0 - 1e-12)
    assert record.phases["advance"] == pytest.approx(advance.sum(), rel=1e-12)


def test_phases_are_known_without_a_record_and_fill_the_step():
    """If not, a profile of a long run needs records, which cost more than the step."""
    beam = pdgpu.shapes.beam((4.0, 1.0, 1.0), cells=(32, 8, 8))
    scene = pdgpu.Scene()
    scene.add_solid(beam, pdgpu.ARAP(1e5), density=1000.0, damping=1e-3).pin(beam.points[:, 0] < 1e-9)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=20), threads=1)
    sim.step()
    within = []
    for _ in range(5):  # another process may take the core between two readings of a clock
        start = time.perf_counter()
        sim.step()
        wall = time.perf_counter() - start
        phases = sim.last_step.phases
        assert len(sim.last_step) == 0 and all(seconds > 0.0 for seconds in phases.values())
        assert 0.5 * wall < sum(phases.values()) <= wall
        # the cost of the loop itself lies between the two
        within.append(sim.last_step.solve_seconds <= 1.01 * sim.last_step.device_seconds <= 1.02 * wall)
    assert any(within)


def test_compare_reports_the_phases(tmp_path):
    """If not, two solvers cannot be compared by what their directions cost."""
    scene, x = scenes.mixed()
    comparison = pdgpu.compare(scene, {"PD": scenes.DIRECT, "PBD": scenes.PBD}, start=(x, None), reference=None)
    comparison.to_csv(tmp_path / "c.csv")
    with open(tmp_path / "c.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for name, record in comparison.records.items():
        both = record["direction_seconds"] + record["advance_seconds"]
        np.testing.assert_allclose(np.cumsum(both), record["seconds"], rtol=1e-12)
        written = [float(row["direction_seconds"]) + float(row["advance_seconds"]) for row in rows if row["solver"] == name]
        np.testing.assert_array_equal(written, both)
        assert tuple(record.phases) == PHASES
