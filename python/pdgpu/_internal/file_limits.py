"""Limits of the memory requested by a file: memory and time are bounded by its size, so that a small file is read quickly."""

from __future__ import annotations

import os
import stat
import zlib

__all__ = ["check_growth", "check_regular", "checked_gunzip", "most_of"]

# meshes compress to a tenth or a half; 64 MiB are read in about a second
LARGEST_GROWTH, ALWAYS_ALLOWED = 100, 2**26


def most_of(size):
    """Return the number of bytes that a file of `size` bytes may request."""
    return max(ALWAYS_ALLOWED, LARGEST_GROWTH * size)


def check_growth(what, amount, size):
    """Raise ValueError if `amount` bytes are out of proportion to a file of `size` bytes (None: no file)."""
    if size is not None and amount > most_of(size):
        raise ValueError(f"asks for {what}, over {LARGEST_GROWTH} times its {size} bytes; store it with less compression")


def check_regular(path):
    """Raise ValueError for a pipe, a socket or a device, whose reading would block, and for an unfetched pointer of Git LFS."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, os.strerror(21), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise ValueError(f"{path}: is a pipe or a device, not a file; copy its content into a file first")
    with open(path, "rb") as file:
        if file.read(42) == b"version https://git-lfs.github.com/spec/v1":
            raise ValueError(f"{path}: is a pointer of Git LFS, not the file itself; fetch it by: git lfs pull")


def checked_gunzip(source, target):
    """Decompress a .gz file, of one or more parts, into another."""
    size = os.path.getsize(source)
    total, decoder = 0, None
    with open(source, "rb") as packed, open(target, "wb") as plain:
        rest = b""
        while chunk := rest or packed.read(2**20):
            decoder = decoder or zlib.decompressobj(wbits=31)
            content = decoder.decompress(chunk, 2**22)
            plain.write(content)
            total += len(content)
            check_growth(f"{total} bytes", total, size)
            rest = decoder.unconsumed_tail
            if decoder.eof:  # the last part may end with zeros
                rest, decoder = decoder.unused_data.lstrip(b"\0"), None
        if decoder is not None:
            raise ValueError("its compressed content ends too early")
