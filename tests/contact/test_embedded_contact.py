"""Surfaces that coarse tets carry, in contact by a law: y = W x, forces back by W^T."""

import numpy as np
import pytest

import pdgpu
from pdgpu import shapes

BARRIER = pdgpu.BarrierContact(2e-3, friction=0.3)
PENALTY = pdgpu.PenaltyContact(2e-3, stiffness=2e3, friction=0.3)
TIGHT = {"iterations": 3000, "tolerance": 1e-9}
SOLVERS = {
    "Newton": pdgpu.Newton(**TIGHT),
    "Newton by PCG": pdgpu.Newton(**TIGHT, linear=pdgpu.PCG()),
    "Newton by PCG, chebyshev": pdgpu.Newton(**TIGHT, linear=pdgpu.PCG(preconditioner="chebyshev")),
    "Newton by PCG, multilevel": pdgpu.Newton(**TIGHT, linear=pdgpu.PCG(preconditioner="multilevel")),
    "Newton by PCG, amg": pdgpu.Newton(**TIGHT, linear=pdgpu.PCG(preconditioner="amg")),
    "QuasiNewton": pdgpu.QuasiNewton(**TIGHT),
    "NonlinearCG": pdgpu.NonlinearCG(**TIGHT),
    "ProjectiveDynamics": pdgpu.ProjectiveDynamics(**TIGHT),
    "ProjectiveDynamics by Jacobi": pdgpu.ProjectiveDynamics(**TIGHT, linear=pdgpu.Jacobi(iterations=30)),
    "VertexBlockDescent": pdgpu.VertexBlockDescent(**TIGHT),
    "VertexBlockDescent, searching": pdgpu.VertexBlockDescent(**TIGHT, line_search=True),
    "VertexBlockDescent, absolute": pdgpu.VertexBlockDescent(**TIGHT, hessian="absolute"),
    "BlockJacobi": pdgpu.BlockJacobi(**TIGHT),
    "GradientDescent": pdgpu.GradientDescent(**TIGHT),
}


def block(size, cells, middle):
    mesh = shapes.beam(size, cells=cells)
    return pdgpu.Mesh(mesh.points - 0.5 * np.asarray(size) + middle, tets=mesh.tets)


def ball(radius, middle, level=2):
    mesh = shapes.sphere(radius, level)
    return pdgpu.Mesh(mesh.points + middle, triangles=mesh.triangles)


def balls(*, extrapolate=False, level=2, count=2, above=0.003):
    """A fine ball in a coarse cage over the floor, and another that is to fall on it. Extrapolated: a part of each is outside its cage."""
    scene = pdgpu.Scene()
    side = 0.18 if extrapolate else 0.22
    for k in range(count):
        middle = np.array([0.03 * k, 0.1 + above + 0.203 * k, 0.01 * k])
        cage = block((side,) * 3, (2, 2, 2), middle)
        body = scene.add_solid(cage, pdgpu.ARAP.from_young(2e4, 0.3), density=300.0, name=f"cage{k}")
        body.embed(ball(0.1, middle, level), name=f"ball{k}", collides=True, extrapolate=extrapolate)
    scene.add_obstacle(pdgpu.Plane(point=(0.0, 0.0, 0.0), normal=(0.0, 1.0, 0.0)), name="floor")
    return scene


def rise(time, rest):
    return rest + [0.0, 0.02 * time, 0.0]


def mixed():
    """A ball in a cage between a cloth, a rigid box and a mesh that rises: everything that stands before and behind embedded points."""
    scene = pdgpu.Scene()
    sheet = shapes.grid((0.3, 0.3), cells=(6, 6))
    flat = np.stack([sheet.points[:, 0], np.full(len(sheet.points), 0.205), sheet.points[:, 1]], axis=1)
    flat[:, [0, 2]] -= flat[:, [0, 2]].mean(axis=0)
    scene.add_shell(pdgpu.Mesh(flat, triangles=sheet.triangles), pdgpu.Spring(50.0), density=0.3, name="cloth")
    body = scene.add_solid(block((0.22,) * 3, (2, 2, 2), (0.0, 0.1, 0.0)), pdgpu.ARAP.from_young(2e4, 0.3), density=300.0, name="cage")
    body.embed(ball(0.1, (0.0, 0.1, 0.0)), name="ball", collides=True)
    box = shapes.box((0.1, 0.1, 0.1))
    scene.add_rigid(pdgpu.Mesh(box.points + [0.103, 0.01, -0.05], triangles=box.triangles), density=500.0, name="box")
    floor = shapes.box((0.8, 0.05, 0.8))
    floor = pdgpu.Mesh(floor.points + [-0.4, -0.055, -0.4], triangles=floor.triangles)
    scene.add_obstacle(pdgpu.TriangleMesh(floor, motion=rise), name="floor")
    return scene


