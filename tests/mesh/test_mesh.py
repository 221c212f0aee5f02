"""The Mesh class: what it accepts, what it refuses, what it derives."""

import pickle
import warnings

import inputs
import numpy as np
import pytest

from pdgpu import shapes
from pdgpu.mesh import Mesh

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
TET = [[0, 1, 2, 3]]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8, np.longdouble, ">f8"])
def test_any_real_points_are_cast(dtype):
    """If it failed, points from another program would have to be converted by hand."""
    mesh = Mesh(POINTS.astype(dtype), tets=np.array(TET, dtype=np.uint64))
    assert mesh.points.dtype == np.float64 and mesh.tets.dtype == np.int32
    assert np.array_equal(mesh.points, POINTS)


def test_lists_and_strided_arrays_are_accepted():
    """If it failed, a slice or a nested list would be refused, or read with the wrong strides."""
    assert np.array_equal(Mesh(POINTS.tolist(), tets=TET).points, POINTS)
    padded = np.hstack([POINTS, POINTS])[:, ::2]
    mesh = Mesh(padded, triangles=np.asfortranarray([[0, 1, 2], [0, 2, 3]]))
    assert np.array_equal(mesh.points, padded) and mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3]]


def test_arrays_are_read_only_copies():
    """If it failed, changing an array after the fact would corrupt a running simulation."""
    points, tets = POINTS.copy(), np.array(TET, np.int32)
    mesh = Mesh(points, tets=tets)
    points[0] = 99
    tets[0] = 0
    assert np.array_equal(mesh.points, POINTS) and mesh.tets.tolist() == TET
    for array in (mesh.points, mesh.tets, mesh.triangles, mesh.edges, mesh.surface, mesh.hinges, mesh.unique_edges()):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        mesh.points = POINTS


def test_absent_elements_are_empty_arrays():
    """If it failed, code that loops over all kinds of element would need special cases."""
    mesh = Mesh(POINTS, edges=[[0, 1]])
    assert mesh.tets.shape == (0, 4) and mesh.triangles.shape == (0, 3) and mesh.surface.shape == (0, 3) and mesh.hinges.shape == (0, 4)
    assert Mesh(POINTS, tets=TET, triangles=[], edges=np.zeros((0, 2))).edges.shape == (0, 2)
    assert repr(Mesh(POINTS, tets=TET, edges=[[0, 1]])) == "Mesh(4 points, 1 tet, 1 edge)"


