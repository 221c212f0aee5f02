"""Elements against answers on paper."""

import numpy as np
import pytest
from element_cases import UNIT, rotations

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


def test_rod_bending_is_that_of_a_beam():
    """If not, the stiffness of a rod is not Young's modulus times the second moment of area."""
    lengths, angle = np.array([0.2, 0.3]), 1e-3
    rest = np.array([[0.0, 0.0, 0.0], [lengths[0], 0.0, 0.0], [-lengths[1], 0.0, 0.0]])
    x = rest.copy()
    x[1] = lengths[0] * np.array([np.cos(angle), 0.0, np.sin(angle)])
    curvature, half = angle / lengths.mean(), lengths.mean()
    energy = elements.energy(pdgpu.RodBending(7.0), x[None], rest[None])[0]
    assert energy == pytest.approx(0.5 * 7.0 * curvature**2 * half, rel=1e-6)
    # bent at rest: what turns about the rod costs nothing, what straightens it does
    material, turned = pdgpu.RodBending(7.0), x.copy()
    turned[1] = lengths[0] * np.array([np.cos(angle), np.sin(angle), 0.0])
    assert elements.energy(material, turned[None], x[None])[0] < 1e-12 * energy
    assert elements.energy(material, rest[None], x[None])[0] == pytest.approx(energy, rel=1e-6)


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


def test_shape_target_in_its_own_frame():
    """If not, a muscle contracts along another direction than its own, or pulls harder than its stiffness."""
    mu, rng = 7.0, np.random.default_rng(9)
    for Q, V, turn in zip(*(rotations(10, rng) for _ in range(3)), strict=True):
        along = np.array([1.6, 0.9, 0.5])
        material = pdgpu.ShapeTarget(mu, turn @ (V * along) @ V.T)  # whatever the turn, the same target
        s = np.array([1.2, 1.1, 0.3])
        for F, square in (
            (Q @ (V * s) @ V.T, np.sum((s - along) ** 2)),  # stretched along the axes of the target: the rotation is Q
            (Q @ (V * along) @ V.T, 0.0),
            (Q @ (V * [1.2, 1.1, -0.3]) @ V.T, np.sum((s - along) ** 2 * [1, 1, 0]) + (-0.3 - 0.5) ** 2),  # inverted: no mirror image
        ):
            x = (UNIT @ F.T)[None]
            assert 6.0 * elements.energy(material, x, UNIT[None])[0] == pytest.approx(mu * square, rel=1e-12, abs=1e-24)
    x = UNIT[None] + 0.4 * rng.normal(size=(40, 4, 3))
    rest = np.broadcast_to(UNIT, x.shape)
    for function in (elements.energy, elements.gradient, elements.hessian, elements.blocks, elements.projection):
        expected = function(pdgpu.ARAP(mu), x, rest)
        if function is elements.blocks:  # clamped one block at a time, or one Hessian
            definite = np.linalg.eigvalsh(elements.hessian(pdgpu.ARAP(mu), x, rest)).min(axis=1) > -1e-10
            assert definite.any()
            x, rest, expected = x[definite], rest[definite], expected[definite]
        np.testing.assert_allclose(function(pdgpu.ShapeTarget(mu, np.eye(3)), x, rest), expected, atol=1e-11)


def test_shape_target_hessian_by_its_modes():
    """If not, Newton's steps and the sweeps of muscles are those of another energy: w (1 - sum t t^T) with t of polar rotations of F S."""
    s, S = np.array([1.1, 0.6, 0.4]), np.array([1.5, 0.8, 0.7])
    H = elements.hessian(pdgpu.ShapeTarget(3.0, np.diag(S)), (UNIT * s)[None], UNIT[None])[0, 3:, 3:]
    H = H.reshape(3, 3, 3, 3).transpose(1, 0, 3, 2)  # by the entries of F: corners are columns
    for i, j in ((0, 1), (0, 2), (1, 2)):
        part = H[[i, j], [j, i]][:, [i, j], [j, i]]
        t = np.array([S[j], -S[i]])
        np.testing.assert_allclose(part, np.eye(2) - np.outer(t, t) / (s[i] * S[i] + s[j] * S[j]), atol=1e-13)


