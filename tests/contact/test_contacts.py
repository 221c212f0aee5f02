"""`Simulation.contacts`: every pair within a distance, against brute force over all pairs, and what it says of each."""

import itertools

import numpy as np
import pytest

import pdgpu
from pdgpu import geometry
from pdgpu.collision import BroadPhase

CLOTH = pdgpu.shapes.grid((1.0, 1.0), (5, 5))
BAR = pdgpu.shapes.beam((0.8, 0.2, 0.2), (4, 1, 1))
BALL = pdgpu.shapes.sphere(0.2, 1)


def rising(time, rest):
    return rest + [0.0, time, 0.0]


def scene(obstacles=True):
    """A cloth above a bar, a rod and dust between, a mesh, a sphere and a floor that nothing moves."""
    result = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    result.add_solid(BAR, pdgpu.ARAP(1e4), density=100.0, name="bar")
    result.add_shell(CLOTH, pdgpu.Spring(10.0), density=0.1, name="cloth").pin([0, 5, 11])
    result.add_rod(pdgpu.shapes.chain(6, length=1.2), pdgpu.Spring(10.0), density=0.1, name="rod")
    result.add_particles(np.random.default_rng(1).random((12, 3)), mass=1e-3, name="dust")
    if not obstacles:
        return result
    result.add_obstacle(BALL, name="ball")
    result.add_obstacle(pdgpu.Sphere((0.2, 0.1, 0.1), 0.3), name="sphere")
    result.add_obstacle(pdgpu.shapes.box((0.4, 0.1, 0.4)), rising, name="block")
    result.add_obstacle(pdgpu.Plane((0, 0.05, 0), (0, 1, 0)), name="floor")
    return result


def poses(n, seed):
    """Positions of the scene's vertices: everything where it is at rest, moved and crumpled at random."""
    random = np.random.default_rng(seed)
    rest = scene().rest_positions()
    rest[len(BAR.points) : len(BAR.points) + len(CLOTH.points)] = CLOTH.points[:, [0, 2, 1]] + [0.0, 0.25, -0.3]
    return rest + 0.08 * random.normal(size=(n, 3)) if seed else rest


def simulation(seed=0, **options):
    sim = pdgpu.Simulation(scene(), pdgpu.ProjectiveDynamics(iterations=2), dt=0.5, threads=2, **options)
    sim.set_state(positions=poses(len(sim.masses), seed))
    return sim


def everything(sim):
    """(positions, body of each vertex, vertices, edges, triangles, free) of all bodies and obstacle meshes, by their descriptions."""
    positions, body, edges, triangles, vertices, pinned = [sim.positions.astype(float)], [], [], [], [], []
    n = 0
    for k, part in enumerate(sim.bodies):
        rows = part.mesh.surface if part.type == "solid" else part.mesh.triangles if part.type == "shell" else np.zeros((0, 3), int)
        triangles += (rows + n).tolist()
        edges += ((part.mesh.edges + n).tolist()) if part.type == "rod" else []
        vertices += (np.arange(len(part.points)) + n).tolist() if part.type == "particles" else []
        body += [k] * len(part.points)
        held = np.zeros(len(part.points), bool)
        for indices, _ in part.pins:
            held[indices] = True
        pinned += held.tolist()
        n += len(part.points)
    for k, obstacle in enumerate(sim.obstacles, start=len(sim.bodies)):
        if isinstance(obstacle.collider, pdgpu.TriangleMesh):
            x = obstacle.collider.positions(sim.time)
            positions.append(x)
            triangles += (obstacle.collider.triangles + n).tolist()
            body += [k] * len(x)
            pinned += [True] * len(x)
            n += len(x)
    sides = {tuple(sorted((t[i], t[(i + 1) % 3]))) for t in triangles for i in range(3)}
    edges = sorted(sides | {tuple(sorted(edge)) for edge in edges})
    vertices = sorted({*vertices, *itertools.chain(*triangles), *itertools.chain(*edges)})
    return np.concatenate(positions), np.array(body), vertices, np.array(edges), np.array(triangles), ~np.array(pinned)


