"""Contact by projections: what it answers where the answer is on paper, what it keeps, and that nothing passes through anything."""

import dataclasses
import warnings

import numpy as np
import pytest
from contact_scenes import SCENES, border, cloth, cube, sheet
from projective_run import (
    LINEAR,
    G,
    dropped,
    incline,
    needs_gmp,
    on_spike,
    projective_case,
    projective_simulation,
    verified_projective_run,
)

import pdgpu
from pdgpu.simulation.time_step import take_step

# ---- answers on paper -------------------------------------------------------------------------------------------------------


def test_a_body_falls_from_rest():
    """If it failed, a loop that tests before it moves would find that nothing has, as in the algorithm that was printed."""
    sim = dropped(0.01)
    sim.step(20)
    assert sim.positions[0, 1] == pytest.approx(0.5 - G * 0.01**2 * 20 * 21 / 2, abs=1e-12)
    assert sim.last_step.status == "converged"


@pytest.mark.parametrize("dt", [0.01, 0.0025])
def test_a_body_comes_to_rest_within_the_activation_distance(dt):
    """If it failed, it would stick to what it met, or sink, or never lie still."""
    sim, lowest = dropped(dt), np.inf
    for _ in range(round(1.2 / dt)):
        sim.step()
        lowest = min(lowest, sim.positions[0, 1])
    # the spring 10 m/h^2 carries the weight, and a fifth of what is missing is asked for
    assert sim.positions[0, 1] == pytest.approx(5e-3 - 5.0 * G * dt**2 / 10.0, rel=1e-6)
    assert abs(sim.velocities[0, 1]) < 1e-6 and lowest > 0.0


@pytest.mark.parametrize("dt", [0.01, 0.0025])
@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_a_body_rebounds_as_high_as_restitution_says(restitution, dt):
    """If it failed, a ball would bounce higher than it fell, or not at all."""
    sim, heights = dropped(dt, restitution=restitution), []
    for _ in range(round(0.9 / dt)):
        sim.step()
        heights.append(sim.positions[0, 1])
    low = int(np.argmin(heights[: round(0.4 / dt)]))
    assert min(heights) > 0.0
    assert max(heights[low:]) / 0.5 == pytest.approx(restitution**2, abs=0.03)


@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_two_that_meet_part_as_newton_says(restitution):
    """If it failed, what one gets from a rebound would not be what the other gives."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    scene.add_particles([[0.0, 0.0, 0.0]], mass=1.0, velocity=(1.0, 0.0, 0.0))
    scene.add_particles([[0.02, 0.0, 0.0]], mass=3.0)
    contact = pdgpu.ProjectiveContact(5e-3, restitution=restitution, inner=1000, tolerance=1e-8)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=4000), dt=0.01, contact=contact)
    sim.step(10)
    assert sim.velocities[:, 0] == pytest.approx([(1.0 - 3.0 * restitution) / 4.0, (1.0 + restitution) / 4.0], abs=1e-5)


def test_of_a_body_what_touches_rebounds_and_momentum_stays():
    """If it failed, a vertex in several pairs would be pushed by each as if it were in no other."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    stiff = pdgpu.ARAP.from_young(young=1e7, poisson=0.4)
    bodies = [cube(0.1, 2, (side * 0.0525, 0.0, 0.0)) for side in (-1.0, 1.0)]
    for mesh, density, speed in zip(bodies, (1000.0, 3000.0), (1.0, 0.0), strict=True):
        scene.add_solid(mesh, stiff, density=density, velocity=(speed, 0.0, 0.0))
    contact = pdgpu.ProjectiveContact(2e-3, restitution=1.0, inner=1000, tolerance=1e-6)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=4000), dt=0.005, contact=contact)
    before = sim.masses @ sim.velocities
    sim.step()
    assert np.linalg.norm(sim.masses @ sim.velocities - before) < 1e-3 * np.linalg.norm(before)
    left, right = (np.abs(sim.positions[:, 0]) < 0.01) & (np.arange(54) < 27), (np.abs(sim.positions[:, 0]) < 0.01) & (np.arange(54) > 26)
    assert left.sum() == right.sum() == 9
    assert sim.velocities[right, 0].mean() - sim.velocities[left, 0].mean() == pytest.approx(1.0, abs=0.1)


