"""A minimum separation: what is closer counts as contact, and a start that is already closer is reported."""

import itertools

import numpy as np
import pytest
from pdgpu.ccd import METHODS, Reason

from pdgpu import ccd, geometry

TRIANGLE = [(0.0, 0, 0), (1, 0, 0), (0, 1, 0)]
every_method = pytest.mark.parametrize("method", METHODS)
PAIRS = (("vertex_triangle", ccd.vertex_triangle), ("edge_edge", ccd.edge_edge))


@every_method
def test_start_closer_than_the_separation(method):
    """If it passes silently, thickness is lost without a word."""
    heights = np.array([0.05, 0.099, 0.101, 0.5])
    start = np.array([[(0.25, 0.25, h), *TRIANGLE] for h in heights])
    found = ccd.vertex_triangle(start, start, separation=0.1, method=method)
    np.testing.assert_array_equal(found.reason, [Reason.START_TOO_CLOSE] * 2 + [Reason.NO_CONTACT] * 2)
    np.testing.assert_array_equal(found.toi, [0, 0, np.inf, np.inf])


@every_method
@pytest.mark.parametrize("separation", [1e-3, 0.1])
def test_fall_stops_before_the_separation(method, separation):
    """If not, the thickness of cloth is not kept."""
    start = np.array([[(0.25, 0.25, 1), *TRIANGLE]])
    end = np.array([[(0.25, 0.25, -1), *TRIANGLE]])
    toi = ccd.vertex_triangle(start, end, separation=separation, method=method).toi[0]
    assert toi <= (1 - separation) / 2
    assert toi > 0.85 * (1 - separation) / 2


@every_method
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("separation", [0.0, 1e-2, 0.2])
def test_distance_along_the_way(method, dtype, separation):
    """If the distance falls to the separation before the time returned, or where none is, contacts are missed."""
    random = np.random.default_rng(0)
    x0, x1 = random.uniform(-1, 1, (2, 1500, 4, 3)).astype(dtype)
    for pair, function in PAIRS:
        found = function(x0, x1, separation=separation, method=method)
        start = getattr(geometry, pair)(x0.astype(float)).distance
        assert (found.reason[start <= separation] == Reason.START_TOO_CLOSE).all()
        free = found.reason != Reason.START_TOO_CLOSE
        end = np.where(np.isfinite(found.toi), found.toi, 1).astype(float)
        for part in np.linspace(0, 1, 101):
            t = (part * end)[:, None, None]
            at = x0 + t * (x1.astype(float) - x0)
            distance = getattr(geometry, pair)(at).distance
            assert (distance > separation)[free].all()
            if part == 1 and method != "min_gradient":
                contact = found.reason == Reason.CONTACT
                assert (distance - separation >= 0.099 * (start - separation))[contact].all()
        assert np.isfinite(found.toi).sum() > 100


def test_larger_separation_is_never_later():
    """If not, thicker cloth is thinner."""
    random = np.random.default_rng(1)
    x0, x1 = random.uniform(-1, 1, (2, 500, 4, 3))
    for _, function in PAIRS:
        contacts = [np.isfinite(function(x0, x1, separation=s).toi) for s in (0.0, 0.01, 0.1, 0.5)]
        for few, many in itertools.pairwise(contacts):
            assert (many | ~few).all()
