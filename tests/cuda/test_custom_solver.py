"""Functions in Python on a CUDA device: refused by name."""

import numpy as np
import own_solvers
import pytest
import scenes

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        (own_solvers.OwnProjectiveDynamics(), "device: OwnProjectiveDynamics does not run on 'cuda'"),
        (pdgpu.ProjectiveDynamics(linear=np.copy), "device: LinearFunction with a function runs on 'cpu' only"),
        (pdgpu.Newton(linear=pdgpu.PCG(preconditioner=np.copy)), "device: PCG with a function runs on 'cpu' only"),
    ],
)
def test_functions_are_refused(solver, words, dtype):
    """If not, a function reads memory of the device on the host."""
    scene, _ = scenes.mixed()
    with pytest.raises(RuntimeError, match=words):
        pdgpu.Simulation(scene, solver, dt=1 / 60, device="cuda", dtype=dtype)
