"""Momentum in collisions: linear momentum is kept, or changes by the contact forces that are reported."""

import numpy as np
import pytest
from contact_scenes import NO_GRAVITY, ball, cube, solid
from projective_run import LINEAR

import pdgpu


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_collision_keeps_the_momentum(dtype):
    """If it failed, two bodies that meet in empty space would drift off together."""
    scene = pdgpu.Scene(NO_GRAVITY)
    solid(scene, ball(0.05, 1, 2, (-0.051, 0.01, 0.0)), 1e5, 1000.0, velocity=(2.0, 0.0, 0.1))
    solid(scene, cube(0.08, 2, (0.041, 0.0, 0.004)), 2e5, 3000.0, velocity=(-1.0, 0.2, 0.0))
    contact = pdgpu.BarrierContact(1e-3, stiffness=1e5)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=60, tolerance=1e-6), dt=0.01, contact=contact, dtype=dtype, threads=1)
    masses = sim.masses[:, None].astype(np.float64)
    before, most = (masses * sim.velocities).sum(axis=0), 0
    scale = (masses * np.abs(sim.velocities)).sum()
    for _ in range(6):
        sim.step(record=True)
        most = max(most, int(sim.last_step["active_contacts"][-1]))
        after = (masses * sim.velocities).sum(axis=0)
        assert np.abs(after - before).max() < (1e-4 if dtype == "float32" else 1e-11) * scale
    assert most > 0
    assert np.linalg.norm(sim.velocities - scene.initial_velocities()) > 0.1 * np.linalg.norm(scene.initial_velocities())


def blocks(add, velocities):
    """Blocks of 0.2 m above each other, nearly in contact, with these velocities (m/s)."""
    scene, block = pdgpu.Scene(NO_GRAVITY), pdgpu.shapes.beam((0.2, 0.2, 0.2), (3, 3, 3))
    for k, velocity in enumerate(velocities):
        mesh = pdgpu.Mesh(block.points + (0.02 * k, 0.215 * k, 0.03 * k), tets=block.tets)
        add(scene, mesh, velocity)
    return scene


def soft_block(scene, mesh, velocity):
    scene.add_solid(mesh, pdgpu.NeoHookean(1e4, 4e4), density=1000.0, velocity=velocity)


def rigid_block(scene, mesh, velocity):
    scene.add_rigid(mesh, density=1000.0, velocity=velocity)


def mean_velocity(sim, rows=slice(None)):
    return np.average(sim.velocities[rows].astype(float), axis=0, weights=sim.masses[rows])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("add", [soft_block, rigid_block])
@pytest.mark.parametrize("solver", [pdgpu.VertexBlockDescent, pdgpu.BlockJacobi, pdgpu.GradientDescent])
def test_a_fast_common_motion_goes_on(solver, add, dtype):
    """If not, displacement bounds stop blocks that meet in flight: Vertex Block Descent takes 14 of 50 m/s in a step."""
    scene = blocks(add, [(50.0, 1.0, 0.0), (50.0, -1.0, 0.0)])
    contact = pdgpu.BarrierContact(0.01, stiffness=1e4)
    sim = pdgpu.Simulation(scene, solver(iterations=20), dt=1 / 64, contact=contact, dtype=dtype, threads=1)
    for _ in range(3):
        sim.step(record=True)
        np.testing.assert_allclose(mean_velocity(sim), [50.0, 0.0, 0.0], rtol=0, atol=0.05)
        assert sim.last_step.held_back < 1e-3
    assert sim.velocities[:, 1].std() < 0.9  # they have met


