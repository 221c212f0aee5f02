"""Derivatives next to the degenerate shapes, 1e-2 away from the points where an energy has a kink."""

import numpy as np
import pytest
from element_cases import UNIT, central_differences, rotations

import pdgpu
from pdgpu import elements

# signed singular values; an energy has a kink only where the two smallest add up to zero
TETS = [
    (1.3, 0.7, 0.0),
    (1.3, 0.7, 1e-3),
    (1.3, 0.7, -1e-3),
    (1.3, 0.7, -0.3),
    (1.3, 0.7, -0.68),
    (2.0, 0.03, 0.0),
    (2.0, 0.03, -0.015),
    (0.02, 0.015, 0.01),
    (1.3, 1.3, -0.5),
    (3.0, 0.2, 0.2),
]
# an energy has a kink where the smaller is zero
TRIANGLES = [(1.3, 0.7), (1.3, 0.3), (1.3, 0.02), (0.03, 0.011), (0.8, 0.8)]
SMOOTH = [pdgpu.NeoHookean(5.0, 9.0), pdgpu.StVK(5.0, 9.0)]  # polynomials in F: no kink anywhere
TET_MATERIALS = [
    pdgpu.ARAP(5.0),
    pdgpu.Volume(5.0),
    pdgpu.StrainLimit(0.8, 1.2, 5.0),
    pdgpu.StrainLimit(0.5, 2.5, 5.0),
    pdgpu.Corotated(5.0, 9.0),
    pdgpu.FixedCorotated(5.0, 9.0),
    pdgpu.ShapeTarget(5.0, [[1.4, 0.3, 0.0], [0.0, 0.8, 0.1], [0.0, 0.0, 1.1]]),
    *SMOOTH,
]
TRIANGLE_MATERIALS = [pdgpu.ARAP(5.0), pdgpu.Area(5.0), pdgpu.StrainLimit(0.85, 1.2, 5.0), pdgpu.Corotated(5.0, 9.0), pdgpu.StVK(5.0, 9.0)]


def batch(values, corners, seed=0, copies=6):
    """Unit elements under U diag(values) V^T for several random U, V."""
    rng = np.random.default_rng(seed)
    s = np.repeat(np.asarray(values, dtype=float), copies, axis=0)
    u, d = rotations(len(s), rng), s.shape[1]
    v = rotations(len(s), rng) if d == 3 else np.linalg.qr(rng.normal(size=(len(s), 2, 2)))[0]
    F = np.einsum("mak,mk,mbk->mab", u[:, :, :d], s, v)
    x = np.zeros((len(s), corners, 3))
    x[:, 1:] = F.transpose(0, 2, 1)
    return x + rng.normal(size=(len(s), 1, 3)), np.broadcast_to(UNIT[:corners], x.shape)


def check(material, x, rest):
    gradient = elements.gradient(material, x, rest)
    numeric = central_differences(lambda at: elements.energy(material, at, rest), x).reshape(x.shape)
    scale = np.abs(numeric).max(axis=(1, 2)) + 1e-3
    assert (np.abs(gradient - numeric).max(axis=(1, 2)) / scale).max() < 1e-6
    hessian = elements.hessian(material, x, rest)
    numeric = central_differences(lambda at: elements.gradient(material, at, rest).reshape(len(x), -1), x)
    scale = np.abs(numeric).max(axis=(1, 2)) + 1e-3
    assert (np.abs(hessian - numeric).max(axis=(1, 2)) / scale).max() < 1e-5


@pytest.mark.parametrize("material", TET_MATERIALS, ids=repr)
def test_flat_and_inverted_tets(material):
    """If not, a crushed or inverted tet sends Newton in a wrong direction, where it is needed most."""
    check(material, *batch(TETS, 4))


@pytest.mark.parametrize("material", TRIANGLE_MATERIALS, ids=repr)
def test_nearly_collapsed_triangles(material):
    """If not, a crumpled cloth is solved with the wrong stiffness."""
    check(material, *batch(TRIANGLES, 3))


