"""The minimisers of G in scenes with contact: no way through, and the same bits however a run is made."""

import dataclasses

import numpy as np
import pytest
from contact_scenes import SCENES
from resting_contact import projective
from same_bits import assert_same_bits
from verified_run import verified_run

import pdgpu
from pdgpu import _host

PD = pdgpu.ProjectiveDynamics
SOLVERS = {
    "PD": lambda **given: PD(**given),
    "PD, Chebyshev": lambda **given: PD(chebyshev=pdgpu.Chebyshev(rho=0.9, start=2), **given),
    "PD by PCG": lambda **given: PD(linear=pdgpu.PCG(iterations=5), **given),
    "PD by PCG, chebyshev": lambda **given: PD(linear=pdgpu.PCG(iterations=3, preconditioner="chebyshev"), **given),
    "PD by PCG, multilevel": lambda **given: PD(linear=pdgpu.PCG(iterations=3, preconditioner="multilevel"), **given),
    "PD by PCG, amg": lambda **given: PD(linear=pdgpu.PCG(iterations=3, preconditioner="amg"), **given),
    "PD by Jacobi": lambda **given: PD(linear=pdgpu.Jacobi(), **given),
    "PD by A-Jacobi": lambda **given: PD(linear=pdgpu.AJacobi(order=2), **given),
    "PD by Gauss-Seidel": lambda **given: PD(linear=pdgpu.GaussSeidel(), **given),
    "PD by symmetric Gauss-Seidel": lambda **given: PD(linear=pdgpu.SymmetricGaussSeidel(), **given),
    "PD by SOR": lambda **given: PD(linear=pdgpu.SOR(omega=1.2), **given),
    "quasi-Newton": lambda **given: pdgpu.QuasiNewton(**given),
    "nonlinear CG": lambda **given: pdgpu.NonlinearCG(**given),
    "nonlinear CG, direct": lambda **given: pdgpu.NonlinearCG(preconditioner="direct", **given),
    "ADMM": lambda **given: pdgpu.ADMM(**given),
}
MAY_RISE = ("PD, Chebyshev", "ADMM")
FAST = ("thrown ball", "crossing cloths", "rods on capsules", "cube on cube")


def simulation(name, solver, dtype, **others):
    """Of a scene with materials that Projective Dynamics takes, scripts included."""
    case = SCENES[name](False)
    scene = projective(case, moving=True).scene
    return case, pdgpu.Simulation(scene, solver, dt=case.dt, contact=case.contact, dtype=dtype, **others)


@pytest.mark.each_choice
@pytest.mark.skipif(not _host.HAS_GMP, reason="this build has no GMP")
@pytest.mark.parametrize("iterations", [1, 10])
@pytest.mark.parametrize(("name", "dtype"), [*((name, "float32") for name in FAST), ("crossing cloths", "float64")])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.slow
def test_nothing_goes_through(solver, name, dtype, iterations):
    """If not, a solver moves farther than what comes near lets it, on the way or at its end."""
    case, sim = simulation(name, SOLVERS[solver](iterations=iterations), dtype, threads=1)
    found = verified_run(dataclasses.replace(case, scene=projective(case, moving=True).scene), sim=sim, steps=4)
    assert found.intersections == 0


@pytest.mark.each_choice
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_bits(tmp_path, solver, dtype):
    """If not, a run with contact cannot be repeated: threads, a copy, a file and a record change nothing."""
    made = SOLVERS[solver](iterations=6)
    assert_same_bits(lambda threads: simulation("cube on floor", made, dtype, threads=threads)[1], tmp_path, steps=3, contacts=0, more=3)


@pytest.mark.parametrize("guard", ["impact", "reach"])
@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in MAY_RISE])
def test_the_potential_falls(solver, guard):
    """If not, an iteration in which nothing is driven spends what those before it have won."""
    case = SCENES["cube on floor"](False)
    contact = dataclasses.replace(case.contact, guard=guard)
    sim = pdgpu.Simulation(projective(case).scene, SOLVERS[solver](iterations=12), dt=case.dt, contact=contact, threads=1)
    for _ in range(3):
        sim.step(record=True)
        potential = sim.last_step["incremental_potential"]
        assert np.diff(potential).max() <= 1e-12 * np.abs(potential).max()
    assert sim.last_step["active_contacts"][-1] > 0
