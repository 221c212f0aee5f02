"""The benchmark of what contact costs in a step of Vertex Block Descent runs through."""

import csv
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent.parent / "benchmarks" / "contact_descent.py"


def test_it_measures_every_run(tmp_path):
    """The share of contact would be of a scene in which nothing touches, or a run would be left out."""
    out = tmp_path / "descent.csv"
    result = subprocess.run(
        [sys.executable, str(SCRIPT), "--tiny", "--out", str(out)], capture_output=True, text=True, cwd=SCRIPT.parent, timeout=120
    )
    assert result.returncode == 0, result.stderr
    lines = out.read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert len(rows) == 12 and any("tiny" in line for line in lines if line.startswith("#"))
    assert all((int(row["pairs"]) > 0) == (row["run"] != "without") for row in rows if row["scene"] == "blocks")
    assert all(float(row["seconds"]) > 0.0 for row in rows)
