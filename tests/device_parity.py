"""The same steps on the CPU and, twice, on a GPU; and how far their results may differ.

CUDA's log, exp, sin and pow differ from those of the C library by one or two units in the last place, and nvcc fuses other products than
gcc. A number that lies within rounding of a limit may therefore be on its other side: a pair, a row or an iteration more or less. Two runs
on the same device have the same bits.
"""

import numpy as np

import pdgpu

# The part of a list that rounding may decide: distances differ by 1e-9 of the scene in float64, by 1e-4 in float32. A kind of pairs that
# is lost, or a list of another state, is a tenth of it and more.
DECIDED_BY_ROUNDING = {"float64": 0.01, "float32": 0.04}


def assert_counts(found, expected, dtype):
    """Counts of pairs, rows, rounds or iterations, one or a column of them: equal, but for one or what rounding decides."""
    found, expected = (np.atleast_1d(np.asarray(counts, dtype=np.float64)) for counts in (found, expected))
    assert abs(len(found) - len(expected)) <= 1, f"{len(found)} counts, expected {len(expected)}"  # one iteration more
    recorded = min(len(found), len(expected))
    allowed = np.maximum(1.0, np.ceil(DECIDED_BY_ROUNDING[dtype] * expected[:recorded]))
    assert (np.abs(found[:recorded] - expected[:recorded]) <= allowed).all(), f"found {found}, expected {expected}"


def common_pairs(found, expected, dtype, same=("vertices",)):
    """Rows of the pairs that both lists have, in the same order, with the same numbers in the columns `same`.

    found, expected: {column: array}, with "key". Asserts that these are all pairs but those that rounding decides: at a limit, or where two
    features of a pair are equally near.
    """
    _, mine, theirs = np.intersect1d(found["key"], expected["key"], return_indices=True)
    for columns in (found, expected):
        assert_counts(len(mine), len(columns["key"]), dtype)
    np.testing.assert_array_equal(np.argsort(mine), np.argsort(theirs))
    equal = np.ones(len(mine), dtype=bool)
    for name in same:
        equal &= (found[name][mine] == expected[name][theirs]).reshape(len(mine), -1).all(axis=1)
    assert_counts(equal.sum(), len(equal), dtype)
    return mine[equal], theirs[equal]


def common_proxies(found, expected, dtype):
    """Which proxies both devices have in contact, or both not: all but those that rounding decides."""
    same = found.active == expected.active
    assert_counts(same.sum(), len(same), dtype)
    assert_counts([found.entered, found.left], [expected.entered, expected.left], dtype)
    return same


def assert_times(found, expected, dtype, share=0.985):
    """Times of impact and reasons agree in more than `share` of the queries.

    Where one of two roundings meets a bound, one device takes another iteration and its time differs by up to a tenth of the gap.
    """
    with np.errstate(invalid="ignore"):  # infinity less infinity
        near = np.isinf(expected.toi) | (np.abs(found.toi - expected.toi) < (1e-9 if dtype == "float64" else 1e-3))
    assert ((found.reason == expected.reason) & near).mean() > share


def steps_on_both(case, solver, dtype, steps=2):
    """(cpu, cuda) after recorded steps: they agree to rounding, and what the GPU did it did again to the bit."""
    devices, others = ("cpu", "cuda", "cuda"), {"dt": 1 / 24, "contact": case.contact, "dtype": dtype}
    cpu, cuda, again = (pdgpu.Simulation(case.scene, solver, device=device, **others) for device in devices)
    for _ in range(steps):
        for sim in (cpu, cuda, again):
            sim.step(record=True)
    scale = np.abs(cpu.positions).max()
    assert np.abs(cuda.positions - cpu.positions).max() < (1e-9 if dtype == "float64" else 1e-4) * scale
    assert np.abs(cuda.velocities - cpu.velocities).max() < (1e-7 if dtype == "float64" else 1e-2) * np.abs(cpu.velocities).max()
    np.testing.assert_array_equal(cuda.positions, again.positions)
    return cpu, cuda
