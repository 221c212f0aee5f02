"""Classes whose objects functions make: what a call of the class says."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["made_by"]

Class = TypeVar("Class", bound=type)


def made_by(maker: str) -> Callable[[Class], Class]:
    """A class that users do not build: a call with other arguments than the package gives raises a sentence with the `maker`."""

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
