"""Every rival of a Schur complement in contact of proxies ends where the others do: a minimum with obstacles, a fixed point with bodies."""

import numpy as np
import pytest
from proxy_scenes import BODIES, OBSTACLES, answers

AWAY = 1e-7  # of what the farthest vertex moves by; the force that is left is 1e-10 of that at the start
SCENES = OBSTACLES | BODIES
# an obstacle of each kind of distance and bodies of each kind are in the others
LONG = ("plane", "grid", "two bars", "ball", "two bodies")


@pytest.mark.filterwarnings("ignore:linear. SchurDirect")  # two factors: slow, and the tolerance tells
@pytest.mark.parametrize("which", [pytest.param(name, marks=[pytest.mark.stress] if name in LONG else []) for name in SCENES])
def test_all_rivals_end_at_one_place(which):
    """If not, one of them answers another contact, or only seems to converge. With obstacles it is a minimum: whatever way one goes from
    there by a ten-thousandth of an edge, the energy grows. With the field of a rest shape there is no energy whose gradient the springs
    are, and the force is zero."""
    made, found = SCENES[which](), {}
    scene, start = made[0], made[4]
    for name, sim in answers(made):
        step = sim.last_step
        assert step.status == "converged" and step["gradient_norm"][-1] <= 1e-10 * step["gradient_norm"][0], name
        assert sim.proxies().active.sum() >= 3
        found[name] = sim.positions
    assert len(found) == 9
    answer, free = found["all anew"], scene.fixed() == 0
    moved = np.abs(answer - start).max()
    away = {name: np.abs(x - answer).max() / moved for name, x in found.items()}
    print(f"{which}: at most {AWAY:g} of {moved:.3g} m apart; " + ", ".join(f"{name} {error:.1e}" for name, error in away.items()))
    assert max(away.values()) <= AWAY, away
    if which in OBSTACLES:
        least, random = sim.incremental_potential(answer), np.random.default_rng(0)
        for _ in range(20):
            way = free[:, None] * random.normal(size=answer.shape)
            assert sim.incremental_potential(answer + 5e-6 * way) > least
