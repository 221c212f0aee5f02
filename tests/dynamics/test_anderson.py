"""Anderson acceleration of the outer iteration, next to one in NumPy."""

import dataclasses

import inputs
import numpy as np
import pytest
import scenes
from anderson_oracle import Combined

import pdgpu

METHODS = {
    "PD": pdgpu.ProjectiveDynamics(),
    "PD by Jacobi": pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(weight=0.6, iterations=3)),
    "VBD": pdgpu.VertexBlockDescent(),
    "Block Jacobi": pdgpu.BlockJacobi(line_search=False),
    "gradient descent": pdgpu.GradientDescent(line_search=False),
    "PBD": pdgpu.PBD(relaxation=0.1),
}


def bar(material=None):
    """A bar of tets at one end of which nothing moves, and a stretched and twisted state."""
    points, tets = inputs.kuhn_grid(5, 2, 2, 0.2)
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points, tets=tets), material or pdgpu.ARAP(1e4), density=1000.0).pin(points[:, 0] == 0.0)
    return scene, scenes.stretched_and_twisted(points)


def simulation(scene, solver, x, **options):
    sim = pdgpu.Simulation(scene, dataclasses.replace(solver, initialization="previous"), dt=1 / 30, **options)
    sim.set_state(positions=x)
    return sim


def plain_map(scene, solver, x):
    """The function from an iterate to the end of a plain iteration, of the step that begins at x; and G."""
    sim = simulation(scene, dataclasses.replace(solver, iterations=1), x)
    state, model = sim._core.backend.state(), sim._core.backend

    def end(iterate):
        model.step(None, None, None, None, False, np.ascontiguousarray(iterate), None, None)
        found = model.positions()
        model.set_state(**state)
        return found

    return end, sim


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("safeguard", [None, "potential", "residual"])
@pytest.mark.parametrize("name", METHODS)
def test_iterates_are_those_of_numpy(name, safeguard, window):
    """If not, what runs under the name of Anderson is another combination, or a safeguard that acts at other iterates."""
    if name == "PBD" and safeguard == "potential":
        pytest.skip("refused: it lowers no potential")
    scene, x = bar()
    iterations = 14
    settings = {"window": window, "regularization": 1e-8, "safeguard": safeguard}
    solver = dataclasses.replace(METHODS[name], iterations=iterations, acceleration=pdgpu.Anderson(**settings))
    sim = simulation(scene, solver, x)
    sim.step(record="positions")
    found = sim.last_step.positions
    end, plain = plain_map(scene, METHODS[name], x)
    free, shape = plain._core.fixed == 0, x[plain._core.fixed == 0].shape
    start = found[0]

    def whole(flat):
        positions = start.copy()
        positions[free] = flat.reshape(shape)
        return positions

    oracle = Combined(**settings, potential=lambda flat: plain.incremental_potential(whole(flat)))
    iterate = start[free].ravel()
    for k in range(iterations):
        iterate = oracle.after(iterate, end(whole(iterate))[free].ravel())
        np.testing.assert_allclose(found[k + 1], whole(iterate), rtol=0, atol=1e-10, err_msg=f"iteration {k + 1}")


def swinging_cloth():
    """A cloth of springs that two attachments pull, and its edges: scene, positions and velocities at the start, edges, h."""
    points, triangles = inputs.cloth(4)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    shell = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(100.0), density=0.2)
    shell.pin([0, 1, 7])
    rng = np.random.default_rng(7)
    x = points + 0.03 * rng.normal(size=points.shape)
    x[[0, 1, 7]] = points[[0, 1, 7]]
    edges = scene.element_groups()["spring"][0]
    return scene, x, edges, np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1), 1 / 60


def stepped(scene, solver, x, h):
    sim = pdgpu.Simulation(scene, solver, dt=h)
    sim.set_state(positions=x)
    sim.step(record="positions")
    return sim, sim.last_step.positions


