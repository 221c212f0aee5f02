"""Processors that lack instructions of the CPU backends, run by an emulator."""

import os
import shutil
import subprocess
import sys

import pytest

import pdgpu
from pdgpu import _host

CODE = """
import pdgpu
scene = pdgpu.Scene()
scene.add_solid(pdgpu.shapes.beam((1.0, 1.0, 1.0), cells=(1, 1, 1)), pdgpu.ARAP(1e4), density=1e3)
try:
    pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=1))
except RuntimeError as error:
    print(error)
"""


def test_an_old_processor_is_told_what_it_lacks():
    """If not, a step there ends the process with an illegal instruction."""
    if not (emulator := shutil.which("qemu-x86_64")):
        pytest.skip("qemu-x86_64 is not there: apt-get install qemu-user")
    if _host.CPU_ARCH != "x86-64-v3":
        pytest.skip(f"this build is for PDGPU_ARCH={_host.CPU_ARCH!r}")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [emulator, "-cpu", "Nehalem", sys.executable, "-c", CODE]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=500)
    assert not result.returncode, result.stderr
    expected = "PDGPU_ARCH=x86-64-v3, and this processor lacks AVX, AVX2, FMA, F16C, BMI1, BMI2, LZCNT, MOVBE; build it for this processor"
    assert expected in result.stdout


def test_a_lacking_instruction_stops_the_first_use(monkeypatch):
    """If not, the module is loaded all the same."""
    from pdgpu._internal import backends

    monkeypatch.setattr(_host, "missing_instructions", lambda: ("AVX2", "FMA"))
    backends._loaded.cache_clear()
    with pytest.raises(
        RuntimeError, match=r"lacks AVX2, FMA; build it for this processor with: pip install \. -C cmake\.define\.PDGPU_ARCH"
    ):
        pdgpu.linear.solve([[2.0]], [1.0], pdgpu.PCG())
    backends._loaded.cache_clear()
