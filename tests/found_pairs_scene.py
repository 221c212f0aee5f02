"""What the tests of pairs that stay on a device share."""

import numpy as np

import pdgpu
from pdgpu.collision import BroadPhase


def moving_scene(dtype, device="cpu", method="lbvh"):
    rng = np.random.default_rng(3)
    grid = pdgpu.shapes.grid((1.0, 1.0), cells=(6, 6))
    points = np.concatenate([grid.points, grid.points + [0.03, 0.02, 0.2], [[0.2, 0.3, 0.5], [0.8, 0.6, 0.5]]])
    points += 1e-2 * rng.uniform(-1, 1, points.shape)
    n = len(grid.points)
    phase = BroadPhase(points, np.concatenate([grid.triangles, grid.triangles + n]), [[2 * n, 2 * n + 1]], dtype=dtype, device=device,
                       method=method)  # fmt: skip
    move = np.zeros_like(points)
    move[n : 2 * n, 2], move[2 * n :, 2] = -0.3, -0.6
    return phase, points.astype(dtype), (points + move).astype(dtype)


def corners(phase, pairs):
    """Rows of points (k, 4) of both lists."""
    first = np.concatenate([pairs.vertex_triangle[:, :1], phase.triangles[pairs.vertex_triangle[:, 1]]], axis=1)
    return {"vertex_triangle": first, "edge_edge": phase.edges[pairs.edge_edge].reshape(-1, 4)}


def simulated(same, dtype, device):
    """The earliest contact of what falls within a step, by the memory of the simulation and by way of the host."""
    grid = pdgpu.shapes.grid((1.0, 1.0), cells=(3, 3))
    scene = pdgpu.Scene()
    scene.add_shell(grid, pdgpu.Spring(1e3), density=0.2).pin([0, 3, 12, 15])
    scene.add_shell(pdgpu.Mesh(grid.points + [0.1, 0.05, 0.02], triangles=grid.triangles), pdgpu.Spring(1e3), density=0.2)
    sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=5), dt=1 / 30, dtype=dtype, device=device)
    n = len(grid.points)
    triangles = np.concatenate([grid.triangles, grid.triangles + n])
    phase = BroadPhase(sim.positions, triangles, dtype=dtype, device=device, simulation=sim if same else None)
    before = sim.positions
    sim.set_state(velocities=np.concatenate([np.zeros((n, 3)), np.full((n, 3), [0.0, 0.0, -3.0])]))
    sim.step()
    host = BroadPhase(before, triangles, dtype=dtype)
    rows = corners(host, host.pairs(before, sim.positions))
    return phase.search(before, sim.device_positions).earliest(), pdgpu.ccd.earliest(before, sim.positions, device=device, **rows)
