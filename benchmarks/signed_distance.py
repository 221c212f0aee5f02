"""How long does a signed distance field take, beside libigl's distances of the same nodes, and do the two agree?

Each mesh gets a grid of about NODES nodes along its longest side. libigl takes its sign from pseudonormals [Bærentzen and Aanæs 2005] or
from winding numbers by fast summation [Barill et al. 2018]; pdgpu's is exact, and its time includes the exact search for intersections of
the surface that from_mesh makes first, which is also given alone. Least of RUNS runs, the libraries in turn. Both use all cores.

    PDGPU_DATA=... python benchmarks/signed_distance.py [--out FILE.csv]      (needs libigl: pip install libigl)
"""

import argparse
import os
import time
from importlib.metadata import version
from importlib.resources import as_file, files

import igl
import numpy as np
from machine import write_table
from pdgpu.geometry import find_intersections

import pdgpu

NODES, RUNS = 64, 3
MESHES = ["tet/ipc_bunny.msh", "tri/rigidipc_spot.obj", "tri/itd_bunny.ply", "tet/ipc_Armadillo13K.msh.gz"]


def meshes():
    with as_file(files("pdgpu") / "data" / "creature.vtu") as path:
        yield "creature", pdgpu.read_mesh(path)
    for name in MESHES if "PDGPU_DATA" in os.environ else []:
        path = os.path.join(os.environ["PDGPU_DATA"], name)
        if os.path.exists(path):
            yield name.split("/")[1].split(".")[0], pdgpu.read_mesh(path)


def timed(best, name, function):
    start = time.perf_counter()
    result = function()
    best[name] = min(best.get(name, np.inf), time.perf_counter() - start)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out")
    out = parser.parse_args().out
    rows = []
    for name, mesh in meshes():
        surface = mesh.surface
        spacing = np.ptp(mesh.points[np.unique(surface)], axis=0).max() / NODES
        best, types = {}, igl.SignedDistanceType
        for _ in range(RUNS):
            field = timed(best, "pdgpu", lambda: pdgpu.SignedDistanceField.from_mesh(mesh, spacing=spacing))  # noqa: B023
            timed(best, "check", lambda: find_intersections(mesh.points, surface))  # noqa: B023
            grid = np.stack(np.meshgrid(*map(np.arange, field.values.shape), indexing="ij"), axis=-1).reshape(-1, 3)
            nodes = np.ascontiguousarray(np.array(field.origin) + spacing * grid)
            triangles = np.ascontiguousarray(surface, dtype=np.int64)
            points = np.array(mesh.points)
            theirs = {}
            for how, kind in (
                ("pseudonormal", types.SIGNED_DISTANCE_TYPE_PSEUDONORMAL),
                ("winding", types.SIGNED_DISTANCE_TYPE_FAST_WINDING_NUMBER),
            ):
                theirs[how] = timed(best, how, lambda: igl.signed_distance(nodes, points, triangles, kind)[0])  # noqa: B023
        ours = field.values.ravel()
        off = np.abs(np.abs(ours) - np.abs(theirs["pseudonormal"])).max() / np.ptp(mesh.points, axis=0).max()
        clear = np.abs(ours) > 1e-12 * np.abs(mesh.points).max()
        wrong = [int(((ours < 0) != (theirs[how] < 0))[clear].sum()) for how in ("pseudonormal", "winding")]
        seconds = [best[key] for key in ("pdgpu", "check", "pseudonormal", "winding")]
        ratios = [f"{best[key] / best['pdgpu']:.2f}" for key in ("pseudonormal", "winding")]
        rows.append([name, len(surface), ours.size, *(f"{s:.3f}" for s in seconds), *ratios, f"{off:.0e}", *wrong])
    header = ["mesh", "triangles", "nodes", "pdgpu s", "of it check s", "igl pseudonormal s", "igl winding s"]
    header += ["pseudonormal / pdgpu", "winding / pdgpu", "distances differ by", "signs differ pseudonormal", "winding"]
    write_table(out, header, rows, notes=[f"least of {RUNS} runs, libraries in turn, all cores; libigl {version('libigl')}"])


if __name__ == "__main__":
    main()
