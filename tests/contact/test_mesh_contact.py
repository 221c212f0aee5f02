"""pdgpu.contact: a contact law on surface meshes."""

import csv
import pickle
from pathlib import Path

import numpy as np
import pytest
from contact_meshes import MESHES, fold, layers, probe, rods_and_particles

import pdgpu
from pdgpu import contact
from pdgpu.contact import contact_surface

SHEET = pdgpu.shapes.grid((1, 1), cells=(3, 3))


def barrier(D, s):
    return -((D - s) ** 2) * np.log(D / s)


def stored():
    with Path(__file__).with_name("ipctk_numbers.csv").open() as file:
        return [row for row in csv.reader(file)][1:]


@pytest.mark.parametrize("row", stored(), ids=lambda row: "-".join(row[:3]))
def test_stored_numbers_of_ipctk(row):
    """If it failed, energy, force or stiffness of a mesh would not be those of the code everyone compares with (write_ipctk_numbers.py)."""
    x, triangles, edges, rest, distance = MESHES[row[0]]()
    described = pdgpu.BarrierContact(distance, stiffness=1e5, separation=2e-4, area_weighted=row[1] == "1")
    pairs = contact.find_pairs(described, x, triangles, edges, rest if row[2] == "1" else None)
    along = probe(len(x))
    found = [pairs.energy(x), pairs.gradient(x).ravel() @ along, *(along @ (pairs.hessian(x, psd=psd) @ along) for psd in (False, True))]
    np.testing.assert_allclose(found, [float(value) for value in row[3:]], rtol=1e-9)


def test_a_particle_above_a_triangle_and_beside_another_particle():
    """If it failed, sand would not see the floor, or not itself."""
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, 0.01], [0.2, 0.2, 0.03]], float)
    plain = pdgpu.BarrierContact(0.025, stiffness=100.0, area_weighted=False)
    s = 0.025**2
    expected = 100 * (barrier(0.01**2, s) + barrier(0.02**2, s))
    np.testing.assert_allclose(contact.energy(plain, x, [[0, 1, 2]]), expected, rtol=1e-12)
    # with areas: a particle has none and counts as 1 m^2, in Pa
    np.testing.assert_allclose(
        contact.energy(pdgpu.BarrierContact(0.025, stiffness=100.0), x, [[0, 1, 2]]), expected * 0.025 / s**2, rtol=1e-12
    )
    gradient = contact.gradient(plain, x, [[0, 1, 2]])
    np.testing.assert_allclose(gradient.sum(axis=0), 0, atol=1e-15 * np.abs(gradient).max())


def test_a_particle_beside_a_rod():
    """If it failed, a bead would fall through the thread it hangs on."""
    x = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [1.4, 0, 0.01]], float)
    plain = pdgpu.BarrierContact(0.02, stiffness=100.0, area_weighted=False)
    pairs = contact.find_pairs(plain, x, [], [[0, 1], [1, 2]])
    assert pairs.kind.tolist() == [contact_surface.VERTEX_EDGE] and pairs.vertices.tolist() == [[3, 1, 2, -1]]
    np.testing.assert_allclose(pairs.energy(x), 100 * barrier(1e-4, 4e-4), rtol=1e-12)
    np.testing.assert_allclose(pairs.gradient(x)[:, 2] / pairs.gradient(x)[3, 2], [0, -0.6, -0.4, 1], atol=1e-12)


