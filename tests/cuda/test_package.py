"""What a user does with a simulation, on a CUDA device: moving pins, forces, files, cuts, read-back, comparisons."""

import dataclasses

import inputs
import numpy as np
import pytest
import scenes

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


def of(solvers, **changes):
    """Parameters of a test: those that run on "cuda"."""
    return [pytest.param(dataclasses.replace(solver, **changes), id=name) for name, solver in solvers.items() if "cuda" in solver.devices]


# an iteration amplifies rounding differently in every method; what is tested here are the data that reach it
def close(gpu, cpu, dtype, size):
    """Within 1e-8, in float32 1e-3, of how far things moved; and to the rounding of a number of that size."""
    allowed = 1e-8 * size if dtype == "float64" else 1e-3 * size + 4 * np.finfo(np.float32).eps * np.abs(cpu).max()
    np.testing.assert_allclose(gpu, cpu, rtol=0, atol=allowed)


def pair(build, dtype):
    """(on the GPU, on the CPU in float64)"""
    return build(device="cuda", dtype=dtype), build(device="cpu", dtype="float64")


def moving_beam(material, steps, solver, **where):
    """A beam whose left end is turned and carried, under a load on the right one."""

    def motion(time, rest):
        angle = 3.0 * time
        return rest @ np.array([[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]]) + [0, time, 0]

    mesh = pdgpu.shapes.beam((1.0, 0.3, 0.3), cells=(4, 1, 1))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, material, density=1000.0, damping=0.005).pin(mesh.points[:, 0] < 1e-9, motion)
    sim = pdgpu.Simulation(scene, solver, dt=1 / 60, **where)
    forces = np.zeros_like(mesh.points)
    forces[mesh.points[:, 0] > 1 - 1e-9] = [0.0, 0.0, 20.0]
    sim.external_forces = forces
    sim.step(steps)
    return sim


def amplified(solver, dtype):
    """The factor of rounding by a combination of iterates in float32 (docs/theory/solvers.md)."""
    return 300.0 if dtype == "float32" and isinstance(getattr(solver, "acceleration", None), pdgpu.Anderson) else 1.0


@pytest.mark.parametrize("solver", of(scenes.SOLVERS))
def test_moving_pins_and_forces(solver, dtype):
    """If not, what happens at a pin, or what pulls at a vertex, does not reach the GPU in every step."""
    gpu, cpu = pair(lambda **where: moving_beam(pdgpu.ARAP(5e4), 3, solver, **where), dtype)
    size = np.abs(cpu.positions - cpu.bodies[0].points).max()
    assert size > 0.04
    size *= amplified(solver, dtype)
    close(gpu.positions, cpu.positions, dtype, size)
    close(gpu.velocities, cpu.velocities, dtype, 60 * size)
    np.testing.assert_array_equal(gpu.external_forces, cpu.external_forces)


@pytest.mark.parametrize("solver", of(scenes.MINIMISERS))
def test_quasistatic(solver, dtype):
    """If not, a step without inertia is another one on the GPU."""

    def build(**where):
        scene, _ = scenes.bar(inputs.B20(), 1e5, gravity=(1.0, -2.0, 0.5))
        sim = pdgpu.Simulation(scene, solver, dt=None, **where)
        sim.step()
        return sim

    gpu, cpu = pair(build, dtype)
    size = np.abs(cpu.positions - cpu.bodies[0].points).max() * amplified(solver, dtype)
    close(gpu.positions, cpu.positions, dtype, size)
    assert gpu.incremental_potential() == pytest.approx(cpu.incremental_potential(), rel=1e-8 if dtype == "float64" else 1e-3)


