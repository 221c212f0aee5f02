"""Contact by the two-way interior point method: answers on paper, what it keeps, and that nothing passes through anything."""

import itertools

import numpy as np
import pytest
from contact_scenes import SCENES, cloth, cube, moved, sheet, turned
from two_way_run import SOLVERS, two_way_case, two_way_simulation, verified_two_way_run
from verified_run import faults

import pdgpu
from pdgpu import _host

G = 9.8
needs_gmp = pytest.mark.skipif(not _host.HAS_GMP, reason="this build has no GMP")


def simulation(scene, contact, *, dt=0.01, solver=None, **others):
    return pdgpu.Simulation(scene, solver or pdgpu.ProjectiveDynamics(iterations=5), dt=dt, contact=contact, **others)


def dropped(*, height=0.05, velocity=(0.0, 0.0, 0.0), gravity=(0.0, -G, 0.0), **contact):
    """A vertex above a plane."""
    scene = pdgpu.Scene(gravity)
    scene.add_particles([[0.0, height, 0.0]], mass=2.0, velocity=velocity)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    return simulation(scene, pdgpu.TwoWayContact(5e-3, **contact))


# ---- answers on paper -------------------------------------------------------------------------------------------------------


def test_a_body_falls_lands_and_rests_at_its_distance():
    """If it failed, what lies on a floor would hover, sink or never lie still."""
    sim = dropped()
    sim.step(8)
    assert sim.positions[0, 1] == pytest.approx(0.05 - G * 0.01**2 * 8 * 9 / 2, abs=1e-15)  # nothing was near so far
    sim.step(12)
    assert sim.positions[0, 1] == pytest.approx(5e-3, rel=1e-12) and np.abs(sim.velocities).max() < 1e-12
    assert sim.last_step.update.status == "converged"


@pytest.mark.parametrize(("friction", "where"), [(0.0, "sweeps"), (0.1, "sweeps"), (0.4, "sweeps"), (0.2, "filter"), (0.4, "filter")])
def test_friction_on_an_incline_is_coulombs(friction, where):
    """If it failed, what slides would be as fast with friction as without, and what sticks would creep."""
    slope = 0.2553
    angle = np.arctan(slope)
    gravity = G * np.array([np.sin(angle), -np.cos(angle), 0.0])
    sim = dropped(height=5e-3, gravity=gravity, friction=friction, friction_in=where)
    sim.step(20)
    expected = max(0.0, gravity[0] - friction * -gravity[1]) * 0.2
    assert sim.velocities[0, 0] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    if friction > slope:
        assert abs(sim.positions[0, 0]) < 1e-12


def landed(friction, where="filter"):
    """Two stiff cubes that meet in a step, off the middle and askew, and how fast they were."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    stiff = pdgpu.ARAP.from_young(young=1e6, poisson=0.3)
    scene.add_solid(cube(0.1, 2, (-0.0515, 0.0, 0.0)), stiff, density=1000.0, velocity=(0.5, 0.6, 0.0))
    scene.add_solid(cube(0.1, 2, (0.0515, 0.01, 0.005)), stiff, density=3000.0, velocity=(-0.2, 0.0, 0.1))
    sim = simulation(scene, pdgpu.TwoWayContact(2e-3, friction=friction, friction_in=where, sweeps=16))
    before = sim.velocities
    sim.step()
    assert sim.last_step.update.rows > 10
    return sim, before


def test_a_filter_of_friction_takes_energy_and_no_more_than_coulomb():
    """If it failed, friction as the paper has it would push, pull harder than the impulse that presses, or take momentum from both."""
    frames = {mu: landed(mu) for mu in (0.0, 0.1, 0.2, 10.0)}
    energy = {mu: 0.5 * sim.masses @ (sim.velocities**2).sum(axis=1) for mu, (sim, _) in frames.items()}
    assert energy[0.0] > energy[0.1] > energy[0.2] > energy[10.0] > 0.0
    first = slice(0, len(frames[0.0][0].positions) // 2)
    for mu, (sim, before) in frames.items():
        given = sim.masses[:, None] * (sim.velocities - before)
        assert np.linalg.norm(given.sum(axis=0)) < 1e-12 * np.abs(given).sum()
        given = given[first].sum(axis=0)
        # normals of what the impact has bent are not all along x: 0.014 without friction
        assert given[0] < 0.0 and np.linalg.norm(given[1:]) <= (mu + 0.02) * -given[0]
        if 0.0 < mu < 1.0:
            assert np.linalg.norm(given[1:]) > 0.5 * mu * -given[0] and given[1] < 0.0


@pytest.mark.parametrize(("stiffness", "apart"), [(0.0, 3e-3), (20.0, 3e-3), (1e6, 3e-3), (1e6, 3.9e-3), (1e6, 4.1e-3)])
def test_repulsion_is_hookes_and_parts_no_farther_than_a_tenth(stiffness, apart):
    """If it failed, bodies that come near would be thrown apart, the farther the harder they repel, or not be kept apart at all."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    scene.add_particles([[0.0, 0.0, 0.0], [apart, 0.0, 0.0]], mass=[1.0, 3.0])
    sim = simulation(scene, pdgpu.TwoWayContact(2e-3, separation=1e-5, repulsion=stiffness))
    over, mass, parted = max(0.0, 2 * 2e-3 - 1e-5 - apart), 0.75, 0.0
    for _ in range(3):  # what parts as fast already gets nothing more
        most = max(parted, min(parted + 0.01**2 * stiffness * over / mass, 0.1 * over))
        sim.step()
        parted, over = most, max(0.0, over - most)
        assert np.diff(0.01 * sim.velocities[:, 0])[0] == pytest.approx(parted, rel=1e-6, abs=1e-15)
    assert 0.5 * sim.masses @ (sim.velocities**2).sum(axis=1) <= 0.5 * mass * (0.1 * 1.1e-3 / 0.01) ** 2
    assert sim.masses @ sim.velocities == pytest.approx(0.0, abs=1e-12)


