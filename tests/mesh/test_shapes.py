"""The built-in shapes, against grids built by their definition."""

import inputs
import numpy as np
import pytest

from pdgpu import shapes


def volume_inside(mesh):
    """Enclosed volume by the divergence theorem; positive only with outward normals."""
    return np.linalg.det(mesh.points[mesh.surface]).sum() / 6


def assert_closed(mesh):
    triangles = mesh.surface
    directed = {tuple(e) for t in triangles.tolist() for e in ((t[0], t[1]), (t[1], t[2]), (t[2], t[0]))}
    assert len(directed) == 3 * len(triangles) and all((b, a) in directed for a, b in directed)


def euler_characteristic(mesh):
    n_edges = 3 * len(mesh.surface) // 2  # closed
    return len(np.unique(mesh.surface)) - n_edges + len(mesh.surface)


@pytest.mark.parametrize(("split", "build"), [(6, inputs.kuhn_grid), (5, inputs.five_tet_grid)])
def test_beam_is_the_published_grid(split, build):
    """If it failed, no published iteration count on a grid could be reproduced with the beam."""
    mesh = shapes.beam((0.5, 0.3, 0.4), (5, 3, 4), split=split)
    points, tets = build(5, 3, 4, 0.1)
    assert mesh.points == pytest.approx(points, abs=1e-15)
    assert np.array_equal(mesh.tets, tets)
    assert mesh.quality()["volumes"].sum() == pytest.approx(0.06, rel=1e-12)


@pytest.mark.parametrize("split", [5, 6])
@pytest.mark.parametrize("cells", [(1, 1, 1), (2, 1, 1), (3, 4, 5), (16, 4, 4)])
def test_beam_is_solid_with_a_closed_surface(split, cells):
    """If it failed, neighbouring cells would not share faces: the beam would fall apart inside."""
    mesh = shapes.beam((4, 1, 1), cells, split=split)
    nx, ny, nz = cells
    assert len(mesh.tets) == split * nx * ny * nz
    assert len(mesh.surface) == 4 * (nx * ny + ny * nz + nz * nx)
    assert_closed(mesh)
    assert euler_characteristic(mesh) == 2
    assert volume_inside(mesh) == pytest.approx(4, rel=1e-12)
    assert (mesh.points.max(axis=0) == [4, 1, 1]).all() and (mesh.points.min(axis=0) == 0).all()


def test_grid_is_the_published_cloth():
    """If it failed, the cloth figures could not be reproduced."""
    mesh = shapes.grid((1, 1), cells=(40, 40))
    points, triangles = inputs.cloth(40)
    assert mesh.points == pytest.approx(points, abs=1e-15)
    assert np.array_equal(mesh.triangles, triangles)
    assert len(mesh.unique_edges()) == 4880 and len(mesh.hinges) == 4720
    assert mesh.quality()["areas"].sum() == pytest.approx(1)


def test_box_is_closed_and_outward():
    """If it failed, a body would fall through an obstacle or be pulled into it."""
    mesh = shapes.box((1, 2, 3))
    assert (len(mesh.points), len(mesh.triangles)) == (8, 12)
    assert_closed(mesh)
    assert volume_inside(mesh) == pytest.approx(6)


@pytest.mark.parametrize("subdivisions", [0, 1, 4])
def test_sphere_is_round_closed_and_outward(subdivisions):
    """If it failed, a ball would have a seam, or a wrong size."""
    mesh = shapes.sphere(2.0, subdivisions)
    assert len(mesh.points) == 10 * 4**subdivisions + 2 and len(mesh.triangles) == 20 * 4**subdivisions
    assert np.linalg.norm(mesh.points, axis=1) == pytest.approx(np.full(len(mesh.points), 2.0), rel=1e-14)
    assert_closed(mesh)
    assert euler_characteristic(mesh) == 2
    ball = 4 / 3 * np.pi * 2**3
    icosahedron = 5 / 12 * (3 + np.sqrt(5)) * (2 / np.sin(2 * np.pi / 5)) ** 3
    if subdivisions == 0:
        assert volume_inside(mesh) == pytest.approx(icosahedron, rel=1e-12)
    assert icosahedron * (1 - 1e-12) <= volume_inside(mesh) < ball
    assert subdivisions < 4 or volume_inside(mesh) > 0.99 * ball


def test_chain_counts_edges():
    """If it failed, a chain of 20 would be one link short or long."""
    mesh = shapes.chain(20)
    assert mesh.edges.tolist() == [[i, i + 1] for i in range(20)]
    assert len(mesh.points) == 21 and mesh.quality()["edge_lengths"].sum() == pytest.approx(1)
    assert shapes.chain(4, length=2.0).points[:, 0].tolist() == [0, 0.5, 1, 1.5, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shapes.beam((1, 1), (1, 1, 1)), r"size: expected 3 real numbers, got \(1, 1\)"),
        (lambda: shapes.beam((1, 1, 0), (1, 1, 1)), "size: 0 is not positive"),
        (lambda: shapes.beam((1, np.nan, 1), (1, 1, 1)), "size: nan is not positive and finite"),
        (lambda: shapes.beam((1, 1, 1j), (1, 1, 1)), "size: expected 3 real numbers"),
        (lambda: shapes.beam((1, 1, 1), (1, 1, 0)), "cells: 0 is less than 1"),
        (lambda: shapes.beam((1, 1, 1), (1, 1, 1.5)), "cells: 1.5 is not an integer"),
        (lambda: shapes.beam((1, 1, 1), 4), "cells: expected 3 integers, got 4"),
        (lambda: shapes.beam((1, 1, 1), (1, 1, 1), split=4), "split: expected 5 or 6, got 4"),
        (lambda: shapes.beam((1, 1, 1), (2000, 2000, 2000)), "cells: .* makes 48000000000 rows"),
        (lambda: shapes.grid((1, -1), (2, 2)), "size: -1 is not positive"),
        (lambda: shapes.grid((1, 1), (2,)), r"cells: expected 2 integers, got \[2\]"),
        (lambda: shapes.box((1, 1, np.inf)), "size: inf is not positive and finite"),
        (lambda: shapes.sphere(0, 1), "radius: 0 is not positive"),
        (lambda: shapes.sphere(1, -1), "subdivisions: expected 0 to 12, got -1"),
        (lambda: shapes.sphere(1, 2.0), "subdivisions: 2.0 is not an integer"),
        (lambda: shapes.chain(0), "n: 0 is less than 1"),
        (lambda: shapes.chain(3, length=-1), "length: -1 is not positive"),
    ],
)
def test_bad_arguments_are_named(call, message):
    """If it failed, a typing error would give a strange shape or a strange message."""
    with pytest.raises(ValueError, match=message):
        call()
