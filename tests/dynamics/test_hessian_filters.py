"""Filters of the Hessian, next to eigendecompositions in NumPy, and Newton's method with each of them."""

import inputs
import numpy as np
import pytest
from element_cases import ORTHOTROPIC, WOVEN

import pdgpu
from pdgpu.contact import contact_pairs
from pdgpu.materials import elements
from pdgpu.simulation import checkpoint

FILTERS = ("auto", "clamp", "absolute", "adaptive", "exact")
ABSOLUTE, ABSOLUTE_PAIR = 7, 9  # quantities of csrc/python/batches
TETS = [pdgpu.NeoHookean(2e4, 1e5), pdgpu.ARAP(2e4), pdgpu.StVK(2e4, 3e4), pdgpu.Corotated(2e4, 1e5), pdgpu.Volume(1e4), ORTHOTROPIC]
TRIANGLES = [pdgpu.ARAP(2e4), pdgpu.StVK(2e4, 3e4), pdgpu.Corotated(2e4, 1e5), WOVEN]


def magnitudes(H):
    values, vectors = np.linalg.eigh(H)
    return np.einsum("mij,mj,mkj->mik", vectors, np.abs(values), vectors)


def deformed(d, m=60):
    """Random rest shapes of d + 1 corners, and where random maps, half of them inverting, take them."""
    rng = np.random.default_rng(3)
    rest = np.zeros((m, d + 1, 3))
    rest[:, 1:, :d] = np.eye(d) + 0.2 * rng.uniform(-1, 1, (m, d, d))
    maps = np.eye(3) + 0.6 * rng.normal(size=(m, 3, 3))
    return rest, np.einsum("mab,mib->mia", maps, rest) + rng.normal(size=(m, 1, 3))


@pytest.mark.parametrize(
    ("d", "material"), [*((3, m) for m in TETS), *((2, m) for m in TRIANGLES), (1, pdgpu.Spring(100.0))], ids=lambda value: str(value)[:12]
)
def test_absolute_eigenvalues_of_elements(d, material):
    """If not, a closed form drops, clamps or doubles an eigenvalue that the absolute filter turns round."""
    rest, x = deformed(d)
    edges = (rest[:, 1:] - rest[:, :1])[:, :, :d]  # K = G H G^T with G = edges^-1
    if d == 1:
        edges = np.ones_like(edges)  # a spring's F is the difference of its ends
    exact = elements.hessian(material, x, rest)[:, 3:, 3:].reshape(-1, d, 3, d, 3)
    H = np.einsum("mib,miakc,mkd->mabcd", edges, exact, edges).reshape(-1, 3 * d, 3 * d)
    G = np.linalg.inv(edges)
    expected = np.einsum("mbi,mabcd,mdk->miakc", G, magnitudes(H).reshape(-1, 3, d, 3, d), G).reshape(-1, 3 * d, 3 * d)
    found = elements._batch(ABSOLUTE, material, x, rest, 1)[:, 3:, 3:]
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(found / scale, expected / scale, atol=1e-11)
    if not isinstance(material, pdgpu.Volume):
        assert (np.linalg.eigvalsh(H).min(axis=1) < -1e-3 * np.abs(H).max(axis=(1, 2))).sum() > 5  # it has something to turn round


@pytest.mark.parametrize(("kind", "threshold"), [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.0), (3, 2.0)])
def test_absolute_eigenvalues_of_pairs(kind, threshold):
    """If not, the part across a pair, which clamping drops, is lost or kept with its sign."""
    rng, m = np.random.default_rng(5), 200
    x = np.array([[0.3, 0.3, 0.15], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]) + 0.05 * rng.normal(size=(m, 4, 3))
    if kind == 3:
        x[:, :2] = np.array([[0.3, -0.5, 0.2], [0.3, 0.5, 0.2]]) + 0.05 * rng.normal(size=(m, 2, 3))
        x[:, 2:] = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]) + 0.05 * rng.normal(size=(m, 2, 3))
    corners = (2, 3, 4, 4)[kind]
    points = np.full((m, 4), -1, dtype=np.int32)
    points[:, :corners] = 4 * np.arange(m)[:, None] + np.arange(corners)
    numbers = [np.full(m, value) for value in (2.0, 0.0, 1.0, threshold)]
    call = (pdgpu.BarrierContact(0.3, stiffness=1e4), np.full(m, kind, dtype=np.int32), points, *numbers, x.reshape(-1, 3), 1)
    exact, found = contact_pairs._batch(contact_pairs.HESSIAN, *call), contact_pairs._batch(ABSOLUTE_PAIR, *call)
    scale = np.abs(exact).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(found / scale, magnitudes(exact) / scale, atol=1e-10)
    assert (np.linalg.eigvalsh(exact).min(axis=1) < -1e-3 * scale[:, 0, 0]).all()  # there is something to turn round


def inverted_bar(scale=(0.4, 1.3, 1.0)):
    points, tets = inputs.kuhn_grid(4, 2, 2, 0.2)
    scene = pdgpu.Scene()
    material = pdgpu.NeoHookean.from_young(1e5, 0.4)
    scene.add_solid(pdgpu.Mesh(points, tets=tets), material, density=1000.0).pin(points[:, 0] == 0.0)
    x = points * scale + 0.06 * np.random.default_rng(2).normal(size=points.shape) * (points[:, :1] > 0)
    return scene, material, tets, points, x


