"""A loaded chain over a drum: from which first guesses a step converges, and how large its contact forces become."""

import warnings
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from rigid_scenes import box, push

import pdgpu
from pdgpu.simulation import rigid_warnings

RADIUS, THICK, LENGTH, N = 0.2, 0.016, 0.05, 20


def chain_on_drum(gap):
    """Twenty links on ball joints, around half a drum and hanging down on both sides; the directions in which its ends are pulled."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_obstacle(pdgpu.Capsule((0.0, 0.0, -0.2), (0.0, 0.0, 0.2), RADIUS), name="drum")
    middle = RADIUS + gap + 0.5 * THICK
    turn = 2.0 * np.arctan(0.5 * LENGTH / middle)
    over = 2 * int(np.ceil(0.5 * np.pi / turn))
    angle = 0.5 * np.pi + turn * (0.5 * over - np.arange(over + 1))
    joints = middle / np.cos(0.5 * turn) * np.stack([np.cos(angle), np.sin(angle), np.zeros(over + 1)], axis=1)
    left = (N - over) // 2
    down = [0.0, LENGTH, 0.0]
    joints = np.concatenate(
        [joints[0] - np.outer(np.arange(left, 0, -1), down), joints, joints[-1] - np.outer(np.arange(1, N - over - left + 1), down)]
    )
    for a, b in pairwise(joints):
        along = b - a
        size = np.linalg.norm(along)
        link = scene.add_rigid(box((0.84 * size, THICK, THICK), 0.5 * (a + b), np.arctan2(along[1], along[0])), density=1209.0)
        if len(scene.bodies) > 1:
            scene.add_joint("ball", link, scene.bodies[-2], at=a, stiffness=1e7)
    assert len(scene.bodies) == N and link.mass == pytest.approx(0.013, rel=0.01)
    return scene, (joints[0] - joints[1], joints[-1] - joints[-2])


def pulled(gap, initialization):
    """The iterations of eight steps, the largest contact force after each, N, and the warnings of first guesses."""
    scene, ways = chain_on_drum(gap)
    contact = pdgpu.BarrierContact(1e-3, stiffness=1e7, friction=0.3)
    solver = pdgpu.Newton(iterations=60, tolerance=1e-6, initialization=initialization)
    iterations, forces = [], []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        sim = pdgpu.Simulation(scene, solver, dt=4e-3, contact=contact)
        push(sim, {scene.bodies[end]: way / np.linalg.norm(way) * load for end, way, load in zip((0, -1), ways, (10.0, 29.5), strict=True)})
        for _ in range(8):
            sim.step()
            iterations.append(sim.last_step.iteration)
            forces.append(sim.contact_forces().normal_force.max(initial=0.0))
    return np.array(iterations), np.array(forces), [str(w.message) for w in said if "initialization" in str(w.message)]


@pytest.mark.parametrize("gap", [1e-3, 3e-4])
@pytest.mark.parametrize("initialization", [None, "previous", "inertia"])
def test_a_loaded_chain_on_a_drum_converges(gap, initialization):
    """Also one that begins in the barrier, at 0.3 of its activation distance: the loads are 10 and 29.5 N, the links weigh 0.13 N."""
    iterations, forces, said = pulled(gap, initialization)
    assert iterations.max() < 60 and not said
    assert forces.max() < (12.0 if gap == 1e-3 else 400.0) and forces[-1] < 12.0


def test_the_inertial_target_of_a_loaded_chain_is_a_bad_guess():
    """If not, "inertial_target" is as good as the default: a step ends at its cap, with more than 25 times the forces of other guesses."""
    iterations, forces, _ = pulled(3e-4, "inertial_target")
    assert (iterations == 60).any() and forces.max() > 1e4  # N; at most 400 N from other guesses


@pytest.mark.parametrize("guess, warns", [(99.0, False), (101.0, True), (np.inf, True), (np.nan, False)])
def test_a_first_guess_far_above_the_end_is_named(guess, warns):
    """If not, a step that spends its iterations on a bad first guess says nothing, or a good guess is blamed."""
    solver = pdgpu.Newton(initialization="inertial_target")
    said = rigid_warnings._of_guess(SimpleNamespace(solver=solver), {"guess": guess, "end": 1.0})
    assert (said is not None) == warns and (not warns or "'inertial_target'" in said)
