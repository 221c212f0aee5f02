"""Materials that forbid inversion on CUDA: the limit of moves, of whole steps and of single vertices."""

import warnings

import inputs
import numpy as np
import pytest

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]

SOLVERS = {
    "Newton": pdgpu.Newton(iterations=4),
    "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=6),
    "VertexBlockDescent, Chebyshev": pdgpu.VertexBlockDescent(iterations=6, chebyshev=pdgpu.Chebyshev(rho=0.9, start=2)),
    "BlockJacobi": pdgpu.BlockJacobi(iterations=6, line_search=False),
}


def squeezed(material, seed):
    rng, scene = np.random.default_rng(seed), pdgpu.Scene()
    points, tets = inputs.five_tet_grid(1, 1, 1, 0.2)
    for k in range(8):
        velocity = -(points - points.mean(axis=0)) * rng.uniform(10.0, 400.0) + rng.normal(size=points.shape) * 10.0
        scene.add_solid(pdgpu.Mesh(points + [0.5 * k, 0.0, 0.0], tets=tets), material, density=1000.0, velocity=velocity)
    return scene


def least_ratio(scene, positions):
    x, rest = (np.stack([p[body.slice][body.mesh.tets] for body in scene.bodies]) for p in (positions, scene.rest_positions()))
    volumes = [np.linalg.det(p[..., 1:, :] - p[..., :1, :]) for p in (x.astype(np.float64), rest)]
    return (volumes[0] / volumes[1]).min()


@pytest.mark.parametrize("material", [pdgpu.LogNeoHookean(3e4, 6e4), pdgpu.FixedCorotated(3e4, 6e4)], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("name", SOLVERS)
def test_no_iterate_has_an_inverted_tet(name, material, dtype):
    """If not, the kernels limit other moves than the loops of the CPU."""
    ends = {}
    for device in ("cpu", "cuda"):
        scene = squeezed(material, 1)
        sim = pdgpu.Simulation(scene, SOLVERS[name], dt=1 / 50, device=device, dtype=dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                sim.step(record="positions")
                record = sim.last_step
            except pdgpu.DivergenceError as error:
                assert name == "BlockJacobi"
                record = error.records
        assert min(least_ratio(scene, positions) for positions in record.positions) > 0.0
        ends[device] = record.positions[1].astype(np.float64)
    # the first iterate: later ones multiply what rounding decides
    assert np.abs(ends["cuda"] - ends["cpu"]).max() < (1e-9 if dtype == "float64" else 2e-3)


def test_a_start_with_an_inverted_tet_is_refused(dtype):
    """If not, a state that another library wrote on the device makes the energy infinite."""
    scene = squeezed(pdgpu.LogNeoHookean(3e4, 6e4), 2)
    sim = pdgpu.Simulation(scene, SOLVERS["VertexBlockDescent"], dt=1 / 50, device="cuda", dtype=dtype)
    with pytest.raises(ValueError, match=r"positions: tet \d+ of 'solid0' is flat or inverted, J = det F = -1"):
        sim.set_state(positions=sim.positions * [1.0, -1.0, 1.0])
