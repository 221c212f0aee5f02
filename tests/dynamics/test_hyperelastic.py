"""Bodies of neo-Hookean, StVK and co-rotated material as a whole: patch tests, what Newton finds, and what rounding may do."""

import inputs
import numpy as np
import pytest

import pdgpu

MU, LAM = 1e5, 1e6
SOLIDS = {
    "NeoHookean": pdgpu.NeoHookean.from_young(2.9e5, 0.45),
    "StVK": pdgpu.StVK.from_young(2.9e5, 0.3),
    "Corotated": pdgpu.Corotated.from_young(2.9e5, 0.3),
}


def bar(material, mesh, gravity=(0.0, 0.0, 0.0)):
    points, tets = mesh
    scene = pdgpu.Scene(gravity=gravity)
    return scene, scene.add_solid(pdgpu.Mesh(points, tets=tets), material, density=1000.0)


@pytest.mark.parametrize("mesh", ["B20", "B20J"])
@pytest.mark.parametrize(("a", "stress"), [(1.5, 104074.07407407), (0.5, -310000.0), (2.0, 173750.0)])
def test_neo_hookean_bar_pulled_with_free_sides(mesh, a, stress):
    """If not, the forces of neighbouring tets do not fit together: a uniform stretch needs forces on the two ends only."""
    points, tets = getattr(inputs, mesh)()
    scene, _ = bar(pdgpu.NeoHookean(MU, LAM), (points, tets))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=1 / 30)
    b = np.sqrt((1 + MU / LAM - MU / (LAM * a)) / a)
    sim.set_state(positions=points * [a, b, b])  # at x_t: no inertia
    force = sim.gradient()
    ends = [points[:, 0] < 1e-9, points[:, 0] > 1 - 1e-9]
    assert np.abs(force[~(ends[0] | ends[1])]).max() < 1e-9 * MU
    for end, sign in zip(ends, (-1, 1), strict=True):
        np.testing.assert_allclose(force[end].sum(axis=0), [sign * stress * 0.25**2, 0, 0], rtol=1e-9, atol=1e-9 * MU)
    psi = 0.5 * MU * (a**2 + 2 * b**2 - 3) - MU * (a * b**2 - 1) + 0.5 * LAM * (a * b**2 - 1) ** 2
    assert sim.energies()["elastic"] == {"NeoHookean": pytest.approx(psi * 0.25**2, rel=1e-9)}


@pytest.mark.parametrize("name", SOLIDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_newton_reaches_the_floor_of_the_gradient(name, dtype):
    """If not, a wrong estimate of rounding ends the line search early, and every comparison has a reference that is none."""
    points, tets = inputs.kuhn_grid(8, 2, 2, 0.125)
    scene, body = bar(SOLIDS[name], (points, tets), gravity=(0.0, -9.81, 0.0))
    body.pin(points[:, 0] < 1e-9)
    for start in (points * [1.3, 1.0, 1.0], points @ np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]]).T):
        sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=60), dt=1 / 30, dtype=dtype)
        held = np.where(points[:, :1] < 1e-9, points, start)
        sim.set_state(positions=held)
        sim.step(record=True)
        G, norms = sim.last_step["incremental_potential"], sim.last_step["gradient_norm"]
        assert sim.last_step.at_rounding and len(norms) < 40
        assert norms[-1] <= (1e-10 if dtype == "float64" else 1e-3) * norms[0]
        assert (np.diff(G) <= 1e-6 * abs(G[0])).all()


@pytest.mark.parametrize("name", SOLIDS)
def test_a_turned_body_has_no_energy_in_float32(name):
    """If not, a body that only turned seems strained, and its energies are noise."""
    points, tets = inputs.kuhn_grid(4, 2, 2, 0.25)
    scene, _ = bar(SOLIDS[name], (points, tets))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=1 / 30, dtype="float32")
    c, s = np.cos(0.7), np.sin(0.7)
    sim.set_state(positions=points @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]).T)
    eps = np.finfo(np.float32).eps
    # positions of size 1 in cells of 0.25: strains of a few times 4 eps; the stiffness is 2 mu + 3 lam at most
    assert sim.energies()["elastic"][name] <= (16 * eps) ** 2 * 1e7 * 0.25


