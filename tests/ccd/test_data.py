"""Collision queries with published exact answers: not one contact is missed."""

from fractions import Fraction

import numpy as np
import pytest
from inputs import data_file
from pdgpu.ccd import METHODS

from pdgpu import ccd

every_method = pytest.mark.parametrize("method", METHODS)
both_precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64])
FRAMES = ("armadillo_rollers", "cloth_ball", "cloth_funnel")


def nothing_missed(function, x0, x1, hit, toi, method, dtype):
    """Number of false positives. Rounded to float32 the positions are others: there only contacts that were deep enough count."""
    found = function(x0.astype(dtype), x1.astype(dtype), method=method)
    exact = (x0.astype(dtype) == x0).all(axis=(1, 2)) & (x1.astype(dtype) == x1).all(axis=(1, 2))
    assert np.isfinite(found.toi[hit & exact]).all()
    assert (found.toi <= np.nextafter(toi, 0))[hit & exact & (toi > 0)].all()
    assert (found.toi[hit & exact & (toi == 0)] == 0).all()
    return (np.isfinite(found.toi) & ~hit).sum()


@every_method
@both_precisions
def test_handcrafted_queries(method, dtype):
    """If one is missed, something passes through something."""
    data = np.load(data_file("ccd/queries_handcrafted.npz"))
    false, n = 0, 0
    for function, mask in ((ccd.vertex_triangle, data["is_ee"] == 0), (ccd.edge_edge, data["is_ee"] == 1)):
        x = data["X"][mask]
        false += nothing_missed(function, x[:, :4], x[:, 4:], data["hit"][mask], data["toi"][mask], method, dtype)
        n += mask.sum()
    assert n == 2429
    assert false < 450  # near misses; the set consists of little else


@every_method
def test_unit_tests_as_rationals(method):
    """The same numbers from their original form."""
    for name, function in (("vertex-face", ccd.vertex_triangle), ("edge-edge", ccd.edge_edge)):
        rows = data_file(f"ccd/unit_tests_csv/{name}.csv").read_text().split()
        rows = [[int(value) for value in row.split(",")] for row in rows]
        x = np.array([[float(Fraction(row[2 * i], row[2 * i + 1])) for i in range(3)] for row in rows]).reshape(-1, 8, 3)
        hit = np.array([row[6] for row in rows]).reshape(-1, 8)[:, 0] == 1
        assert np.isfinite(function(x[:, :4], x[:, 4:], method=method).toi[hit]).all()
        assert hit.sum() > 0


@every_method
@both_precisions
@pytest.mark.parametrize("frame", FRAMES)
def test_frames_of_simulations(method, dtype, frame):
    """If one is missed, a real mesh is torn."""
    data = np.load(data_file(f"ccd/frame_{frame}.npz"))
    v0, v1 = data["V0"].astype(float), data["V1"].astype(float)
    for kind, function in (("vf", ccd.vertex_triangle), ("ee", ccd.edge_edge)):
        pairs = np.concatenate([data[kind], data[f"{kind}_neg"]])
        none = len(data[f"{kind}_neg"])
        hit = np.concatenate([data[f"{kind}_hit"].astype(bool), np.zeros(none, bool)])
        toi = np.concatenate([data[f"{kind}_toi"], np.full(none, np.nan)])
        first = pairs[:, :1] if kind == "vf" else data["E"][pairs[:, 0]]
        rows = np.concatenate([first, data["F" if kind == "vf" else "E"][pairs[:, 1]]], axis=1)
        false = nothing_missed(function, v0[rows], v1[rows], hit, toi, method, dtype)
        assert false <= 0.8 * none + 200
        if dtype == np.float64:
            started = np.nanmin(toi)
            best = ccd.earliest(v0, v1, **{"vertex_triangle" if kind == "vf" else "edge_edge": rows}, method=method)
            assert best.toi <= started
