"""Where a penalty begins inside: a solid that lies in itself, found through its tets, and the way out."""

import numpy as np
import pytest
from contact_scenes import meeting

import pdgpu
from pdgpu import geometry

SOLVER = pdgpu.VertexBlockDescent(iterations=40)


def ring(angle, closed):
    """A bar bent round to `angle` degrees at rest, and the same bent round to `closed`."""
    bar = pdgpu.shapes.beam((1.0, 0.05, 0.05), cells=(30, 2, 2))

    def bent(degrees):
        along, across, up = bar.points.T
        turn, radius = np.radians(degrees) * along, 0.15 - across + 0.013 * along
        return np.stack([radius * np.cos(turn), radius * np.sin(turn), up + 0.017 * along], axis=1)

    return pdgpu.Mesh(bent(angle), tets=bar.tets), bent(closed)


def closing(contact, solver=SOLVER, **options):
    mesh, start = ring(330.0, 400.0)
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    scene.add_solid(mesh, pdgpu.NeoHookean.from_young(2e3, 0.3), density=1000.0, name="ring")
    sim = pdgpu.Simulation(scene, solver, **{"dt": 0.01, **options}, contact=contact)
    sim.set_state(positions=start)
    return sim


def barycentric(corners, point):
    """Of a point in tets (m, 4, 3), (m, 4)."""
    edges = np.moveaxis(corners[:, 1:] - corners[:, :1], 1, 2)
    rest = np.linalg.solve(edges, (point - corners[:, 0])[..., None])[..., 0]
    return np.column_stack([1.0 - rest.sum(axis=1), rest])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_way_out_is_the_shortest_through_the_other_arm(dtype):
    """Against every triangle and every tet of that arm. If not, a body that lies in itself is pulled through itself."""
    contact = pdgpu.PenaltyContact(1e-3, stiffness=1e-3, depth=0.1, detection_interval=0)
    sim = closing(contact, solver=pdgpu.VertexBlockDescent(iterations=1, initialization="previous"), dt=1e-6, dtype=dtype)
    x, mesh = sim.positions.astype(np.float64), sim._core.scene.bodies[0].mesh
    sim.step()
    columns = sim._core.backend.penalty_columns()
    inside = (columns["key"] >> np.uint64(62) == 0) & (columns["gap"] < -1e-6) & np.isfinite(columns["reach"])
    found = dict(zip(columns["vertices"][inside, 0].tolist(), columns["gap"][inside].tolist(), strict=True))
    assert len(found) == inside.sum()

    far = np.array([mesh.points[:, 0], mesh.points[:, 1]])
    late = np.mod(np.arctan2(*far[::-1]), 2.0 * np.pi)  # of the arms one is the begin and one the end of the bar
    begins = late < np.radians(165.0)
    expected = {}
    for v in np.unique(mesh.surface):
        other = begins != begins[v]
        tets = mesh.tets[other[mesh.tets].all(axis=1)]
        weights = barycentric(x[tets], x[v])
        if weights.min(axis=1).max() < 0.0:
            continue
        triangles = mesh.surface[other[mesh.surface].all(axis=1)]
        corners = np.concatenate([np.broadcast_to(x[v], (len(triangles), 1, 3)), x[triangles]], axis=1)
        nearest = geometry.vertex_triangle(corners)
        if nearest.distance.min() > 1e-6:
            expected[int(v)] = nearest.distance.min()
    assert len(expected) >= 20
    assert set(expected) == set(found)
    for v, distance in expected.items():
        assert -found[v] == pytest.approx(distance, abs=1e-7 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_began_inside_itself_keeps_its_way_out(dtype):
    """Two cubes of one body that start 3 mm in each other, and whose first guess has them 23 mm: four times as deep as is looked. If not,
    they would be let through."""
    cube = pdgpu.shapes.beam((0.1, 0.1, 0.1), cells=(4, 4, 4))
    n, inside = len(cube.points), 0.003
    mesh = pdgpu.Mesh(np.concatenate([cube.points, cube.points + [0.013, 0.017, 0.1]]), tets=np.concatenate([cube.tets, cube.tets + n]))
    contact = pdgpu.PenaltyContact(1e-3, stiffness=1e-3, depth=0.005, detection_interval=0)
    upper = (np.arange(2 * n) >= n)[:, None]

    def pairs(speed):
        scene = pdgpu.Scene((0.0, 0.0, 0.0))
        scene.add_solid(mesh, pdgpu.NeoHookean.from_young(2e3, 0.3), density=1000.0)
        sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=1), dt=1e-5, contact=contact, dtype=dtype)
        sim.set_state(positions=mesh.points - upper * [0.0, 0.0, inside], velocities=upper * [0.0, 0.0, -speed])
        sim.step()
        columns = sim._core.backend.penalty_columns()
        deep = (columns["key"] >> np.uint64(62) == 0) & (columns["gap"] < -1e-3) & np.isfinite(columns["reach"])
        return {key: columns[key][deep] for key in ("vertices", "weights", "normal", "gap")}

    before, after = pairs(0.0), pairs(2000.0)
    assert len(before["gap"]) == 32  # of each of the cubes the sixteen vertices of its side that the other covers
    for key in ("vertices", "weights", "normal"):
        np.testing.assert_allclose(after[key], before[key], atol=1e-4 if dtype == "float32" else 1e-8)
    np.testing.assert_allclose(after["gap"], -inside - 0.02, atol=1e-6)


