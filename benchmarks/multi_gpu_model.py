"""What would an iteration of Vertex Block Descent cost on 1 to 64 GPUs? A model, for docs/multi_gpu.md; nothing here is a timing.

Each GPU has a piece of a breadth-first order of the vertices. An iteration is, on each of them,

    seconds = vertices * bytes / bandwidth + colours * (launch + exchange) + halo * bytes / link

without any overlap of the two. Counted on this machine: bytes of a vertex (vertex_block_descent.py), the colours of a sweep over the cube,
or over the mesh that is given, and the halo of the largest piece, in vertices, of a cube of 6 k^3 tets, cut into 2 to 64 pieces by that
order ("order") and by halving the longest side again and again ("boxes"). For a mesh of N vertices it grows as a cross-section or a
surface does, with N^(2/3). Measured on one H200: the bytes a second that a sweep moves (gpu_vertex_block_descent.py, 4.8 million vertices)
and a launch within a graph (yardstick.cu). Assumed: the links between GPUs.

    python benchmarks/multi_gpu_model.py [--cells K] [--mesh FILE] [--bandwidth BYTES_PER_SECOND] [--launch SECONDS] [--out FILE.csv]
"""

import argparse

import numpy as np
from machine import write_table
from scipy.sparse import coo_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from vertex_block_descent import counted_bytes

import pdgpu

COUNTS = (1, 2, 4, 8, 16, 32, 64)
CORNERS, REAL = 11.6, 4
STRONG, WEAK = 48_000_000, 48_000_000  # vertices: in all, and of each GPU
POSITION = 16  # bytes of a vertex sent
# bytes/s of a sweep and s of a kernel in a graph, on an H200 (benchmarks/results/gpu/h200-2026-11-27)
BANDWIDTH, LAUNCH = 3.179e12, 0.51e-6
ASSUMED = {
    "inside": (450e9, 4e-6),  # bytes/s and s: NVLink 4 one way, stores into the memory of a peer and a flag; up to eight GPUs
    "outside": (50e9, 15e-6),  # 400 Gbit/s a GPU, an NCCL send and receive
}
IN_A_BOX = 8


def by_order(points, pairs, count):
    n = len(points)
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(n, n))
    order = reverse_cuthill_mckee((graph + graph.T).tocsr(), symmetric_mode=True)
    piece = np.empty(n, int)
    piece[order] = np.arange(n) * count // n
    return piece


def by_boxes(points, pairs, count):
    piece = np.zeros(len(points), int)
    for level in range(count.bit_length() - 1):
        for p in range(2**level):
            inside = np.flatnonzero(piece == p)
            side = np.argmax(np.ptp(points[inside], axis=0))
            upper = inside[np.argsort(points[inside, side], kind="stable")[len(inside) // 2 :]]
            piece[upper] += 2**level
    return piece


def halo(piece, pairs):
    """Vertices of others that the worst piece has to be sent, and pieces it hears from."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    cut = both[piece[both[:, 0]] != piece[both[:, 1]]]
    arriving = np.unique(np.stack([piece[cut[:, 0]], cut[:, 1]], axis=1), axis=0)
    heard = np.unique(np.stack([piece[cut[:, 0]], piece[cut[:, 1]]], axis=1), axis=0)
    return (np.bincount(arriving[:, 0]).max(), np.bincount(heard[:, 0]).max()) if len(cut) else (0, 0)


def colours_of(mesh):
    """How many colours a sweep over this mesh has, as the simulation finds them."""
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.NeoHookean.from_young(young=1e5, poisson=0.4), density=1000.0)
    return pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(), dt=1e-2, dtype="float32").parameters["colours"]


def seconds(vertices, halo, count, colours, bandwidth, launch):
    link, exchange = ASSUMED["inside" if count <= IN_A_BOX else "outside"]
    sweep = vertices * counted_bytes(CORNERS, REAL, colours) / bandwidth
    waits = colours * (launch + (exchange if count > 1 else 0.0))
    return sweep, waits, halo * POSITION / link


def rows(points, pairs, colours, bandwidth, launch):
    n = len(points)
    for way, pieces in (("order", by_order), ("boxes", by_boxes)):
        most = 0
        for count in COUNTS:
            found, heard = halo(pieces(points, pairs, count), pairs)
            most = max(most, found)
            if way == "order":  # thinner than a layer of the counted cube, a slab has less around it than one of a finer mesh
                found = most
            for scaling, each in (("strong", STRONG // count), ("weak", WEAK)):
                whole = each * count
                # the cross-section of the cube for slabs, the surface of a piece for boxes
                grown = found * (whole / n) ** (2 / 3)
                parts = seconds(each, min(grown, whole - each), count, colours, bandwidth, launch)
                alone = sum(seconds(each if scaling == "weak" else STRONG, 0, 1, colours, bandwidth, launch))
                efficiency = alone / sum(parts) / (1 if scaling == "weak" else count)
                yield (
                    colours,
                    way,
                    scaling,
                    count,
                    each,
                    found,
                    heard,
                    f"{grown:.0f}",
                    *(f"{1e3 * part:.3f}" for part in (*parts, sum(parts))),
                    f"{efficiency:.2f}",
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=48)
    parser.add_argument("--mesh", help="whose colours are counted, those of the cube otherwise")
    parser.add_argument("--bandwidth", type=float, default=BANDWIDTH, help="bytes/s of a sweep (that of an H200)")
    parser.add_argument("--launch", type=float, default=LAUNCH, help="s of a kernel in a graph (that of an H200)")
    parser.add_argument("--out")
    chosen = parser.parse_args()
    mesh = pdgpu.shapes.beam((1.0, 1.0, 1.0), cells=(chosen.cells,) * 3)
    edges = mesh.tets[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2)
    pairs = np.unique(np.sort(edges, axis=1), axis=0)
    colours = colours_of(pdgpu.read_mesh(chosen.mesh) if chosen.mesh else mesh)
    header = (
        "colours",
        "pieces",
        "scaling",
        "GPUs",
        "vertices each",
        "halo counted",
        "neighbours",
        "halo",
        "sweep ms",
        "waits ms",
        "link ms",
    )
    notes = [
        "a model, not a measurement: seconds follow from counts and from the figures below",
        f"measured: {chosen.bandwidth:.4g} bytes/s of a sweep, {chosen.launch:.3g} s of a launch; assumed: {ASSUMED}",
        f"halo counted on {len(mesh.points)} vertices, {CORNERS} corners and {counted_bytes(CORNERS, REAL, colours):.0f} bytes a vertex",
    ]
    table = rows(mesh.points, pairs, colours, chosen.bandwidth, chosen.launch)
    write_table(chosen.out, (*header, "iteration ms", "efficiency"), table, notes)


if __name__ == "__main__":
    main()
