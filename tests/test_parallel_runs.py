"""Independent runs side by side: processes that are forked, spawned or served, threads, and limits on both."""

import os
import resource
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import parallel_jobs
import pytest
import scenes

import pdgpu

JOBS = Path(parallel_jobs.__file__)
TIMEOUT = 120  # s: longer is a hang


def output_of(arguments, **options):
    """What a fresh interpreter prints; it and all its children are gone afterwards."""
    options["env"] = {**os.environ, "PYTHONPATH": str(JOBS.parent), **options.get("env", {})}
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **options
    )
    try:
        out, error = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, error = process.communicate()
        pytest.fail(f"hangs after {out!r}: {error}")
    finally:
        if process.poll() is None or sys.exc_info()[0]:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, (process.returncode, out, error)
    return out


needs_cholesky = pytest.mark.skipif(not pdgpu._host.HAS_CHOLMOD, reason="this build leaves the direct solver out")


@needs_cholesky
@pytest.mark.skipif(not pdgpu._host.HAS_GMP, reason="this build leaves the verifier out")
@pytest.mark.parametrize(
    ("method", "threads", "environment"),
    [
        ("fork", 2, {}),
        pytest.param("fork", 1, {"OMP_NUM_THREADS": "1"}, marks=pytest.mark.stress),
        pytest.param("spawn", 2, {}, marks=pytest.mark.stress),
        pytest.param("forkserver", 2, {}, marks=pytest.mark.stress),
    ],
    ids=["fork", "fork with one thread", "spawn", "forkserver"],
)
def test_a_pool_of_processes_gives_what_its_parent_gave(method, threads, environment):
    """If not, the first parallel sweep of a user hangs without end, or gives other numbers."""
    lines = output_of([str(JOBS), method, str(threads)], env=environment).splitlines()
    assert lines == [f"{name} same" for name in parallel_jobs.JOBS]


@needs_cholesky
@pytest.mark.skipif("PDGPU_SANITIZED" in os.environ, reason="the sanitizer's own allocator hangs in a child forked while threads allocate")
def test_a_process_forked_while_others_factorise_does_not_wait_for_them():
    """If not, a pool that grows during a run hangs: the child waits for a lock whose owner it does not have."""
    script = """
        import os, threading
        import numpy as np, parallel_jobs, pdgpu
        A = parallel_jobs.laplacian(12)
        b = np.ones(A.shape[0])
        def solve(): return pdgpu.linear.System(A, pdgpu.Direct()).solve(b).x.tobytes()
        alone, stop = solve(), threading.Event()
        def work():
            while not stop.is_set(): solve()
        workers = [threading.Thread(target=work, daemon=True) for _ in range(2)]
        for worker in workers: worker.start()
        for _ in range(20):
            child = os.fork()
            if child == 0: os._exit(solve() != alone)
            assert os.waitpid(child, 0)[1] == 0
        stop.set()
        for worker in workers: worker.join()
    """
    output_of(["-c", textwrap.dedent(script)])


@needs_cholesky
def test_eight_threads_solve_with_sparse_factors_of_their_own():
    """If not, a sweep over threads gives wrong numbers without a word: the BLAS beneath is not safe for several callers."""
    A = parallel_jobs.laplacian(12)
    n = A.shape[0]
    b = np.random.default_rng(0).standard_normal(n)

    def solutions():
        system = pdgpu.linear.System(A, pdgpu.Direct(), threads=1)
        results = []
        for k in range(25):
            system.add_diagonal(np.full(n, float(k % 5)))
            results.append(system.solve(b).x)
        return np.array(results)

    alone = solutions()
    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(solutions) for _ in range(8)]:
            np.testing.assert_array_equal(future.result(), alone)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.stress)])
def test_eight_threads_over_every_solver(dtype):
    """If not, runs that have nothing to do with each other disturb each other."""

    def run(name):
        solver = scenes.SOLVERS[name]
        scene, x = scenes.mixed(seed=1)
        sim = pdgpu.Simulation(scene, solver, dt=0.01, dtype=dtype)
        sim.set_state(positions=x)
        sim.step(2)
        return sim.positions

    def solve(name):
        return pdgpu.linear.solve(A, b, scenes.LINEAR_SOLVERS[name]).x

    A = parallel_jobs.laplacian(8)
    b = np.sin(np.arange(A.shape[0]))
    jobs = 2 * [(run, name) for name in scenes.SOLVERS] + [(solve, name) for name in scenes.LINEAR_SOLVERS]
    alone = {job: job[0](job[1]) for job in jobs}
    with ThreadPoolExecutor(8) as pool:
        for job, future in [(job, pool.submit(*job)) for job in jobs]:
            np.testing.assert_array_equal(future.result(), alone[job], err_msg=job[1])


