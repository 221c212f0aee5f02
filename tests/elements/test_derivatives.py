"""Energy, gradient, Hessian and projection of every element agree with each other, in both precisions."""

import numpy as np
import pytest
from element_cases import CASES, ELSEWHERE, FLAT, HELD, PROJECTIVE, TET, central_differences, deformation, samples

import pdgpu
from pdgpu import elements

every_element = pytest.mark.parametrize("case", CASES, ids=list(CASES))
functions = [elements.energy, elements.gradient, elements.hessian, elements.blocks]


def functions_of(case):
    """What an element has: those with a constraint set have a projection too."""
    return functions + [elements.projection] if case in PROJECTIVE else functions


@every_element
def test_gradient_is_the_derivative_of_the_energy(case):
    """If not, every solver walks to a point that is not the minimum of what it reports."""
    material, x, rest = samples(case)
    assert len(x) >= 8
    gradient = elements.gradient(material, x, rest)
    numeric = central_differences(lambda at: elements.energy(material, at, rest), x).reshape(x.shape)
    scale = np.abs(numeric).max(axis=(1, 2)) + 1e-3
    assert (np.abs(gradient - numeric).max(axis=(1, 2)) / scale).max() < 1e-5


@every_element
def test_hessian_is_the_derivative_of_the_gradient(case):
    """If not, Newton loses its quadratic convergence, and the reference of every comparison with it."""
    material, x, rest = samples(case, seed=1)
    hessian = elements.hessian(material, x, rest)
    numeric = central_differences(lambda at: elements.gradient(material, at, rest).reshape(len(x), -1), x)
    scale = np.abs(numeric).max(axis=(1, 2)) + 1e-3
    assert (np.abs(hessian - numeric).max(axis=(1, 2)) / scale).max() < 1e-5
    np.testing.assert_allclose(hessian, hessian.transpose(0, 2, 1), atol=1e-12 * np.abs(hessian).max())


@every_element
def test_projected_hessian_is_positive_semidefinite_and_unchanged_where_it_was(case):
    """If not, Newton's fallback factorisation fails exactly where it is needed."""
    material, x, rest = samples(case, seed=2)
    plain, projected = elements.hessian(material, x, rest), elements.hessian(material, x, rest, psd=True)
    scale = np.abs(plain).max(axis=(1, 2)) + 1e-3
    assert (np.linalg.eigvalsh(projected).min(axis=1) / scale).min() > -1e-12
    definite = np.linalg.eigvalsh(plain).min(axis=1) > -1e-13 * scale
    np.testing.assert_allclose(projected[definite], plain[definite], atol=1e-11 * scale.max())


@pytest.mark.parametrize("case", PROJECTIVE)
def test_energy_is_the_distance_to_the_projection_and_no_admissible_point_is_nearer(case):
    """If not, Projective Dynamics minimises another energy than the one it reports."""
    material, x, rest = samples(case, seed=3)
    F, T = deformation(material, x, rest), elements.projection(material, x, rest)
    assert T.shape == F.shape
    weight = material.elements(rest)[2][:, 0]
    distance = np.einsum("mcd,mcd->m", F - T, F - T)
    np.testing.assert_allclose(elements.energy(material, x, rest), 0.5 * weight * distance, rtol=1e-10, atol=1e-12)
    # other points of the same constraint set: the projections of the other samples
    for shift in range(1, len(x)):
        other = np.roll(T, shift, axis=0)
        if "curved" in case or case in (*FLAT, *HELD):
            break  # a length of its own for every hinge; a single point
        assert (np.einsum("mcd,mcd->m", F - other, F - other) >= distance - 1e-10).all()


