"""What a mesh file says that it holds, for the formats that meshio reads: it passes over cells it does not know, takes the last piece of a
.vtu for the whole, a lowered count for the end of a section and a file cut inside its cell types for one of fewer cells, all in silence.

Each function takes the content of a file, refuses (ValueError) what does not fit together, and returns how many points and cells, of any
kind, must have been read, and how many corners these have in all; None for what the format does not say.
"""

from __future__ import annotations

import math
import re

import numpy as np

# corners of the elements of Gmsh that can be used, and of points, which are passed over
GMSH_CORNERS = {1: 2, 2: 3, 3: 4, 4: 4, 15: 1}
# meshio makes arrays as long as the largest number of a node: so many times the count of nodes are believed, and so many in any case
LARGEST_RATIO, LARGEST_TAG = 100, 10**7
ABAQUS_GENERATORS = frozenset(("NGEN", "NFILL", "NCOPY", "NMAP", "ELGEN", "ELCOPY", "SYSTEM"))


# ---- Gmsh ----------------------------------------------------------------------------------------------------------------------


def of_gmsh(content):
    """.msh of versions 2, 4.0 and 4.1, text and binary: the sections $Nodes and $Elements hold what their counts say, to the byte."""
    header = re.search(rb"^\$MeshFormat\s+(\d)(?:\.(\d))?\s+([01])\s+(\d)\s", content, re.MULTILINE)
    if header is None:
        raise ValueError("it has no $MeshFormat")
    major, minor, binary, size = int(header[1]), header[2], header[3] == b"1", int(header[4])
    if major not in (2, 4) or (major == 4 and binary and size not in (4, 8)):
        raise ValueError("only versions 2 and 4 of the format are known")
    version = 2.0 if major == 2 else 4.0 if minor == b"0" else 4.1
    walk = _walk_binary if binary else _walk_text
    nodes = walk(_section(content, b"Nodes", binary), version, size, elements=False)
    elements = walk(_section(content, b"Elements", binary), version, size, elements=True)
    return nodes, elements, None


def _section(content, name, binary):
    """The bytes between $Name and $EndName, which stand once; of a binary file, from $Name to the end of the file."""
    starts = list(re.finditer(rb"^\$" + name + rb"[ \t]*\r?\n", content, re.MULTILINE))
    if not starts or (len(starts) > 1 and not binary):
        raise ValueError(f"it has {len(starts)} sections ${name.decode()}")
    rest = content[starts[0].end() :]
    if binary:
        return rest
    end = re.search(rb"^\$End" + name + rb"\b", rest, re.MULTILINE)
    if end is None:
        raise ValueError(f"${name.decode()} has no end")
    return rest[: end.start()]


def _check_tags(largest, n):
    if n and not 0 < largest <= max(LARGEST_TAG, LARGEST_RATIO * n):
        raise ValueError(f"a node has the number {largest}")


def _walk_text(section, version, size, *, elements):
    """How many rows the section holds; a line for each, and in version 4 one for each block."""
    lines = [line for line in section.splitlines() if line.strip()]
    if not lines:
        raise ValueError("an empty section")
    counts = [int(word) for word in lines[0].split()]
    if version == 2.0:
        if len(lines) - 1 != counts[0]:
            raise ValueError(f"{counts[0]} rows are announced, and {len(lines) - 1} follow")
        rows = [line.split() for line in lines[1:]]
        if elements:
            wrong = [row for row in rows if len(row) != 3 + int(row[2]) + _corners(int(row[1]))]
        else:
            wrong = [row for row in rows if len(row) != 4]
            _check_tags(max((int(row[0]) for row in rows), default=0), len(rows))
        if wrong:
            raise ValueError(f"the row {b' '.join(wrong[0]).decode(errors='replace')!r} has not the numbers it should have")
        return len(rows)
    at, total = 1, 0
    for _ in range(counts[0]):
        words = [int(word) for word in lines[at].split()]
        n = words[3]
        twice = not elements and version > 4.0  # first the tags of a block, then its coordinates
        rows = lines[at + 1 : at + 1 + n * (2 if twice else 1)]
        width = 1 + _corners(words[2]) if elements else 4
        widths = [1] * n + [3] * n if twice else [width] * n
        if n < 0 or [len(row.split()) for row in rows] != widths:
            raise ValueError("a block has not the rows that it announces")
        if not elements:
            _check_tags(max((int(row.split()[0]) for row in rows[:n]), default=0), counts[1])
        at += 1 + len(rows)
        total += n
    if total != counts[1] or at != len(lines):
        raise ValueError(f"{counts[1]} rows are announced, and its blocks hold {total}")
    return total


def _corners(kind):
    if kind not in GMSH_CORNERS:
        raise ValueError(
            f"holds elements of Gmsh's type {kind}; only lines, triangles, quadrilaterals and tets of four corners can be used"
        )
    return GMSH_CORNERS[kind]


