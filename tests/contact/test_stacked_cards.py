"""Three cards without friction on a plane, under a penalty."""

import numpy as np
import pytest

import pdgpu


def cards(solver, friction=0.0):
    """The cards after half a second: how far the centre of the stack has gone sideways, and the farthest card, m."""
    scene, grid = pdgpu.Scene(), pdgpu.shapes.grid((0.09, 0.06), cells=(8, 8))
    for k in range(3):
        points = grid.points[:, [0, 2, 1]] + [0.002 * k, 2e-3 * (k + 0.6), 0.0014 * k]
        scene.add_shell(pdgpu.Mesh(points, triangles=grid.triangles), pdgpu.ARAP(200.0), density=0.3, bending=1e-3)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    sim = pdgpu.Simulation(scene, solver, dt=0.01, contact=pdgpu.PenaltyContact(2e-3, stiffness=100.0, friction=friction), threads=1)
    start = sim.positions
    sim.step(50)
    moves = np.array([(sim.positions - start)[body.slice].mean(axis=0)[[0, 2]] for body in sim.bodies])
    return np.linalg.norm(moves.mean(axis=0)), np.linalg.norm(moves, axis=1).max()


@pytest.mark.slow
def test_the_centre_of_a_stack_stays():
    """If not, a penalty pushes a stack to the side, although a plane exerts no such force."""
    centre, farthest = cards(pdgpu.Newton(iterations=60, tolerance=1e-8))
    assert centre < 2e-6 and farthest < 1e-3


def test_friction_holds_the_cards():
    """If not, cards creep although friction is larger than any force to the side."""
    centre, farthest = cards(pdgpu.VertexBlockDescent(iterations=20), friction=0.1)
    assert centre < 1e-4 and farthest < 2e-4
