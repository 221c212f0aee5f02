"""The test that the functions of a material are derivatives of each other, by central differences at some deformation gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pdgpu.materials.material_calls import MaterialCalls
    from pdgpu.types import Floats

__all__ = ["check_functions", "sample_gradients"]

STEP = 6e-6  # close to the cube root of the spacing of float64 at 1, as in csrc/mesh/material_values.h
TOLERANCE = 1e-5  # of the largest derivative; differences have errors of about 1e-9
ENERGY, STRESS, HESSIAN = range(3)


def sample_gradients(d: int) -> Floats:
    """Return (7, 3, d): the rest shape, two stretches, two shears, a rotated stretch and an uneven one, none inverted."""
    c, s = np.cos(0.7), np.sin(0.7)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    samples = [
        np.eye(3),
        np.diag([1.2, 0.95, 1.05]),
        np.diag([0.85, 1.1, 0.9]),
        np.eye(3) + 0.3 * np.outer([1, 0, 0], [0, 1, 0]),
        np.eye(3) + 0.2 * np.outer([0, 0, 1], [1, 1, 0]),
        turn @ np.diag([1.15, 0.9, 1.0]),
        np.array([[1.1, 0.1, -0.05], [-0.15, 0.95, 0.2], [0.05, -0.1, 1.05]]),
    ]
    return np.ascontiguousarray(np.array(samples)[:, :, :d])


def check_functions(calls: MaterialCalls, d: int, has_hessian: bool) -> None:
    """Raise ValueError for the first wrong entry, with its function, index, value and expected value."""
    F = sample_gradients(d)
    elements = (np.arange(len(F)) % max(calls.n, 1)).astype(np.int32)
    energy = _finite(calls, ENERGY, F, elements, ())
    stress = _finite(calls, STRESS, F, elements, (3, d))
    _check_single(calls, F, elements, energy)
    by_energy = _differences(calls, ENERGY, F, elements, ()).reshape(stress.shape)
    _compare(calls, "stress", stress, by_energy, "energy", F)
    by_stress = _differences(calls, STRESS, F, elements, (3, d)).reshape(len(F), 3 * d, 3 * d)
    _check_rest(calls, energy[0], by_stress)
    if has_hessian:
        hessian = _finite(calls, HESSIAN, F, elements, (3 * d, 3 * d))
        _compare(calls, "hessian", hessian, by_stress, "stress", F)


def _answer(calls, quantity, F, elements, shape):
    given = F.view()
    given.flags.writeable = False
    return np.array(calls.answer(quantity, given, elements, shape), dtype=np.float64)


def _finite(calls, quantity, F, elements, shape):
    found = _answer(calls, quantity, F, elements, shape)
    if not np.isfinite(found).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(found))[0])
        name = ("energy", "stress", "hessian")[quantity]
        where = f"{_entry(at[1:])} at F = {_shown(F[at[0]])}"
        raise ValueError(f"{calls.label}: {name} is {found[at]}{where}; it must be finite around the rest shape")
    return found


def _differences(calls, quantity, F, elements, shape):
    """Return central differences (n, entries of the result, entries of F); the last axis is the changed entry of F."""
    n, rows = len(F), F[0].size
    columns = []
    for j in range(rows):
        moved = np.repeat(F.reshape(1, n, rows), 2, axis=0)
        moved[0, :, j] += STEP
        moved[1, :, j] -= STEP
        above, below = (_answer(calls, quantity, part.reshape(F.shape), elements, shape).reshape(n, -1) for part in moved)
        columns.append((above - below) / (moved[0, :, j] - moved[1, :, j])[:, None])
    return np.stack(columns, axis=-1)


def _compare(calls, name, found, expected, of, F):
    scale = max(np.abs(expected).max(), np.abs(found).max())
    wrong = ~(np.abs(found - expected) <= TOLERANCE * scale)
    if not wrong.any():
        return
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    raise ValueError(
        f"{calls.label}: {name} is not the derivative of {of}: it is {found[at]:.9g}{_entry(at[1:])} at F = {_shown(F[at[0]])}, and "
        f"central differences of {of} give {expected[at]:.9g}"
    )


def _check_single(calls, F, elements, energy):
    """Check that a function treats its elements independently: its result must be the same in every batch."""
    for i in range(len(F)):
        alone = _answer(calls, ENERGY, F[i : i + 1].copy(), elements[i : i + 1], ())[0]
        if not abs(alone - energy[i]) <= 1e-9 * max(np.abs(energy).max(), abs(alone)):
            raise ValueError(
                f"{calls.label}: energy of an element depends on the others of its batch: {energy[i]:.9g} among {len(F)} and {alone:.9g} "
                f"alone, at F = {_shown(F[i])}; sum over the last two axes only"
            )


def _check_rest(calls, energy, stiffness):
    scale = np.abs(stiffness).max()
    if not abs(energy) <= 1e-9 * scale:
        raise ValueError(f"{calls.label}: energy must be 0 at rest, got {energy:.9g} at F = 1; subtract it")


def _entry(index):
    return f" at entry {index}" if index else ""


def _shown(F):
    return str(np.round(F, 6).tolist())
