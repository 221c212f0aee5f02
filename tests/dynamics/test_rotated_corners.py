"""Sweeps over vertices of ARAP and co-rotated tets and of shape targets, whose rotations and blocks have a closed form of their own."""

import inputs
import numpy as np
import pytest

import pdgpu

ARAP, COROTATED = pdgpu.ARAP(2e4), pdgpu.Corotated(2e4, 6e4)
STRETCHES = np.eye(3) + 0.2 * np.random.default_rng(2).normal(size=(18, 3, 3))  # of the tets of a bar of 3 cells
TARGET = pdgpu.ShapeTarget(2e4, STRETCHES)


def bar(material, cells=(3, 1, 1), **options):
    points, tets = inputs.kuhn_grid(*cells, 0.1)
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    return scene, scene.add_solid(pdgpu.Mesh(points, tets=tets), material, density=1000.0, **options)


def starts(points):
    """Stretched, scrambled with inverted tets, and collapsed to a plane, to a line, to a point: where the closed form is no good."""
    rng = np.random.default_rng(5)
    return {
        "stretched": points * (1.8, 1.0, 0.9) + 0.01 * rng.normal(size=points.shape),
        "scrambled": points + 0.1 * rng.normal(size=points.shape),
        "mirrored": points * (1.0, -1.0, 1.0),
        "plane": points * (1.0, 1.0, 0.0),
        "line": points * (1.0, 0.0, 0.0) + 1e-9 * rng.normal(size=points.shape),
        "point": points * 1e-3,
    }


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("damping", [0.0, 0.01])
@pytest.mark.parametrize("material", [ARAP, TARGET], ids=["arap", "target"])
def test_every_sweep_lowers_the_potential(material, damping, dtype):
    """The block would be too small where a tet is stretched, pressed, inverted or flat, and G would grow."""
    for name in starts(np.zeros((1, 3))):
        scene, body = bar(material, damping=damping)
        body.pin([0, 1])
        sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=40, initialization="previous"), dt=1 / 30, dtype=dtype)
        sim.set_state(positions=starts(body.points)[name])
        sim.step(record=True)
        potential = sim.last_step["incremental_potential"]
        allowed = (1e-11 if dtype == "float64" else 3e-6) * abs(potential).max()
        assert (np.diff(potential) <= allowed).all(), name
        assert potential[-1] < 0.7 * potential[0], name


@pytest.mark.parametrize("material", [ARAP, COROTATED, TARGET], ids=["arap", "corotated", "target"])
@pytest.mark.parametrize("damping", [0.0, 0.02])
def test_same_answer_as_newton(material, damping):
    """A rotation would be off, or a gradient would not be that of the energy, or damping would be lost."""
    scene, body = bar(material, damping=damping)
    body.pin(body.points[:, 0] == 0)
    start = body.points * (1.2, 1.0, 0.9)
    answers = {}
    for solver in (pdgpu.Newton(iterations=60, tolerance=1e-13), pdgpu.VertexBlockDescent(iterations=1500)):
        sim = pdgpu.Simulation(scene, solver, dt=1 / 60)
        sim.set_state(positions=start)
        sim.step()
        answers[type(solver)] = sim.positions
    np.testing.assert_allclose(answers[pdgpu.VertexBlockDescent], answers[pdgpu.Newton], atol=1e-12)


def test_where_a_corotated_tet_is_in_tension_the_step_is_newtons():
    """What the turning of R stiffens would be lost or counted wrongly: in tension the block is the exact one."""
    material = pdgpu.Corotated(1e4, 5e5)
    scene, body = bar(material, cells=(2, 2, 2))
    centre = int(np.linalg.norm(body.points - 0.1, axis=1).argmin())
    body.pin(np.delete(np.arange(len(body.points)), centre))
    start = body.points * (1.3, 1.2, 1.15)
    start[centre] += (0.01, -0.008, 0.004)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=1, initialization="previous"), dt=1 / 30)
    sim.set_state(positions=start)
    gradient = sim.gradient(start)[centre]
    H = np.empty((3, 3))
    for c in range(3):
        move = np.zeros_like(start)
        move[centre, c] = 1e-6
        H[:, c] = (sim.gradient(start + move)[centre] - sim.gradient(start - move)[centre]) / 2e-6
    sim.step()
    np.testing.assert_allclose(start[centre] - sim.positions[centre], np.linalg.solve(H, gradient), rtol=1e-7)


