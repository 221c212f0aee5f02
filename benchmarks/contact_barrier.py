"""What do energy, gradient and Hessian of the barrier cost, against ipctk, and how does the cost grow with the pairs?

Two sheets of cloth 0.6 activation distances apart, crumpled by a twentieth of it: "aligned", with edges along each other, so that many
pairs have the mollifier, and "turned" by 17 degrees. Both programs get their lists of pairs beforehand, of the same mesh and the same
collision set, whose energies are compared first. ipctk joins pairs with the same nearest parts into one and keeps those parts; here a list
holds every pair and finds the parts anew, so that it serves for other positions too: "pairs" counts ours, "ipctk_pairs" theirs. A Hessian
is a sparse matrix; which entries it has is found once for a list here, and every time there.

The time is that of one thread by its own clock, the least of some rounds in which both programs take turns: the machine may be shared.
"of_ipctk" is ipctk's time over ours. Scenes with more than MOST pairs are ours alone; they are there for the growth.

    python benchmarks/contact_barrier.py [--out FILE.csv] [--rounds 5] [--cells 23 73 225] [--tiny]
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
QUANTITIES = ("energy", "gradient", "Hessian", "projected Hessian")


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
    pairs = contact.find_pairs(pdgpu.BarrierContact(distance, STIFFNESS, area_weighted=False), x, triangles, threads=1)
    programs = (
        lambda: pairs.energy(x, threads=1),
        lambda: pairs.gradient(x, threads=1),
        lambda: pairs.hessian(x, threads=1),
        lambda: pairs.hessian(x, psd=True, threads=1),
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
    )
    return len(collisions), programs


def seconds(program):
    start = time.thread_time()
    program()
    return time.thread_time() - start


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out")
    options.add_argument("--rounds", type=int, default=5)
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
                times = [(seconds(ours[i]), seconds(theirs[i]) if theirs else math.nan) for _ in range(1 if chosen.tiny else chosen.rounds)]
                best, their_best = (min(column) for column in zip(*times, strict=True))
                growth.setdefault(quantity, []).append((count, best))
                figures = [f"{1e3 * best:.2f}", f"{1e9 * best / count:.0f}"]
                figures += [their_count, f"{1e3 * their_best:.2f}", f"{their_best / best:.2f}"] if theirs else ["", "", ""]
                rows.append((name, count, quantity, *figures))
        for quantity, points in growth.items():
            if len(points) > 1:
                (few, short), (many, long) = points[0], points[-1]
                exponent = math.log(long / short) / math.log(many / few)
                notes.append(f"{name}, {quantity}: time grows as pairs^{exponent:.2f} from {few} to {many} pairs")
    header = ("scene", "pairs", "quantity", "ms", "ns_per_pair", "ipctk_pairs", "ipctk_ms", "of_ipctk")
    write_table(chosen.out, header, rows, notes)


if __name__ == "__main__":
    main()
