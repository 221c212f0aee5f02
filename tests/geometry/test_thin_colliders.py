"""Segments and points as colliders: their distances, what they refuse, and their verification."""

import pickle

import numpy as np
import pytest
from thin_obstacles import grid, needles, wire

import pdgpu
from pdgpu import shapes

NAN = float("nan")
HAS_GMP = pdgpu._host.HAS_GMP


def to_segments(x, a, b):
    """The least distance of each x (n, 3) to segments a b (m, 3), by the formula for each."""
    along = b - a
    t = np.clip(np.einsum("nmi,mi->nm", x[:, None] - a, along) / np.einsum("mi,mi->m", along, along), 0.0, 1.0)
    return np.linalg.norm(x[:, None] - a - t[..., None] * along, axis=2).min(axis=1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distances(dtype):
    """If wrong, what keeps clear of a wire by its distance goes through it."""
    rng = np.random.default_rng(0)
    points, x = rng.normal(size=(31, 3)), rng.normal(size=(400, 3)).astype(dtype)
    edges = np.stack([np.arange(30), np.arange(1, 31)], axis=1)
    shift = np.array([0.3, -0.2, 0.1])

    def motion(time, rest):
        return rest + time * shift

    tolerance = 1e-5 if dtype == "float32" else 1e-13
    for collider, exact in (
        (pdgpu.Segments(points, edges, motion=motion), to_segments(x - 2.0 * shift, *points[edges.T])),
        (pdgpu.Points(points, motion=motion), np.linalg.norm(x[:, None] - 2.0 * shift - points, axis=2).min(axis=1)),
    ):
        found = collider.query(x, 2.0)
        np.testing.assert_allclose(found.distance, exact, rtol=0.0, atol=tolerance)
        np.testing.assert_allclose(found.closest + found.distance[:, None] * found.normal, x, atol=tolerance)
        np.testing.assert_allclose(np.linalg.norm(found.gradient, axis=1), 1.0, atol=tolerance)
        np.testing.assert_allclose(collider.distance(found.closest, 2.0), 0.0, atol=2.0 * tolerance)
        np.testing.assert_allclose(collider.displacement(x, 1.0, 4.0), np.tile(3.0 * shift, (len(x), 1)), atol=1e-12)
        assert found.distance.dtype == dtype
        for threads in (1, 3):
            assert collider.distance(x, 2.0, threads=threads).tobytes() == found.distance.tobytes()


def test_on_a_point_the_normal_is_a_unit_vector():
    """If it were NaN, one query of a wire's own end would spoil a result."""
    for collider in (wire(2), pdgpu.Points(grid(1.0, 3))):
        found = collider.query(collider.points)
        assert not found.distance.any()
        np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0)


TWO = [[0, 0, 0], [1, 0, 0]]
REFUSED = [
    (lambda: pdgpu.Segments(np.zeros((0, 3)), []), ValueError, ["points", "give one or more"]),
    (lambda: pdgpu.Segments(TWO, []), ValueError, ["edges", "Points"]),
    (lambda: pdgpu.Segments(TWO, [[0, 2]]), ValueError, ["edges", "index 2", "row 0", "2 points"]),
    (lambda: pdgpu.Segments(TWO, [[0, 1], [1, 0]]), ValueError, ["edges", "0 and 1", "(0, 1)"]),
    (lambda: pdgpu.Segments(TWO, [[1, 1]]), ValueError, ["edges", "1"]),
    (lambda: pdgpu.Segments([*TWO, [1, 0, 0]], [[0, 1], [1, 2]]), ValueError, ["edges", "row 1", "(1, 2)", "no length"]),
    (lambda: pdgpu.Segments([*TWO, [2, 0, 0]], [[0, 1]]), ValueError, ["points", "row 2", "no segment"]),
    (lambda: pdgpu.Segments([[0, 0, NAN], [1, 0, 0]], [[0, 1]]), ValueError, ["nan", "row 0", "column 2"]),
    (lambda: pdgpu.Segments(TWO, [[0.0, 1.0]]), TypeError, ["edges"]),
    (lambda: pdgpu.Segments(TWO, [[0, 1, 1]]), ValueError, ["edges", "(1, 3)"]),
    (lambda: pdgpu.Segments(TWO, [[0, 1]], motion=3), TypeError, ["motion", "3"]),
    (lambda: pdgpu.Points([]), ValueError, ["points"]),
    (lambda: pdgpu.Points([[0, 0]]), ValueError, ["points", "(1, 2)"]),
    (lambda: pdgpu.Points([[0, 0, 0], [0, np.inf, 0]]), ValueError, ["points", "inf", "(1, 1)"]),
    (lambda: pdgpu.Points([*TWO, [-0.0, 0, 0]]), ValueError, ["points", "0 and 2"]),
    (lambda: pdgpu.Points(TWO, motion=lambda time, rest: rest[:1]).distance([TWO[0]]), ValueError, ["motion", "(1, 3)", "0.0"]),
    (lambda: pdgpu.Points(TWO, motion=lambda time, rest: rest * NAN).distance([TWO[0]]), ValueError, ["motion", "nan"]),
    (lambda: pdgpu.Points(TWO).placement(), TypeError, ["Points", "positions"]),
    (lambda: wire().distance([[0, 0]]), ValueError, ["points", "(1, 2)"]),
]