def test_a_log_barrier_ends_where_its_gradient_does():
    """If it failed, the rival would be another problem than the paper's: its strength would mean something else."""
    aim, far, mass = 6e-3 - 0.01 * 2.0 - 0.01**2 * G, 5e-3 - 5e-5, 2.0
    for strength in (2.0, 200.0):
        sim = dropped(height=6e-3, velocity=(0.0, -2.0, 0.0), multipliers="barrier", edge_limit=None, strength=strength)
        sim.step()

        def slope(y, strength=strength):
            d = y - 5e-5
            return mass * (y - aim) - 0.01**2 * strength * (far - d) * (-2.0 * np.log(d / far) + (far - d) / d)

        low, high = 5e-5 * (1 + 1e-9), 5e-3
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
        assert sim.last_step.update.status == "converged" and 5e-5 < middle < 5e-3
        # to the minimum of a target that is a tenth of the distance away
        assert abs(slope(sim.positions[0, 1])) < 0.1 * 5e-3 * mass


def particles(scene, points, velocity):
    scene.add_particles(points, mass=[1.0, 2.0, 3.0, 4.0][: len(points)], velocity=velocity)


def rod(scene, points, velocity):
    scene.add_rod(pdgpu.Mesh(points, edges=[[0, 1]]), pdgpu.Spring(1e-6), density=3.0, velocity=velocity)


def triangle(scene, points, velocity):
    scene.add_shell(pdgpu.Mesh(points, triangles=[[0, 1, 2]]), pdgpu.Spring(1e-6), density=5.0, velocity=velocity)


