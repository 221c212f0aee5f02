"""How fast is collision detection on real steps, beside `ipctk` (PyPI, the Python package of IPC Toolkit, extra `bench`)?

Three steps of published simulations, the frames of the folder ccd/ of the mesh collection that PDGPU_DATA names. The candidates are those
of ipctk's own broad phase; both programs get the same list and are asked for the same number, the largest part of the step without
contact, by their own batch interface: `Candidates.compute_collision_free_stepsize` and `pdgpu.ccd.earliest`. A second list holds only the
pairs that do collide. Each query in full, without leaving late ones early, ipctk has no batch for; it is given for pdgpu alone.

Both run on the same number of threads and take turns; a figure is the fastest of the rounds, and ratios are of one run. A short list is
asked for several times in each turn: the first of them finds the caches full of the other program's data.

    python benchmarks/ccd.py [--threads 1 2] [--rounds 5] [--frames cloth_funnel ...] [--out benchmarks/results/ccd.csv]
"""

import argparse
import os
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from machine import write_table

import pdgpu

FRAMES = ("cloth_funnel", "armadillo_rollers", "cloth_ball")


def load(frame):
    data = np.load(Path(os.environ["PDGPU_DATA"], "ccd", f"frame_{frame}.npz"))
    return {key: data[key] for key in data.files}


def rows_of(candidates, faces, edges, mesh_edges):
    """ipctk's candidates as rows of points: (vertex-triangle, edge-edge)."""
    face_vertex = np.array([(c.vertex_id, c.face_id) for c in candidates.fv_candidates], dtype=np.int32).reshape(-1, 2)
    edge_edge = np.array([(c.edge0_id, c.edge1_id) for c in candidates.ee_candidates], dtype=np.int32).reshape(-1, 2)
    return (
        np.concatenate([face_vertex[:, :1], faces[face_vertex[:, 1]]], axis=1).astype(np.int32),
        np.concatenate([mesh_edges[edge_edge[:, 0]], mesh_edges[edge_edge[:, 1]]], axis=1).astype(np.int32),
    )


def hits_of(data, ipctk):
    """The colliding pairs as ipctk's candidates; its edges are numbered as the frame's."""
    candidates = ipctk.Candidates()
    candidates.fv_candidates = [ipctk.FaceVertexCandidate(int(f), int(v)) for v, f in data["vf"][data["vf_hit"].astype(bool)]]
    candidates.ee_candidates = [ipctk.EdgeEdgeCandidate(int(a), int(b)) for a, b in data["ee"][data["ee_hit"].astype(bool)]]
    return candidates


def best_of(rounds, calls, programs):
    """The fastest seconds and the answer of each program; they take turns of so many calls."""
    seconds, answers = dict.fromkeys(programs, np.inf), {}
    for _ in range(rounds):
        for name, program in programs.items():
            for _ in range(calls):
                begin = time.perf_counter()
                answers[name] = program()
                seconds[name] = min(seconds[name], time.perf_counter() - begin)
    return seconds, answers


def measure(frame, threads, rounds, rows):
    import ipctk

    ipctk.set_num_threads(threads)
    data = load(frame)
    v0, v1 = (np.asfortranarray(data[name], dtype=np.float64) for name in ("V0", "V1"))
    ours0, ours1 = np.ascontiguousarray(v0), np.ascontiguousarray(v1)
    edges, faces = np.asfortranarray(data["E"], dtype=np.int32), np.asfortranarray(data["F"], dtype=np.int32)
    mesh = ipctk.CollisionMesh(v0, edges, faces)
    everything = ipctk.Candidates()
    everything.build(mesh, v0, v1)
    for kind, candidates in (("all", everything), ("hits", hits_of(data, ipctk))):
        vertex_triangle, edge_edge = rows_of(candidates, faces, edges, np.asarray(mesh.edges))
        lists = {"vertex_triangle": vertex_triangle, "edge_edge": edge_edge, "threads": threads}
        n = len(vertex_triangle) + len(edge_edge)
        calls = 1 if n > 1_000_000 else 5 if n > 1000 else 20
        programs = {
            "ipctk additive": lambda c=candidates: c.compute_collision_free_stepsize(mesh, v0, v1, 0.0, ipctk.AdditiveCCD()),
            "ipctk tight inclusion": lambda c=candidates: c.compute_collision_free_stepsize(mesh, v0, v1, 0.0, ipctk.TightInclusionCCD()),
        }
        for method in pdgpu.ccd.METHODS:
            programs[f"pdgpu {method}"] = lambda m=method, p=lists: pdgpu.ccd.earliest(ours0, ours1, method=m, **p).toi
        single = ours0.astype(np.float32), ours1.astype(np.float32)
        programs["pdgpu certified, float32"] = lambda x=single, p=lists: pdgpu.ccd.earliest(*x, **p).toi
        seconds, answers = best_of(rounds, calls, programs)
        for name in programs:
            ratio = [f"{seconds[other] / seconds[name]:.2f}" for other in ("ipctk additive", "ipctk tight inclusion")]
            rows.append(row(frame, kind, n, threads, name, seconds[name], answers[name], ratio))
        full = {f"pdgpu {m}, each in full": lambda m=m, p=lists: every_query(ours0, ours1, m, p) for m in pdgpu.ccd.METHODS}
        seconds, answers = best_of(max(1, rounds // 2), calls, full)
        for name in full:
            rows.append(row(frame, kind, n, threads, name, seconds[name], answers[name], ["", ""]))


def row(frame, kind, n, threads, name, seconds, step, ratios):
    return [frame, kind, n, threads, name, f"{1e3 * seconds:.4g}", f"{seconds / n * 1e9:.1f}", *ratios, f"{step:.6g}"]


def every_query(x0, x1, method, lists):
    """The smallest of all times, each query computed to its end, by the loop without Python's copies."""
    module, smallest = pdgpu._internal.backends.backend("cpu", x0.dtype), 1.0
    for kind, name in ((2, "vertex_triangle"), (3, "edge_edge")):
        found = module.collision_times(kind, pdgpu.ccd.METHODS.index(method), x0, x1, lists[name], 0.0, lists["threads"])
        smallest = min(smallest, found[0].min(initial=1.0))
    return smallest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--frames", nargs="+", choices=FRAMES, default=FRAMES)
    parser.add_argument("--out")
    options = parser.parse_args()
    rows = []
    for frame in options.frames:
        for threads in options.threads:
            measure(frame, threads, options.rounds, rows)
    header = ["frame", "pairs", "count", "threads", "program", "ms", "ns a pair", "x additive", "x tight incl.", "step"]
    notes = [f"ipctk {version('ipctk')}; fastest of {options.rounds} rounds; x: seconds of ipctk over these"]
    write_table(options.out, header, rows, notes)


if __name__ == "__main__":
    main()
