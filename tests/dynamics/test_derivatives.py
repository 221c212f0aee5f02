"""`gradient` and `hessian` against differences, for every material with every way of holding, damping and time step."""

import itertools

import inputs
import numpy as np
import pytest
from element_cases import ORTHOTROPIC, WOVEN

import pdgpu

ARAP, VOLUME, LIMIT = pdgpu.ARAP(40.0), pdgpu.Volume(30.0), pdgpu.StrainLimit(0.97, 1.03, 50.0)
AREA, SPRING = pdgpu.Area(20.0), pdgpu.Spring(25.0)
NEO_HOOKEAN, STVK, COROTATED = pdgpu.NeoHookean(20.0, 60.0), pdgpu.StVK(20.0, 30.0), pdgpu.Corotated(20.0, 30.0)
BODIES = {
    "solid ARAP": ("solid", [ARAP]),
    "solid Volume": ("solid", [VOLUME]),
    "solid StrainLimit": ("solid", [LIMIT]),
    "solid ShapeTarget": ("solid", [pdgpu.ShapeTarget(40.0, [[1.1, 0.2, 0.0], [0.0, 0.9, 0.1], [0.0, 0.0, 1.2]])]),
    "solid Spring": ("solid", [SPRING]),
    "solid, all": ("solid", [ARAP, VOLUME, LIMIT, SPRING]),
    "shell Spring": ("shell", [SPRING]),
    "shell ARAP": ("shell", [ARAP]),
    "shell Area": ("shell", [AREA]),
    "shell StrainLimit": ("shell", [LIMIT]),
    "shell Bending": ("shell", [pdgpu.Bending(2.0)]),
    "curved shell Bending": ("curved", [pdgpu.Bending(2.0)]),
    "curved shell, all": ("curved", [SPRING, ARAP, AREA, LIMIT, pdgpu.Bending(2.0)]),
    "rod Spring": ("rod", [SPRING]),
    "rod, all": ("rod", [SPRING, pdgpu.RodBending(2.0)]),
    "particles": ("particles", []),
}
HYPERELASTIC = {
    "solid NeoHookean": ("solid", [NEO_HOOKEAN]),
    "solid StVK": ("solid", [STVK]),
    "solid Corotated": ("solid", [COROTATED]),
    "solid LogNeoHookean": ("solid", [pdgpu.LogNeoHookean(20.0, 30.0)]),
    "solid FixedCorotated": ("solid", [pdgpu.FixedCorotated(20.0, 30.0)]),
    "solid, all hyperelastic": ("solid", [NEO_HOOKEAN, STVK, COROTATED, ARAP]),
    "solid OrthotropicSolid": ("solid", [ORTHOTROPIC]),
    "shell StVK": ("shell", [STVK]),
    "shell OrthotropicShell": ("shell", [WOVEN]),
    "curved shell OrthotropicShell": ("curved", [WOVEN]),
    "shell Corotated": ("shell", [COROTATED]),
    "shell HingeBending": ("shell", [pdgpu.HingeBending(2.0)]),
    "curved shell HingeBending": ("curved", [pdgpu.HingeBending(2.0)]),
    "curved shell, hyperelastic": ("curved", [STVK, COROTATED, SPRING, pdgpu.Bending(2.0)]),
}


def build(kind, materials, pinned, attached, damping):
    scene = pdgpu.Scene(gravity=(0.3, -9.81, 0.1))
    options = {"damping": damping, "velocity": (0.2, 0.0, -0.1)}
    if kind == "solid":
        points, tets = inputs.five_tet_grid(2, 1, 1, 1.0)
        body = scene.add_solid(pdgpu.Mesh(points, tets=tets), materials, density=2.0, **options)
    elif kind in ("shell", "curved"):
        points, triangles = inputs.cloth(2)
        points = points * 2.0
        if kind == "curved":
            points[:, 2] = 0.3 * points[:, 0] ** 2 - 0.1 * points[:, 1]
        body = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), materials, density=2.0, **options)
    elif kind == "rod":
        body = scene.add_rod(pdgpu.shapes.chain(4), materials, density=2.0, **options)
    else:
        body = scene.add_particles([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 1.0, 0.0]], mass=[1.0, 2.0, 3.0], **options)
    if pinned:
        body.pin([0])
    if attached:
        body.attach([1, 2], body.points[[1, 2]] + 0.2, stiffness=[6.0, 9.0])
    return scene


