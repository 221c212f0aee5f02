"""How much a file may ask for: memory and time follow from its size, so that a small one never takes long."""

from __future__ import annotations

import os
import stat
import zlib

__all__ = ["check_growth", "check_regular", "checked_gunzip", "most_of"]

# meshes compress to a tenth or a half; 64 MiB are read in a second in any case
LARGEST_GROWTH, ALWAYS_ALLOWED = 100, 2**26


def most_of(size):
    """How many bytes a file of `size` bytes may ask for."""
    return max(ALWAYS_ALLOWED, LARGEST_GROWTH * size)


def check_growth(what, amount, size):
    """ValueError where `amount` bytes are out of proportion to a file of `size` bytes (None: no file)."""
    if size is not None and amount > most_of(size):
        raise ValueError(f"asks for {what}, over {LARGEST_GROWTH} times its {size} bytes; store it with less compression")


def check_regular(path):
    """ValueError for a pipe, a socket or a device, which would be waited for, and for a file that Git LFS has not fetched."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, os.strerror(21), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise ValueError(f"{path}: is a pipe or a device, not a file; copy its content into a file first")
    with open(path, "rb") as file:
        if file.read(42) == b"version https://git-lfs.github.com/spec/v1":
            raise ValueError(f"{path}: is a pointer of Git LFS, not the file itself; fetch it by: git lfs pull")


def checked_gunzip(source, target):
    """Decompresses a .gz file, of one or more parts, into another."""
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
            if decoder.eof:  # zeros may fill the end of the last part
                rest, decoder = decoder.unused_data.lstrip(b"\0"), None
        if decoder is not None:
            raise ValueError("its compressed content ends too early")
