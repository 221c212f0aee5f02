"""Attachments whose targets move: bones."""

import numpy as np
import pytest
import scenes

import pdgpu


def turn(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def swing(time):
    """A frame that turns about z and moves along x."""
    return turn(3.0 * time), np.array([0.2 * time, 0.0, 0.0])


def held(material=None, stiffness=2e3, where=lambda points: points[:, 0] > 0.75, **targets):
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    mesh = pdgpu.shapes.beam((0.8, 0.2, 0.2), cells=(4, 1, 1))
    body = scene.add_solid(mesh, material or pdgpu.ARAP(1e4), density=1000.0, name="arm")
    body.attach(lambda points: points[:, 0] < 0.01, body.points[body.points[:, 0] < 0.01], stiffness=1e4)
    body.attach(where, stiffness=stiffness, **(targets or {"frame": swing}))
    return scene


def test_a_body_follows_a_frame_that_holds_all_of_it():
    """A known answer: whole in one frame, a body is where the frame is, turned, not stretched."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    body = scene.add_solid(pdgpu.shapes.beam((0.8, 0.2, 0.2), cells=(4, 1, 1)), pdgpu.ARAP(1e4), density=1000.0)
    body.attach(lambda points: points[:, 0] > -1.0, frame=swing)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=60), dt=0.1)
    assert sim.energies()["elastic"]["Attachment"] == 0.0
    for k in range(1, 4):
        still = np.zeros_like(body.points)
        sim.set_state(velocities=still)
        sim.step()
        rotation, shift = swing(0.1 * k)
        # with inertia it lags behind a little: m/h^2 against k
        np.testing.assert_allclose(sim.positions, body.points @ rotation.T + shift, rtol=0, atol=2e-3)


@pytest.mark.parametrize("name", [name for name in scenes.SOLVERS if name not in ("PBD", "pbd")])
def test_every_solver_has_the_targets_of_the_end_of_the_step(name):
    """If not, a solver that keeps a copy of the targets pulls to where they were when it was made."""
    solver = scenes.SOLVERS[name]
    solver = getattr(solver, "solver", solver)
    hyperelastic = "ARAP" not in type(solver).materials
    material = pdgpu.NeoHookean(1e4, 1e4) if hyperelastic else pdgpu.ARAP(1e4)
    moved, moving = swing(0.05), held(material)
    points = moving["arm"].points
    where = points[:, 0] > 0.75
    still = held(material, targets=points[where] @ moved[0].T + moved[1])
    results = []
    for scene in (moving, still):
        sim = pdgpu.Simulation(scene, solver, dt=0.05)
        sim.step()
        results.append(sim.positions)
    np.testing.assert_allclose(results[0], results[1], rtol=0, atol=1e-6 * np.abs(results[1] - points).max())
    assert np.abs(results[1] - points).max() > 1e-4


@pytest.mark.parametrize("linear", ["direct", "schur"])
def test_the_step_minimises_what_is_reported(linear):
    """If not, energy and gradient are of the targets of another time."""
    scene = held()
    solvers = {"direct": pdgpu.Direct(), "schur": pdgpu.SchurDirect(lambda points: points[:, 0] > 0.3)}
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=400, linear=solvers[linear]), dt=0.02)
    for _ in range(3):
        before = sim.positions, sim.velocities
        sim.step(record=True)
        assert sim.last_step["gradient_norm"][-1] < 1e-8 * sim.last_step["gradient_norm"][0]
        other = pdgpu.Simulation(scene, pdgpu.Newton(iterations=20), dt=0.02)
        other._core.backend.set_steps(sim._core.backend.steps() - 1)
        other.set_state(positions=before[0], velocities=before[1])
        assert np.linalg.norm(other.gradient(sim.positions)) < 1e-6 * np.linalg.norm(other.gradient())
        other.step()
        np.testing.assert_allclose(other.positions, sim.positions, rtol=0, atol=1e-8)


def test_embedded_points_share_out_their_springs():
    """Stiffness adds up to that of the points, and so do forces where the tets move with the frame; nothing is softer."""
    scene = held()
    body = scene["arm"]
    bone = body.embed(np.random.default_rng(0).uniform((0.1, 0.05, 0.05), (0.7, 0.15, 0.15), size=(30, 3)), name="bone")
    stiffness = np.linspace(10.0, 20.0, 30)
    body.attach(bone, stiffness=stiffness, frame=swing)
    indices, targets, shares = body.attachments[-1]
    np.testing.assert_array_equal(targets, body.points[indices])
    assert shares.sum() == pytest.approx(stiffness.sum(), rel=1e-12)
    np.testing.assert_allclose(shares, bone.matrix.T.toarray()[indices] @ stiffness, rtol=1e-12)
    rng = np.random.default_rng(1)
    for _ in range(3):
        d = rng.normal(size=body.points.shape)
        spread = 0.5 * (shares * (d[indices] ** 2).sum(axis=1)).sum()
        assert spread >= 0.5 * (stiffness * ((bone.matrix @ d) ** 2).sum(axis=1)).sum()
    shift = np.tile([0.1, 0.0, 0.0], (len(body.points), 1))
    np.testing.assert_allclose((shares[:, None] * shift[indices]).sum(axis=0), (stiffness[:, None] * (bone.matrix @ shift)).sum(axis=0))


@pytest.mark.parametrize("how", ["frame", "targets"])
def test_files_ask_for_the_functions_again(how, tmp_path):
    """If not, a resumed run lets go of its bone without a word."""
    motion = swing if how == "frame" else lambda time, rest: rest + [0.0, time, 0.0]
    sim = pdgpu.Simulation(held(**{how: motion}), pdgpu.ProjectiveDynamics(iterations=5), dt=0.02)
    sim.step(2)
    sim.save(tmp_path / "s")
    with pytest.raises(
        ValueError, match=r"'arm' had 1 scripted pins, attachments that move and shape targets of time, and 0 motions were given"
    ):
        pdgpu.Simulation.load(tmp_path / "s")
    again = pdgpu.Simulation.load(tmp_path / "s", motions={"arm": [motion]})
    for one in (sim, again):
        one.step(2)
    assert sim.positions.tobytes() == again.positions.tobytes()
    assert again.bodies[0].attachment_motions == (None, (how, motion))


def test_copies_of_a_torn_vertex_follow_the_frame():
    """If not, a sheet that is torn hangs on where its bone was."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    sheet = scene.add_shell(pdgpu.shapes.grid((1.0, 1.0), cells=(4, 4)), pdgpu.ARAP(100.0), density=0.1, name="sheet")
    sheet.attach(lambda points: points[:, 0] > -1.0, frame=swing, stiffness=50.0)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=20), dt=0.05)
    middle = np.flatnonzero(np.isclose(sheet.points[:, 0], 0.5))
    inner = sheet.mesh.hinges[:, :2]
    assert len(sim.cut("sheet", inner[np.isin(inner, middle).all(axis=1)]).new_vertices)
    sim.step(3)
    rotation, shift = swing(0.15)
    expected = sim.bodies[0].points @ rotation.T + shift
    assert np.abs(sim.positions - expected).max() < 0.02


