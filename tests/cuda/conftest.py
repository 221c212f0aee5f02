"""Which tests of the CUDA backend can run here."""

import pytest

from pdgpu.backends import backend

ON_HOST = "the CPU in place of a CUDA device"  # the name that tests/cuda/on_host gives its device


def pytest_runtest_setup(item):
    if item.get_closest_marker("large") and ON_HOST in backend("cuda", "float32").devices():
        pytest.skip("too large for kernels that run on the CPU")
