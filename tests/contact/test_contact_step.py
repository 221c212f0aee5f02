"""Steps with contact: what the objective is, that runs go on with the same bits, and what is refused."""

import re
import subprocess
import sys

import numpy as np
import pytest
from same_bits import assert_same_bits

import pdgpu


def heap():
    """Cloth, rod and particles near each other: every kind of pair of a mesh."""
    grid = pdgpu.shapes.grid((1, 1), cells=(6, 6))
    other = pdgpu.Mesh(grid.points * 0.7 + [0.1, 0.12, 0.011], triangles=grid.triangles)
    rod = np.array([[0.1, 0.2, 0.025], [0.6, 0.7, 0.026], [0.9, 0.8, 0.022]])
    sand = np.array([[0.35, 0.45, 0.032], [0.36, 0.46, 0.035], [0.62, 0.72, 0.0355], [0.5, 0.5, -0.008]])
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_shell(grid, pdgpu.Spring(1e2), density=0.2)
    scene.add_shell(other, pdgpu.Spring(1e2), density=0.2)
    scene.add_rod(pdgpu.Mesh(rod, edges=[[0, 1], [1, 2]]), pdgpu.Spring(1.0), density=0.1)
    scene.add_particles(sand, mass=1e-3)
    n = len(grid.points)
    points = np.concatenate([grid.points, other.points, rod, sand])
    return scene, points, np.concatenate([grid.triangles, other.triangles + n]), np.array([[0, 1], [1, 2]]) + 2 * n


def falling_cloth(cells=10):
    grid = pdgpu.shapes.grid((1, 1), cells=(cells, cells))
    scene = pdgpu.Scene()
    points = grid.points[:, [0, 2, 1]] + [0.0, 0.55, 0.0]
    scene.add_shell(pdgpu.Mesh(points, triangles=grid.triangles), pdgpu.Spring(3e2), density=0.2, bending=1e-4, name="cloth")
    scene.add_obstacle(pdgpu.Sphere((0.5, 0.2, 0.5), 0.3), name="ball")
    scene.add_obstacle(pdgpu.Plane((0, -0.3, 0), (0, 1, 0)), name="floor")
    return scene


def simulation(scene, **options):
    solver = pdgpu.Newton(iterations=60, tolerance=1e-6, linear=options.pop("linear", pdgpu.Direct()))
    return pdgpu.Simulation(scene, solver, dt=1 / 60, contact=pdgpu.BarrierContact(0.01), **options)


@pytest.mark.parametrize("weighting", ["harmonic", "sum"])
@pytest.mark.parametrize("area_weighted", [True, False])
def test_the_energy_is_that_of_the_mesh(area_weighted, weighting):
    """If not, solvers and `pdgpu.contact` speak of two different barriers."""
    scene, points, triangles, edges = heap()
    contact = pdgpu.BarrierContact(0.02, stiffness=1e3, area_weighted=area_weighted, weighting=weighting)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=0.01, contact=contact)
    expected = pdgpu.contact.energy(contact, points, triangles, edges, rest=points, weighting=weighting)
    assert expected > 0.0 and sim.energies()["contact"] == pytest.approx(expected, rel=1e-12)
    gradient = pdgpu.contact.gradient(contact, points, triangles, edges, rest=points, weighting=weighting)
    hessian = pdgpu.contact.hessian(contact, points, triangles, edges, rest=points, weighting=weighting)
    free = pdgpu.Simulation(scene, pdgpu.Newton(), dt=0.01)
    assert np.abs(sim.gradient() - free.gradient() - gradient).max() <= 1e-12 * np.abs(gradient).max()
    assert abs(sim.hessian() - free.hessian() - hessian).max() <= 1e-12 * abs(hessian).max()


