"""The same steps on the CPU and, twice, on a GPU."""

import numpy as np

import pdgpu


def steps_on_both(case, solver, dtype, steps=2):
    """(cpu, cuda) after recorded steps: they agree to rounding, and what the GPU did it did again to the bit."""
    devices, others = ("cpu", "cuda", "cuda"), {"dt": 1 / 24, "contact": case.contact, "dtype": dtype}
    cpu, cuda, again = (pdgpu.Simulation(case.scene, solver, device=device, **others) for device in devices)
    for _ in range(steps):
        for sim in (cpu, cuda, again):
            sim.step(record=True)
    scale = np.abs(cpu.positions).max()
    assert np.abs(cuda.positions - cpu.positions).max() < (1e-9 if dtype == "float64" else 1e-4) * scale
    assert np.abs(cuda.velocities - cpu.velocities).max() < (1e-7 if dtype == "float64" else 1e-2) * np.abs(cpu.velocities).max()
    np.testing.assert_array_equal(cuda.positions, again.positions)
    return cpu, cuda
