"""The target lag: pins and obstacles that contact holds back."""

import copy
import warnings

import numpy as np
import pytest

import pdgpu

DT, SPEED = 0.01, 0.5


def block():
    """A solid between 0 and 0.1 m, and its vertices at the top."""
    mesh = pdgpu.shapes.beam((0.2, 0.2, 0.1), cells=(2, 2, 2))
    return mesh, np.flatnonzero(mesh.points[:, 2] > 0.1 - 1e-9)


def plate():
    grid = pdgpu.shapes.grid((0.3, 0.3), cells=(3, 3))
    return grid.points + [-0.05, -0.05, -0.002], grid.triangles


def up_to(height):
    """Distance of what rises at SPEED, m."""
    return lambda time: np.array([0.0, 0.0, min(SPEED * time, height)])


def simulation(height, *, pinned=False, iterations=4, **options):
    """A plate, an obstacle or a pinned shell, that rises into a block whose top is held."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    mesh, top = block()
    scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e7, 0.3), density=1000.0, name="block").pin(top)
    points, triangles = plate()
    rise = up_to(height)
    if pinned:
        shell = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(1e2), density=1.0, name="sheet")
        shell.pin(np.arange(len(points)), lambda time, rest: rest + rise(time))
    else:
        scene.add_obstacle(pdgpu.Mesh(points, triangles=triangles), lambda time, rest: rest + rise(time), name="lift")
        scene.add_obstacle(pdgpu.Sphere((1.0, 1.0, 1.0), 0.1), lambda time: (np.eye(3), rise(time)), name="free")
    contact = pdgpu.BarrierContact(1e-3, stiffness=1e6)
    return pdgpu.Simulation(scene, pdgpu.Newton(iterations=iterations), dt=DT, contact=contact, **options)


def said_in(sim, steps):
    """Lags and warnings of some steps."""
    lags, texts = [], []
    for _ in range(steps):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            sim.step()
        lags.append(sim.last_step.behind)
        texts.append([str(one.message) for one in found if issubclass(one.category, RuntimeWarning)])
    return np.array(lags), texts


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("pinned", [False, True], ids=["obstacle", "pin"])
def test_a_growing_lag_warns_once_with_names(pinned, dtype):
    """If not, an obstacle that never arrives shows only in a number that few read."""
    lags, texts = said_in(simulation(1.0, pinned=pinned, dtype=dtype), 8)
    first = int(np.argmax(lags > 0.0))
    assert (np.diff(lags[first:]) > 0.0).all()
    assert [len(text) for text in texts] == [int(step == first + 2) for step in range(8)]
    text = texts[first + 2][0]
    assert ("'sheet' is " if pinned else "'lift' is ") in text and f"{lags[first + 2]:.3g} m" in text and "max_behind" in text
    assert "'free'" not in text and "'block'" not in text


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("pinned", [False, True], ids=["obstacle", "pin"])
def test_a_jump_warns_while_its_lag_shrinks(pinned, dtype):
    """If not, a jump of 70 mm would leave an obstacle late for many steps, each a little less, and nothing would say so."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    mesh, top = block()
    scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000.0, name="block").pin(top)
    points, triangles = plate()
    plate_mesh = pdgpu.Mesh(points, triangles=triangles)

    def jump(time, rest):
        return rest + [0.0, 0.0, 0.07 * (time > 1.5 * DT)]

    if pinned:
        scene.add_shell(plate_mesh, pdgpu.Spring(1e2), density=1.0, name="sheet").pin(np.arange(len(points)), jump)
    else:
        scene.add_obstacle(plate_mesh, jump, name="lift")
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=60), dt=DT, contact=pdgpu.BarrierContact(2e-3), dtype=dtype, threads=1)
    lags, texts = said_in(sim, 6)
    assert lags[0] == 0.0 and (np.diff(lags[1:]) < 0.0).all() and lags[-1] > 1e-3
    assert [len(text) for text in texts] == [0, 0, 0, 1, 0, 0]
    assert ("'sheet' is " if pinned else "'lift' is ") in texts[3][0] and f"{lags[3]:.3g} m" in texts[3][0]


