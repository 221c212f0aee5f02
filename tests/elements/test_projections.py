"""The local step: nearest points, and what rotating an element does to everything."""

import numpy as np
import pytest
from element_cases import BENT_AT_REST, CASES, ELSEWHERE, FLAT, PROJECTIVE, UNIT, deformation, rotations, samples

import pdgpu
from pdgpu import elements

every_projection = pytest.mark.parametrize("case", PROJECTIVE)


def admissible(case, T, rng):
    """Random points of the constraint set of `case`, some of them close to T (m,3,d)."""
    m, _, d = T.shape
    far, near = rotations(m, rng), np.eye(3) + 10.0 ** rng.uniform(-4, -0.5, size=(m, 1, 1)) * rng.normal(size=(m, 3, 3))
    q, r = np.linalg.qr(near)
    near = q * np.sign(np.einsum("mii->mi", r))[:, None, :]  # close to the identity
    turn = np.where(rng.random(size=(m, 1, 1)) < 0.7, near, far)
    if case in ("attachment", *FLAT):
        return np.zeros_like(T)
    if case == "world box":
        lower, upper = (CASES[case][0]._constants[side][:, None] for side in ("lower", "upper"))
        return np.clip(T + 10.0 ** rng.uniform(-4, 0, size=(m, 1, 1)) * rng.normal(size=T.shape), lower, upper)
    if case in ("spring", *ELSEWHERE, *BENT_AT_REST) or "arap" in case:
        return turn @ T  # a length, orthonormal columns, or a shape
    u, s, vt = np.linalg.svd(T, full_matrices=False)
    if d == 3:
        s[:, 2] *= np.sign(np.linalg.det(u @ vt))
        u[:, :, 2] *= np.sign(np.linalg.det(u))[:, None]
        vt[:, 2] *= np.sign(np.linalg.det(vt))[:, None]
    change = 10.0 ** rng.uniform(-4, 0, size=(m, 1)) * rng.normal(size=(m, d))
    if "strain" in case:
        s = np.clip(s + change, 0.9, 1.1)
    else:
        s = s * np.exp(change - change.mean(axis=1, keepdims=True))  # the product stays 1
    return turn @ np.einsum("mak,mk,mkb->mab", u, s, vt)


@every_projection
def test_no_admissible_point_is_nearer_than_the_projection(case):
    """If not, the local step goes to another point, and its force is not the gradient of the energy."""
    material, x, rest = samples(case, seed=6)
    F, T = deformation(material, x, rest), elements.projection(material, x, rest)
    distance = np.sum((F - T) ** 2, axis=(1, 2))
    rng = np.random.default_rng(7)
    for _ in range(300):
        other = np.sum((F - admissible(case, T, rng)) ** 2, axis=(1, 2))
        assert (other >= distance * (1 - 1e-12) - 1e-12).all()


@every_projection
def test_projection_is_admissible(case):
    """If not, the target of an element breaks the very constraint it stands for."""
    material, x, rest = samples(case, seed=8)
    T = elements.projection(material, x, rest)
    s = np.linalg.svd(T, compute_uv=False)
    if T.shape[2] == 3:
        assert (np.linalg.det(T) > 0).all()
    if "arap" in case:
        np.testing.assert_allclose(s, 1.0, atol=1e-13)
    elif case in ("volume", "area"):
        np.testing.assert_allclose(np.prod(s, axis=1), 1.0, atol=1e-12)
    elif "strain" in case:
        assert (s >= 0.9 - 1e-13).all() and (s <= 1.1 + 1e-13).all()
    elif case in ("spring", *BENT_AT_REST):
        at_rest = deformation(material, rest, rest)
        np.testing.assert_allclose(s[:, 0], np.linalg.norm(at_rest, axis=(1, 2)), rtol=1e-13)
    elif case in ELSEWHERE:
        target = np.linalg.svd(material._constants["targets"], compute_uv=False)
        np.testing.assert_allclose(s, np.broadcast_to(target, s.shape), rtol=1e-13)
    elif case == "world box":
        lower, upper = material._constants["lower"], material._constants["upper"]
        assert (T[:, :, 0] >= lower).all() and (T[:, :, 0] <= upper).all()
    else:
        assert not T.any()


WEIGHTS = [  # on a unit tet, triangle or edge: 2 mu V, k V, k
    (pdgpu.ARAP(3.0), 4, 6.0 / 6.0),
    (pdgpu.ARAP(3.0), 3, 6.0 / 2.0),
    (pdgpu.Volume(3.0), 4, 3.0 / 6.0),
    (pdgpu.Area(3.0), 3, 3.0 / 2.0),
    (pdgpu.StrainLimit(0.9, 1.1, 3.0), 4, 3.0 / 6.0),
    (pdgpu.StrainLimit(0.9, 1.1, 3.0), 3, 3.0 / 2.0),
    (pdgpu.ShapeTarget(3.0, np.diag([1.5, 0.7, 1.1])), 4, 6.0 / 6.0),
    (pdgpu.Spring(3.0), 2, 3.0),
]


