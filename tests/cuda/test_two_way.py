"""Contact by the two-way interior point method on a CUDA device, against the CPU: the same pairs, the same colours, and the same answer."""

import numpy as np
import pytest
from two_way_run import two_way_case

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


@pytest.mark.parametrize("name", ["bodies in a box", "sand"])
def test_steps(name, dtype):
    """If not, a step on the GPU goes somewhere else than on the CPU, or through something."""
    case = two_way_case(name, friction=0.3, steps=6)
    solver = pdgpu.ProjectiveDynamics(iterations=3, linear=pdgpu.Jacobi(), check_every=1)
    devices, others = ("cpu", "cuda", "cuda"), {"dt": 1 / 24, "contact": case.contact, "dtype": dtype}
    cpu, cuda, again = (pdgpu.Simulation(case.scene, solver, device=device, **others) for device in devices)
    for _ in range(2):
        for sim in (cpu, cuda, again):
            sim.step(record=True)
    scale = np.abs(cpu.positions).max()
    assert np.abs(cuda.positions - cpu.positions).max() < (1e-9 if dtype == "float64" else 1e-4) * scale
    assert np.abs(cuda.velocities - cpu.velocities).max() < (1e-7 if dtype == "float64" else 1e-2) * np.abs(cpu.velocities).max()
    found, expected = cuda.last_step.update, cpu.last_step.update
    assert found.rows == expected.rows > 5 and found.colours == expected.colours and found.steps == expected.steps
    for column in ("pairs", "rows", "colours", "search"):
        np.testing.assert_array_equal(found.columns[column], expected.columns[column])
    np.testing.assert_array_equal(cuda.positions, again.positions)
