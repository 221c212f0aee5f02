"""Friction on a CUDA device, against the CPU."""

import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu import _host

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


@pytest.mark.parametrize("linear", [pdgpu.Direct(), pdgpu.PCG()], ids=["direct", "pcg"])
def test_steps(linear, dtype):
    """If not, things slide on the GPU otherwise than on the CPU."""
    contact = pdgpu.BarrierContact(0.03, stiffness=1e7, area_weighted=False, friction=0.4, friction_velocity=0.05)
    exact = dtype == "float64"
    solver = pdgpu.Newton(iterations=40, tolerance=1e-9 if exact else 1e-6, linear=linear)
    cpu, cuda, again = (
        pdgpu.Simulation(scenes.heap(), solver, dt=1 / 60, contact=contact, device=device, dtype=dtype)
        for device in ("cpu", "cuda", "cuda")
    )
    # boxes in line have two equally near features of a pair: rounding chooses the Hessian, and 40 iterations may be too few
    start = cpu.positions + (1e-4 * np.sin(np.arange(cpu.positions.size)).reshape(-1, 3)).astype(dtype)
    for sim in (cpu, cuda, again):
        sim.set_state(positions=start)
        sim.step()
    scale = np.abs(cpu.positions).max()
    assert np.abs(cuda.positions - cpu.positions).max() < (1e-7 if exact else 5e-3) * scale
    np.testing.assert_array_equal(again.positions, cuda.positions)
    for sim in (cpu, cuda):
        assert (sim._core.backend.friction_columns()["strength"] > 0.0).sum() > 20
    # from the same state, and at the same place, the same numbers
    x, v, driven = cpu.positions, cpu.velocities, cpu._core.backend.driven()
    cuda.set_state(positions=x, velocities=v)
    cuda._core.backend.set_driven(driven, None)
    at = x + 1e-4 * np.sin(np.arange(x.size)).reshape(x.shape).astype(dtype)
    place = _host.ENERGIES.index("friction")
    energies = [float(sim._core.energies(sim._core.cast(at), False)[place]) for sim in (cpu, cuda)]
    assert energies[1] == pytest.approx(energies[0], rel=1e-10 if exact else 1e-3) and energies[0] > 0.0
    for quantity in ("gradient", "hessian"):
        found, expected = (getattr(sim, quantity)(at) for sim in (cuda, cpu))
        assert abs(found - expected).max() <= (1e-9 if exact else 2e-3) * abs(expected).max()


@pytest.mark.parametrize("iterations", [5, 20])
def test_an_iteration_with_a_solve_that_is_cut_off(iterations, dtype):
    """If not, conjugate gradients stop by another test on the GPU, or have the preconditioner of an iteration before."""
    if dtype == "float32":
        pytest.skip("rounding of float32 grows too far in as few iterations")
    contact = pdgpu.BarrierContact(0.03, stiffness=1e7, area_weighted=False, friction=0.4, friction_velocity=0.05)
    solver = pdgpu.Newton(iterations=2, linear=pdgpu.PCG(iterations=iterations))
    cpu, cuda = (pdgpu.Simulation(scenes.heap(), solver, dt=1 / 60, contact=contact, device=device) for device in ("cpu", "cuda"))
    # where boxes lie in line two features of a pair are equally near, and rounding chooses between two Hessians
    cpu.set_state(positions=cpu.positions + 1e-4 * np.sin(np.arange(cpu.positions.size)).reshape(-1, 3))
    for _ in range(2):
        cuda.set_state(positions=cpu.positions, velocities=cpu.velocities)
        cuda._core.backend.set_driven(cpu._core.backend.driven(), None)
        for sim in (cpu, cuda):
            sim.step(record="positions")
        found, expected = (sim.last_step.positions[1] for sim in (cuda, cpu))
        assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()