def _walk_binary(content, version, size, *, elements):
    """As `_walk_text`; the section must end where its counts say."""
    at = 0

    def read(kind, count):
        nonlocal at
        dtype = np.dtype(kind)
        if count < 0 or at + count * dtype.itemsize > len(content):
            raise ValueError("it ends before its counts are reached")
        array = np.frombuffer(content, dtype, count, at)
        at += count * dtype.itemsize
        return array

    total = largest = 0
    if version == 2.0:
        line = re.match(rb"(\d{1,18})[ \t]*\r?\n", content)
        if line is None:
            raise ValueError("a section without its count")
        n, at = int(line[1]), line.end()
        if elements:
            while total < n:
                kind, count, tags = (int(number) for number in read("<i4", 3))
                if count < 1 or tags < 0:
                    raise ValueError(f"a block of {count} elements with {tags} tags")
                read("<i4", count * (1 + tags + _corners(kind)))
                total += count
        else:
            largest = int(read([("tag", "<i4"), ("x", "<f8", 3)], n)["tag"].max(initial=0))
            total = n
    else:
        blocks, n = (int(number) for number in read(f"<u{size}", 4 if version > 4.0 else 2)[:2])
        for _ in range(blocks):
            kind = int(read("<i4", 3)[2])
            count = int(read(f"<u{size}", 1)[0])
            if elements:
                read(f"<u{size}" if version > 4.0 else "<i4", count * (1 + _corners(kind)))
            elif version > 4.0:
                largest = max(largest, int(read(f"<u{size}", count).max(initial=0)))
                read("<f8", 3 * count)
            else:
                largest = max(largest, int(read([("tag", "<i4"), ("x", "<f8", 3)], count)["tag"].max(initial=0)))
            total += count
    if not elements:
        _check_tags(largest, n)
    if total != n or not content[at : at + 20].lstrip().startswith(b"$End"):
        raise ValueError(f"{n} rows are announced, and {total} are there")
    return total


# ---- VTK -----------------------------------------------------------------------------------------------------------------------


def of_vtk(content):
    """Legacy .vtk: of an unstructured grid POINTS, CELLS and CELL_TYPES, which must agree; of another DIMENSIONS."""
    kind = re.search(rb"^DATASET\s+(\w+)", content, re.MULTILINE | re.IGNORECASE)
    kind = kind[1].decode().upper() if kind else "no DATASET"
    if kind not in ("UNSTRUCTURED_GRID", "STRUCTURED_POINTS", "STRUCTURED_GRID", "RECTILINEAR_GRID"):
        raise ValueError(f"holds {kind}; only UNSTRUCTURED_GRID and sheets of a structured or rectilinear grid can be read")
    if kind != "UNSTRUCTURED_GRID":
        lengths = _vtk_counts(content, rb"DIMENSIONS\s+(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})")
        if min(lengths) > 1:
            raise ValueError("holds cells of type hexahedron")
        return math.prod(lengths), math.prod(max(length - 1, 1) for length in lengths), None
    points = _vtk_counts(content, rb"POINTS\s+(\d{1,18})\s+\w+")
    cells = _vtk_counts(content, rb"CELLS\s+(\d{1,18})\s+(\d{1,18})")
    types = _vtk_counts(content, rb"CELL_TYPES\s+(\d{1,18})")
    offsets = re.search(rb"^OFFSETS\s", content, re.MULTILINE) is not None  # since 5.1: a number more than there are cells
    n = cells[0] - 1 if offsets else cells[0]
    if n != types[0]:
        raise ValueError(f"CELLS announces {n} cells, CELL_TYPES {types[0]}")
    if max(*points, *cells, *types) > len(content):  # a number takes a byte at least
        raise ValueError("more is announced than there is room for")
    return points[0], n, cells[1] if offsets else cells[1] - n


def _vtk_counts(content, pattern):
    found = re.findall(rb"^" + pattern + rb"[ \t]*\r?$", content, re.MULTILINE | re.IGNORECASE)
    if len(found) != 1:
        raise ValueError(f"{pattern.split(bytes([92]))[0].decode()} stands {len(found)} times in it")
    return [int(number) for number in (found[0] if isinstance(found[0], tuple) else found)]


def of_vtu(content):
    """.vtu: NumberOfPoints and NumberOfCells of its only piece."""
    counts = []
    for name in (b"NumberOfPoints", b"NumberOfCells"):
        found = re.findall(name + rb"\s*=\s*[\"']\s*(\d{1,18})\s*[\"']", content)
        if len(found) != 1:
            raise ValueError(f"it has {len(found)} pieces; exactly one can be read")
        counts.append(int(found[0]))
    return *counts, None


# ---- Medit, Abaqus -------------------------------------------------------------------------------------------------------------


def of_medit(content):
    """.mesh: it ends with End or, as some programs write it, with its tets."""
    words = re.findall(rb"^\s*([A-Za-z]+)", content, re.MULTILINE)
    if not words or words[-1] not in (b"End", b"Tetrahedra"):
        raise ValueError("it ends neither with End nor with Tetrahedra")
    if words.count(b"Vertices") != 1:
        raise ValueError(f"Vertices stands {words.count(b'Vertices')} times in it")
    kinds = rb"Edges|Triangles|Quadrilaterals|Tetrahedra"
    sections = re.findall(rb"^\s*(Vertices|" + kinds + rb")\s+(\d{1,18})\s", content, re.MULTILINE)
    counts = [int(count) for word, count in sections if word != b"Vertices"]
    if any(int(count) > len(content) for _, count in sections):
        raise ValueError("more is announced than there is room for")
    return None, sum(counts), None


def of_abaqus(content):
    """.inp: a list of nodes and lists of elements, all of them in this file. It says no counts."""
    blocks = 0
    for line in content.decode("utf-8", errors="replace").upper().splitlines():
        if line.startswith("**"):
            continue
        # as meshio finds it, who needs no asterisk
        keyword, *options = (part.strip() for part in line.split(","))
        keyword, options = keyword.replace("*", ""), [option.replace(" ", "") for option in options]
        blocks += keyword == "NODE"
        if keyword == "INCLUDE" or (keyword in ("NODE", "ELEMENT") and any(option.startswith("INPUT=") for option in options)):
            raise ValueError(f"{line.strip()!r}: other files are not opened")
        if keyword in ABAQUS_GENERATORS or (keyword == "NODE" and any(option.startswith("SYSTEM=") for option in options)):
            raise ValueError(f"{line.strip()!r} cannot be used")
    if blocks != 1:
        raise ValueError(f"*NODE stands {blocks} times in it; exactly one list of nodes can be read")
    return None, None, None
