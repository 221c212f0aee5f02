"""A mesh cut into domains, whose halos are copied after every colour: the scheme of docs/multi_gpu.md, in one process.

A domain is a simulation of its own: its vertices, those of others that share an element with them (the halo), and all elements that
touch its vertices, in the order they have in the whole mesh. Nothing else is shared: what is missing from a halo shows.
"""

import inputs
import numpy as np
import pytest
from scenes import creature
from scipy.sparse import coo_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

import pdgpu

MATERIALS = {
    "neo-hookean": pdgpu.NeoHookean(2e4, 1e5),
    "arap": pdgpu.ARAP(2e4),
    "stvk": pdgpu.StVK(2e4, 3e4),
    "orthotropic": pdgpu.OrthotropicSolid((9e4, 5e4, 2e4), (0.3, 0.5, 0.4), (2e4, 3e4, 8e3)),
}


def simulation(points, tets, pinned, material, solver, dtype):
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_solid(pdgpu.Mesh(points, tets=tets), material, density=1000.0).pin(pinned)
    return pdgpu.Simulation(scene, solver, dt=None, dtype=dtype)


def pieces(tets, n, count):
    """The domain of each vertex: a breadth-first order, as a sweep has it, cut into pieces of one size."""
    pairs = tets[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2)
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(n, n))
    order = reverse_cuthill_mckee((graph + graph.T).tocsr(), symmetric_mode=True)
    domain = np.empty(n, int)
    domain[order] = np.arange(n) * count // n
    return domain


class Domain:
    """The vertices `owned` of a mesh, their halo, and a simulation that moves the owned ones once from where all are."""

    def __init__(self, points, tets, owned, pinned, start, *options):
        mine = tets[owned[tets].any(axis=1)]
        self.vertices = np.unique(mine)
        self.owned = owned[self.vertices]
        local = np.full(len(points), -1)
        local[self.vertices] = np.arange(len(self.vertices))
        held = ~self.owned | np.isin(self.vertices, pinned)
        self.positions = start[self.vertices]
        self.simulation = simulation(points[self.vertices], local[mine], np.flatnonzero(held), *options)

    def moved(self):
        self.simulation.set_state(positions=self.positions)
        self.simulation.step()
        return self.simulation.positions


def exchange(domains, positions):
    """What each domain has moved, to those that have it in their halo; returns the numbers sent."""
    sent = 0
    for domain in domains:
        arriving = positions[domain.vertices]
        sent += int((arriving != domain.positions)[~domain.owned].any(axis=1).sum())
        domain.positions[~domain.owned] = arriving[~domain.owned]
    return sent


def sweep_in_domains(points, tets, start, pinned, material, dtype, count, sweeps):
    """Holds sweeps over domains against those over the whole; material(which): that of some of the tets."""
    whole = simulation(points, tets, pinned, material(slice(None)), pdgpu.VertexBlockDescent(iterations=1), dtype)
    whole.set_state(positions=start)
    colours, piece = whole._core.colours, pieces(tets, len(points), count)
    domains = []
    for d in range(count):
        of_domain = material((piece == d)[tets].any(axis=1))
        domains.append(Domain(points, tets, piece == d, pinned, start, of_domain, pdgpu.BlockJacobi(iterations=1), dtype))

    positions = start.copy()
    for _ in range(sweeps):
        whole.step()
        for colour in range(colours.max() + 1):
            for domain in domains:  # they do not see each other before the exchange
                moves = domain.owned & (colours[domain.vertices] == colour)
                domain.positions[moves] = domain.moved()[moves]
            for domain in domains:
                positions[domain.vertices[domain.owned]] = domain.positions[domain.owned]
            assert exchange(domains, positions) > 0
        np.testing.assert_array_equal(positions, whole.positions)
    assert not np.array_equal(positions, start)


@pytest.mark.parametrize("count", [2, 3, 8])
@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_domains_have_the_bits_of_the_whole(count, material, dtype):
    """If not, results depend on the number of GPUs: something a vertex needs is not in the halo, or is added in another order."""
    points, tets = inputs.kuhn_grid(6, 3, 2, 0.1)
    start = (points * (1.1, 1.0, 0.9) + 0.01 * np.random.default_rng(0).normal(size=points.shape)).astype(dtype).astype(float)
    sweep_in_domains(points, tets, start, [0, 1], lambda which: MATERIALS[material], dtype, count, 4)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_domains_of_an_irregular_mesh_of_two_materials(dtype):
    """If not, what holds on a grid of cells does not hold on a mesh that somebody uses."""
    mesh = creature()
    points, tets = np.asarray(mesh.points), np.asarray(mesh.tets)
    soft = points[tets].mean(axis=1)[:, 0] > np.median(points[:, 0])
    pinned = np.flatnonzero(points[:, 1] < np.quantile(points[:, 1], 0.03))
    noise = 1e-3 * np.ptp(points, axis=0).max() * np.random.default_rng(0).normal(size=points.shape)
    start = (points * (1.1, 1.0, 0.9) + noise).astype(dtype).astype(float)
    start[pinned] = points[pinned].astype(dtype)

    def materials(which):
        return [pdgpu.NeoHookean(2e4, 1e5), pdgpu.ARAP(np.where(soft[which], 1e3, 2e4))]

    sweep_in_domains(points, tets, start, pinned, materials, dtype, 4, 2)


def test_a_halo_that_comes_too_late_is_seen():
    """If not, the comparison above could not fail."""
    points, tets = inputs.kuhn_grid(6, 3, 2, 0.1)
    start, options = points * (1.1, 1.0, 0.9), (MATERIALS["neo-hookean"], pdgpu.BlockJacobi(iterations=1), "float64")
    whole = simulation(points, tets, [0], MATERIALS["neo-hookean"], pdgpu.VertexBlockDescent(iterations=1), "float64")
    whole.set_state(positions=start)
    whole.step()
    colours, piece = whole._core.colours, pieces(tets, len(points), 2)
    domains = [Domain(points, tets, piece == d, [0], start, *options) for d in range(2)]
    positions = start.copy()
    for colour in range(colours.max() + 1):  # halos are never copied
        for domain in domains:
            moves = domain.owned & (colours[domain.vertices] == colour)
            domain.positions[moves] = domain.moved()[moves]
    for domain in domains:
        positions[domain.vertices[domain.owned]] = domain.positions[domain.owned]
    assert not np.array_equal(positions, whole.positions)