def test_admm_combines_its_duals_with_the_positions():
    """If not, the state of the iteration is another one than (x, u), and its limit need not be the answer."""
    scene, x_t, edges, rest, h = swinging_cloth()
    iterations, k = 12, 100.0
    settings = {"window": 4, "regularization": 1e-8, "safeguard": "residual"}
    _, found = stepped(scene, pdgpu.ADMM(iterations=iterations, acceleration=pdgpu.Anderson(**settings)), x_t, h)
    masses, free = scene.masses(), ~np.asarray(scene.fixed(), dtype=bool)
    n, count = len(x_t), len(edges)
    S = np.zeros((count, n))
    S[np.arange(count), edges[:, 1]], S[np.arange(count), edges[:, 0]] = 1.0, -1.0
    A = np.diag(masses / h**2) + k * S.T @ S
    y = x_t + h**2 * np.array([0.0, 0.0, -9.81])

    def plain(state):
        x, u = x_t.copy(), state[free.sum() * 3 :].reshape(count, 3)
        x[free] = state[: free.sum() * 3].reshape(-1, 3)
        p = S @ x + u
        lengths = np.linalg.norm(p, axis=1)
        z = p / lengths[:, None] * ((rest + lengths) / 2)[:, None]
        u = p - z
        right = masses[:, None] / h**2 * y + k * S.T @ (z - u)
        x[free] = np.linalg.solve(A[np.ix_(free, free)], (right - A[:, ~free] @ x_t[~free])[free])
        return np.concatenate([x[free].ravel(), u.ravel()])

    weights = np.concatenate([np.repeat(masses[free] / h**2, 3), np.full(3 * count, k)])
    oracle = Combined(**settings, weights=weights)
    state = np.concatenate([found[0][free].ravel(), np.zeros(3 * count)])
    for step in range(iterations):
        state = oracle.after(state, plain(state))
        np.testing.assert_allclose(found[step + 1][free].ravel(), state[: free.sum() * 3], rtol=0, atol=1e-10)


def test_xpbd_combines_its_multipliers_with_the_positions():
    """If not, positions and multipliers stop to belong together: a body gets another stiffness than its material's."""
    scene, x_t, edges, rest, h = swinging_cloth()
    iterations, k = 12, 100.0
    settings = {"window": 4, "regularization": 1e-8, "safeguard": "residual"}
    sim, found = stepped(scene, pdgpu.XPBD(iterations=iterations, acceleration=pdgpu.Anderson(**settings)), x_t, h)
    free = sim._core.fixed == 0
    w = np.where(free, 1.0 / scene.masses(), 0.0)
    colours, at = [], {}
    for edge in edges:  # greedy, as tests/dynamics/test_xpbd.py has them
        taken = set().union(*(at.setdefault(v, set()) for v in edge if free[v]))
        colours.append(next(c for c in range(len(taken) + 1) if c not in taken))
        for v in edge:
            at.setdefault(v, set()).add(colours[-1]) if free[v] else None
    order = sorted(range(len(edges)), key=lambda e: colours[e])

    def plain(state):
        x, multipliers = x_t.copy(), state[free.sum() * 3 :].copy()
        x[free] = state[: free.sum() * 3].reshape(-1, 3)
        for e in order:
            a, b = edges[e]
            along = x[b] - x[a]
            length = np.linalg.norm(along)
            C, g = np.sqrt(k) * (length - rest[e]), np.sqrt(k) * along / length
            change = -(C + multipliers[e] / h**2) / ((w[a] + w[b]) * k + 1 / h**2)
            multipliers[e] += change
            x[a] -= w[a] * g * change
            x[b] += w[b] * g * change
        return np.concatenate([x[free].ravel(), multipliers])

    weights = np.concatenate([np.repeat(scene.masses()[free] / h**2, 3), np.full(len(edges), 1 / h**4)])
    oracle = Combined(**settings, weights=weights)
    y = x_t + h**2 * np.array([0.0, 0.0, -9.81])
    state = plain(np.concatenate([y[free].ravel(), np.zeros(len(edges))]))  # the first one is no pair: it starts from y
    np.testing.assert_allclose(found[1][free].ravel(), state[: free.sum() * 3], rtol=0, atol=1e-12)
    for step in range(1, iterations):
        state = oracle.after(state, plain(state))
        np.testing.assert_allclose(found[step + 1][free].ravel(), state[: free.sum() * 3], rtol=0, atol=1e-10)