@pytest.mark.parametrize(
    ("arguments", "exception", "message"),
    [
        ({"points": POINTS + 0j}, TypeError, "points: .*complex128"),
        ({"points": POINTS.astype(object)}, TypeError, "points: .*object"),
        ({"points": POINTS.astype(bool)}, TypeError, "points: .*bool"),
        ({"points": [["a", "b", "c"]]}, TypeError, "points: .*U1"),
        ({"points": [[0, 0, 0], [1, 1]]}, ValueError, "points: "),
        ({"points": POINTS[:, :2]}, ValueError, r"points: expected shape \(n, 3\), got \(4, 2\)"),
        ({"points": POINTS[0]}, ValueError, r"points: expected shape \(n, 3\), got \(3,\)"),
        ({"points": np.empty((0, 3)), "tets": None}, ValueError, "points: there are none; give one or more"),
        ({"points": np.where(POINTS > 0.5, np.nan, POINTS)}, ValueError, "points: coordinate nan at row 1, column 0 is not finite"),
        ({"points": POINTS * np.longdouble("1e400")}, ValueError, "points: coordinate inf at row 1"),
        ({"points": np.ma.masked_less(POINTS, 0.5)}, ValueError, "points: .*masked"),
        ({"tets": None}, ValueError, "mesh: 4 points but no tets, triangles or edges"),
        ({"tets": []}, ValueError, "mesh: 4 points but no tets"),
        ({"tets": [[0.0, 1.0, 2.0, 3.0]]}, TypeError, "tets: expected integer indices, got dtype float64"),
        ({"tets": [[True, False, True, True]]}, TypeError, "tets: .*bool"),
        ({"tets": [[0, 1, 2]]}, ValueError, r"tets: expected shape \(m, 4\), got \(1, 3\)"),
        ({"tets": [0, 1, 2, 3]}, ValueError, r"tets: expected shape \(m, 4\), got \(4,\)"),
        ({"tets": [TET[0], [0, 1, 2, 4]]}, ValueError, "tets: index 4 at row 1 is out of range for 4 points"),
        ({"triangles": [[0, -1, 2]]}, ValueError, "triangles: index -1 at row 0 is out of range for 4 points"),
        ({"edges": [[0, 2**32 + 1]]}, ValueError, "edges: index 4294967297 at row 0 is out of range"),
        ({"edges": np.array([[0, 2**63 + 1]], np.uint64)}, ValueError, "edges: index 9223372036854775809 at row 0"),
        ({"tets": [TET[0], [0, 1, 2, 2]]}, ValueError, "tets: row 1 repeats vertex 2"),
        ({"edges": [[3, 3]]}, ValueError, "edges: row 0 repeats vertex 3"),
        ({"points": POINTS * [1, 1, 0]}, ValueError, "tets: row 0 has zero volume"),
        ({"points": POINTS * [1, 1, 1e-13]}, ValueError, "tets: row 0 has zero volume"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, exception, message):
    """If it failed, a broken mesh would surface as a crash or NaN deep inside a solver."""
    with pytest.raises(exception, match=message):
        Mesh(**({"points": POINTS, "tets": TET} | arguments))


def test_inverted_tets_are_turned_with_one_warning():
    """If it failed, an inverted tet would be simulated inside out, or the user would not learn that the file is odd."""
    tets = [[0, 1, 2, 3], [0, 2, 1, 3], [0, 1, 3, 2]]
    with pytest.warns(UserWarning, match="tets: 2 of 3 are inverted, the first at row 1") as caught:
        mesh = Mesh(POINTS, tets=tets)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert (mesh.quality()["volumes"] > 0).all()
    assert mesh.tets.tolist() == [[0, 1, 2, 3], [0, 2, 3, 1], [0, 1, 2, 3]]
    with pytest.raises(ValueError, match="tets: 2 of 3 are inverted"):
        Mesh(POINTS, tets=tets, strict=True)


def test_a_good_mesh_gives_no_warning():
    """If it failed, every user would learn to ignore the warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Mesh(*inputs.J10())


def test_surface_of_triangles_is_themselves():
    """If it failed, a cloth would have no surface to collide with."""
    points, triangles = inputs.cloth(3)
    assert np.array_equal(Mesh(points, triangles=triangles).surface, triangles)


def test_unique_edges_join_all_kinds_of_element():
    """If it failed, a colouring of a mixed mesh would let two coupled vertices move at once."""
    points = np.concatenate([POINTS, POINTS + 2])
    mesh = Mesh(points, tets=TET, triangles=[[4, 5, 6]], edges=[[7, 0], [1, 0]])
    expected = [[0, 1], [0, 2], [0, 3], [0, 7], [1, 2], [1, 3], [2, 3], [4, 5], [4, 6], [5, 6]]
    assert mesh.unique_edges().tolist() == expected
    colours = mesh.colouring("greedy")
    assert all(colours[a] != colours[b] for a, b in expected)


def test_quality_of_regular_shapes_is_one():
    """If it failed, good meshes would be reported as bad and bad ones as good."""
    regular = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float)
    quality = Mesh(regular, tets=[[0, 1, 3, 2]], triangles=[[0, 1, 2]]).quality()
    assert quality["volumes"] == pytest.approx([8 / 3])
    assert quality["volume_ratios"] == pytest.approx([1.0])
    assert quality["dihedral_minimum"] == pytest.approx([np.degrees(np.arccos(1 / 3))])
    assert quality["dihedral_maximum"] == pytest.approx([np.degrees(np.arccos(1 / 3))])
    assert quality["areas"] == pytest.approx([2 * np.sqrt(3)])
    assert quality["triangle_ratios"] == pytest.approx([1.0])
    assert quality["edge_lengths"] == pytest.approx([np.sqrt(8)] * 6)


def test_quality_of_a_degenerate_triangle_is_zero():
    """If it failed, a mesh report would divide by zero on the very mesh it is needed for."""
    quality = Mesh(np.zeros((3, 3)), triangles=[[0, 1, 2]]).quality()
    assert quality["triangle_ratios"].tolist() == [0.0]


def test_unused_vertices_are_removed():
    """If it failed, vertices without mass would make the system singular."""
    points = np.concatenate([[[9, 9, 9]], POINTS, [[8, 8, 8]]])
    mesh = Mesh(points, tets=np.array(TET) + 1).without_unused_vertices()
    assert np.array_equal(mesh.points, POINTS) and mesh.tets.tolist() == TET


def test_pickle():
    """If it failed, a scene could not be sent to another process."""
    mesh = shapes.beam((1, 1, 1), (2, 2, 2))
    copy = pickle.loads(pickle.dumps(mesh))
    assert np.array_equal(copy.points, mesh.points) and np.array_equal(copy.tets, mesh.tets)
    assert not copy.points.flags.writeable
