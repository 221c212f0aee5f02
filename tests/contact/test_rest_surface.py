"""The distance of a rest shape that proxies see: exact, of the triangles of its surface, however coarse the grid is that bounds it."""

import inputs
import numpy as np
import pytest
from surface_oracle import nearest_points, winding_number

import pdgpu

DEPTHS = 1e-3 * np.array([1, 2, 5, 10, 15, 20, 26, 30, 42, 60, 80, 100, 150, 200])


def cube(cells=2, jitter=0.0):
    """0.5 m wide."""
    points, tets = inputs.kuhn_grid(cells, cells, cells, 0.5 / cells)
    return pdgpu.Mesh(inputs.jitter(points, (cells,) * 3, 0.5 / cells, jitter), tets=tets)


def horseshoe():
    block = pdgpu.shapes.beam((0.3, 0.3, 0.1), cells=(6, 6, 2))
    x, y, _ = block.points[block.tets].mean(axis=1).T
    mesh = pdgpu.Mesh(block.points, tets=block.tets[(x < 0.1) | (x > 0.2) | (y < 0.1)]).without_unused_vertices()
    return pdgpu.Mesh(mesh.points + 0.004 * np.random.default_rng(5).uniform(-1, 1, size=mesh.points.shape), tets=mesh.tets)


def shell_of(radius, hole, centre, turned=False):
    """A sphere with a hole in it, as one surface; `turned`: the other way round."""
    outer, inner = pdgpu.shapes.sphere(radius, 2), pdgpu.shapes.sphere(hole, 1)
    triangles = np.concatenate([outer.triangles, inner.triangles[:, ::-1] + len(outer.points)])
    points = np.concatenate([outer.points, inner.points]) + centre
    return pdgpu.Mesh(points, triangles=triangles[:, ::-1] if turned else triangles)


def seen(mesh, points, field=None, skin=None, dtype="float64", move=None):
    """What is said of particles at `points` in a solid of a mesh, or in a surface that is embedded in it."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    body = scene.add_solid(mesh, pdgpu.ARAP(1e4), density=1000.0, name="body")
    if skin is not None:
        body.embed(skin, name="skin")
    scene.add_particles(points, mass=1.0, name="grains")
    contact = pdgpu.ProxyContact(
        len(mesh.points) + np.arange(len(points)), stiffness=1e3, field=field or ("body" if skin is None else "skin")
    )
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=1), contact=contact, dtype=dtype)
    if move is not None:
        sim.set_state(positions=move(scene.rest_positions()))
    return sim.proxies()


def check(found, surface, points, width, tolerance=1e-6):
    """Active where the surface goes round a point, and the target is the nearest point of the surface."""
    inside = np.abs(winding_number(surface, points)) > 0.5
    away, _ = nearest_points(surface, points)
    plain = away > tolerance * width
    np.testing.assert_array_equal(found.active[plain], inside[plain])
    depth = np.linalg.norm(found.targets - found.points, axis=1)[found.active]
    np.testing.assert_allclose(depth, away[found.active], rtol=tolerance, atol=tolerance * width if tolerance > 1e-6 else 1e-12)
    assert nearest_points(surface, found.targets[found.active])[0].max() <= max(1e-12, tolerance * width * (tolerance > 1e-6))
    return inside


@pytest.mark.parametrize("cells", [1, 2, 5])
@pytest.mark.parametrize("jitter", [0.0, 0.2])
def test_no_proxy_in_a_cube_is_missed_and_targets_are_nearest(cells, jitter):
    """If not, a grid with half the edge of a tet between nodes decides, which rounds off 26 mm of a cube of 0.5 m. The way down from places
    all over the faces, from edges and from corners."""
    mesh = cube(cells, jitter)
    across = np.array([0.02, 0.11, 0.25, 0.37, 0.47])
    u, v, d = (part.ravel() for part in np.meshgrid(across, across, DEPTHS, indexing="ij"))
    points = np.concatenate([np.roll(np.stack([u, v, w], axis=1), k, axis=1) for k in range(3) for w in (d, 0.5 - d)])
    points = np.concatenate([points, np.repeat(DEPTHS[:, None], 3, axis=1), 0.5 - np.stack([DEPTHS, DEPTHS, 0.25 + 0 * DEPTHS], axis=1)])
    outside = np.concatenate([[[-d, 0.2, 0.3], [0.2, 0.5 + d, -d], [0.5 + d, 0.5 + d, 0.5 + d]] for d in DEPTHS])
    points = np.concatenate([points, outside])
    surface = pdgpu.Mesh(mesh.points, triangles=mesh.surface)
    found = seen(mesh, points)
    inside = check(found, surface, points, 0.5)
    if jitter == 0.0:
        assert found.active[: -len(outside)].all() and not found.active[-len(outside) :].any()
    assert inside.sum() > 1000


@pytest.mark.each_choice
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("spacing", [None, 0.01, 1.0])
def test_distances_in_a_shape_that_is_not_convex(spacing, dtype):
    """If not, a proxy in a notch is taken for one inside, or its target is on another wall; and the grid changes the answer."""
    mesh, random = horseshoe(), np.random.default_rng(3)
    points = random.uniform(-0.03, 0.33, size=(3000, 3)) * [1.0, 1.0, 0.4]
    if dtype == "float32":
        points = points.astype(np.float32).astype(float)
        mesh = pdgpu.Mesh(mesh.points.astype(np.float32).astype(float), tets=mesh.tets)
    found = seen(mesh, points, pdgpu.RestField("body", spacing=spacing), dtype=dtype)
    surface = pdgpu.Mesh(mesh.points, triangles=mesh.surface)
    inside = check(found, surface, points, 0.3, 1e-6 if dtype == "float64" else 1e-5)
    assert inside.sum() > 500


@pytest.mark.parametrize("turned", [False, True])
def test_a_surface_with_a_hole_that_tets_carry(turned):
    """If not, what is in the hole of an embedded surface is pulled to it, or a surface that is turned inside out holds nothing."""
    mesh = cube(3)
    skin = shell_of(0.2, 0.1, [0.25, 0.25, 0.25], turned)
    points = np.random.default_rng(7).uniform(0.0, 0.5, size=(3000, 3))
    inside = check(seen(mesh, points, skin=skin), skin, points, 0.4)
    assert inside.sum() > 500 and (~inside).sum() > 500


def test_in_a_deformed_body_the_nearest_point_at_rest_is_carried():
    """If not, the target is not where the tet goes that holds the nearest point at rest. An affine map of the whole body, of which the
    answer is known."""
    mesh = horseshoe()
    map_ = np.array([[1.2, 0.3, 0.0], [0.0, 0.8, -0.2], [0.1, 0.0, 1.1]])
    rest = np.random.default_rng(3).uniform(0.0, 0.3, size=(800, 3)) * [1.0, 1.0, 0.33]
    found = seen(mesh, rest @ map_.T + 2.0, move=lambda x: np.concatenate([x[: len(mesh.points)] @ map_.T + 2.0, x[len(mesh.points) :]]))
    surface = pdgpu.Mesh(mesh.points, triangles=mesh.surface)
    inside = winding_number(surface, rest) > 0.5
    away, _ = nearest_points(surface, rest)
    plain = away > 1e-9
    np.testing.assert_array_equal(found.active[plain], inside[plain])
    at_rest = np.linalg.solve(map_, (found.targets[found.active] - 2.0).T).T
    np.testing.assert_allclose(np.linalg.norm(at_rest - rest[found.active], axis=1), away[found.active], rtol=1e-6, atol=1e-12)
    assert nearest_points(surface, at_rest)[0].max() < 1e-12