# an accelerator bounds the first guess before its time of impact is known
@pytest.mark.parametrize("acceleration", [None, pdgpu.Chebyshev(rho=0.8, start=1)])
def test_a_wall_in_front_stops_a_common_motion(acceleration):
    """If not, the first guess of blocks that fly against a wall crosses the wall, or moves them backwards."""
    scene = blocks(soft_block, [(50.0, 1.0, 0.0), (50.0, -1.0, 0.0)])
    scene.add_obstacle(pdgpu.Plane((0.4, 0.0, 0.0), (-1.0, 0.0, 0.0)))
    contact = pdgpu.BarrierContact(0.01, stiffness=1e4)
    solver = pdgpu.VertexBlockDescent(iterations=20, acceleration=acceleration)
    sim = pdgpu.Simulation(scene, solver, dt=1 / 64, contact=contact, threads=1)
    outer = np.unique(np.concatenate([body.slice.start + body.mesh.surface.ravel() for body in scene.bodies]))
    before = sim.positions[outer, 0].copy()
    sim.step()
    assert (sim.positions[outer, 0] - before).min() > 0 and sim.positions[outer, 0].max() < 0.4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bodies_that_are_far_apart_have_their_own_common_motions(dtype):
    """If not, a pinned body, one at rest or a pair that flies elsewhere stops two blocks that meet in flight, or is carried along."""
    pairs = [[(50.0, 1.0, 0.0), (50.0, -1.0, 0.0)], [(0.0, 1.0, 0.0), (0.0, -1.0, 0.0)], [(0.0, 1.0, -40.0), (0.0, -1.0, -40.0)]]
    scene, block = pdgpu.Scene(NO_GRAVITY), pdgpu.shapes.beam((0.2, 0.2, 0.2), (3, 3, 3))
    for place, velocities in enumerate(pairs):
        for k, velocity in enumerate(velocities):
            points = block.points + (0.02 * k + 5.0 * place, 0.215 * k, 0.03 * k)
            soft_block(scene, pdgpu.Mesh(points, tets=block.tets), velocity)
    soft_block(scene, pdgpu.Mesh(block.points - 5.0, tets=block.tets), (0.0, 0.0, 0.0))
    scene.bodies[-1].pin([0])
    contact = pdgpu.BarrierContact(0.01, stiffness=1e4)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=20), dt=1 / 64, contact=contact, dtype=dtype, threads=1)
    for _ in range(2):
        sim.step()
        for k, velocities in enumerate(pairs):
            rows = slice(scene.bodies[2 * k].slice.start, scene.bodies[2 * k + 1].slice.stop)
            np.testing.assert_allclose(mean_velocity(sim, rows), np.mean(velocities, axis=0), rtol=0, atol=0.05)


def test_a_body_in_flight_carries_no_other_along():
    """If not, a block at rest jumps by half of the way of one that flies into it, before they meet."""
    scene = blocks(soft_block, [(0.0, 0.0, 0.0), (0.0, -30.0, 0.0)])
    contact = pdgpu.BarrierContact(0.01, stiffness=1e4)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=1), dt=1 / 64, contact=contact, threads=1)
    before = sim.positions[scene.bodies[0].slice].copy()
    sim.step()
    assert np.abs(sim.positions[scene.bodies[0].slice] - before).max() < 0.1  # the mean displacement is 0.23 m


# ---- contact by projections ------------------------------------------------------------------------------------------------

OBLIQUE = (0.7, -1.0, 0.3)
TRIANGLE = pdgpu.Mesh(np.array([[-3.0, 0.0, -3.0], [-3.0, 0.0, 6.0], [6.0, 0.0, -3.0]]), triangles=np.array([[0, 1, 2]]))


def soft(scene, mesh, young, density, **body):
    return scene.add_solid(mesh, pdgpu.ARAP.from_young(young, 0.3), density=density, **body)


def falling(velocity, floor="plane", **body):
    scene = pdgpu.Scene()
    soft(scene, cube(0.1, 2, (0.0, 0.055, 0.0)), 1e5, 1000.0, velocity=velocity, **body)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)) if floor == "plane" else floor, name="floor")
    return scene


def colliding():
    scene = pdgpu.Scene(NO_GRAVITY)
    soft(scene, cube(0.1, 2, (-0.0525, 0.01, 0.0)), 1e5, 1000.0, velocity=(1.0, 0.0, 0.1))
    soft(scene, cube(0.08, 2, (0.0425, 0.0, 0.004)), 2e5, 3000.0, velocity=(-0.5, 0.2, 0.0))
    return scene


def stacked():
    """Of two bodies on a plane, one falls on the edge of the other: forces between them are oblique."""
    scene = falling((0.0, -1.0, 0.0))
    soft(scene, cube(0.06, 2, (0.02, 0.14, 0.01)), 1e5, 1000.0, velocity=(0.0, -1.0, 0.0))
    return scene


# scene and the axes along which nothing outside of it presses
KEPT = {
    "straight on a plane": (lambda: falling((0.0, -1.0, 0.0)), [0, 2]),
    "straight on a mesh": (lambda: falling((0.0, -1.0, 0.0), TRIANGLE), [0, 2]),
    "oblique on a plane": (lambda: falling(OBLIQUE), [0, 2]),
    "oblique on a mesh": (lambda: falling(OBLIQUE, TRIANGLE), [0, 2]),
    "two in empty space": (colliding, [0, 1, 2]),
    "two on a plane": (stacked, [0, 2]),
}


