"""Proxies that are kept out of bodies by the distance of their rest shape: detection, the matrix of both ends, one fixed point for all."""

import numpy as np
import pytest
import scipy.sparse.linalg
from proxy_scenes import REGIONS, cushion, prongs
from surface_oracle import nearest_points, winding_number

import pdgpu

C = 800.0
LINEAR = {
    "direct": pdgpu.Direct(),
    "schur": None,  # whose region depends on the scene
    "pcg": pdgpu.PCG(iterations=30),
    "jacobi": pdgpu.Jacobi(iterations=40),
    "gauss-seidel": pdgpu.GaussSeidel(iterations=10),
    "a-jacobi": pdgpu.AJacobi(order=2, iterations=20),
}


SCENES = {"prongs": prongs, "cushion": cushion}


def linear_solver(name, which, inner=1):
    return pdgpu.SchurDirect(REGIONS[which], inner=inner) if name == "schur" else LINEAR[name]


def simulate(made, linear, iterations=6, detection="iteration", dt=None, stiffness=C, **options):
    scene, proxies, field, start = made
    contact = pdgpu.ProxyContact(proxies, stiffness=stiffness, field=field, detection=detection)
    solver = pdgpu.ProjectiveDynamics(iterations=iterations, linear=linear, initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=dt, contact=contact, **options)
    sim.set_state(positions=start)
    return sim


def springs(sim, scene):
    """W - W_c of the active ones, from what is said outside."""
    at, n, proxies = sim.proxies(), scene.n_vertices, np.array(sim.contact.proxies)
    D = scipy.sparse.lil_matrix((len(proxies), n))
    for p in np.flatnonzero(at.active):
        D[p, proxies[p]] += 1.0
        for v, w in zip(at.carriers[p], at.carrier_weights[p], strict=True):
            if v >= 0:
                D[p, v] -= w
    return D.tocsr()


def coordinates(p, corners):
    return np.linalg.solve(np.vstack([corners.T, np.ones(4)]), np.append(p, 1.0))


@pytest.mark.parametrize("which", SCENES)
def test_detection_is_that_of_all_tets_one_by_one(which):
    """If not, a proxy inside a body is not seen, or is pulled to a point that is not the nearest of the rest surface."""
    made = SCENES[which]()
    scene, proxies, *_ = made
    sim = simulate(made, pdgpu.Direct(), iterations=3)
    sim.step()
    at, x, rest = sim.proxies(), sim.positions, scene.rest_positions()
    found = 0
    for p, vertex in enumerate(proxies):
        deepest = -1e-12
        for body in scene.bodies:
            apart = 0.06 if which == "prongs" else None
            corners = body.points[body.mesh.tets]
            first, second = np.triu_indices(4, 1)
            edge = np.linalg.norm(corners[:, first] - corners[:, second], axis=2).mean()
            surface = pdgpu.Mesh(body.points, triangles=body.mesh.surface)
            own = body.slice.start <= vertex < body.slice.stop
            for tet in body.mesh.tets + body.slice.start:
                if (x[tet].min(axis=0) > x[vertex] + 1e-9).any() or (x[tet].max(axis=0) < x[vertex] - 1e-9).any():
                    continue
                weights = coordinates(x[vertex], x[tet])
                place = weights @ rest[tet]
                if weights.min() < -1e-10 or (own and np.linalg.norm(place - rest[vertex]) < (2 * edge if apart is None else apart)):
                    continue
                away, foot = nearest_points(surface, place[None])
                if -away[0] < deepest and winding_number(surface, place[None])[0] > 0.5:
                    deepest, nearest = -away[0], foot[0]
        assert bool(at.active[p]) == (deepest < -1e-12), p
        if not at.active[p]:
            continue
        found += 1
        carried = at.carrier_weights[p] @ rest[at.carriers[p]]
        np.testing.assert_allclose(carried, nearest, rtol=0, atol=1e-9)
        np.testing.assert_allclose(at.targets[p], at.carrier_weights[p] @ x[at.carriers[p]], rtol=0, atol=1e-12)
    assert found == at.active.sum() > 5


