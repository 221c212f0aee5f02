"""Masses of one's own: what moves, energies, files, copies and cuts have them."""

import copy
import pickle

import numpy as np
import pytest

import pdgpu

BEAM = pdgpu.shapes.beam((0.6, 0.2, 0.2), (3, 1, 1))
CLOTH = pdgpu.shapes.grid((1.0, 1.0), (3, 3))
CHAIN = pdgpu.shapes.chain(5)
BOX = pdgpu.shapes.box((0.4, 0.2, 0.1))


def masses(n, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 2.0, size=n)


def scene(gravity=(0.0, -9.81, 0.0)):
    """Every kind of body with masses of its own, apart from each other."""
    made = pdgpu.Scene(gravity=gravity)
    made.add_solid(BEAM, pdgpu.NeoHookean(1e4, 2e4), masses=masses(len(BEAM.points), 1), name="solid")
    shifted = pdgpu.Mesh(CLOTH.points + [0.0, 0.0, 2.0], triangles=CLOTH.triangles)
    made.add_shell(shifted, pdgpu.Spring(50.0), masses=masses(len(CLOTH.points), 2), bending=1e-3, name="shell")
    made.add_rod(
        pdgpu.Mesh(CHAIN.points + [0.0, 2.0, 0.0], edges=CHAIN.edges), pdgpu.Spring(80.0), masses=masses(len(CHAIN.points), 3), name="rod"
    )
    made.add_particles(np.eye(3) + 5.0, masses=masses(3, 4), name="particles")
    return made


def test_inertia_gravity_and_energies_have_them():
    """If not, a scene whose masses were measured is simulated with others."""
    made = scene()
    expected = np.concatenate([masses(len(body.points), k + 1) for k, body in enumerate(made.bodies)])
    for solver in (pdgpu.Newton(), pdgpu.VertexBlockDescent()):
        sim = pdgpu.Simulation(made, solver, dt=0.01)
        np.testing.assert_array_equal(sim.masses, expected)
        velocities = np.random.default_rng(5).normal(size=sim.positions.shape)
        sim.set_state(velocities=velocities)
        energies = sim.energies()
        assert energies["kinetic"] == pytest.approx(0.5 * (expected[:, None] * velocities**2).sum(), rel=1e-12)
        assert energies["gravity"] == pytest.approx(9.81 * (expected * sim.positions[:, 1]).sum(), rel=1e-12)
        x = sim.positions + 0.01 * np.random.default_rng(6).normal(size=sim.positions.shape)
        still = scene((0.0, 0.0, 0.0))
        other = pdgpu.Simulation(still, solver, dt=0.01)
        other.set_state(velocities=velocities)
        difference = sim.gradient(x) - other.gradient(x)
        np.testing.assert_allclose(difference, expected[:, None] * [0.0, 9.81, 0.0], rtol=1e-9, atol=1e-7)
        before = (expected[:, None] * sim.velocities).sum(axis=0)
        sim.step()
        after = (expected[:, None] * sim.velocities).sum(axis=0)
        np.testing.assert_allclose(after - before, [0.0, -9.81 * 0.01 * expected.sum(), 0.0], rtol=1e-6, atol=1e-6)


def test_a_pinned_mass_does_not_move_and_the_others_fall():
    """If not, pins and masses of one's own know nothing of each other."""
    made = scene()
    for body in made.bodies[:3]:
        body.pin([0])
    sim = pdgpu.Simulation(made, pdgpu.Newton(), dt=0.01)
    start = sim.positions
    sim.step(3)
    pinned = [body.slice.start for body in made.bodies[:3]]
    np.testing.assert_array_equal(sim.positions[pinned], start[pinned])
    assert (sim.positions[made["particles"].slice, 1] < start[made["particles"].slice, 1]).all()


def test_density_and_masses_that_are_the_same_give_the_same_bits():
    """If not, masses take another way through a step than a density does."""
    ends = []
    lumped = pdgpu.Scene()
    body = lumped.add_solid(BEAM, pdgpu.ARAP(1e4), density=900.0)
    for given in ({"density": 900.0}, {"masses": body.masses.copy()}):
        made = pdgpu.Scene()
        made.add_solid(BEAM, pdgpu.ARAP(1e4), **given)
        assert made.bodies[0].density == pytest.approx(900.0, rel=1e-12)
        sim = pdgpu.Simulation(made, pdgpu.ProjectiveDynamics(), dt=0.01)
        sim.set_state(positions=BEAM.points * [1.1, 1.0, 1.0])
        sim.step(3)
        ends.append(sim.positions)
    np.testing.assert_array_equal(*ends)


def test_files_copies_and_pickles_keep_them(tmp_path):
    """If not, a run that is resumed has other masses."""
    made = scene()
    box = pdgpu.Mesh(BOX.points + [0.0, 4.0, 0.0], triangles=BOX.triangles)
    made.add_rigid(box, masses=masses(len(BOX.points), 7), name="rigid", spin=(1.0, 2.0, 3.0))
    sim = pdgpu.Simulation(made, pdgpu.Newton(), dt=0.01)
    sim.step(2)
    sim.save(tmp_path / "run.npz")
    others = [pdgpu.Simulation.load(tmp_path / "run.npz"), copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))]
    sim.step(2)
    for other in others:
        np.testing.assert_array_equal(other.masses, sim.masses)
        other.step(2)
        np.testing.assert_array_equal(other.positions, sim.positions)


