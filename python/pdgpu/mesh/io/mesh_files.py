"""Mesh files: plain arrays from a path.

meshio reads the formats of VTK, Medit and Abaqus, and its result is compared with the counts of the file from `mesh_counts`. The other
readers are our own; their module docstrings give the reasons. Every exception of a reader becomes a ValueError that begins with the path.
"""

from __future__ import annotations

import contextlib
import errno
import io
import lzma
import os
import tempfile
import threading
import warnings
import zlib
from pathlib import Path
from unittest import mock

import numpy as np

from pdgpu._internal.file_limits import check_growth, check_regular, checked_gunzip, most_of
from pdgpu.mesh.io import mesh_counts, mesh_readers
from pdgpu.mesh.io.cell_kinds import of_meshio
from pdgpu.mesh.io.gmsh_reader import read_gmsh
from pdgpu.mesh.io.ply_reader import read_ply

__all__ = ["as_path", "format_of", "quiet", "read_arrays"]

_ENDLESS = (".obj", ".off", ".inp", ".node", ".ele", ".t", ".seg")
_CONSOLE = threading.Lock()
# a forked process has no thread to release it
os.register_at_fork(after_in_child=lambda: globals().update(_CONSOLE=threading.Lock()))


def read_arrays(path):
    """Read points (n, 3), a dict of the elements ("tets", "triangles", "edges"), and one with "groups" and "cell_data", if the format has
    them; see `pdgpu.read_mesh`.
    """
    path = as_path(path)
    suffix, compressed = format_of(path, _READERS)
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    pair = (path.with_suffix(".node"), path.with_suffix(".ele")) if suffix in (".node", ".ele") else (path,)
    for file in pair:
        check_regular(file)
    try:
        if compressed:
            with tempfile.TemporaryDirectory() as folder:
                plain = Path(folder, path.stem)
                checked_gunzip(path, plain)
                points, elements, named = _READERS[suffix](plain)
        else:
            points, elements, named = _READERS[suffix](path)
    except (FileNotFoundError, PermissionError, UserWarning):
        raise
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path}: cannot be read as {suffix}{_reason(error)}") from error
    named = dict(named)
    remarks = [f"{path}: {remark}" for remark in named.pop("remarks", ())]
    if not compressed:
        remarks += [f"{file}: the last line has no end; was the file cut off?" for file in pair if _ends_within_a_line(file)]
    elements, named, dropped = _without_repeats(elements, named)
    if dropped:
        remarks.append(f"{path}: triangles of no area, which have a vertex twice, were left out: {dropped}")
    for remark in remarks:
        warnings.warn(remark, stacklevel=3)
    return points, elements, named


def _reason(error):
    """The reason of a reader's failure. Texts that begin with "holds", "is" or "asks" name a content that cannot be used; with others the
    file may be damaged.
    """
    text = str(error).strip().rstrip(".")
    if isinstance(error, MemoryError):
        text = "it asks for more memory than there is"
    elif isinstance(error, KeyError):
        text = f"it has {text}, which the format does not know, or lacks it"
    elif not isinstance(error, ValueError) or " " not in text:
        text = f"it does not follow the format ({type(error).__name__}{': ' if text else ''}{text})"
    return f": {text}" if text.startswith(("holds ", "is ", "asks ")) else f", damaged or truncated? ({text})"


def _without_repeats(elements, named):
    """The same without triangles with a repeated vertex, and the number of these; the rows of groups are renumbered."""
    triangles = np.asarray(elements.get("triangles", ()))
    if triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu":
        return elements, named, 0
    a, b, c = triangles.T
    kept = (a != b) & (b != c) & (c != a)
    if kept.all():
        return elements, named, 0
    new_row = np.cumsum(kept) - 1
    groups, data = ({name: dict(kinds) for name, kinds in named.get(what, {}).items()} for what in ("groups", "cell_data"))
    for kinds in groups.values():
        if "triangles" in kinds:
            kinds["triangles"] = new_row[kinds["triangles"][kept[kinds["triangles"]]]]
    for kinds in data.values():
        if "triangles" in kinds:
            kinds["triangles"] = kinds["triangles"][kept]
    return elements | {"triangles": triangles[kept]}, {"groups": groups, "cell_data": data}, int((~kept).sum())


