"""The contract of a solver: what holds for each of them, whatever its iterations are."""

import dataclasses

import inputs
import numpy as np
import pytest
import scenes

import pdgpu

MU = 1e5 / 2.6
# Block Jacobi and gradient descent come near the answer slowly, and take other step lengths in float32.
SLOW = ("block_jacobi", "gradient_descent")
# A combination makes a residual zero to rounding, which a slow mode of PBD turns into a thousand times as much of its position.
FOLLOWS = dict.fromkeys(scenes.SOLVERS, 5e-5) | dict.fromkeys((*SLOW, "pbd anderson"), 2e-3)
REACHES = dict.fromkeys(scenes.MINIMISERS, 1e-6) | dict.fromkeys(SLOW, 1e-2)


@pytest.mark.each_choice
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("solver", scenes.SOLVERS)
def test_same_bits_for_any_number_of_threads(solver, dtype):
    """If not, a result cannot be reproduced on another machine, or even twice on this one."""
    scene, x = scenes.mixed(damping=0.01)
    points, tets = inputs.kuhn_grid(6, 6, 6, 0.1)  # more than one part of a parallel loop
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e5), density=1000.0).pin(points[:, 1] < 1e-9)
    x = np.concatenate([x, points * [1.0, 1.4, 1.0]])
    runs = []
    for threads in (1, 2, 3, 2):
        sim = pdgpu.Simulation(scene, dataclasses.replace(scenes.SOLVERS[solver], iterations=4), dtype=dtype, threads=threads)
        sim.set_state(positions=x)
        sim.step(2, record=True)
        columns = (sim.last_step[name] for name in ("incremental_potential", "gradient_norm"))
        runs.append([values.tobytes() for values in (sim.positions, sim.velocities, *columns)])
    assert all(run == runs[0] for run in runs[1:])


@pytest.mark.parametrize("solver", scenes.SOLVERS)
def test_float32_follows_float64(solver):
    """If not, a dot product, a block or a multiplier loses what single precision still has."""
    bar = inputs.kuhn_grid(6, 2, 2, 0.1)
    scene, body = scenes.bar(bar, MU)
    start = scenes.stretched_and_twisted(body.points)
    given = dataclasses.replace(scenes.SOLVERS[solver], iterations=300)
    found = {}
    for dtype in ("float64", "float32"):
        sim = pdgpu.Simulation(scene, given, dt=1 / 30, dtype=dtype)
        sim.set_state(positions=start)
        sim.step()
        found[dtype] = sim.positions.astype(np.float64)
    way = np.linalg.norm(found["float64"] - start)
    assert np.linalg.norm(found["float32"] - found["float64"]) < FOLLOWS[solver] * way


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("solver", scenes.SOLVERS)
def test_everything_pinned_stalls(solver, dtype):
    """If not, 0/0 makes a NaN of a scene in which nothing can move."""
    mesh = pdgpu.shapes.beam((1, 1, 1), cells=(1, 1, 1))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP(1e5), density=1000.0).pin(np.arange(8))
    sim = pdgpu.Simulation(scene, scenes.SOLVERS[solver], dtype=dtype)
    sim.set_state(positions=mesh.points * 1.1)
    sim.step()
    assert sim.last_step.at_rounding
    np.testing.assert_array_equal(sim.positions, (mesh.points * 1.1).astype(dtype))


@pytest.mark.parametrize("solver", scenes.MINIMISERS)
def test_quasistatic(solver):
    """If not, a body at rest under its weight is not found without inertia."""
    scene, body = scenes.bar(inputs.kuhn_grid(4, 2, 2, 0.1), 1e5, gravity=(9.81, -1.0, 0.0))
    moved = []
    for chosen in (pdgpu.Newton(iterations=40), dataclasses.replace(scenes.SOLVERS[solver], iterations=2000, tolerance=1e-9)):
        sim = pdgpu.Simulation(scene, chosen, dt=None)
        sim.step()
        moved.append(sim.positions - body.points)
    assert np.linalg.norm(moved[1] - moved[0]) <= REACHES[solver] * np.linalg.norm(moved[0]), sim.last_step
