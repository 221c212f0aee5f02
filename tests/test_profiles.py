"""Levels reached, performance and data profiles, against the formulas of the papers written by themselves."""

import dataclasses
import functools
import pickle

import numpy as np
import pytest
import scenes

import pdgpu

SOLVERS = {
    "PD": pdgpu.ProjectiveDynamics(iterations=30),
    "VBD": pdgpu.VertexBlockDescent(iterations=5),
    "Newton": pdgpu.Newton(iterations=8),
}


@functools.cache
def compared(stretch=1.3, only=None):
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(4, 1, 1))
    scene, _ = scenes.bar((mesh.points, mesh.tets), 1e5)
    solvers = SOLVERS if only is None else {only: SOLVERS[only]}
    return pdgpu.compare(scene, solvers, dt=1 / 30, start=(mesh.points * [stretch, 1.0, 1.0], None))


def made(costs, vertices=10, pinned=2):
    """A comparison whose solvers reach a loss of 1e-4 at these iterations; None: never, a missing name: it raised."""
    records = {}
    for name, cost in costs.items():
        loss = np.geomspace(1.0, 2e-4, 40)
        if cost is not None:
            loss[cost:] = 1e-5
        columns = {"iteration": np.arange(40.0), "seconds": 0.5 * np.arange(40), "relative_loss": loss}
        numbers = {"vertices": vertices, "pinned": pinned}
        record = pdgpu.StepRecord(columns, status="iteration_cap", iteration=39, setup_seconds=3.0, solve_seconds=19.5, numbers=numbers)
        records[name] = record
    return pdgpu.Comparison(records, {}, None, None, None)


# ---- the papers, by brute force -----------------------------------------------------------------------------------------------------


def dolan_more(t, s, tau):
    """rho_s(tau) = size{p in P: r_ps <= tau} / n_p, with r_ps = t_ps / min{t_ps: s in S} [Dolan and More 2002, Sec. 2]."""
    good = 0
    for costs in t:
        finite = [cost for cost in costs if cost is not None]
        if costs[s] is None:
            continue
        if min(finite) == 0:
            good += costs[s] == 0
        else:
            good += costs[s] / min(finite) <= tau
    return good / len(t)


def more_wild(t, n, s, alpha):
    """d_s(alpha) = size{p in P: t_ps / (n_p + 1) <= alpha} / |P| [More and Wild 2009, Eq. 2.8]."""
    return sum(costs[s] is not None and costs[s] / (n_p + 1) <= alpha for costs, n_p in zip(t, n, strict=True)) / len(t)


# ties, failures, a problem that nothing solves, starts at the answer, a solver that raised
TABLE = [
    {"A": 4, "B": 4, "C": 8},
    {"A": 2, "B": None, "C": 7},
    {"A": None, "B": None, "C": None},
    {"A": 0, "B": 3, "C": 0},
    {"A": 9, "B": 3},
    {"A": 5, "B": 1, "C": None},
    {"A": 30, "B": 6, "C": 12},
]
SIZES = [(10, 2), (20, 0), (5, 1), (8, 8), (100, 3), (7, 2), (40, 20)]
COSTS = [[row.get(name) for name in "ABC"] for row in TABLE]


def problems():
    return [made(row, *size) for row, size in zip(TABLE, SIZES, strict=True)]


@pytest.mark.parametrize("joined", [False, True])
def test_performance_profiles(joined):
    """If not, a published figure says of a solver what the paper of its method does not mean."""
    given = pdgpu.Comparison.concat(problems(), labels="abcdefg") if joined else problems()
    found = pdgpu.profile(given, "iterations", 1e-4)
    assert found.solvers == ("A", "B", "C") and found.failures == {"A": 1, "B": 2, "C": 3}
    assert found.problems == (tuple("abcdefg") if joined else tuple(range(7)))
    for s, name in enumerate("ABC"):
        for tau in (1.0, 1.5, 2.0, 3.0, 3.4, 3.5, 5.0, 1e9):
            assert found.share(name, tau) == dolan_more(COSTS, s, tau), (name, tau)
        places, shares = found.steps(name)
        assert np.all(np.diff(places) > 0) and [found.share(name, x) for x in places] == shares.tolist()
    # the order of A and C alone is another question than their order next to B
    pair = pdgpu.profile(given, "iterations", 1e-4, solvers=["A", "C"])
    costs = [[row.get("A"), row.get("C")] for row in TABLE]
    assert [pair.share("A", tau) for tau in (1.0, 2.5)] == [dolan_more([c for c in costs], 0, tau) for tau in (1.0, 2.5)]


