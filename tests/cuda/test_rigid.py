"""Rigid bodies and joints on a CUDA device, against the CPU: tops, pendulums, boxes that slide on a floor, by all solvers."""

import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu import shapes
from pdgpu.simulation.time_step import take_step

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]

SOLVERS = {
    "Newton": pdgpu.Newton(iterations=4),
    "conjugate gradients": pdgpu.Newton(iterations=4, linear=pdgpu.PCG(preconditioner="block")),
    "conjugate gradients, polynomial": pdgpu.Newton(iterations=4, linear=pdgpu.PCG(preconditioner="chebyshev")),
    "conjugate gradients, multilevel": pdgpu.Newton(iterations=4, linear=pdgpu.PCG(preconditioner="multilevel")),
    "conjugate gradients, amg": pdgpu.Newton(iterations=4, linear=pdgpu.PCG(preconditioner="amg")),
    "QuasiNewton": pdgpu.QuasiNewton(iterations=4),
    "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=4),
    "BlockJacobi": pdgpu.BlockJacobi(iterations=4),
    "GradientDescent": pdgpu.GradientDescent(iterations=4),
}


def top():
    """A box that turns about no axis of its own."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    scene.add_rigid(shapes.box((1.0, 0.6, 0.3)), density=100.0, velocity=(1.0, 2.0, 3.0), spin=(0.2, 3.0, 0.3), name="box")
    return scene, None


def pendulum():
    return scenes.linkage(), None


def floor():
    """With friction."""
    return scenes.slope(), pdgpu.BarrierContact(0.01, friction=0.3)


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
    if case != "floor":  # where lists of pairs may grow
        made = cuda._core.backend.counts()["allocations"]
        for sim in (cpu, cuda, again):
            sim.step()
        assert cuda._core.backend.counts()["allocations"] == made
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
    scene.add_rigid(scenes.placed(shapes.sphere(0.3, 3), 3.0, 0.0, 0.0), density=100.0, spin=(1.0, 0.0, 5.0), name="ball")
    said, ends = [], []
    for device in ("cpu", "cuda"):
        sim = pdgpu.Simulation(scene, SOLVERS["Newton"], dt=0.01, dtype=dtype, device=device)
        mirrored = sim._core.backend.positions()
        mirrored[sim._core.scene.find("ball").slice] *= [-1.0, 1.0, 1.0]
        with pytest.raises(pdgpu.DivergenceError) as caught:
            take_step(sim._core, False, guess=mirrored)
        said.append(str(caught.value))
        sim.step()
        ends.append(sim.positions)
    assert said[0] == said[1] and "the rigid body 'ball' has been turned inside out" in said[0]
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-10 if dtype == "float64" else 2e-4)


def test_what_is_read_back(dtype):
    """If not, a joint or a floor bears another load on the GPU, or a body is said to be elsewhere."""
    tolerance = {"rtol": 1e-6, "atol": 1e-6} if dtype == "float64" else {"rtol": 0.05, "atol": 1.0}
    for make in (pendulum, floor):
        scene, contact = make()
        settings = {"dt": 0.01, "contact": contact, "dtype": dtype}
        cpu, cuda = (pdgpu.Simulation(scene, SOLVERS["Newton"], device=device, **settings) for device in ("cpu", "cuda"))
        for sim in (cpu, cuda):
            sim.step(2)
        for name, joint in cpu.joint_forces().items():
            np.testing.assert_allclose(cuda.joint_forces()[name].force, joint.force, **tolerance)
        for name in ("centres", "rotations", "velocities", "spins"):
            found, expected = getattr(cuda.rigid, name), getattr(cpu.rigid, name)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 if dtype == "float64" else 0.1)
    forces = cpu.contact_forces().forces
    assert np.abs(forces).max() > 1.0
    np.testing.assert_allclose(cuda.contact_forces().forces, forces, **tolerance)
