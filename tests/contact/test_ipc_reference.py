"""A step with a barrier ends where Incremental Potential Contact with ipctk ends; against stored numbers where ipctk is not installed."""

import csv
from pathlib import Path

import numpy as np
import pytest
from ipc_cases import CASES

import pdgpu

NUMBERS = Path(__file__).with_name("ipc_numbers.csv")


def ours(case):
    """Positions after each step, (steps, n, 3)."""
    sim = pdgpu.Simulation(case.scene, pdgpu.Newton(iterations=200, tolerance=1e-12), dt=case.dt, contact=case.contact, threads=1)
    ends = []
    for _ in range(case.steps):
        sim.step()
        ends.append(sim.positions)
    return np.array(ends)


def assert_same(mine, theirs, size):
    """The steps begin with different states once one of them has ended elsewhere, so the bound holds for the last."""
    assert np.abs(mine - theirs).max() < 1e-6 * size


@pytest.mark.parametrize("name", CASES)
def test_the_same_minimiser_as_the_stored_one(name):
    """If it failed, a step would end where the potential of the literature is not least: contacts would push with another force."""
    with NUMBERS.open(newline="") as file:
        rows = [row for row in csv.reader(file) if row[0] == name]
    theirs = np.array([[float(number) for number in row[3:]] for row in rows])
    case = CASES[name]()
    assert_same(ours(case)[-1], theirs, np.ptp(theirs, axis=0).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_same_minimiser_as_with_ipctk(name):
    """As above, step by step, and the energy of the contacts is ipctk's too."""
    pytest.importorskip("ipctk", reason="ipctk is not installed: pip install ipctk")
    from ipc_step import IpcStep

    case = CASES[name]()
    sim = pdgpu.Simulation(case.scene, pdgpu.Newton(iterations=200, tolerance=1e-12), dt=case.dt, contact=case.contact, threads=1)
    reference = IpcStep(case.scene, case.contact, case.dt)
    contacts = 0
    for _ in range(case.steps):
        x, v = sim.positions, sim.velocities
        theirs, _ = reference.minimise(x, v, sim.time)
        energy = sim.incremental_potential(theirs)
        assert abs(energy - reference.energy(theirs)) <= 1e-9 * abs(energy)
        sim.step(record=True)
        assert_same(sim.positions, theirs, np.ptp(theirs, axis=0).max())
        contacts = max(contacts, int(sim.last_step["active_contacts"][-1]))
    assert contacts > 0
