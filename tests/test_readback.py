"""Energies, forces and stresses read back from a simulation."""

import inputs
import numpy as np
import pytest
import scenes

import pdgpu

MU = 1e5


def moving(damping=0.0, dtype="float64", solver=scenes.DIRECT):
    """The scene with everything in it, disturbed and in motion."""
    scene, x = scenes.mixed(damping=damping)
    sim = pdgpu.Simulation(scene, solver, dt=1 / 60, dtype=dtype)
    sim.set_state(positions=x, velocities=np.random.default_rng(1).normal(size=x.shape))
    return scene, sim


def stretched(stretches, turn=None, materials=None, cells=(3, 2, 2)):
    """One solid under x = Q diag(stretches) X; returns simulation, body, F."""
    mesh = pdgpu.shapes.beam((0.3, 0.2, 0.2), cells=cells)
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    body = scene.add_solid(mesh, materials or pdgpu.ARAP(MU), density=1000.0, name="bar")
    F = (np.eye(3) if turn is None else turn) @ np.diag(stretches)
    sim = pdgpu.Simulation(scene, pdgpu.Newton())
    sim.set_state(positions=mesh.points @ F.T)
    return sim, body, F


def rotation(seed=2):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return Q * np.linalg.det(Q)


def test_energies_of_elements_and_bodies_add_up():
    """If not, a map of the energy over a body shows something else than what is minimised."""
    scene, sim = moving(damping=0.01)
    whole, bodies, elements = sim.energies(), sim.body_energies(), sim.element_energies()
    assert list(bodies) == [body.name for body in scene.bodies]
    assert set(elements) == set(whole["elastic"])
    for name, energy in whole["elastic"].items():
        assert elements[name].sum() == pytest.approx(energy, rel=1e-12)
        assert sum(body["elastic"].get(name, 0.0) for body in bodies.values()) == pytest.approx(energy, rel=1e-12)
    for name in ("kinetic", "gravity", "total"):
        assert sum(body[name] for body in bodies.values()) == pytest.approx(whole[name], rel=1e-12)
    for body in scene.bodies:
        parts = sim.element_energies(body)
        assert {name: len(values) for name, values in parts.items() if name != "Attachment"} == {
            type(material).__name__: len(body.element_rows(material)) for material in body.materials
        }
        for name, values in parts.items():
            assert values.sum() == pytest.approx(bodies[body.name]["elastic"][name], rel=1e-12)
    particles = scene.bodies[-1].name
    assert sim.element_energies(particles) == {} and bodies[particles]["elastic"] == {}


def test_the_world_box_is_part_of_it():
    """If not, forces and energies of a scene with a floor do not add up."""
    scene, x = scenes.mixed(damping=0.01)
    scene.set_world_box((-np.inf, 0.1, -np.inf), (np.inf, np.inf, 0.2), 700.0)
    sim = pdgpu.Simulation(scene, scenes.NEWTON)
    sim.set_state(positions=x)
    outside = x - np.clip(x, [-np.inf, 0.1, -np.inf], [np.inf, np.inf, 0.2])
    np.testing.assert_allclose(sim.element_energies()["WorldBox"], 350.0 * (outside**2).sum(axis=1), rtol=1e-12)
    whole, bodies = sim.energies(), sim.body_energies()
    assert sum(body["elastic"]["WorldBox"] for body in bodies.values()) == pytest.approx(whole["elastic"]["WorldBox"], rel=1e-12)
    particles = scene.bodies[-1]
    np.testing.assert_allclose(sim.forces(particles), -700.0 * outside[particles.slice], rtol=1e-12)


