"""Named parts of meshes and numbers of their elements, from files to what is pinned."""

import pickle

import meshio
import numpy as np
import pytest

import pdgpu

GMSH = """$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
2
2 1 "clamp"
3 2 "soft"
$EndPhysicalNames
$Nodes
5
1 0 0 0
2 1 0 0
3 0 1 0
4 0 0 1
5 1 1 1
$EndNodes
$Elements
5
1 2 2 1 1 1 2 3
2 3 2 1 1 1 2 5 3
3 4 2 2 1 1 2 3 4
4 4 2 7 1 2 3 4 5
5 15 2 9 1 5
$EndElements
"""
ABAQUS = """*NODE
1,0,0,0
2,1,0,0
3,0,1,0
4,0,0,1
5,1,1,1
*ELEMENT, TYPE=C3D4
1,1,2,3,4
2,2,3,4,5
*NSET, NSET=FIX
1,2
*ELSET, ELSET=SOFT
2
"""
OBJ = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 2 0 0\no sheet\ng left all\nf 1 2 3 4\ng right all\nf 2 5 3\ng\nl 1 4\n"


def write(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return pdgpu.read_mesh(tmp_path / name)


def test_physical_groups_of_gmsh(tmp_path):
    """If not, whoever named the clamped face in the mesher must find it again by coordinates."""
    mesh = write(tmp_path, "m.msh", GMSH)
    assert set(mesh.groups) == {"clamp", "soft", "physical 7", "physical 9"}
    clamp = mesh.groups["clamp"]  # a triangle, and a quadrilateral that became two
    assert list(clamp.triangles) == [0, 1, 2] and list(clamp.vertices) == [0, 1, 2, 4] and not len(clamp.tets)
    assert list(mesh.groups["soft"].tets) == [0] and list(mesh.groups["physical 7"].tets) == [1]
    assert list(mesh.groups["physical 9"].points) == [4] and repr(clamp) == "<Group: 3 triangles, 4 vertices>"
    assert list(mesh.cell_data["gmsh:physical"]["tets"]) == [2, 7] and list(mesh.cell_data["gmsh:physical"]["triangles"]) == [1, 1, 1]


def test_sets_of_abaqus_and_groups_of_obj(tmp_path):
    """If not, selections of these formats are lost."""
    mesh = write(tmp_path, "m.inp", ABAQUS)
    assert list(mesh.groups["FIX"].vertices) == [0, 1] and list(mesh.groups["SOFT"].tets) == [1]
    mesh = write(tmp_path, "m.obj", OBJ)
    assert {name: list(group.triangles) for name, group in mesh.groups.items()} == {
        "sheet": [0, 1, 2],
        "left": [0, 1],
        "all": [0, 1, 2],
        "right": [2],
    }
    assert list(mesh.groups["sheet"].edges) == [0] and list(mesh.groups["right"].vertices) == [1, 2, 4]


def test_a_name_is_pinned_and_numbers_are_constants(tmp_path):
    """If not, groups and cell data are read and of no use."""
    mesh = write(tmp_path, "m.msh", GMSH)
    young = np.where(mesh.cell_data["gmsh:physical"]["tets"] == 2, 1e4, 1e6)
    scene = pdgpu.Scene()
    body = scene.add_solid(mesh, pdgpu.ARAP.from_young(young, 0.3), density=1.0)
    body.pin("clamp")
    assert list(np.flatnonzero(scene.fixed())) == [0, 1, 2, 4]
    with pytest.raises(ValueError, match=r"no group 'clam'; its groups: .*'clamp'"):
        body.attach("clam", (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="its groups: none"):
        scene.add_particles([[0.0, 0.0, 0.0]], mass=1.0).pin("x")
    x = mesh.points * 1.1
    one, other = pdgpu.Simulation(scene), pdgpu.Scene()
    one.set_state(positions=np.concatenate([x, [[0.0, 0.0, 0.0]]]))
    energies = one.element_energies(body)["ARAP"]
    other.add_solid(pdgpu.Mesh(mesh.points, tets=mesh.tets), pdgpu.ARAP.from_young(1e4, 0.3), density=1.0)
    two = pdgpu.Simulation(other)
    two.set_state(positions=x)
    np.testing.assert_allclose(energies / two.element_energies()["ARAP"], [1.0, 100.0], rtol=1e-12)


def test_groups_survive_copies_and_unused_vertices(tmp_path):
    """If not, a mesh that is cleaned or sent to another process has lost its names, or means other vertices by them."""
    points = np.concatenate([[[9.0, 9.0, 9.0]], np.eye(3), [[0.0, 0.0, 0.0]]])
    groups = {"tip": {"points": [0, 1]}, "whole": {"tets": [0]}}
    mesh = pdgpu.Mesh(points, tets=[[4, 1, 2, 3]], groups=groups, cell_data={"E": {"tets": [2.5]}})
    for copy in (pickle.loads(pickle.dumps(mesh)), mesh):
        assert list(copy.groups["tip"].points) == [0, 1] and copy.cell_data["E"]["tets"][0] == 2.5
    clean = mesh.without_unused_vertices()
    assert list(clean.groups["tip"].points) == [0] and list(clean.groups["whole"].vertices) == [0, 1, 2, 3]
    assert clean.cell_data["E"]["tets"][0] == 2.5
    with pytest.raises(TypeError):
        mesh.groups["new"] = None
    with pytest.raises(AttributeError, match="groups: cannot be set"):
        mesh.groups = {}


def test_what_meshio_has_is_taken(tmp_path):
    """If not, a mesh from another program goes through a file first."""
    given = meshio.Mesh(
        [[0, 0], [1, 0], [1, 1], [0, 1]],
        [("quad", [[0, 1, 2, 3]]), ("line", [[0, 1]])],
        cell_data={"thickness": [np.array([0.5]), np.array([0.0])], "name": [np.array(["a"]), np.array(["b"])]},
        cell_sets={"floor": [np.array([0]), None]},
    )
    mesh = pdgpu.Mesh.from_meshio(given)
    assert mesh.triangles.shape == (2, 3) and list(mesh.groups["floor"].triangles) == [0, 1]
    assert list(mesh.cell_data["thickness"]["triangles"]) == [0.5, 0.5] and set(mesh.cell_data) == {"thickness"}
    with pytest.raises(ValueError, match="cells of type hexahedron"):
        pdgpu.Mesh.from_meshio(meshio.Mesh(np.zeros((8, 3)), [("hexahedron", [list(range(8))])]))


@pytest.mark.parametrize(
    ("named", "error", "said"),
    [
        ({"groups": {"a": {"tets": [1]}}}, ValueError, r"groups\['a'\]\['tets'\]: index 1 at 0 is out of range for 1 tets"),
        ({"groups": {"a": {"points": [-1]}}}, ValueError, "index -1 at 0 is out of range for 4 points"),
        ({"groups": {"a": {"tets": [0.0]}}}, TypeError, "expected integer indices"),
        ({"groups": {"a": [0]}}, TypeError, r"groups\['a'\]: expected a dict with keys of points, tets"),
        ({"groups": {1: {}}}, TypeError, "names as keys"),
        ({"groups": [1]}, TypeError, "expected a dict of name"),
        ({"cell_data": {"E": {"tets": [1.0, 2.0]}}}, ValueError, "expected 1 rows, one for each of tets"),
        ({"cell_data": {"E": {"points": [1.0]}}}, ValueError, "points are no elements"),
        ({"cell_data": {"E": {"tets": ["x"]}}}, TypeError, "expected real numbers"),
    ],
)
def test_groups_that_are_none_are_refused(named, error, said):
    """If not, what is pinned by a name is something else, or beyond the mesh."""
    with pytest.raises(error, match=said):
        pdgpu.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], tets=[[0, 1, 2, 3]], **named)


