"""The argument integrator= of a simulation: what each integrator takes, and what it refuses by name."""

import numpy as np
import pytest
from integrator_cases import NAMES, SECOND

import pdgpu
from pdgpu import _cpu_f64
from pdgpu.solvers.integrators import INTEGRATORS


def scene_of(material=None):
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.beam((0.4, 0.1, 0.1), cells=(4, 1, 1))
    scene.add_solid(mesh, material or pdgpu.ARAP(3e3), density=1000.0)
    return scene


def rigid_scene():
    scene = pdgpu.Scene()
    scene.add_rigid(pdgpu.shapes.box((1.0, 1.0, 1.0)), density=100.0, name="die")
    return scene


def floor(contact):
    scene = scene_of()
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, -0.5), (0.0, 0.0, 1.0)))
    solver = pdgpu.ProjectiveDynamics() if isinstance(contact, pdgpu.ProjectiveContact) else pdgpu.VertexBlockDescent()
    return lambda integrator: pdgpu.Simulation(scene, solver, contact=contact, integrator=integrator)


REFUSED = {
    "PBD": (lambda i: pdgpu.Simulation(scene_of(), pdgpu.PBD(), integrator=i), TypeError, "integrator: PBD does not take"),
    "XPBD": (lambda i: pdgpu.Simulation(scene_of(), pdgpu.XPBD(), integrator=i), TypeError, "integrator: XPBD does not take"),
    "rigid": (lambda i: pdgpu.Simulation(rigid_scene(), pdgpu.Newton(), integrator=i), TypeError, "integrator: rigid bodies .*'die'"),
    "projective": (floor(pdgpu.ProjectiveContact(1e-3)), TypeError, "integrator: ProjectiveContact .*does not take"),
    "two-way": (floor(pdgpu.TwoWayContact(1e-3)), TypeError, "integrator: TwoWayContact .*does not take"),
    "quasistatic": (lambda i: pdgpu.Simulation(scene_of(), dt=None, integrator=i), ValueError, "integrator: .*dt=None"),
}


@pytest.mark.parametrize("integrator", SECOND)
@pytest.mark.parametrize("case", REFUSED)
def test_what_an_integrator_cannot_take(case, integrator):
    """If not, a simulation silently takes other steps than the user asked for."""
    make, error, text = REFUSED[case]
    with pytest.raises(error, match=text) as caught:
        make(integrator)
    assert repr(integrator) in str(caught.value)


@pytest.mark.parametrize(("value", "error"), [("euler", ValueError), ("BDF2", ValueError), (2, TypeError), (None, TypeError)])
def test_unknown_integrators(value, error):
    """If not, a misspelt integrator is implicit Euler."""
    with pytest.raises(error, match="integrator: expected one of 'implicit_euler', 'bdf2', 'trapezoidal', 'newmark'"):
        pdgpu.Simulation(scene_of(), integrator=value)


def test_the_default_is_implicit_euler():
    """If not, results of existing programs change."""
    one, other = (pdgpu.Simulation(scene_of(), pdgpu.Newton(), **given) for given in ({}, {"integrator": "implicit_euler"}))
    one.step(3)
    other.step(3)
    assert one.integrator == "implicit_euler" and np.array_equal(one.positions, other.positions)
    assert INTEGRATORS == NAMES
    with pytest.raises(AttributeError):
        one.integrator = "bdf2"


def module_simulation(solver, h, **settings):
    from pdgpu.solvers.solver_support import method_of, settings_of

    scene = scene_of()
    groups = scene.element_groups()
    given = settings_of(solver, "cpu") | settings
    elements = [(_cpu_f64.KINDS[kind][0], *group) for kind, group in groups.items()]
    return _cpu_f64.Simulation(scene.masses(), scene.fixed(), elements, h, method_of(solver), given)


def test_the_core_refuses_them_too():
    """If not, a caller of the compiled module gets steps of no meaning."""
    for integrator in (1, 2, 3):
        with pytest.raises(TypeError, match="integrator: XPBD does not take"):
            module_simulation(pdgpu.XPBD(), 0.01, integrator=integrator)
        with pytest.raises(ValueError, match=r"integrator: .* h is 0"):
            module_simulation(pdgpu.ProjectiveDynamics(), 0.0, integrator=integrator)
    with pytest.raises(ValueError, match="integrator"):
        module_simulation(pdgpu.ProjectiveDynamics(), 0.01, integrator=4)


def test_histories_of_another_integrator():
    """If not, a state of one integrator continues as one of another."""
    zeros = np.zeros((20, 3))
    for integrator, given in ((0, (None, zeros)), (0, (zeros, zeros)), (1, (None, zeros)), (2, (zeros, zeros)), (2, (zeros, None))):
        sim = module_simulation(pdgpu.ProjectiveDynamics(), 0.01, integrator=integrator)
        with pytest.raises(ValueError, match="history"):
            sim.set_state(None, None, None, *given)
    sim = module_simulation(pdgpu.ProjectiveDynamics(), 0.01, integrator=1)
    with pytest.raises(ValueError, match="rates"):
        sim.set_state(None, None, None, zeros, np.full((20, 3), np.nan))
    assert sim.state()["rates"] is None
    sim.set_state(None, None, None, zeros, zeros)
    assert np.array_equal(sim.state()["slopes"], zeros)