@pytest.mark.parametrize("name", ["stretched", "scrambled", "mirrored", "plane", "point"])  # on a line no rotation is the nearest one
def test_groups_and_single_corners_agree(name):
    """A tet whose rotation needs the decomposition would be lost in its group, or spoil its neighbours there."""
    steps = []
    for line_search in (False, True):  # a search takes corners one by one, and has nothing to shorten here
        moved = []
        for material in (ARAP, COROTATED, TARGET):
            scene, body = bar(material)
            solver = pdgpu.VertexBlockDescent(iterations=1, initialization="previous", line_search=line_search)
            sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
            sim.set_state(positions=starts(body.points)[name])
            sim.step()
            moved.append(sim.positions)
        steps.append(np.array(moved))
    assert np.isfinite(steps).all()
    np.testing.assert_allclose(steps[0], steps[1], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("damping", [0.0, 0.02])
@pytest.mark.parametrize("name", ["stretched", "scrambled", "mirrored", "plane", "point"])
def test_to_seek_the_shape_at_rest_is_arap(name, damping):
    """A tet that seeks a shape would be given another energy or another block than the one it is an extension of."""
    moved = []
    for material in (ARAP, pdgpu.ShapeTarget(2e4, np.eye(3))):
        scene, body = bar(material, damping=damping)
        sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=1, initialization="previous"), dt=1 / 30)
        sim.set_state(positions=starts(body.points)[name])
        sim.step()
        moved.append(sim.positions)
    np.testing.assert_allclose(moved[0], moved[1], rtol=1e-12, atol=1e-13)


def nearest_rotation(M):
    U, _, Vt = np.linalg.svd(M)
    return U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))]) @ Vt


@pytest.mark.parametrize("name", ["stretched", "scrambled", "mirrored"])
def test_a_step_is_that_of_the_bound_above_the_energy(name):
    """The block would be another than shape_target_corner.h says, p |g|^2 I - k (|q|^2 I - q q^T), or of another tet."""
    mu, centre = 1e4, 5
    scene, body = bar(pdgpu.ShapeTarget(mu, STRETCHES))
    body.pin(np.delete(np.arange(len(body.points)), centre))
    rest, start = body.points, starts(body.points)[name]
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=1, initialization="previous"), dt=None)
    sim.set_state(positions=start)
    gradient, block = sim.gradient(start)[centre], np.zeros((3, 3))
    for tet, target in zip(body.mesh.tets, STRETCHES, strict=True):
        if centre not in tet:
            continue
        edges = (rest[tet[1:]] - rest[tet[0]]).T
        g = np.vstack([-np.linalg.inv(edges).sum(axis=0), np.linalg.inv(edges)])[list(tet).index(centre)]
        values, vectors = np.linalg.eigh(target.T @ target)
        S = (vectors * np.sqrt(values)) @ vectors.T  # turning a target changes nothing
        M = (start[tet[1:]] - start[tet[0]]).T @ np.linalg.inv(edges) @ S
        R = nearest_rotation(M)
        q, p = R @ S @ g, 2 * mu * np.linalg.det(edges) / 6
        k = p * min(1.5 / (R * M).sum(), 0.5 * (g @ g) / (q @ q))
        block += p * (g @ g) * np.eye(3) - k * ((q @ q) * np.eye(3) - np.outer(q, q))
    sim.step()
    np.testing.assert_allclose(start[centre] - sim.positions[centre], np.linalg.solve(block, gradient), rtol=1e-10)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits_do_not_depend_on_threads(dtype, tmp_path):
    """A run could not be repeated, or not be resumed: nothing of a rotation is kept from visit to visit."""
    results = []
    for threads in (1, 2, 3):
        scene, body = bar(COROTATED, cells=(6, 6, 6))
        scene.add_solid(
            pdgpu.Mesh(body.points + (2.0, 0.0, 0.0), tets=body.mesh.tets), pdgpu.ShapeTarget(2e4, STRETCHES[0]), density=1000.0
        )
        sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=5), dt=1 / 30, dtype=dtype, threads=threads)
        sim.set_state(positions=sim.positions * (1.5, 0.8, 1.0))
        sim.step(2)
        if threads == 3:
            sim.save(tmp_path / "half")
            sim = pdgpu.Simulation.load(tmp_path / "half", threads=threads)
        sim.step(2)
        results.append(sim.positions)
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()
