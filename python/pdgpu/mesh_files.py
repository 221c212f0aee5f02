"""Mesh files: plain arrays from and to a path.

meshio does most of it. What it does not do well is read here: its OBJ reader refuses common files (texture coordinates counted
separately, relative indices, polylines), its TetGen reader never returns from a truncated file, and its STL reader cuts a binary one
short in silence; three small formats it does not know. Whatever a reader throws at a damaged file becomes a ValueError that begins
with the path.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import itertools
import os
import shutil
import tempfile
import threading
import warnings
from pathlib import Path

import numpy as np

from pdgpu.array_archive import ArrayArchive
from pdgpu.atomic_files import replacing

_MESHIO_FORMATS = {
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
_CONSOLE = threading.Lock()
_EVERYTHING = ("tets", "triangles", "edges")
_WRITABLE = {
    ".msh": _EVERYTHING,
    ".vtk": _EVERYTHING,
    ".vtu": _EVERYTHING,
    ".mesh": _EVERYTHING,
    ".npz": _EVERYTHING,
    ".obj": ("triangles",),
    ".ply": ("triangles",),
    ".stl": ("triangles",),
    ".off": ("triangles",),
    ".node": ("tets",),
    ".ele": ("tets",),
}
_CELL_OF = {"tets": "tetra", "triangles": "triangle", "edges": "line"}


def read_arrays(path):
    """Read points (n, 3) and a dict of the elements found ("tets", "triangles", "edges"); see `pdgpu.read_mesh`."""
    path = as_path(path)
    suffix, compressed = _format_of(path, _READERS)
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    try:
        if not compressed:
            return _READERS[suffix](path)
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder, "mesh" + suffix)
            with gzip.open(path, "rb") as source, open(plain, "wb") as target:
                shutil.copyfileobj(source, target)
            return _READERS[suffix](plain)
    except (MemoryError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except (Exception, SystemExit) as error:  # meshio ends the program where no reader fits
        reason = str(error) or type(error).__name__
        raise ValueError(f"{path}: cannot be read as {suffix}, damaged or truncated? ({reason})") from error


def write_arrays(path, points, elements):
    """Write points (n, 3) and a dict of elements; see `pdgpu.Mesh.write`."""
    path = as_path(path)
    suffix, compressed = _format_of(path, _WRITABLE)
    for name in elements:
        if name not in _WRITABLE[suffix]:
            raise ValueError(f"{path}: {suffix} files cannot hold {name}")
    if suffix in (".node", ".ele"):
        if compressed:
            raise ValueError(f"{path}: the .node and .ele pair cannot be compressed")
        _write_tetgen(path, points, elements)
        return
    with replacing(path) as unfinished:
        if not compressed:
            _write_plain(unfinished, suffix, points, elements)
            return
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder, "mesh" + suffix)
            _write_plain(plain, suffix, points, elements)
            with open(plain, "rb") as source, gzip.open(unfinished, "wb") as target:
                shutil.copyfileobj(source, target)


def as_path(path):
    """A `Path` from a str or path-like."""
    try:
        return Path(path)
    except TypeError:
        raise TypeError(f"path: expected a string or a path, got {path!r}") from None


def _format_of(path, known):
    """The lower-case suffix that names the format, without .gz, and whether there was a .gz."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compressed = suffixes[-1:] == [".gz"]
    suffix = (suffixes[:-1] if compressed else suffixes)[-1:]
    if not suffix or suffix[0] not in known:
        raise ValueError(f"{path}: unknown mesh format; known are {' '.join(known)}")
    return suffix[0], compressed


@contextlib.contextmanager
def _quiet():
    """meshio writes remarks to the console and warns of its own use of NumPy; neither concerns the reader of a mesh.

    One thread at a time: console and warnings belong to the process, and of two that set them aside one would restore the other's.
    """
    silence = io.StringIO()
    with _CONSOLE, contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # this one is a truncated file: NumPy read fewer numbers than were announced
        warnings.filterwarnings("error", message="string or file could not be read to its end")
        yield


def _write_plain(path, suffix, points, elements):
    if suffix == ".npz":
        np.savez(path, points=points, **elements)
        return
    import meshio

    cells = [(_CELL_OF[name], rows) for name, rows in elements.items()]
    # Gmsh 2.2, because meshio writes version 4.1 only for one kind of cell
    file_format = "gmsh22" if suffix == ".msh" else _MESHIO_FORMATS[suffix]
    with _quiet():
        meshio.write(path, meshio.Mesh(points, cells), file_format=file_format)