def brute_force(sim, distance):
    """{kind: {corners: distance}} of all pairs of a vertex and a triangle, and of two edges, within a distance."""
    x, _, vertices, edges, triangles, free = everything(sim)
    rows = [[v, *t] for v in vertices for t in triangles.tolist() if v not in t]
    pairs = {"vertex-triangle": (rows, 1, geometry.vertex_triangle)}
    rows = [[*a, *b] for a, b in itertools.combinations(edges.tolist(), 2) if not set(a) & set(b)]
    pairs["edge-edge"] = (rows, 2, geometry.edge_edge)
    result = {}
    for kind, (rows, first, measure) in pairs.items():
        rows = np.array(rows)
        rows = rows[free[rows[:, :first]].any(axis=1) | free[rows[:, first:]].any(axis=1)]
        d = measure(x[rows]).distance
        result[kind] = {tuple(row): value for row, value in zip(rows[d <= distance].tolist(), d[d <= distance], strict=True)}
    return result


def as_dict(found, kind):
    rows = found.kind == kind
    return {tuple(v): d for v, d in zip(found.vertices[rows].tolist(), found.distance[rows].tolist(), strict=True)}


def test_the_usual_distance():
    """If not, a question without a distance is answered for another one than documented."""
    scene = pdgpu.Scene()
    scene.add_particles([[0.0, 0, 0], [3.0, 4.0, 0]], mass=1.0)  # a diagonal of 5 m: up to 5 mm
    scene.add_obstacle(pdgpu.Plane((0, 0, -0.0049), (0, 0, 1)))
    scene.add_obstacle(pdgpu.Plane((0, 0, 0.0051), (0, 0, -1)))
    found = pdgpu.Simulation(scene).contacts()
    assert len(found) == 2 and set(found.bodies[:, 1]) == {1}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("distance", [0.02, 0.15])
def test_every_pair_within_the_distance(seed, distance):
    """If not, a near pair is not reported."""
    sim = simulation(seed)
    if seed == 3:
        sim.step()  # the block has risen
    found, expected = sim.contacts(distance, unique=False), brute_force(sim, distance)
    assert sum(map(len, expected.values())) > (50 if seed and distance > 0.1 else 0)
    for kind, pairs in expected.items():
        mine = as_dict(found, kind)
        assert mine.keys() == pairs.keys()
        np.testing.assert_allclose([mine[key] for key in pairs], list(pairs.values()), rtol=0, atol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_vertices_near_colliders(seed):
    """If not, a vertex goes through a floor unnoticed."""
    sim, distance = simulation(seed), 0.1
    found = sim.contacts(distance)
    _, _, _, _, _, free = everything(sim)
    free = free[: len(sim.masses)]
    inner = np.setdiff1d(np.arange(len(BAR.points)), BAR.surface)
    free[inner] = False
    for obstacle in sim.obstacles:
        if isinstance(obstacle.collider, pdgpu.TriangleMesh):
            continue
        d = obstacle.collider.distance(sim.positions)
        rows = found.of(obstacle)
        np.testing.assert_array_equal(rows.vertices[:, 0], np.flatnonzero((d <= distance) & free))
        np.testing.assert_array_equal(rows.distance, d[rows.vertices[:, 0]])
        assert (rows.vertices[:, 1:] == -1).all() and (rows.kind == "vertex-collider").all()
        assert (rows.distance < 0).any()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_said_of_a_pair_belongs_together(dtype):
    """If not, forces computed from contacts push sideways, or on other vertices."""
    sim = simulation(1, dtype=dtype)
    for unique in (True, False):
        found = sim.contacts(0.12, unique=unique)
        u = np.finfo(dtype).eps
        assert {found.distance.dtype, found.weights.dtype, found.normal.dtype, found.points.dtype, found.positions.dtype} == {
            np.dtype(dtype)
        }
        pairs = found[found.kind != "vertex-collider"]
        assert len(pairs) > 50 and len(found) > len(pairs)
        gap = np.einsum("nk,nki->ni", pairs.weights, pairs.positions[pairs.vertices])
        np.testing.assert_allclose(gap, pairs.distance[:, None] * pairs.normal, atol=100 * u)
        np.testing.assert_allclose(pairs.weights.sum(axis=1), 0, atol=8 * u)
        np.testing.assert_allclose(found.points[:, 0] - found.points[:, 1], found.distance[:, None] * found.normal, atol=100 * u)
        np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1, atol=8 * u)
        owner = everything(sim)[1]
        np.testing.assert_array_equal(found.bodies[:, 0], owner[found.vertices[:, 0]])
        second = np.where(pairs.kind == "vertex-triangle", pairs.vertices[:, 1], pairs.vertices[:, 2])
        np.testing.assert_array_equal(pairs.bodies[:, 1], owner[second])
        assert found.names == ("bar", "cloth", "rod", "dust", "ball", "sphere", "block", "floor")
        order = [("vertex-triangle", "edge-edge", "vertex-collider").index(kind) for kind in found.kind]
        assert (np.diff(order) >= 0).all() and (np.diff(pairs.vertices[pairs.kind == "vertex-triangle", 0]) >= 0).all()