@pytest.mark.parametrize("which", SCENES)
@pytest.mark.parametrize("linear", ["direct", "schur"])
def test_every_iteration_is_a_solve_with_both_ends_of_what_is_active(which, linear):
    """The first iterations, not the last: a wrong matrix converges too, only later."""
    made = SCENES[which]()
    scene = made[0]
    through = simulate(made, linear_solver(linear, which))
    through.step(record="positions")
    x, sets, free = through.last_step.positions, set(), np.flatnonzero(scene.fixed() == 0)
    for k in range(len(x) - 1):
        sim = simulate(made, pdgpu.Direct())
        sim.set_state(positions=x[k])
        D = springs(sim, scene)
        sets.add(sim.proxies().carriers.tobytes())
        A = sim.system_matrix(free=True) + C * (D.T @ D)[free][:, free]
        expected = x[k].copy()
        expected[free] -= scipy.sparse.linalg.spsolve(A.tocsc(), sim.gradient()[free])
        assert np.abs(x[k + 1] - expected).max() <= 1e-12 * np.abs(expected).max()
    assert len(sets) > 1  # the matrix joined other vertices in between


@pytest.mark.parametrize("which", SCENES)
def test_with_pairs_held_there_is_an_energy_and_it_never_grows(which):
    """If not, the forces on the two ends are not the gradient of the spring, or a matrix lies below its curvature."""
    made = SCENES[which]()
    free = made[0].fixed() == 0
    for name in LINEAR:
        sim = simulate(made, linear_solver(name, which, inner=3), iterations=20, detection="step")
        sim.step(record=True)
        energy = sim.last_step["incremental_potential"]
        assert (np.diff(energy) <= 1e-12 * np.abs(energy).max()).all() and energy[-1] < energy[0], name
    at = simulate(made, pdgpu.Direct(), iterations=4)
    at.step()
    proxies, D = at.proxies(), springs(at, made[0])
    np.testing.assert_allclose(proxies.vertex_forces, -C * (D.T @ (D @ at.positions)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(proxies.vertex_forces.sum(axis=0), 0.0, rtol=0, atol=1e-9)  # both ends, also of what is pinned
    alone = simulate(made, pdgpu.Direct(), stiffness=1e-30)
    alone.set_state(positions=at.positions)
    np.testing.assert_allclose((at.gradient() - alone.gradient())[free], -proxies.vertex_forces[free], rtol=0, atol=1e-9)
    assert at.energies()["contact"] == pytest.approx(0.5 * C * ((proxies.points - proxies.targets) ** 2).sum(), rel=1e-12)


@pytest.mark.parametrize("which", SCENES)
def test_all_solvers_come_to_the_same_fixed_point(which):
    """If not, one of them answers another contact."""
    made, found = SCENES[which](), {}
    for name in LINEAR:
        sim = simulate(made, linear_solver(name, which, inner=3), iterations=400)
        sim.step(record=True)
        assert sim.last_step["gradient_norm"][-1] < 1e-6 * sim.last_step["gradient_norm"][0], name
        found[name] = sim.positions
        assert 4 < sim.proxies().active.sum()
    moved = np.abs(found["direct"] - made[0].rest_positions()).max()
    for name, x in found.items():
        assert np.abs(x - found["direct"]).max() < 1e-5 * moved, name


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_weight_sinks_in_by_its_weight_over_the_stiffness(dtype):
    """A known answer: m g over the sum of c, in a body that does not move."""
    scene = pdgpu.Scene()
    ground = scene.add_solid(pdgpu.shapes.beam((1.0, 0.5, 1.0), cells=(4, 2, 4)), pdgpu.ARAP(1e4), density=1000.0, name="ground")
    ground.pin(lambda points: points[:, 1] > -1.0)
    scene.add_particles([[0.4, 0.49, 0.55], [0.7, 0.48, 0.5]], mass=2.0, name="weights")
    n = len(ground.points)
    solver = pdgpu.ProjectiveDynamics(iterations=6, initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=1 / 50, contact=pdgpu.ProxyContact([n, n + 1], stiffness=1e3, field="ground"), dtype=dtype)
    sim.step(400)
    sunk = 0.5 - sim.positions[n:, 1]
    np.testing.assert_allclose(sunk, 2.0 * 9.81 / 1e3, rtol=1e-5 if dtype == "float64" else 2e-3)


@pytest.mark.parametrize("linear", ["direct", "schur", "pcg"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_threads_and_a_stop_change_no_bit(linear, dtype, tmp_path):
    """If not, what a run gives depends on the machine, or on when it was saved: on a pattern that an earlier step left behind."""
    made, ends = prongs(), []
    solver = linear_solver(linear, "prongs")
    for threads in (1, 2):
        sim = simulate(made, solver, dt=1 / 60, dtype=dtype, threads=threads)
        sim.step(6)
        ends.append((sim.positions.tobytes(), sim.velocities.tobytes()))
    stopped = simulate(made, solver, dt=1 / 60, dtype=dtype)
    stopped.step(3)
    stopped.save(tmp_path / "half")
    motions = [motion for _, motion in made[0]["U"].pins if motion is not None]
    resumed = pdgpu.Simulation.load(tmp_path / "half", motions={"U": motions})
    assert resumed.contact == stopped.contact
    resumed.step(3)
    ends.append((resumed.positions.tobytes(), resumed.velocities.tobytes()))
    assert ends[0] == ends[1] == ends[2]


def test_who_comes_and_goes_is_counted():
    """If not, a fixed point that two sets take turns at looks like one that stands."""
    sim = simulate(prongs(), pdgpu.Direct(), iterations=30)
    sim.step(record="positions")
    counts = []
    for x in sim.last_step.positions[:-1]:
        other = simulate(prongs(), pdgpu.Direct())
        other.set_state(positions=x)
        counts.append(other.proxies().active)
    steps = np.diff(np.array(counts).astype(int), axis=0)
    at = sim.proxies()
    assert (at.entered, at.left) == ((steps > 0).sum(), (steps < 0).sum()) and at.entered + at.left > 0


def test_its_own_neighbourhood_is_no_contact():
    """If not, a body pulls at its own skin wherever a proxy lies a little under it."""
    scene, proxies, *_ = prongs()
    points = scene.rest_positions()
    scene["U"].embed(0.98 * (points[proxies] - [0.15, 0.15, 0.05]) + [0.15, 0.15, 0.05], name="under", extrapolate=True)
    contact = pdgpu.ProxyContact("under", stiffness=C, field="U")
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=2), dt=None, contact=contact)
    sim.set_state(positions=points)
    assert not sim.proxies().active.any()


@pytest.mark.parametrize(
    ("field", "error", "text"),
    [
        ("nothing", ValueError, r"field: no obstacle, solid or embedded surface is named 'nothing'; there are \[\], \['U'\], \[\]"),
        (["U", pdgpu.RestField("U")], ValueError, "field: a name occurs twice"),
        (pdgpu.RestField("U", spacing=1e-6), ValueError, r"field: 'U': spacing: .* would need .* at most 134217728 are possible"),
        (3, TypeError, "field: expected a name, got 3"),
        (None, ValueError, "field: the scene has no obstacle; add one, or give the name of a solid"),
    ],
)
def test_nonsense_is_refused(field, error, text):
    """If not, what is wrong shows as something else, later."""
    scene, proxies, *_ = prongs()
    with pytest.raises(error, match=text):
        pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(), contact=pdgpu.ProxyContact(proxies, stiffness=C, field=field))
    with pytest.raises(ValueError, match="apart: must be at least 0"):
        pdgpu.RestField("U", apart=-1.0)
    with pytest.raises(TypeError, match="of: expected the name of a solid"):
        pdgpu.RestField(3)


def test_a_target_outside_the_region_is_an_error_that_names_a_vertex():
    """If not, SchurDirect loses the force on what carries the target, and the answer is wrong without a word."""
    made = prongs()
    sim = simulate(made, pdgpu.SchurDirect(made[1], inner=1))
    with pytest.raises(ValueError, match=r"vertex \d+ carries a proxy or its target, and is not in the region of SchurDirect"):
        sim.step()
