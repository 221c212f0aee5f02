"""Friction: its derivatives, its answers on paper, its bits, and what it refuses."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import pdgpu
from pdgpu import _host

# whoever takes the barrier takes friction, which is in the same G
SOLVERS = {
    "newton": pdgpu.Newton(iterations=100, tolerance=1e-9),
    "newton_pcg": pdgpu.Newton(iterations=100, tolerance=1e-9, linear=pdgpu.PCG()),
    "newton_pcg_chebyshev": pdgpu.Newton(iterations=100, tolerance=1e-9, linear=pdgpu.PCG(preconditioner="chebyshev")),
    "newton_pcg_multilevel": pdgpu.Newton(iterations=100, tolerance=1e-9, linear=pdgpu.PCG(preconditioner="multilevel")),
    "newton_pcg_amg": pdgpu.Newton(iterations=100, tolerance=1e-9, linear=pdgpu.PCG(preconditioner="amg")),
    "quasi_newton": pdgpu.QuasiNewton(iterations=400, tolerance=1e-6),
    "nonlinear_cg": pdgpu.NonlinearCG(iterations=600, tolerance=1e-6),
    "projective_dynamics": pdgpu.ProjectiveDynamics(iterations=600, tolerance=1e-6),
    "vertex_block_descent": pdgpu.VertexBlockDescent(iterations=600, tolerance=1e-6),
    "block_jacobi": pdgpu.BlockJacobi(iterations=1500, tolerance=1e-6),
    "gradient_descent": pdgpu.GradientDescent(iterations=1500, tolerance=1e-6),
}
TAKEN = {name for name, able in pdgpu.capabilities().items() if "BarrierContact" in able["contacts"]}
SOLVERS = {name: solver for name, solver in SOLVERS.items() if type(solver).__name__ in TAKEN}
FRICTION = _host.ENERGIES.index("friction")


def box(scene, low=(0.0, 8e-4, 0.0), size=0.2, name="box", solver=SOLVERS["newton"], **options):
    mesh = pdgpu.shapes.beam((size,) * 3, (1, 1, 1))
    hyperelastic = "NeoHookean" in pdgpu.capabilities()[type(solver).__name__]["materials"]
    material = pdgpu.NeoHookean.from_young(1e6, 0.3) if hyperelastic else pdgpu.ARAP(4e5)
    return scene.add_solid(pdgpu.Mesh(mesh.points + low, tets=mesh.tets), material, density=1000.0, name=name, **options)


# ---- derivatives -------------------------------------------------------------------------------------------------------------


def heap():
    """Every kind of pair near each other: solids, cloth, rods and particles on a plane, a sphere, a capsule and a mesh."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    box(scene, (0.0, 2e-3, 0.0), 0.1)
    box(scene, (0.02, 0.104, 0.01), 0.06, name="upper")
    rod = pdgpu.Mesh([[0.11, 0.103, -0.05], [-0.05, 0.1035, -0.006]], edges=[[0, 1]])
    scene.add_rod(rod, pdgpu.Spring(1e3), density=0.1, name="rod")
    scene.add_particles([[0.05, 0.167, 0.03], [0.051, 0.17, 0.031], [0.03, 0.1052, -0.0283]], mass=0.01, name="sand")
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    scene.add_obstacle(pdgpu.Sphere((0.202, 0.08, 0.03), 0.1), name="ball")
    scene.add_obstacle(pdgpu.Capsule((-0.022, 0.05, -0.1), (-0.022, 0.05, 0.2), 0.02), name="bar")
    wall = pdgpu.shapes.box((0.3, 0.3, 0.1))
    scene.add_obstacle(pdgpu.TriangleMesh(pdgpu.Mesh(wall.points + [-0.1, 0.0, 0.102], triangles=wall.triangles)), name="wall")
    return scene