def test_a_solid_inside_itself_comes_out():
    """It is soft, and by itself would not for a long time."""
    sim, alone = closing(pdgpu.PenaltyContact(1e-3, stiffness=200.0, depth=0.04, detection_interval=20)), closing(None)
    assert meeting(sim) > 40
    for each in (sim, alone):
        each.step(16)
    assert meeting(alone) > 10
    assert meeting(sim) == 0
    assert np.abs(sim.positions).max() < 0.2


def test_what_a_solid_is_thick_is_no_contact():
    """The two sides of a bar are near each other through the bar, however thin it is. If not, contact would stiffen it."""
    bar = pdgpu.shapes.beam((0.1, 0.02, 0.001), cells=(10, 2, 1))
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    scene.add_solid(bar, pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000.0)
    sim = pdgpu.Simulation(scene, SOLVER, dt=0.01, contact=pdgpu.PenaltyContact(0.01, stiffness=1e4, depth=0.05, detection_interval=1))
    sim.set_state(positions=bar.points * [1.0, 1.0, 0.5])
    sim.step()
    columns = sim._core.backend.penalty_columns()
    across = (np.abs(columns["normal"][:, 2]) > 0.5) & np.isfinite(columns["reach"])
    assert not across.any()


def test_outside_of_a_thin_plate_is_outside():
    """Particles above, below and in a plate, where is looked deeper than it is thick: behind its far side is each of them."""
    heights = np.array([0.15, 0.1004, 0.08, 0.02, -0.0004])
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    scene.add_particles(np.column_stack([[0.4, 0.5, 0.6, 0.35, 0.7], [0.3, 0.31, 0.32, 0.33, 0.36], heights]), mass=2.0)
    wall = pdgpu.shapes.box((1.0, 1.0, 0.1))
    scene.add_obstacle(pdgpu.TriangleMesh(pdgpu.Mesh(wall.points, triangles=wall.triangles)), name="plate")
    sim = pdgpu.Simulation(scene, SOLVER, dt=0.01, contact=pdgpu.PenaltyContact(1e-3, stiffness=1e5, depth=0.2))
    for _ in range(20):
        sim.step()
    z = sim.positions[:, 2]
    assert z[0] == 0.15
    assert (z[1:3] > 0.1 + 9e-4).all()
    assert (z[3:] < -9e-4).all()