def _write_tetgen(path, points, elements):
    """The pair: meshio writes both files beside each other, where links may have put them apart."""
    with replacing(path.with_suffix(".node")) as node, replacing(path.with_suffix(".ele")) as ele, tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "mesh.node")
        _write_plain(plain, ".node", points, elements)
        shutil.copyfile(plain, node)
        shutil.copyfile(plain.with_suffix(".ele"), ele)


def _split_polygons(faces):
    """Polygons with k corners, (m, k), as fans of triangles (m (k - 2), 3)."""
    faces = np.asarray(faces)
    fans = [faces[:, [0, i, i + 1]] for i in range(1, faces.shape[1] - 1)]
    return np.stack(fans, axis=1).reshape(-1, 3)


def _read_meshio(path):
    import meshio

    with _quiet():
        mesh = meshio.read(path, file_format=_MESHIO_FORMATS[path.suffix.lower()])
    points = np.asarray(mesh.points)
    if points.ndim == 2 and points.shape[1] == 2:
        points = np.column_stack([points, np.zeros(len(points))])
    found = {"tets": [], "triangles": [], "edges": []}
    for block in mesh.cells:
        if block.type == "tetra":
            found["tets"].append(block.data)
        elif block.type in ("triangle", "quad") or block.type.startswith("polygon"):
            # blocks of polygons may come as lists of rows of one length
            found["triangles"].append(_split_polygons(block.data))
        elif block.type == "line":
            found["edges"].append(block.data)
        elif block.type != "vertex":
            raise ValueError(f"holds cells of type {block.type}; only tetra, triangle, quad, polygon and line can be used")
    return points, {name: np.concatenate(parts) for name, parts in found.items() if parts}


def _read_ply(path):
    """meshio looks for the end of the header for ever, so it must be there."""
    with open(path, "rb") as file:
        if not any(line.strip() == b"end_header" for line in file):
            raise ValueError("the header has no end")
    return _read_meshio(path)