def nearest_features(found):
    """What is nearest in each contact: the vertices with weight on both sides."""
    result = []
    for kind, vertices, weights in zip(found.kind, found.vertices.tolist(), found.weights, strict=True):
        first = 1 if kind == "vertex-triangle" else 2
        sides = [
            frozenset(v for v, w in zip(vertices[s], weights[s], strict=True) if abs(w) > 1e-14) for s in (slice(0, first), slice(first, 4))
        ]
        result.append(frozenset(sides))
    return result


@pytest.mark.parametrize("seed", range(3))
def test_each_pair_of_nearest_features_once(seed):
    """If not, a vertex over an edge of two triangles is pushed twice, or not at all."""
    sim = simulation(seed)
    every, once = sim.contacts(0.15, unique=False), sim.contacts(0.15)
    every, once = (found[found.kind != "vertex-collider"] for found in (every, once))
    a, b = nearest_features(every), nearest_features(once)
    assert set(a) == set(b) and len(b) == len(set(b)) < len(a)
    nearest = {}
    for key, d in zip(a, every.distance, strict=True):
        nearest.setdefault(key, []).append(d)
    for key, d in zip(b, once.distance, strict=True):
        np.testing.assert_allclose(nearest[key], d, atol=1e-15)
    sizes = {"vertex-vertex": [1, 1], "vertex-edge": [1, 2], "vertex-triangle": [1, 3], "edge-edge": [2, 2]}
    for key, feature in zip(b, once.feature, strict=True):
        assert sorted(map(len, key)) == sizes[str(feature)]


def test_a_vertex_above_an_edge_and_above_a_vertex():
    """The example of the documentation: over the ridge of a roof, seen by two triangles, and over a tip, seen by four."""
    roof = pdgpu.Mesh([[0, 0, 0], [0, 0, 1], [-1, -1, 0.5], [1, -1, 0.5]], triangles=[[0, 1, 2], [1, 0, 3]])
    tip = pdgpu.Mesh([[5, 0, 0], [6, -1, 0], [5, -1, 1], [4, -1, 0], [5, -1, -1]], triangles=[[0, 2, 1], [0, 3, 2], [0, 4, 3], [0, 1, 4]])
    scene = pdgpu.Scene()
    scene.add_obstacle(roof, name="roof")
    scene.add_obstacle(tip, name="tip")
    scene.add_particles([[0, 0.1, 0.5], [5, 0.2, 0]], mass=1.0, name="dust")
    sim = pdgpu.Simulation(scene)
    assert len(sim.contacts(0.3, unique=False)) == 2 + 4
    found = sim.contacts(0.3)
    assert found.feature.tolist() == ["vertex-edge", "vertex-vertex"]
    np.testing.assert_allclose(found.distance, [0.1, 0.2])
    np.testing.assert_allclose(found.normal, [[0, 1, 0]] * 2, atol=1e-15)
    np.testing.assert_array_equal(found.vertices[1, :2], [1, 2 + 4])  # after two particles and the four vertices of the roof
    assert repr(found) == "<Contacts: 2 pairs (2 vertex-triangle), nearest at 0.1 m>"


def test_bodies_can_be_chosen():
    """If not, a question about two bodies drowns in all others."""
    sim = simulation(2)
    every = sim.contacts(0.15)
    names = np.array(every.names)
    for chosen in (["cloth", "ball"], ["bar"], ["rod", "sphere", "dust"], list(every.names)):
        found = sim.contacts(0.15, bodies=chosen, unique=False)
        expected = sim.contacts(0.15, unique=False)
        mask = np.isin(names[expected.bodies], chosen).all(axis=1)
        for part in ("kind", "vertices", "distance", "bodies"):
            np.testing.assert_array_equal(getattr(found, part), getattr(expected, part)[mask])
    cloth, block = sim.bodies[1], sim.obstacles[2]
    assert len(sim.contacts(0.15, bodies=[cloth, block])) == len(sim.contacts(0.15, bodies=["cloth", "block"]))
    assert len(sim.contacts(0.15, bodies=cloth)) == len(sim.contacts(0.15, bodies="cloth"))
    other = sim.contacts(0.15, self_collision=False, unique=False)
    assert len(other) == (expected.bodies[:, 0] != expected.bodies[:, 1]).sum() < len(expected)
    np.testing.assert_array_equal(every.of("cloth", "floor").distance, every.of("floor", "cloth").distance)
    assert (every.of("cloth").bodies == 1).any(axis=1).all() and len(every.of("cloth", "bar")) > 0
    assert len(every[0]) == 1 and len(every[:5]) == 5 and len(every[every.distance < 0]) == (every.distance < 0).sum()


