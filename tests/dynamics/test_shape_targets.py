"""Bodies that seek a shape of their own [Wang et al. 2021, Sec. 5.2], and skin of two slopes [Sec. 5.3]."""

import copy

import inputs
import numpy as np
import pytest
import scenes

import pdgpu

BEAM = pdgpu.shapes.beam((1.0, 0.5, 0.5), cells=(3, 2, 2), split=5)
STRETCH = np.array([[1.3, 0.1, 0.0], [0.1, 0.8, 0.05], [0.0, 0.05, 1.1]])
SOLVERS = {
    "direct": scenes.DIRECT,
    "schur": pdgpu.ProjectiveDynamics(iterations=8, linear=pdgpu.SchurDirect(lambda x: x[:, 0] > 0.6, inner=3)),
    **{name: scenes.SOLVERS[name] for name in ("newton", "quasi_newton", "vbd", "block_jacobi", "cg", "pbd", "xpbd", "admm")},
}


def two_muscles(mu=2e4):
    """A solid of ARAP and two muscles, the second of which is held; the last one's rows in the lists of targets are not the first."""
    scene = pdgpu.Scene(gravity=(0.0, -1.0, 0.0))
    scene.add_solid(BEAM, pdgpu.ARAP(mu), density=500.0)
    scene.add_solid(BEAM, pdgpu.ShapeTarget(mu, np.eye(3)), density=500.0, name="free")
    scene.add_solid(BEAM, [pdgpu.ShapeTarget(mu, np.eye(3)), pdgpu.Volume(mu)], density=500.0, damping=0.01, name="held").pin([0, 1])
    return scene


def targets(seed):
    """Turned stretches, another one for each tet."""
    return np.eye(3) + 0.15 * np.random.default_rng(seed).normal(size=(len(BEAM.tets), 3, 3))


def resumed_with(sim, solver, dtype, given):
    """Another simulation of the same scene, made with other targets, that goes on from the state of `sim`."""
    scene = two_muscles()
    for name, target in given.items():
        body = scene.find(name)
        body._keep(materials=(pdgpu.ShapeTarget(2e4, target), *body.materials[1:]))
        body._keep(groups=tuple(group for material in body.materials for group in body.groups_of(material)))
    other = pdgpu.Simulation(scene, solver, dt=0.01, dtype=dtype)
    other.set_state(positions=sim.positions, velocities=sim.velocities)
    return other


@pytest.mark.each_choice
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SOLVERS)
def test_new_targets_are_those_of_a_new_simulation(name, dtype):
    """If not, a solver keeps on pulling at the shapes of before, all of a body or some tets of it."""
    solver = SOLVERS[name]
    sim = pdgpu.Simulation(two_muscles(), solver, dt=0.01, dtype=dtype)
    sim.step(2)
    given = {"free": STRETCH, "held": targets(1)}
    for body, target in given.items():
        sim.set_shape_targets(body, target)
    other = resumed_with(sim, solver, dtype, given)
    sim.set_state(positions=sim.positions)  # both forget the step before
    old = resumed_with(sim, solver, dtype, {})
    for one in (sim, other, old):
        one.step(3)
    np.testing.assert_array_equal(sim.positions, other.positions)
    assert np.abs(sim.positions - old.positions)[BEAM.points.shape[0] :].max() > 1e-3
    if name == "schur":
        assert len(sim.parameters["schur"]) and sim._core.backend.counts()["allocations"] > 0


def test_a_free_body_takes_its_target():
    """If not, a body grows to another size than was asked for, or in another direction."""
    for solver in (pdgpu.ProjectiveDynamics(iterations=1), pdgpu.Newton(iterations=20), pdgpu.VertexBlockDescent(iterations=4000)):
        scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
        scene.add_solid(BEAM, pdgpu.ShapeTarget(1e4, STRETCH), density=500.0).pin([0])
        sim = pdgpu.Simulation(scene, solver, dt=None)
        sim.step()
        expected = (BEAM.points - BEAM.points[0]) @ STRETCH
        if isinstance(solver, pdgpu.ProjectiveDynamics):  # all rotations are those at rest, so one global step is the answer
            np.testing.assert_allclose(sim.positions - BEAM.points[0], expected, atol=1e-12)
        lengths = (np.linalg.norm(x[:, None] - x, axis=2) for x in (sim.positions, expected))  # it may turn about the vertex
        np.testing.assert_allclose(*lengths, atol=1e-9)


def test_projective_dynamics_finds_the_answer_of_newton():
    """If not, one of the two minimises another energy where targets do not fit together."""
    found = []
    for solver in (pdgpu.ProjectiveDynamics(iterations=3000, tolerance=1e-9), pdgpu.Newton(iterations=100, tolerance=1e-11)):
        scene = pdgpu.Scene()
        scene.add_solid(BEAM, pdgpu.ShapeTarget(1e5, targets(2)), density=500.0).pin([0, 1, 4])
        sim = pdgpu.Simulation(scene, solver, dt=None)
        sim.step(record=True)
        assert (np.diff(sim.last_step["incremental_potential"]) <= 1e-12 * abs(sim.last_step["incremental_potential"][0])).all()
        found.append(sim.positions)
    np.testing.assert_allclose(*found, atol=2e-6)


