"""Contact by a penalty with signed distance fields: answers on paper, fields that move and turn, friction, derivatives, bits."""

import numpy as np
import pytest

import pdgpu

WALL = pdgpu.shapes.box((1.0, 1.0, 0.1))
SOLVER = pdgpu.VertexBlockDescent(iterations=60)


def field(motion=None, spacing=0.02):
    """A slab whose upper side is at z = 0.1, on which the distance is exact but near its edges."""
    return pdgpu.SignedDistanceField.from_mesh(pdgpu.Mesh(WALL.points, triangles=WALL.triangles), spacing=spacing, motion=motion)


def turned(axis, angle):
    axis = np.asarray(axis) / np.linalg.norm(axis)
    across = np.cross(axis, np.eye(3)).T
    return np.eye(3) + np.sin(angle) * across + (1.0 - np.cos(angle)) * across @ across


def grains(points, obstacle, gravity=(0.0, 0.0, -10.0), velocity=None):
    scene = pdgpu.Scene(gravity)
    scene.add_particles(points, mass=2.0, name="grains", **({} if velocity is None else {"velocity": velocity}))
    scene.add_obstacle(obstacle, name="field")
    return scene


def simulation(scene, solver=SOLVER, contact=None, **options):
    contact = contact or pdgpu.PenaltyContact(1e-3, stiffness=1e5, detection_interval=1)
    return pdgpu.Simulation(scene, solver, **{"dt": 0.01, **options}, contact=contact)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_depth_at_rest(dtype):
    """weight/stiffness below the thickness, with the force that carries it, for what lay there and what fell on it."""
    sim = simulation(grains([[0.4, 0.3, 0.1005], [0.62, 0.55, 0.3]], field()), dtype=dtype)
    sim.step(100)
    exact = dtype == "float64"
    np.testing.assert_allclose(sim.positions[:, 2], 0.1 + 1e-3 - 20.0 / 1e5, rtol=1e-9 if exact else 1e-6)
    forces = sim.contact_forces()
    np.testing.assert_allclose(forces.normal_force, 20.0, rtol=1e-6 if exact else 1e-2)
    np.testing.assert_allclose(forces.distance, 1e-3 - 20.0 / 1e5, rtol=1e-6 if exact else 1e-2)
    assert forces.bodies.tolist() == [[0, 1], [0, 1]]
    sim.step(record=True)
    assert sim.last_step["active_contacts"][-1] == 2
    assert sim.last_step["smallest_distance"][-1] == pytest.approx(8e-4, rel=1e-6 if exact else 1e-2)


def test_what_starts_inside_comes_out():
    """Through the nearest side, from any depth: of a mesh only as far as `depth`."""
    start = [[0.3, 0.4, 0.07], [0.6, 0.5, 0.02]]
    sim = simulation(grains(start, field(), gravity=(0.0, 0.0, 0.0)))
    sim.step(30)
    assert sim.positions[0, 2] > 0.1 and sim.positions[1, 2] < 0.0


def test_a_field_stops_what_is_fast():
    """Grains of 100 m/s go a metre in a step, through a slab of a tenth of it, and nothing is near it before or after."""
    sim = simulation(
        grains([[0.21, 0.3, 0.5], [0.5, 0.52, 0.5], [3.0, 0.0, 0.5]], field(), velocity=(0.0, 0.0, -100.0)),
        contact=pdgpu.PenaltyContact(1e-3, stiffness=1e8, detection_interval=5),
    )
    sim.step(20)
    np.testing.assert_allclose(sim.positions[:2, 2], 0.101 - 20.0 / 1e8, rtol=1e-3)
    assert sim.positions[2, 2] < -15.0  # beside it


def test_a_field_that_comes_pushes():
    """One that moves by its own thickness in a step takes along what it meets, in front of it."""
    sim = simulation(
        grains([[0.5, 0.5, 0.35]], field(lambda time: (np.eye(3), [0.0, 0.0, 10.0 * time])), gravity=(0.0, 0.0, 0.0)),
        contact=pdgpu.PenaltyContact(1e-3, stiffness=1e8, detection_interval=2),
    )
    for step in range(1, 10):
        sim.step()
        assert sim.positions[0, 2] >= 0.1 * step + 0.1
    assert sim.velocities[0, 2] > 9.0


