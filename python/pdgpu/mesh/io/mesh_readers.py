"""Readers of mesh files of their own, beside those of meshio: each from a path to points (n, 3) and a dict of the elements found.

meshio's OBJ reader refuses common files (texture coordinates counted separately, relative indices, polylines), its TetGen and OFF readers
never return from a truncated file, its STL and PLY readers cut one short in silence; the rest it does not know. A reader here takes a
file only where everything in it was understood: what is left over, or missing, is a ValueError.
"""

from __future__ import annotations

import collections
import itertools
import re
import urllib.parse
import warnings

import numpy as np

from pdgpu._internal.array_archive import ArrayArchive

ELEMENTS = ("tets", "triangles", "edges")
# words of OBJ that hold neither points nor elements, and those that hold some which cannot be used
OBJ_ATTRIBUTES = frozenset("vt vn g o s mg p usemtl mtllib usemap maplib bevel c_interp d_interp lod shadow_obj trace_obj".split())
OBJ_SURFACES = frozenset("vp cstype deg bmat step curv curv2 surf parm trim hole scrv sp end con bzp bsp cdc cdp res call csh".split())
PLY_TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4", "double": "f8"}
PLY_TYPES |= {f"int{8 * k}": f"i{k}" for k in (1, 2, 4, 8)} | {f"uint{8 * k}": f"u{k}" for k in (1, 2, 4, 8)}
PLY_TYPES |= {"float32": "f4", "float64": "f8"}
PLY_BYTE_ORDER = {"ascii": None, "binary_little_endian": "<", "binary_big_endian": ">"}


def split_polygons(faces):
    """Polygons with k corners, (m, k), as fans of triangles (m (k - 2), 3)."""
    faces = np.asarray(faces)
    fans = [faces[:, [0, i, i + 1]] for i in range(1, faces.shape[1] - 1)]
    return np.stack(fans, axis=1).reshape(-1, 3)


def _fans(faces):
    """Lists of three or more corners as triangles."""
    for row, face in enumerate(faces):
        if len(face) < 3:
            raise ValueError(f"face {row} has {len(face)} corners")
    return [(face[0], face[i], face[i + 1]) for face in faces for i in range(1, len(face) - 1)]


def _text(path):
    return path.read_text(encoding="utf-8", errors="replace")


def _filled(**lists):
    """The lists that are not empty, as arrays."""
    return {name: np.array(rows) for name, rows in lists.items() if len(rows)}


# ---- PLY -----------------------------------------------------------------------------------------------------------------------


def read_ply(path):
    """Stanford PLY, text or binary: the elements vertex (x, y, z), face (polygons become fans) and edge (vertex1, vertex2).

    The counts of the header must reach exactly to the end of the file.
    """
    content = path.read_bytes()
    header = re.match(rb"ply\r?\n(.*?)^end_header\r?\n", content, re.DOTALL | re.MULTILINE)
    if header is None:
        raise ValueError("the header has no beginning or no end")
    order, elements = _ply_header(header[1].decode("ascii"))
    rows = _TextRows(content[header.end() :]) if order is None else _BinaryRows(content[header.end() :], order)
    found = {name: rows.take(count, properties) for name, count, properties in elements}
    if rows.left():
        raise ValueError("more follows than its header announces")
    vertices, faces, edges = (found.pop(name, {}) for name in ("vertex", "face", "edge"))
    if any(name not in ("camera", "material") for name in found):
        raise ValueError(f"holds {', '.join(found)}; only vertex, face and edge can be used")
    missing = [name for name in "xyz" if name not in vertices]
    if missing:
        raise ValueError(f"its vertices have no {missing[0]}")
    corners = faces.get("vertex_indices", faces.get("vertex_index"))
    if corners is None:
        if any(len(column) for column in faces.values()):
            raise ValueError("its faces have no vertex_indices")
        corners = ()
    triangles = split_polygons(corners) if isinstance(corners, np.ndarray) and corners.shape[1] > 2 else _fans(corners)
    ends = [edges[name] for name in ("vertex1", "vertex2")] if edges else []
    points = np.column_stack([vertices[name] for name in "xyz"]).astype(np.float64)
    return points, _filled(triangles=triangles, edges=np.column_stack(ends) if ends else ())


