"""Rigid bodies in contact: at rest, sliding and rolling against closed forms, with what deforms, by every solver that takes them."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pdgpu
from pdgpu import shapes
from pdgpu.contact.contact_stiffness import pair_stiffness

SOLVERS = {
    "Newton": pdgpu.Newton(iterations=60, tolerance=1e-9),
    "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=300, tolerance=1e-9),
}


def placed(mesh, shift):
    return pdgpu.Mesh(np.array(mesh.points) + shift, triangles=mesh.surface if len(mesh.tets) else mesh.triangles)


def on_floor(angle=0.0):
    """A scene over y = 0, which is inclined downwards in x."""
    scene = pdgpu.Scene(gravity=9.81 * np.array([np.sin(angle), -np.cos(angle), 0.0]))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    return scene


def pile(order=(0, 1, 2)):
    """A box, another that falls turning onto it, and a ball beside them."""
    meshes = [shapes.box((0.5, 0.3, 0.4)), shapes.box((0.25, 0.2, 0.2)), shapes.sphere(0.1, 1)]
    shifts = [(0.0, 0.01, 0.0), (0.2, 0.35, 0.1), (0.65, 0.15, 0.2)]
    spins = [(0.0, 0.0, 0.0), (0.5, 1.0, 2.0), (0.0, 0.0, 3.0)]
    scene = on_floor()
    for k in order:
        scene.add_rigid(placed(meshes[k], shifts[k]), density=500.0, spin=spins[k], name=f"b{k}")
    return scene


def mixed():
    """A rigid box that falls on a soft one, and beside it a rigid ball that a cloth covers."""
    scene = on_floor()
    soft = shapes.beam((0.3, 0.15, 0.3), cells=(3, 2, 3))
    soft = pdgpu.Mesh(np.array(soft.points) + [0.0, 0.005, 0.0], tets=soft.tets)
    scene.add_solid(soft, pdgpu.NeoHookean.from_young(2e5, 0.3), density=1000.0, name="soft")
    scene.add_rigid(placed(shapes.box((0.2, 0.1, 0.2)), (0.08, 0.16, 0.05)), density=2000.0, spin=(1.0, 0.0, 0.0), name="box")
    scene.add_rigid(placed(shapes.sphere(0.1, 1), (0.5, 0.11, 0.15)), density=1000.0, name="ball")
    cloth = shapes.grid((0.4, 0.4), cells=(6, 6))
    flat = np.array(cloth.points)[:, [0, 2, 1]] if np.ptp(np.array(cloth.points)[:, 2]) == 0.0 else np.array(cloth.points)
    flat += np.array([0.5, 0.23, 0.15]) - flat.mean(axis=0)
    scene.add_shell(pdgpu.Mesh(flat, triangles=cloth.triangles), pdgpu.Spring(200.0), density=0.3, name="cloth")
    return scene


def simulated(scene, solver, friction=0.0, dt=0.01, distance=0.01, **settings):
    return pdgpu.Simulation(scene, solver, dt=dt, contact=pdgpu.BarrierContact(distance, friction=friction), **settings)


def test_boxes_come_to_rest_and_the_floor_bears_their_weight():
    """Verified along all iterates of Newton, on the arcs that vertices go on."""
    scene = pile()
    sim, contacts = simulated(scene, SOLVERS["Newton"], friction=0.4), 0
    for _ in range(60):
        before = sim.positions
        sim.step(record="positions")
        assert sim.last_step.status == "converged"
        contacts = max(contacts, int(sim.last_step["active_contacts"][-1]))
        assert pdgpu.certify([before, *sim.last_step.positions], scene, gap=False).clean
    assert contacts >= 8
    sim.step(40)
    assert np.abs(sim.rigid.velocities[:2]).max() < 1e-2
    for body in scene.bodies[:2]:  # the lower bears the upper as well
        weight = 9.81 * body.mass
        np.testing.assert_allclose(sim.contact_forces().forces[body.slice].sum(axis=0), [0.0, weight, 0.0], atol=0.02 * weight)


def test_certificate_looks_at_arcs():
    """A bar that swings by 1.2 rad dips below where its end goes straight from one frame to the next."""
    scene = pdgpu.Scene()
    bar = scene.add_rigid(shapes.box((1.0, 0.1, 0.1)), density=100.0)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    middle = np.array([0.0, 0.52, 0.0])

    def frame(turn):
        c, s = np.cos(turn), np.sin(turn)
        return middle + bar.arms @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]).T

    swing = [frame(-0.5 * np.pi - 0.6), frame(-0.5 * np.pi + 0.6)]
    free = pdgpu.certify(swing, scene, gap=False)
    assert free.clean and 1 < free.pieces < 64
    middle[1] = 0.5
    assert min(each[:, 1].min() for each in (frame(-0.5 * np.pi - 0.6), frame(-0.5 * np.pi + 0.6))) > 0.03
    hit = pdgpu.certify([frame(-0.5 * np.pi - 0.6), frame(-0.5 * np.pi + 0.6)], scene, gap=False)
    assert not hit.clean and 0.2 < hit.crossings[0].time < 0.5


def test_fast_spin_near_a_wall_touches_nothing():
    """A bar that turns by half a radian in a step beside a wall and over another: guard on arcs, verified from iterate to iterate."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_rigid(placed(shapes.box((1.0, 0.05, 0.05)), (-0.5, 0.55, 0.0)), density=500.0, spin=(0.0, 0.0, 50.0), name="bar")
    scene.add_rigid(placed(shapes.box((0.5, 0.05, 0.05)), (0.0, 0.8, 0.06)), density=500.0, spin=(0.0, 20.0, 0.0), name="other")
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    scene.add_obstacle(pdgpu.Box((0.1, 2.0, 2.0), centre=(0.62, 1.0, 0.0)))
    pieces = touched = 1
    sim = simulated(scene, SOLVERS["Newton"], friction=0.3)
    for _ in range(25):
        before = sim.positions
        sim.step(record="positions")
        verified = pdgpu.certify([before, *sim.last_step.positions], scene, gap=False)
        assert verified.clean
        pieces = max(pieces, verified.pieces)
        touched += int(sim.last_step["active_contacts"][-1])
    assert pieces > 1 and touched > 5


