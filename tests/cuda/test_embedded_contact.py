"""Contact of embedded surfaces on a CUDA device, against the CPU."""

import functools

import numpy as np
import pytest

import pdgpu
from pdgpu import shapes

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]

SOLVERS = {
    "Newton": pdgpu.Newton(iterations=12),
    "Newton by PCG": pdgpu.Newton(iterations=12, linear=pdgpu.PCG()),
    "Projective Dynamics by Jacobi": pdgpu.ProjectiveDynamics(iterations=8, linear=pdgpu.Jacobi(iterations=5)),
    "QuasiNewton": pdgpu.QuasiNewton(iterations=8),
    "NonlinearCG": pdgpu.NonlinearCG(iterations=12),
}


def balls():
    """Two fine balls in coarse cages, one over the other, over the floor; a part of each is outside its cage."""
    scene = pdgpu.Scene()
    for k in range(2):
        middle = np.array([0.03 * k, 0.103 + 0.203 * k, 0.01 * k])
        cage = shapes.beam((0.18,) * 3, cells=(2, 2, 2))
        body = scene.add_solid(pdgpu.Mesh(cage.points - 0.09 + middle, tets=cage.tets), pdgpu.ARAP.from_young(2e4, 0.3), density=300.0)
        ball = shapes.sphere(0.1, 2)
        body.embed(pdgpu.Mesh(ball.points + middle, triangles=ball.triangles), collides=True, extrapolate=True)
    scene.add_obstacle(pdgpu.Plane(point=(0.0, 0.0, 0.0), normal=(0.0, 1.0, 0.0)))
    return scene


@functools.cache
def begun(contact):
    """Where the balls are, and how fast, when they have come near the floor and each other."""
    sim = pdgpu.Simulation(balls(), SOLVERS["Newton"], dt=0.005, contact=contact)
    sim.set_state(velocities=np.tile([0.05, -1.0, 0.0], (len(sim.positions), 1)))
    sim.step(8)
    return sim.positions, sim.velocities


@pytest.mark.parametrize(
    "contact",
    [pdgpu.BarrierContact(2e-3, friction=0.3), pdgpu.PenaltyContact(2e-3, stiffness=2e3, friction=0.3)],
    ids=["barrier", "penalty"],
)
@pytest.mark.parametrize("name", SOLVERS)
def test_steps(name, contact, dtype):
    """If not, points on the GPU follow other vertices than on the CPU, or forces go back to others."""
    positions, velocities = begun(contact)
    ends = []
    for device in ("cpu", "cuda", "cuda"):
        sim = pdgpu.Simulation(balls(), SOLVERS[name], dt=0.005, contact=contact, device=device, dtype=dtype)
        sim.set_state(positions=positions, velocities=velocities)
        sim.step(record=True)
        assert sim.last_step["active_contacts"][-1] >= 8
        ends.append(sim)
    cpu, cuda, again = ends
    moved = abs(cpu.positions - positions).max()
    assert abs(cuda.positions - cpu.positions).max() < (1e-7 if dtype == "float64" else 1e-2) * moved
    np.testing.assert_array_equal(again.positions, cuda.positions)
    forces = [sim.contact_forces().forces for sim in (cpu, cuda)]
    assert abs(forces[1] - forces[0]).max() < (1e-5 if dtype == "float64" else 0.1) * abs(forces[0]).max()


@pytest.mark.parametrize("name", ["VertexBlockDescent", "BlockJacobi", "GradientDescent"])
def test_sweeps_stay_on_the_cpu(name):
    """If not, a vertex on the GPU passes over what it carries."""
    solver = getattr(pdgpu, name)()
    with pytest.raises(RuntimeError, match=f"device: {name} with .* runs on 'cpu' only, not on 'cuda'; ProjectiveDynamics, Newton, "):
        pdgpu.Simulation(balls(), solver, dt=0.005, contact=pdgpu.BarrierContact(2e-3), device="cuda")