# what is above, which comes down, and what is below
PAIRS = {
    "vertex-vertex": ((particles, [[0.0, 0.01, 0.0]]), (particles, [[1e-3, 0.0, 0.0]])),
    "vertex-edge": ((particles, [[0.01, 0.01, 1e-3]]), (rod, [[-0.05, 0.0, 0.0], [0.05, 0.0, 0.0]])),
    "vertex-triangle": ((particles, [[0.0, 0.01, 0.0]]), (triangle, [[-0.05, 0.0, -0.05], [0.0, 0.0, 0.06], [0.05, 0.0, -0.03]])),
    "parallel edges": ((rod, [[-0.04, 0.01, 0.0], [0.05, 0.01, 0.0]]), (rod, [[-0.05, 0.0, 0.0], [0.04, 0.0, 0.0]])),
    "edge-edge": ((rod, [[-0.04, 0.01, 0.01], [0.05, 0.012, 0.0]]), (rod, [[0.0, 0.0, -0.05], [0.0, 0.0, 0.05]])),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_a_pair_ends_at_its_distance_and_keeps_its_momentum(pair):
    """If it failed, a gradient would not be that of its distance: pairs would stay too near, be thrown away, or start to turn."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    for (make, points), velocity in zip(PAIRS[pair], ((0.03, -0.95, 0.0), (0.0, 0.0, 0.0)), strict=True):
        make(scene, points, velocity)
    sim = simulation(scene, pdgpu.TwoWayContact(2e-3, edge_limit=None))
    aim = sim.positions + 0.01 * sim.velocities
    masses = sim.masses[:, None]
    sim.step(record=True)
    update, pushed = sim.last_step.update, masses * (sim.positions - aim)
    assert update.status == "converged" and update.columns["rows"].max() >= 1
    # not all of a tenth of the distance is left after the last step
    assert update.columns["smallest_distance"][-1] == pytest.approx(2e-3, rel=0.02)
    size = np.abs(pushed).sum()
    assert size > 0.0 and np.linalg.norm(pushed.sum(axis=0)) < 0.02 * size
    assert np.linalg.norm(np.cross(sim.positions - sim.positions.mean(axis=0), pushed).sum(axis=0)) < 0.1 * size * np.ptp(sim.positions)


def test_bodies_that_meet_keep_their_momentum():
    """If it failed, what one body gets from another would not be what that gives."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    stiff = pdgpu.ARAP.from_young(young=1e7, poisson=0.4)
    scene.add_solid(cube(0.1, 2, (-0.0515, 0.0, 0.0)), stiff, density=1000.0, velocity=(1.0, 0.0, 0.0))
    scene.add_solid(cube(0.1, 2, (0.0515, 0.01, 0.005)), stiff, density=3000.0, velocity=(-0.2, 0.0, 0.0))
    sim = simulation(scene, pdgpu.TwoWayContact(2e-3), solver=pdgpu.ProjectiveDynamics(iterations=20))
    before, first = sim.masses @ sim.velocities, sim.velocities
    for _ in range(6):
        sim.step()
        assert sim.last_step.update.status == "converged"
    assert np.linalg.norm(sim.masses @ sim.velocities - before) < 1e-12 * np.linalg.norm(before)
    assert np.abs(sim.velocities - first).max() > 0.5  # they have met


def test_an_edge_is_not_stretched_beyond_its_limit():
    """If it failed, cloth that is held back by what it falls on would be torn apart."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    scene.add_rod(pdgpu.Mesh([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]], edges=[[0, 1]]), pdgpu.Spring(1e-6), density=1.0)
    for limit, length in ((1.1, 0.11), (1.5, 0.15), (None, 0.16)):
        sim = simulation(scene, pdgpu.TwoWayContact(1e-3, edge_limit=limit))
        sim.set_state(velocities=[[-3.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
        sim.step()
        assert np.ptp(sim.positions[:, 0]) == pytest.approx(length, abs=1e-6)
        assert sim.masses @ sim.velocities == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("patience", "status"), [(0, "iteration_cap"), (16, "converged")])
def test_an_update_that_does_not_end_sweeps_more(patience, status):
    """If it failed, strings that swing on what they fall on would swing in every step of an update, to its last."""
    sim = two_way_simulation(two_way_case("rods on capsules", patience=patience, steps=250, passes=1), SOLVERS["PD"])
    sim.step()
    assert sim.last_step.update.status == status


def test_an_edge_that_touches_by_one_end_falls_with_the_other():
    """If it failed, each end of an edge would be held back as if it were the one that touches, and take many steps for one."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    scene.add_rod(pdgpu.Mesh([[0.0, 1.2e-3, 0.0], [0.2, 0.1, 0.0]], edges=[[0, 1]]), pdgpu.Spring(1e-6), density=1.0)
    scene.add_particles([[0.0, 0.0, 0.0]], mass=1e6)
    sim = simulation(scene, pdgpu.TwoWayContact(1e-3, edge_limit=None, steps=1))
    sim.set_state(velocities=[[0.0, 0.0, 0.0], [0.0, -5.0, 0.0], [0.0, 0.0, 0.0]])
    sim.step(record=True)
    gone = 0.1 - sim.positions[1, 1]
    assert 5e-3 < gone <= 0.5 * 0.9 * sim.last_step.update.columns["listed"][0]


# ---- cloths: the reference figures are those of the checked specification, by another program -------------------------------


def crossing_patches():
    """Two patches, of which one falls on the other within a step."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    cloth(scene, sheet(0.1, 0.1, 12), cells=12)
    cloth(scene, sheet(0.1, 0.1, 12, 3e-3), cells=12, velocity=(0.0, -1.0, 0.0))
    return scene


def stretch(sim):
    edges, rest = sim._core.touching.stretching()
    return float((np.linalg.norm(np.diff(sim.positions[edges], axis=1)[:, 0], axis=1) / rest).max())


def test_two_patches_come_apart():
    """If it failed, a target that intersects would stay one, or be reached."""
    sim = simulation(crossing_patches(), pdgpu.TwoWayContact(1e-3))
    aim = sim.positions + 0.01 * sim.velocities
    upper = slice(169, None)
    assert aim[upper, 1].max() < aim[:169, 1].min()  # the one has gone through the other
    sim.step(record="positions")
    update = sim.last_step.update
    assert update.status == "converged" and update.steps <= 106
    assert sim.positions[upper, 1].min() > sim.positions[:169, 1].max()
    assert stretch(sim) <= 1.15
    assert update.columns["smallest_distance"].min() >= 1e-5


@needs_gmp
@pytest.mark.parametrize(("sweeps", "most"), [(1, 106), (4, 98), (8, 91)])
def test_patches_that_cross_come_apart(sweeps, most):
    """If it failed, a target of two cloths through each other would be reached, or come to at the cost of their shape."""
    scene, upper = pdgpu.Scene((0.0, 0.0, 0.0)), turned(sheet(0.1, 0.1, 12), (1.0, 0.0, 0.4), 0.3)
    cloth(scene, sheet(0.1, 0.1, 12), cells=12)
    cloth(scene, moved(upper, [0.0, 3e-3 - upper.points[:, 1].min(), 0.0]), cells=12, velocity=(0.0, -1.0, 0.0))
    contact = pdgpu.TwoWayContact(1e-3, separation=1e-5, sweeps=sweeps)
    sim = simulation(scene, contact)
    aim = sim.positions + 0.01 * sim.velocities
    assert len(pdgpu.geometry.find_intersections(aim, sim._core.touching.triangles)) == 44  # as many as in the specification's run
    sim.step(record="positions")
    update = sim.last_step.update
    assert update.status == "converged" and update.steps <= most and update.residual < 1e-4
    assert stretch(sim) <= 1.11 and update.columns["smallest_distance"].min() >= 1e-5
    assert faults(Case(scene, contact), update.path, np.zeros(len(update.path))) == 0


def test_limits_keep_the_shape_of_what_is_pushed_apart():
    """If it failed, a limit of edges would do nothing, or all that it does."""
    found = {}
    for limit in (1.1, None):
        sim = simulation(on_needle(8), pdgpu.TwoWayContact(1e-3, edge_limit=limit, passes=1))
        sim.step(10)
        found[limit] = stretch(sim)
    assert found[1.1] <= 1.15 < 1.5 < found[None]


def on_needle(cells):
    """A cloth falls on the tip of a thin pyramid."""
    scene = pdgpu.Scene((0.0, -G, 0.0))
    cloth(scene, sheet(0.4, 0.4, cells, 3e-3), cells=cells, velocity=(0.0, -0.5, 0.0))
    tip = np.array([[0.0, 0.0, 0.0], [0.01, -0.4, 0.0], [-0.005, -0.4, 0.009], [-0.005, -0.4, -0.009]]) + [0.003, 0.0, 0.004]
    scene.add_obstacle(pdgpu.Mesh(tip, triangles=[(0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2)]), name="needle")
    return scene


class Case:
    """What verified_run.faults looks at."""

    def __init__(self, scene, contact):
        self.scene, self.contact = scene, contact


@needs_gmp
@pytest.mark.parametrize(
    ("cells", "steps"),
    [pytest.param(6, 12, marks=pytest.mark.slow), pytest.param(14, 30, marks=[pytest.mark.stress, pytest.mark.timeout(900)])],
)
def test_a_cloth_hangs_on_a_needle(cells, steps):
    """If it failed, a needle would pierce a cloth, or tear it, or an update would end far from where it should."""
    scene, contact = on_needle(cells), pdgpu.TwoWayContact(1e-3, separation=1e-5)
    sim, most = simulation(scene, contact), 0.0
    for _ in range(steps):
        sim.step(record="positions")
        update = sim.last_step.update
        path = update.path[:, : len(sim.positions)]
        assert faults(Case(scene, contact), path, np.zeros(len(path))) == 0
        assert update.columns["smallest_distance"].min() >= 1e-5
        assert update.status == "iteration_cap" or update.residual < 1e-4
        most = max(most, stretch(sim))
    assert most <= 1.15
    assert sim.positions[:, 1].min() < -0.02  # what is beside the needle has gone on falling


# ---- what is promised of the list of pairs -----------------------------------------------------------------------------------


def test_every_pair_that_is_near_is_in_the_list():
    """If it failed, a vertex could go farther than what it does not know of lets it: D would say more than was searched."""
    scene = pdgpu.Scene((0.0, -G, 0.0))
    for k in range(3):
        cloth(scene, sheet(0.02, 0.02, 2, 2.5e-3 * k), cells=2, velocity=(0.05 * k, -0.4 * k, 0.1))
    line = np.column_stack([np.linspace(0.0, 0.02, 4), np.full(4, 7.5e-3), np.linspace(0.0, -0.02, 4)])
    scene.add_rod(pdgpu.Mesh(line, edges=[[0, 1], [1, 2], [2, 3]]), pdgpu.Spring(100.0), density=0.01, velocity=(0.0, -0.8, 0.0))
    scene.add_particles(line[:2] + [3e-3, 2.5e-3, 0.0], mass=1e-5, velocity=(0.0, -1.0, 0.0))
    sim = simulation(scene, pdgpu.TwoWayContact(1e-3))
    triangles, edges = sim._core.touching.triangles, sim._core.touching.edges
    # a grain is an edge from itself to itself, which sides of triangles leave to the triangles
    sides = {frozenset(side) for t in triangles.tolist() for side in itertools.combinations(t, 2)}
    crossing = [(a, b) for a, b in itertools.combinations(edges.tolist(), 2) if not set(a) & set(b)]
    crossing = [(a, b) for a, b in crossing if (a[0] != a[1] and b[0] != b[1]) or not {frozenset(a), frozenset(b)} & sides]
    on_faces = np.array([[v, *t] for v in range(len(sim.positions)) for t in triangles.tolist() if v not in t])
    crossing = np.array(crossing).reshape(-1, 4)
    looks, kept = 0, 0
    for _ in range(3):
        sim.step(record="positions")
        update = sim.last_step.update
        for step, x in enumerate(update.path):
            near = pdgpu.geometry.vertex_triangle(x[on_faces]).distance, pdgpu.geometry.edge_edge(x[crossing]).distance
            assert update.columns["searched"][step] >= update.columns["listed"][step]
            assert (np.concatenate(near) < update.columns["listed"][step]).sum() == update.columns["pairs"][step] > 0
            looks += 1
        kept += (update.columns["search"] == 0).sum()
    assert looks > 8 and update.columns["rows"].max() > 0 and kept > 4  # most states go by a search of another


def test_what_is_beside_each_other_in_a_cloth_is_not_in_the_list():
    """If it failed, an update would cost three times as much: a cloth's own neighbours, which never meet, would be measured."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    cloth(scene, sheet(0.1, 0.1, 12), cells=12, velocity=(0.0, -1.0, 0.0))
    sim = simulation(scene, pdgpu.TwoWayContact(1e-3))
    sim.step(record=True)
    update = sim.last_step.update
    assert update.status == "converged" and update.steps <= 10 and not update.columns["pairs"].any()


# ---- nothing passes through anything ----------------------------------------------------------------------------------------


@needs_gmp
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "solver", "dtype"),
    [
        pytest.param("needle", "Newton", "float64", marks=pytest.mark.stress),  # test_a_cloth_hangs_on_a_needle looks at its paths too
        ("knot", "PD", "float32"),
        ("rings", "XPBD", "float64"),
        ("bodies in a box", "VBD", "float32"),
        ("sand", "PD", "float64"),
    ],
)
def test_every_state_of_an_update_is_clean(name, solver, dtype):
    """If it failed, an update that ends before it converged would leave a state from which there is no way back."""
    steps = {"knot": 9, "rings": 2, "bodies in a box": 2}.get(name, 3)  # the knot: until its ends have pulled it together
    found = verified_two_way_run(two_way_case(name, steps=10), SOLVERS[solver], dtype, steps=steps)
    assert found.intersections == 0 and found.contacts > 0