def test_volume_term_of_corotated_takes_the_polar_rotation():
    """If not, the term is min over R of tr^2(R^T F - I), as [Wang et al. 2021, Sec. 5.6] says of it: that is 0 at another rotation as
    soon as the stretches add up to more than 3, and a body that is blown up would not resist."""
    lam, cosines = 4.0, np.cos(np.linspace(0.0, np.pi, 20001))  # of turns about the last axis
    for s in ([1.3, 1.2, 1.1], [2.0, 0.9, 0.8], [0.8, 0.9, 0.7], [1.2, 0.7, 0.5]):
        energy = 6.0 * elements.energy(pdgpu.Corotated(0.0, lam), (UNIT * s)[None], UNIT[None])[0]
        assert energy == pytest.approx(0.5 * lam * (sum(s) - 3.0) ** 2, rel=1e-12)
        least = 0.5 * lam * np.min((cosines * (s[0] + s[1]) + s[2] - 3.0) ** 2)
        assert least < 1e-6 * energy if sum(s) > 3.0 else least == pytest.approx(energy, rel=1e-12)


def uniaxial(material, a, b, corners=4):
    """(energy per measure, P_xx, P_yy) of a unit element under diag(a, b, b)."""
    x = UNIT[:corners] * [a, b, b]
    measure = {4: 1 / 6, 3: 1 / 2}[corners]
    energy = elements.energy(material, x[None], UNIT[None, :corners])[0]
    P = elements.gradient(material, x[None], UNIT[None, :corners])[0] / measure
    return energy / measure, P[1, 0], P[2, 1]


@pytest.mark.parametrize(
    ("a", "b", "stress", "energy"),
    [
        (1.5, 0.8299933065, 104074.07407407, 28611.1111111),
        (0.5, 1.3416407865, -310000.0, None),
        (2.0, 0.7245688373, 173750.0, None),
        (1.0, 1.0, 0.0, 0.0),
    ],
)
def test_neo_hookean_uniaxial_stretch_with_free_sides(a, b, stress, energy):
    """If not, the pressure of a stretched bar is wrong: b^2 = (alpha - mu/(lam a))/a, P = mu a - (mu/a) b^2, alpha = 1 + mu/lam."""
    mu, lam = 1e5, 1e6
    b_squared = (1 + mu / lam - mu / (lam * a)) / a
    assert b == pytest.approx(np.sqrt(b_squared), abs=1e-10)
    found, along, across = uniaxial(pdgpu.NeoHookean(mu, lam), a, np.sqrt(b_squared))
    assert along == pytest.approx(mu * a - mu / a * b_squared, rel=1e-9, abs=1e-9)
    assert along == pytest.approx(stress, rel=1e-9, abs=1e-9)
    assert across == pytest.approx(0.0, abs=1e-9 * mu)
    if energy is not None:
        assert found == pytest.approx(energy, rel=1e-9, abs=1e-12)


def test_neo_hookean_energy_of_a_point_and_of_a_mirror_image():
    """If not, the energy is not the one without the logarithm, or not shifted to zero at rest: Psi(0) = (lam - mu)/2."""
    mu, lam = 1e5, 1e6
    assert uniaxial(pdgpu.NeoHookean(mu, lam), 0.0, 0.0)[0] == pytest.approx(0.5 * (lam - mu), rel=1e-12)
    assert uniaxial(pdgpu.NeoHookean(mu, lam), -1.0, 1.0)[0] == pytest.approx(2.0 * mu + 2.0 * lam, rel=1e-12)


