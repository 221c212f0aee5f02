"""Segments and points as obstacles on a CUDA device, against the CPU."""

import numpy as np
import pytest
from resting_contact import projective
from thin_obstacles import SEPARATION, draped, swept

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]

RUNS = {
    "Newton": (pdgpu.Newton(iterations=12), pdgpu.BarrierContact(2e-3, stiffness=3e4, separation=SEPARATION, friction=0.3)),
    "VBD": (pdgpu.VertexBlockDescent(iterations=8), pdgpu.BarrierContact(2e-3, stiffness=3e4, separation=SEPARATION, friction=0.3)),
    "PD": (pdgpu.ProjectiveDynamics(iterations=8), pdgpu.BarrierContact(2e-3, stiffness=3e4, separation=SEPARATION)),
    "projective": (pdgpu.ProjectiveDynamics(iterations=20), pdgpu.ProjectiveContact(2e-3, separation=SEPARATION)),
    "penalty": (pdgpu.VertexBlockDescent(iterations=8), pdgpu.PenaltyContact(4e-3, stiffness=300.0)),
}


@pytest.mark.each_choice
@pytest.mark.parametrize("scene", ["wire", "pin cushion", "points", "swept"])
@pytest.mark.parametrize("run", RUNS)
def test_steps(run, scene, dtype):
    """If not, a needle on the GPU is another one than on the CPU, or none."""
    solver, contact = RUNS[run]
    case = swept(contact=contact) if scene == "swept" else draped(scene, contact=contact, height=0.005)
    case = projective(case, moving=True)
    cpu, cuda, again = (
        pdgpu.Simulation(case.scene, solver, dt=case.dt, contact=contact, device=device, dtype=dtype) for device in ("cpu", "cuda", "cuda")
    )
    for sim in (cpu, cuda, again):
        sim.step(4)
    assert np.array_equal(cuda.positions, again.positions)
    scale = np.abs(cpu.positions).max()
    assert np.abs(cuda.positions - cpu.positions).max() < (1e-7 if dtype == "float64" else 2e-3) * scale
    assert len(cuda.contact_forces().of("thin")) > 0
    found, expected = (sim.contacts(0.01, bodies=["thin", case.scene.bodies[0].name]) for sim in (cuda, cpu))
    assert len(expected) and abs(len(found) - len(expected)) <= 0.05 * len(expected)
