"""Scenes far from the origin of the coordinates: positions are relative to an origin of the scene."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import pdgpu
from pdgpu import shapes

BOX = shapes.beam((0.2, 0.2, 0.2), cells=(2, 2, 2))
FAR = [1e3, 1e4, 1e5]


def block(at):
    return pdgpu.Mesh(BOX.points + at, tets=BOX.tets)


def sliding(at, floor="plane", bodies=1, solver=None, dtype="float64", contact=None):
    """Blocks that fall 2 cm on a floor and slide at 0.5 m/s; `at` (3,) m."""
    at = np.asarray(at, np.float64)
    scene = pdgpu.Scene()
    for k in range(bodies):
        place = at + [0.0, 0.02 + 0.25 * k, 0.0]
        scene.add_solid(block(place), pdgpu.NeoHookean.from_young(1e5, 0.4), density=1000.0, velocity=(0.5, 0, 0))
    if floor == "plane":
        scene.add_obstacle(pdgpu.Plane((0.0, at[1], 0.0), (0, 1, 0)))  # its point stays at 0
    elif floor == "mesh":
        sheet = shapes.grid((2.0, 2.0), (5, 5))
        scene.add_obstacle(pdgpu.Mesh(np.stack([sheet.points[:, 0] - 1, 0 * sheet.points[:, 0], 1 - sheet.points[:, 1]], axis=1) + at))
    solver = pdgpu.Newton(iterations=60) if solver is None else solver
    contact = pdgpu.BarrierContact(2e-3) if contact is None else contact
    return pdgpu.Simulation(scene, solver, dt=0.005, contact=contact, dtype=dtype, threads=1)


def run(at, steps=40, **options):
    sim = sliding(at, **options)
    sim.step(steps)
    return sim.positions - np.asarray(at, np.float64), sim


@pytest.mark.each_choice
@pytest.mark.parametrize("bodies", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("far", FAR)
def test_a_block_falls_and_slides_anywhere_as_at_the_origin(far, dtype, bodies):
    """If it failed, a float32 scene would stop or hang in the air at a kilometre, with a status that says otherwise."""
    steps = 40 if bodies == 1 else 20  # two blocks have not met each other by then
    contact = pdgpu.BarrierContact(4e-3, stiffness=1e6)
    right, _ = run((0, 0, 0), bodies=bodies, steps=steps, contact=contact)
    for at in ((far, 0.0, 0.0), (-far, 0.0, 0.7 * far)):
        x, sim = run(at, bodies=bodies, dtype=dtype, steps=steps, contact=contact)
        assert np.abs(x - right).max() < 1e-3, np.abs(x - right).max()
        assert (np.abs(sim.origin - at) <= 640.0).all() and (sim.origin % 1024.0 == 0.0).all()
        assert sim.positions.dtype == np.float64


@pytest.mark.parametrize(
    "solver",
    [
        pdgpu.VertexBlockDescent(iterations=60),
        pdgpu.QuasiNewton(iterations=60),
        pdgpu.BlockJacobi(iterations=100),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_other_solvers_do_too(solver):
    """If it failed, the origin would be that of one solver only."""
    right, _ = run((0, 0, 0), solver=solver, steps=20)
    x, _ = run((1e4, 0, 0), solver=solver, steps=20, dtype="float32")
    assert np.abs(x - right).max() < 1e-3


def test_a_scene_near_the_origin_has_the_origin_zero_and_its_dtype():
    """If it failed, the bits of every scene would change."""
    sim = sliding((500.0, 0, 0), dtype="float32", contact=pdgpu.BarrierContact(8e-3))
    assert not sim.origin.any() and sim.positions.dtype == np.float32 and type(sim._core.compiled).__name__ == "Simulation"


def test_the_origin_moves_with_the_scene():
    """If it failed, a fast body would leave its origin and lose its digits."""
    scene = pdgpu.Scene(gravity=(0, 0, 0))
    scene.add_solid(block((500.0, 0, 0)), pdgpu.NeoHookean.from_young(1e5, 0.4), density=1000.0, velocity=(400.0, 0, 0))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=0.01, dtype="float32")
    sim.step(33)
    assert not sim.origin.any()
    before = sim.positions.astype(np.float64)
    sim.step(32)
    assert sim.origin.tolist() == [1024.0, 0.0, 0.0]
    np.testing.assert_allclose(sim.positions - before, np.broadcast_to([32 * 4.0, 0, 0], before.shape), atol=1e-3)
    assert sim.time == pytest.approx(0.65) and sim.last_step is not None
    sim.set_state(positions=sim.positions + [5000.0, 0.0, 0.0])
    assert sim.origin[0] == 1024.0 * round((sim.positions[:, 0].mean()) / 1024.0)


def scripted(at):
    """A bar with a fixed end, a scripted end, an attachment and walls, above a moving plane and a ball."""
    at = np.asarray(at, np.float64)
    scene = pdgpu.Scene()
    mesh = shapes.beam((0.4, 0.1, 0.1), (4, 1, 1))
    bar = scene.add_solid(pdgpu.Mesh(mesh.points + at + [0, 0.1, 0], tets=mesh.tets), pdgpu.ARAP.from_young(1e5, 0.3), density=500)
    bar.pin(lambda p: p[:, 0] < at[0] + 1e-9)
    bar.pin(lambda p: p[:, 0] > at[0] + 0.4 - 1e-9, motion=lambda t, rest: rest + [0.02 * t, 0.05 * t, 0])
    middle = np.flatnonzero(np.abs(mesh.points[:, 0] - 0.2) < 1e-9)
    bar.attach(middle, bar.points[middle] + [0, 0.01, 0], 100.0)
    scene.add_obstacle(pdgpu.Plane(at + [0, 0.082, 0], (0, 1, 0)), motion=lambda t: (np.eye(3), np.array([0, 0.05 * t, 0])))
    scene.add_obstacle(pdgpu.Sphere(at + [0.2, 0.3, 0.05], 0.05), motion=lambda t: (np.eye(3), np.array([0, -0.1 * t, 0])))
    scene.set_world_box(at - 1.0, at + [0.41, 1.0, 1.0], 1e4)
    return scene


def forces_of(sim):
    found = sim.contact_forces()
    return found.forces, found.points


@pytest.mark.parametrize("kind", ["Newton", "PD"])
def test_pins_attachments_obstacles_and_walls_have_the_same_origin(kind):
    """If it failed, something of a scene would be left behind at the old coordinates."""
    solver = pdgpu.Newton(iterations=60) if kind == "Newton" else pdgpu.ProjectiveDynamics(iterations=300)
    contact = pdgpu.BarrierContact(5e-3) if kind == "Newton" else pdgpu.ProjectiveContact(5e-3)
    at, sims = np.array([3e4, -2e4, 5e3]), []
    for place in (np.zeros(3), at):
        sims.append(pdgpu.Simulation(scripted(place), solver, dt=0.01, contact=contact, threads=1))
        sims[-1].step(30, record="positions")
    here, there = sims
    assert np.abs(there.positions - at - here.positions).max() < 1e-6
    assert np.abs(there.last_step.positions[-1] - there.positions).max() == 0.0
    force_here, points_here = forces_of(here)
    force_there, points_there = forces_of(there)
    assert np.abs(force_here).max() > 0.1
    np.testing.assert_allclose(force_there, force_here, atol=1e-2 * np.abs(force_here).max())
    np.testing.assert_allclose(points_there - at, points_here, atol=1e-5)
    near, far = here.contacts(0.03), there.contacts(0.03)
    assert len(near) == len(far) > 0
    np.testing.assert_allclose(far.points - at, near.points, atol=1e-6)
    np.testing.assert_allclose(there.gradient(there.positions), there.gradient(), atol=1e-6)
    assert there.last_step.behind == 0.0
    assert pdgpu.certify([there.positions], there._core.scene, times=[there.time], gap=False)
    for name, energy in here.energies().items():
        if name not in ("gravity", "total", "elastic"):
            assert there.energies()[name] == pytest.approx(energy, rel=1e-3, abs=1e-6), name


def test_copies_files_and_pickles_keep_the_origin(tmp_path):
    """If it failed, a resumed run would have other bits."""
    sim = sliding((1e4, 0, 0), dtype="float32")
    sim.step(10)
    sim.save(tmp_path / "far.npz")
    others = [copy.copy(sim), pickle.loads(pickle.dumps(sim)), pdgpu.Simulation.load(tmp_path / "far.npz")]
    sim.step(10)
    for other in others:
        assert (other.origin == sim.origin).all()
        other.step(10)
        np.testing.assert_array_equal(other.positions, sim.positions)
        np.testing.assert_array_equal(other.velocities, sim.velocities)


def test_a_simulation_that_starts_far_away_has_its_origin_there():
    """If it failed, `positions=` would round a start to the spacing of the rest positions' origin."""
    sim = sliding((0, 0, 0), dtype="float32")
    there = sim.positions.astype(np.float64) + [2e4, 0.0, 0.0]
    other = pdgpu.Simulation(sim._core.scene, sim.solver, dt=sim.dt, contact=sim.contact, dtype="float32", positions=there)
    assert other.origin[0] == 20480.0
    assert np.abs(other.positions - there).max() < 1e-4


