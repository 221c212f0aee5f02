"""Memory of a simulation in the hands of another library, on the CPU."""

import gc
import sys
import threading

import inputs
import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu.simulation.time_step import take_step


@pytest.fixture(params=["float64", "float32"])
def sim(request):
    scene, _ = scenes.bar(inputs.B20(), 1e5, gravity=(1.0, -2.0, 0.5))
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=3, initialization="inertial_target"), dtype=request.param)
    sim.set_state(velocities=np.full(sim.positions.shape, [0.0, 1.0, 2.0]))
    return sim


@pytest.mark.parametrize("take", [np.from_dlpack, np.asarray])
def test_the_memory_is_that_of_the_simulation(sim, take):
    """If not, another library works on a copy that does not follow the steps."""
    positions, velocities = take(sim.device_positions), take(sim.device_velocities)
    for array, own in ((positions, "positions"), (velocities, "velocities")):
        assert array.dtype == sim.dtype and array.shape == sim.positions.shape and array.flags.c_contiguous
        np.testing.assert_array_equal(array, getattr(sim, own))
    before = positions.copy()
    sim.step()
    assert (positions != before).any()
    np.testing.assert_array_equal(positions, sim.positions)
    np.testing.assert_array_equal(velocities, sim.velocities)
    assert np.shares_memory(positions, take(sim.device_positions))


def test_written_positions_are_those_of_set_state(sim):
    """If not, a state that came through the memory is stepped from somewhere else, or with the offset of another."""
    x = sim.positions * 1.1
    other = pdgpu.Simulation(sim._core.scene, sim.solver, dtype=sim.dtype)
    for one in (sim, other):
        one.step(2)
    # NumPy 2.0 opens DLPack for reading alone
    opened = np.asarray if np.__version__.startswith("2.0.") else np.from_dlpack
    opened(sim.device_positions)[:] = x
    np.asarray(sim.device_velocities)[:] = 0.5
    other.set_state(positions=x, velocities=np.full(x.shape, 0.5))
    assert sim.energies() == other.energies()
    for one in (sim, other):
        one.step(2)
    np.testing.assert_array_equal(sim.positions, other.positions)
    np.testing.assert_array_equal(sim.velocities, other.velocities)


def test_it_outlives_the_simulation(sim):
    """If not, an array reads memory that was given back."""
    array, keeper = np.from_dlpack(sim.device_positions), sim.device_velocities
    x = sim.positions
    sim.__dict__.clear()  # the fixture keeps the object itself
    gc.collect()
    np.testing.assert_array_equal(array, x)
    assert np.asarray(keeper).shape == x.shape


def test_a_tensor_nobody_takes_is_let_go(sim):
    """If not, every refused exchange keeps a simulation for good."""
    array = sim.device_positions
    count = sys.getrefcount(array)
    for version in (None, (1, 0)):
        capsule = array.__dlpack__(max_version=version)
        assert sys.getrefcount(array) == count + 1
        del capsule
        assert sys.getrefcount(array) == count


def test_versions_of_the_protocol(sim):
    """If not, an old consumer reads a new structure or the other way round."""
    array = sim.device_positions
    assert '"dltensor"' in repr(array.__dlpack__())
    assert '"dltensor"' in repr(array.__dlpack__(max_version=(0, 8)))
    assert '"dltensor_versioned"' in repr(array.__dlpack__(max_version=(1, 1)))
    assert array.__dlpack_device__() == (1, 0)
    assert array.shape == sim.positions.shape
    assert not hasattr(array, "__cuda_array_interface__")


def test_what_cannot_be_given_is_refused(sim):
    """If not, a consumer that asks for a copy or another device gets this memory all the same."""
    array = sim.device_positions
    with pytest.raises(BufferError, match="copy: True"):
        array.__dlpack__(copy=True)
    with pytest.raises(BufferError, match=r"dl_device: the memory is on device \(1, 0\), not on \(2, 0\)"):
        array.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="stream: expected None"):
        array.__dlpack__(stream=1)
    with pytest.raises(TypeError, match="max_version: expected None or a tuple"):
        array.__dlpack__(max_version=1)
    with pytest.raises(TypeError, match="dl_device: expected None or a tuple"):
        array.__dlpack__(dl_device="cpu")
    with pytest.raises(TypeError):
        type(array)()


def test_a_step_under_way_gives_nothing_away(sim):
    """If not, another thread reads an iterate, or on a GPU breaks what is being captured."""
    seen = []

    def observe(*_):
        with pytest.raises(RuntimeError, match="busy"):
            sim.device_positions  # noqa: B018
        with pytest.raises(RuntimeError, match="busy"):
            np.from_dlpack(array)
        seen.append(threading.get_ident())

    array = sim.device_positions
    take_step(sim._core, False, observer=observe)
    assert seen


def test_after_a_cut_it_is_the_memory_of_before():
    """If not, an array changes its length in the hands of who has it, or is freed there."""
    points, triangles = inputs.cloth(4)
    scene = pdgpu.Scene()
    shell = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(100.0), density=0.2)
    sim = pdgpu.Simulation(scene, pdgpu.XPBD(iterations=2))
    array = np.from_dlpack(sim.device_positions)
    before = array.copy()
    hinges = shell.mesh.hinges[:, :2]
    assert len(sim.cut(shell, hinges).new_vertices)
    sim.step()
    np.testing.assert_array_equal(array, before)
    assert len(np.from_dlpack(sim.device_positions)) == len(sim.positions) > len(array)


def test_torch_shares_the_memory(sim):
    """If not, the library most readers come with sees a copy."""
    torch = pytest.importorskip("torch", reason="torch is not installed: its side of the exchange is not checked")
    tensor = torch.from_dlpack(sim.device_positions)
    sim.step()
    np.testing.assert_array_equal(tensor.numpy(), sim.positions)
    tensor[3] = 7.0
    assert (sim.positions[3] == 7.0).all()
