"""The spinning time of OpenMP's threads: a setting that GCC's runtime reads once, when it is loaded."""

from __future__ import annotations

import contextlib
import os

# GCC's default is to spin for milliseconds. A step has hundreds of short parallel loops. Next to another busy process each of them then
# waits for a thread that spins in vain, which may slow an iteration down a hundredfold; fewer turns slow down a process on an idle machine.
SPIN_COUNT = "2000"


@contextlib.contextmanager
def short_spinning():
    """A context in which a newly loaded OpenMP runtime spins briefly, unless the user has chosen a policy."""
    chosen = [name for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT") if name in os.environ]
    if not chosen:
        os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT
    try:
        yield
    finally:
        if not chosen:
            del os.environ["GOMP_SPINCOUNT"]
