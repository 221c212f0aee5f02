"""The forces of contact, against statics and against the gradient."""

import numpy as np
import pytest

import pdgpu


def cube(scene, low, cells=2, size=1.0, young=1e5, **options):
    mesh = pdgpu.shapes.beam((size,) * 3, cells=(cells,) * 3)
    points = mesh.points + np.asarray(low, float)
    return scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), pdgpu.NeoHookean.from_young(young, 0.3), density=1000.0, **options)


def at_rest(scene, contact, **options):
    """Long steps of implicit Euler take all motion away."""
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=300, tolerance=1e-12), dt=10.0, contact=contact, **options)
    sim.step(40)
    return sim


@pytest.mark.parametrize("area_weighted", [True, False])
@pytest.mark.parametrize(
    "floor",
    [
        pdgpu.Plane((0, 0, 0), (0, 1, 0)),
        pdgpu.Box((4, 1, 4), (0.5, -0.5, 0.5)),
        pdgpu.TriangleMesh(
            pdgpu.Mesh(pdgpu.shapes.box((4.0, 1.0, 4.0)).points - [1.5, 1.0, 1.5], triangles=pdgpu.shapes.box((4.0, 1.0, 4.0)).triangles)
        ),
    ],
    ids=["plane", "box", "mesh"],
)
def test_a_floor_carries_the_weight(floor, area_weighted):
    """If not, a force that somebody reads off a contact is not the one that acts."""
    scene = pdgpu.Scene()
    body = cube(scene, (0.0, 0.02, 0.0), name="cube")
    scene.add_obstacle(floor, name="floor")
    sim = at_rest(scene, pdgpu.BarrierContact(0.05, area_weighted=area_weighted))
    found = sim.contact_forces()
    weight = 9.81 * sim.masses.sum()
    vertical = np.where(found.bodies[:, 0] == 0, 1.0, -1.0) * found.normal_force * found.normal[:, 1]
    assert vertical.sum() == pytest.approx(weight, rel=1e-6)
    assert found.forces.sum(axis=0) == pytest.approx([0.0, weight, 0.0], rel=1e-6, abs=1e-6 * weight)
    assert (found.normal_force >= 0.0).all() and not found.friction_force.any() and not found.slip.any()
    assert found.names == ("cube", "floor") and len(found.of("cube", "floor")) == len(found)
    assert np.abs(np.linalg.norm(found.points[:, 0] - found.points[:, 1], axis=1) - found.distance).max() < 1e-12
    bottom = body.points[:, 1] < 0.03
    areas = np.bincount(body.mesh.surface.ravel(), minlength=len(bottom))
    assert np.isnan(found.pressure[areas == 0]).all() and (found.pressure[bottom] > 0.0).all()
    assert found.pressure[~bottom & (areas > 0)].max() == 0.0


def test_forces_are_the_gradient_of_the_contact_potential():
    """If not, what is reported is not what the solver felt: rods, particles, solids, a sphere and a capsule in one heap."""
    scene = pdgpu.Scene()
    cube(scene, (0.0, 0.05, 0.0))
    cube(scene, (0.2, 1.1, 0.1), cells=1)
    rod = pdgpu.Mesh(np.array([[1.7, 0.3, 0.0], [1.7, 0.3, 1.0], [1.7, 0.3, 2.0]]), edges=[[0, 1], [1, 2]])
    scene.add_rod(rod, pdgpu.Spring(1e3), density=0.5)
    scene.add_particles(np.array([[0.5, 2.15, 0.5], [0.5, 2.18, 0.52], [1.7, 0.34, 0.5]]), mass=1.0)
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    scene.add_obstacle(pdgpu.Sphere((1.7, 0.1, 0.5), 0.15))
    scene.add_obstacle(pdgpu.Capsule((-1.0, -0.2, 0.5), (2.0, -0.2, 0.5), 0.19))
    contact = pdgpu.BarrierContact(0.03, stiffness=1e4)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=60, tolerance=1e-6), dt=1 / 60, contact=contact)
    free = pdgpu.Simulation(scene, pdgpu.Newton(), dt=1 / 60)
    for _ in range(15):
        sim.step()
    found = sim.contact_forces()
    free.set_state(positions=sim.positions, velocities=sim.velocities)
    forces = -(sim.gradient() - free.gradient())
    assert {"vertex-vertex", "vertex-edge", "vertex-triangle", "edge-edge", "vertex-collider"} == set(found.kind)
    assert np.abs(found.forces - forces).max() <= 1e-9 * np.abs(forces).max()
    assert sim.energies()["contact"] > 0.0 and free.energies()["contact"] == 0.0
    one = found[3]
    assert len(one) == 1 and one.normal_force.shape == (1,)


def test_without_contact_there_are_no_forces():
    scene = pdgpu.Scene()
    cube(scene, (0.0, 0.05, 0.0))
    with pytest.raises(ValueError, match="contact: this simulation has none"):
        pdgpu.Simulation(scene, pdgpu.Newton()).contact_forces()
