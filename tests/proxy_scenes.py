"""Scenes of proxies that are kept out of obstacles and of bodies, and every solver of Projective Dynamics that answers them."""

import inputs
import numpy as np

import pdgpu


def prongs(apart=0.06):
    """A U whose prongs begin bent through each other, by 3 cm, and are held so on their outer sides: its inner walls are proxies, kept
    out of the U itself."""
    block = pdgpu.shapes.beam((0.3, 0.3, 0.1), cells=(6, 6, 2))
    x, y, _ = block.points[block.tets].mean(axis=1).T
    mesh = pdgpu.Mesh(block.points, tets=block.tets[(x < 0.1) | (x > 0.2) | (y < 0.1)]).without_unused_vertices()
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    body = scene.add_solid(mesh, pdgpu.ARAP(1e4), density=1000.0, name="U")
    bend = 0.065 * np.sign(0.15 - mesh.points[:, :1]) * np.clip(10.0 * mesh.points[:, 1:2] - 1.0, 0.0, 1.0) * [1.0, 0.0, 0.0]
    held = (np.abs(mesh.points[:, 0] - 0.15) > 0.15 - 1e-9) & (mesh.points[:, 1] > 0.2 - 1e-9)
    body.pin(held)  # where the state puts them, bent
    body.pin(mesh.points[:, 1] < 1e-9)
    walls = (np.abs(np.abs(mesh.points[:, 0] - 0.15) - 0.05) < 1e-9) & (mesh.points[:, 1] > 0.1 + 1e-9)
    return scene, np.flatnonzero(walls), pdgpu.RestField("U", apart=apart), mesh.points + bend


def cushion():
    """A block held from above in a beam that is held at its ends: vertices of the one are in the field of the other, both ways."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    low = scene.add_solid(pdgpu.shapes.beam((0.6, 0.1, 0.2), cells=(8, 2, 3)), pdgpu.ARAP(2e4), density=1000.0, name="low")
    low.pin(lambda points: (points[:, 0] < 1e-9) | (points[:, 0] > 0.6 - 1e-9))
    block = pdgpu.shapes.beam((0.2, 0.1, 0.1), cells=(4, 2, 2))
    block = pdgpu.Mesh(block.points + [0.21, 0.08, 0.047], tets=block.tets)
    high = scene.add_solid(block, pdgpu.ARAP(4e4), density=1000.0, name="high")
    high.pin(lambda points: points[:, 1] > 0.18 - 1e-9)
    high.embed(pdgpu.Mesh(block.points, triangles=block.surface), name="skin")
    rest = scene.rest_positions()
    below = np.flatnonzero((np.arange(len(rest)) >= high.slice.start) & (rest[:, 1] < 0.081))
    above = np.flatnonzero((np.arange(len(rest)) < high.slice.start) & (rest[:, 1] > 0.1 - 1e-9) & (np.abs(rest[:, 0] - 0.3) < 0.15))
    return scene, np.concatenate([above, below]), ("low", pdgpu.RestField("skin", spacing=0.02)), rest


def block(cells=(8, 3, 3), jitter=0.2):
    points, tets = inputs.kuhn_grid(*cells, 0.05)
    return pdgpu.Mesh(inputs.jitter(points, cells, 0.05, jitter), tets=tets)


def in_each_other():
    """A bar in a bar, both ways: which vertices carry a target changes too."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    low = scene.add_solid(block(), pdgpu.ARAP(mu=2e4), density=1000.0, name="low")
    low.pin(lambda points: (points[:, 0] < 1e-9) | (points[:, 0] > 0.4 - 1e-9))
    mesh = block((4, 2, 2), 0.1)
    high = scene.add_solid(pdgpu.Mesh(mesh.points + [0.11, 0.128, 0.023], tets=mesh.tets), pdgpu.ARAP(mu=4e4), density=1000.0, name="high")
    high.pin(lambda points: points[:, 1] > 0.228 - 1e-9)
    rest = scene.rest_positions()
    below = np.flatnonzero((np.arange(len(rest)) >= high.slice.start) & (rest[:, 1] < 0.129))
    above = np.flatnonzero((np.arange(len(rest)) < high.slice.start) & (rest[:, 1] > 0.15 - 1e-9) & (np.abs(rest[:, 0] - 0.2) < 0.15))
    return scene, np.concatenate([above, below]), ("low", pdgpu.RestField("high", spacing=0.02)), 800.0


