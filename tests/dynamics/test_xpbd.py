"""Extended position-based dynamics [Macklin et al. 2016] against closed formulas of each constraint and against implicit Euler."""

import inputs
import numpy as np
import pytest
import scenes

import pdgpu

# ---- constraints in NumPy: C(x) and its gradient by the vertices, smooth in x ----------------------------------------------------


def stretch(edge, length, k):
    """sqrt(k) (l - L), signed as in the paper."""

    def constraint(x):
        e = x[edge[1]] - x[edge[0]]
        n = e / np.linalg.norm(e)
        return np.sqrt(k) * (np.linalg.norm(e) - length), np.sqrt(k) * np.array([-n, n])

    return list(edge), constraint


def hold(vertex, target, k):
    def constraint(x):
        e = x[vertex] - target
        return np.sqrt(k) * np.linalg.norm(e), np.sqrt(k) * e[None] / np.linalg.norm(e)

    return [vertex], constraint


def gradients_of(rest):
    """g (4,3) with F = sum x_i g_i^T, and the volume."""
    D = (rest[1:] - rest[0]).T
    g = np.linalg.inv(D)
    return np.concatenate([-g.sum(axis=0, keepdims=True), g]), abs(np.linalg.det(D)) / 6.0


def shape(tet, rest, mu):
    """sqrt(2 mu V) |F - R|, R the nearest rotation."""
    g, volume = gradients_of(rest[tet])

    def constraint(x):
        F = x[tet].T @ g
        U, _, Vt = np.linalg.svd(F)
        R = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
        size = np.linalg.norm(F - R)
        return np.sqrt(2 * mu * volume) * size, np.sqrt(2 * mu * volume) * g @ (F - R).T / size

    return list(tet), constraint


def neo_hookean(tet, rest, mu, lam):
    """sqrt(mu V (|F|^2 + J^2 - 4 J)), then sqrt((lam - mu) V) (J - 1): half the sum of their squares is the energy."""
    g, volume = gradients_of(rest[tet])

    def deviatoric(x):
        F = x[tet].T @ g
        J = np.linalg.det(F)
        size = np.sqrt(mu * volume * (np.sum(F**2) + J**2 - 4.0 * J))
        return size, mu * volume / size * g @ (F + (J - 2.0) * J * np.linalg.inv(F).T).T

    def hydrostatic(x):
        F = x[tet].T @ g
        J = np.linalg.det(F)
        return np.sqrt((lam - mu) * volume) * (J - 1.0), np.sqrt((lam - mu) * volume) * J * g @ np.linalg.inv(F)

    return [(list(tet), deviatoric), (list(tet), hydrostatic)]


def in_colours(elements, fixed):
    """Elements by greedy colours, in ascending order: each is a list of constraints on the same vertices. Returns them, and how many."""
    colours, at = [], {}
    for element in elements:
        vertices = [v for v in element[0][0] if not fixed[v]]
        taken = set().union(*(at.setdefault(v, set()) for v in vertices))
        colour = next(c for c in range(len(taken) + 1) if c not in taken)
        for v in vertices:
            at[v].add(colour)
        colours.append(colour)
    order = sorted(range(len(elements)), key=lambda e: colours[e])
    return [constraint for e in order for constraint in elements[e]], max(colours) + 1


def run(constraints, y, w, h, iterations):
    """Iterates of Eq. 18, Gauss-Seidel from y."""
    x, multipliers, iterates = y.copy(), np.zeros(len(constraints)), []
    for _ in range(iterations):
        for c, (vertices, constraint) in enumerate(constraints):
            C, g = constraint(x)
            change = -(C + multipliers[c] / h**2) / (np.sum(w[vertices][:, None] * g**2) + 1 / h**2)
            multipliers[c] += change
            x[vertices] += w[vertices][:, None] * g * change
        iterates.append(x.copy())
    return iterates


def cloth():
    points, triangles = inputs.cloth(4)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    shell = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(100.0), density=0.2, damping=0.02)
    shell.attach([3, 12], points[[3, 12]] + 0.2, stiffness=7.0)
    shell.pin([0, 1, 7])
    edges = scene.element_groups()["spring"][0]  # their order decides the colours
    elements = [[stretch(edge, np.linalg.norm(points[edge[1]] - points[edge[0]]), 100.0)] for edge in edges]
    return scene, elements + [[hold(i, points[i] + 0.2, 7.0)] for i in (3, 12)]


