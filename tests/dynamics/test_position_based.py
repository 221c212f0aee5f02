"""Position-based dynamics [Wang 2015, Eq. 22] against closed formulas of each constraint."""

import dataclasses

import inputs
import numpy as np
import pytest
import scenes

import pdgpu

# ---- the moves that each constraint asks for, in NumPy: (vertices, moves) --------------------------------------------------------


def distance(x, w, edge, length):
    """Müller et al. 2007, Eq. 10 and 11."""
    i, j = edge
    n = (x[j] - x[i]) / np.linalg.norm(x[j] - x[i])
    stretch = (np.linalg.norm(x[j] - x[i]) - length) / max(w[i] + w[j], 1e-300)
    return edge, np.array([w[i] * stretch * n, -w[j] * stretch * n])


def rotation(A):
    """The rotation nearest to A."""
    U, _, Vt = np.linalg.svd(A)
    return U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt


def shape_matching(x, w, tet, rest):
    """Müller et al. 2005: the rest shape, turned by the rotation nearest to sum m (x - c)(X - C)^T, about the centre of mass; about
    the pinned vertex where there is one."""
    pinned = [k for k in tet if w[k] == 0.0]
    assert len(pinned) < 2
    m = np.array([0.0 if w[k] == 0.0 else 1.0 / w[k] for k in tet])
    c, C = (x[pinned[0]], rest[pinned[0]]) if pinned else (m @ x[tet] / m.sum(), m @ rest[tet] / m.sum())
    R = rotation(((x[tet] - c) * m[:, None]).T @ (rest[tet] - C))
    return tet, c + (rest[tet] - C) @ R.T - x[tet]


def flattening(x, w, hinge, c):
    """sum c_i x_i = 0 with cotangent weights c."""
    return hinge, -np.outer(w[hinge] * c, c @ x[hinge]) / (w[hinge] @ c**2)


def cotangent_weights(rest, hinge):
    """c of [Bergou et al. 2006] for the edge 0 1 with the wings 2 and 3."""
    x0, x1, x2, x3 = rest[hinge]

    def cotangent(a, b):
        return a @ b / np.linalg.norm(np.cross(a, b))

    c01, c02 = cotangent(x1 - x0, x2 - x0), cotangent(x1 - x0, x3 - x0)
    c03, c04 = cotangent(x0 - x1, x2 - x1), cotangent(x0 - x1, x3 - x1)
    return np.array([c03 + c04, c01 + c02, -c01 - c03, -c02 - c04])


def hinges_of(triangles):
    edges = {}
    for triangle in triangles:
        for a in range(3):
            i, j, k = triangle[a], triangle[(a + 1) % 3], triangle[(a + 2) % 3]
            edges.setdefault((min(i, j), max(i, j)), []).append(k)
    return [np.array([*edge, *wings]) for edge, wings in edges.items() if len(wings) == 2], list(edges)


def run(constraints, x, w, iterations, alpha, chebyshev=None):
    """Iterates of Eq. 22, with the extrapolation of Algorithm 1."""
    iterates, previous, omega = [x], x, 1.0
    for k in range(iterations):
        x, hat = iterates[-1], iterates[-1].copy()
        for constraint in constraints:
            vertices, moves = constraint(x)
            np.add.at(hat, np.asarray(vertices), alpha * moves * (w[np.asarray(vertices)] > 0)[:, None])
        if chebyshev and k >= chebyshev.start:
            rho = chebyshev.rho
            omega = 2 / (2 - rho**2) if k == chebyshev.start else 4 / (4 - rho**2 * omega)
        gamma = chebyshev.under_relaxation if chebyshev else 1.0
        iterates.append(omega * (gamma * (hat - x) + x - previous) + previous)
        previous = x
    return iterates


# ---- scenes with those constraints --------------------------------------------------------------------------------------------------


def cloth(n=5, bending=0.0, pinned=True):
    points, triangles = inputs.cloth(n)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    shell = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(100.0), density=0.2, bending=bending)
    shell.attach([3], [points[3] + 0.1], stiffness=1.0)
    if pinned:
        shell.pin([0, 1, n])
    hinges, edges = hinges_of(triangles)
    w = np.where(scene.fixed(), 0.0, 1.0 / scene.masses())
    constraints = [
        lambda x, e=edge: distance(x, w, list(e), np.linalg.norm(points[e[0]] - points[e[1]])) for edge in edges if w[list(edge)].any()
    ]
    constraints.append(lambda x: ([3], points[[3]] + 0.1 - x[[3]]))
    if bending:
        for hinge in hinges:
            if w[hinge].any():
                weights = cotangent_weights(points, hinge)
                constraints.append(lambda x, h=hinge, c=weights: flattening(x, w, h, c))
    return scene, constraints, w


