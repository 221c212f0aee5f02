"""Reader of Gmsh's .msh of versions 2, 4.0 and 4.1, text and binary, with a complete check of its counts.

meshio rejects files with entities of two kinds of groups, partitions, parametric nodes and version 4.0 in binary, and takes a lowered count
for the end of a section. Gmsh's own reader is a large library under the GPL, and accepts truncated files. Source: Gmsh reference manual,
sections "MSH file format" and "MSH file format version 2 (Legacy)".
"""

from __future__ import annotations

import re

import numpy as np

from pdgpu.mesh.io.cell_kinds import Cells
from pdgpu.mesh.io.number_streams import BinaryNumbers, TextNumbers

__all__ = ["read_gmsh"]

# type of an element -> (name of the cell in meshio, corners, dimension)
CELLS = {15: ("vertex", 1, 0), 1: ("line", 2, 1), 2: ("triangle", 3, 2), 3: ("quad", 4, 2), 4: ("tetra", 4, 3)}
CELLS |= {5: ("hexahedron", 8, 3), 6: ("wedge", 6, 3), 7: ("pyramid", 5, 3)}
PARAMETERS = (0, 1, 2, 0)  # of a node on an entity of that dimension


def read_gmsh(path):
    """Points, elements, and the groups and numbers of elements."""
    content = path.read_bytes()
    if re.match(rb"\s*\$NOD\b", content):
        raise ValueError("is of version 1; convert it: gmsh FILE -save -format msh41 -o NEW.msh")
    return _Gmsh(content).arrays()