def assembled(scene, material, tets, rest, x, turned, h):
    """The Hessian with clamped or absolute eigenvalues of each tet, in NumPy (3n, 3n)."""
    n, m = len(rest), len(tets)
    at, shape = x[tets], rest[tets]
    edges = shape[:, 1:] - shape[:, :1]
    exact = elements.hessian(material, at, shape)[:, 3:, 3:].reshape(m, 3, 3, 3, 3)
    H = np.einsum("mib,miakc,mkd->mabcd", edges, exact, edges).reshape(m, 9, 9)
    values, vectors = np.linalg.eigh(H)
    kept = np.einsum("mij,mj,mkj->mik", vectors, turned(values), vectors).reshape(m, 3, 3, 3, 3)
    g = np.linalg.inv(edges)
    g = np.concatenate([-g.sum(axis=2, keepdims=True), g], axis=2)  # of all corners
    K = np.einsum("mbi,mabcd,mdk->miakc", g, kept, g).reshape(m, 12, 12)
    total = np.diag(np.repeat(scene.masses() / h**2, 3))
    rows = (3 * tets[:, :, None] + np.arange(3)).reshape(m, 12)
    for r, block in zip(rows, K, strict=True):
        total[np.ix_(r, r)] += block
    return total[: 3 * n, : 3 * n]


@pytest.mark.parametrize("name", ["clamp", "absolute", "adaptive"])
def test_iterates_are_those_of_numpy(name):
    """If not, Newton's method filters other eigenvalues than it says, or the adaptive rule reads another ratio."""
    h, iterations = 1 / 30, 8
    scene, material, tets, rest, x = inverted_bar()
    solver = pdgpu.Newton(iterations=iterations, hessian=name, line_search=False, initialization="previous")
    sim, plain = (pdgpu.Simulation(scene, solver, dt=h) for _ in range(2))
    for each in (sim, plain):
        each.set_state(positions=x)
    sim.step(record="positions")
    free = np.repeat(plain._core.fixed == 0, 3)
    found, seen, before = sim.last_step.positions, [], None
    for k in range(len(found) - 1):
        at, clamped = found[k], name == "clamp"
        G = plain.incremental_potential(at)
        if name == "adaptive" and before is not None:
            clamped = abs((before[0] - G) / before[1] - 1.0) <= 0.01
        seen.append(clamped)
        H = assembled(scene, material, tets, rest, at, (lambda v: np.maximum(v, 0.0)) if clamped else np.abs, h)
        g = plain.gradient(at).ravel()
        d = np.zeros(x.size)
        d[free] = np.linalg.solve(H[np.ix_(free, free)], g[free])
        before = G, g @ d - 0.5 * d @ (plain.hessian(at) @ d)
        np.testing.assert_allclose(found[k + 1], at - d.reshape(-1, 3), rtol=0, atol=1e-9 * max(1.0, np.abs(d).max()))
    if name == "adaptive":
        assert len(set(seen)) == 2  # both filters occur


@pytest.mark.parametrize("linear", [pdgpu.Direct(), pdgpu.PCG(preconditioner="block"), "auto"], ids=["direct", "pcg", "auto"])
@pytest.mark.parametrize("name", FILTERS[:-1])
def test_one_answer(name, linear):
    """If not, a filter changes what is minimised."""
    scene, *_, x = inverted_bar((1.3, 1.0, 1.0))
    ends = []
    for solver in (pdgpu.Newton(iterations=200), pdgpu.Newton(iterations=400, hessian=name, linear=linear)):
        sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
        sim.set_state(positions=x)
        sim.step()
        ends.append(sim.positions)
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", FILTERS[1:-1])
def test_one_answer_in_contact(name):
    """If not, a filter of contact pairs leads elsewhere, or a step limit is lost."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    mesh = pdgpu.shapes.beam((0.3, 0.3, 0.3), cells=(2, 2, 2))
    scene.add_solid(pdgpu.Mesh(mesh.points + [0.0, 5e-4, 0.0], tets=mesh.tets), pdgpu.NeoHookean.from_young(1e5, 0.4), density=1000.0)
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    ends = []
    for filtered in ("auto", name):
        solver = pdgpu.Newton(iterations=200, tolerance=1e-9, hessian=filtered)
        sim = pdgpu.Simulation(scene, solver, dt=1 / 100, contact=pdgpu.BarrierContact(1e-3, stiffness=1e6))
        sim.step(2)
        ends.append(sim.positions)
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-8)


def test_auto_is_the_default_and_in_no_file():
    """If not, the setting changes runs that do not ask for it, or files that an earlier release reads."""
    assert pdgpu.Newton().hessian == "auto" and pdgpu.Newton() == pdgpu.Newton(hessian="auto")
    assert "hessian" not in str(checkpoint._describe(pdgpu.Newton()))


def test_what_is_refused():
    """If not, an indefinite system is solved as it is, or an unknown filter is another one."""
    with pytest.raises(ValueError, match="hessian: expected one of 'auto', 'clamp'"):
        pdgpu.Newton(hessian="positive")
    scene, *_, x = inverted_bar()
    for linear in (pdgpu.Direct(), pdgpu.PCG(preconditioner="block"), "auto"):
        sim = pdgpu.Simulation(scene, pdgpu.Newton(hessian="exact", linear=linear, initialization="previous"), dt=10.0)
        sim.set_state(positions=x)
        with pytest.raises(pdgpu.DivergenceError, match=r"hessian='auto' filters it"):
            sim.step()
    scene, *_, rest, _ = inverted_bar()
    sim = pdgpu.Simulation(scene, pdgpu.Newton(hessian="exact", iterations=40, initialization="previous"), dt=1 / 30)
    sim.set_state(positions=rest * [1.05, 1.0, 1.0])
    sim.step()
    assert sim.last_step.status == "converged"  # definite all the way
