"""Reader of Stanford PLY, text or binary, of triangles, polygons and edges, with a check of the counts of its header.

meshio and trimesh accept truncated files, or never return from them; VTK crashes. Source: Turk, "The PLY Polygon File Format" (1994).
"""

from __future__ import annotations

import re

import numpy as np

from pdgpu.mesh.io.cell_kinds import split_polygons
from pdgpu.mesh.io.number_streams import BinaryNumbers, TextNumbers
from pdgpu.mesh.io.polygons import fans

__all__ = ["read_ply"]

PLY_TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4", "double": "f8"}
PLY_TYPES |= {f"int{8 * k}": f"i{k}" for k in (1, 2, 4, 8)} | {f"uint{8 * k}": f"u{k}" for k in (1, 2, 4, 8)}
PLY_TYPES |= {"float32": "f4", "float64": "f8"}
PLY_BYTE_ORDER = {"ascii": None, "binary_little_endian": "<", "binary_big_endian": ">"}


def read_ply(path):
    """The elements vertex (x, y, z), face (polygons become fans) and edge (vertex1, vertex2)."""
    content = path.read_bytes()
    header = re.match(rb"ply\r?\n(.*?)^end_header\r?\n", content, re.DOTALL | re.MULTILINE)
    if header is None:
        raise ValueError("the header has no beginning or no end")
    order, elements = _header(header[1].decode("ascii"))
    numbers = TextNumbers(content[header.end() :]) if order is None else BinaryNumbers(content, order, header.end())
    found, ends = {}, [np.zeros(0, np.int64)]
    for name, count, properties in elements:
        found[name], of_rows = _element(numbers, count, properties)
        ends.append(of_rows)
    if order is None:
        widths = [len(line.split()) for line in content[header.end() :].splitlines() if line.strip()]
        if not np.array_equal(np.cumsum(widths), np.concatenate(ends)):
            raise ValueError("its lines are not the rows that its header announces")
    if numbers.left():
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
    regular = isinstance(corners, np.ndarray) and corners.shape[1] > 2
    triangles, remarks = (split_polygons(corners), []) if regular else fans(corners)
    ends = [edges[name] for name in ("vertex1", "vertex2")] if edges else []
    points = np.column_stack([vertices[name] for name in "xyz"]).astype(np.float64)
    return points, {"triangles": triangles} | ({"edges": np.column_stack(ends)} if ends else {}), {"remarks": remarks}


def _header(text):
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
    if any(count and not properties for _, count, properties in elements):
        raise ValueError("an element in its header has rows and no properties")
    return order, elements


def _element(numbers, count, properties):
    """The properties of `count` rows by name, and the end of each row. A list is an array (count, k) if all have k entries, otherwise a
    list of lists.
    """
    lists = [name for name, length, _ in properties if length]
    start = numbers.at
    # rows of the same length are one table
    first = _row(numbers, properties) if count and lists else {}
    widths = {name: len(first.get(name, ())) for name in lists}
    numbers.at, fields = start, []
    for name, length, kind in properties:
        if length:
            fields.append((f"length of {name}", length, None))
        fields.append((name, kind, widths[name] if length else None))
    try:
        found = numbers.rows(count, fields)
        if all((found[f"length of {name}"] == widths[name]).all() for name in lists):
            width = (numbers.at - start) // max(count, 1)
            return {name: found[name] for name, *_ in properties}, start + width * np.arange(1, count + 1)
    except ValueError:
        if not lists:
            raise
    numbers.at = start
    rows, ends = [], []
    for _ in range(count):
        rows.append(_row(numbers, properties))
        ends.append(numbers.at)
    return {name: [row[name] for row in rows] for name, *_ in properties}, np.array(ends, np.int64)


def _row(numbers, properties):
    row = {}
    for name, length, kind in properties:
        count = int(numbers.rows(1, [(name, length, None)])[name][0]) if length else 1
        if count < 0:
            raise ValueError(f"{name} has {count} entries")
        values = numbers.rows(1, [(name, kind, count)])[name][0].tolist()
        row[name] = values if length else values[0]
    return row
