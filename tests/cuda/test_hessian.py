"""The Hessian of the incremental potential on CUDA, and the solvers that stand on it."""

import numpy as np
import pytest
import scenes

import pdgpu

pytestmark = pytest.mark.gpu


def everything(damping):
    """Every kind of element in one scene, and a disturbed state."""
    scene, x = scenes.mixed(damping=damping)
    beam = pdgpu.shapes.beam((0.6, 0.3, 0.3), cells=(2, 1, 1))
    materials = [pdgpu.NeoHookean(2e3, 5e3), pdgpu.StVK(1e3, 2e3), pdgpu.Corotated(1e3, 2e3)]
    scene.add_solid(beam, materials, density=300.0, damping=damping)
    cloth = pdgpu.Mesh(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]), triangles=np.array([[0, 1, 2], [2, 1, 3]]))
    scene.add_shell(cloth, [pdgpu.StVK(20.0, 30.0), pdgpu.Corotated(20.0, 30.0)], density=0.1, damping=damping)
    scene.set_world_box((-np.inf, 0.05, -0.1), (1.0, np.inf, np.inf), 11.0)
    rest = scene.rest_positions()[len(x) :]
    return scene, np.concatenate([x, rest * 1.1 + 0.03 * np.random.default_rng(1).normal(size=rest.shape)])


def blocks_of(device, dtype, scene, x, psd, dt=0.01):
    """The Hessian at x of a step that starts from the rest shape, and the kinds in it."""
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=dt, device=device, dtype=dtype)
    row_start, columns, blocks = sim._core.backend.hessian(np.ascontiguousarray(x, dtype=dtype), psd)
    return row_start, columns, blocks.astype(np.float64)


def difference(a, b, owner):
    """Largest difference in every row of blocks, relative to the row's largest number."""
    size, error = np.zeros(owner.max() + 1), np.zeros(owner.max() + 1)
    np.maximum.at(size, owner, np.abs(b).reshape(len(b), -1).max(axis=1))
    np.maximum.at(error, owner, np.abs(a - b).reshape(len(b), -1).max(axis=1))
    return error / size


@pytest.mark.parametrize("psd", [False, True])
@pytest.mark.parametrize("damping", [0.0, 0.02])
def test_blocks_are_those_of_the_cpu(psd, damping, dtype):
    """If not, Newton on the GPU follows the Hessian of another potential."""
    scene, x = everything(damping)
    x = x.astype(dtype).astype(np.float64)
    row_start, columns, found = blocks_of("cuda", dtype, scene, x, psd)
    expected = blocks_of("cpu", "float64", scene, x, psd)
    np.testing.assert_array_equal(row_start, expected[0])
    np.testing.assert_array_equal(columns, expected[1])
    owner = np.repeat(np.arange(len(row_start) - 1), np.diff(row_start))
    assert difference(found, expected[2], owner).max() < (1e-11 if dtype == "float64" else 2e-4)


def test_collapsed_and_flat_elements(dtype):
    """If not, a body crushed to a point or a plane fills the Hessian with NaN on the GPU."""
    scene, x = everything(0.0)
    flat = x * [1.0, 1.0, 0.0]
    point = np.zeros_like(x)
    for state in (flat, point):
        *_, found = blocks_of("cuda", dtype, scene, state, True)
        *_, expected = blocks_of("cpu", dtype, scene, state, True)
        assert np.isfinite(found).all()
        # the eigenvectors of a flat element are any of many: sizes agree, entries need not
        assert np.abs(found).max() == pytest.approx(np.abs(expected).max(), rel=0.05)


def test_quasistatic_and_one_vertex(dtype):
    """If not, a step without inertia, or a scene of one particle, has another Hessian on the GPU."""
    scene = pdgpu.Scene()
    scene.add_particles([[0.1, 0.2, 0.3]], mass=2.0).attach([0], (0.0, 0.0, 0.0), stiffness=3.0)
    for dt, diagonal in ((None, 3.0), (0.5, 3.0 + 2.0 / 0.25)):
        row_start, columns, blocks = blocks_of("cuda", dtype, scene, np.ones((1, 3)), False, dt)
        np.testing.assert_array_equal(row_start, [0, 1])
        np.testing.assert_array_equal(columns, [0])
        np.testing.assert_allclose(blocks[0], diagonal * np.eye(3), rtol=1e-6)


def test_same_bits_from_run_to_run(dtype):
    """If not, Newton on the GPU cannot be reproduced."""
    scene, x = everything(0.01)
    assert len({blocks_of("cuda", dtype, scene, x, True)[2].tobytes() for _ in range(3)}) == 1


SOLVERS = {name: scenes.SOLVERS[name] for name in ("newton", "newton_cg", "quasi_newton", "cg", "cg_direct", "pbd")}


def run(device, dtype, solver):
    scene, x = everything(0.01) if "NeoHookean" in solver.materials else scenes.mixed(damping=0.01)
    sim = pdgpu.Simulation(scene, solver, device=device, dtype=dtype)
    sim.set_state(positions=x)
    sim.step(record="positions")
    return sim, x


