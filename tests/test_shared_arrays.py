"""Arrays of indices that another thread writes to while they are used."""

import subprocess
import sys
import textwrap

import pytest

CALLS = {
    "ccd": ["ccd.earliest(x, x + 0.01, vertex_triangle=rows, threads=1)", "ccd.earliest(x, x + 0.01, edge_edge=rows, threads=1)"],
    "searches": ["geometry.find_intersections(x, triangles, threads=1)", "collision.BroadPhase(x, triangles, threads=1)"],
    "meshes": [
        "_host.edges(rows, 1000)",
        "_host.measures(x, rows)",
        "_host.lumped_masses(x, rows, density)",
        "_host.orient_tets(x, rows)",
        "_host.surface(rows, 1000)",
        "_host.colouring(rows, 1000)",
    ],
}


@pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS)
def test_indices_that_change_during_a_call(calls):
    """If one were read after it was checked, a program with two threads would end in a segmentation fault."""
    script = f"""
        import sys, threading, time
        import numpy as np
        from pdgpu import _host, ccd, collision, geometry

        sys.setswitchinterval(1e-5)
        random = np.random.default_rng(0)
        x = random.uniform(-1, 1, (1000, 3))
        rows = random.permuted(np.tile(np.arange(1000, dtype=np.int32), (40, 1)), axis=1).reshape(-1, 4)
        triangles = np.ascontiguousarray(rows[:300, :3])
        density = np.ones(len(rows))
        good = [array.copy() for array in (rows, triangles)]
        over = threading.Event()

        def spoil():
            while not over.is_set():
                for array, values in zip((rows, triangles), good):
                    array[:] = 2**30
                    array[:] = values

        other = threading.Thread(target=spoil)
        other.start()
        for call in {calls!r}:
            print(call, flush=True)
            end = time.perf_counter() + 0.5
            while time.perf_counter() < end:
                try:
                    eval(call)
                except ValueError:  # it found an index that is out of range
                    pass
        over.set()
        other.join()
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, f"ended with {result.returncode} in {result.stdout.splitlines()[-1:]}: {result.stderr}"