@pytest.mark.parametrize("angle", [0.1, 0.35])
def test_incline(angle):
    """On a tilted field a grain creeps with eps_v (1 - sqrt(1 - tan a/mu)) below the cone and slides with g (sin a - mu cos a) above."""
    mu, velocity, dt = 0.3, 1e-2, 0.005
    tilt = turned([0.0, 1.0, 0.0], angle)
    start = tilt @ [0.2, 0.5, 0.1 + 1e-3 - 2e-4 * np.cos(angle)]
    contact = pdgpu.PenaltyContact(1e-3, stiffness=1e5, detection_interval=1, friction=mu, friction_velocity=velocity)
    sim = simulation(grains([start], field(lambda time: (tilt, [0.0, 0.0, 0.0]))), contact=contact, dt=dt)
    sim.step(80)
    down = tilt @ [1.0, 0.0, 0.0]
    if np.tan(angle) < mu:
        assert sim.velocities[0] @ down == pytest.approx(velocity * (1.0 - np.sqrt(1.0 - np.tan(angle) / mu)), rel=1e-6)
    else:
        before = sim.velocities[0] @ down
        sim.step(20)
        assert (sim.velocities[0] - before * down) @ down == pytest.approx(10.0 * (np.sin(angle) - mu * np.cos(angle)) * 20 * dt, rel=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [[0.0, 0.0, 1.0], [0.3, -0.2, 1.0], [1.0, 0.0, 0.0], None])
def test_slip_counts_from_what_the_field_moved(axis, dtype):
    """A field that goes on and turns takes along the point that a grain lies on: slip is what the grain did beyond that."""

    def motion(time):
        return (np.eye(3) if axis is None else turned(axis, 0.05 + time)), [0.4 * time, -0.3 * time, 0.1 * time]

    obstacle, scene = field(motion), pdgpu.Scene((0.0, 0.0, -10.0))
    rotation, shift = motion(0.0)
    start = np.array([[0.4, 0.3, 0.1017], [0.8, 0.2, 0.1016], [0.3, 0.8, 0.1014]]) @ rotation.T + shift
    for point, carried in zip(start, obstacle.displacement(start, 0.0, 0.01), strict=True):  # so that nothing meets on the way
        scene.add_particles([point], mass=2.0, velocity=carried / 0.01 + [0.07, 0.05, 0.02])
    scene.add_obstacle(obstacle)
    contact = pdgpu.PenaltyContact(2e-3, stiffness=1e5, detection_interval=1, friction=0.4, friction_velocity=0.05)
    sim = simulation(scene, contact=contact, dtype=dtype)
    sim.step()
    x, forces = sim.positions.astype(float), sim.contact_forces()
    assert len(forces) == 3
    rows = forces.vertices[:, 0]
    there = obstacle.query(x[rows], 0.01)
    tolerance = {"float64": 1e-12, "float32": 2e-6}[dtype]
    np.testing.assert_allclose(forces.normal, there.normal, atol=100 * tolerance)
    carried = obstacle.displacement(there.closest, 0.01, 0.0)  # back to where the step began
    move = (x - start)[rows] + carried
    slip = move - np.einsum("ki,ki->k", move, there.normal)[:, None] * there.normal
    rubs = forces.friction_limit > 0.0
    assert rubs.all()
    np.testing.assert_allclose(forces.slip, slip, atol=20 * tolerance)
    assert np.linalg.norm(slip, axis=1).min() > 1e-4
    assert (np.einsum("ki,ki->k", forces.friction_force, slip) < 0.0).all()


MOVING = {
    "field": lambda motion: field(motion),
    "plane": lambda motion: pdgpu.Plane((0.0, 0.0, 0.1), (0.0, 0.0, 1.0), motion=motion),
    "sphere": lambda motion: pdgpu.Sphere((0.5, 0.5, -0.4), 0.5, motion=motion),
    "capsule": lambda motion: pdgpu.Capsule((0.5, 0.0, -0.1), (0.5, 1.0, -0.1), 0.2, motion=motion),
    "box": lambda motion: pdgpu.Box((1.0, 1.0, 0.1), (0.5, 0.5, 0.05), motion=motion),
    "mesh": lambda motion: pdgpu.TriangleMesh(
        pdgpu.Mesh(WALL.points, triangles=WALL.triangles), motion=lambda time, rest: rest + motion(time)[1]
    ),
}


