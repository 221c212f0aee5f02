"""Newton's method with contacts converges as Newton's method does."""

import pytest
from contact_scenes import SCENES

NAMES = ("cube on cube", "crossing cloths", "rings", "squeezed bunny")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_superlinear_at_the_end(name):
    """If it failed, a derivative of the barrier or the choice of the matrix would be wrong, and each step take many times as long."""
    case = SCENES[name](False)
    sim = case.simulation(iterations=200, tolerance=1e-10)
    seen = 0
    for _ in range(4):
        sim.step(record=True)
        norms = sim.last_step["gradient_norm"]
        assert sim.last_step.status == "converged"
        if not sim.last_step["active_contacts"][-1]:
            continue
        seen += 1
        assert norms[-1] <= 1e-10 * norms[0] or sim.last_step.at_rounding
        ratios = norms[1:] / norms[:-1]
        last = ratios[norms[1:] > 1e-11 * norms.max()][-3:]  # above rounding; a step may begin at rest, with a first norm below it
        assert last.min() < 1e-2, f"ratios of the last iterations: {last}"
    assert seen > 0
