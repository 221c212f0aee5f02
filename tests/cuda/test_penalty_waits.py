"""Waits of the host in a step with contact by a penalty."""

import numpy as np
import pytest

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


def stack():
    """Two solids and a cloth, one on the other on a floor, nearer than they are thick: pairs without a way on which they meet."""
    scene, grid = pdgpu.Scene(), pdgpu.shapes.grid((0.6, 0.6), cells=(5, 5))
    mesh = pdgpu.shapes.beam((0.4, 0.4, 0.4), cells=(2, 2, 2))
    for k in range(2):
        points = mesh.points + [0.05 * k, 0.02 + 0.42 * k, 0.0]
        scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), pdgpu.NeoHookean.from_young(1e4, 0.3), density=200.0)
    cloth = pdgpu.Mesh(grid.points[:, [0, 2, 1]] + [-0.1, 0.86, -0.1], triangles=grid.triangles)
    scene.add_shell(cloth, pdgpu.Spring(1e3), density=3.0, bending=1e-4)
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    return scene


def simulation(
    scene,
    dtype,
    *,
    interval,
    friction,
    method=pdgpu.VertexBlockDescent,
    iterations=8,
    check_every=1000,
    thickness=0.03,
    variant="lagged",
    **more,
):
    solver = method(iterations=iterations, check_every=check_every, **more)
    rubbing = {"friction": friction, "friction_velocity": 0.05, "variant": variant}
    contact = pdgpu.PenaltyContact(thickness, stiffness=3e3, detection_interval=interval, **rubbing)
    return pdgpu.Simulation(scene, solver, dt=1 / 60, contact=contact, device="cuda", dtype=dtype)


def counts_of(sim):
    before = sim._core.backend.counts()
    sim.step()
    after = sim._core.backend.counts()
    return {name: after[name] - before[name] for name in ("waits", "allocations")}


