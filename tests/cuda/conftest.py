"""Fixtures of the tests of the CUDA backend: the precisions, and whether the kernels run on a device or on the CPU."""

import cuda_modules
import pytest

from pdgpu._internal.backends import backend, direct_library

ON_HOST = "the CPU in place of a CUDA device"  # the name that tests/cuda/on_host gives its device
# both, which are skipped with the reason, where none can be used
DTYPES = cuda_modules.precisions() or cuda_modules.DTYPES


def skip_without(dtype):
    if reason := cuda_modules.fault(dtype):
        pytest.skip(f"the CUDA loops are not run: {reason}")


@pytest.fixture(params=DTYPES)
def dtype(request):
    skip_without(request.param)
    return request.param


@pytest.fixture
def on_host():
    """Whether the kernels run on the CPU."""
    skip_without(DTYPES[0])
    return ON_HOST in backend("cuda", DTYPES[0]).devices()


@pytest.fixture
def resident(on_host, monkeypatch):
    """There is a library for sparse factors on the device."""
    if on_host:
        monkeypatch.setenv("PDGPU_CUDSS", "stand-in")
    elif not direct_library("cuda").startswith("cuDSS"):
        pytest.skip("cuDSS is not installed (nvidia-cudss-cu13 or -cu12): sparse factors on the device are not checked")


def pytest_runtest_setup(item):
    if not item.get_closest_marker("large"):
        return
    # without a device the test itself says why it cannot run
    if not cuda_modules.fault(DTYPES[0]) and ON_HOST in backend("cuda", DTYPES[0]).devices():
        pytest.skip("too large for kernels that run on the CPU")
