"""The verifier between frames: contacts at exact times, none missed, none invented."""

import math
import os
import time
from fractions import Fraction

import numpy as np
import pytest
from inputs import data_file

import pdgpu
from pdgpu import _host

pytestmark = pytest.mark.skipif(not _host.HAS_GMP, reason="this build has no GMP")

TRIANGLE = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]], dtype=float)


def vertex_triangle(start, end, triangle_0=TRIANGLE, triangle_1=None):
    triangle_1 = triangle_0 if triangle_1 is None else triangle_1
    x = np.concatenate([[start], triangle_0, [end], triangle_1]).astype(float)
    return _host.contact_times(x[None], 1)[0]


def edge_edge(a_0, b_0, a_1, b_1):
    return _host.contact_times(np.concatenate([a_0, b_0, a_1, b_1]).astype(float)[None], 2)[0]


def below(exact, t):
    """Whether t is a time of contact rounded down as promised."""
    return 0 <= exact - Fraction(float(t)) <= Fraction(1, 2**52)


def test_vertex_and_triangle_at_rest():
    """Contacts with a resting triangle are rational times."""
    for k in range(1, 20):
        assert below(Fraction(k, 20), vertex_triangle([1, 1, k], [1, 1, k - 20]))
    assert vertex_triangle([1, 1, 1], [1, 1, 0]) == 1.0
    assert vertex_triangle([1, 1, 0], [1, 1, 1]) == 0.0
    assert vertex_triangle([1, 1, 1], [1, 1, 5e-324]) == -1.0
    assert vertex_triangle([3, 3, 1], [3, 3, -1]) == -1.0
    assert below(Fraction(1, 2), vertex_triangle([2, 2, 1], [2, 2, -1]))  # through a side
    assert vertex_triangle([2, 2 + 2.0**-50, 1], [2, 2 + 2.0**-50, -1]) == -1.0


def test_always_coplanar():
    """The cubic vanishes identically: contacts on a side, at a corner, and none."""
    assert below(Fraction(1, 2), vertex_triangle([-1, 1, 0], [1, 1, 0]))
    assert below(Fraction(1, 3), vertex_triangle([-1, -1, 0], [2, 2, 0]))
    assert vertex_triangle([-1, -1, 0], [-2, 9, 0]) == -1.0
    assert vertex_triangle([1, 1, 0], [9, 9, 0]) == 0.0
    flat = np.array([[0, 0, 0], [4, 0, 0], [2, 0, 0]], dtype=float)
    assert below(Fraction(1, 4), vertex_triangle([1, 1, 0], [1, -3, 0], flat))
    assert vertex_triangle([5, 1, 0], [5, -3, 0], flat) == -1.0
    # everything moves along one line
    assert below(Fraction(1, 5), vertex_triangle([5, 0, 0], [0, 0, 0], flat))


def test_second_coplanarity():
    """Edges that are coplanar all the time meet only once one has come within the other."""
    a_0, a_1 = [[-1, 0, 0], [1, 0, 0]], [[-1, 0, 0], [1, 0, 0]]
    b_0, b_1 = [[5, -1, -1], [5, 1, 1]], [[-4, -1, -1], [-4, 1, 1]]  # always crosses the line of a; inside for x <= 1
    assert below(Fraction(4, 9), edge_edge(a_0, b_0, a_1, b_1))


def test_double_root():
    """The determinant is proportional to (1 - 2 t)^2: it does not change sign, and there is a contact."""
    # a along x at height 1 - 2 t; b along y, of length 2 |1 - 2 t|: a point at the time of contact
    a_0, a_1 = [[-1, 0, 1], [1, 0, 1]], [[-1, 0, -1], [1, 0, -1]]
    b_0, b_1 = [[0, -1, 0], [0, 1, 0]], [[0, 1, 0], [0, -1, 0]]
    assert below(Fraction(1, 2), edge_edge(a_0, b_0, a_1, b_1))


