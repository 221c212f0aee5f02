"""The CUDA backend against the CPU in float64, and against itself."""

import dataclasses
import importlib

import inputs
import numpy as np
import pytest
import scenes
from element_cases import ORTHOTROPIC, WOVEN

import pdgpu
from pdgpu._internal.backends import backend
from pdgpu.materials.joint_elements import Slide, Swing

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


def tolerance(dtype):
    """Relative, per iteration; in float32 against the floors of correction-form solves."""
    return 1e-10 if dtype == "float64" else 2e-4


EASY = {
    "spring": (pdgpu.Spring(30.0), 2),
    "arap_tet": (pdgpu.ARAP(50.0), 4),
    "arap_triangle": (pdgpu.ARAP(50.0), 3),
    "bending": (pdgpu.Bending(2.0), 4),
    "rod_bending": (pdgpu.RodBending(2.0), 3),
    "volume": (pdgpu.Volume(40.0), 4),
    "area": (pdgpu.Area(40.0), 3),
    "strain_limit_tet": (pdgpu.StrainLimit(0.9, 1.1, 70.0), 4),
    "strain_limit_triangle": (pdgpu.StrainLimit(0.9, 1.1, 70.0), 3),
    "shape_target": (pdgpu.ShapeTarget(50.0, [[1.3, 0.2, 0.0], [-0.4, 0.8, 0.1], [0.0, 0.3, 1.1]]), 4),
    "attachment": (pdgpu.Attachment(20.0), 1),
    "world_box": (pdgpu.WorldBox((-0.1, -np.inf, 0.0), (0.1, 0.05, np.inf), 20.0), 1),
    "neo_hookean_tet": (pdgpu.NeoHookean(30.0, 90.0), 4),
    "stvk_tet": (pdgpu.StVK(30.0, 50.0), 4),
    "stvk_triangle": (pdgpu.StVK(30.0, 50.0), 3),
    "corotated_tet": (pdgpu.Corotated(30.0, 50.0), 4),
    "corotated_triangle": (pdgpu.Corotated(30.0, 50.0), 3),
    "log_neo_hookean_tet": (pdgpu.LogNeoHookean(30.0, 50.0), 4),
    "fixed_corotated_tet": (pdgpu.FixedCorotated(30.0, 50.0), 4),
    "orthotropic_tet": (ORTHOTROPIC, 4),
    "orthotropic_triangle": (WOVEN, 3),
    "hinge": (pdgpu.HingeBending(2.0), 4),
    "slide": (Slide(20.0, 30.0, -0.4, 0.6), 4),
    "world_slide": (Slide(20.0, 30.0, -0.4, 0.6, (0.6, 0.0, 0.8)), 1),
    "swing": (Swing(20.0, 0.5), 4),
    "world_swing": (Swing(20.0, 0.5, (1.0, 0.0, 0.0)), 2),
}


@pytest.mark.parametrize("kind", EASY)
@pytest.mark.parametrize("quantity", range(7))
def test_every_quantity_of_every_element(kind, quantity, dtype):
    """If not, the formula that compiles for the GPU is not the one that was checked on the CPU."""
    material, k = EASY[kind]
    if quantity == pdgpu.elements.PROJECTION and not material.projective:
        pytest.skip("an energy that is no distance")
    rng = np.random.default_rng(0)
    rest = rng.normal(size=(3000, k, 3))
    if k == 4 and kind not in ("bending", "hinge"):
        rest[np.linalg.det(rest[:, 1:] - rest[:, :1]) < 0] *= [1.0, 1.0, -1.0]
    x = rest + 0.2 * rng.normal(size=rest.shape)
    x[:50] = 0.0
    if kind == "log_neo_hookean_tet":  # finite above J = 0 alone
        x = rest + 0.02 * rng.normal(size=rest.shape)
        x, rest = (array[np.linalg.det(x[:, 1:] - x[:, :1]) > 0.01] for array in (x, rest))
    name, gradients, parameters = material.elements(rest)
    assert name == kind
    single = [np.ascontiguousarray(a, dtype=dtype) for a in (x, gradients, parameters)]
    double = [np.ascontiguousarray(a, dtype=np.float64) for a in single]
    cpu, cuda = importlib.import_module("pdgpu._cpu_f64"), backend("cuda", dtype)
    a = cuda.element_batch(cuda.KINDS[kind][0], quantity, *single, 1).astype(np.float64)
    b = cpu.element_batch(cpu.KINDS[kind][0], quantity, *double, 1)
    assert np.isfinite(a).all()
    size = np.abs(b).reshape(len(b), -1).max(axis=1)
    error = np.abs(a - b).reshape(len(b), -1).max(axis=1) / np.maximum(np.maximum(size, np.median(size)), 1e-300)
    # near the points where a formula has no derivative rounding decides the branch: a few elements may differ
    assert np.quantile(error, 0.98) < (1e-9 if dtype == "float64" else 1e-2)


def run(device, dtype, solver, dt=0.01, steps=1, damping=0.01):
    scene, x = scenes.mixed(damping=damping)
    bar = inputs.J10()
    scene.add_solid(pdgpu.Mesh(bar[0], tets=bar[1]), pdgpu.ARAP(1e5), density=1000.0).pin(bar[0][:, 1] < 1e-9)
    x = np.concatenate([x, bar[0] * [1.0, 1.2, 1.0]])
    sim = pdgpu.Simulation(scene, solver, dt=dt, device=device, dtype=dtype)
    sim.set_state(positions=x)
    sim.step(steps, record="positions")
    return sim, x


