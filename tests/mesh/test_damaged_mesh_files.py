"""Damaged mesh files: the whole mesh, or a ValueError that names the path; never fewer elements in silence."""

import io
import random
import resource
import signal
import warnings
import zipfile

import numpy as np
import pytest

from pdgpu import shapes
from pdgpu.mesh import Mesh, read_mesh

TETS = shapes.beam((1, 2, 3), (2, 1, 2), split=5)
CLOTH = shapes.grid((1, 1), (3, 2))
MIXED = Mesh(TETS.points, TETS.tets, TETS.surface, [[0, 1], [1, 2]])


def by_meshio(file_format, suffix, mesh=MIXED, **options):
    def write(path):
        import meshio

        rows = {"tetra": mesh.tets, "triangle": mesh.triangles, "line": mesh.edges}
        cells = [(name, cells) for name, cells in rows.items() if len(cells)]
        meshio.Mesh(mesh.points, cells).write(path, file_format=file_format, **options)

    return suffix, write


def gmsh40_binary(path):
    """As Gmsh 4.0 wrote it; meshio writes text of that version only."""
    nodes = np.zeros(len(TETS.points), [("tag", "<i4"), ("x", "<f8", 3)])
    nodes["tag"], nodes["x"] = np.arange(1, len(nodes) + 1), TETS.points
    rows = np.column_stack([np.arange(len(TETS.tets)), TETS.tets]).astype("<i4") + 1
    parts = [b"$MeshFormat\n4.0 1 8\n", np.array([1], "<i4").tobytes(), b"\n$EndMeshFormat\n$Nodes\n"]
    for kind, table in ((0, nodes), (4, rows)):
        parts += [np.array([1, len(table)], "<u8").tobytes(), np.array([1, 3, kind], "<i4").tobytes()]
        parts += [np.array([len(table)], "<u8").tobytes(), table.tobytes(), b"\n$EndElements\n" if kind else b"\n$EndNodes\n$Elements\n"]
    path.write_bytes(b"".join(parts))


def text_stl(path):
    facet = "facet normal 0 0 1\nouter loop\n{}endloop\nendfacet\n"
    corners = ("".join("vertex {} {} {}\n".format(*point) for point in CLOTH.points[row]) for row in CLOTH.triangles)
    path.write_text("solid cloth\n" + "".join(map(facet.format, corners)) + "endsolid cloth\n")


def mixed_ply(path):
    """Quadrilaterals beside triangles, colours and edges, as modelling programs write them."""
    path.write_text(
        "ply\nformat ascii 1.0\nelement vertex 6\nproperty float x\nproperty float y\nproperty float z\nproperty uchar red\n"
        "element face 3\nproperty list uchar int vertex_indices\nproperty uchar flags\nelement edge 1\nproperty int vertex1\n"
        "property int vertex2\nend_header\n0 0 0 255\n1 0 0 255\n1 1 0 9\n0 1 0 9\n2 0 0 9\n2 1 0 9\n"
        "4 0 1 2 3 7\n3 1 4 2 7\n3 4 5 2 7\n0 5\n"
    )


def lines_of_t(path):
    points = "".join("Vertex {} {} {} {}\n".format(k, *x) for k, x in enumerate(TETS.points))
    path.write_text(points + "".join("Tet {} {} {} {} {}\n".format(k, *row) for k, row in enumerate(TETS.tets)))


def of_pdgpu(suffix, mesh):
    return suffix, lambda path: mesh.write(path)


# name -> (end of the path, function that writes a file there)
FORMATS = {
    "msh 2.2 text": by_meshio("gmsh22", ".msh", binary=False),
    "msh 2.2 binary": by_meshio("gmsh22", ".msh", binary=True),
    "msh 4.1 text": by_meshio("gmsh", ".msh", TETS, binary=False),
    "msh 4.1 binary": by_meshio("gmsh", ".msh", TETS, binary=True),
    "msh 4.0 binary": (".msh", gmsh40_binary),
    "vtk 4.2 text": by_meshio("vtk42", ".vtk", binary=False),
    "vtk 4.2 binary": by_meshio("vtk42", ".vtk", binary=True),
    "vtk 5.1 text": by_meshio("vtk", ".vtk", binary=False),
    "vtk 5.1 binary": by_meshio("vtk", ".vtk", binary=True),
    "vtu": of_pdgpu(".vtu", MIXED),
    "medit": of_pdgpu(".mesh", MIXED),
    "npz": of_pdgpu(".npz", MIXED),
    "ply text": by_meshio("ply", ".ply", CLOTH, binary=False),
    "ply binary": by_meshio("ply", ".ply", CLOTH, binary=True),
    "ply mixed": (".ply", mixed_ply),
    "stl text": (".stl", text_stl),
    "stl binary": of_pdgpu(".stl", CLOTH),
    "off": of_pdgpu(".off", CLOTH),
    "tetgen": of_pdgpu(".ele", TETS),
    "tetgen points": of_pdgpu(".node", TETS),
    "msh.gz": of_pdgpu(".msh.gz", MIXED),
    "obj": of_pdgpu(".obj", CLOTH),
    "abaqus": by_meshio("abaqus", ".inp"),
    "t": (".t", lines_of_t),
}
WITHOUT_COUNTS = ("obj", "abaqus", "t")