def test_edges():
    assert below(
        Fraction(1, 2), edge_edge([[-1, 0, 1], [1, 0, 1]], [[0, -1, 0], [0, 1, 0]], [[-1, 0, -1], [1, 0, -1]], [[0, -1, 0], [0, 1, 0]])
    )
    parallel = [[0, 0, 0], [1, 0, 0]]
    assert below(Fraction(1, 3), edge_edge([[0.5, 0, 1], [2, 0, 1]], parallel, [[0.5, 0, -2], [2, 0, -2]], parallel))
    assert edge_edge([[1.5, 0, 1], [2, 0, 1]], parallel, [[1.5, 0, -2], [2, 0, -2]], parallel) == -1.0
    point = [[0.5, 0, 1], [0.5, 0, 1]]
    assert below(Fraction(1, 2), edge_edge(point, parallel, [[0.5, 0, -1], [0.5, 0, -1]], parallel))


@pytest.mark.parametrize("scale", [2.0**-300, 2.0**-10, 1.0, 2.0**10, 2.0**300])
def test_random_contacts_are_where_they_were_made(scale):
    """A vertex is aimed at a point of a moving triangle: there must be a contact, no later than aimed at."""
    rng = np.random.default_rng(5)
    for _ in range(100):
        t = float(rng.integers(1, 16)) / 16
        ends = rng.integers(-8, 9, (2, 3, 3)).astype(float) * 16  # whole, so that the aimed point is exact
        weights = rng.multinomial(16, [1 / 3] * 3) / 16
        target = weights @ (ends[0] * (1 - t) + ends[1] * t)
        velocity = rng.integers(-64, 65, 3) * 16.0
        found = vertex_triangle((target - velocity * t) * scale, (target + velocity * (1 - t)) * scale, ends[0] * scale, ends[1] * scale)
        assert 0 <= found <= t


@pytest.mark.parametrize("is_edge", [False, True])
def test_labelled_queries(is_edge):
    """Public queries with exact labels and times: no difference is allowed."""
    queries = np.load(data_file("ccd/queries_handcrafted.npz"))
    chosen = queries["is_ee"] == is_edge
    times = _host.contact_times(np.ascontiguousarray(queries["X"][chosen]), 2 if is_edge else 1)
    np.testing.assert_array_equal(times >= 0, queries["hit"][chosen])
    np.testing.assert_allclose(times[times >= 0], queries["toi"][chosen][times >= 0], rtol=0, atol=2.0**-52)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cloth_funnel", pytest.param("armadillo_rollers", marks=pytest.mark.stress)])
def test_whole_step_of_a_mesh(name):
    """All contacts of a step, found through boxes and filter, are the listed ones and no others."""
    frame = np.load(data_file(f"ccd/frame_{name}.npz"))
    start, end = frame["V0"].astype(float), frame["V1"].astype(float)
    certificate = pdgpu.certify([start, end], frame["F"], gap=False)
    found = {kind: set() for kind in ("vertex-triangle", "edge-edge")}
    for crossing in certificate.crossings:
        found[crossing.kind].add((crossing.first, crossing.second))
    assert found["vertex-triangle"] == set(map(tuple, frame["vf"][frame["vf_hit"]].tolist()))
    edges = {tuple(edge): i for i, edge in enumerate(certificate.edges.tolist())}
    own = np.array([edges[tuple(edge)] for edge in frame["E"].tolist()])
    expected = {tuple(sorted(own[pair].tolist())) for pair in frame["ee"][frame["ee_hit"]]}
    assert found["edge-edge"] == expected
    assert bool(certificate.intersections.get(0)) == (name == "cloth_funnel")


def two_sheets(n=8):
    grid = pdgpu.shapes.grid((1, 1), cells=(n, n))
    return np.concatenate([grid.points, grid.points + [0.013, 0.017, 0.1]]), np.concatenate(
        [grid.triangles, grid.triangles + len(grid.points)]
    )


def test_clean_trajectory():
    """Sheets that slide over each other: the gap and its frame are those of the paper."""
    points, triangles = two_sheets()
    upper = np.arange(len(points)) >= len(points) // 2
    frames = [points + np.outer(upper, [0.2 * k, 0, -0.03 * k + (k == 3) * 0.08]) for k in range(4)]
    certificate = pdgpu.certify(frames, triangles)
    assert certificate and certificate.clean and certificate.frames == 4
    assert not certificate.crossings and not certificate.intersections
    assert math.isclose(certificate.smallest_gap, 0.04, rel_tol=1e-12)
    assert certificate.worst_pair.frame == 2
    assert "4 frames without" in str(certificate)


