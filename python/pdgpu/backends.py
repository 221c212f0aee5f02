"""Which compiled module serves a device and a precision, loaded when first used."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from functools import cache

import numpy as np

from pdgpu import _host
from pdgpu.arguments import integer

DEVICES = ("cpu", "cuda")
PRECISIONS = {"float32": "f32", "float64": "f64"}
# beyond this a number is a mistake; what the system does not start is not asked for (csrc/threads/team.c)
MOST_THREADS = max(64, 2 * (os.cpu_count() or 1))


def device_parts(device):
    """(one of DEVICES, number of the device among those): ("cuda", 1) of "cuda:1"; "cuda" is "cuda:0"."""
    allowed = f"{', '.join(map(repr, DEVICES))} or one of several GPUs such as 'cuda:1'"
    if not isinstance(device, str):
        raise TypeError(f"device: expected one of {allowed}, got {device!r}")
    if match := re.fullmatch(r"cuda:(0|[1-9][0-9]{0,3})", device):
        return "cuda", int(match[1])
    if device not in DEVICES:
        raise ValueError(f"device: expected one of {allowed}, got {device!r}")
    return device, 0


def backend(device="cpu", dtype="float64"):
    """The module for a device ("cpu", "cuda", "cuda:1") and a dtype ("float32", "float64").

    Raises
    ------
    ValueError
        An unknown device or dtype.
    RuntimeError
        A device that is not there: this build left it out, or its driver or libraries are missing.
    """
    kind, number = device_parts(device)
    try:
        found = None if dtype is None else np.dtype(dtype)  # NumPy takes None for float64
    except (TypeError, ValueError):
        found = None
    if found is None or not found.isnative or found.kind != "f" or found.itemsize not in (4, 8):
        raise ValueError(f"dtype: expected 'float32' or 'float64', got {dtype!r}")
    loaded = _loaded(kind, found)
    reason = loaded.unavailable()  # asked every time: a process may fork, and a device go
    if reason:
        raise RuntimeError(f"device: {device!r} is not available: no device was found, {reason}")
    if number == 0:
        return loaded
    count = len(loaded.devices())
    if number >= count:
        there = "there is one device, 'cuda:0'" if count == 1 else f"there are {count} devices, 'cuda:0' to 'cuda:{count - 1}'"
        raise RuntimeError(f"device: {device!r} is not available: {there}")
    return _another(kind, found, number)


def direct_library(device):
    """What factorises the system of a global step on "cpu" or "cuda": "CHOLMOD", or on a GPU cuDSS and its version where it is installed.

    "" where the build has nothing for it, None where the device cannot be used.
    """
    try:
        own = backend(device, "float64").direct_library()
    except RuntimeError:
        return None
    return own or ("CHOLMOD" if _host.HAS_CHOLMOD else "")


@cache
def _loaded(device, dtype):
    module = f"_{device}_{PRECISIONS[dtype.name]}"
    if not _host.cpu_supports_backend():
        raise RuntimeError("this build of pdgpu needs a processor with AVX2 and FMA; build it with -DPDGPU_ARCH= for this one")
    try:
        return importlib.import_module(f"pdgpu.{module}")
    except ImportError as error:
        raise RuntimeError(f"device: {device!r} is not available: the module {module} cannot be loaded ({error})") from None


@cache
def _another(device, dtype, number):
    """A second instance of a module, whose objects and batches are of another device: the objects of one are not taken by the other."""
    spec = importlib.util.find_spec(f"pdgpu._{device}_{PRECISIONS[dtype.name]}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.use_device(number)
    return module


def thread_count(threads):
    """`threads` as given, or every core this process may use where it is 0.

    More than the machine could ever use is refused.
    """
    threads = integer("threads", threads, 0, MOST_THREADS)
    return threads or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else threads or os.cpu_count() or 1