class Limits:
    """A read that takes long, or much memory, fails."""

    def __enter__(self):
        def late(*_):
            raise AssertionError("a damaged file is read without end")

        self.handler = signal.signal(signal.SIGALRM, late)
        self.megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def __exit__(self, *exception):
        signal.alarm(0)
        signal.signal(signal.SIGALRM, self.handler)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - self.megabytes < 300


def read_or_refuse(path, content):
    """The mesh, or None where the file was refused by its path, and whether there was a warning."""
    path.write_bytes(content)
    signal.alarm(120)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            return read_mesh(path), bool(said)
    except ValueError as error:
        assert str(error).startswith(str(path)), error
        return None, False


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("points", "tets", "triangles", "edges"))


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_is_cut_off_is_refused(name, tmp_path):
    """If not, half a download is simulated as a body with a piece missing."""
    suffix, write = FORMATS[name]
    path = tmp_path / f"mesh{suffix}"
    write(path)
    whole, reference = path.read_bytes(), read_mesh(path)
    draw = random.Random(1)
    lengths = {draw.randrange(len(whole)) for _ in range(120)} | {len(whole) - k for k in range(1, 40)}
    with Limits():
        for length in sorted(lengths):
            mesh, said = read_or_refuse(path, whole[:length])
            if mesh is not None and not said and not same(mesh, reference):
                # a file without counts that ends with a line is a smaller one
                assert name in WITHOUT_COUNTS and whole[length - 1 : length] == b"\n", length
                assert np.array_equal(mesh.points, reference.points)


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_with_flipped_bits_does_not_lose_elements(name, tmp_path):
    """If not, a bad disk removes a tet from a body, or ends the program with somebody else's exception."""
    suffix, write = FORMATS[name]
    path = tmp_path / f"mesh{suffix}"
    write(path)
    whole, reference = path.read_bytes(), read_mesh(path)
    n = sum(len(rows) for rows in (reference.tets, reference.triangles, reference.edges))
    draw, refused = random.Random(2), 0
    digits = [k for k, byte in enumerate(whole) if 48 <= byte <= 57]
    with Limits():
        for k in range(80):
            content = bytearray(whole)
            if k % 2:
                content[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
            else:  # the numbers are what counts are made of
                content[draw.choice(digits)] = draw.choice(b"0123456789-. ")
            mesh, said = read_or_refuse(path, content)
            refused += mesh is None
            # a letter that made a line an element, or a keyword a list of them, is missed only by formats without counts
            if mesh is not None and not said and name not in WITHOUT_COUNTS:
                assert len(mesh.tets) + len(mesh.triangles) + len(mesh.edges) >= n
    assert refused > 10


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("vtu", "npz", "msh.gz", "stl text", *WITHOUT_COUNTS)])
def test_a_lowered_count_is_refused(name, tmp_path):
    """If not, the elements after the count are left out in silence."""
    suffix, write = FORMATS[name]
    path = tmp_path / f"mesh{suffix}"
    write(path)
    whole, reference = path.read_bytes(), read_mesh(path)
    counts = {len(reference.points), len(reference.tets), len(reference.triangles)}
    counts |= {len(reference.tets) + len(reference.triangles) + len(reference.edges)}
    found = 0
    for count in counts - {0}:
        for before, after in ((b" ", b"\n"), (b"\n", b"\n"), (b" ", b" "), (b"\n", b" ")):
            text = before + str(count).encode() + after
            at = whole.find(text)
            if at < 0 or name in ("stl binary", "msh 4.1 binary"):
                continue
            for lower in (0, 1, count // 2, count - 1):
                mesh, said = read_or_refuse(path, whole[:at] + before + str(lower).encode() + after + whole[at + len(text) :])
                assert (
                    mesh is None
                    or said  # of a corner that became another one of its face
                    or same(mesh, reference)
                    or len(mesh.tets) + len(mesh.triangles) >= len(reference.tets) + len(reference.triangles)
                ), (text, lower)
            found += 1
    assert found or "binary" in name


@pytest.mark.parametrize("count", [10**9, 10**12, 10**17])
@pytest.mark.parametrize("name", FORMATS)
def test_a_count_beyond_all_memory_is_refused(name, count, tmp_path):
    """If not, one wrong digit takes the machine down."""
    suffix, write = FORMATS[name]
    path = tmp_path / f"mesh{suffix}"
    write(path)
    whole, reference = path.read_bytes(), read_mesh(path)
    with Limits():
        for n in {len(reference.points), len(reference.tets), len(reference.triangles)} - {0}:
            for before in (b" ", b"\n"):
                text = before + str(n).encode()
                if text in whole:
                    read_or_refuse(path, whole.replace(text, before + str(count).encode(), 1))


def test_the_file_that_started_it(tmp_path):
    """If not, a legacy VTK file cut inside its cell types is a body of fewer tets."""
    import meshio

    path = tmp_path / "mesh.vtk"
    meshio.Mesh(TETS.points, [("tetra", TETS.tets)]).write(path, file_format="vtk42", binary=False)
    whole = path.read_text()
    path.write_text(whole[: whole.index("CELL_TYPES") + len("CELL_TYPES 20\n10\n10\n")])
    with pytest.raises(ValueError, match=r"mesh\.vtk: cannot be read as \.vtk, .*announces 20 cells, of which 2 can be read"):
        read_mesh(path)


INP = "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 0, 1, 0\n4, 0, 0, 1\n*ELEMENT, TYPE=S3\n1, 1, 2, 3\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (INP + "*INCLUDE, INPUT=secret.inp\n", "INCLUDE.*other files are not opened"),
        (INP + " *include, input=secret.inp\n", "other files are not opened"),
        (INP + "Include,Input = secret.inp\n", "other files are not opened"),
        (INP + "\t**INCLUDE,INPUT=secret.inp\n", "other files are not opened"),
        (INP + "*ELEMENT, TYPE=C3D4, INPUT=secret.inp\n", "other files are not opened"),
        (INP + "*NODE\n1, 5, 5, 5\n*ELEMENT, TYPE=S3\n2, 1, 2, 3\n", "NODE occurs 2 times"),
        (INP.replace("*NODE", "*NODE, SYSTEM=C"), "SYSTEM=C' cannot be used"),
        (INP + "*ELGEN\n1, 5, 1, 1\n", "ELGEN' cannot be used"),
    ],
)
def test_abaqus_files_stand_alone(text, message, tmp_path):
    """If not, a mesh from a stranger opens other files, or a second part takes the points of the first."""
    (tmp_path / "secret.inp").write_text(INP)
    path = tmp_path / "mesh.inp"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_mesh(path)
    assert str(path) in str(caught.value)