@every_element
def test_float32_agrees_with_float64(case):
    """If not, one precision runs another formula."""
    material, x, rest = samples(case, seed=4)
    single = [array.astype(np.float32) for array in (x, rest)]
    for function in functions_of(case):
        tolerance = 2e-4 if function in (elements.hessian, elements.blocks) else 2e-5
        a, b = function(material, *single), function(material, *(array.astype(np.float64) for array in single))
        assert a.dtype == np.float32 and b.dtype == np.float64
        assert np.abs(a - b).max() <= tolerance * max(np.abs(b).max(), 1.0)


@every_element
def test_flat_collapsed_and_inverted_elements_give_finite_numbers(case):
    """If not, one degenerate element turns the whole state into NaN."""
    material, rest = CASES[case]
    rest = rest[None]
    states = [
        np.zeros_like(rest),
        rest * [1, 1, 0],
        rest * [1, 0, 0],
        rest * [1, 1, -1],
        rest * 0.5,
        rest + 1e6,
        rest * [1e-9, 1, 1],
        rest * 1e5,
    ]
    for dtype in (np.float32, np.float64):
        for x in states:
            if case == "log neo-Hookean tet" and np.linalg.det(deformation(material, x, rest))[0] <= 0.0:
                continue  # infinite: test_closed_forms.py
            arguments = material, x.astype(dtype), rest.astype(dtype)
            for function in functions_of(case):
                assert np.isfinite(function(*arguments)).all(), (function, x)
            assert np.isfinite(elements.hessian(*arguments, psd=True)).all()


@every_element
def test_rest_has_no_energy_and_rigid_motion_none_either(case):
    """If not, a body at rest creeps, or a spinning one is braked."""
    material, rest = CASES[case]
    if case in HELD:
        pytest.skip("it holds a place in space")
    if case in ELSEWHERE:
        pytest.skip("it seeks another shape")
    rotation = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
    rotation *= np.sign(np.linalg.det(rotation))
    moved = rest @ rotation.T + [0.3, -2.0, 0.7]
    scale = material.elements(rest[None])[2][0, 0]
    assert elements.energy(material, rest[None], rest[None])[0] <= 1e-22 * scale
    assert elements.energy(material, moved[None], rest[None])[0] <= 1e-22 * scale
    assert np.abs(elements.gradient(material, moved[None], rest[None])).max() <= 1e-12 * scale
    total = elements.gradient(material, moved[None] * 1.3, rest[None]).sum(axis=1)
    assert np.abs(total).max() <= 1e-13 * scale


def test_constants_may_differ_from_element_to_element():
    """If not, a heterogeneous body is simulated as a uniform one."""
    x, rest = np.stack([TET * 1.1] * 3), np.stack([TET] * 3)
    together = elements.energy(pdgpu.ARAP([1.0, 2.0, 5.0]), x, rest)
    np.testing.assert_allclose(together, elements.energy(pdgpu.ARAP(1.0), x, rest) * [1, 2, 5], rtol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((pdgpu.Spring(1.0), TET[None], TET[None]), TypeError, "4 vertices"),
        (("ARAP", TET[None], TET[None]), TypeError, "material"),
        ((pdgpu.ARAP(1.0), TET[None, :, :2], TET[None, :, :2]), ValueError, "x: expected shape"),
        ((pdgpu.ARAP(1.0), TET[None], TET[None, :3]), ValueError, "rest: expected shape"),
        ((pdgpu.ARAP(1.0), TET[None] * np.nan, TET[None]), ValueError, "x: value nan at (0, 0, 0)"),
        ((pdgpu.ARAP(1.0), TET[None], TET[None] * [1, 1, 0]), ValueError, "row 0"),
        ((pdgpu.ARAP(1.0), TET[None] * 1j, TET[None]), TypeError, "complex"),
        ((pdgpu.ARAP([1.0, 2.0]), TET[None], TET[None]), ValueError, "ARAP.mu"),
    ],
)
def test_bad_batches_are_refused(arguments, error, text):
    """If not, a slip in a script becomes a wrong number."""
    with pytest.raises(error) as caught:
        elements.energy(*arguments)
    assert text in str(caught.value)
