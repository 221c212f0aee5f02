"""Parts of scenes of rigid bodies: boxes and balls at a place, a rack of balls, a slider-crank, and the forces on a body."""

import numpy as np

import pdgpu
from pdgpu import shapes


def box(size, centre, angle=0.0):
    """A box with its centre, m, turned about the z axis."""
    mesh = shapes.box(size)
    c, s = np.cos(angle), np.sin(angle)
    points = (np.array(mesh.points) - 0.5 * np.array(size)) @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    return pdgpu.Mesh(points + centre, triangles=mesh.triangles)


def ball(radius, centre, level=2):
    mesh = shapes.sphere(radius, level)
    return pdgpu.Mesh(np.array(mesh.points) + centre, triangles=mesh.triangles)


def rack(gap):
    """Six balls in a triangle, and a seventh of 3 m/s that strikes them off the centre."""
    scene, radius = pdgpu.Scene(gravity=(0.0, 0.0, 0.0)), 0.03
    scene.add_rigid(ball(radius, (-0.15, 0.004, 0.0)), density=1700.0, velocity=(3.0, 0.0, 0.0))
    for i in range(3):
        for j in range(i + 1):
            at = (i * (2.0 * radius + gap) * np.sqrt(0.75), (j - 0.5 * i) * (2.0 * radius + gap), 0.0)
            scene.add_rigid(ball(radius, at), density=1700.0)
    return scene


def slider_crank(stiffness, spin):
    """A crank of 0.1 m that starts upright, a rod of 0.3 m, and a slider."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    tip, end = np.array([0.0, 0.1, 0.0]), np.array([np.sqrt(0.08), 0.0, 0.0])
    speed = np.array([-0.1 * spin, 0.0, 0.0])
    crank = scene.add_rigid(
        box((0.1, 0.02, 0.02), 0.5 * tip, 0.5 * np.pi), density=1000.0, velocity=0.5 * speed, spin=(0.0, 0.0, spin), name="crank"
    )
    angle = np.arctan2(-tip[1], end[0])
    rod = scene.add_rigid(box((0.3, 0.02, 0.02), 0.5 * (tip + end), angle), density=1000.0, velocity=speed, name="rod")
    slider = scene.add_rigid(box((0.04, 0.04, 0.04), end), density=1000.0, velocity=speed, name="slider")
    axis = {"axis": (0.0, 0.0, 1.0), "stiffness": stiffness}
    scene.add_joint("hinge", crank, None, at=(0.0, 0.0, 0.0), **axis)
    scene.add_joint("hinge", rod, crank, at=tip, **axis)
    scene.add_joint("hinge", slider, rod, at=end, **axis)
    scene.add_joint("slider", slider, None, at=end, axis=(1.0, 0.0, 0.0), stiffness=stiffness)
    return scene


def turn(rotation):
    """The angle about the z axis of a rotation (3, 3), or of several."""
    return np.arctan2(rotation[..., 1, 0], rotation[..., 0, 0])


def inertia(body):
    """The inertia tensor, kg m^2."""
    return np.trace(body.second_moments) * np.eye(3) - body.second_moments


def push(sim, loads):
    """External forces by body: (3,) N, equal on its vertices."""
    forces = np.zeros((len(sim.positions), 3))
    for body, force in loads.items():
        forces[body.slice] = np.array(force) / (body.slice.stop - body.slice.start)
    sim.external_forces = forces


def along(pairs, axis):
    """The sum of normal forces along an axis, N: of contacts whose normals point to either side."""
    return float((pairs.normal_force * np.abs(pairs.normal[:, axis])).sum())


def on_floor(gravity=(0.0, -9.81, 0.0)):
    scene = pdgpu.Scene(gravity=gravity)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    return scene


def simulated(scene, dt, *, distance=1e-3, tolerance=1e-8, iterations=100, settings=None, **contact):
    solver = pdgpu.Newton(iterations=iterations, tolerance=tolerance)
    return pdgpu.Simulation(scene, solver, dt=dt, contact=pdgpu.BarrierContact(distance, **contact), **(settings or {}))
