"""Files that are whole at every moment: written aside, then put in place in one step."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from pathlib import Path


@contextlib.contextmanager
def replacing(path):
    """Yield the `Path` to write to; it becomes `path` when the block ends, and nothing happens to `path` where the block raises.

    Whoever opens `path` meanwhile reads the old file or the new one, and of several writers, threads or processes, the last one's
    file is left whole. (A loss of power is another matter: nothing is forced to the disk; a process that is killed outright
    leaves a folder ``.unfinished-...`` beside `path`.) A link is followed: the file it
    points to is replaced, the link stays. A new file gets the mode that the umask leaves, a replaced one keeps mode, group and owner
    where this process may set them. What is no regular file, a pipe or a device, is written to directly.

    Raises
    ------
    FileNotFoundError
        The folder does not exist.
    PermissionError
        The file may not be written, or nothing may be put into its folder.
    """
    try:
        path = Path(os.path.realpath(path))
    except TypeError:
        raise TypeError(f"path: expected a string or a path, got {path!r}") from None
    if not path.parent.is_dir():
        raise FileNotFoundError(f"path: the folder {path.parent} does not exist")
    exists = path.exists()
    if exists and not path.is_file():
        yield path
        return
    if exists and not os.access(path, os.W_OK):  # replacing asks only for the folder's permission
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    # a folder for each writer: the file in it has the final name, which writers derive a format from, and the mode of the umask
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=path.parent) as folder:
        unfinished = Path(folder, path.name)
        yield unfinished
        if exists:
            _keep_mode(path, unfinished)
        os.replace(unfinished, path)


def _keep_mode(old, new):
    """Give `new` the mode of `old`, and its group and owner where this is allowed."""
    with contextlib.suppress(FileNotFoundError):  # removed since
        status = old.stat()
        with contextlib.suppress(PermissionError):
            os.chown(new, status.st_uid, status.st_gid)
        shutil.copymode(old, new)
