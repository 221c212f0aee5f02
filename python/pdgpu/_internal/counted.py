"""Numbers with their nouns."""

from __future__ import annotations

__all__ = ["counted"]


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """The number and the noun, as in "1 step" and "2 steps"; the plural ends in "s" unless it is given."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"
