"""The weights of pairs in contact: of meshes with very different areas, and before spheres, capsules and planes."""

import json
import pickle

import numpy as np
import pytest

import pdgpu
from pdgpu.contact.contact_stiffness import pair_stiffness
from pdgpu.contact.contact_surface import EDGE_EDGE, VERTEX_TRIANGLE

GAP = 1e-3
DTYPES = ("float64", "float32")


def slab(gap=GAP, below=(0.75, 0.8)):
    """3 m wide, with edges of 1.5 m and more; its upper side is `gap` below z = 0, and one of its diagonals runs below the block."""
    mesh = pdgpu.shapes.beam((3.0, 3.0, 0.2), (2, 2, 1))
    return pdgpu.Mesh(mesh.points - [*below, 0.2 + gap], triangles=mesh.surface)


def still(_time, points):
    """A motion that may deform a mesh: its flat edges keep their pairs."""
    return points


MIDDLE = (1.52, 1.47)  # the vertex in the middle of the slab is below the block


def block_before(obstacle=None, cells=4, motion=None):
    """A soft cube of 0.1 m on z = 0, before an obstacle below."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    mesh = pdgpu.shapes.beam((0.1,) * 3, (cells,) * 3)
    mesh = pdgpu.Mesh(mesh.points - [0.05, 0.05, 0.0], tets=mesh.tets)
    scene.add_solid(mesh, pdgpu.NeoHookean.from_young(young=1e5, poisson=0.4), density=1000.0, name="block")
    if obstacle is not None:
        scene.add_obstacle(obstacle, motion)
    return scene


def weights(scene, **options):
    """Kind, vertices and weight of the listed pairs, and the scene of contact."""
    dtype = options.pop("dtype", "float64")
    sim = pdgpu.Simulation(
        scene, pdgpu.Newton(), dt=0.01, contact=pdgpu.BarrierContact(2e-3, stiffness=1e5, **options), dtype=dtype, threads=1
    )
    columns = sim._core.backend.contact_columns()
    assert columns["weight"].dtype == dtype
    return columns["kind"], columns["vertices"], columns["weight"], sim._core.touching


def area(corners):
    return 0.5 * np.linalg.norm(np.cross(corners[1] - corners[0], corners[2] - corners[0]))


def edge_areas(scene):
    """Edge -> a third of each of its triangles, m^2."""
    result = {}
    for triangle in scene.triangles:
        for pair in ((0, 1), (1, 2), (2, 0)):
            name = frozenset(triangle[list(pair)].tolist())
            result[name] = result.get(name, 0.0) + area(scene.rest[triangle]) / 3.0
    return result


@pytest.mark.parametrize("dtype", DTYPES)
def test_edges_weigh_as_the_smaller_side(dtype):
    """If not, the edges of a coarse floor push a thousand times as hard as what lies next to them, and no step gets on."""
    for weighting in ("harmonic", "sum"):
        kind, vertices, weight, touching = weights(block_before(slab(), motion=still), dtype=dtype, weighting=weighting)
        of_edges, rows = edge_areas(touching), np.flatnonzero(kind == EDGE_EDGE)
        assert len(rows) > 10
        a, b = (np.array([of_edges[frozenset(vertices[row, corners].tolist())] for row in rows]) for corners in ([0, 1], [2, 3]))
        expected = a * b / (a + b) if weighting == "harmonic" else (a + b) / 4.0
        np.testing.assert_allclose(weight[rows], expected, rtol=4.0 * np.finfo(dtype).eps)
        assert np.maximum(a, b).min() > 1e3 * np.minimum(a, b).max()
        assert (weight[rows] <= np.minimum(a, b)).all() == (weighting == "harmonic")
        rows = np.flatnonzero(kind == VERTEX_TRIANGLE)
        np.testing.assert_allclose(weight[rows], touching.areas[vertices[rows, 0]] / 4.0, rtol=4.0 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_vertex_weighs_at_most_as_the_triangle(dtype):
    """If not, the vertices of a coarse floor are as much too stiff as its edges were."""
    for weighting in ("harmonic", "sum"):
        scene = block_before(slab(below=MIDDLE), motion=still)
        kind, vertices, weight, touching = weights(scene, dtype=dtype, weighting=weighting)
        rows = np.flatnonzero(kind == VERTEX_TRIANGLE)
        quarter = touching.areas[vertices[rows, 0]] / 4.0
        before = np.array([area(touching.rest[vertices[row, 1:]]) for row in rows])
        assert (quarter > 1e3 * before).any() and (quarter < before).any()
        expected = np.minimum(quarter, before) if weighting == "harmonic" else quarter
        np.testing.assert_allclose(weight[rows], expected, rtol=4.0 * np.finfo(dtype).eps)
        x, triangles = touching.rest, touching.triangles
        pairs = pdgpu.contact.find_pairs(pdgpu.BarrierContact(2e-3, stiffness=1e5), x, triangles, rest=x, weighting=weighting)
        assert pairs.weight.sum() == pytest.approx(weight.sum(), rel=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_flat_face_of_an_obstacle_weighs_as_a_plane(dtype):
    """If not, a box as a floor is a quarter as stiff as a plane, and as stiff as its triangles are many."""
    fine = slab()
    coarse = pdgpu.Box(size=(3.0, 3.0, 0.2), centre=(0.75, 0.7, -0.1 - GAP))
    found = []
    for floor in (fine, coarse, pdgpu.Plane((0.0, 0.0, -GAP), (0.0, 0.0, 1.0))):
        kind, vertices, weight, touching = weights(block_before(floor), dtype=dtype)
        plane = isinstance(floor, pdgpu.Plane)
        assert plane or set(kind) == {VERTEX_TRIANGLE}  # the edges and vertices of the slab are inside its face or far from the block
        of = touching.areas[vertices[:, 0]]
        expected = of if plane else of * 9.0 / (9.0 + 3.0 * of)
        counts = weight > 0.0  # of the pairs of a vertex, one
        np.testing.assert_allclose(weight[counts], expected[counts], rtol=8.0 * np.finfo(dtype).eps)
        assert np.bincount(vertices[counts, 0]).max() == 1
        found.append(weight.sum())
    assert found[0] == pytest.approx(found[1], rel=1e-6) and found[0] == pytest.approx(found[2], rel=2e-3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_areas_weigh_as_before(dtype):
    """If not, scenes of even meshes, which had nothing wrong, have another contact."""
    grid = pdgpu.shapes.grid((1.0, 1.0), cells=(8, 8))
    scene = pdgpu.Scene()
    for height in (0.0, GAP):
        scene.add_shell(pdgpu.Mesh(grid.points + [0.0, 0.0, height], triangles=grid.triangles), pdgpu.Spring(1e2), density=1.0)
    kind, vertices, found, touching = weights(scene, dtype=dtype)
    expected = weights(scene, dtype=dtype, weighting="sum")[2]
    of_edges, rows = edge_areas(touching), np.flatnonzero(kind == EDGE_EDGE)
    a, b = (np.array([of_edges[frozenset(vertices[row, corners].tolist())] for row in rows]) for corners in ([0, 1], [2, 3]))
    same = np.concatenate([rows[np.abs(a - b) < 1e-9 * a], np.flatnonzero(kind == VERTEX_TRIANGLE)])
    assert len(same) > 200
    np.testing.assert_allclose(found[same], expected[same], rtol=4.0 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "obstacle", [pdgpu.Sphere((0.0, 0.0, -0.2 - GAP), 0.2), pdgpu.Capsule((0.01, 0.0, -0.05 - GAP), (0.2, 0.0, -0.05 - GAP), 0.05)]
)
def test_spheres_and_capsules_weigh_as_the_other_side(obstacle, dtype):
    """If not, a ball is ten thousand times as hard as the floor next to it."""
    scene = block_before(obstacle)
    kind, vertices, weight, touching = weights(scene, dtype=dtype)
    of_edges, n = edge_areas(touching), scene.n_vertices
    expected = np.full(len(kind), np.nan)
    for row in range(len(kind)):
        mesh = [int(v) for v in vertices[row] if 0 <= v < n]
        if (vertices[row] >= n).any():
            expected[row] = area(touching.rest[mesh]) if kind[row] == VERTEX_TRIANGLE else of_edges[frozenset(mesh)]
    rows = np.flatnonzero(~np.isnan(expected))
    assert len(rows) > 4 and set(kind[rows]) == ({VERTEX_TRIANGLE} if isinstance(obstacle, pdgpu.Sphere) else {VERTEX_TRIANGLE, EDGE_EDGE})
    np.testing.assert_allclose(weight[rows], expected[rows], rtol=4.0 * np.finfo(dtype).eps)
    assert (weights(scene, dtype=dtype, weighting="sum")[2][rows] == 1.0).all()
    assert (weights(scene, dtype=dtype, area_weighted=False)[2] == 1.0).all()


def test_without_areas_a_pair_counts_as_one():
    """If not, rods and particles have another contact, or none."""
    scene = pdgpu.Scene()
    scene.add_rod(pdgpu.Mesh([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], edges=[[0, 1]]), pdgpu.Spring(1.0), density=0.1)
    scene.add_particles([[0.0, 0.0, GAP], [0.3, 0.2, -GAP]], mass=1.0)
    scene.add_shell(slab(3.0 * GAP), pdgpu.Spring(1.0), density=1.0)
    for shape in (pdgpu.Sphere((0.5, 0.0, 0.1 + GAP), 0.1), pdgpu.Capsule((-0.5, -1.0, 0.1 + GAP), (-0.5, 1.0, 0.1 + GAP), 0.1)):
        scene.add_obstacle(shape)
    for weighting in ("harmonic", "sum"):
        sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=0.01, contact=pdgpu.BarrierContact(4e-3, stiffness=1.0, weighting=weighting))
        columns = sim._core.backend.contact_columns()
        rows = (columns["vertices"] < 4).any(axis=1) & (columns["distance"] < 0.11)
        alone = rows & ~((columns["vertices"] >= 4) & (columns["vertices"] < 4 + len(slab().points))).any(axis=1)
        assert alone.sum() >= 3 and (columns["weight"][alone] == 1.0).all()
        with_shell = rows & ~alone
        assert with_shell.sum() > 0 and (columns["weight"][with_shell] == 1.0).all()


@pytest.mark.parametrize("weighting", ["harmonic", "sum"])
def test_flat_triangles_keep_their_barrier(weighting):
    """If not, an obstacle with triangles of no area, as files have them, lets edges through until the step limit stops them."""
    flat = pdgpu.Mesh([[-1.0, 0.003, 0.0], [0.1, 0.003, 0.0], [1.0, 0.003, 0.0]], triangles=[[0, 1, 2]])
    shell = pdgpu.Mesh([[0.03, -0.5, GAP], [0.02, 0.5, GAP], [0.0, 0.0, 0.5]], triangles=[[0, 1, 2]])
    scene = pdgpu.Scene()
    scene.add_shell(shell, pdgpu.Spring(1.0), density=1.0)
    scene.add_obstacle(flat)
    kind, _, weight, touching = weights(scene, weighting=weighting)
    rows, expected = np.flatnonzero(kind == EDGE_EDGE), area(shell.points) / 3.0 / 4.0
    assert len(rows) > 0 and weight[rows] == pytest.approx(expected)
    x, triangles = touching.rest, touching.triangles
    pairs = pdgpu.contact.find_pairs(pdgpu.BarrierContact(2e-3, stiffness=1.0), x, triangles, rest=None, weighting=weighting)
    assert pairs.weight[pairs.kind == EDGE_EDGE] == pytest.approx(expected)


def stiffness_of_sheet(shape, onto):
    """The weights of all pairs of a sheet of 1 m^2 that is wrapped around a shape, as parts of its area."""
    mesh = pdgpu.shapes.grid((1.0, 1.0), cells=(40, 40))
    flat = mesh.points - [0.5, 0.5, 0.0]
    turn = np.array([[np.cos(0.4), np.sin(0.4), 0.0], [-np.sin(0.4), np.cos(0.4), 0.0], [0.0, 0.0, 1.0]])  # no edges along an axis
    scene = pdgpu.Scene()
    scene.add_shell(pdgpu.Mesh(onto(flat @ turn), triangles=mesh.triangles), pdgpu.Spring(1e2), density=1.0)
    scene.add_obstacle(shape)
    contact = pdgpu.BarrierContact(1e-2, stiffness=1e4)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=0.01, contact=contact)
    push = sim.contact_forces().normal_force.sum()
    # of a pair of weight 1 at the same gap: a particle, which has no area
    alone = pdgpu.Scene()
    alone.add_particles([onto(np.zeros((1, 3)))[0]], mass=1.0)
    alone.add_obstacle(shape)
    one = pdgpu.Simulation(alone, pdgpu.Newton(), dt=0.01, contact=contact).contact_forces().normal_force.sum()
    return push / one


def test_a_sheet_is_as_stiff_before_a_sphere_and_a_capsule_as_before_a_plane():
    """If not, how far things sink into what holds them depends on how that is described."""
    radius, gap = 2.0, 5e-3

    def around(points, axes):
        """Wrapped around a sphere or a cylinder of which (0, 0, 0) is the top."""
        far = np.linalg.norm(points[:, axes], axis=1)
        turned = points.copy()
        turned[:, axes] *= (np.sin(far / radius) * (radius + gap) / np.maximum(far, 1e-12))[:, None]
        turned[:, 2] = (radius + gap) * np.cos(far / radius) - radius - gap
        return turned

    low = -radius - gap
    plane = stiffness_of_sheet(pdgpu.Plane((0, 0, -gap), (0, 0, 1)), lambda x: x)
    sphere = stiffness_of_sheet(pdgpu.Sphere((0, 0, low), radius), lambda x: around(x, [0, 1]))
    capsule = stiffness_of_sheet(pdgpu.Capsule((0, -2, low), (0, 2, low), radius), lambda x: around(x, [0]))
    end = stiffness_of_sheet(pdgpu.Capsule((0, 0, low), (0, 0, low - 1.0), radius), lambda x: around(x, [0, 1]))
    assert plane == pytest.approx(1.0, rel=1e-9)
    assert sphere == pytest.approx(1.0, rel=0.1) and capsule == pytest.approx(1.0, rel=0.1)
    assert end == pytest.approx(2.0, rel=0.1)  # both its pairs count there


@pytest.mark.parametrize("weighting", ["harmonic", "sum"])
@pytest.mark.parametrize("obstacle", ["sphere", "capsule", "slab"])
def test_derivatives(obstacle, weighting):
    """If not, energy and force weigh a pair differently, and a line search finds no descent."""
    shapes = {
        "sphere": pdgpu.Sphere((0.003, 0.002, -0.2 - GAP), 0.2),
        "capsule": pdgpu.Capsule((0.011, 0.003, -0.05 - GAP), (0.2, 0.01, -0.05 - GAP), 0.05),
        "slab": slab(),
    }
    contact = pdgpu.BarrierContact(2e-3, stiffness=1e7, weighting=weighting)
    sim = pdgpu.Simulation(block_before(shapes[obstacle]), pdgpu.Newton(), dt=0.01, contact=contact, threads=1)
    rng = np.random.default_rng(3)
    x = sim.positions + 1e-5 * rng.standard_normal(sim.positions.shape)
    along = rng.standard_normal(x.shape)
    step = 1e-8
    gradient = sim.gradient(x)
    slope = (sim.incremental_potential(x + step * along) - sim.incremental_potential(x - step * along)) / (2.0 * step)
    assert abs(slope - (gradient * along).sum()) < 1e-5 * np.linalg.norm(gradient) * np.linalg.norm(along)
    curved = ((sim.gradient(x + step * along) - sim.gradient(x - step * along)) / (2.0 * step)).ravel()
    product = sim.hessian(x) @ along.ravel()
    assert np.linalg.norm(curved - product) < 1e-5 * np.linalg.norm(product)
    assert sim.contact_forces().normal_force.sum() > 0.0


def three_balls():
    places = [(0.25 + 0.5 * np.cos(t) * 0.4, -0.3, 0.25 + 0.5 * np.sin(t) * 0.4) for t in 2.0 * np.pi / 3.0 * np.arange(3)]
    return [pdgpu.Sphere(place, 0.3) for place in places]


@pytest.mark.parametrize(
    "floors",
    [
        three_balls(),
        [pdgpu.Capsule((x, -0.3, -2.0), (x, -0.3, 2.0), 0.3) for x in (0.1, 0.4)],
        [pdgpu.Box((9.0, 1.0, 9.0), (0.4, -0.5, 0.2))],
        [pdgpu.Plane((0, 0, 0), (0, 1, 0))],
    ],
    ids=["spheres", "capsules", "coarse box", "plane"],
)
def test_what_carries_a_block_carries_its_weight(floors):
    """If not, the weight of a pair is in the energy and not in the force that is reported, or the block never comes to rest."""
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.beam((0.5,) * 3, (4,) * 3)
    mesh = pdgpu.Mesh(mesh.points + [0.0, 0.01, 0.0], tets=mesh.tets)
    block = scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000.0)
    block.slide(range(len(mesh.points)), line=(0.0, 1.0, 0.0))  # or it would fall off
    for floor in floors:
        scene.add_obstacle(floor)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=300, tolerance=1e-12), dt=0.3, contact=pdgpu.BarrierContact(0.02))
    sim.step(20)
    weight = 9.81 * sim.masses.sum()
    assert sim.contact_forces().forces[:, 1].sum() == pytest.approx(weight, rel=1e-6)


@pytest.mark.parametrize("obstacle", ["capsule", "sphere", "slab", "vertex of a slab"])
def test_a_vertex_method_follows_what_pushes(obstacle):
    """If not, Vertex Block Descent leaves an obstacle where it first touched something: here 0.24 m behind after half a second."""
    gap = 3e-3

    def rising(time):
        return np.eye(3), (0.0, 0.0, 0.5 * time)

    shape, motion = {
        "capsule": (pdgpu.Capsule((-0.07, 0.01, -0.03 - gap), (0.08, -0.005, -0.03 - gap), 0.03), rising),
        "sphere": (pdgpu.Sphere((0.003, 0.002, -0.05 - gap), 0.05), rising),
        "slab": (slab(gap), lambda time, x: x + rising(time)[1]),
        "vertex of a slab": (slab(gap, MIDDLE), lambda time, x: x + rising(time)[1]),
    }[obstacle]
    cells = 8 if obstacle == "vertex of a slab" else 6
    solver, contact = pdgpu.VertexBlockDescent(iterations=100), pdgpu.BarrierContact(2e-3)
    sim = pdgpu.Simulation(block_before(shape, cells, motion), solver, dt=0.01, contact=contact)
    sim.step(50)
    assert sim.last_step.behind < 1e-6


@pytest.mark.parametrize("shape", [pdgpu.Sphere((0.0, 0.0, -0.2 - GAP), 0.2), pdgpu.Plane((0.0, 0.0, -GAP), (0.0, 0.0, 1.0)), slab()])
def test_automatic_stiffness_fits_the_weights(shape):
    """If not, stiffness="auto" is computed for other weights than a pair has, and a barrier is far too soft or too hard."""
    contact = pdgpu.BarrierContact(2e-3)
    sim = pdgpu.Simulation(block_before(shape), pdgpu.Newton(), dt=0.01, contact=contact)
    columns = sim._core.backend.contact_columns()
    law = pdgpu.BarrierContact(2e-3, stiffness=sim.parameters["contact"]["stiffness"])
    free = pdgpu.Simulation(block_before(), pdgpu.Newton(), dt=0.01)
    surface = np.unique(sim._core.scene.bodies[0].mesh.surface)
    vertex = np.median(free.hessian().diagonal().reshape(-1, 3).mean(axis=1)[surface])
    pairs = np.array([pair_stiffness(law, float(weight)) for weight in columns["weight"]])
    assert 0.5 < np.median(pairs) / vertex < 5.0 and pairs.max() / vertex < 10.0


def test_descriptions_of_before_weigh_as_before(tmp_path):
    """If not, a run that was saved goes on with another contact than it began with."""
    contact = pdgpu.BarrierContact(2e-3, stiffness=1e5)
    assert contact.weighting == "harmonic" and contact == pdgpu.BarrierContact(2e-3, stiffness=1e5, weighting="harmonic")
    state = dict(vars(contact))
    assert pickle.loads(pickle.dumps(contact)) == contact
    del state["weighting"]
    old = object.__new__(pdgpu.BarrierContact)
    old.__setstate__(state)  # what a pickle of before brings
    assert old == pdgpu.BarrierContact(2e-3, stiffness=1e5, weighting="sum") and pickle.loads(pickle.dumps(old)) == old
    path = tmp_path / "s"
    for weighting in ("harmonic", "sum"):
        described = pdgpu.BarrierContact(2e-3, stiffness=1e5, weighting=weighting)
        pdgpu.Simulation(block_before(slab()), pdgpu.Newton(), dt=0.01, contact=described).save(path)
        with np.load(path) as archive:
            header = json.loads(bytes(archive["header"]))
        # an earlier pdgpu reads what it can compute, and refuses the rest
        assert ("weighting" in header["contact"]) == (weighting == "harmonic")
        assert pdgpu.Simulation.load(path).contact == described
