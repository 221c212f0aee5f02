"""A particle that a load presses onto a plane: what stiffness="auto" and friction come to has closed forms."""

import math

import pdgpu

COLLAPSED = 0.01  # PD_COLLAPSED_GAP of csrc/elements/contact/table.h
MASS, DT, DISTANCE, MU = 0.1, 0.01, 1e-3, 0.5
SOLVERS = {"newton": pdgpu.Newton(iterations=60), "vbd": pdgpu.VertexBlockDescent(iterations=80)}


def unit_force(part):
    """Force of a barrier of stiffness 1 J/m^4 and weight 1 at a gap of `part` activation distances, N (csrc/elements/contact/barrier.h)."""
    u = part**2
    return (1.0 - u) * ((1.0 - u) / u - 2.0 * math.log(u)) * 2.0 * part * DISTANCE**3


def pressed(load, *, stiffness="auto", solver="newton", push=0.0, friction=MU, **options):
    """A particle above a plane, with a load on it, N, and a sideways push; solver: a name of SOLVERS, or a solver."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_particles([[0.0, 0.5 * DISTANCE, 0.0]], mass=MASS, name="grain")
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)), name="floor")
    contact = pdgpu.BarrierContact(DISTANCE, stiffness=stiffness, area_weighted=False, friction=friction)
    sim = pdgpu.Simulation(scene, SOLVERS.get(solver, solver), dt=DT, contact=contact, **options)
    sim.external_forces = [[push, -load, 0.0]]
    return sim


def start_stiffness():
    return pressed(0.0).parameters["contact"]["stiffness"]


def load_of(doublings):
    """A load that collapses the gap at that many doublings less one, and not at that many, N."""
    return 0.75 * unit_force(COLLAPSED) * start_stiffness() * 2.0**doublings