@pytest.mark.parametrize("call, error, words", REFUSED)
def test_refusals(call, error, words):
    """If not, a slip in a description is found hours later, or never."""
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_a_mesh_of_edges_is_an_obstacle():
    """If not, a wire of a mesh file could not be one."""
    scene = pdgpu.Scene()
    chain = shapes.chain(4)
    collider = scene.add_obstacle(chain).collider
    assert isinstance(collider, pdgpu.Segments) and np.array_equal(collider.edges, chain.edges)
    sheet = shapes.grid((1.0, 1.0), (2, 2))
    both = pdgpu.Mesh(sheet.points, triangles=sheet.triangles, edges=[[0, 8]])
    assert isinstance(scene.add_obstacle(both).collider, pdgpu.TriangleMesh)
    with pytest.raises(ValueError, match="belongs to no segment"):
        scene.add_obstacle(pdgpu.Mesh(sheet.points, edges=[[0, 8]]))
    assert "4 segments" in repr(collider) and repr(pdgpu.Points(chain.points)) == "Points(5 points)"


def test_copies_and_pickles():
    """If not, a scene with a wire cannot be sent to another process."""
    for collider in (wire(3), pdgpu.Points(grid(1.0, 2))):
        again = pickle.loads(pickle.dumps(collider))
        for mine, other in zip(collider.primitives(), again.primitives(), strict=True):
            assert np.array_equal(mine, other)
        assert np.array_equal(collider.points, again.points)
        with pytest.raises(ValueError, match="read-only"):
            collider.points[0] = 1.0


def sheet_scene(collider, height=0.0, **others):
    """A sheet of 4 x 4 cells, 1 m wide, at a height, and a collider."""
    flat = shapes.grid((1.0, 1.0), (4, 4))
    points = np.stack([flat.points[:, 0] - 0.47, np.full(25, height), flat.points[:, 1] - 0.48], axis=1)
    scene = pdgpu.Scene()
    scene.add_shell(pdgpu.Mesh(points, triangles=flat.triangles), pdgpu.Spring(1e2), density=0.1, name="sheet")
    scene.add_obstacle(collider, name="thin", **others)
    return scene, points


@pytest.mark.skipif(not HAS_GMP, reason="this build has no GMP")
def test_the_verifier_finds_what_pierces():
    """If not, a certificate would call a cloth clean that a needle pierces."""
    scene, flat = sheet_scene(needles(grid(0.1, 1) + [0.01, 0.2, 0.02], 0.4))
    certificate = pdgpu.certify([flat], scene)
    assert not certificate and len(certificate.intersections[0].edge_triangle) == 1
    assert pdgpu.certify([flat + [0.0, 0.3, 0.0]], scene)


@pytest.mark.skipif(not HAS_GMP, reason="this build has no GMP")
@pytest.mark.parametrize("kind", ["points", "tip", "wire"])
def test_the_verifier_finds_what_passes_between_two_frames(kind):
    """If not, a cloth that jumps over a needle's tip in one step would be certified."""
    collider = {
        "points": pdgpu.Points([[0.01, 0.0, 0.02]]),
        "tip": needles(np.array([[0.01, 0.0, 0.02]]), 0.3),
        "wire": pdgpu.Segments([[-2.0, 0.0, 0.1], [2.0, 0.0, 0.1]], [[0, 1]]),
    }[kind]
    scene, flat = sheet_scene(collider)
    up, down = flat + [0.0, 0.1, 0.0], flat - [0.0, 0.1, 0.0]
    if kind != "tip":
        certificate = pdgpu.certify([up, down], scene)
        assert not certificate.intersections and certificate.crossings
        assert all(crossing.time == pytest.approx(0.5) for crossing in certificate.crossings)
        assert {crossing.kind for crossing in certificate.crossings} <= {"vertex-triangle" if kind == "points" else "edge-edge"}
    else:
        assert not pdgpu.certify([up, down], scene)
    assert pdgpu.certify([up, flat + [0.0, 0.01, 0.0]], scene, separation=0.009)
    assert not pdgpu.certify([up, flat + [0.0, 0.01, 0.0]], scene, separation=0.011)
    # the same with a sheet that stands and a collider that moves
    moving, _ = sheet_scene(collider, motion=lambda time, rest: rest + [0.0, 0.2 * time - 0.1, 0.0])
    assert not pdgpu.certify([flat, flat], moving, times=[0.0, 1.0])
    assert pdgpu.certify([flat, flat], moving, times=[0.0, 0.4])