def solid(material):
    points, tets = inputs.kuhn_grid(3, 2, 2, 0.3)
    points = inputs.jitter(points, (3, 2, 2), 0.3, 0.2)
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points, tets=tets), material, density=1000.0, damping=0.02).pin([0, 17])
    if isinstance(material, pdgpu.ARAP):
        return scene, [[shape(tet, points, 1e4)] for tet in tets]
    return scene, [neo_hookean(tet, points, 1e4, 1e5) for tet in tets]


@pytest.mark.parametrize("case", ["cloth", "ARAP", "NeoHookean"])
def test_iterates_by_the_formula_of_each_constraint(case):
    """If not, springs, attachments or tets are not what XPBD makes of them, or their colours or multipliers are others."""
    scene, elements = cloth() if case == "cloth" else solid(pdgpu.ARAP(1e4) if case == "ARAP" else pdgpu.NeoHookean(1e4, 1e5))
    w = np.where(scene.fixed(), 0.0, 1.0 / scene.masses())
    rng = np.random.default_rng(7)
    x = scene.rest_positions() + 0.03 * rng.normal(size=(len(w), 3))
    v = rng.normal(size=x.shape)
    h = 1 / 100
    constraints, count = in_colours(elements, scene.fixed())
    sim = pdgpu.Simulation(scene, pdgpu.XPBD(iterations=6), dt=h)
    sim.set_state(positions=x, velocities=v)
    assert sim.parameters == {"colours": count}
    for _ in range(2):  # the second step would tell multipliers kept from the first
        x, v = sim.positions, sim.velocities
        y = np.where(w[:, None] > 0, x + h * v + h**2 * scene.gravity, x)
        sim.step(record="positions")
        np.testing.assert_allclose(sim.last_step.positions[1:], run(constraints, y, w, h, 6), atol=1e-11)


# ---- against implicit Euler -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("iterations", [1, 7])
@pytest.mark.parametrize("k", [1e-3, 1e2, 1e9])
def test_one_spring_is_implicit_euler_at_once(iterations, k):
    """If not, compliance is not 1/k, or the multiplier is lost between iterations: m (x - y)/h^2 + k (x - L) = 0."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_rod(pdgpu.Mesh([[0.0, 0.0, 0.0], [0.0, -2.0, 0.0]], edges=[[0, 1]]), pdgpu.Spring(k), density=1.5).pin([0])
    sim = pdgpu.Simulation(scene, pdgpu.XPBD(iterations=iterations), dt=0.01)
    sim.set_state(positions=[[0.0, 0.0, 0.0], [0.0, -2.3, 0.0]])
    m, h, x, v = sim.masses[1], 0.01, -2.3, 0.0
    for _ in range(20):
        sim.step()
        y = x + h * v - h**2 * 9.81
        x, before = (m * y / h**2 - k * 2.0) / (m / h**2 + k), x
        v = (x - before) / h
        assert sim.positions[1] == pytest.approx([0.0, x, 0.0], abs=1e-11)


def along_a_line(n=6, k=300.0):
    """A chain that hangs from its first mass, its masses displaced and thrown along it: some springs change sides within the step."""
    chain = pdgpu.shapes.chain(n)
    scene = pdgpu.Scene(gravity=(9.81, 0.0, 0.0))
    scene.add_rod(chain, pdgpu.Spring(k), density=0.5).pin([0])
    rng = np.random.default_rng(2)
    x, v = chain.points.copy(), np.zeros_like(chain.points)
    x[1:, 0] += rng.uniform(-0.05, 0.05, size=n)
    v[1:, 0] = rng.uniform(-4.0, 4.0, size=n)
    return scene, x, v


def solved(scene, x, v, solver, h, **options):
    sim = pdgpu.Simulation(scene, solver, dt=h, **options)
    sim.set_state(positions=x, velocities=v)
    sim.step()
    return sim.positions


@pytest.mark.parametrize("k", [30.0, 300.0, 3e5])
def test_where_gradients_do_not_turn_the_limit_is_that_of_newton(k):
    """If not, stiffness depends on the number of iterations, which is what XPBD is for not to."""
    scene, x, v = along_a_line(k=k)
    newton = solved(scene, x, v, pdgpu.Newton(iterations=30), 0.02)
    more, most = (solved(scene, x, v, pdgpu.XPBD(iterations=count), 0.02) for count in (500, 1000))
    np.testing.assert_allclose(more, newton, atol=1e-10)
    np.testing.assert_allclose(most, newton, atol=1e-10)


def test_a_spring_that_changes_sides_keeps_its_multiplier():
    """If not, the test above has no such spring: compressed at y, in tension at the answer, or the other way round."""
    scene, x, v = along_a_line()
    y = x + 0.02 * v + 0.02**2 * np.array([9.81, 0.0, 0.0]) * (np.arange(7) > 0)[:, None]
    y[0] = x[0]
    answer = solved(scene, x, v, pdgpu.Newton(iterations=30), 0.02)
    before, after = (np.diff(at[:, 0]) - 1 / 6 for at in (y, answer))
    assert (before * after < 0).any()


def test_two_masses_are_as_stiff_after_many_iterations_as_after_more():
    """If not, it is PBD: a stiff and a soft spring in a row, whose stretches under the weight of the lower mass are known."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    points = [[0.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, -2.0, 0.0]]
    scene.add_rod(pdgpu.Mesh(points, edges=[[0, 1], [1, 2]]), pdgpu.Spring([1e4, 1e2]), density=1.0).pin([0])
    for iterations in (100, 200):
        sim = pdgpu.Simulation(scene, pdgpu.XPBD(iterations=iterations), dt=0.1)
        for _ in range(400):
            sim.step()
        m = sim.masses
        lengths = -np.diff(sim.positions[:, 1])
        assert lengths[0] == pytest.approx(1.0 + (m[1] + m[2]) * 9.81 / 1e4, abs=1e-9)
        assert lengths[1] == pytest.approx(1.0 + m[2] * 9.81 / 1e2, abs=1e-9)


