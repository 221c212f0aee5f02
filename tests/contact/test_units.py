"""Contact in several units of length and time: a change of units by a power of four changes no digit."""

import numpy as np
import pytest

import pdgpu
from pdgpu import shapes

SOLVERS = {
    "vbd": (lambda: pdgpu.VertexBlockDescent(iterations=20), lambda p: pdgpu.NeoHookean(1e4 * p, 4e4 * p)),
    "newton": (lambda: pdgpu.Newton(iterations=20), lambda p: pdgpu.StVK(1e4 * p, 4e4 * p)),
    "pd": (lambda: pdgpu.ProjectiveDynamics(iterations=20), lambda p: pdgpu.ARAP(1e4 * p)),
}
UNITS = [
    pytest.param({"metre": 1024.0}, id="millimetres"),  # a move in an iteration is longer than 1
    pytest.param({"metre": 2.0**-16}, id="tens of kilometres"),  # the normal of a plane is far longer than the bodies
    pytest.param({"second": 1024.0, "density": 1 / 1024}, id="milliseconds"),
]


def contact(name, metre, pascal, second):
    friction = {"friction": 0.3, "friction_velocity": 1e-3 * metre / second}
    if name == "penalty":
        return pdgpu.PenaltyContact(0.01 * metre, stiffness=1e4 * pascal * metre, **friction)
    return pdgpu.BarrierContact(0.01 * metre, stiffness=1e4 * pascal, **friction)


def run(solver, name, dtype="float64", steps=3, metre=1.0, second=1.0, density=1.0):
    """Three blocks that fall on each other and on a plane: their positions after each step, m."""
    make, material = SOLVERS[solver]
    pascal, jitter = density * (metre / second) ** 2, np.random.default_rng(3)
    block = shapes.beam((0.2, 0.2, 0.2), (3, 3, 3))
    scene = pdgpu.Scene(gravity=(0, -9.8125 * metre / second**2, 0))
    for k, (height, speed) in enumerate(((0.0, 0.0), (0.215, 3.0), (0.43, 3.0))):
        points = block.points * (1 + 1e-3 * jitter.standard_normal(block.points.shape)) + (0.02 * k, height, 0.03 * k)
        mesh = pdgpu.Mesh(metre * points, tets=block.tets)
        scene.add_solid(mesh, material(pascal), density=1000.0 * density, velocity=(0, -speed * metre / second, 0))
    scene.add_obstacle(pdgpu.Plane((0, -0.02 * metre, 0), (0, 1, 0)))
    sim = pdgpu.Simulation(scene, make(), dt=second / 64, contact=contact(name, metre, pascal, second), dtype=dtype)
    states = []
    for _ in range(steps):
        sim.step()
        states.append(sim.positions / metre)
    return np.array(states)


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("solver, name", [("vbd", "barrier"), ("vbd", "penalty"), ("newton", "barrier"), ("pd", "barrier")])
def test_a_change_of_units_changes_no_digit(solver, name, units):
    """If not, a constant of contact is a length or a time, and a scene in millimetres has other contacts than in metres."""
    np.testing.assert_array_equal(run(solver, name, **units), run(solver, name))


def test_small_scenes_move_in_float32():
    """If not, the normal of a plane counts as a length of 1, and its rounding leaves bodies of micrometres no room to move."""
    small, large = (run("vbd", "barrier", "float32", 1, metre=metre) for metre in (2.0**-16, 1.0))
    np.testing.assert_allclose(small, large, rtol=0, atol=1e-6)
