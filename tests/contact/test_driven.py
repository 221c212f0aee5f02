"""Contact follows driven obstacles: every kind of obstacle, slow and fast, with every solver that takes a barrier."""

import numpy as np
import pytest
from driven_scenes import (
    DISTANCE,
    OBSTACLES,
    SIDE,
    SOLVERS,
    SPEEDS,
    SQUEEZE,
    array_rows,
    covering_array,
    driven_scene,
    faults,
    held_scene,
    long_step_scene,
    parts,
    product,
    run_driven,
    static_force,
    verify_path,
)
from test_sweep_benchmarks import tiny_run

from pdgpu import _host

pytestmark = pytest.mark.skipif(not _host.HAS_GMP, reason="this build has no GMP")


def named(rows):
    return [pytest.param(*row, id="-".join(map(str, row))) for row in rows]


def check(row):
    """The free block, and at 0.1 m/s the held one."""
    obstacle, speed, *others = row
    found = run_driven(driven_scene(*row))
    wrong = faults(found)
    assert found.contacts > 0 or found.statement  # or it shows nothing
    if speed == 0.1:
        static = static_force(obstacle)
        wrong += [f"held: {fault}" for fault in faults(run_driven(held_scene(obstacle, *others)), static=static)]
    assert not wrong, f"{'; '.join(wrong)}. Last step: {found.statement or 'converged'}"


@pytest.mark.each_choice
@pytest.mark.slow
@pytest.mark.parametrize(("obstacle", "speed", "solver", "dtype", "stiffness"), named(covering_array()))
def test_a_block_follows_what_drives_it(obstacle, speed, solver, dtype, stiffness):
    """If it failed, an obstacle would stop, pass through, or push with another force than the one that moves the block."""
    check((obstacle, speed, solver, dtype, stiffness))


@pytest.mark.stress
@pytest.mark.parametrize(("obstacle", "speed", "solver", "dtype", "stiffness"), named(product()))
def test_a_block_follows_what_drives_it_in_every_combination(obstacle, speed, solver, dtype, stiffness):
    """If it failed, an obstacle would stop, pass through, or push with another force than the one that moves the block."""
    check((obstacle, speed, solver, dtype, stiffness))


@pytest.mark.each_choice
@pytest.mark.slow
@pytest.mark.parametrize("obstacle", OBSTACLES)
@pytest.mark.parametrize("solver", ["Newton", "VBD"])
def test_a_step_longer_than_the_activation_distance(solver, obstacle):
    """If it failed, an obstacle that goes a quarter of the block in a step would stop at it, or pass through it."""
    case = long_step_scene(obstacle, solver, "float64")
    assert case.speed * case.dt > 20 * DISTANCE
    found = run_driven(case)
    wrong = faults(found, capped=np.inf)  # an impact that ends at its cap has no balanced forces yet
    assert not wrong and found.behind == 0.0, f"{'; '.join(wrong)}. Last step: {found.statement or 'converged'}"


def test_the_covering_array_has_every_pair():
    """If it failed, two choices that fail together only would never meet in a run of the tests."""
    rows = covering_array()
    assert len(set(rows)) == 24 and len(array_rows()) == 320 and len(product()) == 400
    assert set().union(*(parts(row, 2) for row in rows)) == set().union(*(parts(row, 2) for row in array_rows()))


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_the_verification_finds_an_obstacle_that_goes_through_the_block(obstacle):
    """If it failed, the suite would call a path clean on which a driven obstacle passes the block: 5 mm, where 3 mm are free."""
    case = driven_scene(obstacle, 1.0, "Newton", "float64", "auto")
    rest = case.simulation().positions
    driver = np.ones(len(rest), bool)
    driver[case.scene.find("block").slice] = False

    def way(block_follows):
        moving = (driver | block_follows)[:, None] * [1.0, 0.0, 0.0]
        return [(rest + offset * moving, offset) for offset in (*np.linspace(0.0, 5e-3, 10), *[5e-3] * 20)]

    assert verify_path(case, way(False)) > 0
    assert verify_path(case, way(True)) == 0


@pytest.mark.parametrize("obstacle", ["mesh", "plane"])
def test_the_quasi_static_force_is_that_of_a_bar(obstacle):
    """If it failed, forces of held blocks would be compared with a wrong one: E A u / L, without lateral strain, at a gap below d."""
    stiffness = 2.0 * SPEEDS[0.1][2] * SIDE
    assert stiffness * SQUEEZE < static_force(obstacle) < stiffness * (SQUEEZE + DISTANCE)


def test_all_solvers_of_the_suite_take_the_scene():
    """If it failed, a solver would be left out of the suite by an error at the start."""
    for solver in SOLVERS:
        driven_scene("mesh", 1.0, solver, "float64", "auto").simulation()


@pytest.mark.slow
def test_the_benchmark_writes_its_table(tmp_path):
    """If it failed, the table of all combinations would stop, or a run of it would move nothing."""
    rows = tiny_run("driven_contact", tmp_path / "driven.csv", "--summary", str(tmp_path / "driven.md"))
    assert [row["held verdict"] != "" for row in rows] == [True, False]
    assert all(int(row["contacts"]) > 0 and row["intersections"] == "0" for row in rows)
    assert "| mesh | Newton |" in (tmp_path / "driven.md").read_text()
