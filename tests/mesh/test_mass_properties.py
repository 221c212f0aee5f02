"""Volume, centre and second moments of what a closed surface encloses: closed forms, quadrature over the tets within, what is refused."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pdgpu
from pdgpu import _host


def of(mesh, points=None):
    return _host.mass_properties(np.array(mesh.points if points is None else points), np.array(mesh.triangles))


def test_box_anywhere_and_any_way_round():
    size = np.array([1.0, 2.0, 0.5])
    box = pdgpu.shapes.box(size)
    turn = Rotation.from_rotvec([0.3, -1.1, 0.7]).as_matrix()
    for shift in (np.zeros(3), np.array([1e4, -2e4, 5e3])):
        volume, centre, moments = of(box, (np.array(box.points) - size / 2) @ turn.T + shift)
        assert volume == pytest.approx(size.prod(), rel=1e-10)
        np.testing.assert_allclose(centre, shift, atol=1e-10)
        np.testing.assert_allclose(moments, turn @ np.diag(size.prod() * size**2 / 12) @ turn.T, atol=1e-10)


def test_sphere_with_second_order():
    errors = []
    for subdivisions in (2, 3):
        volume, centre, moments = of(pdgpu.shapes.sphere(0.5, subdivisions))
        np.testing.assert_allclose(centre, 0, atol=1e-15)
        np.testing.assert_allclose(moments, np.trace(moments) / 3 * np.eye(3), atol=1e-15)
        errors.append([1 - volume / (np.pi / 6), 1 - moments[0, 0] / (4 * np.pi / 15 * 0.5**5)])
    ratio = np.array(errors[0]) / errors[1]
    assert (errors[1][0] < 0.02) and (errors[1][1] < 0.04)
    assert (3.7 < ratio).all() and (ratio < 4.3).all()


def test_against_quadrature_over_the_tets_within():
    solid = pdgpu.shapes.beam((1.0, 0.4, 0.3), cells=(6, 2, 2))
    points = np.array(solid.points) * [1.0, 1.3, 0.8] + 0.05 * np.sin(5 * np.array(solid.points)[:, [1, 2, 0]])
    tets = np.array(solid.tets)
    # the rule of four points is exact for polynomials of degree two
    a, b = (5 + 3 * np.sqrt(5)) / 20, (5 - np.sqrt(5)) / 20
    nodes = np.einsum("qk,mkc->mqc", np.full((4, 4), b) + (a - b) * np.eye(4), points[tets])
    weights = np.repeat(_host.measures(points, tets)[:, None] / 4, 4, axis=1)
    volume, centre, moments = _host.mass_properties(points, _host.surface(tets, len(points)))
    expected = np.einsum("mq,mqc->c", weights, nodes) / weights.sum()
    assert volume == pytest.approx(weights.sum(), rel=1e-12)
    np.testing.assert_allclose(centre, expected, atol=1e-12)
    np.testing.assert_allclose(moments, np.einsum("mq,mqc,mqd->cd", weights, nodes - expected, nodes - expected), atol=1e-12)


def test_what_encloses_nothing_is_refused():
    box = pdgpu.shapes.box((1.0, 1.0, 1.0))
    points, triangles = np.array(box.points), np.array(box.triangles)
    with pytest.raises(ValueError, match="the surface is open"):
        _host.mass_properties(points, triangles[1:])
    with pytest.raises(ValueError, match=r"-1 m\^3, which is not positive: the normals point inwards"):
        _host.mass_properties(points, np.ascontiguousarray(triangles[:, ::-1]))
    with pytest.raises(ValueError, match="not positive"):
        _host.mass_properties(points * [1.0, 1.0, 0.0], triangles)
