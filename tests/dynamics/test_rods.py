"""Rods that bend: against a beam, and the same answer of every minimiser."""

import numpy as np
import pytest

import pdgpu


def beam(n, length=0.5, stiffness=20.0, density=0.02, spring=1e5):
    """A level rod on two supports: (scene, what its middle sinks by for small bends)."""
    scene = pdgpu.Scene((0.0, -9.81, 0.0))
    rod = scene.add_rod(pdgpu.shapes.chain(n, length), pdgpu.Spring(spring), density=density, bending=stiffness)
    rod.pin([0, n])
    return scene, 5.0 * density * 9.81 * length**4 / (384.0 * stiffness)


def test_a_beam_sinks_as_euler_and_bernoulli_say():
    """If it failed, the stiffness of a rod would depend on how finely it is cut, or not be what a book of tables has."""
    errors = []
    for n in (8, 16, 32):
        scene, sinks = beam(n)
        sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=30, tolerance=1e-12), dt=None)
        sim.step(3)
        errors.append(abs(-sim.positions[n // 2, 1] / sinks - 1.0))
    assert errors[2] < 2e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1) and errors[1] / errors[2] == pytest.approx(4.0, rel=0.1)


def test_two_pinned_vertices_clamp_a_rod_half_an_edge_before_the_second():
    """The deflection of a cantilever is F l^3 / 3 k_b, with l from the middle of the pinned edge."""
    length, stiffness, force = 1.0, 1.0, 1e-3
    for n in (10, 20):
        edge = length / n
        scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
        rod = scene.add_rod(pdgpu.shapes.chain(n + 1, length + edge), pdgpu.Spring(1e6), density=1.0, bending=stiffness)
        rod.pin([0, 1])
        sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=100, tolerance=1e-12), dt=None)
        loads = np.zeros((n + 2, 3))
        loads[-1, 1] = -force
        sim.external_forces = loads
        sim.step()
        sunk = rod.points[-1, 1] - sim.positions[-1, 1]
        assert sunk == pytest.approx(force * (length + 0.5 * edge) ** 3 / (3.0 * stiffness), rel=3e-3)
        assert sunk > 1.03 * force * length**3 / (3.0 * stiffness)


def test_every_minimiser_bends_it_alike():
    """If it failed, a solver would have another rod."""
    found = {}
    solvers = {
        "Newton": pdgpu.Newton(iterations=60, tolerance=1e-12),
        "VBD": pdgpu.VertexBlockDescent(iterations=3000, tolerance=1e-12),
        "PD": pdgpu.ProjectiveDynamics(iterations=3000, tolerance=1e-12),
        "nonlinear CG": pdgpu.NonlinearCG(iterations=3000, tolerance=1e-12),
        "quasi-Newton": pdgpu.QuasiNewton(iterations=1000, tolerance=1e-12),
    }
    for name, solver in solvers.items():
        scene, _ = beam(6, stiffness=0.05, spring=500.0)
        scene.bodies[0].velocity[1:-1] = [0.0, -3.0, 1.0]
        sim = pdgpu.Simulation(scene, solver, dt=1 / 100)
        sim.step()
        found[name] = sim.positions
    for name, x in found.items():
        assert np.abs(x - found["Newton"]).max() < 1e-8, name
    assert np.abs(found["Newton"][:, 1]).max() > 1e-3


def test_joints_of_a_mesh():
    """If it failed, a branch or a ring would bend freely somewhere."""
    chain = pdgpu.shapes.chain(3)
    assert chain.joints.tolist() == [[1, 0, 2], [2, 1, 3]]
    points = np.random.default_rng(0).normal(size=(5, 3))
    star = pdgpu.Mesh(points, edges=[[0, 2], [2, 1], [3, 2], [2, 0]])
    assert star.joints.tolist() == [[2, 0, 1], [2, 0, 3], [2, 1, 3]]
    ring = pdgpu.Mesh(points, edges=[[0, 1], [1, 2], [2, 0], [3, 4]])
    assert ring.joints.tolist() == [[0, 1, 2], [1, 0, 2], [2, 0, 1]]
    scene = pdgpu.Scene()
    with pytest.raises(TypeError, match="RodBending cannot be given to a shell"):
        scene.add_shell(pdgpu.shapes.grid((1, 1), cells=(1, 1)), pdgpu.RodBending(1.0), density=1.0)
    with pytest.raises(ValueError, match=r"RodBending\.stiffness"):
        scene.add_rod(chain, pdgpu.Spring(1.0), density=1.0, bending=[1.0, 2.0, 3.0])
