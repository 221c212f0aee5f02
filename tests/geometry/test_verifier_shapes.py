"""The verifier of planes, spheres, capsules and boxes: what meets them in a frame or between two, from outside or from within."""

import math
from fractions import Fraction

import numpy as np
import pytest

import pdgpu
from pdgpu import _host

pytestmark = pytest.mark.skipif(not _host.HAS_GMP, reason="this build has no GMP")

EYE = np.eye(3)
ABOVE, BELOW = math.nextafter(1.0, 2.0), math.nextafter(1.0, 0.0)


def scene_of(*shapes, triangle=False, rod=False):
    """Named a, b, ...; the body is a triangle, a rod of one edge or a particle: only its vertices count, wherever they are."""
    scene = pdgpu.Scene()
    if triangle:
        scene.add_shell(pdgpu.Mesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], triangles=[[0, 1, 2]]), pdgpu.Spring(1.0), density=1.0)
    elif rod:
        scene.add_rod(pdgpu.Mesh([[0.0, 0, 0], [1, 0, 0]], edges=[[0, 1]]), pdgpu.Spring(1.0), density=1.0)
    else:
        scene.add_particles([[0.0, 0, 0]], mass=1.0)
    for name, shape in zip("abcdef", shapes, strict=False):
        scene.add_obstacle(shape, name=name)
    return scene


def frame(shape, points, separation=0.0):
    """What is too near the shape in one frame: kinds, and the least distance. The next frame, the same, must say the same."""
    scene = scene_of(shape, triangle=len(points) == 3, rod=len(points) == 2)
    certificate = pdgpu.certify([points, points], scene, separation=separation, gap=False)
    found = certificate.intersections.get(0)
    close = found.close_pairs if found else []
    assert {near.second for near in close} <= {"a"} and (found is None or not len(found.edge_triangle))
    in_frames = {(near.kind, near.first) for near in close}
    between = {(crossing.kind, crossing.first) for crossing in certificate.crossings}
    assert all(crossing.time == 0.0 for crossing in certificate.crossings) and bool(between) <= bool(in_frames)
    return {kind for kind, _ in in_frames}, min((near.distance for near in close), default=None)


def lies(z, size=8.0):
    """A triangle at a height, around the axis, of which the nearest point to the origin is in its inside."""
    return [[-size, -size, z], [size, -size, z], [0.0, size, z]]


PLANE = pdgpu.Plane((7.0, 3.0, 1.0), (0.0, 0.0, 2.0))
SPHERE = pdgpu.Sphere((0.0, 0.0, 0.0), 1.0)
CAPSULE = pdgpu.Capsule((-3.0, 0.0, 0.0), (3.0, 0.0, 0.0), 1.0)
BOX = pdgpu.Box((2.0, 4.0, 2.0))
SHAPES = {"plane": PLANE, "sphere": SPHERE, "capsule": CAPSULE, "box": BOX}
BODIES = {"particle": lambda z: [[0, 0, z]], "rod": lambda z: [[0, -2, z], [0, 3, z]], "triangle": lies}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("body", BODIES)
def test_one_bit_decides_above_every_shape(shape, body):
    """All have their top at height 1. If not, what touches is certified, or what does not is refused."""
    points = BODIES[body]
    assert frame(SHAPES[shape], points(ABOVE)) == (set(), None)
    kinds, distance = frame(SHAPES[shape], points(1.0))
    assert kinds and distance == 0.0 and all(kind.endswith(f"-{shape}") for kind in kinds)
    assert frame(SHAPES[shape], points(BELOW))[0] >= kinds
    # with a separation what is exactly as far is far enough
    assert frame(SHAPES[shape], points(1.5), 0.5) == (set(), None)
    kinds, distance = frame(SHAPES[shape], points(math.nextafter(1.5, 1.0)), 0.5)
    assert kinds and distance == pytest.approx(0.5, abs=1e-15)
    assert frame(SHAPES[shape], points(1.0), 0.5)[0] and frame(SHAPES[shape], points(BELOW), 0.5)[0]