def solid():
    points, tets = inputs.kuhn_grid(3, 2, 2, 0.3)
    points = inputs.jitter(points, (3, 2, 2), 0.3, 0.2)
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e4), density=1000.0).pin([17])
    w = np.where(scene.fixed(), 0.0, 1.0 / scene.masses())
    return scene, [lambda x, t=tet: shape_matching(x, w, t, points) for tet in tets], w


@pytest.mark.parametrize("chebyshev", [None, pdgpu.Chebyshev(rho=0.9, start=3, under_relaxation=0.9)])
@pytest.mark.parametrize("case", ["cloth", "hinges", "solid"])
def test_iterates_by_the_formula_of_each_constraint(case, chebyshev):
    """If not, springs, hinges, attachments or tets are not what position-based dynamics makes of them."""
    scene, constraints, w = solid() if case == "solid" else cloth(bending=1e-3 if case == "hinges" else 0.0)
    alpha = 0.04 if case == "solid" else 0.15
    sim = pdgpu.Simulation(scene, pdgpu.PBD(iterations=8, relaxation=alpha, chebyshev=chebyshev), dt=1 / 30)
    rng = np.random.default_rng(7)
    x = scene.rest_positions() + 0.05 * rng.normal(size=(len(w), 3))
    v = rng.normal(size=x.shape)
    sim.set_state(positions=x, velocities=v)
    y = np.where(w[:, None] > 0, x + v / 30 + scene.gravity / 900, x)
    sim.step(record="positions")
    np.testing.assert_allclose(sim.last_step.positions, run(constraints, y, w, 8, alpha, chebyshev), atol=1e-12)


# ---- one element --------------------------------------------------------------------------------------------------------------------

TET = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.1], [0.1, 0.4, 0.0], [0.0, 0.2, 0.3]])


def one(kind):
    """A scene with one free element, hinges flat at rest."""
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    if kind == "Spring":
        scene.add_rod(pdgpu.Mesh(TET[:2], edges=[[0, 1]]), pdgpu.Spring(10.0), density=2.0)
    elif kind == "Bending":
        flat = [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.1, 0.4, 0.0], [0.6, 0.5, 0.0]]
        scene.add_shell(pdgpu.Mesh(flat, triangles=[[0, 1, 2], [1, 3, 2]]), [], density=2.0, bending=1.0)
    elif kind.startswith("triangle"):
        material = {"ARAP": pdgpu.ARAP(10.0), "Area": pdgpu.Area(10.0), "StrainLimit": pdgpu.StrainLimit(0.99, 1.01, 10.0)}[kind[9:]]
        scene.add_shell(pdgpu.Mesh(TET[:3], triangles=[[0, 1, 2]]), material, density=2.0)
    else:
        material = {"ARAP": pdgpu.ARAP(10.0), "Volume": pdgpu.Volume(10.0), "StrainLimit": pdgpu.StrainLimit(0.99, 1.01, 10.0)}[kind[4:]]
        scene.add_solid(pdgpu.Mesh(TET, tets=[[0, 1, 2, 3]]), material, density=2.0)
    return scene


KINDS = ["Spring", "Bending", "triangle ARAP", "triangle Area", "triangle StrainLimit", "tet ARAP", "tet Volume", "tet StrainLimit"]


def unequal(scene):
    """Masses 1, 2, 3, 4: lumped ones are all equal on one element."""
    scene.bodies[0].masses = np.arange(1.0, scene.n_vertices + 1.0)
    return scene.masses()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
