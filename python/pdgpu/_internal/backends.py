"""The compiled module of a device and a precision, loaded at first use, and the defaults of both."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from functools import cache

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import integer

DEVICES = ("cpu", "cuda")
PRECISIONS = {"float32": "f32", "float64": "f64"}
DEVICE_VARIABLE, DTYPE_VARIABLE = "PDGPU_DEVICE", "PDGPU_DTYPE"
# a larger number is a mistake; the system limits the rest (csrc/threads/team.c)
MOST_THREADS = max(64, 2 * (os.cpu_count() or 1))


class _FromEnvironment(str):
    """A device from PDGPU_DEVICE. Error messages show its repr, and so the origin of the value."""

    def __repr__(self):
        return f"{str(self)!r} (from {DEVICE_VARIABLE})"


def device_or_default(device):
    """Return the device; for None the value of PDGPU_DEVICE, or "cpu" if the variable is not set or empty.

    Public functions with a ``device=`` call it. Calls within the package are explicit, so that the variable changes no reference.
    """
    if device is not None:
        return device
    value = os.environ.get(DEVICE_VARIABLE)
    if not value:
        return "cpu"
    device_parts(value, DEVICE_VARIABLE)
    return _FromEnvironment(value)


def dtype_or_default(dtype):
    """Return the dtype; for None the value of PDGPU_DTYPE, or "float64" if the variable is not set or empty."""
    if dtype is not None:
        return dtype
    value = os.environ.get(DTYPE_VARIABLE) or "float64"
    if value not in PRECISIONS:
        raise ValueError(f"{DTYPE_VARIABLE}: expected {' or '.join(map(repr, PRECISIONS))}, got {value!r}")
    return value


def device_parts(device, name="device"):
    """Return (one of DEVICES, number of the device among those): ("cuda", 1) for "cuda:1"; "cuda" is "cuda:0"."""
    allowed = f"{', '.join(map(repr, DEVICES))} or one of several GPUs such as 'cuda:1'"
    if not isinstance(device, str):
        raise TypeError(f"{name}: expected one of {allowed}, got {device!r}")
    if match := re.fullmatch(r"cuda:(0|[1-9][0-9]{0,3})", device):
        return "cuda", int(match[1])
    if device not in DEVICES:
        raise ValueError(f"{name}: expected one of {allowed}, got {device!r}")
    return str(device), 0


def backend(device, dtype):
    """Return the module for a device ("cpu", "cuda", "cuda:1") and a dtype ("float32", "float64").

    Raises
    ------
    ValueError
        An unknown device or dtype.
    RuntimeError
        A device that is not available: this build does not contain it, or its driver or libraries are missing. A dtype that this build does
        not contain.
    """
    kind, number = device_parts(device)
    try:
        found = None if dtype is None else np.dtype(dtype)  # NumPy reads None as float64
    except (TypeError, ValueError):
        found = None
    if found is None or not found.isnative or found.kind != "f" or found.itemsize not in (4, 8):
        raise ValueError(f"dtype: expected 'float32' or 'float64', got {dtype!r}")
    try:
        loaded = _loaded(kind, found)
    except ImportError as error:
        module = _module_name(kind, found)
        if kind == "cpu" and importlib.util.find_spec(f"pdgpu.{module}") is None:
            raise RuntimeError(
                f"dtype: {found.name!r} is not in this build of pdgpu, which has no module {module}; build it too with `make build`, or "
                "with -DPDGPU_PRECISIONS='f32;f64'"
            ) from None
        raise RuntimeError(f"device: {device!r} is not available: the module {module} cannot be loaded ({error})") from None
    reason = loaded.unavailable()  # tested at every call: a process may fork, and a device may become unavailable
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
    """Return the library that factorises the system of a global step on "cpu" or "cuda": "CHOLMOD", or on a GPU cuDSS and its version if
    installed.

    "" if the build has no such library, None if the device cannot be used.
    """
    try:
        own = backend(device, "float64").direct_library()
    except RuntimeError:
        return None
    return own or ("CHOLMOD" if _host.HAS_CHOLMOD else "")


def _module_name(device, dtype):
    return f"_{device}_{PRECISIONS[dtype.name]}"


@cache
def _loaded(device, dtype):
    if missing := _host.missing_instructions():
        raise RuntimeError(
            f"this build of pdgpu is compiled for PDGPU_ARCH={_host.CPU_ARCH}, and this processor lacks {', '.join(missing)}; build it for "
            "this processor with: pip install . -C cmake.define.PDGPU_ARCH=native"
        )
    return importlib.import_module(f"pdgpu.{_module_name(device, dtype)}")


@cache
def _another(device, dtype, number):
    """Return a second instance of a module, whose objects and batches are on another device: each instance rejects objects of the other."""
    spec = importlib.util.find_spec(f"pdgpu.{_module_name(device, dtype)}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.use_device(number)
    return module


def thread_count(threads):
    """Return `threads`, or for 0 every core that this process may use.

    More threads than the machine could ever use are an error.
    """
    threads = integer("threads", threads, 0, MOST_THREADS)
    return threads or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else threads or os.cpu_count() or 1
