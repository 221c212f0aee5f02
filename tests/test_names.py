"""What results from C are made of goes by name: a number never stands instead of another."""

import re
from pathlib import Path

import inputs
import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu import _cpu_f32, _cpu_f64, _host
from pdgpu.results.records import COLUMNS, PHASES

ROOT = Path(__file__).parent.parent


def bar(iterations=3):
    scene, body = scenes.bar(inputs.K10(), 1e5)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=iterations))
    sim.set_state(positions=scenes.stretched_and_twisted(np.array(body.points)))
    return sim


def test_columns_hold_what_they_are_called():
    """If not, a convergence plot shows the step norm under the name of the gradient norm."""
    assert COLUMNS is _host.RECORD_COLUMNS and len(set(COLUMNS)) == len(COLUMNS)
    sim = bar()
    sim.step(record="positions")
    record = sim.last_step
    assert tuple(record) == COLUMNS and list(record["iteration"]) == [0, 1, 2, 3]
    x = record.positions
    guess = bar()
    assert record["incremental_potential"][0] == pytest.approx(guess.incremental_potential(x[0]), rel=1e-12)
    assert record["gradient_norm"][0] == pytest.approx(np.linalg.norm(guess.gradient(x[0])), rel=1e-9)
    np.testing.assert_allclose(record["step_norm"][1:], np.linalg.norm(np.diff(x, axis=0), axis=(1, 2)), rtol=1e-9)
    parts = record["direction_seconds"] + record["advance_seconds"]
    np.testing.assert_allclose(np.diff(record["seconds"]), parts[1:], rtol=1e-6)


def test_a_step_says_by_name_how_it_went():
    """If not, Python reads the seconds of one phase as those of another as soon as C has a new one."""
    sim = bar()
    seen = []
    result = sim._core.backend.step(None, None, None, seen.append, False)
    said = {"status", "at_rounding", "iteration", "solve_seconds", "setup_seconds", "rows", "phases", "device_seconds", "behind"}
    said |= {"held_back", "update", "rigid"}
    assert set(result) == said and result["update"] is None
    assert result["rigid"] == dict.fromkeys(("guess", "end", "before", "after"), 0.0) | {"turn": (0.0, 0.0), "turning": (0, 0)}
    assert tuple(result["phases"]) == PHASES == _host.PHASES and result["status"] in _host.STOPS
    assert result["solve_seconds"] == pytest.approx(result["phases"]["direction"] + result["phases"]["advance"])
    assert [row["iteration"] for row in seen] == [0, 1, 2, 3] and result["rows"] == 4
    evaluated = {"incremental_potential", "gradient_norm", "contact_potential", "friction_potential", "smallest_distance"}
    assert set(seen[0]) == {*COLUMNS, "positions"} - evaluated - {"active_contacts", "contacts_entered", "contacts_left"}
    assert np.array_equal(seen[-1]["positions"], sim.positions)


def test_energies_go_by_the_names_of_their_kinds():
    """If not, a new material's energy is reported as that of its neighbour in the table."""
    for module in (_cpu_f32, _cpu_f64):
        kinds = list(module.KINDS)
        assert list(_host.ENERGIES) == [*kinds, "inertia", "load", "damping", "contact", "friction"]
        assert [module.KINDS[kind][0] for kind in kinds] == list(range(len(kinds)))
    sim = bar()
    parts = dict(zip(_host.ENERGIES, sim._core.backend.energies(None, True), strict=True))
    assert sim.energies()["elastic"] == {"ARAP": parts["arap_tet"]} and parts["arap_tet"] > 0.0
    assert sum(parts.values()) == pytest.approx(sim.incremental_potential(), rel=1e-12)


def test_a_linear_solve_says_by_name_how_it_went():
    """If not, the residual and the distance from the solution change places unnoticed."""
    system = pdgpu.linear.System(np.diag([2.0, 3.0, 4.0]) + 0.5, pdgpu.Jacobi(weight=0.7, iterations=5))
    names = _host.LINEAR_RECORD_COLUMNS
    rows, r = np.zeros((6, len(names))), np.array([[1.0], [2.0], [3.0]])
    exact = np.linalg.solve(system._A.toarray(), r)
    found = system._core.solve(r, None, exact, rows, 1, False)
    assert found["status"] in _host.STOPS and found["rows"] == 6 and found["iterations"] == 5
    columns = dict(zip(names, rows.T, strict=True))
    assert list(columns["iteration"]) == [0, 1, 2, 3, 4, 5]
    assert columns["residual_norm"][-1] == pytest.approx(np.linalg.norm(r - system._A @ found["direction"]))
    assert columns["distance"][-1] == pytest.approx(np.linalg.norm(found["direction"] - exact))
    assert (found["first_norm"], found["last_norm"]) == tuple(columns["residual_norm"][[0, -1]])
    assert set(system._core.cost()) == {"nonzeros", "paths", "bytes", "rows_recomputed", "refresh_seconds"}


def test_every_stop_has_one_name():
    """If not, the status of a step has an undocumented name."""
    assert _host.STOPS == ("iteration_cap", "converged", "stalled", "diverged")
    header = (ROOT / "csrc" / "python" / "binding" / "names.h").read_text()
    linear = re.search(r"#define PD_LINEAR_STOP_TABLE\(X\)(.*?)\n\n", header, re.S)[1]
    assert tuple(re.findall(r'"(\w+)"', linear)) == _host.STOPS
