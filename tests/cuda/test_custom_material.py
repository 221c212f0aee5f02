"""Materials in Python on a CUDA device: a batch is copied to the host and back, and nothing is captured."""

import numpy as np
import own_materials
import pytest

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]

BEAM = pdgpu.shapes.beam((1.0, 0.5, 0.5), cells=(2, 1, 1))
CLOTH = pdgpu.shapes.grid((1.0, 1.0), cells=(2, 2))
SOLVERS = {
    "newton": pdgpu.Newton(iterations=4),
    "quasi-newton": pdgpu.QuasiNewton(iterations=4),
    "vbd": pdgpu.VertexBlockDescent(iterations=6),
    "block jacobi": pdgpu.BlockJacobi(iterations=6, line_search=False),
    "gradient descent": pdgpu.GradientDescent(iterations=6),
}


def stepped(solver, damping, device, precision):
    scene = pdgpu.Scene()
    solid = own_materials.own_neo_hookean(1e4, np.linspace(4e4, 8e4, len(BEAM.tets)))
    scene.add_solid(BEAM, solid, density=1000.0, damping=damping).pin(BEAM.points[:, 0] < 0.01)
    sheet = pdgpu.Mesh(CLOTH.points + [0.0, 3.0, 0.0], triangles=CLOTH.triangles)
    scene.add_shell(sheet, own_materials.own_stvk(1e3, 2e3, "shell", analytic=False), density=0.3).pin(sheet.points[:, 0] < 0.01)
    sim = pdgpu.Simulation(scene, solver, dt=1 / 60, device=device, dtype=precision)
    sim.set_state(positions=scene.rest_positions() * [1.2, 1.0, 1.1])
    sim.step(2)
    return sim


@pytest.mark.parametrize("damping", [0.0, 0.02])
@pytest.mark.parametrize("name", SOLVERS)
def test_it_is_that_of_the_cpu(name, damping, dtype):
    """If not, a function gets another F on a device, or what it finds is put in another place."""
    cpu, cuda = (stepped(SOLVERS[name], damping, device, precision) for device, precision in (("cpu", "float64"), ("cuda", dtype)))
    assert {cuda._core.backend.counts()[count] for count in ("captures", "launches", "refused")} == {0}
    np.testing.assert_allclose(cuda.positions, cpu.positions, atol=1e-10 if dtype == "float64" else 1e-3)
    assert cuda.energies()["total"] == pytest.approx(cpu.energies()["total"], rel=1e-9 if dtype == "float64" else 1e-2)


def test_a_fault_leaves_the_state(dtype):
    """If not, a function that fails leaves the device in the midst of a step."""
    fails = []

    def stress(F, mu, lam):
        found = own_materials.stvk_stress(F, mu, lam)
        return np.where(np.arange(len(F))[:, None, None] == 3, np.nan, found) if fails else found

    scene = pdgpu.Scene()
    material = pdgpu.CustomMaterial(own_materials.stvk_energy, stress, parameters={"mu": 1e4, "lam": 1e4})
    scene.add_solid(BEAM, material, density=1000.0).pin(BEAM.points[:, 0] < 0.01)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=3), dt=1 / 60, device="cuda", dtype=dtype)
    sim.step()
    before = sim.positions.tobytes()
    fails.append(True)
    with pytest.raises(ValueError, match="CustomMaterial: stress is nan at element"):
        sim.step()
    assert sim.positions.tobytes() == before
    fails.clear()
    sim.step()
