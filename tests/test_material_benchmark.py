"""The benchmark that compares materials in sweeps over vertices runs through."""

import csv
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "vertex_block_descent_materials.py"


def test_it_measures_every_case(tmp_path):
    """A comparison of materials would stop, leave a case out, or count iterations that never end."""
    out = tmp_path / "materials.csv"
    result = subprocess.run(
        [sys.executable, str(SCRIPT), "--tiny", "--out", str(out)], capture_output=True, text=True, cwd=SCRIPT.parent, timeout=120
    )
    assert result.returncode == 0, result.stderr
    lines = out.read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert any("tiny sizes" in line for line in lines if line.startswith("#"))
    assert len(rows) == 10
    sweeps = [row for row in rows if row["solver"] == "VertexBlockDescent"]
    assert all(row["G grew"] == "0" and 2 < int(row["iterations to 0.001"]) < 40 for row in sweeps)