def in_the_heap(friction, dtype="float64", **chosen):
    contact = pdgpu.BarrierContact(5e-3, stiffness=1e6, area_weighted=False, friction=friction, friction_velocity=0.02)
    return pdgpu.Simulation(heap(), dataclasses.replace(SOLVERS["newton"], **chosen), dt=0.01, contact=contact, dtype=dtype)


@pytest.mark.parametrize("slip", [0.0, 1e-5, 2e-4, 8e-4])
def test_gradient_and_hessian(slip):
    """If not, Newton's method would go where the potential does not fall."""
    sim, without = in_the_heap(0.7), in_the_heap(0.0)
    rng = np.random.default_rng(3)
    x_t = sim.positions
    assert {*sim._core.backend.contact_columns()["kind"]} == {0, 1, 2, 3, 4}
    x = x_t + slip * rng.uniform(-1.0, 1.0, x_t.shape)
    gradient = sim.gradient(x) - without.gradient(x)
    hessian = sim.hessian(x) - without.hessian(x)
    size = abs(hessian).max()
    assert abs(hessian - hessian.T).max() == pytest.approx(0.0, abs=1e-9 * size)
    assert np.linalg.eigvalsh(hessian.toarray()).min() > -1e-9 * size
    assert np.abs(hessian - (sim.hessian(x, psd=True) - without.hessian(x, psd=True))).max() < 1e-9 * size

    def energy(at):
        return sim._core.energies(sim._core.cast(at), True)[FRICTION]

    for _ in range(3):
        along = rng.standard_normal(x.shape)
        step = 1e-8
        slope = (energy(x + step * along) - energy(x - step * along)) / (2.0 * step)
        assert abs(slope - (gradient * along).sum()) < 1e-4 * (np.linalg.norm(gradient) + 1e-3) * np.linalg.norm(along)
        change = sim.gradient(x + step * along) - sim.gradient(x - step * along)
        change -= without.gradient(x + step * along) - without.gradient(x - step * along)
        product = hessian @ along.ravel()
        assert np.linalg.norm(change.ravel() / (2.0 * step) - product) < 1e-4 * np.linalg.norm(product)
    if slip == 0.0:
        assert np.abs(gradient).max() == 0.0 and energy(x) > 0.0
    else:
        # it takes energy out of every motion, and pushes no closed system
        assert (gradient * (x - x_t)).sum() > 0.0


def test_forces_of_a_pair():
    """If not, friction would push what it should brake, or push a pair as a whole: for every kind of pair and every corner."""
    sim = in_the_heap(0.7)
    sim.set_state(velocities=np.random.default_rng(1).uniform(-0.1, 0.1, sim.positions.shape))
    sim.step()
    found = sim._core.backend.friction_columns()
    rubs = found["strength"] > 0.0
    assert {*np.unique(found["vertices"][rubs] >= 0, axis=0).sum(axis=1)} == {2, 3, 4}
    total = np.abs(found["gradient"]).max(axis=(1, 2))
    assert (np.abs(found["gradient"].sum(axis=1)).max(axis=1) <= 1e-12 * total + 1e-300).all()
    assert ((found["force"] * found["slip"]).sum(axis=1)[rubs] < 0.0).all()
    size = np.linalg.norm(found["force"], axis=1)
    assert (size <= found["strength"] * (1.0 + 1e-12)).all() and (size[rubs] > 0.0).all()
    assert np.abs(found["force"][~rubs]).max(initial=0.0) == 0.0


# ---- answers on paper ------------------------------------------------------------------------------------------------------------

ANGLE = np.arctan(0.2553)


