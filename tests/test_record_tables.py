"""Records as tables, and the rates read off them."""

import csv
import re
import sys

import inputs
import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu.results.rates import Rates, fit_rate

SOLVERS = {"PD": pdgpu.ProjectiveDynamics(iterations=12), "Newton": pdgpu.Newton(iterations=5)}


@pytest.fixture(scope="module")
def comparison():
    scene, body = scenes.bar(inputs.K10(), 1e5)
    return pdgpu.compare(scene, SOLVERS, dt=1 / 50, start=(scenes.stretched_and_twisted(np.array(body.points)), None))


def test_a_frame_and_a_file_say_the_same(comparison, tmp_path):
    """If not, what is plotted from a file is not what is plotted from memory."""
    pandas = pytest.importorskip("pandas")
    frame = comparison.to_dataframe(young=3e5)
    assert list(frame.columns[:4]) == ["young", "solver", "status", "at_rounding"]
    assert frame.groupby("solver").size().to_dict() == {name: len(r["iteration"]) for name, r in comparison.records.items()}
    row = frame[(frame.solver == "PD") & (frame.iteration == 12)].iloc[0]
    assert row.gradient_norm == comparison["PD"]["gradient_norm"][12] and row["dt"] == 1 / 50 and row.young == 3e5
    body = scenes.bar(inputs.K10(), 1e5)[1]
    assert (row.vertices, row.elements, row.materials) == (len(body.points), len(body.mesh.tets), "ARAP")
    assert 0 < row.pinned < row.vertices and row.setup_seconds == comparison["PD"].setup_seconds > 0.0
    comparison.to_csv(tmp_path / "c.csv", young=3e5)
    read = pandas.read_csv(tmp_path / "c.csv", keep_default_na=False, na_values={name: [""] for name in frame.columns[12:]})
    pandas.testing.assert_frame_equal(read, frame, check_dtype=False, rtol=0.0, atol=0.0)
    with pytest.raises(ValueError, match="status: the table has a column of that name"):
        comparison.to_dataframe(status="ok")


def test_a_record_of_a_step_is_a_table_too(tmp_path):
    """If not, only comparisons can be studied with the tools of this field."""
    pytest.importorskip("pandas")
    scene, body = scenes.bar(inputs.K10(), 1e5)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=20), dt=1 / 50)
    sim.set_state(positions=scenes.stretched_and_twisted(np.array(body.points)))
    sim.step(record=True)
    frame = sim.last_step.to_dataframe(case="a")
    assert frame.shape[0] == 21 and set(frame.solver) == {"VertexBlockDescent"} and set(frame.case) == {"a"}
    sim.last_step.to_csv(tmp_path / "r.csv")
    with open(tmp_path / "r.csv") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["step_norm"]) for row in rows] == list(sim.last_step["step_norm"])
    text = repr(sim.last_step)
    assert "gradient norm" in text and text.count("\n") == 10  # the heading, four first rows, three last
    sim.step()
    assert repr(sim.last_step).endswith("no rows recorded>")
    with pytest.raises(ValueError, match="'gradient_norm' was not recorded"):
        sim.last_step.rate()