ON_CUDA = [name for name, solver in scenes.SOLVERS.items() if "cuda" in solver.devices]
# their systems and searches multiply what rounding leaves by the condition of a matrix; ADMM's element minimisations end by a tolerance
SENSITIVE = ("newton", "newton_cg", "newton_multilevel", "newton_amg", "quasi_newton", "cg_direct", "admm", "admm anderson")
# when it factorises again depends on the library: up to then iterates are the same, and then they differ by its forcing term
INEXACT = {"newton_auto": 1e-3}


@pytest.mark.parametrize("solver", ON_CUDA)
def test_iterates(solver, dtype):
    """If not, a solver on the GPU is another method than on the CPU."""
    gpu, x = run("cuda", dtype, scenes.SOLVERS[solver])
    cpu, _ = run("cpu", "float64", scenes.SOLVERS[solver])
    size = np.linalg.norm(cpu.positions - x)
    allowed = max((10 if solver in SENSITIVE else 1) * tolerance(dtype), INEXACT.get(solver, 0.0))
    # in float32 a method may come to a halt some iterations earlier
    for k, (a, b) in enumerate(zip(gpu.last_step.positions, cpu.last_step.positions, strict=dtype == "float64")):
        assert np.linalg.norm(a - b) <= allowed * (k + 1) * size
    # one rounding of the start moves the gradient norm of ADMM's third iterate by up to 3e-9 of it, on the CPU too
    relative = (1e-8 if solver in SENSITIVE else 1e-9) if dtype == "float64" else 1e-3
    for column in ("incremental_potential", "gradient_norm", "step_norm"):
        expected = cpu.last_step[column][:3]
        # a gradient that has all but vanished is known to the rounding of where it began
        np.testing.assert_allclose(gpu.last_step[column][:3], expected, rtol=relative, atol=1e-2 * relative * expected.max())


@pytest.mark.parametrize("linear", sorted(scenes.GLOBAL_STEPS))
def test_linear_solvers_of_the_global_step(linear, dtype):
    """If not, a loop of a linear solver on the GPU is another one than on the CPU."""
    solver = pdgpu.ProjectiveDynamics(iterations=4, linear=scenes.GLOBAL_STEPS[linear])
    gpu, x = run("cuda", dtype, solver)
    cpu, _ = run("cpu", "float64", solver)
    size = np.linalg.norm(cpu.positions - x)
    for k, (a, b) in enumerate(zip(gpu.last_step.positions, cpu.last_step.positions, strict=True)):
        assert np.linalg.norm(a - b) <= tolerance(dtype) * (k + 1) * size


def test_the_natural_order_is_refused(dtype):
    """If not, a sequential sweep runs in parallel on the GPU and gives other numbers each time."""
    scene, _ = scenes.bar(inputs.B20(), 1e5)
    solver = pdgpu.ProjectiveDynamics(linear=pdgpu.GaussSeidel(order="natural"))
    with pytest.raises(RuntimeError, match="natural order"):
        pdgpu.Simulation(scene, solver, device="cuda", dtype=dtype)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ON_CUDA)
def test_same_bits_from_run_to_run(solver, dtype, on_host):
    """If not, a result on the GPU cannot be reproduced."""
    times = 2 if on_host else 3  # a step runs its kernels one by one, the next ones as a graph
    runs = [run("cuda", dtype, scenes.SOLVERS[solver], steps=times)[0] for _ in range(times)]
    assert len({sim.positions.tobytes() for sim in runs}) == 1
    assert len({sim.last_step["incremental_potential"].tobytes() for sim in runs}) == 1


def test_diagnostics_and_quasistatic(dtype):
    """If not, energies on the GPU are those of something else."""
    for device in ("cuda", "cpu"):
        scene, _ = scenes.bar(inputs.B20(), 1e5, gravity=(1.0, -2.0, 0.5))
        solver = pdgpu.ProjectiveDynamics(iterations=5)
        sim = pdgpu.Simulation(scene, solver, dt=None, device=device, dtype=dtype if device == "cuda" else "float64")
        sim.step()
        if device == "cuda":
            found = sim.positions, sim.incremental_potential(), sim.gradient()
    np.testing.assert_allclose(found[0], sim.positions, atol=10 * tolerance(dtype))
    assert found[1] == pytest.approx(sim.incremental_potential(), rel=10 * tolerance(dtype))
    np.testing.assert_allclose(found[2], sim.gradient(), atol=10 * tolerance(dtype) * np.abs(sim.gradient()).max() + 1e-4)


def test_divergence_is_reported(dtype):
    """If not, NaN spreads on the GPU without a word."""
    points, tets = inputs.J10()
    scene, _ = scenes.bar((points, tets), 1e7 / 2.6)
    solver = pdgpu.ProjectiveDynamics(iterations=8000, linear=pdgpu.Jacobi(weight=1.9))
    sim = pdgpu.Simulation(scene, dataclasses.replace(solver), dt=1 / 30, device="cuda", dtype=dtype)
    sim.set_state(positions=points * [1.5, 1.0, 1.0])
    before = sim.positions
    with pytest.raises(pdgpu.DivergenceError):
        sim.step()
    np.testing.assert_array_equal(sim.positions, before)
