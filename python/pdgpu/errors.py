"""The exceptions of pdgpu, one set for all backends. All other exceptions are built-in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pdgpu.results.histories import History

__all__ = ["DivergenceError", "SceneFileError"]


class DivergenceError(RuntimeError):
    """A step diverged; the state of the simulation is that before the step.

    Attributes
    ----------
    solver : object
        The solver's description, or None.
    iteration : int
        The outer iteration at which it was detected, from 1; 0: the first guess.
    vertex : int
        The vertex with the first non-finite coordinate, or with the largest gradient.
    records : StepRecord or None
        The record up to then.
    history : History or None
        The record of the earlier steps by `Simulation.run`.
    """

    solver = None
    iteration = 0
    vertex = 0
    records = None
    history: History | None = None


class SceneFileError(ValueError):
    """A line of a scene file that cannot be used; the text begins with file, line and keyword, and ends with the cure.

    Attributes
    ----------
    path : str
        The file, which may be another one that the scene file names.
    line : int
        From 1.
    keyword : str
        In JSON the path of a key, such as "contact/dhat".
    """

    def __init__(self, path: str, line: int, keyword: str, text: str) -> None:
        super().__init__(f"{path}:{line}: {keyword}: {text}")
        self.path, self.line, self.keyword, self.text = path, line, keyword, text

    def __reduce__(self) -> tuple[type[SceneFileError], tuple[str, int, str, str]]:
        return type(self), (self.path, self.line, self.keyword, self.text)
