"""Waits of the host in a step with contact by a penalty."""

import pytest

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


def stack():
    """Two solids and a cloth, one on the other on a floor, nearer than they are thick: pairs without a way on which they meet."""
    scene, grid = pdgpu.Scene(), pdgpu.shapes.grid((0.6, 0.6), cells=(5, 5))
    mesh = pdgpu.shapes.beam((0.4, 0.4, 0.4), cells=(2, 2, 2))
    for k in range(2):
        points = mesh.points + [0.05 * k, 0.02 + 0.42 * k, 0.0]
        scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), pdgpu.NeoHookean.from_young(1e4, 0.3), density=200.0)
    cloth = pdgpu.Mesh(grid.points[:, [0, 2, 1]] + [-0.1, 0.86, -0.1], triangles=grid.triangles)
    scene.add_shell(cloth, pdgpu.Spring(1e3), density=3.0, bending=1e-4)
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    return scene


def contact(*, interval, friction):
    return pdgpu.PenaltyContact(0.03, 3e3, depth=0.1, detection_interval=interval, friction=friction, friction_velocity=0.05)


def simulation(scene, dtype, *, interval, friction, method=pdgpu.VertexBlockDescent, iterations=8, check_every=1000):
    solver = method(iterations=iterations, check_every=check_every)
    return pdgpu.Simulation(scene, solver, dt=1 / 60, contact=contact(interval=interval, friction=friction), device="cuda", dtype=dtype)


def counts_of(sim):
    before = sim._backend.counts()
    sim.step()
    after = sim._backend.counts()
    return {name: after[name] - before[name] for name in ("waits", "allocations")}


@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("interval", [1, 4])
def test_a_detection_is_one_wait(interval, friction, dtype):
    """If not, what a method on the host must know of its pairs is asked for in one readback after the other."""
    sim = simulation(stack(), dtype, interval=interval, friction=friction, method=pdgpu.XPBD)
    counts_of(sim)
    assert counts_of(sim) == {"waits": 8 // interval + 1, "allocations": 0}