@pytest.mark.parametrize(("material", "corners", "weight"), WEIGHTS, ids=[f"{type(w[0]).__name__} {w[1]}" for w in WEIGHTS])
def test_weight_times_distance_to_the_projection_is_the_gradient(material, corners, weight):
    """If not, the weight in the system matrix is not the stiffness the user gave."""
    rng = np.random.default_rng(9)
    x = UNIT[:corners] + 0.3 * rng.normal(size=(40, corners, 3))
    rest = np.broadcast_to(UNIT[:corners], x.shape)
    gradients = np.zeros((corners - 1, corners - 1)) + np.eye(corners - 1)
    F = (x[:, 1:] - x[:, :1]).transpose(0, 2, 1)
    own = deformation(material, x, rest)  # F in the element's own rest frame, a rotation of the plane of a triangle away
    T = elements.projection(material, x, rest)
    frame = np.linalg.lstsq(F.reshape(-1, F.shape[2]), own.reshape(-1, own.shape[2]), rcond=None)[0]
    np.testing.assert_allclose(frame.T @ frame, gradients, atol=1e-12)
    expected = weight * (F - T @ frame.T)
    found = elements.gradient(material, x, rest)
    np.testing.assert_allclose(found[:, 1:], expected.transpose(0, 2, 1), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 0.0, atol=1e-13)


@pytest.mark.parametrize("case", [case for case in CASES if "world" not in case])  # what is the world's does not turn
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 2e-4)])
def test_turning_and_moving_an_element_turns_its_forces(case, dtype, tolerance):
    """If not, material depends on the direction of the axes, and a spinning body changes its stiffness."""
    material, x, rest = samples(case, seed=10)
    rng = np.random.default_rng(11)
    Q, move = rotations(len(x), rng), rng.normal(size=(len(x), 1, 3))
    if case == "attachment":
        rest_turned = rest @ Q.transpose(0, 2, 1) + move
    else:
        rest_turned = rest
    turned = x @ Q.transpose(0, 2, 1) + move
    given, after = [x.astype(dtype), rest.astype(dtype)], [turned.astype(dtype), rest_turned.astype(dtype)]
    k = x.shape[1]
    pairs = [
        (elements.energy(material, *after), elements.energy(material, *given)),
        (elements.gradient(material, *after), elements.gradient(material, *given) @ Q.transpose(0, 2, 1)),
        (elements.blocks(material, *after), Q[:, None] @ elements.blocks(material, *given) @ Q.transpose(0, 2, 1)[:, None]),
    ]
    if material.projective:
        pairs.append((elements.projection(material, *after), Q @ elements.projection(material, *given)))
    block = np.einsum("ij,mab->miajb", np.eye(k), Q).reshape(len(x), 3 * k, 3 * k)
    for psd in (False, True):
        hessian = elements.hessian(material, *given, psd=psd)
        pairs.append((elements.hessian(material, *after, psd=psd), block @ hessian @ block.transpose(0, 2, 1)))
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 1e-6)])
def test_rotation_of_a_turned_body_is_its_rotation(dtype, tolerance):
    """If not, a body that only turns is pulled back by its own elements."""
    Q = rotations(500, np.random.default_rng(12))
    for corners in (4, 3):
        rest = np.broadcast_to(UNIT[:corners], (len(Q), corners, 3)).astype(dtype)
        x = (UNIT[:corners] @ Q.transpose(0, 2, 1)).astype(dtype)
        own = deformation(pdgpu.ARAP(1.0), x.astype(float), rest.astype(float))
        np.testing.assert_allclose(elements.projection(pdgpu.ARAP(1.0), x, rest), own, atol=tolerance)


def test_batches_do_not_depend_on_threads_or_order():
    """If not, the same element gives another number next to other neighbours."""
    material, x, rest = samples("volume", seed=13)
    for function in (elements.energy, elements.gradient, elements.hessian, elements.blocks, elements.projection):
        one = function(material, x, rest, threads=1)
        np.testing.assert_array_equal(one, function(material, x, rest, threads=3))
        np.testing.assert_array_equal(one[::-1], function(material, x[::-1], rest[::-1]))
        np.testing.assert_array_equal(one[:1], function(material, x[:1], rest[:1]))
        assert len(function(material, x[:0], rest[:0])) == 0


@pytest.mark.parametrize(
    ("material", "corners"),
    [
        (pdgpu.ARAP(1.0), 2),
        (pdgpu.ARAP(1.0), 1),
        (pdgpu.Area(1.0), 4),
        (pdgpu.Volume(1.0), 3),
        (pdgpu.Bending(1.0), 3),
        (pdgpu.StrainLimit(0.9, 1.1, 1.0), 2),
        (pdgpu.Spring(1.0), 3),
        (pdgpu.Attachment(1.0), 2),
        (pdgpu.NeoHookean(1.0, 2.0), 3),
        (pdgpu.StVK(1.0, 2.0), 2),
        (pdgpu.Corotated(1.0, 2.0), 1),
    ],
    ids=repr,
)
def test_material_on_elements_it_has_no_energy_for(material, corners):
    """If not, four corners of a tet are silently read as a hinge, or as nothing."""
    with pytest.raises(TypeError, match=f"{type(material).__name__}.*{corners} vert"):
        elements.energy(material, UNIT[None, :corners], UNIT[None, :corners])


@pytest.mark.parametrize("material", [pdgpu.NeoHookean(1.0, 2.0), pdgpu.StVK(1.0, 2.0), pdgpu.Corotated(1.0, 2.0)], ids=repr)
def test_energies_that_are_no_distance_have_no_projection(material):
    """If not, a local step is computed for a material that has none."""
    with pytest.raises(TypeError, match=f"{type(material).__name__} has no projection"):
        elements.projection(material, UNIT[None], UNIT[None])


@pytest.mark.parametrize(
    ("corners", "material"), [(4, pdgpu.ARAP(1.0)), (3, pdgpu.Area(1.0)), (2, pdgpu.Spring(1.0)), (4, pdgpu.Bending(1.0))]
)
def test_rest_elements_without_measure_are_named(corners, material):
    """If not, one sliver in a file becomes a NaN somewhere else."""
    rest = np.stack([UNIT[:corners], np.zeros((corners, 3))])
    with pytest.raises(ValueError, match="1"):
        elements.gradient(material, rest, rest)
