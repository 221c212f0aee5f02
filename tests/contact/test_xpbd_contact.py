"""Contact by constraints with compliance in XPBD: against what stands on paper, and a sweep written down a second time."""

import numpy as np
import pytest
from contact_scenes import ball, moved

import pdgpu

SOLVER = pdgpu.XPBD(iterations=60)


def simulation(scene, contact, solver=SOLVER, **options):
    return pdgpu.Simulation(scene, solver, **{"dt": 0.01, **options}, contact=contact)


def grains(points, gravity=(0.0, 0.0, -10.0), **options):
    scene = pdgpu.Scene(gravity)
    scene.add_particles(points, mass=2.0, name="grains", **options)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), name="floor")
    return scene


@pytest.mark.parametrize("dt", [0.02, 0.002])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_depth_at_rest(dtype, dt):
    """weight/stiffness below the thickness, whatever the time step and the number of iterations: what compliance is for."""
    scene = grains([[3.0, 0.0, 0.001], [0.4, 0.3, 0.101], [-2.0, 0.0, 0.501]])
    wall = pdgpu.shapes.box((1.0, 1.0, 0.1))
    scene.add_obstacle(pdgpu.TriangleMesh(pdgpu.Mesh(wall.points, triangles=wall.triangles)), name="plate")
    scene.add_obstacle(pdgpu.Sphere((-2.0, 0.0, 0.0), 0.5), name="ball")
    depths = []
    for iterations in (1, 20):
        sim = simulation(scene, pdgpu.PenaltyContact(1e-3, stiffness=1e5), pdgpu.XPBD(iterations=iterations), dt=dt, dtype=dtype)
        for _ in range(60 if dt > 0.01 else 300):
            sim.step()
        depths.append(sim.positions[:, 2] - [0.0, 0.1, 0.5])
    tolerance = 1e-6 if dtype == "float64" else 2e-2
    np.testing.assert_allclose(depths, np.full((2, 3), 1e-3 - 20.0 / 1e5), rtol=tolerance)
    np.testing.assert_allclose(sim.contact_forces().normal_force, 20.0, rtol=20 * tolerance)


@pytest.mark.parametrize("angle", [0.1, 0.35])
def test_incline(angle):
    """Below the cone nothing moves at all, above it a particle slides with g (sin a - mu cos a)."""
    mu, dt = 0.3, 0.005
    scene = grains([[0.0, 0.0, 1e-3 - 2e-4 * np.cos(angle)]], (10.0 * np.sin(angle), 0.0, -10.0 * np.cos(angle)))
    sim = simulation(scene, pdgpu.PenaltyContact(1e-3, stiffness=1e5, friction=mu), dt=dt)
    sim.step(40)
    at, before = sim.positions[0, 0], sim.velocities[0, 0]
    sim.step(20)
    if np.tan(angle) < mu:
        assert abs(sim.positions[0, 0] - at) < 1e-12
    else:
        assert sim.velocities[0, 0] - before == pytest.approx(10.0 * (np.sin(angle) - mu * np.cos(angle)) * 20 * dt, rel=1e-9)


