"""Filters of the 3x3 blocks of Vertex Block Descent, Block Jacobi and gradient descent, next to sweeps in NumPy.

The reference has the exact Hessian of each element, its eigenvalues in F by NumPy, and their contraction with the rest gradient of the
corner. Gradients are those of the simulation, which other tests compare with finite differences.
"""

import warnings

import inputs
import numpy as np
import pytest
import scenes
from touching_rods import CONTACT, touching_rods

import pdgpu
from pdgpu.contact import contact_pairs
from pdgpu.materials import elements
from pdgpu.simulation import checkpoint

FILTERED = ("clamp", "absolute", "exact")
FIBRES = [[0.8, 0.6, 0.0], [-0.6, 0.8, 0.0], [0.0, 0.0, 1.0]]
MATERIALS = {
    "neo-Hookean": pdgpu.NeoHookean(2e4, 1e5),
    "log neo-Hookean": pdgpu.LogNeoHookean(2e4, 1e5),
    "fixed co-rotated": pdgpu.FixedCorotated(2e4, 1e5),
    "ARAP": pdgpu.ARAP(2e4),
    "StVK": pdgpu.StVK(2e4, 3e4),
    "co-rotated": pdgpu.Corotated(2e4, 1e5),
    "orthotropic": pdgpu.OrthotropicSolid((9e4, 5e4, 2e4), (0.3, 0.5, 0.4), (2e4, 3e4, 8e3), axes=FIBRES),
    "shell, StVK": pdgpu.StVK(200.0, 300.0),
    "shell, co-rotated": pdgpu.Corotated(200.0, 300.0),
    "shell, ARAP": pdgpu.ARAP(200.0),
    "springs": pdgpu.Spring(100.0),
}


def scene_of(name, damping=0.0):
    """Scene, material, elements (m, d + 1), rest positions and a start in which every part is compressed somewhere."""
    material, scene = MATERIALS[name], pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    rng = np.random.default_rng(1)
    if name.startswith("shell"):
        points, rows = inputs.cloth(3)
        body = scene.add_shell(pdgpu.Mesh(points, triangles=rows), material, density=0.3, damping=damping)
    elif name == "springs":
        points = 0.2 * pdgpu.shapes.chain(9).points
        rows = pdgpu.shapes.chain(9).edges
        body = scene.add_rod(pdgpu.shapes.chain(9, 0.2), material, density=0.1, damping=damping)
        points = body.points
    else:
        points, rows = inputs.kuhn_grid(3, 2, 2, 0.2)
        body = scene.add_solid(pdgpu.Mesh(points, tets=rows), material, density=1000.0, damping=damping)
    body.pin([0, 1])
    size = 0.1 * np.linalg.norm(points[rows[:, 1]] - points[rows[:, 0]], axis=1).mean()
    return scene, material, np.asarray(rows), points, points * [0.8, 0.9, 1.1] + size * rng.normal(size=points.shape)


def kept(H, name):
    """H (m, n, n) with filtered eigenvalues."""
    values, vectors = np.linalg.eigh(H)
    values = {"clamp": np.maximum(values, 0.0), "absolute": np.abs(values), "exact": values}[name]
    return np.einsum("mij,mj,mkj->mik", vectors, values, vectors)


def elastic_blocks(material, rows, rest, x, name):
    """(n, 3, 3): for each vertex the sum of g^T H g over its corners, with the filtered H = d2E/dF2 of the elements."""
    m, d = len(rows), rows.shape[1] - 1
    shape = rest[rows]
    edges = (shape[:, 1:] - shape[:, :1])[:, :, :d] if d > 1 else np.ones((m, 1, 1))
    if d == 2:  # in the plane of each triangle, whose axes are those of the first edge
        u = shape[:, 1] - shape[:, 0]
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        v = shape[:, 2] - shape[:, 0]
        v = v - (u * v).sum(1, keepdims=True) * u
        axes = np.stack([u, v / np.linalg.norm(v, axis=1, keepdims=True)], axis=2)
        edges = (shape[:, 1:] - shape[:, :1]) @ axes
    exact = elements.hessian(material, x[rows], shape)[:, 3:, 3:].reshape(m, d, 3, d, 3)
    H = np.einsum("mib,miakc,mkd->mabcd", edges, exact, edges).reshape(m, 3 * d, 3 * d)
    H = kept(H, name).reshape(m, 3, d, 3, d)
    g = np.linalg.inv(edges)
    g = np.concatenate([-g.sum(axis=2, keepdims=True), g], axis=2)
    corners = np.einsum("mbi,mabcd,mdi->miac", g, H, g)
    total = np.zeros((len(rest), 3, 3))
    np.add.at(total, rows, corners)
    return total


