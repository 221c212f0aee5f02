"""Simulations: steps, state, diagnostics, contact queries, cuts and files."""

from pdgpu.simulation.simulation import Simulation

__all__ = ["Simulation"]