@pytest.mark.skipif(not HAS_GMP, reason="this build has no GMP")
@pytest.mark.parametrize("kind", ["solid", "rigid", "embedded"])
def test_a_point_inside_a_body_is_found(kind):
    """If not, a point that begins inside a closed body would stay there, and no pair of features would show it."""
    ball = shapes.sphere(0.05, 2)
    block = shapes.beam((0.2, 0.2, 0.2), cells=(3, 3, 3))
    block = pdgpu.Mesh(block.points - 0.1, tets=block.tets)
    for collider in (pdgpu.Points([[0.003, 0.002, 0.001]]), pdgpu.Segments([[0.01, 0.0, 0.0], [-0.01, 0.004, 0.0]], [[0, 1]])):
        scene = pdgpu.Scene()
        if kind == "rigid":
            scene.add_rigid(ball, density=100.0, name="body")
        else:
            body = scene.add_solid(block, pdgpu.ARAP(1e4), density=100.0, name="body")
            if kind == "embedded":
                body.embed(ball, name="ball", collides=True)
        scene.add_obstacle(collider, name="thin")
        with pytest.raises(ValueError, match="'thin' starts inside 'body', at vertex"):
            pdgpu.Simulation(scene, pdgpu.Newton(iterations=2), dt=0.01, contact=pdgpu.BarrierContact(1e-3))
        start = scene.bodies[0].points
        certificate = pdgpu.certify([start], scene, inside=True)
        assert certificate.inner_vertices[0][0].where == "inside" and certificate.inner_vertices[0][0].name == "body"
        assert pdgpu.certify([start + 1.0], scene, inside=True)


@pytest.mark.skipif(not HAS_GMP, reason="this build has no GMP")
def test_a_point_in_an_obstacle_or_a_held_body_is_no_fault():
    """If it were, a needle could not stand in a table."""
    block = shapes.beam((0.2, 0.2, 0.2), cells=(1, 1, 1))
    scene = pdgpu.Scene()
    held = scene.add_solid(block, pdgpu.ARAP(1e4), density=100.0, name="held")
    held.pin(np.arange(len(block.points)))
    scene.add_particles([[1.0, 1.0, 1.0]], mass=1.0)
    scene.add_obstacle(pdgpu.Points([[0.1, 0.11, 0.12], [2.1, 0.11, 0.12]]), name="thin")
    scene.add_obstacle(shapes.box((3.0, 0.5, 0.5)), name="table")
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=2), dt=0.01, contact=pdgpu.BarrierContact(1e-3))
    sim.step()


@pytest.mark.skipif(not HAS_GMP, reason="this build has no GMP")
@pytest.mark.parametrize("kind", ["pierced", "touched", "too near"])
def test_a_start_that_intersects_is_refused(kind):
    """If not, the barrier would begin where it has no value."""
    collider, height = {
        "pierced": (needles(grid(0.1, 1) + [0.01, 0.2, 0.02], 0.4), 0.0),
        "touched": (pdgpu.Points([[0.01, 0.0, 0.02]]), 0.0),
        "too near": (pdgpu.Segments([[-2.0, 0.0, 0.1], [2.0, 0.0, 0.1]], [[0, 1]]), 1e-3),
    }[kind]
    scene, _ = sheet_scene(collider, height)
    contact = pdgpu.BarrierContact(1e-3, separation=2e-3 if kind == "too near" else 0.0)
    with pytest.raises(ValueError, match="start closer than" if kind == "too near" else "start intersecting") as caught:
        pdgpu.Simulation(scene, pdgpu.Newton(iterations=2), dt=0.01, contact=contact)
    assert "'thin'" in str(caught.value) and "'sheet'" in str(caught.value)


@pytest.mark.skipif(not HAS_GMP, reason="this build has no GMP")
@pytest.mark.parametrize("kind", ["rod", "rod and points", "particle", "particle and points"])
def test_a_rod_or_a_particle_on_them_is_refused(kind):
    """If not, two lines that cross would start at distance 0."""
    scene = pdgpu.Scene()
    if kind.startswith("rod"):
        scene.add_rod(pdgpu.Mesh([[0.05, 0.0, -0.1], [0.05, 0.0, 0.1]], edges=[[0, 1]]), pdgpu.Spring(1e2), density=0.1)
    else:
        scene.add_particles([[0.05, 0.0, 0.0]], mass=1.0)
    scene.add_obstacle(pdgpu.Points([[0.05, 0.0, 0.0]]) if kind.endswith("points") else wire(), name="thin")
    with pytest.raises(ValueError, match="start intersecting"):
        pdgpu.Simulation(scene, pdgpu.Newton(iterations=2), dt=0.01, contact=pdgpu.BarrierContact(1e-3))


def test_proxies_refuse_them_by_name():
    """If not, springs would have nothing to pull out of."""
    for collider in (wire(), pdgpu.Points(grid(0.1, 2))):
        scene = pdgpu.Scene()
        scene.add_particles([[0.0, 1.0, 0.0]], mass=1.0)
        scene.add_obstacle(collider, name="thin")
        with pytest.raises(TypeError, match=f"'thin' is {type(collider).__name__}.*BarrierContact"):
            pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(), contact=pdgpu.ProxyContact([0], stiffness=1.0))