@pytest.mark.parametrize("name", SOLVERS)
def test_iterates(name, dtype):
    """If not, a method that is written once does not do the same on both devices."""
    gpu, x = run("cuda", dtype, SOLVERS[name])
    cpu, _ = run("cpu", "float64", SOLVERS[name])
    size = np.linalg.norm(cpu.positions - x)
    # float32 comes to a halt some iterations before float64
    for k, (a, b) in enumerate(zip(gpu.last_step.positions, cpu.last_step.positions, strict=dtype == "float64")):
        # conjugate gradients multiply what rounding leaves by the condition of their matrix
        assert np.linalg.norm(a - b) <= (1e-9 if dtype == "float64" else 1e-3) * (k + 1) * size


@pytest.mark.parametrize("name", ["newton", "newton_cg", "quasi_newton"])
def test_runs_without_a_record(name, dtype):
    """If not, a run that looks at its result every eighth iteration is another one than a recorded one."""
    recorded, x = run("cuda", dtype, SOLVERS[name])
    scene, _ = everything(0.01)
    silent = pdgpu.Simulation(scene, SOLVERS[name], device="cuda", dtype=dtype)
    silent.set_state(positions=x)
    silent.step()
    np.testing.assert_array_equal(silent.positions, recorded.positions)


def test_conjugate_gradients_end_by_themselves_between_two_looks(dtype, monkeypatch):
    """If not, a solve on the GPU is a wait for every iteration, or goes on until the host looks."""
    scenes.looks_change_nothing("cuda", dtype, monkeypatch)


HELD = [
    pdgpu.Newton(iterations=6, linear=linear)
    for linear in (
        pdgpu.Direct(),
        *(pdgpu.PCG(iterations=200, preconditioner=p) for p in ("block", "jacobi", "chebyshev", "multilevel", "amg")),
    )
]
PROJECTIVE = ("jacobi", "gauss-seidel", "symmetric", "pcg", "pcg chebyshev", "pcg multilevel", "pcg amg")
HELD += [
    pdgpu.ProjectiveDynamics(iterations=6, linear=linear)
    for linear in (pdgpu.Direct(), *(scenes.LINEAR_SOLVERS[name] for name in PROJECTIVE))
]
HELD += [scenes.CG, scenes.CG_DIRECT, scenes.QUASI_NEWTON, scenes.ADMM, scenes.PBD, scenes.XPBD]


@pytest.mark.parametrize("solver", HELD)
def test_what_slides_stays_in_its_plane(dtype, solver):
    """If not, a slider leaves its plane on the GPU, or goes elsewhere in it."""
    beam = pdgpu.shapes.beam((1.0, 0.3, 0.3), cells=(3, 1, 1))
    left = np.flatnonzero(beam.points[:, 0] < 1e-9)
    found = {}
    for device, precision in (("cuda", dtype), ("cpu", "float64")):
        scene = pdgpu.Scene(gravity=(1.0, -9.81, 0.0))
        body = scene.add_solid(beam, pdgpu.NeoHookean(1e4, 3e4) if isinstance(solver, pdgpu.Newton) else pdgpu.ARAP(1e4), density=1000.0)
        body.slide(left, plane=(1.0, 0.0, 0.0))
        body.slide([len(beam.points) - 1], line=(1.0, 2.0, -0.5))
        sim = pdgpu.Simulation(scene, solver, device=device, dtype=precision)
        sim.set_state(velocities=np.tile([0.3, 0.0, 0.1], (len(beam.points), 1)))
        sim.step(3)
        found[device] = sim.positions.astype(np.float64)
    np.testing.assert_allclose(found["cuda"][left, 0], beam.points[left, 0], atol=1e-6)
    np.testing.assert_allclose(found["cuda"], found["cpu"], atol=1e-9 if dtype == "float64" else 2e-5)


def test_a_solve_of_what_slides_ends_at_its_tolerance(dtype):
    """If not, the forces that hold the vertices count as a residual, and no solve ever ends."""
    beam, moves = pdgpu.shapes.beam((1.0, 0.3, 0.3), cells=(3, 1, 1)), []
    for tolerance in (0.5, 0.0):
        scene = pdgpu.Scene()
        scene.add_solid(beam, pdgpu.ARAP(1e4), density=1000.0).slide(np.arange(8), plane=(1.0, 2.0, -0.5))
        linear = pdgpu.Jacobi(iterations=100, tolerance=tolerance)
        solver = pdgpu.ProjectiveDynamics(iterations=1, linear=linear, initialization="previous")
        sim = pdgpu.Simulation(scene, solver, dt=1 / 30, device="cuda", dtype=dtype)
        sim.set_state(positions=beam.points * 1.2)
        sim.step()
        moves.append(sim.positions - beam.points * 1.2)
    apart = np.linalg.norm(moves[0] - moves[1])
    assert 1e-3 * np.linalg.norm(moves[1]) < apart < 0.9 * np.linalg.norm(moves[1])
