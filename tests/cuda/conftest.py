"""Fixtures of the tests of the CUDA backend: the precisions, and whether the kernels run on a device or on the CPU."""

import pytest

from pdgpu._internal.backends import backend, direct_library

ON_HOST = "the CPU in place of a CUDA device"  # the name that tests/cuda/on_host gives its device


def precisions():
    """Those of the CUDA modules that can be used; both, which are skipped with the reason, where none can."""
    return [dtype for dtype in ("float32", "float64") if not fault(dtype)] or ["float32", "float64"]


def fault(dtype):
    """Why the CUDA loops of a precision cannot be run, or None."""
    try:
        backend("cuda", dtype)
    except RuntimeError as error:
        return f"the CUDA loops are not run: {error}"
    return None


@pytest.fixture(params=precisions())
def dtype(request):
    if reason := fault(request.param):
        pytest.skip(reason)
    return request.param


@pytest.fixture
def on_host():
    """Whether the kernels run on the CPU."""
    dtype = precisions()[0]
    if reason := fault(dtype):
        pytest.skip(reason)
    return ON_HOST in backend("cuda", dtype).devices()


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
    dtype = precisions()[0]
    # without a device the test itself says why it cannot run
    if not fault(dtype) and ON_HOST in backend("cuda", dtype).devices():
        pytest.skip("too large for kernels that run on the CPU")