@pytest.mark.parametrize("linear", [pdgpu.Direct(), pdgpu.PCG()], ids=["direct", "pcg"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits(tmp_path, dtype, linear):
    """If not, a run cannot be repeated: threads, a copy, a file and a record in mid-contact change nothing."""

    def falling(threads):
        return simulation(falling_cloth(), dtype=dtype, threads=threads, linear=linear)

    assert_same_bits(falling, tmp_path, steps=12, contacts=10)


DESCENTS = [
    pdgpu.VertexBlockDescent(iterations=10),
    pdgpu.VertexBlockDescent(iterations=8, chebyshev=pdgpu.Chebyshev(rho=0.9, start=2), line_search=True),
    pdgpu.BlockJacobi(iterations=12, chebyshev=pdgpu.Chebyshev(rho=0.9, start=2)),
    pdgpu.GradientDescent(iterations=12),
]


@pytest.mark.parametrize("solver", DESCENTS, ids=lambda solver: type(solver).__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits_of_descent(tmp_path, dtype, solver):
    """If not, which thread turns a vertex, or what a step before knew of what touches, changes the result."""

    def falling(threads):
        return pdgpu.Simulation(falling_cloth(), solver, dt=1 / 60, contact=pdgpu.BarrierContact(0.01), dtype=dtype, threads=threads)

    assert_same_bits(falling, tmp_path, steps=18, contacts=3)


def test_a_cut_cloth_goes_on():
    scene = falling_cloth()
    sim = simulation(scene)
    sim.step(12)
    middle = np.isclose(scene.bodies[0].points[:, 0], 0.5)
    edges = [pair for pair in scene.bodies[0].mesh.hinges[:, :2] if middle[pair].all()]
    assert len(sim.cut("cloth", edges).new_vertices) == 11
    sim.step(20)
    assert sim.last_step.status == "converged" and sim.positions[:, 1].min() > -0.3


def test_the_record():
    """If not, a plot of how contact converges shows something else than what happened."""
    sim = pdgpu.Simulation(falling_cloth(), pdgpu.Newton(iterations=60, tolerance=1e-6), dt=1 / 25, contact=pdgpu.BarrierContact(0.002))
    for _ in range(30):
        sim.step(record="positions")
        record = sim.last_step
        if record["step_limit"][1:].min(initial=1.0) < 1.0:
            break
    assert record["contact_potential"][-1] == pytest.approx(sim.energies()["contact"], rel=1e-9)
    found = sim.contact_forces()
    assert record["active_contacts"][-1] == len(found) > 0
    assert record["smallest_distance"][-1] == pytest.approx(found.distance.min(), rel=1e-9)
    changes = record["contacts_entered"] - record["contacts_left"]
    assert np.array_equal(np.diff(record["active_contacts"]), changes[1:]) and changes[0] == 0.0
    assert ((record["step_limit"] > 0.0) & (record["step_limit"] <= 1.0)).all() and record["step_limit"].min() < 1.0
    moves = np.linalg.norm(np.diff(record.positions, axis=0), axis=(1, 2))
    np.testing.assert_allclose(record["step_norm"][1:], moves, rtol=1e-6, atol=1e-14)
    assert (record["outer"] >= 1.0).all() and not record["behind"].any() and record.behind == 0.0


def test_without_a_line_search():
    """If not, a method that does not look where it goes goes through what is there: the frame takes back what is too far."""
    scene = falling_cloth()
    solver = pdgpu.Newton(iterations=12, line_search=False)
    sim = pdgpu.Simulation(scene, solver, dt=1 / 25, contact=pdgpu.BarrierContact(0.002))
    pruned = 0
    for _ in range(12):
        before = sim.positions
        sim.step(record="positions")
        record = sim.last_step
        pruned += int((record["step_limit"][1:] < 1.0).sum())
        moves = np.linalg.norm(np.diff(record.positions, axis=0), axis=(1, 2))
        np.testing.assert_allclose(record["step_norm"][1:], moves, rtol=1e-6, atol=1e-14)
        assert pdgpu.certify([before, *record.positions], scene, gap=False)
    assert pruned > 0


def test_a_moving_wall_pushes():
    """If not, an obstacle passes through what it pushes, or stops where it could go on."""
    mesh = pdgpu.shapes.beam((0.4, 0.4, 0.4), cells=(3, 3, 3))
    for wall in (
        lambda motion: pdgpu.Plane((-0.05, 0, 0), (1, 0, 0), motion=motion),
        lambda motion: pdgpu.Box((0.1, 1, 1), (-0.1, 0.2, 0.2), motion=motion),
    ):
        scene = pdgpu.Scene(gravity=(0, 0, 0))
        scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e4, 0.3), density=100.0)
        scene.add_obstacle(wall(lambda time: (np.eye(3), np.array([1.0 * time, 0.0, 0.0]))))
        contact = pdgpu.BarrierContact(0.01)
        sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=100, step_tolerance=1e-6), dt=1 / 50, contact=contact)
        for _ in range(15):
            sim.step()
            assert sim.last_step.behind == 0.0 and sim.last_step.status == "converged"
            assert sim.positions[:, 0].min() > -0.05 + sim.time * 1.0
        assert sim.velocities[:, 0].mean() > 0.8


