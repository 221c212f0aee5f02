"""The Hessian of G over the degrees of freedom of a scene with rigid bodies: those of its vertices, and six of each body."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu.scene.held_parts import CARRIERS
from pdgpu.scene.rigid_bodies import RigidBody

if TYPE_CHECKING:
    from collections.abc import Iterator

    import scipy

    from pdgpu.simulation.core import SimulationCore
    from pdgpu.types import Floats

__all__ = ["free_hessian", "hessian_with_bodies"]


def hessian_with_bodies(core: SimulationCore, x: Floats | None, psd: bool) -> scipy.sparse.csr_matrix:
    """Return the matrix of `Simulation.hessian`, (3n + 6r, 3n + 6r), at positions x in the rows of the model."""
    return _reduced(core, x, psd, whole=True)


def free_hessian(core: SimulationCore, x: Floats | None) -> scipy.sparse.csr_matrix:
    """Return the Hessian over the free degrees of freedom, N/m: a rotation vector is multiplied by the radius of gyration of its body."""
    return _reduced(core, x, False, whole=False)


def _reduced(core, x, psd, whole):
    matrix = core.hessian_of_rows(x, psd, of_bodies=True)
    basis = _basis(core, x, whole)
    result = (basis @ matrix @ basis.T).tocsr()
    result.eliminate_zeros()
    result.sort_indices()
    return result


def _basis(core, x, whole):
    """Return the directions (m, 3 n_model) of the degrees of freedom of a Hessian, in the numbers of the model. `whole`: a row for each
    coordinate of a vertex and six for each body, empty if it is fixed; else the free ones, for a body times its radius.
    """
    import scipy

    n_model, free = core.rows.n_model, core.fixed == 0
    free[core.rigid_rows] = False
    rows = np.flatnonzero(free)
    places = core.rows.numbers(rows) if whole else np.arange(len(rows))
    parts = [_entries(_coordinates(places), _coordinates(rows), np.ones(3 * len(rows)), 3 * (core.rows.n if whole else len(rows)), n_model)]
    for first, moves, turns, radius in _bodies(core, x):
        translation, rotation = np.eye(3)[: 3 * moves], turns
        if whole:
            translation, rotation = moves * np.eye(3), radius * turns.T @ turns
        for row, block in ((first, translation), (first + 1, rotation)):
            i, j = np.nonzero(block)
            parts.append(_entries(i, 3 * row + j, block[i, j], len(block), n_model))
    return scipy.sparse.vstack(parts, format="csr")


def _entries(rows, columns, values, n_rows, n_model):
    import scipy

    return scipy.sparse.csr_matrix((values, (rows, columns)), shape=(n_rows, 3 * n_model))


def _coordinates(rows):
    return (3 * rows[:, None] + np.arange(3)).ravel()


def _bodies(core, x) -> Iterator[tuple[int, int, Floats, float]]:
    """Return for each rigid body: the row of its translation, followed by its rotation (dynamics/rigid/rigid.h); 1 for a free translation,
    0 if pins hold a point; its rotation axes (k, 3); and its radius of gyration, m.
    """
    x = core.backend.positions() if x is None else x
    for body in core.scene.bodies:
        if not isinstance(body, RigidBody):
            continue
        hinges, turns = body.hinges(), np.eye(3)
        if hinges is None:
            turns = turns[:0]
        elif hinges[1] >= 0:
            axis = (x[body.slice][hinges[1]] - x[body.slice][hinges[0]]).astype(np.float64)
            turns = axis[None] / np.linalg.norm(axis)
        radius = float(np.sqrt((body.arms[-CARRIERS:] ** 2).sum() / CARRIERS))
        yield body.slice.stop - CARRIERS, int(hinges == (-1, -1)), turns, radius