def _ply_header(text):
    """The byte order, None for text, and [(element, count, [(property, type of a list's length or None, type)])]."""
    order, elements = "", []
    for line in text.splitlines():
        words = line.split()
        if not words or words[0] in ("comment", "obj_info"):
            continue
        if words[0] == "format" and len(words) == 3 and words[1] in PLY_BYTE_ORDER and words[2] == "1.0" and order == "":
            order = PLY_BYTE_ORDER[words[1]]
        elif words[0] == "element" and len(words) == 3 and words[2].isdecimal() and words[1] not in [name for name, *_ in elements]:
            elements.append((words[1], int(words[2]), []))
        elif (
            words[0] == "property"
            and elements
            and len(words) == (5 if "list" in words[1:2] else 3)
            and set(words[1:-1]) <= {"list", *PLY_TYPES}
        ):
            length = PLY_TYPES[words[2]] if len(words) == 5 else None
            elements[-1][2].append((words[-1], length, PLY_TYPES[words[-2]]))
        else:
            raise ValueError(f"{line.strip()!r} in its header")
    if order == "":
        raise ValueError("its header names no format")
    return order, elements


class _BinaryRows:
    """The content of a binary PLY file, taken from the front."""

    def __init__(self, content, order):
        self._content, self._order, self._at = content, order, 0

    def left(self):
        return self._at < len(self._content)

    def _read(self, dtype, count):
        if self._at + count * dtype.itemsize > len(self._content):
            raise ValueError("it ends before its counts are reached")
        array = np.frombuffer(self._content, dtype, count, self._at)
        self._at += count * dtype.itemsize
        return array

    def take(self, count, properties):
        """The properties of `count` rows by name; a list is an array (count, k) where all have k entries, else a list of lists."""
        start = self._at
        # rows that are all as long as the first are one array
        lengths = [length for _, length, _ in properties if length]
        first = self._row(properties) if count and lengths else {}
        fields = []
        for name, length, kind in properties:
            if length:
                fields += [(f"length of {name}", self._order + length), (name, self._order + kind, (len(first.get(name, ())),))]
            else:
                fields.append((name, self._order + kind))
        dtype = np.dtype(fields)
        if start + count * dtype.itemsize <= len(self._content):
            self._at = start
            rows = self._read(dtype, count)
            if all((rows[f"length of {name}"] == rows[name].shape[1]).all() for name, length, _ in properties if length):
                return {name: rows[name] for name, *_ in properties}
        self._at = start
        if not lengths:
            raise ValueError("it ends before its counts are reached")
        rows = [self._row(properties) for _ in range(count)]
        return {name: [row[name] for row in rows] for name, *_ in properties}

    def _row(self, properties):
        row = {}
        for name, length, kind in properties:
            count = int(self._read(np.dtype(self._order + length), 1)[0]) if length else 1
            if count < 0:
                raise ValueError(f"{name} has {count} entries")
            values = self._read(np.dtype(self._order + kind), count).tolist()
            row[name] = values if length else values[0]
        return row


class _TextRows:
    """The content of a PLY file of text, a row a line."""

    def __init__(self, content):
        self._lines = [line for line in content.decode("ascii").splitlines() if line.strip()]
        self._at = 0

    def left(self):
        return self._at < len(self._lines)

    def take(self, count, properties):
        """As that of `_BinaryRows`."""
        lines = self._lines[self._at : self._at + count]
        if len(lines) < count:
            raise ValueError("it ends before its counts are reached")
        self._at += count
        columns = {name: [] for name, *_ in properties}
        for line in lines:
            words = iter(line.split())
            for name, length, kind in properties:
                number = float if kind[0] == "f" else int
                expected = int(next(words, "")) if length else 1
                values = [number(word) for word in itertools.islice(words, expected)]
                if len(values) != expected:
                    raise ValueError(f"{line!r} has fewer entries than it announces")
                columns[name].append(values if length else values[0])
            if next(words, None) is not None:
                raise ValueError(f"{line!r} has more entries than it announces")
        return columns


# ---- OFF, STL, OBJ -------------------------------------------------------------------------------------------------------------