@needs_gmp
@pytest.mark.stress
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", SCENES)
def test_every_state_of_an_update_is_clean_in_any_scene(name, solver, dtype):
    """If it failed, an update that ends before it converged would leave a state from which there is no way back."""
    case = two_way_case(name, friction=0.3)
    assert verified_two_way_run(case, SOLVERS[solver], dtype).intersections == 0


def pinched(speed):
    """A stiff block between two plates, of which the upper comes down."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    scene.add_solid(pdgpu.shapes.beam((0.1, 0.1, 0.1), (1, 1, 1)), pdgpu.ARAP.from_young(young=1e7, poisson=0.3), density=1000.0)
    plate = pdgpu.shapes.box((0.5, 0.05, 0.5))
    lower, upper = (pdgpu.Mesh(plate.points + [-0.2, y, -0.2], triangles=plate.triangles) for y in (-0.052, 0.102))
    scene.add_obstacle(lower, name="lower")
    scene.add_obstacle(upper, name="upper", motion=lambda t, rest: rest - [0.0, speed * t, 0.0])
    return scene


def test_what_presses_comes_late_and_never_passes_through():
    """If it failed, an obstacle that moves by a script would go into what it cannot push away, or would lose its shape."""
    scene, contact = pinched(0.6), pdgpu.TwoWayContact(1e-3, steps=60)
    sim, late = simulation(scene, contact), []
    plates = [pdgpu.shapes.box((0.5, 0.05, 0.5)).points] * 2
    for _ in range(20):
        sim.step(record="positions")
        late.append(sim.last_step.behind)
        assert sim.last_step.update.columns["smallest_distance"].min() >= contact.separation * (1.0 - 1e-9)
        driven = sim._core.backend.driven()
        for points, rest in zip((driven[:8], driven[8:]), plates, strict=True):
            np.testing.assert_allclose(points - points[0], rest - rest[0], atol=1e-12)
    assert late[0] == 0.0 and late[-1] > 1e-3
    driven = sim._core.backend.driven()
    assert driven[8:, 1].min() - driven[:8, 1].max() > np.ptp(sim.positions[:, 1]) > 0.0


def test_the_solver_goes_on_from_an_update_between_its_iterations():
    """If it failed, Newton's method would be told of contact only when it is done."""
    gaps = {}
    for every in (0, 2):
        case = two_way_case("needle", every=every, steps=40, passes=1)
        sim = two_way_simulation(case, pdgpu.Newton(iterations=6))
        sim.step(2, record="positions")
        update = sim.last_step.update
        assert update.updates == (1 if every == 0 else 3) and update.columns["smallest_distance"].min() >= case.contact.separation
        assert (update.columns["step"] == 0).sum() == update.updates
        gaps[every] = sim.positions
    assert np.abs(gaps[0] - gaps[2]).max() > 1e-6


