"""Newton's method where its Hessian is singular, projected or not."""

import numpy as np
import pytest
import scenes

import pdgpu


@pytest.mark.parametrize(("dtype", "least"), [("float64", 1e-11), ("float32", 1e-3)])
def test_a_body_without_stiffness_at_rest_finds_its_equilibrium(dtype, least):
    """If not, a static solve ends in "the projected Hessian is not positive definite" at its first iteration."""
    for linear in (pdgpu.Direct(), pdgpu.PCG(preconditioner="block")):
        sim = pdgpu.Simulation(scenes.limited(), pdgpu.Newton(iterations=200, linear=linear), dt=None, dtype=dtype, threads=1)
        first = np.linalg.norm(sim.gradient())
        sim.step()
        assert np.linalg.norm(sim.gradient()) < least * first


def test_a_body_without_any_stiffness_diverges():
    """If not, a step raises what its documentation does not know, and a comparison that it is part of loses all its results."""
    sim = pdgpu.Simulation(scenes.powerless(), pdgpu.Newton(), dt=None)
    with pytest.raises(pdgpu.DivergenceError, match="Newton diverged at iteration 1: the projected Hessian") as caught:
        sim.step(record=True)
    assert caught.value.iteration == 1 and 3 <= caught.value.vertex < 36 and caught.value.solver == sim.solver
    assert caught.value.records["iteration"].tolist() == [0.0] and sim.time == 0.0
    found = pdgpu.compare(scenes.powerless(), {"Newton": pdgpu.Newton(), "VBD": pdgpu.VertexBlockDescent()}, dt=None, reference=None)
    assert found["Newton"].status == "diverged" and len(found["VBD"]["iteration"]) > 1
