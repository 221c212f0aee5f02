"""Contact with segments and points as obstacles: nothing goes through, and the forces are those of closed forms."""

import numpy as np
import pytest
from contact_scenes import moved, string
from resting_contact import projective
from thin_obstacles import COLLIDERS, SEPARATION, attack, draped, grid, needles, swept
from verified_run import GOES_BACK, METHODS, WHOLE_METHODS, Verified, path, verified_run, verify, verify_descent

import pdgpu
from pdgpu import shapes

needs_gmp = pytest.mark.skipif(not pdgpu._host.HAS_GMP, reason="this build has no GMP")
G = 9.81
SOLVERS = METHODS | WHOLE_METHODS


def solved(method, name, **settings):
    """(scene, what it is run with) of a cloth over a collider, or of a swept one."""
    kind, options = SOLVERS[method]
    case = draped(name, **settings) if name in COLLIDERS else swept(**settings)
    if method in WHOLE_METHODS:
        case = projective(case, moving=True)
    return case, {"method": kind, "tolerance": 0.0, **options}


@needs_gmp
@pytest.mark.each_choice
@pytest.mark.slow
@pytest.mark.parametrize("dt", [1 / 100, 1 / 24])
@pytest.mark.parametrize("name", [*COLLIDERS, "swept"])
@pytest.mark.parametrize("method", SOLVERS)
def test_no_solver_lets_a_needle_through(method, name, dt):
    """If it failed, a needle would go through a cloth, and nothing would bring it back."""
    case, solver = solved(method, name, dt=dt, steps=8)
    found = verified_run(case, "float32", **solver)
    assert found.intersections == 0 and found.contacts > 0


@needs_gmp
@pytest.mark.stress
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dt", [1 / 100, 1 / 30])
@pytest.mark.parametrize("name", COLLIDERS)
@pytest.mark.parametrize("method", SOLVERS)
def test_a_hundred_steps_are_clean(method, name, dt, dtype):
    """If it failed, a run would be clean only as long as a test is."""
    case, solver = solved(method, name, dt=dt)
    sim, frames, iterates = case.simulation(dtype, **solver), [], []
    for step in range(100):
        frames.append(sim.positions)
        try:
            iterates.append(sim.step(record="positions").positions)
        except pdgpu.DivergenceError:  # of an acceleration, in float32; the state is that before the step
            assert "Anderson" in method and step > 20
            break
    certificate, found = pdgpu.certify([*frames, sim.positions], case.scene, separation=SEPARATION, gap=False), Verified()
    assert not certificate.intersections
    fixed = case.scene.fixed()
    for frame in {crossing.frame for crossing in certificate.crossings}:  # straight; the path may go round the end of a wire
        ways = path(frames[frame], iterates[frame], fixed, np.zeros(len(iterates[frame]) + 1))
        if isinstance(sim.solver, GOES_BACK) and sim.solver.line_search:
            verify_descent(case, found, ways, fixed)
        else:
            verify(case, found, *zip(*ways, strict=True))
    assert found.intersections == 0


OTHERS = {
    "projective": (pdgpu.ProjectiveDynamics(iterations=60), pdgpu.ProjectiveContact(2e-3, separation=SEPARATION)),
    "two-way": (pdgpu.ProjectiveDynamics(iterations=20), pdgpu.TwoWayContact(3e-3, separation=SEPARATION)),
    "two-way, VBD": (pdgpu.VertexBlockDescent(iterations=10), pdgpu.TwoWayContact(3e-3, separation=SEPARATION)),
}


@needs_gmp
@pytest.mark.parametrize("name", COLLIDERS)
@pytest.mark.parametrize("kind", OTHERS)
def test_contacts_without_a_barrier_keep_the_separation(kind, name):
    """If it failed, a contact that promises a distance would forget it at a wire."""
    solver, contact = OTHERS[kind]
    case = projective(draped(name, contact=contact), moving=True)
    sim = pdgpu.Simulation(case.scene, solver, dt=case.dt, contact=contact)
    frames = [sim.positions]
    sim.run(0.2, callback=lambda sim: frames.append(sim.positions))
    assert pdgpu.certify(frames, case.scene, separation=SEPARATION)
    assert sim.contacts(2.0 * SEPARATION, bodies=["cloth0", "thin"]).distance.size > 0


