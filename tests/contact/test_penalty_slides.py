"""Contact by a penalty where bodies slide over edges and corners of flat meshes, and where edges alone keep two bodies apart."""

import warnings

import numpy as np
import pytest
from scripted_shapes import block, sheet, slab, turned

import pdgpu

THICKNESS, STIFFNESS = 1e-3, 1e4
SOFT = pdgpu.ARAP.from_young(1e5, 0.3)
SOLVERS = {
    "newton": pdgpu.Newton(iterations=60, tolerance=1e-6),
    "vbd": pdgpu.VertexBlockDescent(iterations=200, tolerance=1e-4),
    "pd": pdgpu.ProjectiveDynamics(iterations=200, tolerance=1e-4),
}


def ways(angle):
    """A direction in the plane and the one across it."""
    return np.array([np.cos(angle), 0.0, np.sin(angle)]), np.array([-np.sin(angle), 0.0, np.cos(angle)])


def floor(cells):
    return sheet((1.0, 1.0), (cells, cells), (0.3, 0.0, 0.3))


def sliding_block(angle, density=1000.0):
    """A scene with a soft block that moves at 1 m/s just above a floor of height 0."""
    scene = pdgpu.Scene()
    mesh = block((0.1,) * 3, (2, 2, 2), (0.0, 0.0509, 0.0))
    scene.add_solid(mesh, SOFT, density=density, velocity=tuple(ways(angle)[0]), damping=1e-2, name="block")
    return scene


def simulation(scene, solver="newton", dtype="float64", **options):
    contact = pdgpu.PenaltyContact(THICKNESS, stiffness=STIFFNESS, **options)
    return pdgpu.Simulation(scene, SOLVERS[solver], dt=1e-2, contact=contact, dtype=dtype, threads=1)


def assert_slides(sim, angle, n=None, steps=40, bound=0.02):
    """The first n vertices keep 1 m/s along their way, and get no speed across it."""
    lowest = np.inf
    for _ in range(steps):
        sim.step()
        lowest = min(lowest, sim.positions[:n, 1].min())
    masses, velocities = sim.masses[:n].astype(np.float64), sim.velocities[:n].astype(np.float64)
    mean = masses @ velocities / masses.sum()
    along, across = ways(angle)
    assert abs(mean @ along - 1.0) < bound and abs(mean @ across) < bound, (mean @ along, mean @ across)
    assert lowest > 0.0


@pytest.mark.each_choice
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("angle", [0.0, 0.3, 0.785])
def test_a_block_slides_over_a_flat_mesh(solver, dtype, angle):
    """If it failed, edges of a flat floor would stop or turn a block without friction, in steps that say "converged"."""
    scene = sliding_block(angle)
    scene.add_obstacle(floor(40))
    assert_slides(simulation(scene, solver, dtype), angle)


@pytest.mark.parametrize(("cells", "density", "interval"), [(5, 1000.0, 10), (100, 1000.0, 10), (40, 8000.0, 10), (40, 1000.0, 1)])
def test_a_block_slides_over_coarse_and_fine_meshes(cells, density, interval):
    """If it failed, the speed of what slides would hang on the edges of the floor, on the weight, or on the number of detections."""
    scene = sliding_block(0.3, density)
    scene.add_obstacle(floor(cells))
    assert_slides(simulation(scene, detection_interval=interval), 0.3)


@pytest.mark.parametrize("angle", [0.0, 0.3, 0.785])
def test_a_block_slides_over_the_diagonal_of_a_box(angle):
    """If it failed, a closed surface would push sideways at the edge of two coplanar triangles."""
    scene = sliding_block(angle)
    scene.add_obstacle(slab((1.4, 0.1, 1.4), (0.3, -0.05, 0.3)))
    assert_slides(simulation(scene), angle)


def test_a_block_slides_over_a_block():
    """If it failed, the same would happen between the surfaces of two solids."""
    scene = sliding_block(0.3)
    n = len(scene.bodies[0].mesh.points)
    below = scene.add_solid(block((1.0, 0.05, 1.0), (20, 1, 20), (0.3, -0.025, 0.3)), pdgpu.ARAP.from_young(1e6, 0.3), density=1000.0)
    below.pin(lambda p: p[:, 1] < -0.049)
    assert_slides(simulation(scene), 0.3, n)


@pytest.mark.parametrize("angle", [0.3, 0.785])
def test_a_cloth_slides_over_a_flat_mesh(angle):
    """If it failed, edges and corners of the floor would catch the border of a cloth."""
    scene = pdgpu.Scene()
    mesh = sheet((0.1, 0.1), (5, 5), (0.0, 9e-4, 0.0))
    scene.add_shell(mesh, pdgpu.Spring(1e3), density=10.0, bending=1e-3, damping=1e-2, velocity=tuple(ways(angle)[0]))
    scene.add_obstacle(floor(40))
    assert_slides(simulation(scene), angle)


def pushing(sim):
    """The pairs that push, of penalty_columns()."""
    pairs = sim._core.backend.penalty_columns()
    acts = pairs["gap"] < pairs["reach"]
    return {name: pairs[name][acts] for name in ("key", "vertices", "normal", "gap", "weights")}