@needs_cholesky
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_threads_are_started_where_there_is_work_for_them():
    """If not, a small problem is ten times as slow as on one thread, threads=1 takes four cores, or a large problem has one only."""
    script = """
        import os
        import parallel_jobs, pdgpu
        def started(run):
            before = len(os.listdir("/proc/self/task"))
            run()
            return len(os.listdir("/proc/self/task")) - before
        def small():
            for solver in (pdgpu.ProjectiveDynamics(), pdgpu.VertexBlockDescent(), pdgpu.QuasiNewton(), pdgpu.Newton(iterations=3)):
                scene = pdgpu.Scene()
                scene.add_shell(pdgpu.shapes.grid((1, 1), cells=(16, 16)), pdgpu.Spring(100.0), density=0.2, bending=1e-4).pin([0, 16])
                pdgpu.Simulation(scene, solver, dt=0.01, threads=3).step(2)
        print(started(small))
        print(started(lambda: parallel_jobs.step(pdgpu.Newton(iterations=2), "float64", 1)))
        print(started(lambda: parallel_jobs.step(pdgpu.VertexBlockDescent(), "float64", 3)))
        print(started(small))
    """
    # what has a team keeps it: the small problem that comes last must not end its threads
    # and the loops over meshes, which take no argument, have one thread here
    lines = output_of(["-c", textwrap.dedent(script)], env={"OMP_NUM_THREADS": "1"}).split()
    assert lines == ["0", "0", "2", "0"]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc, and a limit on address space that is kept")
@pytest.mark.skipif("PDGPU_SANITIZED" in os.environ, reason="the sanitizer needs terabytes of address space")
def test_fewer_threads_where_the_system_starts_no_more():
    """If not, threads=32 under a limit on processes or memory ends the process, with everything in the notebook."""
    script = """
        import resource
        import parallel_jobs, pdgpu
        alone = parallel_jobs.step(pdgpu.VertexBlockDescent(iterations=3), "float64", 1)
        with open("/proc/self/statm") as file: used = int(file.read().split()[0]) * resource.getpagesize()
        # the stacks of 32 threads take 256 MB
        resource.setrlimit(resource.RLIMIT_AS, (used + 120_000_000, resource.getrlimit(resource.RLIMIT_AS)[1]))
        assert parallel_jobs.step(pdgpu.VertexBlockDescent(iterations=3), "float64", 32) == alone
        print("done")
    """
    stack = resource.getrlimit(resource.RLIMIT_STACK)[0]
    if stack not in (-1, 8 << 20):
        pytest.skip("stacks of another size")
    assert output_of(["-c", textwrap.dedent(script)]) == "done\n"


@pytest.mark.skipif("PDGPU_SANITIZED" in os.environ, reason="the sanitizer's frames need a larger stack")
def test_contact_in_threads_with_small_stacks():
    """If not, a sweep over vertices in contact ends the process where threads have stacks below 2 MB, as in some containers."""
    script = """
        import pdgpu
        def positions(threads):
            scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
            for height in (0.0, 0.0015):
                sheet = pdgpu.shapes.grid((1, 1), cells=(30, 30))
                points = sheet.points + [0.01 * height / 0.0015, 0.0, height]
                scene.add_shell(pdgpu.Mesh(points, triangles=sheet.triangles), pdgpu.Spring(100.0), density=0.2).pin([0, 30])
            contact = pdgpu.BarrierContact(distance=2e-3)
            solver = pdgpu.VertexBlockDescent(iterations=3)
            sim = pdgpu.Simulation(scene, solver, dt=0.01, contact=contact, threads=threads, dtype="float64")
            sim.step()
            assert len(sim.contact_forces()) > 1000
            return sim.positions.tobytes()
        print(positions(2) == positions(1))
    """
    assert output_of(["-c", textwrap.dedent(script)], env={"OMP_STACKSIZE": "512k"}) == "True\n"
