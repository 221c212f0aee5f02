"""Numbers that are not finite: no comparison lets them pass, and no step ends with them without an error."""

import os
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

import pdgpu
from pdgpu import shapes

ROOT = Path(__file__).parent.parent
BOX = shapes.beam((0.2, 0.2, 0.2), cells=(2, 2, 2))

# ---- comparisons of the core -----------------------------------------------------------------------------------------------

FORWARD = 0.5 * 0.9 * 0.1 / 1.1  # of the way: half of nine tenths of the gap of 0.1 m, over 1.1 m
MOST = {"forward_normal": FORWARD * (1.0 + 1e-5)}  # the distance still holds the vertex back


@pytest.mark.parametrize("real", ["float", "double"])
def test_no_comparison_lets_a_nan_pass(real, tmp_path):
    """If it failed, a vertex whose target is NaN would free all others, or a motion would go on through a plane."""
    program = tmp_path / "not_a_number_case"
    flags = ["-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-array-bounds", f"-DPD_REAL={real}", f"-I{ROOT / 'csrc'}"]
    source = ROOT / "tests" / "not_a_number_case.c"
    subprocess.run([os.environ.get("CC", "cc"), *flags, str(source), "-o", str(program), "-lm"], check=True)
    lines = subprocess.run([str(program)], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    found = [(name, int(where), float(value)) for name, where, value in map(str.split, lines)]
    assert len(found) == 2 * (3 * 24 + 6) + 3 + 4 + 4 + 1
    passed = [(name, where, value) for name, where, value in found if not value <= MOST.get(name, 0.0)]
    assert not passed, passed


# ---- steps -----------------------------------------------------------------------------------------------------------------

SOLVERS = {
    "PD": pdgpu.ProjectiveDynamics(iterations=10),
    "PD, Jacobi": pdgpu.ProjectiveDynamics(iterations=10, linear=pdgpu.Jacobi()),
    "Newton": pdgpu.Newton(iterations=5),
    "Newton, full steps": pdgpu.Newton(iterations=5, line_search=False),
    "Newton-CG": pdgpu.Newton(iterations=5, linear=pdgpu.PCG()),
    "Newton-CG, polynomial": pdgpu.Newton(iterations=5, linear=pdgpu.PCG(preconditioner="chebyshev")),
    "PD by PCG, polynomial": pdgpu.ProjectiveDynamics(iterations=10, linear=pdgpu.PCG(iterations=3, preconditioner="chebyshev")),
    "VBD": pdgpu.VertexBlockDescent(iterations=10),
    "VBD, line search": pdgpu.VertexBlockDescent(iterations=10, line_search=True),
    "quasi-Newton": pdgpu.QuasiNewton(iterations=10),
    "gradient descent": pdgpu.GradientDescent(iterations=10),
    "XPBD": pdgpu.XPBD(iterations=10),
    "ADMM": pdgpu.ADMM(iterations=10),
}
CONTACTS = {
    "none": None,
    "barrier": pdgpu.BarrierContact(5e-3, stiffness=1e5),
    "by reach": pdgpu.BarrierContact(5e-3, stiffness=1e5, guard="reach"),
    "penalty": pdgpu.PenaltyContact(5e-3, stiffness=1e5),
    "projective": pdgpu.ProjectiveContact(5e-3),
    "two-way": pdgpu.TwoWayContact(5e-3),
}
# what overflows in float32: a stiffness, the square of a coordinate, a force, a velocity over a time step
EXTREMES = {
    "stiffness": {"mu": 1e37},
    "load": {"gravity": (0.0, -1e37, 0.0)},
    "squares of the load": {"gravity": (0.0, -1e22, 0.0)},
    "velocity": {"velocity": (0.0, -1e37, 0.0)},
    "squares of the velocity": {"velocity": (0.0, -1e20, 0.0)},
    "short step": {"dt": 1e-30, "velocity": (1e36, 0.0, 0.0)},
    "force": {"force": 1e37},
}


def falling(solver, contact, *, gravity=(0.0, -9.81, 0.0), mu=1e4, velocity=(0.0, 0.0, 0.0), dt=0.01, force=None):
    scene = pdgpu.Scene(gravity=gravity)
    scene.add_solid(pdgpu.Mesh(BOX.points + [0, 0.02, 0], tets=BOX.tets), pdgpu.ARAP(mu), density=1000.0, velocity=velocity)
    if contact is not None:
        scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)))
    sim = pdgpu.Simulation(scene, solver, dt=dt, contact=contact, dtype="float32", threads=1)
    if force is not None:
        sim.external_forces = np.full(sim.positions.shape, force)
    return sim


def takes(solver, contact):
    try:
        falling(solver, contact)
    except (ValueError, TypeError):
        return False
    return True


@pytest.mark.each_choice
@pytest.mark.parametrize("extreme", EXTREMES)
@pytest.mark.parametrize("contact", CONTACTS)
def test_a_step_that_overflows_is_an_error_or_finite(contact, extreme):
    """If it failed, a state with a NaN would be taken for the result of a step."""
    for name, solver in SOLVERS.items():
        if not takes(solver, CONTACTS[contact]):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the energy, and of an activation distance below the rounding
            try:
                sim = falling(solver, CONTACTS[contact], **EXTREMES[extreme])
                for _ in range(3):
                    sim.step()
                    assert np.isfinite(sim.positions).all() and np.isfinite(sim.velocities).all(), (name, sim.last_step.status)
            except (pdgpu.DivergenceError, ValueError, RuntimeError):
                continue


def moved(value):
    return lambda now: (np.eye(3), np.full(3, 0.0 if now == 0.0 else value))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("contact", ["barrier", "projective", "two-way"])
def test_an_obstacle_that_moves_to_no_number_is_refused(contact, value):
    """If it failed, contact would take an obstacle that is nowhere for one that is far away."""
    flat = shapes.grid((1.0, 1.0), (1, 1))
    sheet = pdgpu.Mesh(flat.points[:, [0, 2, 1]] - [0.4, 0.1, 0.4], triangles=flat.triangles)
    for add in (
        lambda scene: scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0), motion=moved(value))),
        lambda scene: scene.add_obstacle(sheet, lambda now, rest: rest + (0.0 if now == 0.0 else value)),
    ):
        scene = pdgpu.Scene()
        scene.add_solid(pdgpu.Mesh(BOX.points + [0, 0.02, 0], tets=BOX.tets), pdgpu.ARAP(1e4), density=1000.0)
        add(scene)
        sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(), dt=0.01, contact=CONTACTS[contact], dtype="float32", threads=1)
        before = sim.positions
        with pytest.raises(ValueError, match="motion"):
            sim.step()
        assert np.array_equal(sim.positions, before)
