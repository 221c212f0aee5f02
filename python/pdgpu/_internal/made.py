"""Classes whose objects are made by functions: the error of a call of the class."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["made_by"]

Class = TypeVar("Class", bound=type)


def made_by(maker: str) -> Callable[[Class], Class]:
    """Mark a class as made by functions only: a call with other arguments than those of the package is an error that names the `maker`."""

    def changed(cls):
        name = "__new__" if issubclass(cls, tuple) else "__init__"
        built = getattr(cls, name)

        @functools.wraps(built)
        def checked(made: Any, *arguments: Any, **settings: Any) -> Any:
            try:
                return built(made, *arguments, **settings)
            except TypeError:
                try:
                    inspect.signature(built).bind(made, *arguments, **settings)
                except TypeError:
                    kind = made if isinstance(made, type) else type(made)
                    raise TypeError(f"{kind.__name__}: made by {maker}, not by a call of the class") from None
                raise

        setattr(cls, name, staticmethod(checked) if name == "__new__" else checked)
        return cls

    return changed
