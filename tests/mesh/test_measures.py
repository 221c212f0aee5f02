"""Lengths, areas, volumes, masses and rest gradients."""

import inputs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pdgpu
from pdgpu import _host

TOPOLOGIES = {"edge": 2, "triangle": 3, "tet": 4}


def random_elements(k, seed, m=50):
    return np.random.default_rng(seed).normal(size=(m, k, 3))


def trace_of_pd_matrix(points, tets, young=1e5, h=0.01, density=1000.0):
    """Sum of the diagonal of M/h^2 + sum 2 mu V g_i.g_j, mu = E/2.6."""
    gradients, volumes = _host.rest_shape(points[tets], "tet")
    g = np.concatenate([-gradients.sum(axis=1, keepdims=True), gradients], axis=1)
    masses = _host.lumped_masses(points, tets, np.full(len(tets), density))
    return masses.sum() / h**2 + (2 * young / 2.6 * volumes * (g**2).sum(axis=(1, 2))).sum()


@pytest.mark.parametrize(
    ("build", "volume", "trace"),
    [
        (lambda: inputs.kuhn_grid(4, 4, 4, 0.25), 1.0, 17384615.38461540),
        (inputs.K10, 1.0, 56153846.15384614),
        (inputs.F10, 1.0, 48461538.46153846),
        (inputs.J10, 1.0, 59119742.72856838),
        (inputs.B20, 0.0625, 12163461.53846154),
        (inputs.B20J, 0.0625, 12731853.22208627),
    ],
    ids=["grid4", "K10", "F10", "J10", "B20", "B20J"],
)
def test_tets_give_the_published_matrix_trace(build, volume, trace):
    """If it failed, masses or rest gradients would be wrong and so would every stiffness matrix."""
    points, tets = build()
    assert _host.measures(points, tets).sum() == pytest.approx(volume, rel=1e-12)
    assert trace_of_pd_matrix(points, tets) == pytest.approx(trace, rel=1e-12)


def test_bunny_gives_the_published_volume_and_trace():
    """If it failed, badly shaped tets would lose accuracy that grids do not show."""
    from pdgpu.mesh import read_mesh

    mesh = read_mesh(inputs.data_file("tet/ipc_bunny.msh"))
    points = inputs.normalised(mesh.points)
    assert _host.measures(points, mesh.tets).sum() == pytest.approx(0.199817054858, rel=1e-11)
    assert trace_of_pd_matrix(points, mesh.tets) == pytest.approx(75006334.81260216, rel=1e-11)


def test_cloth_gives_the_published_bending_trace():
    """If it failed, bending would be too stiff or too soft."""
    points, triangles = inputs.cloth(40)
    hinges = _host.hinges(triangles, len(points))
    c, area = _host.rest_shape(points[hinges], "hinge")
    c = np.concatenate([-c.sum(axis=1, keepdims=True), c], axis=1)[..., 0]
    bending = (1e-4 * 3 / area * (c**2).sum(axis=1)).sum()
    masses = _host.lumped_masses(points, triangles, np.full(len(triangles), 0.2))
    springs = 2 * 1e3 * len(_host.edges(triangles, len(points)))
    assert masses.sum() / 0.01**2 + springs == pytest.approx(9762000, rel=1e-12)
    assert masses.sum() / 0.01**2 + springs + bending == pytest.approx(9780278.4, rel=1e-12)


@pytest.mark.parametrize(("topology", "k"), TOPOLOGIES.items())
def test_gradients_reproduce_a_linear_map(topology, k):
    """If it failed, F would not be the deformation gradient: a stretched body would feel the wrong strain."""
    rest = random_elements(k, 2)
    gradients, measure = _host.rest_shape(rest, topology)
    linear = np.random.default_rng(3).normal(size=(3, 3))
    x = rest @ linear.T + np.array([5.0, -3.0, 2.0])
    f = np.einsum("mia,mib->mab", x[:, 1:] - x[:, :1], gradients)
    f_rest = np.einsum("mia,mib->mab", rest[:, 1:] - rest[:, :1], gradients)
    assert f == pytest.approx(linear @ f_rest, abs=1e-9)
    identity = np.einsum("mab,mac->mbc", f_rest, f_rest)  # F at rest is an isometry: the identity up to the choice of frame
    expected = measure[:, None, None] ** 2 if topology == "edge" else np.eye(k - 1)
    assert identity == pytest.approx(np.broadcast_to(expected, identity.shape), rel=1e-8, abs=1e-8)


def test_triangle_frame():
    """If it failed, an anisotropic shell would have its fibres turned."""
    gradients, area = _host.rest_shape(np.array([[[0, 0, 0], [2, 0, 0], [1, 4, 0]]], dtype=float), "triangle")
    assert area == pytest.approx([4.0])
    assert gradients[0] == pytest.approx(np.linalg.inv([[2, 1], [0, 4]]))


def test_tet_gradients_are_the_inverse_of_the_edge_matrix():
    """If it failed, F would be transposed or permuted."""
    rest = random_elements(4, 4)
    gradients, volume = _host.rest_shape(rest, "tet")
    edges = np.swapaxes(rest[:, 1:] - rest[:, :1], 1, 2)
    assert gradients == pytest.approx(np.linalg.inv(edges), rel=1e-9)
    assert volume == pytest.approx(np.linalg.det(edges) / 6, rel=1e-12)


