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


def hanging_chain(n, stiffness, **solver):
    """A level chain of n springs, held at one end, in its static equilibrium below it."""
    scene = pdgpu.Scene()
    chain = scene.add_rod(pdgpu.shapes.chain(n), pdgpu.Spring(stiffness), density=0.1)
    chain.pin([0])
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=400, **solver), dt=None, dtype="float64", threads=1)
    sim.step()
    return sim


@pytest.mark.parametrize("hessian", ["auto", "clamp"])
@pytest.mark.parametrize("linear", [pdgpu.Direct(), "auto"])
@pytest.mark.parametrize(("n", "stiffness"), [(3, 1e4), (20, 1e2), (20, 1e6)])
def test_a_level_chain_hangs_down(n, stiffness, linear, hessian):
    """If not, a level chain stays where it is: its first Hessian is singular up to rounding, and no direction lowers G."""
    sim = hanging_chain(n, stiffness, linear=linear, hessian=hessian)
    assert np.linalg.norm(sim.gradient()) < 1e-5  # 0.2 N at the begin
    np.testing.assert_allclose(sim.forces()[0], [0.0, -9.81 * sim.masses[1:].sum(), 0.0], rtol=0, atol=1e-7)