def test_what_has_landed_goes_on_sideways():
    """If it failed, contact without friction would hold what it touches."""
    sim, slow, rounds = dropped(0.01, velocity=(1.0, 0.0, 0.0)), 0, 0
    for _ in range(60):
        sim.step(record=True)
        ends = np.flatnonzero(np.diff(sim.last_step["outer"])) + 1
        slow, rounds = slow + int((sim.last_step["step_limit"][ends] < 0.05).sum()), rounds + len(ends)
    assert sim.velocities[0, 0] == pytest.approx(1.0, rel=1e-9)
    assert slow <= 0.02 * rounds


def on_incline(friction, tangent=0.2553):
    """How fast the cube slides after every step."""
    angle, (sim, _, down) = np.arctan(tangent), incline(friction, tangent)
    share, speeds = sim.masses / sim.masses.sum(), []
    for _ in range(60):
        sim.step()
        speeds.append(share @ sim.velocities @ down)
    return np.array(speeds), G * np.sin(angle), G * np.cos(angle)


@pytest.mark.parametrize("friction", [0.0, 0.1, 0.2])
def test_a_body_slides_as_coulomb_says(friction):
    """If it failed, friction would not be mu times the normal force."""
    speeds, along, across = on_incline(friction)
    slope = np.polyfit(0.01 * np.arange(40), speeds[20:], 1)[0]
    assert slope == pytest.approx(along - friction * across, rel=1e-3)


def test_what_lies_below_the_cone_sticks():
    """If it failed, everything would slide off everything."""
    speeds, _, _ = on_incline(0.3)
    assert np.abs(speeds[10:]).max() < 3e-3


@pytest.mark.parametrize(("tolerance", "most"), [(1e-4, 5e-3), (1e-6, 1e-4)])
def test_two_bodies_keep_their_momentum(tolerance, most):
    """If it failed, one body would push another and not be pushed."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    stiff = pdgpu.ARAP.from_young(young=1e4, poisson=0.4)
    scene.add_solid(cube(0.1, 2, (-0.0515, 0.0, 0.0)), stiff, density=1000.0, velocity=(1.0, 0.0, 0.0))
    scene.add_solid(cube(0.1, 2, (0.0515, 0.01, 0.005)), stiff, density=3000.0, velocity=(-0.2, 0.0, 0.0))
    contact = pdgpu.ProjectiveContact(2e-3, inner=1000, tolerance=tolerance)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=4000), dt=0.01, contact=contact)
    before, first = sim.masses @ sim.velocities, sim.velocities
    sim.step(6)
    assert np.linalg.norm(sim.masses @ sim.velocities - before) < most * np.linalg.norm(before)
    assert np.abs(sim.velocities - first).max() > 0.5  # they have met


@pytest.mark.parametrize("linear", LINEAR)
def test_every_linear_solver_ends_in_the_same_rest(linear):
    """If it failed, what contact changes of the matrix would not reach that solver."""
    scene = pdgpu.Scene((0.0, -G, 0.0))
    scene.add_solid(cube(0.1, 1, (0.0, 0.0508, 0.0)), pdgpu.ARAP.from_young(young=1e5, poisson=0.4), density=1000.0, damping=1e-3)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    low = []
    for solver in (LINEAR[linear], pdgpu.Direct()):
        contact = pdgpu.ProjectiveContact(1e-3, inner=100)
        sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=800, linear=solver), dt=0.01, contact=contact)
        sim.step(25)
        low.append(sim.positions[:, 1].min())
    assert low[0] == pytest.approx(low[1], abs=2e-5) and 0.0 < low[0] < 1e-3


def two_cubes(linear, blocks, **settings):
    """A step in which a cube meets another, in one round."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    for offset, speed in (((-0.0515, 0.0, 0.0), 1.0), ((0.0515, 0.01, 0.005), -0.2)):
        scene.add_solid(cube(0.1, 1, offset), pdgpu.ARAP.from_young(young=1e4, poisson=0.4), density=1000.0, velocity=(speed, 0.0, 0.0))
    contact = pdgpu.ProjectiveContact(2e-3, inner=5000, outer=1, tolerance=1e-7, blocks=blocks, **settings)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=20000, linear=linear), dt=0.01, contact=contact)
    sim.step()
    return sim