def test_neo_hookean_energy_keeps_its_digits_near_rest():
    """If not, a line search in float32 sees noise instead of an energy: mu/2 (|F|^2 - 3) and mu (J - 1) are nearly equal there.

    F = Q diag(1 + e): the energy is mu/2 (sum e^2 - 2 sum e_i e_j - 2 e_0 e_1 e_2) + lam/2 (J - 1)^2.
    """
    mu, lam, rng = 3.0, 10.0, np.random.default_rng(6)
    for dtype, size in ((np.float64, 1e-7), (np.float32, 2e-3)):
        for Q in (np.eye(3), *rotations(20, rng)):
            e = size * rng.normal(size=3)
            pairs, triple = e[0] * e[1] + e[0] * e[2] + e[1] * e[2], e[0] * e[1] * e[2]
            J_1 = e.sum() + pairs + triple
            expected = (0.5 * mu * (e @ e - 2 * pairs - 2 * triple) + 0.5 * lam * J_1**2) / 6.0
            x = ((UNIT * (1.0 + e)) @ Q.T).astype(dtype)
            found = elements.energy(pdgpu.NeoHookean(mu, lam), x[None], UNIT[None].astype(dtype))[0]
            # rounding moves a strain by eps, and so the energy by w e eps, w = 3 lam
            slack = 8 * 3 * lam * np.finfo(dtype).eps * (np.linalg.norm(e) + np.finfo(dtype).eps)
            assert found == pytest.approx(expected, abs=slack), (dtype, Q)
    # from one of its two forms to the other, nothing jumps
    scales = np.linspace(0.5, 2.0, 4001)
    x = scales[:, None, None] * UNIT
    energy = 6.0 * elements.energy(pdgpu.NeoHookean(mu, lam), x, np.broadcast_to(UNIT, x.shape))
    J = scales**3
    np.testing.assert_allclose(energy, 0.5 * mu * (3 * scales**2 - 3) - mu * (J - 1) + 0.5 * lam * (J - 1) ** 2, atol=1e-13)


def free_sides(transverse, a):
    """b > 0 with transverse(b) = 0, by bisection; the function rises."""
    low, high = 1e-6, 10.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if transverse(middle) > 0.0 else (middle, high)
    return middle