def test_pandas_is_asked_for_by_name(comparison, monkeypatch):
    """If not, who has no pandas reads of a module that is not there, or cannot import pdgpu."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_dataframe needs pandas.*pip install pandas$"):
        comparison.to_dataframe()


def test_a_comparison_shows_its_table(comparison):
    """If not, whoever types its name sees an address."""
    assert comparison.table() in repr(comparison) and "Newton" in repr(comparison)


# ---- rates ---------------------------------------------------------------------------------------------------------------------


def test_the_rate_is_that_of_the_linear_phase():
    """If not, a fast beginning or the floor of rounding is told as the rate of a solver."""
    k = np.arange(200)
    rng = np.random.default_rng(3)
    curve = 3.0 * 0.5**k + 1e-2 * 0.9**k  # a transient to about k = 10
    floor = 1e-9 * np.exp(0.3 * rng.normal(size=200))  # from about k = 153 on
    rate = fit_rate(k, curve + floor, "gradient_norm", seconds=0.25 * k)
    assert rate.low <= 0.9 <= rate.high and rate.high - rate.low < 0.02 and abs(rate.value - 0.9) < 0.004
    assert 4 <= rate.first <= 25 and 120 <= rate.last <= 165
    assert rate.seconds_per_iteration == pytest.approx(0.25)
    assert rate.iterations_per_digit == pytest.approx(21.9, rel=0.05) and rate.seconds_per_digit == pytest.approx(5.5, rel=0.05)


def test_the_interval_holds_the_rate_as_often_as_it_says():
    """If not, two solvers are called different that are not."""
    rng = np.random.default_rng(11)
    curves = 0.93 ** np.arange(60) * np.exp(0.2 * rng.normal(size=(300, 60)))
    rates = [fit_rate(np.arange(60), curve, "gradient_norm") for curve in curves]
    held = sum(rate.low <= 0.93 <= rate.high for rate in rates)
    assert 0.9 * 300 <= held <= 0.98 * 300, held


def test_of_a_quadratic_step_the_rate_is_the_spectral_radius():
    """If not, a measured rate has nothing to do with the iteration it was measured on."""
    points, _ = inputs.cloth(6)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    body = scene.add_particles(points, mass=0.1)
    body.attach(np.arange(len(points)), points + 0.1, stiffness=100.0 * (1.0 + np.arange(len(points))))
    weight = 0.05
    comparison = pdgpu.compare(scene, {"j": pdgpu.ProjectiveDynamics(iterations=120, linear=pdgpu.Jacobi(weight=weight))}, dt=1 / 20)
    rates = comparison.rates("relative_error")
    assert rates["j"].value == pytest.approx(1.0 - weight, rel=1e-9)
    assert rates["j"].low <= rates["j"].value <= rates["j"].high
    first, head, _, row = repr(rates).splitlines()
    assert first == "<Rates of 1, relative_error>" and head.split()[:2] == ["solver", "per"] and row.split()[:2] == ["j", "0.9500"]
    assert comparison.rates("relative_loss")["j"].value == pytest.approx((1.0 - weight) ** 2, rel=1e-3)


@pytest.mark.parametrize("values", [[], [1.0, 0.5, 0.2], [1.0, 0.5, 0.0, 0.0, 0.0], [np.inf] * 9, [np.nan] * 9])
def test_too_little_to_tell_is_told(values):
    """If not, a rate is made up from three numbers."""
    rate = fit_rate(np.arange(len(values)), values, "gradient_norm")
    assert np.isnan([rate.value, rate.low, rate.high, rate.iterations_per_digit]).all()


K = np.arange(150)
TWO_PHASES = 10.0 * 0.8**K + 1e-2 * 0.99**K
NO_TAIL = {
    "a slower phase": (TWO_PHASES[:60], "another phase begins|decades in the last phase|rows of the last phase"),
    "a slow tail": (TWO_PHASES, "decades in the last phase, fewer than 1"),
    "a bend": (np.exp(-3.0 * np.sqrt(K + 1.0)), "it bends|another phase|rows of the last phase"),
    "Newton": ([1e3, 9.5, 1e-1, 1.3e-7, 2.9e-11], "superlinear"),
    "Newton at rounding": ([1e4, 220.0, 3.7, 1e-5, 2.8e-10, 2.3e-10, 1.9e-10], "superlinear"),
    "a few rows": (0.05 ** np.arange(6), "the 6 rows of the last phase"),
}


@pytest.mark.parametrize("name", NO_TAIL)
def test_a_rate_needs_a_linear_tail(name):
    """If not, the rate of a transient is told as that of a solver."""
    values, reason = NO_TAIL[name]
    rate = fit_rate(np.arange(len(values)), values, "gradient_norm")
    assert np.isnan([rate.value, rate.low, rate.high]).all() and re.search(reason, rate.reason), rate
    assert (
        rate.reason in str(rate) and rate.reason in repr(Rates({"a": rate})) and f"{rate.first} to {rate.last}" in repr(Rates({"a": rate}))
    )
    assert rate.decades == pytest.approx(np.log10(values[rate.first] / values[rate.last]))


def test_longer_runs_have_the_rate_of_the_tail():
    """If not, a refusal can be answered by nothing."""
    k = np.arange(400)
    rate = fit_rate(k, 10.0 * 0.8**k + 1e-2 * 0.99**k, "gradient_norm")
    assert rate.value == pytest.approx(0.99, rel=1e-4) and rate.first >= 30 and rate.decades > 1.0 and not rate.reason


def test_a_transient_of_a_simulation_has_no_rate():
    """If not, projective dynamics with few inner iterations is said to converge at 0.944, and with more outer ones at 0.9975."""
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(12, 3, 3))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP(mu=1e8), density=1000.0).pin(lambda p: p[:, 0] < 0.01)
    solvers = {
        "inner": pdgpu.ProjectiveDynamics(iterations=150, linear=pdgpu.PCG(iterations=5)),
        "direct": pdgpu.ProjectiveDynamics(iterations=1500),
        "Newton": pdgpu.Newton(iterations=15),
    }
    comparison = pdgpu.compare(scene, solvers, dt=1 / 30, start=(mesh.points * [1.3, 1.0, 1.0], None))
    rates = comparison.rates()
    assert np.isnan(rates["inner"].value) and "take more iterations" in rates["inner"].reason
    assert np.isnan(rates["Newton"].value) and rates["Newton"].reason.startswith("superlinear")
    assert 0.990 < rates["direct"].value < 0.993


def test_what_grows_has_a_rate_above_one():
    """If not, a diverging run looks like one that converges."""
    rate = fit_rate(np.arange(30), 1.1 ** np.arange(30), "gradient_norm")
    assert rate.value == pytest.approx(1.1) and rate.iterations_per_digit == np.inf
