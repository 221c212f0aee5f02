"""Counts of the formats that meshio reads, and conversions of the dialects that meshio does not know.

meshio silently skips unknown cells, takes the last piece of a .vtu for the whole, and accepts a file that is truncated in its cell types.
VTK itself accepts most truncations of a text file.

Each function takes the content of a file and returns the content for meshio, the numbers of points and of cells of any kind that must be
read, and the number of their corners; None if the format does not state it. Contradictory statements raise ValueError.
"""

from __future__ import annotations

import math
import re

__all__ = ["SPLIT", "has_end", "of_abaqus", "of_medit", "of_vtk", "of_vtp", "of_vtu"]

SPLIT = "split them into tets: pdgpu.Mesh.from_pyvista(pyvista.read(FILE).triangulate())"
CONVERT = "pdgpu.Mesh.from_pyvista(pyvista.read(FILE)) reads it"
# keywords of Vertices, Edges, Triangles, Quadrilaterals, Tetrahedra, Prisms, Hexahedra, Pyramids
MESHB_LISTS = (4, 5, 6, 7, 8, 9, 10, 49)
ABAQUS_GENERATORS = frozenset(("NGEN", "NFILL", "NCOPY", "NMAP", "ELGEN", "ELCOPY", "SYSTEM"))


# ---- VTK -----------------------------------------------------------------------------------------------------------------------


def of_vtk(content):
    """Legacy .vtk: POINTS, CELLS and CELL_TYPES of an unstructured grid or polygons, which must agree; DIMENSIONS of other grids."""
    kind = re.search(rb"^DATASET\s+(\w+)", content, re.MULTILINE | re.IGNORECASE)
    kind = kind[1].decode().upper() if kind else "no DATASET"
    if kind not in ("UNSTRUCTURED_GRID", "POLYDATA", "STRUCTURED_POINTS", "STRUCTURED_GRID", "RECTILINEAR_GRID"):
        raise ValueError(f"holds {kind}; only UNSTRUCTURED_GRID, POLYDATA and sheets of a structured or rectilinear grid can be read")
    binary = re.match(rb"[^\n]*\n[^\n]*\nBINARY\s", content) is not None
    if binary:
        content += b"\n"  # Gmsh leaves it out, and meshio requires it
    # meshio reads int as 64 bits in lists of cells, and does not know the name of 64 bits elsewhere
    content = re.sub(rb"^(OFFSETS|CONNECTIVITY) int[ \t]*$", rb"\1 vtktypeint32", content, flags=re.MULTILINE)
    if not content.startswith(b"# vtk DataFile Version 5.1"):
        content = re.sub(rb"^(\S+ \d+ \d+) vtktypeint64[ \t]*$", rb"\1 long", content, flags=re.MULTILINE)
    # sections of points that meshio does not know: normals are vectors, places in a texture a field
    content = re.sub(rb"^NORMALS(?= \S+ \w+[ \t]*\r?$)", b"VECTORS", content, flags=re.MULTILINE)
    n_points = re.search(rb"^POINTS\s+(\d{1,18})\s", content, re.MULTILINE)
    if n_points:
        field = rb"FIELD FieldData 1\n\1 \2 " + n_points[1] + rb" \3"
        content = re.sub(rb"^TEXTURE_COORDINATES (\S+) (\d+) (\w+)[ \t]*\r?$", field, content, flags=re.MULTILINE)
    if kind == "POLYDATA":
        content = _as_grid(content, binary)
    elif kind != "UNSTRUCTURED_GRID":
        lengths = _vtk_counts(content, rb"DIMENSIONS\s+(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})")
        if min(lengths) > 1:
            raise ValueError(f"holds {math.prod(length - 1 for length in lengths)} cells of type hexahedron; {SPLIT}")
        n = math.prod(lengths)
        if n > 1000 * len(content):  # a grid of equal spacings announces its points without storing them
            raise ValueError("its counts exceed the size of the file")
        return content, n, math.prod(max(length - 1, 1) for length in lengths), None
    points = _vtk_counts(content, rb"POINTS\s+(\d{1,18})\s+\w+")
    cells = _vtk_counts(content, rb"CELLS\s+(\d{1,18})\s+(\d{1,18})")
    types = _vtk_counts(content, rb"CELL_TYPES\s+(\d{1,18})")
    offsets = re.search(rb"^OFFSETS\s", content, re.MULTILINE) is not None  # since 5.1: a number more than there are cells
    n = cells[0] - 1 if offsets else cells[0]
    if n != types[0]:
        raise ValueError(f"CELLS announces {n} cells, CELL_TYPES {types[0]}")
    if max(*points, *cells, *types) > len(content):  # a number has at least a byte
        raise ValueError("its counts exceed the size of the file")
    return content, points[0], n, cells[1] if offsets else cells[1] - n


