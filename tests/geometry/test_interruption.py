"""Ctrl-C stops the verifier and the distances to surfaces, which may run for minutes."""

import os
import subprocess
import sys
import textwrap

import pytest

# each would run for tens of seconds or more
COMPUTATIONS = {
    "find_intersections": "geometry.find_intersections(soup, np.arange(len(soup), dtype=np.int32).reshape(-1, 3), threads=threads)",
    "certify": "pdgpu.certify([soup, soup[::-1]], np.arange(len(soup), dtype=np.int32).reshape(-1, 3), gap=False, threads=threads)",
    "separation": "_host.find_approaches(soup, soup[::-1].copy(), *[np.arange(len(soup), dtype=np.int32).reshape(-1, 2)] * 2, "
    "np.zeros(len(soup) // 2), 0.01, np.zeros(len(soup), np.uint8), True, threads)",
    "contact_times": "_host.contact_times(pairs, 2)",
    "from_mesh": "pdgpu.SignedDistanceField.from_mesh(ball, spacing=0.006, threads=threads)",
    "query": "surface.query(points, threads=threads)",
}


@pytest.mark.parametrize(("name", "threads"), [("find_intersections", 1), *((name, 2) for name in COMPUTATIONS)])
def test_control_c_stops_a_long_computation(name, threads):
    """If not, a mesh that is too large or tangled can only be killed, with everything in the notebook."""
    script = f"""
        import faulthandler, os, signal, threading, time
        import numpy as np
        import pdgpu
        from pdgpu import _host, geometry, shapes
        # a shell starts what it puts in the background with SIGINT ignored, and Python then leaves it so
        signal.signal(signal.SIGINT, signal.default_int_handler)
        faulthandler.dump_traceback_later(100, exit=True)
        threads = {threads}
        random = np.random.default_rng(0)
        soup, pairs, points = (random.normal(size=size) for size in ((60000, 3), (3 * 10**5, 8, 3), (4 * 10**6, 3)))
        ball, surface = shapes.sphere(1.0, 4), pdgpu.TriangleMesh(shapes.sphere(1.0, 5))
        try:
            threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            start = time.perf_counter()
            {COMPUTATIONS[name]}
        except KeyboardInterrupt:
            assert time.perf_counter() - start < 20
            assert geometry.find_intersections(soup[:6], [[0, 1, 2], [3, 4, 5]]) is not None
            print("stopped")
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=200, env=environment)
    assert result.stdout.strip() == "stopped", result.stdout + result.stderr
