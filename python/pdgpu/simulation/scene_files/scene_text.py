"""The text of a scene file, or of a file that it includes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdgpu._internal.file_limits import check_regular

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["scene_text"]

LARGEST_FILE = 2**26  # bytes; scripts have kilobytes


def scene_text(path: Path) -> str:
    """The text of a file in UTF-8; ValueError and OSError for a file that is too large, not regular, or in another encoding."""
    check_regular(path)
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise ValueError(f"{path}: has {size} bytes, and scene files have at most {LARGEST_FILE}; is it a mesh?")
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}:{line}: is not UTF-8; save it as UTF-8") from None