def test_data_profiles():
    """If not, a budget of one problem is taken for that of another."""
    found = pdgpu.profile(problems(), "iterations", 1e-4, "data")
    scaled = pdgpu.profile(problems(), "iterations", 1e-4, "data", per_variable=True)
    n = [3 * (vertices - pinned) for vertices, pinned in SIZES]
    for s, name in enumerate("ABC"):
        for alpha in (0.0, 1.0, 2.0, 4.0, 6.0, 7.0, 9.0, 11.9, 12.0, 50.0):
            assert found.share(name, alpha) == sum(c[s] is not None and c[s] <= alpha for c in COSTS) / 7
        for alpha in (0.0, 0.01, 0.03, 0.08, 0.1, 0.2, 0.3, 0.5, 1.0, 10.0):
            assert scaled.share(name, alpha) == more_wild(COSTS, n, s, alpha), (name, alpha)


def test_seconds_with_and_without_setup():
    """If not, a factorisation costs nothing, or is in "seconds" of one table and not of the other."""
    costs = pdgpu.profile([made({"A": 4, "B": 8})], "seconds").costs, pdgpu.profile([made({"A": 4, "B": 8})], "total_seconds").costs
    assert costs[0].tolist() == [[2.0, 4.0]] and costs[1].tolist() == [[5.0, 7.0]]


def test_levels_of_a_comparison():
    """If not, the cost of an accuracy is that of another row."""
    pytest.importorskip("pandas", reason="pandas is not installed: no DataFrame is made")
    comparison = compared()
    levels = [1e-1, 1e-3, 1e-30]
    for measure, column in [("iterations", "iteration"), ("seconds", "seconds"), ("solves", "solves"), ("sweeps", "sweeps")]:
        frame = comparison.to_reach(levels, measure)
        assert list(frame.columns) == levels and list(frame.index) == list(SOLVERS)
        for name, record in comparison.records.items():
            for level in levels:
                below = [k for k, loss in enumerate(record["relative_loss"]) if loss <= level]
                expected = record[column][below[0]] if below else np.nan
                np.testing.assert_equal(frame.loc[name, level], expected)
    assert np.isnan(comparison.to_reach([1e-3]).loc["VBD", 1e-3]) and comparison.to_reach([1e-3]).loc["Newton", 1e-3] > 0
    norm = comparison.to_reach([1.0], column="gradient_norm")
    assert norm.loc["PD", 1.0] == np.flatnonzero(comparison["PD"]["gradient_norm"] <= 1.0)[0]
    joined = pdgpu.Comparison.concat([compared(), compared(1.2)], labels=["far", "near"]).to_reach([1e-2])
    assert joined.index.names == ["solver", "label"] and joined.loc[("PD", "near"), 1e-2] == compared(1.2).to_reach([1e-2]).loc["PD", 1e-2]


def test_a_profile_of_runs():
    """If not, what holds for made-up records does not for those of solvers, or a profile cannot be kept."""
    starts = (1.1, 1.2, 1.3)
    found = pdgpu.profile([compared(s) for s in starts] + [compared(1.4, "PD")], "solves", 1e-3)
    assert found.costs.shape == (4, 3) and found.failures["VBD"] == 4 and found.failures["Newton"] == 1
    first = [np.flatnonzero(compared(s)["PD"]["relative_loss"] <= 1e-3)[0] for s in starts]
    assert found.costs[:3, 0].tolist() == first  # a solve an iteration
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.costs, found.costs)
    assert again.table() == found.table() and "solves" in repr(found) and "<table>" in found._repr_html_()
    pytest.importorskip("pandas", reason="pandas is not installed: no DataFrame is made")
    frame = found.to_dataframe()
    assert list(frame.columns) == ["problem", "solver", "cost", "ratio"] and len(frame) == 12
    assert np.isinf(frame["ratio"][frame["solver"] == "VBD"]).all() and frame["cost"].isna().sum() == 5


