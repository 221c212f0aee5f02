"""csrc/elements/contact: the barrier and the chain rule, pair by pair."""

import numpy as np
import pytest
from contact_pairs import PLANE, evaluate, random_pairs, thresholds

from pdgpu import _cpu_f32, _cpu_f64, contact, geometry
from pdgpu.contact.contact_surface import CORNERS
from pdgpu.contact.contact_surface import KINDS as NAMES

KINDS = range(5)
VV, VE, VT, EE, _ = KINDS


def plane_pairs(height):
    """Vertices above the plane z = 0, (n, 3, 3)."""
    x = np.zeros((len(height), 3, 3))
    x[:, 0, 2], x[:, 2, 2] = height, 1.0
    return x


def law(d, distance, separation=0.0):
    """b and its derivatives by d as they are printed, in extended precision [Li et al. 2020, Eq. 6]."""
    d, distance, separation = (np.asarray(value, np.longdouble) for value in (d, distance, separation))
    D, s = d**2 - separation**2, distance * (2 * separation + distance)
    log = np.log(D / s)
    first, second = (s - D) * (2 * log - s / D + 1), (s / D + 2) * s / D - 2 * log - 3
    return -((D - s) ** 2) * log, 2 * d * first, 4 * d**2 * second + 2 * first


@pytest.mark.parametrize("separation", [0.0, 2e-3])
@pytest.mark.parametrize("physical", [False, True])
def test_a_vertex_above_a_plane(separation, physical):
    """If it failed, a body would rest at another height than its weight and the stiffness say."""
    distance, stiffness = 1e-3, 3e5
    gap = distance * np.concatenate([np.geomspace(1e-6, 0.5, 60), 1 - np.geomspace(0.5, 1e-7, 60)])
    value, slope, curvature = law(gap + separation, distance, separation)
    scale = stiffness * (distance / (distance * (2 * separation + distance)) ** 2 if physical else 1.0)
    settings = dict(distance=distance, separation=separation, stiffness=stiffness, physical=physical)
    x = plane_pairs(gap + separation)
    # what rounding of the height leaves of the gap, and of what is left to the activation distance
    rounding = 4e-15 * (1 + (gap + separation) / gap + (distance + separation) / (distance - gap))
    for quantity, exact in (("energy", value), ("gradient", slope), ("hessian", curvature)):
        result = evaluate(_cpu_f64, quantity, PLANE, x, **settings)
        result = result[:, 0, 2] if quantity == "gradient" else result[:, 2, 2] if quantity == "hessian" else result
        np.testing.assert_array_less(np.abs(result / (scale * exact) - 1), 4 * rounding)


def test_energy_force_and_stiffness_end_smoothly_at_the_activation_distance():
    """If it failed, a contact would come into being with a jerk, and Newton's method would cycle across the border."""
    distance = 0.1
    x = plane_pairs(distance * (1 - np.array([1e-3, 1e-4, 1e-5, 0.0, -1e-5])))
    energy, force, stiffness = (
        np.abs(evaluate(_cpu_f64, q, PLANE, x, distance=distance)).reshape(5, -1).max(1) for q in ("energy", "gradient", "hessian")
    )
    for values, order in ((energy, 3), (force, 2), (stiffness, 1)):
        assert (values[3:] == 0).all()
        np.testing.assert_allclose(values[1:3] / values[:2], 10.0**-order, rtol=0.01)