@pytest.mark.parametrize("linear", [name for name in LINEAR if not name.startswith("A-Jacobi")])
def test_blocks_on_the_diagonal_change_the_way_and_not_the_answer(linear):
    """If it failed, a 3x3 block would be another one on the matrix than in a product, in a sweep or in a factor."""
    solver = LINEAR[linear]
    if not isinstance(solver, pdgpu.Direct):
        solver = dataclasses.replace(solver, iterations=40)
    plain, coupled = two_cubes(pdgpu.Direct(), False), two_cubes(solver, True)
    assert plain.last_step.status == coupled.last_step.status
    assert np.abs(coupled.positions - plain.positions).max() < 5e-5 * plain.contact.distance
    assert coupled.last_step.iteration < 0.9 * plain.last_step.iteration  # nothing holds it back sideways


# ---- nothing passes through anything ----------------------------------------------------------------------------------------

SETTINGS = {  # another linear solver and another time step for every scene
    "needle": ("Direct", 1 / 100),
    "crossing cloths": ("A-Jacobi-2", 1 / 10),
    "thrown ball": ("Jacobi", 1 / 100),
    "knot": ("PCG", 1 / 100),
    "bodies in a box": ("Gauss-Seidel", 1 / 24),
    "sand": ("Chebyshev", 1 / 100),
}


@needs_gmp
@pytest.mark.slow
@pytest.mark.parametrize("iterations", [1, 40])
@pytest.mark.parametrize("name", SETTINGS)
def test_the_path_of_every_step_is_clean(name, iterations):
    """If it failed, a state of a step, which need not have converged, would be one from which there is no way back."""
    linear, dt = SETTINGS[name]
    case = projective_case(name, friction=0.5)
    sim = pdgpu.Simulation(
        case.scene, pdgpu.ProjectiveDynamics(iterations=iterations, linear=LINEAR[linear]), dt=dt, contact=case.contact, dtype="float32"
    )
    found = verified_projective_run(case, sim=sim)
    assert found.intersections == 0 and found.contacts > 0


@needs_gmp
@pytest.mark.stress
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("iterations", [1, 40, 200])
@pytest.mark.parametrize("name", SCENES)
def test_the_path_of_every_step_is_clean_in_any_scene(name, iterations, dtype):
    """If it failed, a state of a step, which need not have converged, would be one from which there is no way back."""
    found = verified_projective_run(projective_case(name, friction=0.3), dtype, iterations=iterations)
    assert found.intersections == 0


@needs_gmp
@pytest.mark.stress
@pytest.mark.parametrize("iterations", [1, 40])
@pytest.mark.parametrize("name", SCENES)
def test_the_path_of_every_tenth_of_a_second_is_clean(name, iterations):
    """If it failed, a step could be too long to be safe."""
    case = dataclasses.replace(projective_case(name, friction=0.3), dt=1 / 10)
    found = verified_projective_run(case, steps=4, iterations=iterations)
    assert found.intersections == 0


def crossing_patches(cells):
    """A cloth that is held at two sides, and another across it."""
    scene = pdgpu.Scene((0.0, -G, 0.0))
    lower = sheet(0.4, 0.2, cells)
    sides = border(lower.points) & (np.abs(lower.points[:, 0]) > 0.199)
    cloth(scene, lower, cells=cells).pin(sides)
    cloth(scene, sheet(0.2, 0.4, cells, 0.008), cells=cells)
    return scene


