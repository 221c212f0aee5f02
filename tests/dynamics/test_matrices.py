"""The system matrix against reference figures of meshes that anybody can build."""

import inputs
import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg

import pdgpu

MU = 1e5 / 2.6


def matrix_of_tets(points, tets, dt=0.01):
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(MU), density=1000.0)
    return pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(weight=0.5)), dt=dt).system_matrix()


def matrix_of_cloth(n, bending=0.0):
    points, triangles = inputs.cloth(n)
    scene = pdgpu.Scene()
    scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(1e3), density=0.2, bending=bending)
    return pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(weight=0.5)), dt=0.01).system_matrix()


def check(A, trace, nnz, smallest, largest, digits=1e-9):
    assert A.has_sorted_indices and A.dtype == np.float64
    assert abs(A - A.T).max() <= 1e-12 * abs(A).max()
    assert A.trace() == pytest.approx(trace, rel=1e-12)
    assert (abs(A.data) >= 1e-9).sum() == nnz == A.nnz
    root = sparse.diags(A.diagonal() ** -0.5)
    scaled = (root @ A @ root).tocsc()
    found = scipy.sparse.linalg.eigsh(scaled, k=1, which="LA", return_eigenvectors=False, tol=1e-11)[0]
    assert found == pytest.approx(largest, abs=1e-9)
    found = scipy.sparse.linalg.eigsh(scaled, k=1, sigma=0.0, return_eigenvectors=False, tol=1e-11)[0]
    assert found == pytest.approx(smallest, abs=digits)


@pytest.mark.parametrize(
    ("build", "trace", "nnz", "smallest", "largest"),
    [
        (lambda: inputs.kuhn_grid(4, 4, 4, 0.25), 17384615.38461540, 725, 0.5725794877, 1.4274205123),
        (inputs.K10, 56153846.15384614, 8591, 0.1779653520, 1.8220346480),
        (inputs.F10, 48461538.46153846, 15191, 0.2015962276, 1.5535058132),
        (inputs.J10, 59119742.72856838, 16963, 0.1685907666, 1.8422774926),
        (inputs.B20, 12163461.53846154, 4716, 0.0513651243, 1.9486348757),
        (inputs.B20J, 12731853.22208627, 8938, 0.0490358397, 1.9610599411),
    ],
    ids=["grid4", "K10", "F10", "J10", "B20", "B20J"],
)
def test_tets(build, trace, nnz, smallest, largest):
    """If not, every rate and every count that is quoted for these meshes is for another matrix."""
    check(matrix_of_tets(*build()), trace, nnz, smallest, largest)


@pytest.mark.parametrize(
    ("bending", "trace", "nnz", "smallest", "largest"),
    [(0.0, 9762000, 11441, 2.048731e-4, 1.5390209244), (1e-4, 9780278.4, 20881, 2.044902e-4, 1.5399566030)],
)
def test_cloth(bending, trace, nnz, smallest, largest):
    """If not, springs or hinges enter the global step with another weight."""
    check(matrix_of_cloth(40, bending), trace, nnz, smallest, largest, digits=1e-10)


def test_large_cloth():
    """If not, the matrix of a larger cloth is not the same matrix."""
    A = matrix_of_cloth(100)
    assert A.trace() == pytest.approx(60401999.99999997, rel=1e-12)
    assert A.nnz == 70601


def test_bunny():
    """If not, a real mesh with poor tets gets another matrix."""
    mesh = pdgpu.read_mesh(inputs.data_file("tet/ipc_bunny.msh"))
    check(matrix_of_tets(inputs.normalised(mesh.points), mesh.tets), 75006334.81260216, 59032, 0.0099071785, 2.7535279068)


def test_automatic_jacobi_weight_is_below_the_limit():
    """If not, damped Jacobi diverges on the meshes it is there for."""
    points, tets = inputs.J10()
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(MU), density=1000.0)
    for dtype in ("float64", "float32"):
        sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi()), dt=0.01, dtype=dtype)
        weight = sim.parameters["linear"]["weight"]
        assert 1.8 / 1.8422774926 <= weight * (1 + 1e-6) and weight < 2.0 / 1.8422774926


def test_free_block_leaves_the_pinned_vertices_out():
    """If not, `free=True` is not the matrix that is factorised."""
    points, tets = inputs.kuhn_grid(3, 2, 2, 0.1)
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(MU), density=1000.0).pin([0, 4, 11])
    sim = pdgpu.Simulation(scene)
    keep = np.setdiff1d(np.arange(len(points)), [0, 4, 11])
    assert abs(sim.system_matrix(free=True) - sim.system_matrix()[keep][:, keep]).max() == 0.0