def test_the_search_is_kept():
    """If not, every call builds its trees again; or the search still knows the bodies as they were before a cut."""
    sim = simulation(1)
    sim.contacts(0.1)
    search = next(iter(sim._core.searches.values()))
    sim.step()
    again = sim.contacts(0.1)
    assert next(iter(sim._core.searches.values())) is search and search.phase.counts["refits"] > 0
    fresh = simulation(1)
    fresh.set_state(positions=sim.positions)
    fresh._core.backend.set_steps(1)
    other = fresh.contacts(0.1)
    np.testing.assert_array_equal(again.vertices, other.vertices)
    assert again.distance.tobytes() == other.distance.tobytes()
    sim.cut("cloth", [[8, 14], [14, 20], [20, 26]])
    after = sim.contacts(0.1)
    assert len(after.positions) == len(again.positions) + (len(sim.masses) - len(fresh.masses)) > len(again.positions)
    assert as_dict(sim.contacts(0.1, unique=False), "vertex-triangle").keys() == brute_force(sim, 0.1)["vertex-triangle"].keys()


def test_nothing_is_near():
    """If not, an empty answer is an error."""
    scene = pdgpu.Scene()
    scene.add_particles([[0, 5, 0]], mass=1.0)
    sim = pdgpu.Simulation(scene)
    assert len(sim.contacts(10.0)) == 0 and repr(sim.contacts(0.0)) == "<Contacts: 0 pairs>"
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    sim = pdgpu.Simulation(scene)
    assert len(sim.contacts(4.9)) == 0 and sim.contacts(5.0).distance.tolist() == [5.0]
    assert sim.contacts(5.0).names == ("particles0", "obstacle0")


def test_a_step_does_not_know_of_obstacles():
    """If not, the docstring is wrong: without contact nothing responds to obstacles."""
    with_obstacles, without = scene(), scene(obstacles=False)
    runs = [pdgpu.Simulation(s, pdgpu.ProjectiveDynamics(iterations=3)) for s in (with_obstacles, without)]
    for sim in runs:
        sim.step(3)
    assert runs[0].positions.tobytes() == runs[1].positions.tobytes()
    assert "4 obstacles" in repr(with_obstacles) and "obstacles" not in repr(without)


def test_copies_of_scenes():
    """If not, an obstacle added to a scene appears in a simulation that runs."""
    original = scene()
    sim, other = pdgpu.Simulation(original), original.copy()
    original.add_obstacle(BALL, name="late")
    assert len(other.obstacles) == len(sim.obstacles) == 4 and original["late"].name == "late" and original["cloth"].type == "shell"


NAN = float("nan")
REFUSED = [
    (lambda: simulation().contacts(-1.0), ValueError, ["distance", "-1"]),
    (lambda: simulation().contacts(NAN), ValueError, ["distance", "nan"]),
    (lambda: simulation().contacts("near"), TypeError, ["distance", "near"]),
    (lambda: simulation().contacts(0.1, bodies=["tree"]), ValueError, ["bodies", "tree", "cloth", "floor"]),
    (lambda: simulation().contacts(0.1, bodies=3), TypeError, ["bodies", "3"]),
    (lambda: simulation().contacts(0.1, bodies=[3]), TypeError, ["bodies", "3"]),
    (lambda: simulation().contacts(0.1, unique=1), TypeError, ["unique", "1"]),
    (lambda: simulation().contacts(0.1, self_collision=None), TypeError, ["self_collision", "None"]),
    (lambda: simulation().contacts(0.1).of("tree"), ValueError, ["first", "tree"]),
    (lambda: simulation().contacts(0.1).of("bar", 3), TypeError, ["second", "3"]),
    (lambda: scene().add_obstacle("floor"), TypeError, ["mesh_or_shape", "floor"]),
    (lambda: scene().add_obstacle(pdgpu.Mesh(np.eye(3), edges=[[0, 1]])), ValueError, ["points", "row 2", "no segment"]),
    (lambda: scene().add_obstacle(BALL, 3), TypeError, ["motion", "3"]),
    (lambda: scene().add_obstacle(pdgpu.TriangleMesh(BALL, motion=rising), rising), ValueError, ["motion", "already"]),
    (lambda: scene().add_obstacle(BALL, name="cloth"), ValueError, ["name", "body", "cloth"]),
    (lambda: scene().add_obstacle(BALL, name="floor"), ValueError, ["name", "obstacle", "floor"]),
    (lambda: scene().add_obstacle(BALL, name=3), TypeError, ["name", "3"]),
    (lambda: scene().add_particles([[0, 0, 0]], mass=1.0, name="floor"), ValueError, ["name", "obstacle", "floor"]),
]


