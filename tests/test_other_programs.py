"""Surfaces and films that other programs open, and meshes of other libraries."""

import sys

import numpy as np
import pytest

import pdgpu
from pdgpu import shapes

CLOTH = shapes.grid((1, 1), cells=(4, 4))


def falling():
    """A block, a cloth, a rod, particles and a moving obstacle."""
    scene = pdgpu.Scene()
    scene.add_solid(shapes.beam((1, 1, 1), (2, 2, 2)), pdgpu.ARAP(1e4), density=1e3, name="block")
    scene.add_shell(CLOTH, pdgpu.Spring(1e3), density=0.2, name="the cloth")
    scene.add_rod(shapes.chain(4), pdgpu.Spring(1e2), density=0.1, name="rod")
    scene.add_particles([[3.0, 3.0, 3.0]], mass=1.0, name="sand")
    box = pdgpu.TriangleMesh(shapes.box((1, 1, 1)), motion=lambda time, rest: rest + [time, 0.0, 0.0])
    scene.add_obstacle(box, name="box", collides=False)
    scene.add_obstacle(shapes.chain(3), motion=lambda time, rest: rest - [time, 0.0, 0.0], name="wire")
    scene.add_obstacle(pdgpu.Points(CLOTH.points[:3] + 2.0), name="tips")
    with pytest.warns(UserWarning, match="obstacles"):
        return pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=2), dt=0.25, threads=1)


def test_the_surface_is_where_the_bodies_are():
    """If not, a picture by another program shows other places, or lacks a body."""
    sim = falling()
    sim.step(2)
    mesh = sim.surface()
    assert set(mesh.groups) == {"block", "the cloth", "rod", "sand"}
    block, cloth, rod, _ = sim.bodies
    assert len(mesh.triangles) == len(block.mesh.surface) + len(CLOTH.triangles) and len(mesh.edges) == len(rod.mesh.edges)
    corners = mesh.points[mesh.triangles[mesh.groups["the cloth"].triangles]]
    assert np.array_equal(corners, sim.positions[cloth.slice][CLOTH.triangles])
    assert mesh.points[mesh.groups["sand"].points].tolist() == sim.positions[-1:].tolist()
    whole = sim.surface(obstacles=True)
    assert whole.points[whole.groups["box"].vertices][:, 0].min() == pytest.approx(shapes.box((1, 1, 1)).points[:, 0].min() + 0.5)
    assert np.array_equal(whole.triangles[: len(mesh.triangles)], mesh.triangles)
    wire = whole.points[whole.edges[whole.groups["wire"].edges]]
    assert np.array_equal(wire, (shapes.chain(3).points - [0.5, 0.0, 0.0])[shapes.chain(3).edges])
    assert np.array_equal(whole.points[whole.groups["tips"].points], CLOTH.points[:3] + 2.0)
    sand = pdgpu.Scene()
    sand.add_particles([[0.0, 0.0, 0.0]], mass=1.0)
    with pytest.raises(ValueError, match="only particles"):
        pdgpu.Simulation(sand).surface()


def test_glb_is_opened_by_trimesh(tmp_path):
    """If not, a surface does not reach Blender, a browser or slides."""
    trimesh = pytest.importorskip("trimesh")
    sim = falling()
    sim.step()
    surface = sim.surface()
    groups = {name: {"triangles": group.triangles} for name, group in surface.groups.items() if name == "the cloth"}
    mesh = pdgpu.Mesh(surface.points, triangles=surface.triangles, groups=groups)
    mesh.write(tmp_path / "scene.glb")
    read = trimesh.load(tmp_path / "scene.glb", process=False)
    assert set(read.geometry) == {"the cloth", "mesh"}
    for name, rows in (("the cloth", groups["the cloth"]["triangles"]), ("mesh", surface.groups["block"].triangles)):
        geometry = read.geometry[name]
        assert geometry.vertices[geometry.faces] == pytest.approx(mesh.points[mesh.triangles[rows]], abs=1e-6)
    with pytest.raises(ValueError, match=r"\.glb files cannot hold tets"):
        shapes.beam((1, 1, 1), (1, 1, 1)).write(tmp_path / "solid.glb")


def test_a_missing_package_is_named_as_it_can_be_had(monkeypatch, tmp_path):
    """If not, users install an extra of a package that no index has."""
    monkeypatch.setitem(sys.modules, "trimesh", None)
    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(ImportError, match=r"\.glb files need trimesh, which is not installed: pip install trimesh$"):
        CLOTH.write(tmp_path / "cloth.glb")
    with pytest.raises(ImportError, match=r"USD files need usd-core, which is not installed: pip install usd-core$"):
        falling().record(tmp_path / "fall.usda")