def test_a_cut_shares_them_out():
    """If not, a torn cloth is heavier or lighter than before."""
    made = pdgpu.Scene()
    given = masses(len(CLOTH.points), 2)
    body = made.add_shell(CLOTH, pdgpu.Spring(50.0), masses=given)
    sim = pdgpu.Simulation(made, pdgpu.Newton(), dt=0.01)
    edges = CLOTH.unique_edges()
    inner = [edge for edge in edges.tolist() if all(abs(CLOTH.points[v, 0] - 1 / 3) < 0.01 for v in edge)]
    sim.cut(body, inner)
    torn = sim.bodies[0]
    assert len(torn.points) > len(CLOTH.points)
    np.testing.assert_allclose(np.bincount(torn.parents, sim.masses), given, rtol=1e-12)


def test_a_rigid_body_of_points_of_mass():
    """If not, its mass, centre and inertia are not those of its vertices."""
    given = masses(len(BOX.points), 7)
    made = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    body = made.add_rigid(BOX, masses=given, spin=(0.3, -2.0, 1.0), velocity=(0.1, 0.2, 0.3))
    centre = given @ BOX.points / given.sum()
    arms = BOX.points - centre
    assert body.mass == pytest.approx(given.sum(), rel=1e-14)
    np.testing.assert_allclose(body.centre, centre, atol=1e-14)
    np.testing.assert_allclose(body.second_moments, arms.T @ (given[:, None] * arms), atol=1e-14)
    np.testing.assert_array_equal(body.masses, given)
    sim = pdgpu.Simulation(made, pdgpu.Newton(), dt=1e-3)
    assert sim.energies()["kinetic"] == pytest.approx(0.5 * (given[:, None] * sim.velocities**2).sum(), rel=1e-9)
    linear, angular = given @ sim.velocities, np.cross(arms, given[:, None] * sim.velocities).sum(axis=0)
    sim.step(20)
    now = given @ sim.positions / given.sum()
    np.testing.assert_allclose(given @ sim.velocities, linear, rtol=1e-9)
    np.testing.assert_allclose(np.cross(sim.positions - now, given[:, None] * sim.velocities).sum(axis=0), angular, rtol=1e-3)
    with pytest.raises(ValueError, match="masses: those of the rigid body"):
        body.masses = 1.0


@pytest.mark.parametrize(
    ("add", "words", "kind"),
    [
        (lambda s: s.add_solid(BEAM, pdgpu.ARAP(1.0)), "density: give density or masses; got neither", TypeError),
        (lambda s: s.add_shell(CLOTH, pdgpu.Spring(1.0), density=1.0, masses=1.0), "density: give density or masses; got both", TypeError),
        (lambda s: s.add_rod(CHAIN, pdgpu.Spring(1.0), masses=np.ones(3)), "masses", ValueError),
        (
            lambda s: s.add_solid(BEAM, pdgpu.ARAP(1.0), masses=np.r_[np.ones(len(BEAM.points) - 1), 0.0]),
            "masses: must be greater than 0",
            ValueError,
        ),
        (lambda s: s.add_solid(BEAM, pdgpu.ARAP(1.0), masses=np.nan), "masses", ValueError),
        (lambda s: s.add_particles(np.eye(3)), "mass: give mass or masses; got neither", TypeError),
        (lambda s: s.add_particles(np.eye(3), mass=1.0, masses=1.0), "mass: give mass or masses; got both", TypeError),
        (lambda s: s.add_particles(np.eye(3), masses=[1.0, -1.0, 1.0]), "masses: must be greater than 0, got -1.0 at 1", ValueError),
        (lambda s: s.add_rigid(BOX), "density: give density or masses; got neither", TypeError),
        (lambda s: s.add_rigid(BOX, masses=[1.0]), "masses", ValueError),
    ],
)
def test_bad_masses_are_refused_by_name(add, words, kind):
    """If not, a body has no mass, or which of two was taken is a guess."""
    with pytest.raises(kind, match=words):
        add(pdgpu.Scene())


def test_masses_of_a_simulation_are_read_only():
    """If not, a write is lost without a word."""
    sim = pdgpu.Simulation(scene(), pdgpu.Newton())
    before = sim.masses.copy()
    with pytest.raises(ValueError, match="read-only"):
        sim.masses[:] = 7
    np.testing.assert_array_equal(sim.masses, before)


def test_a_column_that_was_not_recorded_says_how_to_record_it():
    """If not, a KeyError with a name that exists is all there is."""
    sim = pdgpu.Simulation(scene(), pdgpu.Newton())
    sim.step()
    with pytest.raises(KeyError, match=r"'gradient_norm' was not recorded; nothing was: take step\(record=True\)"):
        sim.last_step["gradient_norm"]
    assert "gradient_norm" not in sim.last_step and sim.last_step.get("gradient_norm") is None
    sim.step(record=True)
    assert len(sim.last_step["gradient_norm"]) > 1
    with pytest.raises(KeyError, match="'gradient' was not recorded; there is iteration, seconds"):
        sim.last_step["gradient"]