def test_areas():
    """If it failed, a finer mesh would be a harder one."""
    # a corner of one triangle above the middle of another, far from all edges
    x = np.array([[-1, -1, 0], [2, -1, 0], [-1, 2, 0], [0, 0, 0.01], [0.1, 0, 1], [0, 0.1, 1]], float)
    area = np.linalg.norm(np.cross(x[4] - x[3], x[5] - x[3])) / 2
    described = pdgpu.BarrierContact(0.02, stiffness=100.0)
    expected = area / 3 / 4 * 100 * 0.02 * barrier(0.25, 1.0)
    np.testing.assert_allclose(contact.energy(described, x, [[0, 1, 2], [3, 4, 5]]), expected, rtol=1e-12)
    # at rest it was twice as large
    rest = x.copy()
    rest[3:] *= [2, 2, 1]
    twice = np.linalg.norm(np.cross(rest[4] - rest[3], rest[5] - rest[3])) / np.linalg.norm(np.cross(x[4] - x[3], x[5] - x[3]))
    np.testing.assert_allclose(contact.energy(described, x, [[0, 1, 2], [3, 4, 5]], rest=rest), twice * expected, rtol=1e-12)
    # one side of two crossing edges belongs to two triangles
    x = np.array([[-1, 0, 0], [1, 0, 0], [0, 1, -1], [0, -1, -1], [0, -2, 0.01], [0, 2, 0.01], [0, 0, 1]], float)
    triangles = [[0, 1, 2], [1, 0, 3], [4, 5, 6]]
    areas = 2 * np.sqrt(2) / 3, 2 * 0.99 / 3
    np.testing.assert_allclose(contact.energy(described, x, triangles), sum(areas) / 4 * 100 * 0.02 * barrier(0.25, 1.0), rtol=1e-12)


def test_a_mesh_finer_than_the_activation_distance_is_at_rest_at_rest():
    """If it failed, a fine cloth would blow up like a balloon in its first step."""
    rest = np.array(pdgpu.shapes.grid((1, 1), cells=(10, 10)).points)
    triangles = pdgpu.shapes.grid((1, 1), cells=(10, 10)).triangles
    for separation in (0.0, 0.03):
        described = pdgpu.BarrierContact(0.5, stiffness=1e3, separation=separation)
        assert contact.energy(described, rest, triangles, rest=rest) == 0.0
        squeezed = rest * [0.7, 1, 1]
        assert contact.energy(described, squeezed, triangles, rest=rest) > 0.0
    assert contact.energy(pdgpu.BarrierContact(0.5, stiffness=1e3), rest, triangles) > 0.0
    # two parts are not one body
    both = np.concatenate([rest, rest + [0, 0, 0.2]])
    assert (
        contact.energy(pdgpu.BarrierContact(0.3, stiffness=1e3), both, np.concatenate([triangles, triangles + len(rest)]), rest=both) > 0.0
    )
    with pytest.raises(
        ValueError, match=r"rest: the .* pair of vertices \[.*\] is 0\.0707107 m apart, which must be more than the separation 0\.08 m"
    ):
        contact.energy(pdgpu.BarrierContact(0.01, stiffness=1e3, separation=0.08), rest, triangles, rest=rest)


@pytest.mark.parametrize("make", [layers, fold, rods_and_particles])
def test_derivatives_against_differences(make):
    """If it failed, the assembled gradient or Hessian would leave out a pair or put one in the wrong place."""
    x, triangles, edges, rest, distance = make()
    x = x + 1e-3 * distance * np.random.default_rng(5).normal(size=x.shape)  # away from the borders of features, where a Hessian jumps
    described = pdgpu.BarrierContact(distance, stiffness=1e4, area_weighted=False)
    step, along = 1e-6 * distance, probe(len(x)).reshape(-1, 3)
    pairs = contact.find_pairs(described, x, triangles, edges, rest, margin=4 * step)
    assert len(pairs) > 20
    pairs_at = {side: pairs.gradient(x + side * step * along) for side in (-1, 1)}
    slope = (pairs.energy(x + step * along) - pairs.energy(x - step * along)) / (2 * step)
    np.testing.assert_allclose((pairs.gradient(x) * along).sum(), slope, rtol=1e-6)
    curvature = ((pairs_at[1] - pairs_at[-1]) / (2 * step)).ravel()
    hessian = pairs.hessian(x)
    product = hessian @ along.ravel()
    assert np.abs(product - curvature).max() < 1e-6 * np.abs(product).max()
    assert abs(hessian - hessian.T).max() == 0.0
    values = np.linalg.eigvalsh(pairs.hessian(x, psd=True).toarray())
    assert values[0] > -1e-13 * values[-1]
    gradient = pairs.gradient(x)
    size = np.abs(gradient).max()
    assert np.abs(gradient.sum(axis=0)).max() < 1e-12 * size and np.abs(np.cross(x, gradient).sum(axis=0)).max() < 1e-12 * size


