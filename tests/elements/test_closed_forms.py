"""Elements against answers on paper."""

import numpy as np
import pytest
from element_cases import UNIT

import pdgpu
from pdgpu import elements

POLAR = [
    (np.diag([1, 1, -0.5]), np.eye(3), 2.25),
    (np.diag([-2, 1, 0.5]), np.diag([-1, 1, -1]), 3.25),
    (-np.eye(3), None, 4.0),
    (np.diag([-2.0, 1, 1]), None, 5.0),
    (np.zeros((3, 3)), np.eye(3), 3.0),
    (np.diag([2.0, 0, 0]), None, 3.0),
    (np.diag([2.0, 3, 0]), np.eye(3), 6.0),
    (np.diag([1, 1, -1e-9]), np.eye(3), 1 + 2e-9),
    (np.array([[1.0, 5, 0], [0, 1, 0], [0, 0, 1]]), None, 18.2296703857),
]


@pytest.mark.parametrize(("dtype", "tolerance", "turn"), [(np.float64, 1e-10, 1e-13), (np.float32, 2e-6, 1e-6)])
@pytest.mark.parametrize(("F", "rotation", "square"), POLAR)
def test_polar_decomposition_gives_a_rotation_for_every_matrix(F, rotation, square, dtype, tolerance, turn):
    """If not, an inverted tet is pulled to a mirror image and never comes back."""
    x, rest = (UNIT @ np.asarray(F, dtype=float).T)[None].astype(dtype), UNIT[None].astype(dtype)
    R = elements.projection(pdgpu.ARAP(0.5), x, rest)[0].astype(float)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=turn)
    assert np.linalg.det(R) == pytest.approx(1.0, abs=turn)
    if rotation is not None:
        np.testing.assert_allclose(R, rotation, atol=tolerance)
    # mu |F - R|^2 times the volume 1/6
    assert 6.0 * elements.energy(pdgpu.ARAP(1.0), x, rest)[0] == pytest.approx(square, abs=tolerance * max(1.0, square))


def test_polar_decomposition_of_many_matrices_in_both_precisions():
    """If not, some orientation or some scale has a blind spot."""
    rng = np.random.default_rng(1)
    F = rng.normal(size=(20000, 3, 3))
    F[:5000, :, 2] *= 1e-6
    F[5000:8000] *= 1e-12
    F[8000:9000, :, 1:] = F[8000:9000, :, :1]
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 5e-6)):
        x = np.einsum("kc,mbc->mkb", UNIT, F).astype(dtype)
        R = elements.projection(pdgpu.ARAP(0.5), x, np.broadcast_to(UNIT, x.shape).astype(dtype)).astype(np.float64)
        assert np.abs(np.einsum("mab,mac->mbc", R, R) - np.eye(3)).max() < tolerance
        assert np.abs(np.linalg.det(R) - 1.0).max() < tolerance


def test_arap_of_a_body_twice_as_large():
    """If not, the energy is not mu |F - R|^2 per volume."""
    mu = 7.0
    assert elements.energy(pdgpu.ARAP(mu), 2.0 * UNIT[None], UNIT[None])[0] == pytest.approx(3.0 * mu / 6.0, rel=1e-12)


def test_spring_and_attachment():
    """If not, k/2 (l - L)^2 is something else."""
    rest, x = np.array([[[0.0, 0, 0], [0, 2, 0]]]), np.array([[[0.0, 0, 0], [0, 0, 5]]])
    assert elements.energy(pdgpu.Spring(3.0), x, rest)[0] == pytest.approx(0.5 * 3 * 9, rel=1e-14)
    target, x = np.array([[[1.0, 2, 3]]]), np.array([[[1.0, 2, 7]]])
    assert elements.energy(pdgpu.Attachment(3.0), x, target)[0] == pytest.approx(0.5 * 3 * 16, rel=1e-14)


def test_bending_is_the_quadratic_form_of_bergou():
    """If not, the cotangent weights of a hinge are wrong [Bergou et al. 2006]."""
    rest = np.array([[0.0, 0, 0], [1.0, 0, 0], [0.3, 0.8, 0], [0.7, -0.6, 0]])

    def cotangent(at, a, b):
        u, v = rest[a] - rest[at], rest[b] - rest[at]
        return u @ v / np.linalg.norm(np.cross(u, v))

    c01, c02, c03, c04 = cotangent(0, 1, 2), cotangent(0, 1, 3), cotangent(1, 0, 2), cotangent(1, 0, 3)
    c = np.array([c03 + c04, c01 + c02, -c01 - c03, -c02 - c04])
    area = 0.5 * (0.8 + 0.6)
    x = rest + np.random.default_rng(2).normal(size=(4, 3))
    expected = 0.5 * 2.5 * 3.0 / area * np.sum((c @ x) ** 2)
    assert elements.energy(pdgpu.Bending(2.5), x[None], rest[None])[0] == pytest.approx(expected, rel=1e-12)


def test_volume_projection_is_the_nearest_matrix_of_determinant_one():
    """If not, w (F - P) is not the gradient of the energy."""
    rng = np.random.default_rng(3)
    sigma = np.sort(rng.uniform(0.2, 2.5, size=(40, 3)), axis=1)[:, ::-1].copy()
    sigma[::4, 2] *= -1.0
    x = np.einsum("kc,mc->mkc", UNIT, sigma)
    P = elements.projection(pdgpu.Volume(1.0), x, np.broadcast_to(UNIT, x.shape))
    np.testing.assert_allclose(np.linalg.det(P), 1.0, atol=1e-12)
    distance = np.sum((P - np.einsum("mc,cd->mcd", sigma, np.eye(3))) ** 2, axis=(1, 2))
    # brute force over diagonal candidates p1, p2 and p3 = 1/(p1 p2)
    p = np.exp(np.linspace(-3.5, 1.5, 400))
    p1, p2 = np.meshgrid(p, p)
    for s, d in zip(sigma, distance, strict=True):
        best = ((p1 - s[0]) ** 2 + (p2 - s[1]) ** 2 + (1 / (p1 * p2) - s[2]) ** 2).min()
        assert d <= best + 1e-9


def test_strain_limit_clamps_singular_values():
    """If not, a limit lets more strain through than it says."""
    sigma = np.array([1.7, 1.05, 0.4])
    P = elements.projection(pdgpu.StrainLimit(0.8, 1.2, 1.0), (UNIT * sigma)[None], UNIT[None])[0]
    np.testing.assert_allclose(P, np.diag([1.2, 1.05, 0.8]), atol=1e-14)
