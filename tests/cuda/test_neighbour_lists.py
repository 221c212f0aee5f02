"""Extended lists of neighbour pairs on a CUDA device, against the CPU."""

import neighbour_scenes
import numpy as np
import pytest

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


@pytest.mark.parametrize("name", [name for name in neighbour_scenes.SCENES if "panel" in name])  # embedded points: on the CPU only
def test_an_extended_list_has_the_pairs_of_a_new_one(name, dtype):
    """If not, the kernels leave out pairs or panels when they extend a list, and a body comes to rest somewhere else."""
    _, newton = neighbour_scenes.falling(name, pdgpu.Newton(iterations=100, tolerance=1e-12), floating=0)
    newton.step()
    solver = pdgpu.VertexBlockDescent(iterations=400, initialization="previous")
    rounding = 1e-14 if dtype == "float64" else 1e-5
    for floating in (0, neighbour_scenes.FLOATING):
        _, sim = neighbour_scenes.falling(name, solver, floating, device="cuda", dtype=dtype)
        sim.step(record=True)
        potential = sim.last_step["incremental_potential"]
        assert np.all(np.diff(potential) <= rounding * potential[0])
        assert sim.last_step["active_contacts"][0] == 0 and sim.last_step["active_contacts"][-1] > 0
        apart = np.abs(sim.positions[: len(newton.positions)] - newton.positions).max()
        assert apart < (1e-5 if dtype == "float64" else 1e-3) * neighbour_scenes.DISTANCE