def read_off(path):
    """OFF: the word OFF, three counts, then a line for each point and each face (polygons become fans; colours are passed over)."""
    lines = [line.split("#", 1)[0].split() for line in _text(path).splitlines()]
    lines = [words for words in lines if words]
    if not lines or lines[0][0] != "OFF":
        raise ValueError("the first word is not OFF")
    counts, rows = (lines[0][1:], lines[1:]) if len(lines[0]) > 1 else (lines[1] if len(lines) > 1 else [], lines[2:])
    if len(counts) != 3:
        raise ValueError("OFF is not followed by three counts")
    n_points, n_faces = int(counts[0]), int(counts[1])
    if n_points < 0 or n_faces < 0 or len(rows) != n_points + n_faces:
        raise ValueError(f"it announces {n_points} points and {n_faces} faces, and {len(rows)} lines follow")
    if any(len(words) != 3 for words in rows[:n_points]):
        raise ValueError("a point has not three coordinates")
    faces = [[int(word) for word in words[1 : 1 + int(words[0])]] for words in rows[n_points:]]
    for face, words in zip(faces, rows[n_points:], strict=True):
        # after the corners there may be a colour: an index, or three or four components
        if len(face) != int(words[0]) or len(words) - 1 - len(face) not in (0, 1, 3, 4):
            raise ValueError(f"the face {' '.join(words)!r} has not the corners it announces")
    points = [[float(word) for word in words] for words in rows[:n_points]]
    return np.array(points, dtype=np.float64).reshape(-1, 3), _filled(triangles=_fans(faces))


def read_stl(path):
    """STL repeats the corners of every triangle: equal points become one, in the order they first appear."""
    content = path.read_bytes()
    n = int.from_bytes(content[80:84], "little")
    if len(content) >= 84 and len(content) == 84 + 50 * n:  # binary, whatever its first word
        facet = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
        points = np.frombuffer(content, dtype=facet, offset=84)["corners"].reshape(-1, 3).astype(np.float64)
    else:
        points = _stl_corners(content)
    triangles = np.arange(len(points)).reshape(-1, 3)
    _, first, inverse = np.unique(points + 0.0, axis=0, return_index=True, return_inverse=True)  # + 0.0: -0 is 0
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return points[first[order]], {"triangles": rank[inverse.reshape(-1)][triangles]}


def _stl_corners(content):
    """Those of an STL file of text, (3 m, 3): every line of every facet must be there."""
    lines = [line.split() for line in content.decode("utf-8", errors="replace").splitlines()]
    lines = [[words[0].lower(), *words[1:]] for words in lines if words]
    if not lines or lines[0][0] != "solid" or lines[-1][0] != "endsolid":
        raise ValueError("neither solid ... endsolid nor the length that its count of triangles asks for")
    points = []
    facet = ("facet", "outer", "vertex", "vertex", "vertex", "endloop", "endfacet")
    at = 0
    while at < len(lines):
        if lines[at][0] in ("solid", "endsolid"):
            at += 1
            continue
        rows = lines[at : at + len(facet)]
        if tuple(words[0] for words in rows) != facet or any(len(words) != 4 for words in rows[2:5]):
            raise ValueError(f"no facet with three vertices begins at {' '.join(lines[at])!r}")
        points.extend([float(word) for word in words[1:]] for words in rows[2:5])
        at += len(facet)
    return np.array(points).reshape(-1, 3)


def read_obj(path):
    """Wavefront OBJ: v, f (polygons become fans), l, g and o lines; indices count from 1, or backwards from the last vertex.

    One warning counts the lines of words that OBJ does not know.
    """
    points, triangles, edges, unknown = [], [], [], collections.Counter()
    groups, current, its_object = {}, (), ()  # of g lines, which may name several, and of o lines

    def index(word):
        number = int(word.split("/", 1)[0])
        if number == 0 or number < -len(points):
            raise ValueError(f"vertex {number} does not exist")
        return number - 1 if number > 0 else len(points) + number

    for number, line in enumerate(_text(path).replace("\\\n", " ").splitlines(), 1):
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
                for name in {*current, *its_object}:
                    groups.setdefault(name, {}).setdefault("triangles", []).extend(range(len(triangles), len(triangles) + len(corners) - 2))
                triangles.extend((corners[0], corners[i], corners[i + 1]) for i in range(1, len(corners) - 1))
            elif words[0] == "l":
                corners = [index(word) for word in words[1:]]
                for name in {*current, *its_object}:
                    groups.setdefault(name, {}).setdefault("edges", []).extend(range(len(edges), len(edges) + len(corners) - 1))
                edges.extend(itertools.pairwise(corners))
            elif words[0] == "g":
                current = tuple(words[1:])
            elif words[0] == "o":
                its_object = (" ".join(words[1:]),) if words[1:] else ()
            elif words[0] in OBJ_SURFACES:
                raise ValueError("free-form surfaces and calls of other files cannot be used")
            elif words[0] not in OBJ_ATTRIBUTES:
                unknown[words[0]] += 1
        except (IndexError, ValueError) as error:
            raise ValueError(f"line {number}: {line.strip()!r}: {error}") from error
    if unknown:
        kinds = ", ".join(f"{count} of {word!r}" for word, count in unknown.most_common(5))
        warnings.warn(f"{path.name}: lines that OBJ does not know were passed over: {kinds}", stacklevel=4)
    return np.array(points).reshape(-1, 3), _filled(triangles=triangles, edges=edges), {"groups": groups}