@pytest.mark.parametrize("name", SOLVERS)
def test_box_slides_down_an_incline(name):
    """g (sin - mu cos) once it slides."""
    angle, mu, dt = np.radians(30.0), 0.3, 0.01
    scene = on_floor(angle)
    scene.add_rigid(placed(shapes.box((0.4, 0.2, 0.3)), (0.0, 0.004, 0.0)), density=1000.0)
    sim = simulated(scene, SOLVERS[name], mu, dt, distance=0.005)
    sim.step(30)
    before = sim.rigid.velocities[0, 0]
    sim.step(30)
    acceleration = (sim.rigid.velocities[0, 0] - before) / (30 * dt)
    assert acceleration == pytest.approx(9.81 * (np.sin(angle) - mu * np.cos(angle)), rel=1e-6)


@pytest.mark.slow
def test_ball_rolls_without_slipping():
    """5/7 g sin. The ball has 5120 triangles: one of 1280 falls from facet to facet, and is 4 % slower after half a second. h omega is
    0.007 at the end: implicit Euler brakes it by a few tenths of a percent."""
    angle, radius, dt = np.radians(10.0), 0.1, 2e-3
    scene = on_floor(angle)
    scene.add_rigid(placed(shapes.sphere(radius, 4), (0.0, radius + 8e-4, 0.0)), density=1000.0)
    sim = simulated(scene, pdgpu.Newton(iterations=60, tolerance=1e-7), 0.5, dt, distance=1e-3)
    sim.step(30)
    before = sim.rigid.velocities[0, 0]
    sim.step(120)
    rigid = sim.rigid
    assert (rigid.velocities[0, 0] - before) / (120 * dt) == pytest.approx(5.0 / 7.0 * 9.81 * np.sin(angle), rel=0.01)
    assert abs(rigid.velocities[0, 0] + rigid.spins[0, 2] * rigid.centres[0, 1]) < 0.02 * rigid.velocities[0, 0]


