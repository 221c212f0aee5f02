"""Arrays of indices that another thread writes to while they are used."""

import subprocess
import sys
import textwrap

import pytest

CALLS = {
    "ccd": ["ccd.earliest(x, x + 0.01, vertex_triangle=rows, threads=1)", "ccd.earliest(x, x + 0.01, edge_edge=rows, threads=1)"],
    "searches": ["geometry.find_intersections(x, triangles, threads=1)", "collision.BroadPhase(x, triangles, threads=1)"],
    "modules": [
        "_cpu_f64.BroadPhase(1, x, x0, pairs, many, tags[:0], tags[:0], tags, 1)",
        "_cpu_f64.Linear((starts, columns, values), None, 1, settings, 1)",
    ],
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
        from pdgpu import Jacobi, _cpu_f64, _host, ccd, collision, geometry
        from pdgpu.linear.linear_solvers import linear_settings

        sys.setswitchinterval(1e-5)
        random = np.random.default_rng(0)
        x = random.uniform(-1, 1, (1000, 3))
        rows = random.permuted(np.tile(np.arange(1000, dtype=np.int32), (40, 1)), axis=1).reshape(-1, 4)
        triangles = np.ascontiguousarray(rows[:300, :3])
        density = np.ones(len(rows))
        x0, pairs = np.zeros((0, 1), np.int32), np.zeros((0, 2), np.int32)
        many, tags = np.ascontiguousarray(rows[:, :3]), np.zeros(len(rows), np.int32)
        starts, columns = np.arange(100001, dtype=np.int32), np.arange(100000, dtype=np.int32)
        values, settings = np.ones(100000), linear_settings(Jacobi(), iterations=1)
        good = [array.copy() for array in (rows, triangles, many, columns)]
        over = threading.Event()

        def spoil():
            while not over.is_set():
                for array, values in zip((rows, triangles, many, columns), good):
                    array[:] = 2**30
                    array[:] = values

        other = threading.Thread(target=spoil)
        other.start()
        for call in {calls!r}:
            print(call, flush=True)
            end = time.perf_counter() + 0.25
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