# ---- TetGen, .t, .seg, .npz ----------------------------------------------------------------------------------------------------


def read_tetgen(path):
    """The TetGen pair: .node with lines ``id x y z ...``, .ele with lines ``id a b c d ...``, ids from 0 or 1, after a line of counts."""
    points, first = _read_tetgen_table(path.with_suffix(".node"), float, 3)
    tets, _ = _read_tetgen_table(path.with_suffix(".ele"), int, 4)
    return np.array(points).reshape(-1, 3), _filled(tets=[[v - first for v in tet] for tet in tets])


def _read_tetgen_table(path, number, width):
    """The rows of one file, `width` numbers each, and the id of the first."""
    lines = [line.split("#", 1)[0].split() for line in _text(path).splitlines()]
    lines = [words for words in lines if words]
    if not lines or len(lines[0]) < 2 or int(lines[0][1]) != width:
        raise ValueError(f"{path.name} does not begin with a number of rows and {width}")
    n = int(lines[0][0])
    if len(lines) != n + 1:
        raise ValueError(f"{path.name} announces {n} rows and holds {len(lines) - 1}")
    rows = [[number(word) for word in words[1 : width + 1]] for words in lines[1:]]
    if any(len(row) < width or len(words) != len(lines[1]) for row, words in zip(rows, lines[1:], strict=True)):
        raise ValueError(f"{path.name} has a row of fewer numbers than others, or than {width}")
    ids = [int(words[0]) for words in lines[1:]]
    if ids and (ids[0] not in (0, 1) or ids != list(range(ids[0], ids[0] + n))):
        raise ValueError(f"{path.name} does not number its rows from 0 or 1")
    return rows, ids[0] if ids else 0


def _read_lines(path, point_word, point_start, element_word, element_start, k, name):
    """Files of two kinds of line, each beginning with a word: a point's coordinates, an element's k indices."""
    points, elements = [], []
    for number, line in enumerate(_text(path).splitlines(), 1):
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


def read_t(path):
    """The .t format: ``Vertex id x y z`` and ``Tet id a b c d`` lines, ids and indices from 0."""
    return _read_lines(path, "Vertex", 2, "Tet", 2, 4, "tets")


def read_seg(path):
    """The .seg format: ``v x y z`` and ``s i j`` lines, indices from 1."""
    points, elements = _read_lines(path, "v", 1, "s", 1, 2, "edges")
    return points, {name: rows - 1 for name, rows in elements.items()}


def read_npz(path):
    """Arrays points, tets, triangles, edges; or V for points and T for tets or triangles, by its width. Others are not read."""
    with ArrayArchive(path, compressed=True) as archive:
        names = archive.names
        if "points" in names:
            elements = {name: archive.take(name) for name in ELEMENTS if name in names}
            return archive.take("points"), elements, {what: _named_arrays(archive, what) for what in ("groups", "cell_data")}
        if {"V", "T"} <= set(names):
            points, elements = archive.take("V"), archive.take("T")
            return points, {"triangles" if elements.ndim == 2 and elements.shape[1] == 3 else "tets": elements}
    raise ValueError(f"holds {', '.join(sorted(names)) or 'nothing'}; expected points, tets, triangles, edges, or V and T")


def _named_arrays(archive, what):
    """Name -> kind -> array, of the members "groups/NAME/KIND" of an archive, NAME with % for what it may not have."""
    found = {}
    for member in archive.names:
        parts = member.split("/")
        if len(parts) == 3 and parts[0] == what:
            found.setdefault(urllib.parse.unquote(parts[1]), {})[parts[2]] = archive.take(member)
    return found