PENALTIES = {
    "Newton": pdgpu.Newton(iterations=15),
    "VBD": pdgpu.VertexBlockDescent(iterations=30),
    "PD": pdgpu.ProjectiveDynamics(iterations=30),
    "XPBD": pdgpu.XPBD(iterations=30),
}


@needs_gmp
@pytest.mark.parametrize("name", ["pin cushion", "points"])
@pytest.mark.parametrize("solver", PENALTIES)
def test_a_penalty_holds_a_cloth(solver, name):
    """If it failed, a penalty would not find the pairs of a needle."""
    contact = pdgpu.PenaltyContact(4e-3, stiffness=300.0)
    case = projective(draped(name, contact=contact), moving=True)
    sim = pdgpu.Simulation(case.scene, PENALTIES[solver], dt=case.dt, contact=contact)
    frames = [sim.positions]
    sim.run(0.4, callback=lambda sim: frames.append(sim.positions))
    assert pdgpu.certify(frames, case.scene)


def on_obstacle(forces, name):
    """The sum of the normal forces of all bodies on an obstacle, (3,) N."""
    found = forces.of(name)
    sign = np.where(found.bodies[:, 0] == found.names.index(name), 1.0, -1.0)
    return (sign * found.normal_force) @ found.normal.astype(np.float64)


SUPPORTS = {
    "wires": lambda: pdgpu.Segments([[-0.2, 0, 0.03], [0.2, 0, 0.03], [-0.2, 0, -0.03], [0.2, 0, -0.03]], [[0, 1], [2, 3]]),
    "pin cushion": lambda: needles(grid(0.06, 4), 0.1),
    "points": lambda: pdgpu.Points(grid(0.06, 4)),
}
RESTING = {
    "Newton": (pdgpu.Newton(iterations=30), "barrier"),
    "VBD": (pdgpu.VertexBlockDescent(iterations=200, tolerance=1e-4), "barrier"),
    "PD": (pdgpu.ProjectiveDynamics(iterations=100, tolerance=1e-4), "barrier"),
    "quasi-Newton": (pdgpu.QuasiNewton(iterations=60, tolerance=1e-4), "barrier"),
    "Newton, penalty": (pdgpu.Newton(iterations=30), "penalty"),
    "VBD, penalty": (pdgpu.VertexBlockDescent(iterations=100), "penalty"),
    "rigid": (pdgpu.Newton(iterations=30), "barrier"),
}


@pytest.mark.each_choice
@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("run", RESTING)
def test_the_force_at_rest_is_the_weight(run, support):
    """If it failed, the force on a wire would not be a measurement."""
    solver, kind = RESTING[run]
    scene = pdgpu.Scene()
    block = shapes.beam((0.1, 0.04, 0.1), cells=(3, 1, 3))
    block = moved(block, [-0.05, SEPARATION + 2.05e-3, -0.05])
    if run == "rigid":
        body = scene.add_rigid(pdgpu.Mesh(block.points, triangles=block.surface).without_unused_vertices(), density=200.0, name="block")
    else:
        body = scene.add_solid(block, pdgpu.ARAP(5e5), density=200.0, name="block", damping=5e-3)
    scene.add_obstacle(SUPPORTS[support](), name="thin")
    contact = {
        "barrier": pdgpu.BarrierContact(2e-3, separation=SEPARATION, friction=0.3),
        "penalty": pdgpu.PenaltyContact(4e-3, stiffness=2e3, friction=0.3, detection_interval=0),
    }[kind]
    sim = pdgpu.Simulation(scene, solver, dt=1 / 100, contact=contact)
    sim.step(40)
    weight, forces = 200.0 * 4e-4 * G, []
    for _ in range(10):
        sim.step()
        forces.append(on_obstacle(sim.contact_forces(), "thin"))
    assert np.mean(forces, axis=0)[1] == pytest.approx(-weight, rel=0.01)
    assert body.masses.sum() * G == pytest.approx(weight, rel=1e-12)


