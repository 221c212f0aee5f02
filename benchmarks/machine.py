"""What a result needs beside its figures: the machine, the date, the commit."""

import contextlib
import csv
import datetime
import itertools
import os
import platform
import subprocess

import numpy as np

import pdgpu
from pdgpu._internal.backends import DEVICE_VARIABLE, DTYPE_VARIABLE

TRIAD_NUMBERS = 2**26


def describe():
    """Lines for the head of a result file."""
    processor = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            processor = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return [
        f"pdgpu {pdgpu.__version__}, commit {_commit()}",
        f"{datetime.date.today().isoformat()}, {processor}, {os.cpu_count()} cores, Python {platform.python_version()}",
        # the defaults of what a benchmark gives no device= or dtype=
        *(f"{name}={os.environ[name]}" for name in (DEVICE_VARIABLE, DTYPE_VARIABLE) if os.environ.get(name)),
    ]


def _commit():
    """PDGPU_COMMIT says it where the tree came without .git (scripts/gpu)."""
    if os.environ.get("PDGPU_COMMIT"):
        return os.environ["PDGPU_COMMIT"]
    try:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        if subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True).stdout.strip():
            commit += " with local changes"
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit


def write_table(path, header, rows, notes=()):
    """Prints a table and writes it as CSV, with the machine and the notes in comment lines.

    Each row is out, here and in the file, as soon as `rows` yields it, so that what is measured is kept where the next one fails.
    """
    widths = [0] * len(header)
    with contextlib.nullcontext() if path is None else open(path, "w", newline="") as file:
        for line in [*describe(), *notes]:
            print(line)
            if file:
                file.write(f"# {line}\n")
        for row in itertools.chain([header], rows):
            text = [str(cell) for cell in row]
            widths = [max(width, len(cell)) for width, cell in zip(widths, text, strict=True)]
            print("  ".join(cell.rjust(width) for cell, width in zip(text, widths, strict=True)), flush=True)
            if file:
                csv.writer(file).writerow(text)
                file.flush()


def compile_triad(folder):
    """The yardstick of memory bandwidth, compiled like the solvers: for processors with AVX2."""
    program = os.path.join(folder, "triad")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "triad.c")
    architecture = ["-march=x86-64-v3"] if platform.machine() in ("x86_64", "AMD64") else []
    subprocess.run([os.environ.get("CC", "cc"), "-O3", "-std=c11", "-fopenmp", *architecture, source, "-o", program], check=True)
    return program


def triad_seconds(program, n, dtype, threads):
    """Seconds of a = b + s c per n numbers, over arrays that no cache holds."""
    command = [program, str(np.dtype(dtype).itemsize), str(TRIAD_NUMBERS), str(threads)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) * n / TRIAD_NUMBERS
