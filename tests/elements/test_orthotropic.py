"""Orthotropic solids and woven cloth: lamina theory, the isotropic case, frames, filters, and constants that are refused."""

import pickle

import numpy as np
import pytest
from element_cases import ORTHOTROPIC, TURNED, WOVEN, deformation, rotations, samples

import pdgpu
from pdgpu import elements

TET = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]])  # of the volume 1/6
YOUNG, POISSON, SHEAR = (9.0, 4.0, 2.0), (0.3, 0.5, 0.4), (1.5, 2.5, 0.8)
ABSOLUTE = 7  # a quantity of csrc/python/batches


def tensor(young, poisson, shear):
    """C (3,3,3,3), the inverse of the compliance in Voigt's notation."""
    compliance = np.diag(1.0 / np.array([*young, shear[2], shear[1], shear[0]]))
    for nu, (i, j) in zip(poisson, ((0, 1), (0, 2), (1, 2)), strict=True):
        compliance[i, j] = compliance[j, i] = -nu / young[i]
    voigt = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])
    return np.linalg.inv(compliance)[voigt[:, :, None, None], voigt[None, None]]


def along(angle):
    """Axes of which the first is turned by an angle about z."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


def with_strain(E):
    """The symmetric F with (F^T F - I)/2 = E."""
    values, vectors = np.linalg.eigh(np.eye(3) + 2.0 * E)
    return vectors * np.sqrt(values) @ vectors.T


def second_piola(material, F):
    """S (3,3) of a solid, or (2,2) of a shell in the plane z = 0, in world axes."""
    d = 3 if isinstance(material, pdgpu.OrthotropicSolid) else 2
    rest = TET[:, : d + 1]
    forces = elements.gradient(material, rest @ F.T, rest)[0, 1:]  # P = sum of f_i (X_i - X_0)^T over the measure
    return (np.linalg.inv(F) @ forces.T * {3: 6.0, 2: 2.0}[d])[:d, :d]


def test_energy_is_that_of_the_tensor():
    """If not, a stiffness acts on another strain than the one of its name."""
    rng = np.random.default_rng(0)
    C, axes = tensor(YOUNG, POISSON, SHEAR), rotations(20, rng)
    material = pdgpu.OrthotropicSolid(YOUNG, POISSON, SHEAR, axes=axes)
    F = np.eye(3) + 0.4 * rng.normal(size=(20, 3, 3))
    E = 0.5 * (F.transpose(0, 2, 1) @ F - np.eye(3))
    E = axes @ E @ axes.transpose(0, 2, 1)
    expected = np.einsum("mij,ijkl,mkl->m", E, C, E) / 12.0
    rest = np.repeat(TET, 20, axis=0)
    np.testing.assert_allclose(elements.energy(material, rest @ F.transpose(0, 2, 1), rest), expected, rtol=1e-12)


@pytest.mark.parametrize("angle", np.radians([0.0, 30.0, 45.0, 90.0]))
@pytest.mark.parametrize("body", ["solid", "shell"])
def test_tension_off_axis_is_that_of_a_lamina(body, angle):
    """Jones 1999, Mechanics of Composite Materials, Sec. 2.6. If not, a tape cut at an angle has a modulus that no measurement has."""
    (e_1, e_2, _), (nu, nu_13, nu_23), g, stress = YOUNG, POISSON, SHEAR[0], 0.3
    c, s = np.cos(angle), np.sin(angle)
    young = 1.0 / (c**4 / e_1 + (1.0 / g - 2.0 * nu / e_1) * s**2 * c**2 + s**4 / e_2)
    poisson = young * (nu / e_1 * (s**4 + c**4) - (1.0 / e_1 + 1.0 / e_2 - 1.0 / g) * s**2 * c**2)
    by_shear = young * ((2.0 / e_1 + 2.0 * nu / e_1 - 1.0 / g) * s * c**3 - (2.0 / e_2 + 2.0 * nu / e_1 - 1.0 / g) * s**3 * c)
    E = np.zeros((3, 3))
    E[0, 0], E[1, 1], E[0, 1] = stress / young, -poisson * stress / young, 0.5 * by_shear * stress / young
    E[1, 0] = E[0, 1]
    if body == "solid":
        E[2, 2] = -stress * (nu_13 / e_1 * c**2 + nu_23 / e_2 * s**2)
        material = pdgpu.OrthotropicSolid(YOUNG, POISSON, SHEAR, axes=along(angle))
    else:
        material = pdgpu.OrthotropicShell(e_1, e_2, g, nu, direction=(c, s, 7.0))
    expected = np.zeros((3, 3))
    expected[0, 0] = stress
    found = second_piola(material, with_strain(E))
    np.testing.assert_allclose(found, expected[: len(found), : len(found)], atol=1e-13)


@pytest.mark.parametrize("pair", [0, 1, 2])
def test_simple_shear_along_two_axes(pair):
    """If not, G_13 is taken for G_23."""
    (i, j), gamma = ((0, 1), (0, 2), (1, 2))[pair], 0.1
    E = np.zeros((3, 3))
    E[i, j] = E[j, i] = 0.5 * gamma
    expected = np.zeros((3, 3))
    expected[i, j] = expected[j, i] = SHEAR[pair] * gamma
    np.testing.assert_allclose(second_piola(pdgpu.OrthotropicSolid(YOUNG, POISSON, SHEAR), with_strain(E)), expected, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("body", ["solid", "shell"])
def test_the_isotropic_case_is_stvk(body, dtype):
    """If not, one of the two has another factor in an energy, a Hessian or a block."""
    young, nu = 7.0, 0.3
    shear = young / (2.0 * (1.0 + nu))
    _, x, rest = samples("orthotropic tet" if body == "solid" else "orthotropic triangle", seed=2)
    x, rest = x.astype(dtype), rest.astype(dtype)
    if body == "solid":
        material = pdgpu.OrthotropicSolid([young] * 3, [nu] * 3, [shear] * 3, axes=TURNED)
    else:
        material = pdgpu.OrthotropicShell(young, young, shear, nu, direction=(0.3, 1.0, 0.2))
    stvk = pdgpu.StVK.from_young(young, nu)
    for function in (elements.energy, elements.gradient, elements.hessian, elements.blocks, lambda *a: elements.hessian(*a, psd=True)):
        found, expected = function(material, x, rest), function(stvk, x, rest)
        size = np.abs(expected).reshape(len(x), -1).max(axis=1)
        error = np.abs(found - expected).reshape(len(x), -1).max(axis=1) / size
        assert error.max() < (1e-12 if dtype is np.float64 else 1e-4)
    (_, _, usual), (_, _, own) = stvk.elements(rest.astype(float)), material.elements(rest.astype(float))
    np.testing.assert_allclose(own[:, 0], usual[:, 0], rtol=1e-12)  # the weight of quasi-Newton, 2 mu volume


@pytest.mark.parametrize("case", ["orthotropic tet", "orthotropic triangle"])
def test_filters_are_those_of_the_eigenvalues(case):
    """If not, Newton's matrix is not the nearest positive semidefinite one, and a filter has another meaning here."""
    material, x, rest = samples(case, seed=4, n=200)
    d = rest.shape[1] - 1
    kind, _, parameters = material.elements(rest)
    # a batch of unit rest gradients gives d2E/dF2 itself
    F = deformation(material, x, rest)
    corners = np.concatenate([np.zeros((len(F), 1, 3)), F.transpose(0, 2, 1)], axis=1)
    unit = np.broadcast_to(np.eye(d).ravel(), (len(F), d * d)).copy()

    def by_F(quantity):
        return elements.of_kind(quantity, kind, unit, parameters, corners)[:, 3:, 3:]  # row 3 b + a for entry (a, b)

    exact = by_F(elements.HESSIAN)
    values, vectors = np.linalg.eigh(exact)
    scale = np.abs(values).max(axis=1)
    assert (values[:, 0] < -1e-3 * scale).sum() > 20 and (values[:, 0] > 1e-3 * scale).sum() > 5
    for quantity, kept in ((elements.HESSIAN_PSD, np.maximum(values, 0.0)), (ABSOLUTE, np.abs(values))):
        expected = np.einsum("mij,mj,mkj->mik", vectors, kept, vectors)
        assert (np.abs(by_F(quantity) - expected).max(axis=(1, 2)) / scale).max() < 1e-13