def test_a_list_with_a_margin_serves_while_nothing_moves_farther():
    """If it failed, a contact that begins between two searches would go unseen."""
    x, triangles, edges, _, distance = layers()
    described = pdgpu.BarrierContact(distance, stiffness=1e4, area_weighted=False)
    margin = 0.5 * distance
    pairs = contact.find_pairs(described, x, triangles, edges, x, margin=margin)
    moves = np.random.default_rng(0).normal(size=x.shape)
    moved = x + 0.49 * margin * moves / np.linalg.norm(moves, axis=1).max()
    fresh = contact.find_pairs(described, moved, triangles, edges, x)
    assert len(fresh) < len(pairs)
    np.testing.assert_allclose(pairs.energy(moved), fresh.energy(moved), rtol=1e-12)
    np.testing.assert_allclose(pairs.gradient(moved), fresh.gradient(moved), atol=1e-12 * np.abs(fresh.gradient(moved)).max())


def test_float32():
    """If it failed, float32 would be taken for float64 or the other way round, without a word."""
    x, triangles, _, _, distance = layers()
    described = pdgpu.BarrierContact(distance, stiffness=1e4)
    single = x.astype(np.float32)
    exact, near = (contact.find_pairs(described, at, triangles) for at in (single.astype(float), single))
    assert abs(len(exact) - len(near)) <= 2
    assert near.gradient(single).dtype == near.hessian(single).dtype == np.float32
    assert contact.gradient(described, single, triangles, rest=single.astype(float)).dtype == np.float64
    np.testing.assert_allclose(near.energy(single), exact.energy(single.astype(float)), rtol=1e-5)
    size = np.abs(exact.gradient(single.astype(float))).max()
    np.testing.assert_allclose(near.gradient(single), exact.gradient(single.astype(float)), atol=1e-4 * size)
    difference = abs(near.hessian(single, psd=True) - exact.hessian(single.astype(float), psd=True)).max()
    assert difference < 1e-3 * abs(exact.hessian(single.astype(float))).max()


def test_the_same_bits_for_any_number_of_threads():
    """If it failed, the same scene would end differently on another machine."""
    x, triangles, _, _, distance = layers(24)
    described = pdgpu.BarrierContact(distance, stiffness=1e4)
    results = []
    for threads in (1, 4):
        pairs = contact.find_pairs(described, x, triangles, threads=threads)
        hessian = pairs.hessian(x, psd=True, threads=threads)
        arrays = (pairs.vertices, pairs.gradient(x, threads=threads), hessian.data, hessian.indices, hessian.indptr)
        results.append([pairs.energy(x, threads=threads), *(array.tobytes() for array in arrays)])
    assert results[0] == results[1]


def test_nothing_near():
    """If it failed, a scene without contact could not be asked about it."""
    described, x = pdgpu.BarrierContact(1e-3, stiffness=1e4), np.array(SHEET.points)
    assert contact.energy(described, x, SHEET.triangles) == 0.0
    assert contact.gradient(described, x, SHEET.triangles).tolist() == np.zeros_like(x).tolist()
    assert contact.hessian(described, x, SHEET.triangles).nnz == 0
    assert contact.energy(described, np.zeros((0, 3)), []) == 0.0
    assert contact.energy(described, np.array([[0, 0, 0], [1, 1, 1.0]]), []) == 0.0


def test_what_touches():
    """If it failed, an intersecting state could pass for one with a large force."""
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, 0.01]], float)
    described = pdgpu.BarrierContact(0.02, stiffness=1e4, separation=0.01)
    assert contact.energy(described, x, [[0, 1, 2]]) == np.inf
    for function in (contact.gradient, contact.hessian):
        with pytest.raises(
            ValueError, match=r"x: the vertex-triangle pair of vertices \[3, 0, 1, 2\] is 0.01 m apart, .* the separation 0.01 m"
        ):
            function(described, x, [[0, 1, 2]])


