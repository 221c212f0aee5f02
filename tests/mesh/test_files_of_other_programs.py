"""Mesh files by the programs that make them: the elements they hold, or a refusal with the true reason."""

import struct
import warnings
from pathlib import Path

import mesh_makers
import meshio
import numpy as np
import pytest

import pdgpu

FILES = Path(__file__).parent / "files"
# file -> points in use, tets, triangles, edges, counted in the file; or the reason of a refusal
COUNTS = {
    "element_elset.inp": (4, 0, 2, 0),
    "cube86.mesh": (39, 86, 72, 0),
    "insulated-2.2.msh": (67, 0, 111, 21),
    "insulated-4.1.msh": (67, 0, 111, 21),
    "tet.ply": (4, 0, 4, 0),
    "gh-935.vtk": (6, 0, 2, 0),
    "05_rectilinear.vtk": (40, 0, 54, 0),
    "06_color_scalars.vtk": (5, 0, 1, 1),
    "06_unstructured.vtk": "holds 12 cells of type hexahedron",
    "00_raw_binary.vtu": (64, 162, 0, 0),
    "02_raw_compressed.vtu": (64, 162, 0, 0),
    "tetgen.node": (89, 304, 0, 0),
    "tetgen.ele": (89, 304, 0, 0),
}


def read(path):
    """The counts of a file, as of COUNTS; warnings are those of other tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mesh = pdgpu.read_mesh(path).without_unused_vertices()
    return len(mesh.points), len(mesh.tets), len(mesh.triangles), len(mesh.edges)


def check(path, expected):
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: ")
    else:
        assert read(path) == expected, path.name


@pytest.mark.parametrize("name", COUNTS)
def test_public_files(name):
    """If not, a file of the program that defines the format is refused, or read with other elements."""
    check(FILES / name, COUNTS[name])


@pytest.mark.parametrize("maker", mesh_makers.MAKERS)
def test_files_of_every_dialect(maker, tmp_path, capfd):
    """If not, files of one version, encoding or option of another program cannot be read, or lose elements."""
    pytest.importorskip(maker, exc_type=(ImportError, OSError))  # Gmsh lacks libraries of the system
    found = list(mesh_makers.MAKERS[maker](tmp_path))
    capfd.readouterr()
    assert len(found) > 5
    for path, expected in found:
        check(path, expected)
    assert capfd.readouterr() == ("", "")


GMSH = "$MeshFormat\n{} 0 8\n$EndMeshFormat\n"
EMPTY_BLOCK = GMSH.format("4.1") + (
    "$Nodes\n2 4 1 4\n1 1 0 0\n3 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n"
    "$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 4\n$EndElements\n"
)
MEDIT = "MeshVersionFormatted 2\nDimension 3\nVertices\n{}\n{}\n"
CORNERS = "0 0 0 0\n1 0 0 0\n0 1 0 0"
CUBE = "0 0 0 0\n1 0 0 0\n0 1 0 0\n1 1 0 0\n0 0 1 0\n1 0 1 0\n0 1 1 0\n1 1 1 0"
POLYDATA = "# vtk DataFile Version 3.0\nx\nASCII\nDATASET POLYDATA\nPOINTS 4 float\n0 0 0 1 0 0 0 1 0 1 1 0\n"
SECOND_ORDER = (
    "*NODE\n" + "".join(f"{k},{k % 3},{k % 5},{k % 7}\n" for k in range(1, 11)) + "*ELEMENT, TYPE=C3D10\n1,1,2,3,4,5,6,7,8,9,10\n"
)


@pytest.mark.parametrize(
    ("name", "text", "expected", "said"),
    [
        ("empty_block.msh", EMPTY_BLOCK, (4, 1, 0, 0), None),
        ("no_end.mesh", MEDIT.format(3, CORNERS) + "Triangles\n1\n1 2 3 0\n", (3, 0, 1, 0), "does not end with End; was the file cut off"),
        ("line.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 2\n", (3, 0, 1, 0), "faces of two corners were left out: 1"),
        ("line.off", "OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n2 0 1\n", (3, 0, 1, 0), "faces of two corners were left out: 1"),
        ("triangle.vtk", POLYDATA + "POLYGONS 1 4\n3 0 1 2\n", (3, 0, 1, 0), None),
        ("quad.vtk", POLYDATA + "POLYGONS 1 5\n4 0 1 3 2\nPOINT_DATA 4\nNORMALS n float\n" + "0 0 1 " * 4 + "\n", (4, 0, 2, 0), None),
        (
            "lines.vtk",
            POLYDATA + "LINES 1 3\n2 0 1\nPOLYGONS 1 4\n3 0 1 2\n",
            "holds POLYDATA of LINES, POLYGONS, of which .*from_pyvista",
            None,
        ),
        ("hexa.mesh", MEDIT.format(8, CUBE) + "Hexahedra\n1\n1 2 4 3 5 6 8 7 0\nEnd\n", "1 cells of type hexahedron; split them", None),
        ("lfs.msh", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", "pointer of Git LFS.*git lfs pull", None),
        ("old.msh", "$NOD\n1\n1 0 0 0\n$ENDNOD\n$ELM\n0\n$ENDELM\n", "version 1; convert it: gmsh", None),
        ("second.inp", SECOND_ORDER, "1 cells of type tetra10, of second order or higher; save them with first order", None),
        ("second.ele", "1 10 0\n1 1 2 3 4 5 6 7 8 9 10\n", "1 tets of second order", None),
        ("collapsed.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\ng all\nf 1 1 2\nf 1 2 3\n", (3, 0, 1, 0), "no area, which have a vertex twice.*: 1"),
        ("unknown.mesh", MEDIT.format(3, CORNERS) + "TrianglesP2\n0\nEnd\n", "TrianglesP2", None),
    ],
)
def test_reasons_are_the_true_ones(name, text, expected, said, tmp_path):
    """If not, a file is refused that can be read, or for a reason that does not help."""
    path = tmp_path / name
    path.write_text(text)
    if name.endswith(".ele"):
        path.with_suffix(".node").write_text("4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n")
    if said is None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if isinstance(expected, str):
                with pytest.raises(ValueError, match=expected):
                    pdgpu.read_mesh(path)
            else:
                pdgpu.read_mesh(path)
    else:
        with pytest.warns(UserWarning, match=said) as caught:
            mesh = pdgpu.read_mesh(path)
        assert [warning.filename for warning in caught] == [__file__]
        assert all(list(group.triangles) == [0] for group in mesh.groups.values())
    check(path, expected)


def test_a_facet_without_area_is_left_out(tmp_path):
    """If not, one sliver of a CAD program's file refuses the whole of it."""
    path = tmp_path / "one_flat_facet.stl"
    facets = [((0, 0, 0), (1, 0, 0), (0, 1, 0)), ((0, 0, 0), (1, 0, 0), (1, 0, 0))]
    path.write_bytes(bytes(80) + struct.pack("<I", 2) + b"".join(struct.pack("<12fH", 0, 0, 1, *np.ravel(f), 0) for f in facets))
    with pytest.warns(UserWarning, match=r"one_flat_facet\.stl: triangles of no area, which have a vertex twice, were left out: 1"):
        assert pdgpu.read_mesh(path).triangles.tolist() == [[0, 1, 2]]


