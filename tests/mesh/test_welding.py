"""Coincident points, seams of three sheets, and errors that name their cure."""

import numpy as np
import pytest

import pdgpu
from pdgpu import shapes

CLOTH = shapes.grid((1, 1), cells=(4, 4))
# every triangle on its own, as STL and many exporters have them
APART = pdgpu.Mesh(
    CLOTH.points[CLOTH.triangles].reshape(-1, 3),
    triangles=np.arange(3 * len(CLOTH.triangles)).reshape(-1, 3),
    groups={"first": {"triangles": [0], "points": [0, 95]}},
    cell_data={"age": {"triangles": np.arange(len(CLOTH.triangles))}},
)
SEAM = pdgpu.Mesh([[0, 0, 0], [1, 0, 0], [0.5, 1, 0], [0.5, -1, 0], [0.5, 0, 1]], triangles=[[0, 1, 2], [1, 0, 3], [0, 1, 4]])


def shell(mesh, **options):
    scene = pdgpu.Scene()
    scene.add_shell(mesh, pdgpu.Spring(1e3), density=0.2, **options).pin([0, 1])
    return scene


def test_welding_joins_equal_points():
    """If not, a cloth from a file falls apart into its triangles."""
    welded = APART.welded()
    assert len(welded.points) == len(CLOTH.points) and len(welded.hinges) == len(CLOTH.hinges)
    assert np.array_equal(welded.points[welded.triangles], APART.points[APART.triangles])
    assert list(welded.groups["first"].triangles) == [0] and np.array_equal(welded.cell_data["age"]["triangles"], np.arange(32))
    last = welded.points[welded.groups["first"].points[-1]]
    assert np.array_equal(last, APART.points[95]) and np.array_equal(welded.points[0], APART.points[0])


def test_welding_within_a_tolerance():
    """If not, points that another program has rounded stay apart, or points far apart are joined."""
    moved = pdgpu.Mesh(APART.points + 1e-7 * np.random.default_rng(0).random(APART.points.shape), triangles=APART.triangles)
    assert len(moved.welded().points) == 96 and len(moved.welded(1e-6).points) == 25
    signs = pdgpu.Mesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [-0.0, 0, 0], [1, 1, 1]], edges=[[0, 1], [1, 2], [3, 4]])
    assert len(signs.welded().points) == 4
    with pytest.raises(ValueError, match="tolerance"):
        CLOTH.welded(-1.0)


def test_elements_that_fold_onto_others_are_counted():
    """If not, a body has an element twice, or a flat one, and nothing says so."""
    twice = pdgpu.Mesh([*SEAM.points, *SEAM.points[:3]], triangles=[*SEAM.triangles, [5, 6, 7]], groups={"copy": {"triangles": [3]}})
    with pytest.warns(UserWarning, match="1 of 4 triangles became flat or the same as another one") as caught:
        welded = twice.welded()
    assert caught[0].filename == __file__
    assert welded.triangles.tolist() == SEAM.triangles.tolist() and list(welded.groups["copy"].triangles) == [0]
    with pytest.warns(UserWarning, match="1 of 1 tets, 1 of 1 edges"), pytest.raises(ValueError, match="no tets"):
        pdgpu.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], tets=[[0, 1, 2, 3]], edges=[[0, 1]]).welded(10.0)


def test_a_file_of_coincident_points_is_read_with_a_warning(tmp_path):
    """If not, elements that look joined fall apart in the first step."""
    APART.write(tmp_path / "apart.npz")
    with pytest.warns(UserWarning, match=r"apart\.npz: 71 points coincide with others, first 0 and 3, .*mesh\.welded\(\)") as caught:
        pdgpu.read_mesh(tmp_path / "apart.npz")
    assert [warning.filename for warning in caught] == [__file__]


def test_errors_of_coincident_points_name_the_cure():
    """If not, a mesh that only needs its points joined looks like a scene that intersects, or an open surface."""
    with pytest.raises(ValueError, match=r"start intersecting.*71 of its points coincide with others; join them by mesh\.welded\(\)"):
        pdgpu.Simulation(shell(APART), contact=pdgpu.BarrierContact(1e-3))
    pdgpu.Simulation(shell(APART.welded()), contact=pdgpu.BarrierContact(1e-3)).step()
    box = shapes.box((1, 1, 1))
    loose = pdgpu.Mesh(box.points[box.triangles].reshape(-1, 3), triangles=np.arange(3 * len(box.triangles)).reshape(-1, 3))
    with pytest.raises(ValueError, match=r"the surface is open.*mesh\.welded\(\)"):
        pdgpu.Scene().add_rigid(loose, density=1.0)
    pdgpu.Scene().add_rigid(loose.welded(), density=1.0)
    doubled = pdgpu.Mesh(SEAM.points[:3], triangles=[[0, 1, 2], [2, 1, 0]])
    with pytest.raises(ValueError, match=r"rows 0 and 1 have the same vertices.*mesh\.welded\(\)"):
        _ = doubled.hinges


def test_three_sheets_at_a_seam_bend():
    """If not, a pocket sewn onto a cloth refuses bending, or resists it on one side only."""
    assert SEAM.hinges.tolist() == [[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 4, 3]]
    pair = pdgpu.Mesh(SEAM.points, triangles=[[0, 1, 2], [1, 0, 3]]).without_unused_vertices()
    scene = shell(SEAM, bending=1e-2)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=8))
    sim.step(5)
    assert np.isfinite(sim.positions).all()
    # energies of pairs add up: with the third sheet where it was, the pair of the other two has the energy that it has alone
    x = np.array(SEAM.points)
    x[3] += [0.0, 0.0, 0.3]
    energies = []
    for mesh, positions in ((SEAM, x), (pair, x[:4])):
        one = pdgpu.Simulation(shell(mesh, bending=1e-2))
        one.set_state(positions=positions)
        (found,) = (values for name, values in one.element_energies().items() if "Bending" in name)
        energies.append(np.asarray(found))
    assert len(energies[0]) == 3 and energies[0][0] == pytest.approx(energies[1][0], rel=1e-12)
    assert energies[0][1] == pytest.approx(0.0, abs=1e-15) and energies[0][2] > 0.0
