"""Contact by a penalty on a CUDA device, against the CPU."""

import numpy as np
import pytest
import scenes
from device_parity import common_pairs

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


SOLVERS = {"vbd": pdgpu.VertexBlockDescent(iterations=4), "xpbd": pdgpu.XPBD(iterations=4)}


@pytest.mark.parametrize("name", SOLVERS)
def test_steps(dtype, name):
    """The same pairs with the same weights and normals, and the same way from there. If not, things touch otherwise on the GPU."""
    contact = pdgpu.PenaltyContact(0.03, stiffness=3e3, depth=0.1, detection_interval=2, friction=0.4, friction_velocity=0.05)
    solver = SOLVERS[name]
    exact = dtype == "float64"
    cpu, cuda, again = (
        pdgpu.Simulation(scenes.heap(), solver, dt=1 / 60, contact=contact, device=device, dtype=dtype)
        for device in ("cpu", "cuda", "cuda")
    )
    # away from where a pair of a regular scene just acts or just does not, which rounding would decide
    start = cpu.positions + 1e-4 * np.sin(7.0 * np.arange(cpu.positions.size)).reshape(cpu.positions.shape).astype(dtype)
    for sim in (cpu, cuda, again):
        sim.set_state(positions=start)
        sim.step()
    np.testing.assert_array_equal(again.positions, cuda.positions)
    scale = np.abs(cpu.positions).max()
    assert np.abs(cuda.positions - cpu.positions).max() < (1e-9 if exact else 1e-4) * scale
    found, expected = (sim._core.backend.penalty_columns() for sim in (cuda, cpu))
    assert len({*(expected["key"] >> 62).tolist()}) == 3
    if exact:  # in float32 what lies at a limit may be on either side of it
        there, here = common_pairs(found, expected, dtype)
        for column in ("weights", "normal", "reach", "gap"):
            np.testing.assert_allclose(found[column][there], expected[column][here], atol=1e-7)
    assert (cuda._core.backend.friction_columns()["strength"] > 0.0).sum() > 5
    # at the same place the same numbers
    cuda.set_state(positions=cpu.positions, velocities=cpu.velocities)
    cuda._core.backend.set_driven(cpu._core.backend.driven(), None)
    at = cpu.positions + 1e-4 * np.sin(np.arange(cpu.positions.size)).reshape(cpu.positions.shape).astype(dtype)
    assert cuda.incremental_potential(at) == pytest.approx(cpu.incremental_potential(at), rel=1e-10 if exact else 1e-3)
    for quantity in ("gradient", "hessian"):
        there, here = (getattr(sim, quantity)(at) for sim in (cuda, cpu))
        assert abs(there - here).max() <= (1e-9 if exact else 2e-3) * abs(here).max()


def drift(time):
    """A frame that turns and goes on."""
    cosine, sine = np.cos(2.0 * time), np.sin(2.0 * time)
    return [[cosine, 0.0, sine], [0.0, 1.0, 0.0], [-sine, 0.0, cosine]], [0.1 * time, 0.02 * time, 0.0]


@pytest.mark.parametrize("name", SOLVERS)
def test_fields(dtype, name):
    """The same pairs with grids of distances, standing and moving. If not, a body sinks into one on one of the two."""
    mesh = pdgpu.shapes.box((1.0, 0.1, 1.0))
    slab = pdgpu.SignedDistanceField.from_mesh(pdgpu.Mesh(mesh.points, triangles=mesh.triangles), spacing=0.05, motion=drift)
    scene, axis = pdgpu.Scene((0.0, -10.0, 0.0)), np.linspace(-0.2, 0.2, 9)
    cube = pdgpu.shapes.beam((0.1,) * 3, (1, 1, 1))
    for i in range(2):
        points = cube.points + [0.4 + 0.03 * i, 0.1016 + 0.1016 * i, 0.4]
        scene.add_solid(pdgpu.Mesh(points, tets=cube.tets), pdgpu.ARAP(4e5), density=1000.0, velocity=(0.2, -0.1, 0.0))
    nodes = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)
    scene.add_obstacle(slab, name="slab")
    scene.add_obstacle(pdgpu.SignedDistanceField(np.linalg.norm(nodes, axis=-1) - 0.1, (0.35, 0.1, 0.25), 0.05), name="ball")
    contact = pdgpu.PenaltyContact(2e-3, stiffness=3e4, detection_interval=2, friction=0.4, friction_velocity=0.05)
    cpu, cuda = (
        pdgpu.Simulation(scene, SOLVERS[name], dt=1 / 100, contact=contact, device=device, dtype=dtype) for device in ("cpu", "cuda")
    )
    for sim in (cpu, cuda):
        for _ in range(2):
            sim.step()
    exact = dtype == "float64"
    assert np.abs(cuda.positions - cpu.positions).max() < (1e-10 if exact else 1e-5)
    found, expected = (sim._core.backend.penalty_columns() for sim in (cuda, cpu))
    assert len({*(expected["key"][expected["key"] >> 62 == 2] >> 31).tolist()}) == 2
    if exact:
        there, here = common_pairs(found, expected, dtype)
        for column in ("weights", "normal", "reach", "gap"):
            np.testing.assert_allclose(found[column][there], expected[column][here], atol=1e-9)


def test_grains_that_begin_inside_stay(dtype):
    """A third of a thickness inside or outside, and on their way in by up to ten: they come out as on the CPU. If not, they fall."""
    wall = pdgpu.shapes.box((1.0, 1.0, 0.1))
    rng = np.random.default_rng(1)
    start = np.column_stack([rng.uniform(0.1, 0.9, (64, 2)), 0.1 + rng.uniform(-3e-4, 3e-4, 64)])
    scene = pdgpu.Scene((0.0, 0.0, -10.0))
    scene.add_particles(start, mass=2.0, name="grains")
    scene.add_obstacle(pdgpu.TriangleMesh(pdgpu.Mesh(wall.points, triangles=wall.triangles)), name="plate")
    contact = pdgpu.PenaltyContact(1e-3, stiffness=1e5, detection_interval=1)
    velocities = rng.uniform(-1.0, 0.0, (64, 1)) * [0.0, 0.0, 1.0]
    ends = []
    for device in ("cpu", "cuda"):
        sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=20), dt=0.01, contact=contact, device=device, dtype=dtype)
        sim.set_state(velocities=velocities)
        sim.step(20)
        ends.append(sim.positions)
    assert ends[1][:, 2].min() > 0.1
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-10 if dtype == "float64" else 1e-5)