@pytest.mark.parametrize("suffix", [".usda", ".usdc"])
def test_usd_films_are_opened_by_usd(suffix, tmp_path):
    """If not, a run does not reach the programs of film and robotics, or not with its times."""
    usd = pytest.importorskip("pxr.Usd")
    geometry = pytest.importorskip("pxr.UsdGeom")
    sim, places = falling(), []
    film = sim.record(tmp_path / f"fall{suffix}")
    for _ in range(3):
        film()
        places.append(sim.positions[sim.bodies[1].slice].copy())
        sim.step()
    stage = usd.Stage.Open(str(tmp_path / f"fall{suffix}"))
    assert geometry.GetStageUpAxis(stage) == "Y" and geometry.GetStageMetersPerUnit(stage) == 1.0
    meshes = {prim.GetDisplayName(): geometry.Mesh(prim) for prim in stage.Traverse() if prim.IsA(geometry.Mesh)}
    assert set(meshes) == {"block", "the cloth", "box"}
    cloth = meshes["the cloth"]
    codes = cloth.GetPointsAttr().GetTimeSamples()
    assert np.array(codes) / stage.GetTimeCodesPerSecond() == pytest.approx([0.0, 0.25, 0.5], abs=1e-12)
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (codes[0], codes[-1])
    triangles = np.array(cloth.GetFaceVertexIndicesAttr().Get(codes[0])).reshape(-1, 3)
    assert np.array_equal(triangles, CLOTH.triangles)
    for code, place in zip(codes, places, strict=True):
        assert np.array(cloth.GetPointsAttr().Get(code)) == pytest.approx(place, abs=1e-6)
    thin = {prim.GetDisplayName(): prim for prim in stage.Traverse() if not prim.IsA(geometry.Mesh)}
    wire, tips = geometry.BasisCurves(thin["wire"]), geometry.Points(thin["tips"])
    assert {"rod", "sand", "wire", "tips"} <= set(thin) and list(wire.GetCurveVertexCountsAttr().Get(codes[1])) == [2, 2, 2]
    chain = shapes.chain(3)
    expected = (chain.points - [0.25, 0.0, 0.0])[chain.edges].reshape(-1, 3)
    assert np.array(wire.GetPointsAttr().Get(codes[1])) == pytest.approx(expected, abs=1e-6)
    assert np.array(tips.GetPointsAttr().Get(codes[1])) == pytest.approx(CLOTH.points[:3] + 2.0, abs=1e-6)
    assert wire.GetWidthsAttr().Get()[0] > 0.0
    assert len(film) == 3 and f"fall{suffix}" in repr(film)
    with pytest.raises(ValueError, match=r"append: expected a \.pvd film"):
        sim.record(tmp_path / f"fall{suffix}", append=True)


def test_obj_films_are_opened_by_meshio(tmp_path):
    """If not, a run does not reach programs that read sequences of OBJ files."""
    import meshio

    sim = falling()
    film = sim.record(tmp_path / "fall.obj")
    sim.run(0.5, callback=film)
    frames = sorted(tmp_path.glob("fall_*.obj"))
    assert len(frames) == len(film) > 1
    last = pdgpu.read_mesh(frames[-1])
    assert set(last.groups) == {"block", "the_cloth", "box"}
    vertices = last.groups["the_cloth"].vertices
    assert last.points[vertices] == pytest.approx(sim.positions[sim.bodies[1].slice], abs=1e-12)
    read = meshio.obj.read(frames[-1])
    assert np.array_equal(np.concatenate([block.data for block in read.cells]), last.triangles)


def test_meshes_of_trimesh():
    """If not, a mesh that trimesh has mended goes through a file first."""
    trimesh = pytest.importorskip("trimesh")
    box = trimesh.creation.box((1, 2, 3))
    mesh = pdgpu.Mesh.from_trimesh(box)
    assert np.array_equal(mesh.triangles, box.faces) and np.array_equal(mesh.points, box.vertices)
    with pytest.raises(TypeError, match=r"scene\.to_mesh\(\)"):
        pdgpu.Mesh.from_trimesh(trimesh.Scene(box))
    with pytest.raises(TypeError, match="expected a trimesh"):
        pdgpu.Mesh.from_trimesh([1, 2])
    with pytest.raises(TypeError, match=r"got a Trimesh; pdgpu\.Mesh\.from_trimesh\(mesh\) takes it"):
        pdgpu.read_mesh(box)


def test_meshes_of_pyvista():
    """If not, a mesh by the library of ParaView goes through a file first, or loses its numbers."""
    pyvista = pytest.importorskip("pyvista")
    grid = pyvista.ImageData(dimensions=(2, 2, 2)).cast_to_unstructured_grid()
    with pytest.raises(ValueError, match=r"voxel; split them.*triangulate"):
        pdgpu.Mesh.from_pyvista(grid)
    tets = grid.triangulate()
    tets.cell_data["young"] = np.arange(tets.n_cells, dtype=float)
    mesh = pdgpu.Mesh.from_pyvista(tets)
    assert mesh.quality()["volumes"].sum() == pytest.approx(1.0) and mesh.cell_data["young"]["tets"].tolist() == list(range(tets.n_cells))
    sheet = pyvista.Plane(i_resolution=3, j_resolution=2)
    sheet.cell_data["age"] = np.arange(6)
    mesh = pdgpu.Mesh.from_pyvista(sheet)
    assert len(mesh.triangles) == 12 and mesh.cell_data["age"]["triangles"].tolist() == np.repeat(np.arange(6), 2).tolist()
    hexagon = pyvista.Polygon(n_sides=6)
    assert len(pdgpu.Mesh.from_pyvista(hexagon).triangles) == 4
    assert pdgpu.Mesh.from_pyvista(pyvista.Line()).edges.tolist() == [[0, 1]]
    with pytest.raises(TypeError, match="pyvista"):
        pdgpu.Mesh.from_pyvista(pyvista.MultiBlock([sheet]))
    with pytest.raises(TypeError, match=r"got a PolyData; pdgpu\.Mesh\.from_pyvista\(mesh\) takes it"):
        pdgpu.read_mesh(sheet)


def test_meshes_of_meshio_are_named():
    """If not, a mesh given to `read_mesh` is called a wrong path."""
    import meshio

    with pytest.raises(TypeError, match=r"from_meshio\(mesh\) takes it"):
        pdgpu.read_mesh(meshio.Mesh(CLOTH.points, [("triangle", CLOTH.triangles)]))
