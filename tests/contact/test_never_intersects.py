"""With a barrier nothing ever goes through anything: not in a state, and not on the way from one to the next."""

import dataclasses
import os
import signal
import threading

import numpy as np
import pytest
from contact_scenes import QUICK, SCENES
from verified_run import METHODS, VARIANTS, WHOLE_METHODS, Verified, solver_case, stiffened, verified_run, verify

import pdgpu
from pdgpu import _host

pytestmark = pytest.mark.skipif(not _host.HAS_GMP, reason="this build has no GMP")
DTYPES = ("float32", "float64")


@pytest.mark.each_choice
@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", QUICK)
def test_the_path_of_every_step_is_clean(name, dtype):
    """If it failed, a needle would go through a cloth, and nothing would bring it back."""
    found = verified_run(SCENES[name](False), dtype)
    assert found.intersections == 0
    assert found.contacts > 0  # or it shows nothing


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ["thrown ball"])
def test_no_setting_lets_anything_through(name, variant):
    """If it failed, who asks for too few iterations or has a poor stiffness would get a wrong state, not a poor one."""
    case, solver = VARIANTS[variant](SCENES[name](False))
    assert verified_run(case, "float32", **solver).intersections == 0


@pytest.mark.stress
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SCENES)
def test_no_setting_lets_anything_through_in_any_scene(name, dtype, variant):
    """If it failed, who asks for too few iterations or has a poor stiffness would get a wrong state, not a poor one."""
    case, solver = VARIANTS[variant](SCENES[name](False))
    assert verified_run(case, dtype, **solver).intersections == 0


@pytest.mark.stress
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SCENES)
def test_long_runs_of_fine_meshes_are_clean(name, dtype):
    """If it failed, what holds for a step of a few triangles would not hold for a scene."""
    found = verified_run(SCENES[name](True), dtype)
    assert found.intersections == 0 and found.contacts > 0


@pytest.mark.each_choice
@pytest.mark.slow
@pytest.mark.parametrize("iterations", [1, None])
@pytest.mark.parametrize("name", ["needle", "rods on capsules", "crossing cloths", "thrown ball"])
@pytest.mark.parametrize("method", METHODS)
def test_no_solver_lets_anything_through(method, name, iterations):
    """If it failed, a solver would be safe or not by how many iterations it gets."""
    case, solver = solver_case(method, name, iterations=iterations, friction=0.0)
    assert verified_run(case, "float32", **solver).intersections == 0


def test_a_matrix_that_rounding_leaves_not_positive_is_shifted():
    """If it failed, a step would end with an error where a pair comes so near that its stiffness has no digits left for the rest."""
    case, solver = solver_case("PD, direct", "needle")
    assert verified_run(stiffened(case, 1e6), "float32", steps=3, **solver).intersections == 0


@pytest.mark.stress
@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize("guard", pdgpu.contact.barrier_contact.LIMITERS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("iterations", [1, None])
@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("method", METHODS | WHOLE_METHODS)
def test_no_solver_lets_anything_through_in_any_scene(method, name, iterations, dtype, guard, friction):
    """If it failed, a solver would be safe or not by how many iterations it gets."""
    case, solver = solver_case(method, name, iterations=iterations, guard=guard, friction=friction)
    assert verified_run(case, dtype, **solver).intersections == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squeezed bunny", "squeezed armadillo"])  # obstacles that move, pins that move
def test_a_plate_does_not_close_in_on_what_it_pushes(name):
    """If it failed, a scripted plate that is ahead of a body would come ten times as near in every iteration, and then neither moves."""
    case = SCENES[name](False)
    sim = case.simulation(iterations=60)
    for _ in range(case.steps):
        sim.step(record=True)
        assert sim.last_step["behind"][-1] == 0.0
        smallest = sim.last_step["smallest_distance"] / case.contact.distance
        assert smallest.min() > 0.005 and smallest[-1] > 0.1  # the step limiter keeps a tenth of a gap, and the plate waits until it opens


# ---- what comes in the way of a step ----------------------------------------------------------------------------------------


def test_a_motion_that_raises_leaves_the_state(monkeypatch):
    """If it failed, the mistake in a script would cost a state that intersects itself, or hide where it came from."""
    raising = {"at": 0.025}
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    case = SCENES["knot"](False)
    for body in case.scene.bodies:
        copy = scene.add_rod(body.mesh, list(body.materials), density=body.density, damping=body.damping)
        for indices, motion in body.pins:

            def scripted(time, rest, motion=motion):
                if raising["at"] and time > raising["at"]:
                    raise OSError("the script has ended")
                return motion(time, rest)

            copy.pin(indices, motion=scripted)
    whole, broken = case.simulation(), dataclasses.replace(case, scene=scene).simulation()
    found = verified_run(case, sim=broken, steps=2)
    before = broken.positions, broken.velocities
    with pytest.raises(OSError, match="the script has ended"):
        broken.step()
    assert np.array_equal(broken.positions, before[0]) and np.array_equal(broken.velocities, before[1])
    raising["at"] = None
    found = verified_run(case, sim=broken, steps=case.steps - 2)
    assert found.intersections == 0 and found.contacts > 0
    verified_run(case, sim=whole)
    assert np.array_equal(broken.positions, whole.positions)


def test_a_step_that_diverges_leaves_the_state():
    """If it failed, a blow-up would leave bodies inside each other, and every later step would refuse to begin."""
    case = SCENES["crossing cloths"](False)
    whole, broken = case.simulation(), case.simulation()
    verified_run(case, sim=whole)
    verified_run(case, sim=broken, steps=3)
    before = broken.positions, broken.velocities
    broken.external_forces = np.full(before[0].shape, 1e200)
    with pytest.raises(pdgpu.DivergenceError):
        broken.step()
    broken.external_forces = None
    assert np.array_equal(broken.positions, before[0]) and np.array_equal(broken.velocities, before[1])
    assert verified_run(case, sim=broken, steps=case.steps - 3).intersections == 0
    assert np.array_equal(broken.positions, whole.positions)


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_ctrl_c_leaves_the_state():
    """If it failed, who stops a long step would find bodies inside each other."""
    case = SCENES["bodies in a box"](False)
    sim = case.simulation(iterations=100000, tolerance=0.0)
    plain = case.simulation()
    plain.step(3)
    sim.set_state(positions=plain.positions, velocities=plain.velocities)
    before = sim.positions, sim.velocities
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            sim.step(10000)
    finally:
        signal.signal(signal.SIGINT, handler)
    found = Verified()
    verify(case, found, [sim.positions], [sim.time])
    assert found.intersections == 0
    assert sim.time > 0.0 or (np.array_equal(sim.positions, before[0]) and np.array_equal(sim.velocities, before[1]))
    resumed = case.simulation()
    resumed.set_state(positions=sim.positions, velocities=sim.velocities)
    assert verified_run(case, sim=resumed, steps=2).intersections == 0