@pytest.mark.parametrize("name", MOVING)
def test_what_moves_pushes_and_rubs(name):
    """Every kind of obstacle that goes up lifts a grain as fast, and one that goes aside takes it along, until it lies still on it."""
    contact = pdgpu.PenaltyContact(2e-3, stiffness=1e5, detection_interval=1, friction=0.5, friction_velocity=1e-3, depth=0.02)
    for direction in ([0.0, 0.0, 0.1], [0.0, 0.1, 0.0]):
        obstacle = MOVING[name](lambda time, direction=direction: (np.eye(3), time * np.array(direction)))
        sim = simulation(grains([[0.5, 0.45 if name in ("plane", "capsule") else 0.5, 0.1018]], obstacle), contact=contact)
        sim.step(40)
        np.testing.assert_allclose(sim.velocities[0], direction, atol=2e-3)
        forces = sim.contact_forces()
        np.testing.assert_allclose(forces.forces, [[0.0, 0.0, 20.0]], atol=0.1)


def blocks(motion=None):
    """Two cubes, one on the other, on a field."""
    scene = pdgpu.Scene((0.0, 0.0, -10.0))
    mesh = pdgpu.shapes.beam((0.1,) * 3, (1, 1, 1))
    for i in range(2):
        points = mesh.points + [0.4 + 0.03 * i, 0.4 + 0.02 * i, 0.1016 + 0.1016 * i]
        scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), pdgpu.ARAP(4e5), density=1000.0, velocity=(0.2, 0.0, -0.1))
    scene.add_obstacle(field(motion), name="field")
    return scene


def drift(time):
    return turned([0.02, 0.04, 1.0], 2.0 * time), [0.1 * time, 0.0, 0.02 * time]


MINIMISERS = {
    "newton_pcg": pdgpu.Newton(iterations=100, tolerance=1e-9, linear=pdgpu.PCG()),
    "quasi_newton": pdgpu.QuasiNewton(iterations=400, tolerance=1e-7),
    "nonlinear_cg": pdgpu.NonlinearCG(iterations=600, tolerance=1e-7),
    "projective_dynamics": pdgpu.ProjectiveDynamics(iterations=600, tolerance=1e-7),
    "vertex_block_descent": pdgpu.VertexBlockDescent(iterations=600, tolerance=1e-7),
    "block_jacobi": pdgpu.BlockJacobi(iterations=1500, tolerance=1e-7),
    "gradient_descent": pdgpu.GradientDescent(iterations=2500, tolerance=1e-7),
}


@pytest.mark.parametrize("name", MINIMISERS)
def test_one_minimum(name):
    """Of all who take it, with friction, on a field that turns and comes. If not, the result depends on who computes it."""
    contact = pdgpu.PenaltyContact(2e-3, stiffness=3e4, detection_interval=0, friction=0.5, friction_velocity=0.01)
    sims = [simulation(blocks(drift), each, contact) for each in (pdgpu.Newton(iterations=100, tolerance=1e-9), MINIMISERS[name])]
    for sim in sims:
        sim.step()
        sim.step(record=True)
    expected, found = sims
    assert expected.last_step.status == "converged"
    assert (expected.contact_forces().bodies == [0, 2]).all(axis=1).sum() >= 2
    assert np.abs(found.positions - expected.positions).max() < 2e-2 * 0.2 * 0.01  # of the way in a step
    assert found.last_step["incremental_potential"][-1] == pytest.approx(expected.last_step["incremental_potential"][-1], rel=1e-3)


