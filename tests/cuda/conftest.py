"""Which tests of the CUDA backend can run here."""

import pytest

from pdgpu.backends import backend

ON_HOST = "the CPU in place of a CUDA device"  # the name that tests/cuda/on_host gives its device


def pytest_runtest_setup(item):
    if not item.get_closest_marker("large"):
        return
    try:
        on_host = ON_HOST in backend("cuda", "float32").devices()
    except RuntimeError:
        return  # the test itself says why it cannot run
    if on_host:
        pytest.skip("too large for kernels that run on the CPU")
