"""Writers of mesh files. Elements that a format cannot store are an error, names and numbers a warning."""

from __future__ import annotations

import gzip
import itertools
import os
import shutil
import tempfile
import urllib.parse
import warnings
from pathlib import Path

import numpy as np

from pdgpu._internal.atomic_files import replacing
from pdgpu.mesh.io.cell_kinds import ELEMENTS
from pdgpu.mesh.io.mesh_files import as_path, format_of, quiet

_WRITABLE = {
    ".msh": ELEMENTS,
    ".vtk": ELEMENTS,
    ".vtu": ELEMENTS,
    ".mesh": ELEMENTS,
    ".npz": ELEMENTS,
    ".obj": ("triangles",),
    ".ply": ("triangles",),
    ".stl": ("triangles",),
    ".off": ("triangles",),
    ".glb": ("triangles",),
    ".node": ("tets",),
    ".ele": ("tets",),
}
# Gmsh 2.2, since meshio writes version 4.1 for one kind of cell only
_MESHIO_FORMATS = {".msh": "gmsh22", ".mesh": "medit", ".node": "tetgen"}
_WITH_FIELDS = (".vtu", ".vtk")
_CELL_OF = {"tets": "tetra", "triangles": "triangle", "edges": "line", "points": "vertex"}
_DIMENSION = {"points": 0, "edges": 1, "triangles": 2, "tets": 3}


def write_arrays(path, points, elements, fields=None, groups=None, cell_data=None):
    """Write points (n, 3), a dict of elements, one of numbers of the points, groups and numbers of the elements; see `pdgpu.Mesh.write`."""
    path, fields = as_path(path), fields or {}
    suffix, compressed = format_of(path, _WRITABLE)
    if fields and suffix not in _WITH_FIELDS:
        raise ValueError(f"{path}: {suffix} files cannot hold fields, only {', '.join(_WITH_FIELDS)}")
    for name in elements:
        if name not in _WRITABLE[suffix]:
            raise ValueError(f"{path}: {suffix} files cannot hold {name}")
    if suffix in (".node", ".ele") and compressed:
        raise ValueError(f"{path}: the .node and .ele pair cannot be compressed")
    held = {name: parts for name, parts in (groups or {}).items() if _GROUPS_OF.get(suffix, _none)(name, parts)}
    if suffix in (".msh", ".glb"):
        held = _apart(held, elements)
    data = {name: parts for name, parts in (cell_data or {}).items() if _DATA_OF.get(suffix, _none)(name, parts)}
    left = [*(f"group {name!r}" for name in groups or () if name not in held)]
    # Gmsh's tags are the groups
    left += [f"cell_data {name!r}" for name in cell_data or () if name not in data and not name.startswith("gmsh:")]
    if left:
        more = f" and {len(left) - 5} more" if len(left) > 5 else ""
        warnings.warn(f"{path}: {suffix} files cannot hold {', '.join(left[:5])}{more}; .npz holds them", stacklevel=3)
    if suffix in (".node", ".ele"):
        _write_tetgen(path, points, elements)
        return
    named = {"groups": held, "cell_data": data, "given_tags": (cell_data or {}).get("gmsh:physical")}
    with replacing(path) as unfinished:
        if not compressed:
            _write_plain(unfinished, suffix, points, elements, fields, **named)
            return
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder, "mesh" + suffix)
            _write_plain(plain, suffix, points, elements, fields, **named)
            with open(plain, "rb") as source, gzip.open(unfinished, "wb") as target:
                shutil.copyfileobj(source, target)


def write_cells(path, points, cells, of_points, of_cells):
    """Write cells (name in meshio, rows) with fields of points and of cells to a .vtu or .vtk file."""
    import meshio

    mesh = meshio.Mesh(points, cells, point_data=of_points, cell_data=of_cells)
    with replacing(path) as unfinished, quiet():
        meshio.write(unfinished, mesh, file_format=path.suffix.lower()[1:])


# ---- which groups and numbers a format holds -----------------------------------------------------------------------------------


def _none(name, parts):
    return False


def _gmsh_holds(name, parts):
    """Physical groups have one dimension in meshio, and a quoted name in a line."""
    return len(parts) == 1 and not any(mark in name for mark in '"\n\r') and bool(name.strip()) and name == name.strip()


def _obj_holds(name, parts):
    """A line names groups by words, for the triangles after it."""
    return list(parts) == ["triangles"] and name.split() == [name] and not any(mark in name for mark in "#\\")


def _glb_holds(name, parts):
    """A geometry of a name is a set of triangles."""
    return list(parts) == ["triangles"] and bool(name)


def _apart(groups, elements):
    """For Gmsh and glTF, where an element has one tag or geometry: leaves out a group with elements of another one."""
    taken, held = {}, {}
    for name, parts in groups.items():
        ((kind, rows),) = parts.items()
        mine = taken.setdefault(kind, set())
        if mine.isdisjoint(rows.tolist()):
            mine.update(rows.tolist())
            held[name] = parts
    return held


def _gmsh_has(name, parts):
    """One, three or nine numbers of an element, under a name between quotes."""
    widths = all(values.ndim == 1 or (values.ndim == 2 and values.shape[1] in (3, 9)) for values in parts.values())
    return widths and '"' not in name and "\n" not in name and not name.startswith("gmsh:")


def _vtk_has(name, parts):
    """Numbers or rows of numbers, under a name that is one word."""
    return all(values.ndim in (1, 2) for values in parts.values()) and name.split() == [name]