def test_what_blocks_a_pin_holds_it_back():
    """If not, a scripted pin goes through a wall that does not yield. The wall has a motion, so that all of its edges have pairs."""
    grid = pdgpu.shapes.grid((1, 1), cells=(4, 4))
    points = grid.points[:, [0, 2, 1]] + [0.0, 0.2, 0.0]
    scene = pdgpu.Scene(gravity=(0, 0, 0))
    cloth = scene.add_shell(pdgpu.Mesh(points, triangles=grid.triangles), pdgpu.Spring(1e2), density=0.2)
    cloth.pin([0], motion=lambda time, rest: rest - [0.0, 2.0 * time, 0.0])
    wall = pdgpu.shapes.box((3, 0.2, 3))
    scene.add_obstacle(pdgpu.Mesh(wall.points - [1.0, 0.2, 1.0], triangles=wall.triangles), lambda time, rest: rest)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=40, step_tolerance=1e-4), dt=1 / 50, contact=pdgpu.BarrierContact(0.01))
    frames = [sim.positions]
    for _ in range(8):
        sim.step()
        frames.append(sim.positions)
    assert sim.last_step.behind > 0.05 and 0.0 < sim.positions[0, 1] < 0.01
    assert pdgpu.certify(frames, scene, times=np.arange(9) / 50)


def test_a_floor_that_rises_ten_reaches_in_a_step_says_that_it_is_late():
    """If not, a step that ends at its cap with the floor behind its script looks like any other."""
    grid = pdgpu.shapes.grid((0.4, 0.4), cells=(2, 2))
    floor = pdgpu.Mesh(grid.points[:, [0, 2, 1]] - [0.15, 0.0, 0.15], triangles=grid.triangles[:, ::-1])
    block = pdgpu.shapes.beam((0.1, 0.1, 0.1), cells=(2, 2, 2))
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(block.points + [0, 0.0015, 0], tets=block.tets), pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000.0)
    scene.add_obstacle(floor, motion=lambda time, rest: rest + [0.0, min(time, 0.01), 0.0])
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=25, tolerance=1e-3), dt=1 / 100, contact=pdgpu.BarrierContact(1e-3))
    sim.step()
    late = sim.last_step.behind
    assert sim.last_step.status == "iteration_cap" and late > 1e-3
    assert f"target lag {late:.3g} m" in repr(sim.last_step)
    sim.step(record=True)
    record = sim.last_step
    assert (np.diff(record["behind"]) <= 0.0).all() and record["behind"][-1] < record["behind"][0] <= late
    while record.behind > 0.0:
        assert record.status == "iteration_cap" and sim.time < 0.1
        sim.step()
        record = sim.last_step
    assert "target lag" not in repr(record) and sim.positions[:, 1].min() > 0.01


