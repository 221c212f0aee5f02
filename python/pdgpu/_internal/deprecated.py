"""Deprecated calls of an earlier release: supported for one release, with a warning."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["settings_by_keyword"]

Class = TypeVar("Class", bound=type)


def settings_by_keyword(order: tuple[str, ...], renamed: Mapping[str, str] | None = None) -> Callable[[Class], Class]:
    """Make a class whose settings except the first are keyword-only accept them by position too, with a DeprecationWarning.

    Parameters
    ----------
    order : tuple of str
        The arguments in the order of the earlier release.
    renamed : dict, optional
        Old name of an argument -> its present name.
    """

    def changed(cls):
        built = cls.__init__

        @functools.wraps(built)
        def __init__(self, *arguments, **settings):
            if len(arguments) > len(order):
                raise TypeError(f"{cls.__name__} takes at most {len(order)} arguments by position, got {len(arguments)}")
            given = dict(zip(order[1:], arguments[1:], strict=False))
            if given:
                words = ", ".join(f"{name}={value!r}" for name, value in given.items())
                _warn(f"{cls.__name__}: give its settings by keyword, {words}; positional settings end with the next release")
            for old, new in (renamed or {}).items():
                if old in settings:
                    _warn(f"{cls.__name__}: {old}= is now called {new}=; the old name ends with the next release")
                    given |= {new: settings.pop(old)}
            if twice := [name for name in given if name in settings or (name == order[0] and arguments)]:
                raise TypeError(f"{cls.__name__}: {twice[0]} is given twice")
            built(self, *arguments[:1], **given, **settings)

        cls.__init__ = __init__
        return cls

    return changed


def _warn(text):
    warnings.warn(text, DeprecationWarning, stacklevel=3)