def test_an_update_between_iterations_is_no_divergence():
    """If it failed, what flies freely, with no gradient to speak of, and then lands would be taken for a solver that flies apart."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    cloth(scene, sheet(0.1, 0.1, 4, 3e-3), cells=4, velocity=(0.0, -0.5, 0.0))
    scene.add_obstacle(pdgpu.Sphere((0.0, -0.05, 0.0), 0.05), name="ball")
    sim = simulation(scene, pdgpu.TwoWayContact(1e-3, every=2), solver=pdgpu.ProjectiveDynamics(iterations=8))
    sim.step(3)
    assert sim.positions[:, 1].min() < 0.0


# ---- what it is compared with -----------------------------------------------------------------------------------------------


RIVALS = [
    {"multipliers": "jacobi", "sweeps": 8},
    {"multipliers": "linear", "edge_limit": None},
    {"multipliers": "augmented_lagrangian", "sweeps": 8},
    {"multipliers": "barrier", "edge_limit": None},
    {"lengths": "impact"},
    {"lengths": "impacts"},
]


@needs_gmp
@pytest.mark.slow
@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: next(iter(rival.values())))
def test_every_state_of_a_rival_is_clean(rival):
    """If it failed, a comparison would be with what lets things through."""
    found = verified_two_way_run(two_way_case("crossing cloths", steps=10, **rival), SOLVERS["PD"], steps=1)
    assert found.intersections == 0 and found.contacts > 0


@pytest.mark.parametrize("rival", ["jacobi", "augmented_lagrangian"])
def test_a_rival_comes_to_the_multipliers_of_gauss_seidel(rival):
    """If it failed, a rival would solve another problem, and no number of sweeps would make it good."""
    found = {}
    for multipliers, sweeps in (("gauss_seidel", 400), (rival, 4000), (rival, 4)):
        contact = pdgpu.TwoWayContact(1e-3, multipliers=multipliers, sweeps=sweeps, steps=4, passes=1)  # until some are near
        sim = simulation(crossing_patches(), contact)
        sim.step()
        found[multipliers, sweeps] = sim.positions
    exact, many, few = found.values()
    moved = np.abs(few - exact).max()
    assert moved > 1e-6 and np.abs(many - exact).max() < 0.02 * moved


def test_rows_of_the_linear_system_pull():
    """If it failed, the rival that forgets that multipliers are not negative would not forget it."""
    apart = {}
    for multipliers in ("gauss_seidel", "linear"):
        scene = pdgpu.Scene((0.0, 0.0, 0.0))
        scene.add_particles([[0.0, 0.0, 0.0], [3e-3, 0.0, 0.0]], mass=1.0)
        sim = simulation(scene, pdgpu.TwoWayContact(2e-3, multipliers=multipliers))
        sim.step()
        apart[multipliers] = np.ptp(sim.positions[:, 0])
    assert apart["gauss_seidel"] == pytest.approx(3e-3, rel=1e-12) and apart["linear"] == pytest.approx(2e-3, rel=0.1)


def test_the_linear_system_does_not_throw_its_targets_away():
    """If it failed, a rival would be worse than it is: what pulled was the heavier the more it pulled, and targets went metres away."""
    case = two_way_case("rods on capsules", steps=20, multipliers="linear", edge_limit=None, sweeps=20)
    sim = two_way_simulation(case, SOLVERS["PD"])
    for _ in range(2):
        sim.step(record=True)
        assert sim.last_step.update.columns["residual"].max() < 0.1  # 0.15 and 1.5 m


def test_one_length_for_all_stops_all():
    """If it failed, lengths by the time of impact would not be those of continuous collision detection."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    scene.add_particles(
        [[0.0, 0.0, 0.0], [0.05, 0.0, 0.0], [1.0, 0.0, 0.0]], mass=1.0, velocity=[[10.0, 0.0, 0.0], [0.0] * 3, [0.0, 8.0, 0.0]]
    )
    sim = simulation(scene, pdgpu.TwoWayContact(2e-3, lengths="impact", steps=1))
    sim.step()
    moved = sim.positions - scene.rest_positions()
    part = moved[0, 0] / 0.1
    assert part == pytest.approx((0.05 - 2e-5) * 0.9 / 0.1, rel=1e-6)  # it keeps a tenth of the gap
    assert moved[2, 1] == pytest.approx(part * 0.08, rel=1e-12)