OTHERS = {
    "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=200, tolerance=1e-8),
    "QuasiNewton": pdgpu.QuasiNewton(iterations=400, tolerance=1e-9),
    "Newton by conjugate gradients": pdgpu.Newton(iterations=60, tolerance=1e-9, linear=pdgpu.PCG()),
    "Newton by block-preconditioned ones": pdgpu.Newton(iterations=60, tolerance=1e-9, linear=pdgpu.PCG(preconditioner="block")),
    "Newton by polynomially preconditioned ones": pdgpu.Newton(iterations=60, tolerance=1e-9, linear=pdgpu.PCG(preconditioner="chebyshev")),
    "Newton by multilevel-preconditioned ones": pdgpu.Newton(iterations=60, tolerance=1e-9, linear=pdgpu.PCG(preconditioner="multilevel")),
    "Newton by ones on aggregates": pdgpu.Newton(iterations=60, tolerance=1e-9, linear=pdgpu.PCG(preconditioner="amg")),
}


@pytest.mark.parametrize("built", [pile, mixed])
def test_solvers_agree(built):
    """On single steps from where Newton comes to: falling, meeting, resting."""
    scene, met = built(), 0
    sim = simulated(scene, SOLVERS["Newton"], friction=0.3)
    others = {name: simulated(scene, solver, friction=0.3) for name, solver in OTHERS.items()}
    for _ in range(2):
        sim.step(14)
        for other in others.values():
            other.set_state(positions=sim.positions, velocities=sim.velocities)
        sim.step(record=True)
        met += int(sim.last_step["active_contacts"][-1])
        for name, other in others.items():
            other.step()
            np.testing.assert_allclose(other.positions, sim.positions, atol=1e-6, err_msg=name)
    assert met > 5


@pytest.mark.parametrize("name", ["QuasiNewton", "Newton by conjugate gradients"])
def test_what_they_do_is_certified(name):
    """Verified along all iterates, as Newton's above."""
    scene = pile()
    sim, contacts = simulated(scene, OTHERS[name], friction=0.4), 0
    for _ in range(25):
        before = sim.positions
        sim.step(record="positions")
        contacts = max(contacts, int(sim.last_step["active_contacts"][-1]))
        assert pdgpu.certify([before, *sim.last_step.positions], scene, gap=False).clean
    assert contacts > 5


@pytest.mark.each_choice
@pytest.mark.parametrize(("guard", "iterations"), [("reach", 1), ("impact", 4), ("reach", 4), ("impact", 1)])
def test_sweeps_touch_nothing_however_few(guard, iterations):
    """Each body by its own bound, and what deforms beside it: verified from iterate to iterate, on arcs, far from converged."""
    for scene in (pile(), mixed()):
        contact = pdgpu.BarrierContact(0.01, friction=0.4, guard=guard)
        sim, contacts = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=iterations), dt=0.01, contact=contact), 0
        for _ in range(25):
            before = sim.positions
            sim.step(record="positions")
            contacts = max(contacts, int(sim.last_step["active_contacts"][-1]))
            assert pdgpu.certify([before, *sim.last_step.positions], scene, gap=False).clean
        assert contacts > 3


def test_a_tolerance_leaves_the_iterates():
    """If not, a stopping rule changes the Hessian of the next iteration: the curvature of rotations is that of the last gradient."""
    sims = [simulated(pile(), pdgpu.Newton(iterations=60, tolerance=tolerance), 0.4) for tolerance in (1e-3, 0.0)]
    for _ in range(12):
        for sim in sims:
            sim.set_state(positions=sims[0].positions, velocities=sims[0].velocities)
        stopped, whole = [sim.step(record=True)["gradient_norm"] for sim in sims]
        np.testing.assert_allclose(stopped, whole[: len(stopped)], rtol=0.0, atol=1e-9 * whole[0])


def test_each_point_of_a_body_by_its_reach():
    """The same minimum, and nothing is touched on the way there; a bar that spins beside a wall is bounded by its arcs."""
    scene = pile()
    contact = pdgpu.BarrierContact(0.01, friction=0.3, guard="reach")
    solvers = {"Newton": pdgpu.Newton(iterations=200, tolerance=1e-8), "VBD": pdgpu.VertexBlockDescent(iterations=800, tolerance=1e-9)}
    sims = [simulated(scene, SOLVERS["Newton"], friction=0.3)]
    sims += [pdgpu.Simulation(scene, solver, dt=0.01, contact=contact) for solver in solvers.values()]
    sims[0].step(14)
    for sim in sims[1:]:
        sim.set_state(positions=sims[0].positions, velocities=sims[0].velocities)
        before = sim.positions
        sim.step(record="positions")
        assert sim.last_step.status == "converged"
        assert pdgpu.certify([before, *sim.last_step.positions], scene, gap=False).clean
    sims[0].step()
    assert int(sims[0].contact_forces().normal_force.size) > 3
    for sim in sims[1:]:
        np.testing.assert_allclose(sim.positions, sims[0].positions, atol=1e-6)


