"""Vertex colourings for parallel sweeps."""

import inputs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdgpu import _host
from pdgpu.mesh import read_mesh


def assert_proper(colours, elements):
    rows = np.sort(colours[elements], axis=1)
    assert (rows[:, 1:] != rows[:, :-1]).all()


def greedy_reference(elements, n_points):
    """The definition, slowly: ascending vertex, smallest colour that no neighbour has."""
    neighbours = [set() for _ in range(n_points)]
    for row in elements.tolist():
        for v in row:
            neighbours[v] |= set(row) - {v}
    colours = [-1] * n_points
    for v in range(n_points):
        taken = {colours[u] for u in neighbours[v]}
        colours[v] = next(c for c in range(n_points) if c not in taken)
    return colours


@pytest.mark.parametrize(
    ("build", "count"),
    [(inputs.K10, 8), (inputs.F10, 5), (inputs.J10, 8), (inputs.B20, 8), (lambda: inputs.cloth(40), 4), (lambda: inputs.cloth(100), 4)],
    ids=["K10", "F10", "J10", "B20", "cloth40", "cloth100"],
)
def test_published_numbers_of_colours(build, count):
    """If it failed, the iteration counts quoted for coloured sweeps could not be reproduced."""
    points, elements = build()
    for method in ("greedy", "balanced"):
        colours = _host.colouring(elements, len(points), method)
        assert_proper(colours, elements)
        assert colours.max() + 1 == count and len(np.unique(colours)) == count


def test_hinge_stencils_of_cloth40_need_four_colours():
    """If it failed, a bending cloth would be swept with more colours than it needs."""
    points, triangles = inputs.cloth(40)
    hinges = _host.hinges(triangles, len(points))
    colours = _host.colouring(hinges, len(points), "greedy")
    assert_proper(colours, hinges)
    assert colours.max() + 1 == 4


@pytest.mark.parametrize(
    ("name", "count"),
    [("ipc_bunny.msh", 12), ("ipc_sphere1K.msh", 11), ("ipc_Armadillo13K.msh.gz", 11)],
    ids=["bunny", "sphere1K", "Armadillo13K"],
)
def test_published_numbers_of_colours_of_real_meshes(name, count):
    """If it failed, results on real meshes could not be compared with the published tables."""
    mesh = read_mesh(inputs.data_file(f"tet/{name}"))
    assert mesh.colouring("greedy").max() + 1 == count
    balanced = mesh.colouring()
    assert_proper(balanced, mesh.tets)
    assert balanced.max() + 1 == count


@settings(deadline=None)
@given(st.integers(1, 4), st.lists(st.permutations(range(9)), max_size=25))
def test_greedy_is_its_definition_and_balanced_keeps_the_count(k, orders):
    """If it failed, two vertices of one element would move at once (a race), or runs would differ between versions."""
    elements = np.array([order[:k] for order in orders], dtype=np.int32).reshape(-1, k)
    greedy = _host.colouring(elements, 9, "greedy")
    assert greedy.tolist() == greedy_reference(elements, 9)
    balanced = _host.colouring(elements, 9, "balanced")
    assert_proper(balanced, elements)
    assert set(balanced.tolist()) == set(greedy.tolist())
    assert np.bincount(balanced).max() <= np.bincount(greedy).max()


def test_balanced_colours_are_nearly_equal_on_a_grid():
    """If it failed, one colour would hold a handful of vertices and leave most cores idle."""
    points, tets = inputs.J10()
    sizes = np.bincount(_host.colouring(tets, len(points)))
    assert sizes.max() - sizes.min() <= 0.02 * len(points) / 8 + 1


def test_vertices_without_elements_are_coloured():
    """If it failed, an unused vertex would index a colour that does not exist."""
    assert _host.colouring(np.empty((0, 4), np.int32), 5, "greedy").tolist() == [0] * 5
    assert _host.colouring(np.empty((0, 4), np.int32), 0).shape == (0,)


def test_unknown_method_is_refused():
    """If it failed, a misspelt method would silently give another colouring."""
    with pytest.raises(ValueError, match="method: 'gready' is neither 'greedy' nor 'balanced'"):
        _host.colouring(np.array([[0, 1]], np.int32), 2, "gready")