def on_an_incline(solver, mu, floor, steps, **options):
    """Velocities along the incline, m/s, of a box."""
    scene = pdgpu.Scene((9.81 * np.sin(ANGLE), -9.81 * np.cos(ANGLE), 0.0))
    box(scene, (0.0, 9.9e-4, 0.0), solver=solver)
    shape = pdgpu.Plane((0, 0, 0), (0, 1, 0)) if floor == "plane" else pdgpu.Box((20, 1, 20), (0, -0.5, 0))
    scene.add_obstacle(shape, name="floor")
    contact = pdgpu.BarrierContact(1e-3, friction=mu, **options)
    sim = pdgpu.Simulation(scene, solver, dt=0.01, contact=contact)
    velocities = []
    for _ in range(steps):
        sim.step()
        velocities.append(float(sim.masses @ sim.velocities[:, 0] / sim.masses.sum()))
        found = sim.contact_forces()
        size = np.linalg.norm(found.friction_force, axis=1)
        assert (size <= found.friction_limit * (1.0 + 1e-12)).all()
        assert ((found.friction_force * found.slip).sum(axis=1) <= 0.0).all()
    return np.array(velocities)


@pytest.mark.parametrize("floor", ["plane", "box"])
@pytest.mark.parametrize("mu", [0.0, 0.1, 0.2])
def test_a_box_slides_down_an_incline(mu, floor):
    """a = g (sin a - mu cos a), to a hundredth; on the two triangles of a box normal forces pass from pair to pair within a step."""
    velocities = on_an_incline(SOLVERS["newton"], mu, floor, 100)
    found = (velocities[-1] - velocities[49]) / 0.5
    assert found == pytest.approx(9.81 * (np.sin(ANGLE) - mu * np.cos(ANGLE)), rel=0.01 if floor == "plane" else 0.015)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_box_slides_with_every_solver(solver):
    velocities = on_an_incline(SOLVERS[solver], 0.2, "plane", 30)
    found = (velocities[-1] - velocities[14]) / 0.15
    assert found == pytest.approx(9.81 * (np.sin(ANGLE) - 0.2 * np.cos(ANGLE)), rel=0.01)


@pytest.mark.each_choice
@pytest.mark.parametrize("friction_velocity", [1e-3, 1e-2])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_box_creeps_below_the_cone(solver, friction_velocity):
    """If not, what should stand slides away, or the smoothing is another one than that of Li et al. 2020."""
    found = on_an_incline(SOLVERS[solver], 0.3, "plane", 40, friction_velocity=friction_velocity)[-1]
    assert found == pytest.approx(friction_velocity * (1.0 - np.sqrt(1.0 - np.tan(ANGLE) / 0.3)), rel=0.01)


def belt(kind):
    """A floor that goes along x with 0.5 m/s."""
    motion = lambda time: (np.eye(3), np.array([0.5 * time, 0.0, 0.0]))  # noqa: E731
    if kind == "plane":
        return pdgpu.Plane((0, 0, 0), (0, 1, 0), motion=motion)
    if kind == "box":
        return pdgpu.Box((4, 1, 4), (0.1, -0.5, 0.1), motion=motion)
    grid = pdgpu.shapes.grid((4, 4), (9, 7))
    points = grid.points[:, [0, 2, 1]] * [1, 0, 1] - [2, 0, 2]
    return pdgpu.TriangleMesh(pdgpu.Mesh(points, triangles=grid.triangles), motion=lambda time, rest: rest + [0.5 * time, 0.0, 0.0])


@pytest.mark.parametrize(("solver", "kind"), [("newton", "plane"), ("newton", "box"), *((name, "mesh") for name in SOLVERS)])
def test_a_belt_carries_a_box(solver, kind):
    """If not, slip is measured against where an obstacle was and not against what it did."""
    scene = pdgpu.Scene()
    box(scene, (0.0, 9.9e-4, 0.0), velocity=(0.0, 0.0, 0.2), solver=SOLVERS[solver])
    scene.add_obstacle(belt(kind), name="belt")
    sim = pdgpu.Simulation(scene, SOLVERS[solver], dt=0.01, contact=pdgpu.BarrierContact(1e-3, friction=0.5))
    momentum = lambda: sim.masses @ sim.velocities / sim.masses.sum()  # noqa: E731
    sim.step(5)
    accelerated = momentum()
    assert 0.1 < accelerated[0] < 0.26  # mu g t is 0.245
    sim.step(35)
    assert momentum()[[0, 2]] == pytest.approx([0.5, 0.0], abs=2e-3)
    assert sim.last_step.behind == 0.0 and sim.positions[:, 0].mean() > 0.2