class _Gmsh:
    def __init__(self, content):
        header = re.search(rb"^\$MeshFormat\s+(\d)(?:\.(\d))?\d*\s+([01])\s+(\d+)[ \t]*\r?\n", content, re.MULTILINE)
        if header is None:
            raise ValueError("it has no $MeshFormat")
        major, minor, self.size = int(header[1]), int(header[2] or 0), int(header[4])
        self.binary, self.content, self.order = header[3] == b"1", content, "<"
        if major not in (2, 4) or (major == 4 and self.binary and self.size not in (4, 8)):
            raise ValueError(f"version {major}.{minor} is not known, only 2 and 4 are")
        self.version = (major, minor if major == 4 else 0)
        self.long = f"u{self.size}" if self.binary else "i8"
        at = header.end()
        if self.binary:
            self.order = "<" if content[at : at + 4] == (1).to_bytes(4, "little") else ">"
            at += 4
        self.tags = self.points = self.blocks = None
        self.names, self.groups_of_entity, self.data, self.n_elements, self.named = {}, {}, {}, {}, []
        readers = {b"Entities": self._entities, b"PartitionedEntities": self._partitions}
        readers |= {b"Nodes": self._nodes, b"ParametricNodes": self._nodes, b"Elements": self._elements}
        at, seen = self._end_of(b"MeshFormat", at), set()
        while section := re.compile(rb"\s*\$(\w+)[ \t]*\r?\n").match(content, at):
            name, at = section[1], section.end()
            if name in seen and name in (b"Nodes", b"ParametricNodes", b"Elements"):
                raise ValueError(f"it has two sections ${name.decode()}")
            seen.add(name)
            if name == b"ElementData":
                at = self._data(at)
            elif name == b"PhysicalNames" or name not in readers:
                end = self._text_end(name, at)
                if name == b"PhysicalNames":
                    self._names(content[at:end])
                at = end
            else:
                numbers = self._numbers(name, at)
                readers[name](name, numbers)
                at = self._after(name, numbers, at)
            at = self._end_of(name, at)
        if content[at:].strip():
            raise ValueError(f"{content[at:].strip()[:20]!r} is not a section")
        for what, found in (("$Nodes", self.points), ("$Elements", self.blocks)):
            if found is None:
                raise ValueError(f"it has no {what}")

    def _end_of(self, name, at):
        end = re.compile(rb"\s*\$End" + name + rb"\b[ \t]*").match(self.content, at)
        if end is None:
            raise ValueError(f"${name.decode()} does not end where its counts say")
        return end.end()

    def _text_end(self, name, at):
        end = self.content.find(b"$End" + name, at)
        if end < 0:
            raise ValueError(f"${name.decode()} has no end")
        return end

    def _numbers(self, name, at):
        """The numbers of a section from `at` on."""
        if self.binary:
            return BinaryNumbers(self.content, self.order, at)
        return TextNumbers(self.content[at : self._text_end(name, at)])

    def _after(self, name, numbers, at):
        """The end of the numbers that began at `at`; in a text all must have been read."""
        if self.binary:
            return numbers.at
        if numbers.left():
            raise ValueError(f"${name.decode()} holds {numbers.left()} numbers more than it announces")
        return self._text_end(name, at)

    def _names(self, text):
        lines = [line for line in text.decode("utf-8", errors="replace").splitlines() if line.strip()]
        found = [re.fullmatch(r'\s*(\d)\s+(\d+)\s+"(.*)"\s*', line) for line in lines[1:]]
        if not lines or int(lines[0]) != len(found) or None in found:
            raise ValueError("$PhysicalNames holds other lines than it announces")
        self.names = {(int(row[1]), int(row[2])): row[3] for row in found}

    def _counts(self, numbers, *kinds):
        """The next numbers, one of each kind."""
        return [int(numbers.rows(1, [("n", kind, None)])["n"][0]) for kind in kinds]

    def _entities(self, name, numbers):
        self._listed_entities(numbers, partitioned=False)

    def _partitions(self, name, numbers):
        self._counts(numbers, self.long)
        (ghosts,) = self._counts(numbers, self.long)
        numbers.rows(ghosts, [("ghost", "i4", 2)])
        self._listed_entities(numbers, partitioned=True)

    def _listed_entities(self, numbers, partitioned):
        """Tag of an entity -> its physical groups."""
        for dimension, count in enumerate(self._counts(numbers, *[self.long] * 4)):
            for _ in range(count):
                (tag,) = self._counts(numbers, "i4")
                if partitioned:
                    numbers.rows(1, [("parent", "i4", 2)])
                    numbers.rows(self._counts(numbers, self.long)[0], [("partition", "i4", None)])
                numbers.rows(1, [("box", "f8", 3 if dimension == 0 and self.version != (4, 0) else 6)])
                groups = numbers.rows(self._counts(numbers, self.long)[0], [("group", "i4", None)])["group"]
                self.groups_of_entity[dimension, tag] = np.unique(np.abs(groups)).tolist()
                if dimension:
                    numbers.rows(self._counts(numbers, self.long)[0], [("boundary", "i4", None)])

    def _nodes(self, name, numbers):
        if self.points is not None:
            raise ValueError("it has two sections of nodes")
        tags, points = [np.zeros(0, np.int64)], [np.zeros((0, 3))]
        if name == b"ParametricNodes":  # of version 2: each with its entity and its parameters there
            for _ in range(self._total(numbers)):
                row = numbers.rows(1, [("tag", "i4", None), ("x", "f8", 3), ("entity", "i4", 2)])
                numbers.rows(1, [("place", "f8", PARAMETERS[min(max(int(row["entity"][0, 0]), 0), 3)])])
                tags.append(row["tag"])
                points.append(row["x"])
        elif self.version[0] == 2:
            found = numbers.rows(self._total(numbers), [("tag", "i4", None), ("x", "f8", 3)])
            tags.append(found["tag"])
            points.append(found["x"])
        else:
            blocks, total, *_ = self._counts(numbers, *[self.long] * (4 if self.version[1] else 2))
            for _ in range(blocks):
                entity, parametric, n = self._block(numbers)
                row = [("tag", self.long if self.version[1] else "i4", None)]
                place = [("x", "f8", 3), ("place", "f8", PARAMETERS[entity[0] % 4] if parametric else 0)]
                if self.version[1]:
                    found = numbers.rows(n, row) | numbers.rows(n, place)
                else:
                    found = numbers.rows(n, row + place)
                tags.append(found["tag"])
                points.append(found["x"])
            self._announced("nodes", total, sum(map(len, tags)))
        self.tags, self.points = np.concatenate(tags).astype(np.int64), np.concatenate(points)

    def _total(self, numbers):
        """The count at the begin of a section of version 2; in a binary file it is a line of text."""
        if not self.binary:
            return self._counts(numbers, "i8")[0]
        line = re.compile(rb"(\d{1,18})[ \t]*\r?\n").match(self.content, numbers.at)
        if line is None:
            raise ValueError("a section has no count")
        numbers.at = line.end()
        return int(line[1])

    def _block(self, numbers):
        """((dimension, tag) of the entity, the third number, number of rows) of a block of version 4."""
        first, second, third = self._counts(numbers, "i4", "i4", "i4")
        entity = (first, second) if self.version[1] else (second, first)
        return entity, third, self._counts(numbers, self.long)[0]

    def _announced(self, what, announced, found):
        if announced != found:
            raise ValueError(f"{announced} {what} are announced, and its blocks hold {found}")

    def _elements(self, name, numbers):
        """Fills `blocks`, type -> columns of all its elements, and `named`, (type, first row, count, group)."""
        self.blocks = {}
        if self.version[0] == 4:
            blocks, total, *_ = self._counts(numbers, *[self.long] * (4 if self.version[1] else 2))
            for _ in range(blocks):
                entity, kind, n = self._block(numbers)
                row = ("row", self.long if self.version[1] else "i4", 1 + _corners(kind) if n else 0)
                rows = numbers.rows(n, [row])["row"].astype(np.int64)
                groups = self.groups_of_entity.get(entity, [])
                if n:
                    first = self._keep(kind, rows[:, 0], np.full(n, entity[1]), np.full(n, groups[0] if groups else 0), rows[:, 1:])
                    self.named += [(kind, first, n, group) for group in groups]
            self._announced("elements", total, sum(self.n_elements.values()))
            return
        left = self._total(numbers)
        while left:
            if self.binary:
                kind, n, tags = self._counts(numbers, "i4", "i4", "i4")
                fields = [("element", "i4", None)]
            else:  # the longest run of rows of one type with one number of tags
                _, kind, tags = map(int, numbers.peek(1, 3)[0])
                n = _run(numbers, 3 + max(tags, 0) + _corners(kind), left)
                fields = [("element", "i4", None), ("kind", "i4", 2)]
            if tags < 0 or not 0 < n <= left:
                raise ValueError(f"a block announces {n} elements with {tags} tags, where {left} are left")
            found = numbers.rows(n, [*fields, ("tags", "i4", tags), ("corners", "i4", _corners(kind))])
            zeros = np.zeros(n, np.int64)
            groups, entity = np.abs(found["tags"][:, 0]) if tags else zeros, found["tags"][:, 1] if tags > 1 else zeros
            self._keep(kind, found["element"], entity, groups, found["corners"])
            left -= n

    def _keep(self, kind, *columns):
        """Adds elements of one type: numbers, entities, groups, corners. Returns the row of the first."""
        first = self.n_elements.setdefault(kind, 0)
        self.blocks.setdefault(kind, []).append(columns)
        self.n_elements[kind] += len(columns[0])
        return first

    def _data(self, at):
        """Reads $ElementData from `at` on: names, times and sizes in lines, then numbers of some elements. Returns its end."""
        head = []
        for _ in range(3):
            count, *lines = self.content[at : at + 10000].split(b"\n")
            lines = lines[: int(count)]
            at += len(count) + 1 + sum(len(line) + 1 for line in lines)
            head.append([line.strip() for line in lines])
        names, _, sizes = head
        if not names or len(sizes) < 3:
            raise ValueError("$ElementData has no name or no sizes")
        numbers, width = self._numbers(b"ElementData", at), int(sizes[1])
        found = numbers.rows(int(sizes[2]), [("element", "i4", None), ("values", "f8", width)])
        values = found["values"][:, 0] if width == 1 else found["values"]
        order = np.argsort(found["element"], kind="stable")
        self.data[names[0].strip(b'"').decode("utf-8", errors="replace")] = found["element"][order], values[order]
        return self._after(b"ElementData", numbers, at)

    def arrays(self):
        """Points, elements, groups and numbers of elements."""
        order = np.argsort(self.tags, kind="stable")
        known = self.tags[order]
        wrong = known[(known <= 0) | (np.append(known[1:], -1) == known)]
        if len(wrong):
            raise ValueError(f"the node number {wrong[0]} is not positive, or occurs twice")
        cells, places = Cells(len(self.content)), {}
        for kind, blocks in self.blocks.items():
            elements, entity, groups, corners = (np.concatenate(column) for column in zip(*blocks, strict=True))
            at = np.minimum(np.searchsorted(known, corners), len(known) - 1)
            if not len(known) or (known[at] != corners).any():
                missing = corners[known[at] != corners][0] if len(known) else corners[0, 0]
                raise ValueError(f"an element refers to node {missing}, which does not exist")
            block = places[kind] = cells.add(CELLS[kind][0], order[at])
            if groups.any():
                cells.number("gmsh:physical", block, groups)
            cells.number("gmsh:geometrical", block, entity)
            if self.version[0] == 2:
                cells.tag(block, groups, lambda tag, _, kind=kind: [self._name(kind, tag)])
            for name, (numbered, values) in self.data.items():
                at = np.searchsorted(numbered, elements)
                there = np.append(numbered, -1)[at] == elements
                column = np.full((len(elements), *values.shape[1:]), np.nan)
                column[there] = values[at[there]]
                cells.number(name, block, column)
        for kind, first, n, group in self.named:
            cells.choose(self._name(kind, group), places[kind], np.arange(first, first + n))
        return self.points, *cells.arrays()

    def _name(self, kind, tag):
        return self.names.get((CELLS[kind][2], tag), f"physical {tag}")


def _corners(kind):
    """The number of corners of an element of Gmsh's type; ValueError for those of second order or unknown."""
    if kind in CELLS:
        return CELLS[kind][1]
    raise ValueError(
        f"holds elements of Gmsh's type {kind}, which are of second order or higher; save with first order: gmsh FILE -order 1 -save"
    )


def _run(numbers, width, most):
    """The number of rows of `width` numbers, at most `most`, with the type and the number of tags of the first."""
    n, head = 1, numbers.peek(1, width)[0, 1:3]
    while (step := min(2 * n, most - n, numbers.left() // width - n)) > 0:
        same = (numbers.peek(n + step, width)[n:, 1:3] == head).all(axis=1)
        if not same.all():
            return n + int(np.argmin(same))
        n += step
    return n
