"""Other colours of the vertices, for research."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.parts import Part
from pdgpu.mesh.vertex_colours import vertex_colours
from pdgpu.simulation.resume import copied

if TYPE_CHECKING:
    from typing import Any, Self

    from numpy.typing import ArrayLike

__all__ = ["Recolouring"]


class Recolouring(Part):
    """The part of `Simulation` for colours."""

    def recoloured(self, pairs: ArrayLike) -> Self:
        """A copy of the simulation in which no two vertices of a pair have the same colour.

        Colours depend on elements only, so that in contact vertices of one colour may meet and then move at once. With the vertices in
        contact, `contact_forces().vertices`, the copy's sweeps are Gauss-Seidel between bodies too [Chen et al. 2024, Fig. 9]. It is for
        research: making it takes as long as making the simulation, and later contacts are not included.

        Parameters
        ----------
        pairs : array_like of int, shape (k, m)
            Vertices; other numbers, such as -1 and prescribed points, are ignored.

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
        core = self._core
        if core.colours is None:
            raise TypeError(f"solver: {type(core.solver).__name__} has no colours of vertices")
        rows = np.asarray(pairs)
        if rows.ndim != 2 or rows.dtype.kind not in "iu":
            raise ValueError(f"pairs: expected whole numbers of shape (k, m), got {rows.dtype} of shape {rows.shape}")
        n, width, rows = len(core.masses), rows.shape[1], core.rows.in_model(rows)
        found = [rows[:, [a, b]] for a in range(width) for b in range(a + 1, width)]
        edges = np.concatenate([np.zeros((0, 2), np.int64), *found])
        edges = edges[((edges >= 0) & (edges < n)).all(axis=1) & (edges[:, 0] != edges[:, 1])].astype(np.int32)
        solver: Any = core.solver
        elements = [group[0] for group in core.scene.element_groups().values()]
        return self._of(copied(core, vertex_colours([*elements, edges], n, solver.colouring)))
