"""The surfaces of a simulation as a mesh, and films of them for graphics programs: USD, and numbered OBJ files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from pdgpu._internal.atomic_files import replacing
from pdgpu._internal.motion_calls import asking
from pdgpu._internal.parts import core_of
from pdgpu.contact.present_obstacles import present_colliders
from pdgpu.mesh.mesh import Mesh
from pdgpu.scene.surface import SceneSurface

__all__ = ["ObjFilm", "UsdFilm", "surface_of"]

FRAME_RATE = 1000.0  # time codes per second: USD counts frames, and steps of most sizes are a whole number of these
WIDTH = 0.005  # of segments and points in USD, relative to the first frame's box


def surface_of(simulation, obstacles):
    """See `Simulation.surface`."""
    core = core_of(simulation)
    scene = core.public_scene
    surface = SceneSurface(scene, range(len(scene.bodies) + (len(scene.obstacles) if obstacles else 0)))
    with asking(core):
        points = surface.positions(simulation.positions.astype(np.float64), core.time, present_colliders(core))
    groups = {}
    for place, name in enumerate(surface.names):
        rows = {"triangles": surface.triangles, "edges": surface.edges}
        parts = {kind: np.flatnonzero(surface.owner[corners[:, 0]] == place) for kind, corners in rows.items()}
        parts["points"] = surface.particles[surface.owner[surface.particles] == place]
        groups |= {name: parts} if any(map(len, parts.values())) else {}
    if not len(surface.triangles) and not len(surface.edges):
        raise ValueError("surface: the scene has no triangles and no edges, only particles; positions has them")
    used = np.zeros(len(points), bool)
    for rows in (surface.triangles, surface.edges, surface.particles):
        used[rows] = True
    new_index = np.cumsum(used) - 1
    for parts in groups.values():
        parts["points"] = new_index[parts["points"]]
    return Mesh(points[used], triangles=new_index[surface.triangles], edges=new_index[surface.edges], groups=groups)


class ObjFilm:
    """Frames of the surfaces as OBJ files, NAME_00000.obj and so on, with one group for each body; made by `Simulation.record`."""

    def __init__(self, simulation, path):
        self.path, self._simulation, self._count = path, simulation, 0

    def __call__(self, simulation=None):
        """Write a frame of the present state."""
        mesh = surface_of(self._simulation if simulation is None else simulation, obstacles=True)
        if not len(mesh.triangles):
            raise ValueError(f"{self.path}: OBJ frames hold triangles, of which the scene has none")
        triangles = Mesh(mesh.points, triangles=mesh.triangles, groups=_of_triangles(mesh))
        triangles.write(Path(self.path.parent, f"{self.path.stem}_{self._count:05d}.obj"))
        self._count += 1

    def __len__(self):
        return self._count

    def __repr__(self):
        return f"<ObjFilm: {len(self)} frames, {os.fspath(self.path)}>"


def _of_triangles(mesh):
    """Return its groups with triangles, with names of one word, for OBJ."""
    return {"_".join(name.split()): {"triangles": group.triangles} for name, group in mesh.groups.items() if len(group.triangles)}


class UsdFilm:
    """The surfaces over time in one file of Universal Scene Description: a mesh for each body with a sample of its points for each frame,
    curves for segments, and points; made by `Simulation.record`. Needs usd-core.

    Time codes are milliseconds from the start of the simulation. After every frame the file on the disk is complete.
    """

    def __init__(self, simulation, path):
        try:
            from pxr import Usd, UsdGeom
        except ImportError:
            raise ImportError(f"{path}: USD files need usd-core, which is not installed: pip install usd-core") from None
        self.path, self._simulation, self._count = path, simulation, 0
        self._stage, self._parts, self._width = Usd.Stage.CreateInMemory(), {}, 0.0
        UsdGeom.SetStageUpAxis(self._stage, UsdGeom.Tokens.y)
        UsdGeom.SetStageMetersPerUnit(self._stage, 1.0)
        self._stage.SetTimeCodesPerSecond(FRAME_RATE)
        self._stage.SetDefaultPrim(UsdGeom.Xform.Define(self._stage, "/scene").GetPrim())

    def __call__(self, simulation=None):
        """Add a frame of the present state."""
        from pxr import UsdGeom

        simulation = self._simulation if simulation is None else simulation
        whole, code = surface_of(simulation, obstacles=True), simulation.time * FRAME_RATE
        if self._count == 0:
            self._width = WIDTH * float(np.linalg.norm(np.ptp(whole.points, axis=0)))
        for name, group in whole.groups.items():
            if len(group.triangles):
                self._add_mesh(name, whole.points, whole.triangles[group.triangles], code)
            elif len(group.edges):
                self._add_thin(name, UsdGeom.BasisCurves, whole.points[whole.edges[group.edges]].reshape(-1, 3), code)
            else:
                self._add_thin(name, UsdGeom.Points, whole.points[group.points], code)
        if self._count == 0:
            self._stage.SetStartTimeCode(code)
        self._stage.SetEndTimeCode(code)
        self._count += 1
        with replacing(self.path) as unfinished:
            self._stage.Export(os.fspath(unfinished))

    def _place(self, name, kind):
        """Return the part of a name, and whether it is new."""
        from pxr import Tf

        is_new = name not in self._parts
        if is_new:
            self._parts[name] = kind.Define(self._stage, f"/scene/{Tf.MakeValidIdentifier(name)}_{len(self._parts)}")
            self._parts[name].GetPrim().SetDisplayName(name)
        return self._parts[name], is_new

    def _add_mesh(self, name, points, triangles, code):
        from pxr import UsdGeom, Vt

        vertices, corners = np.unique(triangles, return_inverse=True)
        mesh, is_new = self._place(name, UsdGeom.Mesh)
        if is_new:
            mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        # the triangles too, since cuts change them
        mesh.CreateFaceVertexCountsAttr().Set(Vt.IntArray([3] * len(triangles)), code)
        mesh.CreateFaceVertexIndicesAttr().Set(Vt.IntArray.FromNumpy(corners.ravel().astype(np.int32)), code)
        _set_points(mesh, points[vertices], code)

    def _add_thin(self, name, kind, points, code):
        """Add the segments of a rod or an obstacle, two points each, or particles."""
        from pxr import UsdGeom, Vt

        part, is_new = self._place(name, kind)
        if is_new:
            part.CreateWidthsAttr(Vt.FloatArray([self._width]))
            part.SetWidthsInterpolation(UsdGeom.Tokens.constant)
        if kind is UsdGeom.BasisCurves:
            part.CreateTypeAttr(UsdGeom.Tokens.linear)
            part.CreateCurveVertexCountsAttr().Set(Vt.IntArray([2] * (len(points) // 2)), code)
        _set_points(part, points, code)

    def __len__(self):
        return self._count

    def __repr__(self):
        return f"<UsdFilm: {len(self)} frames, {os.fspath(self.path)}>"


def _set_points(part, points, code):
    """Set the points of a part of a stage, and their box, at a time."""
    from pxr import Vt

    points = points.astype(np.float32)
    part.CreatePointsAttr().Set(Vt.Vec3fArray.FromNumpy(points), code)
    part.CreateExtentAttr().Set(Vt.Vec3fArray.FromNumpy(np.stack([points.min(axis=0), points.max(axis=0)])), code)
