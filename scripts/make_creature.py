"""Makes creature.vtu, the tetrahedral mesh that ships with pdgpu: a fox kit on four legs.

Run it from anywhere; it overwrites python/pdgpu/data/creature.vtu and prints the quality of the mesh:

    pip install numpy scikit-image mmgpy gmsh meshio
    python scripts/make_creature.py

These packages make the file; pdgpu does not depend on them (it reads the file with meshio).

How it is made, in four steps:
  1. the shape is one implicit function, smooth unions of round cones and ellipsoids, negative inside;
  2. marching cubes extracts the zero level [Lewiner et al. 2003, through scikit-image];
  3. Mmg remeshes the surface to even triangles, smaller where it curves [Dapogny et al. 2014, through mmgpy],
     and its vertices are put back onto the zero level by Newton steps;
  4. Gmsh fills it with tetrahedra, the surface kept as it is, and removes slivers.

Metres, y up, the nose towards +x, mirror symmetric in shape (not in mesh) about z = 0, soles on y = 0.
There is no random number in it; other versions of the packages may give another mesh of the same shape.
"""

import pathlib

import gmsh
import meshio
import mmgpy
import numpy as np
from skimage.measure import marching_cubes

GRID_SPACING = 0.006  # m, marching cubes; a quarter of the thinnest part
SURFACE_EDGE = 0.021  # m, the longest wanted edge on the surface
SMALLEST_EDGE = 0.009  # m
EDGES_PER_RADIUS = 0.7  # wanted edge times the sum of the principal curvatures
INTERIOR_EDGE = 0.034  # m, the size of tets far from the surface
OUTPUT = pathlib.Path(__file__).parents[1] / "python/pdgpu/data/creature.vtu"


# --- the shape: signed fields, negative inside ---------------------------------------------------------------


