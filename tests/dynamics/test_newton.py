"""Newton's method where its Hessian is singular, projected or not."""

import numpy as np
import pytest

import pdgpu


def limited():
    """A cloth whose stiffness sets in at a tenth of stretch, held at two corners: at rest it has no Hessian at all."""
    scene = pdgpu.Scene()
    scene.add_shell(pdgpu.shapes.grid((1, 1), cells=(4, 4)), pdgpu.StrainLimit(0.9, 1.1, 10.0), density=0.1).pin([0, 4])
    return scene


def powerless():
    """A body that nothing but a constant of zero holds together."""
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.shapes.beam((1, 0.5, 0.5), cells=(3, 2, 2)), pdgpu.ARAP(0.0), density=100.0).pin([0, 1, 2])
    return scene


@pytest.mark.parametrize(("dtype", "least"), [("float64", 1e-11), ("float32", 1e-3)])
def test_a_body_without_stiffness_at_rest_finds_its_equilibrium(dtype, least):
    """If not, a static solve ends in "the projected Hessian is not positive definite" at its first iteration."""
    for linear in (pdgpu.Direct(), pdgpu.PCG(preconditioner="block")):
        sim = pdgpu.Simulation(limited(), pdgpu.Newton(iterations=200, linear=linear), dt=None, dtype=dtype, threads=1)
        first = np.linalg.norm(sim.gradient())
        sim.step()
        assert np.linalg.norm(sim.gradient()) < least * first


def test_a_body_without_any_stiffness_diverges():
    """If not, a step raises what its documentation does not know, and a comparison that it is part of loses all its results."""
    sim = pdgpu.Simulation(powerless(), pdgpu.Newton(), dt=None)
    with pytest.raises(pdgpu.DivergenceError, match="Newton diverged at iteration 1: the projected Hessian") as caught:
        sim.step(record=True)
    assert caught.value.iteration == 1 and 3 <= caught.value.vertex < 36 and caught.value.solver == sim.solver
    assert caught.value.records["iteration"].tolist() == [0.0] and sim.time == 0.0
    found = pdgpu.compare(powerless(), {"Newton": pdgpu.Newton(), "VBD": pdgpu.VertexBlockDescent()}, dt=None, reference=None)
    assert found["Newton"].status == "diverged" and len(found["VBD"]["iteration"]) > 1