WAYS = [
    (dt, pinned, attached, damping)
    for dt, pinned, attached, damping in itertools.product((1 / 50, None), (False, True), (False, True), (0.0, 0.03))
    if dt is not None or pinned or attached
]


@pytest.mark.parametrize("body", [*BODIES, *HYPERELASTIC])
def test_derivatives(body):
    """If not, the solvers stop where the potential they report still falls."""
    for dt, pinned, attached, damping in WAYS:
        if dt is None and body == "particles" and (not pinned or not attached):
            continue  # a particle that nothing holds
        scene = build(*{**BODIES, **HYPERELASTIC}[body], pinned, attached, damping)
        scene.set_world_box((-np.inf, 0.05, -0.1), (1.9, np.inf, np.inf), 11.0)
        sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=dt)
        rng = np.random.default_rng(4)
        n = scene.n_vertices
        sim.set_state(positions=scene.rest_positions() + 0.15 * rng.normal(size=(n, 3)), velocities=rng.normal(size=(n, 3)))
        sim.external_forces = rng.normal(size=(n, 3))
        # pinned rows are used as given: they move here too
        at = sim.positions + 0.05 * rng.normal(size=(n, 3))
        gradient, hessian, delta = sim.gradient(at), sim.hessian(at).toarray(), 1e-6
        slope, change = np.zeros((n, 3)), np.zeros((3 * n, 3 * n))
        for i, c in itertools.product(range(n), range(3)):
            step = np.zeros((n, 3))
            step[i, c] = delta
            slope[i, c] = (sim.incremental_potential(at + step) - sim.incremental_potential(at - step)) / (2 * delta)
            change[:, 3 * i + c] = ((sim.gradient(at + step) - sim.gradient(at - step)) / (2 * delta)).ravel()
        if pinned:
            assert not gradient[0].any() and not hessian[:3].any() and not hessian[:, :3].any()
            slope[0], change[:, :3] = 0.0, 0.0
        way = f"dt={dt} pinned={pinned} attached={attached} damping={damping}"
        assert np.abs(gradient - slope).max() <= 1e-6 * np.abs(slope).max(), way
        assert np.abs(hessian - change).max() <= 1e-6 * np.abs(change).max(), way
        assert np.abs(hessian - hessian.T).max() <= 1e-12 * np.abs(hessian).max(), way


@pytest.mark.parametrize("body", [name for name, (kind, _) in BODIES.items() if kind != "particles"])
def test_system_matrix_is_an_upper_bound_of_the_hessian(body):
    """If not, a global step can raise the potential, and nothing stops Projective Dynamics from diverging."""
    scene = build(*BODIES[body], False, True, 0.03)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=1 / 50)
    A = np.kron(sim.system_matrix().toarray(), np.eye(3))
    rng = np.random.default_rng(5)
    for size in (0.02, 0.3, 1.5):
        x = scene.rest_positions() + size * rng.normal(size=(scene.n_vertices, 3))
        sim.set_state(positions=x)
        assert np.linalg.eigvalsh(A - sim.hessian(x).toarray()).min() >= -1e-9 * np.abs(A).max()


def test_damping_enters_the_system_matrix_as_a_factor():
    """If not, damped steps are solved with a matrix that is no bound, or with far too stiff a one."""
    h, damping = 1 / 50, 0.03
    matrices = [pdgpu.Simulation(build("solid", [ARAP], False, False, k), pdgpu.Newton(), dt=h).system_matrix() for k in (0.0, damping)]
    inertia = pdgpu.Simulation(build("solid", [ARAP], False, False, 0.0), pdgpu.Newton(), dt=h).masses / h**2
    stiff = [(A - np.diag(inertia)) for A in matrices]
    np.testing.assert_allclose(stiff[1], (1.0 + damping / h) * stiff[0], atol=1e-9 * matrices[0].max())


