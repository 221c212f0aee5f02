"""Rigid bodies and joints on a CUDA device, against the CPU: tops, pendulums, boxes that slide on a floor, by all solvers."""

import numpy as np
import pytest

import pdgpu
from pdgpu import shapes

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]

SOLVERS = {
    "Newton": pdgpu.Newton(iterations=4),
    "conjugate gradients": pdgpu.Newton(iterations=4, linear=pdgpu.PCG(preconditioner="block")),
    "QuasiNewton": pdgpu.QuasiNewton(iterations=4),
    "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=4),
    "BlockJacobi": pdgpu.BlockJacobi(iterations=4),
    "GradientDescent": pdgpu.GradientDescent(iterations=4),
}


def placed(mesh, *shift):
    return pdgpu.Mesh(np.array(mesh.points) + shift, triangles=mesh.triangles)


def top():
    """A box that turns about no axis of its own."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    scene.add_rigid(shapes.box((1.0, 0.6, 0.3)), density=100.0, velocity=(1.0, 2.0, 3.0), spin=(0.2, 3.0, 0.3), name="box")
    return scene, None


def pendulum():
    """Bars held in a point, on a hinge with a limit, about an axis, on a slider with ends and a soft bar behind it, and in a cone."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    bar = shapes.box((0.5, 0.1, 0.1))
    first = scene.add_rigid(placed(bar, 0.0, 0.0, 0.0), density=200.0, name="first")
    first.pin([0])
    second = scene.add_rigid(placed(bar, 0.5, 0.0, 0.0), density=100.0, spin=(0.0, 0.0, 2.0), name="second")
    scene.add_joint("hinge", second, first, at=(0.5, 0.05, 0.05), axis=(0, 0, 1), stiffness=1e5, limits=(-0.01, 0.01))
    door = scene.add_rigid(placed(bar, 0.0, 0.0, 1.0), density=100.0, spin=(0.0, 0.0, -3.0), name="door")
    door.pin(lambda points: points[:, 0] + points[:, 1] < 1e-9)
    drawer = scene.add_rigid(placed(bar, 1.0, 0.0, 1.0), density=100.0, velocity=(3.0, 0.0, 0.0), name="drawer")
    scene.add_joint("slider", drawer, None, at=(1.0, 0.0, 1.0), axis=(1, 0, 0), stiffness=1e5, limits=(-0.02, 0.02))
    soft = shapes.beam((0.4, 0.1, 0.1), cells=(2, 1, 1))
    soft = pdgpu.Mesh(np.array(soft.points) + [0.55, 0.0, 1.0], tets=soft.tets)
    soft = scene.add_solid(soft, pdgpu.ARAP(1e4), density=500.0, name="soft")
    scene.add_joint("ball", drawer, (soft, 2), at=soft.points[2], stiffness=1e3)
    lamp = scene.add_rigid(placed(shapes.box((0.1, 0.5, 0.1)), 0.0, 0.0, 2.0), density=100.0, spin=(2.0, 0.0, 0.0), name="lamp")
    scene.add_joint("ball", lamp, None, at=(0.05, 0.5, 2.05), cone=0.02, axis=(0, 1, 0), stiffness=1e5)
    return scene, None


def floor():
    """Two boxes on each other that slide down a slope, with friction."""
    scene = pdgpu.Scene(gravity=(4.0, -9.0, 0.0))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    scene.add_rigid(placed(shapes.box((0.4, 0.2, 0.3)), 0.0, 0.006, 0.0), density=500.0, name="lower")
    scene.add_rigid(placed(shapes.box((0.2, 0.2, 0.2)), 0.1, 0.213, 0.05), density=500.0, spin=(0.5, 1.0, 0.0), name="upper")
    return scene, pdgpu.BarrierContact(0.01, friction=0.3)


SCENES = {each.__name__: each for each in (top, pendulum, floor)}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("case", SCENES)
def test_steps(case, name, dtype):
    """If not, a body on the GPU turns or falls otherwise than on the CPU, or otherwise the second time."""
    scene, contact = SCENES[case]()
    devices, settings = ("cpu", "cuda", "cuda"), {"dt": 0.01, "contact": contact, "dtype": dtype}
    cpu, cuda, again = (pdgpu.Simulation(scene, SOLVERS[name], device=device, **settings) for device in devices)
    start = cpu.positions
    for sim in (cpu, cuda, again):
        sim.step(2)
    moved = np.abs(cpu.positions - start).max()
    assert moved > 1e-3
    assert np.abs(cuda.positions - cpu.positions).max() < (1e-10 if dtype == "float64" else 2e-4)
    assert np.abs(cuda.rigid.spins - cpu.rigid.spins).max() < (1e-7 if dtype == "float64" else 0.2)
    np.testing.assert_array_equal(cuda.positions, again.positions)
    np.testing.assert_array_equal(cuda.velocities, again.velocities)


def test_a_body_that_has_lost_its_shape_is_named(dtype):
    """If not, a step goes on from a pose that there is not, or the next one is blamed for it."""
    scene, _ = top()
    # of more points than a block has threads
    rows = scene.add_rigid(placed(shapes.sphere(0.3, 3), 3.0, 0.0, 0.0), density=100.0, spin=(1.0, 0.0, 5.0), name="ball").slice
    said, ends = [], []
    for device in ("cpu", "cuda"):
        sim = pdgpu.Simulation(scene, SOLVERS["Newton"], dt=0.01, dtype=dtype, device=device)
        mirrored = sim.positions
        mirrored[rows] *= [-1.0, 1.0, 1.0]
        with pytest.raises(pdgpu.DivergenceError) as caught:
            sim._step(False, guess=mirrored)
        said.append(str(caught.value))
        sim.step()
        ends.append(sim.positions)
    assert said[0] == said[1] and f"{rows.start} to {rows.stop - 1} has been turned inside out" in said[0]
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-10 if dtype == "float64" else 2e-4)
