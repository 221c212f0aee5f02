"""The map between the vertices of the public arrays and the rows of the compiled model.

The model has additional rows: after the vertices of a rigid body the points of its joints, and four points with its mass. Public arrays do
not contain them. Without rigid bodies both numberings are the same, and no array is copied.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

import numpy as np

from pdgpu.errors import DivergenceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

__all__ = ["PublicRows"]


class PublicRows:
    """The map for the bodies of a simulation.

    Parameters
    ----------
    bodies : sequence of Body
        In the order of the model (`scene.model_scene`).

    Attributes
    ----------
    n, n_model : int
        Vertices of the public arrays, and rows of the model.
    rows : ndarray of int, shape (n,), or None
        The row of each vertex; None: the numberings are the same.
    """

    def __init__(self, bodies: Sequence[Any]) -> None:
        self.n_model = sum(len(body.points) for body in bodies)
        self.n = self.n_model - sum(body.n_hidden for body in bodies)
        self.rows = None
        if self.n == self.n_model:
            return
        shown = [np.arange(len(body.points)) < len(body.points) - body.n_hidden for body in bodies]
        self.rows = np.flatnonzero(np.concatenate(shown))
        # a hidden row has the number of the first vertex of its body
        first = np.cumsum([0, *(len(body.points) - body.n_hidden for body in bodies)])
        self._numbers = np.concatenate([start + np.where(own, np.arange(len(own)), 0) for start, own in zip(first, shown, strict=False)])
        self._names = [(body.slice.start, body.name) for body in bodies]

    def of(self, array: Any, axis: int = 0) -> Any:
        """The vertices of an array over the rows of the model, and all further rows; the array itself if both numberings are the same."""
        if self.rows is None:
            return array
        behind = np.arange(self.n_model, array.shape[axis])
        return np.take(array, np.concatenate([self.rows, behind]), axis=axis)

    def spread(self, array: Any) -> Any:
        """An array (n, ...) over the rows of the model, 0 in hidden rows; itself if both numberings are the same."""
        if self.rows is None:
            return array
        result = np.zeros((self.n_model, *array.shape[1:]), array.dtype)
        result[self.rows] = array
        return result

    def hidden_of(self, array: Any) -> Any:
        """The hidden rows (h, ...) of an array over the rows of the model; None without any."""
        return None if self.rows is None else np.delete(array, self.rows, axis=0)

    def joined(self, array: Any, hidden: Any) -> Any:
        """An array over the rows of the model, from the vertices (n, ...) and the hidden rows (h, ...), the results of `of` and
        `hidden_of`.
        """
        if self.rows is None:
            return array
        result = self.spread(array)
        result[np.delete(np.arange(self.n_model), self.rows)] = hidden
        return result

    def numbers(self, rows: Any) -> Any:
        """Vertices by their rows in the model, of any shape; numbers after the model's rows keep their offset, -1 stays."""
        if self.rows is None:
            return rows
        inner = self._numbers[np.clip(rows, 0, self.n_model - 1)]
        return np.where(rows < 0, rows, np.where(rows < self.n_model, inner, rows - (self.n_model - self.n))).astype(rows.dtype)

    def in_model(self, vertices: Any) -> Any:
        """Rows in the model of vertices, of any shape; the inverse of `numbers`."""
        if self.rows is None:
            return vertices
        inner = self.rows[np.clip(vertices, 0, self.n - 1)]
        outer = np.where(vertices < self.n, inner, vertices + (self.n_model - self.n))
        return np.where(vertices < 0, vertices, outer).astype(vertices.dtype)

    def described(self, text: str) -> str:
        """Replace the rows in a sentence of the model by vertices and bodies."""
        if self.rows is None:
            return text

        def named(found):
            name = next(name for start, name in reversed(self._names) if start <= int(found[1]))
            return f"the rigid body {name!r}"

        text = re.sub(r"the rigid body of vertices (\d+) to \d+", named, text)
        return re.sub(r"\bvertex (\d+)", lambda found: f"vertex {int(self.numbers(np.array(int(found[1]))))}", text)

    def restate(self, error: DivergenceError) -> None:
        """Replace the row numbers in an error of the model by vertex numbers."""
        if self.rows is None:
            return
        error.args = tuple(self.described(part) if isinstance(part, str) else part for part in error.args)
        error.vertex = int(self.numbers(np.array(error.vertex)))

    @contextlib.contextmanager
    def restated(self) -> Iterator[None]:
        """A context that restates the errors of the model."""
        try:
            yield
        except DivergenceError as error:
            self.restate(error)
            raise
