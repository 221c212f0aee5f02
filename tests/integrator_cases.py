"""Scenes for tests of the time integrators, and their equations of motion for SciPy."""

import numpy as np

import pdgpu

ORDERS = {"implicit_euler": 1, "bdf2": 2, "trapezoidal": 2, "newmark": 2}
NAMES = tuple(ORDERS)
SECOND = NAMES[1:]
EXACT = pdgpu.Newton(iterations=60, tolerance=1e-13, linear=pdgpu.Direct())
GRAVITY = np.array([0.0, 0.0, -9.81])


def effective(integrator, dt):
    return {"implicit_euler": dt, "bdf2": 2.0 * dt / 3.0}.get(integrator, dt / 2.0)


def pendulum():
    """A mass of 1 kg on a spring of 400 N/m and 1 m, started sideways. Returns scene, acceleration(x, v) of all vertices."""
    scene = pdgpu.Scene(gravity=GRAVITY)
    rod = scene.add_rod(pdgpu.Mesh([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], edges=[[0, 1]]), pdgpu.Spring(400.0), density=2.0)
    rod.pin([0])

    def acceleration(x, v):
        arm = x[1] - x[0]
        length = np.linalg.norm(arm)
        return np.stack([np.zeros(3), GRAVITY - 400.0 * (length - 1.0) * arm / length])

    return scene, acceleration


def beam(damping=0.0):
    """A clamped, soft StVK beam of 24 tets that falls. Returns scene, acceleration(x, v) of all vertices."""
    mu, lam = 2e3, 3e3
    mesh = pdgpu.shapes.beam((0.4, 0.1, 0.1), cells=(4, 1, 1))
    scene = pdgpu.Scene(gravity=GRAVITY)
    scene.add_solid(mesh, pdgpu.StVK(mu, lam), density=1000.0, damping=damping).pin(mesh.points[:, 0] == 0.0)
    rest, tets, masses = mesh.points, mesh.tets, scene.masses()
    inverse = np.linalg.inv((rest[tets[:, 1:]] - rest[tets[:, :1]]).transpose(0, 2, 1))
    volumes = 1.0 / (6.0 * np.linalg.det(inverse))
    held = rest[:, 0] == 0.0

    def acceleration(x, v):
        F = (x[tets[:, 1:]] - x[tets[:, :1]]).transpose(0, 2, 1) @ inverse
        E = 0.5 * (F.transpose(0, 2, 1) @ F - np.eye(3))
        stress = F @ (2.0 * mu * E + lam * np.trace(E, axis1=1, axis2=2)[:, None, None] * np.eye(3))
        corner = -volumes[:, None, None] * (stress @ inverse.transpose(0, 2, 1)).transpose(0, 2, 1)
        force = np.zeros_like(x)
        np.add.at(force, tets[:, 1:], corner)
        np.add.at(force, tets[:, 0], -corner.sum(axis=1))
        found = GRAVITY + force / masses[:, None]
        found[held] = 0.0
        return found

    return scene, acceleration


def oscillator(stiffness=100.0, mass=2.0, damping=0.0, gravity=(0.0, 0.0, 0.0)):
    """Masses on springs of length 0 to the origin, which are linear: x'' = -stiffness/mass x."""
    scene = pdgpu.Scene(gravity=gravity)
    points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    rod = scene.add_rod(pdgpu.Mesh(points, edges=[[0, 1]]), pdgpu.Spring(0.0), density=2.0 * mass, damping=damping)
    if stiffness:
        rod.attach([0, 1], np.zeros((2, 3)), stiffness=stiffness)
    return scene
