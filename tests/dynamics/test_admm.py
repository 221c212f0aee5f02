"""ADMM: the elements' minimisations, the order of the updates, the fixed point, the refusals."""

import inputs
import numpy as np
import pytest
import scenes

import pdgpu

MATERIALS = {
    "ARAP": pdgpu.ARAP(2e4),
    "NeoHookean": pdgpu.NeoHookean(2e4, 1e5),
    "StVK": pdgpu.StVK(2e4, 3e4),
    "Corotated": pdgpu.Corotated(2e4, 1e5),
    "OrthotropicSolid": pdgpu.OrthotropicSolid((9e4, 5e4, 3e4), (0.3, 0.4, 0.3), (2e4, 3e4, 1e4)),
}


def stretched_bar(material):
    """A clamped bar of density 1000 without gravity, and its points stretched by half."""
    points, tets = inputs.kuhn_grid(10, 2, 2, 0.1)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(pdgpu.Mesh(points, tets=tets), material, density=1000.0).pin(points[:, 0] == 0)
    return scene, points * (1.5, 1.0, 1.0)


def solved(scene, start, solver, **options):
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30, **options)
    sim.set_state(positions=start)
    sim.step()
    return sim.positions.copy()


@pytest.mark.parametrize(
    "material", [pytest.param(name, marks=() if name in ("StVK", "OrthotropicSolid") else pytest.mark.stress) for name in MATERIALS]
)
def test_limit_is_newtons_answer(material):
    """If not, an element's minimisation or its dual is wrong: the limit would balance other forces than those of G."""
    scene, start = stretched_bar(MATERIALS[material])
    newton = solved(scene, start, pdgpu.Newton(iterations=60, initialization="previous"))
    x = solved(scene, start, pdgpu.ADMM(iterations=400, initialization="previous"))
    assert np.abs(x - newton).max() < 1e-6 * np.ptp(start, axis=0).max()


@pytest.mark.parametrize("damping", [0.0, pytest.param(0.01, marks=pytest.mark.stress)])
def test_every_material_at_once_and_damped(damping):
    """If not, ADMM leaves out an element, or the damping that G has."""
    scene, start = scenes.mixed(damping=damping)
    newton = solved(scene, start, pdgpu.Newton(iterations=100, initialization="previous"))
    x = solved(scene, start, pdgpu.ADMM(iterations=2000, initialization="previous"))
    assert np.abs(x - newton).max() < 1e-6


def test_iterations_of_a_spring_on_paper():
    """If not, the updates run in another order, or with another weight, than in the paper."""
    k, mass, length, h = 100.0, 0.5, 1.0, 0.1
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    rod = scene.add_rod(pdgpu.Mesh([[0.0, 0, 0], [length, 0, 0]], edges=[[0, 1]]), pdgpu.Spring(k), density=2 * mass / length)
    rod.pin([0])
    y = 1.5
    x, u, inertia = y, 0.0, mass / h**2
    for iterations in range(1, 6):
        # E = w/2 (z - L)^2: z minimises w/2 (z - L)^2 + w/2 (z - x - u)^2; then u, then x
        w = k
        z = (length + x + u) / 2
        u += x - z
        x = (inertia * y + w * (z - u)) / (inertia + w)
        sim = pdgpu.Simulation(scene, pdgpu.ADMM(iterations=iterations, initialization="previous"), dt=h)
        sim.set_state(positions=[[0.0, 0, 0], [y, 0, 0]])
        sim.step()
        assert sim.positions[1, 0] == pytest.approx(x, rel=1e-13)


def test_equilibrium_of_several_steps_stays():
    """If not, the duals of one step leak into the next: two steps of one simulation differ from a fresh one."""
    scene, start = stretched_bar(MATERIALS["NeoHookean"])
    solver = pdgpu.ADMM(iterations=5)
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30)
    sim.set_state(positions=start)
    sim.step()
    fresh = pdgpu.Simulation(scene, solver, dt=1 / 30)
    fresh.set_state(positions=sim.positions, velocities=sim.velocities)
    sim.step()
    fresh.step()
    assert np.array_equal(sim.positions, fresh.positions)


def test_float32_reaches_what_it_can_resolve():
    """If not, single precision is of no use with this solver."""
    scene, start = stretched_bar(MATERIALS["NeoHookean"])
    solver = pdgpu.ADMM(iterations=200, initialization="previous")
    single, double = solved(scene, start, solver, dtype="float32"), solved(scene, start, solver)
    assert np.abs(single - double).max() < 1e-5 * np.ptp(start, axis=0).max()


def test_without_shear_modulus():
    """If not, a fluid-like material would lose its pressure: 2 mu, the weight of Projective Dynamics, is 0 there."""
    points, tets = inputs.kuhn_grid(10, 2, 2, 0.1)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.NeoHookean(0.0, 1e5), density=1000.0)
    start = points * 1.02
    newton = solved(scene, start, pdgpu.Newton(iterations=60, initialization="previous"))
    x = solved(scene, start, pdgpu.ADMM(iterations=50, initialization="previous"))
    assert np.abs(x - newton).max() < 0.2 * np.abs(newton - start).max()


@pytest.mark.parametrize("weight", [pytest.param(0.5, marks=pytest.mark.stress), 2.0])
def test_weight_changes_the_way_not_the_limit(weight):
    """If not, the weight of the matrix and that of the elements' minimisations disagree."""
    scene, start = stretched_bar(MATERIALS["NeoHookean"])
    newton = solved(scene, start, pdgpu.Newton(iterations=60, initialization="previous"))
    x = solved(scene, start, pdgpu.ADMM(iterations=300, weight=weight, initialization="previous"))
    few = [solved(scene, start, pdgpu.ADMM(iterations=5, weight=w, initialization="previous")) for w in (1.0, weight)]
    assert np.abs(x - newton).max() < 1e-6
    assert np.abs(few[0] - few[1]).max() > 1e-4


def test_a_larger_weight_reaches_a_stretched_answer():
    """If not, the docstring is wrong: with the weights of rest the beam ends 14 cm from the answer, however long it iterates."""
    beam = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(8, 2, 2))
    scene = pdgpu.Scene()
    scene.add_solid(beam, pdgpu.NeoHookean(1e5, 4e5), density=1000.0).pin(beam.points[:, 0] < 1e-9)
    start = beam.points * [4.0, 1.0, 1.0]
    newton = solved(scene, start, pdgpu.Newton(iterations=60, initialization="previous"))
    errors = []
    for weight in (1.0, 4.0):
        x = solved(scene, start, pdgpu.ADMM(iterations=200, weight=weight, initialization="previous"))
        errors.append(np.abs(x - newton).max())
    assert errors[1] < 2e-3 < 0.05 * errors[0]


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-15), ("float32", 1e-6)])
def test_a_body_at_rest_stays_at_rest(dtype, tolerance):
    """If not, a cube that nothing touches changes its shape by itself."""
    cube = pdgpu.shapes.beam((0.3, 0.3, 0.3), cells=(3, 3, 3))
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(cube, pdgpu.NeoHookean(2e6, 1e7), density=1000.0)
    sim = pdgpu.Simulation(scene, pdgpu.ADMM(), dt=1 / 100, dtype=dtype, threads=1)
    sim.step(30)
    assert np.abs(sim.positions - cube.points).max() <= tolerance