@pytest.mark.parametrize("call, error, words", REFUSED)
def test_refusals(call, error, words):
    """If not, a slip gives an answer to another question."""
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_a_motion_that_fails_leaves_the_search_usable():
    """If not, one bad script spoils all later queries."""
    still = scene()
    shape = {"rows": slice(None)}
    still.add_obstacle(BALL, lambda time, rest: rest[shape["rows"]], name="script")
    sim = pdgpu.Simulation(still)
    expected = sim.contacts(0.1)
    shape["rows"] = slice(1, None)
    with pytest.raises(ValueError, match="motion"):
        sim.contacts(0.1)
    shape["rows"] = slice(None)
    np.testing.assert_array_equal(sim.contacts(0.1).vertices, expected.vertices)


def test_a_simulation_says_that_nothing_responds_to_obstacles():
    """If not, a body falls through its floor, and the user looks for the fault in his scene."""
    scene = pdgpu.Scene()
    scene.add_particles([[0.0, 1.0, 0.0]], mass=1.0)
    scene.add_obstacle(pdgpu.Plane(point=(0.0, 0.0, 0.0), normal=(0.0, 1.0, 0.0)), name="floor")
    assert "1 obstacle)" in repr(scene)
    with pytest.warns(UserWarning, match=r"without contact bodies pass through 'floor'.*BarrierContact.*set_world_box"):
        sim = pdgpu.Simulation(scene, dt=1 / 10)
    sim.step(10)
    assert sim.positions[0, 1] < 0.0
    scene.set_world_box((-np.inf, 0.0, -np.inf), (np.inf,) * 3, 1e4)
    assert "walls by WorldBox" in repr(scene)
    with pytest.warns(UserWarning, match="obstacles"):
        sim = pdgpu.Simulation(scene, dt=1 / 100)
    sim.step(100)
    assert sim.positions[0, 1] > -0.2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_search_lives_in_the_memory_of_its_simulation(dtype):
    """If not, positions leave the device for every search, and a step cannot use what it finds."""
    sim = simulation(dtype=dtype)
    before = sim._core.backend.counts()["allocations"]
    first = sim.contacts(0.1)
    made = sim._core.backend.counts()["allocations"]
    assert made > before
    again = sim.contacts(0.1)
    assert sim._core.backend.counts()["allocations"] == made
    for name in ("vertices", "distance", "normal", "positions"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    np.testing.assert_array_equal(again.positions[: len(sim.masses)], sim.positions)
    x = sim.positions
    sim.step()
    assert (sim.contacts(0.1).positions[: len(x)] == sim.positions).all() and (sim.positions != x).any()


def test_positions_that_another_library_spoilt_are_named():
    """If not, what is not a number is near nothing, in silence."""
    sim = simulation()
    np.asarray(sim.device_positions)[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"positions: .*nan"):
        sim.contacts(0.1)
    np.asarray(sim.device_positions)[3, 1] = 0.0
    assert len(sim.contacts(0.1))


def test_a_broad_phase_on_a_simulation_of_another_precision_is_refused():
    """If not, memory of one precision is read as that of another."""
    sim = simulation(dtype="float32")
    with pytest.raises(TypeError, match="simulation: expected one on 'cpu' in float64"):
        BroadPhase(CLOTH.points, CLOTH.triangles, dtype="float64", simulation=sim)
    with pytest.raises(TypeError, match="simulation: expected one on 'cpu' in float64, got 3"):
        BroadPhase(CLOTH.points, CLOTH.triangles, simulation=3)
    own = BroadPhase(CLOTH.points, CLOTH.triangles).proximity(len(CLOTH.points))
    with pytest.raises(ValueError, match="x: None is for"):
        own.find(None, np.zeros((0, 3)), 0.1, True)
    with pytest.raises(TypeError, match=r"x: .* got None"):
        own.update(None, np.zeros((0, 3)), 0.1, 0.2)
