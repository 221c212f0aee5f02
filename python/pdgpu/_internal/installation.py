"""The installation, for reports: commit, licence, system, versions, modules, BLAS, threads."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
from typing import TYPE_CHECKING

from pdgpu import _host
from pdgpu._internal.backends import DEVICE_VARIABLE, DEVICES, DTYPE_VARIABLE, PRECISIONS, direct_library, thread_count

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["described_installation"]

PACKAGES = ("numpy", "scipy", "meshio", "matplotlib", "pandas")


def described_installation(version: str, folder: str) -> Iterator[str]:
    """Return the lines of ``python -m pdgpu info``."""
    yield f"pdgpu {version}, {folder}"
    yield f"commit: {_host.COMMIT}"
    yield f"licence of this build: {_licence()}"
    yield f"system: {_system()}"
    yield f"processor: {_processor()}, {os.cpu_count()} logical cores"
    yield f"Python {platform.python_version()}, {', '.join(_versions())}"
    for device in DEVICES:
        for short in PRECISIONS.values():
            yield _module(f"_{device}_{short}")
    yield f"direct solver: {'CHOLMOD' if _host.HAS_CHOLMOD else 'left out of this build'}"
    if resident := direct_library("cuda"):
        yield f"direct solver on 'cuda': {resident}"
    yield f"exact arithmetic: {'GMP' if _host.HAS_GMP else 'left out of this build'}"
    yield f"BLAS in this process: {', '.join(_blas()) or 'none found'}"
    yield f"threads: {thread_count(0)}"
    for variable in (DEVICE_VARIABLE, DTYPE_VARIABLE):
        if variable in os.environ:
            yield f"{variable}: {os.environ[variable]!r}"


def _licence():
    if _host.HAS_CHOLMOD:
        return "GPL-2.0-or-later as a whole, since it links CHOLMOD's supernodal module; the source of pdgpu is Apache-2.0"
    return "Apache-2.0"


def _system():
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = platform.system()
    return f"{name}, {platform.system()} {platform.release()}, {platform.machine()}"


def _processor():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def _versions():
    for name in PACKAGES:
        try:
            yield f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            yield f"no {name}"


def _module(name):
    try:
        module = importlib.import_module(f"pdgpu.{name}")
    except ImportError as error:
        return f"{name}: not available ({error})"
    devices, versions = ", ".join(module.devices()), module.versions()
    return f"{name}: {devices or f'built, but {module.unavailable()}'}{f' ({versions})' if versions else ''}"


def _blas():
    """Return the shared BLAS libraries in this process; the reader sees which one CHOLMOD would use."""
    try:
        with open("/proc/self/maps") as file:
            paths = {line.split()[-1] for line in file if "/" in line}
    except OSError:
        return []
    return sorted(
        path
        for path in paths
        if re.search(r"lib(blas|openblas|mkl|blis|scipy_openblas)[^/]*$", os.path.realpath(path)) or "/libblas" in path
    )
