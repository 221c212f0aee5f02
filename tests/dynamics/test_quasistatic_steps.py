"""Quasi-static steps at given times: pins, attachments, shape targets and obstacles move with dt=None."""

import copy
import pickle
import re

import numpy as np
import pytest

import pdgpu

NEWTON = pdgpu.Newton(iterations=60, tolerance=1e-10)
SOFT = pdgpu.ARAP.from_young(1e5, 0.3)


def centred(size, height=0.0, cells=(2, 2, 2)):
    mesh = pdgpu.shapes.beam(size, cells)
    return pdgpu.Mesh(mesh.points - mesh.points.mean(0) + [0.0, height, 0.0], tets=mesh.tets)


def pulled(time, rest):
    return rest + [0.1 * time, 0.0, 0.02 * time]


def lifted(time):
    return np.eye(3), np.array([0.0, 0.02 * time, 0.0])


def raised(time, rest):
    return rest + lifted(time)[1]


def grown(time):
    return (1.0 + 0.1 * time) * np.eye(3)


def left(points):
    return points[:, 0] < -0.149


def right(points):
    return points[:, 0] > 0.149


def scene_of(kind, at=None):
    """A bar with one motion of a kind; with `at` the same bar without motion, as that motion leaves it at a time."""
    scene, mesh = pdgpu.Scene(gravity=(0.0, -9.81, 0.0)), centred((0.3, 0.1, 0.1))
    material = SOFT
    if kind == "shape targets":
        material = pdgpu.ShapeTarget(3e4, grown if at is None else grown(at))
    bar = scene.add_solid(mesh, material, density=1000.0, name="bar")
    bar.pin(left)
    ends = mesh.points[right(mesh.points)]
    if kind == "pin":
        bar.pin(right, pulled if at is None else None)
    if kind == "targets":
        how = {"targets": pulled} if at is None else {"targets": pulled(at, ends)}
        bar.attach(right, stiffness=1e4, **how)
    if kind == "frame":
        how = {"frame": lifted} if at is None else {"targets": ends + lifted(at)[1]}
        bar.attach(right, stiffness=1e4, **how)
    if kind == "obstacle":
        plate = pdgpu.shapes.box((0.1, 0.02, 0.2))
        plate = pdgpu.Mesh(plate.points - plate.points.mean(0) + [0.1, -0.08, 0.0], triangles=plate.triangles)
        still = plate if at is None else pdgpu.Mesh(plate.points + lifted(at)[1], triangles=plate.triangles)
        # an obstacle without a motion has no pairs inside its faces
        scene.add_obstacle(still, raised if at is None else lambda time, rest: rest, name="plate")
    return scene


KINDS = {
    "pin": "the motion of pin 1 of 'bar'",
    "targets": "the targets of attachment 0 of 'bar'",
    "frame": "the frame of attachment 0 of 'bar'",
    "shape targets": "the shape targets of 'bar'",
    "obstacle": "the motion of obstacle 'plate'",
}