def simulations(scene, solver, x, dt, **settings):
    """One to step, and one to compute gradients at x."""
    sims = [pdgpu.Simulation(scene, solver, dt=dt, **settings) for _ in range(2)]
    for sim in sims:
        sim.set_state(positions=x)
    return sims


@pytest.mark.parametrize("name", FILTERED)
@pytest.mark.parametrize("case", MATERIALS)
@pytest.mark.parametrize("kind", [pdgpu.BlockJacobi, pdgpu.GradientDescent])
def test_a_step_of_all_vertices_is_numpys(kind, case, name):
    """If not, the blocks of a material have other eigenvalues than Newton's method with this filter."""
    scene, material, rows, rest, x = scene_of(case)
    dt = 1 / 400  # inertia makes every block definite, and each step shorter than the limit of oriented tets
    sim, plain = simulations(scene, kind(iterations=1, line_search=False, hessian=name, initialization="previous"), x, dt)
    sim.step()
    H = elastic_blocks(material, rows, rest, x, name) + (scene.masses() / dt**2)[:, None, None] * np.eye(3)
    if kind is pdgpu.GradientDescent:
        H *= np.eye(3)
    g, free = plain.gradient(x), plain._core.fixed == 0
    d = np.zeros_like(x)
    d[free] = np.linalg.solve(H[free], g[free][:, :, None])[:, :, 0]
    np.testing.assert_allclose(sim.positions, x - d, rtol=0, atol=1e-9 * np.abs(d).max())
    automatic = elastic_blocks(material, rows, rest, x, "exact")
    if name != "exact":
        assert np.abs(H - automatic).max() > 1e-3 * np.abs(automatic).max()  # there is something to filter


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", FILTERED)
@pytest.mark.parametrize("case", ["neo-Hookean", "StVK", "co-rotated", "shell, StVK", "springs"])
def test_sweeps_are_numpys(case, name, dtype):
    """If not, a vertex of a sweep has a block of other positions, or one that is not definite moves it."""
    scene, material, rows, rest, x = scene_of(case)
    dt = 1 / 60
    solver = pdgpu.VertexBlockDescent(iterations=2, hessian=name, initialization="previous")
    sim, _ = simulations(scene, solver, x, dt, dtype=dtype)
    _, plain = simulations(scene, solver, x, dt)
    sim.step()
    colours, free, y, waited = plain._core.colours, plain._core.fixed == 0, x.copy(), 0
    masses = scene.masses() / dt**2
    for _ in range(2):
        for colour in range(colours.max() + 1):
            chosen = np.flatnonzero((colours == colour) & free)
            H = elastic_blocks(material, rows, rest, y, name)[chosen] + masses[chosen, None, None] * np.eye(3)
            definite = np.linalg.eigvalsh(H)[:, 0] > 0
            waited += (~definite).sum()
            moved = chosen[definite]
            y[moved] -= np.linalg.solve(H[definite], plain.gradient(y)[moved][:, :, None])[:, :, 0]
    far = np.abs(y - x).max()
    np.testing.assert_allclose(sim.positions, y, rtol=0, atol=(1e-9 if dtype == "float64" else 2e-4) * far)
    assert name == "exact" or waited == 0


