"""Contact by projections on a CUDA device, against the CPU: the same pairs, and the same answer."""

import dataclasses

import numpy as np
import pytest
from device_parity import assert_counts, common_pairs, steps_on_both
from projective_run import projective_case

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


@pytest.mark.parametrize("name", ["bodies in a box", "sand"])
def test_steps(name, dtype):
    """If not, a step on the GPU goes somewhere else than on the CPU, or through something."""
    case = projective_case(name, friction=0.3, restitution=0.5, inner=5)
    solver = pdgpu.ProjectiveDynamics(iterations=12, linear=pdgpu.Jacobi(), check_every=1)
    cpu, cuda = steps_on_both(case, solver, dtype)
    for column in ("active_contacts", "outer"):
        assert_counts(cuda.last_step[column], cpu.last_step[column], dtype)
    assert abs(cuda.last_step["behind"][-1] - cpu.last_step["behind"][-1]) < 1e-6
    assert cpu.last_step["active_contacts"][-1] > 10
    found, expected = (sim._core.backend.projective_columns() for sim in (cuda, cpu))
    there, here = common_pairs(found, expected, dtype, same=("kind", "vertices"))
    size, rounding = np.abs(cpu.positions).max(), 1e-7 if dtype == "float64" else 1e-2
    np.testing.assert_allclose(found["target"][there], expected["target"][here], rtol=0, atol=rounding * size)


LINEAR = {
    "Jacobi": pdgpu.Jacobi(iterations=4, chebyshev=pdgpu.Chebyshev(rho=0.8, start=1)),
    "Gauss-Seidel": pdgpu.GaussSeidel(iterations=2),
    "PCG": pdgpu.PCG(iterations=4, tolerance=1e-3),
}


@pytest.mark.parametrize("linear", LINEAR)
def test_blocks_on_the_diagonal(linear, dtype):
    """If not, a row of three lanes would read another row's block."""
    case = projective_case("thrown ball", inner=5, blocks=True)
    cpu, _ = steps_on_both(case, pdgpu.ProjectiveDynamics(iterations=10, linear=LINEAR[linear]), dtype)
    assert cpu.last_step["active_contacts"][-1] > 10


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_host_waits_once_an_iteration_that_it_looks_at(device, dtype):
    """If not, what the frame and the outer loop ask of one move would be two waits."""
    case, waits = projective_case("bodies in a box", inner=5), {}
    for rounds, every in ((3, 1000), (4, 1000), (4, 1)):
        contact = dataclasses.replace(case.contact, outer=rounds)
        solver = pdgpu.ProjectiveDynamics(iterations=40, linear=pdgpu.Jacobi(), check_every=every)
        sim = pdgpu.Simulation(case.scene, solver, device=device, dt=1 / 24, contact=contact, dtype=dtype)
        sim.step(2)  # lists have grown
        before = sim._core.backend.counts()["waits"]
        sim.step()
        assert sim.last_step.iteration == 5 * rounds
        waits[rounds, every] = sim._core.backend.counts()["waits"] - before
    assert waits[4, 1] - waits[4, 1000] == 4 * 4  # in the last iteration of a round the host looks in any case


def test_targets_as_printed(dtype):
    """If not, where a pair is reflected to would be read from somewhere else on the GPU."""
    case = projective_case("thrown ball", restitution=0.5, inner=5, variant="printed")
    solver = pdgpu.ProjectiveDynamics(iterations=8, linear=pdgpu.Jacobi(), check_every=1)
    cpu, cuda = (pdgpu.Simulation(case.scene, solver, device=d, dt=1 / 24, contact=case.contact, dtype=dtype) for d in ("cpu", "cuda"))
    for step in range(2):
        for sim in (cpu, cuda):
            sim.step(record=True)
        assert_counts(cuda.last_step["outer"], cpu.last_step["outer"], dtype)
        assert step or cpu.last_step["active_contacts"][-1] > 10
    assert np.abs(cuda.positions - cpu.positions).max() < (1e-9 if dtype == "float64" else 1e-4) * np.abs(cpu.positions).max()