def test_no_pair_of_a_flat_floor_pushes_along_it():
    """Of all pairs in all steps, with what a detection meets on the way of a step of ten thicknesses."""
    scene = sliding_block(0.3)
    scene.add_obstacle(floor(40))
    sim, count = simulation(scene), 0
    for _ in range(40):
        sim.step()
        pairs = pushing(sim)
        assert np.abs(pairs["normal"][:, 1]).min(initial=1.0) > 0.98
        count += len(pairs["normal"])
    assert count > 1000


def bar(across, angle):
    """A bar of 0.4 m with a ridge down, along x, or along z with `across`."""
    mesh = turned(block((0.4, 0.04, 0.04), (4, 1, 1)), (1.0, 0.0, 0.0), 0.25 * np.pi)
    return turned(mesh, (0.0, 1.0, 0.0), angle + 0.5 * np.pi * across)


@pytest.mark.parametrize("speed", [0.0, 1.0])
@pytest.mark.parametrize("angle", [0.0, 0.4])
def test_edges_alone_keep_crossed_bars_apart(angle, speed):
    """Far from all corners, ridge on ridge. If it failed, the only pair between two bodies would not count."""
    scene, low = pdgpu.Scene(), bar(False, 0.0)
    high = bar(True, angle)
    half = high.points[:, 1].max()
    points = high.points + [0.01, 2.0 * half + 2e-3, 0.013]
    hard = pdgpu.ARAP.from_young(1e7, 0.3)
    falling = scene.add_solid(pdgpu.Mesh(points, tets=high.tets), hard, density=1000.0, velocity=(0.0, -speed, 0.0), damping=1e-2)
    falling.slide(lambda p: np.ones(len(p), bool), line=(0.0, 1.0, 0.0))  # else it tips over
    scene.add_obstacle(pdgpu.Mesh(low.points, triangles=low.surface).without_unused_vertices())
    sim = pdgpu.Simulation(scene, SOLVERS["newton"], dt=5e-3, contact=pdgpu.PenaltyContact(2e-3, stiffness=1e6), threads=1)
    met = 0
    for _ in range(60):
        sim.step()
        met += len(pushing(sim)["gap"])
        assert (sim.positions[:, 1].mean() - points[:, 1].mean()) > -0.015
    assert met > 0
    np.testing.assert_allclose(sim.velocities.mean(axis=0), 0.0, atol=0.1)


def test_an_edge_meets_the_edge_of_a_convex_corner():
    """A leaning bar comes down on the rim of a box, with the normal of both edges. If it failed, a rim would let edges through."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    lean = turned(bar(False, 0.0), (0.0, 0.0, 1.0), 0.5)
    across = np.array([-np.sin(0.5), np.cos(0.5), 0.0])
    points = lean.points + (0.02 * np.sqrt(2.0) + 5e-4) * across  # the ridge is half a thickness from the rim, which is the axis of z
    scene.add_solid(pdgpu.Mesh(points, tets=lean.tets), SOFT, density=1000.0, velocity=(0.0, -0.5, 0.0))
    scene.add_obstacle(slab((0.2, 0.2, 1.0), (0.1, -0.1, 0.03)))
    sim = pdgpu.Simulation(scene, SOLVERS["newton"], dt=5e-3, contact=pdgpu.PenaltyContact(THICKNESS, stiffness=1e3), threads=1)
    sim.step()
    pairs = pushing(sim)
    edges = pairs["key"] >> 62 == 1
    assert edges.any()
    normals = pairs["normal"][edges] * np.sign(pairs["normal"][edges][:, 1:2])
    assert np.abs(normals - across).max(axis=1).min() < 1e-3


@pytest.mark.parametrize(("spin", "warns"), [(10.0, True), (1.0, False)])
def test_an_obstacle_too_fast_for_its_friction_is_told_of(spin, warns):
    """If it failed, a drum that turns by ten thicknesses in a step would drag nothing, in steps that say converged."""
    scene = pdgpu.Scene()
    body = scene.add_solid(block((0.1, 0.1, 0.1), (2, 2, 2), (0.0, 0.0515, 0.0)), pdgpu.ARAP.from_young(1e5, 0.3), density=1000.0)
    body.slide(lambda p: np.ones(len(p), bool), line=(0.0, 1.0, 0.0))
    ball = pdgpu.shapes.sphere(0.5, 4)
    moved = pdgpu.Mesh(ball.points - [0.0, 0.5, 0.0], triangles=ball.triangles)

    def turn(time, rest):
        c, s = np.cos(spin * time), np.sin(spin * time)
        x, y = rest[:, 0], rest[:, 1] + 0.5
        return np.stack([c * x - s * y, s * x + c * y - 0.5, rest[:, 2]], axis=1)

    scene.add_obstacle(moved, motion=turn, name="drum")
    contact = pdgpu.PenaltyContact(4e-3, stiffness=1e4, friction=0.4)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=60, tolerance=1e-6), dt=0.01, contact=contact)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            sim.step()
            sim.energies()  # asks where the obstacle goes next
    told = [entry for entry in caught if "'drum' moves by" in str(entry.message)]
    assert len(told) == (2 if warns else 0)  # the first step has none before it to compare with
    assert all(entry.filename == __file__ for entry in told)
