"""Contact by a penalty: its derivatives, its set of pairs, its answers on paper, its bits, and what it refuses."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from contact_scenes import ball, meeting, moved

import pdgpu
from pdgpu import geometry

WALL = pdgpu.shapes.box((1.0, 1.0, 0.1))
SOLVER = pdgpu.VertexBlockDescent(iterations=40)


def plate(scene, name="plate"):
    """A closed mesh whose upper side is at z = 0.1."""
    return scene.add_obstacle(pdgpu.TriangleMesh(pdgpu.Mesh(WALL.points, triangles=WALL.triangles)), name=name)


def floor(scene, normal=(0.0, 0.0, 1.0)):
    return scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), normal), name="floor")


def soft(points, **options):
    scene = pdgpu.Scene((0.0, 0.0, -10.0))
    scene.add_particles(points, mass=2.0, name="grains", **options)
    return scene


def simulation(scene, contact, solver=SOLVER, **options):
    return pdgpu.Simulation(scene, solver, **{"dt": 0.01, **options}, contact=contact)


def bodies_in_a_heap():
    """Every kind of pair near each other: solids, a rod and particles on a plane, a sphere, a capsule and a mesh."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    for name, low, size in (("box", (0.0, 2e-3, 0.0), 0.1), ("upper", (0.02, 0.104, 0.01), 0.06)):
        mesh = pdgpu.shapes.beam((size,) * 3, (1, 1, 1))
        scene.add_solid(pdgpu.Mesh(mesh.points + low, tets=mesh.tets), pdgpu.NeoHookean.from_young(1e6, 0.3), density=1000.0, name=name)
    rod = pdgpu.Mesh([[0.11, 0.103, -0.05], [-0.05, 0.1035, -0.006]], edges=[[0, 1]])
    scene.add_rod(rod, pdgpu.Spring(1e3), density=0.1, name="rod")
    scene.add_particles([[0.05, 0.167, 0.03], [0.051, 0.17, 0.031], [0.03, 0.1052, -0.0283]], mass=0.01, name="sand")
    floor(scene, (0.0, 1.0, 0.0))
    scene.add_obstacle(pdgpu.Sphere((0.202, 0.08, 0.03), 0.1), name="ball")
    scene.add_obstacle(pdgpu.Capsule((-0.022, 0.05, -0.1), (-0.022, 0.05, 0.2), 0.02), name="bar")
    wall = pdgpu.shapes.box((0.3, 0.3, 0.1))
    scene.add_obstacle(pdgpu.TriangleMesh(pdgpu.Mesh(wall.points + [-0.1, 0.0, 0.102], triangles=wall.triangles)), name="wall")
    return scene


def heap(dtype="float64", friction=0.7):
    contact = pdgpu.PenaltyContact(5e-3, stiffness=1e4, detection_interval=1, friction=friction, friction_velocity=0.02)
    return simulation(bodies_in_a_heap(), contact, dtype=dtype)


# ---- derivatives -----------------------------------------------------------------------------------------------------------------


def test_derivatives():
    """Of frozen pairs. If not, what a solver minimises is not what its record shows."""
    sim, without = heap(), pdgpu.Simulation(bodies_in_a_heap(), SOLVER, dt=0.01, contact=pdgpu.PenaltyContact(1e-9, stiffness=1e-9))
    rng = np.random.default_rng(5)
    x = sim.positions + 4e-4 * rng.uniform(-1.0, 1.0, sim.positions.shape)
    hessian = (sim.hessian(x) - without.hessian(x)).toarray()
    size = np.abs(hessian).max()
    assert size > 1e3
    assert np.abs(hessian - hessian.T).max() < 1e-9 * size
    assert np.linalg.eigvalsh(hessian).min() > -1e-9 * size
    free = np.ones(x.shape)
    for _ in range(3):
        along, step = free * rng.standard_normal(x.shape), 1e-7
        slope = (sim.incremental_potential(x + step * along) - sim.incremental_potential(x - step * along)) / (2.0 * step)
        assert (sim.gradient(x) * along).sum() == pytest.approx(slope, rel=1e-6)
        curve = (sim.gradient(x + step * along) - sim.gradient(x - step * along)) / (2.0 * step)
        np.testing.assert_allclose(sim.hessian(x) @ along.ravel(), curve.ravel(), rtol=1e-4, atol=1e-5 * np.abs(curve).max())