def tower(n):
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.beam((0.2,) * 3, (1,) * 3)
    for k in range(n):
        points = mesh.points + [0.003 * (k % 2), 9.9e-4 + 0.20099 * k, 0.0]
        material = pdgpu.NeoHookean.from_young(1e7, 0.3)
        scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), material, density=1000.0, name=f"box {k}")
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)), name="floor")
    return scene


def drift(n, seconds):
    """How far the boxes of a tower move sideways, in parts of an edge."""
    contact = pdgpu.BarrierContact(1e-3, friction=0.5)
    sim = pdgpu.Simulation(tower(n), pdgpu.Newton(iterations=100, tolerance=1e-6), dt=0.02, contact=contact)
    start = sim.positions
    sim.step(round(seconds / 0.02))
    return np.abs(sim.positions - start)[:, [0, 2]].max() / 0.2


def test_a_tower_of_ten_stands():
    """If not, friction at rest is an ooze: after two seconds no corner has gone a hundredth of an edge."""
    assert drift(10, 2.0) < 0.01


@pytest.mark.stress
def test_a_tower_of_ten_stands_for_long():
    assert drift(10, 20.0) < 0.01


# ---- pairs of bodies --------------------------------------------------------------------------------------------------------------


def test_only_named_pairs_rub():
    """If not, ice and rubber are the same."""
    scene = pdgpu.Scene()
    box(scene, name="slow", velocity=(0.5, 0.0, 0.0))
    box(scene, (0.0, 8e-4, 1.0), name="fast", velocity=(0.5, 0.0, 0.0))
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)), name="floor")
    contact = pdgpu.BarrierContact(1e-3, friction={("floor", "slow"): 0.5})
    sim = pdgpu.Simulation(scene, SOLVERS["newton"], dt=0.01, contact=contact)
    sim.step(20)
    slow, fast = (sim.velocities[body.slice, 0].mean() for body in sim.bodies)
    assert abs(slow) < 1e-3 and fast == pytest.approx(0.5, rel=1e-6)
    found = sim.contact_forces()
    assert found.of("slow", "floor").friction_limit.min() > 0.0 and not found.of("fast", "floor").friction_limit.any()
    assert sim.energies()["friction"] > 0.0 and sim.energies()["total"] == sum(
        sim.energies()[name] for name in ("kinetic", "gravity", "damping", "contact")
    ) + sum(sim.energies()["elastic"].values())


def test_the_record():
    sim = in_the_heap(0.7, initialization="inertial_target")  # from x_t friction would grow
    sim.set_state(velocities=0.05 * np.ones_like(sim.positions))
    sim.step(record=True)
    column = sim.last_step["friction_potential"]
    assert (column > 0.0).all() and column[0] > column[-1]
    free = in_the_heap(0.0)
    free.step(record=True)
    assert not free.last_step["friction_potential"].any() and free.energies()["friction"] == 0.0


# ---- several lags in a step -------------------------------------------------------------------------------------------------------------


def landing(lags, iterations=100, **options):
    """A tilted box that comes down on its edge and slides."""
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.beam((0.2,) * 3, (1,) * 3)
    c, s = np.cos(0.1), np.sin(0.1)
    points = mesh.points @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    points -= [0.0, points[:, 1].min() - 2e-3, 0.0]
    material = pdgpu.NeoHookean.from_young(1e6, 0.3)
    scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), material, density=1000.0, velocity=(0.5, -0.3, 0.0))
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)), name="floor")
    contact = pdgpu.BarrierContact(2e-3, friction=0.5, friction_lags=lags)
    return pdgpu.Simulation(scene, pdgpu.Newton(iterations=iterations, tolerance=1e-10), dt=0.01, contact=contact, **options)


