"""The terms of a contact pair by the motion of a rigid body are derivatives of its energy, in both precisions."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """The numbers of each case of pair_motion_case.c by precision: deviation from differences; energy, gradient, Hessian, forces.
    In lanes: the number of pairs that act, if that of the case does; the deviation from the terms of one pair."""
    folder, found = tmp_path_factory.mktemp("pair_motion"), {}
    for real in ("double", "float"):
        flags = ["-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-DPD_REAL={real}", f"-I{ROOT / 'csrc'}", "-fopenmp"]
        source, program = ROOT / "tests" / "pair_motion_case.c", folder / real
        subprocess.run([os.environ.get("CC", "cc"), *flags, str(source), "-o", str(program), "-lm"], check=True)
        output = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
        found[real] = [(name, np.array(numbers, dtype=float)) for name, *numbers in map(str.split, output.splitlines())]
        found[real], found[real + " lanes"] = found[real][:18], found[real][18:]
    return found


def test_derivatives_of_the_energy(lines):
    """If not, a step of Vertex Block Descent of a rigid body in contact is no Newton step, and sweeps converge slowly."""
    assert len(lines["double"]) == 18
    wrong = {name: numbers[0] for name, numbers in lines["double"] if not numbers[0] < (3e-4 if name == "exactly-parallel" else 3e-5)}
    assert not wrong, wrong


def test_single_precision_has_the_same_terms(lines):
    """If not, sweeps in float32 lose more digits than a pair's distance has."""
    for (name, double), (_, single) in zip(lines["double"], lines["float"], strict=True):
        for part in (slice(1, 2), slice(2, 8), slice(8, 29), slice(29, 30)):
            assert np.allclose(single[part], double[part], rtol=0, atol=2e-5 * np.abs(double[part]).max()), name


def test_forces_of_the_corners(lines):
    """Forces of all corners of one primitive add up to the force on the other; their lengths bound the rounding of a line search."""
    for name, numbers in lines["double"]:
        assert numbers[29] >= np.linalg.norm(numbers[2:5]) * (1.0 - 1e-8), name


@pytest.mark.parametrize(("real", "least"), [("double", 1e-12), ("float", 3e-5)])
def test_lanes_have_the_terms_of_one_pair(lines, real, least):
    """If not, sweeps on the CPU have other blocks than on a GPU. Parallel edges act without energy."""
    assert len(lines[real + " lanes"]) == 14
    for name, (acting, deviation) in lines[real + " lanes"]:
        assert acting == 1 and deviation < least, name
