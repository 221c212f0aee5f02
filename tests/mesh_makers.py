"""Mesh files written by other programs, for tests of the readers: Gmsh, VTK, trimesh and meshio in all their dialects.

Each maker is a function of a folder that yields (path, counts) for every file, counts = (points, tets, triangles, edges), or (path, text)
where `read_mesh` refuses the file with a reason that holds the text. Points are those that elements use.
"""

import itertools

import numpy as np

from pdgpu import shapes

BEAM = shapes.beam((1, 2, 3), (2, 1, 2), split=5)
CLOTH = shapes.grid((1, 1), (3, 2))
TWO_KINDS = {"tetra": BEAM.tets, "triangle": BEAM.surface}


def by_gmsh(folder):
    """A cube with one physical volume, in the versions and with the options that Gmsh has; needs gmsh."""
    import gmsh

    gmsh.initialize(interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.option.setNumber("Mesh.MeshSizeMax", 0.6)
        gmsh.model.occ.addBox(0, 0, 0, 1, 1, 1)
        gmsh.model.occ.synchronize()
        gmsh.model.addPhysicalGroup(3, [1], 7, "cube")
        gmsh.model.mesh.generate(3)
        counts = {dimension: sum(map(len, gmsh.model.mesh.getElements(dimension)[1])) for dimension in (1, 2, 3)}
        n = len(gmsh.model.mesh.getNodes()[0])
        on_surface = len({int(node) for nodes in gmsh.model.mesh.getElements(2)[2] for node in nodes})
        tets, everything = (n, counts[3], 0, 0), (n, counts[3], counts[2], counts[1])

        versions = ((2.2, 0), (2.2, 1), (4.0, 0), (4.1, 0), (4.1, 1))  # Gmsh no longer writes 4.0 in binary

        def written(name, **options):
            path = folder / name
            for option, value in options.items():
                gmsh.option.setNumber(f"Mesh.{option}", value)
            gmsh.write(str(path))
            for option in options:
                gmsh.option.setNumber(f"Mesh.{option}", 0)
            return path

        for version, binary in versions:
            for all_too, parametric in ((0, 0), (1, 0), (0, 1), (1, 1)):
                name = f"gmsh_{version}_{binary}{all_too}{parametric}.msh"
                path = written(name, MshFileVersion=version, Binary=binary, SaveAll=all_too, SaveParametric=parametric)
                yield path, everything if all_too else tets
        yield written("gmsh_1.msh", MshFileVersion=1.0), "version 1"
        for suffix in (".vtk", ".mesh"):
            yield written(f"gmsh{suffix}", SaveAll=1), everything
        yield written("gmsh_binary.vtk", SaveAll=1, Binary=1), everything
        yield written("gmsh_tets.inp"), tets
        yield written("gmsh.stl", SaveAll=1), (on_surface, 0, counts[2], 0)
        yield written("gmsh_binary.stl", SaveAll=1, Binary=1), (on_surface, 0, counts[2], 0)
        yield written("gmsh.off", SaveAll=1), (on_surface, 0, counts[2], 0)
        gmsh.model.mesh.partition(2)
        for version, binary in itertools.product((2.2, 4.1), (0, 1)):
            name = f"gmsh_partitions_{version}_{binary}.msh"
            yield written(name, MshFileVersion=version, Binary=binary), tets
        gmsh.model.mesh.unpartition()
        gmsh.model.mesh.setOrder(2)
        for version, binary in versions:
            yield written(f"gmsh_quadratic_{version}_{binary}.msh", MshFileVersion=version, Binary=binary), "second order"
        yield written("gmsh_quadratic.inp"), "second order"
        yield written("gmsh_quadratic.vtk"), "second order"
    finally:
        gmsh.finalize()


def by_vtk(folder):
    """An unstructured grid and a surface, in the encodings that VTK's writers have; needs pyvista."""
    import pyvista
    import vtk

    cells = np.concatenate([np.column_stack([np.full(len(rows), rows.shape[1]), rows]).ravel() for rows in TWO_KINDS.values()])
    kinds = np.repeat([10, 5], [len(BEAM.tets), len(BEAM.surface)])
    grid = pyvista.UnstructuredGrid(cells, kinds, np.array(BEAM.points))
    surface = pyvista.PolyData.from_regular_faces(np.array(CLOTH.points), CLOTH.triangles)
    surface.cell_data["height"] = np.arange(len(CLOTH.triangles), dtype=float)
    sheet = (len(CLOTH.points), 0, len(CLOTH.triangles), 0)
    both = (len(BEAM.points), len(BEAM.tets), len(BEAM.surface), 0)
    for data, counts, writer, suffix in (
        (grid, both, vtk.vtkXMLUnstructuredGridWriter, ".vtu"),
        (surface, sheet, vtk.vtkXMLPolyDataWriter, ".vtp"),
    ):
        for mode, compressor, header in itertools.product((0, 1, 2), (None, "ZLib", "LZ4", "LZMA"), (32, 64)):
            path = folder / f"vtk_{mode}_{compressor}_{header}{suffix}"
            xml = writer()
            xml.SetInputData(data)
            xml.SetFileName(str(path))
            xml.SetDataMode(mode)
            (xml.SetHeaderTypeToUInt32 if header == 32 else xml.SetHeaderTypeToUInt64)()
            getattr(xml, f"SetCompressorTypeTo{compressor or 'None'}")()
            xml.EncodeAppendedDataOff() if header == 32 else xml.EncodeAppendedDataOn()
            xml.Write()
            yield path, "LZ4" if compressor == "LZ4" and mode else counts
    for data, counts, writer, name in (
        (grid, both, vtk.vtkUnstructuredGridWriter, "grid"),
        (surface, sheet, vtk.vtkPolyDataWriter, "surface"),
    ):
        for version, binary in itertools.product((42, 51), (False, True)):
            path = folder / f"vtk_{name}_{version}_{binary}.vtk"
            legacy = writer()
            legacy.SetInputData(data)
            legacy.SetFileName(str(path))
            legacy.SetFileVersion(version)
            (legacy.SetFileTypeToBinary if binary else legacy.SetFileTypeToASCII)()
            legacy.Write()
            yield path, counts
    for suffix, binary in itertools.product((".ply", ".stl"), (False, True)):
        path = folder / f"vtk_{binary}{suffix}"
        surface.save(path, binary=binary)
        yield path, sheet
    surface.save(folder / "vtk.obj")
    yield folder / "vtk.obj", sheet


def by_trimesh(folder):
    """A surface in the formats that trimesh writes; needs trimesh."""
    import trimesh

    mesh = trimesh.Trimesh(CLOTH.points, CLOTH.triangles, process=False)
    for suffix, options in ((".obj", {}), (".off", {}), (".stl", {}), (".ply", {}), (".ply", {"encoding": "ascii"})):
        path = folder / f"trimesh{'_'.join(options.values())}{suffix}"
        mesh.export(path, **options)
        yield path, (len(CLOTH.points), 0, len(CLOTH.triangles), 0)
    path = folder / "trimesh_ascii.stl"
    mesh.export(path, file_type="stl_ascii")
    yield path, (len(CLOTH.points), 0, len(CLOTH.triangles), 0)


def by_meshio(folder):
    """Tets with their surface, or a surface, in the formats of meshio."""
    import meshio

    both = (len(BEAM.points), len(BEAM.tets), len(BEAM.surface), 0)
    solid = meshio.Mesh(BEAM.points, list(TWO_KINDS.items()))
    tets = meshio.Mesh(BEAM.points, [("tetra", BEAM.tets)])
    cloth = meshio.Mesh(CLOTH.points, [("triangle", CLOTH.triangles)])
    sheet = (len(CLOTH.points), 0, len(CLOTH.triangles), 0)
    for file_format, suffix, mesh, counts, options in (
        ("gmsh22", ".msh", solid, both, ({"binary": False}, {"binary": True})),
        ("gmsh", ".msh", tets, (both[0], both[1], 0, 0), ({"binary": False}, {"binary": True})),
        ("vtk42", ".vtk", solid, both, ({"binary": False}, {"binary": True})),
        ("vtk", ".vtk", solid, both, ({"binary": False}, {"binary": True})),
        ("vtu", ".vtu", solid, both, ({"binary": False}, {"binary": True}, {"compression": "lzma"}, {"compression": None})),
        ("medit", ".mesh", solid, both, ({},)),
        ("medit", ".meshb", solid, both, ({},)),
        ("abaqus", ".inp", solid, both, ({},)),
        ("tetgen", ".node", tets, (both[0], both[1], 0, 0), ({},)),
        ("ply", ".ply", cloth, sheet, ({"binary": False}, {"binary": True})),
        ("stl", ".stl", cloth, sheet, ({"binary": False}, {"binary": True})),
        ("off", ".off", cloth, sheet, ({},)),
        ("obj", ".obj", cloth, sheet, ({},)),
    ):
        for k, given in enumerate(options):
            path = folder / f"meshio_{file_format}_{k}{suffix}"
            mesh.write(path, file_format=file_format, **given)
            yield path, counts


MAKERS = {"gmsh": by_gmsh, "pyvista": by_vtk, "trimesh": by_trimesh, "meshio": by_meshio}
