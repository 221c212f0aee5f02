"""Simulations come and go, threads share them, Ctrl-C stops them."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time

import inputs
import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu.simulation.time_step import take_step
from pdgpu.solvers.solver_support import settings_of


def resident():
    """Resident memory of this process, bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def one_life(solver):
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.shapes.beam((1, 1, 1), cells=(4, 4, 4)), pdgpu.ARAP(1e4), density=1.0).pin([0])
    sim = pdgpu.Simulation(scene, solver, threads=1)
    sim.step(record="positions")
    sim.hessian()
    sim.system_matrix()
    return sim.positions


resident_means_something = pytest.mark.skipif(
    "PDGPU_SANITIZED" in os.environ, reason="the sanitizer keeps freed memory: resident memory says nothing there"
)


@resident_means_something
def test_hundreds_of_lives_leak_nothing():
    """If not, a sweep over parameters runs out of memory."""
    solvers = list(scenes.SOLVERS.values())
    for k in range(100):
        one_life(solvers[k % 4])
    gc.collect()
    before = resident()
    for k in range(200):
        one_life(solvers[k % 4])
    gc.collect()
    # one leaked simulation is about 300 kB, so 200 are 60 MB
    assert resident() - before < 5e6


def test_failed_constructions_leak_nothing():
    """If not, every caught error costs memory."""
    module = __import__("pdgpu._cpu_f64", fromlist=["Simulation"])
    masses, fixed = np.ones(1000), np.zeros(1000, np.uint8)
    vertices, rest, parameters = np.zeros((500, 4), np.int32), np.zeros((500, 9)), np.zeros((500, 1))
    counts = [sys.getrefcount(array) for array in (masses, fixed, vertices, rest, parameters)]
    vertices[499, 3] = 5000
    kind, settings = module.KINDS["arap_tet"][0], settings_of(pdgpu.Newton(), "cpu")
    for _ in range(200):
        with pytest.raises(ValueError, match="vertices: index 5000 at row 499 is out of range for 1000 vertices"):
            module.Simulation(masses, fixed, [(kind, vertices, rest, parameters, None)], 0.1, "Newton", settings)
    assert counts == [sys.getrefcount(array) for array in (masses, fixed, vertices, rest, parameters)]


def test_two_simulations_in_two_threads():
    """If not, simulations share state behind the user's back."""
    alone = one_life(scenes.DIRECT)
    results = [None, None]

    def run(k):
        for _ in range(20):
            results[k] = one_life(scenes.DIRECT)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(results[0], alone)
    np.testing.assert_array_equal(results[1], alone)


def long_simulation():
    points, tets = inputs.kuhn_grid(20, 10, 10, 0.1)
    scene, _ = scenes.bar((points, tets), 1e5)
    solver = pdgpu.ProjectiveDynamics(iterations=200000, linear=pdgpu.Jacobi(weight=0.4), initialization="previous")
    sim = pdgpu.Simulation(scene, solver, threads=1)
    sim.set_state(positions=points * [1.5, 1.0, 1.0])
    return sim


def test_one_simulation_in_two_threads_is_refused_and_the_interpreter_stays_free():
    """If not, two threads corrupt a state, or a step blocks every other thread."""
    sim = long_simulation()
    before = sim.positions
    seen = {}

    def observer(row):
        if row["iteration"] == 0:
            seen["started"] = time.perf_counter()
        if seen.get("stop"):
            raise StopIteration("enough")

    def run():
        try:
            take_step(sim._core, False, observer=observer)
        except StopIteration as error:
            seen["error"] = error

    thread = threading.Thread(target=run)
    thread.start()
    while "started" not in seen:
        time.sleep(0.01)
    with pytest.raises(RuntimeError, match="busy"):
        for _ in range(1000):
            _ = sim.positions
    with pytest.raises(RuntimeError, match="busy"):
        sim.step()
    seen["stop"] = True
    thread.join(timeout=30)
    assert not thread.is_alive() and str(seen["error"]) == "enough"
    np.testing.assert_array_equal(sim.positions, before)


def test_an_observer_that_asks_its_own_simulation_gets_an_error():
    """If not, it waits for itself without end."""
    sim = long_simulation()
    with pytest.raises(RuntimeError, match="busy"):
        take_step(sim._core, False, observer=lambda *_: sim.positions)


def test_control_c_stops_between_iterations():
    """If not, a wrong iteration count can only be killed, with everything in the notebook."""
    script = f"""
        import faulthandler, os, signal, sys, threading, time
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import test_lifecycle
        # a shell starts what it puts in the background with SIGINT ignored, and Python then leaves it so
        signal.signal(signal.SIGINT, signal.default_int_handler)
        faulthandler.dump_traceback_later(60, exit=True)
        sim = test_lifecycle.long_simulation()
        before = sim.positions
        start = time.perf_counter()
        try:
            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            sim.step()
        except KeyboardInterrupt:
            assert time.perf_counter() - start < 10
            assert (sim.positions == before).all() and sim.time == 0.0
            sim._core.backend.gradient(None)
            print("stopped")
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120)
    assert result.stdout.strip() == "stopped", result.stderr


def test_time_and_state_agree_where_control_c_falls_between_them():
    """If not, a run interrupted after a step has moved, but not in time, and scripted pins lag from then on."""
    scene, x = scenes.mixed()
    sim = pdgpu.Simulation(scene, scenes.DIRECT, dt=0.01)
    sim._core.backend.step(None, None, None, None, False)  # and nothing of Python after it
    assert sim.time == 0.01
    sim.set_state(positions=1e200 * x)
    assert sim._core.backend.step(None, None, None, None, True)["status"] == "diverged" and sim.time == 0.01
    with pytest.raises(pdgpu.DivergenceError):
        sim.step()
    assert sim.time == 0.01


@resident_means_something
def test_a_step_allocates_nothing_that_grows():
    """If not, long runs slow down or die."""
    scene, x = scenes.mixed()
    sim = pdgpu.Simulation(scene, scenes.DIRECT, threads=1)
    sim.set_state(positions=x)
    sim.step(50)
    before = resident()
    sim.step(1000)
    assert resident() - before < 2e6
