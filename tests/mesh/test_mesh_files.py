"""Reading and writing mesh files."""

import gzip
import multiprocessing
import warnings

import inputs
import numpy as np
import pytest

from pdgpu import shapes
from pdgpu.mesh import Mesh, read_mesh
from pdgpu.mesh.io import mesh_files

MIXED = Mesh(
    np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1 / 3, 2 / 3, 5e-7]]),
    tets=[[0, 1, 2, 3]],
    triangles=[[0, 2, 1], [1, 2, 4]],
    edges=[[3, 4]],
)
TRIANGLES = shapes.sphere(1.0, 1)
TETS = shapes.beam((1, 2, 3), (2, 1, 2), split=5)

# name, points, elements, smallest volume ratio or triangle ratio, its median, extreme dihedral angles: computed by another program
TET_TABLE = [
    ("ipc_tet.msh", 4, 1, 0.77, 0.77, 54.7, 90),
    ("ipc_cube.msh", 8, 6, 0.657, 0.66, 45, 90),
    ("ipc_bar-186.msh", 86, 186, 0.0196, 0.38, 3.63, 163.2),
    ("ipc_bar-651.msh", 292, 651, 0.0196, 0.53, 2.51, 163.7),
    ("ipc_bar-2523.msh", 886, 2523, 0.0196, 0.62, 1.34, 165),
    ("ipc_bar-14114.msh", 3842, 14114, 0.0196, 0.69, 2.51, 165),
    ("ipc_mat20x20.msh", 800, 2166, 0.219, 0.30, 13.5, 160.7),
    ("ipc_mat40x40.msh", 3200, 9126, 0.272, 0.37, 16.6, 156.2),
    ("ipc_sphere1K.msh", 1760, 6851, 0.108, 0.66, 7.47, 165),
    ("ipc_bunny.msh", 4670, 19379, 0.00417, 0.61, 0.227, 179.5),
    ("ipc_Armadillo13K.msh.gz", 13230, 54985, 0.02, 0.65, 3.24, 170.7),
    ("codim_Armadillo28K.vtk.gz", 27951, 121190, 0.00453, 0.64, 0.291, 179.1),
    ("libuipc_bunny0.msh", 1869, 7356, 0.235, 0.79, 11, 148.3),
    ("libuipc_ball.msh", 1647, 7056, 0.177, 0.83, 13.3, 150.5),
    ("gaia_OverhandKnot.t", 8605, 22830, 0.191, 0.46, 11.2, 155.2),
    ("gaia_Cube_subdivided.t", 2578, 11020, 0.205, 0.74, 12, 160.7),
    ("vega_asianDragon.node", 959, 2591, 0.0691, 0.53, 6.12, 167.4),
    ("vega_asianDragon.ele", 959, 2591, 0.0691, 0.53, 6.12, 167.4),
    ("derived_spot_80k.npz", 80541, 397329, 0.0363, 0.72, 1.99, 166.4),
]
# name, points, triangles, boundary edges, smallest triangle ratio, shortest edge
TRIANGLE_TABLE = [
    ("itd_two-cubes-close.ply", 262, 480, 0, 0.7, 0.168),
    ("itd_two-cubes-far.ply", 262, 480, 0, 0.732, 0.14),
    ("itd_height-field.ply", 2540, 4904, 174, 0.129, 0.00552),
    ("itd_bunny.ply", 2503, 5002, 0, 0.038, 0.00579),
    ("itd_thick-cloth_t0.ply", 233, 404, 56, 0.84, 1.94),
    ("codim_square41.obj", 1681, 3200, 160, 0.866, 0.025),
    ("codim_square113.obj", 12769, 25088, 448, 0.866, 0.00893),
    ("codim_skirt4K.obj", 4004, 7496, 512, 0.0283, 0.00272),
    ("codim_tableCloth.obj.gz", 14161, 27848, 472, 0.453, 0.00399),
    ("codim_dress_knife_stage.obj.gz", 15656, 29456, 1828, 0.519, 0.00312),
    ("ipc_mat20x20.obj", 800, 1596, 0, 0.403, 0.013),
    ("ipc_funnel.obj", 288, 552, 24, 0.321, 0.0103),
    ("ipc_cone.obj", 1152, 2176, 128, 0.199, 0.0098),
    ("ipc_bowl.obj", 1321, 2560, 80, 0.78, 0.187),
    ("ipc_cylinder.obj", 152, 300, 0, 0.745, 0.0518),
    ("ipc_sphere1K.obj", 1239, 2474, 0, 0.418, 0.0204),
    ("ipc_sheet1000.obj", 913, 1708, 116, 0.279, 0.288),
    ("ipc_rod.obj", 583, 1162, 0, 0.681, 0.0103),
    ("ipc_erleben_cliff.obj", 8, 12, 0, 0.752, 1),
    ("ipc_erleben_crack.obj", 20, 36, 0, 0.213, 0.5),
    ("ipc_erleben_hole.obj", 48, 88, 12, 0.693, 0.5),
    ("ipc_erleben_internal_edges.obj", 14, 24, 0, 0.495, 0.707),
    ("ipc_erleben_spike.obj", 5, 6, 0, 0.527, 1),
    ("ipc_erleben_wedge.obj", 6, 8, 0, 0.533, 1),
    ("libuipc_cloth80x80_quads.obj", 6400, 12482, 316, 0.866, 0.0127),
    ("rigidipc_spot.obj", 2930, 5856, 0, 0.297, 0.00434),
]


