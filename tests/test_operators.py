"""Operators as matrices: of one iteration on errors, and of distances in contact."""

import numpy as np
import pytest
import scenes
import scipy.sparse

import pdgpu

MATRIX = (scipy.sparse.diags_array([-1.0, 2.3, -1.0], offsets=[-1, 0, 1], shape=(40, 40)) * 1e-7).tocsr()
FURTHER = {"composed 4": pdgpu.AJacobi(order=4, variant="composed", weight=0.6), "optimal": pdgpu.Jacobi(weight="optimal")}


@pytest.mark.parametrize(
    "name", [*(name for name in scenes.LINEAR_SOLVERS if not name.startswith("pcg") and "anderson" not in name), *FURTHER]
)
def test_an_operator_is_one_iteration(name):
    """If not, a spectrum is that of another method."""
    solver = (scenes.LINEAR_SOLVERS | FURTHER)[name]
    one = {field: value for field, value in vars(solver).items() if field not in ("iterations", "chebyshev")}
    system = pdgpu.linear.System(MATRIX, type(solver)(**one, iterations=1))
    rng = np.random.default_rng(2)
    x, x0 = rng.normal(size=(2, 40))
    after = system.solve(MATRIX @ x, x0).x
    T = system.operator()
    np.testing.assert_allclose(T @ (x0 - x), after - x, rtol=0.0, atol=1e-12)
    assert scipy.sparse.issparse(T) == (name not in ("gauss-seidel", "symmetric", "sor", "suppressed"))
    radius = np.abs(np.linalg.eigvals(T @ np.eye(40))).max()
    assert radius == pytest.approx(system.predicted_rate(), rel=1e-6)


@pytest.mark.parametrize("solver", [pdgpu.PCG(), pdgpu.Direct(), pdgpu.AJacobi(order=2, suppression=0.1, biased=True)])
def test_what_has_no_operator_says_so(solver):
    """If not, a matrix is returned that the solver does not apply."""
    with pytest.raises(TypeError, match="solver: "):
        pdgpu.linear.System(MATRIX, solver).operator()


def test_the_jacobian_of_contacts_is_that_of_their_distances():
    """If not, a constraint is linearised wrongly, and a projection on it goes astray."""
    scene = pdgpu.Scene()
    grid = pdgpu.shapes.grid((1.0, 1.0), cells=(3, 3))
    flat = grid.points[:, [0, 2, 1]]
    for k in range(2):
        points = flat + [0.13 * k, 0.02 * k, 0.21 * k]
        scene.add_shell(pdgpu.Mesh(points, triangles=grid.triangles), pdgpu.Spring(10.0), density=0.1)
    scene.add_obstacle(pdgpu.Sphere((0.33, -0.21, 0.33), 0.2))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), contact=pdgpu.BarrierContact(1e-3))
    rng = np.random.default_rng(5)
    x = sim.positions + 2e-3 * rng.normal(size=sim.positions.shape)
    sim.set_state(positions=x)
    near = sim.contacts(0.03)
    kinds = set(near.kind)
    assert kinds == {"vertex-triangle", "edge-edge", "vertex-collider"}
    J, d = near.jacobian(), rng.normal(size=x.shape)
    assert J.shape == (len(near), 3 * len(near.positions))
    pairs = {(kind, *row): k for k, (kind, row) in enumerate(zip(near.kind, near.vertices.tolist(), strict=True))}
    moved = []
    for step in (1e-6, -1e-6):
        sim.set_state(positions=x + step * d)
        there = sim.contacts(0.03)
        moved.append({(kind, *row): v for kind, row, v in zip(there.kind, there.vertices.tolist(), there.distance, strict=True)})
    whole = np.zeros(3 * len(near.positions))
    whole[: d.size] = d.ravel()
    slopes = J @ whole
    checked = [key for key in pairs if key in moved[0] and key in moved[1]]
    assert len(checked) > 0.9 * len(near)
    for key in checked:
        assert (moved[0][key] - moved[1][key]) / 2e-6 == pytest.approx(slopes[pairs[key]], abs=1e-5)