def test_lengths_by_the_times_of_pairs_stop_those_alone():
    """If it failed, what meets nothing would be held back, or what follows one that is held up would go through it."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    ball, held, follower, free = [0.0, 0.0, 0.0], [0.05, 0.0, 0.0], [-0.03, 0.0, 0.0], [1.0, 0.0, 0.0]
    velocity = [[10.0, 0.0, 0.0], [0.0] * 3, [10.0, 0.0, 0.0], [0.0, 8.0, 0.0]]
    scene.add_particles([ball, held, follower, free], mass=1.0, velocity=velocity)
    sim = simulation(scene, pdgpu.TwoWayContact(2e-3, lengths="impacts", steps=1))
    sim.step()
    moved = sim.positions - scene.rest_positions()
    assert moved[0, 0] == pytest.approx((0.05 - 2e-5) * 0.9, rel=1e-6)  # it keeps a tenth of the gap
    assert moved[3] == pytest.approx([0.0, 0.08, 0.0], rel=1e-12)
    # it would not meet what it follows, had that not been held up; nor does it come nearer than a tenth of what lay between
    assert 0.0 < moved[2, 0] < 0.1 and 0.1 * 0.03 < sim.positions[0, 0] - sim.positions[2, 0]


def test_an_obstacle_goes_as_one_by_the_times_of_pairs():
    """If it failed, an obstacle that something holds up would lose its shape."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    scene.add_particles([[0.005, 0.03, 0.005]], mass=1.0, velocity=[[0.0, 0.0, 0.0]])
    box = pdgpu.shapes.box((0.02, 0.02, 0.02))
    scene.add_obstacle(pdgpu.Mesh(box.points, triangles=box.triangles), name="box", motion=lambda t, rest: rest + [0.0, 2.0 * t, 0.0])
    sim = simulation(scene, pdgpu.TwoWayContact(1e-3, lengths="impacts", steps=1))
    sim.step(record="positions")
    gone = np.diff(sim.last_step.update.path[:, 1:], axis=0)[0]
    assert gone[:, 1] == pytest.approx(0.9 * (0.01 - 1e-5), rel=1e-6) and np.ptp(gone[:, 1]) < 1e-15


