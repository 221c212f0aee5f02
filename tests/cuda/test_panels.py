"""Panels on a CUDA device: a cloth that slides over the diagonals of a box has the terms that it has on the CPU."""

import numpy as np
import pytest

import pdgpu
from pdgpu import shapes

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


def sliding(solver, device, dtype):
    scene = pdgpu.Scene(gravity=(1.0, -9.81, 0.5))
    grid = shapes.grid((0.2, 0.2), (4, 4))
    points = np.column_stack([grid.points[:, 0] - 0.1, np.full(25, 0.0019), 0.1 - grid.points[:, 1]])
    scene.add_shell(pdgpu.Mesh(points, triangles=grid.triangles), pdgpu.Spring(50.0), density=0.5)
    scene.add_obstacle(pdgpu.Box(size=(1.0, 1.0, 1.0), centre=(0.0, -0.5, 0.0)), name="floor")
    contact = pdgpu.BarrierContact(2e-3, stiffness=1e4)
    return pdgpu.Simulation(scene, solver, dt=5e-3, contact=contact, device=device, dtype=dtype)


@pytest.mark.parametrize(
    "solver", [pdgpu.Newton(iterations=20, tolerance=1e-6), pdgpu.VertexBlockDescent(iterations=20)], ids=["newton", "vbd"]
)
def test_a_cloth_slides_as_on_the_cpu(solver, dtype):
    """If not, the kernels choose another triangle of a pair, or none."""
    cpu, cuda = (sliding(solver, device, dtype) for device in ("cpu", "cuda"))
    most = 0
    for _ in range(12):
        cpu.step()
        cuda.step()
        assert np.abs(cuda.positions - cpu.positions).max() < (1e-10 if dtype == "float64" else 1e-5)
        there, here = (np.sort(sim.contact_forces().normal_force) for sim in (cuda, cpu))
        if dtype == "float64":
            assert len(there) == len(here) and there == pytest.approx(here, rel=1e-6)
        most = max(most, len(here))
    assert most == 25  # one per vertex