def projected(scene, dtype="float64", *, iterations=None, linear=None, **contact):
    settings = {key: value for key, value in {"iterations": iterations, "linear": linear}.items() if value is not None}
    contact = pdgpu.ProjectiveContact(1e-3, **contact)
    return pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(**settings), dt=0.01, contact=contact, dtype=dtype, threads=1)


def largest_change(sim, axes, steps=20):
    """Of the momentum along these axes, in parts of the sum of m |v| at the start."""
    masses = sim.masses[:, None].astype(np.float64)
    before, most = (masses * sim.velocities).sum(axis=0), 0.0
    scale, normal = (masses * np.abs(sim.velocities)).sum(), 0.0
    for _ in range(steps):
        sim.step()
        most = max(most, np.abs((masses * sim.velocities).sum(axis=0) - before)[axes].max())
        normal = max(normal, sim.contact_forces().normal_force.max(initial=0.0))
    assert normal > 0.0  # something has pressed
    return most / scale


@pytest.mark.each_choice
@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("iterations", [None, 200])
@pytest.mark.parametrize("name", KEPT)
def test_projections_keep_the_momentum(name, iterations, blocks):
    """If not, a straight fall would end in a sideways motion, and bodies in empty space would drift off together."""
    make, axes = KEPT[name]
    assert largest_change(projected(make(), iterations=iterations, blocks=blocks), axes) < 1e-10


@pytest.mark.parametrize("name", KEPT)
def test_projections_keep_the_momentum_in_float32(name):
    """If not, float32 would lose more than the rounding of the sums of a step."""
    make, axes = KEPT[name]
    assert largest_change(projected(make(), "float32"), axes) < 1e-6


@pytest.mark.parametrize("name", ["oblique on a plane", "two in empty space"])
@pytest.mark.parametrize("linear", LINEAR)
def test_every_linear_solver_keeps_the_momentum(name, linear):
    """If not, one that is far from the solution of its system would push bodies aside."""
    make, axes = KEPT[name]
    assert largest_change(projected(make(), linear=LINEAR[linear]), axes) < 1e-10


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_projected_collision_keeps_the_momentum(friction, restitution):
    """If not, friction between two bodies or their rebound would be a force from outside."""
    assert largest_change(projected(colliding(), friction=friction, restitution=restitution), [0, 1, 2]) < 1e-10


def test_the_momentum_changes_by_the_contact_forces():
    """If not, a converged step would hold a force that nothing exerts: edges that tilt over those of a box push sideways, and say so."""
    box = pdgpu.shapes.box((2.0, 0.1, 2.0))
    sim = projected(
        falling((0.0, -1.0, 0.0), pdgpu.Mesh(box.points - box.points.mean(0) - [0, 0.05, 0], triangles=box.triangles)), iterations=200
    )
    masses, sideways, converged = sim.masses[:, None], 0.0, 0
    for _ in range(40):
        before = (masses * sim.velocities).sum(axis=0)
        sim.step()
        change = (masses * sim.velocities).sum(axis=0) - before
        force = sim.contact_forces().forces.sum(axis=0)
        sideways = max(sideways, abs(force[0]))
        if sim.last_step.status != "converged":
            continue
        converged += 1
        assert np.abs(change - 0.01 * (force + masses.sum() * np.array([0.0, -9.81, 0.0]))).max() < 1e-10
    assert converged > 20 and sideways > 0.0


@pytest.mark.parametrize("held", ["pinned", "attached"])
def test_a_held_body_is_not_translated(held):
    """If not, a body would be moved as if its pins or springs were not there, and end a step in another place than without contact."""
    scene = pdgpu.Scene()
    body = soft(scene, cube(0.1, 2, (0.0, 1.0, 0.0)), 1e5, 1000.0)
    top = np.flatnonzero(body.mesh.points[:, 1] > 1.04)
    if held == "pinned":
        body.pin(top)
    else:
        body.attach(top, body.mesh.points[top], stiffness=1e3)
    solver, found = pdgpu.ProjectiveDynamics(iterations=10, linear=pdgpu.Jacobi()), []
    for contact in (None, pdgpu.ProjectiveContact(1e-3)):
        sim = pdgpu.Simulation(scene, solver, dt=0.01, contact=contact, threads=1)
        sim.step(3)
        found.append(sim.positions)
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-15)
