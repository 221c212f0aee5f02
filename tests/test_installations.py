"""The benchmark that compares two installations runs through."""

import csv
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "installations.py"


def test_an_installation_against_itself(tmp_path):
    """If not, whether a change costs speed cannot be measured on the day it matters."""
    table = tmp_path / "pairs.csv"
    command = [
        sys.executable,
        SCRIPT,
        sys.executable,
        sys.executable,
        "--tiny",
        "--pairs",
        "1",
        "--cases",
        "VBD",
        "broad phase",
        "--out",
        table,
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert not result.returncode, result.stderr
    rows = list(csv.DictReader(line for line in table.read_text().splitlines() if not line.startswith("#")))
    assert [row["case"] for row in rows] == ["VBD", "broad phase"]
    for row in rows:
        assert 0.0 < float(row["low"]) <= float(row["ratio"]) <= float(row["high"])
