"""Runs over time: what they record, momenta, files of the whole state, films."""

import re
import shutil
import subprocess
import sys

import meshio
import numpy as np
import pytest

import pdgpu
from pdgpu.plotting import animate

MESH = pdgpu.shapes.beam((0.4, 0.2, 0.2), cells=(2, 1, 1))


def block(gravity=(0.0, 0.0, 0.0), solver=None, **options):
    scene = pdgpu.Scene(gravity=gravity)
    scene.add_solid(MESH, pdgpu.NeoHookean.from_young(1e4, 0.3), density=1000.0, name="block")
    return pdgpu.Simulation(scene, solver or pdgpu.Newton(iterations=10, tolerance=1e-10), dt=1 / 100, **options)


def test_momenta_of_a_rigid_motion():
    """If not, conservation is verified by numbers that are no momenta."""
    sim = block()
    centre = np.average(MESH.points, axis=0, weights=sim.masses)
    u, spin, arm = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.2, -4.0]), MESH.points - centre
    sim.set_state(velocities=u + np.cross(spin, arm))
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(sim.masses, arm, strict=True))
    mass = sim.masses.sum()
    np.testing.assert_allclose(sim.momentum().linear, mass * u, rtol=1e-12)
    np.testing.assert_allclose(sim.momentum(about="centre").angular, inertia @ spin, rtol=1e-12)
    np.testing.assert_allclose(sim.momentum("block").angular, inertia @ spin + mass * np.cross(centre, u), rtol=1e-12)
    with pytest.raises(ValueError, match="expected a point or 'centre', got 'center'"):
        sim.momentum(about="center")


def test_a_free_body_keeps_its_momentum():
    """If not, a body in flight is pushed by the solver, or by what measures it."""
    sim = block(gravity=(0.0, -9.81, 0.0))
    sim.set_state(positions=MESH.points * [1.2, 1.0, 1.0], velocities=[[3.0, 1.0, 0.0]] * len(MESH.points))
    run = sim.run(0.2)
    mass = sim.masses.sum()
    assert len(run["time"]) == 21 and run["time"][-1] == pytest.approx(0.2)
    np.testing.assert_allclose(run["momentum_x"], 3.0 * mass, rtol=1e-9)
    np.testing.assert_allclose(run["momentum_y"], mass * (1.0 - 9.81 * run["time"]), rtol=0.0, atol=1e-8 * mass)
    free = block()
    spin = np.cross([0.0, 0.0, 2.0], MESH.points - MESH.points.mean(axis=0))
    free.set_state(velocities=spin)
    before = free.momentum().angular[2]
    free.step()
    # implicit Euler changes it by h sum m v' x v, v' the new velocities, and by that alone
    gained = free.dt * np.einsum("i,ij->j", free.masses, np.cross(free.velocities, spin))[2]
    assert abs(gained) > 1e-5 * before and free.momentum().angular[2] - before == pytest.approx(gained, abs=1e-9 * before)


def test_what_a_run_records_is_what_the_simulation_says():
    """If not, a plot of energies is not that of the motion."""
    scene = pdgpu.Scene()
    scene.add_solid(MESH, pdgpu.NeoHookean.from_young(1e4, 0.3), density=1000.0)
    scene.add_obstacle(pdgpu.Plane(point=(0.0, -0.01, 0.0), normal=(0.0, 1.0, 0.0)))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=20), dt=1 / 100, contact=pdgpu.BarrierContact(5e-3))
    seen = []
    run = sim.run(0.095, every=4, callback=lambda s: seen.append((s.time, s.energies()["total"], len(s.contact_forces()))))
    assert list(run["step"]) == [0, 4, 8, 10]
    assert [tuple(row) for row in zip(run["time"], run["total"], run["contacts"], strict=True)] == seen
    assert run["contacts"][0] == 0 and run["contacts"][-1] >= 4 and 0.0 < run["smallest_distance"][-1] < 5e-3
    assert run["smallest_distance"][0] == np.inf and run["elastic_NeoHookean"][-1] > 0.0 and run["iterations"][0] == 0
    frame = run.to_dataframe() if pytest.importorskip("pandas") else None
    assert list(frame.columns) == list(run) and len(frame) == 4 and "<History: 4 rows" in repr(run)


def test_a_recorded_run_has_the_bits_of_steps_and_ends_when_told():
    """If not, looking changes what is looked at."""
    one, other = block((0.0, -9.81, 0.0)), block((0.0, -9.81, 0.0))
    one.step(10)
    run = other.run(1.0, every=5, callback=lambda sim: sim.time > 0.07)
    assert np.array_equal(one.positions, other.positions) and list(run["step"]) == [0, 5, 10]
    with pytest.raises(ValueError, match="seconds: must be greater than 0"):
        one.run(0.0)
    with pytest.raises(ValueError, match="more than can be counted"):
        one.run(1e12)
    with pytest.raises(TypeError, match="callback: expected a callable, got 3"):
        one.run(1.0, callback=3)


def test_a_run_that_diverges_keeps_what_it_recorded():
    """If not, what led to a blow-up is gained with it."""
    scene = pdgpu.Scene()
    scene.add_solid(MESH, pdgpu.ARAP.from_young(1e6, 0.3), density=1000.0)
    solver = pdgpu.ProjectiveDynamics(iterations=40, linear=pdgpu.Jacobi(weight=1.9))
    with pytest.warns(UserWarning, match="diverges"):
        sim = pdgpu.Simulation(scene, solver, dt=1 / 100)
    sim.set_state(velocities=np.sin(20.0 * MESH.points))
    with pytest.raises(pdgpu.DivergenceError) as caught:
        sim.run(10.0)
    assert len(caught.value.history["step"]) == sim.time * 100 + 1 and caught.value.history["kinetic"][0] > 0.0


