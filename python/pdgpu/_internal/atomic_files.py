"""Files that are complete at any time: written to a temporary folder, then replaced in one step."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os

PREFIX = ".unfinished-"


@contextlib.contextmanager
def replacing(path):
    """Yield the `Path` to write to; it becomes `path` at the end of the block. After an exception in the block `path` is unchanged.

    Readers of `path` in the meantime get the old file or the new one. Of several writers, threads or processes, the last one's file
    remains, complete. (A loss of power may damage it: data are not flushed to the disk.) A killed process leaves a folder
    ``.unfinished-...`` next to `path`, which the next writer of `path` removes. For a symbolic link the target is replaced, and the link
    remains. A new file gets the mode of the umask; a replaced one keeps mode, group and owner if this process may set them. A pipe or a
    device is written to directly.

    Raises
    ------
    FileNotFoundError
        The folder does not exist.
    PermissionError
        The file, or its folder, is not writable.
    """
    import shutil
    from pathlib import Path

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
    if exists and not os.access(path, os.W_OK):  # replacing only needs the permission of the folder
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    _remove_leftovers(path)
    # a folder for each writer: its file has the final name, from which writers derive a format, and the mode of the umask
    folder, lock = _locked_folder(path.parent)
    try:
        unfinished = Path(folder, path.name)
        yield unfinished
        if exists:
            _keep_mode(path, unfinished)
        os.replace(unfinished, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _lock(folder):
    """Return a descriptor of the folder, and whether it is locked; the lock ends with its process. OSError: there are no locks."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return descriptor, False
    except OSError:
        os.close(descriptor)
        raise
    return descriptor, True


def _locked_folder(parent):
    """Return a new folder and its lock, None if the file system has no locks. If it is removed before the lock, another one is made."""
    import tempfile

    while True:
        folder = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
        try:
            descriptor, locked = _lock(folder)
        except FileNotFoundError:
            continue
        except OSError:
            return folder, None
        if locked and os.path.isdir(folder):
            return folder, descriptor
        os.close(descriptor)


def _remove_leftovers(path):
    """Remove the folders next to `path` that killed writers have left, and that no process has locked."""
    import shutil

    for folder in path.parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if os.listdir(folder) in ([], [path.name]):
                descriptor, locked = _lock(folder)
                if locked:
                    shutil.rmtree(folder, ignore_errors=True)
                os.close(descriptor)


def _keep_mode(old, new):
    """Give `new` the mode of `old`, and its group and owner if this is allowed."""
    import shutil

    with contextlib.suppress(FileNotFoundError):  # removed in the meantime
        status = old.stat()
        with contextlib.suppress(PermissionError):
            os.chown(new, status.st_uid, status.st_gid)
        shutil.copymode(old, new)
