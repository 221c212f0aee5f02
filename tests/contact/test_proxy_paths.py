"""Proxies and the grid of a signed distance: what is known outside of it, and what a path that leaves it is told."""

import numpy as np
import pytest

import pdgpu


def ground(spacing=0.05, size=(0.5, 0.5), depth=0.2, above=0.2, motion=None):
    """A piece of the half space below y = 0, as its distance on a grid from (0, -depth, 0)."""
    axes = [np.arange(round(length / spacing) + 1) * spacing for length in (size[0], depth + above, size[1])]
    values = np.broadcast_to((axes[1] - depth)[None, :, None], tuple(map(len, axes)))
    return pdgpu.SignedDistanceField(values, (0.0, -depth, 0.0), spacing, whole=False, motion=motion)


def thrown(obstacle, at, velocity, dtype="float64", detection="iteration", gravity=(0.0, 0.0, 0.0), stiffness=1e3, dt=0.1):
    """Particles that are proxies, all with one velocity."""
    scene = pdgpu.Scene(gravity=gravity)
    scene.add_particles(np.atleast_2d(at), mass=1.0, velocity=velocity, name="grains")
    scene.add_obstacle(obstacle, name="ground")
    contact = pdgpu.ProxyContact(range(len(np.atleast_2d(at))), stiffness=stiffness, detection=detection)
    return pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=3), dt=dt, contact=contact, dtype=dtype)


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("detection", ["iteration", "step"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_path_that_leaves_a_part_of_a_shape_is_an_error_with_the_last_good_state(dtype, detection, moving):
    """If not, a proxy beside the grid falls through the ground without a word. Of two, the second leaves it sideways, 3 cm above the
    ground; or the grid is drawn away below both, and the second is the first to be beside it."""
    field = ground(motion=(lambda time: (np.eye(3), (-time, 0.0, 0.0))) if moving else None)
    sim = thrown(field, [[0.1, 0.1, 0.25], [0.28, 0.03, 0.25]], (0.0, 0.0, 0.0) if moving else (1.0, 0.0, 0.0), dtype, detection)
    words = r"field: proxy 1 at \(\S+, 0\.03, 0\.25\) m is \S+ m outside the grid of obstacle 0 .* last at \(0\.5, 0\.4, 0\.5\) m"
    with pytest.raises(ValueError, match=words):
        for _ in range(20):
            good = sim.positions, sim.velocities, sim.time
            sim.step()
    assert 0.15 < good[2] < 0.45
    np.testing.assert_array_equal(sim.positions, good[0])
    np.testing.assert_array_equal(sim.velocities, good[1])
    assert sim.time == good[2]
    sim.set_state(positions=[[0.1, 0.1, 0.25], [0.1, -0.01, 0.25]], velocities=np.zeros((2, 3)))  # and it goes on from there
    assert sim.proxies().active.tolist() == [False, True]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_springs_of_a_step_that_failed_are_not_reported(dtype):
    """If not, proxies() has the springs of a step whose positions were taken back. The first grain is pushed out of the ground in the first
    step; the second is beside the grid after the second step."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_particles([[0.2, -0.02, 0.25], [0.2, 0.03, 0.25]], mass=1.0, velocity=[[0.0, 0.5, 0.0], [1.0, 0.0, 0.0]])
    scene.add_obstacle(ground(), name="ground")
    solver = pdgpu.ProjectiveDynamics(iterations=3, initialization="previous")  # so that the end is outside, and the guess is not
    sim = pdgpu.Simulation(scene, solver, dt=0.1, contact=pdgpu.ProxyContact([0, 1], stiffness=1e3, detection="step"), dtype=dtype)
    sim.step()
    found = sim.proxies()
    assert found.active.tolist() == [True, False] and found.points[0, 1] > 0
    sim.set_state(velocities=[[0.0, 0.0, 0.0], [9.0, 0.0, 0.0]])
    sim.step()
    found = sim.proxies()
    with pytest.raises(ValueError, match="field: proxy 1 at"):
        sim.gradient()
    with pytest.raises(ValueError, match="field: proxy 1 at"):
        sim.step()
    after = sim.proxies()
    np.testing.assert_array_equal(after.active, found.active)
    np.testing.assert_array_equal(after.targets, found.targets)
    np.testing.assert_array_equal(after.points, found.points)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_outside_a_part_what_its_values_reach_is_known(dtype):
    """If not, a body that falls from above is refused, though the value at the top of the grid says that there is nothing as yet: up to
    0.2 m beside a boundary where the distance is more than that. Beside the ground, or under it, nothing is known."""
    known = [[0.2, 0.39, 0.2], [0.6, 0.15, 0.2], [-0.1, 0.11, 0.2], [0.2, 0.19, 0.65], [0.3, -0.1, 0.1], [0.5, -0.2, 0.5]]
    sim = thrown(ground(), known, (0.0, 0.0, 0.0), dtype)
    assert sim.proxies().active.tolist() == [False] * 4 + [True] * 2
    sim.step()
    for point in ([0.2, 0.41, 0.2], [0.6, 0.09, 0.2], [-0.01, -0.005, 0.2], [0.2, -0.21, 0.2], [9.0, 9.0, 9.0]):
        sim = thrown(ground(), [known[0], point], (0.0, 0.0, 0.0), dtype)
        for ask in (sim.proxies, sim.gradient, sim.energies, sim.step):
            with pytest.raises(ValueError, match=r"field: proxy 1 at .* outside the grid of obstacle 0"):
                ask()
        with pytest.raises(ValueError, match=r"points: .* at 1 is outside the grid of"):
            ground().query([known[0], point])
    found = ground().query(known[:4])
    np.testing.assert_allclose(found.distance, [0.01, 0.05, 0.01, 0.04], rtol=0, atol=1e-12)  # f(q) - |p - q|, below what it is
    slopes = [[0, -1, 0], [-1, 1, 0], [1, 1, 0], [0, 1, -1]]
    np.testing.assert_allclose(found.gradient, slopes, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("moving", [False, True])
def test_outside_a_whole_field_there_is_nothing_however_far(moving, dtype):
    """If not, a weight that comes from far away is refused or held up by nothing, or one that leaves is drawn back: the shape lies in the
    grid. The same path as above a field of the same block with forty times the padding, and the same weight at its end."""
    block = pdgpu.shapes.box((0.4, 0.2, 0.4))
    block = pdgpu.Mesh(block.points - [0.2, 0.2, 0.2], triangles=block.triangles)
    motion = (lambda time: (np.eye(3), (0.05 * np.sin(9.0 * time), 0.0, 0.0))) if moving else None
    ends = []
    for padding in (0.05, 2.0):
        field = pdgpu.SignedDistanceField.from_mesh(block, spacing=0.05, padding=padding, motion=motion)
        at = [[0.03, 0.9, 0.02], [0.6, 0.9, 0.0], [0.27, -0.1, 0.0]]  # onto it, past it, beside it
        sim = thrown(field, at, (0.0, -1.0, 0.0), dtype, gravity=(0.0, -9.81, 0.0), stiffness=5e3, dt=0.01)
        sim.step(120)
        assert sim.proxies().active.tolist() == [True, False, False]
        ends.append(sim.positions)
    assert ends[0][1, 1] < -5.0  # far below the grid
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-12 if dtype == "float64" else 1e-5)


def test_of_several_fields_the_one_that_cannot_say_is_named_and_others_may_be_far_away():
    """If not, the message sends one to the wrong grid."""
    scene = pdgpu.Scene()
    scene.add_particles([[0.2, 0.05, 0.2], [3.0, 0.05, 0.2]], mass=1.0)
    ball = pdgpu.SignedDistanceField.from_mesh(pdgpu.shapes.sphere(0.1, 2), spacing=0.02)
    high = ground(spacing=0.5, size=(8.0, 8.0), depth=0.5, above=8.0, motion=lambda time: (np.eye(3), (-9.0, 0.0, -4.0)))
    for name, obstacle in (("ball", ball), ("high", high), ("ground", ground())):
        scene.add_obstacle(obstacle, name=name)
    solver = pdgpu.ProjectiveDynamics(iterations=2)
    sim = pdgpu.Simulation(scene, solver, dt=0.1, contact=pdgpu.ProxyContact([0, 1], stiffness=1e3, field=("ball", "ground", "high")))
    with pytest.raises(ValueError, match=r"proxy 0 at .* m is \S+ m outside the grid of obstacle 2 of the field"):
        sim.proxies()
    sim = pdgpu.Simulation(scene, solver, dt=0.1, contact=pdgpu.ProxyContact([0, 1], stiffness=1e3, field=("ball", "ground")))
    with pytest.raises(ValueError, match=r"proxy 1 at \(3, 0\.05, 0\.2\) m is 2\.5 m outside the grid of obstacle 1 of the field"):
        sim.proxies()


def test_parts_of_shapes_are_for_proxies_and_fields_with_no_inside_for_none(tmp_path):
    """If not, another contact takes what is unknown for far away, a file forgets that a field is a part, or a plate that is thinner than a
    cell is an obstacle that nothing ever meets."""
    sim = thrown(ground(), [[0.2, 0.05, 0.2]], (0.0, 0.0, 0.0))
    sim.save(tmp_path / "run")
    assert not pdgpu.Simulation.load(tmp_path / "run")._core.scene.obstacles[0].collider.whole
    with pytest.raises(ValueError, match="bodies: 'ground' is a part of a shape"):
        sim.contacts(0.1)
    scene = pdgpu.Scene()
    scene.add_particles([[0.2, 0.05, 0.2]], mass=1.0)
    scene.add_obstacle(ground(), name="ground")
    with pytest.raises(ValueError, match="contact: 'ground' is a part of a shape"):
        pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(), contact=pdgpu.PenaltyContact(1e-2, stiffness=1e3))
    with pytest.raises(TypeError, match="whole: expected True or False, got 0"):
        pdgpu.SignedDistanceField(np.ones((2, 2, 2)), (0, 0, 0), 1.0, whole=0)
    with pytest.raises(ValueError, match=r"but -0\.2 at \(0, 0, 0\), on its boundary, is negative; of a part of a shape take whole=False"):
        pdgpu.SignedDistanceField(ground().values, (0, 0, 0), 0.05)
    plate = pdgpu.shapes.box((0.4, 0.01, 0.4))
    with pytest.raises(ValueError, match=r"field: the least value of 'ground' is \S+ m, so that nothing is inside of it; take a finer"):
        thrown(pdgpu.SignedDistanceField.from_mesh(plate, spacing=0.1, padding=0.145), [[0.2, 0.05, 0.2]], (0.0, 0.0, 0.0))