def _read_off(path):
    """OFF: the word OFF, the counts, the points, the faces (polygons become fans). meshio reads for ever where the counts are missing."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    words = iter(" ".join(line.split("#", 1)[0] for line in lines).split())
    if next(words, None) != "OFF":
        raise ValueError("the first word is not OFF")
    try:
        n_points, n_faces, _ = (int(next(words)) for _ in range(3))
        points = [[float(next(words)) for _ in range(3)] for _ in range(n_points)]
        faces = [[int(next(words)) for _ in range(int(next(words)))] for _ in range(n_faces)]
    except (StopIteration, RuntimeError):  # inside a comprehension the end of the words comes as RuntimeError
        raise ValueError("it ends before its counts are reached") from None
    triangles = [(face[0], face[i], face[i + 1]) for face in faces for i in range(1, len(face) - 1)]
    return np.array(points, dtype=np.float64).reshape(-1, 3), _filled(triangles=triangles)


def _read_stl(path):
    """STL repeats the corners of every triangle: equal points become one, in the order they first appear."""
    content = path.read_bytes()
    n = int.from_bytes(content[80:84], "little")
    if len(content) >= 84 and len(content) == 84 + 50 * n:  # binary, whatever its first word
        facet = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
        points = np.frombuffer(content, dtype=facet, offset=84)["corners"].reshape(-1, 3).astype(np.float64)
        triangles = np.arange(3 * n).reshape(-1, 3)
    elif content.lstrip().startswith(b"solid") and b"endsolid" in content:
        points, elements = _read_meshio(path)
        triangles = elements["triangles"]
    else:
        raise ValueError("neither solid ... endsolid nor the length that its count of triangles asks for")
    _, first, inverse = np.unique(points + 0.0, axis=0, return_index=True, return_inverse=True)  # + 0.0: -0 is 0
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return points[first[order]], {"triangles": rank[inverse.reshape(-1)][triangles]}


def _read_obj(path):
    """Wavefront OBJ: v, f (polygons become fans) and l lines; indices count from 1, or backwards from the last vertex."""
    points, triangles, edges = [], [], []

    def index(word):
        number = int(word.split("/", 1)[0])
        if number == 0 or number < -len(points):
            raise ValueError(f"vertex {number} does not exist")
        return number - 1 if number > 0 else len(points) + number

    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ").splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        try:
            if words[0] == "v":
                points.append((float(words[1]), float(words[2]), float(words[3])))
            elif words[0] == "f":
                corners = [index(word) for word in words[1:]]
                if len(corners) < 3:
                    raise ValueError("a face needs three vertices")
                triangles.extend((corners[0], corners[i], corners[i + 1]) for i in range(1, len(corners) - 1))
            elif words[0] == "l":
                corners = [index(word) for word in words[1:]]
                edges.extend(itertools.pairwise(corners))
        except (IndexError, ValueError) as error:
            raise ValueError(f"line {number}: {line.strip()!r}: {error}") from error
    return np.array(points).reshape(-1, 3), _filled(triangles=triangles, edges=edges)


def _read_tetgen(path):
    """The TetGen pair: .node with lines ``id x y z ...``, .ele with lines ``id a b c d ...``, ids from 0 or 1, after a line of counts."""
    points, first = _read_tetgen_table(path.with_suffix(".node"), float, 3)
    tets, _ = _read_tetgen_table(path.with_suffix(".ele"), int, 4)
    return np.array(points).reshape(-1, 3), _filled(tets=[[v - first for v in tet] for tet in tets])


def _read_tetgen_table(path, number, width):
    """The rows of one file, `width` numbers each, and the id of the first."""
    lines = [line.split("#", 1)[0].split() for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    lines = [words for words in lines if words]
    if not lines or len(lines[0]) < 2 or int(lines[0][1]) != width:
        raise ValueError(f"{path.name} does not begin with a number of rows and {width}")
    n = int(lines[0][0])
    if len(lines) < n + 1:
        raise ValueError(f"{path.name} announces {n} rows and holds {len(lines) - 1}")
    rows = [[number(word) for word in words[1 : width + 1]] for words in lines[1 : n + 1]]
    if any(len(row) < width for row in rows):
        raise ValueError(f"{path.name} has a row of fewer than {width} numbers")
    return rows, int(lines[1][0]) if n else 0


def _read_lines(path, point_word, point_start, element_word, element_start, k, name):
    """Files of two kinds of line, each beginning with a word: a point's coordinates, an element's k indices."""
    points, elements = [], []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == point_word and len(words) == point_start + 3:
            points.append([float(word) for word in words[point_start:]])
        elif words[0] == element_word and len(words) == element_start + k:
            elements.append([int(word) for word in words[element_start:]])
        else:
            raise ValueError(f"line {number}: {line.strip()!r}")
        # where lines carry an id, the ids must count from 0 for the indices to mean the rows
        rows = points if words[0] == point_word else elements
        if element_start == 2 and int(words[1]) != len(rows) - 1:
            raise ValueError(f"line {number}: {words[0]} {words[1]} where {len(rows) - 1} was expected")
    return np.array(points).reshape(-1, 3), _filled(**{name: elements})


def _read_t(path):
    """The .t format: ``Vertex id x y z`` and ``Tet id a b c d`` lines, ids and indices from 0."""
    return _read_lines(path, "Vertex", 2, "Tet", 2, 4, "tets")


def _read_seg(path):
    """The .seg format: ``v x y z`` and ``s i j`` lines, indices from 1."""
    points, elements = _read_lines(path, "v", 1, "s", 1, 2, "edges")
    return points, {name: rows - 1 for name, rows in elements.items()}


def _read_npz(path):
    """Arrays points, tets, triangles, edges; or V for points and T for tets or triangles, by its width."""
    with ArrayArchive(path, compressed=True) as archive:
        names = archive.names
        if "points" in names:
            return archive.take("points"), {name: archive.take(name) for name in _EVERYTHING if name in names}
        if {"V", "T"} <= set(names):
            points, elements = archive.take("V"), archive.take("T")
            return points, {"triangles" if elements.ndim == 2 and elements.shape[1] == 3 else "tets": elements}
    raise ValueError(f"holds {', '.join(sorted(names)) or 'nothing'}; expected points, tets, triangles, edges, or V and T")


def _filled(**lists):
    """The lists that are not empty, as arrays."""
    return {name: np.array(rows) for name, rows in lists.items() if rows}


_READERS = {suffix: _read_meshio for suffix in _MESHIO_FORMATS} | {
    ".ply": _read_ply,
    ".off": _read_off,
    ".stl": _read_stl,
    ".node": _read_tetgen,
    ".ele": _read_tetgen,
    ".obj": _read_obj,
    ".t": _read_t,
    ".seg": _read_seg,
    ".npz": _read_npz,
}