def test_what_touches_has_infinite_energy_and_no_derivative():
    """If it failed, a line search would step into or through a surface."""
    x = plane_pairs(np.array([0.2, 0.1, 0.05, -0.1]))
    assert evaluate(_cpu_f64, "energy", PLANE, x, separation=0.1).tolist()[1:] == [np.inf] * 3
    for quantity in ("gradient", "hessian", "hessian_psd", "blocks", "blocks_psd"):
        assert np.isfinite(evaluate(_cpu_f64, quantity, PLANE, x, separation=0.1)).reshape(4, -1).all(axis=1).tolist() == [
            True,
            False,
            False,
            False,
        ]


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_against_differences(kind):
    """If it failed, forces would not be those of the energy, and Newton's method would take many steps or none."""
    x = random_pairs(_cpu_f64, kind, 400, 1)
    settings = dict(threshold=thresholds(_cpu_f64, x + 0.1) if kind == EE else 0.0, stiffness=2.0)
    gradient, hessian = (evaluate(_cpu_f64, q, kind, x, **settings) for q in ("gradient", "hessian"))
    step, moved = 1e-6, CORNERS[kind] if kind != PLANE else 2  # the normal of a plane is no position
    size = np.abs(hessian).max(axis=(1, 2))
    for corner in range(moved):
        for axis in range(3):
            sides = [x.copy(), x.copy()]
            sides[0][:, corner, axis] += step
            sides[1][:, corner, axis] -= step
            up, down = (evaluate(_cpu_f64, "energy", kind, side, **settings) for side in sides)
            assert (np.abs((up - down) / (2 * step) - gradient[:, corner, axis]) < 1e-6 * (np.abs(gradient).max(axis=(1, 2)) + size)).all()
            up, down = (evaluate(_cpu_f64, "gradient", kind, side, **settings).reshape(len(x), -1) for side in sides)
            wrong = np.abs((up - down) / (2 * step) - hessian[:, 3 * corner + axis]).max(axis=1) > 1e-5 * size
            # where the nearest feature changes within the step the second derivative jumps
            features = [getattr(geometry, NAMES[kind].replace("-", "_"))(side).feature for side in sides] if kind != PLANE else [0, 0]
            assert not (wrong & (features[0] == features[1])).any()
    if kind not in (VV, PLANE):
        found = np.unique(getattr(geometry, NAMES[kind].replace("-", "_"))(x).feature)
        assert len(found) == {VE: 3, VT: 7, EE: 9}[kind]


def across_features(kind):
    """Positions (n, 4, 3) along a path that takes a pair over many borders of features, and their derivative by the parameter."""
    t = np.linspace(-1.0, 1.0, 8001)[:, None]
    base = (
        np.array([[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]], float)
        if kind == VT
        else np.array([[0, 0, 0], [1, 0, 0], [0, 0, 0], [1, 0, 0]], float)
    )
    x = np.repeat(base[None], len(t), axis=0)
    if kind == VT:  # a zigzag over corners, sides and the face
        x[:, 0] = np.concatenate([0.3 + 1.6 * t, 0.3 + 0.9 * np.sin(7 * t), 0.2 + 0 * t], axis=1)
        slope = np.concatenate([1.6 + 0 * t, 6.3 * np.cos(7 * t), 0 * t], axis=1)
        return x, np.concatenate([slope[:, None], np.zeros((len(t), 3, 3))], axis=1)
    # an edge that turns through the parallel above the other one and slides off its end
    turn, slide = 0.6 * t, 0.7 * t
    ends = [np.concatenate([slide + s * np.cos(turn), s * np.sin(turn) + 0.05, 0.2 + 0.1 * s * t], axis=1) for s in (-0.4, 0.5)]
    slopes = [np.concatenate([0.7 - 0.6 * s * np.sin(turn), 0.6 * s * np.cos(turn), 0.1 * s + 0 * t], axis=1) for s in (-0.4, 0.5)]
    x[:, 0], x[:, 1] = ends
    return x, np.concatenate([np.stack(slopes, axis=1), np.zeros((len(t), 2, 3))], axis=1)


@pytest.mark.parametrize("kind", [VT, EE])
def test_the_energy_is_the_integral_of_its_gradient_through_every_change_of_feature(kind):
    """If it failed, the energy would jump where a nearest corner becomes a nearest side: a step could gain energy from nothing."""
    x, slope = across_features(kind)
    threshold = float(thresholds(_cpu_f64, np.array([[[0, 0, 0], [0.9, 0, 0], [0, 0, 0], [1, 0, 0]]], float))[0]) if kind == EE else 0.0
    assert len(np.unique((geometry.vertex_triangle if kind == VT else geometry.edge_edge)(x).feature)) >= 4
    energy = evaluate(_cpu_f64, "energy", kind, x, threshold=threshold)
    power = (evaluate(_cpu_f64, "gradient", kind, x, threshold=threshold) * slope).sum(axis=(1, 2))
    work = np.concatenate([[0], np.cumsum((power[1:] + power[:-1]) / 2)]) * 2.5e-4
    np.testing.assert_allclose(work, energy - energy[0], atol=2e-4 * energy.max())  # of the trapezoidal rule
    if kind == EE:
        assert (np.abs(np.diff(power)) < 0.1 * np.abs(power).max()).all()  # C1 through the parallel as well