def test_derivatives():
    """Of frozen pairs. If not, what a solver minimises is not what its record shows."""
    contact = pdgpu.PenaltyContact(2e-3, stiffness=3e4, friction=0.5, friction_velocity=0.01)
    sim = simulation(blocks(drift), SOLVER, contact)
    sim.step()
    rng = np.random.default_rng(3)
    x = sim.positions + 2e-4 * rng.uniform(-1.0, 1.0, sim.positions.shape)
    assert len(sim.contact_forces()) > 4
    for _ in range(3):
        along, step = rng.standard_normal(x.shape), 1e-8  # friction bends within 1e-4 m
        slope = (sim.incremental_potential(x + step * along) - sim.incremental_potential(x - step * along)) / (2.0 * step)
        assert (sim.gradient(x) * along).sum() == pytest.approx(slope, rel=1e-6)
        curve = (sim.gradient(x + step * along) - sim.gradient(x - step * along)) / (2.0 * step)
        np.testing.assert_allclose(sim.hessian(x) @ along.ravel(), curve.ravel(), rtol=1e-4, atol=1e-5 * np.abs(curve).max())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("solver", [pdgpu.VertexBlockDescent(iterations=8), pdgpu.XPBD(iterations=8)])
def test_bits(solver, dtype, tmp_path):
    """The same for any number of threads, and for a run that was saved in between."""
    contact = pdgpu.PenaltyContact(2e-3, stiffness=3e4, friction=0.4, detection_interval=3)
    sims = [simulation(blocks(), solver, contact, dtype=dtype, threads=threads) for threads in (1, 2)]
    for step in range(4):
        if step == 2:
            sims[0].save(tmp_path / "run.npz")
            sims.append(pdgpu.Simulation.load(tmp_path / "run.npz"))
        for sim in sims:
            sim.step()
    assert (sims[0].contact_forces().bodies[:, 1] == 2).any()
    for sim in sims[1:]:
        np.testing.assert_array_equal(sim.positions, sims[0].positions)


def test_a_field_of_a_ball_is_as_the_ball():
    """Gaps and normals of grains around it, to what interpolation between nodes h apart allows: h^2/8 times 2/r, and its slope."""
    radius, h = 0.2, 0.02
    axis = np.linspace(-0.3, 0.3, 31)
    nodes = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)
    sampled = pdgpu.SignedDistanceField(np.linalg.norm(nodes, axis=-1) - radius, (-0.3, -0.3, -0.3), h)
    directions = np.random.default_rng(0).standard_normal((40, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    pairs = []
    for obstacle in (pdgpu.Sphere((0.0, 0.0, 0.0), radius), sampled):
        sim = simulation(
            grains(directions * (radius + 2e-3), obstacle, gravity=(0.0, 0.0, 0.0)), contact=pdgpu.PenaltyContact(5e-3, stiffness=1.0)
        )
        sim.step()
        pairs.append(sim.contact_forces())
        assert sorted(pairs[-1].vertices[:, 0]) == list(range(40))
    (gaps, normals), (found, turned_normals) = (
        (forces.distance[order], forces.normal[order]) for forces in pairs for order in [np.argsort(forces.vertices[:, 0])]
    )
    np.testing.assert_allclose(found, gaps, atol=h**2 / 8 * 2 / radius)
    assert np.einsum("ki,ki->k", turned_normals, normals).min() > np.cos(h / radius)


def test_refusals():
    """A barrier needs distances to edges and faces, which a field has not."""
    scene = grains([[0.4, 0.3, 0.2]], field())
    with pytest.raises(TypeError, match="BarrierContact does not take 'field', a SignedDistanceField"):
        simulation(scene, contact=pdgpu.BarrierContact(1e-3))
    far = pdgpu.SignedDistanceField(np.ones((2, 2, 2)), (2e37, 0.0, 0.0), 1.0)
    with pytest.raises(ValueError, match="rest: "):
        simulation(grains([[0.4, 0.3, 0.2]], far), dtype="float32")
    deep = pdgpu.SignedDistanceField(np.full((2, 2, 2), 2e37), (0.0, 0.0, 0.0), 1.0)
    with pytest.raises(ValueError, match="values: "):
        simulation(grains([[0.4, 0.3, 0.2]], deep), dtype="float32")
    broken = grains([[0.4, 0.3, 0.2]], field(lambda time: (2.0 * np.eye(3) if time > 0.015 else np.eye(3), [0.0, 0.0, 0.0])))
    sim = simulation(broken)
    sim.step()
    with pytest.raises(ValueError, match=r"motion: rotation at time 0\.02"):
        sim.step()
