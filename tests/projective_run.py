"""Runs of Projective Dynamics with contact by projections, verified along the whole path of every step."""

import dataclasses

import numpy as np
import pytest
from contact_scenes import SCENES, cloth, cube, sheet
from resting_contact import projective
from verified_run import Verified, verify

import pdgpu
from pdgpu import _host

G = 9.8
needs_gmp = pytest.mark.skipif(not _host.HAS_GMP, reason="this build has no GMP")

# every linear solver that Projective Dynamics takes
LINEAR = {
    "Direct": pdgpu.Direct(),
    "Jacobi": pdgpu.Jacobi(),
    "Chebyshev": pdgpu.Jacobi(iterations=8, chebyshev=pdgpu.Chebyshev(rho=0.9, start=1)),
    "A-Jacobi-1": pdgpu.AJacobi(order=1),
    "A-Jacobi-2": pdgpu.AJacobi(order=2),
    "A-Jacobi-3": pdgpu.AJacobi(order=3),
    "A-Jacobi-4": pdgpu.AJacobi(order=4),
    "A-Jacobi-2, composed": pdgpu.AJacobi(order=2, variant="composed"),
    "PCG": pdgpu.PCG(iterations=10),
    "Gauss-Seidel": pdgpu.GaussSeidel(),
    "symmetric Gauss-Seidel": pdgpu.SymmetricGaussSeidel(),
    "SOR": pdgpu.SOR(omega=1.5),
}


def projective_case(name, fine=False, **contact):
    """A scene of contact_scenes.py with materials and contact of Projective Dynamics."""
    case = projective(SCENES[name](fine), moving=True)
    of = case.contact
    return dataclasses.replace(
        case, iterations=40, tolerance=0.0, contact=pdgpu.ProjectiveContact(of.distance, separation=of.separation, **contact)
    )


def projective_simulation(case, dtype="float64", **settings):
    return case.simulation(dtype, method=pdgpu.ProjectiveDynamics, **settings)


def verified_projective_run(case, dtype="float64", *, steps=None, sim=None, **settings):
    """As verified_run.verified_run; of a round, pins and all else go straight from one state to the next."""
    sim = projective_simulation(case, dtype, **settings) if sim is None else sim
    found, moving = Verified(), any(obstacle.collider.motion is not None for obstacle in case.scene.obstacles)
    for _ in range(case.steps if steps is None else steps):
        before = sim.positions
        sim.step(record="positions")
        frames = [before]
        for frame in sim.last_step.positions:
            if not np.array_equal(frame, frames[-1]):
                frames.append(frame)
        if not moving:
            verify(case, found, frames, [sim.time] * len(frames))
        elif sim.last_step.behind == 0.0:
            verify(case, found, [sim.positions], [sim.time])
        found.steps += 1
        found.iterations += sim.last_step.iteration
        found.contacts = max(found.contacts, int(sim.last_step["active_contacts"][-1]))
        found.smallest_distance = min(found.smallest_distance, float(sim.last_step["smallest_distance"][-1]))
        assert np.array_equal(sim.positions, sim.last_step.positions[-1]) and np.isfinite(sim.velocities).all()
    return found


def dropped(dt, *, height=0.5, velocity=(0.0, 0.0, 0.0), iterations=400, **contact):
    """A vertex above a plane."""
    scene = pdgpu.Scene((0.0, -G, 0.0))
    scene.add_particles([[0.0, height, 0.0]], mass=2.0, velocity=velocity)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    solver = pdgpu.ProjectiveDynamics(iterations=iterations)
    return pdgpu.Simulation(scene, solver, dt=dt, contact=pdgpu.ProjectiveContact(5e-3, **contact))


def on_spike(cells):
    """A cloth falls on the tip of a pyramid."""
    scene = pdgpu.Scene((0.0, -G, 0.0))
    cloth(scene, sheet(0.4, 0.4, cells, 0.008), cells=cells)
    tip = np.array([[0.0, 0.0, 0.0], [0.06, -0.3, 0.0], [-0.03, -0.3, 0.05], [-0.03, -0.3, -0.05]]) + [0.003, 0.0, 0.004]
    scene.add_obstacle(pdgpu.Mesh(tip, triangles=[(0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2)]), name="spike")
    return scene


def incline(friction, tangent=0.2553, dt=0.01):
    """A cube on a plane, and the plane's normal and the way down it."""
    angle = np.arctan(tangent)
    normal, down = np.array([np.sin(angle), np.cos(angle), 0.0]), np.array([np.cos(angle), -np.sin(angle), 0.0])
    mesh = cube(0.1, 2, (0.0, 0.0, 0.0))
    points = mesh.points @ np.stack([down, normal, [0.0, 0.0, 1.0]]) + 0.05095 * normal
    scene = pdgpu.Scene((0.0, -G, 0.0))
    scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), pdgpu.ARAP.from_young(young=1e6, poisson=0.4), density=1000.0, name="cube")
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), tuple(normal)), name="plane")
    contact = pdgpu.ProjectiveContact(1e-3, friction={("cube", "plane"): friction}, weight=100.0, inner=100)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=400), dt=dt, contact=contact)
    return sim, normal, down
