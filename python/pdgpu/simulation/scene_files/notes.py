"""Remarks on the lines of a scene file, and the errors that name such lines."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from pdgpu.errors import SceneFileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["SceneNote", "SceneNotes", "Words", "finite_number"]

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
LARGEST = 1e100  # beyond this, products of coordinates overflow


class SceneNote(NamedTuple):
    """A line of a scene file that has no equal in pdgpu.

    Attributes
    ----------
    path : str
    line : int
        From 1.
    keyword : str
        In JSON the path of a key, such as "contact/dhat".
    status : str
        "ignored": it does not concern the motion. "replaced": the motion differs from that of the other program. "skipped": not supported,
        and left out because of ``strict=False``.
    text : str
    """

    path: str
    line: int
    keyword: str
    status: str
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.keyword}: {self.status}: {self.text}"


class SceneNotes:
    """The notes of one file, and what to do about a line that is not supported."""

    def __init__(self, path: Path, strict: bool):
        self.path, self.strict = path, strict
        self.found: list[SceneNote] = []

    def fail(self, line: int, keyword: str, text: str, path: Path | None = None) -> NoReturn:
        """Raise the error of a line that cannot be used."""
        raise SceneFileError(os.fspath(path or self.path), line, keyword, text)

    @contextlib.contextmanager
    def naming(self, line: int, keyword: str, path: Path | None = None) -> Iterator[None]:
        """Name the line in errors of arguments that come from it."""
        try:
            yield
        except SceneFileError:
            raise
        except (ArithmeticError, TypeError, ValueError) as error:
            self.fail(line, keyword, str(error), path)

    def refuse(self, line: int, keyword: str, text: str, path: Path | None = None) -> None:
        """Raise the error of a line that is not supported, or note it without `strict`."""
        if self.strict:
            self.fail(line, keyword, f"{text}; strict=False skips it", path)
        self._add(line, keyword, "skipped", text, path)

    def ignore(self, line: int, keyword: str, text: str, path: Path | None = None) -> None:
        """Note a line that does not concern the motion."""
        self._add(line, keyword, "ignored", text, path)

    def replace(self, line: int, keyword: str, text: str, path: Path | None = None) -> None:
        """Note a line whose meaning differs here."""
        self._add(line, keyword, "replaced", text, path)

    def _add(self, line, keyword, status, text, path):
        note = SceneNote(os.fspath(path or self.path), line, keyword, status, text)
        if not any(other.status == status and (other.keyword, other.text) == (keyword, text) for other in self.found):
            self.found.append(note)


def finite_number(word: str) -> float:
    """The number that a word is; ValueError for another word, and for a number that overflows."""
    if not NUMBER.fullmatch(word):
        raise ValueError(f"expected a number, got {word[:40]!r}")
    value = float(word)
    if not abs(value) <= LARGEST:
        raise ValueError(f"{word[:40]} is too large; at most {LARGEST:g}")
    return value


class Words:
    """The words of a line, taken from the left."""

    def __init__(self, notes: SceneNotes, line: int, words: list[str]):
        self.notes, self.line, self.keyword = notes, line, words[0] if words else ""
        self._words = words[1:]

    def __len__(self):
        return len(self._words)

    @property
    def next(self) -> str:
        """The next word, which stays; "" at the end."""
        return self._words[0] if self._words else ""

    def word(self, what: str) -> str:
        """The next word; an error names `what` is missing."""
        if not self._words:
            self.notes.fail(self.line, self.keyword, f"{what} is missing; was the line cut off?")
        return self._words.pop(0)

    def number(self, what: str, minimum: float | None = None, above: float | None = None) -> float:
        """The next word as a number."""
        word = self.word(what)
        try:
            value = finite_number(word)
            if minimum is not None and value < minimum:
                raise ValueError(f"must be at least {minimum:g}, got {word}")
            if above is not None and value <= above:
                raise ValueError(f"must be greater than {above:g}, got {word}")
        except ValueError as error:
            self.notes.fail(self.line, self.keyword, f"{what}: {error}")
        return value

    def numbers(self, what: str, n: int) -> list[float]:
        """The next n words as numbers."""
        return [self.number(f"{what}, number {k + 1} of {n}") for k in range(n)]

    def count(self, what: str, most: int = 1_000_000) -> int:
        """The next word as a number of items."""
        value = self.number(what, minimum=0.0)
        if value != int(value) or value > most:
            self.notes.fail(self.line, self.keyword, f"{what}: expected a whole number up to {most}, got {value:g}")
        return int(value)

    def optional_number(self, default: float) -> float:
        """The next word if it is a number, else the default."""
        if self._words and NUMBER.fullmatch(self._words[0]):
            return self.number("number")
        return default

    def end(self) -> None:
        """Note further words of the line, other than a comment."""
        if self._words and not self._words[0].startswith("#"):
            self.notes.ignore(self.line, self.keyword, f"the word {self._words[0][:40]!r} at the end of the line is not read, as in IPC")
        self._words = []
