"""Numbers with their nouns."""

from __future__ import annotations

__all__ = ["counted"]


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Return the number and the noun, as in "1 step" and "2 steps"; by default the plural ends in "s"."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"