REGIONS = {  # what contact can reach in them
    "prongs": lambda points: points[:, 1] > 0.05 + 1e-9,
    "cushion": lambda points: np.abs(points[:, 0] - 0.3) < 0.2,
    "floor": lambda points: points[:, 1] < 0.11,
    "ball": lambda points: points[:, 1] < 0.11,
    "bodies": lambda points: (np.abs(points[:, 0] - 0.2) < 0.16) & (points[:, 1] > 0.06),
}


# ---- where all rivals must end ------------------------------------------------------------------------------------------------------


def lying_on(obstacle):
    """A bar held at x = 0 that sinks and is pushed up by an obstacle: scene, proxies, field, stiffness (N/m), start, region."""
    mesh, scene = block((6, 3, 3)), pdgpu.Scene()
    bar = scene.add_solid(mesh, pdgpu.ARAP(mu=1e5), density=1000.0, name="bar")
    bar.pin(lambda points: points[:, 0] < 1e-9)
    bar.embed(np.random.default_rng(1).uniform((0.06, 0.004, 0.01), (0.29, 0.03, 0.14), size=(80, 3)), name="under")
    scene.add_obstacle(obstacle, name="obstacle")
    return scene, "under", "obstacle", 5e3, mesh.points, lambda points: points[:, 1] < 0.06


def plane():
    return lying_on(pdgpu.Plane((0.0, 0.01, 0.0), (0.0, 1.0, 0.0)))


def ball():
    return lying_on(pdgpu.Sphere((0.22, -0.17, 0.07), 0.2))


def grid():
    """The distance of a box, rounded by interpolation."""
    box = pdgpu.shapes.box((0.1, 0.1, 0.3))
    box = pdgpu.Mesh(box.points + [0.18, -0.08, -0.07], triangles=box.triangles)
    return lying_on(pdgpu.SignedDistanceField.from_mesh(box, spacing=0.025))


def itself():
    """Proxies away from the rims of the walls: a vertex of a rim lies in a side face of the other prong but for rounding, so that it is
    pushed out sideways or along the wall, and there are several fixed points."""
    scene, _, field, start = prongs()
    y, z = (part.ravel() for part in np.meshgrid((0.16, 0.205, 0.25), (0.04, 0.06)))
    inner = np.concatenate([np.stack([np.full(len(y), x), y, z], axis=1) for x in (0.099, 0.201)])
    scene["U"].embed(inner, name="walls")
    return scene, "walls", field, 800.0, start, REGIONS["prongs"]


def two_bodies():
    scene, proxies, field, start = cushion()
    return scene, proxies, field, 800.0, start, REGIONS["cushion"]


def two_bars():
    scene, proxies, field, stiffness = in_each_other()
    return scene, proxies, field, stiffness, scene.rest_positions(), REGIONS["bodies"]


OBSTACLES = {"plane": plane, "ball": ball, "grid": grid}
BODIES = {"itself": itself, "two bodies": two_bodies, "two bars": two_bars}
ACTIVE = 8.0  # times the stiffness of a proxy: at least what all of them add at a vertex, for two factors [Komaritzan and Botsch 2018]


def rivals(region, active, two_factors=(1,)):
    """Linear solvers of a step [Wang et al. 2021, Sec. 6], by name; two_factors: the inner solves of those without a new factorisation."""
    chebyshev = pdgpu.Chebyshev(rho="lanczos", start=1)
    return {
        "all anew": pdgpu.Direct(),
        **{f"Schur {inner}": pdgpu.SchurDirect(region, inner) for inner in (1, 3, 5, 20)},
        **{f"two factors {inner}": pdgpu.SchurDirect(region, inner, active=active) for inner in two_factors},
        "PCG 20": pdgpu.PCG(iterations=20),
        "Chebyshev-Jacobi 20": pdgpu.Jacobi(iterations=20, chebyshev=chebyshev),
        "A-Jacobi 10 x 2": pdgpu.AJacobi(order=2, iterations=10, chebyshev=chebyshev),
    }


def answers(made, iterations=30000, tolerance=1e-10):
    """Of a scene above, yields (name, simulation after a quasistatic step whose force is `tolerance` of that at the start)."""
    scene, proxies, field, stiffness, start, region = made
    for name, linear in rivals(region, ACTIVE * stiffness).items():
        solver = pdgpu.ProjectiveDynamics(iterations=iterations, linear=linear, initialization="previous", tolerance=tolerance)
        contact = pdgpu.ProxyContact(proxies, stiffness=stiffness, field=field)
        simulation = pdgpu.Simulation(scene, solver, dt=None, contact=contact, threads=1)
        simulation.set_state(positions=start)
        simulation.step(record=True)
        yield name, simulation