def test_every_role_of_a_pair():
    """Pushes add up to zero over a pair and part it; friction is against what each of the four does, and adds up to zero too. As printed in
    the paper friction accelerates the first, and is weighted with squares for the others."""
    sim = heap()
    rng = np.random.default_rng(1)
    sim.set_state(velocities=0.2 * rng.standard_normal(sim.positions.shape))
    sim.step()
    pairs, rubbing = sim._core.backend.penalty_columns(), sim._core.backend.friction_columns()
    kinds = {(key >> 62, int((row >= 0).sum())) for key, row in zip(pairs["key"].tolist(), pairs["vertices"], strict=True)}
    assert kinds == {(0, 4), (1, 4), (1, 3), (1, 2), (2, 2)}
    depth = np.maximum(pairs["reach"] - pairs["gap"], 0.0)
    assert (depth > 0).sum() > 10
    expected = -1e4 * (depth[:, None] * pairs["weights"])[:, :, None] * pairs["normal"][:, None]
    np.testing.assert_allclose(pairs["gradient"], expected, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(pairs["gradient"].sum(axis=1), 0.0, atol=1e-12 * np.abs(expected).max())
    acts = rubbing["strength"] > 0
    assert acts.sum() > 10
    force, slip, weights = rubbing["gradient"][acts], rubbing["slip"][acts], pairs["weights"][acts]
    np.testing.assert_allclose(force.sum(axis=1), 0.0, atol=1e-12 * np.abs(force).max())
    against = -np.einsum("kjc,kc->kj", force, slip) * np.sign(weights)
    assert (against[weights != 0] < 0).all()
    assert (np.linalg.norm(rubbing["force"][acts], axis=1) <= rubbing["strength"][acts] * (1 + 1e-12)).all()


# ---- which pairs -----------------------------------------------------------------------------------------------------------------------


def pairs_of(sim):
    sim.step()
    return sim._core.backend.penalty_columns()


def test_one_pair_for_one_nearest_point():
    """Over a face, over an edge that two triangles share, and over a corner: one pair each, or a weight would rest on several springs."""
    z = 0.1005
    sim = simulation(
        soft([[0.4, 0.3, z], [0.5, 0.5, z], [1.0002, 1.0002, z]]), pdgpu.PenaltyContact(1e-3, stiffness=1e5, detection_interval=1)
    )
    with_plate = copy.deepcopy(sim._core.scene)
    plate(with_plate)
    pairs = pairs_of(simulation(with_plate, sim.contact))
    np.testing.assert_array_equal(np.sort(pairs["vertices"][:, 0]), [0, 1, 2])
    corner = pairs["normal"][np.argsort(pairs["vertices"][:, 0])][2]
    assert corner[:2].min() > 0.0


def test_a_thin_sheet_stops_what_is_fast():
    """By what meets on the way: particles of 100 m/s go a metre in a step, and nothing is near the sheet before or after."""
    scene = soft([[0.21, 0.3, 0.5], [0.5, 0.52, 0.5], [0.7, 0.2, 0.5]], velocity=(0.0, 0.0, -100.0))
    mesh = pdgpu.Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]], triangles=[[0, 1, 2], [0, 2, 3]])
    scene.add_obstacle(pdgpu.TriangleMesh(mesh), name="sheet")
    sim = simulation(scene, pdgpu.PenaltyContact(1e-3, stiffness=1e8, detection_interval=5))
    for _ in range(20):
        sim.step()
    np.testing.assert_allclose(sim.positions[:, 2], 1e-3 - 20.0 / 1e8, rtol=1e-3)


def test_edges_that_cross_keep_their_side():
    """A rod falls across the edge of a box, far from all of its corners: without pairs of edges it would fall through."""
    scene = pdgpu.Scene((0.0, 0.0, -10.0))
    rod = pdgpu.Mesh([[-0.3, 0.5, 0.3], [-0.3, 0.5, 0.0], [1.3, 0.5, 0.11]], edges=[[0, 1], [0, 2]])
    body = scene.add_rod(rod, pdgpu.Spring(1e4), density=0.1, name="rod", velocity=(0.0, 0.0, -40.0))
    body.pin([1])
    plate(scene)
    sim = simulation(scene, pdgpu.PenaltyContact(1e-3, stiffness=1e7, detection_interval=1), pdgpu.VertexBlockDescent(iterations=60))
    for _ in range(20):
        sim.step()
    a, b = sim.positions[0], sim.positions[2]
    for end in (a, b):
        assert np.isfinite(end).all()
    at = (1.0 - a[0]) / (b[0] - a[0])
    assert (a + at * (b - a))[2] > 0.09 or not 0.0 <= at <= 1.0