def test_more_lags_come_nearer_to_the_law():
    """If not, a further lag is a further solve of the same problem: at the end of a step |F| = mu lambda wherever something slides."""
    faults = []
    for lags in (1, 2, 6):
        sim = landing(lags)
        worst = 0.0
        for _ in range(6):
            sim.step()
            found = sim.contact_forces()
            slides = np.linalg.norm(found.slip, axis=1) > 1e-5
            size = np.linalg.norm(found.friction_force, axis=1)
            if slides.any():
                worst = max(worst, (np.abs(size - 0.5 * found.normal_force)[slides] / found.normal_force[slides].max()).max())
        faults.append(worst)
    assert faults[0] > 0.02 and faults[1] < 0.5 * faults[0] and faults[2] < 0.1 * faults[0], faults


def test_a_comparison_has_one_objective():
    """If not, a solver that lags twice is measured on the friction of the first lag, and looks wrong."""
    scene = tower(2)
    start = (scene.rest_positions(), np.full((scene.n_vertices, 3), [0.3, 0.0, 0.0]))
    solvers = {"few": pdgpu.Newton(iterations=3), "many": pdgpu.Newton(iterations=60, tolerance=1e-10)}
    found = pdgpu.compare(scene, solvers, dt=0.01, contact=pdgpu.BarrierContact(1e-3, friction=0.4), start=start)
    assert found["many"]["relative_loss"][-1] < 1e-12 < found["few"]["relative_loss"][-1]
    assert (found["few"]["friction_potential"] > 0.0).all()
    with pytest.raises(ValueError, match="contact: friction_lags must be 1"):
        pdgpu.compare(scene, solvers, dt=0.01, contact=pdgpu.BarrierContact(1e-3, friction=0.4, friction_lags=2), start=start)


def test_every_pass_has_its_iterations(tmp_path):
    """If not, a second lag takes what the first left over, or a file resumes in another pass."""
    sim, other = landing(3, 4), landing(3, 4, threads=1)
    sim.step(3)
    other.step(2)
    other.step(record=True)
    record = other.last_step
    assert 8 < record.iteration <= 12 and list(record["iteration"]) == list(range(record.iteration + 1))
    assert np.array_equal(sim.positions, other.positions)
    sim.save(tmp_path / "middle")
    again = pdgpu.Simulation.load(tmp_path / "middle")
    again.step(2)
    sim.step(2)
    assert np.array_equal(sim.positions, again.positions) and again.contact.friction_lags == 3