@pytest.mark.parametrize("separation", [0.0, 0.01])
def test_what_is_inside_counts(separation):
    """If not, a body that starts in a sphere, or has gone through a floor, is certified: its distance from the surface is large."""
    small = np.array(lies(0.0, 0.1))
    assert frame(PLANE, small - [0, 0, 5], separation) == ({"vertex-plane"}, -6.0)
    for radius, shape in ((1.0, SPHERE), (1.0, CAPSULE), (50.0, pdgpu.Sphere((0, 0, 1.0), 50.0))):
        kinds, distance = frame(shape, small + [0, 0, 0.5], separation)
        assert kinds <= {"triangle-sphere", "edge-capsule"} and distance == pytest.approx(0.5 - radius, abs=1e-12)
    assert frame(BOX, small, separation) == ({"vertex-box"}, 0.0)
    assert frame(BOX, [[0.5, 0.5, 0.5]], separation) == ({"vertex-box"}, 0.0)
    assert frame(BOX, [[0.5, 0.5, 0.5], [0.5, 0.5, 0.6]], separation) == ({"vertex-box"}, 0.0)
    # through and through, with no vertex of one near a triangle of the other
    needle = [[-90.0, 0.1, 0.2], [90.0, 0.1, 0.2]]
    assert frame(BOX, needle, separation)[0] == {"edge-box"}
    assert frame(SPHERE, needle, separation)[0] == {"edge-sphere"} and frame(CAPSULE, needle, separation)[0] == {"edge-capsule"}
    assert "triangle-box" in frame(pdgpu.Box((0.1, 0.1, 9.0)), lies(0.0), separation)[0]
    kinds, distance = frame(pdgpu.Capsule((0, 0, -9.0), (0, 0, 9.0), 0.1), lies(0.0, 80.0), separation)
    assert kinds == {"triangle-capsule"} and distance == -0.1


