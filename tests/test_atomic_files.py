"""Whoever opens a file that is being written reads the old one or the new one."""

import csv
import os
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

import pdgpu
from pdgpu import shapes
from pdgpu._internal.atomic_files import replacing

TETS = shapes.beam((1, 1, 1), (2, 2, 2))
CLOTH = shapes.grid((1.0, 1.0), cells=(4, 4))
MESHES = {".npz": TETS, ".vtu": TETS, ".msh.gz": TETS, ".node": TETS, ".obj": CLOTH}


def simulation(mesh=TETS):
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP(1e4), density=1.0)
    return pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=1), threads=1)


def in_threads(n, run):
    """Run run(k) for k < n at once; the first exception of any is raised here."""
    failures, start = [], threading.Barrier(n)

    def guarded(k):
        start.wait()
        try:
            run(k)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.fixture
def impatient():
    """Threads change as often as they can, so that what is not atomic shows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_two_threads_may_save_to_one_path(tmp_path, impatient):
    """If not, two runs that save under one name put a damaged file there, or one removes the file of the other."""
    sims = [simulation(shapes.beam((1, 1, 1), (n, 2, 2))) for n in (1, 2, 3, 4)]
    path = tmp_path / "state"
    allowed = {len(sim.positions) for sim in sims}
    for _ in range(15):
        in_threads(4, lambda k: sims[k].save(path))
        assert len(pdgpu.Simulation.load(path, threads=1).positions) in allowed
    assert os.listdir(tmp_path) == ["state"]


@pytest.mark.parametrize("suffix", [".npz", ".vtu", ".msh.gz"])
def test_a_mesh_is_read_whole_while_it_is_written(suffix, tmp_path, impatient):
    """If not, a viewer that follows a running simulation reads half a frame."""
    meshes = [TETS, shapes.beam((1, 1, 1), (5, 3, 2))]
    path = tmp_path / f"mesh{suffix}"
    meshes[0].write(path)
    counts = {len(mesh.tets) for mesh in meshes}

    def run(k):
        for j in range(6):
            if k < 2:
                meshes[(j + k) % 2].write(path)
            else:
                assert len(pdgpu.read_mesh(path).tets) in counts

    console = sys.stdout, sys.stderr
    in_threads(4, run)
    assert os.listdir(tmp_path) == [path.name]
    assert (sys.stdout, sys.stderr) == console  # meshio's remarks are kept off it


def writers(folder):
    """Everything that writes a file: name -> function of no arguments that writes it."""
    sim = simulation()
    result = {f"mesh{suffix}": lambda mesh=mesh, suffix=suffix: mesh.write(folder / f"mesh{suffix}") for suffix, mesh in MESHES.items()}
    scene = pdgpu.Scene()
    scene.add_solid(TETS, pdgpu.ARAP(1e4), density=1.0)
    comparison = pdgpu.compare(scene, {"PD": pdgpu.ProjectiveDynamics(iterations=2)}, dt=0.1)
    result["state"] = lambda: sim.save(folder / "state")
    result["table.csv"] = lambda: comparison.to_csv(folder / "table.csv")
    return result


def test_modes_are_those_of_the_umask_or_of_the_file_before(tmp_path):
    """If not, a file in a shared folder is closed to the others, or a secret one open to them."""
    before = os.umask(0o027)
    try:
        for name, write in writers(tmp_path).items():
            write()
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640, name
            os.chmod(tmp_path / name, 0o604)
            write()
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o604, name
        assert stat.S_IMODE((tmp_path / "mesh.ele").stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_links_are_followed(tmp_path):
    """If not, saving through a link to another disk fills this one, and the file that others read stays the old one."""
    (tmp_path / "links").mkdir()
    (tmp_path / "files").mkdir()
    for name, write in writers(tmp_path / "links").items():
        target, link = tmp_path / "files" / name, tmp_path / "links" / name
        link.symlink_to(target)
        write()  # nothing there yet
        first = target.stat().st_ino
        write()
        assert link.is_symlink() and target.stat().st_ino != first, name
    assert pdgpu.read_mesh(tmp_path / "links" / "mesh.vtu").tets.tolist() == TETS.tets.tolist()


def test_a_writer_that_fails_leaves_what_was_there(tmp_path):
    """If not, a full disk costs the last good file, or litters the folder."""
    path = tmp_path / "precious"
    path.write_bytes(b"before")
    for error in (OSError, KeyboardInterrupt):
        with pytest.raises(error), replacing(path) as unfinished:
            unfinished.write_bytes(b"half")
            raise error
        assert path.read_bytes() == b"before" and os.listdir(tmp_path) == ["precious"]
    with pytest.raises(FileNotFoundError, match="nowhere"), replacing(tmp_path / "nowhere" / "a"):
        pass
    if os.geteuid():  # root may write everything
        path.chmod(0o400)
        with pytest.raises(PermissionError, match="precious"), replacing(path):
            pass


def test_pipes_are_written_to(tmp_path):
    """If not, a pipe that another program reads from is replaced by a file."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    with replacing(path) as unfinished:
        unfinished.write_bytes(b"all of it")
    reader.join()
    assert received == [b"all of it"] and path.is_fifo()


