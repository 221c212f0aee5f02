"""Named parts of a mesh, and numbers of its elements: the physical groups, sets, objects and cell data of files."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from pdgpu._internal.arguments import any_array, in_range, real_numbers, whole_numbers
from pdgpu._internal.attributes import read_only
from pdgpu._internal.counted import counted

__all__ = ["Group", "cell_data_of", "groups_of"]

KINDS = ("points", "tets", "triangles", "edges")


class Group:
    """A named part of a mesh.

    Attributes
    ----------
    points, tets, triangles, edges : ndarray of int32
        Points that were added as such, and rows of the elements; ascending, each once.
    vertices : ndarray of int32
        Those points and all vertices of those elements, ascending, which `Body.pin` takes for the name.
    """

    def __init__(self, rows, elements):
        self._rows = rows
        corners = [elements[kind][rows[kind]].ravel() for kind in KINDS[1:]]
        self.vertices = read_only(np.unique(np.concatenate([rows["points"], *corners])).astype(np.int32))

    points = property(lambda self: self._rows["points"])
    tets = property(lambda self: self._rows["tets"])
    triangles = property(lambda self: self._rows["triangles"])
    edges = property(lambda self: self._rows["edges"])

    def __repr__(self):
        counts = [counted(len(self._rows[kind]), kind.removesuffix("s")) for kind in KINDS if len(self._rows[kind])]
        return f"<Group: {', '.join(counts) or 'nothing'}, {counted(len(self.vertices), 'vertex', 'vertices')}>"

    def given(self):
        """The rows, in the form of the argument of `Mesh`."""
        return {kind: rows for kind, rows in self._rows.items() if len(rows)}


def _of_names(argument, given):
    """name -> dict of kind -> array, with checked names and kinds."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"{argument}: expected a dict of name -> dict, got {given!r}")
    for name, parts in given.items():
        if not isinstance(name, str):
            raise TypeError(f"{argument}: expected names as keys, got {name!r}")
        if not isinstance(parts, Mapping) or not all(kind in KINDS for kind in parts):
            raise TypeError(f"{argument}[{name!r}]: expected a dict with keys of {', '.join(KINDS)}, got {parts!r}")
    return given


def groups_of(given, elements, n_points):
    """The groups of a mesh, checked: name -> `Group`, immutable."""
    groups = {}
    for name, parts in _of_names("groups", given).items():
        rows = {}
        for kind in KINDS:
            where, n = f"groups[{name!r}][{kind!r}]", n_points if kind == "points" else len(elements[kind])
            array = any_array(where, parts.get(kind, ()))
            if array.size == 0:
                array = np.zeros(0, np.int64)
            if whole_numbers(where, array).ndim != 1:
                raise ValueError(f"{where}: expected shape (k,), got {array.shape}")
            in_range(where, array, n, kind)
            rows[kind] = read_only(np.unique(array).astype(np.int32))
        groups[name] = Group(rows, elements)
    return MappingProxyType(groups)


def cell_data_of(given, elements):
    """Numbers of elements, checked: name -> dict of kind -> array, immutable."""
    data = {}
    for name, parts in _of_names("cell_data", given).items():
        found = {}
        for kind, values in parts.items():
            where = f"cell_data[{name!r}][{kind!r}]"
            if kind == "points":
                raise ValueError(f"{where}: points are no elements")
            array, n = any_array(where, values), len(elements[kind])
            if not real_numbers(where, array).ndim or len(array) != n:
                raise ValueError(f"{where}: expected {n} rows, one for each of {kind}, got shape {array.shape}")
            found[kind] = read_only(array)
        data[name] = MappingProxyType(found)
    return MappingProxyType(data)