def test_one_element_is_satisfied_at_once_and_keeps_its_momentum(kind, dtype, tolerance):
    """If not, a constraint is not enforced, or a free element starts to move or to spin by itself."""
    scene = one(kind)
    m = unequal(scene)[:, None]
    rng = np.random.default_rng(3)
    for _ in range(5):
        x = scene.rest_positions() + 0.15 * rng.normal(size=m.shape[:1] + (3,))
        sim = pdgpu.Simulation(scene, pdgpu.PBD(iterations=1, relaxation=1.0), dt=0.1, dtype=dtype)
        sim.set_state(positions=x)
        before = sum(sim.energies()["elastic"].values())
        x = sim.positions.astype(np.float64)
        sim.step()
        moves = sim.velocities.astype(np.float64) * 0.1
        assert sum(sim.energies()["elastic"].values()) <= tolerance * before
        size = np.sum(m * np.linalg.norm(moves, axis=1, keepdims=True))
        assert np.abs(np.sum(m * moves, axis=0)).max() <= tolerance * size
        assert np.abs(np.sum(m * np.cross(x, moves), axis=0)).max() <= tolerance * size


def test_no_rotation_of_the_target_would_move_less():
    """If not, the moves are not the smallest: the aligned tet is not the one of shape matching."""
    scene = one("tet ARAP")
    m = unequal(scene)
    x = TET + 0.2 * np.random.default_rng(5).normal(size=(4, 3))
    sim = pdgpu.Simulation(scene, pdgpu.PBD(iterations=1, relaxation=1.0), dt=0.1)
    sim.set_state(positions=x)
    sim.step()
    _, moves = shape_matching(x, 1.0 / m, [0, 1, 2, 3], TET)
    np.testing.assert_allclose(sim.positions - x, moves, atol=1e-13)


@pytest.mark.parametrize("pinned", [[0], [2], [0, 3], [1, 2], [0, 1, 2], [1, 2, 3], [0, 1, 2, 3]])
@pytest.mark.parametrize("kind", ["tet ARAP", "triangle ARAP", "Bending", "Spring"])
def test_an_element_with_pinned_vertices_comes_as_near_as_it_can(kind, pinned):
    """If not, W is singular and the free vertices fly away."""
    scene = one(kind)
    pinned = [i for i in pinned if i < scene.n_vertices]
    if pinned:
        scene.bodies[0].pin(pinned)
    unequal(scene)
    x = scene.rest_positions() + 0.1 * np.random.default_rng(6).normal(size=(scene.n_vertices, 3))
    sim = pdgpu.Simulation(scene, pdgpu.PBD(iterations=200, relaxation=1.0), dt=0.1)
    sim.set_state(positions=x)
    energy = [sum(sim.energies()["elastic"].values())]
    sim.step()
    np.testing.assert_array_equal(sim.positions[pinned], x[pinned])
    assert np.abs(sim.positions - x).max() < 1.0
    energy.append(sum(sim.energies()["elastic"].values()))
    free = scene.n_vertices - len(pinned)
    columns = {"tet ARAP": 3, "triangle ARAP": 2}.get(kind, 1)
    if free >= columns:
        assert energy[1] <= 1e-20 * energy[0]
    elif free:
        # a stationary point of the elastic energy in the free vertices
        still = pdgpu.Simulation(scene, pdgpu.PBD(), dt=1e6)
        still.set_state(positions=sim.positions)
        assert energy[1] <= energy[0] and np.linalg.norm(still.gradient()) <= 1e-9


# ---- whole bodies -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["solid", "shell"])
def test_a_free_body_keeps_its_momentum(kind):
    """If not, a sum over constraints is scaled by something that differs from vertex to vertex."""
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    if kind == "solid":
        points, tets = inputs.B20J()
        scene.add_solid(pdgpu.Mesh(points, tets=tets), [pdgpu.ARAP(1e5), pdgpu.Volume(1e4)], density=1000.0)
    else:
        points, triangles = inputs.cloth(8)
        scene.add_shell(pdgpu.Mesh(points, triangles=triangles), [pdgpu.Spring(10.0), pdgpu.ARAP(10.0)], density=0.2, bending=1e-3)
    sim = pdgpu.Simulation(scene, pdgpu.PBD(iterations=10, relaxation=0.03), dt=1 / 60)
    rng = np.random.default_rng(0)
    x = points * [1.2, 0.9, 1.0] + 0.01 * rng.normal(size=points.shape)
    v = rng.normal(size=x.shape)
    sim.set_state(positions=x, velocities=v)
    m = sim.masses[:, None]
    y = x + v / 60
    sim.step(record="positions")
    for at, moves in zip(sim.last_step.positions[:-1], np.diff(sim.last_step.positions, axis=0), strict=True):
        size = np.sum(m * np.linalg.norm(moves, axis=1, keepdims=True))
        assert np.abs(np.sum(m * moves, axis=0)).max() <= 1e-12 * size
        assert np.abs(np.sum(m * np.cross(at, moves), axis=0)).max() <= 1e-12 * size
    assert np.abs(sim.positions - y).max() > 1e-3