TWO_TETS = {"tets": [[0, 1, 2, 3], [1, 2, 3, 4]], "triangles": [[0, 1, 2], [1, 2, 4]]}
CORNERS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]) / 3.0


def named_parts(mesh):
    """Groups and numbers of a mesh, to compare."""
    groups = {name: {kind: rows.tolist() for kind, rows in group.given().items()} for name, group in mesh.groups.items()}
    data = {
        name: {kind: values.tolist() for kind, values in parts.items()}
        for name, parts in mesh.cell_data.items()
        if not name.startswith("gmsh:")
    }
    return groups, data


@pytest.mark.parametrize("end", [".npz", ".msh", ".msh.gz", ".obj", ".vtu", ".vtk"])
def test_what_is_named_comes_back(tmp_path, end):
    """If not, a mesh that is written and read has lost the names of its parts without a word."""
    groups = {"clamp": {"triangles": [1]}, "soft": {"tets": [1]}, "tip of it": {"points": [0, 3]}, "physical 9": {"tets": [0]}}
    data = {"young": {"tets": [1e4, 1 / 3]}, "frame": {"tets": np.arange(6.0).reshape(2, 3), "triangles": np.eye(3)[:2]}}
    elements, left = dict(TWO_TETS), {}
    if end == ".obj":
        del elements["tets"]
        groups = {"left": {"triangles": [0]}, "all": {"triangles": [0, 1]}}
        data = {}
    elif end in (".vtu", ".vtk"):
        left, groups = groups, {}
    mesh = pdgpu.Mesh(CORNERS, **elements, groups=groups | left, cell_data=data)
    if left:
        with pytest.warns(UserWarning, match=r"\.v.. files cannot hold group 'clamp', group 'soft'.*; \.npz holds them"):
            mesh.write(tmp_path / f"mesh{end}")
    else:
        mesh.write(tmp_path / f"mesh{end}")
    read = pdgpu.read_mesh(tmp_path / f"mesh{end}")
    assert np.array_equal(read.points, mesh.points) and np.array_equal(read.tets, mesh.tets)
    expected = named_parts(pdgpu.Mesh(CORNERS, **elements, groups=groups, cell_data=data))
    assert named_parts(read) == expected