@pytest.mark.parametrize("kind", KINDS)
def test_forces_add_up_to_nothing_and_turn_nothing(kind):
    """If it failed, two bodies in contact would push themselves along or start to spin."""
    x = random_pairs(_cpu_f64, kind, 300, 2) + 3.0 * (kind != PLANE)
    gradient = evaluate(_cpu_f64, "gradient", kind, x, threshold=thresholds(_cpu_f64, x) if kind == EE else 0.0)
    size = np.abs(gradient).max(axis=(1, 2))
    assert (np.abs(gradient.sum(axis=1)).max(axis=1) <= 1e-13 * size).all()
    if kind != PLANE:  # a plane is endless: what turns it is for its owner
        assert (np.abs(np.cross(x, gradient).sum(axis=1)).max(axis=1) <= 1e-12 * size).all()


def test_crossing_and_parallel_edges():
    """If it failed, two threads of a net would repel with another force than the law of their distance."""
    height = np.linspace(0.1, 0.9, 9)
    x = np.zeros((9, 4, 3))
    x[:, 0, 0], x[:, 1, 0], x[:, 2, 1], x[:, 3, 1], x[:, 2:, 2] = -1, 2, -1, 1, -height[:, None]
    threshold = thresholds(_cpu_f64, x)
    np.testing.assert_allclose(threshold, 1e-3 * 9 * 4)
    value, slope, _ = law(height, 1.0)
    np.testing.assert_allclose(evaluate(_cpu_f64, "energy", EE, x, threshold=threshold), value.astype(float), rtol=1e-13)
    force = evaluate(_cpu_f64, "gradient", EE, x, threshold=threshold)[:, :, 2]
    np.testing.assert_allclose(force, slope.astype(float)[:, None] * [2 / 3, 1 / 3, -1 / 2, -1 / 2], rtol=1e-12)
    # turned to an angle: m = (2 - r) r with r = sin^2 / 1e-3, and nothing where they are parallel
    angle = np.array([0.0, 0.01, 0.02, 0.0316, 0.05])
    x = np.zeros((5, 4, 3))
    x[:, 0, 0], x[:, 1, 0], x[:, 2:, 2] = -1, 1, -0.5
    x[:, 2, :2] = -np.stack([np.cos(angle), np.sin(angle)], axis=1)
    x[:, 3] = x[:, 2] * [-1, -1, 1]
    ratio = np.minimum(np.sin(angle) ** 2 / 1e-3, 1)
    energy = evaluate(_cpu_f64, "energy", EE, x, threshold=thresholds(_cpu_f64, x))
    np.testing.assert_allclose(energy, (2 - ratio) * ratio * float(law(0.5, 1.0)[0]), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_projection_is_the_nearest_semidefinite_matrix(kind):
    """If it failed, Newton's method would step uphill, or more carefully than it has to."""
    x = random_pairs(_cpu_f64, kind, 500, 3)
    settings = dict(threshold=thresholds(_cpu_f64, x) if kind == EE else 0.0, separation=0.02)
    hessian, projected = (evaluate(_cpu_f64, q, kind, x, **settings) for q in ("hessian", "hessian_psd"))
    values, vectors = np.linalg.eigh(hessian)
    expected = np.einsum("nij,nj,nkj->nik", vectors, np.maximum(values, 0), vectors)
    size = np.abs(hessian).max(axis=(1, 2))
    assert (np.abs(projected - expected).max(axis=(1, 2)) < 1e-12 * size).all()
    assert (np.linalg.eigvalsh(projected).min(axis=1) > -1e-13 * size).all()
    assert (projected == projected.transpose(0, 2, 1)).all() and (hessian == hessian.transpose(0, 2, 1)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_what_one_corner_sees_is_its_block_of_the_hessian(kind):
    """If it failed, a method that moves vertex by vertex would solve another problem than one that moves them all."""
    x = random_pairs(_cpu_f64, kind, 200, 4)
    settings = dict(threshold=thresholds(_cpu_f64, x) if kind == EE else 0.0)
    for psd in ("", "_psd"):
        hessian, blocks = (evaluate(_cpu_f64, q + psd, kind, x, **settings) for q in ("hessian", "blocks"))
        for j in range(CORNERS[kind]):
            part = slice(3 * j, 3 * j + 3)
            np.testing.assert_allclose(blocks[:, j], hessian[:, part, part], atol=1e-14 * np.abs(hessian).max(), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_float32_against_float64(kind):
    """If it failed, a simulation in float32 would rest at other heights than the header promises."""
    x = random_pairs(_cpu_f64, kind, 2000, 5, least=0.1, reach=0.9).astype(np.float32)
    if kind == PLANE:
        x[:, 2] = (x[:, 2].astype(float) / np.linalg.norm(x[:, 2].astype(float), axis=1, keepdims=True)).astype(np.float32)
    threshold = thresholds(_cpu_f64, x) if kind == EE else 0.0
    for quantity, tolerance in (("energy", 5e-5), ("gradient", 5e-5), ("hessian", 2e-3), ("hessian_psd", 2e-3), ("blocks", 2e-3)):
        exact, single = (evaluate(m, quantity, kind, x, threshold=threshold).reshape(len(x), -1) for m in (_cpu_f64, _cpu_f32))
        assert single.dtype == np.float32
        error = np.abs(single - exact).max(axis=1) / (np.abs(exact).max(axis=1) + 1e-3 * np.abs(exact).max())
        assert np.quantile(error, 0.99) < tolerance
        assert np.isfinite(single).all()


def test_a_sphere_is_a_vertex_and_a_capsule_an_edge_with_the_radius_as_separation():
    """If it failed, what lies on a ball would sink in by the radius, or hover."""
    radius, distance, height = 0.3, 0.05, 0.32
    face = np.array([[[0, 0, height], [-1, -1, 0], [2, -1, 0], [-1, 2, 0]]], float)
    value = float(law(height, distance, radius)[0])
    energy = evaluate(_cpu_f64, "energy", VT, face, distance=distance, separation=radius)
    np.testing.assert_allclose(energy, value, rtol=1e-11)
    axis = np.array([[[-1, 0, height], [1, 0, height], [0, -1, 0], [0, 1, 0]]], float)
    np.testing.assert_allclose(evaluate(_cpu_f64, "energy", EE, axis, distance=distance, separation=radius), value, rtol=1e-11)


@pytest.mark.parametrize("module", [_cpu_f64, _cpu_f32])
@pytest.mark.parametrize("kind", [VE, VT, EE])
def test_degenerate_primitives(kind, module):
    """If it failed, one flat triangle of a scanned mesh, or two edges in line, would fill a simulation with NaN."""
    rng = np.random.default_rng(8)
    x = rng.integers(-1, 2, (4000, CORNERS[kind], 3)).astype(float)
    x[::3] += 1e-7 * rng.normal(size=x[::3].shape)
    x[1::3, 2:] = x[1::3, 1:2] + rng.uniform(-1, 1, (len(x[1::3]), x.shape[1] - 2, 1)) * (x[1::3, 1:2] - x[1::3, :1])
    x = x[evaluate(module, "distance", kind, x) > 1e-2]
    threshold = thresholds(module, x) if kind == EE else 0.0
    for quantity in contact.contact_pairs.QUANTITIES:
        assert np.isfinite(evaluate(module, quantity, kind, x, threshold=threshold, distance=3.0)).all()
    hessian, projected = (evaluate(module, q, kind, x, threshold=threshold, distance=3.0).astype(float) for q in ("hessian", "hessian_psd"))
    values, vectors = np.linalg.eigh(hessian)
    expected = np.einsum("nij,nj,nkj->nik", vectors, np.maximum(values, 0), vectors)
    error = np.abs(projected - expected).max(axis=(1, 2)) / (np.abs(hessian).max(axis=(1, 2)) + 1e-3)
    assert error.max() < (1e-7 if module is _cpu_f64 else 0.05)  # where an edge is 1e-7 long, a part of it is rounding


def test_units():
    """If it failed, the same scene in millimetres would be another scene."""
    for kind in (VT, EE):
        x = random_pairs(_cpu_f64, kind, 50, 6)
        threshold = thresholds(_cpu_f64, x) if kind == EE else 0.0
        for physical, weight, power in ((False, 1.0, 4), (True, 7.0**2, 3)):
            one = evaluate(_cpu_f64, "energy", kind, x, threshold=threshold, physical=physical)
            other = evaluate(_cpu_f64, "energy", kind, 7 * x, threshold=7.0**4 * threshold, distance=7.0, weight=weight, physical=physical)
            np.testing.assert_allclose(other, 7.0**power * one, rtol=1e-9)


@pytest.mark.parametrize("module", [_cpu_f64, _cpu_f32])
def test_what_a_pair_stands_beside_changes_nothing(module):
    """If it failed, the force of a contact would hang on which other contacts there are: no run could be repeated in part."""
    rng = np.random.default_rng(12)
    dtype = np.float32 if module is _cpu_f32 else np.float64
    found = [random_pairs(_cpu_f64, kind, 150 + kind, 20 + kind) for kind in KINDS]
    found[EE][::5] *= 2.0**-70 if module is _cpu_f64 else 2.0**-13  # too small for vector registers
    corners = np.zeros((sum(map(len, found)), 4, 3), dtype)
    kind = np.repeat(np.arange(5, dtype=np.int32), [len(x) for x in found])
    for k, x in zip(KINDS, found, strict=True):
        corners[kind == k, : x.shape[1]] = x
    order = rng.permutation(len(kind))
    points, x = np.arange(4 * len(kind), dtype=np.int32).reshape(-1, 4), corners.reshape(-1, 3)
    one, none = np.ones(len(kind), dtype), np.zeros(len(kind), dtype)
    threshold = np.where(kind == EE, 1e-3, 0).astype(dtype)
    for number, quantity in enumerate(contact.contact_pairs.QUANTITIES):
        mixed = module.contact_batch(0, 0, 1.0, number, kind[order], points[order], one, none, one, threshold[order], x, 1)
        for k in KINDS:
            rows = np.flatnonzero(kind == k)
            alone = [
                module.contact_batch(0, 0, 1.0, number, kind[[r]], points[[r]], one[:1], none[:1], one[:1], threshold[[r]], x, 1)
                for r in rows[:20]
            ]
            assert mixed[np.argsort(order)[rows[:20]]].tobytes() == np.concatenate(alone).tobytes(), (quantity, k)


@pytest.mark.parametrize("module", [_cpu_f64, _cpu_f32])
@pytest.mark.parametrize("kind", [VV, VE, VT, EE])
def test_pairs_of_every_size(kind, module):
    """If it failed, small things in contact would be pushed in another way than large ones."""
    x = random_pairs(_cpu_f64, kind, 200, 13).astype(np.float32 if module is _cpu_f32 else float)
    powers, tolerance = ((-200, -62, -58, 62), 1e-11) if module is _cpu_f64 else ((-24, -12, -9, 12), 1e-3)
    for quantity, exponent in (("energy", 1), ("gradient", 0), ("hessian_psd", -1)):
        here = evaluate(module, quantity, kind, x, physical=True).reshape(len(x), -1)
        for power in powers:
            size = 2.0**power
            there = evaluate(module, quantity, kind, (x * size).astype(x.dtype), distance=size, physical=True).reshape(len(x), -1)
            error = np.abs(there / size**exponent - here).max(axis=1) / np.abs(here).max(axis=1)
            assert np.quantile(error, 0.98) < tolerance and np.isfinite(there).all()


def test_a_pair_of_a_body_acts_only_where_it_is_nearer_than_at_rest():
    """If it failed, a fine mesh would push itself apart as soon as the simulation starts."""
    x = plane_pairs(np.array([0.1, 0.5, 2.0, 0.05]))
    np.testing.assert_allclose(
        evaluate(_cpu_f64, "activation", PLANE, x, distance=0.6, separation=0.1), [0.0, 0.36, 0.6, -0.045], atol=1e-15
    )


def test_the_same_bits_for_any_number_of_threads():
    """If it failed, two runs of the same scene on two machines would part."""
    x = random_pairs(_cpu_f64, EE, 3000, 7)
    threshold = thresholds(_cpu_f64, x)
    for quantity in contact.contact_pairs.QUANTITIES:
        one, many = (evaluate(_cpu_f64, quantity, EE, x, threshold=threshold, threads=threads) for threads in (1, 4))
        assert one.tobytes() == many.tobytes()