def test_stiffness_and_damping_play_no_part():
    """If not, it is another method: here the number of iterations is the stiffness."""
    points, tets = inputs.kuhn_grid(4, 2, 2, 0.1)
    results = []
    for mu, damping in ((1e4, 0.0), (1e-6, 0.1), (1e9, 0.0)):
        scene = pdgpu.Scene()
        scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(mu), density=1000.0, damping=damping).pin([0, 1])
        sim = pdgpu.Simulation(scene, pdgpu.PBD(relaxation=0.04), dt=1 / 30)
        for record in (False, True):
            sim.set_state(positions=points * [1.3, 1.0, 1.0])
            sim.step(3, record=record)
        results.append(sim.positions.tobytes())
    assert results[0] == results[1] == results[2]


def violation(solver, iterations=200):
    """Elastic energy of a hanging cloth after one step, relative to that of the first guess."""
    points, triangles = inputs.cloth(20)
    scene = pdgpu.Scene()
    scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(100.0), density=0.2).pin([0, 20])
    sim = pdgpu.Simulation(scene, dataclasses.replace(solver, iterations=iterations), dt=1 / 30)
    sim.set_state(velocities=points[:, [1, 0, 2]] * [0.0, -2.0, 0.0])
    sim.step(record="positions")
    energies = []
    for x in sim.last_step.positions[[0, -1]]:
        sim.set_state(positions=x)
        energies.append(sim.energies()["elastic"]["Spring"])
    return energies[1] / energies[0]


def test_chebyshev_pays_on_a_triangle_mesh():
    """If not, the extrapolation does not reach this method [Wang 2015, Fig. 6a]."""
    plain = violation(pdgpu.PBD(relaxation=0.3))
    accelerated = violation(pdgpu.PBD(relaxation=0.25, chebyshev=pdgpu.Chebyshev(rho=0.999)))
    assert accelerated < 0.5 * plain < 0.5


def test_chebyshev_holds_on_a_tet_mesh_without_a_smaller_relaxation():
    """If not, the moves are no projections in one common metric: Wang [2015] had to go down to 0.0025."""
    scene, body = scenes.bar(inputs.B20J(), 1e4)
    left = []
    for chebyshev in (None, pdgpu.Chebyshev(rho=0.99)):
        sim = pdgpu.Simulation(scene, pdgpu.PBD(iterations=200, relaxation=0.045, chebyshev=chebyshev), dt=1 / 30)
        sim.set_state(positions=scenes.stretched_and_twisted(body.points))
        sim.step()
        left.append(sim.energies()["elastic"]["ARAP"])
    assert left[1] < 0.5 * left[0]


@pytest.mark.parametrize("record", [False, True])
def test_too_large_a_relaxation_diverges(record):
    """If not, a step that blew up returns as if it had worked."""
    scene, body = scenes.bar(inputs.B20J(), 1e5, gravity=(0.0, -9.81, 0.0))
    sim = pdgpu.Simulation(scene, pdgpu.PBD(iterations=1000, relaxation=1.0), dt=1 / 30)
    x = scenes.stretched_and_twisted(body.points)
    sim.set_state(positions=x)
    with pytest.raises(pdgpu.DivergenceError, match=r"PBD diverged at iteration .*; take a smaller relaxation"):
        sim.step(record=record)
    np.testing.assert_array_equal(sim.positions, x)


FALLING = {
    "cloth with hinges": lambda scene: scene.add_shell(
        pdgpu.shapes.grid((1.0, 1.0), (12, 12)), [pdgpu.Spring(1e3), pdgpu.Bending(1e-3)], density=0.2
    ),
    "tets": lambda scene: scene.add_solid(pdgpu.shapes.beam((1.0, 0.3, 0.3), (8, 3, 3)), pdgpu.ARAP(1e4), density=1000.0),
}