JUMPS = {
    "Newton": (pdgpu.Newton(iterations=60), pdgpu.BarrierContact(2e-3)),
    "Newton, tolerance": (pdgpu.Newton(iterations=60, tolerance=1e-2), pdgpu.BarrierContact(2e-3)),
    "Vertex Block Descent": (pdgpu.VertexBlockDescent(iterations=60, tolerance=1e-2), pdgpu.BarrierContact(2e-3)),
    "Projective Dynamics": (pdgpu.ProjectiveDynamics(iterations=60, tolerance=1e-2), pdgpu.BarrierContact(2e-3)),
    "projections": (pdgpu.ProjectiveDynamics(iterations=60), pdgpu.ProjectiveContact(2e-3)),
}


@pytest.mark.parametrize("solver", JUMPS)
def test_both_precisions_say_that_they_are_late(solver):
    """If not, float32 would fall behind float64 after a jump in steps that say `converged`."""
    found = {}
    for dtype in ("float64", "float32"):
        scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
        mesh, _ = block()
        scene.add_solid(mesh, pdgpu.ARAP.from_young(1e5, 0.3), density=1000.0)
        points, triangles = plate()
        scene.add_obstacle(pdgpu.Mesh(points, triangles=triangles), lambda t, rest: rest + [0.0, 0.0, 0.07 * (t > 1.5 * DT)])
        method, contact = JUMPS[solver]
        sim = pdgpu.Simulation(scene, method, dt=DT, contact=contact, dtype=dtype, threads=1)
        behind = []
        for _ in range(8):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                sim.step()
            behind.append(sim.last_step.behind)
            assert behind[-1] == 0.0 or sim.last_step.status != "converged"
        found[dtype] = np.array(behind)
    assert found["float64"].max() > 5e-4 and found["float64"][-1] == found["float32"][-1] == 0.0
    np.testing.assert_allclose(found["float32"], found["float64"], atol=1e-3)


def test_it_warns_again_once_all_had_arrived():
    """If not, a lag later in a run is silent."""

    def zigzag(time, rest):
        return rest + [0.0, 0.0, SPEED * min(time % 0.2, 0.2 - time % 0.2)]

    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    mesh, top = block()
    scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e7, 0.3), density=1000.0, name="block").pin(top)
    points, triangles = plate()
    scene.add_obstacle(pdgpu.Mesh(points, triangles=triangles), zigzag, name="lift")
    contact = pdgpu.BarrierContact(1e-3, stiffness=1e6)
    lags, texts = said_in(pdgpu.Simulation(scene, pdgpu.Newton(iterations=4), dt=DT, contact=contact), 40)
    assert lags[19] == 0.0 and lags[:20].max() > 1e-3 < lags[20:].max()
    assert [sum(map(len, half)) for half in (texts[:20], texts[20:])] == [1, 1]


def test_what_arrives_in_time_says_nothing():
    """If not, every scene with a moving obstacle warns."""
    lags, texts = said_in(simulation(0.004, iterations=60), 8)
    assert lags.max() == 0.0 and not any(texts)


@pytest.mark.parametrize("every", [1, 5])
def test_a_run_ends_at_a_lag(every):
    """If not, a long run goes on although an obstacle is stuck."""
    sim = simulation(1.0)
    twin, called = copy.copy(sim), []
    lags, _ = said_in(twin, 8)
    limit = float(lags[5])
    with pytest.warns(RuntimeWarning, match=rf"max_behind: the run ends at 0\.07 s, where 'lift' is .* more than {limit:g} m"):
        history = sim.run(1.0, every=every, callback=lambda sim: called.append(sim.time), max_behind=limit)
    assert sim.time == pytest.approx(0.07) and history["time"][-1] == sim.time == called[-1]
    assert history["behind"][-1] == sim.last_step.behind == lags[6]
    assert history["stiffness"][-1] == sim.last_step.stiffness == 1e6


def test_a_run_with_room_goes_on():
    """If not, a lag below the limit ends a run too."""
    sim = simulation(0.004, iterations=60)
    sim.run(0.1, max_behind=0.0)
    assert sim.time == pytest.approx(0.1)
    for wrong, error in ((-1.0, ValueError), ("far", TypeError), (np.nan, ValueError)):
        with pytest.raises(error, match="max_behind"):
            sim.run(0.1, max_behind=wrong)
