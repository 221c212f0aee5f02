"""Which seconds a script reports, and of what: its runs follow PDGPU_DEVICE where it names no device."""

import time


def now(device):
    """s: on the CPU those of the processor, which other work on the machine disturbs least; a GPU's work is in those of the clock alone."""
    return time.process_time() if device == "cpu" else time.perf_counter()


def place(device):
    """What a run with one thread is on."""
    return "one core" if device == "cpu" else device