def test_small_steps_bring_the_limit_to_that_of_newton():
    """If not, what Eq. 18 leaves out is more than the turning of gradients within a step: a cloth in tension, relative to what is moved."""
    scene, x = scenes.in_tension()
    errors = []
    for h in (1 / 300, 1 / 3000):
        newton, xpbd = (solved(scene, x, None, solver, h) for solver in (pdgpu.Newton(iterations=40), pdgpu.XPBD(iterations=1000)))
        y = np.where(scene.fixed()[:, None], x, x + h**2 * np.array([0.0, 0.0, -9.81]))
        errors.append(np.linalg.norm(xpbd - newton) / np.linalg.norm(newton - y))
    assert errors[1] < 0.1 * errors[0] < 0.01


@pytest.mark.each_choice
@pytest.mark.parametrize("lam", [1e4, 1e5, 1e7])
@pytest.mark.parametrize("mu", [1e4, 2e6])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-15), ("float32", 1e-6)])
def test_a_neo_hookean_body_at_rest_stays_at_rest(mu, lam, dtype, tolerance):
    """If not, a cube that nothing touches shrinks to a point within seconds, or flies to pieces."""
    lam = max(mu, lam)  # below mu, Poisson's ratio is negative
    for h in (1 / 30, 1 / 100):
        scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
        scene.add_solid(pdgpu.shapes.beam((0.3, 0.3, 0.3), cells=(3, 3, 3)), pdgpu.NeoHookean(mu, lam), density=1000.0)
        sim = pdgpu.Simulation(scene, pdgpu.XPBD(), dt=h, dtype=dtype, threads=1)
        sim.step(60)
        assert np.abs(sim.positions - scene.rest_positions()).max() <= tolerance


@pytest.mark.parametrize("scale", [(0.5, 1.0, 1.0), (1.5, 0.8, 0.8)])
def test_a_neo_hookean_body_finds_back_to_its_shape(scale):
    """If not, a tet has other places to rest than its rest shape, as the one where both of its constraints pull at a point."""
    points, tets = inputs.kuhn_grid(3, 3, 3, 0.1)
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.NeoHookean(1e5, 4e5), density=1000.0).pin([0])
    sim = pdgpu.Simulation(scene, pdgpu.XPBD(), dt=1 / 30, threads=1)
    sim.set_state(positions=points * scale)
    sim.step(200)
    lengths = [np.linalg.norm(at[tets[:, 1]] - at[tets[:, 0]], axis=1) for at in (points, sim.positions)]
    np.testing.assert_allclose(*lengths, atol=1e-4)


