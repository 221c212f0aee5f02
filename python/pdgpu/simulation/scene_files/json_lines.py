"""JSON with the line of every value, so that messages can name it [ECMA-404]."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from pdgpu.simulation.scene_files.notes import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pdgpu.simulation.scene_files.notes import SceneNotes

__all__ = ["DEEPEST", "Node", "Section", "merged", "parse_json", "patched"]

BLANK = re.compile(r"[ \t\r\n]*")
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
WORDS = {"true": True, "false": False, "null": None}
DEEPEST = 64
STRINGS = json.JSONDecoder()


class Node(NamedTuple):
    """A value with its place: a dict of str to Node, a list of Node, or a scalar."""

    value: Any
    line: int
    path: Path  # of its file


class _Parser:
    def __init__(self, text, notes, path):
        self.text, self.notes, self.path, self.at = text, notes, path, 0
        self._counted, self._line = 0, 1

    def line(self):
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def fail(self, text, keyword="JSON"):
        self.notes.fail(self.line(), keyword, text, self.path)

    def skip(self):
        self.at = BLANK.match(self.text, self.at).end()
        return self.text[self.at : self.at + 1]

    def string(self):
        try:
            value, self.at = STRINGS.raw_decode(self.text, self.at)
        except ValueError as error:
            self.fail(f"a string cannot be read ({str(error).split(':')[0]}); was the file cut off?")
        return value

    def value(self, depth=0):
        if depth > DEEPEST:
            self.fail(f"values are nested more than {DEEPEST} deep")
        first, line = self.skip(), self.line()
        if first == "{":
            return Node(self.members(depth), line, self.path)
        if first == "[":
            return Node(self.items(depth), line, self.path)
        if first == '"':
            return Node(self.string(), line, self.path)
        for word, meaning in WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return Node(meaning, line, self.path)
        found = NUMBER.match(self.text, self.at)
        if not found:
            shown = repr(self.text[self.at : self.at + 10]) if first else "the end of the file"
            self.fail(f"expected a value, got {shown}; was the file cut off?")
        word, self.at = found.group(), found.end()
        number = float(word)
        if not abs(number) <= LARGEST:
            self.fail(f"{word[:40]} is too large; at most {LARGEST:g}")
        return Node(int(number) if number.is_integer() and abs(number) < 2**53 and not set(word) & set(".eE") else number, line, self.path)

    def items(self, depth):
        found: list[Node] = []
        self.at += 1
        if self.skip() == "]":
            self.at += 1
            return found
        while True:
            found.append(self.value(depth + 1))
            if self.ends("]"):
                return found

    def members(self, depth):
        found: dict[str, Node] = {}
        self.at += 1
        if self.skip() == "}":
            self.at += 1
            return found
        while True:
            if self.skip() != '"':
                self.fail('expected a key in quotation marks; was the file cut off, or is there a "," before "}"?')
            key = self.string()
            if key in found:
                self.fail(f"the key {key[:40]!r} occurs twice, first in line {found[key].line}; remove one", key[:40])
            if self.skip() != ":":
                self.fail(f"expected ':' after the key {key[:40]!r}; was the file cut off?")
            self.at += 1
            found[key] = self.value(depth + 1)
            if self.ends("}"):
                return found

    def ends(self, closing):
        """Take a closing bracket (True) or a comma (False)."""
        character = self.skip()
        if character not in (closing, ",") or not character:
            self.fail(f"expected ',' or {closing!r}, got {character!r}; was the file cut off?")
        self.at += 1
        return character == closing


def parse_json(text: str, notes: SceneNotes, path: Path) -> Node:
    """Parse a text; SceneFileError names the line of an error, a key that occurs twice, and a number that overflows."""
    parser = _Parser(text, notes, path)
    node = parser.value()
    if parser.skip():
        parser.fail("there is more after the end of the value; remove it")
    return node


def merged(base: Node, change: Node) -> Node:
    """The base with the members of a change; null removes a member [RFC 7396, JSON Merge Patch]."""
    if not isinstance(change.value, dict):
        return change
    members = dict(base.value) if isinstance(base.value, dict) else {}
    for key, value in change.value.items():
        if value.value is None:
            members.pop(key, None)
        else:
            members[key] = merged(members.get(key, Node(None, value.line, value.path)), value)
    return Node(members, change.line, change.path)


def patched(node: Node, pointer: list[str], value: Node, *, add: bool = False) -> Node:
    """The node with another value at a place, or with one more; KeyError for a place that is not there [RFC 6902, replace and add].

    `add` inserts before an item of a list, "-" appends, and a member of an object is added or replaced.
    """
    if not pointer:
        return value
    key, rest, items = pointer[0].replace("~1", "/").replace("~0", "~"), pointer[1:], node.value
    if isinstance(items, dict):
        if key not in items and (rest or not add):
            raise KeyError(key)
        return node._replace(value=items | {key: patched(items[key], rest, value, add=add) if rest else value})
    if not isinstance(items, list):
        raise KeyError(key)
    inserted = add and not rest
    if key == "-" and inserted:
        return node._replace(value=[*items, value])
    if not INDEX.fullmatch(key) or int(key) >= len(items) + inserted:
        raise KeyError(key)
    at = int(key)
    if inserted:
        return node._replace(value=[*items[:at], value, *items[at:]])
    return node._replace(value=[*items[:at], patched(items[at], rest, value, add=add), *items[at + 1 :]])


class Section:
    """An object of JSON whose members are taken by name; `end` names those that are left."""

    def __init__(self, node: Node, where: str, notes: SceneNotes):
        self.node, self.where, self.notes = node, where, notes
        if not isinstance(node.value, dict):
            self._fail(node, where, f"expected an object, got {_kind(node)}")
        self._left = dict(node.value)

    def _fail(self, node, where, text):
        self.notes.fail(node.line, where or "JSON", text, node.path)

    def place(self, key: str) -> str:
        """The path of a key in the file."""
        return f"{self.where}/{key}" if self.where else key

    def has(self, key: str) -> bool:
        """Whether a member is left."""
        return key in self._left

    def take(self, key: str) -> Node | None:
        """A member; None if it is absent or null."""
        node = self._left.pop(key, None)
        return None if node is None or node.value is None else node

    def section(self, key: str) -> Section:
        """A member that is an object; an empty one if it is absent."""
        node = self.take(key)
        return Section(node or Node({}, self.node.line, self.node.path), self.place(key), self.notes)

    def sections(self, key: str) -> Iterator[Section]:
        """The objects of a member that is an object or a list of objects."""
        node = self.take(key)
        if node is None:
            return
        alone = isinstance(node.value, dict)
        for k, item in enumerate([node] if alone else self.list_of(node, key)):
            yield Section(item, self.place(key) if alone else f"{self.place(key)}/{k}", self.notes)

    def list_of(self, node: Node, key: str, n: int | None = None) -> list[Node]:
        """The items of a list, n of them if given."""
        if not isinstance(node.value, list):
            self._fail(node, self.place(key), f"expected a list, got {_kind(node)}")
        if n is not None and len(node.value) != n:
            self._fail(node, self.place(key), f"expected {n} items, got {len(node.value)}")
        return node.value

    def number(self, key: str, default: Any = None, *, above: float | None = None, minimum: float | None = None) -> Any:
        """A number."""
        node = self.take(key)
        return default if node is None else self.number_of(node, key, above, minimum)

    def number_of(self, node: Node, key: str, above: float | None = None, minimum: float | None = None) -> float:
        """The number that a node is."""
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            self._fail(node, self.place(key), f"expected a number, got {_kind(node)}")
        if above is not None and not node.value > above:
            self._fail(node, self.place(key), f"must be greater than {above:g}, got {node.value:g}")
        if minimum is not None and not node.value >= minimum:
            self._fail(node, self.place(key), f"must be at least {minimum:g}, got {node.value:g}")
        return float(node.value)

    def numbers(self, key: str, n: int, default: Any = None) -> Any:
        """A list of n numbers."""
        node = self.take(key)
        return default if node is None else [self.number_of(item, key) for item in self.list_of(node, key, n)]

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        node = self.take(key)
        if node is not None and not isinstance(node.value, bool):
            self._fail(node, self.place(key), f"expected true or false, got {_kind(node)}")
        return default if node is None else node.value

    def text(self, key: str, default: str | None = None) -> str | None:
        """A string."""
        node = self.take(key)
        if node is not None and not isinstance(node.value, str):
            self._fail(node, self.place(key), f"expected a string, got {_kind(node)}")
        return default if node is None else node.value

    def refuse(self, key: str, text: str, node: Node | None = None) -> None:
        """Refuse a member, taken now unless its node is given."""
        node = node or self.take(key)
        if node is not None:
            self.notes.refuse(node.line, self.place(key), text, node.path)

    def ignore(self, text: str, *keys: str) -> None:
        """Note members that do not concern the motion."""
        for key in keys:
            if (node := self.take(key)) is not None:
                self.notes.ignore(node.line, self.place(key), text, node.path)

    def end(self) -> None:
        """Refuse the members that are left."""
        for key in list(self._left):
            self.refuse(key, "this key is not known; remove it")


def _kind(node):
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(node.value), "a number") if not isinstance(node.value, str) else repr(node.value[:40])