@pytest.mark.parametrize("turn", [0.5 * np.pi, 1.1, 0.0])
def test_edges_that_meet_have_the_normal_of_both(turn):
    """Of two edges that meet on the way it is across both, from the side where the first was, and held; parallel edges are no pair, for
    they have none, and their ends come before the other body by themselves."""
    scene, wedge = pdgpu.Scene((0.0, 0.0, 0.0)), np.array([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, -0.5, 0.6], [0.0, 0.5, 0.6]])
    turned = np.array([[np.cos(turn), -np.sin(turn), 0.0], [np.sin(turn), np.cos(turn), 0.0], [0.0, 0.0, 1.0]])
    material = pdgpu.NeoHookean.from_young(1e5, 0.3)
    upper = pdgpu.Mesh(wedge @ turned.T + [0.03, 0.02, 0.05], tets=[[0, 2, 1, 3]])
    scene.add_solid(upper, material, density=1000.0, velocity=(0.0, 0.0, -20.0))
    below = pdgpu.Mesh(wedge * [1.0, 1.0, -1.0], triangles=[[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    scene.add_obstacle(pdgpu.TriangleMesh(below))
    sim = simulation(scene, pdgpu.PenaltyContact(1e-2, stiffness=1e3), pdgpu.VertexBlockDescent(iterations=1))
    pairs = pairs_of(sim)
    rows, low = np.sort(pairs["vertices"], axis=1).tolist(), np.flatnonzero(upper.points[:, 2] < 0.06).tolist()
    ridges = [*low, 4, 5]  # the lower one's first two corners lie behind the four of the upper
    met = [row for row, vertices in enumerate(rows) if vertices == ridges]
    if turn == 0.0:
        assert not met and len(rows) > 0
        return
    across = np.cross(turned @ [1.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    assert len(met) == 1
    sign = 1.0 if pairs["vertices"][met[0], 0] < 4 else -1.0
    np.testing.assert_allclose(sign * pairs["normal"][met[0]], across * np.sign(across[2]) / np.linalg.norm(across), atol=1e-9)
    assert pairs["gap"][met[0]] < 0.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_near_pair_is_listed(dtype):
    """Of 150 edges that fly through as many, against all with all. If not, what is told to be plainly apart, or left out of a search, is
    not, and bodies would pass through each other there."""
    rng, n, dt, thickness = np.random.default_rng(3), 150, 0.01, 0.02
    starts, velocities = rng.uniform(0.0, 0.4, (2, 2 * n, 3)), rng.normal(0.0, 3.0, (2, 2 * n, 3))
    starts[:, 1::2] = starts[:, ::2] + rng.normal(0.0, 0.1, (2, n, 3))
    velocities[:, 1::2] = velocities[:, ::2] + rng.normal(0.0, 0.5, (2, n, 3))
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    for k in range(2):
        edges = pdgpu.Mesh(starts[k], edges=np.arange(2 * n).reshape(n, 2))
        scene.add_rod(edges, pdgpu.Spring(1e-9), density=1.0, velocity=velocities[k], name="ab"[k])
    solver = pdgpu.VertexBlockDescent(iterations=1, initialization="inertial_target")
    sim = simulation(scene, pdgpu.PenaltyContact(thickness, stiffness=1e-9, detection_interval=0), solver, dt=dt, dtype=dtype)
    pairs = pairs_of(sim)
    first, second = (grid.ravel() for grid in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    ends = (starts + dt * velocities).reshape(2, n, 2, 3)
    distance = geometry.edge_edge(np.concatenate([ends[0, first], ends[1, second]], axis=1)).distance
    found = {tuple(sorted((row[0] // 2, row[2] // 2))) for row in pairs["vertices"].tolist()}
    near = {(a, n + b) for a, b in zip(first[distance < 1.99 * thickness], second[distance < 1.99 * thickness], strict=True)}
    assert len(near) > 300
    assert near <= found
    beyond = found - {(a, n + b) for a, b in zip(first[distance < 2.01 * thickness], second[distance < 2.01 * thickness], strict=True)}
    rows = {tuple(sorted((row[0] // 2, row[2] // 2))): gap for row, gap in zip(pairs["vertices"].tolist(), pairs["gap"], strict=True)}
    assert len(beyond) > 20 and all(rows[pair] < 2.01 * thickness for pair in beyond)  # they met on the way


# ---- an iteration, written down a second time --------------------------------------------------------------------------------------


def tet(low, size, name, scene):
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [-0.7, -0.7, 1.0]]) * size + low
    return scene.add_solid(pdgpu.Mesh(points, tets=[[0, 1, 2, 3]]), pdgpu.NeoHookean.from_young(1e4, 0.3), density=1000.0, name=name)


def spike():
    """The tip of a tet 0.7 mm above the face of another, which stands on a plane that slopes."""
    scene = pdgpu.Scene((1.0, 0.5, -10.0))
    tet([0.0, 0.0, 0.2007], 0.1, "upper", scene)
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [-0.7, -0.7, 1.0]])[[0, 2, 1, 3]] * [0.2, 0.2, -0.2] + [0, 0, 0.2]
    points[:, 2] = 0.2 - (0.2 - points[:, 2])
    points = np.array([[-0.2, -0.2, 0.2], [0.3, -0.2, 0.2], [0.0, 0.3, 0.2], [0.01, 0.02, 0.0005]])
    scene.add_solid(pdgpu.Mesh(points, tets=[[0, 2, 1, 3]]), pdgpu.NeoHookean.from_young(1e4, 0.3), density=1000.0, name="lower")
    floor(scene)
    return scene


THICKNESS, STIFFNESS, MU, VELOCITY = 1e-3, 3e4, 0.4, 0.05


def frozen_pairs(x):
    """[(points, weights, normal, gap)] of what is nearer than the thickness: the tip and the face, and what is near the plane (-1)."""
    corners = x[[0, 4, 5, 6]]
    found = geometry.vertex_triangle(corners[None])
    normal = np.cross(corners[2] - corners[1], corners[3] - corners[1])
    normal *= np.sign(normal[2]) / np.linalg.norm(normal)
    pairs = [([0, 4, 5, 6], found.weights[0], normal), ([7, -1], np.array([1.0, -1.0]), np.array([0.0, 0.0, 1.0]))]
    result = []
    for points, weights, n in pairs:
        at = np.array([x[p] if p >= 0 else np.zeros(3) for p in points])
        if n @ (weights @ at) < 2.0 * THICKNESS:
            result.append((points, weights, n))
    return result


def plain_descent(sim, elastic, iterations, variant, rho=0.0):
    """Algorithm 1 of the paper with contact and friction, vertex by vertex, in its colours; one detection an iteration.

    Friction has the normal forces of where the iteration begins, or ("paper") of the moment. With rho > 0 iterates are extrapolated by
    Eq. 18, but for vertices of a pair that has pushed in this step. Returns the last iterate, and which vertices these are.
    """
    h, x_t = sim.dt, sim.positions
    colours = sim._core.colours
    x, before_last, pushed, omega = x_t.copy(), x_t, np.zeros(len(x_t), bool), 1.0
    for iteration in range(iterations):
        pairs, here = frozen_pairs(x), x

        def depth(pair, at):
            points, weights, n = pair
            return max(0.0, THICKNESS - n @ sum(w * (at[p] if p >= 0 else 0.0) for p, w in zip(points, weights, strict=True)))

        lag = [depth(pair, x) for pair in pairs]  # the first at the start of the step, which is where x is
        pushed[[p for pair, d in zip(pairs, lag, strict=True) if d > 0.0 for p in pair[0] if p >= 0]] = True
        for colour in range(colours.max() + 1):
            new = x.copy()
            for i in np.flatnonzero(colours == colour):
                force = -elastic.gradient(x)[i]
                block = elastic.hessian(x)[3 * i : 3 * i + 3, 3 * i : 3 * i + 3].toarray()
                for pair, before in zip(pairs, lag, strict=True):
                    points, weights, n = pair
                    if i not in points:
                        continue
                    beta = weights[points.index(i)]
                    partners = 2.0 if sum(p >= 0 and colours[p] == colour for p in points) > 1 else 1.0
                    d = depth(pair, x)
                    force += STIFFNESS * d * beta * n
                    block += (d > 0) * partners * STIFFNESS * beta**2 * np.outer(n, n)
                    move = sum(w * (x[p] - x_t[p]) for p, w in zip(points, weights, strict=True) if p >= 0)
                    across = np.eye(3) - np.outer(n, n)
                    u = across @ move
                    size, e = np.linalg.norm(u), VELOCITY * h
                    ratio = (2.0 - size / e) / e if size < e else 1.0 / size
                    strength = MU * STIFFNESS * (d if variant == "paper" else before)
                    force -= strength * beta * ratio * u
                    block += partners * strength * beta**2 * ratio * across
                new[i] = x[i] + np.linalg.solve(block, force)
            x = new
        if rho:
            omega = 1.0 if iteration == 0 else 2.0 / (2.0 - rho**2) if iteration == 1 else 4.0 / (4.0 - rho**2 * omega)
            x = np.where(pushed[:, None], x, omega * (x - before_last) + before_last)
            before_last = here
    return x, pushed


def without_contact(sim):
    """The bodies of a simulation, which touch nothing."""
    bodies = pdgpu.Scene((1.0, 0.5, -10.0))
    for body in sim._core.scene.bodies:
        bodies.add_solid(body.mesh, body.materials[0], density=1000.0, name=body.name)
    return pdgpu.Simulation(bodies, sim.solver, dt=sim.dt)


@pytest.mark.parametrize("variant", ["lagged", "paper"])
@pytest.mark.parametrize("iterations", [1, 3])
def test_plain_algorithm(iterations, variant):
    """Against the loops of the paper's Algorithm 1 with collisions, in Python. If not, it is another method that goes by its name."""
    settings = {"detection_interval": 1, "friction": MU, "friction_velocity": VELOCITY, "variant": variant}
    contact = pdgpu.PenaltyContact(THICKNESS, stiffness=STIFFNESS, **settings)
    solver = pdgpu.VertexBlockDescent(iterations=iterations, initialization="previous")
    sim = simulation(spike(), contact, solver)
    elastic = without_contact(sim)
    for each in (sim, elastic):
        each.set_state(velocities=np.tile([0.03, 0.01, -0.05], (8, 1)))
    expected, _ = plain_descent(sim, elastic, iterations, variant)
    other, _ = plain_descent(sim, elastic, iterations, "lagged" if variant == "paper" else "paper")
    assert np.abs(expected - other).max() > 1e-8
    sim.step()
    assert len(sim._core.backend.penalty_columns()["gap"]) == 2
    np.testing.assert_allclose(sim.positions, expected, rtol=0.0, atol=1e-12)
    assert np.abs(expected - elastic.positions).max() > 1e-5


def test_plain_algorithm_with_acceleration():
    """What has pushed once in a step is not extrapolated any more in it, and is again in the next (Eq. 18). If not, a vertex would be
    thrown back into what it has just left, or crawl for good once it has touched something."""
    contact = pdgpu.PenaltyContact(THICKNESS, stiffness=STIFFNESS, detection_interval=1, friction=MU, friction_velocity=VELOCITY)
    solver = pdgpu.VertexBlockDescent(iterations=6, chebyshev=pdgpu.Chebyshev(rho=0.8, start=1), initialization="previous")
    sim = simulation(spike(), contact, solver)
    elastic, start, marks = without_contact(sim), sim.positions, []
    for upper, lower in ((0.0, 0.0), (7e-3, 5e-3)):  # in the second step they are apart
        for each in (sim, elastic):
            positions = start + np.repeat([[0.0, 0.0, upper], [0.0, 0.0, lower]], 4, axis=0)
            each.set_state(positions=positions, velocities=np.tile([0.03, 0.01, -0.05], (8, 1)))
        expected, pushed = plain_descent(sim, elastic, 6, "lagged", rho=0.8)
        slow, _ = plain_descent(sim, elastic, 6, "lagged")
        marks.append(pushed)
        sim.step()
        np.testing.assert_allclose(sim.positions, expected, rtol=0.0, atol=1e-12)
        assert np.abs(slow - expected)[~pushed].max() > 1e-8
    assert marks[0][[0, 4, 5, 6, 7]].all() and not marks[0][1:4].any()
    assert not marks[1].any()


# ---- every minimiser ---------------------------------------------------------------------------------------------------------------------

MINIMISERS = {
    "newton": pdgpu.Newton(iterations=100, tolerance=1e-9),
    "newton_pcg": pdgpu.Newton(iterations=100, tolerance=1e-9, linear=pdgpu.PCG()),
    "quasi_newton": pdgpu.QuasiNewton(iterations=400, tolerance=1e-7),
    "nonlinear_cg": pdgpu.NonlinearCG(iterations=600, tolerance=1e-7),
    "projective_dynamics": pdgpu.ProjectiveDynamics(iterations=600, tolerance=1e-7),
    "projective_dynamics_pcg": pdgpu.ProjectiveDynamics(iterations=600, tolerance=1e-7, linear=pdgpu.PCG()),
    "vertex_block_descent": pdgpu.VertexBlockDescent(iterations=600, tolerance=1e-7),
    "vertex_block_descent_search": pdgpu.VertexBlockDescent(iterations=600, tolerance=1e-7, line_search=True),
    "block_jacobi": pdgpu.BlockJacobi(iterations=1500, tolerance=1e-7),
    "gradient_descent": pdgpu.GradientDescent(iterations=1500, tolerance=1e-7),
}


def pile(solver, contact, **options):
    """Two cubes on a floor, one on the other."""
    scene = pdgpu.Scene((0.0, 0.0, -10.0))
    mesh = pdgpu.shapes.beam((0.1,) * 3, (1, 1, 1))
    for i in range(2):
        points = mesh.points + [0.03 * i, 0.02 * i, 0.0008 + 0.1008 * i]
        scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), pdgpu.ARAP(4e5), density=1000.0, velocity=(0.2, 0.0, -0.1))
    floor(scene)
    return simulation(scene, contact, solver, **options)


@pytest.mark.parametrize("name", MINIMISERS)
def test_one_minimum(name):
    """Of all who take it, with friction, in the third step. If not, the result depends on who computes it."""
    contact = pdgpu.PenaltyContact(2e-3, stiffness=3e4, detection_interval=0, friction=0.5, friction_velocity=0.01)
    sims = [pile(solver, contact) for solver in (MINIMISERS["newton"], MINIMISERS[name])]
    for sim in sims:
        sim.step(2)
        sim.step(record=True)
    expected, found = sims
    assert expected.last_step.status == "converged"
    assert expected.last_step["active_contacts"][-1] >= 4
    assert np.abs(found.positions - expected.positions).max() < 2e-2 * 0.2 * 0.01  # of the way in a step
    assert found.last_step["incremental_potential"][-1] == pytest.approx(expected.last_step["incremental_potential"][-1], rel=1e-3)
    assert type(found.solver).__name__ in {kind for kind, able in pdgpu.capabilities().items() if "PenaltyContact" in able["contacts"]}


@pytest.mark.parametrize("interval", [1, 2, 3])
@pytest.mark.parametrize("kind", [pdgpu.BlockJacobi, pdgpu.GradientDescent])
def test_a_step_length_holds_across_detections(kind, interval):
    """Where all vertices move at once, G is compared over new pairs as well. If it were not, pairs found again in every iteration
    would let every state pass, and the cubes would fly apart: by 19 to 92 mm in these three steps."""
    contact = pdgpu.PenaltyContact(2e-3, stiffness=3e4, detection_interval=interval, friction=0.5, friction_velocity=0.01)
    sim, exact = pile(kind(iterations=400), contact), pile(MINIMISERS["newton"], contact)
    for _ in range(3):
        exact.set_state(positions=sim.positions, velocities=sim.velocities)
        sim.step(), exact.step()
        assert np.abs(sim.positions - exact.positions).max() < 5e-4  # the first guess is 3 mm away


@pytest.mark.parametrize("name", MINIMISERS)
def test_bits_of_every_solver(name):
    """For any number of threads, with detections on the way."""
    contact = pdgpu.PenaltyContact(2e-3, stiffness=3e4, detection_interval=3, friction=0.5)
    solver = dataclasses.replace(MINIMISERS[name], iterations=8, tolerance=0.0)
    one, two = (pile(solver, contact, threads=threads) for threads in (1, 2))
    for sim in (one, two):
        sim.step(2)
    np.testing.assert_array_equal(one.positions, two.positions)
    assert len(one.contact_forces()) > 0


def piled(offset=0.0):
    """The scene of `pile` and a state of it in which both cubes are pressed, m and m/s."""
    sim = pile(MINIMISERS["newton"], pdgpu.PenaltyContact(2e-3, stiffness=3e4, friction=0.5, friction_velocity=0.01))
    sim.step(2)
    return sim._core.scene, (sim.positions + offset, sim.velocities)


@pytest.mark.parametrize("interval", [pytest.param(1, marks=pytest.mark.stress), 10])
def test_comparison(interval):
    """All solvers have one objective, that of the pairs at the answer: they end there, and none of them below it, however often each would
    look for pairs by itself. If not, a curve would end at an answer of its own."""
    scene, start = piled()
    contact = pdgpu.PenaltyContact(2e-3, stiffness=3e4, detection_interval=interval, friction=0.5, friction_velocity=0.01)
    comparison = pdgpu.compare(scene, MINIMISERS, dt=0.01, start=start, contact=contact)
    assert set(comparison) == set(MINIMISERS)
    for name in comparison:
        record = comparison[name]
        assert record["active_contacts"][-1] >= 2
        assert record["relative_loss"].min() > -1e-9, name
        assert record["relative_error"][-1] < 1e-4, name
        assert record["relative_loss"][-1] < 1e-6, name
        assert (record["contact_potential"][-1] > 0.0) and (record["friction_potential"][-1] > 0.0)


def test_comparison_with_a_given_reference():
    """Pairs are those there: with none near it, what would touch has nothing to touch."""
    scene, start = piled()
    contact = pdgpu.PenaltyContact(2e-3, stiffness=3e4)
    solvers = {"vbd": pdgpu.VertexBlockDescent(iterations=30)}
    found = pdgpu.compare(scene, solvers, dt=0.01, start=start, contact=contact)
    again = pdgpu.compare(scene, solvers, dt=0.01, start=start, contact=contact, reference=found.reference)
    np.testing.assert_allclose(again.positions["vbd"], found.positions["vbd"], rtol=0.0, atol=1e-6)
    away = pdgpu.compare(scene, solvers, dt=0.01, start=start, contact=contact, reference=found.reference + [0.0, 0.0, 1.0])
    assert away["vbd"]["active_contacts"].max() <= 4.0  # between the cubes
    assert found["vbd"]["active_contacts"][-1] > away["vbd"]["active_contacts"][-1]


# ---- answers on paper --------------------------------------------------------------------------------------------------------------------


def test_depth_at_rest():
    """weight/stiffness below the thickness: on a plane, a mesh, a sphere and a capsule."""
    scene = soft([[3.0, 0.0, 0.001], [0.4, 0.3, 0.101], [-2.0, 0.0, 0.501], [0.0, 3.0, 0.201]])
    floor(scene), plate(scene)
    scene.add_obstacle(pdgpu.Sphere((-2.0, 0.0, 0.0), 0.5), name="ball")
    scene.add_obstacle(pdgpu.Capsule((-1.0, 3.0, 0.0), (1.0, 3.0, 0.0), 0.2), name="bar")
    sim = simulation(scene, pdgpu.PenaltyContact(1e-3, stiffness=1e5))
    for _ in range(100):
        sim.step()
    np.testing.assert_allclose(sim.positions[:, 2] - [0.0, 0.1, 0.5, 0.2], 1e-3 - 20.0 / 1e5, rtol=1e-9)
    forces = sim.contact_forces()
    np.testing.assert_allclose(forces.normal_force, 20.0, rtol=1e-9)
    np.testing.assert_allclose(forces.forces, [[0.0, 0.0, 20.0]] * 4, atol=1e-7)
    np.testing.assert_allclose(forces.distance, 1e-3 - 20.0 / 1e5, rtol=1e-9)


@pytest.mark.parametrize("angle", [0.1, 0.35])
def test_incline(angle):
    """Below the cone a particle creeps with eps_v (1 - sqrt(1 - tan a/mu)), above it slides with g (sin a - mu cos a)."""
    mu, velocity, steps, dt = 0.3, 1e-2, 80, 0.005
    scene = pdgpu.Scene((10.0 * np.sin(angle), 0.0, -10.0 * np.cos(angle)))
    scene.add_particles([[0.0, 0.0, 1e-3 - 2e-4 * np.cos(angle)]], mass=2.0)
    floor(scene)
    contact = pdgpu.PenaltyContact(1e-3, stiffness=1e5, detection_interval=1, friction=mu, friction_velocity=velocity)
    sim = simulation(scene, contact, pdgpu.VertexBlockDescent(iterations=60), dt=dt)
    for _ in range(steps):
        sim.step()
    if np.tan(angle) < mu:
        assert sim.velocities[0, 0] == pytest.approx(velocity * (1.0 - np.sqrt(1.0 - np.tan(angle) / mu)), rel=1e-6)
    else:
        before = sim.velocities[0, 0]
        sim.step(20)
        assert sim.velocities[0, 0] - before == pytest.approx(10.0 * (np.sin(angle) - mu * np.cos(angle)) * 20 * dt, rel=1e-6)


def two_balls(distance, velocity=0.0):
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    for sign, name in ((-1.0, "left"), (1.0, "right")):
        mesh = moved(ball(0.1, 1, 2), (0.5 * sign * distance, 0.01 * sign, 0.0))
        scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000.0, name=name, velocity=(-sign * velocity, 0.0, 0.0))
    return scene


def test_momentum():
    """Two balls that meet, with friction: what one gets the other loses."""
    contact = pdgpu.PenaltyContact(5e-3, stiffness=1e3, friction=0.5, detection_interval=0)
    sim = simulation(two_balls(0.22, 1.0), contact, pdgpu.VertexBlockDescent(iterations=1500))
    masses, half = sim._core.masses, len(sim.positions) // 2
    for _ in range(8):
        sim.step()
    momentum = masses[:, None] * sim.velocities
    left = momentum[:half].sum(axis=0)
    assert left[0] < 0.5 * masses[:half].sum()  # they have met
    assert np.linalg.norm(momentum.sum(axis=0)) < 1e-4 * np.linalg.norm(left - [masses[:half].sum(), 0.0, 0.0])


def test_bodies_half_inside_each_other_come_apart():
    """Two balls of 0.1 m whose centres are 0.12 m apart: by the nearest point of what a vertex is inside of, at every detection."""
    sim = simulation(two_balls(0.12), pdgpu.PenaltyContact(2e-3, stiffness=2000.0, depth=0.1))
    assert meeting(sim) > 10
    for _ in range(15):
        sim.step()
    assert meeting(sim) == 0
    assert np.abs(sim.positions).max() < 2.0


def test_it_goes_into_what_a_barrier_keeps_apart(capsys):
    """Counted by the verifier. If not, this page would promise for a penalty what only the barrier keeps."""
    counts = {}
    for contact in (pdgpu.PenaltyContact(2e-3, stiffness=1e2), pdgpu.BarrierContact(2e-3)):
        sim = simulation(two_balls(0.22, 4.0), contact, pdgpu.VertexBlockDescent(iterations=20))
        counts[type(contact).__name__] = 0
        for _ in range(12):
            sim.step()
            counts[type(contact).__name__] += meeting(sim)
    with capsys.disabled():
        print(f"\nintersections over 12 steps: {counts}")
    assert counts["BarrierContact"] == 0 < counts["PenaltyContact"]


# ---- bits, files, refusals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bits(dtype, tmp_path):
    """The same for any number of threads, for a copy, and for a run that was saved in between."""
    contact = pdgpu.PenaltyContact(3e-3, stiffness=1e4, friction={("left", "right"): 0.4}, detection_interval=3, depth=0.05)
    solver = pdgpu.VertexBlockDescent(iterations=10, chebyshev=pdgpu.Chebyshev(rho=0.9, start=2))
    sims = [simulation(two_balls(0.2, 1.0), contact, solver, dtype=dtype, threads=threads) for threads in (1, 2, 3)]
    for step in range(6):
        if step == 3:
            sims[0].save(tmp_path / "run.npz")
            sims.append(pdgpu.Simulation.load(tmp_path / "run.npz"))
            sims.append(pickle.loads(pickle.dumps(sims[0])) if hasattr(sims[0], "__reduce__") else sims[0])
        for sim in {id(sim): sim for sim in sims}.values():
            sim.step()
            sim.incremental_potential()  # a question moves nothing
    assert len(sims[0].contact_forces()) > 0
    assert sims[3].contact == contact
    for sim in sims[1:]:
        np.testing.assert_array_equal(sim.positions, sims[0].positions)
        np.testing.assert_array_equal(sim.contact_forces().forces, sims[0].contact_forces().forces)


def test_record():
    """The detections of a step, its pairs and its potential."""
    sim = simulation(
        two_balls(0.201, 0.5), pdgpu.PenaltyContact(3e-3, stiffness=1e4, detection_interval=4), pdgpu.VertexBlockDescent(iterations=10)
    )
    sim.step()
    sim.step(record=True)
    record = sim.last_step
    assert record["searches"].tolist() == [1] * 5 + [2] * 4 + [3] * 2  # for the first guess, and before iterations 5 and 9
    forces = sim.contact_forces()
    assert record["active_contacts"][-1] == len(forces) > 0
    depth = 3e-3 - forces.distance
    assert record["contact_potential"][-1] == pytest.approx(0.5e4 * (depth**2).sum(), rel=1e-9)
    assert record["smallest_distance"][-1] == pytest.approx(forces.distance.min(), rel=1e-9)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"distance": 0.0}, ValueError, "distance"),
        ({"stiffness": -1.0}, ValueError, "stiffness"),
        ({"stiffness": "auto"}, TypeError, "stiffness"),
        ({"depth": -1e-9}, ValueError, "depth"),
        ({"depth": np.nan}, ValueError, "depth"),
        ({"detection_interval": -1}, ValueError, "detection_interval"),
        ({"detection_interval": 1.5}, TypeError, "detection_interval"),
        ({"friction": -0.1}, ValueError, "friction"),
        ({"friction": {("a",): 0.1}}, TypeError, "friction"),
        ({"friction_velocity": 0.0}, ValueError, "friction_velocity"),
        ({"variant": "printed"}, ValueError, "variant"),
    ],
)
def test_bad_settings(settings, error, words):
    with pytest.raises(error, match=words):
        pdgpu.PenaltyContact(**{"distance": 1e-3, "stiffness": 1e4, **settings})


def test_refusals():
    """Who does not take it, and what it does not take."""
    contact = pdgpu.PenaltyContact(1e-3, stiffness=1e4)
    with pytest.raises(TypeError, match="ADMM does not take PenaltyContact"):
        simulation(two_balls(0.3), contact, pdgpu.ADMM())
    paper = pdgpu.PenaltyContact(1e-3, stiffness=1e4, friction=0.1, variant="paper")
    with pytest.raises(TypeError, match='Newton does not take PenaltyContact with variant="paper"'):
        simulation(two_balls(0.3), paper, pdgpu.Newton())
    with pytest.raises(ValueError, match="line_search"):
        simulation(two_balls(0.3), paper, pdgpu.VertexBlockDescent(line_search=True))
    with pytest.raises(ValueError, match="no common objective"):
        pdgpu.compare(two_balls(0.3), {"vbd": SOLVER}, dt=0.01, contact=paper)
    with pytest.raises(ValueError, match="reference: PenaltyContact needs one"):
        pdgpu.compare(two_balls(0.3), {"vbd": SOLVER}, dt=0.01, contact=contact, reference=None)
    scene = two_balls(0.3)
    with pytest.raises(ValueError, match="friction: no body and no obstacle is called 'cloth'"):
        simulation(scene, pdgpu.PenaltyContact(1e-3, stiffness=1e4, friction={("cloth", "left"): 0.1}))