def _as_grid(content, binary):
    """Polygons as an unstructured grid: their list is one of cells, to which the types are added."""
    lists = re.findall(rb"^(VERTICES|LINES|POLYGONS|TRIANGLE_STRIPS)\s+(\d{1,18})\s+(\d{1,18})[ \t]*\r?$", content, re.MULTILINE)
    if [name for name, *_ in lists] != [b"POLYGONS"]:
        names = ", ".join(name.decode() for name, *_ in lists) or "nothing"
        raise ValueError(f"holds POLYDATA of {names}, of which only one list of POLYGONS can be read; {CONVERT}")
    size = int(lists[0][2])
    n = int(lists[0][1]) - (re.search(rb"^OFFSETS\s", content, re.MULTILINE) is not None)
    if max(n, size) > len(content):
        raise ValueError("its counts exceed the size of the file")
    corners = size - (n if n == int(lists[0][1]) else 0)
    kind = {3: 5, 4: 9}.get(corners // n if n and corners % n == 0 else 0, 7)  # triangles, quadrilaterals or polygons
    types = kind.to_bytes(4, "big") * n if binary else b"%d\n" % kind * n
    content = re.sub(rb"^DATASET\s+POLYDATA", b"DATASET UNSTRUCTURED_GRID", content, count=1, flags=re.MULTILINE | re.IGNORECASE)
    at = re.search(rb"^POLYGONS", content, re.MULTILINE).start()
    return content[:at] + b"CELL_TYPES %d\n" % n + types + b"\n" * binary + b"CELLS" + content[at + len("POLYGONS") :]


def _vtk_counts(content, pattern):
    found = re.findall(rb"^" + pattern + rb"[ \t]*\r?$", content, re.MULTILINE | re.IGNORECASE)
    if len(found) != 1:
        raise ValueError(f"{pattern.split(bytes([92]))[0].decode()} occurs {len(found)} times, expected once")
    return [int(number) for number in (found[0] if isinstance(found[0], tuple) else found)]


def of_vtu(content):
    """.vtu: NumberOfPoints and NumberOfCells of its only piece."""
    compressor = re.search(rb'<VTKFile[^>]*?(\scompressor="vtk(\w+)DataCompressor")', content)
    if compressor and compressor[2] not in (b"ZLib", b"LZMA"):
        if re.search(rb'format="(binary|appended)"', content):
            raise ValueError(f"is compressed by {compressor[2].decode()}; write it with ZLib")
        content = content.replace(compressor[1], b"", 1)  # of text, which is not compressed
    counts = []
    for name in (b"NumberOfPoints", b"NumberOfCells"):
        found = re.findall(name + rb"\s*=\s*[\"']\s*(\d{1,18})\s*[\"']", content)
        if len(found) != 1:
            raise ValueError(f"it has {len(found)} pieces; exactly one can be read")
        counts.append(int(found[0]))
    return content, *counts, None


def of_vtp(content):
    """.vtp of polygons only, which becomes a .vtu: their list is one of cells."""
    aside = []  # empty arrays, which meshio must count in binary data but not read: it skips children of an array
    for name in (b"Verts", b"Lines", b"Strips"):
        if re.search(rb"NumberOf" + name + rb'\s*=\s*"\s*[1-9]', content):
            raise ValueError(f"holds {name.decode()} beside polygons, which cannot be read; {CONVERT}")
        part = re.search(rb"<" + name + rb">(.*?)</" + name + rb">", content, re.DOTALL)
        if part:
            aside.append(part[1])
            content = content[: part.start()] + content[part.end() :]
    found = re.search(rb'NumberOfPolys\s*=\s*"\s*(\d{1,18})\s*"', content)
    if found is None or int(found[1]) > len(content):
        raise ValueError("has no number of polygons, or more than there is room for")
    types = b'<DataArray type="UInt8" Name="types" format="ascii">' + b"7 " * int(found[1]) + b"".join(aside) + b"</DataArray></Cells>"
    for old, new in ((b'"PolyData"', b'"UnstructuredGrid"'), (b"PolyData>", b"UnstructuredGrid>"), (b"<Polys>", b"<Cells>")):
        content = content.replace(old, new)
    return of_vtu(content.replace(b"NumberOfPolys", b"NumberOfCells").replace(b"</Polys>", types))


# ---- Medit, Abaqus -------------------------------------------------------------------------------------------------------------


def of_medit(content):
    """.mesh: the rows of its lists, also without End. .meshb: the lists, each with the place of the next one."""
    if not content.lstrip()[:1].isalpha():
        return content, *_of_meshb(content), None
    words = re.findall(rb"^\s*([A-Za-z]+)", content, re.MULTILINE)
    if words.count(b"Vertices") != 1:
        raise ValueError(f"Vertices occurs {words.count(b'Vertices')} times, expected once")
    curved = re.search(rb"^\s*([A-Za-z]+[PQ]\d+)\s", content, re.MULTILINE)
    if curved:
        raise ValueError(f"holds {curved[1].decode()}, cells of second order or higher; save them with first order")
    kinds = rb"Edges|Triangles|Quadrilaterals|Tetrahedra|Hexahedra|Hexaedra|Prisms|Pyramids"
    sections = re.findall(rb"^\s*(Vertices|" + kinds + rb")\s+(\d{1,18})\s", content, re.MULTILINE)
    if any(int(count) > len(content) for _, count in sections):
        raise ValueError("its counts exceed the size of the file")
    cells = sum(int(count) for word, count in sections if word != b"Vertices")
    return content, int(dict(sections).get(b"Vertices", 0)), cells, None


def has_end(content):
    """Tells whether a .mesh of text ends with End or, as some programs write it, with its tets."""
    words = re.findall(rb"^\s*([A-Za-z]+)", content, re.MULTILINE)
    return bool(words) and words[-1] in (b"End", b"Tetrahedra")


def _of_meshb(content):
    """Points and cells of a binary file [Loseille et al., libMeshb: keyword, place of the next keyword, count, rows]."""
    order = "little" if content[:4] == (1).to_bytes(4, "little") else "big"

    def number(at, size):
        if at + size > len(content):
            raise ValueError("it ends before its counts are reached")
        return int.from_bytes(content[at : at + size], order)

    version = number(4, 4)
    if number(0, 4) != 1 or not 1 <= version <= 4:
        raise ValueError("is no binary mesh of version 1 to 4")
    at, place, integer, counts = 8, 8 if version > 2 else 4, 8 if version > 3 else 4, {}
    while (keyword := number(at, 4)) != 54:  # End
        counts[keyword] = number(at + 4 + place, integer)
        following = number(at + 4, place)
        if following <= at or (keyword in MESHB_LISTS and counts[keyword] > following - at):
            raise ValueError("its lists do not follow one another")
        at = following
    return counts.get(4), sum(counts.get(keyword, 0) for keyword in MESHB_LISTS if keyword != 4)


def of_abaqus(content):
    """.inp: a list of nodes and lists of elements, all in this file. It has no counts."""
    blocks = 0
    for line in content.decode("utf-8", errors="replace").upper().splitlines():
        if line.startswith("**"):
            continue
        # meshio needs no asterisk
        keyword, *options = (part.strip() for part in line.split(","))
        keyword, options = keyword.replace("*", ""), [option.replace(" ", "") for option in options]
        blocks += keyword == "NODE"
        if keyword == "INCLUDE" or (keyword in ("NODE", "ELEMENT") and any(option.startswith("INPUT=") for option in options)):
            raise ValueError(f"{line.strip()!r}: other files are not opened")
        if keyword in ABAQUS_GENERATORS or (keyword == "NODE" and any(option.startswith("SYSTEM=") for option in options)):
            raise ValueError(f"{line.strip()!r} cannot be used")
    if blocks != 1:
        raise ValueError(f"*NODE occurs {blocks} times; exactly one list of nodes can be read")
    return content, None, None, None
