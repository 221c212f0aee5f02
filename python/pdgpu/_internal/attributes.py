"""Objects with restricted attributes: an assignment has an effect, or is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any


def read_only(array):
    """Return a copy that stays read-only even after `flags.writeable = True`, so that checks of it stay valid."""
    return np.ndarray(array.shape, array.dtype, buffer=array.tobytes())


def keep_attributes(thing: GuardedAttributes, **values: Any) -> None:
    """Set attributes that users cannot set."""
    vars(thing).update(values)


class GuardedAttributes:
    """A class with a fixed set of public attributes, and rules for their change.

    Otherwise a misspelt name would become an unused attribute. Properties with a setter can be set; the class itself uses `_keep`, other
    modules of the package `keep_attributes`.
    """

    _instead = ""  # the cure in the message for an attribute that cannot be set
    _instead_of: dict[str, str] = {}  # attribute -> its cure, if that differs

    def _keep(self, **values):
        keep_attributes(self, **values)

    def __setattr__(self, name, value):
        if not name.startswith("_") and getattr(getattr(type(self), name, None), "fset", None) is None:
            raise AttributeError(self._refusal(name, "set"))
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        if not name.startswith("_"):
            raise AttributeError(self._refusal(name, "deleted"))
        object.__delattr__(self, name)

    def _refusal(self, name, what):
        import difflib

        known = sorted(entry for entry in dir(self) if not entry.startswith("_"))
        instead = self._instead_of.get(name, self._instead)
        if name in known:
            text = f"{name}: cannot be {what} on a {type(self).__name__}"
        else:
            near = difflib.get_close_matches(name, known, 1)
            text = f"{name}: {type(self).__name__} has no attribute of that name"
            instead = f"did you mean {near[0]!r}?" if near else instead
        return f"{text}; {instead}" if instead else text