TETS = {"ARAP": ARAP, "NeoHookean": NEO_HOOKEAN, "Corotated": COROTATED, "StVK": STVK, "OrthotropicSolid": ORTHOTROPIC}
ORIENTED = {"LogNeoHookean": pdgpu.LogNeoHookean(20.0, 30.0), "FixedCorotated": pdgpu.FixedCorotated(20.0, 30.0)}


def check_damping_potential(material, noise, reach, collapsed):
    h, damping = 1 / 50, 0.03
    with_damping, without = (pdgpu.Simulation(build("solid", [material], False, False, k), pdgpu.Newton(), dt=h) for k in (damping, 0.0))
    rng = np.random.default_rng(6)
    x_t = without.positions + noise * rng.normal(size=without.positions.shape)
    if collapsed:  # one tet is a point, another one is flat
        tets = without.bodies[0].mesh.tets
        x_t[tets[0]] = x_t[tets[0, 0]]
        x_t[tets[-1], 1] = 0.5
    x = x_t + reach * rng.normal(size=x_t.shape)
    for sim in (with_damping, without):
        sim.set_state(positions=x_t)
    K = without.hessian(x_t, psd=True).toarray() - np.diag(np.repeat(without.masses / h**2, 3))
    move = (x - x_t).ravel()
    expected = damping / (2 * h) * move @ K @ move
    assert with_damping.incremental_potential(x) - without.incremental_potential(x) == pytest.approx(expected, rel=1e-9)
    force = (with_damping.gradient(x) - without.gradient(x)).ravel()
    np.testing.assert_allclose(force, damping / h * K @ move, atol=1e-9 * np.abs(force).max())


@pytest.mark.parametrize("collapsed", [False, True])
@pytest.mark.parametrize("material", TETS)
def test_damping_potential_by_its_definition(material, collapsed):
    """If not, the damping time means another time: k_d/(2h) (x - x_t)^T K+ (x - x_t), K+ projected element Hessians at x_t."""
    check_damping_potential(TETS[material], 0.4, 0.2, collapsed)  # some tets are inverted


@pytest.mark.parametrize("material", ORIENTED)
def test_damping_potential_of_tets_that_must_not_invert(material):
    """If not, vector lanes and the functions of one element have different Hessians of these energies."""
    check_damping_potential(ORIENTED[material], 0.06, 0.03, False)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("body", ["solid, all hyperelastic", "curved shell, all", "rod, all"])
def test_damping_of_a_sweep_is_that_of_the_gradient(body, dtype):
    """If not, the groups of entries of a damping matrix have lost a neighbour, or the world: a sweep ends where the gradient is not 0."""
    scene = build(*{**BODIES, **HYPERELASTIC}[body], False, True, 0.03)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=2000), dt=1 / 50, dtype=dtype)
    sim.step(2)
    sim.step(record=True)
    record = sim.last_step
    assert record["gradient_norm"][-1] <= (1e-4 if dtype == "float32" else 1e-10) * record["gradient_norm"][0]


def test_float32_gradient_is_that_of_float64_to_its_precision():
    """If not, the single-precision build sums forces from large coordinates and loses their digits."""
    points, tets = inputs.kuhn_grid(6, 2, 2, 0.1)
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e4), density=1000.0)
    x = (points * [1.1, 1.0, 0.95]).astype(np.float32)
    gradients = []
    for dtype in ("float64", "float32"):
        sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=1 / 30, dtype=dtype)
        sim.set_state(positions=x)
        gradients.append(sim.gradient())
        assert gradients[-1].dtype == dtype and sim.system_matrix().dtype == np.float64
    assert np.abs(gradients[1] - gradients[0]).max() <= 1e-5 * np.abs(gradients[0]).max()