def test_a_bar_on_two_wires_is_a_lever():
    """If it failed, forces on segments would sum up right and be distributed wrongly: W b/(a + b) and W a/(a + b)."""
    scene = pdgpu.Scene()
    bar = moved(shapes.box((0.4, 0.02, 0.04)), [-0.2, SEPARATION + 1.5e-3, -0.02])
    scene.add_rigid(bar, density=500.0, name="bar")
    for name, x in (("near", -0.05), ("far", 0.15)):
        scene.add_obstacle(pdgpu.Segments([[x, 0.0, -0.1], [x, 0.0, 0.1]], [[0, 1]]), name=name)
    contact = pdgpu.BarrierContact(2e-3, separation=SEPARATION, friction=0.5)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=40, tolerance=1e-6), dt=1 / 100, contact=contact)
    sim.step(80)
    forces, weight = sim.contact_forces(), 500.0 * 0.4 * 0.02 * 0.04 * G
    assert -on_obstacle(forces, "near")[1] == pytest.approx(0.75 * weight, rel=0.01)
    assert -on_obstacle(forces, "far")[1] == pytest.approx(0.25 * weight, rel=0.01)


def rails(*, friction, slope=0.0, speed=0.0, rigid=False):
    """A block on two wires along x, with gravity turned by a slope, or wires that move along themselves."""
    scene = pdgpu.Scene((G * np.sin(slope), -G * np.cos(slope), 0.0))
    block = shapes.beam((0.06, 0.03, 0.1), cells=(2, 1, 3))
    block = moved(block, [-0.03, SEPARATION + 2.05e-3, -0.05])
    if rigid:
        scene.add_rigid(pdgpu.Mesh(block.points, triangles=block.surface), density=300.0, name="block")
    else:
        scene.add_solid(block, pdgpu.ARAP(1e6), density=300.0, name="block")
    wires = pdgpu.Segments([[-0.5, 0, 0.03], [1.5, 0, 0.03], [-0.5, 0, -0.03], [1.5, 0, -0.03]], [[0, 1], [2, 3]])
    scene.add_obstacle(wires, motion=(lambda time, rest: rest + [speed * max(time - 0.2, 0.0), 0.0, 0.0]) if speed else None, name="wires")
    contact = pdgpu.BarrierContact(2e-3, separation=SEPARATION, friction=friction)
    return pdgpu.Simulation(scene, pdgpu.Newton(iterations=60, tolerance=1e-6), dt=1 / 200, contact=contact)


@pytest.mark.parametrize("rigid", [False, True])
@pytest.mark.parametrize("friction", [0.2, 0.4])
def test_a_block_on_inclined_wires_slips_or_sticks(friction, rigid):
    """If it failed, a body on a wire would not know the angle of friction: it slips with g (sin a - mu cos a), or sticks."""
    slope = np.arctan(0.3)
    sim = rails(friction=friction, slope=slope, rigid=rigid)
    sim.step(60)  # it has settled
    before = sim.velocities[:, 0].mean()
    sim.step(40)
    acceleration = (sim.velocities[:, 0].mean() - before) / (40 * sim.dt)
    if friction > 0.3:
        assert abs(sim.velocities[:, 0]).max() < 2e-3 and abs(acceleration) < 1e-2
    else:
        assert acceleration == pytest.approx(G * (np.sin(slope) - friction * np.cos(slope)), rel=0.01)