def vtu(pieces):
    """A .vtu of text with one triangle for each piece: (type of its cell, number of its corners)."""
    piece = (
        '<Piece NumberOfPoints="4" NumberOfCells="1"><Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">'
        '0 0 0 1 0 0 0 1 0 0 0 1</DataArray></Points><Cells><DataArray type="Int64" Name="connectivity" format="ascii">{}</DataArray>'
        '<DataArray type="Int64" Name="offsets" format="ascii">{}</DataArray><DataArray type="Int64" Name="types" format="ascii">{}'
        "</DataArray></Cells></Piece>"
    )
    filled = "".join(piece.format(" ".join(map(str, range(n))), n, kind) for kind, n in pieces)
    return f'<VTKFile type="UnstructuredGrid" version="0.1"><UnstructuredGrid>{filled}</UnstructuredGrid></VTKFile>\n'


def test_cells_of_vtk_that_meshio_leaves_out(tmp_path):
    """If not, strips, polylines and all pieces of a parallel run but the last are missing from the body."""
    path = tmp_path / "mesh.vtu"
    path.write_text(vtu([(10, 4)]))
    assert len(read_mesh(path).tets) == 1
    for pieces, message in (
        ([(10, 4), (10, 4)], "2 pieces"),
        ([(6, 4)], "announces 1 cells, of which 0"),
        ([(24, 4)], "mesh.vtu"),
        ([(71, 4)], "mesh.vtu"),
        ([(1, 4)], "mesh.vtu"),
    ):
        path.write_text(vtu(pieces))
        with pytest.raises(ValueError, match=message):
            read_mesh(path)
    path = tmp_path / "mesh.vtk"
    path.write_text(
        "# vtk DataFile Version 5.1\nof strips\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 double\n0 0 0 1 0 0 0 1 0 0 0 1\nCELLS 3 8\n"
        "OFFSETS vtktypeint64\n0 4 8\nCONNECTIVITY vtktypeint64\n0 1 2 3 0 1 2 3\nCELL_TYPES 2\n10\n6\n"
    )
    with pytest.raises(ValueError, match="announces 2 cells, of which 1 can be read"):
        read_mesh(path)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("gmsh22", "tetra10"), ("gmsh", "tetra10"), ("gmsh22", "hexahedron"), ("vtk", "tetra10"), ("vtk42", "hexahedron"), ("vtu", "tetra10")],
)
@pytest.mark.parametrize("binary", [False, True])
def test_cells_of_other_kinds_beside_tets_are_named(name, kind, binary, tmp_path):
    """If not, the part of a mesh that is of second order, or of hexahedra, is missing from the body."""
    import meshio

    suffix = ".msh" if name.startswith("gmsh") else f".{name[:3]}"
    path = tmp_path / f"mesh{suffix}"
    corners = {"tetra10": 10, "hexahedron": 8}[kind]
    points = np.random.default_rng(0).random((10, 3))
    cells = [(kind, [list(range(corners))])]
    if name != "gmsh":
        cells.insert(0, ("tetra", [[0, 1, 2, 3]]))
    meshio.Mesh(points, cells).write(path, file_format=name, binary=binary)
    with pytest.raises(ValueError, match=rf"mesh\{suffix}: .*(of type {kind}|Gmsh's type)"):
        read_mesh(path)