def round_cone(x, a, b, radius_a, radius_b):
    """Hull of the spheres (a, radius_a) and (b, radius_b), the radius interpolated at the nearest axis point."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    axis = b - a
    t = np.clip((x - a) @ axis / (axis @ axis), 0.0, 1.0)
    return np.linalg.norm(x - a - t[:, None] * axis, axis=1) - (radius_a + t * (radius_b - radius_a))


def ellipsoid(x, centre, radii, frame=None):
    """First-order distance to an ellipsoid; the rows of frame are its axes."""
    local = x - np.asarray(centre, float)
    if frame is not None:
        local = local @ np.asarray(frame).T
    radii = np.asarray(radii, float)
    k0 = np.linalg.norm(local / radii, axis=1)
    k1 = np.linalg.norm(local / radii**2, axis=1)
    return k0 * (k0 - 1.0) / np.maximum(k1, 1e-9)


def union(a, b, blend):
    """Smooth minimum: equals min(a, b) where they differ by more than blend (m), and is rounded between."""
    h = np.maximum(blend - np.abs(a - b), 0.0) / blend
    return np.minimum(a, b) - h * h * h * blend / 6.0


def difference(a, b, blend):
    return -union(-a, b, blend)


def chain(x, points, radii, blend):
    """Round cones along a polyline, joined smoothly."""
    field = round_cone(x, points[0], points[1], radii[0], radii[1])
    for i in range(1, len(points) - 1):
        field = union(field, round_cone(x, points[i], points[i + 1], radii[i], radii[i + 1]), blend)
    return field


def tube(x, points, radii):
    """Round cones along a finely sampled curve; neighbours share their end spheres, so a plain minimum has no step."""
    field = np.full(len(x), np.inf)
    for i in range(len(points) - 1):
        field = np.minimum(field, round_cone(x, points[i], points[i + 1], radii[i], radii[i + 1]))
    return field


def bezier(controls, n):
    p0, p1, p2, p3 = np.asarray(controls, float)
    t = np.linspace(0.0, 1.0, n)[:, None]
    return (1 - t) ** 3 * p0 + 3 * t * (1 - t) ** 2 * p1 + 3 * t**2 * (1 - t) * p2 + t**3 * p3


def unit(v):
    v = np.asarray(v, float)
    return v / np.linalg.norm(v)


def ear(x):
    """A rounded leaf with a shallow dish in front, leaning outwards."""
    up = unit([-0.16, 1.0, 0.42])
    front = np.array([1.0, 0.0, 0.40])
    front = unit(front - (front @ up) * up)
    frame = np.array([front, up, np.cross(front, up)])
    local = (x - np.array([0.255, 0.700, 0.090])) @ frame.T
    # flattened front to back: the cones are measured in coordinates stretched along that axis
    flat = local * np.array([1.75, 1.0, 1.0])
    leaf = chain(flat, [[0, 0.0, 0], [0, 0.090, 0], [0, 0.215, 0]], [0.066, 0.077, 0.027], 0.06) / 1.3
    dish = round_cone(local, [0.056, 0.060, 0.0], [0.043, 0.195, 0.0], 0.046, 0.018)
    return difference(leaf, dish, 0.02)


def creature(points):
    """The signed field of the whole body at points [n,3] (m)."""
    # paired parts are written once, for z > 0
    x = points.copy()
    x[:, 2] = np.abs(x[:, 2])

    # trunk: chest, waist, rump, and the neck up to the head
    body = ellipsoid(x, [0.105, 0.375, 0.0], [0.140, 0.140, 0.128])
    body = union(body, round_cone(x, [0.08, 0.375, 0.0], [-0.19, 0.370, 0.0], 0.118, 0.118), 0.12)
    body = union(body, ellipsoid(x, [-0.17, 0.365, 0.0], [0.125, 0.130, 0.125]), 0.12)
    body = union(body, round_cone(x, [0.13, 0.43, 0.0], [0.23, 0.57, 0.0], 0.110, 0.100), 0.12)

    # legs
    front_leg = chain(x, [[0.130, 0.37, 0.070], [0.145, 0.19, 0.088], [0.150, 0.05, 0.092]], [0.078, 0.053, 0.046], 0.05)
    front_leg = union(front_leg, ellipsoid(x, [0.185, 0.034, 0.094], [0.076, 0.048, 0.057]), 0.06)
    hind_leg = ellipsoid(x, [-0.180, 0.290, 0.082], [0.100, 0.125, 0.068])
    hind_leg = union(
        hind_leg,
        chain(x, [[-0.165, 0.23, 0.092], [-0.235, 0.140, 0.096], [-0.225, 0.05, 0.097]], [0.066, 0.049, 0.045], 0.06),
        0.08,
    )
    hind_leg = union(hind_leg, ellipsoid(x, [-0.190, 0.034, 0.098], [0.078, 0.048, 0.058]), 0.06)
    body = union(body, union(front_leg, hind_leg, 0.03), 0.10)

    # head: skull, cheeks, muzzle, nose and eyes
    head = ellipsoid(x, [0.275, 0.650, 0.0], [0.160, 0.150, 0.165])
    head = union(head, ellipsoid(x, [0.300, 0.598, 0.095], [0.090, 0.066, 0.090]), 0.08)
    head = union(head, round_cone(x, [0.36, 0.605, 0.0], [0.470, 0.585, 0.0], 0.088, 0.046), 0.08)
    head = union(head, ellipsoid(x, [0.505, 0.607, 0.0], [0.026, 0.023, 0.031]), 0.02)
    head = difference(head, ellipsoid(x, [0.425, 0.690, 0.085], [0.046, 0.040, 0.046]), 0.03)
    head = union(head, ellipsoid(x, [0.388, 0.683, 0.078], [0.040, 0.043, 0.038]), 0.012)
    head = union(head, ear(x), 0.06)
    body = union(body, head, 0.08)

    # bushy tail, raised
    spine = bezier([[-0.24, 0.40, 0], [-0.46, 0.32, 0], [-0.53, 0.56, 0], [-0.39, 0.80, 0]], 81)
    s = np.linspace(0.0, 1.0, 81)
    thickness = 0.044 + 0.062 * np.sin(np.pi * s**1.25) ** 1.3 - 0.018 * s
    body = union(body, tube(x, spine, thickness), 0.06)

    # flat soles
    return -union(x[:, 1], -body, 0.012)


# --- the surface ---------------------------------------------------------------------------------------------


def gradient(field, x, step=1e-4):
    shifts = step * np.eye(3)
    return np.stack([(field(x + d) - field(x - d)) / (2 * step) for d in shifts], axis=1)


def project(field, x, sweeps=6):
    """Newton steps along the gradient onto the zero level, each no longer than a grid cell."""
    for _ in range(sweeps):
        g = gradient(field, x)
        move = -field(x)[:, None] * g / np.maximum((g * g).sum(axis=1), 1e-2)[:, None]
        length = np.linalg.norm(move, axis=1, keepdims=True)
        x = x + move * np.minimum(1.0, GRID_SPACING / np.maximum(length, 1e-12))
    return x


def extract():
    """Fine triangles of the zero level."""
    low, high = np.array([-0.62, -0.03, -0.30]), np.array([0.58, 1.05, 0.30])
    axes = [np.arange(a, b, GRID_SPACING) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    values = creature(grid.reshape(-1, 3)).reshape(grid.shape[:3])
    vertices, faces, _, _ = marching_cubes(values, 0.0, spacing=(GRID_SPACING,) * 3)
    return vertices.astype(float) + low, faces


def edge_sizes(x, triangles):
    """The wanted edge length at every vertex (m): smaller where the shape curves, so that tips, nose and eyes stay round."""
    step = 0.5 * GRID_SPACING
    curvature = np.zeros(len(x))
    for d in step * np.eye(3):
        for sign in (1.0, -1.0):
            g = gradient(creature, x + sign * d)
            g /= np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-9)
            curvature += sign * (g @ d) / (2.0 * step * step)
    size = np.clip(EDGES_PER_RADIUS / np.maximum(np.abs(curvature), 1e-9), SMALLEST_EDGE, SURFACE_EDGE)
    # averaged over a few centimetres: the size of triangles must change slowly
    corners = triangles.ravel()
    uses = np.bincount(corners, minlength=len(x))
    for _ in range(15):
        size = np.bincount(corners, np.repeat(size[triangles].mean(axis=1), 3), minlength=len(x)) / uses
    return size


def even_surface():
    """Closed triangles of slowly varying size, vertices on the zero level."""
    vertices, faces = extract()
    vertices = project(creature, vertices)
    surface = mmgpy.MmgMeshS(vertices, faces.astype(np.int32))
    surface.set_field("metric", edge_sizes(vertices, faces)[:, None])
    surface.remesh(hgrad=1.2, hausd=0.004, detect_ridges=False, verbose=-1)
    x, triangles = surface.get_vertices(), surface.get_triangles().astype(np.int64)
    x = project(creature, x)

    # a few rounds of tangential smoothing: the mean of the neighbours, then back onto the zero level
    edges = np.unique(np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    degree = np.bincount(edges.ravel(), minlength=len(x))[:, None]
    for _ in range(4):
        mean = np.zeros_like(x)
        np.add.at(mean, edges[:, 0], x[edges[:, 1]])
        np.add.at(mean, edges[:, 1], x[edges[:, 0]])
        normal = gradient(creature, x)
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-9)
        move = mean / degree - x
        x = project(creature, x + 0.5 * (move - (move * normal).sum(axis=1, keepdims=True) * normal), sweeps=2)
    return x, triangles


# --- the volume ----------------------------------------------------------------------------------------------


def fill(x, triangles):
    """Tetrahedra inside the closed surface, which stays as it is: (points, tets)."""
    gmsh.initialize()
    options = {
        "General.Terminal": 0,
        "General.NumThreads": 1,
        "Mesh.Algorithm3D": 1,  # Delaunay
        "Mesh.MeshSizeExtendFromBoundary": 1,
        "Mesh.MeshSizeMax": INTERIOR_EDGE,
        "Mesh.Optimize": 1,
        "Mesh.OptimizeThreshold": 0.5,
    }
    for name, value in options.items():
        gmsh.option.setNumber(name, value)
    gmsh.model.add("creature")
    gmsh.model.addDiscreteEntity(2, 1)
    gmsh.model.mesh.addNodes(2, 1, np.arange(1, len(x) + 1), x.ravel())
    gmsh.model.mesh.addElementsByType(1, 2, [], (triangles + 1).ravel())
    gmsh.model.geo.addSurfaceLoop([1], 1)
    gmsh.model.geo.addVolume([1], 1)
    gmsh.model.geo.synchronize()
    gmsh.model.mesh.generate(3)
    for _ in range(3):
        gmsh.model.mesh.optimize("Netgen")
        gmsh.model.mesh.optimize("Relocate3D")
        gmsh.model.mesh.optimize("")
    tags, coordinates, _ = gmsh.model.mesh.getNodes()
    _, corners = gmsh.model.mesh.getElementsByType(4)
    gmsh.finalize()
    index = np.zeros(tags.max() + 1, np.int64)
    index[tags] = np.arange(len(tags))
    return coordinates.reshape(-1, 3), index[corners].reshape(-1, 4)


def tidy(points, tets):
    """Points rounded to float32, tets positive, unused points dropped, everything ordered for locality and small files."""
    points = points.astype(np.float32)
    used, tets = np.unique(tets, return_inverse=True)
    points, tets = points[used], tets.reshape(-1, 4)

    # vertices from the feet up in thin slabs: neighbours get near numbers, which compresses
    order = np.lexsort((points[:, 2], points[:, 0], np.floor(points[:, 1] / 0.02)))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    points, tets = points[order], rank[tets]

    tets = np.sort(tets, axis=1)
    flipped = volumes(points.astype(float), tets) < 0
    tets[flipped] = tets[flipped][:, [0, 1, 3, 2]]
    return points, tets[np.lexsort(tets.T[::-1])].astype(np.int32)


# --- quality -------------------------------------------------------------------------------------------------


def volumes(x, tets):
    a, b, c, d = (x[tets[:, i]] for i in range(4))
    return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0


def volume_ratios(x, tets):
    """6 sqrt(2) V / l_rms^3: one for a regular tet, zero for a flat one."""
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    squares = np.mean([((x[tets[:, i]] - x[tets[:, j]]) ** 2).sum(axis=1) for i, j in pairs], axis=0)
    return 6.0 * np.sqrt(2.0) * volumes(x, tets) / squares**1.5


def dihedral_angles(x, tets):
    """All six angles of every tet, in degrees, from the outward normals of the faces."""
    faces = [(1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)]
    normals = [np.cross(x[tets[:, j]] - x[tets[:, i]], x[tets[:, k]] - x[tets[:, i]]) for i, j, k in faces]
    normals = [n / np.linalg.norm(n, axis=1, keepdims=True) for n in normals]
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    cosines = np.stack([-(normals[i] * normals[j]).sum(axis=1) for i, j in pairs])
    return np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))


def boundary(tets):
    faces = tets[:, [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]]].reshape(-1, 3)
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    assert count.max() <= 2
    return faces[first[count == 1]]


def n_components(tets, n_points):
    """Components of the vertex graph: the smallest label spreads until nothing changes."""
    label = np.arange(n_points)
    while True:
        new = label.copy()
        np.minimum.at(new, tets, label[tets].min(axis=1)[:, None])
        if (new == label).all():
            return len(np.unique(label))
        label = new


def report(points, tets):
    """Prints the quality and stops where the mesh misses what the project needs."""
    x = points.astype(float)
    volume, ratio, angle = volumes(x, tets), volume_ratios(x, tets), dihedral_angles(x, tets)
    triangles = boundary(tets)
    half_edges = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    _, uses = np.unique(np.sort(half_edges, axis=1), axis=0, return_counts=True)
    surface_vertices = len(np.unique(triangles))
    euler = surface_vertices - len(uses) + len(triangles)
    unused = len(x) - len(np.unique(tets))
    components = n_components(tets, len(x))
    print(f"vertices            {len(x)}  ({surface_vertices} on the surface, {unused} unused)")
    print(f"tets                {len(tets)}  ({(volume <= 0).sum()} not positive)")
    print(f"surface triangles   {len(triangles)}  (Euler characteristic {euler}, edges with two triangles: {(uses == 2).all()})")
    print(f"components          {components}")
    print(f"bounding box        {x.min(axis=0).round(4)} to {x.max(axis=0).round(4)} m,  volume {volume.sum():.5f} m^3")
    print(f"volume ratio        min {ratio.min():.3f}  1% {np.quantile(ratio, 0.01):.3f}  median {np.median(ratio):.3f}")
    print(f"dihedral angles     {angle.min():.1f} to {angle.max():.1f} degrees")
    lengths = np.linalg.norm(x[tets[:, [0, 0, 0, 1, 1, 2]]] - x[tets[:, [1, 2, 3, 2, 3, 3]]], axis=2)
    print(f"edge length         min {lengths.min():.4f}  median {np.median(lengths):.4f}  max {lengths.max():.4f} m")
    assert unused == 0 and components == 1 and euler == 2 and (uses == 2).all()
    assert volume.min() > 0 and ratio.min() > 0.05 and angle.min() > 5.0


def main():
    points, tets = tidy(*fill(*even_surface()))
    report(points, tets)
    meshio.Mesh(points, [("tetra", tets)]).write(OUTPUT, binary=True, compression="zlib")
    print(f"{OUTPUT.name}        {OUTPUT.stat().st_size} bytes")
    assert OUTPUT.stat().st_size < 1_000_000


if __name__ == "__main__":
    main()