def test_energies_of_elements_are_in_the_order_of_the_mesh():
    """If not, the colours of a plot are on the wrong elements."""
    scene, sim = moving()
    solid, shell = scene.bodies[:2]
    x = sim.positions
    edges = shell.mesh.unique_edges()
    ends, rest = x[shell.slice][edges], shell.points[edges]
    lengths = [np.linalg.norm(p[:, 1] - p[:, 0], axis=1) for p in (ends, rest)]
    np.testing.assert_allclose(sim.element_energies(shell)["Spring"], 50.0 * (lengths[0] - lengths[1]) ** 2, rtol=1e-12)
    tets = solid.mesh.tets
    expected = pdgpu.elements.energy(pdgpu.ARAP(2e4), x[solid.slice][tets], solid.points[tets])
    np.testing.assert_array_equal(sim.element_energies(solid.name)["ARAP"], expected)
    hinges = shell.mesh.hinges
    expected = -pdgpu.elements.gradient(pdgpu.Bending(1e-2), x[shell.slice][hinges], shell.points[hinges])
    np.testing.assert_array_equal(sim.element_forces(shell)["Bending"], expected)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("damping", [0.0, 0.01])
def test_forces_are_those_of_the_gradient(damping, dtype):
    """If not, a force that is read back is not the one the solvers work with."""
    scene, sim = moving(damping, dtype)
    x, v, h = sim.positions.astype(float), sim.velocities.astype(float), sim.dt
    inertia = sim.masses[:, None] / h**2 * (x - (x + h * v + h**2 * scene.gravity))
    free = ~scene.fixed().astype(bool)
    forces = sim.forces()
    size = np.abs(sim.gradient()).max()
    assert forces.dtype == np.float64
    np.testing.assert_allclose(sim.gradient()[free], (inertia - forces)[free], rtol=0, atol=size * (1e-12 if dtype == "float64" else 1e-5))
    for body in scene.bodies:
        np.testing.assert_array_equal(sim.forces(body), forces[body.slice])
        # what an element does to its corners moves none of it as a whole; an attachment holds a place in space
        for name, parts in sim.element_forces(body).items():
            if name != "Attachment":
                assert np.abs(parts.sum(axis=1)).max() <= 1e-12 * np.abs(parts).max()


def test_a_pinned_vertex_carries_what_hangs_on_it():
    """If not, a measured reaction is wrong."""
    scene = pdgpu.Scene()
    chain = pdgpu.shapes.chain(5)
    slanted = pdgpu.Mesh(chain.points[:, :1] * (0.8, -0.6, 0.0), edges=chain.edges)  # the first Hessian of a level chain is singular
    rod = scene.add_rod(slanted, pdgpu.Spring(1e4), density=0.1)
    rod.pin([0])
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=100), dt=None)
    sim.step()
    weight = -9.81 * sim.masses[1:].sum()
    np.testing.assert_allclose(sim.forces()[0], [0.0, weight, 0.0], atol=1e-9)
    assert sim.energies()["elastic"]["Spring"] == pytest.approx(sim.element_energies(rod)["Spring"].sum(), rel=1e-12)


@pytest.mark.parametrize("a", [0.5, 1.05, 1.5, 2.0])
def test_stress_of_a_stretched_bar_by_hand(a):
    """If not, the stress is not force per area: P = 2 mu (a - 1) for ARAP, whose Poisson ratio is 0."""
    sim, bar, _ = stretched((a, 1.0, 1.0))
    expected = np.zeros((3, 3))
    expected[0, 0] = 2.0 * MU * (a - 1.0)
    np.testing.assert_allclose(sim.stress(bar, "first_piola"), np.broadcast_to(expected, (72, 3, 3)), atol=1e-9 * MU)
    # the cross-section does not change, so that force per area is the same now as at rest
    np.testing.assert_allclose(sim.stress("bar"), np.broadcast_to(expected, (72, 3, 3)), atol=1e-9 * MU)
    # biaxial: sigma_1 = P_1 / b, the other area having changed
    sim, bar, _ = stretched((a, 1.25, 1.0))
    np.testing.assert_allclose(sim.stress(bar)[:, 0, 0], 2.0 * MU * (a - 1.0) / 1.25, rtol=1e-9)


