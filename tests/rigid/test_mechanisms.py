"""Rigid bodies on joints and in collisions: what steps lose and gain, where they begin, and what they say of it."""

import warnings

import numpy as np
import pytest
from rigid_scenes import box, slider_crank

import pdgpu
from pdgpu import shapes


def on_a_joint(spin, pinned=False):
    """A bar of 1 m that turns about its end, on a ball joint or on a pin."""
    bar = box((1.0, 0.1, 0.1), (0.5, 0.0, 0.0))
    mesh = pdgpu.Mesh(np.concatenate([bar.points, np.zeros((1, 3))]), triangles=bar.triangles)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    body = scene.add_rigid(mesh, density=100.0, velocity=(0.0, 0.5 * spin, 0.0), spin=(0.0, 0.0, spin), name="bar")
    if pinned:
        body.pin([8])
    else:
        scene.add_joint("ball", body, None, at=(0.0, 0.0, 0.0), stiffness=1e8)
    return scene


def loaded_chain(n=20, stiffness=1e7):
    """Links of 13 g on ball joints, level, the first held, and 29.5 N along the chain on the last."""
    scene, before = pdgpu.Scene(gravity=(0.0, -9.81, 0.0)), None
    for k in range(n):
        link = scene.add_rigid(box((0.042, 0.016, 0.016), (0.05 * k + 0.025, 0.0, 0.0)), density=1209.0, name=f"link{k}")
        scene.add_joint("ball", link, before, at=(0.05 * k, 0.0, 0.0), stiffness=stiffness)
        before = link
    forces = np.zeros((scene.n_vertices, 3))
    forces[scene.bodies[-1].slice, 0] = 29.5 / len(scene.bodies[-1].points)
    return scene, forces


def simulated(scene, solver, dt, forces=None):
    sim = pdgpu.Simulation(scene, solver, dt=dt)
    if forces is not None:
        sim.external_forces = forces[: len(sim.positions)]
    return sim


@pytest.mark.parametrize("turn", [0.01, 0.04])
def test_circling_centre_is_braked_at_the_rate_that_is_documented(turn):
    """By 2 h w^2 of the energy of the centre, 0.75/(1 + 0.01/4) of all; a body on a pin is not. If not, the warning would be wrong."""
    dt, n = 1e-3, 50
    share = 0.25 / (0.25 + (1.0 + 0.01) / 12.0)
    for pinned in (False, True):
        sim = simulated(on_a_joint(turn / dt, pinned), pdgpu.Newton(iterations=30), dt)
        start = sim.energies()["kinetic"]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            sim.step(n)
        rate = -np.log(sim.energies()["kinetic"] / start) / (n * dt)
        assert rate == pytest.approx(0.0 if pinned else 2.0 * turn**2 / dt * share, rel=0.1, abs=1e-9)
        texts = [str(warning.message) for warning in said]
        assert len(texts) == int(turn > 0.02 and not pinned) and all(text.startswith("spin: 'bar' turns by 0.04 rad") for text in texts)


def test_turn_is_warned_of_in_the_step_that_reaches_it():
    """Not at the start, which has none."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    bar = scene.add_rigid(box((1.0, 0.1, 0.1), (0.5, 0.0, 0.0)), density=100.0, name="bar")
    scene.add_joint("hinge", bar, None, at=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0), stiffness=1e6)
    sim = simulated(scene, pdgpu.Newton(iterations=30), 5e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim.step(40)
    with pytest.warns(RuntimeWarning, match="spin: 'bar' turns by 0.02.* rad in a step"):
        sim.step(40)


def test_rising_energy_of_unconverged_steps_is_said():
    """Twenty iterations of gradient descent add energy in single steps; Newton's converged steps do not, and are not warned of."""
    for solver, expected in ((pdgpu.GradientDescent(iterations=20), 1), (pdgpu.Newton(iterations=50), 0)):
        sim, total, rises = simulated(slider_crank(1e7, 30.0), solver, 1e-3), [], 0
        total.append(sim.energies()["total"])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(60):
                sim.step()
                total.append(sim.energies()["total"])
        rises = (np.diff(total) > 1e-3 * np.array(total[:-1])).any()
        assert rises == bool(expected)
        assert sum("raised the energy of bodies" in str(warning.message) for warning in said) == expected