def test_tunnelling_is_seen():
    """Both frames are clean, the step between them is not: only a verifier of the motion can tell."""
    points, triangles = two_sheets()
    upper = np.arange(len(points)) >= len(points) // 2
    certificate = pdgpu.certify(iter([points, points - np.outer(upper, [0, 0, 0.2])]), triangles)
    assert not certificate and not certificate.intersections
    assert {crossing.frame for crossing in certificate.crossings} == {0}
    assert {crossing.kind for crossing in certificate.crossings} == {"vertex-triangle", "edge-edge"}
    np.testing.assert_allclose([crossing.time for crossing in certificate.crossings], 0.5, rtol=1e-12)
    assert "crossings" in str(certificate)


def test_intersecting_frame():
    points, triangles = two_sheets()
    bent = points.copy()
    bent[-1, 2] = -0.5
    certificate = pdgpu.certify([points, bent], triangles)
    assert list(certificate.intersections) == [1] and certificate.smallest_gap == 0.0 and certificate.worst_pair.frame == 1


def test_folding_of_neighbours():
    """A hinge that closes flat, and one that passes through itself, are seen though the triangles share an edge."""
    hinge = np.array([[0, 0, 0], [4, 0, 0], [1, 4, 0], [1.5, 1, 2]], dtype=float)
    triangles = [[0, 1, 2], [1, 0, 3]]
    for height in (0, -2):
        end = hinge.copy()
        end[3, 2] = height
        certificate = pdgpu.certify([hinge, end], triangles)
        assert [(crossing.kind, crossing.first, crossing.second) for crossing in certificate.crossings] == [("vertex-triangle", 3, 0)]
        assert below(Fraction(2, 2 - height), certificate.crossings[0].time)


def test_rods_and_particles():
    """A particle through a face and through a rod, a rod folded onto its neighbour."""
    points = np.concatenate([TRIANGLE, [[1, 1, 1], [9, 0, 0], [9, 2, 2], [9, 2, 0]]])
    end = points.copy()
    end[3] = [1, 1, -1]
    assert not pdgpu.certify([points, end], [[0, 1, 2]]).crossings
    (crossing,) = pdgpu.certify([points, end], [[0, 1, 2]], particles=[3]).crossings[:1]
    assert crossing[2:] == ("vertex-triangle", 3, 0) and crossing.time == 0.5
    end = points.copy()
    end[6] = [9, 0, 2]
    certificate = pdgpu.certify([points, end], edges=[[4, 5], [5, 6]])
    assert [crossing[2:] for crossing in certificate.crossings] == [("vertex-edge", 6, 0)]


def test_smallest_gap_against_brute_force():
    """The tree finds the nearest pair of all; a distance computed by minimising over sampled points is never smaller."""
    rng = np.random.default_rng(7)
    for n in (2, 5, 30):
        points = rng.standard_normal((3 * n, 3))
        triangles = np.arange(3 * n, dtype=np.int32).reshape(n, 3)
        gap = pdgpu.certify([points], triangles).smallest_gap
        w = rng.dirichlet([0.5] * 3, 300)
        samples = np.einsum("sk,tkx->tsx", w, points[triangles])
        sampled = min(np.sqrt(((samples[i][:, None] - samples[j][None]) ** 2).sum(-1).min()) for i in range(n) for j in range(i))
        assert gap <= sampled
    rows = [np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [0.3, 0.4, 0.7], [5, 5, 0.7], [5, 6, 3]], dtype=float)]
    certificate = pdgpu.certify(rows, [[0, 1, 2], [3, 4, 5]])
    assert certificate.smallest_gap == pytest.approx(0.7, rel=1e-15)
    assert certificate.worst_pair == (0, "vertex-triangle", 3, 0)
    crossed = np.array([[-1, 0, 0], [1, 0, 0], [0, -1, 0.5], [0, 1, 0.5]])
    certificate = pdgpu.certify([crossed], edges=[[0, 1], [2, 3]])
    assert certificate.smallest_gap == 0.5 and certificate.worst_pair.kind == "edge-edge"
    assert math.isinf(pdgpu.certify([TRIANGLE], [[0, 1, 2]]).smallest_gap)
    assert math.isnan(pdgpu.certify([TRIANGLE], [[0, 1, 2]], gap=False).smallest_gap)


