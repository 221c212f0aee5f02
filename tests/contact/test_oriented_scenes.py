"""The scenes mat twist and pin cushion of Li et al. [2020, Incremental Potential Contact, Sec. 7], small: every J stays positive."""

import warnings

import numpy as np
import pytest

import pdgpu

YOUNG, POISSON, DENSITY = 1e4, 0.2, 1000.0
ORIENTED = {"LogNeoHookean": pdgpu.LogNeoHookean, "FixedCorotated": pdgpu.FixedCorotated}
SMALL, LARGE = 0, 1


def turned(points, angle, centre):
    """Points turned about the x axis through a centre."""
    c, s = np.cos(angle), np.sin(angle)
    return (points - centre) @ np.array([[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]]) + centre


def mat_twist(kind, size):
    """A mat whose ends turn against each other by 72 degrees a second, until it folds onto itself."""
    cells = ((14, 1, 6), (40, 2, 16))[size]
    mesh = pdgpu.shapes.beam((1.0, 0.04, 0.4), cells)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    body = scene.add_solid(mesh, kind.from_young(YOUNG, POISSON), density=DENSITY, name="mat")
    centre, speed = np.array([0.0, 0.02, 0.2]), np.radians(72.0)
    for end, sign in ((0.0, 1.0), (1.0, -1.0)):
        body.pin(mesh.points[:, 0] == end, motion=lambda time, rest, sign=sign: turned(rest, sign * speed * time, centre))
    return scene, pdgpu.BarrierContact(2e-3), 0.04, (110, 250)[size]


def pin_cushion(kind, size):
    """A cushion on a floor, and pins that go down to a quarter of its height."""
    cells, pins = (((5, 3, 5), 3), ((12, 7, 12), 4))[size]
    mesh = pdgpu.shapes.beam((0.4, 0.2, 0.4), cells)
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    lifted = pdgpu.Mesh(mesh.points + [0.0, 6e-3, 0.0], tets=mesh.tets)
    scene.add_solid(lifted, kind.from_young(YOUNG, POISSON), density=DENSITY, name="cushion")
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")

    def down(time):
        return np.eye(3), np.array([0.0, -min(0.25 * time, 0.16), 0.0])

    for x in np.linspace(0.05, 0.35, pins):
        for z in np.linspace(0.05, 0.35, pins):
            scene.add_obstacle(pdgpu.Capsule((x, 0.235, z), (x, 0.6, z), 0.02), motion=down, name=f"pin {x:g} {z:g}")
    return scene, pdgpu.BarrierContact(1e-2), 0.02, 34


SCENES = {"mat twist": mat_twist, "pin cushion": pin_cushion}


def least_volumes(scene_name, kind, size, solver, dtype):
    """The least det F at the end of each step, and at the end how far things are behind."""
    scene, contact, dt, steps = SCENES[scene_name](kind, size)
    sim = pdgpu.Simulation(scene, solver, dt=dt, contact=contact, dtype=dtype)
    body, least = scene.bodies[0], []
    rest = np.linalg.det(body.points[body.mesh.tets][:, 1:] - body.points[body.mesh.tets][:, :1])
    for _ in range(steps):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            sim.step()
        x = sim.positions.astype(np.float64)[body.mesh.tets]
        least.append(float((np.linalg.det(x[:, 1:] - x[:, :1]) / rest).min()))
    return np.array(least), sim


NEWTON = pdgpu.Newton(iterations=30, tolerance=1e-4)


@pytest.mark.parametrize(
    ("kind", "scene"),
    [
        ("FixedCorotated", "mat twist"),
        ("LogNeoHookean", "pin cushion"),
        pytest.param("LogNeoHookean", "mat twist", marks=pytest.mark.stress),
        pytest.param("FixedCorotated", "pin cushion", marks=pytest.mark.stress),
    ],
)
def test_every_volume_stays_positive(kind, scene):
    """If not, the scenes of IPC invert here."""
    least, sim = least_volumes(scene, ORIENTED[kind], SMALL, NEWTON, "float64")
    assert least.min() > 0.0
    assert least.min() < 0.6  # tets are squeezed
    assert sim.last_step.inverted_tets in (None, 0)


def test_a_material_that_lets_tets_invert_inverts_them():
    """If not, the pin cushion above tests nothing."""
    least, _ = least_volumes("pin cushion", pdgpu.Corotated, SMALL, NEWTON, "float64")
    assert least.min() < 0.0


@pytest.mark.stress
@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("kind", ORIENTED)
def test_every_volume_of_a_fine_mesh_stays_positive(scene, kind):
    """If not, a fine mesh inverts where a coarse one does not."""
    least, _ = least_volumes(scene, ORIENTED[kind], LARGE, NEWTON, "float64")
    assert least.min() > 0.0


@pytest.mark.stress
@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("kind", ORIENTED)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "solver",
    [pdgpu.VertexBlockDescent(iterations=60), pdgpu.QuasiNewton(iterations=40), pdgpu.BlockJacobi(iterations=100)],
    ids=lambda solver: type(solver).__name__,
)
def test_every_volume_stays_positive_with_other_solvers(scene, kind, dtype, solver):
    """If not, the limit of steps is that of Newton's method alone."""
    least, _ = least_volumes(scene, ORIENTED[kind], SMALL, solver, dtype)
    assert least.min() > 0.0
