"""What falls on a closed surface under a penalty stays on it, wherever it lands and however deep a first guess has it."""

import numpy as np
import pytest

import pdgpu

LOAD = pdgpu.PenaltyContact(1e-3, stiffness=1e5, detection_interval=1, friction=0.8, friction_velocity=1e-3)


def turn(angle):
    return np.array([[np.cos(angle), 0.0, -np.sin(angle)], [0.0, 1.0, 0.0], [np.sin(angle), 0.0, np.cos(angle)]])


def plate(cells):
    """A plate of 1 x 1 x 0.1 m: of twelve triangles, or of as many squares."""
    if cells == 1:
        return pdgpu.shapes.box((1.0, 1.0, 0.1))
    beam = pdgpu.shapes.beam((1.0, 1.0, 0.1), (cells, cells, 2))
    used, triangles = np.unique(beam.surface, return_inverse=True)
    return pdgpu.Mesh(beam.points[used], triangles=triangles.reshape(-1, 3))


@pytest.mark.each_choice
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("cells", [1, 40])
@pytest.mark.parametrize("interval", [0, 1, 10])
@pytest.mark.parametrize("speed", [(0.0, 0.0, 0.0), (0.0, 0.0, 0.2), (0.1, -0.05, 0.2), (0.0, 0.0, -0.2)])
def test_grains_stay_on_a_plate(dtype, cells, interval, speed):
    """At 0.6 to 1.2 m/s, six to twelve times the thickness in a step, flat and at 0.5 rad, where friction holds them. If not, a vertex that
    ends a step a little inside or just on the surface is lost in the next, or slides on a normal that is not that of the plate."""
    rng = np.random.default_rng(1)
    mesh, speed = plate(cells), np.array(speed)
    for angle in (0.0, 0.5):
        R = turn(angle)
        start = np.column_stack([rng.uniform(0.3, 0.7, (200, 2)), rng.uniform(0.102, 0.16, 200)])
        scene = pdgpu.Scene((0.0, 0.0, -10.0))
        scene.add_particles(start @ R, mass=2.0, name="grains")
        moved = pdgpu.Mesh(mesh.points @ R, triangles=mesh.triangles)
        motion = (lambda time, rest: rest + speed * time) if speed.any() else None
        scene.add_obstacle(pdgpu.TriangleMesh(moved, motion=motion), name="plate")
        contact = pdgpu.PenaltyContact(1e-3, stiffness=1e5, detection_interval=interval, friction=0.8, friction_velocity=1e-3)
        sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=20), dt=0.01, contact=contact, dtype=dtype)
        sim.step(25)
        above = ((sim.positions - speed * sim.time) @ R.T)[:, 2] - 0.1
        # a weight sinks in by m g/k = 0.2 mm; what has just come down is on its way back from as deep as its impact took it
        assert above.min() > 0.0 and above.max() < 2e-3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("solver", [pdgpu.VertexBlockDescent(iterations=40), pdgpu.Newton(iterations=20)], ids=["vbd", "newton"])
def test_a_vertex_that_begins_inside_is_pushed_out_from_beyond_the_depth(dtype, solver):
    """Where m (x - x^)/h^2 = k (thickness - x): x^ = -20.19 mm, ten times as deep as is looked. If not, it falls through."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    scene.add_particles([[0.458, 0.391, 0.1 - 1.9e-4]], mass=2.0, name="grain")
    scene.add_obstacle(pdgpu.TriangleMesh(plate(40)), name="plate")
    sim = pdgpu.Simulation(scene, solver, dt=0.01, contact=LOAD, dtype=dtype)
    sim.set_state(velocities=[[0.0, 0.0, -2.0]])
    sim.step()
    expected = (2e4 * -0.02019 + 1e5 * 1e-3) / 1.2e5
    np.testing.assert_allclose(sim.positions[0, 2] - 0.1, expected, rtol=1e-9 if dtype == "float64" else 1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_jumps_out_of_a_thin_plate_is_not_pulled_back_through_it(dtype):
    """From 0.2 mm below the upper side, 0.8 mm above the lower, ten times the depth upwards. If not, the farther side would count."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    scene.add_particles([[0.458, 0.391, 0.8e-3]], mass=2.0, name="grain")
    scene.add_obstacle(pdgpu.TriangleMesh(pdgpu.shapes.box((1.0, 1.0, 1e-3))), name="sheet")
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=20), dt=0.01, contact=LOAD, dtype=dtype)
    sim.set_state(velocities=[[0.0, 0.0, 2.0]])
    sim.step()
    assert sim.positions[0, 2] == pytest.approx(0.0208, rel=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_beside_an_edge_the_normal_is_that_of_the_triangle_beneath(dtype):
    """Half a millimetre beside the diagonal of a square of one metre, 0.5 mm above it: half a thickness, straight up. If not, in float32
    two triangles that have an edge would be told apart by weights, within millimetres of it, and the wrong one pushes sideways."""
    for aside in (-5e-4, 5e-4):
        scene = pdgpu.Scene((0.0, 0.0, 0.0))
        scene.add_particles([[0.5 + aside, 0.5, 0.1005]], mass=2.0, name="grain")
        scene.add_obstacle(pdgpu.TriangleMesh(plate(1)), name="plate")
        sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=1), dt=1e-5, contact=LOAD, dtype=dtype)
        sim.step()
        forces = sim.contact_forces()
        assert len(forces.normal_force) == 1
        np.testing.assert_allclose(sim.velocities[0] / np.linalg.norm(sim.velocities[0]), [0.0, 0.0, 1.0], atol=1e-5)
