"""Counts of work on a CUDA device: those of the CPU, whether iterations run as loops or as graphs."""

import dataclasses

import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu._internal.counts import COUNTS

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


def records(solver, device, dtype, steps=3, contact=None):
    """Of several steps, so that iterations are replayed."""
    scene, x = scenes.mixed()
    solver = dataclasses.replace(solver, initialization="previous", iterations=5, check_every=1)
    sim = pdgpu.Simulation(scene, solver, device=device, dtype=dtype, contact=contact)
    sim.set_state(positions=x)
    return [sim.step(record=True) for _ in range(steps)]


@pytest.mark.parametrize("name", [*scenes.RESIDENT, "newton", "direct"])
def test_counts_are_those_of_the_cpu(name, dtype):
    """If not, a graph counts what it recorded once for all its launches, or the end of a solve on the device is not seen."""
    solver = (scenes.RESIDENT | scenes.SOLVERS)[name]
    if "cuda" not in solver.devices:
        pytest.skip(f"{type(solver).__name__} does not run on 'cuda'")
    for cpu, cuda in zip(records(solver, "cpu", dtype), records(solver, "cuda", dtype), strict=True):
        for count in ("projections", "sweeps", "products", "hessians") if name == "newton" else COUNTS:
            np.testing.assert_array_equal(cuda[count], cpu[count], err_msg=count)
        assert cuda["launches"][-1] > 0 and cuda["waits"][-1] > 0 and cpu["launches"][-1] == cpu["waits"][-1] == 0