@pytest.mark.parametrize("memory", ["device_positions", "device_velocities"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_state_that_is_not_finite_is_not_saved(memory, value, tmp_path):
    """If not, the last good checkpoint is replaced by one that cannot be loaded."""
    sim = simulation()
    sim.save(tmp_path / "state")
    good = (tmp_path / "state").read_bytes()
    np.asarray(getattr(sim, memory))[3, 1] = value
    with pytest.raises(ValueError, match=rf"{memory.removeprefix('device_')}: value {value} at \(3, 1\) is not finite"):
        sim.save(tmp_path / "state")
    assert (tmp_path / "state").read_bytes() == good and os.listdir(tmp_path) == ["state"]


def test_leftovers_of_killed_writers_are_removed(tmp_path):
    """If not, a run that is killed again and again fills its folder with half checkpoints, or a writer loses its file to another one."""
    path = tmp_path / "state"
    code = "import os, sys\nfrom pdgpu._internal.atomic_files import replacing\nwith replacing(sys.argv[1]) as half:\n"
    code += "    half.write_bytes(b'half')\n    os.kill(os.getpid(), 9)\n"
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code, path], check=False)
    assert len(os.listdir(tmp_path)) == 1  # the second has removed what the first left
    subprocess.run([sys.executable, "-c", code, tmp_path / "other"], check=False)
    with replacing(path) as mine:
        mine.write_bytes(b"mine")
        with replacing(path) as theirs:  # a writer at the same time is no leftover
            theirs.write_bytes(b"theirs")
        assert path.read_bytes() == b"theirs" and mine.read_bytes() == b"mine"
    assert path.read_bytes() == b"mine"
    (left,) = (name for name in os.listdir(tmp_path) if name != "state")
    assert os.listdir(tmp_path / left) == ["other"]  # which a writer of that path will remove
    with replacing(tmp_path / "other") as whole:
        whole.write_bytes(b"whole")
    assert sorted(os.listdir(tmp_path)) == ["other", "state"]


def test_cells_of_a_table_are_no_formulas(tmp_path):
    """If not, a name from a stranger's scene is run by the spreadsheet that opens the table."""
    scene = pdgpu.Scene()
    scene.add_solid(TETS, pdgpu.ARAP(1e4), density=1.0)
    comparison = pdgpu.compare(scene, {"=1+2": pdgpu.ProjectiveDynamics(iterations=2), "PD": pdgpu.ProjectiveDynamics()}, dt=0.1)
    comparison.to_csv(tmp_path / "table.csv", **{"note": "@cmd", "+sum": "-1", "number": -1.5})
    with open(tmp_path / "table.csv", newline="") as file:
        rows = list(csv.reader(file))
    cells = {cell for row in rows for cell in row}
    assert {"'=1+2", "PD", "'@cmd", "'+sum", "'-1", "-1.5"} <= cells
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "@") or (cell[:1] == "-" and not cell[1:2].isdigit())]
