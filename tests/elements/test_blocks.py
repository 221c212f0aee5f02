"""The 3x3 blocks of single vertices against the diagonal blocks of the elements' Hessians."""

import numpy as np
import pytest
from element_cases import CASES, UNIT, deformation, rotations, samples

import pdgpu
from pdgpu import elements

every_element = pytest.mark.parametrize("case", CASES, ids=list(CASES))
BY_SINGULAR_VALUES = [
    case
    for case, (material, _) in CASES.items()
    if isinstance(material, pdgpu.ARAP | pdgpu.Corotated | pdgpu.Volume | pdgpu.Area | pdgpu.StrainLimit)
]


def diagonal_blocks(hessian):
    """(m, k, 3, 3) of (m, 3k, 3k)."""
    m, k = len(hessian), hessian.shape[1] // 3
    return np.einsum("miaib->miab", hessian.reshape(m, k, 3, k, 3))


def corner_gradients(material, rest):
    """g (m, k, d) of every corner."""
    g = material.rest_shape(np.ascontiguousarray(rest, dtype=np.float64))[0].reshape(len(rest), rest.shape[1] - 1, -1)
    return np.concatenate([-g.sum(axis=1, keepdims=True), g], axis=1)


@every_element
def test_blocks_are_the_diagonal_blocks_where_those_are_positive_semidefinite(case):
    """If not, a vertex is moved by the stiffness of something else."""
    material, x, rest = samples(case, seed=20)
    blocks, hessian = elements.blocks(material, x, rest), elements.hessian(material, x, rest)
    exact = diagonal_blocks(hessian)
    scale = np.abs(exact).max(axis=(1, 2, 3)) + 1e-3
    # never less than the exact block: a step that is too short, never one that is too long
    assert (np.linalg.eigvalsh(blocks - exact).min(axis=(1, 2)) / scale).min() > -1e-12
    if "stvk" in case or "orthotropic" in case or case == "fixed corotated tet":
        return  # what is clamped there is the stress, or a part of the energy, see below
    definite = np.linalg.eigvalsh(hessian).min(axis=1) > -1e-13 * scale
    assert definite.any() or case in ("volume", "area", "slide", "hinge, flat", "hinge, curved")
    np.testing.assert_allclose(blocks[definite], exact[definite], atol=1e-12 * scale.max())


@pytest.mark.parametrize("case", BY_SINGULAR_VALUES)
def test_blocks_by_singular_values_are_those_of_the_projected_hessian(case):
    """If not, what is clamped in a block is not what is clamped in a Hessian."""
    material, x, rest = samples(case, seed=21)
    exact = diagonal_blocks(elements.hessian(material, x, rest, psd=True))
    np.testing.assert_allclose(elements.blocks(material, x, rest), exact, atol=1e-12 * np.abs(exact).max())


@every_element
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_are_symmetric_and_positive_semidefinite_at_any_shape(case, dtype):
    """If not, a vertex of a crushed element is sent up the hill, or anywhere."""
    material, rest = CASES[case]
    rng = np.random.default_rng(22)
    squeezed = [
        rest * 0.0,
        rest * [1, 1, 0],
        rest * [1, 0, 0],
        rest * [1, 1, -1],
        -rest,
        rest * 0.3,
        rest * [1e-9, 1, 1],
        rest * 100.0,
        rest,
    ]
    x = np.concatenate([np.stack(squeezed), rest + 3.0 * rng.normal(size=(200, *rest.shape))]).astype(dtype)
    if case == "log neo-Hookean tet":  # which has no finite energy elsewhere
        x = x[np.linalg.det(deformation(material, x.astype(np.float64), np.broadcast_to(rest, x.shape))) > 1e-8]
        assert len(x) > 90
    blocks = elements.blocks(material, x, np.broadcast_to(rest, x.shape).astype(dtype))
    assert blocks.dtype == dtype and np.isfinite(blocks).all()
    np.testing.assert_array_equal(blocks, blocks.transpose(0, 1, 3, 2))
    lowest = np.linalg.eigvalsh(blocks.astype(np.float64)).min(axis=2)
    assert (lowest >= -16 * np.finfo(dtype).eps * np.abs(blocks).max(axis=(2, 3))).all()


