"""Energies and derivatives of pairs in contact on a CUDA device, against the CPU in float64."""

import importlib

import numpy as np
import pytest
from contact_pairs import evaluate, random_pairs, thresholds

from pdgpu import _cpu_f64, contact
from pdgpu.contact.contact_surface import EDGE_EDGE, KINDS, VERTEX_VERTEX

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_pairs(kind, dtype):
    """If it failed, a contact on the GPU would have another force or stiffness than on the CPU."""
    module = importlib.import_module("pdgpu._cuda_f32" if dtype == "float32" else "pdgpu._cuda_f64")
    x = random_pairs(_cpu_f64, kind, 300, kind, least=0.1, reach=0.9).astype(dtype)
    settings = dict(
        threshold=thresholds(_cpu_f64, x.astype(float)) if kind == EDGE_EDGE else 0.0,
        separation=0.02,
        physical=True,
        stiffness=3.0,
    )
    for quantity in contact.contact_pairs.QUANTITIES:
        cpu, gpu = (evaluate(m, quantity, kind, x, **settings).reshape(len(x), -1) for m in (_cpu_f64, module))
        assert gpu.dtype == dtype and np.isfinite(gpu).all()
        error = np.abs(gpu - cpu).max(axis=1) / (
            np.abs(cpu).max(axis=1) + 1e-3 * np.abs(cpu).max() + 1e-300
        )  # thresholds are 0 but of edges
        assert np.quantile(error, 0.98) < (1e-11 if dtype == "float64" else 2e-3)


def test_what_touches(dtype):
    """If it failed, a step on the GPU could go through a surface."""
    module = importlib.import_module("pdgpu._cuda_f32" if dtype == "float32" else "pdgpu._cuda_f64")
    x = np.array([[[0, 0, 0], [0, 0, 0.25]], [[0, 0, 0], [0, 0, 0.5]]], dtype)
    assert evaluate(module, "energy", VERTEX_VERTEX, x, separation=0.25).tolist()[0] == np.inf
    for quantity in ("gradient", "hessian_psd", "blocks_psd"):
        result = evaluate(module, quantity, VERTEX_VERTEX, x, separation=0.25).reshape(2, -1)
        assert np.isnan(result[0]).all() and np.isfinite(result[1]).all()