def simulation(kind, at=None, solver=NEWTON, **options):
    contact = pdgpu.BarrierContact(5e-3, stiffness=1e5) if kind == "obstacle" else None
    return pdgpu.Simulation(scene_of(kind, at), solver, dt=None, contact=contact, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_every_motion_is_at_its_place_at_the_given_time(kind):
    """The answer is that of the same scene without motions, built as the motion leaves it."""
    sim = simulation(kind)
    x, ends = sim.positions, right(sim.positions)
    sim.step(4, time=[0.5, 1.0, 1.5, 2.0])
    if kind == "pin":
        x[ends] = pulled(2.0, x[ends])
    # at rest the bar would be in the plate
    still = simulation(kind, at=2.0, positions=sim.positions if kind == "obstacle" else x)
    still.step(4, time=[0.0] * 4)
    assert sim.time == 2.0 and sim.last_step.behind == 0.0
    assert sim.last_step.status == still.last_step.status == "converged"
    np.testing.assert_allclose(sim.positions, still.positions, rtol=0.0, atol=1e-9)
    assert np.abs(sim.positions - simulation(kind).positions).max() > 5e-3
    assert not sim.velocities.any()
    load = np.abs(sim.forces()).max()
    assert np.abs(sim.gradient()).max() <= 1e-7 * load  # G of diagnostics is that of `sim.time`


@pytest.mark.parametrize("kind", KINDS)
def test_a_motion_without_a_time_is_refused_by_name(kind):
    sim = simulation(kind)
    for call in (sim.step, lambda: sim.step(3, record=True), sim.snapshot):
        with pytest.raises(ValueError, match=re.escape(KINDS[kind]) + r".*step\(time="):
            call()
    assert sim.time == 0.0 and sim.last_step is None
    with pytest.raises(ValueError, match=re.escape(KINDS[kind])):
        pdgpu.compare(scene_of(kind), {"Newton": NEWTON}, dt=None)


def test_without_motions_the_time_is_optional():
    sim = simulation("none")
    sim.step()
    assert sim.time == 0.0
    sim.step(time=3)
    assert sim.time == 3.0
    sim.step()
    assert sim.time == 3.0


@pytest.mark.parametrize(
    ("n", "time", "error", "words"),
    [
        (1, np.nan, ValueError, ["time", "finite", "nan"]),
        (1, "late", TypeError, ["time", "number", "'late'"]),
        (1, True, TypeError, ["time", "number", "True"]),
        (2, 0.5, ValueError, ["time", "2 numbers", "got 1"]),
        (1, [0.1, 0.2], ValueError, ["time", "1 number,", "got 2"]),
        (2, [0.1, np.inf], ValueError, ["time", "inf"]),
        (2, [[0.1], [0.2]], ValueError, ["time", "shape"]),
        (2, [0.1, "x"], TypeError, ["time"]),
        (1, [], ValueError, ["time", "got 0"]),
    ],
)
def test_bad_times(n, time, error, words):
    sim = simulation("pin")
    with pytest.raises(error) as raised:
        sim.step(n, time=time)
    assert all(word in str(raised.value) for word in words), raised.value
    assert sim.time == 0.0 and sim.last_step is None


def test_a_time_step_has_its_own_times():
    sim = pdgpu.Simulation(scene_of("pin"), NEWTON, dt=0.01)
    for call in (lambda: sim.step(time=0.1), lambda: sim.run(times=[0.1]), lambda: sim.snapshot(time=0.1)):
        with pytest.raises(ValueError, match=r"times?: the time step dt = 0.01 s"):
            call()
    with pytest.raises(ValueError, match=r"time: the time step dt = 0.01 s"):
        pdgpu.compare(scene_of("pin"), {"Newton": NEWTON}, dt=0.01, time=0.1)
    assert sim.time == 0.0


def test_times_may_be_given_one_by_one_and_may_decrease():
    times = [0.4, 1.0, -0.3]
    whole, single = simulation("pin"), simulation("pin")
    whole.step(3, time=np.array(times, dtype=np.float32))
    for time in np.array(times, dtype=np.float32):
        single.step(time=time)
    assert whole.time == single.time == float(np.float32(-0.3))
    assert np.array_equal(whole.positions, single.positions)
    np.testing.assert_allclose(whole.positions[:, 0].max(), 0.15 - 0.03, atol=1e-7)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_motion_that_raises_leaves_state_and_time(error):
    def broken(time, rest):
        if time > 0.7:
            raise error
        return pulled(time, rest)

    scene = scene_of("none")
    scene["bar"].pin(right, broken)
    sim = pdgpu.Simulation(scene, NEWTON, dt=None)
    sim.step(time=0.5)
    before = sim.positions
    with pytest.raises(error):
        sim.step(time=1.0)
    assert sim.time == 0.5 and np.array_equal(sim.positions, before)
    assert np.abs(sim.gradient()).max() <= 1e-7 * np.abs(sim.forces()).max()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_contact_moves_obstacles_with_the_step_limiter(dtype):
    """With too few iterations an obstacle is late, and a further step with the same time continues."""
    sim = simulation("obstacle", solver=pdgpu.Newton(iterations=4), dtype=dtype)
    sim.step(time=3.0)
    late = sim.last_step.behind
    assert late > 1e-3 and sim.time == 3.0 and sim.last_step.status == "iteration_cap"
    for _ in range(200):
        sim.step(time=3.0)
        assert sim.last_step.behind <= late
        late = sim.last_step.behind
    assert late == 0.0 and sim.time == 3.0
    points = sim._core.scene.rest_positions()
    plate = points[:0], sim._core.backend.driven()
    expected = sim.obstacles[0].collider.mesh.points + lifted(3.0)[1]
    np.testing.assert_allclose(plate[1], expected, rtol=0.0, atol=1e-6 if dtype == "float32" else 1e-15)
    assert sim.contact_forces().normal_force.sum() > 0.0
    many = simulation("obstacle", solver=pdgpu.Newton(iterations=300, tolerance=1e-9), dtype=dtype)
    many.step(time=3.0)
    many.step(2, time=[3.0, 3.0])
    np.testing.assert_allclose(many.positions, sim.positions, rtol=0.0, atol=2e-5 if dtype == "float32" else 1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["file", "copy", "deepcopy", "pickle"])
def test_a_resumed_run_keeps_the_time_and_the_bits(kind, how, tmp_path):
    sim = simulation(kind)
    sim.step(2, time=[0.5, 1.0])
    if how == "file":
        sim.save(tmp_path / "half")
        name = "plate" if kind == "obstacle" else "bar"
        motion = {"pin": pulled, "targets": pulled, "frame": lifted, "shape targets": grown, "obstacle": raised}[kind]
        other = pdgpu.Simulation.load(tmp_path / "half", motions={name: [motion]})
    elif how == "pickle":
        other = pickle.loads(pickle.dumps(sim))
    else:
        other = getattr(copy, how)(sim)
    assert other.time == 1.0
    for each in (sim, other):
        each.step(time=1.5)
    assert other.time == sim.time == 1.5 and np.array_equal(other.positions, sim.positions)


def test_a_cut_keeps_the_time():
    grid = pdgpu.shapes.grid((1.0, 1.0), cells=(4, 4))
    scene = pdgpu.Scene()
    sheet = scene.add_shell(grid, pdgpu.Spring(1e3), density=0.2, name="sheet")
    sheet.pin(grid.points[:, 0] < 1e-9)
    sheet.pin(grid.points[:, 0] > 1 - 1e-9, lambda time, rest: rest + [0.1 * time, 0.0, 0.0])
    sim = pdgpu.Simulation(scene, NEWTON, dt=None)
    sim.step(time=1.0)
    edge = next(edge for edge in grid.hinges[:, :2] if np.isin(edge, np.flatnonzero(grid.points[:, 0] == 0.5)).all())
    sim.cut("sheet", [edge, *[e for e in grid.hinges[:, :2] if (grid.points[e][:, 0] == 0.5).all()][1:]])
    assert sim.time == 1.0
    with pytest.raises(ValueError, match="the motion of pin 1 of 'sheet'"):
        sim.step()
    sim.step(time=1.5)
    assert sim.time == 1.5 and sim.positions[:, 0].max() == pytest.approx(1.15)


def test_run_records_the_times():
    sim, single = simulation("pin"), simulation("pin")
    called = []
    history = sim.run(times=[0.25, 0.5, 0.75], every=2, callback=lambda run: called.append(run.time))
    single.step(3, time=[0.25, 0.5, 0.75])
    assert list(history["time"]) == called == [0.0, 0.5, 0.75] and list(history["step"]) == [0, 2, 3]
    assert np.array_equal(sim.positions, single.positions) and (np.diff(history["elastic_ARAP"]) > 0.0).all()
    for arguments in ({"seconds": 1.0}, {}, {"seconds": 1.0, "times": [1.0]}):
        with pytest.raises(ValueError, match=r"dt=None \(quasistatic\).*times="):
            sim.run(**arguments)
    with pytest.raises(ValueError, match="times"):
        sim.run(times=[])
    late = simulation("obstacle", solver=pdgpu.Newton(iterations=4))
    with pytest.warns(RuntimeWarning, match="max_behind: the run ends at 3 s"):
        assert list(late.run(times=[3.0, 4.0], max_behind=1e-3)["time"]) == [0.0, 3.0]


@pytest.mark.parametrize("kind", KINDS)
def test_compare_and_snapshots_solve_the_step_at_a_time(kind):
    contact = pdgpu.BarrierContact(5e-3, stiffness=1e5) if kind == "obstacle" else None
    sim, options = simulation(kind), {"dt": None, "contact": contact}
    sim.step(3, time=[1.0, 1.0, 1.0])
    solvers = {"Newton": NEWTON, "VBD": pdgpu.VertexBlockDescent(iterations=40)}
    found = pdgpu.compare(scene_of(kind), solvers, time=1.0, **options)
    assert found.reference is not None and found.records["Newton"].status == "converged"
    np.testing.assert_allclose(found.reference, sim.positions, rtol=0.0, atol=1e-7)
    assert found.records["Newton"]["gradient_norm"][-1] <= 1e-6 * np.abs(sim.forces()).max()  # of the objective at that time
    taken = simulation(kind).snapshot(8 if kind == "obstacle" else 0, time=1.0)
    assert taken.time == 0.0 and taken.end_time == 1.0 and taken.dt is None
    again = pdgpu.compare(scene_of(kind), solvers, start=taken, **options)
    np.testing.assert_allclose(again.reference, sim.positions, rtol=0.0, atol=1e-7)
    with pytest.raises(ValueError, match=r"time: the Snapshot is one of a step with time=1\.0, got 2\.0"):
        pdgpu.compare(scene_of(kind), solvers, start=taken, time=2.0, **options)


def test_a_snapshot_that_fails_keeps_the_time():
    sim = simulation("pin")
    sim.step(time=0.5)
    before = sim.positions
    with pytest.raises(ValueError, match="the step ends"):
        sim.snapshot(60, time=0.7)
    assert sim.time == 0.5 and np.array_equal(sim.positions, before)


def test_a_searched_rho_sees_the_pins_at_the_given_time():
    """The search is put off where nothing moves, so a search at the present time would find nothing."""
    solver = pdgpu.ProjectiveDynamics(iterations=40, chebyshev=pdgpu.Chebyshev(rho="auto", start=4))
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    bar = scene.add_solid(centred((0.3, 0.1, 0.1)), SOFT, density=1000.0)
    bar.pin(left)
    bar.pin(right, pulled)
    sim = pdgpu.Simulation(scene, solver, dt=None)
    sim.step(time=0.0)
    assert sim.parameters["rho"] is None
    sim.step(time=1.0)
    assert sim.parameters["rho"] is not None


def on_a_plane(height, motion=None):
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    bar = scene.add_solid(centred((0.3, 0.1, 0.1)), SOFT, density=1000.0, name="bar")
    bar.pin(lambda points: points[:, 1] > 0.049)
    scene.add_obstacle(pdgpu.Plane((0.0, -0.055 + height, 0.0), (0.0, 1.0, 0.0)), motion, name="plane")
    return scene


CONTACTS = {
    "barrier": (NEWTON, pdgpu.BarrierContact(2e-3, stiffness=1e5)),
    "penalty": (NEWTON, pdgpu.PenaltyContact(2e-3, stiffness=1e4)),
    "proxies": (pdgpu.ProjectiveDynamics(iterations=400, tolerance=1e-10), pdgpu.ProxyContact([0, 1, 2, 9, 10, 11], stiffness=1e4)),
}


@pytest.mark.parametrize("name", CONTACTS)
def test_every_contact_has_the_obstacle_at_its_place(name):
    solver, contact = CONTACTS[name]
    sim = pdgpu.Simulation(on_a_plane(0.0, lifted), solver, dt=None, contact=contact)
    sim.step(2, time=[0.25, 0.5])
    still = pdgpu.Simulation(on_a_plane(0.01), solver, dt=None, contact=contact, positions=sim.positions)
    still.step()
    assert sim.last_step.status == "converged" and sim.last_step.behind == 0.0
    np.testing.assert_allclose(sim.positions, still.positions, rtol=0.0, atol=1e-9)
    assert np.abs(sim.positions - sim._core.scene.rest_positions()).max() > 3e-3
