"""Which CUDA modules can be used here, on a device or on the CPU in its place."""

from pdgpu._internal.backends import backend

DTYPES = ("float32", "float64")


def fault(dtype):
    """Why the CUDA module of a precision cannot be used, or None."""
    try:
        backend("cuda", dtype)
    except RuntimeError as error:
        return str(error)
    return None


def precisions():
    """Those of the modules that can be used."""
    return [dtype for dtype in DTYPES if not fault(dtype)]