def test_smallest_gap_of_edges_and_corners_on_a_line():
    """If it failed, a straight rod, whose edges lie on one line, would be reported as touching itself."""
    rng = np.random.default_rng(3)
    for size in (1e-3, 1.0, 1e3):
        for _ in range(300):
            a, along = size * rng.standard_normal(3), size * rng.standard_normal(3)
            rod = a + np.array([[0.0], [1.0], [2.0], [3.0]]) * along + size * 1e-17 * rng.standard_normal((4, 3))
            length = np.linalg.norm(along)
            gap = pdgpu.certify([rod], edges=[[0, 1], [2, 3]]).smallest_gap
            assert abs(gap - length) < 1e-14 * length + 1e-15 * np.abs(rod).max()
            gap = pdgpu.certify([rod], triangles=[[0, 1, 2]], particles=[3]).smallest_gap
            assert abs(gap - length) < 1e-14 * length + 1e-15 * np.abs(rod).max()


def test_meshes_and_threads():
    sphere = pdgpu.shapes.sphere(1.0, 2)
    meshes = [sphere, pdgpu.Mesh(sphere.points * 1.5 + 3, triangles=sphere.triangles)]
    one, two = (pdgpu.certify(meshes, threads=threads) for threads in (1, 2))
    assert one.clean and one.smallest_gap == two.smallest_gap and one.worst_pair == two.worst_pair
    points, triangles = two_sheets()
    squashed = points * [1, 1, -1.0]
    one, two = (pdgpu.certify([points, squashed], triangles, threads=threads) for threads in (1, 2))
    assert one.crossings == two.crossings and one.crossings


def falling_scene(motion=None):
    """A sheet above a ball that is an obstacle, a rod, a particle, and a pinned body far away."""
    scene, grid = pdgpu.Scene(), pdgpu.shapes.grid((1, 1), cells=(6, 6))
    scene.add_shell(pdgpu.Mesh(grid.points - [0.5, 0.5, -0.5], triangles=grid.triangles), pdgpu.Spring(1e3), density=0.2)
    scene.add_rod(pdgpu.Mesh([[5.0, 0, 0], [5.0, 1, 0]], edges=[[0, 1]]), pdgpu.Spring(1e3), density=0.1)
    scene.add_particles([[7.0, 0, 0]], mass=1.0)
    scene.add_obstacle(pdgpu.Plane((0, 0, -9.0), (0, 0, 1)))
    scene.add_obstacle(pdgpu.shapes.sphere(0.3, 2), motion=motion)
    return scene


def test_a_scene_brings_its_surfaces_and_obstacles():
    """If not, what goes through an obstacle is certified as free of contact."""
    scene = falling_scene()
    rest = np.concatenate([body.points for body in scene.bodies])
    sheet = np.arange(len(rest)) < 49
    frames = [rest - np.outer(sheet, [0, 0, depth]) for depth in (0.0, 0.15, 1.1)]
    assert pdgpu.certify(frames[:2], scene).clean
    certificate = pdgpu.certify(frames, scene)
    assert not certificate.clean and {crossing.frame for crossing in certificate.crossings} == {1}
    assert not certificate.intersections  # below the ball it is free again
    surface = pdgpu.surface.SceneSurface(scene)
    assert all(surface.owner[crossing.first] == 0 for crossing in certificate.crossings if crossing.first < 49)
    # the same, numbered by hand
    triangles, points = surface.triangles, [surface.positions(frame, 0.0) for frame in frames]
    assert certificate.crossings == pdgpu.certify(points, triangles, surface.edges, particles=surface.particles).crossings