def test_figures(tmp_path):
    """If not, a figure has another size in the paper, text as outlines, or two curves that cannot be told apart in grey."""
    plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed: nothing is drawn")
    names = [f"solver {k}" for k in range(20)]
    found = pdgpu.profile([made({name: k + shift for k, name in enumerate(names)}) for shift in (1, 2, 3)], "iterations")
    axes = found.plot(size=(3.0, 2.0))
    assert axes.figure.get_size_inches().tolist() == [3.0, 2.0] and axes.xaxis.label.get_fontsize() == 8.0
    looks = {(line.get_linestyle(), repr(line._dash_pattern), line.get_marker()) for line in axes.lines}
    assert len(axes.lines) == len(looks) == 20
    (line,) = (line for line in axes.lines if line.get_label() == "solver 1")
    x, y = line.get_data()
    for ratio in (1.3, 1.45, 1.6, 1.9, 2.4):  # 2/1, 3/2, 4/3
        assert y[np.flatnonzero(x <= ratio)[-1]] == found.share("solver 1", ratio)
    plt.close(axes.figure)
    for kind, suffix in (("performance", "svg"), ("data", "pdf")):
        pdgpu.profile(problems(), "iterations", kind=kind).save(tmp_path / f"profile.{suffix}")
    assert "share of problems" in (tmp_path / "profile.svg").read_text() and (tmp_path / "profile.pdf").stat().st_size > 2000
    nothing = pdgpu.profile([made({"A": None, "B": None})], "iterations")
    assert nothing.share("A", 1e9) == 0.0
    plt.close(nothing.plot().figure)
    axes = compared().plot(x="solves", size=(3.4, 2.6))
    assert axes.get_xlabel() == "solves with a factor" and axes.figure.get_size_inches().tolist() == [3.4, 2.6]
    plt.close(axes.figure)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda c: c.to_reach(1e-2), TypeError, "levels: expected a sequence of numbers"),
        (lambda c: c.to_reach([]), ValueError, "levels: expected one or more different numbers"),
        (lambda c: c.to_reach([1e-2, -1.0]), ValueError, r"levels\[1\]: must be greater than 0, got -1.0"),
        (lambda c: c.to_reach([1e-2], "flops"), ValueError, "measure: "),
        (lambda c: c.to_reach([1e-2], column="seconds"), ValueError, "column: "),
        (lambda c: pdgpu.profile(3), TypeError, "comparisons: expected a Comparison or several, got 3"),
        (lambda c: pdgpu.profile([c, 3]), TypeError, "comparisons: expected a Comparison at 1, got 3"),
        (lambda c: pdgpu.profile([]), ValueError, "comparisons: expected one or more, got none"),
        (lambda c: pdgpu.profile(c, "flops"), ValueError, "measure: "),
        (lambda c: pdgpu.profile(c, tolerance=0.0), ValueError, "tolerance: must be greater than 0"),
        (lambda c: pdgpu.profile(c, kind="box"), ValueError, "kind: "),
        (lambda c: pdgpu.profile(c, per_variable=True), ValueError, "per_variable: only for kind='data'"),
        (lambda c: pdgpu.profile(c, solvers="PD"), TypeError, "solvers: expected a sequence of names"),
        (
            lambda c: pdgpu.profile(c, solvers=["PD", "ADMM"]),
            ValueError,
            "'ADMM' at 1 is in no comparison; there is PD, VBD, Newton",
        ),
        (lambda c: pdgpu.profile(c, solvers=["PD", "PD"]), ValueError, "solvers: expected one or more different names"),
        (lambda c: pdgpu.profile(c).share("ADMM", 1.0), ValueError, "solver: "),
        (lambda c: pdgpu.profile(c).share("PD", np.nan), ValueError, "at: must be finite"),
        (lambda c: pdgpu.profile(c).plot(size=3.0), TypeError, "size: expected"),
        (lambda c: pdgpu.profile(c).plot(size=(3.0, 0.0)), ValueError, r"size\[1\]: must be at least 0.5"),
        (lambda c: c.plot(size=(-1.0, 2.0)), ValueError, r"size\[0\]: must be at least 0.5"),
        (lambda c: c.plot(x="flops"), ValueError, "x: "),
        (lambda c: pdgpu.Profile(c), TypeError, "Profile: made by profile, not by a call of the class"),
    ],
)
def test_what_is_refused(call, error, says):
    """If not, a study ends with a KeyError of the inside, or with a figure of nothing."""
    with pytest.raises(error, match=says):
        call(compared())


def test_a_comparison_without_a_reference_is_refused():
    """If not, a missing loss is taken for a failure of every solver."""
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(4, 1, 1))
    scene, _ = scenes.bar((mesh.points, mesh.tets), 1e5)
    comparison = pdgpu.compare(scene, {"PD": dataclasses.replace(SOLVERS["PD"], iterations=2)}, reference=None)
    for call in (lambda: comparison.to_reach([1e-2]), lambda: pdgpu.profile(comparison)):
        with pytest.raises(ValueError, match="has no 'relative_loss'; compare with a reference, or take column='gradient_norm'"):
            call()
