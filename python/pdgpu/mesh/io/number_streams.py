"""Numbers of a mesh file, read row by row from text or binary, so that one reader of a format serves both."""

from __future__ import annotations

import numpy as np

__all__ = ["BinaryNumbers", "TextNumbers"]


class TextNumbers:
    """The numbers of a text between white space. `at` counts them."""

    def __init__(self, text):
        self.at = 0
        try:
            self._numbers = np.array(text.split(), dtype=np.float64)
        except ValueError as error:
            raise ValueError(f"{str(error).rpartition(': ')[2]} is not a number") from None

    def left(self):
        """The number of unread numbers."""
        return len(self._numbers) - self.at

    def rows(self, count, fields):
        """`count` rows of `fields` (name, dtype, width) as a dict of arrays (count,), or (count, width) unless the width is None."""
        widths = [1 if width is None else width for *_, width in fields]
        table = self.peek(count, sum(widths))
        self.at += table.size
        found, first = {}, 0
        for (name, dtype, width), n in zip(fields, widths, strict=True):
            columns = table[:, first : first + n]
            if np.dtype(dtype).kind in "iu":
                whole = columns.astype(np.int64)
                if (whole != columns).any():
                    raise ValueError(f"{columns[whole != columns][0]:g} is not an integer")
                columns = whole
            found[name] = columns[:, 0] if width is None else columns
            first += n
        return found

    def peek(self, count, width):
        """The next `count` rows of `width` numbers (count, width), without reading past them."""
        if count < 0 or width < 0 or count * width > self.left():
            raise ValueError("it ends before its counts are reached")
        return self._numbers[self.at : self.at + count * width].reshape(count, width)


class BinaryNumbers:
    """The numbers in a file's bytes from `at` on, which counts bytes. `order` is "<" or ">"."""

    def __init__(self, content, order="<", at=0):
        self._content, self._order, self.at = content, order, at

    def left(self):
        """The number of unread bytes."""
        return len(self._content) - self.at

    def rows(self, count, fields):
        """As `TextNumbers.rows`."""
        parts = [(name, self._order + dtype, () if width is None else (width,)) for name, dtype, width in fields]
        dtype = np.dtype(parts)
        if count < 0 or count * dtype.itemsize > self.left():
            raise ValueError("it ends before its counts are reached")
        table = np.frombuffer(self._content, dtype, count, self.at)
        self.at += table.nbytes
        return {name: table[name] for name, *_ in fields}