@pytest.mark.parametrize("a, P", [(0.5, -310000.0), (1.5, 104074.07407407407), (2.0, 173750.0)])
def test_stress_of_a_neo_hookean_bar_with_free_sides(a, P):
    """If not, a tensile test does not give the curve of the material: b is the width at which the sides carry nothing."""
    mu, lam = 1e5, 1e6
    b = np.sqrt((1.0 + mu / lam - mu / (lam * a)) / a)
    sim, bar, _ = stretched((a, b, b), materials=pdgpu.NeoHookean(mu, lam))
    expected = np.diag([P, 0.0, 0.0])
    assert mu * a - mu / a * b**2 == pytest.approx(P, rel=1e-9)
    np.testing.assert_allclose(sim.stress(bar, "first_piola"), np.broadcast_to(expected, (72, 3, 3)), atol=1e-9 * abs(P))
    np.testing.assert_allclose(sim.stress(bar), np.broadcast_to(expected / b**2, (72, 3, 3)), atol=1e-9 * abs(P) / b**2)


def test_stress_of_a_clamped_saint_venant_bar():
    """If not, the second material of the tables has a stress of its own: P = a (mu + lam/2) (a^2 - 1) along the bar."""
    sim, bar, _ = stretched((1.3, 1.0, 1.0), materials=pdgpu.StVK(2e4, 3e4))
    np.testing.assert_allclose(sim.stress(bar, "first_piola")[:, 0, 0], 1.3 * (2e4 + 1.5e4) * (1.3**2 - 1.0), rtol=1e-9)


def test_stress_turns_with_the_body():
    """If not, a body that turns changes its stress: Q sigma Q^T for Cauchy, Q P for first Piola-Kirchhoff."""
    stretches, Q = (1.2, 0.9, 1.1), rotation()
    materials = [pdgpu.ARAP(np.linspace(1e4, 2e4, 72)), pdgpu.Volume(3e4), pdgpu.StrainLimit(0.95, 1.05, 1e4), pdgpu.Spring(100.0)]
    still, bar, _ = stretched(stretches, materials=materials)
    turned, _, F = stretched(stretches, Q, materials=materials)
    size = np.abs(still.stress(bar)).max()
    cauchy, first = turned.stress(bar), turned.stress(bar, "first_piola")
    np.testing.assert_allclose(cauchy, Q @ still.stress(bar) @ Q.T, atol=1e-10 * size)
    np.testing.assert_allclose(first, Q @ still.stress(bar, "first_piola"), atol=1e-10 * size)
    np.testing.assert_allclose(cauchy, first @ F.T / np.linalg.det(F), atol=1e-10 * size)
    np.testing.assert_allclose(cauchy, np.swapaxes(cauchy, 1, 2), atol=1e-10 * size)
    # a body that only turned has none
    turned.set_state(positions=bar.points @ Q.T + [1.0, 2.0, 3.0])
    assert np.abs(turned.stress(bar)).max() <= 1e-9 * size


def test_first_piola_is_the_derivative_of_the_energy():
    """If not, it holds only where a formula was written down by hand."""
    materials = [pdgpu.ARAP(2e4), pdgpu.Volume(3e4), pdgpu.StrainLimit(0.95, 1.05, 1e4)]
    sim, bar, F = stretched((1.2, 0.9, 1.1), rotation(), materials)
    volume, numeric, step = 0.3 * 0.2 * 0.2, np.zeros((3, 3)), 1e-6
    for a in range(3):
        for b in range(3):
            energies = []
            for sign in (1.0, -1.0):
                moved = F.copy()
                moved[a, b] += sign * step
                sim.set_state(positions=bar.points @ moved.T)
                energies.append(sum(sim.energies()["elastic"].values()))
            numeric[a, b] = (energies[0] - energies[1]) / (2.0 * step * volume)
    sim.set_state(positions=bar.points @ F.T)
    np.testing.assert_allclose(sim.stress(bar, "first_piola").mean(axis=0), numeric, rtol=1e-6, atol=1e-6 * np.abs(numeric).max())