@needs_gmp
@pytest.mark.parametrize(
    ("scene", "cells", "steps"),
    [
        pytest.param(on_spike, 8, 15, marks=pytest.mark.slow),
        pytest.param(crossing_patches, 6, 12, marks=pytest.mark.slow),
        pytest.param(on_spike, 14, 120, marks=[pytest.mark.stress, pytest.mark.timeout(1800)]),
        pytest.param(crossing_patches, 14, 120, marks=[pytest.mark.stress, pytest.mark.timeout(1800)]),
    ],
)
def test_cloths_lie_on_each_other_and_on_a_spike(scene, cells, steps):
    """If it failed, a cloth would be torn open by a tip, or stay where it first touched."""
    case = projective_case("needle")  # for its time step
    contact = pdgpu.ProjectiveContact(5e-3, inner=50)
    sim = pdgpu.Simulation(scene(cells), pdgpu.ProjectiveDynamics(iterations=400), dt=1 / 100, contact=contact)
    case = type(case)(scene=scene(cells), contact=contact, dt=1 / 100, steps=steps)
    found = verified_projective_run(case, sim=sim)
    assert found.intersections == 0 and found.contacts > 0
    assert found.smallest_distance > 1e-3 * contact.distance
    assert sim.positions[:, 1].min() < -0.02  # what is beside the obstacle has gone on falling


@pytest.mark.parametrize(
    ("scene", "cells", "steps"),
    [
        (on_spike, 8, 15),
        (crossing_patches, 6, 12),
        pytest.param(on_spike, 14, 120, marks=pytest.mark.stress),
        pytest.param(crossing_patches, 14, 120, marks=pytest.mark.stress),
    ],
)
def test_a_step_takes_fewer_than_ten_rounds(scene, cells, steps):
    """If it failed, a step would be one detection after the other: rounds that end by their tolerance are what keeps them few."""
    contact = pdgpu.ProjectiveContact(5e-3, inner=200, tolerance=1e-3)
    sim, rounds, settled = pdgpu.Simulation(scene(cells), pdgpu.ProjectiveDynamics(iterations=4000), dt=1 / 100, contact=contact), 0, 0
    for _ in range(steps):
        sim.step(record=True)
        rounds, settled = rounds + sim.last_step["outer"][-1], settled + (sim.last_step.status == "converged")
    assert rounds < 10 * steps and settled > 0.9 * steps
    assert sim.last_step["active_contacts"][-1] > 5


# ---- runs made in other ways ------------------------------------------------------------------------------------------------


def test_threads_and_records_leave_the_bits():
    """If it failed, a run could not be repeated."""
    case, runs = projective_case("crossing cloths", friction=0.3), []
    for threads, record in ((1, False), (2, True), (3, False)):
        sim = projective_simulation(case, threads=threads, linear=pdgpu.AJacobi(order=2))
        for _ in range(5):
            sim.step(record=record)
        runs.append(np.concatenate([sim.positions, sim.velocities]))
    assert np.array_equal(runs[0], runs[1]) and np.array_equal(runs[0], runs[2])


def test_a_run_goes_on_in_contact_with_the_same_bits(tmp_path):
    """If it failed, something of a step would be kept that no state has."""
    case = projective_case("bodies in a box", friction=0.3)
    whole, first = projective_simulation(case), projective_simulation(case)
    whole.step(7)
    first.step(4)
    first.save(tmp_path / "run.pdgpu")
    resumed = pdgpu.Simulation.load(tmp_path / "run.pdgpu")
    assert resumed.contact == case.contact
    resumed.step(3)
    assert np.array_equal(resumed.positions, whole.positions) and np.array_equal(resumed.velocities, whole.velocities)


def test_what_stops_a_step_leaves_its_beginning():
    """If it failed, who stops a long step would find bodies inside each other."""
    case = projective_case("crossing cloths")
    sim, plain = projective_simulation(case), projective_simulation(case)
    sim.step(2)
    plain.step(3)
    before = sim.positions, sim.velocities

    def stop(state):
        if state["iteration"] == 25:
            raise OSError("enough")

    with pytest.raises(OSError, match="enough"):
        take_step(sim._core, True, observer=stop)
    assert np.array_equal(sim.positions, before[0]) and np.array_equal(sim.velocities, before[1])
    sim.external_forces = np.full(before[0].shape, 1e200)
    with pytest.raises(pdgpu.DivergenceError):
        sim.step()
    sim.external_forces = None
    assert np.array_equal(sim.positions, before[0])
    sim.step()
    assert np.array_equal(sim.positions, plain.positions)