@pytest.mark.parametrize("name", FILTERED)
def test_damping_and_slides(name):
    """If not, a filtered block lacks the block of damping, or leaves the plane of its vertex."""
    scene, material, rows, rest, x = scene_of("StVK", damping=0.01)
    x[:, 0] = np.where(rest[:, 0] > 0.5, rest[:, 0], x[:, 0])
    scene.bodies[0].slide(rest[:, 0] > 0.5, plane=(1.0, 0.0, 0.0))
    solver = pdgpu.BlockJacobi(iterations=1, line_search=False, hessian=name, initialization="previous")
    dt = 1 / 200
    sim, plain = simulations(scene, solver, x, dt)
    undamped, *_ = scene_of("StVK")
    bare = pdgpu.Simulation(undamped, solver, dt=dt)
    bare.set_state(positions=x)
    sim.step()
    difference = (pdgpu.Simulation.hessian(plain, x) - bare.hessian(x)).toarray()
    n = len(x)
    damped = difference.reshape(n, 3, n, 3)[np.arange(n), :, np.arange(n)]
    H = elastic_blocks(material, rows, rest, x, name) + (scene.masses() / dt**2)[:, None, None] * np.eye(3)
    g, free = plain.gradient(x), plain._core.fixed == 0
    held = rest[:, 0] > 0.5
    d = np.zeros_like(x)
    inside = free & ~held
    H[inside] += damped[inside]
    d[inside] = np.linalg.solve(H[inside], g[inside][:, :, None])[:, :, 0]
    assert np.abs(damped[inside]).max() > 1.0
    np.testing.assert_allclose(sim.positions[~held], (x - d)[~held], rtol=0, atol=1e-9 * np.abs(d).max())
    np.testing.assert_array_equal(sim.positions[held, 0], x[held, 0])
    assert (sim.positions[held, 1:] != x[held, 1:]).all()


def touching(solver, dt=1 / 100):
    """A compressed block of StVK just above a plane, in contact: (simulation, scene, rest, tets, material)."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    mesh = pdgpu.shapes.beam((0.3, 0.3, 0.3), cells=(2, 2, 2))
    points, material = mesh.points + [0.0, 6e-4, 0.0], pdgpu.StVK.from_young(1e5, 0.3)
    scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), material, density=1000.0)
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    sim = pdgpu.Simulation(scene, solver, dt=dt, contact=pdgpu.BarrierContact(1e-3, stiffness=1e4))
    return sim, scene, points, mesh.tets, material


@pytest.mark.parametrize("name", FILTERED)
def test_contact_is_in_the_block(name):
    """If not, a filtered block lacks the stiffness of the vertex's pairs, or filters it away."""
    dt = 1 / 600  # no vertex moves farther than its bound
    solver = pdgpu.BlockJacobi(iterations=1, line_search=False, hessian=name, initialization="previous")
    sim, scene, rest, tets, material = touching(solver, dt)
    x = rest.copy()
    x[:, 1] = 6e-4 + 0.97 * (rest[:, 1] - 6e-4)  # compressed, so that elements are indefinite
    sim.set_state(positions=x)
    with pytest.warns(UserWarning, match="without contact"):
        bare = pdgpu.Simulation(scene, solver, dt=dt)
    bare.set_state(positions=x)
    n = len(x)
    pairs = (sim.hessian(x) - bare.hessian(x)).toarray().reshape(n, 3, n, 3)[np.arange(n), :, np.arange(n)]
    H = elastic_blocks(material, tets, rest, x, name) + pairs + (sim.masses / dt**2)[:, None, None] * np.eye(3)
    d = np.linalg.solve(H, sim.gradient(x)[:, :, None])[:, :, 0]
    sim.step()
    assert np.abs(pairs).max() > 100.0
    np.testing.assert_allclose(sim.positions, x - d, rtol=0, atol=1e-8 * np.abs(d).max())


