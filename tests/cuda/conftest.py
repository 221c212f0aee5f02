"""What the tests of the CUDA backend share: the precisions, and whether the kernels run on a device or on the CPU."""

import pytest

from pdgpu._internal.backends import backend, direct_library

ON_HOST = "the CPU in place of a CUDA device"  # the name that tests/cuda/on_host gives its device


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    try:
        backend("cuda", request.param)
    except RuntimeError as error:
        pytest.skip(f"the CUDA loops are not run: {error}")
    return request.param


@pytest.fixture
def on_host():
    """Whether the kernels run on the CPU."""
    try:
        return ON_HOST in backend("cuda", "float32").devices()
    except RuntimeError as error:
        pytest.skip(f"the CUDA loops are not run: {error}")


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
    try:
        on_host = ON_HOST in backend("cuda", "float32").devices()
    except RuntimeError:
        return  # the test itself says why it cannot run
    if on_host:
        pytest.skip("too large for kernels that run on the CPU")