def test_one_iteration_on_paper():
    """Algorithm 1 of Macklin et al. 2016 for particles that one and two pairs press, each of two having half of the mass."""
    scene = grains([[0.0, 0.0, 5e-4], [0.0, 1e-3, 2e-4]])
    scene.add_obstacle(pdgpu.Plane((0.0, 1.5e-3, 0.0), (0.0, -1.0, 0.0)), name="side")
    thickness, stiffness, h, w, mu, iterations = 1e-3, 3e4, 0.01, 0.5, 0.4, 3
    contact = pdgpu.PenaltyContact(thickness, stiffness=stiffness, friction={("grains", "floor"): mu})
    sim = simulation(scene, contact, pdgpu.XPBD(iterations=iterations), dt=h)
    velocities = np.array([[0.3, 0.0, 0.0], [0.01, 0.02, 0.0]])
    sim.set_state(velocities=velocities)
    start = sim.positions
    sim.step()
    pairs = [
        (0, np.array([0.0, 0.0, 1.0]), 0.0, mu),
        (1, np.array([0.0, 0.0, 1.0]), 0.0, mu),
        (1, np.array([0.0, -1.0, 0.0]), -1.5e-3, 0.0),
    ]
    x = start + h * velocities + h**2 * np.array([0.0, 0.0, -10.0])
    compliance, multipliers, slides = 1.0 / (stiffness * h**2), np.zeros(3), np.zeros((3, 3))
    for _ in range(iterations):
        acts = [multipliers[k] > 0 or n @ x[i] - offset < thickness for k, (i, n, offset, _) in enumerate(pairs)]
        shares = [sum(act for act, (j, *_) in zip(acts, pairs, strict=True) if j == i) for i in (0, 1)]
        moves = np.zeros((2, 3))
        for k, (i, n, offset, coefficient) in enumerate(pairs):
            if not acts[k]:
                continue
            C, mass = n @ x[i] - offset - thickness, shares[i] * w
            new = max(0.0, multipliers[k] - (C + compliance * multipliers[k]) / (mass + compliance))
            slip = (np.eye(3) - np.outer(n, n)) @ (x[i] - start[i])
            slide = slides[k] - slip / mass if coefficient else np.zeros(3)
            size = np.linalg.norm(slide)
            slide *= min(1.0, coefficient * new / size) if size else 1.0
            moves[i] += w * ((new - multipliers[k]) * n + slide - slides[k])
            multipliers[k], slides[k] = new, slide
        x += moves
    assert (multipliers > 0).all()
    np.testing.assert_allclose(sim.positions, x, rtol=0.0, atol=1e-15)


def two_balls(distance, velocity):
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    for sign, name in ((-1.0, "left"), (1.0, "right")):
        mesh = moved(ball(0.1, 1, 2), (0.5 * sign * distance, 0.01 * sign, 0.0))
        scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000.0, name=name, velocity=(-sign * velocity, 0.0, 0.0))
    return scene


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_momentum_and_bits(dtype):
    """Two balls that meet, with friction and detections on the way: what one gets the other loses, the same for any number of threads."""
    contact = pdgpu.PenaltyContact(5e-3, stiffness=1e4, friction=0.5, detection_interval=7)
    sims = [simulation(two_balls(0.22, 1.0), contact, pdgpu.XPBD(iterations=20), dtype=dtype, threads=threads) for threads in (1, 2)]
    for sim in sims:
        sim.step(8)
    np.testing.assert_array_equal(sims[0].positions, sims[1].positions)
    momentum = (sims[0]._core.masses[:, None] * sims[0].velocities).astype(np.float64)
    left = momentum[: len(momentum) // 2].sum(axis=0)
    assert left[0] < 0.5 * sims[0]._core.masses[: len(momentum) // 2].sum()  # they have met
    assert np.linalg.norm(momentum.sum(axis=0)) < (1e-12 if dtype == "float64" else 1e-3)


def test_a_block_rests_on_the_floor():
    """Its corners share its weight, with detections within the step."""
    scene = grains([[5.0, 5.0, 1.0]])
    mesh = pdgpu.shapes.beam((0.1,) * 3, (2, 2, 2))
    scene.add_solid(moved(mesh, (0.0, 0.0, 0.0009)), pdgpu.NeoHookean.from_young(1e6, 0.3), density=1000.0, name="block", damping=1e-3)
    sim = simulation(scene, pdgpu.PenaltyContact(1e-3, stiffness=1e4, friction=0.3, detection_interval=16), dt=0.005)
    for _ in range(60):
        sim.step()
    forces = sim.contact_forces()
    on_block = forces.vertices[:, 0] > 0
    assert forces.normal_force[on_block].sum() == pytest.approx(10.0, rel=2e-2)
    assert np.abs(sim.velocities[1:]).max() < 1e-3