def test_a_record_says_what_happened_in_the_rounds():
    """If it failed, the number of detections, and the reason of a stalled step, would be unknown."""
    sim = dropped(0.01, height=0.02, velocity=(0.0, -3.0, 0.0))
    sim.step(record="positions")
    record = sim.last_step
    assert record["outer"][0] == 0 and record["outer"][-1] >= 2
    assert (np.diff(record["active_contacts"]) >= 0).all() and record["active_contacts"][-1] == 1
    assert record["contact_potential"].max() > 0.0
    assert record["smallest_distance"][-1] == pytest.approx(sim.positions[0, 1])
    assert (record.positions[:, 0, 1] > 0.0).all()  # though the iterate was below the floor


# ---- bad input --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"distance": 0.0}, "distance"),
        ({"distance": float("nan")}, "distance"),
        ({"distance": 1e-3, "separation": -1.0}, "separation"),
        ({"distance": 1e-3, "restitution": -0.1}, "restitution"),
        ({"distance": 1e-3, "restitution": 1.1}, "restitution"),
        ({"distance": 1e-3, "friction": -0.1}, "friction"),
        ({"distance": 1e-3, "friction": {("a", "b"): -1.0}}, "friction"),
        ({"distance": 1e-3, "weight": 0.0}, "weight"),
        ({"distance": 1e-3, "outer": 0}, "outer"),
        ({"distance": 1e-3, "inner": 0}, "inner"),
        ({"distance": 1e-3, "tolerance": -1e-4}, "tolerance"),
        ({"distance": 1e-3, "variant": "best"}, "variant: expected one of 'corrected'.*got 'best'"),
        ({"distance": 1e-3, "variant": "vanilla", "restitution": 0.5}, "restitution"),
    ],
)
def test_bad_settings_are_named(settings, message):
    """If it failed, a wrong number would become a wrong run."""
    with pytest.raises(ValueError, match=message):
        pdgpu.ProjectiveContact(**settings)


def test_what_it_cannot_do_is_refused():
    """If it failed, a run would go on without contact, or with another."""
    scene = pdgpu.Scene((0.0, -G, 0.0))
    scene.add_particles([[0.0, 0.1, 0.0]], mass=1.0)
    contact = pdgpu.ProjectiveContact(1e-3)
    with pytest.raises(TypeError, match="Newton does not take ProjectiveContact; ProjectiveDynamics does"):
        pdgpu.Simulation(scene, pdgpu.Newton(), contact=contact)
    with pytest.raises(TypeError, match="blocks: expected True or False, got 3"):
        pdgpu.ProjectiveContact(1e-3, blocks=3)
    with pytest.raises(TypeError, match="blocks: AJacobi has one matrix for x, y and z"):
        solver = pdgpu.ProjectiveDynamics(linear=pdgpu.AJacobi())
        pdgpu.Simulation(scene, solver, contact=pdgpu.ProjectiveContact(1e-3, blocks=True))
    with pytest.raises(ValueError, match="dt=None"):
        pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(), dt=None, contact=contact)
    with pytest.raises(ValueError, match="tolerance"):
        pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(tolerance=1e-3), contact=contact)
    with pytest.raises(TypeError, match="ProjectiveContact"):
        pdgpu.compare(scene, {"PD": pdgpu.ProjectiveDynamics()}, dt=0.01, contact=contact)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(), contact=contact)
    assert len(sim.contact_forces()) == 0  # no step, no forces
    with pytest.raises(ValueError, match="no body"):
        pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(), contact=pdgpu.ProjectiveContact(1e-3, friction={("a", "b"): 0.1}))