def test_descriptions():
    """If it failed, a contact could not be sent to another process, or stored beside its results."""
    described = pdgpu.BarrierContact(1e-3, stiffness=2e5, separation=1e-4, area_weighted=False)
    assert repr(described) == (
        "BarrierContact(distance=0.001, stiffness=200000.0, separation=0.0001, area_weighted=False, guard='impact', friction=0.0, "
        "friction_velocity=0.001, friction_lags=1, weighting='harmonic')"
    )
    assert pickle.loads(pickle.dumps(described)) == described and hash(described) == hash(pickle.loads(pickle.dumps(described)))
    assert pdgpu.BarrierContact(np.float32(0.5)).stiffness == "auto"
    with pytest.raises(AttributeError):
        described.distance = 1.0


@pytest.mark.parametrize(
    ("arguments", "exception", "message"),
    [
        ({"distance": 0.0}, ValueError, "distance: must be greater than 0, got 0.0"),
        ({"distance": "near"}, TypeError, "distance: expected a number, got 'near'"),
        ({"distance": 1.0, "stiffness": -1.0}, ValueError, "stiffness: must be greater than 0, got -1.0"),
        ({"distance": 1.0, "stiffness": "stiff"}, ValueError, "stiffness: expected a number or 'auto', got 'stiff'"),
        ({"distance": 1.0, "separation": -1e-3}, ValueError, "separation: must be at least 0, got -0.001"),
        ({"distance": 1.0, "area_weighted": 1}, TypeError, "area_weighted: expected True or False, got 1"),
        ({"distance": 1.0, "weighting": "mean"}, ValueError, "weighting: expected one of 'sum', 'harmonic', got 'mean'"),
        ({"distance": 1.0, "weighting": True}, TypeError, "weighting: expected one of 'sum', 'harmonic', got True"),
        ({"distance": 1.0, "restitution": 0.3}, TypeError, "restitution"),
    ],
)
def test_descriptions_that_make_no_sense(arguments, exception, message):
    """If it failed, a mistyped number would be a simulation of something else."""
    with pytest.raises(exception, match=message):
        pdgpu.BarrierContact(**arguments)


@pytest.mark.parametrize(
    ("change", "exception", "message"),
    [
        ({"contact": 1e-3}, TypeError, "contact: expected a BarrierContact, got 0.001"),
        (
            {"contact": pdgpu.BarrierContact(1e-3)},
            ValueError,
            "contact: stiffness='auto' is computed from the masses and moduli of a scene",
        ),
        ({"x": np.zeros((4, 2))}, ValueError, r"x: expected shape \(any, 3\), got \(4, 2\)"),
        ({"x": np.full((16, 3), np.nan)}, ValueError, r"x: value nan at \(0, 0\) is not finite"),
        (
            {"x": SHEET.points[:10]},
            ValueError,
            "triangles: index 13 at row 8 is out of range for 10 points|triangles: index .* is out of range for 10",
        ),
        ({"triangles": [[0, 1, 1]]}, ValueError, "triangles: row 0 repeats vertex 1"),
        ({"edges": [[0, 99]]}, ValueError, "edges: index 99 at row 0 is out of range for 16 points"),
        ({"rest": np.zeros((3, 3))}, ValueError, r"rest: expected shape \(16, 3\), got \(3, 3\)"),
        ({"weighting": "mean"}, ValueError, "weighting: expected one of 'sum', 'harmonic', got 'mean'"),
    ],
)
def test_meshes_that_make_no_sense(change, exception, message):
    """If it failed, C would read what is not there."""
    arguments = {
        "contact": pdgpu.BarrierContact(1e-3, stiffness=1.0),
        "x": SHEET.points,
        "triangles": SHEET.triangles,
        "edges": None,
        "rest": None,
        **change,
    }
    for function in (contact.energy, contact.gradient, contact.hessian):
        with pytest.raises(exception, match=message):
            function(**arguments)
    pairs = contact.find_pairs(pdgpu.BarrierContact(1e-3, stiffness=1.0), SHEET.points, SHEET.triangles)
    with pytest.raises(ValueError, match=r"x: expected shape \(16, 3\), got \(4, 3\)"):
        pairs.energy(np.zeros((4, 3)))
    assert repr(pairs) == "<ContactPairs: 0 pairs>"