@settings(deadline=None)
@given(st.integers(0, 2**31), st.floats(-3, 3))
def test_a_flat_hinge_has_no_curvature(seed, shear):
    """If it failed, a flat sheet would bend by itself."""
    rng = np.random.default_rng(seed)
    x = np.array([[0, 0, 0], [1, 0, 0], [rng.uniform(-1, 2), rng.uniform(0.3, 2), 0], [rng.uniform(-1, 2), rng.uniform(-2, -0.3), 0]])
    c, area = _host.rest_shape(x[None], "hinge")
    moved = x @ np.array([[1, 0, 0], [shear, 2, 0], [0.5, 0, 1]])
    assert np.abs((moved[1:] - moved[0]).T @ c[0, :, 0]).max() < 1e-12 * (1 + np.abs(c).max())
    assert area[0] == pytest.approx((x[2, 1] - x[3, 1]) / 2)


def test_a_right_angle_fold_has_the_published_curvature():
    """If it failed, bending stiffness would be off by a factor: two unit right triangles folded by 90 degrees, |F|^2 = 2."""
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, -1, 0]], dtype=float)
    c, area = _host.rest_shape(x[None], "hinge")
    assert c[0, :, 0] == pytest.approx([0, -1, -1])  # cotangents 0 at x0, 1 at x1
    assert area[0] == 1.0
    folded = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    f = (folded[1:] - folded[0]).T @ c[0, :, 0]
    assert f @ f == pytest.approx(2.0)


def test_lumped_masses_keep_the_total_and_the_shares():
    """If it failed, a body would be too heavy, or would fall lopsided."""
    points = np.array([[0, 0, 0], [3, 0, 0], [0, 4, 0], [9, 9, 9]], dtype=float)
    masses = _host.lumped_masses(points, np.array([[0, 1, 2]], np.int32), np.array([0.5]))
    assert masses == pytest.approx([1, 1, 1, 0])
    rod = _host.lumped_masses(points, np.array([[0, 1], [0, 2]], np.int32), np.array([2.0, 0.5]))
    assert rod == pytest.approx([4, 3, 1, 0])


def test_orientation_swaps_the_last_two_vertices_of_negative_tets():
    """If it failed, an inverted element would be silently kept and push outward without end."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    tets = np.array([[0, 1, 2, 3], [0, 2, 1, 3]], np.int32)
    oriented, n_flipped = _host.orient_tets(points, tets)
    assert n_flipped == 1
    assert oriented.tolist() == [[0, 1, 2, 3], [0, 2, 3, 1]]
    assert tets.tolist() == [[0, 1, 2, 3], [0, 2, 1, 3]]
    assert _host.measures(points, oriented) == pytest.approx([1 / 6, 1 / 6])


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize(("height", "refused"), [(0.0, True), (1e-13, True), (1e-10, False)])
def test_flatness_is_relative_to_size(scale, height, refused):
    """If it failed, a mesh in micrometres would be refused or a flat tet in kilometres let through."""
    x = scale * np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.3, 0.3, height]]])
    if refused:
        with pytest.raises(ValueError, match="rest: row 0 has zero volume"):
            _host.rest_shape(x, "tet")
    else:
        assert np.isfinite(_host.rest_shape(x, "tet")[0]).all()


@pytest.mark.parametrize(
    ("topology", "x", "message"),
    [
        ("edge", [[1, 2, 3], [1, 2, 3]], "zero length"),
        ("triangle", [[0, 0, 0], [1, 1, 1], [2, 2, 2]], "zero area"),
        ("hinge", [[0, 0, 0], [1, 0, 0], [0, 1, 0], [3, 0, 0]], "zero area"),
        ("hinge", [[0, 0, 0], [1, 0, 0], [3, 0, 0], [0, 1, 0]], "zero area"),
        ("tet", [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, np.nan]], "coordinate nan at row 1, vertex 3, column 2 is not finite"),
    ],
)
def test_degenerate_rest_shapes_are_named(topology, x, message):
    """If it failed, a degenerate element would fill the system with NaN without naming it."""
    good = random_elements(len(x), 5, m=1)
    with pytest.raises(ValueError, match=message) as caught:
        _host.rest_shape(np.concatenate([good, [x]]), topology)
    assert "row 1" in str(caught.value)


def test_impossible_densities_are_named():
    """If it failed, a negative or undefined mass would make the matrix indefinite much later."""
    points = np.eye(3)
    edges = np.array([[0, 1], [1, 2]], np.int32)
    with pytest.raises(ValueError, match="density: value -1 at row 1 is negative"):
        _host.lumped_masses(points, edges, np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="density: value nan at row 0 is not finite"):
        _host.lumped_masses(points, edges, np.array([np.nan, 1.0]))
    with pytest.raises(ValueError, match=r"density: .*\(2,\).*\(3,\)"):
        _host.lumped_masses(points, edges, np.ones(3))


@pytest.mark.parametrize(("build", "largest"), [(inputs.K10, 2.0), (inputs.F10, 5 / 3), (inputs.J10, 2.01078)])
def test_quality_tells_when_jacobi_diverges(build, largest):
    """If not, a user learns of a diverging weight from a failed run."""
    points, tets = build()
    quality = pdgpu.Mesh(points, tets=tets).quality()
    assert quality["jacobi_eigenvalue"] == pytest.approx(largest, rel=1e-5)
    assert quality["jacobi_weight"] == pytest.approx(1.8 / largest, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "largest"), [("ipc_bunny.msh", 2.7557), ("ipc_sphere1K.msh", 2.1888), ("ipc_Armadillo13K.msh.gz", 2.3912)]
)
def test_quality_of_real_meshes(name, largest):
    """If not, the eigenvalue is that of another matrix: on these meshes plain Jacobi diverges."""
    mesh = pdgpu.read_mesh(inputs.data_file(f"tet/{name}"))
    for scale in (1.0, 1e-3):
        quality = pdgpu.Mesh(scale * mesh.points, tets=mesh.tets).quality()
        assert quality["jacobi_eigenvalue"] == pytest.approx(largest, rel=1e-4)
