"""Bodies of orthotropic material as a whole: tension off the axes, the same answer by all solvers, files, and cuts."""

import inputs
import numpy as np
import pytest
from element_cases import TURNED

import pdgpu

WARP, WEFT, SHEAR, POISSON = 200.0, 60.0, 15.0, 0.3
LENGTH, WIDTH, LOAD = 1.0, 0.5, 1e-4  # m, m, N/m
WOOD = dict(young=(9e4, 5e4, 2e4), poisson=(0.3, 0.5, 0.4), shear=(2e4, 3e4, 8e3))


def lamina(angle):
    """(1/E, shear strain over tension) of a load at an angle from the warp [Jones 1999, Mechanics of Composite Materials, Sec. 2.6]."""
    c, s = np.cos(angle), np.sin(angle)
    slack = c**4 / WARP + (1.0 / SHEAR - 2.0 * POISSON / WARP) * s**2 * c**2 + s**4 / WEFT
    coupling = 2.0 / WARP + 2.0 * POISSON / WARP - 1.0 / SHEAR, 2.0 / WEFT + 2.0 * POISSON / WARP - 1.0 / SHEAR
    return slack, coupling[0] * s * c**3 - coupling[1] * s**3 * c


@pytest.mark.parametrize("degrees", [0.0, 30.0, 45.0, 90.0])
def test_a_strip_cut_at_an_angle_stretches_as_a_lamina(degrees):
    """If not, a garment has its measured moduli only where threads and triangles happen to run the same way."""
    mesh = pdgpu.shapes.grid((LENGTH, WIDTH), cells=(6, 3))
    x, angle = mesh.points, np.radians(degrees)
    material = pdgpu.OrthotropicShell(WARP, WEFT, SHEAR, POISSON, direction=(np.cos(angle), np.sin(angle), 0.0))
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    strip = scene.add_shell(mesh, material, density=0.2)
    corner, end = np.argmin(x.sum(axis=1)), np.argmax(x[:, 0] - x[:, 1])
    strip.pin([corner])
    strip.slide([end], line=(1.0, 0.0, 0.0))  # which holds the rotation: the lower side stays on the x axis
    strip.slide(np.setdiff1d(np.arange(len(x)), [corner, end]), plane=(0.0, 0.0, 1.0))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=50, tolerance=1e-14), dt=None, dtype="float64")
    share = np.ones(4)
    share[[0, -1]] = 0.5  # a uniform load on three edges of a side
    forces = np.zeros_like(x)
    for side, sign in ((0.0, -1.0), (LENGTH, 1.0)):
        forces[np.flatnonzero(np.abs(x[:, 0] - side) < 1e-9), 0] = sign * LOAD * WIDTH / 3.0 * share
    sim.external_forces = forces
    sim.step(2)
    slack, coupling = lamina(angle)
    moved = sim.positions - x
    assert moved[end, 0] / LENGTH == pytest.approx(LOAD * slack, rel=1e-4)
    top = np.argmin(x[:, 0] - x[:, 1])  # above the pinned corner: it moves sideways by the shear
    assert moved[top, 0] / WIDTH == pytest.approx(LOAD * coupling, rel=1e-4, abs=1e-5 * LOAD * slack)


def curved_fibres(mesh):
    """Axes of every tet, the first along a bow."""
    centres = mesh.points[mesh.tets].mean(axis=1)
    angle = 1.5 * centres[:, 0]
    c, s, zero = np.cos(angle), np.sin(angle), np.zeros(len(angle))
    return np.stack([np.stack(row, axis=-1) for row in ((c, s, zero), (-s, c, zero), (zero, zero, zero + 1.0))], axis=1)


def block(damping=0.0):
    points, tets = inputs.kuhn_grid(4, 2, 2, 0.1)
    mesh = pdgpu.Mesh(points, tets=tets)
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_solid(mesh, pdgpu.OrthotropicSolid(**WOOD, axes=curved_fibres(mesh)), density=1000.0, damping=damping, name="wood").pin(
        points[:, 0] == 0.0
    )
    flat, triangles = inputs.cloth(4)
    shell = pdgpu.Mesh(flat + [0.0, 0.5, 0.0], triangles=triangles)
    warp = np.linspace(150.0, 250.0, len(triangles))
    woven = pdgpu.OrthotropicShell(
        warp, WEFT, SHEAR, POISSON, direction=pdgpu.warp_directions(shell, flat[:, :2] @ [[1.0, 0.3], [0.2, 1.0]])
    )
    scene.add_shell(shell, woven, density=0.2, bending=1e-3, damping=damping, name="cloth").pin([0, 4])
    return scene


