"""Counts of work on a CUDA device: those of the CPU, whether iterations run as loops or as graphs."""

import dataclasses

import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu._internal.counts import COUNTS

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


def records(solver, device, dtype, steps=3, **options):
    """Of several steps, so that iterations are replayed."""
    scene, x = scenes.mixed()
    solver = dataclasses.replace(solver, initialization="previous", **{"iterations": 5, "check_every": 1} | options)
    sim = pdgpu.Simulation(scene, solver, device=device, dtype=dtype)
    sim.set_state(positions=x)
    return [sim.step(record=True) for _ in range(steps)]


@pytest.mark.parametrize("name", [*scenes.RESIDENT, "direct"])
def test_counts_are_those_of_the_cpu(name, dtype):
    """If not, a graph counts what it recorded once for all its launches."""
    solver = (scenes.RESIDENT | scenes.SOLVERS)[name]
    if "cuda" not in solver.devices:
        pytest.skip(f"{type(solver).__name__} does not run on 'cuda'")
    for cpu, cuda in zip(records(solver, "cpu", dtype), records(solver, "cuda", dtype), strict=True):
        for count in COUNTS:
            np.testing.assert_array_equal(cuda[count], cpu[count], err_msg=count)
        assert cuda["launches"][-1] > 0 and cuda["waits"][-1] > 0 and cpu["launches"][-1] == cpu["waits"][-1] == 0


def test_a_solve_that_ends_between_two_looks(dtype):
    """If not, products that the device leaves out after the end of conjugate gradients are counted."""
    if dtype == "float32":
        pytest.skip("rounding may add an iteration: float64 alone has the same number on both devices")
    solver = pdgpu.Newton(linear=pdgpu.PCG(iterations=200, tolerance=1e-3), line_search=False)
    (cpu,), (cuda,) = (
        records(solver, device, dtype, steps=1, iterations=3, check_every=every) for device, every in (("cpu", 1), ("cuda", 8))
    )
    for count in COUNTS:
        np.testing.assert_array_equal(cuda[count], cpu[count], err_msg=count)
    assert cpu["products"][-1] > 3 * 8
