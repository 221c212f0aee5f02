"""Do rigid bodies in contact do what closed forms and experience say? Every iterate of every step is verified, and the way from each to the
next, on the arcs that points of bodies go on. Newton moves all bodies at once, and this is its way; Vertex Block Descent moves them colour
after colour, so it could cross between two verified iterates.

Columns, per case and solver:
    bodies, steps, dt
    quantity, measured, expected     what is looked at; expected by a closed form, or a bound
    contacts        the most pairs that acted at the end of a step
    iterations      of a step, on average
    intersections   of iterates, by `certify`
    crossings       on the way between two
    pieces          the most that the verification cut the way between two frames into
    converged       the part of the steps that ended within the tolerance

    incline    a box on a slope of 30 degrees, mu = 0.3: acceleration over g (sin - mu cos)
    ball       of 5120 triangles on a slope of 10 degrees, mu = 0.5: acceleration over 5/7 g sin
    stack      8 boxes at rest: the largest speed at the end, m/s
    dominoes   12 in a row of which the first is pushed: how many lie at the end
    coin       spun on its edge, 25 rad/s: the least height of its middle over that of the coin at rest on its edge, in half a second
    pile       27 boxes that fall into a heap: the force of the floor over their weight, averaged over the last quarter

Vertex Block Descent, `--solvers Newton VertexBlockDescent`, takes many times as long, and is left out of dominoes and pile.

    python benchmarks/rigid_contact.py [--out benchmarks/results/rigid_contact.csv]
"""

import argparse
import csv
import time

import numpy as np

import pdgpu
from pdgpu import shapes

COLUMNS = "case solver bodies steps dt quantity measured expected contacts iterations intersections crossings pieces converged".split()
SOLVERS = {
    "Newton": pdgpu.Newton(iterations=100, tolerance=1e-6),
    "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=60, tolerance=1e-3),
}
GRAVITY, NEWTON_ALONE = 9.81, ("dominoes", "pile")


def floor(angle=0.0):
    scene = pdgpu.Scene(gravity=GRAVITY * np.array([np.sin(angle), -np.cos(angle), 0.0]))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    return scene


def add(scene, mesh, shift, **motion):
    points = np.array(mesh.points) + shift
    return scene.add_rigid(pdgpu.Mesh(points, triangles=mesh.triangles), density=1000.0, **motion)


def run(scene, solver, dt, steps, distance, friction, watch):
    """What `watch(sim)` says after every step, and what a row has of the rest."""
    contact = pdgpu.BarrierContact(distance, friction=friction)
    sim = pdgpu.Simulation(scene, SOLVERS[solver], dt=dt, contact=contact)
    seen, contacts, iterations, faults, crossings, pieces, converged = [], 0, 0, 0, 0, 1, 0
    for _ in range(steps):
        before = sim.positions
        sim.step(record="positions")
        found = pdgpu.certify([before, *sim.last_step.positions], scene, gap=False)
        faults += sum(map(len, found.intersections.values()))
        crossings += len(found.crossings)
        pieces = max(pieces, found.pieces)
        contacts = max(contacts, int(sim.last_step["active_contacts"][-1]))
        iterations += sim.last_step.iteration
        converged += sim.last_step.status == "converged"
        seen.append(watch(sim))
    row = {"solver": solver, "bodies": len(scene.bodies), "steps": steps, "dt": dt, "contacts": contacts}
    row |= {
        "iterations": round(iterations / steps, 1),
        "intersections": faults,
        "crossings": crossings,
        "pieces": pieces,
        "converged": round(converged / steps, 3),
    }
    return np.array(seen), row


def acceleration(speeds, dt):
    half = len(speeds) // 2
    return float(np.polyfit(dt * np.arange(half, len(speeds)), speeds[half:], 1)[0])


def incline(solver):
    angle, dt = np.radians(30.0), 0.01
    scene = floor(angle)
    add(scene, shapes.box((0.4, 0.2, 0.3)), (0.0, 0.004, 0.0))
    speeds, row = run(scene, solver, dt, 60, 0.005, 0.3, lambda sim: sim.rigid.velocities[0, 0])
    expected = GRAVITY * (np.sin(angle) - 0.3 * np.cos(angle))
    return row | {"quantity": "acceleration", "measured": acceleration(speeds, dt) / expected, "expected": 1}