@pytest.mark.parametrize("solver", of(scenes.SOLVERS, iterations=3, initialization="adaptive"))
def test_resuming_gives_the_bits_of_never_stopping(solver, dtype, tmp_path):
    """If not, an experiment that was interrupted on the GPU is another experiment."""

    def disturbed():
        scene, x = scenes.mixed(damping=0.01)
        sim = pdgpu.Simulation(scene, solver, dtype=dtype, device="cuda", dt=1 / 60)
        sim.set_state(positions=x)
        return sim

    through, stopped = disturbed(), disturbed()
    through.step(4)
    stopped.step(2)
    stopped.save(tmp_path / "half")
    resumed = pdgpu.Simulation.load(tmp_path / "half")
    assert resumed.device == "cuda" and resumed.time == stopped.time
    resumed.step(2)
    assert resumed.positions.tobytes() == through.positions.tobytes()
    assert resumed.velocities.tobytes() == through.velocities.tobytes()
    # and elsewhere, by rounding only
    other = pdgpu.Simulation.load(tmp_path / "half", device="cpu")
    other.step(2)
    close(other.positions, through.positions, dtype, np.ptp(through.positions))


@pytest.mark.parametrize("solver", of({name: scenes.SOLVERS[name] for name in ("direct", "jacobi", "newton", "vbd", "xpbd", "pbd")}))
def test_a_cut_between_steps(solver, dtype):
    """If not, a body that was torn on the GPU goes on with the old model."""

    def build(**where):
        scene = pdgpu.Scene()
        points, triangles = inputs.cloth(6)
        cloth = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(100.0), density=0.2, bending=1e-3)
        cloth.pin([0, 6])
        sim = pdgpu.Simulation(scene, solver, dt=1 / 60, **where)
        sim.step(2)
        row = np.arange(1, 5) + 7 * 3
        sim.cut(cloth, np.stack([row, row + 1], axis=1))
        sim.step(2)
        return sim

    gpu, cpu = pair(build, dtype)
    assert len(gpu.positions) == len(cpu.positions) > 49
    close(gpu.positions, cpu.positions, dtype, np.abs(cpu.positions - cpu.bodies[0].points).max())
    np.testing.assert_allclose(gpu.masses, cpu.masses, rtol=1e-12)


def test_read_back(dtype):
    """If not, energies, forces and stresses of a run on the GPU are those of something else."""

    def build(**where):
        scene, x = scenes.mixed(damping=0.0)
        mesh = pdgpu.shapes.beam((0.4, 0.2, 0.2), cells=(2, 1, 1))
        scene.add_solid(mesh, pdgpu.NeoHookean(2e4, 8e4), density=1000.0, name="rubber")
        sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=4), dt=1 / 200, **where)
        sim.set_state(positions=np.concatenate([x, mesh.points * [1.2, 1.0, 0.9]]))
        sim.step()
        return sim

    if "cuda" not in pdgpu.VertexBlockDescent.devices:
        pytest.skip("VertexBlockDescent does not run on 'cuda'")
    gpu, cpu = pair(build, dtype)
    relative = 1e-7 if dtype == "float64" else 1e-2
    energies, expected = gpu.energies(), cpu.energies()
    assert energies.keys() == expected.keys() and energies["elastic"].keys() == expected["elastic"].keys()
    for name, value in expected["elastic"].items():
        assert energies["elastic"][name] == pytest.approx(value, rel=relative)
    assert energies["total"] == pytest.approx(expected["total"], rel=relative)
    size = np.abs(cpu.forces()).max()
    np.testing.assert_allclose(gpu.forces(), cpu.forces(), rtol=0, atol=relative * size)
    np.testing.assert_allclose(gpu.gradient(), cpu.gradient(), rtol=0, atol=10 * relative * np.abs(cpu.gradient()).max())
    stress = cpu.stress("rubber")
    np.testing.assert_allclose(gpu.stress("rubber"), stress, rtol=0, atol=relative * np.abs(stress).max())


def test_compare(dtype):
    """If not, the comparison of solvers, the point of it all, cannot be made on the GPU."""
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(4, 1, 1))
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    scene.add_solid(mesh, pdgpu.ARAP(1e5), density=1000.0).pin(mesh.points[:, 0] < 1e-9)
    solvers = {name: scenes.shortened(solver, 6) for name, solver in scenes.SOLVERS.items() if "cuda" in solver.devices}
    start = (mesh.points * [1.3, 1.0, 1.0], None)
    gpu = pdgpu.compare(scene, solvers, start=start, device="cuda", dtype=dtype)
    cpu = pdgpu.compare(scene, solvers, start=start)
    np.testing.assert_array_equal(gpu.reference, cpu.reference)
    for name in solvers:
        loss, expected = (np.asarray(comparison[name]["incremental_potential"]) for comparison in (gpu, cpu))
        count = min(len(loss), len(expected), 5)  # Newton in float32 comes to a halt some iterations before float64
        np.testing.assert_allclose(loss[:count], expected[:count], rtol=1e-7 if dtype == "float64" else 1e-2, atol=1e-9 * expected[0])