def test_what_meets_something_holds_nobody_else_back():
    """One length for all would keep a ball that flies freely from going on while two boxes meet."""
    scene = pile()
    scene.add_rigid(
        placed(shapes.sphere(0.1, 1), (0.0, 3.0, 0.0)), density=500.0, velocity=(5.0, 0.0, 0.0), spin=(0.0, 2.0, 0.0), name="far"
    )
    sim, limits = simulated(scene, pdgpu.VertexBlockDescent(iterations=4)), []
    for k in range(1, 13):
        sim.step(record=True)
        limits.append(sim.last_step["step_limit"][0])
        np.testing.assert_allclose(sim.rigid.centres[3], [0.05 * k, 3.0 - 9.81e-4 * k * (k + 1) / 2, 0.0], atol=1e-9)
    assert min(limits) < 0.5


@pytest.mark.slow
def test_vertex_block_descent_does_not_see_order_or_units():
    """Bodies in another order, their vertices in another, and all lengths a thousand times as large: the same minimum in contact."""

    def built(order=(0, 1, 2), shuffled=False, length=1.0):
        scene = pdgpu.Scene(gravity=(0.0, -9.81 * length, 0.0))
        scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
        places = {}
        for body in (pile().bodies[k] for k in order):
            points, triangles = np.array(body.points), np.array(body.mesh.triangles)
            places[body.name] = np.random.default_rng(1).permutation(len(points)) if shuffled else np.arange(len(points))
            triangles = np.argsort(places[body.name])[triangles]
            mesh = pdgpu.Mesh(length * points[places[body.name]], triangles=triangles)
            scene.add_rigid(mesh, density=500.0 / length**3, spin=body.spin, name=body.name)
        contact = pdgpu.BarrierContact(0.01 * length, friction=0.3, friction_velocity=1e-3 * length)
        solver = pdgpu.VertexBlockDescent(iterations=1000, tolerance=1e-10)
        sim = pdgpu.Simulation(scene, solver, dt=0.01, contact=contact)
        sim.step(14)
        assert sim.last_step.status == "converged"
        found = {}
        for body in sim.bodies:
            found[body.name] = np.empty((len(places[body.name]), 3))
            found[body.name][places[body.name]] = sim.positions[body.slice] / length
        return found, int(sim.contact_forces().normal_force.size)

    expected, touching = built()
    assert touching > 3
    for settings in ({"order": (2, 0, 1)}, {"shuffled": True}, {"length": 1000.0}):
        other, _ = built(**settings)
        for name, x in expected.items():
            np.testing.assert_allclose(other[name], x, atol=1e-6, err_msg=f"{settings} {name}")


def test_same_bits_of_threads_and_files_and_any_order_of_bodies(tmp_path):
    for name, solver in SOLVERS.items():
        sims = [simulated(pile(), solver, friction=0.3, threads=threads) for threads in (1, 2)]
        for sim in sims:
            sim.step(12)
        sims[0].save(tmp_path / "rigid.npz")
        sims.append(pdgpu.Simulation.load(tmp_path / "rigid.npz"))
        for sim in sims:
            sim.step(6)
        for other in sims[1:]:
            np.testing.assert_array_equal(other.positions, sims[0].positions, err_msg=name)
            np.testing.assert_array_equal(other.velocities, sims[0].velocities, err_msg=name)
    turned = simulated(pile((2, 0, 1)), SOLVERS["Newton"], friction=0.3)
    turned.step(18)
    found = {body.name: turned.positions[body.slice] for body in turned.bodies}
    for body in sims[0].bodies:
        np.testing.assert_allclose(found[body.name], sims[0].positions[body.slice], atol=1e-6)


@pytest.mark.slow
def test_descent_with_all_bodies_at_once_comes_to_the_same():
    sims = [
        simulated(pile(), solver)
        for solver in (SOLVERS["Newton"], pdgpu.BlockJacobi(iterations=300), pdgpu.GradientDescent(iterations=600))
    ]
    for sim in sims:
        sim.step(11)
        np.testing.assert_allclose(sim.positions, sims[0].positions, atol=1e-6)
    assert int(sims[0].contact_forces().normal_force.size) > 3


