"""How long OpenMP's threads wait actively: a setting that GCC's runtime reads once, when it is loaded."""

from __future__ import annotations

import contextlib
import os

# GCC's default is to spin for milliseconds. A step has hundreds of short parallel loops, and next to another busy process each of them
# then waits for a thread that spins in vain. Measured on two cores, one iteration, alone / beside a second such process: default
# 1.8 ms / more than 300, 3000 turns 1.7 / more than 100, 2000 turns 1.7 / 11, 1000 turns 2.5 / 8.
SPIN_COUNT = "2000"


@contextlib.contextmanager
def short_spinning():
    """While this is open, an OpenMP runtime that gets loaded spins briefly, unless the user chose a policy of their own."""
    chosen = [name for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT") if name in os.environ]
    if not chosen:
        os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT
    try:
        yield
    finally:
        if not chosen:
            del os.environ["GOMP_SPINCOUNT"]