def test_a_box_that_holds_again_gives_back_what_it_pushed():
    """If not, a unilateral constraint that was touched on the way leaves its mark on the answer."""
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    rod = scene.add_rod(pdgpu.Mesh([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]], edges=[[0, 1]]), pdgpu.Spring(50.0), density=2.0)
    rod.attach([0], (-0.5, 0.0, 0.0), stiffness=500.0)
    scene.set_world_box((-np.inf, -1.0, -1.0), (0.6, 1.0, 1.0), 2000.0)
    x, v = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]]), np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    first = solved(scene, x, v, pdgpu.XPBD(iterations=1), 0.1)
    newton, xpbd = (solved(scene, x, v, solver, 0.1) for solver in (pdgpu.Newton(iterations=60), pdgpu.XPBD(iterations=3000)))
    assert first[1, 0] > 0.6 > newton[1, 0]
    np.testing.assert_allclose(xpbd, newton, atol=1e-8)


# ---- what it keeps ----------------------------------------------------------------------------------------------------------------------

TET = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.1], [0.1, 0.4, 0.0], [0.0, 0.2, 0.3]])
SOLIDS = {
    "ARAP": pdgpu.ARAP(1e4),
    "Volume": pdgpu.Volume(1e4),
    "StrainLimit": pdgpu.StrainLimit(0.99, 1.01, 1e4),
    "NeoHookean": pdgpu.NeoHookean(1e4, 1e5),
    "StVK": pdgpu.StVK(1e4, 1e5),
    "Corotated": pdgpu.Corotated(1e4, 1e5),
    "OrthotropicSolid": pdgpu.OrthotropicSolid((9e4, 5e4, 2e4), (0.3, 0.5, 0.4), (2e4, 3e4, 8e3)),
}
SHELLS = {
    "Spring": pdgpu.Spring(1e2),
    "triangle ARAP": pdgpu.ARAP(1e2),
    "Area": pdgpu.Area(1e2),
    "triangle StVK": pdgpu.StVK(1e2, 1e3),
    "triangle Corotated": pdgpu.Corotated(1e2, 1e3),
    "OrthotropicShell": pdgpu.OrthotropicShell(3e3, 1e3, 3e2, 0.4, direction=(1.0, 1.0, 0.2)),
    "Bending": [],
    "HingeBending": [],
}


def one(kind):
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    if kind in SOLIDS:
        scene.add_solid(pdgpu.Mesh(TET, tets=[[0, 1, 2, 3]]), SOLIDS[kind], density=1000.0)
    elif kind in ("Bending", "HingeBending"):
        flat = [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.1, 0.4, 0.0], [0.6, 0.5, 0.0]]
        scene.add_shell(pdgpu.Mesh(flat, triangles=[[0, 1, 2], [1, 3, 2]]), getattr(pdgpu, kind)(1.0), density=2.0)
    else:
        scene.add_shell(pdgpu.Mesh(TET[:3], triangles=[[0, 1, 2]]), SHELLS[kind], density=2.0)
    return scene


@pytest.mark.parametrize("kind", [*SOLIDS, *SHELLS])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 2e-5)])
def test_one_element_keeps_its_momentum_and_calms_down(kind, dtype, tolerance):
    """If not, a free element starts to move or to spin by itself, or its constraint pushes the wrong way."""
    scene = one(kind)
    m = scene.masses()[:, None]
    rng = np.random.default_rng(3)
    for _ in range(4):
        x = scene.rest_positions() + 0.1 * rng.normal(size=m.shape[:1] + (3,))
        sim = pdgpu.Simulation(scene, pdgpu.XPBD(iterations=1), dt=0.01, dtype=dtype)
        sim.set_state(positions=x)
        before = sum(sim.energies()["elastic"].values())
        x = sim.positions.astype(np.float64)
        sim.step()
        moves = sim.velocities.astype(np.float64) * 0.01
        assert sum(sim.energies()["elastic"].values()) <= before
        size = np.sum(m * np.linalg.norm(moves, axis=1, keepdims=True))
        assert np.abs(np.sum(m * moves, axis=0)).max() <= tolerance * size
        # the two constraints of a neo-Hookean tet, and the three springs, turn about the positions between them
        if kind not in ("NeoHookean", "Spring"):
            assert np.abs(np.sum(m * np.cross(x, moves), axis=0)).max() <= tolerance * size