def test_a_tilted_plane_against_fractions():
    """If not, a vertex within rounding of a plane is on the wrong side of it."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        plane = pdgpu.Plane(rng.normal(size=3), rng.normal(size=3))
        point, normal = ([Fraction(value) for value in part] for part in (plane.point, plane.normal))
        square = sum(value * value for value in normal)
        for separation in (0.0, 0.375):
            x = np.cross(plane.normal, rng.normal(size=3)) + plane.point + separation * np.array(plane.normal)
            x = np.array([x + step * 2.0**-54 * np.array(plane.normal) for step in range(-8, 9)])
            height = [sum((Fraction(a) - b) * n for a, b, n in zip(row.tolist(), point, normal, strict=True)) for row in x]
            near = [h <= 0 if separation == 0.0 else h < 0 or h * h < Fraction(separation) ** 2 * square for h in height]
            verified = pdgpu.certify([x], scene_with_particles(x, plane), separation=separation, gap=False).intersections.get(0)
            found = {pair.first for pair in verified.close_pairs if pair.kind == "vertex-plane"} if verified else set()
            assert found == set(np.flatnonzero(near))


def scene_with_particles(points, *shapes):
    scene = pdgpu.Scene()
    for k, point in enumerate(points):
        scene.add_particles([point + [0.0, 0.0, 100.0 * k]], mass=1.0)  # no matter where: away from each other
    for shape in shapes:
        scene.add_obstacle(shape)
    return scene


# tops at height 1, as of the others, and how far they reach along y
PASSED = {
    "plane": (PLANE, None),
    "sphere": (SPHERE, 1.0),
    "capsule": (CAPSULE, 1.0),
    "box": (pdgpu.Box((2, 1, 1), rotation=EYE[[1, 2, 0]]), 0.5),
}


@pytest.mark.parametrize("shape", PASSED)
@pytest.mark.parametrize("separation", [0.0, 0.5])
def test_tunnelling_is_seen(shape, separation):
    """If not, what is in front of an obstacle in one frame and behind it in the next is certified."""
    collider, reach = PASSED[shape]
    exact = Fraction(3.0 - separation) / 8
    start, end = [[0.0, 0.0, 4.0]], [[0.0, 0.0, -4.0]]
    certificate = pdgpu.certify([start, end], scene_of(collider), separation=separation)
    (crossing,) = certificate.crossings
    assert crossing[0] == 0 and crossing[2:] == (f"vertex-{shape}", 0, "a")
    assert 0 <= exact - Fraction(crossing.time) <= Fraction(1, 2**39)
    assert list(certificate.intersections) == ([1] if shape == "plane" else [])
    # the same seen from the particle: the obstacle passes
    moving = type(collider)(**{**vars(collider), "motion": lambda time: (EYE, [0.0, 0.0, 8.0 * time])})
    passed = pdgpu.certify([start] * 2, scene_of(moving), times=[0.0, 1.0], separation=separation)
    assert [crossing[2:] for crossing in passed.crossings] == [(f"vertex-{shape}", 0, "a")]
    assert passed.crossings[0].time == pytest.approx(crossing.time, abs=1e-12)
    # and past it, nearer than by one bit of what is asked
    if reach is None:
        return
    beside = reach + separation
    for offset, is_near in ((math.nextafter(beside, 9.0), False), (math.nextafter(beside, 0.0), True)):
        past = pdgpu.certify([np.add(start, [0, offset, 0]), np.add(end, [0, offset, 0])], scene_of(collider), separation=separation)
        assert bool(past.crossings) == is_near and not past.intersections


def test_rods_and_triangles_that_pass():
    """If not, only vertices are stopped."""
    rod, sheet = np.array([[-9.0, 0.2, 4.0], [9.0, 0.2, 4.0]]), np.array(lies(4.0))
    for name, collider in (("sphere", SPHERE), ("capsule", pdgpu.Capsule((0, 0, -0.5), (0, 0, 0.5), 0.5)), ("box", pdgpu.Box((1, 1, 2)))):
        for points, kinds in ((rod, {f"edge-{name}"}), (sheet, {f"triangle-{name}"})):
            for separation in (0.0, 0.25):
                scene = scene_of(collider, rod=len(points) == 2, triangle=len(points) == 3)
                certificate = pdgpu.certify([points, points - [0, 0, 8]], scene, separation=separation, gap=False)
                assert {crossing.kind for crossing in certificate.crossings} == kinds and not certificate.intersections
                reach = math.sqrt(0.96) if len(points) == 2 and name == "sphere" and not separation else None
                if reach:
                    assert certificate.crossings[0].time == pytest.approx((4.0 - reach) / 8.0, abs=1e-11)


def test_a_plane_that_turns():
    """If not, a floor that tilts is passed between two frames that are both above it."""

    def turn(time):
        c, s = math.cos(0.5 * math.pi * time), math.sin(0.5 * math.pi * time)
        return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]), np.zeros(3)

    scene = scene_of(pdgpu.Plane((0, 0, 0), (0, 0, 1), motion=turn))
    through = [[[-5.0, 0.0, 1.0]], [[1.0, 0.0, -5.0]]]
    for separation in (0.0, 0.5):
        certificate = pdgpu.certify(through, scene, times=[0.0, 1.0], separation=separation)
        (crossing,) = certificate.crossings
        # the height over point and normal that move straight: (1 - t)^2 - 10 t (1 - t) + t^2
        exact = (12.0 - math.sqrt(144.0 - 48.0 * (1.0 - separation))) / 24.0
        assert crossing.kind == "vertex-plane" and crossing.time == pytest.approx(exact, abs=1e-11) and not certificate.intersections
        assert pdgpu.certify([[[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]]], scene, times=[0.0, 1.0], separation=separation / 2).clean


def test_names_numbers_and_several_at_once():
    """If not, it is unknown which of many obstacles was met, and by which element."""
    far = pdgpu.Sphere((500.0, 0, 0), 1.0)
    shapes = [far, pdgpu.Sphere((0.2, 0.2, -0.3), 0.25), pdgpu.Capsule((-5, 0.1, -1), (5, 0.1, -1), 0.1), BOX, PLANE]
    shapes[3:] = [pdgpu.Box((0.2, 0.2, 0.2), (0.3, 0.3, -2.0)), pdgpu.Plane((0, 0, -3), (0, 0, 1))]
    scene = scene_of(*shapes, triangle=True)
    points = scene.rest_positions()
    certificate = pdgpu.certify([points, points - [0, 0, 4.0]], scene)
    assert {(crossing.kind, crossing.second) for crossing in certificate.crossings} == {
        ("triangle-sphere", "b"),
        ("edge-capsule", "c"),
        ("triangle-box", "d"),
        ("vertex-plane", "e"),
    }
    keys = [crossing[2:] for crossing in certificate.crossings]
    assert keys == sorted(keys) and len(set(keys)) == len(keys)
    assert certificate.clean is False and list(certificate.intersections) == [1] and "3 intersections in 1 of them" in str(certificate)


def test_what_is_not_looked_at_and_bad_input():
    """If not, a field or another obstacle in the way spoils every certificate, or a moving one is verified where it never was."""
    values = np.pad(-np.ones((3, 3, 3)), 1, constant_values=1.0)
    scene = scene_of(pdgpu.SignedDistanceField(values, (-2, -2, -2), 1.0), pdgpu.Box((1, 1, 1), (9, 0, 0)))
    scene.add_obstacle(pdgpu.Sphere((9.4, 0, 0), 1.0))
    scene.add_obstacle(pdgpu.shapes.sphere(9.2, 1))
    assert pdgpu.certify([[[0.0, 0.0, 0.0]]] * 2, scene).clean
    still = scene_of(PLANE)
    assert pdgpu.certify([[[0.0, 0.0, 9.0]]], still, times=[3.0]).clean
    for collider in SHAPES.values():
        moving = type(collider)(**{**vars(collider), "motion": lambda time: (EYE, np.zeros(3))})
        with pytest.raises(ValueError, match="times: needed, because an obstacle of the scene moves"):
            pdgpu.certify([[[0.0, 0.0, 9.0]]], scene_of(moving))
    wild = pdgpu.Sphere((0, 0, 0), 1.0, motion=lambda time: (EYE, [np.nan, 0, 0]))
    with pytest.raises(ValueError, match=r"motion: translation at time 2\.0"):
        pdgpu.certify([[[0.0, 0.0, 9.0]]], scene_of(wild), times=[2.0])


def random_shapes(rng):
    """One of each kind, all on their way, two of them turning."""

    def motion(time, velocity, axis):
        angle = 0.5 * time
        cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
        return EYE + math.sin(angle) * cross + (1.0 - math.cos(angle)) * cross @ cross, time * velocity

    def moved():
        velocity, axis = rng.normal(size=3), rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        return lambda time: motion(time, velocity, axis)

    def pushed():
        velocity = rng.normal(size=3)
        return lambda time: (EYE, time * velocity)

    return {
        "sphere": pdgpu.Sphere(rng.normal(size=3), rng.uniform(0.1, 0.6), motion=moved()),
        "capsule": pdgpu.Capsule(rng.normal(size=3), rng.normal(size=3), rng.uniform(0.05, 0.3), motion=moved()),
        "box": pdgpu.Box(rng.uniform(0.3, 1.0, 3), rng.normal(size=3), moved()(2.0)[0], motion=pushed()),
        "plane": pdgpu.Plane(1.5 * rng.normal(size=3), rng.normal(size=3), motion=pushed()),
    }


@pytest.mark.parametrize("separation", [0.0, 0.15])
def test_random_motion_against_sampled_distances(separation):
    """If not, a triangle is in a shape, by the distances of the colliders themselves, and is certified; or is never near and is refused."""
    rng, times = np.random.default_rng(8), np.linspace(0.0, 1.0, 25)
    w = np.array([[i, j, 12 - i - j] for i in range(13) for j in range(13 - i)]) / 12.0  # of points of a triangle
    seen = {"plane": 0, "sphere": 0, "capsule": 0, "box": 0}
    for _ in range(30):
        x_0, x_1 = rng.normal(size=(2, 3, 3))
        for name, shape in random_shapes(rng).items():
            certificate = pdgpu.certify([x_0, x_1], scene_of(shape, triangle=True), times=[0.0, 1.0], separation=separation, gap=False)
            # the straight ways of corners, centres and ends between the frames, not the turned ones
            distances = np.array([straight_distance(shape, w @ (x_0 + t * (x_1 - x_0)), t).min() for t in times])
            speed = np.linalg.norm(x_1 - x_0, axis=1).max() + 6.0
            spacing = max(np.linalg.norm(x[i] - x[j]) for x in (x_0, x_1) for i in range(3) for j in range(i)) / 12.0
            if distances.min() < separation - 1e-9:
                assert not certificate.clean, (name, distances.min())
            if not certificate.clean:
                assert distances.min() < separation + speed * times[1] + spacing, (name, distances.min())
                first = 0.0 if 0 in certificate.intersections else min(crossing.time for crossing in certificate.crossings)
                assert not (distances[times < first] < separation - 1e-9).any(), "late"
            seen[name] += not certificate.clean
    assert all(3 < count for count in seen.values()), seen


def straight_distance(shape, x, t):
    """Distance of points from a shape whose own points move straight from time 0 to time 1."""
    (turn_0, shift_0), (turn_1, shift_1) = shape.placement(0.0), shape.placement(1.0)

    def at(p):
        return (1 - t) * (turn_0 @ np.array(p) + shift_0) + t * (turn_1 @ np.array(p) + shift_1)

    if isinstance(shape, pdgpu.Sphere):
        return pdgpu.Sphere(at(shape.centre), shape.radius).distance(x)
    if isinstance(shape, pdgpu.Capsule):
        return pdgpu.Capsule(at(shape.start), at(shape.end), shape.radius).distance(x)
    return shape.distance(x, t)


def test_threads_find_the_same():
    scene, sheet = pdgpu.Scene(), pdgpu.shapes.grid((1, 1), cells=(20, 20))
    scene.add_shell(sheet, pdgpu.Spring(1.0), density=1.0)
    scene.add_obstacle(pdgpu.Sphere((0.5, 0.5, -0.5), 0.3))
    scene.add_obstacle(pdgpu.Capsule((0.0, 0.2, -0.5), (1.0, 0.2, -0.5), 0.1))
    scene.add_obstacle(pdgpu.Box((0.3, 0.3, 0.3), (0.2, 0.8, -0.5)))
    frames = [sheet.points, sheet.points - [0, 0, 0.4], sheet.points - [0, 0, 1.4]]
    for separation in (0.0, 0.02):
        one, two = (pdgpu.certify(frames, scene, separation=separation, threads=threads) for threads in (1, 2))
        assert one.crossings == two.crossings and len(one.crossings) > 50
        assert one.intersections.keys() == two.intersections.keys() == {1}
        assert one.intersections[1].close_pairs == two.intersections[1].close_pairs
