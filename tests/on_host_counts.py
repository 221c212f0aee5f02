"""How often the stand-in for the CUDA runtime was asked for something (tests/cuda/on_host/device.cpp)."""

import ctypes

from pdgpu._internal.backends import backend


def calls_of_the_runtime(dtype, what):
    """Since the process began: "cudaMalloc", "cudaStreamCreate", "launches", "clears", "copies", "bytes copied", "bytes to the host", .."""
    library = ctypes.CDLL(backend("cuda", dtype).__file__)
    library.pd_on_host_count.restype = ctypes.c_longlong
    return library.pd_on_host_count(what.encode())