@pytest.mark.parametrize("a", [0.05, 0.5, 1.0, 1.7, 4.0])
def test_log_neo_hookean_uniaxial_stretch_with_free_sides(a):
    """If not, the pressure of a squeezed bar is wrong: mu (b^2 - 1) + lam log(a b^2) = 0, P = mu a + (lam log J - mu)/a."""
    mu, lam = 1e5, 3e5
    b = free_sides(lambda b: mu * (b**2 - 1) + lam * np.log(a * b**2), a)
    L = np.log(a * b**2)
    energy, along, across = uniaxial(pdgpu.LogNeoHookean(mu, lam), a, b)
    assert along == pytest.approx(mu * (a - b**2 / a), rel=1e-9, abs=1e-9 * mu)  # mu b^2 = mu - lam L
    assert across == pytest.approx(0.0, abs=1e-8 * mu)
    assert energy == pytest.approx(mu / 2 * (a**2 + 2 * b**2 - 3) - mu * L + lam / 2 * L**2, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("a", [0.05, 0.5, 1.0, 1.7, 4.0])
def test_fixed_corotated_uniaxial_stretch_with_free_sides(a):
    """If not, its volume term is another one: 2 mu (b - 1) + lam (J - 1) a b = 0, P = 2 mu (a - 1) + lam (J - 1) b^2, J = a b^2."""
    mu, lam = 1e5, 3e5
    b = free_sides(lambda b: 2 * mu * (b - 1) + lam * (a * b**2 - 1) * a * b, a)
    J = a * b**2
    energy, along, across = uniaxial(pdgpu.FixedCorotated(mu, lam), a, b)
    assert along == pytest.approx(2 * mu * (a - 1) - 2 * mu * (b - 1) * b / a, rel=1e-9, abs=1e-9 * mu)
    assert across == pytest.approx(0.0, abs=1e-8 * mu)
    assert energy == pytest.approx(mu * ((a - 1) ** 2 + 2 * (b - 1) ** 2) + lam / 2 * (J - 1) ** 2, rel=1e-12, abs=1e-9)


def test_fixed_corotated_energy_of_a_tet_of_half_the_size():
    """If not, scenes of other programs with "fixed co-rotated" are of another stiffness: 0.75 mu + 0.3828125 lam, where the trace of the
    other co-rotated energy gives 0.75 mu + 1.125 lam [Stomakhin et al. 2012]."""
    x, rest = 0.5 * UNIT[None], UNIT[None]
    assert 6.0 * elements.energy(pdgpu.FixedCorotated(1.0, 2.0), x, rest)[0] == pytest.approx(1.515625, rel=1e-14)
    assert 6.0 * elements.energy(pdgpu.Corotated(1.0, 2.0), x, rest)[0] == pytest.approx(3.0, rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_neo_hookean_of_flat_and_inverted_tets(dtype):
    """If not, a line search accepts an inverted tet, or a NaN passes for an energy."""
    x = np.stack([UNIT * s for s in ([1, 1, 0], [1, 1, -1], [1, 1, -1e-3], [0, 0, 0], [-1, -1, -1])]).astype(dtype)
    rest = np.broadcast_to(UNIT.astype(dtype), x.shape)
    for material in (pdgpu.LogNeoHookean(3.0, 5.0), pdgpu.LogNeoHookean(3.0, 0.0)):
        assert (elements.energy(material, x, rest) == np.inf).all()
        assert not np.isfinite(elements.gradient(material, x, rest)).all(axis=(1, 2)).any()
    for s in (1e-3, 1e-9):
        squeezed = elements.energy(pdgpu.LogNeoHookean(3.0, 5.0), (UNIT * [1, 1, s])[None].astype(dtype), UNIT[None].astype(dtype))[0]
        L = np.log(s)
        assert 6.0 * squeezed == pytest.approx(1.5 * (s**2 - 1) - 3 * L + 2.5 * L**2, rel=1e-5 if dtype == np.float32 else 1e-9)


def test_log_neo_hookean_energy_keeps_its_digits_near_rest():
    """If not, a line search in float32 sees noise instead of an energy: mu/2 (|F|^2 - 3) and mu log J are nearly equal there."""
    mu, lam, rng = 3.0, 10.0, np.random.default_rng(6)
    for dtype, size in ((np.float64, 1e-6), (np.float32, 2e-3)):
        for Q in (np.eye(3), *rotations(20, rng)):
            e = size * rng.normal(size=3)
            # (1 + e)^2 - 1 - 2 log(1 + e) = 2 e^2 - 2/3 e^3 + e^4/2 - ..
            terms = 2 * e**2 - 2 / 3 * e**3 + e**4 / 2
            L = np.log1p(e).sum()
            expected = (0.5 * mu * terms.sum() + 0.5 * lam * L**2) / 6.0
            x = ((UNIT * (1.0 + e)) @ Q.T).astype(dtype)
            found = elements.energy(pdgpu.LogNeoHookean(mu, lam), x[None], UNIT[None].astype(dtype))[0]
            slack = 8 * 3 * lam * np.finfo(dtype).eps * (np.linalg.norm(e) + np.finfo(dtype).eps)
            assert found == pytest.approx(expected, abs=slack), (dtype, Q)


UNIAXIAL = {  # E and nu of the sheet or solid; what they stretch: a, energy/E, P/E, and the lateral stretch
    "StVK": (pdgpu.StVK, lambda a: ((a**2 - 1) ** 2 / 8, a * (a**2 - 1) / 2), lambda a, nu: np.sqrt(1 - nu * (a**2 - 1))),
    "Corotated": (pdgpu.Corotated, lambda a: ((a - 1) ** 2 / 2, a - 1), lambda a, nu: 1 - nu * (a - 1)),
}


@pytest.mark.parametrize("name", UNIAXIAL)
@pytest.mark.parametrize("corners", [4, 3])
@pytest.mark.parametrize("a", [0.8, 1.0, 1.3])
def test_uniaxial_stretch_with_free_sides(name, corners, a):
    """If not, Young's modulus of a test bar is not the one that was asked for."""
    young, poisson = 7.0, 0.3
    kind, expected, lateral = UNIAXIAL[name]
    energy, along, across = uniaxial(kind.from_young(young, poisson), a, lateral(a, poisson), corners)
    assert energy == pytest.approx(young * expected(a)[0], rel=1e-12, abs=1e-15)
    assert along == pytest.approx(young * expected(a)[1], rel=1e-12, abs=1e-15)
    assert across == pytest.approx(0.0, abs=1e-14)


def test_stvk_and_corotated_without_lam_are_known_energies():
    """If not, mu means another constant: mu |E|^2 of a doubled tet, and ARAP."""
    assert uniaxial(pdgpu.StVK(3.0, 0.0), 2.0, 2.0)[0] == pytest.approx(3.0 * 3 * 1.5**2, rel=1e-14)
    x = np.random.default_rng(7).normal(size=(30, 4, 3))
    rest = np.broadcast_to(UNIT, x.shape)
    for corners in (4, 3):
        for function in (elements.energy, elements.gradient, elements.hessian):
            arap, corotated = (function(m, x[:, :corners], rest[:, :corners]) for m in (pdgpu.ARAP(3.0), pdgpu.Corotated(3.0, 0.0)))
            np.testing.assert_allclose(corotated, arap, atol=1e-11 * np.abs(arap).max())


@pytest.mark.parametrize("corners", [4, 3])
@pytest.mark.parametrize("poisson", [0.0, 0.3, 0.45])
@pytest.mark.parametrize("kind", [pdgpu.NeoHookean, pdgpu.LogNeoHookean, pdgpu.FixedCorotated, pdgpu.StVK, pdgpu.Corotated])
def test_small_strains_are_those_of_linear_elasticity(kind, poisson, corners):
    """If not, from_young gives another Young's modulus or Poisson's ratio than it says (3D for tets, plane stress for triangles)."""
    if corners == 3 and kind.bodies == ("solid",):
        pytest.skip("a material of solids")
    young, d = 2.9e5, corners - 1
    H = elements.hessian(kind.from_young(young, poisson), UNIT[None, :corners], UNIT[None, :corners])[0]
    mu = young / (2 * (1 + poisson))
    lam = young * poisson / ((1 + poisson) * (1 - 2 * poisson)) if d == 3 else young * poisson / (1 - poisson**2)
    rng = np.random.default_rng(8)
    for _ in range(5):
        A = np.zeros((3, 3))
        A[:d, :d] = rng.normal(size=(d, d))
        u, strain = (UNIT[:corners] @ A.T).ravel(), 0.5 * (A + A.T)
        expected = (mu * np.sum(strain**2) + 0.5 * lam * np.trace(strain) ** 2) / (6 if d == 3 else 2)
        assert 0.5 * u @ H @ u == pytest.approx(expected, rel=1e-12)


def test_neo_hookean_moduli():
    """If not, mu and lam are taken for the constants of Lame: E = mu (3 lam - mu)/lam, nu = (lam - mu)/(2 lam)."""
    rest, a, b = UNIT[None], 1e5, 1e6
    assert (a * (3 * b - a) / b, (b - a) / (2 * b)) == (290000.0, 0.45)
    given, converted = (elements.hessian(m, rest, rest) for m in (pdgpu.NeoHookean(a, b), pdgpu.NeoHookean.from_young(290000.0, 0.45)))
    np.testing.assert_allclose(converted, given, rtol=1e-12, atol=1e-9)


def test_world_box():
    """If not, a wall pushes from the wrong side, or an open side pushes at all."""
    box = pdgpu.WorldBox([0.0, -np.inf, -1.0], [1.0, 2.0, np.inf], 6.0)
    origin = np.zeros((4, 1, 3))
    x = np.array([[[0.5, -1e9, 1e9]], [[-0.5, 0, 0]], [[1.25, 2.5, -2.0]], [[1.0, 2.0, -1.0]]])
    np.testing.assert_array_equal(elements.energy(box, x, origin), [0.0, 0.75, 3.0 * (0.0625 + 0.25 + 1.0), 0.0])
    np.testing.assert_array_equal(elements.gradient(box, x, origin)[:, 0], [[0, 0, 0], [-3, 0, 0], [1.5, 3, -6], [0, 0, 0]])
    np.testing.assert_array_equal(
        elements.blocks(box, x, origin)[:, 0], [np.diag(6.0 * np.array(d)) for d in ([0, 0, 0], [1, 0, 0], [1, 1, 1], [0, 0, 0])]
    )
    np.testing.assert_array_equal(elements.projection(box, x, origin)[2, :, 0], [1.0, 2.0, -1.0])