def twins():
    """Two bars that fall on each other and the floor, with and without their own surfaces embedded in them."""
    for embedded in (False, True):
        scene = pdgpu.Scene()
        for k in range(2):
            mesh = block((0.2, 0.1, 0.1), (2, 1, 1), (0.02 * k, 0.052 + 0.103 * k, 0.03 * k))
            body = scene.add_solid(mesh, pdgpu.ARAP.from_young(2e4, 0.3), density=300.0, name=f"bar{k}")
            if embedded:
                body.embed(pdgpu.Mesh(mesh.points, triangles=mesh.surface), collides=True)
        scene.add_obstacle(pdgpu.Box((2.0, 0.1, 2.0), centre=(0.0, -0.05, 0.0)), name="floor")
        yield scene


def pressed(scene, contact, solver=None, *, speed=1.0, steps=10, **settings):
    """A simulation whose bodies touch: it was thrown downwards."""
    sim = pdgpu.Simulation(scene, SOLVERS["Newton"] if solver is None else solver, dt=0.005, contact=contact, **settings)
    sim.set_state(velocities=np.tile([0.05, -speed, 0.0], (len(sim.positions), 1)))
    sim.step(steps)
    return sim


@pytest.mark.parametrize("extrapolate", [False, True])
@pytest.mark.parametrize("contact", [BARRIER, PENALTY], ids=["barrier", "penalty"])
def test_derivatives_are_those_of_the_potential(contact, extrapolate):
    """If not, a solver goes down something else than G: W^T or W^T H W is not what it should be."""
    sim = pressed(balls(extrapolate=extrapolate), contact)
    assert len(sim.contact_forces()) >= 8 and (min(part.weights.min() for part in sim.embeddings) < -0.01) == extrapolate
    rng = np.random.default_rng(1)
    x = sim.positions + 1e-5 * rng.normal(size=sim.positions.shape)  # friction bends most where nothing slips
    g, H = sim.gradient(x), sim.hessian(x)
    assert abs(H - H.T).max() < 1e-9 * abs(H).max()
    eps = 1e-9
    for _ in range(4):
        d = rng.normal(size=x.shape)
        slope = (sim.incremental_potential(x + eps * d) - sim.incremental_potential(x - eps * d)) / (2.0 * eps)
        assert slope == pytest.approx(np.vdot(g, d), rel=1e-5)
        curved = (sim.gradient(x + eps * d) - sim.gradient(x - eps * d)).ravel() / (2.0 * eps)
        np.testing.assert_allclose(H @ d.ravel(), curved, rtol=0, atol=2e-4 * abs(curved).max())
    projected = sim.hessian(x, psd=True)
    values = np.linalg.eigvalsh(projected.toarray())
    assert values.min() > -1e-9 * values.max()


@pytest.mark.parametrize(
    "contact", [BARRIER, pdgpu.BarrierContact(2e-3, friction=0.3, guard="reach"), PENALTY], ids=["impact", "reach", "penalty"]
)
@pytest.mark.parametrize("name", ["Newton", "Newton by PCG", "QuasiNewton", "NonlinearCG", "ProjectiveDynamics", "ADMM"])
def test_the_own_surface_embedded_is_the_own_surface(name, contact):
    """If not, what the weights lead through is another contact than that of vertices."""
    # as many iterations of both: where a tolerance ends them, one may end before the other
    solvers = {
        "Newton by PCG": pdgpu.Newton(iterations=12, linear=pdgpu.PCG()),
        "NonlinearCG": pdgpu.NonlinearCG(iterations=40),
        "ADMM": pdgpu.ADMM(iterations=40),
    }
    solver = solvers.get(name, SOLVERS.get(name))
    if name == "ADMM" and contact is PENALTY:
        pytest.skip("ADMM takes no penalty")
    before, ends = None, []
    for scene in twins():
        before = pressed(scene, contact, steps=6) if before is None else before
        sim = pdgpu.Simulation(scene, solver, dt=0.005, contact=contact)
        sim.set_state(positions=before.positions, velocities=before.velocities)
        sim.step()
        ends.append((sim.positions, sim.contact_forces()))
    (plain, own), (embedded, carried) = ends
    assert len(own) == len(carried) >= 8 and abs(plain - before.positions).max() > 1e-3
    np.testing.assert_allclose(embedded, plain, rtol=0, atol=1e-12)
    np.testing.assert_allclose(carried.forces, own.forces, rtol=0, atol=1e-7 * abs(own.forces).max())


