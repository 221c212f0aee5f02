"""Readers of formats that no library reads safely, each from a path to points (n, 3), a dict of the elements and one of the rest.

OBJ: meshio and trimesh reject or drop polylines, relative indices and groups, and no counts reveal a truncation. OFF, STL, TetGen: trimesh
and VTK accept most truncated files, and meshio accepts some or never returns. .t, .seg and .npz: no library reads them. A reader here
accepts a file only if all of it was understood: remaining or missing content is a ValueError. The rest has "groups", "cell_data" and
"remarks", sentences on skipped content.
"""

from __future__ import annotations

import collections
import itertools
import urllib.parse

import numpy as np

from pdgpu._internal.array_archive import ArrayArchive
from pdgpu.mesh.io.cell_kinds import ELEMENTS, Cells
from pdgpu.mesh.io.polygons import fans

__all__ = ["read_npz", "read_obj", "read_off", "read_seg", "read_stl", "read_t", "read_tetgen"]

# words of OBJ without points and elements, and those with content that cannot be used
OBJ_ATTRIBUTES = frozenset("vt vn g o s mg p usemtl mtllib usemap maplib bevel c_interp d_interp lod shadow_obj trace_obj".split())
OBJ_SURFACES = frozenset("vp cstype deg bmat step curv curv2 surf parm trim hole scrv sp end con bzp bsp cdc cdp res call csh".split())


def _text(path):
    return path.read_text(encoding="utf-8", errors="replace")


def _lines(path):
    """The lines of a text without comments and empty lines."""
    return [line for line in (line.split("#", 1)[0].strip() for line in _text(path).splitlines()) if line]


def _table(lines, width, what):
    """Lines of at least `width` numbers, all of one length."""
    table = np.loadtxt(lines, ndmin=2, comments=None) if lines else np.zeros((0, width))
    if table.shape[1] < width:
        raise ValueError(f"{what} has {table.shape[1]} numbers a line, fewer than {width}")
    return table


# ---- OFF, STL, OBJ -------------------------------------------------------------------------------------------------------------


def read_off(path):
    """OFF: the word OFF, three counts, then a line for each point and each face (polygons become fans; colours are skipped)."""
    lines = _lines(path)
    words = " ".join(lines[:2]).split()
    if not words or words[0] != "OFF":
        raise ValueError("the first word is not OFF")
    counts, rows = (lines[0].split()[1:], lines[1:]) if lines[0] != "OFF" else (words[1:], lines[2:])
    if len(counts) != 3:
        raise ValueError("OFF is not followed by three counts")
    n_points, n_faces = int(counts[0]), int(counts[1])
    if n_points < 0 or n_faces < 0 or len(rows) != n_points + n_faces:
        raise ValueError(f"it announces {n_points} points and {n_faces} faces, and {len(rows)} lines follow")
    points = _table(rows[:n_points], 3, "a point")
    if points.shape[1] != 3:
        raise ValueError("a point does not have three coordinates")
    faces = []
    for words in map(str.split, rows[n_points:]):
        face = [int(word) for word in words[1 : 1 + int(words[0])]]
        # a colour may follow the corners: an index, or three or four components
        if len(face) != int(words[0]) or len(words) - 1 - len(face) not in (0, 1, 3, 4):
            raise ValueError(f"the face {' '.join(words)!r} has not the corners it announces")
        faces.append(face)
    triangles, remarks = fans(faces)
    return points, {"triangles": triangles}, {"remarks": remarks}


def read_stl(path):
    """STL repeats the corners of every triangle: equal points become one, in the order of their first appearance."""
    content = path.read_bytes()
    n = int.from_bytes(content[80:84], "little")
    if len(content) >= 84 and len(content) == 84 + 50 * n:  # binary, for any first word
        facet = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
        points = np.frombuffer(content, dtype=facet, offset=84)["corners"].reshape(-1, 3).astype(np.float64)
    else:
        points = _stl_corners(content)
    triangles = np.arange(len(points)).reshape(-1, 3)
    _, first, inverse = np.unique(points + 0.0, axis=0, return_index=True, return_inverse=True)  # + 0.0: -0 is 0
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return points[first[order]], {"triangles": rank[inverse.reshape(-1)][triangles]}, {}


