"""NumPy archives (.npz) of unknown origin: only requested arrays are read, and none takes more memory than the file justifies.

`numpy.load` trusts an array's header and allocates memory for its shape; here the header is compared with the archive first.
"""

from __future__ import annotations

import contextlib
import math
import os

import numpy as np

from pdgpu._internal.file_limits import check_growth

# one byte of a deflate stream holds at most this many (zlib, Technical Details)
LARGEST_RATIO = 1032


class ArrayArchive:
    """The arrays of an .npz file by name, each read once, on request. A context manager.

    Parameters
    ----------
    path : path-like
    compressed : bool
        Whether members may be compressed (`numpy.savez_compressed`). The sum of all arrays is at most the limit of `check_growth`; without
        compression it never exceeds the size of the file.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        It is no archive, or a damaged one. The text does not contain the path, which the caller knows.
    """

    def __init__(self, path, *, compressed=False):
        import zipfile

        if not os.path.isfile(path):  # opening a pipe would wait for its writer
            raise ValueError("it is not a file")
        self._allowed = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) if compressed else (zipfile.ZIP_STORED,)
        self._file = open(path, "rb")
        try:
            self._left = self._size = os.fstat(self._file.fileno()).st_size
            self._taken = 0
            with _damage_named():
                self._zip = zipfile.ZipFile(self._file)
                members = self._zip.infolist()
                for member in members:  # each name occurs twice in the file, and is compared
                    self._zip.open(member).close()
                if len(members) != self._announced():  # a wrong length of one entry of the directory skips the next
                    raise ValueError("its directory does not match its members")
            self._members = {member.filename.removesuffix(".npy"): member for member in members}
            if len(self._members) < len(members):
                raise ValueError("two of its members have the same name")
        except BaseException:
            self._file.close()
            raise

    def _announced(self):
        """Return the number of members that the end of the archive states [PKWARE, .ZIP File Format Specification, 4.3.16]."""
        self._file.seek(max(0, self._left - 2**16 - 22))
        end = self._file.read()
        at = end.rfind(b"PK\5\6") + 10
        return int.from_bytes(end[at : at + 2], "little")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._zip.close()
        self._file.close()

    @property
    def names(self):
        """The names of the arrays not yet read, a tuple of str."""
        return tuple(self._members)

    def take(self, name):
        """Return the array of that name, read-only. KeyError for an unknown name, or an array that was read before."""
        member = self._members.pop(name)
        with _damage_named(name):
            return self._read(member)

    def _read(self, member):
        import zipfile

        if member.compress_type not in self._allowed:
            raise ValueError("it is compressed, which this format does not allow")
        largest = member.compress_size * (1 if member.compress_type == zipfile.ZIP_STORED else LARGEST_RATIO)
        self._left -= member.compress_size  # otherwise members that share bytes would multiply the content of the file
        if self._left < 0 or member.file_size > largest:
            raise ValueError(f"its directory announces {member.file_size} bytes, more than the file has")
        self._taken += member.file_size
        check_growth(f"arrays of {self._taken} bytes", self._taken, self._size)
        with self._zip.open(member) as file:
            if np.lib.format.read_magic(file) != (1, 0):
                raise ValueError("the version of the array format is not 1.0")
            shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(file)
            if dtype.kind not in "biuf" or dtype.subdtype is not None:
                raise ValueError(f"expected numbers, got dtype {dtype}")
            if any(length < 0 for length in shape) or file.tell() + math.prod(shape) * dtype.itemsize != member.file_size:
                raise ValueError(f"shape {shape} of {dtype} does not fit its {member.file_size} bytes")
            content = file.read()  # to the end, where the check sum is compared
        return np.frombuffer(content, dtype=dtype).reshape(shape, order="F" if fortran_order else "C")


@contextlib.contextmanager
def _damage_named(name=None):
    """zipfile, zlib and NumPy each have their own exceptions for a damaged file."""
    try:
        yield
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise ValueError(reason if name is None else f"{name}: {reason}") from error
