"""The same steps on the CPU and, twice, on a GPU, and the tolerances of their comparison.

CUDA's log, exp, sin and pow differ from the C library's by one or two ulp, and nvcc fuses other products than gcc. A number within rounding
of a limit may therefore lie on its other side: a list may have one pair more, and a loop one iteration more. Two runs on the same device
agree bitwise.
"""

import numpy as np

import pdgpu

# Share of a list that may lie within rounding of a limit: distances differ by 1e-9 of the scene in float64, by 1e-4 in float32. A real
# fault, such as a missing kind of pairs or a list of another state, changes a tenth of the list or more.
NEAR_A_LIMIT = {"float64": 0.01, "float32": 0.04}


def assert_counts(found, expected, dtype):
    """Counts of pairs, rows, rounds or iterations (a number or a column) differ by one or by NEAR_A_LIMIT at most."""
    found, expected = (np.atleast_1d(np.asarray(counts, dtype=np.float64)) for counts in (found, expected))
    assert abs(len(found) - len(expected)) <= 1, f"{len(found)} counts, expected {len(expected)}"  # one iteration more
    recorded = min(len(found), len(expected))
    allowed = np.maximum(1.0, np.ceil(NEAR_A_LIMIT[dtype] * expected[:recorded]))
    assert (np.abs(found[:recorded] - expected[:recorded]) <= allowed).all(), f"found {found}, expected {expected}"


def common_pairs(found, expected, dtype, same=("vertices",)):
    """Rows (in found, in expected) of the pairs that both lists have with equal values in the columns `same`.

    found, expected: {column: array} with the column "key". Asserts the same order in both lists. Asserts that few pairs are left out: those
    at a limit, and those with two equally near features.
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
    """Mask of the proxies with the same contact state on both devices; asserts that few differ."""
    same = found.active == expected.active
    assert_counts(same.sum(), len(same), dtype)
    assert_counts([found.entered, found.left], [expected.entered, expected.left], dtype)
    return same


def assert_times(found, expected, dtype, share=0.985):
    """Times of impact and reasons agree in more than `share` of the queries.

    Near a stopping bound one device may take one iteration more. Its time then differs by up to a tenth of the gap.
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
