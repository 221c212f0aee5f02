"""Scenes of contact_scenes.py brought near to rest, and one step from there: a minimum that every solver should find."""

import dataclasses
import functools

import numpy as np
from contact_scenes import SCENES, ball, plate, solid
from inputs import data_file

import pdgpu


@dataclasses.dataclass(frozen=True)
class Resting:
    """`positions`: at which the step begins, with no velocity. `size`: m, of the scene."""

    scene: pdgpu.Scene
    contact: pdgpu.BarrierContact
    positions: np.ndarray
    dt: float

    @property
    def size(self):
        return np.ptp(self.positions, axis=0).max()

    def simulation(self, solver, **others):
        sim = pdgpu.Simulation(self.scene, solver, dt=self.dt, contact=self.contact, **others)
        sim.set_state(positions=self.positions, velocities=np.zeros_like(self.positions))
        return sim


def projective(case, time=0.0, *, moving=False):
    """The scene with materials that Projective Dynamics takes; unless `moving`, everything is held where scripts have it at a time."""
    scene = pdgpu.Scene(case.scene.gravity)
    for body in case.scene.bodies:
        others = dict(velocity=body.velocity, damping=body.damping, name=body.name, thickness=body.thickness)
        if body.type == "particles":
            scene.add_particles(body.points, mass=body.masses, **others)
            continue
        materials = [as_rigid_as_possible(material) for material in body.materials]
        copy = getattr(scene, f"add_{body.type}")(body.mesh, materials, density=body.density, **others)
        for indices, motion in body.pins:
            copy.pin(indices, motion=motion if moving or motion is None else (lambda _, rest, motion=motion: motion(time, rest)))
    for obstacle in case.scene.obstacles:
        collider = obstacle.collider
        if moving and isinstance(collider, pdgpu.TriangleMesh):
            mesh = pdgpu.Mesh(collider.mesh.points, triangles=collider.triangles)
            scene.add_obstacle(mesh, name=obstacle.name, motion=collider.motion)
        elif moving:
            scene.add_obstacle(dataclasses.replace(collider, motion=None), name=obstacle.name, motion=collider.motion)
        elif isinstance(collider, pdgpu.TriangleMesh):
            points = collider.mesh.points
            points = points if collider.motion is None else collider.motion(time, points)
            scene.add_obstacle(pdgpu.Mesh(points, triangles=collider.triangles), name=obstacle.name)
        elif collider.motion is None:
            scene.add_obstacle(collider, name=obstacle.name)
        else:
            rotation, translation = collider.motion(time)
            centre = rotation @ np.asarray(collider.centre) + translation
            scene.add_obstacle(dataclasses.replace(collider, motion=None, centre=tuple(centre)), name=obstacle.name)
    return dataclasses.replace(case, scene=scene)


def as_rigid_as_possible(material):
    if not isinstance(material, pdgpu.NeoHookean):
        return material
    return pdgpu.ARAP.from_young(young=material.constant("young", 1)[0], poisson=0.4)


def bunny():
    """A real one, 0.2 m high."""
    mesh = pdgpu.read_mesh(data_file("tet/libuipc_bunny0.msh"))
    return pdgpu.Mesh(mesh.points * (0.2 / np.ptp(mesh.points[:, 1])), tets=mesh.tets)


def pressed(mesh, dt):
    """A body between two plates that begin a quarter of the activation distance away from it."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    solid(scene, mesh)
    low, high = mesh.points[:, 1].min(), mesh.points[:, 1].max()
    scene.add_obstacle(plate(0.3, 0.02, low - 0.02 - 1e-4), name="lower")
    scene.add_obstacle(plate(0.3, 0.02, high + 1e-4), name="upper")
    return Resting(projective(_case(scene)).scene, pdgpu.BarrierContact(4e-4, stiffness=1e5), mesh.points, dt)


def _case(scene):
    return dataclasses.replace(SCENES["cube on floor"](False), scene=scene)


@functools.cache
def resting(name, dt=1 / 100):
    """After the steps of the scene its velocities are taken away before each of some more."""
    if name.startswith("squeezed"):
        return pressed(bunny() if name == "squeezed bunny" else ball(0.1, 2, 2), dt)
    case = SCENES[name](False)
    newton = pdgpu.Newton(iterations=200, tolerance=1e-6)
    sim = pdgpu.Simulation(case.scene, newton, dt=case.dt, contact=case.contact)
    sim.step(case.steps)
    still = projective(case, sim.time)
    at = Resting(still.scene, case.contact, sim.positions, dt)
    sim = dataclasses.replace(at, dt=case.dt).simulation(newton)
    for _ in range(40):
        sim.set_state(velocities=np.zeros_like(at.positions))
        sim.step()
    return dataclasses.replace(at, positions=sim.positions)