def test_tags_and_names_of_a_mesher_stay(tmp_path):
    """If not, a file that went through here no longer fits the program that knows its numbers."""
    first = write(tmp_path, "m.msh", GMSH)
    first.write(tmp_path / "again.msh")
    again = pdgpu.read_mesh(tmp_path / "again.msh")
    assert named_parts(again)[0] == named_parts(first)[0]
    for kind in ("tets", "triangles"):
        assert list(again.cell_data["gmsh:physical"][kind]) == list(first.cell_data["gmsh:physical"][kind])


@pytest.mark.parametrize(
    ("end", "groups", "lost"),
    [
        (".stl", {"a": {"triangles": [0]}}, "'a'"),
        (".obj", {"two words": {"triangles": [0]}}, "'two words'"),
        (".obj", {"b": {"points": [0]}, "a": {"triangles": [0]}}, "'b'"),
        (".msh", {"a": {"triangles": [0, 1]}, "b": {"triangles": [1]}}, "'b'"),
        (".msh", {"a": {"triangles": [0], "points": [2]}}, "'a'"),
        (".npz", {"a": {}}, "'a'"),
    ],
)
def test_what_a_format_cannot_name_is_said(tmp_path, end, groups, lost):
    """If not, names vanish on the way through a file."""
    mesh = pdgpu.Mesh(CORNERS, triangles=TWO_TETS["triangles"], groups=groups)
    with pytest.warns(UserWarning, match=rf"mesh\{end}: \{end} files cannot hold group {lost}; \.npz holds them"):
        mesh.write(tmp_path / f"mesh{end}")
    assert pdgpu.read_mesh(tmp_path / f"mesh{end}").triangles.shape == (2, 3)


def test_names_of_any_text_are_kept(tmp_path):
    """If not, a group called a/b is another one after it was stored."""
    groups = {name: {"triangles": [0]} for name in ("a/b", "../x", "ä ß", "100%", 'say "no"', "", "nul\0")}
    mesh = pdgpu.Mesh(CORNERS, triangles=TWO_TETS["triangles"], groups=groups)
    mesh.write(tmp_path / "mesh.npz")
    assert named_parts(pdgpu.read_mesh(tmp_path / "mesh.npz"))[0] == groups


def test_a_torn_and_a_saved_body_have_their_names(tmp_path):
    """If not, the group `hem` is lost once the cloth has torn, or the run was resumed."""
    sheet = pdgpu.shapes.grid((1.0, 1.0), cells=(2, 2))
    named = {"groups": {"left": {"triangles": [0, 1]}, "middle": {"points": [4]}}, "cell_data": {"age": {"triangles": np.arange(8)}}}
    mesh = pdgpu.Mesh(sheet.points, triangles=sheet.triangles, **named)
    scene = pdgpu.Scene()
    scene.add_shell(mesh, pdgpu.Spring(10.0), density=1.0, name="cloth")
    sim = pdgpu.Simulation(scene)
    sim.save(tmp_path / "whole.npz")
    across = [edge for edge in mesh.hinges[:, :2].tolist() if abs(mesh.points[edge, 0] - 0.5).max() < 1e-9]
    cut = sim.cut("cloth", across)
    assert len(cut.new_vertices) == 3 and 4 in cut.parents
    sim.save(tmp_path / "torn.npz")
    for one in (sim, pdgpu.Simulation.load(tmp_path / "torn.npz")):
        torn = one.bodies[0].mesh
        assert list(torn.groups["left"].triangles) == [0, 1] and list(torn.cell_data["age"]["triangles"]) == list(range(8))
        copies = cut.new_vertices[cut.parents == 4]
        assert list(torn.groups["middle"].points) == [4, *copies]
    assert named_parts(pdgpu.Simulation.load(tmp_path / "whole.npz").bodies[0].mesh) == named_parts(mesh)
