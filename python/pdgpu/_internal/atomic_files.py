"""Files that are whole at every moment: written aside, then put in place in one step."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os

PREFIX = ".unfinished-"


@contextlib.contextmanager
def replacing(path):
    """Yield the `Path` to write to; it becomes `path` when the block ends, and nothing happens to `path` where the block raises.

    Whoever opens `path` meanwhile reads the old file or the new one, and of several writers, threads or processes, the last one's
    file is left whole. (A loss of power is another matter: nothing is forced to the disk.) A process that is killed outright leaves a
    folder ``.unfinished-...`` beside `path`, which the next writer of `path` removes. A link is followed: the file it
    points to is replaced, the link stays. A new file gets the mode that the umask leaves, a replaced one keeps mode, group and owner
    where this process may set them. What is no regular file, a pipe or a device, is written to directly.

    Raises
    ------
    FileNotFoundError
        The folder does not exist.
    PermissionError
        The file may not be written, or nothing may be put into its folder.
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
    if exists and not os.access(path, os.W_OK):  # replacing asks only for the folder's permission
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    _remove_leftovers(path)
    # a folder for each writer: the file in it has the final name, which writers derive a format from, and the mode of the umask
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
    """A descriptor of the folder, and whether it has its lock, which ends with the process that holds it. OSError: there are no locks."""
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
    """A new folder and its lock, None where the file system has no locks. One that was removed before it was locked is made again."""
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
    """Removes the folders beside `path` that writers of it left when they were killed, which no process has locked."""
    import shutil

    for folder in path.parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if os.listdir(folder) in ([], [path.name]):
                descriptor, locked = _lock(folder)
                if locked:
                    shutil.rmtree(folder, ignore_errors=True)
                os.close(descriptor)


def _keep_mode(old, new):
    """Give `new` the mode of `old`, and its group and owner where this is allowed."""
    import shutil

    with contextlib.suppress(FileNotFoundError):  # removed since
        status = old.stat()
        with contextlib.suppress(PermissionError):
            os.chown(new, status.st_uid, status.st_gid)
        shutil.copymode(old, new)