@pytest.mark.parametrize("case", ["orthotropic tet", "orthotropic triangle"])
def test_blocks_lose_only_the_compressive_stress(case):
    """If not, the clamp takes away more of the stiffness than what is indefinite."""
    material, x, rest = samples(case, seed=24)
    g, _ = material.rest_shape(np.ascontiguousarray(rest))
    g = np.concatenate([-g.sum(axis=1, keepdims=True), g], axis=1)
    F, forces = deformation(material, x, rest), elements.gradient(material, x, rest)
    along_g = np.einsum("mib,mbc,mic->mi", g, np.linalg.pinv(F), forces)  # g.S g, with f = F S g
    assert (along_g < 0).any() and (along_g > 0).any()
    K = elements.hessian(material, x, rest).reshape(len(x), rest.shape[1], 3, rest.shape[1], 3)
    expected = np.einsum("miaib->miab", K) + np.maximum(-along_g, 0.0)[:, :, None, None] * np.eye(3)
    np.testing.assert_allclose(elements.blocks(material, x, rest), expected, atol=1e-11 * np.abs(expected).max())


def test_frames_turn_with_the_body():
    """If not, a wall of wood that is built at an angle has fibres in another direction."""
    rng = np.random.default_rng(6)
    for case in ("orthotropic tet", "orthotropic triangle"):
        material, x, rest = samples(case, seed=7)
        (turn,) = rotations(1, rng)
        if case == "orthotropic tet":
            turned = pdgpu.OrthotropicSolid((90.0, 60.0, 20.0), (0.3, 0.5, 0.4), (25.0, 40.0, 8.0), axes=TURNED @ turn.T * [[1], [1], [-1]])
        else:
            turned = pdgpu.OrthotropicShell(90.0, 40.0, 12.0, 0.5, direction=-5.0 * turn @ [0.3, 1.0, 0.2])
        expected = elements.energy(material, x, rest)
        np.testing.assert_allclose(elements.energy(turned, x, rest @ turn.T), expected, rtol=1e-11)
        assert np.abs(elements.energy(material, x, rest @ turn.T) / expected - 1.0).max() > 0.1