@pytest.mark.parametrize("solver", [scenes.DIRECT, SOLVERS["schur"], scenes.VBD], ids=["direct", "schur", "vbd"])
def test_targets_survive_files_and_copies(solver, tmp_path):
    """If not, a resumed run relaxes to the shapes it was made with."""
    sim = pdgpu.Simulation(two_muscles(), solver, dt=0.01)
    sim.step()
    sim.set_shape_targets("held", targets(3))
    sim.set_shape_targets("free", STRETCH)
    sim.save(tmp_path / "run")
    others = [pdgpu.Simulation.load(tmp_path / "run"), copy.deepcopy(sim)]
    assert sim.bodies[2].materials[0] == pdgpu.ShapeTarget(2e4, targets(3)) != pdgpu.ShapeTarget(2e4, STRETCH)
    for one in (sim, *others):
        one.step(2)
    for other in others:
        np.testing.assert_array_equal(sim.positions, other.positions)


def test_what_a_muscle_gives_is_no_divergence():
    """If not, a body at rest that is told to move is taken for one that blew up."""
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    scene.add_solid(BEAM, pdgpu.ShapeTarget(1e5, np.eye(3)), density=500.0)
    sim = pdgpu.Simulation(scene, scenes.DIRECT, dt=0.01)
    sim.step(2)
    for beat in range(4):
        sim.set_shape_targets("solid0", np.diag([1.2, 0.9, 1.0]) if beat % 2 == 0 else np.eye(3))
        sim.step(8)
        assert sim.energies()["kinetic"] > 1e-3


def test_new_targets_allocate_nothing_in_a_step_and_factorise_nothing():
    """If not, a muscle that moves in every frame costs a factorisation in every frame."""
    sim = pdgpu.Simulation(two_muscles(), scenes.DIRECT, dt=0.01)
    sim.step()
    before, setup = sim._core.backend.counts()["allocations"], sim.last_step.setup_seconds
    for k in range(3):
        sim.set_shape_targets("free", targets(k))
        sim.step()
    assert sim._core.backend.counts()["allocations"] == before and sim.last_step.setup_seconds == setup


@pytest.mark.parametrize(
    ("body", "given", "words"),
    [
        ("solid0", STRETCH, ["body", "solid0", "ShapeTarget"]),
        ("free", np.eye(3)[:2], ["targets", "(2, 3)"]),
        ("free", np.ones((7, 3, 3)) * np.eye(3), ["targets", "(7, 3, 3)", str(len(BEAM.tets))]),
        ("free", np.diag([1.0, -1.0, 1.0]), ["targets", "determinant", "-1"]),
        ("held", np.stack([np.eye(3)] * 5 + [np.zeros((3, 3))] + [np.eye(3)] * (len(BEAM.tets) - 6)), ["determinant", "0", "at 5"]),
        ("free", np.diag([1.0, np.nan, 1.0]), ["targets", "nan", "(1, 1)"]),
        ("nobody", STRETCH, ["body", "nobody"]),
    ],
)
def test_targets_that_cannot_be(body, given, words):
    """If not, a body is turned inside out, or targets reach the tets of its neighbour."""
    sim = pdgpu.Simulation(two_muscles(), scenes.DIRECT, dt=0.01)
    sim.set_shape_targets("free", STRETCH)
    with pytest.raises(ValueError) as refusal:
        sim.set_shape_targets(body, given)
    assert all(word in str(refusal.value) for word in words), refusal.value
    assert sim.bodies[1].materials[0] == pdgpu.ShapeTarget(2e4, STRETCH)


def beat(time):
    """A muscle: shortest after a tenth of a second, another stretch for each tet."""
    return np.eye(3) - 0.2 * np.sin(np.pi * time / 0.2) * (targets(4) - np.eye(3)) - 0.1 * time * np.diag([1.0, -0.5, -0.5])


def beating(solver, given=beat, **options):
    scene = two_muscles()
    scene.add_solid(BEAM, pdgpu.ShapeTarget(2e4, given), density=500.0, name="script").pin([0, 1, 4])
    return pdgpu.Simulation(scene, solver, dt=0.01, **options)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SOLVERS)
def test_targets_of_time_are_those_given_before_every_step(name, dtype):
    """If not, a muscle lags behind its script, or some solver never hears of it."""
    scripted, by_hand, still = (beating(SOLVERS[name], given, dtype=dtype) for given in (beat, beat(0.0), beat(0.0)))
    still.set_shape_targets("free", beat)
    scripted.set_shape_targets("free", beat)
    by_hand.set_shape_targets("free", beat(0.0))
    for k in range(1, 4):
        for body in ("script", "free"):
            by_hand.set_shape_targets(body, beat(0.01 * k))
        for sim in (scripted, by_hand, still):
            sim.step()
    np.testing.assert_array_equal(scripted.positions, by_hand.positions)
    rows = scripted.bodies[3].slice
    assert np.abs(scripted.positions - still.positions)[rows].max() > 1e-4
    shown = scripted.bodies[3].materials[0]
    np.testing.assert_array_equal(shown._constants["targets"], beat(0.03))
    assert shown != pdgpu.ShapeTarget(2e4, beat(0.03)) and shown == pdgpu.ShapeTarget(2e4, beat).at(0.03)