def test_an_activation_distance_below_the_rounding_is_refused():
    """If it failed, contact would stop what slides, and say that it had converged."""
    with pytest.raises(ValueError, match=r"distance: 0\.001 m is too small for float32 and vertices up to 500\.2 m .*give at least 0\.00"):
        sliding((500.0, 0, 0), dtype="float32", contact=pdgpu.BarrierContact(1e-3))
    sim = sliding((0, 0, 0), floor=None, dtype="float32", contact=pdgpu.BarrierContact(1e-4))
    with pytest.raises(ValueError, match="distance"):
        sim.set_state(positions=sim.positions + np.float32(300.0))
        sim.step()
    scene = pdgpu.Scene(gravity=(0, 0, 0))
    scene.add_solid(block((0, 0, 0)), pdgpu.NeoHookean.from_young(1e5, 0.4), density=1000.0, velocity=(500.0, 0, 0))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=0.01, dtype="float32", contact=pdgpu.BarrierContact(1e-4))
    with pytest.warns(RuntimeWarning, match="distance: 0.0001 m is too small for float32") as found:
        sim.step(96)
    assert len(found) == 1 and found[0].filename == __file__


def test_an_impact_far_from_the_origin_is_no_stall():
    """If it failed, Newton would lose the motion where the rounding of G exceeds the decrease of a step."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for far in (200.0, 400.0, 600.0):
            contact = pdgpu.BarrierContact(5e-3, stiffness=1e6)
            right, _ = run((0, 0, 0), contact=contact)
            x, sim = run((far, 0, 0), contact=contact, dtype="float32")
            assert np.abs(x - right).max() < 1e-3
            assert sim.last_step.status == "converged"
