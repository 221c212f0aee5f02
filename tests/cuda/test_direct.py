"""The direct solver on CUDA: by cuDSS where that is installed, by the host's factor where it is not; on the stand-in by one of cuDSS."""

import importlib.util
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import scenes
import scipy.sparse as sparse
from device_parity import steps_on_both
from on_host_counts import calls_of_the_runtime
from projective_run import projective_case

import pdgpu
from pdgpu._internal.backends import direct_library

pytestmark = pytest.mark.gpu
HERE = pathlib.Path(__file__).parent


def matrix(n=60):
    rng = np.random.default_rng(n)
    i, j = rng.integers(0, n, (2, 3 * n))
    w = sparse.coo_array((rng.uniform(0.2, 1.0, len(i)), (i, j)), shape=(n, n)).tocsr()
    w = w + w.T
    return sparse.csr_array(sparse.diags_array(w.sum(axis=1) + 0.3) - w)


@pytest.mark.parametrize("columns", [1, 3, 5])
def test_as_the_host(columns, dtype, resident):
    """If not, the factor on the device is of another matrix, or its right-hand sides are mixed up."""
    A = matrix()
    b = np.random.default_rng(0).normal(size=(A.shape[0], columns)).astype(dtype)
    found = pdgpu.linear.System(A, pdgpu.Direct(), columns=columns, device="cuda", dtype=dtype).solve(b).x
    expected = np.linalg.solve(A.toarray(), b.astype(np.float64))
    np.testing.assert_allclose(found, expected, atol=1e-11 if dtype == "float64" else 2e-5)


def test_with_another_diagonal(dtype, resident):
    """If not, a factorisation with other values is that of the first ones, or the analysis is made again."""
    A = matrix()
    b = np.random.default_rng(1).normal(size=(A.shape[0], 3)).astype(dtype)
    system = pdgpu.linear.System(A, pdgpu.Direct(), columns=3, device="cuda", dtype=dtype)
    system.solve(b)
    made = system._core.counts()["allocations"]
    for added in (2.0, 0.5):
        delta = np.zeros(len(b))
        delta[::7] = added
        system.add_diagonal(delta)
        expected = np.linalg.solve(A.toarray() + np.diag(delta), b.astype(np.float64))
        np.testing.assert_allclose(system.solve(b).x, expected, atol=1e-11 if dtype == "float64" else 2e-5)
    assert system._core.counts()["allocations"] == made + 1  # room for the diagonal that is added


def moved(device, dtype, iterations=10):
    scene, x = scenes.mixed(damping=0.01)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=iterations), device=device, dtype=dtype)
    sim.set_state(positions=x)
    sim.step()
    return sim


def test_steps_of_projective_dynamics(dtype, resident):
    """If not, vertices that are held move, or the global step is of another system."""
    cuda, cpu = moved("cuda", dtype), moved("cpu", "float64")
    scale = np.ptp(cpu.positions)
    np.testing.assert_allclose(cuda.positions, cpu.positions, atol=(1e-10 if dtype == "float64" else 1e-4) * scale)


def test_a_global_step_waits_for_nothing(dtype, on_host, monkeypatch):
    """If not, the residual still goes to the host and the answer back."""
    if not on_host:
        pytest.skip("whether there is a library is chosen in the stand-in alone")
    waits = {}
    for library in ("off", "stand-in"):
        monkeypatch.setenv("PDGPU_CUDSS", library)
        sim = moved("cuda", dtype)
        before = sim._core.backend.counts(), [calls_of_the_runtime(dtype, f"copies {way} the host") for way in ("from", "to")]
        sim.step()
        after = sim._core.backend.counts(), [calls_of_the_runtime(dtype, f"copies {way} the host") for way in ("from", "to")]
        waits[library] = after[0]["waits"] - before[0]["waits"], *(b - a for a, b in zip(before[1], after[1], strict=True))
        assert after[0]["allocations"] == before[0]["allocations"]
    # ten iterations: a residual there, and a direction back
    assert np.subtract(waits["off"], waits["stand-in"]).tolist() == [20, 10, 10]


@pytest.mark.parametrize("hold", ["line", "plane", "axis"])
def test_held_on_lines_and_in_planes(hold, dtype, resident):
    """If not, what a vertex may go along is forgotten on the device, or read of another vertex."""
    held = {"line": {"line": (1.0, 2.0, -0.5)}, "plane": {"plane": (1.0, 2.0, -0.5)}, "axis": {"plane": (0.0, 0.0, 1.0)}}[hold]
    found = []
    for device in ("cuda", "cpu"):
        beam = pdgpu.shapes.beam((1.0, 0.2, 0.2), cells=(5, 1, 1))
        scene, body = scenes.bar((beam.points, beam.tets), 1e4, gravity=(0.0, -9.81, 1.0))
        body.slide(lambda points: points[:, 0] > 0.9, **held)
        sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=5), device=device, dtype=dtype)
        sim.step(2)
        found.append(sim.positions)
    np.testing.assert_allclose(*found, atol=1e-10 if dtype == "float64" else 1e-5)


