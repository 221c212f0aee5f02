"""The same run made in other ways: the bits must not tell."""

import copy

import numpy as np

import pdgpu


def assert_same_bits(make, folder, *, steps, contacts, more=4):
    """Threads, a copy, a file and a record in the middle change nothing; make(threads) is a simulation, in more than so many `contacts`
    after its first steps."""
    sim = make(1)
    sim.step(steps)
    assert len(sim.contact_forces()) > contacts
    sim.save(folder / "middle")
    others = [copy.copy(sim), pdgpu.Simulation.load(folder / "middle", threads=2), make(3)]
    others[2].step(steps)
    sim.step(more)
    for other in others:
        other.step(more - 1)
        other.step(record=True)
        assert np.array_equal(other.positions, sim.positions) and np.array_equal(other.velocities, sim.velocities)


def assert_joints_bear_the_same(scene, solver, folder):
    """Threads and a file change neither where bodies go nor what joints bear; scene() is a scene with joints."""
    sims = [pdgpu.Simulation(scene(), solver, dt=0.01, threads=threads) for threads in (1, 2)]
    for sim in sims:
        sim.step(2)
    sims[0].save(folder / "joints.npz")
    sims.append(pdgpu.Simulation.load(folder / "joints.npz"))
    for sim in sims:
        sim.step(2)
    for other in sims[1:]:
        np.testing.assert_array_equal(other.positions, sims[0].positions)
    assert repr(sims[2].joint_forces()) == repr(sims[0].joint_forces())
