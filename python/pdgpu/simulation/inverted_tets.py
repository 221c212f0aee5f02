"""The tets of a simulation that are inverted: those of negative volume, which many materials do not notice, and others forbid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu._internal.counted import counted

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["InvertedTets", "OrientedTets"]

COUNT_EVERY = 8  # steps: a count costs up to a quarter of a step of Projective Dynamics, and reads the positions from a GPU


class InvertedTets:
    """A counter of the inverted tets of the solids of a scene. `Mesh` gives every tet a positive volume at rest."""

    def __init__(self, scene: Any) -> None:
        solids = [body for body in scene.bodies if body.type == "solid"]
        rows = [body.mesh.tets + np.int32(body.slice.start) for body in solids]
        self._tets = np.concatenate([np.zeros((0, 4), np.int32), *rows])
        self._names = [body.name for body in solids]
        self._starts = np.cumsum([0, *map(len, rows)])

    def __len__(self) -> int:
        return len(self._tets)

    def due(self, steps: int, record: Any) -> bool:
        """Return whether to count after this number of steps: after each one with a record, else after the first of every eight."""
        return bool(len(self)) and (bool(record) or steps % COUNT_EVERY == 1)

    def at(self, positions: Floats) -> Any:
        """Return the inverted tets at positions (n, 3), ascending."""
        return np.flatnonzero(_host.measures(positions.astype(np.float64), self._tets) < 0.0)

    def described(self, found: Any) -> str:
        """Return a text on inverted tets: their number, the body of the first, and its index there."""
        body = int(np.searchsorted(self._starts, found[0], side="right")) - 1
        which = f"the first is tet {int(found[0] - self._starts[body])} of {self._names[body]!r}"
        return f"{len(found)} of {counted(len(self), 'tet')} {'is' if len(found) == 1 else 'are'} inverted; {which}"


class OrientedTets:
    """The solids of a scene with such a material, and their volumes at rest."""

    def __init__(self, scene: Any) -> None:
        self._solids = [
            (body, next(type(material).__name__ for material in body.materials if not material.inverts))
            for body in scene.bodies
            if body.type == "solid" and any(not material.inverts for material in body.materials)
        ]
        self._volumes = [_host.measures(body.points, body.mesh.tets) for body, _ in self._solids]

    def check(self, name: str, positions: Floats) -> None:
        """ValueError with the body, the tet and J = det F where a tet is flat or inverted at positions (n, 3), an argument of this name."""
        for (body, material), volumes in zip(self._solids, self._volumes, strict=True):
            ratios = _host.measures(np.ascontiguousarray(positions[body.slice], np.float64), body.mesh.tets) / volumes
            bad = ~(ratios > 0.0)
            if bad.any():
                tet = int(np.argmax(bad))
                raise ValueError(
                    f"{name}: tet {tet} of {body.name!r} is flat or inverted, J = det F = {ratios[tet]:g}, which {material} forbids "
                    f"({int(bad.sum())} such tets); start from positions with J > 0, or take a material such as pdgpu.NeoHookean"
                )