def test_moving_wires_carry_a_block():
    """If it failed, friction would not know that a wire moves along itself: the block gains mu g until it is as fast."""
    sim = rails(friction=0.3, speed=0.4)
    sim.step(42)  # the wires start when the block has settled
    before = sim.velocities[:, 0].mean()
    sim.step(10)
    assert (sim.velocities[:, 0].mean() - before) / (10 * sim.dt) == pytest.approx(0.3 * G, rel=0.02)
    sim.step(40)
    assert sim.velocities[:, 0].mean() == pytest.approx(0.4, rel=0.01)


def over_wires(ratio, friction, n=100):
    """A chain over 40 wires around a circle of radius 10 mm, its two sides `ratio` times as long as each other."""
    radius, short, distance = 0.01, 0.06, 5e-4
    lengths, outer = (short * ratio, short), radius + 1.1 * distance
    arc = np.pi * outer
    s = np.linspace(-lengths[0], arc + lengths[1], n + 1)
    angle = np.clip(s, 0.0, arc) / outer
    points = np.stack([-np.cos(angle) * outer, np.sin(angle) * outer + np.minimum(s, 0.0) - np.maximum(s - arc, 0.0), 0.0 * s], axis=1)
    scene = pdgpu.Scene()
    scene.add_rod(string(points), pdgpu.Spring(2e4), density=0.05, name="chain", damping=1e-3)
    around = np.arange(40) * np.pi / 20.0
    ends = radius * np.stack([np.cos(around), np.sin(around), 0.0 * around], axis=1)
    rows = np.arange(80).reshape(2, 40).T
    wires = pdgpu.Segments(np.concatenate([ends - [0.0, 0.0, 0.1], ends + [0.0, 0.0, 0.1]]), rows)
    scene.add_obstacle(wires, name="wires")
    contact = pdgpu.BarrierContact(distance, friction=friction, friction_velocity=1e-4)
    solver = pdgpu.Newton(iterations=60, tolerance=1e-6)
    return pdgpu.Simulation(scene, solver, dt=1 / 500, contact=contact), 0.05 * (s[-1] - s[0]) * G


def test_a_chain_over_wires_slips_at_the_belt_friction():
    """If it failed, a chain over wires would slip at another ratio of its two sides than e^(mu pi) [Euler 1769, Eytelwein 1808]."""
    friction = 0.3
    limit = np.exp(friction * np.pi)  # 2.57
    speeds = {}
    for factor in (0.8, 1.2):
        sim, _ = over_wires(limit * factor, friction)
        sim.step(60)
        speeds[factor] = -sim.velocities[0, 1]
    # a rigid chain with this friction has some 0.09 m/s after 0.12 s
    assert abs(speeds[0.8]) < 1e-3 and speeds[1.2] > 0.04


def test_the_force_of_a_chain_is_its_weight():
    """If it failed, the pull of a hanging chain on wires would be wrong."""
    sim, weight = over_wires(1.0, 0.3)
    sim.step(60)
    forces = []
    for _ in range(20):
        sim.step()
        forces.append(sim.contact_forces().forces.sum(axis=0))
    assert np.mean(forces, axis=0)[1] == pytest.approx(weight, rel=0.01)