@pytest.mark.parametrize("guess", ["previous", "inertial_target"])
def test_xpbd_leaves_another_first_guess(guess):
    """If not, the way from a first guess to the inertial target counts as an iteration of the map."""
    scene, x_t, *_, h = swinging_cloth()
    solver = pdgpu.XPBD(iterations=8, acceleration=pdgpu.Anderson(), initialization=guess)
    x = stepped(scene, solver, x_t, h)[0].positions
    other = stepped(scene, dataclasses.replace(solver, initialization="inertial_target"), x_t, h)[0].positions
    np.testing.assert_allclose(x, other, rtol=0, atol=1e-13)


def gradient_norms(scene, solver, x):
    sim = simulation(scene, solver, x)
    sim.step(record=True)
    norms = sim.last_step["gradient_norm"]
    return norms / norms[0], sim


@pytest.mark.parametrize("name", ["PD", "VBD", "Block Jacobi", "ADMM"])
def test_it_needs_less_than_half_of_the_iterations(name):
    """If not, the acceleration accelerates nothing: measured are a third of them and fewer (docs/theory/solvers.md)."""
    methods = {**METHODS, "ADMM": pdgpu.ADMM(), "Block Jacobi": pdgpu.BlockJacobi()}
    scene, x = bar()
    plain = gradient_norms(scene, dataclasses.replace(methods[name], iterations=400), x)[0]
    solver = dataclasses.replace(methods[name], iterations=200, acceleration=pdgpu.Anderson())
    combined = gradient_norms(scene, solver, x)[0]
    assert np.flatnonzero(combined <= plain[200])[0] <= 100


@pytest.mark.parametrize("name", ["PD", "VBD"])
def test_the_potential_never_rises(name):
    """If not, the safeguard keeps a combined point that is worse than the one before it."""
    scene, x = bar()
    solver = dataclasses.replace(METHODS[name], iterations=60, acceleration=pdgpu.Anderson(window=10, regularization=0.0))
    potentials = gradient_norms(scene, solver, x)[1].last_step["incremental_potential"]
    assert (np.diff(potentials) <= 1e-12 * potentials[0]).all()


@pytest.mark.filterwarnings("ignore:material.*Poisson's ratio")
def test_a_safeguard_acts():
    """If not, the tests above hold with any safeguard: here combined steps without one raise the potential."""
    scene, x = bar(pdgpu.StVK(1e4, 1e5))
    rises, work = {}, {}
    for safeguard in (None, "potential"):
        acceleration = pdgpu.Anderson(regularization=0.0, safeguard=safeguard)
        solver = pdgpu.VertexBlockDescent(iterations=80, acceleration=acceleration)
        sim = gradient_norms(scene, solver, x * [2.0, 0.5, 0.5])[1]
        potentials, work[safeguard] = sim.last_step["incremental_potential"], sim.last_step["potentials"][-1]
        rises[safeguard] = (np.diff(potentials) > 1e-9 * potentials[:-1]).sum()
    assert rises["potential"] == 0 < rises[None]
    assert work == {None: 0, "potential": 80}


@pytest.mark.parametrize("name", scenes.COMBINED)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_any_number_of_threads_gives_the_same_bits(name, dtype):
    """If not, a result depends on the machine that it was computed on."""
    scene, x = bar()
    ends = []
    for threads in (1, 2):
        sim = simulation(scene, scenes.COMBINED[name], x, dtype=dtype, threads=threads)
        sim.step(2)
        ends.append(sim.positions)
    np.testing.assert_array_equal(*ends)


