"""The filter of 3x3 blocks: the test that spares it the eigenvalues changes no bit."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("real", ["float", "double"])
def test_minors_show_no_matrix_definite_that_is_not(real, tmp_path):
    """If not, a matrix with a negative eigenvalue passes the filter, or a Hessian has other bits than by eigenvalues alone."""
    program = tmp_path / "definite_case"
    flags = ["-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-DPD_REAL={real}", f"-I{ROOT / 'csrc'}"]
    subprocess.run([os.environ.get("CC", "cc"), *flags, str(ROOT / "tests" / "definite_case.c"), "-o", str(program), "-lm"], check=True)
    tested, shown, different, wrong = map(int, subprocess.run([program], capture_output=True, text=True, check=True).stdout.split())
    assert different == wrong == 0
    assert 0.2 * tested < shown < 0.9 * tested
