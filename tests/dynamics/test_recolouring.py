"""Colours that count what touches."""

import numpy as np
import pytest

import pdgpu


def pile(iterations=400, threads=1):
    """Two cubes on a plane, one on the other, with friction."""
    scene, mesh = pdgpu.Scene((0.0, 0.0, -10.0)), pdgpu.shapes.beam((0.1,) * 3, (2, 2, 2))
    for i in range(2):
        points = mesh.points + [0.03 * i, 0.02 * i, 0.0016 + 0.1016 * i]
        scene.add_solid(
            pdgpu.Mesh(points, tets=mesh.tets), pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000.0, velocity=(0.2, 0.0, -0.1)
        )
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    contact = pdgpu.PenaltyContact(2e-3, stiffness=1e4, detection_interval=0, friction=0.5, friction_velocity=0.05)
    return pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=iterations), dt=0.01, contact=contact, threads=threads)


def together(sim, rows):
    """How many pairs of vertices of bodies that touch have one colour."""
    n, colours, count = len(sim.positions), sim._core.colours, 0
    for row in rows:
        own = np.unique(row[(row >= 0) & (row < n)])
        count += len(own) - len(np.unique(colours[own]))
    return count


def test_no_two_that_touch_have_one_colour():
    """And the copy goes on from the same state with the same contact, to the same minimum by another way."""
    sim = pile()
    sim.step(2)
    rows = sim.contact_forces().vertices
    copy = sim.recoloured(rows)
    assert together(sim, rows) > 0 == together(copy, rows)
    np.testing.assert_array_equal(copy.positions, sim.positions)
    np.testing.assert_array_equal(copy.velocities, sim.velocities)
    assert copy.time == sim.time and copy.contact == sim.contact
    for each in (sim, copy):
        each.step()
    assert np.abs(copy.positions - sim.positions).max() < 1e-8
    assert not np.array_equal(copy.positions, sim.positions)


def test_bits():
    """The same for any number of threads; without pairs the same as the simulation itself."""
    ends = []
    for threads in (1, 2):
        sim = pile(8, threads)
        sim.step(2)
        copy, same = sim.recoloured(sim.contact_forces().vertices), sim.recoloured(np.zeros((0, 4), np.int32))
        for each in (sim, copy, same):
            each.step()
        np.testing.assert_array_equal(same.positions, sim.positions)
        ends.append(copy.positions)
    np.testing.assert_array_equal(*ends)


def test_refusals():
    sim = pile(2)
    with pytest.raises(ValueError, match=r"pairs: expected whole numbers of shape \(k, m\), got float64 of shape \(2, 2\)"):
        sim.recoloured(np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"of shape \(3,\)"):
        sim.recoloured([1, 2, 3])
    scene = pdgpu.Scene()
    scene.add_particles([[0.0, 0.0, 0.0]], mass=1.0)
    with pytest.raises(TypeError, match="Newton has no colours"):
        pdgpu.Simulation(scene, pdgpu.Newton(), dt=0.01).recoloured([[0, 1]])