def test_rest_has_no_stress_in_frames_of_single_precision():
    """If not, frames read from a file in float32 put a body under stress."""
    material = pdgpu.OrthotropicSolid(YOUNG, POISSON, SHEAR, axes=TURNED.astype(np.float32))
    assert np.abs(elements.gradient(material, TET, TET)).max() < 1e-14


def test_constants_and_frames_per_element():
    """If not, a heterogeneous body is simulated as a uniform one."""
    rng, pair = np.random.default_rng(8), np.repeat(TET, 2, axis=0)
    x = pair @ (np.eye(3) + 0.2 * rng.normal(size=(3, 3)))
    young, axes = np.array([YOUNG, np.array(YOUNG) * 1.5]), rotations(2, rng)
    together = elements.energy(pdgpu.OrthotropicSolid(young, POISSON, SHEAR, axes=axes), x, pair)
    apart = [elements.energy(pdgpu.OrthotropicSolid(young[i], POISSON, SHEAR, axes=axes[i]), x[:1], TET)[0] for i in (0, 1)]
    np.testing.assert_allclose(together, apart, rtol=1e-13)
    directions, warp = np.array([[1.0, 0.2, 0.0], [0.1, 1.0, 3.0]]), [5.0, 8.0]
    flat, at = pair[:, :3], x[:, :3]
    together = elements.energy(pdgpu.OrthotropicShell(warp, 2.0, 1.0, 0.1, direction=directions), at, flat)
    apart = [elements.energy(pdgpu.OrthotropicShell(warp[i], 2.0, 1.0, 0.1, direction=directions[i]), at[:1], flat[:1])[0] for i in (0, 1)]
    np.testing.assert_allclose(together, apart, rtol=1e-13)


def test_warp_of_a_texture():
    """If not, the threads of a pattern run across it."""
    mesh = pdgpu.shapes.grid((2.0, 1.0), cells=(4, 3))
    x, y = mesh.points[:, 0], mesh.points[:, 1]
    uv = np.stack([0.6 * x + 0.8 * y, 2.0 * y - x], axis=1)  # u is constant along (-0.8, 0.6), v along (2, 1)
    along_u = np.linalg.inv([[0.6, 0.8], [-1.0, 2.0]])[:, 0]
    found = pdgpu.warp_directions(mesh, uv)
    np.testing.assert_allclose(found, np.tile([*along_u, 0.0], (len(mesh.triangles), 1)), atol=1e-14)
    np.testing.assert_allclose(pdgpu.warp_directions(mesh, uv[mesh.triangles]), found, rtol=1e-15)  # by corners
    for bad, text in (
        (np.zeros((len(x), 2)), r"uv: triangle 0 has no area in \(u, v\)"),
        (uv[:3], r"uv: expected shape \(20, 2\), got \(3, 2\)"),
        (np.full((len(x), 2), np.nan), "uv: value nan at"),
    ):
        with pytest.raises(ValueError, match=text):
            pdgpu.warp_directions(mesh, bad)
    with pytest.raises(ValueError, match="mesh: it has no triangles"):
        pdgpu.warp_directions(pdgpu.shapes.chain(3), uv)
    with pytest.raises(TypeError, match=r"mesh: expected a pdgpu\.Mesh"):
        pdgpu.warp_directions(None, uv)


def solid(**given):
    return pdgpu.OrthotropicSolid(**{"young": YOUNG, "poisson": POISSON, "shear": SHEAR, **given})