def ball(solver):
    angle, dt, radius = np.radians(10.0), 2e-3, 0.1
    scene = floor(angle)
    add(scene, shapes.sphere(radius, 4), (0.0, radius + 8e-4, 0.0))
    speeds, row = run(scene, solver, dt, 150, 1e-3, 0.5, lambda sim: sim.rigid.velocities[0, 0])
    expected = 5.0 / 7.0 * GRAVITY * np.sin(angle)
    return row | {"quantity": "acceleration", "measured": acceleration(speeds, dt) / expected, "expected": 1}


def stack(solver):
    scene = floor()
    for k in range(8):
        add(scene, shapes.box((0.2, 0.1, 0.2)), (0.0, 0.004 + 0.104 * k, 0.0))
    speeds, row = run(scene, solver, 0.01, 100, 0.005, 0.5, lambda sim: np.abs(sim.rigid.velocities).max())
    return row | {"quantity": "speed at the end", "measured": speeds[-1], "expected": 0}


def dominoes(solver):
    scene = floor()
    for k in range(12):
        push = {"spin": (0.0, 0.0, -2.0), "velocity": (0.2, 0.0, 0.0)} if k == 0 else {}
        add(scene, shapes.box((0.02, 0.2, 0.1)), (0.1 * k, 0.002, 0.0), **push)
    lying, row = run(scene, solver, 0.005, 400, 0.003, 0.4, lambda sim: int((sim.rigid.rotations[:, 1, 1] < 0.7).sum()))
    return row | {"quantity": "fallen", "measured": int(lying[-1]), "expected": 12}


def coin(solver):
    scene, n, radius = floor(), 48, 0.1
    turns = 2.0 * np.pi * np.arange(n) / n
    ring = radius * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    points = np.concatenate([np.c_[ring, np.full(n, z)] for z in (-0.005, 0.005)] + [[[0.0, 0.0, -0.005], [0.0, 0.0, 0.005]]])
    k, after = np.arange(n), (np.arange(n) + 1) % n
    back, front = np.full(n, 2 * n), np.full(n, 2 * n + 1)
    rows = [(back, after, k), (front, k + n, after + n), (k, after, after + n), (k, after + n, k + n)]
    mesh = pdgpu.Mesh(points, triangles=np.concatenate([np.stack(row, axis=1) for row in rows]))
    tilt = np.radians(3.0)
    turned = np.array(points) @ np.array([[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]]).T
    turned[:, 1] += 0.002 - turned[:, 1].min()
    add(scene, pdgpu.Mesh(turned, triangles=mesh.triangles), 0.0, spin=(0.0, 25.0, 0.0))
    heights, row = run(scene, solver, 2e-3, 250, 0.003, 0.3, lambda sim: sim.rigid.centres[0, 1])
    return row | {"quantity": "least height", "measured": heights.min() / radius, "expected": "> 0.9"}


def pile(solver):
    scene, order = floor(), np.random.default_rng(0)
    for k in range(27):
        place = 0.14 * np.array([k % 3, k // 9, k // 3 % 3]) + order.uniform(0.0, 0.03, 3)
        add(scene, shapes.box((0.1, 0.06, 0.08)), place + [0.0, 0.01, 0.0], spin=order.uniform(-3.0, 3.0, 3))
    weight = GRAVITY * sum(body.mass for body in scene.bodies)

    def borne(sim):
        return sim.contact_forces().forces[:, 1].sum() / weight  # what bodies do to each other adds up to nothing

    forces, row = run(scene, solver, 0.01, 120, 0.004, 0.4, borne)
    return row | {"quantity": "force of the floor", "measured": forces[-30:].mean(), "expected": 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--cases", nargs="*", default=["incline", "ball", "stack", "dominoes", "coin", "pile"])
    parser.add_argument("--solvers", nargs="*", choices=list(SOLVERS), default=["Newton"])
    options = parser.parse_args()
    rows = []
    for case in options.cases:
        for solver in options.solvers:
            if case in NEWTON_ALONE and solver != "Newton":
                continue
            start = time.perf_counter()
            rows.append({"case": case, **globals()[case](solver)})
            print({name: rows[-1][name] for name in COLUMNS}, f"{time.perf_counter() - start:.1f} s", flush=True)
    if options.out:
        with open(options.out, "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows({name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()} for row in rows)


if __name__ == "__main__":
    main()
