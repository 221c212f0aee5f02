"""Read scenes of other programs."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

from pdgpu._internal.arguments import flag
from pdgpu.simulation.scene_files.notes import SceneNotes
from pdgpu.simulation.scene_files.scene_text import scene_text

if TYPE_CHECKING:
    from pdgpu.simulation.scene_files.loaded_scene import LoadedScene
    from pdgpu.types import Path

__all__ = ["read_scene"]


def read_scene(path: Path, *, strict: bool = True, root: Path | None = None) -> LoadedScene:
    """Read a scene of another program: a text script of IPC (.txt), or a JSON file of polyfem (.json).

    Meshes are read by `read_mesh`. A path in the file is relative to the file, then to `root`, then to the folders above the file. Each
    line without an equal in pdgpu is in `LoadedScene.notes`, with its number.

    Parameters
    ----------
    path : str or os.PathLike
    strict : bool
        True: an unknown keyword and an unsupported feature raise. False: they are left out, and noted as "skipped".
    root : str or os.PathLike, optional
        A folder in which meshes are searched too.

    Returns
    -------
    LoadedScene

    Raises
    ------
    SceneFileError
        A ValueError with `path`, `line` and `keyword`: a word that is not known or not supported, a number that is missing or out of range,
        a mesh that does not exist or cannot be read.
    FileNotFoundError
        The scene file does not exist.
    ValueError
        A file that is not UTF-8, or has another suffix.

    Warns
    -----
    UserWarning
        Lines that are replaced or skipped: the motion differs from that of the other program. The warnings of `read_mesh`.

    Examples
    --------
    >>> loaded = pdgpu.read_scene("two_cubes.txt")  # doctest: +SKIP
    >>> sim = loaded.simulation()  # doctest: +SKIP
    >>> sim.run(loaded.duration)  # doctest: +SKIP
    """
    import errno  # an import of the package does not load what reads files

    from pdgpu.mesh.io.mesh_files import as_path
    from pdgpu.simulation.scene_files.ipc_scene import ipc_scene
    from pdgpu.simulation.scene_files.polyfem_scene import polyfem_scene
    from pdgpu.simulation.scene_files.scene_parts import MeshFiles

    file = as_path(path)
    strict = flag("strict", strict)
    suffix = file.suffix.lower()
    if suffix not in (".txt", ".json"):
        raise ValueError(f"{file}: unknown format of a scene; known are .txt (scripts of IPC) and .json (polyfem)")
    if not file.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(file))
    text = scene_text(file)
    notes = SceneNotes(file, strict)
    files = MeshFiles(notes, None if root is None else as_path(root))
    if suffix == ".txt":
        loaded = ipc_scene(text, notes, files)
    else:
        loaded = polyfem_scene(text, notes, files)
    changed = [str(note) for note in loaded.notes if note.status != "ignored"]
    if changed:
        warnings.warn("the motion may differ from that of the other program:\n" + "\n".join(changed), stacklevel=2)
    return loaded