def same(a, b, tolerance=0.0):
    assert a.points == pytest.approx(b.points, abs=tolerance, rel=0)
    for name in ("tets", "triangles", "edges"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


def rows(table):
    """Cases of a table; meshes of more than 14,000 points, whose formats smaller ones have too, are marked `stress`."""
    return [pytest.param(*row, marks=[pytest.mark.stress] if row[1] > 14000 else []) for row in table]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_points", "n_tets", "ratio", "median", "smallest", "largest"), rows(TET_TABLE))
def test_real_tet_meshes_have_the_published_counts_and_shapes(name, n_points, n_tets, ratio, median, smallest, largest, capfd):
    """If it failed, a mesh of the collection would be read wrongly, or could not be read at all."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mesh = read_mesh(inputs.data_file(f"tet/{name}"))
    assert capfd.readouterr() == ("", "")
    quality = mesh.quality()
    assert (len(mesh.points), len(mesh.tets)) == (n_points, n_tets)
    assert quality["volume_ratios"].min() == pytest.approx(ratio, rel=0.005)
    assert np.median(quality["volume_ratios"]) == pytest.approx(median, abs=0.006)
    assert quality["dihedral_minimum"].min() == pytest.approx(smallest, rel=0.005)
    assert quality["dihedral_maximum"].max() == pytest.approx(largest, abs=0.06)


@pytest.mark.parametrize(("name", "n_points", "n_triangles", "n_boundary", "ratio", "shortest"), rows(TRIANGLE_TABLE))
def test_real_triangle_meshes_have_the_published_counts_and_shapes(name, n_points, n_triangles, n_boundary, ratio, shortest, capfd):
    """If it failed, a cloth or an obstacle of the collection would have holes or could not be read."""
    mesh = read_mesh(inputs.data_file(f"tri/{name}"))
    assert capfd.readouterr() == ("", "")
    quality = mesh.quality()
    assert (len(mesh.points), len(mesh.triangles)) == (n_points, n_triangles)
    assert len(mesh.unique_edges()) - len(mesh.hinges) == n_boundary
    assert quality["triangle_ratios"].min() == pytest.approx(ratio, rel=0.005)
    assert quality["edge_lengths"].min() == pytest.approx(shortest, rel=0.006)


def test_inverted_tets_of_a_file_are_reported():
    """If it failed, a mesh with inverted elements would be used without a word."""
    path = inputs.data_file("tet/polyfem_microstructure_P1_has_inverted.msh")
    with pytest.warns(UserWarning, match=r"P1_has_inverted\.msh: tets: 8 of 6414 are inverted") as caught:
        mesh = read_mesh(path)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert (len(mesh.points), len(mesh.tets)) == (1585, 6414) and (mesh.quality()["volumes"] > 0).all()
    with pytest.raises(ValueError, match="8 of 6414 are inverted"):
        read_mesh(path, strict=True)


def test_segments_and_bare_points_of_the_collection():
    """If it failed, a needle obstacle would be lost, or a point cloud taken for a mesh."""
    needles = read_mesh(inputs.data_file("tri/codim_needleBed10x10.seg"))
    assert (len(needles.points), len(needles.edges)) == (200, 100)
    with pytest.raises(ValueError, match=r"ipc_pointPlane\.obj: mesh: 420 points but no tets"):
        read_mesh(inputs.data_file("tri/ipc_pointPlane.obj"))


@pytest.mark.parametrize("suffix", [".msh", ".vtk", ".vtu", ".mesh", ".npz", ".vtu.gz", ".msh.gz", ".MSH"])
def test_everything_survives_a_round_trip(tmp_path, suffix, capfd):
    """If it failed, saving a mesh would lose elements or digits."""
    path = tmp_path / f"mesh{suffix}"
    MIXED.write(path)
    same(read_mesh(path), MIXED, 1e-16)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("suffix", "tolerance"), [(".obj", 1e-16), (".ply", 0), (".off", 1e-16), (".obj.gz", 1e-16)])
def test_triangles_survive_a_round_trip(tmp_path, suffix, tolerance):
    """If it failed, a surface would lose triangles or digits on the way to another program."""
    path = tmp_path / f"mesh{suffix}"
    TRIANGLES.write(path)
    same(read_mesh(path), TRIANGLES, tolerance)


def test_tets_survive_a_round_trip_through_tetgen(tmp_path):
    """If it failed, a mesh could not be passed to TetGen."""
    TETS.write(tmp_path / "mesh.node")
    same(read_mesh(tmp_path / "mesh.node"), TETS, 1e-16)
    same(read_mesh(tmp_path / "mesh.ele"), TETS, 1e-16)


def test_stl_corners_are_merged(tmp_path):
    """If it failed, every triangle of an STL would float on its own."""
    path = tmp_path / "mesh.stl"
    TRIANGLES.write(path)
    mesh = read_mesh(path)
    assert len(mesh.points) == len(TRIANGLES.points) and len(mesh.hinges) == len(TRIANGLES.hinges)
    assert mesh.points[mesh.triangles] == pytest.approx(TRIANGLES.points[TRIANGLES.triangles], abs=1e-7)


@pytest.mark.parametrize(
    ("mesh", "name", "message"),
    [
        (TETS, "mesh.obj", "cannot hold tets"),
        (TETS, "mesh.stl", "cannot hold tets"),
        (TRIANGLES, "mesh.node", "cannot hold triangles"),
        (MIXED, "mesh.ply", "cannot hold tets"),
        (TETS, "mesh.node.gz", "cannot be compressed"),
        (TETS, "mesh.xyz", "unknown mesh format"),
        (TETS, "mesh", "unknown mesh format"),
    ],
)
def test_writing_never_loses_elements_silently(tmp_path, mesh, name, message):
    """If it failed, a file would be written without the tets, unnoticed until it is needed."""
    with pytest.raises(ValueError, match=message) as caught:
        mesh.write(tmp_path / name)
    assert name in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_obj_dialects(tmp_path):
    """If it failed, OBJ files of common programs could not be read: textures, relative indices, polygons, polylines."""
    path = tmp_path / "mesh.obj"
    path.write_text(
        "# comment\nmtllib a.mtl\nv 0 0 0\nv 1 0 0 1.0\nv 1 1 0 # corner\nv 0 1 0 0.1 0.2 0.3\nvt 0 0\nvn 0 0 1\n"
        "g quad\ns off\nf 1/1/1 2/1/1 3//1 4\nv 2 0.5 0\nf -1 -3 \\\n -4\nl 1 2 5\n"
    )
    mesh = read_mesh(path)
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0.5, 0]]
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3], [4, 2, 1]]
    assert mesh.edges.tolist() == [[0, 1], [1, 4]]


def test_planar_points_get_a_third_coordinate(tmp_path):
    """If it failed, 2D meshes of Gmsh or Triangle could not be used as cloth."""
    import meshio

    path = tmp_path / "mesh.off"
    path.write_text("OFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n")
    assert len(read_mesh(path).triangles) == 1
    meshio.Mesh(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), [("quad", [[0, 1, 2, 3]])]).write(tmp_path / "mesh.inp")
    mesh = read_mesh(tmp_path / "mesh.inp")
    assert mesh.points.shape == (4, 3) and mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3]]


def test_cells_that_cannot_be_used_are_named(tmp_path):
    """If it failed, a hexahedral mesh would be read as an empty one."""
    import meshio

    path = tmp_path / "mesh.vtk"
    cube = np.array([[b & 1, b >> 1 & 1, b >> 2 & 1] for b in (0, 1, 3, 2, 4, 5, 7, 6)], dtype=float)
    meshio.Mesh(cube, [("hexahedron", [list(range(8))])]).write(path)
    with pytest.raises(ValueError, match=r"mesh\.vtk: .*hexahedron"):
        read_mesh(path)


def test_a_missing_file(tmp_path):
    """If it failed, a typing error in a path would look like a damaged file."""
    with pytest.raises(FileNotFoundError, match=r"no\.msh"):
        read_mesh(tmp_path / "no.msh")
    TETS.write(tmp_path / "half.node")
    (tmp_path / "half.ele").unlink()
    with pytest.raises(FileNotFoundError, match=r"half\.ele"):
        read_mesh(tmp_path / "half.node")


@pytest.mark.parametrize("name", ["mesh.xyz", "mesh", "mesh.gz", "mesh.tar.gz"])
def test_unknown_formats(tmp_path, name):
    """If it failed, the reader would be left to guess which formats exist."""
    (tmp_path / name).write_bytes(b"anything")
    with pytest.raises(ValueError, match=rf"{name}: unknown mesh format; known are .*\.msh"):
        read_mesh(tmp_path / name)


@pytest.mark.parametrize(
    "suffix", [".msh", ".vtk", ".vtu", ".mesh", ".npz", ".ply", ".stl", ".off", ".obj", ".t", ".seg", ".inp", ".msh.gz"]
)
@pytest.mark.parametrize("content", [b"", b"garbage\n\x00\xff", b"1 2 3\n" * 20])
def test_garbage_is_refused_with_the_path(tmp_path, suffix, content, capfd):
    """If it failed, a wrong file would end the program (some readers call exit) or raise an exception that is not documented."""
    path = tmp_path / f"mesh{suffix}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"mesh\{suffix}"):
        read_mesh(path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("suffix", [".msh", ".vtk", ".vtu", ".mesh", ".npz", ".ply", ".stl", ".off", ".node", ".ele", ".msh.gz"])
def test_a_truncated_file_is_refused(tmp_path, suffix):
    """If it failed, half a download would be simulated as a body with a piece missing."""
    mesh = TRIANGLES if suffix in (".ply", ".stl", ".off") else TETS
    path = tmp_path / f"mesh{suffix}"
    mesh.write(path)
    whole = path.read_bytes()
    reference = read_mesh(path)
    for length in sorted({int(len(whole) * fraction) for fraction in np.linspace(0, 0.999, 60)}):
        path.write_bytes(whole[:length])
        try:
            same(read_mesh(path), reference, 1e-15)  # only trailing space or a closing keyword is missing
        except ValueError as error:
            assert str(path) in str(error)


@pytest.mark.parametrize("file_format", ["gmsh", "gmsh22"])
@pytest.mark.parametrize("binary", [False, True])
def test_gmsh_versions_and_their_truncation(tmp_path, file_format, binary):
    """If it failed, meshes of Gmsh, old or new, text or binary, could not be read, or half of one would pass."""
    import meshio

    path = tmp_path / "mesh.msh"
    meshio.Mesh(TETS.points, [("tetra", TETS.tets)]).write(path, file_format=file_format, binary=binary)
    whole = path.read_bytes()
    same(read_mesh(path), TETS, 1e-15)
    for length in range(0, len(whole) - len("\n$EndElements\n") - 1, 37):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"mesh\.msh"):
            read_mesh(path)


def test_text_stl(tmp_path):
    """If it failed, STL files written as text would be refused, or half of one would pass."""
    path = tmp_path / "mesh.stl"
    facet = "facet normal 0 0 1\nouter loop\nvertex {}\nvertex {}\nvertex {}\nendloop\nendfacet\n"
    text = "solid a\n" + facet.format("0 0 0", "1 0 0", "1 1 0") + facet.format("0 0 0", "1 1 0", "-0.0 1 -0.0") + "endsolid a\n"
    path.write_text(text)
    mesh = read_mesh(path)
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3]]
    path.write_text(text[: text.index("endsolid")])
    with pytest.raises(ValueError, match="endsolid"):
        read_mesh(path)


def test_damaged_compression(tmp_path):
    """If it failed, a broken .gz would raise an error that names no file."""
    path = tmp_path / "mesh.msh.gz"
    path.write_bytes(gzip.compress(b"$MeshFormat")[:-6])
    with pytest.raises(ValueError, match=r"mesh\.msh\.gz"):
        read_mesh(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.t", "Vertex 0 0 0 0\nVertex 1 1 0 0\nVertex 2 0 1 0\nVertex 3 0 0 1\nTet 0 0 1 2\n", "line 5"),
        ("b.t", "Vertex 0 0 0 0\nVertex 2 1 0 0\n", "Vertex 2 where 1 was expected"),
        ("c.obj", "v 0 0\n", "line 1"),
        ("d.obj", "v 0 0 0\nf 1\n", "line 2.*three vertices"),
        ("e.obj", "v 0 0 0\nf 0 1 1\n", "line 2.*vertex 0 does not exist"),
        ("f.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "index 3 at row 0 is out of range for 3 points"),
        ("g.seg", "v 0 0 0\ns 1 x\n", "cannot be read as .seg"),
    ],
)
def test_text_formats_name_the_line(tmp_path, name, text, message):
    """If it failed, a slip in a large text file could not be found."""
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_mesh(tmp_path / name)
    assert name in str(caught.value)


def test_npz_names(tmp_path):
    """If it failed, arrays of another program would be taken for something else."""
    path = tmp_path / "mesh.npz"
    np.savez(path, V=TETS.points.astype(np.float32), T=TETS.tets)
    assert np.array_equal(read_mesh(path).tets, TETS.tets)
    np.savez(path, V=TRIANGLES.points, T=TRIANGLES.triangles)
    assert np.array_equal(read_mesh(path).triangles, TRIANGLES.triangles)
    np.savez(path, x=TETS.points)
    with pytest.raises(ValueError, match="holds x; expected points"):
        read_mesh(path)


def test_a_forked_process_reads_meshes(tmp_path):
    """If not, a worker that was started while another thread read a mesh waits for it without end."""
    path = tmp_path / "mesh.vtu"
    MIXED.write(path)
    with mesh_files._CONSOLE:
        process = multiprocessing.get_context("fork").Process(target=read_mesh, args=(path,), daemon=True)
        process.start()
        process.join(60)
    assert process.exitcode == 0