def test_damping_plays_no_part():
    """If not, the docstring is wrong."""
    results = []
    for damping in (0.0, 0.1):
        scene, _ = scenes.mixed(damping=damping)
        sim = pdgpu.Simulation(scene, pdgpu.XPBD(), dt=1 / 100)
        sim.step(3)
        results.append(sim.positions.tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize("guess", ["previous", "inertia", "adaptive"])
def test_it_starts_from_the_inertial_target_whatever_the_first_guess(guess):
    """If not, `compare`, which gives all solvers the same first guess, makes the body forget its inertia."""
    scene, x = scenes.mixed()
    iterates = []
    for initialization in (guess, "inertial_target"):
        sim = pdgpu.Simulation(scene, pdgpu.XPBD(iterations=4, initialization=initialization), dt=1 / 100)
        sim.set_state(positions=x, velocities=np.random.default_rng(5).normal(size=x.shape))
        sim.step()  # the adaptive guess of a first step is the inertial target
        sim.step(record="positions")
        iterates.append(sim.last_step.positions)
    np.testing.assert_allclose(iterates[0][1:], iterates[1][1:], atol=1e-12)
    assert np.abs(iterates[0][0] - iterates[1][0]).max() > 5e-4


def test_colours():
    """If not, elements that share a vertex move it at the same time, or a pinned vertex costs parallelism."""
    points = np.concatenate([[[0.0, 0.0, 0.0]], np.random.default_rng(1).normal(size=(7, 3))])
    star = pdgpu.Mesh(points, edges=[[0, i] for i in range(1, 8)])
    for pinned, count in (([], 7), ([0], 1)):
        scene = pdgpu.Scene()
        rod = scene.add_rod(star, pdgpu.Spring(10.0), density=1.0)
        if pinned:
            rod.pin(pinned)
        assert pdgpu.Simulation(scene, pdgpu.XPBD()).parameters == {"colours": count}
    scene = pdgpu.Scene()
    scene.add_rod(pdgpu.shapes.chain(20), pdgpu.Spring(10.0), density=1.0)
    assert pdgpu.Simulation(scene, pdgpu.XPBD()).parameters == {"colours": 2}
    scene = pdgpu.Scene()
    scene.add_particles([[0.0, 0.0, 0.0]], mass=1.0)
    assert pdgpu.Simulation(scene, pdgpu.XPBD()).parameters == {"colours": 0}


@pytest.mark.parametrize("kind", [*SOLIDS, *SHELLS])
@pytest.mark.parametrize("pose", ["point", "flat", "inverted", "huge"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_degenerate_elements_stay_finite(kind, pose, dtype):
    """If not, one collapsed element ends a run: 0/0 where an energy or a length is 0."""
    scene = one(kind)
    x = scene.rest_positions() * {"point": 0.0, "flat": [1.0, 1.0, 0.0], "inverted": [1.0, 1.0, -1.0], "huge": 100.0}[pose]
    sim = pdgpu.Simulation(scene, pdgpu.XPBD(iterations=20), dt=0.01, dtype=dtype)
    sim.set_state(positions=x)
    sim.step()
    assert np.isfinite(sim.positions).all()


@pytest.mark.parametrize("scale", [1e-5, 1e4])
def test_units_do_not_matter(scale):
    """If not, a small or a large body leaves the range of single precision on the way."""
    points, tets = inputs.kuhn_grid(4, 2, 2, 0.1)
    results = []
    for s in (1.0, scale):
        scene = pdgpu.Scene(gravity=(0.0, -9.81 * s, 0.0))
        scene.add_solid(pdgpu.Mesh(points * s, tets=tets), pdgpu.ARAP(1e4 * s**2), density=1000.0).pin([0, 1, 5])
        sim = pdgpu.Simulation(scene, pdgpu.XPBD(), dt=1 / 100, dtype="float32")
        sim.set_state(positions=s * points * [1.3, 1.0, 1.0])
        sim.step(2)
        results.append(sim.positions / s)
    np.testing.assert_allclose(results[0], results[1], atol=3e-6)


def test_quasistatic_is_refused():
    """If not, a body without inertia ignores gravity without a word."""
    scene, _ = scenes.bar(inputs.kuhn_grid(2, 1, 1, 0.1), 1e4)
    with pytest.raises(ValueError, match=r"dt: None .*XPBD"):
        pdgpu.Simulation(scene, pdgpu.XPBD(), dt=None)