SOLVERS = {
    "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=3000, initialization="previous"),
    "BlockJacobi": pdgpu.BlockJacobi(iterations=4000, initialization="previous"),
    "QuasiNewton": pdgpu.QuasiNewton(iterations=300, initialization="previous"),
    "ADMM": pdgpu.ADMM(iterations=1500, initialization="previous"),
    "Newton, clamp": pdgpu.Newton(iterations=60, hessian="clamp", initialization="previous"),
    "Newton, absolute": pdgpu.Newton(iterations=100, hessian="absolute", initialization="previous"),
    "Newton, PCG": pdgpu.Newton(iterations=60, linear=pdgpu.PCG(iterations=400, tolerance=1e-8), initialization="previous"),
}


def stretched(solver, damping):
    sim = pdgpu.Simulation(block(damping), solver, dt=1 / 30)
    sim.set_state(positions=sim.positions * [1.2, 1.0, 0.9])
    sim.step()
    return sim


@pytest.mark.parametrize("damping", [pytest.param(0.0, marks=pytest.mark.stress), 0.01])
def test_all_minimisers_have_one_answer(damping):
    """If not, a block, a weight or a filter of the energy is that of another energy."""
    reference = stretched(pdgpu.Newton(iterations=60, initialization="previous"), damping)
    for name, solver in SOLVERS.items():
        found = stretched(solver, damping).positions
        assert np.abs(found - reference.positions).max() < 1e-7, name


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_saved_scene_goes_on_with_the_same_bits(dtype, tmp_path):
    """If not, a run that is resumed has lost the axes of its elements."""
    through, stopped = (pdgpu.Simulation(block(0.01), pdgpu.VertexBlockDescent(iterations=5), dt=1 / 60, dtype=dtype) for _ in range(2))
    through.step(4)
    stopped.step(2)
    stopped.save(tmp_path / "half")
    resumed = pdgpu.Simulation.load(tmp_path / "half")
    assert [body.materials for body in resumed.bodies] == [body.materials for body in through.bodies]
    resumed.step(2)
    assert resumed.positions.tobytes() == through.positions.tobytes() and resumed.energies() == through.energies()


def test_a_cut_cloth_keeps_the_constants_and_directions_of_its_triangles():
    """If not, a torn seam turns the threads next to it."""
    sim = pdgpu.Simulation(block(), pdgpu.VertexBlockDescent(iterations=5), dt=1 / 60)
    sim.step(2)
    before = sim.element_energies("cloth")["OrthotropicShell"]
    sim.cut("cloth", [[10, 11], [11, 12], [12, 13]])
    np.testing.assert_array_equal(sim.element_energies("cloth")["OrthotropicShell"], before)


def test_solvers_that_need_a_projection_refuse_it_by_name():
    """If not, Projective Dynamics runs without the forces of a body."""
    for solver in (pdgpu.ProjectiveDynamics(), pdgpu.PBD(), pdgpu.NonlinearCG()):
        with pytest.raises(TypeError, match=f"{type(solver).__name__} does not take the material Orthotropic(Solid|Shell); "):
            pdgpu.Simulation(block(), solver)


def test_stress_is_in_axes_of_the_world():
    """If not, a picture of the stress in wood shows the components of another frame."""
    mesh = pdgpu.shapes.beam((1.0, 1.0, 1.0), cells=(1, 1, 1))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.OrthotropicSolid((3.0, 3.0, 3.0), (0.2, 0.2, 0.2), (1.25, 1.25, 1.25), axes=TURNED), density=1.0, name="a")
    scene.add_solid(mesh, pdgpu.StVK.from_young(3.0, 0.2), density=1.0, name="b")
    sim = pdgpu.Simulation(scene, pdgpu.Newton())
    sim.set_state(positions=sim.positions @ (np.eye(3) + 0.2 * np.random.default_rng(1).normal(size=(3, 3))))
    for measure in ("cauchy", "first_piola"):
        np.testing.assert_allclose(sim.stress("a", measure), sim.stress("b", measure), atol=1e-13)
