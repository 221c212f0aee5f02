"""What goes wrong with a device, as exceptions; the process and the CPU go on. A GPU cannot be made to fail, its stand-in can."""

import inputs
import numpy as np
import pytest
import scenes

import pdgpu


@pytest.fixture(autouse=True)
def provoked(on_host, monkeypatch):
    if not on_host:
        pytest.skip("errors are provoked in the stand-in for a device only")
    yield
    # whatever it was, it is over when its cause is
    monkeypatch.undo()
    simulation("cuda").step()
    simulation("cpu").step()


def simulation(device):
    scene, _ = scenes.bar(inputs.B20(), 1e5)
    solver = pdgpu.ProjectiveDynamics(iterations=3, linear=pdgpu.Jacobi())
    return pdgpu.Simulation(scene, solver, device=device)


@pytest.mark.parametrize(
    ("code", "driver", "visible", "message"),
    [
        (35, "0", None, "no NVIDIA driver is installed (this build of pdgpu needs one for CUDA 13.0)"),
        (35, "12020", None, "the NVIDIA driver is too old: it is for CUDA 12.2, and this build of pdgpu needs CUDA 13.0"),
        (100, "13000", None, "the driver finds no GPU"),
        (100, "13000", "", "no GPU is visible: the environment has CUDA_VISIBLE_DEVICES=''"),
        (3, "13000", None, "a process that was forked after CUDA was used cannot use it"),
    ],
)
def test_no_device(monkeypatch, code, driver, visible, message):
    """If not, a reader whose driver is too old is told that he has no GPU."""
    monkeypatch.setenv("PD_ON_HOST_FAILS", f"cudaGetDeviceCount {code}")
    monkeypatch.setenv("PD_ON_HOST_DRIVER", driver)
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with pytest.raises(RuntimeError) as error:
        simulation("cuda")
    assert "device: 'cuda' is not available: no device was found" in str(error.value)
    assert message in str(error.value)


def test_out_of_memory(monkeypatch):
    """If not, a model that is too large ends in a crash, or in a message without a number."""
    monkeypatch.setenv("PD_ON_HOST_FAILS", "cudaMalloc 2")
    with pytest.raises(MemoryError):
        simulation("cuda")
    monkeypatch.undo()
    sim = simulation("cuda")
    monkeypatch.setenv("PD_ON_HOST_FAILS", "cudaMalloc 2")
    with pytest.raises(MemoryError, match=r"out of device memory: \d+ bytes asked for, \d+ free of 4294967296"):
        sim.hessian()


@pytest.mark.parametrize("call", ["launch", "cudaStreamSynchronize"])
@pytest.mark.parametrize("code", [700, 719])
def test_a_kernel_that_went_wrong(monkeypatch, call, code):
    """If not, a fault on the device is reported as something else, or not at all."""
    sim = simulation("cuda")
    before = sim.positions
    monkeypatch.setenv("PD_ON_HOST_FAILS", f"{call} {code}")
    with pytest.raises(RuntimeError, match=r"the device's context is lost.*start a new one"):
        sim.step()
    simulation("cpu").step()
    monkeypatch.undo()
    np.testing.assert_array_equal(sim.positions, before)


def test_a_launch_that_is_refused(monkeypatch):
    """If not, a launch with wrong numbers is taken for a lost device."""
    sim = simulation("cuda")
    monkeypatch.setenv("PD_ON_HOST_FAILS", "launch 9")
    with pytest.raises(RuntimeError, match=r"_kernel failed: invalid configuration argument$"):
        sim.step()