@pytest.mark.parametrize("material", SMOOTH, ids=repr)
def test_polynomials_at_collapse(material):
    """If not, a tet crushed to a sheet, a needle or a point, or its mirror image, stops Newton for no reason of the energy."""
    check(material, *batch([(0, 0, 0), (1.5, 0, 0), (1.5, 0.7, 0), (1.2, 0.5, -0.5), (1, 1, -1), (0.9, 0.9, -0.9), (1, 1, 1)], 4))


def test_stvk_triangle_at_collapse():
    """If not, a crumpled cloth of StVK is solved with the wrong stiffness."""
    check(pdgpu.StVK(5.0, 9.0), *batch([(0.0, 0.0), (1.5, 0.0), (1.0, 1.0), (0.8, 1e-4)], 3))


@pytest.mark.parametrize("length", [0.011, 0.05, 0.5, 3.0])
def test_short_springs(length):
    """If not, a compressed spring pushes the wrong way."""
    rng = np.random.default_rng(1)
    x = np.zeros((20, 2, 3))
    x[:, 1] = length * rotations(20, rng)[:, 0]
    check(pdgpu.Spring(7.0), x, np.broadcast_to(UNIT[:2], x.shape))


def test_volume_on_both_sides_of_the_fork():
    """If not, a tet that is blown up is projected to the farther of two stationary points: its energy is not the distance squared."""
    s = [(s0, s1, s2) for s0 in (1.5, 2.0, 4.0) for s1 in (1.2, 1.5) for s2 in (0.3, 0.9, 1.15)]
    check(pdgpu.Volume(5.0), *batch(s, 4, copies=2))
    # two local minima, the nearer one changes at 1.9019; next to a kink, so the energy only
    s += [(c + 1e-3, c, c - 1e-3) for c in (1.89, 1.895, 1.91, 1.92, 1.95)]
    energy = 6.0 * elements.energy(pdgpu.Volume(2.0), *batch(s, 4, copies=1))
    # the distance by brute force over p_0, p_1 with p_2 = 1/(p_0 p_1)
    p = np.exp(np.linspace(-3.0, 2.0, 1200))
    p0, p1 = np.meshgrid(p, p)
    for values, found in zip(s, energy, strict=True):
        best = ((p0 - values[0]) ** 2 + (p1 - values[1]) ** 2 + (1 / (p0 * p1) - values[2]) ** 2).min()
        assert found <= best + 1e-12 and found == pytest.approx(best, abs=1e-3)


@pytest.mark.parametrize("corners", [4, 3, 2])
def test_projected_hessian_is_the_nearest_positive_semidefinite_one(corners):
    """If not, `psd=True` changes directions that needed no change, and Newton crawls."""
    if corners == 2:
        x = np.zeros((8, 2, 3))
        x[:, 1] = np.linspace(0.05, 2.0, 8)[:, None] * rotations(8, np.random.default_rng(2))[:, 0]
        rest = np.broadcast_to(UNIT[:2], x.shape)
    else:
        x, rest = batch(TETS if corners == 4 else TRIANGLES, corners)
    for material in {4: TET_MATERIALS, 3: TRIANGLE_MATERIALS, 2: [pdgpu.Spring(7.0)]}[corners]:
        # the rest gradients of a unit element are unit vectors: the block of vertices 1.. is d2E/dF2
        plain, projected = (elements.hessian(material, x, rest, psd=psd)[:, 3:, 3:] for psd in (False, True))
        values, vectors = np.linalg.eigh(plain)
        expected = np.einsum("mik,mk,mjk->mij", vectors, np.maximum(values, 0.0), vectors)
        scale = np.abs(plain).max(axis=(1, 2))[:, None, None] + 1e-3
        assert (np.abs(projected - expected) / scale).max() < 1e-11
