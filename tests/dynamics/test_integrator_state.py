"""The history of a time integrator is part of the state of a simulation."""

import copy
import pickle

import numpy as np
import pytest
from integrator_cases import EXACT, NAMES, SECOND, beam, effective

import pdgpu


def running(integrator, steps=4, dtype="float64", solver=None, **more):
    scene, _ = beam(damping=1e-3)
    sim = pdgpu.Simulation(scene, solver or pdgpu.Newton(iterations=5), dt=0.01, integrator=integrator, dtype=dtype, **more)
    sim.step(steps)
    return sim


def same(one, other):
    return np.array_equal(one.positions, other.positions) and np.array_equal(one.velocities, other.velocities)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("integrator", SECOND)
def test_copies_pickles_and_files_continue_with_the_same_bits(integrator, dtype, tmp_path):
    """If not, a resumed run differs from an uninterrupted one."""
    sim = running(integrator, dtype=dtype)
    sim.save(tmp_path / "run.npz")
    others = [copy.copy(sim), pickle.loads(pickle.dumps(sim)), pdgpu.Simulation.load(tmp_path / "run.npz")]
    sim.step(2)
    for other in others:
        assert other.integrator == integrator
        other.step(2)
        assert same(other, sim)


@pytest.mark.parametrize("integrator", SECOND)
def test_a_file_before_the_first_step(integrator, tmp_path):
    """If not, a simulation saved at its start begins with another step."""
    sim = running(integrator, steps=1)
    sim.set_state(velocities=0.1 * sim.velocities)
    sim.save(tmp_path / "run.npz")
    other = pdgpu.Simulation.load(tmp_path / "run.npz")
    sim.step(2)
    other.step(2)
    assert same(other, sim)


def test_files_of_implicit_euler_are_read_by_the_version_before(tmp_path):
    """If not, colleagues with an earlier version cannot read files that contain nothing new."""
    import json

    for integrator, version in (("implicit_euler", 1), ("bdf2", 11)):
        running(integrator).save(tmp_path / "run.npz")
        with np.load(tmp_path / "run.npz") as archive:
            assert json.loads(archive["header"].tobytes())["version"] == version
            assert ("rates" in archive.files) == (integrator == "bdf2")


@pytest.mark.parametrize("change", [{"integrator": "rk4"}, {"integrator": "trapezoidal"}, {"integrator": "implicit_euler"}])
def test_a_file_with_a_wrong_integrator(change, tmp_path):
    """If not, a damaged file is resumed with another history."""
    import json

    running("bdf2").save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as archive:
        arrays = dict(archive)
    header = json.loads(arrays.pop("header").tobytes()) | change
    np.savez(tmp_path / "other.npz", header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)
    with pytest.raises(ValueError, match=r"history|integrator"):
        pdgpu.Simulation.load(tmp_path / "other.npz")


@pytest.mark.parametrize("integrator", SECOND)
def test_a_set_state_starts_again(integrator):
    """If not, a body that was put elsewhere moves by the history of its old place."""
    sim = running(integrator)
    x, v = sim.positions, sim.velocities
    history = copy.copy(sim)
    sim.set_state(positions=x, velocities=v)
    fresh = pdgpu.Simulation(beam(damping=1e-3)[0], pdgpu.Newton(iterations=5), dt=0.01, integrator=integrator, positions=x, velocities=v)
    for other in (sim, fresh, history):
        other.step(2)
    assert same(sim, fresh)
    assert not same(sim, history)