def _stl_corners(content):
    """The corners of an STL file of text, (3 m, 3); every line of every facet must be present."""
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

    Remarks count unknown lines, and faces of two corners.
    """
    text = _text(path)
    points, faces, edges, unknown = [], [], [], collections.Counter()
    named = ((), ())  # the groups of g lines, which may name several, and the object of o lines
    of_faces, of_edges, numbers = [], [], {named: 0}  # the number of their names, for each

    def index(word):
        number = int(word.split("/", 1)[0])
        if number == 0 or number < -len(points):
            raise ValueError(f"vertex {number} does not exist")
        return number - 1 if number > 0 else len(points) + number

    for number, line in enumerate(text.replace("\\\n", " ").splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        try:
            if words[0] == "v":
                if len(words) < 4:
                    raise ValueError("a vertex needs three coordinates")
                points.append((float(words[1]), float(words[2]), float(words[3])))
            elif words[0] == "f":
                faces.append([index(word) for word in words[1:]])
                of_faces.append(numbers.setdefault(named, len(numbers)))
                if len(faces[-1]) < 2:
                    raise ValueError("a face needs three vertices")
            elif words[0] == "l":
                corners = [index(word) for word in words[1:]]
                of_edges += [numbers.setdefault(named, len(numbers))] * (len(corners) - 1)
                edges.extend(itertools.pairwise(corners))
            elif words[0] == "g":
                named = (tuple(words[1:]), named[1])
            elif words[0] == "o":
                named = (named[0], (" ".join(words[1:]),) if words[1:] else ())
            elif words[0] in OBJ_SURFACES:
                raise ValueError("free-form surfaces and calls of other files cannot be used")
            elif words[0] not in OBJ_ATTRIBUTES:
                unknown[words[0]] += 1
        except (IndexError, ValueError) as error:
            raise ValueError(f"line {number}: {line.strip()!r}: {error}") from error
    triangles, remarks = fans(faces)
    if unknown:
        kinds = ", ".join(f"{count} of {word!r}" for word, count in unknown.most_common(5))
        remarks.append(f"lines that OBJ does not know were passed over: {kinds}")
    of_triangles = np.repeat(of_faces, [max(len(face) - 2, 0) for face in faces])
    cells, names = Cells(len(text)), list(numbers)
    for cell, rows, tags in (("triangle", triangles, of_triangles), ("line", edges, of_edges)):
        if len(rows):
            cells.tag(cells.add(cell, rows), np.asarray(tags), lambda number, _: dict.fromkeys(names[number][0] + names[number][1]))
    elements, given = cells.arrays()
    return np.array(points).reshape(-1, 3), elements, given | {"remarks": remarks}


# ---- TetGen, .t, .seg, .npz ----------------------------------------------------------------------------------------------------


def read_tetgen(path):
    """The TetGen pair: .node with lines ``id x y z ...``, .ele with lines ``id a b c d ...``, ids from 0 or 1, after a line of counts."""
    points, first = _tetgen_table(path.with_suffix(".node"), 3)
    tets, _ = _tetgen_table(path.with_suffix(".ele"), 4)
    return points, {"tets": _whole(tets) - first}, {}


def _tetgen_table(path, width):
    """The rows of one file, `width` numbers each, and the id of the first."""
    head, *lines = _lines(path) or [""]
    words = head.split()
    if words[1:2] == ["10"]:
        raise ValueError(f"{path.name} holds {words[0]} tets of second order; make them of first order, without -o2")
    if len(words) < 2 or int(words[1]) != width:
        raise ValueError(f"{path.name} does not begin with a number of rows and {width}")
    if len(lines) != int(words[0]):
        raise ValueError(f"{path.name} announces {words[0]} rows and holds {len(lines)}")
    table = _table(lines, width + 1, path.name)
    ids = table[:, 0]
    if len(ids) and (ids[0] not in (0, 1) or (ids != ids[0] + np.arange(len(ids))).any()):
        raise ValueError(f"{path.name} does not number its rows from 0 or 1")
    return table[:, 1 : width + 1], int(ids[0]) if len(ids) else 0


def _whole(numbers):
    if (numbers % 1 != 0).any() or (abs(numbers) > 2**53).any():
        raise ValueError(f"{numbers[numbers % 1 != 0][:1]} is no index")
    return numbers.astype(np.int64)


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
        # ids in lines must count from 0, since indices refer to rows
        rows = points if words[0] == point_word else elements
        if element_start == 2 and int(words[1]) != len(rows) - 1:
            raise ValueError(f"line {number}: {words[0]} {words[1]} where {len(rows) - 1} was expected")
    return np.array(points).reshape(-1, 3), {name: np.array(elements, dtype=np.int64).reshape(-1, k)}, {}


def read_t(path):
    """The .t format: ``Vertex id x y z`` and ``Tet id a b c d`` lines, ids and indices from 0."""
    return _read_lines(path, "Vertex", 2, "Tet", 2, 4, "tets")


def read_seg(path):
    """The .seg format: ``v x y z`` and ``s i j`` lines, indices from 1."""
    points, elements, named = _read_lines(path, "v", 1, "s", 1, 2, "edges")
    return points, {"edges": elements["edges"] - 1}, named


def read_npz(path):
    """Arrays points, tets, triangles, edges; or V for points and T for tets or triangles, by its width. Others are not read."""
    with ArrayArchive(path, compressed=True) as archive:
        names = archive.names
        if "points" in names:
            elements = {name: archive.take(name) for name in ELEMENTS if name in names}
            return archive.take("points"), elements, {what: _named_arrays(archive, what) for what in ("groups", "cell_data")}
        if {"V", "T"} <= set(names):
            points, elements = archive.take("V"), archive.take("T")
            return points, {"triangles" if elements.ndim == 2 and elements.shape[1] == 3 else "tets": elements}, {}
    raise ValueError(f"holds {', '.join(sorted(names)) or 'nothing'}; expected points, tets, triangles, edges, or V and T")


def _named_arrays(archive, what):
    """Name -> kind -> array, of the members "groups/NAME/KIND" of an archive, NAME with % for reserved characters."""
    found = {}
    for member in archive.names:
        parts = member.split("/")
        if len(parts) == 3 and parts[0] == what:
            found.setdefault(urllib.parse.unquote(parts[1]), {})[parts[2]] = archive.take(member)
    return found