@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("interval", [1, 4])
def test_a_detection_is_one_wait(interval, friction, dtype):
    """If not, what a method on the host must know of its pairs is asked for in one readback after the other."""
    sim = simulation(stack(), dtype, interval=interval, friction=friction, method=pdgpu.XPBD)
    counts_of(sim)
    assert counts_of(sim) == {"waits": 8 // interval + 1, "allocations": 0}


def thrown():
    """Two cloths that fly through each other and a floor on the way to the first guess: pairs by the way alone."""
    scene, grid = pdgpu.Scene((0.0, 0.0, 0.0)), pdgpu.shapes.grid((0.5, 0.5), cells=(6, 6))
    for height, speed in ((0.5, -20.0), (0.3, 10.0)):
        cloth = pdgpu.Mesh(grid.points[:, [0, 2, 1]] + [0.02 * height, height, 0.01 * height], triangles=grid.triangles)
        scene.add_shell(cloth, pdgpu.Spring(1e3), density=3.0, bending=1e-4, velocity=(0.0, speed, 0.0))
    scene.add_obstacle(pdgpu.Plane((0, -5.0, 0), (0, 1, 0)))
    return scene


@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("interval", [1, 4])
@pytest.mark.parametrize("make", [stack, thrown])
@pytest.mark.parametrize("method", [pdgpu.VertexBlockDescent, pdgpu.GradientDescent])
def test_a_step_waits_for_its_result_alone(method, make, interval, friction, dtype):
    """If not, the device stands still in every detection while the host reads how many pairs there are."""
    options = {} if method is pdgpu.VertexBlockDescent else {"line_search": False}
    sim = simulation(make(), dtype, interval=interval, friction=friction, method=method, **options)
    start = sim.positions
    for _ in range(2):  # the lists grow in the first
        counts = counts_of(sim)
        assert len(sim._core.backend.penalty_columns()["gap"]) > 10
        ended = sim.positions
        sim.set_state(positions=start)
        if make is thrown:
            sim.set_state(positions=start, velocities=sim._core.scene.initial_velocities())
    assert counts == {"waits": 1, "allocations": 0}
    assert np.isfinite(ended).all()


def moved(scene, *, pins):
    """The same with a wall that goes on, and with `pins` two corners of the cloth that are pulled away."""
    push = lambda time: (np.eye(3), np.array([0.5 * time, 0.0, 0.0]))  # noqa: E731
    scene.add_obstacle(pdgpu.Box((0.1, 0.5, 0.5), (-0.07, 0.3, 0.2), motion=push))
    if pins:
        scene.bodies[-1].pin([0, 5], motion=lambda time, rest: rest + [0.0, 0.3 * time, 0.0])
    return scene


@pytest.mark.parametrize("pins", [0, 1])
def test_what_is_moved_by_a_script_is_not_waited_for(pins, dtype):
    """If not, targets that go up with a step end what the device could do meanwhile; or the second step reads those of the third."""
    sim, recorded = (simulation(moved(stack(), pins=pins), dtype, interval=2, friction=0.4) for _ in range(2))
    counts_of(sim)
    for _ in range(3):  # before a step with pins the positions are read, out of which their targets are made
        assert counts_of(sim) == {"waits": 1 + pins, "allocations": 0}
    recorded.step(4, record=True)
    np.testing.assert_array_equal(sim.positions, recorded.positions)


@pytest.mark.parametrize("variant", ["lagged", "paper"])
def test_a_step_waits_where_it_looks(variant, dtype):
    """If not, there are waits beside those that `check_every` asks for."""
    sim = simulation(stack(), dtype, interval=2, friction=0.4, check_every=3, variant=variant)
    counts_of(sim)
    assert counts_of(sim) == {"waits": 3, "allocations": 0}


def dense():
    """Two cloths that are far apart where a step begins, and near each other all over after its first iteration."""
    scene, grid = pdgpu.Scene((0.0, 0.0, 0.0)), pdgpu.shapes.grid((0.5, 0.5), cells=(22, 22))
    for height, speed in ((0.105, -6.0), (0.0, 0.0)):
        cloth = pdgpu.Mesh(grid.points[:, [0, 2, 1]] + [0.013 * height, height, 0.017 * height], triangles=grid.triangles)
        scene.add_shell(cloth, pdgpu.Spring(0.1), density=3.0, velocity=(0.0, speed, 0.0))
    return scene


@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("check_every", [1, 1000])
def test_a_list_that_outgrows_its_room_within_a_step(check_every, friction, dtype):
    """If not, pairs are dropped in silence, or a step that was run again is another one."""
    options = {"interval": 1, "friction": friction, "check_every": check_every, "initialization": "previous", "thickness": 0.008}
    begun, sim = (simulation(dense(), dtype, iterations=n, **options) for n in (1, 3))
    start, velocities = sim.positions, sim.velocities

    def step(sim, **record):
        sim.set_state(positions=start, velocities=velocities)
        before = sim._core.backend.counts()
        sim.step(**record)
        after = sim._core.backend.counts()
        return sim.positions, sim._core.backend.penalty_columns(), *(after[name] - before[name] for name in ("waits", "allocations"))

    looks = 3 if check_every == 1 else 1
    step(begun)
    assert step(begun)[3] == 0 and len(begun._core.backend.penalty_columns()["gap"]) == 0  # the first detection has all the room it wants
    fresh = step(sim)
    grown = step(sim)
    assert len(grown[1]["gap"]) > 1024
    assert fresh[2] > looks and fresh[3] > 0  # it was run again
    assert grown[2:] == (looks, 0)
    recorded = step(sim, record=True)  # every detection waits
    longer = step(simulation(dense(), dtype, iterations=3, **options), record=True)
    for other in (grown, recorded, longer):
        np.testing.assert_array_equal(other[0], fresh[0])
        for column in ("key", "weights", "normal", "reach"):
            np.testing.assert_array_equal(other[1][column], fresh[1][column])