def test_stress_of_inverted_and_flat_tets():
    """If not, one squashed tet poisons a plot without a word."""
    sim, bar, F = stretched((1.1, 1.0, -0.5))
    assert np.isfinite(sim.stress(bar)).all()
    P = sim.stress(bar, "first_piola")
    np.testing.assert_allclose(sim.stress(bar), P @ F.T / np.linalg.det(F), atol=1e-9 * np.abs(P).max())
    mesh = pdgpu.shapes.beam((0.3, 0.2, 0.2), cells=(3, 2, 2))
    x = mesh.points.copy()
    x[x[:, 0] < 0.15, 0] = 0.0
    sim.set_state(positions=x)
    flat = np.ptp(x[mesh.tets][:, :, 0], axis=1) == 0.0
    with pytest.warns(UserWarning, match=f"{flat.sum()} of 72 tets of 'bar' are flat, the first is {np.argmax(flat)}"):
        stress = sim.stress(bar)
    assert np.isnan(stress[flat]).all() and np.isfinite(stress[~flat]).all()
    assert np.isfinite(sim.stress(bar, "first_piola")).all()


def test_float32_is_read_back_in_float64():
    """If not, read-back in single precision loses the digits a difference is looked for in."""
    _, sim = moving(dtype="float32")
    _, exact = moving()
    for name, values in sim.element_energies().items():
        assert values.dtype == np.float64
        np.testing.assert_allclose(values, exact.element_energies()[name], rtol=1e-4, atol=1e-5 * values.max())


def test_threads_change_no_bit():
    """If not, a read-back cannot be compared with yesterday's."""
    points, tets = inputs.K10()
    results = []
    for threads in (1, 2, 3):
        scene, _ = scenes.bar((points, tets), MU)
        sim = pdgpu.Simulation(scene, scenes.DIRECT, threads=threads)
        sim.set_state(positions=scenes.stretched_and_twisted(points))
        results.append((sim.forces().tobytes(), sim.stress(scene.bodies[0]).tobytes()))
    assert results[0] == results[1] == results[2]


def test_what_cannot_be_read_is_refused():
    """If not, a typing error reads another body."""
    scene, sim = moving()
    solid, shell = scene.bodies[:2]
    for call in (sim.forces, sim.element_energies, sim.element_forces, sim.stress):
        with pytest.raises(ValueError, match="no body is named 'bunny'; there are"):
            call("bunny")
        with pytest.raises(TypeError, match="body: expected a body or its name, got 3"):
            call(3)
    with pytest.raises(ValueError, match="'shell1' is a shell"):
        sim.stress(shell)
    with pytest.raises(ValueError, match="measure: expected one of 'cauchy', 'first_piola', got 'kirchhoff'"):
        sim.stress(solid, "kirchhoff")
    sim, bar, _ = stretched((1.0, 1.0, 1.0), materials=pdgpu.Spring(1.0))
    with pytest.raises(ValueError, match="'bar' has no material on its tets"):
        sim.stress(bar)


def test_bodies_are_copies():
    """If not, a pin set on what a simulation shows holds in part of it, or nothing."""
    scene, sim = moving()
    shown = sim.bodies
    assert [body.name for body in shown] == [body.name for body in scene.bodies]
    for change in (
        lambda body: body.pin([5, 6]),
        lambda body: body.slide([5], line=(1, 0, 0)),
        lambda body: body.attach([5], (0, 0, 0)),
        lambda body: setattr(body, "masses", 1.0),
    ):
        with pytest.raises(RuntimeError, match="copy of body 'solid0' in a Simulation"):
            change(shown[0])
    with pytest.raises(ValueError, match="read-only"):
        shown[0].masses[:] = 0.0
    with pytest.warns(UserWarning, match="does not use the change"):
        scene.bodies[0].pin([3])
    assert len(sim.bodies[0].pins) == 1 and sim.bodies[0].masses.all()
    assert sim.bodies[0].slice == scene.bodies[0].slice