def test_energies_are_of_the_targets_of_now_and_of_the_end_of_the_step():
    """If not, a report is of a shape that the step did not seek."""
    sim, other = beating(scenes.DIRECT), beating(scenes.DIRECT, beat(0.0))
    sim.step()
    other.set_shape_targets("script", beat(0.01))
    other.step()
    assert sim.energies()["elastic"] == other.energies()["elastic"]
    other.set_shape_targets("script", beat(0.02))
    assert sim.incremental_potential() == other.incremental_potential()
    np.testing.assert_array_equal(sim.gradient(), other.gradient())
    other.set_shape_targets("script", beat(0.01))
    assert sim.energies()["elastic"] == other.energies()["elastic"]


@pytest.mark.parametrize("solver", [scenes.DIRECT, SOLVERS["schur"], scenes.VBD], ids=["direct", "schur", "vbd"])
def test_files_ask_for_the_functions_of_targets_again(solver, tmp_path):
    """If not, a resumed muscle stays as it was when the file was written."""
    sim = beating(solver)
    sim.step(2)
    sim.set_shape_targets("held", beat)
    sim.save(tmp_path / "run")
    with pytest.raises(ValueError, match=r"'held' had 1 scripted pins, attachments that move and shape targets of time, and 0 motions"):
        pdgpu.Simulation.load(tmp_path / "run", motions={"script": [beat]})
    others = [pdgpu.Simulation.load(tmp_path / "run", motions={"script": [beat], "held": [beat]}), copy.deepcopy(sim)]
    for one in (sim, *others):
        one.step(2)
    for other in others:
        assert other.positions.tobytes() == sim.positions.tobytes()
        assert other.bodies[3].materials == sim.bodies[3].materials
    sim.set_shape_targets("script", np.eye(3))  # lets go of the script
    sim.set_shape_targets("held", np.eye(3))
    sim.save(tmp_path / "run")
    pdgpu.Simulation.load(tmp_path / "run").step()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda time: np.eye(3) if time == 0.0 else np.eye(3)[:2], ["targets at 0.01 s", "(2, 3)"]),
        (lambda time: np.eye(3) if time == 0.0 else np.ones((7, 1, 1)) * np.eye(3), ["targets", "(7, 3, 3)", str(len(BEAM.tets))]),
        (lambda time: np.eye(3) * (1.0 - 200.0 * time), ["targets at 0.01 s", "determinant", "-1"]),
        (lambda time: np.eye(3) * (1.0 if time == 0.0 else np.nan), ["targets at 0.01 s", "nan"]),
    ],
)
def test_targets_of_time_that_cannot_be(given, words):
    """If not, a script turns a body inside out in the middle of a run; a step that is refused changes nothing."""
    sim = beating(scenes.DIRECT, given)
    before = sim.positions
    with pytest.raises(ValueError) as refusal:
        sim.step()
    assert all(word in str(refusal.value) for word in words), refusal.value
    np.testing.assert_array_equal(sim.positions, before)
    sim.set_shape_targets("script", np.eye(3))
    sim.step()
    with pytest.raises(ValueError, match=r"targets at 0 s: the determinant"):
        pdgpu.ShapeTarget(1.0, lambda time: np.zeros((3, 3)))


@pytest.mark.parametrize(("force", "stretch"), [(0.04, 1.04), (0.1, 1.1), (0.5, 1.2), (-0.25, 0.9)])
def test_skin_of_two_slopes(force, stretch):
    """If not, skin is as soft beyond its limit as before: P = 2 mu (a - 1) to a = 1.1, 0.95, and 2 (mu + stiff) from there on."""
    mu, stiff = 0.5, 1.5
    points, tets = inputs.B20()
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    body = scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.biphasic(1e5 * mu, 1e5 * stiff, 0.95, 1.1), density=1000.0)
    body.pin(points[:, 0] == 0.0)
    surface = body.mesh.surface
    end = surface[(points[surface][:, :, 0] > 1 - 1e-9).all(axis=1)]
    areas = 0.5 * np.linalg.norm(np.cross(points[end[:, 1]] - points[end[:, 0]], points[end[:, 2]] - points[end[:, 0]]), axis=1)
    load = np.zeros_like(points)
    np.add.at(load[:, 0], end, (1e5 * force * areas / 3)[:, None])
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=400), dt=None)
    sim.external_forces = load
    sim.step()
    slope = force / (2 * mu)
    limit = 0.1 if force > 0 else -0.05
    assert stretch == pytest.approx(1 + (slope if abs(slope) <= abs(limit) else limit + (force - 2 * mu * limit) / (2 * (mu + stiff))))
    np.testing.assert_allclose(sim.positions, points * [stretch, 1.0, 1.0], atol=1e-9)
    assert set(sim.energies()["elastic"]) == {"ARAP", "StrainLimit"}