def test_a_scene_with_a_moving_obstacle():
    """The ball rises into a sheet at rest: seen only where the times are right."""
    scene = falling_scene(motion=lambda time, rest: rest + [0, 0, 0.5 * time])
    frame = np.concatenate([body.points for body in scene.bodies])
    assert pdgpu.certify([frame] * 3, scene, times=[0.0, 0.1, 0.3]).clean
    certificate = pdgpu.certify([frame] * 3, scene, times=[0.0, 0.2, 0.6])
    top = [crossing for crossing in certificate.crossings if crossing.kind == "vertex-triangle"]
    assert certificate.crossings and {crossing.frame for crossing in top} == {1}
    assert min(crossing.time for crossing in top) == pytest.approx(0.5, abs=1e-12)  # 0.3 + 0.5 t = 0.5 at t = 0.4
    with pytest.raises(ValueError, match="times: needed, because an obstacle of the scene moves"):
        pdgpu.certify([frame], scene)
    for times in ([0.0], [0.0, 0.1, 0.2]):
        with pytest.raises(ValueError, match="times: expected one for each"):
            pdgpu.certify([frame] * 2, scene, times=times)
    with pytest.raises(TypeError, match="a Scene has its own edges and particles"):
        pdgpu.certify([frame], scene, edges=[[0, 1]], times=[0.0])
    with pytest.raises(TypeError, match="times: needs a Scene"):
        pdgpu.certify([TRIANGLE], [[0, 1, 2]], times=[0.0])


FOLDED = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, -1], [0.3, 0.2, 1], [0.2, 0.3, 1]])


def with_folded_obstacle(*others, points=FOLDED, motion=None):
    """A triangle 9 m above an obstacle mesh of two triangles, which stand through each other, and other obstacles."""
    scene = pdgpu.Scene()
    scene.add_shell(pdgpu.Mesh(TRIANGLE + [0, 0, 9.0], triangles=[[0, 1, 2]]), pdgpu.Spring(1e3), density=0.2)
    scene.add_obstacle(pdgpu.Mesh(points, triangles=[[0, 1, 2], [3, 4, 5]]), motion)
    for mesh in others:
        scene.add_obstacle(mesh)
    return scene, scene.rest_positions()


def test_an_obstacle_that_intersects_itself_does_not_fail_the_bodies():
    """If not, every certificate of a scene fails, however far its bodies are from the obstacle."""
    scene, far = with_folded_obstacle()
    certificate = pdgpu.certify([far, far + [0, 0, 1]], scene)
    assert certificate.clean and certificate and not certificate.intersections and not certificate.crossings
    assert certificate.smallest_gap > 0.0
    # what is there is shown, the same that the verifier of the whole surface finds
    surface = pdgpu.surface.SceneSurface(scene)
    every = pdgpu.geometry.find_intersections(surface.positions(far, 0.0), surface.triangles)
    assert sorted(certificate.obstacle_intersections) == [0, 1] and len(every) == 2
    for found in certificate.obstacle_intersections.values():
        assert found.edge_triangle.tolist() == every.edge_triangle.tolist()
    assert "2 frames without intersections or crossings" in str(certificate)
    assert "of obstacles alone 4 intersections in 2 of them, 0 crossings" in str(certificate)
    # with a body in the obstacle too, each is where it belongs
    certificate = pdgpu.certify([far, far - [0, 0, 8.75]], scene)
    assert not certificate.clean and list(certificate.intersections) == [1] and certificate.smallest_gap == 0.0
    surface_points = surface.positions(far - [0, 0, 8.75], 0.0)
    every = pdgpu.geometry.find_intersections(surface_points, surface.triangles).edge_triangle.tolist()
    parts = certificate.intersections[1].edge_triangle.tolist(), certificate.obstacle_intersections[1].edge_triangle.tolist()
    assert sorted(parts[0] + parts[1]) == every and len(parts[1]) == 2
    corners = certificate.edges[[edge for edge, _ in parts[0]]], surface.triangles[[triangle for _, triangle in parts[0]]]
    assert all(min(edge.min(), triangle.min()) < 3 for edge, triangle in zip(*corners, strict=True))
    # without a scene there are no obstacles: a mesh is asked to keep out of itself
    assert not pdgpu.certify([FOLDED], [[0, 1, 2], [3, 4, 5]]).clean