def test_slider_crank_keeps_its_energy_to_first_order():
    """Over a third of a turn, with its joints closed: what is lost halves with the step."""
    lost = []
    for dt in (1e-3, 5e-4):
        sim = simulated(slider_crank(1e6, 10.0), pdgpu.Newton(iterations=50), dt)
        start = sim.energies()["total"]
        sim.step(round(0.2 / dt))
        lost.append(1.0 - sim.energies()["total"] / start)
        x = sim.rigid.centres
        assert abs(x[2, 1]) < 1e-4 and np.linalg.norm(2.0 * x[0]) == pytest.approx(0.1, abs=1e-4)
    assert lost[1] < 0.06 and 1.8 < lost[0] / lost[1] < 2.2


@pytest.mark.parametrize("kind", ["default", "inertial_target"])
def test_loaded_chain_begins_where_the_potential_is_smallest(kind):
    """The load on one link leads its target 2 cm away, against joints of 1e7 N/m: from there the potential is a million times as large."""
    scene, forces = loaded_chain()
    options = {} if kind == "default" else {"initialization": kind}
    sim = simulated(scene, pdgpu.Newton(iterations=4, **options), 4e-3, forces)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(3):
            sim.step(record=True)
            potential = sim.last_step["incremental_potential"]
            assert potential[0] < 10.0 if kind == "default" else potential[0] > 1e3
    words = [str(warning.message) for warning in said if "initialization" in str(warning.message)]
    assert len(words) == (kind != "default")
    assert all("'inertial_target'" in text and "times that at its end" in text for text in words)


def test_glancing_collision_keeps_angular_momentum_to_first_order():
    """And the linear one to rounding: the figures of `Simulation.momentum`."""
    ball, gained = shapes.sphere(0.1, 2), []
    for dt in (4e-3, 1e-3):
        scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
        for side in (1.0, -1.0):
            mesh = pdgpu.Mesh(np.array(ball.points) + [-0.3 * side, 0.06 * side, 0.0], triangles=ball.triangles)
            scene.add_rigid(mesh, density=1000.0, velocity=(2.5 * side, 0.0, 0.0))
        contact = pdgpu.BarrierContact(2e-3)
        sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=100, tolerance=1e-9), dt=dt, contact=contact)
        start = sim.momentum().angular[2]
        sim.step(round(0.12 / dt))
        np.testing.assert_allclose(sim.momentum().linear, 0.0, atol=1e-11)
        gained.append(sim.momentum().angular[2] / start - 1.0)
        assert 0.0 < gained[-1] < 25.0 * dt
    assert gained[1] < 0.5 * gained[0]


def test_run_has_columns_of_energy_and_angular_momentum():
    """Those of a tumbling box stay."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_rigid(shapes.box((1.0, 0.6, 0.3)), density=100.0, spin=(0.4, 5.0, 0.8))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=10), dt=5e-3)
    momentum = sim.momentum().angular
    history = sim.run(0.2)
    for axis, expected in zip("xyz", momentum, strict=True):
        np.testing.assert_allclose(history[f"angular_momentum_{axis}"], expected, atol=1e-10 * np.linalg.norm(momentum))
    np.testing.assert_allclose(history["total"], history["total"][0], rtol=1e-5)


@pytest.mark.parametrize(("initialization", "potentials"), [(None, 3), ("previous", 0)])
def test_the_choice_of_a_first_guess_is_counted(initialization, potentials):
    """If not, work of a step is left out, and its energies are not those of the one function that all solvers ask."""
    scene, forces = loaded_chain()
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=5, initialization=initialization), dt=0.004)
    sim.external_forces = forces
    assert sim.step(record=True)["potentials"][0] == potentials