@pytest.mark.each_choice
@pytest.mark.parametrize(
    ("name", "friction"),
    [(name, 0.0) for name in SOLVERS if name != "Newton"]
    + [(name, 0.3) for name in ("QuasiNewton", "ProjectiveDynamics", "VertexBlockDescent")],
)
@pytest.mark.parametrize("guard", ["impact", "reach"])
def test_solvers_reach_the_same_step(name, friction, guard):
    """If not, a solver minimises something else, or its blocks are below the curvature of the pairs of all points that a vertex carries."""
    contact = pdgpu.BarrierContact(2e-3, friction=friction, guard=guard)
    before = pressed(balls(), contact, speed=0.5, steps=12)
    ends = []
    for solver in (SOLVERS["Newton"], SOLVERS[name]):
        sim = pdgpu.Simulation(balls(), solver, dt=0.005, contact=contact)
        sim.set_state(positions=before.positions, velocities=before.velocities)
        sim.step(record=True)
        assert sim.last_step.status == "converged" and sim.last_step["active_contacts"][-1] >= 8
        ends.append(sim.positions)
    assert abs(ends[0] - before.positions).max() > 1e-3
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-6 * abs(ends[0] - before.positions).max())


@pytest.mark.parametrize("name", ["VertexBlockDescent", "BlockJacobi", pytest.param("GradientDescent", marks=pytest.mark.stress)])
def test_sweeps_descend_and_stay_clear(name):
    """If not, vertices of a colour that move the same pair go too far together: G grows in an iteration, or a pair is passed."""
    scene = balls(extrapolate=True)
    contact = pdgpu.BarrierContact(2e-3, guard="reach")
    solver = pdgpu.VertexBlockDescent(iterations=20) if name == "VertexBlockDescent" else getattr(pdgpu, name)(iterations=40)
    sim, touched = pressed(scene, contact, solver, steps=4), 0
    for _ in range(8):
        before = sim.positions
        sim.step(record="positions")
        record = sim.last_step
        touched = max(touched, int(record["active_contacts"][-1]))
        assert pdgpu.certify([before, *record.positions], scene, gap=False).clean
        if name == "VertexBlockDescent":
            G = record["incremental_potential"]
            assert (np.diff(G) <= 1e-9 * abs(G[0])).all()
    assert touched >= 8


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_fine_ball_in_a_coarse_cage_comes_to_rest(dtype):
    """If not, the floor bears another weight, or the ball sinks into it."""
    scene = balls(count=1)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=40, tolerance=1e-6), dt=0.02, contact=BARRIER, dtype=dtype)
    weight = 9.81 * sim.masses.sum()
    for _ in range(30):
        before = sim.positions
        sim.step(record="positions")
        frames = [frame.astype(np.float64) for frame in (before, *sim.last_step.positions)]
        assert pdgpu.certify(frames, scene, gap=False).clean
    sim.step(60)
    found = sim.contact_forces()
    forces = found.forces.sum(axis=0)
    assert forces[1] == pytest.approx(weight, rel=5e-3) and abs(forces[[0, 2]]).max() < 5e-3 * weight
    np.testing.assert_allclose(found.point_forces.sum(axis=0), forces, rtol=0, atol=1e-9 * weight)
    part = sim.embeddings[0]
    n = len(sim.positions)
    assert not found.point_forces[:n].any() and (found.point_forces[n:].any(axis=1) == (found.point_pressure[n:] > 0.0)).all()
    np.testing.assert_allclose(part.matrix.T @ found.point_forces[n:], found.forces, rtol=0, atol=1e-9 * weight)
    y = sim.embedded(part)
    assert 0.0 < y[:, 1].min() < BARRIER.distance and y[:, 1].min() == pytest.approx(found.distance.min(), rel=1e-3)
    assert sim.positions[:, 1].min() < 0.0  # the cage is no matter
    np.testing.assert_array_equal(found.vertices[:, 0] >= n, True)
    near = sim.contacts(BARRIER.distance)
    assert set(found.vertices[:, 0]) == set(near.vertices[:, 0]) and abs(near.positions[n:] - y).max() < 1e-15 * (
        1.0 if dtype == "float64" else 1e9
    )