def test_obstacles_that_pass_through_each_other_do_not_fail_the_bodies():
    """If not, one box mesh on another, or a script that closes a mesh, fails the certificate of all bodies."""
    high = FOLDED + np.repeat([[0, 0, 0], [0, 0, 2.0]], 3, axis=0)
    ball = pdgpu.shapes.sphere(0.4, 1)
    balls = [pdgpu.Mesh(ball.points + [5.0 + 0.3 * k, 0, 0], triangles=ball.triangles) for k in range(2)]
    down = np.repeat([[0, 0, 0], [0, 0, -4.0]], 3, axis=0)
    scene, far = with_folded_obstacle(points=high, motion=lambda time, rest: rest + time * down)
    certificate = pdgpu.certify([far, far], scene, times=[0.0, 1.0])
    assert certificate.clean and not certificate.crossings and not certificate.obstacle_intersections
    assert {crossing[2:] for crossing in certificate.obstacle_crossings} >= {("vertex-triangle", 6, 1)}
    scene, far = with_folded_obstacle(*balls, points=high)
    certificate = pdgpu.certify([far], scene)
    assert certificate.clean and len(certificate.obstacle_intersections[0]) > 2


def test_the_way_of_a_rigid_body_is_not_cut_because_of_an_obstacle():
    """If not, each pair of frames is looked at in 64 pieces, for what no piece can change."""
    high = FOLDED + np.repeat([[0, 0, 0], [0, 0, 2.0]], 3, axis=0)
    down = np.repeat([[0, 0, 0], [0, 0, -4.0]], 3, axis=0)
    scene, box = pdgpu.Scene(), pdgpu.shapes.box((1.0, 0.1, 0.1))
    body = scene.add_rigid(pdgpu.Mesh(box.points + [0, 0, 9.0], triangles=box.triangles), density=1.0)
    scene.add_obstacle(pdgpu.Mesh(high, triangles=[[0, 1, 2], [3, 4, 5]]), lambda time, rest: rest + time * down)
    turned = body.points @ np.array([[np.cos(0.5), np.sin(0.5), 0], [-np.sin(0.5), np.cos(0.5), 0], [0, 0, 1]])
    certificate = pdgpu.certify([body.points, turned], scene, times=[0.0, 1.0])
    assert certificate.clean and certificate.pieces == 1 and certificate.obstacle_crossings


@pytest.mark.parametrize(
    ("trajectory", "message"),
    [
        ([], "trajectory: has no frames"),
        ([TRIANGLE, TRIANGLE[:2]], r"trajectory\[1\]: expected shape \(3, 3\), got \(2, 3\)"),
        ([TRIANGLE, TRIANGLE + np.inf], r"trajectory\[1\]: value inf at \(0, 0\) is not finite"),
    ],
)
def test_bad_input(trajectory, message):
    with pytest.raises(ValueError, match=message):
        pdgpu.certify(trajectory, [[0, 1, 2]])
    with pytest.raises(ValueError, match="triangles: needed"):
        pdgpu.certify([TRIANGLE])


def tangled(rng, exponent):
    """Two frames of an icosphere whose coordinates have random signs and sizes from 10^-exponent to 10^exponent."""
    sphere = pdgpu.shapes.sphere(1.0, 1)
    return sphere.surface, [rng.normal(size=(42, 3)) * 10.0 ** rng.uniform(-exponent, exponent, (42, 3)) for _ in range(2)]


def test_coordinates_of_any_size_are_decided_within_seconds():
    """If not, one vertex that flew away makes a certificate of a small mesh take minutes: 14 s of processor here, where 1 is enough."""
    surface, frames = tangled(np.random.default_rng(0), 50)
    start = time.process_time()
    wide = pdgpu.certify(frames, surface, gap=False, threads=1)
    assert time.process_time() - start < (60 if "PDGPU_SANITIZED" in os.environ else 6)
    assert len(wide.crossings) > 1000


def test_scaling_the_axes_changes_no_decision():
    """If not, what touches depends on how many digits the exact numbers have: maps of space that fold nothing keep every contact."""
    surface, frames = tangled(np.random.default_rng(1), 3)
    found = [
        pdgpu.certify([frame * scale for frame in frames], surface, gap=False, threads=1)
        for scale in (1.0, np.array([2.0**90, 2.0**-100, 1.0]))
    ]
    first, second = ([(c.kind, c.first, c.second) for c in each.crossings] for each in found)
    assert first == second and len(first) > 1000
    np.testing.assert_allclose([c.time for c in found[0].crossings], [c.time for c in found[1].crossings], atol=2.0**-50)