def test_quasistatic():
    """If not, a body at rest between pins and a plane is not in balance: the plane holds what the pins do not."""
    mesh = pdgpu.shapes.beam((1, 1, 1), cells=(3, 3, 3))
    scene = pdgpu.Scene(gravity=(0, 0, 0))
    body = scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e4, 0.3), density=100.0)
    body.pin(lambda p: p[:, 1] > 0.99, motion=lambda time, rest: rest - [0.0, 0.2, 0.0])
    scene.add_obstacle(pdgpu.Plane((0, -0.1, 0), (0, 1, 0)))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=200, tolerance=1e-10), dt=None, contact=pdgpu.BarrierContact(0.02))
    sim.step(time=0.0)
    assert sim.last_step.status == "converged" and sim.last_step.behind == 0.0
    held = pdgpu.Simulation(scene, pdgpu.Newton(), dt=None)
    held.set_state(positions=sim.positions)
    bottom = body.points[:, 1] < 0.01
    pushed = -held.gradient()[bottom, 1].sum()
    found = sim.contact_forces()
    assert -pushed == pytest.approx(found.normal_force.sum(), rel=1e-8) and found.normal_force.sum() > 500.0
    descent = pdgpu.VertexBlockDescent(iterations=600, tolerance=1e-9)
    other = pdgpu.Simulation(scene, descent, dt=None, contact=pdgpu.BarrierContact(0.02))
    other.step(time=0.0)
    assert other.last_step.status == "converged"
    np.testing.assert_allclose(other.positions, sim.positions, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"distance": 0.0}, ValueError, "distance: "),
        ({"distance": float("nan")}, ValueError, "distance: "),
        ({"stiffness": -1.0}, ValueError, "stiffness: "),
        ({"stiffness": float("inf")}, ValueError, "stiffness: "),
        ({"separation": -1e-3}, ValueError, "separation: "),
        ({"guard": "hope"}, ValueError, "guard: "),
        ({"area_weighted": 1}, TypeError, "area_weighted: "),
    ],
)
def test_refused_numbers(options, error, message):
    with pytest.raises(error, match=message):
        pdgpu.BarrierContact(**{"distance": 1e-3} | options)


def test_refused_scenes():
    scene = falling_cloth(4)
    for solver in (pdgpu.XPBD(), pdgpu.PBD()):
        assert "BarrierContact" not in pdgpu.capabilities()[type(solver).__name__]["contacts"]
        with pytest.raises(TypeError, match=f"{type(solver).__name__} does not take BarrierContact; ProjectiveDynamics, Newton, "):
            pdgpu.Simulation(scene, solver, contact=pdgpu.BarrierContact(0.01))
    assert pdgpu.capabilities()["Newton"]["contacts"] == ["BarrierContact", "PenaltyContact", "TwoWayContact"]
    with pytest.raises(TypeError, match="contact: expected one such as"):
        pdgpu.Simulation(scene, pdgpu.Newton(), contact=0.01)
    with pytest.raises(ValueError, match=r"'cloth' at rest.* must be more than the separation"):
        pdgpu.Simulation(scene, pdgpu.Newton(), contact=pdgpu.BarrierContact(0.01, separation=0.2))
    sim = simulation(scene)
    x = sim.positions
    x[:, 1] -= 0.4
    sim.set_state(positions=x)
    with pytest.raises(ValueError, match="'cloth' and 'ball' start intersecting"):
        sim.step()
    turning = pdgpu.Scene()
    turning.add_particles([[0.0, 1.0, 0.0]], mass=1.0)
    turn = lambda time: (np.array([[np.cos(time), -np.sin(time), 0], [np.sin(time), np.cos(time), 0], [0, 0, 1.0]]), np.zeros(3))  # noqa: E731
    turning.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0), motion=turn), name="lid")
    with pytest.raises(ValueError, match=r"motion of 'lid': at time .* rotates"):
        pdgpu.Simulation(turning, pdgpu.Newton(), contact=pdgpu.BarrierContact(0.01, stiffness=1.0)).step()


def test_what_does_not_collide_takes_no_part(tmp_path):
    """If not, what somebody left out pushes all the same, or a file forgets that it was left out."""
    scene = pdgpu.Scene(gravity=(0, -10, 0))
    scene.add_particles([[0.0, 0.5, 0.0]], mass=1.0, velocity=(0, -10, 0), collides=False)
    scene.add_particles([[1.0, 0.5, 0.0]], mass=1.0, velocity=(0, -10, 0))
    scene.add_particles([[2.0, 0.5, 0.0]], mass=1.0, velocity=(0, -10, 0))
    scene.add_obstacle(pdgpu.Sphere((0, 0, 0), 0.2))
    scene.add_obstacle(pdgpu.Sphere((1, 0, 0), 0.2))
    scene.add_obstacle(pdgpu.Sphere((2, 0, 0), 0.2), collides=False)
    contact = pdgpu.BarrierContact(0.01, stiffness=1e4)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=50), dt=1 / 50, contact=contact)
    sim.save(tmp_path / "file")
    for run in (sim, pdgpu.Simulation.load(tmp_path / "file")):
        run.step(5)
        assert (run.positions[:, 1] < 0.0).tolist() == [True, False, True]
    with pytest.raises(TypeError, match="collides: expected True or False, got 1"):
        scene.add_obstacle(pdgpu.Sphere((1, 0, 0), 0.2), collides=1)