@pytest.mark.parametrize("solver", of(scenes.SOLVERS))
def test_records_say_what_happened(solver, dtype):
    """If not, a curve drawn from a run on the GPU is not that of its iterates."""
    scene, x = scenes.mixed(damping=0.01)
    sim = pdgpu.Simulation(scene, solver, device="cuda", dtype=dtype)
    sim.set_state(positions=x)
    sim.step(record="positions")
    record = sim.last_step
    assert len(record["iteration"]) == len(record.positions) == record.iteration + 1
    assert record.positions[-1].tobytes() == sim.positions.tobytes()
    positions = record.positions.astype(np.float64).reshape(record.iteration + 1, -1)
    moved = np.linalg.norm(np.diff(positions, axis=0), axis=1)
    if isinstance(solver, pdgpu.BlockJacobi | pdgpu.GradientDescent):
        # a test of the potential may take them back: a step starts from some earlier iterate, and the last may be no step at all
        starts = [np.linalg.norm(positions[k] - positions[:k], axis=1) for k in range(1, record.iteration)]
        moved = np.array([start[np.argmin(abs(start - step))] for start, step in zip(starts, record["step_norm"][1:], strict=False)])
    count = len(moved)
    np.testing.assert_allclose(record["step_norm"][1:][:count], moved, rtol=1e-2, atol=1e-5 if dtype == "float32" else 1e-12)
    assert (np.diff(record["seconds"]) >= 0).all() and record.status in ("iteration_cap", "converged", "stalled")


@pytest.mark.large
@pytest.mark.parametrize("solver", of(scenes.SOLVERS, iterations=4))
def test_the_mesh_that_ships(solver, dtype):
    """If not, what agrees on a handful of tets does not on a real mesh."""
    mesh = scenes.creature()

    def build(**where):
        scene = pdgpu.Scene()
        body = scene.add_solid(mesh, pdgpu.ARAP(1e5), density=1000.0)
        body.pin(mesh.points[:, 1] < mesh.points[:, 1].min() + 0.05 * np.ptp(mesh.points[:, 1]))
        sim = pdgpu.Simulation(scene, solver, dt=1 / 60, **where)
        sim.set_state(positions=mesh.points * [1.0, 1.2, 1.0])
        sim.step(record="positions")
        return sim

    gpu, cpu = pair(build, dtype)
    size = np.abs(cpu.positions - mesh.points).max()
    for a, b in zip(gpu.last_step.positions, cpu.last_step.positions, strict=False):
        close(a, b, dtype, size)


def test_the_variables_choose_the_device(dtype, monkeypatch):
    """If not, a script without device= stays on the CPU, with the GPU of its user idle."""

    def run(**where):
        return moving_beam(pdgpu.ARAP(5e4), 2, pdgpu.VertexBlockDescent(iterations=5), **where)

    monkeypatch.setenv("PDGPU_DEVICE", "cuda")
    monkeypatch.setenv("PDGPU_DTYPE", dtype)
    chosen = run()
    assert (chosen.device, chosen.dtype.name) == ("cuda", dtype)
    np.testing.assert_array_equal(chosen.positions, run(device="cuda", dtype=dtype).positions)
    assert run(device="cpu").device == "cpu"
    with pytest.raises(RuntimeError, match=r"^device: the natural order of GaussSeidel .* not on 'cuda' \(from PDGPU_DEVICE\)$"):
        moving_beam(pdgpu.ARAP(5e4), 1, pdgpu.ProjectiveDynamics(linear=pdgpu.GaussSeidel(order="natural")))
