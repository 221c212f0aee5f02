"""Preconditioners that are applied by themselves: what conjugate gradients make of those that fail."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINKED = ("linear/conjugate_gradients.c", "cpu/linear/conjugate_gradients.c", "cpu/context.c", "base/status.c", "threads/team.c")
OK, SINGULAR = 0, 5  # pd_status
CONVERGED, NOT_CONVEX = 1, 2  # where a solve ends by itself


@pytest.mark.parametrize("real", ["float", "double"])
def test_a_preconditioner_that_fails_ends_the_solve(real, tmp_path):
    """If not, NaN or a direction uphill becomes part of the answer, or an error is lost."""
    program = tmp_path / "preconditioner_case"
    sources = [ROOT / "tests" / "preconditioner_case.c", *(ROOT / "csrc" / name for name in LINKED)]
    flags = ["-O1", "-std=c11", "-D_DEFAULT_SOURCE", f"-DPD_REAL={real}", f"-I{ROOT / 'csrc'}"]
    subprocess.run([os.environ.get("CC", "cc"), *flags, *map(str, sources), "-o", str(program), "-lm", "-lpthread"], check=True)
    lines = subprocess.run([str(program)], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    found = {name: (int(status), int(why), float(largest)) for name, status, why, largest in map(str.split, lines)}
    for name in ("nan", "negative", "zero"):
        assert found[name][:2] == (OK, NOT_CONVEX) and 0.4 < found[name][2] < 1.0  # where the last good iteration came to
    assert found["error"][0] == SINGULAR
    assert found["right"][:2] == (OK, CONVERGED) and found["right"][2] == pytest.approx(1.0, rel=1e-5)