def test_blocks_of_contact(dtype, resident):
    """If not, the three unknowns of a vertex in contact are solved for as those of three vertices."""
    case = projective_case("thrown ball", inner=5, blocks=True)
    cpu, _ = steps_on_both(case, pdgpu.ProjectiveDynamics(iterations=10), dtype)
    assert cpu.last_step["active_contacts"][-1] > 10


def test_errors_by_name(dtype, on_host, monkeypatch):
    """If not, a factor that does not fit reads like a GPU that has died."""
    if not on_host:
        pytest.skip("errors are provoked in the stand-in for a device only")
    monkeypatch.setenv("PDGPU_CUDSS", "stand-in")
    b = np.ones((60, 1), dtype)
    for code, error, name in (
        (2, MemoryError, "ALLOC_FAILED"),
        (5, RuntimeError, "EXECUTION_FAILED"),
        (9, RuntimeError, "an unknown status"),
    ):
        monkeypatch.setenv("PD_ON_HOST_FAILS", f"cudssExecute {code}")
        with pytest.raises(error, match=f"cuDSS: the analysis failed with {name}"):
            pdgpu.linear.System(matrix(), pdgpu.Direct(), columns=1, device="cuda", dtype=dtype).solve(b)
    monkeypatch.delenv("PD_ON_HOST_FAILS")
    system = pdgpu.linear.System(matrix(), pdgpu.Direct(), columns=1, device="cuda", dtype=dtype)
    monkeypatch.setenv("PD_ON_HOST_FAILS", "cudssExecute 6")
    with pytest.raises(RuntimeError, match=r"cuDSS: the \w+ failed with INTERNAL_ERROR"):
        system.solve(b)
    monkeypatch.delenv("PD_ON_HOST_FAILS")
    np.testing.assert_allclose(system.solve(b).x, np.linalg.solve(matrix().toarray(), b.astype(float)), rtol=1e-4)


def test_not_positive_definite(dtype, resident):
    """If not, a body that nothing holds flies off without a warning that names it."""
    indefinite = sparse.csr_array(matrix() - 0.5 * sparse.eye_array(60))
    assert np.linalg.eigvalsh(indefinite.toarray()).min() < 0.0
    said = []
    for device in ("cpu", "cuda"):
        with pytest.raises(ValueError, match=r"A: .*not positive definite at row \d+") as caught:
            pdgpu.linear.System(indefinite, pdgpu.Direct(), columns=1, device=device, dtype=dtype)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_what_the_library_is_not_sure_of_is_the_hosts(dtype, on_host, monkeypatch):
    """If not, a matrix in which the library replaced pivots is solved as if it were the one that was given."""
    if not on_host:
        pytest.skip("whether there is a library is chosen in the stand-in alone")
    found = {}
    for library, plan in (("off", ""), ("stand-in", "cudssPivots 1")):
        monkeypatch.setenv("PDGPU_CUDSS", library)
        monkeypatch.setenv("PD_ON_HOST_FAILS", plan)
        linear = pdgpu.SchurDirect(lambda points: points[:, 0] > 0.5)
        sims = [
            moved("cuda", dtype),
            pdgpu.Simulation(scenes.mixed()[0], pdgpu.ProjectiveDynamics(iterations=5, linear=linear), device="cuda", dtype=dtype),
        ]
        for sim in sims:
            sim.step()
        found[library] = [sim.positions for sim in sims]
    np.testing.assert_array_equal(found["stand-in"], found["off"])


def test_it_says_which(on_host, monkeypatch):
    """If not, a reader cannot know whether his factor is the host's."""
    if not on_host:
        pytest.skip("whether there is a library is chosen in the stand-in alone")
    for library, name in (("off", "CHOLMOD"), ("stand-in", "cuDSS 1.0.0")):
        monkeypatch.setenv("PDGPU_CUDSS", library)
        assert direct_library("cuda") == name
        assert pdgpu.capabilities()["ProjectiveDynamics"]["direct"] == {"cpu": "CHOLMOD", "cuda": name}
        assert pdgpu.capabilities()["Newton"]["direct"] == {"cpu": "CHOLMOD", "cuda": name}
        assert pdgpu.capabilities()["XPBD"]["direct"] == {}


def test_the_header_of_the_library():
    """If not, cuDSS is called with arguments or numbers that are not its own."""
    compiler, nvcc = shutil.which("g++") or shutil.which("c++"), shutil.which("nvcc")
    found = [folder for name in ("cu13", "cu12") for folder in include_folders(name) if (folder / "cudss.h").exists()]
    if not (compiler and nvcc and found):
        pytest.skip("no C++ compiler, no CUDA toolkit or no header of cuDSS (nvidia-cudss-cu13): its declarations are not checked")
    toolkit = pathlib.Path(nvcc).resolve().parent.parent / "include"
    csrc = HERE.parent.parent / "csrc"
    command = [compiler, "-std=c++17", "-fsyntax-only", f"-I{csrc}", f"-I{found[0]}", f"-I{toolkit}", HERE / "cudss_header.cpp"]
    subprocess.run(command, check=True)


def include_folders(name):
    spec = importlib.util.find_spec("nvidia")
    return [pathlib.Path(part) / name / "include" for part in (spec.submodule_search_locations if spec else [])]
