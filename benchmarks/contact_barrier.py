"""What do energy, gradient and Hessian of the barrier cost, against ipctk, and how does the cost grow with the pairs?

Two sheets of cloth 0.6 activation distances apart, crumpled by a twentieth of it: "aligned", with edges along each other, so that many
pairs have the mollifier, and "turned" by 17 degrees. Both programs get their lists beforehand, of the same mesh and the same collision
set, and their energies are compared first. Then, on one thread and in float64, each computes from positions (n, 3)

    ipctk     `BarrierPotential(collisions, mesh, x)`, `.gradient` into a vector of the mesh, `.hessian` into a sparse matrix, without
              or with CLAMP. Its list joins pairs with the same nearest parts and keeps those parts: it evaluates distances of known
              parts, fewer of them, and is right where it was made.
    pdgpu     `ContactPairs.energy`, `.gradient`, `.hessian`: the same sum, vector and sparse matrix. The list holds every pair and
              finds the nearest parts again, so that it serves for other positions too. Which entries the matrix has is found with a
              list's first Hessian and kept; ipctk finds it every time. "and its pattern" is the projected Hessian of a new list.

"pairs" counts ours, "ipctk_pairs" theirs. Times are those of the thread by its own clock, in rounds in which the programs take turns,
since the machine may be shared: "ms" and "ipctk_ms" are medians, "of_ipctk" the median over the rounds of ipctk's time over ours,
"of_least" the ratio of the least times. Scenes with more than MOST pairs are ours alone; they are there for the growth.

    python benchmarks/contact_barrier.py [--out FILE.csv] [--rounds 25] [--cells 23 73 225] [--tiny]
"""

import argparse
import math
import time

import numpy as np
from machine import write_table

import pdgpu
from pdgpu import contact

STIFFNESS = 1e4
MOST = 300_000
QUANTITIES = ("energy", "gradient", "Hessian", "projected Hessian", "and its pattern")


def sheets(cells, degrees):
    """Positions, triangles and activation distance."""
    grid = pdgpu.shapes.grid((1, 1), cells=(cells, cells))
    lower, distance = np.array(grid.points), 0.25 / cells
    angle = math.radians(degrees)
    turn = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]])
    upper = (lower - 0.5) @ turn.T + [0.5 + 0.3 / cells, 0.5 + 0.2 / cells, 0.6 * distance + 0.5]
    points = np.concatenate([lower, upper])
    points += 0.05 * distance * np.random.default_rng(cells).normal(size=points.shape)
    return points, np.concatenate([grid.triangles, grid.triangles + len(lower)]).astype(np.int32), distance


def our_programs(x, triangles, distance):
    pairs = contact.find_pairs(pdgpu.BarrierContact(distance, stiffness=STIFFNESS, area_weighted=False), x, triangles, threads=1)
    columns = (pairs.contact, pairs.n_vertices, pairs.dtype, pairs.kind, pairs.vertices, pairs.activation, pairs.weight, pairs.threshold)
    programs = (
        lambda: pairs.energy(x, threads=1),
        lambda: pairs.gradient(x, threads=1),
        lambda: pairs.hessian(x, threads=1),
        lambda: pairs.hessian(x, psd=True, threads=1),
        lambda: contact.ContactPairs(*columns).hessian(x, psd=True, threads=1),
    )
    return len(pairs), programs


def ipctk_programs(x, triangles, distance):
    import ipctk

    ipctk.set_num_threads(1)
    x, faces = np.asfortranarray(x), np.asfortranarray(triangles)
    mesh = ipctk.CollisionMesh(x, ipctk.edges(faces), faces)
    collisions = ipctk.NormalCollisions()
    collisions.build(mesh, x, distance)
    potential = ipctk.BarrierPotential(distance, STIFFNESS)
    clamp = ipctk.PSDProjectionMethod.CLAMP
    programs = (
        lambda: potential(collisions, mesh, x),
        lambda: potential.gradient(collisions, mesh, x),
        lambda: potential.hessian(collisions, mesh, x),
        lambda: potential.hessian(collisions, mesh, x, clamp),
        lambda: potential.hessian(collisions, mesh, x, clamp),
    )
    return len(collisions), programs


def seconds(program):
    start = time.thread_time()
    program()
    return time.thread_time() - start


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out")
    options.add_argument("--rounds", type=int, default=25)
    options.add_argument("--cells", type=int, nargs="+", default=[23, 73, 225])
    options.add_argument("--tiny", action="store_true")
    chosen = options.parse_args()
    rows, notes = [], []
    for name, degrees in (("aligned", 0.0), ("turned", 17.0)):
        growth = {}
        for cells in [6] if chosen.tiny else chosen.cells:
            scene = sheets(cells, degrees)
            count, ours = our_programs(*scene)
            their_count, theirs = ipctk_programs(*scene) if count <= MOST else (None, None)
            if theirs:
                mine, expected = ours[0](), theirs[0]()
                if abs(mine - expected) > 1e-10 * expected:
                    raise SystemExit(f"{name}, {cells} cells: the energies differ, {mine} and {expected}")
            for i, quantity in enumerate(QUANTITIES):
                ours[i]()
                rounds = 1 if chosen.tiny else chosen.rounds
                times = np.array([(seconds(ours[i]), seconds(theirs[i]) if theirs else math.nan) for _ in range(rounds)])
                (middle, their_middle), (best, their_best) = np.median(times, axis=0), times.min(axis=0)
                growth.setdefault(quantity, []).append((count, best))
                figures = [f"{1e3 * middle:.2f}", f"{1e9 * middle / count:.0f}"]
                if theirs:
                    ratio = np.median(times[:, 1] / times[:, 0])
                    figures += [their_count, f"{1e3 * their_middle:.2f}", f"{ratio:.2f}", f"{their_best / best:.2f}"]
                rows.append((name, count, quantity, *figures, *[""] * (6 - len(figures))))
        for quantity, points in growth.items():
            if len(points) > 1:
                (few, short), (many, long) = points[0], points[-1]
                exponent = math.log(long / short) / math.log(many / few)
                notes.append(f"{name}, {quantity}: time grows as pairs^{exponent:.2f} from {few} to {many} pairs")
    header = ("scene", "pairs", "quantity", "ms", "ns_per_pair", "ipctk_pairs", "ipctk_ms", "of_ipctk", "of_least")
    write_table(chosen.out, header, rows, notes)


if __name__ == "__main__":
    main()
