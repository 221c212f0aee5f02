"""Where the methods disagree: near misses alone, as the documentation says."""

import numpy as np
import pytest

import pdgpu

TIMES = np.linspace(0.0, 1.0, 801)[:, None, None]


@pytest.mark.parametrize("pair", ["edge_edge", "vertex_triangle"])
def test_methods_differ_on_near_misses_alone(pair):
    """If not, one of them misses a contact, or reports one where nothing came near."""
    rng = np.random.default_rng(0)
    x_t0 = rng.normal(size=(20000, 4, 3))
    x_t1 = x_t0 + 0.5 * rng.normal(size=x_t0.shape)
    found = {method: np.isfinite(getattr(pdgpu.ccd, pair)(x_t0, x_t1, method=method).toi) for method in ("certified", "min_gradient")}
    differ = np.flatnonzero(found["certified"] != found["min_gradient"])
    late = 0
    for i in differ:
        distance = getattr(pdgpu.geometry, pair)(x_t0[i] + TIMES * (x_t1[i] - x_t0[i])).distance
        assert 0.0 < distance.min() < 0.1 * distance[0] * (1 + 1e-2)
        late += distance.argmin() > 0.9 * len(TIMES)
    # most end near each other, and only the method by distance tells of them
    assert len(differ) > 50 and late > len(differ) // 3
    assert (found["certified"] & ~found["min_gradient"]).sum() > 0.9 * len(differ)