def two_bodies(order=(0, 1), length=1.0, contact_distance=0.02):
    """A cube on a slab on a floor, in an order, with lengths in parts of a metre (forces and densities along)."""
    scene = pdgpu.Scene(gravity=(0, -9.81 * length, 0))
    made = {}
    for k in order:
        size, low, cells = (((1.0, 0.3, 1.0), (0.0, 0.03, 0.0), (3, 1, 3)), ((0.4, 0.4, 0.4), (0.25, 0.36, 0.3), (2, 2, 2)))[k]
        mesh = pdgpu.shapes.beam(size, cells=cells)
        points = (mesh.points + low) * length
        material = pdgpu.NeoHookean.from_young(2e4 / length, 0.3)
        made[k] = scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), material, density=500.0 / length**3)
    scene.add_obstacle(pdgpu.Box((4 * length, length, 4 * length), (0.5 * length, -0.5 * length, 0.5 * length)))
    contact = pdgpu.BarrierContact(contact_distance * length)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=100, tolerance=1e-11), dt=1 / 50, contact=contact)
    sim.step(12)
    assert len(sim.contact_forces().of("obstacle0")) > 0 and len(sim.contact_forces().of(made[0], made[1])) > 0
    return np.concatenate([sim.positions[made[k].slice] for k in (0, 1)]) / length


def test_order_and_units():
    """If not, the answer depends on which body was added first, or on whether somebody works in millimetres."""
    expected = two_bodies()
    assert np.abs(two_bodies(order=(1, 0)) - expected).max() < 1e-9
    for length in (1e3, 1e-2):
        assert np.abs(two_bodies(length=length) - expected).max() < 1e-9


CROWD = """
import resource
import numpy as np
import pdgpu

scene = pdgpu.Scene(gravity=(0, 0, 0))
scene.add_particles(np.random.default_rng(0).random((16_000, 3)), mass=1e-3)
contact = pdgpu.BarrierContact(5.0, stiffness=1.0)
sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=2, linear=pdgpu.PCG()), dt=1e-6, contact=contact, threads=1)
before = sim.positions
resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, resource.RLIM_INFINITY))
try:
    sim.step()
except MemoryError as error:
    print(error, np.array_equal(sim.positions, before), sim.time == 0.0)
"""


@pytest.mark.slow
def test_lists_that_do_not_fit():
    """If not, memory that runs out is a crash, or the state is lost."""
    result = subprocess.run([sys.executable, "-c", CROWD], capture_output=True, text=True, timeout=100)
    assert re.search(r"no memory for 127992000 candidate pairs: .* True True", result.stdout), result.stdout + result.stderr


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_mesh_whose_motion_begins_elsewhere_starts_there(dtype):
    """If not, the check of the start sees a floor where the core has none, which then comes up through the body that stands on it."""
    made = pdgpu.shapes.grid((2.0, 2.0), cells=(2, 2))
    points = np.array(made.points)[:, [0, 2, 1]] - [0.5, 0.003, 0.5]

    def settled(points, motion):
        scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
        scene.add_solid(pdgpu.shapes.beam((1, 1, 1), cells=(1, 1, 1)), pdgpu.NeoHookean(1e5, 2e5), density=1000.0)
        scene.add_obstacle(pdgpu.TriangleMesh(pdgpu.Mesh(points, triangles=made.triangles), motion=motion), name="floor")
        sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=20), dt=0.01, contact=pdgpu.BarrierContact(0.01, stiffness=1e6), dtype=dtype)
        first = sim._core.backend.driven()
        sim.step(3)
        return first, sim.positions

    lifted = settled(points + [0.0, -5.0, 0.0], lambda time, rest: rest + [0.0, 5.0, 0.0])
    there = settled((points + [0.0, -5.0, 0.0]) + [0.0, 5.0, 0.0], lambda time, rest: rest)
    for moved, stood in zip(lifted, there, strict=True):
        np.testing.assert_array_equal(moved, stood)
