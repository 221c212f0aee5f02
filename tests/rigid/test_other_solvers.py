"""Methods other than Newton's on rigid bodies: steps end where nothing is left to do, and a gripper lifts."""

import numpy as np
import pytest
from rigid_scenes import ball, box, rack

import pdgpu

SOLVERS = {
    "QuasiNewton": pdgpu.QuasiNewton(iterations=500, tolerance=1e-6),
    "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=500, tolerance=1e-6),
    "BlockJacobi": pdgpu.BlockJacobi(iterations=500, tolerance=1e-6),
    "GradientDescent": pdgpu.GradientDescent(iterations=500, tolerance=1e-6),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_a_step_of_free_bodies_ends_at_rounding(name):
    """The first guess is the answer; its gradient is rounding, which no solver reduces. If not, each step of free flight takes all
    iterations: poses that change in the last bit never stop moving points.
    """
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    for k in range(3):
        scene.add_rigid(ball(0.03, (0.2 * k, 0.0, 0.0)), density=1700.0, velocity=(0.1 * k, 0.2, 0.0), spin=(3.0, 5.0, 7.0 * k))
    sim = pdgpu.Simulation(scene, SOLVERS[name], dt=1e-3, contact=pdgpu.BarrierContact(2e-3, stiffness=1e6))
    for _ in range(40):
        sim.step()
        assert sim.last_step.status == "converged" and sim.last_step.iteration < 20


@pytest.mark.parametrize("name", ["QuasiNewton", "VertexBlockDescent"])
def test_a_break_takes_few_iterations(name):
    """Seven balls, 70 steps: Newton's method takes 56 iterations."""
    sim = pdgpu.Simulation(rack(2e-3), SOLVERS[name], dt=1e-3, contact=pdgpu.BarrierContact(2e-3, stiffness=1e6))
    iterations = 0
    for _ in range(70):
        sim.step()
        iterations += sim.last_step.iteration
        assert sim.last_step.status == "converged"
    assert iterations < 500


@pytest.mark.parametrize("name", [*list(SOLVERS)[:2], *(pytest.param(name, marks=pytest.mark.stress) for name in list(SOLVERS)[2:])])
def test_a_gripper_lifts_a_box(name):
    """Two plates close on a box and rise by 4 cm, friction 0.5. Block Jacobi and gradient descent need more than 100 iterations a step."""
    scene, gap = pdgpu.Scene(), 1e-3
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    scene.add_rigid(box((0.1, 0.1, 0.1), (0.0, 0.05 + gap, 0.0)), density=1000.0)
    for side in (-1.0, 1.0):

        def motion(time, side=side):
            return np.eye(3), np.array([-side * min(0.05 * time, 0.0022), 0.1 * max(0.0, time - 0.2), 0.0])

        scene.add_obstacle(pdgpu.Box(size=(0.02, 0.06, 0.06), centre=(side * (0.062 + gap), 0.06, 0.0)), motion=motion)
    sim = pdgpu.Simulation(scene, SOLVERS[name], dt=0.01, contact=pdgpu.BarrierContact(gap, stiffness=1e6, friction=0.5))
    sim.step(60)
    assert sim.rigid.centres[0, 1] - 0.05 - gap == pytest.approx(0.04, abs=5e-4)