# ---- bits, files, refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("velocity", [0.0, 1.0], ids=["sticking", "slipping"])
@pytest.mark.parametrize("linear", [pdgpu.Direct(), pdgpu.PCG()], ids=["direct", "pcg"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits(tmp_path, dtype, linear, velocity):
    """If not, a run with friction cannot be repeated: threads, a copy, a file, questions and a record change nothing."""

    def start(threads):
        scene = tower(2)
        contact = pdgpu.BarrierContact(1e-3, friction={("box 0", "floor"): 0.2, ("box 0", "box 1"): 0.4})
        solver = pdgpu.Newton(iterations=40, tolerance=1e-9 if dtype == "float64" else 1e-5, linear=linear)
        sim = pdgpu.Simulation(scene, solver, dt=0.01, contact=contact, dtype=dtype, threads=threads)
        sim.set_state(velocities=np.array([velocity, 0.0, 0.0]) * np.ones_like(sim.positions))
        return sim

    sim = start(1)
    sim.step(8)
    assert (sim.contact_forces().friction_limit > 0.0).sum() > 4
    sim.save(tmp_path / "middle")
    others = [copy.copy(sim), pdgpu.Simulation.load(tmp_path / "middle", threads=2), start(3)]
    assert others[1].contact == sim.contact
    others[2].step(8)
    sim.step(3)
    for other in others:
        before = other.contact_forces().forces
        assert other.gradient(other.positions).any() and other.energies()["friction"] > 0.0
        assert np.array_equal(before, other.contact_forces().forces)  # what is asked meanwhile is another lag
        other.step(2)
        other.step(record=True)
        assert np.array_equal(other.positions, sim.positions) and np.array_equal(other.velocities, sim.velocities)


@pytest.mark.parametrize("solver", SOLVERS)
def test_bits_of_every_solver(tmp_path, solver):
    """If not, one of them keeps something of a step, or of a lag, that a file does not have."""

    def start(threads):
        scene = pdgpu.Scene()
        for k in range(2):
            low = (0.003 * k, 9.9e-4 + 0.20099 * k, 0.0)
            box(scene, low, name=f"box {k}", solver=SOLVERS[solver], velocity=(0.4, 0.0, 0.0))
        scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)), name="floor")
        contact = pdgpu.BarrierContact(1e-3, friction=0.3, friction_lags=2)
        return pdgpu.Simulation(scene, SOLVERS[solver], dt=0.01, contact=contact, threads=threads)

    one, three = start(1), start(3)
    one.step(4)
    three.step(4)
    one.save(tmp_path / "middle")
    again = pdgpu.Simulation.load(tmp_path / "middle", threads=2)
    one.step(2)
    three.step(2)
    again.step()
    again.step(record=True)
    assert np.array_equal(one.positions, three.positions) and np.array_equal(one.positions, again.positions)
    assert one.contact_forces().friction_limit.max() > 0.0 and one.velocities[:, 0].mean() < 0.3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"friction": -0.1}, ValueError, "friction: "),
        ({"friction": "ice"}, TypeError, "friction: "),
        ({"friction": float("nan")}, ValueError, "friction: "),
        ({"friction": {"box": 0.1}}, TypeError, "friction: expected pairs of names"),
        ({"friction": {("a", "b", "c"): 0.1}}, TypeError, "friction: expected pairs of names"),
        ({"friction": {("a", "b"): -0.1}}, ValueError, r"friction\[\('a', 'b'\)\]: "),
        ({"friction": {("a", "b"): 0.1, ("b", "a"): 0.2}}, ValueError, "given twice"),
        ({"friction_velocity": 0.0}, ValueError, "friction_velocity: "),
        ({"friction_lags": 0}, ValueError, "friction_lags: "),
        ({"friction_lags": 1.5}, TypeError, "friction_lags: "),
    ],
)
def test_refused_numbers(options, error, message):
    with pytest.raises(error, match=message):
        pdgpu.BarrierContact(1e-3, **options)


def test_refused_scenes():
    scene = tower(1)
    with pytest.raises(ValueError, match=r"friction: no body and no obstacle is called 'flor'; there are 'box 0', 'floor'"):
        pdgpu.Simulation(scene, pdgpu.Newton(), contact=pdgpu.BarrierContact(1e-3, friction={("box 0", "flor"): 0.3}))
    scene.bodies[0].pin([0, 1, 2, 3])
    with pytest.raises(ValueError, match=r"contact: dt=None \(quasistatic\) with friction"):
        pdgpu.Simulation(scene, pdgpu.Newton(), dt=None, contact=pdgpu.BarrierContact(1e-3, friction=0.3))
    with pytest.raises(ValueError, match=r"slip: .* is zero in this precision"):
        contact = pdgpu.BarrierContact(1e-3, friction=0.3, friction_velocity=1e-50)
        pdgpu.Simulation(tower(1), pdgpu.Newton(), contact=contact, dtype="float32")


def test_descriptions():
    contact = pdgpu.BarrierContact(1e-3, friction={("floor", "box"): 0.3})
    assert contact.friction[("box", "floor")] == contact.friction[("floor", "box")] == 0.3
    assert "friction={('box', 'floor'): 0.3}" in repr(contact)
    again = pickle.loads(pickle.dumps(contact))
    assert again == contact and hash(again) == hash(contact) and contact.friction == {("box", "floor"): 0.3}
    assert contact != pdgpu.BarrierContact(1e-3, friction=0.3)
    with pytest.raises(TypeError):
        contact.friction[("box", "floor")] = 0.1