# ---- runs made in other ways ------------------------------------------------------------------------------------------------


def test_threads_and_records_leave_the_bits():
    """If it failed, a run could not be repeated."""
    case, runs = two_way_case("crossing cloths", friction=0.3, steps=30), []
    for threads, record in ((1, False), (2, "positions"), (3, True)):
        sim = two_way_simulation(case, SOLVERS["PD"], threads=threads)
        for _ in range(2):
            sim.step(record=record)
        runs.append(np.concatenate([sim.positions, sim.velocities]))
    assert sim.last_step.update.rows > 20
    assert np.array_equal(runs[0], runs[1]) and np.array_equal(runs[0], runs[2])


def test_the_parts_of_an_update_are_its_time():
    """If it failed, a breakdown of what an update costs would be of something else."""
    sim = simulation(on_needle(6), pdgpu.TwoWayContact(1e-3, every=2))
    sim.step(2)  # the first begins at rest, where a build without contraction has nothing left to do after one iteration
    update = sim.last_step.update
    assert update.updates == 3 and list(update.parts) == ["pairs", "rows", "colours", "backward", "forward"]
    assert min(update.parts.values()) > 0.0
    assert 0.5 * update.seconds < sum(update.parts.values()) <= update.seconds


def test_a_run_goes_on_in_contact_with_the_same_bits(tmp_path):
    """If it failed, something of an update would be kept that no state has."""
    case = two_way_case("bodies in a box", friction=0.3, steps=30)
    whole, first = two_way_simulation(case, SOLVERS["PD"]), two_way_simulation(case, SOLVERS["PD"])
    whole.step(5)
    first.step(3)
    first.save(tmp_path / "run.pdgpu")
    resumed = pdgpu.Simulation.load(tmp_path / "run.pdgpu")
    assert resumed.contact == case.contact
    resumed.step(2)
    assert np.array_equal(resumed.positions, whole.positions) and np.array_equal(resumed.velocities, whole.velocities)


def test_what_stops_a_step_leaves_its_beginning():
    """If it failed, who stops a long step would find bodies inside each other."""
    case = two_way_case("bodies in a box", steps=30)
    sim, plain = (two_way_simulation(case, SOLVERS["PD"]) for _ in range(2))
    sim.step(2)
    plain.step(3)
    before = sim.positions, sim.velocities, sim._core.backend.driven()
    sim.external_forces = np.full(before[0].shape, 1e200)
    with pytest.raises(pdgpu.DivergenceError):
        sim.step()
    sim.external_forces = None
    for now, then in zip((sim.positions, sim.velocities, sim._core.backend.driven()), before, strict=True):
        assert np.array_equal(now, then)
    sim.step()
    assert np.array_equal(sim.positions, plain.positions)


# ---- bad input --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"distance": 0.0}, "distance"),
        ({"distance": -1e-3}, "distance: must be greater than 0, got -0.001"),
        ({"distance": float("nan")}, "distance"),
        ({"distance": float("inf")}, "distance: must be finite"),
        ({"distance": 1e-3, "separation": 0.0}, "separation"),
        ({"distance": 1e-3, "separation": -1.0}, "separation"),
        ({"distance": 1e-3, "separation": 1e-3}, "separation: expected less than the distance"),
        ({"distance": 1e-3, "separation": 2e-3}, "separation: expected less than the distance 0.001 m, got 0.002 m"),
        ({"distance": 1e-3, "separation": float("nan")}, "separation"),
        ({"distance": 1e-3, "separation": "none"}, "separation: expected a number or 'auto'"),
        ({"distance": 1e-3, "sweeps": 0}, "sweeps: must be at least 1, got 0"),
        ({"distance": 1e-3, "patience": -1}, "patience: must be at least 0, got -1"),
        ({"distance": 1e-3, "sweeps": -4}, "sweeps: must be at least 1, got -4"),
        ({"distance": 1e-3, "steps": 0}, "steps"),
        ({"distance": 1e-3, "edge_limit": 0.99}, "edge_limit: must be at least 1, got 0.99"),
        ({"distance": 1e-3, "edge_limit": float("nan")}, "edge_limit"),
        ({"distance": 1e-3, "friction": -0.1}, "friction"),
        ({"distance": 1e-3, "friction": {("a", "b"): -1.0}}, "friction"),
        ({"distance": 1e-3, "every": -1}, "every"),
        ({"distance": 1e-3, "passes": 0}, "passes: must be at least 1, got 0"),
        ({"distance": 1e-3, "passes": "many"}, "passes: expected a number or 'auto', got 'many'"),
        ({"distance": 1e-3, "passes": 2, "every": 3}, "passes: expected 1 with every=3, got 2"),
        ({"distance": 1e-3, "passes": 2, "multipliers": "jacobi"}, "passes: expected 1 with multipliers='jacobi', got 2"),
        ({"distance": 1e-3, "multipliers": "newton"}, "multipliers"),
        ({"distance": 1e-3, "lengths": "short"}, "lengths"),
        ({"distance": 1e-3, "friction_in": "both"}, "friction_in"),
        ({"distance": 1e-3, "repulsion": -1.0}, "repulsion"),
        ({"distance": 1e-3, "strength": 0.0}, "strength"),
        ({"distance": 1e-3, "multipliers": "barrier"}, "edge_limit: expected None with multipliers='barrier'"),
        ({"distance": 1e-3, "multipliers": "barrier", "edge_limit": None, "friction": 0.1}, "friction"),
        ({"distance": 1e-3, "multipliers": "linear", "repulsion": 1.0}, "repulsion: expected 0 with multipliers='linear'"),
        ({"distance": 1e-3, "multipliers": "jacobi", "friction": 0.1}, "friction: expected 0 with multipliers='jacobi'"),
        ({"distance": 1e-3, "multipliers": "linear", "friction": {("a", "b"): 0.1}}, "friction"),
    ],
)
def test_bad_settings_are_named(settings, message):
    """If it failed, a wrong number would become a wrong run."""
    with pytest.raises(ValueError, match=message):
        pdgpu.TwoWayContact(**settings)


