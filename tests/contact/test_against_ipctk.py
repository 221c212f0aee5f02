"""pdgpu.contact against ipctk, pair by pair and mesh by mesh; skipped where ipctk is not installed (the extra `bench` has it)."""

import numpy as np
import pytest
from contact_meshes import MESHES
from contact_pairs import PLANE, evaluate, random_pairs

import pdgpu
from pdgpu import _cpu_f64, contact
from pdgpu.contact.contact_surface import EDGE_EDGE, VERTEX_EDGE, VERTEX_TRIANGLE

ipctk = pytest.importorskip("ipctk", reason="ipctk is not installed: pip install ipctk")
RELATIVE = 1e-10
FORMS = {"plain": False, "area-weighted and physical": True}


def of_ipctk(x, triangles, edges, rest, distance, stiffness, separation, physical):
    """Energy, gradient (n, 3), Hessian and projected Hessian (CSR)."""
    faces = np.asfortranarray(triangles, np.int32)
    rows = ipctk.edges(faces) if edges is None else np.concatenate([ipctk.edges(faces), edges])
    x = np.asfortranarray(x)
    mesh = ipctk.CollisionMesh(np.asfortranarray(rest), np.asfortranarray(rows, np.int32), faces)
    collisions = ipctk.NormalCollisions()
    collisions.use_area_weighting = physical
    collisions.build(mesh, x, distance, separation)
    potential = ipctk.BarrierPotential(distance, stiffness, physical)
    hessians = [
        potential.hessian(collisions, mesh, x, method).tocsr()
        for method in (ipctk.PSDProjectionMethod.NONE, ipctk.PSDProjectionMethod.CLAMP)
    ]
    return potential(collisions, mesh, x), potential.gradient(collisions, mesh, x).reshape(-1, 3), *hessians


def ours(pairs, x):
    return pairs.energy(x), pairs.gradient(x), pairs.hessian(x), pairs.hessian(x, psd=True)


def row_sizes(matrix):
    return np.asarray(abs(matrix).max(axis=1).todense()).ravel()


def test_ten_thousand_random_pairs():
    """If it failed, some closest feature would have another force or stiffness than in every other code of this field."""
    points, triangles, edges, start = [], [], [], 0
    for kind in range(4):
        for i, x in enumerate(random_pairs(_cpu_f64, kind, 2500, 10 + kind, least=0.06, reach=0.98)):
            place = np.array([i % 14, i // 14 % 14, i // 196 + 13 * kind]) * 8.0
            points.append(x + place)
            rows = start + np.arange(len(x))
            triangles += [rows[1:4]] if kind == VERTEX_TRIANGLE else []
            edges += [rows[1:3]] if kind == VERTEX_EDGE else [rows[:2], rows[2:]] if kind == EDGE_EDGE else []
            start += len(x)
    of_point = np.repeat(np.arange(len(points)), [len(x) for x in points])
    x, triangles, edges = np.concatenate(points), np.array(triangles), np.array(edges)
    described = pdgpu.BarrierContact(0.97, stiffness=3.0, separation=0.05, area_weighted=False)
    pairs = contact.find_pairs(described, x, triangles, edges)
    assert len(pairs) > 9500 and len(points) == 10000
    assert (pairs.threshold > 0).sum() > 2000
    energy, gradient, *hessians = ours(pairs, x)
    energy_0, gradient_0, *hessians_0 = of_ipctk(x, triangles, edges, x, 0.97, 3.0, 0.05, False)
    assert abs(energy - energy_0) < RELATIVE * energy_0
    size = np.zeros(len(points))
    np.maximum.at(size, of_point, np.abs(gradient_0).max(axis=1))
    assert (np.abs(gradient - gradient_0).max(axis=1) <= RELATIVE * size[of_point]).all()
    for mine, theirs in zip(hessians, hessians_0, strict=True):
        size = np.zeros(len(points))
        np.maximum.at(size, np.repeat(of_point, 3), row_sizes(theirs))
        assert (row_sizes(mine - theirs) <= RELATIVE * np.repeat(size[of_point], 3)).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MESHES)
def test_meshes(name, form):
    """If it failed, pairs would be missed or counted twice, or weighted with another area."""
    x, triangles, edges, rest, distance = MESHES[name]()
    physical = FORMS[form]
    if physical and edges is not None:
        pytest.skip("of rods and particles ipctk takes lengths and ones for areas")
    for given in (None, rest) if name != "fold" else (None,):  # the fold is finer than the activation distance
        described = pdgpu.BarrierContact(distance, stiffness=2e4, separation=1e-4, area_weighted=physical)
        pairs = contact.find_pairs(described, x, triangles, edges, given)
        assert len(pairs) > 10
        energy, gradient, *hessians = ours(pairs, x)
        energy_0, gradient_0, *hessians_0 = of_ipctk(x, triangles, edges, x if given is None else given, distance, 2e4, 1e-4, physical)
        assert abs(energy - energy_0) < RELATIVE * energy_0
        assert np.abs(gradient - gradient_0).max() < RELATIVE * np.abs(gradient_0).max()
        for mine, theirs in zip(hessians, hessians_0, strict=True):
            assert abs(mine - theirs).max() < RELATIVE * abs(theirs).max()


@pytest.mark.parametrize("form", FORMS)
def test_vertices_above_a_plane(form):
    """If it failed, the floor would have another law than the bodies."""
    physical = FORMS[form]
    x = random_pairs(_cpu_f64, PLANE, 300, 1, least=0.15)
    settings = dict(distance=0.9, separation=0.1, stiffness=5.0, physical=physical)
    energy, gradient, hessian, projected = (
        evaluate(_cpu_f64, q, PLANE, x, **settings) for q in ("energy", "gradient", "hessian", "hessian_psd")
    )
    potential = ipctk.BarrierPotential(0.9, 5.0, physical)
    for i, (p, o, n) in enumerate(x):
        collision = ipctk.PlaneVertexNormalCollision(ipctk.Hyperplane(n, o), 0)
        collision.dmin = 0.1
        np.testing.assert_allclose(energy[i], potential(collision, p), rtol=RELATIVE)
        np.testing.assert_allclose(
            gradient[i, 0], potential.gradient(collision, p), rtol=RELATIVE, atol=RELATIVE * np.abs(gradient[i]).max()
        )
        for mine, method in ((hessian, ipctk.PSDProjectionMethod.NONE), (projected, ipctk.PSDProjectionMethod.CLAMP)):
            theirs = potential.hessian(collision, p, method)
            np.testing.assert_allclose(mine[i, :3, :3], theirs, atol=RELATIVE * np.abs(theirs).max())
