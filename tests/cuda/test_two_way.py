"""Contact by the two-way interior point method on a CUDA device, against the CPU: the same pairs, the same colours, and the same answer."""

import numpy as np
import pytest
from device_parity import assert_counts, steps_on_both
from two_way_run import two_way_case

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


@pytest.mark.parametrize(
    ("name", "settings"),
    [  # few passes: with 32 of updates that end at their cap, rounding grows beyond the tolerance
        ("bodies in a box", {"friction": 0.3, "passes": 1}),
        ("bodies in a box", {"friction": 0.3, "passes": 3}),
        ("sand", {"friction": 0.3, "passes": 1}),
        ("bodies in a box", {"multipliers": "jacobi"}),
        ("crossing cloths", {"multipliers": "linear", "lengths": "impact"}),
        # a gap to a tenth in every step: what differs grows, in float64 from 3e-16 to 7e-13 in twice six steps, in float32 to a tenth
        ("crossing cloths", {"lengths": "impacts", "steps": 2, "passes": 3}),
        ("bodies in a box", {"friction": 0.3, "friction_in": "filter", "repulsion": 1.0}),
        ("crossing cloths", {"multipliers": "barrier", "edge_limit": None, "steps": 12}),
        ("sand", {"multipliers": "augmented_lagrangian"}),
    ],
)
def test_steps(name, settings, dtype):
    """If not, a step on the GPU goes somewhere else than on the CPU, or through something."""
    case = two_way_case(name, **{"steps": 6} | settings)
    solver = pdgpu.ProjectiveDynamics(iterations=3, linear=pdgpu.Jacobi(), check_every=1)
    cpu, cuda = steps_on_both(case, solver, dtype)
    found, expected = cuda.last_step.update, cpu.last_step.update
    assert expected.rows > 5
    assert_counts(found.steps, expected.steps, dtype)
    for column in ("rows", "colours"):
        assert_counts(found.columns[column], expected.columns[column], dtype)
    # a reach within rounding of its limit moves a search by one iteration
    assert abs(found.columns["search"].sum() - expected.columns["search"].sum()) <= 1
    # Pairs are counted up to what the list is known to hold, from which every move takes, and in float32 the devices differ: positions by
    # up to 9e-6 m in the second step, the reach by the sum of what moves did, so that a few pairs are on its other side. A count grows with
    # the third power of the reach, and of grains that start on a grid twice as fast about a shell; in float64 one may differ.
    recorded = slice(min(len(update.columns["pairs"]) for update in (found, expected)))
    pairs, listed = (expected.columns[name][recorded] for name in ("pairs", "listed"))
    apart = 2.0 * np.abs(cuda.positions - cpu.positions).max() + np.abs(found.columns["listed"][recorded] - listed)
    assert (np.abs(found.columns["pairs"][recorded] - pairs) <= 1 + np.floor(6.0 * pairs * apart / listed)).all()
