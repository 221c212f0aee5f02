"""What the CUDA modules do where there is no GPU."""

import importlib

import pytest

import pdgpu

MODULES = ("_cuda_f32", "_cuda_f64")


@pytest.mark.parametrize("name", MODULES)
def test_module_imports_and_lists_its_devices(name):
    """If not, a build with CUDA cannot even be loaded on the machine that made it."""
    try:
        module = importlib.import_module(f"pdgpu.{name}")
    except ImportError as error:
        pytest.skip(f"{name} is not in this build, so its import is not checked ({error})")
    assert isinstance(module.devices(), list)
    assert list(module.KINDS) == list(importlib.import_module("pdgpu._cpu_f64").KINDS)


def test_a_device_that_is_not_there_is_one_clear_error():
    """If not, device="cuda" on a laptop ends in a crash or in a silent run on the CPU."""
    scene = pdgpu.Scene()
    scene.add_particles([[0.0, 0.0, 0.0]], mass=1.0)
    try:
        devices = importlib.import_module("pdgpu._cuda_f64").devices()
    except ImportError:
        devices = []
    if devices:
        pytest.skip("there is a CUDA device: the error without one is not checked")
    with pytest.raises(RuntimeError, match="device: 'cuda' is not available"):
        pdgpu.Simulation(scene, device="cuda")