def as_path(path):
    """A `Path` from a str or path-like."""
    try:
        return Path(path)
    except TypeError:
        raise TypeError(f"path: expected a string or a path, got {path!r}") from None


def format_of(path, known):
    """The lower-case suffix that names the format, without .gz, and whether there was a .gz."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compressed = suffixes[-1:] == [".gz"]
    suffix = (suffixes[:-1] if compressed else suffixes)[-1:]
    if not suffix or suffix[0] not in known:
        raise ValueError(f"{path}: unknown mesh format; known are {' '.join(known)}")
    return suffix[0], compressed


@contextlib.contextmanager
def quiet():
    """Suppresses the remarks of meshio on the console and its warnings about NumPy, which do not concern the reader of a mesh.

    One thread at a time: console and warnings belong to the process, and concurrent users would restore each other's settings.
    """
    silence = io.StringIO()
    with _CONSOLE, contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # this warning means a truncated file: NumPy read fewer numbers than were announced
        warnings.filterwarnings("error", message="string or file could not be read to its end")
        yield


def _ends_within_a_line(path):
    """Tells whether a text file, of a format without an end mark, may have lost digits of its last number."""
    content = path.read_bytes()
    text = b"\nformat ascii" in content[:1000] if path.suffix.lower() == ".ply" else path.suffix.lower() in _ENDLESS
    return text and bool(content[-1:].strip())


class _Bounded:
    """zlib or lzma for meshio's reader of .vtu, with a bound of the decompressed size."""

    def __init__(self, decoder, size):
        self._decoder, self._size, self._total = decoder, size, 0

    def decompress(self, content):
        decoder = self._decoder()
        result = decoder.decompress(content, most_of(self._size) + 1)  # one byte more reveals an overflow
        self._total += len(result)
        check_growth(f"{self._total} bytes", self._total, self._size)
        if not decoder.eof:
            raise ValueError("a compressed block ends too early")
        return result


def _read_meshio(path):
    import meshio

    suffix = path.suffix.lower()
    content = path.read_bytes()
    size = len(content)
    said, stated_points, stated_cells, stated_corners = _COUNTS[suffix](content)
    # meshio reads the counted content, even if another program replaces the file meanwhile
    with tempfile.TemporaryDirectory() as folder, quiet(), contextlib.ExitStack() as stack:
        counted = Path(folder, "mesh" + (".vtu" if suffix == ".vtp" else suffix))
        counted.write_bytes(said)
        read = {".vtk": meshio.vtk, ".vtu": meshio.vtu, ".vtp": meshio.vtu, ".inp": meshio.abaqus}.get(suffix, meshio.medit).read
        if suffix in (".vtu", ".vtp"):
            for name, decoder in (("zlib", zlib.decompressobj), ("lzma", lzma.LZMADecompressor)):
                stack.enter_context(mock.patch(f"meshio.vtu._vtu.{name}", _Bounded(decoder, size)))
        mesh = read(counted)
    points, elements, named = of_meshio(mesh, size)
    for what, stated, found in (
        ("points", stated_points, len(mesh.points)),
        ("cells", stated_cells, sum(len(block.data) for block in mesh.cells)),
        ("corners of cells", stated_corners, sum(np.size(block.data) for block in mesh.cells)),
    ):
        if stated is not None and found != stated:
            raise ValueError(f"it announces {stated} {what}, of which {found} can be read")
    if suffix == ".mesh" and not mesh_counts.has_end(content):
        named["remarks"] = ["it does not end with End; was the file cut off?"]
    return points, elements, named


_COUNTS = {
    ".vtk": mesh_counts.of_vtk,
    ".vtu": mesh_counts.of_vtu,
    ".vtp": mesh_counts.of_vtp,
    ".mesh": mesh_counts.of_medit,
    ".meshb": mesh_counts.of_medit,
    ".inp": mesh_counts.of_abaqus,
}
_READERS = (
    {".msh": read_gmsh}
    | dict.fromkeys(_COUNTS, _read_meshio)
    | {
        ".ply": read_ply,
        ".stl": mesh_readers.read_stl,
        ".off": mesh_readers.read_off,
        ".node": mesh_readers.read_tetgen,
        ".ele": mesh_readers.read_tetgen,
        ".obj": mesh_readers.read_obj,
        ".t": mesh_readers.read_t,
        ".seg": mesh_readers.read_seg,
        ".npz": mesh_readers.read_npz,
    }
)
