"""Edges, boundary triangles and hinges of meshes."""

import itertools
from collections import Counter

import inputs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdgpu import _host


def int32(rows, k):
    return np.array(rows, dtype=np.int32).reshape(-1, k)


def elements(k, n_points=8):
    """Random elements of k distinct vertices."""
    row = st.permutations(range(n_points)).map(lambda p: tuple(p[:k]))
    return st.lists(row, max_size=20).map(lambda rows: int32(rows, k))


def euler_characteristic(triangles):
    n_edges = len({frozenset(e) for t in triangles.tolist() for e in itertools.combinations(t, 2)})
    return len(np.unique(triangles)) - n_edges + len(triangles)


@settings(deadline=None)
@given(st.sampled_from([2, 3, 4]).flatmap(elements))
def test_edges_are_every_pair_once(rows):
    """If it failed, a spring would be missing, or doubled and twice as stiff."""
    expected = sorted({tuple(sorted(pair)) for row in rows.tolist() for pair in itertools.combinations(row, 2)})
    assert _host.edges(rows, 8).tolist() == [list(edge) for edge in expected]


@settings(deadline=None)
@given(elements(4))
def test_surface_is_the_faces_of_one_tet_only(tets):
    """If it failed, contact would miss a face of the body or see one inside it."""
    faces = Counter(frozenset(face) for tet in tets.tolist() for face in itertools.combinations(tet, 3))
    if max(faces.values(), default=0) > 2:
        with pytest.raises(ValueError, match="share the triangle"):
            _host.surface(tets, 8)
        return
    surface = _host.surface(tets, 8)
    assert Counter(frozenset(face) for face in surface.tolist()) == Counter(face for face, count in faces.items() if count == 1)


@settings(deadline=None)
@given(elements(3))
def test_hinges_are_the_pairs_of_triangles_at_an_edge(triangles):
    """If it failed, a fold would not resist bending, or the wrong two triangles would be tied together."""
    wings = {}
    for t in triangles.tolist():
        for corner in range(3):
            a, b, wing = t[corner], t[(corner + 1) % 3], t[(corner + 2) % 3]
            wings.setdefault((min(a, b), max(a, b)), []).append((wing, a < b))
    if any(len({wing for wing, _ in w}) < len(w) for w in wings.values()):
        with pytest.raises(ValueError, match=r"have the same vertices.*mesh\.welded\(\)"):
            _host.hinges(triangles, 8)
        return
    hinges = _host.hinges(triangles, 8)
    pairs = {edge: list(itertools.combinations(w, 2)) for edge, w in wings.items()}
    assert [(h[0], h[1]) for h in hinges.tolist()] == sorted(edge for edge, found in pairs.items() for _ in found)
    for (x0, x1), rows in itertools.groupby(hinges.tolist(), key=lambda h: (h[0], h[1])):
        for (_, _, x2, x3), pair in zip(list(rows), pairs[x0, x1], strict=True):
            assert {x2, x3} == {wing for wing, _ in pair}
            if pair[0][1] != pair[1][1]:
                assert (x2, True) in pair


@pytest.mark.parametrize("build", [inputs.K10, inputs.F10, inputs.J10, inputs.B20])
def test_surface_of_a_block_is_a_sphere_turned_outward(build):
    """If it failed, the surface of a solid would have holes, or be inside out, and contact would push the wrong way."""
    points, tets = build()
    surface = _host.surface(tets, len(points))
    assert euler_characteristic(surface) == 2
    directed = {tuple(edge) for t in surface.tolist() for edge in ((t[0], t[1]), (t[1], t[2]), (t[2], t[0]))}
    assert len(directed) == 3 * len(surface) and all((b, a) in directed for a, b in directed)
    enclosed = np.linalg.det(points[surface]).sum() / 6  # divergence theorem: positive only where normals point outward
    assert enclosed == pytest.approx(np.prod(points.max(axis=0)), rel=1e-12)


def test_cloth40_has_the_published_counts():
    """If it failed, cloth results could not be compared with the published tables."""
    points, triangles = inputs.cloth(40)
    assert (len(points), len(triangles)) == (1681, 3200)
    assert len(_host.edges(triangles, len(points))) == 4880
    assert len(_host.hinges(triangles, len(points))) == 4720


def test_kuhn_grid_has_the_edges_of_its_formula():
    """If it failed, the sparsity of every system matrix would be off."""
    points, tets = inputs.K10()
    n = 10
    axis, face, body = 3 * n * (n + 1) ** 2, 3 * n * n * (n + 1), n**3
    assert len(_host.edges(tets, len(points))) == axis + face + body


def test_hinge_winding():
    """If it failed, the two wings would be exchanged and a dihedral angle would change sign."""
    assert _host.hinges(int32([[0, 1, 2], [1, 0, 3]], 3), 4).tolist() == [[0, 1, 2, 3]]
    assert _host.hinges(int32([[1, 0, 3], [0, 1, 2]], 3), 4).tolist() == [[0, 1, 2, 3]]


def test_results_do_not_depend_on_the_order_of_rows():
    """If it failed, the same body from another program would be another body."""
    points, tets = inputs.kuhn_grid(4, 3, 2, 1.0)
    shuffled = np.random.default_rng(0).permutation(tets)
    assert np.array_equal(_host.edges(tets, len(points)), _host.edges(shuffled, len(points)))
    rotate = {tuple(np.roll(t, -int(np.argmin(t)))) for t in _host.surface(tets, len(points)).tolist()}
    assert rotate == {tuple(np.roll(t, -int(np.argmin(t)))) for t in _host.surface(shuffled, len(points)).tolist()}


def test_a_hub_of_huge_valence_stays_fast():
    """If it failed, a mesh with one very busy vertex, a fan or a cone, would take minutes (it would be quadratic)."""
    n = 300_000
    rim = np.random.default_rng(1).permutation(n).astype(np.int32) + 1
    fan = np.stack([np.zeros(n, np.int32), rim, np.roll(rim, -1)], axis=1)
    assert len(_host.hinges(fan, n + 1)) == n
    assert len(_host.edges(fan, n + 1)) == 2 * n
    cone = np.column_stack([fan[:-1], np.full(n - 1, n + 1, np.int32)])
    assert len(_host.surface(cone, n + 2)) == 2 * (n - 1) + 2


def test_a_seam_of_many_triangles_is_bounded():
    """If it failed, a file of a few thousand triangles at one edge would ask for gigabytes of hinges."""
    fans = int32([[0, 1, k] for k in range(2, 66)], 3)
    assert len(_host.hinges(fans, 67)) == 64 * 63 // 2
    with pytest.raises(ValueError, match="65 rows share the edge 0 1"):
        _host.hinges(int32([*fans.tolist(), [0, 1, 66]], 3), 67)


def test_no_elements():
    """If it failed, a scene of particles or an empty selection would crash."""
    assert _host.edges(int32([], 4), 0).shape == (0, 2)
    assert _host.surface(int32([], 4), 5).shape == (0, 3)
    assert _host.hinges(int32([], 3), 5).shape == (0, 4)
