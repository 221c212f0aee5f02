"""Contact by projections on a CUDA device, against the CPU: the same pairs, and the same answer."""

import numpy as np
import pytest
from device_parity import steps_on_both
from projective_run import projective_case

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


@pytest.mark.parametrize("name", ["bodies in a box", "sand"])
def test_steps(name, dtype):
    """If not, a step on the GPU goes somewhere else than on the CPU, or through something."""
    case = projective_case(name, friction=0.3, restitution=0.5, inner=5)
    solver = pdgpu.ProjectiveDynamics(iterations=12, linear=pdgpu.Jacobi(), check_every=1)
    cpu, cuda = steps_on_both(case, solver, dtype)
    for column in ("active_contacts", "outer", "behind"):
        np.testing.assert_array_equal(cuda.last_step[column], cpu.last_step[column])
    assert cpu.last_step["active_contacts"][-1] > 10


def test_targets_as_printed(dtype):
    """If not, where a pair is reflected to would be read from somewhere else on the GPU."""
    case = projective_case("thrown ball", restitution=0.5, inner=5, variant="printed")
    solver = pdgpu.ProjectiveDynamics(iterations=8, linear=pdgpu.Jacobi(), check_every=1)
    cpu, cuda = (pdgpu.Simulation(case.scene, solver, device=d, dt=1 / 24, contact=case.contact, dtype=dtype) for d in ("cpu", "cuda"))
    for step in range(2):
        for sim in (cpu, cuda):
            sim.step(record=True)
        np.testing.assert_array_equal(cuda.last_step["outer"], cpu.last_step["outer"])
        assert step or cpu.last_step["active_contacts"][-1] > 10
    assert np.abs(cuda.positions - cpu.positions).max() < (1e-9 if dtype == "float64" else 1e-4) * np.abs(cpu.positions).max()
