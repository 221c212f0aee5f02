"""Friction of whole meshes against ipctk: itself where it is installed, and numbers it has given (write_friction_numbers.py)."""

import csv
from pathlib import Path

import friction_cases as cases
import numpy as np
import pytest
from contact_meshes import probe

CONFIGURATIONS = dict(cases.configurations())
RELATIVE = 1e-10


def stored():
    with Path(__file__).with_name("friction_numbers.csv").open() as file:
        rows = list(csv.reader(file))[1:]
    return {tuple(row[:3]): [float(cell) for cell in row[3:]] for row in rows}


@pytest.mark.parametrize("key", CONFIGURATIONS, ids=", ".join)
def test_ipctk(key):
    """If it failed, things would slide and stick otherwise than in every other code of this field."""
    pytest.importorskip("ipctk", reason="ipctk is not installed: pip install ipctk")
    x_t, x, triangles, rest, distance = CONFIGURATIONS[key]
    energy, gradient, hessian = cases.ours(x_t, x, triangles, rest, distance, key[1])
    energy_0, gradient_0, hessian_0 = cases.of_ipctk(x_t, x, triangles, rest, distance, key[1])
    assert abs(energy - energy_0) < RELATIVE * energy_0
    assert np.abs(gradient - gradient_0).max() < RELATIVE * np.abs(gradient_0).max()
    assert abs(hessian - hessian_0).max() < RELATIVE * abs(hessian_0).max()


@pytest.mark.parametrize("key", [key for key in CONFIGURATIONS if key[0] != "nested balls"], ids=", ".join)
def test_stored_numbers(key):
    x_t, x, triangles, rest, distance = CONFIGURATIONS[key]
    energy, gradient, hessian = cases.ours(x_t, x, triangles, rest, distance, key[1])
    along = probe(len(x))
    expected = stored()[key]
    assert energy == pytest.approx(expected[0], rel=RELATIVE)
    assert gradient.ravel() @ along == pytest.approx(expected[1], rel=1e-8)
    assert along @ (hessian @ along) == pytest.approx(expected[2], rel=1e-8)