@pytest.mark.parametrize("excited", [False, True])
@pytest.mark.parametrize("kind", FALLING)
def test_the_default_relaxation_does_not_diverge(kind, excited, tmp_path):
    """1/c is below 2/lambda for every scene; in free fall a rigid motion stays one."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    body = FALLING[kind](scene)
    sim = pdgpu.Simulation(scene, pdgpu.PBD(), dt=1 / 100)
    met = np.zeros(scene.n_vertices, dtype=int)
    for rows, *_ in scene.element_groups().values():
        np.add.at(met, rows, 1)
    assert sim.solver.relaxation == 1.0 / met.max() and pdgpu.PBD().relaxation is None
    if not excited:
        sim.step(50)
        np.testing.assert_allclose(sim.velocities, np.tile([0.0, -9.81 * 0.5, 0.0], (scene.n_vertices, 1)), atol=1e-10)
        return
    rng = np.random.default_rng(0)
    sim.set_state(positions=body.points + 0.1 * rng.normal(size=body.points.shape), velocities=rng.normal(size=body.points.shape))
    start = sum(sim.energies()["elastic"].values())
    sim.step(50)
    assert sum(sim.energies()["elastic"].values()) < 1e-3 * start
    sim.save(tmp_path / "half")
    other = pdgpu.Simulation.load(tmp_path / "half")
    assert other.solver == sim.solver
    for each in (sim, other):
        each.step(5)
    assert np.array_equal(other.positions, sim.positions)


def test_the_default_relaxation_counts_free_vertices_alone():
    scene = pdgpu.Scene()
    rod = scene.add_rod(pdgpu.shapes.chain(4), pdgpu.Spring(10.0), density=1.0)
    assert pdgpu.Simulation(scene, pdgpu.PBD()).solver.relaxation == 0.5
    rod.pin([1, 2, 3])
    assert pdgpu.Simulation(scene, pdgpu.PBD()).solver.relaxation == 1.0
    rod.pin([0, 4])
    assert pdgpu.Simulation(scene, pdgpu.PBD()).solver.relaxation == 1.0


def test_a_potential_that_ends_higher_is_no_divergence():
    """If not, a soft body cannot be recorded: the moves cost more inertia than they gain."""
    scene = pdgpu.Scene()
    scene.add_particles([[0.0, 0.0, 0.0]], mass=1.0).attach([0], (1.0, 0.0, 0.0), stiffness=1e-3)
    sim = pdgpu.Simulation(scene, pdgpu.PBD(relaxation=0.5), dt=0.01)
    sim.step(record=True)
    potential = sim.last_step["incremental_potential"]
    assert sim.last_step.status == "iteration_cap" and potential[-1] > 1e3 * potential[0]
    np.testing.assert_allclose(sim.positions[0], [1.0, 0.0, 0.0], atol=2e-3)


@pytest.mark.parametrize("scale", [1e-5, 1e4])
def test_units_do_not_matter(scale):
    """If not, a small or a large body leaves the range of single precision on the way."""
    points, tets = inputs.kuhn_grid(4, 2, 2, 0.1)
    results = []
    for s in (1.0, scale):
        scene = pdgpu.Scene(gravity=(0.0, -9.81 * s, 0.0))
        scene.add_solid(pdgpu.Mesh(points * s, tets=tets), pdgpu.ARAP(1e4), density=1000.0).pin([0, 1, 5])
        sim = pdgpu.Simulation(scene, pdgpu.PBD(relaxation=0.04), dt=1 / 30, dtype="float32")
        sim.set_state(positions=s * points * [1.3, 1.0, 1.0])
        sim.step(2)
        results.append(sim.positions / s)
    np.testing.assert_allclose(results[0], results[1], atol=3e-6)


def test_quasistatic_is_refused():
    """If not, a body without inertia ignores gravity without a word."""
    scene, _ = scenes.bar(inputs.kuhn_grid(2, 1, 1, 0.1), 1e4)
    with pytest.raises(ValueError, match=r"dt: None .*PBD"):
        pdgpu.Simulation(scene, pdgpu.PBD(), dt=None)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"relaxation": 0.0}, ValueError, "relaxation.*0"),
        ({"relaxation": -0.1}, ValueError, "relaxation.*-0.1"),
        ({"relaxation": np.nan}, ValueError, "relaxation.*nan"),
        ({"relaxation": "auto"}, TypeError, "relaxation.*auto"),
        ({"iterations": 0}, ValueError, "iterations.*0"),
        ({"chebyshev": 0.9}, TypeError, "chebyshev.*0.9"),
        ({"linear": pdgpu.Jacobi()}, TypeError, "linear"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, error, words):
    """If not, a slip of the pen is another experiment."""
    with pytest.raises(error, match=words):
        pdgpu.PBD(**options)
