"""Sweeps over vertices of cloth and rods: triangles and springs in groups of lanes, flat hinges and straight rods as sums over neighbours.

A sweep with a line search takes every corner by the functions of its element, and one without by the groups: where no step is cut the
two are the same sweep. Elements that are bent at rest stay corners."""

import numpy as np
import pytest

import pdgpu

GRID = pdgpu.shapes.grid((1.0, 0.7), (5, 4))


def body(name, damping=0.0):
    """Scene and points."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    if name == "rod":
        chain = pdgpu.shapes.chain(9, 0.5)
        rod = scene.add_rod(chain, pdgpu.Spring(200.0), density=0.1, bending=1e-3, damping=damping)
    elif name == "bent rod":
        chain = pdgpu.shapes.chain(9, 0.5)
        chain = pdgpu.Mesh(chain.points + np.sin(20 * chain.points[:, :1]) * [0.0, 0.02, 0.0], edges=chain.edges)
        rod = scene.add_rod(chain, pdgpu.Spring(200.0), density=0.1, bending=1e-3, damping=damping)
    elif name == "springs":
        rod = scene.add_shell(GRID, pdgpu.Spring(40.0), density=0.3, damping=damping)
    elif name == "bowl":
        bowl = pdgpu.Mesh(GRID.points + (GRID.points**2).sum(1)[:, None] * [0.0, 0.0, 0.3], triangles=GRID.triangles)
        rod = scene.add_shell(bowl, pdgpu.StVK(100.0, 200.0), density=0.3, bending=1e-2, damping=damping)
    else:
        rod = scene.add_shell(GRID, pdgpu.StVK(100.0, 200.0), density=0.3, bending=1e-2, damping=damping)
    rod.pin([0, 3])
    return scene, rod.points


def starts(points):
    """Drawn out, pressed together, and with two vertices in one place, where a spring has no direction."""
    rng = np.random.default_rng(7)
    noise = 0.01 * rng.normal(size=points.shape)
    together = points + noise
    together[5] = together[6]
    return {"drawn": 1.2 * points + noise, "pressed": 0.9 * points + noise, "together": together}


def swept(scene, start, line_search, dtype="float64"):
    solver = pdgpu.VertexBlockDescent(iterations=3, line_search=line_search, initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=1 / 200, dtype=dtype)
    sim.set_state(positions=start, velocities=0.3 * np.cos(np.arange(start.size)).reshape(start.shape))
    sim.step()
    return sim.positions


@pytest.mark.parametrize("damping", [0.0, 0.02])
@pytest.mark.parametrize("name", ["stvk", "springs", "bowl", "rod", "bent rod"])
def test_groups_are_their_corners(name, damping):
    """If it failed, the short form of a triangle, a spring or a hinge would have another gradient or another block."""
    scene, points = body(name, damping)
    for state, start in starts(points).items():
        one, other = swept(scene, start, False), swept(scene, start, True)
        assert np.abs(one - start).max() > 1e-4  # they move
        np.testing.assert_allclose(one, other, atol=1e-13, err_msg=state)
        rounded = swept(scene, start, False, "float32")
        np.testing.assert_allclose(rounded, other, atol=2e-6, err_msg=state)


def test_a_vertex_of_a_cloth_takes_newtons_step():
    """If it failed, the block of a StVK triangle in tension, or what a flat hinge adds to it, would not be the second derivative."""
    scene, points = body("stvk")
    centre = int(np.linalg.norm(points - points.mean(axis=0), axis=1).argmin())
    scene.bodies[0].pin(np.delete(np.arange(len(points)), centre))
    start = 1.3 * points
    start[centre] += (0.01, -0.008, 0.004)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=1, initialization="previous"), dt=1 / 30)
    sim.set_state(positions=start)
    gradient, H = sim.gradient(start)[centre], np.empty((3, 3))
    for c in range(3):
        move = np.zeros_like(start)
        move[centre, c] = 1e-6
        H[:, c] = (sim.gradient(start + move)[centre] - sim.gradient(start - move)[centre]) / 2e-6
    sim.step()
    np.testing.assert_allclose(start[centre] - sim.positions[centre], np.linalg.solve(H, gradient), rtol=1e-6)