def test_a_step_allocates_nothing():
    """If not, a step waits for memory."""
    scene, x = bar()
    for solver in scenes.COMBINED.values():
        sim = simulation(scene, solver, x)
        sim.step()
        before = sim._core.backend.counts()["allocations"]
        sim.step(2)
        assert sim._core.backend.counts()["allocations"] == before


def test_both_names_of_chebyshev_give_the_same_bits():
    """If not, the older name means something else than the new one."""
    scene, x = bar()
    chebyshev = pdgpu.Chebyshev(rho=0.9, start=2)
    for solver in (pdgpu.ProjectiveDynamics(), pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(iterations=4)), pdgpu.PBD()):
        ends = []
        for name in ("chebyshev", "acceleration"):
            given = dataclasses.replace(solver, **{name: chebyshev})
            if isinstance(getattr(solver, "linear", None), pdgpu.Jacobi):
                given = dataclasses.replace(given, linear=dataclasses.replace(solver.linear, **{name: chebyshev}))
            sim = simulation(scene, given, x)
            sim.step(2)
            ends.append(sim.positions)
        np.testing.assert_array_equal(*ends)


def test_what_it_does_not_take_is_refused():
    """If not, a setting is ignored, or a method runs under an acceleration that is not sound for it."""
    for wrong in ({"window": 0}, {"window": 31}, {"regularization": -1.0}, {"safeguard": "merit"}, {"regularization": float("nan")}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            pdgpu.Anderson(**wrong)
    with pytest.raises(TypeError, match="window: expected an integer"):
        pdgpu.Anderson(window=2.5)
    with pytest.raises(TypeError, match=r"acceleration: expected pdgpu.Anderson, pdgpu.Chebyshev or None, got 5"):
        pdgpu.ProjectiveDynamics(acceleration=5)
    with pytest.raises(ValueError, match=r"acceleration: chebyshev=.* is given too"):
        pdgpu.PBD(acceleration=pdgpu.Anderson(), chebyshev=pdgpu.Chebyshev(rho=0.9))
    for kind in (pdgpu.ADMM, pdgpu.XPBD, pdgpu.SOR):
        with pytest.raises(TypeError, match=f"acceleration: {kind.__name__} takes pdgpu.Anderson"):
            kind(acceleration=pdgpu.Chebyshev(rho=0.9))
    scene, _ = bar()
    for solver in (pdgpu.PBD(), pdgpu.ADMM(), pdgpu.XPBD()):
        with pytest.raises(ValueError, match="safeguard: 'potential' needs a method whose steps lower"):
            pdgpu.Simulation(scene, dataclasses.replace(solver, acceleration=pdgpu.Anderson(safeguard="potential")))
    with pytest.raises(ValueError, match="safeguard: a linear solver has no potential"):
        pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(acceleration=pdgpu.Anderson(safeguard="potential"))))
    rigid = pdgpu.Scene()
    rigid.add_rigid(pdgpu.shapes.box((0.5, 0.1, 0.1)), density=100.0, name="box")
    with pytest.raises(ValueError, match="acceleration: rotations are not extrapolated, and 'box'"):
        pdgpu.Simulation(rigid, pdgpu.VertexBlockDescent(acceleration=pdgpu.Anderson()))
    with pytest.raises(ValueError, match="acceleration: biased=True"):
        pdgpu.AJacobi(suppression=0.1, biased=True, acceleration=pdgpu.Anderson())
    falling = pdgpu.Scene()
    falling.add_particles([[0.0, 0.1, 0.0]], mass=1.0)
    falling.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    contact = pdgpu.PenaltyContact(distance=1e-2, stiffness=1e3)
    with pytest.raises(TypeError, match="acceleration: XPBD with contact has multipliers of pairs"):
        pdgpu.Simulation(falling, pdgpu.XPBD(acceleration=pdgpu.Anderson()), contact=contact)