def shell(**given):
    return pdgpu.OrthotropicShell(**{"warp": 4.0, "weft": 1.0, "shear": 0.3, "direction": (1.0, 0.0, 0.0), **given})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: solid(young=(1.0, 0.0, 2.0)), ["OrthotropicSolid.young", "greater than 0", "at 1"]),
        (lambda: solid(young=[YOUNG, (1.0, 2.0, -3.0)]), ["OrthotropicSolid.young", "-3", "(1, 2)"]),
        (lambda: solid(young=1.0), ["OrthotropicSolid.young", "shape"]),
        (lambda: solid(shear=(1.0, 1.0)), ["OrthotropicSolid.shear", "(2,)"]),
        (lambda: solid(shear=(1.0, np.nan, 1.0)), ["OrthotropicSolid.shear", "nan", "at 1"]),
        (lambda: solid(poisson=(0.3, 2.2, 0.4)), ["OrthotropicSolid.poisson", "nu_13", "E_1/E_3 = 4.5", "2.2", "nu_31 is"]),
        (lambda: solid(poisson=(1.4, 1.9, 1.3)), ["OrthotropicSolid.poisson", "three ratios together", "make them smaller"]),
        (lambda: solid(young=(1.0, 1.0, 1.0), poisson=(0.5, 0.5, 0.5)), ["OrthotropicSolid.poisson", "three ratios together"]),
        (lambda: solid(axes=2.0 * np.eye(3)), ["OrthotropicSolid.axes", "unit vectors at right angles", "np.linalg.qr"]),
        (lambda: solid(axes=[np.eye(3), np.ones((3, 3))]), ["OrthotropicSolid.axes", "at 1"]),
        (lambda: solid(axes=[1.0, 0.0, 0.0]), ["OrthotropicSolid.axes", "shape"]),
        (lambda: solid(axes=[np.eye(3), np.eye(3)]).elements(TET), ["OrthotropicSolid.axes", "(1, 3, 3)", "(2, 3, 3)"]),
        (lambda: solid(young=[YOUNG, YOUNG]).elements(TET), ["OrthotropicSolid.young", "(1, 3)", "(2, 3)"]),
        (lambda: shell(warp=0.0), ["OrthotropicShell.warp", "greater than 0"]),
        (lambda: shell(shear=[1.0, 0.0]), ["OrthotropicShell.shear", "at 1"]),
        (lambda: shell(poisson=2.0), ["OrthotropicShell.poisson", "warp/weft = 4", "got 2 at 0", "poisson weft/warp"]),
        (lambda: shell(poisson=[0.5, -3.0]), ["OrthotropicShell.poisson", "got -3 at 1"]),
        (lambda: shell(warp=[1.0, 2.0], weft=[1.0, 2.0, 3.0]), ["OrthotropicShell.warp", "(2,)"]),
        (lambda: shell(direction=(1.0, 0.0)), ["OrthotropicShell.direction", "(2,)"]),
        (lambda: shell(direction=np.ones((2, 3))).elements(TET[:, :3]), ["OrthotropicShell.direction", "(1, 3)", "(2, 3)"]),
        (lambda: shell(direction=(0.0, 0.0, 1.0)).elements(TET[:, :3]), ["OrthotropicShell.direction", "normal to triangle 0"]),
        (lambda: shell(direction=(0.0, 0.0, 0.0)).elements(TET[:, :3]), ["OrthotropicShell.direction", "triangle 0"]),
    ],
)
def test_bad_constants_are_refused(make, words):
    """If not, a strain with a negative energy lets a body explode, or a slip in a script becomes a wrong number."""
    with pytest.raises(ValueError, match=words[0]) as caught:
        make()
    assert all(word in str(caught.value) for word in words), caught.value


def test_ratios_up_to_the_bound_are_taken():
    """If not, honeycombs and knits, whose ratios exceed 1/2 or are negative, are refused."""
    assert shell(poisson=1.99).elements(TET[:, :3])[2][0, 1] == pytest.approx(4.0 / (1.0 - 1.99**2 / 4.0) / 2.0)
    for poisson in ((2.0 * 9.0**0.5 / 4.0**0.5 / 3.0, 0.0, 0.0), (-0.9, -0.3, 0.1)):
        eigenvalues = np.linalg.eigvalsh(tensor(YOUNG, poisson, SHEAR).reshape(9, 9))
        assert (eigenvalues > -1e-12).all()
        solid(poisson=poisson)


@pytest.mark.parametrize("material", [ORTHOTROPIC, WOVEN, solid(young=[YOUNG]), shell(warp=[4.0, 5.0])], ids=repr)
def test_they_print_compare_and_pickle(material):
    """If not, a sweep over materials takes two of them for one."""
    again = pickle.loads(pickle.dumps(material))
    assert again == material and material not in (solid(), shell()) and "array of" not in repr(ORTHOTROPIC)
    assert "young=array of 1" in repr(solid(young=[YOUNG])) and "warp=array of 2" in repr(shell(warp=[4.0, 5.0]))
    assert repr(shell()) == "OrthotropicShell(warp=4, weft=1, shear=0.3, poisson=0, direction=[1., 0., 0.])"
