"""Small files that ask for much: time and memory follow from the size of a file."""

import base64
import gc
import gzip
import io
import os
import signal
import struct
import threading
import time
import zipfile
import zlib

import numpy as np
import pytest

import pdgpu


def seconds(path):
    """Processor time of a read, or of its refusal, and the refusal."""
    start = time.process_time()
    try:
        pdgpu.read_mesh(path)
        return time.process_time() - start, None
    except ValueError as error:
        return time.process_time() - start, str(error)


def zeros_npz(path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**7, 3)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("points.npy", header.getvalue() + bytes(24 * 10**7))
        with archive.open("tets.npy", "w") as file:
            np.lib.format.write_array(file, np.arange(4, dtype=np.int32)[None])


def zeros_vtu(path, announced):
    block, n = zlib.compress(bytes(2**24)), 20
    header = struct.pack(f"<{3 + n}I", n, announced, 0, *[len(block)] * n)
    data = (base64.b64encode(header) + base64.b64encode(block * n)).decode()
    integers = '<DataArray type="Int64" Name="{}" format="ascii">{}</DataArray>'
    cells = "".join(integers.format(*row) for row in (("connectivity", "0 1 2 3"), ("offsets", 4), ("types", 10)))
    path.write_text(
        '<VTKFile type="UnstructuredGrid" version="0.1" byte_order="LittleEndian" compressor="vtkZLibDataCompressor"><UnstructuredGrid>'
        f'<Piece NumberOfPoints="{2**24 * n // 24}" NumberOfCells="1"><Points><DataArray type="Float64" NumberOfComponents="3" '
        f'format="binary">{data}</DataArray></Points><Cells>{cells}</Cells></Piece></UnstructuredGrid></VTKFile>\n'
    )


def zeros_gz(path):
    with gzip.open(path, "wb") as file:
        for _ in range(12):
            file.write(b"v 0 0 0\n" * 2**20)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("zeros.npz", zeros_npz),
        ("zeros.vtu", lambda path: zeros_vtu(path, 2**24)),
        ("liar.vtu", lambda path: zeros_vtu(path, 24)),
        ("zeros.obj.gz", zeros_gz),
    ],
)
def test_a_compressed_file_holds_no_more_than_its_size_allows(name, write, tmp_path):
    """If not, a file of 2 MB takes a minute and all memory."""
    path = tmp_path / name
    write(path)
    taken, refusal = seconds(path)
    assert "over 100 times its" in refusal and taken < 3.0


def test_groups_of_an_obj_cost_what_they_hold(tmp_path):
    """If not, k groups over k faces take k squared rows of a file of 70 kB."""
    path, k = tmp_path / "groups.obj", 5000
    corners, names = "v 0 0 0\nv 1 0 0\nv 0 1 0\n", [f"a{number}" for number in range(k)]
    path.write_text(f"{corners}g {' '.join(names)}\n" + "f 1 2 3\n" * k)
    taken, refusal = seconds(path)
    assert "asks for groups of" in refusal and taken < 3.0
    path.write_text(corners + "".join(f"g {name}\nf 1 2 3\n" for name in names))
    assert len(pdgpu.read_mesh(path).groups) == k


def test_many_groups_of_gmsh_are_written_and_read_in_linear_time(tmp_path):
    """If not, a file in which each element is a group of its own takes minutes."""
    path, k = tmp_path / "groups.msh", 8000
    rows = np.tile([[0, 1, 2]], (k, 1))
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    mesh = pdgpu.Mesh(points, triangles=rows, groups={f"part {number}": {"triangles": [number]} for number in range(k)})
    start = time.process_time()
    mesh.write(path)
    assert len(pdgpu.read_mesh(path).groups) == k
    assert time.process_time() - start < 6.0


@pytest.mark.parametrize("name", ["pipe.obj", "pipe.msh", "pipe.npz", "pipe.ply.gz", "pipe.node"])
def test_a_named_pipe_is_not_waited_for(name, tmp_path):
    """If not, a read of a path that is a pipe never returns."""
    os.mkfifo(tmp_path / name)
    if name.endswith(".node"):
        (tmp_path / "pipe.ele").write_text("")
    with pytest.raises(ValueError, match=rf"{name}: is a pipe or a device, not a file"):
        pdgpu.read_mesh(tmp_path / name)


def test_reading_stops_at_ctrl_c(tmp_path):
    """If not, a large file cannot be given up."""
    path = tmp_path / "large.obj"
    path.write_text("".join(f"v {k} 0 0\n" for k in range(300000)) + "f 1 2 3\n" * 300000)
    # a callback of the garbage collector, such as hypothesis has, swallows the exception of a signal that comes during it
    gc.disable()
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            pdgpu.read_mesh(path)
    finally:
        signal.signal(signal.SIGINT, handler)
        gc.enable()


@pytest.mark.parametrize("suffix", [".msh", ".vtk", ".vtu", ".vtp", ".mesh", ".meshb", ".inp", ".ply", ".stl", ".off", ".npz"])
@pytest.mark.parametrize(
    "content", [b"", b"# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\n", b"MeshVersionFormatted 7\n"]
)
def test_reasons_are_sentences(suffix, content, tmp_path):
    """If not, a refusal says "(1)" or "(MemoryError)"."""
    path = tmp_path / f"mesh{suffix}"
    path.write_bytes(content)
    with pytest.raises(ValueError) as caught:
        pdgpu.read_mesh(path)
    reason = str(caught.value).removeprefix(f"{path}: cannot be read as {suffix}").removeprefix(", damaged or truncated? (")
    assert len(reason.split()) > 3 and "SystemExit" not in reason, reason