@needs_gmp
@pytest.mark.parametrize("kind", ["segments", "points"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_moving_wire_pushes_a_soft_block(dtype, kind):
    """If it failed, the wire would cut the block, or its impulse would not be the block's momentum."""
    case = swept(1.0, kind=kind, steps=25)
    sim = case.simulation(dtype, iterations=100, tolerance=1e-5 if dtype == "float64" else 1e-3)
    frames, times, impulse = [sim.positions], [0.0], np.zeros(3)
    for _ in range(case.steps):
        sim.step()
        assert sim.last_step.behind == 0.0
        impulse += sim.dt * sim.contact_forces().forces.sum(axis=0)
        frames.append(sim.positions)
        times.append(sim.time)
    momentum = sim.bodies[0].masses @ sim.velocities.astype(np.float64)
    np.testing.assert_allclose(impulse, momentum, rtol=0.0, atol=0.01 * abs(momentum).max())
    assert momentum[2] / sim.bodies[0].masses.sum() > 0.8  # m/s
    assert pdgpu.certify(frames, case.scene, times=times, separation=0.999 * SEPARATION)


@needs_gmp
@pytest.mark.parametrize("kind", ["pin and needle", "pins on points"])
def test_a_pin_that_meets_a_needle_is_refused(kind):
    """If it failed, two motions that nothing stops would pass through each other unseen."""
    scene = pdgpu.Scene()
    if kind == "pin and needle":
        rod = scene.add_rod(string(np.array([[-0.1, 0.0, 0.0], [0.1, 0.0, 0.0]])), pdgpu.Spring(1e2), density=0.1, name="rod")
        rod.pin([0, 1], motion=lambda time, rest: rest + [0.0, -time, 0.0])
        scene.add_obstacle(pdgpu.Segments([[0.0, -0.05, -0.1], [0.0, -0.05, 0.1]], [[0, 1]]), name="needle")
    else:
        flat = shapes.grid((0.2, 0.2), (2, 2))
        sheet = scene.add_shell(
            pdgpu.Mesh(flat.points[:, [0, 2, 1]] - 0.09, triangles=flat.triangles), pdgpu.Spring(1e2), density=0.1, name="rod"
        )
        sheet.pin(np.arange(9), motion=lambda time, rest: rest + [0.0, -time, 0.0])
        scene.add_obstacle(pdgpu.Points([[0.0, -0.14, 0.0]]), name="needle")
    contact = pdgpu.BarrierContact(1e-3, stiffness=1e3)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=5), dt=1 / 100, contact=contact)
    with pytest.raises(ValueError, match="needle"):
        sim.run(0.2)


def test_the_search_finds_their_pairs():
    """If it failed, `contacts` would not see the needle that the barrier sees."""
    case = draped("pin cushion")
    sim = case.simulation()
    found = sim.contacts(0.02, bodies=["cloth0", "thin"])
    assert set(found.kind) <= {"vertex-triangle", "edge-edge"} and len(found)
    collider = case.scene["thin"].collider
    nearest = collider.distance(found.points[:, 0] if found.names[found.bodies[0, 0]] == "cloth0" else found.points[:, 1])
    assert found.distance.min() == pytest.approx(nearest.min(), abs=1e-12)


def test_saved_runs_go_on_with_the_same_bits(tmp_path):
    """If it failed, a run with a wire could not be interrupted."""
    case = swept(1.0)

    def motion(time, rest):
        return rest + [0.0, 0.0, time]

    sim = case.simulation()
    sim.step(4)
    sim.save(tmp_path / "run")
    again = pdgpu.Simulation.load(tmp_path / "run", motions={"thin": [motion]})
    collider = again.obstacles[0].collider
    assert isinstance(collider, pdgpu.Segments) and np.array_equal(collider.edges, case.scene["thin"].collider.edges)
    for other in (sim, again):
        other.step(3)
    assert sim.positions.tobytes() == again.positions.tobytes()


def test_threads_do_not_change_the_bits():
    """If it failed, two runs of one scene would differ."""
    ends = []
    for threads in (1, 3):
        sim = draped("pin cushion").simulation(threads=threads)
        sim.step(6)
        ends.append(sim.positions.tobytes())
    assert ends[0] == ends[1]


@needs_gmp
@pytest.mark.parametrize("seed", range(4))
def test_nothing_goes_through_in_random_scenes(seed):
    """If it failed, some direction of a needle against some kind of body would be forgotten."""
    found = verified_run(attack(seed), "float32", iterations=8)
    assert found.intersections == 0 and found.contacts > 0


@needs_gmp
@pytest.mark.stress
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(4, 104))
def test_nothing_goes_through_in_many_random_scenes(seed, dtype):
    """If it failed, some direction of a needle against some kind of body would be forgotten."""
    case = attack(seed)
    method = (pdgpu.Newton, pdgpu.VertexBlockDescent, pdgpu.QuasiNewton)[seed % 3]
    found = verified_run(case, dtype, iterations=1 + seed % 9, method=method)
    assert found.intersections == 0