def test_cures_of_refusals_work(tmp_path):
    """If not, a refusal names a way that ends in another one."""
    pyvista = pytest.importorskip("pyvista")
    path = tmp_path / "hexa.vtu"
    cube = np.array([[b & 1, b >> 1 & 1, b >> 2 & 1] for b in (0, 1, 3, 2, 4, 5, 7, 6)], dtype=float)
    meshio.Mesh(cube, [("hexahedron", [list(range(8))])]).write(path)
    with pytest.raises(ValueError, match=r"pdgpu\.Mesh\.from_pyvista\(pyvista\.read\(FILE\)\.triangulate\(\)\)"):
        pdgpu.read_mesh(path)
    mesh = pdgpu.Mesh.from_pyvista(pyvista.read(path).triangulate())
    assert mesh.quality()["volumes"].sum() == pytest.approx(1.0, rel=1e-12)
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    middles = [(corners[a] + corners[b]) / 2 for a, b in ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))]
    meshio.Mesh(np.concatenate([corners, middles]), [("tetra10", [list(range(10))])]).write(path)
    with pytest.raises(ValueError, match=r"second order.*linear_copy\(\)\.triangulate\(\)"):
        pdgpu.read_mesh(path)
    mesh = pdgpu.Mesh.from_pyvista(pyvista.read(path).linear_copy().triangulate()).without_unused_vertices()
    assert len(mesh.points) == 4 and len(mesh.tets) == 1


def test_tags_and_groups_of_entities(tmp_path):
    """If not, an element in two physical groups is in one of them, or files of one group among many entities are refused."""
    path = tmp_path / "groups.msh"
    entities = "$Entities\n0 0 1 1\n1 0 0 0 1 1 0 0 0\n1 0 0 0 1 1 1 2 7 8 0\n$EndEntities\n"
    names = '$PhysicalNames\n1\n3 7 "soft"\n$EndPhysicalNames\n'
    elements = "$Elements\n2 2 1 2\n2 1 2 1\n2 1 2 3\n3 1 4 1\n1 1 2 3 4\n$EndElements\n"
    nodes = EMPTY_BLOCK[EMPTY_BLOCK.index("$Nodes") : EMPTY_BLOCK.index("$Elements")]
    data = '$ElementData\n1\n"heat"\n1\n0.0\n3\n0\n1\n1\n1 2.5\n$EndElementData\n'
    path.write_text(GMSH.format("4.1") + names + entities + nodes + elements + data)
    mesh = pdgpu.read_mesh(path)
    assert set(mesh.groups) == {"soft", "physical 8"}
    assert all(list(group.tets) == [0] and not len(group.triangles) for group in mesh.groups.values())
    assert list(mesh.cell_data["heat"]) == ["tets"] and mesh.cell_data["heat"]["tets"].tolist() == [2.5]
    path.write_text(path.read_text().replace("1 1 2 3 4\n", "1 1 2 3 9\n"))
    with pytest.raises(ValueError, match="an element refers to node 9, which does not exist"):
        pdgpu.read_mesh(path)
