"""A file of lines, each of which is complete or absent: the results of a long run so far."""

from __future__ import annotations

import fcntl
import os
import threading

__all__ = ["RowFile"]

# a lock of the system applies to the whole process
_mine: set[str] = set()
_guard = threading.Lock()


class RowFile:
    """Lines of JSON after a heading, appended one by one; one writer at a time.

    An incomplete line of a killed process is cut off. (A loss of power may damage it: data are not flushed to the disk.)

    Attributes
    ----------
    lines : list of (int, object)
        The content of the file when it was opened: number of the line from 1, and its value.
    """

    def __init__(self, path, heading):
        self.path = os.path.realpath(path)
        folder = os.path.dirname(self.path)
        if not os.path.isdir(folder):
            raise FileNotFoundError(f"path: the folder {folder} does not exist")
        with _guard:
            if self.path in _mine:
                raise RuntimeError(f"path: {self.path} is being written by another sweep of this process")
            _mine.add(self.path)
        try:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError:
            _mine.discard(self.path)
            raise
        try:
            # of the process, not of the open file: a forked worker that outlives its parent does not hold it
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise RuntimeError(f"path: {self.path} is being written by another process") from None
            self.lines = self._read(heading)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        os.close(self._descriptor)
        _mine.discard(self.path)

    def append(self, line):
        """Append a line: with one call of the system, if the system accepts it as a whole."""
        import json

        rest = (json.dumps(line) + "\n").encode()
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def _read(self, heading):
        # by this descriptor: closing another one of the same file would end the lock
        import json

        text = b""
        while part := os.pread(self._descriptor, 1 << 20, len(text)):
            text += part
        whole = text.rfind(b"\n") + 1
        lines = []
        for number, line in enumerate(text[:whole].split(b"\n")[:-1], 1):
            try:
                lines.append((number, json.loads(line)))
            except ValueError:
                raise ValueError(f"path: line {number} of {self.path} is damaged, or the file is another one") from None
        if not whole and text and not json.dumps(heading).encode().startswith(text):
            raise ValueError(f"path: {self.path} is not a file of this kind")
        if whole < len(text):
            os.ftruncate(self._descriptor, whole)
        if not lines:
            self.append(heading)
        elif lines[0][1] != heading:
            raise ValueError(f"path: {self.path} begins with {lines[0][1]!r}, but this is {heading!r}; take another path")
        return lines[1:]
