"""How long OpenMP's threads wait actively: a setting that GCC's runtime reads once, when it is loaded."""

from __future__ import annotations

import contextlib
import os

# GCC's default is to spin for milliseconds. A step has hundreds of short parallel loops, and on a machine that runs anything else beside
# it every one of them then waits for a thread that spins in vain: one iteration took 40 times as long next to a second
# process. A thousand turns, a few microseconds, cost nothing measurable on an idle machine.
SPIN_COUNT = "1000"


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