def test_nonsense_is_refused():
    """If not, what is wrong shows as something else, later."""
    scene = held()
    body = scene["arm"]
    with pytest.raises(TypeError, match=r"attach: expected either targets or a frame"):
        body.attach([0])
    with pytest.raises(TypeError, match=r"attach: expected either targets or a frame"):
        body.attach([0], (0.0, 0.0, 0.0), frame=swing)
    with pytest.raises(TypeError, match=r"frame: expected a callable"):
        body.attach([0], frame=np.eye(3))
    with pytest.raises(ValueError, match=r"frame: rotation at time 0.0"):
        body.attach([0], frame=lambda time: (2.0 * np.eye(3), np.zeros(3)))
    with pytest.raises(ValueError, match=r"targets of 'arm' at 0 s: expected shape"):
        body.attach([0, 1], lambda time, rest: rest[:1])
    out = body.embed([[0.9, 0.1, 0.1]], name="out", extrapolate=True)
    with pytest.raises(ValueError, match=r"where: point 0 of 'out' lies outside its tet"):
        body.attach(out, frame=swing)
    with pytest.raises(TypeError, match=r"attach: embedded points are attached to a frame"):
        body.attach(out, (0.0, 0.0, 0.0))
    other = scene.add_solid(pdgpu.shapes.beam((1.0, 1.0, 1.0), cells=(1, 1, 1)), pdgpu.ARAP(1e4), density=1.0, name="other")
    with pytest.raises(ValueError, match=r"is not embedded in 'other'"):
        other.attach(out, frame=swing)
    body.attach([0], lambda time, rest: rest if time == 0.0 else rest + np.nan)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=0.1)
    with pytest.raises(ValueError, match=r"targets of 'arm' at 0.1 s"):
        sim.step()