def test_what_an_obj_file_holds_besides_is_said(tmp_path):
    """If not, curved surfaces, or the seams of a garment, are left out without a word."""
    path = tmp_path / "mesh.obj"
    text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    path.write_text(text + "stitch 1 2\nstitch 2 3\nseam 1\n")
    with pytest.warns(UserWarning, match=r"mesh\.obj: .* 2 of 'stitch', 1 of 'seam'") as caught:
        read_mesh(path)
    assert [warning.filename for warning in caught] == [__file__]
    path.write_text(text + "cstype bspline\nsurf 0 1 0 1 1 2 3\n")
    with pytest.raises(ValueError, match=r"line 5.*free-form surfaces"):
        read_mesh(path)
    path.write_text(text.rstrip("\n"))
    with pytest.warns(UserWarning, match="the last line has no end") as caught:
        read_mesh(path)
    assert [warning.filename for warning in caught] == [__file__]


def test_ply_dialects(tmp_path):
    """If not, files of common programs cannot be read: other names, mixed polygons, big-endian numbers, colours between."""
    path = tmp_path / "mesh.ply"
    mixed_ply(path)
    mesh = read_mesh(path)
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3], [1, 4, 2], [4, 5, 2]] and mesh.edges.tolist() == [[0, 5]]
    head = b"ply\r\nformat binary_big_endian 1.0\r\nelement vertex 4\r\nproperty uchar a\r\nproperty double x\r\nproperty double y\r\n"
    head += b"property float z\r\nelement face 2\r\nproperty float quality\r\nproperty list uchar uint vertex_index\r\nend_header\r\n"
    points = np.array([(1, 0, 0, 0), (2, 1, 0, 0), (3, 1, 1, 0), (4, 0, 1, 0)], [("a", "u1"), ("x", ">f8"), ("y", ">f8"), ("z", ">f4")])
    faces = [(k, np.array([0.5], ">f4").tobytes() + bytes([k]) + np.arange(k, dtype=">u4").tobytes()) for k in (3, 4)]
    for chosen, triangles in (((0, 0), [[0, 1, 2], [0, 1, 2]]), ((0, 1), [[0, 1, 2], [0, 1, 2], [0, 2, 3]])):
        path.write_bytes(head + points.tobytes() + b"".join(faces[k][1] for k in chosen))
        assert read_mesh(path).triangles.tolist() == triangles
    path.write_bytes(head.replace(b"face", b"tristrips") + points.tobytes() + faces[0][1] * 2)
    with pytest.raises(ValueError, match="tristrips; only vertex, face and edge"):
        read_mesh(path)


