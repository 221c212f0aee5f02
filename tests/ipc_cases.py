"""Small scenes with contacts that a step of pdgpu and one of Incremental Potential Contact are compared on; all obstacles are meshes."""

from contact_scenes import ContactCase, cloth, cube, moved, sheet, solid, turned

import pdgpu
from pdgpu import shapes


def cube_on_cube():
    """One falls with an edge across the other, which is held from below."""
    scene = pdgpu.Scene()
    lower = cube(0.1, 2, (0.0, -0.05, 0.0))
    solid(scene, lower, 1e5).pin(lower.points[:, 1] < -0.0999)
    upper = turned(cube(0.08, 2, (0.0, 0.0, 0.0)), (1.0, 0.0, 0.2), 0.7)
    solid(scene, moved(upper, [0.004, 0.002 - upper.points[:, 1].min(), 0.003]), 2e5, velocity=(0.1, -1.0, 0.0))
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(2e-3, stiffness=1e5, weighting="sum"), steps=5)


def cloth_on_box():
    """A cloth falls on an edge of a box, which is turned a little."""
    scene = pdgpu.Scene()
    cloth(scene, sheet(0.3, 0.3, 8, 0.002), cells=8, velocity=(0.0, -0.5, 0.0))
    box = turned(moved(shapes.box((0.12, 0.1, 0.1)), [-0.06, -0.05, -0.05]), (1.0, 0.0, 0.03), 0.7)
    scene.add_obstacle(moved(box, [0.0, -box.points[:, 1].max(), 0.0]), name="box")
    return ContactCase(scene=scene, contact=pdgpu.BarrierContact(2e-3, stiffness=1e4, weighting="sum"), dt=1 / 200, steps=5)


def cube_on_cloth():
    """A cube falls on a cloth held by its corners; pairs without areas, and a thickness."""
    scene = pdgpu.Scene()
    mesh = sheet(0.3, 0.3, 6)
    cloth(scene, mesh, cells=6).pin([0, 6, 42, 48])
    upper = cube(0.06, 1, (0.012, 0.036, 0.007))
    solid(scene, upper, 1e5, velocity=(0.0, -1.0, 0.0))
    contact = pdgpu.BarrierContact(2e-3, stiffness=1e9, separation=1e-3, area_weighted=False, weighting="sum")
    return ContactCase(scene=scene, contact=contact, steps=5)


CASES = {"cube on cube": cube_on_cube, "cloth on box": cloth_on_box, "cube on cloth": cube_on_cloth}
