"""Which compiled module serves a device and a precision, loaded when first used."""

from __future__ import annotations

import importlib
import os
from functools import cache

import numpy as np

from pdgpu import _host
from pdgpu.arguments import choice, integer

DEVICES = ("cpu", "cuda")
PRECISIONS = {"float32": "f32", "float64": "f64"}
# beyond this a number is a mistake; what the system does not start is not asked for (csrc/threads/team.c)
MOST_THREADS = max(64, 2 * (os.cpu_count() or 1))


def backend(device="cpu", dtype="float64"):
    """The module for a device ("cpu", "cuda") and a dtype ("float32", "float64").

    Raises
    ------
    ValueError
        An unknown device or dtype.
    RuntimeError
        A device that is not there: this build left it out, or its driver or libraries are missing.
    """
    choice("device", device, DEVICES)
    try:
        found = None if dtype is None else np.dtype(dtype)  # NumPy takes None for float64
    except (TypeError, ValueError):
        found = None
    if found is None or not found.isnative or found.kind != "f" or found.itemsize not in (4, 8):
        raise ValueError(f"dtype: expected 'float32' or 'float64', got {dtype!r}")
    loaded = _loaded(device, found)
    reason = loaded.unavailable()  # asked every time: a process may fork, and a device go
    if reason:
        raise RuntimeError(f"device: {device!r} is not available: no device was found, {reason}")
    return loaded


@cache
def _loaded(device, dtype):
    module = f"_{device}_{PRECISIONS[dtype.name]}"
    if not _host.cpu_supports_backend():
        raise RuntimeError("this build of pdgpu needs a processor with AVX2 and FMA; build it with -DPDGPU_ARCH= for this one")
    try:
        return importlib.import_module(f"pdgpu.{module}")
    except ImportError as error:
        raise RuntimeError(f"device: {device!r} is not available: the module {module} cannot be loaded ({error})") from None


def thread_count(threads):
    """`threads` as given, or every core this process may use where it is 0.

    More than the machine could ever use is refused.
    """
    threads = integer("threads", threads, 0, MOST_THREADS)
    return threads or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else threads or os.cpu_count() or 1
