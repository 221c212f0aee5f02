"""The signed angle of a hinge: its value, its side at rest, and the folds where it is not smooth."""

import numpy as np
import pytest

import pdgpu
from pdgpu import elements

ANGLES = np.concatenate([np.linspace(-3.1, 3.1, 21), [np.pi - 1e-6, 1e-6 - np.pi]])


def folded(angle):
    """A hinge about the x axis whose second wing goes down, away from the normal +z of the first, by an angle."""
    down = 0.8 * np.array([0.0, -np.cos(angle), -np.sin(angle)])
    return np.array([[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [0.4, 0.6, 0.0], down + [0.9, 0.0, 0.0]])


def energy(angle, rest):
    area = 0.5 * 1.5 * (0.6 + 0.8)
    return 0.5 * 7.0 * 1.5**2 / area * (angle - rest) ** 2


@pytest.mark.parametrize("rest", [0.0, 0.7, -0.7, 2.5, -2.5])
def test_energy_is_that_of_the_signed_angle(rest):
    """If not, D is not the flexural rigidity, or a sheet that is bent at rest springs to the other side."""
    shapes = np.stack([folded(angle) for angle in ANGLES])
    found = elements.energy(pdgpu.HingeBending(7.0), shapes, np.broadcast_to(folded(rest), shapes.shape))
    np.testing.assert_allclose(found, energy(ANGLES, rest), rtol=1e-9, atol=1e-12)


def test_moment_is_the_derivative_by_the_angle():
    """If not, the forces of a fold are not those of its energy, at small angles or close to half a turn."""
    turns = np.array([[0.0, np.sin(a), -np.cos(a)] for a in ANGLES]) * 0.8  # of x_3 per rad
    shapes = np.stack([folded(angle) for angle in ANGLES])
    forces = elements.gradient(pdgpu.HingeBending(7.0), shapes, np.broadcast_to(folded(0.4), shapes.shape))
    np.testing.assert_allclose(np.einsum("mc,mc->m", forces[:, 3], turns), 2.0 * energy(ANGLES, 0.4) / (ANGLES - 0.4), rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rest", [0.0, 1.0])
def test_all_is_finite_at_half_a_turn(rest, dtype):
    """If not, a sheet that is folded onto itself turns the whole state into NaN."""
    x = np.stack([folded(np.pi), folded(-np.pi), folded(np.pi) * [1, 1, 0]]).astype(dtype)
    at_rest = np.broadcast_to(folded(rest), x.shape).astype(dtype)
    material = pdgpu.HingeBending(7.0)
    turned = np.abs(np.sqrt(2.0 * elements.energy(material, x, at_rest) / (2.0 * energy(1.0, 0.0))))
    assert np.isclose(turned[:, None], [np.pi - rest, np.pi + rest], rtol=1e-3).any(axis=1).all()
    for function in (elements.gradient, elements.hessian, elements.blocks):
        assert np.isfinite(function(material, x, at_rest)).all()
    assert np.isfinite(elements.hessian(material, x, at_rest, psd=True)).all()


def test_weight_of_the_matrix_bounds_the_hessian_at_rest():
    """If not, quasi-Newton starts from steps that are too long."""
    for rest in (0.0, 1.2):
        kind, shape, parameters = pdgpu.HingeBending(7.0).elements(folded(rest)[None])
        assert kind == "hinge" and shape.tolist() == [np.eye(3).ravel().tolist()]
        hessian = elements.hessian(pdgpu.HingeBending(7.0), folded(rest)[None], folded(rest)[None])[0]
        assert np.linalg.eigvalsh(hessian[3:, 3:]).max() == pytest.approx(parameters[0, 0], rel=1e-12)


def test_flexural_rigidity_of_the_quadratic_form_is_that_of_the_angle():
    """If not, Projective Dynamics bends with another stiffness than Newton."""
    small = folded(1e-4)[None]
    angle, quadratic = (
        elements.energy(kind(flexural_rigidity=7.0), small, folded(0.0)[None]) for kind in (pdgpu.HingeBending, pdgpu.Bending)
    )
    assert quadratic == pytest.approx(angle, rel=1e-6)
    np.testing.assert_array_equal(elements.energy(pdgpu.Bending(7.0 / 3.0), small, folded(0.0)[None]), quadratic)


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (folded(0.0) * [1, 0, 0], "row 1 has zero area"),
        (folded(np.pi), "row 1 has triangles folded onto each other"),
    ],
)
def test_degenerate_hinges_at_rest_are_named(shape, text):
    """If not, a bad triangle of a mesh becomes a force of infinite size, somewhere."""
    rest = np.stack([folded(0.3), shape])
    with pytest.raises(ValueError) as caught:
        elements.energy(pdgpu.HingeBending(1.0), rest, rest)
    assert text in str(caught.value) and "mesh.hinges" in str(caught.value)