@pytest.mark.parametrize("name", FILTERED)
def test_pairs_are_filtered(name):
    """If not, the curvature of a pair across its normal is dropped, or the share of a corner is another one."""
    scene, rows, rest, x = touching_rods()
    dt = 1 / 2000  # no vertex moves farther than its bound
    solver = pdgpu.BlockJacobi(iterations=1, line_search=False, hessian=name, initialization="previous")
    sim, plain = simulations(scene, solver, x, dt, contact=CONTACT)
    bare = pdgpu.Simulation(scene, solver, dt=dt)
    bare.set_state(positions=x)
    pairs = pdgpu.contact.find_pairs(CONTACT, x, np.zeros((0, 3), int), edges=rows, rest=rest, weighting=CONTACT.weighting)
    exact = pairs._evaluate(contact_pairs.HESSIAN, x, 1)
    n = len(x)
    H = elastic_blocks(pdgpu.Spring(2e3), rows, rest, x, name) + (scene.masses() / dt**2)[:, None, None] * np.eye(3)
    automatic, total = np.zeros((n, 3, 3)), np.zeros((n, 3, 3))
    for pair, each, filtered in zip(pairs.vertices, exact, kept(exact, name), strict=True):
        for corner, vertex in enumerate(pair[pair >= 0]):  # every vertex moves: two partners
            own = slice(3 * corner, 3 * corner + 3)
            H[vertex] += 2.0 * filtered[own, own]
            automatic[vertex] += 2.0 * each[own, own]
            total[vertex] += each[own, own]
    assembled = (plain.hessian(x) - bare.hessian(x)).toarray().reshape(n, 3, n, 3)[np.arange(n), :, np.arange(n)]
    np.testing.assert_allclose(total, assembled, rtol=1e-9, atol=1e-9 * np.abs(assembled).max())  # these are the pairs of the step
    assert np.linalg.eigvalsh(automatic)[:, 0].min() < -0.3 * np.abs(automatic).max()
    definite = np.linalg.eigvalsh(H)[:, 0] > 0.0
    assert (name == "exact") == (not definite.all()) and definite.any()
    d = np.linalg.solve(H, plain.gradient(x)[:, :, None])[:, :, 0] * definite[:, None]
    sim.step()
    np.testing.assert_allclose(sim.positions, x - d, rtol=0, atol=1e-8 * np.abs(d).max())


@pytest.mark.parametrize("line_search", [False, True])
@pytest.mark.parametrize("name", FILTERED)
@pytest.mark.parametrize("case", ["neo-Hookean", "StVK", "co-rotated", "shell, StVK"])
def test_one_answer(case, name, line_search):
    """If not, a filter changes what is minimised."""
    scene, _, _, rest, _ = scene_of(case)
    ends = []
    descent = pdgpu.VertexBlockDescent(iterations=3000, hessian=name, line_search=line_search, tolerance=1e-10)
    for solver in (pdgpu.Newton(iterations=200), descent):
        sim = pdgpu.Simulation(scene, solver, dt=1 / 100)
        sim.set_state(positions=rest * [1.1, 1.0, 1.0])
        sim.step()
        ends.append(sim.positions)
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-7)


@pytest.mark.parametrize("kind", [pdgpu.VertexBlockDescent, pdgpu.BlockJacobi])
@pytest.mark.parametrize("name", FILTERED)
def test_one_answer_in_contact(kind, name):
    """If not, a vertex in contact with a filtered block ends elsewhere."""
    ends = []
    for solver in (pdgpu.Newton(iterations=200, tolerance=1e-9), kind(iterations=3000, tolerance=1e-8, hessian=name)):
        sim, *_ = touching(solver)
        sim.step(2)
        ends.append(sim.positions)
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-6)


@pytest.mark.parametrize("contact", ["barrier", "penalty"])
@pytest.mark.parametrize("name", ["clamp", "absolute"])
def test_one_answer_with_a_rigid_body_and_a_penalty(name, contact):
    """If not, a filter of vertices moves a rigid body elsewhere, or changes the blocks of penalties, which have no curvature across."""
    mesh, box = pdgpu.shapes.beam((0.3, 0.3, 0.3), cells=(2, 2, 2)), pdgpu.shapes.box((0.1, 0.1, 0.1))
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    body = scene.add_solid(mesh, pdgpu.StVK.from_young(1e5, 0.3), density=1000.0)
    body.pin(mesh.points[:, 1] == 0.0)
    law = pdgpu.PenaltyContact(1e-3, stiffness=1e4)
    if contact == "barrier":
        law = pdgpu.BarrierContact(1e-3, stiffness=1e4)
        scene.add_rigid(pdgpu.Mesh(box.points + [0.11, 0.3507, 0.13], triangles=box.triangles), density=500.0)
    else:
        scene.add_obstacle(pdgpu.Plane((0, 0.2995, 0), (0, -1.0, 0)))
    ends = []
    for solver in (pdgpu.Newton(iterations=200, tolerance=1e-9), pdgpu.VertexBlockDescent(iterations=3000, tolerance=1e-8, hessian=name)):
        sim = pdgpu.Simulation(scene, solver, dt=1 / 200, contact=law)
        sim.step(3)
        ends.append(sim.positions)
    assert np.abs(ends[0][: len(mesh.points)] - mesh.points).max() > 1e-5
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", [pdgpu.VertexBlockDescent, pdgpu.BlockJacobi])
def test_every_element_takes_a_filter(kind):
    """If not, a kind of element, a joint's or a hinge's, has no filtered block, or the number of threads decides the result."""
    found = []
    for threads in (1, 2):
        scene, start = scenes.mixed(damping=1e-3)
        sim = pdgpu.Simulation(scene, kind(iterations=4, hessian="absolute"), dt=1 / 100, threads=threads)
        sim.set_state(positions=start)
        sim.step(2)
        found.append(sim.positions)
    np.testing.assert_array_equal(*found)
    assert np.isfinite(found[0]).all()