def test_a_file_has_the_fields_of_the_simulation(tmp_path):
    """If not, ParaView shows stresses that are not there."""
    scene = pdgpu.Scene()
    solid = scene.add_solid(MESH, pdgpu.NeoHookean.from_young(1e4, 0.3), density=1000.0, velocity=(0.0, 0.0, 1.0))
    solid.pin([0])
    grid = pdgpu.shapes.grid((0.4, 0.4), cells=(2, 2))
    scene.add_shell(pdgpu.Mesh(grid.points + [0.0, 1.0, 0.0], triangles=grid.triangles), pdgpu.Spring(100.0), density=0.2)
    scene.add_rod(pdgpu.shapes.chain(3), pdgpu.Spring(200.0), density=0.05)
    scene.add_particles([[2.0, 0.0, 0.0]], mass=0.1)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=5), dt=1 / 100)
    sim.step(2)
    sim.write(tmp_path / "s.vtu")
    read = meshio.read(tmp_path / "s.vtu")
    assert [block.type for block in read.cells] == ["tetra", "triangle", "line", "vertex"]
    assert np.array_equal(read.points, sim.positions) and np.array_equal(read.point_data["velocity"], sim.velocities)
    assert np.array_equal(read.point_data["elastic_force"], sim.forces()) and read.point_data["pinned"].sum() == 1
    stress = sim.stress(solid)
    assert np.array_equal(read.cell_data["stress"][0].reshape(-1, 3, 3), stress) and np.isnan(read.cell_data["stress"][1]).all()
    principal = np.linalg.eigvalsh(stress)
    pairs = principal - np.roll(principal, 1, axis=1)
    np.testing.assert_allclose(read.cell_data["von_mises"][0], np.sqrt(0.5 * (pairs**2).sum(axis=1)), rtol=1e-6)
    assert [set(part) for part in read.cell_data["body"]] == [{0}, {1}, {2}, {3}]
    assert np.array_equal(read.cells[3].data, [[len(sim.positions) - 1]])
    with pytest.raises(ValueError, match=r"written as \.vtu or \.vtk"):
        sim.write(tmp_path / "s.obj")


def test_a_film_goes_on_where_a_simulation_was_loaded(tmp_path):
    """If not, a film of a long run cannot be longer than one sitting."""
    sim = block((0.0, -9.81, 0.0))
    sim.run(0.04, every=2, callback=sim.record(tmp_path / "fall.pvd"))
    sim.save(tmp_path / "s.npz")
    sim.run(0.04, every=2, callback=sim.record(tmp_path / "fall.pvd", append=True))
    sim = pdgpu.Simulation.load(tmp_path / "s.npz")
    film = sim.record(tmp_path / "fall.pvd", append=True)
    assert len(film) == 2  # of 0 and 0.02 s; from 0.04 s on it is filmed again
    sim.run(0.02, every=1, callback=film)
    frames = re.findall(r'timestep="(.*?)" file="(.*?)"', (tmp_path / "fall.pvd").read_text())
    assert [float(time) for time, _ in frames] == pytest.approx([0.0, 0.02, 0.04, 0.05, 0.06]) and len(film) == 5
    assert np.array_equal(meshio.read(tmp_path / frames[-1][1]).points, sim.positions)
    with pytest.raises(ValueError, match=r"a film is a \.pvd file"):
        sim.record(tmp_path / "fall.vtu")


def test_an_animation_has_its_frames(tmp_path):
    """If not, what is shown to others is a still."""
    from PIL import Image

    pytest.importorskip("pyvista")
    sim = block((0.0, -9.81, 0.0))
    history = animate(sim, tmp_path / "fall.gif", 0.1, fps=25, size=(2.0, 2.0), dpi=50)
    with Image.open(tmp_path / "fall.gif") as film:
        assert film.n_frames == len(history["time"]) == 4 and film.size == (100, 100)
        first = np.asarray(film.convert("RGB"), dtype=float)
        film.seek(3)
        assert np.abs(first - np.asarray(film.convert("RGB"), dtype=float)).max() > 100.0
    with pytest.raises(ValueError, match=r"path: .*\.gif.*\.mp4"):
        animate(sim, tmp_path / "fall.avi", 0.1)


def test_a_film_for_players_has_its_frames(tmp_path, monkeypatch):
    """If not, .mp4 is promised and is empty, or fails without saying what is missing."""
    matplotlib = pytest.importorskip("matplotlib.animation")
    pytest.importorskip("pyvista")
    sim = block((0.0, -9.81, 0.0))
    with monkeypatch.context() as without:
        without.setattr(matplotlib.FFMpegWriter, "isAvailable", classmethod(lambda cls: False))
        without.setitem(sys.modules, "imageio_ffmpeg", None)
        with pytest.raises(
            RuntimeError, match=r"animate: \.mp4 needs the program ffmpeg, which is not installed: pip install imageio-ffmpeg"
        ):
            animate(sim, tmp_path / "fall.mp4", 0.1)
    assert sim.time == 0.0 and not list(tmp_path.iterdir())
    if not (program := shutil.which("ffmpeg")):
        program = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    history = animate(sim, tmp_path / "fall.mp4", 0.1, fps=25, size=(2.0, 2.0), dpi=50)
    command = [program, "-v", "error", "-i", tmp_path / "fall.mp4", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    found = np.frombuffer(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout, np.uint8)
    frames = found.reshape(-1, 100, 100, 3).astype(float)
    assert len(frames) == len(history["time"]) == 4 and np.abs(frames[0] - frames[-1]).max() > 100.0
    assert [path.name for path in tmp_path.iterdir()] == ["fall.mp4"]