def test_off_dialects(tmp_path):
    """If not, faces with colours are read as other faces."""
    path = tmp_path / "mesh.off"
    points = "0 0 0\n1 0 0\n1 1 0 # a corner\n\n0 1 0\n"
    path.write_text(f"OFF 4 2 0\n{points}3 0 1 2 255 0 0\n3  0 2 3\n")
    assert read_mesh(path).triangles.tolist() == [[0, 1, 2], [0, 2, 3]]
    path.write_text(f"OFF\n4 1 5\n{points}4 0 1 2 3 0.5 0.5 0.5 1\n")
    assert read_mesh(path).triangles.tolist() == [[0, 1, 2], [0, 2, 3]]


def test_surfaces_of_structured_grids(tmp_path):
    """If not, the sheets that VTK writes without a list of cells can no longer be read."""
    path = tmp_path / "mesh.vtk"
    head = "# vtk DataFile Version 3.0\nsheet\nASCII\nDATASET STRUCTURED_POINTS\n"
    path.write_text(head + "DIMENSIONS 3 2 1\nORIGIN 0 0 0\nSPACING 1 1 1\n")
    assert len(read_mesh(path).triangles) == 4
    path.write_text(head.replace("STRUCTURED_POINTS", "POLYDATA") + "POINTS 0 float\n")
    with pytest.raises(ValueError, match="holds POLYDATA of nothing"):
        read_mesh(path)
    path.write_text(head + "DIMENSIONS 3 2 4\nORIGIN 0 0 0\nSPACING 1 1 1\n")
    with pytest.raises(ValueError, match="hexahedron"):
        read_mesh(path)


def test_half_a_pair_is_refused(tmp_path):
    """If not, tets of one mesh are built on the points of another."""
    TETS.write(tmp_path / "mesh.node")
    shapes.beam((1, 1, 1), (1, 1, 1)).write(tmp_path / "other.node")
    (tmp_path / "other.node").replace(tmp_path / "mesh.node")
    with pytest.raises(ValueError, match=r"mesh\.node: tets: index \d+ at row \d+ is out of range for 8 points"):
        read_mesh(tmp_path / "mesh.node")


def test_npz_takes_what_it_needs_and_no_more(tmp_path):
    """If not, an array is missing, or one too many, or one that is smaller than it says, fills the memory."""
    path = tmp_path / "mesh.npz"
    MIXED.write(path)
    content = bytearray(path.read_bytes())
    first, last = content.index(b"PK\1\2"), content.rindex(b"PK\1\2")
    # the entry before the last takes the last for its comment
    before = content.rindex(b"PK\1\2", first, last)
    content[before + 32 : before + 34] = (content.rindex(b"PK\5\6") - last).to_bytes(2, "little")
    assert read_or_refuse(path, content)[0] is None

    np.savez_compressed(path, points=MIXED.points, tets=MIXED.tets, notes=np.array([{"a": 1}], dtype=object), zeros=np.zeros(2 * 10**6))
    with Limits():
        assert np.array_equal(read_mesh(path).tets, MIXED.tets)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**11, 3)})
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(path, "w", compression) as archive:
            archive.writestr("points.npy", header.getvalue())
        with Limits(), pytest.raises(ValueError, match=r"mesh\.npz: .*points: "):
            read_mesh(path)
    np.savez(path, points=np.asfortranarray(MIXED.points), tets=MIXED.tets.astype(">i8"))
    assert np.array_equal(read_mesh(path).points, MIXED.points) and np.array_equal(read_mesh(path).tets, MIXED.tets)


@pytest.mark.parametrize(("name", "tag"), [("msh 2.2 text", 2 * 10**9), ("msh 2.2 binary", 2**31 - 1), ("msh 4.1 binary", 2**40)])
def test_a_node_of_a_huge_number_is_refused(name, tag, tmp_path):
    """If not, a table of that many entries is made for a mesh of a few points, or the element that names the node has another one."""
    suffix, write = FORMATS[name]
    path = tmp_path / f"mesh{suffix}"
    write(path)
    content = path.read_bytes()
    at = content.index(b"$Nodes\n") + len("$Nodes\n")
    if name == "msh 2.2 text":
        at = content.index(b"\n", at) + 1
        content = content[:at] + content[at:].replace(b"1 ", b"%d " % tag, 1)
    elif name == "msh 2.2 binary":
        at = content.index(b"\n", at) + 1
        content = content[:at] + tag.to_bytes(4, "little") + content[at + 4 :]
    else:  # after the counts of the section and those of its block
        at += 4 * 8 + 3 * 4 + 8
        content = content[:at] + tag.to_bytes(8, "little") + content[at + 8 :]
    path.write_bytes(content)
    with Limits(), pytest.raises(ValueError, match=r"mesh\.msh: .*an element refers to node 1, which does not exist"):
        read_mesh(path)