def test_with_all_that_stands_before_and_behind(tmp_path):
    """If not, points are numbered otherwise where other bodies and moving obstacles are, or a resumed run takes another path."""
    contact = pdgpu.BarrierContact(2e-3, friction=0.3)
    scene, sims = mixed(), []
    for threads in (1, 3):
        sim, pairs = pressed(scene, contact, steps=4, threads=threads), set()
        sim.save(tmp_path / "half")
        for _ in range(12):
            before, time = sim.positions, sim.time
            sim.step()
            found = sim.contact_forces()
            pairs |= {frozenset((found.names[a], found.names[b])) for a, b in found.bodies}
            assert threads > 1 or pdgpu.certify([before, sim.positions], scene, times=[time, sim.time], gap=False).clean
        assert {frozenset(("cage", other)) for other in ("cloth", "box", "floor")} <= pairs
        sims.append(sim)
    resumed = pdgpu.Simulation.load(tmp_path / "half", motions={"floor": [rise]})
    resumed.step(12)
    assert sims[0].positions.tobytes() == sims[1].positions.tobytes() == resumed.positions.tobytes()


@pytest.mark.parametrize(
    "solver",
    [
        pdgpu.VertexBlockDescent(iterations=20),
        pdgpu.BlockJacobi(iterations=40),
        pdgpu.ProjectiveDynamics(iterations=10, linear=pdgpu.Jacobi()),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_threads_have_the_same_bits(solver):
    """If not, a result depends on the machine."""
    ends = {pressed(balls(level=3), BARRIER, solver, steps=8, threads=threads).positions.tobytes() for threads in (1, 2, 3)}
    assert len(ends) == 1


def test_a_comparison_has_one_potential():
    """If not, a table of solvers measures each against another G."""
    before = pressed(balls(), BARRIER)
    solvers = {name: SOLVERS[name] for name in ("Newton", "VertexBlockDescent")}
    found = pdgpu.compare(balls(), solvers, dt=0.005, contact=BARRIER, start=(before.positions, before.velocities))
    losses = [found.records[name]["relative_loss"] for name in solvers]
    assert all(loss[-1] < 1e-8 for loss in losses) and losses[0][0] == pytest.approx(losses[1][0], rel=1e-6)


def test_who_does_not_take_it_says_so():
    """If not, the coarse surface collides in place of the fine one without a word."""
    scene = balls(count=1)
    for contact, solver, text in (
        (pdgpu.ProjectiveContact(1e-3), pdgpu.ProjectiveDynamics(), "ProjectiveContact weighs pairs by the masses of their vertices"),
        (pdgpu.TwoWayContact(1e-3), pdgpu.Newton(), "TwoWayContact moves vertices one by one"),
        (PENALTY, pdgpu.XPBD(), "XPBD moves the vertices of a pair separately"),
    ):
        with pytest.raises(
            TypeError, match=f"contact: {text} and does not take 'ball0', which is embedded in 'cage0' with collides=True; "
        ):
            pdgpu.Simulation(scene, solver, dt=0.01, contact=contact)
    able = {name for name, entry in pdgpu.capabilities().items() if "cpu" in entry["embedded"]}
    assert able == {type(solver).__name__ for solver in SOLVERS.values()} | {"ADMM"}
    sunk = balls(count=1, above=-0.01)
    with pytest.raises(ValueError, match="'cage0' and 'floor' start intersecting: vertex"):
        pdgpu.Simulation(sunk, pdgpu.Newton(), dt=0.01, contact=BARRIER).step()