@pytest.mark.parametrize("height", [5e-6, -5e-6])
def test_what_starts_too_near_is_refused_by_its_pair(height):
    """If it failed, a run would begin where nothing is promised, and who made the scene would not know where to look."""
    scene = pdgpu.Scene()
    cloth(scene, sheet(0.1, 0.1, 4), cells=4)
    cloth(scene, sheet(0.1, 0.1, 4, height), cells=4)
    with pytest.raises(ValueError, match=r"'cloth0' and 'cloth1' start closer than the separation 1e-05 m: vertex \d+ and triangle \("):
        simulation(scene, pdgpu.TwoWayContact(1e-3)).step()


def test_what_starts_in_another_or_is_folded_too_near_is_refused_by_its_pair():
    """If it failed, it would stay there, since nothing passes through anything."""
    scene, upright = pdgpu.Scene(), sheet(0.1, 0.1, 3)
    cloth(scene, sheet(0.1, 0.1, 4), cells=4)
    cloth(scene, pdgpu.Mesh(upright.points[:, [1, 0, 2]] + [0.003, 0.01, 0.004], triangles=upright.triangles), cells=3)
    with pytest.raises(ValueError, match=r"'cloth0' and 'cloth1' start intersecting: edge \(\d+, \d+\) and triangle \("):
        simulation(scene, pdgpu.TwoWayContact(1e-3)).step()
    alone, flat = pdgpu.Scene(), sheet(0.1, 0.02, 4)
    cloth(alone, flat, cells=4)
    sim, far = simulation(alone, pdgpu.TwoWayContact(1e-3)), flat.points[:, 0] > 0.01
    with pytest.raises(ValueError, match=r"'cloth0' and 'cloth0' start closer than the separation 1e-05 m: .* m apart"):
        sim.set_state(positions=np.where(far[:, None], flat.points * [-1.0, 1.0, 1.0] + [0.0, 5e-6, 0.0], flat.points))
        sim.step()


def test_what_it_cannot_do_is_refused():
    """If it failed, a run would begin where it must not be, go on without contact, or be compared by what it does not minimise."""
    scene = pdgpu.Scene((0.0, -G, 0.0))
    scene.add_particles([[0.0, 2e-5, 0.0]], mass=1.0, name="dust")
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    with pytest.raises(ValueError, match=r"'dust' and 'floor' start closer than the separation 5e-05 m: .* are 2e-05 m apart"):
        simulation(scene, pdgpu.TwoWayContact(5e-3)).step()
    contact = pdgpu.TwoWayContact(1e-3)
    with pytest.raises(TypeError, match="TwoWayContact"):
        pdgpu.compare(scene, {"PD": pdgpu.ProjectiveDynamics()}, dt=0.01, contact=contact)
    with pytest.raises(ValueError, match="TwoWayContact"):
        simulation(scene, contact).contact_forces()
    with pytest.raises(ValueError, match="no body"):
        simulation(scene, pdgpu.TwoWayContact(1e-3, friction={("a", "b"): 0.1}))
    still = pdgpu.Scene()
    still.add_rod(pdgpu.Mesh([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]], edges=[[0, 1]]), pdgpu.Spring(1.0), density=1.0).pin([0])
    for settings in ({"repulsion": 1.0}, {"multipliers": "barrier", "edge_limit": None}):
        with pytest.raises(ValueError, match="a force needs a time step, got dt=None"):
            simulation(still, pdgpu.TwoWayContact(1e-3, **settings), dt=None)
    far = pdgpu.Scene()
    far.add_particles([[100.0, 0.0, 0.0]], mass=1.0)
    with pytest.raises(ValueError, match=r"separation: 1e-05 m is too small for float32 and coordinates up to 100 m"):
        simulation(far, contact, dtype="float32")
    simulation(far, contact)
