"""Mesh files: plain arrays from a path.

meshio reads most of it; `mesh_counts` holds what it has read against what the file says, `mesh_readers` reads what it does not
read well. Whatever a reader throws at a damaged file becomes a ValueError that begins with the path.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import shutil
import tempfile
import threading
import warnings
from pathlib import Path

import numpy as np

from pdgpu.mesh.io import mesh_counts, mesh_readers
from pdgpu.mesh.io.mesh_readers import split_polygons

MESHIO_FORMATS = {
    ".msh": "gmsh",
    ".vtk": "vtk",
    ".vtu": "vtu",
    ".mesh": "medit",
    ".ply": "ply",
    ".stl": "stl",
    ".off": "off",
    ".inp": "abaqus",
    ".node": "tetgen",
    ".ele": "tetgen",
    ".obj": "obj",
}
_ENDLESS = (".obj", ".off", ".inp", ".node", ".ele", ".t", ".seg")
_CONSOLE = threading.Lock()
# a forked process has no thread that would release it
os.register_at_fork(after_in_child=lambda: globals().update(_CONSOLE=threading.Lock()))


def read_arrays(path):
    """Read points (n, 3), a dict of the elements found ("tets", "triangles", "edges"), and one with "groups" and "cell_data", which the
    format may not have; see `pdgpu.read_mesh`."""
    path = as_path(path)
    suffix, compressed = format_of(path, _READERS)
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    try:
        if not compressed:
            arrays = _with_names(_READERS[suffix](path))
            for file in (path.with_suffix(".node"), path.with_suffix(".ele")) if suffix in (".node", ".ele") else (path,):
                if _ends_within_a_line(file):
                    warnings.warn(f"{file}: the last line has no end; was the file cut off?", stacklevel=3)
            return arrays
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder, path.stem)
            with gzip.open(path, "rb") as source, open(plain, "wb") as target:
                shutil.copyfileobj(source, target)
            return _with_names(_READERS[suffix](plain))
    except (FileNotFoundError, PermissionError, IsADirectoryError, UserWarning):
        raise
    # meshio ends the program where no reader fits; a count that was damaged asks for more memory than there is
    except (Exception, SystemExit) as error:
        reason = str(error) or type(error).__name__
        raise ValueError(f"{path}: cannot be read as {suffix}, damaged or truncated? ({reason})") from error


def _with_names(arrays):
    """Points, elements and what is named, which some readers leave out."""
    return arrays if len(arrays) == 3 else (*arrays, {})


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
    """meshio writes remarks to the console and warns of its own use of NumPy; neither concerns the reader of a mesh.

    One thread at a time: console and warnings belong to the process, and of two that set them aside one would restore the other's.
    """
    silence = io.StringIO()
    with _CONSOLE, contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # this one is a truncated file: NumPy read fewer numbers than were announced
        warnings.filterwarnings("error", message="string or file could not be read to its end")
        yield


def _ends_within_a_line(path):
    """Whether a file of text, of a format that has no word for its end, may have lost digits of its last number."""
    content = path.read_bytes()
    text = b"\nformat ascii" in content[:1000] if path.suffix.lower() == ".ply" else path.suffix.lower() in _ENDLESS
    return text and bool(content[-1:].strip())


def _read_meshio(path):
    import meshio

    suffix = path.suffix.lower()
    content = path.read_bytes()
    n_points, n_cells, n_corners = _COUNTS[suffix](content)
    # meshio reads what was counted, also where another program replaces the file meanwhile
    with tempfile.TemporaryDirectory() as folder, quiet():
        counted = Path(folder, "mesh" + suffix)
        counted.write_bytes(content)
        mesh = meshio.read(counted, file_format=MESHIO_FORMATS[suffix])
    for what, stated, read in (
        ("points", n_points, len(mesh.points)),
        ("cells", n_cells, sum(len(block.data) for block in mesh.cells)),
        ("corners of cells", n_corners, sum(np.size(block.data) for block in mesh.cells)),
    ):
        if stated is not None and read != stated:
            raise ValueError(f"announces {stated} {what}, of which {read} can be read")
    return of_meshio(mesh)


def of_meshio(mesh):
    """Points, elements, and groups and cell data of a meshio.Mesh. ValueError for cells that cannot be used."""
    points = np.asarray(mesh.points)
    if points.ndim == 2 and points.shape[1] == 2:
        points = np.column_stack([points, np.zeros(len(points))])
    found, places = {"tets": [], "triangles": [], "edges": []}, []
    for block in mesh.cells:
        kind, rows, split = _elements_of(block)
        first = sum(map(len, found[kind])) if kind != "points" else 0
        places.append((kind, rows[:, 0] if kind == "points" else first + np.arange(len(rows)), split))
        if kind != "points":
            found[kind].append(rows)
    elements = {name: np.concatenate(parts) for name, parts in found.items() if parts}
    return points, elements, {"groups": _groups(mesh, places), "cell_data": _cell_data(mesh, places)}


def _elements_of(block):
    """Kind and rows of a block of cells, and how many rows each cell became."""
    if block.type == "tetra":
        return "tets", np.asarray(block.data), 1
    if block.type in ("triangle", "quad") or block.type.startswith("polygon"):
        # blocks of polygons may come as lists of rows of one length
        return "triangles", split_polygons(block.data), np.asarray(block.data).shape[1] - 2
    if block.type == "line":
        return "edges", np.asarray(block.data), 1
    if block.type == "vertex":
        return "points", np.asarray(block.data).reshape(-1, 1), 1
    raise ValueError(f"holds cells of type {block.type}; only tetra, triangle, quad, polygon and line can be used")


def _groups(mesh, places):
    groups = {}

    def add(name, kind, rows):
        groups.setdefault(str(name), {}).setdefault(kind, []).append(np.asarray(rows, dtype=np.int64))

    physical = mesh.cell_data.get("gmsh:physical")
    if physical is not None:
        dimension = {"points": 0, "edges": 1, "triangles": 2, "tets": 3}
        names = {tuple(int(number) for number in value): name for name, value in mesh.field_data.items() if np.size(value) == 2}
        for (kind, rows, split), tags in zip(places, physical, strict=True):
            tags = np.repeat(np.asarray(tags), split)
            for tag in np.unique(tags[tags != 0]):
                add(names.get((int(tag), dimension[kind]), f"physical {int(tag)}"), kind, rows[tags == tag])
    for name, sets in mesh.cell_sets.items():
        if name.startswith("gmsh:") or (physical is not None and name in groups):
            continue
        for (kind, rows, split), chosen in zip(places, sets, strict=False):
            if chosen is not None and np.size(chosen):
                chosen = np.asarray(chosen, dtype=np.int64)
                add(name, kind, rows[(chosen[:, None] * split + np.arange(split)).ravel()])
    for name, chosen in mesh.point_sets.items():
        add(name, "points", chosen)
    return {name: {kind: np.concatenate(parts) for kind, parts in kinds.items()} for name, kinds in groups.items()}


def _cell_data(mesh, places):
    data = {}
    for name, blocks in mesh.cell_data.items():
        parts = {}
        for (kind, _, split), values in zip(places, blocks, strict=True):
            if kind != "points":
                parts.setdefault(kind, []).append(np.repeat(np.asarray(values), split, axis=0))
        # numbers alone, which all blocks of a kind have in one shape
        whole = {kind: values for kind, values in parts.items() if len({value.shape[1:] for value in values}) == 1}
        joined = {kind: np.concatenate(values) for kind, values in whole.items()}
        # where nothing is a number nothing is said of that kind
        joined = {
            kind: values
            for kind, values in joined.items()
            if values.dtype.kind in "iu" or (values.dtype.kind == "f" and not np.isnan(values).all())
        }
        if joined:
            data[name] = joined
    return data


_COUNTS = {
    ".msh": mesh_counts.of_gmsh,
    ".vtk": mesh_counts.of_vtk,
    ".vtu": mesh_counts.of_vtu,
    ".mesh": mesh_counts.of_medit,
    ".inp": mesh_counts.of_abaqus,
}
_READERS = dict.fromkeys(_COUNTS, _read_meshio) | {
    ".ply": mesh_readers.read_ply,
    ".stl": mesh_readers.read_stl,
    ".off": mesh_readers.read_off,
    ".node": mesh_readers.read_tetgen,
    ".ele": mesh_readers.read_tetgen,
    ".obj": mesh_readers.read_obj,
    ".t": mesh_readers.read_t,
    ".seg": mesh_readers.read_seg,
    ".npz": mesh_readers.read_npz,
}
