"""The benchmark of Schur complements runs through."""

import numpy as np
from test_sweep_benchmarks import tiny_run


def test_every_case_is_measured(tmp_path):
    """A figure of the table would be of another case, or left out."""
    rows = tiny_run("schur_complement", tmp_path / "schur.csv")
    assert [(row["tets"], row["m"]) for row in rows] == [("1152", "30"), ("2400", "30"), ("2400", "60")]
    for row in rows:
        whole = float(row["inner 3 s"]) + 3.0 * float(row["dense factor s"])
        assert abs(float(row["iteration s"]) - whole) <= 1e-3 * whole
        assert int(row["bytes"]) == 24 * int(row["m"]) ** 2
        assert 0.8 < float(row["fill"]) < 1.6


def test_what_is_prepared_grows_as_it_says(tmp_path):
    """An exponent would be of two rows that do not differ in its variable alone."""
    first, finer, wider = tiny_run("schur_complement", tmp_path / "setup.csv", "--setup")
    for row in (first, finer, wider):
        assert int(row["dense bytes"]) == 24 * int(row["m"]) ** 2
        assert int(row["bytes"]) == 8 * int(row["entries"]) + int(row["dense bytes"])
    for row, before, size in ((finer, first, "vertices"), (wider, finer, "m")):
        name, other = ("n", "m") if size == "vertices" else ("m", "n")
        expected = np.log(int(row["bytes"]) / int(before["bytes"])) / np.log(int(row[size]) / int(before[size]))
        assert abs(float(row[f"^bytes {name}"]) - expected) <= 0.006 and row[f"^bytes {other}"] == ""


def test_every_rival_is_measured(tmp_path):
    """A rival would be left out, or be measured without contact."""
    rows = tiny_run("schur_rivals", tmp_path / "rivals.csv")
    assert [row["solver"] for row in rows][:1] + [row["solver"] for row in rows][-1:] == ["all anew", "A-Jacobi 10 x 2"] and len(rows) == 10
    for row in rows:
        assert int(row["pairs at the end"]) > 0 and 0.0 < float(row["error at the end"]) < 1.0