def test_neo_hookean_blocks_have_the_least_eigenvalue_mu_g_squared():
    """If not, G restricted to a vertex is not the convex quadratic that Vertex Block Descent minimises exactly."""
    mu = 30.0
    material, rng = pdgpu.NeoHookean(mu, 90.0), np.random.default_rng(23)
    rest = np.broadcast_to(UNIT, (500, 4, 3)) + 0.1 * rng.normal(size=(500, 4, 3))
    x = 2.0 * rng.normal(size=rest.shape)  # half of them inverted
    assert 100 < (np.linalg.det(deformation(material, x, rest)) < 0).sum() < 400
    g, volume = corner_gradients(material, rest), material.rest_shape(rest)[1]
    lowest = np.linalg.eigvalsh(elements.blocks(material, x, rest))[:, :, :2]
    expected = mu * volume[:, None] * np.sum(g**2, axis=2)
    np.testing.assert_allclose(lowest, np.repeat(expected[:, :, None], 2, axis=2), rtol=1e-9)
    np.testing.assert_allclose(
        elements.blocks(material, x, rest), diagonal_blocks(elements.hessian(material, x, rest)), rtol=1e-9, atol=1e-9
    )
    assert np.linalg.eigvalsh(elements.hessian(material, x, rest)).min() < -1.0  # the whole Hessian is not


@pytest.mark.parametrize("case", ["stvk tet", "stvk triangle"])
def test_stvk_blocks_lose_only_the_compressive_stress(case):
    """If not, the clamp takes away more of the stiffness than what is indefinite."""
    material, x, rest = samples(case, seed=24)
    mu, lam = 30.0, 50.0
    g, measure = corner_gradients(material, rest), material.rest_shape(rest)[1]
    F = deformation(material, x, rest)
    E = 0.5 * (F.transpose(0, 2, 1) @ F - np.eye(F.shape[2]))
    S = 2 * mu * E + lam * np.trace(E, axis1=1, axis2=2)[:, None, None] * np.eye(F.shape[2])
    along = measure[:, None] * np.einsum("mib,mbc,mic->mi", g, S, g)
    assert (along < 0).any() and (along > 0).any()
    expected = diagonal_blocks(elements.hessian(material, x, rest)) + np.maximum(-along, 0.0)[:, :, None, None] * np.eye(3)
    np.testing.assert_allclose(elements.blocks(material, x, rest), expected, atol=1e-11 * np.abs(expected).max())


def test_fixed_corotated_blocks_are_those_of_arap_and_of_the_volume():
    """If not, the clamp changes the volume term, which is convex in one corner: lam V (cof(F) g) (cof(F) g)^T."""
    material, x, rest = samples("fixed corotated tet", seed=27)
    g, volume = corner_gradients(material, rest), material.rest_shape(rest)[1]
    F = deformation(material, x, rest)
    cofactor = np.linalg.det(F)[:, None, None] * np.linalg.inv(F).transpose(0, 2, 1)
    c = np.einsum("mab,mib->mia", cofactor, g)
    expected = elements.blocks(pdgpu.ARAP(30.0), x, rest) + 50.0 * volume[:, None, None, None] * c[:, :, :, None] * c[:, :, None, :]
    np.testing.assert_allclose(elements.blocks(material, x, rest), expected, atol=1e-11 * np.abs(expected).max())


def test_block_of_a_spring_by_its_formula():
    """If not, the clamp max(0, 1 - L/l) is not that of Vertex Block Descent."""
    rng, k = np.random.default_rng(25), 7.0
    directions, lengths = rotations(20, rng)[:, 0], np.linspace(0.1, 2.0, 20)
    x = np.zeros((20, 2, 3))
    x[:, 1] = lengths[:, None] * directions
    along = directions[:, :, None] * directions[:, None]
    across = np.maximum(0.0, 1.0 - 1.0 / lengths)[:, None, None] * (np.eye(3) - along)
    blocks = elements.blocks(pdgpu.Spring(k), x, np.broadcast_to(UNIT[:2], x.shape))
    for corner in (0, 1):
        np.testing.assert_allclose(blocks[:, corner], k * (along + across), atol=1e-12)


@pytest.mark.parametrize("case", ["slide", "world slide", "swing", "world swing"])
def test_blocks_of_joints_are_exact(case):
    """If not, Vertex Block Descent clamps what is positive semidefinite for every single vertex."""
    material, x, rest = samples(case, seed=26)
    exact = diagonal_blocks(elements.hessian(material, x, rest))
    np.testing.assert_allclose(elements.blocks(material, x, rest), exact, atol=1e-12 * np.abs(exact).max())