@pytest.mark.parametrize("integrator", SECOND)
def test_another_time_step_restarts_with_the_order_of_the_method(integrator):
    """If not, a run with several time steps has the order of implicit Euler."""

    def run(n):
        scene, _ = beam()
        sim = pdgpu.Simulation(scene, EXACT, dt=0.1 / n, integrator=integrator)
        sim.step(n)
        for part in (2, 3):
            start = {"positions": sim.positions, "velocities": sim.velocities, "start_time": sim.time}
            sim = pdgpu.Simulation(scene, EXACT, dt=0.1 / (part * n), integrator=integrator, **start)
            sim.step(part * n // 2)
        return sim.positions

    exact = run(640)
    errors = [np.linalg.norm(run(n) - exact) for n in (20, 40, 80)]
    assert np.all(np.abs(np.log2(np.array(errors[:-1]) / errors[1:]) - 2.0) < 0.35), errors


@pytest.mark.parametrize("integrator", SECOND)
def test_an_interrupted_step_keeps_the_history(integrator):
    """If not, a step after Ctrl-C or a divergence is another one."""
    sim = running(integrator)
    other = copy.copy(sim)
    bad = sim.positions * 0.0 + 1e300
    sim.external_forces = bad
    with pytest.raises(pdgpu.DivergenceError):
        sim.step()
    sim.external_forces = None
    sim.step(2)
    other.step(2)
    np.testing.assert_allclose(sim.positions, other.positions, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("integrator", NAMES)
def test_diagnostics_are_those_of_the_next_step(integrator):
    """If not, gradient and energies belong to another objective than the step's."""
    for steps in (0, 3):
        sim = running(integrator, steps=1, solver=pdgpu.Newton(iterations=1, initialization="previous"))
        if not steps:
            sim.set_state(velocities=sim.velocities)
        sim.step(steps) if steps else None
        x = sim.positions
        before = np.linalg.norm(sim.gradient(x))
        potential = sim.incremental_potential(x)
        record = sim.step(record=True)
        assert np.isclose(record["gradient_norm"][0], before, rtol=1e-9)
        assert np.isclose(record["incremental_potential"][0], potential, rtol=1e-9)


@pytest.mark.parametrize("integrator", SECOND)
def test_gradient_and_hessian_are_derivatives_of_one_potential(integrator):
    """If not, solvers minimise something else than what is reported."""
    sim = running(integrator)
    rng = np.random.default_rng(2)
    x, d = sim.positions, rng.normal(size=sim.positions.shape)
    d[beam()[0].fixed() == 1] = 0.0
    step = 1e-6
    slope = (sim.incremental_potential(x + step * d) - sim.incremental_potential(x - step * d)) / (2.0 * step)
    assert np.isclose(slope, (sim.gradient(x) * d).sum(), rtol=1e-6)
    turned = (sim.gradient(x + step * d) - sim.gradient(x - step * d)) / (2.0 * step)
    np.testing.assert_allclose(turned.ravel(), sim.hessian(x) @ d.ravel(), rtol=1e-5, atol=1e-5 * np.abs(turned).max())
    inertia = sim.masses / effective(integrator, 0.01) ** 2
    assert np.all(sim.hessian(x).diagonal().reshape(-1, 3)[d[:, 0] != 0.0] > inertia[d[:, 0] != 0.0, None])


@pytest.mark.parametrize("integrator", SECOND)
def test_snapshots_start_a_comparison_of_the_same_step(integrator):
    """If not, compare solves an implicit Euler step from the state of another integrator."""
    sim = running(integrator, solver=EXACT)
    snapshot = sim.snapshot(1)
    assert snapshot.integrator == integrator and snapshot.rates is not None
    scene, _ = beam(damping=1e-3)
    solvers = {"Newton": EXACT, "VBD": pdgpu.VertexBlockDescent(iterations=300)}
    found = pdgpu.compare(scene, solvers, dt=0.01, start=snapshot, reference="newton")
    sim.step()
    np.testing.assert_allclose(found.reference, sim.positions, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(found.positions["VBD"], sim.positions, rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("integrator", SECOND)
def test_a_cut_keeps_the_integrator_and_starts_again(integrator):
    """If not, new vertices continue with accelerations of the uncut mesh."""
    scene = pdgpu.Scene()
    shell = scene.add_shell(pdgpu.shapes.grid((1.0, 1.0), cells=(4, 4)), pdgpu.Spring(100.0), density=0.2)
    shell.pin([0, 4, 20, 24])
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=5), dt=0.01, integrator=integrator)
    sim.step(3)
    x, v = sim.positions, sim.velocities
    cut = sim.cut(shell, shell.mesh.hinges[:6, :2])
    assert sim.integrator == integrator and len(cut.new_vertices)
    fresh = copy.copy(sim)
    fresh.set_state(positions=sim.positions, velocities=sim.velocities)
    sim.step(2)
    fresh.step(2)
    np.testing.assert_allclose(sim.positions, fresh.positions, rtol=0.0, atol=1e-12)
    assert np.abs(sim.positions[: len(x)] - x).max() > 0.0 and len(v) < len(sim.velocities)


@pytest.mark.parametrize("integrator", SECOND)
def test_far_from_the_origin(integrator):
    """If not, the history is lost where the origin of positions moves, or is subtracted from it."""
    scene, _ = beam()
    near = pdgpu.Simulation(scene, EXACT, dt=0.01, integrator=integrator, dtype="float32")
    shift = np.array([4096.0, 0.0, 0.0])
    moved = pdgpu.Scene(gravity=scene.gravity)
    mesh = pdgpu.shapes.beam((0.4, 0.1, 0.1), cells=(4, 1, 1))
    body = moved.add_solid(pdgpu.Mesh(mesh.points + shift, tets=mesh.tets), pdgpu.StVK(2e3, 3e3), density=1000.0)
    body.pin(mesh.points[:, 0] == 0.0)
    far = pdgpu.Simulation(moved, EXACT, dt=0.01, integrator=integrator, dtype="float32")
    assert far.origin.any()
    for sim in (near, far):
        sim.step(4)
    again = copy.copy(far)
    far.step(2)
    again.step(2)
    near.step(2)
    assert same(far, again)
    np.testing.assert_allclose(far.positions - shift, near.positions, rtol=0.0, atol=1e-5)


@pytest.mark.parametrize("integrator", SECOND)
def test_rho_by_a_search_leaves_the_history(integrator):
    """If not, the trial steps of rho="auto" change the run."""
    solver = pdgpu.ProjectiveDynamics(iterations=30, chebyshev=pdgpu.Chebyshev(rho="auto"))
    mesh = pdgpu.shapes.beam((0.4, 0.1, 0.1), cells=(4, 1, 1))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP(3e3), density=1000.0).pin(mesh.points[:, 0] == 0.0)
    sim = pdgpu.Simulation(scene, solver, dt=0.01, integrator=integrator)
    sim.step(3)
    given = pdgpu.ProjectiveDynamics(iterations=30, chebyshev=pdgpu.Chebyshev(rho=sim.parameters["rho"]))
    other = pdgpu.Simulation(scene, given, dt=0.01, integrator=integrator)
    other.step(3)
    np.testing.assert_allclose(sim.positions, other.positions, rtol=0.0, atol=1e-6)
