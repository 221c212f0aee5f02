"""The benchmark of Schur complements runs through."""

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


def test_every_rival_is_measured(tmp_path):
    """A rival would be left out, or be measured without contact."""
    rows = tiny_run("schur_rivals", tmp_path / "rivals.csv")
    assert [row["solver"] for row in rows][:1] + [row["solver"] for row in rows][-1:] == ["all anew", "A-Jacobi 10 x 2"] and len(rows) == 10
    for row in rows:
        assert int(row["pairs at the end"]) > 0 and 0.0 < float(row["error at the end"]) < 1.0
