"""Colours of vertices, so that those of one colour can move at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

__all__ = ["Recolouring", "vertex_colours"]


def vertex_colours(elements, n, method):
    """(n,) int32 colours for vertices 0 .. n-1, so that no two of one element agree; `elements` are arrays (m, k), of any k.

    method : "greedy" (ascending vertex, smallest free colour) or "balanced" (as many colours, of nearly equal sizes)
    """
    several = [rows for rows in elements if rows.shape[1] > 1]
    if len(several) == 1:
        return _host.colouring(several[0], n, method)
    # the graph of all elements, as the graph of their edges
    pairs = [rows[:, [a, b]] for rows in several for a in range(rows.shape[1]) for b in range(a + 1, rows.shape[1])]
    edges = np.ascontiguousarray(np.concatenate(pairs)) if pairs else np.zeros((0, 2), dtype=np.int32)
    return _host.colouring(edges, n, method)


class Recolouring:
    """What a simulation says of its colours."""

    def recoloured(self, pairs: ArrayLike) -> Self:
        """A copy that goes on from here and in which no two vertices of a pair have the same colour.

        Colours are those of elements alone, so that in contact vertices of one colour may meet, which then move at once. With what touches,
        `contact_forces().vertices`, the copy's sweeps are Gauss-Seidel between bodies too [Chen et al. 2024, Fig. 9]. It is for research:
        making it takes as long as making the simulation, and what touches later does not count.

        Parameters
        ----------
        pairs : array_like of int, shape (k, m)
            Vertices; what is none of the bodies', such as -1 and driven points, does not count.

        Returns
        -------
        Simulation

        Raises
        ------
        TypeError
            The solver has no colours of vertices.
        ValueError
            Not whole numbers of that shape.
        """
        if self._colours is None:
            raise TypeError(f"solver: {type(self.solver).__name__} has no colours of vertices")
        rows = np.asarray(pairs)
        if rows.ndim != 2 or rows.dtype.kind not in "iu":
            raise ValueError(f"pairs: expected whole numbers of shape (k, m), got {rows.dtype} of shape {rows.shape}")
        n, width = len(self._masses), rows.shape[1]
        found = [rows[:, [a, b]] for a in range(width) for b in range(a + 1, width)]
        edges = np.concatenate([np.zeros((0, 2), np.int64), *found])
        edges = edges[((edges >= 0) & (edges < n)).all(axis=1) & (edges[:, 0] != edges[:, 1])].astype(np.int32)
        elements = [group[0] for group in self._scene.element_groups().values()]
        resume, settings, rest = self.__reduce__()
        copy = resume(*settings[:7], vertex_colours([*elements, edges], n, self.solver.colouring), *settings[8:])
        copy.__dict__.update(rest)
        return copy