def test_comparison_sees_forces_and_torques():
    scene = pile()
    sim = simulated(scene, SOLVERS["Newton"])
    sim.step(11)
    solvers = {"Newton": SOLVERS["Newton"], "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=15)}
    compared = pdgpu.compare(scene, solvers, dt=0.01, start=(sim.positions, sim.velocities), contact=sim.contact)
    for name, end in (("Newton", 1e-9), ("VertexBlockDescent", 0.1)):
        record = compared.records[name]
        assert record["relative_loss"][0] == 1.0 and record["gradient_norm"][0] > 1.0
        assert record["relative_loss"][-1] < end and record["gradient_norm"][-1] < end * record["gradient_norm"][0]


def test_single_precision():
    sims = [simulated(pile(), SOLVERS["Newton"], friction=0.3, dtype=dtype) for dtype in ("float64", "float32")]
    for sim in sims:
        sim.step(15)
    np.testing.assert_allclose(sims[1].positions, sims[0].positions, atol=1e-4)


def test_automatic_stiffness_goes_by_what_a_vertex_is_pushed_against():
    """The same for 42 vertices and for 642: a ball weighs 3 m / (3 + 2 r^2 m / I) = 3 m / 8 at its surface."""
    found = []
    for level in (1, 3):
        scene = on_floor()
        ball = scene.add_rigid(placed(shapes.sphere(0.1, level), (0.0, 0.2, 0.0)), density=1000.0)
        contact = pdgpu.BarrierContact(0.01, area_weighted=False)
        potential = pdgpu.Simulation(scene, SOLVERS["Newton"], dt=0.01, contact=contact)._core.potential
        found.append(pair_stiffness(potential, 1.0) / (3.0 / 8.0 * ball.mass / 0.01**2))
    np.testing.assert_allclose(found, 1.0, rtol=0.1)


REFUSED = {
    "penalty": (
        {"contact": pdgpu.PenaltyContact(0.01, stiffness=1e4)},
        TypeError,
        "PenaltyContact does not take rigid bodies, and 'b0' is one",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    settings, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        pdgpu.Simulation(pile(), SOLVERS["Newton"], dt=0.01, **settings)


def test_a_pin_that_moves_is_refused():
    scene = pile()
    scene["b0"].pin([0], lambda time, points: points + time)
    with pytest.raises(ValueError, match="a pin of 'b0' moves"):
        simulated(scene, SOLVERS["Newton"])


def test_start_in_another_body_is_refused():
    scene = pile()
    scene.add_rigid(placed(shapes.box((0.5, 0.3, 0.4)), (0.1, 0.02, 0.1)), density=1.0, name="late")
    with pytest.raises(ValueError, match="'b0' and 'late' start intersecting"):
        simulated(scene, SOLVERS["Newton"]).step()


def heap(side):
    """side^3 boxes, a centimetre apart and turned a little, that fall on a floor."""
    scene, chance, size = on_floor(), np.random.default_rng(0), np.array([0.1, 0.06, 0.08])
    box = shapes.box(tuple(size))
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    middles = grid * (size + 0.01) + 0.5 * size + [0.0, 0.005, 0.0] + chance.uniform(-0.002, 0.002, (side**3, 3))
    for middle, turn in zip(middles, chance.uniform(-0.02, 0.02, middles.shape), strict=True):
        points = (box.points - 0.5 * size) @ Rotation.from_rotvec(turn).as_matrix().T + middle
        scene.add_rigid(pdgpu.Mesh(points, triangles=box.triangles), density=1000.0)
    return scene


@pytest.mark.filterwarnings("ignore:friction")
def test_few_slips_that_would_reverse_do_not_hold_back_a_heap():
    """If not, steps of all bodies are cut to an eighth for the sake of some pairs: 143 iterations in these steps, where 124 do."""
    scene = heap(4)
    sim = simulated(scene, pdgpu.Newton(iterations=80, tolerance=1e-3), friction=0.8, dt=5e-3, distance=4e-3)
    assert sum(sim.step(record=True).iteration for _ in range(14)) < 133
    assert int(sim.last_step["active_contacts"][-1]) > 1000 and sim.last_step.status == "converged"
    assert not any(map(len, pdgpu.certify([sim.positions], scene).intersections.values()))