def test_neo_hookean_blocks_are_exact_by_themselves():
    """If not, the page says wrongly that the default has the exact block of a neo-Hookean tet, which is affine in each corner."""
    scene, *_, x = scene_of("neo-Hookean")
    ends = []
    for name in ("auto", "exact"):
        solver = pdgpu.VertexBlockDescent(iterations=5, hessian=name, initialization="previous")
        sim, _ = simulations(scene, solver, x * [-1.0, 1.0, 1.0], 1 / 60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of inverted tets
            sim.step()
        ends.append(sim.positions)
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize("line_search", [False, True])
@pytest.mark.parametrize("scale", [0.2, 0.8])
def test_an_indefinite_block_does_not_move(scale, line_search):
    """If not, a vertex climbs along a negative eigenvalue; two of them, with a positive determinant, are the trap."""
    scene = pdgpu.Scene()
    points = np.array([[0.0, 0, 0], [1.0, 0, 0], [-1.0, 0, 0]])
    rod = scene.add_rod(pdgpu.Mesh(points, edges=[[0, 1], [0, 2]]), pdgpu.Spring(100.0), density=1e-6)
    rod.pin([1, 2])
    x = points * scale
    x[0] = [0.0, 1e-3, 2e-3]
    solver = pdgpu.VertexBlockDescent(iterations=3, line_search=line_search, hessian="exact", initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=1.0)
    sim.set_state(positions=x)
    eigenvalues = np.linalg.eigvalsh(sim.hessian(x).toarray()[:3, :3])
    assert (eigenvalues < 0).sum() == 2 and eigenvalues.prod() > 0
    sim.step()
    np.testing.assert_array_equal(sim.positions, x)
    filtered = pdgpu.VertexBlockDescent(iterations=200, hessian="absolute", initialization="previous")
    sim = pdgpu.Simulation(scene, filtered, dt=1.0)
    sim.set_state(positions=x)
    sim.step()
    np.testing.assert_allclose(np.linalg.norm(sim.positions[0] - x[1]), 1.0, rtol=1e-4)  # the springs are as long as at rest


def test_auto_is_the_default_and_in_no_file():
    """If not, the setting changes runs that do not ask for it, or files that an earlier release reads."""
    for kind in (pdgpu.VertexBlockDescent, pdgpu.BlockJacobi, pdgpu.GradientDescent):
        assert kind() == kind(hessian="auto")
        assert "hessian" not in str(checkpoint._describe(kind()))
        assert "absolute" in str(checkpoint._describe(kind(hessian="absolute")))


def test_what_is_refused():
    """If not, a filter without a meaning for blocks is another one in silence."""
    for kind in (pdgpu.VertexBlockDescent, pdgpu.BlockJacobi, pdgpu.GradientDescent):
        with pytest.raises(ValueError, match=r"hessian: 'adaptive' compares .* Newton takes it"):
            kind(hessian="adaptive")
        with pytest.raises(ValueError, match="hessian: expected one of 'auto', 'clamp', 'absolute', 'exact', got 'positive'"):
            kind(hessian="positive")
        with pytest.raises(TypeError, match="hessian: expected one of"):
            kind(hessian=1)
