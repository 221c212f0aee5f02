"""Edges inside the plane faces of rigid bodies: which they are, that they are redundant, and what statics gain without them."""

import numpy as np
import pytest
from flat_surfaces import BOX, faces_of
from rigid_scenes import along, box, on_floor, simulated

from pdgpu import geometry, shapes
from pdgpu.contact.contact_surface import SurfaceAreas


def turned(triangles):
    """Those of a box with the other diagonal in each face."""
    result = []
    for one, two in np.asarray(triangles).reshape(-1, 2, 3):
        common = [i for i in one if i in two]
        a, b = (set(one) - set(common)).pop(), (set(two) - set(common)).pop()
        start = list(one).index(a)
        one = np.roll(one, -start)  # a, p, q around the face: a, p, b, q
        result += [[a, one[1], b], [a, b, one[2]]]
    return np.array(result, np.int32)


def paired(mesh):
    """The triangles of a box, those of a face next to each other."""
    corners = np.array(mesh.points)[mesh.triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    order = np.lexsort(np.round(normal / np.linalg.norm(normal, axis=1)[:, None]).T)
    return np.array(mesh.triangles)[order]


def test_edges_inside_faces_are_those_in_one_plane():
    """A box has six; a ball, a thin fold and a body that deforms have none."""
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    for points in (BOX.points, 0.01 * np.array(BOX.points) @ rotation.T + [7.0, -3.0, 20.0]):
        faces, sides = faces_of(points, BOX.triangles)
        lengths = np.linalg.norm(np.diff(np.array(BOX.points)[sides], axis=1)[:, 0], axis=1)
        np.testing.assert_array_equal(faces.inside, ~np.isin(np.round(lengths, 9), [1.0, 2.0, 3.0]))
    bent = np.array(BOX.points)
    bent[0] += [1e-6, 2e-6, 3e-6]
    assert faces_of(bent, BOX.triangles)[0].inside.sum() == 3  # the faces that miss the corner
    ball = shapes.sphere(1.0, 2)
    assert not faces_of(ball.points, ball.triangles)[0].inside.any()
    fold = [[0, 0, 0], [1, 0, 0], [0.5, 1, 0], [0.5, 0.9, 0]]
    assert not faces_of(fold, [[0, 1, 2], [1, 0, 3]])[0].inside.any()
    assert not faces_of(BOX.points, BOX.triangles, rigid=False)[0].inside.any()


def test_areas_are_those_of_faces_and_not_of_triangles():
    """A third of each triangle would give the ends of a diagonal twice as much as the other corners."""
    found = []
    for triangles in (paired(BOX), turned(paired(BOX))):
        faces, sides = faces_of(BOX.points, triangles)
        of_vertices, of_edges, of_triangles = faces.with_areas(*SurfaceAreas(8, triangles, sides).of(np.array(BOX.points)))
        np.testing.assert_allclose(np.sort(of_triangles), np.repeat([2.0, 3.0, 6.0], 4), rtol=1e-13)
        np.testing.assert_allclose(of_vertices, (1 * 2 + 2 * 3 + 3 * 1) / 4.0, rtol=1e-13)
        along = np.abs(np.diff(np.array(BOX.points)[sides], axis=1)[:, 0])
        found.append({tuple(side): area for side, area, inside in zip(sides, of_edges, faces.inside, strict=True) if not inside})
        # a side of length a between faces with sides b and c
        expected = {1.0: (1 / 3 * 2 + 1 / 4 * 3) / 2, 2.0: (2 / 3 * 2 + 2 / 5 * 6) / 2, 3.0: (3 / 4 * 3 + 3 / 5 * 6) / 2}
        for side, area in found[-1].items():
            length = along[(sides == side).all(axis=1)].max()
            assert area == pytest.approx(expected[length], rel=1e-13)
        assert sum(found[-1].values()) == pytest.approx(22.0, rel=1e-13)
    assert found[0].keys() == found[1].keys()
    ball = shapes.sphere(1.0, 1)
    faces, sides = faces_of(ball.points, ball.triangles)
    areas = SurfaceAreas(len(ball.points), np.array(ball.triangles), sides).of(np.array(ball.points))
    for before, after in zip(areas, faces.with_areas(*areas), strict=True):
        np.testing.assert_array_equal(after, before)


def test_distances_do_not_need_edges_inside_faces():
    """The least distance of two boxes, with all edges and without those, one over a face of the other: if not, something could pass it."""
    chance, sides = np.random.default_rng(2), faces_of(BOX.points, BOX.triangles)
    outer = sides[1][~sides[0].inside]
    for _ in range(200):
        rotation = np.linalg.qr(chance.normal(size=(3, 3)))[0]
        other = np.array(BOX.points) @ rotation.T
        axis = chance.integers(3)
        other += chance.uniform(0.0, 1.0, 3) * BOX.points.max(axis=0) - other.mean(axis=0)
        other[:, axis] += BOX.points[:, axis].max() + chance.uniform(0.0, 0.3) - other[:, axis].min()
        points = np.concatenate([BOX.points, other])
        least = []
        for edges in (sides[1], outer):
            a, b = (part.ravel() for part in np.meshgrid(np.arange(len(edges)), np.arange(len(edges))))
            ends = points[np.stack([*edges[a].T, *(edges[b] + 8).T], axis=1)]
            least.append(geometry.edge_edge(ends).distance.min())
        v, t = (part.ravel() for part in np.meshgrid(np.arange(8), np.arange(12)))
        for first, second in ((points[:8], points[8:]), (points[8:], points[:8])):
            corners = np.concatenate([first[v][:, None], second[np.array(BOX.triangles)[t]]], axis=1)
            least = [min(value, geometry.vertex_triangle(corners).distance.min()) for value in least]
        assert least[0] == pytest.approx(least[1], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("stiffness", "within"), [("auto", 0.03), (1e5, 0.002)])
def test_four_legs_bear_a_quarter_each(stiffness, within):
    """With the pairs of the diagonals, two legs bore 0.32 and two 0.175 of the weight ("auto"), 0.27 and 0.23 with 1e5."""
    scene = on_floor()
    legs = [scene.add_rigid(box((0.1, 0.4, 0.1), (x, 0.202, z)), density=700.0) for x in (0.05, 0.95) for z in (0.05, 0.95)]
    plate = scene.add_rigid(box((1.0, 0.05, 1.0), (0.5, 0.429, 0.5)), density=700.0, name="plate")
    sim = simulated(scene, 0.01, distance=2e-3, tolerance=1e-9, stiffness=stiffness, friction=0.3)
    sim.step(100)
    forces = sim.contact_forces()
    shares = [along(forces.of(leg.name, "plate"), 1) / (9.81 * plate.mass) for leg in legs]
    np.testing.assert_allclose(shares, 0.25, rtol=within / 0.25)
    assert sum(shares) == pytest.approx(1.0, abs=0.01)