def test_an_inverted_neo_hookean_body_comes_back():
    """If not, a body that was turned inside out stays so: the energy has no barrier, and Newton projects what is indefinite."""
    points, tets = inputs.kuhn_grid(3, 2, 2, 1 / 3)
    scene, _ = bar(pdgpu.NeoHookean(1e4, 5e4), (points, tets))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=15), dt=1 / 30)
    rng = np.random.default_rng(0)
    sim.set_state(positions=points + 0.25 * rng.normal(size=points.shape))

    def volumes():
        x = sim.positions
        return np.linalg.det(x[tets[:, 1:]] - x[tets[:, :1]])

    assert (volumes() < 0).sum() > 10
    sim.step(20)
    assert (volumes() > 0).all()


def test_step_and_units():
    """If not, results depend on more than mu h^2 and lam h^2: (mu, lam, h) and (c mu, c lam, h / sqrt c) take the same steps."""
    points, tets = inputs.kuhn_grid(6, 2, 2, 1 / 6)
    found = []
    for scale in (1.0, 100.0):
        scene, body = bar(pdgpu.NeoHookean(2e4 * scale, 1e5 * scale), (points, tets))
        body.pin(points[:, 0] < 1e-9)
        sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=3), dt=1 / 30 / np.sqrt(scale))
        sim.set_state(positions=points * [1.5, 1.0, 1.0])
        sim.step()
        found.append(sim.positions)
    np.testing.assert_allclose(found[1], found[0], atol=1e-11)


def test_plane_stress_sheet_of_stvk_and_corotated():
    """If not, a shell of given Young's modulus pulls with another force: P = E a (a^2 - 1)/2 and E (a - 1) per width."""
    points, triangles = inputs.cloth(6)
    young, nu, a = 50.0, 0.3, 1.2
    for kind, stress, b in (
        (pdgpu.StVK, young * a * (a**2 - 1) / 2, np.sqrt(1 - nu * (a**2 - 1))),
        (pdgpu.Corotated, young * (a - 1), 1 - nu * (a - 1)),
    ):
        scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
        scene.add_shell(pdgpu.Mesh(points, triangles=triangles), kind.from_young(young, nu), density=0.2)
        sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=1 / 30)
        sim.set_state(positions=points * [a, b, 1.0])
        force = sim.gradient()
        right, left = points[:, 0] > 1 - 1e-9, points[:, 0] < 1e-9
        np.testing.assert_allclose(force[right].sum(axis=0), [stress, 0, 0], atol=1e-12 * young)
        assert np.abs(force[~(left | right)]).max() < 1e-12 * young


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("record", [False, True])
def test_newton_on_a_body_without_stiffness_diverges(dtype, record):
    """If not, a body whose Hessian is zero ends in an error that `step` does not document and `compare` not catch."""
    points, tets = inputs.kuhn_grid(2, 1, 1, 0.5)
    scene, body = bar(pdgpu.StVK(0.0, 0.0), (points, tets), (0.0, -9.81, 0.0))
    body.pin([0, 1, 2])
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=5), dt=None, dtype=dtype)
    sim.set_state(positions=np.zeros_like(points))
    before = sim.positions
    with pytest.raises(
        pdgpu.DivergenceError, match="Newton diverged at iteration 1: the projected Hessian is not positive definite"
    ) as caught:
        sim.step(record=record)
    assert caught.value.iteration == 1 and not sim._core.fixed[caught.value.vertex] and caught.value.solver == sim.solver
    assert np.array_equal(sim.positions, before)
