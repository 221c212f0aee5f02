"""stiffness="auto" on a CUDA device: it doubles where it does on the CPU, and is saved and resumed."""

import copy

import numpy as np
import pytest
from pressed_grain import COLLAPSED, MU, load_of, pressed, start_stiffness, unit_force

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


@pytest.mark.parametrize("solver", ["newton", "vbd"])
def test_it_doubles_as_on_the_cpu(solver, dtype):
    """If not, a gap gives way on the GPU that holds on the CPU, or friction there has the force of a collapsed gap."""
    load = load_of(3)
    cpu, cuda = (pressed(load, push=0.2 * load, solver=solver, device=device, dtype=dtype) for device in ("cpu", "cuda"))
    for _ in range(7):
        cpu.step()
        cuda.step()
        assert cuda.last_step.stiffness == cpu.last_step.stiffness
        assert np.abs(cuda.positions - cpu.positions).max() < (1e-12 if dtype == "float64" else 1e-6)
        there, here = (sim.contact_forces().friction_limit for sim in (cuda, cpu))
        assert there == pytest.approx(here, rel=1e-9 if dtype == "float64" else 1e-2)
        assert (there <= MU * cuda.last_step.stiffness * unit_force(COLLAPSED) * (1.0 + 1e-5)).all()
    assert cuda.last_step.stiffness == start_stiffness() * 2.0**3


def test_saved_across_a_doubling(dtype, tmp_path):
    """If not, a resumed run on the GPU has other bits."""
    sim = pressed(load_of(4), push=0.1 * load_of(4), device="cuda", dtype=dtype)
    for _ in range(4):
        sim.step()
        sim.save(tmp_path / "s")
        others = [pdgpu.Simulation.load(tmp_path / "s"), copy.copy(sim)]
        sim.step()
        for other in others:
            other.step()
            assert np.array_equal(other.positions, sim.positions) and other.parameters == sim.parameters
    assert sim.last_step.stiffness == start_stiffness() * 2.0**4