_GROUPS_OF = {".npz": lambda name, parts: bool(parts), ".msh": _gmsh_holds, ".obj": _obj_holds, ".glb": _glb_holds}
_DATA_OF = {".npz": lambda name, parts: bool(parts), ".msh": _gmsh_has, ".vtk": _vtk_has, ".vtu": _vtk_has}


# ---- formats ----------------------------------------------------------------------------------------------------------------------


def _write_plain(path, suffix, points, elements, fields=None, groups=None, cell_data=None, given_tags=None):
    groups, cell_data = groups or {}, cell_data or {}
    if suffix == ".npz":
        named = {"groups": groups, "cell_data": cell_data}
        arrays = {
            f"{what}/{urllib.parse.quote(name, safe='')}/{kind}": values
            for what, given in named.items()
            for name, parts in given.items()
            for kind, values in parts.items()
        }
        np.savez(path, points=points, **elements, **arrays)
        return
    if suffix == ".glb":
        _write_glb(path, points, elements["triangles"], groups)
        return
    if suffix == ".obj":
        _write_obj(path, points, elements["triangles"], groups)
        return
    import meshio

    blocks = dict(elements)
    loose = [parts["points"] for parts in groups.values() if "points" in parts]
    if loose:
        blocks["points"] = np.unique(np.concatenate(loose))[:, None]
    data = {name: [_filled(parts, kind, rows) for kind, rows in blocks.items()] for name, parts in cell_data.items() if parts}
    names = {}
    if groups:
        tags, names = _tags(groups, blocks, given_tags)
        data |= {"gmsh:physical": tags, "gmsh:geometrical": tags}
    cells = [(_CELL_OF[kind], rows) for kind, rows in blocks.items()]
    mesh = meshio.Mesh(points, cells, point_data=fields or {}, cell_data=data, field_data=names)
    with quiet():
        meshio.write(path, mesh, file_format=_MESHIO_FORMATS.get(suffix, suffix[1:]))


def _filled(parts, kind, rows):
    """Numbers of one kind of elements; NaN for kinds without numbers, which reading leaves out."""
    if kind in parts:
        return parts[kind].astype(np.float64 if parts[kind].dtype.kind == "f" else np.int64)
    return np.full((len(rows), *next(iter(parts.values())).shape[1:]), np.nan)


def _tags(groups, blocks, given):
    """The tag of every cell, block by block, and name -> (tag, dimension). Tags from a file stay, new ones follow them."""
    tags = {kind: np.zeros(len(rows), np.int32) for kind, rows in blocks.items()}
    names, used, later = {}, set(), []
    free = {kind: itertools.count(1) for kind in blocks}
    for name, parts in groups.items():
        ((kind, rows),) = parts.items()
        had = np.unique(np.asarray(given[kind])[rows]) if given and kind in given else np.zeros(0)
        tag = int(had[0]) if len(had) == 1 else 0
        if name.startswith("physical ") and name[9:].isdecimal():
            tag = int(name[9:])
        if 0 < tag < 2**31 and (kind, tag) not in used:
            used.add((kind, tag))
            later.append((name, kind, rows, tag))
        else:
            later.append((name, kind, rows, None))
    for name, kind, rows, tag in later:
        if tag is None:
            tag = next(k for k in free[kind] if (kind, k) not in used)
            used.add((kind, tag))
        here = np.searchsorted(blocks["points"][:, 0], rows) if kind == "points" else rows
        tags[kind][here] = tag
        if name != f"physical {tag}":
            names[name] = np.array([tag, _DIMENSION[kind]])
    return list(tags.values()), names


def _write_glb(path, points, triangles, groups):
    """Binary glTF, y up and in metres as here, coordinates in float32; a geometry for each group, and one for the rest."""
    try:
        import trimesh
    except ImportError:
        raise ImportError(".glb files need trimesh, which is not installed: pip install trimesh") from None
    rest = np.ones(len(triangles), bool)
    parts = {name: rows["triangles"] for name, rows in groups.items()}
    for rows in parts.values():
        rest[rows] = False
    scene = trimesh.Scene()
    for name, rows in (*parts.items(), ("mesh", np.flatnonzero(rest))):
        if len(rows):
            used, corners = np.unique(triangles[rows], return_inverse=True)
            scene.add_geometry(trimesh.Trimesh(points[used], corners.reshape(-1, 3), process=False), node_name=name, geom_name=name)
    Path(path).write_bytes(scene.export(file_type="glb"))


def _write_obj(path, points, triangles, groups):
    """v and f lines, and a g line for every triangle with other groups than the one before."""
    of_row = [[] for _ in triangles]
    for name, parts in groups.items():
        for row in parts["triangles"]:
            of_row[row].append(name)
    lines, current = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()], []
    for names, (a, b, c) in zip(of_row, (triangles + 1).tolist(), strict=True):
        if names != current:
            lines.append(" ".join(["g", *names]))
            current = names
        lines.append(f"f {a} {b} {c}")
    Path(path).write_text("\n".join([*lines, ""]))


def _write_tetgen(path, points, elements):
    """The pair: meshio writes both files into one folder, while links may point to different ones."""
    with replacing(path.with_suffix(".node")) as node, replacing(path.with_suffix(".ele")) as ele, tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "mesh.node")
        _write_plain(plain, ".node", points, elements)
        shutil.copyfile(plain, node)
        shutil.copyfile(os.fspath(plain.with_suffix(".ele")), ele)
